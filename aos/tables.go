package aos

import (
	"bytes"

	"reeve.example/reeve/internal/params"
	"reeve.example/reeve/internal/rawjson"
)

// The tables of the specification, field by field, in its order. They are what
// params checks; nothing else says what a valid request is, save the few rules
// about whole params in decode.go. Where the text and its upstream disagree,
// the comment says what holds here; the reasons are in docs/protocol/aos.md.

// The protocol's own types of values.
var (
	timestamp = &params.Type{
		Kinds: []rawjson.Kind{rawjson.String}, Is: "a date and time in ISO 8601, such as 2026-04-02T08:15:00Z",
		Check: func(v rawjson.Value) string {
			_, _, reason := parseTime(v.Text())
			return reason
		},
	}
	base64Text = &params.Type{
		Kinds: []rawjson.Kind{rawjson.String}, Is: "a string in Base64 (RFC 4648, section 4, with padding)",
		Check: func(v rawjson.Value) string {
			if !isBase64(v) {
				return "The string is not Base64."
			}
			return ""
		},
	}
)

func init() {
	params.Prepare(&agentTriggerTable, &knowledgeTable, &memoryTable, &messageParamsTable, &toolCallTable,
		&resultParamsTable, &resultNestedTable, &protocolTable, &protocolRawTable, &pingTable)
}

// 3.1 Agent, and what belongs to it

var agentTable = params.Table{Name: "Agent", Fields: []params.Field{
	{Name: "name"},
	{Name: "id"},
	{Name: "description", Flags: params.Optional},
	{Name: "instructions"},
	{Name: "version"},
	{Name: "provider", Table: &params.Table{Name: "AgentProvider", Fields: []params.Field{
		{Name: "name"},
		{Name: "url"},
		{Name: "metadata", Type: params.Record, Flags: params.Optional},
	}}},
	{Name: "model", Flags: params.Optional, Table: &modelTable},
	{Name: "tools", Flags: params.Optional | params.List, Table: &toolTable},
	{Name: "mcpServers", Flags: params.Optional | params.List, Table: &params.Table{Name: "MCPServer", Fields: []params.Field{
		{Name: "name"},
		{Name: "version"},
	}}},
	{Name: "resources", Flags: params.Optional | params.List, Table: &params.Table{Name: "Resource", Fields: []params.Field{
		{Name: "name"},
		{Name: "id"},
		{Name: "description", Flags: params.Optional},
		{Name: "content"},
		{Name: "mimeType", Flags: params.Optional},
		{Name: "metadata", Type: params.Record, Flags: params.Optional},
	}}},
	{Name: "organization", Flags: params.Optional, Table: &organizationTable},
	{Name: "metadata", Type: params.Record, Flags: params.Optional},
}}

var modelTable = params.Table{Name: "Model", Fields: []params.Field{
	{Name: "name"},
	{Name: "id"},
	{Name: "provider", Table: &params.Table{Name: "LlmProvider", Fields: []params.Field{
		{Name: "name"},
		{Name: "metadata", Type: params.Record, Flags: params.Optional},
	}}},
	{Name: "maxTokens", Type: params.Integer, Flags: params.Optional},
	{Name: "contextWindow", Type: params.Integer, Flags: params.Optional},
	{Name: "stopSequences", Flags: params.Optional | params.List},
	{Name: "defaultParams", Type: params.Record, Flags: params.Optional},
	{Name: "metadata", Type: params.Record, Flags: params.Optional},
}}

// 3.2 ToolDefinition

var valueTypes = []string{"string", "number", "boolean", "object", "array", "null"}

var toolTable = params.Table{Name: "ToolDefinition", Fields: []params.Field{
	{Name: "name"},
	{Name: "id"},
	{Name: "description", Flags: params.Optional},
	{Name: "type"},
	{Name: "arguments", Flags: params.List | params.Nullable, Table: &params.Table{Name: "ToolArgumentDefinition", Fields: []params.Field{
		{Name: "name"},
		{Name: "id", Flags: params.Optional},
		{Name: "description", Flags: params.Optional},
		{Name: "type", Flags: params.Optional, Words: valueTypes},
		{Name: "mimeType", Flags: params.Optional | params.Nullable},
		{Name: "required", Type: params.Boolean},
	}}},
	{Name: "outputs", Flags: params.List | params.Nullable, Table: &params.Table{Name: "ToolOutputDefinition", Fields: []params.Field{
		{Name: "name"},
		{Name: "id", Flags: params.Optional},
		{Name: "description", Flags: params.Optional},
		{Name: "type", Flags: params.Optional, Words: valueTypes},
		{Name: "mimeType", Flags: params.Optional | params.Nullable},
	}}},
	{Name: "metadata", Type: params.Record, Flags: params.Optional},
}}

