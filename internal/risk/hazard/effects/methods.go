package effects

import (
	"slices"
	"strings"
)

// method does what a method of a value does, by its name; done is false where nothing is known
// of it.
func (w *walker) method(on *value, name string, a arguments, depth int) (v *value, done bool) {
	first := a.is(0)
	if name == "pipe" && (first.of == "socket" || first.of == "answer") {
		return w.method(first, "write", arguments{at: []*value{content(on)}}, depth)
	}
	switch on.of {
	case "file":
		switch name {
		case "read", "readlines", "readline", "text", "json", "arrayBuffer", "__enter__", "pipe":
			if on.where.some() {
				return gives("cat " + on.where.word()), true
			}
		case "write", "writelines", "end", "writeText":
			return w.write(on.where, content(first), map[bool]string{true: ">>", false: ">"}[on.added]), true
		}
		return on, true
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
		case "recv", "read", "makefile", "recvfrom":
			if line, ok := on.where.known(); ok {
				return gives(line), true
			}
			return nothing, true
		}
		return on, true
	case "http":
		if name == "request" {
			url := join(on.where, a.is(1, "url"))
			method, _ := first.known()
			return w.web("request", "requests.request", text(method), arguments{at: []*value{text(method), url}, named: map[string]*value{"data": a.is(2, "body")}}, depth), true
		}
		return nothing, true
	case "ftp":
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
	first := a.is(0)
	switch name {
	case "join":
		if on.items != nil { // of JavaScript's arrays
			between, _ := first.known()
			return joinWith(on.items, between), true
		}
		if between, ok := on.known(); (ok || len(on.parts) == 0) && first.items != nil {
			return joinWith(first.items, between), true
		}
		return &value{parts: first.parts}, true
	case "concat":
		return join(append([]*value{on}, a.at...)...), true
	case "format":
		marks := []string{"{}"}
		if on.some() {
			filled := *on
			filled.parts = slices.Clone(on.parts)
			for key, value := range a.named {
				for i, p := range filled.parts {
					if p.kind == said && strings.Contains(p.text, "{"+key+"}") {
						if known, ok := value.known(); ok && len(known) < maxText {
							filled.parts[i].text = strings.ReplaceAll(p.text, "{"+key+"}", known)
						}
					}
				}
			}
			for i := range a.at {
				marks = append(marks, "{"+decimal(int64(i))+"}")
			}
			return format(&filled, &value{items: append([]*value{}, a.at...)}, marks...), true
		}
	case "replace", "replaceAll":
		s, ok := on.known()
		old, known := first.known()
		with, both := a.is(1).known()
		if ok && known && both && old != "" && len(s)*(1+len(with)) < 64*maxText {
			return text(strings.ReplaceAll(s, old, with)), true
		}
		return &value{parts: on.parts}, true
	case "split":
		s, ok := on.known()
		by, known := first.known()
		if ok && (known || first == nothing) {
			var list []string
			if first == nothing {
				list = strings.Fields(s)
			} else {
				list = strings.Split(s, by)
			}
			all := &value{of: "list", items: []*value{}}
			for _, one := range list[:min(len(list), 256)] {
				all.items = append(all.items, text(one))
			}
			return all, true
		}
		return &value{parts: on.parts}, true
	case "reverse":
		if on.items != nil {
			back := slices.Clone(on.items)
			slices.Reverse(back)
			return &value{of: "list", items: back}, true
		}
	case "map", "forEach", "filter", "flatMap":
		if first.f != nil && on.items != nil {
			all := &value{of: "list", items: []*value{}}
			for _, item := range on.items[:min(len(on.items), 64)] {
				all.items = append(all.items, w.invoke(first.f, arguments{at: []*value{item}}, depth))
			}
			if name == "filter" {
				return on, true
			}
			return all, true
		}
	case "lower", "toLowerCase":
		if s, ok := on.known(); ok {
			return text(strings.ToLower(s)), true
		}
	case "upper", "toUpperCase":
		if s, ok := on.known(); ok {
			return text(strings.ToUpper(s)), true
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
	case "then", "catch", "on", "finally":
		for _, back := range a.at {
			if back.f != nil {
				return w.invoke(back.f, arguments{at: []*value{{of: on.of, parts: on.parts}}}, depth), true
			}
		}
	case "hex", "fromhex":
		return &value{parts: on.parts}, true
	case "toString", "decode":
		how, _ := first.known()
		switch {
		case how == "hex" && name == "decode":
			return decoded(on, "hex"), true
		case how == "base64" && name == "decode":
			return decoded(on, "64"), true
		}
		return on, len(on.parts) > 0
	case "strip", "rstrip", "lstrip", "trim", "encode", "splitlines", "readlines", "read", "text", "json", "content", "communicate",
		"stdout", "getvalue", "getvalues", "title", "slice", "substring", "substr", "bind", "copy", "items", "values", "keys":
		if len(on.parts) > 0 || on.items != nil {
			return on, true
		}
	case "call", "apply": // of a function: its first argument is what it is called on
		if on.what != "" {
			if kind := calls[on.what]; kind != "" {
				rest := a.at[min(len(a.at), 1):]
				if name == "apply" && len(rest) > 0 && rest[0].items != nil {
					rest = rest[0].items
				}
				return w.act(kind, on.what, arguments{at: rest}, depth), true
			}
		}
	}
	return nothing, false
}
