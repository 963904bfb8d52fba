package hook

import (
	"slices"
	"testing"
)

// TestAdds: a hook that was there before is not added, one that is changed is, and which events decide is known of
// every agent.
func TestAdds(t *testing.T) {
	const lint = `{"hooks":{"PreToolUse":[{"matcher":"Edit","hooks":[{"type":"command","command":"lint"}]}]}}`
	for _, tt := range []struct {
		name, before, after string
		adds                []string
	}{
		{"a first hook", "", lint, []string{"PreToolUse"}},
		{"a first hook in an empty file", " \n", lint, []string{"PreToolUse"}},
		{"one of another event", lint, `{"hooks":{"PreToolUse":[{"matcher":"Edit","hooks":[{"type":"command","command":"lint"}]}],"Stop":[{"hooks":[{"type":"command","command":"x"}]}]}}`, []string{"Stop"}},
		{"one beside another in a group", lint, `{"hooks":{"PreToolUse":[{"matcher":"Edit","hooks":[{"type":"command","command":"lint"},{"type":"prompt","prompt":"x"}]}]}}`, []string{"PreToolUse"}},
		{"for other tools", lint, `{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"lint"}]}]}}`, []string{"PreToolUse"}},
		{"another command", lint, `{"hooks":{"PreToolUse":[{"matcher":"Edit","hooks":[{"type":"command","command":"x"}]}]}}`, []string{"PreToolUse"}},
		{"twice", lint, `{"hooks":{"PreToolUse":[{"matcher":"Edit","hooks":[{"type":"command","command":"lint"},{"type":"command","command":"lint"}]}]}}`, []string{"PreToolUse"}},
		{"an escaped name", "", `{"hooks":{"Pre\u0054oolUse":[{"hooks":[{"command":"x"}]}]}}`, []string{"PreToolUse"}},
		{"of Cursor", `{"version":1}`, `{"version":1,"hooks":{"beforeShellExecution":[{"command":"x"}]}}`, []string{"beforeShellExecution"}},
		{"with a comment", "{}", "{ // x\n\"hooks\":{\"BeforeTool\":[{\"hooks\":[{\"command\":\"x\"}]}]}}", []string{"BeforeTool"}},
		{"of Codex in TOML", "model = \"x\"\n", "model = \"x\"\n[[hooks.PermissionRequest]]\n[[hooks.PermissionRequest.hooks]]\ncommand = \"x\"\n", []string{"PermissionRequest"}},
		{"of another event in TOML", "", "[[hooks.Stop]]\n", []string{"Stop"}},
		{"a plugin", "", "export const X = async () => ({ \"tool.execute.before\": async (i, o) => { o.args.command = 'x' } })", []string{"tool.execute.before"}},
		{"a plugin that answers", "", "await client.postSessionIdPermissionsPermissionId({ body: { response: 'always' } })", []string{"permission.ask"}},

		{"the same", lint, lint, nil},
		{"another form", lint, `{"hooks": {"PreToolUse": [ {"hooks": [{"command": "lint", "type": "command"}], "matcher": "Edit"} ]}, "model": "opus"}`, nil},
		{"groups apart", `{"hooks":{"Stop":[{"hooks":[{"command":"a"},{"command":"b"}]}]}}`, `{"hooks":{"Stop":[{"hooks":[{"command":"b"}]},{"hooks":[{"command":"a"}]}]}}`, nil},
		{"fewer", lint, "{}", nil},
		{"none", lint, "", nil},
		{"settings beside", "{}", `{"model":"opus","permissions":{"allow":["Bash(ls)"]},"statusLine":{"type":"command","command":"x"}}`, nil},
		{"switched off", `{}`, `{"hooks":{"disabled":["lint"]}}`, nil},
		{"spoken of", "", `{"permissions":{"deny":["PreToolUse"]}}`, nil},
		{"TOML beside", "[[hooks.PreToolUse]]\ncommand = \"x\"\n", "model = \"y\"\n[[hooks.PreToolUse]]\ncommand = \"x\"\n", nil},
	} {
		if got := Adds([]byte(tt.before), []byte(tt.after)); !slices.Equal(got, tt.adds) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.adds)
		}
	}
	for _, event := range []string{"PreToolUse", "preToolUse", "PermissionRequest", "permissionRequest", "BeforeTool", "BeforeModel", "beforeShellExecution", "beforeMCPExecution", "permission.ask", "tool.execute.before"} {
		if !Decides(event) {
			t.Errorf("%s does not decide", event)
		}
	}
	for _, event := range []string{"PostToolUse", "Stop", "SessionStart", "UserPromptSubmit", "Notification", "AfterTool", "afterFileEdit", "agentSpawn", ""} {
		if Decides(event) {
			t.Errorf("%s decides", event)
		}
	}
}
