package main

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"reeve.example/reeve/internal/operator"
)

func keysCommand() *cobra.Command {
	return group("keys", "API keys of agents, approvers, auditors and admins", keysCreate(), keysList(), keysRevoke())
}

func keysCreate() *cobra.Command {
	var q operator.KeyInfo
	c := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a key; its secret is shown once",
		Args:  args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			q.Name = a[0]
			var key operator.KeyInfo
			if err := askNode(cmd, "POST", "/admin/keys", q, &key); err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "key %s, role %s: keep the secret, it is not shown again\n", key.Name, key.Role)
			fmt.Fprintln(cmd.OutOrStdout(), key.Secret)
			return nil
		},
	}
	settingFlags(c, "data", "database")
	c.Flags().StringVar(&q.Role, "role", "agent", "agent, approver, auditor or admin")
	c.Flags().StringVar(&q.Organization, "organization", "", "organization of the key's holder")
	return c
}

func keysList() *cobra.Command {
	c := &cobra.Command{
		Use:   "list",
		Short: "List the keys, revoked ones too",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := config(cmd)
			if err != nil {
				return err
			}
			if err := noRecords(cfg); err != nil {
				return err
			}
			var keys []operator.KeyInfo
			if err := askNode(cmd, "GET", "/admin/keys", nil, &keys); err != nil {
				return err
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tROLE\tORGANIZATION\tCREATED\tSTATE")
			for _, k := range keys {
				state := "valid"
				if k.Damaged {
					state = "damaged: it lets nobody in"
				} else if !k.Revoked.IsZero() {
					state = "revoked " + k.Revoked.Format(time.DateTime)
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", k.Name, k.Role, k.Organization, k.Created.Format(time.DateTime), state)
			}
			return w.Flush()
		},
	}
	settingFlags(c, "data", "database")
	return c
}

func keysRevoke() *cobra.Command {
	c := &cobra.Command{
		Use:   "revoke NAME",
		Short: "Revoke a key, at once",
		Args:  args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			var key operator.KeyInfo
			if err := askNode(cmd, "POST", "/admin/keys/revoke", operator.KeyName{Name: a[0]}, &key); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "revoked %s\n", key.Name)
			return nil
		},
	}
	settingFlags(c, "data", "database")
	return c
}

// askNode makes one call to the node that a command is about.
func askNode(cmd *cobra.Command, method, path string, q, a any) error {
	return ask(cmd, false, method, path, q, a)
}

func ask(cmd *cobra.Command, mustRun bool, method, path string, q, a any) (err error) {
	c, err := config(cmd)
	if err != nil {
		return err
	}
	if strings.HasPrefix(path, "/approvals") { // what a hook or a proxy holds, too
		c = orOwn(c)
	}
	if path != "/admin/keys" && !mustRun { // a key can be made before the first start
		if err := noRecords(c); err != nil {
			return err
		}
	}
	o, err := openOperator(cmd.Context(), c, mustRun)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.close()) }()
	return o.Ask(cmd.Context(), method, path, q, a)
}
