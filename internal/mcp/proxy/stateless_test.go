package proxy

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"reeve.example/reeve/internal/rawjson"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// meta is what a request without a session says of itself.
const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}`

// post posts a message of the protocol without sessions.
func post(t *testing.T, url, body string, headers ...string) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set(versionHeader, firstStateless)
	if doc, err := rawjson.Parse([]byte(body)); err == nil {
		r.Header.Set(methodHeader, doc.Root().Get("method").Text())
		if name := resourceOf(doc.Root()); name != "" {
			r.Header.Set(nameHeader, name)
		}
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if r.Header.Set(name, value); value == "" {
			r.Header.Del(name)
		}
	}
	return http.DefaultClient.Do(r)
}

func postAll(t *testing.T, url, body string, headers ...string) (status int, kind, text string) {
	t.Helper()
	resp, err := post(t, url, body, headers...)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("Content-Type"), string(raw)
}

// manyPrograms makes servers out of a function, and counts them.
type manyPrograms struct {
	mu      sync.Mutex
	started []*scriptedProgram
	answer  func(p *scriptedProgram, m *message) []string
}

// scriptedProgram is one of them.
type scriptedProgram struct {
	number  int
	of      *manyPrograms
	receive func([]byte)
	ended   func(error)
	lines   chan []byte
	once    sync.Once
	closed  atomic.Bool
	mu      sync.Mutex
	got     []string
}

func (x *manyPrograms) dial(_ context.Context, _ *Proxy, _ *session, receive func([]byte), ended func(error)) (connection, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	p := &scriptedProgram{number: len(x.started), of: x, receive: receive, ended: ended, lines: make(chan []byte, 1000)}
	x.started = append(x.started, p)
	go func() {
		for line := range p.lines {
			receive(line)
		}
		ended(nil)
	}()
	return p, nil
}

func (p *scriptedProgram) send(_ context.Context, raw []byte, _ []*message) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.got = append(p.got, string(raw))
	m, err := read(raw)
	if err != nil {
		return err
	}
	if p.closed.Load() {
		return errUntaken
	}
	for _, line := range p.of.answer(p, m) {
		p.lines <- []byte(line)
	}
	return nil
}

func (p *scriptedProgram) close() error {
	p.once.Do(func() { p.closed.Store(true); close(p.lines) })
	return nil
}

// speaks answers as a server that speaks the protocol without sessions, or only
// older versions. Its tool "say" is answered by what its argument says.
func speaks(stateless bool) func(p *scriptedProgram, m *message) []string {
	return func(p *scriptedProgram, m *message) []string {
		answer := func(result string) []string {
			return []string{`{"jsonrpc":"2.0","id":` + m.id + `,"result":` + result + `}`}
		}
		switch {
		case m.id == "" || m.method == "":
			return nil
		case m.method == "server/discover" && stateless:
			return answer(`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)
		case m.method == "initialize" && !stateless:
			return answer(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"logging":{}},"serverInfo":{"name":"old","version":"1"},"instructions":"Card 4111111111111111"}`)
		case m.method == "tools/list":
			return answer(`{"tools":[{"name":"say","inputSchema":{}},{"name":"wipe","inputSchema":{}}]}`)
		case m.method == "tools/call":
			text := m.root().Get("params").Get("arguments").Get("text").Text()
			return answer(fmt.Sprintf(`{"content":[{"type":"text","text":%q}],"odd": 1.50}`, fmt.Sprint(p.number, " ", text)))
		}
		return []string{string(errorAnswer(m.id, codeMethod, "There is no such method.", nil))}
	}
}

func sharedPrograms(t *testing.T, x *manyPrograms) (url string) {
	t.Helper()
	p, _ := testProxy(t, nil)
	programs := p.NewPrograms(t.Context(), x)
	t.Cleanup(programs.Close)
	return serve1(t, programs)
}

func say(id, text string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"say","arguments":{"text":"` + text + `"},` + meta + `}}}`
}

