package main

import (
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	guards "reeve.example/reeve/internal/guardian"
)

// What decides asks at a terminal, and is what acts are judged by: one list. A new
// command that answers, revokes or installs belongs to it.
func TestDecidingCommandsAsk(t *testing.T) {
	var found []string
	var walk func(c *cobra.Command, path string)
	walk = func(c *cobra.Command, path string) {
		if c.Flags().Lookup("yes") != nil {
			found = append(found, path)
		}
		for _, sub := range c.Commands() {
			walk(sub, strings.TrimSpace(path+" "+sub.Name()))
		}
		words := strings.Fields(path)
		if n := len(words); n > 0 && slices.Contains([]string{"approve", "deny", "refuse", "revoke", "suspend", "resume", "erase", "prune", "restore", "install", "trust"}, words[n-1]) &&
			!slices.Contains(guards.Deciding, path) {
			t.Errorf("%s decides, and is not in the list", path)
		}
	}
	walk(rootCommand(), "")
	want := slices.Concat(guards.Deciding, slices.Collect(maps.Keys(guards.DecidingFlags)))
	want = append(want, "schedules remove") // decides nothing, and is asked about since nothing brings it back
	slices.Sort(want)
	slices.Sort(found)
	if !slices.Equal(found, want) {
		t.Errorf("these ask: %q\nthese decide: %q", found, want)
	}
}

func TestConfirm(t *testing.T) {
	for answer, ok := range map[string]bool{"yes\n": true, " yes \n": true, "y\n": true, "ye\n": false, "y\nno\n": true, "y": false, "\n": false, "": false, "yes": false, "YES\n": false, "no\nyes\n": false} {
		var out strings.Builder
		if err := confirm(strings.NewReader(answer), &out, "reeve approvals approve a\x1b[2Jb", "  it is let through\n"); (err == nil) != ok {
			t.Errorf("%q: %v", answer, err)
		}
		if strings.Contains(out.String(), "\x1b") || !strings.Contains(out.String(), "approvals approve") || !strings.Contains(out.String(), "\n  it is let through\nType yes") {
			t.Errorf("%q", out.String())
		}
	}
}

// Nobody is asked about a call that makes no sense.
func TestTellNonsense(t *testing.T) {
	for _, args := range [][]string{{"hook", "install", "vim"}, {"keys", "create", "k", "--role", "king", "--data", t.TempDir()}} {
		root := rootCommand()
		root.SetArgs(args)
		root.SetOut(io.Discard)
		root.SetErr(io.Discard)
		err := root.Execute()
		if _, ok := errors.AsType[usageError](err); !ok {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// What is told is harmless, and what is not known is said.
func TestTell(t *testing.T) {
	got, err := tell(nil, nil, func(*cobra.Command, []string) ([]string, error) {
		return []string{"a\x1b[2J\nb"}, errors.New("no node\x07")
	})
	if err != nil || strings.ContainsAny(got, "\x1b\x07") || strings.Count(got, "\n") != 2 || !strings.Contains(got, "is not known: no node") {
		t.Errorf("%q", got)
	}
}
