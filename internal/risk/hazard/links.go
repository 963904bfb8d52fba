package hazard

import (
	"path"
	"slices"
	"strings"

	"reeve.example/reeve/act"
)

// What is done through a link is done to what it leads to. A link of this machine may lead anywhere,
// which the disk says (see the guardian); one that the script itself made leads where it said.

// maxLinks is how many links of one call are followed.
const maxLinks = 64

// links remembers where names lead that the command makes: ln, and mount --bind.
func (c *invocation) links() {
	options, rest := c.split()
	switch c.name {
	case "ln":
		dir, into := options["-t"]
		if v, ok := options["--target-directory"]; ok {
			dir, into = v, ok
		}
		switch {
		case into:
		case len(rest) > 1:
			dir, rest = rest[len(rest)-1], rest[:len(rest)-1]
			if len(rest) == 1 && !strings.HasSuffix(dir.text, "/") && path.Clean(dir.text) != "." {
				c.leads(dir.text, rest[0].text)
			}
		default:
			dir.text = "."
		}
		for _, to := range rest { // where dir is a folder, the links lie in it
			c.leads(path.Join(dir.text, baseName(strings.TrimRight(to.text, "/"))), to.text)
		}
	case "mount":
		bound := slices.ContainsFunc(c.args, func(a flow) bool { // -o ro,bind
			return slices.Contains(strings.Split(strings.TrimPrefix(a.text, "-o"), ","), "bind") || strings.HasSuffix(a.text, ",rbind") || a.text == "rbind"
		})
		if n := len(rest); n > 1 && (bound || has(options, "--bind", "--rbind", "-B", "-R")) {
			c.leads(rest[n-1].text, rest[n-2].text)
		}
	}
}

// leads remembers that a name leads to a path, which is seen from where the name lies.
func (a *assessor) leads(name, to string) {
	if name = path.Clean(name); name == "." || name == "/" || to == "" || len(a.linked) >= maxLinks || strings.HasPrefix(to, "-") {
		return
	}
	if dir := path.Dir(name); dir != "." && !strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "~") && !strings.HasPrefix(to, "$") {
		to = path.Join(dir, to)
	}
	if to != name && !strings.HasPrefix(to, name+"/") {
		a.linked = append(a.linked, [2]string{name, to})
	}
}

// leadsBy remembers the links that lie on the disk.
func (a *assessor) leadsBy(links []act.Link) {
	for _, l := range links[:min(len(links), maxLinks/2)] {
		a.linked = append(a.linked, [2]string{path.Clean(l.Name), l.To})
	}
}

// replaces forgets a name that the command takes away, or gives to something else.
func (c *invocation) replaces() {
	if len(c.linked) == 0 || !listed("ln mv rm unlink", c.name) {
		return
	}
	c.linked = slices.DeleteFunc(c.linked, func(l [2]string) bool {
		return slices.ContainsFunc(c.args, func(a flow) bool { return !strings.HasSuffix(a.text, "/") && path.Clean(a.text) == l[0] })
	})
}

// through is a path with the link that it begins with replaced by what that leads to; whole says
// that the link itself is meant, too. The last link of a name counts.
func (a *assessor) through(p string, whole bool) string {
	own := strings.TrimPrefix(p, "./")
	for i := len(a.linked) - 1; i >= 0 && own != ""; i-- {
		name, to := a.linked[i][0], a.linked[i][1]
		if rest, ok := strings.CutPrefix(own, name+"/"); ok {
			return strings.TrimSuffix(to, "/") + "/" + rest
		}
		if whole && own == name {
			return to
		}
	}
	return p
}

// followed are a command's words with those that lie behind a link as what it leads to.
func (a *assessor) followed(args []flow) []flow {
	if len(a.linked) == 0 {
		return args
	}
	out := slices.Clone(args)
	for i := range out {
		option, value, joined := strings.Cut(out[i].text, "=")
		if joined && !strings.ContainsAny(option, "/ ") {
			out[i].text = option + "=" + a.through(value, false)
			continue
		}
		out[i].text = a.through(out[i].text, false)
	}
	return out
}
