package hazard

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
)

// A push that is forced rewrites what others may have fetched. With a lease, what is
// overwritten is in this clone too, and comes back from there: of a branch of one's own, which
// the push names, that is daily work. Of one that others build on it is not, and a push that
// names no branch goes where the repository's settings say, which nobody reads here.

// gitWords are the options that stand before a subcommand of git and take the next word.
const gitWords = "-C -c --git-dir --work-tree --namespace --exec-path --super-prefix --attr-source --config-env --list-cmds"

// push is what the words of a git push say.
type push struct {
	force, lease, mirror, deletes, prunes bool
	wide                                  bool   // all branches, or tags
	shows                                 bool   // it only shows what it would do
	words                                 []flow // the repository and what goes there
	named                                 bool   // the repository stands in an option
	to                                    string // that option's value
}

// readPush reads the words behind push, as git does: options may stand anywhere before --, be
// cut short while that is clear, and stand together if they are of one letter.
func readPush(args []flow) (p push) {
	for i := 0; i < len(args); i++ {
		t := args[i].text
		switch {
		case t == "--":
			p.words = append(p.words, args[i+1:]...)
			return p
		case strings.HasPrefix(t, "--"):
			name, value, joined := strings.Cut(t, "=")
			had := p.named
			if p.long(name, value, joined) && !joined {
				if i++; i < len(args) {
					value = args[i].text
				}
			}
			if p.named && !had {
				p.to = value
			}
		case len(t) > 1 && t[0] == '-':
			if p.short(t[1:]) {
				i++
			}
		default:
			p.words = append(p.words, args[i])
		}
	}
	return p
}

// long reads a long option and reports whether it takes a word. One that takes something back
// is not believed: what counts is the last of them, and who writes both is asked.
func (p *push) long(name, value string, joined bool) (takes bool) {
	is := func(whole string, least int) bool { return len(name) >= least && strings.HasPrefix(whole, name) }
	switch {
	case is("--force-with-lease", len("--force-w")):
		p.lease = true
		p.force = p.force || strings.Contains(value, ":") // what the lease expects is said, and not seen
	case is("--force", len("--fo")):
		p.force = true
	case is("--mirror", len("--m")):
		p.mirror = true
	case is("--delete", len("--de")):
		p.deletes = true
	case is("--prune", len("--pru")):
		p.prunes = true
	case is("--all", len("--al")), is("--branches", len("--b")), is("--tags", len("--ta")):
		p.wide = true
	case is("--dry-run", len("--dr")), name == "--help":
		p.shows = !joined
	case is("--no-dry-run", len("--no-d")):
		p.shows = false
	case is("--repo", len("--rep")):
		p.named = true
		return true
	case is("--push-option", len("--pus")), is("--receive-pack", len("--recei")), is("--exec", len("--e")), is("--recurse-submodules", len("--recu")):
		return true
	}
	return false
}

// short reads options of one letter and reports whether the last takes the next word.
func (p *push) short(letters string) (takes bool) {
	for i, letter := range letters {
		switch letter {
		case 'f':
			p.force = true
		case 'd':
			p.deletes = true
		case 'n':
			p.shows = true
		case 'o':
			return i == len(letters)-1
		}
	}
	return false
}

// repositories are where a push may go: what an option says, and the first word, or else origin.
func (p *push) repositories() (list []string) {
	if p.named {
		list = append(list, p.to)
	}
	if len(p.words) > 0 {
		list = append(list, p.words[0].text)
	}
	if list == nil {
		return []string{"origin"}
	}
	return list
}

// refs are what is pushed: what stands behind the repository.
func (p *push) refs() []flow {
	if p.named || len(p.words) == 0 {
		return p.words
	}
	return p.words[1:]
}

