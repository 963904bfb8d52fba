package hazard

import (
	"path"
	"slices"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
)

// Of a file that tells a program what to run, only what the program's words ask for is run: a target of
// a makefile, a script of a package, a task. Where words are not known, or say it in a way that is not
// known here, all of it may be.

// An asking is what the words of a program ask for of a file.
type asking struct {
	names []string // words that may name something in it
	any   bool     // and what they name is not known
	shows bool     // make shows what it would run, and runs only what is marked to run even so
	reads bool     // make says what it is, and does not even read the file
}

// unsure reports whether a word stands for others, or for what is known only when it is run.
func unsure(word string) bool { return strings.ContainsAny(word, "$`*?[{ \t\n") }

// makeValues and makeNamed are options of make that take the next word, where nothing is joined to them.
const (
	makeValues = "CfIoWE"
	makeNamed  = "--directory --file --makefile --include-dir --old-file --assume-old --what-if --new-file --assume-new --eval"
)

// askingMake reads the words of make.
func askingMake(words []string) (of asking) {
	for i := 0; i < len(words); i++ {
		w := words[i]
		name, _, joined := strings.Cut(w, "=")
		switch {
		case w == "--":
			of.names = append(of.names, words[i+1:]...)
			of.any = of.any || slices.ContainsFunc(words[i+1:], unsure)
			return of
		case listed("--version --help -v -h", w):
			of.reads = true
		case listed("--just-print --dry-run --recon --question --touch", w):
			of.shows = true
		case name == "--eval" || strings.HasPrefix(w, "-E"):
			of.any = true // more of a makefile
			if w == name {
				i++
			}
		case listed(makeNamed, w):
			i++
		case strings.HasPrefix(w, "--"):
		case strings.HasPrefix(w, "-"):
			for k, letter := range w[1:] {
				of.shows = of.shows || strings.ContainsRune("nqt", letter)
				of.any = of.any || unsure(w)
				if strings.ContainsRune(makeValues+"jlO", letter) {
					if k == len(w)-2 && strings.ContainsRune(makeValues, letter) {
						i++
					}
					break // the rest of the word is its value
				}
			}
		case joined && isName(name): // sets a variable
		case unsure(w):
			of.any = true
		default:
			of.names = append(of.names, w)
		}
	}
	of.shows = of.shows && !of.any
	return of
}

// packageVerbs are words of the programs of packages for which they run scripts of certain names, also
// where only the first letters of one are said; lifecycle are those scripts which they run when they put
// packages together.
var (
	packageVerbs = strings.Fields("test tst start stop restart")
	packing      = strings.Fields("install i ci add cit it install-test install-ci-test clean-install ic update up upgrade link ln publish pack version rebuild rb remove uninstall unlink rm dedupe ddp prune fix deploy import")
	lifecycle    = strings.Fields("preinstall install postinstall preprepare prepare postprepare prepublish prepublishOnly postpublish publish prepack postpack dependencies preversion version postversion preuninstall uninstall postuninstall pnpm:devPreinstall")
)

// askingPackage reads the words of npm and its like: any of them may name a script, whatever stands
// before it. Most of their commands run none.
func askingPackage(words []string) (of asking) {
	packs, plain := false, 0
	for i, w := range words {
		if strings.HasPrefix(w, "-") {
			value := w[strings.IndexByte(w, '=')+1:]
			of.any = of.any || unsure(value) && !listed("--filter --filter-prod", before(w, '=')) || listed("-c --call --shell-mode --script", before(w, '='))
			continue
		}
		filter := i > 0 && listed("-F --filter --filter-prod --include --exclude --workspace -w", words[i-1])
		if plain++; !filter || !strings.ContainsAny(w, "/@") { // of which a shell may make more words
			of.any = of.any || unsure(w) || strings.HasPrefix(w, "/") && strings.Count(w, "/") > 1 // pnpm's expressions
		}
		of.names = append(of.names, w)
		for _, verb := range packageVerbs {
			if strings.HasPrefix(verb, w) {
				of.names = append(of.names, verb)
			}
		}
		packs = packs || slices.ContainsFunc(packing, func(verb string) bool { return strings.HasPrefix(verb, w) })
	}
	if packs || plain == 0 && !slices.ContainsFunc(words, func(w string) bool { return listed("-v --version -h --help", w) }) { // yarn alone installs
		of.names = append(of.names, lifecycle...)
	}
	return of
}

