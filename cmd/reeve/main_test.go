package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve"
	"reeve.example/reeve/internal/sandbox"
	"reeve.example/reeve/internal/store"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	if signal.Ignored(os.Interrupt) { // as for what a shell starts beside itself
		// Programs inherit that, and the scripts end theirs with an interrupt.
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
	testscript.Main(m, map[string]func(){"reeve": main})
}

// TestScripts runs the program as a user does. The scripts have commands of
// their own: http METHOD URL [FILE] [Header:value…] prints the status, the
// headers of interest and the body; ready waits until a node answers; capture
// NAME REGEXP sets a variable to what the expression's group finds in stdout;
// lived DATA POLICY has agents of a node work for some days that are over.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			defer l.Close()
			env.Setenv("ADDR", l.Addr().String())
			env.Setenv("URL", "http://"+l.Addr().String())
			env.Setenv("NO_COLOR", "1")
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"http": cmdHTTP, "ready": cmdReady, "capture": cmdCapture, "lived": cmdLived},
	})
}

// openReader opens the database of a node's settings to read, until the test ends.
func openReader(t *testing.T, settings map[string]string) (reeve.Config, store.Store) {
	t.Helper()
	cfg, err := reeve.Load("", func(string) string { return "" }, settings)
	if err != nil {
		t.Fatal(err)
	}
	s, err := reeve.OpenReader(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return cfg, s
}

func cmdReady(ts *testscript.TestScript, neg bool, args []string) {
	for range 200 {
		resp, err := http.Get(ts.Getenv("URL") + "/healthz")
		if err == nil {
			resp.Body.Close()
			return
		}
		time.Sleep(25 * time.Millisecond)
	}
	ts.Fatalf("the node did not become ready")
}

func cmdCapture(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: capture NAME REGEXP")
	}
	found := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if len(found) < 2 {
		ts.Fatalf("stdout has no match for %s", args[1])
	}
	ts.Setenv(args[0], found[1])
}

func cmdHTTP(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: http METHOD URL [FILE] [Header:value…]")
	}
	var body io.Reader
	header := http.Header{"Content-Type": {"application/json"}}
	for _, a := range args[2:] {
		if name, value, ok := strings.Cut(a, ":"); ok {
			header.Set(name, value)
			continue
		}
		body = bytes.NewReader([]byte(ts.ReadFile(a)))
	}
	r, err := http.NewRequest(args[0], args[1], body)
	ts.Check(err)
	r.Header = header
	if host := header.Get("Host"); host != "" {
		r.Host = host
	}
	resp, err := http.DefaultClient.Do(r)
	ts.Check(err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	ts.Check(err)
	fmt.Fprintf(ts.Stdout(), "%d %s\n%s\n", resp.StatusCode, resp.Header.Get("Content-Type"), text)
}

// docs/configuration.md is what the program prints.
func TestConfigurationReference(t *testing.T) {
	want, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	printSettings(&got)
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("run: go run ./cmd/reeve settings > docs/configuration.md\n(-want +got):\n%s", diff)
	}
}
