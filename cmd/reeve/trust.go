package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"reeve.example/reeve"
	"reeve.example/reeve/internal/operator"
)

func trustCommand() *cobra.Command {
	var list, remove bool
	c := &cobra.Command{
		Use:   "trust [FILE]",
		Short: "Let the configuration of this folder rule, as it is now",
		Long: `A reeve.yaml in the present folder may have come with a repository. It rules only once
you have said so, and only as it was then: when it changes, or a file that it names
from its folder or in its repository, say it again. Where --policy names a policy, that of the file
may have changed. A file that --config or REEVE_CONFIG names rules without this. Without FILE it is ./reeve.yaml.`,
		Args: args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			file := foundConfig
			if len(a) > 0 {
				file = a[0]
			}
			t, err := reeve.UserTrust()
			if err != nil {
				return err
			}
			switch {
			case list:
				files, err := t.List()
				list := []trustedFile{}
				for _, f := range files {
					state := "trusted"
					switch err := t.Check(f.Path); {
					case errors.Is(err, reeve.ErrUntrusted):
						state = "changed since"
					case err != nil:
						state = "cannot be read"
					}
					list = append(list, trustedFile{f.Path, state})
				}
				if wantsJSON(cmd) {
					return errors.Join(err, printJSON(cmd.OutOrStdout(), list))
				}
				for _, f := range list {
					fmt.Fprintf(cmd.OutOrStdout(), "%s\t%s\n", printable(f.Path), f.State)
				}
				return err
			case remove:
				was, err := t.Remove(file)
				if err == nil && !was {
					err = fmt.Errorf("%s was not trusted", file)
				}
				return err
			}
			if err := t.Add(file); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is trusted as it is now\n", printable(file))
			return nil
		},
	}
	c.Flags().BoolVar(&list, "list", false, "list what is trusted")
	c.Flags().BoolVar(&remove, "remove", false, "trust the file no more")
	return jsonFlag(c)
}

// trustedFile is a configuration in the list of those that are trusted.
type trustedFile struct {
	Path  string `json:"path"`
	State string `json:"state"`
}

// foundConfig is the configuration that is looked for where a command is run.
const foundConfig = "reeve.yaml"

// trustedConfig is the configuration in the present folder, empty if there is none.
// One that nobody has said to trust is an error: to start without it would be to
// start with other settings than whoever put it there expects. The policy that it names must be
// as it was trusted only where something is decided by it, and --policy names no other.
//
// A command that has from its flags all that a configuration could say to it does without:
// looks says that it only reads a database.
func trustedConfig(cmd *cobra.Command, looks bool) (string, error) {
	if _, err := os.Stat(foundConfig); err != nil {
		return "", nil
	}
	t, err := reeve.UserTrust()
	if err != nil {
		return "", err
	}
	policy := cmd.Flags().Lookup("policy")
	given := policy != nil && policy.Changed
	if given || judgesNothing(cmd) {
		err = t.CheckRest(foundConfig)
	} else {
		err = t.Check(foundConfig)
	}
	if !errors.Is(err, reeve.ErrUntrusted) {
		return foundConfig, err
	}
	byPolicy := t.CheckRest(foundConfig) == nil // only that has changed
	switch at, _ := filepath.Abs(foundConfig); {
	case byPolicy && nodeOf(cmd):
		return foundConfig, nil
	case given && cmd.Annotations[onlyPolicy] != "" || unneeded(cmd, looks):
		fmt.Fprintf(cmd.ErrOrStderr(), "reeve: %s is not trusted as it is now, and is left out\n", foundConfig)
		return "", nil
	case byPolicy:
		return "", fmt.Errorf("the policy that %s names is another than the one that you trusted. Look at it; then run reeve trust, or name it with --policy", printable(at))
	default:
		return "", fmt.Errorf("%s: %w. Look at it, and at what it names; then run reeve trust, or name it with --config", printable(at), err)
	}
}

// judgesNothing reports whether nothing is decided by the policy that a command reads: it only tells of it, or needs none.
func judgesNothing(cmd *cobra.Command) bool {
	switch allow := cmd.Flags().Lookup("allow"); {
	case cmd.Annotations[onlyPolicy] != "":
		return true
	case cmd.Annotations[ofPolicy] != "":
		return allow != nil && !allow.Changed
	}
	return cmd.Flags().Lookup("policy") == nil
}

// nodeOf reports whether a node runs where the configuration of the present folder has it, for a command that
// leaves to it what is decided.
func nodeOf(cmd *cobra.Command) bool {
	if cmd.Annotations[ofNode] == "" {
		return false
	}
	c, err := reeve.Load(foundConfig, os.Getenv, nil)
	return err == nil && operator.Dial(cmd.Context(), c.Data) != nil
}

// ofNode marks commands that leave it to a running node to judge.
const ofNode = "of-node"

// unneeded reports whether nothing of a configuration is wanted: each setting of the command is
// given, or the data folder is, and there a node runs, which has its own, or the database lies
// in it that is only read.
func unneeded(cmd *cobra.Command, looks bool) bool {
	if cmd.Annotations[ofPolicy] != "" {
		return false
	}
	all := true
	for _, s := range settings() {
		if f := cmd.Flags().Lookup(s.Flag); f != nil && !f.Changed {
			all = false
		}
	}
	data := cmd.Flags().Lookup("data")
	switch {
	case all:
		return true
	case data == nil || !data.Changed:
		return false
	case looks && cmd.Flags().Lookup("policy") == nil && exists(filepath.Join(data.Value.String(), "reeve.db")):
		return true
	}
	return operator.Dial(cmd.Context(), data.Value.String()) != nil
}

// ofPolicy marks commands by which the configured policy changes, whoever's node it is: whoever
// runs them has looked at what it says.
const ofPolicy = "of-policy"

// keepTrust writes a text to a file, as a person said. A configuration of the present folder
// that was trusted stays so with it.
func keepTrust(cmd *cobra.Command, file, text string, write func() error) error {
	if !exists(foundConfig) || flagOf(cmd, "config") != "" || os.Getenv("REEVE_CONFIG") != "" {
		return write()
	}
	t, err := reeve.UserTrust()
	if err != nil {
		return write()
	}
	return t.Keep(foundConfig, file, text, write)
}
