package policy

import (
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/glob"
	"reeve.example/reeve/internal/habits"
	"reeve.example/reeve/internal/provenance"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/risk/hazard"
)

// A sink is an act by which something goes out, or is done to something: it says which
// arguments name upon whom or what, and which carry content.
type sink struct {
	name    string
	scope   *rule // its kinds and tools
	control []argument
	carries []argument
	reaches reachSet
}

// argument names arguments of a call: a glob for the name, and a way into the value.
type argument struct {
	glob string // folded as the readers do that take Path for path
	path []string
}

// reachSet is a set of what is read from an act beside its arguments.
type reachSet uint8

const (
	reachHosts reachSet = 1 << iota
	reachPaths
	reachLinks
	reachImages
)

var (
	sinkKeys   = []string{"name", "description", "on", "tools", "control", "carries", "reaches"}
	reachNames = []string{"hosts", "paths", "links", "images"}
)

// maxSinks bounds the acts of a policy, maxControl the values that one act is done upon.
const (
	maxSinks   = 1000
	maxControl = 1000
)

const sinkForm = "write each act as - {name: payment, tools: […], control: […]}"

// readSink reads one act that a document knows.
func (d *document) readSink(n *node) {
	if n.Kind != rawjson.Object {
		d.at(n, sinkForm, "an act is a mapping, not %s", n.Is())
		return
	}
	d.known(n, sinkKeys, "an act")
	s := &sink{scope: &rule{file: d.file, line: n.Line, column: n.Column, effect: act.Allow}}
	s.name = d.textOf(n.Get("name"), "name")
	switch {
	case s.name == "":
		d.at(n, "add name: …", "the act has no name")
	case !codePattern.MatchString(s.name) || len(s.name) > maxTag:
		d.at(n.Get("name"), "use lower-case words joined by . _ or -", "%q cannot be the name of an act", s.name)
	}
	d.textOf(n.Get("description"), "description")
	if v := n.Get("on"); v != nil {
		s.scope.kinds = d.kindsOf(v)
	} else {
		s.scope.kinds = calls.all()
	}
	for _, w := range d.words(n.Get("tools"), "tools") {
		d.exprs = append(d.exprs, pending{s.scope, toolsPart, w})
	}
	s.control = d.argumentsOf(n.Get("control"), "control")
	s.carries = d.argumentsOf(n.Get("carries"), "carries")
	for _, w := range d.words(n.Get("reaches"), "reaches") {
		i := slices.Index(reachNames, w.Text)
		if i < 0 {
			d.at(w, didYouMean(w.Text, reachNames), "reaches: %q is nothing that is read from an act", w.Text)
			continue
		}
		s.reaches |= 1 << i
	}
	d.sinks = append(d.sinks, s)
}

func (d *document) argumentsOf(n *node, what string) (list []argument) {
	for _, w := range d.words(n, what) {
		name, way, _ := strings.Cut(w.Text, "/")
		a := argument{glob: canon.FoldMember(name)}
		if name == "" {
			d.at(w, "", "%q names no argument", w.Text)
			continue
		}
		if way != "" {
			a.path = strings.Split(way, "/")
		}
		list = append(list, a)
	}
	return list
}

// target is one value upon which an act is done, or that it carries.
type target struct {
	argument string // whose value it is, or what it was read from: "hosts"
	text     string
	whole    string // of an address the whole, where the text is its host
}

// targets are what an act is done upon, what it carries, and as what.
type targets struct {
	names            []string
	control, carries []target

	// Whose they are, and what habits know them as.
	set    *Set
	action *act.Action
	view   *habits.View
	hashed []habits.Target
}

// targetsOf reads what the policy's acts say of an act. Invisible characters are left
// out where the reading does so.
func (e *evaluation) targetsOf() *targets {
	if e.targets != nil {
		return e.targets
	}
	a := e.in.Action
	plain := !e.reading.visible && !e.reading.folded
	if t := e.in.targets; plain && t != nil && t.set == e.set && t.action == a {
		e.targets = t
		return t
	}
	t := &targets{set: e.set, action: a}
	if e.targets = t; plain && e.in.targets == nil {
		e.in.targets = t
	}
	for _, s := range e.set.sinks {
		if !s.scope.kinds.of(a) || !s.scope.fits(a) {
			continue
		}
		if !slices.Contains(t.names, s.name) {
			t.names = append(t.names, s.name)
		}
		for i := range a.Arguments {
			t.control = e.argumentTargets(t.control, s.control, &a.Arguments[i])
			t.carries = e.argumentTargets(t.carries, s.carries, &a.Arguments[i])
		}
		if s.reaches&(reachHosts|reachPaths) != 0 && a.IsCall() {
			t.control = e.reached(t.control, s.reaches)
		}
		if s.reaches&(reachLinks|reachImages) != 0 {
			for i := range a.Content {
				t.control, t.carries = linked(t.control, t.carries, a.Content[i].Text, s.reaches)
			}
		}
	}
	return t
}

