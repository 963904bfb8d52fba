package acs

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/words"

	"github.com/go-json-experiment/json"
)

// What the profile acs-trace has told of a step beside the decision: where the values of its
// payload came from, and what the standard's table of spans (trace/otel-mapping.json) names
// of it. It is kept beside the record, bounded, since records are what events are made of.

// attribute is one of a step: its name, and where it stands below params. The last part may
// be * for a list of what follows, of each, or # for how many there are.
type attribute struct{ name, at string }

var traced = map[string][]attribute{
	"steps/sessionStart":  {{"acs.tenant_id", "tenant_id"}, {"acs.policy_mode", "payload/policy_mode"}},
	"steps/agentTrigger":  {{"acs.trigger.type", "payload/trigger_type"}},
	"steps/userMessage":   {{"acs.content.types", "payload/content/*/type"}},
	"steps/agentResponse": {{"acs.content.types", "payload/content/*/type"}},
	"steps/toolCallRequest": {
		{"gen_ai.tool.name", "payload/tool/name"}, {"acs.capability", "payload/capability"}, {"acs.operation", "payload/operation"},
		{"acs.tool.provider", "payload/tool/provider"}, {"acs.tool.version", "payload/tool/version"},
	},
	"steps/toolCallResult": {
		{"gen_ai.tool.name", "payload/tool/name"}, {"acs.exit_status", "payload/exit_status"},
		{"acs.request_id_ref", "payload/request_id_ref"}, {"acs.duration_ms", "payload/duration_ms"},
	},
	"steps/knowledgeRetrieval":     {{"acs.source.type", "payload/source/type"}, {"acs.results.count", "payload/results/#"}},
	"steps/memoryStore":            {{"acs.memory_store.name", "payload/memory_store/name"}, {"acs.operation", "payload/operation"}},
	"steps/memoryContextRetrieval": {{"acs.memory_store.name", "payload/memory_store/name"}, {"acs.results.count", "payload/results/#"}},
	"steps/sessionEnd":             {{"acs.session.reason", "payload/reason"}},
	"steps/turnStart":              {{"acs.turn.id", "payload/turn_id"}, {"acs.turn.triggered_by", "payload/triggered_by"}, {"acs.turn.parent_id", "payload/parent_turn_id"}},
	"steps/turnEnd":                {{"acs.turn.id", "payload/turn_id"}, {"acs.turn.outcome", "payload/outcome"}},
	"steps/preCompact":             {{"acs.compact.entry_count", "payload/entries_to_compact/#"}, {"acs.compact.triggered_by", "payload/triggered_by"}},
	"steps/postCompact":            {{"acs.compact.entry_count", "payload/entries_compacted/#"}},
	"steps/subagentStart": {
		{"acs.subagent.session_id", "payload/subagent_session_id"}, {"acs.subagent.parent_session_id", "payload/parent_session_id"},
		{"acs.subagent.intent_derivation", "payload/intent_derivation"},
	},
	"steps/subagentStop": {
		{"acs.subagent.session_id", "payload/subagent_session_id"}, {"acs.subagent.outcome", "payload/outcome"},
		{"acs.subagent.final_chain_hash", "payload/final_chain_hash"},
	},
	"steps/skillRegister": {
		{"acs.skill.id", "payload/skill_id"}, {"acs.skill.digest.algorithm", "payload/definition/digest/algorithm"},
		{"acs.skill.digest.value", "payload/definition/digest/value"}, {"acs.skill.declared_capabilities", "payload/declared_capabilities/*"},
	},
	"steps/skillLoad": {
		{"acs.skill.id", "payload/skill_id"}, {"acs.skill.digest.algorithm", "payload/digest/algorithm"}, {"acs.skill.digest.value", "payload/digest/value"},
		{"acs.skill.load_trigger", "payload/load_trigger"}, {"acs.skill.load_path", "payload/load_path/*/skill_id"},
	},
	"steps/skillUnload": {{"acs.skill.id", "payload/skill_id"}, {"acs.skill.reason", "payload/reason"}, {"acs.skill.replaced_by", "payload/replaced_by"}},
	"agbom/snapshot":    {{"acs.agbom.component_count", "payload/components/#"}},
	"agbom/changed":     {{"acs.agbom.change_reason", "payload/change_reason"}},
}

// The bounds of what is kept of a step: bytes of a text, and members of a list.
const (
	maxTraced = 256
	maxListed = 64
)

