package policy

import (
	"fmt"
	"strings"

	"reeve.example/reeve/internal/yamldoc"
)

type (
	node   = yamldoc.Node
	member = yamldoc.Member
)

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
	r.fault(n.Line, n.Column, hint, format, args...)
}

// read reads the source. It returns nil when it is not acceptable; the faults then
// say why.
func (r *yamlReader) read() *node {
	return yamldoc.Read(r.source, func(f yamldoc.Fault) { r.fault(f.Line, f.Column, f.Hint, "%s", f.Message) })
}

// place finds where in the file the character of a scalar lies that stands in
// its given line (from 1) and column (from 0). Where quoting or folding makes
// that unclear it gives the scalar's start.
func (r *yamlReader) place(n *node, line, column int) (int, int) {
	switch n.Style {
	case '|':
		lines := strings.Split(r.source, "\n")
		for indent, i := -1, n.Line; i < len(lines); i++ {
			text := strings.TrimLeft(lines[i], " ")
			if strings.TrimSpace(text) == "" {
				continue
			}
			if indent < 0 {
				indent = len(lines[i]) - len(text)
				if n.Line+line-1 < len(lines) {
					return n.Line + line, indent + column + 1
				}
			}
			break
		}
	case 0:
		if line == 1 && r.plainLine(n) {
			return n.Line, n.Column + column
		}
	case '\'', '"':
		if line == 1 {
			if c, ok := r.quotedColumn(n, column); ok {
				return n.Line, c
			}
		}
	}
	return n.Line, n.Column
}

// lineFrom returns the rest of the node's line, from the node on.
func (r *yamlReader) lineFrom(n *node) string {
	lines := strings.SplitN(r.source, "\n", n.Line+1)
	if n.Line > len(lines) {
		return ""
	}
	runes := []rune(lines[n.Line-1])
	if n.Column < 1 || n.Column > len(runes) {
		return ""
	}
	return string(runes[n.Column-1:])
}

func (r *yamlReader) plainLine(n *node) bool {
	return strings.HasPrefix(r.lineFrom(n), n.Text)
}

// quotedColumn maps a column of a quoted scalar's text to the file's.
func (r *yamlReader) quotedColumn(n *node, column int) (int, bool) {
	rest := []rune(r.lineFrom(n))
	if len(rest) == 0 || rest[0] != rune(n.Style) {
		return 0, false
	}
	i := 1
	for ; column > 0 && i < len(rest); column-- {
		switch {
		case n.Style == '\'' && rest[i] == '\'':
			i += 2
		case n.Style == '"' && rest[i] == '\\' && i+1 < len(rest):
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
	return n.Column + i, i < len(rest)
}
