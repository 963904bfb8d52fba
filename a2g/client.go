package a2g

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/rawjson"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
)

// Error is an error that the governing side answered, other than a denial. Its
// data is what is known of it: for a wrong field the field (a JSON Pointer), what
// is wrong with it, and what was expected.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    struct {
		IntentID  string `json:"intent_id"`
		BlockedBy string `json:"blocked_by"`
		Field     string `json:"field"`
		Reason    string `json:"reason"`
		Expected  string `json:"expected"`
	} `json:"data"`
}

func (e *Error) Error() string {
	s := fmt.Sprintf("the governing side answered with error %d, ", e.Code) + cmp.Or(e.Message, "and did not say why")
	if e.Data.Field != "" {
		s += ": " + e.Data.Field
	}
	if e.Data.Reason != "" {
		s += ": " + e.Data.Reason
	}
	if e.Data.BlockedBy != "" {
		s += " (" + e.Data.BlockedBy + ")"
	}
	return s
}

// ErrClientClosed is the error of a Client after Close.
var ErrClientClosed = errors.New("the client is closed")

// Client asks before an agent calls a tool. It fails closed: whenever Ask returns
// an error, or a verdict that does not allow it, the tool must not be called. A
// lost answer is asked for again with the same intent_id, and the recorded one
// comes back.
//
// With a URL of ws:// or wss:// it holds one connection, by which messages of the
// governing side come as they are sent; a connection that is lost is made again,
// with a registration if there was one. With http:// or https:// each call is a
// request of its own, and those messages come with Heartbeat.
//
// A Client is safe for concurrent use. Its exported fields must not change once
// it is used.
type Client struct {
	// URL of the governing side, such as ws://127.0.0.1:8080/a2g.
	URL string
	// AgentDID names the agent in whatever does not name it itself.
	AgentDID string
	// Key is an API key or token, sent as a bearer credential. Empty for none.
	Key string
	// Signing signs the connection and each message. The zero Key signs nothing.
	Signing Key
	// HTTP makes the requests. Nil means a client that waits 30 seconds and
	// follows no redirect.
	HTTP *http.Client
	// Retries is how often a request is sent again after the network, not the
	// governing side, failed. 0 means 2, a negative number never.
	Retries int

	// OnPolicy, OnDirective and OnRevoke, if set, get the messages of the
	// governing side, one after the other, each on a goroutine that is not the
	// caller's. They may use the client.
	OnPolicy    func(*Policy)
	OnDirective func(*Directive)
	OnRevoke    func(*Revoke)

	id     atomic.Int64
	dial   chan struct{} // holds a token while somebody connects; made by init
	closed context.Context
	close  context.CancelFunc
	once   sync.Once
	tasks  sync.WaitGroup

	mu         sync.Mutex
	link       *link     // the connection; nil when there is none
	registered *Register // what to register with again
	tending    bool      // somebody makes the connection again
	pushes     []push    // to be handed to the callbacks
	handing    bool      // somebody hands them
	ended      bool
}

// maxAnswer bounds an answer's size. maxPushes is how many messages of the
// governing side may wait for a callback: beyond it the connection is dropped.
const (
	maxAnswer = 64 << 20
	maxPushes = 1000
)

// The pauses before a connection is made again.
const (
	firstPause   = 250 * time.Millisecond
	longestPause = 30 * time.Second
	pingEvery    = 30 * time.Second
)

