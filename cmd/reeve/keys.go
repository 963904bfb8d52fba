package main

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/operator"
)

func keysCommand() *cobra.Command {
	return group("keys", "API keys of agents, approvers, auditors and admins", keysCreate(), keysGenerate(), keysList(), keysRevoke())
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
			if wantsJSON(cmd) {
				return printJSON(cmd.OutOrStdout(), key)
			}
			fmt.Fprintln(cmd.OutOrStdout(), key.Secret)
			return nil
		},
	}
	aboutNode(c)
	jsonFlag(c)
	c.Flags().StringVar(&q.Role, "role", "agent", "agent, approver, auditor or admin")
	c.Flags().StringVar(&q.Organization, "organization", "", "organization of the key's holder")
	c.Flags().StringVar(&q.Person, "person", "", "who holds the key, where one person has several credentials: their answers count once")
	return c
}

func keysGenerate() *cobra.Command {
	var role, from, person string
	var asJSON bool
	c := &cobra.Command{
		Use:   "generate NAME",
		Short: "Make a key for a configuration, without a node",
		Long: `Makes a key, and the line by which a configuration gives it to a node: as the setting keys,
which holds a hash and no secret. No node is asked, and nothing is stored. With --from it is
about a key whose secret was made elsewhere: reeve_ and at least 32 random characters.`,
		Example: `  reeve keys generate agent-1
  reeve keys generate ops --role admin --json
  REEVE_KEYS="$(reeve keys generate agent-1 --from agent-1.secret)" reeve serve --listen 0.0.0.0:8080`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			made := struct {
				Name    string `json:"name"`
				Role    string `json:"role"`
				Secret  string `json:"secret,omitzero"`
				Setting string `json:"setting"`
			}{Name: a[0], Role: role}
			var key identity.Key
			if from == "" {
				var err error
				if key, made.Secret, err = identity.NewKey(a[0], identity.Role(role), "", person, time.Now()); err != nil {
					return usageError{err}
				}
			} else {
				text, err := readFile(cmd, from)
				if err != nil {
					return err
				}
				if key, err = identity.KnownKey(a[0], identity.Role(role), person, strings.TrimSpace(string(text))); err != nil {
					return usageError{err}
				}
			}
			made.Setting = key.Setting()
			switch out := cmd.OutOrStdout(); {
			case asJSON:
				return printJSON(out, made)
			case from != "":
				fmt.Fprintln(out, made.Setting)
			default:
				fmt.Fprintf(out, "secret   %s\nsetting  %s\n", made.Secret, made.Setting)
				fmt.Fprintf(cmd.ErrOrStderr(), "give the secret to who asks, and the setting to the node, in its list of keys: the secret is not shown again\n")
			}
			return nil
		},
	}
	c.Flags().StringVar(&role, "role", "agent", "agent, approver, auditor or admin")
	c.Flags().StringVar(&person, "person", "", "who holds the key, where one person has several credentials: their answers count once")
	c.Flags().StringVar(&from, "from", "", "file with the secret of a key made elsewhere; - for standard input")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func keysList() *cobra.Command {
	c := &cobra.Command{
		Use:   "list",
		Short: "List the keys, revoked ones too",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flag("server").Value.String() == "" { // a list makes no first database, as a first key does
				cfg, err := config(cmd)
				if err != nil {
					return err
				}
				if err := noRecords(cfg); err != nil {
					return err
				}
			}
			var keys []operator.KeyInfo
			if err := askNode(cmd, "GET", "/admin/keys", nil, &keys); err != nil {
				return err
			}
			if wantsJSON(cmd) {
				return printJSON(cmd.OutOrStdout(), keys)
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tROLE\tPERSON\tORGANIZATION\tCREATED\tSTATE")
			for _, k := range keys {
				state := "valid"
				if k.Given {
					state = "valid, by configuration"
				} else if k.Damaged {
					state = "damaged: it lets nobody in"
				} else if !k.Revoked.IsZero() {
					state = "revoked " + k.Revoked.Format(time.DateTime)
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", k.Name, k.Role, k.Person, k.Organization, madeAt(k), state)
			}
			return w.Flush()
		},
	}
	jsonFlag(aboutNode(c))
	return c
}

// madeAt is when a key was made, as far as the node knows.
func madeAt(k operator.KeyInfo) string {
	if k.Created.IsZero() {
		return "-"
	}
	return k.Created.Format(time.DateTime)
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
			if wantsJSON(cmd) {
				return printJSON(cmd.OutOrStdout(), key)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "revoked %s\n", key.Name)
			return nil
		},
	}
	jsonFlag(aboutNode(c))
	return c
}

// aboutNode adds the flags that say which node a command asks: that of the data folder, or
// another.
func aboutNode(c *cobra.Command) *cobra.Command {
	new(nodeFlags).add(c)
	return ledgerFlags(c)
}

// jsonFlag adds the flag for output that programs read; wantsJSON is whether it was given.
func jsonFlag(c *cobra.Command) *cobra.Command {
	c.Flags().Bool("json", false, "print JSON")
	return c
}

func wantsJSON(cmd *cobra.Command) bool {
	wants, _ := cmd.Flags().GetBool("json")
	return wants
}

// askNode makes one call to the node that a command is about.
func askNode(cmd *cobra.Command, method, path string, q, a any) error {
	return ask(cmd, false, method, path, q, a)
}

// ask asks the node that runs on the data folder or is opened there, or the one that
// --server names, in commands that have the flag.
func ask(cmd *cobra.Command, mustRun bool, method, path string, q, a any) error {
	return withNode(cmd, mustRun, path, func(c *operator.Client) error { return c.Ask(cmd.Context(), method, path, q, a) })
}

// withNode calls f with a client of the node that ask would ask at a path.
func withNode(cmd *cobra.Command, mustRun bool, path string, f func(*operator.Client) error) (err error) {
	at := serverOf(cmd)
	if err := at.fit(cmd); err != nil {
		return err
	}
	if at.server != "" {
		key, err := at.credential()
		if err != nil {
			return err
		}
		return f(operator.At(at.server, key))
	}
	c, err := config(cmd)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(path, "/admin/") { // what a hook or a proxy has, too; keys, backups and removals are of a node that is named
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
	return f(o.Client)
}
