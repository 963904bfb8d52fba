package guardian

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"reeve.example/reeve/internal/hook"
	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/regular"
	"reeve.example/reeve/internal/risk/hazard"
)

// agentsNamed are the programs and packages of the coding agents that have hooks.
var agentsNamed = map[string]string{
	"claude": "claude", "claude-code": "claude", "codex": "codex", "gemini": "gemini", "gemini-cli": "gemini", "cursor-agent": "cursor-agent",
	"copilot": "copilot", "opencode": "opencode", "opencode-ai": "opencode",
}

// agents looks for a coding agent that is started without its hooks, or with others.
// Many programs start others (npx, mise exec, env), so each word may be its name.
func (e *examination) agents(c *hazard.Command, name string) {
	if lookers[name] || name == "git" || name == "mkdir" || name == "touch" || name == "npm" || e.isReeve(c.Name, c.Dirs) {
		return
	}
	words := append([]string{c.Name}, c.Words...)
	for i, w := range words {
		if name, value, ok := strings.Cut(w, "="); ok { // of env, and of options such as --setenv=NAME=VALUE
			if inner, rest, ok := strings.Cut(value, "="); ok && strings.HasPrefix(name, "-") {
				name, value = inner, rest
			}
			e.takenOver = e.takenOver || hook.TakesOver(name, value)
		}
		if agent := agentOf(w); agent != "" {
			if e.unhooks(words[i+1:]) {
				e.tampers("change the settings in which " + agent + "'s hooks are configured, by the agent's own program")
				return
			}
			if e.unhooked(agent, words[i+1:], c.Dirs) {
				e.tampers("start a coding agent without its hooks, or with settings of which that cannot be told beforehand")
			}
			return
		}
		if i > 0 && !strings.HasPrefix(w, "-") && strings.ContainsAny(w, " \n") {
			return // a text
		}
	}
}

// agentOf is the agent that a word names: by its program, or by a file of its package.
func agentOf(word string) string {
	name := base(word)
	if at := strings.LastIndexByte(name, '@'); at > 0 {
		name = name[:at] // a version
	}
	if agent := agentsNamed[name]; agent != "" || !strings.Contains(word, "/") {
		return agent
	}
	if m := agentPackage.FindStringSubmatch(strings.ToLower(word)); m != nil {
		return agentsNamed[m[1]]
	}
	return ""
}

// agentPackage is a file of an agent's package that may start it.
var agentPackage = lazyregexp.New(`/(claude-code|codex|gemini-cli|copilot|opencode-ai)(?:@[^/]*)?/(?:[\w.-]+/)*[\w.-]+\.[cm]?js$`)

// unhooks reports whether the words of a coding agent's program take hooks, or the guardian's
// plugin, from its settings: gemini hooks disable-all, codex features disable hooks. Each agent
// has subcommands of its own for that, in which the first plain word says what is changed.
func (e *examination) unhooks(words []string) bool {
	plain := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return strings.HasPrefix(w, "-") })
	if len(plain) < 2 || !settingsCommands[strings.ToLower(plain[0])] {
		return false
	}
	hooks, off := false, false
	for _, w := range plain {
		w = strings.ToLower(w)
		if lookingWords[w] {
			return false
		}
		hooks = hooks || strings.Contains(w, "hook") || strings.Contains(w, "claude_code_simple") || slices.Contains(e.g.programs, before(w, '@'))
		off = off || offWords[w] || strings.HasPrefix(w, "disable") || strings.Contains(w, "=")
	}
	return hooks && off
}

var (
	settingsCommands = words("config settings setting hooks hook features feature plugin plugins extension extensions")
	lookingWords     = words("get list ls show view status enable enable-all install validate help")
	offWords         = words("set unset remove rm delete del clear reset off uninstall unlink edit write put replace")
)

