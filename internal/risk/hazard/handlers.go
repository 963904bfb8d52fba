package hazard

import (
	"maps"
	"path"
	"slices"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/risk/hazard/effects"
)

// handlers are the commands of which the effect depends on more than a word.
var handlers map[string]func(*invocation) flow

func init() {
	handlers = map[string]func(*invocation) flow{}
	for names, f := range map[string]func(*invocation) flow{
		"cd pushd chdir":     (*invocation).changeDir,
		"ls dir lsd exa eza": (*invocation).lists,
		"trash trash-put gio rimraf del-cli del-cli@latest rimraf@latest": (*invocation).trash,
		"chown chgrp": (*invocation).owners,
		"echo print":  (*invocation).echo,
		"printf":      (*invocation).printf,
		"cat tac less more head tail nl tee bat sponge": (*invocation).cat,
		"base64 base32 b64decode b64encode gbase64 basenc uudecode xxd rev tr openssl gpg gunzip zcat gzip bzip2 bzcat xz xzcat zstd unxz uncompress hexdump od": (*invocation).decode,
		"eval":     (*invocation).eval,
		"source .": (*invocation).source,
		"curl curlie wget fetch http https xh xhs aria2c axel lynx links w3m GET POST get post lwp-request lwp-download httpie": (*invocation).download,
		"nc ncat netcat nc.traditional nc.openbsd rcat rustcat pwncat cryptcat sbd powercat telnet socat ztcp":                  (*invocation).connect,
		"rm rmdir unlink srm": (*invocation).remove,
		"shred wipe scrub":    (*invocation).shred,
		"dd":                  (*invocation).dd,
		"cp mv install ln rsync scp sftp ftp tftp lftp rclone gcp smbclient": (*invocation).copy,
		"chmod":                        (*invocation).chmod,
		"find fd fdfind":               (*invocation).find,
		"su":                           (*invocation).su,
		"sed gsed":                     (*invocation).sed,
		"ssh":                          (*invocation).ssh,
		"trap":                         (*invocation).trap,
		"mkfifo mknod":                 (*invocation).mkfifo,
		"crontab":                      (*invocation).crontab,
		"at batch":                     (*invocation).schedule,
		"alias":                        (*invocation).alias,
		"env printenv set":             (*invocation).environment,
		"useradd adduser usermod pw":   (*invocation).account,
		"truncate":                     (*invocation).truncate,
		"grep egrep fgrep rg ag zgrep": (*invocation).grep,
		"dig nslookup host ping drill resolvectl":              (*invocation).lookup,
		"git git-push git-send-pack hub yadm":                  (*invocation).git,
		"docker podman nerdctl":                                (*invocation).container,
		"kubectl oc":                                           (*invocation).kubectl,
		"tar zip 7z cpio bsdtar gtar 7za 7zz unzip unrar unar": (*invocation).archive,
		"test [ [[":                             (*invocation).quiet,
		"getent":                                (*invocation).getent,
		"cut":                                   (*invocation).cuts,
		"locate plocate slocate mlocate mdfind": (*invocation).found,
		"pg_dump pg_dumpall mysqldump mariadb-dump mongodump mydumper": (*invocation).dump,
		"hostname uname id whoami ifconfig lscpu w who ps last":        (*invocation).aboutHost,
		"strings":                       (*invocation).cat,
		"unset":                         (*invocation).unset,
		"chattr":                        (*invocation).chattr,
		"touch":                         (*invocation).touch,
		"read mapfile readarray":        (*invocation).readWord,
		"cpan pip npm gem easy_install": (*invocation).packages,
		"mysql psql sqlite3 sqlcmd mariadb duckdb usql pgcli mycli litecli clickhouse-client cqlsh sqlplus": (*invocation).database,
		"visudo vipw":                     (*invocation).quiet,
		"ed ex red patch":                 (*invocation).edits,
		"which type whereis where whence": (*invocation).which,
		"realpath readlink dirname basename greadlink grealpath": (*invocation).onPath,
		"mkdir":                          (*invocation).mkdir,
		"sshpass":                        (*invocation).sshpass,
		"hash":                           (*invocation).remembers,
		"ssh-keygen ssh-copy-id ssh-add": (*invocation).quiet,
		"gh glab tea":                    (*invocation).forge,
	} {
		for n := range set(names) {
			handlers[n] = f
		}
	}
}

func (c *invocation) quiet() flow { return flow{} }

func (c *invocation) changeDir() flow {
	c.goes(c.args)
	return flow{}
}

// which prints the name it is given: what is run by it is known.
// which prints where the programs lie that it names. Whoever watches may know; else their names
// stand for them.
func (c *invocation) which() flow {
	out := flow{known: true}
	for _, a := range c.args {
		if strings.HasPrefix(a.text, "-") {
			continue
		}
		at := ""
		if c.watch != nil && c.watch.Which != nil {
			at = c.watch.Which(a.text)
		}
		if at == "" {
			at = a.text
		}
		out.text += at + "\n"
		out.known, out.taint = out.known && a.known, out.taint|a.taint
	}
	if out.text == "" {
		return flow{}
	}
	return out
}

// onPath is realpath and its like: they print a path of the same file, or a part of it.
func (c *invocation) onPath() flow {
	for i := len(c.args) - 1; i >= 0; i-- {
		a := c.args[i]
		if strings.HasPrefix(a.text, "-") || a.text == "" {
			continue
		}
		switch c.name {
		case "dirname":
			a.text = path.Dir(strings.TrimRight(a.text, "/"))
		case "basename":
			a.text = path.Base(a.text)
		}
		a.text += "\n"
		return a
	}
	return flow{}
}

func (c *invocation) mkdir() flow {
	for _, a := range c.args {
		p := normalPath(a.text).text
		if strings.Contains(p, "/.") && (strings.HasPrefix(p, "/tmp/") || strings.HasPrefix(p, "/var/tmp/") || strings.HasPrefix(p, "/dev/shm/")) {
			c.report("shell.hidden_place", 0.8, c.at)
		}
	}
	return flow{}
}

// sshpass gives ssh a password; in a loop it tries many.
func (c *invocation) sshpass() flow {
	w := 0.5
	if c.loops > 0 {
		w = 0.85
	}
	c.report("priv.brute_force", w, c.at)
	_, rest := c.split()
	if len(rest) > 0 {
		for i, a := range c.args {
			if a.text == rest[0].text {
				return c.invoke(c.args[i:], c.in, c.wrap+1)
			}
		}
	}
	return flow{}
}

// joined is the arguments as one text.
func (c *invocation) joined(args []flow) flow {
	out := flow{known: true}
	var b strings.Builder
	for i, a := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		if b.Len() < 256<<10 {
			b.WriteString(a.text)
		} else {
			out.taint |= tooLong
		}
		out.known = out.known && a.known
		out.taint |= a.taint
	}
	out.text = b.String()
	return out
}

func (c *invocation) echo() flow {
	args := c.args
	escapes := false
	for len(args) > 0 && len(args[0].text) > 1 && args[0].text[0] == '-' && strings.Trim(args[0].text[1:], "neE") == "" {
		escapes = escapes || strings.Contains(args[0].text, "e")
		args = args[1:]
	}
	f := c.joined(args)
	if escapes || strings.Contains(f.text, `\x`) {
		f.text = effects.Unescape(f.text)
	}
	f.text += "\n"
	return f
}

func (c *invocation) printf() flow {
	if len(c.args) == 0 {
		return flow{}
	}
	args := c.args
	if args[0].text == "-v" && len(args) > 2 {
		printed := *c
		printed.args = args[2:]
		c.vars[args[1].text] = printed.printf()
		return flow{}
	}
	format := effects.Unescape(args[0].text)
	out := flow{known: args[0].known, taint: args[0].taint}
	args = args[1:]
	if !strings.Contains(format, "%") {
		out.text = format
		return out
	}
	// The format is used again as long as there are arguments.
	var b strings.Builder
	for range 64 {
		for i := 0; i < len(format); i++ {
			if format[i] != '%' || i+1 == len(format) {
				b.WriteByte(format[i])
				continue
			}
			i++
			if format[i] == '%' {
				b.WriteByte('%')
				continue
			}
			if len(args) > 0 {
				t := args[0].text
				if format[i] == 'b' {
					t = effects.Unescape(t)
				}
				b.WriteString(t)
				out.known = out.known && args[0].known
				out.taint |= args[0].taint
				args = args[1:]
			}
		}
		if len(args) == 0 {
			break
		}
	}
	out.text = b.String()
	return out
}

// cat passes on what it is given; tee also writes it.
func (c *invocation) cat() flow {
	options, rest := c.split()
	if c.name == "tee" || c.name == "sponge" {
		for _, a := range rest {
			if isNetworkDevice(a.text) {
				c.host(strings.Split(a.text, "/")[3], c.at)
				c.sends(c.in, c.at)
				continue
			}
			c.writeFile(a, c.in, has(options, "-a", "--append"))
		}
		return c.in
	}
	if len(rest) == 0 {
		return c.in
	}
	out := flow{known: true}
	for _, a := range rest {
		if a.text == "-" {
			out = both(out, c.in)
			continue
		}
		if isURL(a.text) {
			continue
		}
		out = both(out, c.readFile(a))
	}
	if c.name != "cat" && c.name != "tac" {
		out.known = false
	}
	return out
}

// decode undoes what is undone in one step, if the text is known, and else
// notes that the output was hidden in the input.
func (c *invocation) decode() flow {
	options, rest := c.split()
	in := c.in
	if c.name != "tr" {
		for _, a := range rest {
			if c.name == "openssl" {
				break
			}
			in = c.readFile(a)
		}
	}
	if v, ok := options["-in"]; ok {
		in = c.readFile(v)
	}
	hidden := in.taint | fromDecoder
	try := func(f func(string) (string, bool)) flow {
		if in.known || in.text != "" {
			if t, ok := f(in.text); ok && c.spend(len(t)) {
				return flow{text: t, known: in.known, taint: hidden}
			}
		}
		return flow{taint: hidden}
	}
	decodes := has(options, "-d", "-D", "--decode", "-r", "-di")
	switch c.name {
	case "base64", "gbase64", "basenc", "b64decode":
		if decodes || c.name == "b64decode" {
			return try(unbase64)
		}
	case "base32":
		if decodes {
			return try(unbase32)
		}
	case "uudecode":
		return flow{taint: hidden}
	case "xxd":
		if decodes {
			return try(unhex)
		}
	case "rev":
		if in.known {
			return flow{text: reverse(strings.TrimRight(in.text, "\n")) + "\n", known: true, taint: hidden}
		}
		return flow{taint: in.taint | inOtherForm(in.taint)}
	case "tr":
		if len(rest) == 2 && in.known {
			if t, ok := translate(in.text, rest[0].text, rest[1].text); ok {
				return flow{text: t, known: true, taint: hidden}
			}
		}
		if has(options, "-d") && len(rest) == 1 && in.known {
			drop := string(ranges(rest[0].text))
			return flow{text: strings.Map(func(r rune) rune {
				if strings.ContainsRune(drop, r) {
					return -1
				}
				return r
			}, in.text), known: true, taint: in.taint}
		}
		return flow{text: in.text, taint: in.taint}
	case "gunzip", "zcat", "bzcat", "xzcat", "unxz", "uncompress":
		return flow{taint: hidden}
	case "gzip", "bzip2", "xz", "zstd":
		if decodes {
			return flow{taint: hidden}
		}
	case "gpg":
		if decodes || has(options, "--decrypt") {
			return flow{taint: hidden}
		}
		if has(options, "-c", "--symmetric", "-e") {
			c.encrypts(rest)
		}
	case "openssl":
		return c.openssl(in, options)
	}
	if c.name != "tr" && len(rest) == 0 && c.in.taint&fromShell != 0 {
		return c.in
	}
	return flow{taint: in.taint | inOtherForm(in.taint)}
}

// inOtherForm says of what a place of secrets holds that it is in another form now.
func inOtherForm(of taint) taint {
	if of&fromPlace != 0 {
		return recoded
	}
	return 0
}

func (c *invocation) openssl(in flow, options map[string]flow) flow {
	var words []string
	for _, a := range c.args {
		words = append(words, a.text)
	}
	line := strings.Join(words, " ")
	switch {
	case strings.HasPrefix(line, "s_client"):
		if c.in.taint&fromShell != 0 {
			c.report("shell.reverse_shell", 0, c.at)
		}
		for i, w := range words {
			if i > 0 && listed("-connect -host -proxy", words[i-1]) {
				c.host(w, c.at)
			}
		}
		c.sends(c.in, c.at)
		return flow{taint: fromSocket}
	case strings.HasPrefix(line, "passwd") || strings.HasPrefix(line, "rand") || strings.HasPrefix(line, "x509") || strings.HasPrefix(line, "req"):
		return flow{}
	case has(options, "-d"):
		if has(options, "-base64", "-a", "-A") || strings.Contains(line, "base64") {
			if t, ok := unbase64(in.text); ok && in.known {
				return flow{text: t, known: true, taint: in.taint | fromDecoder}
			}
		}
		return flow{taint: in.taint | fromDecoder}
	case strings.HasPrefix(line, "enc") || strings.HasPrefix(line, "rsautl") || strings.HasPrefix(line, "pkeyutl"):
		if v, ok := options["-in"]; ok {
			c.encrypts([]flow{v})
		}
	}
	return flow{taint: in.taint}
}

