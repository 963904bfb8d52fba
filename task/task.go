// Package task is the vocabulary of workflows: what a task is (Task), what of it
// changes while it runs (Row), and what may become of it (Change, applied by a
// Book). It is pure: the stores load and write rows, the engine decides when.
//
// The words are those of the Interface Protocol (flow): docs/protocol/flow.md.
package task

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// ID is a task's UUID. The zero ID is none.
type ID [16]byte

// NewID returns a new random UUID (version 4). Its first 48 bits are the time, so
// that tasks made one after the other lie beside each other in an index.
func NewID(now time.Time) (id ID) {
	rand.Read(id[6:])
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(now.UnixMilli()))
	copy(id[:6], ms[2:])
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}

// NewIDs returns ids of tasks that are made at once, in the order in which the tasks were
// given: whoever lists them has them in that order.
func NewIDs(now time.Time, n int) []ID {
	ids := make([]ID, n)
	for i := range ids {
		ids[i] = NewID(now)
	}
	slices.SortFunc(ids, func(a, b ID) int { return bytes.Compare(a[:], b[:]) })
	return ids
}

// ParseID reads a UUID in its usual form, in lower or upper case.
func ParseID(s string) (id ID, err error) {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return ID{}, ErrID
	}
	hexed := s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:]
	if _, err := hex.Decode(id[:], []byte(hexed)); err != nil || id == (ID{}) {
		return ID{}, ErrID
	}
	return id, nil
}

// ErrID is what ParseID says of anything else.
var ErrID = errors.New("invalid UUID format")

func (id ID) String() string {
	var b [36]byte
	hex.Encode(b[:8], id[:4])
	hex.Encode(b[9:13], id[4:6])
	hex.Encode(b[14:18], id[6:8])
	hex.Encode(b[19:23], id[8:10])
	hex.Encode(b[24:], id[10:])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return string(b[:])
}

// Status is a task's state as the protocol names it.
type Status string

// The protocol's states.
const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
	Failed     Status = "failed"
	Cancelled  Status = "cancelled"
)

// Statuses are all states.
var Statuses = []Status{Pending, InProgress, Completed, Failed, Cancelled}

// Ended reports whether a task in this state has ended.
func (s Status) Ended() bool { return s == Completed || s == Failed || s == Cancelled }

// Phase is a task's state as the engine knows it: the protocol's pending is five
// of them. docs/states.md has the picture. Stored as its number: never renumber.
type Phase uint8

// The phases.
const (
	Idle           Phase = iota // made, and nobody has asked for it to be executed
	Waiting                     // for dependencies to end
	Delayed                     // until Row.Due: it failed and is tried again then
	Ready                       // may start as soon as there is room
	Held                        // until people have agreed: Row.Held names the approval
	Running                     // an executor works on it, on Row.Node
	PhaseComplete               // ended well
	PhaseFailed                 // ended badly
	PhaseCancelled              // will not be, or was stopped
)

// Status is the task's state in the protocol's words. A task that has started
// stays in progress until it ends, also while it waits to be tried again: the
// protocol knows no way back.
func (r *Row) Status() Status {
	switch {
	case r.Phase == PhaseComplete:
		return Completed
	case r.Phase == PhaseFailed:
		return Failed
	case r.Phase == PhaseCancelled:
		return Cancelled
	case !r.Started.IsZero():
		return InProgress
	}
	return Pending
}

// Ended reports whether nothing more will become of the task by itself.
func (p Phase) Ended() bool { return p >= PhaseComplete }

// Asked reports whether the task is being executed: asked for, and not ended.
func (p Phase) Asked() bool { return p > Idle && p < PhaseComplete }

// Row is what of a task changes while it runs, and what the engine chooses by.
type Row struct {
	ID, Root, Parent ID     // Parent is zero for a root
	User             string // whose task it is; empty for nobody's
	Name             string
	Executor         string // schemas.method; empty for what is never executed: see Executes
	Phase            Phase
	Priority         uint8 // 0 is the most urgent
	// Size counts, of a root, the tasks of its tree.
	Size int
	// Open counts, of a root, the tasks of its tree that are asked for and not ended.
	Open int
	// Events is, of a root, the number of the newest event of its tree.
	Events uint64
	// Unmet counts the dependencies that have not ended, while Waiting.
	Unmet int
	// Attempt counts the starts in this run, from 1 at the first; Failures the
	// failed ones, and Losses those whose node died.
	Attempt, Failures, Losses int
	// Run counts how often the task was asked for.
	Run  int
	Node string    // who runs it, while Running
	Due  time.Time // when it may start, while Delayed
	Held string    // the approval that it waits for, while Held, or has waited for, while Ready
	// Cascade says that it was cancelled since a dependency did not complete, or by
	// somebody who means to go on: such a task runs when it is executed again.
	Cascade                              bool
	Progress                             float64
	Error                                string
	Created, Updated, Started, Completed time.Time // zero for not yet
	// Next is when its schedule runs next, LastRun when it ran last, and Runs how often it did.
	Next, LastRun time.Time
	Runs          int
	References    bool // others were copied or linked from it
	// Decision is the ledger position of the decision about its last start, and
	// Outcome that about its result; empty for none.
	Decision, Outcome string
}

