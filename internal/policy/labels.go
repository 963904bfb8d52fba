package policy

import (
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/glob"
	"reeve.example/reeve/internal/provenance"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/session"
)

// A label says where texts come from: which acts bring them, and whose they then are.
type label struct {
	scope   *rule // its kinds and tools
	servers []string
	parts   partSet // of a user's message only these
	by      provenance.Origin
	fields  []string
	tags    []string
	takes   []string // the tags, and the hints about its tools, that who says it may give it
	hints   act.Hints
}

// partSet is a set of parts of a user's message.
type partSet uint8

const (
	filesPart partSet = 1 << iota
	quotesPart
	dataPart
)

var (
	labelKeys  = []string{"on", "tools", "servers", "parts", "label", "own", "tags", "takes", "hints", "values"}
	labelNames = []string{"own", "foreign", "user"}
	partNames  = []string{"files", "quotes", "data"}
)

// Limits of labels.
const (
	maxLabels = 1000
	maxTag    = 64 // bytes
)

const labelForm = "write each label as - {tools: […], label: own}"

// readLabel reads one thing that a document says of where texts come from.
func (d *document) readLabel(n *node) {
	if n.Kind != rawjson.Object {
		d.at(n, labelForm, "a label is a mapping, not %s", n.Is())
		return
	}
	d.known(n, labelKeys, "a label")
	if v := n.Get("values"); v != nil {
		d.readOwnValues(n, v)
		return
	}
	l := &label{scope: &rule{file: d.file, line: n.Line, column: n.Column, effect: act.Allow}}
	l.scope.kinds = d.kindsOf(n.Get("on"))
	for _, w := range d.words(n.Get("tools"), "tools") {
		d.exprs = append(d.exprs, pending{l.scope, toolsPart, w})
	}
	for _, w := range d.words(n.Get("servers"), "servers") {
		name, _ := canon.Name(w.Text)
		l.servers = append(l.servers, name)
	}
	for _, w := range d.words(n.Get("parts"), "parts") {
		i := slices.Index(partNames, w.Text)
		if i < 0 {
			d.at(w, didYouMean(w.Text, partNames), "parts: %q is no part of a user's message", w.Text)
			continue
		}
		l.parts |= 1 << i
	}
	user := act.Action{Kind: act.MessageUser}
	if v := n.Get("label"); v != nil {
		var ok bool
		switch l.by, ok = provenance.Parse(v.Text); {
		case !ok || l.by == provenance.Unknown:
			d.at(v, didYouMean(v.Text, labelNames), "label: %q is none: it is own, foreign or, of a user's message, user", v.Text)
		case l.by == provenance.User && (!l.scope.kinds.of(&user) || n.Get("on") == nil):
			d.at(v, "write on: message.user", "only what stands in a user's message is the user's")
		}
	}
	for _, w := range d.words(n.Get("own"), "own") {
		if !strings.HasPrefix(w.Text, "/") {
			d.at(w, "such as /*/id", "%q is no JSON Pointer", w.Text)
			continue
		}
		l.fields = append(l.fields, w.Text)
	}
	l.tags = d.tags(n, "tags", "write label: foreign")
	l.takes = d.tags(n, "takes", "leave it out: whoever says that a text is foreign is believed")
	for _, w := range d.words(n.Get("hints"), "hints") {
		h, ok := act.ParseHint(w.Text)
		if !ok {
			d.at(w, didYouMean(w.Text, act.HintNames()), "%q is no hint about an MCP tool", w.Text)
		}
		l.hints |= h
	}
	if l.by == provenance.Unknown && l.fields == nil && l.tags == nil && l.takes == nil {
		d.at(n, "add label: own, own: [/id] or tags: [private]", "the label says nothing")
	}
	if l.by == provenance.Own && l.fields != nil {
		d.at(n.Get("own"), "leave label: own out", "all of it is own already")
	}
	d.labels = append(d.labels, l)
}

// tags reads a list of tags. instead is what to write for what is none.
func (d *document) tags(n *node, member, instead string) (list []string) {
	for _, w := range d.words(n.Get(member), member) {
		switch {
		case !codePattern.MatchString(w.Text) || len(w.Text) > maxTag:
			d.at(w, "use lower-case words joined by . _ or -", "%q cannot be a tag", w.Text)
		case w.Text == provenance.Foreign.String():
			d.at(w, instead, "foreign is no tag: a session has it when it read anything foreign")
		}
		list = append(list, w.Text)
	}
	return list
}