// encrypts judges that files are encrypted with the means at hand.
func (c *invocation) encrypts(files []flow) {
	for _, f := range files {
		p := normalPath(f.text).text
		if strings.HasPrefix(p, "/etc") || strings.HasPrefix(p, "/home") || strings.HasPrefix(p, "/var") || strings.HasPrefix(p, "/root") || placeOf(p).read >= 0.3 {
			c.report("destroy.encrypt", 0, c.at)
		}
	}
}

func (c *invocation) eval() flow {
	f := c.joined(c.args)
	c.dynamic = c.dynamic || !f.known
	if !f.known && f.taint&(fromNet|fromDecoder|fromSocket) == 0 && len(strings.Trim(f.text, "$(){}@* ")) < 24 {
		c.report("shell.dynamic_run", 0, c.at)
	}
	// Pieces that are not known do not hide those that are.
	out := c.runs(flow{text: f.text, known: f.known || f.text != "", taint: f.taint}, "sh")
	return out
}

func (c *invocation) source() flow {
	if len(c.args) == 0 { // fish reads what comes in
		return c.runs(c.in, "sh")
	}
	f := c.args[0]
	if isNetworkDevice(f.text) {
		c.report("shell.reverse_shell", 0, c.at)
		return flow{}
	}
	if f.text == "/dev/stdin" || f.text == "/dev/fd/0" || f.text == "-" || f.text == "/proc/self/fd/0" {
		return c.runs(c.in, "sh")
	}
	content, ok := c.files.get(f.text)
	if !ok {
		c.ran(f.text)
		if name := path.Base(f.text); !strings.HasPrefix(name, ".") || temporary(normalPath(f.text).text) {
			c.ranFile(f.text) // settings of a shell, such as .env, are read so
		} else if c.isForeign(f.text) {
			c.report("code.foreign", 0, c.at)
		}
		return flow{}
	}
	return c.runs(content, "sh")
}

// download is curl and its kin: it reads from a host, and may send to it.
func (c *invocation) download() flow {
	options, rest := c.split()
	var urls []string
	names := flow{}
	items := []flow{} // of a form, as HTTPie has them behind the address
	for _, a := range rest {
		if isMethod(a.text) {
			continue
		}
		if forms[c.name] && len(urls) > 0 {
			items = append(items, a)
			continue
		}
		urls = append(urls, a.text)
		if !strings.HasPrefix(a.text, "$") { // else the address itself is what is kept secret
			names.taint |= a.taint
		}
		c.host(a.text, c.at)
	}
	for _, o := range []string{"--url", "-x", "--proxy"} {
		if v, ok := options[o]; ok && o == "--url" {
			urls = append(urls, v.text)
			c.host(v.text, c.at)
		}
	}
	for _, o := range []string{"--resolve", "--connect-to", "-x", "--proxy"} { // who is called in truth
		for part := range strings.FieldsFuncSeq(options[o].text, func(r rune) bool { return r == ':' || r == '\n' || r == '/' }) {
			if strings.Count(part, ".") == 3 || strings.Contains(part, "metadata") {
				c.host(part, c.at)
			}
		}
	}
	c.empties(options, urls)
	drops := false
	for _, u := range urls {
		drops = drops || dropHost(u)
	}
	c.uploads(options, drops)
	if forms[c.name] {
		c.formItems(items)
	}
	if names.taint&(fromSecret|fromSystem) != 0 {
		c.sent(names, c.at)
	}
	switch { // an address carries as much as a form
	case names.taint&fromFile != 0:
		c.report("exfil.upload", 0, c.at)
	case names.taint&fromHost != 0:
		c.report("exfil.upload", passing, c.at)
	}
	for _, u := range urls {
		if strings.HasPrefix(u, "telnet://") || strings.HasPrefix(u, "gopher://") || strings.HasPrefix(u, "dict://") {
			if c.in.taint&fromShell != 0 {
				c.report("shell.reverse_shell", 0, c.at)
			}
			return flow{taint: fromSocket}
		}
		if strings.HasPrefix(u, "file://") {
			return c.readFile(flow{text: u, known: true})
		}
	}
	if len(urls) == 0 && !has(options, "-i", "--input-file", "-K", "--config") {
		return flow{}
	}
	out := flow{taint: brought(urls)}
	c.savesTo(options, urls)
	switch {
	case has(options, "-o", "--output", "--output-document") && c.name != "wget", has(options, "--remote-name") && c.name == "curl", c.name == "curl" && has(options, "-O", "-J"):
		if v := options["-o"]; v.text == "-" || v.text == "/dev/stdout" {
			return out
		}
		return flow{}
	case c.name == "wget":
		o, ok := options["-O"]
		if !ok {
			o, ok = options["--output-document"]
		}
		if !ok || o.text != "-" && o.text != "/dev/stdout" {
			return flow{}
		}
	}
	return out
}

// forms are clients that take the items of a form as words: name=value, file@path, @path.
var forms = set("http https xh xhs httpie curlie")

// isMethod reports whether a word says what is asked of an address.
func isMethod(word string) bool {
	return listed("get post put patch delete head options", strings.ToLower(word))
}

// formItems judges what HTTPie and its kin send: the files that items name, and what comes in.
func (c *invocation) formItems(items []flow) {
	for _, a := range items {
		before, file, ok := strings.Cut(a.text, "@")
		f := flow{taint: a.taint}
		if ok && file != "" && !strings.Contains(before, ":/") {
			file, _, _ = strings.Cut(file, ";")
			f = both(f, c.readFile(flow{text: file, known: a.known}))
			f.taint |= fromFile
		}
		c.sends(f, c.at)
	}
	if c.fed {
		c.sends(c.in, c.at)
	}
}

// empties judges a request that deletes: elsewhere it is somebody's data, and on this machine
// where a whole index or collection of a store is named.
func (c *invocation) empties(options map[string]flow, urls []string) {
	deletes := false
	for _, o := range []string{"-X", "--request", "--method"} {
		deletes = deletes || strings.EqualFold(strings.TrimSpace(options[o].text), "delete")
	}
	if c.name != "curl" && c.name != "wget" {
		for _, u := range urls {
			deletes = deletes || u == "DELETE"
		}
	}
	if !deletes {
		return
	}
	for _, u := range urls {
		h := hostOf(u)
		p := strings.Trim(h.path, "/")
		switch kind := h.kind(); {
		case h.name == "" || u == "DELETE":
		case kind == "public" && strings.Contains(h.name, "."), strings.ContainsAny(p, "*") || strings.Contains(p, "_all"),
			p != "" && !strings.Contains(p, "/") && !(isLoopback(h.name) && testName(p)) && listed("9200 5984 8086 6333 7700 8108 8983 2379 8500", h.port):
			c.report("destroy.cloud", 0.45, c.at)
		}
	}
}

// savesTo remembers where a download ends.
func (c *invocation) savesTo(options map[string]flow, urls []string) {
	names := []string{"-o", "--output", "--output-document"}
	if c.name == "wget" {
		names = []string{"-O", "--output-document"}
	}
	dir := options["-P"].text + options["--output-dir"].text + options["--directory-prefix"].text + options["--dir"].text
	if c.name == "aria2c" {
		dir += options["-d"].text
		names = append(names, "--out")
	}
	of := c.saved(urls)
	defer c.tookFrom(urls)()
	for _, o := range names {
		if v, ok := options[o]; ok && v.text != "" && v.text != "-" && v.text != "/dev/null" {
			if dir != "" {
				v.text = strings.TrimSuffix(dir, "/") + "/" + v.text
			}
			c.writeFile(v, flow{taint: of}, false)
			return
		}
	}
	if c.name == "wget" || c.name == "aria2c" || has(options, "-O", "--remote-name") {
		for _, u := range urls {
			u, _, _ = strings.Cut(u, "?")
			if i := strings.LastIndexByte(u, '/'); i > 8 && i+1 < len(u) {
				name := u[i+1:]
				c.files.put(name, flow{taint: of})
				if dir != "" {
					c.files.put(strings.TrimSuffix(dir, "/")+"/"+name, flow{taint: of})
				}
			}
		}
	}
}

// tookFrom notes, when the function is called that it returns, from which address the files came
// that were written meanwhile.
func (c *invocation) tookFrom(urls []string) func() {
	before := maps.Clone(c.files)
	return func() {
		for name := range c.files {
			if _, had := before[name]; !had && len(urls) > 0 {
				if c.addresses == nil {
					c.addresses = map[string]string{}
				}
				c.addresses[name] = urls[0]
			}
		}
	}
}

// saved is what is known of a file that is downloaded and kept. What this machine serves is one's
// own, unless a tunnel leads elsewhere. What comes whole from where people keep what they give to
// others can be looked at before it is run, as what is installed by a package's name.
func (c *invocation) saved(urls []string) taint {
	own, shelf := len(urls) > 0 && !c.tunnelled, len(urls) > 0
	for _, u := range urls {
		h := hostOf(u)
		own = own && isLoopback(h.name)
		shelf = shelf && h.scheme == "https" && h.kind() == "public" && !stranger(u)
	}
	t := brought(urls)
	switch {
	case own:
		return fromFile
	case shelf && t&fromNobody == 0:
		return t | fromShelf
	}
	return t
}

// brought says of a file where it came from: from the net, and from an address of which nobody
// can say whose it is: a number, a place where anybody leaves things, or by a line that anybody
// may hold.
func brought(urls []string) taint {
	t := fromNet
	for _, u := range urls {
		switch h := hostOf(u); {
		case h.kind() == "loopback" || h.kind() == "private":
		case h.addr.IsValid(), dropHost(u), strings.HasPrefix(strings.ToLower(u), "http://"), h.kind() == "metadata" || h.kind() == "linklocal":
			t |= fromNobody
		case stranger(u):
			t |= fromStranger
		}
	}
	return t
}

// uploads judges what is sent with a request.
func (c *invocation) uploads(options map[string]flow, drops bool) {
	for _, o := range []string{"-d", "--data", "--data-binary", "--data-raw", "--data-urlencode", "--json", "--url-query", "-F", "--form", "-T", "--upload-file", "--post-file", "--post-data", "--body-file", "--body-data", "-H", "--header", "-u", "--user", "-b", "--cookie"} {
		v, ok := options[o]
		if !ok {
			continue
		}
		for text := range strings.SplitSeq(v.text, "\n") {
			c.upload(o, flow{text: text, known: v.known, taint: v.taint}, drops)
		}
	}
}

// upload judges one value of an option that sends it.
func (c *invocation) upload(o string, f flow, drops bool) {
	file := ""
	switch o {
	case "-T", "--upload-file", "--post-file", "--body-file":
		file = f.text
	case "-H", "--header", "-u", "--user", "-b", "--cookie":
		if named, ok := strings.CutPrefix(f.text, "@"); ok && listed("-H --header", o) || listed("-b --cookie", o) && !strings.Contains(f.text, "=") {
			f.taint |= c.holds(strings.TrimPrefix(named, "@"))
		}
		if name := strings.ToLower(before(f.text, ':')); f.taint&fromFile != 0 && listed("-H --header", o) && !strings.Contains(name, "auth") && !strings.Contains(name, "token") && !strings.Contains(name, "key") {
			c.report("exfil.upload", passing, c.at)
		}
		if f.taint&(fromHost|fromPlace) == 0 { // a token that is meant for the host, and not all that is set
			f.taint &^= fromSecret
		}
	default:
		if f.taint&fromFile != 0 { // its content stands in the option itself
			c.report("exfil.upload", 0, c.at)
		}
		if i := strings.IndexByte(f.text, '@'); i >= 0 && (i == 0 || f.text[i-1] == '=') && o != "--data-raw" {
			file, _, _ = strings.Cut(f.text[i+1:], ";")
		} else if i > 0 && o == "--data-urlencode" && !strings.Contains(f.text[:i], "=") {
			file = f.text[i+1:]
		} else if _, v, ok := strings.Cut(f.text, "=<"); ok && listed("-F --form", o) {
			file, _, _ = strings.Cut(v, ";")
		}
	}
	switch {
	case file == "-" || file == "." && o == "-T":
		if f.taint |= c.in.taint; !c.in.known { // what is piped is a file's content, or as good as one
			c.report("exfil.upload", 0, c.at)
		}
	case file != "":
		r := c.readFile(flow{text: file, known: f.known})
		f.taint |= r.taint
		c.report("exfil.upload", 0, c.at)
	}
	c.sent(f, c.at)
	if drops && (file != "" || f.taint != 0) {
		c.report("exfil.drop", 0, c.at)
	}
}

