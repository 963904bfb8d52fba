package guardian

import (
	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/risk/hazard"
)

// A hook that a call adds to an agent's settings runs a program whenever something has happened, and no call of the
// agent's is judged for that. Those that may answer for a person, or change what is done, are tampering: see settingAt.

// Adds tells to which files of settings of coding agents a call adds hooks, as far as their text can be told
// beforehand. What cannot be told is tampering.
func (g *Guarded) Adds(a *act.Action, read *hazard.Reading) (runs []act.FileRun) {
	if g == nil || !a.IsCall() {
		return nil
	}
	read = read.For(a)
	e := &examination{g: g, a: a, folders: read.Folders(), files: 256, contents: 256, namesLeft: maxNamesIn, tool: a.Canonical, adding: true}
	if e.named(writers) {
		e.tools(a.Content)
	}
	if e.isShell() {
		read.Tell(&hazard.Watch{
			Command: func(c *hazard.Command) { e.went = c.Dirs[1:] },
			File: func(p string, writes bool, content string, known bool) {
				if writes && known {
					e.file(p, true, nil, content, known)
				}
			},
		})
	}
	for _, name := range e.added {
		runs = added(runs, act.FileRun{File: name, Code: "persist.setting", Weight: 0.45, Sets: true})
	}
	return runs
}
