package hook

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/regular"

	"github.com/go-json-experiment/json/jsontext"
)

//go:embed plugin.js
var plugin string

// Installation says how an agent is to call reeve, and where that is written.
type Installation struct {
	Agent string
	// Home is the user's home folder, and Project the repository's, for an
	// installation that holds in this repository only; else it is empty.
	Home, Project string
	// Folder is the agent's own folder of settings, where it is not in the home folder.
	Folder string
	// Managed is for an installation in the machine's settings, which are its
	// administrator's: Home, Project and Folder count for nothing then.
	Managed bool
	name    string // of a hook that is known by one
	root    string // where the machine's settings are, of tests that must not write those
	// Command is the program and its arguments, without --agent and --event.
	Command []string
	// Patience is how long the program may take, as it was told. A while after that the
	// shell that started it answers in its place.
	Patience time.Duration
}

// place is where and how one agent is configured.
type place struct {
	user, project string // the file, in the home folder and in a repository
	events        []string
	entry         func(in *Installation, event string) []byte
	grouped       bool                                           // the entries are groups, each with its hooks
	version       bool                                           // the file has "version": 1
	whole         func(in *Installation, events []string) []byte // the file is reeve's own
	note          string
	// managed is what is different in the machine's own settings; nil where an agent
	// has none.
	managed *managedPlace
}

