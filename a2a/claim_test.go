package a2a

import (
	"fmt"
	"testing"
)

// A user whose pushes never end has a share of those that are made at once, and
// others find room.
func TestClaims(t *testing.T) {
	s := NewServer(Config{})
	ids := func(user string, n int) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprintf("%s-1111-8111-8111-111111111111.%d", prefixOf(user), i))
		}
		return list
	}
	for user, want := range map[string]int{"a": pushOwn, "b": pushOwn, "c": pushOwn} {
		got := 0
		for _, id := range ids(user, pushOwn+10) {
			switch s.claim(id) {
			case claimed:
				got++
			case ownFull:
			default:
				t.Fatalf("%s: neither begun nor over the share", id)
			}
		}
		if got != want {
			t.Errorf("%s has %d pushes, want %d", user, got, want)
		}
	}
	first := ids("a", 1)[0]
	if s.claim(first) != begun {
		t.Error("a push begins twice")
	}
	for _, id := range ids("d", pushOwn) {
		s.claim(id)
	}
	if got := s.claim(ids("e", 1)[0]); got != noRoom {
		t.Errorf("beyond all room: %d", got)
	}
	s.unclaim(first)
	if got := s.claim(ids("e", 1)[0]); got != claimed {
		t.Errorf("once one has ended: %d", got)
	}
	for _, user := range []string{"a", "b", "c", "d", "e"} {
		for _, id := range ids(user, pushOwn) {
			if s.pushing[id] {
				s.unclaim(id)
			}
		}
	}
	if len(s.pushing)+len(s.owners) != 0 {
		t.Errorf("%d pushes of %d users are left", len(s.pushing), len(s.owners))
	}
}
