package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mattn/go-runewidth"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/cwriter"
	"github.com/vbauerster/mpb/v8/decor"

	"reeve.example/reeve/flow"
	"reeve.example/reeve/internal/engine"
	"reeve.example/reeve/internal/words"
	"reeve.example/reeve/task"
)

// follower shows what becomes of a tree while it does.
type follower struct {
	client *flow.Client
	root   task.ID
	show   screen
	hint   string // flags that say which node is meant, for commands to be tried

	// mu guards what is below. Only the goroutine that takes the events writes it,
	// and shows a change without mu: the screen is drawn on another, which takes mu.
	mu     sync.Mutex
	tasks  map[task.ID]*followed
	order  []*followed
	begun  time.Time
	labels int // how wide the labels are, to a point
}

// followed is a task of the tree as it is known by now.
type followed struct {
	flow.Task
	label  string
	hidden bool          // the root that a workflow has been given
	state  string        // in a word
	begun  time.Time     // its last start; zero for not yet
	said   string        // the last line of what it said
	took   time.Duration // once it has ended
}

// shown reports whether changes of the task are told: of what stands for the whole
// only when that fails by itself, since a rule denied it for example.
func (t *followed) shown() bool { return !t.hidden || t.Task.Status == task.Failed }

// screen is where progress is shown.
type screen interface {
	io.Writer // of whole lines
	// changed is called when the task's state has changed.
	changed(f *follower, t *followed, at time.Time)
	// close ends it: nothing of what moves stays.
	close()
}

// follow shows a tree until it has ended.
func (f *follower) follow(ctx context.Context) error {
	if err := f.load(ctx); err != nil {
		return err
	}
	return f.client.Events(ctx, f.root, 0, func(e flow.Event) error {
		return f.event(ctx, &e)
	})
}

// load reads the tree as it is.
func (f *follower) load(ctx context.Context) error {
	tree, err := f.client.Tree(ctx, f.root)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tasks, f.order, f.begun, f.labels = map[task.ID]*followed{}, nil, time.Now(), minLabel
	for _, t := range flat(tree) {
		f.add(t)
	}
	return nil
}

// flat lists a tree's tasks, parents first.
func flat(n *flow.Node) (list []*flow.Task) {
	list = append(list, &n.Task)
	for i := range n.Children {
		list = append(list, flat(&n.Children[i])...)
	}
	return list
}

func (f *follower) add(t *flow.Task) *followed {
	d := &followed{Task: *t, label: labelOf(t), hidden: isWorkflow(t)}
	d.Result, d.Inputs = nil, nil // they may be large, and are asked for at the end
	f.tasks[t.ID] = d
	f.order = append(f.order, d)
	if !d.hidden {
		f.labels = max(f.labels, min(runewidth.StringWidth(d.label), maxLabel))
	}
	return d
}

// How wide labels are shown.
const minLabel, maxLabel = 4, 32

// labelOf is what people know a task by.
func labelOf(t *flow.Task) string {
	if t.ClientID != "" && !isWorkflow(t) {
		return printable(t.ClientID)
	}
	return printable(t.Name)
}

// isWorkflow reports whether a task only stands for others: it has no executor,
// and nothing is above it.
func isWorkflow(t *flow.Task) bool {
	return t.Parent == (task.ID{}) && executorOf(t) == "" && len(t.Dependencies) > 0
}

// executorOf is a task's executor, empty for a task that names none.
func executorOf(t *flow.Task) string {
	if t.Executor == engine.Group {
		return ""
	}
	return t.Executor
}

// stateOfTask is a task's state in a word. Of a start that the policy denied, the
// protocol says failed.
func stateOfTask(t *flow.Task) string {
	switch {
	case t.Status == task.Failed && strings.HasPrefix(t.Error, "Denied:"):
		return "denied"
	case t.Status == task.Cancelled && isWorkflow(t) && task.NeededFailed(t.Error):
		return "failed" // as reeve run says it of the whole
	case t.Status == task.InProgress && t.Awaiting == "retry":
		return "retrying"
	case t.Awaiting == "approval":
		return "held"
	case t.Status == task.InProgress:
		return "running"
	case t.Awaiting == "dependencies" && isWorkflow(t):
		return "running" // those that it waits for do
	case t.Awaiting == "dependencies":
		return "waiting"
	case t.Awaiting == "executor":
		return "ready"
	}
	return string(t.Status)
}

