package target

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"reeve.example/reeve/act"
)

const (
	maxLinks     = 64  // links on the disk that an act's words lead through
	maxLinkWords = 512 // words of an act that are looked up
	maxLinkParts = 32  // names of one
	fewNames     = 16  // are looked up in the folder one by one; for more of them it is listed
	maxInFolder  = 4096
)

// Links are the links on the disk that the words of a call lead through, and where they lead: what
// is done through a link that lies in a folder is done to what it leads to, whoever made it. None
// where it is not known in which folder the act works.
func Links(a *act.Action, folder string) []act.Link {
	if folder == "" || strings.HasPrefix(folder, `\\`) || strings.HasPrefix(folder, "//") {
		return nil
	}
	l := linked{folder: filepath.Clean(folder), seen: map[string]bool{}}
	l.home, _ = os.UserHomeDir()
	words := 0
	for i := range a.Content {
		for word := range strings.FieldsFuncSeq(a.Content[i].Text, func(r rune) bool { return strings.ContainsRune(" \t\r\n\"'`,;()[]{}|&<>=:@", r) }) {
			if len(word) > 1024 || word[0] == '-' || word[0] == '$' || l.seen[word] {
				continue
			}
			if words++; words > maxLinkWords {
				return l.found
			}
			l.seen[word] = true
			l.follow(word)
		}
	}
	return l.found
}

// linked are the links that were found.
type linked struct {
	folder, home string
	seen         map[string]bool
	found        []act.Link
	asked        int             // names that were looked for in the folder
	names        map[string]bool // that lie there, in lower case; nil where they are not known
}

// mayLie reports whether a name may lie in the folder. Of many, as the words of a text are, most name
// nothing: the list of the folder says so of all at once.
func (l *linked) mayLie(name string) bool {
	if l.asked++; l.asked == fewNames+1 {
		l.names = list(l.folder)
	}
	return l.names == nil || l.names[strings.ToLower(name)] || strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf })
}

// list is the names in a folder, in lower case, since the disk may not tell the cases apart; nil where it
// cannot be listed, or has too many.
func list(folder string) map[string]bool {
	names := map[string]bool{"..": true}
	f, err := os.Open(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return names
	}
	if err != nil {
		return nil
	}
	defer f.Close()
	lie, err := f.Readdirnames(maxInFolder + 1)
	if err != nil && err != io.EOF || len(lie) > maxInFolder {
		return nil
	}
	for _, name := range lie {
		names[strings.ToLower(name)] = true
	}
	return names
}

// follow looks for the first link in a path that a word names, as it names it.
func (l *linked) follow(word string) {
	at := l.folder
	rest := word
	switch {
	case word == "~" || strings.HasPrefix(word, "~/"):
		at, rest = l.home, word[1:]
	case strings.HasPrefix(word, "/"):
		at, rest = "/", word
	}
	if at == "" {
		return
	}
	named := strings.TrimSuffix(word[:len(word)-len(rest)], "/")
	for i, name := range strings.Split(rest, "/") {
		if i >= maxLinkParts || strings.ContainsAny(name, "*?[$~\\") {
			return
		}
		if name == "" || name == "." {
			continue
		}
		if at == l.folder && !l.mayLie(name) {
			return
		}
		if named += "/" + name; rest[0] != '/' && named == "/"+name {
			named = name
		}
		at = filepath.Join(at, name)
		info, err := os.Lstat(at)
		if err != nil {
			return
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		to, err := filepath.EvalSymlinks(at)
		if err != nil { // nothing is there yet, which a write makes
			if to, err = os.Readlink(at); err != nil {
				return
			}
			if !filepath.IsAbs(to) {
				to = filepath.Join(filepath.Dir(at), to)
			}
		}
		if below(at, "/usr /bin /sbin /lib /lib64 /etc /var /proc /sys /dev /run /opt /private /snap /nix") {
			return // the system's own
		}
		if len(l.found) < maxLinks && !l.seen["link "+named] {
			l.seen["link "+named] = true
			l.found = append(l.found, act.Link{Name: named, To: l.tilde(to)})
		}
		return
	}
}

// below reports whether a path lies in one of some folders.
func below(at, folders string) bool {
	for folder := range strings.FieldsSeq(folders) {
		if at == folder || strings.HasPrefix(at, folder+"/") {
			return true
		}
	}
	return false
}

// tilde is a path with ~ in the place of the home folder, as tables have it, and one below the folder
// as it is named there.
func (l *linked) tilde(to string) string {
	if rest, ok := strings.CutPrefix(to, l.folder+"/"); ok {
		return rest
	}
	for _, home := range []string{l.home, real(l.home)} {
		if rest, ok := strings.CutPrefix(to, home); ok && home != "" && (rest == "" || rest[0] == '/') {
			return "~" + rest
		}
	}
	return filepath.ToSlash(to)
}

func real(dir string) string {
	to, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return ""
	}
	return to
}
