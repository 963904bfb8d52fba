package task

import "context"

// Work is what a dispatcher is to do: hand ready tasks to where there is room.
type Work struct {
	// Limits are the executors of this node, and how many tasks of each may run at once.
	Limits map[string]int
	// Room is how many tasks may run at once, of all executors; 0 for no bound but theirs.
	Room int
	// Start takes one attempt, and does not block: tasks begin in the order in which they
	// are taken, as far as one is more urgent than another. What it returns executes the
	// attempt, and returns when that is over. It must be called, in a goroutine of its
	// own. A task that is not ready any more is not started: so a dispatcher may hand
	// one out twice.
	Start func(ctx context.Context, h Handed) (execute func())
	// Noticed is told what other nodes have changed. It does not block.
	Noticed func(n Notice)
}

// Handed is a ready task that is to start.
type Handed struct {
	Task, Root ID
	Attempt    int // the one that is to begin
	Run        int
	Priority   uint8
}

// Notice is what another node changed.
type Notice struct {
	Stopped []Stopped // attempts that must end, if they are this node's
	Roots   []ID      // trees that have new events
	// Everything says that notices may have been missed: look at everything again.
	Everything bool
}
