package hazard

import (
	"slices"
	"strconv"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/yamldoc"
)

// A tool of a service does not run a command: what it does is said by its name and by its
// arguments. privileged: true is --privileged, visibility: public is --visibility public, and
// whoever may not have the one unasked may not have the other. What which argument means is a
// table, tables/calls.yaml, as the options of programs are.

// callRow is one thing that a tool does when its name and its arguments hold certain words.
type callRow struct {
	tool   [][]pattern
	args   [][]argPattern
	looks  bool // it is said of tools that only look, too
	effect string
	weight float64 // 0 is the effect's own
}

// pattern is a text in which * stands for anything and ? for one character. Most have a * at
// their ends alone. All rows are asked about each call, so that they are taken apart once.
type pattern struct {
	text         string // without what is at its ends
	begins, ends bool   // nothing may stand before it, and behind it
	inner        bool   // it has more of them: the text is all of it
}

func patternOf(text string) pattern {
	word := strings.TrimSuffix(strings.TrimPrefix(text, "*"), "*")
	if strings.ContainsAny(word, "*?") {
		return pattern{text: text, inner: true}
	}
	return pattern{text: word, begins: !strings.HasPrefix(text, "*"), ends: !strings.HasSuffix(text, "*")}
}

// exact reports whether the pattern stands for its own text alone.
func (p *pattern) exact() bool { return p.begins && p.ends }

func (p *pattern) matches(s string) bool {
	switch {
	case p.inner:
		return wild(p.text, s)
	case p.begins && p.ends:
		return s == p.text
	case p.begins:
		return strings.HasPrefix(s, p.text)
	case p.ends:
		return strings.HasSuffix(s, p.text)
	}
	return strings.Contains(s, p.text)
}

// argPattern names arguments and values, such as privileged=true or *=0.0.0.0/0.
type argPattern struct{ name, value pattern }

// patternsOf takes apart the groups of a row.
func patternsOf[P any](w groups, of func(string) P) (all [][]P) {
	for _, group := range w {
		var one []P
		for _, text := range group {
			one = append(one, of(text))
		}
		all = append(all, one)
	}
	return all
}

func argPatternOf(text string) argPattern {
	name, value, _ := strings.Cut(text, "=")
	return argPattern{patternOf(name), patternOf(value)}
}

// Bounds of what is read of one call's arguments.
const (
	maxFacts     = 50_000
	maxFactDepth = 64
)

// facts are what the arguments of a call say: of each value the name that it stands under, in
// lower case and without the signs between its words, and the value in lower case.
type facts struct {
	byName map[string]map[string]string // name → value → its pointer
	names  []string
	all    int
	full   bool
}

// anyValue is how the table writes a value that is * alone.
const anyValue = "(any)"

func (f *facts) add(name, value, pointer string) {
	if len(value) > 256 {
		return
	}
	if value = strings.ToLower(strings.TrimSpace(value)); value == "*" {
		value = anyValue
	}
	if f.byName == nil {
		f.byName = map[string]map[string]string{}
	}
	values := f.byName[name]
	if values == nil {
		values = map[string]string{}
		f.byName[name] = values
		f.names = append(f.names, name)
	}
	if _, ok := values[value]; ok {
		return
	}
	if f.all++; f.all > maxFacts {
		f.full = true
		return
	}
	values[value] = pointer
}

// put adds a value under its own name, with that of what it is a part of before it
// (hostpath.path), and with all of them.
func (f *facts) put(path []string, value, pointer string) {
	own := ""
	for i := range path {
		name := plainName(path[len(path)-1-i])
		if i > 0 {
			name += "."
		}
		if own = name + own; i < 2 || i == len(path)-1 {
			f.add(own, value, pointer)
		}
	}
}

// plainName is a name as the table has it. One without letters stays as it is: the folder that
// a volume is made of may be a member's name.
func plainName(name string) string {
	if strings.Contains(name, "/") {
		return strings.ToLower(name)
	}
	if own := strings.Join(words(name), ""); own != "" {
		return own
	}
	return name
}

// json gathers a value, and of one whose texts are known only the others: numbers, true and
// false, and what is empty.
func (f *facts) json(v rawjson.Value, path []string, at string, texts bool) {
	if len(path) > maxFactDepth {
		return
	}
	switch v.Kind() {
	case rawjson.Object:
		if v.Len() == 0 {
			f.put(path, "{}", at)
		}
		for member, m := range v.Members() {
			f.json(m, append(path[:len(path):len(path)], member), at+"/"+rawjson.EscapePointer(member), texts)
		}
	case rawjson.Array:
		if v.Len() == 0 {
			f.put(path, "[]", at)
		}
		for i, e := range v.Elems() {
			if e.Kind() == rawjson.Array {
				path = append(path[:len(path):len(path)], "") // a list of lists is as deep as it is
			}
			f.json(e, path, at+"/"+strconv.Itoa(i), texts)
		}
	case rawjson.String:
		if texts {
			f.put(path, v.Text(), at)
		}
	default:
		f.put(path, string(v.Raw()), at)
	}
}

