package hook

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/rawjson"
)

// Most agents have settings that are the machine's: its administrator writes them, and
// neither a user nor a repository overrules them. Hooks there run for every user in every
// folder, without being trusted first, and where an agent knows how to say so, no others.

// managedPlace is what is different where an installation is in the machine's settings.
type managedPlace struct {
	files map[string]string // by operating system
	// settings are set beside the hooks, so that nothing switches these off.
	settings []setting
	whole    func(in *Installation, events []string) []byte // the file is reeve's own, in another form
	listed   string                                         // the agent's file beside it that has to name it
	note     string
}

// setting is one setting in a JSON file: its path of names, and its value.
type setting struct {
	path  []string
	value string
}

// managedFile is the file of the machine's settings that reeve writes.
func managedFile(agent string) (string, error) {
	m := places[agent].managed
	if m == nil {
		return "", fmt.Errorf("%s has no settings of the machine's that hold hooks", agentName(agent))
	}
	if m.files[runtime.GOOS] == "" {
		return "", fmt.Errorf("where the machine's settings of %s are on %s is not known to reeve", agentName(agent), runtime.GOOS)
	}
	return m.files[runtime.GOOS], nil
}

// whole returns what writes a file that is reeve's own; nil if the installation is a
// part of the agent's file.
func (in *Installation) whole() func(in *Installation, events []string) []byte {
	p := places[in.Agent]
	if in.Managed && p.managed != nil && p.managed.whole != nil {
		return p.managed.whole
	}
	return p.whole
}

// settings are those that the installation sets beside its hooks.
func (in *Installation) settings() []setting {
	if p := places[in.Agent]; in.Managed && p.managed != nil {
		return p.managed.settings
	}
	return nil
}

// codexManaged is the folder of what a machine requires of its Codex, which it names as
// the source of the hooks.
const codexManaged = "/etc/codex"

// codexRequirements is what a machine requires of its Codex. JSON's strings are TOML's, too.
func codexRequirements(in *Installation, events []string) []byte {
	var b bytes.Buffer
	b.WriteString("# Written by \"reeve hook install codex --managed\".\n" +
		"allow_managed_hooks_only = true\n\n" +
		"[features]\nhooks = true\n# No hook sees what is typed into a shell that is open.\nunified_exec_tty = false\n\n" +
		"[hooks]\nmanaged_dir = " + string(rawjson.Quote(codexManaged)) + "\n")
	for _, event := range events {
		fmt.Fprintf(&b, "\n[[hooks.%s]]\n[[hooks.%s.hooks]]\ntype = \"command\"\ncommand = %s\ntimeout = %s\n", event, event, rawjson.Quote(in.line(event)), seconds(1))
	}
	return b.Bytes()
}

// tomlLine is the command for an event in what codexRequirements has written.
func tomlLine(text []byte, event string) string {
	_, rest, _ := strings.Cut(string(text), "[[hooks."+event+".hooks]]\n")
	rest, _, _ = strings.Cut(rest, "\n[[")
	for line := range strings.Lines(rest) {
		if value, ok := strings.CutPrefix(line, "command = "); ok {
			if doc, err := rawjson.Parse([]byte(strings.TrimSpace(value))); err == nil {
				return doc.Root().Text()
			}
		}
	}
	return ""
}

// list adds the plugin to those of the agent's own file, or takes it out again.
func (in *Installation) list(file string, add bool) (changed bool, err error) {
	p := places[in.Agent]
	if !in.Managed || p.managed.listed == "" {
		return false, nil
	}
	own := filepath.Join(filepath.Dir(file), p.managed.listed)
	before, err := readConfig(own)
	if err != nil {
		return false, err
	}
	after, err := listed(before, "file://"+file, add)
	if err != nil {
		return false, fmt.Errorf("%s: %w", own, err)
	}
	if bytes.Equal(before, after) {
		return false, nil
	}
	if old, err := readConfig(own + backupSuffix); !add && err == nil && old != nil {
		if plain, err := listed(old, "file://"+file, false); err == nil && sameJSON(plain, after) {
			after = old // nothing was changed but by us
		}
		if err := in.replaceSame(own, before, after); err != nil {
			return false, err
		}
		return true, os.Remove(own + backupSuffix)
	}
	if !add && sameJSON(after, []byte("{}")) {
		return true, os.Remove(own)
	}
	if add && before != nil {
		if err := in.replaceFile(own+backupSuffix, before); err != nil {
			return false, err
		}
	}
	return true, in.replaceSame(own, before, after)
}

