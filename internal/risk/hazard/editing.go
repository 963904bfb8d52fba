package hazard

import (
	"slices"
	"strings"
)

// Programs that change files where they lie: sed, ed, patch, touch.

func (c *invocation) sed() flow {
	options, rest := c.split()
	inPlace := false
	for o := range options {
		inPlace = inPlace || strings.HasPrefix(o, "-i") || strings.HasPrefix(o, "--in-place")
	}
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
			}
			c.wrote(a.text, adds, true)
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
			mark := line[1:2]
			if end := closing(line[2:], mark); end >= 0 {
				with := line[2+end+1:]
				if end := closing(with, mark); end >= 0 {
					with = with[:end]
				}
				out.WriteString(strings.ReplaceAll(with, `\`+mark, mark) + "\n")
			}
		case line[0] == 'r' || line[0] == 'w' || line[0] == 'e':
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}

// editsInPlace judges that an interpreter writes the files that it is given: perl -pi, ruby
// -i, awk -i inplace, vim -c wq.
func (c *invocation) editsInPlace(i interpreter) {
	writes := false
	for k, a := range c.args {
		t := a.text
		switch i.language {
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
	if !writes {
		return
	}
	nothing := slices.ContainsFunc(c.args, func(a flow) bool { return leavesNothing(a.text) })
	for k, a := range c.args {
		if nothing && !strings.HasPrefix(a.text, "-") {
			c.overwrites(a, a.text)
		}
		if k > 0 && strings.ContainsAny(a.text, "/.~") && !strings.HasPrefix(a.text, "-") && !strings.ContainsAny(a.text, " \n") {
			c.writeFile(a, flow{}, true)
		}
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
