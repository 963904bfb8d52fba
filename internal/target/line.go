package target

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/risk/hazard"

	"mvdan.cc/sh/v3/syntax"
)

// A Line is a call's command as the commands that it holds, one after the other, in the one form
// in which two spellings of a command are compared. Only what is spelled out is read so: a word that
// depends on a variable, a pattern, a redirection or the shell's own state leaves the text as it is.
type Line struct {
	act      *act.Action
	text     string
	argument int   // of the act, that holds the text
	leaf     int   // of the act, that is the text
	where    []int // the arguments that say in which folder it runs
	folder   string
	commands []plainCommand
}

// plainCommand is a command of a line, of which every word is known.
type plainCommand struct {
	form
	after string // what stands between it and the one before: ";", "&&" or "||"
	at    int    // where it begins in the text
}

// Bounds of a line that is read so.
const (
	maxLine     = 4096
	maxLineCmds = 16
)

// ReadLine reads the command of a call; nil where it is no line of commands that are spelled out.
func ReadLine(a *act.Action) *Line {
	l := &Line{act: a, argument: -1, leaf: -1}
	if !a.IsCall() || !l.find() || len(l.text) > maxLine {
		return nil
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(l.text), "")
	if err != nil {
		return nil
	}
	l.folder = Folder(a)
	whole := true
	for _, s := range file.Stmts {
		if whole = whole && l.add(s, ";"); !whole {
			break
		}
	}
	if len(l.commands) == 0 {
		return nil
	}
	for i, c := range l.commands {
		if changesShell[c.words[0]] && (i < len(l.commands)-1 || !whole) {
			return nil
		}
	}
	if !whole { // the text from the first command on that is not spelled out is read by others
		l.commands = append(l.commands, plainCommand{at: l.unread(file)})
	}
	return l
}

// find looks for the one text that a call runs. A tool whose other arguments may say how the text is
// read, or by which shell, is left alone.
func (l *Line) find() bool {
	a := l.act
	if slices.ContainsFunc([]string{"powershell", "pwsh", "cmd.exe", "windows", "batch"}, func(s string) bool { return strings.Contains(a.Canonical, s) }) {
		return false
	}
	read := hazard.Read(a)
	readers := readersArguments(a, read)
	for i, arg := range a.Arguments {
		switch {
		case arg.Name == "command" || arg.Name == "cmd":
			if l.argument >= 0 {
				return false
			}
			l.argument = i
		case len(read.Folders()) == 1 && read.SaysFolder(arg.Name):
			l.where = append(l.where, i)
		case !readers[arg.Name] && !isPlainValue(arg.Value):
			return false
		}
	}
	if l.argument < 0 {
		return false
	}
	parts := read.Parts()
	for i := range a.Content {
		if leaf := &a.Content[i]; leaf.Pointer == a.Arguments[l.argument].Pointer && parts[i].Use == hazard.Run && !leaf.Fixed {
			l.leaf, l.text = i, leaf.Text
		}
	}
	return l.leaf >= 0
}

// runsOneText reports whether a call runs one text, and all else that it is given are words about it.
func runsOneText(a *act.Action) bool {
	return (&Line{act: a, argument: -1, leaf: -1}).find()
}

// isPlainValue reports whether a value is a number, true or false: how long, or whether beside.
func isPlainValue(value []byte) bool {
	doc, err := rawjson.Parse(value)
	if err != nil {
		return false
	}
	kind := doc.Root().Kind()
	return kind == rawjson.Number || kind == rawjson.Bool
}

