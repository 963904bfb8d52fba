//go:build unix

package agent

import (
	"context"
	"os/exec"
	"syscall"
)

// shellCommand is a command line in a process group of its own, which ends as a
// whole with ctx.
func shellCommand(ctx context.Context, line string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}
