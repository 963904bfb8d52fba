package acs

import (
	"time"
	"unicode/utf8"

	"reeve.example/reeve/internal/params"
	"reeve.example/reeve/internal/rawjson"
)

// The tables of the standard, field by field. Members that they do not name are
// tolerated and read.

var (
	uuid = &params.Type{
		Kinds: []rawjson.Kind{rawjson.String}, Is: "a UUID, such as 6b1f2c9e-4d7a-4e3b-8a51-9c0d2e7f1a36",
		Check: func(v rawjson.Value) string {
			if !isUUID(v.Text()) {
				return "The string is no UUID."
			}
			return ""
		},
	}
	timestamp = &params.Type{
		Kinds: []rawjson.Kind{rawjson.String}, Is: "a time as RFC 3339 has it, such as 2026-11-22T08:15:00Z",
		Check: func(v rawjson.Value) string {
			if _, err := time.Parse(time.RFC3339, v.Text()); err != nil {
				return "The string is no such time."
			}
			return ""
		},
	}
	nonce = &params.Type{
		Kinds: []rawjson.Kind{rawjson.String}, Is: "a string of 16 to 64 characters",
		Check: func(v rawjson.Value) string {
			if n := utf8.RuneCountInString(v.Text()); n < 16 || n > 64 {
				return "The string is shorter or longer."
			}
			return ""
		},
	}
)

func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		c := s[i] | 0x20
		switch dash := i == 8 || i == 13 || i == 18 || i == 23; {
		case dash && s[i] != '-', !dash && (c < '0' || c > '9' && c < 'a' || c > 'f'):
			return false
		}
	}
	return true
}

func optional(name string) params.Field { return params.Field{Name: name, Flags: params.Optional} }

func oneOf(name string, flags params.Flags, list ...string) params.Field {
	return params.Field{Name: name, Flags: flags, Words: list}
}

func filled(name string) params.Field {
	return params.Field{Name: name, Flags: params.Filled, Max: 4096}
}

// envelope is the params of every method.
var envelope = params.Table{Name: "params", Exact: true, Fields: []params.Field{
	filled("acs_version"),
	{Name: "request_id", Type: uuid},
	{Name: "timestamp", Type: timestamp},
	{Name: "nonce", Type: nonce, Flags: params.Optional},
	{Name: "tenant_id", Flags: params.Optional, Max: 1024},
	{Name: "metadata", Table: &params.Table{Name: "metadata", Fields: []params.Field{
		{Name: "agent_id", Flags: params.Filled, Max: 1024},
		{Name: "session_id", Type: uuid},
		{Name: "agent_name", Flags: params.Optional, Max: 1024},
		{Name: "turn_id", Flags: params.Optional, Max: 1024},
		{Name: "parent_turn_id", Flags: params.Optional, Max: 1024},
		oneOf("environment", params.Optional, "development", "staging", "production"),
		optional("platform"), optional("platform_version"),
		{Name: "session_state", Flags: params.Optional, Table: &params.Table{Name: "session_state", Fields: []params.Field{optional("chain_hash")}}},
		{Name: "user_context", Flags: params.Optional, Table: &params.Table{Name: "user_context", Fields: []params.Field{
			{Name: "user_id", Flags: params.Optional, Max: 1024},
			{Name: "roles", Flags: params.Optional | params.List},
			optional("authentication_method"),
		}}},
	}}},
	{Name: "payload", Type: params.Record},
	{Name: "signature", Type: params.Anything, Flags: params.Optional}, // which is looked at by itself
}}

// helloTable is the payload of handshake/hello.
var helloTable = params.Table{Name: "ClientHello", Exact: true, Fields: []params.Field{
	{Name: "acs_versions_supported", Flags: params.List | params.Some, Most: 64},
	{Name: "methods_implemented", Flags: params.List, Max: 256, Most: 256},
	{Name: "transports_supported", Flags: params.List | params.Some, Most: 16},
	oneOf("provenance_producer", 0, "deterministic", "none"),
	{Name: "profiles_supported", Flags: params.Optional | params.List, Max: 256, Most: 64},
	{Name: "wrapped_protocols", Type: params.Anything, Flags: params.Optional}, // as the methods say it once more
	{Name: "max_payload_size_bytes", Type: params.Integer, Flags: params.Optional},
}}

var (
	value = params.Field{Name: "value", Type: params.Anything}
	// from is where a value came from: what is none is nobody's word.
	from  = params.Field{Name: "provenance", Type: params.Anything, Flags: params.Optional}
	parts = params.Field{Name: "content", Flags: params.List | params.Some, Table: &params.Table{Name: "ContentPart", Fields: []params.Field{
		oneOf("type", 0, "text", "image", "audio", "file"), value, from,
	}}}
	results = params.Field{Name: "results", Flags: params.List, Table: &params.Table{Name: "result", Fields: []params.Field{value, {Name: "source_id", Type: params.Anything, Flags: params.Optional}, from}}}
	tool    = params.Field{Name: "tool", Table: &params.Table{Name: "tool", Fields: []params.Field{filled("name"), optional("version"), optional("provider")}}}
	pairs   = func(name string) params.Field { return params.Field{Name: name, Type: params.Record} }
	texts   = func(name string) params.Field { return params.Field{Name: name, Flags: params.List} }
)

