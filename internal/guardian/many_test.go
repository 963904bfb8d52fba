package guardian

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/internal/linear"
)

// TestManyNames bounds the processor's time for a command that names a great many files: what is looked for in the
// whole text is looked for once, and not for each of them.
func TestManyNames(t *testing.T) {
	g, home := aGuarded(t)
	for _, tt := range []struct {
		name string
		text string
	}{
		{"files", "cat " + names("src/file%d.txt", 2000)},
		{"absolute", "foo " + names("/etc/a%d", 400) + names("a%d", 20000)},
		{"a long comment", "cat " + names("src/file%d.txt", 200) + " # " + strings.Repeat("x ", 200000)},
		{"many", "foo " + names("/etc/a%d", 20000)},
		{"written", "touch " + names("src/file%d.txt", 2000)},
	} {
		a := call(home+"/src/proj", "shell", "command", tt.text)
		best := linear.Best(time.Second, func() { g.Tampering(a, nil) })
		t.Logf("%s: %v", tt.name, best)
		if best > time.Second {
			t.Errorf("%s: %v", tt.name, best)
		}
	}
}

// names are n names of a form, one behind the other.
func names(form string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, form+" ", i)
	}
	return b.String()
}
