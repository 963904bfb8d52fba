package hazard

import (
	"path"
	"slices"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
)

// Languages of which nobody here reads more than what they name can send what they read: a data source of Terraform,
// a policy of OPA, a query of an engine that has functions for files and for addresses.

// handsOver judges a text of such a language: where it takes a file of secrets, or all of the environment, and names an
// address of somebody whom nobody knows, the program that understands it may send the one to the other.
func (a *assessor) handsOver(text string, at span) {
	if !slices.ContainsFunc(addressIn.FindAllString(text, 64), stranger) {
		return
	}
	if allVariables.MatchString(text) || a.namesKeys(text) || readsSecrets(text) {
		a.report("exfil.secret", 0.6, at)
	}
}

// namesKeys reports whether a text names a place of keys.
func (a *assessor) namesKeys(text string) bool {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n=:,;|&<>'\"`(){}", r) }) {
		if !strings.ContainsAny(word, "/~") || len(word) > 512 {
			continue
		}
		for _, file := range []string{word, globbedKeys(word), "~/" + word} { // the program may be told to look in a home
			if pl := a.asPath(file).place(); strings.HasPrefix(pl.reads, "secret.") && pl.read >= 0.6 {
				return true
			}
		}
	}
	return false
}

// readsSecrets reports whether a text reads a project's file of secrets: to name one is ordinary, as for a service
// that is given it.
func readsSecrets(text string) bool {
	named := func(name string) bool { // ${path.module}/../.env
		return len(name) < 512 && InProjects(path.Base(slashed(strings.TrimSpace(name))))
	}
	for _, m := range fileCalls.FindAllStringSubmatch(text, 64) {
		for _, q := range nameInQuotes.FindAllStringSubmatch(m[2], 8) {
			if !strings.Contains(strings.ToLower(m[1]), "exists") && named(q[1]) {
				return true
			}
		}
	}
	for _, m := range filesTaken.FindAllStringSubmatch(text, 64) {
		if named(m[1] + m[2]) {
			return true
		}
	}
	return false
}

var (
	// fileCalls are calls of what reads a file, and what they are given; filesTaken are other ways to say it: a query's,
	// and those of files of requests.
	fileCalls    = lazyregexp.New(`(?i)(\w*(?:file|read|slurp|embed)\w*\s*\(|\bimport(?:str|bin)\s)([^\n)]{0,200})`)
	nameInQuotes = lazyregexp.New("[\"'`]([^\"'`\\n]+)[\"'`]")
	filesTaken   = lazyregexp.New(`(?im)\b(?:from|infile)\s+['"]([^'"\n]+)['"]|^[ \t]*(?:<@?|(?:\w+:[ \t]*)?file,)[ \t]*([^\s;]+)`)
)

// looseTakers are programs whose words, or whose input, are a text of such a language.
var looseTakers = set("opa conftest regal jq gojq jaq yq jsonnet jsonnetfmt gojsonnet cue pkl nickel dhall kcl gomplate consul-template nu vector benthos bento redpanda-connect hurl steampipe osqueryi clickhouse clickhouse-local clickhouse-client chdb duckdb psql mysql mariadb sqlite3 usql sqlcmd cqlsh trino presto spark-sql beeline snowsql bq datafusion-cli dsq octosql")

// handsTexts judges the texts that such a program is given.
func (c *invocation) handsTexts() {
	if !looseTakers[c.name] {
		return
	}
	for _, a := range append(slices.Clip(c.args), c.in) {
		if strings.Contains(a.text, "://") && len(a.text) <= 32<<10 {
			c.handsOver(a.text, c.at)
		}
	}
}
