// Package deliver is how push notifications are delivered: one POST at a time to an
// address that somebody else named, retried with backoff, and given up after a while.
// What is delivered, and under whose lease, is said by the protocol that delivers it.
package deliver

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"reeve.example/reeve/internal/outbound"
	"reeve.example/reeve/internal/words"
)

// Bounds of a delivery.
const (
	Timeout  = 10 * time.Second // of one call
	first    = time.Second      // before the first retry; doubled for each that follows
	longest  = 5 * time.Minute
	attempts = 12 // of one event, which takes about twenty minutes
)

// Retry is how long to wait before the next attempt, after so many that failed, the last
// with err; false when the event is given up. An address that may not be called is given
// up at once: it would be refused again.
func Retry(failures int, err error) (wait time.Duration, retry bool) {
	if failures >= attempts || errors.Is(err, outbound.ErrRefused) {
		return 0, false
	}
	return min(first<<max(failures-1, 0), longest), true
}

// Sign signs a call with a secret: X-Reeve-Signature is "t=<Unix seconds>,v1=<hex>", with
// the HMAC-SHA256 of "<Unix seconds>.<body>". Without a secret there is none.
func Sign(header http.Header, secret, body []byte, now time.Time) {
	if len(secret) == 0 {
		return
	}
	at := strconv.FormatInt(now.Unix(), 10)
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(at + "."))
	mac.Write(body)
	header.Set("X-Reeve-Signature", "t="+at+",v1="+hex.EncodeToString(mac.Sum(nil)))
}

// Post delivers one body. Any answer but 2xx is an error; what it says is not read.
func Post(ctx context.Context, client *http.Client, address string, header http.Header, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header = header
	r.Header.Set("User-Agent", "reeve")
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection is used again
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s answered %s", r.URL.Host, resp.Status)
	}
	return nil
}

// Wake tells a loop of deliveries that there is something to do. It never blocks: more
// than one word that was not taken yet is one.
type Wake chan struct{}

// NewWake returns a Wake.
func NewWake() Wake { return make(Wake, 1) }

// Up wakes the loop.
func (w Wake) Up() {
	select {
	case w <- struct{}{}:
	default:
	}
}

// Loop calls look at once, whenever it is woken, and each second, until ctx ends. n counts
// the calls.
func (w Wake) Loop(ctx context.Context, look func(n int)) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for n := 0; ; n++ {
		look(n)
		select {
		case <-ctx.Done():
			return
		case <-w:
		case <-ticker.C:
		}
	}
}

// State is how far a push notification has come, for people: never the path, the query or
// the headers of its address, in which secrets are kept.
type State struct {
	Protocol string    `json:"protocol"` // flow or a2a
	Task     string    `json:"task"`     // whose changes are told; of a tree its root
	To       string    `json:"to"`
	State    string    `json:"state"`             // open, done or given up
	Sent     uint64    `json:"sent"`              // the number of the last event that was told
	Failures int       `json:"failures,omitzero"` // tries in a row that failed
	Tried    time.Time `json:"tried,omitzero"`    // when it was last tried in vain
	Error    string    `json:"error,omitzero"`    // and why that failed
	Next     time.Time `json:"next,omitzero"`     // when it is tried again
	Node     string    `json:"node,omitzero"`     // who tells, where another does
}

// What State.State is.
const (
	Open    = "open"
	Done    = "done"
	GivenUp = "given up"
)

// To is the scheme and the host of an address.
func To(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "an address that cannot be read"
	}
	return u.Scheme + "://" + u.Host
}

// Reason is why a try failed, without the address.
func Reason(err error) string {
	if of, ok := errors.AsType[*url.Error](err); ok {
		err = of.Err
	}
	return words.Cut(err.Error(), 200)
}
