package policy

import (
	"fmt"
	"strings"
	"testing"

	"reeve.example/reeve/act"
	"reeve.example/reeve/aos"
)

func decodeReal(request []byte) (*Input, error) {
	a, err := aos.ActionOf(request)
	if err != nil {
		return nil, err
	}
	return &Input{Action: a, Session: Session{Known: true}}, nil
}

// figures are what a profile does with a corpus.
type figures struct{ acts, denied, asked, changed int }

func (f figures) share(n int) float64 { return 100 * float64(n) / float64(f.acts) }

func (f *figures) add(v *Verdict) {
	f.acts++
	switch v.Effect {
	case act.Deny:
		f.denied++
	case act.Escalate:
		f.asked++
	}
	if len(v.Edits) > 0 {
		f.changed++
	}
}

// TestCorpora: of a developer's day almost nothing is denied, little asks and nothing is
// changed; what is dangerous is stopped or asked about. docs/policy.md has the figures of
// each profile; -update writes them.
func TestCorpora(t *testing.T) {
	table := "| profile | acts of a day | denied | asked | changed | dangerous acts | stopped or asked |\n|---|---|---|---|---|---|---|\n"
	for _, profile := range Profiles {
		set := profileSet(t, profile)
		var all [2]figures
		for i, name := range []string{"ordinary", "grave"} {
			cases, err := LoadCases("testdata/" + name + ".test.yaml")
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range set.Test(cases, decodeReal).Results {
				if r.Problem != "" && profile == DefaultProfile {
					t.Errorf("%s:%d: %s: %s", r.Case.File, r.Case.Line, r.Case.Name, r.Problem)
				}
				all[i].add(&r.Verdict)
			}
		}
		for _, line := range actLines(t, "ordinary.txt") {
			v := set.Evaluate(&Input{Action: commandAct(strings.TrimPrefix(line, "ask: "))})
			all[0].add(&v)
		}
		day, grave := all[0], all[1]
		table += fmt.Sprintf("| `%s` | %d | %.1f %% | %.1f %% | %.1f %% | %d | %.1f %% |\n", profile, day.acts, day.share(day.denied), day.share(day.asked), day.share(day.changed), grave.acts, grave.share(grave.denied+grave.asked))
		if profile == DefaultProfile && (day.share(day.denied) > 0.5 || day.share(day.asked) > 3 || day.changed > 0) || grave.share(grave.denied+grave.asked) < 95 {
			t.Errorf("%s: of the day %+v, of what is dangerous %+v", profile, day, grave)
		}
	}
	keepTable(t, "corpora", table)
}