// add reads one statement, and reports whether it is spelled out.
func (l *Line) add(s *syntax.Stmt, after string) bool {
	if s.Negated || s.Background || s.Coprocess || s.Disown || !onlyPrints(s.Redirs) {
		return false
	}
	switch c := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		switch {
		case c.Op == syntax.AndStmt || c.Op == syntax.OrStmt:
			return len(s.Redirs) == 0 && l.add(c.X, after) && l.add(c.Y, c.Op.String())
		case c.Op == syntax.Pipe || c.Op == syntax.PipeAll:
			reader := plainWords(c.Y)
			folder := l.folder // cd in a pipe leads nowhere
			if len(s.Redirs) > 0 || reader == nil || !printsInput(reader) && reader[0] != "tee" || !l.add(c.X, after) || l.folder != folder {
				return false
			}
			// What tee writes is a command of its own: it is judged, and nobody was asked about it.
			return reader[0] != "tee" || l.add(c.Y, ";")
		}
		return false
	case *syntax.TimeClause:
		return len(s.Redirs) == 0 && c.Stmt != nil && l.add(c.Stmt, after)
	case *syntax.CallExpr:
		words := plainWords(s)
		switch {
		case words == nil || len(l.commands) == maxLineCmds:
			return false
		case aside(words):
			return true
		case words[0] == "cd" && len(l.commands) == 0:
			return after != "||" && l.enter(words)
		}
		l.commands = append(l.commands, plainCommand{form: formOf(words), after: after, at: int(s.Pos().Offset())})
		return true
	}
	return false
}

// unread is where the first statement begins that is not one of the line's commands. What stands
// before it was read.
func (l *Line) unread(file *syntax.File) int {
	last := l.commands[len(l.commands)-1].at
	at := len(l.text)
	var look func(s *syntax.Stmt)
	look = func(s *syntax.Stmt) {
		if b, ok := s.Cmd.(*syntax.BinaryCmd); ok && (b.Op == syntax.AndStmt || b.Op == syntax.OrStmt) && len(s.Redirs) == 0 && !s.Negated && !s.Background {
			look(b.X)
			look(b.Y)
			return
		}
		if begins := int(s.Pos().Offset()); begins > last {
			at = min(at, begins)
		}
	}
	for _, s := range file.Stmts {
		look(s)
	}
	return at
}

// enter is cd as the line's beginning: what follows works in another folder.
func (l *Line) enter(words []string) bool {
	if len(words) != 2 || words[1] == "" || words[1][0] == '-' || l.folder == "" && !filepath.IsAbs(words[1]) {
		return false
	}
	to := words[1]
	if !filepath.IsAbs(to) {
		to = strings.TrimRight(l.folder, "/") + "/" + to
	}
	info, err := os.Stat(to)
	real, badly := filepath.EvalSymlinks(to)
	plain, badly2 := filepath.EvalSymlinks(filepath.Clean(to))
	if err != nil || !info.IsDir() || badly != nil || badly2 != nil || real != plain {
		return false // x/../y is not y where x is a link
	}
	l.folder = filepath.Clean(to)
	return true
}

// Len is how many commands the line holds; the last may be all that is not read.
func (l *Line) Len() int { return len(l.commands) }

// To is the act with the first n commands alone, in their one form; nil where one of them is not read.
func (l *Line) To(n int) *act.Action {
	var b strings.Builder
	for i, c := range l.commands[:n] {
		if len(c.words) == 0 {
			return nil
		}
		if i > 0 {
			b.WriteString(" " + c.after + " ")
		}
		b.WriteString(strings.TrimSpace(quoted(c.words)))
	}
	return l.with(b.String())
}

// From is the act with what stands behind the first n commands alone, as it is written.
func (l *Line) From(n int) *act.Action { return l.with(l.text[l.commands[n].at:]) }

// with is the act with another command, in the folder that the line goes to.
func (l *Line) with(text string) *act.Action {
	a := *l.act
	a.Arguments, a.Content = slices.Clone(a.Arguments), slices.Clone(a.Content)
	a.Arguments[l.argument].Value = rawjson.Quote(text)
	a.Content[l.leaf].Text = text
	a.Folder = l.folder
	for _, i := range l.where { // which stands in Folder
		a.Arguments[i].Value = rawjson.Quote("")
		for j := range a.Content {
			if a.Content[j].Pointer == a.Arguments[i].Pointer {
				a.Content[j].Text = ""
			}
		}
	}
	return &a
}

