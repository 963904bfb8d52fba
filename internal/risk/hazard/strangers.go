package hazard

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Programs come faster than any table. What one that nobody here has heard of would do is
// told by its words: a program among them that it starts, a verb that takes away, a door
// that it opens to others.

// unheardOf reports whether nothing is known of a program but its name.
func (c *invocation) unheardOf() bool {
	n := c.name
	if programs()[n] || noResources[n] || tellers[n] || packageRunners[n] || sqlClients[n] || manyStores[n] || shellWords[n] {
		return false
	}
	_, acts := handlers[n]
	_, has := c.table.options[n]
	return !acts && !has && c.table.programs[n] == nil
}

// shellWords are what a shell does itself.
var shellWords = set("builtin command declare typeset local readonly shift getopts hash wait jobs bg fg disown ulimit umask break continue return let popd dirs times caller compgen complete enable help logout shopt suspend")

// strange judges a command by its words, where no table says what it does.
func (c *invocation) strange() {
	c.starts()
	if !c.unheardOf() || c.asksOnly() {
		return
	}
	c.destroys()
	c.opens()
	c.takesUnheard()
}

// asksOnly reports whether a command is told to show what it would do, or how it is called.
func (c *invocation) asksOnly() bool {
	return slices.ContainsFunc(c.args, func(a flow) bool {
		return listed("--help -h help --version version --dry-run --dryrun --dry_run --what-if --whatif --preview --check --plan --simulate --no-op", a.text)
	})
}

// starting are words behind which a program starts another, and notStarting programs whose
// words name files, packages or other machines.
var (
	starting    = set("-- exec run x dlx do shell -c -e -x --exec --command --run --cmd start spawn")
	notStarting = set(`apt apt-get aptitude yum dnf zypper pacman apk brew snap flatpak dpkg rpm cargo composer gem conda-build choco winget scoop port docker podman nerdctl docker-compose kubectl oc helm
		vagrant multipass fly flyctl heroku gh glab hub gcloud aws az ansible ansible-playbook ansible-vault salt pssh pdsh fab code cursor vim vi nvim nano emacs man tldr whatis apropos which whereis type complete compgen make gmake bazel gradle mvn
		kill pkill killall systemctl service supervisorctl initctl rc-service pm2 jobs dpkg-query update-alternatives stow`)
)

// maxStarts is how many words of one command are tried as programs, and maxBefore how many
// may stand before one where none says that it is started.
const (
	maxStarts = 4
	maxBefore = 4
)

// starts judges the program that another starts: the class of env, poetry run, npx, mise
// exec and of whatever is new. Which option takes a word is not known of a stranger, so
// that each word which is a program's name may begin what is run.
func (c *invocation) starts() {
	if _, acts := handlers[c.name]; acts && c.name != "npm" || tellers[c.name] || harmless[c.name] || readers[c.name] || notStarting[c.name] || shellWords[c.name] || c.wrap >= maxStarts || listed("asdf mise rtx", c.name) && listed("plugin plugins plugin-add", c.verb()) {
		return
	}
	if o, ok := c.table.options[c.name]; ok && o.wraps >= 0 {
		return // it is unwrapped
	}
	if _, reads := interpreters[c.name]; reads && c.name != "bun" && c.name != "deno" {
		return // its words are a script's
	}
	if c.path != "" && isUpper(c.path[0]) && strings.ToLower(c.path[1:]) == c.path[1:] && !strings.ContainsAny(c.path, "./") {
		return // a sentence's first word
	}
	tried, plain := 0, 0
	for i, a := range c.args {
		if i > 24 || tried == maxStarts {
			return
		}
		if strings.HasPrefix(a.text, "-") {
			continue
		}
		told := i > 0 && starting[c.args[i-1].text] || i > 1 && starting[c.args[i-2].text]
		if plain++; plain > maxBefore && !told {
			continue
		}
		if told && strings.Contains(a.text, " ") && tried < maxStarts {
			tried++
			for _, text := range commandsIn(a.text) {
				c.kept(1, 0.36, func() { c.inside(text) })
			}
			continue
		}
		if name := baseName(a.text); (told || plain == 1 && packageRunners[c.name]) && c.table.files[name] != nil {
			c.finds(name, c.args[i+1:])
		}
		if i+1 == len(c.args) || !c.runnable(baseName(a.text)) {
			continue
		}
		tried++
		floor := graveInside
		if told {
			floor = 0.36
		}
		fed, around := c.fed, c.around
		c.fed, c.around = true, c.name // a shell there is not left open to nobody
		c.kept(1, floor, func() { c.invoke(c.args[i:], c.in, c.wrap+1) })
		c.fed, c.around = fed, around
	}
}

