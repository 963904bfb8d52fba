// Package jsonrpc serves JSON-RPC 2.0 over HTTP, WebSocket and a pair of
// streams, strictly: one endpoint for many protocols, told apart by the names of
// their methods.
//
// What parsers disagree about is refused (see rawjson), names are
// case-sensitive, ids are echoed byte for byte, batches are carried out and
// answered in order, and a call without an id is carried out and answered 204.
//
// Every JSON-RPC answer, an error too, has the HTTP status 200, save what is
// refused before it is read as JSON-RPC: 405 for another verb than POST, 415
// for another content than plain application/json, 413 for a body over the
// limit, 408 for one that does not arrive in time, and what Handler.Enter
// refuses (429, 503). These have a JSON-RPC error as their body, too, with the
// id null; a 401 (RefuseUnknown) has the id of a small request.
//
// A result may be followed by a stream of events (Request.Follow): over HTTP the
// answer is then text/event-stream, and begins with the event "response", whose
// data is the JSON-RPC answer; elsewhere events are messages {"event", "data"} after
// the answer. In a batch, and after a notification, nothing follows.
//
// Over a WebSocket and over streams the answers are the same, each a message of
// its own; what HTTP says by its status is different there: see Conn.
package jsonrpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/words"
)

// The error codes of JSON-RPC 2.0 (section 5.1).
const (
	ParseError     = -32700
	InvalidRequest = -32600
	MethodNotFound = -32601
	InvalidParams  = -32602
	InternalError  = -32603
)

// Unauthorized is the code for a credential that is missing, wrong or not enough, of
// protocols that have none of their own.
const Unauthorized = -32000

// messages are JSON-RPC's own messages, for errors that belong to no protocol.
var messages = map[int]string{
	ParseError:     "Parse error",
	InvalidRequest: "Invalid Request",
	MethodNotFound: "Method not found",
	InvalidParams:  "Invalid params",
	InternalError:  "Internal error",
	Unauthorized:   "Unauthorized",
}

// Request is one call. Its bytes belong to the request's body, which is never
// used again for anything else: they may be kept.
type Request struct {
	Method  string
	ID      []byte        // raw JSON as sent; nil for a notification
	Params  rawjson.Value // absent, an object or an array
	Message rawjson.Value // the whole request object, with members that JSON-RPC does not know
	Body    []byte        // the request object's own bytes, also within a batch
	Header  http.Header   // of the HTTP request; nil where there was none

	follow *followUp // where Follow puts what follows the answer; nil where nothing can
}