// addTarget adds a target. What is beyond the bound shows as one that nobody named.
func addTarget(list []target, t target) []target {
	switch {
	case len(list) > maxControl || slices.Contains(list, t):
		return list
	case len(list) == maxControl:
		t.text, t.whole = "too-many-values.invalid", ""
	}
	return append(list, t)
}

// narrow has a rule that is for acts looked at for their kinds and tools only, so that
// it costs the others nothing.
func (r *rule) narrow(sinks []*sink) {
	if r.acts == nil {
		return
	}
	var kinds kindSet
	var tools []string
	any := r.tools != nil
	for _, s := range sinks {
		if anyGlob(r.acts, s.name) {
			kinds |= s.scope.kinds
			tools = append(tools, s.scope.tools...)
			any = any || s.scope.tools == nil
		}
	}
	if r.kinds &= kinds; !any {
		r.tools = tools
	}
}

// isOneOf reports whether the act is one of the policy's acts with these names.
func (e *evaluation) isOneOf(globs []string) bool {
	return slices.ContainsFunc(e.targetsOf().names, func(name string) bool { return anyGlob(globs, name) })
}

// argumentTargets adds the values of an argument, where one of the patterns names it.
func (e *evaluation) argumentTargets(list []target, patterns []argument, arg *act.Argument) []target {
	name := ""
	for _, p := range patterns {
		if name == "" {
			name = memberForm(jsonAdapter{&e.reading}.text(arg.Name))
		}
		if !glob.Match(p.glob, name) {
			continue
		}
		doc, err := rawjson.Parse(arg.Value)
		if err != nil { // a value that nobody named
			list = addTarget(list, target{argument: arg.Name, text: string(arg.Value)})
			continue
		}
		list = e.scalars(list, doc.Root(), p.path, arg.Name)
	}
	return list
}

// scalars adds the texts and numbers at or below a way into a value.
func (e *evaluation) scalars(list []target, v rawjson.Value, way []string, name string) []target {
	switch v.Kind() {
	case rawjson.String:
		if len(way) == 0 {
			list = addTarget(list, target{argument: name, text: jsonAdapter{&e.reading}.text(v.Text())})
		}
	case rawjson.Number:
		if len(way) == 0 {
			list = addTarget(list, target{argument: name, text: string(v.Raw())})
		}
	case rawjson.Array:
		below := way
		if len(way) > 0 && way[0] == "*" {
			below = way[1:]
		}
		for _, m := range v.Elems() { // a list in the place of one value is each of them
			list = e.scalars(list, m, below, name)
		}
	case rawjson.Object:
		set := isSet(v)
		for member, m := range v.Members() {
			switch {
			case len(way) == 0:
				if set || !plainMember(member) {
					list = addTarget(list, target{argument: name, text: jsonAdapter{&e.reading}.text(member)})
				}
				list = e.scalars(list, m, nil, name)
			case way[0] == "*" || memberForm(member) == memberForm(way[0]):
				list = e.scalars(list, m, way[1:], name)
			}
		}
	}
	return list
}

// memberForm is the form in which the names of control arguments are compared: ｂｃｃ is
// bcc to whoever folds what is typed, and a name too many asks once too often.
func memberForm(name string) string { return canon.FoldMember(canon.Text(name)) }

// isSet reports whether an object is a set: its values say yes, no, how many, or nothing,
// and what it is about are its names.
func isSet(v rawjson.Value) bool {
	some := false
	for _, m := range v.Members() {
		switch m.Kind() {
		case rawjson.String:
			if m.Text() != "" {
				return false
			}
		case rawjson.Array, rawjson.Object:
			if m.Len() > 0 {
				return false
			}
		}
		some = true
	}
	return some
}

// plainMember reports whether a member's name is no more than that: letters and marks
// between words.
func plainMember(name string) bool {
	return len(name) <= 40 && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_' && r != '-' && r != ' '
	})
}

// reached adds the hosts and paths that a call would reach, as it is read for hazards.
func (e *evaluation) reached(list []target, what reachSet) []target {
	a := e.in.Action
	w := hazard.Watch{}
	if what&reachHosts != 0 {
		w.URL = func(url string) {
			whole := url
			if !strings.Contains(url, "//") {
				url = "//" + url
			}
			if login, is := strings.CutPrefix(url, "ssh://"); is && strings.Contains(login, "@") {
				// Who names user@host has named the host for that.
				login, _, _ = strings.Cut(login, "/")
				if o, _ := e.trace("hosts", login); o >= provenance.Own {
					list = addTarget(list, target{argument: "hosts", text: login})
					return
				}
			}
			for _, h := range hostsOf(url) {
				list = addTarget(list, target{"hosts", h, address(whole)})
			}
		}
	}
	if what&reachPaths != 0 {
		w.File = func(path string, _ bool, _ string, _ bool) {
			list = addTarget(list, target{argument: "paths", text: path})
		}
	}
	e.call.Tell(&w)
	if what&reachHosts != 0 {
		for i := range a.Content {
			if e.part(i).Use == hazard.Run {
				list = commandTargets(list, a.Content[i].Text)
			}
		}
	}
	return list
}

