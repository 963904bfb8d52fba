package effects

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
)

// What a program meets: its arguments and its input, its environment, the modules that were
// written before it, the processes of the machine, and who speaks to it over the network.

// visit is what somebody sends to a server.
var visit = &value{of: "visit", parts: []part{{given, "nc -l -p 8000"}}}

// visited is the line that gives what an attribute of a web framework holds, if somebody else
// sent that: flask.request.args.
func visited(full string) string {
	module, rest, _ := strings.Cut(full, ".")
	if listed("flask bottle quart sanic", module) && strings.HasPrefix(rest, "request.") {
		return "nc -l -p 8000"
	}
	return ""
}

// variable is a variable of the environment.
func (w *walker) variable(name string) *value {
	if name = identifier(name); w.with.Variable != nil {
		if t := w.with.Variable(name); t.Known {
			return t.value()
		}
	}
	return &value{parts: []part{{variable, name}}}
}

// input is what the program reads.
func (w *walker) input() *value { return &value{of: "input", parts: w.with.Input.value().parts} }

// held is what a file holds, if the program's command wrote it before.
func (w *walker) held(v *value) *value {
	if v.of == "file" && w.with.File != nil {
		if name, ok := v.where.known(); ok {
			if source, known := w.with.File(name); known {
				return text(source)
			}
		}
	}
	return content(v)
}

// words are the words that the program is given.
func (w *walker) words(full string) *value {
	if len(w.with.Words) == 0 {
		return &value{what: full}
	}
	v := &value{of: "list"}
	if full == "process.argv" {
		v.items = append(v.items, text("node"))
	}
	for _, t := range w.with.Words {
		v.items = append(v.items, t.value())
	}
	return v
}

// imported is a module: one of the code's own, if it was written before, or one of a library.
func (w *walker) imported(name string) *value {
	plain := module(name)
	for _, file := range w.brought {
		if base := file[strings.LastIndexByte(file, '/')+1:]; base == name+".py" || base == name || file == name || strings.TrimSuffix(base, ".zip") == name {
			w.does(map[string]string{"python": "python3 ", "js": "node "}[w.language] + quote(file))
		}
	}
	if w.language == "js" && w.with.File == nil && (strings.HasPrefix(name, "./") || strings.HasPrefix(name, "/") || strings.HasPrefix(name, "../")) {
		w.does("node " + quote(name))
	}
	if w.with.File == nil || name == "" || len(name) > maxName || len(w.modules) >= maxStars {
		return &value{what: plain}
	}
	if v := w.modules[name]; v != nil {
		return v
	}
	path, rest := name, ""
	if w.language == "python" {
		path = strings.ReplaceAll(strings.TrimLeft(name, "."), ".", "/")
	} else if at := strings.LastIndexByte(name, '.'); at > strings.LastIndexByte(name, '/') && at > 0 {
		path, rest = name[:at], name[at+1:] // of ./lib.js a file, of ./lib.z what is in it
	}
	for _, p := range []string{name, path} {
		for _, end := range map[string][]string{"python": {".py", "/__init__.py"}, "js": {"", ".js", ".mjs", ".cjs", ".ts", "/index.js", ".json"}}[w.language] {
			if w.language == "js" && !strings.ContainsAny(p, "/.") {
				continue
			}
			source, ok := w.with.File(p + end)
			if !ok {
				continue
			}
			if strings.HasSuffix(p+end, ".json") {
				return fromJSON(text(source))
			}
			v := w.loaded(name, source)
			if p == path && path != name && w.language == "js" {
				return v.member(rest)
			}
			return v
		}
	}
	if at := strings.LastIndexByte(name, '.'); w.language == "python" && at > 0 { // a name of a module
		if of := w.imported(name[:at]); of.of == "module" {
			return of.member(name[at+1:])
		}
	}
	if w.language == "js" && (strings.HasPrefix(name, "./") || strings.HasPrefix(name, "/") || strings.HasPrefix(name, "../")) {
		w.does("node " + quote(name))
	}
	return &value{what: plain}
}

// loaded is a module whose source is known: it is run, and has the names that it bound.
func (w *walker) loaded(name, source string) *value {
	v := &value{of: "module", items: []*value{}}
	w.modules[name] = v
	body, _, cut := parsed(w.language, source)
	if w.cut = w.cut || cut; w.depth >= maxCalls {
		return v
	}
	before, globals, loops := w.scope, w.globals, w.loops
	w.scope = &scope{names: map[string]*value{"__name__": text(name)}}
	w.globals, w.loops = w.scope, 0
	out := &value{of: "list", items: []*value{}}
	if w.language == "js" {
		w.scope.names["exports"] = out
		w.scope.names["module"] = &value{of: "list", names: []string{"exports"}, items: []*value{out}}
	}
	w.depth++
	w.run(body, 0)
	w.depth--
	if held := w.scope.names["module"]; held != nil {
		out = held.member("exports")
		if out.f != nil || out.what != "" {
			v = out
			w.modules[name] = v
		}
		v.names, v.items = append(v.names, out.names...), append(v.items, out.items...)
	}
	for _, n := range slices.Sorted(maps.Keys(w.scope.names)) {
		if v.of == "module" && !slices.Contains(v.names, n) {
			v.names, v.items = append(v.names, n), append(v.items, w.scope.names[n])
		}
	}
	w.scope, w.globals, w.loops = before, globals, loops
	return v
}

