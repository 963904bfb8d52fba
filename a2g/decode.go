package a2g

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/content"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/params"
	"reeve.example/reeve/internal/rawjson"

	"github.com/go-json-experiment/json"
)

// decodeIntent reads an intent and the act that it asks about: everything but its
// Principal and At. The error is -32602.
func decodeIntent(r *jsonrpc.Request) (*act.Action, *Intent, *jsonrpc.Error) {
	a, in, err := readIntent(r)
	if err != nil {
		return nil, nil, invalid(err, r.Params)
	}
	return a, in, nil
}

// decodeReport reads a report, and the result that it brings as an act. When the
// report says what was done, its Digest is that of the act, whichever way it says
// so. The error is -32602.
func decodeReport(r *jsonrpc.Request) (*act.Action, *Report, *jsonrpc.Error) {
	a, report, err := readReport(r)
	if err != nil {
		return nil, nil, invalid(err, r.Params)
	}
	return a, report, nil
}

// decodeRegister reads a registration, which is an act, too. The error is -32602.
func decodeRegister(r *jsonrpc.Request) (*act.Action, *Register, *jsonrpc.Error) {
	a, register, err := readRegister(r)
	if err != nil {
		return nil, nil, invalid(err, r.Params)
	}
	return a, register, nil
}

// decodeHeartbeat reads a heartbeat. The error is -32602.
func decodeHeartbeat(r *jsonrpc.Request) (*Heartbeat, *jsonrpc.Error) {
	if err := checkParams(r, &heartbeatTable); err != nil {
		return nil, invalid(err, r.Params)
	}
	return &Heartbeat{AgentDID: r.Params.Get("agent_did").Text(), Status: r.Params.Get("status").Text()}, nil
}

// ActionOf returns the act of a single request, an intent, a report or a
// registration, given as its JSON. The error is a sentence that says what is
// wrong with the request.
func ActionOf(body []byte) (*act.Action, error) {
	r, err := jsonrpc.RequestOf(body)
	if err != nil {
		return nil, err
	}
	var a *act.Action
	var fault *params.Fault
	switch r.Method {
	case MethodIntent:
		a, _, fault = readIntent(r)
	case MethodReport:
		a, _, fault = readReport(r)
	case MethodRegister:
		a, _, fault = readRegister(r)
	default:
		return nil, fmt.Errorf("the method %.80q is none that A2G asks for a decision with", r.Method)
	}
	if fault != nil {
		return nil, fault
	}
	return a, nil
}

// checkParams checks that a request has params as a table says.
func checkParams(r *jsonrpc.Request, t *params.Table) *params.Fault {
	if err := params.Object(r.Params); err != nil {
		return err
	}
	return t.Check(r.Params, r.Message)
}

// decoder makes one act of one request.
type decoder struct {
	r     *jsonrpc.Request
	p     rawjson.Value // the params
	a     *act.Action
	texts content.Set
}

func newDecoder(r *jsonrpc.Request, kind act.Kind) *decoder {
	d := &decoder{r: r, p: r.Params, a: &act.Action{Door: "a2g", Method: r.Method, Kind: kind, Body: r.Body}}
	d.a.Agent.ID = r.Params.Get("agent_did").Text()
	d.texts.Leaves = make([]act.Leaf, 0, 8)
	return d
}

// complete completes an act that does what does says.
func (d *decoder) complete(does []byte) *params.Fault {
	d.texts.Complete(d.a, does)
	if d.texts.Full {
		return params.Wrong("/params", "It holds more pieces of text than can be judged at once.", fmt.Sprintf("at most %d strings", content.MaxLeaves))
	}
	return nil
}

func readIntent(r *jsonrpc.Request) (*act.Action, *Intent, *params.Fault) {
	if err := checkParams(r, &intentTable); err != nil {
		return nil, nil, err
	}
	d := newDecoder(r, act.ToolCall)
	in := &Intent{
		AgentDID: d.a.Agent.ID, IntentID: d.p.Get("intent_id").Text(),
		Tool: d.p.Get("tool").Text(), Arguments: Raw(d.p.Get("arguments").Raw()), Context: d.context(),
	}
	d.a.ID, d.a.Resource = in.IntentID, in.Tool
	if in.Context != nil {
		d.a.Session, d.a.Reasoning = in.Context.SessionID, in.Context.Reasoning
	}
	if d.a.Session != "" { // else it is judged outside any: agents of one credential share none
		d.a.Step = in.IntentID
	}
	d.texts.AddFixed(d.p.Get("tool"), act.Leaf{Pointer: "/params/tool"})
	if err := d.arguments(d.p.Get("arguments"), "/params/arguments"); err != nil {
		return nil, nil, err
	}
	known := []string{"agent_did", "intent_id", "tool", "arguments", "context"}
	more := d.others(d.p, act.Leaf{Pointer: "/params"}, known...)

	var buf [1024]byte
	b := content.AppendArguments(buf[:0], d.p.Get("arguments"))
	if more {
		b = append(b, `,"params":`...)
		b = content.AppendWithout(b, d.p, known...)
	}
	return d.a, in, d.complete(b)
}

