package engine

import (
	"context"
	"errors"
	"fmt"

	"reeve.example/reeve/internal/quota"
	"reeve.example/reeve/task"
)

// QuotaError says that a user has as much as it may have.
type QuotaError struct{ reason string }

func (e *QuotaError) Error() string { return e.reason }

// reserve takes room for tasks before they are made: they stay until they have ended.
// made must be called with whether they were.
func (e *Engine) reserve(ctx context.Context, by Caller, tasks int, bytes int64) (made func(bool), err error) {
	if by.Admin {
		return func(bool) {}, nil
	}
	made, err = e.tasks.Take(ctx, by.User, tasks, bytes) // where every task is everybody's, all callers are one
	if full, ok := errors.AsType[*quota.Full](err); ok {
		e.cfg.Refused("tasks")
		return nil, &QuotaError{fmt.Sprintf(
			"You may have %d tasks with %d bytes that have not ended (the node's quotas.tasks and quotas.task-bytes), and have %d with %d. Execute, cancel or delete some.",
			full.N, full.Bytes, full.HasN, full.HasBytes)}
	}
	return made, err
}

// sizeOf is about how many bytes of tasks are kept.
func sizeOf(tasks ...*task.Task) (n int64) {
	for _, t := range tasks {
		n += int64(len(t.Name) + len(t.Inputs) + len(t.Params) + len(t.Schemas) + len(t.Extra))
	}
	return n
}
