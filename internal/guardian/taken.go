package guardian

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"reeve.example/reeve/internal/regular"
	"reeve.example/reeve/internal/risk/hazard"
)

// What a program runs it is often not told: it finds its settings, its tests, its modules and its
// hooks by their names, and takes in what these take in. Which names those are hazard knows, and
// which of them the session has given to files of its own. Here these are found on the disk.

const (
	maxOverlooked = 4096     // names of files below the folders that a call works in
	maxOthers     = 400      // files that the session did not write, and that may take in what it wrote
	maxOtherText  = 64 << 10 // what is read of each of them: what they take in stands at their begin
	maxOthersText = 4 << 20  // and of all
	maxBeside     = 4        // folders in which a file is looked for beside the one that takes it in
	maxOwn        = 256      // files that the session wrote
)

// passedOver are folders that are filled by programs: nobody works in them.
var passedOver = words(".git node_modules __pycache__ .venv venv site-packages .tox .nox target .gradle .mypy_cache .pytest_cache .next .cache")

// ofPrograms are the folders of a project in which programs of its own lie.
var ofPrograms = []string{"node_modules/.bin", ".venv/bin", "venv/bin", "vendor/bin", "bin", "tools", ".bin"}

// An overlook finds files in folders by their names.
type overlook struct {
	roots  []string
	files  []string            // those below the roots, the nearest first; nil before they are needed
	named  map[string][]string // the same by their names
	whole  bool                // whether these are all
	taken  map[string]bool     // those that were found
	own    int                 // how many of them the session wrote
	others int                 // and how many it did not
	left   int                 // of what is read of these
}

// roots are the folders that the act may work in, as far as they are known.
func (e *examination) roots() (dirs []string) {
	for _, dir := range slices.Concat(e.folders, []string{e.cwd()}) {
		if dir = e.homed(dir); strings.HasPrefix(dir, "/") && !slices.Contains(dirs, dir) {
			dirs = append(dirs, filepath.FromSlash(dir))
		}
	}
	return dirs
}

// within is a folder of which a call speaks; empty where it is not known.
func (o *overlook) within(dir string) string {
	switch {
	case filepath.IsAbs(dir):
		return dir
	case len(o.roots) == 0 || strings.ContainsAny(dir, "~$*`"):
		return ""
	}
	return filepath.Join(o.roots[0], dir)
}

// like are the files that a name or a pattern stands for, the nearest first: of a name that a file takes
// in, those that lie where it says, seen from that file or from above it.
func (o *overlook) like(name, beside string) (found []string) {
	if o.files == nil {
		o.list()
	}
	if strings.ContainsAny(name, "*?[") {
		for _, file := range o.files {
			if hazard.Like(name, file) {
				found = append(found, file)
			}
		}
		return found
	}
	if !o.whole || !slices.ContainsFunc(o.roots, func(root string) bool { return isBelow(beside, root) }) {
		found = o.at(name, beside)
	}
	return append(found, o.named[path.Base(name)]...)
}

// at are the places where a file of a name may lie that is taken in.
func (o *overlook) at(name, beside string) (places []string) {
	for _, dir := range append([]string{beside}, o.roots...)[:min(len(o.roots)+1, maxBeside)] {
		if dir != "" {
			places = append(places, filepath.Join(dir, filepath.FromSlash(name)))
		}
	}
	return places
}

// isBelow reports whether a place is a folder, or lies below it.
func isBelow(place, folder string) bool {
	return place == folder || strings.HasPrefix(place, strings.TrimSuffix(folder, string(filepath.Separator))+string(filepath.Separator))
}

// meant reports whether a file may be the one of a name that another file takes in: it lies where that
// says, or below where the name is looked for.
func (o *overlook) meant(file, name, beside string) bool {
	if slices.Contains(o.at(name, beside), file) {
		return true
	}
	name = strings.TrimLeft(path.Clean(name), "./")
	return strings.Contains(name, "/") && strings.HasSuffix(filepath.ToSlash(file), "/"+name)
}

// list notes the files below the roots.
func (o *overlook) list() {
	o.files, o.named, o.taken, o.left = []string{}, map[string][]string{}, map[string]bool{}, maxOthersText
	dirs := slices.Clone(o.roots)
	for i := 0; i < len(dirs); i++ {
		entries, err := os.ReadDir(dirs[i])
		if err != nil {
			continue
		}
		for _, entry := range entries {
			at := filepath.Join(dirs[i], entry.Name())
			switch {
			case len(o.files)+len(dirs) >= maxOverlooked:
				return
			case entry.IsDir() && !passedOver[entry.Name()]:
				dirs = append(dirs, at)
			case !entry.IsDir():
				o.files = append(o.files, at)
				o.named[entry.Name()] = append(o.named[entry.Name()], at)
			}
		}
	}
	o.whole = true
}

