package executor

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/outbound"
)

// goodbye is how long a peer has to be told that nobody waits any more.
const goodbye = 3 * time.Second

// session is an HTTP client whose requests all end with it, also those that an
// SDK makes by itself in the background.
type session struct {
	*http.Client
	end context.CancelFunc
}

// newSession makes a client for many requests to one peer, whose headers are
// sent to its origin only.
func newSession(m act.Manifest, allowPrivate bool, o outbound.Options) (*session, error) {
	dialer, err := network(m, allowPrivate)
	if err != nil {
		return nil, err
	}
	s := &session{Client: dialer.Client(o)}
	var ctx context.Context
	ctx, s.end = context.WithCancel(context.Background())
	s.Transport = &lifetime{next: s.Transport, ctx: ctx}
	return s, nil
}

// close says goodbye, which must not take long, and then ends every request.
func (s *session) close(goodbyes ...func()) {
	timer := time.AfterFunc(goodbye, s.end)
	defer timer.Stop()
	for _, f := range goodbyes {
		f()
	}
	s.end()
	s.CloseIdleConnections()
}

// lifetime ends requests with a context that is not theirs.
type lifetime struct {
	next http.RoundTripper
	ctx  context.Context
}

func (l *lifetime) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(l.ctx, cancel)
	done := func() { stop(); cancel() }
	response, err := l.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		done()
		return nil, err
	}
	response.Body = &closing{response.Body, done}
	return response, nil
}

// CloseIdleConnections is what http.Client calls.
func (l *lifetime) CloseIdleConnections() {
	if c, ok := l.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

type closing struct {
	io.ReadCloser
	done func()
}

func (c *closing) Close() error {
	defer c.done()
	return c.ReadCloser.Close()
}

// peer are the options of a client for one peer.
func peer(to *url.URL, header http.Header, most time.Duration, redirects int) outbound.Options {
	return outbound.Options{HeaderTimeout: most, MaxResponse: 16 << 20, Redirects: redirects, Header: header, For: to}
}
