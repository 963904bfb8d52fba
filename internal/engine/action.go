package engine

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/content"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/task"

	"github.com/go-json-experiment/json/jsontext"
)

// door is what tasks' acts come by.
const door = "flow"

// agentExecutor is the executor whose results are what other agents answer.
const agentExecutor = "a2a_executor"

// owner is the principal that a user's tasks are executed for. Of the token that had them made
// it has what the name says: who acts, and for whom.
func owner(user string) act.Principal {
	return act.Principal{Name: cmp.Or(user, "anonymous"), Method: "task", Delegation: identity.DelegationIn(user)}
}

// ownerBy is owner with what the credential said besides.
func ownerBy(user string, l task.Leave) act.Principal {
	by := owner(user)
	by.Person, by.Organization = l.Person, l.Organization
	if by.Delegation == nil && (l.Client != "" || len(l.Scopes) > 0) {
		by.Delegation = &act.Delegation{} // of one who acts for itself, by a client
	}
	if d := by.Delegation; d != nil {
		d.Person, d.Client, d.Scopes = l.For, l.Client, l.Scopes
		if len(l.Actors) > 0 {
			d.Actors = l.Actors
		}
	}
	return by
}

// links are the details of a record about a task.
func links(t *task.Task, more ...string) map[string]string {
	m := map[string]string{"task": t.ID.String(), "root": t.Root.String()}
	for i := 0; i+1 < len(more); i += 2 {
		m[more[i]] = more[i+1]
	}
	return m
}

// newAction is an act of a task's attempt: its body is body, which holds the task's
// id and executor.
func (e *Engine) newAction(kind act.Kind, j *job, number int, body []byte) *act.Action {
	step := fmt.Sprintf("%s/%d/%d", j.ID, j.Run, number)
	by := ownerBy(j.User, j.Leave)
	a := &act.Action{
		Door: door, Method: "tasks.execute", Kind: kind, Principal: by,
		Session: e.session(j.Root), Within: j.Root.String(), Task: j.Root.String(), Step: step, Resource: j.Executor, Body: body,
		User: act.User{ID: j.User},
	}
	a.Canonical, a.Confusable = canon.Name(j.Executor)
	return a
}

// session names what is remembered of a tree. Where several nodes share the work, each
// remembers what it did of the tree itself: of one memory for all, of steps that are
// decided at once every node but one would have to judge again.
func (e *Engine) session(root task.ID) string {
	if e.cfg.Store.LeaseEnds().IsZero() {
		return root.String()
	}
	return root.String() + "@" + e.cfg.Node
}

// partOf is the session of a whole tree, of which each node has a part; none where one
// node has it all.
func (e *Engine) partOf(t *task.Task) guard.SessionName {
	if e.cfg.Store.LeaseEnds().IsZero() {
		return guard.SessionName{}
	}
	return SessionOf(t.User, t.Root)
}

// SessionOf names what is remembered of a user's tree.
func SessionOf(user string, root task.ID) guard.SessionName {
	return guard.SessionName{Principal: owner(user).Name, Door: door, Session: root.String()}
}

// startAction is the act of starting a task.
func (e *Engine) startAction(j *job, number int) *act.Action {
	b := appendHead(make([]byte, 0, len(j.inputs)+256), j, number)
	b = append(b, `,"inputs":`...)
	b = append(append(b, j.inputs...), '}')
	a := e.newAction(act.TaskStart, j, number, b)
	a.ID, a.Enforces = a.Step, j.description.Enforces
	if e.cfg.Revoked != nil && e.cfg.Revoked(a.Principal.Name) {
		a.Refusals = append(a.Refusals, revoked)
	}
	complete(a)
	return a
}

// revoked is why a task does not start whose maker's credential was revoked: also one that was
// planned, or agreed to, before.
var revoked = act.Reason{
	Rule: "identity", Code: "identity.revoked", Effect: act.Deny, Final: true,
	Message: "The credential of whoever made this task has been revoked.",
	Instead: "Make the task again with a credential that is valid.",
}

