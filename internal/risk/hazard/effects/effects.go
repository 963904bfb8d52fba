// Package effects reads what code of Python and JavaScript does, as the lines of a shell that
// would do the same: what it runs, reads, writes, deletes and sends, and with which values. So
// there is one reader of effects, whatever language they are written in.
//
//	effects.Of("python", `import shutil; shutil.rmtree("/ho" + "me")`).Lines // rm -rf '/home'
//
// The code is parsed, and evaluated as far as its values are known: names that modules and
// functions were given, texts that are put together, functions that are called. What is not
// known is $UNKNOWN in a line; and an effect of which nothing is known, since even what is
// called was put together, makes the whole Dark. All branches are taken, once. Nothing is
// executed, and everything is bounded: code that is too large or too deep is Dark.
package effects

import (
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Effects are what code does.
type Effects struct {
	Lines []string // of a shell, in their order
	Reads []string // the files that it reads, as far as their names are known
	// Evaluates are those of which it runs what stands in them: eval(open("x").read()), pickle.load(f).
	Evaluates []string
	Dark      bool // what it does cannot be known
	// Hidden says that what can do harm is done to, or found by, a value that is put together
	// of texts in the code, in a way that is not understood.
	Hidden bool
	// Texts are texts of the code that it gives to functions of which nothing is known.
	Texts []string
	// Whole says that all of it was understood as its language.
	Whole bool
	// Cut says that not all of it was read, since it is too large or too deep, and that what
	// was left calls something by a name that may be put together.
	Cut   bool
	Steps int // that were taken to read it
}

// Given is what a program is given besides its code. The zero Given is nothing that is known.
type Given struct {
	Words []Text // its arguments; the first is what is run
	Input Text   // what it reads
	// Variable is what a variable of its environment is set to.
	Variable func(name string) Text
	// File is the content of a file that was written before.
	File func(name string) (content string, known bool)
}

// Text is a text from outside of a program. What is not known of it stands in Name, as the
// variable of a shell that holds it. The zero Text is none.
type Text struct {
	Said  string
	Known bool
	Name  string
}

func (t Text) value() *value {
	switch {
	case t.Known:
		return text(t.Said)
	case t.Name != "":
		return &value{parts: []part{{variable, t.Name}}}
	}
	return nothing
}

// Of reads code of a language, "python" or "js".
func Of(language, source string, with Given) Effects {
	if language == "python" && !plainly(source) {
		return Effects{Hidden: true}
	}
	body, whole, cut := parsed(language, source)
	if len(body) == 0 {
		return Effects{Dark: cut, Whole: whole, Cut: cut && callsByName(language, source)}
	}
	w := &walker{language: language, globals: &scope{names: map[string]*value{}}, attributes: map[string]*value{}, called: map[*node]int{}, with: with, source: source, modules: map[string]*value{}}
	w.scope = w.globals
	w.run(body, 0)
	for i := 0; i < len(w.functions) && w.steps < maxSteps; i++ { // who calls them is not seen
		if f := w.functions[i]; w.called[f.f] == 0 {
			w.invoke(f, arguments{}, 0)
		}
	}
	if w.anyText {
		w.Evaluates = append(w.Evaluates, w.Reads...)
	}
	w.Whole, w.Steps = whole, w.steps
	cut = cut || w.cut || w.steps >= maxSteps
	w.Dark = w.Dark || cut
	w.Cut = cut && callsByName(language, source)
	return w.Effects
}

// Whole reports whether a text is a program of a language.
func Whole(language, source string) bool {
	body, whole, _ := parsed(language, source)
	return whole && len(body) > 0
}

// parsed reads a program. whole says that all of it is one, cut that not all was read.
func parsed(language, source string) (body []*statement, whole, cut bool) {
	if len(source) > maxCode {
		return nil, false, true
	}
	switch language {
	case "python":
		return parsePython(source)
	case "js":
		return parseJavaScript(source)
	}
	return nil, false, false
}

// byName are the words by which code calls what it has no plain name for. What has one is seen
// in the text, too, however long that is.
var byName = map[string]map[string]bool{
	"python": wordSet("getattr __import__ import_module eval exec globals locals vars __builtins__ builtins __dict__ __getattribute__ __subclasses__ __globals__ attrgetter methodcaller run_path run_module"),
	"js":     wordSet("globalThis global eval Function Reflect mainModule createRequire importScripts runInThisContext runInNewContext"),
}

func wordSet(list string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		m[w] = true
	}
	return m
}

