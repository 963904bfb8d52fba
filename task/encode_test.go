package task

import (
	"errors"
	"math"
	"strings"
	"testing"

	"reeve.example/reeve/internal/rawjson"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func TestAppendJSON(t *testing.T) {
	pending := Task{Row: Row{ID: id(uuid1), Name: "N\"", Priority: 2, Created: noon, Updated: noon.Add(1500)}}
	running := pending
	running.Row = Row{ID: id(uuid1), Root: id(uuid2), Parent: id(uuid2), User: "u", Name: "N", Phase: Running, Progress: 0.65, Attempt: 2,
		Created: noon, Updated: noon, Started: noon, Error: "the last attempt", Decision: "0-7", Held: "old"}
	running.Dependencies = []Dependency{{ID: id(uuid3), Required: true}, {ID: id(uuid2)}}
	running.Result, running.Extra, running.ClientID = jsontext.Value(`{"early":1}`), jsontext.Value(`{"x":1,"y":[2]}`), "task1"
	running.Judged, running.Inputs = jsontext.Value(`{"a":2}`), jsontext.Value(`{"a":1}`)

	const nulls = `"params":null,"schemas":null,"result":null,"error":null,`
	const never = `"schedule_type":null,"schedule_expression":null,"schedule_enabled":false,"schedule_start_at":null,"schedule_end_at":null,` +
		`"next_run_at":null,"last_run_at":null,"max_runs":null,"run_count":0`
	tests := []struct {
		name string
		task Task
		form Form
		want string
	}{
		{"a new task", pending, Form{}, `{"id":"` + uuid1 + `","parent_id":null,"user_id":null,"name":"N\"","status":"pending","priority":2,"inputs":{},` + nulls +
			`"dependencies":[],"progress":0,"created_at":"2026-03-01T12:00:00Z","started_at":null,"updated_at":"2026-03-01T12:00:00.000001Z","completed_at":null,` +
			`"origin_type":null,"original_task_id":null,"has_references":false,` + never + `}`},
		{"a running one", running, Form{}, `{"id":"` + uuid1 + `","parent_id":"` + uuid2 + `","user_id":"u","name":"N","status":"in_progress","priority":0,"inputs":{"a":1},` + nulls +
			`"dependencies":[{"id":"` + uuid3 + `","required":true},{"id":"` + uuid2 + `","required":false}],"progress":0.65,"created_at":"2026-03-01T12:00:00Z","started_at":"2026-03-01T12:00:00Z",` +
			`"updated_at":"2026-03-01T12:00:00Z","completed_at":null,"origin_type":null,"original_task_id":null,"has_references":false,` + never +
			`,"client_id":"task1","root_task_id":"` + uuid2 + `","attempt":2,"judged_inputs":{"a":2},"decision_id":"0-7","x":1,"y":[2]}`},
		{"in brief", running, Form{Brief: true}, `{"id":"` + uuid1 + `","parent_id":"` + uuid2 + `","user_id":"u","name":"N","status":"in_progress","priority":0,"error":null,` +
			`"dependencies":[{"id":"` + uuid3 + `","required":true},{"id":"` + uuid2 + `","required":false}],"progress":0.65,"created_at":"2026-03-01T12:00:00Z","started_at":"2026-03-01T12:00:00Z",` +
			`"updated_at":"2026-03-01T12:00:00Z","completed_at":null,"origin_type":null,"original_task_id":null,"has_references":false,` + never +
			`,"client_id":"task1","root_task_id":"` + uuid2 + `","attempt":2,"decision_id":"0-7"}`},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, string(AppendJSON(nil, &tt.task, tt.form))); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", tt.name, diff)
		}
	}
}