var places = map[string]place{
	"claude-code": {
		user: ".claude/settings.json", project: ".claude/settings.json", grouped: true,
		events: []string{"SessionStart", "InstructionsLoaded", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure", "SubagentStart", "SubagentStop", "Stop", "SessionEnd", "ConfigChange"},
		entry:  func(in *Installation, event string) []byte { return group(in, event, `"timeout":`+seconds(1)) },
		managed: &managedPlace{
			files: map[string]string{"linux": "/etc/claude-code/managed-settings.json", "darwin": "/Library/Application Support/ClaudeCode/managed-settings.json"},
			// A repository's settings can set variables: with the first no hook runs, and with
			// the others something else does before it.
			settings: []setting{
				{[]string{"allowManagedHooksOnly"}, "true"}, {[]string{"env", "CLAUDE_CODE_SIMPLE"}, `"0"`},
				{[]string{"env", "CLAUDE_CODE_SHELL_PREFIX"}, `""`}, {[]string{"env", "CLAUDE_CODE_PROCESS_WRAPPER"}, `""`}, {[]string{"env", "BASH_ENV"}, `""`},
			},
		},
	},
	"codex": {
		user: ".codex/hooks.json", project: ".codex/hooks.json", grouped: true,
		events: []string{"SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "SubagentStart", "SubagentStop", "Stop"},
		entry:  func(in *Installation, event string) []byte { return group(in, event, `"timeout":`+seconds(1)) },
		managed: &managedPlace{
			files: map[string]string{"linux": codexManaged + "/requirements.toml", "darwin": codexManaged + "/requirements.toml"},
			whole: codexRequirements,
		},
	},
	"gemini": {
		user: ".gemini/settings.json", project: ".gemini/settings.json", grouped: true,
		events: []string{"SessionStart", "BeforeAgent", "BeforeTool", "Notification", "AfterTool", "AfterAgent", "SessionEnd"},
		entry: func(in *Installation, event string) []byte {
			return group(in, event, `"name":`+string(rawjson.Quote(in.name))+`,"timeout":`+seconds(1000))
		},
		managed: &managedPlace{
			files:    map[string]string{"linux": "/etc/gemini-cli/settings.json", "darwin": "/Library/Application Support/GeminiCli/settings.json"},
			settings: []setting{{[]string{"hooksConfig", "enabled"}, "true"}},
			note:     "Gemini CLI takes the machine's settings from another file where GEMINI_CLI_SYSTEM_SETTINGS_PATH names one, and a user who reads the hook's name there can name it in hooksConfig.disabled.",
		},
	},
	"cursor": {
		user: ".cursor/hooks.json", project: ".cursor/hooks.json", version: true,
		events: []string{"sessionStart", "beforeSubmitPrompt", "preToolUse", "beforeReadFile", "postToolUse", "postToolUseFailure", "afterAgentResponse", "sessionEnd"},
		entry: func(in *Installation, event string) []byte {
			return obj(nil).str("command", in.line(event)).raw("timeout", []byte(seconds(1))).raw("failClosed", []byte("true")).end()
		},
		note: "Cursor blocks when the hook fails, since failClosed is set. It gives no hook the power to hold back results of its own tools, but for files, which are judged before they are read.",
		managed: &managedPlace{
			files: map[string]string{"linux": "/etc/cursor/hooks.json", "darwin": "/Library/Application Support/Cursor/hooks.json"},
		},
	},
	"copilot": {
		user: ".copilot/hooks/reeve.json", project: ".github/hooks/reeve.json", whole: copilotFile,
		events: []string{"sessionStart", "userPromptSubmitted", "preToolUse", "postToolUse", "postToolUseFailure", "subagentStart", "subagentStop", "agentStop", "notification", "sessionEnd"},
		note:   "Copilot lets no hook block a prompt.",
		managed: &managedPlace{
			files: map[string]string{"linux": "/etc/github-copilot/policy.d/reeve.json"},
		},
	},
	"opencode": {
		user: ".config/opencode/plugins/reeve.js", project: ".opencode/plugins/reeve.js",
		whole: func(in *Installation, _ []string) []byte {
			text := strings.Replace(plugin, "COMMAND", string(rawjson.AppendStrings(nil, in.words(""))), 1)
			return []byte(strings.Replace(text, "SECONDS", strconv.Itoa(in.deadline()), 1))
		},
		note: "The plugin refuses everything when reeve cannot be run.",
		managed: &managedPlace{
			files:  map[string]string{"linux": "/etc/opencode/reeve.js", "darwin": "/Library/Application Support/opencode/reeve.js"},
			listed: "opencode.json",
			note:   "OpenCode runs no plugin, this one neither, where it is started with OPENCODE_PURE or --pure.",
		},
	},
	"amazon-q": {
		user: ".aws/amazonq/cli-agents/reeve.json", project: ".amazonq/cli-agents/reeve.json", whole: amazonQFile,
		events: []string{"agentSpawn", "userPromptSubmit", "preToolUse", "postToolUse"},
		note:   "Amazon Q has hooks in agents only, and this is one named reeve: start it with q chat --agent reeve, or make it the default with q settings chat.defaultAgent reeve. It can block calls, and nothing else.",
	},
}

// words is the command for an event. Agents that do not say the event's name on
// standard input have it in the command.
func (in *Installation) words(event string) []string {
	words := append([]string{in.Command[0], "hook", "--agent", in.Agent}, in.Command[1:]...)
	if in.Agent == "copilot" {
		words = append(words, "--event", event)
	}
	return words
}

// line is the command as a shell's text: run under a shell's watch, but on Windows,
// which has none.
func (in *Installation) line(event string) string {
	words := in.words(event)
	if isWindows {
		return shellLine(words)
	}
	code, text := in.failure(event)
	return shellLine(append([]string{shell(), "-c", watch, "reeve", strconv.Itoa(in.deadline()), code, text}, words...))
}

// shell is the one that watches, by its full path: settings of a repository can give the
// agent a PATH, on which another program has that name.
func shell() string {
	if _, err := os.Stat("/bin/sh"); err == nil {
		return "/bin/sh"
	}
	if found, err := exec.LookPath("sh"); err == nil {
		if abs, err := filepath.Abs(found); err == nil {
			return abs
		}
	}
	return "/bin/sh"
}

// watch runs a hook, and answers in its place when it cannot be run, ends with anything
// but an answer, or gives none in time. It depends on nothing but a shell and sleep: not
// on the hook's program, nor on its memory, disk or node. Its arguments are the seconds
// that the hook has, the exit code and the words of a failure, and the hook. Neither
// quotation marks of one stroke nor backslashes are in it, which shells read differently.
const watch = `t=$1 c=$2 o=$3; shift 3; exec 3<&0; ` +
	// What the hook has written before it failed must not be read as an answer alone:
	// so there are words on standard output, too.
	`fail() { m="reeve: $1."; [ $c = 0 ] && echo "$o" || { m="$m $o"; echo "$m"; }; echo "$m" >&2; exit $c; }; ` +
	`late() { kill -9 $h; fail "the hook gave no answer in $t seconds"; }; trap late USR1; ` +
	`"$@" <&3 3<&- & h=$!; ` +
	`(PATH=/usr/bin:/bin:$PATH; end() { kill $s; exit; }; trap end TERM; sleep $t & s=$!; wait $s; kill -USR1 $$) <&- 3<&- >/dev/null 2>&1 & w=$!; ` +
	`wait $h; e=$?; kill $w 2>/dev/null; ` +
	`case $e$c in 0*) exit 0;; 11) exit 1;; 22) echo "$o" >&2; exit 2;; esac; fail "the hook failed with exit code $e"`

// deadline is how many seconds the shell waits for a hook: a few more than it gives
// itself, and less than any agent waits.
func (in *Installation) deadline() int {
	patience := in.Patience
	if patience == 0 {
		patience = Timeout
	}
	return int((patience + 4*time.Second).Seconds())
}

// agentPatience is how many seconds an agent waits for its hook. Most agents let the call
// happen after that, and so it is as long as nobody would wait: it counts only when the
// shell that watches the hook is stopped itself.
const agentPatience = 24 * 60 * 60

func seconds(parts int) string { return strconv.Itoa(agentPatience * parts) }

// failure is what an agent is told by the exit code and on standard output when its
// hook failed. What has happened already cannot be undone: there a code that blocks would
// keep the agent from ending its turn.
func (in *Installation) failure(event string) (code, text string) {
	a, err := Find(in.Agent)
	if err != nil {
		return "2", ""
	}
	switch a.events[event] {
	case Start, End, Said, Loaded, Ignored, Asking:
		return "1", "Nothing is recorded of this."
	case Result:
		const notice = "What the tool gave is withheld, since reeve could not judge it."
		e := &Event{Agent: a, Name: event, Kind: Result, result: rawjson.Value{}}
		if told := a.answer(e, &outcome{effect: act.Deny, reason: notice}); len(told.Stdout) > 0 && a.ID != "gemini" {
			return "0", strings.TrimSpace(string(told.Stdout))
		}
		return "2", notice
	}
	return "2", "Nothing happens without its answer."
}

func shellLine(words []string) string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = quoted(w)
	}
	return strings.Join(list, " ")
}

