package storetest

import (
	"fmt"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
)

// items: they are written with their record or not at all, in the order of the
// batch, and found by name, by state and by time.
func items(t *testing.T, s *suite) {
	w := s.writer()
	ctx := t.Context()
	_, err := s.Item(ctx, "approval", "a")
	s.is(err, ledger.ErrNotFound)
	none, err := s.Items(ctx, ledger.ItemQuery{Kind: "approval"})
	s.check(err)
	s.diff("items of an empty store", 0, len(none))

	claim := func(id string) []ledger.Claim {
		return []ledger.Claim{{Key: ledger.ItemKey("approval", id), First: true}}
	}
	item := func(id string, open bool, due time.Time, data string) ledger.Item {
		return ledger.Item{Kind: "approval", ID: id, Open: open, Due: due, Data: []byte(data), Seal: []byte("seal of " + data)}
	}
	at := func(hours int) time.Time { return Epoch.Add(time.Duration(hours) * time.Hour) }
	s.commit(w,
		Entry{Record: Record(0, 10), Claims: claim("b"), Items: []ledger.Item{item("b", true, at(1), "b0")}},
		Entry{Record: Record(1, 10), Claims: claim("a"), Items: []ledger.Item{item("a", true, at(2), "a1"), {Kind: "agent", ID: "a"}}},
		Entry{Record: Record(2, 10), Items: []ledger.Item{item("b", true, at(3), "b2")}},
		Entry{Record: Record(3, 10), Items: []ledger.Item{item("é", false, at(1), "e3")}},
	)
	// Of an entry that loses, nothing is written.
	lost, err := w.Commit(ctx, Entry{Record: Record(4, 10), Claims: claim("a"), Items: []ledger.Item{item("a", false, at(9), "never")}},
		Entry{Record: Record(5, 10)})
	s.check(err)
	s.diff("the lost", []int{0}, lost)

	s.reopen()
	pos := func(i uint64) act.Position { return act.Position{Log: w.Lease.Log, Index: i} }
	want := func(i uint64, it ledger.Item) ledger.Item { it.Version = pos(i); return it }
	a, b, e := want(1, item("a", true, at(2), "a1")), want(2, item("b", true, at(3), "b2")), want(3, item("é", false, at(1), "e3"))
	got, err := s.Item(ctx, "approval", "a")
	s.check(err)
	s.diff("item a", a, utc(got))
	agent, err := s.Item(ctx, "agent", "a")
	s.check(err)
	s.diff("the length of no data", 0, len(agent.Data))
	agent.Data = nil
	s.diff("an item without anything", ledger.Item{Kind: "agent", ID: "a", Version: pos(1)}, agent)
	for _, tt := range []struct {
		name  string
		query ledger.ItemQuery
		want  []ledger.Item
	}{
		{"all", ledger.ItemQuery{}, []ledger.Item{a, b, e}},
		{"open", ledger.ItemQuery{Open: true}, []ledger.Item{a, b}},
		{"a page", ledger.ItemQuery{After: "a", Limit: 1}, []ledger.Item{b}},
		{"a prefix", ledger.ItemQuery{Prefix: "a"}, nil},
		{"due", ledger.ItemQuery{DueBefore: at(2)}, []ledger.Item{e}},
		{"due and open", ledger.ItemQuery{Open: true, DueBefore: at(3)}, []ledger.Item{a}},
	} {
		tt.query.Kind = "approval"
		got, err := s.Items(ctx, tt.query)
		s.check(err)
		for i := range got {
			got[i] = utc(got[i])
		}
		s.diff(tt.name, tt.want, got)
	}

	w = s.writer()
	s.commit(w,
		Entry{Record: Record(6, 10), Items: []ledger.Item{{Kind: "pin", ID: "1", Owner: "key:a", Open: true, Data: []byte("12345")}, {Kind: "pin", ID: "2", Owner: "key:a", Data: []byte("678")}}},
		Entry{Record: Record(7, 10), Items: []ledger.Item{{Kind: "pin", ID: "3", Owner: "key:b", Data: []byte("x")}, {Kind: "other", ID: "1", Owner: "key:a", Data: []byte("x")}, {Kind: "pin", ID: "4"}}})
	for _, tt := range []struct {
		owner string
		open  bool
		want  [2]int64
	}{{"key:a", false, [2]int64{2, 8}}, {"key:a", true, [2]int64{1, 5}}, {"key:b", false, [2]int64{1, 1}}, {"key:c", false, [2]int64{}}, {"", false, [2]int64{}}} {
		n, bytes, err := s.CountItems(ctx, "pin", tt.owner, tt.open)
		s.check(err)
		s.diff("items of "+tt.owner, tt.want, [2]int64{int64(n), bytes})
	}

	removed, err := s.TrimItems(ctx, at(100))
	s.check(err)
	s.diff("removed: those that are not open and had a time", int64(1), removed)
	_, err = s.Item(ctx, "approval", "é")
	s.is(err, ledger.ErrNotFound)
	_, err = s.Item(ctx, "agent", "a")
	s.check(err)
}