// yaml gathers all of a YAML text, every text of which is told at one place.
func (f *facts) yaml(n *yamldoc.Node, path []string, at string) {
	switch {
	case n == nil || len(path) > maxFactDepth:
	case n.Members != nil:
		for _, m := range n.Members {
			f.yaml(m.Value, append(path[:len(path):len(path)], m.Name), at)
		}
	case n.Items != nil:
		for _, e := range n.Items {
			f.yaml(e, path, at)
		}
	default:
		f.put(path, n.Text, at)
	}
}

// find gives the pointer of a fact that a pattern names.
func (f *facts) find(p *argPattern) (pointer string, ok bool) {
	if p.name.exact() {
		return findValue(f.byName[p.name.text], &p.value)
	}
	for _, n := range f.names {
		if p.name.matches(n) {
			if pointer, ok = findValue(f.byName[n], &p.value); ok {
				return pointer, true
			}
		}
	}
	return "", false
}

func findValue(values map[string]string, p *pattern) (pointer string, ok bool) {
	if p.exact() {
		pointer, ok = values[p.text]
		return pointer, ok
	}
	for v, at := range values {
		if p.matches(v) {
			return at, true
		}
	}
	return "", false
}

// among reports whether the facts have one of each group, and where the last of them stands.
func (f *facts) among(row [][]argPattern) (pointer string, ok bool) {
	for _, group := range row {
		found := false
		for i := range group {
			if pointer, found = f.find(&group[i]); found {
				break
			}
		}
		if !found {
			return "", false
		}
	}
	return pointer, true
}

// lookingVerbs are words in the names of tools that only look, and changingVerbs those that
// say otherwise: of a name that has both the tool may do either.
var (
	lookingVerbs  = set("read get list view find grep glob stat show describe head tail tree status exists lookup count inspect think plan retrieve search query fetch check preview estimate quote validate simulate calculate explain analyze compare diff history export download watch monitor")
	changingVerbs = set(`set put write create update edit send post save insert add upload push store apply patch replace register configure modify change delete remove drop destroy purge erase truncate clear reset revoke
		grant assign attach detach authorize allow deny enable disable make transfer move rename restore merge approve submit publish share invite promote deploy run execute start stop restart scale install uninstall upgrade
		pay buy purchase place issue cancel sign void capture withdraw swap order rotate regenerate unprotect archive import sync rollback unlock lock open close mute flush empty wipe terminate`)
)

// looks reports whether a tool of this name only looks.
func looks(tool []string) bool { return anyOf(tool, lookingVerbs) && !anyOf(tool, changingVerbs) }

// manifestNames are words in the names of arguments that hold what shall be made, in YAML.
var manifestNames = set("manifest manifests yaml resource resources compose spec definition template stackfile stack stackfilecontent")

// gather reads what the arguments of a call say.
func (c *call) gather() *facts {
	f := &facts{}
	named := make(map[string]string, len(c.args)) // the arguments by their pointers
	for i := range c.args {
		arg := &c.args[i]
		named[arg.Pointer] = arg.Name
		if first := strings.TrimLeft(string(arg.Value[:min(len(arg.Value), 8)]), " \t\r\n"); first == "" || first[0] == '"' {
			continue // a text, which is among the leaves
		}
		if doc, err := rawjson.Parse(arg.Value); err == nil {
			f.json(doc.Root(), []string{arg.Name}, arg.Pointer, false)
		}
	}
	for i := range c.leaves {
		l := &c.leaves[i]
		if l.Fixed {
			continue
		}
		path := pathOf(l, named)
		f.put(path, l.Text, l.Pointer)
		if len(l.Text) > 16 && len(l.Text) <= maxNestedText && l.role != roleContent && strings.ContainsAny(l.Text, "{:") {
			f.text(path, l)
		}
	}
	return f
}

