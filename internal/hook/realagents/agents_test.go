//go:build !windows

package realagents

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"reeve.example/reeve/internal/modelserver"
	"reeve.example/reeve/internal/needs"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// agent is one coding agent: how it is set up and started, and what its tools are
// called.
type agent struct {
	id      string // reeve's name of it
	program string // its npm package's program
	// owned says that it is proprietary, and run only where -agents names a folder.
	owned bool
	setUp func(r *run)
	// command are the arguments for one prompt, and what stands after it, without any
	// question to a person.
	command func(r *run, prompt ...string) []string
	env     func(r *run) []string

	shell func(command string) modelserver.ToolCall
	write func(path, content string) modelserver.ToolCall
	edit  func(path, old, new string) modelserver.ToolCall
	read  func(path string) modelserver.ToolCall
	// tool calls a tool of the MCP server's.
	tool func(name string, args m) modelserver.ToolCall
	// subagent has a sub-agent do what a prompt says.
	subagent func(prompt string) modelserver.ToolCall
	// wait awaits the sub-agent that the model was told of, where that is a call of
	// its own.
	wait func(told string) modelserver.ToolCall
}

type m = map[string]any

// pay pays somebody.
func (a *agent) pay(to string, amount int) modelserver.ToolCall {
	return a.tool("pay", m{"to": to, "amount": amount})
}

func call(name string, args any) modelserver.ToolCall {
	return modelserver.ToolCall{Name: name, Args: args}
}

