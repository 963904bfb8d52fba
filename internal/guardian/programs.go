package guardian

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/hook"
	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/regular"
	"reeve.example/reeve/internal/risk/hazard"
)

// A program may lie in files of many languages, and be run by a compiler, a runner of tests, or
// a tool that obeys a file. What these files do to the guardian is read where they are run, or made
// to a program: of Python and JavaScript what they do, of all others the paths that they put
// together, the commands that they start, and what they call to write, remove and end.

// builders are programs that run, or make a program of, the files that they are given.
var builders = words(`go gotestsum mage air dlv tinygo cargo rustc trunk gcc cc clang g++ c++ clang++ tcc zig nvcc emcc musl-gcc cosmocc cmake meson
	ninja bazel bazelisk buck2 scons javac java kotlinc kotlin kotlinc-jvm groovy groovyc scala scalac scala-cli jbang jshell mvn mvnw
	mvnd gradle gradlew sbt ant mill dotnet csc mcs msbuild csi dotnet-script swift swiftc xcodebuild nim nimble crystal v dart
	flutter ghc runghc runhaskell ocaml ocamlfind fpc dmd rdmd ldc2 gfortran odin stack cabal dune pytest py.test tox nox pypy uv
	poetry pipenv hatch pdm rye trial nosetests nose2 ward behave robot coverage python jest vitest mocha ava tap jasmine playwright
	cypress npx npm pnpm yarn bun bunx deno tsx ts-node ts-node-esm node wtr karma swc-node esno jiti mix elixir iex rebar3 erlc
	escript rspec rake bundle minitest cucumber phpunit pest composer php prove perl vim vi nvim ex gvim view emacs ansible
	ansible-playbook ansible-pull lua luajit busted ruby r rscript tclsh julia guile sbcl racket`)

const (
	maxSources     = 512     // files of programs that are read of one act
	maxSourceBytes = 8 << 20 // and their bytes
	maxSet         = 64      // variables that are remembered
)

// evaluated are the interpreters of the languages that hazard parses.
var evaluated = lazyregexp.New(`^(?:python[0-9.]*|pypy[0-9.]*|node|nodejs|deno|bun|tsx|ts-node)$`)

// programFiles reads the files of programs that a command is given to run, or to make a program of.
// What a build or a runner of tests finds by itself is not read here, but where the session wrote it
// (see Runs): a project that is about agents, as this one is, has tests that look like all of this.
func (e *examination) programFiles(c *hazard.Command, name string) {
	if !builders[name] {
		return
	}
	for i, w := range c.Words {
		if i > 256 {
			break
		}
		if _, value, said := strings.Cut(w, "="); said {
			w = value
		}
		if w == "" || w[0] == '-' || w == name || len(w) >= 1024 || strings.ContainsAny(w, " \n$`") {
			continue
		}
		for _, parts := range e.readings(w, c.Dirs) {
			if slices.ContainsFunc(parts, isPattern) {
				continue
			}
			at := filepath.FromSlash("/" + strings.Join(parts, "/"))
			if info, err := os.Stat(at); err == nil && info.Mode().IsRegular() {
				e.source(at, c.Dirs)
			}
		}
	}
}

// source reads one file of a program.
func (e *examination) source(at string, dirs []string) {
	if slices.Contains(e.sourcesRead, at) || len(e.sourcesRead) >= maxSources || e.sourceBytes > maxSourceBytes {
		return
	}
	e.sourcesRead = append(e.sourcesRead, at)
	read, err := regular.Read(at, maxScript)
	if err != nil || slices.Contains(read, 0) {
		return
	}
	e.sourceBytes += len(read)
	e.sourceText(at, string(read), dirs)
}

