package guardian

import (
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/hook"
	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/risk/hazard"
)

// tools looks at the arguments of tools that work on files, whatever they are called.
func (e *examination) tools(leaves []act.Leaf) {
	e.programs(leaves)
	e.requests(leaves)
	e.stops(leaves)
	e.queries(leaves)
	e.ownSettings(leaves)
	if e.isShell() && e.named(runners) {
		return
	}
	e.asksByTool(leaves)
	reads := e.named(readers) && !e.named(writers)
	paths := slices.ContainsFunc(leaves, isPath)
	edit := e.edit(leaves)
	var named []string
	for _, l := range leaves {
		text := strings.Trim(l.Text, " \t\r\n\"'`")
		if l.Fixed || text == "" || len(text) > 64<<10 || strings.ContainsAny(text, "\n\r") || isProse(l) && text[0] != '/' && text[0] != '~' {
			continue
		}
		if is := role(l); paths && (is == "content" || is == "old" || is == "new") {
			continue // else whatever it is called may be a path
		}
		if slices.ContainsFunc(edit.sections, func(s section) bool { return strings.TrimRight(s.name, "\r ") == text }) {
			continue // what the patch does to it is looked at below
		}
		named = append(named, text)
		if !reads && !workingFolder[argument(l)] && (!e.named(settling) || e.named(binding)) {
			e.anything(text)
		}
	}
	for _, text := range e.joined(named) {
		e.onFile(text, &edit, reads)
	}
	for i := range edit.sections {
		e.section(&edit.sections[i], []string{""})
	}
}

// onFile looks at what a tool does to a file that an argument may name.
func (e *examination) onFile(text string, edit *edit, reads bool) {
	for _, parts := range e.readings(text, nil) {
		for _, p := range e.g.places {
			rel := compare(parts, p.parts)
			switch {
			case rel == within && p.kind == secret:
				e.tampers("reach for " + p.kind.String())
			case rel == within && p.kind != setting && !reads:
				e.tampers("change " + p.kind.String())
			case rel == above && p.kind == secret && e.named(gatherers) && !strings.EqualFold("/"+strings.Join(parts, "/"), e.cwd()):
				e.tampersBut("take along a folder in which "+p.kind.String()+" lies", "Name the folders that are meant.")
			case rel == above && !reads && (edit.deletes || e.named(movers)):
				if p.kind != setting || e.armed(p) {
					e.tampers("take away a folder in which " + p.kind.String() + p.kind.lies())
				}
			}
		}
		if !reads && (edit.deletes || e.named(movers)) && e.armedBelow(parts) {
			e.tampers("take away a folder in which " + setting.String() + setting.lies())
		}
		if !reads {
			e.setting(parts, edit.after)
		}
	}
	if !reads && !e.placed() && text[0] != '/' && text[0] != '~' {
		if parts := split(clean(text)); hook.SettingAt("/"+strings.Join(parts, "/"), e.g.home) != nil {
			e.setting(parts, edit.after)
		}
	}
}

// section looks at what a patch does to one of the files that it names.
// It is seen from the folders that are given.
func (e *examination) section(s *section, dirs []string) {
	name := strings.TrimRight(s.name, "\r ")
	all := e.readings(name, dirs)
	for _, parts := range all {
		for _, p := range e.g.places {
			if p.kind != setting && compare(parts, p.parts) == within {
				e.tampers("change " + p.kind.String())
			}
		}
		e.setting(parts, s.after)
	}
	if len(all) == 0 { // relative, to a folder that is not known
		e.setting(split(clean(name)), s.after)
	}
}

// edit is what a tool does to the files that its arguments name beside it.
type edit struct {
	deletes, partly  bool // partly says that the text that is given need not be the whole file
	contents         []string
	replaced, placed []string // texts, and what comes in the place of each
	patch            string
	sections         []section // of the patch
}

// edit reads what the arguments say of it.
func (e *examination) edit(leaves []act.Leaf) (d edit) {
	d.deletes, d.partly = e.named(deleters), e.named(editors)
	for _, l := range leaves {
		switch role(l) {
		case "content":
			d.contents = append(d.contents, l.Text)
		case "old":
			d.replaced = append(d.replaced, l.Text)
		case "new":
			d.placed = append(d.placed, l.Text)
		case "patch":
			d.patch = l.Text
		}
	}
	d.sections = sections(d.patch)
	return d
}

