package bom

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/export"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/replay"
)

// reader reads what records tell of agents. It remembers the descriptions that many acts
// share. It is not safe for concurrent use.
type reader struct {
	described map[[sha256.Size]byte]*sight
}

// Bounds of what is read of one record.
const (
	maxDescribed = 256  // descriptions that are remembered
	maxOfOne     = 1000 // components that one record tells of
)

// read is what a record tells of its agent; nil for nothing.
func (r *reader) read(rec *export.Record) *sight {
	f := &rec.Facts
	effect, decided := act.ParseEffect(rec.Effect)
	if !decided || f.Agent == "" || f.Principal == "" || strings.HasPrefix(rec.Kind, "admin.") {
		return nil
	}
	s := &sight{at: rec.Time, agent: cut(f.Agent), principal: cut(f.Principal), listed: map[string]time.Time{}}
	s.self.Said = at(rec.Time)
	if rec.Policy != "" {
		s.policy = Form{Hash: cut(rec.Policy), Span: at(rec.Time)}
	}
	links, err := rec.Opening.Linked()
	if err != nil {
		links = ledger.ActLinks{}
	}
	r.describe(s, rec)
	ran := effect == act.Allow || effect == act.Modify
	if strings.HasPrefix(links.Method, "agbom/") {
		if ran {
			declared(s, links.Method, rec)
		}
		return s
	}
	if ran {
		used(s, rec, &links)
	}
	return s
}

// goesBy adds the files that an agent goes by, as reeve's hook tells of them.
func goesBy(s *sight, request rawjson.Value, when time.Time) {
	files := request.Get("params").Get("context").Get("session").Get("metadata").Get("files")
	if files.Len() == 0 {
		return
	}
	moment := at(when)
	for _, f := range files.Elems() {
		t := Type(f.Get("kind").Text())
		hash := digestOf(f.Get("sha256"))
		if t != Instructions && t != Skill && t != Settings || f.Get("path").Text() == "" || hash == "" || len(s.components) >= maxOfOne {
			continue
		}
		c := &Component{Type: t, Name: cut(f.Get("path").Text()), Said: moment}
		c.form(Form{Hash: hash, Span: moment})
		s.components = append(s.components, c)
	}
}

// describe adds what the agent says of itself.
func (r *reader) describe(s *sight, rec *export.Record) {
	claims, err := rec.Opening.Asker()
	if err != nil {
		claims = ledger.Asker{}
	}
	own := Form{Title: cut(claims.Claims.AgentName), Version: cut(claims.Claims.AgentVersion), Span: at(rec.Time)}
	var raw []byte
	if doc, err := rawjson.Parse(rec.Opening.Request); err == nil {
		raw = description(doc.Root())
		goesBy(s, doc.Root(), rec.Time)
	}
	if raw == nil {
		// An act whose contents were not kept tells less of the agent than others: that is
		// no change of it.
		if rec.Opening.Request != nil && own.text() != (Form{}).text() {
			s.self.form(own)
		}
		return
	}
	key := sha256.Sum256(raw)
	said := r.described[key]
	if said == nil {
		said = describes(raw)
		if r.described == nil || len(r.described) >= maxDescribed {
			r.described = map[[sha256.Size]byte]*sight{}
		}
		r.described[key] = said
	}
	moment := at(rec.Time)
	for _, form := range said.self.Forms {
		form.Span = moment
		s.self.form(form)
	}
	for _, c := range said.components {
		one := &Component{Type: c.Type, Name: c.Name, Server: c.Server, Said: moment}
		for _, form := range c.Forms {
			form.Span = moment
			one.form(form)
		}
		s.components = append(s.components, one)
	}
	for list := range said.listed {
		s.listed[list] = moment.Last
	}
	s.cut = s.cut || said.cut
}

// description is what an agent says of itself in a request of AOS, as it stands there; nil
// where it says nothing.
func description(request rawjson.Value) []byte {
	agent := request.Get("params").Get("context").Get("agent")
	if agent.Kind() != rawjson.Object {
		return nil
	}
	return agent.Raw()
}

