package main

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
	"mvdan.cc/sh/v3/syntax"

	"reeve.example/reeve"
	"reeve.example/reeve/act"
	"reeve.example/reeve/hook"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/visible"
	"reeve.example/reeve/ledger"
)

func sessionsCommand() *cobra.Command {
	return group("sessions", "See what coding agents did, session by session", sessionsList(), sessionsShow())
}

// newestRecords is how many records are looked through unless a flag says more.
const newestRecords = 20_000

func sessionsList() *cobra.Command {
	var last int
	c := &cobra.Command{
		Use:   "list",
		Short: "List the sessions of coding agents, the newest first",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			sessions, err := readSessions(cmd, last)
			if err != nil {
				return err
			}
			if len(sessions) == 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "no coding agent's session is in these records%s\n", elsewhere(cmd))
				return nil
			}
			w := cmd.OutOrStdout()
			fmt.Fprintf(w, "%-19s  %9s  %5s  %6s  %6s  %5s  %s\n", "BEGAN", "LASTED", "STEPS", "DENIED", "CHANGED", "FILES", "SESSION")
			for _, s := range sessions {
				fmt.Fprintf(w, "%-19s  %9s  %5d  %6d  %6d  %5d  %s\n", s.Began.Local().Format("2006-01-02 15:04:05"), s.Lasted(), len(s.Steps), s.Denied, s.Changed, len(s.Files), printable(s.ID))
			}
			return nil
		},
	}
	c.Flags().IntVar(&last, "last", newestRecords, "how many of the newest records to look through; 0 for all")
	return ledgerFlags(c)
}

func sessionsShow() *cobra.Command {
	var last int
	var asHTML, asJSON bool
	c := &cobra.Command{
		Use:   "show SESSION",
		Short: "Show every step of a session, what was decided and why, and the files that it changed",
		Long: `Shows every step of a coding agent's session with its verdict and reason, and the files
that it changed, as far as its steps tell: of a command, what can be read from its text.
SESSION is a session's name, or the beginning or end of one. With --html it writes one
page that needs nothing else, with --json the same for programs.`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			if asHTML && asJSON {
				return usageError{errors.New("--html and --json exclude each other")}
			}
			sessions, err := readSessions(cmd, last)
			if err != nil {
				return err
			}
			s, err := oneSession(sessions, a[0])
			if err != nil {
				return fmt.Errorf("%w%s", err, elsewhere(cmd))
			}
			switch w := cmd.OutOrStdout(); {
			case asHTML:
				return sessionPage.Execute(w, s)
			case asJSON:
				return json.MarshalWrite(w, s, jsontext.WithIndent("  "), json.Deterministic(true))
			default:
				printSession(w, s)
				return nil
			}
		},
	}
	c.Flags().IntVar(&last, "last", newestRecords, "how many of the newest records to look through; 0 for all")
	c.Flags().BoolVar(&asHTML, "html", false, "write a page")
	c.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return ledgerFlags(c)
}

