package hazard

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/rawjson"
)

// What files of some languages take in of others: behind the words for it, by the name of a file,
// or of a module.
var (
	pythonTakes = lazyregexp.New(`(?m)(?:^|;)[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+\(?([\w, ]+)|import[ \t]+([\w., ]+))`)
	scriptTakes = lazyregexp.New("(?:\\brequire|\\bimport|\\bmock|\\brequireActual|\\bimportActual)\\s*\\(\\s*[\"'`]([^\"'`\n$]+)[\"'`]|(?m:^\\s*(?:import|export)\\b[^\"'\\n]*[\"']([^\"'\\n]+)[\"'])|\\bfrom\\s+[\"']([^\"'\\n]+)[\"']")
	makeTakes   = lazyregexp.New(`(?m)^[ \t]*-?s?include[ \t]+([^\n#]+)`)
	rubyTakes   = lazyregexp.New(`(?m)^\s*(?:require_relative|require|load)\s*\(?\s*["']([^"'\n]+)["']`)
)

// evaluating are the words by which programs of other languages run what stands in a file, or make of it objects
// that may do anything, and quotedFile is a text that names one.
var (
	evaluating = map[string]*lazyregexp.Regexp{
		"ruby": lazyregexp.New(`\b(?:eval|instance_eval|class_eval|module_eval|Marshal\.(?:load|restore)|YAML\.unsafe_load|Fiddle)\b|(?:^|[^.\w])load\b`),
		"php":  lazyregexp.New(`(?i)\b(?:eval|assert|create_function|unserialize|FFI)\b|\b(?:include|require)(?:_once)?\b[^;]*(?:\$|file_get)`),
		"perl": lazyregexp.New(`\beval\b\s*[^\s{]|\b(?:do|require)\s*\(?\s*\$|\b(?:Storable|retrieve|thaw|dl_load_file)\b`),
		"lua":  lazyregexp.New(`\b(?:load|loadstring|dofile|loadfile|loadlib)\b`),
	}
	included   = lazyregexp.New(`(?i)\b(?:do|include|include_once|require|require_once|dofile|loadfile)\b\s*\(?\s*["']([^"'\n]+\.[\w]+)["']`)
	quotedFile = lazyregexp.New(`["']((?:[\w.~-]*/)+[\w.-]+|[\w-]+(?:\.[\w-]+)+)["']`)
)

const (
	mostTaken   = 12  // files that one takes in are told of a text that a call writes
	mostOfATest = 512 // and of one on the disk, of which several may be meant by one word
)

// Takes are the files that a text takes in by the words of its language, or names where it is one of
// settings: each by its name, in the folder that it says, and the patterns by which it says which
// files are tests.
func Takes(name, text string) []string {
	t := intake{most: mostOfATest}
	t.in(strings.ToLower(path.Base(slashed(name))), text[:min(len(text), maxProgram)])
	return t.files
}

// takenIn are the names of the files that a text takes in by the words of its language.
func takenIn(name, text string) (files []string) {
	t := intake{most: mostTaken, bare: true}
	t.in(name, text)
	return t.files
}

// An intake is what a text takes in.
type intake struct {
	files []string
	most  int
	bare  bool // by their names alone
}

// add notes the file of a word, with the first of these ends by which it may be meant where it has none.
func (t *intake) add(word string, ends ...string) {
	word = strings.Trim(word, " \t,;()\"'")
	if word == "" || strings.ContainsAny(word, " $*") || len(word) > 1024 {
		return
	}
	if ext := path.Ext(word); len(ends) == 0 || ext != "" && slices.Contains(ends, ext) {
		ends = []string{""}
	}
	for _, end := range ends {
		if base := scriptName(word + end); base != "" {
			if !t.bare {
				base = slashed(word + end)
			}
			t.note(base)
		}
	}
}

func (t *intake) note(name string) {
	if !slices.Contains(t.files, name) && len(t.files) < t.most {
		t.files = append(t.files, name)
	}
}

