package hazard

import (
	"path"
	"slices"
	"strings"
	"sync"
)

// interpreter is a program that runs text.
type interpreter struct {
	shell    bool
	language string
	eval     string // options whose value is the text
}

var interpreters = map[string]interpreter{
	"sh": {true, "sh", "-c"}, "bash": {true, "sh", "-c"}, "dash": {true, "sh", "-c"}, "zsh": {true, "sh", "-c"},
	"ksh": {true, "sh", "-c"}, "ash": {true, "sh", "-c"}, "rbash": {true, "sh", "-c"}, "mksh": {true, "sh", "-c"},
	"csh": {true, "sh", "-c"}, "tcsh": {true, "sh", "-c"}, "fish": {true, "sh", "-c --command"}, "bsh": {true, "sh", "-c"}, "yash": {true, "sh", "-c"}, "osh": {true, "sh", "-c"}, "oksh": {true, "sh", "-c"}, "elvish": {true, "sh", "-c"}, "nu": {true, "sh", "-c --commands"}, "xonsh": {true, "sh", "-c"}, "pdksh": {true, "sh", "-c"},
	"python": {false, "python", "-c"}, "pypy": {false, "python", "-c"}, "jython": {false, "python", "-c"}, "ipython": {false, "python", "-c"},
	"pythonw": {false, "python", "-c"}, "platform-python": {false, "python", "-c"}, "graalpy": {false, "python", "-c"}, "micropython": {false, "python", "-c"}, "py": {false, "python", "-c"}, "sage": {false, "python", "-c"}, "bpython": {false, "python", "-c"}, "ptpython": {false, "python", "-c"},
	"perl": {false, "perl", "-e -E"}, "ruby": {false, "ruby", "-e"}, "irb": {false, "ruby", "-e"}, "jruby": {false, "ruby", "-e"},
	"php": {false, "php", "-r"}, "node": {false, "js", "-e --eval -p --print"}, "nodejs": {false, "js", "-e --eval -p --print"},
	"deno": {false, "js", "eval"}, "bun": {false, "js", "-e --eval"}, "lua": {false, "lua", "-e"}, "luajit": {false, "lua", "-e"},
	"tclsh": {false, "tcl", ""}, "wish": {false, "tcl", ""}, "awk": {false, "awk", ""}, "gawk": {false, "awk", ""}, "mawk": {false, "awk", ""}, "nawk": {false, "awk", ""},
	"osascript": {false, "applescript", "-e"}, "groovy": {false, "java", "-e"}, "jshell": {false, "java", ""}, "jrunscript": {false, "js", "-e"}, "jjs": {false, "js", ""},
	"scala": {false, "java", "-e"}, "r": {false, "r", "-e"}, "Rscript": {false, "r", "-e"}, "julia": {false, "julia", "-e"}, "guile": {false, "lisp", "-c"},
	"elixir": {false, "elixir", "-e"}, "erl": {false, "elixir", "-eval"}, "gdb": {false, "gdb", "-ex --ex -x"}, "vim": {false, "vim", "-c"}, "vi": {false, "vim", "-c"},
	"nvim": {false, "vim", "-c"}, "rvim": {false, "vim", "-c"}, "vimdiff": {false, "vim", "-c"}, "view": {false, "vim", "-c"}, "emacs": {false, "lisp", "--eval -eval"}, "ghc": {false, "haskell", "-e"},
	"crystal": {false, "ruby", "eval"}, "dart": {false, "dart", ""}, "pwsh": {false, "powershell", "-c -Command"}, "stap": {false, "c", "-e"}, "bpftrace": {false, "c", "-e"},
}

// readers print what is in files, or what they are given. transform says what
// they do to it.
var readers = set(`cat tac head tail less more most nl sort uniq cut grep egrep fgrep rg ag ack zgrep sed gsed tr strings od xxd hexdump hd
	base64 base32 base58 basenc b64encode b64decode uuencode uudecode paste column fold fmt rev gzip gunzip zcat bzcat xzcat bzip2 bunzip2 xz unxz lz4 zstd
	jq yq iconv recode expand unexpand shuf split csplit comm join diff cmp wc tee bat view pr ul rev openssl gpg ccrypt look
	dd awk gawk mawk nawk vim vi nano ed emacs file xmllint readelf objdump hexyl bvi pg cp install ln mv rsync tar zip 7z cpio ar pax ccat
	plutil defaults sqlite3 source . git vipw getent testcat mapfile readarray`)

// harmless look at names and rights, not at contents.
var harmless = set(`ls stat test [ [[ find locate which whereis type realpath readlink basename dirname du df chmod chown chgrp lsattr getfacl
	md5sum sha1sum sha256sum sha512sum b2sum cksum sum mkdir rmdir touch man info help apropos whatis tree cd pushd popd pwd echo printf true false
	kill ps pgrep pkill exit return id umount findmnt namei inotifywait fuser lsof mktemp alias export set shellcheck exa eza lsd test dpkg rpm`)

// programs are the names by which a command is told from a sentence.
var programs = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{}
	for _, s := range []string{`apt apt-get aptitude yum dnf zypper pacman apk brew snap flatpak dpkg rpm pip npm npx yarn pnpm cargo go make cmake gcc g++ clang javac java mvn gradle
		docker podman kubectl helm terraform ansible aws gcloud az gsutil git svn hg ssh scp sftp rsync ftp curl wget nc ncat netcat socat telnet nmap dig nslookup host ping
		rm rmdir mv cp ln mkdir touch chmod chown chattr chgrp dd mkfs fdisk parted mount umount swapoff swapon shred wipe truncate useradd userdel usermod adduser groupadd passwd chpasswd chsh
		crontab at batch systemctl service launchctl journalctl auditctl iptables ip6tables nft ufw firewall-cmd setenforce sysctl modprobe insmod rmmod lsmod ip ifconfig route netstat ss tcpdump
		reeve reeve-hook history unset eval source trap kill killall pkill ps top id whoami uname hostname w who last env printenv export alias set cd tar zip unzip gzip mysql psql sqlite3 redis-cli mongo
		visudo sudoedit su newgrp login reboot shutdown halt poweroff init mkfifo mknod openssl gpg base64 xxd sshpass hydra john hashcat msfconsole msfvenom sqlmap nikto
		setcap getcap gdb strace tmux screen ldconfig insmod dmesg logger screencapture pbpaste security dscl defaults spctl csrutil networksetup find ls tree which echo printf test`} {
		for w := range set(s) {
			m[w] = true
		}
	}
	for n, o := range builtin().options {
		if o.wraps >= 0 {
			m[n] = true
		}
	}
	for n := range interpreters {
		m[n] = true
	}
	for n := range readers {
		m[n] = true
	}
	for n := range harmless {
		m[n] = true
	}
	delete(m, "[")
	delete(m, ".")
	return m
})

// invocation is one command that would run.
type invocation struct {
	*shell
	name string // its base name
	path string // as it was called
	args []flow
	in   flow
	wrap int // how many commands are around it
}

