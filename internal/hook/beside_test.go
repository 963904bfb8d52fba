package hook

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/rawjson"
)

// claudeEvent is an event of Claude Code's, as it sends them.
func claudeEvent(t *testing.T, cwd, name string, more ...string) *Event {
	t.Helper()
	in := obj(nil).str("session_id", "s").str("cwd", cwd).str("hook_event_name", name)
	for i := 0; i+1 < len(more); i += 2 {
		if strings.HasPrefix(more[i+1], "{") {
			in = in.raw(more[i], []byte(more[i+1]))
		} else {
			in = in.str(more[i], more[i+1])
		}
	}
	e, err := Read("claude-code", "", in.end())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// However a prompt names a file with @, its content is judged with it.
func TestReadsWhatAPromptNames(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	dir := t.TempDir()
	for _, name := range []string{"plain", "notes.txt", "two words.txt", "deep/er.md", "a,b", "naïve.txt", "x-y_z.go", "wide name"} {
		writeFile(t, filepath.Join(dir, name), "content of "+name)
	}
	writeFile(t, filepath.Join(home, "own.txt"), "content of own.txt")
	for prompt, want := range map[string]string{
		"look at @plain": "plain", "@plain": "plain", "look at (@notes.txt)": "notes.txt", "at @notes.txt, please": "notes.txt",
		"at @notes.txt.": "notes.txt", "at @notes.txt#L3-9 now": "notes.txt", `@"two words.txt" is it`: "two words.txt", `see @two\ words.txt`: "two words.txt",
		"@deep/er.md!": "deep/er.md", "@./deep/../deep/er.md": "deep/er.md", "see x@plain": "plain", "a @a,b c": "a,b", "@naïve.txt": "naïve.txt",
		"@x-y_z.go:12": "x-y_z.go", "see:@plain\u00a0now": "plain", "line\n\t@plain\r\nnext": "plain", "@~/own.txt": "own.txt",
		"@" + dir + "/plain": "plain", "@@plain": "plain", "@'wide name'": "wide name", "＠ and @plain\ufeff": "plain", "@nothing @plain": "plain",
	} {
		e := claudeEvent(t, dir, "UserPromptSubmit", "prompt", prompt)
		if !slices.ContainsFunc(e.beside.texts, func(b attachment) bool { return b.text == "content of "+want }) {
			t.Errorf("%q: %s is not judged: %v", prompt, want, e.beside.texts)
		}
	}
	for _, prompt := range []string{"write to me@example.org", "nothing here", "@", "a @ b", "@missing", `@"`} {
		if e := claudeEvent(t, dir, "UserPromptSubmit", "prompt", prompt); len(e.beside.texts) > 0 {
			t.Errorf("%q: something is read: %v", prompt, e.beside.texts)
		}
	}
	if e := claudeEvent(t, dir, "UserPromptSubmit", "prompt", "see @docs:file:///etc/x"); len(e.beside.texts) == 0 {
		t.Error("a resource of a server is not recorded")
	}
	writeFile(t, filepath.Join(dir, "large"), strings.Repeat("x", maxBeside+1))
	if _, err := Read("claude-code", "", obj(nil).str("session_id", "s").str("cwd", dir).str("hook_event_name", "UserPromptSubmit").str("prompt", "@large").end()); err == nil {
		t.Error("a file that is too large to be judged passes")
	}
	if _, err := Read("claude-code", "", obj(nil).str("session_id", "s").str("cwd", dir).str("hook_event_name", "UserPromptSubmit").str("prompt", strings.Repeat("@plain ", maxMentions+1)).end()); err == nil {
		t.Error("any number of names passes")
	}
}

// A skill and a command run what stands in their text: it is judged as calls of the shell,
// with what is put into it.
func TestJudgesWhatASkillRuns(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, ".claude/skills/sk/SKILL.md"), "---\nname: sk\n---\nread @note.txt\n!`echo $ARGUMENTS`\n```!\nls -l\n```\n")
	writeFile(t, filepath.Join(dir, ".claude/commands/group/cmd.md"), "!`whoami`\n")
	writeFile(t, filepath.Join(dir, "below/note.txt"), "of below")
	writeFile(t, filepath.Join(dir, "note.txt"), "of the folder")
	for name, e := range map[string]*Event{
		"a skill":                   claudeEvent(t, dir, "PreToolUse", "tool_name", "Skill", "tool_input", `{"skill":"sk","args":"forbidden"}`, "tool_use_id", "1"),
		"a prompt":                  claudeEvent(t, dir, "UserPromptSubmit", "prompt", "/sk forbidden"),
		"a skill of a folder above": claudeEvent(t, filepath.Join(dir, "below"), "PreToolUse", "tool_name", "Skill", "tool_input", `{"skill":"sk","args":"forbidden"}`, "tool_use_id", "1"),
	} {
		if len(e.beside.commands) != 2 || e.beside.commands[0] != "echo forbidden" || strings.TrimSpace(e.beside.commands[1]) != "ls -l" {
			t.Errorf("%s: %q", name, e.beside.commands)
		}
		if !slices.ContainsFunc(e.beside.texts, func(b attachment) bool { return strings.HasPrefix(b.text, "of ") }) {
			t.Errorf("%s: what it names is not read: %v", name, e.beside.texts)
		}
		var asked []string
		answer, err := Judge(t.Context(), e, openTrail(t, e), func(_ context.Context, request []byte) (*Decision, error) {
			doc, err := rawjson.Parse(request)
			if err != nil {
				t.Fatal(err)
			}
			asked = append(asked, doc.Root().Get("method").Text())
			if strings.Contains(string(request), "echo forbidden") {
				return &Decision{Effect: act.Deny, Message: "That word is not to be said."}, nil
			}
			return &Decision{Effect: act.Allow}, nil
		})
		if err != nil || !strings.Contains(string(answer.Stdout), "That word is not to be said.") || strings.Contains(string(answer.Stdout), `"allow"`) {
			t.Errorf("%s: %v %s, after %v", name, err, answer.Stdout, asked)
		}
	}
	if e := claudeEvent(t, dir, "UserPromptSubmit", "prompt", "/group:cmd"); len(e.beside.commands) != 1 {
		t.Error("a command of a group is not found")
	}
	if e := claudeEvent(t, dir, "UserPromptSubmit", "prompt", "/../../etc/x"); len(e.beside.texts) != 0 {
		t.Error("a name leads out of the folder")
	}
}

