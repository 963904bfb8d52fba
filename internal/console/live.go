package console

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/flow"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/internal/report"
	"reeve.example/reeve/task"
)

// filters are what decisions are narrowed by: the address is the filter.
var filters = []string{"agent", "tool", "effect", "rule", "door", "session", "user", "principal", "kind", "approval", "since", "until", "text"}

// liveView is what agents do, folded: what is alike is one row with its count.
type liveView struct {
	Filters []filterView
	Set     []filterView // those that are set
	Stopped []foldView   // denied, held or changed: among thousands that pass one would not be seen
	Rows    []foldView
	Read    int // how many decisions the rows stand for
	Left    int // decisions that are in no row
	Looked  sinceView
	More    bool   // there are older ones
	Older   string // the address of those
	Problem string
	Since   time.Time // the oldest that is shown
}

type filterView struct{ Name, Value, Without string }

// foldView is decisions that are alike.
type foldView struct {
	ledger.Line
	Count  int
	Agents int // how many have done it
	First  time.Time
	Only   string // the address at which only these are shown
	What   string // what the newest of them would have done; empty where it was not read
}

// Fresh reports whether the newest of them came since the visitor last looked.
func (f foldView) Fresh(since time.Time) bool { return !since.IsZero() && f.Time.After(since) }

// sinceView is what has happened since the visitor last looked.
type sinceView struct {
	At    time.Time // zero at the first look
	Count int
	More  bool // there are others
	Not   int  // of them were denied, held or changed
	Only  string
}

// Bounds of what is shown at once: a page stays quick, however fast agents are.
const (
	liveLines   = 1000
	liveRows    = 24
	liveStopped = 10
	stoppedAge  = time.Hour // what was stopped earlier is found by its filter
)

// stopping are the effects that somebody who looks must not miss.
var stopping = []string{"deny", "escalate", "modify"}

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
	passed := found.Lines
	if first := v.FormValue("cursor") == ""; first && q.Get("effect") == "" {
		stopped, err := v.stopped(q)
		if err != nil {
			return view{}, err
		}
		l.Stopped, _, _ = fold(stopped, liveStopped)
		passed = slices.DeleteFunc(slices.Clone(found.Lines), func(line ledger.Line) bool { return slices.Contains(stopping, line.Effect) })
		if l.Looked, err = v.sinceLooked(found.Lines); err != nil {
			return view{}, err
		}
	}
	l.Rows, l.Read, l.Left = fold(passed, liveRows)
	if l.More = found.Next != ""; l.More {
		q.Set("cursor", found.Next)
		l.Older = home + "live?" + q.Encode()
	}
	if n := len(found.Lines); n > 0 {
		l.Since = found.Lines[n-1].Time
	}
	return view{template: "live", title: "Live", data: l}, nil
}

// stopped are the newest decisions that did not simply let an act pass, of those that are
// asked for, the newest first.
func (v *visit) stopped(q url.Values) (list []ledger.Line, err error) {
	asked := maps.Clone(q)
	asked.Set("limit", "200")
	if asked.Get("since") == "" {
		asked.Set("since", v.console.Now().Add(-stoppedAge).UTC().Format(time.RFC3339))
	}
	for _, effect := range stopping {
		asked.Set("effect", effect)
		var found ledger.Answer
		if err := v.ask("GET", "/api/v1/decisions?"+asked.Encode(), nil, &found); err != nil {
			return nil, err
		}
		list = append(list, found.Lines...)
	}
	slices.SortStableFunc(list, func(a, b ledger.Line) int { return b.Time.Compare(a.Time) })
	return list, nil
}