// invoke judges one command and returns what it prints.
func (s *shell) invoke(args []flow, in flow, wrap int) flow {
	if s.commands--; s.commands < 0 || wrap > 16 {
		s.starve(s.at)
		return flow{}
	}
	if out, done := s.named(args, in); done {
		return out
	}
	name := args[0].text
	if name == "$0" { // the shell itself, or the script
		name = "sh"
	}
	if wrap > 0 && strings.ContainsAny(name, " |;&") {
		s.wordRun(name) // watch, parallel and others run a text
	}
	if g := globbed(name); g != "" {
		s.report("shell.obfuscated", 0.82, s.at)
		name = g
	}
	args = s.followed(s.withOptions(baseName(name), args))
	c := &invocation{shell: s, name: baseName(name), path: name, args: args[1:], in: in, wrap: wrap}
	c.replaces()
	for _, a := range args {
		if a.taint&fromNet != 0 && a.taint&fromDecoder != 0 {
			in.taint |= fromDecoder
		}
	}
	if args[0].taint&(fromNet|fromSocket) != 0 && !args[0].known {
		s.report("shell.download_run", 0, s.at)
	}
	if args[0].taint&fromDecoder != 0 {
		s.report("shell.encoded_run", 0, s.at)
	}
	if strings.HasPrefix(name, "$") && !args[0].known {
		// What it runs is known only when it runs. Over a connection of its own,
		// these are somebody's orders.
		s.sourceRun = true
	}
	for _, a := range args {
		s.mentions(a.text)
	}
	if args[0].taint&fromFile != 0 || !args[0].known && strings.HasPrefix(name, "$(") {
		s.dynamic = true // what it runs stands in a file
	}
	s.watched(args, in)
	before, aside, bare := s.rehearsed, s.aside, s.bare
	s.tunnelled = s.tunnelled || c.tunnels()
	s.rehearsed, s.aside, s.bare = c.rehearses(), c.standsAside(), false
	defer func() { s.rehearsed, s.aside, s.bare = before, aside, bare }()
	prints := c.uses()
	c.carries()
	c.takesAway()
	c.strange()
	c.namesSecrets()
	c.runsWords()
	c.runsElsewhere()
	c.unchecks()
	c.answers()
	c.chooses()
	c.runsInWords()
	c.sets()
	c.runsFetched()
	c.orders()
	c.makes()
	s.ranFile(name)
	s.ranHidden(name)
	c.addressed()
	c.reaches()
	c.leaks()
	out := c.does()
	c.links()
	if in.taint&fromKeeper != 0 && !showing[c.name] {
		out.taint &^= fromKeeper // what takes it does not show it
	}
	if prints != 0 {
		out = flow{taint: out.taint | prints}
	}
	return out
}

// showing are programs that print what comes in, or a part of it.
var showing = set("cat tee head tail less more jq yq grep egrep rg sed awk gawk cut tr sort uniq base64 xxd od rev fold nl column paste echo printf xargs sh bash zsh dash python ruby perl node sudo env time command strings bat tac hexdump openssl")

// does judges what code has to read of a command: what it runs, reads, writes and sends.
func (c *invocation) does() flow {
	if c.waitsForInput() {
		c.report("shell.interactive", 0, c.at)
	}
	if o, ok := c.table.options[c.name]; ok && o.wraps >= 0 {
		if out, done := c.wrapper(o); done {
			return out
		}
	}
	if i, ok := interpreters[c.name]; ok {
		return c.interpret(i)
	}
	if f, ok := handlers[c.name]; ok {
		return f(c)
	}
	return c.ordinary()
}

// speakers are commands whose words are texts, or which use a key for what it is for,
// or look at a file from outside.
var speakers = set("echo printf : true false ls stat test [ [[ chmod chown touch grep egrep fgrep rg ag export declare ssh ssh-add ssh-keygen ssh-copy-id kubectl helm")

// What a program makes of other files: one that holds them all, whose name comes first, or
// another form of one, whose name comes last. Some only add to the name.
var (
	packers    = set("tar bsdtar gtar zip 7z 7za 7zr rar jar ar cpio")
	converters = set("openssl xxd age uuencode split gpg gpg2 sops pandoc qpdf sqlite3 rsync scp install iconv convert magick ffmpeg base64 base32 enca recode dos2unix unexpand csplit jq yq sort")
	suffixes   = map[string]string{"gzip": ".gz", "pigz": ".gz", "bzip2": ".bz2", "xz": ".xz", "zstd": ".zst", "lzma": ".lzma", "lz4": ".lz4", "brotli": ".br", "gpg": ".gpg", "gpg2": ".gpg", "age": ".age", "bcrypt": ".bfe"}
)

// makes notes which files are made of which others, so that it is known what is in them when
// a later call sends them.
func (c *invocation) makes() {
	suffix := suffixes[c.name]
	if !packers[c.name] && !converters[c.name] && suffix == "" {
		return
	}
	options, rest := c.split()
	if len(rest) > 0 && !strings.ContainsAny(rest[0].text, "./~") { // czf, a, enc
		rest = rest[1:]
	}
	out := ""
	var from []string
	for name, v := range options {
		switch strings.TrimLeft(name, "-") {
		case "o", "out", "output", "f", "file", "O":
			out = v.text
		case "in", "T", "files-from":
			from = append(from, v.text)
		}
	}
	for i, a := range c.args[:max(0, len(c.args)-1)] { // options that the table of this program does not have
		switch a.text {
		case "-o", "-out", "--output":
			out = c.args[i+1].text
		case "-in":
			from = append(from, c.args[i+1].text)
		}
	}
	for _, a := range rest {
		from = append(from, a.text)
	}
	switch {
	case out != "" || len(rest) == 0:
	case packers[c.name]:
		out = rest[0].text
	case len(rest) > 1:
		out = rest[len(rest)-1].text
	}
	for _, p := range from {
		if p == out || p == "" {
			continue
		}
		to := out
		if suffix != "" && (out == "" || !converters[c.name]) {
			to = p + suffix
		}
		if to == "" || len(c.made) >= maxRan {
			continue
		}
		c.made = append(c.made, [2]string{p, to})
		if c.secretAt(p) {
			c.keepsIn(to)
		}
	}
}

// secretAt reports whether a path is of a place of secrets, or of a folder that is one.
func (c *invocation) secretAt(p string) bool {
	p = strings.TrimSuffix(p, "/")
	if f, ok := c.files.get(p); ok {
		return f.taint&fromSecret != 0
	}
	for _, name := range []string{"", "/credentials", "/config.json", "/x"} {
		if pl := placeOf(normalPath(p + name).text); p != "" && pl.read >= 0.3 && (name == "" || strings.HasPrefix(pl.reads, "secret.")) {
			return true
		}
	}
	return false
}

// namesSecrets judges that a command is given the name of a file of keys or passwords.
// Whatever the command is, it has the file then: of most it is known what they do with it,
// and that weighs more; of the others it is not.
func (c *invocation) namesSecrets() {
	if speakers[c.name] || c.name == "git" && len(c.args) > 0 && (c.args[0].text == "commit" || c.args[0].text == "tag" || c.args[0].text == "log" || c.args[0].text == "grep") {
		return
	}
	key, own := c.keyOf(), c.table.keys[c.name]
	for i, a := range c.args {
		option, _, joined := strings.Cut(a.text, "=")
		switch {
		case !strings.ContainsAny(a.text, "/~"), i == key,
			joined && listed(own, option), i > 0 && listed(own, c.args[i-1].text) && !strings.HasPrefix(a.text, "-"):
			continue
		}
		for _, word := range strings.FieldsFunc(a.text, func(r rune) bool { return strings.ContainsRune(" \t\n=:@,;|&<>'\"`(){}", r) }) {
			if pl := placeOf(normalPath(word).text); strings.HasPrefix(pl.reads, "secret.") && pl.read >= 0.6 {
				c.report("secret.read", 0.4, c.at)
				return
			}
		}
	}
}

