package install

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/pelletier/go-toml/v2"
)

// editTOML changes the servers of a configuration in TOML. The file is edited as
// text, so that comments and order stay, and read again: where it does not say
// then what it should, as when a server is written in an unusual form, nothing is
// changed.
func editTOML(text []byte, change func(*server) (server, bool)) ([]byte, Done, error) {
	var done Done
	before, err := readTOML(text)
	if err != nil {
		return nil, done, err
	}
	servers, _ := before["mcp_servers"].(map[string]any)
	out := text
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		entry, _ := servers[name].(map[string]any)
		s := server{name: name}
		s.command, _ = entry["command"].(string)
		if s.command == "" {
			done.Left = append(done.Left, name)
			continue
		}
		args, listed := entry["args"].([]any)
		if entry["args"] != nil && !listed {
			return nil, done, fmt.Errorf("the args of the server %q are no list", name)
		}
		for _, a := range args {
			arg, ok := a.(string)
			if !ok {
				return nil, done, fmt.Errorf("an argument of the server %q is no text", name)
			}
			s.args = append(s.args, arg)
		}
		w, ok := change(&s)
		if !ok {
			continue
		}
		done.Changed = append(done.Changed, name)
		out = setTOML(out, name, w, listed)
		entry["command"] = w.command
		entry["args"] = slices.Collect(func(yield func(any) bool) {
			for _, a := range w.args {
				if !yield(a) {
					return
				}
			}
		})
		if len(w.args) == 0 {
			entry["args"] = []any{}
		}
	}
	after, err := readTOML(out)
	if err != nil || !reflect.DeepEqual(before, after) {
		return nil, Done{}, fmt.Errorf("the servers %q are written in a form that cannot be edited here: put the proxy before their commands by hand", done.Changed)
	}
	return out, done, nil
}

func readTOML(text []byte) (map[string]any, error) {
	all := map[string]any{}
	if err := toml.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("the configuration is not TOML: %w", err)
	}
	return all, nil
}

// setTOML puts another command and other arguments into the table of a server.
func setTOML(text []byte, name string, s server, hasArgs bool) []byte {
	inside := false
	for at := 0; at < len(text); {
		end := at + valueEnd(text[at:])
		line := bytes.TrimSpace(text[at:end])
		switch {
		case bytes.HasPrefix(line, []byte{'['}):
			inside = isTable(line, name)
		case !inside:
		case isKey(line, "command"):
			with := append([]byte("command = "), quote(s.command)...)
			if !hasArgs {
				with = append(append(with, "\nargs = "...), list(s.args)...)
			}
			text = replaceValue(text, at, end, with)
			end = at + valueEnd(text[at:])
			if !hasArgs { // over the line that was added
				end += valueEnd(text[end:])
			}
		case hasArgs && isKey(line, "args"):
			text = replaceValue(text, at, end, append([]byte("args = "), list(s.args)...))
			end = at + valueEnd(text[at:])
		}
		at = end
	}
	return text
}

// replaceValue replaces a statement, but not the white space and the comment
// around it.
func replaceValue(text []byte, start, end int, with []byte) []byte {
	statement := text[start:end]
	lead := len(statement) - len(bytes.TrimLeft(statement, " \t"))
	stop := commentStart(statement)
	stop -= len(statement[:stop]) - len(bytes.TrimRight(statement[:stop], " \t\r\n"))
	return slices.Concat(text[:start+lead], with, text[start+stop:])
}

// isTable reports whether a line begins the table of a server.
func isTable(line []byte, name string) bool {
	header := slices.Concat(bytes.TrimSpace(line[:commentStart(line)]), []byte("\nx = 1\n"))
	all, err := readTOML(header)
	if err != nil {
		return false
	}
	servers, _ := all["mcp_servers"].(map[string]any)
	entry, _ := servers[name].(map[string]any)
	_, here := entry["x"]
	return here
}

// isKey reports whether a line gives a key a value.
func isKey(line []byte, key string) bool {
	for _, form := range []string{key, `"` + key + `"`, "'" + key + "'"} {
		if rest, ok := bytes.CutPrefix(line, []byte(form)); ok && bytes.HasPrefix(bytes.TrimLeft(rest, " \t"), []byte{'='}) {
			return true
		}
	}
	return false
}

// valueEnd is where the statement at the beginning of a text ends, with its line:
// a list, and a text in three quotes, can go over several.
func valueEnd(text []byte) int { end, _ := scan(text); return end }

// commentStart is where the comment of a statement begins, or its end.
func commentStart(text []byte) int {
	end, comment := scan(text)
	if comment >= 0 {
		return comment
	}
	return end
}

// scan reads a statement: where it ends, and where its last comment begins, if it
// has one outside of lists.
func scan(text []byte) (end, comment int) {
	comment = -1
	deep := 0
	for i := 0; i < len(text); {
		switch c := text[i]; c {
		case '\n':
			if deep <= 0 {
				return i + 1, comment
			}
			i++
		case '#':
			if deep <= 0 {
				comment = i
			}
			for i < len(text) && text[i] != '\n' {
				i++
			}
		case '[', '{':
			deep++
			i++
		case ']', '}':
			deep--
			i++
		case '"', '\'':
			i += skipText(text[i:], c)
		default:
			i++
		}
	}
	return len(text), comment
}

// skipText is the length of the text in quotes at the beginning.
func skipText(text []byte, quote byte) int {
	three := bytes.Repeat([]byte{quote}, 3)
	long := bytes.HasPrefix(text, three)
	i := 1
	if long {
		i = 3
	}
	for ; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote == '"':
			i++
		case long && bytes.HasPrefix(text[i:], three):
			return i + 3
		case !long && (text[i] == quote || text[i] == '\n'):
			return i + 1
		}
	}
	return len(text)
}
