package guardian

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/hook"
	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/regular"
	"reeve.example/reeve/internal/risk/hazard"
)

// fills looks at a command that puts files into a folder: what they are called, or
// what stands in them, is not told by the command.
func (e *examination) fills(c *hazard.Command, name string) {
	e.becomes(c, name)
	e.brings(c, name)
	switch {
	case name == "git":
		e.fillsTree(c)
		e.brought = e.brought || !gitReads(c.Words)
	case name == "stow":
		e.stows(c)
	case settles[name]:
	case copiedFiles(name, c.Words) != nil:
		for _, word := range copiedFiles(name, c.Words) {
			for _, parts := range e.readings(word, c.Dirs) {
				e.laid = append(e.laid, strings.ToLower("/"+strings.Join(parts, "/")))
			}
		}
	case !lookers[name] && !printers[name]:
		e.others = true
	}
	for _, word := range filled(name, c.Words) {
		for _, parts := range e.readings(word, c.Dirs) {
			e.filled(parts)
		}
		if !e.placed() && word != "." {
			e.filled(split(clean(word))) // relative, to a folder that is not known
		}
	}
}

// settles are programs that put nothing into folders but what they name, or what was there.
var settles = words("mkdir touch rm rmdir chmod set shopt for if")

// copiedFiles are the files that a copy makes, where it copies files by plain names and no folders.
func copiedFiles(name string, words []string) []string {
	if name != "mv" && name != "cp" && name != "ln" && name != "install" || slices.ContainsFunc(words, func(w string) bool {
		return strings.ContainsAny(w, "*?[{$`") || strings.HasPrefix(w, "--recursive") || strings.HasPrefix(w, "--archive") || name == "cp" && isShortOption(w) && strings.ContainsAny(w, "rRa") || name == "ln" && !strings.HasPrefix(w, "-") && !strings.Contains(path.Base(clean(w)), ".")
	}) {
		return nil
	}
	return copied(name, words, values(words, "-t"))
}

// sources are what is copied, with what patterns stand for on the disk.
func (e *examination) sources(from, dirs []string) (list []string) {
	for _, f := range from {
		if !isPattern(f) {
			list = append(list, f)
			continue
		}
		for _, parts := range e.readings(f, dirs) {
			list = append(list, e.matched(parts)...)
		}
	}
	return list
}

// maxLaid is how many words of a copy are looked at for what they are called where it puts them:
// settings are not copied with hundreds of other files.
const maxLaid = 256

// textOf is a change of a file into the text of another, as that is on the disk before the act;
// not known if it is not there, or is written by the act.
func (e *examination) textOf(name string, dirs []string) func([]byte) ([]byte, bool) {
	return func([]byte) ([]byte, bool) {
		for _, parts := range e.readings(name, dirs) {
			file := "/" + strings.Join(parts, "/")
			if slices.Contains(e.written, strings.ToLower(file)) {
				return nil, false
			}
			if text, err := regular.Read(filepath.FromSlash(file), maxSetting); err == nil {
				return text, true
			}
		}
		return nil, false
	}
}

// fillsTree looks at a command of git that may change any file of a folder which is not
// that of its repository: what the repository holds goes there.
func (e *examination) fillsTree(c *hazard.Command) {
	trees := slices.Concat(e.trees, values(c.Words, "--work-tree"), configured(c.Words, "core.worktree"))
	_, elsewhere := flag(c.Words, "--git-dir")
	if i := slices.IndexFunc(c.Words, func(w string) bool { return gitLooks[w] || w == "clean" }); i >= 0 && gitReads(c.Words) {
		return
	} else if len(trees) == 0 && (elsewhere || e.otherRepository || i >= 0 && c.Words[i] == "clean") {
		trees = orHere(c.Dirs) // which is then the present folder
	}
	for _, tree := range trees {
		if tree == "" {
			tree = "."
		}
		for _, at := range below(tree, onlyNamed(c.Words)) {
			for _, parts := range e.readings(at, c.Dirs) {
				e.filled(parts)
			}
		}
	}
}

// below are the places in a folder that are named; the folder itself where none is.
func below(dir string, names []string) []string {
	if len(names) == 0 {
		return []string{dir}
	}
	var list []string
	for _, name := range names {
		list = append(list, dir+"/"+name, name) // counted from the folder's root, or from where git is run
	}
	return list
}

