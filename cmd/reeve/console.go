package main

import (
	"context"
	"errors"
	"fmt"
	neturl "net/url"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reeve.example/reeve"
	"reeve.example/reeve/internal/console"
	"reeve.example/reeve/internal/datadir"
	"reeve.example/reeve/internal/server"
)

func consoleCommand() *cobra.Command {
	var show bool
	var reached string
	c := &cobra.Command{
		Use:   "console",
		Short: "Open the console of the node of this machine in a browser, logged in",
		Long: `Opens the console of the node that runs on the data folder in a browser, logged in as the
user of this machine, with the role admin: who can open the node's socket can do all of that
already. Where no folder is named and there is no reeve-data here, it is the node that your
hooks ask: reeve serve on the folder where they keep their records. The address holds a code that lets one browser in, once, within five minutes.

An organization's node has its console under its own hosts, at the address of the node that
listens for it: give its file with --config, and with --url how a browser reaches it.

Elsewhere, open /console at the node's address and log in with a key of the role auditor,
approver or admin.`,
		Example: `  reeve console
  reeve console --show
  reeve console --config acme.yaml --url https://acme.example`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := config(cmd)
			if err != nil {
				return err
			}
			cfg = orOwn(cfg)
			at, err := datadir.URL(cmd.Context(), cfg.Data)
			if errors.Is(err, datadir.ErrNotRunning) {
				return noConsole(cmd, cfg.Data)
			}
			if err == nil {
				at, err = consoleAt(&cfg, at, reached)
			}
			if err != nil {
				return err
			}
			node, err := openOperator(cmd.Context(), cfg, true)
			if err != nil {
				return err
			}
			defer node.close()
			var code console.Code
			if err := node.Ask(cmd.Context(), "POST", "/admin/console", struct{}{}, &code); err != nil {
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
	c.Flags().StringVar(&reached, "url", "", "where a browser reaches the node, if not where it listens: for an organization one of its hosts")
	settingFlags(c, "data")
	return c
}

// noConsole is the error where no node runs on the data folder: it says how to start the one
// whose records are there. Hooks ask a node on their own folder, and none on another.
func noConsole(cmd *cobra.Command, data string) error {
	own := reeve.UserData()
	switch {
	case own != "" && data == own:
		return fmt.Errorf("%w on the data folder %s, where hooks keep their records: start one, which the hooks then ask, with reeve serve --data %s", errNotRunning, own, own)
	case own != "" && data == noData && !exists(data):
		return fmt.Errorf("%w on the data folder %s: start it with reeve serve, or with reeve serve --data %s the one that hooks ask", errNotRunning, data, own)
	}
	return fmt.Errorf("%w on the data folder %s: start it with reeve serve%s", errNotRunning, data, elsewhere(cmd))
}

// consoleAt is where a browser reaches the node of a configuration, which listens at a URL;
// empty for its socket only. An organization's node listens nowhere itself: which one of those
// behind an address is meant the host's name says, so that under another name the code would be
// shown to another node, which knows nothing of it.
func consoleAt(cfg *reeve.Config, listens, reached string) (string, error) {
	const url = "--url: %q is no address of a node, such as https://reeve.example"
	if reached != "" {
		u, err := neturl.Parse(reached)
		switch {
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil:
			return "", usageError{fmt.Errorf(url, reached)}
		case cfg.Organization != "" && !slices.ContainsFunc(cfg.Hosts, func(host string) bool { return strings.EqualFold(server.HostName(host), u.Hostname()) }):
			return "", usageError{fmt.Errorf("--url: %s is none of the hosts of %s: %s", u.Hostname(), cfg.Organization, strings.Join(cfg.Hosts, ", "))}
		}
		return u.Scheme + "://" + u.Host, nil
	}
	switch {
	case listens == "" && cfg.Organization != "" && len(cfg.Hosts) > 0:
		return "", fmt.Errorf("the node of %s is reached under its own hosts (%s), where the node listens that it stands behind: say how a browser reaches it, such as --url https://%s", cfg.Organization, strings.Join(cfg.Hosts, ", "), cfg.Hosts[0])
	case listens == "":
		return "", errors.New("the node listens on its socket only, and serves no pages: start it with --listen")
	}
	return listens, nil
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
