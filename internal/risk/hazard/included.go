package hazard

import (
	"fmt"
	"path"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
)

// A document can take in other files: what builds it puts what stands in them into the page, the book or the
// manifest, which then goes where such things go. A document that takes in a place of secrets has it published by
// whoever builds it, and no later step shows that.

// inclusions are how documents of these ends name what they take in.
var inclusions = []struct {
	ends  string
	names *lazyregexp.Regexp
}{
	{".md .mdx .markdown .qmd .rmd .html .htm .j2 .jinja .jinja2 .tmpl .tpl .njk .liquid .erb .hbs", lazyregexp.New(`\{\{#(?:\w*include|playground|template)\s+([^}\s:]+)|\{[{%]-?\s*<?\s*(?:include(?:-markdown|_relative)?|import|embed|readFile|ssi)\s+["']?([^"'%}\s>]+)|\{!\s*([^!}]+?)\s*!\}|-{1,2}8<-{1,2}\s+["']([^"']+)|(?m:^\s*<<<\s+(\S+))|<!--\s*(?:@include:|#include\s+(?:file|virtual)=)\s*["']?([^"'\s>]+)|!!raw-loader!([^"'\s]+)`)},
	{".adoc .asciidoc .asc", lazyregexp.New(`(?m)^\s*include::([^\[\n]+)\[`)},
	{".rst .rest", lazyregexp.New(`(?m)^\s*\.\.\s+(?:include|literalinclude|csv-table|raw|mdinclude)::\s*(\S+)|^\s+:file:\s*(\S+)`)},
	{".tex .ltx .sty .cls", lazyregexp.New(`\\(?:input|include|verbatiminput|VerbatimInput|lstinputlisting|inputminted|subfile|includepdf)\s*(?:\[[^\]]*\])?(?:\{\w+\})??\{([^}]+)\}|\\openin\\?\w+\s*=\s*(\S+)`)},
	{".typ", lazyregexp.New(`\b(?:read|include|csv|json|yaml|toml)\b\s*\(?\s*"([^"\n]+)"`)},
	{".org", lazyregexp.New(`(?mi)^\s*#\+(?:include|setupfile):\s*"?([^"\s]+)`)},
}

// generatorFiles are the files of a kustomization out of which it makes maps and secrets.
var generatorFiles = lazyregexp.New(`[\[,\s-]\s*["']?(?:[\w.-]+=)?((?:~|\.\.?)?/[^\s"',\]]+)`)

// takesIntoDocument judges that a document is written which takes in what a place of secrets holds.
func (a *assessor) takesIntoDocument(file, text string, at span) {
	if len(text) > maxNestedText {
		return
	}
	base := strings.ToLower(path.Base(slashed(strings.TrimSpace(file))))
	tell := func(name string) bool {
		place := placeOf(normalPath(name).text)
		if climbed := climbedHome(name); !strings.HasPrefix(place.reads, "secret.") && climbed != "" {
			place = placeOf(normalPath(climbed).text)
		}
		if !strings.HasPrefix(place.reads, "secret.") || place.read < 0.6 {
			return false
		}
		a.reportSaying("secret.read", 0.6, at, fmt.Sprintf("%.60q takes in %.100q, in which keys or passwords are kept: who builds it has them in what comes out.", base, name))
		return true
	}
	if strings.HasPrefix(base, "kustomization.") && strings.Contains(text, "Generator") {
		for _, m := range generatorFiles.FindAllStringSubmatch(text, 256) {
			if tell(m[1]) {
				return
			}
		}
	}
	for _, kind := range inclusions {
		if !listed(kind.ends, path.Ext(base)) {
			continue
		}
		for _, m := range kind.names.FindAllStringSubmatch(text, 256) {
			if tell(strings.Join(m[1:], "")) {
				return
			}
		}
	}
}

// climbedHome is the place in a home to which a path leads that climbs out of a project: ../../.aws/credentials. It is
// empty for one that does not, and for what lies beside a project's own files under the same name (../.npmrc).
func climbedHome(name string) string {
	rest := name
	for strings.HasPrefix(rest, "../") || strings.HasPrefix(rest, "./") {
		_, rest, _ = strings.Cut(rest, "/")
	}
	if !strings.HasPrefix(name, "../") && !strings.HasPrefix(name, "./../") || !strings.HasPrefix(rest, ".") || !strings.Contains(rest, "/") {
		return ""
	}
	return "~/" + rest
}
