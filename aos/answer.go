package aos

import (
	"slices"
	"strconv"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/params"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/wording"
)

// invalid is the -32602 for an invalid request.
func invalid(f *params.Fault) *jsonrpc.Error {
	return &jsonrpc.Error{Code: -32602, Message: words[-32602], Data: append(f.AppendMembers([]byte{'{'}), '}')}
}

func unknownMethod() *jsonrpc.Error {
	return &jsonrpc.Error{Code: -32601, Message: words[-32601], Data: []byte(
		`{"reason":"AOS 0.1.0 has no such method. See section 4: steps/agentTrigger, knowledgeRetrieval, memoryStore, memoryContextRetrieval, message, toolCallRequest, toolCallResult; protocols/A2A, MCP; ping."}`)}
}

// internalError tells a stranger what follows from a failure, and nothing of
// its cause.
func internalError() *jsonrpc.Error {
	return &jsonrpc.Error{Code: -32603, Message: words[-32603], Data: []byte(
		`{"reason":"The guardian could not decide and record this. Nothing was allowed: the step must not happen. Ask again later with the same ids."}`)}
}

// appendResult appends a decision in the form of section 5.1.1. modified is the
// whole request as changed, for the effect Modify only.
func appendResult(b []byte, d *act.Decision, modified []byte) []byte {
	decision := d.Effect
	if decision == act.Escalate {
		decision = act.Deny // AOS knows no other way to say "not yet"
	}
	b = append(b, `{"decision":"`...)
	b = append(b, decision.String()...)
	b = append(b, `","message":`...)
	b = rawjson.AppendString(b, wording.Message(d))
	b = append(b, `,"reasoning":`...)
	b = rawjson.AppendString(b, reasoningOf(d))
	b = append(b, `,"reasonCode":`...)
	b = rawjson.AppendStrings(b, codes(d))
	b = append(b, `,"data":{"decision_id":"`...)
	b = strconv.AppendUint(b, uint64(d.Position.Log), 10)
	b = append(b, '-')
	b = strconv.AppendUint(b, d.Position.Index, 10)
	b = append(b, `","policy":`...)
	b = rawjson.AppendString(b, d.Policy)
	b = append(b, `,"rules":`...)
	b = rawjson.AppendStrings(b, wording.Each(d, wording.Rule))
	b = append(b, `,"risk":{"score":`...)
	b = wording.AppendScore(b, d.Risk.Score)
	b = append(b, `,"level":`...)
	b = rawjson.AppendString(b, wording.Level(d.Risk))
	b = append(b, `,"threats":`...)
	b = rawjson.AppendStrings(b, d.Risk.Threats)
	b = append(b, `},"receipt":"/ledger/`...)
	b = strconv.AppendUint(b, uint64(d.Position.Log), 10)
	b = append(b, `/receipt/`...)
	b = strconv.AppendUint(b, d.Position.Index, 10)
	b = append(b, `","repeat":`...)
	b = strconv.AppendBool(b, d.Repeat)
	if instead := wording.Each(d, wording.Instead); len(instead) > 0 {
		b = append(b, `,"instead":`...)
		b = rawjson.AppendStrings(b, instead)
	}
	if len(d.Conditions) > 0 {
		b = append(b, `,"conditions":`...)
		b = rawjson.AppendStrings(b, d.Conditions)
	}
	if h := d.Approval; h != nil {
		b = append(b, `,"approval":{"id":`...)
		b = rawjson.AppendString(b, h.ID)
		b = append(b, `,"state":`...)
		b = rawjson.AppendString(b, h.State)
		b = append(b, `,"expires_at":"`...)
		b = h.Expires.UTC().AppendFormat(b, "2006-01-02T15:04:05Z")
		b = append(b, '"')
		if h.Lasting {
			b = append(b, `,"lasting":true`...)
		}
		if h.Dialogue {
			b = append(b, `,"dialogue":true`...)
			if asked := wording.Asked(d); asked != "" {
				b = append(b, `,"asked":`...)
				b = rawjson.AppendString(b, asked)
			}
		}
		b = append(b, '}')
	}
	b = appendObserved(b, d.Reasons)
	b = append(b, '}')
	if d.Effect == act.Modify {
		b = append(b, `,"modifiedRequest":`...)
		b = append(b, modified...)
	}
	return append(b, '}')
}

// appendObserved appends the rules that only watch, if any.
func appendObserved(b []byte, reasons []act.Reason) []byte {
	n := 0
	for i := range reasons {
		r := &reasons[i]
		if !r.Observe {
			continue
		}
		if n++; n == 1 {
			b = append(b, `,"observed":[{"rule":`...)
		} else {
			b = append(b, `,{"rule":`...)
		}
		b = rawjson.AppendString(b, r.Rule)
		b = append(b, `,"code":`...)
		b = rawjson.AppendString(b, r.Code)
		b = append(b, `,"effect":"`...)
		b = append(b, r.Effect.String()...)
		b = append(b, `","message":`...)
		b = rawjson.AppendString(b, r.Message)
		b = append(b, '}')
	}
	if n > 0 {
		b = append(b, ']')
	}
	return b
}

// codes are the stable codes of a decision, each once.
func codes(d *act.Decision) []string {
	list := wording.Each(d, wording.Code)
	if d.Effect != act.Escalate {
		return list
	}
	const held = "approval_required"
	list = slices.DeleteFunc(list, func(s string) bool { return s == held })
	return slices.Insert(list, 0, held)
}

// reasoningOf says how a decision came about: every rule that applied, what it
// says, and what the agent could do instead.
func reasoningOf(d *act.Decision) string {
	const most = 64
	var b strings.Builder
	if len(d.Reasons) == 0 {
		b.WriteString("No rule applied, so the policy's default decided: ")
		b.WriteString(d.Effect.String())
		b.WriteByte('.')
	}
	for i := range d.Reasons {
		if i == most {
			b.WriteString(" Further rules applied: see data.rules.")
			break
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		r := &d.Reasons[i]
		b.WriteString("Rule ")
		b.WriteString(r.Rule)
		if r.Code != "" {
			b.WriteString(" (")
			b.WriteString(r.Code)
			b.WriteByte(')')
		}
		if r.Observe {
			b.WriteString(" only watches and would say ")
		} else {
			b.WriteString(" says ")
		}
		b.WriteString(r.Effect.String())
		if s := wording.Sentence(r.Message); s != "" {
			b.WriteString(": ")
			b.WriteString(s)
		} else {
			b.WriteByte('.')
		}
		if s := wording.Sentence(r.Instead); s != "" {
			b.WriteString(" Instead: ")
			b.WriteString(s)
		}
	}
	if len(d.Reasons) > 1 {
		b.WriteString(" The strictest counts: ")
		b.WriteString(d.Effect.String())
		b.WriteByte('.')
	}
	if d.Repeat {
		b.WriteString(" This act was asked about before, and this is the recorded decision.")
	}
	return b.String()
}
