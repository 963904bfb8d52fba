package reeve

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/executor"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store/storetest"
	"reeve.example/reeve/task"

	"github.com/go-json-experiment/json/jsontext"
)

// keeper is a node that executes tasks, and the doors that they come by.
type keeper struct {
	*testing.T
	*Node
	flow, a2a http.Handler
	gate      chan struct{}
}

// waiting executes a task once its gate is open.
type waiting struct{ gate chan struct{} }

func (waiting) Describe() executor.Description {
	return executor.Description{ID: "waiting", InputSchema: jsontext.Value(`{"type":"object"}`)}
}

func (w waiting) Execute(ctx context.Context, job *executor.Job) (jsontext.Value, error) {
	select {
	case <-w.gate:
		return job.Inputs, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// keep opens a node whose callers have credentials.
func keep(t *testing.T, settings ...string) *keeper {
	t.Helper()
	k := &keeper{T: t, gate: make(chan struct{})}
	flags := map[string]string{"data": t.TempDir()}
	for i := 0; i < len(settings); i += 2 {
		flags[settings[i]] = settings[i+1]
	}
	cfg, err := Load("", func(string) string { return "" }, flags)
	if err != nil {
		t.Fatal(err)
	}
	if k.Node, err = Open(t.Context(), cfg, waiting{k.gate}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Node.Close() })
	if err := k.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	if status, answer := ask(k.Admin(), identity.Operator, identity.Admin, "POST", "/admin/keys", `{"name":"ann","role":"agent"}`); status != 200 {
		t.Fatal(answer)
	}
	k.flow = k.flowRPC()
	rpc := &jsonrpc.Handler{Namespaces: k.Node.a2a.Namespaces()}
	k.a2a = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { rpc.Serve(r.Context(), w, r) })
	return k
}

// stores are the settings of a node on each kind of store.
func stores(t *testing.T, test func(t *testing.T, k *keeper)) {
	t.Run("sqlite", func(t *testing.T) { test(t, keep(t)) })
	t.Run("postgres", func(t *testing.T) { test(t, keep(t, "database", storetest.Postgres(t))) })
}

// call makes a call as a user, and returns the answer.
func (k *keeper) call(door http.Handler, user, method, params string) string {
	k.Helper()
	role := identity.Agent
	if user == "admin" {
		role = identity.Admin
	}
	_, answer := ask(door, act.Principal{Name: "key:" + user, Method: "key"}, role, "POST", "/",
		fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params))
	return answer
}

var uuid = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// member is the id that an answer's member has.
func (k *keeper) member(answer, name string) string {
	k.Helper()
	_, rest, ok := strings.Cut(answer, `"`+name+`":"`)
	if id := uuid.FindString(rest); ok && id != "" {
		return id
	}
	k.Fatalf("no %s in %s", name, answer)
	return ""
}

// run executes a task as a user, and waits until it is as it should be.
func (k *keeper) run(user, executor, inputs string, want task.Status) (root string) {
	k.Helper()
	root = k.member(k.call(k.flow, user, "tasks.execute", fmt.Sprintf(`{"tasks":[{"name":"T","schemas":{"method":%q},"inputs":%s}]}`, executor, inputs)), "root_task_id")
	k.await(root, want)
	return root
}

func (k *keeper) await(root string, want task.Status) {
	k.Helper()
	id, err := task.ParseID(root)
	if err != nil {
		k.Fatal(err)
	}
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		r, err := k.store.TaskRow(k.Context(), id)
		if err == nil && r.Status() == want {
			return
		}
		if time.Now().After(until) {
			k.Fatalf("the task is %s, want %s (%v)", r.Status(), want, err)
		}
	}
}

// said sends a message that holds a task, waits for the answer, and returns its id
// and that of its tree.
func (k *keeper) said(user, executor, inputs string) (id, root string) {
	k.Helper()
	answer := k.call(k.a2a, user, "SendMessage", fmt.Sprintf(`{"message":{"messageId":"m-%s","role":"ROLE_USER","parts":[{"data":{"tasks":[{"id":"a","name":"A","schemas":{"method":%q},"inputs":%s}]}}]},"configuration":{"returnImmediately":%t}}`,
		user, executor, inputs, executor == "waiting"))
	return k.member(answer, "id"), k.member(answer, "rootTaskId")
}

