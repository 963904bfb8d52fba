package hazard

import (
	"path"
	"slices"
	"strings"
)

// Programs that change files where they lie: sed, ed, patch, touch.

func (c *invocation) sed() flow {
	options, rest := c.split()
	inPlace := sedInPlace(options)
	script, by := options["-e"].text, options["-e"].taint
	if script == "" && len(rest) > 0 {
		script, by, rest = rest[0].text, rest[0].taint, rest[1:]
	}
	if script == "" && inPlace && len(rest) > 0 { // sed -i '' s/…/…/ file
		script, by, rest = rest[0].text, rest[0].taint, rest[1:]
	}
	// GNU sed runs commands: 1e id, s/x/id/e
	if strings.HasPrefix(script, "1e ") || strings.HasPrefix(script, "1!e ") || strings.HasPrefix(script, "e ") {
		c.report("shell.escape", 0.6, c.at)
		c.inside(script[strings.IndexByte(script, 'e')+1:])
	}
	if words := strings.FieldsFunc(script, func(r rune) bool { return r == '\n' || r == ';' }); len(words) > 0 {
		for _, w := range words {
			flags := w[strings.LastIndexAny(w, "/|#,")+1:]
			if strings.TrimSpace(w) == "e" || strings.HasPrefix(w, "s") && strings.Contains(flags, "e") && strings.Trim(flags, "gepiIm0123456789") == "" {
				c.runs(flow{taint: c.in.taint, text: c.in.text, known: c.in.known}, "sh")
				if strings.HasPrefix(w, "s") && len(w) > 2 {
					if parts := strings.Split(strings.ReplaceAll(w, `\`+w[1:2], "\x00"), w[1:2]); len(parts) > 2 { // what it puts there is run
						c.inside(strings.ReplaceAll(parts[2], "\x00", w[1:2]))
					}
				}
			}
		}
	}
	out := c.in
	out.known = false
	for _, a := range rest {
		if inPlace {
			adds := flow{text: sedAdds(script), known: true, taint: by & (fromSecret | fromPlace)}
			if adds.taint != 0 {
				c.keepsIn(a.text)
			}
			if leavesNothing(script) {
				c.overwrites(a, a.text)
				c.removes(a.text, false, c.at)
			}
			c.changesMany(a.text, false)
			c.edited(a.text, script, adds)
			continue
		}
		out = both(out, c.readFile(a))
	}
	if sedNames(script) {
		return namesOnly(out)
	}
	switch recodes, values := sedRecodes(script); {
	case recodes:
		out.taint |= inOtherForm(out.taint)
	case values:
		out.taint |= valuesAlone(out.taint)
	}
	if sedPicks.MatchString(script) {
		return chosen(out, script)
	}
	return out
}

// sedAdds is what a script for sed puts into a file, as far as that stands in it.
func sedAdds(script string) string {
	if _, with, ok := replacement(strings.TrimSpace(script)); ok {
		return with + "\n"
	}
	var out strings.Builder
	for line := range strings.FieldsFuncSeq(script, func(r rune) bool { return r == '\n' || r == ';' }) {
		line = strings.TrimLeft(line, " \t0123456789,$!")
		if strings.HasPrefix(line, "/") { // an address: /re/a text
			if end := closing(line[1:], "/"); end >= 0 {
				line = strings.TrimLeft(line[end+2:], " \t!")
			}
		}
		switch {
		case len(line) < 2:
		case line[0] == 'a' || line[0] == 'i' || line[0] == 'c':
			out.WriteString(strings.TrimLeft(line[1:], "\\ \t") + "\n")
		case line[0] == 's':
			if _, with, ok := replacement(line); ok {
				out.WriteString(with + "\n")
			}
		case line[0] == 'r' || line[0] == 'w' || line[0] == 'e':
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}

// replacement is what an order such as s/x/y/ looks for, and what it puts there.
func replacement(order string) (looks, puts string, ok bool) {
	if len(order) < 3 || order[0] != 's' || isLetter(order[1]) || order[1] == ' ' {
		return "", "", false
	}
	mark := order[1:2]
	end := closing(order[2:], mark)
	if end < 0 {
		return "", "", false
	}
	looks, puts = order[2:2+end], order[2+end+1:]
	if end := closing(puts, mark); end >= 0 {
		if strings.Trim(puts[end+1:], "gimpIsx0123456789; ") != "" {
			return "", "", false
		}
		puts = puts[:end]
	}
	return strings.ReplaceAll(looks, `\`+mark, mark), strings.NewReplacer(`\\`, `\`, `\`+mark, mark).Replace(puts), true
}

// edited notes that an editor of lines changes a file where it lies. Where all that stands there is known, and the
// script says by its words alone what is put in the place of what, the file is what comes of it; else it has what
// the script adds besides.
func (c *invocation) edited(name, script string, adds flow) {
	had, ok := c.getFile(name)
	looks, puts, substitutes := replacement(strings.TrimSpace(script))
	if ok && had.known && substitutes && looks != "" && !strings.ContainsAny(puts, `\&`) {
		plain := strings.NewReplacer(`\.`, ".", `\/`, "/", `\-`, "-", `\[`, "[", `\]`, "]", `\*`, "*", `\$`, "$").Replace(looks)
		if strings.Contains(had.text, plain) {
			adds.text, adds.taint = strings.ReplaceAll(had.text, plain, puts), adds.taint|had.taint
			c.wrote(name, adds, false)
			return
		}
	}
	c.wrote(name, adds, true)
}

// sedInPlace reports whether sed is told to write what it makes of a file back into it.
func sedInPlace(options map[string]flow) bool {
	for o := range options {
		if strings.HasPrefix(o, "-i") || strings.HasPrefix(o, "--in-place") {
			return true
		}
	}
	return false
}

// writesBack reports whether an interpreter is told to write the files that it is given: perl -pi, ruby -i,
// awk -i inplace, vim -c wq.
func (c *invocation) writesBack(language string) (writes bool) {
	for k, a := range c.args {
		t := a.text
		switch language {
		case "perl", "ruby":
			if len(t) > 1 && t[0] == '-' && t[1] != '-' && t[1] != 'M' && t[1] != 'I' && t[1] != 'r' {
				cut := strings.IndexAny(t, "eE")
				if cut < 0 {
					cut = len(t)
				}
				writes = writes || strings.Contains(t[:cut], "i")
			}
		case "awk":
			writes = writes || t == "inplace" && k > 0 && c.args[k-1].text == "-i"
		case "vim":
			writes = writes || strings.HasPrefix(t, "-cx") || strings.HasPrefix(t, "-cwq") || k > 0 && (c.args[k-1].text == "-c" || c.args[k-1].text == "-sc") && (strings.HasSuffix(t, "wq") || strings.HasSuffix(t, "x") || strings.HasSuffix(t, "w") || strings.HasSuffix(t, "update"))
		}
	}
	return writes
}

// editsInPlace judges that an interpreter writes the files that it is given, by what this code makes of their lines.
func (c *invocation) editsInPlace(i interpreter, code []flow) {
	if !c.writesBack(i.language) {
		return
	}
	nothing := slices.ContainsFunc(c.args, func(a flow) bool { return leavesNothing(a.text) })
	for k, a := range c.args { // perl -ne ''
		nothing = nothing || k > 0 && a.known && strings.Trim(a.text, "; ") == "" && strings.HasPrefix(c.args[k-1].text, "-") && strings.Contains(c.args[k-1].text, "n") && strings.HasSuffix(c.args[k-1].text, "e")
	}
	for k, a := range c.args {
		if nothing && !strings.HasPrefix(a.text, "-") {
			c.overwrites(a, a.text)
			c.removes(a.text, false, c.at)
		}
		c.changesMany(a.text, false)
		if k > 0 && (strings.ContainsAny(a.text, "/.~") || isTaskFile(a.text) || isMakefile(strings.ToLower(a.text))) && !strings.HasPrefix(a.text, "-") && !strings.ContainsAny(a.text, " \n") {
			left := flow{}
			if i.language == "perl" && len(code) > 0 { // whose orders are sed's
				c.edited(a.text, code[0].text, flow{text: sedAdds(code[0].text), known: true})
				left.known = true
			}
			c.writeFile(a, left, true)
		}
	}
}

// changeRow is when a program changes the files that it is named where they lie.
type changeRow struct {
	words  groups
	folder bool // of a folder all that lies in it
	holes  bool // nothing is left of what it is told
}

// changes are the rows that are true of the command.
func (c *invocation) changes() (rows []changeRow) {
	for _, row := range c.table.changed[c.name] {
		if row.words.among(c.args) {
			rows = append(rows, row)
		}
	}
	return rows
}

// editsFiles reports whether the command changes the files that it is named where they lie.
func (c *invocation) editsFiles() bool {
	options, _ := c.split()
	return listed("sed gsed", c.name) && sedInPlace(options) || c.writesBack(interpreters[c.name].language) || len(c.changes()) > 0
}

// changesNamed judges a program that changes the files that it is named where they lie.
func (c *invocation) changesNamed() {
	for _, row := range c.changes() {
		_, rest := c.split()
		for _, a := range rest {
			if row.holes {
				c.removes(a.text, false, c.at)
			}
			c.changesMany(a.text, row.folder && path.Ext(a.text) == "")
		}
	}
}

// changesMany judges that several files are changed where they lie, by a pattern or by the folder that they lie
// in, of those that somebody keeps at home: what stood in them before is nowhere else. In the folder that the
// agent works in that is daily work.
func (s *shell) changesMany(p string, below bool) {
	place := normalPath(p).text
	if q := s.from(p); q != "" {
		place = normalPath(q).text
	}
	own, ok := strings.CutPrefix(place, "~/")
	several := below || strings.ContainsAny(own, "*?[")
	if ok && several && own != "" && !strings.HasPrefix(own, ".cache/") && !s.inOwnFolder(place) && !s.other {
		s.reportSaying("destroy.work", 0.45, s.at, "Several files that somebody keeps are changed where they lie, and what stood in them is gone.")
	}
}

// edits is ed, ex and patch: they write the file that they are given.
func (c *invocation) edits() flow {
	c.patches()
	_, rest := c.split()
	var printed taint
	for _, a := range rest {
		if strings.ContainsAny(a.text, "/.~") && !strings.ContainsAny(a.text, " \n") {
			printed |= c.holds(a.text)
			c.writeFile(a, flow{text: c.in.text, taint: c.in.taint}, true)
		}
	}
	if c.name == "patch" {
		return flow{}
	}
	return flow{taint: printed}
}

// touch with a time or another file's times forges them.
func (c *invocation) touch() flow {
	options, rest := c.split()
	if has(options, "-r", "--reference") {
		ref := options["-r"].text + options["--reference"].text
		w := 0.35
		if strings.HasPrefix(ref, "/bin/") || strings.HasPrefix(ref, "/usr/bin/") || strings.HasPrefix(ref, "/etc/") || strings.HasPrefix(ref, "/lib") {
			w = 0.82
		}
		c.report("log.timestamps", w, c.at)
	} else if has(options, "-t", "-d", "--date") {
		w := 0.3
		// A file is seldom as old as that.
		for _, o := range []string{"-t", "-d", "--date"} {
			if v := options[o].text; strings.HasPrefix(v, "19") || strings.Contains(v, "1970") || strings.Contains(v, "1980") {
				w = 0.82
			}
		}
		c.report("log.timestamps", w, c.at)
	}
	for _, a := range rest {
		if pl := placeOf(normalPath(a.text).text); strings.HasPrefix(pl.writes, "persist.") && pl.write >= 0.8 {
			c.report(pl.writes, 0.4, c.at)
		}
	}
	return flow{}
}
