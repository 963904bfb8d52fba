package hazard

import "strings"

// Many programs run a text that they are given: a pager, an editor, a filter, a hook, a
// remote shell. Which option of which program does so is a list without an end. So a word
// that is itself a command, and would do grave harm, is read as one whoever is given it,
// but for programs whose words are texts.

// tellers are programs whose words are told, searched or stored, and not run.
var tellers = set(`echo printf : true false ls stat test [ [[ grep egrep fgrep rg ag ack export declare read cd say logger notify-send wall write figlet cowsay
	mail mailx mutt sendmail jq yq sed gsed awk gawk mawk nawk curl wget http https xh httpie aws slack telegram-send ntfy claude codex gemini llm aider cat tee
	basename dirname realpath mkdir touch hub jira linear bd wc sort uniq cut tr git-commit shellcheck reeve asciinema`)

// textOptions are options whose value is a text for people.
var textOptions = set("-m --message -b --body --title -t --description --desc -d --comment --notes -n --summary --subject --text --prompt --reason --label --name --data --note --changelog --msg --tag -l --help-text")

// graveInside is how grave what a word says must be to count.
const graveInside = 0.75

// runsWords reads the words of a command that are commands themselves.
func (c *invocation) runsWords() {
	if tellers[c.name] || c.depth > maxDepth/2 {
		return
	}
	if (c.name == "git" || c.name == "gh" || c.name == "glab") && !c.gitRuns() {
		return
	}
	for i, a := range c.args {
		if i > 64 {
			return
		}
		t := a.text
		if len(t) < 6 || len(t) > 16<<10 || !strings.ContainsAny(t, " \t\n$") || i > 0 && textOptions[c.args[i-1].text] && c.name != "git" {
			continue
		}
		if name, _, ok := strings.Cut(t, "="); ok && textOptions[name] && c.name != "git" {
			continue
		}
		c.wordRun(t)
	}
}

// gitRuns reports whether a subcommand of git is one of those that run what they are given.
func (c *invocation) gitRuns() bool {
	for i, a := range c.args {
		switch a.text {
		case "commit", "tag", "notes", "log", "stash", "merge", "show", "shortlog", "pr", "issue", "release", "gist", "api", "repo", "mr", "blame", "diff", "revert", "cherry-pick":
			return false
		case "-c", "-C", "--git-dir", "--work-tree":
		default:
			if !strings.HasPrefix(a.text, "-") && (i == 0 || c.args[i-1].text != "-c" && c.args[i-1].text != "-C") {
				return c.name == "git"
			}
		}
	}
	return c.name == "git"
}

// wordRun reads a text that a program may run: as it is, or behind what tells the program
// to run it (!, |, name=, exec, a call).
func (s *shell) wordRun(text string) {
	for _, candidate := range commandsIn(text) {
		s.kept(1, graveInside, func() { s.inside(candidate) })
	}
}

// commandsIn gives the parts of a text that begin with a program's name.
func commandsIn(text string) []string {
	var out []string
	add := func(t string) {
		t = strings.TrimLeft(t, " \t\n\r!|:\\(){}'\"@+;&")
		if word := strings.FieldsFunc(t[:min(len(t), 256)], func(r rune) bool { return strings.ContainsRune(" \t\n|;&<>()", r) }); len(word) > 1 && programs()[baseName(strings.Trim(word[0], `'"`))] {
			out = append(out, strings.TrimRight(t, " \t\n;"))
		}
	}
	add(text)
	for _, mark := range []string{"!", "|", "=", "$(", "`", "shell ", "shell-command ", "system ", "system(", "exec ", "spawn ", "run-shell ", "\n\t"} {
		if _, rest, ok := strings.Cut(text, mark); ok && len(out) < 8 {
			add(strings.TrimRight(rest, `")'`+"`"))
			if mark == "system(" || mark == "shell-command " {
				add(strings.Trim(rest, `"')( `))
			}
		}
	}
	return out
}

