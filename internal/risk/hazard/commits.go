package hazard

import (
	"path"
	"slices"
	"strings"
)

// A repository is a file, too: what is added to it and what is said in it is in it, and a push
// sends it. What one call commits another may push, so that a session knows two names that no
// file has: of what lies about in the folder that is worked in, and of what has been recorded.
const (
	workTree   = "git:tree"
	repository = "git:repository"
	stash      = "git:stash" // which no push takes along that does not name it
)

// recording are the subcommands of Git and its like that put into the repository what they are given.
var recording = set("add stage commit ci tag notes merge revert checkout switch branch hash-object am commit-tree update-index stash cherry-pick rm mv describe desc new amend backout record addremove import bookmark")

// records follows what is put into a repository, and judges that a push sends it.
func (c *invocation) records(verb string, args []flow) {
	switch {
	case recording[verb]:
		var told taint
		if !slices.ContainsFunc(args, func(a flow) bool { return a.text == "--dry-run" || a.text == "-n" && verb == "add" }) {
			told = c.recorded(verb, args)
		}
		for name, v := range c.vars { // who has written it is in it, too
			if strings.HasPrefix(name, "GIT_AUTHOR_") || strings.HasPrefix(name, "GIT_COMMITTER_") {
				told |= v.taint
			}
		}
		for _, a := range c.args { // settings before the subcommand; a login among them is one secret
			told |= a.taint &^ fromSecret
		}
		if told&(fromSecret|fromPlace|fromTyped) != 0 {
			c.recordedSecret |= told | fromSecret
			c.keeps(repository)
		}
	case verb == "config" && slices.ContainsFunc(args, func(a flow) bool { return a.taint&fromPlace != 0 }):
		c.recordedSecret |= fromSecret | fromPlace
		c.keeps(repository)
	case verb == "push" || verb == "send-pack" || verb == "http-push" || verb == "send-email" || verb == "dcommit":
		if slices.ContainsFunc(args, func(a flow) bool { return a.text == "--dry-run" || a.text == "-n" }) {
			return
		}
		told := taint(0)
		for _, a := range args {
			told |= a.taint
		}
		c.leaked(told, false) // the login to a place is one secret
		c.leaked(c.recordedSecret, true)
		c.pushed = true
	}
}

// recorded is what a subcommand puts into the repository: its words, the files that it is given,
// and what comes in.
func (c *invocation) recorded(verb string, args []flow) (told taint) {
	all := false
	for i, a := range args {
		t := a.text
		option := ""
		if i > 0 {
			option = args[i-1].text
		}
		told |= a.taint
		name, value, joined := strings.Cut(t, "=")
		switch {
		case joined && listed("--file --pathspec-from-file", name):
			told |= c.holds(value)
		case listed("-F --file -w --stdin-paths", option):
			told |= c.holds(t)
			if t == "-" {
				told |= c.in.taint
			}
		case listed("-m --message -b -B -c -C", option):
		case t == "--all" || listed("add stage", verb) && (t == "-A" || t == "-u" || t == "--update") || listed("commit ci", verb) && len(t) > 1 && t[0] == '-' && t[1] != '-' && strings.Contains(before(t, 'm'), "a"):
			all = true
		case listed("add stage", verb) && listed(". ./ * :/ :", t):
			all = true
		case strings.HasPrefix(t, "-F") && len(t) > 2:
			told |= c.holds(t[2:])
		case strings.HasPrefix(t, "-"):
		case listed("add stage commit ci hash-object addremove import stash", verb):
			told |= c.lying(t)
			if verb == "hash-object" { // which asks nobody what the file is called
				told |= c.holds(t) & (fromSecret | fromPlace)
			}
			c.copiesInto(t)
		}
	}
	if slices.ContainsFunc(args, func(a flow) bool { return listed("--stdin --pathspec-from-file=- -", a.text) }) {
		told |= c.in.taint
	}
	if all || verb == "addremove" {
		c.pairs = append(c.pairs, [2]string{workTree, repository})
		for name, f := range c.files {
			if f.taint&fromSecret != 0 && inWork(name) {
				told |= f.taint
			}
		}
	}
	return told
}

// lying is what the script has put into a file, or into those of a folder. A file of secrets under its
// own name is another matter: see stages.
func (c *invocation) lying(name string) (t taint) {
	name = path.Clean(name)
	for file, f := range c.files {
		if file == name || strings.HasPrefix(file, name+"/") {
			t |= f.taint
		}
	}
	return t
}

// copiesInto notes that a file, or a folder, is put into the repository.
func (c *invocation) copiesInto(name string) {
	if name = scriptName(name); name != "" && len(c.pairs) < maxRan {
		c.pairs = append(c.pairs, [2]string{name, repository})
	}
}