// onlyNamed are the files to which a command of git keeps: it names each plainly, behind --.
func onlyNamed(words []string) []string {
	i := slices.Index(words, "--")
	if i < 0 || !slices.ContainsFunc(words[:i], func(w string) bool { return w == "checkout" || w == "restore" }) ||
		slices.ContainsFunc(words[:i], func(w string) bool { return strings.HasPrefix(w, "--pathspec") || strings.HasPrefix(w, "--recurse") }) {
		return nil
	}
	for _, w := range words[i+1:] {
		if w == "" || w[0] == ':' || strings.ContainsAny(w, "*?[$`{\\") {
			return nil
		}
	}
	return words[i+1:]
}

// stows looks at a command that puts links into a folder for what lies in packages: they are
// named as the files there are.
func (e *examination) stows(c *hazard.Command) {
	from, into := ".", ".."
	var packages []string
	if slices.ContainsFunc(c.Words, func(w string) bool { return stowTells[w] }) {
		return // whatever else it is given
	}
	for i := 0; i < len(c.Words); i++ {
		option, v, said := strings.Cut(c.Words[i], "=")
		switch {
		case option == "-d" || option == "--dir" || option == "-t" || option == "--target":
			if !said && i+1 < len(c.Words) {
				i++
				v = c.Words[i]
			}
			if option == "-d" || option == "--dir" {
				from = v
			} else {
				into = v
			}
		case strings.HasPrefix(option, "-") && !stowOptions[option]: // -t glued to what it means, perhaps
			e.unstowed("~", c)
			return
		case !strings.HasPrefix(option, "-"):
			packages = append(packages, c.Words[i])
		}
	}
	if into == ".." {
		into = from + "/.."
	}
	left := maxStowed
	for _, pkg := range packages {
		there := false
		roots := e.readings(from+"/"+pkg, c.Dirs)
		for _, root := range roots[:len(roots):len(roots)] { // a pattern, or a variable, is any of those that are there
			if slices.ContainsFunc(root, isPattern) {
				for _, one := range e.matched(root) {
					roots = append(roots, split(one))
				}
			}
		}
		for _, root := range roots {
			for _, laid := range slices.Concat(e.laid, e.written) { // into the package, by this act
				if rel, ok := strings.CutPrefix(laid, strings.ToLower("/"+strings.Join(root, "/"))+"/"); ok {
					e.fillsIn(into+"/"+rel, laid, c)
				}
			}
			dir := filepath.FromSlash("/" + strings.Join(root, "/"))
			if _, err := os.Stat(dir); err != nil {
				continue // of the folders that it may be in, another one
			}
			there = true
			if e.others {
				e.unstowed(into, c)
				return
			}
			err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
				if left--; err != nil || left < 0 {
					return fs.ErrInvalid
				}
				rel, err := filepath.Rel(dir, name)
				if err != nil || rel == "." || d.IsDir() {
					return err
				}
				rel = filepath.ToSlash(rel)
				for _, one := range []string{rel, strings.ReplaceAll("/"+rel, "/dot-", "/.")[1:]} {
					if dotted, ok := strings.CutPrefix(one, "dot-"); ok {
						one = "." + dotted
					}
					e.fillsIn(into+"/"+one, name, c)
				}
				return nil
			})
			if err != nil {
				e.unstowed(into, c)
				return
			}
		}
		if !there && e.mayBe(roots) {
			e.unstowed(into, c)
		}
	}
}

// fillsIn looks at a path at which a command puts a file, or a link to it.
func (e *examination) fillsIn(at, file string, c *hazard.Command) {
	for _, parts := range e.readings(at, c.Dirs) {
		e.filled(parts)
		e.setting(parts, e.textOf(file, nil))
	}
}

// mayBe reports whether a package that is not on the disk may be there when links are made for it:
// the act brings it, or nobody knows where it would lie. Of one that is nowhere nothing is linked.
func (e *examination) mayBe(roots [][]string) bool {
	return len(roots) == 0 || e.brought || e.others
}

// stowTells are options with which stow says what it is, and does nothing.
var stowTells = words("--version -V --help -h")

var stowOptions = words("-n --no --simulate -v --verbose -S --stow -R --restow -D --delete --dotfiles --no-folding -p --compat")

// maxStowed is how many files of packages are looked at.
const maxStowed = 4096

// unstowed looks at a folder into which links are put that are not known.
func (e *examination) unstowed(into string, c *hazard.Command) {
	for _, parts := range e.readings(into, c.Dirs) {
		e.filled(parts)
	}
}

// configured are the values that git's -c gives a setting.
func configured(words []string, setting string) (list []string) {
	for _, v := range values(words, "-c") {
		if name, value, _ := strings.Cut(v, "="); strings.EqualFold(name, setting) {
			list = append(list, value)
		}
	}
	return list
}

