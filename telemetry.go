package reeve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/export"
	"reeve.example/reeve/internal/ocsf"
	"reeve.example/reeve/internal/otlp"
	"reeve.example/reeve/internal/replay"
	"reeve.example/reeve/internal/server"
	"reeve.example/reeve/internal/trace"

	"go.opentelemetry.io/otel/sdk/resource"
	oteltrace "go.opentelemetry.io/otel/trace"
)

// telemetrySettings are where traces of what agents do are sent, and what else is observed.
type telemetrySettings struct {
	URL      string        `yaml:"url" doc:"Where to send by the OpenTelemetry protocol, such as http://127.0.0.1:4318 or, of gRPC, https://otel.example:4317; empty for nowhere. Traces and logs follow the ledger: they go on where they were, also after a crash."`
	Signals  []string      `yaml:"signals" default:"traces" doc:"What to send: traces, of what agents do; logs, the security events; metrics, those of /metrics. Some receivers take traces only."`
	Requests bool          `yaml:"requests" default:"false" doc:"Whether each request that the node answers has a span of its own, below the caller's and around its acts (kind SERVER). Needs traces among the signals."`
	Every    time.Duration `yaml:"every" default:"1m" doc:"How long after each other metrics are sent, a second at least."`
	Idle     time.Duration `yaml:"idle" default:"5m" doc:"A session, turn or tree of tasks is over, and its span is sent, when for so long nothing more came of it; at most an hour."`
	Protocol string        `yaml:"protocol" default:"http" doc:"How: http (protobuf, to /v1/traces, /v1/logs and /v1/metrics below the URL) or grpc."`
	Headers  []string      `yaml:"headers" doc:"Headers of the requests, each as NAME=VALUE, NAME=env:NAME or NAME=file:PATH; credentials by a reference only."`
	CA       string        `yaml:"ca" doc:"File of certificate authorities (PEM) that the receiver's certificate may come from, beside the system's."`
	Contents string        `yaml:"contents" default:"none" doc:"Whether spans hold what acts hold: none, or masked, as it is kept. masked needs redact."`
	Resource []string      `yaml:"resource" doc:"Further attributes of all that is sent, each as NAME=VALUE, such as openinference.project.name=agents."`
}

// eventsSettings are where security events are sent.
type eventsSettings struct {
	File    string   `yaml:"file" doc:"File that security events (OCSF) are appended to, one a line; empty for none."`
	URL     string   `yaml:"url" doc:"URL that security events are posted to; empty for none."`
	Mapping string   `yaml:"mapping" default:"ocsf" doc:"How acts become classes of OCSF: ocsf, by what OCSF's classes mean, or acs, by the table of the Agent Control Standard."`
	Format  string   `yaml:"format" default:"array" doc:"How they are posted: array, one JSON array, or lines, one event a line."`
	Headers []string `yaml:"headers" doc:"Headers of these requests, each as NAME=VALUE, NAME=env:NAME or NAME=file:PATH; credentials by a reference only."`
	Syslog  string   `yaml:"syslog" doc:"Address of a syslog server, host:port, that security events are sent to by RFC 5424 over TLS; empty for none."`
	CA      string   `yaml:"ca" doc:"File of certificate authorities (PEM) that the certificates of events.url and events.syslog may come from, beside the system's."`
}

// check refuses what cannot be meant.
func (s *eventsSettings) check() (errs []error) {
	if s.Format != "array" && s.Format != "lines" {
		errs = append(errs, fmt.Errorf("events.format: choose array or lines, not %q", s.Format))
	}
	if s.Mapping != "ocsf" && s.Mapping != "acs" {
		errs = append(errs, fmt.Errorf("events.mapping: choose ocsf or acs, not %q", s.Mapping))
	}
	if s.Syslog != "" {
		if !address(s.Syslog) {
			errs = append(errs, fmt.Errorf("events.syslog: %q is not an address such as siem.example:6514", s.Syslog))
		}
	}
	if _, err := headers("events.headers", s.Headers, false); err != nil {
		errs = append(errs, err)
	}
	if s.URL != "" {
		if _, err := ocsf.NewHTTP(s.URL, nil, false, nil); err != nil {
			errs = append(errs, fmt.Errorf("events.url: %w", err))
		}
	} else if len(s.Headers) > 0 {
		errs = append(errs, errors.New("events: headers need events.url"))
	}
	return errs
}

