package identity

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"reeve.example/reeve/internal/pubkey"

	"github.com/go-json-experiment/json"
)

// Limits of a JWKS, and when it is read again.
const (
	maxJWKS     = 1 << 20          // bytes
	maxKeys     = 100              // keys in it
	freshFor    = 10 * time.Minute // then it is read again, beside the requests
	usableFor   = 24 * time.Hour   // then its keys are not used any more, if it cannot be read
	retryAfter  = 10 * time.Second // between two readings, whatever tokens ask for
	readTimeout = 5 * time.Second
)

// jwks is a set of public keys at a file or URL.
type jwks struct {
	source string
	client *http.Client // nil for a file
	now    func() time.Time

	reading sync.Mutex // held while the set is read

	mu    sync.Mutex
	keys  []publicKey
	read  time.Time // when keys were read; zero before
	tried time.Time // when it was last tried
}

// publicKey is a key and the one algorithm that it checks: the algorithm
// belongs to the key, never to the token.
type publicKey struct {
	kid, alg string
	key      any // *rsa.PublicKey, *ecdsa.PublicKey or ed25519.PublicKey
}

// newJWKS reads the set for the first time. A file must be readable; a URL that
// cannot be reached is tried again when a token comes, so that the node starts
// while the issuer is down.
func newJWKS(source string, now func() time.Time) (*jwks, error) {
	s := &jwks{source: source, now: now}
	if strings.Contains(source, "://") {
		u, err := url.Parse(source)
		if err != nil || !safeURL(u) {
			return nil, fmt.Errorf("jwt: jwks %q is not an https URL (http is for loopback only)", source)
		}
		s.client = &http.Client{Timeout: readTimeout, CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) >= 3 || !safeURL(r.URL) {
				return errors.New("the JWKS is not redirected to more than three places, nor away from https")
			}
			return nil
		}}
	}
	if err := s.refresh(context.Background()); err != nil {
		if s.client == nil {
			return nil, err
		}
		slog.Warn("the JWKS cannot be read yet, so tokens are refused until it can", "error", err)
	}
	return s, nil
}

func safeURL(u *url.URL) bool {
	if u.Scheme == "https" {
		return u.Host != ""
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}

// key finds the key that a token names. Without a kid it must be the only one
// for the algorithm.
func (s *jwks) key(ctx context.Context, kid, alg string) (any, error) {
	key, age := s.find(kid, alg)
	switch {
	case key == nil || age > usableFor:
		if err := s.refresh(ctx); err != nil {
			return nil, err
		}
		if key, age = s.find(kid, alg); key == nil || age > usableFor {
			return nil, fmt.Errorf("the JWKS has no usable key %.80q for %s", kid, alg)
		}
	case age > freshFor && s.due():
		go func() {
			if err := s.refresh(context.Background()); err != nil {
				slog.Warn("the JWKS cannot be read again; its keys are used until they are a day old", "error", err)
			}
		}()
	}
	return key, nil
}

func (s *jwks) find(kid, alg string) (key any, age time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	age = s.now().Sub(s.read)
	for _, k := range s.keys {
		if k.alg != alg || kid != "" && k.kid != kid {
			continue
		}
		if key != nil {
			return nil, age // not the only one
		}
		key = k.key
	}
	return key, age
}

func (s *jwks) due() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now().Sub(s.tried) >= retryAfter
}

// refresh reads the set, unless that was just tried: tokens with invented kids
// must not turn us against the issuer.
func (s *jwks) refresh(ctx context.Context) error {
	s.reading.Lock()
	defer s.reading.Unlock()
	s.mu.Lock()
	now := s.now()
	if !s.tried.IsZero() && now.Sub(s.tried) < retryAfter {
		s.mu.Unlock()
		return nil
	}
	s.tried = now
	s.mu.Unlock()

	// The reading serves everybody, so it does not end with its first caller.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	text, err := s.fetch(ctx)
	if err != nil {
		return fmt.Errorf("read the JWKS: %w", err)
	}
	keys, err := parseJWKS(text)
	if err != nil {
		return fmt.Errorf("the JWKS at %s: %w", s.source, err)
	}
	s.mu.Lock()
	s.keys, s.read = keys, now
	s.mu.Unlock()
	return nil
}

