package effects

import (
	"slices"
	"strings"
)

// takesIn are methods that only connections have, by which what comes over one is taken.
var takesIn = map[string]bool{"recv": true, "recvfrom": true, "recv_into": true, "recv_string": true, "receive_text": true, "receive_bytes": true}

// method does what a method of a value does, by its name; done is false where nothing is known
// of it.
func (w *walker) method(on *value, name string, a arguments, depth int) (v *value, done bool) {
	first := a.is(0)
	if name == "pipe" && (first.of == "socket" || first.of == "answer") {
		return w.method(first, "write", arguments{at: []*value{content(on)}}, depth)
	}
	if on.of == "" && on.what == "" && takesIn[name] { // of a connection that somebody else made
		if w.talks == nil {
			return visit, true
		}
		return w.talks, true
	}
	switch on.of {
	case "file":
		switch name {
		case "read", "readlines", "readline", "text", "json", "arrayBuffer", "__enter__", "pipe":
			if v := w.held(on); v.plain() {
				return v, true
			}
			if on.where.some() {
				return gives("cat " + on.where.word()), true
			}
		case "write", "writelines", "end", "writeText":
			return w.write(on.where, content(first), map[bool]string{true: ">>", false: ">"}[on.added]), true
		case "truncate":
			w.path(": >", on.where)
		}
		return on, true
	case "archive":
		switch name {
		case "write", "add", "mkdir":
			w.does("zip -r " + on.where.word() + " " + first.word())
		case "writestr":
			w.write(on.where, content(a.is(1, "data")), ">>")
		}
		return on, true
	case "visit":
		return on, true
	case "input":
		switch name {
		case "on", "addListener", "once":
			for _, back := range a.at {
				w.apply(back, arguments{at: []*value{{parts: on.parts}}}, depth)
			}
			return on, true
		case "readlines", "splitlines":
			if s, ok := on.known(); ok {
				return textsOf(strings.SplitAfter(s, "\n")), true
			}
		case "readline":
			if s, ok := on.known(); ok {
				line, _, _ := strings.Cut(s, "\n")
				return text(line), true
			}
		}
		return &value{parts: on.parts}, true
	case "process", "processes":
		switch name {
		case "kill", "terminate", "suspend", "send_signal":
			w.kills("kill", on, nothing)
			return nothing, true
		case "children", "parent", "parents":
			return nothing, true
		case "isdigit", "isnumeric", "match", "test":
			return nothing, true
		}
		return on, true
	case "template":
		return templated(on, a), true
	case "buffer":
		switch name {
		case "write", "writelines", "append":
			on.parts = join(append([]*value{{parts: slices.Clone(on.parts)}}, flat(a.at)...)...).parts
			if len(on.parts) > 0 && on.parts[0].kind == unknown {
				on.parts = on.parts[1:] // it was empty
			}
			return nothing, true
		case "getvalue", "read", "getbuffer", "readline", "readlines", "tobytes":
			return &value{parts: on.parts}, true
		}
		return on, true
	case "server":
		return w.onServer(on, name, a, depth), true
	case "module", "partial", "caller", "getter", "constructor", "table", "flags":
		return nothing, false
	case "path":
		return w.onPath(on, name, a)
	case "socket":
		switch name {
		case "connect", "connect_ex":
			on.where.parts = w.connect(a).where.parts
			return on, true
		case "send", "sendall", "write", "end", "sendto", "sendfile", "sendmail", "send_message", "data":
			to := on.where
			if name == "sendmail" {
				first = a.is(2, "msg")
			}
			if name == "sendto" {
				to = w.connect(arguments{at: a.at[min(len(a.at), 1):]}).where
			}
			if line, ok := to.known(); ok {
				w.does("printf %s " + content(first).word() + " | " + line)
			}
			return nothing, true
		case "makefile", "accept", "getsockname":
			return on, true
		case "on", "once", "addListener", "addEventListener", "subscribe", "add_done_callback":
			for _, back := range a.at {
				if back.f != nil || back.of == "partial" || back.what != "" {
					w.hearsFrom(on, back, depth)
				}
			}
			return on, true
		default:
			if !strings.HasPrefix(name, "re") && name != "get_message" && name != "fetch" && name != "uid" && name != "poll" && name != "expect" {
				return on, true
			}
			if line, ok := on.where.known(); ok {
				return gives(line), true
			}
			return nothing, true
		}
	case "dotenv":
		if key, ok := first.known(); ok && name == "get" {
			return setting(on, key), true
		}
		all := &value{parts: on.parts}
		if name == "items" {
			return listOf([]*value{listOf([]*value{all, all})}), true
		}
		return all, true
	case "http":
		if name == "request" {
			url := join(on.where, a.is(1, "url"))
			method, _ := first.known()
			return w.web("request", "requests.request", text(method), arguments{at: []*value{text(method), url}, named: map[string]*value{"data": a.is(2, "body"), "headers": a.is(3, "headers")}}, depth), true
		}
		if line := on.where; name == "getresponse" && line.some() {
			return &value{of: "answer", parts: gives("curl -s " + line.word()).parts}, true
		}
		return nothing, true
	case "ftp":
		if strings.HasPrefix(name, "retr") {
			w.apply(a.is(1), arguments{at: []*value{gives("curl -s " + on.where.word())}}, depth)
		}
		if strings.HasPrefix(name, "stor") {
			if f := a.is(1); f.of == "file" {
				w.does("curl -T " + f.where.word() + " " + on.where.word())
			}
		}
		return nothing, true
	case "login":
		return w.onLogin(on, name, a), true
	case "cloud":
		return w.onCloud(on, name, a), true
	case "answer", "request":
		if name == "then" {
			break
		}
		if (name == "write" || name == "end") && first.some() && on.where.some() { // a request that is still open
			w.does("curl -s --data " + content(first).word() + " " + on.where.word())
		}
		return &value{of: "answer", parts: on.parts}, true
	}
	return w.onText(on, name, a, depth)
}

