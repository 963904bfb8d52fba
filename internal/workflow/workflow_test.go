package workflow

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/task"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// What a file says in short is the protocol's form of it.
func TestForm(t *testing.T) {
	tests := []struct {
		name, file, source string
		set                map[string]string
		want               string
	}{
		{
			name: "one task is its own root", file: "one.yaml",
			source: "tasks:\n  - {id: a, executor: x}\n",
			want:   `[{"id":"a","name":"a","schemas":{"method":"x"}}]`,
		},
		{
			name: "several get a root that waits for the last", file: "dir/two.yaml",
			source: "tasks:\n  - {id: a, executor: x}\n  - {id: b, name: B, executor: x, needs: a}\n  - {id: c, executor: x, needs: [{id: a, required: false}, b]}\n",
			want: `[{"id":"a","name":"a","schemas":{"method":"x"},"parent_id":"workflow"},
				{"id":"b","name":"B","schemas":{"method":"x"},"dependencies":["a"],"parent_id":"workflow"},
				{"id":"c","name":"c","schemas":{"method":"x"},"dependencies":[{"id":"a","required":false},"b"],"parent_id":"workflow"},
				{"id":"workflow","name":"two","dependencies":["c"]}]`,
		},
		{
			name: "a root of one's own stays", file: "w.json",
			source: `{"name": "W", "tasks": [{"id": "top", "name": "Top"}, {"id": "a", "executor": "x", "parent_id": "top"}]}`,
			want:   `[{"id":"top","name":"Top"},{"id":"a","parent_id":"top","name":"a","schemas":{"method":"x"}}]`,
		},
		{
			name: "the root's id is free", file: "w.yaml",
			source: "tasks:\n  - {id: workflow, executor: x}\n  - {id: b, executor: x}\n",
			want: `[{"id":"workflow","name":"workflow","schemas":{"method":"x"},"parent_id":"workflow 2"},
				{"id":"b","name":"b","schemas":{"method":"x"},"parent_id":"workflow 2"},
				{"id":"workflow 2","name":"w","dependencies":["workflow","b"]}]`,
		},
		{
			name: "times and tries", file: "w.yaml",
			source: "tasks:\n  - {id: a, executor: x, timeout: 1m30s, retry: {max_attempts: 5, initial_delay: 500ms, max_delay: 60}}\n  - {id: b, executor: x, timeout: 5, retry: 3, params: {own: 1}}\n",
			want: `[{"id":"a","name":"a","schemas":{"method":"x"},"params":{"timeout":90,"retry":{"max_attempts":5,"initial_delay":0.5,"max_delay":60}},"parent_id":"workflow"},
				{"id":"b","params":{"own":1,"timeout":5,"retry":{"max_attempts":3}},"name":"b","schemas":{"method":"x"},"parent_id":"workflow"},
				{"id":"workflow","name":"w","dependencies":["a","b"]}]`,
		},
		{
			name: "a schedule is the root's", file: "w.yaml",
			source: "schedule_type: daily\nschedule_expression: \"02:30\"\nschedule_enabled: true\ntasks: [{id: a, executor: x}]\n",
			want:   `[{"id":"a","name":"a","schemas":{"method":"x"},"schedule_type":"daily","schedule_expression":"02:30","schedule_enabled":true}]`,
		},
		{
			name: "what is set", file: "w.yaml",
			source: "set:\n  who: world\n  n: 3\n  list: [1, two]\n  must:\ntasks:\n  - id: a\n    executor: x\n    inputs: {whole: \"${{ set.n }}\", text: \"${{set.who}} ${{ set.n }}, $${{ set.who }} ${HOME} {{ x }}\", list: \"${{ set.list }}\", must: \"${{ set.must }}\"}\n",
			set:    map[string]string{"n": "4", "must": "7"},
			want:   `[{"id":"a","inputs":{"whole":4,"text":"world 4, $${{ set.who }} ${HOME} {{ x }}","list":[1,"two"],"must":"7"},"name":"a","schemas":{"method":"x"}}]`,
		},
		{
			name: "what is set in several places", file: "w.yaml",
			source: "set:\n  p: {a: 1, b: 2, c: 3}\ntasks:\n  - {id: a, executor: x, params: \"${{ set.p }}\", timeout: 1}\n  - {id: b, executor: x, params: \"${{ set.p }}\", timeout: 2, parent_id: a}\n",
			want: `[{"id":"a","params":{"a":1,"b":2,"c":3,"timeout":1},"name":"a","schemas":{"method":"x"}},
				{"id":"b","params":{"a":1,"b":2,"c":3,"timeout":2},"parent_id":"a","name":"b","schemas":{"method":"x"}}]`,
		},
		{
			name: "numbers as written", file: "w.yaml",
			source: "tasks:\n  - id: a\n    executor: x\n    inputs: {a: 1.50, b: 12345678901234567890, c: 1e3, d: \"7\", e: true, f: null, g: 2026-01-02}\n",
			want:   `[{"id":"a","inputs":{"a":1.50,"b":12345678901234567890,"c":1e3,"d":"7","e":true,"f":null,"g":"2026-01-02"},"name":"a","schemas":{"method":"x"}}]`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, err := Read(tt.file, []byte(tt.source), Options{Set: tt.set})
			if err != nil {
				t.Fatal(err)
			}
			want := jsontext.Value(tt.want)
			if err := want.Compact(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(w.JSON())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What is wrong with a file is told with its place.
func TestFaults(t *testing.T) {
	tests := []struct {
		name, source string
		set          map[string]string
		want         []string // each in the error
	}{
		{"empty", "", nil, []string{"w.yaml:1:1: the document is empty"}},
		{"only comments", "# nothing\n", nil, []string{"w.yaml:1:1: the document is empty"}},
		{"no mapping", "- a\n", nil, []string{"w.yaml:1:1: a workflow is a mapping with tasks, not a list"}},
		{"no tasks", "name: x\n", nil, []string{"w.yaml:1:1: a workflow has tasks"}},
		{"tasks are none", "tasks: []\n", nil, []string{"w.yaml:1:8: a workflow has tasks"}},
		{"a task is none", "tasks: [7]\n", nil, []string{"w.yaml:1:9: a task is a mapping, not a number"}},
		{"not YAML", "tasks:\n  - id: a: b\n", nil, []string{"w.yaml:2:", "not valid YAML"}},
		{"two documents", "tasks: []\n---\ntasks: []\n", nil, []string{"w.yaml:3:", "more than one YAML document"}},
		{"anchors", "tasks:\n  - &a {id: x}\n", nil, []string{"w.yaml:2:5: anchors and aliases"}},
		{"tags", "tasks: !!binary x\n", nil, []string{"w.yaml:1:8: tags"}},
		{"a member twice", "tasks:\n  - id: a\n    executor: x\n    id: b\n", nil, []string{`w.yaml:4:5: the key "id" stands here a second time; the first is on line 2`}},
		{"misspelt", "nmae: x\ntasks:\n  - {id: a, need: b}\n", nil, []string{`w.yaml:1:1: a workflow has no member "nmae": did you mean "name"?`, `w.yaml:3:13: a task has no member "need": did you mean "needs"?`}},
		{"too deep", "tasks: " + strings.Repeat("[", 40) + strings.Repeat("]", 40), nil, []string{"the nesting is deeper than 32"}},
		{"control character", "tasks:\x00", nil, []string{"w.yaml:1:7: the document contains a control character"}},
		{"not UTF-8", "tasks: \xff", nil, []string{"the document is not valid UTF-8"}},
		{"a number that JSON does not know", "tasks:\n  - {id: a, executor: x, inputs: {n: 0x10}}\n", nil, []string{"w.yaml:2:38: 0x10 is not a number that JSON knows"}},
		{"neither id nor name", "tasks:\n  - executor: x\n", nil, []string{"w.yaml:2:5: a task has an id or a name"}},
		{"several without ids", "tasks:\n  - {name: a, executor: x}\n  - {id: b, executor: x}\n", nil, []string{"w.yaml:2:6: a task of several has an id"}},
		{"an id twice", "tasks:\n  - {id: a, executor: x}\n  - {id: a, executor: x}\n", nil, []string{`w.yaml:3:10: the id "a" is that of another task, on line 2`}},
		{"an id that is taken", "tasks:\n  - {id: set, executor: x}\n", nil, []string{"w.yaml:2:10: set is what can be set"}},
		{"needs nobody", "tasks:\n  - {id: fetch, executor: x}\n  - {id: b, executor: x, needs: [fetsh]}\n", nil, []string{`w.yaml:3:34: there is no task "fetsh": did you mean "fetch"?`}},
		{"refers to what it does not need", "tasks:\n  - {id: a, executor: x}\n  - {id: b, executor: x, inputs: {v: \"${{ a.v }}\"}}\n", nil, []string{"w.yaml:3:38: ${{ a }} is the result of a task that this one does not need: add a to needs"}},
		{"refers to nobody", "tasks:\n  - {id: a, executor: x, inputs: {v: \"${{ b.v }}\"}}\n", nil, []string{`w.yaml:2:38: ${{ b }}: there is no task "b"`}},
		{"a reference that is none", "tasks:\n  - {id: a, executor: x, inputs: {v: \"${{ }}\"}}\n", nil, []string{"w.yaml:2:38: inputs.v: "}},
		{"a circle", "tasks:\n  - {id: a, executor: x, needs: [b]}\n  - {id: b, executor: x, needs: [c]}\n  - {id: c, executor: x, needs: [a]}\n", nil, []string{"tasks wait for each other in a circle: a → b → c → a"}},
		{"itself", "tasks:\n  - {id: a, executor: x, needs: [a]}\n", nil, []string{"a → a"}},
		{"a priority", "tasks:\n  - id: a\n    executor: x\n    priority: 4\n", nil, []string{"w.yaml:4:15: priority: Value out of range (expected: 0-3)"}},
		{"a retry", "tasks:\n  - id: a\n    executor: x\n    retry: {max_attempts: 0}\n", nil, []string{"w.yaml:4:27: retry.max_attempts: Value out of range"}},
		{"a time", "tasks:\n  - id: a\n    executor: x\n    timeout: soon\n", nil, []string{`w.yaml:4:14: "soon" is no time: write 30s`}},
		{"the executor twice", "tasks:\n  - {id: a, executor: x, schemas: {method: y}}\n", nil, []string{"the executor is also named by schemas.method"}},
		{"a schedule", "schedule_type: cron\nschedule_expression: often\nschedule_enabled: true\ntasks:\n  - {id: a, executor: x}\n  - {id: b, executor: x}\n", nil, []string{"w.yaml:2:22: schedule_expression: "}},
		{"what only the node sets", "tasks:\n  - {id: a, executor: x, status: completed}\n", nil, []string{`a task has no member "status"`}},
		{"nothing to set", "tasks: [{id: a, executor: x}]\n", map[string]string{"b": "1"}, []string{`there is nothing to set that is called "b"`}},
		{"set, and not there", "set: {color: red}\ntasks:\n  - {id: a, name: \"${{ set.colour }}\", executor: x}\n", nil, []string{`w.yaml:3:19: ${{ set.colour }}: there is nothing to set that is called "colour": did you mean "color"?`}},
		{"set to nothing", "set:\n  color:\ntasks: [{id: a, executor: x}]\n", nil, []string{"w.yaml:2:9: color has no value: give one with --set color=…"}},
		{"set too often", "set: {big: x}\ntasks:\n  - {id: a, executor: x, inputs: {v: \"" + strings.Repeat("${{ set.big }}", 1000) + "\"}}\n", map[string]string{"big": strings.Repeat("x", 10_000)}, []string{"w.yaml:3:38: the file has more than 4 MiB with what is set in it"}},
		{"of another kind", "set: {n: 1}\ntasks: [{id: a, executor: x}]\n", map[string]string{"n": "many"}, []string{`w.yaml:1:10: n is set to "many", and must be a number`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Read("w.yaml", []byte(tt.source), Options{Set: tt.set})
			if err == nil {
				t.Fatal("it was read")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error is\n%v\nwithout\n%s", err, want)
				}
			}
		})
	}
	for source, want := range map[string]string{
		`{"tasks": [{"id": "a", "executor": "x", "id": "b"}]}`:                        "w.json:1:41: this is not acceptable JSON",
		"{\n \"tasks\": [\n  {\"id\": \"a\", \"executor\": \"x\", \"priority\": 7}]}": "w.json:3:44: priority",
		`{"tasks": [}`: "w.json:1:12: this is not acceptable JSON",
	} {
		if _, err := Read("w.json", []byte(source), Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %s", source, err, want)
		}
	}
}

// As many tasks as a tree may have are read in good time, and a fault among them
// still has its place.
func TestLarge(t *testing.T) {
	var b strings.Builder
	b.WriteString("tasks:\n  - {id: first, executor: x}\n")
	for i := range 5000 {
		fmt.Fprintf(&b, "  - id: t%d\n    executor: x\n    needs: first\n    inputs: {v: \"${{ first.v }}\"}\n", i)
	}
	_, err := Read("w.yaml", []byte(b.String()), Options{})
	if err == nil || !strings.Contains(err.Error(), "w.yaml:2:3: 5000 tasks are needed by no other") {
		t.Errorf("the error is %v", err)
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{
		"tasks:\n  - {id: a, executor: x, needs: [b], inputs: {v: \"${{ b.v }} ${{ set.w }}\"}}\n  - {id: b, executor: x, retry: 3, timeout: 5s}\nset: {w: 1}\n",
		`{"tasks": [{"id": "a", "executor": "x"}]}`, "tasks:\n- a: 1\n  ? b\n", "tasks: [[[[", "set: {a: {b: c}}\ntasks: [{name: \"${{ set.a }}\"}]\n",
		"schedule_enabled: true\ntasks: [{id: a, executor: x, schedule_enabled: true}]\n", "tasks:\n  - id: |\n      a\n    needs: {}\n",
	} {
		f.Add("w.yaml", s)
		f.Add("w.json", s)
	}
	f.Fuzz(func(t *testing.T, name, source string) {
		w, err := Read(name, []byte(source), Options{Set: map[string]string{"w": "2"}})
		if err != nil {
			return
		}
		text := w.JSON()
		if _, err := rawjson.Parse(text); err != nil {
			t.Fatalf("%q: it is read as %s, which is no JSON: %v", source, text, err)
		}
		if _, _, err := task.DecodeTasks(text, task.Reading{Now: time.Now()}); err != nil {
			t.Fatalf("%q: it is read as %s, which a node does not take: %v", source, text, err)
		}
	})
}

// What is replaced later names no task; within another text it is not replaced.
func TestLater(t *testing.T) {
	const source = "tasks:\n  - {id: a, executor: x, inputs: {v: \"${{ message.text }}\"}}\n"
	if _, err := Read("w.yaml", []byte(source), Options{Later: []string{"${{ message.text }}"}}); err != nil {
		t.Error(err)
	}
	within := strings.Replace(source, "{v: \"", "{v: \"Say \"", 1)
	if _, err := Read("w.yaml", []byte(strings.Replace(within, "\"Say \"", "\"Say ", 1)), Options{Later: []string{"${{ message.text }}"}}); err == nil {
		t.Error("a text with a reference to nobody was read")
	}
	if _, err := Read("w.yaml", []byte(source), Options{}); err == nil || !strings.Contains(err.Error(), `there is no task "message"`) {
		t.Error(err)
	}
}
