package hazard

import (
	"path"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/rawjson"
)

// Programs for structured texts put texts of their own into what they print, or into a file: what a filter of jq
// assigns to a member stands there then, as if somebody had written it.

// putsMembers are the members that a filter of jq and its kin sets, a line each, in what it prints or, told so, in
// the files that it is given.
func (c *invocation) putsMembers() string {
	values := map[string]string{} // --arg NAME VALUE
	for i, a := range c.args {
		if i+2 < len(c.args) && listed("--arg --argjson", a.text) {
			values["$"+c.args[i+1].text] = string(rawjson.Quote(c.args[i+2].text))
		}
	}
	var adds strings.Builder
	for _, a := range c.args {
		if !strings.ContainsAny(a.text, "=:(") || len(a.text) > 64<<10 {
			continue
		}
		filter := filterVariable.ReplaceAllStringFunc(a.text, func(name string) string {
			if value, ok := values[name]; ok {
				return value
			}
			return name
		})
		for _, m := range filterMember.FindAllStringSubmatch(filter, 64) {
			adds.WriteString(string(rawjson.Quote(m[1])) + `: "` + m[2] + "\"\n")
		}
	}
	if adds.Len() > 0 && len(c.changes()) > 0 {
		for _, a := range c.args {
			if !strings.HasPrefix(a.text, "-") && (path.Base(a.text) == "package.json" || isTaskFile(path.Base(a.text))) {
				c.wrote(a.text, flow{text: adds.String(), known: true}, true)
			}
		}
	}
	return adds.String()
}

var (
	filterVariable = lazyregexp.New(`\$[A-Za-z_]\w*`)
	// filterMember is a member and the text that becomes its value: .a.b = "x", .a["b"] |= "x", {b: "x"},
	// setpath(["a", "b"]; "x").
	filterMember = lazyregexp.New(`([\w:$@/-]+)"?\s*(?:\[\d*\]|\])?\s*(?:[|+]?=|//=|:|;)\s*\[?\s*"((?:[^"\\]|\\.)*)"`)
)
