package hazard

import (
	"path"
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/lazyregexp"
)

// Programs that take away: rm, shred, dd, truncate.

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
	for i, a := range rest {
		// ~/"$f", where a listing gave $f: the names that it gives lie there, or it gives whole paths.
		if at := strings.LastIndex(a.text, "/~/"); at >= 0 && !a.known {
			rest[i].text = a.text[at+1:]
			a = rest[i]
		}
		if recursive && c.computed(a) {
			c.report("destroy.unknown", 0, c.at)
		}
		if recursive && strings.HasPrefix(a.text, "~$") { // a home, whoever's
			c.report("destroy.system", 0, c.at)
		}
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

// computed reports whether a folder is put together by a command of which nobody knows what it says, or is
// the one in which the shell was before: it may be anything. What only gives names that lie in a folder
// gives no such one.
func (c *invocation) computed(a flow) bool {
	name := strings.TrimSuffix(strings.TrimSuffix(a.text, "*"), "/")
	for strings.HasSuffix(name, "/..") {
		name = strings.TrimSuffix(name, "/..")
	}
	switch {
	case a.known || a.taint&(fromTree|fromFile) != 0:
		return false
	case name == "$()":
		return true
	}
	_, set := c.vars["OLDPWD"]
	return name == "$OLDPWD" && !set
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

// keptFolders are those of ownFolders in which people keep what they made or were given, and
// workFolders those that have a folder for each piece of their work.
var (
	keptFolders = set("documents pictures photos music videos movies desktop notes backup backups vault obsidian .password-store")
	workFolders = set("projects project code src source sources work workspace workspaces repos repositories dev development git github gitlab")
)

// belongings reports whether a path lies in a folder in which people keep what is theirs, and
// not in the one that the agent works in.
func (a *assessor) belongings(place string) bool {
	own, ok := strings.CutPrefix(place, "~/")
	first, _, below := strings.Cut(own, "/")
	return ok && below && keptFolders[strings.ToLower(first)] && !a.inOwnFolder(place)
}

// inOwnFolder reports whether a path lies in the folder that the agent works in.
func (a *assessor) inOwnFolder(place string) bool {
	began := strings.TrimRight(normalPath(a.began).text, "/")
	return !a.abroad && began != "" && began != "~" && strings.HasPrefix(place, began+"/")
}

// wholeWork reports whether a path below somebody's home is that of a whole piece of work, and not
// of something that is made anew.
func (a *assessor) wholeWork(own string) bool {
	first, name, _ := strings.Cut(strings.TrimSuffix(own, "/*"), "/")
	return name != "" && !strings.Contains(name, "/") && workFolders[strings.ToLower(first)] && !madeAnew[name] && !a.inOwnFolder("~/"+own)
}

// madeAnew are the folders of a project that its programs make again.
var madeAnew = set("node_modules build dist target out bin obj vendor coverage tmp temp log logs cache .cache .venv venv env .tox .next .nuxt .gradle .idea .pytest_cache __pycache__ .terraform Pods DerivedData")

// ofRepository reports whether a path is one of those in which a repository keeps what was committed, and
// which commits are whose: what else lies there git makes anew, or people put there.
func ofRepository(p string) bool {
	_, inside, ok := strings.Cut("/"+p, "/.git/")
	inside = strings.TrimSuffix(inside, "/*")
	return ok && (listed("HEAD objects objects/pack refs refs/heads refs/tags packed-refs logs", inside) || strings.HasPrefix(inside, "objects/pack/"))
}

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
	if own, ok := strings.CutPrefix(place, "~/"); ok && (recursive || strings.HasSuffix(own, "/*")) && ownFolders[strings.ToLower(strings.TrimSuffix(own, "/*"))] {
		a.report("destroy.work", 0.5, at)
	} else if ok && (recursive && a.wholeWork(own) || a.belongings(place)) {
		a.report("destroy.work", 0.45, at)
	}
	all := recursive || strings.HasSuffix(f.text, "/*")
	if all && (rooted && holdsStores(f.text) || a.other && holdsStores(place) && !madeAnew[path.Base(place)]) {
		a.report("destroy.store", 0, at)
	}
	if all {
		a.removesAfar(p, at)
	}
	if all && a.other && ofDevice(f.text) {
		a.reportSaying("destroy.store", 0, at, "What somebody keeps on a device is deleted.")
	}
	if recursive && (f.text == ".git" || strings.HasSuffix(f.text, "/.git")) {
		a.report("destroy.work", 0.45, at) // with all that was ever committed
	}
	if ofRepository(f.text) {
		a.report("destroy.work", 0.45, at)
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

// removingTools are words in the names of tools that take away what they are given.
var removingTools = set("delete remove rm rmdir unlink trash erase purge wipe destroy")

// removedByTool judges what a tool takes away that is no shell: it is what rm would do. What has no
// ending may be a folder, whatever the tool is called.
func (a *assessor) removedByTool(c *call) {
	if !anyOf(c.words, removingTools) && (c.kind.runs || !c.isToldTo(removingTools)) {
		return
	}
	for i := range c.leaves {
		l := &c.leaves[i]
		if l.role != rolePath && (l.role != roleUnknown || formOf(l.Text) != rolePath) {
			continue
		}
		at := span{0, len(l.Text)}
		if a.pointer, a.size = l.Pointer, len(l.Text); a.wide(l.Text) {
			a.report("destroy.system", 0, at)
			continue
		}
		base := path.Base(slashed(l.Text))
		a.removes(l.Text, strings.HasPrefix(base, ".") || path.Ext(base) == "", at)
	}
}

// isToldTo reports whether an argument of a tool that does several things says that it does one of these.
func (c *call) isToldTo(verbs map[string]bool) bool {
	return slices.ContainsFunc(c.leaves, func(l leaf) bool {
		return listed("op operation action verb method command mode do", c.nameOf(&l)) && len(l.Text) < 32 && !strings.ContainsAny(strings.TrimSpace(l.Text), " \t\n/.") && anyOf(words(l.Text), verbs)
	})
}

// emptiedByTool judges that a tool writes a file of which nothing is left: what was in it is gone as if it
// had been removed.
func (a *assessor) emptiedByTool(c *call) {
	if !c.kind.writes || c.kind.runs || c.kind.code || c.path == "" || anyOf(c.words, partly) {
		return
	}
	contents, empty := 0, 0
	for i := range c.leaves {
		l := &c.leaves[i]
		if l.role == roleContent || listed("content contents text filetext data", c.nameOf(l)) {
			if contents++; strings.TrimSpace(l.Text) == "" {
				empty++
			}
		}
	}
	if contents == 0 && slices.ContainsFunc(c.args, func(arg act.Argument) bool { // of which there is no text
		return listed("content contents text file_text data", strings.ToLower(arg.Name)) && strings.TrimSpace(string(arg.Value)) == `""`
	}) {
		contents, empty = 1, 1
	}
	if contents > 0 && contents == empty {
		a.pointer, a.size = "", 0
		a.removes(c.path, false, span{})
	}
}

// partly are words in the names of tools that change a part of a file.
var partly = set("edit append insert replace update patch str delete remove move rename create mkdir multi")

// ofDevice reports whether a path is where a phone keeps what its owner has, and not what one app, or a test, made.
func ofDevice(p string) bool {
	for _, card := range []string{"/sdcard", "/storage/emulated", "/storage/self", "/mnt/sdcard", "/data/media"} {
		if rest, ok := strings.CutPrefix(p, card); ok && (rest == "" || rest[0] == '/') {
			return !strings.Contains(rest, "/Android/data/") && !strings.Contains(rest, "/Android/media/") && !hasWord(rest, rehearsalWords)
		}
	}
	return false
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

// takenOut is a device that may be a card or a stick, and is not where systems are started from: which
// it is, only the machine knows.
var takenOut = lazyregexp.New(`^/dev/(?:sd[b-z]\d*|mmcblk\d+(?:p\d+)?|r?disk(?:[2-9]|\d\d)(?:s\d+)?)$`)

// formatsTakenOut reports whether all devices that the command is told of may be cards or sticks.
func (c *invocation) formatsTakenOut() bool {
	named := false
	for _, a := range c.args {
		if strings.Contains(a.text, "/dev/") {
			if named = true; !a.known || !takenOut.MatchString(a.text) {
				return false
			}
		}
	}
	return named
}

func (c *invocation) dd() flow {
	in, out := flow{taint: c.in.taint, text: c.in.text, known: c.in.known}, ""
	empties, names := false, taint(0)
	for _, a := range c.args {
		k, v, _ := strings.Cut(a.text, "=")
		switch k {
		case "if":
			empties = v == "/dev/zero" || v == "/dev/urandom" || v == "/dev/random"
			in = c.readFile(flow{text: v, known: a.known})
		case "of":
			out, names = v, a.taint
		}
	}
	if out == "" {
		if c.recodes() {
			in.taint |= inOtherForm(in.taint)
		}
		return in
	}
	if pl := placeOf(out); strings.HasPrefix(pl.name, "/dev/") && pl.write > 0 {
		switch {
		case empties:
			c.report("destroy.disk", 0.82, c.at)
		case takenOut.MatchString(out):
			c.report("destroy.device", 0, c.at)
		default:
			c.report("destroy.format", 0, c.at)
		}
		return flow{}
	}
	if empties {
		in = flow{}
		c.removes(out, false, c.at)
	}
	c.writeFile(flow{text: out, known: true, taint: names}, in, false)
	return flow{}
}

func (c *invocation) truncate() flow {
	_, rest := c.split()
	for _, a := range rest {
		c.writeFile(a, flow{known: true}, false)
	}
	return flow{}
}

// makesTemporary is mktemp: it prints the name of a file or a folder that it makes, among the temporary
// ones unless it is told where.
func (c *invocation) makesTemporary() flow {
	for _, a := range c.args {
		if strings.ContainsAny(a.text, "/~$") {
			return c.ordinary()
		}
	}
	if dir := strings.TrimSuffix(c.path, "mktemp"); dir != "" && dir != "/bin/" && dir != "/usr/bin/" || c.vars["PATH"].text != "" {
		return flow{text: "/tmp/$mktemp"} // somebody's own program of that name may print any
	}
	return flow{text: "/tmp/" + NewName}
}

// NewName stands for the name of what mktemp makes: whatever lies there already has another. No
// variable's value can make this text lead to something else.
const NewName = "$mktemp.newly-made"

// overwrites judges that what lies under a name is overwritten with something else: of one file that is
// daily work, of all that somebody works on, or of a folder in which people keep theirs, it is what
// removing it would be, by another way.
func (s *shell) overwrites(w flow, p string) {
	dir, below := strings.CutSuffix(p, "/*")
	name, variable := strings.CutPrefix(p, "$")
	switch {
	case below && s.wide(dir):
		s.report("destroy.system", 0, s.at)
	case below && strings.HasPrefix(p, "~"):
		s.removes(p, true, s.at)
	case w.taint&fromTree != 0 && variable && (name == "()" || isName(name)), listed("* ./* ** **/* ./**/*", p):
		s.report("destroy.work", 0.45, s.at)
	}
}

// leavesNothing reports whether a program that edits in place leaves nothing of a file, whatever
// language it is in.
func leavesNothing(program string) bool {
	squeezed := strings.Trim(strings.Join(strings.Fields(program), ""), "{};'\"")
	return listed(`d 1,$d %d %delete normalggdG s/.*// s/.*//g s/.*//s s/.*//sg s/.*//gs s/^.*$// 0 $_="" $_='' undef$_`, squeezed)
}
