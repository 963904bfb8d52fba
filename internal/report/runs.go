package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/internal/hook"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/words"
)

// Run is one run of an agent, by whichever door it was seen: a session with the ones that
// it began, or a tree of tasks.
type Run struct {
	ID      string    `json:"session"`
	Agent   string    `json:"agent,omitzero"`
	Door    string    `json:"door"`
	Began   time.Time `json:"began"`
	Ended   time.Time `json:"ended"`
	Steps   int       `json:"steps"`
	Denied  int       `json:"denied"`
	Changed int       `json:"changed"`
	Held    int       `json:"held"`
}

// Lasted is the time from the first step to the last.
func (r *Run) Lasted() string { return r.Ended.Sub(r.Began).Round(time.Second).String() }

// Runs are a part of a list of them, the one with the newest step first.
type Runs struct {
	Runs []Run  `json:"sessions"`
	Next string `json:"next,omitzero"` // as of ledger.Answer
}

// Window is a part of a run's steps.
type Window struct {
	Run
	Steps []Step `json:"steps_shown"`
	Next  string `json:"next,omitzero"`
}

// Bounds of a list and of a window.
const (
	DefaultRuns   = 20
	DefaultWindow = 200
	readForRuns   = 10_000 // lines that one list reads
	readForPart   = 20_000 // records that a part of a name is looked for in
)

// runOf names the run that a decision belongs to; empty for none.
func runOf(l *ledger.Line) string { return cmp.Or(l.Task, l.Parent, l.Session) }

// List lists the runs that have a step of what a query asks for.
func List(ctx context.Context, store ledger.Reader, q ledger.Query) (Runs, error) {
	list := Runs{Runs: []Run{}}
	most := cmp.Or(q.Limit, DefaultRuns)
	q.Oldest, q.Limit = false, 0
	seen := map[string]bool{}
	for read := 0; read < readForRuns; {
		a, err := ledger.Search(ctx, store, q)
		if err != nil {
			return list, err
		}
		read += a.Read
		for i := range a.Lines {
			l := &a.Lines[i]
			id := runOf(l)
			if id == "" || seen[id] {
				continue
			}
			if len(list.Runs) == most {
				list.Next = ledger.CursorBefore(l)
				return list, nil
			}
			seen[id] = true
			r, err := runFrom(ctx, store, q, id, l)
			if err != nil {
				return list, err
			}
			if r != nil {
				list.Runs = append(list.Runs, *r)
			}
		}
		if q.Cursor = a.Next; a.Next == "" {
			return list, nil
		}
	}
	list.Next = q.Cursor
	return list, nil
}

// runFrom sums up the run that a line is of; nil if a newer line than this one, which the
// list before has shown, is of the same.
func runFrom(ctx context.Context, store ledger.Reader, q ledger.Query, id string, l *ledger.Line) (*Run, error) {
	q.Cursor, q.Limit, q.Session = "", 1, id
	newest, err := ledger.Search(ctx, store, q)
	if err != nil {
		return nil, err
	}
	if len(newest.Lines) == 1 && newest.Lines[0].Decision != l.Decision {
		return nil, nil
	}
	return Summary(ctx, store, id)
}

// Summary sums up a run. ErrNotFound, of package ledger, when there is none.
func Summary(ctx context.Context, store ledger.Reader, id string) (*Run, error) {
	all, err := ledger.Count(ctx, store, ledger.Query{Session: id})
	if err != nil {
		return nil, err
	}
	if all.N == 0 {
		return nil, fmt.Errorf("the session %.80q: %w", id, ledger.ErrNotFound)
	}
	r := &Run{ID: id, Agent: agentOf(&all.Last), Door: all.Last.Door, Began: all.First.Time, Ended: all.Last.Time, Steps: all.N}
	r.Agent = cmp.Or(agentOf(&all.First), r.Agent)
	for effect, n := range map[string]*int{"deny": &r.Denied, "modify": &r.Changed, "escalate": &r.Held} {
		some, err := ledger.Count(ctx, store, ledger.Query{Session: id, Effect: effect, Since: r.Began, Until: r.Ended.Add(time.Microsecond)})
		if err != nil {
			return nil, err
		}
		*n = some.N
	}
	return r, nil
}

// agentOf is the agent by the name that people know: of a coding agent its own.
func agentOf(l *ledger.Line) string {
	if agent, _, ok := strings.Cut(l.Session, ":"); ok && slices.Contains(hook.Agents(), agent) {
		return agent
	}
	return cmp.Or(l.Agent, l.Principal)
}

// Show shows a part of a run's steps, the oldest first unless the query says otherwise:
// those of them that it asks for.
func Show(ctx context.Context, store ledger.Reader, id string, q ledger.Query) (Window, error) {
	r, err := Summary(ctx, store, id)
	if err != nil {
		return Window{}, err
	}
	w := Window{Run: *r, Steps: []Step{}}
	q.Session, q.Limit = id, cmp.Or(q.Limit, DefaultWindow)
	a, err := ledger.Search(ctx, store, q)
	if err != nil {
		return w, err
	}
	for i := range a.Lines {
		step, err := stepOf(ctx, store, id, &a.Lines[i])
		if err != nil {
			return w, err
		}
		w.Steps = append(w.Steps, step)
	}
	w.Next = a.Next
	return w, nil
}