// commandVariables name programs that others start.
func commandVariable(name string) bool {
	for _, end := range []string{"PAGER", "EDITOR", "VISUAL", "_COMMAND", "ASKPASS", "LESSOPEN", "LESSCLOSE", "BROWSER", "GIT_SSH", "_RSH", "EXTERNAL_DIFF", "GIT_PROXY", "SHELL", "MAKEFLAGS"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// installers run, or install and then run, the file that they are given.
var installers = set("java make gmake dpkg rpm apt apt-get dnf yum zypper pacman apk installer pytest r uv psql sqlite3 msiexec pwsh nix-build open start xdg-open rundll32 wine mono dotnet ansible-playbook terraform insmod kextload just task rake gradle ant cmake ninja tclsh expect")

// runsFetched judges that a command is given a file that was downloaded, or what comes from
// the network on its input, and runs it.
func (c *invocation) runsFetched() {
	if !installers[c.name] && !packageRunners[c.name] {
		return
	}
	c.runsImplied()
	if c.foreign != nil {
		for i, a := range c.args {
			if i > 0 && c.args[i-1].text == "-C" && c.isForeign(a.text) || c.isForeign("x") {
				c.report("code.foreign", 0, c.at)
			}
		}
		if len(c.args) == 0 && c.isForeign("x") {
			c.report("code.foreign", 0, c.at)
		}
	}
	for _, a := range c.args {
		if f, ok := c.files.get(strings.TrimPrefix(a.text, "@")); ok && f.taint&fromNet != 0 {
			c.report("shell.download_run", 0, c.at)
			return
		}
	}
	for _, a := range c.args {
		if c.name == "uv" && len(c.args) > 1 && c.args[0].text == "run" && isURL(a.text) {
			c.report("shell.download_run", 0, c.at)
		}
	}
	readsInput := c.name == "r" || c.name == "java" || c.name == "tclsh" || c.name == "expect"
	for _, a := range c.args {
		readsInput = readsInput || a.text == "-" || a.text == "/dev/stdin"
	}
	if readsInput && c.in.taint&fromNet != 0 {
		c.report("shell.download_run", 0, c.at)
	}
	if (c.name == "make" || c.name == "gmake") && c.in.text != "" {
		c.recipes(c.in.text)
	}
	if c.name == "make" || c.name == "gmake" {
		for i, a := range c.args {
			if f, ok := c.files.get(a.text); ok && i > 0 && listed("-f --file --makefile", c.args[i-1].text) {
				c.recipes(f.text)
			}
		}
		for _, name := range []string{"Makefile", "makefile", "GNUmakefile"} {
			if f, ok := c.files.get(name); ok {
				if f.taint&fromNet != 0 {
					c.report("shell.download_run", 0, c.at)
				}
				c.recipes(f.text)
			}
		}
	}
}

// runsImplied notes the files that a command runs without being told, or by an option.
func (c *invocation) runsImplied() {
	switch c.name {
	case "make", "gmake":
		c.ran("Makefile")
	case "just":
		c.ran("justfile")
	case "npm", "pnpm", "yarn", "bun":
		c.ran("package.json")
	}
	for i, a := range c.args {
		if i > 0 && listed("-f --file --makefile", c.args[i-1].text) {
			c.ran(a.text)
		}
	}
}

// orders reads the lines of an input that begin with !, for programs that run these.
func (c *invocation) orders() {
	if !listed("ed ex ftp lftp sftp telnet mail gnuplot dc less more", c.name) || c.in.text == "" {
		return
	}
	for line := range strings.Lines(c.in.text[:min(len(c.in.text), 16<<10)]) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "!"); ok {
			c.inside(rest)
		}
	}
}

// fetched marks the files that a command brings here from a store elsewhere.
func (c *invocation) fetched() {
	for i, a := range c.args {
		t := a.text
		if !strings.Contains(t, ":") && (i == 0 || !listed("-f --file -o --output -O", c.args[i-1].text)) {
			continue
		}
		if name := t[strings.LastIndexAny(t, "/:")+1:]; name != "" {
			if _, there := c.files.get(name); !there {
				c.files.put(name, flow{taint: fromNet})
			}
		}
	}
}

// recipes reads the commands of a makefile that the call itself wrote.
func (c *invocation) recipes(text string) {
	for line := range strings.Lines(text[:min(len(text), 16<<10)]) {
		if rest, ok := strings.CutPrefix(line, "\t"); ok {
			c.inside(strings.TrimLeft(rest, "@-+"))
		}
	}
}
