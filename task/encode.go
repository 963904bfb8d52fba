package task

import (
	"math"
	"strconv"
	"time"

	"reeve.example/reeve/internal/rawjson"

	"github.com/go-json-experiment/json/jsontext"
)

// Form says what of a task is shown.
type Form struct {
	// Brief leaves out what may be large: inputs, params, schemas and result, the
	// judged inputs, and what the protocol does not know. Lists are brief.
	Brief bool
}

// AppendJSON appends the task as clients see it: the protocol's members in a fixed
// order, then ours where they say something, then those that the protocol does not
// know. What a state rules out is null, whatever the task holds: a result unless
// completed, or failed with something obtained all the same, an error unless failed or cancelled.
func AppendJSON(dst []byte, t *Task, form Form) []byte {
	o := objectWriter{dst: append(dst, '{')}
	status := t.Status()
	ended := status.Ended()

	o.id("id", t.ID)
	o.id("parent_id", t.Parent)
	o.textOrNull("user_id", t.User)
	o.text("name", t.Name)
	o.text("status", string(status))
	o.number("priority", int(t.Priority))
	if !form.Brief {
		o.raw("inputs", orEmpty(t.Inputs))
		o.raw("params", t.Params)
		o.raw("schemas", t.Schemas)
		o.result(t, status)
	}
	o.failure(t, status)
	o.dependencies(t.Dependencies)
	o.raw("progress", fraction(t.Done()))
	o.time("created_at", t.Created)
	o.timeIf(status != Pending, "started_at", t.Started)
	o.time("updated_at", t.Updated)
	o.timeIf(ended, "completed_at", t.Completed)
	o.textOrNull("origin_type", t.Origin)
	o.id("original_task_id", t.Original)
	o.bool("has_references", t.References)

	s := &t.Schedule
	o.textOrNull("schedule_type", s.Type)
	o.textOrNull("schedule_expression", s.Expression)
	o.bool("schedule_enabled", s.Enabled)
	o.time("schedule_start_at", s.Start)
	o.time("schedule_end_at", s.End)
	o.time("next_run_at", t.Next)
	o.time("last_run_at", t.LastRun)
	if s.Bounded {
		o.number("max_runs", s.MaxRuns)
	} else {
		o.raw("max_runs", nil)
	}
	o.number("run_count", t.Runs)

	o.ours(t, form)
	if !form.Brief {
		for name, v := range root(t.Extra).Members() {
			o.raw(name, v.Raw())
		}
	}
	return append(o.dst, '}')
}

// ours appends what this node says beside the protocol, where there is something.
func (o *objectWriter) ours(t *Task, form Form) {
	said := func(name, s string) {
		if s != "" {
			o.text(name, s)
		}
	}
	said("client_id", t.ClientID)
	if t.Root != (ID{}) {
		o.id("root_task_id", t.Root)
	}
	said("executor", t.Executor)
	if t.Attempt > 0 {
		o.number("attempt", t.Attempt)
	}
	said("schedule_timezone", t.Schedule.Zone)
	said("schedule_missed", t.Schedule.Missed)
	said("awaiting", awaiting[t.Phase])
	if t.Phase == PhaseCancelled && t.Cascade {
		o.bool("resumable", true)
	}
	if t.Phase == Held {
		said("approval_id", t.Held)
	}
	if len(t.Judged) > 0 && !form.Brief {
		o.raw("judged_inputs", t.Judged)
	}
	said("decision_id", t.Decision)
	said("outcome_id", t.Outcome)
}

// awaiting is what a task that is being executed waits for, by its phase.
var awaiting = map[Phase]string{Waiting: "dependencies", Delayed: "retry", Ready: "executor", Held: "approval"}

// AppendEvent appends what an event says, the text's data object. Its type is said
// beside it: see EventType.String.
func AppendEvent(dst []byte, e *Event) []byte {
	o := objectWriter{dst: append(dst, '{')}
	o.text("protocol", "a2a")
	o.id("task_id", e.Task)
	o.text("status", string(e.Status))
	o.raw("progress", fraction(e.Progress))
	o.id("root_task_id", e.Root)
	if e.Message != "" {
		name := "message"
		if e.Status == Failed || e.Status == Cancelled {
			name = "error"
		}
		o.text(name, e.Message)
	}
	return append(o.dst, '}')
}

// objectWriter appends the members of an object.
type objectWriter struct{ dst []byte }

func (o *objectWriter) name(name string) {
	if o.dst[len(o.dst)-1] != '{' {
		o.dst = append(o.dst, ',')
	}
	o.dst = rawjson.AppendString(o.dst, name)
	o.dst = append(o.dst, ':')
}

// raw appends a member; no value is null.
func (o *objectWriter) raw(name string, v []byte) {
	o.name(name)
	if len(v) == 0 {
		v = []byte("null")
	}
	o.dst = append(o.dst, v...)
}

func (o *objectWriter) text(name, s string) {
	o.name(name)
	o.dst = rawjson.AppendString(o.dst, s)
}

func (o *objectWriter) textOrNull(name, s string) {
	if s == "" {
		o.raw(name, nil)
		return
	}
	o.text(name, s)
}

func (o *objectWriter) id(name string, id ID) {
	if id == (ID{}) {
		o.raw(name, nil)
		return
	}
	o.text(name, id.String())
}

func (o *objectWriter) number(name string, n int) {
	o.name(name)
	o.dst = strconv.AppendInt(o.dst, int64(n), 10)
}

func (o *objectWriter) bool(name string, b bool) {
	o.name(name)
	o.dst = strconv.AppendBool(o.dst, b)
}

// time appends a time in ISO 8601, in UTC, with as many as six digits of a
// fraction; the zero time is null.
func (o *objectWriter) time(name string, t time.Time) {
	if t.IsZero() {
		o.raw(name, nil)
		return
	}
	o.name(name)
	o.dst = t.UTC().AppendFormat(o.dst, `"2006-01-02T15:04:05.999999Z"`)
}

func (o *objectWriter) timeIf(shown bool, name string, t time.Time) {
	if !shown {
		t = time.Time{}
	}
	o.time(name, t)
}

func (o *objectWriter) result(t *Task, status Status) {
	switch {
	case status == Completed:
		o.raw("result", orEmpty(t.Result))
	case status == Failed && len(t.Result) > 0:
		o.raw("result", t.Result)
	default:
		o.raw("result", nil)
	}
}

// failure appends the error, which the protocol wants to be a string that is not
// empty when a task failed or was cancelled.
func (o *objectWriter) failure(t *Task, status Status) {
	switch {
	case status != Failed && status != Cancelled:
		o.raw("error", nil)
	case t.Error == "":
		o.text("error", "The task was "+string(status)+".")
	default:
		o.text("error", t.Error)
	}
}

func (o *objectWriter) dependencies(needs []Dependency) {
	o.name("dependencies")
	o.dst = append(o.dst, '[')
	for i, need := range needs {
		if i > 0 {
			o.dst = append(o.dst, ',')
		}
		o.dst = append(o.dst, '{')
		o.id("id", need.ID)
		o.bool("required", need.Required)
		o.dst = append(o.dst, '}')
	}
	o.dst = append(o.dst, ']')
}

func orEmpty(v jsontext.Value) jsontext.Value {
	if len(v) == 0 {
		return jsontext.Value("{}")
	}
	return v
}

// fraction is a progress as JSON, from 0 to 1 whatever it is.
func fraction(f float64) []byte {
	if math.IsNaN(f) {
		f = 0
	}
	return strconv.AppendFloat(nil, min(max(f, 0), 1)+0, 'f', -1, 64)
}