// callsByName reports whether code has one of those words outside of a longer one, or requires
// what is no plain text.
func callsByName(language, source string) bool {
	of := byName[language]
	for i := 0; i < len(source); {
		if !letter(source[i]) {
			i++
			continue
		}
		j := i
		for j < len(source) && (letter(source[j]) || source[j] >= '0' && source[j] <= '9') {
			j++
		}
		word := source[i:j]
		if of[word] || !norm.NFKC.IsNormalString(word) || word == "constructor" && i > 0 && strings.IndexByte(`.'"`+"`", source[i-1]) >= 0 {
			return true
		}
		if language == "js" && (word == "require" || word == "import") {
			rest := strings.TrimLeft(source[j:], " \t\r\n")
			if after, called := strings.CutPrefix(rest, "("); called {
				after = strings.TrimLeft(after, " \t\r\n")
				if after == "" || !strings.ContainsRune(`'"`, rune(after[0])) {
					return true
				}
			} else if word == "require" && !strings.HasPrefix(rest, ".") {
				return true // handed on under another name
			}
		}
		i = j
	}
	return false
}

// value is what an expression is, as far as that is known.
type value struct {
	parts []part // as a text
	what  string // the name of a module or a function of a library, with dots
	of    string // what sort of object it is: path, file, socket, http, answer
	items []*value
	names []string // of an object's items
	bound []*value // of a function some of whose arguments are given, by names
	f     *node    // a function of the code's own
	where *value   // of a file its path, of a connection its address
	added bool     // what is written is added
	in    *scope   // of a function: the names around it
}

// part is a part of a text: what it says, or where that comes from.
type part struct {
	kind partKind
	text string
}

type partKind uint8

const (
	unknown  partKind = iota
	said              // this text
	given             // what a line of a shell gives
	variable          // of the environment
	pattern           // names of files
	hidden            // what stands in the code, in a form that is not read
)

var nothing = &value{}

func text(s string) *value { return &value{parts: []part{{said, s}}} }

// modulesFolder is where Python finds modules that somebody has installed.
func modulesFolder() *value {
	return &value{parts: []part{{variable, "HOME"}, {said, "/.local/lib/python3/site-packages"}}}
}

// gives is what a line gives. Of one that is too long, since it was put together of itself,
// nothing is known.
func gives(line string) *value {
	if len(line) > maxText {
		return &value{parts: []part{{}}}
	}
	return &value{parts: []part{{given, line}}}
}

// known is a value's text, if all of it is known.
func (v *value) known() (string, bool) {
	if v == nil || len(v.parts) == 0 {
		return "", false
	}
	if len(v.parts) == 1 {
		return v.parts[0].text, v.parts[0].kind == said
	}
	var b strings.Builder
	for _, p := range v.parts {
		if p.kind != said {
			return "", false
		}
		b.WriteString(p.text)
	}
	return b.String(), true
}

// some reports whether anything is known of a text.
func (v *value) some() bool {
	return v != nil && slices.ContainsFunc(v.parts, func(p part) bool { return p.kind != unknown && p.text != "" })
}

// somewhere reports whether it is known where a path begins: what lies below a place that is
// not known may be anywhere.
func (v *value) somewhere() bool {
	return v != nil && len(v.parts) > 0 && v.parts[0].kind != unknown && v.some()
}

// word is a value as one word of a shell.
func (v *value) word() string {
	if v == nil || len(v.parts) == 0 {
		return `"$UNKNOWN"`
	}
	var b strings.Builder
	for _, p := range v.parts {
		switch p.kind {
		case said:
			b.WriteString(quote(p.text))
		case given:
			b.WriteString(`"$(` + p.text + `)"`)
		case variable:
			b.WriteString(`"$` + p.text + `"`)
		case pattern:
			b.WriteString(p.text)
		default:
			b.WriteString(`"$UNKNOWN"`)
		}
	}
	return b.String()
}

