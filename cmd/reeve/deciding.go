package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	guards "reeve/guardian"
)

// askFirst has every command that decides or loosens ask at a terminal whether it is
// meant. Which these are is said in one place, by which acts are judged, too: what an
// agent must not run is what a person is asked about.
func askFirst(root *cobra.Command) {
	for _, path := range guards.Deciding {
		c, rest, err := root.Find(strings.Fields(path))
		if err != nil || len(rest) > 0 || c.RunE == nil {
			panic("reeve: there is no command " + path)
		}
		c.Flags().Bool("yes", false, "do not ask whether it is meant: for scripts of the node's owner")
		if strings.HasPrefix(path, "approvals ") {
			continue // they ask once they have shown what is answered
		}
		run := c.RunE
		c.RunE = func(cmd *cobra.Command, a []string) error {
			if err := askTerminal(cmd, a); err != nil {
				return err
			}
			return run(cmd, a)
		}
	}
}

// errUnasked is what a command gets that nobody can be asked about.
var errUnasked = errors.New("this is for a person to decide, and is asked at a terminal: there is none here")

// askTerminal asks at the terminal whether a command is meant. Standard input is not asked
// where there is a terminal: an agent can write what it likes to that.
func askTerminal(cmd *cobra.Command, a []string) error {
	if yes, _ := cmd.Flags().GetBool("yes"); yes {
		return nil
	}
	in, out, done, err := terminal()
	if err != nil {
		return fmt.Errorf("%s: %w", cmd.CommandPath(), errUnasked)
	}
	defer done()
	return confirm(in, out, strings.TrimSpace(cmd.CommandPath()+" "+strings.Join(a, " ")))
}

// confirm asks whether something is meant, and takes nothing but yes for it.
func confirm(in io.Reader, out io.Writer, what string) error {
	fmt.Fprintf(out, "%s\nType yes to do this: ", printable(what))
	line, err := bufio.NewReader(io.LimitReader(in, 64)).ReadString('\n')
	if err != nil || strings.TrimSpace(line) != "yes" {
		return errors.New("nothing was done")
	}
	return nil
}

// terminal is the terminal of whoever runs the command.
func terminal() (in io.Reader, out io.Writer, done func(), err error) {
	if runtime.GOOS == "windows" {
		if !isTerminal(os.Stdin) {
			return nil, nil, nil, errUnasked
		}
		return os.Stdin, os.Stderr, func() {}, nil
	}
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, nil, nil, err
	}
	return tty, tty, func() { tty.Close() }, nil
}
