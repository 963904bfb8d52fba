package identity

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t testing.TB, by *authority, change func(*x509.Certificate)) *authority {
	t.Helper()
	a := &authority{}
	a.key, a.cert = issue(t, by, &x509.Certificate{
		Subject: pkix.Name{CommonName: rand.Text()}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotAfter: start.Add(24 * time.Hour),
	}, nil, change)
	return a
}

// issue makes a certificate; by is nil for one that signs itself, and key for a new one.
func issue(t testing.TB, by *authority, template *x509.Certificate, key *ecdsa.PrivateKey, change func(*x509.Certificate)) (*ecdsa.PrivateKey, *x509.Certificate) {
	t.Helper()
	var err error
	if key == nil {
		if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			t.Fatal(err)
		}
	}
	template.SerialNumber, template.NotBefore = big.NewInt(time.Now().UnixNano()), start.Add(-time.Hour)
	if change != nil {
		change(template)
	}
	parent, signer := template, crypto.Signer(key)
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return key, cert
}

func uri(t testing.TB, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// svid is a workload's certificate.
func (a *authority) svid(t testing.TB, id string, change func(*x509.Certificate)) *x509.Certificate {
	t.Helper()
	_, cert := issue(t, a, &x509.Certificate{
		URIs: []*url.URL{uri(t, id)}, KeyUsage: x509.KeyUsageDigitalSignature, NotAfter: start.Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}, nil, change)
	return cert
}

func bundleFile(t testing.TB, file string, authorities ...*authority) string {
	t.Helper()
	var text bytes.Buffer
	for _, a := range authorities {
		pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
	}
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// shows is a request by a connection with certificates.
func shows(chain ...*x509.Certificate) *http.Request {
	r := request()
	r.TLS = &tls.ConnectionState{PeerCertificates: chain}
	return r
}

func roles(t testing.TB, texts ...string) (list []WorkloadRole) {
	t.Helper()
	for _, text := range texts {
		role, err := ParseWorkloadRole(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, role)
	}
	return list
}

func TestSPIFFE(t *testing.T) {
	dir := t.TempDir()
	birch, acme := newAuthority(t, nil, nil), newAuthority(t, nil, nil)
	between := newAuthority(t, birch, nil)
	now := start
	file := bundleFile(t, filepath.Join(dir, "birch.pem"), birch)
	auth, err := New(Config{Anonymous: UntilFirstKey, SPIFFE: &SPIFFE{
		Bundles: map[string]string{"birch.example": file, "acme.example": bundleFile(t, filepath.Join(dir, "acme.pem"), acme)},
		Roles:   roles(t, "spiffe://birch.example/ns/ops/*=auditor", "spiffe://birch.example/*=agent", "spiffe://acme.example/agents/?=agent@acme"),
		Now:     func() time.Time { return now },
	}})
	if err != nil {
		t.Fatal(err)
	}
	if !auth.Configured() || auth.Anonymous() {
		t.Error("who has no certificate is anonymous")
	}
	for _, tt := range []struct {
		chain     []*x509.Certificate
		name, org string
		role      Role
		ends      time.Time
	}{
		{[]*x509.Certificate{birch.svid(t, "spiffe://birch.example/agents/7", nil)}, "spiffe://birch.example/agents/7", "", Agent, start.Add(time.Hour)},
		{[]*x509.Certificate{birch.svid(t, "spiffe://birch.example/ns/ops/sa/x", nil)}, "spiffe://birch.example/ns/ops/sa/x", "", Auditor, start.Add(time.Hour)},
		{[]*x509.Certificate{acme.svid(t, "spiffe://acme.example/agents/b", nil)}, "spiffe://acme.example/agents/b", "acme", Agent, start.Add(time.Hour)},
		{[]*x509.Certificate{between.svid(t, "spiffe://birch.example/a", func(c *x509.Certificate) { c.NotAfter = start.Add(48 * time.Hour) }), between.cert}, "spiffe://birch.example/a", "", Agent, start.Add(24 * time.Hour)},
		{[]*x509.Certificate{birch.svid(t, "spiffe://birch.example/a", func(c *x509.Certificate) { c.ExtKeyUsage, c.DNSNames = nil, []string{"a.example"} })}, "spiffe://birch.example/a", "", Agent, start.Add(time.Hour)},
	} {
		c, err := auth.Check(shows(tt.chain...))
		if err != nil || c.Principal.Name != tt.name || c.Principal.Method != "spiffe" || c.Principal.Organization != tt.org || c.Role != tt.role || !c.Ends.Equal(tt.ends) || c.Err() != nil || !c.Workload() {
			t.Errorf("%s: %+v %v", tt.name, c, err)
		}
	}

	// What is open ends with the certificate, and when its authority is not trusted any more.
	c, err := auth.Check(shows(birch.svid(t, "spiffe://birch.example/a", nil)))
	if err != nil {
		t.Fatal(err)
	}
	now = start.Add(time.Hour + time.Second)
	if c.Err() == nil {
		t.Error("the credential outlives its certificate")
	}
	now = start.Add(time.Minute)
	if c.Err() != nil || c.Next(now) > bundleAgain {
		t.Errorf("%v, looked at again after %s", c.Err(), c.Next(now))
	}
	bundleFile(t, file, acme, newAuthority(t, nil, nil))
	now = now.Add(2 * time.Second)
	if c.Err() == nil {
		t.Error("the credential outlives its authority")
	}
	bundleFile(t, file, birch)
	if now = now.Add(2 * time.Second); c.Err() != nil {
		t.Errorf("with the authority again: %v", c.Err())
	}
	// A bundle that cannot be read is used for a minute more.
	if err := os.WriteFile(file, []byte("-----BEGIN"), 0o600); err != nil {
		t.Fatal(err)
	}
	if now = now.Add(2 * time.Second); c.Err() != nil {
		t.Errorf("while it is written: %v", c.Err())
	}
	os.Remove(file)
	if now = now.Add(bundleLasts); c.Err() == nil {
		t.Error("without a bundle")
	}
	bundleFile(t, file, birch)
	if now = now.Add(2 * time.Second); c.Err() != nil {
		t.Errorf("when it is there again: %v", c.Err())
	}
}

// TestThreat15Workloads: no certificate but a workload's own, from an authority of its own
// trust domain, is anybody's.
func TestThreat15Workloads(t *testing.T) {
	dir := t.TempDir()
	birch, acme := newAuthority(t, nil, nil), newAuthority(t, nil, nil)
	old := newAuthority(t, nil, func(c *x509.Certificate) { c.NotAfter = start.Add(-time.Minute) })
	between := newAuthority(t, birch, nil)
	auth, err := New(Config{Anonymous: Always, SPIFFE: &SPIFFE{
		Bundles: map[string]string{
			"birch.example": bundleFile(t, filepath.Join(dir, "birch.pem"), birch, old), "acme.example": bundleFile(t, filepath.Join(dir, "acme.pem"), acme),
		},
		Roles: roles(t, "spiffe://birch.example/agents/*=agent", "spiffe://acme.example/*=admin"), Now: func() time.Time { return start },
	}})
	if err != nil {
		t.Fatal(err)
	}
	const id = "spiffe://birch.example/agents/7"
	with := func(change func(*x509.Certificate)) []*x509.Certificate {
		return []*x509.Certificate{birch.svid(t, id, change)}
	}
	if _, err := auth.Check(shows(with(nil)...)); err != nil {
		t.Fatal(err)
	}
	_, self := issue(t, nil, &x509.Certificate{URIs: []*url.URL{uri(t, id)}, KeyUsage: x509.KeyUsageDigitalSignature, NotAfter: start.Add(time.Hour)}, nil, nil)
	leafKey, leaf := issue(t, birch, &x509.Certificate{URIs: []*url.URL{uri(t, id)}, KeyUsage: x509.KeyUsageDigitalSignature, NotAfter: start.Add(time.Hour)}, nil, nil)
	for name, chain := range map[string][]*x509.Certificate{
		"an authority that nobody knows":   {newAuthority(t, nil, nil).svid(t, id, nil)},
		"signed by itself":                 {self},
		"another trust domain's authority": {acme.svid(t, id, nil)},
		"a name of another trust domain":   {birch.svid(t, "spiffe://acme.example/agents/7", nil)},
		"a trust domain that is unknown":   {birch.svid(t, "spiffe://other.example/agents/7", nil)},
		"two names":                        with(func(c *x509.Certificate) { c.URIs = append(c.URIs, uri(t, "spiffe://acme.example/x")) }),
		"the same name twice":              with(func(c *x509.Certificate) { c.URIs = append(c.URIs, c.URIs[0]) }),
		"a web address beside it":          with(func(c *x509.Certificate) { c.URIs = append(c.URIs, uri(t, "https://birch.example")) }),
		"no name":                          with(func(c *x509.Certificate) { c.URIs, c.DNSNames = nil, []string{"birch.example"} }),
		"a name in the subject":            with(func(c *x509.Certificate) { c.URIs, c.Subject.CommonName = nil, id }),
		"an authority's":                   with(func(c *x509.Certificate) { c.IsCA, c.BasicConstraintsValid = true, true }),
		"for signing others":               with(func(c *x509.Certificate) { c.KeyUsage |= x509.KeyUsageCertSign }),
		"for signing lists":                with(func(c *x509.Certificate) { c.KeyUsage |= x509.KeyUsageCRLSign }),
		"for no signatures":                with(func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageKeyEncipherment }),
		"for servers":                      with(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }),
		"expired":                          with(func(c *x509.Certificate) { c.NotAfter = start.Add(-time.Second) }),
		"of tomorrow":                      with(func(c *x509.Certificate) { c.NotBefore = start.Add(time.Minute) }),
		"an authority that has expired":    {old.svid(t, id, nil)},
		"without what lies between":        {between.svid(t, id, nil)},
		"signed by a workload":             {(&authority{leaf, leafKey}).svid(t, id, nil), leaf},
		"no role":                          {birch.svid(t, "spiffe://birch.example/others/7", nil)},
	} {
		c, err := auth.Check(shows(chain...))
		if err == nil {
			t.Errorf("%s: taken, as %v %s", name, c.Principal, c.Role)
		}
	}
	for _, id := range []string{
		"spiffe://birch.example", "spiffe://birch.example/", "spiffe://BIRCH.example/agents/7", "https://birch.example/agents/7", "spiffe:///agents/7",
		"spiffe://birch.example:443/agents/7", "spiffe://me@birch.example/agents/7", "spiffe://birch.example/agents/7?x=y", "spiffe://birch.example/agents/7?", "spiffe://birch.example/agents/7#x",
		"spiffe://birch.example/agents//7", "spiffe://birch.example/agents/", "spiffe://birch.example/agents/../7", "spiffe://birch.example/agents/./7", "spiffe://birch.example/agents/%37",
		"spiffe://birch.example/agents/a%2Fb", "spiffe:birch.example/agents/7", "spiffe://birch.example/agents/" + strings.Repeat("a", 2048), "spiffe://birch.example/agents/é",
	} {
		if c, err := auth.Check(shows(birch.svid(t, id, nil))); err == nil {
			t.Errorf("%.80s: taken, as %.80v", id, c.Principal)
		}
	}
	// A certificate is no credential of what is sent beside one, and takes nothing from it.
	r := shows(with(nil)...)
	r.Header["Authorization"] = []string{"Bearer wrong"}
	if c, err := auth.Check(r); err == nil {
		t.Errorf("beside a wrong credential: %v", c.Principal)
	}
}

