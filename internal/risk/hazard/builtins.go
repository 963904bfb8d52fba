package hazard

import (
	"path"
	"slices"
	"strings"
)

// What a shell does itself: cd, eval, source, alias, export.

func (c *invocation) changeDir() flow {
	c.goes(c.args)
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

func (c *invocation) eval() flow {
	f := c.joined(c.args)
	c.dynamic = c.dynamic || !f.known
	if !f.known && f.taint&(fromNet|fromDecoder|fromSocket) == 0 && len(strings.Trim(f.text, "$(){}@* ")) < 24 {
		c.report("shell.dynamic_run", 0, c.at)
	}
	c.evaluates(f)
	// Pieces that are not known do not hide those that are.
	out := c.runs(flow{text: f.text, known: f.known || f.text != "", taint: f.taint}, "sh")
	return out
}

// settingUp are files that shells read to find programs, and not to say what these work on.
var settingUp = set("activate activate.fish activate.csh nvm.sh asdf.sh env sdkman-init.sh .bashrc .bash_profile .zshrc .profile .zprofile rvm chruby.sh")

func (c *invocation) source() flow {
	if len(c.args) == 0 { // fish reads what comes in
		return c.runs(c.in, "sh")
	}
	f := c.args[0]
	if isNetworkDevice(f.text) {
		c.report("shell.reverse_shell", 0, c.at)
		return flow{}
	}
	if f.text == "-" || descriptor(f.text) == "/dev/fd/0" {
		return c.runs(c.in, "sh")
	}
	content, ok := c.getFile(f.text)
	c.strayed = c.strayed || !settingUp[path.Base(f.text)] && !slices.Contains(c.project().Files, strings.TrimPrefix(f.text, "./"))
	if !ok {
		c.ran(f.text)
		if name := path.Base(f.text); !strings.HasPrefix(name, ".") || temporary(normalPath(f.text).text) {
			c.ranFile(f.text) // settings of a shell, such as .env, are read so
		} else if c.isForeign(f.text) {
			c.reportSaying("code.foreign", 0, c.at, ranForeign(f.text))
		}
		return flow{}
	}
	c.ranCopy(f.text)
	return c.runs(content, "sh")
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

func (c *invocation) alias() flow {
	for _, a := range c.args {
		name, value, ok := strings.Cut(a.text, "=")
		if !ok {
			continue
		}
		if len(c.aliases) < 256 {
			c.aliases[name] = value
		}
		if a.taint&fromProgram != 0 && nothingKnown(value) {
			c.report("shell.printed_run", 0, c.at)
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
		if v, set := c.vars[c.args[0].text]; set {
			return v
		}
		if text, standard := shellVariables[c.args[0].text]; standard {
			return flow{text: text, known: true}
		}
		return flow{taint: fromHost}
	}
	return flow{taint: fromHost | fromSecret | fromPlace} // tokens stand in most of them
}

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
