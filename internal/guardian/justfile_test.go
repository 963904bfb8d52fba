package guardian

import (
	"path/filepath"
	"slices"
	"testing"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/risk/hazard"
)

// TestRunsJustfiles: the recipes of a justfile are read in the language that runs them, with what the
// file assigns and takes in.
func TestRunsJustfiles(t *testing.T) {
	const removes = "shutil.rmtree('/home/dev/Documents')"
	type look struct {
		wrote, had string // of a justfile beside another
		asks       bool
	}
	for _, c := range []look{
		{wrote: "tidy:\n    #!/usr/bin/env python3\n    import shutil\n    " + removes + "\n", asks: true},
		{wrote: "tidy:\n    #!/usr/bin/env node\n    require('fs').rmSync('/home/dev/Documents', {recursive: true})\n", asks: true},
		{wrote: "[script('python3')]\n[private]\ntidy:\n    import shutil\n    " + removes + "\n", asks: true},
		{wrote: "set shell := ['python3', '-c']\ntidy:\n    import shutil; " + removes + "\n", asks: true},
		{wrote: "d := home_directory() / 'Documents'\ntidy:\n    rm -rf {{d}}\n", asks: true},
		{wrote: "d := env('HOME') + '/Documents'\ntidy:\n    rm -rf {{ d }}\n", asks: true},
		{wrote: "x := `rm -rf ~/Documents`\ntidy:\n    echo {{x}}\n", asks: true},
		{wrote: "tidy: (b \"rm -rf ~/Documents\")\nb x:\n    {{x}}\n", asks: true},
		{wrote: "tidy:\n    rm -rf ~/Documents\n", had: "import 'x.just'\n", asks: true},
		{wrote: "tidy:\n    rm -rf ~/Documents\n", had: "mod x\n", asks: true},
		{wrote: "set shell := ['bash', '-cu']\nversion := `git describe --tags`\nout := justfile_directory() / 'dist'\nbuild target='release': clean\n    cargo build --{{target}}\n    cp target/{{target}}/app {{out}}/\nclean:\n    rm -rf {{out}}\n    rm -rf dist coverage\n"},
		{wrote: "stats:\n    #!/usr/bin/env python3\n    import json, shutil\n    shutil.rmtree('dist', ignore_errors=True)\n    print(json.load(open('a.json')))\n"},
	} {
		dir, name := t.TempDir(), "justfile"
		if c.had != "" {
			put(t, filepath.Join(dir, name), c.had)
			name = "x.just"
		}
		put(t, filepath.Join(dir, name), c.wrote)
		wrote := append(hazard.Patterns(filepath.Join(dir, name)), name)
		a := &act.Action{
			Door: "aos", Kind: act.ToolCall, Resource: "shell", Canonical: "shell", Folder: dir,
			Content: []act.Leaf{{Pointer: "/command", Arg: "command", Text: "just tidy"}},
		}
		runs := New(Node{Home: t.TempDir()}).Runs(a, hazard.Read(a), func(name string) bool { return slices.Contains(wrote, name) }, nil, nil)
		if got := slices.ContainsFunc(runs, func(r act.FileRun) bool { return r.Weight >= 0.4 }); got != c.asks {
			t.Errorf("%q beside %q: %v", c.wrote, c.had, runs)
		}
	}
}
