package guardian

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"reeve.example/reeve/internal/glob"
	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/regular"
	"reeve.example/reeve/internal/risk/hazard"
)

// One command can print names of files, and another take them: by a pipe, a variable, a
// file between them. Which names these are is not told by the act. So what a lister may
// print of what is guarded is noted, and whatever takes words that are not known is
// looked at as if it were given that.

// listed is a path that is guarded, lies in what is or leads there.
type listed struct {
	place *place
	path  string
}

// maxListed bounds what is noted of one act.
const maxListed = 2048

// note adds the paths of a place, below a root, that a filter lets through. deep says that
// more than what lies in the root itself is printed.
func (e *examination) note(root []string, deep bool, passes func(path string) bool) {
	for i := range e.g.places {
		p := &e.g.places[i]
		add := func(path string) {
			if l := (listed{p, path}); passes(path) && !slices.Contains(e.lists, l) {
				if e.cut = e.cut || len(e.lists) == maxListed; !e.cut {
					e.lists = append(e.lists, l)
				}
			}
		}
		switch compare(root, p.parts) {
		case within:
			add(p.file + strings.Join(append([]string{""}, root[len(p.parts):]...), "/"))
			if len(root) == len(p.parts) {
				e.below(p, add)
			}
		case above:
			for n := len(root); n <= len(p.parts); n++ {
				if n > len(root)+1 && !deep {
					break
				}
				add("/" + strings.Join(split(p.file)[:n], "/"))
			}
			if deep {
				e.below(p, add)
			}
		}
	}
}

// below gives what lies in a place, as far as the disk shows it.
func (e *examination) below(p *place, add func(string)) {
	left := 256
	_ = filepath.WalkDir(filepath.FromSlash(p.file), func(path string, d fs.DirEntry, err error) error {
		if left--; left < 0 || err != nil {
			return fs.SkipAll
		}
		add(clean(path))
		return nil
	})
}

// Commands that print names of files. Of a folder the first kind prints what lies in it,
// the second all that lies below it, too.
var (
	flatListers = words("ls dir vdir ll exa eza lsd realpath readlink dirname basename stat compgen echo printf print")
	deepListers = words("tree du git ncdu lsof")
	searchers   = words("grep egrep fgrep zgrep ggrep rgrep rg ag ack ugrep ug")
)

// lister notes what a command prints of the guardian's places.
func (e *examination) lister(c *hazard.Command, name string) {
	has := func(short string, long ...string) bool {
		return slices.ContainsFunc(c.Words, func(w string) bool {
			return slices.Contains(long, w) || len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.ContainsAny(w, short)
		})
	}
	each := func(roots []string, deep bool, passes func(root []string, path string) bool) {
		for _, r := range roots {
			for _, parts := range e.readings(r, c.Dirs) {
				e.note(parts, deep, func(path string) bool { return passes(parts, path) })
			}
		}
	}
	all := func([]string, string) bool { return true }
	shown := func(root []string, path string) bool { // no name below the root begins with a dot
		return !slices.ContainsFunc(split(path)[min(len(root), len(split(path))):], func(s string) bool { return s[0] == '.' })
	}
	switch {
	case name == "find" || name == "gfind":
		f := foundBy(c.Words)
		each(f.roots, f.depth != 1, f.passes)
	case name == "fd" || name == "fdfind":
		kinds := append(values(c.Words, "-e"), values(c.Words, "--extension")...)
		hidden := has("Hu", "--hidden", "--unrestricted")
		wanted := ""
		if i := slices.IndexFunc(c.Words, func(w string) bool { return w != "" && w[0] != '-' }); i >= 0 && plainName.MatchString(c.Words[i]) && (i == 0 || !slices.Contains(kinds, c.Words[i])) {
			wanted = strings.ToLower(c.Words[i])
		}
		each(orHere(c.Words), true, func(root []string, path string) bool {
			return (hidden || shown(root, path)) && strings.Contains(strings.ToLower(filepath.Base(path)), wanted) && (kinds == nil || slices.ContainsFunc(kinds, func(k string) bool {
				return strings.HasSuffix(strings.ToLower(path), "."+strings.ToLower(strings.TrimPrefix(k, ".")))
			}))
		})
	case finders[name]:
		for _, w := range c.Words {
			e.anywhere(strings.Trim(w, "*/"), func(p string) { e.note(split(strings.ToLower(p)), true, func(string) bool { return true }) })
			for i := range e.g.places {
				if w = strings.ToLower(strings.Trim(w, "*/")); len(w) > 3 && !strings.HasPrefix(w, "-") {
					e.note(e.g.places[i].parts, true, func(path string) bool { return strings.Contains(strings.ToLower(path), w) })
				}
			}
		}
	case searchers[name]:
		if !has("rRlL", "--recursive", "--files", "--files-with-matches", "--files-without-match") && (name == "grep" || name == "egrep" || name == "fgrep") {
			return
		}
		hidden := name != "rg" && name != "ag" || has("u.", "--hidden", "--unrestricted", "--no-ignore")
		each(orHere(c.Words), true, func(root []string, path string) bool {
			return (hidden || shown(root, path)) && e.holds(c.Words, root, path)
		})
	case flatListers[name]:
		hidden := name != "ls" && name != "dir" && name != "ll" || has("aAf", "--all", "--almost-all")
		each(orHere(c.Words), name == "ls" && has("R", "--recursive"), func(root []string, path string) bool { return hidden || shown(root, path) })
	case name == "git" && !slices.Contains(c.Words, "ls-files") && !slices.Contains(c.Words, "status") && !slices.Contains(c.Words, "diff"):
	case deepListers[name]:
		each(orHere(c.Words), true, all)
	}
}

