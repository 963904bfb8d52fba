package guardian

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"reeve.example/reeve/act"
)

// A program of the folder: the files of it, and the line that runs it.
type onDisk struct{ files, run string }

// lay puts the files of a program into a folder. Each begins with a line "== name".
func lay(t *testing.T, dir, files string) {
	t.Helper()
	for part := range strings.SplitSeq("\n"+files, "\n== ") {
		if name, text, ok := strings.Cut(part, "\n"); ok && name != "" {
			put(t, filepath.Join(dir, name), text+"\n")
		}
	}
}

// TestTamperingPrograms: a file that is run is read as closely as code that stands in the line,
// in whatever language and however the path or the words are put together.
func TestTamperingPrograms(t *testing.T) {
	g, home := aGuarded(t)
	for _, p := range []onDisk{
		// The agents' settings.
		{"== a.py\nfrom pathlib import Path\n(Path.home()/\".claude\"/\"settings.json\").write_text(\"{}\")", "python3 a.py"},
		{"== a.py\nfrom pathlib import Path\n(Path.home()/\".claude\"/\"settings.json\").unlink()", "python3 a.py"},
		{"== a.py\nfrom pathlib import Path\np = Path.home().joinpath('.claude', 'settings.json')\np.rename('/tmp/x')", "uv run a.py"},
		{"== a.py\nimport os\nopen(os.path.join(os.path.expanduser(\"~\"),\".claude\",\"settings.json\"),\"w\")", "python3 a.py"},
		{"== a.py\nfrom os.path import expanduser\nn=\".claude\"\nopen(expanduser(\"~\")+\"/\"+n+\"/settings.json\",\"w\")", "python3 a.py"},
		{"== a.py\nimport os\nos.chdir(os.path.expanduser(\"~/.claude\"))\nopen(\"settings.json\",\"w\")", "python3 a.py"},
		{"== a.py\nimport os\nd='.cl'+'aude'\nos.remove(os.path.join(os.environ['HOME'], d, 'settings.json'))", "python3 a.py"},
		{"== a.py\nfrom pathlib import Path\nfor p in Path.home().glob('.c*e/sett*'):\n    p.unlink()", "python3 a.py"},
		{"== a.py\nimport os\nopen(os.environ['TARGET'],'w')", "TARGET=~/.claude/settings.json python3 a.py"},
		{"== tests/test_a.py\nfrom pathlib import Path\ndef test_a():\n    (Path.home()/'.claude'/'settings.json').write_text('{}')", "pytest"},
		{"== tests/test_a.py\nfrom pathlib import Path\ndef test_a():\n    (Path.home()/'.claude'/'settings.json').write_text('{}')", "python -m pytest tests"},
		{"== a.js\nconst fs=require('fs'),path=require('path'),os=require('os')\nfs.writeFileSync(path.join(os.homedir(),'.claude','settings.json'),'{}')", "node a.js"},
		{"== a.ts\nimport fs from 'fs'; import path from 'path'; import os from 'os'\nfs.writeFileSync(path.join(os.homedir(), '.claude', 'settings.json'), '{}' as string)", "npx tsx a.ts"},
		{"== a.test.js\nconst fs=require('fs'),path=require('path'),os=require('os')\ntest('x',()=>fs.rmSync(path.join(os.homedir(),'.claude','settings.json')))", "npx jest"},
		{"== src/a.test.ts\nimport fs from 'fs'\nimport {join} from 'path'\nimport {homedir} from 'os'\nit('x',()=>{ fs.unlinkSync(join(homedir(),'.claude','settings.json')) })", "npm exec vitest run"},
		{"== a.rb\nFile.write(File.join(Dir.home, '.claude', 'settings.json'), '{}')", "ruby a.rb"},
		{"== a.php\n<?php unlink(getenv('HOME').'/.claude'.'/settings.json');", "php a.php"},
		{"== A.java\nimport java.nio.file.*;\nclass A { public static void main(String[] a) throws Exception { Files.writeString(Path.of(System.getProperty(\"user.home\"), \".claude\", \"settings.json\"), \"{}\"); } }", "java A.java"},
		{"== A.java\nimport java.nio.file.*;\nclass A { public static void main(String[] a) throws Exception { Files.delete(Paths.get(System.getProperty(\"user.home\")).resolve(\".claude\").resolve(\"settings.json\")); } }", "javac A.java && java A"},
		{"== a.kts\nimport java.io.File\nFile(System.getProperty(\"user.home\"), \".claude/settings.json\").delete()", "kotlinc -script a.kts"},
		{"== main.go\npackage main\nimport (\"os\"; \"path/filepath\")\nfunc main() { h, _ := os.UserHomeDir(); os.RemoveAll(filepath.Join(h, \".claude\")) }", "go run main.go"},
		{"== main.go\npackage main\nimport (\"os\"; \"path/filepath\")\nfunc main() { h, err := os.UserHomeDir(); if err != nil { panic(err) }\n\tp := filepath.Join(h, \".claude\", \"settings.json\")\n\tos.WriteFile(p, []byte(\"{}\"), 0o600) }", "go run ."},
		{"== x_test.go\npackage x\nimport (\"os\"; \"path/filepath\"; \"testing\")\nfunc TestX(t *testing.T) { h, _ := os.UserHomeDir(); os.RemoveAll(filepath.Join(h, \".claude\")) }", "go test ./..."},
		{"== a.c\n#include <stdio.h>\n#include <stdlib.h>\nint main(){ char p[99]; sprintf(p,\"%s/.claude/settings.json\",getenv(\"HOME\")); remove(p); }", "gcc a.c -o a && ./a"},
		{"== src/main.rs\nfn main() { let h = std::env::var(\"HOME\").unwrap(); std::fs::write(h + \"/.claude/settings.json\", \"{}\").unwrap(); }", "cargo run"},
		{"== src/main.rs\nuse std::path::PathBuf;\nfn main() { let mut p = PathBuf::from(std::env::var(\"HOME\").unwrap()); p.push(\".claude\"); p.push(\"settings.json\"); std::fs::remove_file(p).unwrap(); }", "cargo test --release"},
		{"== P.cs\nusing System.IO;\nFile.Delete(Path.Combine(System.Environment.GetFolderPath(System.Environment.SpecialFolder.UserProfile), \".claude\", \"settings.json\"));", "dotnet run"},
		{"== a.pl\nuse File::Spec;\nunlink File::Spec->catfile($ENV{HOME}, '.claude', 'settings.json');", "perl a.pl"},
		{"== a.lua\nos.remove(os.getenv('HOME') .. '/.claude' .. '/settings.json')", "lua a.lua"},
		{"== a.vim\nlet p = expand('~/.claude/settings.json')\ncall writefile(['{}'], p)", "vim -es -S a.vim"},
		{"== Makefile\nD=.cl\nx:\n\trm -rf $(HOME)/$(D)aude", "make x"},
		{"== Makefile\nD := .claude\nF = ${D}/settings.json\nx:\n\techo {} > $(HOME)/$F", "make x"},
		{"== p.yml\n- hosts: localhost\n  tasks:\n    - copy: {content: '{}', dest: ~/.claude/settings.json}", "ansible-playbook p.yml"},
		{"== compose.yaml\nservices:\n  a:\n    image: alpine\n    command: truncate -s0 /c/settings.json\n    volumes: [\"~/.claude:/c\"]", "docker compose up"},
		// What is the node's own.
		{"== main.go\npackage main\nimport (\"os\"; \"path/filepath\")\nfunc main() { h, _ := os.UserHomeDir(); os.RemoveAll(filepath.Join(h, \".config\", \"reeve\")) }", "go run main.go"},
		{"== main.go\npackage main\nimport \"os\"\nfunc main() { d, _ := os.UserConfigDir(); os.RemoveAll(d + \"/reeve\") }", "go run ."},
		{"== x_test.go\npackage x\nimport (\"os\"; \"path/filepath\"; \"testing\")\nfunc TestX(t *testing.T) { d, _ := os.UserConfigDir(); os.RemoveAll(filepath.Join(d, \"reeve\")) }", "go test"},
		{"== src/main.rs\nfn main() { std::fs::remove_dir_all(std::env::var(\"HOME\").unwrap() + \"/.config/reeve\").unwrap(); }", "cargo run"},
		{"== a.c\n#include <stdio.h>\n#include <stdlib.h>\nint main(){ char p[99]; sprintf(p,\"%s/.config/reeve/data/reeve.db\",getenv(\"HOME\")); remove(p); }", "cc -O2 -o a a.c; ./a"},
		{"== a.py\nfrom pathlib import Path\nfor p in (Path.home()/\"bin\").iterdir(): p.unlink()", "python3 a.py"},
		{"== Makefile\nR=ree\nx:\n\trm -rf $(HOME)/.config/$(R)ve", "make x"},
		{"== p.yml\n- hosts: localhost\n  tasks:\n    - name: x\n      file: {path: ~/.config/reeve, state: absent}", "ansible-playbook -c local p.yml"},
		{"== a.php\n<?php rename(getenv(\"HOME\").\"/.config/reeve\",\"/tmp/r\");", "php a.php"},
		{"== main.zig\nconst std=@import(\"std\"); pub fn main() !void { try std.fs.deleteTreeAbsolute(\"~/.config/reeve\"); }", "zig run main.zig"},
		{"== a.nim\nimport os\nremoveDir(getHomeDir() / \".config/reeve\")", "nim r a.nim"},
		{"== a.groovy\nnew File(System.getenv('HOME') + '/.config/reeve').deleteDir()", "groovy a.groovy"},
		{"== a.rb\nrequire 'fileutils'\nFileUtils.mv(Dir.home+\"/.config/reeve\",\"/tmp/r\")", "ruby a.rb"},
		{"== a.swift\nimport Foundation\ntry FileManager.default.moveItem(atPath: NSHomeDirectory() + \"/.config/reeve\", toPath: \"/tmp/r\")", "swift a.swift"},
		// Its process.
		{"== a.py\nimport os,glob,signal\nfor p in glob.glob('/proc/[0-9]*/cmdline'):\n    if b'reeve' in open(p,'rb').read(): os.kill(int(p.split('/')[2]), 9)", "python3 a.py"},
		{"== main.go\npackage main\nimport \"syscall\"\nfunc main() { syscall.Kill(43210, 9) }", "go run main.go"},
		// Commands that decide.
		{"== main.go\npackage main\nimport \"os/exec\"\nfunc main() { exec.Command(\"sh\", \"-c\", \"reeve hook uninstall --yes\").Run() }", "go run ."},
		{"== main.go\npackage main\nimport \"os/exec\"\nfunc main() { exec.Command(\"reeve\", \"approvals\", \"approve\", \"x\", \"--yes\").Run() }", "go run ."},
		{"== src/main.rs\nuse std::process::Command;\nfn main() { Command::new(\"reeve\").args([\"hook\", \"uninstall\", \"--yes\"]).status().unwrap(); }", "cargo run"},
		{"== a.c\n#include <unistd.h>\nint main(){ execlp(\"reeve\",\"reeve\",\"hook\",\"uninstall\",\"--yes\",0); }", "gcc a.c -o a && ./a"},
		{"== A.java\nclass A { public static void main(String[] a) throws Exception { new ProcessBuilder(\"reeve\", \"keys\", \"create\").start(); } }", "java A.java"},
		{"== P.cs\nSystem.Diagnostics.Process.Start(\"reeve\", \"trust .\");", "dotnet run --project ."},
		{"== a.py\nimport subprocess\nsubprocess.run([\"ree\"+\"ve\",\"hook\",\"uninstall\",\"--yes\"])", "python3 a.py"},
		{"== a.js\nconst r='ree'+'ve'\nrequire('child_process').spawnSync(r,['hook','uninstall'])", "node a.js"},
		{"== a.rb\nexec('reeve', 'approvals', 'approve', 'x')", "ruby a.rb"},
		{"== Makefile\nR=reeve\nx:\n\t$(R) hook uninstall --yes", "make x"},
		{"== Makefile\nR=ree\nV := ve\nx:\n\t@$(R)$(V) approvals approve x", "make x"},
		{"== Makefile\nA:=$(shell reeve trust .)\nx:\n\techo", "make x"},
		{"== p.yml\n- hosts: localhost\n  tasks:\n    - command: reeve hook uninstall --yes", "ansible-playbook p.yml"},
		{"== p.yml\n- hosts: localhost\n  tasks:\n    - shell: echo x; reeve trust .", "ansible-playbook p.yml"},
		{"== m.sh\n\"$@\"", "sh m.sh reeve hook uninstall --yes"},
		{"== m.sh\nexec $1 $2 $3", "bash ./m.sh reeve hook uninstall"},
		{"== m.sh\n$X", "X=\"reeve hook uninstall --yes\" sh m.sh"},
		{"== m.sh\nshift; \"$@\"", "./m.sh go rm -rf ~/.config/reeve"},
		{"== m.sh\nset -e\nrm -rf \"$1\"", "./m.sh ~/.config/reeve"},
		{"== m.sh\neval \"$*\"", "./m.sh 'rm ~/.claude/settings.json'"},
	} {
		work := filepath.Join(home, "src", "proj", "p")
		if err := os.RemoveAll(work); err != nil {
			t.Fatal(err)
		}
		lay(t, work, p.files)
		a := call(work, "shell", "command", p.run)
		if len(g.Tampering(a, nil)) > 0 {
			continue
		}
		// What is found in a folder is asked about where the session wrote it: see programFiles.
		asked := func(r act.FileRun) bool { return r.Weight >= 0.4 }
		if runs := g.Runs(a, nil, func(string) bool { return true }, nil, nil); !slices.ContainsFunc(runs, asked) {
			t.Errorf("passes: %s\n%s", p.run, p.files)
		}
	}
}