// connect is netcat and its kin: a bare connection, in whose end a program may be.
func (c *invocation) connect() flow {
	options, rest := c.split()
	var line []string
	for _, a := range c.args {
		line = append(line, a.text)
	}
	all := strings.Join(line, " ")
	listens := has(options, "-l", "--listen", "-L") || strings.Contains(strings.ToLower(all), "-listen:") || strings.HasPrefix(all, "listen")
	if c.name == "socat" {
		return c.socat(rest)
	}
	runs := false
	for _, o := range []string{"-e", "--exec", "-c", "--sh-exec", "--lua-exec", "-r", "-s", "--shell"} {
		v, ok := options[o]
		if !ok {
			continue
		}
		if o == "-s" || o == "-r" || o == "--shell" {
			if !interpreters[baseName(v.text)].shell || c.name == "nc" && o == "-s" {
				continue
			}
		}
		if o == "-c" && c.name == "ncat" && v.text == "" {
			continue
		}
		if first := baseName(before(v.text, ' ')); first == "echo" || first == "printf" || first == "cat" || first == "date" {
			continue // an answer, not a shell
		}
		runs = true
		if v.text != "" && !interpreters[baseName(v.text)].shell && len(rest) > 0 {
			c.inside(v.text)
		}
	}
	// nc -eu /bin/sh host, nc -ce sh
	for o := range options {
		if len(o) > 2 && o[0] == '-' && o[1] != '-' && strings.ContainsAny(o[1:], "ec") {
			runs = true
		}
	}
	for i, a := range rest {
		if interpreters[baseName(a.text)].shell && i > 0 {
			runs = runs || has(options, "-e", "-c")
		}
	}
	target := len(rest) > 0
	if c.name == "ztcp" {
		c.socket = true
	}
	switch {
	case runs && (listens || has(options, "-p") && len(rest) < 2 && c.name != "rcat"):
		c.report("shell.bind_shell", 0, c.at)
	case runs:
		c.report("shell.reverse_shell", 0, c.at)
	case c.in.taint&fromShell != 0 && target && !listens:
		c.report("shell.reverse_shell", 0, c.at)
	case c.in.taint&fromShell != 0:
		c.report("shell.bind_shell", 0, c.at)
	case c.fifo && c.in.taint&fromFile != 0 && target:
		c.report("shell.reverse_shell", 0.6, c.at) // whoever writes into the pipe may be a shell
	case listens:
		c.report("shell.listener", 0, c.at)
	}
	if low := strings.ToLower(c.in.text[:min(len(c.in.text), 4096)]); strings.Contains(low, "flush_all") || strings.Contains(low, "flushall") || strings.Contains(low, "flushdb") {
		c.report("destroy.store", 0.45, c.at)
	}
	for _, a := range rest {
		if !strings.HasPrefix(a.text, "/") && !strings.HasPrefix(a.text, ".") {
			c.host(a.text, c.at)
		}
		if a.taint&fromSecret != 0 {
			c.sent(a, c.at)
		}
	}
	c.sends(c.in, c.at)
	if has(options, "-z") || c.name == "telnet" && !target {
		return flow{}
	}
	return flow{taint: fromSocket}
}

// socat connects any two things; a program on one side and the network on the
// other is a shell for somebody.
func (c *invocation) socat(ends []flow) flow {
	program, network, listens, file, nets := false, false, false, false, 0
	sent := c.in
	for _, e := range ends {
		low := strings.ToLower(e.text)
		kind := before(low, ':')
		switch {
		case strings.HasPrefix(kind, "exec") || strings.HasPrefix(kind, "system") || strings.HasPrefix(kind, "shell"):
			program = true
		case strings.Contains(kind, "listen"):
			network, listens = true, true
		case strings.HasPrefix(kind, "tcp") || strings.HasPrefix(kind, "udp") || strings.HasPrefix(kind, "openssl") || strings.HasPrefix(kind, "ssl") || strings.HasPrefix(kind, "sctp") || strings.HasPrefix(kind, "socks") || strings.HasPrefix(kind, "proxy") || strings.HasPrefix(kind, "vsock"):
			network = true
		case e.text != "-" && e.text != "stdio" && e.text != "stdin":
			name := e.text
			if listed("file open gopen create", kind) {
				name, _, _ = strings.Cut(name[len(kind)+1:], ",")
				file = file || kind != "create" && !strings.HasPrefix(name, "/dev/")
			}
			sent.taint |= c.readFile(flow{text: name, known: e.known}).taint
			continue
		}
		if words := strings.Split(before(e.text, ','), ":"); network && !listens && len(words) > 1 {
			c.host(words[1], c.at)
			if len(words) > 3 { // the one behind a proxy
				c.host(words[2], c.at)
			}
		}
		if network && !program {
			nets++
		}
	}
	switch {
	case program && listens:
		c.report("shell.bind_shell", 0, c.at)
	case program && network:
		c.report("shell.reverse_shell", 0, c.at)
	case c.in.taint&fromShell != 0 && network:
		c.report("shell.reverse_shell", 0, c.at)
	case listens && nets > 1: // from one port to another
		c.report("shell.tunnel", 0.5, c.at)
	case listens:
		c.report("shell.listener", 0.35, c.at)
	case file && network:
		c.report("exfil.upload", 0, c.at)
	}
	if network {
		c.sends(sent, c.at)
	} else {
		c.sent(sent, c.at)
	}
	return flow{taint: fromSocket}
}

// systemTrees are directories without which the system does not run, or in
// which everything of somebody lies.
var systemTrees = set("/ /* /. /bin /boot /dev /etc /home /lib /lib64 /opt /proc /root /sbin /srv /sys /usr /var ~ ~/ ~/* /usr/* /etc/* /var/* /home/* /boot/* /lib/* /bin/* /root/* /usr/bin /usr/lib /usr/local /var/lib /Users /System /Library /Applications ~/Documents ~/Library /var/lib/* ~/.* /mnt /media")

func (c *invocation) remove() flow {
	options, rest := c.split()
	recursive := has(options, "-r", "-R", "--recursive", "--dir")
	if has(options, "--no-preserve-root") {
		c.report("destroy.system", 0, c.at)
	}
	for _, a := range rest {
		if a.known && len(c.removed) < maxRan {
			c.removed = append(c.removed, a.text)
		}
	}
	for _, a := range rest {
		if recursive && c.unsetTree(a.text) || recursive && c.lost && listed(". * ./* ./", a.text) {
			c.report("destroy.unknown", 0, c.at)
		}
		if (recursive || strings.HasSuffix(a.text, "*")) && c.wide(a.text) {
			c.report("destroy.system", 0, c.at)
			continue
		}
		c.removes(a.text, recursive, c.at)
	}
	return flow{}
}

// unsetTree says whether a path begins with a variable that nothing set, and is all of the
// system, or a part of it, where the variable is empty.
func (c *invocation) unsetTree(p string) bool {
	name, ok := strings.CutPrefix(p, "$")
	if !ok || c.guarded {
		return false
	}
	end := strings.IndexByte(name, '/')
	if end <= 0 || !isName(name[:end]) {
		return false
	}
	if _, set := c.vars[name[:end]]; set {
		return false
	}
	rest := name[end:]
	return systemTrees[rest] || systemTrees[strings.TrimSuffix(rest, "/")] || rest == "/.*" || rest == "/**"
}

// ownFolders are where people keep all their work, or what they made, in their home
// directories, and where their keys and settings lie.
var ownFolders = set(".ssh .gnupg .password-store .aws .kube .config .mozilla .thunderbird .bitcoin .ethereum .electrum desktop documents downloads pictures photos music videos movies public projects project code src source sources work workspace workspaces repos repositories dev development git github gitlab notes backup backups dotfiles dropbox onedrive nextcloud sync vault obsidian")

// removes judges that a path is deleted.
func (a *assessor) removes(p string, recursive bool, at span) {
	f := normalPath(strings.TrimSuffix(p, "/"))
	if p == "/" {
		f.text = "/"
	}
	if recursive && strings.HasPrefix(p, "/") && strings.ContainsAny(p, "?[") {
		for tree := range systemTrees {
			if ok, _ := path.Match(f.text, tree); ok {
				f.text = tree
				break
			}
		}
	}
	rooted := strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~") || strings.HasPrefix(p, "$HOME") || f.climbs > 3
	switch {
	case rooted && recursive && (systemTrees[f.text] || p == "~" || p == "~/" || p == "$HOME" || systemTrees[p] || a.wide(p)):
		a.report("destroy.system", 0, at)
		return
	case recursive && (p == "." || p == "*" || p == ".." || p == "./*" || p == "../*"):
		a.report("destroy.tree", 0.5, at)
	}
	place := f.text
	if q := a.from(p); q != "" {
		place = normalPath(strings.TrimSuffix(q, "/")).text
	}
	if own, ok := strings.CutPrefix(place, "~/"); ok && recursive && ownFolders[strings.ToLower(strings.TrimSuffix(own, "/*"))] {
		a.report("destroy.work", 0.5, at)
	}
	if recursive && rooted && holdsStores(f.text) {
		a.report("destroy.store", 0, at)
	}
	if recursive && (f.text == ".git" || strings.HasSuffix(f.text, "/.git")) {
		a.report("destroy.work", 0.45, at) // with all that was ever committed
	}
	pl := placeOf(strings.TrimSuffix(f.text, "/*"))
	if pl.name == "" {
		pl = placeOf(f.text)
	}
	switch {
	case strings.HasPrefix(pl.writes, "log."):
		w := max(pl.write, 0.5)
		if strings.HasSuffix(f.text, "/log") || recursive && strings.HasPrefix(f.text, "/var/log") || f.text == "/var/log/*" {
			w = 0.86
		}
		if strings.HasSuffix(f.text, ".gz") || strings.HasSuffix(f.text, ".old") || strings.HasSuffix(f.text, ".1") {
			w = 0.4
		}
		if strings.HasSuffix(pl.writes, "history") {
			w = 0.85
		}
		a.report(pl.writes, w, at)
	case strings.HasPrefix(pl.writes, "destroy.") || strings.HasPrefix(pl.writes, "priv.") || strings.HasPrefix(pl.writes, "defense.") || pl.writes == "code.library_hijack":
		a.report("destroy.config", max(pl.write-0.05, 0.6), at)
	case pl.writes != "" && pl.write >= 0.7:
		a.report("destroy.config", 0.5, at)
	case recursive && a.other && strings.HasPrefix(f.text, "/") && strings.Count(strings.TrimSuffix(f.text, "/*"), "/") == 1 && f.text != "/tmp" && f.text != "/tmp/*":
		a.report("destroy.store", 0.5, at) // what a machine or a container keeps by itself
	case recursive && strings.Count(f.text, "/") <= 2 && strings.HasPrefix(f.text, "/") && !strings.HasPrefix(f.text, "/tmp") && !strings.HasPrefix(f.text, "/path"):
		a.report("destroy.tree", 0.5, at)
	case recursive:
		a.report("destroy.tree", 0.25, at)
	}
}

// holdsStores says whether a folder is where databases, virtual machines and backups keep
// what they have.
func holdsStores(p string) bool {
	for _, dir := range []string{"/var/lib/", "/var/backups", "/srv/", "/backup", "/var/spool/", "/var/opt/", "/mnt/", "/media/", "/Volumes/"} {
		if strings.HasPrefix(p, dir) && !strings.HasPrefix(p, "/var/lib/apt/lists") {
			return true
		}
	}
	return false
}

func (c *invocation) shred() flow {
	_, rest := c.split()
	for _, a := range rest {
		if pl := placeOf(normalPath(a.text).text); strings.HasPrefix(pl.name, "/dev/") {
			c.report("destroy.disk", 0.7, c.at)
		} else if strings.HasPrefix(pl.writes, "log.") {
			c.report(pl.writes, 0.88, c.at)
		} else if c.wide(a.text) {
			c.report("destroy.system", 0, c.at)
		} else if a.known && temporary(normalPath(a.text).text) && !strings.ContainsAny(a.text, "*?[") {
			continue // one file of those that a script makes for itself
		} else if strings.ContainsAny(a.text, "/~*?[") || !a.known { // else one file of the folder that it works in
			c.report("destroy.wipe", 0, c.at)
		}
	}
	return flow{}
}

func (c *invocation) dd() flow {
	in, out := flow{taint: c.in.taint, text: c.in.text, known: c.in.known}, ""
	empties := false
	for _, a := range c.args {
		k, v, _ := strings.Cut(a.text, "=")
		switch k {
		case "if":
			empties = v == "/dev/zero" || v == "/dev/urandom" || v == "/dev/random"
			in = c.readFile(flow{text: v, known: a.known})
		case "of":
			out = v
		}
	}
	if out == "" {
		return in
	}
	if pl := placeOf(out); strings.HasPrefix(pl.name, "/dev/") && pl.write > 0 {
		if empties {
			c.report("destroy.disk", 0.82, c.at)
		} else {
			c.report("destroy.format", 0, c.at)
		}
		return flow{}
	}
	if empties {
		in = flow{}
	}
	c.writeFile(flow{text: out, known: true}, in, false)
	return flow{}
}