// listed returns a configuration of OpenCode's whose list of plugins has one, or has not.
func listed(text []byte, plugin string, add bool) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		if !add {
			return text, nil
		}
		text = []byte("{}\n")
	}
	doc, err := rawjson.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("it is not plain JSON, and is not edited (comments are not understood): %w", err)
	}
	list := doc.Root().Get("plugin")
	if doc.Root().Kind() != rawjson.Object || list.Exists() && list.Kind() != rawjson.Array {
		return nil, errors.New("it is no JSON object, or its plugins are no list; it is not edited")
	}
	var kept [][]byte
	there := false
	for _, e := range list.Elems() {
		if e.Text() == plugin {
			there = true
			continue
		}
		kept = append(kept, e.Raw())
	}
	if there == add {
		return text, nil
	}
	if add {
		kept = append(kept, rawjson.Quote(plugin))
	}
	if len(kept) == 0 {
		return without(doc.Root(), "plugin"), nil
	}
	return set(text, []string{"plugin"}, append(append([]byte{'['}, bytes.Join(kept, []byte(", "))...), ']'))
}

// set returns a JSON text with one setting that has a value. Nothing else changes.
func set(text []byte, path []string, value []byte) ([]byte, error) {
	doc, err := rawjson.Parse(text)
	if err != nil {
		return nil, err
	}
	at := doc.Root()
	for i, name := range path {
		if at.Kind() != rawjson.Object {
			return nil, fmt.Errorf("its %s is no JSON object; it is not edited", strings.Join(path[:i], "."))
		}
		next := at.Get(name)
		if !next.Exists() {
			for _, inner := range slices.Backward(path[i+1:]) {
				value = obj(nil).raw(inner, value).end()
			}
			return doc.Splice([]rawjson.Replacement{{At: at, With: withMember(at.Raw(), string(rawjson.Quote(name))+": "+string(value))}})
		}
		at = next
	}
	if bytes.Equal(at.AppendCanonical(nil), value) {
		return text, nil
	}
	return doc.Splice([]rawjson.Replacement{{At: at, With: value}})
}

// unset returns a JSON text without one setting, and without the objects that are empty
// then.
func unset(text []byte, path []string) ([]byte, error) {
	doc, err := rawjson.Parse(text)
	if err != nil {
		return nil, err
	}
	at := doc.Root()
	for _, name := range path[:len(path)-1] {
		at = at.Get(name)
	}
	last := path[len(path)-1]
	if at.Kind() == rawjson.Object && len(path) > 1 && !at.HasOthers(path[len(path)-1:]) {
		return unset(text, path[:len(path)-1])
	}
	if !at.Get(last).Exists() {
		return text, nil
	}
	return doc.Splice([]rawjson.Replacement{{At: at, With: bytes.TrimSpace(without(at, last))}})
}

// isIn reports whether a JSON text has a setting with its value.
func (s *setting) isIn(text []byte) bool {
	doc, err := rawjson.Parse(bytes.TrimPrefix(text, mark))
	if err != nil {
		return false
	}
	at := doc.Root()
	for _, name := range s.path {
		at = at.Get(name)
	}
	return at.Exists() && string(at.AppendCanonical(nil)) == s.value
}

// giveName gives a hook the name by which an agent's settings can switch one hook off:
// that of a machine's is one that no repository can know, and stays once it is given.
func (in *Installation) giveName(text []byte) {
	switch m := givenName.FindSubmatch(text); {
	case !in.Managed:
		in.name = "reeve"
	case m != nil:
		in.name = string(m[1])
	case in.name == "":
		in.name = "reeve-" + rand.Text()
	}
}

var givenName = lazyregexp.New(`"name": *"(reeve-[A-Z2-7]{26})"`)

// Reachable says why a hook in the machine's settings would not hold every user: what it
// runs could be replaced by one of them, or cannot be run by them.
func (in *Installation) Reachable() error {
	if !in.Managed {
		return nil
	}
	return onlyRoots(in.Command[0])
}

// mode is that of a file that is new: others than the administrator read the machine's.
func (in *Installation) mode() fs.FileMode {
	if in.Managed {
		return 0o644
	}
	return 0o600
}

// makeFolder makes a file's folder.
func (in *Installation) makeFolder(file string) error {
	dir := filepath.Dir(file)
	if !in.Managed {
		return os.MkdirAll(dir, 0o755)
	}
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := in.makeFolder(dir); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	return os.Chmod(dir, 0o755) // whatever the administrator's umask is
}

// managedTrust asks Codex whether it would run the hooks that the machine requires.
func managedTrust(ctx context.Context, folder string) (said string, err error) {
	s, err := startCodex(ctx, folder)
	if err != nil {
		return "Whether Codex takes them over was not asked: " + err.Error(), nil
	}
	defer s.close()
	list, err := s.hooks(folder, codexManaged)
	if err != nil {
		return "Whether Codex takes them over was not asked: " + err.Error(), nil
	}
	if len(list) == 0 {
		return "", errors.New("codex does not take over what the machine requires of it: cloud-managed requirements may stand before it")
	}
	for _, h := range list {
		if h.trust != "managed" || !h.enabled {
			return "", fmt.Errorf("codex does not run the hook for %s: it is %s", h.event, h.trust)
		}
	}
	return fmt.Sprintf("Codex runs the %d hooks as the machine's own, and no others.", len(list)), nil
}