// isOpen reports whether a folder is the one that the agent works in, or the one that all throw things into:
// they are filled by honest work all day, even where somebody tries reeve out in them.
func (e *examination) isOpen(parts []string) bool {
	return strings.EqualFold("/"+strings.Join(parts, "/"), e.cwd()) || len(parts) == 1 && parts[0] == "tmp"
}

// filled looks at a path below which anything may be after a command.
func (e *examination) filled(parts []string) {
	if e.far {
		return
	}
	const apart = "put files that are not known into a folder in which "
	open := e.isOpen(parts)
	for _, p := range e.g.places {
		rel := compare(parts, p.parts)
		if rel == above && (open || p.kind == setting && !e.armed(p) || p.kind == program && len(p.parts) > len(parts)+1) {
			continue // an archive for /usr/local is no reach for one program in it
		}
		switch {
		case rel == above:
			e.tampersBut(apart+p.kind.String()+p.kind.lies(), "Put them into a folder of their own, such as one below ~/opt or the project, and move what is needed from there.")
			return // once is enough
		case rel == within && p.kind != setting:
			e.tampers("change " + p.kind.String())
		case rel == within && e.armed(p):
			e.tampers("change " + p.kind.String())
		}
	}
	for i := range hook.Settings { // those of a repository, wherever it lies
		dir := split(path.Dir(hook.Settings[i].Path))
		if n := len(parts) - len(dir); len(dir) > 0 && n >= 0 && compare(parts[n:], dir) == within {
			e.tampersBut(apart+setting.String()+" may lie", "Name the files.")
		}
	}
}

// filled are the paths that a command may put anything below or, where it tells the
// name, the file that it would write.
func filled(name string, words []string) []string {
	value := func(names ...string) []string {
		var list []string
		for i, w := range words {
			for _, n := range names {
				v, glued := strings.CutPrefix(w, n)
				switch {
				case w == n && i+1 < len(words):
					list = append(list, words[i+1])
				case glued && strings.HasPrefix(n, "--") && strings.HasPrefix(v, "="):
					list = append(list, v[1:])
				case glued && v != "" && !strings.HasPrefix(n, "--"):
					list = append(list, v)
				}
			}
		}
		return list
	}
	into := func(list []string) []string {
		if len(list) == 0 {
			return []string{"."}
		}
		return list
	}
	has := func(short string, long ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool {
			return slices.ContainsFunc(long, func(l string) bool { return strings.HasPrefix(w, l) }) ||
				short != "" && len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.ContainsAny(w, short)
		})
	}
	switch name {
	case "tar", "bsdtar", "gtar", "jar":
		if has("x", "--extract", "--get") || len(words) > 0 && !strings.HasPrefix(words[0], "-") && strings.Contains(words[0], "x") {
			return into(value("-C", "--directory", "--cd"))
		}
	case "unzip":
		if !has("lptvzZ") {
			return into(value("-d"))
		}
	case "7z", "7za", "7zr", "unrar", "unar":
		if len(words) > 0 && (words[0] == "x" || words[0] == "e") || name == "unar" {
			return into(value("-o", "--output-directory"))
		}
	case "cpio", "pax":
		if has("ir", "--extract") {
			return into(value("-D", "--directory"))
		}
	case "ditto":
		if len(words) > 1 {
			return words[len(words)-1:]
		}
	case "wget", "aria2c":
		return value("-P", "--directory-prefix", "-d", "--dir")
	case "curl":
		return value("--output-dir")
	case "patch":
		return value("-d", "--directory")
	case "git":
		if slices.Contains(words, "apply") || slices.Contains(words, "am") {
			return value("--directory")
		}
	case "python", "python3":
		if i := slices.Index(words, "-m"); i >= 0 && i+2 < len(words) && (words[i+1] == "tarfile" || words[i+1] == "zipfile") && has("e", "--extract") {
			return words[len(words)-1:]
		}
	case "cp", "mv", "ln", "install", "rsync", "scp", "rclone", "copy", "xcopy", "robocopy", "copy-item", "move-item":
		return copied(name, words, value("-t", "--target-directory"))
	}
	if slices.Contains(words, "install") { // a package manager's
		return value("--target", "--prefix", "--root", "--install-dir")
	}
	return nil
}

