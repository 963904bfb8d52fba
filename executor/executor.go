// Package executor does the work of tasks: it runs a command, calls a web
// service, a model, a tool, another agent or a module, each held to what the
// task's verdict allows.
//
// An own executor is a type with two methods, given to the node:
//
//	type weather struct{}
//
//	func (weather) Describe() executor.Description {
//		return executor.Description{ID: "weather", Name: "Weather", InputSchema: jsontext.Value(`{"type":"object","required":["city"]}`)}
//	}
//
//	func (weather) Execute(ctx context.Context, job *executor.Job) (jsontext.Value, error) {
//		job.Progress(0.5, "asked")
//		return jsontext.Value(`{"celsius": 7}`), nil
//	}
package executor

import (
	"context"
	"errors"
	"time"

	"reeve.example/reeve/act"

	"github.com/go-json-experiment/json/jsontext"
)

// Executor does the work of one kind of task. It is used by many goroutines at once.
type Executor interface {
	// Describe says what the executor is and takes. It always says the same.
	Describe() Description
	// Execute does one task's work and returns its result, a JSON object. When
	// ctx ends, the task was cancelled, its time is over, or the node no longer
	// holds it: everything that the work started must be stopped before Execute
	// returns, and it must return soon.
	//
	// A task may be executed more than once, after a crash for example: see
	// Job.Attempt and Job.Key.
	Execute(ctx context.Context, job *Job) (result jsontext.Value, err error)
}

// Description says what an executor is.
type Description struct {
	ID          string // what tasks name in schemas.method, such as "rest_executor"
	Name        string // for people
	Description string // a sentence or two
	Tags        []string
	// InputSchema is a JSON Schema of the inputs. It names every member that the
	// executor reads, and lets others pass: results of dependencies stand beside them.
	InputSchema jsontext.Value
	// ResultSchema is a JSON Schema of the result, for people and programs that read it;
	// nil for none. The node does not hold results to it.
	ResultSchema jsontext.Value
	// Literal names inputs that are a program's text when they are a string, such as
	// a line of shell: results of other tasks must not be put into them.
	Literal []string
	// Concurrent is how many tasks a node executes at once; 0 means 64.
	Concurrent int
	// Manifest is what a task may use when no policy says anything of the executor.
	Manifest act.Manifest
	// Enforces names the limits of a manifest, as written in JSON, that the executor
	// holds its work to. A start whose policy sets other limits is denied, unless
	// the policy calls them advisory.
	Enforces []string
	// Idempotent says that executing a task twice does no more than once.
	Idempotent bool
}

// Job is one attempt at a task.
type Job struct {
	Task, Root string // ids of the task, and of its tree's root
	Name, User string
	// Attempt counts the starts of the task, from 1. More than 1 means that the
	// work may have been done before, in part or wholly.
	Attempt int
	// Key is the same for all attempts of one run of the task, and for no other
	// run: what a service can recognize a repeat by.
	Key    string
	Inputs jsontext.Value // as judged: a JSON object
	Params jsontext.Value // the task's params, an object or nil
	// Results are those of the task's dependencies, in their order.
	Results []Result
	// Manifest is what the work may use.
	Manifest act.Manifest
	// Labels are what is known of what the task's tree has read: tags, and foreign. They go
	// along with what is sent to others who ask for them.
	Labels []string
	// Progress tells how far the work is, from 0 to 1, and what goes on; a fraction
	// below 0 leaves it. It may be called often: what comes too fast is put together.
	Progress func(fraction float64, message string)
}

// Result is what a dependency gave.
type Result struct {
	ID     string         // as the client named it, else the task's id
	Value  jsontext.Value // nil when the dependency did not complete
	Status string         // completed, failed or cancelled
}

// Error is a failure that says more than a sentence.
type Error struct {
	Message string
	// Final says that trying again is of no use.
	Final bool
	// After is how long to wait at least before another try; 0 for no wish.
	After time.Duration
	// Result is what was obtained all the same, a JSON object or nil, such as a
	// command's output when it failed.
	Result jsontext.Value
}

func (e *Error) Error() string { return e.Message }

// Final returns err as one that trying again does not mend.
func Final(err error) error { return &Error{Message: err.Error(), Final: true} }

// ErrNoDescription is why an executor is not taken.
var ErrNoDescription = errors.New("an executor needs an id and a schema of its inputs")
