package session

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"reeve.example/reeve/act"
)

// does has a session remember an act, as one of the acts 1 and 2 by its resource.
func does(s *State, a *act.Action, effect act.Effect, keys ...uint64) []byte {
	st := s.Step(a, effect)
	if keys != nil {
		s.Counts(st, a, keys, func(key uint64) bool { return fmt.Sprint(key) == a.Resource }, effect == act.Modify)
	}
	data := st.Append(nil)
	s.Apply(st)
	return data
}

func did(i int, resource string) *act.Action {
	a := step(act.ToolCall, fmt.Sprint(i))
	a.Resource, a.Canonical, a.ID = resource, resource, fmt.Sprint("e", i)
	a.At = time.UnixMilli(1_700_000_000_000 + int64(i)*1000)
	return a
}

// TestPast: what a session has done is known after any number of steps, from the newest
// writes alone, in a memory that does not grow; and what nobody counted is not known.
func TestPast(t *testing.T) {
	s := &State{Known: true}
	var writes []Write
	add := func(a *act.Action, effect act.Effect) {
		writes = append(writes, Write{At: act.Position{Index: uint64(len(writes))}, Data: does(s, a, effect, 1, 2)})
	}
	add(did(0, "1"), act.Allow)
	add(did(1, "1"), act.Deny)
	add(did(2, "1"), act.Escalate)
	add(did(3, "2"), act.Modify)
	for i := range 3000 {
		resource := "other"
		if i%10 == 0 {
			resource = "2"
		}
		add(did(10+i, resource), act.Allow)
	}
	for _, newest := range []int{len(writes), MaxReplay} {
		last := slices.Clone(writes[len(writes)-newest:])
		slices.Reverse(last)
		back, err := Restore(last, newest == len(writes))
		if err != nil {
			t.Fatal(err)
		}
		one, sure := back.Past(1)
		two, _ := back.Past(2)
		if !sure || one.Count != 1 || two.Count != 301 || two.Approved != 1 || len(two.Times) != MaxTimes {
			t.Errorf("from the newest %d: %+v %v, %d %d %d", newest, one, sure, two.Count, two.Approved, len(two.Times))
		}
		if n := two.Within(time.UnixMilli(two.Times[MaxTimes-3])); n != 2 {
			t.Errorf("since the last but two: %d", n)
		}
	}
	if size := len(s.past); size != 2 {
		t.Errorf("%d acts are remembered", size)
	}
	last := slices.Clone(writes[len(writes)-3:]) // the rest was pruned
	slices.Reverse(last)
	if back, err := Restore(last, false); err != nil {
		t.Error(err)
	} else if _, sure := back.Past(1); sure {
		t.Error("what was pruned is known")
	}
	does(s, did(5000, "1"), act.Allow, 1, 3)
	if _, sure := s.Past(3); sure {
		t.Error("an act is known that was not counted when the session began")
	}
	if d, sure := s.Past(1); !sure || d.Count != 2 {
		t.Errorf("%+v %v", d, sure)
	}
	if _, sure := s.Past(2); sure {
		t.Error("an act is known that is not counted any more")
	}
	does(s, did(5001, "1"), act.Allow)
	if _, sure := s.Past(1); sure {
		t.Error("an act is known though a step was not counted")
	}
	if _, sure := (&State{}).Past(1); sure {
		t.Error("the past of a forgotten session is known")
	}
	if d, sure := (&State{Known: true}).Past(1); !sure || d.Count != 0 {
		t.Error("a new session has a past")
	}
}

// TestPastDamaged: what cannot have been written is refused, and the rest reads as written.
func TestPastDamaged(t *testing.T) {
	s := &State{Known: true}
	var data []byte
	for i := range 5 {
		data = does(s, did(i, "1"), act.Allow, 1, 2)
	}
	if st, err := parseStep(data); err != nil || string(st.Append(nil)) != string(data) {
		t.Errorf("%v", err)
	}
	for i := range data {
		if _, err := parseStep(data[:i]); err == nil && i > 0 && i != len(data) {
			t.Errorf("%d of %d bytes are read", i, len(data))
		}
	}
}
