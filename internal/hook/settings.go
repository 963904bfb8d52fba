package hook

import (
	"bytes"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/rawjson"
)

// A Setting is a file in which a coding agent's hooks are configured, or may be
// switched off.
type Setting struct {
	Agent string
	// Path is the file below a home folder (User) or a repository, or the end of
	// its path in both; or from the root, of the machine's own settings. A star stands
	// for any name.
	Path string
	User bool
}

// Settings are the files of all agents.
var Settings = func() []Setting {
	list := []Setting{
		{"claude-code", ".claude/settings.local.json", false},
		{"claude-code", ".claude.json", true},
		{"codex", ".codex/config.toml", false},
		{"gemini", ".gemini/.env", true}, {"gemini", ".gemini/.env", false},
		{"copilot", ".copilot/config.json", true}, {"copilot", ".copilot/settings.json", true},
		{"copilot", ".github/copilot/settings.json", false}, {"copilot", ".github/copilot/settings.local.json", false}, {"copilot", ".copilot/hooks/*", true}, {"copilot", ".github/hooks/*", false},
		{"opencode", ".config/opencode/plugins/*", true}, {"opencode", ".opencode/plugins/*", false},
		{"amazon-q", ".aws/amazonq/cli-agents/*", true}, {"amazon-q", ".amazonq/cli-agents/*", false},
	}
	for id, p := range places {
		list = append(list, Setting{id, p.user, true}, Setting{id, p.project, false})
		if p.managed != nil && p.managed.files[runtime.GOOS] != "" {
			file := filepath.ToSlash(p.managed.files[runtime.GOOS])
			list = append(list, Setting{id, file, false})
			if p.managed.listed != "" {
				list = append(list, Setting{id, path.Join(path.Dir(file), p.managed.listed), false})
			}
		}
	}
	for id, files := range alsoManaged {
		for _, file := range files {
			list = append(list, Setting{id, file, false})
		}
	}
	return list
}()

// SettingAt tells which agent's hooks a file configures, by its path with slashes;
// nil if none's. home is the user's home folder, or empty.
func SettingAt(name, home string) *Setting {
	name = strings.ToLower(strings.TrimSuffix(name, backupSuffix))
	below, inHome := strings.CutPrefix(name, strings.ToLower(home)+"/")
	base := path.Base(name)
	for i := range patterns {
		p := &patterns[i]
		if p.base != "" && p.base != base {
			continue
		}
		if p.of.User && home != "" {
			if ok, _ := path.Match(p.path, below); ok && inHome {
				return p.of
			}
			continue
		}
		if end, ok := lastNames(name, p.names); ok {
			if ok, _ := path.Match(p.path, end); ok {
				return p.of
			}
		}
	}
	return nil
}

