package guardian

import (
	"os"
	"path/filepath"
	"testing"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/risk/hazard"

	"github.com/google/go-cmp/cmp"
)

// Who is asked about a call that runs a file is told which line of it does what they are asked about.
func TestRunsLines(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"Makefile":     "build:\n\tgo build ./...\nreset:\n\t@terraform destroy -auto-approve\n",
		"package.json": "{\"scripts\": {\n  \"test\": \"vitest\",\n  \"ship\": \"npm publish\"\n}}\n",
		"rel.sh":       "#!/bin/sh\nset -e\n./build\ngit push --force origin main\n",
		"sync.sh":      "#!/bin/sh\nrsync -a --delete out/ ada@web1.acme.example:/srv/www/\n",
		"crlf.sh":      "echo\r\nnpm publish\r\n",
		"clean.rb":     "require 'pg'\nx = 1\nsystem(\"dropdb orders\")\nputs x\n",
		"push.py":      "import subprocess\n\nsubprocess.run(\n    [\"git\", \"push\", \"--force\"],\n)\n",
		"conftest.py":  "import pytest\n\n@pytest.fixture\ndef db():\n    cur = connect(\"postgres://prod-db/x\").cursor()\n    cur.execute(\"DROP TABLE IF EXISTS users\")\n    yield cur\n",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for command, want := range map[string]act.FileRun{
		"make reset":      {File: "Makefile", Code: "destroy.cloud", Line: 4, Text: "@terraform destroy -auto-approve"},
		"npm run ship":    {File: "package.json", Code: "publish.package", Line: 3, Text: `"ship": "npm publish"`},
		"sh rel.sh":       {File: "rel.sh", Code: "publish.history", Line: 4, Text: "git push --force origin main"},
		"sh sync.sh":      {File: "sync.sh", Code: "destroy.store", Line: 2, Text: "rsync -a --delete out/ ada@web1.acme.example:/srv/www/", Says: "What another machine has and this one has not is deleted there."},
		"sh crlf.sh":      {File: "crlf.sh", Code: "publish.package", Line: 2, Text: "npm publish"},
		"ruby clean.rb":   {File: "clean.rb", Code: "destroy.store", Line: 3, Text: `system("dropdb orders")`},
		"python3 push.py": {File: "push.py", Code: "publish.history", Line: 4, Text: `["git", "push", "--force"],`},
		"pytest":          {File: "conftest.py", Code: "sql.destroy", Line: 6, Text: `cur.execute("DROP TABLE IF EXISTS users")`},
	} {
		a := &act.Action{
			Door: "aos", Kind: act.ToolCall, Resource: "shell", Canonical: "shell", Folder: dir,
			Content: []act.Leaf{{Pointer: "/command", Arg: "command", Text: command}},
		}
		var got []act.FileRun
		for _, r := range New(Node{Home: t.TempDir()}).Runs(a, hazard.Read(a), func(name string) bool { return files[name] != "" }, nil, nil) {
			if r.Code == want.Code {
				r.Weight = 0
				got = append(got, r)
			}
		}
		if diff := cmp.Diff([]act.FileRun{want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", command, diff)
		}
	}
}
