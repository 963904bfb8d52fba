package hazard

import (
	"slices"
	"strconv"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/yamldoc"
)

// An argument may be a text that holds arguments itself: JSON in a string, a job in YAML, a
// command in base64. Tools take all of these apart, so they are read as if what is in them
// stood there by itself.

// Bounds of texts within texts.
const (
	maxNested     = 3         // levels
	maxNestedText = 256 << 10 // bytes of one
	maxNestedYAML = 32 << 10
	maxNestedAll  = 2000 // leaves of one
)

// nested reads what a text of a call holds: arguments, or an encoded text. Of what is
// written to a file the content is not taken apart: it is kept, and not done.
func (a *assessor) nested(c *call, l *leaf) {
	if l.role == roleContent || l.role == rolePath || l.role == roleSought || l.role == roleURL || len(l.Text) > maxNestedText || a.depth >= maxNested {
		return
	}
	text := strings.TrimSpace(l.Text)
	if len(text) < 8 {
		return
	}
	leaves := jsonLeaves(l, text)
	if leaves == nil {
		leaves = yamlLeaves(l, text)
	}
	if leaves == nil {
		if decoded, ok := decodedText(text); ok {
			leaves = []act.Leaf{{Pointer: l.Pointer, Arg: l.Arg, Text: decoded}}
		}
	}
	if leaves == nil || !a.spend(len(text)) {
		return
	}
	pointer, size, runs := a.pointer, a.size, a.runs
	a.depth++
	was := a.inText
	if a.inText == nil {
		a.inText = &textPlace{l.Pointer, len(l.Text)}
	}
	a.read(newCall(c.tool, leaves))
	a.inText = was
	a.depth--
	a.pointer, a.size, a.runs = pointer, size, runs
}

// textPlace is the text of a call in which another text was found.
type textPlace struct {
	pointer string
	size    int
}

// jsonLeaves are the texts in a JSON text; nil if it is none.
func jsonLeaves(l *leaf, text string) []act.Leaf {
	if !strings.ContainsRune(`{["`, rune(text[0])) {
		return nil
	}
	doc, err := rawjson.Parse([]byte(text))
	if err != nil {
		return nil
	}
	var n nest
	n.json(doc.Root(), l.Pointer, l.Arg, 0)
	return n.leaves
}

// nest gathers the texts of a value.
type nest struct{ leaves []act.Leaf }

func (n *nest) add(pointer, arg, text string) {
	if len(n.leaves) < maxNestedAll && text != "" {
		n.leaves = append(n.leaves, act.Leaf{Pointer: pointer, Arg: arg, Text: text})
	}
}

func (n *nest) json(v rawjson.Value, at, arg string, depth int) {
	if depth > 64 {
		return
	}
	switch v.Kind() {
	case rawjson.String:
		n.add(at, arg, v.Text())
	case rawjson.Array:
		for i, e := range v.Elems() {
			n.json(e, at+"/"+strconv.Itoa(i), arg, depth+1)
		}
	case rawjson.Object:
		for name, m := range v.Members() {
			n.json(m, at+"/"+rawjson.EscapePointer(name), name, depth+1)
		}
	}
}

// doing are names in YAML texts under which stands what is done.
var doing = []string{"command", "cmd", "run", "script", "exec", "shell", "entrypoint", "args", "argv", "sh", "bash", "hook", "action", "steps", "tasks"}

// yamlLeaves are the texts in a YAML text that says what is to be done; nil if it is none.
func yamlLeaves(l *leaf, text string) []act.Leaf {
	if l.role == roleCode || len(text) > maxNestedYAML || !strings.Contains(text, ":") || !saysWhatIsDone(text) {
		return nil
	}
	faults := 0
	root := yamldoc.Read(text, func(yamldoc.Fault) { faults++ })
	if root == nil || faults > 0 || root.Members == nil && root.Items == nil {
		return nil
	}
	var n nest
	n.yaml(root, l.Pointer, l.Arg, 0)
	return n.leaves
}

// saysWhatIsDone is a quick look for a name under which a command may stand, at the beginning
// of a line.
func saysWhatIsDone(text string) bool {
	for line := range strings.Lines(text) {
		line = strings.TrimLeft(line, " \t-")
		name, _, ok := strings.Cut(line, ":")
		if strings.Count(name, "'")%2+strings.Count(name, `"`)%2 > 0 {
			continue // a quotation that goes on behind the colon, as in curl -H 'Accept: x'
		}
		if ok && len(name) < 48 && slices.ContainsFunc(doing, func(d string) bool { return strings.Contains(lower(name), d) }) {
			return true
		}
	}
	return false
}

func (n *nest) yaml(v *yamldoc.Node, at, arg string, depth int) {
	if v == nil || depth > 64 {
		return
	}
	switch {
	case v.Members != nil:
		for _, m := range v.Members {
			n.yaml(m.Value, at+"/"+rawjson.EscapePointer(m.Name), m.Name, depth+1)
		}
	case v.Items != nil:
		for i, e := range v.Items {
			n.yaml(e, at+"/"+strconv.Itoa(i), arg, depth+1)
		}
	default:
		n.add(at, arg, v.Text)
	}
}

// decodedText is what a text says that is base64 as a whole, where that is a command.
func decodedText(text string) (string, bool) {
	if len(text) < 16 || strings.ContainsAny(text[:16], " ./:{<\n") {
		return "", false
	}
	decoded, ok := unbase64(text)
	return decoded, ok && formOf(decoded) == roleCommand
}

// holdsCommand reports whether a text holds arguments of which one is run.
func holdsCommand(tool string, l *leaf) bool {
	text := strings.TrimSpace(l.Text)
	if len(text) < 8 || len(text) > maxNestedText {
		return false
	}
	if _, ok := decodedText(text); ok {
		return true
	}
	leaves := jsonLeaves(l, text)
	if leaves == nil {
		leaves = yamlLeaves(l, text)
	}
	if leaves == nil {
		return false
	}
	return slices.ContainsFunc(newCall(tool, leaves).leaves, func(l leaf) bool {
		return l.role == roleCommand || l.role == roleCode || l.role == roleUnknown && formOf(l.Text) == roleCommand
	})
}
