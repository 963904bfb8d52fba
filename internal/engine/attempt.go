package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/executor"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/wording"
	"reeve.example/reeve/task"

	"github.com/go-json-experiment/json/jsontext"
)

// attempt is one start of a task on this node.
type attempt struct {
	number, run int
	begun       atomic.Bool // its start is durable
	cancel      context.CancelCauseFunc
	left        chan struct{} // closed when it is over
	turn        *turn
}

// start decides about the start of a task, executes it, and decides about its
// result. It returns when the attempt is over.
func (e *Engine) start(ctx context.Context, h task.Handed, turn *turn) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a := &attempt{number: h.Attempt, run: h.Run, cancel: cancel, left: make(chan struct{}), turn: turn}
	if !e.enter(ctx, h.Task, a) {
		return
	}
	name := ""
	defer func() { e.leave(h.Task, a, name) }()
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		err := e.attempt(ctx, h, a, &name)
		if err == nil || errors.Is(err, task.ErrMoved) || errors.Is(err, ledger.ErrNotFound) || ctx.Err() != nil {
			return
		}
		a.turn.over() // others can perhaps be started
		// The ledger or the store did not take it. What is not durable has not begun.
		e.cfg.Logger.Error("a task cannot be started", "task", h.Task.String(), "error", err)
		if errors.Is(err, task.ErrBroken) {
			return // to try again would keep a worker from the others
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

// enter takes a task for this node; false when it is being worked on already. An
// attempt that came before is waited for: its end, which made the task ready again,
// may be known here before it has returned.
func (e *Engine) enter(ctx context.Context, id task.ID, a *attempt) bool {
	for {
		e.mu.Lock()
		other := e.running[id]
		if other == nil {
			e.running[id] = a
		}
		e.mu.Unlock()
		if other == nil {
			return true
		}
		if a.run < other.run || a.run == other.run && a.number <= other.number {
			return false
		}
		a.turn.over() // nobody knows how long that takes
		select {
		case <-other.left:
		case <-ctx.Done():
			return false
		}
	}
}

func (e *Engine) leave(id task.ID, a *attempt, name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.running, id)
	close(a.left)
	if name != "" {
		e.busy[name]--
	}
}

// job is what an attempt works with.
type job struct {
	*task.Task
	executor    executor.Executor
	description executor.Description
	inputs      jsontext.Value
	results     []task.Result
	manifest    act.Manifest
	labels      []string
}

// attempt makes one attempt. After an error nothing was begun.
func (e *Engine) attempt(ctx context.Context, h task.Handed, a *attempt, name *string) error {
	found, err := e.reader.tasks(ctx, []task.ID{h.Task})
	if err != nil {
		return err
	}
	if found[h.Task] == nil {
		return fmt.Errorf("the task %s: %w", h.Task, ledger.ErrNotFound)
	}
	t := new(*found[h.Task])
	if t.Phase != task.Ready || t.Attempt+1 != h.Attempt || t.Run != h.Run {
		return task.ErrMoved
	}
	if *name == "" {
		*name = t.Executor
		e.mu.Lock()
		e.busy[t.Executor]++
		e.mu.Unlock()
	}
	j := &job{Task: t}
	refusal := ""
	if t.Broken != nil {
		e.sayBroken(t)
		refusal = brokenText
	} else if refusal, err = e.prepare(ctx, j); err != nil {
		return err
	}
	action := e.startAction(j, h.Attempt)
	if refusal == "" {
		refusal = tooMuch(action)
	}
	if refusal != "" {
		return e.refuse(ctx, j, h, refusal)
	}
	if !a.turn.wait(ctx) {
		return context.Cause(ctx)
	}
	began := false
	decided, _, err := e.cfg.Guard.DecideWith(ctx, action, guard.With{Asked: t.Held != "", PartOf: e.partOf(t), Task: func(d *guard.Ruling) (*task.Change, error) {
		manifest, limited := d.Policy.Manifest(action.Canonical)
		d.Manifest = &manifest
		c := &task.Change{Task: t.ID, Root: t.Root, At: e.cfg.Now(), Attempt: h.Attempt, Node: e.cfg.Node}
		began = false
		switch d.Effect {
		case act.Escalate:
			c.Kind, c.Message = task.Hold, "It waits for approval: "+reasons(d.Decision)
			if d.Approval == nil {
				return nil, errors.New("engine: an act is held, and no approval says by whom")
			}
			c.Held = d.Approval.ID
			return c, nil
		case act.Allow, act.Modify:
			c.Kind, began, j.labels = task.Start, true, d.Labels
			j.manifest = manifest
			if !limited {
				j.manifest = j.description.Manifest
			}
			if d.Effect == act.Modify {
				if j.inputs, err = inputsOf(d.Modified); err != nil {
					return nil, err
				}
				c.Judged = j.inputs
			}
			return c, nil
		default:
			c.Kind, c.Message = task.Refuse, "Denied: "+reasons(d.Decision)
			return c, nil
		}
	}})
	if damaged, ok := errors.AsType[*guard.DamagedError](err); ok { // and stays so, however often it is tried
		return e.refuse(ctx, j, h, fmt.Sprintf("What is stored of the %s that it depends on is damaged.", damaged.Kind))
	}
	if err != nil {
		return err
	}
	if began {
		a.begun.Store(true)
		t.Attempt = h.Attempt
		a.turn.over()
		e.execute(act.WithTraceparent(ctx, e.cfg.Span(action, decided.Position)), j, a)
	}
	return nil
}

