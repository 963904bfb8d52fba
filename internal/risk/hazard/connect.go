package hazard

import (
	"net/netip"
	"slices"
	"strings"
)

// Programs that open connections and logins: nc, socat, ssh.

// sshpass gives ssh a password; in a loop it tries many.
func (c *invocation) sshpass() flow {
	w := 0.5
	if c.loops > 0 {
		w = 0.85
	}
	c.report("priv.brute_force", w, c.at)
	_, rest := c.split()
	if len(rest) > 0 {
		for i, a := range c.args {
			if a.text == rest[0].text {
				return c.invoke(c.args[i:], c.in, c.wrap+1)
			}
		}
	}
	return flow{}
}

// connect is netcat and its kin: a bare connection, in whose end a program may be.
func (c *invocation) connect() flow {
	options, rest := c.split()
	var line []string
	for _, a := range c.args {
		line = append(line, a.text)
	}
	all := strings.Join(line, " ")
	listens := has(options, "-l", "--listen", "-L") || strings.Contains(strings.ToLower(all), "-listen:") || strings.HasPrefix(all, "listen")
	if c.name == "socat" {
		return c.socat(rest)
	}
	runs := false
	for _, o := range []string{"-e", "--exec", "-c", "--sh-exec", "--lua-exec", "-r", "-s", "--shell"} {
		v, ok := options[o]
		if !ok {
			continue
		}
		if o == "-s" || o == "-r" || o == "--shell" {
			if !interpreters[baseName(v.text)].shell || c.name == "nc" && o == "-s" {
				continue
			}
		}
		if o == "-c" && c.name == "ncat" && v.text == "" {
			continue
		}
		if first := baseName(before(v.text, ' ')); first == "echo" || first == "printf" || first == "cat" || first == "date" {
			continue // an answer, not a shell
		}
		runs = true
		if v.text != "" && !interpreters[baseName(v.text)].shell && len(rest) > 0 {
			c.inside(v.text)
		}
	}
	// nc -eu /bin/sh host, nc -ce sh
	for o := range options {
		if len(o) > 2 && o[0] == '-' && o[1] != '-' && strings.ContainsAny(o[1:], "ec") {
			runs = true
		}
	}
	for i, a := range rest {
		if interpreters[baseName(a.text)].shell && i > 0 {
			runs = runs || has(options, "-e", "-c")
		}
	}
	target := len(rest) > 0
	if c.name == "ztcp" {
		c.socket = true
	}
	switch {
	case runs && (listens || has(options, "-p") && len(rest) < 2 && c.name != "rcat"):
		c.report("shell.bind_shell", 0, c.at)
	case runs:
		c.report("shell.reverse_shell", 0, c.at)
	case c.in.taint&fromShell != 0 && target && !listens:
		c.report("shell.reverse_shell", 0, c.at)
	case c.in.taint&fromShell != 0:
		c.report("shell.bind_shell", 0, c.at)
	case c.fifo && c.in.taint&fromFile != 0 && target:
		c.report("shell.reverse_shell", 0.6, c.at) // whoever writes into the pipe may be a shell
	case listens:
		c.report("shell.listener", 0, c.at)
	}
	if low := strings.ToLower(c.in.text[:min(len(c.in.text), 4096)]); strings.Contains(low, "flush_all") || strings.Contains(low, "flushall") || strings.Contains(low, "flushdb") {
		c.report("destroy.store", 0.45, c.at)
	}
	for _, a := range rest {
		if !strings.HasPrefix(a.text, "/") && !strings.HasPrefix(a.text, ".") {
			c.host(a.text, c.at)
		}
		if a.taint&fromSecret != 0 {
			c.sent(a, c.at)
		}
	}
	c.sends(c.in, c.at)
	if has(options, "-z") || c.name == "telnet" && !target {
		return flow{}
	}
	return flow{taint: fromSocket}
}

// socat connects any two things; a program on one side and the network on the
// other is a shell for somebody.
func (c *invocation) socat(ends []flow) flow {
	program, network, listens, file, nets := false, false, false, false, 0
	sent := c.in
	for _, e := range ends {
		low := strings.ToLower(e.text)
		kind := before(low, ':')
		switch {
		case strings.HasPrefix(kind, "exec") || strings.HasPrefix(kind, "system") || strings.HasPrefix(kind, "shell"):
			program = true
		case strings.Contains(kind, "listen"):
			network, listens = true, true
		case strings.HasPrefix(kind, "tcp") || strings.HasPrefix(kind, "udp") || strings.HasPrefix(kind, "openssl") || strings.HasPrefix(kind, "ssl") || strings.HasPrefix(kind, "sctp") || strings.HasPrefix(kind, "socks") || strings.HasPrefix(kind, "proxy") || strings.HasPrefix(kind, "vsock"):
			network = true
		case e.text != "-" && e.text != "stdio" && e.text != "stdin":
			name := e.text
			if listed("file open gopen create", kind) {
				name, _, _ = strings.Cut(name[len(kind)+1:], ",")
				file = file || kind != "create" && !strings.HasPrefix(name, "/dev/")
			}
			sent.taint |= c.readFile(flow{text: name, known: e.known}).taint
			continue
		}
		if words := strings.Split(before(e.text, ','), ":"); network && !listens && len(words) > 1 {
			c.host(words[1], c.at)
			if len(words) > 3 { // the one behind a proxy
				c.host(words[2], c.at)
			}
		}
		if network && !program {
			nets++
		}
	}
	switch {
	case program && listens:
		c.report("shell.bind_shell", 0, c.at)
	case program && network:
		c.report("shell.reverse_shell", 0, c.at)
	case c.in.taint&fromShell != 0 && network:
		c.report("shell.reverse_shell", 0, c.at)
	case listens && nets > 1: // from one port to another
		c.report("shell.tunnel", 0.5, c.at)
	case listens:
		c.report("shell.listener", 0.35, c.at)
	case file && network:
		c.report("exfil.upload", 0, c.at)
	}
	if network {
		c.sends(sent, c.at)
	} else {
		c.sent(sent, c.at)
	}
	return flow{taint: fromSocket}
}

