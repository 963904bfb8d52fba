package notice

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"html"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/mail"
	"net/smtp"
	"net/url"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"reeve.example/reeve/internal/deliver"

	"github.com/go-json-experiment/json"
)

// The forms of a webhook's body.
const (
	Plain = "json" // the notice itself
	Slack = "slack"
	Teams = "teams"
)

// Webhook tells a URL, in one of the forms. With a secret the call is signed: see
// deliver.Sign.
func Webhook(name, form, to string, secret []byte) (Target, error) {
	u, err := url.Parse(to)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return Target{}, errors.New("a webhook is an http or https URL")
	case form != Plain && form != Slack && form != Teams:
		return Target{}, fmt.Errorf("%q is no form of a webhook: choose %s, %s or %s", form, Plain, Slack, Teams)
	}
	// An address that is told to go elsewhere is not what was set.
	client := &http.Client{Timeout: deliver.Timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return Target{Name: name, Send: func(ctx context.Context, n *Notice) error {
		body, err := json.Marshal(shape(n, form), json.Deterministic(true))
		if err != nil {
			return err
		}
		header := http.Header{"Content-Type": {"application/json"}}
		event := "approval/" + cmp.Or(n.Decision, n.Approval)
		if n.Unusual != "" {
			event = "unusual/" + n.Decision
		}
		header.Set("X-Reeve-Event", event) // the same at each try
		deliver.Sign(header, secret, body, time.Now())
		err = deliver.Post(ctx, client, to, header, body)
		var failed *url.Error
		if errors.As(err, &failed) { // the address can be a secret
			err = failed.Err
		}
		return err
	}}, nil
}

// shape is a notice as a webhook's body.
func shape(n *Notice, form string) any {
	switch form {
	case Slack:
		escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace
		return map[string]any{"text": "*" + escape(strings.ReplaceAll(n.Title(), "*", "∗")) + "*\n" + escape(n.Text())}
	case Teams:
		line := func(text string, bold bool) map[string]any {
			block := map[string]any{"type": "TextBlock", "text": escapeMarkdown(text), "wrap": true}
			if bold {
				block["weight"] = "Bolder"
			}
			return block
		}
		body := []any{line(n.Title(), true)}
		for text := range strings.SplitSeq(n.Text(), "\n") {
			body = append(body, line(text, false))
		}
		return map[string]any{"type": "message", "attachments": []any{map[string]any{
			"contentType": "application/vnd.microsoft.card.adaptive",
			"content": map[string]any{
				"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4", "body": body,
			},
		}}}
	}
	kind := "approval.held"
	if n.Unusual != "" {
		kind = "habits.unusual"
	}
	return struct {
		Type string `json:"type"`
		*Notice
		Text string `json:"text"`
	}{kind, n, n.Title() + "\n" + n.Text()}
}

// escapeMarkdown takes the links and marks out of a text that a card would show.
func escapeMarkdown(text string) string {
	return strings.NewReplacer("[", "\\[", "]", "\\]", "*", "\\*", "_", "\\_", "`", "\\`").Replace(text)
}

// Mail is where e-mails are handed in, and to whom they go.
type Mail struct {
	// Server is smtp://host:587 (with STARTTLS, which is required unless the server is on
	// this machine) or smtps://host:465.
	Server         string
	User, Password string
	From           string
	To             []string
	// Roots are whom the server's certificate is trusted by; nil for the system's.
	Roots *x509.CertPool
}

// Email tells people by e-mail.
func Email(m Mail) (Target, error) {
	u, err := url.Parse(m.Server)
	if err != nil || u.Hostname() == "" || u.Scheme != "smtp" && u.Scheme != "smtps" || u.User != nil || strings.Trim(u.Path, "/") != "" {
		return Target{}, errors.New("the mail server is smtp://host:587 or smtps://host:465, and its user and password are settings of their own")
	}
	from, err := mail.ParseAddress(m.From)
	if err != nil {
		return Target{}, fmt.Errorf("%q is no e-mail address", m.From)
	}
	var to []*mail.Address
	for _, text := range m.To {
		address, err := mail.ParseAddress(text)
		if err != nil {
			return Target{}, fmt.Errorf("%q is no e-mail address", text)
		}
		to = append(to, address)
	}
	if len(to) == 0 {
		return Target{}, errors.New("nobody is named whom the e-mails go to")
	}
	return Target{Name: "email", Send: func(ctx context.Context, n *Notice) error {
		ctx, cancel := context.WithTimeout(ctx, 2*deliver.Timeout)
		defer cancel()
		return m.send(ctx, u, from, to, message(n, from, to, time.Now()))
	}}, nil
}