func (c *invocation) copy() flow {
	options, rest := c.split()
	if v, ok := options["-t"]; ok && c.name != "rsync" {
		rest = append(rest, v)
	}
	if v, ok := options["-e"]; ok && v.text != "" && c.name == "rsync" && !strings.HasPrefix(v.text, "ssh") {
		c.inside(v.text)
	}
	if c.name == "sftp" || c.name == "ftp" || c.name == "lftp" || c.name == "smbclient" || c.name == "tftp" {
		if len(rest) > 0 {
			c.logsInto(rest[0].text)
			if host, file, ok := strings.Cut(rest[0].text, ":"); ok && file != "" && !strings.ContainsAny(host, "/") { // sftp host:file
				words := []string{file}
				if len(rest) > 1 {
					words = append(words, rest[1].text)
				}
				c.gets(words)
			}
		}
		c.batch(options)
		return flow{taint: fromNet}
	}
	if len(rest) == 0 {
		return flow{}
	}
	from, to := rest[:len(rest)-1], rest[len(rest)-1]
	remote := func(t string) bool {
		i := strings.IndexByte(t, ':')
		return i > 1 && !strings.ContainsAny(t[:i], "/{") || strings.HasPrefix(t, "rsync://")
	}
	for _, a := range rest {
		if remote(a.text) {
			c.logsInto(a.text)
		}
	}
	var content flow
	for _, a := range from {
		if remote(a.text) {
			content.taint |= brought([]string{a.text})
			if has(options, "-r", "-a", "--recursive", "--archive") || slices.ContainsFunc(c.args, func(o flow) bool { return strings.HasPrefix(o.text, "-a") || strings.HasPrefix(o.text, "-r") }) {
				for _, dir := range []string{a.text[strings.LastIndexAny(strings.TrimRight(a.text, "/"), "/:")+1:], to.text} {
					if dir == "." || dir == "./" || dir == "" {
						continue
					}
					c.brings(foreignFolder{name: strings.TrimRight(dir, "/"), known: !stranger(a.text), of: brought([]string{a.text}), address: a.text})
				}
			}
			continue
		}
		f := flow{}
		if had, ok := c.files.get(a.text); ok {
			f = had
		} else if a.text == "/dev/stdin" || a.text == "/dev/fd/0" {
			f = c.in
		} else if c.name == "cp" || c.name == "ln" || c.name == "mv" || c.name == "install" || c.name == "gcp" {
			f = c.copied(a.text)
		} else {
			f = c.readFile(a)
			if c.holdsSecrets(normalPath(a.text).text) {
				f.taint |= fromSecret | fromPlace
			}
		}
		if remote(to.text) {
			f.taint |= c.asWhole(a.text)
		}
		content = both(content, f)
		content.known = f.known
	}
	switch {
	case remote(to.text):
		c.sends(content, c.at)
		return flow{}
	case c.name == "rsync":
		for o := range options {
			if strings.HasPrefix(o, "--delete") {
				c.loses([]flow{to})
			}
			if o == "--remove-source-files" {
				c.loses(from)
			}
		}
	case c.name == "mv":
		for _, a := range from {
			if pl := placeOf(normalPath(a.text).text); strings.HasPrefix(pl.writes, "log.") && !strings.HasPrefix(pl.name, "/var/log/*") {
				c.report(pl.writes, min(pl.write, 0.82), c.at)
			}
			if c.wide(a.text) || to.text == "/dev/null" {
				c.report("destroy.system", 0.85, c.at)
			}
		}
	}
	if len(from) == 0 {
		return flow{}
	}
	for _, a := range from {
		if _, known := c.files.get(a.text); !known && len(c.copies) < maxRan {
			c.copies = append(c.copies, [2]string{a.text, to.text}, [2]string{a.text, a.text})
		}
	}
	if len(from) == 1 && c.name == "cp" && isBackup(from[0].text, to.text) {
		return flow{} // beside the file, where nothing reads it
	}
	if len(from) == 1 && c.name == "ln" && c.cameFrom(from[0].text, to.text) {
		return flow{} // the file is where it was before, by another name
	}
	if c.fillsHome(from, to, options) {
		c.report("persist.startup", 0.5, c.at)
	}
	if len(from) == 1 && c.name != "rsync" {
		c.same = c.isCalled(to.text, from[0].text)
		defer func() { c.same = false }()
	}
	c.writeFile(flow{text: strings.TrimSuffix(to.text, "/"), known: to.known}, content, false)
	// Into a directory: the place of the file in it counts too.
	name := from[0].text[strings.LastIndexAny(from[0].text, "/:")+1:]
	if content.taint&fromNet != 0 && name != "" {
		c.files.put(strings.TrimSuffix(to.text, "/")+"/"+name, content)
	}
	to.text = c.through(to.text, c.name != "ln" && c.name != "mv")
	if name != "" && placeOf(normalPath(to.text).text).name == "" {
		inside := strings.TrimSuffix(to.text, "/") + "/" + name
		if q := c.from(inside); q != "" {
			inside = q
		}
		if pl := placeOf(normalPath(inside).text); pl.name != "" && pl.name[0] == '/' && pl.write >= 0.7 {
			c.writeFile(flow{text: inside, known: to.known}, content, false)
		}
	}
	return flow{}
}

// cameFrom reports whether the script moved a file away from where a link to it is made now, and put
// nothing into it since.
func (c *invocation) cameFrom(file, link string) bool {
	if f, ok := c.files.get(file); ok && f.text != "" {
		return false
	}
	return slices.ContainsFunc(c.copies, func(pair [2]string) bool {
		return path.Clean(pair[0]) == path.Clean(link) && path.Clean(pair[1]) == path.Clean(file)
	})
}

// fillsHome reports whether all that lies in a folder is put into somebody's home, whatever it is:
// what every new shell runs lies there, and keys.
func (c *invocation) fillsHome(from []flow, to flow, options map[string]flow) bool {
	home := strings.TrimSuffix(to.text, "/")
	if home != "~" && home != "$HOME" && home != "/root" && !somebodysHome(home) {
		return false
	}
	all := c.name == "rsync" || has(options, "-r", "-R", "-a", "--recursive", "--archive")
	return slices.ContainsFunc(from, func(a flow) bool {
		name := a.text[strings.LastIndexByte(a.text, '/')+1:]
		return all && (name == "." || name == "" && c.name == "rsync" && a.text != "") || strings.HasPrefix(name, "*") || strings.HasPrefix(name, ".") && strings.ContainsAny(name, "*[?{")
	})
}

// isBackup reports whether a name is another's with what people put behind the names of copies.
func isBackup(name, copy string) bool {
	end, ok := strings.CutPrefix(copy, name)
	return ok && !strings.Contains(end, "/") && (end == "~" || strings.HasPrefix(end, ".bak") || strings.HasPrefix(end, ".orig") || strings.HasPrefix(end, ".old") || strings.HasPrefix(end, ".backup") || strings.HasPrefix(end, ".save"))
}

// isCalled notes that a program has got another name, under which it does what it did, and
// reports whether it kept its own.
func (c *invocation) isCalled(name, program string) (same bool) {
	program = strings.TrimSpace(program)
	as := baseName(program)
	own := strings.HasPrefix(program, "$(") || program == as
	for _, dir := range []string{"/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/", "/usr/local/bin/", "/opt/homebrew/bin/"} {
		own = own || strings.HasPrefix(program, dir)
	}
	name = strings.TrimPrefix(name, "./")
	switch {
	case !own || name == "" || !programs()[as]:
		return false
	case as == baseName(name):
		return strings.Contains(program, "/")
	case len(c.aliases) < 256:
		c.aliases[name], c.aliases["./"+name] = as, as
	}
	return false
}

// remembers is hash: with -p a name stands for a program.
func (c *invocation) remembers() flow {
	for i, a := range c.args {
		if a.text == "-p" && i+2 < len(c.args) {
			c.isCalled(c.args[i+2].text, c.args[i+1].text)
			return flow{}
		}
	}
	return c.which()
}

// batch judges what a program for the transfer of files is ordered to put: line by
// line on its input, in a file of orders, or by an option.
func (c *invocation) batch(options map[string]flow) {
	orders := c.in
	for _, o := range []string{"-b", "-c", "-e", "-f"} {
		if v, ok := options[o]; ok {
			orders = both(orders, v)
			written, _ := c.files.get(v.text)
			orders = both(flow{text: orders.text + "\n"}, written)
		}
	}
	sent := flow{taint: orders.taint &^ fromFile}
	puts := orders.taint&fromFile != 0 || !orders.known && c.fed || c.name == "ftp" && has(options, "-u") || has(options, "-b", "-f")
	for line := range strings.FieldsFuncSeq(orders.text, func(r rune) bool { return r == '\n' || r == ';' }) {
		words := strings.Fields(line)
		if len(words) > 1 && listed("open connect o", words[0]) {
			c.logsInto(strings.Trim(words[len(words)-1], `"'`))
		}
		if len(words) > 1 && (strings.HasSuffix(words[0], "get") || words[0] == "recv" || words[0] == "mirror") {
			c.gets(words[1:])
		}
		if len(words) > 0 && (strings.HasSuffix(words[0], "put") || words[0] == "mirror" || words[0] == "send" || words[0] == "append") {
			puts = true
			for _, w := range words[1:] {
				w = strings.Trim(w, `"'`)
				sent.taint |= c.readFile(flow{text: w, known: true}).taint | c.asWhole(w)
			}
		}
	}
	for _, a := range c.args {
		if !strings.HasPrefix(a.text, "-") && !strings.Contains(a.text, "put ") {
			sent.taint |= c.readFile(a).taint
		}
	}
	if puts {
		c.report("exfil.upload", 0.2, c.at)
	}
	c.sent(sent, c.at)
}

// copied judges that a file is copied on this machine. A copy of a password
// file is a leak in waiting; copies of settings are backups.
func (c *invocation) copied(p string) flow {
	f := normalPath(p)
	pl := placeOf(f.text)
	out := flow{taint: fromFile}
	if pl.read >= 0.3 {
		out.taint |= fromSecret | fromPlace
	}
	if strings.HasPrefix(pl.reads, "secret.") && pl.read >= 0.6 {
		c.report(pl.reads, pl.read, c.at)
	} else if c.holdsSecrets(f.text) {
		out.taint |= fromSecret | fromPlace
	}
	if p == "/bin/sh" || p == "/bin/bash" || p == "/usr/bin/bash" || p == "/bin/dash" {
		c.report("shell.hidden_place", 0.8, c.at) // a shell by another name
	}
	return out
}

// holdsSecrets judges that a folder is taken as a whole: what is kept in it for keys and
// passwords is taken along, although nothing names it.
func (c *invocation) holdsSecrets(folder string) bool {
	folder = strings.TrimSuffix(folder, "/")
	if folder == "" {
		return false
	}
	for _, name := range []string{"credentials", "config", "config.json", "x"} {
		if pl := placeOf(folder + "/" + name); strings.HasPrefix(pl.reads, "secret.") && pl.read >= 0.6 {
			c.report(pl.reads, pl.read, c.at)
			return true
		}
	}
	return false
}

func (c *invocation) chmod() flow {
	_, rest := c.split()
	mode := ""
	for _, a := range c.args {
		// u+s looks like a file, -s like an option.
		if t := a.text; t != "-R" && t != "-v" && t != "-f" && t != "--recursive" {
			mode = t
			break
		}
	}
	special := len(mode) >= 4 && isDigits(mode) && len(mode) <= 5 && (mode[len(mode)-4] >= '2' && mode[len(mode)-4] <= '7')
	symbolic := strings.Contains(mode, "+") && strings.Contains(mode[strings.IndexByte(mode, '+'):], "s") || strings.Contains(mode, "=") && strings.Contains(mode, "s") && len(mode) < 12
	if (special || symbolic) && len(rest) > 0 {
		w := 0.0
		target := rest[len(rest)-1].text
		if special && mode[len(mode)-4] == '2' || symbolic && strings.HasPrefix(mode, "g") {
			w = 0.5 // directories of a group
			if p := normalPath(target).text; strings.HasPrefix(p, "/tmp") || strings.HasPrefix(p, "/dev/shm") || strings.HasPrefix(p, "/var/tmp") || strings.Contains(mode, "x") {
				w = 0.8
			}
		}
		if special && mode[len(mode)-4] >= '4' || symbolic && !strings.HasPrefix(mode, "g") {
			w = 0.8
			if base := baseName(target); interpreters[base].shell || strings.HasPrefix(normalPath(target).text, "/tmp") {
				w = 0.9
			}
		}
		c.report("priv.setuid", w, c.at)
	}
	open := mode == "777" || mode == "0777" || mode == "a+rwx" || mode == "o+w" || mode == "a+w" || mode == "666" || mode == "+w"
	for _, a := range rest {
		f := normalPath(a.text)
		pl := placeOf(f.text)
		switch {
		case open && (systemTrees[f.text] || pl.write >= 0.7 || pl.read >= 0.7):
			c.report("priv.open_mode", 0.82, c.at)
		case open:
			c.report("priv.open_mode", 0.25, c.at)
		case (strings.HasPrefix(mode, "-") || strings.HasPrefix(mode, "a-") || strings.HasPrefix(mode, "u-") || strings.HasPrefix(mode, "ugo-")) && c.wide(a.text):
			c.report("destroy.config", 0.82, c.at)
		case mode == "000" && (systemTrees[f.text] || pl.write >= 0.7):
			c.report("destroy.config", 0.8, c.at)
		}
	}
	return flow{}
}

// secretNames are what a search looks for when it looks for secrets.
var secretNames = []string{"id_rsa", "id_dsa", "id_ed25519", ".ssh", ".aws", ".gnupg", "credentials", "passwd", "password", "shadow", ".netrc", ".kdbx", "wallet.dat", ".pem", ".p12", ".pfx", "accesstokens", "msal_token", ".git-credentials", ".pgpass", ".htpasswd", "secret", ".ppk", ".keytab", "token", ".key", ".azure", ".env", "_history", "keychain", "private_key", "authorized_keys", ".asc", ".gpg", ".kube"}

