package pins

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/rawjson"
)

// A description says what its own tool does. One that speaks of another server's tool, of
// a file of this machine or in a block of its own that is made to stand out tells a model
// what else to do, in whatever words. There are honest reasons for each, so a person looks
// at it when it is first seen, and nothing is taken out.

// elsewhere are the tools that a principal's other servers have, with their servers.
func (p *Pins) elsewhere(ctx context.Context, id string, by act.Principal) map[string]string {
	tools := map[string]string{}
	for s, err := range p.items.All(ctx, ledger.ItemQuery{}) {
		if err != nil || s.ID == id || s.Principal != by.Name {
			continue // what is damaged is told where servers are listed
		}
		for _, t := range s.Tools {
			if !t.Gone && telling(t.Name) {
				tools[strings.ToLower(t.Name)] = s.Name
			}
		}
	}
	return tools
}

// telling reports whether a tool's name is no word of a sentence: it is made of several.
func telling(name string) bool {
	return len(name) > 4 && (strings.ContainsAny(name, "_-.") || strings.IndexFunc(name[1:], func(c rune) bool { return c >= 'A' && c <= 'Z' }) >= 0)
}

var (
	nameInText = lazyregexp.New(`[A-Za-z0-9][A-Za-z0-9_.-]{3,127}`)
	// A file or a folder of a machine: below a home, or in a folder that every machine has.
	pathInText = lazyregexp.New(`(?:~|\$HOME|%USERPROFILE%)[/\\][A-Za-z0-9._-]+|/(?:etc|home|root|Users|var|proc|opt|usr|private|Library)/[A-Za-z0-9._/-]+|[A-Za-z]:\\(?:Users|Windows|ProgramData)\\[A-Za-z0-9._\\-]+`)
	// A block that is opened like an element, with words in it.
	tagInText = lazyregexp.New(`<([A-Za-z][A-Za-z0-9_-]{2,40})>\s*(?:[^\s<>]+\s+){3}[^\s<>]+`)
)

// placeholders are words of paths that stand for a path.
var placeholders = []string{"path/to", "example", "your", "user/", "username", "me/", "project", "workspace", "documents", "foo", "file."}

// reaches says where a definition speaks of what is none of its business.
func (s *Server) reaches(d rawjson.Value, own map[string]bool, elsewhere map[string]string) (found []string) {
	base := d.Pointer()
	say := func(v rawjson.Value, format string, args ...any) {
		text := fmt.Sprintf("At %.200s it ", strings.TrimPrefix(v.Pointer(), base)) + fmt.Sprintf(format, args...)
		if !slices.Contains(found, text) && len(found) < maxFound {
			found = append(found, text)
		}
	}
	for v := range d.Strings() {
		text := v.Text()
		if !strings.ContainsAny(text, " \n") { // no sentence: a name, a pattern, a default
			continue
		}
		if len(elsewhere) > 0 {
			for _, name := range nameInText.FindAllString(text, -1) {
				name = strings.TrimRight(name, ".-_")
				if server, ok := elsewhere[strings.ToLower(name)]; ok && !own[name] {
					say(v, "names %.80q, a tool of the server %.80q.", name, server)
				}
			}
		}
		for _, path := range pathInText.FindAllString(text, 16) {
			low := strings.ToLower(path)
			if !slices.ContainsFunc(placeholders, func(p string) bool { return strings.Contains(low, p) }) {
				say(v, "names %.80q, a place of this machine.", path)
			}
		}
		for _, m := range tagInText.FindAllStringSubmatch(text, 16) {
			if m[1] == strings.ToUpper(m[1]) || strings.Contains(text, "</"+m[1]+">") {
				say(v, "speaks in a block %.50q.", "<"+m[1]+">")
			}
		}
	}
	return found
}
