package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"reeve.example/reeve"
	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/nodes"
	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/replay"
	"reeve.example/reeve/internal/words"
)

func policyCommand() *cobra.Command {
	return group("policy", "Check, test and understand a policy", policyCheck(), policyTest(), policyExplain(), policyDetectors(), policyReplay(), policyShadow(), policyReload())
}

func policyCheck() *cobra.Command {
	c := &cobra.Command{
		Use:   "check [FILE|DIR]",
		Short: "Compile a policy, and say what is wrong with it and where",
		Long: `Compiles the policy named, else the configured one, and says what is wrong with it and where.

It warns of what is probably not meant, such as a rule that can meet no act, or changes no decision
beside another one. What it warns of is certain; whether a condition will ever be true for an act
nobody can tell beforehand, and of most it says nothing: reeve policy test names the rules that no
case makes match.`,
		Args: args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			_, set, err := policyOf(cmd, a)
			if err != nil {
				return err
			}
			if wantsJSON(cmd) {
				return printJSON(cmd.OutOrStdout(), policyChecked(set))
			}
			for _, w := range set.Warnings() {
				fmt.Fprintf(cmd.ErrOrStderr(), "warning: %v\n", w)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "the policy compiles: %s, %d of them only watching; default %s\n%s\n",
				words.Count(len(set.Rules()), "rule"), set.Watching(), set.Default(), set.Hash())
			for _, note := range set.Notes(time.Now()) {
				fmt.Fprintf(cmd.OutOrStdout(), "note: %s\n", note)
			}
			return nil
		},
	}
	policyFlags(c)
	return jsonFlag(c)
}

func policyDetectors() *cobra.Command {
	c := &cobra.Command{
		Use:   "detectors [FILE|DIR]",
		Short: "List every detector that rules can name: the built-in ones and the policy's own",
		Long:  "Lists what rules can name under detect: and in found(), the built-in detectors and then those of the policy named, else of the configured one.",
		Example: `  reeve policy detectors
  reeve policy detectors ./policy --json | jq -r '.[] | select(.file != "") | .name'`,
		Args: args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			_, set, err := policyOf(cmd, a)
			if err != nil {
				return err
			}
			if wantsJSON(cmd) {
				return printJSON(cmd.OutOrStdout(), set.Detectors())
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, d := range set.Detectors() {
				where := ""
				if d.File != "" {
					where = fmt.Sprintf("%s:%d, %s", d.File, d.Line, words.Count(d.Examples, "example"))
				}
				fmt.Fprintf(w, "%s\t%s\t%s\n", d.Name, d.Finds, where)
			}
			return w.Flush()
		},
	}
	policyFlags(c)
	return jsonFlag(c)
}

// checkedPolicy is what programs are told of a policy that compiles.
type checkedPolicy struct {
	Policy   string   `json:"policy"`
	Rules    int      `json:"rules"`
	Watching int      `json:"watching"`
	Notes    []string `json:"notes"`
	Default  string   `json:"default"`
	Grave    float64  `json:"risk_deny"` // 0 where grave risk alone denies nothing
	Warnings []string `json:"warnings"`
	Over     []string `json:"exceptions_over"` // exceptions that let nothing pass any more
}

func policyChecked(set *policy.Set) checkedPolicy {
	c := checkedPolicy{
		Policy: set.Hash(), Rules: len(set.Rules()), Default: set.Default().String(), Grave: set.GraveRisk(), Warnings: []string{}, Over: []string{},
		Watching: set.Watching(), Notes: append([]string{}, set.Notes(time.Now())...),
	}
	for _, w := range set.Warnings() {
		c.Warnings = append(c.Warnings, w.Error())
	}
	for _, x := range set.Exceptions() {
		if !time.Now().Before(x.Until) {
			c.Over = append(c.Over, x.Name)
		}
	}
	return c
}

// policyFlags adds the flags of a command that only judges by a policy. It needs nothing
// else of a configuration, and so no trust of one where it is told which policy.
func policyFlags(c *cobra.Command, more ...string) {
	settingFlags(c, append([]string{"policy"}, more...)...)
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
	}
	c.Annotations[onlyPolicy] = "true"
}

// onlyPolicy marks commands that use a configuration for its policy.
const onlyPolicy = "only-policy"

// policyOf loads the policy named as an argument, else the configured one. The
// name is empty for the built-in starter policy.
func policyOf(cmd *cobra.Command, a []string) (name string, set *policy.Set, err error) {
	if len(a) > 0 {
		name = a[0]
	} else {
		cfg, err := config(cmd)
		if err != nil {
			return "", nil, err
		}
		cfg = orOwn(cfg)
		name = cfg.PolicyPath()
	}
	set, err = reeve.LoadPolicy(name)
	return name, set, err
}

