package jsonrpc

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// two protocols: aos/… with its own words and integer ids, and flow.… without.
func twoProtocols(calls *atomic.Int64) *Handler {
	handle := func(_ context.Context, r *Request) ([]byte, *Error) {
		calls.Add(1)
		switch _, name, _ := strings.Cut(strings.ReplaceAll(r.Method, ".", "/"), "/"); name {
		case "echo":
			return append([]byte(nil), r.Params.Raw()...), nil
		case "body":
			return append([]byte(nil), r.Body...), nil
		case "pointer":
			return []byte(`"` + r.Message.Pointer() + `"`), nil
		case "nothing":
			return nil, nil
		case "fail":
			return nil, &Error{Code: -32000, Message: "denied \"it\"", Data: []byte(`{"risk":9007199254740993}`)}
		case "panic":
			panic("secret inside")
		}
		return nil, &Error{Code: MethodNotFound, Message: "No such method"}
	}
	return &Handler{
		Namespaces: []Namespace{
			{
				Match:  func(m string) bool { return strings.HasPrefix(m, "aos/") },
				Handle: handle, IntegerIDs: true,
				Words: map[int]string{ParseError: "Invalid JSON payload", InvalidRequest: "Invalid JSON-RPC Request", InternalError: "Internal server error"},
			},
			{Match: func(m string) bool { return strings.HasPrefix(m, "flow.") }, Handle: handle},
		},
		MaxBody: 64 << 10, MaxBatch: 5,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
}

// post returns the status and body of an answer.
func post(h http.Handler, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "/", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func failure(id string, code int, message, reason string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q,"data":{"reason":%s}}}`, id, code, message, quoteJSON(reason))
}

func quoteJSON(s string) string {
	b, _ := jsontext.AppendQuote(nil, s)
	return string(b)
}

func TestAnswers(t *testing.T) {
	const (
		parse, invalid, unknown = "Parse error", "Invalid Request", "Method not found"
		aosInvalid              = "Invalid JSON-RPC Request"
	)
	many := strings.Repeat(`{"jsonrpc":"2.0","method":"aos/echo","id":1},`, 6)
	tests := []struct{ name, body, want string }{
		{"result", `{"jsonrpc":"2.0","id":1,"method":"aos/echo","params":{"a": 1.50}}`, `{"jsonrpc":"2.0","id":1,"result":{"a": 1.50}}`},
		{"no params, empty result", `{"jsonrpc":"2.0","id":1,"method":"aos/nothing"}`, `{"jsonrpc":"2.0","id":1,"result":null}`},
		{"array params", `{"jsonrpc":"2.0","id":1,"method":"aos/echo","params":[1,2]}`, `{"jsonrpc":"2.0","id":1,"result":[1,2]}`},
		{"body is the request", ` {"jsonrpc":"2.0", "id":1,"method":"aos/body","metadata":{}} `, `{"jsonrpc":"2.0","id":1,"result":{"jsonrpc":"2.0", "id":1,"method":"aos/body","metadata":{}}}`},
		{"unknown names are tolerated", `{"jsonrpc":"2.0","id":1,"Method":"x","method":"aos/nothing","extra":[{}]}`, `{"jsonrpc":"2.0","id":1,"result":null}`},
		{"error of the protocol", `{"jsonrpc":"2.0","id":1,"method":"aos/fail"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"denied \"it\"","data":{"risk":9007199254740993}}}`},
		{"panic", `{"jsonrpc":"2.0","id":1,"method":"aos/panic"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal server error"}}`},
		{"panic in another's words", `{"jsonrpc":"2.0","id":1,"method":"flow.panic"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error"}}`},

		{"big id", `{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"aos/nothing"}`, `{"jsonrpc":"2.0","id":123456789012345678901234567890,"result":null}`},
		{"escaped id", `{"jsonrpc":"2.0","id":"\u0061\/é","method":"aos/nothing"}`, `{"jsonrpc":"2.0","id":"\u0061\/é","result":null}`},
		{"id beyond 2^53", `{"jsonrpc":"2.0","id":9007199254740993,"method":"aos/fail"}`, `{"jsonrpc":"2.0","id":9007199254740993,"error":{"code":-32000,"message":"denied \"it\"","data":{"risk":9007199254740993}}}`},
		{"empty id", `{"jsonrpc":"2.0","id":"","method":"aos/nothing"}`, `{"jsonrpc":"2.0","id":"","result":null}`},
		{"fraction id where allowed", `{"jsonrpc":"2.0","id":1.0,"method":"flow.nothing"}`, `{"jsonrpc":"2.0","id":1.0,"result":null}`},
		{"fraction id", `{"jsonrpc":"2.0","id":1.0,"method":"aos/nothing"}`, failure("null", -32600, aosInvalid, "The id is a string or an integer; a number with a fraction or an exponent is none.")},
		{"exponent id", `{"jsonrpc":"2.0","id":1e2,"method":"aos/nothing"}`, failure("null", -32600, aosInvalid, "The id is a string or an integer; a number with a fraction or an exponent is none.")},
		{"null id", `{"jsonrpc":"2.0","id":null,"method":"aos/nothing"}`, failure("null", -32600, aosInvalid, "The id is a string or a number, and this is null.")},
		{"boolean id", `{"jsonrpc":"2.0","id":true,"method":"flow.nothing"}`, failure("null", -32600, invalid, "The id is a string or a number, and this is a boolean.")},
		{"object id", `{"jsonrpc":"2.0","id":{},"method":"nobody"}`, failure("null", -32600, invalid, "The id is a string or a number, and this is an object.")},

		{"version number", `{"jsonrpc":2.0,"id":7,"method":"aos/nothing"}`, failure("7", -32600, aosInvalid, `The member jsonrpc must be "2.0".`)},
		{"version missing", `{"id":7,"method":"flow.nothing"}`, failure("7", -32600, invalid, `The member jsonrpc must be "2.0".`)},
		{"version 1.0, no id", `{"jsonrpc":"1.0","method":"aos/nothing"}`, failure("null", -32600, aosInvalid, `The member jsonrpc must be "2.0".`)},
		{"version in escapes", `{"jsonrpc":"\u0032.0","id":7,"method":"aos/nothing"}`, `{"jsonrpc":"2.0","id":7,"result":null}`},
		{"method missing", `{"jsonrpc":"2.0","id":7}`, failure("7", -32600, invalid, "The member method is missing.")},
		{"method of another case", `{"jsonrpc":"2.0","id":7,"Method":"aos/nothing"}`, failure("7", -32600, invalid, "The member method is missing.")},
		{"method number", `{"jsonrpc":"2.0","id":7,"method":1}`, failure("7", -32600, invalid, "The member method is a string, and this is a number.")},
		{"params string", `{"jsonrpc":"2.0","id":7,"method":"aos/nothing","params":"x"}`, failure("7", -32600, aosInvalid, "The member params is an object or an array, and this is a string.")},
		{"params null", `{"jsonrpc":"2.0","id":7,"method":"flow.nothing","params":null}`, failure("7", -32600, invalid, "The member params is an object or an array, and this is null.")},
		{"method unknown", `{"jsonrpc":"2.0","id":7,"method":"nobody/asks"}`, failure("7", -32601, unknown, `This endpoint has no method "nobody/asks".`)},
		{"method empty", `{"jsonrpc":"2.0","id":7,"method":""}`, failure("7", -32601, unknown, `This endpoint has no method "".`)},
		{"method long", `{"jsonrpc":"2.0","id":7,"method":"` + strings.Repeat("é", 1000) + `"}`, failure("7", -32601, unknown, `This endpoint has no method "`+strings.Repeat("é", 40)+`…".`)},

		{"empty body", ``, failure("null", -32700, parse, "The body is empty. Send a JSON-RPC request.")},
		{"white space", "\n ", failure("null", -32700, parse, "The body is empty. Send a JSON-RPC request.")},
		{"broken", `{"jsonrpc":"2.0","id":1,`, failure("null", -32700, parse, "The body is not acceptable JSON: unexpected end of data at byte 24.")},
		{"duplicate name", `{"jsonrpc":"2.0","id":1,"method":"aos/echo","method":"aos/fail"}`, failure("null", -32700, parse, `The body is not acceptable JSON: duplicate name "method" at byte 44.`)},
		{"duplicate name inside", `{"jsonrpc":"2.0","id":1,"method":"aos/echo","params":{"a":1,"\u0061":2}}`, failure("null", -32700, parse, `The body is not acceptable JSON: duplicate name "\u0061" at byte 60.`)},
		{"invalid UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\"}", failure("null", -32700, parse, "The body is not acceptable JSON: invalid UTF-8 at byte 23.")},
		{"trailing data", `{"jsonrpc":"2.0","id":1,"method":"aos/echo"} {}`, failure("null", -32700, parse, "The body is not acceptable JSON: unexpected data after the value at byte 45.")},
		{"deep", strings.Repeat("[", 20_000), failure("null", -32700, parse, "The body is not acceptable JSON: nesting too deep at byte 128.")},
		{"NaN", `{"jsonrpc":"2.0","id":NaN}`, failure("null", -32700, parse, "The body is not acceptable JSON: expected a value at byte 22.")},
		{"a string", `"x"`, failure("null", -32600, invalid, "A request is an object, and this is a string.")},
		{"null", `null`, failure("null", -32600, invalid, "A request is an object, and this is null.")},

		{"notification", `{"jsonrpc":"2.0","method":"aos/echo"}`, ""},
		{"notification that fails", `{"jsonrpc":"2.0","method":"aos/fail"}`, ""},
		{"notification that panics", `{"jsonrpc":"2.0","method":"aos/panic"}`, ""},
		{"notification nobody knows", `{"jsonrpc":"2.0","method":"nobody"}`, ""},

		{"batch", `[{"jsonrpc":"2.0","id":1,"method":"aos/echo","params":[1]},{"jsonrpc":"2.0","id":"2","method":"flow.echo","params":[2]}]`,
			`[{"jsonrpc":"2.0","id":1,"result":[1]},{"jsonrpc":"2.0","id":"2","result":[2]}]`},
		{"batch of one", ` [ {"jsonrpc":"2.0","id":1,"method":"aos/body"} ] `, `[{"jsonrpc":"2.0","id":1,"result":{"jsonrpc":"2.0","id":1,"method":"aos/body"}}]`},
		{"batch's pointers", `[{"jsonrpc":"2.0","id":1,"method":"aos/pointer"},{"jsonrpc":"2.0","id":2,"method":"aos/pointer"}]`, `[{"jsonrpc":"2.0","id":1,"result":"/0"},{"jsonrpc":"2.0","id":2,"result":"/1"}]`},
		{"batch with everything", `[{"jsonrpc":"2.0","method":"aos/echo"},1,{"jsonrpc":"2.0","id":1,"method":"aos/nothing"},{"jsonrpc":"2.0","method":"aos/fail"},{"id":3}]`,
			"[" + failure("null", -32600, invalid, "A request is an object, and this is a number.") + `,{"jsonrpc":"2.0","id":1,"result":null},` + failure("3", -32600, invalid, `The member jsonrpc must be "2.0".`) + "]"},
		{"batch of notifications", `[{"jsonrpc":"2.0","method":"aos/echo"},{"jsonrpc":"2.0","method":"nobody"}]`, ""},
		{"empty batch", `[]`, failure("null", -32600, invalid, "The batch is empty.")},
		{"batch of batches", `[[]]`, "[" + failure("null", -32600, invalid, "A request is an object, and this is an array.") + "]"},
		{"batch too long", "[" + many[:len(many)-1] + "]", failure("null", -32600, invalid, "The batch has 6 calls, and at most 5 are carried out at once. Send it in parts.")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := post(twoProtocols(new(atomic.Int64)), tt.body)
			wantStatus, wantType := 200, "application/json"
			if tt.want == "" {
				wantStatus, wantType = 204, ""
			}
			if w.Code != wantStatus || w.Header().Get("Content-Type") != wantType {
				t.Errorf("the status is %d and the type %q, want %d and %q", w.Code, w.Header().Get("Content-Type"), wantStatus, wantType)
			}
			if diff := cmp.Diff(tt.want, w.Body.String()); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if wantStatus == 200 && w.Header().Get("Content-Length") != fmt.Sprint(w.Body.Len()) {
				t.Errorf("Content-Length is %s, and the body has %d bytes", w.Header().Get("Content-Length"), w.Body.Len())
			}
		})
	}
}

