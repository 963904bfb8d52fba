package acs

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/wording"
)

// answerSize is what most answers need, with their signature.
const answerSize = 2 << 10

// begin is the beginning of an answer.
func (s *Server) begin(r *request, decision string) []byte {
	b := append(make([]byte, 0, answerSize), `{"type":"final","acs_version":"`+Version+`","request_id":`...)
	b = rawjson.AppendString(b, r.id)
	b = append(b, `,"metadata":{"evaluator":"deterministic","evaluator_version":`...)
	b = rawjson.AppendString(b, s.cfg.Version)
	return append(append(append(b, `},"decision":"`...), decision...), '"', '}')
}

// add puts members at the end of an object, which may be empty.
func add(b []byte, name string, raw []byte) []byte {
	b = b[:len(b)-1]
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	b = append(rawjson.AppendString(b, name), ':')
	return append(append(b, raw...), '}')
}

// appendChain adds the head of the session's chain, and the entry that it was made of.
func appendChain(b []byte, e *link) []byte {
	return add(add(b, "chain_hash", rawjson.Quote(e.head)), "policy_data", add([]byte("{}"), "reeve", add([]byte("{}"), "entry", e.append(nil))))
}

// refusal is a denial that is no decision of the policy, and enters nothing.
func (s *Server) refusal(r *request, why act.Reason) []byte {
	b := add(s.begin(r, "deny"), "reasoning", rawjson.Quote(wording.Advice(&why)))
	return add(b, "reason_codes", rawjson.AppendStrings(nil, []string{why.Code}))
}

// verdict is what a decision is in the standard's words, and all that is said of it.
type verdict struct {
	word         string
	why          string // of all but an allow
	codes, rules []string
	changes      []byte // of a modify
	// substituted is why it is another than the policy's: there is no way to do as that says.
	substituted string
}

func verdictOf(r *request, a *act.Action, d *act.Decision, modified []byte) *verdict {
	effect, codes, why := d.Effect, wording.Each(d, wording.Code), wording.Message(d)
	v := &verdict{rules: wording.Each(d, wording.Rule)}
	if effect == act.Modify {
		v.changes = modifications(a, d, modified)
	}
	switch {
	case r.Method == "steps/postCompact" && effect != act.Allow && v.changes == nil:
		effect, v.changes = act.Modify, removedSummary // nobody can deny what is so, but it need not be read
	case effect == act.Modify && (v.changes == nil || unchanged[r.Method]):
		effect, v.substituted = act.Deny, "modify_unsupported"
		why += " It could pass in a changed form only, and this step has none."
	case effect == act.Escalate && !a.IsCall():
		effect, codes, v.substituted = act.Deny, append([]string{"approval_required"}, codes...), "approver_unavailable"
	case effect == act.Escalate:
		codes = append([]string{"approval_required"}, codes...)
	}
	if v.substituted != "" {
		codes = append(codes, v.substituted)
	}
	if effect != act.Allow { // that nothing else forbids it is no reason then
		codes = slices.DeleteFunc(codes, func(code string) bool { return code == "default" })
	}
	v.codes = unique(codes)
	switch {
	case effect == act.Escalate && asks(r, a, d):
		v.word = "ask"
	case effect == act.Escalate:
		v.word = "defer"
	default:
		v.word = effect.String()
	}
	if effect == act.Allow {
		return v
	}
	for _, instead := range wording.Few(wording.Each(d, wording.Instead)) {
		why += " " + wording.Sentence(instead)
	}
	v.why = why
	return v
}

// decided is the answer to a step that was decided and recorded. That it says something else
// than the policy is recorded before it is said.
func (s *Server) decided(ctx context.Context, r *request, a *act.Action, d *act.Decision, modified []byte, e *link) ([]byte, error) {
	v := verdictOf(r, a, d, modified)
	if v.substituted != "" {
		if err := s.cfg.Guard.Write(ctx, s.note(r, "acs.substituted", v.substituted)); err != nil {
			return nil, err
		}
	}
	if err := s.late(ctx, r, v, e.head); err != nil {
		return nil, err
	}
	b := s.begin(r, v.word)
	if v.word != "allow" {
		b = add(b, "reasoning", rawjson.Quote(v.why))
	}
	b = add(b, "reason_codes", rawjson.AppendStrings(nil, v.codes))
	b = add(b, "policy_references", references(v.rules, d.Policy))
	switch v.word {
	case "modify":
		b = add(b, "modifications", v.changes)
	case "defer":
		b = add(b, "defer_details", deferral(d, s.cfg.Guard.Now()))
	case "ask":
		b = add(b, "ask_details", question(r, d, v.why, s.cfg.Guard.Now()))
	}
	b = add(b, "chain_hash", rawjson.Quote(e.head))
	return add(b, "policy_data", add([]byte("{}"), "reeve", ours(d, e))), nil
}

func unique(list []string) (once []string) {
	for _, s := range list {
		if s != "" && !slices.Contains(once, s) {
			once = append(once, s)
		}
	}
	return once
}

// references are the rules that decided.
func references(rules []string, policy string) []byte {
	b := []byte{'['}
	for i, rule := range rules {
		if i > 0 {
			b = append(b, ',')
		}
		one := add([]byte("{}"), "policy_id", rawjson.Quote("reeve"))
		one = add(one, "policy_version", rawjson.Quote(policy))
		one = add(one, "policy_name", rawjson.Quote("the policy of this guardian"))
		b = append(b, add(one, "rule_id", rawjson.Quote(rule))...)
	}
	return append(b, ']')
}