func (t *intake) in(name, text string) {
	_, isSource := sourceOf(name)
	switch lang := languageOfFile(name, text); {
	case lang == "python":
		t.ofPython(text)
		t.ofNames(text)
	case lang == "js":
		t.ofScripts(name, text)
		if isBuildFile(name) {
			t.ofSettings(text)
		}
	case lang == "ruby":
		for _, m := range rubyTakes.FindAllStringSubmatch(text, 64) {
			t.add(m[1], ".rb")
		}
	case isJustfile(name):
		for _, m := range justTaken.FindAllStringSubmatch(text, 64) {
			if m[2] != "" {
				t.add(m[2], "")
			} else if m[1] != "" {
				t.add(m[1]+".just", "")
				t.add(m[1]+"/mod.just", "")
				t.add(m[1]+"/justfile", "")
			}
		}
	case isMakefile(name):
		for _, m := range makeTakes.FindAllStringSubmatch(text, 64) {
			for word := range strings.FieldsSeq(m[1]) {
				t.add(word, "")
			}
		}
	case isPlaybook(name, text):
		for _, file := range readPlaybook(text).takes {
			t.add(file)
		}
	case listed(".yaml .yml", path.Ext(name)) && pandocFilters.MatchString(text):
		for _, word := range filtersIn(text) {
			t.add(word.text, "")
		}
	case name == "package.json":
		t.ofSettings(packageSettings(text))
	case !isSource && (isBuildFile(name) || isTaskFile(name)) && !imageFile.MatchString(name):
		t.ofSettings(text)
		t.ofNames(text)
	}
	if runs := evaluating[languageOfFile(name, text)]; runs != nil {
		names := included
		if runs.MatchString(text) {
			names = quotedFile
		}
		for _, m := range names.FindAllStringSubmatch(text, 64) {
			t.add(m[1], "")
		}
	}
}

// ofPython are modules, of which those that most programs take in stand at the end.
func (t *intake) ofPython(text string) {
	var every []string
	for _, m := range pythonTakes.FindAllStringSubmatch(text, 64) {
		from := strings.TrimLeft(m[1], ".")
		above := m[1][:len(m[1])-len(from)]
		folder := strings.Repeat("../", max(len(above)-1, 0))
		for word := range strings.FieldsFuncSeq(m[1]+","+m[2]+","+m[3], func(r rune) bool { return r == ',' }) {
			word, _, _ = strings.Cut(strings.TrimSpace(word), " ") // import a as b
			at := folder + strings.ReplaceAll(strings.TrimLeft(word, "."), ".", "/")
			if module := word[strings.LastIndexByte(word, '.')+1:]; everyModule[module] {
				every = append(every, at)
				continue
			}
			t.add(at, ".py")
			if !t.bare {
				t.inPackages(at)
				if from != "" && word != m[1] { // a module of a package
					t.add(folder+strings.ReplaceAll(from, ".", "/")+"/"+word, ".py")
				}
			}
		}
	}
	for _, word := range every { // one of them may lie beside it all the same
		t.add(word, ".py")
	}
}

// inPackages notes what is run of a module that is a package, and of those that it lies in.
func (t *intake) inPackages(at string) {
	for ; at != "." && at != "/" && path.Base(at) != ".."; at = path.Dir(at) {
		t.add(at+"/__init__", ".py")
	}
}

// moduleNamed is a text that names a module of Python, or something in one (shop.settings, app.main:app), and
// appsNamed are the packages that Django takes in.
var (
	moduleNamed = lazyregexp.New(`["']([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)(?::[A-Za-z_][\w.]*)?["']|["']([A-Za-z_]\w*):[A-Za-z_][\w.]*["']`)
	appsNamed   = lazyregexp.New(`(?s)\bINSTALLED_APPS\b[^\[(]*[\[(](.*?)[\])]`)
	plainModule = lazyregexp.New(`["']([A-Za-z_]\w*)["']`)
)

// ofNames are the modules that a text names by texts: those that a program takes in when it runs.
func (t *intake) ofNames(text string) {
	if t.bare {
		return
	}
	for _, m := range moduleNamed.FindAllStringSubmatch(text, 64) {
		at := strings.ReplaceAll(m[1]+m[2], ".", "/")
		t.add(at, ".py")
		t.inPackages(at)
		if strings.Contains(at, "/") { // a name in a module
			t.add(path.Dir(at), ".py")
		}
	}
	for _, m := range appsNamed.FindAllStringSubmatch(text, 4) {
		for _, app := range plainModule.FindAllStringSubmatch(m[1], 64) {
			for _, module := range []string{"__init__", "apps", "models", "admin", "signals", "urls", "checks"} {
				t.add(app[1]+"/"+module, ".py")
			}
		}
	}
}

// scriptEnds are the ends by which a module of JavaScript may be meant.
var scriptEnds = []string{".js", ".ts", ".mjs", ".cjs", ".tsx", ".jsx", ".mts", ".cts"}

