package a2a

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/engine"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/task"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The kinds of item that a task is kept as. The first is small, since lists read
// many; the second is what was said.
const (
	taskKind    = "a2a.task"
	historyKind = "a2a.history"
	pushKind    = "a2a.push"
)

// record is what is kept of a task beside the trees that are executed for it.
type record struct {
	ID           string          `json:"-"`
	stored       act.Position    // where it was written last
	labels       []string        // what its newest tree has read, where that was looked up
	Context      string          `json:"context,omitzero"`
	User         string          `json:"user,omitzero"` // whose task it is; empty for everybody's
	Principal    string          `json:"principal"`     // who began it
	Method       string          `json:"method,omitzero"`
	Organization string          `json:"organization,omitzero"`
	Person       string          `json:"person,omitzero"`     // who holds their credential
	Delegation   *act.Delegation `json:"delegation,omitzero"` // by whose leave
	Version      string          `json:"version"`             // of the protocol that it was begun in
	Created      time.Time       `json:"created"`
	Updated      time.Time       `json:"updated"`
	// Roots are the trees that its messages became, the newest last.
	Roots []task.ID `json:"roots,omitempty"`
	// Rest is the state of a task that does not follow from its newest tree.
	Rest *rest `json:"rest,omitzero"`
}

// rest is why a task is in the state that it is in.
type rest struct {
	State State     `json:"state"`
	Why   string    `json:"why,omitzero"`
	At    time.Time `json:"at"`
	// Approval is what people are asked about, while the task waits for them.
	Approval string `json:"approval,omitzero"`
}

// conversation is the messages of a task, in order.
type conversation struct {
	Messages []jsontext.Value `json:"messages,omitempty"` // as version 1.0 writes them, the oldest first
	// Pending is the message that waits for people, as canonical writes it.
	Pending jsontext.Value `json:"pending,omitzero"`
}

// Bounds of what is kept of a task.
const (
	maxMessages = 100
	maxSaid     = 1 << 20 // bytes of the messages that are kept; the oldest go first
	maxTurns    = 100     // trees of one task
)

func (h *conversation) add(m *Message) {
	h.Messages = append(h.Messages, v1.message(nil, m))
	size := 0
	for i := len(h.Messages) - 1; i >= 0; i-- {
		if size += len(h.Messages[i]); size > maxSaid || len(h.Messages)-i > maxMessages {
			h.Messages = h.Messages[i+1:]
			break
		}
	}
}

// read returns the messages as they were said.
func (h *conversation) read() (list []Message) {
	for _, raw := range h.Messages {
		doc, err := rawjson.Parse(raw)
		if err != nil {
			continue // we wrote it
		}
		r := &reader{v: doc.Root()}
		if m := v1.readMessage(r); r.err == nil {
			list = append(list, *m)
		}
	}
	return list
}

// root is the tree that is executed now, or was executed last.
func (r *record) root() task.ID {
	if len(r.Roots) == 0 {
		return task.ID{}
	}
	return r.Roots[len(r.Roots)-1]
}

// context is the context's id: the client's, or else the first tree's.
func (r *record) context() string {
	switch {
	case r.Context != "":
		return r.Context
	case len(r.Roots) > 0:
		return r.Roots[0].String()
	}
	return r.ID
}

// waits reports whether people are asked about it.
func (r *record) waits() bool { return r.Rest != nil && r.Rest.Approval != "" }

func (r *record) origin() *origin {
	o := &origin{User: r.User, Labels: r.labels}
	if len(r.Roots) > 0 {
		o.Root = r.root().String()
	}
	return o
}

// prefixOf is what the ids of a user's tasks begin with.
func prefixOf(user string) string {
	sum := sha256.Sum256([]byte("a2a\x00" + user))
	return fmt.Sprintf("%x", sum[:4])
}

