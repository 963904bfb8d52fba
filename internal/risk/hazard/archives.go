package hazard

import (
	"slices"
	"strings"
)

// Archives: tar, zip.

func (c *invocation) archive() flow {
	out := flow{taint: c.in.taint &^ fromShell}
	c.unpacks()
	for _, a := range c.args {
		if a.text == "--remove-files" || a.text == "-sdel" || c.name == "zip" && strings.HasPrefix(a.text, "-") && !strings.HasPrefix(a.text, "--") && strings.Contains(a.text, "m") {
			_, rest := c.split()
			c.loses(rest)
		}
	}
	dir := ""
	leftOut := c.patternsLeftOut()
	for i, a := range c.args {
		t := a.text
		if leftOut[i] {
			continue
		}
		if c.name == "tar" && i > 0 && listed("-C --directory", c.args[i-1].text) {
			dir = t
			continue
		}
		if strings.HasPrefix(t, "--checkpoint-action=exec=") || strings.HasPrefix(t, "--to-command=") || strings.HasPrefix(t, "--use-compress-program=") || strings.HasPrefix(t, "--rsh-command=") {
			_, cmd, _ := strings.Cut(t, "=")
			cmd = strings.TrimPrefix(cmd, "exec=")
			if obviousShell(cmd) {
				c.report("shell.escape", 0, c.at)
			}
			c.inside(cmd)
			continue
		}
		if strings.HasPrefix(t, "-") {
			continue
		}
		if dir != "" && !strings.HasPrefix(t, "/") && !strings.HasPrefix(t, "~") {
			t = strings.TrimSuffix(dir, "/") + "/" + t // as seen from there
		}
		if strings.ContainsAny(t, "/~.") || placeOf(t).name != "" || t == "*" {
			f := c.copied(t)
			if p := normalPath(t).text; c.ownFolder(t) {
				f.taint |= fromOwn
			} else if c.wide(t) || p == "/" || p == "/etc" || p == "~" || p == "/home" || p == "/root" || p == "/var" || t == "*" && c.vars["PWD"].text == "/etc" {
				f.taint |= fromSystem
			}
			out.taint |= f.taint &^ fromFile
		}
		out.taint |= c.takesAlong(t)
		if c.carriedInto(t) {
			out.taint |= fromAlong
		}
	}
	if c.packsUp() {
		out.taint |= fromFile
		if slices.ContainsFunc(c.args, func(a flow) bool { return listed(". ./ * .git ./* .git/", a.text) }) {
			out.taint |= fromStore
		}
		c.packsInto(out)
	}
	return out
}

// patternsLeftOut are the places of the words that say what does not come into the archive.
func (c *invocation) patternsLeftOut() map[int]bool {
	left := map[int]bool{}
	for i, a := range c.args {
		if i == 0 || strings.HasPrefix(a.text, "-") {
			continue
		}
		left[i] = listed("-x --exclude -xr", c.args[i-1].text) || c.name == "zip" && left[i-1]
	}
	return left
}

// unpacks remembers the folder into which an archive is unpacked that was downloaded.
func (c *invocation) unpacks() {
	of, dir := c.in.taint, "."
	if c.packsUp() {
		return
	}
	var archives []string
	for i, a := range c.args {
		if f, ok := c.getFile(a.text); ok {
			of |= f.taint
		}
		if strings.Contains(a.text, ".") && !strings.HasPrefix(a.text, "-") {
			archives = append(archives, a.text)
		}
		if i > 0 && listed("-C --directory -d", c.args[i-1].text) {
			dir = strings.TrimSuffix(a.text, "/")
		}
	}
	for _, archive := range archives[:min(len(archives), 4)] {
		if len(c.unpacked) < maxRan {
			c.unpacked = append(c.unpacked, [2]string{archive, dir})
		}
	}
	if of&fromNet != 0 {
		c.brings(foreignFolder{name: dir, known: of&(fromStranger|fromNobody) == 0, of: of})
	}
}

// packsUp reports whether an archive is made, and not looked into.
func (c *invocation) packsUp() bool {
	if len(c.args) == 0 {
		return false
	}
	first := strings.TrimPrefix(c.args[0].text, "-")
	switch c.name {
	case "unzip", "unrar", "unar":
		return false
	case "tar", "bsdtar", "gtar":
		return slices.ContainsFunc(c.args, func(a flow) bool { return listed("--create -c", a.text) }) || strings.Contains(first, "c") && !strings.HasPrefix(first, "-") && !strings.ContainsAny(first, "./=")
	case "7z", "7za", "7zz":
		return first == "a"
	case "cpio":
		return strings.Contains(first, "o")
	}
	return true // zip
}

// packsInto remembers the archive that is made.
func (c *invocation) packsInto(content flow) {
	for i, a := range c.args {
		name, ok := strings.CutPrefix(a.text, "--file=")
		switch {
		case ok:
		case c.name == "tar" && i > 0 && (c.args[i-1].text == "--file" || i == 1 && strings.HasSuffix(c.args[0].text, "f") || strings.HasPrefix(c.args[i-1].text, "-") && strings.HasSuffix(c.args[i-1].text, "f")):
			name = a.text
		case c.name != "tar" && c.name != "cpio" && i > 0 && !strings.HasPrefix(a.text, "-"), c.name == "zip" && !strings.HasPrefix(a.text, "-"):
			name = a.text
		default:
			continue
		}
		if name != "-" {
			content.known = false
			c.putFile(name, content)
			switch {
			case content.taint&(fromSecret|fromSystem|fromOwn) != 0:
				c.keepsIn(name) // whole homes hold them, too
			case content.taint&fromAlong != 0:
				c.keeps(Along(scriptName(name)))
			}
		}
		return
	}
}