// text gathers what a text says that holds arguments itself.
func (f *facts) text(path []string, l *leaf) {
	text := strings.TrimSpace(l.Text)
	if text != "" && strings.ContainsRune(`{[`, rune(text[0])) {
		if doc, err := rawjson.Parse([]byte(text)); err == nil {
			f.json(doc.Root(), nil, l.Pointer, true)
			return
		}
	}
	if len(text) > maxNestedYAML || !anyOf(words(path[len(path)-1]), manifestNames) {
		return
	}
	for part := range strings.SplitSeq(text, "\n---") {
		sound := true
		if root := yamldoc.Read(part, func(yamldoc.Fault) { sound = false }); sound {
			f.yaml(root, nil, l.Pointer)
		}
	}
}

// pathOf are the names that a text stands under, that of its argument first. named are the
// arguments by their pointers.
func pathOf(l *leaf, named map[string]string) []string {
	for at := strings.LastIndexByte(l.Pointer, '/'); at > 0; at = strings.LastIndexByte(l.Pointer[:at], '/') {
		name, ok := named[l.Pointer[:at]]
		if !ok {
			continue
		}
		path := []string{name}
		for name := range strings.SplitSeq(l.Pointer[at+1:], "/") {
			if !isDigits(name) && len(path) <= maxFactDepth {
				path = append(path, rawjson.UnescapePointer(name))
			}
		}
		return path
	}
	if l.Arg == "" {
		return []string{rawjson.UnescapePointer(lastName(l.Pointer))}
	}
	return []string{l.Arg}
}

// services judges a call by what the table says of tools and their arguments.
func (a *assessor) services(c *call) {
	tool := append(slices.Clip(c.words), c.names...)
	tool = append(tool, strings.Join(c.words, "_"))
	if len(c.names) > 0 {
		tool = append(tool, strings.Join(c.names, "_"))
	}
	said := c.saidVerbs()
	for _, verb := range said {
		tool = append(append(tool, verb...), strings.Join(verb, "_"))
	}
	slices.Sort(tool)
	tool = slices.Compact(tool)
	for _, name := range append([][]string{c.words}, said...) {
		if what := takesByName(name); what != "" {
			a.pointer, a.size = "", 0
			a.report(what, 0.45, span{})
		}
	}
	if c.deletesByHTTP() {
		a.pointer, a.size = "", 0
		a.report("destroy.cloud", 0.45, span{})
	}
	for i := range c.leaves {
		if l := &c.leaves[i]; l.role != roleContent && l.role != roleProse && l.role != roleSought && leaksPage(l.Text) {
			a.pointer, a.size = l.Pointer, len(l.Text)
			a.report("exfil.secret", 0.85, span{0, len(l.Text)})
		}
	}
	looking := looks(tool)
	if len(said) > 0 { // what is done says the verb, and not what the tool is called
		looking = !slices.ContainsFunc(said, func(verb []string) bool { return !looks(verb) })
	}
	f := c.gather()
	if f.full && !looking {
		a.runs = true
		a.starve(span{})
	}
	for i := range a.table.calls {
		r := &a.table.calls[i]
		if looking && !r.looks || !r.ofName(tool) {
			continue
		}
		pointer, ok := f.among(r.args)
		if !ok {
			continue
		}
		if pointer == "" && len(c.leaves) > 0 {
			pointer = c.leaves[0].Pointer
		}
		a.pointer, a.size = pointer, 0
		a.report(r.effect, r.weight, span{})
	}
}

// verbNames are the names of arguments that say what is done, of a tool that does many things; those of
// toolNames say which tool is called by another one.
var (
	verbNames = set("operation operationname action actionname verb method methodname apicall apiaction function procedure")
	toolNames = set("tool toolname name")
	calling   = set("call invoke batch dispatch use execute")
)

// saidVerbs are the words of what the arguments say is done.
func (c *call) saidVerbs() (all [][]string) {
	for i := range c.leaves {
		l := &c.leaves[i]
		name := plainName(lastName(l.place))
		if l.Fixed || len(l.Text) > 64 || len(all) == 16 || !verbNames[name] && !(toolNames[name] && anyOf(c.words, calling)) || strings.ContainsAny(l.Text, " /\n") {
			continue
		}
		if said := words(l.Text); len(said) > 0 && !isMethod(strings.ToUpper(l.Text)) {
			all = append(all, said)
		}
	}
	return all
}

// deletesByHTTP reports whether a call says that something is deleted at an address of a service, by the
// method of HTTP: this machine's own is somebody's to try out.
func (c *call) deletesByHTTP() bool {
	deletes, here := false, false
	for i := range c.leaves {
		l := &c.leaves[i]
		switch name := plainName(lastName(l.place)); {
		case listed("method httpmethod verb requestmethod", name):
			deletes = deletes || strings.EqualFold(l.Text, "DELETE")
		case strings.Contains(l.Text, "://"):
			here = here || hostOf(l.Text).kind() != "public"
		}
	}
	return deletes && !here
}

