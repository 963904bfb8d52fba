package hazard

import (
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
)

// A justfile's recipes are lines of a shell, or scripts of any language: whichever their first line, a
// mark before them, or a setting of the file names. What it assigns is put in before.

var (
	justSets   = lazyregexp.New(`(?m)^(?:export[ \t]+)?([A-Za-z_][\w-]*)[ \t]*:=[ \t]*(.*)$`)
	justShell  = lazyregexp.New(`(?m)^set[ \t]+(?:shell|script-interpreter)[ \t]*:=[ \t]*\[([^\]\n]*)\]`)
	justScript = lazyregexp.New(`^\[script(?:\(([^)\n]*)\))?\]`)
	justUse    = lazyregexp.New(`\{\{(.*?)\}\}`)
	justToken  = lazyregexp.New("'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`|[\\w-]+\\((?:[^()]|\\([^()]*\\))*\\)|[A-Za-z_][\\w-]*|[+/]")
	justTaken  = lazyregexp.New(`(?m)^[ \t]*(?:import|mod)\??[ \t]+(?:([\w-]+)[ \t]*)?(?:["']([^"'\n]+)["'])?`)
)

// isJustfile reports whether a file of a name is one of just.
func isJustfile(low string) bool {
	return low == "justfile" || low == ".justfile" || strings.HasSuffix(low, ".just")
}

// justLines are the lines of a shell that do what a justfile does, whichever of its recipes are asked for.
func justLines(text string) string {
	text = joinedLines.Replace(text[:min(len(text), 64<<10)])
	set := map[string]string{}
	for _, m := range justSets.FindAllStringSubmatch(text, 256) {
		set[m[1]] = justValue(m[2], set)
	}
	text = justUse.ReplaceAllStringFunc(text, func(use string) string {
		return justValue(strings.Trim(use, "{}"), set)
	})
	runner := ""
	if m := justShell.FindStringSubmatch(text); m != nil {
		runner = strings.NewReplacer(",", " ", `"`, "", "'", "").Replace(m[1])
	}
	if first := before(strings.TrimSpace(runner), ' '); interpreters[first].shell { // as the lines are read anyhow
		runner = ""
	}
	var b strings.Builder
	var body []string
	with := ""
	end := func() {
		if len(body) > 0 {
			justRecipe(&b, body, with, runner)
		}
		body, with = nil, ""
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.TrimSpace(line) == "":
			body = append(body, "")
		case line[0] == ' ' || line[0] == '\t':
			body = append(body, line)
		default:
			before := with
			end()
			if m := justScript.FindStringSubmatch(line); m != nil {
				with = "sh"
				if m[1] != "" {
					with = strings.NewReplacer(",", " ", `"`, "", "'", "").Replace(m[1])
				}
				continue
			}
			if strings.HasPrefix(line, "[") { // another mark
				with = before
				continue
			}
			with = before
			if _, ends, isRule := strings.Cut(line, ":"); isRule && !strings.HasPrefix(ends, "=") { // what its needs are told may be commands
				for _, word := range quotedTexts.FindAllString(ends, 16) {
					b.WriteString(strings.Trim(word, `'"`) + "\n")
				}
			}
		}
	}
	end()
	return b.String()
}

// quotedTexts are texts in quotes.
var quotedTexts = lazyregexp.New(`'[^'\n]*'|"[^"\n]*"`)

// justRecipe adds the lines of one recipe.
func justRecipe(b *strings.Builder, body []string, with, runner string) {
	for len(body) > 0 && body[0] == "" {
		body = body[1:]
	}
	if len(body) == 0 {
		return
	}
	indent := len(body[0]) - len(strings.TrimLeft(body[0], " \t"))
	for i, line := range body {
		body[i] = line[min(indent, len(line)-len(strings.TrimLeft(line, " \t"))):]
	}
	if rest, ok := strings.CutPrefix(body[0], "#!"); ok {
		with = strings.TrimPrefix(strings.TrimSpace(rest), "/usr/bin/env ")
		with = strings.TrimPrefix(with, "-S ")
	}
	switch script := strings.Join(body, "\n"); {
	case strings.Contains(script, "END_OF_RECIPE"):
	case with != "" && interpreters[baseName(before(with, ' '))].shell:
		b.WriteString("(\n" + script + "\n)\n")
	case with != "":
		b.WriteString(with + " - <<'END_OF_RECIPE'\n" + script + "\nEND_OF_RECIPE\n")
	default:
		for _, line := range body {
			if line = strings.TrimLeft(line, "@-"); line != "" && runner != "" {
				line = runner + " '" + strings.ReplaceAll(line, "'", `'\''`) + "'"
			}
			b.WriteString(line + "\n")
		}
	}
}

// justValue is what an expression comes to, as a shell would write it.
func justValue(expression string, set map[string]string) string {
	var b strings.Builder
	for _, t := range justToken.FindAllString(expression, 64) {
		name, args, called := strings.Cut(t, "(")
		switch {
		case b.Len() > 4096:
		case t == "+":
		case t == "/":
			b.WriteByte('/')
		case t[0] == '\'' || t[0] == '"':
			b.WriteString(t[1 : len(t)-1])
		case t[0] == '`':
			b.WriteString("$(" + t[1:len(t)-1] + ")")
		case called && listed("env env_var env_var_or_default", name):
			variable, _, _ := strings.Cut(strings.Trim(args, ")"), ",")
			b.WriteString("${" + strings.Trim(variable, `'" `) + "}")
		case called && (name == "home_directory" || name == "home_dir"):
			b.WriteString("$HOME")
		case called && listed("justfile_directory source_directory invocation_directory", name):
			b.WriteByte('.')
		case called && name == "shell":
			b.WriteString("$(" + strings.Trim(strings.TrimSuffix(args, ")"), `'"`) + ")")
		case called:
			b.WriteString(justValue(strings.TrimSuffix(args, ")"), set))
		default:
			if v, ok := set[t]; ok {
				b.WriteString(v)
			} else {
				b.WriteString("${" + strings.ReplaceAll(t, "-", "_") + "}")
			}
		}
	}
	return b.String()
}
