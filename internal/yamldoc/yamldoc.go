// Package yamldoc reads a YAML document that people wrote into values with their places.
// Documents are read so rather than into Go structs so that every fault, also one found
// much later, can say where it is.
package yamldoc

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"reeve.example/reeve/internal/rawjson"
)

// MaxBytes is the longest document that is read.
const MaxBytes = 4 << 20

// Limits of a document. The parser's time grows with the square of a mapping's keys
// and its stack with the nesting, so both are counted on the tokens, before it runs.
const (
	maxTokens  = 600_000
	maxNesting = 32
	maxKeys    = 500 // of one mapping
)

// Node is one value of a document, with its place. Lines and columns count from 1;
// columns are characters.
type Node struct {
	Kind         rawjson.Kind
	Line, Column int
	Text         string // of a text, or a number or truth value as written
	Style        byte   // of a text in YAML: 0 plain, '\'', '"', '|' or '>'
	Items        []*Node
	Members      []Member
}

// Member is a member of a mapping, with the place of its name.
type Member struct {
	Name         string
	Line, Column int
	Value        *Node
}

// Get returns a mapping's member, or nil.
func (n *Node) Get(name string) *Node {
	for _, m := range n.Members {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// Set adds a member, which stands where its value does.
func (n *Node) Set(name string, value *Node) {
	n.Members = append(n.Members, Member{name, value.Line, value.Column, value})
}

// Take removes a member, and returns its value; nil for none.
func (n *Node) Take(name string) *Node {
	for i, m := range n.Members {
		if m.Name == name {
			n.Members = slices.Delete(n.Members, i, i+1)
			return m.Value
		}
	}
	return nil
}

// Clone copies a value: what stands in several places is changed in each by itself.
func (n *Node) Clone() *Node {
	c := *n
	c.Items, c.Members = nil, nil
	for _, item := range n.Items {
		c.Items = append(c.Items, item.Clone())
	}
	for _, m := range n.Members {
		m.Value = m.Value.Clone()
		c.Members = append(c.Members, m)
	}
	return &c
}

// Strings ranges over the texts in a value, but for members' names.
func (n *Node) Strings() iter.Seq[*Node] {
	return func(yield func(*Node) bool) { n.strings(yield) }
}

func (n *Node) strings(yield func(*Node) bool) bool {
	if n.Kind == rawjson.String {
		return yield(n)
	}
	for _, item := range n.Items {
		if !item.strings(yield) {
			return false
		}
	}
	for _, m := range n.Members {
		if !m.Value.strings(yield) {
			return false
		}
	}
	return true
}

// Is says what a value is, in words.
func (n *Node) Is() string {
	switch n.Kind {
	case rawjson.Bool:
		return "true or false"
	case rawjson.Number:
		return "a number"
	case rawjson.String:
		return "a text"
	case rawjson.Array:
		return "a list"
	case rawjson.Object:
		return "a mapping"
	}
	return "nothing"
}

// Fault is something wrong with a document.
type Fault struct {
	Line, Column int
	Message      string
	Hint         string // what to write instead; empty for none
}

// Read reads a source that is exactly one YAML document. What is wrong with it is told
// to fault, and if it cannot be read at all the result is nil.
func Read(source string, fault func(Fault)) *Node {
	r := &reader{source, fault}
	return r.read()
}

type reader struct {
	source string
	tell   func(Fault)
}

func (r *reader) fault(line, column int, hint, format string, args ...any) {
	r.tell(Fault{line, column, fmt.Sprintf(format, args...), hint})
}

func (r *reader) read() (root *Node) {
	defer func() {
		if p := recover(); p != nil { // the parser must not take the process with it
			root = nil
			r.fault(1, 1, "", "the document cannot be parsed as YAML")
		}
	}()
	if len(r.source) > MaxBytes {
		r.fault(1, 1, "split it into several files", "the document is larger than %d MiB", MaxBytes>>20)
		return nil
	}
	if !utf8.ValidString(r.source) {
		r.fault(1, 1, "save it as UTF-8", "the document is not valid UTF-8")
		return nil
	}
	if i := strings.IndexFunc(r.source, func(c rune) bool { return c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == 0x7f }); i >= 0 {
		before := r.source[:i]
		column := 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
		r.fault(1+strings.Count(before, "\n"), column, "", "the document contains a control character")
		return nil
	}
	structural := 0
	for i := range len(r.source) {
		switch r.source[i] {
		case '[', ']', '{', '}', ',', ':', '-', '?', '&', '*', '!', '#', '\n':
			structural++
		}
	}
	if structural > maxTokens {
		r.fault(1, 1, "split it into several files", "the document has too many parts")
		return nil
	}
	tokens := lexer.Tokenize(r.source)
	if !r.acceptable(tokens) {
		return nil
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		r.syntax(err)
		return nil
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if body != nil {
			at := doc.Body.GetToken().Position
			r.fault(at.Line, at.Column, "put each document into a file of its own", "the file holds more than one YAML document")
			return nil
		}
		body = doc.Body
	}
	if body == nil {
		r.fault(1, 1, "", "the document is empty")
		return nil
	}
	return r.convert(body)
}

// syntax reports the parser's error, which names its place.
func (r *reader) syntax(err error) {
	line, column, message := 1, 1, err.Error()
	if e, ok := err.(interface {
		GetToken() *token.Token
		GetMessage() string
	}); ok {
		message = e.GetMessage()
		if t := e.GetToken(); t != nil && t.Position != nil {
			line, column = t.Position.Line, t.Position.Column
		}
	}
	r.invalid(line, column, message)
}

// invalid reports what the lexer or the parser says, and what is mostly meant by it.
func (r *reader) invalid(line, column int, message string) {
	hint := ""
	switch {
	case strings.Contains(message, "mapping value is not allowed"):
		hint = "a text that contains \": \" must be quoted"
	case strings.Contains(message, "'\t'"):
		hint = "YAML is indented with spaces, never with tabs"
	}
	r.fault(line, column, hint, "this is not valid YAML: %s", strings.ReplaceAll(message, "\t", `\t`))
}

// acceptable refuses what a policy does not need and a parser can choke on:
// anchors, aliases, tags and directives, deep nesting, huge mappings.
func (r *reader) acceptable(tokens token.Tokens) bool {
	type level struct{ column, keys int }
	var block []level // open block collections, by column
	flow := 0
	enter := func(column int) *level {
		for len(block) > 0 && block[len(block)-1].column > column {
			block = block[:len(block)-1]
		}
		if len(block) == 0 || block[len(block)-1].column < column {
			block = append(block, level{column: column})
		}
		return &block[len(block)-1]
	}
	for _, t := range tokens {
		refused := ""
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			refused = "anchors and aliases are not supported"
		case token.TagType:
			refused = "tags are not supported"
		case token.DirectiveType:
			refused = "directives are not supported"
		case token.MappingKeyType:
			refused = "complex keys are not supported"
		case token.InvalidType:
			r.invalid(t.Position.Line, t.Position.Column, t.Error)
			return false
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.SequenceEntryType:
			enter(t.Position.Column)
		case token.MappingValueType:
			if flow == 0 && t.Prev != nil {
				if l := enter(t.Prev.Position.Column); l.keys > maxKeys {
					refused = fmt.Sprintf("a mapping has more than %d keys", maxKeys)
				} else {
					l.keys++
				}
			}
		}
		if flow+len(block) > maxNesting {
			refused = fmt.Sprintf("the nesting is deeper than %d", maxNesting)
		}
		if refused != "" {
			r.fault(t.Position.Line, t.Position.Column, "", "%s", refused)
			return false
		}
	}
	return true
}

func (r *reader) convert(n ast.Node) *Node {
	out := &Node{Line: 1, Column: 1}
	if t := n.GetToken(); t != nil && t.Position != nil {
		out.Line, out.Column = t.Position.Line, t.Position.Column
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		r.members(out, n.Values)
	case *ast.MappingValueNode:
		r.members(out, []*ast.MappingValueNode{n})
	case *ast.SequenceNode:
		out.Kind = rawjson.Array
		for _, v := range n.Values {
			if v == nil {
				out.Items = append(out.Items, &Node{Line: out.Line, Column: out.Column})
				continue
			}
			out.Items = append(out.Items, r.convert(v))
		}
	case *ast.LiteralNode:
		out.Kind, out.Text, out.Style = rawjson.String, n.Value.Value, n.Start.Value[0]
	case *ast.NullNode:
		out.Kind = rawjson.Null
	default:
		r.scalar(out, n)
	}
	return out
}

func (r *reader) members(out *Node, values []*ast.MappingValueNode) {
	out.Kind = rawjson.Object
	seen := make(map[string]int, len(values))
	for _, v := range values {
		key := v.Key.GetToken()
		m := Member{Name: key.Value, Line: key.Position.Line, Column: key.Position.Column}
		if out.Members == nil { // a mapping stands where its first key does
			out.Line, out.Column = m.Line, m.Column
		}
		if line, ok := seen[m.Name]; ok {
			r.fault(m.Line, m.Column, "", "the key %q stands here a second time; the first is on line %d", m.Name, line)
			continue
		}
		seen[m.Name] = m.Line
		if v.Value == nil {
			m.Value = &Node{Line: m.Line, Column: m.Column}
		} else {
			m.Value = r.convert(v.Value)
		}
		out.Members = append(out.Members, m)
	}
}

// scalar reads a scalar by JSON's idea of numbers, so that a value means the
// same here as in the request that it is compared with or put into.
func (r *reader) scalar(out *Node, n ast.Node) {
	t := n.GetToken()
	out.Kind, out.Text = rawjson.String, t.Value
	switch t.Type {
	case token.SingleQuoteType:
		out.Style = '\''
		return
	case token.DoubleQuoteType:
		out.Style = '"'
		return
	case token.BinaryIntegerType, token.OctetIntegerType, token.HexIntegerType, token.InfinityType, token.NanType:
		r.fault(out.Line, out.Column, "write it in decimal, or quote it if it is a text", "%s is not a number that JSON knows", t.Value)
		return
	case token.BoolType:
		out.Kind, out.Text = rawjson.Bool, strings.ToLower(t.Value)
		return
	}
	if isJSONNumber(t.Value) {
		out.Kind = rawjson.Number
	} else if t.Type == token.IntegerType || t.Type == token.FloatType {
		r.fault(out.Line, out.Column, "write it in decimal, or quote it if it is a text", "%s is not a number that JSON knows", t.Value)
	}
}

func isJSONNumber(s string) bool {
	if s == "" || s[0] != '-' && (s[0] < '0' || s[0] > '9') {
		return false
	}
	d, err := rawjson.Parse([]byte(s))
	return err == nil && d.Root().Kind() == rawjson.Number
}

// AppendJSON appends a value as JSON, every number as it was written.
func (n *Node) AppendJSON(dst []byte) []byte {
	switch n.Kind {
	case rawjson.Null:
		return append(dst, "null"...)
	case rawjson.Bool, rawjson.Number:
		return append(dst, n.Text...)
	case rawjson.String:
		return rawjson.AppendString(dst, n.Text)
	case rawjson.Array:
		dst = append(dst, '[')
		for i, item := range n.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = item.AppendJSON(dst)
		}
		return append(dst, ']')
	default:
		dst = append(dst, '{')
		for i, m := range n.Members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = rawjson.AppendString(dst, m.Name)
			dst = append(dst, ':')
			dst = m.Value.AppendJSON(dst)
		}
		return append(dst, '}')
	}
}

// FromJSON is a value of JSON as if it had been read from YAML, without places.
func FromJSON(v rawjson.Value) *Node {
	n := &Node{Kind: v.Kind()}
	switch n.Kind {
	case rawjson.Array:
		n.Items = make([]*Node, 0, v.Len())
		for _, item := range v.Elems() {
			n.Items = append(n.Items, FromJSON(item))
		}
	case rawjson.Object:
		n.Members = make([]Member, 0, v.Len())
		for name, m := range v.Members() {
			n.Members = append(n.Members, Member{Name: name, Value: FromJSON(m)})
		}
	case rawjson.String:
		n.Text = v.Text()
	case rawjson.Bool, rawjson.Number:
		n.Text = string(v.Raw())
	}
	return n
}
