package main

import (
	"fmt"
	"net/url"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"reeve.example/reeve/internal/operator"
)

func passkeysCommand() *cobra.Command {
	return group("passkeys", "Passkeys of those who answer: see them, confirm and revoke them", passkeysList(),
		passkeysChange("confirm", "confirmed", "Have a passkey count, as the owner of this machine's node"),
		passkeysChange("revoke", "revoked", "End a passkey: nobody agrees with it any more"))
}

func passkeysList() *cobra.Command {
	c := &cobra.Command{
		Use:   "list",
		Short: "List the passkeys, those that wait for a confirmation and those that are revoked, too",
		Example: `  reeve passkeys list
  reeve passkeys list --json`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var list operator.PasskeyList
			if err := askNode(cmd, "GET", "/admin/passkeys", nil, &list); err != nil {
				return err
			}
			if wantsJSON(cmd) {
				return printJSON(cmd.OutOrStdout(), list)
			}
			switch {
			case list.Origin == "":
				fmt.Fprintf(cmd.ErrOrStderr(), "passkeys are not set up: the setting passkeys.origin says at which address people use them\n")
			case len(list.Passkeys) == 0:
				fmt.Fprintf(cmd.ErrOrStderr(), "there are none: people register them at %s/console/passkeys\n", list.Origin)
			}
			if len(list.Passkeys) == 0 {
				return nil
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "ID\tSTATE\tOF\tREGISTERED\tLABEL")
			for _, p := range list.Passkeys {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", printable(p.ID), printable(p.State), printable(p.Principal), p.Created.Local().Format(time.DateTime), printable(p.Label))
			}
			return w.Flush()
		},
	}
	new(nodeFlags).add(c)
	settingFlags(c, "data", "database")
	return jsonFlag(c)
}

func passkeysChange(verb, state, short string) *cobra.Command {
	c := &cobra.Command{
		Use:   verb + " ID",
		Short: short,
		Args:  args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			var p operator.Passkey
			path, q := "/admin/passkeys/"+url.PathEscape(a[0]), operator.PasskeyChange{State: state}
			if err := askNode(cmd, "POST", path, q, &p); err != nil {
				return err
			}
			if wantsJSON(cmd) {
				return printJSON(cmd.OutOrStdout(), p)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "the passkey of %s is %s\n", printable(p.Principal), printable(p.State))
			return nil
		},
	}
	if verb == "confirm" {
		c.Long = `Has a passkey count that somebody registered in the console. A stolen key can register one,
too: ask who registered it for its number, by another way than this machine, and compare.

It is for the owner of this machine's node, by the socket in the data folder. Elsewhere an
admin who is somebody else confirms it in the console, with a passkey of theirs.`
		c.Example = `  reeve passkeys list
  reeve passkeys confirm g32bqsh53p968zvhebdymgzjrw`
	} else {
		c.Example = "  reeve passkeys revoke g32bqsh53p968zvhebdymgzjrw"
	}
	new(nodeFlags).add(c)
	settingFlags(c, "data", "database")
	return jsonFlag(c)
}

// passkeyChanged says whose passkey a command is about, and what becomes of it.
func passkeyChanged(then string) func(cmd *cobra.Command, a []string) ([]string, error) {
	return func(cmd *cobra.Command, a []string) ([]string, error) {
		var list operator.PasskeyList
		if err := askNode(cmd, "GET", "/admin/passkeys", nil, &list); err != nil {
			return []string{then}, err
		}
		for _, p := range list.Passkeys {
			if p.ID == a[0] {
				return []string{fmt.Sprintf("the passkey %q of %s, registered %s, now %s", p.Label, p.Principal, p.Created.Local().Format(time.DateTime), p.State), then}, nil
			}
		}
		return nil, usageError{fmt.Errorf("there is no passkey %.80q: see reeve passkeys list", a[0])}
	}
}
