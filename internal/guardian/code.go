package guardian

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"reeve.example/reeve/internal/hook"
	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/risk/hazard"
)

// goes looks at the paths that a program puts together by going to folders: whatever it
// calls for that, each text in it may be a folder for those behind it.
func (e *examination) goes(text string, changes bool) {
	dirs := e.lastDirs()
	low := strings.ToLower(text)
	ofHome := strings.Contains(low, "home") || strings.Contains(low, "profile")
	var words []string
	seen := map[string]bool{}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n\"'`,;()[]{}|&<>=+", r) }) {
		if len(word) > 4096 || seen[word] {
			continue
		}
		if seen[word] = true; len(words) > maxNames {
			e.tooMuch = true
			break
		}
		words = append(words, word)
		switch { // behind a variable that holds the home folder, or joined to it
		case ofHome && word[0] == '/':
			words = append(words, "~"+word)
		case ofHome && word[0] == '.' && strings.Contains(word, "/"):
			words = append(words, "~/"+word)
		}
	}
	for _, word := range words {
		if e.leadsTo(word, dirs) {
			for _, parts := range e.readings(word, dirs) {
				if e.tooMuch = e.tooMuch || len(dirs) > 2*maxFolders; e.tooMuch {
					break
				}
				if dir := strings.ToLower("/" + strings.Join(parts, "/")); !slices.Contains(dirs, dir) {
					dirs = append(dirs, dir)
				}
			}
		}
	}
	if printing.MatchString(low) {
		e.listsIn(words, dirs)
	}
	removes := removing.MatchString(low)
	for _, word := range words { // the folder may be named behind what lies in it
		for _, parts := range e.readings(word, dirs) {
			if removes && takesWhole(low, word, removing) && e.armedBelow(parts) {
				e.tampers("take away or close a folder in which " + setting.String() + setting.lies())
			}
			for _, p := range e.g.places {
				if !slices.ContainsFunc(parts[:min(len(parts), len(p.parts))], func(part string) bool { return part != "*" }) {
					continue // a folder of which nothing is known
				}
				switch rel := compare(parts, p.parts); {
				case rel == above && removes && p.kind != program && p.kind != setting && e.belongs(parts) && (len(parts) == len(p.parts)-1 || takesWhole(low, word, removing)):
					e.tampers("take away or close a folder in which " + p.kind.String() + p.kind.lies())
				case rel == above && p.kind == secret && e.belongs(parts) && takesWhole(low, word, copiesTree):
					e.tampers("copy " + p.kind.String() + ", which lies in that folder")
				case rel == above && p.kind == secret && e.finds(parts, &p):
					e.tampers("reach for " + p.kind.String())
				case rel != within:
				case p.kind == secret:
					e.tampers("reach for " + p.kind.String())
				case changes && (p.kind != setting || e.armed(p)):
					e.tampers("change " + p.kind.String())
				}
			}
		}
	}
}

// takesWhole reports whether a line of a program does to a folder what a pattern finds, of which a text of it
// ends with the path: behind the home folder, or as the first that a call is given.
func takesWhole(low, word string, does *lazyregexp.Regexp) bool {
	word = strings.ToLower(word)
	behindHome := strings.HasPrefix(word, "~/")
	for line := range strings.FieldsFuncSeq(low, func(r rune) bool { return r == '\n' || r == ';' }) {
		before, behind, found := strings.Cut(line, strings.TrimPrefix(word, "~"))
		if !behindHome {
			before = before[strings.LastIndexByte(before, ',')+1:]
		}
		if found && does.MatchString(before) && wholeText.MatchString(behind) {
			return true
		}
	}
	return false
}

// finds reports whether a program's pattern through all folders, such as ~/**/seed, names something that
// lies in a place.
func (e *examination) finds(parts []string, p *place) (found bool) {
	last := parts[max(len(parts)-1, 0):]
	if !slices.Contains(parts, "**") || !strings.ContainsFunc(last[0], unicode.IsLetter) {
		return false
	}
	e.below(p, func(name string) { found = found || same(last[0], strings.ToLower(path.Base(name))) })
	return found
}

// wholeText is what stands behind a text that is no part of a longer path.
var wholeText = lazyregexp.New("^/?[\"'`]\\s*(?:[,)}]|=>|$)")

// code looks at a program that an interpreter is given: what it names is found
// whatever the pieces are put together with.
func (e *examination) code(text string) {
	e.url(text)
	if e.port(text) && decidingText.MatchString(unescaped(text)) {
		e.tampers("answer for people at the guardian's own address")
	}
	e.takenOver = e.takenOver || hook.GivesOver(text) != "" // of an agent that the code starts
	e.text(text)
	low := strings.ToLower(text)
	plain := gist(low)
	changes := changing.MatchString(low) || !onlyReads(low)
	for _, p := range e.g.places {
		named := strings.Contains(plain, strings.Join(p.parts, ""))
		for _, from := range append([]string{e.g.home}, e.folders...) {
			from = clean(e.homed(from))
			below, ok := strings.CutPrefix("/"+strings.Join(p.parts, "/"), strings.ToLower(from)+"/")
			below = strings.ReplaceAll(below, "/", "")
			named = named || ok && from != "" && len(below) >= 8 && strings.Contains(plain, below)
		}
		if !named {
			continue
		}
		switch {
		case p.kind == secret:
			e.tampers("reach for " + p.kind.String())
		case changes:
			e.tampers("change " + p.kind.String())
		}
	}
	e.goes(text, changes)
	e.linksIn(text, changes)
	if removing.MatchString(low) {
		for _, p := range e.g.places { // the folder in which it lies
			above := p.parts[:len(p.parts)-1]
			below, ok := strings.CutPrefix("/"+strings.Join(above, "/"), strings.ToLower(e.g.home)+"/")
			if below = strings.ReplaceAll(below, "/", ""); ok && len(below) >= 8 && strings.Contains(plain, below) && (p.kind != setting || e.armed(p)) {
				e.tampers("take away or close a folder in which " + p.kind.String() + p.kind.lies())
			}
		}
	}
	if ending.MatchString(low) && (e.sought || number(low, e.g.pid) || finding.MatchString(low)) {
		e.tampers("end the guardian")
	}
	e.becomesIn(text, low)
	if changes {
		for _, m := range settingNames.FindAllString(low, -1) {
			e.relativeSetting("code", m)
		}
	}
}