func openTrail(t *testing.T, e *Event) *Trail {
	t.Helper()
	trail, err := OpenTrail(t.TempDir(), e)
	if err != nil {
		t.Fatal(err)
	}
	return trail
}

// What must not be read as it is blocks the prompt that names it, also where it could be
// masked in a result; of what the user said and what was read each is judged as what it is.
func TestContentsOfAPromptAreNoWordsOfTheUser(t *testing.T) {
	for agent, input := range map[string]string{
		"gemini":   `{"session_id":"s","cwd":"/","hook_event_name":"BeforeAgent","prompt":"see @x\n--- Content from referenced files ---\nContent from @x:\nSECRET\n--- End of content ---"}`,
		"opencode": `{"event":"chat.message","sessionID":"s","text":"see @x","reads":["SECRET"]}`,
	} {
		e, err := Read(agent, "", []byte(input))
		if err != nil {
			t.Fatal(err)
		}
		var asked []string
		answer, err := Judge(t.Context(), e, openTrail(t, e), func(_ context.Context, request []byte) (*Decision, error) {
			doc, err := rawjson.Parse(request)
			if err != nil {
				t.Fatal(err)
			}
			asked = append(asked, doc.Root().Get("method").Text())
			if !strings.Contains(string(request), "SECRET") {
				return &Decision{Effect: act.Allow}, nil
			}
			return decision(act.Modify, request), nil
		})
		if err != nil || !slices.Equal(asked, []string{"steps/message", "steps/knowledgeRetrieval"}) || !strings.Contains(string(answer.Stdout), "have it read with a tool") {
			t.Errorf("%s: %v, asked %v, answered %s", agent, err, asked, answer.Stdout)
		}
	}
}

// A file of instructions is judged when the agent tells of it; it cannot be held back.
func TestInstructions(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "CLAUDE.md"), "do it")
	e := claudeEvent(t, dir, "InstructionsLoaded", "file_path", filepath.Join(dir, "CLAUDE.md"))
	var got string
	answer, err := Judge(t.Context(), e, openTrail(t, e), func(_ context.Context, request []byte) (*Decision, error) {
		got = string(request)
		return &Decision{Effect: act.Deny, Message: "no"}, nil
	})
	if err != nil || answer.Exit != 0 || !strings.Contains(answer.Stderr, "no") || !strings.Contains(got, "do it") || !strings.Contains(got, "steps/knowledgeRetrieval") {
		t.Errorf("%v %+v %s", err, answer, got)
	}
}

