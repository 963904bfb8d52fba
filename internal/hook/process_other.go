//go:build !linux

package hook

// Processes lists nothing: only Linux tells of processes without a program of its own.
func Processes() []Process { return nil }
