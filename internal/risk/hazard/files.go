package hazard

import (
	"fmt"
	"path"
	"strings"
)

// What the files hold that a script reads, writes and runs.

// ranForeign says which file is run that came from elsewhere.
func ranForeign(name string) string {
	return fmt.Sprintf("The call runs %.80q out of a folder that came from elsewhere.", name)
}

// ranFile judges that a file is run which the script itself brought there.
func (s *shell) ranFile(name string) {
	if _, written := s.getFile(name); !written && strings.ContainsAny(name, "/.") {
		s.ran(name)
	}
	if s.foreign != nil && strings.Contains(name, "/") && s.isForeign(name) {
		s.reportSaying("code.foreign", 0, s.at, ranForeign(name))
	}
	if f, ok := s.getFile(name); ok {
		s.ranCopy(name)
		s.runs(f, "")
	}
	if p := normalPath(name).text; strings.HasPrefix(name, "/") || strings.HasPrefix(name, "~") || strings.HasPrefix(name, "./") {
		hidden := strings.Contains(p, "/.") && (strings.HasPrefix(p, "/tmp/") || strings.HasPrefix(p, "/var/tmp/") || strings.HasPrefix(p, "/dev/shm/"))
		switch {
		case hidden || strings.HasPrefix(p, "/dev/shm/"):
			s.report("shell.hidden_place", 0.8, s.at)
		case strings.HasPrefix(p, "/tmp/") || strings.HasPrefix(p, "/var/tmp/"):
			s.report("shell.hidden_place", 0.5, s.at)
		}
	}
}

// ranItself judges that the command is a file that the script brought there, with what it is given.
func (c *invocation) ranItself() {
	if _, ok := c.getFile(c.path); ok {
		words := append([]flow{{text: c.path, known: true}}, c.args...)
		defer c.called(words, c.in)()
		defer c.supplied(words, c.in)()
	}
	if _, ok := c.getFile(c.path); !ok && !c.ofSystem() {
		c.toldToRun(c.args)
	}
	if !strings.Contains(c.path, "/") && len(c.files) > 0 {
		for p, f := range c.files { // by its name, from a folder in which programs lie
			if dir, name := path.Split(p); name == c.path && listed("bin sbin .bin shims", path.Base(dir)) {
				c.runs(f, "")
			}
		}
	}
	c.ranFile(c.path)
}

// toldToRun judges the words that a script is given of which nothing is known: where they are a
// command that would do grave harm, to run it may be all that the script is for.
func (c *invocation) toldToRun(words []flow) {
	for i, w := range words {
		if i > 2 || !programs()[baseName(w.text)] || i+1 == len(words) || c.depth > maxDepth/2 {
			continue
		}
		c.kept(0.8, 0.6, func() { c.inside(c.joined(words[i:]).text) })
		return
	}
}

// ranHidden judges that a program is run whose name a listing leaves out. What a shell takes its
// settings from is often called so (. ./.env), and is no program.
func (s *shell) ranHidden(name string) {
	p := normalPath(name).text
	base := p[strings.LastIndexByte(p, '/')+1:]
	if (strings.HasPrefix(name, "/") || strings.HasPrefix(name, "~") || strings.HasPrefix(name, "./")) && strings.HasPrefix(base, ".") && len(base) > 1 {
		s.report("shell.hidden_place", 0.4, s.at)
	}
}

// ranCopy notes, of a copy that the call made and runs, what it is a copy of.
func (s *shell) ranCopy(name string) {
	name = path.Base(path.Clean(name)) // wherever cd led in between
	for i := len(s.copies) - 1; i >= 0; i-- {
		if pair := s.copies[i]; path.Base(path.Clean(pair[1])) == name {
			s.ran(pair[0])
			name = path.Base(path.Clean(pair[0]))
		}
	}
}