// newID makes a task's id: a UUID (version 8) whose order in an index is by user,
// and the newest first.
func newID(user string, now time.Time) string {
	var id task.ID
	rand.Read(id[:])
	sum := sha256.Sum256([]byte("a2a\x00" + user))
	copy(id[:4], sum[:4])
	down := ^uint64(now.UnixMilli()) & (1<<42 - 1)
	binary.BigEndian.PutUint16(id[4:], uint16(down>>26))
	binary.BigEndian.PutUint16(id[6:], 0x8000|uint16(down>>14)&0x0fff)
	binary.BigEndian.PutUint16(id[8:], 0x8000|uint16(down)&0x3fff)
	return id.String()
}

// items are the kinds of item that a task is stored as.
func (s *Server) items() (*guard.Items[record], *guard.Items[conversation], *guard.Items[push]) {
	g := s.cfg.Guard
	return guard.NewItems(g, guard.Kind[record]{
			Name: taskKind,
			Parse: func(item *ledger.Item) (*record, error) {
				r := &record{}
				err := json.Unmarshal(item.Data, r)
				if err == nil && r.Version == "" {
					err = errors.New("it is of no version of the protocol")
				}
				r.ID, r.stored = item.ID, item.Version
				return r, err
			},
			Fill: func(r *record, item *guard.Item) (err error) {
				r.Updated = s.cfg.Now().UTC()
				item.Open = r.waits()
				item.Data, err = json.Marshal(r)
				return err
			},
		}), guard.NewItems(g, guard.Kind[conversation]{
			Name: historyKind,
			Parse: func(item *ledger.Item) (*conversation, error) {
				h := &conversation{}
				return h, json.Unmarshal(item.Data, h)
			},
			Fill: func(h *conversation, item *guard.Item) (err error) {
				item.Data, err = marshal(h)
				return err
			},
		}), guard.NewItems(g, guard.Kind[push]{
			Name: pushKind,
			Parse: func(item *ledger.Item) (*push, error) {
				p := &push{}
				return p, json.Unmarshal(item.Data, p)
			},
			Fill: func(p *push, item *guard.Item) (err error) {
				item.Data, err = json.Marshal(p)
				return err
			},
		})
}

// find reads a task's record for a caller, and the item that it is. Of others' tasks
// a caller learns nothing.
func (s *Server) find(ctx context.Context, by engine.Caller, id string) (*record, *guard.Item, error) {
	if _, err := task.ParseID(id); err != nil { // no id of ours
		return nil, nil, noTask()
	}
	r, item, err := s.tasks.Get(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	if r == nil || !by.Sees(r.User) {
		return nil, nil, noTask()
	}
	return r, item, nil
}

// conversation reads the messages of a task, and their item.
func (s *Server) conversation(ctx context.Context, id string) (*conversation, *guard.Item, error) {
	h, item, err := s.histories.Get(ctx, id)
	if err == nil && h == nil {
		h = &conversation{}
	}
	return h, item, err
}

// tries is how often a task is looked at again that others changed meanwhile.
const tries = 5

// change changes a task's record. It returns the record as it is then.
func (s *Server) change(ctx context.Context, by engine.Caller, id, what string, change func(r *record) error) (*record, error) {
	if _, err := task.ParseID(id); err != nil {
		return nil, noTask()
	}
	r, err := s.tasks.Update(ctx, id, func(r *record, item *guard.Item) (*guard.Note, error) {
		if !item.Found || !by.Sees(r.User) {
			return nil, noTask()
		}
		if err := change(r); err != nil {
			return nil, err
		}
		details := map[string]string{"a2a_task": id}
		if len(r.Roots) > 0 {
			details["root"] = r.root().String()
		}
		return note(what, by.Principal, details), nil
	})
	if errors.Is(err, ledger.ErrLost) {
		return nil, fail(unsupported, "Others are changing the task at the same time. Try again.")
	}
	if err == nil {
		s.changed(id)
	}
	return r, err
}

func note(what string, by act.Principal, details map[string]string) *guard.Note {
	return &guard.Note{Kind: what, Door: "a2a", By: by, Details: details}
}