const isWindows = runtime.GOOS == "windows"

// quoted is a word as a shell reads it back.
func quoted(word string) string {
	if word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@,+") == "" {
		return word
	}
	if isWindows {
		return `"` + strings.ReplaceAll(word, `"`, `\"`) + `"`
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// flagsIn are the words of a line behind the agent whose hook it calls, as quoted wrote them.
func flagsIn(line, agent string) (words []string) {
	const calls = " hook --agent "
	at := strings.LastIndex(line, calls+agent)
	if at < 0 {
		return nil
	}
	line = strings.TrimSpace(line[at+len(calls)+len(agent):])
	for line != "" {
		var word strings.Builder
		in := rune(0) // the mark that began what is quoted
		end := len(line)
		for i := 0; i < len(line); i++ {
			c := rune(line[i])
			switch {
			case c == '\\' && in != '\'' && i+1 < len(line) && (line[i+1] == '\'' || line[i+1] == '"'):
				i++
				word.WriteByte(line[i])
			case in == 0 && c == ' ':
				end = i
			case in == 0 && (c == '\'' || c == '"' && isWindows):
				in = c
			case in != 0 && c == in:
				in = 0
			default:
				word.WriteByte(line[i])
			}
			if end == i {
				break
			}
		}
		words = append(words, word.String())
		line = strings.TrimLeft(line[end:], " ")
	}
	return words
}

func group(in *Installation, event, more string) []byte {
	command := obj(nil).str("type", "command").str("command", in.line(event))
	entry := append(append([]byte(command), ','), more...)
	entry = append(entry, '}')
	return obj(nil).raw("hooks", append(append([]byte{'['}, entry...), ']')).end()
}

func copilotFile(in *Installation, events []string) []byte {
	var hooks obj
	for _, event := range events {
		entry := obj(nil).str("type", "command").str("bash", in.line(event)).str("powershell", "& "+shellLine(in.words(event))).raw("timeoutSec", []byte(seconds(1))).end()
		hooks = hooks.raw(event, append(append([]byte{'['}, entry...), ']'))
	}
	return indented(obj(nil).raw("version", []byte("1")).raw("hooks", hooks.end()).end(), "")
}

func amazonQFile(in *Installation, events []string) []byte {
	var hooks obj
	for _, event := range events {
		entry := obj(nil)
		if strings.HasSuffix(event, "ToolUse") {
			entry = entry.str("matcher", "*")
		}
		entry = entry.str("command", in.line(event)).raw("timeout_ms", []byte(seconds(1000)))
		hooks = hooks.raw(event, append(append([]byte{'['}, entry.end()...), ']'))
	}
	return indented(obj(nil).str("name", "reeve").str("description", "All tools, each call judged by reeve.").
		raw("tools", []byte(`["*"]`)).raw("useLegacyMcpJson", []byte("true")).raw("hooks", hooks.end()).end(), "")
}

// indented formats JSON for people.
func indented(text []byte, prefix string) []byte {
	v := jsontext.Value(bytes.Clone(text))
	if v.Indent(jsontext.WithIndent("  "), jsontext.WithIndentPrefix(prefix)) != nil {
		return text
	}
	if prefix == "" {
		v = append(v, '\n')
	}
	return v
}

// File is the file that the installation is written to.
func (in *Installation) File() (string, error) {
	p, ok := places[in.Agent]
	if !ok {
		_, err := Find(in.Agent)
		return "", err
	}
	if in.Managed {
		file, err := managedFile(in.Agent)
		return in.root + file, err
	}
	if in.Project != "" {
		return filepath.Join(in.Project, filepath.FromSlash(p.project)), nil
	}
	if in.Folder != "" {
		_, inside, _ := strings.Cut(p.user, "/")
		return filepath.Join(in.Folder, filepath.FromSlash(inside)), nil
	}
	return filepath.Join(in.Home, filepath.FromSlash(p.user)), nil
}

// Advice says what the agent's user should know about the installation.
func (in *Installation) Advice() []string {
	p := places[in.Agent]
	var list []string
	if isWindows && in.Agent != "opencode" { // whose plugin watches itself
		list = append(list, "On Windows no shell watches over the hook: where the reeve program is missing, is killed or does not answer, "+agentName(in.Agent)+" does what it does after a hook that failed, and most agents go on, unguarded (docs/hooks.md).")
	}
	if _, text, err := in.present(); err == nil {
		if doc, err := rawjson.Parse(bytes.TrimPrefix(text, mark)); err == nil && doc.Root().Get("disableAllHooks").Bool() {
			list = append(list, "The configuration says disableAllHooks: "+agentName(in.Agent)+" runs no hook, this one neither, until that is taken out.")
		}
	}
	if p.note != "" {
		list = append(list, p.note)
	}
	if in.Managed && p.managed.note != "" {
		list = append(list, p.managed.note)
	}
	return list
}

func agentName(id string) string {
	a, err := Find(id)
	if err != nil {
		return id
	}
	return a.Name
}

// backupSuffix names the copy of a file as it was before.
const backupSuffix = ".before-reeve"

// maxConfig is the largest configuration file that is edited.
const maxConfig = 4 << 20

// Install writes the agent's configuration, and reports whether anything
// changed. Everything else in the file stays; the file as it was lies beside it.
func (in *Installation) Install() (changed bool, err error) {
	file, before, err := in.present()
	if err != nil {
		return false, err
	}
	if err := in.Reachable(); err != nil {
		return false, err
	}
	if whole := in.whole(); whole != nil {
		after := whole(in, places[in.Agent].events)
		if before != nil && !in.wrote(before) {
			return false, fmt.Errorf("%s is there and is not reeve's; it is not overwritten", file)
		}
		if changed = !bytes.Equal(before, after); changed {
			if err := in.replaceSame(file, before, after); err != nil {
				return false, err
			}
		}
		named, err := in.list(file, true)
		return changed || named, err
	}
	after, err := in.edit(before, true)
	if err != nil {
		return false, fmt.Errorf("%s: %w", file, err)
	}
	if bytes.Equal(before, after) {
		return false, nil
	}
	if before != nil && !in.installed(before) { // never a copy of what reeve wrote
		if err := in.replaceFile(file+backupSuffix, before); err != nil {
			return false, err
		}
	}
	return true, in.replaceSame(file, before, after)
}

// Remove takes reeve out of the agent's configuration again. A file that has not
// been changed since becomes what it was, byte for byte.
func (in *Installation) Remove() (changed bool, err error) {
	file, before, err := in.present()
	if err != nil || before == nil {
		return false, err
	}
	if in.whole() != nil {
		if !in.wrote(before) {
			return false, fmt.Errorf("%s is not reeve's; it is not removed", file)
		}
		if _, err := in.list(file, false); err != nil { // first what names it
			return false, err
		}
		return true, os.Remove(file)
	}
	if !in.installed(before) {
		return false, nil
	}
	rest, err := in.edit(before, false)
	if err != nil {
		return false, fmt.Errorf("%s: %w", file, err)
	}
	backup := file + backupSuffix
	if old, err := readConfig(backup); err == nil && old != nil {
		// Nothing was changed but by us, if the old file says the same as the rest.
		if plain, err := in.edit(old, false); err == nil && bytes.Equal(gist(plain), gist(rest)) {
			if err := in.replaceSame(file, before, old); err != nil {
				return false, err
			}
			return true, os.Remove(backup)
		}
		for _, s := range in.settings() { // what had been set before stays set
			if s.isIn(old) {
				if rest, err = set(rest, s.path, []byte(s.value)); err != nil {
					return false, fmt.Errorf("%s: %w", file, err)
				}
			}
		}
	} else if doc, err := rawjson.Parse(bytes.TrimPrefix(rest, mark)); err == nil && !doc.Root().HasOthers([]string{"version"}) {
		return true, os.Remove(file) // there was none
	}
	return true, in.replaceSame(file, before, rest)
}

// mark is what some editors write before a text to say that it is UTF-8.
var mark = []byte("\ufeff")

// gist is what a configuration says, whatever its form: without lists of hooks
// that are empty.
func gist(text []byte) []byte {
	doc, err := rawjson.Parse(bytes.TrimPrefix(text, mark))
	if err != nil {
		return text
	}
	var hooks obj
	for event, list := range doc.Root().Get("hooks").Members() {
		if list.Kind() != rawjson.Null && (list.Kind() != rawjson.Array || list.Len() > 0) {
			hooks = hooks.raw(event, list.AppendCanonical(nil))
		}
	}
	all := obj(nil).raw("hooks", hooks.end())
	for name, v := range doc.Root().Members() {
		if name != "hooks" {
			all = all.raw(name, v.AppendCanonical(nil))
		}
	}
	return all.end()
}

func sameJSON(a, b []byte) bool {
	x, err1 := rawjson.Parse(a)
	y, err2 := rawjson.Parse(b)
	return err1 == nil && err2 == nil && bytes.Equal(x.Root().AppendCanonical(nil), y.Root().AppendCanonical(nil))
}

// present is the file and what it holds now, nil if it is not there. A link is
// followed, so that what it leads to is edited.
func (in *Installation) present() (file string, text []byte, err error) {
	if file, err = in.File(); err != nil {
		return "", nil, err
	}
	if to, err := filepath.EvalSymlinks(file); err == nil {
		if err := in.inProject(to); err != nil {
			return "", nil, fmt.Errorf("%s %w", file, err)
		}
		file = to
	} else if info, err := os.Lstat(file); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return "", nil, fmt.Errorf("%s is a link that leads to no file", file)
	}
	// The file may be new in a folder that is a link.
	if to, err := filepath.EvalSymlinks(filepath.Dir(file)); err == nil {
		if err := in.inProject(filepath.Join(to, filepath.Base(file))); err != nil {
			return "", nil, fmt.Errorf("%s %w", file, err)
		}
	}
	text, err = readConfig(file)
	return file, text, err
}

