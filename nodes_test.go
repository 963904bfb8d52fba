package reeve_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"reeve.example/reeve"
	"reeve.example/reeve/a2g"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store/storetest"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

// cluster starts nodes that share a database, with one key for each role.
func cluster(t *testing.T, nodes int, settings map[string]string) (list []*running, url string) {
	t.Helper()
	url = storetest.Postgres(t)
	seed := filepath.Join(t.TempDir(), "seed")
	if err := os.WriteFile(seed, []byte(strings.Repeat("07", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	shared := map[string]string{"database": url, "ledger-seed": "file:" + seed}
	maps.Copy(shared, settings)
	first := start(t, maps.Clone(shared))
	first.seed = shared["ledger-seed"]
	list = append(list, first)
	for range nodes - 1 {
		list = append(list, first.beside(shared))
	}
	return list, url
}

// beside starts another node like this one, with the same keys and the same policy.
func (r *running) beside(settings map[string]string) *running {
	r.Helper()
	flags := map[string]string{"listen": "127.0.0.1:0", "data": r.TempDir(), "policy": r.file}
	maps.Copy(flags, settings)
	delete(flags, "policy-text")
	cfg, err := reeve.Load("", func(string) string { return "" }, flags)
	if err != nil {
		r.Fatal(err)
	}
	n, err := reeve.Open(r.Context(), cfg)
	if err != nil {
		r.Fatal(err)
	}
	other := &running{T: r.T, file: cfg.Policy, keys: r.keys}
	other.serve(n)
	return other
}

// cut ends the connections to a database.
func cut(t *testing.T, url string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	if _, err := c.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()`); err != nil {
		t.Fatal(err)
	}
}

// within waits until something is true, and fails when that takes longer than the time.
func within(t *testing.T, d time.Duration, what string, is func() bool) {
	t.Helper()
	for begin := time.Now(); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > d {
			t.Errorf("%s: not within %v", what, d)
			return
		}
	}
}

// atOnce is how long what is changed at one node may take to hold at the others.
const atOnce = time.Second

// TestNodesKeys revokes keys at one node: the other one's door is shut within a second,
// and what was opened there by the key ends; also when the database has broken off all
// connections, and when nobody is told of changes.
func TestNodesKeys(t *testing.T) {
	for _, how := range []string{"told", "after the connections were cut", "not told"} {
		t.Run(how, func(t *testing.T) {
			nodes, url := cluster(t, 2, nil)
			one, two := nodes[0], nodes[1]
			switch how {
			case "after the connections were cut":
				cut(t, url)
				for _, node := range nodes {
					within(t, 10*time.Second, "ready again", func() bool { code, _ := node.ask("", "GET", "/readyz", ""); return code == 200 })
				}
			case "not told":
				c, err := pgx.Connect(t.Context(), url)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close(t.Context())
				if _, err := c.Exec(t.Context(), `DROP FUNCTION reeve.tell CASCADE`); err != nil {
					t.Fatal(err)
				}
			}
			code, text := one.ask(identity.Admin, "POST", "/admin/keys", `{"name":"late","role":"agent"}`)
			secret := member(text, "secret")
			if code != 200 || secret == "" {
				t.Fatalf("%d %s", code, text)
			}
			late := *two
			late.keys = map[identity.Role]string{identity.Agent: secret}
			within(t, atOnce, "a new key is taken", func() bool {
				code, _ := late.ask(identity.Agent, "POST", "/", `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
				return code == 200
			})

			socket, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(two.url, "http")+"/a2g", &websocket.DialOptions{HTTPHeader: map[string][]string{"Authorization": {"Bearer " + secret}}})
			if err != nil {
				t.Fatal(err)
			}
			defer socket.CloseNow()
			ended := make(chan error, 1)
			go func() { _, _, err := socket.Read(context.Background()); ended <- err }()
			if code, text := one.ask(identity.Admin, "POST", "/admin/keys/revoke", `{"name":"late"}`); code != 200 {
				t.Fatalf("%d %s", code, text)
			}
			select {
			case err := <-ended:
				if websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
					t.Errorf("the socket ended with %v", err)
				}
			case <-time.After(atOnce):
				t.Errorf("the socket is open after %v", atOnce)
			}
			if code, text := late.ask(identity.Agent, "POST", "/", `{"jsonrpc":"2.0","id":1,"method":"ping"}`); code != 401 {
				t.Errorf("the revoked key: %d %s", code, text)
			}
		})
	}
}

