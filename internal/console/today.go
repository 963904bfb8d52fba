package console

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"reeve.example/reeve/internal/agent"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/habits"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/internal/words"
)

// todayView is what a person on duty has to know first.
type todayView struct {
	Sentence string
	Waiting  []waitingView
	More     int // that wait beside these
	Barred   []*agent.Agent
	Changed  []changedAgent
	Unusual  []operator.UnusualLine // in the last day
	Denied   []foldView             // since yesterday, what is alike together
	Empty    bool                   // nothing has been recorded yet
	Node     *operator.Status
	Logs     []logView
	Looks    bool // whether the visitor may look at agents and decisions
}

const fewWait = 5

// changedAgent is an agent that is another since yesterday.
type changedAgent struct {
	*habits.Report
	What  []string
	Since time.Time
}

// drift is which agents have changed within a day, and what was unusual.
func (t *todayView) drift(v *visit) error {
	var known operator.HabitsList
	if err := v.ask("GET", "/api/v1/habits", nil, &known); err != nil {
		return err
	}
	since := v.console.Now().Add(-24 * time.Hour)
	for _, a := range known.Agents {
		if n := len(a.Chapters); n > 1 && a.Chapters[n-1].Since.After(since) {
			t.Changed = append(t.Changed, changedAgent{a, a.Chapters[n-1].Changed, a.Chapters[n-1].Since})
		}
	}
	for _, line := range known.Unusual {
		if line.Last.After(since) && len(t.Unusual) < fewWait {
			t.Unusual = append(t.Unusual, line)
		}
	}
	return nil
}

func (v *visit) today() (view, error) {
	t := todayView{Looks: v.may(looking)}
	list, more, err := v.held(false)
	if err != nil {
		return view{}, err
	}
	for _, h := range list.Approvals {
		if h.State == approval.Held {
			t.Waiting = append(t.Waiting, v.listed(h))
		}
	}
	said := []string{"Nothing waits for people"}
	switch n := len(t.Waiting); {
	case n == 1:
		said[0] = "1 act waits for an answer"
	case more:
		said[0] = fmt.Sprintf("More than %d acts wait for an answer", n)
	case n > 1:
		said[0] = fmt.Sprintf("%d acts wait for an answer", n)
	}
	if len(t.Waiting) > fewWait {
		t.More = len(t.Waiting) - fewWait
		t.Waiting = t.Waiting[:fewWait]
	}
	if t.Looks {
		var agents operator.AgentList
		if err := v.ask("GET", "/agents", nil, &agents); err != nil {
			return view{}, err
		}
		for _, a := range agents.Agents {
			if a.State == agent.Suspended || a.State == agent.Revoked {
				t.Barred = append(t.Barred, a)
			}
		}
		if err := t.drift(v); err != nil {
			return view{}, err
		}
		if n := len(t.Changed); n > 0 {
			said = append(said, words.Count(n, "agent")+" changed")
		}
		var denied ledger.Answer
		if err := v.ask("GET", "/api/v1/decisions?effect=deny&since=24h&limit=1000", nil, &denied); err != nil {
			return view{}, err
		}
		var n int
		if t.Denied, n, _ = fold(denied.Lines, fewWait); n > 0 {
			for i := range t.Denied {
				var d operator.DecisionShown
				if err := v.ask("GET", "/api/v1/decisions/"+url.PathEscape(t.Denied[i].Decision), nil, &d); err == nil { // else its tool alone is said
					t.Denied[i].What = d.What
				}
			}
			word := words.Count(n, "denial")
			if denied.Next != "" {
				word = "more than " + word
			}
			said = append(said, word+" in the last day")
		}
		if t.Logs, err = v.logs(); err != nil {
			return view{}, err
		}
		if n := len(t.Barred); n > 0 {
			said = append(said, words.Count(n, "agent")+" may do nothing")
		}
	}
	if v.may(admins) {
		t.Node = new(operator.Status)
		if err := v.ask("GET", "/admin/status", nil, t.Node); err != nil {
			return view{}, err
		}
		t.Empty = t.Node.Size == 0
	}
	t.Sentence = strings.Join(said, ", ") + "."
	return view{template: "today", title: "Today", data: t}, nil
}
