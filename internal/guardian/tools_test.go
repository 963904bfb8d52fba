package guardian

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"reeve.example/reeve/act"
)

// step is a tool's call as a step of AOS has it: each value lies under "value".
func step(cwd, tool string, args ...string) *act.Action {
	a := call(cwd, tool, args...)
	input := map[string]int{}
	for i := range a.Content {
		arg, below, _ := strings.Cut(a.Content[i].Arg, "/")
		if _, ok := input[arg]; !ok {
			input[arg] = len(input)
		}
		a.Content[i].Arg = arg
		a.Content[i].Pointer = fmt.Sprintf("/params/toolCallRequest/inputs/%d/value", input[arg])
		if below != "" {
			a.Content[i].Pointer += "/" + below
		}
	}
	return a
}

// TestTamperingByTools: tools for files, as hooks, MCP servers and A2G agents call them.
func TestTamperingByTools(t *testing.T) {
	g, home := aGuarded(t)
	work := home + "/src/proj"
	settings := home + "/.claude/settings.json"
	text, err := os.ReadFile(settings)
	if err != nil {
		t.Fatal(err)
	}
	permits := strings.Replace(string(text), "{", `{"permissions": {"allow": ["Bash(ls)"]},`, 1)
	first, rest, _ := strings.Cut(string(text), "\n")
	patch := func(body string) string { return "*** Begin Patch\n" + body + "*** End Patch\n" }
	remove := "*** Update File: " + settings + "\n@@\n-" + strings.ReplaceAll(strings.TrimSuffix(rest, "\n"), "\n", "\n-") + "\n"
	// The first two lines together, since "{" stands in it more than once.
	second, _, _ := strings.Cut(rest, "\n")
	added := "*** Update File: " + settings + "\n@@\n " + first + "\n+  \"permissions\": {},\n " + second + "\n"

	for _, tt := range []struct {
		name  string
		tool  string
		args  []string
		stops bool
	}{
		{"the whole file without hooks", "write_file", []string{"path", settings, "content", "{}"}, true},
		{"the whole file with them", "write_file", []string{"path", settings, "content", permits}, false},
		{"hooks switched off for a repository", "write_file", []string{"path", work + "/.claude/settings.local.json", "content", `{"disableAllHooks": true}`}, true},
		{"the same, relative", "write_file", []string{"path", ".claude/settings.local.json", "content", `{"disableAllHooks": true}`}, true},
		{"a permission for a repository", "write_file", []string{"path", work + "/.claude/settings.json", "content", `{"permissions": {"allow": ["Bash(go test:*)"]}}`}, false},
		{"an edit that adds a permission", "edit_file", []string{"path", settings, "old", first + "\n" + second, "new", first + "\n  \"permissions\": {},\n" + second}, false},
		{"an edit that renames an event", "edit_file", []string{"path", settings, "old", "PreToolUse", "new", "PreToolUsed"}, true},
		{"edits, of which the second does", "edit_file", []string{"path", settings, "edits/0/old_string", first + "\n" + second, "edits/0/new_string", first + "\n \"a\": 1,\n" + second, "edits/1/old_string", "PreToolUse", "edits/1/new_string", "X"}, true},
		{"edits, of which none does", "edit_file", []string{"path", settings, "edits/0/old_string", first + "\n" + second, "edits/0/new_string", first + "\n \"a\": 1,\n" + second, "edits/1/old_string", `"a": 1`, "edits/1/new_string", `"a": 2`}, false},
		{"an edit of what is not there", "edit_file", []string{"path", settings, "old", "not there", "new", "x"}, true},
		{"a deletion", "delete_file", []string{"path", settings}, true},
		{"a move", "move_file", []string{"source", settings, "destination", "/tmp/x"}, true},
		{"a folder's move", "move_file", []string{"source", home + "/.claude", "destination", "/tmp/x"}, true},

		{"a patch that deletes them", "edit_file", []string{"patch", patch("*** Delete File: " + settings + "\n")}, true},
		{"a patch that deletes another file", "edit_file", []string{"patch", patch(added + "*** Delete File: old.py\n"), "paths", settings}, false},
		{"a patch that deletes another file first", "edit_file", []string{"patch", patch("*** Delete File: old.py\n" + added)}, false},
		{"a patch that takes them away beside another's deletion", "edit_file", []string{"patch", patch("*** Delete File: old.py\n" + remove)}, true},
		{"the same in another order", "edit_file", []string{"patch", patch(remove + "*** Delete File: old.py\n"), "paths", settings}, true},
		{"a patch that moves them away", "edit_file", []string{"patch", patch("*** Update File: " + settings + "\n*** Move to: /tmp/x\n@@\n a\n")}, true},
		{"a patch that moves something there", "edit_file", []string{"patch", patch("*** Update File: x.json\n*** Move to: " + settings + "\n@@\n a\n")}, true},
		{"a patch that adds settings without hooks", "edit_file", []string{"patch", patch("*** Add File: .claude/settings.json\n+{\"disableAllHooks\": true}\n")}, true},
		{"a patch that adds ordinary settings", "edit_file", []string{"patch", patch("*** Add File: .claude/settings.json\n+{\"model\": \"opus\"}\n*** Delete File: a.py\n")}, false},
		{"a diff that deletes them", "apply_patch", []string{"patch", "--- " + settings + "\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"}, true},
		{"a diff of other files", "apply_patch", []string{"patch", "--- a/x.go\n+++ b/x.go\n@@ -1 +1 @@\n-x\n+y\n--- a/y.go\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"}, false},
		{"a diff of a name that the argument does not have", "apply_patch", []string{"path", settings, "patch", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-x\n+y\n--- a/y\n+++ b/y\n"}, true},
		{"the policy in a patch", "edit_file", []string{"patch", patch("*** Delete File: " + home + "/.config/reeve/policy/mine.yaml\n")}, true},

		{"the seed", "read_file", []string{"path", home + "/.config/reeve/data/seed"}, true},
		{"the seed by its folder's link", "read_text_file", []string{"path", home + "/link/data/seed"}, true},
		{"the seed among many", "read_multiple_files", []string{"paths/0", work + "/a", "paths/1", home + "/.config/reeve/data/seed"}, true},
		{"the data folder's list", "list_directory", []string{"path", home + "/.config/reeve/data"}, true},
		{"the policy read", "read_file", []string{"path", home + "/.config/reeve/policy/mine.yaml"}, false},
		{"the policy written", "write_file", []string{"path", home + "/.config/reeve/policy/mine.yaml", "content", "x"}, true},
		{"a policy beside it", "create_file", []string{"path", home + "/.config/reeve/policy/open.yaml", "content", "x"}, true},
		{"the program", "write_file", []string{"path", home + "/bin/reeve-hook", "content", "x"}, true},
		{"a notebook in the policy's place", "edit_file", []string{"notebook_path", home + "/.config/reeve/policy/mine.yaml", "new_source", "x"}, true},
		{"a workflow's command", "command_executor", []string{"command/0", "reeve", "command/1", "approvals", "command/2", "approve", "command/3", "x"}, true},
		{"a workflow's other command", "command_executor", []string{"command/0", "go", "command/1", "test", "command/2", "./..."}, false},

		{"a task that speaks of all that", "subagent", []string{"prompt", "Find where approvals are documented, and read ~/.claude/settings.json", "description", "look"}, false},
		{"a search of the web for it", "web_search", []string{"query", "what is in ~/.claude/settings.json"}, false},
		{"an issue about it", "create_issue", []string{"title", "the file .claude/settings.json", "body", "When I read `.claude/settings.json`, it is empty."}, false},
		{"docs about it", "write_file", []string{"path", work + "/docs/a.md", "content", "Run `reeve approvals approve ID` at a terminal.\nNever rm -rf ~/.config/reeve.\n"}, false},
	} {
		for door, make := range map[string]func(string, string, ...string) *act.Action{"mcp": call, "aos": step} {
			if r := g.Tampering(make(work, tt.tool, tt.args...), nil); (len(r) > 0) != tt.stops {
				t.Errorf("%s (%s): stopped %v, want %v: %+v", tt.name, door, len(r) > 0, tt.stops, r)
			}
		}
	}
}
