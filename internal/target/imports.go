package target

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/regular"
	"reeve.example/reeve/internal/risk/hazard"
)

// takesIn tells the files that a file of orders takes in, as its program names them. known is
// false where that shows only when it runs.
type takesIn func(file string, text []byte) (files []string, known bool)

// ordersOf are the programs whose files of orders take in others, also those that their words
// name (make -f x).
var ordersOf = map[string]takesIn{
	"make": makeIncludes, "gmake": makeIncludes, "just": justImports, "task": taskIncludes,
	"npm": npmScripts, "pnpm": npmScripts, "yarn": npmScripts, "bun": npmScripts, "git": gitTakes,
}

// isHook reports whether a file is one of those that Git runs by itself.
func isHook(file string) bool {
	return slices.ContainsFunc([]string{"hooks", ".githooks", ".husky", "_"}, func(in string) bool { return path.Base(path.Dir(filepath.ToSlash(file))) == in })
}

// orders are what a program takes from a file, as it was called.
type orders struct {
	program string
	words   []string
}

// ordersFor notes that a file may hold orders for a program that is called with some words.
func (m *Aim) ordersFor(o orders, file string) {
	n := named{file, runs}
	if ordersOf[o.program] == nil || slices.ContainsFunc(m.orders[n], func(had orders) bool { return had.program == o.program && slices.Equal(had.words, o.words) }) {
		return
	}
	if m.orders == nil {
		m.orders = map[named][]orders{}
	}
	m.orders[n] = append(m.orders[n], o)
}

// usualNames are files of orders by which their kind is known, whatever they are called here (make -f x).
var usualNames = map[string]string{"make": "Makefile", "gmake": "Makefile", "just": "justfile", "task": "Taskfile.yml", "npm": "package.json", "pnpm": "package.json", "yarn": "package.json", "bun": "package.json"}

// imports adds what a file of orders takes in, from where it lies and from where it is run.
func (m *Aim) imports(n named, at string) {
	if m.orders[n] == nil {
		return
	}
	text, err := regular.Read(at, maxFile)
	if err != nil {
		m.once("a file that it may run cannot be read: " + path.Base(n.path))
		return
	}
	dir := path.Dir(filepath.ToSlash(n.path))
	for _, o := range m.orders[n] {
		files, known := ordersOf[o.program](n.path, text)
		if !known {
			m.once("it takes in files that are known only when it runs: " + path.Base(n.path))
		}
		from := []string{""}
		if dir != "." {
			from = append(from, dir)
		}
		if o.program == "git" { // which runs what it takes in where .git lies
			from = append(from, path.Dir(dir), path.Dir(path.Dir(dir))) // .git/config, .git/hooks/x
		}
		for _, file := range files {
			for _, at := range m.word(file, from, runs) {
				m.ordersFor(o, at)
			}
		}
		commands, _ := hazard.Asked(usualNames[o.program], string(text), o.words, false)
		switch {
		case o.program == "git" && isHook(n.path):
			commands = []string{string(text)}
		case o.program == "git":
			commands = gitCommands(text)
		}
		m.runsInTurn(strings.Join(commands, "\n"), from)
	}
	if len(m.names) > maxFiles {
		m.once("it names too many files")
	}
}

// maxRecipes bounds the commands of files of orders that are looked at, in bytes.
const maxRecipes = 64 << 10

// runsInTurn notes what the commands of a file of orders run and read, as the words of the act itself: but what
// they make is no matter, and what is known only when they run is left.
func (m *Aim) runsInTurn(recipes string, from []string) {
	if recipes == "" {
		return
	}
	if m.turns += len(recipes); m.turns > maxRecipes {
		m.once("what it runs has too many commands to be looked at")
		return
	}
	once := m.Once
	var opened []string
	hazard.Observe(canon.Shell, []act.Leaf{{Arg: "command", Pointer: "/command", Text: recipes}}, &hazard.Watch{
		Command:  func(c *hazard.Command) { m.command(c, from, script) },
		Variable: func(_, value string) { opened = append(opened, filesIn(value)...) },
		File: func(file string, writes bool, _ string, _ bool) {
			if !writes {
				opened = append(opened, file)
			}
		},
	})
	for _, file := range opened {
		m.word(file, joined(from, m.dirs), script)
	}
	m.Once = once
}

