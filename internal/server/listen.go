package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"
)

// Loopback reports whether an address is reached from this machine only: so is
// none at all.
func Loopback(listen string) bool {
	if listen == "" {
		return true
	}
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// CheckListen refuses an address beyond loopback where no credential is required,
// unless anonymous callers are allowed by name. The error says what to do.
func CheckListen(listen string, required, allowAnonymous bool) error {
	if Loopback(listen) || required || allowAnonymous {
		return nil
	}
	return fmt.Errorf("listening on %s would let anybody who can reach it use this node, since no credential is required. "+
		"Make an API key (reeve keys create NAME), give one by the setting keys, configure JWT, or set anonymous to never; or listen on 127.0.0.1; "+
		"or, if that is really meant, allow it with --insecure-anonymous", listen)
}

// setHosts gathers the names under which callers may reach the node. A page of
// another site can make its own name point here (DNS rebinding), but it cannot
// hide which name the browser used.
func (s *Server) setHosts() {
	s.hosts = map[string]bool{}
	if s.cfg.Behind == "" {
		for _, host := range loopbackHosts {
			s.hosts[host] = true
		}
	}
	for _, host := range s.cfg.Hosts {
		if name := HostName(host); name != "" { // an entry that says nothing is nobody's name
			s.hosts[name] = true
		}
	}
}

var loopbackHosts = []string{"localhost", "127.0.0.1", "::1"}

// HostName is the name in a Host header, without its port, in the form in which names are
// compared. What stands behind the colon and is no port belongs to the name.
func HostName(host string) string {
	if name, port, err := net.SplitHostPort(host); err == nil && strings.Trim(port, "0123456789") == "" {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// IsHost reports whether a text is the name or the address of a host, with or without a port.
func IsHost(text string) bool {
	name := HostName(text)
	if _, port, err := net.SplitHostPort(text); err == nil && (port == "" || strings.Trim(port, "0123456789") != "") {
		return false
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	if name == "" || len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

// foreign says why a request comes from a page of another site, or under a name
// that is not ours; it is empty otherwise. local says that it came to an address
// of loopback.
func (s *Server) foreign(r *http.Request, local bool) string {
	if !s.knownHost(r.Host, local) {
		return "The Host of the request is not a name of this node. Use localhost, or add the name to the setting hosts."
	}
	if origins := r.Header["Origin"]; len(origins) > 0 {
		_, host, ok := strings.Cut(origins[0], "://")
		if len(origins) > 1 || !ok || !strings.EqualFold(host, r.Host) {
			return "The request comes from a page of another site, and is not answered."
		}
	}
	if sites := r.Header["Sec-Fetch-Site"]; len(sites) > 0 && r.Method != http.MethodGet && r.Method != http.MethodHead {
		if len(sites) > 1 || sites[0] != "same-origin" && sites[0] != "none" {
			return "The request comes from a page of another site, and is not answered."
		}
	}
	return ""
}

func (s *Server) knownHost(host string, local bool) bool {
	// Beyond loopback with credentials, which no page of another site has, the
	// names are checked only if there are any to check against.
	if !local && len(s.cfg.Hosts) == 0 && !s.cfg.AllowAnonymous {
		return true
	}
	name := HostName(host)
	// Beyond loopback an address is as good as a name: rebinding needs a name.
	return s.hosts[name] || !local && s.cfg.Behind == "" && net.ParseIP(name) != nil
}

// listenSocket listens on a Unix socket that only this user can open. The
// folder it lies in should be so, too: between its making and its mode there is
// a moment.
func listenSocket(path string) (net.Listener, error) {
	if c, err := net.DialTimeout("unix", path, time.Second); err == nil {
		c.Close()
		return nil, fmt.Errorf("another node answers on the socket %s", path)
	}
	// Nobody answers: what is there was left by a node that could not tidy up.
	if info, err := os.Lstat(path); err == nil {
		if info.Mode()&fs.ModeSocket == 0 && info.Mode()&fs.ModeIrregular == 0 { // Windows says irregular
			return nil, fmt.Errorf("%s is there and is no socket; it is not removed", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("remove the socket of a node that has gone: %w", err)
		}
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		const longest = 100 // about: 104 to 108 on the systems that there are
		if len(path) > longest {
			return nil, fmt.Errorf("the path of the socket has %d bytes, and about %d are possible; choose a shorter data folder: %w", len(path), longest, err)
		}
		return nil, fmt.Errorf("listen on the socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// certificate is a TLS certificate and its key, read again when they change.
type certificate struct {
	certFile, keyFile string
	logger            *slog.Logger

	mu      sync.Mutex
	cert    *tls.Certificate
	stamp   [2]stamp
	checked time.Time
}

// stamp tells one content of a file from another.
type stamp struct {
	modified time.Time
	size     int64
}

// CheckCertificate says what is wrong with the files of a certificate and its key.
func CheckCertificate(certFile, keyFile string) error {
	_, err := loadCertificate(certFile, keyFile, nil)
	return err
}

func loadCertificate(certFile, keyFile string, logger *slog.Logger) (*certificate, error) {
	if certFile == "" || keyFile == "" {
		return nil, errors.New("tls: a certificate and a key go together")
	}
	c := &certificate{certFile: certFile, keyFile: keyFile, logger: logger}
	if err := c.load(); err != nil {
		return nil, fmt.Errorf("tls.cert and tls.key: %w", err)
	}
	return c, nil
}

// load reads the files if they have changed.
func (c *certificate) load() error {
	var now [2]stamp
	for i, name := range []string{c.certFile, c.keyFile} {
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		now[i] = stamp{info.ModTime(), info.Size()}
	}
	if now == c.stamp {
		return nil
	}
	cert, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return err
	}
	c.cert, c.stamp = &cert, now
	return nil
}

// get returns the certificate for a handshake. It looks at the files at most
// once a second; ones that cannot be read leave the old certificate in use.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.checked) > time.Second {
		c.checked = now
		if err := c.load(); err != nil {
			c.logger.Error("the TLS certificate has changed and cannot be read; the old one stays in use", "error", err)
		}
	}
	return c.cert, nil
}

func (c *certificate) config() *tls.Config {
	return &tls.Config{GetCertificate: c.get, MinVersion: tls.VersionTLS12}
}
