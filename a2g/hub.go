package a2g

import (
	"sync"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/agent"
	"reeve.example/reeve/internal/jsonrpc"
)

// hub knows which agents can be reached, and keeps what could not be sent until
// their next heartbeat. What it knows is lost with the process: a verdict that an
// agent was not told of it gets by asking again. The zero hub is ready.
type hub struct {
	mu      sync.Mutex
	boxes   map[boxKey]*mailbox
	proven  map[*jsonrpc.Conn]string // connections, and the agent that a handshake proved
	members map[*jsonrpc.Conn][]*mailbox
}

// boxKey names a mailbox. The principal is part of it: nobody gets what is meant
// for an agent of the same name behind another credential.
type boxKey struct{ principal, did string }

// mailbox is one agent's. Its fields belong to the hub's mutex.
type mailbox struct {
	boxKey
	conns   map[*jsonrpc.Conn]bool
	pending []Raw
	version string      // of the policy that the agent was told last
	state   agent.State // that bars it, as it was told; "" for none
	heard   time.Time
	minute  time.Time // when the minute began that asked counts
	asked   int
}

// Bounds of what is kept: agents, and messages for one that cannot be reached.
const (
	maxBoxes   = 10_000
	maxPending = 100
)

// mailbox returns an agent's mailbox.
func (h *hub) mailbox(by act.Principal, did string) *mailbox {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := boxKey{by.Name, did}
	if box := h.boxes[key]; box != nil {
		return box
	}
	if h.boxes == nil {
		h.boxes = map[boxKey]*mailbox{}
	}
	if len(h.boxes) >= maxBoxes {
		h.forget()
	}
	box := &mailbox{boxKey: key}
	h.boxes[key] = box
	return box
}

// known is the mailbox of an agent that was heard of here; nil for another.
func (h *hub) known(principal, did string) *mailbox {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.boxes[boxKey{principal, did}]
}

// forget makes room: of some agents that are not connected, the one that was
// silent the longest is forgotten.
func (h *hub) forget() {
	const look = 64
	var oldest *mailbox
	n := 0
	for _, box := range h.boxes {
		if len(box.conns) == 0 && (oldest == nil || box.heard.Before(oldest.heard)) {
			oldest = box
		}
		if n++; n >= look {
			break
		}
	}
	if oldest != nil {
		delete(h.boxes, oldest.boxKey)
	}
}

// opened notes a new connection until it ends.
func (h *hub) opened(c *jsonrpc.Conn, did string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.proven == nil {
		h.proven, h.members = map[*jsonrpc.Conn]string{}, map[*jsonrpc.Conn][]*mailbox{}
	}
	h.proven[c] = did
	go func() {
		<-c.Done()
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, box := range h.members[c] {
			delete(box.conns, c)
		}
		delete(h.members, c)
		delete(h.proven, c)
	}()
}

// shookHands reports whether a connection's handshake proved this agent.
func (h *hub) shookHands(c *jsonrpc.Conn, did string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	proven, ok := h.proven[c]
	return c != nil && ok && proven == did
}

// maxMembers is how many agents one connection can speak for and be sent to.
const maxMembers = 200

// join notes that an agent was heard from, and by which connection, if any, it
// can be reached.
func (h *hub) join(box *mailbox, c *jsonrpc.Conn, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now.After(box.heard) {
		box.heard = now
	}
	if _, open := h.proven[c]; c == nil || !open || box.conns[c] || len(h.members[c]) >= maxMembers {
		return
	}
	if box.conns == nil {
		box.conns = map[*jsonrpc.Conn]bool{}
	}
	box.conns[c] = true
	h.members[c] = append(h.members[c], box)
	for _, m := range box.pending {
		c.Send(m)
	}
	box.pending = nil
}

// seen is when an agent was last heard from, in this process.
func (h *hub) seen(box *mailbox) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return box.heard
}

// allows counts an intent, and reports whether it is one of the perMinute that an
// agent may ask for.
func (h *hub) allows(box *mailbox, perMinute int, now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now.Sub(box.minute) >= time.Minute {
		box.minute, box.asked = now, 0
	}
	box.asked++
	return box.asked <= perMinute
}

// told notes which policy an agent is told of, and reports whether that is news.
func (h *hub) told(box *mailbox, version string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	news := box.version != version
	box.version = version
	return news
}

// barred notes which state bars an agent, "" for none, and reports whether that is news.
func (h *hub) barred(box *mailbox, state agent.State) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	news := box.state != state
	box.state = state
	return news
}

// send sends a message by every connection of an agent, and keeps it for the next
// heartbeat when there is none.
func (h *hub) send(box *mailbox, message []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	sent := false
	for c := range box.conns {
		sent = c.Send(message) == nil || sent
	}
	if sent {
		return
	}
	if len(box.pending) >= maxPending {
		box.pending = box.pending[1:]
	}
	box.pending = append(box.pending, message)
}

// take returns what was kept for an agent, which is thereby told.
func (h *hub) take(box *mailbox) []Raw {
	h.mu.Lock()
	defer h.mu.Unlock()
	pending := box.pending
	box.pending = nil
	return pending
}

// connected lists the mailboxes of agents that can be reached.
func (h *hub) connected() (list []*mailbox) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, box := range h.boxes {
		if len(box.conns) > 0 {
			list = append(list, box)
		}
	}
	return list
}

// of lists the mailboxes of a DID.
func (h *hub) of(did string) (list []*mailbox) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, box := range h.boxes {
		if box.did == did {
			list = append(list, box)
		}
	}
	return list
}