// What a call has given up, by a new prompt or a lost result, is no later call's: each result
// goes to the newest like call of its own turn.
func TestResultsOfCancelledCalls(t *testing.T) {
	read := func(input string) *Event {
		e, err := Read("gemini", "", []byte(input))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	const tool = `"session_id":"s","cwd":"/","tool_name":"run_shell_command","tool_input":{"command":"ls"}`
	prompt, call := read(`{"session_id":"s","cwd":"/","hook_event_name":"BeforeAgent","prompt":"x"}`), read(`{`+tool+`,"hook_event_name":"BeforeTool"}`)
	result := read(`{` + tool + `,"hook_event_name":"AfterTool","tool_response":{"llmContent":"x"}}`)
	trail := openTrail(t, call)
	begin := func(e *Event) string {
		_, id, err := trail.names(e)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	begin(prompt)
	begin(call) // cancelled: its result never comes
	begin(prompt)
	if _, _, err := trail.names(result); err == nil {
		t.Error("a result of a turn that was given up is taken for one of this")
	}
	begin(call) // its result is lost
	if second := begin(call); begin(result) != second {
		t.Error("a result is given to a call whose own was lost")
	}
}

// An event of Copilot's that tells of a shell in the background says that its output was not seen.
func TestCopilotNotifications(t *testing.T) {
	for kind, want := range map[string]Kind{"shell_completed": Loaded, "shell_detached_completed": Loaded, "agent_idle": Ignored} {
		e, err := Read("copilot", "notification", []byte(`{"sessionId":"s","cwd":"/","message":"Shell command \"x\" has completed.","hook_event_name":"Notification","notification_type":"`+kind+`"}`))
		if err != nil || e.Kind != want {
			t.Errorf("%s: %v %v", kind, err, e)
		}
	}
	dir := t.TempDir()
	const earlier = `{"type":"assistant.message","data":{"content":"earlier"}}` + "\n" + `{"type":"hook.start","data":{"hookType":"agentStop"}}` + "\n" + `{"type":"user.message","data":{"content":"go on"}}` + "\n"
	writeFile(t, filepath.Join(dir, "events.jsonl"), "part of a line\n"+earlier)
	go func() { // it is written behind the event
		time.Sleep(100 * time.Millisecond)
		writeFile(t, filepath.Join(dir, "events.jsonl"), earlier+`{"type":"assistant.message","data":{"content":"finished"}}`+"\n"+
			`{"type":"assistant.message","data":{"content":"a child's","parentToolCallId":"x"}}`+"\n"+`{"type":"hook.start","data":{"hookType":"agentStop"}}`+"\n")
	}()
	e, err := Read("copilot", "agentStop", obj(nil).str("sessionId", "s").str("transcriptPath", filepath.Join(dir, "events.jsonl")).end())
	if err != nil || len(e.texts) != 1 || e.texts[0].text != "finished" {
		t.Errorf("%v %+v", err, e)
	}
	writeFile(t, filepath.Join(dir, "events.jsonl"), earlier) // and never gets there
	e, err = Read("copilot", "agentStop", obj(nil).str("sessionId", "s").str("transcriptPath", filepath.Join(dir, "events.jsonl")).end())
	if err != nil || len(e.texts) != 1 || !strings.Contains(e.texts[0].text, "not seen") {
		t.Errorf("%v %+v", err, e)
	}
}

// TestSkillsByWhateverName: what a skill or command runs is found by its folder, its file,
// the name at its head, whatever their case, and with the hooks that it brings along.
func TestSkillsByWhateverName(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", filepath.Join(dir, "home"))
	const runs = "---\ndescription: d\nname: \"Other-Name\"\n---\n!`echo told`\n"
	writeFile(t, filepath.Join(dir, ".claude/skills/folder/SKILL.md"), runs)
	writeFile(t, filepath.Join(dir, ".claude/skills/small/skill.md"), "!`echo told`\n")
	writeFile(t, filepath.Join(dir, ".claude/commands/ns/deep/cmd.md"), "!`echo told`\n")
	writeFile(t, filepath.Join(dir, ".claude/commands/headed.md"), "---\nname: called\n---\n!`echo told`\n")
	writeFile(t, filepath.Join(dir, "elsewhere/SKILL.md"), "!`echo told`\n")
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(dir, ".claude/skills/linked")); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, ".claude/skills/hooked/SKILL.md"), "---\nname: hooked\nhooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - type: command\n          command: echo told\n          timeout: 5\n  Stop: [{hooks: [{type: command, command: 'echo told'}]}]\n  PostToolUse:\n    - hooks:\n        - type: command\n          command: |\n            echo told\n            echo more\n---\nhi\n")
	for input, n := range map[string]int{
		`{"skill":"folder"}`: 1, `{"skill":"FOLDER"}`: 1, `{"skill":"Other-Name"}`: 1, `{"skill":"other-name"}`: 1, `{"skill":"/other-name"}`: 1,
		`{"skill":"small"}`: 1, `{"skill":"ns:deep:cmd"}`: 1, `{"skill":"cmd"}`: 1, `{"command":"/ns:deep:cmd with words"}`: 1, `{"skill":"called"}`: 1,
		`{"skill":"linked"}`: 1, `{"skill":"hooked"}`: 3, `{"skill":"none"}`: 0, `{"skill":"../folder"}`: 0, `{"skill":""}`: 0,
	} {
		for _, tool := range []string{"Skill", "SlashCommand"} {
			e := claudeEvent(t, dir, "PreToolUse", "tool_name", tool, "tool_input", input, "tool_use_id", "1")
			if got := e.beside.commands; len(got) != n || n > 0 && !strings.Contains(got[0], "echo told") {
				t.Errorf("%s %s: %q, want %d", tool, input, got, n)
			}
		}
	}
}
