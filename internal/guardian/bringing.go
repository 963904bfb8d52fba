package guardian

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"reeve.example/reeve/internal/hook"
	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/risk/hazard"
)

// An agent's settings come into a repository also with the folder in which they lie: out of a commit, an
// archive or another folder. Where that is on the disk and can be read, what it would put there is looked
// at as if it were written. Where it is not, nobody knows what the folder would hold, and it is denied as the
// file would be. What a whole branch, or a whole archive that is not there yet, brings is the user's word.

// brings looks at a command that takes files out of a repository or an archive.
func (e *examination) brings(c *hazard.Command, name string) {
	if e.far {
		return
	}
	words, dirs := c.Words, c.Dirs
	named, takes := broughtBy(name, words)
	for _, file := range values(words, "--pathspec-from-file") {
		for _, text := range append(e.readFiles(file, dirs), c.Stdin) {
			named = append(named, strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' || r == 0 })...)
		}
	}
	for _, word := range named {
		switch {
		case takes == takesAway && slices.ContainsFunc(e.readings(word, dirs), e.armedBelow):
			e.tampers("take away or close a folder in which " + setting.String() + setting.lies())
		case (takes == comesOut || takes == goesOn && e.unpacks()) && e.bringsFolder(word, dirs):
			e.tampersBut("put files that are not known into a folder in which "+setting.String()+" may lie", "Name the files.")
		}
	}
	into := filled(name, words)
	if len(into) == 0 || !unpackers[name] && !pythonUnpacks.MatchString(strings.Join(words, " ")) {
		return
	}
	archives := e.archives(words, dirs)
	if len(archives) == 0 { // it comes by a pipe, or by <
		archives = e.archives(e.wordsOfAct(), dirs)
	}
	for _, file := range archives {
		e.unpacked(file, into, named, stripped(words), dirs)
	}
}

// A taking is what a command does with the files that it is told.
type taking uint8

const (
	comesOut  taking = iota + 1 // it puts them into the present folder
	goesOn                      // it gives them to another command
	takesAway                   // it takes them away
)

// broughtBy are the files and folders that a command takes out of where they are kept, and what it does.
func broughtBy(name string, words []string) (named []string, takes taking) {
	if name == "git" {
		name, words = gitCommand(words)
	}
	plain := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return strings.HasPrefix(w, "-") })
	has := func(options ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(options, w) })
	}
	switch name {
	case "git checkout":
		if i := slices.Index(words, "--"); i >= 0 {
			plain = words[i+1:]
		}
		return plain, comesOut
	case "git restore":
		if has("--staged", "-S") && !has("--worktree", "-W") {
			return nil, 0
		}
		return plain, comesOut
	case "hg":
		if !slices.Contains(plain, "revert") && !slices.Contains(plain, "rv") {
			return nil, 0
		}
		return plain, comesOut
	case "jj":
		if !slices.Contains(plain, "restore") {
			return nil, 0
		}
		return plain, comesOut
	case "git archive":
		return plain, goesOn
	case "git rm", "git clean":
		if has("--cached") {
			return nil, 0
		}
		return plain, takesAway
	case "git mv":
		return plain[:max(len(plain)-1, 0)], takesAway
	case "git stash":
		if len(plain) < 2 || plain[0] != "push" && plain[0] != "save" && !has("--") {
			return nil, 0
		}
		return plain, takesAway
	}
	if !unpackers[name] || len(filled(name, words)) == 0 {
		return nil, 0
	}
	for i, w := range words {
		if i > 0 && (destinations[words[i-1]] || words[i-1] == "-f" || strings.HasPrefix(words[i-1], "-") && strings.HasSuffix(words[i-1], "f")) || strings.HasPrefix(w, "-") {
			continue
		}
		named = append(named, w)
	}
	return named, comesOut
}

// unpackers are programs that take files out of an archive.
var unpackers = words("tar bsdtar gtar jar unzip 7z 7za 7zr 7zz unrar unar cpio pax")

// destinations are options behind which such a program is told where the files go.
var destinations = words("-C --directory --cd -d -o --output-directory -D")

// pythonUnpacks are words by which Python takes files out of an archive.
var pythonUnpacks = lazyregexp.New(`(?:^|\s)-m\s*(?:tarfile|zipfile)\s`)

