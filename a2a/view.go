package a2a

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/engine"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/task"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

func marshal(v any) ([]byte, error) { return json.Marshal(v) }

// view is a task as its record and its trees show it.
type view struct {
	State     State
	Message   *Message // why, or what is asked; nil for nothing
	At        time.Time
	Artifacts []artifact
	Reply     *Message
	row       task.Row               // of the newest tree's root
	at        map[task.ID]task.Phase // the tasks of the newest tree that are running or held
}

// lost is after how long a task counts as failed whose tree is not there: the node
// ended between the message and the tree.
const lost = time.Minute

// look looks at a task; all says that its artifacts are wanted.
func (s *Server) look(ctx context.Context, by engine.Caller, r *record, all bool) (*view, error) {
	v := &view{State: Submitted, At: r.Updated, at: map[task.ID]task.Phase{}}
	for i, root := range r.Roots {
		if newest := i == len(r.Roots)-1; newest || all {
			if err := s.lookAt(ctx, by, r, root, v, newest, all); err != nil {
				return nil, err
			}
		}
	}
	if r.Rest != nil {
		v.State, v.At, v.Message = r.Rest.State, r.Rest.At, nil
		if r.Rest.Why != "" {
			v.Message = agentSentence(fmt.Sprintf("%s.%d", r.ID, r.Rest.State), r.ID, r.context(), r.Rest.Why)
		}
	}
	return v, nil
}

// lookAt adds to a view what one tree shows.
func (s *Server) lookAt(ctx context.Context, by engine.Caller, r *record, root task.ID, v *view, newest, all bool) error {
	row, err := s.cfg.Engine.Row(ctx, by, root)
	if wrong, ok := errors.AsType[*task.Error](err); ok && wrong.Code == task.CodeNotFound {
		if newest && s.cfg.Now().Sub(r.Updated) > lost {
			v.State, v.Message = Failed, agentSentence(root.String()+".lost", r.ID, r.context(), "The node stopped before the work began, or the tasks were deleted.")
		}
		return nil
	}
	if err != nil {
		return err
	}
	var tree []*task.Task
	if all || row.Open > 0 {
		tree, err = s.cfg.Engine.Tree(ctx, by, root)
	} else {
		var top *task.Task
		top, err = s.cfg.Engine.Get(ctx, by, root)
		tree = []*task.Task{top}
	}
	if err != nil {
		return err
	}
	top := tree[0]
	if all {
		slices.SortStableFunc(tree, func(a, b *task.Task) int { return a.Completed.Compare(b.Completed) }) // as streams tell them
		for _, t := range tree {
			v.Artifacts = append(v.Artifacts, artifactsOf(t)...)
		}
	}
	if !newest {
		return nil
	}
	v.row = row
	if row.Open > 0 {
		v.going(tree)
		if v.State == AuthRequired {
			v.Message = held(r, row.ID)
		}
		return nil
	}
	v.ended(r, top)
	return nil
}

func held(r *record, root task.ID) *Message {
	return agentSentence(root.String()+".held", r.ID, r.context(), "Somebody must agree before the work goes on.")
}

// going is the state of a tree that is being executed.
func (v *view) going(tree []*task.Task) {
	v.At = v.row.Updated
	started := false
	for _, t := range tree {
		if t.Phase == task.Running || t.Phase == task.Held {
			v.at[t.ID] = t.Phase
		}
		started = started || !t.Started.IsZero()
	}
	v.State = stateOf(v.at, started)
}

// stateOf is the state of a tree that has not ended, by its tasks that are running
// or held.
func stateOf(at map[task.ID]task.Phase, started bool) State {
	waits := false
	for _, phase := range at {
		if phase == task.Running {
			return Working
		}
		waits = true
	}
	switch {
	case waits:
		return AuthRequired
	case started:
		return Working
	}
	return Submitted
}

// ended is the state of a tree that has ended, by its root.
func (v *view) ended(r *record, root *task.Task) {
	v.At = root.Updated
	if !root.Completed.IsZero() {
		v.At = root.Completed
	}
	name := root.ID.String() + ".end"
	switch root.Phase {
	case task.PhaseComplete:
		v.State = Completed
		if d := directiveOf(root); d != nil {
			if d.state != 0 {
				v.State = d.state
			}
			v.Message = d.message.addressed(name, r)
			v.Reply = d.reply.addressed(name+".reply", r)
		}
	case task.PhaseCancelled:
		v.State, v.Message = Canceled, agentSentence(name, r.ID, r.context(), root.Error)
	case task.PhaseFailed:
		v.State, v.Message = Failed, agentSentence(name, r.ID, r.context(), root.Error)
	}
}

