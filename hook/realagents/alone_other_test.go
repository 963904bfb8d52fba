//go:build !linux && !windows

package realagents

func alone() (done bool, code int) { return false, 0 }
