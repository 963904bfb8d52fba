package reeve_test

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"reeve.example/reeve/internal/identity"

	"github.com/coder/websocket"
)

// TestOnlyActorsAsk: the keys of those who look are no agents' keys, by any door that takes them (ACS takes signatures).
func TestOnlyActorsAsk(t *testing.T) {
	r := start(t, nil)
	asks := []struct{ path, body string }{
		{"/", transfer(1)},
		{"/aos", transfer(2)},
		{"/", `{"jsonrpc":"2.0","id":1,"method":"a2g/register","params":{}}`},
		{"/a2g", `{"jsonrpc":"2.0","id":1,"method":"a2g/intent","params":{}}`},
		{"/a2g", `{"jsonrpc":"2.0","id":1,"method":"a2g/report","params":{}}`},
		{"/a2g", `{"jsonrpc":"2.0","id":1,"method":"a2g/heartbeat","params":{}}`},
		{"/aos", `{"jsonrpc":"2.0","id":1,"method":"protocols/MCP","params":{}}`},
		{"/flow", `{"jsonrpc":"2.0","id":1,"method":"tasks.create","params":{"name":"x"}}`},
		{"/mcp/judge", `{}`}, {"/mcp/tools", `{}`}, {"/mcp/await", `{}`},
		{"/a2a", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}}`},
		{"/rest/message:send", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}`},
		{"/v1/message:send", `{"message":{"messageId":"m","role":"ROLE_USER","content":[{"text":"x"}]}}`},
	}
	_, before := r.ask(identity.Admin, "GET", "/admin/status", "")
	for _, role := range []identity.Role{identity.Approver, identity.Auditor} {
		for _, q := range asks {
			code, text := r.ask(role, "POST", q.path, q.body)
			if code != 403 && !(code == 200 && strings.Contains(text, `"error":{"code":-3`) && (strings.Contains(text, "look") || strings.Contains(text, "Ask with the credential of an agent"))) {
				t.Errorf("%s at %s: %d %s", role, q.path, code, text)
			}
		}
		socket, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(r.url, "http")+"/", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + r.keys[role]}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := socket.Write(t.Context(), websocket.MessageText, []byte(transfer(4))); err != nil {
			t.Fatal(err)
		}
		if _, answer, err := socket.Read(t.Context()); err != nil || !strings.Contains(string(answer), `"error":{"code":-32`) {
			t.Errorf("%s by a WebSocket: %s, %v", role, answer, err)
		}
		socket.CloseNow()
		if _, text := r.ask(role, "POST", "/aos", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}`); strings.Contains(text, `"code":-32000`) {
			t.Errorf("%s does not learn whether the node lives: %s", role, text)
		}
	}
	if _, after := r.ask(identity.Admin, "GET", "/admin/status", ""); after != before {
		t.Errorf("the ledger was %s and is %s", before, after)
	}
	for _, role := range []identity.Role{identity.Agent, identity.Admin} {
		if code, text := r.ask(role, "POST", "/aos", transfer(3)); code != 200 || strings.Contains(text, "-32000") {
			t.Errorf("%s does not ask: %d %s", role, code, text)
		}
	}
}

// TestLedgerPublic: who reads the ledger's proofs is a setting.
func TestLedgerPublic(t *testing.T) {
	const nobody = identity.Role("")
	for _, tt := range []struct {
		public string
		may    map[identity.Role]int
	}{
		{"auto", map[identity.Role]int{nobody: 401, identity.Agent: 200, identity.Auditor: 200}},
		{"true", map[identity.Role]int{nobody: 200, identity.Agent: 200, identity.Auditor: 200}},
		{"false", map[identity.Role]int{nobody: 401, identity.Agent: 403, identity.Approver: 403, identity.Auditor: 200, identity.Admin: 200}},
	} {
		t.Run(tt.public, func(t *testing.T) {
			r := start(t, map[string]string{"ledger-public": tt.public})
			for role, want := range tt.may {
				for _, path := range []string{"/ledger/0/checkpoint", "/ledger/key", "/ledger/0/receipt/0"} {
					if code, text := r.ask(role, "GET", path, ""); code != want {
						t.Errorf("%q: %s: %d %s, want %d", role, path, code, text, want)
					}
				}
			}
		})
	}
}

// TestThreat06ContentTypes: however a request names the type of its body, it is read
// strictly as JSON and judged, or not read at all.
func TestThreat06ContentTypes(t *testing.T) {
	r := start(t, nil)
	types := [][]string{
		{"application/json"}, {"Application/JSON"}, {"application/json; charset=utf-8"}, {"application/json;charset=UTF-8"}, {"application/json ; charset=\"utf-8\""},
		{"application/json; charset=utf-16"}, {"application/json; charset=utf-7"}, {"application/json; charset=ibm037"}, {"application/json;"}, {" application/json"},
		{"application/json, text/plain"}, {"text/plain"}, {"text/json"}, {"application/x-www-form-urlencoded"}, {"multipart/form-data; boundary=x"}, {""}, nil,
		{"application/json", "text/plain"}, {"text/plain", "application/json"}, {"application/jsonx"}, {"application/vnd.api+json"}, {"application/grpc"}, {"*/*"}, {"application/json\u00a0"},
	}
	codings := []string{"", "identity", "gzip", "GZIP", "deflate", "br", "gzip, identity", "x-gzip", "zstd"}
	doors := []struct{ path, body string }{
		{"/", transfer(1)}, {"/aos", transfer(2)},
		{"/mcp/judge", `{"server":"s","message":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"transfer\",\"arguments\":{\"what\":\"250\"}}}"}`},
		{"/admin/policy/reload", `{}`}, {"/approvals/none", `{"answer":"approve"}`}, {"/agents/did:x", `{"state":"revoked"}`},
	}
	for _, door := range doors {
		for _, kind := range types {
			for _, coding := range codings {
				if coding != "" && len(kind) > 0 && kind[0] != "application/json" {
					continue
				}
				q, err := http.NewRequest("POST", r.url+door.path, strings.NewReader(door.body))
				if err != nil {
					t.Fatal(err)
				}
				q.Header["Content-Type"] = kind
				if coding != "" {
					q.Header.Set("Content-Encoding", coding)
				}
				role := identity.Agent
				if !strings.HasPrefix(door.path, "/mcp") && len(door.path) > 4 {
					role = identity.Admin
				}
				q.Header.Set("Authorization", "Bearer "+r.keys[role])
				resp, err := http.DefaultClient.Do(q)
				if err != nil {
					t.Fatal(err)
				}
				text, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				plain := len(kind) == 1 && strings.HasPrefix(strings.ToLower(strings.TrimSpace(kind[0])), "application/json") && !strings.Contains(kind[0], ",") &&
					!strings.HasSuffix(kind[0], "x") && (coding == "" || coding == "identity")
				if read := resp.StatusCode != 415; read != plain {
					t.Errorf("%s as %q %q: %d %s", door.path, kind, coding, resp.StatusCode, text)
				}
				if strings.Contains(string(text), `"decision":"allow"`) {
					t.Errorf("%s as %q %q is allowed: %s", door.path, kind, coding, text)
				}
			}
		}
	}
}

// TestThreat25TaskQuota: of 100 parallel calls no more are carried out than there is room
// for; another has room of its own, and what has ended makes room.
func TestThreat25TaskQuota(t *testing.T) {
	r := start(t, map[string]string{"quotas-tasks": "20", "quotas-task-bytes": "1000000"})
	create := func(role identity.Role, text string) (id string, reason string) {
		_, answer := r.ask(role, "POST", "/flow", `{"jsonrpc":"2.0","id":1,"method":"tasks.create","params":[{"name":"x","inputs":{"text":"`+text+`"}}]}`)
		var a struct {
			Result struct {
				ID string `json:"root_task_id"`
			}
			Error struct {
				Code int
				Data struct{ Reason string }
			}
		}
		if err := json.Unmarshal([]byte(answer), &a); err != nil {
			t.Error(answer)
		}
		if a.Error.Code != 0 && a.Error.Code != -32603 {
			t.Error(answer)
		}
		if a.Error.Code == 0 && a.Result.ID == "" {
			if found := regexp.MustCompile(`"id":"([0-9a-f-]{36})"`).FindStringSubmatch(answer); found != nil {
				a.Result.ID = found[1]
			}
		}
		return a.Result.ID, a.Error.Data.Reason
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var made []string
	for range 100 {
		wg.Go(func() {
			if id, reason := create(identity.Agent, "a"); reason == "" {
				mu.Lock()
				made = append(made, id)
				mu.Unlock()
			} else if !strings.Contains(reason, "20 tasks") {
				t.Error(reason)
			}
		})
	}
	wg.Wait()
	if len(made) != 20 {
		t.Errorf("%d tasks were made, and 20 are allowed", len(made))
	}
	if _, reason := create(identity.Admin, "a"); reason != "" {
		t.Errorf("an admin: %s", reason)
	}
	time.Sleep(1100 * time.Millisecond) // until it is counted again
	for _, id := range made[:5] {
		if code, text := r.ask(identity.Agent, "POST", "/flow", `{"jsonrpc":"2.0","id":1,"method":"tasks.delete","params":{"task_id":"`+id+`"}}`); code != 200 || strings.Contains(text, `"error"`) {
			t.Fatalf("%d %s", code, text)
		}
	}
	id, reason := create(identity.Agent, "a")
	if reason != "" {
		t.Fatalf("after five were deleted: %s", reason)
	}
	if _, reason := create(identity.Agent, strings.Repeat("x", 1_100_000)); !strings.Contains(reason, "1000000 bytes") {
		t.Errorf("a task beyond the bytes: %q", reason)
	}
	if _, text := r.ask(identity.Agent, "POST", "/flow", `{"jsonrpc":"2.0","id":1,"method":"tasks.update","params":{"task_id":"`+id+`","inputs":{"text":"`+strings.Repeat("x", 1_100_000)+`"}}}`); !strings.Contains(text, "1000000 bytes") {
		t.Errorf("a task that grows beyond the bytes: %.300s", text)
	}
}