// overwrites reports whether a push may take away what others build on. The settings that
// stand beside it say where a branch goes that is named without its place there.
func (p *push) overwrites(settled bool) bool {
	refs := p.refs()
	forced := slices.ContainsFunc(p.words, func(w flow) bool { return strings.HasPrefix(w.text, "+") })
	switch {
	case p.shows:
		return false
	case p.mirror, p.deletes, p.prunes, slices.ContainsFunc(p.words, func(w flow) bool { return forcedRef(w.text) && w.text[0] == ':' }):
		return true
	case !p.lease && !p.force && !forced:
		return false
	}
	return p.wide || settled || len(refs) == 0 || slices.ContainsFunc(refs, func(w flow) bool {
		bare := p.force || strings.HasPrefix(w.text, "+")
		ref := strings.TrimPrefix(w.text, "+")
		return !w.known || !ownBranch(ref) || bare && !topicBranch(ref)
	})
}

// forcedRef reports whether what is pushed overwrites, or deletes, what is there.
func forcedRef(ref string) bool {
	return strings.HasPrefix(ref, "+") || len(ref) > 1 && ref[0] == ':'
}

// ownBranch reports whether a push names one branch that is somebody's own.
func ownBranch(ref string) bool {
	if from, to, found := strings.Cut(ref, ":"); found && from != "" {
		ref = to
	}
	name, ok := branchOf(ref)
	return ok && name != "head" && name != "tag" && !strings.ContainsAny(name, "*?[@$^~{:\\ ") && !sharedBranch(name)
}

// topicBranch reports whether a branch that is pushed has a folder in its name, as those have that
// are made for one piece of work.
func topicBranch(ref string) bool {
	_, to, found := strings.Cut(ref, ":")
	if !found {
		to = ref
	}
	name, _ := branchOf(to)
	return strings.Contains(name, "/")
}

// branchOf is the name of the branch that a reference is, in lower case.
func branchOf(ref string) (name string, ok bool) {
	ref = strings.ToLower(ref)
	name, _ = strings.CutPrefix(ref, "refs/")
	if name, ok = strings.CutPrefix(name, "heads/"); !ok && strings.HasPrefix(ref, "refs/") || strings.HasPrefix(name, "tags/") || strings.HasPrefix(name, "remotes/") {
		return "", false
	}
	return name, name != ""
}

// What branches are called that many build on, and from which versions are made.
var (
	sharedBranches = set("main master trunk mainline default develop development dev devel production prod live stable staging stage integration preprod next release releases maint maintenance support pages gh deploy deployment lts rel branch current edge canary")
	sharedAnywhere = set("main master trunk production prod")
)

// sharedBranch reports whether a branch's name, in lower case, is one of these, behind whatever
// folder, that of a release, or a version's: 7.x, v2, 7-1-stable, release-1.2, REL_15_STABLE.
func sharedBranch(name string) bool {
	words := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("/-_.", r) })
	if len(words) == 0 || sharedAnywhere[name[strings.LastIndexByte(name, '/')+1:]] {
		return true
	}
	if first := words[0]; first == "release" || first == "releases" {
		return true
	}
	says := strings.Contains(name, ".")
	for _, word := range words {
		version := isDigits(strings.TrimPrefix(word, "v")) || word == "x"
		if !version && !sharedBranches[word] {
			return false
		}
		says = says || !isDigits(word)
	}
	return says // else it is the number of an issue
}

// gitCall parts the words of a call of git: the settings that are given for it alone, and its
// subcommand with the words of that.
func gitCall(args []flow) (settings [][2]string, rest []flow) {
	for i := 0; i < len(args); i++ {
		option, value, joined := strings.Cut(args[i].text, "=")
		switch {
		case !strings.HasPrefix(option, "-"):
			return settings, args[i:]
		case !joined && listed(gitWords, option) && i+1 < len(args):
			i++
			value = args[i].text
		}
		if name, v, given := strings.Cut(value, "="); option == "-c" {
			if !given {
				v = "true"
			}
			settings = append(settings, [2]string{name, v})
		} else if option == "--config-env" {
			settings = append(settings, [2]string{name, "+"}) // a variable holds it: whatever is worst
		}
	}
	return settings, nil
}

