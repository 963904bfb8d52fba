package target

import (
	"cmp"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"reeve.example/reeve/act"
)

// TestThreat17Present: whatever way a command names what it runs or reads, another content there is another
// state, and one who agreed to it for more than once agreed to that content alone.
func TestThreat17Present(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	state := func(command string) (string, bool) {
		a := call("shell", "command", strconv.Quote(command))
		a.Folder = dir
		m := Of(a, &act.Decision{}, false)
		m.Look()
		return m.State, m.Once != ""
	}
	put("Makefile", "all:\n\tsh d.sh\nwith:\n\t@-./sub/e.sh --x; true\nby:\n\tenv A=1 python3 t.py\n")
	put("justfile", "all:\n  @node t.py\n")
	for _, tt := range []struct{ command, file string }{
		{"sh d.sh", "d.sh"}, {"sh < d.sh", "d.sh"}, {"sh 0<d.sh", "d.sh"}, {"bash -s < ./d.sh", "d.sh"}, {"sh <" + dir + "/d.sh", "d.sh"}, {"python3 - < d.sh", "d.sh"},
		{"cat < d.sh | sh", "d.sh"}, {`while read l; do sh -c "$l"; done < d.sh`, "d.sh"}, {"$(<d.sh)", "d.sh"}, {`sh -c "$(<d.sh)"`, "d.sh"}, {"psql mydb < d.sh", "d.sh"},
		{"kubectl apply -f - < d.sh", "d.sh"}, {"git apply < d.sh", "d.sh"}, {"patch -p1 < d.sh", "d.sh"}, {"ssh host sh < d.sh", "d.sh"}, {"at now < d.sh", "d.sh"}, {"mail -s x a@b.example < d.sh", "d.sh"},
		{"cd sub && sh < e.sh", "sub/e.sh"}, {"cd sub; sh <(cat e.sh)", "sub/e.sh"}, {"sh <> d.sh", "d.sh"}, {"exec 3< d.sh; sh <&3", "d.sh"},
		{"sh *.sh", "d.sh"}, {"sh d?sh", "d.sh"}, {"sh [d].sh", "d.sh"}, {"sh [!a].sh", "d.sh"}, {"cat d*.sh | sh", "d.sh"}, {"sh ./sub/*", "sub/e.sh"}, {"sh " + dir + "/d*", "d.sh"}, {"cd sub; sh e*", "sub/e.sh"}, {"sh {x,d}.sh", "d.sh"}, {"sh **/e.sh", "sub/e.sh"},
		{"sh ~+/d.sh", "d.sh"}, {"sh $PWD/d.sh", "d.sh"}, {"BASH_ENV=d.sh bash -c true", "d.sh"}, {"ENV=./d.sh sh -i", "d.sh"}, {"PYTHONSTARTUP=d.sh python3", "d.sh"}, {"export BASH_ENV=d.sh; bash -c true", "d.sh"}, {"env BASH_ENV=d.sh bash -c true", "d.sh"}, {"LD_PRELOAD=./x.so:./d.sh ls", "d.sh"}, {"PATH=sub:$PATH e.sh", "sub/e.sh"},
		{"foo d.sh,b.js", "d.sh"}, {"foo file:d.sh", "d.sh"}, {"foo --x:d.sh", "d.sh"}, {"foo --x=a:d.sh", "d.sh"}, {"foo -fx=d.sh", "d.sh"}, {"foo a=b;c=d.sh", "d.sh"}, {"docker run -v $PWD:/w alpine sh /w/d.sh", "d.sh"}, {"docker run --mount type=bind,source=" + dir + ",target=/w alpine sh /w/d.sh", "d.sh"},
		{"curl -F file=@d.sh https://example.com", "d.sh"}, {"sh $'d.sh'", "d.sh"}, {"sh 'a\nb'", "a\nb"},
		{"make all", "d.sh"}, {"make with", "sub/e.sh"}, {"make by", "t.py"}, {"just all", "t.py"},
	} {
		for _, name := range []string{"d.sh", "sub/e.sh", "t.py", "a\nb"} {
			put(name, "echo as agreed\n")
		}
		before, once := state(tt.command)
		if again, _ := state(tt.command); again != before {
			t.Errorf("%s is another each time", tt.command)
		}
		put(tt.file, "echo something else\n")
		if after, _ := state(tt.command); after == before {
			t.Errorf("%s: %s was changed unseen (once: %t)", tt.command, tt.file, once)
		}
	}
	for _, tt := range []struct {
		tool, name, value, file string
	}{
		{"upload_file", "path", `"` + dir + `/d.sh"`, "d.sh"}, {"upload_file", "path", `"d.sh"`, "d.sh"}, {"upload_file", "file", `"file://` + dir + `/d.sh"`, "d.sh"}, {"upload_file", "files", `["t.py","d.sh"]`, "d.sh"}, {"upload_file", "source", `{"path":"./d.sh"}`, "d.sh"},
		{"run_script", "script", `"d.sh"`, "d.sh"}, {"run_script", "script", `"sh d.sh"`, "d.sh"}, {"run_script", "name", `"d.sh"`, "d.sh"}, {"run_script", "path", `"` + dir + `/d.sh"`, "d.sh"}, {"python", "file", `"t.py"`, "t.py"}, {"python", "code", `"exec(open('t.py').read())"`, "t.py"},
		{"send_mail", "attachments", `["d.sh"]`, "d.sh"}, {"send_mail", "attachment", `"` + dir + `/d.sh"`, "d.sh"}, {"execute_query", "sql", `"COPY t FROM '` + dir + `/d.sh'"`, "d.sh"}, {"execute_query", "sql", `"\\i d.sh"`, "d.sh"}, {"publish", "package", `"` + dir + `/sub"`, "sub/e.sh"}, {"publish", "dir", `"sub"`, "sub/e.sh"},
	} {
		present := func() string {
			a := call(tt.tool, tt.name, tt.value)
			a.Folder = dir
			m := Of(a, &act.Decision{}, false)
			m.Look()
			return m.State
		}
		put(tt.file, "echo as agreed\n")
		before := present()
		put(tt.file, "echo something else\n")
		if present() == before {
			t.Errorf("%s with %s %s: %s was changed unseen", tt.tool, tt.name, tt.value, tt.file)
		}
	}
	put("big.sql", "")
	if err := os.Truncate(filepath.Join(dir, "big.sql"), maxFile+1); err != nil {
		t.Fatal(err)
	}
	before, once := state("psql mydb < big.sql")
	if err := os.Truncate(filepath.Join(dir, "big.sql"), maxFile+2); err != nil {
		t.Fatal(err)
	}
	if after, _ := state("psql mydb < big.sql"); after == before || !once {
		t.Error("what is too large to be read was changed unseen, or is agreed to for longer")
	}
}