// callDigest is the digest of the call of a tool with these arguments, an object,
// and that in the form before.
func callDigest(tool string, arguments rawjson.Value) (digest, earlier string) {
	now, before := content.CallDigest(tool, arguments)
	return now.String(), before.String()
}

// context reads the context of an intent. It is no part of the act; what the text
// does not know in it is read all the same, for somebody after reeve may.
func (d *decoder) context() *IntentContext {
	c := d.p.Get("context")
	if c.Kind() != rawjson.Object {
		return nil
	}
	d.others(c, act.Leaf{Pointer: "/params/context"}, "session_id", "parent_intent", "reasoning", "signature")
	ic := &IntentContext{
		SessionID: c.Get("session_id").Text(), ParentIntent: c.Get("parent_intent").Text(), Reasoning: c.Get("reasoning").Text(),
	}
	if s := c.Get("signature"); s.Kind() == rawjson.Object {
		ic.Signature = &Signature{Timestamp: digitsOf(s.Get("timestamp")), Nonce: s.Get("nonce").Text(), Hash: s.Get("hash").Text()}
	}
	return ic
}

// arguments reads the arguments of a call.
func (d *decoder) arguments(v rawjson.Value, base string) *params.Fault {
	d.a.Arguments = d.texts.AddArguments(v, base)
	if arg, _ := content.Twice(d.a.Arguments); arg != nil {
		return params.Wrong(arg.Pointer, "Two arguments have names that look the same, and which of them counts cannot be known.", "each argument once")
	}
	return nil
}

func readReport(r *jsonrpc.Request) (*act.Action, *Report, *params.Fault) {
	if err := checkParams(r, &reportTable); err != nil {
		return nil, nil, err
	}
	d := newDecoder(r, act.ToolResult)
	result, failure, metrics := d.p.Get("result"), d.p.Get("error"), d.p.Get("metrics")
	report := &Report{
		AgentDID: d.a.Agent.ID, IntentID: d.p.Get("intent_id").Text(), Status: d.p.Get("status").Text(),
		Result: present(result), Error: failure.Text(), Tool: d.p.Get("tool").Text(), Arguments: present(d.p.Get("arguments")),
	}
	if metrics.Kind() == rawjson.Object {
		report.Metrics = &Metrics{MemoryUsedMB: measured(metrics.Get("memory_used_mb")), CPUPercent: measured(metrics.Get("cpu_percent"))}
		if duration := measured(metrics.Get("duration_ms")); duration != nil {
			report.Metrics.DurationMS = *duration
		}
		d.others(metrics, act.Leaf{Pointer: "/params/metrics"}, "duration_ms", "memory_used_mb", "cpu_percent")
	}
	if err := d.claim(report); err != nil {
		return nil, nil, err
	}
	d.a.Answers, d.a.Resource = report.IntentID, report.Tool
	d.a.Failed = report.Status != Success
	d.texts.AddFixed(d.p.Get("tool"), act.Leaf{Pointer: "/params/tool"})
	d.texts.AddAll(result, act.Leaf{Pointer: "/params/result"}, nil)
	d.texts.AddAll(failure, act.Leaf{Pointer: "/params/error"}, nil)
	if arguments := d.p.Get("arguments"); arguments.Kind() == rawjson.Object {
		d.texts.AddAll(arguments, act.Leaf{Pointer: "/params/arguments"}, nil)
	}
	known := []string{"agent_did", "intent_id", "status", "result", "metrics", "error", "tool", "arguments", "digest", "context"}
	more := d.others(d.p, act.Leaf{Pointer: "/params"}, known...)
	if c := d.p.Get("context"); c.Kind() == rawjson.Object {
		d.others(c, act.Leaf{Pointer: "/params/context"}, "signature")
	}

	var buf [1024]byte
	b := append(buf[:0], `"content":{"error":`...)
	b = content.AppendWithout(b, failure)
	b = append(b, `,"result":`...)
	b = content.AppendWithout(b, result)
	b = append(b, `,"status":`...)
	b = rawjson.AppendString(b, report.Status)
	b = append(b, '}')
	if report.Digest != "" {
		b = append(b, `,"of":`...)
		b = rawjson.AppendString(b, report.Digest)
	}
	if more {
		b = append(b, `,"params":`...)
		b = content.AppendWithout(b, d.p, known...)
	}
	return d.a, report, d.complete(b)
}