var defaultHTTP = &http.Client{
	Timeout: 30 * time.Second,
	// A redirect would carry what the agent does to somebody else.
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

func (c *Client) init() {
	c.once.Do(func() {
		c.dial = make(chan struct{}, 1)
		c.closed, c.close = context.WithCancel(context.Background())
	})
}

func (c *Client) httpClient() *http.Client {
	if c.HTTP != nil {
		return c.HTTP
	}
	return defaultHTTP
}

func (c *Client) holdsConnection() bool {
	return strings.HasPrefix(c.URL, "ws://") || strings.HasPrefix(c.URL, "wss://")
}

// Close ends the connection, if there is one, and waits until no callback runs.
// It must not be called by a callback.
func (c *Client) Close() {
	c.init()
	c.mu.Lock()
	c.ended = true
	l := c.link
	c.mu.Unlock()
	c.close()
	if l != nil {
		l.end(ErrClientClosed)
	}
	c.tasks.Wait()
}

// Ask asks whether a tool may be called. It fills in the intent's AgentDID and
// IntentID where they are empty. A denial is a verdict, not an error.
func (c *Client) Ask(ctx context.Context, in *Intent) (*Verdict, error) {
	if in.AgentDID == "" {
		in.AgentDID = c.AgentDID
	}
	if in.IntentID == "" {
		in.IntentID = newUUID()
	}
	raw, err := c.call(ctx, MethodIntent, in)
	if err != nil {
		if e, ok := errors.AsType[*denial](err); ok {
			return e.verdict(in.IntentID)
		}
		return nil, err
	}
	v := new(Verdict)
	if err := json.Unmarshal(raw, v); err != nil {
		return nil, fmt.Errorf("read the verdict: %w", err)
	}
	return v, v.check(in.IntentID)
}

// check holds a verdict to its form. What is not understood allows nothing.
func (v *Verdict) check(intentID string) error {
	switch {
	case v.IntentID != intentID:
		return fmt.Errorf("the verdict is about the intent %.80q, and was asked about %.80q", v.IntentID, intentID)
	case v.Verdict == Denied, v.Verdict == Escalate:
		return nil
	case v.Verdict != Approved && v.Verdict != Conditional:
		return fmt.Errorf("the verdict %.80q is not one of APPROVED, DENIED, ESCALATE, CONDITIONAL", v.Verdict)
	case v.ExpiresAt.IsZero():
		return errors.New("the verdict does not say when it expires")
	case v.Verdict == Approved && v.ModifiedArguments != nil:
		return errors.New("the verdict is APPROVED and comes with other arguments")
	case v.ModifiedArguments != nil && !isObject(v.ModifiedArguments):
		return errors.New("the verdict's modified_arguments are no object")
	}
	return nil
}

func isObject(v Raw) bool { return len(v) > 0 && v[0] == '{' }

// Report says how an approved call went.
func (c *Client) Report(ctx context.Context, r *Report) (*Recorded, error) {
	if r.AgentDID == "" {
		r.AgentDID = c.AgentDID
	}
	return call[Recorded](ctx, c, MethodReport, r)
}

// Register registers the agent, now and on each new connection.
func (c *Client) Register(ctx context.Context, r *Register) (*Registered, error) {
	mine := *r
	if mine.AgentDID == "" {
		mine.AgentDID = c.AgentDID
	}
	if mine.CapabilitiesRequested == nil {
		mine.CapabilitiesRequested = []string{}
	}
	answer, err := call[Registered](ctx, c, MethodRegister, &mine)
	if err == nil {
		c.mu.Lock()
		c.registered = &mine
		c.mu.Unlock()
	}
	return answer, err
}

// Heartbeat says that the agent is there, and has the callbacks called with the
// messages that wait for it.
func (c *Client) Heartbeat(ctx context.Context, status string) (*Beat, error) {
	beat, err := call[Beat](ctx, c, MethodHeartbeat, &Heartbeat{AgentDID: c.AgentDID, Status: status})
	if err != nil {
		return nil, err
	}
	for _, message := range beat.Pending {
		if doc, err := rawjson.Parse(message); err == nil {
			c.receive(doc.Root())
		}
	}
	return beat, nil
}

// Connect makes the connection, if there is none, so that messages of the
// governing side arrive before the first call. Over HTTP it does nothing.
func (c *Client) Connect(ctx context.Context) error {
	if !c.holdsConnection() {
		return nil
	}
	_, err := c.connect(ctx)
	return err
}

func call[T any](ctx context.Context, c *Client, method string, params any) (*T, error) {
	raw, err := c.call(ctx, method, params)
	if err != nil {
		if e, ok := errors.AsType[*denial](err); ok {
			return nil, e.err
		}
		return nil, err
	}
	v := new(T)
	if err := json.Unmarshal(raw, v); err != nil {
		return nil, fmt.Errorf("read the answer to %s: %w", method, err)
	}
	return v, nil
}

// call makes one JSON-RPC call and returns its raw result. Sending it again is
// safe: the ids in it are the same. It is signed anew each time, since a
// signature counts once.
func (c *Client) call(ctx context.Context, method string, params any) (Raw, error) {
	c.init()
	if c.closed.Err() != nil {
		return nil, ErrClientClosed
	}
	retries := c.Retries
	if retries == 0 {
		retries = 2
	}
	pause := firstPause
	for try := 0; ; try++ {
		id := fmt.Sprint(c.id.Add(1))
		body, err := c.message(id, method, params)
		if err != nil {
			return nil, fmt.Errorf("write the params of %s: %w", method, err)
		}
		answer, again, err := c.send(ctx, id, body)
		if err == nil {
			return resultOf(answer, id, method)
		}
		if !again || try >= retries || ctx.Err() != nil || c.closed.Err() != nil {
			return nil, fmt.Errorf("ask the governing side: %s: %w", method, err)
		}
		if !c.sleep(ctx, pause) {
			return nil, fmt.Errorf("ask the governing side: %s: %w", method, err)
		}
		pause *= 4
	}
}

// sleep waits, and is false when the context or the client ended meanwhile.
func (c *Client) sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-c.closed.Done():
	}
	return false
}

