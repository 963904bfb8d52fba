package hazard

import (
	"strings"

	"reeve.example/reeve/internal/rawjson"
)

// Who has a command run on another machine, or in a pod, does there what the command does: rm by
// a program that reaches a hundred machines is rm. Where these programs are told the command is
// data; see tables/elsewhere.yaml.

// onOther judges what runs on another machine: the same as here, but that a login begins in the
// home folder, and that whoever opens a shell there looks around.
func (c *invocation) onOther(read func()) {
	fed, own, live, afar := c.fed, c.ownService(), c.live, c.afar
	c.live, c.afar = live || c.reachesProduction(), afar || c.reachesAfar()
	c.elsewhere(func() {
		c.composed = own
		read()
	})
	c.fed, c.live, c.afar = fed, live, afar
}

// elsewhere calls read for what runs on another machine.
func (a *assessor) elsewhere(read func()) {
	cwd, other, composed := a.cwd, a.other, a.composed
	a.cwd, a.other, a.composed = "~", true, false
	a.kept(0.9, 0, read)
	a.cwd, a.other, a.composed = cwd, other, composed
}

// entersOther notes for which other machine the words of a remote shell are meant, until what it returns is
// called.
func (c *invocation) entersOther() func() {
	was := c.remote
	if c.away = c.leadsTo(); c.away != "" && remoteShells[c.name] {
		c.remote = c.away
	}
	return func() { c.remote = was }
}

// runsOn notes which machine or container what the command has run there runs on, until what it returns is
// called.
func (c *invocation) runsOn() func() {
	was := c.on
	if c.away != "" {
		c.on = c.away
	}
	return func() { c.on = was }
}

// remoteShells run what they are told on the machine that is named first.
var remoteShells = set("ssh slogin rsh remsh autossh mosh")

// leadsTo is the machine or the container on which the command has something run; empty where that
// may be this machine, or runs something here besides.
func (c *invocation) leadsTo() string {
	name := flow{}
	switch {
	case remoteShells[c.name]:
		takes := c.table.options["ssh"].takes
		for i, a := range c.args[:c.commandAt(remoteRun{skip: 1, takes: takes})] {
			option := strings.ToLower(a.text)
			if strings.HasPrefix(a.text, "-F") || strings.Contains(option, "command") || strings.Contains(option, "hostname") || strings.Contains(option, "proxy") {
				return "" // it is another machine than the one that is named, or a command of this one
			}
			if name.text == "" && !strings.HasPrefix(a.text, "-") && (i == 0 || !listed(takes, c.args[i-1].text)) {
				name = a
			}
		}
	case listed("docker podman nerdctl docker-compose podman-compose", c.name):
		words := c.inContainer()
		if len(words) == 0 || len(words) >= len(c.args) {
			return ""
		}
		own := c.args[:len(c.args)-len(words)]
		for _, a := range own {
			if strings.HasPrefix(a.text, "--pid") || strings.HasPrefix(a.text, "--privileged") {
				return "" // it sees the processes of this machine
			}
		}
		name = own[len(own)-1]
	case listed("kubectl oc", c.name) && c.verb() == "exec":
		name = flow{text: "pod", known: true}
	}
	for _, a := range c.args {
		if strings.Contains(a.text, "nsenter") {
			return ""
		}
	}
	if !name.known || name.text == "" || strings.ContainsAny(name.text, "$`* ") {
		return ""
	}
	return name.text
}

// remoteTools are words in the names of tools whose commands run on another machine.
var remoteTools = set("pod pods k8s kube kubectl kubernetes ssh ssm remote ecs ec2 droplet instance vm")

// runsElsewhere judges the commands that the command has run elsewhere, and says of what they print what
// is known of it.
func (c *invocation) runsElsewhere() (printed taint) {
	if c.onEmulator() {
		return 0
	}
	for _, e := range c.table.elsewhere[c.name] {
		if !e.words.among(c.args) {
			continue
		}
		where := c.onOther
		if e.here {
			where = func(read func()) { read() }
		}
		if e.option != "" {
			for _, text := range c.valuesOf(e.option) {
				if e.here && temporary(normalPath(before(text, ' ')).text) {
					c.report("code.library_hijack", 0.6, c.at)
				}
				where(func() { printed |= c.inside(text).taint })
			}
			continue
		}
		words := c.fromProgram(c.args[c.commandAt(e):])
		if len(words) == 0 {
			continue
		}
		if strings.HasPrefix(words[0].text, "{") { // a server's settings, as JSON
			for _, text := range commandTexts(words[0].text) {
				where(func() { printed |= c.inside(text).taint })
			}
			continue
		}
		if e.here && e.after == "add" && temporary(normalPath(words[0].text).text) { // to an agent's settings, which starts it from then on
			c.report("persist.setting", 0, c.at)
		}
		where(func() {
			if c.fed = true; e.plain {
				printed |= c.invoke(words, c.in, c.wrap+1).taint
			} else {
				printed |= c.inside(c.joined(words).text).taint
			}
		})
	}
	return printed
}