// attributesOf are a step's, as an object of JSON: what the payload leaves out is left out.
func attributesOf(r *request) []byte {
	b := []byte("{}")
	if slices.Contains(boms, r.Method) {
		b = add(b, "acs.agbom.format", []byte(`"canonical"`))
	}
	for _, one := range traced[r.Method] {
		if value := valueAt(r.Params, one.at); value != nil {
			b = add(b, one.name, value)
		}
	}
	return b
}

// valueAt is what stands at a place: nil for nothing, and for an empty list or text.
func valueAt(v rawjson.Value, at string) []byte {
	part, rest, more := strings.Cut(at, "/")
	switch part {
	case "#":
		if v.Kind() != rawjson.Array {
			return nil
		}
		return strconv.AppendInt(nil, int64(v.Len()), 10)
	case "*":
		var list []string
		for _, e := range v.Elems() {
			if more {
				e = e.Get(rest)
			}
			text := e.Text()
			if e.Kind() != rawjson.String {
				text = string(e.Raw())
			}
			if list = append(list, words.Cut(text, maxTraced)); len(list) == maxListed {
				break
			}
		}
		if list == nil {
			return nil
		}
		return rawjson.AppendStrings(nil, list)
	}
	if v = v.Get(part); more {
		return valueAt(v, rest)
	}
	switch {
	case v.Kind() == rawjson.String && v.Text() != "":
		return rawjson.Quote(words.Cut(v.Text(), maxTraced))
	case v.Kind() == rawjson.Number:
		return v.Raw()
	}
	return nil
}

// provenanceOf is where the values of a step's payload came from, as the agent says: of its
// members, of the values in those, and of no value's inside, which is anybody's text.
func provenanceOf(r *request) (list []ledger.Provenance) {
	take := func(holder rawjson.Value) {
		p := holder.Get("provenance")
		if p.Kind() != rawjson.Object || len(list) == maxListed {
			return
		}
		text := func(name string) string { return words.Cut(p.Get(name).Text(), maxTraced) }
		list = append(list, ledger.Provenance{ID: text("provenance_id"), Origin: text("origin"), Source: text("source_id")})
	}
	if !strings.HasPrefix(r.Method, "steps/") {
		return nil
	}
	for _, m := range r.Params.Get("payload").Members() {
		switch m.Kind() {
		case rawjson.Object:
			take(m)
			for name, held := range m.Members() {
				if name != "value" && name != "provenance" {
					take(held)
				}
			}
		case rawjson.Array:
			for _, e := range m.Elems() {
				take(e)
			}
		}
	}
	return list
}

// answered is what is kept of an answer, as JSON, for who traces it; nil where nobody does.
func (s *Server) answered(r *request, v *verdict, head string) []byte {
	if !s.cfg.Trace {
		return nil
	}
	kept := ledger.Answered{
		Decision: v.word, Reasoning: v.why, Codes: v.codes, Rules: v.rules, Chain: head, Provenance: provenanceOf(r), Step: attributesOf(r),
	}
	took := s.took(r)
	if r.late = took > Timeout; r.late {
		kept.Late = &ledger.Late{Elapsed: took.Milliseconds(), Timeout: Timeout.Milliseconds(), Posture: posture, Size: len(r.Body)}
	}
	b, err := json.Marshal(kept)
	if err != nil {
		return nil // which a damaged text of the agent's can bring about, and is no reason to decide otherwise
	}
	return b
}

// tracing is what a decision's record keeps of its answer; nil for nothing.
func (s *Server) tracing(r *request, a *act.Action, e *link) func(*guard.Ruling) []byte {
	if !s.cfg.Trace {
		return nil
	}
	return func(ruling *guard.Ruling) []byte {
		return s.answered(r, verdictOf(r, a, ruling.Decision, ruling.Modified), e.head)
	}
}

func (s *Server) took(r *request) time.Duration { return s.cfg.Guard.Now().Sub(r.came) }

// late records that an answer comes when its agent waits no longer, where it was the writing
// that took so long: else its record says so.
func (s *Server) late(ctx context.Context, r *request, v *verdict, head string) error {
	if !s.cfg.Trace || r.late || s.took(r) <= Timeout {
		return nil
	}
	return s.cfg.Guard.Write(ctx, s.traces(s.note(r, "acs.late", ""), r, v, head))
}

// traces has a note tell what was answered, as the record of a decision does.
func (s *Server) traces(n *guard.Note, r *request, v *verdict, head string) *guard.Note {
	if kept := s.answered(r, v, head); kept != nil {
		n.Details["answer"] = string(kept)
	}
	return n
}
