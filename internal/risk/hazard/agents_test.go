package hazard

import "testing"

// TestAgentsThatAskNobody: agents that have no hooks, started so that they agree to all by themselves.
func TestAgentsThatAskNobody(t *testing.T) {
	for _, c := range []string{
		"droid exec --auto high 'fix it'", "droid exec --auto=medium x", "goose run -t 'fix it'", "goose run --recipe r.yaml", "GOOSE_MODE=auto goose run -i plan.md", "crush run 'fix it'", "crush -y", "crush --yolo", "cline --yolo 'x'", "cline -y x",
		"interpreter -y", "interpreter --auto_run", "sgpt --shell --no-interaction 'rm all'", "sgpt -s --no-interaction x", "kimi --yolo -c x", "vibe --auto-approve -p x", "gptme --no-confirm x", "gptme -y x", "openhands --always-approve -t x", "cn --auto -p x", "acli rovodev run --yolo x",
		"npx cline --yolo x", "npx -y @charmland/crush run x", "uvx open-interpreter --auto_run", "node /opt/lib/node_modules/@anthropic-ai/claude-code/cli.js --dangerously-skip-permissions -p x", "node ~/x/claude-code/cli.js -p x --permission-mode bypassPermissions",
		"sh -c 'goose run -t x'", "nohup crush run x &", "timeout 60 droid exec --auto high x",
	} {
		if !assessed(c).has("defense.agent", 0.45) {
			t.Errorf("passes: %s: %+v", c, assessed(c).Findings)
		}
	}
	for _, c := range []string{
		"droid exec 'look'", "droid exec --auto low x", "droid --version", "goose session", "goose configure", "goose --version", "goose up", "goose -dir migrations postgres x up", "crush", "crush logs", "cline 'look'", "interpreter --version", "sgpt 'what is x'", "sgpt --shell x",
		"kimi", "gptme 'x'", "openhands", "cn -p x", "npx -y prettier --write .", "npx -y create-react-app x", "npx cline 'look'", "node cli.js run", "uvx ruff check", "docker run crush", "npm run goose",
	} {
		if assessed(c).has("defense.agent", 0) {
			t.Errorf("asked: %s: %+v", c, assessed(c).Findings)
		}
	}
}