// onServer is a method of a server: what it is given to do is done with what somebody sends.
func (w *walker) onServer(on *value, name string, a arguments, depth int) *value {
	for _, v := range a.at {
		switch {
		case v.f != nil:
			w.invoke(v, arguments{at: []*value{visit, visit, nothing}}, depth)
		case v.of == "partial" || doors[calls[v.what]]:
			if openDoor("server." + name) {
				w.does("nc -l -p 8000 | sh")
			}
		}
	}
	return on
}

// onLogin is a method of a login on another machine.
func (w *walker) onLogin(on *value, name string, a arguments) *value {
	host := on.where
	switch name {
	case "connect":
		on.where.parts = a.is(0, "hostname", "host").parts
	case "put", "putfo":
		local := a.is(0, "localpath", "local", "fl")
		if local.of == "file" {
			local = local.where
		}
		if host.some() && local.some() {
			w.does("scp " + local.word() + " " + host.word() + ":")
		}
	case "open_session", "open_channel", "invoke_shell", "accept":
		return w.dials(host)
	case "exec_command", "run", "sudo":
		if host.some() {
			w.does("ssh " + host.word() + " " + a.is(0, "command").word())
			return gives("ssh " + host.word())
		}
	}
	return on
}

// onCloud is a method of a client of a cloud's store.
func (w *walker) onCloud(on *value, name string, a arguments) *value {
	local, bucket := a.is(0, "Filename"), a.is(1, "Bucket")
	switch name {
	case "upload_file", "upload_from_filename":
	case "upload_fileobj":
		local = a.is(0, "Fileobj")
	case "put_object":
		local, bucket = a.is(-1, "Body"), a.is(-1, "Bucket")
	default:
		return on
	}
	if local.of == "file" {
		local = local.where
	}
	if local.some() {
		w.does("aws s3 cp " + local.word() + " s3://" + bucket.word() + "/")
	}
	return nothing
}

// onPath is a method of a path.
func (w *walker) onPath(on *value, name string, a arguments) (v *value, done bool) {
	plain := &value{parts: on.parts}
	switch name {
	case "read_text", "read_bytes":
		return w.act("read", "", arguments{at: []*value{plain}}, 0), true
	case "write_text", "write_bytes":
		return w.write(plain, a.is(0, "data"), ">"), true
	case "open":
		return w.open(plain, a.is(0, "mode")), true
	case "unlink":
		w.path("rm -f", plain)
	case "rmdir":
		w.path("rmdir", plain)
	case "rename", "replace":
		w.path("mv", plain, a.is(0, "target"))
	case "symlink_to", "hardlink_to":
		w.path("ln -s", a.is(0, "target"), plain)
	case "chmod":
		return w.act("chmod", "", arguments{at: []*value{plain, a.is(0, "mode")}}, 0), true
	case "joinpath":
		return &value{of: "path", parts: pathOf(append([]*value{plain}, a.at...)...).parts}, true
	case "expanduser":
		return &value{of: "path", parts: expanded(plain).parts}, true
	case "iterdir":
		return &value{of: "list", items: []*value{{of: "path", parts: pathOf(plain, &value{parts: []part{{pattern, "*"}}}).parts}}}, true
	case "glob", "rglob":
		in := pathOf(plain, globbed(a.is(0, "pattern")))
		return &value{of: "list", items: []*value{{of: "path", parts: in.parts}}}, true
	case "home", "cwd":
		return &value{of: "path", parts: []part{{variable, map[string]string{"home": "HOME", "cwd": "PWD"}[name]}}}, true
	}
	return &value{of: "path", parts: on.parts}, true
}