// TestTamperingProgramsByLinks: a link that lies in the folder leads where it leads for programs, too.
func TestTamperingProgramsByLinks(t *testing.T) {
	g, home := aGuarded(t)
	work := filepath.Join(home, "src", "proj", "p")
	lay(t, work, "== x\n")
	for name, to := range map[string]string{"d": home + "/.claude", "r": home + "/.config/reeve", "h": "../../.."} {
		if err := os.Symlink(to, filepath.Join(work, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []onDisk{
		{"== a.py\nopen('d/settings.json','w').write('{}')", "python3 a.py"},
		{"== a.py\nimport os\nos.remove('./d/settings.json')", "python3 a.py"},
		{"== a.py\nimport os\nos.chdir('d')\nopen('settings.json','w')", "python3 a.py"},
		{"== a.js\nrequire('fs').writeFileSync('d/settings.json','{}')", "node a.js"},
		{"== a.js\nrequire('fs').rmSync('h/.config/reeve',{recursive:true})", "node a.js"},
		{"== Makefile\nx:\n\techo {} > d/settings.json", "make x"},
		{"== Makefile\nx:\n\tcp x d/settings.json", "make x"},
		{"== a.sh\necho {} | tee d/settings.json", "sh a.sh"},
		{"== a.sh\ncd r && rm -rf data", "sh a.sh"},
		{"== main.go\npackage main\nimport \"os\"\nfunc main() { os.WriteFile(\"d/settings.json\", nil, 0o600) }", "go run main.go"},
	} {
		lay(t, work, p.files)
		if len(g.Tampering(call(work, "shell", "command", p.run), nil)) == 0 {
			t.Errorf("passes: %s\n%s", p.run, p.files)
		}
	}
}

// TestHonestPrograms: programs that read settings, that speak of them, and those of other folders run.
func TestHonestPrograms(t *testing.T) {
	g, home := aGuarded(t)
	for _, p := range []onDisk{
		{"== a.py\nimport json, pathlib\nprint(json.loads((pathlib.Path.home()/'.claude'/'settings.json').read_text()))", "python3 a.py"},
		{"== a.py\nimport json, os\nwith open(os.path.expanduser('~/.claude/settings.json')) as f:\n    s = json.load(f)\nwith open('report.json', 'w') as f:\n    json.dump(s.get('model'), f)", "python3 a.py"},
		{"== a.py\n\"\"\"Reads ~/.claude/settings.json, and writes what it finds to out.txt.\"\"\"\nopen('out.txt','w').write('x')", "python3 a.py"},
		{"== a.py\nfrom pathlib import Path\nfor n in ('.vimrc', '.bashrc'):\n    d = Path.home()/n\n    d.unlink(missing_ok=True)\n    d.symlink_to(Path.cwd()/n)", "python3 a.py"},
		{"== tests/test_a.py\ndef test_a(tmp_path):\n    p = tmp_path/'.claude'/'settings.json'\n    p.parent.mkdir()\n    p.write_text('{}')\n    p.unlink()", "pytest"},
		{"== a.js\nconst fs=require('fs'),path=require('path'),os=require('os')\nconst s=JSON.parse(fs.readFileSync(path.join(os.homedir(),'.claude','settings.json'),'utf8'))\nfs.writeFileSync('out.json',JSON.stringify(s.model))", "node a.js"},
		{"== a.js\nconst fs=require('fs'),path=require('path'),os=require('os')\nfs.mkdirSync(path.join(os.homedir(),'.myapp'),{recursive:true})\nfs.writeFileSync(path.join(os.homedir(),'.myapp','settings.json'),'{}')", "node a.js"},
		{"== main.go\npackage main\nimport (\"fmt\"; \"os\"; \"path/filepath\")\nfunc main() { h, _ := os.UserHomeDir(); b, _ := os.ReadFile(filepath.Join(h, \".claude\", \"settings.json\")); fmt.Println(string(b)) }", "go run ."},
		{"== main.go\npackage main\nimport (\"os\"; \"path/filepath\")\nfunc main() { h, _ := os.UserHomeDir(); os.WriteFile(filepath.Join(h, \".myapp\", \"settings.json\"), nil, 0o600) }", "go run ."},
		{"== main.go\npackage main\nimport (\"os\"; \"path/filepath\")\nfunc main() { d, _ := os.UserConfigDir(); os.RemoveAll(filepath.Join(d, \"myapp\")) }", "go run ."},
		{"== x_test.go\npackage x\nimport (\"os\"; \"path/filepath\"; \"testing\")\nfunc TestX(t *testing.T) { dir := t.TempDir(); os.WriteFile(filepath.Join(dir, \".claude\", \"settings.json\"), nil, 0o600); os.RemoveAll(filepath.Join(dir, \".config\", \"reeve\")) }", "go test ./..."},
		{"== x_test.go\npackage x\nimport (\"os/exec\"; \"testing\")\nfunc TestX(t *testing.T) { exec.Command(\"reeve\", \"approvals\", \"list\").Run() }", "go test ./..."},
		{"== src/main.rs\nfn main() { let h = std::env::var(\"HOME\").unwrap(); std::fs::create_dir_all(format!(\"{h}/.cache/app\")).unwrap(); }", "cargo run"},
		{"== a.c\n#include <stdio.h>\n#include <stdlib.h>\nint main(){ char p[99]; sprintf(p,\"%s/.apprc\",getenv(\"HOME\")); remove(p); }", "gcc a.c -o a && ./a"},
		{"== a.rb\nputs File.read(File.join(Dir.home, '.claude', 'settings.json'))", "ruby a.rb"},
		{"== A.java\nclass A { public static void main(String[] a) { System.out.println(System.getProperty(\"user.home\")); } }", "java A.java"},
		{"== Makefile\nD=build\nO=$(D)/out\nx:\n\trm -rf $(D) $(O) $(HOME)/.cache/app\n\tgo build -o $(O) ./...", "make x"},
		{"== p.yml\n- hosts: localhost\n  tasks:\n    - copy: {src: vimrc, dest: ~/.vimrc}\n    - command: echo hello", "ansible-playbook p.yml"},
		{"== compose.yaml\nservices:\n  a:\n    image: alpine\n    volumes: [\"./data:/c\"]", "docker compose up"},
		{"== m.sh\n\"$@\"", "sh m.sh go test ./..."},
		{"== m.sh\nrm -rf \"$1\"", "./m.sh build"},
		{"== m.sh\n$X --fast", "X=\"npm run lint\" sh m.sh"},
		{"== a.vim\nset number\ncall writefile(['x'], 'out.txt')", "vim -es -S a.vim"},
	} {
		work := filepath.Join(home, "src", "proj", "p")
		if err := os.RemoveAll(work); err != nil {
			t.Fatal(err)
		}
		lay(t, work, p.files)
		if r := g.Tampering(call(work, "shell", "command", p.run), nil); len(r) > 0 {
			t.Errorf("is denied: %s: %s\n%s", p.run, r[0].Message, p.files)
		}
	}
}
