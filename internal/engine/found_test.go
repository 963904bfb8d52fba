package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/executor"
	"reeve.example/reeve/internal/engine"
	"reeve.example/reeve/internal/linear"
	"reeve.example/reeve/task"

	"github.com/go-json-experiment/json/jsontext"
)

// Many more tasks than a queue holds that are ready again at once, as after a run of a
// schedule, are all handed out by the dispatcher.
func TestManyAgain(t *testing.T) {
	n := open(t, t.TempDir())
	n.works.set(func(_ context.Context, job *executor.Job) (jsontext.Value, error) {
		if job.Attempt == 1 {
			return nil, errors.New("not yet")
		}
		return jsontext.Value("{}"), nil
	})
	var list strings.Builder
	list.WriteString(`{"id":"r","name":"r"}`)
	for i := range 800 {
		fmt.Fprintf(&list, `,{"id":"t%d","name":"t","parent_id":"r","schemas":{"method":"echo"},"params":{"retry":{"max_attempts":2,"initial_delay":0}}}`, i)
	}
	root, _ := n.execute(`{"tasks":[` + list.String() + `]}`)
	for name, x := range n.wait(root) {
		if x.Status() != task.Completed {
			t.Errorf("%s is %s", name, x.Status())
		}
	}
}

// What a result may not say, its progress does not say either.
func TestProgressIsScreened(t *testing.T) {
	n := open(t, t.TempDir())
	n.works.set(func(_ context.Context, job *executor.Job) (jsontext.Value, error) {
		job.Progress(0.5, "paid with 4111 1111 1111 1111")
		return jsontext.Value("{}"), nil
	})
	root, _ := n.execute(`{"name":"s","schemas":{"method":"echo"}}`)
	n.wait(root)
	events, err := n.store.TaskEvents(t.Context(), root, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	said := false
	for _, e := range events {
		if strings.Contains(e.Message, "4111") {
			t.Errorf("an event says %q", e.Message)
		}
		said = said || strings.Contains(e.Message, "paid with")
	}
	if !said {
		t.Error("the rest of the message is gone")
	}
}

// A task that is added to a tree and executed is held to what it depends on.
func TestAddedToTree(t *testing.T) {
	n := open(t, t.TempDir())
	n.works.set(func(context.Context, *executor.Job) (jsontext.Value, error) { return nil, errors.New("no") })
	root, _ := n.execute(`{"name":"a","schemas":{"method":"echo"}}`)
	n.wait(root)
	add := func(required bool) error {
		params := fmt.Sprintf(`{"name":"b","parent_id":"%s","schemas":{"method":"echo"},"dependencies":[{"id":"%s","required":%v}]}`, root, root, required)
		tasks, top, err := task.DecodeTasks(jsontext.Value(params), task.Reading{Now: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		_, err = n.Create(t.Context(), engine.Caller{}, tasks, top, engine.Making{Execute: true})
		return err
	}
	var wrong *task.Error
	if err := add(true); !errors.As(err, &wrong) || wrong.Code != task.CodeDependency {
		t.Errorf("a task that needs one that failed: %v", err)
	}
	if err := add(false); err != nil {
		t.Errorf("a task that does without one that failed: %v", err)
	}
	n.wait(root)
}

// Results of others are not put into a line of shell.
func TestLiteral(t *testing.T) {
	e := &executor.Registry{}
	if err := e.Register(executor.NewCommand(executor.CommandConfig{})); err != nil {
		t.Fatal(err)
	}
	x := engine.New(engine.Config{Executors: e, Store: struct{ task.Store }{}}) // nothing of it is asked
	tasks, top, err := task.DecodeTasks(jsontext.Value(`{"tasks":[{"id":"a","name":"a"},
		{"id":"b","name":"b","parent_id":"a","dependencies":["a"],"schemas":{"method":"command_executor"},"inputs":{"command":"echo ${{ a.x }}"}}]}`), task.Reading{Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	var wrong *task.Error
	if _, err := x.Create(t.Context(), engine.Caller{}, tasks, top, engine.Making{}); !errors.As(err, &wrong) || wrong.Field != "inputs.command" {
		t.Errorf("%v", err)
	}
}

// Who deletes a large tree does not hold up the others for long.
func TestDeleteLarge(t *testing.T) {
	n := open(t, t.TempDir())
	var list strings.Builder
	list.WriteString(`{"id":"r","name":"r"}`)
	for i := range 5000 {
		fmt.Fprintf(&list, `,{"id":"t%d","name":"t","parent_id":"r","dependencies":["r"]}`, i)
	}
	tasks, top, err := task.DecodeTasks(jsontext.Value(`{"tasks":[`+list.String()+`]}`), task.Reading{Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	root, err := n.Create(t.Context(), engine.Caller{}, tasks, top, engine.Making{})
	if err != nil {
		t.Fatal(err)
	}
	took := linear.Process(func() { err = n.Delete(t.Context(), engine.Caller{}, root, true) })
	if err != nil {
		t.Fatal(err)
	}
	if took > 20*time.Second {
		t.Errorf("it took %v of the processor", took)
	}
}

// A link is never executed, and has no schedule.
func TestLinks(t *testing.T) {
	n := open(t, t.TempDir())
	root, _ := n.execute(`{"name":"a","schemas":{"method":"echo"},"inputs":{"n":1}}`)
	n.wait(root)
	list, err := n.Copy(t.Context(), engine.Caller{}, root, engine.Copying{Origin: task.OriginLink})
	if err != nil {
		t.Fatal(err)
	}
	link, err := n.Get(t.Context(), engine.Caller{}, list[0].ID)
	if err != nil || link.Status() != task.Completed || string(link.Result) != `{"n":1}` || link.Origin != task.OriginLink {
		t.Errorf("%+v, %v", link, err)
	}
	var wrong *task.Error
	if _, err := n.Execute(t.Context(), engine.Caller{}, link.ID, engine.Making{}); !errors.As(err, &wrong) || wrong.Code != task.CodeTransition {
		t.Errorf("a link executed: %v", err)
	}
	tasks, top, err := task.DecodeTasks(jsontext.Value(fmt.Sprintf(`{"name":"x","origin_type":"archive","original_task_id":"%s","schedule_type":"interval","schedule_expression":"1","schedule_enabled":true}`, root)), task.Reading{Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Create(t.Context(), engine.Caller{}, tasks, top, engine.Making{}); !errors.As(err, &wrong) || wrong.Code != task.CodeSchema {
		t.Errorf("an archive with a schedule: %v", err)
	}
}