// line is a value as a text of a shell, which is read as one.
func (v *value) line() string {
	var b strings.Builder
	for _, p := range v.parts {
		switch p.kind {
		case said:
			b.WriteString(p.text)
		case given:
			b.WriteString("$(" + p.text + ")")
		case variable:
			b.WriteString("$" + p.text)
		case pattern:
			b.WriteString(p.text)
		default:
			b.WriteString("$UNKNOWN")
		}
	}
	return b.String()
}

func quote(s string) string {
	s = strings.ReplaceAll(s, "\x00", "")
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-:@%+=,") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// join puts texts together.
func join(list ...*value) *value {
	all := &value{}
	size := 0
	var run strings.Builder // of texts that stand together
	saying := false
	end := func() {
		if saying {
			all.parts = append(all.parts, part{said, run.String()})
			run.Reset()
			saying = false
		}
	}
	for _, v := range list {
		parts := []part{{}}
		if v != nil && len(v.parts) > 0 {
			parts = v.parts
		}
		for _, p := range parts {
			if size += len(p.text); size > maxText || len(all.parts) >= maxParts {
				end()
				all.parts = append(all.parts, part{}) // and whatever else
				return all
			}
			if p.kind == said {
				saying = true
				run.WriteString(p.text)
				continue
			}
			end()
			all.parts = append(all.parts, p)
		}
	}
	end()
	return all
}

// walker evaluates code.
type walker struct {
	Effects
	language   string
	globals    *scope
	scope      *scope
	attributes map[string]*value // of objects of which nothing else is known
	functions  []*value
	called     map[*node]int
	with       Given
	source     string
	modules    map[string]*value // those that were written before
	sought     []string          // what processes are asked about
	folder     *value            // where it went
	talks      *value            // whom it listens to
	brought    []string          // files that it fetched
	loops      int               // that it is in
	stars      []string          // modules all of whose names are names here
	steps      int
	size       int
	depth      int // of functions
	cut        bool
	anyText    bool // it runs a text of which nothing is known
}

// scope is the names of a function, in those of what is around it.
type scope struct {
	names map[string]*value
	up    *scope
}

func (s *scope) find(name string) *value {
	for ; s != nil; s = s.up {
		if v := s.names[name]; v != nil {
			return v
		}
	}
	return nil
}

// does notes a line.
func (w *walker) does(line string) {
	if len(line) > maxText {
		w.Dark, line = true, line[:maxText]
	}
	if len(w.Lines) == maxLines || w.size+len(line) > maxScript {
		w.Dark, w.cut = true, true
		return
	}
	if !slices.Contains(w.Lines, line) {
		w.size += len(line)
		w.Lines = append(w.Lines, line)
	}
}

func (w *walker) reads(path *value) {
	if p, ok := path.known(); ok && len(w.Reads) < maxLines {
		w.Reads = append(w.Reads, p)
	}
}

// evaluates notes the files of which a value holds what stands in them: it is run, or makes objects that may
// do anything. Of a value of which nothing is known it may be that of each file that the code reads.
func (w *walker) evaluates(v *value) {
	v = content(v)
	w.anyText = w.anyText || v.f == nil && v.what == "" && len(v.parts) == 0
	for _, p := range v.parts {
		for line := range strings.FieldsFuncSeq(p.text, func(r rune) bool { return strings.ContainsRune("|;&\n", r) }) {
			name, reads := strings.CutPrefix(strings.TrimSpace(line), "cat ")
			if p.kind == given && reads && len(w.Evaluates) < maxLines {
				w.Evaluates = append(w.Evaluates, strings.ReplaceAll(strings.Trim(name, "'"), `'\''`, "'"))
			}
		}
	}
}

// run evaluates statements, and returns what they return.
func (w *walker) run(body []*statement, depth int) (back *value) {
	for _, s := range body {
		if w.steps++; w.steps > maxSteps || depth > maxNesting {
			return back
		}
		switch s.kind {
		case imports:
			for i := 0; i+1 < len(s.names); i += 2 {
				if module, all := strings.CutSuffix(s.names[i+1], ".*"); all {
					if slices.Contains(w.stars, module) {
						continue
					}
					if len(w.stars) == maxStars {
						w.Dark = true
						continue
					}
					w.stars = append(w.stars, module)
					continue
				}
				w.scope.names[s.names[i]] = w.imported(s.names[i+1])
			}
		case assign, extend:
			v := w.eval(s.value, depth)
			for _, t := range s.targets {
				if s.kind == extend {
					v = join(w.eval(t, depth), v)
				}
				w.bind(t, v, depth)
			}
		case repeated:
			of := w.eval(s.value, depth)
			rounds, most := w.each(of), maxOuter
			if w.loops > 0 || w.depth > 0 {
				most = maxRounds
			}
			w.loops++
			for _, item := range rounds[:min(len(rounds), most)] {
				if len(s.targets) == 1 {
					w.bind(s.targets[0], item, depth)
				} else {
					w.bind(one(list, "", s.targets...), item, depth)
				}
				if b := w.run(s.body, depth+1); b != nil {
					back = b
				}
			}
			w.loops--
		case returned:
			if v := w.eval(s.value, depth); back == nil || !back.some() {
				back = v
			}
		default:
			w.eval(s.value, depth)
			if b := w.run(s.body, depth+1); b != nil {
				back = b
			}
			if s.again && w.loops == 0 { // what the first time left for the next
				w.loops++
				w.run(s.body, depth+1)
				w.loops--
			}
		}
	}
	return back
}

// bind gives a target a value.
func (w *walker) bind(t *node, v *value, depth int) {
	switch {
	case t == nil:
	case t.kind == name:
		w.scope.names[t.text] = v
	case t.kind == attribute:
		on := w.eval(t.kids[0], depth)
		w.attributes[t.text] = v
		w.sets(on, t.text, v, depth)
	case t.kind == index || t.kind == cut:
		on := w.eval(t.kids[0], depth)
		if on.of == "file" { // a map of one
			w.write(on.where, content(v), ">")
		} else if key, ok := w.eval(t.kids[1], depth).known(); ok && t.kind == index {
			on.put(key, v)
		}
	case t.kind == list || t.kind == object:
		for i, kid := range t.kids {
			item := nothing
			switch {
			case t.kind == object && v.what != "":
				item = &value{what: v.what + "." + t.names[i]}
			case t.kind == object:
				item = v.member(t.names[i])
			case i < len(v.items):
				item = v.items[i]
			}
			w.bind(kid, item, depth)
		}
	case t.kind == spread:
		w.bind(t.kids[0], v, depth)
	}
}

// member is what an object has under a name.
func (v *value) member(name string) *value {
	if i := slices.Index(v.names, name); i >= 0 && i < len(v.items) {
		return v.items[i]
	}
	return nothing
}

// eval evaluates an expression.
func (w *walker) eval(n *node, depth int) *value {
	if n == nil {
		return nothing
	}
	if w.steps++; w.steps > maxSteps || depth > 2*maxNesting {
		return nothing
	}
	depth++
	switch n.kind {
	case literal:
		return text(n.text)
	case octets:
		return &value{of: "bytes", parts: []part{{said, n.text}}}
	case number:
		return &value{parts: []part{{said, n.text}}, of: "number"}
	case name:
		return w.named(n.text)
	case attribute:
		return w.attribute(w.eval(n.kids[0], depth), n.text)
	case joined:
		all := make([]*value, len(n.kids))
		for i, kid := range n.kids {
			all[i] = w.eval(kid, depth)
		}
		return join(all...)
	case binary:
		return w.binary(n.text, w.eval(n.kids[0], depth), w.eval(n.kids[1], depth))
	case cut:
		return w.slice(w.eval(n.kids[0], depth), w.eval(n.kids[1], depth), w.eval(n.kids[2], depth), w.eval(n.kids[3], depth))
	case index:
		of, at := w.eval(n.kids[0], depth), w.eval(n.kids[1], depth)
		return w.index(of, at)
	case list, object:
		v := &value{of: "list", names: n.names, items: []*value{}}
		for i, kid := range n.kids {
			if w.steps > maxSteps {
				break
			}
			item := w.eval(kid, depth)
			if kid.kind == spread && n.kind == list && (item.items != nil || item.plain()) {
				v.items = w.extended(v.items, w.each(item))
				continue
			}
			if n.kind == object && i < len(n.names) && n.names[i] == "" && len(item.names) > 0 { // {...x}
				continue
			}
			v.items = append(v.items, item)
		}
		return v
	case spread:
		return w.eval(n.kids[0], depth)
	case function:
		f := &value{f: n, in: w.scope}
		if len(w.functions) < 500 {
			w.functions = append(w.functions, f)
		}
		return f
	case collection:
		of := w.eval(n.kids[2], depth)
		rounds := w.each(of)
		v := &value{of: "list", items: []*value{}}
		for _, item := range rounds[:min(len(rounds), 256)] {
			targets := n.kids[1]
			if len(targets.kids) == 1 {
				targets = targets.kids[0]
			}
			w.bind(targets, item, depth)
			v.items = append(v.items, w.eval(n.kids[0], depth))
		}
		return v
	case call:
		return w.call(n, depth)
	}
	last := nothing
	if n.text == "if" && len(n.kids) == 2 { // what is taken where it is so
		v := w.eval(n.kids[0], depth)
		w.eval(n.kids[1], depth)
		return v
	}
	for _, kid := range n.kids {
		if v := w.eval(kid, depth); !last.some() && last.what == "" {
			last = v
		}
	}
	if n.text == "or" { // one of them
		return last
	}
	return &value{parts: last.parts}
}

// named is what a name stands for.
func (w *walker) named(text string) *value {
	if v := w.scope.find(text); v != nil {
		return v
	}
	if text == "this" {
		return nothing
	}
	for _, module := range w.stars {
		if _, ok := calls[module+"."+text]; ok {
			return &value{what: module + "." + text}
		}
	}
	return &value{what: module(text)}
}

// roots are names in front of which nothing is meant.
var roots = []string{"builtins.", "__builtins__.", "__builtin__.", "globalThis.", "global.", "window.", "self.process.", "node:"}

// module is the one name of a module or of what is in it; none for one too long to be any.
func module(name string) string {
	if len(name) > maxName {
		return ""
	}
	for _, root := range roots {
		if rest, ok := strings.CutPrefix(name, root); ok && rest != "" {
			name = rest
		}
	}
	name = strings.ReplaceAll(name, "fs/promises", "fs")
	for _, drop := range []string{".promises", ".default", ".__dict__", ".__call__", "asyncio.subprocess."} {
		name = strings.ReplaceAll(name, drop, "")
	}
	return name
}

// attribute is what a value has under a name.
func (w *walker) attribute(v *value, name string) *value {
	switch {
	case v.what != "":
		full := module(v.what + "." + name)
		switch full {
		case "os.sep", "path.sep":
			return text("/")
		case "sys.argv", "process.argv":
			return w.words(full)
		case "process.execPath", "process.argv0":
			return text("node")
		case "sys.executable":
			return text("python3")
		case "site.USER_SITE":
			return modulesFolder()
		case "sys.stdin", "process.stdin", "sys.__stdin__", "sys.stdin.buffer":
			return w.input()
		}
		if flag := full[strings.LastIndexByte(full, '.')+1:]; strings.HasPrefix(flag, "O_") {
			return &value{of: "flags", parts: []part{{said, flag}}}
		}
		if from := visited(full); from != "" {
			return gives(from)
		}
		for _, settings := range []string{"process.env.", "Bun.env.", "django.conf.settings."} {
			if of, ok := strings.CutPrefix(full, settings); ok {
				return w.variable(of)
			}
		}
		return &value{what: full}
	case name == "constructor" && (v.f != nil || v.of == "constructor"):
		return &value{what: "Function"}
	case name == "constructor":
		return &value{of: "constructor"}
	case name == "pid" && v.of == "process":
		return v
	case v.of == "dotenv" && w.language == "js":
		if name == "parsed" {
			return v
		}
		return setting(v, name)
	case v.of == "buffer":
		return &value{of: "bound", where: v, names: []string{name}}
	case v.of == "visit":
		return &value{of: "visit", parts: v.parts}
	case v.of == "module":
		if found := v.member(name); found != nothing {
			return found
		}
		return nothing
	case v.of == "path" && (name == "parent" || name == "name" || name == "stem"):
		return &value{of: "path", parts: append(slices.Clip(v.parts), part{})}
	case len(v.names) > 0:
		return v.member(name)
	case v.of == "answer" || v.of == "path":
		return v
	}
	if name == "rfile" && v.of == "" { // of who handles a server's request
		return visit
	}
	if found := w.attributes[name]; found != nil && len(v.parts) == 0 {
		return found
	}
	if f := w.globals.names[name]; f != nil && f.f != nil && len(v.parts) == 0 {
		return f
	}
	return &value{parts: v.parts}
}

// identifier is a name that a shell may have.
func identifier(s string) string {
	if s == "" || len(s) > 64 || strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" || s[0] <= '9' {
		return "UNKNOWN"
	}
	return s
}