// Error is a JSON-RPC error object. It is what a Namespace answers a call with
// that it cannot carry out.
type Error struct {
	Code    int
	Message string
	Data    []byte // raw JSON, or nil
	// Signature is what a protocol signs its errors with, raw JSON; nil for nothing.
	Signature []byte
	// Follows says that the error, too, begins the stream that Request.Follow has follow.
	Follows bool
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// Namespace is one protocol's methods.
type Namespace struct {
	// Paths are where nothing is spoken but this protocol, and others that name the
	// same path. See Endpoints.
	Paths []string
	// Match reports whether a method belongs to the protocol, by its name
	// alone; Handle answers -32601 for those that do not exist.
	Match func(method string) bool
	// Handle carries out a call and returns its result as raw JSON, which it
	// must not use any more. For a notification the answer is dropped.
	Handle func(ctx context.Context, r *Request) (result []byte, err *Error)
	// Words are the protocol's messages for the codes of JSON-RPC; a missing
	// one is JSON-RPC's own.
	Words map[int]string
	// Unauthorized is the protocol's code for a credential that is missing or wrong;
	// 0 means the
	// constant of this name.
	Unauthorized int
	// IntegerIDs says that a number with a fraction or an exponent is no id.
	IntegerIDs bool
	// Unnamed says that what follows an answer has no names: over HTTP the stream is
	// nothing but data, the answer first, and elsewhere each event is a message.
	Unnamed bool
	// Answered says that the protocol has no notifications: a call without an id
	// is answered as well, with the id null.
	Answered bool
	// Posted says that the protocol is spoken by HTTP requests alone: its paths open no
	// WebSocket.
	Posted bool
	// OtherType, if set, is the Handler's on the protocol's paths.
	OtherType *Error
	// InOrder, if set, names the methods that are carried out before anything
	// sent after them on the same connection is looked at: what an agent asks
	// right after it registered must find it registered. Other calls of one
	// connection overtake each other. Calls of one batch never do.
	InOrder func(method string) bool
}

func (n *Namespace) word(code int) string {
	if n != nil {
		if w := n.Words[code]; w != "" {
			return w
		}
	}
	return messages[code]
}

// Refusal says why a call is not carried out now.
type Refusal struct {
	Status     int    // the HTTP status: 429 or 503; 401 where the caller's credential holds no more
	RetryAfter int    // seconds; not of a 401
	Reason     string // a sentence
}

// code is the error's code where there is no HTTP status.
func (r *Refusal) code(n *Namespace) int {
	switch {
	case r.Status != http.StatusUnauthorized:
		return InternalError
	case n != nil && n.Unauthorized != 0:
		return n.Unauthorized
	}
	return Unauthorized
}

// Limits of a Handler whose fields are zero.
const (
	DefaultMaxBody  = 4 << 20
	DefaultMaxBatch = 100
)

// Handler is the endpoint. Its fields must not change while it serves.
type Handler struct {
	// Namespaces are asked in order which of them a method belongs to.
	Namespaces []Namespace
	// Own, if set, is the only protocol spoken here: the path is dedicated to
	// it, errors are in its words from the first byte on, and Namespaces are
	// not asked.
	Own *Namespace
	// MaxBody is the largest body in bytes; 0 means DefaultMaxBody.
	MaxBody int64
	// MaxBatch is the largest number of calls in one batch; 0 means DefaultMaxBatch.
	MaxBatch int
	// Enter, if set, is called before each call is read and carried out, for
	// each call of a batch too, with its size in bytes. It waits for the
	// caller's turn and returns what ends it, or why there is none.
	Enter func(ctx context.Context, size int) (leave func(), refusal *Refusal)
	// Reserve, if set, is called before a message on a WebSocket is read, with
	// the most bytes that it can have in memory so far, and once more with
	// MaxBody when it turns out to be large. It returns what gives the memory
	// back, or why there is none; the connection is then closed. Over HTTP, the
	// server knows the size beforehand and does this itself.
	Reserve func(ctx context.Context, size int64) (release func(), refusal *Refusal)
	// Streaming, if set, is called before a stream follows the answer to a call over
	// HTTP. The call's turn is over by then; whatever else is held for the call
	// need not be kept as long as the stream lasts.
	Streaming func(ctx context.Context)
	// Posted says that no WebSocket is opened here.
	Posted bool
	// OtherType, if set, is what a request is answered, with the status 415, whose
	// content is not application/json; nil means an invalid request.
	OtherType *Error
	// Refused, if set, is called with a short word for each request that is
	// not a call: method, type, size, slow, parse, invalid, unknown, binary.
	Refused func(reason string)
	// Logger receives panics of a namespace; nil means slog.Default.
	Logger *slog.Logger

	patience *patience // of connections; nil means usual, and tests have less
}

// Endpoints are a handler for each path: at / one of all protocols, and at each path that
// a protocol names, of those that name it. like is what else they all have.
func Endpoints(like Handler, protocols []Namespace) map[string]*Handler {
	like.Namespaces = protocols
	all := map[string]*Handler{"/": &like}
	for _, n := range protocols {
		for _, path := range n.Paths {
			h := all[path]
			if h == nil {
				alone := like
				alone.Namespaces, alone.Own, alone.Posted, alone.OtherType = nil, &n, n.Posted, n.OtherType
				h, all[path] = &alone, &alone
			} else {
				h.Own = nil
			}
			h.Namespaces = append(h.Namespaces, n)
		}
	}
	return all
}

// ServeHTTP answers one HTTP request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.Serve(r.Context(), w, r) }

// Serve answers one HTTP request. The namespaces get ctx, which thus need not
// be put into a copy of the request.
func (h *Handler) Serve(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		h.refuse(w, http.StatusMethodNotAllowed, "method", "Send JSON-RPC requests with POST.")
		return
	}
	if !isJSON(r.Header) {
		if h.OtherType != nil {
			h.count("type")
			WriteError(w, http.StatusUnsupportedMediaType, h.OtherType)
			return
		}
		h.refuse(w, http.StatusUnsupportedMediaType, "type", "Send the request as Content-Type: application/json.")
		return
	}
	if !isPlain(r.Header) {
		w.Header().Set("Accept-Encoding", "identity") // RFC 7694
		h.refuse(w, http.StatusUnsupportedMediaType, "type", "Send the request without a Content-Encoding: compressed bodies are not read.")
		return
	}
	body, ok := h.read(w, r)
	if !ok {
		return
	}

	leave, refusal := h.enter(ctx, len(body))
	if refusal != nil {
		if refusal.Status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", "Bearer")
		} else {
			w.Header().Set("Retry-After", strconv.Itoa(refusal.RetryAfter))
		}
		h.fail(w, refusal.Status, refusal.code(h.Own), refusal.Reason)
		return
	}
	out := buffers.Get().(*[]byte)
	var follow followUp
	*out, leave = h.answer(ctx, r.Header, (*out)[:0], body, leave, &follow)
	leave()
	switch {
	case len(*out) == 0:
		w.WriteHeader(http.StatusNoContent)
	case follow.run != nil:
		if h.Streaming != nil {
			h.Streaming(ctx)
		}
		h.serveEvents(ctx, w, *out, follow)
	default:
		send(w, http.StatusOK, *out)
	}
	putBuffer(out)
}