// runsOfPackages are programs that run the scripts of a package by its words, and no others of its own.
var runsOfPackages = set("npm pnpm yarn bun")

// spreads reports whether words of such a program mean other packages of its folder, or all of them.
func spreads(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		return listed("-r --recursive -F --filter --filter-prod -w --workspace --workspaces -ws -W --workspace-root workspace workspaces foreach multi m recursive", before(w, '='))
	})
}

// MeansOthers reports whether the words of a program mean the files of other folders below the one that
// it is in besides the one that it finds there.
func MeansOthers(program string, words []string) bool {
	return runsOfPackages[program] && spreads(words) || OrdersOf(program) != nil
}

// orderFiles are the settings of programs which run the scripts of many packages, in which stands what
// each script needs before it.
var orderFiles = map[string][]string{"nx": {"nx.json", "project.json"}, "turbo": {"turbo.json", "turbo.jsonc"}, "lerna": {"lerna.json", "nx.json"}}

// OrdersOf are the settings in which it stands which scripts a program runs besides those that it is asked
// for; none where it runs the scripts of one package.
func OrdersOf(program string) []string { return orderFiles[program] }

// WithOrders are the words of such a program, with the names of the scripts that they ask for
// (--target=build,lint, app:build:production, web#build) and of those that these need, by its settings.
func WithOrders(words []string, settings []string) []string {
	all := slices.Clip(words)
	for _, w := range words {
		all = append(all, strings.FieldsFunc(strings.TrimLeft(w, "-"), func(r rune) bool { return strings.ContainsRune(",:=#", r) })...)
	}
	type need struct{ of, names string }
	var needs []need
	for _, text := range settings {
		for _, m := range scriptNeeds.FindAllStringSubmatch(text, 256) {
			needs = append(needs, need{m[1], m[2]})
		}
	}
	for found := true; found; {
		found = false
		needs = slices.DeleteFunc(needs, func(n need) bool {
			if n.of != "" && !slices.Contains(all, n.of) && !slices.Contains(all, n.of[strings.IndexByte(n.of, '#')+1:]) {
				return false
			}
			found = true
			all = append(all, strings.FieldsFunc(n.names, func(r rune) bool { return strings.ContainsRune("\"^,:#{} \t\r\n", r) })...)
			return true
		})
	}
	return all
}

// scriptNeeds is what a script needs before it, and the name of that where it stands right before.
var scriptNeeds = lazyregexp.New(`(?:"([^"]*)"\s*:\s*\{[^{}]*)?"(?:dependsOn|with)"\s*:\s*\[([^\]]*)`)

// RunsNothing reports whether a program with these words runs nothing of the file that tells it what to
// run, whatever stands in it, nor of the script that it is given.
func RunsNothing(program string, words []string) bool {
	if i, ok := interpreters[program]; ok {
		return onlyParses(i, words)
	}
	switch program {
	case "make", "gmake":
		of := askingMake(words)
		return of.reads && !of.any
	case "npm", "pnpm":
		return len(words) > 1 && words[0] == "pkg" && listed("set get delete fix", words[1])
	}
	return false
}

// taskMade is a task of invoke: its decorator, at the begin of a line.
var (
	taskMade  = lazyregexp.New(`^@(?:[\w.]+\.)?task\b(.*)`)
	taskDef   = lazyregexp.New(`^(?:async[ \t]+)?def[ \t]+(\w+)`)
	taskNamed = lazyregexp.New(`["']|\bdefault\b|\*|\(\s*$`)
)

// askedTasks is a file of invoke's tasks without those that words do not ask for, and that nothing else
// in it names.
func askedTasks(text string, words []string) string {
	var rest strings.Builder
	var tasks []block
	lines := slices.Collect(strings.Lines(text))
	for i := 0; i < len(lines); i++ {
		m := taskMade.FindStringSubmatch(lines[i])
		if m == nil || taskNamed.MatchString(m[1]) { // it may be asked for by another name, or without any
			rest.WriteString(lines[i])
			continue
		}
		end := i + 1
		for end < len(lines) && strings.HasPrefix(lines[end], "@") {
			end++
		}
		var def []string
		if end < len(lines) {
			def = taskDef.FindStringSubmatch(lines[end])
		}
		if def == nil {
			rest.WriteString(lines[i])
			continue
		}
		for end++; end < len(lines) && (strings.TrimSpace(lines[end]) == "" || strings.ContainsAny(lines[end][:1], " \t)#")); end++ {
		}
		task := strings.Join(lines[i:end], "")
		tasks = append(tasks, block{def[1], task, task})
		i = end - 1
	}
	asked := words
	if slices.ContainsFunc(words, unsure) {
		return text
	}
	for _, w := range words {
		if listed("-l --list -h --help -V --version --print-completion-script --complete", w) && len(askedNames(words)) == 0 {
			asked = nil
		}
	}
	return askedBlocks(rest.String(), tasks, rest.String(), asked)
}

