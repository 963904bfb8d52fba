package hazard

import (
	"path"
	"strings"
)

// What holds everything of somebody, or what a system needs, is spelled in many ways: by
// its name, from where cd led, by the names that ls and find give for what lies in it.

// wide reports whether a path is such a place, or all that lies in it.
func (a *assessor) wide(p string) bool {
	if p == "" || len(p) > 512 {
		return false
	}
	for _, q := range []string{p, a.from(p)} {
		if q == "" || !strings.HasPrefix(q, "/") && !strings.HasPrefix(q, "~") && !strings.HasPrefix(q, "$HOME") {
			continue
		}
		f := strings.TrimSuffix(normalPath(q).text, "/**/*")
		if somebodysHome(q) || systemTrees[q] || systemTrees[f] || systemTrees[strings.TrimSuffix(f, "/**")] && f != "/tmp/**" {
			return true
		}
	}
	return false
}

// ownFolder reports whether a path is the folder in a home in which somebody keeps what is their own.
func (a *assessor) ownFolder(p string) bool {
	for _, q := range []string{p, a.from(p)} {
		if f := strings.TrimSuffix(strings.TrimSuffix(normalPath(q).text, "/"), "/*"); f == "~/Documents" {
			return true
		}
	}
	return false
}

// somebodysHome says whether a path is a home directory by its owner's name.
func somebodysHome(p string) bool {
	for _, homes := range []string{"/home/", "/Users/", "~"} {
		if name, ok := strings.CutPrefix(strings.TrimRight(p, "/"), homes); ok && name != "" && !strings.ContainsAny(name, "/*$") {
			return true
		}
	}
	return false
}

// from gives a relative path as seen from where cd led, if that is known; empty if not.
func (a *assessor) from(p string) string {
	if a.cwd == "" || p == "" || strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~") || strings.HasPrefix(p, "-") || strings.HasPrefix(p, "$") {
		return ""
	}
	if a.cwd == "~" || strings.HasPrefix(a.cwd, "~/") {
		joined := path.Join("/home/"+a.cwd, p) // where homes lie, to which .. leads from one
		if rest, ok := strings.CutPrefix(joined, "/home/~"); ok && (rest == "" || rest[0] == '/') {
			return "~" + rest
		}
		return joined
	}
	return path.Join(a.cwd, p)
}

// begins says in which folder the agent works, and in which the call is made: paths are as seen from
// there. What is no whole path of a Unix system says nothing.
func (a *assessor) begins(own, folder string) {
	whole := func(p string) bool { return (strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~")) && len(p) < 512 }
	if whole(own) {
		a.began = own
	}
	if whole(folder) {
		a.cwd, a.went = normalPath(folder).text, folder
	}
	a.start = a.cwd
}

// goes follows cd.
func (s *shell) goes(args []flow) {
	to := "~"
	for _, a := range args {
		if !strings.HasPrefix(a.text, "-") || a.text == "-" {
			to = a.text
		}
	}
	to = s.through(to, true)
	s.lost = false
	switch {
	case strings.HasPrefix(to, "/"), strings.HasPrefix(to, "~"):
		s.went = to
	case to != "-" && len(s.went) < 512:
		s.went = path.Join(s.went, to)
	}
	for _, dir := range s.foreign {
		if dir.holds(strings.TrimPrefix(to, "./")) {
			s.brings(foreignFolder{name: ".", known: dir.known})
			break
		}
	}
	switch {
	case strings.HasPrefix(to, "/"), strings.HasPrefix(to, "~"):
		s.cwd = normalPath(to).text
	case strings.ContainsAny(to, "$*?`") || strings.HasPrefix(to, "-"):
		s.cwd = ""
		if name, ok := strings.CutPrefix(to, "$"); ok && isName(strings.TrimSuffix(name, "/")) && !s.guarded {
			_, set := s.vars[strings.TrimSuffix(name, "/")]
			s.lost = !set
		}
	default:
		s.cwd = s.from(to)
	}
}

// loses judges that what a path names is gone, or closed to everybody, with all that is in it.
func (c *invocation) loses(words []flow) {
	for _, w := range words {
		c.movedAway(w.text, c.at)
	}
}

// lists is ls: of a wide place it gives the names of all.
func (c *invocation) lists() flow {
	options, rest := c.split()
	hidden, along := has(options, "-a", "-A", "--all", "--almost-all", "-f"), taint(0)
	if len(rest) == 0 {
		along = c.listsAlong(".", hidden)
	}
	for _, a := range rest {
		along |= c.listsAlong(a.text, hidden)
		if c.holdsKeys(a.text) {
			return flow{taint: fromSecret | fromPlace} // the names of what lies there
		}
		if c.wide(a.text) {
			return flow{text: strings.TrimSuffix(strings.TrimSuffix(a.text, "*"), "/") + "/*", taint: along}
		}
		if place, pattern := strings.CutSuffix(a.text, "/*"); pattern {
			if _, kept := c.holdsWork(place, false); kept {
				return flow{text: a.text}
			}
		}
	}
	if len(rest) == 0 && c.wide(c.cwd) {
		return flow{text: strings.TrimSuffix(c.cwd, "/") + "/*", taint: along}
	}
	return flow{taint: fromTree | along}
}

// trash is a program that takes away whatever it is given.
func (c *invocation) trash() flow {
	_, rest := c.split()
	c.loses(rest)
	return flow{}
}

// owners is chown and chgrp.
func (c *invocation) owners() flow {
	options, rest := c.split()
	for i, a := range rest {
		if pl := placeOf(normalPath(a.text).text); i > 0 && strings.HasPrefix(pl.writes, "priv.") && pl.write >= 0.8 {
			c.report(pl.writes, 0, c.at)
		}
	}
	if has(options, "-R", "--recursive") && len(rest) > 1 {
		for _, a := range rest[1:] {
			switch p := normalPath(a.text).text; {
			case p == "/usr/local", p == "/opt", p == "~", p == "/srv", p == "/mnt", p == "/media":
			case c.wide(a.text):
				c.report("destroy.config", 0.82, c.at)
			}
		}
	}
	return flow{}
}
