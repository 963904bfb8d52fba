package guardian

import (
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/hook"
	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/risk/hazard"
)

// Commands by what they do with the files that they name. Every other command may
// change them.
var (
	// lookers read, or only print their words.
	lookers = words(`cat tac less more head tail grep egrep fgrep rg ag ls ll stat file wc diff cmp comm sha1sum sha256sum sha512sum
		md5sum cksum test [ [[ echo print printf bat nl jq yq tree du df realpath readlink basename dirname cd pushd popd pwd which
		type whereis hash strings sort uniq cut tr column fold od xxd hexdump base64 true false exit return export local declare
		set unset alias let read sleep date id whoami uname ps top pgrep pidof lsof man help open code fd dir vdir zcat getfacl lsattr
		getconf gofmt gopls staticcheck`)
	// printers only print their words: what they print may be run by another,
	// which is then read.
	printers = words("echo print printf : true false grep egrep fgrep rg ag man help which type whereis sed sleep")
	// copiers leave a copy.
	copiers = words("cp ln mv install rsync scp sftp rclone dd tar zip 7z cpio cat base64 xxd od tac tee split gzip xz zstd openssl sqlite3 sponge pax")
	// enders take away or close whole folders.
	enders = words("rm rmdir unlink mv shred wipe srm trash trash-put gio chmod chown chgrp chattr setfacl rename mount umount bindfs find fd fdfind truncate perl rsync remove-item ri rd del erase move-item mi rename-item rni takeown icacls")
	// killers end processes by name or number.
	killers = words(`kill pkill killall killall5 skill snice fuser systemctl service launchctl rc-service initctl supervisorctl docker podman taskkill stop-process
		dbus-send busctl gdbus qdbus gdb lldb strace ltrace gcore prlimit reptyr bpftrace iptables ip6tables nft ufw firewall-cmd pfctl ss tc`)
	// asIf change nothing although they name what would.
	gitLooks = words("add diff log show status commit blame grep ls-files check-ignore branch tag push fetch config-get rev-parse shortlog describe cat-file reflog")
	wraps    = words("env sudo doas nohup nice ionice time timeout stdbuf setsid command builtin exec xargs watch strace unshare flock script runuser busybox toybox")
)

func base(name string) string {
	name = strings.ToLower(path.Base(strings.ReplaceAll(strings.TrimSpace(name), `\`, "/")))
	return strings.TrimSuffix(name, ".exe")
}

// command looks at one command that would be started.
func (e *examination) command(c *hazard.Command) {
	name := base(c.Name)
	e.went = c.Dirs[1:]
	e.tooMuch = e.tooMuch || len(e.went) >= hazard.MaxDirs
	if name == "git" {
		c = inFolder(c)
	} else {
		c = e.movedTo(c)
	}
	if name == "cd" || name == "pushd" || name == "chdir" {
		return
	}
	e.notes(c, name)
	e.seeks(c, name)
	e.pidFiles(c)
	e.fills(c, name)
	e.gathers(c, name)
	if name == "git" && gitReads(c.Words) || printers[name] && !(name == "sed" && inPlace(c.Words)) {
		e.lookedAt(c, name) // its words are texts, or files that it reads
		return
	}
	if wraps[name] {
		e.reeveUnder(c, name)
	}
	e.decides(c, name)
	e.ends(c, name)
	e.calls(c, name)
	e.within(c, name)
	for _, w := range c.Words {
		e.url(w)
	}
	e.agents(c, name)
	e.mounts(c, name)
	e.scripts(c, name)
	e.paths(c, name)
	e.texts(c, name)
	e.madeLinks(c, name)
	if i := slices.IndexFunc(c.Words, func(w string) bool { return len(w) > 12 && strings.ContainsAny(w, " ;|(\"'") }); i >= 0 && name != "git" {
		e.text(strings.Join(c.Words, "\n"))
	}
}

// inFolder is a command of git as it is in the folders that -C names.
func inFolder(c *hazard.Command) *hazard.Command {
	own := *c
	for i := 0; i+1 < len(c.Words) && strings.HasPrefix(c.Words[i], "-"); i++ {
		if c.Words[i] == "-C" {
			own.Dirs = []string{c.Words[i+1]}
			i++
		}
	}
	return &own
}

// movedTo is a command as it may be in the folders that its options name: -C, --cwd,
// --chdir and the like of whatever program, where what is guarded lies below them.
func (e *examination) movedTo(c *hazard.Command) *hazard.Command {
	own := *c
	for i, w := range c.Words {
		_, dir, glued := strings.Cut(w, "=")
		switch {
		case strings.HasPrefix(w, "-") && glued:
		case len(w) > 2 && w[0] == '-' && w[1] != '-' && strings.ContainsAny(w[2:3], "/~$."):
			dir = w[2:]
		case !strings.HasPrefix(w, "-") && i > 0 && strings.HasPrefix(c.Words[i-1], "-"):
			dir = w
		default:
			continue
		}
		if !slices.Contains(own.Dirs, dir) && e.leadsTo(dir, c.Dirs) {
			if len(own.Dirs) > 2*maxFolders {
				e.tooMuch = true
				break
			}
			own.Dirs = append(own.Dirs[:len(own.Dirs):len(own.Dirs)], dir)
		}
	}
	return &own
}

// maxNames is how many different words of a program are looked at. One that Linux starts
// with its text as an argument has no more: 128 KiB is the most.
const maxNames = 16384

// maxFolders is how many folders a command or a program may be in.
const maxFolders = 16

// leadsTo reports whether something that is guarded lies below a folder.
func (e *examination) leadsTo(dir string, dirs []string) bool {
	for _, parts := range e.readings(dir, dirs) {
		for _, p := range e.g.places {
			if len(parts) > 0 && len(parts) < len(p.parts) && compare(parts, p.parts) == above {
				return true
			}
		}
	}
	return false
}

// goes looks at the paths that a program puts together by going to folders: whatever it
// calls for that, each text in it may be a folder for those behind it.
func (e *examination) goes(text string, changes bool) {
	dirs := e.lastDirs()
	low := strings.ToLower(text)
	ofHome := strings.Contains(low, "home") || strings.Contains(low, "profile")
	var words []string
	seen := map[string]bool{}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n\"'`,;()[]{}|&<>=+", r) }) {
		if len(word) > 4096 || seen[word] {
			continue
		}
		if seen[word] = true; len(words) > maxNames {
			e.tooMuch = true
			break
		}
		if words = append(words, word); ofHome && word[0] == '/' { // behind a variable that holds the home folder
			words = append(words, "~"+word)
		}
	}
	for _, word := range words {
		if e.leadsTo(word, dirs) {
			for _, parts := range e.readings(word, dirs) {
				if e.tooMuch = e.tooMuch || len(dirs) > 2*maxFolders; e.tooMuch {
					break
				}
				if dir := strings.ToLower("/" + strings.Join(parts, "/")); !slices.Contains(dirs, dir) {
					dirs = append(dirs, dir)
				}
			}
		}
	}
	if printing.MatchString(low) {
		e.listsIn(words, dirs)
	}
	removes := removing.MatchString(low)
	for _, word := range words { // the folder may be named behind what lies in it
		for _, parts := range e.readings(word, dirs) {
			for _, p := range e.g.places {
				switch rel := compare(parts, p.parts); {
				case rel == above && removes && p.kind != program && p.kind != setting && e.belongs(parts) && len(parts) == len(p.parts)-1:
					e.tampers("take away or close a folder in which " + p.kind.String() + " lies")
				case rel != within:
				case p.kind == secret:
					e.tampers("reach for " + p.kind.String())
				case changes && (p.kind != setting || e.armed(p)):
					e.tampers("change " + p.kind.String())
				}
			}
		}
	}
}

// lookedAt looks at the files that a command only reads.
func (e *examination) lookedAt(c *hazard.Command, name string) {
	if name == "echo" || name == "print" || name == "printf" || name == ":" {
		return
	}
	for _, w := range c.Words {
		if name == "git" && strings.ContainsAny(w, " \n") {
			continue // what a commit says
		}
		for _, word := range pieces(w) {
			for _, parts := range e.readings(word, c.Dirs) {
				e.process(parts)
				for _, p := range e.g.places {
					if p.kind == secret && compare(parts, p.parts) == within {
						e.tampers("read " + p.kind.String())
					}
				}
			}
		}
	}
}

// process looks at a path below /proc: by it the guardian's memory, its open files
// and all that it sees can be reached.
func (e *examination) process(parts []string) {
	if len(parts) < 2 || parts[0] != "proc" || e.g.pid == "" {
		return
	}
	if len(parts) < 3 || slices.Contains([]string{"status", "stat", "cmdline", "comm"}, parts[2]) {
		return
	}
	switch {
	case parts[1] == e.g.pid:
		e.tampers("reach for the guardian's process")
	case strings.ContainsAny(parts[1], "*?$`["):
		e.someProcess = true // which may be sought only later in the act
	}
}

// inner are the flags after which a program is given a command to run.
var inner = map[string][]string{
	"npm": {"-c", "--call"}, "npx": {"-c", "--call"}, "pnpm": {"-c", "--call"}, "bunx": {"-c"},
	"make": {"--eval", "-E"}, "gmake": {"--eval", "-E"}, "git": {"-c", "--config-env"},
	"vim": {"-c", "--cmd"}, "vi": {"-c", "--cmd"}, "nvim": {"-c", "--cmd"}, "ex": {"-c", "-sc"},
	"emacs": {"--eval", "-eval", "--execute"}, "man": {"-P", "--pager"}, "ssh": {"-o"}, "rsync": {"-e", "--rsh"},
}

// within looks at the commands that a command holds in its words or gets on its
// standard input, where hazards see but a text.
func (e *examination) within(c *hazard.Command, name string) {
	run := func(text string) {
		if i := strings.IndexByte(text, '!'); (name == "git" || strings.Contains(name, "vi") || name == "ex") && i >= 0 {
			text = text[i+1:] // git's aliases and editors run what follows it
		} else if name == "git" || name == "ssh" {
			_, text, _ = strings.Cut(text, "=") // core.pager=…, ProxyCommand=…
		}
		e.runs(text)
		if strings.Contains(name, "vi") || name == "ex" || name == "emacs" {
			e.edits(text, c.Dirs)
		}
	}
	for i, w := range c.Words {
		for _, f := range inner[name] {
			if w == f && i+1 < len(c.Words) {
				run(c.Words[i+1])
			} else if v, ok := strings.CutPrefix(w, f+"="); ok {
				run(v)
			}
		}
		if name == "git" && strings.HasPrefix(w, "!") {
			run(w)
		}
	}
	if name == "make" || name == "gmake" {
		e.runs(recipes("", c.Stdin))
	}
}

// runs looks at a text that is run as commands.
func (e *examination) runs(text string) {
	if text = strings.TrimSpace(text); text == "" || e.deep >= 3 {
		return
	}
	e.deep++
	went := e.went
	e.watch(func(w *hazard.Watch) {
		hazard.Observe("shell", []act.Leaf{{Pointer: "/command", Arg: "command", Text: text}}, w)
	})
	e.went = went
	e.deep--
}

// edits looks at the files that an editor's own commands open.
func (e *examination) edits(text string, dirs []string) {
	for w := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" \t\"'()|", r) }) {
		if !strings.ContainsAny(w, "/.") {
			continue
		}
		for _, parts := range e.readings(w, dirs) {
			e.path("vim", parts, false, nil)
		}
	}
}