// joined are the folders, and those below them.
func joined(from, below []string) []string {
	folders := slices.Clone(from)
	for _, dir := range from {
		for _, d := range below {
			if dir != "" && !filepath.IsAbs(d) && !strings.HasPrefix(d, "~") {
				d = dir + "/" + d
			}
			if !slices.Contains(folders, d) {
				folders = append(folders, d)
			}
		}
	}
	return folders
}

var (
	makeInclude = lazyregexp.New(`(?m)^[ \t]*(?:-|s)?(?:include|load)[ \t]+(.*)$`)
	makeUnknown = lazyregexp.New(`\$[({](?:eval|guile)\b`)
	justImport  = lazyregexp.New(`(?m)^[ \t]*import\??[ \t]+(.*)$`)
	justModule  = lazyregexp.New(`(?m)^[ \t]*mod\??[ \t]+([A-Za-z0-9_-]+)[ \t]*(.*)$`)
	taskInclude = lazyregexp.New(`(?m)^[ \t]*["']?includes["']?[ \t]*:`)
)

func makeIncludes(_ string, text []byte) (files []string, known bool) {
	joined := strings.ReplaceAll(strings.ReplaceAll(string(text), "\r\n", "\n"), "\\\n", " ")
	known = !makeUnknown.MatchString(joined)
	for _, found := range makeInclude.FindAllStringSubmatch(joined, -1) {
		words, _, _ := strings.Cut(found[1], "#")
		if strings.ContainsAny(words, "$*?[`") {
			known = false
		}
		files = append(files, strings.Fields(words)...)
	}
	return files, known
}

func justImports(_ string, text []byte) (files []string, known bool) {
	quoted := func(s string) (string, bool) {
		s = strings.TrimSpace(s)
		if len(s) < 2 || s[0] != '\'' && s[0] != '"' {
			return "", false
		}
		inner, _, ok := strings.Cut(s[1:], s[:1])
		return inner, ok && inner != "" && !strings.ContainsAny(inner, `\{`)
	}
	known = true
	for _, found := range justImport.FindAllStringSubmatch(string(text), -1) {
		file, ok := quoted(found[1])
		known = known && ok
		files = append(files, file)
	}
	for _, found := range justModule.FindAllStringSubmatch(string(text), -1) {
		if rest := strings.TrimSpace(found[2]); rest != "" && rest[0] != '#' {
			file, ok := quoted(rest)
			known = known && ok
			files = append(files, file)
			continue
		}
		for _, form := range []string{".just", "/mod.just", "/justfile", "/.justfile"} {
			files = append(files, found[1]+form)
		}
	}
	return files, known
}

// taskIncludes says of a file that includes others that they are not known: they may lie anywhere.
func taskIncludes(_ string, text []byte) (files []string, known bool) {
	return nil, !taskInclude.Match(text)
}

// gitTakes are the files of settings that those of Git's take in, and the folder of hooks.
func gitTakes(_ string, text []byte) (files []string, known bool) {
	for _, s := range settingsOfGit(string(text)) {
		section, _, _ := strings.Cut(s.Key, ".")
		if (section == "include" || section == "includeif") && strings.HasSuffix(s.Key, ".path") || s.Key == "core.hookspath" {
			files = append(files, s.Value)
		}
	}
	return files, true
}

// gitCommands are the commands in settings of Git's.
func gitCommands(text []byte) (commands []string) {
	for _, s := range settingsOfGit(string(text)) {
		if command, shell := strings.CutPrefix(s.Value, "!"); shell || gitRuns[s.Key[strings.LastIndexByte(s.Key, '.')+1:]] {
			commands = append(commands, command)
		}
	}
	return commands
}

// gitRuns are the last names of settings of Git's that are run (git-config(1)).
var gitRuns = set("sshcommand gitproxy proxycommand fsmonitor askpass editor pager external textconv command driver clean smudge process helper program cmd receivepack uploadpack")

// npmScripts says of a package's file that cannot be read that what it runs is not known.
func npmScripts(file string, text []byte) (files []string, known bool) {
	_, err := rawjson.Parse(text)
	return nil, err == nil || path.Base(filepath.ToSlash(file)) != "package.json"
}
