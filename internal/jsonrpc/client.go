package jsonrpc

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"reeve.example/reeve/act"

	"github.com/go-json-experiment/json"
)

// Retry says when a request that failed may be sent again.
type Retry uint8

const (
	Never    Retry = iota
	IfTwice        // where it does no harm that it is carried out twice: nobody knows whether it was
	Whenever       // it was not carried out
)

// NewRequest is an HTTP request with JSON as its body, nil for none. key is the
// caller's credential; empty for none. The span that the context names goes with it.
func NewRequest(ctx context.Context, method, to, key string, body []byte) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, to, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	if text := act.TraceparentFrom(ctx); text != "" {
		r.Header.Set("Traceparent", text)
	}
	return r, nil
}

// Answer is what a request was answered with.
type Answer struct {
	Code   int    // the HTTP status
	Status string // the same with its words
	Body   []byte
	Header http.Header
}

// ErrTooLarge is the error of an answer that is not read whole.
var ErrTooLarge = errors.New("the answer is too large")

// Fetch makes a request and reads the answer whole, if it has at most so many bytes.
// Of any other error than ErrTooLarge, nobody knows whether it was carried out.
func Fetch(client *http.Client, r *http.Request, most int64) (*Answer, error) {
	res, err := client.Do(r)
	if err != nil {
		return nil, withWayOn(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(body)) > most {
		return nil, ErrTooLarge
	}
	return &Answer{res.StatusCode, res.Status, body, res.Header}, nil
}

// withWayOn says of a certificate that nobody here vouches for, as a company's own authority
// makes them, what to do.
func withWayOn(err error) error {
	var failed *url.Error
	if unknown := (x509.UnknownAuthorityError{}); errors.As(err, &unknown) && errors.As(err, &failed) {
		failed.Err = fmt.Errorf("%w: if it is that of your own authority, add its certificate to this system's, or name its file with the variable SSL_CERT_FILE", failed.Err)
	}
	return err
}

// Post sends a request of JSON-RPC once and returns the answer. E is the protocol's
// form of an error: see RefusalIn.
func Post[E any, P protocolError[E]](client *http.Client, r *http.Request, most int64) (answer []byte, again Retry, err error) {
	a, err := Fetch(client, r, most)
	switch {
	case errors.Is(err, ErrTooLarge):
		return nil, Never, err
	case err != nil:
		return nil, IfTwice, err
	}
	switch a.Code {
	case http.StatusOK:
		return a.Body, Never, nil
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return nil, Whenever, fmt.Errorf("HTTP status %s", a.Status)
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return nil, IfTwice, fmt.Errorf("HTTP status %s", a.Status)
	}
	return nil, Never, RefusalIn[E, P](a.Body, a.Status)
}

// protocolError is a pointer to a protocol's error.
type protocolError[E any] interface {
	*E
	error
}

// RefusalIn is the error of an answer with another status than 200: 401, 413 and 415
// carry a JSON-RPC error that says more than the status.
func RefusalIn[E any, P protocolError[E]](body []byte, status string) error {
	var r struct {
		Error P `json:"error"`
	}
	if json.Unmarshal(body, &r) == nil && r.Error != nil {
		return r.Error
	}
	return fmt.Errorf("HTTP status %s", status)
}

// Read reads the answer of an interface that is no JSON-RPC, and says of an error
// {"error": sentence}.
func (a *Answer) Read(into any) error {
	if a.Code == http.StatusOK {
		if json.Unmarshal(a.Body, into) != nil {
			return errors.New("the answer is not in the form of a reeve node of this version")
		}
		return nil
	}
	var problem struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(a.Body, &problem) == nil && problem.Error != "" {
		return errors.New(problem.Error)
	}
	return fmt.Errorf("the node answered %s", a.Status)
}
