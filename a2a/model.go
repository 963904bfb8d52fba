package a2a

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// State is what a task has come to.
type State uint8

// The states. Stored as numbers: never renumber.
const (
	Submitted State = iota + 1
	Working
	Completed
	Failed
	Canceled
	Rejected
	InputRequired
	AuthRequired
)

// Terminal reports whether nothing more becomes of a task.
func (s State) Terminal() bool {
	return s == Completed || s == Failed || s == Canceled || s == Rejected
}

// interrupted reports whether a task waits for somebody.
func (s State) interrupted() bool { return s == InputRequired || s == AuthRequired }

// Message is what one side says to the other, in either version.
type Message struct {
	ID, Context, Task string
	Agent             bool // of the agent; else of the user
	Parts             []part
	Metadata          jsontext.Value // an object, or nil
	Extensions        []string
	References        []string // other tasks
}

// text is what the message's parts of text say.
func (m *Message) text() string {
	s := ""
	for _, p := range m.Parts {
		if p.Kind == textPart {
			if s != "" {
				s += "\n"
			}
			s += p.Text
		}
	}
	return s
}

type partKind uint8

const (
	textPart partKind = iota + 1
	rawPart           // a file's bytes
	urlPart           // where a file is
	dataPart
)

// part is one piece of content.
type part struct {
	Kind     partKind
	Text     string         // the text, the bytes in Base64, or the URL
	Data     jsontext.Value // of dataPart: any value
	Filename string
	Media    string
	Metadata jsontext.Value
}

type artifact struct {
	ID, Name, Description string
	Parts                 []part
	Origin                *origin // nil for none
	// chunked says that its parts are told one after the other.
	chunked bool
}

// origin is which of this node's tasks something comes from: the agent's own metadata.
type origin struct {
	Root, Task string // empty for none
	User       string // whose it is
	Progress   *float64
	Labels     []string // what the tree has read
}

// taskView is a task as it is at one moment.
type taskView struct {
	ID, Context   string
	State         State
	Message       *Message // of the state; may be nil
	At            time.Time
	Artifacts     []artifact
	ShowArtifacts bool
	History       []Message
	Origin        *origin
	// reply is what the agent says instead of showing a task; nil mostly.
	reply *Message
}

// event is one thing that a stream tells: exactly one of its members.
type event struct {
	task     *taskView
	message  *Message
	status   *statusUpdate
	artifact *artifactUpdate
}

type statusUpdate struct {
	Task, Context string
	State         State
	Message       *Message
	At            time.Time
	Final         bool // of 0.3: the stream ends here
	Origin        *origin
}

type artifactUpdate struct {
	Task, Context string
	Artifact      artifact
	Append, Last  bool
	Origin        *origin
}

// pushConfig is whom to tell of a task.
type pushConfig struct {
	ID, Task    string
	URL         string
	Token       string // secret
	Scheme      string // of Authorization
	Credentials string // secret
}

// page is one part of a list of tasks.
type page struct {
	Tasks []*taskView
	Next  string
	Size  int
	Total int
}

// operation is what is asked for, whatever the version and the binding.
type operation uint8

const (
	opSend operation = iota + 1
	opStream
	opGet
	opList
	opCancel
	opSubscribe
	opPushCreate
	opPushGet
	opPushList
	opPushDelete
	opCard
)

// request is what an operation is asked with.
type request struct {
	op      operation
	dialect dialect

	Message  *Message
	Metadata jsontext.Value
	Now      bool // return at once
	Push     *pushConfig

	ID      string // of a task
	Config  string // of a push configuration
	History *int

	Context   string
	State     State
	PageSize  int
	PageToken string
	After     time.Time
	Artifacts bool
}

// limited is the newest of a history: at most as many as were asked for.
func limited(history []Message, most *int) []Message {
	if most == nil {
		return history
	}
	return history[len(history)-min(*most, len(history)):]
}
