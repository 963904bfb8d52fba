package ledger

import (
	"context"
	"time"

	"reeve.example/reeve/task"
)

// TreeStore removes whole trees of tasks. Each step is a transaction of its own,
// small enough not to hold up commits. A tree is gone as soon as its root is: what is
// left of a large one is removed by SweepTrees. That it is gone is itself a row, until
// somebody has recorded it, so that no crash leaves a removal without a record.
type TreeStore interface {
	// EndedTrees looks at some of the tasks made before a time, the oldest after a place
	// first, and returns the roots of trees that RemoveTrees would remove. next is
	// the place to go on from; zero when there are no more.
	EndedTrees(ctx context.Context, before time.Time, after task.Place) (roots []task.ID, next task.Place, err error)
	// TreesOf returns the roots of some of a user's trees likewise, in whatever state.
	TreesOf(ctx context.Context, user string, after task.Place) (roots []task.ID, next task.Place, err error)
	// RemoveTrees removes trees that are not being executed, and returns those. With
	// before it leaves also those that have not ended as a whole before that time, that
	// have a run to come, and whose tasks were copied or linked by a tree that is there.
	RemoveTrees(ctx context.Context, roots []task.ID, before time.Time, why string) (gone []task.Gone, err error)
	// GoneTrees returns trees that were removed, and not yet noted; NoteTrees notes them.
	GoneTrees(ctx context.Context, limit int) ([]task.Gone, error)
	NoteTrees(ctx context.Context, roots []task.ID) error
	// SweepTrees removes what is left of trees that are gone.
	SweepTrees(ctx context.Context) error
	// Scrub makes sure that what was removed before is no longer in the files, as far
	// as the database can.
	Scrub(ctx context.Context) error
	// Alone runs f while no other node that shares the database runs one, and not at
	// all when another does.
	Alone(ctx context.Context, f func(ctx context.Context) error) error
}
