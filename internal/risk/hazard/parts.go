package hazard

import (
	"path"
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/rawjson"
)

// Use is what a text of a call is for. Policies tell them apart: what is told to
// somebody may be masked, and what is done or kept may not be changed unseen.
type Use uint8

// The uses.
const (
	Said     Use = iota // everything else: a message, a form's field, what a service is sent
	Run                 // a command, a program, a query or a URL
	Written             // the agent's work: a file's content, the new text of an edit, a patch
	Replaced            // what an edit looks for in a file
)

// Part is what is known of one text of a call.
type Part struct {
	Use Use
	// Exact says that nothing may be changed inside the text: one character more
	// or less makes another command, program, query or URL of it, or an edit that
	// finds nothing. A text that has the look of one is exact, too, whatever its
	// argument is called, since nobody knows what the tool does with it.
	Exact bool
	// Path says that the text is a path.
	Path bool
	// Words says that the text is for a reader, or a file's content: another in its
	// place does the same to the same thing.
	Words bool
}

// Parts tells what the texts of a call are for, by the roles that Assess reads
// them in.
func Parts(tool string, leaves []act.Leaf) []Part { return newCall(tool, leaves).parts() }

func (c *call) parts() []Part {
	parts := make([]Part, len(c.leaves))
	sends := anyOf(c.words, sendingTools)
	keeps := (c.path != "" || c.kind.writes && slices.ContainsFunc(c.leaves, namesFile)) && !sends
	graph := anyOf(c.words, graphTools)
	tells := anyOf(c.words, tellingTools) && !anyOf(c.words, askingTools)
	does := slices.ContainsFunc(c.leaves, func(l leaf) bool { return l.role == roleCommand || keeps && l.role == rolePath })
	for i := range c.leaves {
		l := &c.leaves[i]
		p := &parts[i]
		name := c.nameOf(l)
		p.Path = l.role == rolePath
		switch {
		case keeps && oldTexts[name]:
			*p = Part{Use: Replaced, Exact: true, Words: true}
		case storesValue(c.words, name):
			*p = Part{Use: Written, Exact: true}
		case isPatch(l.Text) && l.role != roleProse, keeps && (l.role == roleContent || newTexts[name] || hint(name) == roleContent && l.role != roleCommand && l.role != roleCode):
			p.Use = Written
			p.Words = !isPatch(l.Text) // which names files
		case l.skip, l.role == roleCommand, l.role == roleCode, l.role == roleSQL, l.role == roleURL:
			*p = Part{Use: Run, Exact: true}
		case !sends && (workTexts[name] || inFiles(l) && !isFileName(l.Text)):
			*p = Part{Use: Written}
		case askedTexts[name] && !(c.kind.searches && wordsSought[name]), askedWhole[strings.Join(words(l.Arg), "")], graph && graphTexts[name]:
			*p = Part{Use: Run, Exact: true}
		case l.role == roleUnknown:
			form := formOf(l.Text)
			p.Exact = form == roleCommand || form == roleSQL || form == roleURL && !strings.ContainsAny(l.Text, " \n\t") || asksByPath(l.Text) || holdsCommand(c.tool, l)
		}
		if p.Use == Said && !p.Exact && !p.Path && formOf(l.Text) != roleCommand {
			p.Words = does && inertTexts[name] || !c.kind.runs && !c.kind.code && l.role == roleProse && tellingTexts[name] || tells && toldTexts[name]
		}
	}
	return parts
}

// What arguments are called that hold a query in an engine's own language, a pattern, or what is to be run: one
// character more or less asks for something else. Of the arguments of askedWhole that is so of every text in them.
// What somebody looks for in words is no such query (wordsSought).
var (
	askedTexts  = set("query queries jql kql spl cypher promql metricsql logql traceql lucene esql dql nrql aql gremlin sparql pattern patterns regex regexp formula expr expression expressions selector jsonpath xpath jmespath run script")
	askedWhole  = set("filter filters pipeline aggregation aggregations selector where")
	wordsSought = set("query queries")
	graphTools  = set("graphql gql")
	graphTexts  = set("query mutation document operation subscription")
)

