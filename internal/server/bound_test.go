package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/jsonrpc"

	"github.com/coder/websocket"
	"github.com/golang-jwt/jwt/v5"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

var boundSecret = []byte(strings.Repeat("b", 32))

// boundToken is a token with claims beside what every token has.
func boundToken(t testing.TB, cnf map[string]any) string {
	t.Helper()
	text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"iss": "https://login", "aud": "reeve", "sub": "ada", "exp": time.Now().Add(time.Hour).Unix(), "cnf": cnf, "act": map[string]any{"sub": "bot"},
	}).SignedString(boundSecret)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// holder has the key that a token is bound to.
type holder struct {
	key   ed25519.PrivateKey
	token string
}

func newHolder(t testing.TB) *holder {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` + base64.RawURLEncoding.EncodeToString(key.Public().(ed25519.PublicKey)) + `"}`))
	return &holder{key, boundToken(t, map[string]any{"jkt": base64.RawURLEncoding.EncodeToString(sum[:])})}
}

func (h *holder) proof(t testing.TB, method, address string) string {
	t.Helper()
	sum := sha256.Sum256([]byte(h.token))
	p := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{
		"jti": rand.Text(), "htm": method, "htu": address, "iat": time.Now().Unix(), "ath": base64.RawURLEncoding.EncodeToString(sum[:]),
	})
	p.Header["typ"] = "dpop+jwt"
	p.Header["jwk"] = map[string]any{"kty": "OKP", "crv": "Ed25519", "x": base64.RawURLEncoding.EncodeToString(h.key.Public().(ed25519.PublicKey))}
	text, err := p.SignedString(h.key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// certificates are those of a trust domain, in files.
type certificates struct {
	t      testing.TB
	bundle string
	ca     *x509.Certificate
	key    *ecdsa.PrivateKey
}

func newCertificates(t testing.TB, file string) *certificates {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	c := &certificates{t, file, ca, key}
	c.write()
	return c
}

func (c *certificates) write() {
	if err := os.WriteFile(c.bundle, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.ca.Raw}), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

func (c *certificates) svid(id string, lasts time.Duration) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		c.t.Fatal(err)
	}
	u, err := url.Parse(id)
	if err != nil {
		c.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(lasts),
		URIs: []*url.URL{u}, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, c.ca, &key.PublicKey, c.key)
	if err != nil {
		c.t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// doors is a server with TLS and all the ways in.
func doors(t *testing.T) (address string, ca *certificates) {
	t.Helper()
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCert(t, certFile, keyFile, 1)
	ca = newCertificates(t, filepath.Join(dir, "bundle.pem"))
	role, err := identity.ParseWorkloadRole("spiffe://birch.example/agents/*=agent@birch")
	if err != nil {
		t.Fatal(err)
	}
	auth, err := identity.New(identity.Config{
		JWT:    &identity.JWT{Secret: boundSecret, Audience: "reeve", Leeway: 30 * time.Second},
		SPIFFE: &identity.SPIFFE{Bundles: map[string]string{"birch.example": ca.bundle}, Roles: []identity.WorkloadRole{role}},
	})
	if err != nil {
		t.Fatal(err)
	}
	// A proof of the second in which a node began may be older than the node, and is refused.
	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
	s := local(t, func(c *Config) {
		c.Auth, c.TLSCert, c.TLSKey, c.Certificates = auth, certFile, keyFile, true
		c.GRPC = echoServer(func(context.Context) {})
		c.Connect = func(context.Context, http.Header) (func(*jsonrpc.Conn), error) { return nil, nil }
		c.Routes = []Route{{Pattern: "GET /events", Roles: identity.Roles, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			Hold(r.Context(), time.Now())
			jsonrpc.ServeEvents(r.Context(), w, func(ctx context.Context, send func(jsonrpc.Event) error) error {
				p, _ := identity.FromContext(r.Context())
				return send(jsonrpc.Event{Data: []byte(p.Name)})
			})
		})}}
	})
	url, _ := run(t, s)
	// No proof is taken of the second in which the node began.
	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
	return strings.TrimPrefix(url, "https://"), ca
}