// readFile judges that a file is read, and returns its content.
func (s *shell) readFile(w flow) flow {
	p := s.through(strings.TrimPrefix(w.text, "@"), true)
	s.mentions(p)
	s.watchedFile(p, false, flow{})
	if p == "" || strings.HasPrefix(p, "-") {
		return flow{taint: w.taint}
	}
	if f, ok := s.getFile(p); ok {
		return f
	}
	if p == "/dev/null" {
		return flow{known: true, taint: w.taint}
	}
	if len(s.readFrom) < maxRan {
		s.readFrom = append(s.readFrom, p)
	}
	if g := globbedPath(p); g != "" {
		s.report("shell.obfuscated", 0.6, s.at)
		p = g
	}
	for _, q := range []string{s.from(p), globbedKeys(p), globbedKeys(s.from(p)), climbedHome(p)} {
		if pl := s.asPath(q).place(); q != "" && (strings.HasPrefix(pl.reads, "secret.") || pl.keepsLogins()) {
			p = q // named from where cd led, or by a pattern
			break
		}
	}
	f := s.asPath(p)
	pl := f.place()
	out := flow{taint: fromFile | w.taint | s.unnamed(flow{text: p, taint: w.taint})}
	if pl.name != "" && pl.reads != "" {
		s.report(pl.reads, pl.read, s.at)
		if pl.read >= 0.3 {
			out.taint |= fromSecret | fromPlace
		}
		if strings.HasPrefix(pl.reads, "secret.") && pl.read >= 0.6 {
			out.taint |= fromKeys
		}
	}
	if builtin().places.above[strings.TrimSuffix(f.text, "/*")] { // a folder, which is taken with all that is in it
		out.taint |= fromSecret | fromPlace
	}
	if f.turns > 0 && pl.read >= 0.3 && f.climbs > 1 {
		s.report("path.traversal", 0.85, s.at)
	}
	if f.encoded {
		s.report("path.encoded", 0, s.at)
	}
	switch f.text {
	case "/dev/zero", "/dev/urandom", "/dev/random":
		out.taint |= fromVoid
	case "/", "/etc", "/var", "/etc/*", "/*", "/root":
		out.taint |= fromSystem
	}
	return out
}

// isTurn reports whether a pattern is what a variable of a loop stands for, in each turn for another file.
func (s *shell) isTurn(p string) bool {
	if !strings.ContainsAny(p, "*?[") {
		return false
	}
	for _, v := range s.vars {
		if v.text == p {
			return true
		}
	}
	return false
}

// writeFile judges that a file is written, and remembers it.
func (s *shell) writeFile(w flow, content flow, appends bool) {
	content = content.fetched()
	p := s.through(w.text, true)
	if p == "" {
		return
	}
	if strings.HasSuffix(p, "/*") && s.wide(p) {
		s.report("destroy.system", 0, s.at) // everything there is emptied
	}
	if taker, ok := s.takers[p]; ok {
		delete(s.takers, p)
		s.statements(taker, content)
		return
	}
	if !appends && content.taint&fromFile == 0 {
		s.overwrites(w, p)
	}
	if s.isTurn(p) {
		s.changesMany(p, false)
	}
	if nothing := content.known && content.text == "" || content.taint&fromVoid != 0; nothing && !appends {
		s.removes(p, false, s.at)
	}
	if s.live && s.other && !passingFile(p) {
		s.report("publish.production", 0, s.at)
	}
	seen := content
	seen.known = seen.known && !appends
	if n := len(s.readFrom); n > 0 && !content.known && content.taint&fromFile != 0 && len(s.copies) < maxRan {
		s.copies = append(s.copies, [2]string{s.readFrom[n-1], p})
	}
	if content.taint&fromSecret != 0 {
		s.laysOut(p)
	}
	if content.taint&fromSecret != 0 || content.taint&fromTyped != 0 && !KeepsSecrets(p) {
		s.keepsIn(p)
	}
	s.watchedFile(p, true, seen)
	s.wrote(p, content, appends)
}

