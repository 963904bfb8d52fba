package aos

// The tables of the specification, field by field, in its order. They are what
// check walks; nothing else says what a valid request is, save the few rules
// about whole params in decode.go. Where the text and its upstream disagree,
// the comment says what holds here; the reasons are in docs/protocol/aos.md.

// typ is the type of a field's value.
type typ uint8

const (
	str     typ = iota
	integer     // a number without fraction and exponent
	boolean
	record     // an object with any members
	structure  // an object or an array
	anything   // any value, null included
	timestamp  // a string: date and time in ISO 8601
	base64Text // a string: RFC 4648, section 4
	object     // an object with a table of its own
)

// flag says more about a field.
type flag uint8

const (
	optional flag = 1 << iota // may be absent
	list                      // an array of values of the type
	filled                    // a list with at least one element, or a string that is not empty
	nullable                  // null stands for the value
)

// field is one row of a table.
type field struct {
	name  string
	typ   typ
	flags flag
	words []string // the allowed values of a string; nil for any
	table *table   // of an object
}

// table is the description of one object. An object with a tag is a union: the
// member named by the tag tells which of the variants holds.
type table struct {
	name     string // as the specification calls it
	fields   []field
	tag      string
	variants []variant
	// either names two members of which exactly one must be there.
	either [2]string

	names []string // of the fields; filled in by prepare
}

type variant struct {
	word  string
	table *table
}

// maxFields is the largest number of fields in a table.
const maxFields = 12

func init() {
	for _, t := range []*table{
		&agentTriggerTable, &knowledgeTable, &memoryTable, &messageParamsTable, &toolCallTable,
		&resultParamsTable, &resultNestedTable, &protocolTable, &protocolRawTable, &pingTable,
	} {
		t.prepare()
	}
}

// prepare collects the names of a table's fields, and of those below it.
func (t *table) prepare() {
	if len(t.fields) > maxFields {
		panic("aos: the table " + t.name + " has more fields than maxFields")
	}
	if t.names != nil {
		return
	}
	t.names = make([]string, len(t.fields))
	for i, f := range t.fields {
		t.names[i] = f.name
		if f.table != nil {
			f.table.prepare()
		}
	}
	for _, v := range t.variants {
		v.table.prepare()
	}
}

// 3.1 Agent, and what belongs to it

var agentTable = table{name: "Agent", fields: []field{
	{name: "name"},
	{name: "id"},
	{name: "description", flags: optional},
	{name: "instructions"},
	{name: "version"},
	{name: "provider", typ: object, table: &table{name: "AgentProvider", fields: []field{
		{name: "name"},
		{name: "url"},
		{name: "metadata", typ: record, flags: optional},
	}}},
	{name: "model", typ: object, flags: optional, table: &modelTable},
	{name: "tools", typ: object, flags: optional | list, table: &toolTable},
	{name: "mcpServers", typ: object, flags: optional | list, table: &table{name: "MCPServer", fields: []field{
		{name: "name"},
		{name: "version"},
	}}},
	{name: "resources", typ: object, flags: optional | list, table: &table{name: "Resource", fields: []field{
		{name: "name"},
		{name: "id"},
		{name: "description", flags: optional},
		{name: "content"},
		{name: "mimeType", flags: optional},
		{name: "metadata", typ: record, flags: optional},
	}}},
	{name: "organization", typ: object, flags: optional, table: &organizationTable},
	{name: "metadata", typ: record, flags: optional},
}}

var modelTable = table{name: "Model", fields: []field{
	{name: "name"},
	{name: "id"},
	{name: "provider", typ: object, table: &table{name: "LlmProvider", fields: []field{
		{name: "name"},
		{name: "metadata", typ: record, flags: optional},
	}}},
	{name: "maxTokens", typ: integer, flags: optional},
	{name: "contextWindow", typ: integer, flags: optional},
	{name: "stopSequences", flags: optional | list},
	{name: "defaultParams", typ: record, flags: optional},
	{name: "metadata", typ: record, flags: optional},
}}