func (m *Mail) send(ctx context.Context, u *url.URL, from *mail.Address, to []*mail.Address, text []byte) error {
	host, port := u.Hostname(), u.Port()
	encrypted := u.Scheme == "smtps"
	if port == "" {
		port = map[string]string{"smtp": "587", "smtps": "465"}[u.Scheme]
	}
	conn, err := (&net.Dialer{Timeout: deliver.Timeout}).DialContext(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	secured := &tls.Config{ServerName: host, RootCAs: m.Roots}
	if encrypted {
		conn = tls.Client(conn, secured)
	}
	c, err := smtp.NewClient(conn, host)
	if err != nil {
		return err
	}
	if has, _ := c.Extension("STARTTLS"); has && !encrypted {
		if err := c.StartTLS(secured); err != nil {
			return err
		}
		encrypted = true
	}
	if !encrypted && !loopback(host) {
		return fmt.Errorf("%w: the mail server %s offers no STARTTLS, and nothing is sent without it", ErrNever, host)
	}
	if m.User != "" {
		if err := c.Auth(smtp.PlainAuth("", m.User, m.Password, host)); err != nil {
			return err
		}
	}
	if err := c.Mail(from.Address); err != nil {
		return err
	}
	for _, address := range to {
		if err := c.Rcpt(address.Address); err != nil {
			return err
		}
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	_ = c.Quit() // it was taken
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// message is a notice as an e-mail. All lines of its head are of one line, since titles
// are; and its body is encoded.
func message(n *Notice, from *mail.Address, to []*mail.Address, now time.Time) []byte {
	var b bytes.Buffer
	head := func(name, value string) { fmt.Fprintf(&b, "%s: %s\r\n", name, value) }
	var names []string
	for _, address := range to {
		names = append(names, address.String())
	}
	_, domain, _ := strings.Cut(from.Address, "@")
	head("From", from.String())
	head("To", strings.Join(names, ", "))
	head("Subject", mime.QEncoding.Encode("utf-8", "reeve: "+n.Title()))
	head("Date", now.Format(time.RFC1123Z))
	head("Message-ID", fmt.Sprintf("<%s.%s.%d@%s>", cmp.Or(n.Approval, "more"), cmp.Or(n.Decision, "-"), now.Unix(), domain))
	head("Auto-Submitted", "auto-generated")
	head("MIME-Version", "1.0")
	head("Content-Type", "text/plain; charset=utf-8")
	head("Content-Transfer-Encoding", "quoted-printable")
	b.WriteString("\r\n")
	w := quotedprintable.NewWriter(&b)
	_, _ = w.Write([]byte(strings.ReplaceAll(n.Text(), "\n", "\r\n") + "\r\n"))
	_ = w.Close()
	return b.Bytes()
}

// Desktop tells who sits at this machine, by the program that the system has for it. The
// error says why it has none.
func Desktop() (Target, error) {
	program, arguments := "notify-send", func(title, text string) []string {
		return []string{"--app-name=reeve", "--", title, html.EscapeString(text)} // it reads marks in the text
	}
	if runtime.GOOS == "darwin" {
		program, arguments = "osascript", func(title, text string) []string {
			return []string{"-e", "on run argv", "-e", "display notification (item 2 of argv) with title (item 1 of argv)", "-e", "end run", "--", title, text}
		}
	}
	path, err := exec.LookPath(program)
	if err != nil {
		return Target{}, fmt.Errorf("there is no program %s", program)
	}
	return Target{Name: "desktop", Send: func(ctx context.Context, n *Notice) error {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if out, err := exec.CommandContext(ctx, path, arguments(n.Title(), n.Text())...).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s: %w %s", ErrNever, program, err, strings.TrimSpace(string(out[:min(len(out), 200)])))
		}
		return nil
	}}, nil
}
