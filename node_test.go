package reeve

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/internal/server"
	"reeve.example/reeve/internal/store"
	"reeve.example/reeve/internal/store/storetest"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

// openNode opens a node on a folder of the test; settings is flag, value, flag, …
func openNode(t *testing.T, settings ...string) *Node {
	t.Helper()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	flags := map[string]string{"data": t.TempDir()}
	for i := 0; i < len(settings); i += 2 {
		flags[settings[i]] = settings[i+1]
	}
	cfg, err := Load("", func(string) string { return "" }, flags)
	if err != nil {
		t.Fatal(err)
	}
	n, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	return n
}

// What is bounded of what people do to a node is so for all the doors to it together.
func TestOneOperator(t *testing.T) {
	n := openNode(t)
	if first, second := n.operator(), n.operator(); first != second {
		t.Error("each door has bounds of its own")
	}
}

// serving is what a node serves over HTTP.
func serving(t *testing.T, n *Node) http.Handler {
	t.Helper()
	cfg := n.serverConfig()
	cfg.Metrics = server.NewMetrics("test") // each server registers its own
	s, err := server.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// message is a step in which a user says something.
func message(user, step, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"steps/message","params":{"context":{"agent":{"name":"Lending desk","id":"lend-1","instructions":"Help.","version":"1","provider":{"name":"Birch","url":"https://birch.example"}},"session":{"id":"s-%s"},"turnId":"t","stepId":%q,"timestamp":"2026-04-02T08:15:00Z","user":{"id":%q,"organization":{"id":"birch"}}},"message":{"id":%q,"role":"user","content":[{"kind":"text","text":%q}]},"citation":[]}}`,
		user, step, user, "m-"+step, text)
}

// ask sends a request to a handler as somebody would who has a role.
func ask(h http.Handler, by act.Principal, role identity.Role, method, path, body string) (status int, answer string) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "localhost"
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r.WithContext(identity.NewContext(r.Context(), by, role)))
	return w.Code, w.Body.String()
}

// decided sends steps to the node, and returns their decisions' positions.
func decided(t *testing.T, n *Node, steps ...string) (list []act.Position) {
	t.Helper()
	s, err := server.New(n.serverConfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		status, answer := ask(s, act.Anonymous, identity.Agent, "POST", "/", step)
		_, id, _ := strings.Cut(answer, `"decision_id":"`)
		id, _, _ = strings.Cut(id, `"`)
		pos, err := act.ParsePosition(id)
		if status != 200 || err != nil {
			t.Fatalf("%d %s", status, answer)
		}
		list = append(list, pos)
	}
	return list
}

// TestLongNames: whatever name an agent goes by, who watches can still list what agents do.
func TestLongNames(t *testing.T) {
	n := openNode(t)
	h := serving(t, n)
	step := `{"jsonrpc":"2.0","id":1,"method":"steps/message","params":{"context":{"agent":{"name":"Lending desk","id":"AGENT","instructions":"Help.","version":"1","provider":{"name":"Birch","url":"https://birch.example"}},"session":{"id":"SESSION"},"turnId":"TURN","stepId":"STEP","timestamp":"2026-04-02T08:15:00Z","user":{"id":"oda","organization":{"id":"birch"}}},"message":{"id":"m","role":"user","content":[{"kind":"text","text":"hello"}]},"citation":[]}}`
	for _, of := range []string{"AGENT", "SESSION", "TURN", "STEP"} {
		for length, want := range map[int]string{1024: `"decision":"allow"`, 1025: "input.malformed", 1 << 20: "input.malformed"} {
			fill := strings.NewReplacer(of, strings.Repeat("ü", length/2)+strings.Repeat("x", length%2))
			_, answer := ask(h, act.Anonymous, identity.Agent, "POST", "/", strings.ReplaceAll(fill.Replace(step), "SESSION", of+strconv.Itoa(length)))
			if !strings.Contains(answer, want) || want == "input.malformed" && !strings.Contains(answer, `"deny"`) {
				t.Errorf("%s of %d bytes: %.300s", of, length, answer)
			}
			for _, path := range []string{"/api/v1/sessions", "/api/v1/decisions"} {
				if code, text := ask(n.Admin(), identity.Operator, identity.Admin, "GET", path, ""); code != 200 || len(text) > 512<<10 {
					t.Fatalf("%s after %s of %d bytes: %d, %d bytes: %.300s", path, of, length, code, len(text), text)
				}
			}
		}
	}
}

// spoiled is a store of which some openings cannot be read.
type spoiled struct {
	store.Store
	openings map[act.Position]error
	longPart error
}

func (s *spoiled) Opening(ctx context.Context, pos act.Position) ([]byte, error) {
	if err := s.openings[pos]; err != nil {
		return nil, err
	}
	return s.Store.Opening(ctx, pos)
}

