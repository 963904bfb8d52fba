package policy

import (
	"os"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/risk/hazard"
	"reeve.example/reeve/internal/session"
)

// TestSessions: of days of several calls that belong together, as testdata/sessions.txt has them,
// almost nothing is denied and little asks.
func TestSessions(t *testing.T) {
	starter := starterSet(t)
	data, err := os.ReadFile("testdata/sessions.txt")
	if err != nil {
		t.Fatal(err)
	}
	days := strings.Split(strings.TrimSpace(string(data)), "\n\n")[1:] // behind what the file says of itself
	var all figures
	for _, day := range days {
		s := &session.State{Known: true}
		for line := range strings.SplitSeq(day, "\n") {
			text, mayAsk := strings.CutPrefix(line, "ask: ")
			a := commandAct(text)
			if rest, writes := strings.CutPrefix(text, "write "); writes {
				name, content, _ := strings.Cut(rest, " ")
				a = writeAct("write_file", name, "content", strings.ReplaceAll(content, "⏎", "\n"))
			}
			a.ID, a.At, a.Folder = line, time.Now(), "/home/dev/app"
			if behind := hazard.Read(a).Behind(s.Shell()); behind != nil { // as guard does it
				for _, f := range behind.Beyond(hazard.Read(a)) {
					a.Runs = append(a.Runs, act.FileRun{Code: f.Code, Weight: f.Weight})
				}
			}
			v := starter.Evaluate(&Input{Action: a, Session: Session{Known: true, Written: s.Written, Inside: s.Inside, WroteTo: s.WroteTo, Brought: s.Brought, Awaits: s.Awaits, Tunnelled: s.Tunnelled}})
			if all.add(&v); (v.Effect == act.Deny || v.Effect == act.Escalate) && !mayAsk {
				t.Logf("%v: %q after %q: %s", v.Effect, text, strings.SplitN(day, "\n", 2)[0], v.Reasons[0].Message)
			}
			// Who was asked has agreed.
			st := s.Step(a, act.Allow)
			s.Touched(st, a, hazard.Read(a))
			s.Apply(st)
		}
	}
	t.Logf("%d sessions, %d acts: denied %.1f %%, asked %.1f %%", len(days), all.acts, all.share(all.denied), all.share(all.asked))
	if len(days) < 40 || all.share(all.denied) > 0.5 || all.share(all.asked) > 3 {
		t.Errorf("%d sessions: %+v", len(days), all)
	}
}
