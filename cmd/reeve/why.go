package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
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
	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/store"
	"reeve.example/reeve/internal/words"
)

func whyCommand() *cobra.Command {
	var asJSON, allow, all bool
	var x exceptionOf
	c := &cobra.Command{
		Use:         "why [DECISION]",
		Annotations: map[string]string{ofPolicy: "true"},
		Short:       "Explain a decision: the rule, its line, what it saw, and the ways on",
		Long: `Explains a decision of this folder's node or of your hooks and proxies, whichever made it;
without a number the newest one that did not simply allow. It says which rules met the act, in
the policy as it was then, where they stand and what their conditions saw, and at a terminal
what a person can do. Rules that only watch are left out, but with --all.

Each ledger counts for itself. Where several have a decision of the number, they are listed,
each with the command that explains it.

With --allow it writes the exception that lets exactly this act pass until a day, with a reason,
into the policy, after asking at the terminal, and says who judges by it. Nothing lifts what
nobody can let pass. With --server another node is asked, as auditor.`,
		Example: `  reeve why
  reeve why 0-4
  reeve why --server https://reeve.example --key file:auditor.key
  reeve why 0-4 --allow --reason 'The installer was read.' --until 2027-01-31`,
		Args: args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			if allow {
				if err := x.complete(); err != nil {
					return err
				}
			}
			return explaining(cmd, func(ctx context.Context, known []explainer) error {
				at, d, err := meant(ctx, known, a)
				switch {
				case err != nil:
					return err
				case d.Effect == "":
					return fmt.Errorf("%s is no decision: it is a record of %s", d.Decision, d.Kind)
				case allow && at.policy == nil:
					return usageError{errors.New("an exception is written beside the policy, where the node runs: do it there, or copy it from --json")}
				case allow:
					return x.write(cmd, *at.policy, d)
				case asJSON:
					return printJSON(cmd.OutOrStdout(), d)
				}
				in := ""
				if len(known) > 1 {
					in = at.place
				}
				printWhy(cmd.OutOrStdout(), d, in, all)
				if isTerminal(cmd.OutOrStdout()) {
					printWays(cmd.OutOrStdout(), d, at.held(ctx, d.Held), cmp.Or(flagsHint(cmd, "server", "key"), at.hint))
				} else if effect, _ := act.ParseEffect(d.Effect); (effect == act.Deny || effect == act.Escalate) && !d.Final() {
					fmt.Fprintln(cmd.OutOrStdout(), "\nWhat a person can do about it, this command shows at a terminal.")
				}
				return nil
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&all, "all", false, "also rules that only watch")
	c.Flags().BoolVar(&allow, "allow", false, "write the exception that lets exactly this act pass; needs --reason and --until")
	c.Flags().Bool("yes", false, "do not ask whether it is meant: for scripts of the node's owner")
	c.Flags().StringVar(&x.reason, "reason", "", "why the exception is made, for whoever reads the records")
	c.Flags().StringVar(&x.until, "until", "", "the last day of the exception, such as 2027-01-31")
	new(nodeFlags).add(c)
	settingFlags(c, "policy", "data", "database", "ledger-seed", "ledger-origin")
	return c
}

// explainer is who tells why decisions were made: a database here, or a node elsewhere.
type explainer struct {
	ask     decisionsFunc
	explain func(ctx context.Context, pos act.Position) (*operator.DecisionShown, error)
	// held is how it stands with what was asked of people about a decision, empty where
	// nothing was, or that is not known any more.
	held func(ctx context.Context, id string) approval.State
	// policy are the settings with the policy that an exception is written to; nil elsewhere.
	policy *reeve.Config
	// place is the data folder, and hint the flag that names it, empty where commands look
	// there without.
	place, hint string
}

// errNoDecision says that a ledger has no record at a position.
var errNoDecision = errors.New("there is no decision")

// explaining runs f with the explainers that the command's flags name: the node of --server, the
// database of --data or --database, else all that are known here.
func explaining(cmd *cobra.Command, f func(ctx context.Context, known []explainer) error) error {
	if at := serverOf(cmd); at.server != "" || at.fit(cmd) != nil {
		node, err := askedNode(cmd)
		if err != nil {
			return err
		}
		return f(cmd.Context(), []explainer{explainerAt(node)})
	}
	c, err := configFor(cmd, true)
	if err != nil {
		return err
	}
	places := ledgersHere(cmd, c)
	var known []explainer
	var closing []func() error
	var failed error
	for _, p := range places {
		e, done, err := explainerOf(cmd.Context(), p)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		if e.place = p.Data; p.Data != orOwn(c).Data {
			e.hint = " --data " + p.Data
		}
		known, closing = append(known, e), append(closing, done)
	}
	if len(known) == 0 {
		return failed
	}
	if failed != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "reeve: left out: %s\n", printable(failed.Error()))
	}
	err = f(cmd.Context(), known)
	for _, done := range closing {
		err = errors.Join(err, done())
	}
	return err
}

