package reeve

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/bom"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/replay"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

// partly is a step of an agent with tools, as it describes itself.
func partly(step, tools, method, rest string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"context":{"agent":{"name":"Lending desk","id":"lend-1","instructions":"Help.","version":"1","provider":{"name":"Birch","url":"https://birch.example"},
		"model":{"id":"m-1","name":"M","provider":{"name":"Maker"}},"tools":[%s],"mcpServers":[{"name":"files","version":"2"}]},"session":{"id":"s-%s"},"turnId":"t","stepId":%q,"timestamp":"2026-04-02T08:15:00Z","user":{"id":"mara","organization":{"id":"birch"}}},%s}}`, method, tools, step, step, rest)
}

func calling(step, tools, tool string) string {
	return partly(step, tools, "steps/toolCallRequest", fmt.Sprintf(`"toolCallRequest":{"executionId":%q,"toolId":%q,"inputs":[]}`, "x-"+step, tool))
}

// allowAll is a policy that allows everything.
func allowAll(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte("version: 1\nname: all\ndefault: deny\nrules: [{name: all, effect: allow}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// asks sends a step to the node, with an API key or without.
func asks(t *testing.T, n *Node, key, step string) (status int, answer string) {
	t.Helper()
	s := serving(t, n)
	r := httptest.NewRequest("POST", "/", strings.NewReader(step))
	r.Host = "localhost"
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// actsOf has an agent ask about steps that are allowed.
func actsOf(t *testing.T, n *Node, key string, steps ...string) {
	t.Helper()
	for _, step := range steps {
		if code, text := asks(t, n, key, step); code != 200 || !strings.Contains(text, `"decision":"allow"`) {
			t.Fatalf("%d %s", code, text)
		}
	}
}

func billOf(t *testing.T, n *Node, agent, query string) (r bom.Report) {
	t.Helper()
	code, text := ask(n.Admin(), identity.Operator, identity.Auditor, "GET", "/api/v1/agents/"+url.PathEscape(agent)+"/bom"+query, "")
	if code != 200 {
		t.Fatalf("%d %s", code, text)
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// shown is a bill's components, each on a line.
func shown(r bom.Report) (lines []string) {
	for _, c := range r.Components {
		line := fmt.Sprintf("%s %s", c.Type, c.Name)
		for mark, is := range map[string]bool{" gone": c.Gone, " undeclared": c.Undeclared, " unused": c.Unused} {
			if is {
				line += mark
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// TestBOM: an agent's bill has what it says of itself and what it used, grows a version when
// that changes and only then, is the same when it is made anew, and forgets what was erased.
func TestBOM(t *testing.T) {
	n := openNode(t, "policy", allowAll(t))
	const reads, both = `{"id":"read","name":"Read","type":"function","arguments":null,"outputs":null},{"id":"spare","name":"Spare","type":"function","arguments":null,"outputs":null}`, `{"id":"read","name":"Read","type":"function","arguments":null,"outputs":null,"description":"now with more"},{"id":"spare","name":"Spare","type":"function","arguments":null,"outputs":null}`
	actsOf(t, n, "", calling("1", reads, "read"), calling("2", reads, "read"))
	r := billOf(t, n, "lend-1", "")
	want := []string{"model m-1", "tool read", "tool spare unused", "mcp_server files unused"}
	if diff := cmp.Diff(want, shown(r)); diff != "" || r.Version != 1 || r.Name != "Lending desk" || r.Supplier != "Birch" || r.Told == "" || r.Policy == "" {
		t.Errorf("%+v (-want +got):\n%s", r, diff)
	}
	serial := r.Serial
	actsOf(t, n, "", calling("3", reads, "read"))
	if r = billOf(t, n, "lend-1", ""); r.Version != 1 {
		t.Errorf("version %d with nothing new", r.Version)
	}
	actsOf(t, n, "", calling("4", both, "read"), calling("5", both, "shell"))
	r = billOf(t, n, "lend-1", "")
	if diff := cmp.Diff(slices.Insert(want, 2, "tool shell undeclared"), shown(r)); diff != "" || r.Version != 2 || r.Serial != serial {
		t.Errorf("version %d (-want +got):\n%s", r.Version, diff)
	}
	var said []string
	for _, c := range r.Changes {
		said = append(said, c.What+" "+c.Name)
	}
	if diff := cmp.Diff([]string{"changed read", "came shell"}, said); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	// What is made anew is what was kept.
	if err := n.bills.Anew(t.Context(), identity.Operator, false); err != nil {
		t.Fatal(err)
	}
	again := billOf(t, n, "lend-1", "")
	if diff := cmp.Diff(r, again); diff != "" {
		t.Errorf("(-kept +made anew):\n%s", diff)
	}

	// What is erased is in no bill any more.
	if code, text := ask(n.Admin(), identity.Operator, identity.Admin, "POST", "/admin/erase", `{"user":"mara"}`); code != 200 {
		t.Fatalf("%d %s", code, text)
	}
	code, text := ask(n.Admin(), identity.Operator, identity.Auditor, "GET", "/api/v1/agents/lend-1/bom", "")
	if code != 404 {
		t.Errorf("after all was erased: %d %s", code, text)
	}
}

// TestBOMDocuments: documents that the node gives out hold offline, with the key of its log;
// what is asked for wrongly is refused, and who has no role for it sees none.
func TestBOMDocuments(t *testing.T) {
	n := openNode(t, "policy", allowAll(t))
	actsOf(t, n, "", calling("1", `{"id":"read","name":"Read","type":"function","arguments":null,"outputs":null}`, "read"))
	key := n.log.VerifierKey()
	for _, format := range bom.Formats {
		c := operator.Within(n.Admin())
		document, statement, err := c.Document(t.Context(), "/api/v1/agents/lend-1/bom?format="+string(format))
		if err != nil {
			t.Fatal(err)
		}
		v, err := bom.Verify(document, statement, key)
		if err != nil || v.Version != 1 || v.Agent != "lend-1" || time.Since(v.Created) > time.Hour || v.Log != n.LogName() {
			t.Errorf("%s: %+v, %v", format, v, err)
		}
	}
	for path, want := range map[string]int{
		"/api/v1/agents/nobody/bom": 404, "/api/v1/agents/lend-1/bom?principal=key:x": 404, "/api/v1/agents/lend-1/bom?format=pdf": 400, "/api/v1/agents/lend-1/bom?since=soon": 400,
		"/api/v1/agents/lend-1/bom?since=9": 400, "/api/v1/agents/lend-1/bom?since=24h": 200, "/api/v1/boms": 200, "/api/v1/agents/lend-1/bom?principal=anonymous": 200,
	} {
		if code, text := ask(n.Admin(), identity.Operator, identity.Auditor, "GET", path, ""); code != want {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	for _, role := range []identity.Role{identity.Agent, identity.Approver} {
		for _, path := range []string{"/api/v1/agents/lend-1/bom", "/api/v1/boms", "/api/v1/agents/lend-1/bom?format=swid"} {
			if code, _ := ask(n.Admin(), act.Principal{Name: "key:x"}, role, "GET", path, ""); code != http.StatusForbidden {
				t.Errorf("%s as %s: %d", path, role, code)
			}
		}
	}
}

// TestBOMOfOthers: who bears another agent's name has a bill of its own.
func TestBOMOfOthers(t *testing.T) {
	n := openNode(t, "policy", allowAll(t))
	actsOf(t, n, "", calling("1", `{"id":"read","name":"Read","type":"function","arguments":null,"outputs":null}`, "read"))
	code, text := ask(n.Admin(), identity.Operator, identity.Admin, "POST", "/admin/keys", `{"name":"mallory","role":"agent"}`)
	var made struct {
		Key string `json:"secret"`
	}
	if err := json.Unmarshal([]byte(text), &made); code != 200 || err != nil {
		t.Fatalf("%d %s", code, text)
	}
	actsOf(t, n, made.Key, calling("2", `{"id":"exfiltrate","name":"x","type":"function","arguments":null,"outputs":null}`, "exfiltrate"))
	if code, text := ask(n.Admin(), identity.Operator, identity.Auditor, "GET", "/api/v1/agents/lend-1/bom", ""); code != 409 {
		t.Errorf("%d %s", code, text)
	}
	if lines := strings.Join(shown(billOf(t, n, "lend-1", "?principal=anonymous")), "\n"); strings.Contains(lines, "exfiltrate") || !strings.Contains(lines, "tool read") {
		t.Errorf("what another did is in it:\n%s", lines)
	}
}

// TestNewTool: a tool that an agent never used is held where a rule asks for that, until
// somebody has agreed to its use. Neither naming it, nor asking again, nor another's use of it,
// nor a name that nobody has seen makes it known; and once it was let through it is.
func TestNewTool(t *testing.T) {
	folder := t.TempDir()
	put := func(text string) *policy.Set {
		t.Helper()
		set, err := policy.Load(policy.File{Name: "p.yaml", Data: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	const open, held = "version: 1\ndefault: allow\nrules: [{name: all, effect: allow}]\n", "version: 1\ndefault: allow\nrules: [{name: new-tools, on: call, check: tool.new, effect: escalate}]\n"
	write(t, filepath.Join(folder, "policy.yaml"), open)
	n := openNode(t, "policy", filepath.Join(folder, "policy.yaml"))
	const names = `{"id":"read","name":"Read","type":"function","arguments":null,"outputs":null},{"id":"wipe","name":"Wipe","type":"function","arguments":null,"outputs":null}`
	step := 0
	calls := func(tool, want string) {
		t.Helper()
		step++
		code, text := asks(t, n, "", calling(fmt.Sprint(step), names, tool))
		if code != 200 || !strings.Contains(text, want) {
			t.Errorf("call %d, of %s: %d %s, want %s", step, tool, code, text, want)
		}
	}
	const allowed, stopped = `"decision":"allow"`, `new-tools`
	calls("read", allowed)
	if err := n.guard.SetPolicy(t.Context(), put(held), identity.Operator); err != nil {
		t.Fatal(err)
	}
	calls("read", allowed) // the bill is made when it is asked for
	for range 3 {
		calls("wipe", stopped) // declared, and asked for again and again
	}
	calls("Wipe", stopped)
	calls("wip\u0435", stopped) // with a Cyrillic letter
	n.readBills(t.Context())
	calls("wipe", stopped)

	// Another agent has used it: that is no use of this one's.
	other := strings.Replace(calling("o", names, "wipe"), `"id":"lend-1"`, `"id":"lend-2"`, 1)
	if _, text := asks(t, n, "", other); !strings.Contains(text, stopped) {
		t.Errorf("an agent that is not known: %s", text)
	}
	list, _, _, err := n.guard.Approvals(t.Context(), true, true, "", 0)
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	for _, h := range list {
		if strings.Contains(h.What, "wipe") && h.Agent == "lend-1" {
			if _, err := n.guard.Answer(t.Context(), h.ID, act.Principal{Name: "key:boss", Method: "key"}, guard.Reply{Agree: true, Seen: h.Seen}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, again := range []string{"3", "4", "5"} { // as somebody agreed
		if _, text := asks(t, n, "", calling(again, names, "wipe")); !strings.Contains(text, allowed) {
			t.Errorf("what was agreed to: %s", text)
		}
	}
	n.readBills(t.Context())
	calls("wipe", allowed) // as it is known now
	if _, text := asks(t, n, "", strings.Replace(other, `"stepId":"o"`, `"stepId":"o2"`, 1)); strings.Contains(text, allowed) {
		t.Errorf("the other agent: %s", text)
	}

	// Of what was decided while nobody asked it cannot be told what would have been new; of
	// the rest the same is said again.
	key, err := guard.DeriveKeys(func(use string) ([]byte, error) { return ledger.DeriveKey(make([]byte, 32), use) })
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{held: 1, "version: 1\ndefault: allow\nrules: [{name: new-tools, on: call, when: violates(\"tool.new\"), effect: escalate}]\n": 1, open: 0} {
		r, err := replay.Run(t.Context(), n.store, put(text), replay.Options{Keys: key})
		if err != nil || r.Because[replay.Bill] != want || text != open && r.Changed != 0 {
			t.Errorf("%s: %+v, %v, want %d that cannot be told", text, r, err, want)
		}
	}
}
