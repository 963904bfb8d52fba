package hazard

import (
	"strings"
	"testing"
	"time"
)

// LineOf stays within its bounds: of a file that is too large, or does nothing of the kind, no line is told.
func TestLineOfBounds(t *testing.T) {
	found := func(name, text string) Finding {
		does, _ := Default().RunsFile(name, text, nil)
		if len(does) == 0 {
			t.Fatalf("%s: nothing found", name)
		}
		return does[0]
	}
	large := strings.Repeat("x = 1\n", 10_000) + "import os\nos.system('npm publish')\n"
	if line, text := Default().LineOf("x.py", large, nil, found("x.py", large)); line != 0 || text != "" {
		t.Errorf("large: %d %q", line, text)
	}
	began := time.Now()
	long := strings.Repeat("x = 1\n", 5_000) + "import os\nos.system('npm publish')\n"
	if line, _ := Default().LineOf("x.py", long, nil, found("x.py", long)); line != 5_002 {
		t.Errorf("long: line %d after %v", line, time.Since(began))
	}
	for _, f := range []Finding{{Code: "publish.package", End: 6}, {Code: "publish.package", Start: 99, End: 100}, {Code: "publish.package", Start: -1, End: -1}} {
		if line, text := Default().LineOf("x.py", "x = 1\n", nil, f); line != 0 || text != "" {
			t.Errorf("%+v: %d %q", f, line, text)
		}
	}
	if line, text := Default().LineOf("x.py", "", nil, Finding{}); line != 0 || text != "" {
		t.Errorf("empty: %d %q", line, text)
	}
}
