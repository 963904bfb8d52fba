package agent

import (
	"context"
	"os/exec"
	"syscall"
)

// shellCommand is a command line for cmd, which gets it as it stands.
func shellCommand(ctx context.Context, line string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "cmd")
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `cmd /S /C "` + line + `"`}
	return cmd
}
