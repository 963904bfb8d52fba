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
		"shell": `os.system os.popen os.popen2 os.popen3 os.popen4 posix.system nt.system ctypes.CDLL().system ctypes.cdll.LoadLibrary().system ctypes.PyDLL().system subprocess.getoutput subprocess.getstatusoutput commands.getoutput asyncio.create_subprocess_shell
			child_process.exec child_process.execSync shelljs.exec execa.command execa.commandSync execa.execaCommand execa.execaCommandSync invoke.run fabric.api.local zx.$ $ dax.$ Bun.$`,
		"run": `subprocess.run subprocess.call subprocess.check_call subprocess.check_output subprocess.Popen pty.spawn
			asyncio.create_subprocess_exec child_process.spawn child_process.spawnSync child_process.execFile child_process.execFileSync execa Bun.spawn Bun.spawnSync Deno.run Deno.Command
			_posixsubprocess.fork_exec _winapi.CreateProcess cross-spawn cross-spawn.sync cross-spawn.spawn execa.execa execa.execaSync execa.sync execa.execaNode sh.Command plumbum.local pexpect.spawn pexpect.run
			node-pty.spawn promisify-child-process.spawn tinyexec.x tinyexec.exec nano-spawn nano-spawn.default multiprocessing.util.spawnv_passfds`,
		"execl": "os.execl os.execlp os.execle os.execlpe",
		"execv": "os.execv os.execvp os.execve os.execvpe os.posix_spawn os.posix_spawnp posix.execv posix.execve posix.posix_spawn",
		"spawn": "os.spawnl os.spawnlp os.spawnv os.spawnvp os.spawnle os.spawnve",
		"fork":  "child_process.fork",
		"code": `eval exec vm.runInThisContext vm.runInNewContext vm.runInContext vm.Script vm.compileFunction vm.SourceTextModule setTimeout setInterval setImmediate execScript runpy.run_path
			timeit.timeit timeit.repeat timeit.Timer timeit.main cProfile.run cProfile.runctx cProfile.Profile().run cProfile.Profile().runctx profile.run profile.runctx profile.Profile().run
			pdb.run pdb.runeval pdb.runctx pdb.Pdb().run pdb.Pdb().runeval bdb.Bdb().run bdb.Bdb().runeval bdb.Bdb().runctx trace.Trace().run trace.Trace().runctx
			code.InteractiveInterpreter().runsource code.InteractiveInterpreter().runcode code.InteractiveConsole().runsource code.InteractiveConsole().runcode code.InteractiveConsole().push
			ctypes.pythonapi.PyRun_SimpleString ctypes.pythonapi.PyRun_String ctypes.pythonapi.PyRun_SimpleStringFlags ctypes.pythonapi.PyEval_EvalCode types.FunctionType types.LambdaType
			_testcapi.run_in_subinterp _xxsubinterpreters.run_string _interpreters.run_string _interpreters.exec IPython.run_cell
			get_ipython().run_cell get_ipython().ex get_ipython().ev pandas.eval numexpr.evaluate sympy.sympify sympy.parse_expr module._compile vm2.VM().run isolated-vm.compileScript`,
		"function":  "Function",
		"worker":    "worker_threads.Worker Worker",
		"unpickle":  "pickle.loads pickle.load cPickle.loads _pickle.loads _pickle.load dill.loads dill.load cloudpickle.loads cloudpickle.load joblib.load pickle.Unpickler().load shelve.open torch.load pandas.read_pickle numpy.load jsonpickle.decode",
		"marshal":   "marshal.loads marshal.load",
		"yaml":      "yaml.load yaml.load_all yaml.unsafe_load yaml.unsafe_load_all yaml.full_load yaml.full_load_all ruamel.yaml.load",
		"configure": "logging.config.dictConfig",
		"doctest":   "doctest.testmod doctest.testfile doctest.run_docstring_examples doctest.testsource",
		"typed":     "code.interact code.InteractiveConsole().interact pdb.set_trace IPython.embed",
		"native":    "ctypes.CDLL ctypes.PyDLL ctypes.cdll.LoadLibrary cffi.FFI().dlopen process.dlopen imp.load_dynamic importlib.machinery.ExtensionFileLoader",
		"imported":  "zipimport.zipimporter().load_module zipimport.zipimporter imp.load_source importlib.util.spec_from_file_location importlib.machinery.SourceFileLoader",
		"pip":       "pip.main pip._internal.main pip._internal.cli.main.main",
		"served":    "http.server.SimpleHTTPRequestHandler http.server.CGIHTTPRequestHandler SimpleHTTPServer.SimpleHTTPRequestHandler express.static serve-static serve-handler",
		"listening": "inspector.open",
		"chdir":     "os.chdir os.fchdir process.chdir contextlib.chdir Deno.chdir",
		"proxy":     "functools.partial functools.partialmethod promisify util.promisify util.callbackify Reflect.apply",
		"remove":    `os.remove os.unlink fs.unlink fs.unlinkSync send2trash.send2trash Deno.remove Deno.removeSync`,
		"rmdir":     "os.rmdir os.removedirs fs.rmdir fs.rmdirSync",
		"tree": `shutil.rmtree distutils.dir_util.remove_tree rimraf rimraf.sync fs-extra.remove fs-extra.removeSync fs.remove fs.removeSync del del.sync del.deleteAsync del.deleteSync shutil._rmtree_unsafe shutil._rmtree_safe_fd tempfile.TemporaryDirectory._rmtree tempfile._shutil.rmtree
			fs-extra.emptyDir fs-extra.emptyDirSync fs-extra.emptydirSync fs.emptyDir fs.emptyDirSync setuptools._distutils.dir_util.remove_tree pip._internal.utils.misc.rmtree`,
		"rm":    "fs.rm fs.rmSync",
		"copy":  "shutil.copy shutil.copy2 shutil.copyfile shutil.copytree fs.copyFile fs.copyFileSync fs.cp fs.cpSync",
		"move":  "shutil.move os.rename os.renames os.replace fs.rename fs.renameSync",
		"link":  "os.symlink os.link fs.symlink fs.symlinkSync fs.link fs.linkSync",
		"chmod": "os.chmod fs.chmod fs.chmodSync",
		"chown": "os.chown fs.chown fs.chownSync",
		"open":  "open io.open codecs.open os.fdopen gzip.open bz2.open lzma.open tarfile.open zipfile.ZipFile os.open fs.open fs.openSync Deno.open io.FileIO mmap.mmap aiofiles.open",
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
		"modules": "site.getusersitepackages site.getsitepackages sysconfig.get_path sysconfig.get_paths distutils.sysconfig.get_python_lib",
		"expand":  "os.path.expanduser",
		"vars":    "os.path.expandvars",
		"made":    `bytes bytearray Buffer.from Uint8Array Uint16Array String.raw`,
		"same": `os.path.abspath os.path.realpath os.path.normpath os.path.dirname os.path.basename os.fspath str repr ascii String memoryview posixpath.normpath posixpath.abspath sys.intern copy.copy copy.deepcopy Object.freeze Object.getPrototypeOf structuredClone
			shlex.quote compile path.normalize path.dirname path.basename encodeURIComponent encodeURI json.dumps JSON.stringify
			base64.b64encode base64.standard_b64encode base64.urlsafe_b64encode btoa binascii.hexlify urllib.parse.quote urllib.parse.urlencode
			zlib.compress gzip.compress print_ pickle.dumps TextDecoder().decode TextEncoder().encode fs.fsync
			iter Promise.all Promise.resolve Promise.race asyncio.run asyncio.gather asyncio.wait_for asyncio.get_event_loop().run_until_complete asyncio.new_event_loop().run_until_complete URL url.pathToFileURL url.fileURLToPath next`,
		"list":      "list tuple set frozenset sorted Array.from Array.of collections.deque itertools.chain itertools.chain.from_iterable",
		"listed":    "reversed enumerate zip range Object.keys Object.values Object.entries Object.assign Object.fromEntries dict",
		"count":     "int ord len Number parseInt round abs ctypes.c_int",
		"concat":    "sum operator.add operator.concat Buffer.concat functools.reduce",
		"unescape":  "unescape decodeURIComponent decodeURI urllib.parse.unquote urllib.parse.unquote_plus urllib.unquote querystring.unescape",
		"json":      "json.loads JSON.parse simplejson.loads orjson.loads ujson.loads",
		"literal":   "ast.literal_eval",
		"unpack":    "zlib.decompress gzip.decompress bz2.decompress lzma.decompress zlib.inflateSync zlib.gunzipSync zlib.unzipSync zlib.inflateRawSync zlib.brotliDecompressSync",
		"sub":       "re.sub re.subn",
		"template":  "string.Template",
		"buffer":    "io.StringIO io.BytesIO StringIO.StringIO",
		"table":     "str.maketrans bytes.maketrans string.maketrans",
		"pack":      "struct.pack",
		"archive":   "shutil.make_archive",
		"input":     "input raw_input",
		"decode64":  "base64.b64decode base64.standard_b64decode base64.urlsafe_b64decode base64.decodebytes base64.decodestring atob",
		"decodehex": "bytes.fromhex bytearray.fromhex binascii.unhexlify binascii.a2b_hex",
		"char":      "chr String.fromCharCode String.fromCodePoint unichr",
		"codec":     "codecs.decode codecs.getdecoder",
		"map":       "map filter",
		"names":     "os.listdir os.scandir fs.readdir fs.readdirSync Deno.readDir Deno.readDirSync",
		"walk":      "os.walk os.fwalk",
		"glob":      "glob.glob glob.iglob glob.sync glob.globSync fast-glob fast-glob.sync fast-glob.globSync globby globby.globby globby.globbySync tinyglobby.glob tinyglobby.globSync",
		"env":       "os.getenv os.environ.get os.environ.pop decouple.config Deno.env.get",
		"module":    "__import__ importlib.import_module require import createRequire",
		"attribute": "getattr Reflect.get object.__getattribute__ type.__getattribute__ inspect.getattr_static",
		"getter":    "operator.attrgetter operator.itemgetter",
		"caller":    "operator.methodcaller",
		"called":    "operator.call apply",
		"spaces":    "globals locals vars",
		"session":   "requests.Session requests.session httpx.Client httpx.AsyncClient aiohttp.ClientSession urllib3.PoolManager",
		"socket":    "socket.socket net.Socket ssl.wrap_socket ssl.SSLContext().wrap_socket",
		"dial":      "asyncio.open_connection asyncio.open_unix_connection trio.open_tcp_stream anyio.connect_tcp",
		"listen":    "asyncio.start_server socketserver.TCPServer socketserver.ThreadingTCPServer http.server.HTTPServer http.server.ThreadingHTTPServer xmlrpc.server.SimpleXMLRPCServer SimpleXMLRPCServer.SimpleXMLRPCServer multiprocessing.connection.Listener net.createServer http.createServer https.createServer express fastify flask.Flask bottle.Bottle Bun.serve Deno.serve ws.Server ws.WebSocketServer",
		"stream":    "multiprocessing.connection.Client telnetlib.Telnet websocket.create_connection websockets.connect websockets.sync.client.connect websocket.WebSocketApp WebSocket ws ws.WebSocket socket.io-client socket.io-client.io socketio.Client paho.mqtt.client.Client mqtt.connect ioredis redis.Redis",
		"resolve":   "dns.resolver.resolve dns.resolver.query dns.resolver.Resolver().resolve dns.resolveTxt dns.promises.resolveTxt dns.resolve dns.resolveAny socket.gethostbyname_ex",
		"secrets":   "netrc.netrc",
		"kept":      "keyring.get_password keyring.get_credential google.auth boto3.Session().get_credentials boto3.session.Session().get_credentials botocore.session.Session().get_credentials botocore.session.get_session().get_credentials",
		"dotenv":    "dotenv.dotenv_values dotenv.config",
		"connect":   "socket.create_connection net.connect net.createConnection tls.connect",
		"http":      "http.client.HTTPConnection http.client.HTTPSConnection httplib.HTTPConnection httplib.HTTPSConnection",
		"ftp":       "ftplib.FTP ftplib.FTP_TLS",
		"smtp":      "smtplib.SMTP smtplib.SMTP_SSL smtplib.LMTP",
		"login":     "paramiko.SSHClient paramiko.Transport paramiko.client.SSHClient fabric.Connection asyncssh.connect",
		"mail":      "imaplib.IMAP4 imaplib.IMAP4_SSL poplib.POP3 poplib.POP3_SSL",
		"cloud":     "boto3.client boto3.resource google.cloud.storage.Client storage.Client",
		"temp":      "tempfile.mkdtemp tempfile.mkstemp tempfile.gettempdir tempfile.NamedTemporaryFile tempfile.TemporaryDirectory tempfile.mktemp os.tmpdir fs.mkdtempSync",
		"dump":      "json.dump pickle.dump yaml.dump",
		"load":      "json.load yaml.safe_load toml.load tomllib.load",
		"print":     "print",
		"kill":      "os.kill process.kill signal.pidfd_send_signal Deno.kill",
		"killpg":    "os.killpg",
		"processes": "psutil.process_iter psutil.pids psutil.net_connections ps-list find-process",
		"process":   "psutil.Process",
		"fdwrite":   "os.write os.pwrite os.writev os.pwritev os.ftruncate fs.write fs.writeSync fs.ftruncate fs.ftruncateSync fs.writev fs.writevSync",
		"fdcopy":    "os.copy_file_range os.sendfile os.splice",
		"fdread":    "os.read os.pread fs.read fs.readSync",
	} {
		for name := range strings.FieldsSeq(names) {
			m[name] = what
		}
	}
	return m
}()