// message writes a request, signed if there is a key.
func (c *Client) message(id, method string, params any) ([]byte, error) {
	text, err := json.Marshal(params, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	if c.Signing.signs() {
		if text, err = signParams(text, c.Signing, newUUID(), time.Now()); err != nil {
			return nil, err
		}
	}
	b := append([]byte(`{"jsonrpc":"2.0","id":"`), id...)
	b = append(b, `","method":"`...)
	b = append(b, method...)
	b = append(b, `","params":`...)
	b = append(b, text...)
	return append(b, '}'), nil
}

// signParams puts a signature into the context of params.
func signParams(params []byte, key Key, nonce string, at time.Time) ([]byte, error) {
	doc, err := rawjson.Parse(params)
	if err != nil {
		return nil, err
	}
	root := doc.Root()
	signature := write(key.Sign(appendSigned(nil, root, byCodePoint), nonce, at))
	inner := root.Get("context")
	if s := inner.Get("signature"); s.Exists() {
		return doc.Splice([]rawjson.Replacement{{At: s, With: signature}})
	}
	with := append([]byte(`{"signature":`), signature...)
	if inner.Kind() == rawjson.Object {
		if inner.Len() > 0 {
			with = append(with, ',')
		}
		with = append(with, inner.Raw()[1:]...)
		return doc.Splice([]rawjson.Replacement{{At: inner, With: with}})
	}
	if inner.Exists() {
		return nil, errors.New("the context is no object")
	}
	b := append(bytes.TrimRight(params[:len(params)-1], " \t\r\n"), `,"context":`...)
	b = append(b, with...)
	return append(b, "}}"...), nil
}

// resultOf reads an answer.
func resultOf(answer []byte, id, method string) (Raw, error) {
	var r struct {
		JSONRPC string  `json:"jsonrpc"`
		ID      *string `json:"id"`
		Result  Raw     `json:"result"`
		Error   Raw     `json:"error"`
	}
	if err := json.Unmarshal(answer, &r); err != nil {
		return nil, fmt.Errorf("read the answer to %s: %w", method, err)
	}
	switch {
	case r.JSONRPC != "2.0":
		return nil, fmt.Errorf("the answer to %s is not JSON-RPC 2.0", method)
	case (r.Result != nil) == (r.Error != nil):
		return nil, fmt.Errorf("the answer to %s needs either a result or an error", method)
	case r.Error != nil:
		return nil, readError(r.Error)
	case r.ID == nil || *r.ID != id:
		return nil, fmt.Errorf("the answer to %s has another id", method)
	}
	return r.Result, nil
}

// denial is the error of a denied intent, with its verdict.
type denial struct {
	err  *Error
	data Raw
}

func (d *denial) Error() string { return d.err.Error() }

func (d *denial) verdict(intentID string) (*Verdict, error) {
	v := &Verdict{Verdict: Denied, IntentID: intentID, Message: d.err.Message}
	if d.data == nil {
		return v, nil
	}
	var more struct {
		IntentID  string   `json:"intent_id"`
		RiskScore *float64 `json:"risk_score"`
	}
	if err := json.Unmarshal(d.data, &more); err != nil || json.Unmarshal(d.data, v) != nil {
		return nil, d.err
	}
	if more.IntentID != "" && more.IntentID != intentID {
		return nil, fmt.Errorf("the denial is about the intent %.80q, and was asked about %.80q", more.IntentID, intentID)
	}
	v.Verdict, v.IntentID = Denied, intentID
	if more.RiskScore != nil && v.Risk.Level == "" {
		v.Risk.Score = *more.RiskScore
	}
	return v, nil
}

// readError reads an error object. Without a readable one there is an error all
// the same.
func readError(raw Raw) error {
	var e Error
	if err := json.Unmarshal(raw, &e); err != nil {
		return fmt.Errorf("read the error that was answered: %w", err)
	}
	if e.Code != PolicyViolation {
		return &e
	}
	var data struct {
		Data Raw `json:"data"`
	}
	json.Unmarshal(raw, &data)
	return &denial{&e, data.Data}
}

// send sends a message once and returns its answer. again says that trying once
// more may help.
func (c *Client) send(ctx context.Context, id string, body []byte) (answer []byte, again bool, err error) {
	if !c.holdsConnection() {
		return c.post(ctx, body)
	}
	l, err := c.connect(ctx)
	if err != nil {
		_, refused := errors.AsType[*Error](err)
		return nil, !refused, err
	}
	return l.ask(ctx, id, body)
}

func (c *Client) post(ctx context.Context, body []byte) (answer []byte, again bool, err error) {
	r, err := jsonrpc.NewRequest(ctx, http.MethodPost, c.URL, "", body)
	if err != nil {
		return nil, false, err
	}
	maps.Copy(r.Header, c.header())
	answer, retry, err := jsonrpc.Post[Error](c.httpClient(), r, maxAnswer)
	return answer, retry != jsonrpc.Never, err
}

func (c *Client) header() http.Header {
	h := http.Header{}
	if c.Key != "" {
		h.Set("Authorization", "Bearer "+c.Key)
	}
	return h
}

// connect returns the connection, and makes it if there is none.
func (c *Client) connect(ctx context.Context) (*link, error) {
	c.init()
	select {
	case c.dial <- struct{}{}:
		defer func() { <-c.dial }()
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.closed.Done():
		return nil, ErrClientClosed
	}
	c.mu.Lock()
	l, registered := c.link, c.registered
	c.mu.Unlock()
	if l != nil {
		return l, nil
	}
	l, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	if registered != nil {
		if err := c.registerAgain(ctx, l, registered); err != nil {
			l.end(err)
			return nil, err
		}
	}
	return l, nil
}

// open makes a connection.
func (c *Client) open(ctx context.Context) (*link, error) {
	header := c.header()
	if c.Signing.signs() {
		s := c.Signing.Sign([]byte(c.AgentDID), newUUID(), time.Now())
		header.Set("X-Agent-DID", c.AgentDID)
		header.Set("X-Timestamp", s.Timestamp)
		header.Set("X-Nonce", s.Nonce)
		header.Set("X-Signature", s.Hash)
	}
	socket, res, err := websocket.Dial(ctx, c.URL, &websocket.DialOptions{HTTPClient: c.httpClient(), HTTPHeader: header})
	if err != nil {
		if res != nil && res.Body != nil {
			answer, _ := io.ReadAll(io.LimitReader(res.Body, 1<<10))
			if refused, ok := errors.AsType[*Error](jsonrpc.RefusalIn[Error](answer, res.Status)); ok {
				return nil, refused
			}
		}
		return nil, err
	}
	socket.SetReadLimit(maxAnswer)
	l := &link{socket: socket, lost: make(chan struct{}), waiting: map[string]chan []byte{}}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		socket.CloseNow()
		return nil, ErrClientClosed
	}
	c.link = l
	c.tasks.Go(func() { c.read(l) })
	c.tasks.Go(l.ping)
	return l, nil
}