// plainWords are the words of a command that is nothing else and spells out each of them.
func plainWords(s *syntax.Stmt) (words []string) {
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || slices.ContainsFunc(c.Assigns, isOfAccount) || len(c.Args) == 0 || s.Negated || s.Background || s.Coprocess || !onlyPrints(s.Redirs) {
		return nil
	}
	for _, w := range c.Args {
		text := ""
		for _, p := range w.Parts {
			switch p := p.(type) {
			case *syntax.Lit:
				if strings.Trim(p.Value, plainSigns) != "" {
					return nil
				}
				text += p.Value
			case *syntax.SglQuoted:
				if p.Dollar {
					return nil
				}
				text += p.Value
			case *syntax.DblQuoted:
				for _, inner := range p.Parts {
					lit, ok := inner.(*syntax.Lit)
					if !ok || p.Dollar || strings.ContainsAny(lit.Value, "\\`$!") {
						return nil
					}
					text += lit.Value
				}
			default:
				return nil
			}
		}
		if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == '\'' || r == 0x7f }) || strings.HasPrefix(text, "=") {
			return nil
		}
		words = append(words, text)
	}
	if words = untimed(words); words[0] == "" || strings.ContainsAny(words[0], " ") {
		return nil
	}
	return words
}

// isOfAccount reports whether a variable that a command is given may have it do another thing.
func isOfAccount(a *syntax.Assign) bool {
	if a.Name == nil || a.Append || a.Naked || a.Index != nil || a.Array != nil || !looksOnly[a.Name.Value] {
		return true
	}
	return a.Value != nil && (a.Value.Lit() == "" || strings.Trim(a.Value.Lit(), plainSigns) != "")
}

// looksOnly are variables that say how a program speaks to whoever reads it, and that nobody is there to be asked.
var looksOnly = map[string]bool{
	"CI": true, "NO_COLOR": true, "FORCE_COLOR": true, "CLICOLOR": true, "CLICOLOR_FORCE": true, "TERM": true, "COLUMNS": true, "LINES": true,
	"LANG": true, "LC_ALL": true, "TZ": true, "DEBIAN_FRONTEND": true, "TF_IN_AUTOMATION": true, "TF_INPUT": true, "PYTHONUNBUFFERED": true,
	"GIT_TERMINAL_PROMPT": true, "DOCKER_CLI_HINTS": true, "BUILDKIT_PROGRESS": true, "DOTNET_CLI_TELEMETRY_OPTOUT": true, "DOTNET_NOLOGO": true,
	"NEXT_TELEMETRY_DISABLED": true, "HOMEBREW_NO_AUTO_UPDATE": true, "CARGO_TERM_COLOR": true, "RUST_BACKTRACE": true,
}

// untimed is a command without a bound of its time before it.
func untimed(words []string) []string {
	if words[0] != "timeout" {
		return words
	}
	rest := words[1:]
	for len(rest) > 1 {
		switch name, _, joined := strings.Cut(rest[0], "="); {
		case name == "--foreground" || name == "--preserve-status" || name == "-v" || name == "--verbose":
			rest = rest[1:]
		case joined && (name == "--kill-after" || name == "--signal"):
			rest = rest[1:]
		case len(rest) > 2 && (rest[0] == "-k" || rest[0] == "-s" || rest[0] == "--kill-after" || rest[0] == "--signal"):
			rest = rest[2:]
		case strings.Trim(rest[0], "0123456789.") == "" || strings.Trim(rest[0][:len(rest[0])-1], "0123456789.") == "" && strings.Contains("smhd", rest[0][len(rest[0])-1:]):
			return rest[1:]
		default:
			return words
		}
	}
	return words
}

// plainSigns are what every shell takes as it stands, wherever it stands in a word.
const plainSigns = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-"

// quoted is a command as it is written to a shell.
func quoted(words []string) string {
	var list []string
	for _, w := range words {
		if w == "" || strings.Trim(w, plainSigns) != "" {
			w = "'" + w + "'"
		}
		list = append(list, w)
	}
	return strings.Join(list, " ")
}

