// Package report tells what coding agents did, session by session, from the records and
// what lies beside them: each step with its verdict and reasons, and the files that it
// changed, as far as the steps tell. It reads, and shows nothing itself.
//
//	sessions, err := report.Read(ctx, store, 20_000)
package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/hook"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/visible"
	"reeve.example/reeve/internal/words"

	"mvdan.cc/sh/v3/syntax"
)

// Session is what the ledger has of one session and its sub-agents.
type Session struct {
	ID      string    `json:"session"`
	Agent   string    `json:"agent"`
	Folder  string    `json:"folder,omitzero"`
	Began   time.Time `json:"began"`
	Ended   time.Time `json:"ended"`
	Denied  int       `json:"denied"`
	Changed int       `json:"changed"`
	Held    int       `json:"held"`
	Steps   []Step    `json:"steps"`
	Files   []File    `json:"files,omitzero"`
}

// Step is one step of it.
type Step struct {
	Decision string    `json:"decision"`
	Time     time.Time `json:"time"`
	Kind     string    `json:"kind"` // such as tool.call
	Effect   string    `json:"effect"`
	Door     string    `json:"door,omitzero"`
	Turn     string    `json:"turn,omitzero"`
	Tool     string    `json:"tool,omitzero"`
	Given    string    `json:"given,omitzero"` // the tool, as the agent calls it
	Server   string    `json:"server,omitzero"`
	Child    string    `json:"child,omitzero"`   // the sub-agent's session
	Session  string    `json:"session,omitzero"` // the whole name of that
	Text     string    `json:"text,omitzero"`    // what was asked, said, called or given, shortened
	Reasons  []string  `json:"reasons,omitzero"`
	Rules    []string  `json:"rules,omitzero"`
	Failed   bool      `json:"failed,omitzero"`
	// Agreed says that the agent asked its user in a window of its own, and that this is
	// the result of what the user was asked about.
	Agreed   bool   `json:"agreed,omitzero"`
	Approval string `json:"approval,omitzero"`
	Folder   string `json:"folder,omitzero"`
	Files    []File `json:"files,omitempty"` // that it would change

	Call string `json:"call,omitzero"` // what joins a call and its result
	// Size is how large the request is as it is kept, in bytes.
	Size int `json:"size,omitzero"`

	// Labels are what the session has read by this step, and Ways those of the values that it
	// used and that nobody trusted has named.
	Labels []string    `json:"labels,omitempty"`
	Ways   []act.Trace `json:"ways,omitempty"`
	// Damaged says that something that is kept of the step cannot be read.
	Damaged bool `json:"damaged,omitzero"`
}

// File is a file that a step changed, or may have.
type File struct {
	Path     string `json:"path"`
	How      string `json:"how"`   // written, edited, deleted, moved
	State    string `json:"state"` // done, failed, or unknown: no result was reported
	Decision string `json:"decision"`
}

// Lasted is the time from the first step to the last.
func (s *Session) Lasted() string {
	return s.Ended.Sub(s.Began).Round(time.Second).String()
}

// Read gathers the coding agents' sessions from the newest records of each log, or from
// all if last is 0, the newest session first.
func Read(ctx context.Context, store ledger.Reader, last uint64) ([]*Session, error) {
	sessions := map[string]*Session{}
	if err := gather(ctx, store, last, sessions); err != nil {
		return nil, err
	}
	list := make([]*Session, 0, len(sessions))
	for _, s := range sessions {
		s.finish()
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *Session) int {
		return cmp.Or(b.Began.Compare(a.Began), cmp.Compare(a.ID, b.ID))
	})
	return list, nil
}

