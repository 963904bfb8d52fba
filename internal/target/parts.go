package target

import (
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/risk/hazard"
)

// Bounds of what people are shown beside the exact request, which has all of it.
const (
	maxParts    = 32
	maxPartText = 64 << 10
	maxCommands = 64
	maxFound    = 32
)

// Parts are the texts of an act that run or write something, as they were read: for the
// person who is asked.
func Parts(a *act.Action) (parts []approval.Part) {
	uses := map[hazard.Use]string{hazard.Run: "run", hazard.Written: "written", hazard.Replaced: "replaced"}
	read := hazard.Read(a)
	found := read.Assess(hazard.Default()).Findings
	for i, p := range read.Parts() {
		l := &a.Content[i]
		use := uses[p.Use]
		if p.Exact && p.Use == hazard.Said {
			use = "run" // it has the form of a command
		}
		mine := func(f hazard.Finding) bool { return f.Pointer == l.Pointer }
		if use == "" && !slices.ContainsFunc(found, mine) || l.Fixed || len(l.Text) > maxPartText || len(parts) == maxParts {
			continue
		}
		part := approval.Part{Pointer: l.Pointer, Use: use, Text: l.Text}
		for _, f := range found {
			if mine(f) && len(part.Findings) < maxFound {
				part.Findings = append(part.Findings, approval.Finding{Code: f.Code, Message: f.Message, Weight: f.Weight, Start: f.Start, End: f.End})
			}
		}
		if use == "run" {
			hazard.Observe(a.Canonical, a.Content[i:i+1], &hazard.Watch{Command: func(c *hazard.Command) {
				line := strings.TrimSpace(c.Name + " " + strings.Join(c.Words, " "))
				if line != "" && len(part.Commands) < maxCommands && !slices.Contains(part.Commands, line) {
					part.Commands = append(part.Commands, line)
				}
			}})
		}
		parts = append(parts, part)
	}
	return parts
}