func TestNotificationsAreCarriedOut(t *testing.T) {
	var calls atomic.Int64
	h := twoProtocols(&calls)
	post(h, `{"jsonrpc":"2.0","method":"aos/echo"}`)
	post(h, `[{"jsonrpc":"2.0","method":"aos/echo"},{"jsonrpc":"2.0","method":"flow.fail"},{"jsonrpc":"2.0","method":"nobody"}]`)
	if calls.Load() != 3 {
		t.Errorf("%d calls were carried out, want 3", calls.Load())
	}
}

func TestOwnEndpoint(t *testing.T) {
	h := twoProtocols(new(atomic.Int64))
	own := &Handler{Own: &h.Namespaces[0], MaxBody: 64}
	tests := []struct{ name, body, want string }{
		{"its method", `{"jsonrpc":"2.0","id":1,"method":"aos/nothing"}`, `{"jsonrpc":"2.0","id":1,"result":null}`},
		{"another's method", `{"jsonrpc":"2.0","id":1,"method":"flow.nothing"}`, failure("1", -32601, "Method not found", `This endpoint has no method "flow.nothing".`)},
		{"its words", `{`, failure("null", -32700, "Invalid JSON payload", "The body is not acceptable JSON: unexpected end of data at byte 1.")},
		{"its words again", `[]`, failure("null", -32600, "Invalid JSON-RPC Request", "The batch is empty.")},
		{"its ids", `{"jsonrpc":"2.0","id":1.5,"method":"x"}`, failure("null", -32600, "Invalid JSON-RPC Request", "The id is a string or an integer; a number with a fraction or an exponent is none.")},
		{"too large", strings.Repeat(" ", 65), failure("null", -32600, "Invalid JSON-RPC Request", "The body is larger than 64 bytes, the limit of this server.")},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, post(own, tt.body).Body.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestHTTP(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":1,"method":"aos/nothing"}`
	refusedType := failure("null", -32600, "Invalid Request", "Send the request as Content-Type: application/json.")
	refusedCoding := failure("null", -32600, "Invalid Request", "Send the request without a Content-Encoding: compressed bodies are not read.")
	tests := []struct {
		name   string
		method string
		header http.Header
		status int
		body   string // "" for the answer to call
	}{
		{"plain", "POST", http.Header{"Content-Type": {"application/json"}}, 200, ""},
		{"charset", "POST", http.Header{"Content-Type": {"application/json; charset=utf-8"}}, 200, ""},
		{"case", "POST", http.Header{"Content-Type": {"Application/JSON ;Charset=UTF-8"}}, 200, ""},
		{"broken parameter", "POST", http.Header{"Content-Type": {"application/json; charset"}}, 200, ""},
		{"identity", "POST", http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"Identity"}}, 200, ""},
		{"no type", "POST", http.Header{}, 415, refusedType},
		{"text", "POST", http.Header{"Content-Type": {"text/plain"}}, 415, refusedType},
		{"form", "POST", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, 415, refusedType},
		{"almost", "POST", http.Header{"Content-Type": {"application/jsonx"}}, 415, refusedType},
		{"list", "POST", http.Header{"Content-Type": {"application/json, text/plain"}}, 415, refusedType},
		{"two types", "POST", http.Header{"Content-Type": {"application/json", "text/plain"}}, 415, refusedType},
		{"gzip", "POST", http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}, 415, refusedCoding},
		{"two codings", "POST", http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"identity", "br"}}, 415, refusedCoding},
		{"GET", "GET", http.Header{}, 405, failure("null", -32600, "Invalid Request", "Send JSON-RPC requests with POST.")},
		{"PUT", "PUT", http.Header{"Content-Type": {"application/json"}}, 405, failure("null", -32600, "Invalid Request", "Send JSON-RPC requests with POST.")},
		{"OPTIONS", "OPTIONS", http.Header{}, 405, failure("null", -32600, "Invalid Request", "Send JSON-RPC requests with POST.")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var reasons []string
			h := twoProtocols(new(atomic.Int64))
			h.Refused = func(reason string) { reasons = append(reasons, reason) }
			r := httptest.NewRequest(tt.method, "/", strings.NewReader(call))
			r.Header = tt.header
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			want := tt.body
			if want == "" {
				want = `{"jsonrpc":"2.0","id":1,"result":null}`
			}
			if w.Code != tt.status || w.Body.String() != want {
				t.Errorf("%d %s, want %d %s", w.Code, w.Body, tt.status, want)
			}
			if (tt.status == 405) != (w.Header().Get("Allow") == "POST") {
				t.Errorf("Allow is %q", w.Header().Get("Allow"))
			}
			if (tt.status == 200) != (len(reasons) == 0) {
				t.Errorf("the refusals counted are %q", reasons)
			}
		})
	}
}