// reasons is what a decision says in one text: what each rule says that decided, and
// its code.
func reasons(d *act.Decision) string {
	said := wording.Deciding(d, func(r *act.Reason) string {
		if r.Code == "" {
			return wording.Advice(r)
		}
		return wording.Advice(r) + " (" + r.Code + ")"
	})
	if len(said) == 0 {
		return "the policy says so."
	}
	return strings.Join(said, " ")
}

// screened is a message of a task's progress as the policy lets results say it; what
// a result may not say at all is left out.
func (e *Engine) screened(j *job, number int, message string) string {
	text := append(append([]byte(`{"progress":`), rawjson.AppendString(nil, message)...), '}')
	body, ok := e.cfg.Guard.Screen(e.resultAction(j, number, text, nil))
	if !ok {
		return ""
	}
	doc, err := rawjson.Parse(body)
	if err != nil {
		return ""
	}
	return doc.Root().Get("result").Get("progress").Text()
}

// prepare finds the executor, and brings the results of dependencies into the
// inputs. refusal says why the task cannot be executed at all.
func (e *Engine) prepare(ctx context.Context, j *job) (refusal string, err error) {
	if j.Executor == Group {
		j.executor, j.description = group{}, group{}.Describe()
	} else {
		var ok bool
		if j.executor, j.description, ok = e.cfg.Executors.Get(j.Executor); !ok {
			return noExecutor(j.Executor), nil
		}
	}
	if wrong := literal(&j.description, j.Task); wrong != nil {
		return wrong.Error(), nil
	}
	if j.Executor == Group { // it reads no inputs
		j.inputs = j.Inputs
		if j.inputs == nil {
			j.inputs = jsontext.Value("{}")
		}
		return "", nil
	}
	if len(j.Dependencies) > 0 {
		ids := make([]task.ID, len(j.Dependencies))
		for i, d := range j.Dependencies {
			ids[i] = d.ID
		}
		size := 0
		for some := range slices.Chunk(ids, 8) { // a few at a time: each may be large
			found, err := e.reader.tasks(ctx, some)
			if err != nil {
				return "", err
			}
			for _, id := range some {
				if t := found[id]; t != nil && t.Broken != nil {
					e.sayBroken(t)
					return "What is stored of a task that it depends on is damaged: " + id.String() + ".", nil
				} else if t != nil {
					if t.Status() != task.Completed { // what it gave all the same is nobody's to build on
						t = new(*t)
						t.Result = nil
					}
					size += len(t.Result)
					j.results = append(j.results, task.Result{ID: id.String(), ClientID: t.ClientID, Status: t.Status(), Value: t.Result})
				}
			}
			if size > maxBody {
				return fmt.Sprintf("The results of what it depends on have more than %d bytes.", maxBody), nil
			}
		}
	}
	if j.inputs, err = task.Resolve(j.Inputs, j.results); err != nil {
		return err.Error(), nil
	}
	for _, schema := range []jsontext.Value{j.description.InputSchema, j.InputSchema()} {
		if wrong := task.CheckInputs(schema, j.inputs); schema != nil && wrong != nil {
			return wrong.Error(), nil
		}
	}
	return "", nil
}

// commands is the executor that a node has only if it is allowed to.
const commands = "command_executor"

func noExecutor(id string) string {
	if id == commands {
		return fmt.Sprintf("Executor not found: the executor %q is off on this node: --allow-commands (allow-commands) switches it on.", id)
	}
	return fmt.Sprintf("Executor not found: there is no executor %q on this node. See reeve executors list for those that there are; an own one is added in Go (package executor).", id)
}

// refuse ends a task that cannot be executed, whatever the policy says.
func (e *Engine) refuse(ctx context.Context, j *job, h task.Handed, why string) error {
	_, err := e.record(ctx, "task.refuse", owner(j.User), nil, links(j.Task, "reason", why),
		&task.Change{Kind: task.Refuse, Task: j.ID, Root: j.Root, At: e.cfg.Now(), Attempt: h.Attempt, Node: e.cfg.Node, Message: why})
	return err
}

