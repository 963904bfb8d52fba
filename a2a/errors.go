package a2a

import (
	"errors"
	"net/http"
	"strings"

	"reeve.example/reeve/internal/engine"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/words"

	"google.golang.org/grpc/codes"
)

// fault is a kind of error of the protocol.
type fault struct {
	word   string // JSON-RPC's message
	code   int    // JSON-RPC's
	reason string // google.rpc.ErrorInfo's
	http   int
	grpc   codes.Code
	status string // gRPC's code as HTTP+JSON writes it
}

// The errors of the protocol (version 1.0.0, section 5.4; 0.3 has the same codes).
// Revision 1.0.1 changed some statuses of HTTP and gRPC; clients go by the reason,
// which is the same in both.
var (
	notFound       = &fault{"Task not found", -32001, "TASK_NOT_FOUND", http.StatusNotFound, codes.NotFound, "NOT_FOUND"}
	notCancelable  = &fault{"Task cannot be canceled", -32002, "TASK_NOT_CANCELABLE", http.StatusConflict, codes.FailedPrecondition, "FAILED_PRECONDITION"}
	unsupported    = &fault{"This operation is not supported", -32004, "UNSUPPORTED_OPERATION", http.StatusBadRequest, codes.Unimplemented, "UNIMPLEMENTED"}
	contentType    = &fault{"Incompatible content types", -32005, "CONTENT_TYPE_NOT_SUPPORTED", http.StatusUnsupportedMediaType, codes.InvalidArgument, "INVALID_ARGUMENT"}
	noExtendedCard = &fault{"Authenticated Extended Card is not configured", -32007, "EXTENDED_AGENT_CARD_NOT_CONFIGURED", http.StatusBadRequest, codes.FailedPrecondition, "FAILED_PRECONDITION"}
	badVersion     = &fault{"Version not supported", -32009, "VERSION_NOT_SUPPORTED", http.StatusBadRequest, codes.Unimplemented, "UNIMPLEMENTED"}
	badParams      = &fault{"Invalid params", jsonrpc.InvalidParams, "INVALID_PARAMS", http.StatusBadRequest, codes.InvalidArgument, "INVALID_ARGUMENT"}
	badJSON        = &fault{"Invalid JSON payload", jsonrpc.ParseError, "PARSE_ERROR", http.StatusBadRequest, codes.InvalidArgument, "INVALID_ARGUMENT"}
	noMethod       = &fault{"Method not found", jsonrpc.MethodNotFound, "METHOD_NOT_FOUND", http.StatusNotFound, codes.Unimplemented, "NOT_FOUND"}
	internal       = &fault{"Internal error", jsonrpc.InternalError, "INTERNAL_ERROR", http.StatusInternalServerError, codes.Internal, "INTERNAL"}
	forbidden      = &fault{"Forbidden", -31403, "PERMISSION_DENIED", http.StatusForbidden, codes.PermissionDenied, "PERMISSION_DENIED"}
	exhausted      = &fault{"Internal error", jsonrpc.InternalError, "RESOURCE_EXHAUSTED", http.StatusServiceUnavailable, codes.ResourceExhausted, "UNAVAILABLE"}
)

// failure is an error that the caller is told.
type failure struct {
	*fault
	field    string // what was wrong, where it is one member
	sentence string
}

func (f *failure) Error() string { return f.sentence }

func fail(kind *fault, sentence string) error { return &failure{fault: kind, sentence: sentence} }

// invalid says what is wrong with a member.
func invalid(field, sentence string) error {
	return &failure{fault: badParams, field: strings.TrimSuffix(field, "."), sentence: sentence}
}

// noTask is what is said of tasks that do not exist, and of those of others.
func noTask() error { return fail(notFound, "Task not found: there is no such task.") }

// failed is the failure that an error is for the caller: of our own a stranger
// learns nothing.
func failed(err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	if q, ok := errors.AsType[*engine.QuotaError](err); ok {
		return &failure{fault: exhausted, sentence: q.Error()}
	}
	return &failure{fault: internal, sentence: "This could not be carried out. Look what has become of it before you try again."}
}

// details are the error's details, as google.rpc has them: an array.
func (f *failure) details() []byte {
	b := append([]byte(nil), `[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"`...)
	b = append(b, f.reason...)
	b = append(b, `","domain":"a2a-protocol.org","metadata":`...)
	b = append(b, metadataOf("field", f.field, "detail", f.sentence)...)
	b = append(b, '}')
	if f.field != "" {
		violation := begin(nil)
		violation.text("field", f.field)
		violation.text("description", f.sentence)
		b = append(b, `,{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[`...)
		b = append(append(b, violation.end()...), "]}"...)
	}
	return append(b, ']')
}

// rpc is the failure as JSON-RPC writes it.
func (f *failure) rpc(d dialect) *jsonrpc.Error {
	e := &jsonrpc.Error{Code: f.code, Message: f.word}
	if d == v1 {
		e.Data = f.details()
		return e
	}
	data := begin(nil)
	data.textIf("field", f.field)
	data.text("reason", f.sentence)
	e.Data = data.end()
	return e
}

// rest is the failure as HTTP+JSON writes it. What it looks like is left open by
// 0.3: clients of that version find JSON-RPC's error there, or google.rpc's.
func (f *failure) rest(d dialect) []byte {
	o := begin(nil)
	if d != v1 {
		e := f.rpc(d)
		o.number("code", e.Code)
		o.text("message", e.Message)
		o.raw("data", e.Data)
	}
	inner := begin(nil)
	inner.number("code", f.http)
	inner.text("status", f.status)
	inner.text("message", f.sentence)
	inner.raw("details", f.details())
	o.raw("error", inner.end())
	return o.end()
}

// appendRPCError writes an answer of JSON-RPC that is an error.
func appendRPCError(b []byte, id []byte, e *jsonrpc.Error) []byte {
	o := begin(b)
	o.text("jsonrpc", "2.0")
	o.raw("id", id)
	inner := begin(nil)
	inner.number("code", e.Code)
	inner.text("message", e.Message)
	inner.raw("data", e.Data)
	o.raw("error", inner.end())
	return o.end()
}

// shown bounds what a client wrote, for a sentence.
func shown(s string) string { return string(rawjson.Quote(words.Shorten(s, 80))) }