// describes reads a description of AOS: without times, since many acts share it.
func describes(raw []byte) *sight {
	s := &sight{listed: map[string]time.Time{}}
	doc, err := rawjson.Parse(raw)
	if err != nil {
		return s
	}
	agent := doc.Root()
	s.self.Forms = []Form{{
		Title: cut(agent.Get("name").Text()), Version: cut(agent.Get("version").Text()),
		Supplier: cut(agent.Get("provider").Get("name").Text()), Hash: hashOf(agent.Get("instructions")),
	}}
	add := func(t Type, v rawjson.Value, supplier string) {
		name := cmp.Or(v.Get("id").Text(), v.Get("name").Text())
		if name == "" || len(s.components) >= maxOfOne {
			return
		}
		title := v.Get("name").Text()
		if title == name {
			title = ""
		}
		s.components = append(s.components, &Component{Type: t, Name: cut(name), Forms: []Form{{
			Title: cut(title), Supplier: cut(supplier), Version: cut(v.Get("version").Text()), Hash: hashOf(v),
		}}})
	}
	if model := agent.Get("model"); model.Kind() == rawjson.Object {
		add(Model, model, model.Get("provider").Get("name").Text())
		s.listed[listOf(Model, "")] = time.Time{}
	}
	for _, list := range []struct {
		name string
		of   Type
	}{{"tools", Tool}, {"mcpServers", MCPServer}, {"resources", Knowledge}} {
		all := agent.Get(list.name)
		if all.Kind() != rawjson.Array {
			continue
		}
		if len(s.components)+all.Len() > maxOfOne { // of a part nobody can say what is not in it
			s.cut = true
		} else {
			s.listed[listOf(list.of, "")] = time.Time{}
		}
		for _, v := range all.Elems() {
			add(list.of, v, "")
		}
	}
	return s
}

// hashOf is the hash of a value in canonical JSON; empty where there is none.
func hashOf(v rawjson.Value) string {
	if !v.Exists() || v.Kind() == rawjson.Null {
		return ""
	}
	sum := sha256.Sum256(v.AppendCanonical(nil))
	return hex.EncodeToString(sum[:])
}

// used adds what the agent used in an act that was let through.
func used(s *sight, rec *export.Record, links *ledger.ActLinks) {
	moment := at(rec.Time)
	seen := func(t Type, server, name string) *Component {
		if name == "" || len(s.components) >= 2*maxOfOne {
			return nil
		}
		c := &Component{Type: t, Name: cut(name), Server: cut(server), Seen: moment}
		s.components = append(s.components, c)
		return c
	}
	f := &rec.Facts
	resource := cmp.Or(f.Resource, f.Tool)
	switch act.Kind(rec.Kind) {
	case act.ToolCall, act.TaskStart:
		seen(Tool, f.Server, resource)
		seen(MCPServer, "", f.Server)
	case act.MCPRequest, act.MCPResponse:
		seen(MCPServer, "", f.Server)
		a := parsed(rec)
		if a == nil {
			return
		}
		if a.CallsMCP() {
			seen(Tool, f.Server, f.Tool) // by the name that it is listed under
		}
		if len(a.Listed) == 0 {
			return
		}
		if s.cut = len(a.Listed) > maxOfOne; !s.cut {
			s.listed[listOf(Tool, cut(f.Server))] = moment.Last
		}
		for _, d := range a.Listed[:min(len(a.Listed), maxOfOne)] {
			c := &Component{Type: Tool, Name: cut(d.Name), Server: cut(f.Server), Said: moment}
			c.form(Form{Hash: strings.TrimPrefix(d.Hash.String(), "sha256:"), Span: moment})
			s.components = append(s.components, c)
		}
	case act.A2ASend, act.A2AReceive:
		seen(Peer, "", cmp.Or(f.Server, resource))
	case act.KnowledgeRetrieve:
		a := parsed(rec)
		if a == nil || len(a.Retrieved) == 0 {
			seen(Knowledge, "", resource)
			return
		}
		for _, id := range a.Retrieved {
			seen(Knowledge, "", id)
		}
	case act.MemoryStore, act.MemoryRetrieve:
		seen(Memory, "", cmp.Or(resource, "memory"))
	case act.AgentEvent:
		if c := seen(Skill, "", resource); c != nil {
			digest := payloadOf(rec).Get("digest")
			if !digest.Exists() {
				digest = payloadOf(rec).Get("definition").Get("digest")
			}
			if form := (Form{Hash: digestOf(digest), Span: moment}); form.Hash != "" {
				c.form(form)
			}
		}
	}
}

