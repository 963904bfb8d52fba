package pins

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/words"
)

// maxChanges is how many differences of one tool are told.
const maxChanges = 6

// Changed says in what the definition that waits differs from the one that was agreed to,
// in words of reeve's own: a model may read it, and the server wrote the definitions. Nil
// where that is not known.
func (t *Tool) Changed() (changes []string) {
	if t.Held == nil {
		return nil
	}
	was, err := rawjson.Parse(t.Definition)
	if err != nil {
		return nil
	}
	is, err := rawjson.Parse(t.Held.Definition)
	if err != nil {
		return nil
	}
	differ(was.Root(), is.Root(), "", func(format string, args ...any) {
		changes = append(changes, fmt.Sprintf(format, args...))
	})
	if more := len(changes) - maxChanges; more > 0 {
		changes = append(changes[:maxChanges], words.Count(more, "more difference"))
	}
	return changes
}

// differ tells of the members that two objects do not share, the arguments one by one.
func differ(was, is rawjson.Value, of string, tell func(format string, args ...any)) {
	for _, name := range membersOf(was, is) {
		a, b := was.Get(name), is.Get(name)
		if bytes.Equal(a.AppendCanonical(nil), b.AppendCanonical(nil)) {
			continue
		}
		switch {
		case of == "" && name == "inputSchema" && a.Kind() == rawjson.Object && b.Kind() == rawjson.Object:
			differ(a, b, "schema", tell)
		case of == "schema" && name == "properties" && a.Kind() == rawjson.Object && b.Kind() == rawjson.Object:
			differ(a, b, "argument", tell)
		case of == "argument" && !a.Exists():
			tell("a new argument %s", Plain(name))
		case of == "argument" && !b.Exists():
			tell("the argument %s is gone", Plain(name))
		case of == "argument":
			tell("the argument %s is another", Plain(name))
		case of == "schema":
			tell("what its arguments must be (%s)", member(name))
		case a.Kind() == rawjson.String && b.Kind() == rawjson.String:
			tell("its %s, of %s, was %s long", member(name), words.Count(utf8.RuneCountInString(b.Text()), "character"), words.Count(utf8.RuneCountInString(a.Text()), "character"))
		default:
			tell("its %s", member(name))
		}
	}
}

// membersOf are the names of the members of two objects, each once, in their order.
func membersOf(objects ...rawjson.Value) (names []string) {
	seen := map[string]bool{}
	for _, o := range objects {
		for name := range o.Members() {
			if !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	return names
}

// member is the name of a member: without quotes where the protocol has it.
func member(name string) string {
	switch name {
	case "description", "title", "annotations", "inputSchema", "outputSchema", "icons", "required", "type", "additionalProperties":
		return name
	}
	return Plain(name)
}

// Plain is a name as a sentence for a model may hold it: only one that is no sentence itself.
func Plain(name string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.' || r == '/'
	}
	letters := 0
	parts := 1
	for _, r := range name {
		if !plain(r) {
			return "(of an unusual name)"
		}
		if r == '_' || r == '-' || r == '.' || r == '/' {
			parts++
		}
		letters++
	}
	if letters == 0 || letters > 64 || parts > 6 { // ignore_all_previous_instructions_and_…
		return "(of an unusual name)"
	}
	return fmt.Sprintf("%q", name)
}
