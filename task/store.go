package task

import (
	"context"
	"time"
)

// Store reads what the commits made of tasks.
type Store interface {
	// Task returns a whole task. ledger.ErrNotFound when there is none, ErrBroken when
	// what is stored of it cannot be read; in lists it is told by its Broken.
	Task(ctx context.Context, id ID) (*Task, error)
	// TasksOf returns those of some tasks that exist, in no order.
	TasksOf(ctx context.Context, ids []ID) ([]*Task, error)
	// Tasks returns the tasks that a query selects, newest first, without their
	// results, and CountTasks how many there are without its Limit and Offset.
	Tasks(ctx context.Context, q Query) ([]*Task, error)
	CountTasks(ctx context.Context, q Query) (int, error)
	// OpenTasks returns how many tasks of a user, of all with an empty name, have not
	// ended, and how many bytes their definitions have.
	OpenTasks(ctx context.Context, user string) (n int, bytes int64, err error)
	// TaskRow returns what of a task changes. ledger.ErrNotFound when there is none.
	TaskRow(ctx context.Context, id ID) (Row, error)
	// TaskRows returns the rows that a query selects.
	TaskRows(ctx context.Context, q RowQuery) ([]Row, error)

	// TaskEvents returns at most limit events of a tree that come after one, in order.
	TaskEvents(ctx context.Context, root ID, after uint64, limit int) ([]Event, error)
	// TrimTaskEvents removes events that are older than before, of trees that are
	// not being executed.
	TrimTaskEvents(ctx context.Context, before time.Time) (removed int64, err error)

	// TakePush leases the pushes that are due, so that no other node tells the same
	// at once, until a time: then they are due again.
	// Pushes lists at most so many pushes, of one tree or with the zero ID of all: those that
	// are not done first, and of them those that are due last.
	Pushes(ctx context.Context, root ID, limit int) ([]Push, error)
	TakePush(ctx context.Context, now, until time.Time, limit int) ([]Push, error)
	// PutPush writes how far a push has come.
	PutPush(ctx context.Context, p Push) error

	// LeaseEnds is until when nobody else can take the tasks of the lease's node for
	// lost; zero for never.
	LeaseEnds() time.Time
}

// Trees removes whole trees of tasks. Each step is a transaction of its own,
// small enough not to hold up commits. A tree is gone as soon as its root is: what is
// left of a large one is removed by SweepTrees. That it is gone is itself a row, until
// somebody has recorded it, so that no crash leaves a removal without a record.
type Trees interface {
	// EndedTrees looks at some of the tasks made before a time, the oldest after a place
	// first, and returns the roots of trees that RemoveTrees would remove. next is
	// the place to go on from; zero when there are no more.
	EndedTrees(ctx context.Context, before time.Time, after Place) (roots []ID, next Place, err error)
	// TreesOf returns the roots of some of a user's trees likewise, in whatever state.
	TreesOf(ctx context.Context, user string, after Place) (roots []ID, next Place, err error)
	// UsersEnding returns the users of tasks whose names end so.
	UsersEnding(ctx context.Context, end string) (users []string, err error)
	// RemoveTrees removes trees that are not being executed, and returns those. With
	// before it leaves also those that have not ended as a whole before that time, that
	// have a run to come, and whose tasks were copied or linked by a tree that is there.
	RemoveTrees(ctx context.Context, roots []ID, before time.Time, why string) (gone []Gone, err error)
	// GoneTrees returns trees that were removed, and not yet noted; NoteTrees notes them.
	GoneTrees(ctx context.Context, limit int) ([]Gone, error)
	NoteTrees(ctx context.Context, roots []ID) error
	// SweepTrees removes what is left of trees that are gone.
	SweepTrees(ctx context.Context) error
	// Scrub makes sure that what was removed before is no longer in the files, as far
	// as the database can.
	Scrub(ctx context.Context) error
	// Alone runs f while no other node that shares the database runs one, and not at
	// all when another does.
	Alone(ctx context.Context, f func(ctx context.Context) error) error
}