func gather(ctx context.Context, store ledger.Reader, last uint64, sessions map[string]*Session) error {
	logs, err := store.Logs(ctx)
	if err != nil {
		return err
	}
	for _, log := range logs {
		head, err := ledger.ReadHead(ctx, store, log)
		if err != nil {
			return err
		}
		from := head.Pruned
		if last > 0 && head.Size > last {
			from = max(from, head.Size-last)
		}
		const batch = 256 // so that the store is not held while openings are read
		for ; from < head.Size; from += batch {
			var records []ledger.Record
			err := store.Records(ctx, log, from, min(from+batch, head.Size), func(_ uint64, data []byte) error {
				r, err := ledger.ParseRecord(data)
				if err == nil && r.Door == "aos" {
					records = append(records, r)
				}
				return err
			})
			if err != nil {
				return err
			}
			for i := range records {
				if err := addStep(ctx, store, &records[i], sessions); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// addStep adds a record to its session, if it is a coding agent's. What lay beside
// it may have expired or been erased: then it belongs to no session any more.
func addStep(ctx context.Context, store ledger.Reader, r *ledger.Record, sessions map[string]*Session) error {
	o, err := ledger.ReadOpening(ctx, store, act.Position{Log: r.Log, Index: r.Index})
	if errors.Is(err, ledger.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read what lies beside %s: %w", r.ID(), err)
	}
	links, err := o.Linked()
	if err != nil {
		return nil
	}
	agent, _, ok := strings.Cut(links.Session, ":")
	if !ok || !slices.Contains(hook.Agents(), agent) {
		return nil
	}
	step := Step{
		Decision: r.ID(), Time: r.Time, Kind: r.Kind, Effect: r.Effect, Tool: links.Resource,
		Call: cmp.Or(links.ID, links.Answers),
	}
	if out, err := o.Outcome(); err == nil {
		step.why(out.Reasons)
	}
	if doc, err := rawjson.Parse(o.Request); err == nil {
		step.read(doc.Root().Get("params"))
	}
	id, folder := links.Session, ""
	if doc, err := rawjson.Parse(o.Request); err == nil {
		about := doc.Root().Get("params").Get("context").Get("session").Get("metadata")
		folder = about.Get("cwd").Text()
		if parent := about.Get("parent").Text(); parent != "" && strings.HasPrefix(links.Session, parent) {
			id, step.Child = parent, strings.TrimPrefix(links.Session, parent)
		}
	}
	s := sessions[id]
	if s == nil {
		s = &Session{ID: id, Agent: agent, Began: r.Time}
		sessions[id] = s
	}
	s.Folder = cmp.Or(s.Folder, folder)
	s.Steps = append(s.Steps, step)
	return nil
}

// why notes the reasons that count; rules that only watch are left out.
func (s *Step) why(reasons []ledger.Reason) {
	var instead []string
	for _, r := range reasons {
		if r.Observe {
			continue
		}
		s.Rules = addNew(s.Rules, r.Rule)
		s.Reasons = addNew(s.Reasons, r.Message)
		if r.Instead != "" {
			instead = addNew(instead, "Instead: "+r.Instead)
		}
	}
	s.Reasons = append(s.Reasons, instead...)
}

func addNew(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// longestText is how much of a text a report shows.
const longestText = 2000

// read reads what a step was about from its request's params.
func (s *Step) read(params rawjson.Value) {
	about := params.Get("context").Get("session").Get("metadata")
	s.Given, s.Server = about.Get("tool").Text(), about.Get("server").Text()
	s.Agreed = about.Get("answered").Text() != ""
	arguments := map[string]rawjson.Value{}
	var texts []string
	switch {
	case params.Get("toolCallRequest").Exists():
		for _, in := range params.Get("toolCallRequest").Get("inputs").Elems() {
			arguments[in.Get("name").Text()] = in.Get("value")
		}
	case params.Get("message").Get("params").Exists():
		for name, v := range params.Get("message").Get("params").Get("arguments").Members() {
			arguments[name] = v
		}
	case params.Get("message").Get("result").Exists():
		s.Failed = params.Get("message").Get("result").Get("isError").Bool()
		texts = textsIn(params.Get("message").Get("result").Get("content"), "text")
	case params.Get("message").Exists():
		texts = textsIn(params.Get("message").Get("content"), "text")
	case params.Get("result").Exists():
		s.Failed = params.Get("result").Get("isError").Bool()
		texts = textsIn(params.Get("result").Get("outputs"), "text")
	case params.Get("knowledgeStep").Exists():
		texts = append([]string{params.Get("knowledgeStep").Get("query").Text()}, textsIn(params.Get("knowledgeStep").Get("results"), "content")...)
	}
	if len(arguments) > 0 {
		s.Text = words.Shorten(strings.TrimSpace(callText(arguments)), longestText)
		s.Files = filesOf(s.Tool, arguments)
		return
	}
	texts = slices.DeleteFunc(texts, func(t string) bool { return strings.TrimSpace(t) == "" })
	s.Text = words.Shorten(strings.TrimSpace(strings.Join(texts, "\n")), longestText)
}

func textsIn(list rawjson.Value, member string) (texts []string) {
	for _, v := range list.Elems() {
		texts = append(texts, v.Get(member).Text())
	}
	return texts
}

// callText is a call in one line: what matters of it alone, or all arguments.
func callText(arguments map[string]rawjson.Value) string {
	for _, name := range []string{"command", "path", "url", "query", "pattern", "paths"} {
		if v, ok := arguments[name]; ok {
			if text := v.Text(); text != "" {
				return text
			}
			return string(v.Raw())
		}
	}
	b := []byte{'{'}
	for name, v := range sortedArguments(arguments) {
		if len(b) > 1 {
			b = append(b, ", "...)
		}
		b = append(append(rawjson.AppendString(b, name), ": "...), v.Raw()...)
	}
	return string(append(b, '}'))
}

func sortedArguments(arguments map[string]rawjson.Value) func(func(string, rawjson.Value) bool) {
	names := make([]string, 0, len(arguments))
	for name := range arguments {
		names = append(names, name)
	}
	slices.Sort(names)
	return func(yield func(string, rawjson.Value) bool) {
		for _, name := range names {
			if !yield(name, arguments[name]) {
				return
			}
		}
	}
}

// filesOf lists the files that a call would change, as far as it tells.
func filesOf(tool string, arguments map[string]rawjson.Value) (files []File) {
	how := map[string]string{hook.WriteFile: "written", hook.EditFile: "edited", hook.DeleteFile: "deleted"}[tool]
	switch {
	case tool == hook.Shell:
		return filesOfCommand(arguments["command"].Text())
	case how == "":
		return nil
	}
	if path := arguments["path"].Text(); path != "" && !arguments["paths"].Exists() {
		files = append(files, File{Path: path, How: how})
	}
	for _, v := range arguments["paths"].Elems() {
		files = append(files, File{Path: v.Text(), How: how})
	}
	return files
}

// maxCommand is the longest command whose files are looked for.
const maxCommand = 64 << 10

// filesOfCommand finds the files that a command writes, moves and removes under
// names that stand in its text.
func filesOfCommand(command string) (files []File) {
	if len(command) > maxCommand {
		return nil
	}
	parsed, err := syntax.NewParser().Parse(strings.NewReader(command), "")
	if err != nil {
		return nil
	}
	add := func(how string, w *syntax.Word) {
		if path := w.Lit(); path != "" && !strings.HasPrefix(path, "/dev/") {
			files = append(files, File{Path: path, How: how})
		} else if text := quotedText(w); text != "" {
			files = append(files, File{Path: text, How: how})
		}
	}
	syntax.Walk(parsed, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Redirect:
			switch n.Op {
			case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll, syntax.RdrClob:
				add("written", n.Word)
			}
		case *syntax.CallExpr:
			var words []*syntax.Word
			flags := ""
			for _, w := range n.Args {
				if len(words) > 0 && strings.HasPrefix(w.Lit(), "-") {
					flags += " " + w.Lit()
					continue
				}
				words = append(words, w)
			}
			if len(words) < 2 {
				break
			}
			switch rest := words[1:]; filepath.Base(words[0].Lit()) {
			case "rm", "rmdir", "unlink":
				for _, w := range rest {
					add("deleted", w)
				}
			case "touch", "tee", "mkdir", "truncate":
				for _, w := range rest {
					add("written", w)
				}
			case "cp", "install", "ln":
				add("written", rest[len(rest)-1])
			case "mv":
				for _, w := range rest {
					add("moved", w)
				}
			case "sed":
				if strings.Contains(flags, " -i") || strings.Contains(flags, "--in-place") {
					for _, w := range rest[1:] {
						add("edited", w)
					}
				}
			}
		}
		return true
	})
	return files
}

// quotedText is the text of a word that is one quoted text.
func quotedText(w *syntax.Word) string {
	if len(w.Parts) != 1 {
		return ""
	}
	switch q := w.Parts[0].(type) {
	case *syntax.SglQuoted:
		return q.Value
	case *syntax.DblQuoted:
		if len(q.Parts) == 1 {
			if l, ok := q.Parts[0].(*syntax.Lit); ok {
				return l.Value
			}
		}
	}
	return ""
}

// finish counts, and tells which files were changed: by calls that might happen,
// and with what end.
func (s *Session) finish() {
	slices.SortStableFunc(s.Steps, func(a, b Step) int { return a.Time.Compare(b.Time) })
	ended := map[string]string{}
	for _, step := range s.Steps {
		s.Ended = step.Time
		switch step.Effect {
		case "deny":
			s.Denied++
		case "modify":
			s.Changed++
		case "escalate":
			s.Held++
		}
		if step.Kind == string(act.ToolResult) || step.Kind == string(act.MCPResponse) {
			ended[step.Child+" "+step.Call] = "done"
			if step.Failed {
				ended[step.Child+" "+step.Call] = "failed"
			}
		}
	}
	if len(s.Steps) > 0 {
		s.Began = s.Steps[0].Time
	}
	for i := range s.Steps {
		step := &s.Steps[i]
		state := cmp.Or(ended[step.Child+" "+step.Call], "unknown")
		if step.Effect == "deny" || step.Effect == "escalate" && state == "unknown" {
			step.Files = nil
		}
		for _, f := range step.Files {
			f.State, f.Decision = state, step.Decision
			s.Files = append(s.Files, f)
		}
	}
}

// Label is what a kind of step is called in a report.
func (s *Step) Label() string {
	switch act.Kind(s.Kind) {
	case act.MessageUser:
		return "prompt"
	case act.MessageAgent:
		return "says"
	case act.MessageSystem:
		return "session"
	case act.ToolCall, act.MCPRequest:
		return "calls"
	case act.ToolResult, act.MCPResponse:
		return "result"
	case act.KnowledgeRetrieve:
		return "reads"
	}
	return s.Kind
}

// Name is the step's tool: as rules call it, and as the agent does if that differs.
func (s *Step) Name() string {
	name := s.Tool
	if s.Label() == "result" && name == "" {
		name = s.Given
	}
	if s.Server != "" {
		name = s.Server + "/" + name
	}
	if s.Given != "" && s.Label() == "calls" && s.Given != name && s.Server == "" {
		name += " (" + s.Given + ")"
	}
	return visible.Line(name)
}

// Verdict is the effect in one word for people.
func (s *Step) Verdict() string {
	switch s.Effect {
	case "modify":
		return "changed"
	case "escalate":
		return "held"
	case "deny":
		return "denied"
	case "allow":
		return "allowed"
	}
	return s.Effect
}

// Shown is the step's text, safe to show; Why the reasons.
func (s *Step) Shown() string { return visible.Lines(s.Text) }
func (s *Step) Why() string {
	if s.Effect == "allow" {
		return ""
	}
	return visible.Lines(strings.Join(s.Reasons, " "))
}
