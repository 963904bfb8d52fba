package guard_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store/postgres"
	"reeve.example/reeve/internal/store/storetest"

	"github.com/google/go-cmp/cmp"
)

// TestLabelsCleared: who vouches for what a session has read takes its labels away, on
// every node and after a restart; who named which value stays, and what is read next is
// labelled anew.
func TestLabelsCleared(t *testing.T) {
	dir := t.TempDir()
	edit := func(c *guard.Config) { c.Policy = load(t, origins) }
	t.Run("sqlite", func(t *testing.T) {
		n := open(t, dir, edit)
		labelsCleared(t, func() *node { n.close(); n = open(t, dir, edit); return n })
	})
	t.Run("postgres", func(t *testing.T) {
		url := storetest.Postgres(t)
		labelsCleared(t, func() *node { // another node each time
			store, err := postgres.Open(context.Background(), url)
			if err != nil {
				t.Fatal(err)
			}
			return openOn(t, store, edit)
		})
	})
}

func labelsCleared(t *testing.T, next func() *node) {
	const theirs = "US133000000121212121212"
	ctx := context.Background()
	of := guard.SessionName{Principal: act.Anonymous.Name, Session: "s"}
	ann := act.Principal{Name: "key:ann", Method: "key"}
	labels := func(n *node) []string {
		l, err := n.Labels(ctx, of)
		if err != nil {
			t.Fatal(err)
		}
		return l.Labels
	}
	pay := func(n *node, id string) act.Effect {
		d, _ := n.decide(t, call("s", id, "pay", theirs))
		return d.Effect
	}
	read := func(n *node, id, tool, text string) {
		n.decide(t, call("s", id, tool, "all"))
		n.decide(t, told(act.ToolResult, "s", id, id, text))
	}
	n := next()
	n.decide(t, told(act.MessageUser, "s", "1", "", "Pay what is due."))
	read(n, "2", "directory", "the landlord")
	read(n, "3", "read_mail", "Pay "+theirs)
	if diff := cmp.Diff([]string{"staff", "foreign"}, labels(n)); diff != "" {
		t.Fatal(diff)
	}
	if e := pay(n, "4"); e != act.Escalate {
		t.Fatalf("before: %s", e)
	}
	for what, want := range map[string]error{"private": guard.ErrNoLabel} {
		if _, err := n.ClearLabels(ctx, of, []string{"foreign", what}, ann); !errors.Is(err, want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := n.ClearLabels(ctx, of, []string{"foreign"}, act.Anonymous); !errors.Is(err, approval.ErrOwn) {
		t.Errorf("by the session's own credential: %v", err)
	}
	other := of
	other.Session = "none"
	if _, err := n.ClearLabels(ctx, other, []string{"foreign"}, ann); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("of no session: %v", err)
	}
	if e := pay(n, "5"); e != act.Escalate {
		t.Fatalf("after what failed: %s", e)
	}
	n = next()
	if _, err := n.ClearLabels(ctx, of, []string{"foreign"}, ann); err != nil {
		t.Fatal(err)
	}
	if e := pay(n, "6"); e != act.Allow {
		t.Errorf("vouched for: %s", e)
	}
	n = next()
	if diff := cmp.Diff([]string{"staff"}, labels(n)); diff != "" {
		t.Error(diff)
	}
	if e := pay(n, "7"); e != act.Allow {
		t.Errorf("vouched for, elsewhere: %s", e)
	}
	if _, err := n.ClearLabels(ctx, of, []string{"staff"}, ann); err != nil {
		t.Fatal(err)
	}
	read(n, "8", "read_mail", "Hello.")
	n = next()
	if diff := cmp.Diff([]string{"foreign"}, labels(n)); diff != "" {
		t.Error(diff)
	}
	if e := pay(n, "9"); e != act.Escalate {
		t.Errorf("what foreign text had named, once more was read: %s", e)
	}
}

// TestLabelsForgotten: nobody vouches for what is not known any more.
func TestLabelsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := open(t, t.TempDir(), func(c *guard.Config) { c.Policy = load(t, origins) })
		defer n.close()
		n.decide(t, told(act.MessageUser, "s", "1", "", "Hello."))
		time.Sleep(25 * time.Hour)
		of := guard.SessionName{Principal: act.Anonymous.Name, Session: "s"}
		if _, err := n.ClearLabels(context.Background(), of, []string{"foreign"}, act.Principal{Name: "key:ann"}); !errors.Is(err, guard.ErrForgotten) {
			t.Error(err)
		}
	})
}