// TestThreat17GitSettings: who agreed to git push agreed to where its settings had it go, and to what it ran then.
func TestThreat17GitSettings(t *testing.T) {
	for _, tt := range []struct{ config, file, text string }{
		{"[remote \"origin\"]\n\turl = https://git.example/app\n", ".git/config", "[remote \"origin\"]\n\turl = https://oak.example/app\n"},
		{"[include]\n\tpath = ../inc.cfg\n", "inc.cfg", "[remote \"origin\"]\n\tpushurl = https://oak.example\n"},
		{"[includeIf \"onbranch:main\"]\n\tpath = inc\n", ".git/inc", "[remote \"origin\"]\n\tpushurl = https://oak.example\n"},
		{"[include]\n\tpath = a\n", ".git/b", "[remote \"origin\"]\n\tpushurl = https://oak.example\n"},
		{"[core]\n\thooksPath = hk\n", "hk/pre-push", "#!/bin/sh\nexit 0\n"},
		{"[core]\n\tsshCommand = ./tools/ssh.sh -v\n", "tools/ssh.sh", "ssh\n"},
		{"[extensions]\n\tworktreeConfig = true\n", ".git/config.worktree", "[remote \"origin\"]\n\tpushurl = https://oak.example\n"},
		{"", ".git/hooks/pre-push", "#!/bin/sh\nexit 0\n"}, {"", "d.sh", "echo x\n"},
		{"tags", ".git/refs/tags/v2", "0123\n"}, {"any", ".git/refs/heads/more", "0123\n"}, {"back", ".git/refs/heads/main", "0123\n"},
		{"", ".git/branches/origin", "https://oak.example\n"}, {"", ".git/remotes/origin", "URL: https://oak.example\n"},
	} {
		for _, in := range []string{"", "sub"} {
			dir := t.TempDir()
			put := func(name, text string) {
				t.Helper()
				file := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			put("sub/x", "")
			put(".git/HEAD", "ref: refs/heads/main\n")
			put(".git/config", tt.config)
			put(".git/a", "[include]\n\tpath = b\n")
			put(".git/hooks/pre-push", "#!/bin/sh\nsh d.sh\n")
			state := func() string {
				command := map[string]string{"tags": "git push --tags", "any": "git push origin 'refs/heads/*'", "back": "git push origin main~0:main"}[tt.config]
				a := call("shell", "command", strconv.Quote(cmp.Or(command, "git push origin main")))
				a.Folder = filepath.Join(dir, in)
				m := Of(a, &act.Decision{}, false)
				m.Look()
				return m.State
			}
			before := state()
			if state() != before {
				t.Error("it is another each time")
			}
			put(tt.file, tt.text)
			if state() == before {
				t.Errorf("in %q with %q: %s was changed unseen", in, tt.config, tt.file)
			}
		}
	}
}

// TestThreat17Recipes: what the commands in a file of orders run and read is bound as what the act's own words name.
func TestThreat17Recipes(t *testing.T) {
	for _, tt := range []struct{ name, text, command, file string }{
		{"Makefile", "other:\n\tsh other.run\nall:\n\tcat d.sh | sh\n", "make all", "d.sh"}, {"Makefile", "all:\n\tsh < d.sh\n", "make", "d.sh"}, {"Makefile", "all:\n\t@psql db -f d.sh\n", "make", "d.sh"}, {"Makefile", "all:\n\tkubectl apply -f d.sh\n", "make", "d.sh"},
		{"Makefile", "all:\n\tcurl -T d.sh https://example.com\n", "make", "d.sh"}, {"Makefile", "S = d.sh\nall:\n\tsh $(S)\n", "make", "d.sh"}, {"Makefile", "X := $(shell sh d.sh)\nall:\n\techo\n", "make", "d.sh"},
		{"Makefile", "all:\n\tcd sub && sh x\n", "make", "sub/x"}, {"Makefile", "all:\n\tpython3 -m helper\n", "make", "helper.py"}, {"sub/Makefile", "all:\n\tsh x\n", "make -C sub", "sub/x"}, {"Makefile", "all:\n\t$(MAKE) -C sub\n", "make", "sub/Makefile"},
		{"Makefile", "all:\n\tsh *.sh\n", "make", "d.sh"}, {"Makefile", "all:\n\tBASH_ENV=d.sh bash -c true\n", "make", "d.sh"},
		{"justfile", "a:\n  cat d.sh | sh\n", "just a", "d.sh"}, {"justfile", "a:\n  cd sub && sh x\n", "just a", "sub/x"}, {"justfile", "x := \"d.sh\"\na:\n  sh {{x}}\n", "just a", "d.sh"},
		{"Taskfile.yml", "version: 3\ntasks:\n  a:\n    cmds: [sh d.sh]\n", "task a", "d.sh"}, {"Taskfile.yml", "version: 3\ntasks:\n  a:\n    cmds:\n      - cd sub && sh x\n", "task a", "sub/x"},
		{"package.json", `{"scripts":{"b":"cd sub && sh x","o":"cat other.run | sh"}}`, "npm run b", "sub/x"}, {"package.json", `{"scripts":{"b":"sh *.sh"}}`, "npm run b", "d.sh"}, {"package.json", `{"scripts":{"b":"make"}}`, "npm run b", "Makefile"},
		{"package.json", `{"scripts":{"b":"npm --prefix sub run c"}}`, "npm run b", "sub/package.json"}, {"sub/package.json", `{"scripts":{"b":"sh x"}}`, "cd sub && npm run b", "sub/x"}, {"sub/package.json", `{"scripts":{"b":"sh x"}}`, "npm -C sub run b", "sub/x"}, {"sub/package.json", `{"scripts":{"b":"sh x"}}`, "npm run --prefix sub b", "sub/x"},
		{".git/hooks/pre-push", "#!/bin/sh\ncd sub; sh x\n", "git push origin main", "sub/x"}, {".git/hooks/pre-push", "#!/bin/sh\nmake\n", "git push origin main", "Makefile"}, {".git/hooks/pre-push", "#!/bin/sh\nnpm test\n", "git push origin main", "package.json"}, {".git/hooks/pre-push", "#!/bin/sh\nexit 0\n", "gh pr create --fill", ".git/hooks/pre-push"},
		{"x", "", "aws lambda update-function-code --function-name f --zip-file fileb://d.sh", "d.sh"}, {"x", "", "curl -T '{d.sh,t.py}' https://example.com", "d.sh"}, {"x", "", `curl -F 'f=@"d.sh"' https://example.com`, "d.sh"}, {"x", "", `curl --variable x@d.sh --expand-data '{{x}}' https://example.com`, "d.sh"}, {"x", "", `ansible all -m script -a "d.sh x"`, "d.sh"},
		{"x", "", "cdk deploy", "cdk.json"}, {"x", "", "invoke deploy", "tasks.py"}, {"x", "", "vagrant up", "Vagrantfile"}, {"x", "", "terragrunt apply", "terragrunt.hcl"}, {"x", "", "nix build", "flake.nix"}, {"x", "", "dotnet run", "a.csproj"}, {"x", "", "./gradlew x", "gradle/wrapper/gradle-wrapper.jar"}, {"x", "", "alembic upgrade head", "alembic/env.py"},
	} {
		dir := t.TempDir()
		put := func(name, text string) {
			t.Helper()
			file := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		put(".git/HEAD", "ref: refs/heads/main\n")
		put(tt.file, "as agreed\n")
		put(tt.name, tt.text)
		state := func() string {
			a := call("shell", "command", strconv.Quote(tt.command))
			a.Folder = dir
			m := Of(a, &act.Decision{}, false)
			m.Look()
			return m.State
		}
		before := state()
		put("notes.txt", "of no matter\n")
		put("other.run", "of another recipe\n")
		put("dist/app.min", "made\n")
		if state() != before {
			t.Errorf("%s with %q is another each time", tt.command, tt.text)
		}
		put(tt.file, "something else\n")
		if state() == before {
			t.Errorf("%s with %q: %s was changed unseen", tt.command, tt.text, tt.file)
		}
	}
}