// deferral says that people are asked, and until when the same act may come again. It says
// to no model how they answer.
func deferral(d *act.Decision, now time.Time) []byte {
	wait := time.Hour
	if d.Approval != nil {
		wait = max(0, d.Approval.Expires.Sub(now))
	}
	b := []byte(`{"reason":"pending_dependency","resolution_method":"human_approval","resolution_timeout_ms":`)
	b = strconv.AppendInt(b, wait.Milliseconds(), 10)
	return append(b, `,"timeout_decision":"deny"}`...)
}

// asks reports whether the agent's own user is asked: the agent can show them what is asked,
// and nobody in particular must agree.
func asks(r *request, a *act.Action, d *act.Decision) bool {
	return r.key.Asks && a.Kind == act.ToolCall && d.Approval != nil && d.Approval.Dialogue
}

// question is what the agent shows its user. The standard has no message by which the answer
// comes back: the call's result tells that it was yes.
func question(r *request, d *act.Decision, why string, now time.Time) []byte {
	who := r.meta.Get("user_context").Get("user_id").Text()
	if who == "" {
		who = r.key.Agent
	}
	b := add([]byte("{}"), "approver", add([]byte(`{"type":"human"}`), "id", rawjson.Quote(who)))
	b = add(b, "question", rawjson.Quote(why))
	b = add(b, "timeout_seconds", strconv.AppendInt(nil, int64(max(1, d.Approval.Expires.Sub(now)/time.Second)), 10))
	return add(b, "timeout_disposition", []byte(`"deny"`))
}

// ours is what reeve says beside the standard's members.
func ours(d *act.Decision, e *link) []byte {
	b := add([]byte("{}"), "decision_id", rawjson.Quote(d.Position.String()))
	b = add(b, "receipt", rawjson.Quote("/ledger/"+strconv.FormatUint(uint64(d.Position.Log), 10)+"/receipt/"+strconv.FormatUint(d.Position.Index, 10)))
	b = add(b, "risk", append(wording.AppendScore([]byte(`{"score":`), d.Risk.Score), '}'))
	if len(d.Conditions) > 0 {
		b = add(b, "conditions", rawjson.AppendStrings(nil, d.Conditions))
	}
	if d.Approval != nil {
		b = add(b, "approval", rawjson.Quote(d.Approval.ID))
	}
	return add(b, "entry", e.append(nil))
}

// removedSummary takes a summary's text away.
var removedSummary = []byte(`{"redactions":[{"path":"/summary/value","replacement":"[removed by policy]"}]}`)

// onlyOutput is the text that a tool's result is, where it is nothing else. It is given whole:
// what is around agents has a place for another result, and seldom for a part of one, and a
// change that it cannot make can leave the result as it was.
func onlyOutput(a *act.Action, root rawjson.Value) (text rawjson.Value) {
	if a.Kind != act.ToolResult {
		return text
	}
	outputs := root.Get("params").Get("payload").Get("outputs")
	for _, one := range outputs.Elems() {
		if v := one.Get("value"); outputs.Len() == 1 && v.Kind() == rawjson.String {
			text = v
		}
	}
	return text
}

// modifications are a decision's edits as the standard has them: whole arguments of a call,
// and texts of all else. Where that cannot be said, it is nil.
func modifications(a *act.Action, d *act.Decision, modified []byte) []byte {
	doc, err := rawjson.Parse(modified)
	if err != nil {
		return nil
	}
	if text := onlyOutput(a, doc.Root()); text.Exists() {
		return add([]byte("{}"), "modified_content", text.Raw())
	}
	var overrides []string
	redactions := []byte{'['}
	var base string
	var wrapped bool
	var arguments rawjson.Value
	if a.IsCall() {
		arguments, base, wrapped = argumentsOf(a, doc.Root())
	}
	for _, edit := range d.Edits {
		if inside, ok := strings.CutPrefix(edit.Pointer, base+"/"); ok && base != "" {
			token, rest, _ := strings.Cut(inside, "/")
			if wrapped && rest != "value" && !strings.HasPrefix(rest, "value/") {
				return nil
			}
			if name := rawjson.UnescapePointer(token); !slices.Contains(overrides, name) {
				overrides = append(overrides, name)
			}
			continue
		}
		path, ok := strings.CutPrefix(edit.Pointer, payload)
		if !ok || len(edit.Value) == 0 || edit.Value[0] != '"' {
			return nil
		}
		if len(redactions) > 1 {
			redactions = append(redactions, ',')
		}
		one := add([]byte("{}"), "path", rawjson.Quote(path))
		redactions = append(redactions, add(one, "replacement", edit.Value)...)
	}
	b := []byte("{}")
	if len(redactions) > 1 {
		b = add(b, "redactions", append(redactions, ']'))
	}
	if len(overrides) > 0 {
		values := []byte("{}")
		for _, name := range overrides {
			v := arguments.Get(name)
			if wrapped {
				v = v.Get("value")
			}
			if !v.Exists() {
				return nil
			}
			values = add(values, name, v.Raw())
		}
		b = add(b, "parameter_overrides", values)
	}
	if len(b) == 2 {
		return nil
	}
	return b
}