// recipes are the commands of a makefile that make runs for some words, with those that the targets
// need; all of them where it cannot be told. likely says that what is only possible does not count: a file
// that nobody in the session wrote hides nothing behind an include, a define or an eval.
func recipes(text string, words []string, likely bool) []string {
	told := map[string]string{}
	for _, w := range words {
		if name, value, sets := strings.Cut(w, "="); sets && isName(name) {
			told[name] = value
		}
	}
	return recipesIn(Expanded(text, told), words, likely)
}

// A makeLine is one line of a recipe; runs says that make runs it where it only shows the others.
type makeLine struct {
	text string
	runs bool
}

func recipesIn(text string, words []string, likely bool) []string {
	asked := askingMake(words)
	if asked.any = asked.any || words == nil; asked.reads && !asked.any {
		return nil
	}
	needs, does := map[string][]string{}, map[string][]makeLine{} // of each target
	var all, first, now []string
	made := []string{"Makefile", "makefile", "GNUmakefile"} // which make makes anew first, if it can
	recipe := func(line string) {
		marks := line[:len(line)-len(strings.TrimLeft(line, "@-+ \t"))]
		line = strings.TrimRight(line[len(marks):], "\n")
		all = append(all, line)
		for _, target := range now {
			does[target] = append(does[target], makeLine{line, strings.Contains(marks, "+") || callsMake(line)})
		}
	}
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "\t"); ok {
			asked.any = asked.any || now == nil // of a part of the file
			recipe(rest)
			continue
		}
		if at := strings.IndexAny(line, "#;"); at >= 0 && line[at] == '#' { // what stands behind ; is the shell's
			line = line[:at]
		}
		left, right, isRule := strings.Cut(line, ":")
		if m := makeIncludes.FindStringSubmatch(line); m != nil {
			made = append(made, strings.Fields(m[1])...)
		}
		if asked.any = asked.any || strings.Contains(line, "$(eval") || includes.MatchString(line); strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" || !isRule || strings.HasPrefix(right, "=") || strings.HasPrefix(right, ":=") || strings.Contains(left, "=") {
			continue
		}
		now = strings.Fields(left)
		right, inline, hasInline := strings.Cut(right, ";")
		for _, target := range now {
			if needs[target] = append(needs[target], right); strings.ContainsAny(target, "$%") || isSuffixRule(target) {
				made = append(made, target) // which may be any
			}
		}
		if hasInline {
			recipe(inline)
		}
		if first == nil && !strings.HasPrefix(left, ".") {
			first = now[:min(len(now), 1)]
		}
	}
	asked.any = asked.any && !likely || words == nil || slices.ContainsFunc(words, unsure)
	wanted := asked.names
	if goal := makeGoal.FindStringSubmatch(text); len(wanted) == 0 && goal != nil {
		wanted, asked.any = strings.Fields(goal[1]), asked.any || unsure(goal[1])
	} else if len(wanted) == 0 {
		wanted = first
	}
	if asked.any {
		return all
	}
	for _, missing := range needs[".missing"] {
		if len(does[strings.TrimSpace(missing)]) > 0 { // what it will hold nobody knows
			return all
		}
	}
	always := append(slices.Clip(made), ".shell", ".taken", ".DEFAULT")
	var commands []string
	for _, line := range withNeeds(needs, does, always) {
		commands = append(commands, line.text)
	}
	shows := asked.shows && !strings.Contains(text, "MAKEFLAGS") // which may take that back
	for _, line := range withNeeds(needs, does, wanted) {
		if !shows || line.runs {
			commands = append(commands, line.text)
		}
	}
	for _, m := range makeSets.FindAllStringSubmatch(text, 512) {
		if impliedVariables[m[1]] { // by which make makes what no rule of the file makes
			commands = append(commands, m[3])
		}
	}
	return commands
}

