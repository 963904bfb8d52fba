package policy

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"reeve/internal/rawjson"
)

// Limits of a YAML document. The parser's time grows with the square of a
// mapping's keys and its stack with the nesting, so both are counted on the
// tokens, before it runs.
const (
	maxDocument = 4 << 20 // bytes
	maxTokens   = 600_000
	maxNesting  = 32
	maxKeys     = 500 // of one mapping
)

type nodeKind uint8

const (
	nullNode nodeKind = iota
	boolNode
	numberNode
	stringNode
	sequenceNode
	mappingNode
)

var nodeKindNames = [...]string{"nothing", "true or false", "a number", "a text", "a list", "a mapping"}

// node is one value of a YAML document, with its place. Documents are read
// into nodes rather than Go structs so that every fault, also one found much
// later, can say where it is.
type node struct {
	kind         nodeKind
	line, column int
	text         string // a scalar's text
	style        byte   // of a scalar: 0 plain, '\'', '"', '|' or '>'
	items        []*node
	members      []member
}

type member struct {
	name         string
	line, column int
	value        *node
}

// get returns a mapping's member, or nil.
func (n *node) get(name string) *node {
	for _, m := range n.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// yamlReader reads one file and collects its faults.
type yamlReader struct {
	file   string
	source string
	errs   ErrorList
}

func (r *yamlReader) fault(line, column int, hint, format string, args ...any) {
	if len(r.errs) < maxErrors {
		r.errs = append(r.errs, &Error{r.file, line, column, fmt.Sprintf(format, args...), hint})
	}
}

func (r *yamlReader) at(n *node, hint, format string, args ...any) {
	r.fault(n.line, n.column, hint, format, args...)
}

// read parses the source as exactly one YAML document. It returns nil when
// there is none or it is not acceptable; the faults then say why.
func (r *yamlReader) read() (root *node) {
	defer func() {
		if p := recover(); p != nil { // the parser must not take the process with it
			root = nil
			r.fault(1, 1, "", "the document cannot be parsed as YAML")
		}
	}()
	if len(r.source) > maxDocument {
		r.fault(1, 1, "split it into several files", "the document is larger than %d MiB", maxDocument>>20)
		return nil
	}
	if !utf8.ValidString(r.source) {
		r.fault(1, 1, "save it as UTF-8", "the document is not valid UTF-8")
		return nil
	}
	if i := strings.IndexFunc(r.source, func(c rune) bool { return c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == 0x7f }); i >= 0 {
		line := 1 + strings.Count(r.source[:i], "\n")
		r.fault(line, 1, "", "the document contains a control character")
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
func (r *yamlReader) syntax(err error) {
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
	hint := ""
	if strings.Contains(message, "mapping value is not allowed") {
		hint = "a text that contains \": \" must be quoted"
	}
	r.fault(line, column, hint, "this is not valid YAML: %s", message)
}

// acceptable refuses what a policy does not need and a parser can choke on:
// anchors, aliases, tags and directives, deep nesting, huge mappings.
func (r *yamlReader) acceptable(tokens token.Tokens) bool {
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
			refused = "this is not valid YAML: " + t.Error
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

func (r *yamlReader) convert(n ast.Node) *node {
	out := &node{line: 1, column: 1}
	if t := n.GetToken(); t != nil && t.Position != nil {
		out.line, out.column = t.Position.Line, t.Position.Column
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		r.members(out, n.Values)
	case *ast.MappingValueNode:
		r.members(out, []*ast.MappingValueNode{n})
	case *ast.SequenceNode:
		out.kind = sequenceNode
		for _, v := range n.Values {
			if v == nil {
				out.items = append(out.items, &node{line: out.line, column: out.column})
				continue
			}
			out.items = append(out.items, r.convert(v))
		}
	case *ast.LiteralNode:
		out.kind, out.text, out.style = stringNode, n.Value.Value, n.Start.Value[0]
	case *ast.NullNode:
		out.kind = nullNode
	default:
		r.scalar(out, n)
	}
	return out
}

func (r *yamlReader) members(out *node, values []*ast.MappingValueNode) {
	out.kind = mappingNode
	seen := make(map[string]int, len(values))
	for _, v := range values {
		key := v.Key.GetToken()
		m := member{name: key.Value, line: key.Position.Line, column: key.Position.Column}
		if out.members == nil { // a mapping stands where its first key does
			out.line, out.column = m.line, m.column
		}
		if line, ok := seen[m.name]; ok {
			r.fault(m.line, m.column, "", "the key %q stands here a second time; the first is on line %d", m.name, line)
			continue
		}
		seen[m.name] = m.line
		if v.Value == nil {
			m.value = &node{line: m.line, column: m.column}
		} else {
			m.value = r.convert(v.Value)
		}
		out.members = append(out.members, m)
	}
}

// scalar reads a scalar by JSON's idea of numbers, so that a value means the
// same here as in the request that it is compared with or put into.
func (r *yamlReader) scalar(out *node, n ast.Node) {
	t := n.GetToken()
	out.kind, out.text = stringNode, t.Value
	switch t.Type {
	case token.SingleQuoteType:
		out.style = '\''
		return
	case token.DoubleQuoteType:
		out.style = '"'
		return
	case token.BinaryIntegerType, token.OctetIntegerType, token.HexIntegerType, token.InfinityType, token.NanType:
		r.at(out, "write it in decimal, or quote it if it is a text", "%s is not a number that JSON knows", t.Value)
		return
	case token.BoolType:
		out.kind, out.text = boolNode, strings.ToLower(t.Value)
		return
	}
	if isJSONNumber(t.Value) {
		out.kind = numberNode
	} else if t.Type == token.IntegerType || t.Type == token.FloatType {
		r.at(out, "write it in decimal, or quote it if it is a text", "%s is not a number that JSON knows", t.Value)
	}
}

func isJSONNumber(s string) bool {
	if s == "" || s[0] != '-' && (s[0] < '0' || s[0] > '9') {
		return false
	}
	d, err := rawjson.Parse([]byte(s))
	return err == nil && d.Root().Kind() == rawjson.Number
}

// appendJSON appends a node as JSON, every number as it was written.
func (n *node) appendJSON(dst []byte) []byte {
	switch n.kind {
	case nullNode:
		return append(dst, "null"...)
	case boolNode, numberNode:
		return append(dst, n.text...)
	case stringNode:
		return rawjson.AppendString(dst, n.text)
	case sequenceNode:
		dst = append(dst, '[')
		for i, item := range n.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = item.appendJSON(dst)
		}
		return append(dst, ']')
	default:
		dst = append(dst, '{')
		for i, m := range n.members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = rawjson.AppendString(dst, m.name)
			dst = append(dst, ':')
			dst = m.value.appendJSON(dst)
		}
		return append(dst, '}')
	}
}

// place finds where in the file the character of a scalar lies that stands in
// its given line (from 1) and column (from 0). Where quoting or folding makes
// that unclear it gives the scalar's start.
func (r *yamlReader) place(n *node, line, column int) (int, int) {
	switch n.style {
	case '|':
		lines := strings.Split(r.source, "\n")
		for indent, i := -1, n.line; i < len(lines); i++ {
			text := strings.TrimLeft(lines[i], " ")
			if strings.TrimSpace(text) == "" {
				continue
			}
			if indent < 0 {
				indent = len(lines[i]) - len(text)
				if n.line+line-1 < len(lines) {
					return n.line + line, indent + column + 1
				}
			}
			break
		}
	case 0:
		if line == 1 && r.plainLine(n) {
			return n.line, n.column + column
		}
	case '\'', '"':
		if line == 1 {
			if c, ok := r.quotedColumn(n, column); ok {
				return n.line, c
			}
		}
	}
	return n.line, n.column
}

// lineFrom returns the rest of the node's line, from the node on.
func (r *yamlReader) lineFrom(n *node) string {
	lines := strings.SplitN(r.source, "\n", n.line+1)
	if n.line > len(lines) {
		return ""
	}
	runes := []rune(lines[n.line-1])
	if n.column < 1 || n.column > len(runes) {
		return ""
	}
	return string(runes[n.column-1:])
}

func (r *yamlReader) plainLine(n *node) bool {
	return strings.HasPrefix(r.lineFrom(n), n.text)
}

// quotedColumn maps a column of a quoted scalar's text to the file's.
func (r *yamlReader) quotedColumn(n *node, column int) (int, bool) {
	rest := []rune(r.lineFrom(n))
	if len(rest) == 0 || rest[0] != rune(n.style) {
		return 0, false
	}
	i := 1
	for ; column > 0 && i < len(rest); column-- {
		switch {
		case n.style == '\'' && rest[i] == '\'':
			i += 2
		case n.style == '"' && rest[i] == '\\' && i+1 < len(rest):
			switch rest[i+1] {
			case 'x':
				i += 4
			case 'u':
				i += 6
			case 'U':
				i += 10
			default:
				i += 2
			}
		default:
			i++
		}
	}
	return n.column + i, i < len(rest)
}
