package hazard

import (
	"path"
	"slices"
	"strings"
)

// Programs that copy, move and link: cp, rsync, scp.

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
	for _, o := range []string{"-m", "--mode"} {
		if mode, ok := options[o]; ok && c.name == "install" && givesIdentity(mode.text) {
			c.report("priv.setuid", 0.8, c.at)
		}
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
		if c.name == "mv" && path.Base(normalPath(a.text).text) == ".git" {
			c.report("destroy.work", 0.45, c.at) // with all that was ever committed
		}
		if had, ok := c.getFile(a.text); ok {
			f = had
		} else if a.text == "/dev/null" {
			f.known = true
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
		if c.mirrors(options, to.text); !has(options, "-n", "--dry-run", "--list-only") {
			c.sends(content, c.at)
		}
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
	if c.name == "ln" {
		at := path.Join(c.went, to.text)
		if isGitHook(at) || isGitHook(at+"/x") {
			c.report("persist.write", 0.45, c.at) // whoever writes the file later has git run it
		}
	}
	for _, a := range from {
		if f, there := c.getFile(a.text); !(there && f.text != "") && len(c.copies) < maxRan {
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
		c.same = c.isCalled(to.text, from[0].text) || c.name != "ln" && ownTools[path.Base(to.text)] && path.Base(to.text) == path.Base(from[0].text)
		defer func() { c.same = false }()
	}
	c.writeFile(flow{text: strings.TrimSuffix(to.text, "/"), known: to.known}, content, false)
	if len(from) == 1 && !c.same {
		c.putsCopy(from[0].text, to.text)
	}
	// Into a directory: the place of the file in it counts too.
	name := from[0].text[strings.LastIndexAny(from[0].text, "/:")+1:]
	if content.taint&fromNet != 0 && name != "" {
		c.putFile(strings.TrimSuffix(to.text, "/")+"/"+name, content)
	}
	to.text = c.through(to.text, c.name != "ln" && c.name != "mv")
	if inside := normalPath(strings.TrimSuffix(to.text, "/") + "/" + name).text; c.shadows(inside) && !ownTools[name] && !strings.HasPrefix(from[0].text, "/") {
		c.report("code.library_hijack", 0.6, c.at)
	}
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

// mirrors judges that rsync takes away on another machine what is not here, where that one is not for trying things.
func (c *invocation) mirrors(options map[string]flow, to string) {
	deletes := false
	for o := range options {
		deletes = deletes || strings.HasPrefix(o, "--del")
	}
	host := before(strings.TrimPrefix(to, "rsync://"), ':')
	if c.name == "rsync" && deletes && !has(options, "-n", "--dry-run", "--list-only") && !isLoopback(host[strings.LastIndexByte(host, '@')+1:]) && !hasWord(host, rehearsing) {
		c.takesAwayThere()
	}
}

// takesAwayThere reports that a copy takes away where it goes what is not here.
func (c *invocation) takesAwayThere() {
	c.reportSaying("destroy.store", 0.45, c.at, "What another machine has and this one has not is deleted there.")
}

// cameFrom reports whether the script moved a file away from where a link to it is made now, and put
// nothing into it since.
func (c *invocation) cameFrom(file, link string) bool {
	if f, ok := c.getFile(file); ok && f.text != "" {
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

// ownTools are programs that come from their makers, and not with the system: who puts one of them
// among the programs under its name puts it in no other's place.
var ownTools = set("kubectl docker node npm")

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
			written, _ := c.getFile(v.text)
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
			reverse, deletes, shows := false, false, false
			for _, w := range words[1:] {
				w = strings.Trim(w, `"'`)
				short := strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--")
				reverse, deletes, shows = reverse || w == "--reverse" || short && strings.Contains(w, "R"), deletes || w == "--delete" || short && strings.Contains(w, "e"), shows || w == "--dry-run"
				sent.taint |= c.readFile(flow{text: w, known: true}).taint | c.asWhole(w)
			}
			if words[0] == "mirror" && reverse && deletes && !shows {
				c.takesAwayThere()
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
	if key := globbedKeys(p); key != "" {
		p = key
	}
	f := normalPath(p)
	pl := placeOf(f.text)
	out := flow{taint: fromFile | c.unnamed(flow{text: p, known: true})}
	if pl.read >= 0.3 {
		out.taint |= fromSecret | fromPlace
	}
	if strings.HasPrefix(pl.reads, "secret.") && pl.read >= 0.6 {
		c.report(pl.reads, pl.read, c.at)
	} else if c.holdsSecrets(f.text) || builtin().places.above[strings.TrimSuffix(f.text, "/*")] {
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