func (s *jwks) fetch(ctx context.Context) ([]byte, error) {
	if s.client == nil {
		return readFile(s.source, maxJWKS)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.source, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/jwk-set+json, application/json")
	resp, err := s.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s", s.source, resp.Status)
	}
	return readAll(resp.Body, s.source, maxJWKS)
}

// readFile reads a small file whole.
func readFile(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, name, limit)
}

func readAll(r io.Reader, name string, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("%s is larger than %d bytes", name, limit)
	}
	return b, err
}

// jwk is a key as JSON (RFC 7517).
type jwk struct {
	Kty    string   `json:"kty"`
	Use    string   `json:"use"`
	Kid    string   `json:"kid"`
	Alg    string   `json:"alg"`
	Crv    string   `json:"crv"`
	KeyOps []string `json:"key_ops"`
	N      string   `json:"n"`
	E      string   `json:"e"`
	X      string   `json:"x"`
	Y      string   `json:"y"`
}

// public is the public key, and the algorithm that it is for; alg is empty for one of a
// kind that is not known here.
func (k *jwk) public() (alg string, key any, err error) {
	switch strings.TrimSpace(k.Kty + " " + k.Crv) {
	case "RSA":
		key, err = rsaKey(k.N, k.E)
		return "RS256", key, err
	case "EC P-256":
		key, err = ecKey(k.X, k.Y)
		return "ES256", key, err
	case "OKP Ed25519":
		x, err := base64.RawURLEncoding.DecodeString(k.X)
		if err != nil {
			return "EdDSA", nil, err
		}
		key, err = pubkey.Ed25519(x)
		return "EdDSA", key, err
	}
	return "", nil, nil
}

// parseJWKS reads a set (RFC 7517, 7518, 8037). Keys of other kinds and uses
// are passed over, as RFC 7517, section 5 asks; faulty and weak ones are errors.
func parseJWKS(text []byte) ([]publicKey, error) {
	// This reader takes names as they are written, and refuses one that stands twice:
	// of two keys in one place, the issuer may have meant the other.
	var set struct {
		Keys []jwk `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, err
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("%d keys are more than the %d that are read", len(set.Keys), maxKeys)
	}
	var keys []publicKey
	for i, k := range set.Keys {
		alg, key, err := k.public()
		if alg == "" || k.Use != "" && k.Use != "sig" || k.Alg != "" && k.Alg != alg && !(alg == "EdDSA" && k.Alg == "Ed25519") || !verifies(k.KeyOps) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("key %d: %w", i, err)
		}
		keys = append(keys, publicKey{k.Kid, alg, key})
	}
	if len(keys) == 0 {
		return nil, errors.New("it has no key for RS256, ES256 or EdDSA")
	}
	return keys, nil
}

func verifies(ops []string) bool {
	for _, op := range ops {
		if op == "verify" {
			return true
		}
	}
	return len(ops) == 0
}

func rsaKey(n, e string) (*rsa.PublicKey, error) {
	nb, err1 := base64.RawURLEncoding.DecodeString(n)
	eb, err2 := base64.RawURLEncoding.DecodeString(e)
	if err1 != nil || err2 != nil {
		return nil, errors.New("n and e are not in base64url without padding")
	}
	key := &rsa.PublicKey{N: new(big.Int).SetBytes(nb)}
	exponent := new(big.Int).SetBytes(eb)
	if bits := key.N.BitLen(); bits < 2048 || bits > 8192 {
		return nil, fmt.Errorf("an RSA modulus of %d bits is not taken: 2048 to 8192 are", bits)
	}
	if exponent.BitLen() > 31 || exponent.Int64() < 3 || exponent.Bit(0) == 0 {
		return nil, errors.New("the RSA exponent is not an odd number from 3 to 2^31")
	}
	key.E = int(exponent.Int64())
	return key, nil
}

func ecKey(x, y string) (*ecdsa.PublicKey, error) {
	xb, err1 := base64.RawURLEncoding.DecodeString(x)
	yb, err2 := base64.RawURLEncoding.DecodeString(y)
	if err1 != nil || err2 != nil || len(xb) != 32 || len(yb) != 32 {
		return nil, errors.New("x and y are not 32 bytes each in base64url without padding")
	}
	point := append(append([]byte{4}, xb...), yb...) // SEC 1, section 2.3.3
	return ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
}
