package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/hook"
	"reeve.example/reeve/internal/words"
)

// A hook that is not called says nothing. So what is due and does not come is looked for
// in the sessions that were recorded, and among the processes that run.

// overdue is how long something may take before it is told that it did not come: a model
// may think, and a command may work.
const overdue = 10 * time.Minute

// unseenFor is how long ago a session may have been last seen for its gaps to be told.
const unseenFor = 24 * time.Hour

// Unseen says what was due in a session and did not come.
func (s *Session) Unseen(now time.Time) (found []string) {
	if len(s.Steps) == 0 || strings.HasSuffix(s.ID, ":"+hook.ProofSession) || now.Sub(s.Ended) > unseenFor {
		return nil
	}
	prompt := -1
	open, called := map[string]Step{}, map[string]bool{}
	var orphans []Step
	for i, step := range s.Steps {
		id := step.Child + " " + step.Call
		switch act.Kind(step.Kind) {
		case act.MessageUser:
			if step.Effect == "allow" && step.Child == "" {
				prompt = i
			}
		case act.ToolCall, act.MCPRequest:
			called[id] = true
			if step.Effect == "allow" || step.Effect == "modify" {
				open[id] = step
			}
		case act.ToolResult, act.MCPResponse:
			// The oldest records may be of calls that lie before what was looked through.
			if !called[id] && (act.Kind(s.Steps[0].Kind) == act.MessageSystem || act.Kind(s.Steps[0].Kind) == act.MessageUser) {
				orphans = append(orphans, step)
			}
			delete(open, id)
		}
	}
	if last := s.Steps[len(s.Steps)-1]; prompt == len(s.Steps)-1 && now.Sub(last.Time) > overdue {
		found = append(found, fmt.Sprintf("the prompt of %s was followed by nothing: neither a call nor the turn's end", clock(last.Time)))
	}
	var lost []Step
	for _, step := range open {
		if now.Sub(step.Time) > overdue {
			lost = append(lost, step)
		}
	}
	if len(lost) > 0 {
		newest := slices.MaxFunc(lost, func(a, b Step) int { return a.Time.Compare(b.Time) })
		found = append(found, fmt.Sprintf("of %s no result came, the newest %s at %s: cancelled, or what it gave was not seen", words.Count(len(lost), "allowed call"), newest.Name(), clock(newest.Time)))
	}
	if len(orphans) > 0 {
		newest := orphans[len(orphans)-1]
		found = append(found, fmt.Sprintf("%s came without a call, the newest at %s: what ran was not asked about", words.Count(len(orphans), "result"), clock(newest.Time)))
	}
	return found
}

func clock(t time.Time) string { return t.Local().Format("15:04:05") }

// UnseenProcesses says which of the agents' processes run, and have for a while, without
// an event that was recorded since they began.
func UnseenProcesses(running []hook.Process, sessions []*Session, now time.Time) (found []string) {
	last := map[string]time.Time{}
	for _, s := range sessions {
		if s.Ended.After(last[s.Agent]) && !strings.HasSuffix(s.ID, ":"+hook.ProofSession) {
			last[s.Agent] = s.Ended
		}
	}
	for _, p := range running {
		if !p.Began.IsZero() && now.Sub(p.Began) > overdue && last[p.Agent].Before(p.Began) {
			found = append(found, fmt.Sprintf("%s runs as process %d in %s since %s, and no event of it was recorded: if it has worked, that was not seen", p.Agent, p.PID, p.Folder, clock(p.Began)))
		}
	}
	return found
}
