package effects

import (
	"slices"
	"strconv"
	"strings"
)

// calls are the functions of which it is known what they do, by their names. What stands for
// an argument is its place.
var calls = func() map[string]string {
	m := map[string]string{}
	for what, names := range map[string]string{
		"shell": `os.system os.popen subprocess.getoutput subprocess.getstatusoutput commands.getoutput asyncio.create_subprocess_shell
			child_process.exec child_process.execSync shelljs.exec`,
		"run": `subprocess.run subprocess.call subprocess.check_call subprocess.check_output subprocess.Popen pty.spawn
			asyncio.create_subprocess_exec child_process.spawn child_process.spawnSync child_process.execFile child_process.execFileSync execa Bun.spawn Deno.run Deno.Command`,
		"execl":  "os.execl os.execlp os.execle os.execlpe",
		"execv":  "os.execv os.execvp os.execve os.execvpe os.posix_spawn os.posix_spawnp",
		"spawn":  "os.spawnl os.spawnlp os.spawnv os.spawnvp os.spawnle os.spawnve",
		"fork":   "child_process.fork",
		"code":   "eval exec Function vm.runInThisContext vm.runInNewContext vm.runInContext vm.Script setTimeout setInterval runpy.run_path",
		"remove": `os.remove os.unlink fs.unlink fs.unlinkSync send2trash.send2trash Deno.remove Deno.removeSync`,
		"rmdir":  "os.rmdir os.removedirs fs.rmdir fs.rmdirSync",
		"tree":   "shutil.rmtree distutils.dir_util.remove_tree rimraf rimraf.sync fs-extra.remove fs-extra.removeSync fs.remove fs.removeSync del",
		"rm":     "fs.rm fs.rmSync",
		"copy":   "shutil.copy shutil.copy2 shutil.copyfile shutil.copytree fs.copyFile fs.copyFileSync fs.cp fs.cpSync",
		"move":   "shutil.move os.rename os.renames os.replace fs.rename fs.renameSync",
		"link":   "os.symlink os.link fs.symlink fs.symlinkSync fs.link fs.linkSync",
		"chmod":  "os.chmod fs.chmod fs.chmodSync",
		"chown":  "os.chown fs.chown fs.chownSync",
		"open":   "open io.open codecs.open os.fdopen gzip.open os.open fs.open fs.openSync Deno.open",
		"read": `fs.readFile fs.readFileSync fs.createReadStream linecache.getlines linecache.getline Deno.readTextFile Deno.readFile Deno.readTextFileSync
			pandas.read_csv numpy.fromfile Bun.file`,
		"write":    "fs.writeFile fs.writeFileSync fs.createWriteStream Deno.writeTextFile Deno.writeFile Deno.writeTextFileSync Bun.write fs.outputFile fs.outputFileSync",
		"append":   "fs.appendFile fs.appendFileSync",
		"truncate": "os.truncate fs.truncate fs.truncateSync",
		"get": `urllib.request.urlopen urllib2.urlopen urllib.urlopen requests.get requests.head requests.options httpx.get httpx.head aiohttp.get
			http.get https.get axios.get got got.get node-fetch superagent.get needle.get`,
		"send":    "requests.post requests.put requests.patch httpx.post httpx.put httpx.patch aiohttp.post aiohttp.put axios.post axios.put axios.patch got.post got.put superagent.post needle.post",
		"erase":   "requests.delete httpx.delete aiohttp.delete axios.delete got.delete",
		"request": "requests.request httpx.request urllib.request.Request fetch undici.request http.request https.request axios axios.request superagent",
		"fetch":   "urllib.request.urlretrieve urllib.urlretrieve wget.download",
		"path":    "pathlib.Path pathlib.PosixPath pathlib.PurePath",
		"join":    "os.path.join path.join path.resolve posixpath.join",
		"home":    "pathlib.Path.home os.homedir",
		"expand":  "os.path.expanduser",
		"vars":    "os.path.expandvars",
		"same": `os.path.abspath os.path.realpath os.path.normpath os.path.dirname os.path.basename os.fspath str bytes repr ascii String Buffer.from bytearray
			shlex.quote compile path.normalize path.dirname path.basename encodeURIComponent encodeURI decodeURIComponent json.dumps json.loads JSON.stringify JSON.parse
			base64.b64encode base64.standard_b64encode base64.urlsafe_b64encode btoa binascii.hexlify urllib.parse.quote urllib.parse.urlencode
			urllib.parse.unquote zlib.compress gzip.compress print_ pickle.dumps io.BytesIO io.StringIO TextEncoder TextDecoder marshal.loads promisify util.promisify
			functools.partial iter list tuple set sorted reversed enumerate Array.from Promise.all Promise.resolve asyncio.run asyncio.gather URL sum next`,
		"decode64":  "base64.b64decode base64.standard_b64decode base64.urlsafe_b64decode base64.decodebytes base64.decodestring atob",
		"decodehex": "bytes.fromhex bytearray.fromhex binascii.unhexlify binascii.a2b_hex",
		"char":      "chr String.fromCharCode String.fromCodePoint unichr",
		"codec":     "codecs.decode",
		"map":       "map filter",
		"names":     "os.listdir os.scandir fs.readdir fs.readdirSync",
		"walk":      "os.walk os.fwalk",
		"glob":      "glob.glob glob.iglob glob.sync",
		"env":       "os.getenv os.environ.get os.environ.pop",
		"module":    "__import__ importlib.import_module require import createRequire",
		"attribute": "getattr Reflect.get operator.attrgetter operator.methodcaller",
		"spaces":    "globals locals vars",
		"session":   "requests.Session requests.session httpx.Client httpx.AsyncClient aiohttp.ClientSession urllib3.PoolManager",
		"socket":    "socket.socket net.Socket",
		"connect":   "socket.create_connection net.connect net.createConnection tls.connect",
		"http":      "http.client.HTTPConnection http.client.HTTPSConnection httplib.HTTPConnection httplib.HTTPSConnection",
		"ftp":       "ftplib.FTP ftplib.FTP_TLS",
		"smtp":      "smtplib.SMTP smtplib.SMTP_SSL smtplib.LMTP",
		"login":     "paramiko.SSHClient paramiko.Transport paramiko.client.SSHClient fabric.Connection asyncssh.connect",
		"cloud":     "boto3.client boto3.resource google.cloud.storage.Client storage.Client",
		"temp":      "tempfile.mkdtemp tempfile.mkstemp tempfile.gettempdir tempfile.NamedTemporaryFile tempfile.TemporaryDirectory tempfile.mktemp os.tmpdir fs.mkdtempSync",
		"dump":      "json.dump pickle.dump yaml.dump shutil.copyfileobj",
		"load":      "json.load pickle.load yaml.safe_load yaml.load toml.load",
		"print":     "print",
		"kill":      "os.kill os.killpg process.kill",
	} {
		for name := range strings.FieldsSeq(names) {
			m[name] = what
		}
	}
	return m
}()