func policyTest() *cobra.Command {
	var verbose bool
	var file string
	c := &cobra.Command{
		Use:   "test [FILE|DIR]",
		Short: "Run the cases that lie beside a policy (*.test.yaml)",
		Long:  "Runs the cases that lie beside the policy named, else the configured one.",
		Args:  args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			name, set, err := policyOf(cmd, a)
			if err != nil {
				return err
			}
			var cases []policy.Case
			if file != "" {
				cases, err = casesNamed(file)
			} else if name == "" {
				var tests []byte
				if tests, err = policy.StarterTests(policy.DefaultProfile); err != nil {
					return err
				}
				cases, err = policy.ParseCases(policy.File{Name: "starter.test.yaml", Data: tests}, "")
			} else {
				cases, err = policy.LoadCases(name)
			}
			if err != nil {
				return err
			}
			report := set.Test(cases, replay.Case)
			out := cmd.OutOrStdout()
			if wantsJSON(cmd) {
				if err := printJSON(out, operator.TestedOf(&report)); err != nil || report.Failed() == 0 {
					return err
				}
				return fmt.Errorf("%s failed", words.Count(report.Failed(), "case"))
			}
			for _, r := range report.Results {
				switch {
				case r.Problem != "":
					fmt.Fprintf(out, "FAIL  %s:%d  %s\n      %s\n", r.Case.File, r.Case.Line, r.Case.Name, r.Problem)
				case verbose:
					fmt.Fprintf(out, "ok    %s:%d  %s\n", r.Case.File, r.Case.Line, r.Case.Name)
				}
			}
			printClasses(out, report.Results)
			for _, r := range report.Unused {
				if file != "" { // whose cases are not about each rule
					break
				}
				fmt.Fprintf(out, "no case makes the rule %s match (%s:%d)\n", r.Name, r.File, r.Line)
			}
			fmt.Fprintf(out, "%d of %s pass; %d of %s are covered\n", len(report.Results)-report.Failed(), words.Count(len(report.Results), "case"),
				report.Rules-len(report.Unused), words.Count(report.Rules, "rule"))
			if report.Failed() > 0 {
				return fmt.Errorf("%s failed", words.Count(report.Failed(), "case"))
			}
			return nil
		},
	}
	c.Flags().StringVar(&file, "cases", "", "run the cases of this file or folder instead")
	c.Flags().BoolVarP(&verbose, "verbose", "v", false, "name the cases that pass, too")
	policyFlags(c)
	return jsonFlag(c)
}

// casesNamed are the cases of a file, whatever it is called, or those of a folder.
func casesNamed(name string) ([]policy.Case, error) {
	if info, err := os.Stat(name); err != nil || info.IsDir() {
		return policy.LoadCases(name)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return policy.ParseCases(policy.File{Name: name, Data: text}, filepath.Dir(name))
}

// printClasses says what was decided in each class of cases.
func printClasses(w io.Writer, results []policy.Result) {
	var classes []string
	decided := map[string]map[act.Effect]int{}
	for _, r := range results {
		class := r.Case.Class
		if class == "" {
			continue
		}
		if decided[class] == nil {
			classes = append(classes, class)
			decided[class] = map[act.Effect]int{}
		}
		decided[class][r.Verdict.Effect]++
	}
	if classes == nil {
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "CLASS\tALLOW\tMODIFY\tESCALATE\tDENY")
	for _, class := range classes {
		d := decided[class]
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\n", class, d[act.Allow], d[act.Modify], d[act.Escalate], d[act.Deny])
	}
	t.Flush()
}

func policyExplain() *cobra.Command {
	c := &cobra.Command{
		Use:   "explain REQUEST.json",
		Short: "Say of each rule whether it matches a request, and why not; - reads standard input",
		Long: `Judges an AOS request as a node would, as the first step of its session, and says of
each rule whether it matched, and why not.`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			set, in, err := judgeFile(cmd, a[0])
			if err != nil {
				return err
			}
			x := set.Explain(in)
			if wantsJSON(cmd) {
				return printJSON(cmd.OutOrStdout(), explained(x))
			}
			fmt.Fprint(cmd.OutOrStdout(), x)
			return nil
		},
	}
	policyFlags(c)
	return jsonFlag(c)
}

// explainedRule is what programs are told of one rule and a request.
type explainedRule struct {
	Rule    string           `json:"rule"`
	File    string           `json:"file"`
	Line    int              `json:"line"`
	Effect  string           `json:"effect"`
	Observe bool             `json:"observe,omitzero"`
	Matched bool             `json:"matched"`
	Why     string           `json:"why"`
	Values  []operator.Value `json:"values,omitempty"`
}