// agentFolders are the folders that agents keep their settings in, and those around them that are an
// agent's own.
var agentFolders = func() (list [][]string) {
	for i := range hook.Settings {
		s := &hook.Settings[i]
		if strings.HasPrefix(s.Path, "/") { // the machine's own
			continue
		}
		names := split(strings.ToLower(s.Path))
		for n := len(names) - 1; n > 0 && !sharedFolders[names[n-1]]; n-- {
			if one := names[:n]; !slices.ContainsFunc(list, func(l []string) bool { return slices.Equal(l, one) }) {
				list = append(list, one)
			}
		}
	}
	return list
}()

// sharedFolders hold what many programs keep there.
var sharedFolders = words(".github .config .aws")

// bringsFolder reports whether a word names a folder of an agent's settings, or by a pattern a file of them:
// whatever lies there comes with it.
func (e *examination) bringsFolder(word string, dirs []string) bool {
	if magic, rest, ok := strings.Cut(word, ")"); ok && strings.HasPrefix(magic, ":(") {
		word = rest
	}
	word = strings.TrimPrefix(word, ":/")
	all := append(e.readings(word, dirs), split(clean(word)))
	return slices.ContainsFunc(all, func(parts []string) bool {
		return slices.ContainsFunc(agentFolders, func(names []string) bool { return endsIn(parts, names) }) ||
			slices.ContainsFunc(parts, isPattern) && slices.ContainsFunc(settingParts, func(names []string) bool { return len(names) > 1 && endsIn(parts, names) })
	})
}

// endsIn reports whether a path, which may have patterns, ends in names. The patterns are those of git and of archives'
// programs: to them a name that begins with a dot is like any other. What is nothing but a pattern for all is none for these.
func endsIn(parts, names []string) bool {
	n := len(parts) - len(names)
	if n < 0 {
		return false
	}
	told := false
	for i, p := range parts[n:] {
		if names[i] == "*" {
			continue
		}
		if ok, err := path.Match(strings.ToLower(p), names[i]); !ok && err == nil && p != "**" {
			return false
		}
		told = told || strings.Trim(p, "*?") != ""
	}
	return told
}

// armedBelow reports whether a path is a folder of settings, or one around it, in which some have the guardian's
// hooks now: who takes it away takes these away.
func (e *examination) armedBelow(parts []string) bool {
	for _, names := range settingParts {
		for n := range len(names) - 1 {
			around := names[:n+1]
			at := len(parts) - len(around)
			if at < 0 || compare(parts[at:], around) != within {
				continue
			}
			for _, file := range e.matched(append(slices.Clone(parts), names[n+1:]...)) {
				if e.armed(place{file: file}) {
					return true
				}
			}
		}
	}
	return false
}

// unpacks reports whether a command of the act takes files out of an archive that it is given.
func (e *examination) unpacks() bool {
	return slices.ContainsFunc(e.wordsOfAct(), func(w string) bool { return unpackers[base(w)] })
}

// wordsOfAct are the words of the act's texts, whatever they are for.
func (e *examination) wordsOfAct() (list []string) {
	for i := range e.a.Content {
		for w := range strings.FieldsFuncSeq(e.a.Content[i].Text, isBetween) {
			if len(list) == maxLaid {
				return list
			}
			list = append(list, w)
		}
	}
	return list
}

// archives are the archives on the disk that words name.
func (e *examination) archives(words, dirs []string) (files []string) {
	for _, w := range words {
		w = strings.TrimPrefix(w, "--file=")
		if _, glued, ok := strings.Cut(w, "f"); ok && isShortOption(w) && glued != "" { // -xfev.tar
			w = glued
		}
		if len(files) == maxArchives || w == "" || w[0] == '-' {
			continue
		}
		for _, parts := range e.readings(w, dirs) {
			file := filepath.FromSlash("/" + strings.Join(parts, "/"))
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Size() > 0 && !slices.Contains(files, file) {
				files = append(files, file)
			}
		}
	}
	return files
}

// maxArchives is how many archives of one command are looked into.
const maxArchives = 8

// stripped is how many names tar takes from the front of each path.
func stripped(words []string) (n int) {
	for _, v := range slices.Concat(values(words, "--strip-components"), values(words, "--strip-path")) {
		for _, c := range v {
			if n = n*10 + int(c-'0'); c < '0' || c > '9' || n > maxBelow {
				return maxBelow
			}
		}
	}
	return n
}