func (s *spoiled) Part(ctx context.Context, hash [32]byte) ([]byte, error) {
	data, err := s.Store.Part(ctx, hash)
	if len(data) > 400 {
		return nil, s.longPart
	}
	return data, err
}

// TestEraseUser erases what a user left. What could not be read may be the
// user's, too: that is an error which tells how many there are.
func TestEraseUser(t *testing.T) {
	n := openNode(t)
	// Of another agent, with a long description, which is stored apart.
	long := strings.Replace(message("reader-9", "3", "three"), `"instructions":"Help."`, `"instructions":"`+strings.Repeat("Help readers. ", 40)+`"`, 1)
	long = strings.Replace(long, "s-reader-9", "another", 1)
	at := decided(t, n, message("reader-9", "1", "one"), message("reader-7", "1", "not mine"), message("reader-9", "2", "two"), long, message("reader-7", "2", "neither"))
	store := n.store
	erase := func(user string) (int, string) {
		return ask(n.Admin(), identity.Operator, identity.Admin, "POST", "/admin/erase", fmt.Sprintf(`{"user":%q}`, user))
	}
	kept := func() (list []int) {
		for i, pos := range at {
			if _, err := store.Opening(t.Context(), pos); err == nil {
				list = append(list, i)
			} else if !errors.Is(err, ledger.ErrNotFound) {
				t.Fatal(err)
			}
		}
		return list
	}
	broken := &spoiled{Store: store, openings: map[act.Position]error{at[2]: errors.New("disk I/O error"), at[4]: errors.New("disk I/O error")}, longPart: ledger.ErrNotFound}
	n.store = broken
	n.operator = sync.OnceValue(n.newOperator)

	status, answer := erase("reader-9")
	if status != 500 || !strings.Contains(answer, "1 erased, but the contents of 3 could not be read") ||
		!strings.Contains(answer, at[2].String()+": ") || !strings.Contains(answer, "disk I/O error") {
		t.Errorf("with three that cannot be read: %d %s", status, answer)
	}
	if diff := cmp.Diff([]int{1, 2, 3, 4}, kept()); diff != "" {
		t.Errorf("contents that are left (-want +got):\n%s", diff)
	}
	if status, answer = erase("nobody"); status != 500 || !strings.Contains(answer, "0 erased, but the contents of 3 could not be read") {
		t.Errorf("of nobody, with three that cannot be read: %d %s", status, answer)
	}

	n.store = store
	n.operator = sync.OnceValue(n.newOperator)
	if status, answer = erase("reader-9"); status != 200 || answer != `{"count":2}` {
		t.Errorf("when all can be read: %d %s", status, answer)
	}
	if diff := cmp.Diff([]int{1, 4}, kept()); diff != "" {
		t.Errorf("contents that are left (-want +got):\n%s", diff)
	}
	if status, answer = erase("reader-9"); status != 404 {
		t.Errorf("when nothing is left: %d %s", status, answer)
	}
}

