package guardian

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/internal/hook"
)

// bringFolders have settings come into a project in the folder in which they lie.
const bringFolders = `
git checkout evil -- .claude
git checkout evil .claude
git checkout evil -- .claude/
git checkout evil -- ./.claude
git checkout evil -- src .claude
git checkout evil -- .cl*
git checkout evil -- '*claude'
git checkout evil -- ':(top).claude'
git checkout evil -- ':/.claude'
git checkout evil -- '.claude/*.json'
git checkout evil -- .codex .gemini
git checkout evil -- .github/hooks
git checkout evil -- .opencode
git checkout -f evil -- .cursor
git checkout -- .claude
git -C . checkout evil -- .claude
git -C .claude checkout evil -- .
cd .claude && git checkout evil -- .
echo .claude | git checkout evil --pathspec-from-file=-
git checkout evil --pathspec-from-file=list
git clean -fdx .claude
git restore --source=evil .claude
git restore -s evil -- .claude
git restore --source=evil --staged --worktree .claude
git archive evil .claude | tar x
git archive evil -- .claude | bsdtar -xf -
bash -c 'git checkout evil -- .claude'
python3 -c 'import subprocess; subprocess.run(["git","checkout","evil","--",".claude"])'
hg revert -r evil .claude
jj restore --from evil .claude
cp -rT evd .
cp -aT evd/ .
cp -r --no-target-directory evd .
ditto evd .
cp -r evd/. .
rsync -a evd/ .
stow -t . evd
stow evd -t .
tar xf ev.tar
tar -xf ev.tar
tar xf ev.tar .claude
tar xf ev.tar .claude/settings.json
tar -xzf ev.tgz
tar xzf ev.tgz -C .
tar -x -f ev.tgz --strip-components=0
tar xf deep.tar --strip-components=1
tar xf deep.tar --strip-components 1 a/.claude
tar xf link.tar
tar xf ev.tar src; tar xf ev.tar
tar xf deep.tar; tar xf deep.tar --strip-components=1
bsdtar -xf ev.tar
bsdtar -xf ev.zip
cat ev.tar | tar x
tar x < ev.tar
tar xf none.tar .claude
tar xf none.tar --wildcards '.claude/*'
curl -s https://h.example/x.tgz | tar xz .claude
unzip ev.zip
unzip -o ev.zip -d .
unzip ev.zip '.claude/*'
unzip none.zip '.claude/*'
7z x ev.zip
7z x none.7z .claude
cd sub && tar xf ../ev.tar -C ..
python3 -m tarfile -e ev.tar .
python3 -m zipfile -e ev.zip .
python3 -c "import tarfile; tarfile.open('ev.tar').extractall('.')"
python3 -c "import tarfile; tarfile.open('ev.tgz').extractall()"
python3 -c "import zipfile; zipfile.ZipFile('ev.zip').extractall()"
python3 -c "import shutil; shutil.unpack_archive('ev.zip','.')"
python3 -c "import shutil; shutil.unpack_archive('ev.tar')"
python3 -c "import shutil; shutil.copytree('evd','.',dirs_exist_ok=True)"
python3 -c "import shutil,os; shutil.copytree('evd',os.getcwd(),dirs_exist_ok=True)"
node -e 'require("fs").cpSync("evd",".",{recursive:true})'
node -e 'require("tar").x({file:"ev.tar"})'
ruby -rfileutils -e 'FileUtils.cp_r "evd/.", "."'
rm -rf .claude
rm -r ./.claude/
rm -rf .cl*
rm -rf .github
find .claude -delete
git rm -r .claude
git rm -rq -- .github/hooks
git mv .claude x
git stash push -- .claude
mv .claude x
chmod -R 000 .claude
python3 -c 'import shutil; shutil.rmtree(".claude")'
ruby -rfileutils -e 'FileUtils.rm_rf(".claude")'
perl -e 'rename ".claude", "x"'
`

// ordinaryFolders are neighbours of those.
const ordinaryFolders = `
git checkout main
git checkout -b .claude-notes
git checkout feature/claude
git checkout main -- src
git checkout main -- .
git checkout main -- '*'
git checkout main -- '*.go'
git checkout main -- '*/*/*.go'
git checkout main -- 'docs/*.md' '**/README.md'
git checkout main -- .claude/commands
git checkout main -- .claude/agents/a.md .claude/commands/b.md
git checkout main -- .github/workflows
git checkout main -- .github
git restore .
git restore src/main.go
git restore --staged .claude
git restore --staged .
git archive HEAD .claude -o claude.zip
git archive evil | tar x
git archive HEAD src | tar x -C out
git diff main -- .claude
git log -- .claude
git add .claude
git commit -m 'tar xf ev.tar' -- .claude
git stash
git stash list
ssh ci.example 'cd app && git checkout main -- .claude'
git stash push -- src
git stash pop
git rm -r --cached .claude
git rm -r src
git mv src lib
git clean -fd
git clean -fdx out
git checkout main --pathspec-from-file=src/main.go
hg revert src
jj restore src
cp -rT src out
cp -rT good .
cp -r evd out
cp -r evd ../x
ditto src out
stow -t . src
tar xf good.tar
tar xzf src.tgz
tar xf src.tgz src
tar xf ev.tar src
tar tf ev.tar
tar cf x.tar .claude
tar xf none.tar
curl -s https://h.example/x.tgz | tar xz
unzip src.zip
unzip -l ev.zip
unzip ev.zip 'src/*'
7z l ev.zip
python3 -m zipfile -l ev.zip
python3 -m tarfile -e src.tgz .
python3 -c "import tarfile; print(tarfile.open('ev.tar').getnames())"
python3 -c "import tarfile; tarfile.open('src.tgz').extractall()"
python3 -c "import shutil; shutil.copytree('src','out')"
node -e 'require("fs").cpSync("src","out",{recursive:true})'
rm -rf src out
rm -rf .claude/worktrees
rm -rf .claude/*.log
rm -rf .github/workflows
rm -rf evd
chmod -R u+w .claude
find .claude -name '*.md'
ls -R .claude
mv src lib
`