// addressed is a message of the agent's about a task.
func (m *Message) addressed(id string, r *record) *Message {
	if m == nil {
		return nil
	}
	m.ID, m.Task, m.Context, m.Agent = id, r.ID, r.context(), true
	return m
}

// directive is how a workflow's result says what becomes of the A2A task: the
// member a2a of its root's result.
type directive struct {
	state     State
	message   *Message
	reply     *Message
	artifacts []artifact
	shown     bool // it names the artifacts
}

// directiveOf reads the directive in a task's result; nil when there is none, or
// one that is wrong.
func directiveOf(t *task.Task) *directive {
	if t.Parent != (task.ID{}) || t.Result == nil {
		return nil
	}
	doc, err := rawjson.Parse(t.Result)
	if err != nil || doc.Root().Get("a2a").Kind() != rawjson.Object {
		return nil
	}
	r := &reader{v: doc.Root().Get("a2a")}
	d := &directive{state: r.state("state"), message: r.saying("message"), reply: r.saying("reply"), shown: r.has("artifacts")}
	for i, v := range r.get("artifacts").Elems() {
		a := &reader{v: v}
		d.artifacts = append(d.artifacts, artifact{
			ID: fmt.Sprintf("%s.%d", t.ID, i), Name: a.text("name", maxURL), Description: a.text("description", maxURL),
			Parts: v1.readParts(a, "parts"), chunked: a.flag("chunked", false),
		})
		r.join(a)
	}
	if r.err != nil {
		return nil
	}
	return d
}

// saying reads what is said: a text, or an array of parts.
func (r *reader) saying(name string) *Message {
	switch v := r.get(name); v.Kind() {
	case rawjson.Absent:
		return nil
	case rawjson.String:
		return &Message{Parts: []part{{Kind: textPart, Text: v.Text()}}}
	default:
		return &Message{Parts: v1.readParts(r, name)}
	}
}

// artifactsOf are the artifacts that a task's result is: mostly one.
func artifactsOf(t *task.Task) []artifact {
	if t.Phase != task.PhaseComplete || t.Result == nil {
		return nil
	}
	if d := directiveOf(t); d != nil {
		return d.artifacts
	}
	if t.Executor == engine.Group {
		return nil // it does nothing
	}
	return []artifact{{ID: t.ID.String(), Name: t.Name, Parts: []part{partOf(t.Result)}, Origin: &origin{Task: t.ID.String()}}}
}

// partOf is a result as a part: as text when it is nothing but one, or what a
// command wrote; else as data.
func partOf(result jsontext.Value) part {
	doc, err := rawjson.Parse(result)
	if err == nil {
		root := doc.Root()
		if text := root.Get("text"); text.Kind() == rawjson.String && root.Len() == 1 {
			return part{Kind: textPart, Text: text.Text()}
		}
		if out := root.Get("stdout"); out.Kind() == rawjson.String {
			return part{Kind: textPart, Text: out.Text()}
		}
	}
	return part{Kind: dataPart, Data: result}
}

// picture is a task as a caller is shown it.
func (s *Server) picture(ctx context.Context, by engine.Caller, r *record, history *int, artifacts bool) (*taskView, *view, error) {
	v, err := s.look(ctx, by, r, artifacts)
	if err != nil {
		return nil, nil, err
	}
	if artifacts { // what is answered has the labels of what was read for it
		if err := s.label(ctx, by, r); err != nil {
			return nil, nil, err
		}
		if v.Reply != nil && len(r.labels) > 0 && v.Reply.Metadata == nil {
			o := begin(nil)
			o.list(act.LabelsKey, r.labels)
			v.Reply.Metadata = o.end()
		}
	}
	p := &taskView{
		ID: r.ID, Context: r.context(), State: v.State, Message: v.Message, At: v.At, Artifacts: v.Artifacts, ShowArtifacts: artifacts,
		Origin: r.origin(), reply: v.Reply,
	}
	if history == nil || *history > 0 {
		h, _, err := s.conversation(ctx, r.ID)
		if err != nil {
			return nil, nil, err
		}
		p.History = limited(h.read(), history)
	}
	return p, v, nil
}
