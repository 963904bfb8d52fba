package policy

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/words"
)

// Seen is what was seen of the tools that agents use, for a proposal of labels and acts.
// The zero Seen is ready.
type Seen struct {
	tools map[string]*seenTool
	calls map[string]string // the tool of a call whose result is to come
}

// seenTool is what was seen of one tool.
type seenTool struct {
	calls, results int
	texts          int // results that are no JSON, and no more than an id or a number
	arguments      map[string]*seenValues
	fields         map[string]*seenValues // of results that are JSON, by their pointers
}

// seenValues is what the values of one argument or field were.
type seenValues struct {
	n, targets, ids, long int
}

// Bounds of what is remembered for a proposal.
const (
	maxSeenTools  = 300
	maxSeenFields = 60
	maxSeenCalls  = 10_000
	longText      = 48 // bytes: what says more than a name
)

// Add takes in one act that happened.
func (s *Seen) Add(a *act.Action) {
	if s.tools == nil {
		s.tools, s.calls = map[string]*seenTool{}, map[string]string{}
	}
	call := a.Principal.Name + "\x00" + a.Session + "\x00"
	switch {
	case a.IsCall():
		t := s.tool(a.Canonical)
		if t == nil {
			return
		}
		t.calls++
		if a.ID != "" && len(s.calls) < maxSeenCalls {
			s.calls[call+a.ID] = a.Canonical
		}
		for i := range a.Arguments {
			if !plainMember(a.Arguments[i].Name) {
				continue // who names arguments writes nothing else into the proposal
			}
			doc, err := rawjson.Parse(a.Arguments[i].Value)
			if err == nil {
				see(t.arguments, a.Arguments[i].Name, doc.Root())
			}
		}
	case a.Kind == act.ToolResult || a.Kind == act.MCPResponse:
		t := s.tools[s.calls[call+a.Answers]]
		if t == nil || a.Failed {
			return
		}
		delete(s.calls, call+a.Answers)
		t.results++
		for i := range a.Content {
			text := strings.TrimSpace(a.Content[i].Text)
			if doc, err := rawjson.Parse([]byte(text)); err == nil && doc.Root().Kind() != rawjson.String {
				seeFields(t.fields, "", doc.Root(), 0)
			} else if text != "" && !idPattern.MatchString(text) {
				t.texts++
			}
		}
	}
}

func (s *Seen) tool(name string) *seenTool {
	t := s.tools[name]
	if t == nil && plainTool.MatchString(name) && len(s.tools) < maxSeenTools {
		t = &seenTool{arguments: map[string]*seenValues{}, fields: map[string]*seenValues{}}
		s.tools[name] = t
	}
	return t
}

// see notes what the values of an argument are.
func see(into map[string]*seenValues, name string, v rawjson.Value) {
	switch v.Kind() {
	case rawjson.Array:
		for _, e := range v.Elems() {
			see(into, name, e)
		}
		return
	case rawjson.Object:
		for member, e := range v.Members() {
			if plainMember(member) {
				see(into, name+"/"+member, e)
			}
		}
		return
	}
	one := into[name]
	if one == nil {
		if len(into) == maxSeenFields {
			return
		}
		one = &seenValues{}
		into[name] = one
	}
	one.n++
	text := v.Text()
	switch {
	case v.Kind() == rawjson.Number:
		one.ids++
	case v.Kind() != rawjson.String || text == "":
		one.n--
	case len(text) > longText || strings.Count(text, " ") > 3:
		one.long++
	case targetPattern.MatchString(text):
		one.targets++
	case idPattern.MatchString(text):
		one.ids++
	}
}

// seeFields notes what stands in a result that is JSON.
func seeFields(into map[string]*seenValues, at string, v rawjson.Value, depth int) {
	if depth > 4 {
		return
	}
	switch v.Kind() {
	case rawjson.Array:
		for _, e := range v.Elems() {
			seeFields(into, at+"/*", e, depth+1)
		}
	case rawjson.Object:
		for member, e := range v.Members() {
			if plainMember(member) {
				seeFields(into, at+"/"+member, e, depth+1)
			}
		}
	default:
		if at != "" {
			see(into, at, v)
		}
	}
}

// Words by which the names of tools and arguments are told apart.
var (
	readingVerbs = []string{"get", "list", "read", "search", "find", "fetch", "describe", "show", "check", "count", "query", "lookup", "view", "inspect", "browse", "head", "stat"}
	machineNames = []string{"command", "cmd", "filepath", "path", "pattern", "oldstring", "notebookpath", "query", "code", "script"}
	targetNames  = []string{"to", "*recipient*", "cc", "bcc", "*email*", "iban", "*account*", "payee", "beneficiary", "user", "username", "userid", "channel*", "url", "link", "host", "*address*", "participants", "attendees", "guests", "invitees", "phone*", "id", "*id", "ids", "target*", "repo*", "owner", "destination"}
	carriedNames = []string{"body", "subject", "text", "message", "content", "title", "description", "comment", "attachments", "note"}

	plainTool     = lazyregexp.New(`^[a-z0-9][a-z0-9_.:/-]{0,99}$`)
	targetPattern = lazyregexp.New(`@|://|^[A-Za-z]{2}[0-9]{2}[A-Z0-9 ]{10,}$|^\+?[0-9][0-9 -]{7,}$|^([a-z0-9-]+\.)+[a-z]{2,}(/|$)`)
	idPattern     = lazyregexp.New(`^[0-9]+$|^[0-9]{4}-[0-9]{2}-[0-9]{2}|^[0-9a-f-]{8,}$`)
)