// calls looks at a request to the guarding node that names its address and what it
// asks for apart, or its host in a way that is not known.
func (e *examination) calls(c *hazard.Command, name string) {
	all := unescaped(strings.Join(c.Words, " "))
	switch name {
	case "curl", "wget", "http", "https", "xh", "invoke-webrequest", "iwr", "invoke-restmethod", "irm":
	case "nc", "ncat", "netcat", "socat", "telnet", "openssl", "busybox", "websocat":
		if e.port(all) && decidingText.MatchString(c.Stdin) {
			e.tampers("answer for people at the guardian's own address")
		}
		return
	default:
		return
	}
	if e.port(all) && decidingPath.MatchString(all) {
		e.tampers("answer for people at the guardian's own address")
	}
}

// unescaped is a text without percent escapes, as a server reads an address.
func unescaped(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}

// decidingText is a request at which the node is asked to decide, or the path of one.
var decidingText = lazyregexp.New(`(?i)/+(?:(?:admin|console)(?:[/\s'"?]|$)|approvals/+[^?#\s'"]|agents/+[^/\s'"]+/+)`)

var decidingPath = lazyregexp.New(`(?i)[^\s/]/+(?:(?:admin|console)(?:[/\s]|$)|approvals/+[^?#\s]|agents/+[^/\s]+/+)`)

func gitReads(args []string) bool {
	if slices.ContainsFunc(args, func(a string) bool { return a == "--output" || strings.HasPrefix(a, "--output=") }) {
		return false // what it shows is written to a file
	}
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "-C" || args[i] == "--git-dir" || args[i] == "--work-tree":
			i++
		case args[i] == "-c" || strings.HasPrefix(args[i], "--config") || strings.HasPrefix(args[i], "--exec-path"):
			return false // it can name a program
		case strings.HasPrefix(args[i], "-"):
		default:
			return gitLooks[args[i]]
		}
	}
	return true
}

func inPlace(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		return strings.HasPrefix(a, "--in-place") || len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.ContainsRune(a, 'i')
	})
}

// writesOut reports whether a command that mostly looks at files changes one here.
func writesOut(name string, args []string) bool {
	has := func(short, long string) bool {
		return slices.ContainsFunc(args, func(a string) bool {
			return strings.HasPrefix(a, long) || len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.Contains(a, short)
		})
	}
	switch name {
	case "sort", "tree":
		return has("o", "--output")
	case "yq":
		return has("i", "--in")
	case "gofmt":
		return has("w", "-w")
	case "uniq": // its second file is written
		return len(args) > 1
	}
	return false
}

// isReeve reports whether a word is a program that guards: by its name, or since it
// is the very file.
func (e *examination) isReeve(word string, dirs []string) bool {
	if slices.Contains(e.g.programs, base(word)) {
		return true
	}
	if !strings.ContainsAny(word, "/~") {
		return false
	}
	for _, parts := range e.readings(word, dirs) {
		for _, p := range e.g.places {
			if p.kind == program && compare(parts, p.parts) == within {
				return true
			}
		}
	}
	return false
}

// decides looks for the subcommands that decide.
func (e *examination) decides(c *hazard.Command, name string) {
	words := c.Words
	switch {
	case e.isReeve(c.Name, c.Dirs):
	case name == "go" && len(words) > 1 && (words[0] == "run" || words[0] == "tool"):
		// go run ./cmd/reeve …: whatever package it is, its words tell.
		i := slices.IndexFunc(words[1:], func(w string) bool { return !strings.HasPrefix(w, "-") })
		if i < 0 {
			return
		}
		if words = words[i+2:]; !e.isReeve(c.Words[i+1], c.Dirs) && !e.telling(words) {
			return
		}
	case !lookers[name] && e.telling(words): // under another name: a copy, an alias, a variable
	default:
		return
	}
	if which := deciding(words, false); which != "" && e.addresses(which, words, c) {
		e.tampers("answer for people, or change what decides (" + which + ")")
		return
	}
	if e.starts(words, c) {
		e.tampers("start a guardian of its own in the place of this one")
	}
}

// telling reports whether words can only be those of one of reeve's deciding
// subcommands, whatever program is said to run them.
func (e *examination) telling(words []string) bool {
	for _, d := range telltale {
		if spells(words, d, 0, 8) {
			return true
		}
	}
	return false
}