// oneSession finds the session of a name, or of a part of one that no other has.
func oneSession(sessions []*codingSession, name string) (*codingSession, error) {
	var found []*codingSession
	for _, s := range sessions {
		if s.ID == name {
			return s, nil
		}
		if strings.HasPrefix(s.ID, name) || strings.HasSuffix(s.ID, name) || strings.HasPrefix(s.ID, s.Agent+":"+name) {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("no session is named %.80q in these records: see reeve sessions list", name)
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("%d sessions are named like %.80q: say more of the name", len(found), name)
}

// codingSession is what the ledger has of one session and its sub-agents.
type codingSession struct {
	ID      string        `json:"session"`
	Agent   string        `json:"agent"`
	Folder  string        `json:"folder,omitzero"`
	Began   time.Time     `json:"began"`
	Ended   time.Time     `json:"ended"`
	Denied  int           `json:"denied"`
	Changed int           `json:"changed"`
	Held    int           `json:"held"`
	Steps   []codingStep  `json:"steps"`
	Files   []changedFile `json:"files,omitzero"`
}

// codingStep is one step of it.
type codingStep struct {
	Decision string        `json:"decision"`
	Time     time.Time     `json:"time"`
	Kind     string        `json:"kind"` // such as tool.call
	Effect   string        `json:"effect"`
	Tool     string        `json:"tool,omitzero"`
	Given    string        `json:"given,omitzero"` // the tool, as the agent calls it
	Server   string        `json:"server,omitzero"`
	Child    string        `json:"child,omitzero"` // the sub-agent's session
	Text     string        `json:"text,omitzero"`  // what was asked, said, called or given, shortened
	Reasons  []string      `json:"reasons,omitzero"`
	Rules    []string      `json:"rules,omitzero"`
	Failed   bool          `json:"failed,omitzero"`
	Files    []changedFile `json:"-"`

	call string // what joins a call and its result
}

// changedFile is a file that a step changed, or may have.
type changedFile struct {
	Path     string `json:"path"`
	How      string `json:"how"`   // written, edited, deleted, moved
	State    string `json:"state"` // done, failed, or unknown: no result was reported
	Decision string `json:"decision"`
}

// Lasted is the time from the first step to the last.
func (s *codingSession) Lasted() string {
	return s.Ended.Sub(s.Began).Round(time.Second).String()
}

// readSessions gathers the coding agents' sessions from the newest records of
// each log, the newest session first.
func readSessions(cmd *cobra.Command, last int) ([]*codingSession, error) {
	if last < 0 {
		return nil, usageError{errors.New("--last is not negative")}
	}
	c, err := config(cmd)
	if err != nil {
		return nil, err
	}
	store, err := reeve.OpenReader(cmd.Context(), orOwn(c))
	if err != nil {
		return nil, fmt.Errorf("open the ledger: %w", err)
	}
	sessions := map[string]*codingSession{}
	err = gatherSessions(cmd.Context(), store, uint64(last), sessions)
	if err = errors.Join(err, store.Close()); err != nil {
		return nil, err
	}
	list := make([]*codingSession, 0, len(sessions))
	for _, s := range sessions {
		s.finish()
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *codingSession) int {
		return cmp.Or(b.Began.Compare(a.Began), cmp.Compare(a.ID, b.ID))
	})
	return list, nil
}

func gatherSessions(ctx context.Context, store ledger.Reader, last uint64, sessions map[string]*codingSession) error {
	logs, err := store.Logs(ctx)
	if err != nil {
		return err
	}
	for _, log := range logs {
		head, err := headOf(ctx, store, log)
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
func addStep(ctx context.Context, store ledger.Reader, r *ledger.Record, sessions map[string]*codingSession) error {
	o, err := ledger.ReadOpening(ctx, store, act.Position{Log: r.Log, Index: r.Index})
	if errors.Is(err, ledger.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read what lies beside %s: %w", r.ID(), err)
	}
	var links struct {
		Session  string `json:"session"`
		Resource string `json:"resource"`
		ID       string `json:"id"`
		Answers  string `json:"answers"`
	}
	if o.Links == nil || json.Unmarshal(o.Links, &links) != nil {
		return nil
	}
	agent, _, ok := strings.Cut(links.Session, ":")
	if !ok || !slices.Contains(hook.Agents(), agent) {
		return nil
	}
	step := codingStep{
		Decision: r.ID(), Time: r.Time, Kind: r.Kind, Effect: r.Effect, Tool: links.Resource,
		call: cmp.Or(links.ID, links.Answers),
	}
	step.why(o.Reasons)
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
		s = &codingSession{ID: id, Agent: agent, Began: r.Time}
		sessions[id] = s
	}
	s.Folder = cmp.Or(s.Folder, folder)
	s.Steps = append(s.Steps, step)
	return nil
}

// why reads the reasons that count; rules that only watch are left out.
func (s *codingStep) why(opening []byte) {
	var kept struct {
		Reasons []struct {
			Rule    string `json:"rule"`
			Message string `json:"message"`
			Instead string `json:"instead"`
			Observe bool   `json:"observe"`
		} `json:"reasons"`
	}
	if opening == nil || json.Unmarshal(opening, &kept) != nil {
		return
	}
	var instead []string
	for _, r := range kept.Reasons {
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
func (s *codingStep) read(params rawjson.Value) {
	about := params.Get("context").Get("session").Get("metadata")
	s.Given, s.Server = about.Get("tool").Text(), about.Get("server").Text()
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
		s.Text = shorten(callText(arguments))
		s.Files = filesOf(s.Tool, arguments)
		return
	}
	texts = slices.DeleteFunc(texts, func(t string) bool { return strings.TrimSpace(t) == "" })
	s.Text = shorten(strings.Join(texts, "\n"))
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

func shorten(s string) string {
	s = strings.TrimSpace(s)
	if len(s) <= longestText {
		return s
	}
	return strings.ToValidUTF8(s[:longestText], "") + " …"
}

// filesOf lists the files that a call would change, as far as it tells.
func filesOf(tool string, arguments map[string]rawjson.Value) (files []changedFile) {
	how := map[string]string{hook.WriteFile: "written", hook.EditFile: "edited", hook.DeleteFile: "deleted"}[tool]
	switch {
	case tool == hook.Shell:
		return filesOfCommand(arguments["command"].Text())
	case how == "":
		return nil
	}
	if path := arguments["path"].Text(); path != "" && !arguments["paths"].Exists() {
		files = append(files, changedFile{Path: path, How: how})
	}
	for _, v := range arguments["paths"].Elems() {
		files = append(files, changedFile{Path: v.Text(), How: how})
	}
	return files
}

// maxCommand is the longest command whose files are looked for.
const maxCommand = 64 << 10

// filesOfCommand finds the files that a command writes, moves and removes under
// names that stand in its text.
func filesOfCommand(command string) (files []changedFile) {
	if len(command) > maxCommand {
		return nil
	}
	parsed, err := syntax.NewParser().Parse(strings.NewReader(command), "")
	if err != nil {
		return nil
	}
	add := func(how string, w *syntax.Word) {
		if path := w.Lit(); path != "" && !strings.HasPrefix(path, "/dev/") {
			files = append(files, changedFile{Path: path, How: how})
		} else if text := quotedText(w); text != "" {
			files = append(files, changedFile{Path: text, How: how})
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
func (s *codingSession) finish() {
	slices.SortStableFunc(s.Steps, func(a, b codingStep) int { return a.Time.Compare(b.Time) })
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
			ended[step.Child+" "+step.call] = "done"
			if step.Failed {
				ended[step.Child+" "+step.call] = "failed"
			}
		}
	}
	if len(s.Steps) > 0 {
		s.Began = s.Steps[0].Time
	}
	for i := range s.Steps {
		step := &s.Steps[i]
		state := cmp.Or(ended[step.Child+" "+step.call], "unknown")
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
func (s *codingStep) Label() string {
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
func (s *codingStep) Name() string {
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
	return printable(name)
}

// Verdict is the effect in one word for people.
func (s *codingStep) Verdict() string {
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
func (s *codingStep) Shown() string { return harmless(s.Text) }
func (s *codingStep) Why() string {
	if s.Effect == "allow" {
		return ""
	}
	return harmless(strings.Join(s.Reasons, " "))
}

// harmless is a text of others with every character to be seen, on as many lines as
// it has: what agents sent must not steer the terminal or deceive the reader.
func harmless(s string) string { return visible.Lines(s) }

func oneLine(s string, longest int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > longest {
		return string(r[:longest]) + "…"
	}
	return s
}

func printSession(w io.Writer, s *codingSession) {
	fmt.Fprintf(w, "session  %s\n", printable(s.ID))
	if s.Folder != "" {
		fmt.Fprintf(w, "folder   %s\n", printable(s.Folder))
	}
	fmt.Fprintf(w, "began    %s, lasted %s\n", s.Began.Local().Format("2006-01-02 15:04:05"), s.Lasted())
	fmt.Fprintf(w, "steps    %d: %d denied, %d changed, %d held for a person\n\n", len(s.Steps), s.Denied, s.Changed, s.Held)
	for i := range s.Steps {
		step := &s.Steps[i]
		fmt.Fprintf(w, "%s  %-8s  %-7s  %-7s  %s", step.Time.Local().Format("15:04:05"), step.Decision, step.Verdict(), step.Label(), step.Name())
		if step.Name() != "" && step.Text != "" {
			fmt.Fprint(w, "  ")
		}
		fmt.Fprintln(w, oneLine(step.Shown(), 160))
		if step.Child != "" {
			fmt.Fprintf(w, "%31sin the sub-agent %s\n", "", printable(step.Child))
		}
		if why := step.Why(); why != "" {
			fmt.Fprintf(w, "%31s%s\n", "", oneLine(why, 400))
		}
	}
	if len(s.Files) > 0 {
		fmt.Fprintf(w, "\nfiles\n")
	}
	for _, f := range s.Files {
		fmt.Fprintf(w, "  %-7s  %-7s  %s  (%s)\n", f.How, f.State, oneLine(printable(f.Path), 200), f.Decision)
	}
}

//go:embed sessions.html
var sessionHTML string

var sessionPage = template.Must(template.New("session").Funcs(template.FuncMap{"harmless": harmless}).Parse(sessionHTML))