func (c *Client) registerAgain(ctx context.Context, l *link, r *Register) error {
	id := fmt.Sprint(c.id.Add(1))
	body, err := c.message(id, MethodRegister, r)
	if err != nil {
		return err
	}
	answer, _, err := l.ask(ctx, id, body)
	if err != nil {
		return err
	}
	_, err = resultOf(answer, id, MethodRegister)
	if e, ok := errors.AsType[*denial](err); ok {
		return e.err
	}
	return err
}

// read reads a connection until it is lost, and sees to it that there is another
// when somebody waits for messages.
func (c *Client) read(l *link) {
	for {
		kind, data, err := l.socket.Read(context.Background())
		if err != nil {
			l.end(err)
			break
		}
		doc, err := rawjson.Parse(data)
		if err != nil || kind != websocket.MessageText || doc.Root().Kind() != rawjson.Object {
			l.end(errors.New("the governing side sent what is no JSON-RPC message"))
			break
		}
		if root := doc.Root(); root.Get("method").Exists() {
			if !c.receive(root) {
				l.end(errors.New("more messages came than the callbacks could take"))
				break
			}
		} else {
			l.deliver(root.Get("id").Text(), data)
		}
	}
	l.socket.CloseNow()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.link == l {
		c.link = nil
	}
	listens := c.OnPolicy != nil || c.OnDirective != nil || c.OnRevoke != nil
	if listens && !c.ended && !c.tending {
		c.tending = true
		c.tasks.Go(c.tend)
	}
}

