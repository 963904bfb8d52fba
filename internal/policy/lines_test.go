package policy

import (
	"strings"
	"testing"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/wording"
)

// TestWhoWrote: a file that another session of the same folder wrote is not said to be this one's, and what it does is
// said as the reader of it says it.
func TestWhoWrote(t *testing.T) {
	starter := starterSet(t)
	for by, own := range map[string]func(string) bool{"this session": nil, "another session here": func(string) bool { return false }} {
		a := commandAct("sh sync.sh")
		a.Runs = []act.FileRun{{File: "sync.sh", Code: "destroy.store", Weight: 0.45, Line: 2, Says: "What another machine has is deleted there."}}
		v := starter.Evaluate(&Input{Action: a, Session: Session{Known: true, OwnWork: own}})
		if said := wording.Message(&act.Decision{Effect: v.Effect, Reasons: v.Reasons}); !strings.Contains(said, `"sync.sh", which `+by+` wrote (line 2): What another machine has is deleted there.`) {
			t.Errorf("%s: %q", by, said)
		}
	}
}

// TestAskedLines: who is asked about a call that runs a file reads the line that does it, masked, in one line
// and cut, however the file has it; and the message, which is recorded, has none of its words.
func TestAskedLines(t *testing.T) {
	token := "ghp_" + "K1nB5cW9zD3fH6jS0aPq2E4rT7uV8wXyZ012"
	starter := starterSet(t)
	for _, tt := range []struct{ text, want string }{
		{"git push --force origin main", "`git push --force origin main`"},
		{"git push --force https://" + token + "@github.com/a/b main", "[GitHub token removed]"},
		{"git push --force \t  origin\x1b[2K main\u202e # fine", "⟨U+001B⟩[2K main⟨U+202E⟩ # fine`"},
		{"git push --force " + strings.Repeat("x", 4000), "…`"},
		{"", "The call runs \"rel.sh\", which this session wrote (line 7)"},
	} {
		a := commandAct("sh rel.sh")
		a.Runs = []act.FileRun{{File: "rel.sh", Code: "publish.history", Weight: 0.4, Line: 7, Text: tt.text}}
		v := starter.Evaluate(&Input{Action: a, Session: Session{Known: true}})
		d := act.Decision{Effect: v.Effect, Reasons: v.Reasons}
		asked, message := wording.Asked(&d), wording.Message(&d)
		if tt.text == "" {
			asked = message // of which nothing is quoted
		}
		if v.Effect != act.Escalate || !strings.Contains(asked, tt.want) || !strings.Contains(asked, "(line 7): What was published already is rewritten or deleted") || strings.Contains(asked, token) || strings.ContainsAny(asked, "\n\x1b\u202e") || len(asked) > 600 {
			t.Errorf("%.60q: %v, %q", tt.text, v.Effect, asked)
		}
		if strings.Contains(message, "git push") || strings.Contains(message, "Instead") {
			t.Errorf("%.60q: the message is %q", tt.text, message)
		}
		if strings.Count(asked, "rewritten or deleted") != 1 {
			t.Errorf("%.60q: said more than once: %q", tt.text, asked)
		}
	}
}
