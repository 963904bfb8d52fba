package task

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const (
	uuid1 = "11111111-1111-4111-8111-111111111111"
	uuid2 = "22222222-2222-4222-8222-222222222222"
	uuid3 = "33333333-3333-4333-8333-333333333333"
)

func id(s string) ID {
	id, err := ParseID(s)
	if err != nil {
		panic(err)
	}
	return id
}

func decode(t *testing.T, params string) ([]*Task, *Task) {
	t.Helper()
	tasks, top, err := DecodeTasks(jsontext.Value(params), Reading{Now: noon, Beside: []string{"use_streaming"}})
	if err != nil {
		t.Fatalf("%s: %v", params, err)
	}
	return tasks, top
}

// outline is a tree in short: each task's known id, its parent's, and what it needs.
func outline(tasks []*Task) (lines []string) {
	names := map[ID]string{}
	for _, t := range tasks {
		names[t.ID] = t.known()
	}
	for _, t := range tasks {
		line := t.known()
		if t.Parent != (ID{}) {
			line += " in " + cmpOr(names[t.Parent], t.Parent.String())
		}
		for _, need := range t.Dependencies {
			line += fmt.Sprintf(" needs %s %t", cmpOr(names[need.ID], need.ID.String()), need.Required)
		}
		lines = append(lines, line)
	}
	return lines
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func TestDecodeTasksForms(t *testing.T) {
	tests := []struct {
		name, params string
		want         []string
		top          string
	}{
		{"one task", `{"id":"a","name":"A"}`, []string{"a"}, "a"},
		{"an array", `[{"id":"a","name":"A"},{"id":"b","name":"B","parent_id":"a"}]`, []string{"a", "b in a"}, "a"},
		{"tasks, the root last", `{"tasks":[{"id":"b","name":"B","parent_id":"a"},{"id":"a","name":"A"}]}`, []string{"b in a", "a"}, "a"},
		{"nodes", `{"task":{"id":"a","name":"A"},"children":[{"task":{"id":"b","name":"B","parent_id":"a"},"children":[]}]}`, []string{"a", "b in a"}, "a"},
		{"nodes without parents", `{"tasks":[{"task":{"id":"a","name":"A"},"children":[{"task":{"id":"b","name":"B"}}]}]}`, []string{"a", "b in a"}, "a"},
		{"children in a task", `{"id":"a","name":"A","children":[{"id":"b","name":"B","children":[{"id":"c","name":"C"}]},{"id":"d","name":"D"}]}`,
			[]string{"a", "b in a", "c in b", "d in a"}, "a"},
		{"dependencies", `[{"id":"a","name":"A","dependencies":["b",{"id":"c","required":false},{"id":"d","required":null}]},
			{"id":"b","name":"B","parent_id":"a"},{"id":"c","name":"C","parent_id":"a"},{"id":"d","name":"D","parent_id":"a"}]`,
			[]string{"a needs b true needs c false needs d true", "b in a", "c in a", "d in a"}, "a"},
		{"UUIDs are kept", `[{"id":"` + uuid1 + `","name":"A"},{"name":"B","id":"` + uuid2 + `","parent_id":"` + strings.ToUpper(uuid1) + `"}]`,
			[]string{uuid1, uuid2 + " in " + uuid1}, uuid1},
		{"a parent and a need of another call", `{"id":"a","name":"A","parent_id":"` + uuid1 + `","dependencies":["` + uuid2 + `"]}`,
			[]string{"a in " + uuid1 + " needs " + uuid2 + " true"}, "a"},
		{"inputs that a dependency's result will complete", `{"id":"a","name":"A","dependencies":["` + uuid2 + `"],"schemas":{"method":"m","input_schema":{"required":["x"]}}}`,
			[]string{"a needs " + uuid2 + " true"}, "a"},
		{"nulls", `{"id":"a","name":"A","user_id":null,"parent_id":null,"priority":null,"inputs":null,"params":null,"schemas":null,
			"dependencies":null,"children":null,"status":null,"result":null,"max_runs":null,"schedule_type":null,"schedule_enabled":null,
			"schedule_start_at":null,"origin_type":null,"original_task_id":null,"has_references":null}`, []string{"a"}, "a"},
		{"what a new task has", `{"id":"a","name":"A","status":"pending","progress":0.0,"run_count":0,"has_references":false,"schemas":{}}`, []string{"a"}, "a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tasks, top := decode(t, tt.params)
			if diff := cmp.Diff(tt.want, outline(tasks)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if top.known() != tt.top {
				t.Errorf("the top is %s, want %s", top.known(), tt.top)
			}
			for _, task := range tasks {
				wantRoot := top.ID
				if top.Parent != (ID{}) {
					wantRoot = ID{}
				}
				if task.Root != wantRoot {
					t.Errorf("the root of %s is %s, want %s", task.known(), task.Root, wantRoot)
				}
			}
		})
	}
}

func TestDecodeTasksMembers(t *testing.T) {
	tasks, _ := decode(t, `{"name":"Crawl","user_id":"u","priority":0, "inputs": { "url" : "x", "n": 1.50 },
		"params":{"timeout":1.5,"retry":{"max_attempts":5,"backoff":"fixed","initial_delay":2}},
		"schemas":{"type":"local","method":"crawler","input_schema":{"required":["url"]}},
		"schedule_type":"daily","schedule_expression":"09:30","schedule_enabled":true,"schedule_timezone":"Europe/Berlin",
		"schedule_start_at":"2026-06-01T00:00:00","schedule_end_at":"2026-07-01T00:00:00Z","schedule_missed":"skip","max_runs":0,
		"origin_type":"copy","original_task_id":"`+uuid1+`", "x":[1, 2],"use_streaming":true}`)
	got := *tasks[0]
	if got.ID == (ID{}) || got.Root != got.ID {
		t.Errorf("the id is %s, the root %s", got.ID, got.Root)
	}
	if retry := (Retry{Attempts: 5, Fixed: true, Initial: 2 * time.Second, Max: time.Minute}); got.Retry() != retry {
		t.Errorf("the retry is %+v, want %+v", got.Retry(), retry)
	}
	if got.Timeout() != 1500*time.Millisecond {
		t.Errorf("the timeout is %s", got.Timeout())
	}
	want := Task{
		Row:     Row{ID: got.ID, Root: got.ID, User: "u", Name: "Crawl", Executor: "crawler", Created: noon, Updated: noon},
		Inputs:  jsontext.Value(`{"url":"x","n":1.50}`),
		Params:  got.Params,
		Schemas: jsontext.Value(`{"type":"local","method":"crawler","input_schema":{"required":["url"]}}`),
		Origin:  OriginCopy, Original: id(uuid1),
		Schedule: Schedule{
			Type: "daily", Expression: "09:30", Zone: "Europe/Berlin", Enabled: true, Missed: "skip", Bounded: true,
			Start: time.Date(2026, 5, 31, 22, 0, 0, 0, time.UTC), End: time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC),
		},
		Extra: jsontext.Value(`{"x":[1,2]}`),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestDecodeTasksInherits(t *testing.T) {
	tasks, _ := decode(t, `[{"id":"c","name":"C","parent_id":"b"},{"id":"b","name":"B","parent_id":"a"},
		{"id":"d","name":"D","parent_id":"a","user_id":"other"},{"id":"a","name":"A","user_id":"u"}]`)
	var users []string
	for _, task := range tasks {
		users = append(users, task.User)
	}
	if diff := cmp.Diff([]string{"u", "u", "other", "u"}, users); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestDecodeTasksRefuses(t *testing.T) {
	tests := []struct {
		params string
		code   int
		field  string
	}{
		{``, CodeInvalid, ""},
		{`{"name":"A","name":"B"}`, CodeInvalid, ""},
		{`7`, CodeInvalid, ""},
		{`[]`, CodeInvalid, "tasks"},
		{`{"tasks":{}}`, CodeInvalid, "tasks"},
		{`{"tasks":[],"name":"A"}`, CodeInvalid, "tasks"},
		{`{"tasks":[1]}`, CodeInvalid, "tasks[0]"},
		{`{}`, CodeInvalid, "name"},
		{`{"name":""}`, CodeInvalid, "name"},
		{`{"name":null}`, CodeInvalid, "name"},
		{`{"name":"` + strings.Repeat("ä", 256) + `"}`, CodeInvalid, "name"},
		{`{"name":"a\u0000b"}`, CodeInvalid, "name"},
		{`{"name":"A","user_id":""}`, CodeInvalid, "user_id"},
		{`{"name":"A","id":""}`, CodeInvalid, "id"},
		{`{"name":"A","id":5}`, CodeInvalid, "id"},
		{`[{"id":"a","name":"A"},{"id":"a","name":"B","parent_id":"a"}]`, CodeInvalid, "tasks[1].id"},
		{`[{"id":"` + uuid1 + `","name":"A"},{"name":"B","priority":4}]`, CodeInvalid, "tasks[1].priority"},
		{`{"name":"A","priority":1.5}`, CodeInvalid, "priority"},
		{`{"name":"A","priority":"high"}`, CodeInvalid, "priority"},
		{`{"name":"A","priority":-1}`, CodeInvalid, "priority"},
		{`{"name":"A","parent_id":"nobody"}`, CodeInvalid, "parent_id"},
		{`{"name":"A","inputs":[]}`, CodeInvalid, "inputs"},
		{`{"name":"A","params":"x"}`, CodeInvalid, "params"},
		{`{"name":"A","schemas":1}`, CodeInvalid, "schemas"},
		{`{"name":"A","schemas":{"type":"local"}}`, CodeInvalid, "schemas.method"},
		{`{"name":"A","schemas":{"method":""}}`, CodeInvalid, "schemas.method"},
		{`{"name":"A","schemas":{"method":"m","type":"stdio"}}`, CodeInvalid, "schemas.type"},
		{`{"name":"A","params":{"executor_id":1}}`, CodeInvalid, "params.executor_id"},
		{`{"name":"A","schemas":{"method":"m","input_schema":{"type":"nothing"}}}`, CodeInvalid, "schemas.input_schema"},
		{`{"name":"A","inputs":{"a":{"n":"x"}},"schemas":{"method":"m","input_schema":{"properties":{"a":{"properties":{"n":{"type":"integer"}}}}}}}`, CodeInvalid, "inputs.a.n"},
		{`{"name":"A","schemas":{"method":"m","input_schema":{"required":["url"]}}}`, CodeInvalid, "inputs.url"},
		{`{"name":"A","dependencies":{}}`, CodeInvalid, "dependencies"},
		{`{"name":"A","dependencies":[1]}`, CodeInvalid, "dependencies[0]"},
		{`{"name":"A","dependencies":["x"]}`, CodeInvalid, "dependencies[0]"},
		{`{"name":"A","dependencies":[{}]}`, CodeInvalid, "dependencies[0].id"},
		{`{"name":"A","dependencies":[{"id":"` + uuid1 + `","required":"yes"}]}`, CodeInvalid, "dependencies[0].required"},
		{`{"name":"A","dependencies":["` + uuid1 + `",{"id":"` + uuid1 + `"}]}`, CodeInvalid, "dependencies[1].id"},
		{`{"name":"A","status":"completed"}`, CodeInvalid, "status"},
		{`{"name":"A","result":{}}`, CodeInvalid, "result"},
		{`{"name":"A","error":"x"}`, CodeInvalid, "error"},
		{`{"name":"A","progress":0.5}`, CodeInvalid, "progress"},
		{`{"name":"A","created_at":"2026-01-01T00:00:00Z"}`, CodeInvalid, "created_at"},
		{`{"name":"A","started_at":"2026-01-01T00:00:00Z"}`, CodeInvalid, "started_at"},
		{`{"name":"A","updated_at":"2026-01-01T00:00:00Z"}`, CodeInvalid, "updated_at"},
		{`{"name":"A","completed_at":"2026-01-01T00:00:00Z"}`, CodeInvalid, "completed_at"},
		{`{"name":"A","next_run_at":"2026-01-01T00:00:00Z"}`, CodeInvalid, "next_run_at"},
		{`{"name":"A","last_run_at":"2026-01-01T00:00:00Z"}`, CodeInvalid, "last_run_at"},
		{`{"name":"A","run_count":1}`, CodeInvalid, "run_count"},
		{`{"name":"A","has_references":true}`, CodeInvalid, "has_references"},
		{`{"name":"A","decision_id":"0-1"}`, CodeInvalid, "decision_id"},
		{`{"name":"A","origin_type":"theft"}`, CodeSchema, "origin_type"},
		{`{"name":"A","origin_type":"link"}`, CodeSchema, "original_task_id"},
		{`{"name":"A","original_task_id":"` + uuid1 + `"}`, CodeSchema, "origin_type"},
		{`{"name":"A","origin_type":"copy","original_task_id":"x"}`, CodeSchema, "original_task_id"},
		{`{"name":"A","schedule_type":"hourly"}`, CodeInvalid, "schedule_type"},
		{`{"name":"A","schedule_enabled":true}`, CodeInvalid, "schedule_type"},
		{`{"name":"A","schedule_enabled":true,"schedule_type":"daily"}`, CodeInvalid, "schedule_expression"},
		{`{"name":"A","schedule_enabled":"yes"}`, CodeInvalid, "schedule_enabled"},
		{`{"name":"A","schedule_type":"daily","schedule_expression":"24:00"}`, CodeInvalid, "schedule_expression"},
		{`{"name":"A","schedule_timezone":"Mars/Olympus"}`, CodeInvalid, "schedule_timezone"},
		{`{"name":"A","schedule_timezone":"Local"}`, CodeInvalid, "schedule_timezone"},
		{`{"name":"A","schedule_timezone":"../../etc/passwd"}`, CodeInvalid, "schedule_timezone"},
		{`{"name":"A","schedule_start_at":"tomorrow"}`, CodeInvalid, "schedule_start_at"},
		{`{"name":"A","schedule_start_at":"2026-01-01T00:00:00Z","schedule_end_at":"2026-01-01T00:00:00Z"}`, CodeInvalid, "schedule_end_at"},
		{`{"name":"A","schedule_missed":"never"}`, CodeInvalid, "schedule_missed"},
		{`{"name":"A","max_runs":-1}`, CodeInvalid, "max_runs"},
		{`{"name":"A","params":{"timeout":0}}`, CodeInvalid, "params.timeout"},
		{`{"name":"A","params":{"timeout":"1h"}}`, CodeInvalid, "params.timeout"},
		{`{"name":"A","params":{"timeout":1e300}}`, CodeInvalid, "params.timeout"},
		{`{"name":"A","params":{"retry":3}}`, CodeInvalid, "params.retry"},
		{`{"name":"A","params":{"retry":{"max_attempts":0}}}`, CodeInvalid, "params.retry.max_attempts"},
		{`{"name":"A","params":{"retry":{"backoff":"linear"}}}`, CodeInvalid, "params.retry.backoff"},
		{`{"name":"A","params":{"retry":{"initial_delay":-1}}}`, CodeInvalid, "params.retry.initial_delay"},
		{`{"name":"A","params":{"retry":{"initial_delay":5,"max_delay":1}}}`, CodeInvalid, "params.retry.max_delay"},
		{`[{"id":"a","name":"A"},{"id":"b","name":"B","parent_id":"a","inputs":{"x":["${{ a.y }}"]}}]`, CodeInvalid, "tasks[1].inputs.x.0"},
		{`{"name":"A","inputs":{"x":"${{ }}"}}`, CodeInvalid, "inputs.x"},
		{`{"id":"a","name":"A","children":{}}`, CodeInvalid, "children"},
		{`{"id":"a","name":"A","children":[{"name":"B","priority":9}]}`, CodeInvalid, "children[0].priority"},
		{`{"task":{"id":"a","name":"A"},"children":[{"task":{"name":"B","parent_id":"` + uuid1 + `"}}]}`, CodeParent, "children[0].task.parent_id"},
		{`[{"name":"A"},{"name":"B"}]`, CodeTree, ""},
		{`[{"id":"a","name":"A","parent_id":"b"},{"id":"b","name":"B","parent_id":"a"}]`, CodeTree, ""},
		{`[{"id":"a","name":"A","dependencies":["a"]}]`, CodeCircular, ""},
		{`{"name":"A","x":"` + strings.Repeat("x", maxExtra) + `"}`, CodeInvalid, ""},
	}
	for _, tt := range tests {
		_, _, err := DecodeTasks(jsontext.Value(tt.params), Reading{Now: noon})
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%.100s: the error is %v", tt.params, err)
			continue
		}
		if e.Code != tt.code || e.Field != tt.field || e.Code != CodeCircular && e.Reason == "" {
			t.Errorf("%.100s: the error is %d, field %q (%s), want %d, %q", tt.params, e.Code, e.Field, e, tt.code, tt.field)
		}
	}
}

func TestDecodeTasksBounds(t *testing.T) {
	chain := func(n int) string {
		var b strings.Builder
		b.WriteString(`[{"id":"0","name":"A"}`)
		for i := 1; i < n; i++ {
			fmt.Fprintf(&b, `,{"id":"%d","name":"A","parent_id":"%d"}`, i, i-1)
		}
		return b.String() + "]"
	}
	wide := func(n int) string {
		return `[{"id":"0","name":"A"}` + strings.Repeat(`,{"name":"A","parent_id":"0"}`, n-1) + "]"
	}
	needs := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"%08x-0000-4000-8000-000000000000"`, i)
		}
		return `{"name":"A","dependencies":[` + b.String()[1:] + `]}`
	}
	tests := []struct {
		name, params string
		ok           bool
	}{
		{"depth", chain(MaxDepth), true}, {"too deep", chain(MaxDepth + 1), false},
		{"size", wide(MaxTree), true}, {"too large", wide(MaxTree + 1), false},
		{"needs", needs(MaxNeeds), true}, {"too many needs", needs(MaxNeeds + 1), false},
	}
	for _, tt := range tests {
		if _, _, err := DecodeTasks(jsontext.Value(tt.params), Reading{Now: noon}); (err == nil) != tt.ok {
			t.Errorf("%s: the error is %v", tt.name, err)
		}
	}
}

func TestCheckTreeCycles(t *testing.T) {
	// ring is a root, and n tasks under it, each waiting for the next.
	ring := func(n int) (tasks []*Task, cycle []string) {
		root := &Task{Row: Row{ID: NewID(noon)}, ClientID: "root"}
		tasks = []*Task{root}
		for i := range n {
			tasks = append(tasks, &Task{Row: Row{ID: NewID(noon), Parent: root.ID}, ClientID: fmt.Sprint(i)})
			cycle = append(cycle, fmt.Sprint(i))
		}
		for i := range n {
			tasks[1+i].Dependencies = []Dependency{{ID: tasks[1+(i+1)%n].ID}}
		}
		return tasks, append(cycle, "0")
	}
	for _, n := range []int{1, 2, 3, MaxTree - 1} {
		tasks, want := ring(n)
		var e *Error
		if err := CheckTree(tasks); !errors.As(err, &e) || e.Code != CodeCircular {
			t.Fatalf("%d tasks: the error is %v", n, err)
		}
		if diff := cmp.Diff(want, e.Cycle); diff != "" {
			t.Errorf("%d tasks: (-want +got)\n%s", n, diff)
		}
		tasks[n].Dependencies = nil // the last waits for nobody: a chain
		if err := CheckTree(tasks); err != nil {
			t.Errorf("a chain of %d tasks: %v", n, err)
		}
	}
	tail, _ := ring(3)
	tail[0].Dependencies = []Dependency{{ID: tail[2].ID}}
	var e *Error
	if err := CheckTree(tail); !errors.As(err, &e) {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"1", "2", "0", "1"}, e.Cycle); diff != "" {
		t.Errorf("who leads to a circle is not in it: (-want +got)\n%s", diff)
	}
}

func TestCheckTreeShape(t *testing.T) {
	a, b, c := &Task{Row: Row{ID: id(uuid1)}}, &Task{Row: Row{ID: id(uuid2), Parent: id(uuid1)}}, &Task{Row: Row{ID: id(uuid3), Parent: id(uuid3)}}
	tests := []struct {
		name  string
		tasks []*Task
		says  string
	}{
		{"none", nil, "There are 0 tasks."},
		{"twice", []*Task{a, b, b}, "Two tasks have the id"},
		{"two roots", []*Task{a, {Row: Row{ID: id(uuid2)}, ClientID: "second"}}, `"second"`},
		{"its own parent", []*Task{a, b, c}, uuid3},
		{"only its own parent", []*Task{c}, uuid3},
	}
	for _, tt := range tests {
		var e *Error
		if err := CheckTree(tt.tasks); !errors.As(err, &e) || e.Code != CodeTree || !strings.Contains(e.Reason, tt.says) {
			t.Errorf("%s: the error is %v", tt.name, err)
		}
	}
}

func TestDecodeUpdates(t *testing.T) {
	tasks, _ := decode(t, `[{"id":"a","name":"A"},{"id":"`+uuid1+`","name":"B","parent_id":"a","user_id":"u","priority":1,"inputs":{"n":1},
		"params":{"timeout":5},"schemas":{"method":"m"},"dependencies":["a"],"schedule_type":"interval","schedule_expression":"60",
		"schedule_enabled":true,"max_runs":3,"kept":1,"gone":2}]`)
	before := *tasks[1]

	same, err := DecodeUpdates(tasks[1], jsontext.Value(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&before, same); diff != "" {
		t.Errorf("no updates: (-want +got)\n%s", diff)
	}

	changed, err := DecodeUpdates(tasks[1], jsontext.Value(`{"name":"C","priority":null,"inputs":{"m":2},"params":null,"schemas":{"method":"n"},
		"dependencies":[{"id":"`+uuid2+`","required":false}],"schedule_expression":"90","max_runs":null,"user_id":null,"parent_id":"`+uuid3+`","gone":null,"new":{"a":1},"kept":7}`))
	if err != nil {
		t.Fatal(err)
	}
	want := before
	want.Name, want.Priority, want.Inputs, want.Params, want.Executor = "C", 2, jsontext.Value(`{"m":2}`), nil, "n"
	want.Schemas, want.User, want.Parent = jsontext.Value(`{"method":"n"}`), "", id(uuid3)
	want.Dependencies = []Dependency{{ID: id(uuid2)}}
	want.Schedule.Expression, want.Schedule.Bounded, want.Schedule.MaxRuns = "90", false, 0
	want.Extra = jsontext.Value(`{"kept":7,"new":{"a":1}}`)
	if diff := cmp.Diff(&want, changed); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(&before, tasks[1]); diff != "" {
		t.Errorf("the task itself was changed: (-want +got)\n%s", diff)
	}

	refused := []struct {
		updates string
		code    int
		field   string
	}{
		{`[]`, CodeInvalid, "updates"},
		{`{`, CodeInvalid, "updates"},
		{`{"name":null}`, CodeInvalid, "updates.name"},
		{`{"id":"` + uuid2 + `"}`, CodeInvalid, "updates.id"},
		{`{"status":"pending"}`, CodeInvalid, "updates.status"},
		{`{"result":{}}`, CodeInvalid, "updates.result"},
		{`{"completed_at":"2026-01-01T00:00:00Z"}`, CodeInvalid, "updates.completed_at"},
		{`{"origin_type":"copy"}`, CodeInvalid, "updates.origin_type"},
		{`{"children":[]}`, CodeInvalid, "updates.children"},
		{`{"parent_id":"a"}`, CodeInvalid, "updates.parent_id"},
		{`{"dependencies":["a"]}`, CodeInvalid, "updates.dependencies[0]"},
		{`{"parent_id":"` + uuid1 + `"}`, CodeTree, "updates.parent_id"},
		{`{"dependencies":["` + uuid1 + `"]}`, CodeCircular, ""},
		{`{"schemas":null,"schedule_expression":"x"}`, CodeInvalid, "updates.schedule_expression"},
		{`{"inputs":{"x":"${{ ` + uuid3 + ` }}"}}`, CodeInvalid, "updates.inputs.x"},
		{`{"dependencies":[],"schemas":{"method":"m","input_schema":{"required":["z"]}}}`, CodeInvalid, "updates.inputs.z"},
	}
	for _, tt := range refused {
		_, err := DecodeUpdates(tasks[1], jsontext.Value(tt.updates))
		var e *Error
		if !errors.As(err, &e) || e.Code != tt.code || e.Field != tt.field {
			t.Errorf("%s: the error is %v, want %d, %q", tt.updates, err, tt.code, tt.field)
		}
	}
}

func TestRetryDelay(t *testing.T) {
	doubling := Retry{Initial: time.Second, Max: 10 * time.Second}
	tests := []struct {
		retry    Retry
		failures int
		jitter   float64
		want     time.Duration
	}{
		{doubling, 1, 0, time.Second},
		{doubling, 2, 0, 2 * time.Second},
		{doubling, 4, 0, 8 * time.Second},
		{doubling, 5, 0, 10 * time.Second},
		{doubling, 1 << 40, 0, 10 * time.Second},
		{doubling, 2, 0.5, 1500 * time.Millisecond},
		{doubling, 2, 1, time.Second},
		{doubling, 0, 0, time.Second},
		{Retry{Max: time.Second}, 1 << 40, 0, 0},
		{Retry{Fixed: true, Initial: 3 * time.Second, Max: time.Minute}, 9, 0.9, 3 * time.Second},
	}
	for _, tt := range tests {
		if got := tt.retry.Delay(tt.failures, tt.jitter); got != tt.want {
			t.Errorf("%+v after %d failures: %s, want %s", tt.retry, tt.failures, got, tt.want)
		}
	}
	if got := (&Task{}).Retry(); got != (Retry{Attempts: 1}) {
		t.Errorf("a task without a policy: %+v", got)
	}
}

func BenchmarkDecodeTasks(b *testing.B) {
	params := jsontext.Value(thousand())
	b.SetBytes(int64(len(params)))
	for b.Loop() {
		if _, _, err := DecodeTasks(params, Reading{Now: noon}); err != nil {
			b.Fatal(err)
		}
	}
}

// thousand is a tree of a thousand tasks, each waiting for the one before.
func thousand() string {
	var b strings.Builder
	b.WriteString(`{"tasks":[{"id":"task0","name":"Root","user_id":"u","schemas":{"method":"aggregate"}}`)
	for i := 1; i < 1000; i++ {
		fmt.Fprintf(&b, `,{"id":"task%d","name":"Task %d","parent_id":"task0","priority":1,"schemas":{"type":"local","method":"rest_executor","input_schema":{"type":"object","required":["url"]}},"inputs":{"url":"https://example.com/%d","body":"${{ task%d.body }}"},"dependencies":[{"id":"task%d","required":true}]}`, i, i, i, i-1, i-1)
	}
	return b.String() + `]}`
}

// TestDecodeOrder: tasks of one call are listed in the order in which they were given.
func TestDecodeOrder(t *testing.T) {
	tasks, _, err := DecodeTasks(jsontext.Value(`[{"id":"z","name":"z","dependencies":[{"id":"y"}]},{"id":"y","name":"y","parent_id":"z"},{"id":"x","name":"x","parent_id":"z"},{"id":"w","name":"w","parent_id":"y"}]`), Reading{Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(tasks); i++ {
		if bytes.Compare(tasks[i-1].ID[:], tasks[i].ID[:]) >= 0 {
			t.Errorf("%s comes before %s", tasks[i-1].ID, tasks[i].ID)
		}
	}
}