// copied are the paths below which a copy may put something.
func copied(name string, words, into []string) []string {
	if name != "cp" && name != "mv" && name != "ln" && name != "install" {
		into = nil // -t is another thing to them
	}
	from := slices.DeleteFunc(slices.Clone(words), func(w string) bool {
		return strings.HasPrefix(w, "-") || slices.Contains(into, w)
	})
	if len(into) == 0 && len(from) > 1 {
		into, from = from[len(from)-1:], from[:len(from)-1]
	}
	instead := takesPlace(name, words)
	var list []string
	for _, dir := range into {
		for _, f := range from {
			switch {
			case instead:
				list = append(list, dir)
			case strings.HasSuffix(f, "/.") || f == "." || f == ".." || strings.HasSuffix(f, "/") && name == "rsync" || name == "rclone" || name == "robocopy" || name == "xcopy":
				list = append(list, dir) // what is in it, not itself
			default:
				list = append(list, dir+"/"+path.Base(clean(f)))
			}
		}
	}
	return list
}

// takesPlace reports whether what is copied takes the place of the last word itself, and does not go into it.
func takesPlace(name string, words []string) bool {
	return (name == "cp" || name == "mv" || name == "ln" || name == "install") && slices.ContainsFunc(words, func(w string) bool {
		return w == "--no-target-directory" || w == "--no-dereference" && name == "ln" || w == "--exchange" || isShortOption(w) && (strings.Contains(w, "T") || name == "ln" && strings.ContainsAny(w, "nh") || name == "mv" && strings.Contains(w, "h"))
	})
}

// gathers looks at a command that reads all that is below a folder.
func (e *examination) gathers(c *hazard.Command, name string) {
	var from []string
	hidden := true // files whose names begin with a dot are read, too
	words := c.Words
	has := func(short string, long ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool {
			return slices.Contains(long, w) || len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.ContainsAny(w, short)
		})
	}
	switch name {
	case "grep", "egrep", "fgrep", "zgrep", "ggrep":
		if !has("rR", "--recursive", "--dereference-recursive", "--directories=recurse") {
			return
		}
		from = searched(words)
	case "rgrep", "ack", "ugrep", "ug":
		from = searched(words)
	case "rg", "ag":
		if slices.Contains(words, "--files") && name == "rg" {
			return
		}
		hidden = has("u.", "--hidden", "--unrestricted", "--no-ignore")
		from = searched(words)
	case "diff":
		if has("r", "--recursive") {
			from = words
		}
	case "git":
		at := slices.IndexFunc(words, func(w string) bool { return w == "init" || w == "add" || w == "stash" || w == "--no-index" })
		if at < 0 {
			return
		}
		if words[at] == "--no-index" {
			from = words[at+1:]
			break
		}
		if words[at] == "add" && !has("A", "--all") && !slices.Contains(words, ".") && !slices.Contains(words, "*") {
			return
		}
		from = []string{"."}
		if v, said := flag(words, "--work-tree"); said {
			from = []string{v}
		}
	default:
		if from = served(name, words); from != nil {
			break
		}
		if lookers[name] && !printers[name] && name != "ls" && name != "tree" && name != "du" && name != "stat" && name != "cd" {
			from = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !strings.Contains(w, "**") })
		}
	}
	for _, word := range from {
		for _, parts := range e.readings(word, c.Dirs) {
			for _, p := range e.g.places {
				if e.far || p.kind != secret || compare(parts, p.parts) != above {
					continue
				}
				if name == "git" && strings.EqualFold("/"+strings.Join(parts, "/"), e.cwd()) {
					continue // the agent's own project
				}
				if !hidden && slices.ContainsFunc(p.parts[len(parts):], func(s string) bool { return strings.HasPrefix(s, ".") }) {
					continue
				}
				e.tampersBut("read all of a folder in which "+p.kind.String()+" lies", "Name the folders that are meant.")
			}
		}
	}
}

// served are the folders that an interpreter's own server gives to whoever asks: one that is named, or the
// present one. Servers that are programs of their own are looked at as all that is not known.
func served(name string, words []string) (dirs []string) {
	switch {
	case interpreter.MatchString(name) && pythonServes.MatchString(strings.Join(words, " ")):
		dirs = slices.Concat(values(words, "-d"), values(words, "--directory"))
	case name == "php" && slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "-S") }):
		dirs = slices.Concat(values(words, "-t"), values(words, "--docroot"))
	case name == "ruby" && slices.Contains(words, "-run") && slices.Contains(words, "httpd"):
		dirs = slices.DeleteFunc(slices.Clone(words[slices.Index(words, "httpd")+1:]), func(w string) bool { return strings.HasPrefix(w, "-") })
	default:
		return nil
	}
	if len(dirs) == 0 {
		return []string{"."}
	}
	return dirs
}

// pythonServes are words by which Python serves a folder.
var pythonServes = lazyregexp.New(`(?:^|\s)-m\s*(?:http\.server|SimpleHTTPServer|pyftpdlib)(?:\s|$)`)

