package hazard

import "strings"

// A patch changes files that it names itself: it is read as what writes each of them.

// A patchedFile is a file that a patch changes, and the lines that it adds there.
type patchedFile struct {
	name  string
	adds  string
	whole bool // the file is new, so that this is all of it
}

// maxPatchedFiles is how many files of one patch are read.
const maxPatchedFiles = 256

// filesPatched are the files that a patch in one of the usual forms changes, and those that it takes away.
func filesPatched(text string) (files []patchedFile, gone []string) {
	var adds strings.Builder
	flush := func() {
		if n := len(files); n > 0 {
			files[n-1].adds += adds.String()
		}
		adds.Reset()
	}
	begins := func(name string, whole bool) {
		if flush(); len(files) < maxPatchedFiles {
			files = append(files, patchedFile{name: name, whole: whole})
		}
	}
	old := ""
	for line := range strings.Lines(text[:min(len(text), maxProgram)]) {
		line = strings.TrimRight(line, "\r\n")
		head, name, _ := strings.Cut(line, " ")
		if head == "***" {
			head, name, _ = strings.Cut(name, ": ")
		}
		name, _, _ = strings.Cut(strings.TrimSpace(name), "\t")
		switch {
		case name == "" && !strings.HasPrefix(line, "+"):
		case head == "Update File", head == "Move to", head == "Add File":
			begins(name, head == "Add File")
		case head == "Delete File":
			flush()
			gone = append(gone, name)
		case head == "---":
			flush()
			old = strings.TrimPrefix(name, "a/")
		case head == "+++" && name == "/dev/null":
			if gone = append(gone, old); len(gone) > maxPatchedFiles {
				return files, gone
			}
		case head == "+++":
			begins(strings.TrimPrefix(name, "b/"), old == "/dev/null")
		case strings.HasPrefix(line, "+"):
			adds.WriteString(line[1:] + "\n")
		}
	}
	flush()
	return files, gone
}

// patches judges the patches that a command is given, as what comes in or in files that are known, as what
// writes each of their files.
func (c *invocation) patches() {
	into := ""
	texts := []flow{c.in}
	for i, a := range c.args {
		option, value, joined := strings.Cut(a.text, "=")
		switch {
		case listed("-d --directory -C", option) && !joined && i+1 < len(c.args):
			into = c.args[i+1].text
		case option == "--directory":
			into = value
		case len(a.text) > 2 && strings.HasPrefix(a.text, "-d") && a.text[1] != '-':
			into = a.text[2:]
		case len(a.text) > 2 && strings.HasPrefix(a.text, "-i"):
			a.text = a.text[2:]
		}
		if f, ok := c.getFile(a.text); ok {
			texts = append(texts, f)
		}
	}
	for _, f := range texts {
		c.patchedBy(f, into)
	}
}

// patchedBy judges a patch as what writes each of its files, as they are seen from a folder.
func (c *invocation) patchedBy(patch flow, into string) {
	files, gone := filesPatched(patch.text)
	at := func(name string) flow {
		if into != "" && !strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "~") {
			name = strings.TrimSuffix(into, "/") + "/" + name
		}
		return flow{text: name, known: true}
	}
	for _, f := range files {
		c.writeFile(at(f.name), flow{text: f.adds, known: true, taint: patch.taint}, true)
		if rest, rooted := strings.CutPrefix(f.name, "/"); rooted { // of which patch takes the first part away
			c.writeFile(at(rest), flow{text: f.adds, known: true, taint: patch.taint}, true)
		}
	}
	for _, name := range gone {
		c.watchedFile(at(name).text, true, flow{known: true})
		c.removes(at(name).text, false, c.at)
	}
}

// appliesPatch is apply_patch, which coding agents put where programs lie.
func (c *invocation) appliesPatch() flow {
	c.patchedBy(c.in, "")
	for _, a := range c.args {
		c.patchedBy(a, "")
	}
	return flow{}
}

// patch judges a patch as what writes each of its files.
func (a *assessor) patch(text string, at span) {
	files, gone := filesPatched(text)
	for _, name := range gone {
		a.watchedFile(name, true, flow{known: true})
		a.removes(name, false, at)
	}
	for _, f := range files {
		a.watchedFile(f.name, true, flow{text: f.adds, known: f.whole})
		a.path(f.name, true, at)
		a.asksNobody(f.name, f.adds, at)
		a.settings(f.name, f.adds, at)
		a.putsProgram(f.name, f.adds, at)
		a.content(f.name, f.adds, at)
	}
}
