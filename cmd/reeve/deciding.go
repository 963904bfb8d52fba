package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	guards "reeve.example/reeve/internal/guardian"
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
		effect, run := effects[path], c.RunE
		if effect == nil {
			panic("reeve: nothing says what " + path + " does")
		}
		c.RunE = func(cmd *cobra.Command, a []string) error {
			shown, err := tell(cmd, a, effect)
			if err == nil {
				err = askTerminal(cmd, a, shown)
			}
			if err != nil {
				return err
			}
			// What an agent can change while a person reads is not what they agreed to.
			// Of a user, more may be asked meanwhile: all of that is meant.
			if yes, _ := cmd.Flags().GetBool("yes"); !yes && path != "ledger erase" {
				if again, err := tell(cmd, a, effect); err != nil || again != shown {
					return errors.New("what was shown has changed meanwhile, and nothing was done: look at it again")
				}
			}
			return run(cmd, a)
		}
	}
}

// errUnasked is what a command gets that nobody can be asked about.
var errUnasked = errors.New("this is for a person to decide, and is asked at a terminal: there is none here")

// tell is what a command does, in harmless lines. What cannot be known is said, too:
// the command itself says more of why. A call that makes no sense is nothing to ask about.
func tell(cmd *cobra.Command, a []string, effect func(*cobra.Command, []string) ([]string, error)) (string, error) {
	lines, err := effect(cmd, a)
	if wrong, ok := errors.AsType[usageError](err); ok {
		return "", wrong
	}
	if errors.Is(err, fs.ErrNotExist) { // of what is not there nobody need be asked
		return "", err
	}
	if err != nil {
		lines = append(lines, fmt.Sprintf("what it changes is not known: %v", err))
	}
	var text strings.Builder
	for _, line := range lines {
		fmt.Fprintf(&text, "  %s\n", printable(line))
	}
	return text.String(), nil
}

// askTerminal asks at the terminal whether a command is meant, below what it does.
// Scripts get to see that on standard error, and go on. Standard input is not asked
// where there is a terminal: an agent can write what it likes to that.
func askTerminal(cmd *cobra.Command, a []string, shown string) error {
	if yes, _ := cmd.Flags().GetBool("yes"); yes {
		fmt.Fprint(cmd.ErrOrStderr(), shown)
		return nil
	}
	in, out, done, err := terminal()
	if err != nil {
		if cmd.CommandPath() == "reeve hook install" { // what a setup's script runs; of the others no agent is to read a way on
			return fmt.Errorf("%s: %w; a script of the machine's owner gives --yes", cmd.CommandPath(), errUnasked)
		}
		return fmt.Errorf("%s: %w", cmd.CommandPath(), errUnasked)
	}
	defer done()
	return confirm(in, out, strings.TrimSpace(cmd.CommandPath()+" "+strings.Join(a, " ")), shown)
}

// confirm asks whether something is meant, and takes nothing but yes, or y, for it.
func confirm(in io.Reader, out io.Writer, what, shown string) error {
	fmt.Fprintf(out, "%s\n%sType yes to do this: ", printable(what), shown)
	line, err := bufio.NewReader(io.LimitReader(in, 64)).ReadString('\n')
	if answer := strings.TrimSpace(line); err != nil || answer != "yes" && answer != "y" {
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
