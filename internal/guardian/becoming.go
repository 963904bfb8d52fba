package guardian

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/hook"
	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/risk/hazard"
)

// What lies in the folder of an agent's settings decides whether its hooks run. A folder bears such a name
// because something was moved, copied, cloned or unpacked there, by a program of whatever name. So what is
// asked of a command is which folder bears such a name afterwards, and what lies in it then: what lay in
// the one that took its place, where that is on the disk, and otherwise what nobody knows.

// becomes looks at the folders of settings that a command brings about, or puts something into.
func (e *examination) becomes(c *hazard.Command, name string) {
	words := c.Words
	switch {
	case name == "rm":
		e.isGone(words, c.Dirs)
		return
	case settles[name], lookers[name], agentsNamed[name] != "", e.isReeve(c.Name, c.Dirs):
		return
	case name == "git":
		if name, words = gitCommand(words); !gitPlaces[name] {
			return
		}
	}
	into, from := puts(name, words)
	if len(from) > maxLaid {
		return
	}
	for _, word := range into {
		for _, parts := range e.readings(word, c.Dirs) {
			e.becomesAt(parts, name, from, c)
		}
	}
	if name == "mv" || name == "git mv" {
		e.isGone(from, c.Dirs)
	}
}

// isGone notes what is not there any more for the rest of the act.
func (e *examination) isGone(words, dirs []string) {
	for _, word := range words {
		for _, parts := range e.readings(word, dirs) {
			if len(e.gone) < maxNames {
				e.gone = append(e.gone, strings.ToLower("/"+strings.Join(parts, "/")))
			}
		}
	}
}

// becomesAt looks at one folder that a command may bring about.
func (e *examination) becomesAt(parts []string, name string, from []string, c *hazard.Command) {
	of := false // the folder is one of settings
	for _, names := range settingParts {
		last := len(names) - 1
		n := len(parts) - last
		if last == 0 || n < 0 || compare(parts[n:], names[:last]) != within {
			continue
		}
		of = true
		for _, f := range e.sources(from, c.Dirs) {
			if base := path.Base(clean(f)); names[last] == "*" || strings.EqualFold(base, names[last]) {
				e.setting(append(slices.Clone(parts), base), e.textOf(f, c.Dirs))
			}
			inside := e.textOf(f+"/"+names[last], c.Dirs)
			if _, there := inside(nil); there {
				e.setting(append(slices.Clone(parts), names[last]), inside)
			}
		}
	}
	switch {
	case of && e.isAbsent(parts) && !(keepsWhole[name] && (e.onDisk(from, parts, c.Dirs) || !e.makes() && len(from) > 0)):
		e.tampers("bring about a folder of an agent's settings with what is not known in it (make the folder, and write its files by their names)")
	case !of && keepsWhole[name] && e.isRoot(parts):
		e.becomesRoot(parts, from, name == "ditto" || name == "robocopy" || name == "xcopy" || takesPlace(name, c.Words), c)
	}
}

// becomesRoot looks at what a copy of all that a folder holds puts into one in which an agent works: the
// settings that lie in it. whole says that it is no copy of the folder itself.
func (e *examination) becomesRoot(parts, from []string, whole bool, c *hazard.Command) {
	for _, f := range from {
		if !whole && !strings.HasSuffix(f, "/.") && !strings.HasSuffix(f, "/") && !strings.HasSuffix(f, "/*") && path.Base(f) != "." {
			continue // it comes in under its own name
		}
		dir := strings.TrimSuffix(f, "*")
		for _, names := range settingParts {
			if slices.Contains(names, "*") {
				continue
			}
			inside := e.textOf(dir+"/"+strings.Join(names, "/"), c.Dirs)
			if _, there := inside(nil); there {
				e.setting(slices.Concat(parts, names), inside)
			}
		}
	}
}

// isRoot reports whether an agent works in a folder, or has its own settings there.
func (e *examination) isRoot(parts []string) bool {
	at := "/" + strings.Join(parts, "/")
	return strings.EqualFold(at, e.cwd()) || strings.EqualFold(at, e.g.home) || slices.ContainsFunc(e.folders, func(f string) bool { return strings.EqualFold(at, clean(e.homed(f))) })
}