// TestEraseHeld: what a user's held acts would do goes with the user's other contents, and is not answered any more.
func TestEraseHeld(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte("version: 1\nname: t\ndefault: allow\nrules:\n  - {name: ask, on: message.user, effect: escalate, reason: A person decides.}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	n := openNode(t, "policy", file)
	decided(t, n, message("reader-9", "1", "the sailing boat of mine"), message("reader-7", "1", "not mine"))
	admin := func(method, path, body string) string {
		_, answer := ask(n.Admin(), identity.Operator, identity.Admin, method, path, body)
		return answer
	}
	var list struct {
		Approvals []struct {
			ID string `json:"id"`
		} `json:"approvals"`
	}
	if err := json.Unmarshal([]byte(admin("GET", "/approvals", "")), &list); err != nil || len(list.Approvals) != 2 {
		t.Fatalf("held: %+v, %v", list, err)
	}
	if answer := admin("POST", "/admin/erase", `{"user":"reader-9"}`); !strings.Contains(answer, `"count":1`) {
		t.Fatal(answer)
	}
	left := admin("GET", "/approvals", "")
	if strings.Contains(left, "sailing boat") || strings.Contains(left, `"reader-9"`) || !strings.Contains(left, "not mine") {
		t.Errorf("held still: %s", left)
	}
	for _, a := range list.Approvals {
		if said := admin("GET", "/approvals/"+a.ID, ""); strings.Contains(said, "sailing boat") || strings.Contains(said, `"reader-9"`) {
			t.Errorf("shown still: %s", said)
		}
	}
	err := n.store.EachItem(t.Context(), func(i *ledger.Item) error {
		if strings.Contains(string(i.Data), `"reader-9"`) || strings.Contains(string(i.Data), "sailing boat") {
			t.Errorf("kept still: %s %s: %s", i.Kind, i.ID, i.Data)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// slowKeys is a store whose first list of keys comes late: it was read before, and
// arrives after, whatever happens meanwhile.
type slowKeys struct {
	store.Store
	later     atomic.Bool   // the first list was asked for
	read      chan struct{} // closed when the list has been read
	meanwhile chan struct{} // closed when something else was done
}

func (s *slowKeys) Keys(ctx context.Context) ([]identity.Key, error) {
	keys, err := s.Store.Keys(ctx)
	if !s.later.Swap(true) {
		close(s.read)
		select {
		case <-s.meanwhile:
		case <-time.After(200 * time.Millisecond): // it waits for us
		}
	}
	return keys, err
}

// TestRevokedStaysRevoked revokes a key while the keys are being read again.
func TestRevokedStaysRevoked(t *testing.T) {
	n := openNode(t)
	var key operator.KeyInfo
	admin := operator.Within(n.Admin())
	if err := admin.Ask(t.Context(), "POST", "/admin/keys", operator.KeyInfo{Name: "bot", Role: "agent"}, &key); err != nil {
		t.Fatal(err)
	}
	slow := &slowKeys{Store: n.store, read: make(chan struct{}), meanwhile: make(chan struct{})}
	n.keys.Store = slow
	var refresh sync.WaitGroup
	refresh.Go(func() {
		if err := n.keys.Reload(t.Context()); err != nil {
			t.Error(err)
		}
	})
	<-slow.read
	if err := admin.Ask(t.Context(), "POST", "/admin/keys/revoke", operator.KeyName{Name: "bot"}, &operator.KeyInfo{}); err != nil {
		t.Fatal(err)
	}
	close(slow.meanwhile)
	refresh.Wait()
	r := httptest.NewRequest("POST", "/", nil)
	r.Header.Set("Authorization", "Bearer "+key.Secret)
	if p, _, err := n.auth.Authenticate(r); err == nil {
		t.Errorf("the revoked key makes the caller %s", p.Name)
	}
}

// rule is a policy of one rule, told apart by its name.
func rule(name string) string {
	return "version: 1\ndefault: allow\nrules:\n  - name: " + name + "\n    on: [tool.call]\n    tools: [" + name + "]\n    effect: deny\n    reason: Not this one.\n"
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// reloads lists who had the policy reloaded, as the ledger has it.
func reloads(t *testing.T, n *Node) (list []string) {
	t.Helper()
	head, err := n.store.Head(t.Context(), n.log.Number())
	if err != nil {
		t.Fatal(err)
	}
	for i := range head.Size {
		pos := act.Position{Log: n.log.Number(), Index: i}
		r, _, err := ledger.ReadRecord(t.Context(), n.store, pos)
		if err != nil {
			t.Fatal(err)
		}
		if r.Kind != "admin.policy" {
			continue
		}
		o, err := ledger.ReadOpening(t.Context(), n.store, pos)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(o.Principal))
	}
	return list
}

// TestReload reloads the policy in every way there is: the newest text rules, and
// the ledger says who had it done.
func TestReload(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.yaml")
	write(t, file, rule("one"))
	n := openNode(t, "policy", file)
	hash := func(text string) string {
		t.Helper()
		write(t, file, text)
		set, err := LoadPolicy(file)
		if err != nil {
			t.Fatal(err)
		}
		return set.Hash()
	}

	// A reload that comes while another is under way reads what is there then.
	n.reload.Lock()
	second := hash(rule("two"))
	done := make(chan error, 1)
	go func() {
		_, err := n.ReloadPolicy(t.Context(), act.Principal{Name: "key:first", Method: "key"})
		done <- err
	}()
	time.Sleep(100 * time.Millisecond)
	third := hash(rule("three"))
	n.reload.Unlock()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := n.guard.Policy().Hash(); got != third {
		t.Errorf("the policy in force is %s, want the newest, %s; before it was %s", got, third, second)
	}

	reload := func(by act.Principal) (int, string) {
		return ask(n.Admin(), by, identity.Admin, "POST", "/admin/policy/reload", "{}")
	}
	fourth := hash(rule("four"))
	for _, changed := range []bool{true, false} {
		status, answer := reload(act.Principal{Name: "key:root", Method: "key"})
		if want := fmt.Sprintf(`{"policy":%q,"changed":%v}`, fourth, changed); status != 200 || answer != want {
			t.Errorf("%d %s, want %s", status, answer, want)
		}
	}
	write(t, file, "rules: [")
	if status, answer := reload(identity.Operator); status != 422 || n.guard.Policy().Hash() != fourth {
		t.Errorf("a broken policy: %d %s", status, answer)
	}
	hash(rule("five"))
	if status, answer := reload(identity.Operator); status != 200 {
		t.Errorf("%d %s", status, answer)
	}

	// The file itself, while the node serves.
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	n.cfg.Listen = "127.0.0.1:0"
	ready := make(chan string, 1)
	go func() { served <- n.Serve(ctx, func(url string) { ready <- url }) }()
	select {
	case <-ready:
	case err := <-served:
		t.Fatal(err)
	}
	sixth := ""
	for deadline := time.Now().Add(10 * time.Second); n.guard.Policy().Hash() != sixth; time.Sleep(20 * time.Millisecond) {
		if sixth == "" || time.Now().After(deadline.Add(-9*time.Second)) {
			sixth = hash(rule("six")) // the watching may begin after the node is ready
		}
		if time.Now().After(deadline) {
			t.Fatal("a changed file was not taken up")
		}
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	want := []string{
		`{"name":"operator","method":"local"}`, // at the start
		`{"name":"key:first","method":"key"}`, `{"name":"key:root","method":"key"}`,
		`{"name":"socket","method":"socket"}`, `{"name":"watch","method":"local"}`,
	}
	if diff := cmp.Diff(want, reloads(t, n)); diff != "" {
		t.Errorf("who reloaded (-want +got):\n%s", diff)
	}
}

// TestRoles maps the values of a token's claim to roles, and asks over HTTP.
func TestRoles(t *testing.T) {
	secret := strings.Repeat("s", 32)
	t.Setenv("REEVE_TEST_SECRET", secret)
	n := openNode(t, "listen", "127.0.0.1:0", "jwt-secret", "env:REEVE_TEST_SECRET", "jwt-audience", "reeve",
		"jwt-role-from", "realm_access.roles", "jwt-roles", "ou=guards=admin, readers=auditor, bots=agent")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	served, ready := make(chan error, 1), make(chan string, 1)
	go func() { served <- n.Serve(ctx, func(url string) { ready <- url }) }()
	var url string
	select {
	case url = <-ready:
	case err := <-served:
		t.Fatal(err)
	}
	get := func(path, claims string) string {
		encode := base64.RawURLEncoding.EncodeToString
		token := encode([]byte(`{"alg":"HS256"}`)) + "." + encode(fmt.Appendf(nil, `{"sub":"s","aud":"reeve","exp":%d%s}`, time.Now().Add(time.Minute).Unix(), claims))
		mac := hmac.New(sha256.New, []byte(secret))
		io.WriteString(mac, token)
		r, err := http.NewRequest("GET", url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token+"."+encode(mac.Sum(nil)))
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return fmt.Sprintf("%d %s", resp.StatusCode, body)
	}
	for _, tt := range []struct{ path, claims, want string }{
		{"/admin/keys", `,"realm_access":{"roles":["offline","ou=guards"]}`, "200 []"},
		{"/admin/keys", `,"realm_access":{"roles":["readers"]}`, `403 {"error":"Your role is auditor, which may not do this."}`},
		{"/admin/keys", `,"realm_access":{"roles":"bots"}`, `403 {"error":"Your role is agent, which may not do this."}`},
		{"/admin/keys", ``, `403 {"error":"Your role is agent, which may not do this."}`},
		{"/admin/keys", `,"realm_access":{"roles":["admin"]}`, `401 {"error":"The token names no role that is known here."}`},
		{"/admin/keys", `,"role":"admin"`, `403 {"error":"Your role is agent, which may not do this."}`},
		{"/decisions/0-999", `,"realm_access":{"roles":["readers"]}`, `404 {"error":"there is no decision 0-999"}`},
	} {
		if got := get(tt.path, tt.claims); got != tt.want {
			t.Errorf("%s with %s: %s\nwant %s", tt.path, tt.claims, got, tt.want)
		}
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// TestOwners opens two nodes of one host and process on one database, as two
// containers are: neither takes the other's log.
func TestOwners(t *testing.T) {
	url := storetest.Postgres(t)
	seed := filepath.Join(t.TempDir(), "seed")
	if err := os.WriteFile(seed, []byte(strings.Repeat("07", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	one, two := openNode(t, "database", url, "ledger-seed", "file:"+seed), openNode(t, "database", url, "ledger-seed", "file:"+seed)
	// Who has another seed is told so, before anything is written.
	cfg, err := Load("", func(string) string { return "" }, map[string]string{"data": t.TempDir(), "database": url})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := Open(t.Context(), cfg); !errors.Is(err, ledger.ErrOtherSeed) {
		t.Errorf("a node with a seed of its own: %v", err)
		n.Close()
	}
	if one.log.Number() == two.log.Number() {
		t.Errorf("both nodes have log %d", one.log.Number())
	}
	for user, n := range map[string]*Node{"reader-7": one, "reader-9": two} {
		if pos := decided(t, n, message(user, "1", "one"))[0]; pos.Log != n.log.Number() {
			t.Errorf("the decision %s is not in log %d", pos, n.log.Number())
		}
	}
}