// takesIn reads the files of a name, or a pattern, that a call runs, or that one of its files takes in:
// those that the session wrote, and others that may take in such ones in turn. What a call runs is known by
// its name alone, so that it may be any of that name: beside is empty.
func (e *examination) takesIn(o *overlook, name, beside string) {
	pattern, base := strings.ContainsAny(name, "*?["), path.Base(name)
	if beside == "" && slices.ContainsFunc(e.gathered, func(s script) bool { return s.name == name && !s.found }) {
		return // where it lies is known
	}
	if !e.wrote(base) && !e.wrote(hazard.AnyFile) {
		return
	}
	for _, file := range o.like(name, beside) {
		base := path.Base(filepath.ToSlash(file))
		own := e.wrote(base)
		if o.taken[file] || (!own || base == inPackage) && !pattern && beside != "" && !o.meant(file, name, beside) {
			continue
		}
		if !own && (o.others >= maxOthers || o.left <= 0) {
			continue
		}
		info, err := os.Stat(file)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		o.taken[file] = true
		if filepath.Ext(file) == ".py" && base != inPackage {
			e.takesInPackages(o, file)
		}
		if !own {
			e.takesOther(o, file)
			continue
		}
		if o.own++; o.own > maxOwn || info.Size() > maxSetting {
			e.tooMuch = true
			return
		}
		if text, err := regular.Read(file, maxSetting); err == nil && !slices.Contains(text, 0) {
			e.gathered = append(e.gathered, script{name: base, text: string(text), in: filepath.Dir(file), found: true})
		}
	}
}

// takesInPackages reads what is run of the packages that a module of Python lies in.
func (e *examination) takesInPackages(o *overlook, module string) {
	for dir := filepath.Dir(module); slices.ContainsFunc(o.roots, func(root string) bool { return dir != root && isBelow(dir, root) }); dir = filepath.Dir(dir) {
		e.takesIn(o, inPackage, dir)
	}
}

// inPackage is the file of a package of Python, of which every project has many.
const inPackage = "__init__.py"

// takesOther reads a file that the session did not write, for what that takes in.
func (e *examination) takesOther(o *overlook, file string) {
	o.others++
	text, err := regular.Read(file, maxSetting)
	text = text[:min(len(text), maxOtherText)]
	if o.left -= len(text); err == nil && !slices.Contains(text, 0) {
		e.gathered = append(e.gathered, script{name: path.Base(filepath.ToSlash(file)), text: string(text), in: filepath.Dir(file), found: true})
	}
}

// compiled are the ends of the names of sources that programs are made of.
var compiled = words(".go .rs .c .h .cc .cpp .cxx .hpp .m .java .kt .scala .cs .fs .swift .zig .d .nim .cr .hs .ml .v .dart")

// tampersIn reports whether a file reaches for what is guarded that a program finds by itself, or
// makes a program of: a script that is named is looked at with the act.
func (e *examination) tampersIn(s script) bool {
	if len(s.text) > maxScript || !s.found && !compiled[strings.ToLower(path.Ext(s.name))] {
		return false
	}
	own := &examination{g: e.g, a: e.a, folders: e.folders, files: maxScripts, contents: maxScripts, namesLeft: maxNamesIn, tool: e.tool}
	own.sourceText(s.name, s.text, nil)
	if e.g.namedIn(s.text) {
		own.code(s.text)
	}
	return len(own.found) > 0
}

// placers are programs that put files into their places as a file says which they are given.
var placers = words("puppet chef-apply chef-solo chef-client cinc-client salt-call cf-agent pyinfra home-manager nixos-rebuild darwin-rebuild guix dotbot dotdrop nix-env nix-build")

// places is the file that a program which puts files into their places is given, if the session wrote it and it names
// settings of a coding agent's; empty if there is none. What these hold then is not read.
func (e *examination) places(c *hazard.Command) string {
	if !placers[base(c.Name)] {
		return ""
	}
	for _, w := range c.Words {
		name := path.Base(filepath.ToSlash(w))
		if e.wrote(name) && slices.ContainsFunc(e.readFiles(w, c.Dirs), func(text string) bool {
			return slices.ContainsFunc(e.pathsIn(text), func(word string) bool {
				return slices.ContainsFunc(e.readings(word, c.Dirs), mayBeSetting)
			})
		}) {
			return name
		}
	}
	return ""
}
