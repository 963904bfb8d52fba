package hook

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/aos"
	"reeve.example/reeve/internal/rawjson"

	"github.com/google/go-cmp/cmp"
)

// Whatever an agent sends: no panic; what is read becomes a request that AOS
// takes, but for arguments that it refuses; a denied call never passes; and
// standard output is one JSON object or nothing.
func fuzz(f *testing.F, agent string) {
	for _, prefix := range []string{agent + "-", "invalid-"} {
		for _, v := range vectors(f, prefix) {
			f.Add([]byte(section(v, "input.json")), strings.TrimSpace(section(v, "event")))
		}
	}
	f.Fuzz(func(t *testing.T, input []byte, event string) {
		e, err := Read(agent, event, input)
		if err != nil {
			return
		}
		request, err := e.Request("turn", "call", time.Unix(1e9, 0))
		if err != nil {
			t.Fatalf("the event was taken, and cannot be asked about: %v", err)
		}
		if request != nil {
			if _, err := aos.ActionOf(request); err != nil && !strings.Contains(err.Error(), "Two inputs") && !strings.Contains(err.Error(), "pieces of text") {
				t.Fatalf("the request is not AOS: %v\n%s", err, request)
			}
		}
		for _, effect := range []act.Effect{act.Allow, act.Deny, act.Escalate, act.Modify} {
			a := e.Answer(decision(effect, request))
			if len(a.Stdout) > 0 {
				doc, err := rawjson.Parse(a.Stdout)
				if err != nil || doc.Root().Kind() != rawjson.Object {
					t.Fatalf("%s: the answer is no JSON object: %v\n%s", effect, err, a.Stdout)
				}
			}
			if e.Kind == Call && effect == act.Deny && a.Exit != 2 && !bytes.Contains(a.Stdout, []byte("deny")) {
				t.Fatalf("a denied call passes: %s", a.Stdout)
			}
		}
		if r := e.Refuse("x"); e.Kind == Call && r.Exit != 2 && !bytes.Contains(r.Stdout, []byte(`"deny"`)) {
			t.Fatal("a call that was not judged passes")
		}
	})
}

func FuzzClaudeCode(f *testing.F) { fuzz(f, "claude-code") }
func FuzzCodex(f *testing.F)      { fuzz(f, "codex") }
func FuzzGemini(f *testing.F)     { fuzz(f, "gemini") }
func FuzzCursor(f *testing.F)     { fuzz(f, "cursor") }
func FuzzCopilot(f *testing.F)    { fuzz(f, "copilot") }
func FuzzOpenCode(f *testing.F)   { fuzz(f, "opencode") }
func FuzzAmazonQ(f *testing.F)    { fuzz(f, "amazon-q") }

func FuzzReadDecision(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{"decision":"deny","message":"No.","reasonCode":["approval_required"],"data":{"decision_id":"0-1","approval":{"id":"x"}}}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal server error","data":{"reason":"No."}}}`))
	f.Add([]byte(`{"result":{"decision":"yes"}}`))
	f.Fuzz(func(t *testing.T, answer []byte) {
		d, err := ReadDecision(answer)
		if err == nil && d.Effect == act.Allow && !bytes.Contains(answer, []byte("allow")) && !bytes.Contains(answer, []byte(`\u`)) {
			t.Fatalf("nobody said allow: %s", answer)
		}
	})
}

func TestReadDecision(t *testing.T) {
	for _, c := range []struct {
		answer string
		want   *Decision
	}{
		{`{"result":{"decision":"allow","message":"Fine."}}`, &Decision{Effect: act.Allow, Message: "Fine."}},
		{
			`{"result":{"decision":"deny","message":"Held.","reasonCode":["approval_required","x"],"data":{"decision_id":"0-4","approval":{"id":"abc"}}}}`,
			&Decision{Effect: act.Escalate, Message: "Held.", Codes: []string{"approval_required", "x"}, ID: "0-4", Approval: "abc"},
		},
		{`{"result":{"decision":"maybe"}}`, nil},
		{`{"result":{}}`, nil},
		{`{"error":{"code":-32603,"message":"Internal server error"}}`, nil},
		{`{"error":null,"result":{"decision":"allow"}}`, nil},
		{`null`, nil},
		{``, nil},
	} {
		d, err := ReadDecision([]byte(c.answer))
		if (err != nil) != (c.want == nil) {
			t.Errorf("%s: %v", c.answer, err)
			continue
		}
		if diff := cmp.Diff(c.want, d); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.answer, diff)
		}
	}
}