// endless is a body that never ends; it counts what is read of it.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	e.read += len(p)
	return len(p), nil
}

func TestTooLarge(t *testing.T) {
	h := twoProtocols(new(atomic.Int64))
	fits := `{"jsonrpc":"2.0","id":1,"method":"aos/nothing"}`
	fits += strings.Repeat(" ", int(h.MaxBody)-len(fits))
	for _, length := range []int64{-1, int64(len(fits))} {
		r := httptest.NewRequest("POST", "/", io.NopCloser(strings.NewReader(fits)))
		r.Header.Set("Content-Type", "application/json")
		r.ContentLength = length
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 200 {
			t.Errorf("a body of exactly the limit, announced as %d: %d %s", length, w.Code, w.Body)
		}
	}
	for _, length := range []int64{-1, h.MaxBody + 1, 30 << 20} {
		body := &endless{}
		r := httptest.NewRequest("POST", "/", body)
		r.Header.Set("Content-Type", "application/json")
		r.ContentLength = length
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		want := failure("null", -32600, "Invalid Request", "The body is larger than 65536 bytes, the limit of this server.")
		if w.Code != 413 || w.Body.String() != want || w.Header().Get("Connection") != "close" {
			t.Errorf("announced as %d: %d %s", length, w.Code, w.Body)
		}
		if length > 0 && body.read > 0 || body.read > 2*int(h.MaxBody) {
			t.Errorf("announced as %d: %d bytes were read", length, body.read)
		}
	}
}