// searched are the folders in which a search looks; none if what it looks for cannot
// stand in any file but a text of people.
func searched(words []string) []string {
	var patterns, from []string
	given := slices.ContainsFunc(words, func(w string) bool {
		return strings.HasPrefix(w, "-e") || strings.HasPrefix(w, "--regexp") || w == "-f" || strings.HasPrefix(w, "--file")
	})
	wide := false
	for i := 0; i < len(words); i++ {
		w := words[i]
		next := func() string {
			if i++; i < len(words) {
				return words[i]
			}
			return ""
		}
		switch {
		case w == "-e" || w == "--regexp":
			patterns = append(patterns, next())
		case strings.HasPrefix(w, "--regexp="):
			patterns = append(patterns, w[len("--regexp="):])
		case w == "--include" || w == "-g" || w == "--glob" || w == "-t" || w == "--type":
			if plainKind.MatchString(next()) {
				return nil
			}
		case strings.HasPrefix(w, "--include=") || strings.HasPrefix(w, "--glob=") || strings.HasPrefix(w, "--type="):
			if _, v, _ := strings.Cut(w, "="); plainKind.MatchString(v) {
				return nil
			}
		case w == "-A" || w == "-B" || w == "-C" || w == "-m" || w == "--exclude" || w == "--exclude-dir" || w == "-T":
			next()
		case w == "-f" || strings.HasPrefix(w, "--file") || w == "--invert-match" || w == "--passthru" || w == "--files-without-match":
			wide = true
		case strings.HasPrefix(w, "-") && w != "-":
			wide = wide || w[1:2] != "-" && strings.ContainsAny(w, "vfe")
		case !given && len(patterns) == 0:
			patterns = append(patterns, w)
		default:
			from = append(from, w)
		}
	}
	if len(from) == 0 {
		from = []string{"."}
	}
	if !wide && len(patterns) > 0 && !slices.ContainsFunc(patterns, func(p string) bool { return !narrow(p) }) {
		return nil
	}
	return from
}

var (
	// plainKind is a kind of files of which the guardian's data has none.
	plainKind = lazyregexp.New(`^(?:\*?\.)?(?:go|md|txt|js|jsx|ts|tsx|py|rs|c|h|cc|cpp|hpp|java|kt|rb|php|css|html|sh|toml|json|ya?ml|xml|sql|swift|cs|vue|svelte|proto|mod)$`)
	brackets  = lazyregexp.New(`\[\^?\]?[^\]]*\]|\\[a-zA-Z.()/"'-]|\.\*`)
	word      = lazyregexp.New(`[A-Za-z_]{4,}`)
	keyWords  = lazyregexp.New(`(?i)key|private|begin|seed`)
)

// narrow reports whether each line that a pattern finds has a word of the pattern in
// it, which no key has but by its own words.
func narrow(pattern string) bool {
	for part := range strings.SplitSeq(strings.ReplaceAll(pattern, `\|`, "|"), "|") {
		part = brackets.ReplaceAllString(part, " ")
		if strings.ContainsAny(part, `?*{}$\`+"`\n") || !word.MatchString(part) || keyWords.MatchString(part) {
			return false
		}
	}
	return true
}

// pidFile notes that a file named in the act holds the number of the guardian's
// process: what is killed by a number from somewhere is then it.
func (e *examination) pidFile(word string, dirs []string) {
	if e.g.pid == "" || e.sought || e.files <= 0 {
		return
	}
	for _, parts := range e.readings(word, dirs) {
		if e.files--; e.files < 0 {
			return
		}
		name := filepath.FromSlash("/" + strings.Join(parts, "/"))
		text, err := regular.Read(name, 4096)
		e.sought = e.sought || err == nil && number(string(text), e.g.pid)
	}
}

// kills reports whether the act ends some process.
func (e *examination) kills() bool {
	if e.killing == 0 {
		e.killing = -1
		if slices.ContainsFunc(e.a.Content, func(l act.Leaf) bool { return strings.Contains(strings.ToLower(l.Text), "kill") }) {
			e.killing = 1
		}
	}
	return e.killing > 0
}

// pidFiles looks at the files that a command names for the guardian's number.
func (e *examination) pidFiles(c *hazard.Command) {
	if !e.kills() {
		return
	}
	for _, w := range c.Words {
		for _, one := range strings.FieldsFunc(w, func(r rune) bool { return strings.ContainsRune(" \t()<>`$\"'=", r) }) {
			e.pidFile(one, c.Dirs)
		}
	}
}
