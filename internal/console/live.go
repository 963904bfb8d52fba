package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/operator"
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

// runView is one session in a list.
type runView struct {
	Session, Principal, Agent, Door string
	First, Last                     time.Time
	Steps, Stopped, Held            int
}

// runs lists the sessions of what was decided last.
func (v *visit) runs() (view, error) {
	asked := v.asked()
	asked.Set("limit", "1000")
	var found ledger.Answer
	if err := v.ask("GET", "/api/v1/decisions?"+asked.Encode(), nil, &found); err != nil {
		return view{}, err
	}
	at := map[[2]string]*runView{}
	var list []*runView
	for _, line := range found.Lines {
		if line.Session == "" {
			continue
		}
		key := [2]string{line.Principal, line.Session}
		one := at[key]
		if one == nil {
			one = &runView{Session: line.Session, Principal: line.Principal, Agent: line.Agent, Door: line.Door, Last: line.Time}
			at[key] = one
			list = append(list, one)
		}
		one.First = line.Time
		one.Steps++
		switch line.Effect {
		case "deny":
			one.Stopped++
		case "escalate":
			one.Held++
		}
	}
	return view{template: "sessions", title: "Sessions", data: struct {
		Runs []*runView
		More bool
	}{list, found.Next != ""}}, nil
}

// storyView is one session as turns and steps.
type storyView struct {
	Session, Principal string
	Agents             []string
	Turns              []turnView
	Steps              int
	Next               string // the address of what follows
	Counts             map[string]int
}

type turnView struct {
	Turn  string
	Steps []stepView
}

// stepView is one step, and the pause before it if that was long.
type stepView struct {
	ledger.Line
	Idle  time.Duration
	Child bool // of a session that this one began
}

// A window of a session, and from when on a pause is shown.
const (
	storySteps = "200"
	idle       = time.Minute
)

// run is the story of one session.
func (v *visit) run() (view, error) {
	s := storyView{Session: v.FormValue("session"), Principal: v.FormValue("principal"), Counts: map[string]int{}}
	if s.Session == "" {
		return there(home + "sessions")
	}
	asked := url.Values{"session": {s.Session}, "order": {"oldest"}, "limit": {storySteps}}
	if s.Principal != "" {
		asked.Set("principal", s.Principal)
	}
	if cursor := v.FormValue("cursor"); cursor != "" {
		asked.Set("cursor", cursor)
	}
	var found ledger.Answer
	if err := v.ask("GET", "/api/v1/decisions?"+asked.Encode(), nil, &found); err != nil {
		return view{}, err
	}
	var last time.Time
	for _, line := range found.Lines {
		step := stepView{Line: line, Child: line.Session != s.Session}
		if !last.IsZero() && line.Time.Sub(last) >= idle {
			step.Idle = line.Time.Sub(last)
		}
		last = line.Time
		if n := len(s.Turns); n == 0 || s.Turns[n-1].Turn != line.Turn {
			s.Turns = append(s.Turns, turnView{Turn: line.Turn})
		}
		turn := &s.Turns[len(s.Turns)-1]
		turn.Steps = append(turn.Steps, step)
		s.Steps++
		if line.Effect != "" {
			s.Counts[line.Effect]++
		}
		if line.Agent != "" && !slices.Contains(s.Agents, line.Agent) {
			s.Agents = append(s.Agents, line.Agent)
		}
	}
	if found.Next != "" {
		asked.Del("order")
		asked.Del("limit")
		asked.Set("cursor", found.Next)
		s.Next = home + "session?" + asked.Encode()
	}
	return view{template: "session", title: s.Session + " — Sessions", data: s}, nil
}
