package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"

	"github.com/go-json-experiment/json"

	"reeve.example/reeve"
	"reeve.example/reeve/identity"
	"reeve.example/reeve/internal/datadir"
	"reeve.example/reeve/ledger"
)

// operator speaks to a node as its operator: through the socket in the data
// folder while the node runs, else to a node opened for this one command.
type operator struct {
	client *http.Client
	close  func() error
}

// errNotRunning is what an act that only a running node can do gets.
var errNotRunning = errors.New("no node is running")

// openOperator opens the way to a node. Unless it must run, a stopped one will do.
func openOperator(ctx context.Context, c reeve.Config, mustRun bool) (*operator, error) {
	if o := bySocket(ctx, c.Data); o != nil {
		return o, nil
	}
	if mustRun {
		return nil, fmt.Errorf("%w on the data folder %s", errNotRunning, c.Data)
	}
	node, err := reeve.Open(ctx, c)
	if errors.Is(err, ledger.ErrInUse) {
		if o := bySocket(ctx, c.Data); o != nil { // it has begun meanwhile
			return o, nil
		}
		return nil, fmt.Errorf("%w, and its socket in %s cannot be reached: run this as the node's user", err, c.Data)
	}
	if err != nil {
		return nil, err
	}
	return &operator{&http.Client{Transport: inProcess{node.Admin()}}, node.Close}, nil
}

// bySocket is the operator's way to the node that runs on a data folder, nil if none does.
func bySocket(ctx context.Context, data string) *operator {
	conn, err := datadir.Dial(ctx, data)
	if err != nil {
		return nil
	}
	conn.Close()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return datadir.Dial(ctx, data) }
	return &operator{&http.Client{Transport: &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 64}}, func() error { return nil }}
}

// inProcess is a transport to a handler in this process.
type inProcess struct{ handler http.Handler }

func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	t.handler.ServeHTTP(w, r.WithContext(identity.NewContext(r.Context(), identity.Operator, identity.Admin)))
	return w.Result(), nil
}

// ask calls the node and reads its answer into a.
func (o *operator) ask(ctx context.Context, method, path string, q, a any) error {
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
	resp, err := o.client.Do(r)
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