func (c *invocation) find() flow {
	var starts []string
	k := 0
	for k < len(c.args) && !strings.HasPrefix(c.args[k].text, "-") && c.args[k].text != "(" && c.args[k].text != "!" {
		starts = append(starts, c.args[k].text)
		k++
	}
	wide := false
	for _, s := range starts {
		p := normalPath(s).text
		wide = wide || p == "/" || p == "/home" || p == "~" || p == "/root" || p == "/etc" || p == "/Users" || strings.HasPrefix(p, "/.") || strings.HasPrefix(p, "//")
	}
	out := flow{}
	looks, keys := false, false
	everything := "" // what it finds, if that is everything in a wide place
	if !filtered(c.args[k:]) {
		at := starts
		if len(at) == 0 {
			at = []string{"."}
		}
		for _, s := range at {
			if c.wide(s) {
				everything = strings.TrimSuffix(s, "/") + "/*"
			}
		}
	}
	out.text = everything
	patterns := starts
	for _, a := range c.args[k:] { // of fd, whose options stand anywhere
		if c.name == "find" || listed("-x --exec -X --exec-batch", a.text) {
			break
		}
		patterns = append(slices.Clip(patterns), a.text)
	}
	for _, s := range patterns {
		if c.holdsKeys(s) || namesSecret(normalPath(s).text) {
			out.taint |= fromSecret | fromPlace
		}
	}
	for i := k; i < len(c.args); i++ {
		t := c.args[i].text
		switch t {
		case "-perm":
			if i+1 < len(c.args) {
				m := c.args[i+1].text
				if strings.HasSuffix(m, "4000") || strings.HasSuffix(m, "2000") || strings.HasSuffix(m, "6000") || strings.Contains(m, "u=s") || strings.Contains(m, "+s") || strings.Contains(m, "g=s") {
					c.report("priv.search_setuid", 0, c.at)
				}
			}
		case "-name", "-iname", "-path", "-wholename", "-ipath", "-regex":
			if i+1 < len(c.args) {
				n := strings.ToLower(strings.Trim(c.args[i+1].text, "*/"))
				for _, s := range secretNames {
					if n == s || len(s) > 7 && strings.Contains(n, s) || strings.HasSuffix(n, s) && (len(s) > 4 || strings.HasPrefix(s, ".")) && !strings.HasSuffix(n, "_token") {
						looks, keys = true, keys || !listed(".pem .asc .gpg", s)
					}
				}
			}
		case "-delete":
			for _, s := range starts {
				switch {
				case !c.wide(s) || filtered(c.args[k:]) && !systemTrees[s]:
				case filtered(c.args[k:]):
					c.report("destroy.system", 0.6, c.at)
				default:
					c.report("destroy.system", 0, c.at)
				}
				if pl := placeOf(normalPath(s).text); strings.HasPrefix(pl.writes, "log.") {
					c.report(pl.writes, max(pl.write-0.1, 0.6), c.at)
				}
			}
		case "-exec", "-execdir", "-ok", "-okdir", "-x", "--exec", "-X", "--exec-batch":
			end := i + 1
			for end < len(c.args) && c.args[end].text != ";" && c.args[end].text != "+" {
				end++
			}
			if args := c.args[i+1 : end]; len(args) > 0 {
				c.executes(args, starts, everything, out.taint)
				if listed("rm shred truncate unlink", baseName(args[0].text)) {
					for k := range c.args[:i] {
						if c.args[k].text == ".git" && k > 0 && c.args[k-1].text == "-name" {
							c.report("destroy.work", 0.45, c.at)
						}
					}
					if args[0].text != "rm" && slices.Contains(starts, "/") {
						c.report("destroy.system", 0.6, c.at)
					}
				}
				if looks && readers[baseName(args[0].text)] {
					c.report("secret.search", 0.85, c.at)
				}
			}
			i = end
		case "-fprintf", "-fprint", "-fls":
			if i+1 < len(c.args) {
				c.writeFile(c.args[i+1], flow{}, false)
			}
		}
	}
	if looks {
		out.taint |= fromSecret | fromPlace
		switch {
		case wide && keys:
			c.report("secret.search", 0.8, c.at)
		case wide: // certificates are called so, too
			c.report("secret.search", 0.6, c.at)
		default:
			c.report("secret.search", 0.3, c.at)
		}
	}
	return out
}

// filtered says whether find chooses among what it finds.
func filtered(args []flow) bool {
	for _, a := range args {
		switch a.text {
		case "-exec", "-execdir", "-ok", "-okdir", "-x", "--exec", "-X", "--exec-batch":
			return false // what stands behind belongs to the command
		case "-type", "-delete", "-depth", "-maxdepth", "-mindepth", "-xdev", "-mount", "-print", "-print0", "-H", "--hidden", "-u", "-L", "-P":
		default:
			if strings.HasPrefix(a.text, "-") {
				return true
			}
		}
	}
	return false
}

// executes judges what find runs for each file: where it begins to look is what
// the command acts upon.
func (c *invocation) executes(args []flow, starts []string, everything string, names taint) {
	name := baseName(args[0].text)
	if interpreters[name].shell && len(args) <= 2 {
		c.report("shell.escape", 0, c.at)
		return
	}
	found := flow{text: "$found", taint: names}
	if everything != "" {
		found.text = everything
	}
	for _, s := range starts {
		if pl := placeOf(normalPath(s + "/x").text); strings.HasPrefix(pl.reads, "secret.") && readers[name] {
			found.text = s + "/x"
		}
	}
	filled := make([]flow, len(args))
	named := false
	for i, a := range args {
		filled[i] = a
		if strings.Contains(a.text, "{}") {
			filled[i], named = flow{text: strings.ReplaceAll(a.text, "{}", found.text), taint: a.taint | names}, true
		}
	}
	if !named && c.name != "find" { // fd puts it at the end
		filled = append(filled, found)
	}
	if name == "rm" && len(starts) > 0 {
		for _, s := range starts {
			if pl := placeOf(normalPath(s).text); strings.HasPrefix(pl.writes, "log.") {
				c.report(pl.writes, 0.5, c.at)
			}
		}
	}
	c.invoke(filled, flow{}, c.wrap+1)
}

func (c *invocation) su() flow {
	options, rest := c.split()
	if v, ok := options["-c"]; ok {
		c.inside(v.text)
		return flow{}
	}
	if v, ok := options["--command"]; ok {
		c.inside(v.text)
		return flow{}
	}
	if len(rest) == 0 || rest[0].text == "root" || rest[0].text == "-" {
		c.report("priv.shell", 0.3, c.at)
	}
	return flow{}
}

