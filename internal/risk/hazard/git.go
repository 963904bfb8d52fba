package hazard

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// git, and where repositories come from and go to.

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
		case t == "ls-files" && !c.names("--exclude-standard") && slices.ContainsFunc(c.args, func(a flow) bool {
			return listed("--others --ignored", a.text) || len(a.text) > 1 && a.text[0] == '-' && a.text[1] != '-' && strings.ContainsAny(a.text, "oi")
		}):
			return flow{taint: fromTree | c.listsAlong(".", true)}
		case listed("ls-files ls-tree status worktree", t):
			return flow{taint: fromTree}
		case t == "stash" && c.names("show", "apply") && c.stashedAlong:
			return flow{taint: fromFile | fromAlong}
		case t == "stash" && c.names("-u", "--include-untracked", "-a", "--all") && !c.names("show", "list", "pop", "drop"):
			c.stashedAlong = c.stashedAlong || c.takesAlong(".") != 0
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

// isLogin reports whether a text is a repository as ssh knows it: user@host:path.
func isLogin(t string) bool {
	login, _, ok := strings.Cut(t, ":")
	return ok && strings.Contains(login, "@") && !strings.ContainsAny(login, "/ ")
}

// gitDiscards judges that what is not committed is thrown away, by whatever subcommand and whatever
// spelling: no undo of git brings it back. Commits it keeps for weeks, but for a branch that others
// build on somebody is asked. To be what a remote has is daily work.
func (c *invocation) gitDiscards() {
	settings, words := gitCall(c.args)
	if len(words) == 0 {
		return
	}
	verb, args := words[0].text, words[1:]
	w := gitArgs{}
	for i, a := range args {
		w.add(a.text, a.text == "--" || i > 0 && slices.ContainsFunc(args[:i], func(b flow) bool { return b.text == "--" }))
	}
	lost, says := false, ""
	switch verb {
	case "checkout":
		lost = w.all
	case "restore":
		lost = w.all && (!w.has("S", "--staged", 4) || w.has("W", "--worktree", 3))
	case "reset":
		lost = w.has("", "--hard", 4) && !(len(w.names) == 1 && c.trackedBranch(w.names[0]))
	case "read-tree":
		lost = w.has("", "--reset", 4) && w.has("u", "", 0)
	case "checkout-index":
		lost = w.has("f", "--force", 3) && w.has("a", "--all", 3)
	case "rm":
		lost = w.all && w.has("f", "--force", 3) && !w.has("", "--cached", 3) && !w.has("n", "--dry-run", 4)
	case "branch":
		moved := w.has("D", "", 0) || w.has("M", "", 0) || w.has("C", "", 0) || w.has("f", "--force", 3)
		lost = moved && slices.ContainsFunc(w.names, func(name string) bool { return sharedBranch(strings.ToLower(name)) })
	case "update-ref":
		lost = len(w.names) > 1 && sharedBranch(strings.TrimPrefix(strings.ToLower(w.names[0]), "refs/heads/"))
	case "fetch", "pull":
		forced := w.has("f", "--force", 3)
		lost = !c.inMirror() && len(w.names) > 1 && slices.ContainsFunc(w.names[1:], func(spec string) bool { return takesBranches(spec, forced, w.has("p", "--prune", 4)) })
	case "config":
		lost = !c.inMirror() && len(w.names) > 1 && fetchKey(w.names[len(w.names)-2]) && takesBranches(w.names[len(w.names)-1], false, true)
	case "clean":
		if !c.previews() {
			c.cleans()
		}
	}
	for _, s := range settings {
		lost = lost || !c.inMirror() && listed("fetch pull remote", verb) && fetchKey(s[0]) && takesBranches(s[1], false, true)
	}
	if listed("fetch pull remote config", verb) {
		says = "Branches that are here are overwritten with what another repository has."
	}
	if lost {
		c.reportSaying("destroy.work", 0.4, c.at, says)
	}
}