// unhooked reports whether a coding agent that is started with these words may leave its
// hooks out.
func (e *examination) unhooked(agent string, words, dirs []string) bool {
	if slices.ContainsFunc(words, func(w string) bool {
		return slices.Contains([]string{"--version", "-v", "--help", "-h", "mcp", "config", "doctor", "update", "login", "logout"}, w)
	}) {
		return false
	}
	if e.otherHome || e.otherSettings || e.takenOver || e.switchedOffAt(agent, dirs) {
		return true
	}
	for i, w := range words {
		if !strings.HasPrefix(w, "-") {
			continue
		}
		option, value, said := strings.Cut(strings.ToLower(strings.TrimLeft(w, "-")), "=")
		if said {
			_, value, _ = strings.Cut(w, "=")
		} else if i+1 < len(words) {
			value = words[i+1]
		}
		switch {
		case strings.Contains(option, "mcp"):
		case option == "bare" || option == "pure" || option == "ignore-user-config" || strings.HasPrefix(option, "no-") && (strings.Contains(option, "hook") || strings.Contains(option, "plugin")):
			return true
		case option == "setting-sources":
			if !strings.Contains(value, "user") {
				return true
			}
		case option == "disable" || option == "enable" || option == "c" || option == "config":
			if off := strings.ToLower(value); option == "disable" && strings.Contains(off, "hook") || tomlOff.MatchString(off) {
				return true
			}
			if agent == "codex" && strings.HasPrefix(strings.Trim(strings.ToLower(value), `"' `), "hooks") {
				return true // other hooks
			}
			if option == "config" && !strings.Contains(value, "=") && e.settingsOff(value, dirs) {
				return true
			}
		case strings.Contains(option, "config-dir") || strings.Contains(option, "config-home") || strings.Contains(option, "home-dir"):
			return true
		case strings.Contains(option, "setting") || strings.Contains(option, "config-file") || strings.Contains(option, "config-path"):
			if e.settingsOff(value, dirs) {
				return true
			}
		}
	}
	return false
}

// settingsOff reports whether settings, which are a text or lie in a file, may switch hooks
// off: they do, or cannot be read as they will be then.
func (e *examination) settingsOff(value string, dirs []string) bool {
	if value = strings.TrimSpace(value); strings.HasPrefix(value, "{") {
		return leavesUnjudged([]byte(value)) || !strings.HasSuffix(value, "}")
	}
	all := e.readings(value, dirs)
	if len(all) == 0 {
		return true
	}
	for _, parts := range all {
		name := "/" + strings.Join(parts, "/")
		if e.files--; e.files < 0 || slices.Contains(e.written, strings.ToLower(name)) {
			return true
		}
		info, err := os.Stat(filepath.FromSlash(name))
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxSetting {
			continue
		}
		text, err := regular.Read(filepath.FromSlash(name), maxSetting)
		return err != nil || leavesUnjudged(text)
	}
	return true
}

// leavesUnjudged reports whether settings beside an agent's own switch hooks off, or have some that may answer in
// the guardian's place.
func leavesUnjudged(text []byte) bool {
	return hook.SwitchesOff(text) || slices.ContainsFunc(hook.Adds(nil, text), hook.Decides)
}

var tomlOff = lazyregexp.New(`hooks["']?\s*=\s*["']?(false|0)`)