// telltale are deciding subcommands that no other program has.
var telltale = [][]string{{"approvals", "approve"}, {"approvals", "deny"}, {"ledger", "erase"}, {"ledger", "prune"}, {"mcp", "tools", "approve"}, {"mcp", "tools", "forget"}, {"mcp", "tools", "refuse"}}

// deciding names the deciding subcommand that the words are, or may become when
// what is not known is put in and, if they are open, when more are added; empty if none.
func deciding(words []string, open bool) string {
	if slices.Contains(words, "--help") || slices.Contains(words, "-h") {
		return ""
	}
	known := unknownWords
	if open {
		known |= openEnd
	}
	for _, d := range Deciding {
		if spells(words, strings.Fields(d), known, 8) {
			return d
		}
	}
	for d, flag := range DecidingFlags {
		if spells(words, strings.Fields(d), known, 8) && slices.ContainsFunc(words, func(w string) bool { return mayBeFlag(w, flag, open) }) {
			return d + " --" + flag
		}
	}
	return ""
}

// mayBeFlag reports whether a word is a flag, or may become it when what is not known
// is put in. Behind open words it may still come.
func mayBeFlag(word, flag string, open bool) bool {
	name, _, _ := strings.Cut(word, "=")
	return open || name == "--"+flag || word == "" || strings.ContainsAny(word, "$`*?[{")
}

// freedom is what words may turn out to be.
type freedom uint8

const (
	unknownWords freedom = 1 << iota // what is not known can be any word
	openEnd                          // more words are put behind them
)

// spells reports whether words are a subcommand with flags among them. What is not
// known, as far as that counts, can be any word, and so can what is still to come
// after the first.
func spells(words, command []string, may freedom, most int) bool {
	if len(command) == 0 {
		return true
	}
	if len(words) == 0 || most == 0 {
		return false
	}
	w, rest := words[0], words[1:]
	if strings.HasPrefix(w, "-") {
		// What follows can be the flag's value, or a word.
		return spells(rest, command, may, most-1) || len(rest) > 0 && !strings.Contains(w, "=") && spells(rest[1:], command, may, most-1)
	}
	if !strings.EqualFold(w, command[0]) && !(may&unknownWords != 0 && (w == "" || strings.ContainsAny(w, "$`*?[{"))) {
		return false
	}
	if len(rest) == 0 && len(command) == 2 && may&openEnd != 0 && strings.EqualFold(w, command[0]) {
		return true // xargs, or a function's arguments, put in the rest
	}
	return spells(rest, command[1:], may, most-1)
}

// addresses reports whether a deciding command is for the node that guards, or
// may be: only another data folder, named in full, is another node's.
func (e *examination) addresses(which string, words []string, c *hazard.Command) bool {
	if slices.Contains(personal, which) {
		return !e.otherHome
	}
	data, said := flag(words, "--data")
	if !said {
		if _, said = flag(words, "--database"); said {
			return false // a database that is another's, or needs its password
		}
		return !e.otherData
	}
	return e.isData(data, c.Dirs)
}

// isData reports whether a word names the data folder of the node that guards, or
// may name it.
func (e *examination) isData(word string, dirs []string) bool {
	if e.g.data == "" {
		return true
	}
	all := e.readings(word, dirs)
	if len(all) == 0 { // relative, to a folder that is not known
		return strings.EqualFold(path.Base(clean(word)), path.Base(e.g.data)) || strings.ContainsAny(word, "$`*?")
	}
	own := split(strings.ToLower(e.g.data))
	return slices.ContainsFunc(all, func(parts []string) bool { return compare(parts, own) == within })
}

func flag(words []string, name string) (string, bool) {
	for i, w := range words {
		if v, ok := strings.CutPrefix(w, name+"="); ok {
			return v, true
		}
		if w == name && i+1 < len(words) {
			return words[i+1], true
		}
	}
	return "", false
}

// starts reports whether a command of reeve opens the guarding node's data folder
// with settings of its own.
func (e *examination) starts(words []string, c *hazard.Command) bool {
	if len(words) == 0 || !slices.Contains([]string{"serve", "run", "demo", "exec"}, words[0]) {
		return false
	}
	data, said := flag(words, "--data")
	return said && e.g.data != "" && len(e.readings(data, c.Dirs)) > 0 && e.isData(data, c.Dirs)
}

// reeveUnder looks at reeve that gets its words from elsewhere: xargs reeve.
func (e *examination) reeveUnder(c *hazard.Command, name string) {
	if name != "xargs" {
		return
	}
	for i, w := range c.Words {
		if e.isReeve(w, c.Dirs) {
			words := append(slices.Clone(c.Words[i+1:]), strings.Fields(c.Stdin)...)
			if which := deciding(words, true); which != "" && e.addresses(which, words, c) || c.Stdin == "" && len(c.Words) < i+3 {
				e.tampers("answer for people, or change what decides")
			}
			return
		}
	}
}

// seeks notes a search for the guardian's process: what is killed then is it.
func (e *examination) seeks(c *hazard.Command, name string) {
	switch name {
	case "lsof", "ss", "netstat", "fuser": // who has the node's port, or its files
		e.sought = e.sought || slices.ContainsFunc(c.Words, func(w string) bool { return e.port(w) })
	case "pgrep", "pidof", "grep", "egrep", "awk", "gawk", "sed", "rg":
		e.sought = e.sought || slices.ContainsFunc(c.Words, func(w string) bool {
			w = strings.ToLower(strings.Trim(w, "/{}"))
			return slices.ContainsFunc(e.g.programs, func(p string) bool { return w == p || strings.Contains(w, p+"/{") }) || strings.ContainsAny(w, "[.*") && len(w) < 32 && pattern(w, e.g.programs)
		})
	}
}

// port reports whether a word names the port that the node listens on.
func (e *examination) port(w string) bool { return number(w, e.g.port) }

// number reports whether a number stands in a text by itself.
func number(text, n string) bool {
	digit := func(i int) bool { return i >= 0 && i < len(text) && text[i] >= '0' && text[i] <= '9' }
	for at := 0; n != ""; {
		i := strings.Index(text[at:], n)
		if i < 0 {
			return false
		}
		if i += at; !digit(i-1) && !digit(i+len(n)) {
			return true
		}
		at = i + 1
	}
	return false
}

// ends looks for what ends the guardian.
func (e *examination) ends(c *hazard.Command, name string) {
	if name == "xargs" && e.sought && slices.Contains(c.Words, "kill") {
		e.tampers("end the guardian")
	}
	if e.holdsProcess(c, name) {
		e.tampers("take hold of the guardian's process")
	}
	if !killers[name] {
		return
	}
	all := strings.Join(c.Words, " ")
	named := slices.ContainsFunc(c.Words, func(w string) bool {
		w = strings.ToLower(w)
		return slices.ContainsFunc(e.g.programs, func(p string) bool {
			return w == p || strings.HasPrefix(w, p+".") || strings.HasPrefix(w, p+"@") || strings.Contains(w, p) && !strings.ContainsAny(w, "/ ") ||
				strings.Contains(w, p) && e.names(w)
		})
	})
	at := func(w string) bool { // the guardian's process
		w = strings.TrimLeft(w, "-p=id")
		return e.g.pid != "" && w == e.g.pid || e.sought && (w == "" || strings.ContainsAny(w, "$`*") || !c.Known)
	}
	switch name {
	case "gdb", "lldb", "strace", "ltrace", "gcore", "prlimit", "reptyr", "bpftrace":
		named = slices.ContainsFunc(c.Words, func(w string) bool { return e.g.pid != "" && strings.TrimLeft(w, "-p=id") == e.g.pid }) ||
			e.sought && slices.ContainsFunc(c.Words, func(w string) bool { return strings.ContainsAny(w, "$`") })
	case "iptables", "ip6tables", "nft", "ufw", "firewall-cmd", "pfctl", "tc":
		named = slices.ContainsFunc(c.Words, e.port)
	case "ss":
		named = slices.ContainsFunc(c.Words, e.port) && slices.ContainsFunc(c.Words, func(w string) bool {
			return w == "--kill" || len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.Contains(w, "K")
		})
	case "dbus-send", "busctl", "gdbus", "qdbus":
		named = named && unitEnd.MatchString(all)
	case "docker", "podman":
		if slices.Contains(c.Words, "--pid=host") || slices.Contains(c.Words, "--pid") {
			named = named || slices.ContainsFunc(c.Words, func(w string) bool { return e.g.pid != "" && w == e.g.pid })
			break
		}
		named = named && slices.ContainsFunc(c.Words[:min(1, len(c.Words))], func(w string) bool {
			return slices.Contains([]string{"stop", "kill", "rm", "pause", "restart"}, w)
		})
	case "systemctl", "service", "launchctl", "rc-service", "initctl", "supervisorctl":
		named = named && !slices.ContainsFunc(c.Words, func(w string) bool {
			return slices.Contains([]string{"status", "is-active", "is-enabled", "show", "cat", "list", "list-units", "print", "start"}, w)
		})
	case "kill", "skill":
		for i, w := range c.Words {
			if w == e.g.pid && e.g.pid != "" || w == "-1" && i > 0 || w == "-"+e.g.pid && e.g.pid != "" {
				named = true
			}
			named = named || at(w)
		}
	case "fuser":
		named = named || strings.Contains(all, "k") && e.g.port != "" && slices.ContainsFunc(c.Words, func(w string) bool {
			return w == e.g.port+"/tcp" || w == e.g.port
		})
	case "pkill", "killall":
		for _, w := range c.Words { // every program of a user, or one that a pattern hides
			named = named || w == "-u" || w == "-U" || w == "." || w == ".*" || pattern(w, e.g.programs)
		}
	}
	if named {
		e.tampers("end the guardian")
	}
}

