package operator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"

	"reeve.example/reeve/identity"
	"reeve.example/reeve/internal/datadir"

	"github.com/go-json-experiment/json"
)

// Client speaks to a node as its operator. HTTP is also for what the node serves its
// operator beside this interface, at any host.
type Client struct{ HTTP *http.Client }

// Dial is the way to the node that runs on a data folder, by the socket there; nil if
// none does.
func Dial(ctx context.Context, data string) *Client {
	conn, err := datadir.Dial(ctx, data)
	if err != nil {
		return nil
	}
	conn.Close()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return datadir.Dial(ctx, data) }
	return &Client{&http.Client{Transport: &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 64}}}
}

// Within is the way to a node that this process has opened itself, by what it serves on
// its socket.
func Within(node http.Handler) *Client {
	return &Client{&http.Client{Transport: inProcess{node}}}
}

// inProcess is a transport to a handler in this process.
type inProcess struct{ handler http.Handler }

func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	t.handler.ServeHTTP(w, r.WithContext(identity.NewContext(r.Context(), identity.Operator, identity.Admin)))
	return w.Result(), nil
}

// Ask calls the node and reads its answer into a.
func (c *Client) Ask(ctx context.Context, method, path string, q, a any) error {
	var body io.Reader
	if q != nil {
		text, err := json.Marshal(q)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, body)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := c.HTTP.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		var problem struct {
			Error string `json:"error"`
		}
		if json.Unmarshal(text, &problem) == nil && problem.Error != "" {
			return errors.New(problem.Error)
		}
		return fmt.Errorf("the node answered %s", resp.Status)
	}
	return json.Unmarshal(text, a)
}
