// Package links tells where a path leads that may not be there yet.
package links

import (
	"os"
	"path/filepath"
)

// Places are the names by which a file is known, by whatever path it is reached: where that
// leads, and, where a file has several names, which one of this machine it is. None for a path
// that is not absolute.
func Places(path string) []string {
	if !filepath.IsAbs(path) {
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