// holdsProcess reports whether a command is told the guardian's process by its number, to do
// something to it or in its place.
func (e *examination) holdsProcess(c *hazard.Command, name string) bool {
	if e.g.pid == "" || lookers[name] || printers[name] {
		return false
	}
	for i, w := range c.Words {
		option, value, said := strings.Cut(w, "=")
		if !said {
			option, value = "", w
			if i > 0 {
				option = c.Words[i-1]
			}
			if len(w) > 2 && w[0] == '-' && w[1] != '-' && holders[name] { // -p43210
				value = w[2:]
			}
		}
		names := strings.HasPrefix(option, "-") && (strings.Contains(option, "pid") || strings.Contains(option, "target") || strings.Contains(option, "process")) || strings.Contains(option, "attach")
		if value == e.g.pid && (names || holders[name]) || holders[name] && e.sought && strings.ContainsAny(value, "$`*") {
			return true
		}
	}
	return false
}

// holders are programs of which each number by itself is a process.
var holders = words("nsenter renice taskset chrt ionice criu cgclassify reptyr reredirect injcode jattach py-spy rbspy frida gdbserver dlv delve uftrace stap perf crash gcore pidfd choom schedtool oomctl")

// unitEnd is what systemd is asked to do to a unit that then does not run.
var unitEnd = lazyregexp.New(`(?i)(stop|kill|restart|disable|mask|reset|freeze)\w*`)

// names reports whether a text names the guarding node's own folder, or none at all.
func (e *examination) names(text string) bool {
	if i := strings.Index(text, "--data"); i >= 0 {
		data, _ := flag(strings.Fields(text[i:]), "--data")
		return e.isData(data, nil)
	}
	return true
}

// pattern reports whether a regular expression that is no plain word matches one
// of the programs' names.
func pattern(w string, programs []string) bool {
	if strings.HasPrefix(w, "-") || !strings.ContainsAny(w, "[]().*?|^$+") {
		return len(w) > 2 && slices.ContainsFunc(programs, func(p string) bool { return strings.Contains(p, strings.ToLower(w)) })
	}
	re, err := regexp.Compile("(?i)" + w)
	return err != nil || slices.ContainsFunc(programs, re.MatchString)
}

// agentsNamed are the programs and packages of the coding agents that have hooks.
var agentsNamed = map[string]string{
	"claude": "claude", "claude-code": "claude", "codex": "codex", "gemini": "gemini", "gemini-cli": "gemini", "cursor-agent": "cursor-agent",
	"copilot": "copilot", "opencode": "opencode", "opencode-ai": "opencode",
}

// agents looks for a coding agent that is started without its hooks, or with others.
// Many programs start others (npx, mise exec, env), so each word may be its name.
func (e *examination) agents(c *hazard.Command, name string) {
	if lookers[name] || name == "git" || name == "mkdir" || name == "touch" || name == "npm" || e.isReeve(c.Name, c.Dirs) {
		return
	}
	words := append([]string{c.Name}, c.Words...)
	for i, w := range words {
		w = base(w)
		if at := strings.LastIndexByte(w, '@'); at > 0 {
			w = w[:at] // a version
		}
		if agent := agentsNamed[w]; agent != "" {
			if e.unhooked(agent, words[i+1:], c.Dirs) {
				e.tampers("start a coding agent without its hooks, or with settings of which that cannot be told beforehand")
			}
			return
		}
		if i > 0 && !strings.HasPrefix(w, "-") && strings.ContainsAny(w, " \n") {
			return // a text
		}
	}
}

// unhooked reports whether a coding agent that is started with these words may leave its
// hooks out.
func (e *examination) unhooked(agent string, words, dirs []string) bool {
	if slices.ContainsFunc(words, func(w string) bool {
		return slices.Contains([]string{"--version", "-v", "--help", "-h", "mcp", "config", "doctor", "update", "login", "logout"}, w)
	}) {
		return false
	}
	if e.otherHome || e.otherSettings {
		return true
	}
	for i, w := range words {
		if !strings.HasPrefix(w, "-") {
			continue
		}
		option, value, said := strings.Cut(strings.ToLower(strings.TrimLeft(w, "-")), "=")
		if said {
			_, value, _ = strings.Cut(w, "=")
		} else if i+1 < len(words) {
			value = words[i+1]
		}
		switch {
		case strings.Contains(option, "mcp"):
		case option == "bare" || option == "pure" || option == "ignore-user-config" || strings.HasPrefix(option, "no-") && (strings.Contains(option, "hook") || strings.Contains(option, "plugin")):
			return true
		case option == "setting-sources":
			if !strings.Contains(value, "user") {
				return true
			}
		case option == "disable" || option == "enable" || option == "c" || option == "config":
			if off := strings.ToLower(value); option == "disable" && strings.Contains(off, "hook") || tomlOff.MatchString(off) {
				return true
			}
			if agent == "codex" && strings.HasPrefix(strings.Trim(strings.ToLower(value), `"' `), "hooks") {
				return true // other hooks
			}
			if option == "config" && !strings.Contains(value, "=") && e.settingsOff(value, dirs) {
				return true
			}
		case strings.Contains(option, "config-dir") || strings.Contains(option, "config-home") || strings.Contains(option, "home-dir"):
			return true
		case strings.Contains(option, "setting") || strings.Contains(option, "config-file") || strings.Contains(option, "config-path"):
			if e.settingsOff(value, dirs) {
				return true
			}
		}
	}
	return false
}

// settingsOff reports whether settings, which are a text or lie in a file, may switch hooks
// off: they do, or cannot be read as they will be then.
func (e *examination) settingsOff(value string, dirs []string) bool {
	if value = strings.TrimSpace(value); strings.HasPrefix(value, "{") {
		return hook.SwitchesOff([]byte(value)) || !strings.HasSuffix(value, "}")
	}
	all := e.readings(value, dirs)
	if len(all) == 0 {
		return true
	}
	for _, parts := range all {
		name := "/" + strings.Join(parts, "/")
		if e.files--; e.files < 0 || slices.Contains(e.written, strings.ToLower(name)) {
			return true
		}
		info, err := os.Stat(filepath.FromSlash(name))
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxSetting {
			continue
		}
		text, err := os.ReadFile(filepath.FromSlash(name))
		return err != nil || hook.SwitchesOff(text)
	}
	return true
}

