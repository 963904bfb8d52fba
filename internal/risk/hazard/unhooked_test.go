package hazard

import (
	"testing"

	"reeve.example/reeve/act"
)

// TestUnhookedAgents: an agent that is started by whatever name or package, where no hook reaches it,
// asks; one that the hooks reach, and the words about them, do not.
func TestUnhookedAgents(t *testing.T) {
	for _, line := range []string{
		`npx @openai/codex exec "do it"`,
		`ssh localhost claude -p "do it"`,
		`uvx --from aider-chat aider --yes`,
		`npx -y @anthropic-ai/claude-code --bare -p x`,
		`node ~/.npm-global/lib/node_modules/@anthropic-ai/claude-code/cli.js --bare -p x`,
		`amp -x "do it"`,
		`openhands -t "do it"`,
		`cline task "do it"`,
		`kilocode --auto x`,
		`auggie -p x`,
		`plandex tell x`,
		`pi -p x`,
		`llm -T shell x`,
		`npx claude-flow swarm x`,
		`bunx @google/gemini-cli -p x`,
		`pipx run open-interpreter`,
		`codex exec --profile nohooks x`,
		`OPENCODE_DISABLE_DEFAULT_PLUGINS=1 opencode run x`,
		`alias claude='claude --bare'`,
		`kubectl exec -it pod -- claude -p x`,
		`firejail --private claude -p x`,
		`fakechroot claude -p x`,
		`systemd-run --user -p InaccessiblePaths=%h/.claude claude -p x`,
		`docker run --rm x/claude -p x`,
		`claude mcp serve`,
		`codex app-server`,
		`codex mcp-server`,
		`opencode serve &`,
		`export CLAUDE_CONFIG_DIR=/tmp/x`,
		`declare -x CODEX_HOME=/tmp/x`,
		"node --input-type=module -e 'import {query} from \"@anthropic-ai/claude-agent-sdk\"; query({prompt: \"x\", options: {permissionMode: \"bypassPermissions\", settingSources: []}})'",
		"python3 -c 'from claude_agent_sdk import query, ClaudeAgentOptions; query(prompt=\"x\", options=ClaudeAgentOptions(permission_mode=\"bypassPermissions\"))'",
	} {
		if a := assessed(line); !reports(a, "defense.unhooked") {
			t.Errorf("%s: %.2f %+v", line, a.Score, a.Findings)
		}
	}
	for _, line := range []string{
		`claude -p "hello"`,
		`npm install @anthropic-ai/claude-code`,
		`codex --version`,
		`which claude codex aider`,
		`npx prettier --write .`,
		`cat cline.md`,
		`pip install aider-chat`,
		`llm "explain this" < a.txt`,
		`amp --version`,
		`git log --grep claude`,
		`claude mcp list`,
		`claude mcp get x`,
		`docker build -t x/claude .`,
		`docker run --rm -v "$PWD":/w node:22 npm test`,
		`export NODE_ENV=test`,
		`echo $CLAUDE_CONFIG_DIR`,
		`systemd-run --user make`,
		`unshare -r make`,
		`opencode run "x"`,
		"python3 -c 'from claude_agent_sdk import query; query(prompt=\"x\")'",
		"node --input-type=module -e 'import {query} from \"@anthropic-ai/claude-agent-sdk\"; query({options: {permissionMode: \"acceptEdits\", settingSources: [\"user\", \"project\"]}})'",
	} {
		if a := assessed(line); reports(a, "defense.unhooked") {
			t.Errorf("is held: %s: %+v", line, a.Findings)
		}
	}
}

func reports(a Assessment, code string) bool {
	for _, f := range a.Findings {
		if f.Code == code {
			return true
		}
	}
	return false
}

// TestAgentsSentElsewhere: a file that other programs read before they start an agent says where its settings are.
func TestAgentsSentElsewhere(t *testing.T) {
	judged := func(file, text string) Assessment {
		return Read(&act.Action{Kind: act.ToolCall, Resource: "Write", Canonical: "write_file", Folder: "/home/dev/work/shop", Content: []act.Leaf{
			{Pointer: "/file_path", Arg: "file_path", Text: "/home/dev/work/shop/" + file}, {Pointer: "/content", Arg: "content", Text: text},
		}}).Assess(Default())
	}
	for _, f := range [][2]string{
		{".envrc", "export CLAUDE_CONFIG_DIR=$PWD/.cfg\n"},
		{"mise.toml", "[env]\nCLAUDE_CONFIG_DIR=\"{{config_root}}/.cfg\"\n"},
		{".vscode/settings.json", `{"terminal.integrated.env.linux":{"CLAUDE_CONFIG_DIR":"${workspaceFolder}/.cfg"}}`},
		{".tmux.conf", "set-environment -g CODEX_HOME /tmp/x\n"},
		{".env", "GEMINI_CLI_HOME=./.claude\n"},
		{".devcontainer/devcontainer.json", `{"containerEnv": {"CLAUDE_CONFIG_DIR": "/workspace/x"}}`},
		{"config.fish", "set -gx CLAUDE_CONFIG_DIR ~/x\n"},
	} {
		if a := judged(f[0], f[1]); a.Score < 0.4 {
			t.Errorf("%s: %s: %v", f[0], f[1], a.Findings)
		}
	}
	for _, f := range [][2]string{
		{"README.md", "Set `CLAUDE_CONFIG_DIR=/tmp/x` to try it.\n"},
		{".devcontainer/devcontainer.json", `{"containerEnv": {"CLAUDE_CONFIG_DIR": "/home/node/.claude"}}`},
		{"src/agent.ts", "const dir = process.env.CLAUDE_CONFIG_DIR ?? '/tmp/x'\n"},
		{".envrc", "export DATABASE_URL=postgres://localhost/shop\n"},
		{"x.yaml", "env:\n  - name: CODEX_HOME\n"},
	} {
		if a := judged(f[0], f[1]); a.Score >= 0.4 {
			t.Errorf("%s: %s: %v", f[0], f[1], a.Findings)
		}
	}
}
