package target

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGitSettings: the settings of a repository, of the user, and of what they take in are read as Git does.
func TestGitSettings(t *testing.T) {
	home, repository := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	for name, text := range map[string]string{
		filepath.Join(home, ".gitconfig"):            "[user]\n\tname = dev\n[includeIf \"gitdir:~/work/\"]\n\tpath = ~/team\n",
		filepath.Join(home, "team"):                  "[alias]\n\tst = \"!tools/a; x\" # runs it\n",
		filepath.Join(repository, ".git", "config"):  "# of a project\n[core] bare = false\n\tfsmonitor = tools/fsm ; quick\n[filter \"LFS\"]\n\tclean = tools/c \\\n--x\n[include]\n\tpath = ../.gitconfig-team\n[broken\n",
		filepath.Join(repository, ".gitconfig-team"): "[Diff \"p\\\"q\"]\n\tTextConv = a \\\"b\\\"\n\tbinary\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	below := filepath.Join(repository, "src", "deep")
	if err := os.MkdirAll(below, 0o700); err != nil {
		t.Fatal(err)
	}
	want := []GitSetting{
		{"user.name", "dev"}, {"includeif.gitdir:~/work/.path", "~/team"},
		{"core.bare", "false"}, {"core.fsmonitor", "tools/fsm"}, {"filter.LFS.clean", "tools/c --x"}, {"include.path", "../.gitconfig-team"},
		{"alias.st", "!tools/a; x"},
		{`diff.p"q.textconv`, `a "b"`}, {`diff.p"q.binary`, "true"},
	}
	got, top := GitSettings(below)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if real, _ := filepath.EvalSymlinks(repository); top != real {
		t.Errorf("the repository's files lie in %s", top)
	}
	if got, top := GitSettings(filepath.Join(home)); top != "" || len(got) != 3 {
		t.Errorf("without a repository: %v in %s", got, top)
	}
}