// finds notes what a program that is started runs of what it finds by itself: pnpm jest.
func (c *invocation) finds(name string, args []flow) {
	p := *c
	p.name, p.args = name, args
	p.obeysFiles()
	if _, implies := unasked[name]; implies {
		p.runsImplied()
	}
}

// runnable reports whether a word is the name of a program of which it is known what it does.
func (c *invocation) runnable(name string) bool {
	if name == "" || tellers[name] || harmless[name] || shellWords[name] || name == "." || name == ":" {
		return false
	}
	_, acts := handlers[name]
	_, has := c.table.options[name]
	return programs()[name] || acts || has || c.table.programs[name] != nil
}

// Words that say what is taken away: all there is, and where people work.
var (
	wholes = set("all everything")
	inUse  = set("prod production live")

	// rehearsing are words for what can be made again.
	rehearsing = set("test tests testing dev development local tmp temp ci sandbox demo fixture fixtures mock staging")
	surely     = set("--force -f --yes -y --all --no-confirm --no-interaction --assume-yes --auto-approve --confirm --purge --permanently --hard --cascade --recursive -r -R -rf -fr")
	taking     = set("delete destroy purge wipe terminate erase nuke obliterate expunge annihilate decommission deprovision undeploy drop truncate shred teardown")
	total      = set("destroy nuke obliterate annihilate terminate") // needs no thing: it is all there is
	lighter    = set("rm remove reset clear del delete-all clean rollback")
)

// destroys judges a verb that takes away among the first words of a stranger, or in its name.
func (c *invocation) destroys() {
	base := c.name
	if i := strings.LastIndexByte(base, '.'); i > 0 {
		base = base[:i] // reset-prod.sh
	}
	verb, weak, thing, what := "", "", false, "destroy.cloud"
	look := func(word string) {
		for w := range strings.FieldsFuncSeq(lower(word), func(r rune) bool { return r == '-' || r == '_' || r == ':' || r == '.' || r == '/' }) {
			switch {
			case taking[w]:
				verb = w
			case lighter[w]:
				weak = w
			case wholes[w], inUse[w], stores[w]:
				thing, what = true, "destroy.store"
			case holders[w]:
				thing = true
			}
		}
	}
	used := false // it is of what people use, or of all
	look(base)
	for w := range strings.FieldsFuncSeq(lower(base), func(r rune) bool { return r == '-' || r == '_' || r == '/' }) {
		used = used || inUse[w] || wholes[w]
		thing = thing && !rehearsing[w]
	}
	if verb != "" && thing || weak != "" && used {
		c.report(what, 0.45, c.at)
		return
	}
	named := verb != "" // the program itself is called so, and takes what it is given
	verb, weak, thing = "", "", false
	seen, operand, sure := 0, false, false
	for i, a := range c.args {
		if i > 16 || seen > 6 {
			break
		}
		t := a.text
		if strings.HasPrefix(t, "-") {
			sure = sure || surely[t]
			continue
		}
		if seen++; strings.ContainsAny(t, " \n\"'(){}") {
			continue // a text
		}
		if verb != "" || weak != "" {
			operand = true
		}
		if isWordy(t) {
			look(t)
		}
	}
	switch {
	case verb != "" && (operand || sure || thing || total[verb]), weak != "" && thing && sure, named && sure:
		c.report(what, 0.45, c.at)
	}
}

// Words by which a program takes another, or a part of itself, and those by which it takes something to work
// with, which is code where the address is one of code; and options that name where that lies.
var (
	installing = set("install plugin plugins extension extensions plug addon addons trust tap")
	takingUp   = set("add new create init generate scaffold run exec use import pin up start build shell")
	takenFrom  = set("--from --template --starter --blueprint --generator --preset --source --module --git --from-git --from-module")
)

