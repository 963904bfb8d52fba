package hazard

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"reeve.example/reeve/internal/canon"
)

// role is what a text is in a call.
type role uint8

const (
	roleUnknown role = iota
	roleCommand      // runs in a shell
	roleCode         // runs in an interpreter
	rolePath
	roleURL
	roleSQL
	roleContent // is written somewhere
	roleProse   // is for people or models
	roleSought  // is looked for in files or on the web
)

// runs reports whether a text of this role is done when the call is made.
func (r role) runs() bool {
	return r == roleCommand || r == roleCode || r == roleSQL || r == roleURL || r == rolePath
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// roleNames are hints: the last word of an argument's name, and what it usually holds.
var roleNames = func() map[string]role {
	m := map[string]role{}
	for _, row := range []struct {
		role  role
		names string
	}{
		{roleCommand, "command commands cmd cmdline commandline shell bash sh powershell argv exec script terminal"},
		{rolePath, "path paths file files filename filepath dir directory folder cwd src source dst dest destination target root location workdir"},
		{roleURL, "url urls uri href link endpoint host hostname webhook address server origin"},
		{roleSQL, "sql query queries statement"},
		{roleContent, "content contents text body data newstring newstr newtext newsource newcontent codeedit cellsource oldstring oldstr filetext inserttext patch diff replacement insert blob"},
		{roleProse, "prompt description message title reason reasoning comment question answer summary note notes task instructions subject thought explanation"},
		{roleCode, "code python javascript js"},
	} {
		for n := range set(row.names) {
			m[n] = row.role
		}
	}
	return m
}()

// runningTools are words in the names of tools that run what they are given.
var runningTools = set("shell bash sh exec execute run terminal command cmd powershell pwsh console process subprocess ssh")

// codeTools run code of a language, queryTools SQL.
var (
	codeTools  = set("python python3 javascript node js interpreter repl ipython jupyter notebook ruby perl php eval evaluate lua")
	queryTools = set("sql query postgres postgresql mysql sqlite database db bigquery snowflake")
)

// words cuts a name such as "execute_command" or "filePath" into its words, in lower case.
func words(name string) []string {
	var b strings.Builder
	b.Grow(len(name) + 4) // the cuts before capitals
	var last rune
	for _, r := range name {
		if r >= utf8.RuneSelf { // what is one character without case: ſ is s
			if folded, _ := utf8.DecodeRuneInString(canon.FoldMember(string(r))); folded < utf8.RuneSelf {
				r = folded
			}
		}
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			b.WriteByte(' ')
		case unicode.IsUpper(r) && unicode.IsLower(last):
			b.WriteByte(' ')
			b.WriteRune(unicode.ToLower(r))
		default:
			b.WriteRune(unicode.ToLower(r))
		}
		last = r
	}
	return strings.Fields(b.String())
}

// listed says whether a word is in a list that is separated by spaces.
func listed(list, word string) bool {
	for at := 0; word != ""; {
		i := strings.Index(list[at:], word)
		if i < 0 {
			return false
		}
		i += at
		end := i + len(word)
		if (i == 0 || list[i-1] == ' ') && (end == len(list) || list[end] == ' ') {
			return true
		}
		at = end
	}
	return false
}

func anyOf(words []string, in map[string]bool) bool {
	for _, w := range words {
		if in[w] {
			return true
		}
	}
	return false
}

// writingTools are words in the names of tools that write what they are given.
var writingTools = set("write create edit append save put replace insert update patch delete remove move rename overwrite str")

// searchTools are words in the names of tools that look for a text, and sought what they
// call it.
var (
	searchTools = set("search grep rg ripgrep")
	sought      = set("pattern patterns query regex regexp q needle term terms keyword keywords")
)

// queryLanguages are names of arguments that say in which language the engine behind a tool is asked,
// and queryTexts those of what such engines are asked.
var (
	queryLanguages = set("promql metricsql logql traceql jmespath jsonpath kql spl gql graphql graphqlquery cypher flux influxql lucene esql dql nrql logsql")
	queryTexts     = set("expr exprs expression expressions filter selector query queries q")
)