// ledgersHere are the settings of those who may have made a decision here: the one that is named,
// else this folder's node, and the user's hooks and proxies wherever they keep their records.
func ledgersHere(cmd *cobra.Command, c reeve.Config) []reeve.Config {
	if c.Database != "" || c.Data != noData || cmd.Flags().Changed("data") {
		return []reeve.Config{c}
	}
	var list []reeve.Config
	add := func(c reeve.Config) {
		same := func(o reeve.Config) bool { return filepath.Clean(o.Data) == filepath.Clean(c.Data) }
		if exists(c.Data) && !slices.ContainsFunc(list, same) {
			list = append(list, c)
		}
	}
	add(c)
	own := c
	if own.Data = reeve.UserData(); own.Data != "" {
		add(own)
	}
	home, _ := os.UserHomeDir()
	folder, _ := os.Getwd()
	for _, flags := range hook.Called(home, folder, os.Getenv) {
		called := hookCommand()
		if called.ParseFlags(flags) != nil {
			continue
		}
		if of, err := hookConfig(called); err == nil {
			if cmd.Flags().Changed("policy") {
				of.Policy = c.Policy
			}
			add(of)
		}
	}
	for _, of := range slices.Clone(list) {
		of.Data = filepath.Join(of.Data, aside)
		add(of)
	}
	if len(list) == 0 {
		return []reeve.Config{orOwn(c)}
	}
	return list
}

// explainerOf reads the database of a data folder, or asks the node that has it elsewhere.
func explainerOf(ctx context.Context, c reeve.Config) (explainer, func() error, error) {
	if err := noRecords(c); err != nil {
		return explainer{}, nil, err
	}
	if noDatabase(c) {
		if node := operator.Dial(ctx, c.Data); node != nil {
			return explainerAt(node), func() error { return nil }, nil
		}
		return explainer{}, nil, fmt.Errorf("there is no reeve.db in %s: name the node's database with --database, and its seed with --ledger-seed, where the command has it", c.Data)
	}
	store, err := reeve.OpenReader(ctx, c)
	if err != nil {
		return explainer{}, nil, fmt.Errorf("open the ledger: %w", err)
	}
	return explainerIn(c, store), store.Close, nil
}

func explainerIn(c reeve.Config, store store.Store) explainer {
	keys, _ := c.PastKeys() // without them it is not known where values came from, and all else is
	replays := operator.NewReplays(store, func() *policy.Set { return nil }, keys, false)
	return explainer{
		ask: recordsIn(store).ask,
		explain: func(ctx context.Context, pos act.Position) (*operator.DecisionShown, error) {
			d, err := replays.Explain(ctx, pos)
			if errors.Is(err, ledger.ErrNotFound) {
				err = fmt.Errorf("%w %s", errNoDecision, pos)
			}
			return d, err
		},
		held: func(ctx context.Context, id string) approval.State {
			if item, err := store.Item(ctx, "approval", id); err == nil {
				if h, err := approval.Parse(item.Data); err == nil {
					return h.At(time.Now())
				}
			}
			return ""
		},
		policy: &c,
	}
}

func explainerAt(node *operator.Client) explainer {
	return explainer{
		ask: recordsAt(node, io.Discard).ask,
		explain: func(ctx context.Context, pos act.Position) (*operator.DecisionShown, error) {
			var d operator.DecisionShown
			err := node.Ask(ctx, "GET", "/api/v1/decisions/"+pos.String(), nil, &d)
			if operator.StatusOf(err) == http.StatusNotFound {
				err = fmt.Errorf("%w %s", errNoDecision, pos)
			}
			return &d, err
		},
		held: func(ctx context.Context, id string) approval.State {
			var h approval.Decision
			if id == "" || node.Ask(ctx, "GET", "/approvals/"+url.PathEscape(id), nil, &h) != nil {
				return ""
			}
			return h.State
		},
	}
}