// takesBranches reports whether what is fetched is put in the place of branches of one's own, whatever they had:
// by force, or with those taken away that the remote has not. To a remote's own names all may be fetched; a branch
// may be what the remote's of its name is, and one for looking at a change what that change is.
func takesBranches(spec string, forced, prunes bool) bool {
	from, to, named := strings.Cut(spec, ":")
	forced = forced || strings.HasPrefix(from, "+")
	all := strings.Contains(to, "*")
	from = strings.TrimPrefix(strings.TrimPrefix(from, "+"), "refs/")
	if !named || to == "" || !forced && !(prunes && all) || strings.HasPrefix(from, "pull/") || strings.HasPrefix(from, "merge-requests/") {
		return false
	}
	if !all && strings.TrimPrefix(from, "heads/") == strings.TrimPrefix(to, "refs/heads/") {
		return false
	}
	return !strings.HasPrefix(to, "refs/") || strings.HasPrefix(to, "refs/heads/") || to == "refs/*"
}

// fetchKey reports whether a setting says what git fetches from a remote, and to where.
func fetchKey(key string) bool {
	key = strings.ToLower(key)
	return strings.HasPrefix(key, "remote.") && strings.HasSuffix(key, ".fetch")
}

// inMirror reports whether git works on a repository in which nobody works, by its name.
func (c *invocation) inMirror() bool {
	mirror := func(p string) bool {
		return strings.HasSuffix(strings.TrimSuffix(p, "/"), ".git") && path.Base(p) != ".git"
	}
	for i, a := range c.args {
		if value, ok := strings.CutPrefix(a.text, "--git-dir="); ok && mirror(value) || i > 0 && listed("-C --git-dir", c.args[i-1].text) && mirror(a.text) {
			return true
		}
	}
	return mirror(c.cwd)
}

// gitArgs are the words behind a subcommand of git.
type gitArgs struct {
	letters string   // of the options of one letter
	long    []string // the others
	names   []string // what is no option
	all     bool     // one of them is all that lies in the folder
}

// add sorts one word; behind -- it is no option.
func (w *gitArgs) add(t string, path bool) {
	name, _, _ := strings.Cut(t, "=")
	switch {
	case t == "--":
	case !path && strings.HasPrefix(t, "--"):
		w.long = append(w.long, name)
	case !path && strings.HasPrefix(t, "-"):
		w.letters += t[1:]
	default:
		w.all = w.all || listed(". ./ * ./* :/ :/* :/. :(top) :/** **", t)
		w.names = append(w.names, t)
	}
}

// has reports whether an option is there, by its letter or by its name, which may be cut short.
func (w *gitArgs) has(letter, name string, least int) bool {
	return letter != "" && strings.Contains(w.letters, letter) || slices.ContainsFunc(w.long, func(o string) bool {
		return name != "" && len(o) >= least && strings.HasPrefix(name, o)
	})
}

// trackedBranch reports whether a revision is a branch as a remote has it.
func (c *invocation) trackedBranch(revision string) bool {
	if listed("@{u} @{upstream} @{push} FETCH_HEAD", strings.ToLower(revision)) || revision == "FETCH_HEAD" {
		return true
	}
	remote, branch, ok := strings.Cut(strings.TrimPrefix(revision, "refs/remotes/"), "/")
	_, named := c.remotes[remote]
	return ok && branch != "" && (named || listed("origin upstream", remote)) && !strings.ContainsAny(branch, "~^@{:$*")
}

