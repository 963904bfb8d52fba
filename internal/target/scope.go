package target

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/links"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/regular"
	"reeve.example/reeve/internal/risk/hazard"
)

// Aim is the scope of an act before the files were looked at.
type Aim struct {
	approval.Scope
	// State is a digest of what stands in the files that the act names and takes its orders from, as far as
	// they are known: also where it can be agreed to once only. It is known when they were looked at.
	State    string
	names    []named
	seen     map[named]bool
	orders   map[named][]orders // what a file may hold orders for
	reads    map[*act.Action]*hazard.Reading
	dirs     []string // folders that its commands may run in, beside its own
	turns    int      // bytes of the commands in files of orders that were looked at
	patterns int      // whose files were looked for
}

// named is a file that an act names.
type named struct {
	path string
	use  use
}

// use is what an act does with a file that it names.
type use uint8

const (
	goes     use = iota // the place matters, not what is there
	runs                // what is there matters
	script              // what is there matters, if it is a file
	program             // a program, looked for where the system looks
	works               // a folder that something works in, as where it is itself
	commit              // a branch or tag of Git's
	modules             // a folder whose names hide those of a language's own modules
	settings            // a folder whose settings a program may obey
)

// Bounds of what is looked at.
const (
	maxFiles = 256
	maxFile  = 4 << 20  // bytes of a file whose content is read
	maxBytes = 16 << 20 // of all files
)

// Of is the scope of an act that was judged: what another has to have in common with it.
// tainted says that its session has read what others wrote.
func Of(a *act.Action, d *act.Decision, tainted bool) *Aim {
	m := &Aim{seen: map[named]bool{}}
	line := ReadLine(a)
	if line == nil {
		return m.of(a, a, d, tainted)
	}
	return m.ofLine(line, line.Len(), a, d, tainted)
}

// OfFirst is the scope of the first n commands of a line, about which alone it was decided.
func OfFirst(line *Line, n int, d *act.Decision, tainted bool) *Aim {
	return (&Aim{seen: map[named]bool{}}).ofLine(line, n, line.To(n), d, tainted)
}

func (m *Aim) ofLine(line *Line, n int, a *act.Action, d *act.Decision, tainted bool) *Aim {
	plain := line.To(n)
	if plain == nil {
		return m.of(a, a, d, tainted)
	}
	for _, c := range line.commands[:n] {
		for _, more := range c.worse {
			m.Labels = append(m.Labels, "does more: "+more)
		}
		for _, option := range c.free {
			if !slices.Contains(m.Free, option) {
				m.Free = append(m.Free, option)
			}
		}
	}
	m.Act = plain.Content[line.leaf].Text
	return m.of(a, plain, d, tainted)
}

// of is the scope of an act, read in the one form in which its command is compared with others.
func (m *Aim) of(a, plain *act.Action, d *act.Decision, tainted bool) *Aim {
	switch {
	case !a.IsCall():
		m.once("it is no call of a tool")
		return m
	case len(d.Edits) > 0:
		m.once("the policy changes it")
	case a.Confusable:
		m.once("the tool's name imitates another")
	}
	command := runsOneText(a)
	m.same(plain, command)
	m.Known = command || len(m.Differs) == 0
	m.labels(a, d, tainted)
	m.weigh(a, plain)
	m.read(plain)
	return m
}

// reading is how an act is read, which is done once.
func (m *Aim) reading(a *act.Action) *hazard.Reading {
	if m.reads[a] == nil {
		if m.reads == nil {
			m.reads = map[*act.Action]*hazard.Reading{}
		}
		m.reads[a] = hazard.Read(a)
	}
	return m.reads[a]
}

// once notes why an act can be agreed to once only; the first reason is said.
func (m *Aim) once(why string) { m.Once = cmp.Or(m.Once, why) }

