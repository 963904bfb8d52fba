package hazard

import (
	"fmt"
	"strings"
	"sync"
)

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
	// away is the machine or the container on which it has something run; empty where that may be this one.
	away string
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
	for _, a := range args {
		s.words -= 1 + len(a.text)/longWord
	}
	if s.words < 0 { // which nobody writes, and each is looked at in many ways
		floor := s.floor
		s.floor = 0
		s.starve(s.at)
		s.floor = floor
		return flow{}
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
	args = s.typedIn(s.followed(s.withOptions(baseName(name), args)))
	c := &invocation{shell: s, name: baseName(name), path: name, args: args[1:], in: in, wrap: wrap}
	c.replaces()
	if !c.runsVendors() { // else it is no longer the vendor's text alone
		in, c.in = in.fetched(), c.in.fetched()
		for i := range args {
			args[i] = args[i].fetched()
		}
	}
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
	unseen := s.unseen
	defer func() { s.unseen = unseen }()
	for _, a := range args {
		s.mentions(a.text)
		s.unseen |= a.taint & byCode
	}
	if args[0].taint&fromFile != 0 || !args[0].known && strings.HasPrefix(name, "$(") {
		s.dynamic = true // what it runs stands in a file
	}
	s.namedByProgram(args, wrap)
	defer c.entersOther()()
	s.watched(args, in)
	c.takesNames()
	c.servesBySettings()
	defer c.runsOn()()
	before, aside, bare, toOwn, near, within := s.rehearsed, s.aside, s.bare, s.toOwn, s.near, s.within
	if c.tunnels() {
		s.tunnelled = true
		c.leadsElsewhere()
	}
	s.lingers = s.lingers || c.waits()
	s.rehearsed, s.aside, s.bare, s.toOwn, s.near, s.within = c.rehearses(), c.standsAside(), false, c.tellsItsOwn(), c.tellsNear(), c.staysWithin()
	defer func() {
		s.rehearsed, s.aside, s.bare, s.toOwn, s.near, s.within = before, aside, bare, toOwn, near, within
	}()
	defer s.reads(in)()
	prints := c.uses()
	c.trustsModel()
	c.fetchesProgram()
	c.carries()
	c.removesSystem()
	c.takesAway()
	c.strange()
	c.changesProduction()
	c.changesStore()
	c.attacksOthers()
	c.namesSecrets()
	c.runsWords()
	ran := c.runsElsewhere()
	c.unchecks()
	c.answers()
	c.chooses()
	c.wrapsCompiler()
	c.runsInWords()
	c.sets()
	c.setsForLater()
	c.setsInFish()
	c.runsFetched()
	c.orders()
	c.makes()
	c.doesLines()
	c.doesFiles()
	c.isLookedFor()
	c.ranItself()
	s.ranHidden(name)
	c.addressed()
	c.reaches()
	c.leaks()
	if prints&fromNet != 0 { // what it brings lies here once it has run, and what it sent lay here before
		c.fetched()
	}
	out := c.printed(c.does())
	s.moved = s.moved || !c.keepsBranch()
	c.links()
	if !showing[c.name] { // what takes it does not show it
		given := in.taint
		for _, a := range args {
			given |= a.taint
		}
		if out.taint &^= given & fromKeeper; !readers[c.name] {
			out.taint &^= given & recoded
		}
	}
	out.taint |= ran&comesBack | c.readsAlong()
	if prints != 0 {
		out = flow{taint: out.taint | prints}
	}
	return out
}

// showing are programs that print what comes in, or a part of it.
var showing = set("cat tee head tail less more jq yq grep egrep rg sed awk gawk cut tr sort uniq base64 xxd od rev fold nl column paste echo printf xargs sh bash zsh dash python ruby perl node sudo env time command strings bat tac hexdump openssl")

// does judges what code has to read of a command: what it runs, reads, writes and sends.
func (c *invocation) does() flow {
	if listed("puppet chef-apply salt-call", c.name) {
		for _, arg := range c.args {
			c.takesAwayIn(arg.text, c.at)
		}
	}
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
	c.carriesInto()
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

// runs judges that a text is run. language is empty for a shell's.
func (s *shell) runs(f flow, language string) flow {
	s.dynamic = s.dynamic || f.taint&fromFile != 0 || !f.known
	defer s.runsPrinted(f, language)()
	switch {
	case f.taint&fromSocket != 0:
		s.report("shell.reverse_shell", 0, s.at)
	case f.taint&fromShelf != 0 && f.taint&fromDecoder == 0:
		s.reportSaying("code.foreign", 0, s.at, s.runsUnseen())
	case f.taint&fromNet != 0:
		s.report("shell.download_run", 0, s.at)
	case f.taint&fromDecoder != 0:
		s.report("shell.encoded_run", 0, s.at)
	case f.taint&fromVendor != 0:
		s.reportSaying("code.foreign", 0.5, s.at, s.runsUnseen())
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

// runsUnseen says that what was downloaded is run as it came, and from where that was.
func (s *shell) runsUnseen() string {
	if s.fetchedLast == "" {
		return ""
	}
	return fmt.Sprintf("What lies at %.100q is fetched and run, and nobody here has looked at it.", s.fetchedLast)
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
	for i, a := range c.args {
		t := a.text
		if len(t) > 1 && t[0] == '-' {
			if _, v, ok := strings.Cut(t, "="); ok {
				t = v
			} else {
				continue
			}
		}
		out.taint |= a.taint
		if quiet || c.isOwnKey(i) || c.optionOf(i) == "--env-file" { // which its program is for, and prints as little as any other of its settings
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
		if content, ok := c.getFile(t); ok && content.known && compilers[c.name] {
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
	if c.recodes() {
		out.taint |= inOtherForm(out.taint)
	}
	return out
}

// compilers run, or make a program of, the files they are given.
var compilers = set("go v gcc cc clang g++ rustc javac java kotlinc scala dart crystal nim zig tcc ghc runghc runhaskell swift swiftc mcs csc mono dotnet cargo")
