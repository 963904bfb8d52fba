package server

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
)

// Check is one thing that must be true for the node to be ready.
type Check struct {
	Name string
	// Run returns why it is not true.
	Run func(context.Context) error
	// Warns says that the node is ready all the same, and only says what is not so.
	Warns bool
}

// WriteJSON answers with a JSON value. w's other headers are set already.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.MarshalWrite(w, v, json.Deterministic(true)) // an error means that the client has gone
}

// fail answers a request that is no JSON-RPC with what is wrong.
func fail(w http.ResponseWriter, status int, reason string) {
	WriteJSON(w, status, map[string]string{"error": reason})
}

// health says that the process lives.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	WriteJSON(w, http.StatusOK, struct {
		Status  string `json:"status"`
		Version string `json:"version"`
		Uptime  int64  `json:"uptime_seconds"`
	}{"ok", s.cfg.Version, int64(time.Since(s.started).Seconds())})
}

// readyz says whether the node can decide. Why it cannot is told on this
// machine and in the log; strangers learn which check failed.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	status, word := http.StatusOK, "ready"
	checks := make(map[string]string, len(s.cfg.Checks))
	for i, err := range s.ready.run(r.Context()) {
		checks[s.cfg.Checks[i].Name] = "ok"
		if err == nil {
			continue
		}
		checks[s.cfg.Checks[i].Name] = "failed"
		if s.cfg.Checks[i].Warns {
			checks[s.cfg.Checks[i].Name] = "warning"
		} else {
			status, word = http.StatusServiceUnavailable, "not ready"
		}
		if s.here(r) {
			checks[s.cfg.Checks[i].Name] = err.Error()
		}
	}
	WriteJSON(w, status, struct {
		Status string            `json:"status"`
		Checks map[string]string `json:"checks"`
	}{word, checks})
}

// readiness runs the checks, at most once a second: they write, and everybody
// may ask.
type readiness struct {
	checks []Check
	logger *slog.Logger

	mu     sync.Mutex
	last   time.Time
	result []error
}

func (r *readiness) run(ctx context.Context) []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.result != nil && time.Since(r.last) < time.Second {
		return r.result
	}
	// The result serves others, too, so it does not depend on who asked.
	ctx = context.WithoutCancel(ctx)
	result := make([]error, len(r.checks))
	for i, check := range r.checks {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		result[i] = check.Run(ctx)
		cancel()
		if failed := result[i] != nil; failed != (r.result != nil && r.result[i] != nil) {
			if check.Warns {
				continue // who checks says it
			}
			if failed {
				r.logger.Error("the node is not ready", "check", check.Name, "error", result[i])
			} else {
				r.logger.Info("the node is ready again", "check", check.Name)
			}
		}
	}
	r.result, r.last = result, time.Now()
	return result
}
