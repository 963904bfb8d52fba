package notice

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

var example = Notice{
	Approval: "abc", Decision: "0-4", Agent: "clerk", Tool: "pay", Rules: []string{"second pair of eyes"},
	Expires: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), What: "pay: to=<Birch & Co> [x](https://evil.example) *now*", URL: "https://reeve.example",
}

// TestWebhook: the three forms, what they escape, the signature, and that nothing is
// followed elsewhere.
func TestWebhook(t *testing.T) {
	var body []byte
	var header http.Header
	calls := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls++
		body, _ = io.ReadAll(r.Body)
		header = r.Header
		if r.URL.Path == "/elsewhere" {
			http.Redirect(w, r, "/there", http.StatusTemporaryRedirect)
		}
	}))
	defer s.Close()
	for form, want := range map[string]string{
		Plain: `"approval":"abc"`,
		Slack: `to=&lt;Birch &amp; Co&gt;`,
		Teams: `\\[x\\](https://evil.example) \\*now\\*`,
	} {
		target, err := Webhook("hook", form, s.URL, []byte("secret"))
		if err != nil {
			t.Fatal(err)
		}
		if err := target.Send(t.Context(), &example); err != nil {
			t.Error(err)
		}
		var read map[string]any
		if err := json.Unmarshal(body, &read); err != nil || !strings.Contains(string(body), want) {
			t.Errorf("%s: %v %s", form, err, body)
		}
		at, sum, _ := strings.Cut(strings.TrimPrefix(header.Get("X-Reeve-Signature"), "t="), ",v1=")
		mac := hmac.New(sha256.New, []byte("secret"))
		fmt.Fprintf(mac, "%s.%s", at, body)
		if sum != hex.EncodeToString(mac.Sum(nil)) || header.Get("X-Reeve-Event") != "approval/0-4" {
			t.Errorf("%s: signed %q", form, header)
		}
		switch form {
		case Slack:
			if len(read) != 1 || read["text"] == nil {
				t.Errorf("Slack takes a text: %s", body)
			}
		case Teams:
			if read["type"] != "message" || read["attachments"] == nil {
				t.Errorf("Teams takes a message with a card: %s", body)
			}
		}
	}
	calls = 0
	target, err := Webhook("hook", Plain, s.URL+"/elsewhere?token=hush", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := target.Send(t.Context(), &example); err == nil || calls != 1 || strings.Contains(err.Error(), "hush") {
		t.Errorf("after %d calls: %v", calls, err)
	}
	s.Close()
	if err := target.Send(t.Context(), &example); err == nil || strings.Contains(err.Error(), "hush") {
		t.Errorf("of a server that is gone: %v", err)
	}
}

// mailServer is a server that takes e-mails.
type mailServer struct {
	net.Listener
	startTLS *tls.Config // nil where it offers none
	got      chan letter
}

type letter struct {
	from, auth string
	to         []string
	encrypted  bool
	text       string
}

func (s *mailServer) serve() {
	for {
		conn, err := s.Accept()
		if err != nil {
			return
		}
		go s.talk(conn)
	}
}

func (s *mailServer) talk(conn net.Conn) {
	defer func() { conn.Close() }()
	in := bufio.NewReader(conn)
	say := func(text string) { fmt.Fprintf(conn, "%s\r\n", text) }
	var l letter
	_, l.encrypted = conn.(*tls.Conn)
	say("220 here")
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		switch verb, rest, _ := strings.Cut(strings.TrimSpace(line), " "); strings.ToUpper(verb) {
		case "EHLO":
			if say("250-here"); s.startTLS != nil && !l.encrypted {
				say("250-STARTTLS")
			}
			say("250 AUTH PLAIN")
		case "STARTTLS":
			say("220 go on")
			conn = tls.Server(conn, s.startTLS)
			in, l.encrypted = bufio.NewReader(conn), true
		case "AUTH":
			l.auth = rest
			say("235 well")
		case "MAIL":
			l.from = rest
			say("250 well")
		case "RCPT":
			l.to = append(l.to, rest)
			say("250 well")
		case "DATA":
			say("354 go on")
			var text strings.Builder
			for {
				line, err := in.ReadString('\n')
				if err != nil {
					return
				}
				if line == ".\r\n" {
					break
				}
				text.WriteString(line)
			}
			l.text = text.String()
			say("250 well")
			s.got <- l
		case "QUIT":
			say("221 bye")
			return
		default:
			say("502 what")
		}
	}
}

// certificate is one for this machine's loopback, and who trusts it.
func certificate() (*tls.Config, *x509.CertPool) {
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return &tls.Config{Certificates: s.TLS.Certificates}, roots
}

