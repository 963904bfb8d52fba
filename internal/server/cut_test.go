package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"reeve.example/reeve/internal/jsonrpc"
)

// TestThreat11CutBodies: a request of which a part is missing is never judged as if
// it were whole, wherever it is cut and however it is framed: not even where what
// came is a call that could be answered.
func TestThreat11CutBodies(t *testing.T) {
	var judged atomic.Int32
	s := local(t, func(cfg *Config) {
		cfg.RPC = map[string]*jsonrpc.Handler{"/": {MaxBody: 4096, Namespaces: []jsonrpc.Namespace{{
			Match: func(string) bool { return true },
			Handle: func(context.Context, *jsonrpc.Request) ([]byte, *jsonrpc.Error) {
				judged.Add(1)
				return []byte("null"), nil
			},
		}}}}
	})
	url, _ := run(t, s)
	address := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/")
	send := func(headers, body string) string {
		t.Helper()
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(20 * time.Second))
		fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n%s\r\n\r\n%s", address, headers, body)
		conn.(*net.TCPConn).CloseWrite()
		answer, _ := io.ReadAll(conn)
		return string(answer)
	}
	length := func(n int) string { return fmt.Sprintf("Content-Length: %d", n) }
	chunk := func(text string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(text), text) }
	const chunked = "Transfer-Encoding: chunked"
	whole := whoCall + strings.Repeat(" ", 20)

	// What is whole is judged: else the rest would prove nothing.
	type request struct{ headers, body string }
	for name, r := range map[string]request{"length": {length(len(whole)), whole}, "chunks": {chunked, chunk(whole[:9]) + chunk(whole[9:]) + "0\r\n\r\n"}} {
		if answer := send(r.headers, r.body); !strings.Contains(answer, `"result":null`) || judged.Swap(0) != 1 {
			t.Fatalf("%s: a whole request is answered %q", name, answer)
		}
	}
	cuts := map[string]request{
		"length of more":             {length(len(whole) + 1), whole},
		"length of much more":        {length(4096), whole},
		"no last chunk":              {chunked, chunk(whole)},
		"half of the last chunk":     {chunked, chunk(whole) + "0\r\n"},
		"a chunk of more":            {chunked, fmt.Sprintf("%x\r\n%s", len(whole)+5, whole)},
		"a chunk of less":            {chunked, fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(whole)-5, whole)},
		"a chunk of no size":         {chunked, chunk(whole) + "zz\r\n" + whole + "\r\n0\r\n\r\n"},
		"a chunk of a negative size": {chunked, chunk(whole) + "-1\r\n\r\n0\r\n\r\n"},
		"a chunk beyond all sizes":   {chunked, chunk(whole) + "fffffffffffffffff\r\n" + whole},
		"two lengths":                {length(len(whole)) + "\r\n" + length(len(whole)-1), whole},
		"a length that is none":      {"Content-Length: +" + fmt.Sprint(len(whole)), whole},
		"another transfer":           {"Transfer-Encoding: gzip, chunked", chunk(whole) + "0\r\n\r\n"},
		"too large in chunks":        {chunked, chunk(whole) + chunk(strings.Repeat(" ", 4096)) + "0\r\n\r\n"},
		"too large":                  {length(len(whole) + 4096), whole + strings.Repeat(" ", 4096)},
	}
	for _, coding := range []string{"gzip", "GZIP", "deflate", "br", "zstd", "x-unknown", "identity, gzip"} {
		cuts["compressed: "+coding] = request{"Content-Encoding: " + coding + "\r\n" + length(len(whole)), whole}
	}
	for i := range len(whoCall) - 1 {
		cuts[fmt.Sprintf("length of %d", i)] = request{length(i), whoCall}
		cuts[fmt.Sprintf("ends at %d", i)] = request{length(len(whoCall)), whoCall[:i]}
		cuts[fmt.Sprintf("chunks end at %d", i)] = request{chunked, chunk(whoCall[:i+1]) + "0\r\n\r\n"}
	}
	for name, r := range cuts {
		if answer := send(r.headers, r.body); judged.Swap(0) != 0 || strings.Contains(answer, `"result"`) {
			t.Errorf("%s: it was judged: %q", name, answer)
		}
	}
}
