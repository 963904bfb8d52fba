package proxy

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/content"
	mcp "reeve.example/reeve/internal/mcp/message"
	"reeve.example/reeve/internal/rawjson"
)

// maxOpen is how many requests of one side may wait for their answers.
const maxOpen = 4096

// session is one connection of a client with the server.
type session struct {
	p     *Proxy
	name  string // of the session that the guardian knows; empty for none
	tools *toolbox
	// replays says that an answer may come again: a stream that is resumed
	// brings what it brought before.
	replays bool

	mu     sync.Mutex
	number int              // of the newest request
	calls  map[string]*call // what the client asked, by id
	asks   map[string]*call // what the server asked, by id
	over   []string         // ids of calls that were answered, the oldest first
	gone   []string         // ids of those that were cancelled, likewise
	client string           // what the client calls itself
}

// call is a request and what is known of it until it is answered.
type call struct {
	method, resource string
	number           string // under which the guardian knows it; empty if it was not told
	part             bool   // a part of a list was asked for
	answered         bool
	gone             bool               // it was cancelled, and may be answered nevertheless
	cancel           context.CancelFunc // ends the wait for a decision; nil once it is decided
	cancelled        bool
	hints            act.Hints // of the tool called
}

// forwarding is the outcome of a message: what goes on to the other side, and
// what goes back to where it came from. Either can be nil.
type forwarding struct {
	on, back []byte
	list     []*message // the messages that go on
	changed  bool       // they are not as they came
	unread   bool       // what came is no message
}

// fromClient decides about what the client sent. on is for the server, back for
// the client. via asks the server on the proxy's own account.
func (s *session) fromClient(ctx context.Context, raw []byte, via asker) forwarding {
	return s.clientSaid(ctx, readPiece(raw), via)
}

func (s *session) clientSaid(ctx context.Context, p *piece, via asker) forwarding {
	return s.pass(ctx, p, func(m *message) (on, back []byte) { return s.clientMessage(ctx, m, via) })
}

// fromServer decides about what the server sent. on is for the client, back for
// the server.
func (s *session) fromServer(ctx context.Context, raw []byte, via asker) forwarding {
	return s.serverSaid(ctx, readPiece(raw), via)
}

func (s *session) serverSaid(ctx context.Context, p *piece, via asker) forwarding {
	return s.pass(ctx, p, func(m *message) (on, back []byte) { return s.serverMessage(ctx, m, via) })
}

// unreadable is what a client is told of an answer that is no message.
const unreadable = "The server's answer could not be read, and is withheld."

// piece is what came in one piece, as it was read.
type piece struct {
	raw   []byte
	list  []*message
	batch bool
	err   error
}

func readPiece(raw []byte) *piece {
	p := &piece{raw: raw}
	p.list, p.batch, p.err = split(raw)
	return p
}

// pass has each message of what came in one piece decided about.
func (s *session) pass(ctx context.Context, from *piece, decide func(*message) (on, back []byte)) forwarding {
	raw, list, batch, err := from.raw, from.list, from.batch, from.err
	if err != nil {
		code := codeParse
		if s.p.noteAmbiguous(ctx, raw, err) || errors.Is(err, errEnvelope) {
			code = codeInvalid
		}
		return forwarding{unread: true, back: errorAnswer(idOf(raw), code, err.Error(), nil)}
	}
	var ons, backs [][]byte
	p := forwarding{}
	for _, m := range list {
		on, back := decide(m)
		if on != nil {
			ons = append(ons, on)
			p.list = append(p.list, m)
		}
		if back != nil {
			backs = append(backs, back)
		}
		if on != nil && !bytes.Equal(on, m.raw()) {
			p.changed = true
			if changed, err := read(on); err == nil {
				p.list[len(p.list)-1] = changed
			}
		}
	}
	if len(ons) == len(list) && !p.changed {
		p.on = raw
	} else {
		p.changed, p.on = true, joined(ons, batch)
	}
	p.back = joined(backs, batch)
	return p
}

