package hazard

import (
	"fmt"
	"html"
	"path"
	"strconv"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
)

// Many files say where code comes from: a manifest names packages, settings name the registry, the plugins,
// or the very program that builds. From there it is fetched, and run, as soon as somebody installs or builds.
// Who writes such a source has its code run.

// A manifestKind is a kind of file that says where code comes from, and how a source stands in it.
type manifestKind struct {
	files   string // patterns of names, or of a folder and a name
	within  *lazyregexp.Regexp
	sources *lazyregexp.Regexp
	keys    string // or the keys behind which one stands, in lower case, separated by spaces
	before  string // what makes an address of a source, which names only whose it is
	bare    bool   // a host that is put into the file by itself is a part of its source
	tools   bool   // what comes from there is run as it is: whose it is counts, and not who keeps it
}

var manifestKinds = []manifestKind{
	// Programs that are run as they come.
	{files: "gradle-wrapper.properties maven-wrapper.properties", sources: anyAddress, bare: true, tools: true},
	{files: ".bazelversion", sources: lazyregexp.New(`(?m)^[ \t]*([A-Za-z][\w-]*)/[\w.]`), before: "github:", tools: true},
	{files: ".bazeliskrc", sources: lazyregexp.New(`(?m)^[ \t]*USE_BAZEL_VERSION[ \t]*=[ \t]*([A-Za-z][\w-]*)/[\w.]`), before: "github:", tools: true},
	{files: ".puppeteerrc .puppeteerrc.json .puppeteerrc.cjs .puppeteerrc.js .puppeteerrc.ts puppeteer.config.js puppeteer.config.cjs puppeteer.config.ts", keys: "downloadbaseurl baseurl"},
	{files: "package.json electron-builder.yml electron-builder.yaml electron-builder.json electron-builder.json5 electron-builder.js forge.config.js forge.config.ts", keys: "mirror electron_mirror"},
	{files: ".pre-commit-config.yaml .pre-commit-config.yml .yarnrc.yml", sources: anyAddress, tools: true},
	{files: "lefthook.yml lefthook.yaml .lefthook.yml .lefthook.yaml", keys: "git_url giturl", tools: true},
	{files: "package.json", sources: lazyregexp.New(`"packageManager"\s*:\s*"[\w@./-]+?@(https?://[^"\s]+)"`), tools: true},
	{files: ".tflint.hcl", sources: lazyregexp.New(`\bsource\s*=\s*"([\w.-]+\.[\w-]+/[^"\n]+)"`), tools: true},
	{files: "mise.toml .mise.toml mise/config.toml .tool-versions", sources: lazyregexp.New(`((?:ubi|github|gitlab|asdf|vfox|codeberg):[\w.-]+/[\w.-]+)`), tools: true},
	{files: "mise.toml .mise.toml mise/config.toml", within: lazyregexp.New(`(?s)\[(?:plugins|tools)[^\]\n]*\].*?(?:\n\s*\[|$)`), sources: anyAddress, tools: true},
	{files: "Brewfile", sources: lazyregexp.New(`(?m)^\s*tap\s*\(?\s*["'][^"'\n]+["']\s*,\s*["']([^"'\n]+)["']`), tools: true},
	{files: ".trunk/trunk.yaml", keys: "uri", tools: true},
	{files: "Taskfile.yml Taskfile.yaml taskfile.yml taskfile.yaml", sources: lazyregexp.New(`(?m)^\s*(?:taskfile|[\w.-]+)\s*:\s*["']?((?:git\+)?(?:https?|ssh|git)://\S+?\.(?:ya?ml|git)[^\s"']*)`), tools: true},

	// Packages and modules.
	{files: "package.json", sources: lazyregexp.New(`"(?:[@\w./>*-]+)"\s*:\s*"((?:git\+|git:|git@)[^"\s]+|https?://[^"\s]+\.(?:tgz|tar\.gz|git)(?:[#?][^"\s]*)?)"`)},
	{files: "package.json", within: lazyregexp.New(`"(?:overrides|resolutions)"\s*:\s*\{[^}]*(?:\}|$)`), sources: lazyregexp.New(`"\s*:\s*"((?:github|gitlab|bitbucket|gist):[^"\s]+)"`), tools: true}, // in the place of another's package
	{files: "pnpm-workspace.yaml", sources: anyAddress},
	{files: "package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock", keys: "resolved tarball resolution"},
	{files: "bunfig.toml", keys: "url registry"},
	{files: "Cargo.toml .cargo/config.toml .cargo/config", keys: "git registry-index index registry proxy"},
	{files: "Cargo.lock", keys: "source"},
	{files: "requirements*.txt constraints*.txt requirements*.in *.requirements", sources: lazyregexp.New(`(?m)(?:^|[\s@])((?:git|hg|svn|bzr)\+[^\s;#]+|https?://[^\s;#]+)`)},
	{files: "pyproject.toml Pipfile uv.toml setup.py setup.cfg environment.yml environment.yaml poetry.toml", sources: lazyregexp.New(`(?m)@\s*((?:git\+)?(?:https?|ssh)://[^\s"'\];,]+)|^\s*(?:[\w.-]+\s*=\s*\{[^}\n]*)?\b(?:git|url|index-url|index|extra-index-url)\s*=\s*["']((?:git\+)?(?:https?|ssh)://[^"'\n]+)["']|^\s*-\s*(git\+[^\s#]+)`)},
	{files: "uv.lock poetry.lock pdm.lock Pipfile.lock", keys: "url registry git index"},
	{files: ".condarc condarc environment.yml environment.yaml", sources: lazyregexp.New(`(?m)^\s*-\s*["']?(https?://[^\s"']+)`)},
	{files: "go.mod go.work", sources: lazyregexp.New(`(?m)=>\s*([\w-]+(?:\.[\w-]+)+/\S+)`)},
	{files: "Gemfile gems.rb *.gemspec Podfile", sources: lazyregexp.New(`(?m)(?:^\s*source|\bgit(?:_source)?:?\s*(?:=>)?|\bsource:)\s*\(?\s*["']([^"'\n]+)["']`)},
	{files: "Gemfile.lock", keys: "remote"},
	{files: "Cartfile", sources: lazyregexp.New(`(?m)^\s*(?:git|binary)\s+"([^"\n]+)"`)},
	{files: "composer.json", sources: lazyregexp.New(`"type"\s*:\s*"(?:vcs|git|composer|package|artifact)"\s*,\s*"url"\s*:\s*"([^"\n]+)"|"url"\s*:\s*"([^"\n]+)"\s*,\s*"type"\s*:\s*"(?:vcs|git|composer|package)"`)},
	{files: "deno.json deno.jsonc import_map.json", sources: lazyregexp.New(`"\s*:\s*"(https?://[^"\n]+)"`)},
	{files: "mix.exs Package.swift pubspec.yaml pubspec_overrides.yaml rebar.config shard.yml build.zig.zon flake.nix flake.lock devenv.yaml devbox.json stack.yaml *.opam deps.edn dub.json dub.sdl *.nimble fpm.toml", sources: lazyregexp.New(`(?m)\b(?:git|hg|url|package|hosted|location|resolver|archive|requires|pin-depends|packages)"?\s*[:=(,\s]\s*(?:\[\s*)*(?:"[^"\n]*"\s+)?(?:url:\s*)?["']?((?:git\+)?(?:https?|ssh|git)://[^\s"',)\]}]+)`)},
	{files: "vcpkg-configuration.json", keys: "repository location"},
	{files: "build.gradle build.gradle.kts settings.gradle settings.gradle.kts", sources: lazyregexp.New(`\b(?:url|uri|maven|from)\s*[=({:]?\s*(?:uri\()?\s*["'](https?://[^"'\n]+)["']`)},
	{files: "pom.xml .m2/settings.xml .mvn/settings.xml settings.xml", within: lazyregexp.New(`(?s)<(?:repositories|pluginRepositories|mirrors)>.*?(?:</(?:repositories|pluginRepositories|mirrors)>|$)`), sources: lazyregexp.New(`<url>\s*([^<\s]+)`)},
	{files: "nuget.config", sources: lazyregexp.New(`(?i)\bvalue\s*=\s*["'](https?://[^"'\s]+)`)},
	{files: "*.csproj *.fsproj *.vbproj *.props *.targets", sources: lazyregexp.New(`(?i)<Restore(?:Additional(?:Project)?)?Sources[^>]*>[^<]*?(https?://[^;<\s]+)`)},
	{files: "WORKSPACE WORKSPACE.bazel MODULE.bazel WORKSPACE.bzlmod *.bzl", within: lazyregexp.New(`\b(?:urls?|remote|registry)\s*=\s*(?:\[[^\]]*\]?|["'][^"'\n]*["'])`), sources: anyAddress},
	{files: ".bazelrc", sources: lazyregexp.New(`--registry[= ]["']?([\w+]+://[^\s"']+)`)},
	{files: "build.sbt project/*.sbt", sources: lazyregexp.New(`\bat\s+"(https?://[^"\n]+)"`)},
	{files: "CMakeLists.txt *.cmake", sources: lazyregexp.New(`(?m)\b(?:GIT_REPOSITORY|URL|SVN_REPOSITORY)\s+"?([a-z+]+://[^\s")]+)`)},
	{files: "*.wrap", keys: "url source_url patch_url"},
	{files: "*.tf", sources: lazyregexp.New(`\bsource\s*=\s*"((?:git::|hg::)?[a-z]+://[^"\n]+|[\w-]+(?:\.[\w-]+)+/[^"\n]+)"`)},
	{files: "requirements.yml requirements.yaml", keys: "src source url name"},
	{files: "Vagrantfile", keys: "config.vm.box_url vm.box_url box_url"},
}