// onText is a method of a text, a list, or what may be one.
func (w *walker) onText(on *value, name string, a arguments, depth int) (v *value, done bool) {
	first, something := a.is(0), len(on.parts) > 0 || on.items != nil
	if s, ok := on.known(); ok {
		if on.of == "number" {
			v, done = ofNumber(s, name, a)
		} else {
			v, done = ofText(on, s, name, a)
		}
		if done {
			return v, true
		}
	}
	switch name {
	case "join":
		if on.items != nil { // of JavaScript's arrays
			between, _ := first.known()
			return joinWith(on.items, between), true
		}
		if between, ok := on.known(); (ok || len(on.parts) == 0) && first.items != nil {
			return joinWith(first.items, between), true
		}
		if between, ok := on.known(); ok && first.plain() {
			return joinWith(w.each(first), between), true
		}
		return &value{parts: first.parts}, true
	case "concat":
		return join(append([]*value{on}, a.at...)...), true
	case "format":
		if on.some() {
			return filled(on, a), true
		}
	case "format_map":
		given := arguments{named: map[string]*value{}}
		for i, key := range first.names {
			if i < len(first.items) {
				given.named[key] = first.items[i]
			}
		}
		if on.some() {
			return filled(on, given), true
		}
	case "run_line_magic", "run_cell_magic", "system", "getoutput":
		if name == "run_cell_magic" {
			first = a.is(2)
		} else if name == "run_line_magic" {
			first = a.is(1)
		}
		if on.what == "get_ipython()" {
			return w.shell(first), true
		}
	case "__add__", "__concat__":
		return w.binary("+", on, first), true
	case "__radd__":
		return w.binary("+", first, on), true
	case "__mod__":
		return w.binary("%", on, first), true
	case "__mul__":
		return w.binary("*", on, first), true
	case "__getitem__":
		return w.index(on, first), true
	case "__call__":
		return w.apply(on, a, depth)
	case "_compile":
		return w.code("exec", first, arguments{}, depth), true
	case "__getattribute__", "__getattr__":
		if called, ok := first.known(); ok && on.what != "" {
			return w.attribute(on, called), true
		}
		w.Hidden = w.Hidden || first.hides() && on.what != ""
	case "replace", "replaceAll":
		s, ok := on.known()
		old, known := first.known()
		with, both := a.is(1).known()
		if ok && known && both && old != "" && len(s)*(1+len(with)) < 64*maxText {
			return text(strings.ReplaceAll(s, old, with)), true
		}
		if on.own() && a.own() {
			return obscure, true
		}
		return &value{parts: on.parts}, true
	case "split", "rsplit":
		s, ok := on.known()
		by, known := first.known()
		if ok && (known || len(a.at) == 0) {
			first := first
			if len(a.at) == 0 {
				first = nothing
			}
			var list []string
			most := -1
			if n, limited := a.is(1, "maxsplit").known(); limited && w.language == "python" {
				if m, _ := integer(n); m >= 0 {
					most = int(m) + 1
				}
			}
			switch {
			case first == nothing:
				list = strings.Fields(s)
			case name == "rsplit" && most > 0:
				for len(list) < most-1 && strings.Contains(s, by) && by != "" {
					i := strings.LastIndex(s, by)
					s, list = s[:i], append([]string{s[i+len(by):]}, list...)
				}
				list = append([]string{s}, list...)
			default:
				list = strings.SplitN(s, by, most)
			}
			all := &value{of: "list", items: []*value{}}
			for _, one := range list[:min(len(list), 256)] {
				all.items = append(all.items, text(one))
			}
			return all, true
		}
		return &value{parts: on.parts}, true
	case "slice", "substring", "substr", "subarray":
		if on.items != nil || on.plain() {
			to := a.is(1)
			if start, ok := first.known(); ok && name == "substr" {
				n, _ := integer(start)
				if length, known := to.known(); known {
					more, _ := integer(length)
					to = count(n + more)
				}
			}
			if len(a.at) == 0 {
				return on, true
			}
			return w.slice(on, first, to, nothing), true
		}
		return on, something
	case "then", "catch", "on", "finally":
		for _, back := range a.at {
			if back.f != nil {
				return w.invoke(back, arguments{at: []*value{{of: on.of, parts: on.parts}}}, depth), true
			}
		}
	case "hex", "fromhex":
		return &value{parts: on.parts}, true
	case "toString", "decode":
		how, _ := first.known()
		if s, ok := on.known(); ok && on.of == "number" {
			return ofNumber(s, name, a)
		}
		if name == "decode" && len(on.parts) > 0 {
			return recoded(on, how), true
		}
		return &value{parts: on.parts}, len(on.parts) > 0
	case "strip", "rstrip", "lstrip", "trim", "encode", "splitlines", "readlines", "read", "text", "json", "content", "communicate",
		"stdout", "getvalue", "getvalues", "title", "bind", "copy":
		return on, something
	case "call", "apply": // of a function: its first argument is what it is called on
		rest := a.at[min(len(a.at), 1):]
		if name == "apply" && len(rest) > 0 && rest[0].items != nil {
			rest = rest[0].items
		}
		if callable := on.what != "" || on.f != nil || on.of == "partial"; callable {
			return w.apply(on, arguments{at: rest}, depth)
		}
	default:
		return w.onList(on, name, a, depth)
	}
	return nothing, false
}

