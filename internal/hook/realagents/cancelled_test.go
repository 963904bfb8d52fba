//go:build !windows

package realagents

import (
	"bytes"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"reeve.example/reeve/internal/modelserver"
)

// resumed are the arguments with which an agent goes on with its last conversation.
var resumed = map[string]func(prompt string) []string{
	"codex": func(prompt string) []string {
		return []string{"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "resume", "--last", prompt}
	},
	"gemini": func(prompt string) []string {
		return []string{"-m", "gemini-2.5-flash", "--yolo", "--resume", "latest", "-p", prompt}
	},
	"opencode": func(prompt string) []string { return []string{"run", "--continue", prompt} },
	"claude-code": func(prompt string) []string {
		return []string{"--dangerously-skip-permissions", "--continue", "-p", prompt}
	},
	"copilot": func(prompt string) []string {
		return []string{"--allow-all-tools", "--allow-all-paths", "--no-auto-update", "--continue", "-p", prompt}
	},
}

// Its user stops an agent while a command runs, and goes on with the conversation later,
// in which the agent makes the very same call. What that gives is the result of that call:
// the one that was cancelled has none, and what it would have written is not said to be.
func TestCancelled(t *testing.T) {
	for _, a := range agents {
		t.Run(a.id, func(t *testing.T) {
			r := start(t, a, actsPolicy())
			f := &facts{t: t, name: a.id + "-cancelled"}
			const command = "if [ -e begun ]; then echo SECOND-OUT; else touch begun; sleep 100; fi; echo late > late.txt"
			r.model.Play("begin it", modelserver.Calls(a.shell(command)), modelserver.Calls(a.shell(command)), modelserver.Say("finished it"))

			r.interrupt(func() bool { return r.has("begun") }, a.command(r, "begin it"))
			f.must("when it was stopped, the command", either(r.has("late.txt"), "went on", "ended"), "ended")

			again := *a
			again.command = func(_ *run, prompt ...string) []string { return resumed[a.id](prompt[0]) }
			r.agent = &again
			r.prompt("go on")
			f.must("all turns", either(r.model.Left("begin it") == 0, "played", "not played"), "played")
			f.must("the same call again", either(outputs(r.model.Told("begin it"), "SECOND-OUT"), "runs, and its output is read", "lost"), "runs, and its output is read")
			f.lines = append(f.lines, r.record()...)
			f.compare()
		})
	}
}

// interrupt runs the agent until something is so, and then stops it as its user does at a
// terminal: every process of its group is interrupted.
func (r *run) interrupt(until func() bool, args []string) {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), r.path, append(args, r.args...)...)
	cmd.Env, cmd.Dir = append(r.environ(), r.env...), r.work
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	r.within(cmd)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &out, 5*time.Second
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	kill := func(signal syscall.Signal) { syscall.Kill(-cmd.Process.Pid, signal) }
	for deadline := time.Now().Add(patience); !until(); time.Sleep(50 * time.Millisecond) {
		select {
		case err := <-ended:
			r.t.Fatalf("%s ended by itself: %v\n%s\nthe model:\n%s", r.agent.program, err, out.String(), r.model.Log())
		default:
		}
		if time.Now().After(deadline) {
			kill(syscall.SIGKILL)
			r.t.Fatalf("%s did nothing in %v\n%s", r.agent.program, patience, out.String())
		}
	}
	kill(syscall.SIGINT)
	select {
	case <-ended:
	case <-time.After(20 * time.Second): // it asks again, or does not hear
		kill(syscall.SIGKILL)
		<-ended
	}
}
