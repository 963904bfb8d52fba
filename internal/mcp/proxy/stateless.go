package proxy

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"reeve.example/reeve/internal/rawjson"
)

// shared is one program for clients of the protocol without sessions (2026-07-28):
// those who show the same credential. Each of their requests stands for itself, and
// all go into the one program:
//
//	client A  id 1 ──┐                    ┌── id "reeve-5KX…"
//	                 ├── shared ── lines ─┤
//	client B  id 1 ──┘                    └── id "reeve-W2A…"
//
// Both number as they like, so the program sees ids and progress tokens of the
// proxy's own, and what it says goes to the one whose request it is for. No client
// can guess them, and so none can have the program speak to another, by a second id
// that some programs read instead. What it says of nobody's request (a log message,
// for example) goes to nobody.
//
// A program that speaks only the versions with sessions is initialized by the
// proxy, without any power to ask a client for something: no request could be
// sent to one.
type shared struct {
	p     *Proxy
	tools *toolbox

	ready chan struct{} // closed when the program can be asked, or err says why not
	err   error
	conn  connection
	takes time.Duration // how long it has to take a message
	ended chan struct{} // closed when it will say no more
	// discovered is what it is, where it cannot say so itself: a result of
	// server/discover, made of that of initialize. nil where it speaks 2026-07-28.
	discovered []byte

	refusing chan struct{} // bounds the refusals that the program has not taken yet

	mu      sync.Mutex
	waiting map[string]*exchanged // by the proxy's id
	used    time.Time
}

// exchanged is a request that the program has not answered yet.
type exchanged struct {
	id, token []byte      // as the client spelled them; token can be nil
	answer    chan []byte // holds one
	said      chan []byte // what the program says meanwhile; what finds no place is dropped
}

// Bounds of a shared program.
const (
	maxSaid      = 64
	maxRefusing  = 64
	probeTimeout = 10 * time.Second // to tell which versions it speaks
	startTimeout = time.Minute      // to be initialized
	// takeTimeout is how long it has to take a message. One that reads nothing while
	// it works on a request is no exception, and some do; but one that never reads
	// would be in the way of all who show the credential.
	takeTimeout = time.Minute
)

// lastWithSessions is the version in which a program is initialized.
const lastWithSessions = "2025-11-25"

// Members of _meta, and codes, of the protocol without sessions.
const (
	metaSubscription = "io.modelcontextprotocol/subscriptionId"
	metaClient       = "io.modelcontextprotocol/clientInfo"
	metaServer       = "io.modelcontextprotocol/serverInfo"

	codeMethod  = -32601
	codeParams  = -32602
	codeVersion = -32022
)