func TestAppendJSONByPhase(t *testing.T) {
	tests := []struct {
		row  Row
		want map[string]string
	}{
		{Row{Phase: Waiting}, map[string]string{"status": `"pending"`, "awaiting": `"dependencies"`, "error": "null", "result": "null", "completed_at": "null"}},
		{Row{Phase: Ready}, map[string]string{"awaiting": `"executor"`}},
		{Row{Phase: Held, Held: "abc"}, map[string]string{"awaiting": `"approval"`, "approval_id": `"abc"`}},
		{Row{Phase: Delayed, Started: noon, Error: "x"}, map[string]string{"awaiting": `"retry"`, "error": "null"}},
		{Row{Phase: PhaseComplete, Started: noon, Completed: noon, Progress: 1}, map[string]string{"status": `"completed"`, "result": "{}", "error": "null", "progress": "1", "completed_at": `"2026-03-01T12:00:00Z"`}},
		{Row{Phase: PhaseFailed, Completed: noon, Error: "no"}, map[string]string{"status": `"failed"`, "result": "null", "error": `"no"`}},
		{Row{Phase: PhaseCancelled, Completed: noon}, map[string]string{"status": `"cancelled"`, "error": `"The task was cancelled."`}},
		{Row{Phase: Running, Started: noon, Progress: math.NaN()}, map[string]string{"progress": "0", "awaiting": "", "approval_id": ""}},
	}
	for _, tt := range tests {
		v := root(AppendJSON(nil, &Task{Row: tt.row}, Form{}))
		for name, want := range tt.want {
			if got := string(v.Get(name).Raw()); got != want {
				t.Errorf("phase %d: %s is %s, want %s", tt.row.Phase, name, got, want)
			}
		}
	}
}

func TestAppendEvent(t *testing.T) {
	e := Event{Root: id(uuid1), Task: id(uuid2), Status: InProgress, Progress: 0.5}
	const head = `{"protocol":"a2a","task_id":"` + uuid2 + `","status":`
	tests := []struct {
		status  Status
		message string
		want    string
	}{
		{InProgress, "", head + `"in_progress","progress":0.5,"root_task_id":"` + uuid1 + `"}`},
		{InProgress, "half", head + `"in_progress","progress":0.5,"root_task_id":"` + uuid1 + `","message":"half"}`},
		{Failed, "no", head + `"failed","progress":0.5,"root_task_id":"` + uuid1 + `","error":"no"}`},
		{Cancelled, "no", head + `"cancelled","progress":0.5,"root_task_id":"` + uuid1 + `","error":"no"}`},
	}
	for _, tt := range tests {
		e.Status, e.Message = tt.status, tt.message
		if diff := cmp.Diff(tt.want, string(AppendEvent(nil, &e))); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", tt.status, diff)
		}
	}
}

func FuzzDecodeTasks(f *testing.F) {
	f.Add(`{"id":"a","name":"A","children":[{"task":{"id":"b","name":"B","dependencies":["a"]}}]}`)
	f.Add(`[{"id":"a","name":"A","dependencies":["b"]},{"id":"b","name":"B","parent_id":"a","dependencies":[{"id":"a"}]}]`)
	f.Add(`{"tasks":[{"name":"A","inputs":{"x":"${{ a }}"},"schemas":{"method":"m","input_schema":{"properties":{"x":{"pattern":"^a"}}}}}]}`)
	f.Add(`{"name":"A","schedule_type":"cron","schedule_expression":"* * * * 7","schedule_enabled":true,"params":{"retry":{},"timeout":3}}`)
	f.Add(`{"name":"A","\u006eew":"\ud83d\ude00","max_runs":3,"priority":0}`)
	f.Fuzz(func(t *testing.T, params string) {
		tasks, top, err := DecodeTasks(jsontext.Value(params), Reading{Now: noon})
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Message() == "" {
				t.Fatalf("the error is %#v", err)
			}
			return
		}
		if err := CheckTree(tasks); err != nil || top == nil {
			t.Fatalf("%s: the top is %v; %v", params, top, err)
		}
		for _, task := range tasks {
			out := AppendJSON(nil, task, Form{})
			doc, err := rawjson.Parse(out)
			if err != nil {
				t.Fatalf("%s is encoded as %s: %v", params, out, err)
			}
			if got := doc.Root().Get("name").Text(); got != task.Name || got == "" || strings.ContainsRune(got, 0) {
				t.Fatalf("%s: the name is %q", params, got)
			}
			same, err := DecodeUpdates(task, jsontext.Value(`{}`))
			if err != nil {
				t.Fatalf("%s: no updates: %v", params, err)
			}
			if diff := cmp.Diff(task, same); diff != "" {
				t.Fatalf("%s: no updates: (-want +got)\n%s", params, diff)
			}
		}
	})
}
