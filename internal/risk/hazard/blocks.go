package hazard

import (
	"slices"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
)

// Files of orders are made of blocks with names: tasks, recipes. Only those are run that words ask for, and
// those that these name in turn.

// A block is a part of such a file.
type block struct {
	name, text string
	needs      string // the words of it in which others may be named
}

// askedBlocks is what a file holds outside of its blocks, with those blocks that words ask for, that a text
// names which counts always, or that one of these needs.
func askedBlocks(rest string, blocks []block, always string, words []string) string {
	var b strings.Builder
	b.WriteString(rest)
	named := always + " " + strings.Join(words, " ")
	for changed := true; changed; {
		changed = false
		blocks = slices.DeleteFunc(blocks, func(one block) bool {
			if name := nameSigns.Replace(one.name); !speaksOf(nameSigns.Replace(listSigns.Replace(named)), name) && !speaksOf(wordSigns.Replace(named), name) {
				return false
			}
			named, changed = named+"\n"+one.needs, true
			b.WriteString(one.text)
			return true
		})
	}
	return b.String()
}

// listSigns stand between the names of blocks, nameSigns in them, and wordSigns in longer ones of which they
// are a part.
var (
	listSigns = strings.NewReplacer(",", " ", "=", " ", "[", " ", "]", " ", "{", " ", "}", " ", "@", " ")
	nameSigns = strings.NewReplacer("-", "_", ":", "_", ".", "_")
	wordSigns = strings.NewReplacer(",", " ", "=", " ", "[", " ", "]", " ", "{", " ", "}", " ", "@", " ", "-", "_", ":", " ", ".", " ")
)

// askedNames are the words that are no options.
func askedNames(words []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return strings.HasPrefix(w, "-") })
}

// askedNamesOr are the same, or the one that is meant where there is no word at all.
func askedNamesOr(words []string, usual string) []string {
	if len(words) == 0 {
		return []string{usual}
	}
	return askedNames(words)
}

var (
	// justRule begins a recipe of a justfile, and justAlias is another name of one.
	justRule  = lazyregexp.New(`^@?([A-Za-z_][\w-]*)(?:[ \t][^\n]*?)?:(?:[^=]|$)`)
	justAlias = lazyregexp.New(`(?m)^alias[ \t]+([\w-]+)[ \t]*:=[ \t]*([\w-]+)`)
	// justSays is a line that is none of a recipe's, whatever stands in it.
	justSays = lazyregexp.New(`^(?:#|set[ \t]|alias[ \t]|import\b|mod\b|export[ \t])`)
	// justCalls are lines of a recipe that have just run another one.
	justCalls = lazyregexp.New(`(?m)^[ \t].*\bjust\b.*$`)
)

// askedRecipes is a justfile without the recipes that words do not ask for; all of it where that cannot be
// told. Where no word stands, the first recipe is meant.
func askedRecipes(text string, words []string) string {
	if words == nil || slices.ContainsFunc(words, unsure) {
		return text
	}
	var rest, marks strings.Builder
	var recipes []block
	inside := false
	for line := range strings.Lines(text) {
		m := justRule.FindStringSubmatch(line)
		if justSets.MatchString(line) || justSays.MatchString(line) {
			m = nil
		}
		switch moved := strings.TrimSpace(line) == "" || line[0] == ' ' || line[0] == '\t'; {
		case moved && inside:
			recipes[len(recipes)-1].text += line
		case m != nil:
			_, needs, _ := strings.Cut(line, ":")
			recipes, inside = append(recipes, block{m[1], marks.String() + line, needs}), true
			marks.Reset()
		case line[0] == '[': // belongs to what follows
			inside = false
			marks.WriteString(line)
		default:
			inside = false
			rest.WriteString(line)
		}
	}
	if len(recipes) == 0 {
		return text
	}
	for i := range recipes {
		recipes[i].needs += strings.Join(justCalls.FindAllString(recipes[i].text, -1), "\n")
	}
	asked := askedNamesOr(words, recipes[0].name)
	for _, m := range justAlias.FindAllStringSubmatch(text, 64) {
		if slices.Contains(asked, m[1]) {
			asked = append(asked, m[2])
		}
	}
	return askedBlocks(rest.String(), recipes, "", asked)
}

// rakeTask begins a task of rake that ends where its begin is moved in to, and rakeSays is what people read.
var (
	rakeSays = lazyregexp.New(`(?m)^[ \t]*(?:desc\b|#).*$`)
	rakeTask = lazyregexp.New(`^([ \t]*)(?:task|file|multitask)[ \t(]+[:"']?(\w+)["']?.*\bdo\b[^\n]*$`)
)

// askedOfRakefile is a Rakefile without the tasks that words do not ask for.
func askedOfRakefile(text string, words []string) string {
	if words == nil || slices.ContainsFunc(words, func(w string) bool { return strings.ContainsAny(w, "$`") }) {
		return text
	}
	var rest strings.Builder
	var tasks []block
	lines := slices.Collect(strings.Lines(text))
	for i := 0; i < len(lines); i++ {
		m := rakeTask.FindStringSubmatch(strings.TrimRight(lines[i], "\r\n"))
		end := i + 1
		for m != nil && end < len(lines) && strings.TrimRight(lines[end], " \r\n") != m[1]+"end" {
			end++
		}
		if m == nil || end == len(lines) {
			rest.WriteString(lines[i])
			continue
		}
		task := strings.Join(lines[i:end+1], "")
		tasks = append(tasks, block{m[2], task, task})
		i = end
	}
	always := rakeSays.ReplaceAllString(rest.String(), "")
	return askedBlocks(rest.String(), tasks, always, askedNamesOr(words, "default"))
}

// rakeRuns is what rake calls a command by.
var rakeRuns = lazyregexp.New(`\bsh\b`)

// AsRuby is a Rakefile as a program of Ruby that knows nothing of rake.
func AsRuby(text string) string { return rakeRuns.ReplaceAllString(text, "system") }