// TestThreat15CertificateBoundTokens: a token that is bound to a client's certificate is good
// over a connection with that very certificate.
func TestThreat15CertificateBoundTokens(t *testing.T) {
	b := newBound(t, nil)
	template := func() *x509.Certificate {
		return &x509.Certificate{Subject: pkix.Name{CommonName: "client"}, KeyUsage: x509.KeyUsageDigitalSignature, NotAfter: start.Add(10 * time.Minute)}
	}
	key, cert := issue(t, nil, template(), nil, nil)
	_, again := issue(t, nil, template(), key, nil) // another with the same key
	_, expired := issue(t, nil, template(), key, func(c *x509.Certificate) { c.NotAfter = start.Add(-time.Second) })
	_, early := issue(t, nil, template(), key, func(c *x509.Certificate) { c.NotBefore = start.Add(time.Second) })
	ca := newAuthority(t, nil, nil)
	bound := func(cert *x509.Certificate, more string) string {
		sum := sha256.Sum256(cert.Raw)
		return b.token(t, `,"cnf":{"x5t#S256":"`+b64(sum[:])+`"`+more+`}`)
	}
	sent := func(token string, chain ...*x509.Certificate) (*Credential, error) {
		r := sending("Bearer", token)
		r.TLS = &tls.ConnectionState{PeerCertificates: chain}
		return b.CheckAt(r, atNode)
	}
	c, err := sent(bound(cert, ""), cert)
	if err != nil || c.Principal.Delegated().Proof != "mtls" || !c.Ends.Equal(cert.NotAfter) {
		t.Fatalf("%+v %v", c, err)
	}
	b.now = start.Add(11 * time.Minute)
	if c.Err() == nil {
		t.Error("the credential outlives the certificate")
	}
	b.now = start
	for name, try := range map[string]func() (*Credential, error){
		"without a certificate":       func() (*Credential, error) { return sent(bound(cert, "")) },
		"without TLS":                 func() (*Credential, error) { return b.CheckAt(sending("Bearer", bound(cert, "")), atNode) },
		"another with the same key":   func() (*Credential, error) { return sent(bound(cert, ""), again) },
		"behind another":              func() (*Credential, error) { return sent(bound(cert, ""), again, cert) },
		"an authority's in its place": func() (*Credential, error) { return sent(bound(cert, ""), ca.cert, cert) },
		"expired":                     func() (*Credential, error) { return sent(bound(expired, ""), expired) },
		"of tomorrow":                 func() (*Credential, error) { return sent(bound(early, ""), early) },
		"bound to a key as well":      func() (*Credential, error) { return sent(bound(cert, `,"jkt":"`+printOf(t, b.is.ed)+`"`), cert) },
	} {
		if c, err := try(); err == nil {
			t.Errorf("%s: taken, as %v", name, c.Principal)
		}
	}
	token := bound(cert, `,"jkt":"`+printOf(t, b.is.ed)+`"`)
	r := sending("DPoP", token, proof(t, b.is.ed, token, start, nil))
	r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}}
	if c, err := b.CheckAt(r, atNode); err != nil || c.Principal.Delegated().Proof != "dpop mtls" {
		t.Errorf("both: %v %v", c, err)
	}
	r = sending("DPoP", token, proof(t, b.is.ed, token, start, nil))
	if _, err := b.CheckAt(r, atNode); err == nil {
		t.Error("both, of which one is missing")
	}
}

