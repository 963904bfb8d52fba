// Package intent is what A2G agents ask for by ids of their own: the acts, the verdicts,
// how they ended, and the nonces of signatures, which are good once.
package intent

import (
	"fmt"
	"slices"
	"time"

	"reeve.example/reeve/act"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Outcome is how an intent that was allowed ended.
type Outcome string

// The outcomes. The empty Outcome is an intent that has not ended, or was not allowed.
const (
	Reported   Outcome = "reported"   // as it was approved
	Mismatched Outcome = "mismatched" // with another tool, arguments or digest
	Unreported Outcome = "unreported" // its time ended without a report
	Ambiguous  Outcome = "ambiguous"  // nobody can tell what was done: a timeout, an abort, or two reports that differ
	Withdrawn  Outcome = "revoked"    // taken back before it was reported
)

// Intent is an act that an agent asked for by an id of its own, the verdict,
// and how it ended.
type Intent struct {
	Agent     string `json:"agent"` // DID
	ID        string `json:"id"`    // the agent's, as sent
	Principal string `json:"principal"`
	Method    string `json:"principal_method"`
	// Organization is the principal's.
	Organization string `json:"organization,omitzero"`
	// Person is who holds the principal's credential.
	Person string `json:"person,omitzero"`
	// Delegation is by whose leave the principal asked.
	Delegation *act.Delegation `json:"delegation,omitzero"`
	Session    string          `json:"session,omitzero"`
	Tool       string          `json:"tool"`
	Digest     string          `json:"digest"`
	// Call is the digest of what may be called: the tool with the arguments as
	// the verdict leaves them. Reports that say what was done are compared with it.
	// Earlier is the same in the form before.
	Call    string `json:"call,omitzero"`
	Earlier string `json:"earlier,omitzero"`
	// Verdict is what was decided; its Position is where.
	Verdict act.Decision `json:"verdict"`
	// Expires is when the verdict ends.
	Expires time.Time `json:"expires"`
	Asked   time.Time `json:"asked"`
	// Params are the intent's as they came, while people are asked: it is judged
	// once more when they have answered. They are stored as Sealed;
	// nodes before kept them in clear.
	Params jsontext.Value `json:"params,omitzero"`
	Sealed []byte         `json:"sealed,omitzero"`

	Outcome Outcome   `json:"outcome,omitzero"`
	Status  string    `json:"status,omitzero"` // of the report
	Ended   time.Time `json:"ended,omitzero"`
}

// Grace is how long after a verdict's end its report is taken, beyond the time
// that its manifest gives the act: who began in time may end later.
const Grace = 30 * time.Second

// Allowed reports whether the verdict lets the act happen.
func (n *Intent) Allowed() bool {
	return n.Verdict.Effect == act.Allow || n.Verdict.Effect == act.Modify
}

// Open reports whether the intent still waits: for people, or for its report.
func (n *Intent) Open() bool {
	return n.Outcome == "" && (n.Verdict.Effect == act.Escalate || n.Allowed())
}

// Due is when an open intent ends by itself.
func (n *Intent) Due() time.Time {
	if n.Verdict.Effect == act.Escalate {
		if n.Verdict.Approval != nil {
			return n.Verdict.Approval.Expires
		}
		return n.Expires
	}
	due := n.Expires.Add(Grace)
	if m := n.Verdict.Manifest; m != nil {
		due = due.Add(time.Duration(m.TimeoutSeconds) * time.Second)
	}
	return due
}

// Report is what an agent says of how an act ended.
type Report struct {
	Status string
	// Tool and Digest are what the agent says it did; empty when it does not say.
	// Earlier is the digest in the form before, which an intent may be kept under.
	Tool, Digest, Earlier string
	// What it used; nil where it does not say.
	MemoryMB, CPUPercent, DurationMS *float64
}

// End takes a report. violation is empty when the report is covered by the
// verdict, else a sentence that says what is wrong.
func (n *Intent) End(r Report, now time.Time) (violation string) {
	switch {
	case n.Outcome == Reported || n.Outcome == Ambiguous:
		if r.Status == n.Status && (r.Tool == "" || r.Tool == n.Tool) && n.covers(&r) {
			return "" // said twice
		}
		n.Outcome = Ambiguous
		return fmt.Sprintf("The intent was reported as %s before, and now as %s.", n.Status, r.Status)
	case n.Verdict.Effect == act.Escalate:
		return "The intent is held, and was not allowed."
	case !n.Allowed():
		return "The intent was denied."
	case n.Outcome == Withdrawn && r.Status == "ABORTED":
		return "" // as it was told
	case n.Outcome == Withdrawn:
		return "The verdict was taken back."
	case n.Outcome == Unreported || !now.Before(n.Due()):
		return "The verdict had expired."
	case n.Outcome == Mismatched:
		return ReportedBefore
	case r.Tool != "" && r.Tool != n.Tool:
		n.end(Mismatched, r.Status, now)
		return "Another tool was used than the one approved."
	case !n.covers(&r):
		n.end(Mismatched, r.Status, now)
		return "Another act was done than the one approved."
	case r.Status == "TIMEOUT" || r.Status == "ABORTED":
		n.end(Ambiguous, r.Status, now)
	default:
		n.end(Reported, r.Status, now)
	}
	return ""
}

// ReportedBefore is the violation of a report that follows one of another act.
const ReportedBefore = "The intent was reported before, as another act than the one approved."

// Exceeded says which limit of the verdict's manifest was exceeded by what a report
// says was used; empty for none. What is advisory is no limit. Who was stopped at the
// end of the time needs a moment for it.
func (n *Intent) Exceeded(r Report) string {
	m := n.Verdict.Manifest
	if m == nil || !n.Allowed() {
		return ""
	}
	const moment = 2.0
	for _, l := range []struct {
		limit, unit string
		used        *float64
		most        float64
	}{
		{"max_memory_mb", "MB", r.MemoryMB, float64(m.MaxMemoryMB)},
		{"max_cpu_percent", "% of a CPU", r.CPUPercent, float64(m.MaxCPUPercent)},
		{"timeout_seconds", "ms", r.DurationMS, 1000 * (float64(m.TimeoutSeconds) + moment)},
	} {
		if l.used != nil && *l.used > l.most && !slices.Contains(m.Advisory, l.limit) {
			return fmt.Sprintf("It used %g %s, which is more than the verdict's %s allows.", *l.used, l.unit, l.limit)
		}
	}
	return ""
}

// covers reports whether what was done is the approved act; a report need not say.
func (n *Intent) covers(r *Report) bool {
	if r.Digest == "" {
		return true
	}
	for _, done := range []string{r.Digest, r.Earlier} {
		if done != "" && (done == n.Call || done == n.Earlier || done == n.Digest && n.Verdict.Effect != act.Modify) {
			return true
		}
	}
	return false
}

// Expire ends an intent whose time is over.
func (n *Intent) Expire(now time.Time) { n.end(Unreported, "", now) }

// Withdraw takes the verdict back.
func (n *Intent) Withdraw(now time.Time) { n.end(Withdrawn, "", now) }

func (n *Intent) end(o Outcome, status string, now time.Time) {
	n.Outcome, n.Status, n.Ended = o, status, now
}

// Data is the intent as it is stored.
func (n *Intent) Data() ([]byte, error) { return json.Marshal(n) }

// Parse reads what Data wrote.
func Parse(data []byte) (*Intent, error) {
	n := new(Intent)
	if err := json.Unmarshal(data, n); err != nil {
		return nil, fmt.Errorf("read an intent: %w", err)
	}
	return n, nil
}

// Conduct is how what an agent asked for ended, of the intents that are kept.
type Conduct struct {
	Intents    int `json:"intents"`
	Allowed    int `json:"allowed"`
	Denied     int `json:"denied"`
	Held       int `json:"held"`
	Reported   int `json:"reported"`
	Mismatched int `json:"mismatched"`
	Unreported int `json:"unreported"`
	Ambiguous  int `json:"ambiguous"`
	Revoked    int `json:"revoked"`
	Violations int `json:"violations"`
	// Governed is the share of the acts that became known which a verdict
	// covered: from 0 to 1, and 1 when none became known.
	Governed float64 `json:"governed"`
}

// ConductOf counts an agent's intents, and its violations beside them.
func ConductOf(intents []*Intent, violations int) Conduct {
	c := Conduct{Intents: len(intents), Violations: violations, Governed: 1}
	for _, n := range intents {
		switch n.Verdict.Effect {
		case act.Deny:
			c.Denied++
		case act.Escalate:
			c.Held++
		default:
			c.Allowed++
		}
		switch n.Outcome {
		case Reported:
			c.Reported++
		case Mismatched:
			c.Mismatched++
		case Unreported:
			c.Unreported++
		case Ambiguous:
			c.Ambiguous++
		case Withdrawn:
			c.Revoked++
		}
	}
	covered := c.Reported + c.Ambiguous
	if seen := covered + violations; seen > 0 {
		c.Governed = float64(covered) / float64(seen)
	}
	return c
}
