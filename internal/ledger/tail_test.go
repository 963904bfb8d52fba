package ledger_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/internal/ledger"

	"github.com/google/go-cmp/cmp"
)

// TestFollow: who follows gets each line once, in order, while it is written; who comes
// back with where he was misses nothing and gets nothing twice.
func TestFollow(t *testing.T) {
	s := openStore(t, t.TempDir())
	l := openLog(t, s)
	r := rand.New(rand.NewPCG(7, 8))
	go func() {
		for i := range 1000 {
			ticket, err := l.Enqueue(l.Generation(), someAct(r, i))
			if err != nil {
				return
			}
			if i%50 == 0 {
				ticket.Wait(t.Context())
			}
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var got []string
	at, enough := "0-0", errors.New("enough")
	for len(got) < 1000 {
		places, err := ledger.ParsePlaces(at)
		if err != nil {
			t.Fatal(err)
		}
		part := 0
		err = l.Tail().Follow(ctx, s, ledger.Query{}, places, func(line *ledger.Line, now ledger.Places) error {
			got, at = append(got, line.Decision), now.String()
			if part++; part == 300 || len(got) == 1000 {
				return enough
			}
			return nil
		})
		if !errors.Is(err, enough) {
			t.Fatalf("after %d: %v", len(got), err)
		}
	}
	var want []string
	for _, l := range allLines(t, s, 0) {
		want = append(want, l.Decision)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, text := range []string{"", "x", "0-1,0-2", "0-1,", strings.Repeat("0-1,", 5), "0-1;1-1", "-1-0"} {
		if p, err := ledger.ParsePlaces(text); !errors.Is(err, ledger.ErrQuery) {
			t.Errorf("%q: %v, %v", text, p, err)
		}
	}
	if err := l.Tail().Follow(ctx, s, ledger.Query{Text: "x"}, nil, nil); !errors.Is(err, ledger.ErrQuery) {
		t.Errorf("a text is followed: %v", err)
	}
}
