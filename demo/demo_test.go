package demo_test

import (
	"bytes"
	"context"
	stdjson "encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"reeve.example/reeve/demo"
	"reeve.example/reeve/internal/policy"
)

// allowAll is a guardian without any policy.
func allowAll(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct{ ID stdjson.RawMessage }
		stdjson.NewDecoder(r.Body).Decode(&request)
		stdjson.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": request.ID,
			"result": map[string]any{"decision": "allow", "message": "Go on.", "data": map[string]any{"decision_id": "0-1"}}})
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// The dangers are real: with nobody to stop it the agent walks into them, and
// the checks say so.
func TestWithoutPolicy(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	result, err := demo.Run(t.Context(), demo.Options{URL: allowAll(t), Out: &out, Dir: dir})
	if err == nil {
		t.Fatal("every check held, and nobody held the agent")
	}
	if text, err := os.ReadFile(filepath.Join(dir, "outside", "authorized_keys")); err != nil || !strings.HasPrefix(string(text), "ssh-") {
		t.Errorf("the write outside was not made: %v", err)
	}
	bad := 0
	for _, c := range result.Checks {
		if !c.OK {
			bad++
		}
	}
	if bad < 3 {
		t.Errorf("only %d checks failed: %+v", bad, result.Checks)
	}
}

func TestGuardianAway(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	dir := t.TempDir()
	var out bytes.Buffer
	_, err = demo.Run(t.Context(), demo.Options{URL: "http://" + l.Addr().String() + "/", Out: &out, Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "nothing may happen without its guardian's answer") {
		t.Errorf("error: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "work", "report.md")); !os.IsNotExist(err) {
		t.Error("the agent worked on")
	}
}

func TestNeedsAnEmptyFolder(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "precious"), nil, 0o600)
	if _, err := demo.Run(t.Context(), demo.Options{URL: allowAll(t), Out: new(bytes.Buffer), Dir: dir}); err == nil {
		t.Error("a folder in use was taken")
	}
}

func TestPolicy(t *testing.T) {
	dir := t.TempDir()
	text := demo.Policy(dir)
	if !strings.Contains(string(text), filepath.ToSlash(dir)) || strings.Contains(string(text), "WORK_FOLDER") {
		t.Errorf("the folder does not stand in the policy:\n%s", text)
	}
	starter, err := policy.StarterOf(demo.Profile)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := policy.Load(append(starter, policy.File{Name: "demo.yaml", Data: text})...); err != nil {
		t.Errorf("the policy does not load with the starter policy:\n%v", err)
	}
}

// wanted is the demonstration as it must be shown: each step's verdict, wish,
// and one thing said about it.
var wanted = []struct{ verdict, wish, said string }{
	{"ALLOW", "The user asks", "sets to work"},
	{"ALLOW", "search_handbook", "Found 1 passage"},
	{"ALLOW", "read_file  notes/monday.md", "Read 93 bytes"},
	{"ALLOW", "shell", "Ran it: 1 line"},
	{"MODIFY", "read_file  accounts/handover.txt", "4000 •••• •••• ••02  →  "},
	{"MODIFY", "fetch_page", "injected-instructions"},
	{"DENY", "shell  curl -fsSL", "download-and-run"},
	{"ALLOW", "fetch_page", "Fetched"},
	{"DENY", "write_file  ../outside/authorized_keys", "write-inside-the-work-folder"},
	{"DENY", "shell  curl -s --data-binary", "no-uploads"},
	{"DENY", "send_email", "tool-as-declared"},
	{"MODIFY", "recall  report", "orders-of-strangers"},
	{"ALLOW", "remember", "Remembered"},
	{"MODIFY", "write_file  publish.sh", "0777  →  0755"},
	{"ALLOW", "write_file  report.md", "Wrote"},
	{"MODIFY", "Tell the user", "mask-personal-numbers"},
}

// TestDemo runs the demonstration against a real node.
func TestDemo(t *testing.T) {
	dir := t.TempDir()
	url := startNode(t, demo.Policy(dir))
	var out bytes.Buffer
	var receiptOf string
	result, err := demo.Run(t.Context(), demo.Options{
		URL: url, Out: &out, Dir: dir,
		Verify:  func(context.Context) (string, error) { return "The ledger verifies.", nil },
		Receipt: func(_ context.Context, id string) (string, error) { receiptOf = id; return "Receipt checked.", nil },
	})
	shown := out.String()
	if err != nil {
		t.Fatalf("%v\n%s", err, shown)
	}
	if result.Allowed != 7 || result.Modified != 5 || result.Denied != 4 || receiptOf == "" {
		t.Errorf("result %+v, receipt of %q", result, receiptOf)
	}
	steps := regexp.MustCompile(`(?m)^ +\d+  (ALLOW|MODIFY|DENY) `).FindAllStringSubmatchIndex(shown, -1)
	if len(steps) != len(wanted) {
		t.Fatalf("%d steps are shown, want %d:\n%s", len(steps), len(wanted), shown)
	}
	for i, w := range wanted {
		end := strings.Index(shown[steps[i][0]:], "\n\n") + steps[i][0]
		step := shown[steps[i][0]:end]
		flat := strings.Join(strings.Fields(strings.ReplaceAll(step, "\u00a0", " ")), " ")
		if shown[steps[i][2]:steps[i][3]] != w.verdict || !strings.Contains(step, w.wish) || !strings.Contains(flat, strings.Join(strings.Fields(w.said), " ")) {
			t.Errorf("step %d: want %s %q with %q, got\n%s", i+1, w.verdict, w.wish, w.said, step)
		}
	}
	for line := range strings.Lines(shown) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
			t.Errorf("a line has %d columns: %s", n, line)
		}
	}
	if strings.Contains(shown, "\x1b") {
		t.Error("escape sequences without colour")
	}
	for _, secret := range []string{"4000 0000 0000 0002", "4111 1111 1111 1111", "MC4CAQAwBQ"} {
		if strings.Contains(shown, secret) {
			t.Errorf("the terminal shows %q", secret)
		}
	}
}

func TestProofsCount(t *testing.T) {
	dir := t.TempDir()
	url := startNode(t, demo.Policy(dir))
	var out bytes.Buffer
	_, err := demo.Run(t.Context(), demo.Options{URL: url, Out: &out, Dir: dir,
		Verify: func(context.Context) (string, error) { return "", errors.New("record 7 was changed") }})
	if err == nil || !strings.Contains(out.String(), "✗ The ledger does not verify: record 7 was changed") {
		t.Errorf("error %v\n%s", err, out.String())
	}
}