// listsIn notes what a program may print, of the folders that it names.
func (e *examination) listsIn(words, dirs []string) {
	for _, w := range words {
		if !strings.ContainsAny(w, "/~") {
			continue
		}
		deep := !strings.ContainsAny(w, "*?[") || strings.Contains(w, "**")
		for _, parts := range e.readings(w, dirs) {
			e.note(parts, deep, func(string) bool { return true })
		}
	}
}

var plainName = lazyregexp.New(`^[A-Za-z0-9_-]{2,}$`)

// orHere are the words of a command that may be folders; the present one is always among
// them, since many take it where none is named.
func orHere(words []string) []string {
	named := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "" || w[0] == '-' })
	if slices.ContainsFunc(named, func(w string) bool { return strings.ContainsAny(w, "/~$") || w == "." || w == ".." }) {
		return named
	}
	return append(named, ".")
}

// values are those of an option.
func values(words []string, option string) (list []string) {
	for i, w := range words {
		if w == option && i+1 < len(words) {
			list = append(list, words[i+1])
		} else if v, ok := strings.CutPrefix(w, option+"="); ok {
			list = append(list, v)
		}
	}
	return list
}

// holds reports whether a search may tell of a file: for its name, and where that is known
// for what stands in it. A search that does not begin at a program's own folder, or at the
// program, is none for it.
func (e *examination) holds(words, root []string, path string) bool {
	info, err := os.Stat(filepath.FromSlash(path))
	if err == nil && info.IsDir() {
		return false
	}
	if slices.ContainsFunc(e.g.places, func(p place) bool {
		return p.kind == program && len(root) < len(p.parts)-1 && compare(split(path), p.parts) == within
	}) {
		return false
	}
	for _, option := range []string{"--include", "-g", "--glob"} {
		for _, kind := range values(words, option) {
			if !strings.HasPrefix(kind, "!") && !like(strings.ToLower(filepath.Base(kind)), strings.ToLower(filepath.Base(path))) {
				return false
			}
		}
	}
	if slices.Contains(words, "--files") {
		return true
	}
	if slices.ContainsFunc(e.g.places, func(p place) bool { return p.kind == secret && compare(split(path), p.parts) == within }) {
		return searched(words) != nil
	}
	wanted := slices.IndexFunc(words, func(w string) bool { return w != "" && w[0] != '-' })
	if wanted < 0 || slices.ContainsFunc(words, func(w string) bool { return w == "-v" || w == "-f" || w == "-L" || strings.HasPrefix(w, "--file") }) {
		return true
	}
	pattern, err := regexp.Compile("(?i)" + words[wanted])
	if e.contents--; err != nil || e.contents < 0 {
		return true
	}
	text, err := regular.Read(filepath.FromSlash(path), maxSetting)
	return err != nil || pattern.Match(text)
}

// A found is what a call of find prints.
type found struct {
	roots    []string
	depth    int        // how far below the roots; 0 where it does not say
	branches [][]string // of each alternative the names and paths of which one must fit
}