// claim reads what a report says was done.
func (d *decoder) claim(report *Report) *params.Fault {
	digest := d.p.Get("digest")
	if digest.Kind() == rawjson.String {
		report.Digest = digest.Text()
		if h, ok := strings.CutPrefix(report.Digest, "sha256:"); !ok || len(h) != 2*sha256.Size || strings.ToLower(h) != h {
			return params.Wrong("/params/digest", "The string is no digest.", "sha256: and 64 hex digits in lower case")
		} else if _, err := hex.DecodeString(h); err != nil {
			return params.Wrong("/params/digest", "The string is no digest.", "sha256: and 64 hex digits in lower case")
		}
	}
	arguments := d.p.Get("arguments")
	if arguments.Kind() != rawjson.Object {
		return nil
	}
	if report.Tool == "" {
		return params.Wrong("/params/tool", "The report has arguments, and does not say of which tool.", "the tool that was called")
	}
	done, earlier := callDigest(report.Tool, arguments)
	if report.Digest != "" && report.Digest != done && report.Digest != earlier {
		return params.Wrong("/params/digest", "The digest is not that of the tool and the arguments in the report, and which of them counts cannot be known.", done)
	}
	report.Digest = done
	return nil
}

func readRegister(r *jsonrpc.Request) (*act.Action, *Register, *params.Fault) {
	if err := checkParams(r, &registerTable); err != nil {
		return nil, nil, err
	}
	d := newDecoder(r, act.AgentRegister)
	register := &Register{AgentDID: d.a.Agent.ID, PublicKey: d.p.Get("public_key").Text()}
	for i, tool := range d.p.Get("capabilities_requested").Elems() {
		register.CapabilitiesRequested = append(register.CapabilitiesRequested, tool.Text())
		d.texts.AddFixed(tool, act.Leaf{Pointer: content.Index("/params/capabilities_requested", i)})
	}
	metadata := d.p.Get("metadata")
	if n := len(metadata.Raw()); n > maxMetadata {
		return nil, nil, params.Wrong("/params/metadata", fmt.Sprintf("The value has %d bytes.", n), fmt.Sprintf("at most %d bytes", maxMetadata))
	}
	if metadata.Kind() == rawjson.Object {
		if err := json.Unmarshal(metadata.Raw(), &register.Metadata); err != nil {
			return nil, nil, params.Wrong("/params/metadata", "The value cannot be read.", "an object")
		}
		d.a.Agent.Name, d.a.Agent.Version = metadata.Get("name").Text(), metadata.Get("version").Text()
		d.texts.AddAll(metadata, act.Leaf{Pointer: "/params/metadata"}, nil)
	}
	d.a.Resource = register.AgentDID
	for _, name := range [...]string{"public_key", "capabilities_requested", "metadata"} {
		if v := d.p.Get(name); v.Exists() {
			d.a.Arguments = append(d.a.Arguments, act.Argument{Name: name, Value: v.Raw(), Pointer: "/params/" + name})
		}
	}
	d.others(d.p, act.Leaf{Pointer: "/params"}, "agent_did", "public_key", "capabilities_requested", "metadata", "context")

	var buf [1024]byte
	b := content.AppendWithout(append(buf[:0], `"content":`...), d.p, "agent_did", "context")
	return d.a, register, d.complete(b)
}

// present is the bytes of a value that is there and not null.
func present(v rawjson.Value) Raw {
	if v.Kind() == rawjson.Null {
		return nil
	}
	return Raw(v.Raw())
}

// measured is a number, nil where there is none.
func measured(v rawjson.Value) *float64 {
	if v.Kind() != rawjson.Number {
		return nil
	}
	x := v.Float()
	return &x
}

// others reads the members of an object beside the known ones: see content.Set.
func (d *decoder) others(object rawjson.Value, leaf act.Leaf, known ...string) bool {
	return d.texts.AddOthers(object, leaf, known...)
}
