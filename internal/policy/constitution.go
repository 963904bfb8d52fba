package policy

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/rawjson"
)

// A constitution is the policy file of AEON, the origin of A2G: a TOML file
// that says which hosts may be reached, where files may be written, and which
// texts no command may hold. It is read into the nodes of a policy document, so
// that the same code checks it and every fault has its place in the TOML file.

const (
	maxConstitution = 256 << 10 // bytes
	maxTOMLTables   = 500       // brackets and braces: each could be one level deeper
	maxTOMLDots     = 50_000    // likewise in a key, and in the names of hosts
)

var (
	constitutionKeys = []string{"meta", "network", "filesystem", "commands", "resources"}
	metaKeys         = []string{"version", "authority", "name", "description"}
	networkKeys      = []string{"allow", "block", "strict_mode"}
	filesystemKeys   = []string{"write_allow"}
	commandKeys      = []string{"block"}
	resourceKeys     = []string{"max_memory_mb", "max_cpu_percent", "timeout_seconds"}
)

func isConstitution(file string) bool { return strings.HasSuffix(file, ".toml") }

// readConstitution reads the source as a constitution, and returns the policy
// document that says the same; nil when it cannot be read.
func (r *yamlReader) readConstitution() *node {
	root := r.readTOML()
	if root == nil {
		return nil
	}
	d := &document{yamlReader: r}
	section := func(name string, keys []string) *node {
		n := root.Get(name)
		if n == nil {
			return &node{Kind: rawjson.Null}
		}
		if n.Kind != rawjson.Object {
			d.at(n, "write ["+name+"]", "%s is a section, not %s", name, n.Is())
			return &node{Kind: rawjson.Null}
		}
		d.known(n, keys, "["+name+"]")
		return n
	}
	d.known(root, constitutionKeys, "a constitution")
	section("meta", metaKeys)
	network, files := section("network", networkKeys), section("filesystem", filesystemKeys)
	commands, resources := section("commands", commandKeys), section("resources", resourceKeys)

	b := builder{d: d, lists: &node{Kind: rawjson.Object}, rules: &node{Kind: rawjson.Array}}
	b.limits.Kind = rawjson.Object
	b.limits.Members = append(b.limits.Members, resources.Members...)
	b.network(network)
	b.filesystem(files)
	b.commands(commands)
	if len(r.errs) == 0 && len(b.rules.Items) == 0 && len(b.limits.Members) == 0 {
		d.at(root, "it has [network], [filesystem], [commands] or [resources]", "the constitution says nothing")
		return nil
	}
	return mapping(1, 1, "version", number("1"), "default", text("allow"), "lists", b.lists, "rules", b.rules,
		"manifests", mapping(1, 1, "*", &b.limits))
}

// builder gathers the parts of the document that a constitution stands for.
type builder struct {
	d            *document
	lists, rules *node
	limits       node // the manifest of every tool
}

func (b *builder) limit(name string, value *node) {
	b.limits.Members = append(b.limits.Members, member{Name: name, Line: value.Line, Column: value.Column, Value: value})
}

// list takes the texts of a section's key into a list for conditions.
func (b *builder) list(section *node, key, name string, check func(string) (problem, hint string), form func(string) string) (n *node, given bool) {
	if n = section.Get(key); n == nil {
		return nil, false
	}
	values := &node{Kind: rawjson.Array, Line: n.Line, Column: n.Column}
	for _, s := range b.d.entries(section, key, check) {
		values.Items = append(values.Items, text(form(s)))
	}
	b.lists.Members = append(b.lists.Members, member{Name: name, Line: n.Line, Column: n.Column, Value: values})
	return n, true
}

func (b *builder) rule(at *node, name, when, reason, instead string) {
	r := mapping(at.Line, at.Column,
		"name", text("constitution "+name), "code", text("constitution."+strings.Fields(name)[0]), "effect", text("deny"),
		"on", text(callKind),
		"when", text(when), "reason", text(reason), "instead", text(instead))
	b.rules.Items = append(b.rules.Items, r)
}