// after is a file after the edit; ok says that it can be told.
func (d *edit) after(before []byte) (text []byte, ok bool) {
	switch {
	case d.deletes:
		return nil, true
	case d.patch != "":
		// A file that is named beside a patch that names others may be any of them.
		if len(d.sections) > 1 || len(d.sections) == 1 && (d.sections[0].deletes || d.sections[0].moves) {
			return nil, false
		}
		return patched(before, d.patch)
	case len(d.replaced) > 0 && len(d.replaced) == len(d.placed):
		text := string(before)
		for i, old := range d.replaced {
			if old == "" && text == "" {
				text = d.placed[i]
			} else if !strings.Contains(text, old) || old == "" {
				if hook.HasHooks(before) {
					return nil, false
				}
				return []byte(strings.Join(d.placed, "\n")), true // wherever it goes, only what it says can matter
			} else {
				text = strings.ReplaceAll(text, old, d.placed[i])
			}
		}
		return []byte(text), true
	case len(d.contents) == 1 && len(d.replaced) == 0 && !d.partly:
		return []byte(d.contents[0]), true
	}
	return nil, false
}

// joined are paths, and what two of them make together where the first is a folder in which
// something guarded lies, or begins its name: a folder and a file's name may be two arguments.
func (e *examination) joined(named []string) []string {
	list := named
	for _, dir := range named {
		if !strings.ContainsAny(dir, "/~") || !e.begins(dir) {
			continue
		}
		for _, name := range named {
			if name != dir && name[0] != '/' && name[0] != '~' && len(list) < maxNames {
				list = append(list[:len(list):len(list)], dir+"/"+name, dir+name)
			}
		}
	}
	e.tooMuch = e.tooMuch || len(list) >= maxNames
	return list
}

// begins reports whether the path of something guarded begins so.
func (e *examination) begins(text string) bool {
	for _, parts := range e.readings(text, nil) {
		whole := strings.ToLower("/" + strings.Join(parts, "/"))
		if slices.ContainsFunc(e.g.places, func(p place) bool { return strings.HasPrefix(strings.ToLower(p.file), whole) }) {
			return true
		}
	}
	return false
}

// anything looks at a folder of which a tool does something that is not known: one that is
// near to what is guarded there is not for that.
func (e *examination) anything(text string) {
	for _, parts := range e.readings(text, nil) {
		for _, p := range e.g.places {
			if (p.kind == secret || p.kind == law) && compare(parts, p.parts) == above && e.belongs(parts) {
				e.tampers("change a folder in which " + p.kind.String() + p.kind.lies() + ", in a way that is not known")
			}
		}
	}
}

var (
	// settling leave what lies in a folder as it is.
	settling = words("mkdir create make open cd chdir write edit append insert update set touch watch index scan analyze check build test count describe status log commit add branch blame working cwd workspace root roots project start resolve complete diagnostics symbols definition references hover format lint")
	// binding make something of a whole folder: a link to it, whose it is, what stands in its place.
	binding = words("link symlink symbolic mount bind permission permissions chmod chown owner ownership acl attributes mode replace")
	// workingFolder are arguments that say where something is done, and not to what.
	workingFolder = words("cwd workdir workingdir workingdirectory root projectroot projectpath repo repository repopath rootdir basedir")
)

// isPath reports whether an argument is a path by its name.
func isPath(l act.Leaf) bool {
	name := argument(l)
	return slices.ContainsFunc([]string{"path", "file", "uri", "url", "dir", "folder", "directory", "name", "source", "destination", "dest", "target", "src", "dst", "key", "document"}, func(end string) bool {
		return strings.HasSuffix(name, end) || strings.HasSuffix(name, end+"s")
	}) || l.Text != "" && patchNames.MatchString(l.Text)
}

// programs looks at a call that starts a program whose words are arguments of their own.
func (e *examination) programs(leaves []act.Leaf) {
	if e.named(readers) || e.named(writers) || e.named(tellers) {
		return
	}
	starts := false
	var all []string // a single one is a command
	for _, l := range leaves {
		text := strings.TrimSpace(l.Text)
		if l.Fixed || text == "" || len(text) > 4096 || isProse(l) || role(l) != "" {
			continue
		}
		first, _, _ := strings.Cut(text, " ")
		starts = starts || e.isReeve(first, nil) || wraps[base(first)]
		all = append(all, text)
	}
	if !starts || len(all) < 2 {
		return
	}
	words := strings.Fields(strings.Join(all, " "))
	for i, w := range words {
		if !e.isReeve(w, nil) {
			continue
		}
		rest := words[i+1 : min(len(words), i+maxBehind)]
		if which := deciding(rest, false); which != "" && e.addresses(which, rest, &hazard.Command{Dirs: []string{""}}) {
			e.tampers("answer for people, or change what decides (" + which + ")")
		}
	}
}

// tellers are tools that tell somebody something.
var tellers = words("send post comment reply message notify email mail issue note ticket say answer tweet publish chat")