// same takes the digest of everything that may not differ. Of a command it is no matter how long it may
// take, or whether it is waited for.
func (m *Aim) same(a *act.Action, command bool) {
	h := sha256.New()
	add := func(texts ...string) {
		for _, t := range texts {
			fmt.Fprintf(h, "%d %s\n", len(t), t)
		}
	}
	add("reeve scope v2", a.Door, string(a.Kind), a.InnerMethod, a.Resource, a.Canonical, a.Alias, a.Server, a.From)
	add(a.Principal.Name, a.Principal.Method, a.Principal.Organization)
	if d := a.Principal.Delegation; d != nil {
		add(d.Client, d.OnBehalfOf)
		add(d.Actors...)
	}
	add(a.Agent.ID, a.Agent.Name, a.Agent.Provider, a.Agent.Organization, a.User.ID, a.User.Organization)
	read := m.reading(a)
	readers := readersArguments(a, read)
	arguments := slices.Clone(a.Arguments)
	slices.SortFunc(arguments, func(x, y act.Argument) int { return cmp.Compare(x.Name, y.Name) })
	for i := range arguments {
		arg := &arguments[i]
		if i > 0 && arg.Name == arguments[i-1].Name {
			m.once("an argument is given twice")
		}
		if command && (howLong[arg.Name] && isPlainValue(arg.Value) || read.SaysFolder(arg.Name)) { // Folder is it
			continue
		}
		if readers[arg.Name] || arg.Name == "timeout" && isNumber(arg.Value) {
			m.Differs = append(m.Differs, arg.Name)
			continue
		}
		doc, err := rawjson.Parse(arg.Value)
		if err != nil {
			m.once("an argument cannot be read")
			return
		}
		value := doc.Root().AppendCanonical(nil)
		if root := doc.Root(); root.Kind() == rawjson.String {
			value = rawjson.Quote(statementForm(root.Text()))
		}
		add(arg.Name, "is", arg.ID, string(value))
	}
	m.Same = "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// howLong are arguments that say how long a command may take, and whether the agent waits for it.
var howLong = map[string]bool{"timeout": true, "timeout_ms": true, "timeoutMs": true, "run_in_background": true, "is_background": true, "isBackground": true, "background": true}

func isNumber(value []byte) bool {
	doc, err := rawjson.Parse(value)
	return err == nil && doc.Root().Kind() == rawjson.Number
}

// Labels of an act: that its session has read what others wrote; and what stands before the code of
// a reason and the name of a threat.
const (
	Tainted = "tainted"
	Reason  = "reason "
	Threat  = "threat "
)

// labels notes what is known of an act beside what it says.
func (m *Aim) labels(a *act.Action, d *act.Decision, tainted bool) {
	m.Risk = d.Risk
	for _, r := range d.Reasons {
		m.Labels = append(m.Labels, Reason+r.Code)
	}
	for _, t := range d.Risk.Threats {
		m.Labels = append(m.Labels, Threat+t)
	}
	if tainted {
		m.Labels = append(m.Labels, Tainted)
	}
	for _, f := range m.reading(a).Assess(hazard.Default()).Findings {
		m.Labels = append(m.Labels, "hazard "+f.Code)
		if f.Code == "command.not_understood" || f.Code == "text.bounds" {
			m.once("it cannot be read whole")
		}
	}
	slices.Sort(m.Labels)
	m.Labels = slices.Compact(m.Labels)
	const most = 64
	if len(m.Labels) > most {
		m.Labels = nil
		m.once("too much was found in it")
	}
}

// weigh takes the risk of an act that is known by what is found in it alone, since what its session did
// before is no matter then; rules and findings that count are labels. The
// options that are of no account do not make a command graver, where nothing else is found with them.
func (m *Aim) weigh(a, plain *act.Action) {
	if !m.Known {
		return
	}
	all, less := m.reading(a).Assess(hazard.Default()), m.reading(plain).Assess(hazard.Default())
	codes := func(found []hazard.Finding) (list []string) {
		for _, f := range found {
			list = append(list, f.Code)
		}
		slices.Sort(list)
		return slices.Compact(list)
	}
	score := all.Score
	if slices.Equal(codes(all.Findings), codes(less.Findings)) {
		score = min(score, less.Score)
	}
	m.Risk.Heuristic, m.Risk.Score = score, score
	if m.Risk.Model != nil {
		m.Risk.Score = max(score, *m.Risk.Model)
	}
}

// read reads the commands of an act, and notes the files that it runs and the paths that
// it goes to.
func (m *Aim) read(a *act.Action) {
	read := m.reading(a)
	m.Folder = Folder(a)
	if len(read.Folders()) > 1 {
		m.once("it is not known in which of several folders it would run")
	}
	where := map[string]bool{} // words that say no more than the folder
	for i := range a.Content {
		if l := &a.Content[i]; read.SaysFolder(l.Arg) {
			where[l.Text] = true
		}
	}
	commands, writing := 0, false
	var opened []string
	read.Watch(&hazard.Watch{
		Command:  func(c *hazard.Command) { commands++; m.command(c, []string{""}, runs) },
		Code:     func(string, string) { m.once("it gives an interpreter a program of its own") },
		Variable: func(_, value string) { opened = append(opened, filesIn(value)...) }, // BASH_ENV=x
		File: func(file string, writes bool, _ string, _ bool) {
			switch {
			case where[file]:
			case writes:
				writing = true
				m.name(file, goes)
			default:
				opened = append(opened, file)
			}
		},
	})
	for _, file := range opened { // in whichever folder: they are told before the command that goes there
		m.word(file, joined([]string{""}, m.dirs), runs)
	}
	given := map[string]bool{} // beside them stands what the agent's program adds to each call, such as its number
	for i := range a.Arguments {
		given[a.Arguments[i].Name] = true
	}
	for i, p := range read.Parts() {
		l := &a.Content[i]
		if where[l.Text] || l.Fixed && howLong[l.Text] {
			continue
		}
		if p.Path {
			m.name(l.Text, goes)
		}
		if !writing && !p.Words && given[l.Arg] && !showing[a.Canonical] && !(p.Use == hazard.Run && a.Canonical == canon.Shell) {
			m.mentions(l.Text)
		}
	}
	switch info, err := os.Stat(m.Folder); {
	case commands == 0, a.Kind == act.TaskStart: // which begins in an empty folder of its own
	case m.Folder == "" || !filepath.IsAbs(m.Folder):
		m.once("it is not known in which folder it would run")
	case err != nil || !info.IsDir():
		m.once("the folder in which it would run cannot be looked at from here")
	}
	if len(m.names) > maxFiles {
		m.once("it names too many files")
	}
}

// showing are the tools that show what is there, as people who agree to it expect.
var showing = map[string]bool{canon.ReadFile: true, canon.ListFiles: true, canon.SearchText: true}

// maxMentions is how many words of an argument are taken for names of files.
const maxMentions = 64

// mentions notes the files that an argument of a tool may name, as its whole text or inside it, such as in a query:
// of what they are for only the tool knows.
func (m *Aim) mentions(text string) {
	for _, file := range filesIn(text) {
		m.name(file, runs)
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("\"'`()<>;,|&", r) })
	n := 0
	for _, word := range words {
		if !strings.ContainsAny(word, "./") || word == text || strings.Contains(word, "://") && !strings.HasPrefix(word, "file://") {
			continue
		}
		if n++; n > maxMentions {
			m.once("it names too many files")
			return
		}
		for _, file := range filesIn(word) {
			m.name(file, script)
		}
	}
}

