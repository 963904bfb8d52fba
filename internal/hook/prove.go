package hook

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"reeve.example/reeve/internal/rawjson"
)

// ProofSession is the name of the session that proofs are recorded in.
const ProofSession = "reeve-hook-test"

// Prove calls the hook as the agent would: with the command that stands in the agent's
// configuration, by a shell, about a command that does nothing. It returns how long the
// answer took, and an error where the agent would be blocked or would not be held. Then
// it calls it with what cannot be read, which has to be blocked.
func (in *Installation) Prove(ctx context.Context, folder string) (time.Duration, error) {
	line, err := in.installedLine()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	stdout, stderr, exit, err := runHook(ctx, line, folder, in.sample(folder))
	took := time.Since(began)
	switch {
	case err != nil:
		return 0, err
	case exit != 0 && !(in.Agent == "amazon-q" && exit == 2):
		return 0, fmt.Errorf("the hook cannot judge, so that %s can do nothing until that is mended: %s", agentName(in.Agent), strings.TrimSpace(stderr))
	case in.Agent != "amazon-q" && !rawObject(stdout):
		return 0, fmt.Errorf("the hook gave no answer that %s understands, and it would go on without one", agentName(in.Agent))
	}
	if stdout, _, exit, err = runHook(ctx, line, folder, []byte("no event")); err != nil {
		return 0, err
	}
	if exit != 2 && !bytes.Contains(stdout, []byte(`"permissionDecision":"deny"`)) {
		return 0, fmt.Errorf("the hook let pass what it cannot read (exit code %d)", exit)
	}
	return took, nil
}

func rawObject(text []byte) bool {
	doc, err := rawjson.Parse(bytes.TrimSpace(text))
	return err == nil && doc.Root().Kind() == rawjson.Object
}

// runHook runs a command as agents run hooks.
func runHook(ctx context.Context, line, folder string, event []byte) (stdout []byte, stderr string, exit int, err error) {
	shell := []string{"sh", "-c", line}
	if isWindows {
		shell = []string{"cmd", "/c", line}
	}
	cmd := exec.CommandContext(ctx, shell[0], shell[1:]...)
	cmd.Dir = folder
	cmd.WaitDelay = time.Second
	var out, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(event), &out, &said
	err = cmd.Run()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		err = nil
	}
	return out.Bytes(), said.String(), cmd.ProcessState.ExitCode(), err
}

// call is the event with which the agent asks about a call.
func (in *Installation) call() string {
	if in.Agent == "opencode" {
		return "tool.execute.before"
	}
	a, err := Find(in.Agent)
	if err != nil {
		return ""
	}
	for _, event := range places[in.Agent].events {
		if a.events[event] == Call {
			return event
		}
	}
	return ""
}

func (in *Installation) notInstalled() error {
	return fmt.Errorf("reeve's hook is not installed there: reeve hook install %s writes it", in.Agent)
}

// installedLine is the command that the agent's configuration has for a call.
func (in *Installation) installedLine() (string, error) {
	_, text, err := in.present()
	if err != nil {
		return "", err
	}
	if text == nil {
		return "", in.notInstalled()
	}
	if in.Agent == "opencode" {
		_, list, _ := strings.Cut(string(text), "const command = ")
		list, _, _ = strings.Cut(list, "\n")
		doc, err := rawjson.Parse([]byte(list))
		if err != nil {
			return "", in.notInstalled()
		}
		var words []string
		for _, w := range doc.Root().Elems() {
			words = append(words, w.Text())
		}
		return shellLine(words), nil
	}
	if in.Agent == "codex" && in.Managed {
		if line := tomlLine(text, in.call()); strings.Contains(line, " hook --agent codex") {
			return line, nil
		}
		return "", in.notInstalled()
	}
	doc, err := rawjson.Parse(bytes.TrimPrefix(text, mark))
	if err != nil {
		return "", err
	}
	for s := range doc.Root().Get("hooks").Get(in.call()).Strings() {
		if line := s.Text(); strings.Contains(line, " hook --agent "+in.Agent) && !strings.HasPrefix(line, "& ") {
			return line, nil
		}
	}
	return "", in.notInstalled()
}

// sample is an event in the agent's form: a command that does nothing is about to run.
func (in *Installation) sample(folder string) []byte {
	id := "test-" + rand.Text()
	command := obj(nil).str("command", "true").end()
	claude := func(tool string) obj {
		return obj(nil).str("hook_event_name", in.call()).str("session_id", ProofSession).str("cwd", folder).str("tool_name", tool).raw("tool_input", command).str("tool_use_id", id)
	}
	switch in.Agent {
	case "gemini":
		return claude("run_shell_command").end()
	case "cursor":
		return claude("Shell").str("conversation_id", ProofSession).end()
	case "copilot":
		return obj(nil).str("sessionId", ProofSession).str("cwd", folder).str("toolName", "bash").raw("toolArgs", command).end()
	case "opencode":
		return obj(nil).str("event", in.call()).str("sessionID", ProofSession).str("directory", folder).str("callID", id).str("tool", "bash").raw("args", command).end()
	case "amazon-q":
		return claude("execute_bash").end()
	}
	return claude("Bash").end()
}