// isAbsent reports whether nothing lies at a path when a command is run: there is nothing, or the act took
// it away before.
func (e *examination) isAbsent(parts []string) bool {
	if slices.ContainsFunc(parts, isPattern) {
		return false
	}
	at := "/" + strings.Join(parts, "/")
	if slices.Contains(e.gone, strings.ToLower(at)) {
		return true
	}
	_, err := os.Lstat(filepath.FromSlash(at))
	return err != nil
}

// onDisk reports whether all that a copy takes lies on the disk, where it was looked at. A link is read
// from the folder in which it lies.
func (e *examination) onDisk(from []string, to, dirs []string) bool {
	beside := append(slices.Clone(dirs), "/"+strings.Join(to[:len(to)-1], "/"))
	return len(from) > 0 && !slices.ContainsFunc(from, func(f string) bool {
		return isPattern(f) || strings.Contains(f, "{}") || !slices.ContainsFunc(e.readings(f, beside), func(parts []string) bool { return !e.isAbsent(parts) })
	})
}

// makes reports whether the act may have made something before: else what a copy takes is on the disk, or
// nowhere.
func (e *examination) makes() bool {
	return e.brought || e.others || len(e.gone) > 0 || len(e.written) > 0 || len(e.laid) > 0 || !e.placed()
}

// keepsWhole are programs that give what lies on the disk another name or place, and change nothing in it.
var keepsWhole = map[string]bool{"mv": true, "cp": true, "ln": true, "install": true, "rsync": true, "ditto": true, "robocopy": true, "xcopy": true, "copy-item": true, "move-item": true, "rename-item": true, "git mv": true}

// gitPlaces are the commands of git that bring about a folder of a name that they are told.
var gitPlaces = map[string]bool{"git mv": true, "git clone": true, "git worktree": true, "git read-tree": true, "git subtree": true, "git submodule": true, "git checkout-index": true, "git archive": true}

// gitCommand is which command of git it is, and the words behind it.
func gitCommand(words []string) (name string, rest []string) {
	for i := 0; i < len(words); i++ {
		switch w := words[i]; {
		case w == "-C" || w == "-c" || w == "--git-dir" || w == "--work-tree":
			i++
		case !strings.HasPrefix(w, "-"):
			return "git " + w, words[i+1:]
		}
	}
	return "git", nil
}

// puts are the words of a command that may be where it puts something, and those that it may take
// that from: what an option says that is for it, an expression by which names are changed, or else the last.
func puts(name string, words []string) (into, from []string) {
	options := intoOptions
	if keepsWhole[name] { // to which the short ones mean something else
		options = targetOptions
	}
	if name == "install" && slices.Contains(words, "-d") { // which makes folders
		return nil, nil
	}
	for i := 0; i < len(words); i++ {
		option, value, said := strings.Cut(words[i], "=")
		switch m := renames.FindStringSubmatch(words[i]); {
		case m != nil:
			into = append(into, m[2])
		case options[option] && said:
			into = append(into, value)
		case options[option] && i+1 < len(words):
			i++
			into = append(into, words[i])
		case !strings.HasPrefix(words[i], "-"):
			from = append(from, words[i])
		}
	}
	switch n := len(from); {
	case name == "git worktree":
		into = append(into, from...)
	case (name == "tar" || name == "zip" || name == "7z") && n > 0 && copiedFrom(name, words, len(words)-1): // into an archive
	case len(into) == 0 && (n > 1 || name == "cpio" && n > 0):
		into, from = from[n-1:], from[:n-1]
	}
	return into, from
}

var (
	targetOptions = words("-t --target-directory")
	intoOptions   = words("-t --target-directory --target --prefix -d --dir --directory --dest --destination -o --out --output --outdir --output-dir --into --to -P --path --root -C --cwd")
	// renames is an expression that gives names another form, as sed writes one: what stands for them.
	renames = lazyregexp.New(`^(?:--(?:transform|xform)=)?[sy]([/|,#!:;@])(?:[^/|,#!:;@]*)[/|,#!:;@]([^/|,#!:;@]*)/?[/|,#!:;@]\w*$`)
)