// requests looks at a call that names the node's address and what it is asked for apart.
func (e *examination) requests(leaves []act.Leaf) {
	if e.named(writers) && !e.named(callers) || !slices.ContainsFunc(leaves, func(l act.Leaf) bool { return len(l.Text) < 4096 && e.port(l.Text) }) {
		return
	}
	if slices.ContainsFunc(leaves, func(l act.Leaf) bool { return len(l.Text) < 4096 && askedOf.MatchString(unescaped(l.Text)) }) {
		e.tampers("answer for people at the guardian's own address")
	}
}

var (
	callers = words("http https request fetch curl call api rpc web browser navigate url endpoint")
	// askedOf is a path at which the node is asked to decide.
	askedOf = lazyregexp.New(`(?i)^/*(?:\.{0,2}/+)*(?:(?:admin|console)(?:/|$)|approvals/+[^?#\s]|agents/+[^/\s]+/+)`)
)

// stops looks at a tool that ends or holds processes or services, and is given the guardian's.
func (e *examination) stops(leaves []act.Leaf) {
	if !e.named(stopping) {
		return
	}
	for _, l := range leaves {
		word := base(strings.TrimSpace(l.Text))
		word, _, _ = strings.Cut(word, "@")
		if !l.Fixed && (e.g.pid != "" && word == e.g.pid || slices.Contains(e.g.programs, strings.TrimSuffix(word, ".service"))) {
			e.tampers("end the guardian")
		}
		if strings.Contains(argument(l), "port") && e.port(word) {
			e.tampers("end the guardian")
		}
	}
	for _, a := range e.a.Arguments {
		if strings.Contains(strings.ToLower(a.Name), "port") && e.g.port != "" && strings.Trim(strings.TrimSpace(string(a.Value)), `"`) == e.g.port {
			e.tampers("end the guardian")
		}
	}
}

// ownSettings looks at a tool by which a coding agent changes its own settings, or gives itself the
// commands that people type: its hooks are switched off by their name.
func (e *examination) ownSettings(leaves []act.Leaf) {
	sets := e.named(words("config setting settings preference preferences option options")) && !e.named(readers)
	for _, l := range leaves {
		text := strings.TrimSpace(l.Text)
		if typed, ok := strings.CutPrefix(text, "/"); ok && e.named(words("slash slashcommand command prompt input")) && len(text) < 4096 && e.unhooks(strings.Fields(typed)) {
			e.tampers("leave the agent's acts unjudged: it switches hooks off")
		}
		if name := strings.ToLower(text + " " + argument(l)); sets && len(text) < 4096 && offHooks.MatchString(name) && e.switches(leaves) {
			e.tampers("leave the agent's acts unjudged: it switches hooks off")
		}
	}
}

// switches reports whether a call says something else than false beside the name of a setting.
func (e *examination) switches(leaves []act.Leaf) bool {
	if len(e.a.Arguments) == 0 {
		return len(leaves) > 1
	}
	return len(e.a.Arguments) > 1 && !slices.ContainsFunc(e.a.Arguments, func(a act.Argument) bool {
		return slices.Contains([]string{"false", `"false"`, "null", "0"}, strings.TrimSpace(string(a.Value)))
	})
}

// offHooks is a setting by which no hook runs any more.
var offHooks = lazyregexp.New(`disable[\W_]*(?:all[\W_]*)?hooks|allow[\W_]*managed[\W_]*hooks[\W_]*only|hooks[\W_]*(?:disabled|off)`)

var stopping = words("kill stop terminate restart signal pause suspend disable halt shutdown interrupt quit freeze attach debug inject")

// queries looks at the paths in an order to a database: it may open files.
func (e *examination) queries(leaves []act.Leaf) {
	for _, l := range leaves {
		if name := argument(l); len(l.Text) < maxScript && (strings.HasSuffix(name, "sql") || e.named(databases) && (name == "query" || name == "statement" || name == "command" || name == "script")) {
			for _, word := range e.pathsIn(l.Text) {
				for _, parts := range e.readings(word, nil) {
					e.reaches(parts)
				}
			}
		}
	}
}

var databases = words("sql sqlite duckdb postgres mysql db database query")

var patchNames = lazyregexp.New(`(?m)^\s*(?:\*\*\* (?:Add File|Update File|Delete File|Move to):|---|\+\+\+)\s+(?:[ab]/)?(\S[^\t\r\n]*)`)