// commandTargets adds the hosts that stand in a command, each with all of its address. One
// that also stands there in another way, or whose address the shell would make something
// else of, may be reached elsewhere than it says: then only the same command is the same.
func commandTargets(list []target, text string) []target {
	hosts := hostsOf(text)
	if len(hosts) == 0 {
		return list
	}
	var whole []string
	plain := !strings.ContainsAny(text, "$`\\")
	for at := 0; plain; {
		i := strings.Index(text[at:], "://")
		if i < 0 {
			break
		}
		start := at + i
		for start > at && text[start-1]|0x20-'a' < 26 {
			start--
		}
		end := at + i + 3
		for end < len(text) && text[end] > ' ' && !strings.ContainsRune(";|&<>()", rune(text[end])) {
			end++
		}
		one := strings.TrimRight(text[start:end], `"'`)
		if whole = append(whole, one); strings.ContainsAny(one, "\"'{}[]*!") || len(whole) > maxControl {
			plain = false
		}
		at = end
	}
	for _, h := range hosts {
		var of []string
		for _, w := range whole {
			if slices.Contains(hostsOf(w), h) {
				of = append(of, w)
			}
		}
		if !plain || strings.Count(strings.ToLower(text), h) != len(of) {
			of = []string{text}
		}
		for _, w := range of {
			list = addTarget(list, target{"hosts", h, address(w)})
		}
	}
	return list
}

// address is all of an address but the mark of a place in it, which is not sent.
func address(url string) string {
	url, _, _ = strings.Cut(url, "#")
	return url
}

// linked adds the addresses that a text shows: those of images, which are fetched
// without a click, and all others. Their hosts say where something would go, and the
// rest of them carries it.
func linked(control, carries []target, text string, what reachSet) (c, d []target) {
	for at := 0; ; {
		start, end := nextLink(text, at)
		if start < 0 {
			return control, carries
		}
		for end < len(text) && text[end] > ' ' && !strings.ContainsRune("\"'<>`)]}|\\", rune(text[end])) {
			end++
		}
		at = end
		image := isImage(text[:start])
		name := "links"
		if image {
			name = "images"
		}
		if image && what&reachImages == 0 || !image && what&reachLinks == 0 {
			continue
		}
		url := strings.TrimRight(text[start:end], ".,;:!?")
		full := url
		if !strings.Contains(url, "//") {
			full = "//" + url
		}
		for _, h := range hostsOf(full) {
			control = addTarget(control, target{name, h, strings.TrimRight(address(url), "*_~.,;:!?")}) // emphasis is no part of it
		}
		carries = addTarget(carries, target{argument: name, text: url})
	}
}

// nextLink finds where the next address begins that a reader's program makes a link of,
// and where its host may: with a scheme; without one, as a page has it; or by www alone, as
// chats do. It is -1 when there is none.
func nextLink(text string, at int) (start, host int) {
	for {
		i := strings.IndexAny(text[at:], ":/wW")
		if i < 0 {
			return -1, -1
		}
		i += at
		at = i + 1
		before := byte(' ')
		if i > 0 {
			before = text[i-1]
		}
		switch rest := text[i:]; {
		case strings.HasPrefix(rest, "://"):
			start = i
			for start > 0 && text[start-1]|0x20-'a' < 26 {
				start--
			}
			return start, i + 3
		case strings.HasPrefix(rest, "//") && strings.IndexByte("(\"'=<", before) >= 0:
			return i, i + 2
		case len(rest) > 4 && strings.EqualFold(rest[:4], "www.") && rest[4] > ' ' && before|0x20-'a' >= 26 && before-'0' >= 10 && strings.IndexByte("@._-", before) < 0:
			return i, i + 4
		}
	}
}

// isImage reports whether what stands before an address makes an image of it: Markdown's
// ![…](, or a source in HTML.
func isImage(before string) bool {
	before = strings.TrimRight(before, " <\"'")
	if strings.HasSuffix(before, "](") {
		open := strings.LastIndexByte(before, '[')
		return open > 0 && before[open-1] == '!'
	}
	lower := strings.ToLower(before[max(0, len(before)-512):])
	return strings.HasSuffix(lower, "src=") || strings.HasSuffix(lower, "srcset=") || strings.HasSuffix(lower, "url(") || strings.HasSuffix(lower, "background=") || strings.HasSuffix(lower, "poster=")
}