// movedByTool follows what a tool copies or moves that is no shell.
func (a *assessor) movedByTool(c *call) {
	paths := c.paths()
	if len(paths) < 2 || !anyOf(c.words, movingTools) {
		return
	}
	from, to := paths[0], scriptName(paths[len(paths)-1])
	if anyOf(c.words, awayTools) {
		for i := range c.leaves {
			if l := &c.leaves[i]; l.role == rolePath && l.Text == from {
				a.pointer, a.size = l.Pointer, len(l.Text)
				a.movedAway(from, span{0, len(l.Text)})
				break
			}
		}
	}
	if name := scriptName(from); name != "" && to != "" && len(a.pairs) < maxRan {
		a.pairs = append(a.pairs, [2]string{name, to})
	}
	if to != "" && stagedSecret(from) && len(a.keptIn) < maxRan {
		a.keptIn = append(a.keptIn, to)
	}
	if a.runsByItself(paths[len(paths)-1]) {
		a.obeyed = noted(a.obeyed, from)
	}
}

// runsByItself reports whether a file is run by its place: by git, by a login, by a program whose part it becomes.
func (a *assessor) runsByItself(file string) bool {
	p := normalPath(file).text
	if from := a.from(file); from != "" {
		p = normalPath(from).text
	}
	_, started := startedAs(p)
	return isGitHook(p) || !strings.HasSuffix(p, ".sample") && (started || plugsInto(p) != "" || strings.HasPrefix(placeOf(p).writes, "persist."))
}

// awayTools are those of movingTools after which nothing is where it was.
var awayTools = set("move rename mv")

// movedAway judges that a folder is no more where it was, with all that is in it.
func (a *assessor) movedAway(folder string, at span) {
	place := normalPath(strings.TrimSuffix(folder, "/")).text
	if q := a.from(folder); q != "" {
		place = normalPath(q).text
	}
	own, ok := strings.CutPrefix(place, "~/")
	switch {
	case a.wide(folder):
		a.report("destroy.system", 0, at)
	case ok && (ownFolders[strings.ToLower(own)] || a.wholeWork(own)):
		a.report("destroy.work", 0.45, at)
	}
}

// keeps notes that what a place of secrets holds is somewhere now.
func (s *shell) keeps(name string) {
	if name != "" && len(s.keptIn) < maxRan && !slices.Contains(s.keptIn, name) {
		s.keptIn = append(s.keptIn, name)
	}
}

// keepsIn notes the same of a file, of the folders that it lies in, and of what is worked in.
func (s *shell) keepsIn(p string) {
	for _, name := range KeptAs(p) {
		s.keeps(name)
	}
}

// KeptAs are the names by which later calls know that a file holds what a place of secrets held: its
// own, those of the folders that it lies in, and what is worked in.
func KeptAs(p string) (names []string) {
	if name := scriptName(p); name != "" {
		names = append(names, name)
	}
	if !inWork(p) {
		return names
	}
	for dir := path.Dir(path.Clean(p)); dir != "." && dir != "/" && len(dir) > 1; dir = path.Dir(dir) {
		names = append(names, scriptName(dir))
	}
	return append(names, workTree)
}

// Along is the name by which it is known of an archive that files of secrets came into it with the folder
// that they lie in: whoever sends it is asked, as with the folder.
func Along(name string) string { return "along:" + name }

// KeepsSecrets reports whether a file is, by where it lies, one that is there for secrets.
func KeepsSecrets(p string) bool {
	pl := placeOf(normalPath(p).text)
	return pl.read >= 0.3 && pl.reads != ""
}

// inWork reports whether a file lies in the folder that is worked in, as far as its name says so, and
// would be added with all that lies there: files that hold secrets by their names are kept out.
func inWork(p string) bool {
	return !strings.HasPrefix(p, "/") && !strings.HasPrefix(p, "~") && !strings.HasPrefix(p, "..") && !strings.HasPrefix(p, "$") && placeOf(normalPath(p).text).read < 0.3
}

// recordsElsewhere follows what other programs than Git put into a repository, and send.
func (c *invocation) recordsElsewhere() {
	words := c.args
	for len(words) > 0 && strings.HasPrefix(words[0].text, "-") {
		words = words[1:]
	}
	if len(words) == 0 {
		return
	}
	verb, args := words[0].text, words[1:]
	switch {
	case listed("npm pnpm yarn lerna", c.name) && verb == "version":
		c.records("commit", args)
	case c.name == "svn" && listed("commit ci import", verb):
		c.records("commit", args)
		c.records("push", nil)
	case c.name == "jj" && verb == "git" && len(args) > 0:
		c.records(args[0].text, args[1:])
	case listed("hg jj sl bzr fossil", c.name), c.name == "gh" && verb == "pr" && len(args) > 0 && args[0].text == "create":
		if verb == "pr" {
			verb, args = "push", nil
		}
		c.records(verb, args)
	}
}