// inProject refuses a file that a repository's links lead to outside of it: they came
// with the repository, and whose file that is the user was not asked.
func (in *Installation) inProject(file string) error {
	if in.Project == "" {
		return nil
	}
	root, err := filepath.EvalSymlinks(in.Project)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(root, file)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return fmt.Errorf("is a link that leads out of the repository, to %s; it is not edited", file)
	}
	return nil
}

func readConfig(file string) ([]byte, error) {
	text, err := regular.Read(file, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if text == nil && err == nil {
		text = []byte{}
	}
	return text, err
}

// installed reports whether a file has hooks of reeve's for this agent.
func (in *Installation) installed(text []byte) bool {
	doc, err := rawjson.Parse(bytes.TrimPrefix(text, mark))
	return err == nil && in.ours(doc.Root())
}

// ours reports whether a value holds a command of reeve's for this agent.
func (in *Installation) ours(v rawjson.Value) bool {
	for s := range v.Strings() {
		if strings.Contains(s.Text(), " hook --agent "+in.Agent) {
			return true
		}
	}
	return false
}

// wrote reports whether a file that is reeve's own was written by it.
func (in *Installation) wrote(text []byte) bool {
	return bytes.Contains(text, []byte(" hook --agent "+in.Agent)) || bytes.Contains(text, []byte(`"hook","--agent","`+in.Agent+`"`))
}

// edit returns the file's text without reeve's hooks, or with them as they
// should be. What is right already stays as it is.
func (in *Installation) edit(text []byte, add bool) ([]byte, error) {
	if rest, marked := bytes.CutPrefix(text, mark); marked {
		edited, err := in.edit(rest, add)
		return append(mark[:len(mark):len(mark)], edited...), err
	}
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	text, err := in.editHooks(text, add)
	if err != nil {
		return nil, err
	}
	for _, s := range in.settings() {
		if add {
			text, err = set(text, s.path, []byte(s.value))
		} else {
			text, err = unset(text, s.path)
		}
		if err != nil {
			return nil, err
		}
	}
	return text, nil
}

// editHooks is edit for the hooks alone.
func (in *Installation) editHooks(text []byte, add bool) ([]byte, error) {
	doc, err := rawjson.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("it is not plain JSON, and is not edited (comments are not understood): %w", err)
	}
	root := doc.Root()
	hooks := root.Get("hooks")
	if root.Kind() != rawjson.Object || hooks.Exists() && hooks.Kind() != rawjson.Object {
		return nil, errors.New("it is no JSON object, or its hooks are none; it is not edited")
	}
	p := places[in.Agent]
	var wanted map[string][]byte
	if add {
		in.giveName(text)
		wanted = map[string][]byte{}
		for _, event := range p.events {
			wanted[event] = p.entry(in, event)
		}
	}
	var now obj
	same := true
	for event, list := range hooks.Members() {
		if list.Kind() == rawjson.Null {
			continue // as if it were not there
		}
		if list.Kind() != rawjson.Array && wanted[event] != nil {
			return nil, fmt.Errorf("its hooks for %s are no list; it is not edited", event)
		}
		kept, changed := in.others(list, wanted[event], p.grouped)
		delete(wanted, event)
		same = same && !changed
		if kept != nil {
			now = now.raw(event, kept)
		}
	}
	for _, event := range p.events {
		if entry := wanted[event]; entry != nil {
			now, same = now.raw(event, append(append([]byte{'['}, entry...), ']')), false
		}
	}
	if same {
		return text, nil
	}
	value := indented(now.end(), "  ")
	changes := []rawjson.Replacement{}
	switch {
	case hooks.Exists() && (len(now) > 0 || add):
		changes = append(changes, rawjson.Replacement{At: hooks, With: value})
	case hooks.Exists(): // nothing is left of it
		return without(root, "hooks"), nil
	default:
		more := `"hooks": ` + string(value)
		if p.version && !root.Get("version").Exists() {
			more = "\"version\": 1,\n  " + more
		}
		changes = append(changes, rawjson.Replacement{At: root, With: withMember(root.Raw(), more)})
	}
	return doc.Splice(changes)
}