// isScript reports whether a shell would take a text for a command. sum by (app) (rate(…)) begins with the
// name of a program, and is none.
func isScript(text string) bool {
	_, err := parse(text)
	if errors.Is(err, errBounds) { // then as far as it can be told from how it begins
		_, err = parse(text[:min(len(text), maxOpeners/4)])
		return err == nil || syntax.IsIncomplete(err)
	}
	return err == nil
}

// toolKind is what a tool's name says of it.
type toolKind struct{ runs, code, writes, queries, searches bool }

// kindOfTool tells it from the name's words.
func kindOfTool(all []string) toolKind {
	return toolKind{anyOf(all, runningTools), anyOf(all, codeTools), anyOf(all, writingTools), anyOf(all, queryTools), anyOf(all, searchTools)}
}

// hints are what the names of one call's arguments say. A list of many texts has one
// name.
type hints map[string]role

func (h hints) of(name string) role {
	r, ok := h[name]
	if !ok {
		r = hint(name)
		h[name] = r
	}
	return r
}

// roleOf tells what a text is from the names around it. A hint that the text's
// form contradicts is not followed.
func roleOf(tool toolKind, names hints, arg, pointer, text string) role {
	name := arg
	if last := lastName(pointer); last != "" && !isDigits(last) {
		name = last
	}
	r := names.of(name)
	if r == roleUnknown && name != arg {
		r = names.of(arg)
	}
	runs, code := tool.runs, tool.code
	switch {
	case queryLanguages[strings.ToLower(name)] && !isSQL(text) && !(looksLikeCommand(text) && isScript(text)),
		!runs && !code && (queryTexts[strings.ToLower(name)] || r == roleSQL && !tool.queries) && formOf(text) == roleCommand && !isScript(text):
		return roleSought // what an engine is asked in its own language
	case tool.searches && !runs && !code && !tool.writes && !tool.queries && (sought[strings.Join(words(name), "")] || sought[strings.Join(words(arg), "")]):
		return roleSought
	case r == roleUnknown && !runs && !code && strings.EqualFold(name, "plan"): // what somebody means to do, for people to read
		return roleProse
	case r == roleCode && runs && !code, r == roleContent && runs && !tool.writes:
		r = roleCommand
	case r == rolePath && (code || runs) && !tool.writes && strings.ContainsAny(text, "(\n"), // a cell's source
		r == roleSQL && (code || runs) && !tool.queries && !isSQL(text):
		if r = roleCommand; code {
			r = roleCode
		}
	case (r == roleContent || r == roleCommand || r == roleUnknown) && code && !runs, r == roleUnknown && code:
		r = roleCode
	case r == roleCode:
		if tool.writes {
			r = roleContent
		}
	case r == roleUnknown && runs:
		r = roleCommand
	case r == roleSQL && !tool.queries && !isSQL(text):
		r = roleUnknown // a search's query, for example
	case r == rolePath && strings.Contains(text, "://"), r == roleURL && !looksLikeHost(text):
		r = roleUnknown
	case r == roleContent && !tool.writes:
		r = roleUnknown
		if strings.ContainsAny(text, "\n") && len(text) > 200 {
			r = roleProse
		}
	case r == roleUnknown && tool.queries && isSQL(text):
		r = roleSQL
	}
	return r
}

func hint(name string) role {
	all := words(name)
	if r := roleNames[strings.Join(all, "")]; r != roleUnknown {
		return r
	}
	for i := len(all) - 1; i >= 0; i-- {
		if r := roleNames[all[i]]; r != roleUnknown {
			return r
		}
	}
	// Capitals in the middle of a word cut it, and programs that compare names
	// without case put it together again: my_comMand.
	for i := 1; i < len(all)-1; i++ {
		if r := roleNames[strings.Join(all[i:], "")]; r != roleUnknown {
			return r
		}
	}
	return roleUnknown
}