// results are the functions of which what they give has methods that are known: "trace.Trace()".
var results = func() map[string]bool {
	m := map[string]bool{}
	for name := range calls {
		for i := range len(name) {
			if strings.HasPrefix(name[i:], "()") {
				m[name[:i+2]] = true
			}
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
		if back.f != nil && w.language == "js" && (f.what == "" || calls[f.what] == "") && f.f == nil {
			defer w.invoke(back, arguments{at: []*value{nothing, nothing}}, depth)
		}
	}
	if v, done := w.apply(f, a, depth); done {
		return v
	}
	if v, done := w.method(&value{what: f.what, of: f.of, parts: f.parts}, method, a, depth); done {
		return v
	}
	w.handsOn(f, method, a, depth)
	switch {
	case results[f.what+"()"]:
		return &value{what: f.what + "()"}
	case on != nil && on.what == "" && on.own() && a.own(), pure(f.what) && a.own() && len(a.at) > 0:
		return obscure
	}
	return passed(on, a)
}

// own reports whether all arguments stand in the code.
func (a arguments) own() bool {
	return !slices.ContainsFunc(a.at, func(v *value) bool { return !v.own() }) && len(a.named) == 0
}

// pure reports whether a function of a library makes a text of texts, and does nothing else.
func pure(what string) bool {
	module, _, _ := strings.Cut(what, ".")
	return listed("re string codecs binascii struct bz2 lzma html unicodedata operator itertools textwrap quopri uu base64 ast json zlib format hex oct bin String Array Buffer Object JSON querystring he punycode", module)
}

// apply calls a value, where it is known what that does.
func (w *walker) apply(f *value, a arguments, depth int) (v *value, done bool) {
	switch {
	case f.f != nil:
		return w.invoke(f, a, depth), true
	case f.of == "partial":
		return w.apply(f.where, arguments{at: append(slices.Clip(f.items), a.at...), named: a.named}, depth)
	case f.of == "bound":
		return w.method(f.where, f.names[0], a, depth)
	case f.of == "caller", f.of == "getter":
		name, ok := (&value{parts: f.parts}).known()
		on := a.is(0)
		w.Hidden = w.Hidden || !ok && f.hides() && on.what != ""
		if !ok {
			return nothing, true
		}
		if on.what == "" && f.of == "caller" {
			return w.method(on, name, arguments{at: f.items}, depth)
		}
		for part := range strings.SplitSeq(name, ".") {
			on = w.attribute(on, part)
		}
		if f.of == "getter" {
			return on, true
		}
		return w.apply(on, arguments{at: f.items}, depth)
	case f.what == "":
		return nothing, false
	}
	for _, asks := range []string{".__getattribute__", ".__getattr__"} {
		if on, ok := strings.CutSuffix(f.what, asks); ok && calls[f.what] == "" {
			w.Hidden = w.Hidden || a.is(0).hides()
			if name, known := a.is(0).known(); known {
				return w.attribute(&value{what: on}, name), true
			}
		}
	}
	kind := calls[f.what]
	if kind == "" {
		for _, prefix := range []string{"fs-extra.", "graceful-fs.", "original-fs.", "mz.", "fs.constants."} {
			if rest, ok := strings.CutPrefix(f.what, prefix); ok && kind == "" {
				kind = calls["fs."+rest]
			}
		}
	}
	if rest, ok := strings.CutPrefix(f.what, "shelljs."); ok && kind == "" && !strings.Contains(rest, ".") { // rm, cp: programs
		return w.program(&value{items: append([]*value{text(rest)}, flat(a.at)...)}, arguments{}), true
	}
	if kind == "" {
		return nothing, false
	}
	return w.act(kind, f.what, a, depth), true
}

// flat are values, those of lists one by one.
func flat(list []*value) (all []*value) {
	for _, v := range list {
		if v.items != nil && len(v.names) == 0 {
			all = append(all, v.items[:min(len(v.items), maxParts)]...)
		} else {
			all = append(all, v)
		}
	}
	return all
}

// handsOn looks at what is given to a function of which nothing is known: it may call a
// function with what stands behind that, and run a text.
func (w *walker) handsOn(f *value, method string, a arguments, depth int) {
	called := f.what
	if called == "" {
		called = method
	}
	target := func(v *value) bool {
		return v.f == nil && (v.of == "partial" || v.of == "caller" || harmful[calls[v.what]])
	}
	for i, v := range a.at {
		rest := a.at[i+1:]
		if v.f != nil && len(rest) > 0 && w.language == "python" {
			w.invoke(v, arguments{at: flat(rest)}, depth)
			continue
		}
		if !target(v) {
			continue
		}
		given := rest
		if more := a.is(-1, "args"); more.items != nil {
			given = more.items
		}
		if len(given) == 0 && v.of != "partial" && v.of != "caller" {
			if openDoor(called) && doors[calls[v.what]] {
				w.does("nc -l -p 8000 | sh")
			}
			continue
		}
		w.apply(v, arguments{at: flat(given)}, depth)
		if len(given) > 0 && given[0].items != nil {
			w.apply(v, arguments{at: given}, depth)
		}
	}
	for _, name := range []string{"target", "func", "function", "callback", "fn", "key", "default_factory", "initializer", "preexec_fn", "object_hook", "default", "onerror", "onexc"} {
		if v := a.named[name]; v != nil && (v.f != nil || target(v)) {
			given := a.is(-1, "args", "initargs")
			kwargs := arguments{at: given.items, named: map[string]*value{}}
			for _, key := range a.is(-1, "kwargs").names {
				kwargs.named[key] = a.is(-1, "kwargs").member(key)
			}
			if v.f != nil || len(kwargs.at)+len(kwargs.named) > 0 || v.of == "partial" {
				w.apply(v, kwargs, depth)
			}
		}
	}
	if tells(called) {
		return
	}
	for _, v := range a.at {
		if s, ok := v.known(); ok && v.of != "number" {
			w.hears(s, called)
		} else if v.items != nil && len(v.names) == 0 && len(v.items) <= maxParts && len(v.items) > 0 && runsSomething(called) {
			if list := flat(a.at); !slices.ContainsFunc(list, func(v *value) bool { return !v.own() }) {
				w.hears(words(list...), called)
				w.hears(words(v.items...), called)
			}
		}
	}
}

// hears keeps a text that a function is given of which nothing is known.
func (w *walker) hears(s, called string) {
	if len(s) < 8 || len(s) > maxText || len(w.Texts) == maxParts || !runsSomething(called) && !strings.Contains(s, "(") {
		return
	}
	if !runsSomething(called) && !Whole("python", s) && !Whole("js", s) {
		return
	}
	if !slices.Contains(w.Texts, s) {
		w.Texts = append(w.Texts, s)
	}
}

// harmful are the functions that do harm by what they are given; doors those that run what
// they are given.
var (
	harmful = wordSet("shell run execl execv spawn code remove rmdir tree rm move chmod write truncate unpickle")
	doors   = wordSet("shell run execl execv spawn code unpickle function")
)

// openDoor reports whether a function lets others call what it is given.
func openDoor(called string) bool {
	last := called[strings.LastIndexByte(called, '.')+1:]
	return strings.HasPrefix(last, "register") || strings.HasPrefix(last, "add_") && (strings.HasSuffix(last, "route") || strings.HasSuffix(last, "handler") || strings.HasSuffix(last, "url_rule") || strings.HasSuffix(last, "command")) ||
		listed("on expose add_api_route subscribe route all", last)
}

// tells reports whether a function of a name shows, keeps or looks at texts, and runs none.
func tells(called string) bool {
	for part := range strings.SplitSeq(called, ".") {
		if telling[part] || strings.HasPrefix(part, "assert") || strings.HasPrefix(part, "is_") || strings.HasPrefix(part, "test") || strings.HasPrefix(part, "check") || strings.HasPrefix(part, "parse") || strings.HasPrefix(part, "find") || strings.HasPrefix(part, "add_argument") {
			return true
		}
	}
	return false
}

var telling = wordSet(`print println printf log logger logging console warn warning error info debug critical exception trace_ write writelines write_text dumps dump stringify
	re search match fullmatch findall compile sub split replace format join startswith endswith includes indexOf index count strip append push insert add extend update set get put
	expect equal deepEqual toBe toEqual toContain describe it raises param parametrize skip fail Exception Error ValueError RuntimeError TypeError KeyError SystemExit
	help description usage echo secho style say tell comment title body message post send emit reply respond render highlight tokenize lex Source Path URL
	sql execute_sql text literal escape quote html markdown dedent indent fill wrap`)

// runsSomething reports whether a function's name says that it runs what it is given.
func runsSomething(called string) bool {
	low := strings.ToLower(called)
	for _, word := range runWords {
		if strings.Contains(low, word) {
			return true
		}
	}
	return false
}

var runWords = strings.Fields("run exec spawn shell command cmd popen system eval launch invoke start process call script bash job task submit subproc")

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

// some reports whether anything is known of the arguments.
func (a arguments) some() bool {
	known := func(v *value) bool { return v.some() || v.what != "" || v.f != nil || v.items != nil || v.of != "" }
	for _, v := range a.named {
		if known(v) {
			return true
		}
	}
	return slices.ContainsFunc(a.at, known)
}

// invoke calls a function of the code's own.
func (w *walker) invoke(f *value, a arguments, depth int) *value {
	if w.depth >= maxCalls || w.steps > maxSteps {
		return nothing
	}
	if w.called[f.f]++; w.called[f.f] > maxAlike && !a.some() {
		return nothing
	}
	before := w.scope
	inner := make(map[string]*value, len(f.f.names))
	for i, p := range f.f.names {
		inner[p] = a.is(i, p)
	}
	around := f.in
	if around == nil {
		around = before
	}
	w.scope = &scope{inner, around}
	w.depth++
	back := w.run(f.f.body, depth)
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
	if strings.HasPrefix(what, "del") { // takes patterns
		first = globbed(first)
	}
	switch kind {
	case "remove", "rmdir", "tree", "rm":
		if first.items != nil { // each of them
			for _, item := range first.items[:min(len(first.items), maxParts)] {
				w.act(kind, what, arguments{at: append([]*value{item}, a.at[min(len(a.at), 1):]...), named: a.named}, depth)
			}
			return nothing
		}
	}
	d := deed{arguments: a, kind: kind, what: what, first: first, depth: depth}
	for _, does := range [...]func(*walker, deed) (*value, bool){(*walker).starts, (*walker).handlesFiles, (*walker).speaks, (*walker).computes} {
		if v, known := does(w, d); known {
			return v
		}
	}
	return nothing
}

// deed is a call of a known function: what kind it is of, by which name it was called, and with what, of which
// first stands first.
type deed struct {
	arguments
	kind, what string
	first      *value
	depth      int
}

// starts judges a call that runs a program or code, and what becomes of processes.
func (w *walker) starts(d deed) (*value, bool) {
	switch d.kind {
	case "shell":
		return w.within(d.arguments, func() *value { return w.shell(d.first) }), true
	case "run":
		if t, ok := d.option("shell").known(); ok && t != "False" && t != "false" || d.option("shell").what == "True" || d.option("shell").what == "true" {
			if len(d.first.items) > 0 {
				if line, ok := d.first.items[0].known(); ok && strings.Contains(line, "$") { // the others are its words
					w.within(d.arguments, func() *value {
						return w.program(&value{items: append([]*value{text("sh"), text("-c")}, d.first.items...)}, arguments{})
					})
				}
				return w.within(d.arguments, func() *value { return w.shell(joinWith(d.first.items, " ")) }), true
			}
			if rest := d.is(1); rest.items != nil {
				return w.within(d.arguments, func() *value { return w.shell(joinWith(append([]*value{d.first}, rest.items...), " ")) }), true
			}
			return w.within(d.arguments, func() *value { return w.shell(d.first) }), true
		}
		if program := d.option("executable"); program.some() && len(d.first.items) > 0 {
			d.first = &value{items: append([]*value{program}, d.first.items[1:]...)}
		}
		if args := d.option("args"); args.items != nil && d.first.items == nil {
			d.first = &value{items: append([]*value{d.first}, args.items...)}
		}
		if cmd := d.first.member("cmd"); cmd.items != nil {
			d.first = cmd
		}
		return w.within(d.arguments, func() *value { return w.program(d.first, d.arguments) }), true
	case "execl":
		return w.program(&value{items: append([]*value{d.first}, d.at[min(len(d.at), 2):]...)}, arguments{}), true
	case "execv":
		if argv := d.is(1).items; len(argv) > 0 {
			return w.program(&value{items: append([]*value{d.first}, argv[1:]...)}, arguments{}), true
		}
		return w.program(d.first, arguments{}), true
	case "spawn":
		return w.program(&value{items: d.at[min(len(d.at), 1):]}, arguments{}), true
	case "fork":
		all := append([]*value{text("node")}, d.option("execArgv").items...)
		return w.program(&value{items: append(append(all, d.first), d.is(1).items...)}, arguments{}), true
	case "code":
		return w.code(d.what, d.first, d.arguments, d.depth), true
	case "function":
		return w.function(d.arguments), true
	case "worker":
		if truth(d.option("eval")) {
			return w.code(d.what, d.first, d.arguments, d.depth), true
		}
		if s, ok := d.first.known(); ok {
			w.does("node " + quote(s))
		}
	case "unpickle":
		if !loadsObjects(d) {
			return content(d.first), true
		}
		if objectLoaders[d.what] && d.first.of != "file" {
			d.first = &value{of: "file", where: d.first}
		}
		w.evaluates(d.first)
		return w.unpickled(d.first, d.depth), true
	case "marshal":
		w.Hidden = w.Hidden || d.first.own()
		return content(d.first), true
	case "yaml":
		return w.yaml(d.what, d.first, d.arguments, d.depth), true
	case "configure":
		w.configured(d.first, 0, d.depth)
	case "doctest":
		w.doctest()
	case "typed":
		if w.talks != nil {
			w.does("sh -c " + w.talks.word())
		}
	case "native":
		for _, v := range d.at {
			if s, ok := v.known(); ok && strings.Contains(s, "/") {
				w.does(quote(s))
			}
		}
		return &value{what: d.what + "()"}, true
	case "imported":
		for _, v := range append(slices.Clip(d.at), d.named["path"], d.named["location"]) {
			if s, ok := v.known(); ok && strings.Contains(s, "/") {
				w.does("python3 " + quote(s))
			}
		}
		return &value{what: d.what + "()"}, true
	case "pip":
		return w.program(&value{items: append([]*value{text("pip")}, d.first.items...)}, arguments{}), true
	case "proxy":
		if d.what == "Reflect.apply" {
			v, _ := w.apply(d.first, arguments{at: d.is(2).items}, d.depth)
			return v, true
		}
		rest := d.at[min(len(d.at), 1):]
		if w.language == "js" {
			rest = nil
		}
		v := &value{of: "partial", where: d.first, items: slices.Clone(rest)}
		for key, item := range d.named {
			v.names, v.bound = append(v.names, key), append(v.bound, item)
		}
		return v, true
	case "called":
		v, _ := w.apply(d.first, arguments{at: d.at[min(len(d.at), 1):], named: d.named}, d.depth)
		return v, true
	case "kill", "killpg":
		w.kills(d.kind, d.first, d.is(1))
	case "processes":
		return &value{of: "processes"}, true
	case "process":
		return &value{of: "process", parts: d.first.parts}, true
	default:
		return nil, false
	}
	return nothing, true
}

// handlesFiles judges a call that reads, writes, moves or removes files, or tells where they are.
func (w *walker) handlesFiles(d deed) (*value, bool) {
	switch d.kind {
	case "chdir":
		w.folder = d.first
		w.does("cd " + d.first.word())
	case "remove":
		w.path("rm -f", d.first)
	case "rmdir":
		w.path(map[bool]string{true: "rm -rf", false: "rmdir"}[truth(d.option("recursive"))], d.first)
	case "tree":
		w.path("rm -rf", d.first)
	case "rm":
		w.path(map[bool]string{true: "rm -rf", false: "rm -f"}[truth(d.option("recursive"))], d.first)
	case "copy":
		w.reads(d.first)
		w.Hidden = w.Hidden || d.is(1, "dst", "dest").hides()
		w.path("cp -r", d.first, d.is(1, "dst", "dest"))
	case "move":
		w.path("mv", d.first, d.is(1, "dst", "dest"))
	case "link":
		w.path("ln -s", d.first, d.is(1, "dst"))
	case "chmod":
		if mode, ok := d.is(1, "mode").known(); ok {
			if n, is := integer(mode); is {
				mode = strconv.FormatInt(n, 8)
			}
			w.path("chmod "+quote(mode), d.first)
		}
	case "chown":
		w.path("chown "+words(d.is(1, "uid")), d.first)
	case "open":
		file := w.open(d.first, d.is(1, "mode", "flags"))
		if mode, _ := d.is(1, "mode").known(); (d.what == "zipfile.ZipFile" || d.what == "tarfile.open") && strings.ContainsAny(mode, "wxa") {
			return &value{of: "archive", where: d.first}, true
		}
		return file, true
	case "archive":
		kind, _ := d.is(1, "format").known()
		root := d.is(2, "root_dir", "base_dir")
		if !root.some() {
			root = text(".")
		}
		w.does("zip -r " + join(d.first, text("."+kind)).word() + " " + root.word())
	case "input":
		s, ok := w.with.Input.value().known()
		if line, _, _ := strings.Cut(s, "\n"); ok {
			return text(line), true
		}
		return w.with.Input.value(), true
	case "read":
		if s, ok := d.first.known(); ok && (s == "0" && d.first.of == "number" || s == "/dev/stdin") || d.first.of == "input" {
			return w.input(), true
		}
		w.reads(d.first)
		if at := slices.IndexFunc(d.first.parts, func(p part) bool { return p.kind == given && strings.HasPrefix(p.text, "nc -l") }); at > 0 {
			w.does("python3 -m http.server -d " + (&value{parts: d.first.parts[:at]}).word()) // whatever is asked for there
		}
		if d.first.some() {
			return gives("cat " + d.first.word()), true
		}
	case "write":
		return w.write(d.first, d.is(1, "data"), ">"), true
	case "append":
		return w.write(d.first, d.is(1, "data"), ">>"), true
	case "truncate":
		w.path("truncate -s 0", d.first)
	case "path":
		return &value{of: "path", parts: pathOf(d.at...).parts}, true
	case "join":
		return pathOf(d.at...), true
	case "home":
		return &value{of: "path", parts: []part{{variable, "HOME"}}}, true
	case "modules":
		switch which, ok := d.first.known(); {
		case d.what == "site.getsitepackages":
			return listOf([]*value{modulesFolder()}), true
		case d.what == "sysconfig.get_paths":
			return &value{of: "object", items: []*value{modulesFolder(), modulesFolder()}, names: []string{"purelib", "platlib"}}, true
		case d.what != "sysconfig.get_path" || ok && strings.HasSuffix(which, "lib"):
			return modulesFolder(), true
		}
	case "names":
		if s, _ := d.first.known(); strings.HasPrefix(s, "/proc") {
			return &value{of: "processes"}, true
		}
		return &value{of: "list", items: []*value{{parts: []part{{pattern, "*"}}}}}, true
	case "walk":
		any := &value{of: "list", items: []*value{{parts: []part{{pattern, "*"}}}}}
		return &value{of: "list", items: []*value{{of: "list", items: []*value{d.first, any, any}}}}, true
	case "glob":
		return &value{of: "list", items: []*value{globbed(d.first)}}, true
	case "temp":
		return join(text("/tmp/"), nothing), true
	case "dump":
		for i, v := range d.at {
			if i > 0 && v.of == "file" {
				w.write(v.where, content(d.at[0]), map[bool]string{true: ">>", false: ">"}[v.added])
			}
		}
	case "load":
		if d.what == "json.load" {
			return fromJSON(w.held(d.first)), true
		}
		return w.held(d.first), true
	case "print":
		if f := d.named["file"]; f != nil && f.of == "file" {
			w.write(f.where, content(d.first), map[bool]string{true: ">>", false: ">"}[f.added])
		}
	case "fdwrite":
		w.writesTo(d.first, d.is(1))
	case "fdcopy":
		to := d.is(1)
		if d.what == "os.sendfile" {
			to = d.first
		}
		w.writesTo(to, nothing)
	case "fdread":
		return content(d.first), true
	default:
		return nil, false
	}
	return nothing, true
}

// speaks judges a call that serves, fetches, or speaks to somebody.
func (w *walker) speaks(d deed) (*value, bool) {
	switch d.kind {
	case "served":
		folder := d.is(0, "directory")
		if d.what != "express.static" && d.what != "serve-static" {
			folder = d.is(-1, "directory")
		}
		if folder.some() {
			w.does("python3 -m http.server -d " + folder.word())
		}
		return &value{what: d.what}, true
	case "listen":
		for _, v := range d.at {
			if v.what == "http.server.SimpleHTTPRequestHandler" || v.of == "partial" && v.where.what == "http.server.SimpleHTTPRequestHandler" {
				folder := v.named("directory")
				if folder == nil {
					folder = w.folder
				}
				if folder.some() {
					w.does("python3 -m http.server -d " + folder.word())
				}
			}
			if v.f != nil { // is given what comes in
				w.invoke(v, arguments{at: []*value{visit, nothing}}, d.depth)
			}
		}
		w.talks = visit
		return &value{of: "server"}, true
	case "listening":
		w.does("node --inspect=" + join(d.is(1), text(":"), d.first).word())
	case "get", "send", "erase", "request":
		return w.web(d.kind, d.what, d.first, d.arguments, d.depth), true
	case "fetch":
		if d.first.some() {
			w.does("curl -s -o " + words(d.is(1, "filename", "out"), d.first))
			if to, ok := d.is(1, "filename", "out").known(); ok && len(w.brought) < maxStars {
				w.brought = append(w.brought, to)
			}
		}
		return listOf([]*value{{parts: d.is(1, "filename", "out").parts}, nothing}), true
	case "session":
		return &value{what: "requests"}, true
	case "socket":
		return &value{of: "socket", where: &value{}}, true
	case "connect":
		return w.connect(d.arguments), true
	case "dial":
		s := w.connect(d.arguments)
		return listOf([]*value{s, s}), true
	case "stream":
		return w.stream(d.first, d.arguments), true
	case "resolve":
		answer := gives("dig +short TXT " + d.first.word())
		for _, back := range d.at {
			if back.f != nil {
				w.invoke(back, arguments{at: []*value{nothing, answer}}, d.depth)
			}
		}
		return answer, true
	case "secrets":
		return gives(`cat "$HOME"/.netrc`), true
	case "kept": // as the program gives it out that keeps it
		switch {
		case strings.HasPrefix(d.what, "keyring."):
			return gives("secret-tool lookup service " + d.first.word()), true
		case strings.HasPrefix(d.what, "google."):
			return listOf([]*value{gives("gcloud auth print-access-token"), nothing}), true
		}
		return gives("aws configure get aws_secret_access_key"), true
	case "dotenv":
		file := d.option("dotenv_path", "path")
		if !file.some() && len(d.is(0).names) == 0 {
			file = d.is(0)
		}
		if !file.some() {
			file = text(".env")
		}
		return &value{of: "dotenv", where: file, parts: gives("cat " + file.word()).parts}, true
	case "http":
		return &value{of: "http", where: join(text(schemeOf(d.what)), d.first)}, true
	case "ftp":
		return &value{of: "ftp", where: join(text("ftp://"), d.first, text("/"))}, true
	case "mail":
		return w.dials(d.first), true
	case "smtp":
		return &value{of: "socket", where: join(text("nc "), d.first, text(" 25"))}, true
	case "login":
		return &value{of: "login", where: &value{parts: d.is(0, "host").parts}}, true
	case "cloud":
		return &value{of: "cloud"}, true
	default:
		return nil, false
	}
	return nothing, true
}

// computes tells what a call gives that does nothing: texts, lists, modules, names.
func (w *walker) computes(d deed) (*value, bool) {
	switch d.kind {
	case "expand":
		return expanded(d.first), true
	case "vars":
		return expanded(d.first), true
	case "same":
		return d.first, true
	case "made":
		if d.what == "Buffer.from" {
			if how, _ := d.is(1).known(); how == "base64" || how == "base64url" {
				return decoded(d.first, "64"), true
			} else if how == "hex" {
				return decoded(d.first, "hex"), true
			}
		}
		if d.first.items != nil {
			return bytesOf(d.first.items), true
		}
		return d.first, true
	case "list":
		if d.what == "sorted" || d.what == "itertools.chain" {
			all := []*value{}
			for _, v := range d.at {
				all = w.extended(all, w.each(v))
			}
			return listOf(all), true
		}
		if f := d.is(1); f.f != nil && d.first.items != nil { // Array.from(list, f)
			return w.act("map", d.what, arguments{at: []*value{f, d.first}}, d.depth), true
		}
		if d.first.items == nil && !d.first.plain() {
			if len(d.at) == 0 {
				return listOf(nil), true
			}
			return d.first, true
		}
		return listOf(slices.Clone(w.each(d.first))), true
	case "listed":
		return listed1(d.what, d.arguments), true
	case "count":
		return counted(d.what, d.arguments), true
	case "concat":
		return w.summed(d.what, d.arguments, d.depth), true
	case "unescape":
		return unescapedURL(d.first), true
	case "json":
		return fromJSON(d.first), true
	case "literal":
		if s, ok := d.first.known(); ok {
			if body, whole, _ := parsed("python", strings.TrimSpace(s)); whole && len(body) == 1 && body[0].kind == evaluate {
				return w.eval(body[0].value, d.depth), true
			}
			return obscure, true
		}
		return d.first, true
	case "unpack":
		how, _, _ := strings.Cut(d.what, ".")
		switch {
		case strings.HasSuffix(d.what, "gunzipSync"), strings.HasSuffix(d.what, "unzipSync"):
			how = "gzip"
		case strings.HasSuffix(d.what, "inflateRawSync"), strings.HasSuffix(d.what, "brotliDecompressSync"):
			how = ""
		}
		return unpacked(d.first, how), true
	case "sub":
		return substituted(d.first, d.is(1, "repl"), d.is(2, "string")), true
	case "template":
		return &value{of: "template", parts: d.first.parts}, true
	case "buffer":
		return &value{of: "buffer", parts: slices.Clone(d.first.parts)}, true
	case "table":
		if len(d.first.names) > 0 {
			return d.first, true
		}
		return &value{of: "table", items: d.at}, true
	case "pack":
		return packed(d.arguments), true
	case "decode64":
		return decoded(d.first, "64"), true
	case "decodehex":
		return decoded(d.first, "hex"), true
	case "codec":
		how, _ := d.is(1, "encoding").known()
		return recoded(d.first, how), true
	case "char":
		return characters(d.at), true
	case "map":
		f, of := d.first, d.is(1)
		if of.items == nil && !of.plain() && d.what != "Array.from" {
			w.apply(f, arguments{at: []*value{{parts: of.parts}}}, d.depth)
			return of, true
		}
		all := []*value{}
		lists := [][]*value{}
		for _, v := range d.at[min(len(d.at), 1):] {
			lists = append(lists, w.each(v))
		}
		for i, item := range lists[0][:min(len(lists[0]), 256)] {
			given := []*value{item}
			for _, more := range lists[1:] {
				if i < len(more) {
					given = append(given, more[i])
				}
			}
			if v, done := w.apply(f, arguments{at: given}, d.depth); done && d.what != "filter" {
				item = v
			} else if d.what != "filter" && item.own() {
				item = obscure
			}
			all = append(all, item)
		}
		return listOf(all), true
	case "env":
		if key, ok := d.first.known(); ok {
			return w.variable(key), true
		}
	case "module":
		name, ok := d.first.known()
		if !ok {
			w.Dark = w.Dark || d.what != "require" && d.what != "import"
			w.Hidden = w.Hidden || d.first.hides()
			return nothing, true
		}
		v := w.imported(strings.TrimPrefix(name, "node:"))
		if top, _, below := strings.Cut(name, "."); below && d.what == "__import__" && v.what != "" {
			return &value{what: module(top)}, true // the package, in which the module is
		}
		return v, true
	case "attribute":
		if name, ok := d.is(1).known(); ok {
			return w.attribute(d.first, name), true
		}
		w.Dark = w.Dark || dangerous(d.first.what)
		w.Hidden = w.Hidden || d.is(1).hides() && dangerous(d.first.what)
	case "getter":
		return &value{of: "getter", parts: d.first.parts}, true
	case "caller":
		return &value{of: "caller", parts: d.first.parts, items: slices.Clone(d.at[min(len(d.at), 1):])}, true
	case "spaces":
		if d.first.what != "" {
			return d.first, true
		}
		return &value{what: "globals"}, true
	default:
		return nil, false
	}
	return nothing, true
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
	for _, item := range v.items {
		all.items = append(all.items, globbed(item))
	}
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
		if s, ok := p.known(); ok && strings.HasPrefix(s, "file://") {
			paths[i] = text(strings.TrimPrefix(s, "file://"))
		}
		if p.hides() && i == len(paths)-1 {
			w.Hidden = true
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
	w.Hidden = w.Hidden || v.hides()
	if !v.some() {
		return &value{of: "answer"}
	}
	line := v.line()
	w.does(line)
	return &value{of: "answer", parts: gives(line).parts}
}

// within does something in the folder that a call is told.
func (w *walker) within(a arguments, do func() *value) *value {
	folder := a.option("cwd")
	if !folder.some() {
		return do()
	}
	before := len(w.Lines)
	v := do()
	for i := before; i < len(w.Lines); i++ {
		w.Lines[i] = "(cd " + folder.word() + " && " + w.Lines[i] + "\n)"
	}
	return v
}

// program runs a program with its arguments.
func (w *walker) program(argv *value, a arguments) *value {
	all := argv.items
	if all == nil {
		all = []*value{argv}
		if w.language == "python" && slices.ContainsFunc(argv.parts, func(p part) bool { return p.kind == said && strings.Contains(p.text, " ") }) {
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
	w.Hidden = w.Hidden || len(all) > 0 && all[0].hides() || slices.ContainsFunc(all, (*value).hides)
	if len(all) == 0 || !slices.ContainsFunc(all, (*value).some) {
		return &value{of: "answer"}
	}
	line := words(all...)
	w.does(line)
	return &value{of: "answer", parts: gives(line).parts}
}

// code runs a text as code, and gives what an expression gives.
func (w *walker) code(what string, v *value, a arguments, depth int) *value {
	if v.f != nil || v.what != "" { // setTimeout of a function
		return nothing
	}
	for _, more := range []*value{a.named["stmt"], a.named["setup"], a.named["statement"]} {
		if more != nil && more != v {
			w.code(what, more, arguments{}, depth)
		}
	}
	if (strings.HasPrefix(what, "timeit.") || strings.HasPrefix(what, "cProfile.")) && len(a.at) > 1 && a.is(1).plain() {
		w.code(what, a.is(1), arguments{}, depth)
	}
	w.Hidden = w.Hidden || v.hides()
	if v.some() || listed("eval exec Function", what) || strings.HasPrefix(what, "vm.") { // and not what a timer is given
		w.evaluates(v)
	}
	if !v.some() {
		w.Dark = w.Dark || len(v.parts) > 0 || what == "eval" || what == "exec"
		return nothing
	}
	program := "python3 -c "
	if w.language == "js" {
		program = "node -e "
	}
	if what == "runpy.run_path" {
		program = "python3 "
	}
	w.does(program + v.word())
	s, ok := v.known()
	if !ok || w.depth >= maxCalls || what == "runpy.run_path" {
		return nothing
	}
	// What it binds is known to what follows, and what it gives.
	body, whole, _ := parsed(w.language, strings.TrimSpace(s))
	if w.steps += len(s) / 4; !whole || len(body) == 0 || w.steps > maxSteps {
		return nothing
	}
	w.depth++
	defer func() { w.depth-- }()
	if last := body[len(body)-1]; last.kind == evaluate {
		w.run(body[:len(body)-1], depth)
		return w.eval(last.value, depth)
	}
	w.run(body, depth)
	return nothing
}

// function is a function that is made of texts: its parameters, and last its body.
func (w *walker) function(a arguments) *value {
	if len(a.at) == 0 {
		return nothing
	}
	last := a.at[len(a.at)-1]
	s, ok := last.known()
	outer, whole, _ := parsed("js", "(function(){"+s+"\n})")
	if w.steps += len(s) / 4; !ok || !whole || w.steps > maxSteps || len(outer) != 1 || outer[0].value == nil || outer[0].value.kind != function {
		return w.code("Function", last, arguments{}, 0)
	}
	w.does("node -e " + last.word())
	f := &node{kind: function, body: outer[0].value.body}
	for _, p := range a.at[:len(a.at)-1] {
		names, _ := p.known()
		for name := range strings.SplitSeq(names, ",") {
			f.names = append(f.names, strings.TrimSpace(name))
		}
	}
	v := &value{f: f, in: w.globals}
	if len(w.functions) < 500 {
		w.functions = append(w.functions, v)
	}
	return v
}

// open is a file: to be read, or to be written.
func (w *walker) open(path, mode *value) *value {
	if path.of == "file" {
		return path
	}
	if s, ok := path.known(); ok && (s == "0" && path.of == "number" || s == "/dev/stdin") {
		return w.input()
	}
	f := &value{of: "file", where: &value{parts: path.parts}}
	how, _ := mode.known()
	if n, is := integer(how); is && mode.of == "number" { // as the system has them
		how = map[bool]string{true: "O_RDWR", false: ""}[n&3 != 0]
		if n&0o1000 != 0 {
			how += "|O_TRUNC"
		}
	}
	if mode.of == "flags" || strings.Contains(how, "O_") {
		writes := strings.Contains(how, "O_WRONLY") || strings.Contains(how, "O_RDWR") || strings.Contains(how, "O_TRUNC") || strings.Contains(how, "O_APPEND")
		how = ""
		if text, _ := mode.known(); strings.Contains(text, "O_TRUNC") {
			how = "w"
		} else if writes {
			how = "a"
		}
	}
	if strings.ContainsAny(how, "wax+") && len(how) <= 4 {
		f.added = strings.Contains(how, "a")
		w.Hidden = w.Hidden || path.hides()
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
	w.Hidden = w.Hidden || path.hides()
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
			url = join(text(schemeOf(what)), host, first.member("path"))
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
	for _, name := range []string{"data", "json", "content", "body", "files", "params"} {
		if v := a.option(name); v != nothing {
			data = append(data, v)
		}
	}
	headers := a.option("headers")
	if len(headers.names) == 0 && headers != nothing {
		data = append(data, headers) // the whole of something
	}
	line += w.headers(headers) + w.login(a.option("auth"))
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

// schemeOf is how an address begins that a function of a library is told without its scheme.
func schemeOf(what string) string {
	if strings.HasPrefix(what, "https.") || strings.Contains(what, "HTTPS") {
		return "https://"
	}
	return "http://"
}

// headers are the headers of a request, as the options of a client.
func (w *walker) headers(v *value) (options string) {
	for i, name := range v.names {
		if i == len(v.items) || i == maxHeaders {
			break
		}
		for _, item := range w.leaves(v.items[i], 0) {
			options += " -H " + join(text(name+": "), item).word()
		}
	}
	return options
}

// maxHeaders is how many headers of one request are looked at.
const maxHeaders = 64

// login is what a request logs in with: a name and a password, as a pair or as an object.
func (w *walker) login(v *value) string {
	all := w.leaves(v, 0)
	switch {
	case v == nothing || len(all) == 0:
		return ""
	case len(all) == 1:
		return " -u " + all[0].word()
	}
	return " -u " + join(all[0], text(":"), all[1]).word()
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
	if !host.some() {
		return &value{of: "socket", where: &value{}}
	}
	return w.dials(host, port)
}

// dials is a connection to a host that is known.
func (w *walker) dials(to ...*value) *value {
	line := "nc " + words(to...)
	w.talks = gives(line)
	return &value{of: "socket", where: text(line)}
}