// targets are where security events go, by the names of their exporters.
func (s *eventsSettings) targets() (map[string]ocsf.Target, error) {
	secured, err := export.TLS(s.CA)
	if err != nil {
		return nil, fmt.Errorf("events.ca: %w", err)
	}
	targets := map[string]ocsf.Target{}
	if s.File != "" {
		targets["events-file"] = &ocsf.File{Name: s.File}
	}
	if s.URL != "" {
		all, err := headers("events.headers", s.Headers, true)
		if err != nil {
			return nil, err
		}
		if targets["events-http"], err = ocsf.NewHTTP(s.URL, all, s.Format == "lines", secured); err != nil {
			return nil, fmt.Errorf("events.url: %w", err)
		}
	}
	if s.Syslog != "" {
		host, _, err := net.SplitHostPort(s.Syslog)
		if err != nil {
			return nil, fmt.Errorf("events.syslog: %w", err)
		}
		own, err := os.Hostname()
		if err != nil || own == "" {
			own = "-"
		}
		own = strings.Map(func(r rune) rune {
			if r <= ' ' || r > '~' {
				return -1
			}
			return r
		}, own)
		secured := secured.Clone()
		secured.ServerName = host
		targets["events-syslog"] = &ocsf.Syslog{Address: s.Syslog, Hostname: own[:min(len(own), 255)], Secured: secured}
	}
	return targets, nil
}

// headers reads a setting of headers. With secrets it reads the values that are named by
// reference.
func headers(setting string, list []string, secrets bool) (map[string]string, error) {
	all, err := pairs(list, setting)
	if err != nil {
		return nil, err
	}
	for name, value := range all {
		switch {
		case !reference(value) && secretHeader(name):
			return nil, fmt.Errorf("%s: the value of %s is a secret: name where it is, as %s=env:NAME or %s=file:PATH", setting, name, name, name)
		case reference(value) && secrets:
			if all[name], err = referred(value); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", setting, name, err)
			}
		}
	}
	return all, nil
}

// secretHeader reports whether a header's values are no settings.
func secretHeader(name string) bool {
	name = strings.ToLower(name)
	return name == "authorization" || strings.Contains(name, "key") || strings.Contains(name, "token") || strings.Contains(name, "secret") || strings.Contains(name, "cookie")
}

// pairs reads NAME=VALUE settings.
func pairs(list []string, what string) (map[string]string, error) {
	all := map[string]string{}
	for _, text := range list {
		name, value, ok := strings.Cut(text, "=")
		if _, twice := all[name]; !ok || name == "" || twice {
			return nil, fmt.Errorf("%s: %q is not NAME=VALUE, or is there twice", what, name)
		}
		all[name] = value
	}
	return all, nil
}

// receiver is where to send to. With secrets it reads the values that are named by reference.
func (s *telemetrySettings) receiver(secrets bool) (*otlp.Receiver, error) {
	all, err := headers("telemetry.headers", s.Headers, secrets)
	if err != nil {
		return nil, err
	}
	r := &otlp.Receiver{URL: s.URL, Protocol: s.Protocol, Headers: all, CA: s.CA}
	if err := r.Check(); err != nil {
		return nil, fmt.Errorf("telemetry.url: %w", err)
	}
	return r, nil
}