// Folder is the folder that an act works in, as far as it is said: by an argument, or
// by a hook.
func Folder(a *act.Action) string {
	if !a.IsCall() {
		return a.Folder
	}
	folder := hazard.Folders(a)[0]
	if filepath.IsAbs(folder) {
		folder = filepath.Clean(folder)
	}
	return folder
}

// readsProgram are the interpreters that run what stands on their standard input, when
// no file is named.
var readsProgram = map[string]bool{
	"sh": true, "bash": true, "zsh": true, "dash": true, "ksh": true, "fish": true, "csh": true, "tcsh": true, "pwsh": true, "powershell": true, "cmd": true,
	"python": true, "python3": true, "perl": true, "ruby": true, "node": true, "nodejs": true, "deno": true, "bun": true, "php": true, "lua": true, "Rscript": true,
	"psql": true, "mysql": true, "mariadb": true, "sqlite3": true, "mongosh": true, "redis-cli": true, "ssh": true, "at": true, "batch": true, "parallel": true, "xargs": true,
}

// impliedFiles are the files that programs run, or take their orders from, without being
// told.
var impliedFiles = map[string][]string{
	"make": {"Makefile", "makefile", "GNUmakefile"}, "gmake": {"Makefile", "makefile", "GNUmakefile"},
	"gradlew": {"build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "gradle.properties", "gradle/wrapper/gradle-wrapper.properties"},
	"mvnw":    {"pom.xml", ".mvn/extensions.xml", ".mvn/maven.config", ".mvn/jvm.config", ".mvn/wrapper/maven-wrapper.properties"},
	"go":      {"go.mod", "go.work"}, "ansible": {"ansible.cfg"}, "ansible-playbook": {"ansible.cfg"}, "deno": {"deno.json", "deno.jsonc"}, "composer": {"composer.json"},
	"npm": nodeFiles, "npx": nodeFiles, "bunx": nodeFiles, "pnpm": nodeFiles, "yarn": nodeFiles, "bun": nodeFiles,
	"just": {"justfile", "Justfile", ".justfile"}, "task": {"Taskfile.yml", "Taskfile.yaml"},
	"rake": {"Rakefile", "rakefile"}, "gradle": {"build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "gradle.properties"}, "mvn": {"pom.xml", ".mvn/extensions.xml", ".mvn/maven.config", ".mvn/jvm.config"},
	"cargo": {"Cargo.toml", "build.rs", ".cargo/config.toml", "~/.cargo/config.toml", "~/.cargo/config"}, "poetry": pythonFiles, "uv": pythonFiles, "twine": {".pypirc", "~/.pypirc"}, "tox": {"tox.ini"},
	"docker": composeFiles, "docker-compose": composeFiles, "podman": composeFiles,
	"kubectl": clusterFiles, "oc": clusterFiles, "helm": clusterFiles, "terraform": terraformFiles, "tofu": terraformFiles,
	"gh": append([]string{"~/.config/gh/hosts.yml"}, gitFiles()...), "hub": gitFiles(), "aws": {"~/.aws/config", "~/.aws/credentials"}, "gcloud": {"~/.config/gcloud/active_config", "~/.config/gcloud/configurations/config_default"},
	"prisma": append([]string{".env", "schema.prisma", "prisma/schema.prisma", "prisma/.env", "prisma.config.ts"}, nodeFiles...), "firebase": {".firebaserc", "firebase.json"}, "wrangler": {"wrangler.toml", "wrangler.json", "wrangler.jsonc", ".env"},
	"vercel": {".vercel/project.json", "vercel.json"}, "fly": {"fly.toml"}, "flyctl": {"fly.toml"},
	"dropdb": {"~/.pg_service.conf"}, "psql": {"~/.pg_service.conf", "~/.psqlrc"},
	"goreleaser": {".goreleaser.yaml", ".goreleaser.yml"}, "fastlane": {"Fastfile", "fastlane/Fastfile"}, "gem": {"Gemfile"}, "bundle": {"Gemfile"},
	"git": gitFiles(),
}

// gitFiles are what says where Git pushes to, and what it runs itself.
func gitFiles() []string {
	files := []string{".git", ".git/HEAD", ".git/config", ".git/config.worktree", ".git/remotes", ".git/branches", ".gitattributes", "~/.gitconfig", "~/.config/git/config"}
	for _, dir := range []string{".git/hooks", ".husky", ".husky/_", ".githooks"} {
		for _, hook := range []string{"pre-push", "pre-commit", "commit-msg", "prepare-commit-msg", "post-commit", "pre-rebase", "post-checkout", "reference-transaction"} {
			files = append(files, dir+"/"+hook)
		}
	}
	return files
}

var (
	nodeFiles    = []string{"package.json", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", "pnpm-workspace.yaml", "bunfig.toml", "~/.npmrc", "~/.yarnrc", "~/.yarnrc.yml"}
	pythonFiles  = []string{"pyproject.toml", "setup.py"}
	composeFiles = []string{"compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml", "compose.override.yaml", "docker-compose.override.yml", "Dockerfile", ".env", "~/.docker/config.json"}
	// What a cluster's or a cloud's programs are speaking to stands in these. A name with * is all
	// that are called so.
	clusterFiles   = []string{"~/.kube/config"}
	terraformFiles = []string{".terraform/environment", ".terraform.lock.hcl", ".terraform/modules/modules.json", ".terraform-version", ".tool-versions", "mise.toml", ".mise.toml", ".terraform/terraform.tfstate", "*.tf", "*.tf.json", "*.tfvars", "*.tfvars.json", "~/.terraformrc"}
)

// passesOn are programs that start another one with the words that they are given, and no others.
var passesOn = map[string]bool{
	"env": true, "timeout": true, "gtimeout": true, "nice": true, "nohup": true, "time": true, "stdbuf": true, "command": true,
	"npx": true, "bunx": true, "pnpx": true, "uvx": true, "sudo": true,
}

// command notes what one command of an act runs, from some folders, and what becomes of the files that its words name.
func (m *Aim) command(c *hazard.Command, from []string, operands use) {
	base := path.Base(strings.ReplaceAll(c.Name, `\`, "/"))
	switch {
	case !c.Known:
		m.once("a part of it is known only when it runs")
	case c.Around != "" && !passesOn[c.Around]:
		m.once("it runs a command with words that are not known before")
	case isPattern(c.Name + strings.Join(c.Words, "")):
		m.once("it names files by a pattern")
	case base == "eval" || base == "exec" && len(c.Words) == 0:
		m.once("it runs what is not known before")
	}
	if len(m.names) > maxFiles {
		m.once("it names too many files")
		return
	}
	for _, d := range c.Dirs {
		if d != "" && !slices.Contains(m.dirs, d) {
			m.dirs = append(m.dirs, d)
		}
	}
	folders := joined(from, slices.DeleteFunc(slices.Clone(c.Dirs), func(d string) bool { return d == "" }))
	takes := orders{goesByOf(base), append([]string{}, c.Words...)} // not nil: nothing is asked for by no word
	in := func(file string, u use) {
		for _, at := range m.word(file, folders, u) {
			if u == runs {
				m.ordersFor(takes, at)
			}
		}
	}
	if strings.ContainsAny(c.Name, `/\`) {
		in(c.Name, operands)
	} else {
		m.name(c.Name, program)
	}
	script := false
	for i, w := range c.Words {
		for _, file := range filesIn(w) {
			use := operands
			if i > 0 && worksIn[c.Words[i-1]] || base == "cd" || base == "pushd" || strings.HasPrefix(w, "-") && worksIn[strings.SplitN(w, "=", 2)[0]] {
				use = works
			}
			in(file, use)
			script = script || !strings.HasPrefix(w, "-")
		}
	}
	if readsProgram[base] && !script && c.Stdin == "" {
		m.once("it runs what another command gives it")
	}
	if base == "npx" || base == "npm" || base == "pnpm" || base == "bunx" || base == "yarn" {
		for _, w := range c.Words {
			if !strings.HasPrefix(w, "-") {
				in("node_modules/.bin/"+w, runs)
			}
		}
	}
	if strings.HasPrefix(base, "python") || strings.HasPrefix(base, "pypy") {
		m.pythonModules(c.Words, in)
	}
	if base == "git" {
		m.commits(c.Words)
	}
	if impliedFiles[base] != nil {
		m.implied(base, c.Words, folders, in)
	}
	m.obeys(base, c.Words, in)
}

// implied notes what a program takes its orders from without being told: in the folders
// that it may run in, in those that its words name (make -C dir), and for Git in the
// one above that is its own.
func (m *Aim) implied(base string, words, dirs []string, in func(string, use)) {
	var folders []string
	for _, w := range words {
		for _, dir := range filesIn(w) {
			if info, err := os.Stat(m.at(dir)); err == nil && info.IsDir() && len(folders) < 16 {
				folders = append(folders, dir)
			}
		}
	}
	if goesByOf(base) == "git" {
		for dir := m.Folder; dir != "" && filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
			info, err := os.Lstat(filepath.Join(dir, ".git"))
			if err != nil {
				continue
			}
			if !info.IsDir() {
				m.once("its repository's settings lie elsewhere")
			}
			folders = append(folders, dir)
			break
		}
	}
	for _, file := range impliedFiles[base] {
		use := runs
		if strings.HasPrefix(file, "~") {
			m.name(file, runs)
			m.ordersFor(orders{goesByOf(base), words}, file)
			continue
		}
		if strings.Contains(file, "*") {
			m.called(file, append(folders, dirs...))
			continue
		}
		if file == ".git" { // changes with all that Git does; what of it is obeyed stands in the list
			use = works
		}
		in(file, use)
		for _, dir := range folders {
			in(dir+"/"+file, use)
		}
	}
}

// word notes the files that a word may mean in some folders, by its name and as a pattern, and returns the names.
func (m *Aim) word(file string, folders []string, u use) (names []string) {
	for _, d := range folders {
		at := file
		if d != "" && !filepath.IsAbs(file) && !strings.HasPrefix(file, "~") {
			at = d + "/" + file
		}
		m.name(at, u)
		names = append(names, at)
	}
	if isPattern(file) {
		m.called(file, folders)
	}
	return names
}

// isPattern reports whether a shell takes a word for a pattern of files' names.
func isPattern(word string) bool { return strings.ContainsAny(word, "*?[") }

// goesByOf is the program whose orders a program goes by: the clients of forges have Git push.
func goesByOf(program string) string {
	if program == "gh" || program == "hub" || program == "glab" {
		return "git"
	}
	return program
}

// Bounds of the patterns of which the files are looked for: how many, and how many of a path's parts are patterns.
const (
	maxPatterns = 32
	maxDeep     = 2
)

// called notes the files of some folders that a pattern names.
func (m *Aim) called(pattern string, dirs []string) {
	for _, dir := range dirs {
		at := m.at(cmp.Or(dir, "."))
		whole := filepath.Join(escaped.Replace(at), strings.ReplaceAll(pattern, "[!", "[^"))
		if rest, home := strings.CutPrefix(pattern, "~/"); home {
			whole = filepath.Join(escaped.Replace(m.at("~")), rest)
		} else if filepath.IsAbs(pattern) {
			whole = pattern
		}
		m.patterns++
		fixed, deep := whole, 0
		for isPattern(fixed) {
			if isPattern(filepath.Base(fixed)) {
				deep++
			}
			fixed = filepath.Dir(fixed)
		}
		var found []string
		err := filepath.ErrBadPattern
		if m.patterns <= maxPatterns && deep <= maxDeep && !strings.Contains(pattern, "**") {
			found, err = filepath.Glob(whole)
		}
		if err != nil || len(found) > maxFiles {
			m.once("it names too many files")
			m.name(strings.NewReplacer(`\\`, `\`, `\*`, "*", `\?`, "?", `\[`, "[").Replace(fixed), runs) // what lies there, whichever of it is meant
			continue
		}
		for _, file := range found {
			m.name(file, runs)
		}
	}
}

// escaped writes a folder into a pattern.
var escaped = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

// worksIn are the options behind which a folder stands that something works in. Such a folder
// is as the one that it is called in: what it holds may change.
var worksIn = map[string]bool{"-C": true, "--prefix": true, "--cwd": true, "--directory": true, "--chdir": true, "-chdir": true, "--project-directory": true, "--workdir": true}

// pythonModules notes the modules that Python runs by name, and those that it would find before
// its own: beside a script, or where it is called.
func (m *Aim) pythonModules(words []string, in func(string, use)) {
	for i, w := range words {
		name, glued := strings.CutPrefix(w, "-m")
		if glued && name == "" && i+1 < len(words) {
			name = words[i+1]
		}
		if glued && name != "" {
			file := strings.ReplaceAll(name, ".", "/")
			in(file+".py", runs)
			in(file, runs)
			in(".", modules)
			return
		}
		if !strings.HasPrefix(w, "-") {
			in(path.Dir(w), modules)
			return
		}
	}
}

// moduleNames is a digest of the names by which Python finds modules in a folder.
func moduleNames(dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > maxEntries {
		return "unknown"
	}
	h := sha256.New()
	for _, e := range entries {
		inside := e.IsDir() || e.Type()&os.ModeSymlink != 0
		if inside {
			_, err := os.Stat(filepath.Join(dir, e.Name(), "__init__.py"))
			inside = err == nil
		}
		if ext := filepath.Ext(e.Name()); inside || ext == ".py" || ext == ".so" || ext == ".pyc" || ext == ".pyd" {
			fmt.Fprintf(h, "%d %s\n", len(e.Name()), e.Name())
		}
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// commits notes the branches and tags that a call of Git's names: others may have been put
// there. The one that is checked out goes on while somebody works, and which one that is is
// looked at with Git's files.
func (m *Aim) commits(words []string) {
	for _, w := range words {
		switch w {
		case "--all", "--mirror", "--tags", "--branches", "--follow-tags":
			m.once("it takes every branch or tag that is there")
			m.references()
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(w, "+"), ":")
		if name == "" || strings.HasPrefix(name, "-") || name == "HEAD" || len(name) > 256 {
			continue
		}
		if strings.ContainsAny(name, "~^*") || strings.Contains(name, "@{") {
			m.once("it names a commit by how far it is from another")
			m.references()
		}
		m.name(strings.TrimPrefix(name, "refs/heads/"), commit)
	}
}

// references notes all branches and tags of the repository, for what any of them may be taken by.
func (m *Aim) references() {
	for dir := m.Folder; dir != "" && filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			m.name(filepath.Join(dir, ".git", "refs"), runs)
			m.name(filepath.Join(dir, ".git", "packed-refs"), runs)
			return
		}
	}
}

// commitOf is what a branch or tag stands for; empty where there is none of that name, or it is
// the branch that is checked out.
func (m *Aim) commitOf(name string) string {
	for dir := m.Folder; dir != "" && filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		git := filepath.Join(dir, ".git")
		head, err := regular.Read(filepath.Join(git, "HEAD"), maxFile)
		if err != nil {
			continue
		}
		if strings.TrimSpace(string(head)) == "ref: refs/heads/"+name {
			return ""
		}
		packed, _ := regular.Read(filepath.Join(git, "packed-refs"), maxFile)
		for _, ref := range []string{"refs/heads/" + name, "refs/tags/" + name, "refs/remotes/" + name, name} {
			if !filepath.IsLocal(ref) {
				continue
			}
			if text, err := regular.Read(filepath.Join(git, ref), maxFile); err == nil && ref != name || err == nil && strings.HasPrefix(name, "refs/") {
				return ref + " " + strings.TrimSpace(string(text))
			}
			for line := range bytes.Lines(packed) {
				if sum, of, _ := strings.Cut(strings.TrimSpace(string(line)), " "); of == ref {
					return ref + " " + sum
				}
			}
		}
		return ""
	}
	return ""
}

// maxEntries is how many files and folders of a folder that an act names are looked at.
const maxEntries = 4096

// tree is a digest of all that lies in a folder: names, modes, contents, and where links lead.
func tree(dir string, left *int64) string {
	h, entries := sha256.New(), 0
	err := filepath.WalkDir(dir, func(at string, e os.DirEntry, err error) error {
		if entries++; err != nil || entries > maxEntries {
			return cmp.Or(err, os.ErrInvalid)
		}
		rel, err := filepath.Rel(dir, at)
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		what := ""
		if !e.IsDir() { // also through a link: others follow it
			if what = sum(at, left, false); what == unreadable || what == "folder" {
				return os.ErrInvalid
			}
		}
		fmt.Fprintf(h, "%d %s %s %s\n", len(rel), rel, info.Mode(), what)
		if info.Mode()&os.ModeSymlink != 0 {
			to, err := os.Readlink(at)
			fmt.Fprintf(h, "%d %s\n", len(to), to)
			return err
		}
		return nil
	})
	if err != nil {
		return unreadable
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// maxPieces is how many pieces of a word are taken for names of files.
const maxPieces = 32

// filesIn are the files that a word may name: --file=x, -fx and @x do, too, and a,b and x:y.
func filesIn(word string) (files []string) {
	if word == "" || len(word) > 4096 || strings.Contains(word, "\x00") {
		return nil
	}
	add := func(s string) {
		s = strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(s, "@"), "file://"), "fileb://")
		if s != "" && !slices.Contains(files, s) {
			files = append(files, s)
		}
	}
	if !strings.HasPrefix(word, "-") {
		add(word)
	} else if len(word) > 2 && word[1] != '-' && !strings.Contains(word, "=") {
		add(word[2:])
	}
	if _, value, ok := strings.Cut(word, "="); ok { // if=x
		add(value)
	}
	pieces := strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune(",:;=@{}\"' ", r) })
	for _, piece := range pieces[:min(len(pieces), maxPieces)] {
		if !strings.HasPrefix(piece, "-") && len(pieces) > 1 {
			add(piece)
		}
	}
	return files
}

func (m *Aim) name(file string, u use) {
	n := named{file, u}
	switch {
	case m.seen[n]:
	case len(m.names) > maxFiles: // what names no end of them costs no more
		m.once("it names too many files")
	default:
		m.seen[n] = true
		m.names = append(m.names, n)
	}
}

// at is the place of a file that an act names.
func (m *Aim) at(file string) string {
	if rest, ok := strings.CutPrefix(file, "~"); ok && (rest == "" || rest[0] == '/') {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	if filepath.IsAbs(file) {
		return filepath.Clean(file)
	}
	if m.Folder == "" {
		return ""
	}
	// Not joined by names: x/../y is not y where x is a link.
	return strings.TrimRight(m.Folder, "/") + "/" + file
}

// Look looks at the files that the act names, and returns the scope. The state of what
// stands there is told from what was there when people were asked.
func (m *Aim) Look() *approval.Scope {
	if m.State != "" { // it was looked at
		return &m.Scope
	}
	left, h := int64(maxBytes), sha256.New()
	for i := 0; i < len(m.names) && i <= maxFiles; i++ { // what a file takes in is added behind
		n := m.names[i]
		f := approval.File{Path: n.path}
		switch at := m.at(n.path); {
		case n.use == commit:
			f.Path, f.Sum = "commit of "+n.path, m.commitOf(n.path)
			if f.Sum == "" {
				continue // no branch of that name
			}
		case n.use == modules:
			f.Path, f.Sum = "modules in "+n.path, moduleNames(m.at(n.path))
		case n.use == settings:
			f.Path, f.Sum = "settings in "+n.path, settingsOf(m.at(n.path), &left)
		case n.use == program:
			found, err := exec.LookPath(n.path)
			if err != nil {
				f.Sum = "not found"
				break
			}
			f.Real = links.Resolve(found)
			f.Sum = sum(f.Real, &left, true)
		case at == "":
			f.Sum = "unknown"
		default:
			f.Real = links.Resolve(at)
			if n.use == runs || n.use == script {
				f.Sum = sum(f.Real, &left, false)
				if strings.HasPrefix(f.Sum, "sha256:") {
					m.imports(n, f.Real)
				}
			}
			if info, err := os.Stat(f.Real); err == nil && info.IsDir() && n.use != works && n.use != script {
				if f.Sum = tree(f.Real, &left); f.Sum == unreadable {
					m.once("a folder that it names is too large to be looked at, or cannot be: " + path.Base(n.path))
				}
			}
		}
		if f.Sum == unreadable {
			m.once("a file that it may run cannot be read: " + path.Base(n.path))
		}
		if n.use != goes && n.use != program && (f.Sum == "absent" || f.Sum == "unknown") && !telling(n.path) {
			// Most words are no files. That none of this name is there must stay so all the same.
			f.Real = ""
		}
		m.Files = append(m.Files, f)
		if f.Sum == "unknown" && f.Real == "" {
			f.Sum = "absent" // the same act may come by a door that knows its folder, and by one that does not
		}
		fmt.Fprintf(h, "%q %q %q\n", f.Path, f.Real, f.Sum)
		if info, err := os.Stat(f.Real); f.Sum == unreadable && err == nil {
			fmt.Fprintf(h, "%d %d\n", info.Size(), info.ModTime().UnixNano())
		}
	}
	m.State = "sha256:" + hex.EncodeToString(h.Sum(nil))
	if m.Once != "" {
		m.Files = nil
	}
	return &m.Scope
}

// telling reports whether a word says by itself that it is a path.
func telling(word string) bool { return strings.ContainsAny(word, `/\`) }

// unreadable is the sum of a file that is there and whose content is not known.
const unreadable = "unreadable"

// sum tells what stands at a place: a file by its content. Of a program that is too
// large to be read, its size and time.
func sum(file string, left *int64, program bool) string {
	info, err := os.Stat(file)
	switch {
	case err != nil && os.IsNotExist(err), errorIsNotDir(err):
		return "absent"
	case err != nil:
		return unreadable
	case info.IsDir():
		return "folder"
	case !info.Mode().IsRegular():
		return unreadable
	}
	if info.Size() > maxFile || info.Size() > *left {
		if program {
			return fmt.Sprintf("%d bytes of %d", info.Size(), info.ModTime().UnixNano())
		}
		return unreadable
	}
	*left -= info.Size()
	text, err := regular.Read(file, maxFile)
	if err != nil {
		return unreadable
	}
	if filepath.Base(file) == "config" && filepath.Base(filepath.Dir(file)) == ".git" {
		text = withoutBranches(text)
	}
	digest := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(digest[:])
}

// withoutBranches is Git's settings without what it writes itself for each new branch of
// origin: what is left says where to and by which programs.
func withoutBranches(text []byte) (kept []byte) {
	branch := false
	for line := range bytes.Lines(text) {
		trimmed := string(bytes.TrimSpace(line))
		if strings.HasPrefix(trimmed, "[") {
			branch = strings.HasPrefix(trimmed, `[branch "`) && strings.HasSuffix(trimmed, `"]`) && strings.Count(trimmed, "]") == 1
		}
		if branch && (trimmed[:min(1, len(trimmed))] == "[" || trimmed == "remote = origin" || strings.HasPrefix(trimmed, "merge = refs/heads/")) {
			continue
		}
		kept = append(kept, line...)
	}
	return kept
}

func errorIsNotDir(err error) bool {
	e, ok := err.(*os.PathError)
	return ok && (e.Err == syscall.ENOTDIR || e.Err == syscall.ENAMETOOLONG || e.Err == syscall.EINVAL)
}