// gitVerb judges what a subcommand of git does elsewhere than in the clone, and what it runs.
func (c *invocation) gitVerb() {
	settings, words := gitCall(c.args)
	if c.name == "git-push" || c.name == "git-send-pack" {
		words = append([]flow{{text: strings.TrimPrefix(c.name, "git-"), known: true}}, c.args...)
	}
	if len(words) == 0 {
		return
	}
	verb, args := words[0].text, words[1:]
	for _, s := range settings {
		if name, is := strings.CutPrefix(strings.ToLower(s[0]), "alias."); is && name == strings.ToLower(verb) && c.wrap < 16 {
			c.gitAlias(s[1], args)
			return
		}
	}
	c.records(verb, args)
	switch {
	case verb == "add" || verb == "stage":
		c.stages(args)
	case verb == "stash":
		c.stashes(args)
	case listed("branch checkout switch tag update-ref cherry-pick merge commit-tree replace symbolic-ref", verb) && slices.ContainsFunc(args, namesStash):
		if c.pairs = append(c.pairs, [2]string{stash, repository}); c.stashed != "" {
			c.staged = c.stashed
			c.keeps(repository)
		}
	case verb == "push" || verb == "send-pack" || verb == "http-push":
		c.pushes(verb, args, settings)
	case verb == "subtree" && slices.ContainsFunc(args, func(a flow) bool { return a.text == "push" }):
		c.pushes(verb, args, settings)
	case verb == "remote" && slices.ContainsFunc(args, func(a flow) bool { return a.text == "--mirror=push" || a.text == "--mirror" }):
		c.report("publish.history", 0, c.at) // each push from now on
	case verb == "config":
		c.gitSets(args)
	case verb == "submodule" || verb == "for-each-repo":
		c.gitEach(verb, args)
	case verb == "rebase":
		for i, a := range args {
			if _, command, joined := strings.Cut(a.text, "="); joined && strings.HasPrefix(a.text, "--e") {
				c.inside(command)
			} else if i > 0 && (args[i-1].text == "-x" || strings.HasPrefix("--exec", args[i-1].text) && len(args[i-1].text) > 3) {
				c.inside(a.text)
			}
		}
	}
}

// pushes judges a push: what it does, and the settings that it is given.
func (c *invocation) pushes(verb string, args []flow, settings [][2]string) {
	p := readPush(args)
	settled := c.gives("GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM")
	for _, s := range settings {
		settled = settled || decidesPush(s[0])
		p.force = p.force || forcesPush(s[0], s[1])
	}
	if verb != "push" { // what stands beneath it knows no lease
		p.force = p.force || p.lease
	}
	if verb == "push" {
		c.checkedOut(&p)
	}
	if p.overwrites(settled) {
		c.report("publish.history", 0, c.at)
	}
	if !p.shows && (p.mirror || slices.ContainsFunc(p.refs(), namesStash)) {
		c.pushedStash, c.staged = true, cmp.Or(c.staged, c.stashed)
	}
	if c.staged != "" && !p.shows {
		c.reportSaying("secret.shown", 0.6, c.at, fmt.Sprintf("The call pushes a repository with %.80q, which holds secrets. git rm --cached takes it out, and a line in .gitignore keeps it out.", c.staged))
	}
}

// checkedOut gives a push that names no branch, or HEAD, the one that is checked out where it is called:
// Git pushes that one, as far as the settings that were looked at for it say nothing else.
func (c *invocation) checkedOut(p *push) {
	if c.branch == "" || c.moved || c.other || c.cwd != c.start || len(c.args) == 0 || c.args[0].text != "push" || c.gives("GIT_DIR", "GIT_WORK_TREE", "GIT_CONFIG", "HOME") {
		return
	}
	for name := range c.written {
		if strings.Contains(name, ".git") {
			return
		}
	}
	switch refs := p.refs(); {
	case p.wide || p.mirror || p.named:
	case len(refs) == 0 && len(p.words) < 2:
		to := flow{text: "origin", known: true}
		if len(p.words) == 1 {
			to = p.words[0]
		}
		p.words = []flow{to, {text: c.branch, known: true}}
	case len(refs) == 1 && (refs[0].text == "HEAD" || refs[0].text == "+HEAD") && refs[0].known:
		refs[0].text = strings.TrimSuffix(refs[0].text, "HEAD") + c.branch
	}
}