// event takes an event of the tree, and shows what it changed.
func (f *follower) event(ctx context.Context, e *flow.Event) error {
	waits := e.Type == "task_status_update" && !e.Status.Ended() && e.Message != ""
	var now *flow.Task
	if f.tasks[e.Task] == nil || waits { // a task that was added, or one that waits for something
		var err error
		if now, err = f.client.Get(ctx, e.Task); errors.Is(err, flow.ErrNotFound) {
			return nil // it was deleted
		} else if err != nil {
			return err
		}
	}
	if t, at, changed := f.take(e, now, waits); changed {
		f.show.changed(f, t, at)
	}
	return nil
}

// take makes an event part of what is known. What the tree knew of already when it
// was read is told with the times that it has.
func (f *follower) take(e *flow.Event, now *flow.Task, waits bool) (t *followed, at time.Time, changed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if t = f.tasks[e.Task]; t == nil {
		t = f.add(now)
	}
	known, state := t.state, string(e.Status)
	at = time.Now()
	if e.Status == t.Task.Status && !t.Updated.IsZero() && t.Updated.Before(f.begun) {
		at = t.Updated
	}
	switch {
	case e.Status.Ended():
		t.Task.Status, t.Error, t.Awaiting = e.Status, e.Error, ""
		state = stateOfTask(&t.Task)
		if !t.begun.IsZero() {
			t.took = at.Sub(t.begun)
		}
		if !t.Completed.IsZero() && !t.Started.IsZero() && t.Completed.Before(f.begun) {
			t.took = t.Completed.Sub(t.Started)
		}
	case waits && now.Awaiting == "approval" && now.Status == e.Status:
		state, t.Approval = "held", now.Approval
		known = "" // it may be held again
	case waits && e.Status == task.InProgress:
		state, t.said = "retrying", lastLine(e.Message)
	case e.Type == "task_progress_update":
		state = "running"
		t.Progress = e.Progress
		if e.Message != "" {
			t.said = lastLine(e.Message)
		}
	case e.Status == task.InProgress:
		state, t.begun = "running", at
		if !t.Started.IsZero() && t.Started.Before(f.begun) {
			t.begun, at = t.Started, t.Started
		}
	}
	t.state = state
	return t, at, state != known
}

// lastLine is the last line of a text, harmless to a terminal.
func lastLine(s string) string {
	s = strings.TrimRight(s, "\r\n")
	s = strings.TrimRight(s[strings.LastIndexByte(s, '\n')+1:], "\r")
	return printable(strings.ReplaceAll(s[strings.LastIndexByte(s, '\r')+1:], "\t", " "))
}

