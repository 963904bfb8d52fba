package reeve

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"reeve.example/reeve/internal/linear"
	"reeve.example/reeve/internal/server"
)

// BenchmarkDecide sends steps of new sessions through the node's whole handler,
// with its real store and without a network: what is left is what reeve adds.
// The processor's time and the allocations are what counts on a machine that does
// other work. See bench/ for the node against its yardsticks.
func BenchmarkDecide(b *testing.B) {
	rules := filepath.Join(b.TempDir(), "rules.yaml")
	var text bytes.Buffer
	text.WriteString("version: 1\nname: bench\ndefault: allow\nrules:\n")
	for i := range 100 {
		tool := fmt.Sprintf("tool_%d", i)
		if i%33 == 0 {
			tool = "read_file"
		}
		fmt.Fprintf(&text, "  - name: rule-%d\n    on: tool.call\n    tools: [%s]\n    when: args.path.startsWith(\"/etc/secret-%d\")\n    effect: deny\n    reason: This path is not for agents.\n", i, tool, i)
	}
	if err := os.WriteFile(rules, text.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	read := `"toolId":"read_file","inputs":[{"name":"path","value":"notes/loans/2026/april.txt"},{"name":"limit","value":200}]`
	command := `"toolId":"Bash","inputs":[{"name":"command","value":"cd src && grep -rn --include='*.go' \"func Test\" . | sort | head -20; go test ./..."},{"name":"description","value":"Lists tests and runs them"}]`
	edit := `"toolId":"Edit","inputs":[{"name":"file_path","value":"/home/oda/loans/src/due.go"},{"name":"old_string","value":` + fmt.Sprintf("%q", code[:900]) + `},{"name":"new_string","value":` + fmt.Sprintf("%q", code) + `}]`
	b.Run("rules", func(b *testing.B) { decide(b, step(desk, "", read), "policy", rules, "keep", "none") })
	b.Run("starter", func(b *testing.B) { decide(b, step(desk, "", read)) })
	// One caller, whose every step is a commit of its own.
	b.Run("alone", func(b *testing.B) { sendBy(b, 1, "/", step(desk, "", read), `"decision":"allow"`) })
	// As the hooks of coding agents send them: without tools, and with the folder that they work in.
	coder, folder := `"name":"coder","id":"coder-1","version":"2"`, `,"metadata":{"cwd":"/home/oda/loans"}`
	b.Run("command", func(b *testing.B) { decide(b, step(coder, folder, command)) })
	b.Run("edit", func(b *testing.B) { decide(b, step(coder, folder, edit)) })
	// In a folder that is there, of which reeve looks at what the call may touch.
	there := `,"metadata":{"cwd":` + fmt.Sprintf("%q", project(b)) + `}`
	b.Run("command/project", func(b *testing.B) { decide(b, step(coder, there, command)) })
	b.Run("send/project", func(b *testing.B) {
		decide(b, step(coder, there, `"toolId":"Bash","inputs":[{"name":"command","value":"git fetch origin && curl -s http://localhost:8080/health | jq .status"}]`))
	})
}

// project is a repository of 2,000 files in 200 folders, with a file of secrets.
func project(b *testing.B) string {
	root := b.TempDir()
	write := func(name, text string) {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for i := range 2000 {
		write(fmt.Sprintf("src/part%d/room%d/file%d.go", i/100, i/10, i), "package room\n")
	}
	write(".env", "DATABASE_URL=postgres://shop:"+strings.Repeat("q7", 8)+"@db.birch.example/shop\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@birch.example", "commit", "-qm", "a"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
	}
	return root
}

// code is a file of a program that has nothing wrong in it.
var code = strings.Repeat(`// Due returns the day on which a loan ends, as the branch counts its days.
func (l *Loan) Due(b *Branch) (time.Time, error) {
	if l.Returned != nil {
		return time.Time{}, fmt.Errorf("loan %d has been returned at %s", l.ID, l.Returned)
	}
	return b.Calendar.Add(l.Began, l.Days).Truncate(24 * time.Hour), nil
}

`, 8)

// tool is a tool as an agent declares it, and desk an agent that describes itself and four of them.
const tool = `{"name":"read_file","id":"read_file","description":"Reads a text file of the workspace","type":"function_call",` +
	`"arguments":[{"name":"path","type":"string","required":true,"description":"Path below the workspace."},{"name":"limit","type":"number","required":false}],` +
	`"outputs":[{"name":"text","type":"string","mimeType":"text/plain"}]}`

var desk = `"name":"Lending desk","id":"lend-1","description":"Front desk of a town library","version":"0.8.0",` +
	`"model":{"name":"Heron small","id":"heron-s-1","provider":{"name":"Heron Models"},"maxTokens":1024,"contextWindow":16000},` +
	`"tools":[` + strings.Repeat(tool+",", 3) + tool + `],"organization":{"id":"birch","name":"Birch Library"}`

var instructions = strings.Repeat("Help readers find and borrow books, answer from the catalogue, and never promise what the house rules do not allow. ", 5)

// step is an AOS step of an agent; each № in it becomes its number.
func step(agent, session, call string) string {
	return `{"jsonrpc":"2.0","id":"№","method":"steps/toolCallRequest","params":{"context":{"agent":{` + agent + `,"instructions":"` + instructions + `","provider":{"name":"Birch Library","url":"https://birch.example/it"}},` +
		`"session":{"id":"s-№"` + session + `},"turnId":"t-1","stepId":"st-№","timestamp":"` + time.Now().UTC().Format(time.RFC3339) + `","user":{"id":"reader-9","name":"Oda Lind","organization":{"id":"birch"}}},` +
		`"toolCallRequest":{"executionId":"x-№",` + call + `},"reasoning":"The reader asked when the loans of April are due, and the notes of April should say so."}}`
}

func decide(b *testing.B, body string, settings ...string) {
	send(b, "/", body, `"decision":"allow"`, settings...)
}

// BenchmarkIntent sends A2G intents for new acts in the same way.
func BenchmarkIntent(b *testing.B) {
	send(b, "/a2g", `{"jsonrpc":"2.0","id":"№","method":"a2g/intent","params":{"agent_did":"did:aeon:lending-desk:0.8:birch","intent_id":"550e8400-e29b-41d4-a716-№","tool":"read_file","arguments":{"path":"notes/loans/2026/april.txt","limit":200},`+
		`"context":{"session_id":"s-№","parent_intent":null,"reasoning":"The reader asked when the loans of April are due, and the notes of April should say so."}}}`, `"verdict":"APPROVED"`)
}

// BenchmarkCreate makes tasks.
func BenchmarkCreate(b *testing.B) {
	send(b, "/flow", `{"jsonrpc":"2.0","id":"№","method":"tasks.create","params":{"name":"Read the notes of April","schemas":{"method":"rest_executor"},"inputs":{"url":"https://birch.example/notes/2026/april","method":"GET"},"params":{"retry":{"max_attempts":3}}}}`, `"status"`)
}

// send has 64 callers ask a node again and again, each time with another number for №.
func send(b *testing.B, path, body, want string, settings ...string) {
	sendBy(b, 64, path, body, want, settings...)
}

func sendBy(b *testing.B, callers int, path, body, want string, settings ...string) {
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	set := map[string]string{"data": b.TempDir(), "quotas-tasks": "0", "quotas-task-bytes": "0", "quotas-intents": "0", "quotas-bytes": "0", "quotas-contents": "0"}
	for i := 0; i < len(settings); i += 2 {
		set[settings[i]] = settings[i+1]
	}
	s := benchServer(b, set)
	parts := bytes.Split([]byte(body), []byte("№"))
	var sequence atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	linear.Report(b, func() {
		var all sync.WaitGroup
		for range callers {
			all.Go(func() {
				for {
					i := sequence.Add(1)
					if i > int64(b.N) {
						return
					}
					body := bytes.Join(parts, fmt.Appendf(nil, "%012d", i))
					r := httptest.NewRequest("POST", "http://127.0.0.1:8080"+path, bytes.NewReader(body))
					r.Header.Set("Content-Type", "application/json")
					w := httptest.NewRecorder()
					s.ServeHTTP(w, r)
					if w.Code != http.StatusOK || !bytes.Contains(w.Body.Bytes(), []byte(want)) {
						b.Errorf("%d %s", w.Code, w.Body)
						return
					}
				}
			})
		}
		all.Wait()
	})
}

// benchServer serves a node of these settings, without a listener.
func benchServer(b *testing.B, set map[string]string) *server.Server {
	b.Helper()
	cfg, err := Load("", func(string) string { return "" }, set)
	if err != nil {
		b.Fatal(err)
	}
	n, err := Open(context.Background(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { n.Close() })
	s, err := server.New(n.serverConfig())
	if err != nil {
		b.Fatal(err)
	}
	return s
}
