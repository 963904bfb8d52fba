//go:build !windows

package realagents

import (
	"os"
	"path/filepath"
	"slices"
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

// OpenCode gives its model files of instructions without a question of its own. The plugin
// asks before each, and withholds the one that must not be read as it is.
func TestOpenCodeInstructions(t *testing.T) {
	a := agents[slices.IndexFunc(agents, func(a *agent) bool { return a.id == "opencode" })]
	r := start(t, a, actsPolicy())
	for name, text := range map[string]string{
		r.at("AGENTS.md"): "Be brief.\n\ntoken " + token + "\n",
		filepath.Join(r.home, ".config", "opencode", "AGENTS.md"): "Speak plainly.\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.model.Play("play it", modelserver.Calls(a.shell("echo one > one.txt")), modelserver.Say("finished"))
	r.prompt("play it")
	told := r.model.Told("play it")
	if strings.Contains(told, token) || !strings.Contains(told, "[withheld: ") {
		t.Error("the model read a file of instructions that must not be read as it is")
	}
	if !strings.Contains(told, "Speak plainly.") || !r.has("one.txt") {
		t.Error("the other file is lost, or the agent did not go on")
	}
	if n := strings.Count(strings.Join(r.record(), "\n"), "knowledge.retrieve"); n == 0 {
		t.Error("the files are not in the record")
	}
}