// TestStatelessProgram: clients without sessions are served by a program that
// speaks lines, whichever versions it speaks.
func TestStatelessProgram(t *testing.T) {
	for _, stateless := range []bool{true, false} {
		t.Run(fmt.Sprint(stateless), func(t *testing.T) {
			x := &manyPrograms{answer: speaks(stateless)}
			url := sharedPrograms(t, x)
			for _, tt := range []struct {
				name, body string
				headers    string
				status     int
				want       string
			}{
				{"a call", say("7.0", "hi"), "", 200, `{"jsonrpc":"2.0","id":7.0,"result":{"content":[{"type":"text","text":"0 hi"}],"odd": 1.50}}`},
				{"a text as id", say(`"reeve-1"`, "hi"), "", 200, `{"jsonrpc":"2.0","id":"reeve-1","result":{"content":[{"type":"text","text":"0 hi"}],"odd": 1.50}}`},
				{"another credential", say("1", "hi"), "Authorization: Bearer b", 200, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"1 hi"}],"odd": 1.50}}`},
				{"what is changed", say("1", "4111 1111 1111 1111"), "", 200, `"text":"0 ****`},
				{"what is denied", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wipe",` + meta + `}}}`, "", 200, `"text":"Denied by policy: Wiping is never allowed.`},
				{"a tool that is none", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"none",` + meta + `}}}`, "", 200, `Denied by policy: The server lists no tool of this name.`},
				{"discover", `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}}`, "", 200, `"supportedVersions":["2026-07-28"]`},
				{"no method", `{"jsonrpc":"2.0","id":1,"method":"nothing/here","params":{` + meta + `}}}`, "", 404, `"code":-32601`},
				{"a method of sessions", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{` + meta + `}}}`, "", 404, `"code":-32601`},
				{"a method of sessions, 2", `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug",` + meta + `}}}`, "", 404, `"code":-32601`},
				{"no version in the body", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`, "", 400, `"code":-32602`},
				{"no version in the header", say("1", "hi"), "Mcp-Protocol-Version: ", 400, `"code":-32020`},
				{"an older version in the header", say("1", "hi"), "Mcp-Protocol-Version: 2025-06-18", 400, `"code":-32020`},
				{"another name in the header", say("1", "hi"), "Mcp-Name: wipe", 400, `"code":-32020`},
				{"a batch", `[` + say("1", "hi") + `]`, "Mcp-Method: ", 400, `"code":-32600`},
				{"an answer", `{"jsonrpc":"2.0","id":1,"result":{}}`, "Mcp-Method: ", 400, `"code":-32600`},
				{"a notification", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"reeve-1"}}`, "", 202, ""},
			} {
				var headers []string
				if tt.headers != "" {
					headers = append(headers, tt.headers)
				}
				status, _, text := postAll(t, url, tt.body, headers...)
				if status != tt.status || !strings.Contains(text, tt.want) {
					t.Errorf("%s: %d %s, want %d %s", tt.name, status, text, tt.status, tt.want)
				}
				if strings.Contains(text, "4111") {
					t.Errorf("%s: %s", tt.name, text)
				}
			}
			for _, method := range []string{"GET", "DELETE"} {
				r, err := http.NewRequest(method, url, nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set(versionHeader, firstStateless)
				if resp, err := http.DefaultClient.Do(r); err != nil || resp.StatusCode != http.StatusMethodNotAllowed {
					t.Errorf("%s: %v, %v", method, resp, err)
				}
			}
			x.mu.Lock()
			defer x.mu.Unlock()
			if len(x.started) != 2 { // one for each credential
				t.Errorf("%d programs were started", len(x.started))
			}
			for _, line := range x.started[0].got {
				if strings.Contains(line, "cancelled") || strings.Contains(line, "setLevel") || strings.Contains(line, "wipe") {
					t.Errorf("the server got %s", line)
				}
			}
		})
	}
}

// TestStatelessVersion: a program that speaks only older versions speaks no
// newer one than the proxy does for it.
func TestStatelessVersion(t *testing.T) {
	url := sharedPrograms(t, &manyPrograms{answer: speaks(false)})
	status, _, text := postAll(t, url, strings.Replace(say("1", "hi"), "2026-07-28", "2030-01-01", 1), "Mcp-Protocol-Version: 2030-01-01")
	if want := `"data":{"supported":["2026-07-28"],"requested":"2030-01-01"}`; status != 400 || !strings.Contains(text, want) {
		t.Errorf("%d %s", status, text)
	}
}

