package proxy

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Programs serves clients that speak Streamable HTTP, each with a server of its
// own that speaks lines: a program that is started when a session begins.
// Clients of the protocol without sessions share one with those who show the same
// credential: see shared.
type Programs struct {
	p      *Proxy
	ctx    context.Context // of the programs
	server Server
	takes  time.Duration // how long a shared program has to take a message

	mu       sync.Mutex
	sessions map[string]*program
	programs map[[sha256.Size]byte]*shared // by credential
}

// maxPrograms is how many programs run at once, and idleProgram after which time
// without a request, or a stream, one is ended.
const (
	maxPrograms = 64
	idleProgram = 30 * time.Minute
)

// program is one session: its program, and what waits for its client.
type program struct {
	*link
	credential [sha256.Size]byte // of who began the session

	mu      sync.Mutex
	waiting map[string]chan []byte // for the answer to a request, by id
	streams []chan []byte          // what the server says by itself goes to the newest
	used    time.Time
	gone    chan struct{}
}

// NewPrograms returns a handler for a server that is started for each session.
// The programs end with ctx.
func (p *Proxy) NewPrograms(ctx context.Context, server Server) *Programs {
	x := &Programs{p: p, ctx: ctx, server: server, takes: takeTimeout, sessions: map[string]*program{}, programs: map[[sha256.Size]byte]*shared{}}
	go x.endIdle()
	return x
}

// Close ends all programs.
func (x *Programs) Close() {
	x.mu.Lock()
	list := make([]*program, 0, len(x.sessions))
	for _, s := range x.sessions {
		list = append(list, s)
	}
	clear(x.sessions)
	common := slices.Collect(maps.Values(x.programs))
	x.mu.Unlock()
	var all sync.WaitGroup
	for _, s := range common {
		all.Go(s.stop)
	}
	for _, s := range list {
		all.Go(s.end)
	}
	all.Wait()
}

func (x *Programs) endIdle() {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-x.ctx.Done():
			return
		case now := <-tick.C:
			x.mu.Lock()
			for id, s := range x.sessions {
				s.mu.Lock()
				idle := len(s.waiting) == 0 && len(s.streams) == 0 && now.Sub(s.used) > idleProgram
				s.mu.Unlock()
				if idle {
					delete(x.sessions, id)
					go s.end()
				}
			}
			for key, s := range x.programs {
				if s.idle(now) {
					delete(x.programs, key)
					go s.stop()
				}
			}
			x.mu.Unlock()
		}
	}
}

// ServeHTTP serves one endpoint of the protocol: POST, GET and DELETE.
func (x *Programs) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !x.p.admit(w, r) {
		return
	}
	method := r.Method
	if method != http.MethodPost && r.Header.Get(sessionHeader) == "" && isStateless(r.Header, nil) {
		method = "" // without a session there is nothing to get, or to end
	}
	switch method {
	case http.MethodPost:
		x.post(w, r)
	case http.MethodGet:
		if s := x.find(w, r); s != nil {
			s.get(w, r)
		}
	case http.MethodDelete:
		if s := x.find(w, r); s != nil {
			x.mu.Lock()
			delete(x.sessions, r.Header.Get(sessionHeader))
			x.mu.Unlock()
			s.end()
			w.WriteHeader(http.StatusNoContent)
		}
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		http.Error(w, "This is an MCP server: POST a message, GET its stream.", http.StatusMethodNotAllowed)
	}
}

// find returns the session that a request names, or answers that there is none.
func (x *Programs) find(w http.ResponseWriter, r *http.Request) *program {
	x.mu.Lock()
	s := x.sessions[r.Header.Get(sessionHeader)]
	x.mu.Unlock()
	if s == nil || s.credential != sha256.Sum256([]byte(credentialOf(r.Header))) { // nobody speaks in the session of another
		http.Error(w, "There is no such session: initialize one.", http.StatusNotFound)
		return nil
	}
	s.mu.Lock()
	s.used = time.Now()
	s.mu.Unlock()
	return s
}

