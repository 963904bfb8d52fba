package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// examples are what the help of each command shows, where the command itself has none. A
// test parses each line as the program would.
var examples = map[string]string{
	"a2g": `reeve a2g --stdio
reeve a2g --stdio --url https://guard.example --key file:agent.key`,
	"agents list":       `reeve agents list --json`,
	"agents reset-key":  `reeve agents reset-key did:example:helper`,
	"agents resume":     `reeve agents resume did:example:helper --reason 'It was mended.'`,
	"agents revoke":     `reeve agents revoke did:example:helper --reason 'Its key leaked.'`,
	"agents show":       `reeve agents show did:example:helper`,
	"agents suspend":    `reeve agents suspend did:example:helper --reason 'It is looked at.'`,
	"approvals approve": `reeve approvals approve c5tfz73ck94sbbdb --note 'The release was announced.'`,
	"approvals deny":    `reeve approvals deny c5tfz73ck94sbbdb --note 'Not on a Friday.'`,
	"approvals show": `reeve approvals show c5tfz73ck94sbbdb
reeve approvals show c5tfz73ck94sbbdb --server https://guard.example --key file:ann.key`,
	"bom": `reeve bom
reeve bom mailer
reeve bom mailer --format cyclonedx-1.6 --out mailer.cdx.json`,
	"bom diff":   `reeve bom diff mailer --since 7d`,
	"bom verify": `reeve bom verify mailer.cdx.json --key "$(cat ledger.pub)" --max-age 24h`,
	"habits": `reeve habits
reeve habits mailer
reeve habits mailer --user ann --json`,
	"habits forget": `reeve habits forget mailer eve@x.example
reeve habits forget mailer`,
	"habits freeze":   `reeve habits freeze mailer`,
	"habits incident": `reeve habits incident 0-1234`,
	"habits rebuild":  `reeve habits rebuild mailer`,
	"habits thaw":     `reeve habits thaw mailer`,
	"completion": `source <(reeve completion bash)
reeve completion zsh > "${fpath[1]}/_reeve"
reeve completion fish > ~/.config/fish/completions/reeve.fish
reeve completion powershell | Out-String | Invoke-Expression`,
	"decide": `reeve decide request.json --policy mine/policy
reeve decide - --json < request.json`,
	"demo": `reeve demo
reeve demo --pause 1s
reeve demo --url http://127.0.0.1:8080`,
	"doctor": `reeve doctor
reeve doctor --data /var/lib/reeve --json`,
	"exec": `reeve exec --dir . -- ls
reeve exec --intent intent.json -v -- make`,
	"executors list": `reeve executors list --json`,
	"executors show": `reeve executors show command_executor --json`,
	"hook": `reeve hook install claude-code
reeve hook status`,
	"hook install": `reeve hook install claude-code
reeve hook install codex --policy ~/.config/reeve/policy
reeve hook install gemini --url http://127.0.0.1:8080/ --project`,
	"hook status": `reeve hook status
reeve hook status claude-code --json`,
	"hook test": `reeve hook test claude-code`,
	"hook uninstall": `reeve hook uninstall claude-code
reeve hook uninstall`,
	"keys create": `reeve keys create agent-1
reeve keys create ann --role approver --yes --json
reeve keys create agent-1 --server https://guard.example --key file:admin.key`,
	"keys list":   `reeve keys list --json`,
	"keys revoke": `reeve keys revoke agent-1`,
	"ledger erase": `reeve ledger erase 0-12 0-13
reeve ledger erase --user ada`,
	"ledger export": `reeve ledger export --contents > records.jsonl`,
	"ledger key":    `reeve ledger key --data /var/lib/reeve`,
	"ledger receipt": `reeve ledger receipt 0-12 --disclose request,reasons > receipt
reeve ledger verify-receipt receipt`,
	"ledger show": `reeve ledger show --last 50
reeve ledger show 0-12
reeve ledger show 0-12 --server https://guard.example --key file:auditor.key`,
	"ledger tail": `reeve ledger tail
reeve ledger tail --json --server https://guard.example --key file:auditor.key`,
	"ledger verify": `reeve ledger verify
reeve ledger verify --checkpoints kept/checkpoints --json`,
	"ledger verify-receipt": `reeve ledger verify-receipt receipt --key "$(cat ledger.pub)"`,
	"licenses":              `reeve licenses`,
	"ledger index": `reeve ledger index
reeve ledger index --data /var/lib/reeve --json`,
	"mcp": `reeve mcp -- npx -y @modelcontextprotocol/server-filesystem /workspace
reeve mcp --upstream https://tools.example/mcp --listen 127.0.0.1:8090`,
	"mcp install": `reeve mcp install cursor
reeve mcp install claude-code --project --undo`,
	"mcp tools approve": `reeve mcp tools approve files read_file write_file`,
	"mcp tools diff":    `reeve mcp tools diff files`,
	"mcp tools forget":  `reeve mcp tools forget files`,
	"mcp tools list":    `reeve mcp tools list`,
	"mcp tools refuse":  `reeve mcp tools refuse files run_anything`,
	"pins agree":        `reeve pins agree x3cmpqkdzdvr8yfa --all`,
	"pins diff":         `reeve pins diff x3cmpqkdzdvr8yfa`,
	"pins forget":       `reeve pins forget x3cmpqkdzdvr8yfa`,
	"pins list":         `reeve pins list`,
	"pins refuse":       `reeve pins refuse x3cmpqkdzdvr8yfa .claude/skills/pdf/SKILL.md`,
	"policy check":      `reeve policy check mine/policy`,
	"policy explain":    `reeve policy explain request.json --policy mine/policy`,
	"policy replay": `reeve policy replay --candidate ./policy
reeve policy replay --since 7d --candidate stricter.yaml --json > replay.json
reeve policy replay --since 2026-11-01 --until 2026-11-08 --candidate ./policy --acts 20
reeve policy replay --candidate ./policy --server https://guard.example --key file:auditor.key`,
	"policy reload": `reeve policy reload --data /var/lib/reeve`,
	"policy shadow": `reeve policy shadow
reeve policy shadow --json --server https://guard.example --key file:auditor.key`,
	"policy test": `reeve policy test mine/policy --verbose`,
	"serve": `reeve serve
reeve serve --policy mine/policy --data /var/lib/reeve
reeve serve --listen 0.0.0.0:8080 --anonymous never --tls-cert cert.pem --tls-key key.pem`,
	"sessions clear":  `reeve sessions clear 4f2c foreign`,
	"sessions labels": `reeve sessions labels 4f2c`,
	"sessions list":   `reeve sessions list --last 0`,
	"sessions show":   `reeve sessions show 4f2c --html > session.html`,
	"settings":        "reeve settings retention\nreeve settings --json",
	"tasks cancel":    `reeve tasks cancel 0199c2a0-6a3e-7b51-9d43-1f6f0c9a7b10 --reason 'Not needed.'`,
	"tasks copy":      `reeve tasks copy 0199c2a0-6a3e-7b51-9d43-1f6f0c9a7b10`,
	"tasks delete":    `reeve tasks delete 0199c2a0-6a3e-7b51-9d43-1f6f0c9a7b10 --children`,
	"tasks get":       `reeve tasks get 0199c2a0-6a3e-7b51-9d43-1f6f0c9a7b10 --json`,
	"tasks list": `reeve tasks list --status failed
reeve tasks list --server https://guard.example --key env:REEVE_KEY --json`,
	"tasks retry": `reeve tasks retry 0199c2a0-6a3e-7b51-9d43-1f6f0c9a7b10`,
	"tasks tree":  `reeve tasks tree 0199c2a0-6a3e-7b51-9d43-1f6f0c9a7b10`,
	"tasks watch": `reeve tasks watch 0199c2a0-6a3e-7b51-9d43-1f6f0c9a7b10`,
	"trust": `reeve trust
reeve trust --list`,
	"version": `reeve version --json`,
}

// showExamples gives each command its examples. One that names a command that there is
// not is left to the test.
func showExamples(root *cobra.Command) {
	for path, text := range examples {
		c, rest, err := root.Find(strings.Fields(path))
		if err == nil && len(rest) == 0 && c.Example == "" {
			c.Example = "  " + strings.ReplaceAll(text, "\n", "\n  ")
		}
	}
}
