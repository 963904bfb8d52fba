package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/glob"
)

// BaseDirectories is what every command may read and execute beside what its
// manifest says, so that programs can start: programs and libraries, and the
// files in which they look up names, certificates and time zones. Those that do
// not exist are left out. Nothing in it should be a secret: /etc is not in it as
// a whole.
var BaseDirectories = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store",
	"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/alternatives",
	"/etc/nsswitch.conf", "/etc/passwd", "/etc/group", "/etc/hosts", "/etc/host.conf", "/etc/resolv.conf", "/etc/gai.conf",
	"/etc/protocols", "/etc/services", "/etc/localtime", "/etc/timezone", "/etc/locale.alias", "/etc/mime.types", "/etc/os-release",
	"/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ca-certificates", "/etc/pki/tls/certs", "/etc/pki/ca-trust", "/etc/crypto-policies",
	"/sys/devices/system/cpu",
}

// Bounds of what a manifest's globs are expanded to.
const (
	maxVisited = 100_000 // entries looked at
	maxGrants  = 1000    // paths granted
)

// grant is a file, or a directory and everything below it, that the command may use.
type grant struct {
	Path  string // with no symlink in it
	As    string // how it was named
	Write bool   // else only read and executed
	Dir   bool
	Base  bool     // one of BaseDirectories, which yields to what the manifest says
	links []string // where the symlinks lie that As led through
}

// scope is what the manifest's paths came to.
type scope struct {
	grants []grant
	// notes say, for filesystem_scope and filesystem_read, what was resolved,
	// expanded or left out.
	notes map[string][]string
	// Whether what may only be read lies below what may be written: Landlock
	// can only add rights, so that it alone cannot hold this.
	readInWrite bool
}

// resolveScope turns the manifest's paths and globs into what exists now.
// Symlinks are resolved once, here. It never grants more than is written: not
// the parent of what does not exist, not what a glob does not match, and not
// where a symlink leads that the command itself could have planted.
func resolveScope(m act.Manifest) (*scope, error) {
	s := &scope{notes: map[string][]string{}}
	visited := 0
	for _, list := range []struct {
		name    string
		entries []string
		write   bool
	}{{"filesystem_scope", m.FilesystemScope, true}, {"filesystem_read", m.FilesystemRead, false}} {
		for _, entry := range list.entries {
			found, note, err := resolveEntry(entry, &visited)
			if err != nil {
				return nil, fmt.Errorf("%w: %s: %q %w", ErrRefused, list.name, entry, err)
			}
			if note != "" {
				s.notes[list.name] = append(s.notes[list.name], note)
			}
			for _, g := range found {
				g.Write = list.write
				s.grants = append(s.grants, g)
			}
			if len(s.grants) > maxGrants {
				return nil, fmt.Errorf("%w: the manifest's paths come to more than %d files and directories; name directories", ErrRefused, maxGrants)
			}
		}
	}
	s.dropPlanted()
	for _, r := range s.grants {
		s.readInWrite = s.readInWrite || !r.Write && slices.ContainsFunc(s.grants, func(w grant) bool {
			return w.Write && w.Dir && below(r.Path, w.Path) && r.Path != w.Path
		})
	}
	return s, nil
}

// dropPlanted leaves out the paths below what may be written that lead out of
// it: a command could have put a symlink there, so that the next is given what
// it points to.
func (s *scope) dropPlanted() {
	all := &scope{grants: slices.Clone(s.grants)}
	s.grants = slices.DeleteFunc(s.grants, func(g grant) bool {
		planted := all.planted(g)
		if planted {
			name := "filesystem_read"
			if g.Write {
				name = "filesystem_scope"
			}
			s.notes[name] = append(s.notes[name], fmt.Sprintf("%s is not granted: it is a symlink out of a directory that may be written", g.As))
		}
		return planted
	})
}

// planted is whether a path leads, by a symlink that lies in what may be
// written, out of it.
func (s *scope) planted(g grant) bool {
	return slices.ContainsFunc(s.grants, func(w grant) bool {
		return w.Write && w.Dir && !below(g.Path, w.Path) && slices.ContainsFunc(g.links, func(l string) bool { return below(l, w.Path) })
	})
}

// linksOf finds the symlinks that a path leads through.
func linksOf(p string) (links []string) {
	parts := func(p string) []string {
		return strings.FieldsFunc(p, func(c rune) bool { return c < 0x80 && os.IsPathSeparator(uint8(c)) })
	}
	root := func(p string) string { return filepath.VolumeName(p) + string(filepath.Separator) }
	at, rest := root(p), parts(p[len(filepath.VolumeName(p)):])
	for len(rest) > 0 && len(links) < 255 {
		next := filepath.Join(at, rest[0])
		rest = rest[1:]
		target, err := os.Readlink(next)
		if err != nil {
			at = next
			continue
		}
		links = append(links, next)
		if filepath.IsAbs(target) {
			at = root(target)
		}
		rest = append(parts(target[len(filepath.VolumeName(target)):]), rest...)
	}
	return links
}