// formOf tells what a text is from the text alone.
func formOf(text string) role {
	t := strings.TrimSpace(text)
	if t == "" || !utf8.ValidString(t) {
		return roleUnknown
	}
	switch {
	case isURL(t):
		return roleURL
	case looksLikeCommand(t):
		return roleCommand
	case isSQL(t):
		return roleSQL
	case looksLikePath(t):
		return rolePath
	}
	return roleUnknown
}

func looksLikePath(t string) bool {
	if strings.ContainsAny(t, "\n\"<>|;") || len(t) > 4096 {
		return false
	}
	if strings.Count(t, " ") > 2 {
		return false
	}
	return strings.ContainsAny(t, "/\\") || strings.Contains(strings.ToLower(t), "%2e") || strings.HasPrefix(t, "~") || placeOf(normalPath(t).text).name != ""
}

// looksLikeCommand says whether a text is more likely a command than a
// sentence: it begins with a program that is known, and goes on with what
// sentences do not have.
func looksLikeCommand(t string) bool {
	if len(t) > 64<<10 {
		t = t[:64<<10]
	}
	first := t
	for {
		if i := strings.IndexAny(first, " \t\n;|&<>()"); i >= 0 {
			first = first[:i]
		}
		// Assignments may stand before the program.
		if eq := strings.IndexByte(first, '='); eq <= 0 || !isName(first[:eq]) {
			break
		}
		rest := strings.TrimLeft(t[len(first):], " \t\n;")
		if rest == t || rest == "" {
			break
		}
		t, first = rest, rest
	}
	rest := t[len(first):]
	shellish := strings.ContainsAny(rest, "|;<>&$`/\\~") || strings.Contains(rest, " -") || strings.Contains(rest, "''") || strings.Contains(rest, " '")
	if !shellish {
		return looksWindows(t) && strings.ContainsAny(rest, " ")
	}
	name := baseName(strings.Trim(first, "'\"\\"))
	if programs()[name] {
		// English sentences begin with such words too.
		if englishPrograms[name] && !strings.ContainsAny(rest, "|;<>$`") && !strings.Contains(rest, " -") && !strings.Contains(rest, " /") && !strings.Contains(rest, " ~") {
			return false
		}
		return true
	}
	for _, sign := range []string{"| sh", "|sh", "| bash", "|bash", "/dev/tcp/", "$(", "bash -c", "sh -c", "&& ", "; rm ", ";rm "} {
		if strings.Contains(t, sign) && !strings.Contains(t, ". ") && strings.Count(t, "\n") < 3 {
			return true
		}
	}
	return looksWindows(t) && windowsPrograms[strings.ToLower(name)]
}

// englishPrograms are programs whose names begin sentences.
var englishPrograms = set("find sort cut make test which who history time watch last more less kill top head tail at cat host install split join read write set echo date look file env exec source let for if while type service mount print script")

func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return s != ""
}

// baseName is a program's name without its directory, extension and version.
func baseName(s string) string {
	if i := strings.LastIndexAny(s, "/\\"); i >= 0 {
		s = s[i+1:]
	}
	if len(s) > 4 && strings.EqualFold(s[len(s)-4:], ".exe") {
		s = strings.ToLower(s[:len(s)-4])
	}
	if up := strings.ToUpper(s); up == s { // some systems find CURL as they find curl
		s = strings.ToLower(s)
	}
	for _, p := range versioned {
		rest, ok := strings.CutPrefix(s, p)
		if p == "python" || p == "pypy" { // of a build for debugging, or without the lock
			rest = strings.TrimRight(strings.TrimSuffix(rest, "-dbg"), "dmtu")
		}
		if ok && s != p && strings.Trim(rest, "0123456789.") == "" {
			return p
		}
	}
	return s
}

// versioned are the programs that carry their version in their name.
var versioned = []string{"python", "pypy", "graalpy", "perl", "php", "ruby", "lua", "node", "pip", "tclsh", "wish", "guile"}
