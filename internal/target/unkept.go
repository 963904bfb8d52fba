package target

import (
	"bytes"
	"encoding/binary"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/regular"
	"reeve.example/reeve/internal/risk/hazard"
)

// Unkept are the files of secrets where a call works that Git would take in with all that lies there, and those that
// it ignores. It looks at the names in the folder alone, and only where the call may add something.
func Unkept(a *act.Action, folder string) (unkept, ignored []string) {
	adds := func(text string) bool {
		return strings.Contains(text, "add") || strings.Contains(text, "stage") || strings.Contains(text, "stash")
	}
	if !adds(a.Canonical) && !slices.ContainsFunc(a.Content, func(l act.Leaf) bool { return adds(l.Text) && strings.Contains(l.Text, "git") }) {
		return nil, nil
	}
	at, git, common := repositoryOf(folder)
	if git == "" {
		return nil, nil
	}
	open, err := os.Open(at)
	if err != nil {
		return nil, nil
	}
	defer open.Close()
	var names []string
	entries, _ := open.ReadDir(maxListed)
	for _, e := range entries {
		if e.Type().IsRegular() && hazard.InProjects(e.Name()) && holdsValues(filepath.Join(at, e.Name())) {
			names = append(names, e.Name())
		}
	}
	if names == nil {
		return nil, nil
	}
	root := at
	for filepath.Join(root, ".git") != git && filepath.Dir(root) != root && git == common {
		root = filepath.Dir(root)
	}
	below, err := filepath.Rel(root, at)
	if err != nil {
		below = "."
	}
	index, _ := regular.Read(filepath.Join(git, "index"), maxIndex)
	var lines []string
	for _, file := range []string{filepath.Join(at, ".gitignore"), filepath.Join(root, ".gitignore"), filepath.Join(common, "info", "exclude")} {
		text, _ := regular.Read(file, maxGitFile)
		lines = append(lines, strings.Split(string(text), "\n")...)
	}
	for _, name := range names {
		switch {
		case inIndex(index, path.Join(filepath.ToSlash(below), name)):
		case ignores(lines, name):
			ignored = append(ignored, name)
		default:
			unkept = append(unkept, name)
		}
	}
	return unkept, ignored
}

// holdsValues reports whether a file of secrets holds some: not one that only names what others fill in.
// One that cannot be read may hold any.
func holdsValues(file string) bool {
	text, err := regular.Read(file, maxGitFile)
	if err != nil || !strings.HasPrefix(filepath.Base(file), ".env") {
		return err != nil || len(bytes.TrimSpace(text)) > 0
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		_, value, sets := strings.Cut(line, "=")
		value, _, _ = strings.Cut(value, " #")
		if value = strings.Trim(value, " \t\"'"); line == "" || line[0] == '#' || sets && (value == "" || blank.MatchString(value)) {
			continue
		}
		return true
	}
	return false
}

// blank is what stands where somebody is to put in a value.
var blank = lazyregexp.New(`(?i)^(?:<[^<>]*>|\[[^][]*\]|x{3,}|\*{3,}|\.{3,}|change[-_ ]?(?:me|this)|replace[-_ ]?me|your[-_ ][a-z0-9_ -]*|to ?do|placeholder)$`)

// Bounds of what is looked at: of a folder's entries, and of what Git has noted of a repository.
const (
	maxListed = 1024
	maxIndex  = 16 << 20
)

// ignores reports whether one of the lines of .gitignore names a file, and none takes that back.
func ignores(lines []string, name string) (ignored bool) {
	for _, line := range lines {
		pattern := strings.TrimSpace(line)
		kept := strings.HasPrefix(pattern, "!")
		pattern = strings.TrimPrefix(strings.TrimPrefix(pattern, "!"), "/")
		pattern = strings.TrimPrefix(pattern, "**/")
		if pattern == "" || strings.HasPrefix(pattern, "#") {
			continue
		}
		if ok, err := path.Match(pattern, name); ok && err == nil {
			ignored = !kept
		}
	}
	return ignored
}

// inIndex reports whether Git's index names a path: "DIRC", a version, a count, and entries of 62 bytes,
// of which the last two say how long the path is that follows. Of an index in which paths are cut
// short (version 4), or that is damaged, it says no.
func inIndex(index []byte, name string) bool {
	const header, fixed = 12, 62
	if len(index) < header || !bytes.HasPrefix(index, []byte("DIRC")) {
		return false
	}
	version := binary.BigEndian.Uint32(index[4:])
	if version != 2 && version != 3 {
		return false
	}
	at := header
	for range binary.BigEndian.Uint32(index[8:]) {
		if at+fixed > len(index) {
			return false
		}
		flags := binary.BigEndian.Uint16(index[at+60:])
		start := at + fixed
		if flags&0x4000 != 0 {
			start += 2
		}
		if start > len(index) {
			return false
		}
		length := bytes.IndexByte(index[start:], 0)
		if length < 0 {
			return false
		}
		if string(index[start:start+length]) == name {
			return true
		}
		at += (start - at + length + 8) &^ 7
	}
	return false
}
