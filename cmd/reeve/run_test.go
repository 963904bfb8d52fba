package main

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"reeve.example/reeve/flow"
	"reeve.example/reeve/task"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// treeOf makes tasks of lines such as "c failed: a b?": a name, a status, and what it
// needs, with a question mark where that need not complete.
func treeOf(t *testing.T, text string) (tasks []*flow.Task) {
	t.Helper()
	ids := map[string]task.ID{}
	for line := range strings.Lines(text) {
		head, needs, _ := strings.Cut(strings.TrimSpace(line), ":")
		name, status, ok := strings.Cut(head, " ")
		if !ok {
			continue
		}
		ids[name] = task.NewID(time.Now())
		one := &flow.Task{ID: ids[name], ClientID: name, Name: name, Status: task.Status(status), Parent: task.ID{1}, Executor: "x"}
		for need := range strings.FieldsSeq(needs) {
			need, optional := strings.CutSuffix(need, "?")
			if ids[need] == (task.ID{}) {
				t.Fatalf("%s needs %s, which comes later", name, need)
			}
			one.Dependencies = append(one.Dependencies, flow.Need{ID: ids[need], Required: !optional})
		}
		tasks = append(tasks, one)
	}
	return tasks
}

// A workflow has failed when something did not complete that had to.
func TestOutcome(t *testing.T) {
	tests := []struct{ name, tree, want, excused string }{
		{"all completed", "a completed\nb completed: a", "completed", ""},
		{"the last failed", "a completed\nb failed: a", "failed", ""},
		{"an optional one failed", "a failed\nb completed: a?", "completed", "a"},
		{"optional for one, needed by another", "a failed\nb completed: a?\nc cancelled: a", "failed", ""},
		{"needed by one that is optional", "a failed\nb cancelled: a\nc completed: b?", "completed", "a b"},
		{"nobody needs it", "a failed\nb completed", "failed", ""},
		{"cancelled", "a cancelled\nb cancelled: a", "cancelled", ""},
		{"not yet", "a completed\nb in_progress: a", "in progress", ""},
		{"a completed one excuses nothing", "a failed\nb completed: a", "failed", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tasks := treeOf(t, tt.tree)
			if got := outcome(tasks); got != tt.want {
				t.Errorf("it is %s, want %s", got, tt.want)
			}
			var fine []string
			for _, one := range tasks {
				if excused(tasks)[one.ID] {
					fine = append(fine, one.ClientID)
				}
			}
			if got := strings.Join(fine, " "); got != tt.excused {
				t.Errorf("excused are %q, want %q", got, tt.excused)
			}
		})
	}
	// Each is asked about once, or this would never end: there are 2^60 ways up.
	ladder := "a0 failed\nb0 failed\n"
	for i := range 60 {
		for _, side := range []string{"a", "b"} {
			ladder += fmt.Sprintf("%s%d cancelled: a%d b%d\n", side, i+1, i, i)
		}
	}
	if got := outcome(treeOf(t, ladder)); got != "failed" {
		t.Errorf("a ladder is %s", got)
	}
}

