package identity

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/glob"
	"reeve.example/reeve/internal/lazyregexp"
)

// SPIFFE says which workloads are taken by their X.509 SVID: the certificate that the client
// showed when it opened the connection.
type SPIFFE struct {
	// Bundles are, by trust domain, files with the certificates in PEM that sign its SVIDs.
	// They are read again when they change.
	Bundles map[string]string
	// Roles say who may ask: the first that matches an ID. An ID that none matches may not.
	Roles []WorkloadRole
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// WorkloadRole is what the workloads have whose SPIFFE ID matches a pattern.
type WorkloadRole struct {
	Pattern      string
	Role         Role
	Organization string
}

// ParseWorkloadRole reads PATTERN=ROLE or PATTERN=ROLE@ORGANIZATION.
func ParseWorkloadRole(text string) (w WorkloadRole, err error) {
	pattern, name, ok := strings.Cut(text, "=")
	name, w.Organization, _ = strings.Cut(name, "@")
	w.Pattern = pattern
	var known bool
	if w.Role, known = ParseRole(name); !ok || !known {
		return w, fmt.Errorf("%.80q is not PATTERN=ROLE, such as spiffe://example.org/agents/*=agent, with one of the roles agent, approver, auditor, admin", text)
	}
	domain, path, _ := strings.Cut(strings.TrimPrefix(pattern, spiffeScheme), "/")
	if !strings.HasPrefix(pattern, spiffeScheme) || !trustDomain.MatchString(domain) || path == "" {
		return w, fmt.Errorf("%.80q does not begin with spiffe://TRUST-DOMAIN/: a pattern is of one trust domain", pattern)
	}
	if !printable(w.Organization) {
		return w, errors.New("the organization is longer than 256 bytes or has control characters")
	}
	return w, nil
}

// Domain is the trust domain of the pattern.
func (w WorkloadRole) Domain() string {
	domain, _, _ := strings.Cut(strings.TrimPrefix(w.Pattern, spiffeScheme), "/")
	return domain
}

const (
	methodSPIFFE    = "spiffe"
	spiffeScheme    = "spiffe://"
	longestSPIFFEID = 2048
	maxBundle       = 1 << 20         // bytes
	bundleLook      = time.Second     // between two looks at the files
	bundleLasts     = time.Minute     // of one that cannot be read any more
	bundleAgain     = 5 * time.Second // after which what is open looks whether it still holds
	maxChains       = 4096            // that were checked, and are remembered
)

var (
	trustDomain = lazyregexp.New(`^[a-z0-9._-]{1,255}$`)
	spiffeID    = lazyregexp.New(`^spiffe://[a-z0-9._-]{1,255}(/[A-Za-z0-9._-]+)+$`)
)

// workloads checks X.509 SVIDs.
type workloads struct {
	cfg SPIFFE

	mu      sync.Mutex
	looked  time.Time
	bundles map[string]*bundle
	chains  map[[32]byte]time.Time // that were checked, with their ends; of the present bundles
}

// bundle is the certificates of a trust domain.
type bundle struct {
	roots    *x509.CertPool
	text     []byte
	readable time.Time // when it was read last
}

func newWorkloads(cfg SPIFFE) (*workloads, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	w := &workloads{cfg: cfg, bundles: map[string]*bundle{}, chains: map[[32]byte]time.Time{}}
	for domain, file := range cfg.Bundles {
		if !trustDomain.MatchString(domain) {
			return nil, fmt.Errorf("spiffe: %.80q is no trust domain", domain)
		}
		b, err := readBundle(file)
		if err != nil {
			return nil, fmt.Errorf("spiffe: the bundle of %s: %w", domain, err)
		}
		b.readable = cfg.Now()
		w.bundles[domain] = b
	}
	if len(cfg.Roles) == 0 {
		return nil, errors.New("spiffe: say which IDs have which role, or nobody is let in")
	}
	for _, role := range cfg.Roles {
		if w.bundles[role.Domain()] == nil {
			return nil, fmt.Errorf("spiffe: the trust domain of %.80q has no bundle", role.Pattern)
		}
	}
	w.looked = cfg.Now()
	return w, nil
}

func readBundle(file string) (*bundle, error) {
	text, err := readFile(file, maxBundle)
	if err != nil {
		return nil, err
	}
	return parseBundle(text)
}

// parseBundle reads certificates in PEM. One that cannot be read is an error: it may be the
// one that matters.
func parseBundle(text []byte) (*bundle, error) {
	b := &bundle{roots: x509.NewCertPool(), text: text}
	n := 0
	for rest := text; ; n++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			if len(bytes.TrimSpace(rest)) > 0 {
				return nil, errors.New("there is something that is no PEM")
			}
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("a %.40q is no certificate", block.Type)
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		if !cert.IsCA {
			return nil, errors.New("a certificate in it may sign no others: it is no authority's")
		}
		b.roots.AddCert(cert)
	}
	if n == 0 {
		return nil, errors.New("there is no certificate in it")
	}
	return b, nil
}