// network: what is allowed is all that is, unless strict_mode says no; what is
// blocked is never allowed. The manifest says the same to whoever enforces it.
func (b *builder) network(n *node) {
	same := func(s string) string { return s }
	allow, allowed := b.list(n, "allow", "constitution_allowed_hosts", domainName, same)
	block, blocked := b.list(n, "block", "constitution_blocked_hosts", domainName, same)
	strict := allowed
	if v := n.Get("strict_mode"); v != nil {
		if v.Kind != rawjson.Bool {
			b.d.at(v, "write true or false", "strict_mode is true or false, not %s", v.Is())
		}
		strict = v.Text == "true"
	}
	var refused []string
	if blocked {
		refused = append(refused, "h.host_in(lists.constitution_blocked_hosts)")
		b.limit("blocked_domains", block)
	}
	switch {
	case strict && allowed && len(allow.Items) > 0:
		refused = append(refused, "!h.host_in(lists.constitution_allowed_hosts)")
		b.limit("allowed_domains", allow)
		b.limit("network_allowed", yes)
	case strict:
		refused = append(refused, `h != ""`)
	case len(n.Members) > 0:
		b.limit("network_allowed", yes)
	}
	if refused == nil {
		return
	}
	is := strings.Join(refused, " || ")
	b.rule(n, "network",
		"text.hosts().exists(h, "+is+")\n"+
			`|| args.exists(k, h, k in ["host", "hostname", "domain"] && type(h) == string && (`+is+"))",
		"The constitution does not let this host be reached.", "Use one of the hosts that it allows.")
}

// filesystem: tools that write, by their names, write only where it is allowed.
func (b *builder) filesystem(n *node) {
	scope, given := b.list(n, "write_allow", "constitution_write_allow", notEmpty, path.Clean)
	if !given {
		return
	}
	b.limits.Members = append(b.limits.Members, member{Name: "filesystem_scope", Line: scope.Line, Column: scope.Column, Value: scope})
	b.rule(n, "filesystem", `action.tool.like(["*write*", "*edit*", "*create*", "*save*", "*append*", "*patch*", "*replace*", "*delete*", "*remove*", "*move*", "*rename*", "*copy*"])
&& args.exists(k, p, k in ["path", "file", "filename", "file_name", "filepath", "file_path", "target_file", "target_path",
  "destination", "destination_path", "dest", "output_file", "output_path", "new_path", "directory", "dir", "folder"]
  && !(type(p) == string && (p.glob(lists.constitution_write_allow) || p.under(lists.constitution_write_allow))))`,
		"The constitution does not let files be written here.", "Write in one of the directories that it allows.")
}

// commands: a condition names each text, since looking for one of unknown
// length is reckoned as costly, and is split before it grows too long.
func (b *builder) commands(n *node) {
	patterns := n.Get("block")
	if patterns == nil {
		return
	}
	b.limit("blocked_patterns", patterns)
	const longest = maxCondition / 2
	number, when := 1, ""
	rule := func() {
		name := "command"
		if number > 1 {
			name += fmt.Sprint(" ", number)
		}
		b.rule(n, name, when, "The constitution forbids a text in this call.", "Do it in another way, or ask a person.")
		number, when = number+1, ""
	}
	for _, s := range b.d.entries(n, "block", notEmpty) {
		if len(when) > longest {
			rule()
		}
		if when != "" {
			when += " || "
		}
		when += "folded.contains(" + strconv.Quote(canon.Text(s)) + ")"
	}
	if when != "" {
		rule()
	}
}

var yes = &node{Kind: rawjson.Bool, Text: "true"}

func text(s string) *node { return &node{Kind: rawjson.String, Text: s, Line: 1, Column: 1} }

func number(s string) *node { return &node{Kind: rawjson.Number, Text: s, Line: 1, Column: 1} }

// mapping makes a mapping at a place, and puts what it holds there, too.
func mapping(line, column int, pairs ...any) *node {
	n := &node{Kind: rawjson.Object, Line: line, Column: column}
	for i := 0; i < len(pairs); i += 2 {
		v := pairs[i+1].(*node)
		if v.Kind == rawjson.String {
			v.Line, v.Column = line, column
		}
		n.Members = append(n.Members, member{Name: pairs[i].(string), Line: line, Column: column, Value: v})
	}
	return n
}

