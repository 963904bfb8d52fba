package target

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"reeve.example/reeve/act"
)

// TestUnkept: what Git itself would add of a folder's files of secrets is what is told.
func TestUnkept(t *testing.T) {
	for name, test := range map[string]struct {
		ignore  string
		tracked bool
		below   string // the folder in which the call is made
		command string
		text    string // of .env; empty for one with a value
		want    []string
		ignored []string
	}{
		"not ignored":    {command: "git add -A", want: []string{".env"}},
		"ignored":        {ignore: ".env\n", command: "git add -A", ignored: []string{".env"}},
		"by a pattern":   {ignore: "# settings\n.env*\n", command: "git add .", ignored: []string{".env"}},
		"taken back":     {ignore: ".env*\n!.env\n", command: "git add .", want: []string{".env"}},
		"anywhere":       {ignore: "**/.env\n", command: "git add .", ignored: []string{".env"}},
		"had already":    {tracked: true, command: "git add ."},
		"below":          {below: "app", command: "git add .", want: []string{".env"}},
		"below, had":     {below: "app", tracked: true, command: "git add ."},
		"below, ignored": {below: "app", ignore: ".env\n", command: "git add .", ignored: []string{".env"}},
		"no value":       {command: "git add -A", text: "# settings\nA=\nexport B=\"\" # of C\n\n"},
		"to be filled":   {command: "git add -A", text: "KEY=<your key>\nTOKEN=changeme\nPASSWORD=your-password\n"},
		"one value":      {command: "git add -A", text: "A=\nKEY=changeme\nTOKEN=k2-9f31\n", want: []string{".env"}},
		"another form":   {command: "git add -A", text: "TOKEN: k2-9f31\n", want: []string{".env"}},
		"another call":   {command: "git status"},
		"no git":         {command: "npm add left-pad"},
	} {
		t.Run(name, func(t *testing.T) {
			root, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			at := filepath.Join(root, test.below)
			git := func(args ...string) {
				t.Helper()
				cmd := exec.Command("git", args...)
				cmd.Dir = at
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("git %v: %v\n%s", args, err, out)
				}
			}
			if err := os.MkdirAll(at, 0o755); err != nil {
				t.Fatal(err)
			}
			if test.text == "" {
				test.text = "A=b\n"
			}
			for file, text := range map[string]string{filepath.Join(root, ".gitignore"): test.ignore, filepath.Join(at, ".env"): test.text, filepath.Join(at, ".env.example"): "A=\n", filepath.Join(at, "main.go"): "package main\n"} {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			git("init", "-q", root)
			git("add", "main.go")
			if test.tracked {
				git("add", "-f", ".env")
			}
			a := &act.Action{Kind: act.ToolCall, Resource: "bash", Canonical: "bash", Folder: at, Content: []act.Leaf{{Pointer: "/command", Arg: "command", Text: test.command}}}
			unkept, ignored := Unkept(a, folderOf(a))
			if diff := cmp.Diff(test.want, unkept, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.ignored, ignored, cmpopts.EquateEmpty()); diff != "" {
				t.Error("ignored: ", diff)
			}
		})
	}
}