// buffers holds the buffers that answers are put together in. Bodies are not
// pooled: a record of the call may refer to them after the answer.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

func putBuffer(b *[]byte) {
	if cap(*b) <= 64<<10 { // a huge answer must not stay in memory for ever
		buffers.Put(b)
	}
}

func noop() {}

func (h *Handler) enter(ctx context.Context, size int) (leave func(), refusal *Refusal) {
	if h.Enter == nil {
		return noop, nil
	}
	return h.Enter(ctx, size)
}

func (h *Handler) maxBody() int64 {
	if h.MaxBody > 0 {
		return h.MaxBody
	}
	return DefaultMaxBody
}

// IsJSON reports whether a body is read: plain application/json.
func IsJSON(header http.Header) bool { return isJSON(header) && isPlain(header) }

// isJSON reports whether the content is application/json, whatever its
// parameters: it is always read as UTF-8. Two headers that could be
// understood differently by two readers are refused.
func isJSON(header http.Header) bool {
	types := header["Content-Type"]
	if len(types) != 1 {
		return false
	}
	if types[0] == "application/json" {
		return true
	}
	media, _, err := mime.ParseMediaType(types[0])
	return media == "application/json" && (err == nil || errors.Is(err, mime.ErrInvalidMediaParameter))
}

// isPlain reports whether the body is sent without a content coding.
func isPlain(header http.Header) bool {
	for _, coding := range header["Content-Encoding"] {
		if coding != "" && !strings.EqualFold(strings.TrimSpace(coding), "identity") {
			return false
		}
	}
	return true
}

// firstRead is how much memory a body gets before any of it has come. A length
// that is only announced costs nothing more.
const firstRead = 64 << 10

// read reads the body, or refuses it: at once when it announces itself as too
// large, else as soon as it is.
func (h *Handler) read(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	limit := h.maxBody()
	tooLarge := func() ([]byte, bool) {
		w.Header().Set("Connection", "close")
		h.refuse(w, http.StatusRequestEntityTooLarge, "size", "The body is larger than "+strconv.FormatInt(limit, 10)+" bytes, the limit of this server.")
		linger(w, r, limit)
		return nil, false
	}
	if r.ContentLength > limit {
		return tooLarge()
	}
	size := r.ContentLength
	if size < 0 {
		size = 4 << 10
	}
	// One byte more than announced, so that the end is seen without growing.
	body := make([]byte, 0, min(size+1, firstRead))
	src := http.MaxBytesReader(w, r.Body, limit)
	for {
		if len(body) == cap(body) {
			body = append(body, 0)[:len(body)]
		}
		n, err := src.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err == nil {
			continue
		}
		if err == io.EOF {
			return body, true
		}
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			return tooLarge()
		}
		w.Header().Set("Connection", "close")
		if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
			h.refuse(w, http.StatusRequestTimeout, "slow", "The body did not arrive in time.")
		} else {
			h.count("parse")
			h.fail(w, http.StatusOK, ParseError, "The body ended before it was complete.")
		}
		return nil, false
	}
}