// execute does the work of an attempt whose start is durable, and makes its end so.
func (e *Engine) execute(ctx context.Context, j *job, a *attempt) {
	begin := time.Now()
	limit := time.Duration(j.manifest.TimeoutSeconds) * time.Second
	if own := j.Timeout(); own > 0 && (limit <= 0 || own < limit) {
		limit = own
	}
	if limit > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, limit, errTimeOver)
		defer stop()
	}
	p := e.newProgress(j, a)
	result, err := run(ctx, j, p)
	p.stop()
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errCancelled), errors.Is(cause, errLeaseOver):
		return // the row says so already, or is somebody else's
	case errors.Is(cause, errStopping) && err != nil:
		e.giveBack(j, a, "The node stopped, and gives it back.")
		return
	case errors.Is(cause, errTimeOver) && err != nil:
		late := &executor.Error{Message: fmt.Sprintf("it did not end within %v, which is all the time it has", limit)}
		if said, ok := errors.AsType[*executor.Error](err); ok {
			late.Result = said.Result // what it had until then
		}
		err = late
	}
	outcome := e.finish(j, a, result, err)
	e.cfg.Ended(j.Executor, outcome, time.Since(begin))
}

// run has the executor work. Its panic is a failure of the task, not of the node.
func run(ctx context.Context, j *job, p *progress) (result jsontext.Value, err error) {
	defer func() {
		if r := recover(); r != nil {
			p.engine.cfg.Logger.Error("an executor panicked", "executor", j.Executor, "task", j.ID.String(), "panic", r, "stack", string(debug.Stack()))
			result, err = nil, errors.New("the executor broke down")
		}
	}()
	results := make([]executor.Result, len(j.results))
	for i, r := range j.results {
		results[i] = executor.Result{ID: cmp.Or(r.ClientID, r.ID), Value: r.Value, Status: string(r.Status)}
	}
	result, err = j.executor.Execute(ctx, &executor.Job{
		Task: j.ID.String(), Root: j.Root.String(), Name: j.Name, User: j.User, Attempt: j.Attempt,
		Key: fmt.Sprintf("%s/%d", j.ID, j.Run), Inputs: j.inputs, Params: j.Params, Results: results,
		Manifest: j.manifest, Labels: j.labels, Progress: p.report,
	})
	if err != nil {
		if said, ok := errors.AsType[*executor.Error](err); ok && !acceptable(said.Result) {
			only := *said
			only.Result = nil
			err = &only
		}
		return nil, err
	}
	if len(result) > task.MaxResult {
		return nil, executor.Final(fmt.Errorf("the result has %d bytes, and %d are allowed", len(result), task.MaxResult))
	}
	if !acceptable(result) {
		return nil, executor.Final(errors.New("the executor gave something that is no JSON object"))
	}
	return result, nil
}

// acceptable reports whether an executor gave a result that can be one.
func acceptable(result jsontext.Value) bool {
	if len(result) > task.MaxResult {
		return false
	}
	doc, err := rawjson.Parse(result)
	return err == nil && doc.Root().Kind() == rawjson.Object
}

// finish decides about the result of an attempt, and ends the task or has it tried again.
func (e *Engine) finish(j *job, a *attempt, result jsontext.Value, failed error) task.Phase {
	// Also while the node stops: what was done must be known. As long as the node
	// runs, the end is tried again until it is durable.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer context.AfterFunc(e.stopping, func() { time.AfterFunc(lastWords, cancel) })()
	var after time.Duration
	retry, again := j.Retry(), false
	if failed != nil {
		var said *executor.Error
		if again = j.Failures+1 < retry.Attempts; errors.As(failed, &said) {
			again, after, result = again && !said.Final, said.After, said.Result
		}
	}
	outcome := task.PhaseFailed
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		action := e.resultAction(j, a.number, result, failed)
		_, _, err := e.cfg.Guard.DecideWith(ctx, action, guard.With{PartOf: e.partOf(j.Task), Task: func(d *guard.Ruling) (*task.Change, error) {
			outcome = task.PhaseFailed
			c := &task.Change{Kind: task.Finish, Task: j.ID, Root: j.Root, At: e.cfg.Now(), Attempt: a.number, Node: e.cfg.Node, Outcome: outcome}
			body := action.Body
			switch d.Effect {
			case act.Allow:
			case act.Modify:
				body = d.Modified
			default:
				c.Message = "The result is withheld: " + reasons(d.Decision)
				return c, nil
			}
			given, message, err := resultOf(body)
			if err != nil {
				return nil, err
			}
			switch {
			case failed == nil:
				outcome = task.PhaseComplete
				c.Outcome, c.Result = outcome, given
			case again:
				c.Kind, c.Message = task.TryAgain, message
				c.Due = c.At.Add(max(after, retry.Delay(j.Failures+1, rand.Float64())))
			default:
				c.Message, c.Result = message, given
			}
			return c, nil
		}})
		if err == nil || errors.Is(err, task.ErrMoved) || ctx.Err() != nil {
			return outcome
		}
		e.cfg.Logger.Error("the end of a task cannot be recorded", "task", j.ID.String(), "error", err)
		if errors.Is(err, task.ErrBroken) {
			return outcome
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return outcome
		}
	}
}