func (c *invocation) sed() flow {
	options, rest := c.split()
	inPlace := false
	for o := range options {
		inPlace = inPlace || strings.HasPrefix(o, "-i") || strings.HasPrefix(o, "--in-place")
	}
	script, by := options["-e"].text, options["-e"].taint
	if script == "" && len(rest) > 0 {
		script, by, rest = rest[0].text, rest[0].taint, rest[1:]
	}
	if script == "" && inPlace && len(rest) > 0 { // sed -i '' s/…/…/ file
		script, by, rest = rest[0].text, rest[0].taint, rest[1:]
	}
	// GNU sed runs commands: 1e id, s/x/id/e
	if strings.HasPrefix(script, "1e ") || strings.HasPrefix(script, "1!e ") || strings.HasPrefix(script, "e ") {
		c.report("shell.escape", 0.6, c.at)
		c.inside(script[strings.IndexByte(script, 'e')+1:])
	}
	if words := strings.FieldsFunc(script, func(r rune) bool { return r == '\n' || r == ';' }); len(words) > 0 {
		for _, w := range words {
			flags := w[strings.LastIndexAny(w, "/|#,")+1:]
			if strings.TrimSpace(w) == "e" || strings.HasPrefix(w, "s") && strings.Contains(flags, "e") && strings.Trim(flags, "gepiIm0123456789") == "" {
				c.runs(flow{taint: c.in.taint, text: c.in.text, known: c.in.known}, "sh")
				if strings.HasPrefix(w, "s") && len(w) > 2 {
					if parts := strings.Split(strings.ReplaceAll(w, `\`+w[1:2], "\x00"), w[1:2]); len(parts) > 2 { // what it puts there is run
						c.inside(strings.ReplaceAll(parts[2], "\x00", w[1:2]))
					}
				}
			}
		}
	}
	out := c.in
	out.known = false
	for _, a := range rest {
		if inPlace {
			adds := flow{text: sedAdds(script), known: true, taint: by & (fromSecret | fromPlace)}
			if adds.taint != 0 {
				c.keepsIn(a.text)
			}
			c.wrote(a.text, adds, true)
			continue
		}
		out = both(out, c.readFile(a))
	}
	if sedNames(script) {
		return namesOnly(out)
	}
	if sedPicks.MatchString(script) {
		return chosen(out, script)
	}
	return out
}

// sedAdds is what a script for sed puts into a file, as far as that stands in it.
func sedAdds(script string) string {
	var out strings.Builder
	for line := range strings.FieldsFuncSeq(script, func(r rune) bool { return r == '\n' || r == ';' }) {
		line = strings.TrimLeft(line, " \t0123456789,$!")
		if strings.HasPrefix(line, "/") { // an address: /re/a text
			if end := closing(line[1:], "/"); end >= 0 {
				line = strings.TrimLeft(line[end+2:], " \t!")
			}
		}
		switch {
		case len(line) < 2:
		case line[0] == 'a' || line[0] == 'i' || line[0] == 'c':
			out.WriteString(strings.TrimLeft(line[1:], "\\ \t") + "\n")
		case line[0] == 's':
			mark := line[1:2]
			if end := closing(line[2:], mark); end >= 0 {
				with := line[2+end+1:]
				if end := closing(with, mark); end >= 0 {
					with = with[:end]
				}
				out.WriteString(strings.ReplaceAll(with, `\`+mark, mark) + "\n")
			}
		case line[0] == 'r' || line[0] == 'w' || line[0] == 'e':
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}

// editsInPlace judges that an interpreter writes the files that it is given: perl -pi, ruby
// -i, awk -i inplace, vim -c wq.
func (c *invocation) editsInPlace(i interpreter) {
	writes := false
	for k, a := range c.args {
		t := a.text
		switch i.language {
		case "perl", "ruby":
			if len(t) > 1 && t[0] == '-' && t[1] != '-' && t[1] != 'M' && t[1] != 'I' && t[1] != 'r' {
				cut := strings.IndexAny(t, "eE")
				if cut < 0 {
					cut = len(t)
				}
				writes = writes || strings.Contains(t[:cut], "i")
			}
		case "awk":
			writes = writes || t == "inplace" && k > 0 && c.args[k-1].text == "-i"
		case "vim":
			writes = writes || strings.HasPrefix(t, "-cx") || strings.HasPrefix(t, "-cwq") || k > 0 && (c.args[k-1].text == "-c" || c.args[k-1].text == "-sc") && (strings.HasSuffix(t, "wq") || strings.HasSuffix(t, "x") || strings.HasSuffix(t, "w") || strings.HasSuffix(t, "update"))
		}
	}
	if !writes {
		return
	}
	for k, a := range c.args {
		if k > 0 && strings.ContainsAny(a.text, "/.~") && !strings.HasPrefix(a.text, "-") && !strings.ContainsAny(a.text, " \n") {
			c.writeFile(a, flow{}, true)
		}
	}
}

// edits is ed, ex and patch: they write the file that they are given.
func (c *invocation) edits() flow {
	c.patches()
	_, rest := c.split()
	var printed taint
	for _, a := range rest {
		if strings.ContainsAny(a.text, "/.~") && !strings.ContainsAny(a.text, " \n") {
			printed |= c.holds(a.text)
			c.writeFile(a, flow{text: c.in.text, taint: c.in.taint}, true)
		}
	}
	if c.name == "patch" {
		return flow{}
	}
	return flow{taint: printed}
}

// logsInto tells who watches of a host that is not written as an address: ssh, scp, rsync
// and git take [user@]host[:path].
func (c *invocation) logsInto(to string) {
	switch {
	case to == "":
	case strings.Contains(to, "://"):
		c.speaksTo(to)
	case strings.HasPrefix(to, "["): // an address of version 6
		c.speaksTo("ssh://" + to)
	default:
		login, _, _ := strings.Cut(to, ":")
		c.speaksTo("ssh://" + login)
	}
}

func (c *invocation) ssh() flow {
	options, rest := c.split()
	if len(rest) > 0 {
		c.logsInto(rest[0].text)
	}
	for hop := range strings.SplitSeq(options["-J"].text, ",") {
		c.logsInto(hop)
	}
	for _, a := range c.args {
		if name, ok := strings.CutPrefix(strings.ToLower(strings.TrimPrefix(a.text, "-o")), "hostname"); ok && name != "" {
			c.logsInto(strings.Trim(name, "= "))
		}
	}
	if v, ok := options["-o"]; ok {
		low := strings.ToLower(v.text)
		if strings.HasPrefix(low, "proxycommand") || strings.HasPrefix(low, "localcommand") || strings.HasPrefix(low, "permitlocalcommand") {
			_, cmd, _ := strings.Cut(strings.Replace(v.text, "=", " ", 1), " ")
			if obviousShell(strings.Trim(cmd, ";")) || strings.Contains(cmd, "sh 0") {
				c.report("shell.escape", 0, c.at)
			}
			c.inside(strings.Trim(cmd, "; "))
		}
	}
	out := flow{taint: fromNet}
	for _, a := range c.args {
		if strings.HasPrefix(a.text, "ProxyCommand") {
			c.report("shell.escape", 0.5, c.at)
		}
	}
	if len(rest) == 0 {
		return out
	}
	c.sends(c.in, c.at)
	if c.in.taint&fromShell != 0 {
		c.report("shell.reverse_shell", 0, c.at)
	}
	if len(rest) == 1 && c.in.taint&(fromNet|fromSocket) != 0 {
		c.report("shell.download_run", 0, c.at) // the shell there runs what comes in
	}
	if words := c.args[c.commandAt(remoteRun{skip: 1, takes: c.table.options["ssh"].takes}):]; len(words) > 0 {
		f := c.joined(words)
		if f.taint&fromSecret != 0 {
			c.sent(f, c.at)
		}
		c.onOther(func() { out.taint |= c.inside(f.text).taint })
	} else if c.in.text != "" { // a shell there reads what comes in
		c.onOther(func() { out.taint |= c.inside(c.in.text).taint })
	}
	return out
}

func (c *invocation) trap() flow {
	if len(c.args) < 2 || c.args[0].text == "-" || c.args[0].text == "" || c.args[0].text == "-l" {
		return flow{}
	}
	code := c.args[0].text
	low := strings.ToLower(code)
	if strings.Contains(low, "nohup") || strings.Contains(low, "/tmp/") && strings.Contains(low, "sh ") || strings.Contains(low, "curl") || strings.Contains(low, ".sh") {
		c.report("persist.trap", 0, c.at)
	}
	return c.inside(code)
}

func (c *invocation) mkfifo() flow {
	c.fifo = true
	if c.name == "mknod" {
		_, rest := c.split()
		if len(rest) > 1 && rest[1].text == "b" {
			c.report("path.device", 0.7, c.at)
		}
	}
	return flow{}
}

func (c *invocation) crontab() flow {
	options, rest := c.split()
	switch {
	case has(options, "-l"):
		return flow{text: "", known: false}
	case has(options, "-r"):
		c.report("persist.cron", 0.5, c.at)
	case has(options, "-e"):
		c.report("persist.cron", 0.3, c.at)
	case len(rest) > 0:
		f := c.in
		if rest[0].text != "-" {
			f, _ = c.files.get(rest[0].text)
			c.report("persist.cron", 0.5, c.at)
			if f.text == "" && f.taint == 0 {
				return flow{}
			}
		}
		c.schedules(f)
	case c.in.text != "" || c.in.taint != 0:
		c.schedules(c.in)
	}
	return flow{}
}

// schedules judges a text that becomes a crontab.
func (c *invocation) schedules(f flow) {
	w := 0.6
	for _, place := range []string{"/tmp/", "/dev/shm/", "/var/tmp/", "/."} {
		if strings.Contains(f.text, place) {
			w = 0.85
		}
	}
	if f.taint&(fromNet|fromDecoder) != 0 {
		w = 0.85
	}
	c.report("persist.cron", w, c.at)
	if f.text != "" {
		c.inside(cronCommands(f.text))
	}
}

func (c *invocation) schedule() flow {
	options, _ := c.split()
	if has(options, "-l", "-r", "-d") {
		return flow{}
	}
	if c.in.text != "" || c.in.taint != 0 || has(options, "-f") {
		c.report("persist.cron", 0.5, c.at)
		if c.in.text != "" {
			c.inside(c.in.text)
		}
	}
	return flow{}
}

func (c *invocation) alias() flow {
	for _, a := range c.args {
		name, value, ok := strings.Cut(a.text, "=")
		if !ok {
			continue
		}
		if len(c.aliases) < 256 {
			c.aliases[name] = value
		}
		if name == "sudo" || name == "su" || name == "ssh" || name == "passwd" {
			if !strings.HasPrefix(strings.TrimSpace(value), name) {
				c.report("secret.capture", 0, c.at)
			}
		}
	}
	return flow{}
}

// environment is env, printenv and set without a command: everything that is set.
func (c *invocation) environment() flow {
	if c.name == "set" {
		for i, a := range c.args {
			if len(a.text) > 1 && a.text[0] == '-' && strings.Contains(a.text, "u") && strings.Trim(a.text, "-euxofEvhmBCTabktn") == "" || a.text == "nounset" {
				c.guarded = true
			}
			if a.text == "+o" && i+1 < len(c.args) && c.args[i+1].text == "history" {
				c.report("log.history", 0, c.at)
			}
		}
		if len(c.args) > 1 && c.args[0].text == "--" {
			c.given(append([]flow{{text: "$0"}}, c.args[1:]...))
			return flow{}
		}
		if len(c.args) > 0 {
			return flow{}
		}
	}
	if len(c.args) == 1 && c.name == "printenv" && !secretName(c.args[0].text) {
		return flow{taint: fromHost}
	}
	return flow{taint: fromHost | fromSecret | fromPlace} // tokens stand in most of them
}

// deviceGroups may use a device of the machine, and get no more rights by it.
var deviceGroups = set("dialout plugdev uucp audio video render lp scanner cdrom kvm i2c gpio spi")

func (c *invocation) account() flow {
	options, _ := c.split()
	if i := slices.IndexFunc(c.args, func(a flow) bool { return a.text == "-aG" }); i >= 0 && i+1 < len(c.args) {
		options["-G"] = c.args[i+1]
		delete(options, "-aG")
	}
	w, groups, devices := 0.45, false, true
	for o, v := range options {
		switch o {
		case "-a", "--append":
			continue
		case "-G", "--groups", "--ingroup":
		default:
			devices = false
		}
		switch o {
		case "-u", "--uid", "-g", "--gid":
			if v.text == "0" || v.text == "root" || v.text == "wheel" || v.text == "sudo" {
				w = 0.9
			}
		case "-G", "--groups", "--ingroup":
			for g := range strings.SplitSeq(v.text, ",") {
				devices = devices && v.known && deviceGroups[g]
				groups = true
				if privilegedGroups[g] {
					w = 0.8
					if c.name == "usermod" || g == "docker" {
						w = 0.6
					}
				}
			}
			if has(options, "-p", "--password") && w >= 0.6 {
				w = 0.88
			}
		case "-p", "--password":
			w = max(w, 0.8)
		case "-o", "--non-unique":
			w = max(w, 0.85)
		}
	}
	// Without a home, in no list, but with a shell: nobody is meant to see it.
	if has(options, "-M", "--no-create-home") && has(options, "-s", "--shell") && (has(options, "-r", "--system") || has(options, "-N")) {
		shell := options["-s"].text + options["--shell"].text
		if interpreters[baseName(shell)].shell {
			w = max(w, 0.82)
		}
	}
	if c.name == "usermod" && groups && devices {
		w = 0.2
	}
	code := "priv.account"
	if w >= 0.8 {
		code = "priv.admin_account"
	}
	c.report(code, w, c.at)
	return flow{}
}

var privilegedGroups = set("sudo wheel root admin adm docker lxd disk shadow administrators")

func (c *invocation) truncate() flow {
	_, rest := c.split()
	for _, a := range rest {
		c.writeFile(a, flow{known: true}, false)
	}
	return flow{}
}

// grep looks for words: those that name secrets, over a whole system, are a search
// for secrets.
func (c *invocation) grep() flow {
	options, rest := c.split()
	pattern := options["-e"].text + options["--regexp"].text
	if pattern == "" && len(rest) > 0 {
		pattern, rest = rest[0].text, rest[1:]
	}
	low := strings.ToLower(pattern)
	wanted := false
	for _, w := range []string{"password", "passwd", "passw", "secret", "api_key", "apikey", "aws_secret", "private key", "token", "begin rsa", "credential", "akia", "pwd="} {
		wanted = wanted || strings.Contains(low, w)
	}
	recursive := has(options, "-r", "-R", "--recursive", "-ri", "-rin") || c.name == "rg" || c.name == "ag"
	out := c.in
	out.known = false
	for _, a := range rest {
		f := normalPath(a.text)
		wide := f.text == "/" || f.text == "/home" || f.text == "~" || f.text == "/etc" || f.text == "/root" || f.text == "/var" || f.text == "/proc" || strings.HasPrefix(f.text, "/home/*")
		if wanted && recursive && wide {
			c.report("secret.search", 0, c.at)
			out.taint |= fromSecret
			continue
		}
		out = both(out, c.readFile(a))
	}
	if wanted && c.in.taint&fromSecret != 0 && c.in.taint&fromFile != 0 {
		c.report("secret.search", 0.7, c.at)
	}
	if wanted && recursive {
		c.report("secret.search", 0.3, c.at)
	}
	if len(rest) == 0 && placeOf(strings.Trim(strings.ReplaceAll(pattern, `\`, ""), "^$/*")).read >= 0.3 {
		out.taint |= fromSecret | fromPlace // of names, those of such files
	}
	if names, _ := options["-g"]; placeOf(names.text).read >= 0.3 {
		out.taint |= fromSecret | fromPlace
	}
	if !has(options, "-v", "--invert-match") && len(rest)+len(c.in.text) > 0 {
		out = chosen(out, pattern)
	}
	return out
}

func (c *invocation) lookup() flow {
	out := flow{}
	for _, a := range c.args {
		if a.taint&(fromSecret|fromSystem|fromFile|fromHost) != 0 && strings.Contains(a.text, ".") {
			c.report("exfil.dns", 0, c.at)
		}
		out.taint |= a.taint &^ fromFile
	}
	out.taint |= fromNet
	return out
}

// getent asks what a machine knows: of hosts, that is others.
func (c *invocation) getent() flow {
	if len(c.args) > 1 && strings.HasPrefix(c.args[0].text, "ahosts") || len(c.args) > 1 && c.args[0].text == "hosts" {
		return c.lookup()
	}
	return c.ordinary()
}

// dump gives out all of a database, or writes it to the file that an option names.
func (c *invocation) dump() flow {
	all := flow{taint: fromFile | fromStore}
	for i, a := range c.args {
		option, name, joined := strings.Cut(a.text, "=")
		switch {
		case joined && listed("--file --result-file --out --archive --outputdir", option):
			c.writeFile(flow{text: name, known: a.known}, all, false)
		case i+1 < len(c.args) && listed("-f --file -r --result-file -o --out", a.text):
			c.writeFile(c.args[i+1], all, false)
		}
	}
	return all
}

func (c *invocation) git() flow {
	c.gitDiscards()
	c.gitVerb()
	c.namesRemotes()
	for i, a := range c.args {
		t := a.text
		switch {
		case t == "-c" && i+1 < len(c.args):
			v := c.args[i+1].text
			_, cmd, ok := strings.Cut(v, "=")
			if ok && (strings.Contains(v, "sshCommand") || strings.Contains(v, "pager") || strings.Contains(v, "fsmonitor") || strings.Contains(v, "editor")) {
				c.inside(strings.TrimPrefix(cmd, "!"))
			}
		case t == "apply" || t == "am":
			c.patches()
		case t == "push":
			c.pushesElsewhere(c.args[i+1:])
		case t == "clone" && i+1 < len(c.args):
			c.clones(c.args[i+1:])
		case t == "add" && i > 0 && c.args[i-1].text == "submodule" && i+1 < len(c.args):
			c.clones(c.args[i+1:])
		case listed("fetch pull remote subtree", t):
			c.pulls(c.args[i+1:])
		case t == "run" && i > 0 && c.args[i-1].text == "bisect" && i+1 < len(c.args):
			return c.invoke(c.args[i+1:], flow{}, c.wrap+1)
		case t == "archive" || t == "bundle":
			return c.packs(c.args[i+1:])
		case listed("diff log show format-patch cat-file blame grep stash", t):
			return c.shownBy(c.args[i+1:])
		case isLogin(t):
			c.logsInto(t)
		case strings.HasPrefix(t, "ext::"):
			c.report("shell.escape", 0, c.at)
			c.inside(t[5:])
		case strings.HasPrefix(t, "--upload-pack=") || strings.HasPrefix(t, "--receive-pack="):
			_, cmd, _ := strings.Cut(t, "=")
			c.inside(cmd)
		}
	}
	return flow{}
}

// patches notes what a patch that comes in adds to files.
func (c *invocation) patches() {
	name := ""
	for line := range strings.Lines(c.in.text[:min(len(c.in.text), 64<<10)]) {
		if rest, ok := strings.CutPrefix(line, "+++ "); ok {
			name, _, _ = strings.Cut(strings.TrimPrefix(strings.TrimSpace(rest), "b/"), "\t")
			continue
		}
		if added, ok := strings.CutPrefix(line, "+"); ok && name != "" {
			before, _ := c.files.get(name)
			c.files.put(name, both(before, flow{text: added, known: true}))
		}
	}
}

// isLogin reports whether a text is a repository as ssh knows it: user@host:path.
func isLogin(t string) bool {
	login, _, ok := strings.Cut(t, ":")
	return ok && strings.Contains(login, "@") && !strings.ContainsAny(login, "/ ")
}

// gitDiscards judges that all that is not committed is thrown away, by whatever subcommand.
func (c *invocation) gitDiscards() {
	verb, staged, worktree, hard, all, named := "", false, false, false, false, false
	for i, a := range c.args {
		switch t := a.text; {
		case t == "-C" || t == "-c" || i > 0 && verb == "" && listed("-C -c", c.args[i-1].text):
		case t == "--staged" || t == "-S":
			staged = true
		case t == "--worktree" || t == "-W":
			worktree = true
		case t == "--hard":
			hard = true
		case strings.HasPrefix(t, "-"):
		case verb == "":
			verb = t
		case t == "." || t == ":/" || t == "*":
			all = true
		case !strings.HasPrefix(t, "HEAD"):
			named = true
		}
	}
	if verb == "checkout" && all || verb == "restore" && all && (!staged || worktree) || verb == "reset" && hard && !named {
		c.report("destroy.work", 0.4, c.at)
	}
	if verb == "clean" && !c.previews() {
		c.cleans()
	}
}

// cleans judges git clean: what git does not keep is gone, and with it settings and data that
// nothing else holds. A folder that is named is no more than rm -r of it.
func (c *invocation) cleans() {
	force, deep, named, seen := false, false, 0, false
	elsewhere := c.gives("GIT_DIR", "GIT_WORK_TREE") || c.cwd != "" && c.wide(c.cwd)
	for i, a := range c.args {
		t := a.text
		switch {
		case t == "clean" && !seen:
			seen = true
			elsewhere = elsewhere || i > 0
		case t == "--force":
			force = true
		case strings.HasPrefix(t, "--"):
		case strings.HasPrefix(t, "-"):
			force = force || strings.Contains(t, "f")
			deep = deep || strings.ContainsAny(t, "dxX")
		case !a.known || strings.ContainsAny(t, "*?[$~:") || strings.HasPrefix(t, "/") || strings.Contains("/"+t+"/", "/../") || strings.Trim(t, "./") == "":
			elsewhere = true
		case c.args[i-1].text != "-e" && c.args[i-1].text != "--exclude":
			named++
		}
	}
	switch {
	case !force, named > 0 && !elsewhere:
	case deep:
		c.report("destroy.work", 0.45, c.at)
	default:
		c.report("destroy.work", 0, c.at)
	}
}

// pushesElsewhere judges that a push names an address in the place of a remote, or a remote of
// which the script itself has said where it is. Without a name it goes to origin.
func (c *invocation) pushesElsewhere(args []flow) {
	p := readPush(args)
	for _, to := range p.repositories() {
		if address, ok := c.remotes[to]; ok {
			to = address
		}
		at, _, ok := strings.Cut(to, ":")
		if !strings.Contains(to, "://") && !(ok && strings.ContainsAny(at, "@.")) {
			continue
		}
		c.logsInto(to)
		c.report("exfil.upload", 0.1, c.at)
		_, named := c.remotes[p.repositories()[0]]
		if strings.Contains(to, "://") && stranger(to) || strings.Contains(at, "@") && stranger(at) || named && (p.wide || p.mirror) && p.repositories()[0] != "origin" {
			c.report("publish.elsewhere", 0, c.at)
		}
	}
}

// namesRemotes remembers where git is told that a remote is: by remote, by config, or for the
// one command. That a remote which is there gets another address is noted: what is pushed later
// goes there.
func (c *invocation) namesRemotes() {
	note := func(name, address string) {
		if c.remotes == nil {
			c.remotes = map[string]string{}
		}
		if len(c.remotes) < 64 {
			c.remotes[name] = address
		}
	}
	verb := slices.IndexFunc(c.args, func(a flow) bool { return a.text == "remote" || a.text == "config" })
	for i, a := range c.args {
		t := a.text
		if key, address, ok := strings.Cut(t, "="); ok && i > 0 && c.args[i-1].text == "-c" {
			if name, ok := remoteKey(key); ok {
				note(name, address)
			}
		}
		if name, ok := remoteKey(t); ok && verb >= 0 && i > verb && i+1 < len(c.args) {
			c.movesRemote(c.args[i+1].text)
			note(name, c.args[i+1].text)
		}
	}
	if verb < 0 || c.args[verb].text == "config" {
		return
	}
	var words []string
	for _, a := range c.args[verb+1:] {
		if !strings.HasPrefix(a.text, "-") {
			words = append(words, a.text)
		}
	}
	if len(words) < 3 || words[0] != "add" && words[0] != "set-url" {
		return
	}
	if words[0] == "set-url" {
		c.movesRemote(words[2])
	}
	note(words[len(words)-2], words[len(words)-1])
	note(words[1], words[2])
}

// remoteKey tells the name of a remote from the key under which its address is kept.
func remoteKey(key string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(key, "remote.")
	if !ok {
		return "", false
	}
	if name, ok = strings.CutSuffix(rest, ".pushurl"); ok {
		return name, true
	}
	return strings.CutSuffix(rest, ".url")
}

// movesRemote judges that a remote gets another address.
func (c *invocation) movesRemote(address string) {
	if stranger(address) || isLogin(address) && stranger(before(address, ':')) {
		c.logsInto(address)
		c.report("exfil.upload", 0.1, c.at)
	}
}

// packs is git archive and git bundle: all that somebody works on, in one piece.
func (c *invocation) packs(args []flow) flow {
	all := flow{taint: fromFile | fromStore | c.shownBy(args).taint}
	for i, a := range args {
		name, ok := strings.CutPrefix(a.text, "--output=")
		switch {
		case ok:
		case i > 0 && listed("-o --output create", args[i-1].text):
			name = a.text
		default:
			continue
		}
		c.writeFile(flow{text: name, known: a.known}, all, false)
		return flow{}
	}
	return all
}

// foreignFolder is a folder that others filled. What lies at home where people keep code is run
// every day, but not with the rights of an administrator; what a stranger gives is not run unasked.
type foreignFolder struct {
	name    string // "." is the one where the script is
	known   bool   // it came from where people keep code
	of      taint
	address string // from which it came, if that is said
	went    string // where the script was
}

// brings remembers a folder that others filled.
func (s *shell) brings(folder foreignFolder) {
	if folder.went = s.went; len(s.foreign) < 16 {
		s.foreign = append(s.foreign, folder)
	}
}

// clones remembers a folder into which a repository comes.
func (c *invocation) clones(args []flow) {
	var words []string
	for i, a := range args {
		if !strings.HasPrefix(a.text, "-") && (i == 0 || !listed("-b --branch --depth -o --origin -c --config -j --jobs --reference --template -u --upload-pack --filter", args[i-1].text)) {
			words = append(words, a.text)
		}
	}
	if len(words) == 0 {
		return
	}
	dir := strings.TrimSuffix(words[0], ".git")
	dir = dir[strings.LastIndexAny(dir, "/:")+1:]
	if len(words) > 1 {
		dir = words[1]
	}
	from := words[0]
	if strings.HasPrefix(from, "/") || strings.HasPrefix(from, ".") || strings.HasPrefix(from, "file:") {
		return // another clone of one's own
	}
	c.brings(foreignFolder{name: strings.TrimSuffix(dir, "/"), known: !stranger(from), of: brought([]string{from}), address: from})
}

// forge is a client of a place where repositories lie.
func (c *invocation) forge() flow {
	if c.verb() == "repo" && c.names("clone") {
		c.clones(c.args[1+slices.IndexFunc(c.args, func(a flow) bool { return a.text == "clone" }):])
	}
	return c.ordinary()
}

// isForeign says whether a file lies in such a folder, and so is not run without a question.
func (s *shell) isForeign(p string) bool {
	p = strings.TrimPrefix(p, "./")
	for _, dir := range s.foreign {
		if (!dir.known || s.elevated) && dir.holds(p) {
			return true
		}
	}
	return false
}

// holds says whether a file lies in the folder.
func (f foreignFolder) holds(p string) bool {
	return f.name == "." && !strings.HasPrefix(p, "/") && !strings.HasPrefix(p, "~") || p == f.name || strings.HasPrefix(p, f.name+"/")
}

func (c *invocation) container() flow {
	args, other := c.ofDaemon()
	c = &invocation{shell: c.shell, name: c.name, path: c.path, args: args, in: c.in, wrap: c.wrap}
	for _, a := range args {
		if a.text == "exec" || a.text == "run" {
			break // behind which stands what is no word of its own
		}
		if other && daemonLosses[a.text] {
			c.report("destroy.cloud", 0, c.at)
		}
	}
	mounts := false
	c.insideMounts()
	for i, a := range c.args {
		t := a.text
		v := t
		if _, after, ok := strings.Cut(t, "="); ok {
			v = after
		}
		if (t == "-v" || t == "--volume" || t == "--mount") && i+1 < len(c.args) {
			v = c.args[i+1].text
		}
		switch {
		case strings.HasPrefix(v, "/:/") || strings.Contains(v, "source=/,") || strings.Contains(v, "src=/,"):
			c.report("code.container_escape", 0.85, c.at)
			mounts = true
		case strings.Contains(v, "docker.sock"):
			c.report("code.container_escape", 0.5, c.at)
		case t == "--privileged" || t == "--cap-add=ALL" || t == "--cap-add=SYS_ADMIN" || t == "--pid=host":
			c.report("code.container_escape", 0.5, c.at)
		}
	}
	if len(c.args) > 2 && c.args[0].text == "exec" || len(c.args) > 3 && c.args[0].text == "compose" && c.args[1].text == "exec" {
		if words := c.inContainer(); len(words) > 0 {
			fed := c.fed
			c.fed = true // a shell there is opened to look around
			elsewhere := c.other
			c.other = c.other || other || hasWord(c.joined(c.args[:len(c.args)-len(words)]).text, inUse)
			c.kept(0.9, 0.36, func() { c.invoke(words, c.in, c.wrap+1) })
			c.fed, c.other = fed, elsewhere
		}
	}
	// What runs inside: docker exec name command, docker run image command.
	if len(c.args) > 1 && (c.args[0].text == "exec" || c.args[0].text == "run") && !mounts {
		for i := 1; i < len(c.args); i++ {
			if name := baseName(c.args[i].text); (listed("nc ncat netcat socat", name) || httpClients[name]) && i+2 < len(c.args) {
				c.kept(0.9, 0.8, func() { c.invoke(c.args[i:], flow{}, c.wrap+1) })
				break
			}
			if interpreters[baseName(c.args[i].text)].shell && i+1 == len(c.args) && c.in.taint&(fromNet|fromSocket|fromDecoder) != 0 {
				c.kept(0.85, 0, func() { c.invoke(c.args[i:], c.in, c.wrap+1) })
				break
			}
			if interpreters[baseName(c.args[i].text)].shell && i+2 < len(c.args) && strings.HasPrefix(c.args[i+1].text, "-") && strings.HasSuffix(c.args[i+1].text, "c") {
				c.kept(0.85, 0, func() { c.invoke(c.args[i:], flow{}, c.wrap+1) })
				break
			}
		}
	}
	return flow{}
}

// daemonLosses are subcommands of Docker by which what runs on another machine ends.
var daemonLosses = set("rm rmi stop kill down prune restart")

// ofDaemon are a command's words from its subcommand on, and whether they are for the Docker of
// another machine: an address, or a context whose name says that it is in use.
func (c *invocation) ofDaemon() (args []flow, other bool) {
	to := func(address string) bool {
		_, host, ok := strings.Cut(address, "://")
		host, _, _ = strings.Cut(host, ":")
		return ok && !strings.HasPrefix(address, "unix:") && !strings.HasPrefix(address, "npipe:") && !isLoopback(host)
	}
	other = to(c.vars["DOCKER_HOST"].text) || hasWord(c.vars["DOCKER_CONTEXT"].text, inUse)
	for i := 0; i < len(c.args); i++ {
		option, value, joined := strings.Cut(c.args[i].text, "=")
		if !strings.HasPrefix(option, "-") {
			return c.args[i:], other
		}
		if !listed("-H --host -c --context --connection --url --identity -l --log-level --config --tlscacert --tlscert --tlskey -n --namespace", option) {
			continue
		}
		if !joined && i+1 < len(c.args) {
			i++
			value = c.args[i].text
		}
		other = other || to(value) || listed("-c --context --connection", option) && hasWord(value, inUse)
	}
	return nil, other
}

// inContainer is the command that runs in a container that is there: what it deletes there is
// gone, too.
func (c *invocation) inContainer() []flow {
	args := c.args[1:]
	if c.args[0].text == "compose" {
		args = c.args[2:]
	}
	for i := 0; i < len(args); i++ {
		switch t := args[i].text; {
		case listed("-e --env -u --user -w --workdir --env-file --index --detach-keys", t):
			i++
		case strings.HasPrefix(t, "-"):
		default:
			return args[i+1:]
		}
	}
	return nil
}

// insideMounts reads what a container is told to do with a folder of this machine that it is
// given: by the folder's name here.
func (c *invocation) insideMounts() {
	var from, to []string
	for i, a := range c.args {
		v := a.text
		if _, after, ok := strings.Cut(v, "="); ok && strings.HasPrefix(v, "-") {
			v = after
		}
		if i == 0 || !strings.HasPrefix(a.text, "-") && c.args[i-1].text != "-v" && c.args[i-1].text != "--volume" && c.args[i-1].text != "--mount" {
			continue
		}
		host, inner, ok := strings.Cut(v, ":")
		for part := range strings.SplitSeq(v, ",") {
			if k, value, has := strings.Cut(part, "="); has && (k == "source" || k == "src") {
				host, ok = value, true
			} else if has && (k == "target" || k == "dst" || k == "destination") {
				inner = value
			}
		}
		inner, _, _ = strings.Cut(inner, ":")
		if ok && len(inner) > 1 && len(from) < 16 && c.wide(host) {
			from, to = append(from, strings.TrimSuffix(inner, "/")), append(to, strings.TrimSuffix(host, "/"))
		}
	}
	if len(from) == 0 {
		return
	}
	for i := 1; i < len(c.args); i++ {
		name := baseName(c.args[i].text)
		if !listed("rm find shred mv truncate rsync chmod chown tar", name) && !interpreters[name].shell {
			continue
		}
		args := append([]flow{}, c.args[i:]...)
		for k := range args {
			for m := range from {
				if strings.Contains(args[k].text, from[m]) {
					args[k].text = strings.ReplaceAll(args[k].text, from[m], to[m])
				}
			}
		}
		c.kept(1, 0.85, func() { c.invoke(args, flow{}, c.wrap+1) })
		return
	}
}

func (c *invocation) kubectl() flow {
	if c.in.text != "" && listed("apply create replace", c.verb()) {
		c.manifest(c.in.text)
	}
	for i, a := range c.args {
		if f, ok := c.files.get(a.text); ok && i > 0 && f.known {
			c.manifest(f.text)
		}
		if low := strings.ToLower(a.text); strings.Contains(low, `"hostpid"`) || strings.Contains(low, `"hostnetwork"`) || strings.Contains(low, `"privileged"`) {
			c.report("code.container_escape", 0.85, c.at)
		}
		if a.text == "--" && i+1 < len(c.args) {
			c.onOther(func() { c.invoke(c.args[i+1:], c.in, c.wrap+1) })
			return flow{}
		}
	}
	return flow{}
}

// verb is the first word that is no option.
func (c *invocation) verb() string {
	for _, a := range c.args {
		if !strings.HasPrefix(a.text, "-") {
			return a.text
		}
	}
	return ""
}

// manifest judges what a cluster is told to run: what has the node's own rights has the node.
func (c *invocation) manifest(text string) {
	squeezed := strings.ToLower(strings.Join(strings.Fields(strings.NewReplacer(`"`, "", "'", "").Replace(text[:min(len(text), 64<<10)])), ""))
	for _, sign := range []string{"hostpid:true", "hostnetwork:true", "hostipc:true", "privileged:true", "hostpath:{path:/}", "hostpath:path:/etc", "hostpath:path:/root", "docker.sock"} {
		if strings.Contains(squeezed, sign) {
			c.report("code.container_escape", 0.82, c.at)
		}
	}
}

func (c *invocation) archive() flow {
	out := flow{taint: c.in.taint &^ fromShell}
	c.unpacks()
	for _, a := range c.args {
		if a.text == "--remove-files" || c.name == "zip" && strings.HasPrefix(a.text, "-") && !strings.HasPrefix(a.text, "--") && strings.Contains(a.text, "m") {
			_, rest := c.split()
			c.loses(rest)
		}
	}
	dir := ""
	for i, a := range c.args {
		t := a.text
		if c.name == "tar" && i > 0 && listed("-C --directory", c.args[i-1].text) {
			dir = t
			continue
		}
		if strings.HasPrefix(t, "--checkpoint-action=exec=") || strings.HasPrefix(t, "--to-command=") || strings.HasPrefix(t, "--use-compress-program=") || strings.HasPrefix(t, "--rsh-command=") {
			_, cmd, _ := strings.Cut(t, "=")
			cmd = strings.TrimPrefix(cmd, "exec=")
			if obviousShell(cmd) {
				c.report("shell.escape", 0, c.at)
			}
			c.inside(cmd)
			continue
		}
		if strings.HasPrefix(t, "-") {
			continue
		}
		if dir != "" && !strings.HasPrefix(t, "/") && !strings.HasPrefix(t, "~") {
			t = strings.TrimSuffix(dir, "/") + "/" + t // as seen from there
		}
		if strings.ContainsAny(t, "/~.") || placeOf(t).name != "" || t == "*" {
			f := c.copied(t)
			if p := normalPath(t).text; c.wide(t) || p == "/" || p == "/etc" || p == "~" || p == "/home" || p == "/root" || p == "/var" || t == "*" && c.vars["PWD"].text == "/etc" {
				f.taint |= fromSystem
			}
			out.taint |= f.taint &^ fromFile
		}
	}
	if c.packsUp() {
		out.taint |= fromFile
		if slices.ContainsFunc(c.args, func(a flow) bool { return listed(". ./ * .git ./* .git/", a.text) }) {
			out.taint |= fromStore
		}
		c.packsInto(out)
	}
	return out
}

// unpacks remembers the folder into which an archive is unpacked that was downloaded.
func (c *invocation) unpacks() {
	of, dir := c.in.taint, "."
	if c.packsUp() {
		return
	}
	var archives []string
	for i, a := range c.args {
		if f, ok := c.files.get(a.text); ok {
			of |= f.taint
		}
		if strings.Contains(a.text, ".") && !strings.HasPrefix(a.text, "-") {
			archives = append(archives, a.text)
		}
		if i > 0 && listed("-C --directory -d", c.args[i-1].text) {
			dir = strings.TrimSuffix(a.text, "/")
		}
	}
	for _, archive := range archives[:min(len(archives), 4)] {
		if len(c.unpacked) < maxRan {
			c.unpacked = append(c.unpacked, [2]string{archive, dir})
		}
	}
	if of&fromNet != 0 {
		c.brings(foreignFolder{name: dir, known: of&(fromStranger|fromNobody) == 0, of: of})
	}
}

// packsUp reports whether an archive is made, and not looked into.
func (c *invocation) packsUp() bool {
	if len(c.args) == 0 {
		return false
	}
	first := strings.TrimPrefix(c.args[0].text, "-")
	switch c.name {
	case "unzip", "unrar", "unar":
		return false
	case "tar", "bsdtar", "gtar":
		return slices.ContainsFunc(c.args, func(a flow) bool { return listed("--create -c", a.text) }) || strings.Contains(first, "c") && !strings.HasPrefix(first, "-") && !strings.ContainsAny(first, "./=")
	case "7z", "7za", "7zz":
		return first == "a"
	case "cpio":
		return strings.Contains(first, "o")
	}
	return true // zip
}

// packsInto remembers the archive that is made.
func (c *invocation) packsInto(content flow) {
	for i, a := range c.args {
		name, ok := strings.CutPrefix(a.text, "--file=")
		switch {
		case ok:
		case c.name == "tar" && i > 0 && (c.args[i-1].text == "--file" || i == 1 && strings.HasSuffix(c.args[0].text, "f") || strings.HasPrefix(c.args[i-1].text, "-") && strings.HasSuffix(c.args[i-1].text, "f")):
			name = a.text
		case c.name != "tar" && c.name != "cpio" && i > 0 && !strings.HasPrefix(a.text, "-"), c.name == "zip" && !strings.HasPrefix(a.text, "-"):
			name = a.text
		default:
			continue
		}
		if name != "-" {
			content.known = false
			c.files.put(name, content)
			if content.taint&(fromSecret|fromSystem) != 0 {
				c.keepsIn(name) // whole homes hold them, too
			}
		}
		return
	}
}

func (c *invocation) aboutHost() flow { return flow{taint: fromHost} }

func (c *invocation) unset() flow {
	for _, a := range c.args {
		if strings.HasPrefix(a.text, "HIST") {
			c.report("log.history", 0, c.at)
		}
		if len(c.vars) > 0 {
			delete(c.vars, a.text)
		}
	}
	return flow{}
}

func (c *invocation) chattr() flow {
	for _, a := range c.args {
		if c.wide(a.text) {
			c.report("defense.immutable", 0.82, c.at)
		}
		if strings.HasPrefix(a.text, "/") || strings.HasPrefix(a.text, "~") {
			if pl := placeOf(normalPath(a.text).text); pl.write >= 0.7 {
				c.report("defense.immutable", 0.8, c.at)
			}
		}
	}
	return flow{}
}

// touch with a time or another file's times forges them.
func (c *invocation) touch() flow {
	options, rest := c.split()
	if has(options, "-r", "--reference") {
		ref := options["-r"].text + options["--reference"].text
		w := 0.35
		if strings.HasPrefix(ref, "/bin/") || strings.HasPrefix(ref, "/usr/bin/") || strings.HasPrefix(ref, "/etc/") || strings.HasPrefix(ref, "/lib") {
			w = 0.82
		}
		c.report("log.timestamps", w, c.at)
	} else if has(options, "-t", "-d", "--date") {
		w := 0.3
		// A file is seldom as old as that.
		for _, o := range []string{"-t", "-d", "--date"} {
			if v := options[o].text; strings.HasPrefix(v, "19") || strings.Contains(v, "1970") || strings.Contains(v, "1980") {
				w = 0.82
			}
		}
		c.report("log.timestamps", w, c.at)
	}
	for _, a := range rest {
		if pl := placeOf(normalPath(a.text).text); strings.HasPrefix(pl.writes, "persist.") && pl.write >= 0.8 {
			c.report(pl.writes, 0.4, c.at)
		}
	}
	return flow{}
}

// readWord sets variables from what comes in.
func (c *invocation) readWord() flow {
	options, rest := c.split()
	if v, ok := options["-a"]; ok && c.name == "read" {
		rest = append(rest, v)
	}
	for _, a := range rest {
		if isName(a.text) && len(c.vars) < 1024 {
			c.vars[a.text] = flow{text: "$" + a.text, taint: c.in.taint}
			if line := strings.TrimSpace(c.in.text); line != "" && !strings.Contains(line, "\n") {
				c.vars[a.text] = flow{text: line, taint: c.in.taint}
			}
		}
	}
	return flow{}
}

// packageScript finds what a package's scripts run.
var packageScript = lazyregexp.New(`"[\w:.-]+"\s*:\s*"((?:[^"\\]|\\.)*)"`)

// installScript finds what a package runs when it is installed.
var installScript = lazyregexp.New(`"(?:pre|post)?(?:install|prepare)"\s*:\s*"((?:[^"\\]|\\.)*)"`)

func (c *invocation) packages() flow {
	if f, ok := c.files.get("package.json"); ok && c.name == "npm" && listed("i install ci add", c.verb()) {
		for _, m := range installScript.FindAllStringSubmatch(f.text[:min(len(f.text), 64<<10)], 8) {
			c.inside(unquoteDouble(m[1]))
		}
	}
	if c.name == "cpan" && (c.in.text != "" && strings.Contains(c.in.text, "exec")) {
		c.report("shell.escape", 0, c.at)
	}
	for _, a := range c.args {
		low := strings.ToLower(a.text)
		if strings.HasPrefix(low, "http://") {
			c.report("shell.download_run", 0.5, c.at)
		}
		if strings.HasPrefix(low, "--index-url=http:") || strings.HasPrefix(low, "--registry=http:") {
			c.report("shell.download_run", 0.5, c.at)
		}
	}
	return flow{}
}

// database gives SQL on the command line to where SQL is judged.
// changesRows is a query that changes what a database holds.
var changesRows = lazyregexp.New(`(?i)\b(?:insert|replace)\s+into\b|\bupdate\s+\S+\s+set\b|\bdelete\s+from\b|\b(?:drop|alter|create)\s+table\b`)

func (c *invocation) database() flow {
	options, rest := c.split()
	for _, o := range []string{"-e", "--execute", "-c", "--command", "-Q", "-q"} {
		if v, ok := options[o]; ok {
			c.sql(v.text, c.at)
			if rest, ok := strings.CutPrefix(strings.TrimSpace(v.text), "system "); ok {
				c.inside(rest)
			}
			if _, rest, ok := strings.Cut(v.text, `\!`); ok {
				c.inside(rest)
			}
		}
	}
	for _, order := range []string{".shell ", ".system "} {
		if _, rest, ok := strings.Cut(c.in.text, order); ok && c.name == "sqlite3" {
			c.inside(rest)
		}
	}
	if c.in.known && isSQL(c.in.text) {
		c.sql(c.in.text, c.at)
	}
	for _, a := range c.args { // each by itself: an option can be given more than once
		text := a.text
		if strings.HasPrefix(text, "--") {
			_, text, _ = strings.Cut(text, "=")
		}
		if isSQL(text) {
			c.sql(text, c.at)
		}
	}
	for _, o := range []string{"-f", "--file"} { // a file of orders that the call itself wrote
		if f, ok := c.files.get(options[o].text); ok && isSQL(f.text) {
			c.sql(f.text, c.at)
		}
	}
	if c.name == "sqlite3" {
		for i, a := range rest {
			c.readFile(a)
			if pl := placeOf(normalPath(a.text).text); i == 0 && pl.writes != "" && changesRows.MatchString(c.joined(rest[1:]).text+"\n"+c.in.text) {
				c.report(pl.writes, pl.write, c.at)
			}
			if strings.HasPrefix(strings.TrimSpace(a.text), ".shell") || strings.HasPrefix(strings.TrimSpace(a.text), ".system") {
				c.report("shell.escape", 0, c.at)
			}
		}
	}
	if c.in.text != "" {
		if _, after, ok := strings.Cut(c.in.text, `\!`); ok {
			c.inside(after)
		}
	}
	return flow{taint: c.in.taint}
}