var tomlOff = lazyregexp.New(`hooks["']?\s*=\s*["']?(false|0)`)

// variable looks at a variable that switches hooks off, or that has reeve look at
// another node.
func (e *examination) variable(name, value string) {
	switch name {
	case "CLAUDE_CODE_SIMPLE", "OPENCODE_PURE":
		if value != "" && value != "0" && value != "false" {
			e.tampers("start a coding agent without its hooks")
		}
	case "OPENCODE_CONFIG_CONTENT":
		if hook.SwitchesOff([]byte(value)) {
			e.tampers("start a coding agent without its hooks")
		}
	case "EDITOR", "VISUAL", "PAGER", "BROWSER", "MANPAGER", "LESSOPEN", "PROMPT_COMMAND", "BASH_ENV", "ENV", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR",
		"GIT_PAGER", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "SSH_ASKPASS", "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND":
		e.runs(value) // a program that others run
	case "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "GEMINI_CLI_HOME", "OPENCODE_CONFIG_DIR", "GEMINI_CLI_SYSTEM_SETTINGS_PATH", "OPENCODE_TEST_MANAGED_CONFIG_DIR":
		e.otherSettings = value != ""
	case "HOME", "XDG_CONFIG_HOME":
		e.otherHome = value != "" && !strings.ContainsAny(value, "$`*") && len(e.readings(value, nil)) > 0 &&
			!slices.ContainsFunc(e.readings(value, nil), func(p []string) bool { return compare(p, split(strings.ToLower(e.g.home))) == within })
	case "GOBIN":
		e.goBin = value
	case "GIT_WORK_TREE":
		e.trees = append(e.trees, value)
	case "GIT_DIR", "GIT_COMMON_DIR":
		e.otherRepository = value != ""
	case "REEVE_DATA":
		e.otherData = value != "" && len(e.readings(value, nil)) > 0 && !e.isData(value, nil)
	}
}

// madeLinks notes a link that is made, by which what comes later in the act may go.
func (e *examination) madeLinks(c *hazard.Command, name string) {
	if name != "ln" && name != "mount" {
		return
	}
	names := slices.DeleteFunc(slices.Clone(c.Words), func(w string) bool { return strings.HasPrefix(w, "-") })
	if len(names) == 1 {
		names = append(names, path.Base(clean(names[0])))
	}
	if len(names) != 2 {
		return
	}
	at := c.Dirs
	if name == "ln" && !strings.HasPrefix(names[1], "~") { // where a link leads is counted from its own folder
		for _, dir := range orHere(c.Dirs) {
			at = append(at[:len(at):len(at)], strings.TrimPrefix(path.Join(dir, path.Dir(clean(names[1]))), "."))
		}
		if strings.HasPrefix(names[1], "/") {
			at = append(at, path.Dir(clean(names[1])))
		}
	}
	for _, from := range e.readings(names[0], at) {
		for _, to := range e.readings(strings.ToLower(names[1]), c.Dirs) {
			for i := range to {
				to[i] = strings.ToLower(to[i])
			}
			if e.tooMuch = e.tooMuch || len(e.linked) >= maxLinks; len(to) > 0 && !e.tooMuch && e.nearGuarded(from) {
				e.linked = append(e.linked, link{from, to}, link{from, append(slices.Clone(to), path.Base(clean(names[0])))})
			}
		}
	}
}

// maxLinks is how many links of one act, which lead to what is guarded or above it, are followed.
const maxLinks = 64

// nearGuarded reports whether something guarded lies at a path, or below it.
func (e *examination) nearGuarded(parts []string) bool {
	return slices.ContainsFunc(e.g.places, func(p place) bool { return compare(parts, p.parts) != apart })
}

// finders print where files of a name lie.
var finders = words("locate plocate mlocate slocate mdfind es")

// paths looks at the files that a command names.
func (e *examination) paths(c *hazard.Command, name string) {
	words := c.Words
	if e.isReeve(c.Name, c.Dirs) {
		return // its own commands are judged by their words
	}
	if finders[name] { // what they print is named by another command
		for _, w := range words {
			e.anywhere(strings.Trim(w, "*/"), func(p string) { e.path("cp", split(p), false, words) })
		}
	}
	for _, made := range e.installed(name, words) {
		for _, parts := range e.readings(made, c.Dirs) {
			e.path(name, parts, true, words)
		}
	}
	for i, w := range words {
		target := i == len(words)-1 && len(words) > 1 && lands[name] || copiers[name] && !lands[name] && !copiedFrom(name, words, i)
		for _, word := range pieces(w) {
			for _, parts := range e.readings(word, c.Dirs) {
				e.path(name, parts, target, words)
			}
			if e.cwd() == "" && word != "" && word[0] != '/' && word[0] != '~' {
				e.relativeSetting(name, word)
			}
		}
	}
}

// speakers are programs that are told on their standard input what to do, each in a language
// of its own. What others are given there is data.
var speakers = words("ed ex vi vim nvim red sqlite3 duckdb psql mysql mariadb sftp ftp lftp gdb lldb at batch expect debugfs fdisk parted m4 gnuplot octave")

// prose are options behind which stands what people read.
var prose = words("-m --message -b --body -t --title --notes -p --prompt --print --description --comment -s --subject --text --summary --reason --annotation --label -d --data --json")

// texts looks at the paths that stand within a command's words, where these are texts in a
// language of the command's own: SQL, a module's arguments, an editor's commands.
func (e *examination) texts(c *hazard.Command, name string) {
	if lookers[name] || e.isReeve(c.Name, c.Dirs) || agentsNamed[name] != "" {
		return
	}
	look := func(text string, told bool) {
		for _, word := range pathsIn(text) {
			for _, parts := range e.readings(word, c.Dirs) {
				if told {
					e.path(name, parts, true, nil)
				} else {
					e.reaches(parts)
				}
			}
		}
	}
	for i, w := range c.Words {
		if !strings.ContainsAny(w, " \t\n\"'") || i > 0 && prose[c.Words[i-1]] && !shells[name] || prose[strings.SplitN(w, "=", 2)[0]] {
			continue
		}
		// A text that begins with a command is read as one, wherever it stands; a program as one, too.
		first, _, _ := strings.Cut(strings.TrimSpace(w), " ")
		runs := shells[name] || wraps[name] || name == "ssh" || name == "git" || lookers[base(first)] || printers[base(first)] || interpreter.MatchString(name)
		look(w, !runs)
	}
	if speakers[name] {
		look(c.Stdin, true)
	}
}

// interpreter is the name of a program that runs others' texts, which are looked at as code.
var interpreter = lazyregexp.New(`^(?:python|pypy|perl|ruby|node|deno|bun|php|lua|luajit|tclsh|guile|r|rscript|julia|awk|gawk|mawk|nawk|sed|jq|yq|uv|poetry|pipenv|osascript|pwsh|powershell|emacs)[0-9.]*$`)

// reaches looks at a path that a text holds, of which it is not known what is done to it.
func (e *examination) reaches(parts []string) {
	for _, p := range e.g.places {
		if p.kind == secret && compare(parts, p.parts) == within {
			e.tampers("reach for " + p.kind.String())
		}
	}
}

// pathsIn are the words of a text that may be paths.
func pathsIn(text string) []string {
	var list []string
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n\"'`,;()[]|&<>=", r) }) {
		if strings.Contains(word, "/") && len(word) <= 4096 && !slices.Contains(list, word) {
			if len(list) == 512 {
				break
			}
			list = append(list, word)
		}
	}
	return list
}

// installed are the programs that go puts into its folder for them: their names are those
// of the packages.
func (e *examination) installed(name string, words []string) (made []string) {
	if name != "go" || len(words) < 2 || words[0] != "install" {
		return nil
	}
	bin := e.goBin
	if bin == "" {
		bin = e.g.home + "/go/bin"
	}
	for _, w := range words[1:] {
		if pkg, _, _ := strings.Cut(w, "@"); !strings.HasPrefix(w, "-") {
			made = append(made, bin+"/"+path.Base(clean(pkg)))
		}
	}
	return made
}