// 3.3 Message, 3.4 Part, 3.5 files

var messageTable = params.Table{Name: "Message", Fields: []params.Field{
	{Name: "id", Flags: params.Filled},
	{Name: "role", Words: []string{RoleUser, RoleAgent, RoleSystem}},
	{Name: "content", Flags: params.List | params.Some, Table: &partTable},
	{Name: "metadata", Type: params.Record, Flags: params.Optional},
}}

var partTable = params.Table{Name: "Part", Tag: "kind", Variants: []params.Variant{
	{Word: "text", Table: &textPartFields},
	{Word: "file", Table: &params.Table{Name: "FilePart", Fields: []params.Field{
		{Name: "file", Table: &fileTable},
		{Name: "metadata", Type: params.Record, Flags: params.Optional},
	}}},
	{Word: "data", Table: &params.Table{Name: "DataPart", Fields: []params.Field{
		{Name: "data", Type: params.Structure}, // the text says both a record and "an object or an array"
		{Name: "metadata", Type: params.Record, Flags: params.Optional},
	}}},
}}

var textPartFields = params.Table{Name: "TextPart", Fields: []params.Field{
	{Name: "text"},
	{Name: "metadata", Type: params.Record, Flags: params.Optional},
}}

// textPartTable is a Part that can only be text.
var textPartTable = params.Table{Name: "TextPart", Tag: "kind", Variants: []params.Variant{{Word: "text", Table: &textPartFields}}}

// fileTable is FileWithBytes or FileWithUri.
var fileTable = params.Table{Name: "FileWithBytes or FileWithUri", Fields: []params.Field{
	{Name: "name", Flags: params.Optional},
	{Name: "mimeType", Flags: params.Optional},
	{Name: "bytes", Type: base64Text, Flags: params.Optional},
	{Name: "uri", Flags: params.Optional},
}, Either: [2]string{"bytes", "uri"}}

// 3.6 AgentTrigger

var triggerTable = params.Table{Name: "AgentTrigger", Fields: []params.Field{
	{Name: "type", Words: []string{"autonomous"}},
	{Name: "event", Table: &params.Table{Name: "AgentTriggerEvent", Fields: []params.Field{
		{Name: "type"},
		{Name: "id"},
	}}},
	{Name: "content", Flags: params.List | params.Some, Table: &partTable},
	{Name: "metadata", Type: params.Record, Flags: params.Optional},
}}

// 3.7 Source

var sourceTable = params.Table{Name: "Source", Tag: "kind", Variants: []params.Variant{
	{Word: "file", Table: &params.Table{Name: "FileSource", Fields: []params.Field{
		{Name: "id"},
		{Name: "name"},
		{Name: "url", Flags: params.Optional},
	}}},
	{Word: "site", Table: &params.Table{Name: "SiteSource", Fields: []params.Field{
		{Name: "url"},
	}}},
}}

// 3.8 StepContext, 3.9 Session, 3.10 User, 3.11 Organization

var contextTable = params.Table{Name: "StepContext", Fields: []params.Field{
	{Name: "agent", Table: &agentTable},
	{Name: "session", Table: &params.Table{Name: "Session", Fields: []params.Field{
		{Name: "id", Flags: params.Filled},
		{Name: "metadata", Type: params.Record, Flags: params.Optional},
	}}},
	{Name: "turnId", Flags: params.Filled},
	{Name: "stepId", Flags: params.Filled},
	{Name: "timestamp", Type: timestamp},
	{Name: "user", Flags: params.Optional, Table: &params.Table{Name: "User", Fields: []params.Field{
		{Name: "id"},
		{Name: "name", Flags: params.Optional},
		{Name: "email", Flags: params.Optional},
		{Name: "organization", Table: &organizationTable}, // optional upstream
		{Name: "metadata", Type: params.Record, Flags: params.Optional},
	}}},
}}

var organizationTable = params.Table{Name: "Organization", Fields: []params.Field{
	{Name: "id"},
	{Name: "name", Flags: params.Optional},
	{Name: "metadata", Type: params.Record, Flags: params.Optional},
}}

// 4 The methods' params

var stepContext = params.Field{Name: "context", Table: &contextTable}

var reasoning = params.Field{Name: "reasoning", Flags: params.Optional}

var agentTriggerTable = params.Table{Name: "steps/agentTrigger params", Fields: []params.Field{
	stepContext,
	{Name: "trigger", Table: &triggerTable},
}}