// 3.2 ToolDefinition

var valueTypes = []string{"string", "number", "boolean", "object", "array", "null"}

var toolTable = table{name: "ToolDefinition", fields: []field{
	{name: "name"},
	{name: "id"},
	{name: "description", flags: optional},
	{name: "type"},
	{name: "arguments", typ: object, flags: list | nullable, table: &table{name: "ToolArgumentDefinition", fields: []field{
		{name: "name"},
		{name: "id", flags: optional},
		{name: "description", flags: optional},
		{name: "type", flags: optional, words: valueTypes},
		{name: "mimeType", flags: optional | nullable},
		{name: "required", typ: boolean},
	}}},
	{name: "outputs", typ: object, flags: list | nullable, table: &table{name: "ToolOutputDefinition", fields: []field{
		{name: "name"},
		{name: "id", flags: optional},
		{name: "description", flags: optional},
		{name: "type", flags: optional, words: valueTypes},
		{name: "mimeType", flags: optional | nullable},
	}}},
	{name: "metadata", typ: record, flags: optional},
}}

// 3.3 Message, 3.4 Part, 3.5 files

var messageTable = table{name: "Message", fields: []field{
	{name: "id", flags: filled},
	{name: "role", words: []string{RoleUser, RoleAgent, RoleSystem}},
	{name: "content", typ: object, flags: list | filled, table: &partTable},
	{name: "metadata", typ: record, flags: optional},
}}

var partTable = table{name: "Part", tag: "kind", variants: []variant{
	{"text", &textPartFields},
	{"file", &table{name: "FilePart", fields: []field{
		{name: "file", typ: object, table: &fileTable},
		{name: "metadata", typ: record, flags: optional},
	}}},
	{"data", &table{name: "DataPart", fields: []field{
		{name: "data", typ: structure}, // the text says both a record and "an object or an array"
		{name: "metadata", typ: record, flags: optional},
	}}},
}}

var textPartFields = table{name: "TextPart", fields: []field{
	{name: "text"},
	{name: "metadata", typ: record, flags: optional},
}}

// textPartTable is a Part that can only be text.
var textPartTable = table{name: "TextPart", tag: "kind", variants: []variant{{"text", &textPartFields}}}

// fileTable is FileWithBytes or FileWithUri.
var fileTable = table{name: "FileWithBytes or FileWithUri", fields: []field{
	{name: "name", flags: optional},
	{name: "mimeType", flags: optional},
	{name: "bytes", typ: base64Text, flags: optional},
	{name: "uri", flags: optional},
}, either: [2]string{"bytes", "uri"}}

// 3.6 AgentTrigger

var triggerTable = table{name: "AgentTrigger", fields: []field{
	{name: "type", words: []string{"autonomous"}},
	{name: "event", typ: object, table: &table{name: "AgentTriggerEvent", fields: []field{
		{name: "type"},
		{name: "id"},
	}}},
	{name: "content", typ: object, flags: list | filled, table: &partTable},
	{name: "metadata", typ: record, flags: optional},
}}

// 3.7 Source

var sourceTable = table{name: "Source", tag: "kind", variants: []variant{
	{"file", &table{name: "FileSource", fields: []field{
		{name: "id"},
		{name: "name"},
		{name: "url", flags: optional},
	}}},
	{"site", &table{name: "SiteSource", fields: []field{
		{name: "url"},
	}}},
}}

// 3.8 StepContext, 3.9 Session, 3.10 User, 3.11 Organization

var contextTable = table{name: "StepContext", fields: []field{
	{name: "agent", typ: object, table: &agentTable},
	{name: "session", typ: object, table: &table{name: "Session", fields: []field{
		{name: "id", flags: filled},
		{name: "metadata", typ: record, flags: optional},
	}}},
	{name: "turnId", flags: filled},
	{name: "stepId", flags: filled},
	{name: "timestamp", typ: timestamp},
	{name: "user", typ: object, flags: optional, table: &table{name: "User", fields: []field{
		{name: "id"},
		{name: "name", flags: optional},
		{name: "email", flags: optional},
		{name: "organization", typ: object, table: &organizationTable}, // optional upstream
		{name: "metadata", typ: record, flags: optional},
	}}},
}}