// logsInto tells who watches of a host that is not written as an address: ssh, scp, rsync
// and git take [user@]host[:path].
func (c *invocation) logsInto(to string) {
	switch {
	case to == "":
	case strings.Contains(to, "://"):
		c.speaksTo(to)
	case strings.HasPrefix(to, "["): // an address of version 6
		c.speaksTo("ssh://" + to)
	default:
		login, _, _ := strings.Cut(to, ":")
		c.speaksTo("ssh://" + login)
	}
}

func (c *invocation) ssh() flow {
	options, rest := c.split()
	if len(rest) > 0 {
		c.logsInto(rest[0].text)
	}
	for hop := range strings.SplitSeq(options["-J"].text, ",") {
		c.logsInto(hop)
	}
	for _, a := range c.args {
		if name, ok := strings.CutPrefix(strings.ToLower(strings.TrimPrefix(a.text, "-o")), "hostname"); ok && name != "" {
			c.logsInto(strings.Trim(name, "= "))
		}
	}
	if v, ok := options["-o"]; ok {
		low := strings.ToLower(v.text)
		if strings.HasPrefix(low, "proxycommand") || strings.HasPrefix(low, "localcommand") || strings.HasPrefix(low, "permitlocalcommand") {
			_, cmd, _ := strings.Cut(strings.Replace(v.text, "=", " ", 1), " ")
			if obviousShell(strings.Trim(cmd, ";")) || strings.Contains(cmd, "sh 0") {
				c.report("shell.escape", 0, c.at)
			}
			c.inside(strings.Trim(cmd, "; "))
		}
	}
	out := flow{taint: fromNet}
	for _, a := range c.args {
		if strings.HasPrefix(a.text, "ProxyCommand") {
			c.report("shell.escape", 0.5, c.at)
		}
	}
	if len(rest) == 0 {
		return out
	}
	c.sends(c.in, c.at)
	if c.in.taint&fromShell != 0 {
		c.report("shell.reverse_shell", 0, c.at)
	}
	if len(rest) == 1 && c.in.taint&(fromNet|fromSocket) != 0 {
		c.report("shell.download_run", 0, c.at) // the shell there runs what comes in
	}
	if words := c.args[c.commandAt(remoteRun{skip: 1, takes: c.table.options["ssh"].takes}):]; len(words) > 0 {
		f := c.joined(words)
		if f.taint&(fromSecret|fromOutput) != 0 {
			c.sends(flow{known: true, taint: f.taint}, c.at)
		}
		c.onOther(func() { out.taint |= c.inside(f.text).taint })
	} else if c.in.text != "" || c.in.taint&fromProgram != 0 { // a shell there reads what comes in
		c.onOther(func() {
			defer c.runsPrinted(c.in, "sh")()
			out.taint |= c.inside(c.in.text).taint
		})
	}
	return out
}

// lookup asks for names, by which whoever keeps a name's zone is told it. An address is asked for in a zone that
// lies with the network's owner, so that a list of them tells a stranger nothing.
func (c *invocation) lookup() flow {
	out := flow{}
	for i, a := range c.args {
		_, notAddress := netip.ParseAddr(a.text)
		switch reverse := notAddress == nil || c.name == "dig" && i > 0 && c.args[i-1].text == "-x"; {
		case !strings.Contains(a.text, "."), reverse && a.taint&fromSecret == 0 && !c.asksServer():
		case a.taint&(fromSecret|fromSystem|fromOwn|fromFile|fromHost) != 0:
			c.report("exfil.dns", 0, c.at)
		case a.taint&fromOutput != 0: // of whatever it is, the name's owner is told it
			labels := strings.Split(a.text, ".")
			last := 0
			for i, label := range labels {
				if strings.ContainsAny(label, "$()") {
					last = i + 1
				}
			}
			c.speaksTo(strings.Join(labels[last:], "."))
			c.report("exfil.dns", passing, c.at)
		}
		out.taint |= a.taint &^ fromFile
	}
	out.taint |= fromNet
	return out
}

// asksServer reports whether a command that looks names up is told which server to ask.
func (c *invocation) asksServer() bool {
	_, rest := c.split()
	return slices.ContainsFunc(c.args, func(a flow) bool { return strings.HasPrefix(a.text, "@") }) || listed("host nslookup", c.name) && len(rest) > 1
}
