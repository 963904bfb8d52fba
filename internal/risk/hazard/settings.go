package hazard

import (
	"path"
	"slices"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/yamldoc"
)

// Many files of settings hold commands that somebody's program runs by itself later: an agent's
// status line, an editor's task, a hook of a manager of packages. Who writes one there has it run,
// so it is read as the command that it is. Which files and which settings is tables/settings.yaml.

// settingsFile is a kind of file, and which of its settings are run.
type settingsFile struct {
	files   [][]string // patterns of the last parts of a path
	names   []string   // patterns of the settings' names, in lower case without signs
	script  bool       // the whole file is one of a shell
	markers bool       // what is run stands in a line behind !
	builds  bool       // a service runs it, with secrets that it keeps
}

// startedBy is the row of the table for a file; nil if none says that it is run.
func (t *Table) startedBy(file string) *settingsFile {
	parts := strings.Split(strings.ToLower(slashed(file)), "/")
	for i := range t.settings {
		for _, pattern := range t.settings[i].files {
			if len(pattern) > len(parts) {
				continue
			}
			tail := parts[len(parts)-len(pattern):]
			if matchesParts(pattern, tail) {
				return &t.settings[i]
			}
		}
	}
	return nil
}

func matchesParts(pattern, parts []string) bool {
	for i, p := range pattern {
		if !wild(p, parts[i]) {
			return false
		}
	}
	return true
}

// settings judges the commands that a text puts into a file of settings. Only what is grave
// counts: of setting something up that is meant to run, nothing else is known.
func (a *assessor) settings(file, text string, at span) {
	s := a.table.startedBy(file)
	if s == nil || text == "" || a.depth > maxDepth/2 || len(text) > maxNestedText || !a.spend(len(text)) {
		return
	}
	// Nobody runs them now, so who watches what the call does is not told of them.
	watch := a.watch
	a.watch = nil
	a.depth++
	defer func() { a.depth--; a.watch = watch }()
	var commands []string
	if !s.script {
		commands = s.commands(file, text)
	}
	if s.builds {
		a.builds(text, commands, at)
		return
	}
	for _, command := range commands {
		if temporary(normalPath(before(command, ' ')).text) {
			a.report("persist.setting", 0, at) // whoever may write there says what it is
		}
	}
	a.kept(0.97, graveInside, func() {
		if s.script {
			a.command(text, &at)
			return
		}
		for _, command := range commands {
			a.command(command, &at)
			for _, inner := range commandsIn(command) {
				if inner != command {
					a.command(inner, &at)
				}
			}
		}
	})
	if s.fetchesFrom(text) {
		a.report("code.foreign", 0, at)
	}
}

// maxSettings is how many commands of one text are read.
const maxSettings = 64

// commands are the settings of a text that are run.
func (s *settingsFile) commands(file, text string) (list []string) {
	add := func(command string) {
		if command = strings.TrimSpace(command); len(command) > 2 && len(list) < maxSettings {
			list = append(list, command)
		}
	}
	if rest, front := strings.CutPrefix(text, "---\n"); front && path.Ext(file) == ".md" {
		head, body, _ := strings.Cut(rest, "\n---")
		for _, m := range runInProse.FindAllStringSubmatch(body, maxSettings) {
			add(m[1])
		}
		text = head
	}
	var n nest
	if doc, err := rawjson.Parse([]byte(text)); err == nil {
		n.json(doc.Root(), "", "", 0)
	} else if faults := 0; strings.Contains(text, ":") && !strings.HasPrefix(strings.TrimSpace(text), "[") {
		if root := yamldoc.Read(text, func(yamldoc.Fault) { faults++ }); faults == 0 && root != nil && (root.Members != nil || root.Items != nil) {
			n.yaml(root, "", "", 0)
		}
	}
	if n.leaves != nil {
		s.ofLeaves(&n, add)
		return list
	}
	for line := range strings.Lines(text) { // a part of one, or of another form
		line = strings.TrimSpace(line)
		if s.markers {
			if _, command, ok := strings.Cut(line, "!"); ok {
				add(strings.Trim(command, `"' `))
			}
		}
		cut := strings.IndexAny(line, "=: \t")
		if line == "" || strings.ContainsRune("#;", rune(line[0])) || cut < 0 {
			continue
		}
		name, value := strings.Trim(line[:cut], `"' `), strings.Trim(strings.TrimLeft(line[cut:], "=: \t"), ", ")
		if s.runs(name) {
			if q := value; len(q) > 1 && (q[0] == '"' || q[0] == '\'') && q[len(q)-1] == q[0] {
				value = unquoteDouble(q[1 : len(q)-1])
			}
			add(strings.TrimPrefix(value, "!"))
			if doc, err := rawjson.Parse([]byte(value)); err == nil && doc.Root().Kind() == rawjson.Array {
				for _, e := range doc.Root().Elems() {
					add(e.Text())
				}
			}
		}
	}
	return list
}

// ofLeaves are the settings of a text of which the form is known: what is a list beside a command
// are its words.
func (s *settingsFile) ofLeaves(n *nest, add func(string)) {
	for i := 0; i < len(n.leaves); i++ {
		l := &n.leaves[i]
		if !s.runs(l.Arg) {
			continue
		}
		parent, last := splitPointer(l.Pointer)
		if isDigits(last) { // a command as a list of its words
			words := []string{l.Text}
			for i+1 < len(n.leaves) {
				if p, _ := splitPointer(n.leaves[i+1].Pointer); p != parent {
					break
				}
				i++
				words = append(words, n.leaves[i].Text)
			}
			add(quotedWords(words))
			for _, w := range words {
				add(w)
			}
			continue
		}
		words := []string{l.Text}
		for _, m := range n.leaves {
			if p, _ := splitPointer(m.Pointer); p == parent+"/args" {
				words = append(words, m.Text)
			}
		}
		if len(words) > 1 {
			add(quotedWords(words))
		}
		add(l.Text)
	}
}

// quotedWords is a command of these words.
func quotedWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w
		if w == "" || strings.ContainsAny(w, " \t\n'\"\\$`|&;<>()*?[]#~!{}") {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// runs reports whether a setting of this name is run.
func (s *settingsFile) runs(name string) bool {
	name = strings.Join(words(name), "")
	return slices.ContainsFunc(s.names, func(pattern string) bool { return wild(pattern, name) })
}

// runInProse is a command in the text of a command that an agent has by its name.
var runInProse = lazyregexp.New("!`([^`\\n]+)`")

// packageSources are the lines by which managers of packages know where packages come from.
var packageSources = lazyregexp.New(`(?mi)^\s*(?:@[\w.-]+:)?(?:registry|index-url|extra-index-url|find-links|npmregistryserver|index)\s*[=:]\s*["']?(http://[^\s"']+|https?://[0-9.]+[:/][^\s"']*)`)

// fetchesFrom reports whether packages come from then on over a line that anybody may hold, or
// from an address that is a number.
func (s *settingsFile) fetchesFrom(text string) bool {
	if !slices.Contains(s.names, "registry") {
		return false
	}
	for _, m := range packageSources.FindAllStringSubmatch(text, 8) {
		if h := hostOf(m[1]); h.name != "" && h.kind() == "public" {
			return true
		}
	}
	return false
}
