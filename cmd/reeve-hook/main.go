// Command reeve-hook is reeve for one command, "hook", and takes the same arguments. A
// coding agent starts its hook for every call, and most of what that takes is the start
// of a large program: this small one asks the node that runs in a quarter of the time.
// Where none runs it hands over to the reeve beside it, which can decide by itself.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"reeve.example/reeve/internal/datadir"
	"reeve.example/reeve/internal/hook"
)

func main() {
	input, err := hook.Input(os.Stdin)
	if err != nil {
		end(hook.Block(err.Error()))
	}
	if c := parse(os.Args[1:]); c != nil && c.find() {
		end(c.Respond(context.Background(), input, c.ask))
	}
	end(whole(os.Args[1:], input))
}

// end gives the agent its answer.
func end(a hook.Answer) {
	io.WriteString(os.Stderr, a.Stderr)
	if _, err := os.Stdout.Write(a.Stdout); err != nil {
		os.Exit(2) // the agent does not know what was decided
	}
	os.Exit(a.Exit)
}

// call is one call of the hook, and which node it asks.
type call struct {
	hook.Run
	url, key, data, unreachable string
}

// parse reads the arguments of "reeve hook". What it does not know is for the whole
// program to say: nil then.
func parse(args []string) *call {
	if len(args) == 0 || args[0] != "hook" {
		return nil
	}
	var c call
	f := flag.NewFlagSet("reeve-hook", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&c.Agent, "agent", "", "")
	f.StringVar(&c.Event, "event", "", "")
	f.StringVar(&c.Trails, "trails", "", "")
	f.DurationVar(&c.Timeout, "timeout", hook.Timeout, "")
	f.StringVar(&c.url, "url", "", "")
	f.StringVar(&c.key, "key", "", "")
	f.StringVar(&c.data, "data", "", "")
	f.StringVar(&c.unreachable, "unreachable", "", "")
	for _, own := range []string{"config", "policy", "keep", "redact"} { // of a hook that decides by itself
		f.String(own, "", "")
	}
	if f.Parse(args[1:]) != nil || f.NArg() > 0 || c.unreachable != "" && c.unreachable != "block" && c.unreachable != "decide" {
		return nil
	}
	return &c
}

// find finds the node to ask, and reports whether there is one.
func (c *call) find() bool {
	if c.url == "" && c.data != "" {
		c.url, _ = datadir.URL(context.Background(), c.data)
	}
	if c.url == "" {
		return false
	}
	// A hook that may decide by itself, which the configuration can say, must not find
	// out halfway that it has to.
	return c.unreachable == "block" || answers(c.url)
}

// answers reports whether somebody listens at a URL.
func answers(at string) bool {
	u, err := url.Parse(at)
	if err != nil {
		return false
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(u.Hostname(), port), 3*time.Second)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

func (c *call) ask(ctx context.Context, request []byte) (*hook.Decision, error) {
	d, err := hook.Ask(ctx, c.url, c.key, request)
	var gone *hook.Unreachable
	if errors.As(err, &gone) {
		err = fmt.Errorf("%w, and so nothing is allowed", err)
	}
	return d, err
}

// whole has the whole program answer.
func whole(args []string, input []byte) hook.Answer {
	self, err := os.Executable()
	if err != nil {
		return hook.Block(err.Error())
	}
	name := "reeve"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	cmd := exec.Command(filepath.Join(filepath.Dir(self), name), args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &stdout, &stderr
	// It lives for some tens of milliseconds, and collecting garbage while it starts takes
	// a fifth of them. "reeve hook" says the same, but only once it has started.
	cmd.Env = append(os.Environ(), "GOGC=off", "GOMEMLIMIT=256MiB")
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return hook.Answer{Stdout: stdout.Bytes(), Stderr: stderr.String()}
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return hook.Answer{Stdout: stdout.Bytes(), Stderr: stderr.String(), Exit: exit.ExitCode()}
	}
	return hook.Block(fmt.Sprintf("no node runs, and the hook cannot decide by itself: %v", err))
}