// refresh reads the bundles that have changed. One that cannot be read is used for a minute
// more, since it may be written at this moment, and then nobody of it is let in.
// w.mu is held.
func (w *workloads) refresh(now time.Time) {
	if since := now.Sub(w.looked); since >= 0 && since < bundleLook {
		return
	}
	w.looked = now
	for domain, file := range w.cfg.Bundles {
		old := w.bundles[domain]
		text, err := readFile(file, maxBundle)
		if err == nil && old != nil && bytes.Equal(text, old.text) {
			old.readable = now
			continue
		}
		var b *bundle
		if err == nil {
			b, err = parseBundle(text)
		}
		if err != nil {
			if old != nil && now.Sub(old.readable) > bundleLasts {
				slog.Error("the bundle of a trust domain cannot be read; its workloads are refused until it can", "trust domain", domain, "error", err)
				delete(w.bundles, domain)
				clear(w.chains)
			}
			continue
		}
		b.readable = now
		w.bundles[domain] = b
		clear(w.chains)
	}
}

// check tells whose SVID a chain of certificates is, the leaf first, and until when.
func (w *workloads) check(chain []*x509.Certificate) (by act.Principal, role Role, ends time.Time, err error) {
	refuse := func(cause error, reason string) (act.Principal, Role, time.Time, error) {
		return act.Principal{}, "", time.Time{}, refused(cause, reason)
	}
	leaf := chain[0]
	id, domain, err := idOf(leaf)
	if err != nil {
		return refuse(err, "The client's certificate is no X.509 SVID of a workload.")
	}
	ends, err = w.verify(domain, chain)
	if err != nil {
		return refuse(err, "The client's certificate is not signed by an authority of a trust domain that is known here, or has expired.")
	}
	for _, r := range w.cfg.Roles {
		if glob.Match(r.Pattern, id) {
			return act.Principal{Name: id, Method: methodSPIFFE, Organization: r.Organization}, r.Role, ends, nil
		}
	}
	return refuse(fmt.Errorf("no pattern matches %s", id), "The workload has no role here.")
}

// idOf reads the SPIFFE ID of a leaf, as the X.509-SVID profile has it.
func idOf(leaf *x509.Certificate) (id, domain string, err error) {
	switch {
	case len(leaf.URIs) != 1:
		return "", "", fmt.Errorf("it has %d URIs among its names, and an SVID has one", len(leaf.URIs))
	case leaf.IsCA || leaf.KeyUsage&(x509.KeyUsageCertSign|x509.KeyUsageCRLSign) != 0:
		return "", "", errors.New("it is an authority's, and no workload's")
	case leaf.KeyUsage&x509.KeyUsageDigitalSignature == 0:
		return "", "", errors.New("it is not for signatures")
	}
	id = leaf.URIs[0].String()
	if len(id) > longestSPIFFEID || !spiffeID.MatchString(id) {
		return "", "", fmt.Errorf("%.80q is no SPIFFE ID of a workload", id)
	}
	domain, path, _ := strings.Cut(strings.TrimPrefix(id, spiffeScheme), "/")
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return "", "", fmt.Errorf("%.80q is no SPIFFE ID: it goes up", id)
		}
	}
	return id, domain, nil
}

// verify follows a chain to an authority of its trust domain, and says when it ends.
func (w *workloads) verify(domain string, chain []*x509.Certificate) (ends time.Time, err error) {
	h := sha256.New()
	for _, c := range chain {
		fmt.Fprintf(h, "%d ", len(c.Raw))
		h.Write(c.Raw)
	}
	sum := [32]byte(h.Sum(nil))
	now := w.cfg.Now()
	w.mu.Lock()
	w.refresh(now)
	b, known := w.bundles[domain], false
	ends, known = w.chains[sum]
	w.mu.Unlock()
	if b == nil {
		return ends, fmt.Errorf("the trust domain %s is not known", domain)
	}
	if known && now.Before(ends) && !now.Before(chain[0].NotBefore) {
		return ends, nil
	}
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	found, err := chain[0].Verify(x509.VerifyOptions{
		Roots: b.roots, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return time.Time{}, err
	}
	ends = time.Time{}
	for _, c := range found { // the one that lasts longest
		first := c[0].NotAfter
		for _, cert := range c {
			first = earlier(first, cert.NotAfter)
		}
		if first.After(ends) {
			ends = first
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bundles[domain] == b {
		if len(w.chains) >= maxChains {
			clear(w.chains)
		}
		w.chains[sum] = ends
	}
	return ends, nil
}