// lands are the copiers whose last word is where the copy lands.
var lands = words("cp mv ln install rsync scp")

// copiedFrom reports whether a word of a copier is what it copies, and nothing that it
// writes or takes away.
func copiedFrom(name string, words []string, i int) bool {
	has := func(options ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(options, w) })
	}
	before := ""
	if i > 0 {
		before = words[i-1]
	}
	switch name {
	case "cat", "tac", "od":
		return true
	case "base64":
		return !strings.HasPrefix(before, "-o") && !strings.HasPrefix(before, "--output")
	case "xxd":
		return i < len(words)-1 || i == 0 || strings.HasPrefix(before, "-")
	case "rclone":
		return i < len(words)-1 && slices.Contains(words, "copy") || slices.Contains(words, "copyto") && i < len(words)-1
	case "tar", "pax", "cpio":
		archive := i == 1 && !strings.HasPrefix(before, "--") || strings.HasPrefix(before, "-") && strings.HasSuffix(before, "f") || before == "--file" || strings.HasPrefix(words[i], "--file=")
		return !archive
	case "zip":
		return i > 0 && !has("-m", "--move", "-rm", "-mr") && slices.IndexFunc(words, func(w string) bool { return !strings.HasPrefix(w, "-") }) < i
	case "7z":
		return i > 1 && !has("-sdel")
	case "gzip", "xz", "zstd":
		return has("-c", "--stdout", "-k", "--keep", "-kc", "-ck", "-dc", "-cd", "-l", "-t", "-9c", "-9k") || name == "zstd" && !has("--rm") && before != "-o"
	case "dd":
		return strings.HasPrefix(words[i], "if=")
	case "openssl":
		return !strings.HasPrefix(before, "-out")
	case "split":
		return i < len(words)-1 || i == 0 || strings.HasPrefix(words[max(i-2, 0)], "-")
	}
	return false
}

// unknown reports whether nothing here says what a command does with a folder.
func (e *examination) unknown(name string) bool {
	return !lookers[name] && !printers[name] && !copiers[name] && !enders[name] && !wraps[name] && !shells[name] && !killers[name] && !runtimes[name] &&
		!settled[name] && !metadata[name] && !searchers[name] && !deepListers[name] && !flatListers[name] && !finders[name] && !interpreter.MatchString(name)
}

// settled are further programs that leave what lies in a folder as it is, or of which what
// they do to it is looked at elsewhere.
var settled = words(`mkdir touch git gh xdg-open nautilus ncdu vim vi nvim emacs nano helix hx subl idea zed tmux ssh ssh-add ssh-keygen go fzf eza exa
	bat watchexec entr fswatch inotifywait findmnt mountpoint quota sync ed ex sed awk gawk mawk claude codex gemini opencode copilot cursor unzip bsdtar unrar unar wget curl patch apply time which`)

// belongs reports whether a folder in which something guarded lies is so near to it that few
// others have to do with it: none above the home folder, the present one or the system's own.
func (e *examination) belongs(parts []string) bool {
	home, cwd := split(strings.ToLower(e.g.home)), split(strings.ToLower(e.cwd()))
	for _, busy := range [][]string{home, cwd} {
		if len(parts) <= len(busy) && compare(parts, busy) != apart {
			return false
		}
	}
	return len(parts) > 2 || len(home) > 0 && len(parts) > len(home) && compare(parts[:len(home)], home) == within
}

// relativeSetting looks at a file of a repository's settings, wherever that lies.
func (e *examination) relativeSetting(name, word string) {
	parts := split(clean(word))
	if !lookers[name] && hook.SettingAt("/"+strings.Join(parts, "/"), e.g.home) != nil {
		e.setting(parts, func([]byte) ([]byte, bool) { return nil, false })
	}
}

// pieces are a word, and the parts of it that may be a path: after = and @, and
// between colons and commas.
func pieces(w string) []string {
	list := []string{w}
	for _, p := range strings.FieldsFunc(w, func(r rune) bool { return strings.ContainsRune("=:,@", r) }) {
		if p != w && strings.ContainsAny(p, "/~.") {
			list = append(list, p)
		}
	}
	return list
}

// path looks at one path that a command names.
func (e *examination) path(name string, parts []string, target bool, words []string) {
	e.process(parts)
	git := name == "git"
	looks := lookers[name] && !copiers[name] && !writesOut(name, words) || git && gitReads(words) || name == "sed" && !inPlace(words) ||
		name == "find" && !slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "-fprint") || w == "-fls" }) // what it runs is given what it finds
	for _, p := range e.g.places {
		switch compare(parts, p.parts) {
		case within:
			switch p.kind {
			case secret:
				e.tampers("reach for " + p.kind.String())
			case law, program:
				reads := looks || copiers[name] && !target && name != "mv" && p.kind == law
				if name == "cat" {
					reads = p.kind == law
				}
				reads = reads && !slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "--remove-") }) // tar, rsync
				if !reads {
					e.tampers("change " + p.kind.String() + ", or make a copy of it")
				}
			}
		case above:
			emptied := name == "rsync" && slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "--del") })
			if p.kind == setting && !enders[name] || target && !emptied && lands[name] {
				continue
			}
			if p.kind != setting && p.kind != program && e.unknown(name) && e.belongs(parts) {
				e.tampers("change a folder in which " + p.kind.String() + " lies, in a way that is not known")
			}
			if name == "chmod" && slices.ContainsFunc(words, closes) && (p.kind != setting || e.armed(p)) {
				e.tampers("close a folder in which " + p.kind.String() + " lies")
			}
			recursive := name != "chmod" && name != "chown" && name != "chgrp" && name != "rmdir" && name != "rm" ||
				slices.ContainsFunc(words, func(w string) bool {
					return w == "--recursive" || len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.ContainsAny(w, "rR")
				})
			switch {
			case enders[name] && recursive && !looks:
				if p.kind != setting || e.armed(p) {
					e.tampers("take away or close a folder in which " + p.kind.String() + " lies")
				}
			case p.kind == secret && copiers[name] && name != "cat" && name != "ln" && len(words) > 1:
				e.tampers("copy " + p.kind.String() + ", which lies in that folder")
			}
		}
	}
	if !looks && !(name == "cp" && !target) && name != "cat" {
		if name == "sed" {
			e.setting(parts, func(before []byte) ([]byte, bool) { return substituted(before, words) })
			return
		}
		e.setting(parts, func([]byte) ([]byte, bool) { return nil, name == "rm" || name == "unlink" || name == "mv" && !target })
	}
}

// substituted is a text after sed's -i with one substitution of plain words: what
// has a pattern in it, or more than one command, is not foretold.
func substituted(before []byte, words []string) ([]byte, bool) {
	var m []string
	for _, w := range words {
		switch {
		case w == "-i" || w == "--in-place" || w == "-e":
		case strings.HasPrefix(w, "-"):
			return nil, false
		case m == nil:
			if m = plainSubstitution.FindStringSubmatch(w); m == nil {
				return nil, false
			}
			if m[1] != m[3] || m[3] != m[5] || strings.Contains(m[2]+m[4], m[1]) {
				return nil, false
			}
		case strings.HasPrefix(w, "s") && plainSubstitution.MatchString(w):
			return nil, false
		}
	}
	if m == nil || m[2] == "" {
		return nil, false
	}
	lines := strings.Split(string(before), "\n")
	for i := range lines {
		if m[6] == "g" {
			lines[i] = strings.ReplaceAll(lines[i], m[2], m[4])
		} else {
			lines[i] = strings.Replace(lines[i], m[2], m[4], 1)
		}
	}
	return []byte(strings.Join(lines, "\n")), true
}

// plainSubstitution is s/old/new/, without a character that means something else.
var plainSubstitution = lazyregexp.New(`^s([/|#,])([\w "':,@/-]*)([/|#,])([\w "':,@/-]*)([/|#,])(g?)$`)

