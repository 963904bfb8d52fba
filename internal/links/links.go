// Package links tells where a path leads that may not be there yet.
package links

import (
	"os"
	"path/filepath"
	"strings"
)

// Places are the names by which a file is known, by whatever path it is reached: where that
// leads, and, if it is there, which file of this machine it is: links, and folders in which a
// and A are one name, give it several. None for a path that is not absolute, nor for one on
// another machine, to which a look would carry this one's credentials.
func Places(path string) []string {
	if volume := filepath.VolumeName(path); !filepath.IsAbs(path) || strings.HasPrefix(volume, `\\`) || strings.HasPrefix(volume, "//") {
		return nil
	}
	list := []string{Resolve(path)}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		if id := identity(info); id != "" {
			list = append(list, id)
		}
	}
	return list
}

// Look is where the files of one act lie, each looked up once, and when the act says so: a file
// system may hang, and whoever waits for it should hold nothing that others wait for.
type Look struct {
	// Find is Places, but for tests.
	Find   func(path string) []string
	known  map[string][]string
	wanted []string
}

// maxLooks is how many files of one act are looked up. Of others it is not known where they lie.
const maxLooks = 64

// Places are those of a path if it was looked up; else it is wanted, and has none.
func (l *Look) Places(path string) []string {
	places, ok := l.known[path]
	if !ok && len(l.known)+len(l.wanted) < maxLooks {
		l.wanted = append(l.wanted, path)
	}
	return places
}

// Wants reports whether Up would look.
func (l *Look) Wants() bool { return len(l.wanted) > 0 }

// Up looks up what is wanted.
func (l *Look) Up() {
	if l.known == nil && l.wanted != nil {
		l.known = map[string][]string{}
	}
	for _, path := range l.wanted {
		if _, ok := l.known[path]; !ok {
			l.known[path] = l.Find(path)
		}
	}
	l.wanted = nil
}

// Resolve follows the symbolic links of a path as far as it is there; what is not there
// stays as it is named. It is the place that a program would write to.
func Resolve(path string) string {
	rest := ""
	for at := path; ; {
		if to, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(to, rest)
		}
		up := filepath.Dir(at)
		if up == at {
			return filepath.Clean(path)
		}
		at, rest = up, filepath.Join(filepath.Base(at), rest)
	}
}
