package engine_test

import (
	"fmt"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/engine"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/store/storetest"
	"reeve.example/reeve/task"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// origins trusts what echo gives, and nothing else; it pays whom foreign text has not named.
const origins = `
version: 1
default: allow
labels:
  - {on: task.result, tools: [echo], label: own, tags: [private]}
  - {on: task.result, tools: [group], label: own}
acts:
  - {name: work, on: task.start, tools: [echo], control: [to]}
rules:
  - {name: foreign-target, acts: work, when: 'session.foreign && !action.control.all(v, v.origin() in ["user", "own"])', effect: deny}
`

// TestThreat08LabelsOfCopies: what was made of another tree's tasks has read what that tree has
// read, by whichever way it was made: what stands in foreign text is not washed by a copy of it.
func TestThreat08LabelsOfCopies(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		dir := t.TempDir()
		n := open(t, dir)
		labelsOfCopies(t, n, func() *node { n.stop(); n = open(t, dir); return n })
	})
	t.Run("postgres", func(t *testing.T) {
		url := storetest.Postgres(t)
		labelsOfCopies(t, openShared(t, url), func() *node { return openShared(t, url) })
	})
}

func labelsOfCopies(t *testing.T, n *node, next func() *node) {
	const account = "GB29NWBK60161331926819"
	set, err := policy.Load(policy.File{Name: "origins.yaml", Data: []byte(origins)})
	if err != nil {
		t.Fatal(err)
	}
	follow := func() {
		t.Helper()
		if err := n.guard.SetPolicy(t.Context(), set, act.Principal{Name: "operator", Method: "local"}); err != nil {
			t.Fatal(err)
		}
	}
	follow()
	labelled := func(what string, root task.ID, want ...string) {
		t.Helper()
		got, err := n.guard.LabelsAfter(t.Context(), engine.SessionOf("", root))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.SortSlices(func(a, b string) bool { return a < b })); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	foreign, _ := n.execute(`{"tasks":[{"id":"a","name":"mail","schemas":{"method":"one"},"inputs":{"to":"` + account + `"}}]}`)
	own, _ := n.execute(`{"tasks":[{"id":"a","name":"book","schemas":{"method":"echo"},"inputs":{"to":"` + account + `"}}]}`)
	n.wait(foreign)
	n.wait(own)
	labelled("the mail", foreign, "foreign")
	n = next()
	follow()
	for _, origin := range []string{task.OriginCopy, task.OriginLink, task.OriginArchive} {
		for root, want := range map[task.ID]string{foreign: "foreign", own: "private"} {
			made, err := n.Copy(t.Context(), engine.Caller{}, root, engine.Copying{Origin: origin})
			if err != nil {
				t.Fatal(err)
			}
			labelled(origin+" of "+want, made[0].ID, want)
			again, err := n.Copy(t.Context(), engine.Caller{}, made[0].ID, engine.Copying{})
			if err != nil {
				t.Fatal(err)
			}
			labelled("a copy of a "+origin+" of "+want, again[0].ID, want)
		}
	}
	linked := func(id, original string) string {
		return fmt.Sprintf(`{"id":%q,"name":%[1]q,"origin_type":"link","original_task_id":%q,"parent_id":"top"}`, id, original)
	}
	pays := `{"id":"pays","name":"pays","schemas":{"method":"echo"},"inputs":{"to":"${{ mail.to }}"},"parent_id":"top","dependencies":[{"id":"mail"}]}`
	top := `{"id":"top","name":"top"}`
	for what, links := range map[string]string{
		"one link":         linked("mail", foreign.String()),
		"links of a tree":  linked("mail", foreign.String()) + "," + linked("more", foreign.String()),
		"links of several": linked("book", own.String()) + "," + linked("mail", foreign.String()),
	} {
		root, _ := n.execute(`{"tasks":[` + top + `,` + links + `,` + pays + `]}`)
		if got := n.wait(root)["pays"]; got.Status() != task.Failed {
			t.Errorf("%s: what foreign text named was paid: %s %s", what, got.Status(), got.Result)
		}
	}
	root, _ := n.execute(`{"tasks":[` + top + `,` + linked("mail", own.String()) + `,` + pays + `]}`)
	if got := n.wait(root)["pays"]; got.Status() != task.Completed {
		t.Errorf("what one's own tree gave: %s %s", got.Status(), got.Error)
	}
	// A link into a tree that is there, which knows the value as its own.
	tasks, under, err := task.DecodeTasks([]byte(`{"tasks":[{"name":"mail","origin_type":"link","original_task_id":"`+foreign.String()+`","parent_id":"`+root.String()+`"}]}`), task.Reading{Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Create(t.Context(), engine.Caller{}, tasks, under, engine.Making{}); err != nil {
		t.Fatal(err)
	}
	labelled("a link in a tree", root, "private", "foreign")
	// To another user.
	if _, err := n.Update(t.Context(), engine.Caller{}, foreign, nil, func(was *task.Task) (*task.Task, error) {
		to := *was
		to.User = "ann"
		return &to, nil
	}); err != nil {
		t.Fatal(err)
	}
	got, err := n.guard.LabelsAfter(t.Context(), engine.SessionOf("ann", foreign))
	if diff := cmp.Diff([]string{"foreign"}, got); diff != "" || err != nil {
		t.Error("another's: ", diff, err)
	}
}