// linger reads on for a moment, and not for much, after a body was refused: many
// clients read the answer only when they have sent all, and find the connection
// broken if nobody takes it.
func linger(w http.ResponseWriter, r *http.Request, limit int64) {
	control := http.NewResponseController(w)
	if control.Flush() != nil || control.SetReadDeadline(time.Now().Add(time.Second)) != nil {
		return
	}
	io.CopyN(io.Discard, r.Body, min(limit, 16<<20))
}

// answer carries out the body's calls and appends the answer, nothing if none
// is due. leave ends the turn that was entered; the one returned ends the last.
// What follows the answer is put into follow.
func (h *Handler) answer(ctx context.Context, header http.Header, dst, body []byte, leave func(), follow *followUp) ([]byte, func()) {
	doc, err := rawjson.Parse(body)
	if err != nil {
		return h.appendUnread(dst, body, err), leave
	}
	return h.carry(ctx, header, dst, doc.Root(), leave, follow)
}

// appendUnread answers what is not acceptable JSON.
func (h *Handler) appendUnread(dst, body []byte, err error) []byte {
	h.count("parse")
	reason := "The body is not acceptable JSON: " + err.Error() + "."
	if len(bytes.TrimSpace(body)) == 0 {
		reason = "The body is empty. Send a JSON-RPC request."
	}
	return h.appendError(dst, h.Own, nil, ParseError, reason)
}

// carry carries out a call or a batch of calls and appends the answer, as answer does.
func (h *Handler) carry(ctx context.Context, header http.Header, dst []byte, root rawjson.Value, leave func(), follow *followUp) ([]byte, func()) {
	if root.Kind() != rawjson.Array {
		return h.call(ctx, header, dst, root, follow), leave
	}

	limit := h.MaxBatch
	if limit <= 0 {
		limit = DefaultMaxBatch
	}
	if n := root.Len(); n == 0 {
		h.count("invalid")
		return h.appendError(dst, h.Own, nil, InvalidRequest, "The batch is empty."), leave
	} else if n > limit {
		h.count("invalid")
		return h.appendError(dst, h.Own, nil, InvalidRequest,
			fmt.Sprintf("The batch has %d calls, and at most %d are carried out at once. Send it in parts.", n, limit)), leave
	}
	// One after the other: a call and its result may stand in one batch, and
	// the second is judged by the first.
	start := len(dst)
	for i, item := range root.Elems() {
		if i > 0 {
			leave()
			var refusal *Refusal
			if leave, refusal = h.enter(ctx, len(item.Raw())); refusal != nil {
				dst = h.appendRefused(h.comma(dst, start), item, refusal)
				leave = noop
				continue
			}
		}
		before := len(dst)
		dst = h.call(ctx, header, h.comma(dst, start), item, nil)
		if len(dst) == before+1 { // a notification: no answer, no comma
			dst = dst[:before]
		}
	}
	if len(dst) > start {
		dst = append(dst, ']')
	}
	return dst, leave
}

// comma appends what stands before the next answer of a batch.
func (h *Handler) comma(dst []byte, start int) []byte {
	if len(dst) == start {
		return append(dst, '[')
	}
	return append(dst, ',')
}