// dangerous reports whether a function of a module may do harm, whatever it is called.
func dangerous(module string) bool {
	switch module {
	case "os", "subprocess", "shutil", "builtins", "__builtins__", "child_process", "fs", "process", "posix", "pty", "globals", "ctypes":
		return true
	}
	return false
}

// arguments are those of a call.
type arguments struct {
	at    []*value
	named map[string]*value
}

// is is an argument by its place, or by one of its names.
func (a arguments) is(i int, names ...string) *value {
	for _, n := range names {
		if v := a.named[n]; v != nil {
			return v
		}
	}
	if i >= 0 && i < len(a.at) {
		return a.at[i]
	}
	return nothing
}

// option is a member of the last argument that is an object, as JavaScript has options, or
// one by its name.
func (a arguments) option(names ...string) *value {
	for _, n := range names {
		if v := a.named[n]; v != nil {
			return v
		}
		for i := len(a.at) - 1; i >= 0; i-- {
			if len(a.at[i].names) > 0 && slices.Contains(a.at[i].names, n) {
				return a.at[i].member(n)
			}
		}
	}
	return nothing
}

// call evaluates a call.
func (w *walker) call(n *node, depth int) *value {
	callee := n.kids[0]
	a := arguments{named: map[string]*value{}}
	for i, kid := range n.kids[1:] {
		v := w.eval(kid, depth)
		switch {
		case i < len(n.names) && n.names[i] != "":
			a.named[n.names[i]] = v
		case kid.kind == spread && v.names != nil && kid.text == "**":
			for j, key := range v.names {
				if j < len(v.items) {
					a.named[key] = v.items[j]
				}
			}
		case kid.kind == spread && v.items != nil:
			a.at = w.extended(a.at, v.items)
		default:
			a.at = append(a.at, v)
		}
	}
	var on *value
	var f *value
	method := ""
	if callee.kind == attribute {
		on, method = w.eval(callee.kids[0], depth), callee.text
		if on.what == "" && len(on.names) == 0 || on.of != "" {
			if v, done := w.method(on, method, a, depth); done {
				return v
			}
		}
		f = w.attribute(on, method)
	} else {
		f = w.eval(callee, depth)
	}
	for _, back := range a.at { // which is called when there is something to give it
		if back.f != nil && w.language == "js" {
			defer w.invoke(back.f, arguments{at: []*value{nothing, nothing}}, depth)
		}
	}
	if f.f != nil {
		return w.invoke(f.f, a, depth)
	}
	if f.what == "" {
		if v, done := w.method(f, method, a, depth); done {
			return v
		}
		return passed(on, a)
	}
	kind, known := calls[f.what]
	if !known {
		for _, prefix := range []string{"cross-", "fs-"} { // cross-spawn, fs-extra
			if rest, ok := strings.CutPrefix(f.what, prefix); ok && kind == "" {
				kind = calls[strings.Replace(rest, "extra.", "fs.", 1)]
			}
		}
	}
	if kind == "" {
		if v, done := w.method(&value{what: f.what}, method, a, depth); done {
			return v
		}
		return passed(on, a)
	}
	return w.act(kind, f.what, a, depth)
}

