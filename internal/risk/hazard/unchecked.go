package hazard

import (
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
)

// What is switched off once, for what comes later: that certificates are looked at, and that an
// agent asks before it acts.

// unchecking are variables by which programs look at no certificate any more: with which value,
// and by which programs code or keys then go over a line that anybody may hold. Tests of one's
// own server are run so all day, by other programs.
var unchecking = map[string]struct{ off, programs string }{
	"GIT_SSL_NO_VERIFY":                 {"*", "git"},
	"NODE_TLS_REJECT_UNAUTHORIZED":      {"0", "npm npx pnpm yarn bun bunx vercel netlify wrangler firebase"},
	"npm_config_strict_ssl":             {"false", "npm npx pnpm"},
	"NPM_CONFIG_STRICT_SSL":             {"false", "npm npx pnpm"},
	"PIP_TRUSTED_HOST":                  {"*", "pip pip3 pipx python python3"},
	"UV_INSECURE_HOST":                  {"*", "uv uvx"},
	"PYTHONHTTPSVERIFY":                 {"0", "pip pip3 pipx poetry twine"},
	"GOINSECURE":                        {"*", "go"},
	"CARGO_HTTP_CHECK_REVOKE":           {"false", "cargo"},
	"HELM_KUBEINSECURE_SKIP_TLS_VERIFY": {"true", "helm"},
	"VAULT_SKIP_VERIFY":                 {"*", "vault"},
}

// carrying are subcommands by which something is fetched or sent.
var carrying = set("install i ci add update upgrade publish push pull fetch clone login dlx exec get mod sync tool submodule ls-remote upload deploy build kv read write token")

// unchecks judges that a command fetches or sends while nobody looks at certificates.
func (c *invocation) unchecks() {
	for name, u := range unchecking {
		v, ok := c.vars[name]
		if !ok || v.text == "" || listed("0 false no off", strings.ToLower(v.text)) && u.off == "*" || u.off != "*" && v.text != u.off || !listed(u.programs, c.name) {
			continue
		}
		carries := listed("npx bunx uvx", c.name)
		for _, a := range c.args {
			if strings.Contains(a.text, "://") && isLoopback(hostOf(a.text).name) {
				return
			}
			carries = carries || carrying[a.text]
		}
		if carries {
			c.report("defense.trust", 0.5, c.at)
			return
		}
	}
}

// agentSettings are the files by which coding agents know what they may do unasked, and the words
// with which they ask nobody.
var agentSettings = []struct {
	files string // how their paths end, separated by spaces
	says  *lazyregexp.Regexp
}{
	{".claude/settings.json .claude/settings.local.json .claude.json managed-settings.json", lazyregexp.New(`(?i)"bypassPermissions"|"(?:allow)"\s*:\s*\[[^\]]*"(?:Bash|Bash\(\*(?::\*)?\)|\*)"|"skipDangerousModePermissionPrompt"\s*:\s*true|"enableAllProjectMcpServers"\s*:\s*true|"sandbox"\s*:\s*\{[^{}]*"enabled"\s*:\s*false|"allowUnsandboxedCommands"\s*:\s*true|"(?:PATH|LD_\w+|DYLD_\w+|NODE_OPTIONS|NODE_PATH|PYTHONPATH|PYTHONSTARTUP|BASH_ENV|ENV|GIT_SSH\w*|NODE_TLS_REJECT_UNAUTHORIZED|NODE_EXTRA_CA_CERTS)"\s*:\s*"`)},
	{".claude/skills/*/SKILL.md .claude/commands/*.md", lazyregexp.New(`(?m)\A---\s*\n(?:[^\n]*\n)*?hooks\s*:`)},
	{".claude/agents/*.md", lazyregexp.New(`(?mi)^permissionMode\s*:\s*["']?(?:bypassPermissions|dontAsk)|\A---\s*\n(?:[^\n]*\n)*?hooks\s*:`)},
	{".codex/config.toml", lazyregexp.New(`(?m)^\s*approval_policy\s*=\s*["']never|^\s*sandbox_mode\s*=\s*["']danger-full-access|^\s*\[projects\.["'](?:/|~|/root|/(?:home|Users)/[^/"']+)/?["']\]\s*\n\s*trust_level\s*=\s*["']trusted`)},
	{".gemini/settings.json .qwen/settings.json", lazyregexp.New(`(?i)"(?:autoAccept|yolo)"\s*:\s*true|"(?:defaultApprovalMode|approvalMode)"\s*:\s*"yolo"|"allowed(?:Tools)?"\s*:\s*\[[^\]]*"(?:run_shell_command|ShellTool)"`)},
	{".gemini/policies/*.toml .qwen/policies/*.toml", lazyregexp.New(`(?i)\bdecision\s*=\s*["']allow`)},
	{".gemini/trustedFolders.json .qwen/trustedFolders.json", lazyregexp.New(`"TRUST_`)},
	{".gemini/extensions/*/gemini-extension.json .qwen/extensions/*/qwen-extension.json", lazyregexp.New(`"(?:command|httpUrl|url)"\s*:`)},
	{".codex/rules/*.rules", lazyregexp.New(`(?i)\bdecision\s*=\s*["']allow`)},
	{".codex/hooks.json", lazyregexp.New(`"command"\s*:`)},
	{".vscode/settings.json User/settings.json .code-workspace", lazyregexp.New(`"claudeCode\.allowDangerouslySkipPermissions"\s*:\s*true|"claudeCode\.initialPermissionMode"\s*:\s*"bypassPermissions"|"chat\.tools\.(?:global\.)?autoApprove"\s*:\s*true|"security\.workspace\.trust\.enabled"\s*:\s*false|"task\.allowAutomaticTasks"\s*:\s*"on"`)},
	{"opencode.json opencode.jsonc", lazyregexp.New(`"(?:permission|bash|\*)"\s*:\s*"allow"|"plugin"\s*:\s*\[\s*"`)},
	{".aider.conf.yml", lazyregexp.New(`(?m)^\s*yes-always\s*:\s*true`)},
	{".bashrc .bash_profile .bash_aliases .profile .zshrc .zshenv .zprofile config.fish .envrc", lazyregexp.New(`(?m)alias\s+(?:claude|codex|gemini)=?.*(?:--bare|--dangerously|--yolo|--disable\s+hooks|bypass)|\bCLAUDE_CODE_SIMPLE\b|^\s*(?:export\s+)?\w*DISABLE_?(?:ALL_?)?HOOKS`)},
	{".cursor/cli.json .cursor/permissions.json", lazyregexp.New(`"Shell\(\*\)"`)},
}

// asksNobody judges a text that is written to an agent's settings.
func (a *assessor) asksNobody(file, text string, at span) {
	p := "/" + slashed(file)
	names := strings.Split(strings.ToLower(p), "/")
	for i := range agentSettings {
		s := &agentSettings[i]
		for end := range strings.FieldsSeq(s.files) {
			pattern := strings.Split(strings.ToLower(end), "/")
			if len(pattern) < len(names) && matchesParts(pattern, names[len(names)-len(pattern):]) || end[0] == '.' && strings.Count(end, "/") == 0 && strings.HasSuffix(p, end) {
				if s.says.MatchString(text) {
					a.report("defense.agent", 0, at)
				}
				return
			}
		}
	}
}
