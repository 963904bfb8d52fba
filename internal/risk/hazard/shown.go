package hazard

import (
	"maps"
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/lazyregexp"
)

// What is shown of a file and what is put into one belong together where the showing left
// something out: Reading.Shown says of which files a call shows something, and Puts where its texts
// may end.

// maxShown is how many files of one call are told.
const maxShown = 8

// plainReaders are programs that show the files among their words, and no others.
var plainReaders = set("cat tac nl head tail less more bat batcat sed gsed awk gawk mawk cut sort uniq tr wc jq yq strings xxd hexdump od column fold fmt rev paste cd pwd echo true sudo type get-content gc")

// shown is Reading.Shown.
func (c *call) shown() (names []string, all bool) {
	if c.kind.searches {
		return nil, false
	}
	all = true
	add := func(p string) {
		base := scriptName(p)
		switch {
		case base == "" || strings.ContainsAny(p, "*?$`{[\n") || len(names) == maxShown:
			all = false
		case !slices.Contains(names, p):
			names = append(names, p)
		}
	}
	for i := range c.leaves {
		l := &c.leaves[i]
		switch {
		case l.skip:
		case l.role == rolePath:
			for line := range strings.Lines(l.Text) {
				add(strings.TrimSpace(line))
			}
		case l.role == roleCommand:
			text := l.Text
			if l.words != nil {
				text = strings.Join(l.words, " ")
			}
			all = shownBy(text, add) && all
		case l.role == roleCode, l.role == roleSQL, l.role == roleURL:
			all = false
		case l.role == roleUnknown && formOf(l.Text) == rolePath:
			add(l.Text)
		}
	}
	return names, all && len(names) > 0
}

// shownBy tells the words of a command that may be files that it shows, and reports
// whether these are all.
func shownBy(text string, add func(string)) bool {
	if len(text) > 4096 || strings.ContainsAny(text, "$`*?{[\n") {
		return false
	}
	cuts := func(r rune) bool { return strings.ContainsRune("|;&()", r) }
	for command := range strings.FieldsFuncSeq(text, cuts) {
		words := strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t<>\"'=", r) })
		for len(words) > 0 && words[0] == "sudo" {
			words = words[1:]
		}
		if len(words) == 0 {
			continue
		}
		if !plainReaders[baseName(words[0])] {
			return false
		}
		for _, w := range words[1:] {
			if !strings.HasPrefix(w, "-") && !isDigits(w) {
				add(w)
			}
		}
	}
	return true
}

// A Put is a text of a call that may end in files.
type Put struct {
	Pointer string
	Text    string
	Old     bool // it is looked for there, and replaced
	// Files are the files, by their paths or names, that it may get into.
	Files []string
	// Anywhere says that nobody can tell into which.
	Anywhere bool
	// Value says that it is no file's text: a service or a program is given it, and may
	// put it in the place of what it had.
	Value bool
}

// maxNames is how many words of a text are taken for names of files.
const maxNames = 4096

// Puts tells where the texts of a call may end, of those that are no mere words for a
// reader, and which files are copied over which. It is dear, and for the few calls that are suspected.
func Puts(tool string, leaves []act.Leaf) (puts []Put, copies [][2]string) {
	c := newCall(tool, leaves)
	parts := c.parts()
	paths := c.paths()
	only := c.looksOnly()
	if len(paths) > 1 && anyOf(c.words, movingTools) {
		copies = append(copies, [2]string{paths[0], paths[len(paths)-1]})
	}
	for i := range c.leaves {
		l := &c.leaves[i]
		p := Put{Pointer: l.Pointer, Text: l.Text, Old: parts[i].Use == Replaced}
		if decoded, ok := unbase64(l.Text); ok && len(l.Text) >= 16 {
			p.Text = decoded
		}
		switch parts[i].Use {
		case Written, Replaced:
			p.Files = paths
			switch {
			case isPatch(p.Text):
				p.Files = append(slices.Clip(paths), Names(patched(p.Text))...)
			case len(paths) == 0:
				p.Anywhere = true
			case languageOfFile(paths[0], p.Text) != "": // whoever runs it writes what it says
				p.Files = append(slices.Clip(paths), Names(p.Text)...)
			}
		case Run:
			if l.role == rolePath || l.role == roleSought || l.skip {
				continue
			}
			text := l.Text
			if l.words != nil {
				text = strings.Join(l.words, " ")
			}
			switch l.role {
			case roleCommand:
				more, copied := p.command(text)
				puts, copies = append(puts, more...), append(copies, copied...)
				if p.Files == nil && !p.Anywhere {
					continue // its words are only shown, or told to somebody
				}
			case roleCode:
				p.Anywhere = true
			case roleSQL:
				p.Anywhere = !asksOnlySQL.MatchString(text)
			case roleURL:
				p.Anywhere = true
			default: // what an engine is asked
				if only {
					continue
				}
				p.Value = true
			}
		default:
			if parts[i].Words || parts[i].Path || l.role == roleSought || only {
				continue
			}
			p.Value = true
		}
		puts = append(puts, p)
	}
	return puts, copies
}

