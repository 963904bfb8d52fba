package task

import (
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind is what a Change does.
type Kind uint8

// The kinds of change. The arrows are of phases.
const (
	Create   Kind = iota + 1 // tasks come to be, Idle, or asked for at once
	Ask                      // a tree, or a part of one, is executed (again)
	Trigger                  // a schedule is due: all of its scope is executed again
	Start                    // Ready → Running
	Refuse                   // Ready → Running → Failed: it may not start
	Hold                     // Ready → Held
	Release                  // Held → Ready: people have answered
	Finish                   // Running → Complete or Failed
	TryAgain                 // Running → Delayed
	Wake                     // Delayed → Ready
	Lose                     // Running → Ready: its node is gone, or gives it back
	Advance                  // Running: progress
	Cancel                   // a task, and all under it, is cancelled
	Update                   // the definition is changed
	Delete                   // Idle → nothing
)

// Change is what is to become of a task. What it says of the task is compared
// with its row in the transaction that makes the change: ErrMoved when another
// change came first.
type Change struct {
	Kind Kind
	Task ID // zero for Create
	Root ID // of the task's tree
	At   time.Time

	// Attempt and Node are compared: of the row that is Running; at a Start
	// Attempt is the one that begins, and Node who begins it.
	Attempt int
	Node    string

	Outcome  Phase          // of Finish: PhaseComplete or PhaseFailed
	Message  string         // why it failed, is held, was cancelled; what goes on
	Fraction float64        // of Advance; below 0 leaves it
	Result   jsontext.Value // of Finish
	Judged   jsontext.Value // of Start: the inputs as the policy changed them
	Due      time.Time      // of TryAgain: when to start again. Of Trigger: the run that is due
	Next     time.Time      // of Trigger: the run after; zero for none
	Last     bool           // of Trigger: when it runs now, it does not run again
	Skip     bool           // of Trigger: the run is left out
	Drop     bool           // of Trigger: it is left out if the tree is still being executed; else it waits
	Held     string         // of Hold: the approval
	Release  string         // of Release: the approval that is over

	Again bool // of Cancel: what is cancelled runs when it is executed again, as if it had failed

	Tasks []*Task // of Create; of Update the one task as it shall be
	Ask   bool    // of Create: execute at once
	Whole bool    // of Delete: with everything under it
	// References marks the task that Create copied or linked from.
	References ID
	Push       *Push // of Create and Ask: whom to tell of the tree's changes; nil for nobody
}

// ErrMoved: the task is no longer as the change found it. Nothing was changed.
var ErrMoved = errors.New("the task has moved on")

// ErrBroken: what is stored of the task, or of its tree, cannot be. Nothing was changed.
var ErrBroken = errors.New("what is stored of the task is damaged")

// Push is whom to tell of a tree's changes.
type Push struct {
	ID      ID // of this push
	Root    ID
	URL     string
	Headers map[string]string // sent with each call; secret
	Created time.Time
	// Sent is the number of the last event that was told, or given up.
	Sent     uint64
	Failures int       // tries in a row that failed
	Tried    time.Time // when the last of them was
	Error    string    // and why it failed, without the address
	Due      time.Time // when to try next
	Done     bool      // nothing more is to be told
}

// Load says what of the stored tasks a change looks at.
type Load struct {
	Tasks      []ID // these
	Dependents []ID // those that wait for these, with the edges
	Under      []ID // these and all under them
	Trees      []ID // all of the trees of these roots, with all edges
}

// Loaded is what a store found. A task that does not exist is missing.
type Loaded struct {
	Rows  []Row
	Edges []Edge
}

// Edge says that a task waits for another.
type Edge struct {
	Task, Needs ID
	Required    bool
}

// Needs adds to a Load what a change looks at for certain.
func (c *Change) Needs(l *Load) {
	switch c.Kind {
	case Create:
		if c.References != (ID{}) {
			l.Tasks = append(l.Tasks, c.References)
		}
		if !c.createsRoot() {
			l.Tasks = append(l.Tasks, c.Root)
			in := make(map[ID]bool, len(c.Tasks))
			for _, t := range c.Tasks {
				in[t.ID] = true
			}
			for _, t := range c.Tasks {
				if !in[t.Parent] {
					l.Tasks = append(l.Tasks, t.Parent)
				}
				for _, d := range t.Dependencies {
					if !in[d.ID] {
						l.Tasks = append(l.Tasks, d.ID)
					}
				}
			}
		}
		for _, t := range c.Tasks {
			l.Tasks = append(l.Tasks, t.ID) // a client's id may be taken
		}
	case Ask, Trigger:
		l.Trees = append(l.Trees, c.Root)
	case Cancel:
		l.Tasks = append(l.Tasks, c.Root)
		l.Under = append(l.Under, c.Task)
	case Update:
		l.Trees = append(l.Trees, c.Root) // its parent and dependencies must make no circle
	case Delete:
		l.Tasks = append(l.Tasks, c.Root)
		l.Under = append(l.Under, c.Task)
		l.Dependents = append(l.Dependents, c.Task)
	case Finish, Refuse, Lose:
		l.Tasks = append(l.Tasks, c.Root, c.Task)
		l.Dependents = append(l.Dependents, c.Task)
	default:
		l.Tasks = append(l.Tasks, c.Root, c.Task)
	}
}

func (c *Change) createsRoot() bool {
	for _, t := range c.Tasks {
		if t.ID == c.Root {
			return true
		}
	}
	return false
}

// Writes is what a batch of changes makes of the stored tasks.
type Writes struct {
	New  []*Task // to insert
	Rows []*Row  // to write over; none of New
	// Counted are those of Rows of which nothing changed but Size, Open, Events and Unmet.
	Counted   map[*Row]bool
	Texts     []Text  // to write over, in order
	Redefined []*Task // definitions and dependencies to write over
	Deleted   []ID
	Events    []Event
	Pushes    []Push
	Ready     []*Row // became ready and still are
	// Stopped were running and have been cancelled or taken away: whoever works on
	// them must stop.
	Stopped []Stopped
}

// Text is what an attempt made of a task's texts. nil leaves what is there.
type Text struct {
	Task           ID
	Clear          bool // first, remove what the run before left
	Result, Judged jsontext.Value
}

// Stopped is an attempt that must end.
type Stopped struct {
	Task    ID
	Attempt int
	Run     int
	Node    string
}

// Empty reports whether nothing is to be written.
func (w *Writes) Empty() bool {
	return len(w.New) == 0 && len(w.Rows) == 0 && len(w.Texts) == 0 && len(w.Redefined) == 0 && len(w.Deleted) == 0 && len(w.Events) == 0 && len(w.Pushes) == 0
}

// Size is about how many bytes the change writes.
func (c *Change) Size() int {
	n := len(c.Message) + len(c.Result) + len(c.Judged)
	for _, t := range c.Tasks {
		n += 512 + len(t.Inputs) + len(t.Params) + len(t.Schemas) + len(t.Extra) + len(t.Result)
	}
	return n
}
