package server

import (
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/task"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics is what a node counts, served at /metrics in Prometheus' format. It
// has its own registry. It is safe for concurrent use.
type Metrics struct {
	registry    *prometheus.Registry
	decisions   *prometheus.CounterVec
	latency     prometheus.Histogram
	batch       prometheus.Histogram
	size        *prometheus.GaugeVec
	reloads     *prometheus.CounterVec
	refused     *prometheus.CounterVec
	quotas      *prometheus.CounterVec
	damaged     prometheus.Counter
	inFlight    prometheus.Gauge
	ended       *prometheus.CounterVec
	tasks       *prometheus.HistogramVec
	rules       *prometheus.CounterVec
	shadowed    *prometheus.CounterVec
	unusual     *prometheus.CounterVec
	loaded      prometheus.Gauge
	stale       prometheus.Gauge
	unpublished *prometheus.GaugeVec

	mu     sync.Mutex
	sizes  map[uint32]uint64 // of each log, after its last batch
	agents map[string]bool   // those that are counted by name
	named  map[string]bool   // rules with their codes that are counted by name
}

// NewMetrics returns the metrics of a node of this version.
func NewMetrics(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "reeve_decisions_total", Help: "Decisions answered.",
		}, []string{"door", "kind", "effect"}),
		latency: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "reeve_decision_seconds", Help: "Time from an act's arrival until its decision is durable.",
			Buckets: []float64{.00025, .0005, .001, .002, .003, .005, .0075, .01, .02, .03, .05, .1, .25, .5, 1, 5},
		}),
		batch: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "reeve_ledger_batch_records", Help: "Records made durable by one commit.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 11),
		}),
		size: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "reeve_ledger_records", Help: "Records in a log.",
		}, []string{"log"}),
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "reeve_policy_reloads_total", Help: "Policy reloads, by result: ok or failed.",
		}, []string{"result"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "reeve_refused_total", Help: "Requests refused before they reached a protocol, by reason.",
		}, []string{"reason"}),
		quotas: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "reeve_quota_refused_total", Help: "What a principal's quota left no room for, by quota: tasks, held, agents, servers, or contents that were not kept.",
		}, []string{"quota"}),
		damaged: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "reeve_damaged_total", Help: "Rows beside the ledger that were found damaged: they cannot be read, or no node wrote them so. Each counts once.",
		}),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "reeve_a2g_ended_total",
			Help: "How what A2G agents did came to be known: as its verdict covers (reported, ambiguous), or not (violation, mismatched), or not at all (unreported, revoked). Of an agent, governed is reported and ambiguous divided by these and violation.",
		}, []string{"agent", "outcome"}),
		tasks: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "reeve_task_seconds", Help: "Time that attempts at tasks took, by executor and status.",
			Buckets: []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10, 60, 600, 3600},
		}, []string{"executor", "status"}),
		rules: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "reeve_rule_decisions_total",
			Help: "Decisions that a rule of the policy, or a check of the guardian's own, had a part in, by the effect that it asked for; observe is one that only watches, or that an exception lifted.",
		}, []string{"rule", "code", "effect"}),
		shadowed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "reeve_shadow_decisions_total",
			Help: "What the candidate beside the policy would have decided (would) of what the policy decided (was): changed is yes where they differ, and failed where it could not be asked.",
		}, []string{"was", "would", "changed"}),
		unusual: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "reeve_habits_unusual_total",
			Help: "Causes of acts that are unusual for their agent, as the policy noted them, by the dimension in which the first of them were: tool, private, target, begin, hour, amount. reeve habits lists them.",
		}, []string{"dimension"}),
		loaded: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "reeve_policy_read_timestamp_seconds", Help: "When the policy's files were last read and taken, in seconds since 1970.",
		}),
		stale: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "reeve_policy_stale", Help: "1 when the policy's files could not be taken the last time that they were read, so that an older policy is in force.",
		}),
		unpublished: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "reeve_checkpoint_publish_failing", Help: "1 when the newest checkpoint could not be published at a place, file, url or witness, the last time that it was tried.",
		}, []string{"place"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "reeve_http_requests_in_flight", Help: "HTTP requests being served.",
		}),
		sizes: make(map[uint32]uint64), agents: make(map[string]bool), named: make(map[string]bool),
	}
	// A counter that begins to be with its first event hides that event from rate().
	for _, result := range []string{"ok", "failed"} {
		m.reloads.WithLabelValues(result)
	}
	for _, reason := range []string{"connection", "credential", "forwarded", "handshake", "host", "limit", "role"} {
		m.refused.WithLabelValues(reason)
	}
	for _, quota := range []string{"agents", "contents", "held", "servers", "tasks"} {
		m.quotas.WithLabelValues(quota)
	}
	for _, dimension := range []string{"amount", "begin", "hour", "private", "target", "tool"} {
		m.unusual.WithLabelValues(dimension)
	}
	m.loaded.SetToCurrentTime()
	build := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "reeve_build_info", Help: "The program that runs; always 1.",
		ConstLabels: prometheus.Labels{"version": version, "go": runtime.Version()},
	}, func() float64 { return 1 })
	m.registry.MustRegister(m.decisions, m.latency, m.batch, m.size, m.reloads, m.refused, m.quotas, m.damaged, m.inFlight, m.ended, m.tasks, m.rules, m.shadowed, m.unusual, m.loaded, m.stale, m.unpublished, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Decision counts a decision that was answered.
func (m *Metrics) Decision(a *act.Action, d *act.Decision, took time.Duration) {
	m.decisions.WithLabelValues(a.Door, string(a.Kind), d.Effect.String()).Inc()
	m.latency.Observe(took.Seconds())
	for _, r := range d.Reasons {
		effect := r.Effect.String()
		if r.Observe {
			effect = "observe"
		}
		rule, code, _ := strings.Cut(m.name(m.named, maxRules, r.Rule+"\x00"+r.Code), "\x00")
		m.rules.WithLabelValues(rule, code, effect).Inc()
	}
}

// Shadowed counts a decision that was held against a candidate's.
func (m *Metrics) Shadowed(was, would act.Effect, changed, failed bool) {
	word := "no"
	switch {
	case failed:
		word = "failed"
	case changed:
		word = "yes"
	}
	m.shadowed.WithLabelValues(was.String(), would.String(), word).Inc()
}

// Unusual counts a cause of unusual acts in a dimension.
func (m *Metrics) Unusual(dimension string) { m.unusual.WithLabelValues(dimension).Inc() }

// maxRules is how many rules are counted by name. A policy may have ten thousand, and
// each reload can bring others.
const maxRules = 1000

// name is what somebody is counted as who is called so: by that name, or, beyond the
// first most, as one with the others.
func (m *Metrics) name(known map[string]bool, most int, name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !known[name] {
		if len(known) >= most {
			return "other"
		}
		known[name] = true
	}
	return strings.ToValidUTF8(name, "\ufffd")
}

// Checkpoint counts a commit: the log's new size, signed in note.
func (m *Metrics) Checkpoint(log uint32, size uint64, _ []byte) {
	m.mu.Lock()
	before, known := m.sizes[log]
	m.sizes[log] = size
	m.mu.Unlock()
	if known && size > before {
		m.batch.Observe(float64(size - before))
	}
	m.size.WithLabelValues(strconv.FormatUint(uint64(log), 10)).Set(float64(size))
}

// maxAgents is how many agents are counted by name; the others are one. Anybody
// can invent names.
const maxAgents = 500

// Ended counts how an A2G intent ended; with an empty outcome, an act of the
// agent that no verdict covers.
func (m *Metrics) Ended(did, outcome string) {
	if outcome == "" {
		outcome = "violation"
	}
	m.ended.WithLabelValues(m.name(m.agents, maxAgents, did), outcome).Inc()
}

// TaskEnded counts an attempt at a task.
func (m *Metrics) TaskEnded(executor string, outcome task.Phase, took time.Duration) {
	status := "failed"
	if outcome == task.PhaseComplete {
		status = "completed"
	}
	m.tasks.WithLabelValues(executor, status).Observe(took.Seconds())
}

// PolicyReload counts a reload of the policy, ok or not.
func (m *Metrics) PolicyReload(ok bool) {
	result := "ok"
	if ok {
		m.loaded.SetToCurrentTime()
		m.stale.Set(0)
	} else {
		result = "failed"
		m.stale.Set(1)
	}
	m.reloads.WithLabelValues(result).Inc()
}

// Published tells whether a checkpoint arrived at a kind of place: file, url or witness.
func (m *Metrics) Published(kind string, ok bool) {
	failing := 0.0
	if !ok {
		failing = 1
	}
	m.unpublished.WithLabelValues(kind).Set(failing)
}

// Gauge adds a gauge that is read when the metrics are. The name must be new.
func (m *Metrics) Gauge(name, help string, read func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
}

// Exported is how somebody does who sends the ledger elsewhere.
type Exported struct {
	Behind                               uint64
	Delay                                time.Duration
	Sent, Refused, Pruned, Damaged, Full uint64
	Failing                              bool
}

// Export adds the metrics of one who sends the ledger elsewhere, under a name that is new.
func (m *Metrics) Export(name string, read func() Exported) {
	labels := func(more ...string) prometheus.Labels {
		l := prometheus.Labels{"exporter": name}
		for i := 0; i < len(more); i += 2 {
			l[more[i]] = more[i+1]
		}
		return l
	}
	gauge := func(name, help string, value func(Exported) float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels()}, func() float64 { return value(read()) }))
	}
	gauge("reeve_export_lag_records", "Records of the ledger that an exporter has not sent yet.", func(e Exported) float64 { return float64(e.Behind) })
	gauge("reeve_export_lag_seconds", "How old the oldest record is that an exporter has taken up and not sent; 0 when nothing waits.", func(e Exported) float64 { return e.Delay.Seconds() })
	gauge("reeve_export_failing", "1 while nothing arrives where an exporter sends to.", func(e Exported) float64 {
		if e.Failing {
			return 1
		}
		return 0
	})
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "reeve_export_sent_total", Help: "What an exporter has sent: spans, events, or metrics.", ConstLabels: labels(),
	}, func() float64 { return float64(read().Sent) }))
	for reason, value := range map[string]func(Exported) uint64{
		"refused": func(e Exported) uint64 { return e.Refused }, "pruned": func(e Exported) uint64 { return e.Pruned }, "damaged": func(e Exported) uint64 { return e.Damaged },
		"full": func(e Exported) uint64 { return e.Full },
	} {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "reeve_export_dropped_total", Help: "What an exporter will never send: refused by the receiver for good, pruned before it was sent, damaged, or of a request while too many waited (full).", ConstLabels: labels("reason", reason),
		}, func() float64 { return float64(value(read())) }))
	}
}

// Refused counts a request that was refused. reason is one of a few fixed words.
func (m *Metrics) Refused(reason string) { m.refused.WithLabelValues(reason).Inc() }

// Damaged counts an item or key that was found damaged.
func (m *Metrics) Damaged() { m.damaged.Inc() }

// Quota counts what a principal's quota left no room for. quota is one of a few fixed words.
func (m *Metrics) Quota(quota string) { m.quotas.WithLabelValues(quota).Inc() }

// Registry is where all of them are read.
func (m *Metrics) Registry() prometheus.Gatherer { return m.registry }

func (m *Metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, DisableCompression: true})
}
