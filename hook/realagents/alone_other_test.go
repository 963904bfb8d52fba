//go:build !linux

package realagents

func alone() (done bool, code int) { return false, 0 }
