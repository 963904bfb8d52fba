package hook

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/rawjson"
)

// disarmed says why the agent would not run its hook any more after a change of its
// settings; empty if it would.
func (e *Event) disarmed() string {
	if (&Installation{Agent: e.Agent.ID, Managed: true}).overrules() {
		return "" // whatever a user's settings or a repository's say
	}
	if text, err := readConfig(e.About); err == nil && text != nil {
		if off := switchedOff(text); off != "" {
			return e.About + " would switch hooks off (" + off + "): a change that takes the guardian away is not taken over."
		}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return err.Error()
	}
	// One place that has the hook is enough: there may be several.
	for _, in := range []*Installation{
		{Agent: e.Agent.ID, Home: home, Folder: Folder(e.Agent.ID, os.Getenv)}, {Agent: e.Agent.ID, Project: e.Cwd}, {Agent: e.Agent.ID, Managed: true},
	} {
		if _, err := in.installedLine(); err == nil {
			return ""
		}
	}
	return "After this change " + e.Agent.Name + " would not call reeve any more: it is not taken over."
}

// Tried are the versions of the agents that were run with reeve's hooks.
var Tried = map[string]string{
	"claude-code": "2.1.197", "codex": "0.169.0", "copilot": "1.0.102", "gemini": "0.61.0", "opencode": "1.18.33",
}

// programNames are what the agents' own programs are called.
var programNames = map[string]string{
	"claude-code": "claude", "codex": "codex", "copilot": "copilot", "gemini": "gemini", "opencode": "opencode", "cursor": "cursor-agent", "amazon-q": "q",
}

// offVariables are variables with which an agent runs no hooks, and machineVariables
// those with which it looks elsewhere for the machine's settings.
var (
	offVariables     = map[string]string{"claude-code": "CLAUDE_CODE_SIMPLE", "opencode": "OPENCODE_PURE"}
	machineVariables = map[string]string{"gemini": "GEMINI_CLI_SYSTEM_SETTINGS_PATH", "opencode": "OPENCODE_TEST_MANAGED_CONFIG_DIR"}
)

// alsoManaged are further files of an agent's settings that are root's, beside those that
// reeve writes.
var alsoManaged = map[string][]string{
	"claude-code": {"/etc/claude-code/managed-settings.d/*.json"},
	"codex":       {"/etc/codex/managed_config.toml", "/etc/codex/config.toml"},
	"gemini":      {"/etc/gemini-cli/system-defaults.json"},
	"copilot":     {"/etc/github-copilot/policy.d/*.json"},
	"opencode":    {"/etc/opencode/opencode.json", "/etc/opencode/opencode.jsonc"},
}

// overrules reports whether an installation in the machine's settings holds whatever a
// user's or a repository's settings say of hooks.
func (in *Installation) overrules() bool { return in.Managed && in.Agent != "gemini" && in.Installed() }

// Status is whether an agent would run reeve's hooks.
type Status struct {
	Agent     string
	Version   string              // of the agent's program; empty where it is not found
	Settings  string              // the user's, where neither its program nor a hook is found, and they lie there
	Installed []string            // the files that have reeve's hooks
	Flags     map[string][]string // by file, what its hooks are called with beside their agent
	Problems  []string            // why they would not run, or not hold
	Unknown   []string            // what could not be found out: they may not run
	Notes     []string
}

// StatusOf looks at everything that decides whether an agent runs reeve's hooks: for the
// user whose home folder and environment these are, and in a repository's folder.
func StatusOf(ctx context.Context, agent, home, folder string, getenv func(string) string) *Status {
	s := &Status{Agent: agent, Version: version(ctx, programNames[agent])}
	own := &Installation{Agent: agent, Home: home, Folder: Folder(agent, getenv)}
	machine := &Installation{Agent: agent, Managed: true}
	for _, in := range installations(agent, home, folder, getenv) {
		s.installation(ctx, in, folder)
	}
	if len(s.Installed) == 0 {
		s.Problems, s.Unknown = nil, nil
		if file, err := own.File(); err == nil && s.Version == "" {
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
				s.Settings = file
			}
		}
		return s
	}
	s.settings(own, machine, home, folder)
	if name := offVariables[agent]; name != "" && getenv(name) != "" {
		s.problem("the variable %s is set: started with it, %s runs no hook", name, agentName(agent))
	}
	if name := machineVariables[agent]; name != "" && getenv(name) != "" && machine.Installed() {
		s.problem("the variable %s is set: started with it, %s reads the machine's settings elsewhere", name, agentName(agent))
	}
	if own.Folder != "" {
		s.Notes = append(s.Notes, "its user's settings are in "+own.Folder+", by a variable; started without it, it has others")
	}
	if tried := Tried[agent]; tried == "" {
		s.Notes = append(s.Notes, agentName(agent)+"'s own program was not run with reeve: what holds is what its documentation says")
	} else if s.Version != "" && s.Version != tried {
		s.Notes = append(s.Notes, fmt.Sprintf("version %s is installed, and %s was tried", s.Version, tried))
	}
	return s
}