// ofName reports whether each group has a word among those of a tool's name.
func (r *callRow) ofName(tool []string) bool {
	for _, group := range r.tool {
		if !slices.ContainsFunc(group, func(p pattern) bool { return slices.ContainsFunc(tool, p.matches) }) {
			return false
		}
	}
	return true
}

// takesByName is what a tool's name says that it takes away: a verb for that, and behind it,
// or just before it, nothing but what lasts.
func takesByName(name []string) (what string) {
	thing := func(word string) string {
		switch {
		case stores[word]:
			return "destroy.store"
		case holders[word], servicesHold[word], watches[word]:
			return "destroy.cloud"
		}
		return ""
	}
	for i, w := range name {
		if !takers[w] && w != "remove" {
			continue
		}
		if i > 0 && i == len(name)-1 && takers[w] {
			return thing(name[i-1])
		}
		for _, behind := range name[i+1:] {
			if is := thing(behind); is != "" {
				what = is
			} else if listed("by for from in with", behind) {
				break
			} else if !listed("all id ids force the a an old multiple many name", behind) {
				return watchingBy(name[i+1:])
			}
		}
		return what
	}
	return ""
}

// watchingBy is what is taken away by the last of some words, the thing that all before it tell more
// of, where that is something by which people watch over a service, or keep rules: an escalation
// policy, an alert rule.
func watchingBy(behind []string) (what string) {
	if i := slices.IndexFunc(behind, func(w string) bool { return listed("by for from in with", w) }); i > 0 {
		behind = behind[:i]
	}
	if watches[behind[len(behind)-1]] {
		return "destroy.cloud"
	}
	return ""
}

// watches are what people watch over a service by, and keep rules with.
var watches = set("policy policies dashboard dashboards monitor monitors alert alerts alarm alarms ruleset rulesets rule rules detector detectors slo slos runbook runbooks")

// servicesHold is what people have in services, besides what holders are.
var servicesHold = set("application applications client clients tenants deployment deployments statefulset lambda release releases distribution connection connections function functions pipeline pipelines job jobs chart customer customers contact contacts")

// toolPrograms are programs after which tools are called, and which then are given words of theirs.
var toolPrograms = set("kubectl oc helm docker podman git gh glab aws gcloud gsutil bq az doctl terraform tofu pulumi ansible argocd flux vault heroku fly flyctl vercel netlify wrangler supabase psql mysql mongosh redis npm pnpm yarn pip cargo systemctl")

// program is the program that a tool is called after; empty where the first of its words is a
// program itself.
func (c *call) program(first string) string {
	if programs()[baseName(first)] || first == "" {
		return ""
	}
	for _, list := range [][]string{c.words, c.names} {
		for _, w := range list {
			if toolPrograms[w] && w != first {
				return w
			}
		}
	}
	return ""
}

// wordsOf reads a command that may be the words of the program that the tool is called after:
// apply -auto-approve, of a tool of terraform's.
func (a *assessor) wordsOf(c *call, text string) {
	if program := c.program(before(strings.TrimSpace(text), ' ')); program != "" && !strings.ContainsAny(text, "\n|;&") {
		a.command(program+" "+text, nil)
	}
}

// What a page keeps of whoever is logged in, and by what a script of a page sends.
var (
	pageKeeps      = lazyregexp.New(`document\.?cookie|cookiestore|(?:^|[^c])localstorage|sessionstorage|indexeddb|navigator\.?credentials`)
	pageSends      = lazyregexp.New(`fetch|sendbeacon|xmlhttprequest|\.src=|websocket|eventsource|location|window\.open|\.action=|\.href=|import|axios|\$\.(?:get|post|ajax)`)
	elsewhereOnNet = lazyregexp.New(`//[a-z0-9.\-\[:]+`)
)

// squeeze puts together what a script writes in pieces.
var squeeze = strings.NewReplacer(" ", "", "\n", "", "\t", "", "'", "", "\"", "", "`", "", "+", "", "[", ".", "]", "", "?.", ".", "..", ".")

// leaksPage reports whether a script sends what a page keeps to a host that it names, however
// the names are put together.
func leaksPage(text string) bool {
	if len(text) > maxNestedText || !strings.Contains(text, "//") {
		return false
	}
	squeezed := strings.ToLower(squeeze.Replace(text))
	if !pageKeeps.MatchString(squeezed) || !pageSends.MatchString(squeezed) {
		return false
	}
	for _, m := range elsewhereOnNet.FindAllString(squeezed, 64) {
		if host := hostOf("http:" + m).name; host != "" && !isLoopback(host) {
			return true
		}
	}
	return false
}