func TestTable(t *testing.T) {
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	tasks := treeOf(t, "early completed\nlate failed: early\nnever cancelled: late\nextra failed\nend completed: extra?")
	at := func(i int, begin, end time.Duration, wrong string) {
		tasks[i].Started, tasks[i].Completed, tasks[i].Error = start.Add(begin), start.Add(end), wrong
	}
	at(0, time.Second, 3*time.Second, "")
	at(1, 3*time.Second, 95*time.Second, "Denied: \x1b[31mno\n(rule)")
	tasks[2].Error = "It needs late."
	at(3, 2*time.Second, 2*time.Second, "gone")
	at(4, 4*time.Second, 4*time.Second+40*time.Millisecond, "")
	var b bytes.Buffer
	table(&b, tasks, false)
	want := `TASK   EXECUTOR  STATUS     TIME
early  x         completed  2.0s
late   x         denied     1m32s
  Denied: ⟨U+001B⟩[31mno⟨U+000A⟩(rule)
never  x         cancelled
  It needs late.
extra  x         failed     1ms  (optional)
  gone
end    x         completed  40ms
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	b.Reset()
	table(&b, tasks, true)
	if !strings.Contains(b.String(), "\x1b[31mdenied\x1b[0m     1m32s") {
		t.Errorf("the colours are missing:\n%q", b.String())
	}
	many := treeOf(t, strings.Repeat("ok completed\n", 60)+"not failed\n")
	for all, want := range map[bool]string{true: "60 tasks completed\n", false: "not   x         failed\n60 more tasks completed\n"} {
		b.Reset()
		if table(&b, many[:len(many)-1], false); !all {
			b.Reset()
			table(&b, many, false)
		}
		if !strings.HasSuffix(b.String(), want) {
			t.Errorf("a large table ends with\n%s, want\n%s", b.String(), want)
		}
	}
	raw, err := json.Marshal(reportOf(outcome(tasks), tasks), jsontext.AllowInvalidUTF8(true))
	if err != nil || !strings.Contains(string(raw), `"id":"late","name":"late","executor":"x","status":"denied"`) {
		t.Errorf("the report is %s, %v", raw, err)
	}
}

func TestLastLine(t *testing.T) {
	for in, want := range map[string]string{
		"one\ntwo\n": "two", "10%\r20%\r": "20%", "a\tb": "a b", "": "", "\x1b[2J": "⟨U+001B⟩[2J", "a\r\n": "a", "\u202edrow": "⟨U+202E⟩drow",
	} {
		if got := lastLine(in); got != want {
			t.Errorf("the last line of %q is %q, want %q", in, got, want)
		}
	}
}

func TestTook(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "1ms", 0: "1ms", 12 * time.Millisecond: "12ms", 234 * time.Millisecond: "0.2s", 9949 * time.Millisecond: "9.9s", 59 * time.Second: "59s",
		61 * time.Second: "1m01s", 3*time.Hour + 4*time.Minute: "3h04m", 72 * time.Hour: "3d",
	} {
		if got := tookOf(d); got != want {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
	}
}

// What moves is drawn while tasks change, on another goroutine, and in the end only
// lines are left.
func TestLive(t *testing.T) {
	var out lockedBuffer
	l := newLive(&out, true)
	tasks := treeOf(t, "one pending\ntwo pending: one\nthree pending")
	f := &follower{show: l, tasks: map[task.ID]*followed{}, begun: time.Now()}
	for _, one := range tasks {
		f.add(one)
	}
	event := func(i int, kind string, status task.Status, message string) {
		e := &flow.Event{Type: kind, Task: tasks[i].ID, Status: status, Progress: 0.5}
		if e.Message = message; status.Ended() {
			e.Message, e.Error = "", message
		}
		if err := f.event(t.Context(), e); err != nil {
			t.Error(err)
		}
	}
	ended := make(chan bool)
	go func() {
		defer close(ended)
		event(0, "task_status_update", task.InProgress, "")
		for n := range 2000 {
			event(0, "task_progress_update", task.InProgress, fmt.Sprintf("line %d\n\x1b[2J", n))
			event(2, "task_status_update", task.InProgress, "")
			event(2, "task_status_update", task.Failed, "Denied: no")
		}
		event(0, "task_status_update", task.Completed, "")
		event(0, "task_completed", task.Completed, "")
		l.close()
	}()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("it hangs")
	}
	text := out.String()
	for _, want := range []string{"one    \x1b[32mcompleted\x1b[0m", "three  \x1b[31mdenied\x1b[0m", "Denied: no"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in what was shown", want)
		}
	}
	if n := strings.Count(text, "one    \x1b[32mcompleted"); n != 1 {
		t.Errorf("the end of a task is shown %d times", n)
	}
	if strings.Contains(text, "\x1b[2J") {
		t.Error("what a task says acts on the terminal")
	}
	fmt.Fprintln(l, "afterwards")
	if !strings.HasSuffix(out.String(), "afterwards\n") {
		t.Error("what is written afterwards is lost")
	}
}

// lockedBuffer is a bytes.Buffer for several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