// TestStatelessApart: two clients that number alike get each their own answers and
// progress, and nothing that is nobody's.
func TestStatelessApart(t *testing.T) {
	asked := make(chan struct{}, 2)
	release := make(chan struct{})
	x := &manyPrograms{}
	x.answer = func(p *scriptedProgram, m *message) []string {
		if m.method != "tools/call" {
			return speaks(true)(p, m)
		}
		go func() {
			asked <- struct{}{}
			<-release
			text := m.root().Get("params").Get("arguments").Get("text").Text()
			token := m.root().Get("params").Get("_meta").Get("progressToken").Raw()
			for _, line := range []string{
				`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"of ` + text + `"}}`,
				`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1,"message":"guessed"}}`,
				`{"jsonrpc":"2.0","id":"x","method":"roots/list"}`,
				`{"jsonrpc":"2.0","id":1,"result":{"content":"guessed"}}`,
				`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + string(token) + `,"progress":1,"message":"of ` + text + `"}}`,
				speaks(true)(p, m)[0],
				speaks(true)(p, m)[0],
			} {
				p.lines <- []byte(line)
			}
		}()
		return nil
	}
	url := sharedPrograms(t, x)
	var all sync.WaitGroup
	for _, text := range []string{"a", "b"} {
		all.Go(func() {
			body := strings.Replace(say("1", text), `"_meta":{`, `"_meta":{"progressToken":1,`, 1)
			_, kind, got := postAll(t, url, body)
			want := "event: message\ndata: " + `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1,"message":"of ` + text + `"}}` + "\n\n" +
				"event: message\ndata: " + `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"0 ` + text + `"}],"odd": 1.50}}` + "\n\n"
			if diff := cmp.Diff(want, got); diff != "" || kind != "text/event-stream" {
				t.Errorf("%s, %s (-want +got):\n%s", text, kind, diff)
			}
		})
	}
	<-asked
	<-asked
	close(release)
	all.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	program := x.started[0]
	for refused, deadline := 0, time.Now().Add(time.Minute); refused != 2; {
		if refused = 0; time.Now().After(deadline) {
			t.Fatal("the server's questions were not refused")
		}
		program.mu.Lock()
		for _, line := range program.got {
			if strings.Contains(line, `"id":"x","error"`) {
				refused++
			}
		}
		program.mu.Unlock()
	}
	if len(x.started) != 1 {
		t.Errorf("%d programs", len(x.started))
	}
}

// TestStatelessSmuggled: a client that guesses the proxy's ids, and puts them where a
// careless program looks, does not speak to another client.
func TestStatelessSmuggled(t *testing.T) {
	asked, release := make(chan struct{}), make(chan struct{})
	x := &manyPrograms{}
	x.answer = func(p *scriptedProgram, m *message) []string {
		text := m.root().Get("params").Get("arguments").Get("text").Text()
		if m.method != "tools/call" {
			return speaks(true)(p, m)
		}
		id := string(m.root().Get("id").Raw())
		if other := m.root().Get("answerTo"); other.Exists() { // as no protocol has it
			id = string(other.Raw())
		}
		answer := `{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[{"type":"text","text":"` + text + `"}]}}`
		if text != "mine" {
			return []string{answer}
		}
		go func() {
			close(asked)
			<-release
			// Nobody asked for it, and so nobody learns an id from it.
			p.lines <- []byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + id + `,"progress":1}}`)
			p.lines <- []byte(answer)
		}()
		return nil
	}
	url := sharedPrograms(t, x)
	var all sync.WaitGroup
	all.Go(func() {
		if status, kind, got := postAll(t, url, say("1", "mine")); status != http.StatusOK || kind != "application/json" || !strings.Contains(got, `"text":"mine"`) {
			t.Errorf("%d %s %s", status, kind, got)
		}
	})
	<-asked
	ctx, cancel := context.WithCancel(t.Context())
	for n := range 10 { // it is answered to somebody, or to nobody
		all.Go(func() {
			r, err := http.NewRequestWithContext(ctx, "POST", url, strings.NewReader(strings.Replace(say("1", "evil"), `"id":1`, fmt.Sprintf(`"id":1,"answerTo":"reeve-%d"`, n), 1)))
			if err != nil {
				t.Error(err)
				return
			}
			r.Header = http.Header{"Content-Type": {"application/json"}, versionHeader: {firstStateless}, methodHeader: {"tools/call"}, nameHeader: {"say"}}
			if resp, err := http.DefaultClient.Do(r); err == nil {
				resp.Body.Close()
			}
		})
	}
	x.mu.Lock()
	program := x.started[0]
	x.mu.Unlock()
	for deadline := time.Now().Add(time.Minute); ; {
		program.mu.Lock()
		evil := strings.Count(strings.Join(program.got, "\n"), `"text":"evil"`)
		program.mu.Unlock()
		if evil == 10 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d requests came", evil)
		}
	}
	close(release)
	cancel()
	all.Wait()
}

// chatty is a program that takes nothing until it has asked as many questions as a
// pipe would not hold the answers to.
type chatty struct {
	receive func([]byte)
	once    sync.Once
	ready   chan struct{}
}

func (x *chatty) dial(_ context.Context, _ *Proxy, _ *session, receive func([]byte), _ func(error)) (connection, error) {
	x.receive, x.ready = receive, make(chan struct{})
	return x, nil
}

func (x *chatty) send(_ context.Context, raw []byte, _ []*message) error {
	x.once.Do(func() {
		go func() {
			for n := range 1000 {
				x.receive(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`, n))
			}
			close(x.ready)
		}()
	})
	<-x.ready
	m, err := read(raw)
	if err == nil && m.request() {
		for _, line := range speaks(true)(&scriptedProgram{}, m) {
			go x.receive([]byte(line))
		}
	}
	return err
}