// TestBrokenConnections talks to a real server: a body that stops, one that ends
// early, and a large one that nobody reads.
func TestBrokenConnections(t *testing.T) {
	server := httptest.NewUnstartedServer(twoProtocols(new(atomic.Int64)))
	server.Config.ReadTimeout = 300 * time.Millisecond
	server.Start()
	defer server.Close()
	tests := []struct{ name, sent, want string }{
		{"stops", "Content-Length: 50\r\n\r\n{\"jsonrpc\"", "408"},
		{"large", "Content-Length: 31457280\r\n\r\n" + strings.Repeat("x", 1<<20), "413"},
		{"broken chunk", "Transfer-Encoding: chunked\r\n\r\nzz\r\n", "200"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			c.SetDeadline(time.Now().Add(5 * time.Second))
			go io.WriteString(c, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+tt.sent)
			head := make([]byte, 12)
			if _, err := io.ReadFull(c, head); err != nil {
				t.Fatal(err)
			}
			if got := string(head[9:]); got != tt.want {
				t.Errorf("the status is %s, want %s", got, tt.want)
			}
		})
	}
}

func TestEnter(t *testing.T) {
	var entered, left, turns int
	h := twoProtocols(new(atomic.Int64))
	h.Enter = func(_ context.Context, size int) (func(), *Refusal) {
		if size == 0 {
			t.Error("a call of no size")
		}
		if entered++; entered > turns {
			return nil, &Refusal{429, 7, "Too often."}
		}
		return func() { left++ }, nil
	}
	const batch = `[{"jsonrpc":"2.0","id":1,"method":"aos/nothing"},{"jsonrpc":"2.0","method":"aos/nothing"},{"jsonrpc":"2.0","id":3,"method":"aos/nothing"},{"jsonrpc":"2.0","id":[],"method":"flow.x"}]`
	tests := []struct {
		turns  int
		body   string
		status int
		want   string
	}{
		{1, `{"jsonrpc":"2.0","id":1,"method":"aos/nothing"}`, 200, `{"jsonrpc":"2.0","id":1,"result":null}`},
		{0, `{"jsonrpc":"2.0","id":1,"method":"aos/nothing"}`, 429, failure("null", -32603, "Internal error", "Too often.")},
		{2, batch, 200, `[{"jsonrpc":"2.0","id":1,"result":null},` + failure("3", -32603, "Internal server error", "Too often.") + "," + failure("null", -32603, "Internal error", "Too often.") + "]"},
		{1, `{`, 200, failure("null", -32700, "Parse error", "The body is not acceptable JSON: unexpected end of data at byte 1.")},
	}
	for _, tt := range tests {
		entered, left, turns = 0, 0, tt.turns
		w := post(h, tt.body)
		if w.Code != tt.status || w.Body.String() != tt.want {
			t.Errorf("with %d turns: %d %s, want %d %s", tt.turns, w.Code, w.Body, tt.status, tt.want)
		}
		if left != min(entered, tt.turns) {
			t.Errorf("with %d turns: %d were entered and %d left", tt.turns, entered, left)
		}
		if tt.status == 429 && w.Header().Get("Retry-After") != "7" {
			t.Errorf("Retry-After is %q", w.Header().Get("Retry-After"))
		}
	}
}