// ofScripts are modules of JavaScript: those of the same kind come first. Where its names are not those
// of files, as with settings of its own for what they stand for, the last part is.
func (t *intake) ofScripts(name, text string) {
	var words []string
	for _, m := range scriptTakes.FindAllStringSubmatch(text, 64) {
		word := m[1] + m[2] + m[3]
		if word = strings.TrimLeft(word, "@~#/"); word == "" || strings.HasPrefix(word, "node:") || t.bare && !strings.HasPrefix(word, ".") {
			continue
		}
		if words = append(words, word); listed(".js .mjs .cjs .jsx", path.Ext(word)) { // which may be made of another
			words = append(words, strings.TrimSuffix(word, path.Ext(word)))
		}
	}
	ends := slices.Clone(scriptEnds)
	if own := path.Ext(name); slices.Contains(ends, own) {
		ends = append([]string{own}, ends...)
	}
	for _, end := range ends {
		for _, word := range words {
			if slices.Contains(scriptEnds, path.Ext(word)) {
				t.add(word)
				continue
			}
			if t.add(word, end); !t.bare {
				t.add(word+"/index", end)
			}
		}
	}
}

// testsAre begins what says which files are tests, in settings of what runs them.
var testsAre = lazyregexp.New(`\b(?:testMatch|testRegex|testFiles|testDir|specPattern|specs?|include|files|suites)\b["']?\s*[:=]\s*(\[(?s:.{0,512}?)\]\s*(?:[,}\n]|$)|[^\n]{0,512})`)

// ofSettings are the scripts that settings name, and the tests that they say there are.
func (t *intake) ofSettings(text string) {
	text = text[:min(len(text), 32<<10)]
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" \t\n=,;|&'\"`(){}[]:", r) }) {
		top := strings.TrimPrefix(word, "<rootDir>/")
		switch {
		case !strings.HasPrefix(top, "./") && !runnable.MatchString(top) && top == word:
		case !t.bare && path.Ext(top) == "":
			t.add(top, append([]string{""}, scriptEnds...)...)
		default:
			t.add(top, "")
		}
	}
	if t.bare {
		return
	}
	for _, m := range testsAre.FindAllStringSubmatch(text, 16) {
		for word := range strings.FieldsFuncSeq(alternatives.ReplaceAllString(m[1], "*"), func(r rune) bool { return strings.ContainsRune(" \t\n,'\"`", r) }) {
			if strings.Contains(word, "*") {
				t.note(testsLike(word))
			}
		}
	}
}

// testsLike is the pattern of the tests that a pattern of settings stands for: what their names are like,
// and the last folder before them that has a name.
func testsLike(pattern string) string {
	folder, name := path.Split(strings.TrimSuffix(pattern, "]"))
	if _, err := path.Match(name, ""); err != nil || strings.ContainsAny(name, "\\$^|+") || name == "" { // an expression, and not a pattern
		return AnyFile
	}
	for part := range strings.SplitSeq(folder, "/") {
		if part != "" && part != "." && part != ".." && !strings.ContainsAny(part, "*?[<>$") {
			folder = part
		}
	}
	if folder = strings.Trim(folder, "/"); folder == "" || strings.ContainsAny(folder, "*?[<>$/") {
		return name
	}
	return folder + "/" + name
}

// alternatives are parts of a pattern of which one stands there.
var alternatives = lazyregexp.New(`\{[^{}]*\}|[?@+*!]\([^()]*\)`)

// packageSettings are the settings of a package that are no scripts and speak of no other packages.
func packageSettings(text string) string {
	doc, err := rawjson.Parse([]byte(text))
	if err != nil {
		return ""
	}
	var b strings.Builder
	for name, value := range doc.Root().Members() {
		if !listed("scripts dependencies devDependencies peerDependencies optionalDependencies overrides resolutions engines files", name) {
			fmt.Fprintf(&b, "%q: %s\n", name, value.Raw())
		}
	}
	return b.String()
}

var (
	// imageFile is a file that says what goes into an image, and is not run when that is made.
	imageFile = lazyregexp.New(`(?i)(?:docker|container)file|compose`)
	// runnable is a path that ends as scripts do, or leads from the folder's top to where tools lie.
	runnable = lazyregexp.New(`^[\w@./-]+\.(?:sh|bash|zsh|py|rb|pl|php|js|mjs|cjs|ts|mts|cts|lua|jar|so|dylib|exe|gradle|rc|m4|mk|cmake|bzl)$|^(?:tools?|scripts?|bin|build|hack|ci|dev)/[\w./-]+$`)
)

// everyModule are modules of Python that most programs take in, and nobody's own files.
var everyModule = set("os sys re json time math typing pathlib subprocess collections datetime logging argparse itertools functools random string io abc enum dataclasses contextlib shutil tempfile unittest pytest asyncio threading socket hashlib base64 csv copy uuid inspect traceback warnings signal glob urllib request http requests numpy pandas np pd plt matplotlib torch tensorflow sklearn flask fastapi pydantic django sqlalchemy httpx click rich yaml toml __future__ annotations Any Optional Path")
