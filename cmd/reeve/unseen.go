package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"reeve.example/reeve/internal/hook"
	"reeve.example/reeve/internal/report"
)

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
				tellOnce(told, s.ID, s.Unseen(now))
			}
			tellOnce(told, "", report.UnseenProcesses(hook.Processes(), sessions, now))
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