// patterns are the paths of all settings in the form that names are compared with:
// every path of every call is.
var patterns = func() []pattern {
	list := make([]pattern, len(Settings))
	for i := range Settings {
		p := strings.ToLower(Settings[i].Path)
		list[i] = pattern{of: &Settings[i], path: p, names: strings.Count(p, "/") + 1}
		if base := path.Base(p); !strings.ContainsAny(base, `*?[\`) {
			list[i].base = base
		}
	}
	return list
}()

type pattern struct {
	of    *Setting
	path  string // in lower case
	names int    // how many names it has
	base  string // the last of them, if it stands for itself only
}

// lastNames are the last n names of a path, if it has as many. Every path of every call
// is compared with all settings, so nothing is copied.
func lastNames(p string, n int) (string, bool) {
	at := len(p)
	for k := 1; k <= n; k++ {
		if at = strings.LastIndexByte(p[:at], '/'); at < 0 {
			return p, k == n
		}
	}
	return p[at+1:], true
}

// Disarms says how a file of settings that becomes after would leave reeve's hooks
// without effect, or with another one; empty if it would not. before is what it is
// now, nil if it is not there; after is nil if it is removed.
func (s *Setting) Disarms(before, after []byte) string {
	had := hooksIn(before)
	if places[s.Agent].managed != nil && path.Base(s.Path) == places[s.Agent].managed.listed && namesPlugin(before) {
		if namesPlugin(after) {
			return ""
		}
		return "it takes reeve's plugin away"
	}
	if after == nil || len(bytes.TrimSpace(after)) == 0 {
		if len(had) > 0 {
			return "it takes reeve's hooks away"
		}
		return ""
	}
	if off := switchedOff(after); off != "" && switchedOff(before) != off {
		return "it switches hooks off (" + off + ")"
	}
	if len(had) == 0 {
		return ""
	}
	if p := places[s.Agent]; p.whole != nil || path.IsAbs(s.Path) && p.managed.whole != nil {
		if !bytes.Equal(before, after) {
			return "it changes a file that is reeve's own"
		}
		return ""
	}
	if !strings.HasSuffix(s.Path, ".json") {
		return ""
	}
	if _, err := rawjson.Parse(bytes.TrimPrefix(after, mark)); err != nil {
		return "what is left is no JSON, which the agent may not read at all"
	}
	has := map[string]int{}
	for _, h := range hooksIn(after) {
		has[h]++
	}
	for _, h := range had {
		if has[h]--; has[h] < 0 {
			return "it changes or takes away one of reeve's hooks"
		}
	}
	return ""
}

// HasHooks reports whether a file of settings holds hooks of reeve's.
func HasHooks(text []byte) bool { return len(hooksIn(text)) > 0 }

// hooksIn lists the entries of reeve's in a file of settings: the event of each, and
// the whole of what is configured there. Of a file that is no JSON it is the lines.
func hooksIn(text []byte) (list []string) {
	if !bytes.Contains(text, []byte("hook")) {
		return nil
	}
	doc, err := rawjson.Parse(bytes.TrimPrefix(text, mark))
	if err != nil {
		for line := range bytes.Lines(text) {
			if ownHook(string(line)) {
				list = append(list, string(bytes.TrimSpace(line)))
			}
		}
		return list
	}
	for event, entries := range doc.Root().Get("hooks").Members() {
		for _, entry := range entries.Elems() {
			for s := range entry.Strings() {
				if ownHook(s.Text()) {
					list = append(list, event+"\x00"+string(entry.AppendCanonical(nil)))
					break
				}
			}
		}
	}
	return list
}

// namesPlugin reports whether a configuration of OpenCode's names reeve's plugin.
func namesPlugin(text []byte) bool { return bytes.Contains(text, []byte("opencode/reeve.js")) }

func ownHook(text string) bool {
	return strings.Contains(text, " hook --agent ") || strings.Contains(text, `"hook","--agent"`)
}

// switches are the settings, in any agent's file, that leave hooks without effect.
// Names are compared in lower case, without separators.
var switches = map[string]func(v rawjson.Value) bool{
	"disableallhooks":  isOn,
	"disablehooks":     isOn,
	"enablehooks":      isOff,
	"claudecodesimple": isOn,
	"opencodepure":     isOn,
}

func isOn(v rawjson.Value) bool {
	switch v.Kind() {
	case rawjson.Bool:
		return v.Bool()
	case rawjson.String:
		return v.Text() != "" && v.Text() != "0" && !strings.EqualFold(v.Text(), "false")
	}
	return v.Kind() != rawjson.Null && string(v.Raw()) != "0"
}

func isOff(v rawjson.Value) bool {
	return v.Kind() == rawjson.Bool && !v.Bool() || v.Kind() == rawjson.String && strings.EqualFold(v.Text(), "false")
}

// tomlOff is how Codex's configuration switches hooks off, and looseOff how any
// text might, that is no JSON as reeve reads it: with comments, for example.
var (
	tomlOff  = lazyregexp.New(`(?im)\b(codex_)?hooks["']?\s*=\s*false`)
	looseOff = lazyregexp.New(`(?i)disable_?all_?hooks|disable_?hooks|claude_code_simple|opencode_pure|\b(enable_?hooks)["']?\s*[:=]\s*["']?false`)
	// looseVariable is how a variable is given in any text: .env files, TOML, JSON with comments.
	looseVariable = lazyregexp.New(`(?i)\b(ld_[a-z_]+|dyld_[a-z_]+|bash_env|env|ps4|shellopts|bashopts|bash_func_[^"'=:\s]*|[a-z_]+_shell_prefix|[a-z_]+_process_wrapper)(?:["']\s*,|["']?\s*\]?\s*[:=])\s*["']?([^\s"',}]*)`)
)

// TakesOver reports whether a variable that an agent is given, by its settings or by who starts
// it, decides what is run in the place of a hook: what its shell loads before it begins, whether
// that runs anything, and whose settings there are.
func TakesOver(variable, value string) bool {
	name := strings.ToUpper(variable)
	switch {
	case value == "" && name != "SHELLOPTS" && name != "BASHOPTS": // which an export without a value sets, too
		return false
	case name == "ENV" || name == "PS4": // a stage, as many programs have it, or what a shell loads or runs
		return strings.ContainsAny(value, "/$`~")
	case name == "LD_LIBRARY_PATH" || name == "DYLD_LIBRARY_PATH" || name == "DYLD_FALLBACK_LIBRARY_PATH":
		for dir := range strings.SplitSeq(value, ":") {
			if !strings.HasPrefix(dir, "/usr/") && !strings.HasPrefix(dir, "/opt/") && !strings.HasPrefix(dir, "/lib") || strings.Contains(dir, "..") {
				return true
			}
		}
		return false
	case strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "DYLD_") || strings.HasPrefix(name, "BASH_FUNC_"):
		return true
	}
	// What an agent puts before every command that it starts stands before its hooks, too.
	if strings.HasSuffix(name, "_SHELL_PREFIX") || strings.HasSuffix(name, "_PROCESS_WRAPPER") {
		return true
	}
	return name == "BASH_ENV" || name == "SHELLOPTS" || name == "BASHOPTS" || name == "HOME"
}

// GivesOver names the variable in a text of whatever kind that TakesOver is true of; empty if
// there is none.
func GivesOver(text string) string {
	for _, m := range looseVariable.FindAllStringSubmatch(text, -1) {
		if TakesOver(m[1], m[2]) {
			return "env." + m[1]
		}
	}
	return ""
}

var unseparated = strings.NewReplacer("_", "", "-", "")

// SwitchesOff reports whether settings, of whatever agent, leave hooks without effect.
func SwitchesOff(text []byte) bool { return switchedOff(text) != "" }

// switchedOff names what in a file of settings leaves hooks without effect.
func switchedOff(text []byte) string {
	doc, err := rawjson.Parse(bytes.TrimPrefix(text, mark))
	if err != nil {
		if m := tomlOff.Find(text); m != nil {
			return string(m)
		}
		if m := looseOff.Find(text); m != nil {
			return string(m)
		}
		return GivesOver(string(text))
	}
	var off []string
	var look func(v rawjson.Value, depth int)
	look = func(v rawjson.Value, depth int) {
		const most = 16 // that are named
		if depth > 8 || len(off) >= most {
			return
		}
		for _, e := range v.Elems() {
			look(e, depth+1)
		}
		for name, m := range v.Members() {
			plain := unseparated.Replace(strings.ToLower(name))
			if is := switches[plain]; is != nil && is(m) {
				off = append(off, name)
			}
			if plain == "env" {
				for variable, value := range m.Members() {
					if TakesOver(variable, value.Text()) {
						off = append(off, name+"."+variable)
					}
				}
			}
			if plain == "hooksconfig" || depth == 0 && plain == "hooks" {
				for inner, x := range m.Members() {
					switch strings.ToLower(inner) {
					case "enabled":
						if isOff(x) {
							off = append(off, name+"."+inner)
						}
					case "disabled":
						if x.Kind() == rawjson.Array && x.Len() > 0 || x.Kind() == rawjson.Bool && x.Bool() {
							off = append(off, name+"."+inner)
						}
					}
				}
			}
			look(m, depth+1)
		}
	}
	look(doc.Root(), 0)
	return strings.Join(off, ", ")
}