// readOwnValues reads values that are one's own wherever they stand.
func (d *document) readOwnValues(n, v *node) {
	for _, m := range n.Members {
		if m.Name != "values" && m.Name != "label" {
			d.fault(m.Line, m.Column, "make it a label of its own", "values are own wherever they stand, and take no %s", m.Name)
		}
	}
	if l := n.Get("label"); l == nil || l.Text != provenance.Own.String() {
		d.at(n, "add label: own", "a label of values makes them own")
	}
	for _, w := range d.words(v, "values") {
		d.exprs = append(d.exprs, pending{part: valuesPart, node: w})
	}
}

// ownValue is a value, or a glob, that is one's own wherever it stands.
func (d *document) ownValues(p pending, lists []list) (values []string) {
	values = []string{p.node.Text}
	if name, ok := strings.CutPrefix(p.node.Text, "lists."); ok {
		i := slices.IndexFunc(lists, func(l list) bool { return l.name == name })
		if i < 0 {
			d.at(p.node, "define it under lists:", "there is no list %q", name)
			return nil
		}
		values = lists[i].values
	}
	folded := make([]string, 0, len(values))
	for _, v := range values {
		f := canon.Text(strings.TrimSpace(v))
		if strings.Trim(f, "*?") == "" || len(f) > maxGlob {
			d.at(p.node, "name what is one's own", "%q is no value", v)
			continue
		}
		folded = append(folded, f)
	}
	return folded
}

// Source is where the policy says that the texts of an act come from. tool is what
// they are the result of, as the session knows it. What whoever says it calls foreign is
// foreign, however it is labelled here; tags are taken from whom the policy takes them, or
// else a stranger could fill a session's memory of tags with words of their own.
func (s *Set) Source(a *act.Action, tool string) provenance.Source {
	src := provenance.Source{By: provenance.Foreign, Files: provenance.Foreign, Quotes: provenance.Foreign, Beside: provenance.Foreign}
	switch a.Kind {
	case act.MessageUser:
		src.By = provenance.User
	case act.MessageSystem:
		src.By = provenance.Own
	}
	if len(s.labels) == 0 || !session.Brings(a) {
		return src
	}
	server, _ := canon.Name(a.Server)
	own, foreign := false, false
	hints := s.hints(a)
	for _, l := range s.labels {
		if hints&l.hints != l.hints {
			continue
		}
		if !l.scope.kinds.of(a) || l.servers != nil && !anyGlob(l.servers, server) || l.scope.tools != nil && !anyGlob(l.scope.tools, tool) {
			continue
		}
		src.Tags = append(src.Tags, l.tags...)
		for _, t := range l.takes {
			if slices.Contains(a.Labels, t) {
				src.Tags = append(src.Tags, t)
			}
		}
		if l.parts != 0 {
			if a.Kind == act.MessageUser && l.by != provenance.Unknown {
				if l.parts&filesPart != 0 {
					src.Files = l.by
				}
				if l.parts&quotesPart != 0 {
					src.Quotes = l.by
				}
				if l.parts&dataPart != 0 {
					src.Beside = l.by
				}
			}
			continue
		}
		foreign = foreign || l.by == provenance.Foreign
		// A server that is one's own has tools that fetch what is not, and says so.
		own = own || l.by == provenance.Own && (l.scope.tools != nil || hints&act.OpenWorld == 0)
		src.Fields = append(src.Fields, l.fields...)
	}
	switch {
	case slices.Contains(a.Labels, provenance.Foreign.String()):
		src.By, src.Fields = provenance.Foreign, nil
	case foreign:
		src.By = provenance.Foreign
	case own:
		src.By = provenance.Own
	}
	return src
}

// hints are what is believed of what an MCP server says of the tool of an act: that it is
// dangerous always, and that it is harmless where a label takes that from the server.
func (s *Set) hints(a *act.Action) act.Hints {
	believed := a.Hints & act.Grave
	if a.Hints == believed {
		return believed
	}
	server, _ := canon.Name(a.Server)
	for _, l := range s.labels {
		if l.takes == nil || l.servers == nil || !anyGlob(l.servers, server) || l.scope.tools != nil && !anyGlob(l.scope.tools, a.Canonical) {
			continue
		}
		for _, name := range l.takes {
			if h, ok := act.ParseHint(name); ok {
				believed |= a.Hints & h
			}
		}
	}
	return believed
}

func anyGlob(globs []string, name string) bool {
	return name != "" && slices.ContainsFunc(globs, func(g string) bool { return glob.Match(g, name) })
}
