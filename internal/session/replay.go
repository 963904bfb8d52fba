package session

// What follows is for a policy replay: steps that were written are played again, to have the memory
// before each of them.

// ParseStep reads what Step.Append wrote.
func ParseStep(data []byte) (*Step, error) { return parseStep(data) }

// IsStep reports whether what was written under a key can be a step, and not the note of
// one remembered text.
func IsStep(data []byte) bool {
	const least = 3 + 7 + 9*8 + 16
	return len(data) >= least && data[0] >= firstVersion && data[0] <= newestVersion
}

// Follows reports whether a step is the next one of a session with this memory.
func (st *Step) Follows(s *State) bool { return st.steps == s.Steps+1 }

// Forgot reports whether the memory was not whole when the step was taken.
func (st *Step) Forgot() bool { return st.flags&flagDropped != 0 }

// Took reports whether a step was decided with labels that another session had got.
func (st *Step) Took() bool { return st.values != nil && st.values.Took() }

// Inherits reports whether a step holds what the session knew that began this one.
func (st *Step) Inherits() bool { return st.values != nil && st.values.Inherits() }