// records are the kinds and details of the node's administrative records of a kind.
func (k *keeper) records(kind string) (list []string) {
	k.Helper()
	head, err := k.store.Head(k.Context(), k.log.Number())
	if err != nil {
		k.Fatal(err)
	}
	for i := range head.Size {
		pos := act.Position{Log: k.log.Number(), Index: i}
		r, _, err := ledger.ReadRecord(k.Context(), k.store, pos)
		if err != nil {
			k.Fatal(err)
		}
		if r.Kind != kind {
			continue
		}
		o, err := ledger.ReadOpening(k.Context(), k.store, pos)
		if err != nil {
			k.Fatal(err)
		}
		list = append(list, string(o.Links)+string(o.Principal))
	}
	return list
}

// TestRetention: trees that ended, and A2A tasks, go when their time has come, with a
// record, and are then as if they had never been; what still runs stays.
func TestRetention(t *testing.T) {
	stores(t, func(t *testing.T, k *keeper) {
		done := k.run("ann", "system_info_executor", `{"resource":"cpu"}`, task.Completed)
		running := k.run("ann", "waiting", `{}`, task.InProgress)
		idle := k.member(k.call(k.flow, "ann", "tasks.create", `{"name":"I"}`), "id")
		scheduled := k.member(k.call(k.flow, "ann", "tasks.create", `{"name":"S","schedule_type":"daily","schedule_expression":"09:30","schedule_enabled":true}`), "id")
		message, tree := k.said("ann", "system_info_executor", `{"resource":"cpu"}`)
		k.await(tree, task.Completed)
		k.call(k.a2a, "ann", "CreateTaskPushNotificationConfig", `{"taskId":"`+message+`","url":"https://example.com/hook","token":"token-of-ann"}`)
		busy, busyTree := k.said("ann", "waiting", `{}`)
		k.await(busyTree, task.InProgress)

		if err := k.store.Alone(t.Context(), k.retention().RemoveOldTasks); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{done, running, idle, scheduled, tree} {
			if answer := k.call(k.flow, "ann", "tasks.get", `{"task_id":"`+id+`"}`); !strings.Contains(answer, `"result"`) {
				t.Errorf("before its time: %s", answer)
			}
		}
		k.now = func() time.Time { return time.Now().Add(91 * 24 * time.Hour) }
		if err := k.store.Alone(t.Context(), k.retention().RemoveOldTasks); err != nil {
			t.Fatal(err)
		}
		const nobody = "00000000-0000-4000-8000-000000000001"
		for _, id := range []string{done, tree} {
			for _, method := range []string{"tasks.get", "tasks.tree", "tasks.execute", "tasks.cancel", "tasks.copy", "tasks.delete"} {
				gone, unknown := k.call(k.flow, "ann", method, `{"task_id":"`+id+`"}`), k.call(k.flow, "ann", method, `{"task_id":"`+nobody+`"}`)
				if strings.ReplaceAll(gone, id, nobody) != unknown || !strings.Contains(gone, "-32001") {
					t.Errorf("%s of what was removed: %s, of what never was: %s", method, gone, unknown)
				}
			}
		}
		for _, id := range []string{running, idle, scheduled, busyTree} {
			if answer := k.call(k.flow, "ann", "tasks.get", `{"task_id":"`+id+`"}`); !strings.Contains(answer, `"result"`) {
				t.Errorf("what stays: %s", answer)
			}
		}
		for _, method := range []string{"GetTask", "CancelTask", "SubscribeToTask", "ListTaskPushNotificationConfigs"} {
			if answer := k.call(k.a2a, "ann", method, `{"id":"`+message+`","taskId":"`+message+`"}`); !strings.Contains(answer, "-32001") {
				t.Errorf("%s of what was removed: %s", method, answer)
			}
		}
		if answer := k.call(k.a2a, "ann", "GetTask", `{"id":"`+busy+`"}`); !strings.Contains(answer, "TASK_STATE_WORKING") {
			t.Errorf("what is being worked on: %s", answer)
		}
		if answer := k.call(k.a2a, "ann", "ListTasks", `{}`); !strings.Contains(answer, busy) || strings.Contains(answer, message) {
			t.Errorf("the list: %s", answer)
		}
		all := strings.Join(k.records("admin.retention"), "\n")
		for _, want := range []string{done, tree, message, `"trees":"2","what":"tasks"`, `"tasks":"1","what":"a2a"`} {
			if !strings.Contains(all, want) {
				t.Errorf("the records do not tell of %s:\n%s", want, all)
			}
		}
		if again := len(k.records("admin.retention")); k.store.Alone(t.Context(), k.retention().RemoveOldTasks) != nil || len(k.records("admin.retention")) != again {
			t.Error("there are records of nothing that was removed")
		}
		close(k.gate)
		k.await(running, task.Completed)
		k.await(busyTree, task.Completed)
		if answer := k.call(k.a2a, "ann", "GetTask", `{"id":"`+busy+`"}`); !strings.Contains(answer, "TASK_STATE_COMPLETED") {
			t.Errorf("what was worked on: %s", answer)
		}
	})
}