// anyAddress is an address wherever it stands, outside of comments.
var anyAddress = lazyregexp.New(`([a-z][a-z+]*://[^\s"'<>,;)\]}]+|git@[\w.-]+:[^\s"'<>,;)\]}]+)`)

// plainHost is a host, and what may stand behind it, without a scheme.
var plainHost = lazyregexp.New(`^[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}(?:/\S*)?$`)

// keyedAddress is a key and the address that stands behind it, in any of the forms of settings.
var keyedAddress = lazyregexp.New(`(?i)(?:^|[^\w.-])["']?([\w.-]+)["']?\s*(?:=>|[:=\s])\s*(?:[>|][-+]?\s+)?[\[{(\s]*["']?([a-z][a-z0-9+:]*://[^\s"'<>,;)\]}]+|git@[\w.-]+:[^\s"'<>,;)\]}]+)`)

// addressesIn are the addresses in a text that the kind says are sources.
func (k *manifestKind) addressesIn(text string) (sources []string) {
	if k.keys != "" {
		for _, m := range keyedAddress.FindAllStringSubmatch(text, maxSources) {
			if listed(k.keys, strings.ToLower(m[1])) {
				sources = append(sources, m[2])
			}
		}
		return sources
	}
	if host := strings.TrimSpace(text); k.bare && plainHost.MatchString(host) && !listed(".zip .jar .gz .sha256", path.Ext(before(host, '/'))) {
		sources = append(sources, "https://"+host)
	}
	for _, m := range k.sources.FindAllStringSubmatch(text, maxSources) {
		for _, source := range m[1:] {
			if source != "" {
				sources = append(sources, k.before+source)
			}
		}
	}
	return sources
}

