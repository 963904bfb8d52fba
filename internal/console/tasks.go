package console

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"reeve.example/reeve/flow"
	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/task"

	"github.com/go-json-experiment/json/jsontext"
)

// flow is the way to the node's tasks, in the visitor's name.
func (v *visit) flow() *flow.Client {
	return &flow.Client{URL: "http://localhost", HTTP: v.node.HTTP, Retries: -1}
}

// tasksView is a list of trees of tasks.
type tasksView struct {
	Tasks      []flow.Task
	Total      int // -1 where that is not known
	Status     string
	Statuses   []string
	From       int
	Next, Prev string
}

const tasksPage = 50

func (v *visit) tasks() (view, error) {
	t := tasksView{Status: v.FormValue("status"), Statuses: []string{"pending", "in_progress", "completed", "failed", "cancelled", scheduled}}
	t.From, _ = strconv.Atoi(v.FormValue("from"))
	t.From = max(0, t.From)
	if !slices.Contains(t.Statuses, t.Status) {
		t.Status = ""
	}
	if t.Status == scheduled {
		list, err := v.flow().Scheduled(v.Context(), tasksPage+1, t.From)
		if err != nil {
			return view{}, err
		}
		t.Total, t.Tasks = -1, list[:min(len(list), tasksPage)]
		t.pages(len(list) > tasksPage)
		return view{template: "tasks", title: "Schedules — Tasks", data: t}, nil
	}
	found, err := v.flow().List(v.Context(), flow.Filter{Status: task.Status(t.Status), Roots: true, Limit: tasksPage, Offset: t.From})
	if err != nil {
		return view{}, err
	}
	t.Tasks, t.Total = found.Tasks, found.Total
	t.pages(t.From+len(t.Tasks) < t.Total)
	return view{template: "tasks", title: "Tasks", data: t}, nil
}

// scheduled asks for the tasks with a schedule, whatever their state.
const scheduled = "scheduled"

// pages are the addresses of what stands before and behind.
func (t *tasksView) pages(more bool) {
	at := func(from int) string {
		return home + "tasks?" + url.Values{"status": {t.Status}, "from": {strconv.Itoa(from)}}.Encode()
	}
	if more {
		t.Next = at(t.From + tasksPage)
	}
	if t.From > 0 {
		t.Prev = at(max(0, t.From-tasksPage))
	}
}

// treeView is one task with all that is under it.
type treeView struct {
	flow.Task
	Rows    []rowView
	Of      int // tasks of the tree
	Found   int // of them are asked for
	From    int // the number of the first row of those
	Show    string
	Shows   []showView
	Next    string
	Prev    string
	Graph   *graph
	Log     []logLine // the newest of what happened, the newest first
	Changes bool
	Problem string
	Span    time.Duration // from the first start to the last end
}

// showView is a part of a tree's tasks that can be looked at alone.
type showView struct {
	Name string
	N    int
	To   string
}

// logLine is one event of a tree, with its task's name.
type logLine struct {
	flow.Event
	Name string
	Says string
}

// maxLog is how many of the newest events a page shows.
const maxLog = 100

// onPath asks for the tasks of the critical path.
const onPath = "critical path"

// rowView is a task in its tree, with where it stands in time.
type rowView struct {
	flow.Task
	Depth  int
	X, W   float64 // of its bar, in hundredths of the span; W is 0 for what has not begun
	Slow   bool    // it is on the critical path
	Indent float64
}

// maxTaskRows bounds the rows of one page.
const maxTaskRows = 200

func (v *visit) task() (view, error) { return v.showTask(0, "") }

func (v *visit) showTask(status int, problem string) (view, error) {
	id, err := task.ParseID(v.PathValue("id"))
	if err != nil {
		return view{"problem", "Not found", problemView{Title: "Not found", Text: "This is no task's id."}, 404, "", false}, nil
	}
	tree, err := v.flow().Tree(v.Context(), id)
	if err != nil {
		return view{}, err
	}
	t := treeView{Task: tree.Task, Changes: v.may(admins), Problem: problem, Show: v.FormValue("show")}
	for _, v := range []*jsontext.Value{&t.Result, &t.Inputs} {
		if string(*v) == "null" || string(*v) == "{}" {
			*v = nil
		}
	}
	var walk func(n *flow.Node, depth int)
	all := []rowView{}
	walk = func(n *flow.Node, depth int) {
		all = append(all, rowView{Task: n.Task, Depth: depth, Indent: float64(min(depth, 12)) * 16})
		for i := range n.Children {
			walk(&n.Children[i], depth+1)
		}
	}
	walk(tree, 0)
	now := v.console.Now()
	var first, last time.Time
	for _, r := range all {
		if !r.Started.IsZero() && (first.IsZero() || r.Started.Before(first)) {
			first = r.Started
		}
		if end := ended(&r.Task, now); end.After(last) {
			last = end
		}
	}
	if t.Span = last.Sub(first); first.IsZero() || t.Span <= 0 {
		t.Span = 0
	}
	slow := critical(all, now)
	for i := range all {
		r := &all[i]
		if r.Slow = slow[r.ID]; t.Span > 0 && !r.Started.IsZero() {
			r.X = 100 * float64(r.Started.Sub(first)) / float64(t.Span)
			r.W = max(0.6, 100*float64(ended(&r.Task, now).Sub(r.Started))/float64(t.Span))
			r.X = min(r.X, 100-r.W)
		}
	}
	t.Of, t.Graph = len(all), layout(all)
	if t.Log, err = v.log(id, all); err != nil {
		return view{}, err
	}
	t.window(all, v.FormValue("from"))
	return view{template: "task", title: cmp.Or(tree.Task.Name, id.String()) + " — Tasks", data: &t, status: status}, nil
}