// keepsBranch reports whether the branch that is checked out is the same after a command.
func (c *invocation) keepsBranch() bool {
	if c.name != "git" {
		return listed("echo printf true false : pwd date sleep set cat head tail grep ls wc jq", c.name)
	}
	settings, words := gitCall(c.args)
	if len(words) == 0 || len(settings) > 0 {
		return false
	}
	return listed("add commit status log diff show fetch rev-parse push tag stash", words[0].text) || words[0].text == "rebase" && len(words) < 3
}

// stages remembers that files of passwords or keys are added. Where they are pushed then, by this call
// or by a later one, others have them.
func (c *invocation) stages(args []flow) {
	if slices.ContainsFunc(args, func(a flow) bool { return listed("-n --dry-run", a.text) }) {
		return
	}
	forced := tellsShort(args, 'f', "--force")
	for _, a := range args {
		switch t := a.text; {
		case listed(". ./ * :/ :", t), t == "--all", tellsShort([]flow{a}, 'A', ""):
			if taken := c.takenIn(forced); len(taken) > 0 {
				c.staged = cmp.Or(c.staged, taken[0])
			}
		case !strings.HasPrefix(t, "-") && (InProjects(t) || forced && stagedSecret(t)):
			c.staged = cmp.Or(c.staged, t)
		}
	}
	if c.staged != "" {
		c.keeps(repository)
	}
}

// takenIn are the files of secrets here that Git takes in with all that lies here, those that it ignores included
// where it is told so.
func (c *invocation) takenIn(ignored bool) []string {
	switch {
	case c.other:
		return nil
	case ignored:
		return slices.Concat(c.unkept, c.ignored)
	}
	return c.unkept
}

// tellsShort reports whether words tell an option, by its letter among others or by its name.
func tellsShort(args []flow, letter byte, name string) bool {
	return slices.ContainsFunc(args, func(a flow) bool {
		return a.text == name && name != "" || strings.HasPrefix(a.text, "-") && !strings.HasPrefix(a.text, "--") && strings.IndexByte(a.text, letter) > 0
	})
}

// stashes remembers that files of secrets are put aside which were never committed: whoever is sent the stash has them.
func (c *invocation) stashes(args []flow) {
	if len(args) > 0 && !strings.HasPrefix(args[0].text, "-") && !listed("push save", args[0].text) {
		return
	}
	all := tellsShort(args, 'a', "--all")
	if taken := c.takenIn(all); len(taken) > 0 && (all || tellsShort(args, 'u', "--include-untracked")) {
		c.stashed = cmp.Or(c.stashed, taken[0])
		c.keeps(stash)
	}
}

// namesStash reports whether a word names a stash, or what is in one.
func namesStash(w flow) bool { return stashNamed.MatchString(w.text) }

var stashNamed = lazyregexp.New(`^\+?(?:refs/)?stash(?:@\{[^{}]*\})?(?:[\^~:]|$)`)

// stagedSecret reports whether a file holds passwords or keys by its name, and lies in a project.
func stagedSecret(name string) bool {
	pl := placeOf(normalPath(name).text)
	return pl.read >= 0.35 && (strings.HasPrefix(pl.reads, "secret.") || pl.reads == "path.sensitive" && !strings.HasPrefix(pl.name, "/"))
}

// InProjects reports whether a file of this name in a project holds passwords or keys, and is meant to stay
// where it is: settings of other programs in which some stand are often kept with the rest.
func InProjects(name string) bool {
	return stagedSecret(name) && (strings.HasPrefix(path.Base(slashed(name)), ".env") || strings.HasPrefix(placeOf(normalPath(name).text).reads, "secret."))
}