// enter tries each way in, with headers that are made for it, and returns what was said
// of who is asking; the empty text where nobody was let in.
func enter(t *testing.T, address string, cert *tls.Certificate, headers func(method, url string) http.Header) map[string]string {
	t.Helper()
	config := &tls.Config{InsecureSkipVerify: true}
	if cert != nil {
		config.Certificates = []tls.Certificate{*cert}
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	got := map[string]string{}
	do := func(name, method, path, body string) {
		r, _ := http.NewRequestWithContext(t.Context(), method, "https://"+address+path, strings.NewReader(body))
		r.Header = headers(method, "https://"+address+path)
		r.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if got[name] = ""; resp.StatusCode == 200 {
			got[name] = string(text)
		} else if resp.StatusCode != 401 || resp.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: %d %s", name, resp.StatusCode, text)
		}
	}
	do("HTTP", "POST", "/", whoCall)
	do("events", "GET", "/events", "")
	c, _, err := websocket.Dial(t.Context(), "https://"+address+"/", &websocket.DialOptions{HTTPClient: client, HTTPHeader: headers("GET", "wss://"+address+"/")})
	if got["WebSocket"] = ""; err == nil {
		c.Write(t.Context(), websocket.MessageText, []byte(whoCall))
		_, text, _ := c.Read(t.Context())
		got["WebSocket"] = string(text)
		c.CloseNow()
	}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(credentials.NewTLS(config)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx := t.Context()
	for name, values := range headers("POST", "https://"+address+"/test.Echo/Say") {
		for _, v := range values {
			ctx = metadata.AppendToOutgoingContext(ctx, strings.ToLower(name), v)
		}
	}
	if got["gRPC"], err = say(ctx, conn, ""); err != nil && status.Code(err) != codes.Unauthenticated {
		t.Error(err)
	}
	return got
}

// TestThreat15BoundTokensAtEveryDoor: no way in takes a bound token without a proof of its own.
func TestThreat15BoundTokensAtEveryDoor(t *testing.T) {
	address, ca := doors(t)
	h := newHolder(t)
	with := func(scheme string, proof func(method, url string) string) func(method, url string) http.Header {
		return func(method, url string) http.Header {
			header := http.Header{"Authorization": {scheme + " " + h.token}}
			if p := proof(method, url); p != "" {
				header["Dpop"] = []string{p}
			}
			return header
		}
	}
	for name, says := range enter(t, address, nil, with("DPoP", func(m, u string) string { return h.proof(t, m, u) })) {
		if !strings.Contains(says, "jwt:https://login#bot?for=ada") {
			t.Errorf("%s with a proof: %q", name, says)
		}
	}
	once := h.proof(t, "POST", "https://"+address+"/")
	svid := ca.svid("spiffe://birch.example/agents/1", time.Hour)
	for how, headers := range map[string]func(method, url string) http.Header{
		"as Bearer":                  with("Bearer", func(m, u string) string { return "" }),
		"as Bearer with a proof":     with("Bearer", func(m, u string) string { return h.proof(t, m, u) }),
		"without a proof":            with("DPoP", func(m, u string) string { return "" }),
		"with the proof of another":  with("DPoP", func(m, u string) string { return newHolder(t).proof(t, m, u) }),
		"for another method":         with("DPoP", func(m, u string) string { return h.proof(t, "PUT", u) }),
		"for another path":           with("DPoP", func(m, u string) string { return h.proof(t, m, u+"x") }),
		"for another node":           with("DPoP", func(m, u string) string { return h.proof(t, m, strings.Replace(u, "127.0.0.1", "127.0.0.2", 1)) }),
		"for another port":           with("DPoP", func(m, u string) string { return h.proof(t, m, "https://127.0.0.1:1"+strings.SplitN(u, address, 2)[1]) }),
		"for a node that has no TLS": with("DPoP", func(m, u string) string { return h.proof(t, m, "http"+u[strings.Index(u, ":"):]) }),
	} {
		for name, says := range enter(t, address, &svid, headers) {
			if says != "" {
				t.Errorf("%s, %s: %q", name, how, says)
			}
		}
	}
	n := 0
	for range 3 {
		for name, says := range enter(t, address, nil, with("DPoP", func(m, u string) string { return once })) {
			if n++; says != "" && (name != "HTTP" || n > 4) {
				t.Errorf("a proof that was sent before, by %s: %q", name, says)
			}
		}
	}
}

// TestThreat15WorkloadsAtEveryDoor: a workload is known by its certificate at every door, and by nobody else's.
func TestThreat15WorkloadsAtEveryDoor(t *testing.T) {
	address, ca := doors(t)
	none := func(string, string) http.Header { return http.Header{} }
	svid := ca.svid("spiffe://birch.example/agents/1", time.Hour)
	for name, says := range enter(t, address, &svid, none) {
		if !strings.Contains(says, "spiffe://birch.example/agents/1") {
			t.Errorf("%s: %q", name, says)
		}
	}
	wrong := map[string]tls.Certificate{
		"expired": ca.svid("spiffe://birch.example/agents/1", -time.Second), "of another domain": ca.svid("spiffe://acme.example/agents/1", time.Hour),
		"without a role":       ca.svid("spiffe://birch.example/x", time.Hour),
		"of another authority": newCertificates(t, filepath.Join(t.TempDir(), "x")).svid("spiffe://birch.example/agents/1", time.Hour),
	}
	for how, cert := range wrong {
		for name, says := range enter(t, address, &cert, none) {
			if says != "" {
				t.Errorf("%s, %s: %q", name, how, says)
			}
		}
	}
	for name, says := range enter(t, address, nil, none) {
		if says != "" {
			t.Errorf("%s without a certificate: %q", name, says)
		}
	}
	// What another program passes on is not its own.
	for _, header := range []string{"X-Forwarded-For", "Via", "X-Client-Cert", "X-Forwarded-Client-Cert"} {
		for name, says := range enter(t, address, &svid, func(string, string) http.Header { return http.Header{header: {"10.0.0.1"}} }) {
			if says != "" {
				t.Errorf("%s with %s: %q", name, header, says)
			}
		}
	}
}

// TestThreat15WorkloadsEnd: what is open ends with the certificate, and with the trust in who
// issued it.
func TestThreat15WorkloadsEnd(t *testing.T) {
	address, ca := doors(t)
	open := func(cert tls.Certificate) *websocket.Conn {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{cert}}}}
		c, _, err := websocket.Dial(t.Context(), "https://"+address+"/", &websocket.DialOptions{HTTPClient: client})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.CloseNow() })
		return c
	}
	ended := func(c *websocket.Conn) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if _, _, err := c.Read(ctx); websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
			t.Errorf("the socket ends with %v", err)
		}
	}
	ended(open(ca.svid("spiffe://birch.example/agents/1", 2*time.Second)))
	c := open(ca.svid("spiffe://birch.example/agents/1", time.Hour))
	newCertificates(t, ca.bundle)
	ended(c)
}