// wrote judges that a file is written, by where it lies and by what comes into it.
func (s *shell) wrote(p string, content flow, appends bool) {
	added := content
	if appends {
		before, ok := s.getFile(p)
		if content = both(before, content); !ok {
			content.known = content.text != ""
			if s.addedTo == nil {
				s.addedTo = map[string]bool{}
			}
			s.addedTo[path.Clean(p)] = true
		}
	}
	s.putFile(p, content)
	s.asksNobody(p, content.text, s.at)
	s.answersAt(p, added)
	s.settings(p, content.text, s.at)
	if rest, ok := strings.CutPrefix(p, "/proc/"); ok {
		if which, _, below := strings.Cut(rest, "/"); below && strings.ContainsAny(which, "*?[") {
			s.report("destroy.system", 0, s.at) // what all processes have open, or hold
		}
	}
	from := p
	if q := s.from(p); q != "" {
		from = q // as seen from where cd led
	}
	f := normalPath(from)
	pl := placeOf(f.text)
	if s.shadows(f.text) && !s.same {
		s.report("code.library_hijack", 0.6, s.at)
	}
	if content.taint&(fromStranger|fromNobody) != 0 {
		s.bringsProgram(f.text)
	}
	if content.text != "" && content.taint&(fromFile|fromNet) == 0 && !s.same {
		s.putsProgram(p, content.text, s.at)
	}
	if pl.name == "" || pl.writes == "" || pl.write == 0 {
		if f.turns > 0 && f.climbs > 3 {
			s.report("path.climb", 0.4, s.at)
		}
		switch {
		case strings.HasPrefix(f.text, "/usr/local/"):
			s.report("destroy.config", 0.3, s.at)
		case strings.HasPrefix(f.text, "/etc/"), strings.HasPrefix(f.text, "/usr/"), strings.HasPrefix(f.text, "/sys/"):
			s.report("destroy.config", 0.45, s.at)
		}
		temporary := strings.HasPrefix(f.text, "/tmp/") || strings.HasPrefix(f.text, "/var/tmp/") || strings.HasPrefix(f.text, "/dev/shm/")
		if temporary && strings.Contains(f.text, "/.") {
			s.report("shell.hidden_place", 0.8, s.at)
		}
		if strings.Contains(content.text, "ExecStart=") {
			w := 0.6
			if temporary {
				w = 0.82
			}
			s.report("persist.write", w, s.at)
		}
		if content.known && languageOfFile(f.text, content.text) == "php" {
			s.code("php", content.text, s.at, true)
		}
		return
	}
	code, weight := pl.writes, pl.write
	if code == "persist.startup" && strings.HasPrefix(f.text, "~") {
		weight = 0.6
		if content.known {
			weight = 0.82
		}
	}
	if code == "persist.startup" && content.known && strings.HasPrefix(f.text, "~") && s.startsNothing(content.text) {
		code, weight = "persist.profile", 0
	}
	if strings.HasSuffix(pl.name, "/.ssh/known_hosts") || strings.HasSuffix(f.text, "/.ssh/config") {
		if low := strings.ToLower(content.text); strings.Contains(low, "proxycommand") || strings.Contains(low, "localcommand") || strings.Contains(low, "exec ") {
			code, weight = "persist.startup", 0.6
		}
	}
	if code == "log.clear" && appends {
		weight = min(weight, 0.4)
		if strings.Contains(pl.name, "wtmp") || strings.Contains(pl.name, "audit") {
			weight = 0.7
		}
	}
	if strings.HasSuffix(pl.name, "core_pattern") && content.known && !strings.HasPrefix(strings.TrimSpace(content.text), "|") {
		code, weight = "destroy.config", 0.5 // the name of a file, and no program that the system runs
	}
	if strings.Contains(pl.name, "/udev/") && content.known && content.text != "" && (strings.Contains(content.text, "RUN") || strings.Contains(content.text, "PROGRAM") || strings.Contains(content.text, "IMPORT")) {
		weight = 0.82 // what the rule has run
	}
	if code == "log.history" && appends && content.text != "" {
		weight = 0.4
	}
	if code == "destroy.format" && (added.taint == 0 && added.known && (added.text != "" || !appends) || added.taint&fromVoid != 0) {
		code, weight = "destroy.disk", 0
	}
	s.dynamic = s.dynamic || isGitHook(f.text) && !content.known // what is put there runs by itself
	s.report(code, weight, s.at)
	if (weight >= 0.6 || isGitHook(f.text)) && content.known && content.text != "" {
		lang := languageOfFile(f.text, content.text)
		if lang == "" || lang == "sh" {
			t := content.text
			if isCrontab(f.text) {
				t = cronCommands(t)
			}
			s.kept(0.97, 0.75, func() { s.inside(t) })
		}
	}
	switch {
	case content.taint&fromNet == 0:
	case code == "persist.hook" && !isGitHook(f.text): // an editor's plug-in, as their manuals say to install it
		s.report("code.foreign", 0, s.at)
	default:
		s.report("shell.download_run", 0.85, s.at)
	}
}

// temporary says whether a file lies where everybody may put one.
func temporary(p string) bool {
	return strings.HasPrefix(p, "/tmp/") || strings.HasPrefix(p, "/var/tmp/") || strings.HasPrefix(p, "/dev/shm/")
}