// setting is one variable of a file of them.
func setting(of *value, name string) *value {
	return gives("grep '^" + identifier(name) + "=' " + of.where.word())
}

func (w *walker) index(of, at *value) *value {
	key, ok := at.known()
	switch {
	case of.what == "os.environ" || of.what == "process.env":
		if at.hides() {
			w.Hidden = true
		}
		return w.variable(key)
	case of.of == "dotenv" && ok:
		return setting(of, key)
	case of.what == "sys.modules" || of.what == "globals" || of.what == "locals":
		if !ok {
			w.Dark = true
			w.Hidden = w.Hidden || at.hides()
			return nothing
		}
		return w.named(key)
	case of.what != "" && ok:
		return w.attribute(of, key)
	case of.what != "" && dangerous(of.what):
		w.Dark = true
		w.Hidden = w.Hidden || at.hides()
		return nothing
	case len(of.names) > 0 && ok:
		return of.member(key)
	case of.items != nil && ok:
		if i, is := integer(key); is && i < 0 {
			key = ""
			if int(-i) <= len(of.items) {
				return of.items[len(of.items)+int(i)]
			}
		} else if is && int(i) < len(of.items) {
			return of.items[i]
		}
		return nothing
	}
	if of.of == "visit" {
		return of
	}
	if _, known := of.known(); known && ok {
		if i, is := integer(key); is {
			all := w.each(of)
			if i < 0 {
				i += int64(len(all))
			}
			if i >= 0 && int(i) < len(all) {
				return all[i]
			}
		}
	}
	if of.own() && at.own() {
		return obscure
	}
	return &value{parts: of.parts}
}

