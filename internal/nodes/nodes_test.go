package nodes

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func at(minutes int) time.Time { return time.Date(2026, 1, 1, 0, minutes, 0, 0, time.UTC) }

func TestRules(t *testing.T) {
	node := func(policy string, since int) Node {
		return Node{Name: policy, Policy: policy, Since: at(since), Living: true}
	}
	gone := func(n Node) Node { n.Living = false; return n }
	for _, tt := range []struct {
		name string
		list []Node
		want string
	}{
		{"none", nil, ""},
		{"one", []Node{node("a", 0)}, "a"},
		{"most", []Node{node("a", 0), node("b", 1), node("b", 2)}, "b"},
		{"as many: the first", []Node{node("b", 1), node("a", 2)}, "b"},
		{"as many: the first, wherever", []Node{node("a", 5), node("b", 1), node("a", 2), node("b", 9)}, "b"},
		{"three: the first", []Node{node("c", 3), node("b", 2), node("a", 1)}, "a"},
		{"those that ended have no voice", []Node{node("a", 1), gone(node("b", 0)), gone(node("b", 0))}, "a"},
		{"who says nothing has no voice", []Node{node("a", 1), node("", 0), node("", 0)}, "a"},
		{"all the same time", []Node{node("b", 1), node("a", 1)}, "a"},
	} {
		for range 10 { // in any order, as each node may read them
			rand.Shuffle(len(tt.list), func(i, k int) { tt.list[i], tt.list[k] = tt.list[k], tt.list[i] })
			if got := Rules(tt.list); got != tt.want {
				t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
			}
		}
	}
}

func TestDifferences(t *testing.T) {
	list := []Node{
		{Name: "one", Version: "1", Policy: "sha256:0123456789abcdef", Executors: "x", Living: true},
		{Name: "two", Version: "1", Policy: "sha256:fedcba9876543210", Executors: "x", Living: true},
		{Name: "looks on", Version: "1", Living: true},
		{Name: "old", Version: "0", Policy: "p", Executors: "y"},
	}
	var said []string
	for _, d := range Differences(list) {
		said = append(said, d.String())
	}
	want := []string{"the nodes differ in their policy: 0123456789ab of one; fedcba987654 of two"}
	if d := cmp.Diff(want, said); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]int{"policy": 2, "executors": 1, "version": 1}, Kinds(list)); d != "" {
		t.Error(d)
	}
}

// TestMissing: a node that was killed is told of for a day, one that ended is not, and one whose
// log another has taken is not known any more.
func TestMissing(t *testing.T) {
	list := []Node{
		{Name: "lives", Living: true}, {Name: "ended", Age: In(time.Minute)},
		{Name: "killed", Gone: true, Age: In(time.Minute)}, {Name: "long ago", Gone: true, Age: In(Missed)},
	}
	if d := cmp.Diff([]string{"killed"}, Missing(list)); d != "" {
		t.Error(d)
	}
	if got := Present(list); len(got) != 2 || got[0].Name != "lives" || got[1].Name != "killed" || len(list) != 4 {
		t.Errorf("%+v", got)
	}
}
