package aos

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/rawjson"
)

// answer is the -32602 for an invalid request.
func (i *invalid) answer() *jsonrpc.Error {
	b := append([]byte(`{"field":`), rawjson.Quote(i.field)...)
	b = append(b, `,"reason":`...)
	b = rawjson.AppendString(b, i.reason)
	b = append(b, `,"expected":`...)
	b = rawjson.AppendString(b, i.expected)
	return &jsonrpc.Error{Code: -32602, Message: words[-32602], Data: append(b, '}')}
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
	b = rawjson.AppendString(b, message(d))
	b = append(b, `,"reasoning":`...)
	b = rawjson.AppendString(b, reasoningOf(d))
	b = append(b, `,"reasonCode":`...)
	b = appendStrings(b, codes(d))
	b = append(b, `,"data":{"decision_id":"`...)
	b = strconv.AppendUint(b, uint64(d.Position.Log), 10)
	b = append(b, '-')
	b = strconv.AppendUint(b, d.Position.Index, 10)
	b = append(b, `","policy":`...)
	b = rawjson.AppendString(b, d.Policy)
	b = append(b, `,"rules":`...)
	b = appendStrings(b, distinct(d, func(r *act.Reason) string { return r.Rule }))
	b = append(b, `,"risk":{"score":`...)
	b = appendScore(b, d.Risk.Score)
	b = append(b, `,"level":`...)
	b = rawjson.AppendString(b, level(d.Risk))
	b = append(b, `,"threats":`...)
	b = appendStrings(b, d.Risk.Threats)
	b = append(b, `},"receipt":"/ledger/`...)
	b = strconv.AppendUint(b, uint64(d.Position.Log), 10)
	b = append(b, `/receipt/`...)
	b = strconv.AppendUint(b, d.Position.Index, 10)
	b = append(b, `","repeat":`...)
	b = strconv.AppendBool(b, d.Repeat)
	if instead := distinct(d, func(r *act.Reason) string { return r.Instead }); len(instead) > 0 {
		b = append(b, `,"instead":`...)
		b = appendStrings(b, instead)
	}
	if len(d.Conditions) > 0 {
		b = append(b, `,"conditions":`...)
		b = appendStrings(b, d.Conditions)
	}
	if h := d.Approval; h != nil {
		b = append(b, `,"approval":{"id":`...)
		b = rawjson.AppendString(b, h.ID)
		b = append(b, `,"state":`...)
		b = rawjson.AppendString(b, h.State)
		b = append(b, `,"expires_at":"`...)
		b = h.Expires.UTC().AppendFormat(b, "2006-01-02T15:04:05Z")
		b = append(b, `"}`...)
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

func appendStrings(b []byte, list []string) []byte {
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = rawjson.AppendString(b, s)
	}
	return append(b, ']')
}

func appendScore(b []byte, score float64) []byte {
	if math.IsNaN(score) || math.IsInf(score, 0) {
		score = 1 // JSON has no word for it, and it is no reason for calm
	}
	return strconv.AppendFloat(b, score, 'g', -1, 64)
}

func level(r act.Risk) string {
	if r.Level != "" {
		return r.Level
	}
	return act.Level(r.Score)
}

// codes are the stable codes of a decision, each once.
func codes(d *act.Decision) []string {
	list := distinct(d, func(r *act.Reason) string { return r.Code })
	if d.Effect != act.Escalate {
		return list
	}
	const held = "approval_required"
	list = slices.DeleteFunc(list, func(s string) bool { return s == held })
	return slices.Insert(list, 0, held)
}

// distinct lists what the reasons that count say, each once, in their order.
func distinct(d *act.Decision, of func(*act.Reason) string) (list []string) {
	for i := range d.Reasons {
		r := &d.Reasons[i]
		if s := of(r); s != "" && !r.Observe && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// message is one or a few sentences for a person: what the strictest rules say.
func message(d *act.Decision) string {
	const most = 3
	var said []string
	for i := range d.Reasons {
		r := &d.Reasons[i]
		if r.Observe || r.Effect != d.Effect {
			continue
		}
		if s := sentence(r.Message); s != "" && len(said) < most && !slices.Contains(said, s) {
			said = append(said, s)
		}
	}
	text := strings.Join(said, " ")
	if text == "" {
		switch d.Effect {
		case act.Allow:
			return "No rule of the policy speaks against this."
		case act.Modify:
			return "This may happen in the changed form only."
		case act.Escalate:
			return "A person must agree to this first."
		default:
			return "The policy does not allow this."
		}
	}
	if d.Effect == act.Escalate {
		text += " A person must agree first."
	}
	return text
}

// sentence ends a text with a full stop, unless it ends with a mark already.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return ""
	}
	switch last, _ := utf8.DecodeLastRuneInString(s); last {
	case '.', '!', '?', '…', '。', '"', ')':
		return s
	}
	return s + "."
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
		if s := sentence(r.Message); s != "" {
			b.WriteString(": ")
			b.WriteString(s)
		} else {
			b.WriteByte('.')
		}
		if s := sentence(r.Instead); s != "" {
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
