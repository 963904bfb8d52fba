//go:build !windows

package realagents

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reeve.example/reeve/internal/modelserver"
)

// A file that a prompt names is read by the agent itself. It is judged with the prompt: one
// that may pass is read and stands in the record, and one that must not be read as it is
// does not reach the model.
func TestPromptsWithFiles(t *testing.T) {
	for _, a := range agents {
		name := map[string]func(file string) []string{
			"gemini":      func(file string) []string { return []string{"play it, see @" + file} },
			"claude-code": func(file string) []string { return []string{"play it, see @" + file} },
			"opencode":    func(file string) []string { return []string{"play it", "--file", file} },
		}[a.id]
		if name == nil {
			continue
		}
		t.Run(a.id, func(t *testing.T) {
			t.Parallel()
			r := start(t, a, actsPolicy())
			for file, text := range map[string]string{"secret.txt": "token " + token + "\n", "plain.txt": "an ordinary line\n"} {
				if err := os.WriteFile(r.at(file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			r.model.Play("play it", modelserver.Say("finished"))
			r.prompt(name("secret.txt")...)
			if told := r.model.Told("play it"); strings.Contains(told, token) {
				t.Error("the model reads the secret in a file that the prompt names")
			}
			r.prompt(name("plain.txt")...)
			if told := r.model.Told("play it"); !strings.Contains(told, "an ordinary line") {
				t.Error("an ordinary file does not reach the model")
			}
			seen := 0
			for _, id := range r.sessions() {
				seen += strings.Count(r.reeve("sessions", "show", id, "--data", r.data, "--json"), `"knowledge.retrieve"`)
			}
			if seen != 2 {
				t.Errorf("the record has %d of two files", seen)
			}
		})
	}
}

// Claude Code runs the commands in the text of a skill, and calls no hook for them.
func TestClaudeSkillsRunNothingUnseen(t *testing.T) {
	a := agents[3]
	r := start(t, a, actsPolicy())
	for name, command := range map[string]string{"good": "echo ran > good.txt", "bad": "echo forbidden > bad.txt"} {
		dir := r.at(".claude/skills/" + name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		text := "---\nname: " + name + "\ndescription: does it\nallowed-tools: Bash(echo:*)\n---\nuse it\n\n!`" + command + "`\n"
		if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.model.Play("play it", modelserver.Call("Skill", m{"skill": "good"}), modelserver.Call("Skill", m{"skill": "bad"}), modelserver.Say("finished"))
	r.prompt("play it")
	if !r.has("good.txt") || r.has("bad.txt") {
		t.Errorf("a skill's command ran: %v, a denied one: %v", r.has("good.txt"), r.has("bad.txt"))
	}
	if !strings.Contains(r.model.Told("play it"), "That word is not to be said.") {
		t.Error("the model is not told why")
	}
}

// Copilot gives its model what a command in the background printed, and calls no hook. Such
// a call is told to the policy beforehand; of one that may run the record says that its output
// was not seen.
func TestCopilotBackground(t *testing.T) {
	a := agents[4]
	r := start(t, a, actsPolicy()+`  - name: output-past-the-hooks
    on: call
    when: has(args.output_unseen) && has(args.command) && args.command.contains("ran")
    effect: deny
    reason: Nobody looks at what this prints.
`)
	inTheBackground := func(command, name string, value any) modelserver.ToolCall {
		c := a.shell(command)
		c.Args.(m)[name] = value
		return c
	}
	r.model.Play("play it",
		modelserver.Calls(inTheBackground("echo ran > async.txt", "mode", "async")),
		modelserver.Calls(inTheBackground("echo ran > detached.txt", "detach", true)),
		modelserver.Calls(inTheBackground("sleep 1; echo LATE", "mode", "async")),
		modelserver.Calls(a.shell("sleep 4; echo waited")),
		modelserver.Calls(a.shell("sleep 1; echo waited")),
		modelserver.Say("finished the play"))
	r.prompt("play it")
	if r.has("async.txt") || r.has("detached.txt") || !strings.Contains(r.model.Told("play it"), "Nobody looks at what this prints.") {
		t.Error("a command runs in the background, or the model is not told why it does not")
	}
	record := ""
	for _, id := range r.sessions() {
		record += r.reeve("sessions", "show", id, "--data", r.data, "--json")
	}
	if !strings.Contains(record, "knowledge.retrieve") {
		t.Error("the record does not say that an output was not seen")
	}
	if !strings.Contains(record, `"message.agent"`) {
		t.Error("the agent's words are not in the record")
	}
}