// onEmulator reports whether a program for devices is told of one that this machine plays, which holds nothing of
// anybody's.
func (c *invocation) onEmulator() bool {
	if c.name != "adb" {
		return false
	}
	emulator := strings.HasPrefix(c.vars["ANDROID_SERIAL"].text, "emulator-")
	for i, a := range c.args {
		switch {
		case a.text == "shell":
			return emulator
		case a.text == "-e":
			emulator = true
		case i > 0 && c.args[i-1].text == "-s":
			emulator = strings.HasPrefix(a.text, "emulator-")
		}
	}
	return emulator
}

// comesBack is what is known of what comes back from where a command runs.
const comesBack = fromSecret | fromPlace | fromHost | fromKeeper | recoded

// commandAt is where the words of the command begin that runs elsewhere; behind them all, if
// there is none.
func (c *invocation) commandAt(e remoteRun) int {
	begun, skip := e.after == "", e.skip
	for i := 0; i < len(c.args); i++ {
		t := c.args[i].text
		switch {
		case !begun:
			begun = anyMatches(strings.Split(e.after, "|"), c.args[i:i+1])
			if begun && (t == "--" || t == "-e" || t == "--exec") {
				return i + 1
			}
		case t == "--":
			if skip = max(0, skip-1); skip == 0 {
				return i + 1
			}
		case listed(e.takes, t):
			i++
		case strings.HasPrefix(t, "-"):
		case skip > 0:
			skip--
		default:
			return i
		}
	}
	return len(c.args)
}

// ownWords are a command's words without those of a command that it has run elsewhere: what rm is
// told there is nothing that this program is told.
func (c *invocation) ownWords() []flow {
	for _, e := range c.table.elsewhere[c.name] {
		if e.option == "" && e.words.among(c.args) {
			if i := c.commandAt(e); i < len(c.args) {
				return c.args[:i]
			}
		}
	}
	return c.args
}

// fromProgram is a command from its program on. An option that nobody knows may have left a word
// of its own before it.
func (c *invocation) fromProgram(words []flow) []flow {
	for i, w := range words[:min(len(words), 4)] {
		if strings.ContainsAny(w.text, " \t\n/") || programs()[baseName(w.text)] || len(c.table.programs[w.text]) > 0 {
			return words[i:]
		}
	}
	return words
}

// valuesOf are the texts that options are given: in a form such as commands=["…"], {"commands":
// ["…"]} or cmd='…', each of the commands in it.
func (c *invocation) valuesOf(options string) (texts []string) {
	for i, a := range c.args {
		option, value, joined := strings.Cut(a.text, "=")
		if !strings.HasPrefix(option, "-") {
			continue
		}
		switch {
		case joined && len(option) > 2 && listed(options, option):
		case listed(options, a.text) && i+1 < len(c.args):
			value = c.args[i+1].text
		case len(a.text) > 2 && a.text[1] != '-' && listed(options, a.text[:2]) && !listed(options, a.text):
			value = a.text[2:]
		default:
			continue
		}
		texts = append(texts, commandTexts(value)...)
	}
	return texts
}

// commandTexts are the commands that a value of an option holds.
func commandTexts(value string) []string {
	value = strings.TrimSpace(value)
	if name, rest, ok := strings.Cut(value, "="); ok && (listed("commands command cmd _raw_params argv free_form scripts script", strings.ToLower(name)) || configRuns(name)) {
		value = strings.TrimSpace(rest)
	}
	if value == "" {
		return nil
	}
	if strings.ContainsRune(`{["`, rune(value[0])) {
		if doc, err := rawjson.Parse([]byte(value)); err == nil {
			var n nest
			n.json(doc.Root(), "", "", 0)
			var texts []string
			for _, l := range n.leaves {
				texts = append(texts, l.Text)
			}
			return texts
		}
	}
	if q := value[0]; len(value) > 1 && (q == '\'' || q == '"') && value[len(value)-1] == q {
		value = value[1 : len(value)-1]
	}
	return []string{strings.Trim(value, "[]")}
}

// configRuns reports whether a setting of a build, written as name=value, names a program that it
// starts.
func configRuns(name string) bool {
	for _, end := range []string{"rustc-wrapper", "rustc-workspace-wrapper", ".rustc", ".rustdoc", ".runner", ".linker", "credential-provider"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}