var knowledgeTable = params.Table{Name: "steps/knowledgeRetrieval params", Fields: []params.Field{
	stepContext,
	{Name: "knowledgeStep", Table: &params.Table{Name: "KnowledgeRetrievalStepParams", Fields: []params.Field{
		{Name: "query", Flags: params.Optional},
		{Name: "keywords", Flags: params.Optional | params.List},
		{Name: "results", Flags: params.List, Table: &params.Table{Name: "KnowledgeRetrievalResult", Fields: []params.Field{
			{Name: "id"},
			{Name: "content"},
			{Name: "mimeType", Flags: params.Optional},
			{Name: "metadata", Type: params.Record, Flags: params.Optional},
		}}},
	}}},
	reasoning,
}}

var memoryTable = params.Table{Name: "steps/memoryStore or steps/memoryContextRetrieval params", Fields: []params.Field{
	stepContext,
	{Name: "memory", Flags: params.List},
	reasoning,
}}

var messageParamsTable = params.Table{Name: "steps/message params", Fields: []params.Field{
	stepContext,
	{Name: "message", Table: &messageTable},
	{Name: "citation", Flags: params.Optional | params.List, Table: &sourceTable},  // required in the text
	{Name: "citations", Flags: params.Optional | params.List, Table: &sourceTable}, // its name upstream
	reasoning,
}}

var toolCallTable = params.Table{Name: "steps/toolCallRequest params", Fields: []params.Field{
	stepContext,
	{Name: "toolCallRequest", Table: &params.Table{Name: "ToolCallRequest", Fields: []params.Field{
		{Name: "executionId", Flags: params.Filled},
		{Name: "toolId"},
		{Name: "inputs", Flags: params.List, Table: &params.Table{Name: "ToolArgumentValue", Fields: []params.Field{
			{Name: "name"},
			{Name: "id", Flags: params.Optional},
			{Name: "value", Type: params.Anything},
		}}},
	}}},
	reasoning,
}}

var resultTable = params.Table{Name: "ToolCallResult", Fields: []params.Field{
	{Name: "outputs", Flags: params.List, Table: &textPartTable},
	{Name: "isError", Type: params.Boolean},
}}

var resultParamsTable = params.Table{Name: "steps/toolCallResult params", Fields: []params.Field{
	stepContext,
	{Name: "executionId", Flags: params.Filled},
	{Name: "result", Table: &resultTable},
}}

// resultNestedTable is the form of upstream's schema.
var resultNestedTable = params.Table{Name: "steps/toolCallResult params", Fields: []params.Field{
	stepContext,
	{Name: "toolCallResult", Table: &params.Table{Name: "toolCallResult", Fields: []params.Field{
		{Name: "executionId", Flags: params.Filled},
		{Name: "result", Table: &resultTable},
	}}},
}}

var protocolTable = params.Table{Name: "protocols/A2A or protocols/MCP params", Fields: []params.Field{
	{Name: "context", Flags: params.Optional, Table: &contextTable}, // not in the text
	{Name: "message", Type: params.Record},
	reasoning,
}}

// protocolRawTable is for the message itself in params, as upstream's examples have it.
var protocolRawTable = params.Table{Name: "protocols/A2A or protocols/MCP params", Fields: []params.Field{
	{Name: "context", Flags: params.Optional, Table: &contextTable},
	reasoning,
}}

var pingTable = params.Table{Name: "ping params", Fields: []params.Field{
	{Name: "timestamp", Type: timestamp},
	{Name: "timeout", Type: params.Integer, Flags: params.Optional},
	{Name: "metadata", Type: params.Record, Flags: params.Optional},
}}

// base64Value gives the value of each byte of the alphabet, and 255 for others.
var base64Value = func() (t [256]byte) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for i := range t {
		t[i] = 255
	}
	for i := range len(alphabet) {
		t[alphabet[i]] = byte(i)
	}
	return t
}()

// isBase64 reports whether a string is Base64 as RFC 4648 section 4 has it:
// whole groups of four, padded, no line breaks, no bits left over. It makes no
// copy, since files can be large.
func isBase64(v rawjson.Value) bool {
	raw := v.Raw()
	s := raw[1 : len(raw)-1]
	if bytes.IndexByte(s, '\\') >= 0 { // some encoders write / as \/
		s = []byte(v.Text())
	}
	if len(s)%4 != 0 {
		return false
	}
	if len(s) == 0 {
		return true
	}
	var bad byte
	for _, c := range s[:len(s)-2] {
		bad |= base64Value[c] & 0xc0
	}
	a, b := s[len(s)-2], s[len(s)-1]
	switch {
	case bad != 0:
		return false
	case a == '=' && b == '=':
		return base64Value[s[len(s)-3]]&0x0f == 0
	case b == '=':
		return base64Value[a] < 64 && base64Value[a]&0x03 == 0
	}
	return base64Value[a] < 64 && base64Value[b] < 64
}
