package proxy

import (
	"bytes"
	"cmp"
	"container/list"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/rawjson"
)

// maxSessions is how many sessions of HTTP clients are remembered. Of one that
// was forgotten the next message begins a new one.
const maxSessions = 4096

// listLasts is for how long a list of tools is used for clients without sessions,
// who cannot be told that it has changed.
const listLasts = time.Minute

// Handler serves clients that speak Streamable HTTP, and passes on to a server
// that does, at a URL: see ServeHTTP.
type Handler struct {
	p      *Proxy
	url    *url.URL
	client *http.Client

	mu       sync.Mutex
	sessions map[string]*list.Element // of *httpSession, by id and credential
	recent   *list.List               // the most recently used first
	boxes    map[string]*toolbox      // of clients without sessions, by credential
}

// httpSession is a session with the id that the server gave it.
type httpSession struct {
	key string
	*session
}

// NewHandler returns a handler for the server at a URL.
func (p *Proxy) NewHandler(upstream string) (*Handler, error) {
	u, err := parseUpstream(upstream)
	if err != nil {
		return nil, err
	}
	return &Handler{p: p, url: u, client: newClient(), sessions: map[string]*list.Element{}, recent: list.New(), boxes: map[string]*toolbox{}}, nil
}

func parseUpstream(upstream string) (*url.URL, error) {
	u, err := url.Parse(upstream)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("%q is no URL of a server: want http://… or https://… without a password", upstream)
	}
	return u, nil
}

// newClient is an HTTP client that follows no redirects: where a message goes is
// nothing that the server decides.
func newClient() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 64
	t.DisableCompression = true // what is judged is what passes on
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// passedOn are the headers of a request that the server gets. Any other belongs
// to the connection with the proxy, or to a browser.
var passedOn = []string{
	"Accept", "Accept-Language", "Authorization", "Content-Type", eventHeader, sessionHeader, versionHeader, methodHeader, nameHeader,
	"Traceparent", "Tracestate", "Baggage", "User-Agent", "X-Api-Key",
}

// ServeHTTP serves one endpoint of the protocol: POST, GET and DELETE.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r = r.WithContext(act.WithTraceparent(r.Context(), r.Header.Get("Traceparent")))
	if !h.p.admit(w, r) {
		return
	}
	switch r.Method {
	case http.MethodPost:
		h.post(w, r)
	case http.MethodGet:
		h.get(w, r)
	case http.MethodDelete:
		h.delete(w, r)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		http.Error(w, "This is an MCP server: POST a message, GET its stream.", http.StatusMethodNotAllowed)
	}
}

// admit refuses what comes from a page of another site, or under a name that is
// not the proxy's: of a page whose name was made to lead here.
func (p *Proxy) admit(w http.ResponseWriter, r *http.Request) bool {
	name := hostOf(r.Host)
	host := name == "localhost" || strings.HasSuffix(name, ".localhost") || loopback(name) || slices.Contains(p.Hosts, name) || slices.Contains(p.Hosts, r.Host)
	origins := r.Header["Origin"]
	origin := len(origins) == 0
	if len(origins) == 1 {
		_, from, ok := strings.Cut(origins[0], "://")
		origin = ok && strings.EqualFold(from, r.Host) || slices.Contains(p.Origins, origins[0])
	}
	if host && origin {
		return true
	}
	http.Error(w, "The request comes from a page of another site, or under a name that is not this proxy's.", http.StatusForbidden)
	return false
}

