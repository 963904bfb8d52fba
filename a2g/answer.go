package a2g

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/params"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/wording"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// invalid is the -32602 for an invalid request. About an intent, it names the
// intent as far as it can be read.
func invalid(f *params.Fault, about rawjson.Value) *jsonrpc.Error {
	b := appendIntentID(f.AppendMembers([]byte{'{'}), intentOf(about))
	return &jsonrpc.Error{Code: jsonrpc.InvalidParams, Message: words[jsonrpc.InvalidParams], Data: append(b, '}')}
}

// appendIntentID appends the member intent_id of an error's data, if there is an
// id. It is raw JSON.
func appendIntentID(b, id []byte) []byte {
	if id == nil {
		return b
	}
	b = append(b, `,"intent_id":`...)
	return append(b, id...)
}

// failure is an error of the protocol that is no denial: its code's words, a
// sentence that helps, and the intent that the params are about. Members may be
// added to its data as raw JSON, each with a comma before it.
func failure(code int, reason string, params rawjson.Value, more ...string) *jsonrpc.Error {
	return failureOf(code, reason, intentOf(params), more...)
}

func failureOf(code int, reason string, intentID []byte, more ...string) *jsonrpc.Error {
	b := append([]byte(`{"reason":`), rawjson.Quote(reason)...)
	b = appendIntentID(b, intentID)
	for _, m := range more {
		b = append(b, m...)
	}
	return &jsonrpc.Error{Code: code, Message: words[code], Data: append(b, '}')}
}

// internalError tells a stranger what follows from a failure, and nothing of its
// cause.
func internalError(params rawjson.Value) *jsonrpc.Error { return undecided(intentOf(params)) }

func undecided(intentID []byte) *jsonrpc.Error {
	return failureOf(jsonrpc.InternalError, "This could not be decided and recorded. Nothing was allowed: the tool must not be called. Ask again later with the same intent_id.", intentID)
}

// ruling is a decision with what the protocol adds to it: all that a verdict says.
type ruling struct {
	intentID string
	decision *act.Decision
	// manifest is what the act may use. The zero value is written as it is: nothing.
	manifest act.Manifest
	// expires is when the verdict ends.
	expires time.Time
	// model and heuristic are the two scores of which the decision's is the
	// larger. A nil model was not asked, or did not answer.
	model     *float64
	heuristic float64
	// modified is the whole request as changed, when the effect is act.Modify.
	modified []byte
	// blockedBy is what denied it: one of the By constants.
	blockedBy string
	// used says that the act was reported.
	used bool
}

// word is the verdict in the protocol's words.
func (v *ruling) word() string {
	switch v.decision.Effect {
	case act.Allow:
		if len(v.decision.Conditions) > 0 {
			return Conditional
		}
		return Approved
	case act.Modify:
		return Conditional
	case act.Escalate:
		return Escalate
	}
	return Denied
}

// answer is what an intent is answered with: a verdict as the result, or a denial
// as the error.
func (v *ruling) answer() ([]byte, *jsonrpc.Error) {
	if v.word() == Denied {
		return nil, v.denied()
	}
	b, ok := v.appendVerdict(make([]byte, 0, 1<<10))
	if !ok {
		return nil, undecided(rawjson.Quote(v.intentID))
	}
	return b, nil
}

// appendVerdict appends a verdict that is no denial (G2A_VERDICT). ok is false
// when the arguments were changed and what became of them cannot be told: then
// nothing is allowed.
func (v *ruling) appendVerdict(b []byte) (verdict []byte, ok bool) {
	b = append(b, '{')
	b, ok = v.appendFields(b)
	return append(b, '}'), ok
}

// appendFields appends a verdict's members. DENIED has them only in a directive.
func (v *ruling) appendFields(b []byte) ([]byte, bool) {
	d, word := v.decision, v.word()
	b = append(b, `"verdict":"`...)
	b = append(b, word...)
	b = append(b, `","intent_id":`...)
	b = rawjson.AppendString(b, v.intentID)
	b = append(b, `,"risk_assessment":`...)
	b = v.appendRisk(b)
	if word == Denied {
		return v.appendDenial(b), true
	}
	b = append(b, `,"capability_manifest":`...)
	b = append(b, write(&v.manifest)...)
	b = append(b, `,"conditions":`...)
	b = rawjson.AppendStrings(b, v.allConditions())
	if d.Effect == act.Modify {
		arguments, ok := argumentsIn(v.modified)
		if !ok {
			return b, false
		}
		b = append(b, `,"modified_arguments":`...)
		b = append(b, arguments...)
	}
	b = append(b, `,"expires_at":`...)
	b = appendTime(b, v.expires)
	if d.Approval != nil && word == Escalate {
		b = append(b, `,"approval":{"id":`...)
		b = rawjson.AppendString(b, d.Approval.ID)
		b = append(b, `,"state":`...)
		b = rawjson.AppendString(b, d.Approval.State)
		b = append(b, `,"expires_at":`...)
		b = appendTime(b, d.Approval.Expires)
		b = append(b, '}')
	}
	b = append(b, `,"decision":`...)
	b = appendPosition(b, d.Position)
	if d.Repeat {
		b = append(b, `,"repeat":true`...)
	}
	if v.used {
		b = append(b, `,"used":true`...)
	}
	b = append(b, `,"reasons":`...)
	return appendReasons(b, d.Reasons), true
}