// takesUnheard judges a stranger that is told to install, or to run, what lies at an address.
func (c *invocation) takesUnheard() {
	installs, takes, plain := installing[c.name], false, 0
	for i, a := range c.args {
		if i > 16 || a.text == "--" {
			return
		}
		option, _, joined := strings.Cut(a.text, "=")
		if strings.HasPrefix(a.text, "-") && !joined {
			continue
		}
		from := takenFrom[option] || i > 0 && takenFrom[c.args[i-1].text]
		if source := sourceIn(a.text); source != "" {
			if (installs || (takes || from) && ofCode(source)) && c.table.foreignTo(source, true) {
				c.reportSaying("code.foreign", 0, c.at, fmt.Sprintf("%.40q takes a program from %.100q, of whom nothing is known.", c.name, source))
				return
			}
			continue
		}
		if plain++; plain <= maxBefore {
			installs, takes = installs || installing[a.text], takes || takingUp[a.text]
		}
	}
}

// ofCode reports whether an address is one of code: it says so, or it is a repository, or a script.
func ofCode(source string) bool {
	host, in, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(source, "https://"), "http://"), "/")
	in = before(before(in, '?'), '#')
	switch {
	case !strings.HasPrefix(source, "http://") && !strings.HasPrefix(source, "https://"):
		return true // git+https://, gh:, github.com/owner/name
	case strings.HasPrefix(host, "raw.") || strings.HasPrefix(host, "gist."):
		return true
	case forges[host] && strings.Count(strings.Trim(in, "/"), "/") == 1:
		return true
	}
	return codeEnds[strings.ToLower(path.Ext(in))]
}

// codeEnds are the ends of files that are run, or that packages of programs have.
var codeEnds = set(".git .sh .bash .zsh .fish .ps1 .py .rb .pl .lua .js .mjs .cjs .ts .java .kts .groovy .scala .sc .clj .nu .nf .smk .star .wasm .jar .whl .gem .vsix .xpi .crx .tgz .deb .rpm .apk .flatpak .appimage .exe .msi")

// Words for what opens this machine, or something on it, to others.
var (
	exposing = set("tunnel expose share funnel forward portforward port-forward reverse publish")
	speaking = set("connect listen client server agent join attach serve accept bind")
	shells   = set("--exec --shell --sh --pty --command --cmd -e --remote-shell --reverse --allow-exec")
	reaching = set("--local --remote --forward --tunnel --server --upstream --relay --target")
)

// opens judges a stranger that makes a way in: a verb for it beside a port or an address, or
// a connection that is given a shell.
func (c *invocation) opens() {
	opener, speaks, shell, ways, ports, hosts := false, false, false, 0, 0, 0
	for i, a := range c.args {
		if i > 24 {
			break
		}
		option, value, joined := strings.Cut(a.text, "=")
		if !joined || !strings.HasPrefix(option, "-") {
			value = a.text
		}
		switch {
		case strings.HasPrefix(option, "-"):
			shell = shell || shells[option]
			opener = opener || exposing[strings.TrimLeft(option, "-")]
			if reaching[option] {
				ways++
			}
			if !joined {
				continue
			}
		case exposing[option]:
			opener = true
		case speaking[option]:
			speaks = true
		case interpreters[baseName(value)].shell:
			shell = true
		}
		switch host, port := portOf(value); {
		case port && host != "" && host != "localhost" && !strings.HasPrefix(host, "127."):
			hosts++
		case port:
			ports++
		}
	}
	switch {
	case shell && (speaks || opener) && ports+hosts > 0:
		c.report("shell.remote_access", 0, c.at)
	case opener && (ports+hosts > 0 || len(c.args) > 1 && listed("tunnel funnel", c.args[0].text)), speaks && ways > 1 && hosts > 0 && ports > 0:
		c.report("shell.tunnel", 0.5, c.at)
	}
}

// portOf tells an address and a port from a word: 3000, host:3000, tcp://host:3000.
func portOf(word string) (host string, port bool) {
	if _, rest, ok := strings.Cut(word, "://"); ok {
		word, _, _ = strings.Cut(rest, "/")
	}
	if i := strings.LastIndexByte(word, ':'); i >= 0 {
		host, word = word[:i], word[i+1:]
		if strings.ContainsAny(host, "/= ") {
			return "", false
		}
	}
	return host, len(word) >= 2 && len(word) <= 5 && isDigits(word)
}