// seals: items that have none get one, and keep it until they are written; again all lose
// theirs before.
func seals(t *testing.T, s *suite) {
	w := s.writer()
	var list []Entry
	for i := range uint64(450) {
		e := Entry{Record: Record(i, 10), Items: []ledger.Item{{Kind: fmt.Sprint("kind ", i%3), ID: fmt.Sprint(i), Due: Epoch, Data: []byte("x")}}}
		if i%2 == 0 {
			e.Items[0].Seal = []byte("own")
		}
		list = append(list, e)
	}
	s.commit(w, list...)
	seal := func(i *ledger.Item) []byte { return []byte(i.Kind + i.ID + i.Version.String() + string(i.Data)) }
	for _, again := range []bool{false, true} {
		calls := 0
		s.check(s.SealItems(t.Context(), again, func(i *ledger.Item) []byte { calls++; return seal(i) }))
		s.reopen()
		want := 225
		if again {
			want = 450
		}
		s.diff("sealed", want, calls)
		for i := range 450 {
			got, err := s.Item(t.Context(), fmt.Sprint("kind ", i%3), fmt.Sprint(i))
			s.check(err)
			want := seal(&got)
			if i%2 == 0 && !again {
				want = []byte("own")
			}
			s.diff("seal", string(want), string(got.Seal))
		}
	}
	w = s.writer()
	s.commit(w, Entry{Record: Record(450, 10), Items: []ledger.Item{{Kind: "kind 0", ID: "0", Due: Epoch, Data: []byte("y"), Seal: []byte("new")}, {Kind: "kind 1", ID: "1", Due: Epoch, Data: []byte("y")}}})
	for id, want := range map[string]string{"0": "new", "1": ""} {
		got, err := s.Item(t.Context(), "kind "+id, id)
		s.check(err)
		s.diff("the seal of one that is written again", want, string(got.Seal))
	}
}

// manyItems: more of them than one step of the trimming takes.
func manyItems(t *testing.T, s *suite) {
	w := s.writer()
	var list []ledger.Item
	for i := range 1300 {
		list = append(list, ledger.Item{Kind: "intent", ID: fmt.Sprintf("%04d", i), Due: Epoch, Data: []byte("x")})
	}
	s.commit(w, Entry{Record: Record(0, 10), Items: list})
	got, err := s.Items(t.Context(), ledger.ItemQuery{Kind: "intent", Prefix: "01", After: "0197", DueBefore: Epoch.Add(1)})
	s.check(err)
	s.diff("with a prefix, after one", []string{"0198", "0199"}, ids(got))
	got, err = s.Items(t.Context(), ledger.ItemQuery{Kind: "intent", Prefix: "127", After: "00"})
	s.check(err)
	s.diff("with a prefix", 10, len(got))
	got, err = s.Items(t.Context(), ledger.ItemQuery{Kind: "intent"})
	s.check(err)
	s.diff("a query without a limit", ledger.DefaultItems, len(got))
	removed, err := s.TrimItems(t.Context(), Epoch.Add(1))
	s.check(err)
	s.diff("removed", int64(len(list)), removed)
}

func ids(items []ledger.Item) (list []string) {
	for i := range items {
		list = append(list, items[i].ID)
	}
	return list
}

func utc(i ledger.Item) ledger.Item {
	i.Due = i.Due.UTC()
	return i
}