// passed is what a function gives of which nothing is known: it may be what it was given.
func passed(on *value, a arguments) *value {
	if on != nil && on.some() {
		return &value{parts: on.parts}
	}
	for _, v := range a.at {
		if slices.ContainsFunc(v.parts, func(p part) bool { return p.kind == given || p.kind == variable }) {
			return &value{parts: v.parts}
		}
	}
	return nothing
}

// invoke calls a function of the code's own.
func (w *walker) invoke(f *node, a arguments, depth int) *value {
	if w.depth >= maxCalls || w.steps > maxSteps {
		return nothing
	}
	w.called[f] = true
	before := w.scope
	inner := make(map[string]*value, len(f.names))
	for i, p := range f.names {
		inner[p] = a.is(i, p)
	}
	w.scope = &scope{inner, before}
	w.depth++
	back := w.run(f.body, depth)
	w.depth--
	w.scope = before
	if back == nil {
		return nothing
	}
	return back
}

// words are values as the words of a command, as many as a line may have: see does.
func words(list ...*value) string {
	var b strings.Builder
	for i, v := range list {
		if i > 0 {
			b.WriteByte(' ')
		}
		if b.Len() > maxText {
			break
		}
		b.WriteString(v.word())
	}
	return b.String()
}

// act does what a function does that is known.
func (w *walker) act(kind, what string, a arguments, depth int) *value {
	first := a.is(0, "path", "file", "filename", "args", "cmd", "command", "url", "src", "s", "name")
	switch kind {
	case "shell":
		return w.shell(first)
	case "run":
		if t, ok := a.option("shell").known(); ok && t != "False" && t != "false" || a.option("shell").what == "True" || a.option("shell").what == "true" {
			if len(first.items) > 0 {
				return w.shell(joinWith(first.items, " "))
			}
			if rest := a.is(1); rest.items != nil {
				return w.shell(joinWith(append([]*value{first}, rest.items...), " "))
			}
			return w.shell(first)
		}
		return w.program(first, a)
	case "execl":
		return w.program(&value{items: append([]*value{first}, a.at[min(len(a.at), 2):]...)}, arguments{})
	case "execv":
		if argv := a.is(1).items; len(argv) > 0 {
			return w.program(&value{items: append([]*value{first}, argv[1:]...)}, arguments{})
		}
		return w.program(first, arguments{})
	case "spawn":
		return w.program(&value{items: a.at[min(len(a.at), 1):]}, arguments{})
	case "fork":
		w.does("node " + words(first))
	case "code":
		w.code(what, first)
	case "remove":
		w.path("rm -f", first)
	case "rmdir":
		w.path(map[bool]string{true: "rm -rf", false: "rmdir"}[truth(a.option("recursive"))], first)
	case "tree":
		w.path("rm -rf", first)
	case "rm":
		w.path(map[bool]string{true: "rm -rf", false: "rm -f"}[truth(a.option("recursive"))], first)
	case "copy":
		w.reads(first)
		w.path("cp -r", first, a.is(1, "dst", "dest"))
	case "move":
		w.path("mv", first, a.is(1, "dst", "dest"))
	case "link":
		w.path("ln -s", first, a.is(1, "dst"))
	case "chmod":
		if mode, ok := a.is(1, "mode").known(); ok {
			if n, is := integer(mode); is {
				mode = strconv.FormatInt(n, 8)
			}
			w.path("chmod "+quote(mode), first)
		}
	case "chown":
		w.path("chown "+words(a.is(1, "uid")), first)
	case "open":
		return w.open(first, a.is(1, "mode", "flags"))
	case "read":
		w.reads(first)
		if first.some() {
			return gives("cat " + first.word())
		}
	case "write":
		return w.write(first, a.is(1, "data"), ">")
	case "append":
		return w.write(first, a.is(1, "data"), ">>")
	case "truncate":
		w.path("truncate -s 0", first)
	case "get", "send", "erase", "request":
		return w.web(kind, what, first, a, depth)
	case "fetch":
		if first.some() {
			w.does("curl -s -o " + words(a.is(1, "filename", "out"), first))
		}
	case "path":
		return &value{of: "path", parts: pathOf(a.at...).parts}
	case "join":
		return pathOf(a.at...)
	case "home":
		return &value{of: "path", parts: []part{{variable, "HOME"}}}
	case "expand":
		return expanded(first)
	case "vars":
		return expanded(first)
	case "same":
		if what == "Buffer.from" {
			if how, _ := a.is(1).known(); how == "base64" || how == "base64url" {
				return decoded(first, "64")
			} else if how == "hex" {
				return decoded(first, "hex")
			}
		}
		if (what == "bytes" || what == "bytearray" || what == "Buffer.from") && first.items != nil {
			return characters(first.items)
		}
		return first
	case "decode64":
		return decoded(first, "64")
	case "decodehex":
		return decoded(first, "hex")
	case "codec":
		how, _ := a.is(1, "encoding").known()
		switch {
		case strings.HasPrefix(how, "base64"):
			return decoded(first, "64")
		case strings.HasPrefix(how, "hex"):
			return decoded(first, "hex")
		case strings.HasPrefix(how, "rot"):
			if s, ok := first.known(); ok {
				return text(strings.Map(rot13, s))
			}
		}
		return first
	case "char":
		return characters(a.at)
	case "map":
		f, of := first, a.is(1)
		if f.f == nil && f.what == "" || of.items == nil {
			return of
		}
		all := &value{of: "list", items: []*value{}}
		for _, item := range of.items[:min(len(of.items), 256)] {
			switch {
			case f.f != nil:
				all.items = append(all.items, w.invoke(f.f, arguments{at: []*value{item}}, depth))
			case calls[f.what] != "":
				all.items = append(all.items, w.act(calls[f.what], f.what, arguments{at: []*value{item}}, depth))
			}
		}
		return all
	case "names":
		return &value{of: "list", items: []*value{{parts: []part{{pattern, "*"}}}}}
	case "walk":
		any := &value{of: "list", items: []*value{{parts: []part{{pattern, "*"}}}}}
		return &value{of: "list", items: []*value{{of: "list", items: []*value{first, any, any}}}}
	case "glob":
		return &value{of: "list", items: []*value{globbed(first)}}
	case "env":
		if key, ok := first.known(); ok {
			return &value{parts: []part{{variable, identifier(key)}}}
		}
	case "module":
		name, ok := first.known()
		if !ok {
			w.Dark = w.Dark || what != "require" && what != "import"
			return nothing
		}
		return &value{what: module(strings.TrimPrefix(name, "node:"))}
	case "attribute":
		if name, ok := a.is(1).known(); ok {
			return w.attribute(first, name)
		}
		w.Dark = w.Dark || dangerous(first.what)
	case "spaces":
		if first.what != "" {
			return first
		}
		return &value{what: "globals"}
	case "session":
		return &value{what: "requests"}
	case "socket":
		return &value{of: "socket", where: &value{}}
	case "connect":
		return w.connect(a)
	case "http":
		return &value{of: "http", where: join(text("http://"), first)}
	case "ftp":
		return &value{of: "ftp", where: join(text("ftp://"), first, text("/"))}
	case "smtp":
		return &value{of: "socket", where: join(text("nc "), first, text(" 25"))}
	case "login":
		return &value{of: "login", where: &value{parts: a.is(0, "host").parts}}
	case "cloud":
		return &value{of: "cloud"}
	case "temp":
		return join(text("/tmp/"), nothing)
	case "dump":
		for i, v := range a.at {
			if i > 0 && v.of == "file" {
				w.write(v.where, content(a.at[0]), map[bool]string{true: ">>", false: ">"}[v.added])
			}
		}
	case "load":
		return content(first)
	case "print":
		if f := a.named["file"]; f != nil && f.of == "file" {
			w.write(f.where, content(first), map[bool]string{true: ">>", false: ">"}[f.added])
		}
	case "kill":
		w.does("kill " + words(first))
	}
	return nothing
}