// window takes the rows that are asked for: of all or of one state, and a page of those.
func (t *treeView) window(all []rowView, from string) {
	at := func(show string, from int) string {
		q := url.Values{}
		if show != "" {
			q.Set("show", show)
		}
		if from > 0 {
			q.Set("from", strconv.Itoa(from))
		}
		return home + "tasks/" + t.ID.String() + "?" + q.Encode() + "#tree"
	}
	is := func(r *rowView, show string) bool {
		return show == "" || show == string(r.Status) || show == onPath && r.Slow
	}
	shows := []string{"", onPath}
	for _, s := range task.Statuses {
		shows = append(shows, string(s))
	}
	if !slices.Contains(shows, t.Show) {
		t.Show = ""
	}
	for _, show := range shows {
		n := 0
		for i := range all {
			if is(&all[i], show) {
				n++
			}
		}
		if n > 0 && len(all) > 1 || show == t.Show {
			t.Shows = append(t.Shows, showView{show, n, at(show, 0)})
		}
	}
	rows := slices.DeleteFunc(all, func(r rowView) bool { return !is(&r, t.Show) })
	t.Found = len(rows)
	t.From, _ = strconv.Atoi(from)
	t.From = max(0, min(t.From, len(rows)-1))
	t.Rows = rows[t.From:min(len(rows), t.From+maxTaskRows)]
	if t.From+len(t.Rows) < len(rows) {
		t.Next = at(t.Show, t.From+maxTaskRows)
	}
	if t.From > 0 {
		t.Prev = at(t.Show, t.From-maxTaskRows)
	}
}

// First and To are the numbers of the first row and the last.
func (t *treeView) First() int { return t.From + 1 }

func (t *treeView) To() int { return t.From + len(t.Rows) }

// log is what happened last to a task and what is under it.
func (v *visit) log(id task.ID, rows []rowView) (list []logLine, err error) {
	latest, err := v.flow().Latest(v.Context(), id, 10*maxLog)
	if errors.Is(err, flow.ErrNotFound) {
		return nil, nil // it was removed in between
	}
	if err != nil {
		return nil, err
	}
	names := make(map[task.ID]string, len(rows))
	for i := range rows {
		names[rows[i].ID] = cmp.Or(rows[i].Name, rows[i].ID.String())
	}
	for _, e := range slices.Backward(latest) { // of the whole tree that it is in
		name, under := names[e.Task]
		if !under || len(list) == maxLog {
			continue
		}
		one := logLine{Event: e, Name: name, Says: cmp.Or(e.Message, e.Error)}
		if e.Type == "task_progress_update" {
			one.Says = cmp.Or(one.Says, fmt.Sprintf("%.0f %%", 100*e.Progress))
		} else if e.Type != "task_status_update" && one.Says == "" {
			continue // its status update says as much
		}
		list = append(list, one)
	}
	return list, nil
}

// ended is when a task ended, or now for one that runs.
func ended(t *flow.Task, now time.Time) time.Time {
	switch {
	case !t.Completed.IsZero():
		return t.Completed
	case t.Started.IsZero():
		return time.Time{}
	}
	return now
}

// critical are the tasks of the chain of dependencies that took longest.
func critical(rows []rowView, now time.Time) map[task.ID]bool {
	by := map[task.ID]*rowView{}
	for i := range rows {
		by[rows[i].ID] = &rows[i]
	}
	took := map[task.ID]time.Duration{}
	before := map[task.ID]task.ID{}
	var length func(id task.ID, deep int) time.Duration
	length = func(id task.ID, deep int) time.Duration {
		if d, ok := took[id]; ok || deep > len(rows) {
			return d
		}
		r := by[id]
		if r == nil {
			return 0
		}
		took[id] = 0 // a circle, which there is none of, would end here
		var longest time.Duration
		for _, need := range r.Dependencies {
			if d := length(need.ID, deep+1); d > longest {
				longest, before[id] = d, need.ID
			}
		}
		if !r.Started.IsZero() {
			longest += ended(&r.Task, now).Sub(r.Started)
		}
		took[id] = longest
		return longest
	}
	var last task.ID
	for i := range rows {
		if len(rows[i].Dependencies) > 0 && length(rows[i].ID, 0) > took[last] {
			last = rows[i].ID
		}
	}
	path := map[task.ID]bool{}
	for id := last; id != (task.ID{}) && !path[id]; id = before[id] {
		path[id] = true
	}
	return path
}

// changeTask ends a tree, or runs it again.
func (v *visit) changeTask() (view, error) {
	id, err := task.ParseID(v.PathValue("id"))
	if err != nil || !v.may(admins) {
		return v.showTask(403, "Your role, "+string(v.Role)+", only looks.")
	}
	switch v.PostFormValue("do") {
	case "cancel":
		err = v.flow().Cancel(v.Context(), id, "cancelled at the console by "+v.By.Name)
	case "retry":
		_, err = v.flow().Execute(v.Context(), flow.Execution{Existing: id})
	default:
		return v.showTask(400, "Nothing was chosen.")
	}
	if err != nil {
		return v.showTask(max(operator.StatusOf(err), 409), sentence(err.Error()))
	}
	return there(home + "tasks/" + id.String())
}