var agents = []*agent{
	{
		id: "codex", program: "codex",
		setUp: func(r *run) {
			r.file(".codex/config.toml", fmt.Sprintf(`
model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.scripted]
name = "scripted"
base_url = %q
wire_api = "responses"
env_key = "DUMMY_KEY"
request_max_retries = 0
stream_max_retries = 0
[projects.%q]
trust_level = "trusted"
[mcp_servers.probe]
command = %q
args = [%q, %q]
`, r.model.URL+"/v1", r.work, r.self, probeServer, r.paid))
		},
		env: func(r *run) []string { return []string{"DUMMY_KEY=dummy", "CODEX_HOME=" + r.home + "/.codex"} },
		command: func(r *run, prompt ...string) []string {
			return append([]string{"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"}, prompt...)
		},
		shell: func(c string) modelserver.ToolCall { return call("exec_command", m{"cmd": c}) },
		write: func(path, content string) modelserver.ToolCall {
			return modelserver.ToolCall{Name: "apply_patch", Text: "*** Begin Patch\n*** Add File: " + path + "\n+" + content + "\n*** End Patch"}
		},
		edit: func(path, old, new string) modelserver.ToolCall {
			return modelserver.ToolCall{Name: "apply_patch", Text: "*** Begin Patch\n*** Update File: " + path + "\n@@\n-" + old + "\n+" + new + "\n*** End Patch"}
		},
		read: func(path string) modelserver.ToolCall { return call("exec_command", m{"cmd": "cat " + path}) },
		tool: func(name string, args m) modelserver.ToolCall {
			return modelserver.ToolCall{Name: name, Namespace: "mcp__probe", Args: args}
		},
		subagent: func(prompt string) modelserver.ToolCall {
			return modelserver.ToolCall{Namespace: "multi_agent_v1", Name: "spawn_agent", Args: m{"message": prompt}}
		},
		wait: func(told string) modelserver.ToolCall {
			id := regexp.MustCompile(`"agent_id":"([^"]+)"`).FindStringSubmatch(told)
			if id == nil {
				id = []string{"", "none"}
			}
			return modelserver.ToolCall{Namespace: "multi_agent_v1", Name: "wait_agent", Args: m{"targets": []string{id[1]}, "timeout_ms": 30000}}
		},
	},
	{
		id: "gemini", program: "gemini",
		setUp: func(r *run) {
			r.json(".gemini/settings.json", m{
				"security":   m{"auth": m{"selectedType": "gemini-api-key"}, "folderTrust": m{"enabled": false}},
				"general":    m{"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
				"privacy":    m{"usageStatisticsEnabled": false},
				"mcpServers": m{"probe": m{"command": r.self, "args": []string{probeServer, r.paid}}},
			})
		},
		env: func(r *run) []string {
			return []string{"GEMINI_API_KEY=dummy", "GOOGLE_GEMINI_BASE_URL=" + r.model.URL, "GEMINI_TELEMETRY_ENABLED=false"}
		},
		command: func(r *run, prompt ...string) []string {
			return append([]string{"-m", "gemini-2.5-flash", "--yolo", "-p"}, prompt...)
		},
		shell: func(c string) modelserver.ToolCall {
			return call("run_shell_command", m{"command": c, "description": "a command"})
		},
		write: func(path, content string) modelserver.ToolCall {
			return call("write_file", m{"file_path": path, "content": content})
		},
		edit: func(path, old, new string) modelserver.ToolCall {
			return call("replace", m{"file_path": path, "old_string": old, "new_string": new, "instruction": "change it"})
		},
		read: func(path string) modelserver.ToolCall { return call("read_file", m{"file_path": path}) },
		tool: func(name string, args m) modelserver.ToolCall { return call("mcp_probe_"+name, args) },
		subagent: func(prompt string) modelserver.ToolCall {
			return call("invoke_agent", m{"agent_name": "generalist", "prompt": prompt})
		},
	},
	{
		id: "opencode", program: "opencode",
		setUp: func(r *run) {
			// It installs a library beside its settings, and waits long where it cannot.
			r.file(".npmrc", "registry=http://127.0.0.1:9/\nfetch-retries=0\naudit=false\n")
			r.json(".config/opencode/opencode.json", m{
				"autoupdate": false, "share": "disabled", "model": "scripted/scripted", "small_model": "scripted/scripted",
				"provider": m{"scripted": m{
					"npm": "@ai-sdk/openai-compatible", "options": m{"baseURL": r.model.URL + "/v1", "apiKey": "dummy"},
					"models": m{"scripted": m{"name": "scripted", "tool_call": true, "limit": m{"context": 200000, "output": 8000}}},
				}},
				"mcp": m{"probe": m{"type": "local", "command": []string{r.self, probeServer, r.paid}}},
			})
		},
		env: func(r *run) []string {
			return []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1"}
		},
		command: func(r *run, prompt ...string) []string { return append([]string{"run"}, prompt...) },
		shell: func(c string) modelserver.ToolCall {
			return call("bash", m{"command": c, "description": "a command"})
		},
		write: func(path, content string) modelserver.ToolCall {
			return call("write", m{"filePath": path, "content": content})
		},
		edit: func(path, old, new string) modelserver.ToolCall {
			return call("edit", m{"filePath": path, "oldString": old, "newString": new})
		},
		read: func(path string) modelserver.ToolCall { return call("read", m{"filePath": path}) },
		tool: func(name string, args m) modelserver.ToolCall { return call("probe_"+name, args) },
		subagent: func(prompt string) modelserver.ToolCall {
			return call("task", m{"description": "a part", "prompt": prompt, "subagent_type": "general"})
		},
	},
	{
		id: "claude-code", program: "claude", owned: true,
		setUp: func(r *run) {
			r.json(".claude.json", m{
				"hasCompletedOnboarding": true, "mcpServers": m{"probe": m{"type": "stdio", "command": r.self, "args": []string{probeServer, r.paid}}},
			})
		},
		env: func(r *run) []string {
			return []string{"ANTHROPIC_BASE_URL=" + r.model.URL, "ANTHROPIC_API_KEY=dummy", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "IS_SANDBOX=1"}
		},
		command: func(r *run, prompt ...string) []string {
			return append([]string{"--dangerously-skip-permissions", "-p"}, prompt...)
		},
		shell: func(c string) modelserver.ToolCall {
			return call("Bash", m{"command": c, "description": "a command"})
		},
		write: func(path, content string) modelserver.ToolCall {
			return call("Write", m{"file_path": path, "content": content})
		},
		edit: func(path, old, new string) modelserver.ToolCall {
			return call("Edit", m{"file_path": path, "old_string": old, "new_string": new})
		},
		read: func(path string) modelserver.ToolCall { return call("Read", m{"file_path": path}) },
		tool: func(name string, args m) modelserver.ToolCall { return call("mcp__probe__"+name, args) },
		subagent: func(prompt string) modelserver.ToolCall {
			return call("Task", m{"description": "a part", "prompt": prompt, "subagent_type": "general-purpose"})
		},
	},
	{
		id: "copilot", program: "copilot", owned: true,
		setUp: func(r *run) {
			r.json(".copilot/mcp-config.json", m{
				"mcpServers": m{"probe": m{"type": "local", "command": r.self, "args": []string{probeServer, r.paid}, "tools": []string{"*"}}},
			})
		},
		env: func(r *run) []string {
			return []string{
				"COPILOT_PROVIDER_BASE_URL=" + r.model.URL + "/v1", "COPILOT_PROVIDER_TYPE=openai", "COPILOT_PROVIDER_API_KEY=dummy",
				"COPILOT_MODEL=scripted", "COPILOT_OFFLINE=true", "COPILOT_AUTO_UPDATE=false", "COPILOT_HOME=" + r.home + "/.copilot",
			}
		},
		command: func(r *run, prompt ...string) []string {
			return append([]string{"--allow-all-tools", "--allow-all-paths", "--no-auto-update", "-p"}, prompt...)
		},
		shell: func(c string) modelserver.ToolCall {
			return call("bash", m{"command": c, "description": "a command"})
		},
		write: func(path, content string) modelserver.ToolCall {
			return call("create", m{"path": path, "file_text": content})
		},
		edit: func(path, old, new string) modelserver.ToolCall {
			return call("edit", m{"path": path, "old_str": old, "new_str": new})
		},
		read: func(path string) modelserver.ToolCall { return call("view", m{"path": path}) },
		tool: func(name string, args m) modelserver.ToolCall { return call("probe-"+name, args) },
		subagent: func(prompt string) modelserver.ToolCall {
			return call("task", m{"description": "a part", "prompt": prompt, "agent_type": "general-purpose", "name": "child"})
		},
	},
}

// run is one home with one agent in it, under reeve's hooks.
type run struct {
	t     *testing.T
	agent *agent
	model *modelserver.Server

	home, work string
	data       string // reeve's folder
	paid       string // what the MCP server notes
	self       string // this program
	path       string // of the agent's program
	bin        string // the folder of reeve's programs, this run's own
	etc        string // the machine's settings, if they are the run's own
	// env and args are added to the agent's.
	env, args []string
}

// start makes a home for an agent, with a policy for reeve and its hook installed.
func start(t *testing.T, a *agent, policy string, flags ...string) *run {
	t.Helper()
	r := prepare(t, a)
	r.file("policy.yaml", policy)
	r.data = filepath.Join(r.home, "reeve")
	r.reeve(append([]string{"hook", "install", "--yes", a.id, "--data", r.data, "--policy", filepath.Join(r.home, "policy.yaml"), "--trails", filepath.Join(r.home, "trails")}, flags...)...)
	return r
}

// prepare makes a home for an agent without any hook.
func prepare(t *testing.T, a *agent) *run {
	t.Helper()
	skipElsewhere(t)
	if *onlyAgent != "" && *onlyAgent != a.id {
		t.Skipf("-agent %s", *onlyAgent)
	}
	dir := t.TempDir()
	r := &run{t: t, agent: a, model: modelserver.Start(t), home: filepath.Join(dir, "home"), work: filepath.Join(dir, "work"), paid: filepath.Join(dir, "paid")}
	for _, d := range []string{r.home, r.work, filepath.Join(dir, "tmp")} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r.self, r.bin = self, filepath.Join(dir, "bin")
	r.path = r.find()
	for _, program := range []string{"reeve", "reeve-hook"} {
		r.install(program)
	}
	a.setUp(r)
	return r
}

// install puts one of reeve's programs into the run's folder.
func (r *run) install(program string) {
	r.t.Helper()
	to := filepath.Join(r.bin, program)
	os.Remove(to)
	if err := errors.Join(os.MkdirAll(r.bin, 0o700), os.Link(filepath.Join(programs, program), to)); err != nil {
		r.t.Fatal(err)
	}
}

// find finds the agent's program.
func (r *run) find() string {
	r.t.Helper()
	modules := *agentsDir
	if modules == "" {
		if r.agent.owned {
			r.t.Skip("it is proprietary: scripts/test-agents all installs it elsewhere and runs it")
		}
		modules = needs.Dir(r.t, "agents")
	}
	program := filepath.Join(modules, "node_modules", ".bin", r.agent.program)
	if _, err := os.Stat(program); err != nil {
		if r.agent.owned && *onlyAgent != r.agent.id { // who names one wants it run
			r.t.Skipf("it is not in %s", modules)
		}
		r.t.Fatal(err)
	}
	return program
}

// environ is all that a program is given of an environment.
func (r *run) environ() []string {
	node := filepath.Dir(needs.Node(r.t))
	return append([]string{
		"HOME=" + r.home, "XDG_CONFIG_HOME=" + r.home + "/.config", "XDG_DATA_HOME=" + r.home + "/.local/share",
		"XDG_CACHE_HOME=" + r.home + "/.cache", "XDG_STATE_HOME=" + r.home + "/.local/state",
		"TMPDIR=" + filepath.Join(filepath.Dir(r.home), "tmp"), "SHELL=/bin/bash", "TERM=dumb", "LANG=C.UTF-8", "NO_COLOR=1", "CI=1", "USER=tester",
		"PATH=" + node + ":" + filepath.Dir(r.path) + ":/usr/local/bin:/usr/bin:/bin",
	}, r.agent.env(r)...)
}

// file writes a file of the home folder.
func (r *run) file(name, text string) {
	r.t.Helper()
	file := filepath.Join(r.home, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *run) json(name string, v any) {
	r.t.Helper()
	text, err := json.Marshal(v, jsontext.WithIndent("  "), json.Deterministic(true))
	if err != nil {
		r.t.Fatal(err)
	}
	r.file(name, string(text)+"\n")
}

// at is a file of the folder that the agent works in.
func (r *run) at(name string) string { return filepath.Join(r.work, name) }

// has reports whether a file of the folder that the agent works in is there.
func (r *run) has(name string) bool {
	_, err := os.Lstat(r.at(name))
	return err == nil
}

// reeve runs reeve, as the agent's user.
func (r *run) reeve(args ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), filepath.Join(r.bin, "reeve"), args...)
	cmd.Env, cmd.Dir = r.environ(), r.work
	r.within(cmd)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("reeve %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// patience is how long one run of an agent may take.
const patience = 2 * time.Minute

// prompt runs the agent with one prompt, to its end, and returns what it printed.
func (r *run) prompt(prompt ...string) string {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.path, append(r.agent.command(r, prompt...), r.args...)...)
	cmd.Env, cmd.Dir = append(r.environ(), r.env...), r.work
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	r.within(cmd)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if testing.Verbose() || ctx.Err() != nil {
		r.t.Logf("%s %q: %v\n%s\nthe model:\n%s", r.agent.program, prompt, err, out.String(), r.model.Log())
	}
	if ctx.Err() != nil {
		r.t.Fatalf("%s did not end in %v", r.agent.program, patience)
	}
	return out.String()
}

// sessions lists the names of the sessions in reeve's ledger.
func (r *run) sessions() (ids []string) {
	r.t.Helper()
	for line := range strings.Lines(r.reeve("sessions", "list", "--data", r.data)) {
		words := strings.Fields(line)
		if len(words) > 0 && strings.HasPrefix(words[len(words)-1], r.agent.id+":") && !strings.HasSuffix(line, ":reeve-hook-test\n") { // that one is install's proof
			ids = append(ids, words[len(words)-1])
		}
	}
	return ids
}