// tookOf is how long a task took, as tables and lines have it.
func tookOf(d time.Duration) string {
	switch {
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%dms", max(d.Milliseconds(), 1))
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// approving is what to do about a task that waits for a person. Of a node elsewhere
// it is that node's people who do it; and what is not shown at a terminal may be read
// by an agent, which is not told how people answer.
func (f *follower) approving(t *followed) string {
	if !isTerminal(os.Stdout) {
		return "waits for a person"
	}
	if strings.Contains(f.hint, "--server") {
		return "waits for a person, as approval " + printable(t.Approval)
	}
	return "waits for a person: reeve approvals approve " + printable(t.Approval) + f.hint
}

// ── lines ──

// lines shows each change as a line, for logs.
type lines struct {
	io.Writer
	color bool
}

func (l lines) changed(f *follower, t *followed, at time.Time) {
	if t.shown() && t.state != "pending" {
		fmt.Fprintf(l, "%s  %s\n", at.Local().Format("15:04:05"), line(f, t, l.color))
	}
}

func (lines) close() {}

// line is a task's state, how long it took, and what there is to say.
func line(f *follower, t *followed, color bool) string {
	text := pad(t.label, f.labels) + "  " + painted(t.state, color)
	more := ""
	switch {
	case t.state == "held":
		more = f.approving(t)
	case t.state == "retrying":
		more = t.said
	case t.state != "running":
		more = tookOf(t.took)
		if t.state == "cancelled" && t.begun.IsZero() {
			more = "" // it never ran
		}
		if t.Error != "" {
			more = strings.TrimSpace(more + "  " + printable(t.Error))
		}
	}
	if more != "" {
		text += strings.Repeat(" ", max(0, stateWidth-len(t.state))) + "  " + more
	}
	return text
}

// stateWidth is how wide the widest state is.
const stateWidth = len("completed")

// pad fills a text with spaces to a width, or cuts it.
func pad(s string, width int) string {
	return runewidth.FillRight(runewidth.Truncate(s, width, "…"), width)
}

// ── colours ──

var colors = map[string]string{
	"completed": "32", "failed": "31", "denied": "31", "cancelled": "33", "held": "35", "retrying": "33", "running": "36",
}

// painted is a state in its colour, and colorOf a text in that of a state.
func painted(state string, color bool) string { return colorOf(state, color, state) }

func colorOf(state string, color bool, text string) string {
	if code := colors[state]; color && code != "" {
		return "\x1b[" + code + "m" + text + "\x1b[0m"
	}
	return text
}

func dim(s string, color bool) string {
	if !color || s == "" {
		return s
	}
	return "\x1b[2m" + s + "\x1b[0m"
}

// isTerminal reports whether w is a terminal that can move its cursor.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && cwriter.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

func colored(w io.Writer) bool { return isTerminal(w) && os.Getenv("NO_COLOR") == "" }

// newScreen is what progress is shown on: moving, on a terminal.
func newScreen(w io.Writer) screen {
	if isTerminal(w) {
		return newLive(w, colored(w))
	}
	return lines{w, false}
}

// ── a terminal ──

// live shows what runs, and how far it is; what has ended stays above as lines. All
// that moves is one bar of the library's, so that a task is never seen in two places.
type live struct {
	out      io.Writer
	progress *mpb.Progress
	bar      *mpb.Bar // nil until there is something to show
	color    bool
	once     sync.Once
}

// maxRunning is how many running tasks are shown at once; the last line counts all.
const maxRunning = 16

const frame = 120 * time.Millisecond

func newLive(w io.Writer, color bool) *live {
	return &live{out: w, progress: mpb.New(mpb.WithOutput(w), mpb.WithAutoRefresh(), mpb.WithRefreshRate(frame)), color: color}
}

func (l *live) Write(b []byte) (int, error) {
	n, err := l.progress.Write(b)
	if errors.Is(err, mpb.ErrDone) { // nothing moves any more
		return l.out.Write(b)
	}
	return n, err
}

func (l *live) changed(f *follower, t *followed, _ time.Time) {
	if l.bar == nil {
		above := mpb.BarFillerFunc(func(w io.Writer, s decor.Statistics) error { return l.running(w, f, s.AvailableWidth-1) })
		last := decor.Any(func(s decor.Statistics) string { return l.summary(f, s.AvailableWidth-1) })
		l.bar = l.progress.MustAdd(1, nil, mpb.BarFillerTrim(), mpb.BarExtender(above, true), mpb.PrependDecorators(last))
	}
	if t.shown() && t.state != "pending" && t.state != "running" && t.state != "retrying" {
		fmt.Fprintln(l, line(f, t, l.color))
	}
}

var spinner = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

// running draws the tasks that run, each on a line.
func (l *live) running(w io.Writer, f *follower, width int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []*followed
	for _, t := range f.order {
		if !t.hidden && (t.state == "running" || t.state == "retrying") {
			list = append(list, t)
		}
	}
	slices.SortStableFunc(list, func(a, b *followed) int { return a.begun.Compare(b.begun) })
	for _, t := range list[:min(len(list), maxRunning)] {
		took := time.Since(t.begun)
		begin := spinner[int(max(took, 0)/frame)%len(spinner)] + " " + pad(t.label, f.labels) + "  "
		state := t.state
		if t.Progress > 0 && t.state == "running" {
			state = gauge(t.Progress, stateWidth)
		}
		rest := fmt.Sprintf("%s  %6s  %s", strings.Repeat(" ", max(0, stateWidth-runewidth.StringWidth(state))), tookOf(took), t.said)
		room := width - runewidth.StringWidth(begin) - runewidth.StringWidth(state)
		text := runewidth.Truncate(begin, max(width, 0), "")
		if room >= 0 {
			text = begin + colorOf(t.state, l.color, state) + runewidth.Truncate(rest, room, "…")
		}
		if _, err := fmt.Fprintln(w, text); err != nil {
			return err
		}
	}
	return nil
}

// summary draws the last line: how much of all has ended.
func (l *live) summary(f *follower, width int) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	all, ended, running, held := 0, 0, 0, 0
	for _, t := range f.order {
		switch {
		case t.hidden:
			continue
		case t.state == "running" || t.state == "retrying":
			running++
		case t.state == "held":
			held++
		case task.Status(t.state).Ended() || t.state == "denied":
			ended++
		}
		all++
	}
	if all == 0 {
		return ""
	}
	text := fmt.Sprintf("%s  %d of %d ended, %d running", gauge(float64(ended)/float64(all), 20), ended, all, running)
	if held > 0 {
		text += fmt.Sprintf(", %d waiting for a person", held)
	}
	text = runewidth.Truncate(text+"  "+tookOf(time.Since(f.begun)), max(width, 0), "…")
	return dim(text, l.color)
}

// gauge is a fraction as a bar of so many cells.
func gauge(fraction float64, cells int) string {
	full := min(max(int(fraction*float64(cells)+0.5), 0), cells)
	return strings.Repeat("━", full) + strings.Repeat("─", cells-full)
}

func (l *live) close() {
	l.once.Do(func() {
		if l.bar != nil {
			l.bar.Abort(true)
		}
		l.progress.Wait()
	})
}

// ── the end ──

// excused are the tasks that did not complete, and need not have: others wait for
// them, and none of those needs them to complete, or it is excused itself.
func excused(tasks []*flow.Task) map[task.ID]bool {
	byID := make(map[task.ID]*flow.Task, len(tasks))
	waiting := make(map[task.ID][]*flow.Task, len(tasks))
	for _, t := range tasks {
		byID[t.ID] = t
		for _, need := range t.Dependencies {
			waiting[need.ID] = append(waiting[need.ID], t)
		}
	}
	known := make(map[task.ID]bool, len(tasks))
	var ask func(t *flow.Task) bool
	ask = func(t *flow.Task) bool {
		if answer, ok := known[t.ID]; ok {
			return answer
		}
		answer := len(waiting[t.ID]) > 0
		for _, w := range waiting[t.ID] {
			i := slices.IndexFunc(w.Dependencies, func(n flow.Need) bool { return n.ID == t.ID })
			if w.Dependencies[i].Required && (w.Status == task.Completed || !ask(w)) {
				answer = false
				break
			}
		}
		known[t.ID] = answer
		return answer
	}
	list := map[task.ID]bool{}
	for _, t := range tasks {
		if t.Status != task.Completed && ask(t) {
			list[t.ID] = true
		}
	}
	return list
}

// outcome is what a tree came to: completed, failed, cancelled, or how it stands.
func outcome(tasks []*flow.Task) string {
	fine := excused(tasks)
	result := "completed"
	for _, t := range tasks {
		switch {
		case !t.Status.Ended():
			return "in progress"
		case t.Status == task.Completed || fine[t.ID]:
		case t.Status == task.Failed:
			result = "failed"
		case result == "completed":
			result = "cancelled"
		}
	}
	return result
}

// maxRows is how many tasks a table has that completed.
const maxRows = 50

// table prints the tasks of a tree. Of very many, those that completed are counted.
func table(w io.Writer, tasks []*flow.Task, color bool) {
	fine := excused(tasks)
	labels, executors := len("TASK"), len("EXECUTOR")
	var shown []*flow.Task
	for _, t := range tasks {
		if isWorkflow(t) && len(tasks) > 1 && t.Status != task.Failed {
			continue
		}
		shown = append(shown, t)
		labels = max(labels, min(runewidth.StringWidth(labelOf(t)), 40))
		executors = max(executors, min(runewidth.StringWidth(printable(executorOf(t))), 32))
	}
	left := len(shown)
	if left > maxRows {
		shown = slices.DeleteFunc(shown, func(t *flow.Task) bool { return t.Status == task.Completed })
	}
	if left -= len(shown); len(shown) == 0 {
		fmt.Fprintf(w, "%s completed\n", words.Count(left, "task"))
		return
	}
	fmt.Fprintf(w, "%s  %s  %s  %s\n", pad("TASK", labels), pad("EXECUTOR", executors), pad("STATUS", stateWidth), "TIME")
	for _, t := range shown {
		state := stateOfTask(t)
		text := pad(labelOf(t), labels) + "  " + pad(dash(printable(executorOf(t))), executors) + "  " + painted(state, color)
		if took := durationOf(t); took != "" {
			text += strings.Repeat(" ", max(0, stateWidth-len(state))) + "  " + took
		}
		if fine[t.ID] {
			text += "  (optional)"
		}
		fmt.Fprintln(w, text)
		if t.Error != "" {
			fmt.Fprintf(w, "  %s\n", dim(printable(t.Error), color))
		}
	}
	if left > 0 {
		fmt.Fprintf(w, "%s completed\n", words.Count(left, "more task"))
	}
}

// durationOf is how long a task took, or takes by now; empty for one that never
// started. What stands for a workflow takes as long as that.
func durationOf(t *flow.Task) string {
	begun := t.Started
	if isWorkflow(t) && (t.Awaiting != "" || t.Status.Ended()) {
		begun = t.Created
	}
	switch {
	case begun.IsZero():
		return ""
	case t.Completed.IsZero():
		return tookOf(time.Since(begun))
	}
	return tookOf(t.Completed.Sub(begun))
}
