package hazard

import (
	"slices"
	"strings"
)

// Programs that start others: env, sudo, xargs, timeout, parallel.

// wrapper runs what a command wraps. done is false if it wraps nothing.
func (c *invocation) wrapper(o options) (out flow, done bool) {
	if c.name == "command" && len(c.args) > 1 && listed("-v -V -pv -vp", c.args[0].text) {
		return c.which(), true
	}
	skip := o.wraps
	i := 0
	code := ""
	for ; i < len(c.args); i++ {
		t := c.args[i].text
		if t == "--" {
			i++
			break
		}
		if len(t) > 1 && t[0] == '-' {
			name, value, has := strings.Cut(t, "=")
			if !has && listed(o.takes, t) && i+1 < len(c.args) {
				i++
				value = c.args[i].text
			} else if !has && t[1] != '-' && strings.HasSuffix(t, "c") && (t == "-c" || c.name == "script") && (c.name == "flock" || c.name == "script" || c.name == "runuser") && i+1 < len(c.args) {
				i++
				code = c.args[i].text
			}
			if (c.name == "xargs" || c.name == "parallel") && (name == "-a" || name == "--arg-file") {
				c.in = c.readFile(flow{text: value, known: true})
			}
			if c.name == "env" && (name == "-S" || name == "--split-string") {
				code = value
			}
			continue
		}
		if eq := strings.IndexByte(t, '='); eq > 0 && (c.name == "env" || c.name == "sudo" || c.name == "doas") && isName(t[:eq]) {
			v := flow{text: t[eq+1:], known: c.args[i].known}
			c.variable(t[:eq], v)
			if was, set := c.vars[t[:eq]]; set {
				defer func() { c.vars[t[:eq]] = was }()
			} else {
				defer delete(c.vars, t[:eq])
			}
			c.vars[t[:eq]] = v
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		if c.name == "script" && slices.ContainsFunc(c.args[i:], func(a flow) bool { return strings.HasPrefix(a.text, "-") && strings.HasSuffix(a.text, "c") }) {
			continue // the file that it writes, before the command
		}
		break
	}
	elevates := c.name == "sudo" || c.name == "doas" || c.name == "pkexec"
	if elevates && !c.elevated {
		c.elevated = true
		defer func() { c.elevated = false }()
		c.report("priv.sudo", 0, c.at)
	}
	if code != "" {
		out = c.inside(code)
		if c.name == "script" && out.taint&fromSecret != 0 {
			c.typescript(out)
		}
		return out, true
	}
	if i >= len(c.args) {
		if elevates {
			for _, a := range c.args {
				if a.text == "-s" || a.text == "-i" {
					c.report("priv.shell", 0, c.at)
				}
			}
		}
		if c.name == "parallel" {
			return c.eachLine(nil), true
		}
		return c.in, c.name != "env" && c.name != "set" && c.name != "exec" && c.name != "busybox" && c.name != "script" && c.name != "expect"
	}
	args := c.args[i:]
	if c.name == "parallel" {
		if at := slices.IndexFunc(args, func(a flow) bool { return strings.HasPrefix(a.text, ":::") }); at > 0 {
			return c.inside(parallel(args[:at], args[at+1:])), true
		}
	}
	c.around = c.name
	switch c.name {
	case "parallel":
		return c.eachLine(args), true
	case "xargs":
		for i, call := range c.withItems(args) {
			if one := c.invoke(call, c.in, c.wrap+1); i == 0 {
				out = one
			} else {
				out = both(out, one)
			}
		}
		return out, true
	}
	return c.invoke(args, c.in, c.wrap+1), true
}

// typescript notes that script writes what a command prints into the file that it is given.
func (c *invocation) typescript(printed flow) {
	printed.known = false
	name := "typescript"
	for i, a := range c.args {
		if !strings.HasPrefix(a.text, "-") && !strings.HasSuffix(c.optionOf(i), "c") {
			name = a.text
		}
	}
	c.writeFile(flow{text: name, known: true}, printed, false)
}

// parallel is the script that parallel makes of its words: a shell reads the command once more,
// with each of what stands behind :::.
func parallel(command, each []flow) string {
	var template, script strings.Builder
	for i, a := range command {
		if i > 0 {
			template.WriteByte(' ')
		}
		template.WriteString(a.text)
	}
	for i, a := range each {
		if i == 16 || strings.HasPrefix(a.text, ":::") {
			break
		}
		quoted := "'" + strings.ReplaceAll(a.text, "'", `'\''`) + "'"
		if t := template.String(); strings.Contains(t, "{}") {
			script.WriteString(strings.ReplaceAll(t, "{}", quoted) + "\n")
		} else {
			script.WriteString(t + " " + quoted + "\n")
		}
	}
	return script.String()
}

// withInput appends what xargs reads to its command.
func (c *invocation) withInput(args []flow) []flow {
	if c.in.text == "" && c.in.taint == 0 {
		return args
	}
	out := append([]flow{}, args...)
	if mark := c.placeholder(); mark != "" {
		if c.in.text == "" {
			c.in.text = "$in"
		}
		for i := range out {
			if strings.Contains(out[i].text, mark) && len(c.in.text) < 16<<10 {
				out[i].text = strings.ReplaceAll(out[i].text, mark, strings.TrimSpace(c.in.text))
				out[i].known = out[i].known && c.in.known
				out[i].taint |= c.in.taint
			}
		}
		return out
	}
	n := 0
	for f := range strings.FieldsSeq(c.in.text) {
		if n++; n > 64 {
			break
		}
		out = append(out, flow{text: f, known: c.in.known, taint: c.in.taint})
	}
	if n == 0 {
		out = append(out, flow{text: "$in", taint: c.in.taint})
	}
	return out
}

// placeholder is what xargs and parallel replace with what they read; empty if they append it.
func (c *invocation) placeholder() string {
	for i, a := range c.args {
		took := i > 0 && listed(c.table.options["xargs"].takes, c.args[i-1].text)
		if c.name == "xargs" && !strings.HasPrefix(a.text, "-") && !took {
			return "" // the command, whose options are its own
		}
		switch t := a.text; {
		case t == "-I" && i+1 < len(c.args):
			return c.args[i+1].text
		case strings.HasPrefix(t, "-I") && len(t) > 2:
			return t[2:]
		case t == "-i" || c.name == "parallel" && strings.Contains(t, "{}"):
			return "{}"
		case strings.HasPrefix(t, "--replace="):
			return t[len("--replace="):]
		}
	}
	return ""
}

// escapeWrappers are programs that nobody needs to start a shell, but who may run
// nothing else.
var escapeWrappers = set("taskset timeout gtimeout nice ionice strace ltrace flock stdbuf setarch chrt time setsid xargs script expect start-stop-daemon rlwrap unbuffer catchsegv logsave")

// obviousShell says whether a command does nothing but start a shell.
func obviousShell(text string) bool {
	f := strings.Fields(text)
	for len(f) > 0 && (f[0] == "exec" || f[0] == "sudo") {
		f = f[1:]
	}
	return len(f) > 0 && len(f) <= 2 && interpreters[baseName(f[0])].shell
}

// spawnsShell says whether an argument orders a program to start a shell, in
// whatever language the program has for that.
func spawnsShell(t string) bool {
	if rest, ok := strings.CutPrefix(t, "SHELL="); ok && interpreters[baseName(rest)].shell {
		return false // which shell make or tmux uses
	}
	i := strings.Index(t, "/bin/sh")
	if i < 0 {
		if i = strings.Index(t, "/bin/bash"); i < 0 {
			return strings.HasPrefix(t, "!sh") || strings.HasPrefix(t, "!bash")
		}
	}
	lead := strings.ToLower(t[max(0, i-24):i])
	for _, word := range []string{"!", "exec", "spawn", "system", "execute", "shell"} {
		if strings.Contains(lead, word) {
			// What else it is given would be the shell's work.
			rest := strings.TrimLeft(t[i:], "/binash")
			return !strings.HasPrefix(rest, " -c") && !strings.HasPrefix(rest, " /")
		}
	}
	return false
}

// shellFor judges a program that is not known, but is given a shell and an
// address: whatever it is, it ties them together.
func (c *invocation) shellFor() {
	shell, address, port := false, false, false
	for _, a := range c.args {
		switch {
		case strings.HasPrefix(a.text, "/") && obviousShell(a.text) || a.text == "bash -i" || a.text == "sh -i":
			shell = true
		case isDigits(a.text) && len(a.text) <= 5:
			port = true
		case strings.Contains(a.text, ".") && !strings.ContainsAny(a.text, "/ =") && hostOf(a.text).name != "":
			address = true
			port = port || strings.Contains(a.text, ":")
		}
	}
	if shell && address && port {
		s := c.shell
		s.report("shell.reverse_shell", 0.9, s.at)
	}
}
