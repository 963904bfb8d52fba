//go:build race && linux

package sandbox

// raceMB is what the race detector needs beside what a test's command does.
const raceMB = 1000

// The race detector has programs sleep for a second before they end.
func init() { helperEnv = append(helperEnv, "GORACE=atexit_sleep_ms=0") }