// gitTool reads a tool that is named for a subcommand of Git, which puts something into a repository or
// sends it, as that.
func (a *assessor) gitTool(c *call) {
	if len(c.words) < 2 || !slices.Contains(c.words, "git") {
		return
	}
	verb := c.words[len(c.words)-1]
	if !listed("add stage commit push", verb) {
		return
	}
	argv := []string{"git", verb}
	for i := range c.leaves {
		l := &c.leaves[i]
		switch name := c.nameOf(l); {
		case listed("repopath repository repo cwd directory workdir", name) || len(argv) >= maxWords || strings.HasPrefix(l.Text, "-"):
		case verb == "commit" && listed("message msg m title body", name):
			argv = append(argv, "-m", l.Text)
		case verb != "commit":
			argv = append(argv, l.Text)
		}
	}
	a.pointer, a.size = "", 0
	a.argv(argv, span{})
}

// decidesPush reports whether a setting may say where a push goes.
func decidesPush(key string) bool {
	section, _, _ := strings.Cut(strings.ToLower(key), ".")
	return listed("remote branch push include includeif url", section)
}

// forcesPush reports whether a setting has pushes overwrite, though they do not say so.
func forcesPush(key, value string) bool {
	key = strings.ToLower(key)
	switch {
	case !strings.HasPrefix(key, "remote."):
		return false
	case strings.HasSuffix(key, ".push"):
		return forcedRef(value)
	}
	return strings.HasSuffix(key, ".mirror") && !listed("false no off 0", strings.ToLower(value))
}

// gitSets judges a setting that stays: pushes that overwrite from then on, a place that a
// branch is pushed to under another name, and a command put away under a name.
func (c *invocation) gitSets(args []flow) {
	for i, a := range args {
		key := strings.ToLower(a.text)
		if !strings.Contains(key, ".") || strings.HasPrefix(key, "-") {
			continue
		}
		value := "true"
		if i+1 < len(args) {
			value = args[i+1].text
		}
		_, to, _ := strings.Cut(value, ":")
		name, branch := branchOf(to)
		switch {
		case slices.ContainsFunc(args[:i], func(w flow) bool {
			return strings.HasPrefix(w.text, "--get") || strings.HasPrefix(w.text, "--unset") || w.text == "get" || w.text == "unset"
		}):
		case i+1 == len(args) && len(args) == 1: // it is read
		case forcesPush(key, value), strings.HasPrefix(key, "remote.") && strings.HasSuffix(key, ".push") && branch && sharedBranch(name):
			c.report("publish.history", 0, c.at)
		case strings.HasPrefix(key, "alias.") && !strings.HasPrefix(value, "!"):
			c.gitAlias(value, nil)
		}
		return
	}
}

// gitAlias judges what a name stands for: words of git, or, behind !, a command.
func (c *invocation) gitAlias(value string, args []flow) {
	if command, is := strings.CutPrefix(value, "!"); is {
		c.inside(command + " " + c.joined(args).text)
		return
	}
	words := []flow{{text: "git", known: true}}
	for w := range strings.FieldsSeq(unquoted.Replace(value)) {
		words = append(words, flow{text: w, known: true})
	}
	if len(words) > 1 {
		c.invoke(append(words, args...), flow{}, c.wrap+1)
	}
}

// gitEach judges the command that git runs in each of several repositories.
func (c *invocation) gitEach(verb string, args []flow) {
	for i, a := range args {
		switch {
		case strings.HasPrefix(a.text, "-"), verb == "submodule" && i == 0 && a.text != "foreach":
		case verb == "submodule" && a.text == "foreach":
		case verb == "submodule":
			if slices.ContainsFunc(args[:i], func(w flow) bool { return w.text == "foreach" }) {
				c.inside(c.joined(args[i:]).text)
			}
			return
		default:
			c.invoke(append([]flow{{text: "git", known: true}}, args[i:]...), flow{}, c.wrap+1)
			return
		}
	}
}
