package linear

import (
	"fmt"
	"testing"
)

// failures notes what a test would fail with.
type failures struct {
	testing.TB
	said []string
}

func (f *failures) Helper() {}
func (f *failures) Errorf(format string, args ...any) {
	f.said = append(f.said, fmt.Sprintf(format, args...))
}

var sink int

// TestCheck: work that grows with the square fails, and work that does not passes.
func TestCheck(t *testing.T) {
	steps := func(n int) func() {
		return func() {
			for i := range n {
				sink += i ^ sink
			}
		}
	}
	f := &failures{TB: t}
	if Check(f, "steps", 3_000_000, steps); len(f.said) > 0 {
		t.Error(f.said)
	}
	if Check(f, "squares", 3000, func(n int) func() { return steps(n * n) }); len(f.said) != 1 {
		t.Errorf("work that grows with the square passes: %v", f.said)
	}
}
