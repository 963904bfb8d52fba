// Package aos is everything of the Agent Observability Standard 0.1.0: the
// guardian's side (the check of a request against the specification's tables,
// its reading as an act.Action, the answer in the specification's form) and an
// agent's side, a Client.
//
// An agent asks before each step and obeys:
//
//	guardian := &aos.Client{URL: "http://127.0.0.1:8080/"}
//	result, err := guardian.ToolCallRequest(ctx, &aos.ToolCallRequestParams{
//		Context:         step,
//		ToolCallRequest: call,
//	})
//	switch {
//	case err != nil || result.Decision == aos.Deny:
//		// It must not happen.
//	case result.Decision == aos.Modify:
//		// It may happen with the inputs of the modified request.
//	}
//
// docs/protocol/aos.md says what is served, and what holds where the text of
// the specification and its upstream disagree.
package aos

import (
	"context"
	"slices"
	"strings"
	"time"

	a2a "reeve.example/reeve/a2a/message"
	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/rawjson"
)

// SessionHeader is the HTTP header that names the session of a message which has
// no context of its own. Without either it is judged outside any session.
const SessionHeader = "Reeve-Session"

// words are the messages of the errors of section 6.1.
var words = map[int]string{
	-32700: "Invalid JSON payload",
	-32600: "Invalid JSON-RPC Request",
	-32601: "Method not found",
	-32602: "Invalid method parameters",
	-32603: "Internal server error",
}

// Namespace serves the methods of AOS: steps/*, protocols/* and ping.
//
// decide judges an act and makes the decision durable before it returns;
// modified is the whole request as changed when the effect is act.Modify.
// status says whether the guardian can record, version which reeve it is.
func Namespace(
	decide func(ctx context.Context, a *act.Action) (d act.Decision, modified []byte, err error),
	status func() error,
	version string,
	now func() time.Time,
) jsonrpc.Namespace {
	return jsonrpc.Namespace{
		Paths: []string{"/aos"}, Posted: true,
		Match: func(method string) bool {
			return method == "ping" || strings.HasPrefix(method, "steps/") || strings.HasPrefix(method, "protocols/")
		},
		Handle: func(ctx context.Context, r *jsonrpc.Request) ([]byte, *jsonrpc.Error) {
			if r.Method == "ping" {
				return ping(r, status, version, now)
			}
			a, fail := Decode(r)
			if fail != nil {
				return nil, fail
			}
			if a.Session == "" {
				a.Session = r.Header.Get(SessionHeader)
			}
			if r.ID == nil {
				a.Faults = append(a.Faults, "an answer was not wanted: the request has no id")
			}
			d, modified, err := decide(ctx, a)
			if err != nil || d.Effect == act.Modify && modified == nil {
				return nil, internalError()
			}
			if modified, err = labelled(a, &d, modified); err != nil {
				return nil, internalError()
			}
			return appendResult(make([]byte, 0, 768+len(modified)), &d, modified), nil
		},
		Words:      words,
		IntegerIDs: true,
	}
}

// labelled has a message to another agent that may go out say in its metadata what was read
// before it, as a2a does of what tasks send: the other agent's guardian takes it from there. It is
// the request as it was changed already, or sent, with the labels that it has not.
func labelled(a *act.Action, d *act.Decision, modified []byte) ([]byte, error) {
	allowed := d.Effect == act.Allow || d.Effect == act.Modify
	missing := slices.ContainsFunc(d.Labels, func(l string) bool { return !slices.Contains(a.Labels, l) })
	if a.Kind != act.A2ASend || !allowed || !missing {
		return modified, nil
	}
	body := a.Body
	if d.Effect == act.Modify {
		body = modified
	}
	doc, err := rawjson.Parse(body)
	if err != nil {
		return nil, err
	}
	params := doc.Root().Get("params")
	v := params.Get("message")
	if params.Get("jsonrpc").Exists() {
		v = params
	}
	change, ok := a2a.Label(v, d.Labels)
	if !ok {
		return modified, nil
	}
	d.Effect = act.Modify
	d.Reasons = append([]act.Reason{{
		Rule: "labels", Code: "flow.labels", Effect: act.Modify,
		Message: "The message goes out with the labels of what was read before it: " + strings.Join(d.Labels, ", ") + ".",
	}}, d.Reasons...)
	return doc.Splice([]rawjson.Replacement{change})
}

// ping answers whether the guardian is alive (4.9) and able to record.
func ping(r *jsonrpc.Request, status func() error, version string, now func() time.Time) ([]byte, *jsonrpc.Error) {
	if err := paramsOf(r); err != nil {
		return nil, invalid(err)
	}
	if err := pingTable.Check(r.Params, r.Message); err != nil {
		return nil, invalid(err)
	}
	word := "connected"
	if status() != nil {
		word = "error"
	}
	b := append([]byte(`{"status":"`), word...)
	b = append(b, `","version":`...)
	b = rawjson.AppendString(b, version)
	b = append(b, `,"timestamp":"`...)
	b = now().UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z")
	return append(b, '"', '}'), nil
}
