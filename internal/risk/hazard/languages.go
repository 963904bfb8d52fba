package hazard

import (
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
)

// Languages that are seldom met run other programs by calls that are called much the same in all of
// them: what stands in quotes beside one, and what stands behind one without quotes, is read as the
// line of a shell that it is.

// rareLanguages are programs that run a text of a language which nothing here parses.
var rareLanguages = set("ocaml ocamlrun utop racket sbcl ecl clisp ccl guile csi gosh chez clojure clj lein bb groovy groovysh scala scala-cli amm kotlin kotlinc swift erl escript elixir iex ghci ghc runghc stack tclsh wish expect m4 cmake julia Rscript R dart raku gnuplot octave matlab jshell jruby nim crystal io factor gforth pike rexx sml")

// runningCalls are the calls by which a language runs a program.
var runningCalls = lazyregexp.New(`(?i)\b(?:system|exec\w*|popen\w*|spawn\w*|shell\w*|run-program|run-process|run|sh|cmd|command|esyscmd|syscmd|startprocess|execute\w*|process\w*|system-command|open-pipe\*?)\b["'\]} ]*[\s(\[{:,]|\.!|\.execute\b|execute_process`)

// endsOf is how the names of files end whose language these programs run.
var endsOf = map[string]string{
	"groovy": ".groovy", "groovysh": ".groovy", "kotlin": ".kts", "kotlinc": ".kts", "scala": ".scala", "scala-cli": ".scala", "amm": ".scala", "swift": ".swift", "ghci": ".hs", "ghc": ".hs", "runghc": ".hs",
	"nim": ".nim", "crystal": ".cr", "jshell": ".java", "dart": ".dart", "tclsh": ".tcl", "wish": ".tcl", "expect": ".tcl", "elixir": ".exs", "iex": ".exs", "julia": ".jl",
}

// runsInWords judges what a text of such a language, among a program's words or on its input, has run.
func (c *invocation) runsInWords() {
	if !rareLanguages[c.name] {
		return
	}
	texts := []string{c.in.text}
	for _, a := range c.args {
		texts = append(texts, a.text)
	}
	for _, text := range texts {
		c.kept(1, asks, func() { c.programDoes(endsOf[c.name], text, c.at) })
		if len(text) > 16<<10 || !runningCalls.MatchString(text) || !c.spend(len(text)) {
			continue
		}
		var lines, literals []string
		for _, t := range lex(text, false) {
			if t.isText && len(literals) < 64 {
				literals = append(literals, t.text)
			}
		}
		lines = append(lines, literals...)
		if len(literals) > 1 {
			lines = append(lines, quotedWords(literals)) // a program and its words
		}
		rest := text
		for _, call := range runningCalls.FindAllString(text, 16) {
			_, rest, _ = strings.Cut(rest, call)
			lines = append(lines, strings.TrimRight(strings.TrimLeft(rest, "([{ `"), ")]}; `\n"))
		}
		for _, line := range lines {
			c.kept(1, asks, func() { c.inside(line) })
		}
	}
}
