package policy

import "reeve.example/reeve/internal/habits"

// What a policy asks for beside the act itself. Whoever decides by it looks up no more than
// that: a policy of which no rule asks for something costs nothing for it.

// Follows reports whether a rule asks where a session's values came from. Where none
// does, nobody needs to read for that what comes in.
func (s *Set) Follows() bool { return s.follows }

// Habits reports whether a rule asks what is usual: else nothing of it is noted, and
// nothing read.
func (s *Set) Habits() bool { return s.asksHabits }

// HabitSettings are what the policy says of what is usual.
func (s *Set) HabitSettings() habits.Settings { return s.habits }

// AsksBill reports whether a rule or exception asks for tools that an agent has not used
// before: else its bill of materials is not read.
func (s *Set) AsksBill() bool { return s.asksBill }

// Counted are the keys of the acts that rules ask the session's past for; nil for none.
func (s *Set) Counted() (keys []uint64) {
	for _, c := range s.counted {
		keys = append(keys, c.key)
	}
	return keys
}

// Shadow is the candidate that is judged by beside the set; nil for none.
func (s *Set) Shadow() *Set { return s.shadow }