// asksOnlySQL is an order to a database that changes nothing.
var asksOnlySQL = lazyregexp.New(`(?is)^\s*(?:select|show|explain|describe|desc)\b[^;]*;?\s*$`)

// looksOnly reports whether a tool is named as one that only looks, and tells nobody.
func (c *call) looksOnly() bool {
	return c.kind.searches || anyOf(c.words, lookingTools) && !anyOf(c.words, givingTools)
}

var (
	lookingTools = set("read get list view find grep glob stat show describe head tail tree status exists lookup count inspect think plan")
	givingTools  = set("set put write create update edit send post save insert add upload push store apply patch replace register configure config")
)

// lookingAt are those of the tellers, and others, whose words only they and who reads their
// output see.
var lookingAt = set(`echo printf : true false ls stat test [ [[ grep egrep fgrep rg ag ack export declare read cd say logger notify-send wall figlet cowsay basename dirname realpath
	wc sort uniq cut tr cat jq yq sed gsed awk gawk mawk nawk git-commit shellcheck reeve mail mailx slack telegram-send ntfy find fd`)

// command tells where the words of a command may end, what it writes into which files, and
// which files may come into others.
func (p *Put) command(text string) (written []Put, copies [][2]string) {
	a := newAssessor(Default())
	a.pointer, a.size, a.runs = p.Pointer, len(text), true
	words, does := Names(text), false
	a.watch = &Watch{
		File: func(name string, writes bool, content string, known bool) {
			if !writes || strings.HasPrefix(name, "/dev/") {
				return
			}
			one := Put{Pointer: p.Pointer, Text: content, Files: []string{name}, Anywhere: unknownName(name)}
			if !known {
				one.Text = text
			}
			written = append(written, one)
			for _, from := range words { // what one file holds may come into the other
				if !known && from != name && len(copies) < maxNames {
					copies = append(copies, [2]string{from, name})
				}
			}
		},
		Command: func(cmd *Command) {
			name := baseName(cmd.Name)
			if !lookingAt[name] && name != "git" {
				for _, w := range append(cmd.Words, cmd.Stdin) {
					if len(written) < maxNames && w != "" {
						written = append(written, Put{Pointer: p.Pointer, Text: w, Value: true})
					}
				}
			}
			if tellers[name] && !changing[name] || name == "git" || name == "gh" || name == "glab" {
				return
			}
			does = true
			p.Anywhere = p.Anywhere || !cmd.Known || slices.ContainsFunc(cmd.Words, unknownName)
		},
	}
	a.command(text, nil)
	for _, name := range slices.Sorted(maps.Keys(a.written)) { // what it holds in the end, of all that was added to it
		if held := a.written[name].text; held != "" && !strings.HasPrefix(name, "/dev/") {
			written = append(written, Put{Pointer: p.Pointer, Text: held, Files: []string{name}, Anywhere: unknownName(name)})
		}
	}
	for _, pair := range a.copies {
		if pair[0] != pair[1] {
			copies = append(copies, pair)
		}
	}
	if does {
		p.Files = words
	}
	return written, copies
}

// changing are those of the tellers that can change files by themselves.
var changing = set("sed gsed yq tee awk gawk sort")

// paths are the texts of a call that are paths.
func (c *call) paths() (paths []string) {
	for i := range c.leaves {
		if c.leaves[i].role == rolePath {
			paths = append(paths, c.leaves[i].Text)
		}
	}
	return paths
}

// movingTools are words in the names of tools that put one file in another's place.
var movingTools = set("move rename copy link symlink replace restore")

// unknownName reports whether a shell puts something in for a part of a name that the text
// does not say.
func unknownName(name string) bool {
	return strings.ContainsAny(name, "*?$`") && !strings.ContainsAny(name, " \n")
}

// patched is the lines of a patch that name files.
func patched(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		for _, mark := range []string{"+++ ", "--- ", "*** ", "diff ", "Index: ", "rename to ", "copy to "} {
			if strings.HasPrefix(line, mark) {
				b.WriteString(line)
				break
			}
		}
	}
	return b.String()
}

// Names are the words of a text that may be names of files.
func Names(text string) (out []string) {
	notName := func(r rune) bool {
		return r <= ' ' || strings.ContainsRune("\"'`<>|;&()=,:{}[]", r)
	}
	for w := range strings.FieldsFuncSeq(text, notName) {
		if len(out) == maxNames {
			break
		}
		if len(w) <= 1024 && !slices.Contains(out[max(0, len(out)-16):], w) {
			out = append(out, w)
		}
	}
	return out
}