func explained(x policy.Explanation) any {
	rules := []explainedRule{}
	for _, r := range x.Rules {
		one := explainedRule{Rule: r.Rule, File: r.File, Line: r.Line, Effect: r.Effect.String(), Observe: r.Observe, Matched: r.Matched, Why: r.Why}
		one.Values = valuesOf(r.Values)
		rules = append(rules, one)
	}
	return struct {
		Effect string          `json:"effect"`
		Risk   act.Risk        `json:"risk"`
		Rules  []explainedRule `json:"rules"`
	}{x.Verdict.Effect.String(), x.Verdict.Risk, rules}
}

// judgeFile reads the policy in force and a request to be judged by it.
func judgeFile(cmd *cobra.Command, file string) (*policy.Set, *policy.Input, error) {
	cfg, err := config(cmd)
	if err != nil {
		return nil, nil, err
	}
	cfg = orOwn(cfg)
	set, err := reeve.LoadPolicy(cfg.PolicyPath())
	if err != nil {
		return nil, nil, err
	}
	request, err := readFile(cmd, file)
	if err != nil {
		return nil, nil, usageError{err}
	}
	in, err := replay.Request(request)
	return set, in, err
}

func decideCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "decide REQUEST.json",
		Short: "Judge one request offline; nothing is recorded; - reads standard input",
		Long: `Judges an AOS request by the policy, as the first step of its session, without a node
and without a record. Prints the effect and the reasons, and the request as modified.
The exit code is 0 for allow and modify, 3 for deny, 4 for escalate, 1 where the request could
not be judged, and 2 where there is no such file.`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			set, in, err := judgeFile(cmd, a[0])
			if err != nil {
				return err
			}
			d := guard.Judge(in.Action, in.Violations, in.Session, set)
			modified, err := guard.Apply(in.Action, &d)
			if err != nil {
				return err
			}
			if wantsJSON(cmd) {
				t := tried(&d, set.Explain(in), nil, nil)
				err = printJSON(cmd.OutOrStdout(), struct {
					trial
					Act      string         `json:"act"` // digest
					Modified jsontext.Value `json:"modified,omitempty"`
				}{t, d.Digest.String(), modified})
				if err != nil {
					return err
				}
				return verdictExit(d.Effect)
			}
			printDecision(cmd.OutOrStdout(), &d, modified)
			return verdictExit(d.Effect)
		},
	}
	policyFlags(c)
	return jsonFlag(c)
}

func printDecision(w io.Writer, d *act.Decision, modified []byte) {
	fmt.Fprintf(w, "%s\n", d.Effect)
	for _, r := range d.Reasons {
		watched := ""
		if r.Observe {
			watched = " (only watching)"
		}
		fmt.Fprintf(w, "  %s by %s [%s]%s: %s\n", r.Effect, r.Rule, r.Code, watched, r.Message)
		if r.Instead != "" {
			fmt.Fprintf(w, "    instead: %s\n", r.Instead)
		}
	}
	fmt.Fprintf(w, "  risk %.2f %s\n  policy %s\n  act %s\n", d.Risk.Score, d.Risk.Level, d.Policy, d.Digest)
	if modified != nil {
		fmt.Fprintf(w, "%s\n", pretty(modified))
	}
}

func policyReload() *cobra.Command {
	c := &cobra.Command{
		Use:         "reload",
		Annotations: map[string]string{ofPolicy: "true"},
		Short:       "Have the running node read its policy again, and all that share its database",
		Args:        args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var loaded operator.PolicyLoaded
			if err := ask(cmd, true, "POST", "/admin/policy/reload", operator.Nothing{}, &loaded); err != nil {
				return err
			}
			if wantsJSON(cmd) {
				return printJSON(cmd.OutOrStdout(), loaded)
			}
			word := "unchanged"
			if loaded.Changed {
				word = "now in force"
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", loaded.Policy, word)
			for _, n := range loaded.Elsewhere {
				fmt.Fprintf(cmd.ErrOrStderr(), "not at node %s, where %s is in force: %s\n", printable(n.Name), nodes.Short(n.Policy),
					printable(cmp.Or(n.Problem, "its own files of the policy are others, or it does not answer")))
			}
			if len(loaded.Elsewhere) > 0 {
				return fmt.Errorf("another policy is in force at %s", words.Count(len(loaded.Elsewhere), "other node"))
			}
			return nil
		},
	}
	settingFlags(c, "data", "policy")
	new(nodeFlags).add(c)
	return jsonFlag(c)
}
