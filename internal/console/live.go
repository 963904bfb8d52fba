package console

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/internal/report"
)

// filters are what decisions are narrowed by: the address is the filter.
var filters = []string{"agent", "tool", "effect", "rule", "door", "session", "user", "principal", "kind", "since", "until", "text"}

// liveView is what agents do, folded: what is alike is one row with its count.
type liveView struct {
	Filters []filterView
	Set     []filterView // those that are set
	Rows    []foldView
	Read    int    // how many decisions the rows stand for
	More    bool   // there are older ones
	Older   string // the address of those
	Problem string
	Since   time.Time // the oldest that is shown
}

type filterView struct{ Name, Value, Without string }

// foldView is decisions that are alike.
type foldView struct {
	ledger.Line
	Count int
	First time.Time
	Only  string // the address at which only these are shown
}

// Bounds of what is shown at once: a page stays quick, however fast agents are.
const (
	liveLines = 1000
	liveRows  = 32
)

// asked is the query of a page's address, and what it leaves out.
func (v *visit) asked() url.Values {
	q := url.Values{}
	for _, name := range filters {
		if value := strings.TrimSpace(v.FormValue(name)); value != "" {
			q.Set(name, value)
		}
	}
	return q
}

func (v *visit) live() (view, error) {
	q := v.asked()
	l := liveView{}
	for _, name := range filters {
		one := filterView{Name: name, Value: q.Get(name)}
		if one.Value != "" {
			without := url.Values{}
			for other := range q {
				if other != name {
					without.Set(other, q.Get(other))
				}
			}
			one.Without = home + "live?" + without.Encode()
			l.Set = append(l.Set, one)
		}
		l.Filters = append(l.Filters, one)
	}
	asked := url.Values{"limit": {"1000"}}
	for name := range q {
		asked.Set(name, q.Get(name))
	}
	if cursor := v.FormValue("cursor"); cursor != "" {
		asked.Set("cursor", cursor)
	}
	var found ledger.Answer
	if err := v.ask("GET", "/api/v1/decisions?"+asked.Encode(), nil, &found); err != nil {
		if operator.StatusOf(err) != http.StatusBadRequest {
			return view{}, err
		}
		l.Problem = sentence(err.Error())
		return view{template: "live", title: "Live", data: l, status: http.StatusBadRequest}, nil
	}
	l.Rows, l.Read = fold(found.Lines, liveRows)
	if l.More = found.Next != ""; l.More {
		q.Set("cursor", found.Next)
		l.Older = home + "live?" + q.Encode()
	}
	if n := len(found.Lines); n > 0 {
		l.Since = found.Lines[n-1].Time
	}
	return view{template: "live", title: "Live", data: l}, nil
}

// fold puts decisions together that are alike, the newest first, into so many rows at most.
func fold(lines []ledger.Line, most int) (rows []foldView, read int) {
	at := map[string]int{}
	for _, line := range lines {
		if line.Effect == "" {
			continue // no decision: somebody's administration, a checkpoint
		}
		key := strings.Join([]string{line.Agent, line.Principal, line.Tool, line.Server, line.Kind, line.Effect, line.Door, strings.Join(line.Rules, "\x00")}, "\x01")
		i, known := at[key]
		if !known {
			if len(rows) == most {
				continue
			}
			only := url.Values{"effect": {line.Effect}}
			for name, value := range map[string]string{"agent": line.Agent, "tool": line.Tool, "door": line.Door, "kind": line.Kind} {
				if value != "" {
					only.Set(name, value)
				}
			}
			i, at[key] = len(rows), len(rows)
			rows = append(rows, foldView{Line: line, Only: home + "live?" + only.Encode()})
		}
		rows[i].Count++
		rows[i].First = line.Time
		read++
	}
	return rows, read
}

// decision is why one decision was made.
func (v *visit) decision() (view, error) {
	var d operator.DecisionShown
	if err := v.ask("GET", "/api/v1/decisions/"+url.PathEscape(v.PathValue("id")), nil, &d); err != nil {
		return view{}, err
	}
	return view{template: "decision", title: d.Decision + " — Why", data: d}, nil
}

// runsView is a part of the list of agents' runs.
type runsView struct {
	Runs    []report.Run
	Older   string // the address of what follows
	Filters map[string]string
	Set     bool // whether any is set
	Problem string
}

// runs lists agents' runs: sessions by whichever door, and trees of tasks.
func (v *visit) runs() (view, error) {
	q := v.asked()
	s := runsView{Filters: map[string]string{}, Set: len(q) > 0}
	for name := range q {
		s.Filters[name] = q.Get(name)
	}
	if cursor := v.FormValue("cursor"); cursor != "" {
		q.Set("cursor", cursor)
	}
	q.Set("limit", "50")
	var found report.Runs
	if err := v.ask("GET", "/api/v1/sessions?"+q.Encode(), nil, &found); err != nil {
		if operator.StatusOf(err) != http.StatusBadRequest {
			return view{}, err
		}
		s.Problem = sentence(err.Error())
		return view{template: "sessions", title: "Sessions", data: s, status: http.StatusBadRequest}, nil
	}
	if s.Runs = found.Runs; found.Next != "" {
		q.Set("cursor", found.Next)
		q.Del("limit")
		s.Older = home + "sessions?" + q.Encode()
	}
	return view{template: "sessions", title: "Sessions", data: s}, nil
}

// storyView is a window of one run, as turns and steps.
type storyView struct {
	report.Run
	Turns []turnView
	Shown int    // steps of this window
	Next  string // the address of what follows
}

type turnView struct {
	Turn  string
	Steps []stepView
}

// stepView is one step, and the pause before it if that was long.
type stepView struct {
	report.Step
	Idle time.Duration
}

// idle is from when on a pause is shown.
const idle = time.Minute

// run is the story of one run.
func (v *visit) run() (view, error) {
	id := v.FormValue("session")
	if id == "" {
		return there(home + "sessions")
	}
	asked := url.Values{}
	if cursor := v.FormValue("cursor"); cursor != "" {
		asked.Set("cursor", cursor)
	}
	var found report.Window
	if err := v.ask("GET", "/api/v1/sessions/"+segment(id)+"?"+asked.Encode(), nil, &found); err != nil {
		return view{}, err
	}
	s := storyView{Run: found.Run, Shown: len(found.Steps)}
	var last time.Time
	for _, one := range found.Steps {
		step := stepView{Step: one}
		if !last.IsZero() && one.Time.Sub(last) >= idle {
			step.Idle = one.Time.Sub(last)
		}
		last = one.Time
		if n := len(s.Turns); n == 0 || s.Turns[n-1].Turn != one.Turn {
			s.Turns = append(s.Turns, turnView{Turn: one.Turn})
		}
		turn := &s.Turns[len(s.Turns)-1]
		turn.Steps = append(turn.Steps, step)
	}
	if found.Next != "" {
		s.Next = home + "session?" + url.Values{"session": {id}, "cursor": {found.Next}}.Encode()
	}
	return view{template: "session", title: id + " — Sessions", data: &s}, nil
}

// segment is a name of others as one segment of a path, whatever is in it: a name of dots
// alone would lead elsewhere.
func segment(name string) string { return strings.ReplaceAll(url.PathEscape(name), ".", "%2E") }