// cleans judges git clean: what git does not keep is gone, and with it settings and data that
// nothing else holds. A folder that is named is no more than rm -r of it.
func (c *invocation) cleans() {
	force, named, seen := false, 0, false
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
		case !a.known || strings.ContainsAny(t, "*?[$~:") || strings.HasPrefix(t, "/") || strings.Contains("/"+t+"/", "/../") || strings.Trim(t, "./") == "":
			elsewhere = true
		case c.args[i-1].text != "-e" && c.args[i-1].text != "--exclude":
			named++
		}
	}
	switch lost, known := c.wouldSweep(); {
	case !force || named > 0 && !elsewhere:
	case elsewhere || !known:
		c.report("destroy.work", 0.45, c.at)
	case len(lost) > 0:
		c.reportSaying("destroy.work", 0.45, c.at, fmt.Sprintf("Files are deleted that git does not have, such as %.80q.", lost[0]))
	}
}

// wouldSweep is what git clean would take that no build makes again, as the disk said before the call.
func (c *invocation) wouldSweep() (lost []string, known bool) {
	if c.swept == nil || c.moved || c.other || c.cwd != c.start || len(c.files) > 0 || len(c.removed) > 0 {
		return nil, false
	}
	lost = slices.Clone(c.swept.Untracked)
	var kept []string
	for i, a := range c.args[1:] {
		short := strings.HasPrefix(a.text, "-") && !strings.HasPrefix(a.text, "--")
		switch {
		case !a.known:
			return nil, false
		case c.args[i].text == "-e" || c.args[i].text == "--exclude":
			kept = append(kept, strings.Trim(a.text, "/"))
		case strings.HasPrefix(a.text, "--exclude="):
			kept = append(kept, strings.Trim(strings.TrimPrefix(a.text, "--exclude="), "/"))
		case short && strings.Contains(a.text, "X"):
			lost = slices.Clone(c.swept.Ignored)
		case short && strings.Contains(a.text, "x"):
			lost = append(lost, c.swept.Ignored...)
		}
	}
	return slices.DeleteFunc(lost, func(name string) bool {
		return slices.ContainsFunc(kept, func(k string) bool {
			return k != "" && !strings.ContainsAny(k, "*?[!") && (name == k || strings.HasPrefix(name, k+"/") || path.Base(name) == k)
		})
	}), true
}