func (v *ruling) appendRisk(b []byte) []byte {
	b = append(b, `{"score":`...)
	b = wording.AppendScore(b, v.decision.Risk.Score)
	b = append(b, `,"level":`...)
	b = rawjson.AppendString(b, wording.Level(v.decision.Risk))
	b = append(b, `,"model_score":`...)
	if v.model == nil {
		b = append(b, "null"...)
	} else {
		b = wording.AppendScore(b, *v.model)
	}
	b = append(b, `,"heuristic_score":`...)
	b = wording.AppendScore(b, v.heuristic)
	b = append(b, `,"threats":`...)
	b = rawjson.AppendStrings(b, v.decision.Risk.Threats)
	return append(b, '}')
}

// allConditions are the rules' conditions, and one for each argument that was
// replaced.
func (v *ruling) allConditions() []string {
	list := slices.Clone(v.decision.Conditions)
	if v.decision.Effect != act.Modify {
		return list
	}
	const base = "/params/arguments/"
	said := 0
	for _, e := range v.decision.Edits {
		text := "The value at " + e.Pointer + " was replaced: leave it out."
		if name, ok := strings.CutPrefix(e.Pointer, base); ok {
			name, _, _ = strings.Cut(name, "/")
			name = rawjson.UnescapePointer(name)
			text = "The argument " + name + " was replaced: call the tool with modified_arguments."
		}
		if !slices.Contains(list, text) {
			list = append(list, text)
			said++
		}
	}
	if said == 0 {
		list = append(list, "Call the tool with modified_arguments.")
	}
	return list
}

// argumentsIn are the arguments of an intent, given as its whole request.
func argumentsIn(request []byte) (arguments []byte, ok bool) {
	doc, err := rawjson.Parse(request)
	if err != nil {
		return nil, false
	}
	v := doc.Root().Get("params").Get("arguments")
	return v.Raw(), v.Kind() == rawjson.Object
}

// denied is the error that a denied intent is answered with (Error Response).
func (v *ruling) denied() *jsonrpc.Error {
	message := wording.Message(v.decision)
	b := append([]byte(`{"intent_id":`), rawjson.Quote(v.intentID)...)
	b = append(b, `,"risk_score":`...)
	b = wording.AppendScore(b, v.decision.Risk.Score)
	b = append(b, `,"level":`...)
	b = rawjson.AppendString(b, wording.Level(v.decision.Risk))
	b = append(b, `,"verdict":"DENIED","reason":`...)
	b = rawjson.AppendString(b, message)
	b = append(b, `,"risk_assessment":`...)
	b = v.appendRisk(b)
	b = v.appendDenial(b)
	return &jsonrpc.Error{Code: PolicyViolation, Message: words[PolicyViolation] + ": " + message, Data: append(b, '}')}
}

// appendDenial appends what a denial says beside its risk: what denied it, why,
// and what the agent could do.
func (v *ruling) appendDenial(b []byte) []byte {
	d := v.decision
	b = append(b, `,"blocked_by":`...)
	b = rawjson.AppendString(b, blockedBy(v.blockedBy))
	b = append(b, `,"reasons":`...)
	b = appendReasons(b, d.Reasons)
	b = append(b, `,"instead":`...)
	b = rawjson.AppendStrings(b, wording.Each(d, wording.Instead))
	b = append(b, `,"decision":`...)
	return appendPosition(b, d.Position)
}

// blockedBy is one of the words that there are for it.
func blockedBy(word string) string {
	switch word {
	case ByRisk, ByCapability, ByIdentity, ByApproval, ByExpiry:
		return word
	}
	return ByPolicy
}

// appendReasons appends the rules that applied, without those that only watch.
func appendReasons(b []byte, reasons []act.Reason) []byte {
	b = append(b, '[')
	n := 0
	for i := range reasons {
		r := &reasons[i]
		if r.Observe {
			continue
		}
		if n++; n > 1 {
			b = append(b, ',')
		}
		b = append(b, `{"rule":`...)
		b = rawjson.AppendString(b, r.Rule)
		b = append(b, `,"code":`...)
		b = rawjson.AppendString(b, r.Code)
		b = append(b, `,"message":`...)
		b = rawjson.AppendString(b, r.Message)
		if r.Instead != "" {
			b = append(b, `,"instead":`...)
			b = rawjson.AppendString(b, r.Instead)
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

// appendTime appends a time as the SDKs read it: UTC, whole seconds, Z. What is
// left of a second is cut off, so that no verdict seems to hold longer than it does.
func appendTime(b []byte, t time.Time) []byte {
	return t.UTC().AppendFormat(b, `"2006-01-02T15:04:05Z"`)
}

func appendPosition(b []byte, p act.Position) []byte {
	b = append(b, '"')
	b = strconv.AppendUint(b, uint64(p.Log), 10)
	b = append(b, '-')
	b = strconv.AppendUint(b, p.Index, 10)
	return append(b, '"')
}

// notification is a JSON-RPC notification towards an agent. params is raw JSON.
func notification(method string, params []byte) []byte {
	b := append([]byte(`{"jsonrpc":"2.0","method":"`), method...)
	b = append(b, `","params":`...)
	b = append(b, params...)
	return append(b, '}')
}

// directive is the g2a/directive that tells what became of an escalated intent.
// ok is false where appendVerdict's is.
func (v *ruling) directive(agentDID string) (params []byte, ok bool) {
	b := append([]byte(`{"agent_did":`), rawjson.Quote(agentDID)...)
	b = append(b, ',')
	b, ok = v.appendFields(b)
	return append(b, '}'), ok
}

// write writes a message of ours that cannot fail to be written: strings,
// numbers, and JSON that was read before. Maps are written in order, so that the
// same message has the same bytes.
func write(v any) []byte {
	data, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic("a2g: " + err.Error())
	}
	return data
}

// params writes a revocation with its time in whole seconds.
func (r *Revoke) params() []byte {
	whole := *r
	whole.At = r.At.UTC().Truncate(time.Second)
	return write(&whole)
}