// sinceLooked counts what has happened since the visitor last had this page before them.
// newest are decisions that were read already. While the page is open, the time stands.
func (v *visit) sinceLooked(newest []ledger.Line) (s sinceView, err error) {
	s.At = v.session.look(v.console.Now(), v.Header.Get("HX-Request") == "")
	if s.At.IsZero() {
		return s, nil
	}
	since := url.Values{"since": {s.At.UTC().Format(time.RFC3339)}}
	s.Only = home + "live?" + since.Encode()
	if n := len(newest); v.asked().Encode() != "" || n == liveLines && newest[n-1].Time.After(s.At) {
		since.Set("limit", strconv.Itoa(liveLines))
		var found ledger.Answer
		if err := v.ask("GET", "/api/v1/decisions?"+since.Encode(), nil, &found); err != nil {
			return s, err
		}
		newest, s.More = found.Lines, found.Next != ""
	}
	for _, line := range newest {
		if line.Effect == "" || !line.Time.After(s.At) {
			continue
		}
		if s.Count++; slices.Contains(stopping, line.Effect) {
			s.Not++
		}
	}
	return s, nil
}

// fold puts decisions together that are alike, the newest first, into so many rows at most:
// what each agent does with a tool is a row, or if that is too many, what all do with it.
// read counts the decisions, and left those of them that are in no row.
func fold(lines []ledger.Line, most int) (rows []foldView, read, left int) {
	rows, left = foldBy(lines, most, true)
	if left > 0 {
		rows, left = foldBy(lines, most, false)
	}
	for _, row := range rows {
		read += row.Count
	}
	return rows, read + left, left
}

func foldBy(lines []ledger.Line, most int, who bool) (rows []foldView, left int) {
	at := map[string]int{}
	agents := map[string]bool{}
	for _, line := range lines {
		if line.Effect == "" {
			continue // no decision: somebody's administration, a checkpoint
		}
		key := strings.Join([]string{line.Tool, line.Server, line.Kind, line.Effect, line.Door, strings.Join(line.Rules, "\x00")}, "\x01")
		whose := key + "\x01" + line.Agent + "\x01" + line.Principal
		if who {
			key = whose
		}
		i, known := at[key]
		if !known {
			if len(rows) == most {
				left++
				continue
			}
			only := url.Values{"effect": {line.Effect}}
			for name, value := range map[string]string{"tool": line.Tool, "door": line.Door, "kind": line.Kind} {
				if value != "" {
					only.Set(name, value)
				}
			}
			if who && line.Agent != "" {
				only.Set("agent", line.Agent)
			}
			i, at[key] = len(rows), len(rows)
			rows = append(rows, foldView{Line: line, Only: home + "live?" + only.Encode()})
		}
		if !agents[whose] {
			agents[whose] = true
			rows[i].Agents++
		}
		rows[i].Count++
		rows[i].First = line.Time
	}
	return rows, left
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
	Turns   []turnView
	From    int       // the number of the first step that is shown
	Shown   int       // steps of this window
	Next    string    // the address of what follows
	Ways    []wayView // of what others wrote, to where it was used
	Foreign int       // steps that brought such text
	Effect  string    // only steps of this are shown; empty for all
	Tree    string    // the address of its tasks
}

// To is the number of the last step that is shown.
func (s *storyView) To() int { return s.From + s.Shown - 1 }

type chip struct {
	Effect, Word string
	Count        int
}

// chips are what of the steps can be looked at alone.
func (s *storyView) chips() (list []chip) {
	for _, c := range []chip{{"deny", "denied", s.Denied}, {"escalate", "held", s.Held}, {"modify", "changed", s.Changed}} {
		if c.Count > 0 || c.Effect == s.Effect {
			list = append(list, c)
		}
	}
	return list
}

type turnView struct {
	Turn  string
	Steps []stepView
}

// stepView is one step, with the pause before it if that was long.
type stepView struct {
	report.Step
	Idle   time.Duration
	Begins string // the run of a sub-agent's whose first step here it is
	Task   string // the name of the task that it is about
	Depth  int    // how deep its task, or its sub-agent, stands
}

// wayView is where a value that others wrote was used, and what brought it in.
type wayView struct {
	act.Trace
	Step *report.Step // that used it
	From *report.Step // that brought it in; nil where it is not in this window
}