// meant is the decision that was named, else the newest of all that did not simply allow, and who
// explains it. Of several with one number, somebody has to choose.
func meant(ctx context.Context, known []explainer, named []string) (explainer, *operator.DecisionShown, error) {
	if len(named) == 0 {
		at, pos, err := newest(ctx, known)
		if err != nil {
			return at, nil, err
		}
		d, err := at.explain(ctx, pos)
		return at, d, err
	}
	pos, err := act.ParsePosition(named[0])
	if err != nil {
		return explainer{}, nil, usageError{err}
	}
	var by []explainer
	var found []*operator.DecisionShown
	var failed error
	for _, at := range known {
		d, err := at.explain(ctx, pos)
		switch {
		case err != nil:
			failed = cmp.Or(failed, err)
			if errors.Is(failed, errNoDecision) {
				failed = err
			}
		case len(found) == 1 && found[0].Effect == "": // a decision is meant, and no other record
			by, found = []explainer{at}, []*operator.DecisionShown{d}
		case len(found) == 0 || d.Effect != "":
			by, found = append(by, at), append(found, d)
		}
	}
	switch len(found) {
	case 0:
		return explainer{}, nil, failed
	case 1:
		return by[0], found[0], nil
	}
	var text strings.Builder
	for i, d := range found {
		fmt.Fprintf(&text, "\n  %s  %s  %s  %s\n", d.Time.Local().Format(time.DateTime), d.Effect, printable(cmp.Or(d.Session, d.Kind)), by[i].place)
		for _, a := range d.Arguments {
			fmt.Fprintf(&text, "    %s = %s\n", printable(a.Expression), printable(words.Shorten(a.Value, 100)))
		}
		fmt.Fprintf(&text, "    reeve why %s --data %s\n", pos, by[i].place)
	}
	return explainer{}, nil, usageError{fmt.Errorf("%d ledgers have a decision %s: say which is meant\n%s", len(found), pos, text.String())}
}

// newest is the newest decision of all that did not simply allow.
func newest(ctx context.Context, known []explainer) (of explainer, pos act.Position, err error) {
	var last *ledger.Line
	for _, at := range known {
		for _, effect := range []act.Effect{act.Deny, act.Escalate, act.Modify} {
			var found gathered
			if err := find(ctx, at.ask, ledger.Query{Effect: effect.String()}, 1, &found); err != nil {
				return of, pos, err
			}
			for i := range found.lines {
				if l := &found.lines[i]; last == nil || l.Time.After(last.Time) {
					last, of = l, at
				}
			}
		}
	}
	if last == nil {
		return of, pos, errors.New("no decision did anything but allow: name one, such as reeve why 0-4")
	}
	return of, last.Position(), nil
}

// printWhy prints a decision with the rules that made it. in is the folder of its ledger, where
// there are several; all is also what rules that only watch say.
func printWhy(w io.Writer, d *operator.DecisionShown, in string, all bool) {
	fmt.Fprintf(w, "%s  %s  %s  %s\n", d.Decision, d.Effect, d.Time.Local().Format(time.DateTime), strings.TrimSpace(d.Kind+" "+printable(d.Tool)))
	if who := cmp.Or(d.Agent, d.Principal); who != "" || d.Session != "" {
		fmt.Fprintf(w, "  by %s, session %s\n", printable(cmp.Or(who, "nobody that is known")), printable(cmp.Or(d.Session, "none")))
	}
	if in != "" {
		fmt.Fprintf(w, "  recorded in %s\n", in)
	}
	if behalf := behalfOf(&d.Facts); behalf != "" {
		fmt.Fprintf(w, "  %s\n", printable(behalf))
	}
	for _, a := range d.Arguments {
		fmt.Fprintf(w, "  %s = %s\n", printable(a.Expression), printable(words.Shorten(a.Value, 400)))
	}
	var reasons []trialReason
	watching := 0
	for _, r := range d.Reasons {
		if r.Observe && !all {
			watching++
			continue
		}
		one := trialReason{Rule: r.Rule, Code: r.Code, OWASP: r.OWASP, Effect: r.Effect, Message: r.Message, Instead: r.Instead, Note: noteOf(r.Final, r.Exception, r.Observe), Ways: r.Ways}
		if r.Says != nil {
			one.File, one.Line, one.Saw = r.Says.File, r.Says.Line, sawOf(r.Says.Values)
		}
		reasons = append(reasons, one)
	}
	printReasons(w, reasons)
	if len(reasons) == 0 && watching > 0 {
		fmt.Fprintf(w, "\n  no rule met it but %s that only %s: --all shows that\n", words.Count(watching, "rule"), map[bool]string{true: "watches", false: "watch"}[watching == 1])
	}
	if d.Note != "" {
		fmt.Fprintf(w, "\n%s\n", d.Note)
	}
}