// Inlined is a makefile in which what it takes in stands in the place of the lines that say so, as far as
// that can be read; what is not there is named, since make may make it.
func Inlined(text string, read func(name string) (string, bool)) string {
	return inlined(text, read, maxMakeRounds)
}

func inlined(text string, read func(name string) (string, bool), deep int) string {
	if deep == 0 || !strings.Contains(text, "include") {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		m := makeIncludes.FindStringSubmatch(line)
		if m == nil || strings.ContainsAny(m[1], "$*?[%\\") || b.Len() > maxMakeText {
			b.WriteString(line)
			continue
		}
		for name := range strings.FieldsSeq(m[1]) {
			taken, is := read(name)
			switch may := strings.TrimLeft(line, " "); {
			case is:
				b.WriteString(".taken: " + name + "\n" + inlined(strings.TrimSuffix(taken, "\n"), read, deep-1) + "\n")
			case strings.HasPrefix(may, "-") || strings.HasPrefix(may, "s"):
				b.WriteString(".missing: " + name + "\n")
			default:
				b.WriteString("include " + name + "\n")
			}
		}
	}
	return b.String()
}

// withNeeds are the lines of some targets, of those that they need, and of those that their lines call
// make for.
func withNeeds(needs map[string][]string, does map[string][]makeLine, names []string) (lines []makeLine) {
	done := map[string]bool{}
	for len(names) > 0 {
		name := names[0]
		if names = names[1:]; done[name] {
			continue
		}
		done[name] = true
		lines = append(lines, does[name]...)
		speaks := slices.Clone(needs[name])
		for _, line := range does[name] {
			if callsMake(line.text) {
				speaks = append(speaks, line.text)
			}
		}
		for _, text := range speaks {
			for other := range needs {
				if !done[other] && speaksOf(text, other) {
					names = append(names, other)
				}
			}
		}
	}
	return lines
}

var (
	// includes begins a line of a makefile that stands for others.
	includes     = lazyregexp.New(`^\s*(?:-?include|sinclude|load|import|define)\b|\.SECONDEXPANSION`)
	makeIncludes = lazyregexp.New(`^\s*[-s]?include[ \t]+([^#\n]*)`)
	makeGoal     = lazyregexp.New(`(?m)^\s*\.DEFAULT_GOAL\s*:*\??=[ \t]*([^#\n]*)`)
	// calledMake is a call of make in a command, and calledUnread one of what only the shell knows.
	calledMake   = lazyregexp.New(`(?i)(?:^|[\s;&|()/])[gb]?make(?:$|[\s;&|()])`)
	calledUnread = lazyregexp.New("(?:^|[;&|(`]|\\b(?:then|do|else|env|exec|command|sudo|time|nohup)\\s)\\s*(?:\\w+=\\S*\\s+)*[\"']?[$`]|\\b(?:eval|xargs)\\b|\\bsh\\s+-\\w*c\\b[^;&|]*[$`]")
)

// callsMake reports whether a command may call make.
func callsMake(line string) bool {
	return calledMake.MatchString(strings.NewReplacer(`"`, "", "'", "", `\`, "").Replace(line)) || calledUnread.MatchString(line)
}

// isSuffixRule reports whether a target of a makefile is a rule for files of some ends.
func isSuffixRule(target string) bool {
	return len(target) > 1 && target[0] == '.' && target != ".shell" && !strings.Contains(target, "/") && strings.ToUpper(target) != target && path.Ext(target) != ""
}

// impliedVariables hold what make runs by the rules that it has itself.
var impliedVariables = set("AR AS CC CXX CPP FC M2C PC CO GET LEX YACC LINT MAKEINFO TEX TEXI2DVI WEAVE CWEAVE TANGLE CTANGLE RM LD COMPILE.c COMPILE.cc COMPILE.cpp COMPILE.C COMPILE.f COMPILE.s COMPILE.S LINK.c LINK.cc LINK.cpp LINK.o LINK.f LINK.s OUTPUT_OPTION ARFLAGS ASFLAGS CFLAGS CXXFLAGS CPPFLAGS FFLAGS GFLAGS LDFLAGS LDLIBS LFLAGS YFLAGS TARGET_ARCH")