// hostOf is the name in a Host header. What stands behind the colon and is no port belongs to the name.
func hostOf(host string) string {
	if name, port, err := net.SplitHostPort(host); err == nil && strings.Trim(port, "0123456789") == "" {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

func loopback(name string) bool {
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}

// post passes on what a client sends, and what the server answers.
func (h *Handler) post(w http.ResponseWriter, r *http.Request) {
	raw, ok := h.p.body(w, r)
	if !ok {
		return
	}
	s := h.session(r)
	via := h.asker(r.Header)
	if fault := h.p.headersDisagree(r, s, raw, via); fault != nil {
		writeJSON(w, http.StatusBadRequest, fault)
		return
	}
	x := s.fromClient(r.Context(), raw, via)
	if x.on == nil {
		writeBack(w, x.back)
		return
	}
	header := h.forward(r.Header)
	header.Set("Content-Type", "application/json")
	if x.changed && len(x.list) == 1 {
		setHeaders(header, x.list[0], s.tools)
	}
	resp, err := h.send(r.Context(), http.MethodPost, header, x.on)
	if err != nil {
		forgetAll(s, x.list)
		h.p.logger().Error("the server could not be reached", "server", h.p.Server, "error", err)
		writeJSON(w, http.StatusBadGateway, errorAnswer(idOf(x.on), codeInternal, "The server could not be reached.", nil))
		return
	}
	defer resp.Body.Close()
	if id := cmp.Or(resp.Header.Get(sessionHeader), r.Header.Get(sessionHeader)); id != "" && resp.StatusCode < 300 {
		h.keep(id, r, s)
	}
	h.answer(w, r, s, resp, x.list, x.back, via)
}

// body reads the body of a request.
func (p *Proxy) body(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset := strings.ToLower(params["charset"]) // in another one the server would read other text
	if err != nil || kind != "application/json" || charset != "" && charset != "utf-8" || r.Header.Get("Content-Encoding") != "" {
		http.Error(w, "The body must be application/json, in UTF-8 and in no encoding.", http.StatusUnsupportedMediaType)
		return nil, false
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(p.maxMessage())))
	if err != nil {
		status := http.StatusBadRequest
		if _, long := errors.AsType[*http.MaxBytesError](err); long {
			status = http.StatusRequestEntityTooLarge
		}
		writeJSON(w, status, errorAnswer("null", codeInvalid, "The message could not be read, or is too large.", nil))
		return nil, false
	}
	return raw, true
}

// headersDisagree is the answer to a message that says something else than its
// headers; nil where they agree.
func (p *Proxy) headersDisagree(r *http.Request, s *session, raw []byte, via asker) []byte {
	parts, batch, err := split(raw)
	if err != nil {
		return nil // which is answered later on
	}
	for _, m := range parts {
		if batch && (r.Header.Get(methodHeader) != "" || r.Header.Get(nameHeader) != "") {
			return errorAnswer("null", codeHeaderMismatch, "The headers speak of one message, and the body holds a batch.", nil)
		}
		if m.method == "tools/call" && hasParams(r.Header) {
			if _, whole := s.tools.find(resourceOf(m.root())); !whole {
				s.tools.refresh(r.Context(), s, via) // without it the call is denied
			}
		}
		if fault := disagreement(r.Header, m, s.tools); fault != "" {
			return errorAnswer(cmp.Or(m.id, "null"), codeHeaderMismatch, fault, nil)
		}
	}
	return nil
}

func hasParams(h http.Header) bool {
	if h.Get(versionHeader) >= firstStateless {
		return true
	}
	for name := range h {
		if strings.HasPrefix(name, paramHeader) {
			return true
		}
	}
	return false
}

func forgetAll(s *session, parts []*message) {
	for _, m := range parts {
		if m.request() {
			s.forget(s.calls, m.key)
		}
	}
}

// forward are the headers that the server gets.
func (h *Handler) forward(from http.Header) http.Header {
	to := http.Header{}
	for _, name := range passedOn {
		if v := from[name]; len(v) > 0 {
			to[name] = v
		}
	}
	for name, v := range from {
		if strings.HasPrefix(name, paramHeader) {
			to[name] = v
		}
	}
	return to
}

func (h *Handler) send(ctx context.Context, method string, header http.Header, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, h.url.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body == nil {
		r.Body, r.ContentLength = http.NoBody, 0
	}
	r.Header = header
	resp, err := h.client.Do(r)
	if err == nil {
		h.p.answerHeaders(resp.Header)
	}
	return resp, err
}

// answer passes on what the server answers. back goes to the client first.
// asked are the messages that it answers.
func (h *Handler) answer(w http.ResponseWriter, r *http.Request, s *session, resp *http.Response, asked []*message, back []byte, via asker) {
	for name, v := range resp.Header {
		if name != "Content-Type" {
			w.Header()[name] = v
		}
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind == "text/event-stream" && resp.StatusCode == http.StatusOK {
		h.stream(w, r, s, resp.Body, back, via)
		return
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, int64(h.p.maxMessage())+1))
	if err != nil || len(raw) > h.p.maxMessage() {
		writeJSON(w, http.StatusBadGateway, errorAnswer("null", codeInternal, "The server's answer could not be read, or is too large.", nil))
		return
	}
	switch {
	case kind == "application/json" && len(bytes.TrimSpace(raw)) > 0:
		x := s.fromServer(r.Context(), raw, via)
		if x.unread {
			x.on = errorAnswer(idOf(raw), codeInternal, unreadable, nil)
		}
		if x.on == nil {
			writeJSON(w, http.StatusBadGateway, errorAnswer("null", codeInternal, "The server's answer is none, and is withheld.", nil))
			return
		}
		writeJSON(w, resp.StatusCode, merged(x.on, back))
	case back != nil:
		writeBack(w, back)
	default:
		// Why it failed, in words. Clients tell them to models, so they are judged.
		if resp.StatusCode >= 400 && kind == "text/plain" && len(raw) < 4<<10 {
			raw = s.failure(r.Context(), raw, asked, via)
		} else {
			raw = nil
		}
		if len(raw) > 0 {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			w.Header().Set("X-Content-Type-Options", "nosniff")
		}
		w.WriteHeader(resp.StatusCode)
		w.Write(raw)
	}
}

// failure is what a server says in words of why it failed, as it may be said: it is
// judged as the error that answers the request. Where nobody asked, nothing is said.
func (s *session) failure(ctx context.Context, text []byte, asked []*message, via asker) []byte {
	if len(asked) != 1 || !asked[0].request() || !utf8.Valid(text) {
		return nil
	}
	x := s.fromServer(ctx, errorAnswer(asked[0].id, codeInternal, string(text), nil), via)
	m, err := read(x.on)
	if err != nil {
		return nil
	}
	if message := m.root().Get("error").Get("message"); message.Exists() {
		return []byte(message.Text())
	}
	return nil
}

// merged puts the proxy's own answers beside those of the server, in a batch.
func merged(on, back []byte) []byte {
	if back == nil {
		return on
	}
	trim := func(b []byte) []byte {
		b = bytes.TrimSpace(b)
		if len(b) > 1 && b[0] == '[' {
			b = b[1 : len(b)-1]
		}
		return b
	}
	return slices.Concat([]byte{'['}, trim(back), []byte{','}, trim(on), []byte{']'})
}

// stream passes on the events of a server's stream, each once it is decided
// about. An event that does not pass leaves its id, so that the stream can be
// resumed behind it.
func (h *Handler) stream(w http.ResponseWriter, r *http.Request, s *session, body io.Reader, back []byte, via asker) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(w)
	if back != nil {
		w.Write(plainEvent(back))
	}
	flush.Flush()
	from := newEvents(body, h.p.maxMessage())
	for {
		e, err := from.next()
		if err != nil {
			if err != io.EOF && r.Context().Err() == nil {
				h.p.logger().Warn("the server's stream ended", "server", h.p.Server, "error", err)
			}
			return
		}
		out := e.raw
		if len(bytes.TrimSpace(e.data)) > 0 {
			x := s.fromServer(r.Context(), e.data, via)
			if id := idOf(e.data); x.unread && s.pending(keyOfText(id)) {
				x.on, x.changed = errorAnswer(id, codeInternal, unreadable, nil), true
			} else if x.back != nil {
				h.reply(r.Context(), r.Header, x.back)
			}
			if x.on == nil {
				out = e.with(nil)
			} else if x.changed || hasLineEnd(e.data) {
				out = e.with(x.on)
			}
		}
		if _, err := w.Write(out); err != nil {
			return
		}
		flush.Flush()
	}
}