// onlyPrints reports whether redirections send what a command prints nowhere else: 2>&1, >/dev/null.
func onlyPrints(redirs []*syntax.Redirect) bool {
	for _, r := range redirs {
		to := ""
		if r.Word != nil {
			to = r.Word.Lit()
		}
		switch {
		case r.Op == syntax.DplOut && (to == "1" || to == "2"):
		case (r.Op == syntax.RdrOut || r.Op == syntax.RdrAll || r.Op == syntax.AppOut || r.Op == syntax.AppAll) && to == "/dev/null":
		default:
			return false
		}
	}
	return true
}

// aside reports a command that only prints or waits, or has the line end at its first fault.
func aside(words []string) bool {
	switch words[0] {
	case "echo", "printf", "pwd", "date", "true", ":", "whoami", "sleep":
		return !slices.ContainsFunc(words[1:], func(w string) bool { return words[0] == "printf" && strings.HasPrefix(w, "-") })
	case "git":
		return len(words) > 1 && words[1] == "status" && !slices.ContainsFunc(words[2:], func(w string) bool {
			return !slices.Contains([]string{"-s", "--short", "-b", "--branch", "-sb", "--porcelain"}, w)
		})
	case "set":
		for _, w := range words[1:] {
			if w != "pipefail" && (!strings.HasPrefix(w, "-") || len(w) < 2 || strings.Trim(w[1:], "euxo") != "") {
				return false
			}
		}
		return len(words) > 1
	}
	return false
}

// printsInput reports a command that prints what it is given, or some of it, and does nothing else.
func printsInput(words []string) bool {
	switch words[0] {
	case "tail", "head", "cat", "wc":
		for i, w := range words[1:] {
			number := strings.Trim(w, "0123456789+") == "" && i > 0 && (words[i] == "-n" || words[i] == "-c")
			if !number && (!strings.HasPrefix(w, "-") || strings.HasPrefix(w, "--files0-from") || w == "-") {
				return false
			}
		}
		return true
	case "grep", "egrep":
		patterns := 0 // a second word would be a file
		for _, w := range words[1:] {
			if !strings.HasPrefix(w, "-") {
				patterns++
			} else if len(w) < 2 || strings.Trim(w[1:], "vinEFowcq") != "" {
				return false
			}
		}
		return patterns == 1
	}
	return false
}

// changesShell are commands by which what follows in the same line may be another thing than its
// words say.
var changesShell = map[string]bool{
	"alias": true, "unalias": true, "source": true, ".": true, "eval": true, "exec": true, "trap": true, "set": true, "shopt": true, "unset": true,
	"export": true, "declare": true, "typeset": true, "local": true, "readonly": true, "read": true, "hash": true, "enable": true, "builtin": true,
	"command": true, "cd": true, "pushd": true, "popd": true, "exit": true, "return": true, "let": true, "mapfile": true, "readarray": true,
	"setopt": true, "unsetopt": true, "emulate": true, "autoload": true, "zmodload": true, "getopts": true, "bind": true, "function": true, "setenv": true,
}

// form is a command in the one form in which its spellings are compared.
type form struct {
	words []string
	free  []string // the options that are of no account
	worse []string // what it does more than it would without some of its options
}

// formOf is the form of a command. Where it is not known what each of its options does, the words
// are its form.
func formOf(words []string) form {
	start := 0
	if runner := runnersOf[words[0]]; runner && len(words) > 1 && known[words[1]] != nil {
		start = 1
	}
	for _, k := range known[words[start]] {
		if f, ok := k.form(words[start:]); ok {
			f.words = append(slices.Clone(words[:start]), f.words...)
			return f
		}
	}
	return form{words: orderForms(words)}
}

// orderForms are the words of a client of a database in one spelling: those that begin a statement, and
// the orders of Redis, are read in either case.
func orderForms(words []string) []string {
	words = slices.Clone(words)
	for i, w := range words[1:] {
		switch words[0] {
		case "psql", "mysql", "mariadb", "sqlite3", "duckdb", "clickhouse-client":
			words[i+1] = statementForm(w)
		case "redis-cli", "valkey-cli":
			if low := strings.ToLower(w); low == "flushall" || low == "flushdb" {
				words[i+1] = low
			}
		}
	}
	return words
}