var (
	settingNames = lazyregexp.New(`[\w./~-]*\.(claude|codex|gemini|cursor|copilot|github/hooks|opencode|amazonq)/[\w./-]+`)
	// changing is what programs that change files have in them.
	changing = lazyregexp.New(`["'][rwab+]*[wa+][rwab+]*["']|write|dump|unlink|remove|rename|replace|rmtree|chmod|truncate|symlink|copy|move|system|exec|spawn|subprocess|popen|append|>|delete|rm\b`)
	// removing takes whole folders away.
	removing = lazyregexp.New(`rmtree|remove_dir_all|remove_all|deleterecursively|deletedirectory|directory\.delete|remove-item|move-item|rename-item|removeall|remove_entry|rm_rf|rm_r\b|rmsync|rmdirsync|renamesync|recursive|\.rename|\.move|os\.rename|\bchmod|\b(?:rename|move)\s*(?:\(|["'` + "`" + `$])|renameto|moveitem|removeitem|fileutils\.m|\bmovedir|renamedir|renamepath|deletetree|\bremovedir|deletedir|::(?:move|delete)\b|["'` + "`" + `]\s*(?:sudo\s+)?(?:mv|rm|rmdir|rsync|shred|chmod)\b`)
	// copiesTree copies them.
	copiesTree = lazyregexp.New(`copytree|cp_r\b|copy_entry|dircopy|copy_recursive|copydir|\bfs\.cp|cpsync|copyfs|copy_tree|make_archive|adddirectory|addlocalfolder`)
	ending     = lazyregexp.New(`\bkill\w*\b|sigkill|sigterm|sigstop|terminate|ptrace|process_vm_|pidfd|\battach|prlimit|setpriority|sched_set|/mem\b|send_signal|\.suspend\b`)
	printing   = lazyregexp.New(`print|echo|puts|console\.|say\b|stdout|write`)
	finding    = lazyregexp.New(`(?:pidof|pgrep|cmdline|process_iter)[\s\S]*\breeve\b|\breeve\b[\s\S]*(?:pidof|pgrep|cmdline|process_iter)`)
)

// onlyReads reports whether a program, in lower case, calls nothing but what reads and shows:
// what a call of another name does to a file that the program names is not known.
func onlyReads(low string) bool {
	for _, m := range called.FindAllStringSubmatch(low, -1) {
		if !readingCalls[m[1]] {
			return false
		}
	}
	return true
}

var (
	called       = lazyregexp.New(`([a-z_]\w*)\s*\(`)
	readingCalls = words(`open fopen file_get_contents read readline readlines readfile readfilesync read_text read_bytes gets fgets load safe_load loads parse json yaml_parse_file
		json_decode print printf println puts p say echo log len str repr int list dict set sorted enumerate range join split splitlines strip rstrip trim lines
		getenv get items keys values path home dir homedir expanduser expandvars abspath dirname basename exists isfile isdir is_file is_dir file_exists stat getsize tostring
		require import if for while with in and or not function def lambda filter map any all sum min max format foreach count strlen var_dump print_r pprint startswith endswith hexdigest sha256 md5 getuser cwd getcwd`)
)

// linksIn looks at a program that makes a link, or mounts: what it names after that may lie
// below another folder than the one that is written.
func (e *examination) linksIn(text string, changes bool) {
	low := strings.ToLower(text)
	if !strings.Contains(low, "link") && !strings.Contains(low, "mount") {
		return
	}
	tokens := e.pathsIn(text)
	for _, dir := range tokens {
		if !e.leadsTo(dir, e.lastDirs()) {
			continue
		}
		for _, other := range tokens {
			parts := split(clean(other))
			for parts = parts[max(0, len(parts)-maxBelow):]; len(parts) > 0; parts = parts[1:] {
				for _, at := range e.readings(dir+"/"+strings.Join(parts, "/"), e.lastDirs()) {
					for _, p := range e.g.places {
						if compare(at, p.parts) == within && (p.kind == secret || changes && p.kind != setting) {
							e.tampers("reach for " + p.kind.String() + " by a link")
						}
					}
				}
			}
		}
	}
}

// maxBelow is more than how deep anything guarded lies below a folder.
const maxBelow = 32

// gist is the names in a text, without what stands between them.
func gist(low string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '~' || r == '-' {
			return r
		}
		return -1
	}, low)
}

// text looks for a deciding command in a text that may be run: as words, whatever
// quotes and commas they stand in.
func (e *examination) text(text string) {
	long := len(text) > maxScript // then a program is known by its name only, and not looked up
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n\"'`,;()[]{}|&<>", r) })
	words = slices.DeleteFunc(words, func(w string) bool { return w == ".arg" || w == ".args" }) // of a command that is put together by calls
	for i, w := range words {
		if long && !slices.Contains(e.g.programs, base(w)) || !long && !e.isReeve(w, nil) {
			continue
		}
		rest := words[i+1 : min(len(words), i+maxBehind)]
		if which := deciding(rest, true); which != "" && e.addresses(which, rest, &hazard.Command{Dirs: []string{""}}) {
			e.tampers("answer for people, or change what decides (" + which + ")")
		}
	}
}
