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
	maxOverlooked = 4096 // names of files below the folders that a call works in
	maxOthers     = 32   // files that the session did not write, and that may take in what it wrote
	maxBeside     = 4    // folders in which a file is looked for beside the one that takes it in
)

// passedOver are folders that are filled by programs: nobody works in them.
var passedOver = words(".git node_modules __pycache__ .venv venv site-packages .tox .nox target .gradle .mypy_cache .pytest_cache .next .cache")

// ofPrograms are the folders of a project in which programs of its own lie.
var ofPrograms = []string{"node_modules/.bin", ".venv/bin", "venv/bin", "vendor/bin", "bin", "tools", ".bin"}

// An overlook finds files in folders by their names.
type overlook struct {
	roots  []string
	files  []string // those below the roots, the nearest first; nil before they are needed
	taken  []string // those that were found
	others int      // how many of them the session did not write
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

// like are the files that a name or a pattern stands for, the nearest first.
func (o *overlook) like(name, beside string) (found []string) {
	if !strings.ContainsAny(name, "*?[") {
		for _, dir := range append([]string{beside}, o.roots...)[:min(len(o.roots)+1, maxBeside)] {
			if at := filepath.Join(dir, name); dir != "" {
				found = append(found, at)
			}
		}
	}
	if o.files == nil {
		o.list()
	}
	for _, file := range o.files {
		if base := path.Base(filepath.ToSlash(file)); base == name || slices.Contains(hazard.Patterns(file), name) {
			found = append(found, file)
		}
	}
	return found
}

// list notes the files below the roots.
func (o *overlook) list() {
	o.files = []string{}
	dirs := slices.Clone(o.roots)
	for i := 0; i < len(dirs) && len(o.files)+len(dirs) < maxOverlooked; i++ {
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
			}
		}
	}
}

// takesIn reads the files of a name, or a pattern, that a call runs, or that one of its files takes in:
// those that the session wrote, and others that may take in such ones in turn.
func (e *examination) takesIn(o *overlook, name, beside string) {
	pattern := strings.ContainsAny(name, "*?[")
	if slices.ContainsFunc(e.gathered, func(s script) bool { return s.name == name && !s.found }) {
		return // where it lies is known
	}
	kind := name
	if pattern {
		kind = hazard.AnyFile + path.Ext(name)
	}
	if !e.wrote(name) && (!pattern && beside == "" || pattern && !e.wrote(kind)) {
		return
	}
	for _, file := range o.like(name, beside) {
		base := path.Base(filepath.ToSlash(file))
		own := e.wrote(base)
		if !own && !pattern && filepath.Dir(file) != beside || slices.Contains(o.taken, file) {
			continue
		}
		if o.others++; own {
			o.others--
		} else if o.others > maxOthers {
			continue
		}
		info, err := os.Stat(file)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if o.taken = append(o.taken, file); len(o.taken) > maxScripts || info.Size() > maxSetting {
			e.tooMuch = e.tooMuch || own
			return
		}
		if text, err := regular.Read(file, maxSetting); err == nil && !slices.Contains(text, 0) {
			e.gathered = append(e.gathered, script{name: base, text: string(text), in: filepath.Dir(file), found: true})
		}
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