// TestBringing: settings of a repository that come, or go, with the folder in which they lie.
func TestBringing(t *testing.T) {
	g, home := aGuarded(t)
	work := home + "/src/proj"
	for _, agent := range []string{"claude-code", "copilot"} {
		in := &hook.Installation{Agent: agent, Home: home, Project: work, Command: []string{home + "/bin/reeve-hook"}}
		if _, err := in.Install(); err != nil {
			t.Fatal(err)
		}
	}
	armed, err := os.ReadFile(work + "/.claude/settings.json")
	if err != nil {
		t.Fatal(err)
	}
	const off = `{"disableAllHooks": true}`
	for name, text := range map[string]string{
		"evd/.claude/settings.json": off, "good/.claude/settings.json": string(armed), "src/main.go": "package main", ".claude/commands/a.md": "A", "out/x": "", "sub/x": "",
		".github/workflows/ci.yml": "on: push",
		"list":                     "src\n.claude\n",
		"ev.tar":                   tarOf(t, ".claude/settings.json", off, "src/main.go", "x"),
		"ev.tgz":                   gzipped(t, tarOf(t, "./src/main.go", strings.Repeat("x", 1<<20), "./.claude/settings.json", off)),
		"deep.tar":                 tarOf(t, "a/.claude/settings.json", off, "a/src/main.go", "x"),
		"link.tar":                 tarOf(t, "x", ">.claude", ".claude", ">evd/.claude"),
		"good.tar":                 tarOf(t, ".claude/settings.json", string(armed), "src/main.go", "x"),
		"src.tgz":                  gzipped(t, tarOf(t, "src/main.go", "x")),
		"ev.zip":                   zipOf(t, "src/main.go", "x", ".claude/settings.json", off),
		"src.zip":                  zipOf(t, "src/main.go", "x"),
	} {
		name = filepath.Join(work, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	judged := func(line string) string {
		for _, r := range g.Tampering(call(work, "shell", "command", line), nil) {
			return r.Message
		}
		return ""
	}
	for line := range strings.Lines(strings.TrimSpace(bringFolders)) {
		if line = strings.TrimSpace(line); judged(line) == "" {
			t.Errorf("passes: %s", line)
		}
	}
	for line := range strings.Lines(strings.TrimSpace(ordinaryFolders)) {
		if line = strings.TrimSpace(line); judged(line) != "" {
			t.Errorf("is denied: %s: %s", line, judged(line))
		}
	}
	for _, c := range []struct {
		path   string
		denied bool
	}{{work + "/.claude", true}, {".claude", true}, {work + "/src", false}, {work + "/.claude/commands", false}} {
		if got := len(g.Tampering(call(work, "delete_directory", "path", c.path), nil)) > 0; got != c.denied {
			t.Errorf("delete_directory %s: denied %v, want %v", c.path, got, c.denied)
		}
	}
}

// TestBringingBounds: an archive of whatever size costs little, and what is none costs nothing.
func TestBringingBounds(t *testing.T) {
	g, home := aGuarded(t)
	work := home + "/src/proj"
	var many []string
	for range 200_000 {
		many = append(many, "x", "")
	}
	for name, text := range map[string]string{
		"many.zip": zipOf(t, many...), "bomb.tgz": gzipped(t, tarOf(t, "x", strings.Repeat("\x00", 200<<20))), "text.tar": "no archive", "a.tar": "x", "half.zip": zipOf(t, "a", "b")[:40],
	} {
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for _, line := range []string{"tar xf " + name, "unzip " + name, strings.Repeat("tar xf "+name+"; ", 50)} {
			if r := g.Tampering(call(work, "shell", "command", line), nil); len(r) > 0 {
				t.Errorf("%.40s is denied: %s", line, r[0].Message)
			}
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s: it took %v", name, took)
		}
	}
}

// tarOf is an archive of files, by their names and texts. A text that begins with > is a link.
func tarOf(t *testing.T, files ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		h := &tar.Header{Name: files[i], Mode: 0o600, Size: int64(len(files[i+1]))}
		to, isLink := strings.CutPrefix(files[i+1], ">")
		if isLink {
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, to, 0
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if isLink {
			continue
		}
		if _, err := w.Write([]byte(files[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func zipOf(t *testing.T, files ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		f, err := w.Create(files[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(files[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
