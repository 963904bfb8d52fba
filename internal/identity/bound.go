package identity

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// confirmation is what a token is bound to (RFC 7800): whoever shows it must have that, too.
type confirmation struct {
	there       bool
	key         string // thumbprint of a key that proofs are made with (RFC 9449)
	certificate string // that of a client's certificate (RFC 8705)
}

// confirmationOf reads what a token is bound to. A token that is bound to what is not known
// here would be good in anybody's hands, and is refused.
func confirmationOf(claims map[string]any) (c confirmation, err error) {
	claim, there := claims["cnf"]
	if !there {
		return c, nil
	}
	c.there = true
	said, _ := claim.(map[string]any)
	for name := range said { // a second way may be of another key, or one that the issuer relies on
		if name != "jkt" && name != "x5t#S256" {
			return c, refused(nil, "The token is bound in a way that cannot be checked here.")
		}
	}
	for name, at := range map[string]*string{"jkt": &c.key, "x5t#S256": &c.certificate} {
		value, there := said[name]
		if !there {
			continue
		}
		text, _ := value.(string)
		if sum, err := base64.RawURLEncoding.Strict().DecodeString(text); err != nil || len(sum) != sha256.Size {
			return c, refused(err, "The token is bound to something that cannot be read.")
		}
		*at = text
	}
	if c.key == "" && c.certificate == "" {
		return c, refused(nil, "The token is bound in a way that cannot be checked here.")
	}
	return c, nil
}

// bind checks that whoever sent a token has what it is bound to, and notes it.
func (t *tokens) bind(c *Credential, r *http.Request, scheme, token string, to confirmation, own func(*url.URL) bool) *Error {
	by, proof := isDPoP(scheme), ""
	switch {
	case !to.there && t.cfg.RequireProof:
		return &Error{Reason: "The token is bound to no key (cnf), and only such are taken here.", Proof: "invalid_token"}
	case by && to.key == "":
		return &Error{Reason: "The token is bound to no key of a DPoP proof: send it as Authorization: Bearer.", Proof: "invalid_token"}
	case !by && to.key != "":
		return &Error{Reason: "The token is bound to a key: send it as Authorization: DPoP, with a proof.", Proof: "invalid_token"}
	}
	if to.certificate != "" {
		ends, err := shown(r, to.certificate, t.cfg.Now())
		if err != nil {
			return err
		}
		c.Ends, proof = earlier(c.Ends, ends), "mtls"
	}
	if to.key != "" {
		if err := t.proofs.check(r, c.Principal.Name, token, to.key, own); err != nil {
			return err
		}
		if proof != "" {
			proof = "dpop mtls"
		} else {
			proof = "dpop"
		}
	}
	if proof != "" {
		d := c.Principal.Delegated()
		d.Proof = proof
		c.Principal.Delegation = &d
	}
	return nil
}

// shown refuses a request whose connection has not the certificate of a thumbprint. That the
// other side has its key was seen when the connection was opened. Who issued it does not
// matter: whoever issued the token has said which one it is.
func shown(r *http.Request, thumbprint string, now time.Time) (ends time.Time, err *Error) {
	leaf := leafOf(r)
	if leaf == nil {
		return ends, refused(nil, "The token is bound to a client's certificate, and the connection has none (setting tls.client-certificates).")
	}
	sum := sha256.Sum256(leaf.Raw)
	if subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(sum[:])), []byte(thumbprint)) != 1 {
		return ends, refused(nil, "The token is bound to another client's certificate.")
	}
	if now.Before(leaf.NotBefore) || now.After(leaf.NotAfter) {
		return ends, refused(nil, "The client's certificate has expired, or is not valid yet.")
	}
	return leaf.NotAfter, nil
}

// isDPoP reports whether a credential is sent with a proof.
func isDPoP(scheme string) bool { return strings.EqualFold(scheme, "DPoP") }

func leafOf(r *http.Request) *x509.Certificate {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return nil
	}
	return r.TLS.PeerCertificates[0]
}

// earlier is the earlier of two times, of which the zero time is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