// clientMessage decides about one message of the client.
func (s *session) clientMessage(ctx context.Context, m *message, via asker) (on, back []byte) {
	switch {
	case m.request():
		return s.clientRequest(ctx, m, via)
	case m.method != "":
		return s.clientNotification(ctx, m), nil
	}
	ask := s.answered(s.asks, m.key)
	if ask == nil {
		s.p.logger().Warn("the client answered what the server did not ask", "server", s.p.Server)
		return nil, nil
	}
	q := s.question(m, act.FromClient)
	q.answers(ask)
	a, err := s.judge(ctx, q)
	return passed(m, a, err, func() []byte { return denial(m.id, ask.method, a, err, "The client's answer is withheld.") }), nil
}

// clientRequest decides about a request of the client.
func (s *session) clientRequest(ctx context.Context, m *message, via asker) (on, back []byte) {
	root := m.root()
	c := &call{method: m.method, resource: resourceOf(root)}
	client := root.Get("params").Get("_meta").Get(metaClient) // without a session each request tells it
	if m.method == "initialize" {
		client = root.Get("params").Get("clientInfo")
	}
	if name := client.Get("name").Text(); name != "" {
		s.mu.Lock()
		s.client = bounded(name)
		s.mu.Unlock()
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	c.cancel = cancel
	q := s.question(m, act.FromClient)
	q.Routine = routine[m.method]
	if fault := s.open(s.calls, m.key, c, q.Routine); fault != "" {
		return nil, errorAnswer(m.id, codeInvalid, fault, nil)
	}
	q.ID = c.number
	switch m.method {
	case "tools/list":
		c.part = root.Get("params").Get("cursor").Exists()
	case "tools/call":
		q.Refusals = s.tools.refusals(waiting, s, root.Get("params"), via)
		c.hints = s.tools.hints(root.Get("params").Get("name").Text())
		q.Hints = c.hints.Names()
	}
	a, err := s.judge(waiting, q)
	on = passed(m, a, err, func() []byte { back = denial(m.id, m.method, a, err, ""); return nil })
	if responses := root.Get("params").Get("inputResponses"); on != nil && responses.Exists() {
		on, back = s.inputs(waiting, on, "/params/inputResponses", func(a *Answer, err error) []byte { return denial(m.id, m.method, a, err, "") })
	}
	s.mu.Lock()
	cancelled := c.cancelled
	c.cancel = nil
	s.mu.Unlock()
	if cancelled {
		s.forget(s.calls, m.key)
		return nil, nil // who cancels a request wants no answer to it
	}
	if on == nil {
		s.forget(s.calls, m.key)
	}
	return on, back
}

// clientNotification decides about a notification of the client.
func (s *session) clientNotification(ctx context.Context, m *message) []byte {
	if m.method == "notifications/cancelled" {
		key := keyOf(m.root().Get("params").Get("requestId"))
		s.mu.Lock()
		if c := s.calls[key]; c != nil && c.cancel != nil {
			c.cancelled = true
			c.cancel()
			s.mu.Unlock()
			return nil // the server has not seen the request
		}
		s.mu.Unlock()
	}
	on := s.notification(ctx, m, act.FromClient)
	if on != nil {
		s.cancelled(s.calls, m)
	}
	return on
}

// cancelled notes what a notification cancels, if it is one that does: no answer is
// awaited any more, and one that comes nevertheless must not be taken for that of
// another request.
func (s *session) cancelled(calls map[string]*call, m *message) {
	if m.method != "notifications/cancelled" {
		return
	}
	key := keyOf(m.root().Get("params").Get("requestId"))
	s.mu.Lock()
	defer s.mu.Unlock()
	c := calls[key]
	if c == nil || c.answered || c.gone {
		return
	}
	c.gone = true
	s.gone = append(s.gone, key)
	if len(s.gone) > maxOpen {
		for _, of := range []map[string]*call{s.calls, s.asks} {
			if old := of[s.gone[0]]; old != nil && old.gone {
				delete(of, s.gone[0])
			}
		}
		s.gone = s.gone[1:]
	}
}

func (s *session) notification(ctx context.Context, m *message, from string) []byte {
	q := s.question(m, from)
	q.Routine = routine[m.method]
	a, err := s.judge(ctx, q)
	return passed(m, a, err, func() []byte {
		s.p.logger().Warn("a notification was not passed on", "method", bounded(m.method), "server", s.p.Server, "why", whyNot(a, err))
		return nil
	})
}

// serverMessage decides about one message of the server.
func (s *session) serverMessage(ctx context.Context, m *message, via asker) (on, back []byte) {
	switch {
	case m.request():
		return s.serverRequest(ctx, m)
	case m.method != "":
		if m.method == "notifications/tools/list_changed" {
			s.tools.outdated()
		}
		on := s.notification(ctx, m, act.FromServer)
		if on != nil {
			s.cancelled(s.asks, m)
		}
		return on, nil
	case m.id == "null":
		q := s.question(m, act.FromServer)
		q.Routine = true
		a, err := s.judge(ctx, q)
		if on = passed(m, a, err, func() []byte { return denial(m.id, "", a, err, "") }); on != nil && err == nil {
			on = heeded(on, "", a.Conditions)
		}
		return on, nil
	}
	c := s.answered(s.calls, m.key)
	if c == nil {
		s.p.logger().Warn("the server answered what the client did not ask", "server", s.p.Server)
		return nil, nil
	}
	if c.method == "tools/list" {
		listed, err := s.tools.visible(ctx, s, m, c.part, via)
		if err != nil {
			s.p.logger().Error("a list of tools was withheld", "server", s.p.Server, "error", err)
			return errorAnswer(m.id, codeInternal, "The list of tools is withheld, since it could not be compared with what is agreed to. The proxy's log says why.", nil), nil
		}
		m = listed
	}
	q := s.question(m, act.FromServer)
	q.answers(c)
	q.Refusals = badAddresses(m.root().Get("error"))
	a, err := s.judge(ctx, q)
	const done = "It has been done, but what it gave is withheld."
	on = passed(m, a, err, func() []byte { return denial(m.id, c.method, a, err, done) })
	if on != nil && err == nil {
		on = heeded(on, c.method, a.Conditions)
	}
	if c.method == "tools/list" && !c.part && on != nil {
		on = s.tools.withStandIn(on)
	}
	if m.root().Get("result").Get("inputRequests").Exists() {
		asked, refused := s.inputs(ctx, on, "/result/inputRequests", func(a *Answer, err error) []byte { return denial(m.id, c.method, a, err, "") })
		if on = asked; on == nil {
			on = refused
		}
	}
	return on, nil
}

// inputs decides about what a server asks of the client inside of a result, and
// about the client's answers inside of a request, each as the message that it
// would have been in older versions of the protocol. raw is the message that
// holds them at pointer. refused is what denial made of the first that is denied.
func (s *session) inputs(ctx context.Context, raw []byte, pointer string, denial func(*Answer, error) []byte) (on, refused []byte) {
	doc, err := rawjson.Parse(raw)
	if err != nil {
		return nil, denial(nil, err)
	}
	var changes []rawjson.Replacement
	for key, v := range doc.At(pointer).Members() {
		inner, method, what := []byte(`{"jsonrpc":"2.0","id":`), v.Get("method"), v
		inner = append(inner, rawjson.Quote(key)...)
		part, from := "params", act.FromServer
		if pointer == "/params/inputResponses" {
			part, from = "result", act.FromClient
		} else {
			what = v.Get("params")
			inner = append(append(inner, `,"method":`...), rawjson.Quote(method.Text())...)
		}
		if what.Exists() {
			inner = append(append(inner, `,"`+part+`":`...), what.Raw()...)
		}
		m, err := read(append(inner, '}'))
		if err != nil {
			return nil, denial(nil, err)
		}
		q := s.question(m, from)
		q.Session = "" // its ids are not those of the session's requests
		if from == act.FromServer {
			q.Refusals = badAddress(what)
		}
		if part == "result" {
			q.Method = answersTo(v)
		}
		a, err := s.judge(ctx, q)
		if err != nil {
			return nil, denial(nil, err)
		}
		switch a.Effect {
		case act.Allow.String():
		case act.Modify.String():
			changed, err := rawjson.Parse(a.Message)
			if err != nil || !what.Exists() {
				return nil, denial(nil, errEnvelope)
			}
			changes = append(changes, rawjson.Replacement{At: what, With: changed.Root().Get(part).Raw()})
		default:
			return nil, denial(a, nil)
		}
	}
	if changes == nil {
		return raw, nil
	}
	if on, err = doc.Splice(changes); err != nil {
		return nil, denial(nil, err)
	}
	return on, nil
}

// answersTo is the method that a client's answer is for, by its form.
func answersTo(v rawjson.Value) string {
	switch {
	case v.Get("roots").Exists():
		return "roots/list"
	case v.Get("action").Exists():
		return "elicitation/create"
	}
	return "sampling/createMessage"
}

// serverRequest decides about what the server asks of the client.
func (s *session) serverRequest(ctx context.Context, m *message) (on, back []byte) {
	c := &call{method: m.method}
	q := s.question(m, act.FromServer)
	q.Routine, q.Refusals = routine[m.method], badAddress(m.root().Get("params"))
	if fault := s.open(s.asks, m.key, c, q.Routine); fault != "" {
		return nil, errorAnswer(m.id, codeInvalid, fault, nil)
	}
	q.ID = c.number
	a, err := s.judge(ctx, q)
	on = passed(m, a, err, func() []byte {
		s.p.logger().Warn("what the server asked was not passed on", "method", bounded(m.method), "server", s.p.Server, "why", whyNot(a, err))
		back = refusal(m, a, err)
		return nil
	})
	if on == nil {
		s.forget(s.asks, m.key)
	}
	return on, back
}

// question is what the guardian is asked about a message, and from is who sent it.
func (s *session) question(m *message, from string) *Question {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Question{Message: m.raw(), Server: s.p.Server, Session: s.name, Agent: s.client, From: from, doc: m.doc, untouched: m.untouched}
}

// answers says which call a message answers. It can be another than when the message
// was looked at, whose id it has now.
func (q *Question) answers(c *call) {
	q.Answers, q.Method, q.Resource, q.Routine = c.number, c.method, c.resource, c.number == ""
	q.Hints = c.hints.Names()
	q.untouched = q.untouched && q.Routine
}

// untouched reports whether a message is housekeeping that holds no text, and that
// no rule names. asked are the requests of the other side.
func (s *session) untouched(ctx context.Context, m *message, asked map[string]*call) bool {
	method := m.method
	if method == "" {
		s.mu.Lock()
		c := asked[m.key]
		s.mu.Unlock()
		if c == nil || c.number != "" || c.method == "tools/list" {
			return false
		}
		method = c.method
	}
	if !routine[method] {
		return false
	}
	var texts content.Set
	mcp.Read(m.root(), "", &texts)
	return len(texts.Leaves) == 0 && !texts.Full && !s.p.judgesRoutine(ctx, method)
}

// judge asks the guardian, and waits for people where they must agree. A message
// of housekeeping that holds no text, and that no rule names, is not asked about.
func (s *session) judge(ctx context.Context, q *Question) (*Answer, error) {
	if q.untouched {
		return &Answer{Effect: act.Allow.String()}, nil
	}
	if q.Routine && len(q.Refusals) == 0 {
		method := q.Method
		if method == "" {
			method = q.doc.Root().Get("method").Text()
		}
		var texts content.Set
		mcp.Read(q.doc.Root(), "", &texts)
		if len(texts.Leaves) == 0 && !texts.Full && !s.p.judgesRoutine(ctx, method) {
			return &Answer{Effect: act.Allow.String()}, nil
		}
	}
	a, err := s.p.Guardian.Judge(ctx, q)
	if err != nil || a.Effect != act.Escalate.String() || a.Approval == "" || s.p.Wait <= 0 {
		return a, err
	}
	waiting, cancel := context.WithTimeout(ctx, s.p.Wait)
	defer cancel()
	s.p.logger().Info("a person must agree", "server", s.p.Server, "run", "reeve approvals show "+a.Approval, "waiting", s.p.Wait.Round(time.Second))
	if s.p.Guardian.Await(waiting, a.Approval) != nil {
		return a, ctx.Err()
	}
	return s.p.Guardian.Judge(ctx, q)
}

// passed returns what passes of a message; where nothing does, what instead says.
func passed(m *message, a *Answer, err error, instead func() []byte) []byte {
	switch {
	case err != nil || a == nil:
		return instead()
	case a.Effect == act.Allow.String():
		return m.raw()
	case a.Effect == act.Modify.String() && len(a.Message) > 0:
		return a.Message
	}
	return instead()
}

// open notes a request that will be answered; fault says why it must not be asked.
func (s *session) open(calls map[string]*call, id string, c *call, routine bool) (fault string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if had := calls[id]; had != nil && !had.answered {
		return "A request with this id is not answered yet."
	}
	if len(calls) >= maxOpen && waitingIn(calls) >= maxOpen {
		return "Too many requests wait for their answers."
	}
	if s.number++; !routine {
		c.number = strconv.Itoa(s.number)
	}
	if i := slices.Index(s.over, id); i >= 0 {
		s.over = slices.Delete(s.over, i, i+1)
	}
	calls[id] = c
	return ""
}

// waitingIn counts the requests that wait for their answers.
func waitingIn(calls map[string]*call) (n int) {
	for _, c := range calls {
		if !c.answered && !c.gone {
			n++
		}
	}
	return n
}

// maxReplay is how many answered requests are remembered, in case their answers
// come once more.
const maxReplay = 256

// answered returns the request that an answer is for; nil when there is none.
func (s *session) answered(calls map[string]*call, id string) *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := calls[id]
	// A call that is still decided about has not been sent: nobody can know its answer,
	// and what is taken for one would be judged by what is known of the call so far.
	if c == nil || c.cancel != nil {
		return nil
	}
	if c.gone {
		delete(calls, id)
		return nil
	}
	if !s.replays {
		delete(calls, id)
		return c
	}
	if !c.answered {
		c.answered = true
		s.over = append(s.over, id)
		if len(s.over) > maxReplay {
			if old := s.calls[s.over[0]]; old != nil && old.answered {
				delete(s.calls, s.over[0])
			}
			if old := s.asks[s.over[0]]; old != nil && old.answered {
				delete(s.asks, s.over[0])
			}
			s.over = s.over[1:]
		}
	}
	return c
}

func (s *session) forget(calls map[string]*call, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(calls, id)
}

// resourceOf is what a request is for: a tool, a prompt or a resource.
func resourceOf(root rawjson.Value) string {
	params := root.Get("params")
	switch root.Get("method").Text() {
	case "tools/call", "prompts/get":
		return params.Get("name").Text()
	case "resources/read", "resources/subscribe", "resources/unsubscribe":
		return params.Get("uri").Text()
	}
	return ""
}

// bounded is a caller's text, cut to what is shown of it.
func bounded(s string) string {
	const longest = 80
	if len(s) > longest {
		return string([]rune(s[:longest]))
	}
	return s
}