func TestSPIFFERefuses(t *testing.T) {
	for _, text := range []string{"", "x", "spiffe://a/*", "spiffe://a/*=king", "*=agent", "spiffe://*=agent", "spiffe://*/x=agent", "spiffe://a=agent", "spiffe://a/=agent", "https://a/x=agent", "spiffe://A/x=agent", "spiffe://a/x=agent@\n"} {
		if _, err := ParseWorkloadRole(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	dir := t.TempDir()
	birch := newAuthority(t, nil, nil)
	good := bundleFile(t, filepath.Join(dir, "good.pem"), birch)
	empty := bundleFile(t, filepath.Join(dir, "empty.pem"))
	leaf := bundleFile(t, filepath.Join(dir, "leaf.pem"), &authority{cert: birch.svid(t, "spiffe://a/b", nil)})
	for name, cfg := range map[string]SPIFFE{
		"no file":           {Bundles: map[string]string{"a": "nowhere"}, Roles: roles(t, "spiffe://a/*=agent")},
		"an empty file":     {Bundles: map[string]string{"a": empty}, Roles: roles(t, "spiffe://a/*=agent")},
		"no authority":      {Bundles: map[string]string{"a": leaf}, Roles: roles(t, "spiffe://a/*=agent")},
		"no roles":          {Bundles: map[string]string{"a": good}},
		"a role of another": {Bundles: map[string]string{"a": good}, Roles: roles(t, "spiffe://b/*=agent")},
		"no trust domain":   {Bundles: map[string]string{"A": good}, Roles: roles(t, "spiffe://a/*=agent")},
	} {
		if _, err := New(Config{SPIFFE: &cfg}); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func FuzzSPIFFEID(f *testing.F) {
	for _, id := range []string{"spiffe://birch.example/agents/7", "spiffe://a/../b", "spiffe://a/b?c", "https://a/b"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := url.Parse(text)
		if err != nil {
			return
		}
		id, domain, err := idOf(&x509.Certificate{URIs: []*url.URL{u}, KeyUsage: x509.KeyUsageDigitalSignature})
		if err != nil {
			return
		}
		again, err := url.Parse(id)
		if err != nil || again.Host != domain || again.Scheme != "spiffe" || again.Path == "" || strings.Contains(again.Path, "//") || again.Path != again.EscapedPath() || filepath.ToSlash(filepath.Clean(again.Path)) != again.Path {
			t.Errorf("%q gives %q of %q", text, id, domain)
		}
	})
}

func FuzzBundle(f *testing.F) {
	a := newAuthority(f, nil, nil)
	f.Add(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}))
	f.Fuzz(func(t *testing.T, text []byte) {
		if b, err := parseBundle(text); err == nil && b.roots.Equal(x509.NewCertPool()) {
			t.Error("a bundle of nothing")
		}
	})
}
