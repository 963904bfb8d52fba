//go:build !windows

package realagents

import (
	"regexp"
	"strconv"
	"testing"

	"reeve.example/reeve/internal/modelserver"
)

// No hook of Codex' sees what is typed into a shell that is open. So none is opened:
// what install writes into its settings sees to that.
func TestCodexOpensNoShell(t *testing.T) {
	a := agents[0]
	t.Parallel()
	r := start(t, a, actsPolicy())
	r.model.Play("play it",
		modelserver.Call("exec_command", m{"cmd": "bash", "tty": true, "yield_time_ms": 1000}),
		modelserver.Call("write_stdin", m{"session_id": 1, "chars": "echo forbidden > typed.txt\n", "yield_time_ms": 1000}),
		modelserver.Call("write_stdin", m{"session_id": 1000, "chars": "echo forbidden > typed.txt\n", "yield_time_ms": 1000}),
		modelserver.Turn{Then: func(told string) modelserver.Turn {
			var calls []modelserver.ToolCall
			for _, id := range openShell.FindAllStringSubmatch(told, -1) {
				calls = append(calls, call("write_stdin", m{"session_id": number(id[1]), "chars": "echo forbidden > typed.txt\n", "yield_time_ms": 1000}))
			}
			return modelserver.Turn{Text: "typing", Calls: calls}
		}},
		modelserver.Say("finished"))
	r.prompt("play it")
	if *debugTold {
		t.Log(r.model.Told("play it"))
	}
	if r.has("typed.txt") {
		t.Error("what was typed into a shell ran unseen")
	}
}

// openShell is how Codex tells its model of a command that goes on.
var openShell = regexp.MustCompile(`session ID ([0-9]+)`)

func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}