func (x *chatty) close() error { return nil }

// TestStatelessChatty: a program that speaks before it listens is heard.
func TestStatelessChatty(t *testing.T) {
	p, _ := testProxy(t, nil)
	url := serve1(t, p.NewPrograms(t.Context(), &chatty{}))
	if status, _, got := postAll(t, url, say("1", "hi")); status != http.StatusOK || !strings.Contains(got, `"0 hi"`) {
		t.Errorf("%d %s", status, got)
	}
}

// TestStatelessLastWords: what a program said before it ended is passed on, and one
// that ends at what it does not know is started once more.
func TestStatelessLastWords(t *testing.T) {
	x := &manyPrograms{}
	x.answer = func(p *scriptedProgram, m *message) []string {
		switch {
		case m.method == "server/discover":
			p.lines <- errorAnswer(m.id, codeMethod, "There is no such method.", nil)
			p.close()
			return nil
		case m.method == "tools/call":
			p.lines <- []byte(speaks(false)(p, m)[0])
			p.close()
			return nil
		}
		return speaks(false)(p, m)
	}
	url := sharedPrograms(t, x)
	for n := range 20 { // either could come first
		if status, _, got := postAll(t, url, say("1", "bye"), fmt.Sprint("Authorization: ", n)); status != http.StatusOK || !strings.Contains(got, ` bye"`) {
			t.Fatalf("%d %s", status, got)
		}
	}
}

// TestStatelessGone: who goes away cancels the request, and a program that ends
// is started again.
func TestStatelessGone(t *testing.T) {
	asked, cancelled := make(chan string, 1), make(chan string, 1)
	x := &manyPrograms{}
	x.answer = func(p *scriptedProgram, m *message) []string {
		params := m.root().Get("params")
		switch {
		case m.method == "notifications/cancelled":
			cancelled <- params.Get("requestId").Text()
			return nil
		case m.method == "tools/call" && params.Get("arguments").Get("text").Text() == "wait":
			asked <- m.root().Get("id").Text()
			return nil
		case m.method == "tools/call" && params.Get("arguments").Get("text").Text() == "end":
			p.close()
			return nil
		}
		return speaks(true)(p, m)
	}
	url := sharedPrograms(t, x)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "POST", url, strings.NewReader(say("1", "wait")))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, versionHeader: {firstStateless}, methodHeader: {"tools/call"}, nameHeader: {"say"}}
	done := make(chan error, 1)
	go func() {
		_, err := http.DefaultClient.Do(r)
		done <- err
	}()
	id := <-asked
	cancel()
	if err := <-done; err == nil {
		t.Error("an answer came")
	}
	if got := <-cancelled; got != id {
		t.Errorf("%s was cancelled, want %s", got, id)
	}
	if status, _, text := postAll(t, url, say("1", "end")); status != http.StatusBadGateway || !strings.Contains(text, "has ended") {
		t.Errorf("%d %s", status, text)
	}
	for deadline := time.Now().Add(time.Minute); ; {
		_, _, text := postAll(t, url, say("1", "hi"))
		if strings.Contains(text, `"1 hi"`) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(text)
		}
	}
}