// resultAction is the act of taking what an attempt gave.
func (e *Engine) resultAction(j *job, number int, result jsontext.Value, failed error) *act.Action {
	b := appendHead(make([]byte, 0, len(result)+256), j, number)
	if result != nil {
		b = append(b, `,"result":`...)
		b = append(b, result...)
	}
	if failed != nil {
		b = append(b, `,"error":`...)
		b = rawjson.AppendString(b, failed.Error())
	}
	b = append(b, '}')
	a := e.newAction(act.TaskResult, j, number, b)
	a.Answers = a.Step
	a.Step += "/result"
	complete(a)
	return a
}

// complete reads the body of a task's act: what it says, and its digest.
func complete(a *act.Action) {
	doc, err := rawjson.Parse(a.Body)
	if err != nil { // of a start the resolved inputs are valid, and may be too much together
		a.Refusals = append(a.Refusals, content.TooMuch)
		return
	}
	texts := content.Set{}
	if a.Kind == act.TaskStart {
		inputs := doc.Root().Get("inputs")
		texts.AddFixed(doc.Root().Get("name"), act.Leaf{Pointer: "/name"})
		a.Arguments = texts.AddArguments(inputs, "/inputs")
		texts.Complete(a, content.AppendArguments(nil, inputs))
		return
	}
	a.Failed = doc.Root().Get("error").Exists()
	if a.Resource == agentExecutor { // who answered, and what that one has read
		a.Server = doc.Root().Get("result").Get("agent").Text()
		a.Labels = content.AppendLabels(nil, doc.Root().Get("result").Get("labels"))
	}
	texts.AddAll(doc.Root().Get("result"), act.Leaf{Pointer: "/result"}, nil)
	texts.AddAll(doc.Root().Get("error"), act.Leaf{Pointer: "/error"}, nil)
	texts.Complete(a, doc.Root().AppendCanonical([]byte(`"content":`)))
	a.Earlier = sha256.Sum256(doc.Root().AppendCanonical([]byte(act.TaskResult)))
}

// ActionOf is the act of a task's start, or of taking its result, as its record has it:
// all that the body says of it.
func ActionOf(kind act.Kind, body []byte) *act.Action {
	a := &act.Action{Door: door, Method: "tasks.execute", Kind: kind, Body: body}
	if doc, err := rawjson.Parse(body); err == nil {
		a.Resource = doc.Root().Get("executor").Text()
	}
	a.Canonical, a.Confusable = canon.Name(a.Resource)
	complete(a)
	return a
}

// tooMuch says why an act cannot be recorded.
func tooMuch(a *act.Action) string {
	if len(a.Body) > maxBody {
		return fmt.Sprintf("Its inputs, with the results of what it depends on, have %d bytes, and %d are allowed.", len(a.Body), maxBody)
	}
	return ""
}

// maxBody bounds what one start can hold: the inputs and the results that reach them.
const maxBody = 12 << 20

func appendHead(b []byte, j *job, number int) []byte {
	b = append(b, `{"task_id":"`...)
	b = append(b, j.ID.String()...)
	b = append(b, `","root_task_id":"`...)
	b = append(b, j.Root.String()...)
	b = append(b, `","attempt":`...)
	b = strconv.AppendInt(b, int64(number), 10)
	b = append(b, `,"name":`...)
	b = rawjson.AppendString(b, j.Name)
	b = append(b, `,"executor":`...)
	return rawjson.AppendString(b, j.Executor)
}

// inputsOf are the inputs in the body of a start that the policy changed.
func inputsOf(body []byte) (jsontext.Value, error) {
	doc, err := rawjson.Parse(body)
	if err != nil {
		return nil, err
	}
	inputs := doc.Root().Get("inputs")
	if inputs.Kind() != rawjson.Object {
		return nil, errors.New("engine: the policy made something of the inputs that is no object")
	}
	return jsontext.Value(inputs.Raw()), nil
}

// resultOf are the result and the error in the body of a result, as the policy left it.
func resultOf(body []byte) (result jsontext.Value, message string, err error) {
	doc, err := rawjson.Parse(body)
	if err != nil {
		return nil, "", err
	}
	if v := doc.Root().Get("result"); v.Exists() {
		result = jsontext.Value(v.Raw())
	}
	return result, doc.Root().Get("error").Text(), nil
}