// behalfOf says by whose leave an act was asked for; empty where no token said so.
func behalfOf(f *ledger.Facts) string {
	var says []string
	if f.OnBehalfOf != "" {
		says = append(says, "on behalf of "+f.OnBehalfOf, "by "+strings.Join(f.Actors, ", through "))
	}
	if f.Client != "" {
		says = append(says, "client "+f.Client)
	}
	if len(f.Scopes) > 0 {
		says = append(says, "scopes "+strings.Join(f.Scopes, " "))
	}
	return strings.Join(says, ", ")
}

// printWays says how the act could come to pass: for people only, since what a model
// reads never names what answers for them. held is the state of what was asked of them,
// empty where that is not known any more, and node the flags that name it.
func printWays(w io.Writer, d *operator.DecisionShown, held approval.State, node string) {
	effect, _ := act.ParseEffect(d.Effect)
	switch {
	case d.Final():
		fmt.Fprintln(w, "\nNobody can let this pass.")
		return
	case effect != act.Escalate && effect != act.Deny:
		return
	}
	day := time.Now().AddDate(0, 0, 30).Format(time.DateOnly)
	var ways [][2]string
	if effect == act.Escalate && held == approval.Held {
		approve := "reeve approvals approve " + d.Held + node
		ways = [][2]string{
			{"agree to exactly this, once", approve},
			{"  and to the same in this session", approve + " --for session"},
			{"  and to the same until a day", approve + " --until " + day},
			{"refuse it", "reeve approvals deny " + d.Held + node},
		}
	} else if effect == act.Escalate {
		fmt.Fprintf(w, "\nPeople were asked about this (approval %s, %s); it can be asked again.\n", d.Held, cmp.Or(string(held), "over"))
	}
	pass := "let it pass by the policy"
	if node != "" {
		pass += ", where the node runs"
	}
	ways = append(ways,
		[2]string{pass, fmt.Sprintf("reeve why %s --allow --reason REASON --until %s", d.Decision, day)},
		[2]string{"change the rule", "see docs/policy.md; reeve policy check tells what is wrong"})
	fmt.Fprint(w, "\nways on\n")
	for _, way := range ways {
		fmt.Fprintf(w, "  %s\n      %s\n", way[0], way[1])
	}
}

// exceptionOf is an exception to be made of one decision.
type exceptionOf struct{ reason, until string }

// complete tells what is missing, or is over.
func (x *exceptionOf) complete() error {
	var missing []string
	if x.reason == "" {
		missing = append(missing, "--reason, for whoever reads the records")
	}
	if x.until == "" {
		missing = append(missing, "--until, the exception's last day, such as "+time.Now().AddDate(0, 0, 30).Format(time.DateOnly))
	}
	if missing != nil {
		return usageError{errors.New("--allow needs " + strings.Join(missing, ", and "))}
	}
	if day, err := time.Parse(time.DateOnly, x.until); err == nil && !time.Now().Before(day.AddDate(0, 0, 1)) {
		return usageError{fmt.Errorf("--until %s is over: nothing would pass", x.until)}
	}
	return nil
}

// write asks whether the exception is meant, writes it into the policy that whoever decides
// judges by, and says who that is. A policy that then has a fault is put back.
func (x *exceptionOf) write(cmd *cobra.Command, c reeve.Config, d *operator.DecisionShown) error {
	if err := x.complete(); err != nil {
		return err
	}
	text, err := d.Except(x.reason, x.until)
	if err != nil {
		return err
	}
	file, whole, err := x.place(c, text)
	if err != nil {
		return err
	}
	node, err := sameAtNode(cmd.Context(), c, text)
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
	if err := askTerminal(cmd, []string{d.Decision}, shown.String()); err != nil {
		return err
	}
	if !exists(filepath.Dir(file)) {
		err = newPolicy(file, whole)
	} else if err = keepTrust(cmd, file, whole, func() error { return os.WriteFile(file, []byte(whole), 0o644) }); err != nil {
		return err
	}
	var set *policy.Set
	if err == nil {
		set, err = reeve.LoadPolicy(filepath.Dir(file))
	}
	if err != nil {
		if before != nil {
			err = errors.Join(err, os.WriteFile(file, before, 0o644))
		} else if exists(file) {
			err = errors.Join(err, os.Remove(file))
		}
		return fmt.Errorf("the exception does not fit the policy, which is as it was: %w", err)
	}
	return x.obeyed(cmd, c, node, file, set)
}