// member is the value of the first member of a name that is a string.
func member(text, name string) string {
	_, after, _ := strings.Cut(text, `"`+name+`":"`)
	value, _, _ := strings.Cut(after, `"`)
	return value
}

// TestNodesSuspended suspends an agent at one node. At the other it is told by its
// socket, and every door denies what it asks for, within a second; and it may again
// when it is active again.
func TestNodesSuspended(t *testing.T) {
	nodes, _ := cluster(t, 2, map[string]string{"policy-text": governed})
	one, two := nodes[0], nodes[1]
	told := make(chan *a2g.Revoke, 8)
	c := two.agentOf("ws", "did:aeon:desk")
	c.OnRevoke = func(r *a2g.Revoke) { told <- r }
	if _, err := c.Register(t.Context(), &a2g.Register{CapabilitiesRequested: []string{"lookup"}}); err != nil {
		t.Fatal(err)
	}
	calls := 0
	ask := func() *a2g.Verdict {
		calls++
		v, err := c.Ask(t.Context(), intentFor("lookup", fmt.Sprint("i", calls), map[string]any{"n": calls}))
		if err != nil {
			var e *a2g.Error
			if errors.As(err, &e) {
				return &a2g.Verdict{Verdict: a2g.Denied}
			}
			t.Fatal(err)
		}
		return v
	}
	if v := ask(); v.Verdict != a2g.Approved {
		t.Fatalf("%+v", v)
	}
	for _, state := range []string{"suspended", "active", "suspended"} {
		if code, text := one.ask(identity.Admin, "POST", "/agents/did:aeon:desk", `{"state":"`+state+`","reason":"It is looked at."}`); code != 200 {
			t.Fatalf("%d %s", code, text)
		}
		if state == "active" {
			within(t, atOnce, "an active agent asks", func() bool { return ask().Verdict == a2g.Approved })
			continue
		}
		select {
		case r := <-told:
			if r.Reason != "It is looked at." {
				t.Errorf("%+v", r)
			}
		case <-time.After(atOnce):
			t.Errorf("it was not told within %v", atOnce)
		}
		if v := ask(); v.Verdict != a2g.Denied {
			t.Errorf("%+v", v)
		}
		code, text := two.ask(identity.Agent, "POST", "/", strings.ReplaceAll(transfer(calls+100), `"id":"clerk"`, `"id":"did:aeon:desk"`))
		if code != 200 || !strings.Contains(text, "agent.suspended") {
			t.Errorf("by another door: %d %s", code, text)
		}
	}
	select {
	case r := <-told:
		t.Errorf("it was told once more: %+v", r)
	case <-time.After(100 * time.Millisecond):
	}
}

// TestNodesApproval answers at one node what an agent waits for at the other: the wait
// ends with the answer.
func TestNodesApproval(t *testing.T) {
	nodes, _ := cluster(t, 2, map[string]string{"approvals-wait": "30s"})
	one, two := nodes[0], nodes[1]
	answered := make(chan string, 1)
	go func() {
		_, text := two.ask(identity.Agent, "POST", "/", transfer(1))
		answered <- text
	}()
	if code, text := one.answer(one.held(), "approve"); code != 200 {
		t.Fatalf("%d %s", code, text)
	}
	select {
	case text := <-answered:
		if !strings.Contains(text, `"decision":"allow"`) {
			t.Error(text)
		}
	case <-time.After(900 * time.Millisecond): // the poll alone would take a second
		t.Error("it waits although people have answered")
	}
}

// TestNodesDirective answers at one node what an agent asked for at the other, by whose
// connection it is told, once.
func TestNodesDirective(t *testing.T) {
	nodes, _ := cluster(t, 2, map[string]string{"policy-text": governed})
	one, two := nodes[0], nodes[1]
	told := make(chan string, 8)
	c := two.agentOf("ws", "did:aeon:desk")
	c.OnDirective = func(d *a2g.Directive) { told <- d.IntentID + " " + d.Verdict.Verdict }
	if _, err := c.Register(t.Context(), &a2g.Register{}); err != nil {
		t.Fatal(err)
	}
	for i, answer := range []string{"approve", "deny"} {
		held, err := c.Ask(t.Context(), intentFor("transfer", fmt.Sprint("i", i), map[string]any{"n": i}))
		if err != nil || held.Approval == nil {
			t.Fatalf("%+v, %v", held, err)
		}
		if code, text := one.answer(held.Approval.ID, answer); code != 200 {
			t.Fatalf("%d %s", code, text)
		}
		want := fmt.Sprint("i", i, " ", []string{a2g.Approved, a2g.Denied}[i])
		select {
		case got := <-told:
			if got != want {
				t.Errorf("%s, not %s", got, want)
			}
		case <-time.After(atOnce):
			t.Errorf("it was not told within %v", atOnce)
		}
	}
	select {
	case got := <-told:
		t.Errorf("it was told once more: %s", got)
	case <-time.After(100 * time.Millisecond):
	}
}

