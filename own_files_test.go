package reeve_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"reeve.example/reeve/act"
	"reeve.example/reeve/aos"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/hook"
	"reeve.example/reeve/internal/policy"

	"github.com/go-json-experiment/json"
)

// readable are the texts of a folder that an agent would read: their paths and contents.
func readable(t *testing.T, root string, see func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == ".needs" || d.Name() == "node_modules" || path == filepath.Join(root, "bin")):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		const most = 1 << 20
		if info, err := d.Info(); err != nil || info.Size() > most {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil && len(data) > 0 && utf8.Valid(data) {
			see(path, string(data))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// judged is what the starter policy says of a request's act.
func judged(t *testing.T, set *policy.Set, request []byte) act.Decision {
	t.Helper()
	a, err := aos.ActionOf(request)
	if err != nil {
		t.Fatal(err)
	}
	return guard.Judge(a, nil, policy.Session{Known: true, Local: true}, set)
}

// asResult makes the step with which an agent reports what a tool gave.
func asResult(t *testing.T, text string) []byte {
	t.Helper()
	b, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "steps/toolCallResult",
		"params": &aos.ToolCallResultParams{
			Context: aos.StepContext{
				Agent:   aos.Agent{ID: "a", Name: "a", Version: "1", Instructions: "Help.", Provider: aos.AgentProvider{Name: "a", URL: "https://a.example"}},
				Session: aos.Session{ID: "s"}, TurnID: "t", StepID: "st", Timestamp: time.Now().UTC(),
			},
			ExecutionID: "x", Result: aos.ToolCallResult{Outputs: []aos.Part{aos.TextPart(text)}},
		},
	}, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// asRead is what Claude Code tells its hook when it has read a file.
func asRead(t *testing.T, path, text string) *hook.Event {
	t.Helper()
	b, err := json.Marshal(map[string]any{
		"session_id": "s", "transcript_path": "/tmp/t.jsonl", "cwd": "/work", "hook_event_name": "PostToolUse", "tool_name": "Read", "tool_use_id": "u",
		"tool_input":    map[string]any{"file_path": path},
		"tool_response": map[string]any{"type": "text", "file": map[string]any{"filePath": path, "content": text, "numLines": 1, "startLine": 1, "totalLines": 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	e, err := hook.Read("claude-code", "", b)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestOwnFiles: reeve can be developed under reeve. Whoever reads its files, by a step of
// AOS or by a hook, gets them as they are: its tests of what is masked, its pages about
// injections, its examples of keys.
func TestOwnFiles(t *testing.T) {
	set, err := policy.Load(policy.Starter()...)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	readable(t, ".", func(path, text string) {
		n++
		if d := judged(t, set, asResult(t, text)); d.Effect != act.Allow {
			t.Errorf("%s, as a result: %v: %s", path, d.Effect, d.Reasons[0].Message)
		}
		e := asRead(t, path, text)
		for _, request := range []func(turn, call string, now time.Time) ([]byte, error){e.Request, e.AsRetrieved} {
			body, err := request("t", "u", time.Now())
			if err != nil {
				t.Fatal(err)
			}
			d := judged(t, set, body)
			if out := string(e.Answer(hook.DecisionOf(&d, nil)).Stdout); d.Effect != act.Allow || strings.Contains(out, "updatedToolOutput") || strings.Contains(out, `"decision"`) {
				t.Errorf("%s, by the hook: %v: %s", path, d.Effect, d.Reasons[0].Message)
			}
		}
	})
	if n < 1000 {
		t.Errorf("only %d files", n)
	}
}

// TestOrdinarySource: of Go's own source, with its tests of cryptography and of addresses,
// hardly a file is changed when it is read.
func TestOrdinarySource(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads all of Go's source")
	}
	set, err := policy.Load(policy.Starter()...)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	var changed []string
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	readable(t, filepath.Join(strings.TrimSpace(string(root)), "src"), func(path, text string) {
		n++
		if d := judged(t, set, asResult(t, text)); d.Effect != act.Allow {
			changed = append(changed, path)
		}
	})
	if n < 1000 || len(changed)*1000 > 2*n {
		t.Errorf("%d of %d files are changed: %s", len(changed), n, strings.Join(changed, ", "))
	}
}