// closes reports whether a mode leaves a folder's owner no way into it.
func closes(mode string) bool {
	if strings.Trim(mode, "01234567") == "" && len(mode) > 0 && len(mode) < 5 {
		owner := ("000" + mode)[len(mode):][0]
		return (owner-'0')&5 != 5
	}
	return closing.MatchString(mode)
}

var closing = lazyregexp.New(`^(?:[ugoa]*[+=-][rwxXst]*,)*(?:[ao]*u[ugoa]*|a[ugo]*|)(?:-[rwst]*x|=[rw]*$)`)

// armed reports whether a file of settings has reeve's hooks now.
func (e *examination) armed(p place) bool {
	armed := false
	before := len(e.found)
	e.setting(split(p.file), func(text []byte) ([]byte, bool) { armed = len(text) > 0; return nil, true })
	armed = armed && len(e.found) > before
	e.found = e.found[:before]
	return armed
}

// url looks at an address at which the node is asked to decide.
func (e *examination) url(raw string) {
	if e.g.port == "" {
		return
	}
	if m := decidingURL.FindStringSubmatch(unescaped(raw)); m != nil && m[1] == e.g.port {
		e.tampers("answer for people at the guardian's own address")
	}
}

var decidingURL = lazyregexp.New(`(?i)(?:localhost|127\.[0-9.]+|\[[0-9a-f:.%]+\]|[^\s/:@]+):([0-9]+)/+(?:(?:admin|console)(?:/|$)|approvals/+[^?#\s]|agents/+[^/\s]+/+)`)

// code looks at a program that an interpreter is given: what it names is found
// whatever the pieces are put together with.
func (e *examination) code(text string) {
	e.url(text)
	if e.port(text) && decidingText.MatchString(unescaped(text)) {
		e.tampers("answer for people at the guardian's own address")
	}
	e.text(text)
	low := strings.ToLower(text)
	plain := gist(low)
	changes := changing.MatchString(low) || !onlyReads(low)
	for _, p := range e.g.places {
		named := strings.Contains(plain, strings.Join(p.parts, ""))
		for _, from := range []string{e.g.home, e.cwd()} {
			below, ok := strings.CutPrefix("/"+strings.Join(p.parts, "/"), strings.ToLower(from)+"/")
			below = strings.ReplaceAll(below, "/", "")
			named = named || ok && from != "" && len(below) >= 8 && strings.Contains(plain, below)
		}
		if !named {
			continue
		}
		switch {
		case p.kind == secret:
			e.tampers("reach for " + p.kind.String())
		case changes:
			e.tampers("change " + p.kind.String())
		}
	}
	e.goes(text, changes)
	e.linksIn(text, changes)
	if removing.MatchString(low) {
		for _, p := range e.g.places { // the folder in which it lies
			above := p.parts[:len(p.parts)-1]
			below, ok := strings.CutPrefix("/"+strings.Join(above, "/"), strings.ToLower(e.g.home)+"/")
			if below = strings.ReplaceAll(below, "/", ""); ok && len(below) >= 8 && strings.Contains(plain, below) && (p.kind != setting || e.armed(p)) {
				e.tampers("take away or close a folder in which " + p.kind.String() + " lies")
			}
		}
	}
	if ending.MatchString(low) && (e.sought || number(low, e.g.pid) || finding.MatchString(low)) {
		e.tampers("end the guardian")
	}
	if changes {
		for _, m := range settingNames.FindAllString(low, 4) {
			e.relativeSetting("code", m)
		}
	}
}

var (
	settingNames = lazyregexp.New(`[\w./~-]*\.(claude|codex|gemini|cursor|copilot|github/hooks|opencode|amazonq)/[\w./-]+`)
	// changing is what programs that change files have in them.
	changing = lazyregexp.New(`["'][rwab+]*[wa+][rwab+]*["']|write|dump|unlink|remove|rename|replace|rmtree|chmod|truncate|symlink|copy|move|system|exec|spawn|subprocess|popen|append|>|delete|rm\b`)
	// removing takes whole folders away.
	removing = lazyregexp.New(`rmtree|remove-item|move-item|rename-item|removeall|remove_entry|rm_rf|rm_r\b|rmsync|rmdirsync|renamesync|recursive|\.rename|\.move|os\.rename|\bchmod`)
	ending   = lazyregexp.New(`\bkill\w*\b|sigkill|sigterm|sigstop|terminate|ptrace|process_vm_|pidfd|\battach|prlimit|setpriority|sched_set|/mem\b|send_signal|\.suspend\b`)
	printing = lazyregexp.New(`print|echo|puts|console\.|say\b|stdout|write`)
	finding  = lazyregexp.New(`(?:pidof|pgrep|cmdline|process_iter)[\s\S]*\breeve\b|\breeve\b[\s\S]*(?:pidof|pgrep|cmdline|process_iter)`)
	notName  = lazyregexp.New(`[^a-z0-9._~-]+`)
)

// onlyReads reports whether a program, in lower case, calls nothing but what reads and shows:
// what a call of another name does to a file that the program names is not known.
func onlyReads(low string) bool {
	for _, m := range called.FindAllStringSubmatch(low, -1) {
		if !readingCalls[m[1]] {
			return false
		}
	}
	return true
}

var (
	called       = lazyregexp.New(`([a-z_]\w*)\s*\(`)
	readingCalls = words(`open fopen file_get_contents read readline readlines readfile readfilesync read_text read_bytes gets fgets load safe_load loads parse json yaml_parse_file
		json_decode print printf println puts p say echo log len str repr int list dict set sorted enumerate range join split splitlines strip rstrip trim lines
		getenv get items keys values path home dir homedir expanduser expandvars abspath dirname basename exists isfile isdir is_file is_dir file_exists stat getsize tostring
		require import if for while with in and or not function def lambda filter map any all sum min max format foreach count strlen var_dump print_r pprint startswith endswith hexdigest sha256 md5 getuser cwd getcwd`)
)

// linksIn looks at a program that makes a link, or mounts: what it names after that may lie
// below another folder than the one that is written.
func (e *examination) linksIn(text string, changes bool) {
	low := strings.ToLower(text)
	if !strings.Contains(low, "link") && !strings.Contains(low, "mount") {
		return
	}
	tokens := pathsIn(text)
	for _, dir := range tokens {
		if !e.leadsTo(dir, e.lastDirs()) {
			continue
		}
		for _, other := range tokens {
			for parts := split(clean(other)); len(parts) > 0 && len(parts) < 32; parts = parts[1:] {
				for _, at := range e.readings(dir+"/"+strings.Join(parts, "/"), e.lastDirs()) {
					for _, p := range e.g.places {
						if compare(at, p.parts) == within && (p.kind == secret || changes && p.kind != setting) {
							e.tampers("reach for " + p.kind.String() + " by a link")
						}
					}
				}
			}
		}
	}
}

// gist is the names in a text, without what stands between them.
func gist(low string) string { return notName.ReplaceAllString(low, "") }

// text looks for a deciding command in a text that may be run: as words, whatever
// quotes and commas they stand in.
func (e *examination) text(text string) {
	if len(text) > 256<<10 {
		return
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n\"'`,;()[]{}|&<>", r) })
	for i, w := range words {
		if !e.isReeve(w, nil) {
			continue
		}
		rest := words[i+1 : min(len(words), i+16)]
		if which := deciding(rest, true); which != "" && e.addresses(which, rest, &hazard.Command{Dirs: []string{""}}) {
			e.tampers("answer for people, or change what decides (" + which + ")")
		}
	}
}