// keyOf is which word is the key with which a copying program opens its connection, which
// is what a key is for; -1 for none. Before it may stand only what surely takes no word, or
// a number: else the key could be what is copied. rsync is told by -e how ssh is called,
// and only a call that does nothing else counts.
func (c *invocation) keyOf() int {
	for i := 0; i+1 < len(c.args); i++ {
		option, next := c.args[i].text, c.args[i+1].text
		switch {
		case c.name == "rsync":
			if (option == "--rsh" || len(option) > 1 && option[0] == '-' && option[1] != '-' && option[len(option)-1] == 'e') && plainSSH(next) {
				return i + 1
			}
		case c.name != "scp":
			return -1
		case option == "-i":
			return i + 1
		case (option == "-P" || option == "-l") && isDigits(next):
			i++
		case len(option) < 2 || option[0] != '-' || strings.Trim(option[1:], "rpqvCB346OTR") != "":
			return -1
		}
	}
	return -1
}

// plainSSH reports whether a text calls ssh with a key, a port and a user at most.
func plainSSH(text string) bool {
	words := strings.Fields(text)
	if len(words) == 0 || words[0] != "ssh" {
		return false
	}
	for i := 1; i < len(words); i++ {
		switch words[i] {
		case "-4", "-6", "-C", "-q", "-v":
		case "-i", "-l", "-p":
			i++
			if i == len(words) || strings.HasPrefix(words[i], "-") || strings.ContainsAny(words[i], "$`;|&<>()'\"\\") {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// ranFile judges that a file is run which the script itself brought there.
func (s *shell) ranFile(name string) {
	if _, written := s.files.get(name); !written && strings.ContainsAny(name, "/.") {
		s.ran(name)
	}
	if s.foreign != nil && strings.Contains(name, "/") && s.isForeign(name) {
		s.report("code.foreign", 0, s.at)
	}
	if f, ok := s.files.get(name); ok {
		s.ranCopy(name)
		s.runs(f, "")
	}
	if p := normalPath(name).text; strings.HasPrefix(name, "/") || strings.HasPrefix(name, "~") || strings.HasPrefix(name, "./") {
		hidden := strings.Contains(p, "/.") && (strings.HasPrefix(p, "/tmp/") || strings.HasPrefix(p, "/var/tmp/") || strings.HasPrefix(p, "/dev/shm/"))
		switch {
		case hidden || strings.HasPrefix(p, "/dev/shm/"):
			s.report("shell.hidden_place", 0.8, s.at)
		case strings.HasPrefix(p, "/tmp/") || strings.HasPrefix(p, "/var/tmp/"):
			s.report("shell.hidden_place", 0.5, s.at)
		}
	}
}

// ranHidden judges that a program is run whose name a listing leaves out. What a shell takes its
// settings from is often called so (. ./.env), and is no program.
func (s *shell) ranHidden(name string) {
	p := normalPath(name).text
	base := p[strings.LastIndexByte(p, '/')+1:]
	if (strings.HasPrefix(name, "/") || strings.HasPrefix(name, "~") || strings.HasPrefix(name, "./")) && strings.HasPrefix(base, ".") && len(base) > 1 {
		s.report("shell.hidden_place", 0.4, s.at)
	}
}

// ranCopy notes, of a copy that the call made and runs, what it is a copy of.
func (s *shell) ranCopy(name string) {
	for _, pair := range s.copies {
		if path.Clean(pair[1]) == path.Clean(name) {
			s.ran(pair[0])
		}
	}
}

// runs judges that a text is run. language is empty for a shell's.
func (s *shell) runs(f flow, language string) flow {
	s.dynamic = s.dynamic || f.taint&fromFile != 0 || !f.known
	switch {
	case f.taint&fromSocket != 0:
		s.report("shell.reverse_shell", 0, s.at)
	case f.taint&fromShelf != 0 && f.taint&fromDecoder == 0:
		s.report("code.foreign", 0, s.at)
	case f.taint&fromNet != 0:
		s.report("shell.download_run", 0, s.at)
	case f.taint&fromDecoder != 0:
		s.report("shell.encoded_run", 0, s.at)
	}
	if f.taint&tooLong != 0 {
		s.starve(s.at)
	}
	if !f.known {
		return flow{taint: f.taint &^ fromFile}
	}
	if strings.HasPrefix(f.text, "#!") {
		if l := languageOfFile("", f.text); l != "" && l != "sh" {
			language = l
		}
	}
	if language != "" && language != "sh" {
		return flow{taint: s.code(language, f.text, s.at, false)}
	}
	return s.inside(f.text)
}

// split sorts arguments into options and the rest. The table says which options take
// the next word. Options stay separate from what follows "--".
func (c *invocation) split() (options map[string]flow, rest []flow) {
	valued := c.table.options[c.name].takes
	options = map[string]flow{}
	for i := 0; i < len(c.args); i++ {
		a := c.args[i]
		switch {
		case a.text == "--":
			return options, append(rest, c.args[i+1:]...)
		case len(a.text) < 2 || a.text[0] != '-' && a.text[0] != '+':
			rest = append(rest, a)
		case strings.HasPrefix(a.text, "--"):
			name, value, has := strings.Cut(a.text, "=")
			v := flow{text: value, known: a.known, taint: a.taint}
			if !has && listed(valued, name) && i+1 < len(c.args) {
				i++
				v = c.args[i]
			}
			again(options, name, v)
		case listed(valued, a.text):
			v := flow{}
			if i+1 < len(c.args) {
				i++
				v = c.args[i]
			}
			again(options, a.text, v)
		default:
			options[a.text] = flow{}
			for k := 1; k < len(a.text); k++ {
				o := "-" + a.text[k:k+1]
				if listed(valued, o) {
					v := flow{text: a.text[k+1:], known: a.known, taint: a.taint}
					if v.text == "" && i+1 < len(c.args) {
						i++
						v = c.args[i]
					}
					again(options, o, v)
					break
				}
				options[o] = flow{}
			}
		}
	}
	return options, rest
}

// again adds an option; the values of one that is there already stand below
// each other.
func again(options map[string]flow, name string, v flow) {
	if old, ok := options[name]; ok && old.text != "" && len(old.text) < 16<<10 {
		v = flow{text: old.text + "\n" + v.text, known: old.known && v.known, taint: old.taint | v.taint}
	}
	options[name] = v
}

// has says whether one of the options is there.
func has(options map[string]flow, names ...string) bool {
	for _, n := range names {
		if _, ok := options[n]; ok {
			return true
		}
	}
	return false
}

// wrapper runs what a command wraps. done is false if it wraps nothing.
func (c *invocation) wrapper(o options) (out flow, done bool) {
	if c.name == "command" && len(c.args) > 1 && listed("-v -V -pv -vp", c.args[0].text) {
		return c.which(), true
	}
	skip := o.wraps
	i := 0
	code := ""
	for ; i < len(c.args); i++ {
		t := c.args[i].text
		if t == "--" {
			i++
			break
		}
		if len(t) > 1 && t[0] == '-' {
			name, value, has := strings.Cut(t, "=")
			if !has && listed(o.takes, t) && i+1 < len(c.args) {
				i++
				value = c.args[i].text
			} else if !has && t[1] != '-' && strings.HasSuffix(t, "c") && (t == "-c" || c.name == "script") && (c.name == "flock" || c.name == "script" || c.name == "runuser") && i+1 < len(c.args) {
				i++
				code = c.args[i].text
			}
			if c.name == "xargs" && (name == "-a" || name == "--arg-file") {
				c.in = c.readFile(flow{text: value, known: true})
			}
			if c.name == "env" && (name == "-S" || name == "--split-string") {
				code = value
			}
			continue
		}
		if eq := strings.IndexByte(t, '='); eq > 0 && (c.name == "env" || c.name == "sudo" || c.name == "doas") && isName(t[:eq]) {
			v := flow{text: t[eq+1:], known: c.args[i].known}
			c.variable(t[:eq], v)
			if was, set := c.vars[t[:eq]]; set {
				defer func() { c.vars[t[:eq]] = was }()
			} else {
				defer delete(c.vars, t[:eq])
			}
			c.vars[t[:eq]] = v
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		break
	}
	elevates := c.name == "sudo" || c.name == "doas" || c.name == "pkexec"
	if elevates && !c.elevated {
		c.elevated = true
		defer func() { c.elevated = false }()
		c.report("priv.sudo", 0, c.at)
	}
	if code != "" {
		return c.inside(code), true
	}
	if i >= len(c.args) {
		if elevates {
			for _, a := range c.args {
				if a.text == "-s" || a.text == "-i" {
					c.report("priv.shell", 0, c.at)
				}
			}
		}
		return c.in, c.name != "env" && c.name != "set" && c.name != "exec" && c.name != "busybox" && c.name != "script" && c.name != "expect"
	}
	args := c.args[i:]
	if c.name == "parallel" {
		if at := slices.IndexFunc(args, func(a flow) bool { return strings.HasPrefix(a.text, ":::") }); at > 0 {
			return c.inside(parallel(args[:at], args[at+1:])), true
		}
	}
	c.around = c.name
	if c.name == "xargs" || c.name == "parallel" {
		args = c.withInput(args)
	}
	return c.invoke(args, c.in, c.wrap+1), true
}

// parallel is the script that parallel makes of its words: a shell reads the command once more,
// with each of what stands behind :::.
func parallel(command, each []flow) string {
	var template, script strings.Builder
	for i, a := range command {
		if i > 0 {
			template.WriteByte(' ')
		}
		template.WriteString(a.text)
	}
	for i, a := range each {
		if i == 16 || strings.HasPrefix(a.text, ":::") {
			break
		}
		quoted := "'" + strings.ReplaceAll(a.text, "'", `'\''`) + "'"
		if t := template.String(); strings.Contains(t, "{}") {
			script.WriteString(strings.ReplaceAll(t, "{}", quoted) + "\n")
		} else {
			script.WriteString(t + " " + quoted + "\n")
		}
	}
	return script.String()
}

// withInput appends what xargs reads to its command.
func (c *invocation) withInput(args []flow) []flow {
	if c.in.text == "" && c.in.taint == 0 {
		return args
	}
	out := append([]flow{}, args...)
	if mark := c.placeholder(); mark != "" {
		if c.in.text == "" {
			c.in.text = "$in"
		}
		for i := range out {
			if strings.Contains(out[i].text, mark) && len(c.in.text) < 16<<10 {
				out[i].text = strings.ReplaceAll(out[i].text, mark, strings.TrimSpace(c.in.text))
				out[i].known = out[i].known && c.in.known
				out[i].taint |= c.in.taint
			}
		}
		return out
	}
	n := 0
	for f := range strings.FieldsSeq(c.in.text) {
		if n++; n > 64 {
			break
		}
		out = append(out, flow{text: f, known: c.in.known, taint: c.in.taint})
	}
	if n == 0 {
		out = append(out, flow{text: "$in", taint: c.in.taint})
	}
	return out
}

// placeholder is what xargs and parallel replace with what they read; empty if they append it.
func (c *invocation) placeholder() string {
	for i, a := range c.args {
		switch t := a.text; {
		case t == "-I" && i+1 < len(c.args):
			return c.args[i+1].text
		case strings.HasPrefix(t, "-I") && len(t) > 2:
			return t[2:]
		case t == "-i" || c.name == "parallel" && strings.Contains(t, "{}"):
			return "{}"
		case strings.HasPrefix(t, "--replace="):
			return t[len("--replace="):]
		}
	}
	return ""
}

// pythonOption reads a word of Python's options, several of which stand behind one dash. what is
// the last one of them, if it takes a value: that is rest, where the word goes on with it (own),
// and else the next word.
func pythonOption(t string) (what byte, rest string, own bool) {
	if strings.HasPrefix(t, "--") {
		if listed("--check-hash-based-pycs --profile --ipython-dir --config", t) {
			return 'X', "", false
		}
		return 0, "", false
	}
	for j := 1; j < len(t); j++ {
		if listed("c m W X Q", t[j:j+1]) {
			return t[j], t[j+1:], j+1 < len(t)
		}
	}
	return 0, "", false
}

// nodeValues are options of Node and its like whose value is the next word.
const nodeValues = "-C --conditions --env-file --env-file-if-exists --loader --experimental-loader --title --icu-data-dir --input-type --inspect-port --disable-warning --redirect-warnings --ext --config -c --lock --import-map --cert --location --seed --watch-path --openssl-config"

// onlyParses reports whether an interpreter is told to look whether a file can be read, and to run
// nothing.
func (c *invocation) onlyParses(i interpreter) bool {
	option := map[string]string{"js": "--check -c", "ruby": "-c", "php": "-l --syntax-check"}[i.language]
	if i.shell {
		option = "-n --no-execute"
	}
	for _, a := range c.args {
		switch {
		case listed(option, a.text) && option != "":
			return !slices.ContainsFunc(c.args, func(a flow) bool {
				return !a.known || strings.HasPrefix(a.text, "+") || listed("-r --require --import", a.text)
			})
		case !strings.HasPrefix(a.text, "-") || a.text == "-":
			return false
		}
	}
	return false
}

// interpret judges a call of an interpreter: text after an option, a file, or
// what comes in.
func (c *invocation) interpret(i interpreter) (out flow) {
	if c.onlyParses(i) {
		return flow{}
	}
	var code []flow
	var file *flow
	module := ""
	script := i.language == "awk" // its first word is the program
	interactive := false
	var words []flow  // that a script is given: $0 and on
	var printed taint // what lies in the files that a filter is given
	last := len(c.args)
scan:
	for k := 0; k < len(c.args); k++ {
		a := c.args[k]
		t := a.text
		switch {
		case i.language == "python" && len(t) > 1 && t[0] == '-':
			what, rest, own := pythonOption(t)
			if what != 0 && rest == "" && k+1 < len(c.args) {
				k++
				rest, own = c.args[k].text, false
			}
			switch what {
			case 'c':
				f := c.args[k]
				if own {
					f = flow{text: rest, known: a.known, taint: a.taint}
				}
				code, last = append(code, f), k
				break scan // what follows are the program's arguments
			case 'm':
				module, words = rest, c.args[k+1:]
				break scan
			}
		case listed(i.eval, t) && k+1 < len(c.args):
			k++
			for i.language == "js" && t == "eval" && k+1 < len(c.args) && strings.HasPrefix(c.args[k].text, "-") {
				k++ // deno eval -p CODE
			}
			code = append(code, c.args[k])
			if i.shell {
				words = c.args[k+1:]
				break scan
			}
		case i.shell && len(t) > 1 && t[0] == '-' && t[1] != '-' && strings.HasSuffix(t, "c") && k+1 < len(c.args):
			k++
			for k+1 < len(c.args) && strings.HasPrefix(c.args[k].text, "-") && len(c.args[k].text) < 4 {
				k++
			}
			code = append(code, c.args[k])
			words = c.args[k+1:]
			break scan
		case i.shell && (t == "-i" || t == "-li" || t == "-il" || t == "-pi"):
			interactive = true
		case i.shell && listed("-o -O +o +O", t):
			k++
		case i.shell && (t == "--rcfile" || t == "--init-file") && k+1 < len(c.args):
			k++
			c.ran(c.args[k].text)
			if f, ok := c.files.get(c.args[k].text); ok {
				c.runs(f, i.language)
			}
		case (i.language == "perl" || i.language == "ruby" || i.language == "php") && len(t) > 2 && t[0] == '-' && t[1] != '-' && strings.ContainsAny(t[1:], "eErR"):
			// -ne, -lane, -e'code', -rsocket
			cut := strings.IndexAny(t, "eE")
			if i.language == "php" {
				cut = strings.Index(t, "r")
			}
			if strings.HasPrefix(t, "-r") && i.language == "ruby" || strings.HasPrefix(t, "-M") || strings.HasPrefix(t, "-I") {
				code = append(code, flow{text: "require " + t[2:], known: true})
				continue
			}
			switch {
			case cut > 0 && cut+1 < len(t):
				code = append(code, flow{text: t[cut+1:], known: a.known, taint: a.taint})
			case cut > 0 && k+1 < len(c.args):
				k++
				code = append(code, c.args[k])
			}
		case t == "-pe" && i.language == "js" && k+1 < len(c.args):
			k++
			code = append(code, c.args[k])
		case i.language == "js" && listed(nodeValues, t) && k+1 < len(c.args):
			k++
		case len(t) > 2 && listed(i.eval, t[:2]) && t[1] != '-' && !i.shell:
			code = append(code, flow{text: t[2:], known: a.known, taint: a.taint})
		case strings.HasPrefix(t, "--") && strings.Contains(t, "=") && listed(i.eval, before(t, '=')):
			code = append(code, flow{text: t[strings.IndexByte(t, '=')+1:], known: a.known, taint: a.taint})
		case (c.name == "deno" || c.name == "bun") && file == nil && listed("run test x serve compile cache install", t):
			// a word before the file
		case i.language == "vim" && strings.HasPrefix(t, "+"):
			code = append(code, flow{text: t[1:], known: a.known})
		case i.language == "awk" && (t == "-f" || t == "-F" || t == "-v") && k+1 < len(c.args):
			k++
			if t == "-f" {
				script = false
			}
		case (t == "--import" || t == "--require" || t == "-r" || strings.HasPrefix(t, "--import=")) && i.language == "js" && k+1 <= len(c.args):
			v := strings.TrimPrefix(t, "--import=")
			if v == t && k+1 < len(c.args) {
				k++
				v = c.args[k].text
			}
			if strings.HasPrefix(v, "data:") {
				_, program, _ := strings.Cut(v, ",")
				code = append(code, flow{text: program, known: true})
			} else if content, ok := c.files.get(v); ok {
				c.runs(content, "js")
			}
		case t == "-" && i.shell && k+1 < len(c.args):
			file = &c.args[k+1] // no more options
			break scan
		case t == "/dev/stdin":
			file = nil
		case t == "-" || i.shell && readsInput(t): // what follows are the script's arguments
			file = nil
			break scan
		case len(t) > 1 && (t[0] == '-' || t[0] == '+' && i.shell):
		default:
			if script {
				code, script = append(code, a), false
				continue
			}
			if file == nil {
				file = &c.args[k]
			}
			if i.language != "awk" && i.language != "vim" {
				break scan
			}
			printed |= c.readFile(a).taint
		}
	}
	c.editsInPlace(i)
	if i.language == "vim" {
		defer func() { out.taint |= printed }()
	}
	if module != "" {
		c.module(module)
		c.moduleTakes(module, words)
		c.asProgram(module, words)
		return flow{}
	}
	if len(code) > 0 {
		out := flow{taint: c.in.taint | printed | c.filters(i, code)}
		joined := flow{known: true}
		for _, f := range code {
			f.text += "\n"
			joined = both(joined, f)
		}
		if i.language == "awk" {
			c.awkRuns(joined.text)
			switch {
			case awkNames.MatchString(joined.text) && slices.ContainsFunc(c.args, func(a flow) bool {
				return strings.HasPrefix(a.text, "-F") && strings.Contains(a.text, "=") || a.text == "="
			}):
				out = namesOnly(out)
			case awkPicks.MatchString(joined.text):
				out = chosen(out, joined.text)
			}
		}
		c.dynamic = c.dynamic || !joined.known
		if !joined.known && len(strings.Trim(joined.text, "$(){}\n ")) < 4 {
			c.report("shell.dynamic_run", 0, c.at)
		}
		joined.known = true
		if i.shell && len(words) > 0 {
			defer c.given(words)()
		}
		given := []flow{{text: "-c", known: true}}
		if i.language == "js" {
			given, last = nil, lastOf(c.args, code)
		}
		defer c.supplied(append(given, c.args[min(last+1, len(c.args)):]...), c.in)()
		r := c.runs(joined, i.language)
		out.taint |= r.taint
		if i.shell {
			out.text, out.known = r.text, r.known
			if obviousShell(joined.text) {
				out.taint |= fromShell
			}
		}
		return out
	}
	if file != nil && i.language != "awk" && i.language != "vim" && i.language != "gdb" {
		f := *file
		// Which file it is, or what comes over the one that it names, is read when it runs.
		c.dynamic = c.dynamic || !f.known || strings.HasPrefix(f.text, "/dev/fd/") || strings.HasPrefix(f.text, "/proc/")
		for k := range c.args {
			if &c.args[k] == file {
				c.asProgram(f.text, c.args[k+1:])
			}
		}
		if f.taint&(fromNet|fromDecoder|fromSocket) != 0 && !f.known {
			c.runs(flow{taint: f.taint}, i.language)
		}
		for k := range c.args {
			if &c.args[k] == file {
				defer c.supplied(c.args[k:], c.in)()
			}
		}
		content, ok := c.files.get(f.text)
		if i.language == "python" && !ok {
			content, ok = c.files.get(f.text + "/__main__.py")
		}
		if ok {
			c.ranCopy(f.text)
			if i.shell && (strings.HasPrefix(f.text, "/tmp/") || strings.HasPrefix(f.text, "/var/tmp/") || strings.HasPrefix(f.text, "/dev/shm/")) && content.known {
				c.report("shell.staged_run", 0, c.at)
			}
			return c.runs(content, i.language)
		}
		c.ranFile(f.text)
		c.ranHidden(f.text)
		if !strings.ContainsAny(f.text, "/.") {
			c.ran(f.text)
		}
		if !strings.Contains(f.text, ".") && i.language == "python" {
			c.ran(f.text + "/__main__.py")
		}
		c.attackTool(f.text)
		if isURL(f.text) {
			c.report("shell.download_run", 0, c.at)
		}
		return flow{}
	}
	// It runs what comes in.
	c.dynamic = c.dynamic || !c.in.known && (c.fed || c.in.taint&fromFile != 0)
	if c.in.taint&tooLong != 0 && !c.in.known {
		c.starve(c.at)
	}
	for k, a := range c.args {
		if a.text == "-" {
			defer c.supplied(c.args[k:], flow{})()
			break
		}
	}
	switch {
	case c.in.known && c.in.text != "":
		return c.runs(c.in, i.language)
	case c.in.taint&(fromSocket|fromNet|fromDecoder) != 0:
		out := c.runs(c.in, i.language)
		out.taint |= fromShell
		return out
	case c.in.taint&fromFile != 0 && !c.fifo, c.in.text != "":
		for _, name := range c.readFrom {
			c.ran(name)
		}
		c.report("shell.dynamic_run", 0, c.at)
	}
	if i.shell || interactive {
		if c.wrap > 0 && escapeWrappers[c.around] && c.in.text == "" && c.in.taint == 0 {
			c.report("shell.escape", 0.8, c.at)
		}
		return flow{taint: fromShell}
	}
	return flow{}
}

// supplied tells what a program is given besides its code, until the function is called that it
// returns.
func (c *invocation) supplied(words []flow, input flow) func() {
	before := c.supply
	c.supply = &supply{words: words, input: input, vars: c.vars}
	return func() { c.supply = before }
}

// lastOf is where the last of the words stands that are code.
func lastOf(args, code []flow) int {
	for k := len(args) - 1; k >= 0; k-- {
		if args[k].text == code[len(code)-1].text {
			return k
		}
	}
	return len(args)
}

// awkRuns judges that awk runs what it reads: the lines that come in, or those of a command.
func (c *invocation) awkRuns(code string) {
	squeezed := strings.ReplaceAll(code, " ", "")
	if !strings.Contains(squeezed, "system(") && !strings.Contains(squeezed, `|"sh`) && !strings.Contains(squeezed, `|"bash`) && !strings.Contains(squeezed, `|"/bin/`) {
		return
	}
	if c.in.taint&(fromNet|fromSocket) != 0 || strings.Contains(code, "getline") && (strings.Contains(code, "curl ") || strings.Contains(code, "wget ")) {
		c.report("shell.download_run", 0, c.at)
	}
	if c.in.known && strings.Contains(squeezed, "system($0)") {
		c.inside(c.in.text)
	}
}

// asProgram judges what a script or a module is told to do, by what is known of programs of
// its name, and by its words.
func (c *invocation) asProgram(name string, args []flow) {
	p := *c
	p.name, p.args = baseName(name), args
	p.uses()
	p.takesAway()
	p.givenCode()
	if _, implies := unasked[p.name]; implies {
		p.runsImplied()
	}
}

// moduleTakes judges what a module of Python runs: itself, if the call wrote it; the texts that
// it is given; the script that it is given.
func (c *invocation) moduleTakes(name string, words []flow) {
	defer c.supplied(append([]flow{{text: name, known: true}}, words...), c.in)()
	c.runsModule(name)
	for i, w := range words {
		option := ""
		if i > 0 {
			option = words[i-1].text
		}
		switch {
		case name == "timeit" && (option == "-s" || option == "--setup" || !strings.HasPrefix(w.text, "-") && !listed("-n -r -u --number --repeat --unit", option)):
			c.runs(w, "python")
		case name == "pdb" && (option == "-c" || option == "--command"):
			c.runs(flow{text: strings.TrimLeft(w.text, "!"), known: w.known, taint: w.taint}, "python")
		case name == "zipapp" && listed("-o --output", option) && i > 1:
			if f, ok := c.files.get(words[i-2].text + "/__main__.py"); ok {
				c.files.put(w.text, f)
			}
		case strings.HasSuffix(w.text, ".py") && !strings.HasPrefix(w.text, "-"):
			if f, ok := c.files.get(w.text); ok {
				c.runs(f, "python")
			} else {
				c.ran(w.text)
			}
		}
	}
}

// readsInput says whether an option tells a shell to read its script from its input.
func readsInput(option string) bool {
	return len(option) > 1 && option[0] == '-' && strings.Contains(option, "s") && strings.Trim(option[1:], "abefhiklmnprstuvxBCEHPT") == ""
}

// escapeWrappers are programs that nobody needs to start a shell, but who may run
// nothing else.
var escapeWrappers = set("taskset timeout gtimeout nice ionice strace ltrace flock stdbuf setarch chrt time setsid xargs script expect start-stop-daemon rlwrap unbuffer catchsegv logsave")

// obviousShell says whether a command does nothing but start a shell.
func obviousShell(text string) bool {
	f := strings.Fields(text)
	for len(f) > 0 && (f[0] == "exec" || f[0] == "sudo") {
		f = f[1:]
	}
	return len(f) > 0 && len(f) <= 2 && interpreters[baseName(f[0])].shell
}

// module judges python -m.
func (c *invocation) module(name string) {
	switch name {
	case "http.server", "SimpleHTTPServer", "pyftpdlib", "uploadserver":
		c.report("shell.listener", 0.35, c.at)
	}
}

// ordinary is a command that is not known otherwise: of its arguments, the
// sensitive places count, and the words that are addresses.
func (c *invocation) ordinary() flow {
	out := flow{taint: c.in.taint &^ fromShell}
	if c.in.known && readers[c.name] {
		out = c.in
	}
	quiet := harmless[c.name]
	c.shellFor()
	if strings.HasPrefix(c.path, "$") && len(c.args) > 1 && c.args[0].text == "-c" {
		// An interpreter whose name is found out: $(which python) -c code
		if lang := languageOf("", c.args[1].text); strings.Contains(c.args[1].text, "import ") {
			return flow{taint: c.code(lang, c.args[1].text, c.at, false)}
		}
		return c.inside(c.args[1].text)
	}
	for _, a := range c.args {
		t := a.text
		if len(t) > 1 && t[0] == '-' {
			if _, v, ok := strings.Cut(t, "="); ok {
				t = v
			} else {
				continue
			}
		}
		out.taint |= a.taint
		if quiet {
			continue
		}
		if isURL(t) {
			c.host(t, c.at)
			continue
		}
		if !readers[c.name] && spawnsShell(t) {
			c.report("shell.escape", 0, c.at)
		}
		if (t == "-" || t == "/dev/stdin") && compilers[c.name] && c.in.known {
			c.code(languageOf("", c.in.text), c.in.text, c.at, false)
			continue
		}
		if content, ok := c.files.get(t); ok && content.known && compilers[c.name] {
			c.code(languageOfFile(t, content.text), content.text, c.at, false)
			continue
		}
		if strings.ContainsAny(t, "/~.") || placeOf(t).name != "" {
			f := c.readFile(flow{text: t, known: a.known})
			if readers[c.name] {
				out = both(flow{text: out.text, known: false, taint: out.taint}, f)
			} else {
				out.taint |= f.taint &^ fromFile
			}
		}
	}
	if quiet {
		out.taint &^= fromShell
	}
	return out
}

// spawnsShell says whether an argument orders a program to start a shell, in
// whatever language the program has for that.
func spawnsShell(t string) bool {
	if rest, ok := strings.CutPrefix(t, "SHELL="); ok && interpreters[baseName(rest)].shell {
		return false // which shell make or tmux uses
	}
	i := strings.Index(t, "/bin/sh")
	if i < 0 {
		if i = strings.Index(t, "/bin/bash"); i < 0 {
			return strings.HasPrefix(t, "!sh") || strings.HasPrefix(t, "!bash")
		}
	}
	lead := strings.ToLower(t[max(0, i-24):i])
	for _, word := range []string{"!", "exec", "spawn", "system", "execute", "shell"} {
		if strings.Contains(lead, word) {
			// What else it is given would be the shell's work.
			rest := strings.TrimLeft(t[i:], "/binash")
			return !strings.HasPrefix(rest, " -c") && !strings.HasPrefix(rest, " /")
		}
	}
	return false
}

// compilers run, or make a program of, the files they are given.
var compilers = set("go v gcc cc clang g++ rustc javac java kotlinc scala dart crystal nim zig tcc ghc runghc runhaskell swift swiftc mcs csc mono dotnet cargo")

// shellFor judges a program that is not known, but is given a shell and an
// address: whatever it is, it ties them together.
func (c *invocation) shellFor() {
	shell, address, port := false, false, false
	for _, a := range c.args {
		switch {
		case strings.HasPrefix(a.text, "/") && obviousShell(a.text) || a.text == "bash -i" || a.text == "sh -i":
			shell = true
		case isDigits(a.text) && len(a.text) <= 5:
			port = true
		case strings.Contains(a.text, ".") && !strings.ContainsAny(a.text, "/ =") && hostOf(a.text).name != "":
			address = true
			port = port || strings.Contains(a.text, ":")
		}
	}
	if shell && address && port {
		s := c.shell
		s.report("shell.reverse_shell", 0.9, s.at)
	}
}

// readFile judges that a file is read, and returns its content.
func (s *shell) readFile(w flow) flow {
	p := s.through(strings.TrimPrefix(w.text, "@"), true)
	s.mentions(p)
	s.watchedFile(p, false, flow{})
	if p == "" || strings.HasPrefix(p, "-") {
		return flow{taint: w.taint}
	}
	if f, ok := s.files.get(p); ok {
		return f
	}
	if p == "/dev/null" {
		return flow{known: true, taint: w.taint}
	}
	if len(s.readFrom) < maxRan {
		s.readFrom = append(s.readFrom, p)
	}
	if g := globbedPath(p); g != "" {
		s.report("shell.obfuscated", 0.6, s.at)
		p = g
	}
	for _, q := range []string{s.from(p), globbedKeys(p), globbedKeys(s.from(p))} {
		if pl := placeOf(normalPath(q).text); q != "" && strings.HasPrefix(pl.reads, "secret.") {
			p = q // named from where cd led, or by a pattern
			break
		}
	}
	f := normalPath(p)
	pl := placeOf(f.text)
	out := flow{taint: fromFile | w.taint}
	if pl.name != "" && pl.reads != "" {
		s.report(pl.reads, pl.read, s.at)
		if pl.read >= 0.3 {
			out.taint |= fromSecret | fromPlace
		}
		if strings.HasPrefix(pl.reads, "secret.") && pl.read >= 0.6 {
			out.taint |= fromKeys
		}
	}
	if f.turns > 0 && pl.read >= 0.3 && f.climbs > 1 {
		s.report("path.traversal", 0.85, s.at)
	}
	if f.encoded {
		s.report("path.encoded", 0, s.at)
	}
	switch f.text {
	case "/dev/zero", "/dev/urandom", "/dev/random":
		out.taint |= fromVoid
	case "/", "/etc", "/var", "/etc/*", "/*", "/root":
		out.taint |= fromSystem
	}
	return out
}

// writeFile judges that a file is written, and remembers it.
func (s *shell) writeFile(w flow, content flow, appends bool) {
	p := s.through(w.text, true)
	if p == "" {
		return
	}
	if strings.HasSuffix(p, "/*") && s.wide(p) {
		s.report("destroy.system", 0, s.at) // everything there is emptied
	}
	if taker, ok := s.takers[p]; ok {
		delete(s.takers, p)
		s.statements(taker, content)
		return
	}
	seen := content
	seen.known = seen.known && !appends
	if n := len(s.readFrom); n > 0 && !content.known && content.taint&fromFile != 0 && len(s.copies) < maxRan {
		s.copies = append(s.copies, [2]string{s.readFrom[n-1], p})
	}
	if content.taint&fromSecret != 0 {
		s.keepsIn(p)
	}
	s.watchedFile(p, true, seen)
	s.wrote(p, content, appends)
}

// wrote judges that a file is written, by where it lies and by what comes into it.
func (s *shell) wrote(p string, content flow, appends bool) {
	added := content
	if appends {
		before, ok := s.files.get(p)
		if content = both(before, content); !ok {
			content.known = content.text != ""
		}
	}
	s.files.put(p, content)
	s.asksNobody(p, content.text, s.at)
	s.answersAt(p, added)
	s.settings(p, content.text, s.at)
	if rest, ok := strings.CutPrefix(p, "/proc/"); ok {
		if which, _, below := strings.Cut(rest, "/"); below && strings.ContainsAny(which, "*?[") {
			s.report("destroy.system", 0, s.at) // what all processes have open, or hold
		}
	}
	from := p
	if q := s.from(p); q != "" {
		from = q // as seen from where cd led
	}
	f := normalPath(from)
	pl := placeOf(f.text)
	if s.shadows(f.text) && !s.same {
		s.report("code.library_hijack", 0.6, s.at)
	}
	if pl.name == "" || pl.writes == "" || pl.write == 0 {
		if f.turns > 0 && f.climbs > 3 {
			s.report("path.climb", 0.4, s.at)
		}
		switch {
		case strings.HasPrefix(f.text, "/usr/local/"):
			s.report("destroy.config", 0.3, s.at)
		case strings.HasPrefix(f.text, "/etc/"), strings.HasPrefix(f.text, "/usr/"), strings.HasPrefix(f.text, "/sys/"):
			s.report("destroy.config", 0.45, s.at)
		}
		temporary := strings.HasPrefix(f.text, "/tmp/") || strings.HasPrefix(f.text, "/var/tmp/") || strings.HasPrefix(f.text, "/dev/shm/")
		if temporary && strings.Contains(f.text, "/.") {
			s.report("shell.hidden_place", 0.8, s.at)
		}
		if strings.Contains(content.text, "ExecStart=") {
			w := 0.6
			if temporary {
				w = 0.82
			}
			s.report("persist.write", w, s.at)
		}
		if content.known && languageOfFile(f.text, content.text) == "php" {
			s.code("php", content.text, s.at, true)
		}
		return
	}
	code, weight := pl.writes, pl.write
	if code == "persist.startup" && strings.HasPrefix(f.text, "~") {
		weight = 0.6
		if content.known {
			weight = 0.82
		}
	}
	if code == "persist.startup" && content.known && strings.HasPrefix(f.text, "~") && s.startsNothing(content.text) {
		code, weight = "persist.profile", 0
	}
	if strings.HasSuffix(pl.name, "/.ssh/known_hosts") || strings.HasSuffix(f.text, "/.ssh/config") {
		if low := strings.ToLower(content.text); strings.Contains(low, "proxycommand") || strings.Contains(low, "localcommand") || strings.Contains(low, "exec ") {
			code, weight = "persist.startup", 0.6
		}
	}
	if code == "log.clear" && appends {
		weight = min(weight, 0.4)
		if strings.Contains(pl.name, "wtmp") || strings.Contains(pl.name, "audit") {
			weight = 0.7
		}
	}
	if code == "log.history" && appends && content.text != "" {
		weight = 0.4
	}
	if code == "destroy.format" && (added.taint == 0 && added.known && (added.text != "" || !appends) || added.taint&fromVoid != 0) {
		code, weight = "destroy.disk", 0
	}
	s.dynamic = s.dynamic || isGitHook(f.text) && !content.known // what is put there runs by itself
	s.report(code, weight, s.at)
	if (weight >= 0.6 || isGitHook(f.text)) && content.known && content.text != "" {
		lang := languageOfFile(f.text, content.text)
		if lang == "" || lang == "sh" {
			t := content.text
			if isCrontab(f.text) {
				t = cronCommands(t)
			}
			s.kept(0.97, 0.75, func() { s.inside(t) })
		}
	}
	switch {
	case content.taint&fromNet == 0:
	case code == "persist.hook" && !isGitHook(f.text): // an editor's plug-in, as their manuals say to install it
		s.report("code.foreign", 0, s.at)
	default:
		s.report("shell.download_run", 0.85, s.at)
	}
}

// shadows says whether a file would be run in the place of a program that is known.
func (s *shell) shadows(p string) bool {
	for _, dir := range []string{"~/.local/bin/", "~/bin/", "/usr/local/bin/"} {
		if name, ok := strings.CutPrefix(p, dir); ok && (listed("sudo su ssh git ls cat sh bash python python3 node npm gpg curl passwd kubectl docker login", name)) {
			return true
		}
	}
	return false
}

func isCrontab(p string) bool {
	return strings.Contains(p, "cron") && (strings.HasPrefix(p, "/etc/cron") || strings.HasPrefix(p, "/var/spool/cron")) || strings.HasSuffix(p, "crontab")
}

// cronCommands leaves of a crontab what its lines run.
func cronCommands(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		n := 0
		for n < len(f) && n < 5 && strings.Trim(f[n], "0123456789*/,-") == "" {
			n++
		}
		switch {
		case len(f) > 0 && strings.HasPrefix(f[0], "@"):
			n = 1
		case n == 5:
		default:
			out.WriteString(line)
			continue
		}
		rest := f[min(n, len(f)):]
		if len(rest) > 1 && (rest[0] == "root" || rest[0] == "www-data" || rest[0] == "nobody") {
			rest = rest[1:]
		}
		out.WriteString(strings.Join(rest, " ") + "\n")
	}
	return out.String()
}

// variable judges that a variable is set.
func (s *shell) variable(name string, v flow) {
	if s.watch != nil && s.watch.Variable != nil {
		s.watch.Variable(name, v.text)
	}
	s.runsVariable(name, v)
	s.reachedBy(name, v.text)
	switch name {
	case "HISTFILE":
		if v.text == "/dev/null" || v.text == "" {
			s.report("log.history", 0, s.at)
		}
	case "HISTSIZE", "HISTFILESIZE":
		if v.text == "0" {
			s.report("log.history", 0, s.at)
		}
	case "HISTCONTROL", "HISTIGNORE":
		if strings.Contains(v.text, "ignorespace") || strings.Contains(v.text, "ignoreboth") || v.text == "*" {
			s.report("log.history", 0.8, s.at)
		}
	case "LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES":
		if v.text != "" && !strings.HasPrefix(v.text, "/usr/lib") && !strings.Contains(v.text, "libfaketime") {
			s.report("code.library_hijack", 0.8, s.at)
		}
	case "LD_LIBRARY_PATH", "PYTHONPATH", "PERL5LIB":
		if strings.HasPrefix(v.text, "/tmp") || strings.HasPrefix(v.text, "/dev/shm") {
			s.report("code.library_hijack", 0.6, s.at)
		}
	case "LUA_INIT", "LUA_INIT_5_3", "LUA_INIT_5_4":
		s.code("lua", v.text, s.at, false)
	case "VIMINIT", "EXINIT", "GVIMINIT", "MYVIMRC":
		s.editorCommands(v.text, s.at)
	case "PROMPT_COMMAND":
		w := 0.45
		for _, sink := range []string{"logger", "curl", "nc ", "/dev/tcp", "wget", "tee "} {
			if strings.Contains(v.text, sink) {
				w = 0.85
			}
		}
		s.report("secret.capture", w, s.at)
	case "BASH_ENV", "ENV", "PYTHONSTARTUP", "NODE_OPTIONS", "npm_config_node_options", "NPM_CONFIG_NODE_OPTIONS", "RUBYOPT", "PERL5OPT", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "MAVEN_OPTS", "GRADLE_OPTS", "SBT_OPTS", "PYTHONHOME", "ZDOTDIR", "GIT_CONFIG_GLOBAL", "GCONV_PATH":
		s.obeys(v.text)
		for word := range strings.FieldsFuncSeq(v.text, func(r rune) bool { return r == ' ' || r == '=' || r == ':' }) {
			if f, ok := s.files.get(word); ok {
				s.runs(f, "")
			}
			if temporary(normalPath(word).text) {
				s.report("code.library_hijack", 0.6, s.at)
			}
		}
		if name == "BASH_ENV" || name == "ENV" || name == "PYTHONSTARTUP" {
			s.report("persist.hook", 0.45, s.at)
		}
	case "PATH":
		if strings.HasPrefix(v.text, "/tmp") || strings.HasPrefix(v.text, ".:") {
			s.report("code.library_hijack", 0.6, s.at)
		}
	}
}

// optionVariables hold options that a program takes as if they were among its words.
var optionVariables = map[string]string{
	"terraform": "TF_CLI_ARGS", "tofu": "TF_CLI_ARGS", "tar": "TAR_OPTIONS", "gtar": "TAR_OPTIONS", "make": "MAKEFLAGS", "gmake": "MAKEFLAGS", "pytest": "PYTEST_ADDOPTS", "mvn": "MAVEN_ARGS",
	"rsync": "RSYNC_OPTIONS", "zip": "ZIPOPT", "unzip": "UNZIP", "grep": "GREP_OPTIONS", "less": "LESS", "man": "MANOPT", "fzf": "FZF_DEFAULT_OPTS", "go": "GOFLAGS", "dotnet": "DOTNET_CLI_ARGS", "helm": "HELM_OPTS", "rclone": "RCLONE_ARGS",
}

// withOptions are a program's words with those that a variable gives it.
func (s *shell) withOptions(program string, args []flow) []flow {
	name, ok := optionVariables[program]
	if !ok {
		return args
	}
	for variable, v := range s.vars {
		if variable != name && !strings.HasPrefix(variable, name+"_") || !v.known {
			continue
		}
		for _, word := range looseWords(v.text, 64) {
			args = append(args[:len(args):len(args)], flow{text: word, known: true, taint: v.taint})
		}
	}
	return args
}

// temporary says whether a file lies where everybody may put one.
func temporary(p string) bool {
	return strings.HasPrefix(p, "/tmp/") || strings.HasPrefix(p, "/var/tmp/") || strings.HasPrefix(p, "/dev/shm/")
}

// secretName says whether a variable's name says that it holds a secret.
func secretName(name string) bool {
	up := strings.ToUpper(name)
	for _, w := range []string{"PASSWORD", "PASSWD", "SECRET", "TOKEN", "API_KEY", "APIKEY", "ACCESS_KEY", "PRIVATE_KEY", "CREDENTIAL"} {
		if strings.Contains(up, w) {
			return true
		}
	}
	return false
}

// sends judges that a text goes to a host: also one of which only this is known, that it lies
// in files, or that some program made it. Which host it is matters more than that.
func (s *shell) sends(f flow, at span) {
	s.sent(f, at)
	if f.taint&fromFile != 0 || !f.known && s.fed {
		s.report("exfil.upload", passing, at)
	}
}

// passing is how much it weighs that something is sent: it is what these programs are for.
const passing = 0.15

// sent judges that a text leaves the machine.
func (s *shell) sent(f flow, at span) {
	switch {
	case f.taint&fromSecret != 0:
		s.report("exfil.secret", 0, at)
	case f.taint&fromSystem != 0:
		s.report("exfil.bulk", 0, at)
	case f.taint&fromStore != 0 && s.bare:
		s.report("exfil.bulk", 0.5, at)
	case f.taint&fromHost != 0:
		s.report("exfil.upload", 0.6, at)
	}
}