// check refuses what cannot be meant.
func (s *telemetrySettings) check(redact []string) (errs []error) {
	if s.Contents != "none" && s.Contents != "masked" {
		errs = append(errs, fmt.Errorf("telemetry.contents: choose none or masked, not %q", s.Contents))
	}
	if s.Contents == "masked" && (len(redact) == 0 || redact[0] == "none") {
		errs = append(errs, errors.New("telemetry.contents: what nothing is masked in is not sent: set redact"))
	}
	if _, err := pairs(s.Resource, "telemetry.resource"); err != nil {
		errs = append(errs, err)
	}
	if len(s.Signals) == 0 {
		errs = append(errs, errors.New("telemetry.signals: choose traces, logs or metrics"))
	}
	for _, signal := range s.Signals {
		if !slices.Contains(signals, signal) {
			errs = append(errs, fmt.Errorf("telemetry.signals: choose of traces, logs and metrics, not %q", signal))
		}
	}
	if s.Every < time.Second {
		errs = append(errs, fmt.Errorf("telemetry.every: %s is shorter than a second", s.Every))
	}
	if s.Idle < time.Second || s.Idle > time.Hour {
		errs = append(errs, fmt.Errorf("telemetry.idle: %s is not from a second to an hour", s.Idle))
	}
	if s.Requests && (s.URL == "" || !slices.Contains(s.Signals, "traces")) {
		errs = append(errs, errors.New("telemetry.requests needs telemetry.url, and traces among telemetry.signals"))
	}
	if s.URL == "" {
		if len(s.Headers) > 0 || s.CA != "" {
			errs = append(errs, errors.New("telemetry: headers and ca need telemetry.url"))
		}
		return errs
	}
	if _, err := s.receiver(false); err != nil {
		errs = append(errs, err)
	}
	return errs
}

// openExports makes what follows the log to send it elsewhere, and what sends metrics.
func (n *Node) openExports(ctx context.Context) error {
	targets, err := n.cfg.Events.targets()
	if err != nil {
		return err
	}
	if file, is := targets["events-file"].(*ocsf.File); is { // or it would be tried again and again, and nobody be told at the start
		if err := file.Check(); err != nil {
			return fmt.Errorf("events.file cannot be written: %w", err)
		}
	}
	if err := n.openTelemetry(ctx, targets); err != nil {
		return err
	}
	if u, _ := url.Parse(n.cfg.Events.URL); u != nil && u.Scheme == "http" && !server.Loopback(net.JoinHostPort(u.Hostname(), "0")) {
		n.logger.Warn("security events are sent without TLS to another machine: who is on the way reads them, and what is in events.headers", "events.url", n.cfg.Events.URL)
	}
	for _, name := range slices.Sorted(maps.Keys(targets)) {
		n.addExport(name, ocsf.NewSink(ocsf.Config{Version: Version(), Log: n.LogName(), Key: n.log.VerifierKey(), ACS: n.cfg.Events.Mapping == "acs"}, targets[name], func(ctx context.Context) ([]byte, error) {
			head, err := n.store.Head(ctx, n.log.Number())
			return head.Checkpoint, err
		}))
	}
	for _, f := range n.exports {
		if err := f.Prepare(ctx); err != nil {
			return err
		}
	}
	return nil
}

// signals are what can be sent by the OpenTelemetry protocol. Their names are those of
// their exporters, too.
var signals = []string{"traces", "logs", "metrics"}

// openTelemetry makes what sends the signals. Logs are a further target of security events.
func (n *Node) openTelemetry(ctx context.Context, targets map[string]ocsf.Target) error {
	set := &n.cfg.Telemetry
	if set.URL == "" {
		return nil
	}
	receiver, err := set.receiver(true)
	if err != nil {
		return err
	}
	if u, _ := url.Parse(set.URL); u != nil && u.Scheme == "http" && !server.Loopback(net.JoinHostPort(u.Hostname(), "0")) {
		n.logger.Warn("telemetry is sent without TLS to another machine: who listens there reads which agent did what", "telemetry.url", set.URL)
	}
	of, err := n.resource()
	if err != nil {
		return err
	}
	if slices.Contains(set.Signals, "traces") {
		send, err := receiver.Spans(ctx)
		if err != nil {
			return fmt.Errorf("telemetry: %w", err)
		}
		cfg := trace.Config{Send: send, Resource: of, Version: Version(), Ledger: n.log.VerifierKey(), Idle: set.Idle}
		if set.Contents == "masked" {
			cfg.Contents = n.maskedContents
		}
		n.addExport("traces", trace.New(cfg))
		if set.Requests {
			if send, err = receiver.Spans(ctx); err != nil { // its own: each sends one request at a time
				return fmt.Errorf("telemetry: %w", err)
			}
			n.requests.Send = send
			n.metrics.Export("requests", func() server.Exported {
				s := n.requests.Stats()
				return server.Exported{Behind: s.Behind, Sent: s.Sent, Refused: s.Refused, Full: s.Full, Failing: s.Failing}
			})
			n.tasks.Go(func() { n.requests.Run(ctx) })
		}
	}
	if slices.Contains(set.Signals, "logs") {
		logs, err := receiver.Logs(ctx, of, Version())
		if err != nil {
			return fmt.Errorf("telemetry: %w", err)
		}
		targets["logs"] = &ocsf.OTLP{Logs: logs}
	}
	if slices.Contains(set.Signals, "metrics") {
		metrics, err := receiver.Metrics(ctx, of, n.metrics.Registry())
		if err != nil {
			return fmt.Errorf("telemetry: %w", err)
		}
		n.tasks.Go(func() { n.sendMetrics(ctx, metrics) })
	}
	return nil
}