// foundBy reads the words of find. Where it cannot be told what a test leaves out, it
// leaves out nothing.
func foundBy(words []string) (f found) {
	i := 0
	for i < len(words) && (words[i] == "-H" || words[i] == "-L" || words[i] == "-P") {
		i++
	}
	for ; i < len(words) && words[i] != "" && !strings.ContainsAny(words[i][:1], "-(!"); i++ {
		f.roots = append(f.roots, words[i])
	}
	if len(f.roots) == 0 {
		f.roots = []string{"."}
	}
	var branch []string
	negated := false
	for ; i < len(words); i++ {
		next := ""
		if i+1 < len(words) {
			next = strings.ToLower(words[i+1])
		}
		switch w := words[i]; w {
		case "!", "-not":
			negated = true
			continue
		case "-o", "-or", ",":
			f.branches, branch = append(f.branches, branch), nil
		case "-name", "-iname", "-lname", "-ilname":
			if i++; !negated {
				branch = append(branch, "*/"+next)
			}
		case "-path", "-ipath", "-wholename", "-iwholename":
			if i++; !negated {
				branch = append(branch, next)
			}
		case "-maxdepth":
			i++
			f.depth, _ = strconv.Atoi(next)
		case "-exec", "-execdir", "-ok", "-okdir":
			for i < len(words) && words[i] != ";" && words[i] != "+" {
				i++
			}
		}
		negated = false
	}
	f.branches = append(f.branches, branch)
	return f
}

// passes reports whether a path below a root may be printed.
func (f *found) passes(root []string, path string) bool {
	if f.depth > 0 && len(split(path))-len(root) > f.depth {
		return false
	}
	path = strings.ToLower(path)
	return slices.ContainsFunc(f.branches, func(tests []string) bool {
		return len(tests) == 0 || slices.ContainsFunc(tests, func(pattern string) bool {
			// A path is printed as its root was written: what the pattern begins with may be that.
			return like(pattern, path) || like("*"+strings.TrimLeft(pattern, "."), path)
		})
	})
}

// like matches a text with a pattern in which * stands for anything, slashes, too.
func like(pattern, text string) bool {
	return glob.Match(class.ReplaceAllString(pattern, "?"), text)
}

// class is a list of characters in a pattern: it may be any one of all.
var class = lazyregexp.New(`\[[^\]]*\]`)

// ran is a command of the act.
type ran struct {
	command *hazard.Command
	name    string
}

// metadata are commands that tell of a file only what its folder knows.
var metadata = words("ls ll dir vdir stat du wc file dirname basename realpath readlink echo printf print test [ [[ cd pushd mkdir true : read mapfile readarray set local declare export")

// maxTakers bounds how many commands of one act are looked at again.
const maxTakers = 512

// notes notes a command that may print names, or may be given what another printed.
func (e *examination) notes(c *hazard.Command, name string) {
	if flatListers[name] || deepListers[name] || searchers[name] || finders[name] || strings.HasPrefix(name, "fd") || strings.HasSuffix(name, "find") {
		if e.cut = e.cut || len(e.listers) == maxTakers; !e.cut {
			e.listers = append(e.listers, ran{c, name})
		}
	}
	if name == "cat" || name == "tac" || name == "head" || name == "tail" {
		for _, w := range c.Words {
			e.looksInto(w, c.Dirs)
		}
	}
	for _, option := range []string{"-T", "--files-from", "-a", "--arg-file", "--pathspec-from-file"} {
		for _, v := range values(c.Words, option) {
			e.looksInto(v, c.Dirs)
		}
	}
	switch {
	case name == "read" || name == "mapfile" || name == "readarray":
		e.filledIn = append(e.filledIn, c.Words...)
		return
	case len(e.takers) == maxTakers:
		e.tooMuch = true
		return
	case name == "find" && slices.Contains(c.Words, "-delete"):
		deletes := *c
		deletes.Words = []string{"-r", "$found"}
		e.takers = append(e.takers, ran{&deletes, "rm"})
		return
	case interpreter.MatchString(name) && slices.ContainsFunc(c.Words, removesGiven):
		removes := *c
		removes.Words = []string{"-r", "$found"}
		e.takers = append(e.takers, ran{&removes, "rm"})
		return
	case !c.Known, !strings.HasSuffix(name, "find") && !strings.HasPrefix(name, "fd") && slices.ContainsFunc(c.Words, func(w string) bool { return strings.Contains(w, "{}") }), c.Around == "xargs", c.Around == "parallel", takesNames(c, name):
	default:
		return
	}
	if !metadata[name] && name != "xargs" && name != "parallel" {
		e.takers = append(e.takers, ran{c, name})
	}
}

// removesGiven reports whether a program takes away, or moves, what it reads the names of.
func removesGiven(text string) bool {
	low := strings.ToLower(text)
	return givenNames.MatchString(low) && (removing.MatchString(low) || unlinking.MatchString(low))
}

var (
	givenNames = lazyregexp.New(`\$[0-9_]|\bstdin\b|\bargf\b|\bgets\b|<>|getline|\bargv\b`)
	unlinking  = lazyregexp.New(`\bunlink|\bremove\b|file\.delete|["']\s*(?:rm|mv)\s`)
)