// statementVerbs are the words that begin statements which destroy something, as one writes them.
var statementVerbs = []string{"DROP TABLE ", "DROP VIEW ", "DROP INDEX ", "DROP SCHEMA ", "DROP DATABASE ", "TRUNCATE TABLE ", "TRUNCATE ", "DELETE FROM "}

// statementForm is one statement of SQL with the words that begin it in capitals and without the sign that
// ends it. Names are left as they are: of these the case may count.
func statementForm(text string) string {
	for _, verb := range statementVerbs {
		if len(text) > len(verb) && strings.EqualFold(text[:len(verb)], verb) {
			return verb + strings.TrimSuffix(text[len(verb):], ";")
		}
	}
	return text
}

// runnersOf are programs that run one of the project by its name, which follows.
var runnersOf = map[string]bool{"npx": true, "pnpm": true, "yarn": true, "bunx": true}

// form is the command in its one form; false where it is another act, or has words of which this
// does not know what they do.
func (k *knownAct) form(words []string) (f form, ok bool) {
	options, rest, ok := k.split(words[1:])
	if !ok || len(rest) < len(k.verbs) || !slices.Equal(rest[:len(k.verbs)], k.verbs) {
		return form{}, false
	}
	rest = rest[len(k.verbs):]
	var kept []string
	for _, o := range options {
		switch {
		case k.own[o.name] != "":
			kept = append(kept, k.own[o.name]+o.value)
		case k.worse[o.name]:
			f.worse = append(f.worse, o.name+o.value)
		}
	}
	if k.more != nil {
		rest, kept, f.worse, ok = k.more(options, rest, kept, f.worse)
		if !ok {
			return form{}, false
		}
	}
	slices.Sort(kept)
	f.words = slices.Concat([]string{words[0]}, k.verbs, slices.Compact(kept), rest)
	f.free = k.free
	return f, true
}

// option is one of a command, as it is written, and "=" with its value.
type option struct{ name, value string }

// split tells the options of a command from its other words. Every one of them must be known.
func (k *knownAct) split(words []string) (options []option, rest []string, ok bool) {
	for i := 0; i < len(words); i++ {
		w := words[i]
		if !strings.HasPrefix(w, "-") {
			rest = append(rest, w)
			continue
		}
		name, value, joined := strings.Cut(w, "=")
		switch takes, is := k.takes[name]; {
		case is && !takes && k.own[name] == "" && !k.worse[name] && value == "false": // as if it were not there
		case is && !takes && !joined, is && !takes && k.own[name] == "" && value == "true":
			options = append(options, option{name: name})
		case is && takes && joined:
			options = append(options, option{name, "=" + value})
		case is && takes && i+1 < len(words) && !strings.HasPrefix(words[i+1], "-"):
			i++
			options = append(options, option{name, "=" + words[i]})
		case !is && !joined && len(w) > 2 && w[1] != '-' && k.letters(w[1:]): // -rf
			for _, c := range w[1:] {
				options = append(options, option{name: "-" + string(c)})
			}
		default:
			return nil, nil, false
		}
	}
	return options, rest, true
}

// letters reports whether each letter of a word is an option without a value.
func (k *knownAct) letters(word string) bool {
	for _, c := range word {
		if takes, is := k.takes["-"+string(c)]; !is || takes {
			return false
		}
	}
	return true
}

// knownAct is an act of a program of which it is known what each option does.
type knownAct struct {
	verbs []string
	takes map[string]bool   // the options that are known, and whether they take a value
	own   map[string]string // those that are a part of what is done or to what, in one spelling
	worse map[string]bool   // those by which more is done than without them
	free  []string          // the others
	more  func(options []option, rest, kept, worse []string) (r, k, w []string, ok bool)
}

