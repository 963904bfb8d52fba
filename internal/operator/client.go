package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	"reeve.example/reeve/internal/datadir"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/jsonrpc"

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
func Within(node http.Handler) *Client {
	return As(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		node.ServeHTTP(w, r.WithContext(identity.NewContext(r.Context(), identity.Operator, identity.Admin)))
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
		return nil, answer.Read(nil)
	}
	return answer.Body, nil
}

func (c *Client) fetch(ctx context.Context, method, path string, body []byte) (*jsonrpc.Answer, error) {
	r, err := jsonrpc.NewRequest(ctx, method, cmp.Or(strings.TrimRight(c.URL, "/"), "http://localhost")+path, c.Key, body)
	if err != nil {
		return nil, err
	}
	answer, err := jsonrpc.Fetch(c.HTTP, r, 1<<30)
	if failed := (*url.Error)(nil); errors.As(err, &failed) && c.URL != "" {
		return nil, fmt.Errorf("the node %s cannot be asked: %w", c.URL, failed.Err)
	}
	return answer, err
}