// workTexts are what arguments are called that hold the agent's work wherever it is put: code, markup, settings.
var workTexts = set("html css yaml yml hcl manifest manifests dockerfile source sourcecode zipsource code handler templatebody")

// fileMaps are what arguments are called whose members are files by their names.
var fileMaps = set("files file changes contents sources tree")

// inFiles reports whether a text stands under a file's name, in an argument that holds files.
func inFiles(l *leaf) bool {
	if !fileMaps[strings.Join(words(l.Arg), "")] {
		return false
	}
	for name := range strings.SplitSeq(l.place, "/") {
		if isFileName(rawjson.UnescapePointer(name)) {
			return true
		}
	}
	return false
}

// fileNames are what arguments are called that say which file is written, where they hold no path.
var fileNames = set("key name filename file uri title object objectname entry target")

// namesFile reports whether a text says which file it is that a call writes.
func namesFile(l leaf) bool {
	return fileNames[strings.Join(words(lastName(l.place)), "")] && (isFileName(l.Text) || strings.HasPrefix(l.Text, "file:"))
}

// isFileName reports whether a text is a name with the ending of a file.
func isFileName(text string) bool {
	end := path.Ext(text)
	return len(text) < 256 && len(end) > 1 && len(end) < 7 && len(end) < len(text) && !strings.ContainsAny(text, " \n\t@:?") && !isDigits(end[1:])
}

// asksByPath reports whether a text is what is asked of a server whose name stands elsewhere: /pay?card=1.
func asksByPath(text string) bool {
	before, query, ok := strings.Cut(text, "?")
	return ok && strings.HasPrefix(before, "/") && strings.Contains(query, "=") && !strings.ContainsAny(text, " \n\t")
}

// storesValue reports whether a tool keeps what it is given for programs to read, as a variable
// or a setting: a mask in it would be what they read.
func storesValue(tool []string, name string) bool {
	return storedValues[name] && anyOf(tool, storingVerbs) && anyOf(tool, settingWords)
}

var (
	storedValues = set("value values secret secretvalue secretstring plaintext plaintextvalue parametervalue variablevalue val")
	storingVerbs = set("set add create put update upsert write store save edit patch replace")
	settingWords = set("env envs environment variable variables var vars secret secrets config parameter parameters param setting settings kv")
)

// nameOf is the name of the argument, or of the member in it, that a leaf is.
func (c *call) nameOf(l *leaf) string {
	name := l.Arg
	if last := lastName(l.place); last != "" && last != "value" && !isDigits(last) {
		_, name = splitPointer(l.place)
	}
	return strings.Join(words(name), "")
}

// sendingTools are words in the names of tools that tell somebody something, so
// that what they are given is no file's content, whatever path they name.
var sendingTools = set("send mail email message post publish slack tweet comment issue reply notify share request fetch")

// oldTexts are what arguments are called that hold what an edit looks for, and
// newTexts what it puts there.
var (
	oldTexts = set("oldstring oldstr oldtext oldcontent oldcode oldsource old search find")
	newTexts = set("newstring newstr newtext newcontent newcode newsource new replacement replace codeedit cellsource inserttext filetext lines")
)

// What arguments are called that hold words for a reader: what is said of a command, or
// of a file that is written; what is told by whatever tool; and by one that writes to
// people. What a model is asked to do is not among them, nor what a service is
// given.
var (
	inertTexts   = set("description reason reasoning rationale explanation thought thoughts justification")
	tellingTexts = set("message title subject summary comment note notes commitmessage")
	toldTexts    = set("text body content message title subject summary comment note notes")
)

var (
	tellingTools = set("send mail email message slack tweet comment issue reply notify")
	askingTools  = set("request fetch http api webhook call invoke run exec command query sql agent task model prompt")
)

// isPatch reports whether a text is a change of files in one of the usual forms.
func isPatch(text string) bool {
	t := strings.TrimLeft(text, " \t\r\n")
	return strings.HasPrefix(t, "*** Begin Patch") || strings.HasPrefix(t, "diff --git ") ||
		(strings.HasPrefix(t, "--- ") || strings.HasPrefix(t, "Index: ")) && strings.Contains(t, "\n+++ ") && strings.Contains(t, "\n@@")
}