// namedAs reports whether a name is one of some, however it is written.
func namedAs(name string, globs []string) bool {
	_, last, _ := strings.Cut("/"+name, "/")
	return anyGlob(globs, canon.FoldMember(last))
}

// reads reports whether a tool only reads, by the first verb of its name.
func reads(tool string) bool {
	parts := strings.FieldsFunc(tool, func(r rune) bool { return r == '_' || r == '-' || r == '.' || r == '/' || r == ':' })
	return slices.ContainsFunc(parts[:min(len(parts), 2)], func(w string) bool { return slices.Contains(readingVerbs, w) })
}

// Proposal is a policy's document of information flow for the tools that were seen: acts
// and a rule that only watches, and labels that are marked out, since a wrong label is
// worse than none. byDefault is what the policy's other documents say of their default. It
// is empty where nothing was seen that it could speak of.
func (s *Seen) Proposal(byDefault string) []byte {
	var labels, acts, machine, foreign, aimless []string
	for _, name := range slices.Sorted(maps.Keys(s.tools)) {
		t := s.tools[name]
		switch {
		case slices.ContainsFunc(slices.Collect(maps.Keys(t.arguments)), func(a string) bool { return !reads(name) && namedAs(a, machineNames) }):
			machine = append(machine, name)
		case reads(name):
			if label := t.label(name); label != "" {
				labels = append(labels, label)
			} else {
				foreign = append(foreign, name)
			}
		default:
			if act := t.act(name); act != "" {
				acts = append(acts, act)
			} else {
				aimless = append(aimless, name)
			}
		}
	}
	if len(labels)+len(acts)+len(foreign) == 0 {
		return nil
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, proposalHead, byDefault)
	if len(acts) > 0 {
		b.WriteString(actsHead + strings.Join(acts, ""))
		b.WriteString(proposedRule)
	}
	if len(labels) > 0 {
		b.WriteString("\n" + labelsHead + strings.Join(labels, ""))
	}
	if len(foreign) > 0 {
		b.WriteString("\n# These bring texts that anybody may have written, and stay foreign:\n# " + strings.Join(foreign, ", ") + "\n")
	}
	if len(aimless) > 0 {
		b.WriteString("\n# No argument of these was seen to say upon whom or what they are done:\n# " + strings.Join(aimless, ", ") + "\n")
	}
	if len(machine) > 0 {
		b.WriteString("\n# Commands and files are read for what they do, and need no line here:\n# " + strings.Join(machine, ", ") + "\n")
	}
	return b.Bytes()
}

const (
	proposalHead = `# Where values come from, and where they go: a proposal of reeve init, from the tools that
# agents were seen to use. Read it, and make it yours. docs/information-flow.md explains it.
version: 1
default: %s

`
	actsHead = `# What does something, and the arguments that say upon whom or what.
acts:
`
	proposedRule = `
rules:
  # It only watches until you take the line with mode away: its matches are in the ledger,
  # as what would have been asked.
  - name: target-of-others
    acts: "seen-*"
    when: session.foreign && !action.control.all(v, v.origin() in ["user", "own"])
    unless: usual
    effect: escalate
    mode: observe
    endorse: session
    code: flow.foreign_target
    reason: Somebody else than the user named this target.
`
	labelsHead = `# What the tools that read bring is foreign. Take the marks away only where nobody else can
# write what stands there: with label, in all of a tool's results; with own, in those fields,
# of which ids, numbers and times were seen. Add tags: [private] to what is confidential.
#
# labels:
`
)

// act is the tool as an act; empty where no argument says upon whom or what.
func (t *seenTool) act(name string) string {
	var control, carries []string
	for _, a := range slices.SortedFunc(maps.Keys(t.arguments), cmp.Compare) {
		v := t.arguments[a]
		switch {
		case namedAs(a, carriedNames) || v.long*2 > v.n:
			carries = append(carries, a)
		case namedAs(a, targetNames) || v.targets*2 > v.n:
			control = append(control, a)
		}
	}
	if control == nil {
		return ""
	}
	line := fmt.Sprintf("  - {name: %s, tools: [%s], control: [%s]", actName(name), quoted(name), quoted(control...))
	if carries != nil {
		line += ", carries: [" + quoted(carries...) + "]"
	}
	return line + "} # " + words.Count(t.calls, "call") + "\n"
}

// label is the tool as a source; empty where all of it is foreign.
func (t *seenTool) label(name string) string {
	var fields []string
	free := t.texts > 0 || t.results == 0 // it brings texts that somebody may have written
	for _, f := range slices.SortedFunc(maps.Keys(t.fields), cmp.Compare) {
		v := t.fields[f]
		switch {
		case v.n > 0 && v.ids == v.n:
			fields = append(fields, f)
		case v.n > 0:
			free = true
		}
	}
	said := words.Count(t.results, "result")
	switch {
	case free && fields == nil:
		return ""
	case free:
		return fmt.Sprintf("#   - {tools: [%s], own: [%s]} # %s\n", quoted(name), quoted(fields...), said)
	}
	return fmt.Sprintf("#   - {tools: [%s], label: own} # %s, with only ids, numbers and times\n", quoted(name), said)
}

// actName is a tool's name as that of an act.
func actName(tool string) string {
	b := []byte("seen-")
	for _, c := range []byte(strings.ToLower(tool)) {
		if c-'a' < 26 || c-'0' < 10 {
			b = append(b, c)
		} else if b[len(b)-1] != '-' {
			b = append(b, '-')
		}
	}
	return strings.TrimRight(string(b[:min(len(b), maxTag)]), "-")
}

// quoted are names as members of a list in YAML.
func quoted(names ...string) string {
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = strconv.Quote(n)
	}
	return strings.Join(list, ", ")
}