// idle is from when on a pause is shown.
const idle = time.Minute

// mostDeep is how deep steps are indented.
const mostDeep = 6

// run is the story of one run.
func (v *visit) run() (view, error) {
	id := v.FormValue("session")
	if id == "" {
		return there(home + "sessions")
	}
	asked := url.Values{}
	for _, name := range []string{"cursor", "effect"} {
		if value := v.FormValue(name); value != "" {
			asked.Set(name, value)
		}
	}
	var found report.Window
	if err := v.ask("GET", "/api/v1/sessions/"+segment(id)+"?"+asked.Encode(), nil, &found); err != nil {
		return view{}, err
	}
	from, _ := strconv.Atoi(v.FormValue("from"))
	s := storyView{Run: found.Run, Shown: len(found.Steps), From: max(1, from), Effect: v.FormValue("effect")}
	tasks, err := v.tasksOf(&s)
	if err != nil {
		return view{}, err
	}
	at := map[string]*report.Step{}
	var last time.Time
	child := ""
	for i := range found.Steps {
		one := &found.Steps[i]
		at[one.Decision] = one
		step := stepView{Step: *one, Depth: tasks[one.Decision].depth, Task: tasks[one.Decision].name}
		if !last.IsZero() && one.Time.Sub(last) >= idle {
			step.Idle = one.Time.Sub(last)
		}
		last = one.Time
		if one.Child != "" {
			if step.Depth++; one.Child != child {
				step.Begins = one.Session
			}
		}
		child = one.Child
		if n := len(s.Turns); n == 0 || s.Turns[n-1].Turn != one.Turn {
			s.Turns = append(s.Turns, turnView{Turn: one.Turn})
		}
		turn := &s.Turns[len(s.Turns)-1]
		turn.Steps = append(turn.Steps, step)
		if slices.Contains(one.Labels, "foreign") {
			s.Foreign++
		}
		for _, way := range one.Ways {
			s.Ways = append(s.Ways, wayView{way, one, at[way.Decision]})
		}
	}
	if found.Next != "" {
		next := url.Values{"session": {id}, "cursor": {found.Next}, "from": {strconv.Itoa(s.From + s.Shown)}}
		if s.Effect != "" {
			next.Set("effect", s.Effect)
		}
		s.Next = home + "session?" + next.Encode()
	}
	return view{template: "session", title: id + " — Sessions", data: &s}, nil
}

// taskOf says which task a decision is about.
type taskOf struct {
	name  string
	depth int
}

// mostNested is up to how many steps of a tree of tasks they are nested.
const mostNested = 2000

// tasksOf are the tasks that the decisions of a run are about, where the run is a tree of tasks.
func (v *visit) tasksOf(s *storyView) (map[string]taskOf, error) {
	id, err := task.ParseID(s.ID)
	if err != nil || s.Steps > mostNested {
		return nil, nil
	}
	tree, err := v.flow().Tree(v.Context(), id)
	if errors.Is(err, flow.ErrNotFound) {
		return nil, nil // it was removed, and its records stay
	}
	if err != nil {
		return nil, err
	}
	s.Tree = home + "tasks/" + id.String()
	all := map[string]taskOf{}
	var walk func(n *flow.Node, depth int)
	walk = func(n *flow.Node, depth int) {
		for _, decision := range []string{n.Task.Decision, n.Task.Outcome} {
			all[decision] = taskOf{n.Task.Name, min(depth, mostDeep)}
		}
		for i := range n.Children {
			walk(&n.Children[i], depth+1)
		}
	}
	walk(tree, 0)
	delete(all, "")
	return all, nil
}

// segment is a name of others as one segment of a path, whatever is in it: a name of dots
// alone would lead elsewhere.
func segment(name string) string { return strings.ReplaceAll(url.PathEscape(name), ".", "%2E") }
