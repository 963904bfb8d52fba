package a2g

// The tables of the messages, field by field, in the order of the text. They are
// what check walks; nothing else says what valid params are, save the few rules
// in decode.go. Members that a table does not name are tolerated. An optional
// field may be null: the text itself writes one so.

// typ is the type of a field's value.
type typ uint8

const (
	str       typ = iota
	number        // not below zero
	record        // an object with any members
	anything      // any value
	object        // an object with a table of its own
	timestamp     // a string of digits, or an integer: milliseconds since 1970
)

// flag says more about a field.
type flag uint8

const (
	optional flag = 1 << iota // may be absent or null
	list                      // an array of values of the type, of at most maxList
	filled                    // a string that is not empty
	did                       // a decentralized identifier
)

// field is one row of a table.
type field struct {
	name  string
	typ   typ
	flags flag
	max   int      // of a string: the most bytes that its text may have; 0 for any
	words []string // the allowed values of a string; nil for any
	table *table   // of an object
}

// table is the description of one object.
type table struct {
	name   string // as the text calls it
	fields []field
}

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
var signatureTable = table{name: "signature", fields: []field{
	{name: "timestamp", typ: timestamp},
	{name: "nonce", flags: filled, max: maxNonce},
	{name: "hash", flags: filled, max: maxKey},
}}

// A2G_INTENT

var intentTable = table{name: "a2g/intent params", fields: []field{
	{name: "agent_did", flags: filled | did, max: maxDID},
	{name: "intent_id", flags: filled, max: maxID}, // a UUID in the text; some agents have other ids
	{name: "tool", flags: filled},
	{name: "arguments", typ: record},
	{name: "context", typ: object, flags: optional, table: &table{name: "context", fields: []field{
		{name: "session_id", flags: optional, max: maxID},
		{name: "parent_intent", flags: optional, max: maxID},
		{name: "reasoning", flags: optional},
		{name: "signature", typ: object, flags: optional, table: &signatureTable},
	}}},
}}

// A2G_REPORT

var reportTable = table{name: "a2g/report params", fields: []field{
	{name: "agent_did", flags: filled | did, max: maxDID},
	{name: "intent_id", flags: filled, max: maxID},
	{name: "status", words: statuses},
	{name: "result", typ: anything, flags: optional},
	{name: "metrics", typ: object, flags: optional, table: &table{name: "metrics", fields: []field{
		{name: "duration_ms", typ: number, flags: optional},
		{name: "memory_used_mb", typ: number, flags: optional},
		{name: "cpu_percent", typ: number, flags: optional},
	}}},
	{name: "error", typ: anything, flags: optional}, // a string from the SDKs
	{name: "tool", flags: optional | filled},
	{name: "arguments", typ: record, flags: optional},
	{name: "digest", flags: optional | filled},
	signedContext,
}}

// signedContext is the context of messages that need none, for a signature.
var signedContext = field{name: "context", typ: object, flags: optional, table: &table{name: "context", fields: []field{
	{name: "signature", typ: object, flags: optional, table: &signatureTable},
}}}

// A2G_REGISTER

var registerTable = table{name: "a2g/register params", fields: []field{
	{name: "agent_did", flags: filled | did, max: maxDID},
	{name: "public_key", flags: optional, max: maxKey}, // empty from the Python SDK
	{name: "capabilities_requested", flags: optional | list | filled, max: maxID},
	{name: "metadata", typ: record, flags: optional},
	signedContext,
}}

// The heartbeat has no form in the text.

var heartbeatTable = table{name: "a2g/heartbeat params", fields: []field{
	{name: "agent_did", flags: filled | did, max: maxDID},
	{name: "status", flags: optional, max: maxID},
	signedContext,
}}
