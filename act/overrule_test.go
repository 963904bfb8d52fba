package act

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The table in the documents is the one that the code keeps.
func TestOverruleTableIsDocumented(t *testing.T) {
	for _, name := range []string{"../docs/policy.md", "../SECURITY.md"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		table := "| a refusal because of | who can let it pass | how | what the model is told |\n|---|---|---|---|\n"
		for _, r := range Overrules {
			table += fmt.Sprintf("| %s | %s | %s | %s |\n", r.Because, r.Who, r.How, r.Told)
		}
		if !strings.Contains(string(text), table) {
			t.Errorf("%s does not have the table of who may overrule what:\n%s", name, table)
		}
	}
}

// Final stands above everything, and the zero value can be lifted by the
// policy's owner only.
func TestOverruler(t *testing.T) {
	for _, final := range []bool{true, false} {
		for _, observe := range []bool{true, false} {
			for effect := Deny; effect <= Allow; effect++ {
				r := Reason{Effect: effect, Observe: observe, Final: final}
				want := Anybody
				switch {
				case final:
					want = Nobody
				case observe:
				case effect == Deny:
					want = PolicyOwner
				case effect == Escalate:
					want = Person
				}
				if got := r.Overruler(); got != want {
					t.Errorf("%+v: overruler %d, want %d", r, got, want)
				}
				if r.Excepted() == final {
					t.Errorf("%+v: an exception reaches it: %v", r, r.Excepted())
				}
				if got := Approvable([]Reason{{Effect: Escalate}, r}); got != (want >= Person) {
					t.Errorf("%+v: people are asked: %v", r, got)
				}
			}
		}
	}
	if r := Final("guardian", CodeTampering, "no", ""); r.Effect != Deny || r.Overruler() != Nobody {
		t.Errorf("a final reason is %+v", r)
	}
}

// TestCategory: the longest beginning of a code that is known counts.
func TestCategory(t *testing.T) {
	for code, want := range map[string]string{
		"shell.download_and_run": "ASI04", "shell.reverse_shell": "ASI05", "risk.shell.download_run": "ASI04", "file.credentials": "ASI03", "file.system": "ASI02",
		"guardian.tampering": "ASI10", "mcp.tool_held": "ASI04", "flow.foreign_host": "ASI01", "our.own": "", "": "", ".": "", "shell.": "ASI05", "shellfish": "",
	} {
		if got := Category(code); got != want {
			t.Errorf("%q belongs to %q, want %q", code, got, want)
		}
	}
}
