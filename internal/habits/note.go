package habits

import (
	"fmt"
	"strconv"

	"reeve.example/reeve/internal/rawjson"

	"github.com/go-json-experiment/json"
)

// Note is what stands beside the record of a decision about a call, for what is learned
// of it: no text but the names of tools and arguments. It is the member "habits" of the
// record's links.
type Note struct {
	// Agent names the profile, and Session the session under the agent's key.
	Agent   string `json:"agent"`
	Session Hash   `json:"session,string"`
	// At is when it was decided, Unix milliseconds.
	At   int64 `json:"at"`
	Tool Hash  `json:"tool,string,omitzero"`
	// Ran says that it was let through, and Denied that it was denied.
	Ran    bool `json:"ran,omitzero"`
	Denied bool `json:"denied,omitzero"`
	// Watched says that it was let through only because a rule or the policy observes.
	Watched bool `json:"watched,omitzero"`
	// Objected says that a person refused it, or that its agent is barred, so that its
	// session teaches nothing.
	Objected bool     `json:"objected,omitzero"`
	Print    Print    `json:"print,omitzero"`
	Targets  []Target `json:"targets,omitzero"`
	// Out is how many bytes it carries.
	Out int `json:"out,omitzero"`
	// New are the settled dimensions in which it was new when it was decided, and Outside
	// how far its count lay outside of what is usual.
	New     []string `json:"new,omitzero"`
	Outside float64  `json:"outside,omitzero"`
	// Said is what the policy made of that.
	Said SaidOf `json:"said,omitzero"`
}

// SaidOf is what a policy made of something unusual.
type SaidOf uint8

// What a policy says of something unusual.
const (
	SaidNothing SaidOf = iota
	SaidNoted
	SaidAsked // or denied
)

// Target is one value upon which the act was done.
type Target struct {
	Of    string `json:"of"` // tool and argument
	Value Hash   `json:"value,string"`
	Mine  Hash   `json:"mine,string"` // the same, as the user's own
	// Private is of the tags of what its session had read; 0 for none.
	Private Hash    `json:"private,string,omitzero"`
	Teaches Teaches `json:"teaches,omitzero"`
	// Usual is whether it was usual when it was decided.
	Usual bool `json:"usual,omitzero"`
	// Pointer is where it stands in the request, if it stands there as it is.
	Pointer string `json:"pointer,omitzero"`
}

// Teaches is what an act teaches of a value. A larger one is more.
type Teaches uint8

// What is taught.
const (
	Nothing Teaches = iota // foreign text named it, or nobody that is known
	Again                  // it was let pass since it is usual: it is no more so than before, but still in use
	ForUser                // the user named it: it counts for this user
	ForAll                 // a source of one's own named it, or a person agreed to it
)

// Append writes the note as JSON.
func (n *Note) Append(b []byte) []byte {
	hash := func(name string, h Hash) {
		b = append(append(append(b, '"'), name...), `":"`...)
		b = append(strconv.AppendUint(b, uint64(h), 10), '"')
	}
	yes := func(name string, is bool) {
		if is {
			b = append(append(append(b, `,"`...), name...), `":true`...)
		}
	}
	b = rawjson.AppendString(append(b, `{"agent":`...), n.Agent)
	b = append(b, ',')
	hash("session", n.Session)
	b = strconv.AppendInt(append(b, `,"at":`...), n.At, 10)
	if n.Tool != 0 {
		b = append(b, ',')
		hash("tool", n.Tool)
	}
	yes("ran", n.Ran)
	yes("denied", n.Denied)
	yes("watched", n.Watched)
	yes("objected", n.Objected)
	if n.Print != (Print{}) {
		b = append(b, `,"print":[`...)
		for i, p := range n.Print {
			if i > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendUint(b, uint64(p), 10)
		}
		b = append(b, ']')
	}
	for i, t := range n.Targets {
		if b = append(b, ','); i == 0 {
			b = append(b, `"targets":[`...)
		}
		b = rawjson.AppendString(append(b, `{"of":`...), t.Of)
		b = append(b, ',')
		hash("value", t.Value)
		b = append(b, ',')
		hash("mine", t.Mine)
		if t.Private != 0 {
			b = append(b, ',')
			hash("private", t.Private)
		}
		if t.Teaches != Nothing {
			b = strconv.AppendUint(append(b, `,"teaches":`...), uint64(t.Teaches), 10)
		}
		yes("usual", t.Usual)
		if t.Pointer != "" {
			b = rawjson.AppendString(append(b, `,"pointer":`...), t.Pointer)
		}
		b = append(b, '}')
	}
	if len(n.Targets) > 0 {
		b = append(b, ']')
	}
	if n.Out != 0 {
		b = strconv.AppendInt(append(b, `,"out":`...), int64(n.Out), 10)
	}
	if len(n.New) > 0 {
		b = rawjson.AppendStrings(append(b, `,"new":`...), n.New)
	}
	if n.Outside != 0 {
		b = strconv.AppendFloat(append(b, `,"outside":`...), n.Outside, 'g', -1, 64)
	}
	if n.Said != SaidNothing {
		b = strconv.AppendUint(append(b, `,"said":`...), uint64(n.Said), 10)
	}
	return append(b, '}')
}

// Bounds of a note.
const (
	maxTargets = 64
	maxNote    = 64 << 10
)

// ParseNote reads what Append wrote.
func ParseNote(data []byte) (*Note, error) {
	if len(data) > maxNote {
		return nil, fmt.Errorf("a note of habits has %d bytes", len(data))
	}
	n := new(Note)
	if err := json.Unmarshal(data, n); err != nil {
		return nil, fmt.Errorf("read a note of habits: %w", err)
	}
	if n.Agent == "" || len(n.Targets) > maxTargets || n.Out < 0 || n.Said > SaidAsked {
		return nil, fmt.Errorf("this is no note of habits")
	}
	for i := range n.Targets {
		if n.Targets[i].Teaches > ForAll {
			return nil, fmt.Errorf("a note of habits teaches what nobody knows")
		}
	}
	return n, nil
}

// did is what a note counts for.
func (n *Note) did() Count {
	switch {
	case n.Ran:
		return Count{Calls: 1, Bytes: uint32(min(n.Out/byteUnit, 1<<24))}
	case n.Denied:
		return Count{Denied: 1}
	}
	return Count{}
}
