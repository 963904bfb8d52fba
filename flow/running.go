package flow

import (
	"context"
	"slices"
	"time"

	"reeve.example/reeve/task"

	"github.com/go-json-experiment/json"
)

// The methods in this file are the upstream's. There they are about one process;
// here about all nodes that share the store.

// runningList answers tasks.running.list.
func (s *Server) runningList(ctx context.Context, c *call) ([]byte, error) {
	q := task.Query{Status: task.InProgress, User: c.params.text("user_id", task.MaxName)}
	c.params.page(&q)
	if err := c.params.failed(); err != nil {
		return nil, err
	}
	tasks, err := s.brief(ctx, c.by, q)
	if err != nil {
		return nil, err
	}
	return appendList(nil, tasks), nil
}

// runningCount answers tasks.running.count.
func (s *Server) runningCount(ctx context.Context, c *call) ([]byte, error) {
	q := task.Query{Status: task.InProgress, User: c.params.text("user_id", task.MaxName)}
	if err := c.params.failed(); err != nil {
		return nil, err
	}
	n, err := s.cfg.Engine.Count(ctx, c.by, q)
	if err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		Count int    `json:"count"`
		User  string `json:"user_id,omitzero"`
	}{n, q.User})
}

// standing is how one task stands.
type standing struct {
	Task     task.ID    `json:"task_id"`
	Context  task.ID    `json:"context_id"`
	Status   string     `json:"status"`
	Progress float64    `json:"progress"`
	Error    *string    `json:"error"`
	Running  bool       `json:"is_running"`
	Started  *time.Time `json:"started_at"`
	Updated  *time.Time `json:"updated_at"`
}

// runningStatus answers tasks.running.status, also of tasks that do not run.
func (s *Server) runningStatus(ctx context.Context, c *call) ([]byte, error) {
	ids := c.params.ids("task_ids", "context_ids")
	if err := c.params.failed(); err != nil {
		return nil, err
	}
	list := make([]standing, 0, len(ids))
	for _, id := range ids {
		at := standing{Task: id, Context: id, Status: "not_found"}
		r, err := s.cfg.Engine.Row(ctx, c.by, id)
		if wrong, ok := err.(*task.Error); ok && wrong.Code == task.CodeNotFound {
			list = append(list, at)
			continue
		}
		if err != nil {
			return nil, err
		}
		at.Status, at.Progress, at.Running = string(r.Status()), r.Done(), r.Phase == task.Running
		if status := r.Status(); status == task.Failed || status == task.Cancelled {
			at.Error = &r.Error
		}
		at.Started, at.Updated = orNull(r.Started), orNull(r.Updated)
		list = append(list, at)
	}
	return json.Marshal(list)
}

func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC().Truncate(time.Microsecond)
	return &t
}

// scheduledList answers tasks.scheduled.list.
func (s *Server) scheduledList(ctx context.Context, c *call) ([]byte, error) {
	tasks, err := s.scheduled(ctx, c)
	if err != nil {
		return nil, err
	}
	return appendList(nil, tasks), nil
}

// scheduledCalendar answers tasks.scheduled.export-ical.
func (s *Server) scheduledCalendar(ctx context.Context, c *call) ([]byte, error) {
	tasks, err := s.scheduled(ctx, c)
	if err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		Calendar string `json:"ical_content"`
		Tasks    int    `json:"task_count"`
	}{string(task.AppendICal(nil, tasks, s.cfg.Now())), len(tasks)})
}

// maxWalk bounds how many tasks are looked at where no index finds the right ones.
const maxWalk = 10_000

// scheduled returns the tasks with a schedule that a call asks for, newest first.
func (s *Server) scheduled(ctx context.Context, c *call) (list []*task.Task, err error) {
	p := c.params
	enabled, kind := p.flag("enabled_only", true), p.text("schedule_type", task.MaxName)
	q := task.Query{User: p.text("user_id", task.MaxName), Status: p.status("status"), Scheduled: enabled}
	if kind != "" && !slices.Contains([]string{"once", "interval", "cron", "daily", "weekly", "monthly"}, kind) {
		p.fail("schedule_type", "The value is no type of schedule.", "once, interval, cron, daily, weekly or monthly")
	}
	p.page(&q)
	if err := p.failed(); err != nil {
		return nil, err
	}
	if enabled && kind == "" {
		return s.brief(ctx, c.by, q)
	}
	limit, offset := q.Limit, q.Offset
	q.Limit, q.Offset = maxWalk, 0
	if list, err = s.brief(ctx, c.by, q); err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(t *task.Task) bool {
		return t.Schedule.Type == "" || kind != "" && t.Schedule.Type != kind
	})
	return part(list, limit, offset), nil
}

// part is a page of a list.
func part(list []*task.Task, limit, offset int) []*task.Task {
	list = list[min(offset, len(list)):]
	return list[:min(limit, len(list))]
}

// scheduledDue answers tasks.scheduled.due: the tasks that the node is about to
// execute, the earliest first.
func (s *Server) scheduledDue(ctx context.Context, c *call) ([]byte, error) {
	q := task.Query{User: c.params.text("user_id", task.MaxName), Scheduled: true, DueBefore: c.params.time("before", s.cfg.Now())}
	c.params.page(&q)
	if err := c.params.failed(); err != nil {
		return nil, err
	}
	limit, offset := q.Limit, q.Offset
	q.Limit, q.Offset = maxWalk, 0
	tasks, err := s.brief(ctx, c.by, q)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(tasks, func(a, b *task.Task) int { return a.Next.Compare(b.Next) })
	return appendList(nil, part(tasks, limit, offset)), nil
}

// scheduledInit answers tasks.scheduled.init: the next run is found anew, from a
// time on.
func (s *Server) scheduledInit(ctx context.Context, c *call) ([]byte, error) {
	id, from := c.params.id("task_id", "id"), c.params.time("from_time", s.cfg.Now())
	if err := c.params.failed(); err != nil {
		return nil, err
	}
	_, err := s.cfg.Engine.Update(ctx, c.by, id, c.request(), func(t *task.Task) (*task.Task, error) {
		to := *t
		next, ok := t.Schedule.Next(from)
		if !ok || t.Schedule.Bounded && t.Runs >= t.Schedule.MaxRuns {
			return nil, invalid("task_id", "The task has no schedule that is enabled and has a run to come.", "a task whose schedule_enabled is true")
		}
		to.Next = next
		return &to, nil
	})
	if err != nil {
		return nil, err
	}
	return s.get(ctx, c)
}
