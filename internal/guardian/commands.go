package guardian

import (
	"path"
	"slices"
	"strings"

	"reeve.example/reeve/act"
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
	killers = words(`kill pkill killall killall5 skill snice fuser systemctl service launchctl rc-service initctl supervisorctl docker podman taskkill tskill stop-process spps stop-service spsv set-service suspend-service
		kill-port killport kill-port-process fkill fkill-cli portkill freeport wmic sc net remove-ciminstance invoke-cimmethod
		dbus-send busctl gdbus qdbus gdb lldb strace ltrace gcore prlimit reptyr bpftrace iptables ip6tables nft ufw firewall-cmd pfctl ss tc loginctl ip ifconfig ifdown nmcli networkctl`)
	// gitLooks are the subcommands of git that change no file of the folder.
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
	if name == "alias" { // what is run under that name from then on
		for _, w := range c.Words {
			if _, value, ok := strings.Cut(w, "="); ok {
				e.runs(value)
			}
		}
	}
	e.far = e.isFar(c)
	e.notes(c, name)
	e.seeks(c, name)
	e.pidFiles(c)
	e.fills(c, name)
	e.patchFiles(c, name)
	e.gathers(c, name)
	if name == "git" && gitReads(c.Words) || printers[name] && !(name == "sed" && inPlace(c.Words)) {
		e.lookedAt(c, name) // its words are texts, or files that it reads
		return
	}
	if wraps[name] {
		e.reeveUnder(c, name)
	}
	e.decides(c, name)
	e.asks(c, name)
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
		e.runs(recipes("", c.Stdin, nil))
	}
}

// runs looks at a text that is run as commands.
func (e *examination) runs(text string) {
	if text = strings.TrimSpace(text); text == "" {
		return
	}
	if e.deep >= maxDeep {
		e.tooMuch = true
		return
	}
	e.deep++
	went := e.went
	e.watch(func(w *hazard.Watch) {
		read := hazard.Observe("shell", []act.Leaf{{Pointer: "/command", Arg: "command", Text: text}}, w)
		if len(text) > maxBrief && slices.ContainsFunc(read.Findings, func(f hazard.Finding) bool { return f.Code == "command.not_understood" }) {
			e.tooMuch = true // it was not read to its end
		}
	})
	e.went = went
	e.deep--
}

// maxBrief is how long a text may be that is surely read to its end, in bytes.
const maxBrief = 8 << 10

// maxDeep is how many texts that are run may lie within one another: each is looked at by
// the reader around it, too, so that the work doubles with each.
const maxDeep = 4

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

// flag is the first value of an option.
func flag(words []string, name string) (string, bool) {
	if all := values(words, name); len(all) > 0 {
		return all[0], true
	}
	return "", false
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
			if !e.placed() && word != "" && word[0] != '/' && word[0] != '~' {
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
		for _, word := range e.pathsIn(text) {
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
func (e *examination) pathsIn(text string) (list []string) {
	seen := map[string]bool{}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n\"'`,;()[]|&<>=", r) }) {
		if strings.Contains(word, "/") && len(word) <= 4096 && !seen[word] {
			if len(list) == maxNames {
				e.tooMuch = true
				break
			}
			seen[word] = true
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
	bat watchexec entr fswatch inotifywait findmnt mountpoint quota sync ed ex sed awk gawk mawk claude codex gemini opencode copilot cursor unzip bsdtar unrar unar wget curl patch apply time which stow`)

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
	recursive := name != "chmod" && name != "chown" && name != "chgrp" && name != "rmdir" && name != "rm" ||
		slices.ContainsFunc(words, func(w string) bool {
			return w == "--recursive" || len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.ContainsAny(w, "rR")
		})
	ends := enders[name] && recursive && !looks && !(name == "rsync" && !target && !slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "--remove-") }))
	if (ends && (name != "chmod" || slices.ContainsFunc(words, closes)) || name == "find" && slices.Contains(words, "-delete")) && !target && e.armedBelow(parts) {
		e.tampers("take away or close a folder in which " + setting.String() + setting.lies())
	}
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
			if e.far && len(parts) < len(split(e.g.home))+2 {
				continue // a home, or a folder of one, is that of the other machine
			}
			emptied := name == "rsync" && slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "--del") })
			if p.kind == setting && !enders[name] || target && !emptied && lands[name] {
				continue
			}
			if p.kind != setting && p.kind != program && e.unknown(name) && e.belongs(parts) {
				e.tampers("change a folder in which " + p.kind.String() + p.kind.lies() + ", in a way that is not known")
			}
			if name == "chmod" && slices.ContainsFunc(words, closes) && (p.kind != setting || e.armed(p)) {
				e.tampers("close a folder in which " + p.kind.String() + p.kind.lies())
			}
			switch {
			case ends:
				if p.kind != setting || e.armed(p) {
					e.tampers("take away or close a folder in which " + p.kind.String() + p.kind.lies())
				}
			case p.kind == secret && copiers[name] && name != "cat" && name != "ln" && len(words) > 1 && !((name == "tar" || name == "7z") && e.isOpen(parts) && len(filled(name, words)) > 0):
				e.tampersBut("copy "+p.kind.String()+", which lies in that folder", "Name the folders that are to be copied.")
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

// closes reports whether a mode leaves a folder's owner no way into it.
func closes(mode string) bool {
	if strings.Trim(mode, "01234567") == "" && len(mode) > 0 && len(mode) < 5 {
		owner := ("000" + mode)[len(mode):][0]
		return (owner-'0')&5 != 5
	}
	return closing.MatchString(mode)
}

var closing = lazyregexp.New(`^(?:[ugoa]*[+=-][rwxXst]*,)*(?:[ao]*u[ugoa]*|a[ugo]*|)(?:-[rwst]*x|=[rw]*$)`)