// installations are the places that may have an agent's hooks: its user's, a repository's folder
// and the machine's. In the home folder the first two are one file.
func installations(agent, home, folder string, getenv func(string) string) (list []*Installation) {
	files := map[string]bool{}
	for _, in := range []*Installation{{Agent: agent, Home: home, Folder: Folder(agent, getenv)}, {Agent: agent, Home: home, Project: folder}, {Agent: agent, Managed: true}} {
		file, err := in.File()
		if err != nil {
			continue
		}
		if behind, err := filepath.EvalSymlinks(file); err == nil {
			file = behind
		}
		if !files[file] {
			list = append(list, in)
		}
		files[file] = true
	}
	return list
}

// Called are the flags that installed hooks are called with beside their agents, whichever
// they are: of the user, of a repository's folder and of the machine.
func Called(home, folder string, getenv func(string) string) (flags [][]string) {
	for _, agent := range Agents() {
		for _, in := range installations(agent, home, folder, getenv) {
			if line, err := in.installedLine(); err == nil {
				flags = append(flags, flagsIn(line, agent))
			}
		}
	}
	return flags
}

func (s *Status) problem(format string, args ...any) {
	s.Problems = append(s.Problems, fmt.Sprintf(format, args...))
}

// installation looks at one file that may have reeve's hooks.
func (s *Status) installation(ctx context.Context, in *Installation, folder string) {
	file, text, err := in.present()
	if err != nil {
		s.problem("%v", err)
		return
	}
	if text == nil || !in.wrote(text) {
		return
	}
	s.Installed = append(s.Installed, file)
	line, err := in.installedLine()
	if err != nil {
		s.problem("%s: nothing of it is called before a tool is: install again", file)
		return
	}
	if s.Flags == nil {
		s.Flags = map[string][]string{}
	}
	s.Flags[file] = flagsIn(line, in.Agent)
	if strings.HasPrefix(line, "sh ") {
		s.problem("%s: the hook was installed by an earlier version, and begins with sh, without a path: settings of a repository can put another program in its place: install again", file)
	}
	if in.Agent == "codex" && in.Managed {
		if !bytes.Equal(bytes.TrimSpace(onlyManaged.Find(text)), []byte("allow_managed_hooks_only = true")) {
			s.problem("%s does not say allow_managed_hooks_only: install again", file)
		}
	} else if in.Agent == "opencode" {
		if own := filepath.Join(filepath.Dir(file), "opencode.json"); in.Managed {
			if text, err := readConfig(own); err != nil || !namesPlugin(text) {
				s.problem("%s does not name the plugin %s: install again", own, file)
			}
		}
	} else {
		doc, err := rawjson.Parse(bytes.TrimPrefix(text, mark))
		if err != nil {
			s.problem("%s: %v", file, err)
			return
		}
		for _, event := range places[in.Agent].events {
			if !in.ours(doc.Root().Get("hooks").Get(event)) {
				s.problem("%s: the event %s has no hook of reeve's: install again", file, event)
			}
		}
		for _, set := range in.settings() {
			if !set.isIn(text) {
				s.problem("%s: %s is not %s: install again", file, strings.Join(set.path, "."), set.value)
			}
		}
	}
	if in.Agent != "opencode" && !strings.Contains(line, "kill -9 $h") && !isWindows {
		s.problem("%s: it was installed by an older reeve, and lets calls pass when it fails: install again", file)
	}
	if program := programOf.FindStringSubmatch(line); program != nil {
		name := strings.ReplaceAll(strings.Trim(program[1], "'"), `'\''`, "'")
		if info, err := os.Stat(name); err != nil || info.IsDir() {
			s.problem("%s: the program %s is missing: every call is blocked", file, name)
		}
	}
	if in.Agent == "codex" {
		s.codexTrust(ctx, in, file, folder)
	}
}

