package hazard

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"reeve.example/reeve/internal/lazyregexp"
)

// Who writes what a build does is given the secrets that the service keeps for it, which no file of
// the repository holds. A build uses them for what they are for: it logs in, signs, deploys. It does
// not send them to an address, nor print them in a form that the service does not know to mask.

var (
	// allSecrets is an expression for every secret that a build has.
	allSecrets = lazyregexp.New(`(?i)\$\{\{[^}\n]*\b(?:toJSON\s*\(\s*secrets\s*\)|join\s*\(\s*secrets|format\s*\([^}\n]*toJSON\s*\(\s*secrets)`)
	// buildSecret is an expression for one.
	buildSecret = lazyregexp.New(`\$\{\{\s*(?:secrets(?:\.|\[\s*['"])|github\.token)(\w*)[^}\n]*\}\}`)
	// secretVariable is a variable that is given one.
	secretVariable = lazyregexp.New(`(?m)^\s*-?\s*["']?(\w+)["']?\s*:\s*["']?\$\{\{\s*(?:secrets\b|github\.token)`)
	// movingStep is a step of somebody else, taken from a branch of theirs, that is given a secret: who
	// may change the branch has it.
	movingStep = lazyregexp.New(`(?m)^[ \t]*-?[ \t]*uses:[ \t]*["']?([\w.-]+)/[\w./-]+@(?:main|master|develop|dev|trunk|latest|HEAD)["']?[ \t]*(?:#.*)?\n(?:[ \t]+(?:[^-\s].*)?\n)*?[^\n]*\$\{\{\s*secrets\b`)
	// strangersBegin are the events by which a change of anybody's begins a build that has the repository's own rights and
	// secrets, and strangersChange is that change, taken into the build's folder.
	strangersBegin  = lazyregexp.New(`(?m)^[ \t]*(?:on[ \t]*:.*|-[ \t]*|["']?)\b(?:pull_request_target|workflow_run|issue_comment)\b`)
	strangersChange = lazyregexp.New(`(?m)(?:\bref|\brepository)["']?[ \t]*:.*\$\{\{[^}\n]*\b(?:pull_request\.head|github\.head_ref|workflow_run\.head|issue\.number|pull_request\.number)|\bgh[ \t]+pr[ \t]+checkout\b|\bgit[ \t]+(?:fetch|pull)\b[^\n]*\b(?:pull/|head_ref|HEAD_REF|pull_request\.head)`)
	// hostsOfBuilds are those who run the builds themselves, or whom one gives keys of their own to.
	hostsOfBuilds = set("actions github docker aws-actions google-github-actions azure hashicorp gradle cloudflare vercel")
	// recodes is a program that gives a text another form.
	recodes = lazyregexp.New(`\b(?:base64|base32|xxd|od|hexdump|rev|tr|sed|fold|openssl|gzip|uuencode|awk|perl|python3?|cut|split)\b`)
)

// builds judges the commands of a build by what becomes of its secrets.
func (a *assessor) builds(text string, commands []string, at span) {
	if allSecrets.MatchString(text) {
		a.report("secret.shown", 0.6, at)
	}
	for _, m := range movingStep.FindAllStringSubmatch(text+"\n", maxSettings) {
		if !hostsOfBuilds[strings.ToLower(m[1])] {
			a.report("secret.shown", 0.6, at)
		}
	}
	if strangersBegin.MatchString(text) && strangersChange.MatchString(text) {
		a.reportSaying("secret.shown", 0.6, at, "A build that has the repository's secrets and rights runs what anybody proposes as a change.")
	}
	vars := map[string]flow{}
	for _, m := range secretVariable.FindAllStringSubmatch(text, maxSettings) {
		vars[m[1]] = flow{text: "$" + m[1], taint: fromSecret}
	}
	for _, command := range commands {
		if !a.spend(len(command)) {
			return
		}
		for _, m := range buildSecret.FindAllStringSubmatch(command, maxSettings) {
			name := "BUILD_SECRET_" + m[1]
			vars[name] = flow{text: "$" + name, taint: fromSecret}
			before, after, _ := strings.Cut(command, m[0])
			in := "${" + name + "}"
			if strings.Count(before, "'")%2 == 1 { // the service puts it in before a shell reads the line
				in = `'"` + in + `"'`
			}
			command = before + in + after
		}
		b := newAssessor(a.table)
		b.size, b.runs, b.inner, b.commands, b.depth = len(command), true, a.inner, a.commands, a.depth
		whole := span{0, len(command)}
		s := &shell{assessor: b, vars: vars, files: b.written, fixed: &whole, at: whole, functions: map[string]*syntax.Stmt{}, aliases: map[string]string{}}
		out := s.script(command)
		a.inner, a.commands = b.inner, b.commands
		if slices.ContainsFunc(b.findings, func(f Finding) bool { return f.Code == "exfil.secret" }) {
			a.report("exfil.secret", 0, at)
		}
		if out.taint&fromSecret != 0 && recodes.MatchString(command) {
			a.report("secret.shown", 0.6, at)
		}
	}
}
