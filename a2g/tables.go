package a2g

import (
	"fmt"
	"math"

	"reeve.example/reeve/internal/agent"
	"reeve.example/reeve/internal/params"
	"reeve.example/reeve/internal/rawjson"
)

// The tables of the messages, field by field, in the order of the text. They are
// what params checks; nothing else says what valid params are, save the few rules
// in decode.go. Members that a table does not name are tolerated. An optional
// field may be null: the text itself writes one so.

// optional is a member that may be absent or null.
const optional = params.Optional | params.Nullable

// The protocol's own types of values.
var (
	did = &params.Type{
		Kinds: []rawjson.Kind{rawjson.String}, Is: fmt.Sprintf("a DID of at most %d bytes, such as did:aeon:desk", maxDID),
		Check: func(v rawjson.Value) string {
			if !agent.IsDID(v.Text()) {
				return "The string is no DID."
			}
			return ""
		},
	}
	number = &params.Type{
		Kinds: []rawjson.Kind{rawjson.Number}, Is: "a number that is not below zero",
		Check: func(v rawjson.Value) string {
			if x := v.Float(); math.IsNaN(x) || x < 0 {
				return "The number is below zero or out of range."
			}
			return ""
		},
	}
	timestamp = &params.Type{
		Kinds: []rawjson.Kind{rawjson.String, rawjson.Number}, Is: "milliseconds since 1970, as a string of digits",
	}
)

func init() { params.Prepare(&intentTable, &reportTable, &registerTable, &heartbeatTable) }

// The longest names and ids, in bytes, and the longest list. They are kept, and
// an agent must not choose how much.
const (
	maxDID   = 256
	maxID    = 256
	maxKey   = 256
	maxNonce = 128
	maxList  = 1000

	maxMetadata = 16 << 10
)

var statuses = []string{Success, Failure, Timeout, Aborted}

// signatureTable is what the SDKs add to a context.
var signatureTable = params.Table{Fields: []params.Field{
	{Name: "timestamp", Type: timestamp},
	{Name: "nonce", Flags: params.Filled, Max: maxNonce},
	{Name: "hash", Flags: params.Filled, Max: maxKey},
}}

// A2G_INTENT

var intentTable = params.Table{Fields: []params.Field{
	{Name: "agent_did", Type: did, Flags: params.Filled, Max: maxDID},
	{Name: "intent_id", Flags: params.Filled, Max: maxID}, // a UUID in the text; some agents have other ids
	{Name: "tool", Flags: params.Filled},
	{Name: "arguments", Type: params.Record},
	{Name: "context", Flags: optional, Table: &params.Table{Fields: []params.Field{
		{Name: "session_id", Flags: optional, Max: maxID},
		{Name: "parent_intent", Flags: optional, Max: maxID},
		{Name: "reasoning", Flags: optional},
		{Name: "signature", Flags: optional, Table: &signatureTable},
	}}},
}}

// A2G_REPORT

var reportTable = params.Table{Fields: []params.Field{
	{Name: "agent_did", Type: did, Flags: params.Filled, Max: maxDID},
	{Name: "intent_id", Flags: params.Filled, Max: maxID},
	{Name: "status", Words: statuses},
	{Name: "result", Type: params.Anything, Flags: optional},
	{Name: "metrics", Flags: optional, Table: &params.Table{Fields: []params.Field{
		{Name: "duration_ms", Type: number, Flags: optional},
		{Name: "memory_used_mb", Type: number, Flags: optional},
		{Name: "cpu_percent", Type: number, Flags: optional},
	}}},
	{Name: "error", Type: params.Anything, Flags: optional}, // a string from the SDKs
	{Name: "tool", Flags: optional | params.Filled},
	{Name: "arguments", Type: params.Record, Flags: optional},
	{Name: "digest", Flags: optional | params.Filled},
	signedContext,
}}

// signedContext is the context of messages that need none, for a signature.
var signedContext = params.Field{Name: "context", Flags: optional, Table: &params.Table{Fields: []params.Field{
	{Name: "signature", Flags: optional, Table: &signatureTable},
}}}

// A2G_REGISTER

var registerTable = params.Table{Fields: []params.Field{
	{Name: "agent_did", Type: did, Flags: params.Filled, Max: maxDID},
	{Name: "public_key", Flags: optional, Max: maxKey}, // empty from the Python SDK
	{Name: "capabilities_requested", Flags: optional | params.List | params.Filled, Max: maxID, Most: maxList},
	{Name: "metadata", Type: params.Record, Flags: optional},
	signedContext,
}}

// The heartbeat has no form in the text.

var heartbeatTable = params.Table{Fields: []params.Field{
	{Name: "agent_did", Type: did, Flags: params.Filled, Max: maxDID},
	{Name: "status", Flags: optional, Max: maxID},
	signedContext,
}}
