package main

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"reeve.example/reeve"
	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/nodes"
	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/session"
	"reeve.example/reeve/internal/words"
)

func policyCommand() *cobra.Command {
	return group("policy", "Check, test and understand a policy", policyCheck(), policyTest(), policyExplain(), policyReload())
}

func policyCheck() *cobra.Command {
	c := &cobra.Command{
		Use:   "check [FILE|DIR]",
		Short: "Compile a policy, and say what is wrong with it and where",
		Long:  "Compiles the policy named, else the configured one, and says what is wrong with it and where.",
		Args:  args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			_, set, err := policyOf(cmd, a)
			if err != nil {
				return err
			}
			for _, w := range set.Warnings() {
				fmt.Fprintf(cmd.ErrOrStderr(), "warning: %v\n", w)
			}
			enforced, watched := 0, 0
			for _, r := range set.Rules() {
				if r.Observe {
					watched++
				} else {
					enforced++
				}
			}
			fmt.Fprintf(cmd.OutOrStdout(), "the policy compiles: %s, %d of them only watching; default %s\n%s\n",
				words.Count(enforced+watched, "rule"), watched, set.Default(), set.Hash())
			if set.GraveRisk() == 0 {
				fmt.Fprintln(cmd.OutOrStdout(), "note: risk.deny is off: grave risk alone denies nothing")
			}
			for _, x := range set.Exceptions() {
				if !time.Now().Before(x.Until) {
					fmt.Fprintf(cmd.OutOrStdout(), "%s:%d: the exception %q was over at %s, and lets nothing pass any more\n",
						x.File, x.Line, x.Name, x.Until.UTC().Format(time.RFC3339))
				}
			}
			return nil
		},
	}
	settingFlags(c, "policy")
	return c
}

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
		name = cfg.Policy
	}
	set, err = reeve.LoadPolicy(name)
	return name, set, err
}

func policyTest() *cobra.Command {
	var verbose bool
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
			if name == "" {
				var tests []byte
				if tests, err = policy.StarterTests(policy.DefaultProfile); err != nil {
					return err
				}
				cases, err = policy.ParseCases(policy.File{Name: "starter.test.yaml", Data: tests})
			} else {
				cases, err = policy.LoadCases(name)
			}
			if err != nil {
				return err
			}
			report := set.Test(cases, readRequest)
			out := cmd.OutOrStdout()
			for _, r := range report.Results {
				switch {
				case r.Problem != "":
					fmt.Fprintf(out, "FAIL  %s:%d  %s\n      %s\n", r.Case.File, r.Case.Line, r.Case.Name, r.Problem)
				case verbose:
					fmt.Fprintf(out, "ok    %s:%d  %s\n", r.Case.File, r.Case.Line, r.Case.Name)
				}
			}
			for _, r := range report.Unused {
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
	c.Flags().BoolVarP(&verbose, "verbose", "v", false, "name the cases that pass, too")
	settingFlags(c, "policy")
	return c
}

// readRequest reads an AOS or A2G request as a node would: by an unauthenticated
// caller, at the request's own timestamp, as the first step of its session.
func readRequest(request []byte) (*policy.Input, error) {
	a, err := actionOf(request)
	if err != nil {
		return nil, err
	}
	if a.Principal, a.At = act.Anonymous, a.SaidAt; a.At.IsZero() {
		a.At = time.Now()
	}
	in := &policy.Input{Action: a}
	var state *session.State
	if a.Session != "" {
		state = &session.State{Known: true}
		in.Session.Known = true
	}
	in.Violations, _ = state.Check(a, nil)
	return in, nil
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
			fmt.Fprint(cmd.OutOrStdout(), set.Explain(in))
			return nil
		},
	}
	settingFlags(c, "policy")
	return c
}

// judgeFile reads the policy in force and a request to be judged by it.
func judgeFile(cmd *cobra.Command, file string) (*policy.Set, *policy.Input, error) {
	cfg, err := config(cmd)
	if err != nil {
		return nil, nil, err
	}
	set, err := reeve.LoadPolicy(cfg.Policy)
	if err != nil {
		return nil, nil, err
	}
	request, err := readFile(cmd, file)
	if err != nil {
		return nil, nil, err
	}
	in, err := readRequest(request)
	return set, in, err
}

func decideCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "decide REQUEST.json",
		Short: "Judge one request offline; nothing is recorded; - reads standard input",
		Long: `Judges an AOS request by the policy, as the first step of its session, without a node
and without a record. Prints the effect and the reasons, and the request as modified.
The exit code is 0 for allow and modify, 3 for deny, 4 for escalate, 1 where the request could
not be judged.`,
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
			printDecision(cmd.OutOrStdout(), &d, modified)
			return verdictExit(d.Effect)
		},
	}
	settingFlags(c, "policy")
	return c
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
		Use:   "reload",
		Short: "Have the running node read its policy again, and all that share its database",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var loaded operator.PolicyLoaded
			if err := ask(cmd, true, "POST", "/admin/policy/reload", operator.Nothing{}, &loaded); err != nil {
				return err
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
	return c
}