// A changed request that does not fit the call is never taken for it.
func TestModifiedMustFit(t *testing.T) {
	e := event(t, `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"t","tool_input":{"command":"ls"}}`)
	for _, modified := range []string{
		``, `{}`,
		`{"params":{"toolCallRequest":{"toolId":"other","inputs":[{"name":"command","value":"x"}]}}}`,
		`{"params":{"toolCallRequest":{"toolId":"shell","inputs":[]}}}`,
		`{"params":{"toolCallRequest":{"toolId":"shell","inputs":[{"name":"cwd","value":"x"}]}}}`,
	} {
		a := e.Answer(&Decision{Effect: act.Modify, Message: "Changed.", Modified: []byte(modified)})
		if !bytes.Contains(a.Stdout, []byte(`"permissionDecision":"deny"`)) || bytes.Contains(a.Stdout, []byte("updatedInput")) {
			t.Errorf("%s: %s", modified, a.Stdout)
		}
	}
}

// A call without arguments has none that could be changed.
func TestNothingToModify(t *testing.T) {
	e := event(t, `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"TodoRead","tool_use_id":"t"}`)
	request, err := e.Request("t", "c", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if a := e.Answer(&Decision{Effect: act.Modify, Modified: request}); !bytes.Contains(a.Stdout, []byte(`"permissionDecision":"deny"`)) {
		t.Errorf("%s", a.Stdout)
	}
}

// What a rule replaces in what was made here, not sent, cannot reach the agent.
func TestMadeArgumentsCannotChange(t *testing.T) {
	e := event(t, `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"apply_patch","tool_use_id":"t","tool_input":{"command":"*** Add File: a\n+x\n"}}`)
	request, err := e.Request("t", "c", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Replace(request, []byte(`["a"]`), []byte(`["b"]`), 1)
	if bytes.Equal(request, changed) {
		t.Fatalf("the request lists no paths: %s", request)
	}
	if a := e.Answer(&Decision{Effect: act.Modify, Modified: changed}); !bytes.Contains(a.Stdout, []byte(`"deny"`)) {
		t.Errorf("%s", a.Stdout)
	}
}

// Of two arguments that would get one name, both keep their own.
func TestArgumentNamesStayApart(t *testing.T) {
	e := event(t, `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Read","tool_use_id":"t","tool_input":{"file_path":"/etc/shadow","Path":"a","filePath":"b"}}`)
	request, err := e.Request("t", "c", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	a, err := aos.ActionOf(request)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, arg := range a.Arguments {
		names = append(names, arg.Name)
	}
	if diff := cmp.Diff([]string{"file_path", "Path", "filePath"}, names); diff != "" {
		t.Error(diff)
	}
}

// What the agent's user agreed to in its window is judged by its texts, and a
// reason that those do not give still stands.
func TestCovers(t *testing.T) {
	result := &Decision{Effect: act.Deny, Codes: []string{"result.denied", "secret"}}
	if !result.Unanswered() {
		t.Error("the result of a call that was not allowed is not known")
	}
	if !(&Decision{Codes: []string{"secret"}}).Covers(result) {
		t.Error("the texts' reasons are the same, and do not count")
	}
	if (&Decision{}).Covers(result) {
		t.Error("a reason was dropped")
	}
}

func event(t testing.TB, input string) *Event {
	t.Helper()
	e, err := Read("claude-code", "", []byte(input))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestToolNames(t *testing.T) {
	for given, want := range map[string]Tool{
		"Bash":              {Given: "Bash", Name: Shell},
		"run_shell_command": {Given: "run_shell_command", Name: Shell},
		"execute_bash":      {Given: "execute_bash", Name: Shell},
		"MultiEdit":         {Given: "MultiEdit", Name: EditFile},
		"fs_write":          {Given: "fs_write", Name: EditFile},
		"view":              {Given: "view", Name: ReadFile},
		"google_web_search": {Given: "google_web_search", Name: WebSearch},
		"Task":              {Given: "Task", Name: Subagent},
		"mcp__files__read":  {Given: "mcp__files__read", Name: "read", Server: "files", MCP: true},
		"mcp__a__b__c":      {Given: "mcp__a__b__c", Name: "b__c", Server: "a", MCP: true},
		"@git/status":       {Given: "@git/status", Name: "status", Server: "git", MCP: true},
		"MCP:github:create": {Given: "MCP:github:create", Name: "create", Server: "github", MCP: true},
		"MCP:create":        {Given: "MCP:create", Name: "create", MCP: true},
		"mcp__":             {Given: "mcp__", Name: "mcp__"},
		"my_tool":           {Given: "my_tool", Name: "my_tool"},
	} {
		if diff := cmp.Diff(want, toolOf(given)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", given, diff)
		}
	}
}

func TestTrail(t *testing.T) {
	e := event(t, `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}`)
	other := event(t, `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"pwd"}}`)
	trail, err := OpenTrail(t.TempDir(), e)
	if err != nil {
		t.Fatal(err)
	}
	if turn, err := trail.Turn(); turn != "turn-0" || err != nil {
		t.Errorf("before any turn: %q, %v", turn, err)
	}
	began, err := trail.BeginTurn()
	if err != nil {
		t.Fatal(err)
	}
	if turn, err := trail.Turn(); turn != began || err != nil {
		t.Errorf("the turn is %q, not %q: %v", turn, began, err)
	}
	if call, err := trail.EndCall(e); call != "" || err != nil {
		t.Errorf("a result without a call: %q, %v", call, err)
	}
	want := map[string]bool{}
	for range 8 {
		call, err := trail.BeginCall(e)
		if err != nil {
			t.Fatal(err)
		}
		want[call] = true
	}
	// Results that come at once each answer a call of their own.
	var mu sync.Mutex
	var all sync.WaitGroup
	got := map[string]bool{}
	for range 8 {
		all.Go(func() {
			call, err := trail.EndCall(e)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			got[call] = true
		})
	}
	all.Wait()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if call, _ := trail.EndCall(other); call != "" {
		t.Errorf("another call's result has the name %q", call)
	}
	if _, asked := trail.Asked(e, "c 1\nask"); asked {
		t.Error("nobody was asked")
	}
	if err := trail.Ask(e, "c 1\nask", "id"); err != nil {
		t.Fatal(err)
	}
	if _, asked := trail.Asked(e, "c"); asked {
		t.Error("who was asked is not told apart")
	}
	if approval, asked := trail.Asked(e, "c 1\nask"); !asked || approval != "id" {
		t.Errorf("asked: %v, %q", asked, approval)
	}
	if approval, asked := trail.Asked(other, "c 1\nask"); !asked || approval != "" {
		t.Errorf("another call was made than the one that was shown, and it is said to be agreed to: %v, %q", asked, approval)
	}
}

// The agent asks its user of its own accord, and the result that follows says so: that of
// this call, in this turn, and none else.
func TestAskedOwn(t *testing.T) {
	for _, c := range []struct{ name, agent, asking, result, other string }{
		{"claude-code", "claude-code",
			`{"session_id":"s","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"make","description":"Build it"}}`,
			`{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Bash","tool_use_id":"t1","tool_input":{"command":"make"},"tool_response":{"stdout":"ok"}}`,
			`{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Bash","tool_use_id":"t2","tool_input":{"command":"make install"},"tool_response":{"stdout":"ok"}}`},
		{"codex", "codex",
			`{"session_id":"s","turn_id":"1","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"make","description":"May I build?"}}`,
			`{"session_id":"s","turn_id":"1","hook_event_name":"PostToolUse","tool_name":"Bash","tool_use_id":"t1","tool_input":{"command":"make"},"tool_response":"ok"}`,
			`{"session_id":"s","turn_id":"1","hook_event_name":"PostToolUse","tool_name":"Bash","tool_use_id":"t2","tool_input":{"command":"make install"},"tool_response":"ok"}`},
		{"gemini", "gemini",
			`{"session_id":"s","hook_event_name":"Notification","notification_type":"ToolPermission","message":"m","details":{"type":"exec","title":"Confirm","command":"make","rootCommand":"make"}}`,
			`{"session_id":"s","hook_event_name":"AfterTool","tool_name":"run_shell_command","tool_input":{"command":"make"},"tool_response":{"llmContent":"ok"}}`,
			`{"session_id":"s","hook_event_name":"AfterTool","tool_name":"run_shell_command","tool_input":{"command":"make install"},"tool_response":{"llmContent":"ok"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			var said []bool
			ask := func(_ context.Context, request []byte) (*Decision, error) {
				said = append(said, bytes.Contains(request, []byte(`"answered":"in the agent's own window"`)))
				return &Decision{Effect: act.Allow}, nil
			}
			tell := func(input string) {
				t.Helper()
				e, err := Read(c.agent, "", []byte(input))
				if err != nil {
					t.Fatal(err)
				}
				trail, err := OpenTrail(dir, e)
				if err != nil {
					t.Fatal(err)
				}
				if e.Kind == Result && e.CallID == "" {
					if _, err := trail.BeginCall(e); err != nil {
						t.Fatal(err)
					}
				}
				answer, err := Judge(t.Context(), e, trail, ask)
				if err != nil || strings.TrimSpace(string(answer.Stdout)) != "{}" || answer.Exit != 0 {
					t.Fatalf("%s: %+v %v", input, answer, err)
				}
			}
			tell(c.result)
			tell(c.asking)
			tell(c.other)
			tell(c.result)
			if diff := cmp.Diff([]bool{false, false, true}, said); diff != "" {
				t.Errorf("who asked its user (-want +got):\n%s", diff)
			}
		})
	}
}

// A trail that somebody else has written, or that has grown, does no harm.
func TestTrailHostile(t *testing.T) {
	e := event(t, `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}`)
	dir := t.TempDir()
	trail, err := OpenTrail(dir, e)
	if err != nil {
		t.Fatal(err)
	}
	write(t, trail.name, "turn\ncall\n\x00\xff\nend end\nask\n"+strings.Repeat("call x ", 1000))
	if turn, err := trail.Turn(); turn != "turn-0" || err != nil {
		t.Errorf("%q, %v", turn, err)
	}
	write(t, trail.name, strings.Repeat("x", trailMax+1))
	if _, err := trail.BeginTurn(); err == nil {
		t.Error("a trail grows without end")
	}
	if err := os.Remove(trail.name); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(trail.name, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := trail.Turn(); err == nil {
		t.Error("a folder is taken for a trail")
	}
	old := filepath.Join(dir, "old.trail")
	write(t, old, "")
	if err := os.Chtimes(old, time.Unix(0, 0), time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	trail.Tidy(time.Now())
	if _, err := os.Stat(old); err == nil {
		t.Error("an old trail stays")
	}
}

func TestInstall(t *testing.T) {
	others := map[string]string{
		"claude-code": "{\n\t\"model\": \"opus\",\n\t\"big\": 9007199254740993,\n\t\"hooks\": {\"PreToolUse\": [{\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"./mine.sh\"}]}], \"Stop\": []}\n}",
		"gemini":      "{\"theme\":\"dark\"}",
		"codex":       "\ufeff{\r\n  \"hooks\": {\"PreToolUse\": null, \"Mine\": 7}\r\n}\r\n",
		"cursor":      "{\n  \"version\": 1,\n  \"hooks\": {\"preToolUse\": [{\"command\": \"./mine.sh\"}]}\n}\n",
	}
	for _, agent := range Agents() {
		for _, before := range []string{"", others[agent]} {
			t.Run(fmt.Sprintf("%s/%d", agent, len(before)), func(t *testing.T) {
				in := &Installation{Agent: agent, Home: t.TempDir(), Command: []string{"/opt/it's reeve/reeve", "--url", "http://127.0.0.1:8080/"}}
				file, err := in.File()
				if err != nil {
					t.Fatal(err)
				}
				if before != "" {
					write(t, file, before)
				}
				install := func(want bool) string {
					t.Helper()
					if changed, err := in.Install(); err != nil || changed != want {
						t.Fatalf("changed %v, %v", changed, err)
					}
					return read(t, file)
				}
				now := install(true)
				if again := install(false); again != now {
					t.Errorf("the second time it is another:\n%s", again)
				}
				if before != "" {
					keeps(t, before, now)
				}
				if changed, err := in.Remove(); err != nil || !changed {
					t.Fatalf("not removed: %v", err)
				}
				if left := read(t, file); left != before {
					t.Errorf("left:\n%q\nwant:\n%q", left, before)
				}
				if left := read(t, file+backupSuffix); left != "" {
					t.Error("the copy stays")
				}
				if changed, err := in.Remove(); err != nil || changed {
					t.Errorf("removed twice: %v", err)
				}
			})
		}
	}
}

// keeps checks that everything else in a file is as it was.
func keeps(t *testing.T, before, now string) {
	t.Helper()
	old, err := rawjson.Parse(bytes.TrimPrefix([]byte(before), mark))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := rawjson.Parse(bytes.TrimPrefix([]byte(now), mark))
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range old.Root().Members() {
		if name != "hooks" && !bytes.Equal(doc.Root().Get(name).Raw(), v.Raw()) {
			t.Errorf("%s is %s now", name, doc.Root().Get(name).Raw())
		}
	}
	if strings.Contains(before, "mine.sh") && !strings.Contains(now, "mine.sh") {
		t.Errorf("another's hook is gone:\n%s", now)
	}
}

// What somebody changed after the installation stays when it is undone.
func TestUninstallKeepsLaterChanges(t *testing.T) {
	in := &Installation{Agent: "claude-code", Home: t.TempDir(), Command: []string{"/opt/reeve"}}
	file, err := in.File()
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, `{"model":"opus"}`)
	if _, err := in.Install(); err != nil {
		t.Fatal(err)
	}
	write(t, file, strings.Replace(read(t, file), `"opus"`, `"sonnet"`, 1))
	if _, err := in.Remove(); err != nil {
		t.Fatal(err)
	}
	if got := read(t, file); !sameJSON([]byte(got), []byte(`{"model":"sonnet"}`)) {
		t.Errorf("left: %s", got)
	}
}

func TestInstallRefuses(t *testing.T) {
	for agent, text := range map[string]string{
		"gemini":      "{ // a comment\n}",
		"claude-code": `{"hooks": []}`,
		"codex":       `[]`,
		"copilot":     `{"mine": true}`,
		"opencode":    "// mine",
		"cursor":      `{"hooks": {}, "hooks": {}}`,
	} {
		in := &Installation{Agent: agent, Home: t.TempDir(), Command: []string{"/opt/reeve"}}
		file, err := in.File()
		if err != nil {
			t.Fatal(err)
		}
		write(t, file, text)
		if _, err := in.Install(); err == nil {
			t.Errorf("%s: %s was edited", agent, text)
		}
		if got := read(t, file); got != text {
			t.Errorf("%s: it is %s now", agent, got)
		}
	}
}

// TestInstallOdd: configurations that are links, that somebody else writes at the
// same time, or that say that no hook runs.
func TestInstallOdd(t *testing.T) {
	home := t.TempDir()
	in := &Installation{Agent: "claude-code", Home: home, Command: []string{"/opt/reeve"}}
	file, err := in.File()
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), "settings.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, file); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Install(); err == nil || !strings.Contains(err.Error(), "leads to no file") {
		t.Errorf("a link to nothing: %v", err)
	}
	const before = `{"disableAllHooks": true}`
	write(t, elsewhere, before)
	if err := os.Chmod(elsewhere, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Install(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(file); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is none any more: %v", err)
	}
	if info, err := os.Stat(elsewhere); err != nil || info.Mode().Perm() != 0o640 || !strings.Contains(read(t, elsewhere), "hook --agent claude-code") {
		t.Errorf("%v, %v, %s", info.Mode(), err, read(t, elsewhere))
	}
	if advice := strings.Join(in.Advice(), "\n"); !strings.Contains(advice, "disableAllHooks") {
		t.Error(advice)
	}
	if err := (&Installation{}).replaceSame(elsewhere, []byte(before), []byte("{}")); err == nil || !strings.Contains(err.Error(), "changed meanwhile") {
		t.Errorf("changed meanwhile: %v", err)
	}
	if _, err := in.Remove(); err != nil || read(t, file) != before {
		t.Errorf("%v, %s", err, read(t, file))
	}
	// Several at once: one of them has written it, or says that another has.
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			mine := *in
			if _, err := mine.Install(); err != nil && !strings.Contains(err.Error(), "changed meanwhile") {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if changed, err := in.Install(); err != nil || changed {
		t.Errorf("%v, %v", changed, err)
	}
	if _, err := in.Remove(); err != nil || read(t, file) != before {
		t.Errorf("%v, %s", err, read(t, file))
	}
	// A folder that cannot be written.
	if os.Geteuid() != 0 {
		if err := os.Chmod(filepath.Dir(elsewhere), 0o500); err != nil {
			t.Fatal(err)
		}
		if _, err := in.Install(); err == nil || read(t, elsewhere) != before {
			t.Errorf("%v", err)
		}
		os.Chmod(filepath.Dir(elsewhere), 0o700)
	}
	write(t, file, `{"hooks": {"PreToolUse": {"mine": 1}}}`)
	if _, err := in.Install(); err == nil || !strings.Contains(err.Error(), "PreToolUse are no list") {
		t.Errorf("%v", err)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// read returns a file's text, empty if there is none.
func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}
