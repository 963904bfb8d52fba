package console

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"reeve.example/reeve/internal/server"
)

// Tail tells open pages that something has changed: that they are to look again, and not
// what. The zero Tail is ready.
type Tail struct {
	mu      sync.Mutex
	n       uint64        // grows with each change; of a node that was started again it is greater
	changed chan struct{} // closed at the next change
}

// Changed says that something has changed. It never blocks.
func (t *Tail) Changed() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n = t.last() + 1
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
}

// last is the number of the last change. The first is of the clock, so that a page that was
// made before the node was started again does not take an old number for the newest.
func (t *Tail) last() uint64 {
	if t.n == 0 {
		t.n = uint64(time.Now().UnixMicro())
	}
	return t.n
}

// now is the number of the last change, and what is closed at the next one.
func (t *Tail) now() (n uint64, changed <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last()
	if t.changed == nil {
		t.changed = make(chan struct{})
	}
	return t.n, t.changed
}

// A page is told at most so often, and at least so often that the stream is alive.
const (
	tellPause = 300 * time.Millisecond
	tellAlive = 20 * time.Second
)

// events is a stream of what changes, as server-sent events. Their ids are numbers. A page
// names the last change before it was made, and when it comes again the last that it was
// told: if it has missed anything, it is told at once.
func (c *Console) events(w http.ResponseWriter, r *http.Request) {
	one := c.sessions.find(sessionID(r))
	if one == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	server.Hold(r.Context(), c.Now())
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	out := http.NewResponseController(w)
	send := func(format string, a ...any) bool {
		out.SetWriteDeadline(time.Now().Add(tellAlive))
		_, err := fmt.Fprintf(w, format, a...)
		return err == nil && out.Flush() == nil
	}
	told, changed := c.Tail.now()
	since := cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("since"))
	if last, err := strconv.ParseUint(since, 10, 64); err == nil && last != told {
		if !send("id: %d\nevent: changed\ndata:\n\n", told) {
			return
		}
	} else if !send("id: %d\n\n", told) {
		return
	}
	alive := time.NewTicker(tellAlive / 2)
	defer alive.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-one.over:
			return
		case <-c.Stopping():
			return
		case <-alive.C:
			if c.sessions.find(sessionID(r)) == nil || !send(":\n\n") {
				return
			}
		case <-changed:
			select { // more comes with it
			case <-r.Context().Done():
				return
			case <-time.After(tellPause):
			}
			if told, changed = c.Tail.now(); !send("id: %d\nevent: changed\ndata:\n\n", told) {
				return
			}
		}
	}
}