// onList does what a method of a list, or of an object, does.
func (w *walker) onList(on *value, name string, a arguments, depth int) (v *value, done bool) {
	first, something := a.is(0), len(on.parts) > 0 || on.items != nil
	switch name {
	case "reverse":
		if on.items != nil {
			back := slices.Clone(on.items)
			slices.Reverse(back)
			return &value{of: "list", items: back}, true
		}
	case "map", "forEach", "filter", "flatMap":
		if (first.f != nil || first.what != "") && (on.items != nil || on.of == "bytes") {
			all := []*value{}
			for _, item := range w.each(on)[:min(len(w.each(on)), 256)] {
				v, done := w.apply(first, arguments{at: []*value{item}}, depth)
				if !done {
					v = nothing
					if item.own() {
						v = obscure
					}
				}
				all = append(all, v)
			}
			switch {
			case name == "filter":
				return on, true
			case on.of == "bytes":
				return bytesOf(all), true
			}
			return listOf(all), true
		}
	case "pop", "popleft", "shift", "popitem":
		if len(on.items) > 0 && len(on.names) == 0 {
			at := len(on.items) - 1
			if n, ok := first.known(); name == "shift" || name == "popleft" || ok && n == "0" {
				at = 0
			}
			item := on.items[at]
			on.items = slices.Delete(slices.Clone(on.items), at, at+1)
			return item, true
		}
	case "insert", "unshift", "appendleft":
		if on.items != nil && len(on.items) < 256 && len(a.at) > 0 {
			on.items = append([]*value{a.at[len(a.at)-1]}, on.items...)
			return on, true
		}
	case "items", "entries":
		if len(on.names) > 0 {
			return listed1("Object.entries", arguments{at: []*value{on}}), true
		}
		return on, something
	case "keys":
		if len(on.names) > 0 {
			return textsOf(on.names), true
		}
		return on, something
	case "values":
		if len(on.names) > 0 {
			return listOf(on.items), true
		}
		return on, something
	case "update":
		for i, key := range first.names {
			if i < len(first.items) {
				on.put(key, first.items[i])
			}
		}
	case "reduce":
		if on.items != nil && len(a.at) > 0 {
			return w.summed("functools.reduce", arguments{at: append([]*value{first, on}, a.at[1:min(len(a.at), 2)]...)}, depth), true
		}
	case "flat":
		if on.items != nil {
			return listOf(flat(on.items)), true
		}
	case "append", "push", "extend", "add":
		if on.items != nil && len(on.items) < 256 {
			if name == "extend" && first.items != nil {
				on.items = append(on.items, first.items...)
			} else {
				on.items = append(on.items, a.at...)
			}
		}
		return on, true
	case "get":
		if key, ok := first.known(); ok && len(on.names) > 0 {
			return on.member(key), true
		}
	}
	return nothing, false
}