// variable looks at a variable that switches hooks off, or that has reeve look at
// another node.
func (e *examination) variable(name, value string) {
	if e.set == nil {
		e.set = map[string]string{}
	}
	if len(e.set) < maxSet {
		e.set[name] = value
	}
	if name != "HOME" { // which is looked at below
		e.takenOver = e.takenOver || hook.TakesOver(name, value) || preloads(name, value)
	}
	switch name {
	case "CLAUDE_CODE_SIMPLE", "OPENCODE_PURE", "OPENCODE_DISABLE_PLUGINS", "OPENCODE_DISABLE_DEFAULT_PLUGINS":
		if value != "" && value != "0" && value != "false" {
			e.tampers("start a coding agent without its hooks")
		}
	case "OPENCODE_CONFIG_CONTENT":
		if hook.SwitchesOff([]byte(value)) || strings.Contains(value, `"plugin"`) { // the guardian is one
			e.tampers("start a coding agent without its hooks")
		}
	case "EDITOR", "VISUAL", "PAGER", "BROWSER", "MANPAGER", "LESSOPEN", "PROMPT_COMMAND", "BASH_ENV", "ENV", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR",
		"GIT_PAGER", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "SSH_ASKPASS", "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND":
		e.runs(value) // a program that others run
	case "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "GEMINI_CLI_HOME", "OPENCODE_CONFIG_DIR", "GEMINI_CLI_SYSTEM_SETTINGS_PATH", "OPENCODE_TEST_MANAGED_CONFIG_DIR":
		e.otherSettings = value != ""
	case "HOME", "XDG_CONFIG_HOME":
		e.otherHome = value != "" && !strings.ContainsAny(value, "$`*") && len(e.readings(value, nil)) > 0 &&
			!slices.ContainsFunc(e.readings(value, nil), func(p []string) bool { return compare(p, split(strings.ToLower(e.g.home))) == within })
	case "GOBIN":
		e.goBin = value
	case "GIT_WORK_TREE":
		e.trees = append(e.trees, value)
	case "GIT_DIR", "GIT_COMMON_DIR":
		e.otherRepository = value != ""
	case "REEVE_DATA":
		e.otherData = value != "" && len(e.readings(value, nil)) > 0 && !e.isData(value, nil)
	}
}

// preloads reports whether a variable has the runtimes that agents are written for load
// something before them.
func preloads(name, value string) bool {
	switch name {
	case "NODE_OPTIONS", "BUN_OPTIONS":
		return slices.ContainsFunc([]string{"-r", "require", "import", "loader", "preload"}, func(option string) bool {
			return strings.Contains(value, "-"+option)
		})
	}
	return false
}

// relativeSetting looks at a file of a repository's settings, wherever that lies.
func (e *examination) relativeSetting(name, word string) {
	parts := split(clean(word))
	if !lookers[name] && hook.SettingAt("/"+strings.Join(parts, "/"), e.g.home) != nil {
		e.setting(parts, func([]byte) ([]byte, bool) { return nil, false })
	}
}

// substituted is a text after sed's -i with one substitution of plain words: what
// has a pattern in it, or more than one command, is not foretold.
func substituted(before []byte, words []string) ([]byte, bool) {
	var m []string
	for _, w := range words {
		switch {
		case w == "-i" || w == "--in-place" || w == "-e":
		case strings.HasPrefix(w, "-"):
			return nil, false
		case m == nil:
			if m = plainSubstitution.FindStringSubmatch(w); m == nil {
				return nil, false
			}
			if m[1] != m[3] || m[3] != m[5] || strings.Contains(m[2]+m[4], m[1]) {
				return nil, false
			}
		case strings.HasPrefix(w, "s") && plainSubstitution.MatchString(w):
			return nil, false
		}
	}
	if m == nil || m[2] == "" {
		return nil, false
	}
	lines := strings.Split(string(before), "\n")
	for i := range lines {
		if m[6] == "g" {
			lines[i] = strings.ReplaceAll(lines[i], m[2], m[4])
		} else {
			lines[i] = strings.Replace(lines[i], m[2], m[4], 1)
		}
	}
	return []byte(strings.Join(lines, "\n")), true
}

// plainSubstitution is s/old/new/, without a character that means something else.
var plainSubstitution = lazyregexp.New(`^s([/|#,])([\w "':,@/-]*)([/|#,])([\w "':,@/-]*)([/|#,])(g?)$`)

// armed reports whether a file of settings has reeve's hooks now.
func (e *examination) armed(p place) bool {
	if info, err := os.Stat(filepath.FromSlash(p.file)); err == nil && info.Size() > maxSetting {
		return true // it cannot be told
	}
	armed := false
	before := len(e.found)
	e.setting(split(p.file), func(text []byte) ([]byte, bool) { armed = len(text) > 0; return nil, true })
	armed = armed && len(e.found) > before
	e.found = e.found[:before]
	return armed
}
