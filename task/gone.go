package task

import "time"

// Place is a task's place among all tasks, the oldest first. The zero Place is before all.
type Place struct {
	Created time.Time
	ID      ID
}

// Why a tree was removed.
const (
	ByAge     = "retention" // it ended long ago
	ByErasure = "erase"     // its user's data was erased
)

// Gone is a tree that was removed.
type Gone struct {
	Root  ID
	Tasks int    // how many it had
	Why   string // ByAge or ByErasure
}