func (x *Programs) post(w http.ResponseWriter, r *http.Request) {
	raw, ok := x.p.body(w, r)
	if !ok {
		return
	}
	parts, batch, err := split(raw)
	if err != nil {
		x.p.noteAmbiguous(r.Context(), raw, err)
		writeJSON(w, http.StatusBadRequest, errorAnswer(idOf(raw), codeInvalid, err.Error(), nil))
		return
	}
	var s *program
	switch first := parts[0]; {
	case r.Header.Get(sessionHeader) == "" && isStateless(r.Header, parts):
		x.stateless(w, r, raw, parts, batch)
		return
	case len(parts) == 1 && first.method == "initialize" && r.Header.Get(sessionHeader) == "":
		id := ""
		if s, id, err = x.begin(r); err != nil {
			x.p.logger().Error("the server was not started", "server", x.p.Server, "error", err)
			writeJSON(w, http.StatusServiceUnavailable, errorAnswer(first.id, codeInternal, "The server could not be started: "+err.Error(), nil))
			return
		}
		w.Header().Set(sessionHeader, id)
	case r.Header.Get(sessionHeader) == "":
		writeJSON(w, http.StatusBadRequest, errorAnswer(orNull(first.id), codeInvalid, "This message needs a session: initialize one, or speak the version 2026-07-28, which has none.", nil))
		return
	default:
		if s = x.find(w, r); s == nil {
			return
		}
	}
	if fault := x.p.headersDisagree(r, s.s, raw, s.ask); fault != nil {
		writeJSON(w, http.StatusBadRequest, fault)
		return
	}
	s.post(w, r, raw, parts, batch)
}

func orNull(id string) string {
	if id == "" {
		return "null"
	}
	return id
}

// endOldest makes room: it ends the program that was not used for longest, of those
// that nobody is using. Clients that went away without a word leave theirs behind, and
// whatever is shown as a credential has one.
func (x *Programs) endOldest() bool {
	var end func()
	var since time.Time
	for id, s := range x.sessions {
		s.mu.Lock()
		if len(s.waiting) == 0 && len(s.streams) == 0 && (end == nil || s.used.Before(since)) {
			since = s.used
			end = func() { delete(x.sessions, id); go s.end() }
		}
		s.mu.Unlock()
	}
	for key, s := range x.programs {
		s.mu.Lock()
		if s.started() && len(s.waiting) == 0 && (end == nil || s.used.Before(since)) {
			since = s.used
			end = func() { delete(x.programs, key); go s.stop() }
		}
		s.mu.Unlock()
	}
	if end == nil {
		return false
	}
	end()
	return true
}

// begin starts a program.
func (x *Programs) begin(r *http.Request) (*program, string, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.sessions)+len(x.programs) >= maxPrograms && !x.endOldest() {
		return nil, "", errors.New("too many sessions are open")
	}
	s := &program{credential: sha256.Sum256([]byte(credentialOf(r.Header))), waiting: map[string]chan []byte{}, used: time.Now(), gone: make(chan struct{})}
	s.link = x.p.newLink(newToolbox(), s.deliver)
	if err := s.dial(x.ctx, x.server); err != nil {
		return nil, "", err
	}
	id := rand.Text()
	x.sessions[id] = s
	go func() {
		<-s.ended
		x.mu.Lock()
		if x.sessions[id] == s {
			delete(x.sessions, id)
		}
		x.mu.Unlock()
		close(s.gone)
	}()
	return s, id, nil
}

// end ends the program.
func (s *program) end() { s.conn.close() }