// argumentTable is each of a call's arguments.
var argumentTable = params.Table{Name: "argument", Exact: true, Fields: []params.Field{value, from}}

// steps are the methods of steps/, each with what its payload must have.
var steps = map[string]*params.Table{
	"sessionStart":           {Name: "sessionStart"},
	"agentTrigger":           {Name: "agentTrigger", Fields: []params.Field{oneOf("trigger_type", 0, "user_message", "scheduled", "external_event", "a2a_inbound", "system")}},
	"turnStart":              {Name: "turnStart"},
	"userMessage":            {Name: "userMessage", Fields: []params.Field{parts}},
	"agentResponse":          {Name: "agentResponse", Fields: []params.Field{parts, optional("reasoning")}},
	"knowledgeRetrieval":     {Name: "knowledgeRetrieval", Fields: []params.Field{{Name: "query", Table: &params.Table{Name: "query", Fields: []params.Field{value}}}, results}},
	"memoryContextRetrieval": {Name: "memoryContextRetrieval", Fields: []params.Field{results}},
	"memoryStore":            {Name: "memoryStore", Fields: []params.Field{{Name: "content", Table: &params.Table{Name: "content", Fields: []params.Field{value, from}}}}},
	"toolCallRequest":        {Name: "toolCallRequest", Fields: []params.Field{tool, pairs("arguments"), optional("raw_command")}},
	"toolCallResult": {Name: "toolCallResult", Fields: []params.Field{
		tool, oneOf("exit_status", 0, "success", "failure", "timeout", "blocked"),
		{Name: "outputs", Flags: params.List, Table: &params.Table{Name: "output", Fields: []params.Field{value, from}}},
		optional("request_id_ref"),
	}},
	"preCompact":    {Name: "preCompact", Fields: []params.Field{texts("entries_to_compact"), filled("triggered_by")}},
	"postCompact":   {Name: "postCompact", Fields: []params.Field{{Name: "summary", Table: &params.Table{Name: "summary", Fields: []params.Field{value}}}, texts("entries_compacted"), filled("pre_compact_chain_hash"), filled("post_compact_chain_hash")}},
	"subagentStart": {Name: "subagentStart", Fields: []params.Field{filled("subagent_session_id")}},
	"subagentStop":  {Name: "subagentStop", Fields: []params.Field{filled("subagent_session_id"), oneOf("outcome", 0, "completed", "failed", "cancelled", "timeout", "denied_at_spawn")}},
	"skillRegister": {Name: "skillRegister", Fields: []params.Field{filled("skill_id"), {Name: "definition", Table: &params.Table{Name: "definition", Fields: []params.Field{
		filled("ref"), digest,
	}}}, {Name: "declared_capabilities", Type: params.Anything}}},
	"skillLoad":   {Name: "skillLoad", Fields: []params.Field{filled("skill_id"), digest, filled("load_trigger"), {Name: "load_path", Type: params.Anything}}},
	"skillUnload": {Name: "skillUnload", Fields: []params.Field{filled("skill_id")}},
	"turnEnd":     {Name: "turnEnd", Fields: []params.Field{filled("turn_id"), oneOf("outcome", 0, "completed", "deferred", "error", "interrupted", "denied_at_start")}},
	"sessionEnd":  {Name: "sessionEnd", Fields: []params.Field{filled("reason")}}, // in any word: agents have their own
}

var digest = params.Field{Name: "digest", Table: &params.Table{Name: "digest", Fields: []params.Field{filled("algorithm"), filled("value")}}}

// boms are the methods of agbom/.
var boms = []string{"agbom/snapshot", "agbom/changed"}

// told are the methods that nobody can deny: they tell of what is so already.
var told = map[string]bool{
	"steps/turnEnd": true, "steps/sessionEnd": true, "steps/subagentStop": true, "steps/skillUnload": true, "steps/postCompact": true,
}

// unchanged are the methods whose answer can change nothing.
var unchanged = map[string]bool{
	"steps/sessionStart": true, "steps/turnStart": true, "steps/subagentStart": true, "steps/skillRegister": true, "steps/skillLoad": true,
	"agbom/snapshot": true, "agbom/changed": true,
}

func init() {
	params.Prepare(&envelope, &helloTable, &argumentTable)
	for _, t := range steps {
		t.Exact = true
		params.Prepare(t)
	}
}