// stepOf is what a decision tells, with its contents as far as they are kept.
func stepOf(ctx context.Context, store ledger.Reader, run string, l *ledger.Line) (Step, error) {
	s := Step{
		Decision: l.Decision, Time: l.Time, Kind: l.Kind, Effect: l.Effect, Door: l.Door, Turn: l.Turn, Tool: cmp.Or(l.Resource, l.Tool), Server: l.Server,
		Rules: l.Rules, Approval: l.Approval, Call: cmp.Or(l.Call, l.Answers),
	}
	if l.Session != run {
		s.Child, s.Session = strings.TrimPrefix(l.Session, run), l.Session
	}
	if l.Task == run {
		s.Child, s.Session = "", ""
	}
	o, err := ledger.ReadOpening(ctx, store, l.Position())
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return s, nil
	case ctx.Err() != nil:
		return s, context.Cause(ctx)
	case err != nil: // of one step: the others are shown
		s.Damaged = true
		return s, nil
	}
	if out, err := o.Outcome(); err == nil {
		s.Rules = nil
		s.why(out.Reasons)
	}
	s.Size = len(o.Request)
	doc, err := rawjson.Parse(o.Request)
	if err != nil {
		return s, nil // not kept, or no JSON
	}
	params := doc.Root().Get("params")
	s.read(params)
	switch {
	case s.Text != "":
	case params.Get("toolCallRequest").Exists(), params.Get("message").Get("params").Get("name").Exists():
		s.Text = "(no inputs)"
	case params.Get("result").Get("outputs").Exists() && onlyTexts(params.Get("result").Get("outputs")):
		s.Text = "(nothing)"
	default:
		s.readOther(doc.Root())
	}
	s.Folder = params.Get("context").Get("session").Get("metadata").Get("cwd").Text()
	return s, nil
}

// onlyTexts reports whether outputs have nothing but texts, so that no text is nothing.
func onlyTexts(outputs rawjson.Value) bool {
	for _, v := range outputs.Elems() {
		if !v.Get("text").Exists() {
			return false
		}
	}
	return true
}

// readOther reads what a step was about from the requests of other protocols: an A2G
// intent, an MCP message, an A2A message, a task.
func (s *Step) readOther(root rawjson.Value) {
	params := root.Get("params")
	for _, arguments := range []rawjson.Value{
		params.Get("arguments"), params.Get("tool_args"), params.Get("parameters"), params.Get("intent").Get("arguments"), params.Get("action").Get("parameters"),
		root.Get("arguments"), root.Get("inputs"),
	} {
		if arguments.Kind() != rawjson.Object {
			continue
		}
		named := map[string]rawjson.Value{}
		for name, v := range arguments.Members() {
			named[name] = v
		}
		if len(named) > 0 {
			s.Text = words.Shorten(strings.TrimSpace(callText(named)), longestText)
			s.Files = filesOf(s.Tool, named)
			return
		}
	}
	var texts []string
	for _, message := range []rawjson.Value{params.Get("message"), root.Get("message"), root.Get("result"), root.Get("result").Get("status").Get("message")} {
		for _, list := range []string{"parts", "content"} {
			texts = append(texts, textsIn(message.Get(list), "text")...)
		}
	}
	if len(texts) == 0 {
		for _, v := range []rawjson.Value{root.Get("result"), root.Get("error"), params, root} {
			if v.Exists() {
				texts = append(texts, string(v.Raw()))
				break
			}
		}
	}
	s.Text = words.Shorten(strings.TrimSpace(strings.Join(texts, "\n")), longestText)
}

// Collect makes a session of a run's windows, which ask gives.
func Collect(id string, ask func(cursor string) (Window, error)) (*Session, error) {
	s := &Session{ID: id}
	for cursor := ""; ; {
		w, err := ask(cursor)
		if err != nil {
			return nil, err
		}
		s.Agent, s.Began, s.Ended = w.Agent, w.Began, w.Ended
		for i := range w.Steps {
			s.Folder = cmp.Or(s.Folder, w.Steps[i].Folder)
		}
		s.Steps = append(s.Steps, w.Steps...)
		if cursor = w.Next; cursor == "" {
			s.finish()
			return s, nil
		}
	}
}

// Errors of Named.
var (
	ErrNoneNamed = errors.New("see reeve sessions list")
	ErrManyNamed = errors.New("say more of the name")
)

// Named is the run of a name, or of the beginning or end of one that no other of the newest
// records has. The index knows whole names; for a part of one no run is summed up.
func Named(ctx context.Context, store ledger.Reader, name string) (string, error) {
	whole, err := ledger.Count(ctx, store, ledger.Query{Session: name})
	if err != nil || whole.N > 0 {
		return name, err
	}
	found := map[string]bool{}
	q := ledger.Query{Limit: ledger.MaxLines}
	for read := 0; read < readForPart; {
		a, err := ledger.Search(ctx, store, q)
		if err != nil {
			return "", err
		}
		for i := range a.Lines {
			l := &a.Lines[i]
			if id := runOf(l); id != "" && (strings.HasPrefix(id, name) || strings.HasSuffix(id, name) || strings.HasPrefix(id, agentOf(l)+":"+name)) {
				found[id] = true
			}
		}
		read += a.Read
		if q.Cursor = a.Next; a.Next == "" {
			break
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("no session is named %.80q: %w", name, ErrNoneNamed)
	case 1:
		for id := range found {
			return id, nil
		}
	}
	return "", fmt.Errorf("%d sessions are named like %.80q: %w", len(found), name, ErrManyNamed)
}