// TestThreat15Addressed: a proof that was made for another is not for this node, whatever the
// request says of where it goes.
func TestThreat15Addressed(t *testing.T) {
	s := local(t, func(c *Config) {
		c.Hosts = []string{"node.example", "other.example:8443", "", ":9000", "."}
		c.Proxies.Trusted = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	})
	for _, tt := range []struct {
		host, from, at string
		tls            bool
		address        string
		want           bool
	}{
		{"node.example", "1.2.3.4:5", "", true, "https://node.example/x", true},
		{"node.example", "1.2.3.4:5", "", true, "https://NODE.example:443/x", true},
		{"node.example:443", "1.2.3.4:5", "", true, "https://node.example/x", true},
		{"node.example", "1.2.3.4:5", "", true, "wss://node.example/x", true},
		{"node.example:9000", "1.2.3.4:5", "", true, "https://node.example:9000/x", true},
		{"other.example:8443", "1.2.3.4:5", "", true, "https://other.example:8443/", true},
		{"other.example", "1.2.3.4:5", "", true, "https://other.example/", false},
		{"node.example", "1.2.3.4:5", "", false, "http://node.example/x", true},
		{"node.example", "1.2.3.4:5", "", false, "https://node.example/x", false},
		{"node.example", "1.2.3.4:5", "", true, "http://node.example/x", false},
		{"node.example", "1.2.3.4:5", "", true, "https://other.example:8443/x", false},
		{"evil.example", "1.2.3.4:5", "", true, "https://evil.example/x", false},
		{"node.example", "1.2.3.4:5", "", true, "https://evil.example/x", false},
		{"evil.example", "1.2.3.4:5", "", true, "https://node.example/x", false},
		{"node.example", "1.2.3.4:5", "", true, "https://me@node.example/x", false},
		{"node.example", "1.2.3.4:5", "", true, "ftp://node.example/x", false},
		{"node.example", "1.2.3.4:5", "", true, "https:node.example/x", false},
		{"node.example", "1.2.3.4:5", "", true, "/x", false},
		{":8080", "1.2.3.4:5", "", false, "http://:8080/x", false},
		{"", "1.2.3.4:5", "", false, "http:///x", false},
		{":9000", "1.2.3.4:5", "", false, "http://:9000/x", false},
		// A trusted proxy may end TLS and say another name; the proof is for the node's all the same.
		{"inside:8080", "10.0.0.1:5", "", false, "https://node.example/x", true},
		{"inside:8080", "10.0.0.1:5", "", false, "https://inside:8080/x", false},
		{"evil.example", "10.0.0.1:5", "", false, "https://evil.example/x", false},
		// Without a name in the settings the address of the connection is the node's.
		{"127.0.0.1:8080", "127.0.0.1:5", "127.0.0.1:8080", false, "http://127.0.0.1:8080/x", true},
		{"localhost:8080", "127.0.0.1:5", "127.0.0.1:8080", false, "http://localhost:8080/x", true},
		{"[::1]:8080", "[::1]:5", "[::1]:8080", false, "http://[::1]:8080/x", true},
		{"localhost:9999", "127.0.0.1:5", "127.0.0.1:8080", false, "http://localhost:9999/x", false},
		{"localhost:8080", "1.2.3.4:5", "5.6.7.8:8080", false, "http://localhost:8080/x", false},
		{"6.6.6.6:8080", "1.2.3.4:5", "5.6.7.8:8080", false, "http://6.6.6.6:8080/x", false},
		{"5.6.7.8:8080", "1.2.3.4:5", "5.6.7.8:8080", false, "http://5.6.7.8:8080/x", true},
		{"127.0.0.1:8080", "127.0.0.1:5", "", false, "http://127.0.0.1:8080/x", false},
	} {
		r := httptest.NewRequest("POST", "/x", nil)
		r.Host, r.RemoteAddr = tt.host, tt.from
		if tt.tls {
			r.TLS = &tls.ConnectionState{}
		}
		if tt.at != "" {
			r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(tt.at)))))
		}
		u, err := url.Parse(tt.address)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.addressed(r, u); got != tt.want {
			t.Errorf("%s from %s at %q, for %s: %v", tt.host, tt.from, tt.at, tt.address, got)
		}
	}
}