// others returns one event's list without what is reeve's, but with its entry if
// there is one to be; nil when nothing is left. changed says whether that differs.
func (in *Installation) others(list rawjson.Value, entry []byte, grouped bool) (kept []byte, changed bool) {
	if list.Kind() != rawjson.Array {
		return list.Raw(), false
	}
	var elements [][]byte
	there := false
	for _, e := range list.Elems() {
		switch {
		case !in.ours(e):
			elements = append(elements, e.Raw())
		case entry != nil && !there && sameJSON(e.Raw(), entry):
			there = true
			elements = append(elements, e.Raw())
		case grouped && e.Get("hooks").Len() > 1: // somebody put others beside it
			rest, _ := in.others(e.Get("hooks"), nil, false)
			changed = true
			if rest != nil {
				if group, ok := splice(e, []rawjson.Replacement{{At: e.Get("hooks"), With: rest}}); ok {
					elements = append(elements, group)
				}
			}
		default:
			changed = true
		}
	}
	if entry != nil && !there {
		elements, changed = append(elements, entry), true
	}
	if !changed {
		return list.Raw(), false
	}
	if len(elements) == 0 {
		return nil, true
	}
	return append(append([]byte{'['}, bytes.Join(elements, []byte(","))...), ']'), true
}

// withMember returns an object's text with a member added at its end.
func withMember(object []byte, member string) []byte {
	body := bytes.TrimRight(object[:len(object)-1], " \t\r\n")
	comma := ","
	if len(body) == 1 {
		comma = ""
	}
	return append(bytes.Clone(body), comma+"\n  "+member+"\n}"...)
}