// tools looks at the arguments of tools that work on files, whatever they are called.
func (e *examination) tools(leaves []act.Leaf) {
	if e.isShell() && e.named(runners) {
		return
	}
	reads := e.named(readers) && !e.named(writers)
	var contents, olds, news []string
	patch, deletes := "", e.named(deleters)
	for _, l := range leaves {
		switch role(l) {
		case "content":
			contents = append(contents, l.Text)
		case "old":
			olds = append(olds, l.Text)
		case "new":
			news = append(news, l.Text)
		case "patch":
			patch = l.Text
		}
	}
	parted := sections(patch)
	change := func(before []byte) ([]byte, bool) {
		switch {
		case deletes:
			return nil, true
		case patch != "":
			// A file that is named beside a patch that names others may be any of them.
			if len(parted) > 1 || len(parted) == 1 && (parted[0].deletes || parted[0].moves) {
				return nil, false
			}
			return patched(before, patch)
		case len(olds) > 0 && len(olds) == len(news):
			text := string(before)
			for i, old := range olds {
				if old == "" && text == "" {
					text = news[i]
				} else if !strings.Contains(text, old) || old == "" {
					return nil, false
				} else {
					text = strings.ReplaceAll(text, old, news[i])
				}
			}
			return []byte(text), true
		case len(contents) == 1 && len(olds) == 0 && !e.named(editors):
			return []byte(contents[0]), true
		}
		return nil, false
	}
	for _, l := range leaves {
		if l.Fixed || len(l.Text) > 64<<10 || strings.ContainsAny(l.Text, "\n\r") || isProse(l) {
			continue
		}
		if is := role(l); is == "content" || is == "old" || is == "new" {
			continue
		}
		if slices.ContainsFunc(parted, func(s section) bool { return strings.TrimRight(s.name, "\r ") == l.Text }) {
			continue // what the patch does to it is looked at below
		}
		for _, parts := range e.readings(l.Text, nil) {
			for _, p := range e.g.places {
				rel := compare(parts, p.parts)
				switch {
				case rel == within && p.kind == secret:
					e.tampers("reach for " + p.kind.String())
				case rel == within && p.kind != setting && !reads:
					e.tampers("change " + p.kind.String())
				case rel == above && p.kind == secret && e.named(gatherers) && !strings.EqualFold("/"+strings.Join(parts, "/"), e.cwd()):
					e.tampers("take along a folder in which " + p.kind.String() + " lies (name the folders that are meant)")
				case rel == above && !reads && (deletes || e.named(movers)):
					if p.kind != setting || e.armed(p) {
						e.tampers("take away a folder in which " + p.kind.String() + " lies")
					}
				}
			}
			if !reads {
				e.setting(parts, change)
			}
		}
		if !reads && e.cwd() == "" && l.Text != "" && l.Text[0] != '/' && l.Text[0] != '~' {
			if parts := split(clean(l.Text)); hook.SettingAt("/"+strings.Join(parts, "/"), e.g.home) != nil {
				e.setting(parts, change)
			}
		}
	}
	for i := range parted {
		name := strings.TrimRight(parted[i].name, "\r ")
		all := e.readings(name, []string{""})
		for _, parts := range all {
			for _, p := range e.g.places {
				if p.kind != setting && compare(parts, p.parts) == within {
					e.tampers("change " + p.kind.String())
				}
			}
			e.setting(parts, parted[i].after)
		}
		if len(all) == 0 { // relative, to a folder that is not known
			e.setting(split(clean(name)), parted[i].after)
		}
	}
}

var patchNames = lazyregexp.New(`(?m)^\s*(?:\*\*\* (?:Add File|Update File|Delete File|Move to):|---|\+\+\+)\s+(?:[ab]/)?(\S[^\t\r\n]*)`)

// role is what an argument of a tool for files is, by its name.
func role(l act.Leaf) string {
	switch name := argument(l); name {
	case "content", "contents", "filetext", "text", "data", "body", "newsource":
		return "content"
	case "old", "oldstring", "oldstr", "oldtext", "search", "find":
		return "old"
	case "new", "newstring", "newstr", "newtext", "replacement", "replacewith", "replace":
		return "new"
	case "patch", "diff":
		return "patch"
	case "input", "command", "value":
		if strings.Contains(l.Text, "*** Begin Patch") {
			return "patch"
		}
	}
	return ""
}

// argument is the name under which a text stands, in one spelling: the argument's
// own, or in a list of edits that of the member. AOS has an argument's value under
// "value", which is no name of it.
func argument(l act.Leaf) string {
	name := l.Arg
	if i := strings.LastIndexByte(l.Pointer, '/'); i >= 0 && strings.Trim(l.Pointer[i+1:], "0123456789") != "" &&
		!(l.Arg != "" && aosValue.MatchString(l.Pointer)) {
		name = l.Pointer[i+1:]
	}
	return unseparated.Replace(strings.ToLower(name))
}

var unseparated = strings.NewReplacer("_", "", "-", "")

var aosValue = lazyregexp.New(`/inputs/[0-9]+/value(/[0-9]+)*$`)

// isProse reports whether a text is a sentence for a model or a person, by the name
// of its argument: a path that it speaks of is not reached for.
func isProse(l act.Leaf) bool {
	switch argument(l) {
	case "prompt", "description", "query", "title", "message", "fact", "task", "instructions", "goal", "subject", "comment", "note":
		return strings.Contains(strings.TrimSpace(l.Text), " ")
	}
	return false
}

// A section is what a patch does to one file.
type section struct {
	name    string
	moves   bool // the file gets this name, or loses it
	deletes bool
	lines   []string
}

// sections takes a patch apart, by the files that it names, in the form of
// apply_patch or of diff.
func sections(patch string) []section {
	var list []section
	old := ""
	for line := range strings.SplitSeq(patch, "\n") {
		m := patchNames.FindStringSubmatch(line)
		switch {
		case m == nil:
			if n := len(list); n > 0 {
				list[n-1].lines = append(list[n-1].lines, line)
			}
		case strings.Contains(m[0], "Move to:"):
			if n := len(list); n > 0 {
				list[n-1].moves = true
			}
			list = append(list, section{name: m[1], moves: true})
		case strings.HasPrefix(strings.TrimSpace(line), "---"):
			old = m[1] // the name after +++ says whether it is deleted
			if old != "/dev/null" {
				list = append(list, section{name: old})
			}
		case strings.HasPrefix(strings.TrimSpace(line), "+++"):
			n := len(list)
			switch {
			case m[1] == "/dev/null" && n > 0:
				list[n-1].deletes = true
			case n > 0 && list[n-1].name == m[1] && old == m[1]:
			case old != "/dev/null" && n > 0: // renamed
				list[n-1].moves = true
				list = append(list, section{name: m[1], moves: true})
			default:
				list = append(list, section{name: m[1]})
			}
		default:
			list = append(list, section{name: m[1], deletes: strings.Contains(m[0], "Delete File:")})
		}
	}
	return list
}

// after is a file's text when a patch's section was applied to it.
func (s *section) after(before []byte) ([]byte, bool) {
	switch {
	case s.deletes:
		return nil, true
	case s.moves:
		return nil, false
	}
	return patched(before, strings.Join(s.lines, "\n"))
}

// patched applies a patch's changed passages to a text, if each stands in it once.
func patched(before []byte, patch string) ([]byte, bool) {
	text := string(before)
	var from, to []string
	apply := func() bool {
		if len(from) == 0 && len(to) == 0 {
			return true
		}
		old, now := strings.Join(from, "\n"), strings.Join(to, "\n")
		from, to = nil, nil
		if text == "" && strings.TrimSpace(old) == "" {
			text = now
			return true
		}
		if strings.TrimSpace(old) == "" || strings.Count(text, old) != 1 {
			return false
		}
		text = strings.Replace(text, old, now, 1)
		return true
	}
	for line := range strings.SplitSeq(patch, "\n") {
		switch {
		case strings.HasPrefix(line, "***"), strings.HasPrefix(line, "@@"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "+++"):
			if !apply() {
				return nil, false
			}
		case strings.HasPrefix(line, "+"):
			to = append(to, line[1:])
		case strings.HasPrefix(line, "-"):
			from = append(from, line[1:])
		case strings.HasPrefix(line, " "):
			from, to = append(from, line[1:]), append(to, line[1:])
		}
	}
	if !apply() {
		return nil, false
	}
	return []byte(text), true
}