// reply sends the proxy's answer to what the server asked.
func (h *Handler) reply(ctx context.Context, from http.Header, back []byte) {
	if idOf(back) == "null" {
		h.p.logger().Warn("what the server sent is no message", "server", h.p.Server)
		return
	}
	header := h.forward(from)
	header.Del(eventHeader)
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "application/json, text/event-stream")
	if answer, err := read(back); err == nil { // its headers are not those of the client's request
		setHeaders(header, answer, newToolbox())
	}
	resp, err := h.send(ctx, http.MethodPost, header, back)
	if err != nil {
		h.p.logger().Warn("the server was not told that what it asked is denied", "server", h.p.Server, "error", err)
		return
	}
	resp.Body.Close()
}

// get passes on the stream of what the server says by itself, or one that is
// resumed.
func (h *Handler) get(w http.ResponseWriter, r *http.Request) {
	s := h.session(r)
	resp, err := h.send(r.Context(), http.MethodGet, h.forward(r.Header), nil)
	if err != nil {
		http.Error(w, "The server could not be reached.", http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	h.answer(w, r, s, resp, nil, nil, h.asker(r.Header))
}

// delete ends a session.
func (h *Handler) delete(w http.ResponseWriter, r *http.Request) {
	resp, err := h.send(r.Context(), http.MethodDelete, h.forward(r.Header), nil)
	if err != nil {
		http.Error(w, "The server could not be reached.", http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode < 300 || resp.StatusCode == http.StatusNotFound {
		h.mu.Lock()
		if e := h.sessions[sessionKey(r.Header.Get(sessionHeader), r)]; e != nil {
			delete(h.sessions, h.recent.Remove(e).(*httpSession).key)
		}
		h.mu.Unlock()
	}
	h.answer(w, r, h.p.newSession(newToolbox(), false), resp, nil, nil, nil)
}

// sessionKey is under what a session is remembered. The credential is part of it:
// nobody speaks in the session of another.
func sessionKey(id string, r *http.Request) string {
	sum := sha256.Sum256([]byte(id + "\n" + credentialOf(r.Header)))
	return string(sum[:])
}

func credentialOf(h http.Header) string { return h.Get("Authorization") + "\n" + h.Get("X-Api-Key") }

// session returns the session of a request: a new one where it names none, or
// one that is not remembered.
func (h *Handler) session(r *http.Request) *session {
	id := r.Header.Get(sessionHeader)
	h.mu.Lock()
	defer h.mu.Unlock()
	if id != "" {
		if e := h.sessions[sessionKey(id, r)]; e != nil {
			h.recent.MoveToFront(e)
			return e.Value.(*httpSession).session
		}
		s := h.p.newSession(newToolbox(), true)
		s.replays = true
		return s
	}
	// Each message of a client without a session is by itself: of two such
	// clients each numbers its requests as it likes. They share the list of tools.
	sum := sha256.Sum256([]byte(credentialOf(r.Header)))
	key := string(sum[:])
	box := h.boxes[key]
	if box == nil {
		if len(h.boxes) >= maxSessions {
			clear(h.boxes)
		}
		box = newToolbox()
		box.lasts = listLasts
		h.boxes[key] = box
	}
	return h.p.newSession(box, false)
}

// keep remembers a session under the id that the server gave it, or knows it by.
func (h *Handler) keep(id string, r *http.Request, s *session) {
	key := sessionKey(id, r)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sessions[key] != nil {
		return
	}
	if r.Header.Get(sessionHeader) == "" { // it begins: until now it was nobody's
		named := h.p.newSession(newToolbox(), true)
		s.name, s.tools, s.replays = named.name, named.tools, true
	}
	h.sessions[key] = h.recent.PushFront(&httpSession{key, s})
	if h.recent.Len() > maxSessions {
		delete(h.sessions, h.recent.Remove(h.recent.Back()).(*httpSession).key)
	}
}

// asker asks the server on the proxy's own account, with the credential, the
// session and the version of a client's request.
func (h *Handler) asker(from http.Header) asker {
	return func(ctx context.Context, method string, params []byte) (rawjson.Value, error) {
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		header := h.forward(from)
		header.Del(eventHeader)
		header.Set("Content-Type", "application/json")
		header.Set("Accept", "application/json, text/event-stream")
		m, err := read(request("reeve-list", method, versioned(params, header.Get(versionHeader))))
		if err != nil {
			return rawjson.Value{}, err
		}
		setHeaders(header, m, newToolbox())
		resp, err := h.send(ctx, http.MethodPost, header, m.raw())
		if err != nil {
			return rawjson.Value{}, err
		}
		defer resp.Body.Close()
		return h.p.firstAnswer(resp, `"reeve-list"`)
	}
}

// versioned adds to params what a request without a session says of itself.
func versioned(params []byte, version string) []byte {
	if version < firstStateless {
		return params
	}
	b := append([]byte(`{"_meta":{"`+metaVersion+`":`), rawjson.Quote(version)...)
	b = append(b, `,"io.modelcontextprotocol/clientInfo":{"name":"reeve","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`...)
	if rest := bytes.TrimSpace(params)[1:]; len(rest) > 1 {
		return append(append(b, ','), rest...)
	}
	return append(b, '}')
}

// firstAnswer reads the answer with an id from an answer of HTTP.
func (p *Proxy) firstAnswer(resp *http.Response, id string) (rawjson.Value, error) {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode != http.StatusOK:
		return rawjson.Value{}, fmt.Errorf("the server answered %s", statusOf(resp))
	case kind == "application/json":
		raw, err := io.ReadAll(io.LimitReader(resp.Body, int64(p.maxMessage())+1))
		if err != nil {
			return rawjson.Value{}, err
		}
		m, err := read(raw)
		if err != nil {
			return rawjson.Value{}, err
		}
		return resultOf(m.root())
	case kind == "text/event-stream":
		from := newEvents(resp.Body, p.maxMessage())
		for {
			e, err := from.next()
			if err != nil {
				return rawjson.Value{}, fmt.Errorf("the server's stream ended: %w", err)
			}
			if m, err := read(e.data); err == nil && m.method == "" && m.id == id {
				return resultOf(m.root())
			}
		}
	}
	return rawjson.Value{}, errors.New("the server's answer is neither JSON nor a stream")
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(body)
}

// writeBack answers with what the proxy says by itself, or that a message was
// taken that wants no answer.
func writeBack(w http.ResponseWriter, back []byte) {
	if back == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	status := http.StatusOK
	if doc, err := rawjson.Parse(back); err == nil {
		if code, ok := doc.Root().Get("error").Get("code").Int(); ok && (code == codeParse || code == codeInvalid) {
			status = http.StatusBadRequest
		}
	}
	writeJSON(w, status, back)
}