// TestRetentionShown: the trees that an A2A task shows stay as long as it does.
func TestRetentionShown(t *testing.T) {
	stores(t, func(t *testing.T, k *keeper) {
		message, tree := k.said("ann", "system_info_executor", `{"resource":"cpu"}`)
		k.await(tree, task.Completed)
		item, err := k.guard.Read(t.Context(), "a2a.task", message)
		if err != nil {
			t.Fatal(err)
		}
		changed := []byte(`"updated":"` + time.Now().Add(90*24*time.Hour).UTC().Format(time.RFC3339) + `"`) // somebody came back to it
		item.Data = regexp.MustCompile(`"updated":"[^"]*"`).ReplaceAll(item.Data, changed)
		if err := k.guard.Write(t.Context(), &guard.Note{Kind: "a2a.test", Door: "a2a", By: act.Principal{Name: "node", Method: "local"}}, item); err != nil {
			t.Fatal(err)
		}
		shows := func(days int, want string) {
			t.Helper()
			k.now = func() time.Time { return time.Now().Add(time.Duration(days) * 24 * time.Hour) }
			if err := k.retention().RemoveOldTasks(t.Context()); err != nil {
				t.Fatal(err)
			}
			if answer := k.call(k.a2a, "ann", "GetTask", `{"id":"`+message+`"}`); !strings.Contains(answer, want) {
				t.Errorf("after %d days: %s, want %s", days, answer, want)
			}
		}
		shows(91, "TASK_STATE_COMPLETED")
		shows(91, `"artifacts"`)
		shows(200, "-32001")
	})
}

// TestRetentionRecord: what was removed when the node ended is recorded by the next.
func TestRetentionRecord(t *testing.T) {
	stores(t, func(t *testing.T, k *keeper) {
		done := k.run("ann", "system_info_executor", `{"resource":"cpu"}`, task.Completed)
		id, _ := task.ParseID(done)
		if gone, err := k.store.RemoveTrees(t.Context(), []task.ID{id}, time.Now().Add(time.Hour), task.ByAge); err != nil || len(gone) != 1 {
			t.Fatal(gone, err)
		}
		// Who erases something records this, too, and has not done it.
		if status, answer := ask(k.Admin(), act.Principal{Name: "ann", Method: "key"}, identity.Admin, "POST", "/admin/erase", `{"user":"nobody"}`); status != 404 {
			t.Fatal(status, answer)
		}
		if all := strings.Join(k.records("admin.retention"), "\n"); !strings.Contains(all, done) || strings.Contains(all, "ann") {
			t.Errorf("there is no record of it that says who did it: %s", all)
		}
	})
}

// TestRetentionForever: 0 keeps everything.
func TestRetentionForever(t *testing.T) {
	k := keep(t, "retention-tasks", "0s")
	done := k.run("ann", "system_info_executor", `{"resource":"cpu"}`, task.Completed)
	k.now = func() time.Time { return time.Now().Add(9999 * time.Hour) }
	if err := k.retention().RemoveOldTasks(t.Context()); err != nil {
		t.Fatal(err)
	}
	k.await(done, task.Completed)
}