// call carries out one call and appends its answer, nothing for a notification.
// What follows the answer is put into follow, unless that is nil.
func (h *Handler) call(ctx context.Context, header http.Header, dst []byte, message rawjson.Value, follow *followUp) []byte {
	if message.Kind() != rawjson.Object {
		h.count("invalid")
		return h.appendError(dst, h.Own, nil, InvalidRequest, "A request is an object, and this is "+message.Kind().Noun()+".")
	}
	method := message.Get("method")
	r := Request{Method: method.Text(), Params: message.Get("params"), Message: message, Body: message.Raw(), Header: header}
	space, words := h.namespace(r.Method)
	id := message.Get("id")
	if id.Exists() {
		if reason := badID(id, words); reason != "" {
			h.count("invalid")
			return h.appendError(dst, words, nil, InvalidRequest, reason)
		}
		r.ID, r.follow = id.Raw(), follow
	}
	if reason := badRequest(message.Get("jsonrpc"), method, r.Params); reason != "" {
		h.count("invalid")
		return h.appendError(dst, words, r.ID, InvalidRequest, reason)
	}
	if space == nil {
		h.count("unknown")
		if r.ID == nil {
			return dst
		}
		return h.appendError(dst, words, r.ID, MethodNotFound, "This endpoint has no method "+quote(r.Method)+".")
	}
	if follow != nil {
		follow.unnamed = space.Unnamed
	}
	result, err := h.handle(ctx, space, &r)
	if r.ID == nil {
		if !space.Answered {
			return dst
		}
		r.ID = []byte("null")
	}
	if err != nil {
		if follow != nil && !err.Follows {
			*follow = followUp{}
		}
		return appendError(dst, r.ID, err)
	}
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, r.ID...)
	dst = append(dst, `,"result":`...)
	if len(result) == 0 {
		result = []byte("null")
	}
	dst = append(dst, result...)
	return append(dst, '}')
}

// namespace finds the protocol that a method belongs to, nil if none that is
// spoken here, and the one in whose words its errors are.
func (h *Handler) namespace(method string) (space, words *Namespace) {
	if h.Own != nil {
		if h.Own.Match(method) {
			return h.Own, h.Own
		}
		return nil, h.Own
	}
	if method != "" {
		for i := range h.Namespaces {
			if n := &h.Namespaces[i]; n.Match(method) {
				return n, n
			}
		}
	}
	return nil, nil
}

// RequestOf reads a single request that is to be understood and not answered, as
// where a decision is explained. The error is a sentence.
func RequestOf(body []byte) (*Request, error) {
	doc, err := rawjson.Parse(body)
	if err != nil {
		return nil, fmt.Errorf("the request is not acceptable JSON: %w", err)
	}
	message := doc.Root()
	method := message.Get("method")
	if message.Kind() != rawjson.Object || message.Get("jsonrpc").Text() != "2.0" || method.Kind() != rawjson.String {
		return nil, errors.New(`the request is not a JSON-RPC 2.0 request: it needs "jsonrpc": "2.0", a method and params`)
	}
	return &Request{Method: method.Text(), ID: message.Get("id").Raw(), Params: message.Get("params"), Message: message, Body: message.Raw()}, nil
}

func badID(id rawjson.Value, n *Namespace) string {
	switch id.Kind() {
	case rawjson.String:
		return ""
	case rawjson.Number:
		if n != nil && n.IntegerIDs && bytes.ContainsAny(id.Raw(), ".eE") {
			return "The id is a string or an integer; a number with a fraction or an exponent is none."
		}
		return ""
	}
	return "The id is a string or a number, and this is " + id.Kind().Noun() + "."
}

func badRequest(version, method, params rawjson.Value) string {
	switch {
	case version.Kind() != rawjson.String || version.Text() != "2.0":
		return `The member jsonrpc must be "2.0".`
	case !method.Exists():
		return "The member method is missing."
	case method.Kind() != rawjson.String:
		return "The member method is a string, and this is " + method.Kind().Noun() + "."
	}
	switch params.Kind() {
	case rawjson.Absent, rawjson.Object, rawjson.Array:
		return ""
	}
	return "The member params is an object or an array, and this is " + params.Kind().Noun() + "."
}

// quote shows a caller's text in a sentence, bounded.
func quote(s string) string { return strconv.Quote(words.Shorten(s, 80)) }

// handle calls the namespace. Its panic is an internal error: the caller learns
// nothing of it, the log everything.
func (h *Handler) handle(ctx context.Context, n *Namespace, r *Request) (result []byte, err *Error) {
	defer func() {
		if p := recover(); p != nil {
			logger := h.Logger
			if logger == nil {
				logger = slog.Default()
			}
			logger.Error("panic while handling a call", "method", quote(r.Method), "panic", p, "stack", string(debug.Stack()))
			result, err = nil, &Error{Code: InternalError, Message: n.word(InternalError)}
		}
	}()
	return n.Handle(ctx, r)
}

