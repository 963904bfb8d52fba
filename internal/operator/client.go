package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/datadir"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/ledger"

	"github.com/go-json-experiment/json"
)

// Client speaks to a node as its operator. HTTP is also for what the node serves its
// operator beside this interface, at any host.
type Client struct {
	HTTP *http.Client
	// URL is where the node is, and Key what it is asked with: empty for one that is
	// reached by its socket.
	URL, Key string
}

// Dial is the way to the node that runs on a data folder, by the socket there; nil if
// none does.
func Dial(ctx context.Context, data string) *Client {
	conn, err := datadir.Dial(ctx, data)
	if err != nil {
		return nil
	}
	conn.Close()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return datadir.Dial(ctx, data) }
	return &Client{HTTP: &http.Client{Transport: &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 64}}}
}

// At is the way to a node that is elsewhere.
func At(url, key string) *Client { return &Client{HTTP: http.DefaultClient, URL: url, Key: key} }

// Within is the way to a node that this process has opened itself, by what it serves on
// its socket.
func Within(node http.Handler) *Client { return within(node, identity.Operator) }

// ByUser is Within in the name of the user of this machine who runs the program, as a running node knows who
// asks by its socket.
func ByUser(node http.Handler) *Client {
	by := identity.Operator
	if uid := os.Getuid(); uid >= 0 { // else the system has no such numbers
		by = identity.LocalUser(uint32(uid))
	}
	return within(node, by)
}

func within(node http.Handler, by act.Principal) *Client {
	return As(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		node.ServeHTTP(w, r.WithContext(identity.NewContext(r.Context(), by, identity.Admin)))
	}))
}

// As is the way to a node of this process in the name of somebody: of whom the context
// names that it is asked with, and with no more than their role may.
func As(node http.Handler) *Client { return &Client{HTTP: &http.Client{Transport: inProcess{node}}} }

// inProcess is a transport to a handler in this process.
type inProcess struct{ handler http.Handler }

func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	t.handler.ServeHTTP(w, r)
	return w.Result(), nil
}

// StatusOf is the HTTP status that the node answered with an error; 0 where it answered
// nothing.
func StatusOf(err error) int {
	p, _ := errors.AsType[problem](err)
	return p.status
}

// Ask calls the node and reads its answer into a.
func (c *Client) Ask(ctx context.Context, method, path string, q, a any) error {
	var body []byte
	if q != nil {
		var err error
		if body, err = json.Marshal(q); err != nil {
			return err
		}
	}
	answer, err := c.fetch(ctx, method, path, body)
	if err != nil {
		return err
	}
	if err := answer.Read(a); err != nil {
		return problem{answer.Code, err}
	}
	return nil
}

// Text reads what the node has at a path, as it is.
func (c *Client) Text(ctx context.Context, path string) ([]byte, error) {
	answer, err := c.fetch(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	if answer.Code != http.StatusOK {
		err := answer.Read(nil)
		if said := strings.TrimSpace(string(answer.Body)); len(said) < 300 && strings.HasSuffix(said, ".") { // a sentence, as the ledger's proofs are refused
			err = errors.New(said)
		}
		return nil, problem{answer.Code, err}
	}
	return answer.Body, nil
}

func (c *Client) fetch(ctx context.Context, method, path string, body []byte) (*jsonrpc.Answer, error) {
	r, err := c.request(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	answer, err := jsonrpc.Fetch(c.HTTP, r, 1<<30)
	return answer, c.unasked(err)
}

func (c *Client) request(ctx context.Context, method, path string, body []byte) (*http.Request, error) {
	return jsonrpc.NewRequest(ctx, method, cmp.Or(strings.TrimRight(c.URL, "/"), "http://localhost")+path, c.Key, body)
}

// unasked says of an error of a request which node could not be asked.
func (c *Client) unasked(err error) error {
	if failed := (*url.Error)(nil); errors.As(err, &failed) && c.URL != "" {
		if errors.Is(err, http.ErrSchemeMismatch) {
			return fmt.Errorf("the node %s cannot be asked: it speaks http there, not https", c.URL)
		}
		return fmt.Errorf("the node %s cannot be asked: %w", c.URL, failed.Err)
	}
	return err
}

// Bounds of a stream of decisions.
const (
	maxEvent = 1 << 20          // bytes of one event
	silence  = 90 * time.Second // the node sends a comment each half minute
	again    = time.Second      // before a connection that was lost is made again
)

// Follow calls f with each decision that a query asks for and the node makes from now on,
// until ctx ends, the node refuses, or f returns an error, which Follow returns. A connection
// that is lost is made again, of which lost is told, and goes on where it was lost.
//
// begun is called once nothing is missed any more: after the first connection, and after
// each one that could not go on where the one before was lost, since nothing had come yet.
func (c *Client) Follow(ctx context.Context, q ledger.Query, begun func() error, lost func(error), f func(l *ledger.Line) error) error {
	for s := (stream{Client: c, path: "/api/v1/decisions/stream?" + Params(q).Encode(), begun: begun, f: f}); ; {
		over, err := s.read(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case over || !s.open:
			return err
		}
		lost(cmp.Or(err, errors.New("the node ended it")))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(again):
		}
	}
}

// stream is a stream of decisions that is read by one connection after the other.
type stream struct {
	*Client
	path  string
	begun func() error
	f     func(l *ledger.Line) error
	open  bool   // it was once
	after string // where the last event stood
}

// read reads by one connection. over says that there is no use in another.
func (s *stream) read(ctx context.Context) (over bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, err := s.request(ctx, http.MethodGet, s.path, nil)
	if err != nil {
		return true, err
	}
	r.Header.Set("Accept", "text/event-stream")
	if s.after != "" {
		r.Header.Set("Last-Event-ID", s.after)
	}
	res, err := s.HTTP.Do(r)
	if err != nil {
		return false, s.unasked(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		said, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
		refused := jsonrpc.Answer{Code: res.StatusCode, Status: res.Status, Body: said}
		err := cmp.Or(refused.Read(nil), errors.New("the answer is no stream of events"))
		return res.StatusCode < 500 && res.StatusCode != http.StatusTooManyRequests, problem{res.StatusCode, err}
	}
	if s.open = true; s.after == "" {
		if err := s.begun(); err != nil {
			return true, err
		}
	}
	lost := time.AfterFunc(silence, cancel)
	defer lost.Stop()
	err = jsonrpc.ReadEvents(res.Body, maxEvent, func() { lost.Reset(silence) }, func(e jsonrpc.Event) error {
		var l ledger.Line
		if err := json.Unmarshal(e.Data, &l); err != nil {
			over = true
			return errors.New("the stream is not in the form of a reeve node of this version")
		}
		if err := s.f(&l); err != nil {
			over = true
			return err
		}
		s.after = e.ID
		return nil
	})
	return over, err
}