func (w *walker) binary(sign string, a, b *value) *value {
	switch {
	case sign == "/" && (a.of == "path" || b.of == "path"):
		return &value{of: "path", parts: pathOf(a, b).parts}
	case sign == "+" && a.items != nil && b.items != nil:
		return &value{of: "list", items: w.extended(slices.Clip(a.items), b.items)}
	case sign == "+" && (a.of != "number" || b.of != "number"):
		return join(a, b)
	case a.of == "flags" || b.of == "flags":
		return &value{of: "flags", parts: join(a, text("|"), b).parts}
	case sign == "==" || sign == "===" || sign == "in" || sign == "is":
		w.asks(a, b)
		return nothing
	case sign == "%" && len(a.parts) > 0 && a.of != "number":
		return percent(a, b)
	case sign == "*" && a.of != "number":
		if n, ok := b.known(); ok && a.some() {
			if i, is := integer(n); is && i >= 0 && i < 64 {
				return join(slices.Repeat([]*value{a}, int(i))...)
			}
		}
		return &value{parts: a.parts}
	case (sign == "and" || sign == "&&") && (b.some() || b.what != "" || b.items != nil):
		return b
	case sign == "or" || sign == "||" || sign == "??" || sign == "and" || sign == "&&":
		if a.some() || a.what != "" || a.items != nil {
			return a
		}
		return b
	case a.own() && b.own():
		x, _ := a.known()
		y, _ := b.known()
		if n, ok := computed(sign, x, y); ok {
			return count(n)
		}
		return obscure
	}
	return nothing
}

// extended is a list with more behind it: of one that would be too long, what is known is its
// beginning. Lists are put together of themselves, and so grow in a few lines beyond any memory.
func (w *walker) extended(list, more []*value) []*value {
	if len(list)+len(more) > maxItems {
		w.Dark, w.cut = true, true
		more = more[:max(0, maxItems-len(list))]
	}
	return append(list, more...)
}

// pathOf joins parts of a path: an absolute one begins anew.
func pathOf(list ...*value) *value {
	var all []*value
	for i, v := range list {
		if s, ok := v.known(); ok && strings.HasPrefix(s, "/") {
			all = nil
		} else if i > 0 {
			all = append(all, text("/"))
		}
		all = append(all, v)
	}
	return join(all...)
}