// ofSessions are the methods that the protocol without sessions does not have.
// They would change the program for others who share it.
var ofSessions = []string{"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "roots/list"}

// isStateless reports whether a message without a session is one of the protocol
// that has none.
func isStateless(h http.Header, parts []*message) bool {
	return h.Get(versionHeader) >= firstStateless || slices.ContainsFunc(parts, func(m *message) bool { return versionOf(m) >= firstStateless })
}

func versionOf(m *message) string {
	return m.root().Get("params").Get("_meta").Get(metaVersion).Text()
}

// stateless serves one message of a client without a session.
func (x *Programs) stateless(w http.ResponseWriter, r *http.Request, raw []byte, parts []*message, batch bool) {
	m := parts[0]
	refuse := func(status, code int, text string, data []byte) {
		writeJSON(w, status, errorAnswer(orNull(m.id), code, text, data))
	}
	switch {
	case batch:
		refuse(http.StatusBadRequest, codeInvalid, "This version of the protocol has no batches.", nil)
		return
	case m.method == "":
		refuse(http.StatusBadRequest, codeInvalid, "Without a session no answer is awaited.", nil)
		return
	case m.id == "": // it stands for itself, and so it tells of nothing
		w.WriteHeader(http.StatusAccepted)
		return
	case r.Header.Get(versionHeader) == "":
		refuse(http.StatusBadRequest, codeHeaderMismatch, "The header "+versionHeader+" is missing.", nil)
		return
	case versionOf(m) == "":
		refuse(http.StatusBadRequest, codeParams, "The member "+metaVersion+" of _meta is missing.", nil)
		return
	case slices.Contains(ofSessions, m.method):
		refuse(http.StatusNotFound, codeMethod, "This version of the protocol does not have this method.", nil)
		return
	}
	program, err := x.shared(r)
	if err != nil {
		x.p.logger().Error("the server was not started", "server", x.p.Server, "error", err)
		refuse(http.StatusServiceUnavailable, codeInternal, "The server could not be started: "+err.Error(), nil)
		return
	}
	s := x.p.newSession(program.tools, false)
	if fault := x.p.headersDisagree(r, s, raw, program.ask); fault != nil {
		writeJSON(w, http.StatusBadRequest, fault)
		return
	}
	if version := r.Header.Get(versionHeader); program.discovered != nil && version != firstStateless {
		refuse(http.StatusBadRequest, codeVersion, "The server does not speak this version.", fmt.Appendf(nil, `{"supported":[%q],"requested":%s}`, firstStateless, rawjson.Quote(version)))
		return
	}
	program.post(w, r, s, raw, func() (*shared, error) {
		x.forget(program)
		return x.shared(r)
	})
}

// forget has the next request start another program.
func (x *Programs) forget(s *shared) {
	x.mu.Lock()
	maps.DeleteFunc(x.programs, func(_ [sha256.Size]byte, other *shared) bool { return other == s })
	x.mu.Unlock()
	go s.stop()
}

// shared returns the program for who shows a credential, which is started if none
// runs.
func (x *Programs) shared(r *http.Request) (*shared, error) {
	key := sha256.Sum256([]byte(credentialOf(r.Header)))
	x.mu.Lock()
	s := x.programs[key]
	if s != nil && s.over() {
		delete(x.programs, key)
		go s.stop()
		s = nil
	}
	if s == nil {
		if len(x.sessions)+len(x.programs) >= maxPrograms && !x.endOldest() {
			x.mu.Unlock()
			return nil, errors.New("too many programs run")
		}
		s = &shared{p: x.p, takes: x.takes, tools: newToolbox(), ready: make(chan struct{}), ended: make(chan struct{}), refusing: make(chan struct{}, maxRefusing), waiting: map[string]*exchanged{}, used: time.Now()}
		s.tools.lasts = listLasts
		x.programs[key] = s
		go func() {
			s.err = s.start(x.ctx, x.server)
			close(s.ready)
			if s.err == nil {
				<-s.ended
			}
			x.mu.Lock()
			if x.programs[key] == s {
				delete(x.programs, key)
			}
			x.mu.Unlock()
		}()
	}
	s.mu.Lock()
	s.used = time.Now()
	s.mu.Unlock()
	x.mu.Unlock()
	select {
	case <-s.ready:
		return s, s.err
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// start starts the program, and finds out which versions it speaks.
func (s *shared) start(ctx context.Context, server Server) error {
	dial := func() (err error) {
		ended := make(chan struct{})
		s.ended = ended
		s.conn, err = server.dial(ctx, s.p, s.p.newSession(s.tools, false), s.receive, func(error) { close(ended) })
		if c, ok := s.conn.(*process); ok {
			c.takes = s.takes
		}
		return err
	}
	if err := dial(); err != nil {
		return err
	}
	probing, cancel := context.WithTimeout(ctx, probeTimeout)
	found, err := s.request(probing, "server/discover", versioned([]byte("{}"), firstStateless))
	cancel()
	if err == nil {
		for _, v := range found.Get("supportedVersions").Elems() {
			if v.Text() >= firstStateless {
				return nil
			}
		}
	}
	result, err := s.initialize(ctx)
	if err != nil {
		select {
		case <-s.ended: // some end at what they do not know
			if err := dial(); err != nil {
				return err
			}
			result, err = s.initialize(ctx)
		case <-time.After(endsByItself):
		}
	}
	if err != nil {
		s.conn.close()
		return fmt.Errorf("it was not initialized: %w", err)
	}
	s.discovered = discovery(result)
	return nil
}

// initialize begins the only session of a program that knows no other way.
func (s *shared) initialize(ctx context.Context) (rawjson.Value, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	result, err := s.request(ctx, "initialize", []byte(`{"protocolVersion":"`+lastWithSessions+`","capabilities":{},"clientInfo":{"name":"reeve","version":"1"}}`))
	if err == nil {
		err = s.tell(ctx, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	return result, err
}

// discovery is what server/discover would have given, made of the result of
// initialize. Of what the server can do only that is left which needs no session.
func discovery(result rawjson.Value) []byte {
	b := []byte(`{"resultType":"complete","supportedVersions":["` + firstStateless + `"],"capabilities":{`)
	first := true
	for _, name := range []string{"tools", "prompts", "resources", "completions"} {
		if !result.Get("capabilities").Get(name).Exists() {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(append(b, rawjson.Quote(name)...), ":{}"...)
	}
	b = append(b, '}')
	if v := result.Get("instructions"); v.Exists() {
		b = append(append(b, `,"instructions":`...), v.Raw()...)
	}
	b = append(b, `,"ttlMs":0,"cacheScope":"private"`...)
	if v := result.Get("serverInfo"); v.Exists() {
		b = append(append(append(b, `,"_meta":{"`+metaServer+`":`...), v.Raw()...), '}')
	}
	return append(b, '}')
}

// begin notes a request and returns the id under which the program gets it.
func (s *shared) begin(id, token []byte) (string, *exchanged, error) {
	e := &exchanged{id: id, token: token, answer: make(chan []byte, 1), said: make(chan []byte, maxSaid)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) >= maxOpen {
		return "", nil, errors.New("too many requests wait for their answers")
	}
	own := "reeve-" + rand.Text()
	s.waiting[own] = e
	s.used = time.Now()
	return own, e, nil
}

func (s *shared) end(own string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting, own)
	s.used = time.Now()
}

// idle reports whether nobody has used the program for long.
func (s *shared) idle(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting) == 0 && now.Sub(s.used) > idleProgram
}

// started reports whether the program was started, or could not be.
func (s *shared) started() bool {
	select {
	case <-s.ready:
		return true
	default:
		return false
	}
}

// over reports whether the program could not be started, has ended, or is about to.
func (s *shared) over() bool {
	if !s.started() {
		return false
	}
	if s.err != nil {
		return true
	}
	if c, ok := s.conn.(*process); ok && c.spent.Load() {
		return true
	}
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// stop ends the program, once it was started.
func (s *shared) stop() {
	<-s.ready
	if s.err == nil {
		s.conn.close()
	}
}

// tell sends a notification of the proxy's own.
func (s *shared) tell(ctx context.Context, text string) error {
	m, err := read([]byte(text))
	if err != nil {
		return err
	}
	return s.conn.send(ctx, m.raw(), []*message{m})
}

// ask asks the program on the proxy's own account.
func (s *shared) ask(ctx context.Context, method string, params []byte) (rawjson.Value, error) {
	if s.discovered == nil {
		params = versioned(params, firstStateless)
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return s.request(ctx, method, params)
}

func (s *shared) request(ctx context.Context, method string, params []byte) (rawjson.Value, error) {
	own, e, err := s.begin([]byte(`"own"`), nil)
	if err != nil {
		return rawjson.Value{}, err
	}
	defer s.end(own)
	m, err := read(request(own, method, params))
	if err != nil {
		return rawjson.Value{}, err
	}
	if err := s.conn.send(ctx, m.raw(), []*message{m}); err != nil {
		return rawjson.Value{}, err
	}
	var raw []byte
	select {
	case raw = <-e.answer:
	case <-s.ended:
		select {
		case raw = <-e.answer: // its last word
		default:
			return rawjson.Value{}, errors.New("the server ended")
		}
	case <-ctx.Done():
		return rawjson.Value{}, errors.New("the server did not answer")
	}
	if m, err = read(raw); err != nil {
		return rawjson.Value{}, err
	}
	return resultOf(m.root())
}

// receive takes what the program says. It waits for nobody.
func (s *shared) receive(raw []byte) {
	parts, _, err := split(raw)
	if err != nil {
		s.p.noteAmbiguous(context.Background(), raw, err)
		// What cannot be read can be the answer that somebody waits for.
		if own, err := rawjson.Parse([]byte(idOf(raw))); err == nil {
			s.answer(own.Root().Text(), errorAnswer(`"own"`, codeInternal, unreadable, nil))
		}
		return
	}
	for _, m := range parts {
		switch {
		case m.request():
			s.refuse(m)
		case m.method != "":
			s.notice(m)
		default:
			s.answer(m.root().Get("id").Text(), m.raw())
		}
	}
}

// refuse answers what the program asks: nobody is there to be asked. It waits for a
// program that takes nothing beside what else is read: one that first says all that
// it has to say would wait for us.
func (s *shared) refuse(m *message) {
	select {
	case s.refusing <- struct{}{}:
	default:
		s.p.logger().Warn("a question of the server was not answered, since it does not take the answers", "server", s.p.Server, "method", bounded(m.method))
		return
	}
	answer := errorAnswer(m.id, codeMethod, "No client can be asked here.", nil)
	if m.method == "ping" {
		answer = []byte(`{"jsonrpc":"2.0","id":` + m.id + `,"result":{}}`)
	}
	go func() {
		defer func() { <-s.refusing }()
		if err := s.tell(context.Background(), string(answer)); err != nil {
			s.p.logger().Warn("the server could not be answered", "server", s.p.Server, "error", err)
		}
	}()
}

// answer hands the answer to a request to who waits for it.
func (s *shared) answer(own string, raw []byte) {
	s.mu.Lock()
	e := s.waiting[own]
	delete(s.waiting, own)
	s.mu.Unlock()
	if e == nil {
		return // to who does not wait any more
	}
	if restored, err := e.restored(raw); err == nil {
		e.answer <- restored
	} else {
		e.answer <- errorAnswer(string(e.id), codeInternal, unreadable, nil)
	}
}

// notice hands a notification to the one whose request it is about.
func (s *shared) notice(m *message) {
	params := m.root().Get("params")
	if m.method == "notifications/tools/list_changed" {
		s.tools.outdated()
	}
	own := params.Get("_meta").Get(metaSubscription).Text()
	if own == "" && m.method == "notifications/progress" {
		own = params.Get("progressToken").Text()
	}
	s.mu.Lock()
	e := s.waiting[own]
	s.mu.Unlock()
	if e == nil || m.method == "notifications/progress" && e.token == nil { // which nobody asked for
		return
	}
	if restored, err := e.restored(m.raw()); err == nil {
		select {
		case e.said <- restored:
		default:
			s.p.logger().Warn("a notification was dropped, since the client does not take them in time", "method", bounded(m.method), "server", s.p.Server)
		}
	}
}

// restored is a message of the program with the id and the token that the client
// chose.
func (e *exchanged) restored(raw []byte) ([]byte, error) {
	m, err := read(raw)
	if err != nil {
		return nil, err
	}
	var changes []rawjson.Replacement
	change := func(at rawjson.Value, with []byte) {
		if at.Exists() && with != nil {
			changes = append(changes, rawjson.Replacement{At: at, With: with})
		}
	}
	root := m.root()
	if m.method == "" {
		change(root.Get("id"), e.id)
	} else if m.method == "notifications/progress" {
		change(root.Get("params").Get("progressToken"), e.token)
	}
	for _, part := range []string{"params", "result"} {
		change(root.Get(part).Get("_meta").Get(metaSubscription), e.id)
	}
	return m.doc.Splice(changes)
}

// numbered is a client's request as the program gets it, with an id of the
// proxy's own.
func numbered(m *message, own string) ([]byte, error) {
	changes := []rawjson.Replacement{{At: m.root().Get("id"), With: rawjson.Quote(own)}}
	if token := m.root().Get("params").Get("_meta").Get("progressToken"); token.Exists() {
		changes = append(changes, rawjson.Replacement{At: token, With: rawjson.Quote(own)})
	}
	return m.doc.Splice(changes)
}

// post passes on a request, and what the program says of it. another gives the
// program that takes the place of one that takes nothing any more.
func (s *shared) post(w http.ResponseWriter, r *http.Request, session *session, raw []byte, another func() (*shared, error)) {
	ctx := r.Context()
	x := session.fromClient(ctx, raw, s.ask)
	if x.on == nil {
		writeBack(w, x.back)
		return
	}
	fail := func(status int, text string) {
		writeJSON(w, status, errorAnswer(x.list[0].id, codeInternal, text, nil))
	}
	m := x.list[0]
	if m.method == "server/discover" && s.discovered != nil {
		s.finish(w, m.id, session.fromServer(ctx, slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), m.root().Get("id").Raw(), []byte(`,"result":`), s.discovered, []byte{'}'}), s.ask), false)
		return
	}
	var token []byte
	if v := m.root().Get("params").Get("_meta").Get("progressToken"); v.Exists() {
		token = v.Raw()
	}
	var own string
	var e *exchanged
	for again := false; ; again = true {
		var err error
		if own, e, err = s.begin(m.root().Get("id").Raw(), token); err != nil {
			fail(http.StatusServiceUnavailable, "The request cannot be taken: "+err.Error()+".")
			return
		}
		var sent []byte
		if sent, err = numbered(m, own); err == nil {
			err = s.conn.send(ctx, sent, x.list)
		}
		if err == nil {
			break
		}
		s.end(own)
		if errors.Is(err, errUntaken) && !again { // it ended after the request came
			var next *shared
			if next, err = another(); err == nil {
				s = next
				continue
			}
		}
		s.p.logger().Error("a message could not be sent to the server", "server", s.p.Server, "error", err)
		fail(http.StatusBadGateway, "The server could not be reached.")
		return
	}
	defer s.end(own)
	streaming := false
	say := func(raw []byte) bool {
		x := session.fromServer(ctx, raw, s.ask)
		if x.on == nil {
			return true
		}
		if !streaming {
			streaming = true
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Cache-Control", "no-cache, no-transform")
			w.WriteHeader(http.StatusOK)
		}
		if _, err := w.Write(plainEvent(x.on)); err != nil {
			return false
		}
		return http.NewResponseController(w).Flush() == nil
	}
	for {
		select {
		case raw := <-e.said:
			if say(raw) {
				continue
			}
		case raw := <-e.answer:
			for len(e.said) > 0 { // which it said before
				say(<-e.said)
			}
			s.finish(w, m.id, session.fromServer(ctx, raw, s.ask), streaming)
			return
		case <-s.ended:
			if len(e.said)+len(e.answer) > 0 {
				continue // its last words
			}
			text := errorAnswer(string(e.id), codeInternal, "The server has ended.", nil)
			if streaming {
				w.Write(plainEvent(text))
			} else {
				writeJSON(w, http.StatusBadGateway, text)
			}
			return
		case <-ctx.Done():
		}
		// Who goes away cancels the request.
		s.tell(context.WithoutCancel(ctx), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+string(rawjson.Quote(own))+`,"reason":"The client has gone."}}`)
		return
	}
}

// finish writes the answer to a request, with the status that stands for it.
func (s *shared) finish(w http.ResponseWriter, id string, x forwarding, streaming bool) {
	raw := x.on
	if raw == nil {
		raw = errorAnswer(id, codeInternal, unreadable, nil)
	}
	if streaming {
		w.Write(plainEvent(raw))
		return
	}
	status := http.StatusOK
	if m, err := read(raw); err == nil && bytes.Contains(raw, []byte(`"error"`)) {
		switch code, _ := m.root().Get("error").Get("code").Int(); code {
		case codeMethod:
			status = http.StatusNotFound
		case codeParse, codeInvalid, codeParams, codeVersion, codeHeaderMismatch, -32021: // a capability is missing
			status = http.StatusBadRequest
		}
	}
	writeJSON(w, status, raw)
}
