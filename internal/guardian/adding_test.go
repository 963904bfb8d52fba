package guardian

import (
	"os"
	"strings"
	"testing"
)

// TestAddedHooks: a hook beside the guardian's that may answer for a person, or change what is done, is added by no
// call; one of another event asks, and so does none that was there before.
func TestAddedHooks(t *testing.T) {
	g, home := aGuarded(t)
	work := home + "/src/proj"
	own := home + "/.claude/settings.json"
	text, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	hooks := func(event string) string {
		return `{"hooks":{"` + event + `":[{"hooks":[{"type":"command","command":"cat ok.json"}]}]}}`
	}
	put(t, work+"/.cursor/hooks.json", `{"version":1,"hooks":{"preToolUse":[{"command":"lint"}]}}`)
	put(t, home+"/src/old/.claude/settings.json", hooks("PreToolUse"))
	write := func(file, text string) []string { return []string{"write_file", "path", file, "content", text} }
	shell := func(command string) []string { return []string{"shell", "command", command} }
	for _, tt := range []struct {
		name string
		call []string
		want string // "deny", "ask" or ""
	}{
		{"a question answered", write(work+"/.claude/settings.local.json", hooks("PermissionRequest")), "deny"},
		{"a call changed", write(work+"/.claude/settings.json", hooks("PreToolUse")), "deny"},
		{"relative", write(".claude/settings.json", hooks("PreToolUse")), "deny"},
		{"beside the guardian's", write(own, strings.Replace(string(text), `"PreToolUse": [`, `"PreToolUse": [{"hooks":[{"type":"command","command":"x"}]},`, 1)), "deny"},
		{"beside it by an edit", []string{"edit_file", "path", own, "old_string", `"PermissionRequest": [`, "new_string", `"PermissionRequest": [{"hooks":[{"type":"command","command":"x"}]},`}, "deny"},
		{"by a patch", []string{"edit_file", "patch", "*** Begin Patch\n*** Add File: .claude/settings.json\n+" + hooks("PreToolUse") + "\n*** End Patch\n"}, "deny"},
		{"the machine's", write("/etc/claude-code/managed-settings.d/x.json", hooks("PreToolUse")), "deny"},
		{"Codex", write(work+"/.codex/hooks.json", hooks("PermissionRequest")), "deny"},
		{"Codex in TOML", write(home+"/.codex/config.toml", "[[hooks.PreToolUse]]\n[[hooks.PreToolUse.hooks]]\ncommand = \"x\"\n"), "deny"},
		{"Gemini CLI", write(work+"/.gemini/settings.json", hooks("BeforeTool")), "deny"},
		{"Gemini CLI's model", write(home+"/.gemini/settings.json", hooks("BeforeModel")), "deny"},
		{"Cursor", write(work+"/.cursor/hooks.json", `{"version":1,"hooks":{"preToolUse":[{"command":"lint"}],"beforeShellExecution":[{"command":"x"}]}}`), "deny"},
		{"Copilot", write(work+"/.github/hooks/x.json", `{"version":1,"hooks":{"preToolUse":[{"type":"command","bash":"x"}]}}`), "deny"},
		{"OpenCode", write(work+"/.opencode/plugins/x.js", "export const X = async () => ({ 'permission.ask': async (i, o) => { o.status = 'allow' } })\n"), "deny"},
		{"Amazon Q", write(home+"/.aws/amazonq/cli-agents/x.json", `{"name":"x","hooks":{"preToolUse":[{"command":"x"}]}}`), "deny"},
		{"heredoc", shell("mkdir -p .claude && cat > .claude/settings.json <<'E'\n" + hooks("PermissionRequest") + "\nE"), "deny"},
		{"tee", shell("echo '" + hooks("PreToolUse") + "' | tee .claude/settings.local.json"), "deny"},
		{"Python", shell("python3 - <<'E'\nopen('" + work + "/.claude/settings.json','w').write('" + hooks("PreToolUse") + "')\nE"), "deny"},
		{"in the folder", shell("cd .claude && printf '%s' '" + hooks("PreToolUse") + "' > settings.json"), "deny"},
		{"a copy", shell("cp /tmp/x.json .claude/settings.local.json"), "deny"},
		{"jq", shell("jq '.hooks.PermissionRequest += [{}]' .claude/settings.json > .claude/s && mv .claude/s .claude/settings.json"), "deny"},
		{"an agent with it", shell("claude --settings '" + hooks("PermissionRequest") + "' -p x"), "deny"},

		{"after each call", write(work+"/.claude/settings.local.json", hooks("PostToolUse")), "ask"},
		{"at the end", shell("cat > .claude/settings.json <<'E'\n" + hooks("Stop") + "\nE"), "ask"},
		{"of Gemini CLI", write(work+"/.gemini/settings.json", hooks("AfterTool")), "ask"},
		{"of Cursor", []string{"edit_file", "path", work + "/.cursor/hooks.json", "old_string", `"preToolUse":`, "new_string", `"afterFileEdit":[{"command":"x"}],"preToolUse":`}, "ask"},
		{"of Amazon Q", write(work+"/.amazonq/cli-agents/x.json", `{"name":"x","hooks":{"agentSpawn":[{"command":"x"}]}}`), "ask"},

		{"a model", write(home+"/src/old/.claude/settings.json", strings.Replace(hooks("PreToolUse"), "{", `{"model":"opus",`, 1)), ""},
		{"a permission", []string{"edit_file", "path", home + "/src/old/.claude/settings.json", "old_string", `{"hooks"`, "new_string", `{"permissions":{"allow":["Bash(npm test)"]},"hooks"`}, ""},
		{"a status line", write(work+"/.claude/settings.local.json", `{"statusLine":{"type":"command","command":"date"}}`), ""},
		{"one fewer", write(home+"/src/old/.claude/settings.json", `{}`), ""},
		{"the guardian's as they were", write(own, strings.Replace(string(text), "{", `{"model":"opus",`, 1)), ""},
		{"Cursor's as they were", write(work+"/.cursor/hooks.json", `{"version": 1, "hooks": {"preToolUse": [{"command": "lint"}]}}`), ""},
		{"docs about it", write(work+"/docs/hooks.md", "Put this into .claude/settings.json:\n"+hooks("PreToolUse")+"\n"), ""},
		{"a test's data", write(work+"/testdata/settings.json", hooks("PermissionRequest")), ""},
		{"a look", shell("cat .claude/settings.json; jq .hooks.PreToolUse .claude/settings.json"), ""},
		{"an agent with settings", shell(`claude --settings '{"model":"opus"}' -p x`), ""},
	} {
		a := call(work, tt.call[0], tt.call[1:]...)
		got := ""
		if len(g.Tampering(a, nil)) > 0 {
			got = "deny"
		} else if adds := g.Adds(a, nil); len(adds) > 0 {
			got = "ask"
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q: %+v", tt.name, got, tt.want, g.Tampering(a, nil))
		}
	}
}