// sets gives an attribute of an object a value, where that does something.
func (w *walker) sets(on *value, name string, v *value, depth int) {
	switch {
	case name == "__code__" && v.some():
		w.code("exec", v, arguments{}, depth)
	case on.of == "socket" && strings.HasPrefix(name, "on") && v.f != nil: // ws.onmessage = …
		w.hearsFrom(on, v, depth)
	case (name == "exports" || on.names != nil || on.of == "list" && on.items != nil) && len(v.parts)+len(v.items) > 0 || v.f != nil || v.what != "":
		on.put(name, v)
	}
	if on.what == "sys" && (name == "stdin" || name == "stdout") && (v.of == "socket" || v.of == "visit") && w.talks == nil {
		w.talks = gives("nc -l -p 8000")
	}
}

// hearsFrom calls a function with what somebody sends.
func (w *walker) hearsFrom(on, f *value, depth int) {
	line, ok := on.where.known()
	if !ok {
		line = "nc -l -p 8000"
	}
	from := &value{of: "visit", parts: gives(line).parts}
	w.apply(f, arguments{at: []*value{from, from, from}}, depth)
}

// stream is a connection by a library that hands over messages.
func (w *walker) stream(first *value, a arguments) *value {
	s := &value{of: "socket", where: &value{}}
	host := a.is(0, "host", "url", "uri", "address")
	if host.items != nil {
		return w.connect(a)
	}
	if known, ok := host.known(); ok {
		_, rest, has := strings.Cut(known, "://")
		if !has {
			rest = known
		}
		rest, _, _ = strings.Cut(rest, "/")
		name, port, _ := strings.Cut(rest, ":")
		if p, ok := a.is(1, "port").known(); ok && port == "" {
			port = p
		}
		if port == "" {
			port = "80"
		}
		if local := listed("localhost 127.0.0.1 [", name) || name == ""; !local {
			s.where.parts = []part{{said, "nc " + quote(name) + " " + quote(port)}}
			w.talks = gives("nc " + quote(name) + " " + quote(port))
		}
	}
	for _, name := range []string{"on_message", "on_open", "on_data", "callback"} {
		if f := a.named[name]; f != nil {
			w.hearsFrom(s, f, 0)
		}
	}
	return s
}

// asks notes what a process, or what belongs to it, is compared with.
func (w *walker) asks(a, b *value) {
	for _, pair := range [][2]*value{{a, b}, {b, a}} {
		if s, ok := pair[0].known(); ok && s != "" && len(w.sought) < 16 && len(s) < 64 && (pair[1].of == "process" || pair[1].of == "number" || len(pair[1].parts) == 0 || pair[1].parts[0].kind == given) {
			w.sought = append(w.sought, s)
		}
	}
}

// kills ends processes: one, all that it may, or those that it asked for.
func (w *walker) kills(kind string, which, signal *value) {
	with := "-TERM"
	if n, ok := signal.known(); ok && signal.of == "number" {
		with = "-" + n
	} else if strings.HasSuffix(signal.what, "SIGKILL") {
		with = "-KILL"
	} else if ok && strings.HasPrefix(n, "SIG") {
		with = "-" + strings.TrimPrefix(n, "SIG")
	}
	if n, ok := signal.known(); ok && n == "0" {
		return // it only asks whether there is one
	}
	id, known := which.known()
	switch {
	case which.of == "process" && !which.some() || which.of == "processes", !known && slices.ContainsFunc(which.parts, func(p part) bool { return p.kind == pattern }):
		if len(w.sought) == 0 {
			w.does("kill " + quote(with) + " -- -1")
		}
		for _, s := range w.sought {
			if _, err := strconv.Atoi(s); err == nil {
				w.does("fuser -k " + s + "/tcp")
			} else {
				w.does("pkill -f " + quote(s))
			}
		}
	case known && kind == "killpg":
		w.does("kill " + quote(with) + " -- -" + quote(strings.TrimPrefix(id, "-")))
	case known && strings.HasPrefix(id, "-"):
		w.does("kill " + quote(with) + " -- " + quote(id))
	default:
		w.does("kill " + quote(with) + " " + words(which))
	}
}

