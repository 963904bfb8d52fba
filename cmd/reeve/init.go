package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"reeve.example/reeve"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/replay"
)

func initCommand() *cobra.Command {
	profile, from := policy.DefaultProfile, ""
	c := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write the starter policy and a configuration here, to edit",
		Long: `Writes DIR/policy/starter.yaml, its test cases, and DIR/reeve.yaml (DIR is the
present folder unless given). Existing files are never overwritten.

The configuration is trusted as it was written, and rules in DIR. Where DIR/policy held anything
before, it is not: look at that, and run reeve trust.

The starter policy comes in three strengths:
  coding   for an agent beside a developer: what is grave is denied, little asks
  service  for an agent that works for others, with tools and MCP servers
  strict   for an agent that is not trusted yet: as service, and what others only note asks

With --from the records of a data folder are read, and DIR/policy/flow.yaml proposes, for the
tools that agents were seen to use, which arguments say upon whom or what they act, and which
of their results could be labelled as your own. Nothing in it stops anything until you say so.
It can be added to a policy that is there already.`,
		Example: `  reeve init
  reeve init --from ./reeve-data
  reeve init --profile service /etc/reeve`,
		Args: args(cobra.MaximumNArgs(1)),
	}
	c.Flags().StringVar(&profile, "profile", profile, "the starter policy's strength: coding, service or strict")
	c.Flags().StringVar(&from, "from", "", "a data folder: propose labels and acts for the tools that agents were seen to use")
	c.RunE = func(cmd *cobra.Command, a []string) error {
		dir := "."
		if len(a) == 1 {
			dir = a[0]
		}
		if from != "" {
			done, err := proposed(cmd, dir, from, profile)
			if err != nil || done {
				return err
			}
		}
		files := map[string][]byte{"reeve.yaml": []byte(initialConfig)}
		starter, err := policy.StarterOf(profile)
		if err != nil {
			return err
		}
		for _, f := range starter {
			files[filepath.Join("policy", policy.StarterFile)] = f.Data
		}
		if files[filepath.Join("policy", "starter.test.yaml")], err = policy.StarterTests(profile); err != nil {
			return err
		}
		for name := range files {
			if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%s is there already; nothing was written", filepath.Join(dir, name))
			}
		}
		if err := os.MkdirAll(filepath.Join(dir, "policy"), 0o755); err != nil {
			return err
		}
		for name, data := range files {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
				return err
			}
		}
		out := cmd.OutOrStdout()
		fmt.Fprintf(out, "wrote %s and %s\n\n", filepath.Join(dir, "reeve.yaml"), filepath.Join(dir, "policy"))
		if from != "" {
			files[filepath.Join("policy", "flow.yaml")] = nil // is written already
		}
		if err := trustWritten(filepath.Join(dir, "reeve.yaml"), files); err != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "reeve: the configuration is written, and does not rule until it is trusted (reeve trust): %v\n", err)
		}
		rules, program := filepath.Join(dir, "policy"), os.Args[0]
		fmt.Fprintf(out, "  edit    %s\n  check   %s policy check %s\n  test    %s policy test %s\n  run     %s serve --policy %s\n  look    %s console, while it runs\n",
			filepath.Join(rules, policy.StarterFile), program, rules, program, rules, program, rules, program)
		return nil
	}
	return c
}

// trustWritten trusts a configuration that was written, if all that it names was written with it. What lay
// there before may have come with a repository, and nobody has looked at it.
func trustWritten(config string, written map[string][]byte) error {
	t, err := reeve.UserTrust()
	if err != nil {
		return err
	}
	named, err := reeve.Named(config)
	if err != nil {
		return err
	}
	for _, f := range named {
		name, err := filepath.Rel(filepath.Dir(named[0].Path), f.Path)
		if _, ours := written[name]; err != nil || !ours {
			return fmt.Errorf("%s was there before, and would rule with it", printable(f.Path))
		}
	}
	return t.AddAs(config, named)
}

// proposed writes what is proposed for the tools that the agents of a data folder were seen
// to use. done says that the rest of the policy is there already.
func proposed(cmd *cobra.Command, dir, from, profile string) (done bool, err error) {
	file := filepath.Join(dir, "policy", "flow.yaml")
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("%s is there already; nothing was written", file)
	}
	c := reeve.Config{Data: from}
	if err := noRecords(c); err != nil {
		return false, err
	}
	store, err := reeve.OpenReader(cmd.Context(), c)
	if err != nil {
		return false, fmt.Errorf("open the records of %s: %w", from, err)
	}
	defer store.Close()
	var seen policy.Seen
	if err := replay.Acts(cmd.Context(), store, time.Time{}, time.Time{}, seen.Add); err != nil {
		return false, fmt.Errorf("read the records of %s: %w", from, err)
	}
	set, err := policyIn(filepath.Dir(file), profile)
	if err != nil {
		return false, err
	}
	proposal := seen.Proposal(set.Default().String()) // all documents of a policy say the same of it
	if proposal == nil {
		return false, fmt.Errorf("in the records of %s no tool was seen that labels or acts would be about", from)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return false, err
	}
	if err := os.WriteFile(file, proposal, 0o644); err != nil {
		return false, err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "wrote %s: read it, its labels are marked out\n", file)
	_, err = os.Lstat(filepath.Join(dir, "reeve.yaml"))
	return err == nil, nil
}

// policyIn is the policy of a folder, or a profile of the starter where it has none.
func policyIn(dir, profile string) (*policy.Set, error) {
	if files, err := filepath.Glob(filepath.Join(dir, "*.yaml")); err != nil || len(files) > 0 {
		return policy.LoadPath(dir)
	}
	files, err := policy.StarterOf(profile)
	if err != nil {
		return nil, err
	}
	return policy.Load(files...)
}

const initialConfig = `# Configuration of a reeve node: see "reeve settings" for everything that can be
# set. A flag (--listen) wins over an environment variable (REEVE_LISTEN), and
# that over this file.
listen: 127.0.0.1:8080
data: ./reeve-data
policy: ./policy
`
