package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reeve.example/reeve"
	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/hook"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/store"
	"reeve.example/reeve/internal/words"
)

func whyCommand() *cobra.Command {
	var asJSON, allow bool
	var x exceptionOf
	c := &cobra.Command{
		Use:   "why [DECISION]",
		Short: "Explain a decision: the rule, its line, what it saw, and the ways on",
		Long: `Explains a decision of this folder's node, else of your hooks and proxies; without a number
the newest one that did not simply allow. It says which rules met the act, in the policy as it was
then, where they stand and what their conditions saw, and at a terminal what a person can do.

With --allow it writes the exception that lets exactly this act pass until a day, with a reason,
into the policy, after asking at the terminal. Nothing lifts what nobody can let pass.`,
		Example: `  reeve why
  reeve why 0-4
  reeve why 0-4 --allow --reason 'The installer was read.' --until 2027-01-31`,
		Args: args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			return reading(cmd, func(ctx context.Context, c reeve.Config, store store.Store) error {
				pos, err := decisionNamed(ctx, store, a)
				if err != nil {
					return err
				}
				e, err := explain(ctx, store, pos)
				if err != nil {
					return err
				}
				switch {
				case allow:
					return x.write(cmd, c, e)
				case asJSON:
					return printJSON(cmd.OutOrStdout(), e)
				}
				e.print(cmd.OutOrStdout())
				if isTerminal(cmd.OutOrStdout()) {
					e.printWays(cmd.OutOrStdout(), heldState(ctx, store, e.Approval))
				}
				return nil
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&allow, "allow", false, "write the exception that lets exactly this act pass; needs --reason and --until")
	c.Flags().Bool("yes", false, "do not ask whether it is meant: for scripts of the node's owner")
	c.Flags().StringVar(&x.reason, "reason", "", "why the exception is made, for whoever reads the records")
	c.Flags().StringVar(&x.until, "until", "", "the last day of the exception, such as 2027-01-31")
	settingFlags(c, "policy", "data", "database", "ledger-seed", "ledger-origin")
	return c
}

// decisionNamed is the decision that was named, else the newest of all logs that did
// not simply allow.
func decisionNamed(ctx context.Context, store ledger.Reader, named []string) (act.Position, error) {
	if len(named) == 1 {
		pos, err := act.ParsePosition(named[0])
		if err != nil {
			return pos, usageError{err}
		}
		return pos, nil
	}
	logs, err := ledger.AllLogs(ctx, store)
	if err != nil {
		return act.Position{}, err
	}
	const most = 10_000
	var found act.Position
	seen := 0
	err = ledger.Merge(ctx, store, logs, ledger.NewestFirst, func(r *ledger.Record, _ []byte) error {
		if seen++; seen > most {
			return errors.New("no decision of the newest 10,000 records did anything but allow: name one, such as reeve why 0-4")
		}
		if r.Effect == "" || r.Effect == act.Allow.String() {
			return nil
		}
		found = act.Position{Log: r.Log, Index: r.Index}
		return errEnough
	})
	switch {
	case errors.Is(err, errEnough):
		return found, nil
	case err == nil:
		err = errors.New("no decision did anything but allow: name one, such as reeve why 0-4")
	}
	return act.Position{}, err
}

// explanation is what is known of why a decision was made.
type explanation struct {
	Decision string    `json:"decision"`
	Effect   string    `json:"effect"`
	Time     time.Time `json:"time"`
	Kind     string    `json:"kind"`
	Tool     string    `json:"tool,omitempty"`
	Agent    string    `json:"agent,omitempty"`
	Session  string    `json:"session,omitempty"`
	Approval string    `json:"approval,omitempty"`
	// Arguments are the call's, as they are kept: masked where they held a secret.
	Arguments []trialValue  `json:"arguments,omitempty"`
	Reasons   []trialReason `json:"reasons"`
	Policy    string        `json:"policy,omitempty"`
	// Note says what could not be told, and why.
	Note string `json:"note,omitempty"`

	action *act.Action // as it is kept; nil if it is not
	exact  bool        // the action is what was judged, byte for byte
	final  bool        // nobody can let it pass
}

func explain(ctx context.Context, store ledger.Reader, pos act.Position) (*explanation, error) {
	record, _, err := ledger.ReadRecord(ctx, store, pos)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil, fmt.Errorf("there is no decision %s", pos)
	} else if err != nil {
		return nil, err
	}
	e := &explanation{Decision: record.ID(), Effect: record.Effect, Time: record.Time, Kind: record.Kind, Reasons: []trialReason{}}
	if record.Effect == "" {
		return nil, fmt.Errorf("%s is no decision: it is a record of %s", pos, record.Kind)
	}
	opening, err := ledger.ReadOpening(ctx, store, pos)
	if errors.Is(err, ledger.ErrNotFound) {
		e.Note = "What lay beside the record has expired, was erased, or was never kept: the rules' names are left."
		for _, rule := range record.Rules {
			e.Reasons = append(e.Reasons, trialReason{Rule: rule, Effect: record.Effect})
		}
		return e, nil
	} else if err != nil {
		return nil, err
	}
	links, err := opening.Linked()
	by, askerErr := opening.Asker()
	kept, outcomeErr := opening.Outcome()
	if err = errors.Join(err, askerErr, outcomeErr); err != nil {
		return nil, fmt.Errorf("what lies beside %s cannot be read: %w", pos, err)
	}
	e.Tool, e.Session, e.Agent, e.Approval, e.Policy = links.Resource, links.Session, cmp.Or(by.Claims.Agent, by.Name), kept.Approval, kept.Policy
	for _, r := range kept.Reasons {
		d := trialReason{Rule: r.Rule, Code: r.Code, Effect: r.Effect, Message: r.Message, Instead: r.Instead}
		for _, t := range r.Traces {
			d.Ways = append(d.Ways, broughtBy(ctx, store, wayOf(t, links.Resource)))
		}
		switch {
		case r.Final:
			d.Note, e.final = "nobody can let this pass", true
		case r.Exception != "":
			d.Note = "lifted by the exception " + r.Exception
		case r.Observe:
			d.Note = "only watching"
		}
		e.Reasons = append(e.Reasons, d)
	}
	e.lookUp(ctx, store, opening.Request, links.Digest)
	return e, nil
}

// broughtBy says of the way of a value what the record tells of what brought it in.
func broughtBy(ctx context.Context, store ledger.Reader, w way) way {
	pos, err := act.ParsePosition(w.Decision)
	if err != nil {
		return w
	}
	record, _, err := ledger.ReadRecord(ctx, store, pos)
	if err != nil {
		return w
	}
	w.From = fmt.Sprintf("%s in decision %s", record.Kind, w.Decision)
	if opening, err := ledger.ReadOpening(ctx, store, pos); err == nil {
		if links, err := opening.Linked(); err == nil && cmp.Or(w.Source, links.Resource, links.Answers) != "" {
			w.From += ", of " + cmp.Or(w.Source, links.Resource, links.Answers)
		}
	}
	return w
}

// lookUp adds what the act was and what the rules saw: the act as it is kept, judged
// again by the policy as it was then.
func (e *explanation) lookUp(ctx context.Context, store ledger.Reader, request []byte, digest string) {
	text, err := store.Policy(ctx, e.Policy)
	var set *policy.Set
	if err == nil {
		if set, err = policy.Parse(text); err == nil && set.Hash() != e.Policy {
			set, err = nil, errors.New("what is kept of it is damaged")
		}
	}
	if err != nil {
		e.Note = "The policy that was in force then cannot be read any more."
	} else {
		rules := map[string]policy.RuleInfo{}
		for _, r := range set.Rules() {
			rules[r.Name] = r
		}
		for i := range e.Reasons {
			if r, ok := rules[e.Reasons[i].Rule]; ok {
				e.Reasons[i].File, e.Reasons[i].Line = r.File, r.Line
			}
		}
	}
	if request == nil {
		e.Note = strings.TrimSpace(e.Note + " The act itself was not kept, or is no longer.")
		return
	}
	in, err := readRequest(request)
	if err != nil {
		return // a door whose requests are not read here
	}
	e.action, e.exact = in.Action, in.Action.Digest.String() == digest
	for i := range in.Action.Arguments {
		arg := &in.Action.Arguments[i]
		e.Arguments = append(e.Arguments, trialValue{arg.Name, string(arg.Value)})
	}
	if !e.exact {
		e.Note = strings.TrimSpace(e.Note + " The act is kept masked: what the rules saw then can be more than this.")
	}
	if set == nil {
		return
	}
	in.Action.At = e.Time
	for _, r := range set.Explain(in).Rules {
		for i := range e.Reasons {
			if r.Matched && r.Rule == e.Reasons[i].Rule && e.Reasons[i].Saw == nil {
				e.Reasons[i].Saw = sawOf(r)
			}
		}
	}
}

func (e *explanation) print(w io.Writer) {
	fmt.Fprintf(w, "%s  %s  %s  %s %s\n", e.Decision, e.Effect, e.Time.Local().Format(time.DateTime), e.Kind, printable(e.Tool))
	if e.Agent != "" || e.Session != "" {
		fmt.Fprintf(w, "  by %s, session %s\n", printable(cmp.Or(e.Agent, "nobody that is known")), printable(cmp.Or(e.Session, "none")))
	}
	for _, a := range e.Arguments {
		fmt.Fprintf(w, "  %s = %s\n", printable(a.Expression), printable(words.Shorten(a.Value, 400)))
	}
	printReasons(w, e.Reasons)
	if e.Note != "" {
		fmt.Fprintf(w, "\n%s\n", e.Note)
	}
}

// printWays says how the act could come to pass: for people only, since what a model
// reads never names what answers for them. held is the state of what was asked of them,
// empty where that is not known any more.
func (e *explanation) printWays(w io.Writer, held approval.State) {
	effect, _ := act.ParseEffect(e.Effect)
	switch {
	case e.final:
		fmt.Fprintln(w, "\nNobody can let this pass.")
		return
	case effect != act.Escalate && effect != act.Deny:
		return
	}
	day := time.Now().AddDate(0, 0, 30).Format(time.DateOnly)
	var ways [][2]string
	if effect == act.Escalate && held == approval.Held {
		approve := "reeve approvals approve " + e.Approval
		ways = [][2]string{
			{"agree to exactly this, once", approve},
			{"  and to the same in this session", approve + " --for session"},
			{"  and to the same until a day", approve + " --until " + day},
			{"refuse it", "reeve approvals deny " + e.Approval},
		}
	} else if effect == act.Escalate {
		fmt.Fprintf(w, "\nPeople were asked about this (approval %s, %s); it can be asked again.\n", e.Approval, cmp.Or(string(held), "over"))
	}
	ways = append(ways,
		[2]string{"let it pass by the policy", fmt.Sprintf("reeve why %s --allow --reason REASON --until %s", e.Decision, day)},
		[2]string{"change the rule", "see docs/policy.md; reeve policy check tells what is wrong"})
	fmt.Fprint(w, "\nways on\n")
	for _, way := range ways {
		fmt.Fprintf(w, "  %s\n      %s\n", way[0], way[1])
	}
}

// heldState is how it stands with what was asked of people about a decision, empty where
// nothing was, or that is not known any more.
func heldState(ctx context.Context, store store.Store, id string) approval.State {
	if id == "" {
		return ""
	}
	item, err := store.Item(ctx, "approval", id)
	if err != nil {
		return ""
	}
	h, err := approval.Parse(item.Data)
	if err != nil {
		return ""
	}
	return h.At(time.Now())
}

// exceptionOf is an exception to be made of one decision.
type exceptionOf struct{ reason, until string }

// write asks whether the exception is meant, and writes it into the policy. A policy
// that then has a fault is put back.
func (x *exceptionOf) write(cmd *cobra.Command, c reeve.Config, e *explanation) error {
	if x.reason == "" || x.until == "" {
		return usageError{errors.New("--allow needs --reason, for whoever reads the records, and --until, the exception's last day")}
	}
	text, err := x.yaml(e)
	if err != nil {
		return err
	}
	file, whole, err := x.place(c, text)
	if err != nil {
		return err
	}
	before, err := os.ReadFile(file)
	if err == nil {
		whole = strings.TrimRight(string(before), "\n") + "\n" + text
	} else if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	lines := []string{"the policy lets this pass, until " + x.until + ", by an exception in " + file + ":"}
	lines = append(lines, strings.Split(strings.TrimRight(text, "\n"), "\n")...)
	var shown strings.Builder
	for _, line := range lines {
		fmt.Fprintf(&shown, "  %s\n", printable(line))
	}
	if err := askTerminal(cmd, []string{e.Decision}, shown.String()); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(whole), 0o644); err != nil {
		return err
	}
	if _, err := reeve.LoadPolicy(filepath.Dir(file)); err != nil {
		if before == nil {
			err = errors.Join(err, os.Remove(file))
		} else {
			err = errors.Join(err, os.WriteFile(file, before, 0o644))
		}
		return fmt.Errorf("the exception does not fit the policy, which is as it was: %w", err)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "written to %s; a running node takes it up by itself\n", file)
	return nil
}