// takesNames reports whether a command reads the names of files, or commands with them,
// from elsewhere.
func takesNames(c *hazard.Command, name string) bool {
	switch name {
	case "cpio", "pax":
		return true
	case "sh", "bash", "zsh", "dash", "ksh", "ash", "fish":
		return c.Stdin == "" && !slices.ContainsFunc(c.Words, func(w string) bool { return w != "" && w[0] != '-' })
	}
	return slices.ContainsFunc(c.Words, func(w string) bool {
		return w == "-T" || w == "-@" || strings.Contains(w, "files-from") || strings.Contains(w, "from-file") || strings.Contains(w, "files0")
	})
}

// given looks at what may be listed as if the takers were given it.
func (e *examination) given() {
	if len(e.takers) == 0 || len(e.found) > 0 {
		return
	}
	defer func() { e.tooMuch = e.tooMuch || e.cut }()
	for _, t := range e.takers {
		if t.name == "eval" || shells[t.name] { // what it runs may be what the act reads
			for _, file := range slices.Clone(e.reads) {
				e.script(file, "sh", t.command.Dirs)
			}
		}
	}
	e.lines()
	for _, l := range e.listers {
		e.lister(l.command, l.name)
	}
	for _, t := range e.takers {
		search := searchers[t.name] && searched(t.command.Words) == nil
		for _, l := range e.lists {
			switch {
			case len(e.found) > 0:
				return
			case search && l.place.kind == secret, !e.takes(t.command, l.path):
				continue
			}
			if l.place.kind != setting || e.armed(*l.place) {
				last := len(t.command.Words) - 1
				into := t.command.Around != "" || last >= 0 && strings.ContainsAny(t.command.Words[last], "$`*{")
				e.path(t.name, split(l.path), into && copiers[t.name], t.command.Words)
			}
		}
	}
}

// takes reports whether one of a command's words can become a path by what was printed.
func (e *examination) takes(c *hazard.Command, path string) bool {
	if c.Around == "xargs" || c.Around == "parallel" {
		return true
	}
	known := true
	for _, w := range c.Words {
		if !strings.ContainsAny(w, "$`*") && !strings.Contains(w, "{}") {
			continue
		}
		known = false
		w = strings.ToLower(unknownParts.ReplaceAllStringFunc(w, func(part string) string {
			if name := strings.Trim(part, "${}"); part[0] == '$' && part[1] != '(' && name != "found" && !slices.Contains(e.filledIn, name) {
				return "\x00" // a variable that the act does not set
			}
			return "*"
		}))
		if strings.HasPrefix(w, "~") {
			w = strings.ToLower(e.g.home) + w[1:]
		}
		if _, value, said := strings.Cut(w, "="); said && like(value, path) { // of=$f
			return true
		}
		if like(w, path) || !strings.HasPrefix(w, "/") && like("*/"+strings.TrimPrefix(w, "./"), path) {
			return true
		}
	}
	return known
}

// maxReads is how many files that an act reads are noted.
const maxReads = 1024

// maxList is how much is read of the lists of names that an act reads, in bytes.
const maxList = 1 << 20

// looksInto notes a file that the act reads.
func (e *examination) looksInto(name string, dirs []string) {
	for _, parts := range e.readings(name, dirs) {
		if file := "/" + strings.Join(parts, "/"); !slices.Contains(e.reads, file) {
			if _, there := e.real(filepath.FromSlash(file)); there { // one that is not there names nothing
				if e.cut = e.cut || len(e.reads) == maxReads; !e.cut {
					e.reads = append(e.reads, file)
				}
			}
		}
	}
}

// lines notes the paths in the files that the act reads: a list may have been made before.
func (e *examination) lines() {
	for _, name := range e.reads {
		info, err := os.Stat(filepath.FromSlash(name))
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if e.listSize += info.Size(); e.listSize > maxList {
			e.cut = true
			return
		}
		text, err := regular.Read(filepath.FromSlash(name), maxList)
		if errors.Is(err, regular.ErrTooLarge) { // it has grown, or says nothing of its size
			e.cut = true
			return
		}
		if err != nil {
			continue
		}
		for line := range strings.FieldsFuncSeq(string(text), func(r rune) bool { return r == '\n' || r == '\r' || r == 0 }) {
			if strings.Contains(line, "/") && len(line) <= 4096 {
				for _, parts := range e.readings(line, e.lastDirs()) {
					e.note(parts, false, func(path string) bool { return strings.EqualFold(path, "/"+strings.Join(parts, "/")) })
				}
			}
		}
	}
}