// programOf is the hook's program in an installed line.
var programOf = lazyregexp.New(`('(?:[^']|'\\'')*'|[^ ]+) hook --agent `)

// codexTrust asks Codex itself which hooks it would run.
func (s *Status) codexTrust(ctx context.Context, in *Installation, file, folder string) {
	if in.Managed {
		file = codexManaged // as Codex names the source
	} else if (&Installation{Agent: "codex", Managed: true}).Installed() {
		return // the machine's hooks run, and no others
	}
	ctx, cancel := context.WithTimeout(ctx, codexPatience)
	defer cancel()
	server, err := startCodex(ctx, folder)
	if err != nil {
		s.Unknown = append(s.Unknown, "whether Codex trusts the hooks could not be asked: "+err.Error())
		return
	}
	defer server.close()
	list, err := server.hooks(folder, file)
	if err != nil {
		s.Unknown = append(s.Unknown, "whether Codex trusts the hooks could not be asked: "+err.Error())
		return
	}
	if len(list) == 0 {
		s.problem("Codex does not read %s: hooks are off in its settings, or the folder is not trusted", file)
	}
	for _, h := range list {
		if h.trust != "trusted" && h.trust != "managed" || !h.enabled {
			s.problem("Codex does not run the hook for %s: it is %s", h.event, either(h.enabled, h.trust, "disabled"))
		}
	}
	if open, err := server.opensShells(folder); err == nil && open {
		s.problem("Codex opens shells that are typed into, which no hook sees: set features.unified_exec_tty = false, or install again")
	}
}

// off takes down that something switches hooks off.
func (s *Status) off(what string, overruled bool) {
	switch {
	case slices.Contains(s.Problems, what): // a user's file lies above the folder, too
	case overruled && !s.setsMore(what):
		s.Notes = append(s.Notes, what+", and the machine's settings overrule it")
	default:
		s.problem("%s", what)
	}
}

// setsMore reports whether what switches hooks off is a variable that the machine's settings do
// not set: these overrule no other.
func (s *Status) setsMore(what string) bool {
	for _, m := range givenVariable.FindAllStringSubmatch(what, -1) {
		if !slices.ContainsFunc(places[s.Agent].managed.settings, func(set setting) bool { return strings.EqualFold(strings.Join(set.path, "."), m[0]) }) {
			return true
		}
	}
	return false
}

var givenVariable = lazyregexp.New(`(?i)\benv\.[^,)\s]+`)

// settings looks for what switches hooks off in all files of settings of the agent.
func (s *Status) settings(own, machine *Installation, home, folder string) {
	seen := map[string]bool{}
	overruled := machine.overrules()
	look := func(file string) {
		text, err := readConfig(file)
		if seen[file] || err != nil || text == nil {
			return
		}
		seen[file] = true
		if off := switchedOff(text); off != "" {
			s.off(fmt.Sprintf("%s switches hooks off (%s)", file, off), overruled)
		}
	}
	if file, err := own.File(); err == nil {
		look(file)
	}
	for _, setting := range Settings {
		if setting.Agent == s.Agent && setting.User && !strings.Contains(setting.Path, "*") {
			look(filepath.Join(home, filepath.FromSlash(setting.Path)))
		}
	}
	for _, off := range switchedOffBelow(s.Agent, folder) {
		s.off(off, overruled)
	}
	// The machine's own are overruled by nobody.
	overruled = false
	files := slices.Clone(alsoManaged[s.Agent])
	if file, err := machine.File(); err == nil {
		files = append(files, file)
	}
	for _, pattern := range files {
		names, _ := filepath.Glob(pattern)
		for _, file := range names {
			look(file)
			s.Notes = append(s.Notes, "there are the machine's settings, which overrule the user's: "+file)
			if text, err := readConfig(file); err == nil && onlyManaged.Match(text) && !machine.Installed() {
				s.problem("%s lets only the machine's hooks run, and reeve's is none of them", file)
			}
		}
	}
}

var onlyManaged = lazyregexp.New(`(?i)allow_?managed_?hooks_?only["']?\s*[:=]\s*true`)

var versionNumber = lazyregexp.New(`[0-9]+\.[0-9]+\.[0-9]+`)

// version asks a program for its version.
func version(ctx context.Context, program string) string {
	path, err := exec.LookPath(program)
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return versionNumber.FindString(string(out))
}
