package hazard

import (
	"slices"
	"strings"
)

// Programs that give rights: chmod, chattr, su, useradd.

func (c *invocation) chmod() flow {
	_, rest := c.split()
	mode := ""
	for _, a := range c.args {
		// u+s looks like a file, -s like an option.
		if t := a.text; t != "-R" && t != "-v" && t != "-f" && t != "--recursive" {
			mode = t
			break
		}
	}
	special := len(mode) >= 4 && isDigits(mode) && len(mode) <= 5 && (mode[len(mode)-4] >= '2' && mode[len(mode)-4] <= '7')
	symbolic := strings.Contains(mode, "+") && strings.Contains(mode[strings.IndexByte(mode, '+'):], "s") || strings.Contains(mode, "=") && strings.Contains(mode, "s") && len(mode) < 12
	if (special || symbolic) && len(rest) > 0 {
		w := 0.0
		target := rest[len(rest)-1].text
		if special && mode[len(mode)-4] == '2' || symbolic && strings.HasPrefix(mode, "g") {
			w = 0.5 // directories of a group
			if p := normalPath(target).text; strings.HasPrefix(p, "/tmp") || strings.HasPrefix(p, "/dev/shm") || strings.HasPrefix(p, "/var/tmp") || strings.Contains(mode, "x") {
				w = 0.8
			}
		}
		if special && mode[len(mode)-4] >= '4' || symbolic && !strings.HasPrefix(mode, "g") {
			w = 0.8
			if base := baseName(target); interpreters[base].shell || strings.HasPrefix(normalPath(target).text, "/tmp") {
				w = 0.9
			}
		}
		c.report("priv.setuid", w, c.at)
	}
	open := mode == "777" || mode == "0777" || mode == "a+rwx" || mode == "o+w" || mode == "a+w" || mode == "666" || mode == "+w"
	for _, a := range rest {
		f := normalPath(a.text)
		pl := placeOf(f.text)
		switch {
		case open && (systemTrees[f.text] || pl.write >= 0.7 || pl.read >= 0.7):
			c.report("priv.open_mode", 0.82, c.at)
		case open:
			c.report("priv.open_mode", 0.25, c.at)
		case (strings.HasPrefix(mode, "-") || strings.HasPrefix(mode, "a-") || strings.HasPrefix(mode, "u-") || strings.HasPrefix(mode, "ugo-")) && c.wide(a.text):
			c.report("destroy.config", 0.82, c.at)
		case mode == "000" && (systemTrees[f.text] || pl.write >= 0.7):
			c.report("destroy.config", 0.8, c.at)
		}
	}
	return flow{}
}

func (c *invocation) su() flow {
	options, rest := c.split()
	if v, ok := options["-c"]; ok {
		c.inside(v.text)
		return flow{}
	}
	if v, ok := options["--command"]; ok {
		c.inside(v.text)
		return flow{}
	}
	if len(rest) == 0 || rest[0].text == "root" || rest[0].text == "-" {
		c.report("priv.shell", 0.3, c.at)
	}
	return flow{}
}

// deviceGroups may use a device of the machine, and get no more rights by it.
var deviceGroups = set("dialout plugdev uucp audio video render lp scanner cdrom kvm i2c gpio spi")

func (c *invocation) account() flow {
	options, _ := c.split()
	if i := slices.IndexFunc(c.args, func(a flow) bool { return a.text == "-aG" }); i >= 0 && i+1 < len(c.args) {
		options["-G"] = c.args[i+1]
		delete(options, "-aG")
	}
	w, groups, devices := 0.45, false, true
	for o, v := range options {
		switch o {
		case "-a", "--append":
			continue
		case "-G", "--groups", "--ingroup":
		default:
			devices = false
		}
		switch o {
		case "-u", "--uid", "-g", "--gid":
			if v.text == "0" || v.text == "root" || v.text == "wheel" || v.text == "sudo" {
				w = 0.9
			}
		case "-G", "--groups", "--ingroup":
			for g := range strings.SplitSeq(v.text, ",") {
				devices = devices && v.known && deviceGroups[g]
				groups = true
				if privilegedGroups[g] {
					w = 0.8
					if c.name == "usermod" || g == "docker" {
						w = 0.6
					}
				}
			}
			if has(options, "-p", "--password") && w >= 0.6 {
				w = 0.88
			}
		case "-p", "--password":
			w = max(w, 0.8)
		case "-o", "--non-unique":
			w = max(w, 0.85)
		}
	}
	// Without a home, in no list, but with a shell: nobody is meant to see it.
	if has(options, "-M", "--no-create-home") && has(options, "-s", "--shell") && (has(options, "-r", "--system") || has(options, "-N")) {
		shell := options["-s"].text + options["--shell"].text
		if interpreters[baseName(shell)].shell {
			w = max(w, 0.82)
		}
	}
	if c.name == "usermod" && groups && devices {
		w = 0.2
	}
	code := "priv.account"
	if w >= 0.8 {
		code = "priv.admin_account"
	}
	c.report(code, w, c.at)
	return flow{}
}

var privilegedGroups = set("sudo wheel root admin adm docker lxd disk shadow administrators")

func (c *invocation) chattr() flow {
	for _, a := range c.args {
		if c.wide(a.text) {
			c.report("defense.immutable", 0.82, c.at)
		}
		if strings.HasPrefix(a.text, "/") || strings.HasPrefix(a.text, "~") {
			if pl := placeOf(normalPath(a.text).text); pl.write >= 0.7 {
				c.report("defense.immutable", 0.8, c.at)
			}
		}
	}
	return flow{}
}

// givesIdentity reports whether a mode has whoever runs the file become its owner.
func givesIdentity(mode string) bool {
	if isDigits(mode) {
		return len(mode) >= 4 && mode[len(mode)-4] >= '4'
	}
	for part := range strings.SplitSeq(mode, ",") {
		if at := strings.IndexAny(part, "+="); at >= 0 && strings.Contains(part[at:], "s") && (at == 0 || strings.ContainsAny(part[:at], "ua")) {
			return true
		}
	}
	return false
}