// unpacked looks at what an archive puts into folders: the settings among what is named of it, or among all.
func (e *examination) unpacked(file string, into, named []string, strip int, dirs []string) {
	one := strings.Join(slices.Concat([]string{file, strconv.Itoa(strip)}, into, []string{""}, dirs, []string{""}, named), "\x00")
	if slices.Contains(e.unpackedFiles, one) || len(e.unpackedFiles) >= 2*maxArchives {
		return
	}
	e.unpackedFiles = append(e.unpackedFiles, one)
	type found struct {
		name, at string
		link     bool
		text     []byte
		known    bool
	}
	var settings []found
	meant := map[string]bool{} // what is named, as far as it is in the archive: other words mean something else
	e.inArchive(file, func(m *member) {
		name := strings.TrimPrefix(clean("/"+m.name), "/")
		for _, w := range named {
			meant[w] = meant[w] || isOf(name, w)
		}
		parts := split(name)
		at := strings.Join(parts[min(strip, len(parts)):], "/")
		switch {
		case len(settings) == maxLaid:
			e.tooMuch = true
		case m.link && e.bringsFolder("/"+at, nil):
			settings = append(settings, found{name: name, at: at, link: true})
		case hook.SettingAt("/"+at, "") != nil || hook.SettingAt("/"+path.Join(into[0], at), e.g.home) != nil:
			text, known := m.text()
			settings = append(settings, found{name, at, false, text, known})
		}
	})
	for _, s := range settings {
		if slices.ContainsFunc(named, func(w string) bool { return meant[w] }) && !slices.ContainsFunc(named, func(w string) bool { return isOf(s.name, w) }) {
			continue
		}
		if s.link {
			e.tampersBut("put a link in the place of a folder in which "+setting.String()+" may lie", "Name the files.")
		}
		for _, dir := range into {
			at := orDot(dir) + "/" + s.at
			if all := e.readings(at, dirs); len(all) > 0 {
				for _, parts := range all {
					e.setting(parts, func([]byte) ([]byte, bool) { return s.text, s.known })
				}
			} else { // into a folder that is not known
				e.setting(split(clean("/"+at)), func([]byte) ([]byte, bool) { return s.text, s.known })
			}
		}
	}
}

// isOf reports whether a member of an archive is what a word names, or lies in it; of a pattern, whether it may be.
func isOf(member, word string) bool {
	word = strings.Trim(clean(word), "/")
	if i := strings.IndexAny(word, patternMarks); i >= 0 {
		return strings.HasPrefix(member, word[:i])
	}
	return member == word || strings.HasPrefix(member, word+"/")
}

// bringsIn looks at a program that copies folders, or takes files out of archives: the settings in what it names on the
// disk, as they come into the folders that it names, too, or into the present one.
func (e *examination) bringsIn(text, low string) {
	dirs := e.lastDirs()
	var folders, archives []string
	for w := range strings.FieldsFuncSeq(text, isBetween) {
		switch {
		case len(folders)+len(archives) == maxArchives || slices.Contains(folders, w) || slices.Contains(archives, w):
		case e.isFolder(w):
			folders = append(folders, w)
		case len(e.archives([]string{w}, dirs)) > 0:
			archives = append(archives, w)
		}
	}
	into := folders
	if here.MatchString(low) && !slices.Contains(into, ".") {
		into = append(slices.Clone(into), ".")
	}
	for _, to := range into {
		for _, from := range folders {
			if from == to {
				continue
			}
			for _, parts := range e.readings(to, dirs) {
				e.becomesRoot(parts, []string{from}, true, &hazard.Command{Dirs: dirs})
			}
		}
	}
	for _, file := range e.archives(archives, dirs) {
		e.unpacked(file, into, nil, 0, dirs)
	}
}

// here is how a program says that it means the present folder, or does not say where it puts what it unpacks.
var here = lazyregexp.New(`\b(?:get)?cwd\b|\bpwd\b|extractall\(\s*(?:\)|members|filter)|unpack_archive\([^,()]*\)|tar["')]*\.x\(\{\s*(?:file|f)\s*:[^,}]*\}`)

// isFolder reports whether a word names a folder on the disk.
func (e *examination) isFolder(word string) bool {
	return slices.ContainsFunc(e.readings(word, e.lastDirs()), func(parts []string) bool {
		info, err := os.Stat(filepath.FromSlash("/" + strings.Join(parts, "/")))
		return err == nil && info.IsDir()
	})
}

// isBetween reports whether a character stands between the words of a text, of a command or a program.
func isBetween(r rune) bool { return strings.ContainsRune(" \t\r\n\"'`,;()[]{}|&<>=", r) }