// becomesIn looks at a program that gives files other names, or copies them, and names a folder of settings
// that is not there: what it puts into its place is not known. Of a folder or an archive that it copies into
// another it is looked at what settings lie in it.
func (e *examination) becomesIn(text, low string) {
	if copiesTree.MatchString(low) || unpacking.MatchString(low) {
		e.bringsIn(text, low)
	}
	if !placing.MatchString(low) {
		return
	}
	for _, m := range settingFolders.FindAllStringSubmatch(low, 8) {
		for _, parts := range e.readings(m[1], e.lastDirs()) {
			if e.isAbsent(parts) {
				e.tampers("bring about a folder of an agent's settings with what is not known in it (make the folder, and write its files by their names)")
				return
			}
		}
	}
}

var (
	unpacking      = lazyregexp.New(`extractall|\bextract\b|unpack_archive|\bextract(?:to|file|archive)|unzip|untar|tar["')]*\.x\(`)
	placing        = lazyregexp.New(`\brename|\bmv\b|\bmove|\bcopy|\bcp\b|cp_r|copytree|\bclone|symlink|link\(|extract|unpack|unzip`)
	settingFolders = lazyregexp.New("[\"'`]((?:[\\w.~-]+/)*(?:\\.claude|\\.codex|\\.gemini|\\.cursor|\\.copilot|\\.opencode|\\.github/(?:hooks|copilot)|\\.opencode/plugins?|\\.amazonq/cli-agents))/?[\"'`]")
)

// patchFiles looks at the patches in files on the disk that a command is told to apply.
func (e *examination) patchFiles(c *hazard.Command, name string) {
	words := c.Words
	if name == "git" {
		if name, words = gitCommand(words); name != "git apply" && name != "git am" {
			return
		}
	} else if name != "patch" && name != "gpatch" {
		return
	}
	dirs := c.Dirs
	for i, w := range words {
		option, value, said := strings.Cut(w, "=")
		switch {
		case (option == "-d" || option == "--directory") && said:
			dirs = append(slices.Clone(dirs), value)
		case (option == "-d" || option == "--directory") && i+1 < len(words):
			dirs = append(slices.Clone(dirs), words[i+1])
		}
	}
	e.patchesInto = dirs
	for _, file := range e.patchesGiven {
		e.patchFile(file, e.lastDirs())
	}
	for _, w := range words {
		w = strings.TrimPrefix(w, "-i")
		w = strings.TrimPrefix(w, "--input=")
		if w != "" && !strings.HasPrefix(w, "-") {
			e.patchFile(w, c.Dirs)
		}
	}
}

// patchFile looks at what the patch in a file does to each file that it names.
func (e *examination) patchFile(name string, dirs []string) {
	one := strings.Join(append([]string{name}, e.patchesInto...), "\x00")
	if slices.Contains(e.patchesRead, one) || len(e.patchesRead) > maxScripts {
		return
	}
	e.patchesRead = append(e.patchesRead, one)
	for _, text := range e.readFiles(name, dirs) {
		if strings.IndexByte(text, 0) >= 0 {
			continue
		}
		all := sections(text)
		for i := range all[:min(len(all), maxSections)] {
			e.section(&all[i], e.patchesInto)
		}
	}
}

// maxSections is how many files of one patch are looked at.
const maxSections = 512

// applies reports whether an act applies patches, which it may be given by < or a pipe.
func (e *examination) applies() bool {
	if e.patching == 0 { // it is asked for each file that the act names
		e.patching = -1
		if slices.ContainsFunc(e.a.Content, func(l act.Leaf) bool { return applying.MatchString(l.Text) }) {
			e.patching = 1
		}
	}
	return e.patching > 0
}

var applying = lazyregexp.New(`(?:^|[\s;&|(/])(?:g?patch|git\s(?:[^;&|\n]*\s)?(?:apply|am))(?:\s|$)`)

// switchedOffAt reports whether the settings of a project on the disk leave an agent's hooks without effect
// for whoever starts it there.
func (e *examination) switchedOffAt(agent string, dirs []string) bool {
	for i := range hook.Settings {
		s := &hook.Settings[i]
		if s.User || strings.HasPrefix(s.Path, "/") || strings.Contains(s.Path, "*") || !strings.HasPrefix(s.Agent, before(agent, '-')) {
			continue
		}
		for _, dir := range dirs {
			if slices.ContainsFunc(e.readFiles(path.Join(orDot(dir), s.Path), nil), func(text string) bool { return hook.SwitchesOff([]byte(text)) }) {
				return true
			}
		}
	}
	return false
}

// orDot is a folder, the present one where none is said.
func orDot(dir string) string {
	if dir == "" {
		return "."
	}
	return dir
}
