package ledger_test

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store"

	"github.com/google/go-cmp/cmp"
)

// factsRead counts who reads facts, which only the index and questions do.
type factsRead struct {
	store.Store
	n atomic.Int64
}

func (s *factsRead) Facts(ctx context.Context, log uint32, from, to uint64, f func(uint64, []byte) error) error {
	s.n.Add(1)
	return s.Store.Facts(ctx, log, from, to, f)
}

// index is all pages of the segments of a log.
func index(t *testing.T, s ledger.Reader) map[ledger.Segment][]ledger.SegmentPage {
	t.Helper()
	list, err := s.Segments(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	all := map[ledger.Segment][]ledger.SegmentPage{}
	for _, seg := range list {
		at := ledger.Posting{Term: -1 << 63}
		for {
			page, err := s.SegmentPage(t.Context(), 0, seg, at, true)
			if err != nil {
				break
			}
			all[seg] = append(all[seg], page)
			at = page.Posting
		}
	}
	return all
}

// TestGathered: a segment is sealed from what was queued, without reading a record again, and is
// the one that reading would make. Where something was erased since its first record, it is read.
func TestGathered(t *testing.T) {
	t.Cleanup(ledger.SmallSegments())
	for _, erased := range []bool{false, true} {
		s := &factsRead{Store: openStore(t, t.TempDir())}
		l := openLog(t, s)
		r := rand.New(rand.NewPCG(7, 8))
		const n = 64
		for i := range n {
			wait(t, enqueue(t, l, someAct(r, i)))
			if erased && i == n-2 {
				if err := s.Erase(t.Context(), []act.Position{{Index: n - 3}}); err != nil {
					t.Fatal(err)
				}
			}
		}
		l.Close()
		made := index(t, s)
		if len(made) == 0 {
			t.Fatal("nothing was sealed")
		}
		// One may be read that the indexer looked for in the moment in which it was written.
		if read := s.n.Load(); erased && read == 0 || !erased && read > 2 {
			t.Errorf("with something erased %v, the facts of %d of %d segments were read again", erased, read, n/8)
		}
		if _, _, err := ledger.RebuildIndex(t.Context(), s, 0); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(index(t, s), made); d != "" {
			t.Errorf("with something erased %v, what was gathered differs from what is read (-read +gathered):\n%s", erased, d)
		}
		verifyOK(t, s)
	}
}