// newPolicy makes a policy of one file: its folder is there with the file or not at all, for
// hooks that look meanwhile.
func newPolicy(file, whole string) error {
	dir := filepath.Dir(file)
	made, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+"-")
	if err != nil {
		return err
	}
	err = os.WriteFile(filepath.Join(made, filepath.Base(file)), []byte(whole), 0o644)
	if err == nil {
		_, err = reeve.LoadPolicy(made)
	}
	if err == nil {
		err = os.Chmod(made, 0o755)
	}
	if err == nil {
		err = os.Rename(made, dir)
	}
	if err != nil {
		err = errors.Join(err, os.RemoveAll(made))
	}
	return err
}

// sameAtNode is the node that runs on the data folder, nil where none does. A node that judges
// by another policy than the settings here name would not obey what is written there.
func sameAtNode(ctx context.Context, c reeve.Config, text string) (*operator.Client, error) {
	node := operator.Dial(ctx, c.Data)
	if node == nil {
		return nil, nil
	}
	set, err := reeve.LoadPolicy(c.PolicyPath())
	if err != nil {
		return nil, err
	}
	var is operator.Status
	if err := node.Ask(ctx, "GET", "/admin/status", nil, &is); err != nil {
		return nil, err
	}
	if is.Policy != set.Hash() {
		return nil, fmt.Errorf("the node that runs on %s judges by another policy than %s: name with --policy the one that it was started with (or have it read its own again, with reeve policy reload), or write this under except: in it\n\n%s",
			c.Data, cmp.Or(c.PolicyPath(), "the built-in starter, which is what these settings name"), text)
	}
	return node, nil
}

// obeyed says who judges by the policy now: a node that runs is asked.
func (x *exceptionOf) obeyed(cmd *cobra.Command, c reeve.Config, node *operator.Client, file string, set *policy.Set) error {
	out := cmd.OutOrStdout()
	switch {
	case node != nil:
		var loaded operator.PolicyLoaded
		err := node.Ask(cmd.Context(), "POST", "/admin/policy/reload", operator.Nothing{}, &loaded)
		if err == nil && loaded.Policy != set.Hash() {
			err = errors.New("its policy is another one")
		}
		if err != nil {
			return fmt.Errorf("written to %s, but the node that runs on %s does not judge by it: %w", file, c.Data, err)
		}
		fmt.Fprintf(out, "written to %s; the node that runs on %s judges by it now\n", file, c.Data)
		for _, n := range loaded.Elsewhere {
			fmt.Fprintf(out, "not at node %s, where another policy is in force: %s\n", printable(n.Name), printable(cmp.Or(n.Problem, "its own files are others")))
		}
	case c.Policy == "":
		fmt.Fprintf(out, "written to %s; hooks and proxies judge by it from their next call on, and so does a node that is started on %s\n", file, c.Data)
	default:
		fmt.Fprintf(out, "written to %s; no node runs on %s now, and whoever is started with --policy %s judges by it\n", file, c.Data, c.Policy)
	}
	return nil
}

// place is the file for exceptions, and its text if it is a new one: beside the policy's
// other files, or a policy of the user's own that includes the starter.
func (x *exceptionOf) place(c reeve.Config, text string) (file, whole string, err error) {
	const name = "exceptions.yaml"
	at := c.PolicyPath()
	if own := c.OwnPolicy(); at == "" && own != "" {
		return filepath.Join(own, name), "version: 1\ninclude: starter\nexcept:\n" + text, nil
	}
	if at == "" {
		return "", "", fmt.Errorf("whoever decides in %s judges by the built-in policy: start the node with --policy DIR, and write DIR/%s with\n\nversion: 1\ninclude: starter\nexcept:\n%s", c.Data, name, text)
	}
	if info, err := os.Stat(at); err != nil {
		return "", "", err
	} else if !info.IsDir() {
		return "", "", fmt.Errorf("the policy is the one file %s: write this under except: in it\n\n%s", at, text)
	}
	set, err := reeve.LoadPolicy(at)
	if err != nil {
		return "", "", err
	}
	return filepath.Join(at, name), fmt.Sprintf("version: 1\ndefault: %s\nexcept:\n%s", set.Default(), text), nil
}