// lastWords is how long the end of a task is tried to be written while the node stops.
const lastWords = 10 * time.Second

// giveBack makes a running task ready again, so that another node takes it.
func (e *Engine) giveBack(j *job, a *attempt, why string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := e.cfg.Guard.ChangeTask(ctx, &task.Change{
		Kind: task.Lose, Task: j.ID, Root: j.Root, At: e.cfg.Now(), Attempt: a.number, Node: e.cfg.Node, Message: why,
	})
	if err != nil && !errors.Is(err, task.ErrMoved) {
		e.cfg.Logger.Error("a task cannot be given back: it goes on when the node's lease is over", "task", j.ID.String(), "error", err)
	}
}

// group executes tasks that name no executor.
type group struct{}

func (group) Describe() executor.Description {
	return executor.Description{ID: Group, Idempotent: true}
}

func (group) Execute(context.Context, *executor.Job) (jsontext.Value, error) {
	return jsontext.Value("{}"), nil
}

// progress passes on what an executor says of its progress, not too often.
type progress struct {
	engine *Engine
	job    *job
	number int

	mu       sync.Mutex
	fraction float64
	lines    []string
	bytes    int
	timer    *time.Timer
	told     int // events so far
	over     bool
	idle     sync.Cond // no telling is going on
	telling  bool
}

// Bounds of what progress says: how often, and how much at once.
const (
	progressEvery = 200 * time.Millisecond
	progressSlow  = 2 * time.Second // from the thousandth event on
	progressBytes = 4 << 10
)

func (e *Engine) newProgress(j *job, a *attempt) *progress {
	p := &progress{engine: e, job: j, number: a.number, fraction: -1}
	p.idle.L = &p.mu
	return p
}

func (p *progress) report(fraction float64, message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	if fraction >= 0 {
		p.fraction = min(fraction, 1)
	}
	if message != "" {
		message = strings.ToValidUTF8(message, "\uFFFD")
		p.lines = append(p.lines, message)
		p.bytes += len(message) + 1
		for p.bytes > progressBytes && len(p.lines) > 1 {
			p.bytes -= len(p.lines[0]) + 1
			p.lines = p.lines[1:]
		}
	}
	if p.timer == nil {
		every := progressEvery
		if p.told >= 1000 {
			every = progressSlow
		}
		p.timer = time.AfterFunc(every, p.tell)
	}
}

// tell makes what was reported an event.
func (p *progress) tell() {
	p.mu.Lock()
	p.timer = nil
	if p.over || p.telling {
		p.mu.Unlock()
		return
	}
	c := p.take()
	p.telling = true
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	err := p.engine.cfg.Guard.ChangeTask(ctx, c)
	cancel()
	if err != nil && !errors.Is(err, task.ErrMoved) {
		p.engine.cfg.Logger.Warn("the progress of a task cannot be kept", "task", p.job.ID.String(), "error", err)
	}
	p.mu.Lock()
	p.telling = false
	p.told++
	if len(p.lines) > 0 && p.timer == nil && !p.over {
		p.timer = time.AfterFunc(progressEvery, p.tell)
	}
	p.idle.Broadcast()
	p.mu.Unlock()
}

// take makes a change of what was reported. mu is held.
func (p *progress) take() *task.Change {
	message := strings.Join(p.lines, "\n")
	if len(message) > progressBytes {
		message = strings.ToValidUTF8(message[len(message)-progressBytes:], "")
	}
	if message != "" { // what a result may not say, its progress may not
		message = p.engine.screened(p.job, p.number, message)
	}
	c := &task.Change{
		Kind: task.Advance, Task: p.job.ID, Root: p.job.Root, At: p.engine.cfg.Now(), Attempt: p.number, Node: p.engine.cfg.Node,
		Fraction: p.fraction, Message: message,
	}
	p.lines, p.bytes = nil, 0
	return c
}

// stop has no more be told, but for what was reported last.
func (p *progress) stop() {
	p.mu.Lock()
	p.over = true
	pending := p.timer != nil && p.timer.Stop() || len(p.lines) > 0
	for p.telling {
		p.idle.Wait()
	}
	var c *task.Change
	if pending {
		c = p.take()
	}
	p.mu.Unlock()
	if c != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = p.engine.cfg.Guard.ChangeTask(ctx, c) // the end that follows says more
	}
}