// sourceText looks at what stands in a file of a program, as its language has it.
func (e *examination) sourceText(name, text string, dirs []string) {
	switch ext := strings.ToLower(filepath.Ext(name)); ext {
	case ".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx":
		with := "node"
		if ext == ".py" {
			with = "python3"
		}
		if changing.MatchString(strings.ToLower(text)) {
			if !hazard.Understood(languageOf(with), text) {
				e.program(text)
			}
			e.does(asProgram(with, text))
		}
	case ".yml", ".yaml", ".json":
		e.obeyed(text, dirs)
	case ".vim", ".el":
		e.code(oneLiteral(text))
		e.asksInCode(text)
	case ".go", ".rs", ".c", ".cc", ".cpp", ".h", ".m", ".java", ".kt", ".kts", ".scala", ".groovy", ".cs", ".fs", ".vb", ".csx", ".fsx", ".swift", ".nim", ".cr", ".v", ".zig", ".dart", ".hs", ".ml", ".pas", ".d", ".f90", ".odin", ".ex", ".exs", ".erl", ".rb", ".php", ".t", ".pl", ".pm", ".lua", ".tcl", ".jl", ".scm", ".lisp", ".rkt", ".r":
		e.program(text)
	}
}

// givenWords are lines of a shell that give a script its words and its variables, as far as the act
// says them.
func (e *examination) givenWords(text string) string {
	var b strings.Builder
	for name, value := range e.set {
		if strings.Contains(text, "$"+name) || strings.Contains(text, "${"+name) {
			b.WriteString(name + "=" + quoted(value) + "\n")
		}
	}
	if len(e.args) > 0 && len(e.args) < 256 && positional.MatchString(text) {
		b.WriteString("set --")
		for _, w := range e.args {
			b.WriteString(" " + quoted(w))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// positional is what a script has of the words that it is given.
var positional = lazyregexp.New(`\$[@*1-9]|\$\{[@*1-9#]|\bshift\b|\bgetopts\b`)

func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// does looks at what a program of a language that is parsed does, as the lines of a shell: a path
// that is not known is none.
func (e *examination) does(text string) {
	if e.chain >= maxChain {
		return
	}
	e.chain++
	went := e.went
	hazard.Observe("shell", []act.Leaf{{Pointer: "/command", Arg: "command", Text: text}}, &hazard.Watch{
		Command: func(c *hazard.Command) {
			name := base(c.Name)
			e.went = c.Dirs[1:]
			e.scripts(c, name)
			switch {
			case slices.ContainsFunc(c.Words, unknownPlace) || slices.ContainsFunc(c.Dirs, unknownPlace):
			case enders[name] || e.isReeve(c.Name, c.Dirs) || killers[name] || agentsNamed[name] != "" || lookers[name] || printers[name]:
				e.command(c)
			default: // of a folder it is not known what is done to it
				own := *c
				own.Words = slices.DeleteFunc(slices.Clone(c.Words), func(w string) bool { return !e.isGuarded(w, c.Dirs) })
				e.paths(&own, name)
				e.decides(c, name)
			}
		},
		URL: e.url,
		File: func(p string, writes bool, content string, known bool) {
			if !unknownPlace(p) && !slices.ContainsFunc(e.went, unknownPlace) {
				e.file(p, writes, nil, content, known)
			}
		},
	})
	e.went = went
	e.chain--
}

// isGuarded reports whether a word is the path of something guarded, or of what lies in it.
func (e *examination) isGuarded(word string, dirs []string) bool {
	return slices.ContainsFunc(e.readings(word, dirs), func(parts []string) bool {
		return slices.ContainsFunc(e.g.places, func(p place) bool { return compare(parts, p.parts) == within })
	})
}

// oneLiteral is a text in which texts that are put together stand as one.
func oneLiteral(text string) string { return glued.ReplaceAllString(text, "") }

var glued = lazyregexp.New(`"\s*(?:\+|\.{1,2}|<>|\+\+|&)\s*"|'\s*(?:\+|\.{1,2}|<>|\+\+|&)\s*'`)

// program looks at a program of a language that is only read for its texts.
func (e *examination) program(text string) {
	text = oneLiteral(text)
	if len(text) > maxScript {
		return
	}
	low := strings.ToLower(text)
	if !slices.ContainsFunc(e.g.places, func(p place) bool {
		n := len(p.parts)
		return strings.Contains(low, p.parts[max(0, n-2)]) || strings.Contains(low, "/"+p.parts[n-1])
	}) && !e.g.namedIn(low) {
		return
	}
	does := hazard.Program(text, writing.MatchString)
	for _, command := range does.Commands {
		if e.g.namedIn(command) {
			e.runs(command)
		}
	}
	if e.port(text) && decidingText.MatchString(text) && e.g.port != "" {
		e.url(text)
	}
	if does.Kills && (number(low, e.g.pid) || finding.MatchString(low)) {
		e.tampers("end the guardian")
	}
	if !writing.MatchString(low) {
		return
	}
	removes := removing.MatchString(low)
	for _, at := range does.Paths {
		if at[0] != '~' && at[0] != '/' && !strings.Contains(at, "/") {
			continue
		}
		for _, parts := range e.readings(at, nil) {
			e.reachedFor(parts, removes)
		}
	}
}

// decidesIn looks at what a program asks the guardian, and whether it ends it.
func (e *examination) decidesIn(text string) {
	e.url(text)
	if e.port(text) && decidingText.MatchString(unescaped(text)) {
		e.tampers("answer for people at the guardian's own address")
	}
	e.takenOver = e.takenOver || hook.GivesOver(text) != ""
	if low := strings.ToLower(text); ending.MatchString(low) && (e.sought || number(low, e.g.pid) || finding.MatchString(low)) {
		e.tampers("end the guardian")
	}
}

// languageOf is how hazard calls the language of an interpreter.
func languageOf(with string) string {
	if strings.HasPrefix(with, "py") {
		return "python"
	}
	return "js"
}

// toldByVariables looks at the variables that the act sets as at words that a script is given.
func (e *examination) toldByVariables(with string, dirs []string) {
	for _, value := range e.set {
		if strings.ContainsAny(value, "/~") && !strings.ContainsAny(value, " \n:") {
			for _, parts := range e.readings(value, dirs) {
				if slices.ContainsFunc(e.g.places, func(p place) bool { return compare(parts, p.parts) == within }) {
					e.path(with, parts, false, nil)
				}
			}
		}
	}
}

// reachedFor looks at a path that a program has, which writes or removes.
func (e *examination) reachedFor(parts []string, removes bool) {
	for _, p := range e.g.places {
		switch rel := compare(parts, p.parts); {
		case rel == within && p.kind == secret:
			e.tampers("reach for " + p.kind.String())
		case rel == within && (p.kind != setting || e.armed(p)):
			e.tampers("change " + p.kind.String())
		case rel == above && removes && len(parts) >= len(p.parts)-2 && (p.kind != setting || e.armed(p)) && e.belongs(parts):
			e.tampers("take away or close a folder in which " + p.kind.String() + p.kind.lies())
		}
	}
}

// writing is what a program calls that writes, moves or removes.
var writing = lazyregexp.New(`write|truncate|\bremove|removeall|unlink|rename|delete|\bcreate\w*\s*\(|openoptions|fopen\s*\([^)]*["'][wa]|o_wronly|o_rdwr|symlink|\bmove|\bcopy|chmod|system\s*\(|exec|spawn|process|rm_rf|rm_r|rmtree|rmdir|file\.open\([^)]*["'][wa]|> *["'$]|dump`)

// obeyed looks at a file by which a program is told what to do to files, and to run.
func (e *examination) obeyed(text string, dirs []string) {
	e.text(text)
	eachText(text, func(name, text string) {
		name = name[strings.LastIndexByte(name, '.')+1:]
		switch {
		case text == "" || len(text) > 16<<10:
		case doings[name]:
			e.runs(text)
		case landings[name]:
			for _, parts := range e.readings(text, dirs) {
				e.path("ansible", parts, true, nil)
			}
		case strings.ContainsAny(text, "=") && strings.ContainsAny(text, "/~"): // copy: src=x dest=~/y
			for _, w := range strings.Fields(text) {
				if option, value, _ := strings.Cut(w, "="); landings[option] {
					for _, parts := range e.readings(value, dirs) {
						e.path("ansible", parts, true, nil)
					}
				}
			}
		}
	})
}

var (
	doings   = words("command shell raw script cmd argv run entrypoint exec")
	landings = words("dest path destination name removes link")
)
