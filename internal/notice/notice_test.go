package notice

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/store"
	"reeve.example/reeve/internal/store/postgres"
	"reeve.example/reeve/internal/store/sqlite"
	"reeve.example/reeve/internal/store/storetest"
)

// node is a guard that asks about every call, with a teller, on a clock that stands.
type node struct {
	*guard.Guard
	*Teller
	log   *ledger.Log
	store store.Store
	now   *time.Time
}

func openNode(t *testing.T, s store.Store, name string, now *time.Time, cfg Config) *node {
	t.Helper()
	log, err := ledger.Open(t.Context(), ledger.Config{Store: s, Origin: "test", Seed: make([]byte, 32), Owner: name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	set, err := policy.Load(policy.File{Name: "test.yaml", Data: []byte("version: 1\ndefault: allow\nrules: [{name: ask, on: call, effect: escalate}]\n")})
	if err != nil {
		t.Fatal(err)
	}
	n := &node{log: log, store: s, now: now}
	n.Guard, err = guard.New(t.Context(), guard.Config{
		Log: log, Store: s, Policy: set, Now: func() time.Time { return *now },
		Beside:  func(ctx context.Context, h *approval.Decision) (*guard.Item, error) { return n.Teller.Beside(ctx, h) },
		Observe: func(_ context.Context, _ *act.Action, d *act.Decision, _ time.Duration) { n.Teller.Held(d.Approval.ID) },
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Guard, cfg.Node, cfg.Now = n.Guard, name, func() time.Time { return *now }
	n.Teller = New(cfg)
	return n
}

func openStore(t *testing.T) store.Store {
	t.Helper()
	s, err := sqlite.Open(t.TempDir(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// hold has an act be held, and returns its approval.
func (n *node) hold(t *testing.T, id string) string {
	t.Helper()
	a := &act.Action{
		Door: "aos", Kind: act.ToolCall, Principal: act.Anonymous, Agent: act.Agent{ID: "clerk\x1b[2K"}, Session: "s", Step: id, ID: id, Resource: "pay", Canonical: "pay",
		Arguments: []act.Argument{{Name: "what", Value: []byte(`"` + id + ` to Birch"`), Pointer: "/what"}},
		Body:      []byte(`{"what":"` + id + ` to Birch"}`), Digest: act.Digest{byte(len(id)), id[0], id[len(id)-1]},
	}
	d, _, err := n.Decide(t.Context(), a)
	if err != nil || d.Effect != act.Escalate {
		t.Fatalf("%v %+v", err, d)
	}
	return d.Approval.ID
}

// target remembers what it was told, and fails as often as it is to.
type target struct {
	mu    sync.Mutex
	told  []Notice
	fails int
	err   error
}

func (x *target) send(_ context.Context, n *Notice) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.fails > 0 {
		x.fails--
		return x.err
	}
	x.told = append(x.told, *n)
	return nil
}

// TestTell: each act is told once, of its contents nothing unless that is set.
func TestTell(t *testing.T) {
	for _, contents := range []bool{false, true} {
		now, x := time.Now(), &target{}
		n := openNode(t, openStore(t), "a", &now, Config{Targets: []Target{{"x", x.send}}, Contents: contents, URL: "https://reeve.example"})
		id := n.hold(t, "5")
		n.hold(t, "5") // the same again
		n.tellAll(t.Context())
		n.tellAll(t.Context())
		if len(x.told) != 1 || x.told[0].Approval != id || x.told[0].Decision == "" || x.told[0].Rules[0] != "ask" || x.told[0].Agent != "clerk⟨U+001B⟩[2K" {
			t.Fatalf("told %+v", x.told)
		}
		text := x.told[0].Title() + x.told[0].Text()
		if got := strings.Contains(text, "Birch"); got != contents || !strings.Contains(text, id) || !strings.Contains(text, "https://reeve.example") {
			t.Errorf("contents %v: %s", contents, text)
		}
	}
}

// TestRetry: what fails is tried again with backoff, and given up where it waits no more,
// or trying again changes nothing.
func TestRetry(t *testing.T) {
	now, x, y := time.Now(), &target{fails: 2, err: io.EOF}, &target{}
	n := openNode(t, openStore(t), "a", &now, Config{Targets: []Target{{"x", x.send}, {"y", y.send}}})
	n.hold(t, "1")
	for range 20 {
		n.tellAll(t.Context())
		now = now.Add(time.Second)
	}
	if len(x.told) != 1 || len(y.told) != 1 {
		t.Errorf("told %d and %d times", len(x.told), len(y.told))
	}
	x.fails = 1000
	held := n.hold(t, "2")
	n.tellAll(t.Context())
	if _, err := n.Answer(t.Context(), held, act.Principal{Name: "key:a"}, guard.Reply{}); err != nil {
		t.Fatal(err)
	}
	left := x.fails
	for range 100 {
		now = now.Add(time.Second)
		n.tellAll(t.Context())
	}
	if x.fails != left || len(n.ours) != 0 {
		t.Errorf("it was told of what was answered: %d tries, %v", left-x.fails, n.ours)
	}
	x.err = fmt.Errorf("%w: no desktop", ErrNever)
	n.hold(t, "3")
	left = x.fails
	for range 100 {
		now = now.Add(time.Second)
		n.tellAll(t.Context())
	}
	if x.fails != left-1 {
		t.Errorf("it was tried %d times where that changes nothing", left-x.fails)
	}
	x.err = io.EOF
	n.hold(t, "4")
	left = x.fails
	for range 10_000 {
		now = now.Add(time.Second)
		n.tellAll(t.Context())
	}
	if tries := left - x.fails; tries < 5 || tries > 12 || len(n.ours) != 0 {
		t.Errorf("it was given up after %d tries: %v", tries, n.ours)
	}
}

// TestMany: what nobody would read one by one is told of together.
func TestMany(t *testing.T) {
	now, x := time.Now(), &target{}
	n := openNode(t, openStore(t), "a", &now, Config{Targets: []Target{{"x", x.send}}})
	for i := range 40 {
		n.hold(t, fmt.Sprintf("%c%c", 'a'+i%26, 'a'+i/26))
		n.tellAll(t.Context())
		n.sumUp(t.Context())
	}
	if len(x.told) != perMinute {
		t.Errorf("told one by one: %d", len(x.told))
	}
	now = now.Add(time.Minute)
	n.sumUp(t.Context())
	if len(x.told) != perMinute+1 || x.told[perMinute].More != 30 || !strings.Contains(x.told[perMinute].Title(), "30 further acts") {
		t.Errorf("told together: %+v", x.told[perMinute:])
	}
	n.hold(t, "zz")
	n.tellAll(t.Context())
	if len(x.told) != perMinute+2 {
		t.Errorf("in the next minute: %d", len(x.told))
	}
}

// TestUnusual: a cause is told once, tried again where it fails, without contents of which
// a terminal would make something else; and many are told of together, beside acts that
// wait.
func TestUnusual(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now, x := time.Now(), &target{fails: 2, err: errors.New("not now")}
		n := New(Config{Targets: []Target{{"x", x.send}}, Now: func() time.Time { return now }, URL: "https://reeve.example"})
		n.Unusual(t.Context(), "clerk\x1b[2K", "0-7", "a tool that it never used")
		if len(x.told) != 1 {
			t.Fatalf("told %+v", x.told)
		}
		text := x.told[0].Title() + "\n" + x.told[0].Text()
		for _, want := range []string{"clerk⟨U+001B⟩[2K does what", "a tool that it never used", "reeve why 0-7", "https://reeve.example"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not in %s", want, text)
			}
		}
		if strings.Contains(text, "approve") {
			t.Errorf("nobody is asked: %s", text)
		}
		for range 30 {
			n.Unusual(t.Context(), "a", "0-8", "more of it than is usual")
		}
		if !n.count(&n.acts, now) {
			t.Error("acts that wait are not told of one by one")
		}
		now = now.Add(time.Minute)
		n.sumUp(t.Context())
		if len(x.told) != perMinute+1 || x.told[perMinute].More != 21 || !strings.Contains(x.told[perMinute].Title(), "21 further causes") {
			t.Errorf("told together: %d, %+v", len(x.told), x.told[len(x.told)-1])
		}
		x.fails, x.err = 100, ErrNever
		now = now.Add(time.Minute)
		n.Unusual(t.Context(), "a", "0-9", "more of it than is usual")
		if x.fails != 99 {
			t.Errorf("what changes nothing was tried %d times", 100-x.fails)
		}
	})
}

// TestTakeUp: what a node that is gone was to tell, another tells, one of them.
func TestTakeUp(t *testing.T) {
	ctx, url := context.Background(), storetest.Postgres(t)
	open := func() store.Store {
		s, err := postgres.Open(ctx, url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	now, x, y, z := time.Now(), &target{}, &target{}, &target{}
	gone := openNode(t, open(), "a", &now, Config{Targets: []Target{{"x", x.send}}})
	b := openNode(t, open(), "b", &now, Config{Targets: []Target{{"x", y.send}}})
	c := openNode(t, open(), "c", &now, Config{Targets: []Target{{"x", z.send}}})
	gone.hold(t, "1")
	look := func() {
		var both sync.WaitGroup
		for _, n := range []*node{b, c} {
			both.Go(func() { n.takeUp(ctx); n.tellAll(ctx) })
		}
		both.Wait()
	}
	if look(); len(y.told)+len(z.told) != 0 {
		t.Fatal("told while another has the lease")
	}
	now = now.Add(lease + time.Second)
	look()
	gone.tellAll(ctx) // it was only slow
	if len(x.told)+len(y.told)+len(z.told) != 1 {
		t.Errorf("told %d, %d and %d times", len(x.told), len(y.told), len(z.told))
	}
}

// TestRun: the loop tells what becomes durable while it runs, over HTTP.
func TestRun(t *testing.T) {
	got := make(chan string, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- string(body)
	}))
	defer s.Close()
	hook, err := Webhook("hook", Plain, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	n := openNode(t, openStore(t), "a", &now, Config{Targets: []Target{hook}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { n.Run(ctx); close(done) }()
	id := n.hold(t, "1")
	select {
	case body := <-got:
		if !strings.Contains(body, id) {
			t.Errorf("told %s", body)
		}
	case <-time.After(20 * time.Second):
		t.Error("nobody was told")
	}
	cancel()
	<-done
	report, err := ledger.Verify(t.Context(), n.store, ledger.VerifyOptions{Log: n.log.Number(), TrustedKey: n.log.VerifierKey()})
	if err != nil || !report.OK() {
		t.Error(err, report)
	}
	if _, err := Webhook("", "irc", s.URL, nil); err == nil {
		t.Error("any form is one")
	}
	if _, err := Webhook("", Plain, "ftp://x", nil); err == nil {
		t.Error("any URL is one")
	}
	if !errors.Is(fmt.Errorf("%w: x", ErrNever), ErrNever) {
		t.Error("never")
	}
}