// describe reads a row of the table below.
func describe(verbs, free, own, worse string) *knownAct {
	k := &knownAct{verbs: strings.Fields(verbs), takes: map[string]bool{}, own: map[string]string{}, worse: map[string]bool{}}
	note := func(o string) string {
		name, takes := strings.CutSuffix(o, "=")
		k.takes[name] = takes
		return name
	}
	for _, o := range strings.Fields(free) {
		if known, judged := strings.CutPrefix(o, "!"); judged { // by more
			note(known)
			continue
		}
		k.free = append(k.free, note(o))
	}
	for _, o := range strings.Fields(own) { // -n=|--namespace= are two spellings
		spellings := strings.Split(o, "|")
		last := strings.TrimSuffix(spellings[len(spellings)-1], "=")
		for _, s := range spellings {
			k.own[note(s)] = last
		}
	}
	for _, o := range strings.Fields(worse) {
		k.worse[note(o)] = true
	}
	return k
}

// known are the acts that people are asked about again and again, by their programs. An option
// stands as free only if by it neither another thing is done nor the same to another thing.
var known = func() map[string][]*knownAct {
	table := map[string][]*knownAct{}
	add := func(programs string, k *knownAct) *knownAct {
		for _, p := range strings.Fields(programs) {
			table[p] = append(table[p], k)
		}
		return k
	}
	add("npm pnpm", describe("publish", "--provenance -q --quiet --silent --json --otp= --loglevel= !--tag=", "--registry= -w=|--workspace= --ignore-scripts -r|--recursive --filter=", "--access= --no-git-checks")).more = newestTag
	add("git", describe("push", "-v --verbose -q --quiet --progress --no-progress --porcelain --atomic -u --set-upstream !-f !--force !--force-with-lease !--force-if-includes", "", "")).more = forced
	add("git", describe("clean", "-q --quiet", "-f|--force -d -x -X -n|--dry-run -e=|--exclude=", ""))
	add("terraform tofu", describe("destroy", "-auto-approve --auto-approve -no-color --no-color -input= -lock-timeout= -parallelism= -compact-warnings -json", "-target=|--target= -var=|--var= -var-file=|--var-file= -state=|--state=", "")).more = ordered
	add("docker podman", describe("compose down", "-t= --timeout=", "-v|--volumes -f=|--file= -p=|--project-name= --profile=", "--remove-orphans")).more = ordered
	add("docker-compose", describe("down", "-t= --timeout=", "-v|--volumes -f=|--file= -p=|--project-name= --profile=", "--remove-orphans")).more = ordered
	add("kubectl oc", describe("delete", "--wait --timeout= --ignore-not-found -o= --output=", "-n=|--namespace= --context= --cluster= --kubeconfig= --user= -l=|--selector= -A|--all-namespaces --all -f=|--filename= --field-selector= -R|--recursive", "--force --now --grace-period=")).more = kinds
	add("helm", describe("uninstall", "--wait --timeout= --debug --ignore-not-found", "-n=|--namespace= --kube-context= --kubeconfig=", ""))
	add("cargo", describe("publish", "-q --quiet -v --verbose -j= --jobs=", "-p=|--package= --registry= --index= --manifest-path= --locked --offline --frozen --no-verify", "--allow-dirty"))
	add("docker podman", describe("push", "-q --quiet", "", ""))
	add("gh", describe("pr merge", "-s --squash -m --merge -r --rebase", "-R=|--repo=", "-d --delete-branch --admin"))
	add("uv", describe("publish", "-q --quiet -v --verbose --no-progress", "--index= --publish-url= --check-url=", ""))
	add("terraform tofu", describe("apply", "-auto-approve --auto-approve -no-color --no-color -input= -lock-timeout= -parallelism= -compact-warnings -json", "-target=|--target= -var=|--var= -var-file=|--var-file= -state=|--state= -destroy|--destroy -replace=|--replace=", "")).more = ordered
	add("kubectl oc", describe("get secret", "", "-n=|--namespace= --context= --cluster= --kubeconfig= -o=|--output=", "")).more = ordered
	add("eas", describe("update", "--message= -m= --non-interactive --json", "--branch= --channel= --platform= -p= --environment=", ""))
	add("hf huggingface-cli", describe("upload", "--commit-message= --commit-description= --quiet", "--repo-type= --revision= --private", ""))
	add("prisma", describe("migrate reset", "-f --force", "--schema= --config= --skip-seed --skip-generate", ""))
	add("dropdb", describe("", "--if-exists -e --echo", "-h=|--host= -p=|--port= -U=|--username= --maintenance-db=", "-f --force")).more = ordered
	add("aws", describe("s3 rm", "--quiet --only-show-errors --no-progress", "--recursive --profile= --region= --endpoint-url=", ""))
	add("fly flyctl", describe("deploy", "--remote-only --local-only --now -y --yes --detach --verbose", "-a=|--app= -c=|--config=", ""))
	add("firebase", describe("deploy", "-m= --message= --debug --non-interactive", "-P=|--project= --only= --except=", "-f --force"))
	add("wrangler", describe("deploy", "--minify", "-e=|--env= -c=|--config= --name=", ""))
	add("heroku", describe("pg:reset", "", "-a=|--app= -r=|--remote= -c=|--confirm=", "")).more = ordered
	add("vercel", describe("", "-y --yes -d --debug", "-S=|--scope=", "--prod"))
	return table
}()

