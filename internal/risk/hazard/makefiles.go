package hazard

import (
	"maps"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
)

// A makefile's variables are put in before a shell reads its recipes.

var (
	// makeSets is a line that sets a variable, and makeNames a variable where it is used.
	makeSets  = lazyregexp.New(`(?m)^[ ]*(?:(?:export|override|private)[ ]+)*([\w.-]+)[ \t]*(:::?|::|:|\?|\+|!)?=[ \t]*(.*)$`)
	makeNames = lazyregexp.New(`\$(?:\(([\w.-]+)\)|\{([\w.-]+)\}|([A-Za-z@<^?*]))`)
)

// makeTakesIn is a line that takes in what a command prints the name of.
var makeTakesIn = lazyregexp.New(`(?m)^[ ]*[-s]?include[ \t]+[^\n]*?\$\(shell[ \t]+(.*)$`)

const (
	maxMakeRounds = 6 // of variables that hold variables
	maxMakeText   = 256 << 10
)

// Expanded is a makefile as make reads it: lines that go on in the next are one, and variables stand
// for what the file sets them to; those that it does not set are left to the shell. What make itself
// has run, by $(shell …) and !=, stands at its end as recipes.
// told are the variables that a command sets by its words.
func Expanded(text string, told map[string]string) string { return expanded(text, told, nil) }

// joinedLines makes one line of those that a makefile continues.
var joinedLines = strings.NewReplacer("\\\n\t", " ", "\\\n", " ")

// expanded is the same where a command sets these variables by its words, and the environment has those.
func expanded(text string, told map[string]string, env map[string]flow) string {
	text = joinedLines.Replace(text)
	set := map[string]string{"SHELL": "/bin/sh", "MAKE": "make", "RM": "rm -f"}
	for name, v := range env {
		if v.known && v.taint == 0 && isName(name) {
			set[name] = v.text
		}
	}
	var run []string
	for _, m := range makeSets.FindAllStringSubmatch(text, 512) {
		name, how, value := m[1], m[2], strings.TrimSpace(m[3])
		switch _, had := set[name]; {
		case how == "!":
			run = append(run, value)
		case how == "+":
			set[name] += " " + value
		case how != "?" || !had:
			set[name] = value
		}
	}
	maps.Copy(set, told)
	for _, part := range strings.Split(text, makeShell)[1:] {
		run = append(run, part[:closingParen(part)])
	}
	for _, m := range makeTakesIn.FindAllStringSubmatch(text, 16) { // what a file is fetched for is read as one
		command := m[1][:closingParen(m[1])]
		if words := strings.Fields(command); len(words) > 0 {
			run = append(run, command+"; sh "+words[len(words)-1])
		}
	}
	if len(run) > 0 && len(run) < 256 {
		text += "\n.shell:\n"
		for _, command := range run {
			text += "\t" + strings.TrimSpace(command) + "\n"
		}
	}
	if !strings.Contains(text, "$") {
		return text
	}
	const dollar = "\x00"
	text = strings.ReplaceAll(text, "$$", dollar)
	for range maxMakeRounds {
		changed := false
		text = makeNames.ReplaceAllStringFunc(text, func(use string) string {
			name := strings.Trim(use, "$(){}")
			value, known := set[name]
			if !known || len(text) > maxMakeText {
				return use
			}
			changed = true
			return strings.ReplaceAll(value, "$$", dollar)
		})
		if !changed || len(text) > maxMakeText {
			break
		}
	}
	text = withoutFunctions(makeNames.ReplaceAllString(text, "$${$1$2$3}"))
	var b strings.Builder
	for line := range strings.Lines(strings.ReplaceAll(text, dollar, "$")) {
		for strings.Contains(line, makeShell) {
			before, part, _ := strings.Cut(line, makeShell)
			end := closingParen(part)
			if strings.HasPrefix(line, "\t") { // what it prints stands there
				before += "$(" + part[:end] + ")"
			}
			line = before + strings.TrimPrefix(part[end:], ")")
		}
		b.WriteString(line)
	}
	return b.String()
}

// makeFunctions is a call of one of make's functions, in which no other stands.
var makeFunctions = lazyregexp.New(`\$\((call|wildcard|patsubst|subst|foreach|if|or|and|filter|filter-out|findstring|sort|dir|notdir|suffix|basename|join|addprefix|addsuffix|abspath|realpath|word|words|wordlist|firstword|lastword|strip|eval|info|error|warning|origin|flavor|value|file|let|intcmp|guile)[ ,]((?:[^(){}$\n]|\$?\{[\w.-]*\})*)\)`)

// withoutFunctions is a text with the calls of make's functions taken for what they give: those that
// choose give their last word, and of the others nobody knows.
func withoutFunctions(text string) string {
	for range maxMakeRounds {
		plain := makeFunctions.ReplaceAllStringFunc(text, func(call string) string {
			m := makeFunctions.FindStringSubmatch(call)
			if listed("foreach if or and strip let", m[1]) {
				return m[2][strings.LastIndexByte(m[2], ',')+1:]
			}
			return "${make}"
		})
		if plain == text {
			break
		}
		text = plain
	}
	return text
}

// makeShell begins what make has a shell run.
const makeShell = "$(shell "

// closingParen is where the parenthesis ends that stands around the begin of a text.
func closingParen(text string) int {
	deep := 0
	for i, c := range text[:min(len(text), 4096)] {
		switch {
		case c == '(':
			deep++
		case c == ')' && deep == 0, c == '\n':
			return i
		case c == ')':
			deep--
		}
	}
	return min(len(text), 4096)
}