// writesTo writes into what a number of an open file, or a map, stands for.
func (w *walker) writesTo(f, data *value) {
	switch f.of {
	case "file":
		w.write(f.where, content(data), map[bool]string{true: ">>", false: ">"}[f.added])
	case "socket":
		w.method(f, "send", arguments{at: []*value{data}}, 0)
	}
}

// unpickled is what a text of objects makes: the functions that it names are called.
func (w *walker) unpickled(v *value, depth int) *value {
	if line, ok := v.where.known(); ok && v.of == "socket" {
		v = gives(line)
	}
	v = w.held(v)
	s, ok := v.known()
	switch {
	case v.hides():
		w.Hidden = true
	case ok:
		if w.pickled(s, depth) {
			break
		}
		if strings.Contains(s, "R") && pickledCall.MatchString(s) {
			w.Hidden = true
			for _, m := range pickledText.FindAllStringSubmatch(s, 16) {
				w.does(m[1])
			}
		}
	default:
		for _, p := range v.parts {
			if p.kind == given && (strings.HasPrefix(p.text, "nc ") || strings.HasPrefix(p.text, "curl ")) {
				w.does("python3 -c " + v.word()) // whose objects are code
			}
		}
	}
	return v
}

var (
	pickledCall = lazyregexp.New(`(?:c|\x8c.)(?:os|posix|nt|subprocess|builtins|__builtin__|shutil|commands|pty|runpy|importlib|sys|socket|timeit|code)\b`)
	pickledText = lazyregexp.New(`(?:S'|V|X....|\x8c.)([^'\n]{3,256})`)
)

// yaml reads a text of YAML by a loader that makes objects: !!python/object/apply:os.system.
func (w *walker) yaml(what string, v *value, a arguments, depth int) *value {
	v = w.held(v)
	loader := a.is(1, "Loader").what
	if strings.HasPrefix(what, "yaml.load") && (loader == "" || strings.Contains(loader, "Safe") || strings.Contains(loader, "Base")) && len(a.at)+len(a.named) > 1 {
		return v
	}
	s, ok := v.known()
	if !ok {
		if w.language == "python" {
			w.evaluates(v)
		}
		w.Hidden = w.Hidden || v.hides()
		return v
	}
	for _, m := range yamlCall.FindAllStringSubmatch(s, 16) {
		body, _, _ := parsed("python", m[2])
		args := []*value{}
		for line := range strings.Lines(m[3]) { // a list, one on each line
			if item := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "-")); item != "" {
				args = append(args, text(strings.Trim(item, `'"`)))
			}
		}
		for _, st := range body {
			args = append(args, flat([]*value{w.eval(st.value, depth)})...)
		}
		if strings.HasPrefix(m[0], "!!python/name") || strings.HasPrefix(m[0], "!!python/module") { // which calls nothing
			continue
		}
		if _, done := w.apply(&value{what: module(m[1])}, arguments{at: args}, depth); !done && !strings.HasPrefix(m[1], "collections.") {
			w.Dark = true
		}
	}
	return v
}

var yamlCall = lazyregexp.New(`!!python/(?:object/(?:apply|new)|name|module|object):([\w.]+)[ \t]*([^\n]*)((?:\n[ \t]*-[^\n]*)*)`)

// configured is a table in which "()" names what is called, with the rest as its arguments.
func (w *walker) configured(v *value, level, depth int) {
	if w.steps++; level > 8 || w.steps > maxSteps || v == nil {
		return
	}
	if what, ok := v.member("()").known(); ok {
		a := arguments{named: map[string]*value{}}
		for i, name := range v.names {
			if name != "()" && i < len(v.items) {
				a.named[name] = v.items[i]
			}
		}
		w.apply(&value{what: module(what)}, a, depth)
	} else if f := v.member("()"); f != nothing {
		w.apply(f, arguments{named: map[string]*value{}}, depth)
	}
	for _, item := range v.items {
		w.configured(item, level+1, depth)
	}
}

// doctest runs the examples in the code's texts.
func (w *walker) doctest() {
	var b strings.Builder
	for line := range strings.Lines(w.source) {
		line = strings.TrimSpace(line)
		for _, mark := range []string{">>> ", "... "} {
			if rest, ok := strings.CutPrefix(line, mark); ok {
				b.WriteString(rest + "\n")
			}
		}
	}
	if b.Len() > 0 && b.Len() < maxText {
		w.does("python3 -c " + quote(b.String()))
	}
}

// named is a bound argument of a function, by its name; nil where it has none.
func (v *value) named(name string) *value {
	if i := slices.Index(v.names, name); i >= 0 && i < len(v.bound) {
		return v.bound[i]
	}
	return nil
}