// TestEmail: with STARTTLS, by TLS from the start, and not at all without either, but on
// this machine.
func TestEmail(t *testing.T) {
	secured, roots := certificate()
	start := func(offers *tls.Config, whole bool) *mailServer {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if whole {
			l = tls.NewListener(l, secured)
		}
		s := &mailServer{l, offers, make(chan letter, 1)}
		go s.serve()
		t.Cleanup(func() { l.Close() })
		return s
	}
	for name, tt := range map[string]struct {
		scheme string
		server *mailServer
		user   string
		want   letter
	}{
		"STARTTLS":        {"smtp", start(secured, false), "ada", letter{encrypted: true, auth: "PLAIN AGFkYQBodXNo"}},
		"TLS":             {"smtps", start(nil, true), "ada", letter{encrypted: true, auth: "PLAIN AGFkYQBodXNo"}},
		"on this machine": {"smtp", start(nil, false), "", letter{}},
	} {
		m := Mail{Server: tt.scheme + "://" + tt.server.Addr().String(), User: tt.user, Password: "hush", From: "reeve <reeve@here.example>", To: []string{"ada@a.example", "bo@b.example"}, Roots: roots}
		target, err := Email(m)
		if err != nil {
			t.Fatal(err)
		}
		n := example
		n.Agent = "clerk ünd\u2028"
		if err := target.Send(t.Context(), &n); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := <-tt.server.got
		if got.encrypted != tt.want.encrypted || got.auth != tt.want.auth || got.from != "FROM:<reeve@here.example>" || len(got.to) != 2 || got.to[1] != "TO:<bo@b.example>" {
			t.Errorf("%s: %+v", name, got)
		}
		read, err := mail.ReadMessage(strings.NewReader(got.text))
		if err != nil {
			t.Fatal(err)
		}
		subject, err := new(mime.WordDecoder).DecodeHeader(read.Header.Get("Subject"))
		if err != nil || !strings.HasPrefix(subject, "reeve: clerk ünd") {
			t.Errorf("%s: subject %q, %v", name, subject, err)
		}
		body, err := io.ReadAll(quotedprintable.NewReader(read.Body))
		if err != nil || !strings.Contains(string(body), "to=<Birch & Co>") || !strings.Contains(string(body), "reeve approvals show abc") {
			t.Errorf("%s: %s, %v", name, body, err)
		}
	}
	// A certificate that nobody vouches for, and a server elsewhere without STARTTLS.
	m := Mail{Server: "smtp://" + start(secured, false).Addr().String(), From: "a@b.example", To: []string{"a@b.example"}}
	target, err := Email(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := target.Send(t.Context(), &example); err == nil {
		t.Error("sent to a server that nobody vouches for")
	}
	if host := hostAddress(); host != "" {
		l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err == nil {
			s := &mailServer{l, nil, make(chan letter, 1)}
			go s.serve()
			defer l.Close()
			m.Server = "smtp://" + l.Addr().String()
			if target, err = Email(m); err != nil {
				t.Fatal(err)
			}
			if err := target.Send(t.Context(), &example); !errors.Is(err, ErrNever) {
				t.Errorf("without STARTTLS: %v", err)
			}
		}
	}
	for _, m := range []Mail{
		{}, {Server: "http://x"}, {Server: "smtp://user:pass@x"}, {Server: "smtp://x", From: "nobody"}, {Server: "smtp://x", From: "a@b.example"},
		{Server: "smtp://x", From: "a@b.example", To: []string{"a@b.example\r\nBcc: eve@e.example"}},
	} {
		if _, err := Email(m); err == nil {
			t.Errorf("%+v is a way to send e-mails", m)
		}
	}
}

// hostAddress is an address of this machine that is no loopback; empty if there is none.
func hostAddress() string {
	all, _ := net.InterfaceAddrs()
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && n.IP.To4() != nil {
			return n.IP.String()
		}
	}
	return ""
}

// TestDesktop: the system's program gets the title and the text as they are, whatever they
// look like.
func TestDesktop(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the program is that of Linux")
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir) // and not the machine's own program, which would show it
	if _, err := Desktop(); err == nil {
		t.Error("a program that is not there")
	}
	script := "#!/bin/sh\nfor a; do printf '%s\\n' \"$a\"; done > " + filepath.Join(dir, "out") + "\n"
	if err := os.WriteFile(filepath.Join(dir, "notify-send"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	target, err := Desktop()
	if err != nil {
		t.Fatal(err)
	}
	n := example
	n.Agent = "--icon=x"
	if err := target.Send(t.Context(), &n); err != nil {
		t.Fatal(err)
	}
	out, err := os.ReadFile(filepath.Join(dir, "out"))
	if err != nil || !strings.HasPrefix(string(out), "--app-name=reeve\n--\n--icon=x asks for a person\npay: to=&lt;Birch &amp; Co&gt;") {
		t.Errorf("%s, %v", out, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "notify-send"), []byte("#!/bin/sh\necho no display >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := target.Send(t.Context(), &n); !errors.Is(err, ErrNever) || !strings.Contains(err.Error(), "no display") {
		t.Errorf("without a desktop: %v", err)
	}
}
