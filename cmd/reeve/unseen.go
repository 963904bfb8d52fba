package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/hook"
	"reeve.example/reeve/internal/report"
)

// A hook that is not called says nothing. So what is due and does not come is looked for
// in the sessions that were recorded, and among the processes that run.

// overdue is how long something may take before it is told that it did not come: a model
// may think, and a command may work.
const overdue = 10 * time.Minute

// unseenFor is how long ago a session may have been last seen for its gaps to be told.
const unseenFor = 24 * time.Hour

// unseen says what was due in a session and did not come.
func unseen(s *report.Session, now time.Time) (found []string) {
	if len(s.Steps) == 0 || strings.HasSuffix(s.ID, ":"+hook.ProofSession) || now.Sub(s.Ended) > unseenFor {
		return nil
	}
	prompt := -1
	open, called := map[string]report.Step{}, map[string]bool{}
	var orphans []report.Step
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
	var lost []report.Step
	for _, step := range open {
		if now.Sub(step.Time) > overdue {
			lost = append(lost, step)
		}
	}
	if len(lost) > 0 {
		newest := slices.MaxFunc(lost, func(a, b report.Step) int { return a.Time.Compare(b.Time) })
		found = append(found, fmt.Sprintf("of %s no result came, the newest %s at %s: cancelled, or what it gave was not seen", count(len(lost), "allowed call"), newest.Name(), clock(newest.Time)))
	}
	if len(orphans) > 0 {
		newest := orphans[len(orphans)-1]
		found = append(found, fmt.Sprintf("%s came without a call, the newest at %s: what ran was not asked about", count(len(orphans), "result"), clock(newest.Time)))
	}
	return found
}

func clock(t time.Time) string { return t.Local().Format("15:04:05") }

// unseenProcesses says which of the agents' processes run, and have for a while, without
// an event that was recorded since they began.
func unseenProcesses(running []hook.Process, sessions []*report.Session, now time.Time) (found []string) {
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

// watched is how many of the newest records a node looks through for what is due, and how
// often.
const (
	watchedRecords = 2_000
	watchEvery     = 5 * time.Minute
)

// watchSessions tells the log of sessions that stop being seen, each thing once.
func watchSessions(ctx context.Context, cmd *cobra.Command) {
	told := map[string]bool{}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			sessions, err := readSessions(cmd, watchedRecords)
			if err != nil {
				slog.Warn("whether sessions stop being seen could not be looked at", "error", err)
				continue
			}
			for _, s := range sessions {
				tellOnce(told, s.ID, unseen(s, now))
			}
			tellOnce(told, "", unseenProcesses(hook.Processes(), sessions, now))
		}
	}
}

// maxTold is how many things that were told are remembered.
const maxTold = 10_000

func tellOnce(told map[string]bool, session string, found []string) {
	for _, what := range found {
		if key := session + " " + what; !told[key] {
			if len(told) >= maxTold {
				clear(told)
			}
			told[key] = true
			slog.Warn("a coding agent may work unseen", "session", session, "seen", what)
		}
	}
}
