//go:build !linux && !windows

package realagents

import "os/exec"

// within does nothing: only Linux gives a program an /etc of its own.
func (r *run) within(*exec.Cmd) {}