// listed1 is a list that a function makes of others.
func listed1(what string, a arguments) *value {
	first := a.is(0)
	if first.of == "dotenv" {
		return first
	}
	switch what {
	case "reversed":
		if first.items == nil && !first.plain() {
			return first
		}
		back := slices.Clone(each(first))
		slices.Reverse(back)
		return listOf(back)
	case "enumerate", "Object.entries", "zip":
		var lists [][]*value
		switch what {
		case "zip":
			for _, v := range a.at {
				lists = append(lists, each(v))
			}
		case "enumerate":
			lists = [][]*value{nil, each(first)}
		default:
			lists = [][]*value{textsOf(first.names).items, first.items}
		}
		if len(lists) < 2 {
			return first
		}
		all := []*value{}
		for i, item := range lists[1][:min(len(lists[1]), maxItems)] {
			if what == "zip" && i >= len(lists[0]) {
				break
			}
			pair := []*value{count(int64(i)), item}
			if i < len(lists[0]) {
				pair[0] = lists[0][i]
			}
			for _, more := range lists[min(2, len(lists)):] {
				if i < len(more) {
					pair = append(pair, more[i])
				}
			}
			all = append(all, listOf(pair))
		}
		return listOf(all)
	case "range":
		var n [3]int64
		for i := range min(len(a.at), 3) {
			s, ok := a.at[i].known()
			if n[i], _ = integer(s); !ok {
				return nothing
			}
		}
		from, to, by := n[0], n[1], n[2]
		if len(a.at) == 1 {
			from, to = 0, n[0]
		}
		if len(a.at) < 3 {
			by = 1
		}
		if by == 0 || (to-from)/by > maxRange {
			return nothing
		}
		all := []*value{}
		for i := from; (by > 0 && i < to || by < 0 && i > to) && len(all) <= maxRange; i += by {
			all = append(all, count(i))
		}
		return listOf(all)
	case "Object.keys":
		return textsOf(first.names)
	case "Object.values":
		return listOf(first.items)
	case "dict", "Object.fromEntries":
		v := &value{of: "list", items: []*value{}}
		for _, name := range slices.Sorted(maps.Keys(a.named)) {
			v.names, v.items = append(v.names, name), append(v.items, a.named[name])
		}
		for _, pair := range first.items {
			if key, ok := (arguments{at: pair.items}).is(0).known(); ok && len(first.names) == 0 {
				v.names, v.items = append(v.names, key), append(v.items, (arguments{at: pair.items}).is(1))
			}
		}
		if len(first.names) > 0 {
			v.names, v.items = append(v.names, first.names...), append(v.items, first.items...)
		}
		return v
	}
	return first
}

// maxRange is the longest list of numbers that is made: what texts are picked together with.
const maxRange = 64

// counted is a number that is made of something.
func counted(what string, a arguments) *value {
	first := a.is(0)
	s, ok := first.known()
	switch {
	case what == "len" && first.items != nil:
		return count(int64(len(first.items)))
	case !ok:
		return &value{of: first.of, parts: first.parts}
	case what == "len":
		return count(int64(len([]rune(s))))
	case what == "ord":
		for _, r := range s {
			return count(int64(r))
		}
		return nothing
	}
	base := 10
	if by, known := a.is(1, "base").known(); known {
		n, _ := integer(by)
		base = int(max(min(n, 36), 0))
	} else if strings.HasPrefix(s, "0") && len(s) > 2 && what != "int" {
		base = 0
	}
	if base == 1 {
		return nothing
	}
	n, err := strconv.ParseInt(strings.TrimSpace(strings.ReplaceAll(s, "_", "")), base, 64)
	if err != nil && base == 16 {
		n, err = strconv.ParseInt(strings.TrimPrefix(strings.ToLower(s), "0x"), 16, 64)
	}
	if err != nil {
		return &value{of: "number", parts: first.parts}
	}
	return count(n)
}

// summed is what is made of a list's items, one after the other.
func (w *walker) summed(what string, a arguments, depth int) *value {
	switch what {
	case "operator.add", "operator.concat":
		return join(a.at...)
	case "functools.reduce":
		f, list := a.is(0), w.each(a.is(1))
		if len(list) == 0 || len(list) > 256 {
			return nothing
		}
		result := list[0]
		list = list[1:]
		if len(a.at) > 2 {
			result, list = a.at[2], append([]*value{result}, list...)
		}
		for _, item := range list {
			v, done := w.apply(f, arguments{at: []*value{result, item}}, depth)
			if !done {
				return obscure
			}
			result = v
		}
		return result
	}
	first := a.is(0)
	if first.items == nil {
		return first
	}
	if len(first.items) > 0 && first.items[0].items != nil {
		all := []*value{}
		for _, item := range first.items {
			all = w.extended(all, item.items)
		}
		return listOf(all)
	}
	if what == "sum" {
		return &value{of: "number"}
	}
	return join(first.items...)
}
