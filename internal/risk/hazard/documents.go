package hazard

import (
	"path"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
)

// Documents and plots hold orders, too: what they say to the shell stands in words of their own language.

var (
	// texRuns is what TeX has run, where it is allowed to: \write18{…}, and the same by other names.
	texRuns = lazyregexp.New(`\\(?:write\s*18|ShellEscape|immediate\s*\\write\s*18|input\s*\|)\s*\{?"?([^{}\n"]+)|os\.execute\s*\(\s*["']([^"'\n]+)["']`)
	// plotRuns is what a plot has run: system "…", !…, and a pipe that is read or written.
	plotRuns = lazyregexp.New(`(?m)^[ \t]*!([^\n]+)|\b(?:system|shell)\s*\(?\s*["']([^"'\n]+)["']|["'][<|]\s*([^"'\n]+)["']`)
)

// documentOrders are the commands that a document or a plot of a name has run; known is false of files
// of other kinds.
func documentOrders(base, text string) (commands []string, known bool) {
	var orders *lazyregexp.Regexp
	switch strings.ToLower(path.Ext(base)) {
	case ".tex", ".ltx", ".sty", ".cls", ".dtx":
		orders = texRuns
	case ".gp", ".gnuplot", ".plt", ".gnu", ".plot":
		orders = plotRuns
	default:
		return nil, false
	}
	for _, m := range orders.FindAllStringSubmatch(text, maxSettings) {
		commands = append(commands, strings.Join(m[1:], ""))
	}
	return commands, true
}
