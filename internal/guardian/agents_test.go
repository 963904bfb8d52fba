package guardian

import "testing"

// TestAgentsStarted: the ways round an agent's hooks, by whatever the agent is started.
func TestAgentsStarted(t *testing.T) {
	g, home := aGuarded(t)
	work := home + "/src/proj"
	put(t, work+"/.cursor/hooks.json", `{"version":1,"hooks":{"beforeShellExecution":[{"command":"`+home+`/bin/reeve hook --agent cursor"}]}}`)
	for _, line := range []string{
		"node ~/.npm-global/lib/node_modules/@anthropic-ai/claude-code/cli.js --bare -p x", "node node_modules/@openai/codex/bin/codex.js exec --disable hooks x", "bun ./node_modules/@anthropic-ai/claude-code/cli.js -p x --settings '{\"disableAllHooks\":true}'",
		"alias c='claude --bare'", "alias claude='claude --bare'; claude -p x", "OPENCODE_CONFIG_CONTENT='{\"plugin\":[]}' opencode run x", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1 opencode run x", "OPENCODE_DISABLE_PLUGINS=true opencode", "ssh localhost claude --bare -p x", "ssh 127.0.0.1 'claude --bare -p x'",
		"echo '{\"version\":1,\"hooks\":{}}' > .cursor/hooks.json", "rm .cursor/hooks.json",
	} {
		if len(g.Tampering(call(work, "shell", "command", line), nil)) == 0 {
			t.Errorf("passes: %s", line)
		}
	}
	if len(g.Tampering(call(work, "write", "file_path", work+"/.cursor/hooks.json", "content", `{"hooks":{}}`), nil)) == 0 {
		t.Error("a repository's hooks are emptied")
	}
	for _, line := range []string{
		"node ~/.npm-global/lib/node_modules/@anthropic-ai/claude-code/cli.js --version", "node cli.js --bare", "alias c=claude", "opencode run x", "ls node_modules/@anthropic-ai/claude-code", "ssh host.example uptime", "codex exec --profile fast x",
	} {
		if r := g.Tampering(call(work, "shell", "command", line), nil); len(r) > 0 {
			t.Errorf("is denied: %s: %s", line, r[0].Message)
		}
	}
}
