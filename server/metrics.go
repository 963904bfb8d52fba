package server

import (
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/agent"
	"reeve.example/reeve/task"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics is what a node counts, served at /metrics in Prometheus' format. It
// has its own registry. It is safe for concurrent use.
type Metrics struct {
	registry  *prometheus.Registry
	decisions *prometheus.CounterVec
	latency   prometheus.Histogram
	batch     prometheus.Histogram
	size      *prometheus.GaugeVec
	reloads   *prometheus.CounterVec
	refused   *prometheus.CounterVec
	quotas    *prometheus.CounterVec
	inFlight  prometheus.Gauge
	ended     *prometheus.CounterVec
	tasks     *prometheus.HistogramVec

	mu     sync.Mutex
	sizes  map[uint32]uint64 // of each log, after its last batch
	agents map[string]bool   // those that are counted by name
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
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "reeve_a2g_ended_total",
			Help: "How what A2G agents did came to be known: as its verdict covers (reported, ambiguous), or not (violation, mismatched), or not at all (unreported, revoked). Of an agent, governed is reported and ambiguous divided by these and violation.",
		}, []string{"agent", "outcome"}),
		tasks: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "reeve_task_seconds", Help: "Time that attempts at tasks took, by executor and status.",
			Buckets: []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10, 60, 600, 3600},
		}, []string{"executor", "status"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "reeve_http_requests_in_flight", Help: "HTTP requests being served.",
		}),
		sizes: make(map[uint32]uint64), agents: make(map[string]bool),
	}
	build := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "reeve_build_info", Help: "The program that runs; always 1.",
		ConstLabels: prometheus.Labels{"version": version, "go": runtime.Version()},
	}, func() float64 { return 1 })
	m.registry.MustRegister(m.decisions, m.latency, m.batch, m.size, m.reloads, m.refused, m.quotas, m.inFlight, m.ended, m.tasks, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Decision counts a decision that was answered.
func (m *Metrics) Decision(a *act.Action, d *act.Decision, took time.Duration) {
	m.decisions.WithLabelValues(a.Door, string(a.Kind), d.Effect.String()).Inc()
	m.latency.Observe(took.Seconds())
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
func (m *Metrics) Ended(did string, how agent.Outcome) {
	outcome := string(how)
	if outcome == "" {
		outcome = "violation"
	}
	m.mu.Lock()
	if !m.agents[did] {
		if len(m.agents) >= maxAgents {
			did = "other"
		} else {
			m.agents[did] = true
		}
	}
	m.mu.Unlock()
	m.ended.WithLabelValues(strings.ToValidUTF8(did, "\ufffd"), outcome).Inc()
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
	if !ok {
		result = "failed"
	}
	m.reloads.WithLabelValues(result).Inc()
}

// Gauge adds a gauge that is read when the metrics are. The name must be new.
func (m *Metrics) Gauge(name, help string, read func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
}

// Refused counts a request that was refused. reason is one of a few fixed words.
func (m *Metrics) Refused(reason string) { m.refused.WithLabelValues(reason).Inc() }

// Quota counts what a principal's quota left no room for. quota is one of a few fixed words.
func (m *Metrics) Quota(quota string) { m.quotas.WithLabelValues(quota).Inc() }

func (m *Metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, DisableCompression: true})
}