// tend makes the connection again, with longer and longer pauses.
func (c *Client) tend() {
	pause := firstPause
	for {
		// Not all agents of a governing side that was away come at once.
		if !c.sleep(context.Background(), pause/2+time.Duration(randomByte())*pause/512) {
			break
		}
		ctx, cancel := context.WithTimeout(c.closed, longestPause)
		_, err := c.connect(ctx)
		cancel()
		if err == nil || c.closed.Err() != nil {
			break
		}
		pause = min(2*pause, longestPause)
	}
	c.mu.Lock()
	c.tending = false
	c.mu.Unlock()
}

// push is a message of the governing side, read.
type push func()

// receive queues a message for its callback. It is false when too many wait.
func (c *Client) receive(message rawjson.Value) bool {
	p := c.pushOf(message)
	if p == nil {
		return true // nobody wants it, or it cannot be read
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pushes) >= maxPushes {
		return false
	}
	c.pushes = append(c.pushes, p)
	if !c.handing && !c.ended {
		c.handing = true
		c.tasks.Go(c.hand)
	}
	return true
}

func (c *Client) pushOf(message rawjson.Value) push {
	params := message.Get("params").Raw()
	switch message.Get("method").Text() {
	case MethodPolicy:
		return pushTo(c.OnPolicy, params)
	case MethodDirective:
		return pushTo(c.OnDirective, params)
	case MethodRevoke:
		return pushTo(c.OnRevoke, params)
	}
	return nil
}

func pushTo[T any](callback func(*T), params []byte) push {
	v := new(T)
	if callback == nil || json.Unmarshal(params, v) != nil {
		return nil
	}
	return func() { callback(v) }
}

// hand hands what is queued to the callbacks.
func (c *Client) hand() {
	for {
		c.mu.Lock()
		if len(c.pushes) == 0 || c.ended {
			c.handing = false
			c.mu.Unlock()
			return
		}
		p := c.pushes[0]
		c.pushes = c.pushes[1:]
		c.mu.Unlock()
		p()
	}
}

// link is one connection.
type link struct {
	socket *websocket.Conn
	lost   chan struct{} // closed when the connection is lost

	mu      sync.Mutex
	waiting map[string]chan []byte // by id: who waits for an answer
	err     error                  // why it was lost
}

// ask sends a call and waits for its answer.
func (l *link) ask(ctx context.Context, id string, body []byte) (answer []byte, again bool, err error) {
	mine := make(chan []byte, 1)
	l.mu.Lock()
	l.waiting[id] = mine
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.waiting, id)
		l.mu.Unlock()
	}()
	if err := l.socket.Write(ctx, websocket.MessageText, body); err != nil {
		if ctx.Err() != nil {
			return nil, false, ctx.Err()
		}
		l.end(err)
	}
	select {
	case answer = <-mine:
		return answer, false, nil
	case <-ctx.Done():
		return nil, false, ctx.Err()
	case <-l.lost:
	}
	select {
	case answer = <-mine: // it came just before
		return answer, false, nil
	default:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return nil, true, fmt.Errorf("the connection was lost: %w", l.err)
}

func (l *link) deliver(id string, answer []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if mine := l.waiting[id]; mine != nil {
		delete(l.waiting, id)
		mine <- answer
	}
}

// end ends the connection.
func (l *link) end(err error) {
	l.mu.Lock()
	if l.err == nil {
		l.err = err
		close(l.lost)
	}
	l.mu.Unlock()
	l.socket.CloseNow()
}

// ping looks whether the other side is still there. Nothing else would show that
// it is not, to one who only waits.
func (l *link) ping() {
	ticker := time.NewTicker(pingEvery)
	defer ticker.Stop()
	for {
		select {
		case <-l.lost:
			return
		case <-ticker.C:
		}
		ctx, cancel := context.WithTimeout(context.Background(), pingEvery)
		err := l.socket.Ping(ctx)
		cancel()
		if err != nil {
			l.end(err)
			return
		}
	}
}

// newUUID is a random UUID (version 4).
func newUUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func randomByte() byte {
	var b [1]byte
	rand.Read(b[:])
	return b[0]
}