// role is what an argument of a tool for files is, by its name.
func role(l act.Leaf) string {
	switch name := argument(l); name {
	case "content", "contents", "filetext", "text", "data", "body", "newsource":
		return "content"
	case "old", "oldstring", "oldstr", "oldtext", "search", "find":
		return "old"
	case "new", "newstring", "newstr", "newtext", "replacement", "replacewith", "replace":
		return "new"
	case "patch", "diff":
		return "patch"
	case "input", "command", "value":
		if strings.Contains(l.Text, "*** Begin Patch") {
			return "patch"
		}
	}
	if t := strings.TrimLeft(l.Text, " \t\r\n"); strings.HasPrefix(t, "*** Begin Patch") || (strings.HasPrefix(t, "--- ") || strings.HasPrefix(t, "diff --git ")) && strings.Contains(t, "\n+++ ") {
		return "patch" // whatever it is called
	}
	return ""
}

// argument is the name under which a text stands, in one spelling: the argument's
// own, or in a list of edits that of the member. AOS has an argument's value under
// "value", which is no name of it.
func argument(l act.Leaf) string {
	name := l.Arg
	if i := strings.LastIndexByte(l.Pointer, '/'); i >= 0 && strings.Trim(l.Pointer[i+1:], "0123456789") != "" &&
		!(l.Arg != "" && aosValue.MatchString(l.Pointer)) {
		name = l.Pointer[i+1:]
	}
	return unseparated.Replace(strings.ToLower(name))
}

var unseparated = strings.NewReplacer("_", "", "-", "")

var aosValue = lazyregexp.New(`/inputs/[0-9]+/value(/[0-9]+)*$`)

// isProse reports whether a text is a sentence for a model or a person, by the name
// of its argument: a path that it speaks of is not reached for.
func isProse(l act.Leaf) bool {
	switch argument(l) {
	case "prompt", "description", "query", "title", "message", "fact", "task", "instructions", "goal", "subject", "comment", "note":
		return strings.Contains(strings.TrimSpace(l.Text), " ")
	}
	return false
}

// A section is what a patch does to one file.
type section struct {
	name    string
	moves   bool // the file gets this name, or loses it
	deletes bool
	lines   []string
}

// sections takes a patch apart, by the files that it names, in the form of
// apply_patch or of diff.
func sections(patch string) []section {
	var list []section
	old := ""
	for line := range strings.SplitSeq(patch, "\n") {
		m := patchNames.FindStringSubmatch(line)
		switch {
		case m == nil:
			if n := len(list); n > 0 {
				list[n-1].lines = append(list[n-1].lines, line)
			}
		case strings.Contains(m[0], "Move to:"):
			if n := len(list); n > 0 {
				list[n-1].moves = true
			}
			list = append(list, section{name: m[1], moves: true})
		case strings.HasPrefix(strings.TrimSpace(line), "---"):
			old = m[1] // the name after +++ says whether it is deleted
			if old != "/dev/null" {
				list = append(list, section{name: old})
			}
		case strings.HasPrefix(strings.TrimSpace(line), "+++"):
			n := len(list)
			switch {
			case m[1] == "/dev/null" && n > 0:
				list[n-1].deletes = true
			case n > 0 && list[n-1].name == m[1] && old == m[1]:
			case old != "/dev/null" && n > 0: // renamed
				list[n-1].moves = true
				list = append(list, section{name: m[1], moves: true})
			default:
				list = append(list, section{name: m[1]})
			}
		default:
			list = append(list, section{name: m[1], deletes: strings.Contains(m[0], "Delete File:")})
		}
	}
	return list
}

// after is a file's text when a patch's section was applied to it.
func (s *section) after(before []byte) ([]byte, bool) {
	switch {
	case s.deletes:
		return nil, true
	case s.moves:
		return nil, false
	}
	return patched(before, strings.Join(s.lines, "\n"))
}

// patched applies a patch's changed passages to a text, if each stands in it once.
func patched(before []byte, patch string) ([]byte, bool) {
	text := string(before)
	var from, to []string
	apply := func() bool {
		if len(from) == 0 && len(to) == 0 {
			return true
		}
		old, now := strings.Join(from, "\n"), strings.Join(to, "\n")
		from, to = nil, nil
		if text == "" && strings.TrimSpace(old) == "" {
			text = now
			return true
		}
		if strings.TrimSpace(old) == "" || strings.Count(text, old) != 1 {
			return false
		}
		text = strings.Replace(text, old, now, 1)
		return true
	}
	for line := range strings.SplitSeq(patch, "\n") {
		switch {
		case strings.HasPrefix(line, "***"), strings.HasPrefix(line, "@@"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "+++"):
			if !apply() {
				return nil, false
			}
		case strings.HasPrefix(line, "+"):
			to = append(to, line[1:])
		case strings.HasPrefix(line, "-"):
			from = append(from, line[1:])
		case strings.HasPrefix(line, " "):
			from, to = append(from, line[1:]), append(to, line[1:])
		}
	}
	if !apply() {
		return nil, false
	}
	return []byte(text), true
}
