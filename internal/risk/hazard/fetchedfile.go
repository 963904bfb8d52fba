package hazard

import (
	"path"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
)

// The languages of builds fetch a file by a call that is told an address and a name, and run or take in another by a
// call that is told its name: file(DOWNLOAD …) and include(…), ctx.download(…) and ctx.execute(…). Where both name one
// file, that is code which nobody saw, as it is of curl and sh.

// fetchesAndRuns judges that a text of such a language runs what it fetches from where nobody else takes code.
func (a *assessor) fetchesAndRuns(text string, at span) {
	text = text[:min(len(text), 64<<10)]
	if !strings.Contains(text, "://") {
		return
	}
	names := map[string]string{} // what the text calls some words
	for _, m := range setsWord.FindAllStringSubmatch(text, 64) {
		names[m[1]+m[3]] = m[2] + m[4]
	}
	text = usesWord.ReplaceAllStringFunc(text, func(use string) string {
		if word := names[strings.Trim(use, "${}")]; word != "" {
			return word
		}
		return use
	})
	var script strings.Builder
	for _, m := range fetchesFile.FindAllStringSubmatchIndex(text, 16) {
		address, file, rest := text[m[2]:m[3]], text[m[4]:m[5]], text[m[1]:]
		if !stranger(address) {
			continue // from where everybody takes code
		}
		name := path.Base(slashed(file))
		for _, run := range runsByName.FindAllString(rest, 64) {
			if strings.Contains(run, name) {
				script.WriteString(quotedWords([]string{"curl", "-o", name, address}) + "\n" + quotedWords([]string{".", "./" + name}) + "\n")
				break
			}
		}
	}
	if script.Len() > 0 {
		a.kept(1, asksFrom, func() { a.command(script.String(), &at) })
	}
}

var (
	// setsWord is how such a language calls a word by a name, and usesWord how it says that.
	setsWord = lazyregexp.New(`(?im)^\s*set\s*\(\s*(\w+)\s+"?([^\s()"]+)"?\s*\)|^\s*(\w+)\s*=\s*["']([^"'\n]+)["']\s*$`)
	usesWord = lazyregexp.New(`\$\{\w+\}`)
	// fetchesFile is a call that is told an address and the name of the file that it becomes.
	fetchesFile = lazyregexp.New(`(?i)\b\w*(?:download|urlretrieve|url_retrieve|fetch|get_url|getfile|httpget)\w*[!(\s]+(?:url\s*[=:]\s*)?[\[("']*\s*["']?(\w+://[^\s"',)\]]+)["'\])]*[\s,]+(?:(?:output|to|path|dest|file|filename)\s*[=:]\s*)?["']?([^\s"',)]+)`)
	// runsByName is a call by which one is run, or taken in, to the end of its line.
	runsByName = lazyregexp.New(`(?i)\b(?:execute\w*|exec\w*|system|spawn\w*|popen|run\w*|sh|bash|shell\w*|include\w*|source|load\w*|eval\w*|apply\s+from|require|import|add_subdirectory)\b[^\n]{0,200}`)
)