// TestStatelessStream: what a server says to who listens for it goes there, under
// the id of the client's own request.
func TestStatelessStream(t *testing.T) {
	x := &manyPrograms{}
	x.answer = func(p *scriptedProgram, m *message) []string {
		if m.method == "subscriptions/listen" {
			return []string{`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"` + metaSubscription + `":` + m.id + `}}}`}
		}
		return speaks(true)(p, m)
	}
	url := sharedPrograms(t, x)
	resp, err := post(t, url, `{"jsonrpc":"2.0","id":5,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},`+meta+`}}}`)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	r := bufio.NewReader(resp.Body)
	r.ReadString('\n')
	line, err := r.ReadString('\n')
	if want := `data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"` + metaSubscription + `":5}}}` + "\n"; line != want {
		t.Errorf("%q, %v, want %q", line, err, want)
	}
}

// TestStatelessOldServer: a real client of the newest version before a real
// server that has never heard of it.
func TestStatelessOldServer(t *testing.T) {
	p, _ := testProxy(t, nil)
	t.Setenv("MEMORY_FILE_PATH", filepath.Join(t.TempDir(), "memory.json"))
	server := npm(t, "server-memory")
	programs := p.NewPrograms(t.Context(), Command(server[0], server[1:]...))
	t.Cleanup(programs.Close)
	c := connectAs(t, &mcp.StreamableClientTransport{Endpoint: serve1(t, programs)}, firstStateless)
	if v := c.InitializeResult().ProtocolVersion; v != firstStateless {
		t.Errorf("the client speaks %s", v)
	}
	if got := askWith(t, c, "create_entities", map[string]any{"entities": []any{map[string]any{"name": "Ann", "entityType": "person", "observations": []any{"card 4111 1111 1111 1111"}}}}); !strings.Contains(got, "card ****") {
		t.Error(got)
	}
	programs.mu.Lock()
	defer programs.mu.Unlock()
	if len(programs.programs) != 1 || len(programs.sessions) != 0 {
		t.Errorf("%d programs, %d sessions", len(programs.programs), len(programs.sessions))
	}
}

// answerUntilDeaf is a server that reads nothing any more once its tool was asked to
// be deaf. Which one it is it says by the id of its process.
func answerUntilDeaf() {
	readLines(os.Stdin, 16<<20, func(line []byte, _ bool) bool {
		m, err := read(line)
		if err != nil {
			return false
		}
		if m.root().Get("params").Get("arguments").Get("text").Text() == "deaf" {
			time.Sleep(time.Hour)
		}
		for _, answer := range speaks(true)(&scriptedProgram{number: os.Getpid()}, m) {
			fmt.Println(answer)
		}
		return true
	})
}

func deaf(t *testing.T) Server {
	t.Helper()
	t.Setenv("REEVE_TEST_SERVER", "deaf")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Command(program)
}

// TestSharedDeaf: a program that reads nothing any more is ended, those who wait for
// it are told, and the next who asks has another one.
func TestSharedDeaf(t *testing.T) {
	p, _ := testProxy(t, nil)
	programs := p.NewPrograms(t.Context(), deaf(t))
	programs.takes = time.Second
	t.Cleanup(programs.Close)
	url := serve1(t, programs)
	_, _, first := postAll(t, url, say("1", "hi"))
	var all sync.WaitGroup
	all.Go(func() {
		if status, _, got := postAll(t, url, say("1", "deaf")); status != http.StatusBadGateway || !strings.Contains(got, "The server has ended.") {
			t.Errorf("%d %s", status, got)
		}
	})
	for waits := 0; waits == 0; { // it has been sent
		programs.mu.Lock()
		for _, s := range programs.programs {
			s.mu.Lock()
			waits = len(s.waiting)
			s.mu.Unlock()
		}
		programs.mu.Unlock()
	}
	for { // more than a pipe holds: until one does not get all of it through
		status, _, got := postAll(t, url, say("2", strings.Repeat("x", 200<<10)))
		if status == http.StatusBadGateway && strings.Contains(got, "could not be reached") {
			break
		}
		if status != http.StatusOK || !strings.Contains(got, "xxx") { // before it was deaf
			t.Fatalf("%d %.200s", status, got)
		}
	}
	status, _, second := postAll(t, url, say("1", "hi"))
	if status != http.StatusOK || !strings.Contains(second, ` hi"`) || first == second {
		t.Errorf("%d %s, and before %s", status, second, first)
	}
	all.Wait()
}

