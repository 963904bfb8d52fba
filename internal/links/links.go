// Package links tells where a path leads that may not be there yet.
package links

import "path/filepath"

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