// without returns an object's text without a member.
func without(object rawjson.Value, name string) []byte {
	var rest obj
	for member, v := range object.Members() {
		if member != name {
			rest = rest.raw(member, v.Raw())
		}
	}
	return indented(rest.end(), "")
}

// replaceSame replaces a file that holds what it held when it was read: the agent, or
// somebody else, may have written it meanwhile.
func (in *Installation) replaceSame(file string, before, after []byte) error {
	now, err := readConfig(file)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, before) || (now == nil) != (before == nil) {
		return fmt.Errorf("%s was changed meanwhile; nothing was written, so try again", file)
	}
	return in.replaceFile(file, after)
}

// replaceFile writes a file whole or not at all, and keeps its mode.
func (in *Installation) replaceFile(file string, text []byte) error {
	mode := in.mode()
	if info, err := os.Stat(file); err == nil {
		mode = info.Mode().Perm()
	}
	if err := in.makeFolder(file); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".reeve-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// Installed reports whether reeve's hooks are in the agent's configuration.
func (in *Installation) Installed() bool {
	_, text, err := in.present()
	return err == nil && text != nil && in.wrote(text)
}

// Left says what stays of an installation that was taken out.
func (in *Installation) Left() []string {
	var list []string
	file, text, err := in.present()
	if err != nil {
		return []string{err.Error()}
	}
	if old, err := readConfig(file + backupSuffix); err == nil && old != nil && text != nil {
		list = append(list, "it was changed since reeve was installed: the file as it was before stays as "+file+backupSuffix)
	}
	if in.Agent == "codex" && !in.Managed {
		list = append(list, "Codex' config.toml keeps features.unified_exec_tty = false, and the trust in hooks that are no longer there")
	}
	return list
}