// resolveEntry returns what one entry grants now, and what is to be said about it.
func resolveEntry(entry string, visited *int) (found []grant, note string, err error) {
	switch {
	case !filepath.IsAbs(entry):
		return nil, "", errors.New("is not an absolute path")
	case slices.Contains(strings.Split(filepath.ToSlash(entry), "/"), ".."):
		return nil, "", errors.New("climbs with dots")
	case strings.ContainsRune(entry, 0) || !utf8.ValidString(entry):
		return nil, "", errors.New("is not a path that can be named here")
	}
	literal := entry
	for strings.HasSuffix(literal, "/**") {
		literal = strings.TrimSuffix(literal, "/**")
	}
	literal = filepath.Clean(literal + string(filepath.Separator))
	if strings.ContainsAny(literal, "*?") {
		return expand(entry, visited)
	}
	resolved, err := filepath.EvalSymlinks(literal)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, literal + " does not exist and is not granted, nor is its parent", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("cannot be resolved: %w", err)
	}
	if resolved == "/" {
		return children()
	}
	if err := reserved(resolved); err != nil {
		return nil, "", err
	}
	info, err := os.Stat(resolved)
	if err != nil {
		return nil, "", err
	}
	if resolved != literal {
		note = literal + " is " + resolved
	}
	return []grant{{Path: resolved, As: literal, Dir: info.IsDir(), links: linksOf(literal)}}, note, nil
}

// reserved refuses what holds the sandbox itself: a command that could write to
// the cgroup tree or to another process's files would not be held.
func reserved(p string) error {
	if below(p, "/proc") || below(p, "/sys") || below(p, "/dev") && !below(p, "/dev/shm/x") && path.Dir(p) != "/dev/shm" {
		return fmt.Errorf("leads to %s, which holds the sandbox itself and is never granted", p)
	}
	return nil
}

// children stands for the root directory: everything in it but the kernel's
// file systems, and /run, where the sockets of the host's services are.
func children() (found []grant, note string, err error) {
	entries, err := os.ReadDir("/")
	if err != nil {
		return nil, "", err
	}
	for _, e := range entries {
		if slices.Contains([]string{"proc", "sys", "dev", "run"}, e.Name()) || e.Type()&(fs.ModeDir|fs.ModeSymlink) == 0 && !e.Type().IsRegular() {
			continue
		}
		p := "/" + e.Name()
		resolved, err := filepath.EvalSymlinks(p)
		if err != nil || reserved(resolved) != nil {
			continue
		}
		if info, err := os.Stat(resolved); err == nil {
			found = append(found, grant{Path: resolved, As: p, Dir: info.IsDir()})
		}
	}
	return found, "/ is what lies in it but /proc, /sys, /dev and /run", nil
}

// expand finds the files that a glob matches now. Symlinks are not followed
// below its first wildcard and not granted, and of a directory only a glob that
// ends in ** grants what is in it: otherwise more would be granted than matches.
func expand(pattern string, visited *int) (found []grant, note string, err error) {
	parts := strings.Split(strings.Trim(filepath.ToSlash(filepath.Clean(pattern)), "/"), "/")
	first := slices.IndexFunc(parts, func(p string) bool { return strings.ContainsAny(p, "*?") })
	if filepath.VolumeName(pattern) != "" {
		return nil, "", errors.New("is a glob, which is not expanded on this system")
	}
	literal := "/" + strings.Join(parts[:first], "/")
	links := linksOf(literal)
	base, err := filepath.EvalSymlinks(literal)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, pattern + " matches nothing", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("cannot be resolved: %w", err)
	}
	if err := reserved(base); err != nil {
		return nil, "", err
	}
	parts = parts[first:]
	whole := parts[len(parts)-1] == "**" // directories are granted with what is in them
	for len(parts) > 0 && parts[len(parts)-1] == "**" {
		parts = parts[:len(parts)-1]
	}
	var walk func(dir string, parts []string) error
	walk = func(dir string, parts []string) error {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil // what cannot be listed matches nothing
		}
		if *visited += 1 + len(entries); *visited > maxVisited {
			return fmt.Errorf("matches among more than %d files; name a directory", maxVisited)
		}
		for _, e := range entries {
			p := path.Join(dir, e.Name())
			if e.Type()&fs.ModeSymlink != 0 || reserved(p) != nil || !utf8.ValidString(p) {
				continue
			}
			rest := parts
			if rest[0] == "**" {
				if e.IsDir() {
					if err := walk(p, rest); err != nil {
						return err
					}
				}
				rest = rest[1:] // it may also stand for nothing
			}
			switch {
			case len(rest) == 0 || !glob.Match(rest[0], e.Name()):
			case len(rest) > 1 && e.IsDir():
				if err := walk(p, rest[1:]); err != nil {
					return err
				}
			case len(rest) == 1 && e.IsDir() == whole:
				if found = append(found, grant{Path: p, As: p, Dir: whole, links: links}); len(found) > maxGrants {
					return fmt.Errorf("matches more than %d files; name a directory", maxGrants)
				}
			}
		}
		return nil
	}
	if err := walk(base, parts); err != nil {
		return nil, "", err
	}
	slices.SortFunc(found, func(a, b grant) int { return strings.Compare(a.Path, b.Path) })
	found = slices.CompactFunc(found, func(a, b grant) bool { return a.Path == b.Path })
	return found, fmt.Sprintf("%s is the %d that match at the start, and no symlinks; what matches later is not granted", pattern, len(found)), nil
}

// below is whether p is dir or lies below it.
func below(p, dir string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// covers is whether a path, which need not exist, lies in what is granted.
func (s *scope) covers(p string) bool {
	return slices.ContainsFunc(s.grants, func(g grant) bool { return p == g.Path || g.Dir && below(p, g.Path) })
}

// detail says what a list of paths came to.
func (s *scope) detail(name string, write bool) string {
	var paths []string
	for _, g := range s.grants {
		if g.Write == write && !g.Base && len(paths) < 20 {
			paths = append(paths, g.Path)
		}
	}
	said := "nothing"
	if len(paths) > 0 {
		said = strings.Join(paths, ", ")
		if len(paths) == 20 {
			said += ", …"
		}
	}
	return strings.Join(append([]string{"granted: " + said}, s.notes[name]...), "; ")
}