// resource is what all that the node sends says of it.
func (n *Node) resource() (*resource.Resource, error) {
	more, err := pairs(n.cfg.Telemetry.Resource, "telemetry.resource")
	if err != nil {
		return nil, err
	}
	return otlp.Resource("reeve", Version(), n.LogName(), more), nil
}

// tracer makes the spans of requests; nil for none.
func (n *Node) tracer() oteltrace.Tracer {
	if n.requests == nil {
		return nil
	}
	return n.requests.Tracer(Version(), server.TracerVersion)
}

// sendMetrics sends the metrics now and then until ctx ends, and then once more, so that
// the last counts arrive. What did not arrive is in the next ones: they are sums.
func (n *Node) sendMetrics(ctx context.Context, metrics *otlp.Metrics) {
	var sent, refused atomic.Uint64
	var failing atomic.Bool
	n.metrics.Export("metrics", func() server.Exported {
		return server.Exported{Sent: sent.Load(), Refused: refused.Load(), Failing: failing.Load()}
	})
	send := func(ctx context.Context) {
		was, err := metrics.Send(ctx)
		if why, ok := errors.AsType[*export.RefusedError](err); ok {
			refused.Add(uint64(min(why.N, was)))
			was -= min(why.N, was)
		} else if err != nil {
			was = 0
		}
		sent.Add(uint64(was))
		if ctx.Err() == nil && failing.Swap(err != nil) != (err != nil) && err != nil {
			n.logger.Warn("metrics do not arrive, or not all of them; what they count goes on being counted", "error", err)
		}
	}
	for next := time.NewTimer(0); ; next.Reset(n.cfg.Telemetry.Every) {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastMetrics)
			defer cancel()
			send(last)
			return
		case <-next.C:
			send(ctx)
		}
	}
}

// lastMetrics is how long the last metrics of a node that stops may be on their way.
const lastMetrics = 3 * time.Second

// addExport adds one that follows the log.
func (n *Node) addExport(name string, sink export.Sink) {
	f := &export.Follower{Name: name, Store: n.store, Log: n.log.Number(), Tail: n.log.Tail(), Sink: sink, Now: n.now, Logger: n.logger}
	n.exports = append(n.exports, f)
	n.metrics.Export(name, func() server.Exported {
		s := f.Stats()
		return server.Exported{Behind: s.Behind, Delay: s.Delay, Sent: s.Sent, Refused: s.Refused, Pruned: s.Pruned, Damaged: s.Damaged, Failing: s.Failing}
	})
}

// maskedContents is what an act holds, as one JSON text: the arguments of a call, else its
// texts. It was masked when it was kept, and is again, since it may be of a time when less was.
func (n *Node) maskedContents(r *export.Record) string {
	if r.Opening.Request == nil {
		return ""
	}
	a := replay.Act(&r.Record, &r.Opening)
	if a == nil {
		return ""
	}
	return n.guard.Masked(trace.ContentsOf(a))
}

// spanOf is the span that a decision will have had: what is done because of it goes on there.
func (n *Node) spanOf(a *act.Action, at act.Position) string {
	if n.cfg.Telemetry.URL == "" || !slices.Contains(n.cfg.Telemetry.Signals, "traces") {
		return ""
	}
	return trace.Traceparent(n.log.VerifierKey(), a, at).String()
}