// Done is how far the task is, from 0 to 1. A root that waits for its tree is as far as
// that is.
func (r *Row) Done() float64 {
	if r.Phase == Waiting && r.ID == r.Root && r.Size > 0 {
		return float64(r.Size-r.Open) / float64(r.Size)
	}
	return r.Progress
}

// Executes reports whether the task is ever executed: a link and an archive are not,
// which have no executor.
func (r *Row) Executes() bool { return r.Executor != "" }

// Dependency says that a task waits for another of its tree.
type Dependency struct {
	ID       ID
	Required bool // the task runs only if that one completes
}

// Origins of a task: how it came to be.
const (
	OriginCreate  = "create"
	OriginCopy    = "copy"
	OriginLink    = "link"
	OriginArchive = "archive"
)

// Leave is what a credential says beside its name of who has tasks made, and by whose leave:
// what becomes of them later is judged by it, too.
type Leave struct {
	// Person is who holds the credential, and For whom that one acted for, by a token's word.
	Person       string   `json:"person,omitzero"`
	For          string   `json:"for,omitzero"`
	Organization string   `json:"organization,omitzero"`
	Client       string   `json:"client,omitzero"`
	Actors       []string `json:"actors,omitempty"`
	Scopes       []string `json:"scopes,omitempty"`
}

// Task is a whole task.
type Task struct {
	Row
	// ClientID is the id that the client gave it, when that was no UUID.
	ClientID     string
	Inputs       jsontext.Value // an object
	Params       jsontext.Value // an object, or nil
	Schemas      jsontext.Value // an object, or nil
	Dependencies []Dependency
	Origin       string
	Original     ID // what it was copied or linked from
	Schedule     Schedule
	// Leave is what the credential says that had it made, or changed last.
	Leave Leave
	// Extra are members that the protocol does not know, an object or nil: kept.
	Extra jsontext.Value

	Result jsontext.Value // an object, or nil
	// Judged are the inputs that the policy let through, when it changed them.
	Judged jsontext.Value

	// Broken is an ErrBroken when what is stored of the definition cannot be read: of a
	// task in a list, which has nothing then but its row and its result. Such a task is
	// not executed.
	Broken error
}

// Schedule is when a task is executed by itself. The zero value is never.
type Schedule struct {
	Type       string // once, interval, cron, daily, weekly, monthly
	Expression string
	Zone       string // IANA name; empty for UTC
	Enabled    bool
	Start, End time.Time // zero for none
	MaxRuns    int       // 0 for no bound; see Bounded
	Bounded    bool      // max_runs was given
	// Missed says what becomes of runs whose time passed while no node ran, or
	// while the task was still executing: "once" (the default) or "skip".
	Missed string
}

// RowQuery selects rows of one phase: Ready ones with the most urgent first, Delayed
// ones with the earliest due first.
type RowQuery struct {
	// Root selects all rows of a tree, whatever their phase, oldest first.
	Root      ID
	Phase     Phase
	Executor  string    // of Ready: only of this executor
	DueBefore time.Time // of Delayed
	Held      string    // of Held: only of this approval
	// Scheduled selects rows of any phase whose schedule is due before DueBefore.
	Scheduled bool
	// Lost selects, of Running, those whose node no longer lives, and Node those of a node.
	Lost  bool
	Node  string
	Limit int
}

// Query selects tasks, newest first.
type Query struct {
	User   string // of this user; empty for all
	Status Status // empty for all
	Parent ID     // children of; zero for all
	Roots  bool   // only roots
	// Scheduled selects tasks that have a run to come, and DueBefore those that are due.
	Scheduled bool
	DueBefore time.Time
	Limit     int // at most 1000; 0 means 100
	Offset    int
}

// Bounded is the query's Limit within its bounds.
func (q *Query) Bounded() int {
	if q.Limit <= 0 {
		return 100
	}
	return min(q.Limit, 1000)
}

// Event tells that a task changed. It is numbered within its tree.
type Event struct {
	Root, Task ID
	N          uint64
	Type       EventType
	At         time.Time
	Status     Status
	Progress   float64
	Message    string // what goes on, or why it ended; may be empty
}

// EventType is what an event tells.
type EventType uint8

// The protocol's five events. Stored as numbers: never renumber.
const (
	StatusUpdate EventType = iota + 1
	ProgressUpdate
	TaskCompleted
	TaskFailed
	TaskCancelled
)

var eventNames = [...]string{"", "task_status_update", "task_progress_update", "task_completed", "task_failed", "task_cancelled"}

func (t EventType) String() string {
	if int(t) < len(eventNames) {
		return eventNames[t]
	}
	return ""
}

// Bounds of what clients send.
const (
	MaxTree   = 10_000  // tasks of a tree
	MaxName   = 255     // characters
	MaxError  = 8 << 10 // bytes of an error
	MaxResult = 4 << 20 // bytes of a result
	MaxDepth  = 64      // levels of a tree
	MaxNeeds  = 1_000   // dependencies of a task
)