// readTOML reads the source as TOML into nodes. Of TOML's values it takes
// texts, whole numbers, true and false, and lists of these, in tables of one level.
func (r *yamlReader) readTOML() *node {
	if len(r.source) > maxConstitution {
		r.fault(1, 1, "", "the document is larger than %d KiB", maxConstitution>>10)
		return nil
	}
	if !utf8.ValidString(r.source) {
		r.fault(1, 1, "save it as UTF-8", "the document is not valid UTF-8")
		return nil
	}
	data := []byte(r.source)
	// The library checks the whole document, keys that stand twice included;
	// then its parser gives the places.
	var all map[string]any
	if strings.Count(r.source, "[")+strings.Count(r.source, "{") > maxTOMLTables || strings.Count(r.source, ".") > maxTOMLDots {
		r.fault(1, 1, "", "the document has too many parts")
		return nil
	}
	if err := toml.Unmarshal(data, &all); err != nil {
		line, column := 1, 1
		var e *toml.DecodeError
		if errors.As(err, &e) {
			line, column = e.Position()
		}
		r.fault(line, column, "", "this is not valid TOML: %s", strings.TrimPrefix(err.Error(), "toml: "))
		return nil
	}
	t := tomlReader{yamlReader: r, line: 1, column: 1}
	return t.read(data)
}

type tomlReader struct {
	*yamlReader
	offset, line, column int // how far places have been counted
}

// place puts a node where its text stands. Texts come in the order of the
// file, so that nothing is counted twice, also on a line that is very long.
func (t *tomlReader) place(n *node, raw unstable.Range) {
	if offset := int(raw.Offset); offset > t.offset {
		between := t.source[t.offset:offset]
		if lines := strings.Count(between, "\n"); lines > 0 {
			t.line += lines
			t.column = 1
			between = between[strings.LastIndexByte(between, '\n')+1:]
		}
		t.column += utf8.RuneCountInString(between)
		t.offset = offset
	}
	n.Line, n.Column = t.line, t.column
}

func (t *tomlReader) read(data []byte) *node {
	root := &node{Kind: rawjson.Object, Line: 1, Column: 1}
	table := root
	var p unstable.Parser
	p.Reset(data)
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind == unstable.Comment {
			continue
		}
		var m member
		keys := 0
		at := &node{}
		for k := e.Key(); k.Next(); keys++ {
			m.Name = string(k.Node().Data)
			if keys == 0 {
				t.place(at, k.Node().Raw)
				m.Line, m.Column = at.Line, at.Column
			}
		}
		if e.Kind == unstable.ArrayTable {
			t.at(at, "write [section]", "lists of sections are not supported")
			return nil
		}
		if keys != 1 {
			t.at(at, "write [section] and key = value", "sections within sections are not supported")
			return nil
		}
		if e.Kind == unstable.Table {
			table = &node{Kind: rawjson.Object, Line: m.Line, Column: m.Column}
			m.Value = table
			root.Members = append(root.Members, m)
			continue
		}
		m.Value = t.value(e.Value(), at)
		table.Members = append(table.Members, m)
	}
	return root
}

// value reads a value that stands at, or after, a place.
func (t *tomlReader) value(v *unstable.Node, at *node) *node {
	n := &node{Line: at.Line, Column: at.Column, Text: string(v.Data)}
	if v.Raw.Length > 0 {
		t.place(n, v.Raw)
	}
	switch v.Kind {
	case unstable.String:
		n.Kind = rawjson.String
	case unstable.Bool:
		n.Kind = rawjson.Bool
	case unstable.Integer:
		n.Kind = rawjson.Number
	case unstable.Array:
		n.Kind = rawjson.Array
		for items := v.Children(); items.Next(); {
			n.Items = append(n.Items, t.value(items.Node(), n))
		}
	default:
		t.at(n, "", "a constitution has texts, whole numbers, true, false and lists")
	}
	return n
}