// TestRefuseUnknown: who is not known is answered in the words of the protocol.
func TestRefuseUnknown(t *testing.T) {
	h := twoProtocols(new(atomic.Int64))
	h.Namespaces[1].Unauthorized = -32004
	own := &Handler{Own: &h.Namespaces[1]}
	for _, tt := range []struct {
		h    *Handler
		body string
		id   string
		code int
	}{
		{h, `{"jsonrpc":"2.0","id":1,"method":"aos/echo"}`, `1`, -32000},
		{h, `{"jsonrpc":"2.0","id":"a\u0062","method":"flow.echo"}`, `"a\u0062"`, -32004},
		{own, `{"jsonrpc":"2.0","id":7,"method":"other"}`, `7`, -32004},
		{h, `[{"jsonrpc":"2.0","id":1,"method":"flow.echo"},{}]`, `null`, -32004},
		{h, `{"jsonrpc":"2.0","id":{},"method":"flow.echo"}`, `null`, -32004},
		{h, `{"jsonrpc":"2.0","id":1,"id":2,"method":"flow.echo"}`, `null`, -32000},
		{h, `[]`, `null`, -32000}, {h, `{`, `null`, -32000}, {h, ``, `null`, -32000}, {h, `{"method":"nobody"}`, `null`, -32000},
		{h, `{"id":1,"method":"flow.echo","params":"` + strings.Repeat("x", firstRead) + `"}`, `null`, -32000},
		{own, `{`, `null`, -32004},
	} {
		w := httptest.NewRecorder()
		tt.h.RefuseUnknown(w, httptest.NewRequest("POST", "/", strings.NewReader(tt.body)), "Who are you?")
		want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"Unauthorized","data":{"reason":"Who are you?"}}}`, tt.id, tt.code)
		if w.Code != 401 || w.Body.String() != want {
			t.Errorf("%.60s: %d %s", tt.body, w.Code, w.Body)
		}
	}
}

// TestBodyIsKept holds what Request promises: its bytes are never used again.
func TestBodyIsKept(t *testing.T) {
	var kept [][]byte
	h := &Handler{Namespaces: []Namespace{{
		Match: func(string) bool { return true },
		Handle: func(_ context.Context, r *Request) ([]byte, *Error) {
			kept = append(kept, r.Body, r.ID)
			return r.ID, nil
		},
	}}}
	for i := range 50 {
		post(h, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"m"}`, i+100))
	}
	for i := range 50 {
		if want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"m"}`, i+100); string(kept[2*i]) != want || string(kept[2*i+1]) != fmt.Sprint(i+100) {
			t.Fatalf("what was kept became %s, want %s", kept[2*i], want)
		}
	}
}

func FuzzHandler(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `[]`, `[[]]`, `{"jsonrpc":"2.0","id":1,"method":"aos/echo","params":{}}`,
		`{"jsonrpc":"2.0","id":1e5,"method":"aos/fail"}`, `{"jsonrpc":"2.0","method":"flow.echo"}`,
		`[{"jsonrpc":"2.0","id":"\u0000","method":"aos/body"},{"jsonrpc":"2.0","method":"aos/panic"},3]`,
		`{"jsonrpc":"2.0","id":1,"method":"\ud83d\ude00","params":null}`, "{\"id\":\"\xff\"}",
	} {
		f.Add([]byte(seed), "application/json")
	}
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		h := twoProtocols(new(atomic.Int64))
		r := httptest.NewRequest("POST", "/", bytes.NewReader(body))
		r.Header["Content-Type"] = []string{contentType}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		switch w.Code {
		case 204:
			if w.Body.Len() > 0 {
				t.Fatalf("204 with the body %q", w.Body)
			}
			return
		case 200, 413, 415:
		default:
			t.Fatalf("the status is %d", w.Code)
		}
		answer := jsontext.Value(w.Body.Bytes())
		if !answer.IsValid() {
			t.Fatalf("%q: the answer %q is not JSON", body, answer)
		}
		if k := answer.Kind(); k != '{' && k != '[' {
			t.Fatalf("%q: the answer %q is neither an object nor an array", body, answer)
		}
	})
}

func BenchmarkHandler(b *testing.B) {
	body := []byte(`{"jsonrpc":"2.0","id":1,"method":"aos/x","params":{"text":"` + strings.Repeat("ordinary words ", 200) + `"}}`)
	result := bytes.Repeat([]byte(`"result"`), 1)
	rpc := &Handler{Namespaces: []Namespace{{
		Match:  func(m string) bool { return strings.HasPrefix(m, "aos/") },
		Handle: func(context.Context, *Request) ([]byte, *Error) { return result, nil },
	}}}
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Write(body)
	})
	for name, h := range map[string]http.Handler{"jsonrpc": rpc, "echo": echo} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			r := httptest.NewRequest("POST", "/", nil)
			r.Header.Set("Content-Type", "application/json")
			r.ContentLength = int64(len(body))
			reader := bytes.NewReader(body)
			w := &discard{header: http.Header{}}
			for b.Loop() {
				reader.Reset(body)
				r.Body = io.NopCloser(reader)
				h.ServeHTTP(w, r)
			}
		})
	}
}

type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(int)             {}
