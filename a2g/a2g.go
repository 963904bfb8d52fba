// Package a2g is everything of the Agent-to-Governance protocol: the types of
// its messages, their strict reading as acts, the answers in the protocol's form,
// signatures, the governing side (Server) and an agent's side (Client).
//
// An agent asks before each tool call, obeys, and reports:
//
//	governance := &a2g.Client{URL: "http://127.0.0.1:8080/a2g", AgentDID: "did:aeon:desk"}
//	verdict, err := governance.Ask(ctx, &a2g.Intent{Tool: "write_file", Arguments: a2g.Arguments(args)})
//	switch {
//	case err != nil || !verdict.Allows(time.Now()):
//		// It must not happen.
//	case verdict.ModifiedArguments != nil:
//		// It may happen with these arguments, and no others.
//	}
//
// docs/protocol/a2g.md says what is served, and what holds where the text leaves
// something open.
package a2g

import (
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/rawjson"
)

// The protocol's methods, of the agent and towards it.
const (
	MethodIntent    = "a2g/intent"
	MethodReport    = "a2g/report"
	MethodRegister  = "a2g/register"
	MethodHeartbeat = "a2g/heartbeat"

	MethodPolicy    = "g2a/policy"
	MethodDirective = "g2a/directive"
	MethodRevoke    = "g2a/revoke"
)

// words are the messages of the errors (Error Codes). That of a denial goes on
// with its reason: see appendDenied.
var words = map[int]string{
	jsonrpc.ParseError:     "Parse Error",
	jsonrpc.InvalidRequest: "Invalid Request",
	jsonrpc.MethodNotFound: "Method Not Found",
	jsonrpc.InvalidParams:  "Invalid Params",
	jsonrpc.InternalError:  "Internal error", // not in the text's table: JSON-RPC's own
	PolicyViolation:        "Policy violation",
	ExecutionError:         "Execution Error",
	RegistrationFailed:     "Registration Failed",
	CapabilityExhausted:    "Capability Exhausted",
	SessionExpired:         "Session Expired",
}

// unknownMethod is the -32601 for a method of the protocol's names that it has not.
func unknownMethod() *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.MethodNotFound, Message: words[jsonrpc.MethodNotFound], Data: jsonrpc.Reason(
		"A2G has no such method for an agent. It has a2g/intent, a2g/report, a2g/register and a2g/heartbeat.")}
}

// intentOf is the intent_id of a request's params as it was sent, as far as it can
// be read: every error about an intent carries it, or an SDK could not tell which
// intent it denies. It is nil when there is none.
func intentOf(params rawjson.Value) []byte {
	if v := params.Get("intent_id"); v.Kind() == rawjson.String && len(v.Raw()) <= 6*maxID+2 {
		return v.Raw()
	}
	return nil
}
