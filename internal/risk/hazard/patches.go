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

// filesPatched are the files that a patch in one of the usual forms changes.
func filesPatched(text string) (files []patchedFile) {
	if !isPatch(text) {
		return nil
	}
	var adds strings.Builder
	flush := func() {
		if n := len(files); n > 0 {
			files[n-1].adds += adds.String()
		}
		adds.Reset()
	}
	begins := func(name string, whole bool) {
		if name, _, _ = strings.Cut(strings.TrimSpace(name), "\t"); len(files) < maxPatchedFiles && name != "/dev/null" {
			flush()
			files = append(files, patchedFile{name: name, whole: whole})
		}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch name, added := "", false; {
		case strings.HasPrefix(line, "*** "):
			for _, head := range []string{"*** Update File: ", "*** Move to: ", "*** Add File: "} {
				if name, added = strings.CutPrefix(line, head); added {
					begins(name, head == "*** Add File: ")
				}
			}
		case strings.HasPrefix(line, "+++ "):
			name = line[len("+++ "):]
			if rest, ok := strings.CutPrefix(name, "b/"); ok {
				name = rest
			}
			begins(name, false)
		case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "diff "):
			flush()
		case strings.HasPrefix(line, "+"):
			adds.WriteString(line[1:] + "\n")
		}
	}
	flush()
	return files
}

// patch judges a patch as what writes each of its files.
func (a *assessor) patch(text string, at span) {
	for _, f := range filesPatched(text) {
		a.watchedFile(f.name, true, flow{text: f.adds, known: f.whole})
		a.path(f.name, true, at)
		a.asksNobody(f.name, f.adds, at)
		a.settings(f.name, f.adds, at)
		a.putsProgram(f.name, f.adds, at)
		a.content(f.name, f.adds, at)
	}
}