// TestEraseTasks erases a user's tasks and messages with what was recorded of them,
// says what is still being executed, and leaves others' alone.
func TestEraseTasks(t *testing.T) {
	const secret, others = "the marmot sleeps until May", "the badger is awake"
	stores(t, func(t *testing.T, k *keeper) {
		inputs := func(text string) string { return fmt.Sprintf(`{"resource":"cpu","note":%q}`, text) }
		mine := k.run("ann", "waiting", `{"x":1}`, task.InProgress)
		for _, user := range []string{"ann", "bob"} {
			text := map[string]string{"ann": secret, "bob": others}[user]
			k.run(user, "system_info_executor", inputs(text), task.Completed)
			id, tree := k.said(user, "system_info_executor", inputs(text))
			k.await(tree, task.Completed)
			k.call(k.a2a, user, "CreateTaskPushNotificationConfig", `{"taskId":"`+id+`","url":"https://example.com/hook","token":"token-of-`+user+`"}`)
			k.call(k.flow, user, "tasks.create", `{"name":"I","inputs":`+inputs(text)+`}`)
		}
		// What is written over leaves free pages behind.
		idle := k.member(k.call(k.flow, "admin", "tasks.create", `{"name":"I","user_id":"key:ann","inputs":`+inputs(strings.Repeat("long ", 5000)+secret)+`}`), "id")
		k.call(k.flow, "ann", "tasks.update", `{"task_id":"`+idle+`","updates":{"inputs":{"short":true}}}`)
		k.call(k.flow, "ann", "tasks.update", `{"task_id":"`+mine+`","updates":{"name":`+fmt.Sprintf("%q", secret)+`}}`)
		erase := func() (int, string) {
			return ask(k.Admin(), identity.Operator, identity.Admin, "POST", "/admin/erase", `{"user":"key:ann"}`)
		}
		if status, answer := erase(); status != 500 || !strings.Contains(answer, "1 of the user's trees") || !strings.Contains(answer, mine) || !strings.Contains(answer, "cancel") {
			t.Errorf("while one is being executed: %d %s", status, answer)
		}
		close(k.gate)
		k.await(mine, task.Completed)
		if status, answer := erase(); status != 200 || !strings.Contains(answer, `"trees":1`) {
			t.Errorf("afterwards: %d %s", status, answer)
		}
		if status, answer := erase(); status != 404 {
			t.Errorf("once more: %d %s", status, answer)
		}
		if answer := k.call(k.flow, "admin", "tasks.list", `{"user_id":"key:ann"}`); !strings.Contains(answer, `"total":0`) {
			t.Errorf("tasks that are left: %s", answer)
		}
		if answer := k.call(k.flow, "admin", "tasks.list", `{"user_id":"key:bob"}`); !strings.Contains(answer, `"total":3`) {
			t.Errorf("others' tasks: %s", answer)
		}
		if answer := k.call(k.a2a, "ann", "ListTasks", `{}`); !strings.Contains(answer, `"totalSize":0`) {
			t.Errorf("messages that are left: %s", answer)
		}
		if answer := k.call(k.a2a, "bob", "ListTasks", `{}`); !strings.Contains(answer, `"totalSize":1`) {
			t.Errorf("others' messages: %s", answer)
		}
		for _, details := range k.records("admin.erase") {
			if strings.Contains(details, "ann") || uuid.MatchString(details) {
				t.Errorf("the record tells whose it was: %s", details)
			}
		}
		k.nowhere(secret, others)
	})
}

// nowhere makes sure that a text lies beside no record, and in no file of an SQLite
// database; another one, which is there, shows that it would be found.
func (k *keeper) nowhere(secret, others string) {
	k.Helper()
	head, err := k.store.Head(k.Context(), k.log.Number())
	if err != nil {
		k.Fatal(err)
	}
	found := false
	for i := range head.Size {
		opening, err := k.store.Opening(k.Context(), act.Position{Log: k.log.Number(), Index: i})
		if err == nil && bytes.Contains(opening, []byte(secret)) {
			k.Errorf("it lies beside record %d", i)
		}
		found = found || bytes.Contains(opening, []byte(others))
	}
	if !found {
		k.Error("what others left is not found either")
	}
	files, _ := filepath.Glob(filepath.Join(k.cfg.Data, "reeve.db*"))
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			k.Fatal(err)
		}
		if at := bytes.Index(data, []byte(secret)); at >= 0 {
			k.Errorf("it stands in %s at %d", filepath.Base(name), at)
		}
	}
}
