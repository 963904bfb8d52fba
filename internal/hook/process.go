package hook

import "time"

// Process is a coding agent's process that runs.
type Process struct {
	Agent  string
	PID    int
	Folder string // that it works in; empty where that is not told
	Began  time.Time
}