// place is the file for exceptions, and its text if it is a new one: beside the policy's
// other files, or a policy of the user's own that includes the starter.
func (x *exceptionOf) place(c reeve.Config, text string) (file, whole string, err error) {
	const name = "exceptions.yaml"
	if c.Policy == "" && c.Data != filepath.Join(filepath.Dir(reeve.UserPolicy()), "data") {
		return "", "", fmt.Errorf("the node judges by the built-in policy: start it with --policy DIR, and write DIR/%s with\n\nversion: 1\ninclude: starter\nexcept:\n%s", name, text)
	}
	if c.Policy == "" {
		return filepath.Join(reeve.UserPolicy(), name), "version: 1\ninclude: starter\nexcept:\n" + text, nil
	}
	if info, err := os.Stat(c.Policy); err != nil {
		return "", "", err
	} else if !info.IsDir() {
		return "", "", fmt.Errorf("the policy is the one file %s: write this under except: in it\n\n%s", c.Policy, text)
	}
	set, err := reeve.LoadPolicy(c.Policy)
	if err != nil {
		return "", "", err
	}
	return filepath.Join(c.Policy, name), fmt.Sprintf("version: 1\ndefault: %s\nexcept:\n%s", set.Default(), text), nil
}

// yaml is the exception that lets exactly the act pass.
func (x *exceptionOf) yaml(e *explanation) (string, error) {
	var rules []string
	for _, r := range e.Reasons {
		effect, _ := act.ParseEffect(r.Effect)
		switch {
		case r.Note == "nobody can let this pass":
			return "", fmt.Errorf("nobody can let this pass: %s", r.Message)
		case effect > act.Escalate || r.Note != "" || slices.Contains(rules, r.Rule):
		case r.Rule == "default":
			return "", errors.New("no rule decided this, but the policy's default: write a rule with effect: allow")
		default:
			rules = append(rules, r.Rule)
		}
	}
	if len(rules) == 0 {
		return "", errors.New("no rule stopped this: there is nothing to lift")
	}
	if e.action == nil || !e.action.IsCall() {
		return "", errors.New("an exception for exactly this act is written for calls of tools whose arguments are kept: write one by hand")
	}
	if !e.exact {
		return "", errors.New("the call is kept masked, so that no exception can name exactly what was asked: write one by hand")
	}
	var conditions, names []string
	for i := range e.action.Arguments {
		arg := &e.action.Arguments[i]
		if e.action.Canonical == hook.Shell && (arg.Name == "description" || arg.Name == "timeout") {
			continue // the model's own words, and how long it waits: other ones each time
		}
		names = append(names, string(rawjson.Quote(arg.Name)))
		doc, err := rawjson.Parse(arg.Value)
		if err != nil || doc.Root().Kind() == rawjson.Object || doc.Root().Kind() == rawjson.Array {
			return "", fmt.Errorf("the argument %s is no single value: write the exception by hand", arg.Name)
		}
		name := string(rawjson.Quote(arg.Name))
		conditions = append(conditions, fmt.Sprintf("%s in args && args[%s] == %s", name, name, arg.Value))
	}
	if len(conditions) == 0 {
		return "", errors.New("the call has no arguments by which an exception could tell it: write one by hand")
	}
	// One argument more would be another act: a second command, or a folder to run it in.
	if e.action.Canonical == hook.Shell {
		names = append(names, `"description"`, `"timeout"`)
	}
	conditions = append(conditions, "args.all(name, name in ["+strings.Join(names, ", ")+"])")
	if e.action.Server != "" { // the same name at another server is another tool
		conditions = append(conditions, "action.server == "+string(rawjson.Quote(e.action.Server)))
	}
	if e.action.Folder != "" { // the same words in another folder do something else
		conditions = append(conditions, "session.folder == "+string(rawjson.Quote(e.action.Folder)))
	}
	quote := func(s string) string { return string(rawjson.Quote(s)) }
	quoted := make([]string, len(rules))
	for i, r := range rules {
		quoted[i] = quote(r)
	}
	return fmt.Sprintf("  - name: %s\n    reason: %s\n    rules: [%s]\n    on: call\n    tools: [%s]\n    when: %s\n    until: %s\n",
		quote("like "+e.Decision+" of "+e.Time.UTC().Format(time.DateOnly)), quote(x.reason), strings.Join(quoted, ", "),
		quote(e.action.Canonical), quote(strings.Join(conditions, " && ")), x.until), nil
}
