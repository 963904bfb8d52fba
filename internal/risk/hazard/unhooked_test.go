package hazard

import "testing"

// TestUnhookedAgents: an agent that is started by whatever name or package, where no hook reaches it,
// asks; one that the hooks reach, and the words about them, do not.
func TestUnhookedAgents(t *testing.T) {
	for _, line := range []string{
		`npx @openai/codex exec "do it"`,
		`ssh localhost claude -p "do it"`,
		`uvx --from aider-chat aider --yes`,
		`npx -y @anthropic-ai/claude-code --bare -p x`,
		`node ~/.npm-global/lib/node_modules/@anthropic-ai/claude-code/cli.js --bare -p x`,
		`amp -x "do it"`,
		`openhands -t "do it"`,
		`cline task "do it"`,
		`kilocode --auto x`,
		`auggie -p x`,
		`plandex tell x`,
		`pi -p x`,
		`llm -T shell x`,
		`npx claude-flow swarm x`,
		`bunx @google/gemini-cli -p x`,
		`pipx run open-interpreter`,
		`codex exec --profile nohooks x`,
		`OPENCODE_DISABLE_DEFAULT_PLUGINS=1 opencode run x`,
		`alias claude='claude --bare'`,
		`kubectl exec -it pod -- claude -p x`,
	} {
		if a := assessed(line); !reports(a, "defense.unhooked") {
			t.Errorf("%s: %.2f %+v", line, a.Score, a.Findings)
		}
	}
	for _, line := range []string{
		`claude -p "hello"`,
		`npm install @anthropic-ai/claude-code`,
		`codex --version`,
		`which claude codex aider`,
		`npx prettier --write .`,
		`cat cline.md`,
		`pip install aider-chat`,
		`llm "explain this" < a.txt`,
		`amp --version`,
		`git log --grep claude`,
	} {
		if a := assessed(line); reports(a, "defense.unhooked") {
			t.Errorf("is held: %s: %+v", line, a.Findings)
		}
	}
}

func reports(a Assessment, code string) bool {
	for _, f := range a.Findings {
		if f.Code == code {
			return true
		}
	}
	return false
}