// deliver hands a message of the server to who waits for it. With its last answer a
// request's stream ends: what the server says afterwards is for another one, although
// the request is still there for a moment.
func (s *program) deliver(raw []byte) {
	m, err := read(raw)
	if err != nil {
		return
	}
	s.mu.Lock()
	var to chan []byte
	if m.method == "" {
		to = s.waiting[m.key]
		delete(s.waiting, m.key)
		if !slices.Contains(slices.Collect(maps.Values(s.waiting)), to) {
			s.drop(to)
		}
	} else if n := len(s.streams); n > 0 {
		to = s.streams[n-1]
	}
	select {
	case to <- raw: // under the lock, so that nothing comes after the last answer
		s.mu.Unlock()
		return
	default: // it is nil, or full
	}
	s.mu.Unlock()
	if to == nil {
		s.p.logger().Warn("a message of the server has nobody to go to", "server", s.p.Server, "method", bounded(m.method))
		if m.request() { // it must not wait for ever
			if no, err := read(errorAnswer(m.id, codeInternal, "The client does not listen.", nil)); err == nil {
				s.s.forget(s.s.asks, m.key)
				s.conn.send(context.Background(), no.raw(), []*message{no})
			}
		}
		return
	}
	select {
	case to <- raw:
	case <-s.gone:
	case <-time.After(deliverTimeout):
	}
}

// deliverTimeout is how long a client has to take a message.
const deliverTimeout = 10 * time.Second

// post passes on what the client sent. Until its requests are answered, what the
// server says by itself comes on the same stream.
func (s *program) post(w http.ResponseWriter, r *http.Request, raw []byte, parts []*message, batch bool) {
	out := make(chan []byte, 16)
	var ids []string
	s.mu.Lock()
	for _, m := range parts {
		if !m.request() {
			continue
		}
		if s.waiting[m.key] != nil {
			s.mu.Unlock()
			s.stopWaiting(ids)
			writeJSON(w, http.StatusBadRequest, errorAnswer(m.id, codeInvalid, "A request with this id is not answered yet.", nil))
			return
		}
		ids = append(ids, m.key)
		s.waiting[m.key] = out
	}
	s.mu.Unlock()
	defer s.stopWaiting(ids)
	if len(ids) > 0 {
		defer s.stream(out, false)()
	}
	x := s.s.fromClient(r.Context(), raw, s.ask)
	if x.on != nil {
		if err := s.conn.send(r.Context(), x.on, x.list); err != nil {
			forgetAll(s.s, x.list)
			writeJSON(w, http.StatusBadGateway, errorAnswer(orNull(parts[0].id), codeInternal, "The server could not be reached.", nil))
			return
		}
	}
	answered := 0
	if back, _, err := split(x.back); x.back != nil && err == nil {
		answered = len(back)
	}
	if answered >= len(ids) {
		writeBack(w, x.back)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(w)
	write := func(m []byte) bool {
		if _, err := w.Write(plainEvent(m)); err != nil {
			return false
		}
		return flush.Flush() == nil
	}
	if x.back != nil && !write(x.back) {
		return
	}
	for answered < len(ids) {
		select {
		case m := <-out:
			if !bytes.Contains(m, []byte(`"method"`)) || !isRequestOrNotification(m) {
				answered++
			}
			if !write(m) {
				return
			}
		case <-r.Context().Done():
			return
		case <-s.gone:
			return
		}
	}
}

func isRequestOrNotification(raw []byte) bool {
	m, err := read(raw)
	return err == nil && m.method != ""
}

func (s *program) stopWaiting(ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		delete(s.waiting, id)
	}
	s.used = time.Now()
}

// stream has what the server says by itself go to a channel, until stop is
// called. The client's own stream comes before those of its requests.
func (s *program) stream(to chan []byte, own bool) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own {
		s.streams = append(s.streams, to)
	} else {
		s.streams = append([]chan []byte{to}, s.streams...)
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.drop(to)
	}
}

// drop has nothing more go to a stream but answers. The lock is held.
func (s *program) drop(to chan []byte) {
	s.streams = slices.DeleteFunc(s.streams, func(c chan []byte) bool { return c == to })
}

// get is the stream of what the server says by itself.
func (s *program) get(w http.ResponseWriter, r *http.Request) {
	out := make(chan []byte, 16)
	defer s.stream(out, true)()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(w)
	flush.Flush()
	for {
		select {
		case m := <-out:
			if _, err := w.Write(plainEvent(m)); err != nil {
				return
			}
			flush.Flush()
		case <-r.Context().Done():
			return
		case <-s.gone:
			return
		}
	}
}
