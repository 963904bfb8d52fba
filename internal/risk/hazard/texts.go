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
	maxNested     = 6       // levels
	maxNestedText = maxText // bytes of one
	maxNestedYAML = 32 << 10
	maxNestedAll  = 20_000 // leaves of one
	maxNestedDeep = 64     // members and items inside each other
)

// nested reads what a text of a call holds: arguments, or an encoded text. Of what is
// written to a file the content is not taken apart: it is kept, and not done. What holds more than is
// taken apart is not understood.
func (a *assessor) nested(c *call, l *leaf) {
	if l.role == roleContent || l.role == rolePath || l.role == roleSought || l.role == roleURL || len(l.Text) > maxNestedText {
		return
	}
	text := strings.TrimSpace(l.Text)
	if len(text) < 8 {
		return
	}
	leaves, all := textLeaves(l, text)
	if leaves == nil {
		if decoded, ok := decodedText(text); ok {
			leaves = []act.Leaf{{Pointer: l.Pointer, Arg: l.Arg, Text: decoded}}
		}
	}
	if leaves == nil {
		return
	}
	if enough := a.spend(len(text)); !all || !enough || a.depth >= maxNested {
		a.starve(span{0, len(l.Text)})
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

// textLeaves are the texts in a text that is JSON, or YAML that says what is to be done; nil if it is neither.
// all is false where there are more than are gathered.
func textLeaves(l *leaf, text string) (leaves []act.Leaf, all bool) {
	n := jsonLeaves(l, text)
	if n.leaves == nil {
		n = yamlLeaves(l, text)
	}
	return n.leaves, !n.more
}

// jsonLeaves are the texts in a JSON text; none if it is no JSON.
func jsonLeaves(l *leaf, text string) (n nest) {
	if !strings.ContainsRune(`{["`, rune(text[0])) {
		return n
	}
	doc, err := rawjson.Parse([]byte(text))
	if err != nil {
		return n
	}
	n.json(doc.Root(), l.Pointer, l.Arg, 0)
	return n
}

// nest gathers the texts of a value. more says that there are some that it has not.
type nest struct {
	leaves []act.Leaf
	more   bool
}

func (n *nest) add(pointer, arg, text string) {
	switch {
	case text == "":
	case len(n.leaves) < maxNestedAll:
		n.leaves = append(n.leaves, act.Leaf{Pointer: pointer, Arg: arg, Text: text})
	default:
		n.more = true
	}
}

func (n *nest) json(v rawjson.Value, at, arg string, depth int) {
	if depth > maxNestedDeep {
		n.more = true
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

// yamlLeaves are the texts in a YAML text that says what is to be done; none if it says nothing so.
func yamlLeaves(l *leaf, text string) (n nest) {
	if l.role == roleCode || len(text) > maxNestedYAML || !strings.Contains(text, ":") || !saysWhatIsDone(text) {
		return n
	}
	faults := 0
	root := yamldoc.Read(text, func(yamldoc.Fault) { faults++ })
	if root == nil || faults > 0 || root.Members == nil && root.Items == nil {
		return n
	}
	n.yaml(root, l.Pointer, l.Arg, 0)
	return n
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
	if n.more = n.more || depth > maxNestedDeep; v == nil || n.more {
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
	leaves, _ := textLeaves(l, text)
	return slices.ContainsFunc(newCall(tool, leaves).leaves, func(l leaf) bool {
		return l.role == roleCommand || l.role == roleCode || l.role == roleUnknown && formOf(l.Text) == roleCommand
	})
}