// parsed is the act of a record, where its contents are kept.
func parsed(rec *export.Record) *act.Action {
	if rec.Opening.Request == nil {
		return nil
	}
	return replay.Act(&rec.Record, &rec.Opening)
}

// payloadOf is what an ACS request is about.
func payloadOf(rec *export.Record) rawjson.Value {
	doc, err := rawjson.Parse(rec.Opening.Request)
	if err != nil {
		return rawjson.Value{}
	}
	return doc.At("/params/payload")
}

// digestOf reads a SHA-256 that an agent says; empty for anything else.
func digestOf(v rawjson.Value) string {
	text := v.Text()
	if v.Kind() == rawjson.Object {
		text = v.Get("value").Text()
		if alg := strings.ToLower(v.Get("algorithm").Text()); alg != "sha256" && alg != "sha-256" {
			return ""
		}
	}
	text = strings.ToLower(strings.TrimPrefix(text, "sha256:"))
	if sum, err := hex.DecodeString(text); err != nil || len(sum) != sha256.Size {
		return ""
	}
	return text
}

// declared adds what an agent says in a bill of its own (ACS agbom/snapshot, agbom/changed).
func declared(s *sight, method string, rec *export.Record) {
	payload := payloadOf(rec)
	if inner := payload.Get("agbom"); inner.Kind() == rawjson.Object {
		payload = inner
	}
	moment := exactly(rec.Time)
	add := func(list rawjson.Value, removed bool) {
		for _, v := range list.Elems() {
			if now := v.Get("component"); now.Kind() == rawjson.Object {
				v = now
			}
			t := Type(cmp.Or(v.Get("type").Text(), v.Get("component_type").Text()))
			name := cmp.Or(v.Get("id").Text(), v.Get("component_id").Text(), v.Get("skill_id").Text(), v.Get("name").Text())
			if !slices.Contains(types, t) { // nothing that an agent says it has is left out
				t, name = Other, strings.TrimSpace(string(t)+" "+name)
			}
			if len(s.components) >= 2*maxOfOne {
				s.cut = true
				return
			}
			if name == "" {
				continue
			}
			c := &Component{Type: t, Name: cut(name), Server: cut(cmp.Or(v.Get("server").Text(), v.Get("mcp_server").Text()))}
			if removed {
				c.Gone = moment
				s.components = append(s.components, c)
				continue
			}
			c.Said = moment
			title := v.Get("name").Text()
			if title == name {
				title = ""
			}
			supplier := v.Get("provider")
			if supplier.Kind() == rawjson.Object {
				supplier = supplier.Get("name")
			}
			c.form(Form{
				Title: cut(title), Supplier: cut(supplier.Text()), Version: cut(v.Get("version").Text()),
				Hash: cmp.Or(digestOf(v.Get("digest")), hashOf(v)), Span: moment,
			})
			s.components = append(s.components, c)
		}
	}
	if method == "agbom/snapshot" {
		components := payload.Get("components")
		if add(components, false); s.cut || components.Kind() != rawjson.Array {
			return
		}
		for _, t := range types { // it is all of them
			s.listed[listOf(t, "")] = moment.Last
		}
		for _, c := range s.components {
			s.listed[listOf(c.Type, c.Server)] = moment.Last
		}
		return
	}
	add(payload.Get("removed"), true)
	add(payload.Get("added"), false)
	add(payload.Get("changed"), false)
}