var organizationTable = table{name: "Organization", fields: []field{
	{name: "id"},
	{name: "name", flags: optional},
	{name: "metadata", typ: record, flags: optional},
}}

// 4 The methods' params

var stepContext = field{name: "context", typ: object, table: &contextTable}

var reasoning = field{name: "reasoning", flags: optional}

var agentTriggerTable = table{name: "steps/agentTrigger params", fields: []field{
	stepContext,
	{name: "trigger", typ: object, table: &triggerTable},
}}

var knowledgeTable = table{name: "steps/knowledgeRetrieval params", fields: []field{
	stepContext,
	{name: "knowledgeStep", typ: object, table: &table{name: "KnowledgeRetrievalStepParams", fields: []field{
		{name: "query", flags: optional},
		{name: "keywords", flags: optional | list},
		{name: "results", typ: object, flags: list, table: &table{name: "KnowledgeRetrievalResult", fields: []field{
			{name: "id"},
			{name: "content"},
			{name: "mimeType", flags: optional},
			{name: "metadata", typ: record, flags: optional},
		}}},
	}}},
	reasoning,
}}

var memoryTable = table{name: "steps/memoryStore or steps/memoryContextRetrieval params", fields: []field{
	stepContext,
	{name: "memory", flags: list},
	reasoning,
}}

var messageParamsTable = table{name: "steps/message params", fields: []field{
	stepContext,
	{name: "message", typ: object, table: &messageTable},
	{name: "citation", typ: object, flags: optional | list, table: &sourceTable},  // required in the text
	{name: "citations", typ: object, flags: optional | list, table: &sourceTable}, // its name upstream
	reasoning,
}}

var toolCallTable = table{name: "steps/toolCallRequest params", fields: []field{
	stepContext,
	{name: "toolCallRequest", typ: object, table: &table{name: "ToolCallRequest", fields: []field{
		{name: "executionId", flags: filled},
		{name: "toolId"},
		{name: "inputs", typ: object, flags: list, table: &table{name: "ToolArgumentValue", fields: []field{
			{name: "name"},
			{name: "id", flags: optional},
			{name: "value", typ: anything},
		}}},
	}}},
	reasoning,
}}

var resultTable = table{name: "ToolCallResult", fields: []field{
	{name: "outputs", typ: object, flags: list, table: &textPartTable},
	{name: "isError", typ: boolean},
}}

var resultParamsTable = table{name: "steps/toolCallResult params", fields: []field{
	stepContext,
	{name: "executionId", flags: filled},
	{name: "result", typ: object, table: &resultTable},
}}

// resultNestedTable is the form of upstream's schema.
var resultNestedTable = table{name: "steps/toolCallResult params", fields: []field{
	stepContext,
	{name: "toolCallResult", typ: object, table: &table{name: "toolCallResult", fields: []field{
		{name: "executionId", flags: filled},
		{name: "result", typ: object, table: &resultTable},
	}}},
}}

var protocolTable = table{name: "protocols/A2A or protocols/MCP params", fields: []field{
	{name: "context", typ: object, flags: optional, table: &contextTable}, // not in the text
	{name: "message", typ: record},
	reasoning,
}}

// protocolRawTable is for the message itself in params, as upstream's examples have it.
var protocolRawTable = table{name: "protocols/A2A or protocols/MCP params", fields: []field{
	{name: "context", typ: object, flags: optional, table: &contextTable},
	reasoning,
}}

var pingTable = table{name: "ping params", fields: []field{
	{name: "timestamp", typ: timestamp},
	{name: "timeout", typ: integer, flags: optional},
	{name: "metadata", typ: record, flags: optional},
}}
