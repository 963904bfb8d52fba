//go:build !windows

package realagents

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
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

// In code mode (features.code_mode, off in the version that was tried) Codex' model writes
// a program that calls the tools. Each of these calls has its hooks, so that a program does
// no more than a call could.
func TestCodexCodeMode(t *testing.T) {
	a := *agents[0]
	ordinary := a.command
	a.command = func(r *run, prompt ...string) []string {
		args := ordinary(r, prompt...)
		return append([]string{args[0], "--enable", "code_mode"}, args[1:]...)
	}
	r := start(t, &a, actsPolicy())
	if err := os.WriteFile(r.at("secret.txt"), []byte("token "+token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	program := func(command string) modelserver.ToolCall {
		return modelserver.ToolCall{Name: "exec", Text: fmt.Sprintf(
			`const r = await tools.exec_command({cmd: %q}); text([...r.output].join(" "));`, command)}
	}
	r.model.Play("play it",
		modelserver.Calls(program("echo forbidden > denied.txt")),
		modelserver.Calls(program("echo CODE > ran.txt; cat ran.txt")),
		modelserver.Calls(program("cat secret.txt")),
		modelserver.Say("finished"))
	r.prompt("play it")
	told := r.model.Told("play it")
	if *debugTold {
		t.Log(told)
	}
	if r.has("denied.txt") || !strings.Contains(told, "That word is not to be said.") {
		t.Error("a denied command ran, or the model was not told why")
	}
	if !r.has("ran.txt") || !strings.Contains(told, "C O D E") {
		t.Error("an ordinary command did not run, or its output is lost")
	}
	if spread := strings.Join(strings.Split(token, ""), " "); strings.Contains(told, spread) {
		t.Error("a program read a secret that is masked")
	}
}
