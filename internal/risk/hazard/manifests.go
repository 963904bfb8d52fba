package hazard

import (
	"path"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
)

// A manifest names packages, and may name where each comes from: from there code is fetched, and run,
// as soon as somebody installs or builds. Who writes such a source has its code run.

// A manifestKind is a kind of file that names packages, and how a source stands in it.
type manifestKind struct {
	files   string // patterns of names
	sources *lazyregexp.Regexp
}

var manifestKinds = []manifestKind{
	{"package.json", lazyregexp.New(`"(?:[@\w./>*-]+)"\s*:\s*"((?:git\+|git:|git@)[^"\s]+|https?://[^"\s]+\.(?:tgz|tar\.gz|git)(?:[#?][^"\s]*)?)"`)},
	{"Cargo.toml config.toml", lazyregexp.New(`(?m)\b(?:git|registry-index|index)\s*=\s*["']([^"'\n]+)["']`)},
	{"requirements*.txt constraints*.txt requirements*.in *.requirements", lazyregexp.New(`(?m)(?:^|[\s@])((?:git|hg|svn|bzr)\+[^\s;#]+|https?://[^\s;#]+)`)},
	{"pyproject.toml Pipfile uv.toml setup.py setup.cfg environment.yml environment.yaml poetry.toml", lazyregexp.New(`(?m)@\s*((?:git\+)?(?:https?|ssh)://[^\s"'\];,]+)|^\s*(?:[\w.-]+\s*=\s*\{[^}\n]*)?\b(?:git|url|index-url|index|extra-index-url)\s*=\s*["']((?:git\+)?(?:https?|ssh)://[^"'\n]+)["']|^\s*-\s*(git\+[^\s#]+)`)},
	{"go.mod go.work", lazyregexp.New(`(?m)=>\s*([\w-]+(?:\.[\w-]+)+/\S+)`)},
	{"Gemfile gems.rb *.gemspec", lazyregexp.New(`(?m)(?:^\s*source|\bgit(?:_source)?:?\s*(?:=>)?|\bsource:)\s*\(?\s*["']([^"'\n]+)["']`)},
	{"composer.json", lazyregexp.New(`"type"\s*:\s*"(?:vcs|git|composer|package|artifact)"\s*,\s*"url"\s*:\s*"([^"\n]+)"|"url"\s*:\s*"([^"\n]+)"\s*,\s*"type"\s*:\s*"(?:vcs|git|composer|package)"`)},
	{"deno.json deno.jsonc import_map.json", lazyregexp.New(`"\s*:\s*"(https?://[^"\n]+)"`)},
	{"mix.exs Package.swift pubspec.yaml rebar.config shard.yml build.zig.zon flake.nix", lazyregexp.New(`(?m)\b(?:git|url|package)\s*[:=(]\s*(?:url:\s*)?["']?((?:git\+)?(?:https?|ssh|git)://[^\s"',)]+)`)},
	{"build.gradle build.gradle.kts settings.gradle settings.gradle.kts", lazyregexp.New(`\b(?:url|uri|maven)\s*[=({]?\s*(?:uri\()?\s*["'](https?://[^"'\n]+)["']`)},
}

// manifestSource finds an address in a manifest from which nobody else fetches packages.
func manifestSource(file, text string) (address string, found bool) {
	base := path.Base(slashed(strings.TrimSpace(file)))
	for i := range manifestKinds {
		kind := &manifestKinds[i]
		named := false
		for pattern := range strings.FieldsSeq(kind.files) {
			named = named || matchName(strings.ToLower(pattern), strings.ToLower(base))
		}
		if !named || base == "config.toml" && !strings.Contains(slashed(file), ".cargo/") {
			continue
		}
		for _, m := range kind.sources.FindAllStringSubmatch(text, maxSettings) {
			for _, address := range m[1:] {
				if address != "" && stranger(asAddress(address)) {
					return address, true
				}
			}
		}
	}
	return "", false
}

// asAddress is a source of packages as an address: git+https://…, git@host:path, host/path of a module.
func asAddress(source string) string {
	source = strings.TrimPrefix(source, "git+")
	switch {
	case strings.Contains(source, "://"):
		return source
	case strings.HasPrefix(source, "git@"):
		return "ssh://" + strings.Replace(source, ":", "/", 1)
	}
	return "https://" + source
}

// packagesFrom judges that a file is written by which packages are fetched from somebody of whom nothing
// is known.
func (a *assessor) packagesFrom(file, text string, at span) {
	if len(text) > maxNestedText {
		return
	}
	if _, foreign := manifestSource(file, text); foreign {
		a.report("code.foreign", 0, at)
	}
}