// TestStdioDeaf: a program that reads nothing keeps who sends only until their
// context ends.
func TestStdioDeaf(t *testing.T) {
	p, _ := testProxy(t, nil)
	c, err := deaf(t).dial(t.Context(), p, nil, func([]byte) {}, func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.close() })
	if err := c.send(t.Context(), []byte(say("1", "deaf")), nil); err != nil {
		t.Fatal(err)
	}
	for range 3 { // who writes, and who waits for it
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if err := c.send(ctx, []byte(say("2", strings.Repeat("x", 200<<10))), nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		cancel()
	}
}

// swallows takes what nobody reads.
type swallows struct{}

func (swallows) send(context.Context, []byte, []*message) error { return nil }
func (swallows) close() error                                   { return nil }

// TestSharedEnded: who asks when the program has ended, or does not take anything any
// more, and has not been taken away yet, has another one.
func TestSharedEnded(t *testing.T) {
	for _, told := range []bool{true, false} {
		x := &manyPrograms{answer: speaks(true)}
		p, _ := testProxy(t, nil)
		programs := p.NewPrograms(t.Context(), x)
		t.Cleanup(programs.Close)
		url := serve1(t, programs)
		postAll(t, url, say("1", "hi"))
		programs.mu.Lock()
		var key [32]byte
		var s *shared
		for key, s = range programs.programs {
		}
		programs.mu.Unlock()
		if told {
			s.conn.close()
			for there := true; there; {
				programs.mu.Lock()
				_, there = programs.programs[key]
				programs.mu.Unlock()
			}
			programs.mu.Lock()
			s.conn = swallows{}        // as a pipe can, after its reader's end
			programs.programs[key] = s // as if it had not been taken away yet
			programs.mu.Unlock()
		} else {
			x.started[0].closed.Store(true) // it takes nothing, and nobody knows
		}
		if status, _, got := postAll(t, url, say("1", "hi")); status != http.StatusOK || !strings.Contains(got, `"1 hi"`) {
			t.Errorf("%v: %d %s", told, status, got)
		}
	}
}

// TestSharedCrowd: where as many programs run as may, that which was not used for
// longest makes room, whether it is shared or a session's; one that is used stays.
func TestSharedCrowd(t *testing.T) {
	x := &manyPrograms{}
	asked, release := make(chan struct{}), make(chan struct{})
	x.answer = func(p *scriptedProgram, m *message) []string {
		if m.root().Get("params").Get("arguments").Get("text").Text() == "wait" {
			close(asked)
			<-release
		}
		return speaks(true)(p, m)
	}
	p, _ := testProxy(t, nil)
	programs := p.NewPrograms(t.Context(), x)
	t.Cleanup(programs.Close)
	url := serve1(t, programs)
	var all sync.WaitGroup
	all.Go(func() {
		if status, _, got := postAll(t, url, say("1", "wait")); status != http.StatusOK || !strings.Contains(got, `"0 wait"`) {
			t.Errorf("%d %s", status, got)
		}
	})
	<-asked
	ask := func(who string) string {
		status, _, got := postAll(t, url, `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{`+meta+`}}}`, "Authorization: "+who)
		if status != http.StatusOK {
			t.Fatalf("%s: %d %s", who, status, got)
		}
		return got
	}
	ask("first")
	_, id, err := programs.begin(httptest.NewRequest("POST", "/mcp", nil)) // a session, used after it
	if err != nil {
		t.Fatal(err)
	}
	for n := range maxPrograms - 3 {
		ask(fmt.Sprint(n))
	}
	running := func() (session, first bool) {
		programs.mu.Lock()
		defer programs.mu.Unlock()
		if n := len(programs.sessions) + len(programs.programs); n > maxPrograms {
			t.Errorf("%d programs", n)
		}
		_, first = programs.programs[sha256.Sum256([]byte("first\n"))]
		return programs.sessions[id] != nil, first
	}
	if session, first := running(); !session || !first {
		t.Fatal(session, first)
	}
	ask("one more")
	if session, first := running(); !session || first {
		t.Error("the oldest, which was shared, should have ended:", session, first)
	}
	ask("and one more")
	if session, _ := running(); session {
		t.Error("the session should have ended")
	}
	for n := range maxPrograms {
		ask(fmt.Sprint("again ", n))
	}
	running()
	close(release)
	all.Wait()
}