// foreignSource finds an address in a file from which nobody else takes code.
func (t *Table) foreignSource(file, text string) (address string, found bool) {
	parts := strings.Split(strings.ToLower(slashed(strings.TrimSpace(file))), "/")
	text = asRead(text)
	for i := range manifestKinds {
		kind := &manifestKinds[i]
		if !kind.isOf(parts) {
			continue
		}
		texts := []string{text}
		if kind.within != nil {
			texts = kind.within.FindAllString(text, maxSettings)
		}
		for _, text := range texts {
			for _, source := range kind.addressesIn(text) {
				if source != "" && t.foreignTo(source, kind.tools) {
					return source, true
				}
			}
		}
	}
	return "", false
}

// maxSources is how many sources of one file are looked at.
const maxSources = 4096

// isOf reports whether a file, by the parts of its path in lower case, is one of the kind.
func (k *manifestKind) isOf(parts []string) bool {
	for pattern := range strings.FieldsSeq(strings.ToLower(k.files)) {
		if p := strings.Split(pattern, "/"); len(p) <= len(parts) && matchesParts(p, parts[len(parts)-len(p):]) {
			return true
		}
	}
	return false
}

// asRead is a text of settings without its comments, in which signs stand as they are that can be written
// as others: https\://, \u0068ttps://, &#104;ttps://, a line that goes on in the next.
func asRead(text string) string {
	text = html.UnescapeString(settingComment.ReplaceAllString(text, "$1$2"))
	if !strings.Contains(text, `\`) {
		return text
	}
	text = goesOn.ReplaceAllString(text, "")
	text = escapedSign.ReplaceAllStringFunc(text, func(s string) string {
		if n, err := strconv.ParseUint(strings.Trim(s[2:], "{}"), 16, 32); err == nil && n < 0x80 {
			return string(rune(n))
		}
		return s
	})
	return strings.NewReplacer(`\/`, "/", `\:`, ":", `\=`, "=").Replace(text)
}

var (
	settingComment = lazyregexp.New(`(?m)^((?:[^"'\n]*[ \t])?)#.*$|^([ \t]*)//.*$`) // no quote stands before it
	goesOn         = lazyregexp.New(`\\\r?\n[ \t]*`)
	escapedSign    = lazyregexp.New(`\\(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|U[0-9A-Fa-f]{8}|u\{[0-9A-Fa-f]{1,6}\})`)
)

// forges are where everybody has a place of his own, and ways in which tools name one there.
var (
	forges     = set("github.com raw.githubusercontent.com gist.github.com gist.githubusercontent.com api.github.com codeload.github.com gitlab.com bitbucket.org codeberg.org gitea.com git.sr.ht sr.ht sourceforge.net huggingface.co cdn.jsdelivr.net unpkg.com esm.sh")
	shortForms = map[string]string{"github": "github.com", "gh": "github.com", "ubi": "github.com", "asdf": "github.com", "vfox": "github.com", "gist": "gist.github.com", "gitlab": "gitlab.com", "bitbucket": "bitbucket.org", "codeberg": "codeberg.org", "sourcehut": "git.sr.ht"}
)

// foreignTo reports whether a source is an address from which nobody else takes code; of a tool that is run
// as it comes, whether it is the place of somebody of whom nothing is known.
func (t *Table) foreignTo(source string, tools bool) bool {
	address := asAddress(source)
	if stranger(address) {
		return true
	}
	h := hostOf(address)
	if !tools || h.name == "" {
		return false
	}
	if owner, is := strings.CutSuffix(h.name, ".github.io"); is {
		return !t.makers["github.com/"+owner]
	}
	if !forges[h.name] {
		return false
	}
	owner := strings.ToLower(before(strings.TrimPrefix(strings.TrimPrefix(strings.TrimLeft(h.path, "/"), "repos/"), "~"), '/'))
	if h.name == "gitlab.com" || h.name == "codeberg.org" {
		return !t.makers[h.name+"/"+owner]
	}
	return owner != "" && !t.makers["github.com/"+owner]
}

// asAddress is a source of packages as an address: git+https://…, git@host:path, github:owner/name, host/path of
// a module.
func asAddress(source string) string {
	for _, before := range []string{"git+", "git::", "hg+", "hg::", "svn+", "sparse+", "registry+"} {
		source = strings.TrimPrefix(source, before)
	}
	if at := strings.Index(source, "://"); at >= 0 {
		return source
	}
	if rest, ok := strings.CutPrefix(source, "git@"); ok {
		return "ssh://" + strings.Replace(rest, ":", "/", 1)
	}
	if form, rest, ok := strings.Cut(source, ":"); ok && shortForms[form] != "" {
		return "https://" + shortForms[form] + "/" + rest
	}
	return "https://" + source
}

// packagesFrom judges that a file is written by which code is fetched from somebody of whom nothing
// is known.
func (a *assessor) packagesFrom(file, text string, at span) {
	if len(text) > maxNestedText {
		return
	}
	if source, foreign := a.table.foreignSource(file, text); foreign {
		a.reportSaying("code.foreign", 0, at, fmt.Sprintf("%.60q says that code comes from %.100q, which is no usual place for it.", path.Base(slashed(file)), source))
	}
}

// takesTool judges that a command installs, or runs at once, a program that lies at an address: a plugin, an
// extension, a package of a repository. short says that owner/name is one.
func (c *invocation) takesTool(short bool) {
	for _, a := range c.taken() {
		if a.text == "--" {
			return
		}
		word := sourceIn(a.text)
		if word == "" && short && !c.liesHere(a.text) {
			word = repositoryIn(a.text)
		}
		if alias, owner, ok := strings.Cut(a.text, "@"); ok && alias != "" && word == "" && c.name == "jbang" && ownersName.MatchString(owner+"/jbang-catalog") {
			word = "github:" + owner + "/jbang-catalog"
		}
		if word != "" && c.table.foreignTo(word, true) {
			c.reportSaying("code.foreign", 0, c.at, fmt.Sprintf("%.40q takes a program from %.100q, of whom nothing is known.", c.name, word))
			return
		}
	}
}

// liesHere reports whether a word names a file that the disk has, or by its end one of a project.
func (c *invocation) liesHere(word string) bool {
	end := strings.ToLower(path.Ext(word))
	return (fileEnds[strings.TrimPrefix(end, ".")] || codeEnds[end]) && !strings.Contains(word, "@") || c.missing != nil && !c.missing(word)
}

// sourceIn is the source of a program that a word names as one, however that is written: name@https://…,
// --from=git+https://…, gh:owner/name, git@host:path, github.com/owner/name. It is empty where there is none.
func sourceIn(word string) string {
	if name, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(name, "-") {
		word = value
	}
	if i := strings.Index(word, "://"); i >= 0 {
		for i > 0 && (isLetter(word[i-1]) || word[i-1] == '+') {
			i--
		}
		return word[i:]
	}
	host, rest, under := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(word, "git::"), "www."), "/")
	form, _, named := strings.Cut(word, ":")
	if named && shortForms[form] != "" || strings.HasPrefix(word, "git@") || under && forges[host] && rest != "" {
		return word
	}
	return ""
}

// repositoryIn is the repository at GitHub that owner/name means, of whatever version, or name@owner/repository;
// empty where a word names none.
func repositoryIn(word string) string {
	if name, behind, ok := strings.Cut(word, "@"); ok && name != "" {
		if word = name; !strings.Contains(name, "/") {
			word = behind
		}
	}
	if !ownersName.MatchString(word) {
		return ""
	}
	return "github:" + word
}

// ownersName is owner/name, and what is named in it.
var ownersName = lazyregexp.New(`^[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*(?:/[\w.@+-]+)?$`)
