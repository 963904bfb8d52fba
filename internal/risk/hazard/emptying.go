package hazard

import (
	"path"
	"slices"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
)

// Many programs have a folder of their own, for what they make or keep between runs, and take away what lies
// in it. Where it is stands in an option, a variable or a setting. Who is told that it is another folder
// empties that one, and no word of the command says so: it is judged as rm -rf of it. Inside of the folder
// in which the agent works it is the program's own matter.

// emptiedRow is how a program is told where the folder is that it empties.
type emptiedRow struct {
	words    groups
	option   string // options of which it is the value, separated by spaces
	variable string // variables of which it is the value, separated by spaces
	last     bool   // it is the last plain word
}

// outputsRow is under which names such a folder stands in files of settings.
type outputsRow struct {
	files []string
	names []string
}

// emptiesFolder judges that the command empties a folder that it is told.
func (c *invocation) emptiesFolder() {
	for _, row := range c.table.emptied[c.name] {
		if !row.words.among(c.args) {
			continue
		}
		folders := c.optionValues(row.option)
		for name := range strings.FieldsSeq(row.variable) {
			if v, set := c.vars[name]; set {
				folders = append(folders, v.text)
			}
		}
		if _, rest := c.split(); row.last && len(rest) > 0 {
			folders = append(folders, rest[len(rest)-1].text)
		}
		for _, folder := range folders {
			c.emptied(folder, c.at)
		}
	}
}

// emptied judges that a folder is emptied by a program that takes it for its own.
func (a *assessor) emptied(folder string, at span) {
	lies := folder
	if q := a.from(folder); q != "" {
		lies = q
	}
	place := normalPath(strings.TrimSuffix(lies, "/")).text
	if folder == "" || a.inOwnFolder(place) {
		return
	}
	if a.watch != nil && a.watch.Command != nil {
		a.watch.Command(&Command{Name: "rm", Words: []string{"-rf", lies}, Known: true, Dirs: []string{""}})
	}
	if !temporary(place) {
		a.removes(folder, true, at)
	}
}

// maxNamed is how many names of one file of settings are looked at.
const maxNamed = 1024

// namesOutputs judges the folders in a file of settings that programs empty.
func (a *assessor) namesOutputs(file, text string, at span) {
	if len(text) > maxNestedText {
		return
	}
	parts := strings.Split(slashed(strings.TrimSpace(file)), "/")
	for i := range a.table.outputs {
		row := &a.table.outputs[i]
		if !slices.ContainsFunc(row.files, func(pattern string) bool {
			want := strings.Split(pattern, "/")
			return len(want) <= len(parts) && matchesParts(want, parts[len(parts)-len(want):])
		}) {
			continue
		}
		for _, m := range outputSetting.FindAllStringSubmatchIndex(text, maxNamed) {
			if name := strings.Trim(text[m[2]:m[3]], `"'`); !slices.Contains(row.names, name) {
				continue
			}
			folder := pathSaid(before(text[m[1]:min(len(text), m[1]+300)], '\n'))
			switch {
			case strings.HasPrefix(folder, "../"):
				a.emptied(path.Join(path.Dir(slashed(file)), folder), at)
			case strings.HasPrefix(folder, "/"), strings.HasPrefix(folder, "~"):
				a.emptied(folder, at)
			}
		}
	}
}

var (
	// outputSetting is a name before its value: name: value, name = value, <name>value, name(value), --name value.
	outputSetting = lazyregexp.New(`(?m)(?:^|[\s{,(<."'])((?:layout\.)?["']?[-\w]+["']?)(?:\s*(?:=>|[:=>(])\s*|\.set\(\s*|[ \t]+)`)
	homeSaid      = lazyregexp.New(`(?i)\$\{(?:user\.home|env[.:]HOME|localEnv:HOME|HOME|(?:os\.)?homedir\(\)|process\.env\.HOME|System\.getProperty\(["']user\.home["']\))\}|\$HOME\b|(?:os\.|require\(['"]os['"]\)\.)?homedir\(\)|process\.env\.HOME|System\.getProperty\(["']user\.home["']\)|Path\.home\(\)`)
)

// pathSaid is the path that a value of settings says: a text, or texts that are joined.
func pathSaid(value string) string {
	value = homeSaid.ReplaceAllStringFunc(value, func(said string) string {
		if said[0] == '$' { // in a text
			return "~"
		}
		return `"~"`
	})
	if end := strings.IndexByte(value, '<'); end >= 0 && !strings.ContainsAny(value[:end], `"'`) {
		return strings.TrimSpace(value[:end])
	}
	if !strings.ContainsAny(value[:min(len(value), 64)], "\"'`") {
		return before(strings.TrimSpace(value), ' ')
	}
	var texts []string
	depth := 0
	for i := 0; i < len(value); i++ {
		switch c := value[i]; c {
		case '"', '\'', '`':
			end := strings.IndexByte(value[i+1:], c)
			if end < 0 {
				return strings.Join(texts, "/")
			}
			texts = append(texts, value[i+1:i+1+end])
			i += end + 1
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth < 0 {
				return path.Join(texts...)
			}
		case ',', ';':
			if depth == 0 {
				return path.Join(texts...)
			}
		}
	}
	return path.Join(texts...)
}
