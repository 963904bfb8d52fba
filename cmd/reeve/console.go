package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"reeve.example/reeve/internal/console"
	"reeve.example/reeve/internal/datadir"
)

func consoleCommand() *cobra.Command {
	var show bool
	c := &cobra.Command{
		Use:   "console",
		Short: "Open the console of the node of this machine in a browser, logged in",
		Long: `Opens the console of the node that runs on the data folder in a browser, logged in as the
user of this machine, with the role admin: who can open the node's socket can do all of that
already. The address holds a code that lets one browser in, once, within five minutes.

Elsewhere, open /console at the node's address and log in with a key of the role auditor,
approver or admin.`,
		Example: `  reeve console
  reeve console --show`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := config(cmd)
			if err != nil {
				return err
			}
			at, err := datadir.URL(cmd.Context(), cfg.Data)
			if errors.Is(err, datadir.ErrNotRunning) {
				return fmt.Errorf("%w on the data folder %s: start it with reeve serve", errNotRunning, cfg.Data)
			}
			if err == nil && at == "" {
				err = errors.New("the node listens on its socket only, and serves no pages: start it with --listen")
			}
			if err != nil {
				return err
			}
			var code console.Code
			if err := ask(cmd, true, "POST", "/admin/console", struct{}{}, &code); err != nil {
				return err
			}
			address := at + console.Home + "login#" + code.Code
			if !show {
				if err := browse(cmd.Context(), address); err == nil {
					fmt.Fprintf(cmd.ErrOrStderr(), "the console is open in a browser: %s%s\n", at, console.Home)
					return nil
				}
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "open this in a browser before %s; it works once:\n", code.Ends.Local().Format(time.TimeOnly))
			fmt.Fprintln(cmd.OutOrStdout(), address)
			return nil
		},
	}
	c.Flags().BoolVar(&show, "show", false, "print the address, and open no browser")
	settingFlags(c, "data")
	return c
}

// browse opens an address in the user's browser.
func browse(ctx context.Context, address string) error {
	switch runtime.GOOS {
	case "darwin":
		return exec.CommandContext(ctx, "open", address).Run()
	case "windows":
		return exec.CommandContext(ctx, "rundll32", "url.dll,FileProtocolHandler", address).Run()
	}
	return exec.CommandContext(ctx, "xdg-open", address).Run()
}

// browserLetIn says what `reeve console` does.
func browserLetIn(*cobra.Command, []string) ([]string, error) {
	return []string{"one browser is let in as admin: it answers what waits, and changes what decides"}, nil
}