// ready is what /readyz says to this machine.
func (r *running) ready() (int, string) { return r.ask("", "GET", "/readyz", "") }

// metric is the value of a metric, as text.
func (r *running) metric(name string) string {
	_, text := r.ask(identity.Auditor, "GET", "/metrics", "")
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// TestNodesDiffer gives one of three nodes a policy of its own: all say so, in the list,
// at /readyz and as a metric; a reload at one node reaches the others, and names the one
// where it did not.
func TestNodesDiffer(t *testing.T) {
	nodes, url := cluster(t, 2, map[string]string{"nodes-name": "alike"})
	one, two := nodes[0], nodes[1]
	own := filepath.Join(t.TempDir(), "policy.yaml")
	put(t, own, bank)
	three := one.beside(map[string]string{"database": url, "ledger-seed": one.seed, "policy": own, "nodes-name": "three"})
	alike := func() {
		t.Helper()
		for _, r := range []*running{one, two, three} {
			within(t, 2*time.Second, "alike", func() bool {
				code, text := r.ready()
				return code == 200 && strings.Contains(text, `"nodes":"ok"`) && r.metric("reeve_nodes_policies") == "1" && r.metric("reeve_nodes") == "3"
			})
		}
	}
	alike()
	put(t, one.file, strings.Replace(bank, "bank", "other bank", 1))
	code, text := one.ask(identity.Admin, "POST", "/admin/policy/reload", "{}")
	if code != 200 || strings.Count(text, `"name":`) != 1 || !strings.Contains(text, `"name":"three"`) || !strings.Contains(text, `"changed":true`) {
		t.Errorf("%d %s", code, text)
	}
	for _, r := range []*running{one, two, three} {
		within(t, 2*time.Second, "all say so", func() bool {
			code, text := r.ready()
			return code == 200 && strings.Contains(text, "differ in their policy") && strings.Contains(text, "of alike, alike") && r.metric("reeve_nodes_policies") == "2"
		})
	}
	code, text = two.ask(identity.Auditor, "GET", "/nodes", "")
	if code != 200 || strings.Count(text, `"living":true`) != 3 || !strings.Contains(text, `"differences":["the nodes differ in their policy: `) {
		t.Errorf("%d %s", code, text)
	}
	if code, text := two.ask(identity.Admin, "POST", "/admin/backup", `{"file":"`+filepath.Join(t.TempDir(), "copy.db")+`"}`); code != 400 || !strings.Contains(text, "pg_dump") {
		t.Errorf("backup of PostgreSQL: %d %s, want 400 and what to use", code, text)
	}
	if code, text := two.ask(identity.Agent, "GET", "/nodes", ""); code != 403 {
		t.Errorf("an agent: %d %s", code, text)
	}
	// Where it cannot be read, it is said why.
	put(t, own, "version: what?")
	code, text = two.ask(identity.Admin, "POST", "/admin/policy/reload", "{}")
	if code != 200 || !strings.Contains(text, `"problem":"`) {
		t.Errorf("%d %s", code, text)
	}
	put(t, own, strings.Replace(bank, "bank", "other bank", 1))
	if code, text := three.ask(identity.Admin, "POST", "/admin/policy/reload", "{}"); code != 200 || strings.Contains(text, "elsewhere") {
		t.Errorf("%d %s", code, text)
	}
	alike()
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestNodesSame: of nodes that are to have the same policy, the one with another one
// answers nothing until it has that of most, and says so to load balancers.
func TestNodesSame(t *testing.T) {
	settings := map[string]string{"nodes-policy": "same", "policy-text": strings.Replace(bank, "rules:", "rules:\n  - {name: no wiping, tools: [wipe], effect: deny}", 1)}
	nodes, url := cluster(t, 2, settings)
	one := nodes[0]
	own := filepath.Join(t.TempDir(), "policy.yaml")
	put(t, own, bank)
	odd := one.beside(map[string]string{"database": url, "ledger-seed": one.seed, "policy": own, "nodes-policy": "same"})
	wipe := strings.Replace(transfer(1), `"toolId":"transfer"`, `"toolId":"wipe"`, 1)
	refused := func(r *running) bool {
		code, _ := r.ready()
		asked, text := r.ask(identity.Agent, "POST", "/", wipe)
		if asked == 200 && !strings.Contains(text, `"decision":"deny"`) {
			t.Errorf("a node with a weaker policy answers: %s", text)
		}
		return code == 503 && asked == 503
	}
	// From its first answer on: it has met the others before it serves.
	if !refused(odd) {
		t.Error("a node with another policy serves")
	}
	for _, r := range nodes {
		if code, text := r.ask(identity.Agent, "POST", "/", wipe); code != 200 || !strings.Contains(text, `"decision":"deny"`) {
			t.Errorf("the others: %d %s", code, text)
		}
		if code, text := r.ready(); code != 200 {
			t.Errorf("the others: %d %s", code, text)
		}
	}
	// Also by the operator's socket, which hooks ask, nothing is decided there.
	strong, err := os.ReadFile(one.file)
	if err != nil {
		t.Fatal(err)
	}
	put(t, own, string(strong))
	if code, text := odd.ask(identity.Admin, "POST", "/admin/policy/reload", "{}"); code != 200 {
		t.Errorf("%d %s", code, text)
	}
	within(t, 2*time.Second, "it serves again", func() bool {
		code, _ := odd.ask(identity.Agent, "POST", "/", wipe)
		return code == 200
	})
	// One that is given another policy while it serves, stops at once.
	put(t, own, bank)
	odd.ask(identity.Admin, "POST", "/admin/policy/reload", "{}")
	if !refused(odd) {
		t.Error("it serves by its new policy")
	}
}

// TestNodesOneLog: a node that was killed goes on with its log, and one that was taken
// for dead ends, so that never two write one.
func TestNodesOneLog(t *testing.T) {
	url := storetest.Postgres(t)
	seed := filepath.Join(t.TempDir(), "seed")
	put(t, seed, strings.Repeat("07", 32))
	data := t.TempDir()
	open := func(data string) *reeve.Node {
		cfg, err := reeve.Load("", func(string) string { return "" }, map[string]string{"listen": "127.0.0.1:0", "data": data, "database": url, "ledger-seed": "file:" + seed})
		if err != nil {
			t.Fatal(err)
		}
		n, err := reeve.Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	first := open(data)
	second := open(data) // beside the first, on its folder: another log
	if first.LogName() == second.LogName() {
		t.Error("two nodes that live have one log")
	}
	other := open(t.TempDir())
	defer other.Close()
	if other.LogName() == first.LogName() || other.LogName() == second.LogName() {
		t.Error("two nodes that live have one log")
	}
	for _, n := range []*reeve.Node{first, second} {
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
	}
	// What was given back is taken up.
	third := open(t.TempDir())
	if third.LogName() != first.LogName() {
		t.Errorf("the log %s, want %s", third.LogName(), first.LogName())
	}
	if err := third.Close(); err != nil {
		t.Fatal(err)
	}

	n := open(t.TempDir())
	defer n.Close()
	r := &running{T: t}
	served := make(chan error, 1)
	ready := make(chan string, 1)
	go func() { served <- n.Serve(t.Context(), func(url string) { ready <- url }) }()
	r.url = <-ready
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	if _, err := c.Exec(t.Context(), `UPDATE reeve.log SET epoch = epoch + 1 WHERE 'reeve.local/' || log = $1`, n.LogName()); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-served:
		if err == nil || !strings.Contains(err.Error(), "taken over") {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it goes on although another node has its log")
	}
}

// TestNodesLedger reads the logs of two nodes as one ledger: every record once, each log
// in its own order, and all in the order of their times; newest first the same backwards.
func TestNodesLedger(t *testing.T) {
	nodes, url := cluster(t, 2, nil)
	const rounds, each = 3, 100 // more than is read at once
	for i := range rounds {
		for k, r := range nodes {
			var calls []string
			for c := range each {
				calls = append(calls, strings.Replace(transfer((i*2+k)*each+c), "transfer", "look", 1))
			}
			if code, text := r.ask(identity.Agent, "POST", "/", "["+strings.Join(calls, ",")+"]"); code != 200 || strings.Count(text, `"allow"`) != each {
				t.Fatalf("%d %s", code, text)
			}
		}
	}
	cfg, err := reeve.Load("", func(string) string { return "" }, map[string]string{"data": t.TempDir(), "database": url})
	if err != nil {
		t.Fatal(err)
	}
	store, err := reeve.OpenReader(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	logs, err := ledger.AllLogs(t.Context(), store)
	if err != nil || len(logs) != 2 {
		t.Fatal(logs, err)
	}
	read := func(order ledger.Order) (ids []string) {
		t.Helper()
		var last time.Time
		err := ledger.Merge(t.Context(), store, logs, order, func(r *ledger.Record, _ []byte) error {
			if !last.IsZero() && (order == ledger.OldestFirst && r.Time.Before(last) || order == ledger.NewestFirst && r.Time.After(last)) {
				t.Errorf("%s of %v comes after one of %v", r.ID(), r.Time, last)
			}
			last, ids = r.Time, append(ids, r.ID())
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return ids
	}
	oldest, newest := read(ledger.OldestFirst), read(ledger.NewestFirst)
	slices.Reverse(newest)
	if d := cmp.Diff(oldest, newest); d != "" {
		t.Error(d)
	}
	next := map[string]int{}
	for _, id := range oldest {
		log, index, _ := strings.Cut(id, "-")
		if index != fmt.Sprint(next[log]) {
			t.Fatalf("the record %s, want index %d", id, next[log])
		}
		next[log]++
	}
	if len(next) != 2 || next["0"] < rounds*each || next["1"] < rounds*each {
		t.Errorf("%v", next)
	}
}

// TestNodesRate: what a principal may do in a second it may do at all nodes together, within
// a tenth, whichever it asks, and also once one of them is gone with what it had taken.
func TestNodesRate(t *testing.T) {
	const rate = 60
	nodes, _ := cluster(t, 3, map[string]string{"limits-rate": fmt.Sprint(rate)})
	load := func(over time.Duration, asked []*running) (answered int64) {
		var n atomic.Int64
		var group sync.WaitGroup
		end := time.Now().Add(over)
		for i := range 12 {
			r := asked[i%len(asked)]
			group.Go(func() {
				for time.Now().Before(end) {
					switch code, text := r.ask(identity.Agent, "POST", "/", `{"jsonrpc":"2.0","id":1,"method":"ping"}`); code {
					case 200:
						if time.Now().Before(end) {
							n.Add(1)
						}
					case 429:
					default:
						t.Errorf("%d %s", code, text)
						return
					}
				}
			})
		}
		group.Wait()
		return n.Load()
	}
	load(2*time.Second, nodes) // uses up what a silent principal has saved
	check := func(what string, got int64, seconds int) {
		t.Helper()
		if want := float64(rate * seconds); float64(got) > 1.1*want || float64(got) < 0.85*want { // the machine may be slow
			t.Errorf("%s: %d calls in %d seconds, want %v", what, got, seconds, want)
		}
	}
	check("at three nodes", load(3*time.Second, nodes), 3)
	check("at one", load(3*time.Second, nodes[:1]), 3)
	nodes[2].stop()
	check("at two, one has gone", load(3*time.Second, nodes[:2]), 3)
}

// TestNodesQuota: as many acts wait for people as a principal may have, of all nodes
// together, however many are asked for at once; and what was answered makes room.
func TestNodesQuota(t *testing.T) {
	for _, most := range []int{5, 200} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			nodes, _ := cluster(t, 3, map[string]string{"quotas-held": fmt.Sprint(most)})
			var held atomic.Int64
			var group sync.WaitGroup
			tries := most + most/2 + 30
			for i := range 12 {
				group.Go(func() {
					for n := i; n < tries; n += 12 {
						step := strings.NewReplacer(`"id":"s"`, fmt.Sprintf(`"id":"s%d"`, n)).Replace(transfer(n))
						code, text := nodes[n%3].ask(identity.Agent, "POST", "/", strings.Replace(step, `"250"`, fmt.Sprintf(`"%d"`, n), 1))
						if code != 200 {
							t.Errorf("%d %s", code, text)
						} else if strings.Contains(text, "approval_id") || strings.Contains(text, `"held`) {
							held.Add(1)
						}
					}
				})
			}
			group.Wait()
			stored := int64(0)
			for after := ""; ; {
				_, text := nodes[0].ask(identity.Approver, "GET", "/approvals?after="+after, "")
				stored += int64(strings.Count(text, `"state":"held"`))
				if after = member(text, "next"); after == "" {
					break
				}
			}
			if low := int64(most - most/10); stored > int64(most+most/10) || stored < low {
				t.Errorf("%d are held, want %d within a tenth", stored, most)
			}
			t.Logf("%d of %d are held (%d were said to be)", stored, most, held.Load())
		})
	}
}

// TestNodesPerMinute: the intents of an agent in a minute are counted at all nodes together.
func TestNodesPerMinute(t *testing.T) {
	nodes, _ := cluster(t, 2, map[string]string{"a2g-per-minute": "10", "policy-text": governed})
	if second := time.Now().Second(); second > 50 {
		time.Sleep(time.Duration(61-second) * time.Second) // the minute of the clock counts
	}
	approved := 0
	for i := range 30 {
		v, err := nodes[i%2].agentOf("http", "did:aeon:busy").Ask(t.Context(), intentFor("lookup", fmt.Sprint("i", i), map[string]any{"n": i}))
		if err == nil && v.Verdict == a2g.Approved {
			approved++
		}
	}
	if approved != 10 {
		t.Errorf("%d intents, want 10", approved)
	}
}

// TestNodesSession: what a session reads at one node it has read at all: an act that
// follows from it is denied at another.
func TestNodesSession(t *testing.T) {
	nodes, _ := cluster(t, 3, map[string]string{"policy-text": "version: 1\nname: taint\ndefault: allow\nrules: [{name: tainted, on: call, when: session.tainted, effect: deny, code: tainted}]\n"})
	call := func(step int) string { return strings.Replace(transfer(step), "transfer", "look", 1) }
	result := strings.NewReplacer(`"method":"steps/toolCallRequest"`, `"method":"steps/toolCallResult"`,
		`"toolCallRequest":{"toolId":"look","executionId":"e2","inputs":[{"name":"what","value":"250"}]}`,
		`"executionId":"e1","result":{"outputs":[{"kind":"text","text":"Somebody outside wrote this."}],"isError":false}`).Replace(call(2))
	for i, step := range []struct {
		at   int
		body string
		want string
	}{
		{0, call(1), `"decision":"allow"`}, {1, result, `"decision":"allow"`}, {2, call(3), `tainted`}, {0, call(4), `tainted`}, {1, call(5), `tainted`},
	} {
		if code, text := nodes[step.at].ask(identity.Agent, "POST", "/", step.body); code != 200 || !strings.Contains(text, step.want) {
			t.Errorf("step %d at node %d: %d %s, want %s", i, step.at, code, text, step.want)
		}
	}
}

// TestNodesOneUse: of twelve who ask at once at three nodes for what was agreed to once,
// one has it.
func TestNodesOneUse(t *testing.T) {
	nodes, _ := cluster(t, 3, nil)
	if code, text := nodes[0].ask(identity.Agent, "POST", "/", transfer(1)); code != 200 {
		t.Fatalf("%d %s", code, text)
	}
	if code, text := nodes[1].answer(nodes[1].held(), "approve"); code != 200 {
		t.Fatalf("%d %s", code, text)
	}
	var allowed atomic.Int64
	var group sync.WaitGroup
	for i := range 12 {
		group.Go(func() {
			code, text := nodes[i%3].ask(identity.Agent, "POST", "/", transfer(1))
			again := strings.Contains(text, `"repeat":true`) // the same step is answered as it was
			if code == 200 && strings.Contains(text, `"decision":"allow"`) && !again {
				allowed.Add(1)
			}
		})
	}
	group.Wait()
	if allowed.Load() != 1 {
		t.Errorf("%d were allowed, want one", allowed.Load())
	}
}

// TestNodesStream: a tree that is executed at one node is followed to its end at another.
func TestNodesStream(t *testing.T) {
	nodes, _ := cluster(t, 2, nil)
	code, text := nodes[0].ask(identity.Agent, "POST", "/tasks", `{"jsonrpc":"2.0","id":1,"method":"tasks.execute","params":{"tasks":[{"name":"T","schemas":{"method":"system_info_executor"},"inputs":{"resource":"cpu"}}]}}`)
	root := member(text, "root_task_id")
	if code != 200 || root == "" {
		t.Fatalf("%d %s", code, text)
	}
	code, text = nodes[1].ask(identity.Agent, "GET", "/tasks/"+root+"/events", "")
	if code != 200 || !strings.Contains(text, "task_completed") && !strings.Contains(text, `"completed"`) {
		t.Errorf("%d %s", code, text)
	}
}
