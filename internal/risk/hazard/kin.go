package hazard

import (
	"maps"
	"regexp"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
)

// A line may be run by zsh or by fish, and nobody says so: both are what people log in with. What their
// forms mean that bash has not, or takes otherwise, is written as bash has it, and read beside the line;
// of that reading only what is grave counts.

var (
	zshQualifier = lazyregexp.New(`[*?\])/\w]\([-\w./@=%^,+*:#]*?e(?::("[^"\n]*"|'[^'\n]*'|[^\n]*?):|\{([^\n]*?)\}|\[([^\n]*?)\]|<([^\n]*?)>|'([^'\n]*)'|"([^"\n]*)"|\+([^\n]*?)\+)[^()\n]*\)`)
	zshInput     = lazyregexp.New(`(^|[;&|(\n{][ \t]*)(<<?<?[ \t]*(?:"[^"\n]*"|'[^'\n]*'|[^\s"'|;&<>()]+))([ \t]*\|)`)
	zshFiles     = lazyregexp.New(`\bzf_(rm|mv|ln|rmdir|mkdir|chmod|chown|chgrp|sync)\b`)
	zshModifiers = lazyregexp.New(`\$\{([A-Za-z_]\w*)((?::[haAP])+)\}|\$([A-Za-z_]\w*)((?::[haAP])+)\b`)
	zshAlias     = lazyregexp.New(`alias[ \t]+-g[ \t]+([\w.-]+)=(?:'([^'\n]*)'|"([^"\n]*)"|([^\s;]+))`)
	zshFor       = lazyregexp.New(`\bfor(?:each)?[ \t]+([A-Za-z_]\w*)[ \t]+\(([^()\n]*(?:\([^()\n]*\)[^()\n]*)*)\)[ \t]*([^{\s;][^;\n]*)`)

	fishSet   = lazyregexp.New(`(^|[;&|\n'"][ \t]*)set(?:[ \t]+-[gxlUu]+|[ \t]+--(?:global|local|export|universal))*[ \t]+([A-Za-z_]\w*)[ \t]+([^-\s;&|\n][^;&|\n]*)`)
	fishJoins = lazyregexp.New(`([;\n][ \t]*)(?:and|or|not)[ \t]+`)
	fishPath  = lazyregexp.New(`\(path[ \t]+(?:resolve|normalize|real)[ \t]+([^()\n]*)\)`)
	fishCall  = lazyregexp.New(`([ \t])\(([^()\n]*)\)`)
	fishSub   = lazyregexp.New(`\$\(([^()\n]*)\|[ \t]*psub[^()\n]*\)`)
)

// maxKin is how long a line is that is read as one of these shells', too.
const maxKin = 16 << 10

// asZsh is a script of zsh as bash has it; the same where it has nothing of its own.
func asZsh(text string) string {
	if !strings.ContainsAny(text, "(<:_=") {
		return text
	}
	for _, m := range zshAlias.FindAllStringSubmatch(text, 8) {
		before, rest, _ := strings.Cut(text, m[0])
		text = before + "true" + replaceWord(rest, m[1], m[2]+m[3]+m[4])
	}
	var run []string
	if strings.Contains(text, "(") {
		for _, m := range zshQualifier.FindAllStringSubmatch(text, 16) {
			code := strings.TrimSpace(strings.Join(m[1:], ""))
			run = append(run, strings.Trim(code, `"'`))
		}
		text = zshQualifier.ReplaceAllStringFunc(text, func(m string) string { return m[:1] })
		text = zshFor.ReplaceAllString(text, "for $1 in $2; do $3; done")
	}
	if strings.Contains(text, "<") {
		text = zshInput.ReplaceAllString(text, "${1}cat ${2}${3}")
	}
	if strings.Contains(text, "zf_") {
		text = zshFiles.ReplaceAllString(text, "$1")
	}
	if !strings.Contains(text, ":") {
		return strings.Join(append([]string{text}, run...), "\n")
	}
	text = zshModifiers.ReplaceAllStringFunc(text, func(use string) string {
		m := zshModifiers.FindStringSubmatch(use)
		return "${" + m[1] + m[3] + "}" + strings.Repeat("/..", strings.Count(m[2]+m[4], "h"))
	})
	return strings.Join(append([]string{text}, run...), "\n")
}

// asFish is a script of fish as bash has it; the same where it has nothing of its own.
func asFish(text string) string {
	if !strings.Contains(text, " (") && !strings.Contains(text, "set ") && !strings.Contains(text, "and ") && !strings.Contains(text, "or ") {
		return text
	}
	text = joinedInFish(text)
	text = fishSet.ReplaceAllStringFunc(text, func(set string) string {
		m := fishSet.FindStringSubmatch(set)
		return m[1] + m[2] + `="` + unquoted.Replace(strings.TrimSpace(m[3])) + `"`
	})
	for range 3 { // one in another
		text = fishCall.ReplaceAllString(text, "$1$$($2)")
	}
	return fishSub.ReplaceAllString(text, "<($1)")
}

// joinedInFish is a script of fish without what joins its commands in words, and with the paths that it has
// resolved as they are written.
func joinedInFish(text string) string {
	return fishPath.ReplaceAllString(fishJoins.ReplaceAllString(text, "$1"), "$1")
}

// replaceWord puts a text in the place of a word.
func replaceWord(text, word, with string) string {
	return regexp.MustCompile(`(^|[\s;])`+regexp.QuoteMeta(word)+`($|[\s;])`).ReplaceAllStringFunc(text, func(m string) string {
		return strings.Replace(m, word, with, 1)
	})
}

// bourne are the shells that read a script as bash does.
var bourne = set("sh bash dash ash ksh mksh")

// kin judges what a script would do if zsh or fish read it.
func (s *shell) kin(text string) {
	if s.kinned || len(text) > maxKin || s.watch != nil && bourne[s.watch.Shell] {
		return
	}
	for _, other := range []string{asZsh(text), asFish(text)} {
		if other == text || !s.spend(len(other)) {
			continue
		}
		s.kinned = true
		typed := maps.Clone(s.typedInto) // which is typed once, whoever reads it
		s.kept(1, graveInside, func() { s.inside(other) })
		s.kinned, s.typedInto = false, typed
	}
}