func truth(v *value) bool {
	t, _ := v.known()
	return v.what == "true" || v.what == "True" || t == "1" || t == "true"
}

func rot13(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z':
		return 'a' + (r-'a'+13)%26
	case r >= 'A' && r <= 'Z':
		return 'A' + (r-'A'+13)%26
	}
	return r
}

// characters are numbers as the characters that they stand for.
func characters(list []*value) *value {
	var b strings.Builder
	for _, v := range list[:min(len(list), maxText)] {
		t, ok := v.known()
		n, is := integer(t)
		if !ok || !is || n < 0 || n > 0x10ffff {
			return nothing
		}
		b.WriteRune(rune(n))
	}
	return text(b.String())
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// expanded is a path with the home directory in it.
func expanded(v *value) *value {
	if len(v.parts) == 0 || v.parts[0].kind != said || !strings.HasPrefix(v.parts[0].text, "~") {
		return v
	}
	return &value{parts: append([]part{{variable, "HOME"}, {said, v.parts[0].text[1:]}}, v.parts[1:]...)}
}

// globbed is a pattern of names as a shell would fill it in.
func globbed(v *value) *value {
	all := &value{}
	for _, p := range v.parts {
		if p.kind == said && strings.Trim(p.text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-*?[]") == "" {
			p.kind = pattern
		}
		all.parts = append(all.parts, p)
	}
	return all
}

func joinWith(list []*value, between string) *value {
	var all []*value
	for i, v := range list {
		if i > 0 {
			all = append(all, text(between))
		}
		all = append(all, v)
	}
	return join(all...)
}

// content is what a file, or an answer, holds.
func content(v *value) *value {
	if v.of == "file" && v.where.some() {
		return gives("cat " + v.where.word())
	}
	return v
}

// path does something to paths of which something is known.
func (w *walker) path(command string, paths ...*value) {
	for i, p := range paths {
		if p.of == "file" {
			p = p.where
			paths[i] = p
		}
		if i == len(paths)-1 && !p.somewhere() {
			return
		}
	}
	w.does(command + " " + words(paths...))
}

// shell runs a text as a shell does.
func (w *walker) shell(v *value) *value {
	if v.items != nil {
		v = joinWith(v.items, " ")
	}
	if !v.some() {
		return &value{of: "answer"}
	}
	line := v.line()
	w.does(line)
	return &value{of: "answer", parts: gives(line).parts}
}

// program runs a program with its arguments.
func (w *walker) program(argv *value, a arguments) *value {
	all := argv.items
	if all == nil {
		all = []*value{argv}
		if s, ok := argv.known(); ok && w.language == "python" && strings.Contains(s, " ") {
			return w.shell(argv)
		}
		for _, more := range a.at[min(len(a.at), 1):] { // spawn("rm", ["-rf", x]), or each as one
			if more.items != nil && len(more.names) == 0 {
				all = append(all, more.items...)
			} else if more.names == nil && w.language == "python" {
				all = append(all, more)
			}
		}
	}
	if input := a.option("input"); input.some() && len(all) > 0 && all[0].some() {
		line := "printf %s " + input.word() + " | " + words(all...)
		w.does(line)
		return &value{of: "answer", parts: gives(line).parts}
	}
	if len(all) == 0 || !slices.ContainsFunc(all, (*value).some) {
		return &value{of: "answer"}
	}
	line := words(all...)
	w.does(line)
	return &value{of: "answer", parts: gives(line).parts}
}

// code runs a text as code.
func (w *walker) code(what string, v *value) {
	if v.f != nil { // setTimeout of a function
		return
	}
	if !v.some() {
		w.Dark = w.Dark || len(v.parts) > 0 || what == "eval" || what == "exec"
		return
	}
	program := "python3 -c "
	if w.language == "js" {
		program = "node -e "
	}
	if what == "runpy.run_path" {
		program = "python3 "
	}
	w.does(program + v.word())
}

// open is a file: to be read, or to be written.
func (w *walker) open(path, mode *value) *value {
	if path.of == "file" {
		return path
	}
	f := &value{of: "file", where: &value{parts: path.parts}}
	how, _ := mode.known()
	if strings.ContainsAny(how, "wax+") && len(how) <= 4 {
		f.added = strings.Contains(how, "a")
		if strings.Contains(how, "w") && path.somewhere() {
			w.does(": > " + path.word())
		} else if f.added && path.somewhere() {
			w.does(": >> " + path.word())
		}
		return f
	}
	w.reads(path)
	return f
}

// write writes something into a file.
func (w *walker) write(path, data *value, sign string) *value {
	if path.of == "file" {
		path = path.where
	}
	if path.somewhere() {
		data = content(data)
		if len(data.parts) == 1 && data.parts[0].kind == given {
			w.does(data.parts[0].text + " " + sign + " " + path.word())
		} else {
			w.does("printf %s " + data.word() + " " + sign + " " + path.word())
		}
	}
	return &value{of: "file", where: &value{parts: path.parts}, added: sign == ">>"}
}

// web asks a server, or sends it something.
func (w *walker) web(kind, what string, first *value, a arguments, depth int) *value {
	url, method := first, ""
	options := a.is(1)
	switch {
	case what == "requests.request" || what == "httpx.request":
		method, _ = first.known()
		url = a.is(1, "url")
		options = nothing
	case len(first.names) > 0: // one object says all
		options, url = first, first.member("url")
		if !url.some() {
			host := first.member("hostname")
			if !host.some() {
				host = first.member("host")
			}
			url = join(text("http://"), host, first.member("path"))
		}
	case kind == "request" && first.of == "request": // a request that was made before
		return first
	case kind == "get" && first.of == "request":
		return first
	}
	if m, ok := a.option("method").known(); ok {
		method = m
	}
	if !url.some() {
		return &value{of: "answer"}
	}
	line := "curl -s"
	method = strings.ToUpper(method)
	switch {
	case kind == "erase" || method == "DELETE":
		line += " -X DELETE"
	case method != "" && strings.Trim(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "":
		line += " -X " + method
	}
	var data []*value
	for _, name := range []string{"data", "json", "content", "body", "files", "params", "headers"} {
		if v := a.option(name); v != nothing {
			data = append(data, v)
		}
	}
	if kind == "send" && len(a.at) > 1 && options.names == nil || kind == "send" && w.language == "js" || what == "urllib.request.urlopen" {
		data = append(data, options)
	}
	for _, d := range data {
		for _, v := range w.leaves(d, 0) {
			if v.of == "file" {
				line += " --data-binary @" + v.where.word()
			} else if v.some() {
				line += " --data " + v.word()
			}
		}
	}
	line += " " + url.word()
	w.does(line)
	return &value{of: map[bool]string{true: "request", false: "answer"}[what == "urllib.request.Request"], parts: gives(line).parts, where: url}
}

// leaves are the texts and files in a value.
func (w *walker) leaves(v *value, depth int) (list []*value) {
	if w.steps++; v == nil || depth > 8 || w.steps > maxSteps {
		return nil
	}
	if v.items == nil {
		return []*value{v}
	}
	for _, item := range v.items {
		if list = append(list, w.leaves(item, depth+1)...); len(list) > 32 {
			return list[:32]
		}
	}
	return list
}

// connect is a connection to a server.
func (w *walker) connect(a arguments) *value {
	host, port := a.is(0, "host"), a.is(1, "port")
	switch {
	case host.items != nil && len(host.names) == 0 && len(host.items) == 2: // ("host", port)
		host, port = host.items[0], host.items[1]
	case len(host.names) > 0: // {host, port}
		host, port = host.member("host"), host.member("port")
	case host.of == "number" && w.language == "js": // connect(port, host)
		host, port = port, host
	}
	s := &value{of: "socket", where: &value{}}
	if host.some() {
		s.where.parts = []part{{said, "nc " + words(host, port)}}
	}
	return s
}
