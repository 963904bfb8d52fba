package export

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"
)

// SendTimeout is how long one attempt to send may take.
const SendTimeout = 10 * time.Second

// SendEach sends what waits for a Sink's Send, so many at once, and takes away what arrived
// and what will never be taken. It ends at the first error.
func SendEach[T any](waits *[]T, most int, send func([]T) error) (sent int, err error) {
	for len(*waits) > 0 {
		n := min(len(*waits), most)
		err := send((*waits)[:n])
		refused, final := errors.AsType[*RefusedError](err)
		if err != nil && !final {
			return sent, err
		}
		sent += n
		*waits = (*waits)[n:]
		if final {
			refused.N = min(refused.N, n) // whatever the receiver says
			return sent - refused.N, refused
		}
	}
	*waits = nil
	return sent, nil
}

// TLS is how to speak TLS with who has a certificate of the system's authorities, or of
// those in a file; empty for none.
func TLS(ca string) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca == "" {
		return c, nil
	}
	pem, err := os.ReadFile(ca)
	if err != nil {
		return nil, err
	}
	if c.RootCAs, err = x509.SystemCertPool(); err != nil {
		c.RootCAs = x509.NewCertPool()
	}
	if !c.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate in PEM", ca)
	}
	return c, nil
}

// HTTPClient is a client for receivers. It follows no redirect: headers may hold a credential.
func HTTPClient(secured *tls.Config) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = secured
	return &http.Client{
		Transport: transport, Timeout: SendTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Refuses reports whether a receiver that answers with this status would refuse the same
// again. All else may be another's fault, and may be mended.
func Refuses(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusRequestEntityTooLarge || status == http.StatusUnprocessableEntity
}
