package ocsf

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	"reeve.example/reeve/internal/export"
	"reeve.example/reeve/internal/otlp"

	"github.com/go-json-experiment/json"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/trace"
)

// File is a target that appends events to a file, one a line. The file is opened for each
// batch, so that whoever rotates it need tell nobody, and is on the disk before the place
// in the log is.
type File struct{ Name string }

// Check says why the file cannot be written. It is made where it is not there.
func (f *File) Check() error {
	file, err := os.OpenFile(f.Name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// Send appends events.
func (f *File) Send(_ context.Context, events [][]byte) error {
	file, err := os.OpenFile(f.Name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	before, err := file.Seek(0, io.SeekEnd)
	if err == nil {
		text := append(bytes.Join(events, []byte{'\n'}), '\n')
		if last := []byte{'\n'}; before > 0 {
			if _, err := file.ReadAt(last, before-1); err == nil && last[0] != '\n' {
				text = append([]byte{'\n'}, text...) // who wrote before was killed in the middle of a line
			}
		}
		if _, err = file.Write(text); err != nil {
			err = errors.Join(err, file.Truncate(before)) // half a line would spoil the next
		} else {
			err = file.Sync()
		}
	}
	return errors.Join(err, file.Close())
}

// HTTP is a target that posts events as JSON arrays, or one a line (NDJSON).
type HTTP struct {
	URL    string
	Header map[string]string
	Lines  bool
	client *http.Client
}

// NewHTTP returns an HTTP target.
func NewHTTP(to string, header map[string]string, lines bool, secured *tls.Config) (*HTTP, error) {
	u, err := url.Parse(to)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return nil, fmt.Errorf("%q is not an http or https URL; credentials go into headers", to)
	}
	return &HTTP{URL: to, Header: header, Lines: lines, client: export.HTTPClient(secured)}, nil
}

// Send posts events.
func (h *HTTP) Send(ctx context.Context, events [][]byte) error {
	body, kind := append(bytes.Join(events, []byte{'\n'}), '\n'), "application/x-ndjson"
	if !h.Lines {
		body, kind = append(append([]byte{'['}, bytes.Join(events, []byte{','})...), ']'), "application/json"
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	for name, value := range h.Header {
		r.Header.Set(name, value)
	}
	r.Header.Set("Content-Type", kind)
	r.Header.Set("User-Agent", "reeve")
	resp, err := h.client.Do(r)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode/100 == 2 {
		return nil
	}
	err = fmt.Errorf("%s answered %s", r.URL.Host, resp.Status)
	if export.Refuses(resp.StatusCode) {
		err = &export.RefusedError{N: len(events), Err: err}
	}
	return err
}

// Syslog is a target that sends events as messages of RFC 5424, over TLS as RFC 5425 has it.
// Syslog answers nothing: what a connection had taken when it broke may be lost.
type Syslog struct {
	Address  string // host:port
	Hostname string
	Secured  *tls.Config
	conn     *tls.Conn
}

// Send sends events. After a failure those of this call are all sent again.
func (s *Syslog) Send(ctx context.Context, events [][]byte) (err error) {
	ctx, cancel := context.WithTimeout(ctx, export.SendTimeout)
	defer cancel()
	if s.conn != nil && !alive(s.conn) {
		s.close()
	}
	if s.conn == nil {
		c, err := (&tls.Dialer{Config: s.Secured}).DialContext(ctx, "tcp", s.Address)
		if err != nil {
			return err
		}
		s.conn = c.(*tls.Conn)
	}
	var b []byte
	for _, e := range events {
		m := s.message(e)
		b = append(append(strconv.AppendInt(b, int64(len(m)), 10), ' '), m...)
	}
	deadline, _ := ctx.Deadline()
	if err = s.conn.SetWriteDeadline(deadline); err == nil {
		_, err = s.conn.Write(b)
	}
	if err != nil {
		s.close()
	}
	return err
}

func (s *Syslog) close() {
	s.conn.Close()
	s.conn = nil
}

// alive looks whether the other side has closed a connection on which it has nothing to say.
func alive(c *tls.Conn) bool {
	if c.SetReadDeadline(time.Now().Add(time.Millisecond)) != nil {
		return false
	}
	_, err := c.Read(make([]byte, 1))
	late, ok := errors.AsType[net.Error](err)
	return ok && late.Timeout()
}

// severities are those of syslog, by OCSF's: informational, low, medium, high, critical.
var severities = [...]int{6, 6, 5, 4, 3, 2}

// message is an event as a message: facility 13, which is log audit, and the event as text.
func (s *Syslog) message(e []byte) []byte {
	said := toldBy(e)
	b := fmt.Appendf(nil, "<%d>1 %s %s reeve %d ocsf-%d - ", 13*8+severities[said.severity()],
		time.UnixMilli(said.Time).UTC().Format("2006-01-02T15:04:05.000Z"), s.Hostname, os.Getpid(), said.Class)
	return append(append(b, "\xef\xbb\xbf"...), e...) // the mark says that the text is UTF-8
}

// told is what targets need to know of an event.
type told struct {
	Severity int   `json:"severity_id"`
	Time     int64 `json:"time"`
	Class    int   `json:"class_uid"`
	Metadata struct {
		UID string `json:"uid"`
	} `json:"metadata"`
	Actor struct {
		Session session `json:"session"`
	} `json:"actor"`
	Unmapped unmapped `json:"unmapped"`
}

func toldBy(e []byte) (said told) {
	_ = json.Unmarshal(e, &said) // as Mapper wrote it
	return said
}

func (t *told) severity() int { return min(max(t.Severity, 0), len(severities)-1) }

// OTLP is a target that sends events as lines of an OpenTelemetry log, each with the span
// that traces have for the same act.
type OTLP struct {
	Logs *otlp.Logs
}

// levels are those of OpenTelemetry, as its specification maps those of syslog.
var levels = [...]log.Severity{log.SeverityInfo, log.SeverityInfo, log.SeverityInfo2, log.SeverityWarn, log.SeverityError, log.SeverityError2}

// Send sends events.
func (o *OTLP) Send(ctx context.Context, events [][]byte) error {
	lines := make([]otlp.Log, 0, len(events))
	for _, e := range events {
		said := toldBy(e)
		line := otlp.Log{Time: time.UnixMilli(said.Time), Severity: levels[said.severity()], Name: "ocsf." + strconv.Itoa(said.Class), Body: string(e)}
		of := &said.Unmapped.Reeve
		line.Trace, _ = trace.TraceIDFromHex(of.Trace) // zero for none
		line.Span, _ = trace.SpanIDFromHex(of.Span)
		for _, kv := range []struct{ key, value string }{
			{"ocsf.metadata.uid", said.Metadata.UID}, {"reeve.kind", of.Kind}, {"reeve.decision", of.Effect}, {"session.id", said.Actor.Session.UID},
		} {
			if kv.value != "" {
				line.Attributes = append(line.Attributes, attribute.String(kv.key, kv.value))
			}
		}
		lines = append(lines, line)
	}
	return o.Logs.Send(ctx, lines)
}
