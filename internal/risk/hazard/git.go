package hazard

import (
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