// pushesElsewhere judges that a push names an address in the place of a remote, or a remote of
// which the script itself has said where it is. Without a name it goes to origin.
func (c *invocation) pushesElsewhere(args []flow) {
	p := readPush(args)
	places := p.repositories()
	if len(p.words) == 0 && !p.named {
		places = append(places, usualRemote)
	}
	for _, to := range append(places, anyRemote) {
		if len(c.pushedTo) < 8 {
			c.pushedTo = append(c.pushedTo, RemoteName(to))
		}
		for range 2 { // a setting may name another remote
			if address, ok := c.remotes[to]; ok {
				to = address
			}
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
			if base, ok := insteadKey(key); ok {
				note(anyRemote, base)
			}
		}
		if base, ok := insteadKey(t); ok && verb >= 0 && i > verb && i+1 < len(c.args) {
			note(anyRemote, base)
		}
		if name, ok := remoteKey(t); ok && verb >= 0 && i > verb && i+1 < len(c.args) {
			c.movesRemote(c.args[i+1].text)
			note(name, c.args[i+1].text)
		}
		if verb >= 0 && i > verb && i+1 < len(c.args) && setsPushPlace(t) {
			note(usualRemote, c.args[i+1].text)
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

// insteadKey tells the address that a setting has take the place of another.
func insteadKey(key string) (base string, ok bool) {
	rest, ok := strings.CutPrefix(key, "url.")
	if !ok {
		return "", false
	}
	dot := strings.LastIndexByte(rest, '.')
	if dot < 0 || !listed("insteadof pushinsteadof", strings.ToLower(rest[dot+1:])) {
		return "", false
	}
	return rest[:dot], true
}

// usualRemote stands for the remote to which a push goes that names none, where a setting says which, and
// anyRemote for each, of which a setting changes the address.
const (
	usualRemote = ""
	anyRemote   = "*"
)

// setsPushPlace reports whether a setting says where a push goes that names no remote.
func setsPushPlace(key string) bool {
	key = strings.ToLower(key)
	return key == "remote.pushdefault" || strings.HasPrefix(key, "branch.") && (strings.HasSuffix(key, ".pushremote") || strings.HasSuffix(key, ".remote"))
}

// RemoteName is the name by which a session remembers where a remote of git is.
func RemoteName(remote string) string { return "git remote " + remote }

// isStrange reports whether an address of a repository is of a host where people do not keep theirs.
func isStrange(address string) bool {
	if strings.Contains(address, "://") {
		return stranger(address)
	}
	at, _, ok := strings.Cut(address, ":")
	return ok && strings.Contains(at, "@") && stranger(at)
}

// remotesAsFiles are the remotes of which a call says where they are, as files by their names, and how grave it is to push there;
// who has named the address the session knows. One that is said to be another is as grave as that.
func remotesAsFiles(remotes map[string]string) (files []File) {
	for name, address := range remotes {
		f := File{Name: RemoteName(name), Sure: true}
		switch {
		case !strings.ContainsAny(address, ":/."):
			f.Takes = []string{RemoteName(address)}
		case isStrange(address):
			f.Weight, f.Inside = 0.6, 0.6
		default:
			f.From = address
		}
		files = append(files, f)
	}
	return files
}

// keepsRemotes reports whether a file holds settings of git, by its name, or by sections that say where
// remotes are: settings may take in a file of any name.
func keepsRemotes(name, text string) bool {
	p := "/" + slashed(name)
	return strings.HasSuffix(p, "/.git/config") || strings.HasSuffix(p, "/.gitconfig") || strings.HasSuffix(p, "/git/config") || strings.Contains(text, "[remote \"") || strings.Contains(text, "[url \"")
}

// remotesWritten are the remotes that settings of git name which are written to a file, or of which an
// edit changes the address alone.
func remotesWritten(text string) map[string]string {
	remotes, name, base := map[string]string{}, "origin", ""
	for line := range strings.Lines(text[:min(len(text), 64<<10)]) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			_, quoted, _ := strings.Cut(line, `"`)
			if quoted, _, _ = strings.Cut(quoted, `"`); strings.HasPrefix(line, `[remote "`) {
				name = quoted
			} else if base = ""; strings.HasPrefix(line, `[url "`) {
				base = quoted
			}
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
		switch {
		case len(remotes) == maxRemotes:
		case ok && listed("url pushurl", key):
			remotes[name] = value
		case ok && listed("pushdefault pushremote", key):
			remotes[usualRemote] = value
		case ok && base != "" && listed("insteadof pushinsteadof", key):
			remotes[anyRemote] = base
		case !ok && strings.Contains(line, ":") && !strings.ContainsAny(line, " \t"):
			remotes[anyRemote] = line
		}
	}
	return remotes
}

// maxRemotes is how many remotes of one file of settings are remembered.
const maxRemotes = 16

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
	if c.staged != "" {
		all.taint |= fromSecret
	}
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
		if to := scriptName(name); to != "" && len(c.pairs) < maxRan {
			c.pairs = append(c.pairs, [2]string{repository, to})
		}
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
	if c.verb() == "release" && c.names("download") {
		c.bringsRelease()
	}
	return c.ordinary()
}

// bringsRelease judges where the file of a release is put, of a repository whose makers nobody has to know.
func (c *invocation) bringsRelease() {
	for _, repo := range c.valueOf("-R", "--repo") {
		parts := strings.Split(repo.text, "/")
		if len(parts) < 2 || c.table.makers["github.com/"+strings.ToLower(parts[len(parts)-2])] {
			continue
		}
		for _, to := range c.valueOf("-O", "--output") {
			c.writeFile(to, flow{taint: fromNet | fromStranger}, false)
		}
		for _, dir := range c.valueOf("-D", "--dir") {
			c.bringsProgram(normalPath(strings.TrimSuffix(dir.text, "/") + "/" + repo.text[strings.LastIndexByte(repo.text, '/')+1:]).text)
		}
	}
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