// ordered refuses an option that is given twice: the last may count, or both.
func ordered(options []option, rest, kept, worse []string) (r, k, w []string, ok bool) {
	seen := map[string]bool{}
	for _, o := range options {
		if seen[o.name] && o.value != "" {
			return nil, nil, nil, false
		}
		seen[o.name] = true
	}
	return rest, kept, worse, true
}

// newestTag notes that what is published becomes what everybody gets who asks for no version.
func newestTag(options []option, rest, kept, worse []string) (r, k, w []string, ok bool) {
	tag := ""
	for _, o := range options {
		if o.name == "--tag" {
			if tag != "" {
				return nil, nil, nil, false
			}
			tag = o.value
		}
	}
	if tag == "" || tag == "=" || tag == "=latest" {
		worse = append(worse, "--tag=latest")
	}
	return ordered(options, rest, kept, worse)
}

// forced has a push that overwrites say so at each branch, as Git itself can be told: --force origin
// main is origin +main.
func forced(options []option, rest, kept, worse []string) (r, k, w []string, ok bool) {
	all, lease := false, true
	for _, o := range options {
		switch o.name {
		case "-f", "--force":
			all, lease = true, false
		case "--force-with-lease":
			all = true
		}
	}
	refs := slices.Clone(rest)
	for i := 1; i < len(refs); i++ {
		switch {
		case strings.HasPrefix(refs[i], "+"):
			lease = false
		case all && !strings.HasPrefix(refs[i], ":"):
			refs[i] = "+" + refs[i]
		}
	}
	if all && len(refs) < 2 {
		kept = append(kept, "--force")
	}
	if !lease {
		worse = append(worse, "--force")
	}
	return refs, kept, worse, true
}

// kinds calls the kinds of a cluster's objects by one name.
func kinds(options []option, rest, kept, worse []string) (r, k, w []string, ok bool) {
	rest = slices.Clone(rest)
	if len(rest) == 1 {
		if kind, name, is := strings.Cut(rest[0], "/"); is && kind != "" && name != "" && !strings.Contains(name, "/") {
			rest = []string{kind, name}
		}
	}
	if len(rest) > 0 {
		rest[0] = cmp.Or(kindNames[rest[0]], rest[0])
	}
	return ordered(options, rest, kept, worse)
}

var kindNames = func() map[string]string {
	names := map[string]string{}
	for _, row := range []string{
		"namespace namespaces ns", "pod pods po", "deployment deployments deploy deployment.apps deployments.apps", "service services svc", "statefulset statefulsets sts",
		"daemonset daemonsets ds", "configmap configmaps cm", "secret secrets", "persistentvolumeclaim persistentvolumeclaims pvc", "persistentvolume persistentvolumes pv",
		"job jobs", "cronjob cronjobs cj", "ingress ingresses ing", "node nodes no", "serviceaccount serviceaccounts sa",
	} {
		list := strings.Fields(row)
		for _, n := range list[1:] {
			names[n] = list[0]
		}
	}
	return names
}()