// appendRefused answers a call of a batch or a connection for which there is no turn.
func (h *Handler) appendRefused(dst []byte, message rawjson.Value, refusal *Refusal) []byte {
	_, words := h.namespace(message.Get("method").Text())
	id := message.Get("id")
	if badID(id, words) != "" {
		id = rawjson.Value{}
	}
	return h.appendError(dst, words, id.Raw(), refusal.code(words), refusal.Reason)
}

// appendError appends an error answer in a protocol's words, with the sentence
// that helps as data.reason. A nil id is written as null.
func (h *Handler) appendError(dst []byte, n *Namespace, id []byte, code int, reason string) []byte {
	return appendError(dst, id, &Error{Code: code, Message: n.word(code), Data: Reason(reason)})
}

// Reason is an error's data that holds nothing but a sentence: {"reason": …}.
func Reason(sentence string) []byte {
	data := rawjson.AppendString([]byte(`{"reason":`), sentence)
	return append(data, '}')
}

func appendError(dst, id []byte, e *Error) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	if id == nil {
		dst = append(dst, "null"...)
	} else {
		dst = append(dst, id...)
	}
	dst = append(dst, `,"error":{"code":`...)
	dst = strconv.AppendInt(dst, int64(e.Code), 10)
	dst = append(dst, `,"message":`...)
	dst = rawjson.AppendString(dst, e.Message)
	if e.Data != nil {
		dst = append(dst, `,"data":`...)
		dst = append(dst, e.Data...)
	}
	if e.Signature != nil {
		dst = append(dst, `,"signature":`...)
		dst = append(dst, e.Signature...)
	}
	return append(dst, "}}"...)
}

// refuse answers what is no JSON-RPC request at all.
func (h *Handler) refuse(w http.ResponseWriter, status int, why, reason string) {
	h.count(why)
	h.fail(w, status, InvalidRequest, reason)
}

func (h *Handler) fail(w http.ResponseWriter, status, code int, reason string) {
	send(w, status, h.appendError(nil, h.Own, nil, code, reason))
}

func (h *Handler) count(reason string) {
	if h.Refused != nil {
		h.Refused(reason)
	}
}

// RefuseUnknown answers a request with the status 401, since it is not known who
// sends it: with the id and the code of the protocol that it speaks, as far as the
// path or a small body tells. More than that is not read for a stranger. The caller
// has set WWW-Authenticate.
func (h *Handler) RefuseUnknown(w http.ResponseWriter, r *http.Request, reason string) {
	space := h.Own
	var id []byte
	if r.ContentLength > 0 && r.ContentLength <= LargestUnknown {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, LargestUnknown))
		if doc, wrong := rawjson.Parse(body); err == nil && wrong == nil {
			message := doc.Root()
			for _, first := range message.Elems() { // of a batch
				message = first
				break
			}
			if space == nil {
				space, _ = h.namespace(message.Get("method").Text())
			}
			if own := doc.Root().Get("id"); own.Exists() && badID(own, space) == "" { // none of a batch
				id = own.Raw()
			}
		}
	}
	code := Unauthorized
	if space != nil && space.Unauthorized != 0 {
		code = space.Unauthorized
	}
	send(w, http.StatusUnauthorized, appendError(nil, id, &Error{Code: code, Message: "Unauthorized", Data: Reason(reason)}))
}

// LargestUnknown is the largest body, in bytes, that is read of a stranger.
const LargestUnknown = firstRead

// WriteError answers an HTTP request that is refused before JSON-RPC is read,
// with a JSON-RPC error as the body and the id null.
func WriteError(w http.ResponseWriter, status int, e *Error) {
	send(w, status, appendError(nil, nil, e))
}

// The values of headers that are the same in each answer. Nobody changes them.
var jsonType = []string{"application/json"}

func send(w http.ResponseWriter, status int, body []byte) {
	header := w.Header()
	header["Content-Type"] = jsonType
	header["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	w.Write(body) // an error means that the client has gone
}
