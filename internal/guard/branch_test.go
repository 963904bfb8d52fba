package guard_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"reeve.example/reeve/act"
)

// TestOwnBranch: a push that overwrites and names no branch is one of the branch that is checked out, as
// far as that can be told; of one that others build on, or where it cannot, people are asked.
func TestOwnBranch(t *testing.T) {
	n, dir := codingAgents(t)
	const config = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://github.com/ada/x\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n"
	lay := func(branch, own, user string) {
		write(t, filepath.Join(dir, ".git/HEAD"), branch)
		write(t, filepath.Join(dir, ".git/config"), config+own)
		write(t, filepath.Join(dir, "home/.gitconfig"), user)
	}
	const topic, mainline = "ref: refs/heads/feature/x\n", "ref: refs/heads/main\n"
	tree := filepath.Join(dir, ".git/worktrees/w")
	write(t, filepath.Join(tree, "HEAD"), topic)
	write(t, filepath.Join(dir, "w/.git"), "gitdir: "+tree+"\n")
	write(t, filepath.Join(dir, "other/.git/HEAD"), mainline)
	write(t, filepath.Join(dir, "other/.git/config"), config)
	write(t, filepath.Join(dir, "other/sub/x"), "x")
	if err := os.Symlink(dir+"/other/sub", dir+"/into"); err != nil {
		t.Fatal(err)
	}
	for i, tt := range []struct {
		command, head, own, user, folder string
		passes                           bool
	}{
		{"git push --force-with-lease", topic, "", "", "", true},
		{"git push --force-with-lease origin", topic, "", "", "", true},
		{"git push --force-with-lease origin HEAD", topic, "", "", "", true},
		{"git push -f", topic, "", "[push]\n\tdefault = current\n\tautoSetupRemote = true\n", "", true},
		{"git commit --amend --no-edit && git push --force-with-lease", topic, "", "", "", true},
		{"git fetch && git rebase origin/main && git push --force-with-lease", topic, "[branch \"feature/x\"]\n\tremote = origin\n\tmerge = refs/heads/feature/x\n", "", "", true},
		{"git push --force-with-lease", topic, "", "", "w", true},

		{"git push --force-with-lease", mainline, "", "", "", false},
		{"git push --force-with-lease origin HEAD", mainline, "", "", "", false},
		{"git push --force-with-lease", "ref: refs/heads/release/1.2\n", "", "", "", false},
		{"git push -f", "ref: refs/heads/mine\n", "", "", "", false},
		{"git push --force-with-lease", "0123456789012345678901234567890123456789\n", "", "", "", false},
		{"git checkout main && git push --force-with-lease", topic, "", "", "", false},
		{"git switch -; git push --force-with-lease", topic, "", "", "", false},
		{"git rebase x main && git push --force-with-lease", topic, "", "", "", false},
		{"git symbolic-ref HEAD refs/heads/main; git push --force-with-lease", topic, "", "", "", false},
		{"echo 'ref: refs/heads/main' > .git/HEAD; git push --force-with-lease", topic, "", "", "", false},
		{"sh x.sh; git push --force-with-lease", topic, "", "", "", false},
		{"cd .. && git push --force-with-lease", topic, "", "", "", false},
		{"git -C ../other push --force-with-lease", topic, "", "", "", false},
		{"GIT_DIR=../other/.git git push --force-with-lease", topic, "", "", "", false},
		{"git -c push.default=matching push --force-with-lease", topic, "", "", "", false},
		{"git push --force-with-lease --all", topic, "", "", "", false},
		{"git push --force-with-lease origin HEAD:main", topic, "", "", "", false},
		{"git push --force-with-lease --prune", topic, "", "", "", false},
		{"ssh build git push --force-with-lease", topic, "", "", "", false},
		{"git push --force-with-lease", topic, "[push]\n\tdefault = matching\n", "", "", false},
		{"git push --force-with-lease", topic, "[push] default = matching\n", "", "", false},
		{"git push --force-with-lease", topic, "[remote \"origin\"]\n\tpush = +refs/heads/*:refs/heads/*\n", "", "", false},
		{"git push --force-with-lease", topic, "[branch \"feature/x\"]\n\tmerge = refs/heads/main\n", "", "", false},
		{"git push --force-with-lease", topic, "[Include]\n\tpath = ../evil\n", "", "", false},
		{"git push --force-with-lease", topic, "[push]\n\tdefault = \\\n matching\n", "", "", false},
		{"git push --force-with-lease", topic, "", "[push]\n\tdefault = matching\n", "", false},
		{"git push --force-with-lease", topic, "", "", "x/none", false},
		{"git push --force-with-lease", topic, "", "", "into", false},
	} {
		lay(tt.head, tt.own, tt.user)
		a := tool(fmt.Sprint("branch", i), "1", "shell", filepath.Join(dir, tt.folder), "command", tt.command)
		d, _ := n.decide(t, a)
		if passes := d.Effect == act.Allow; passes != tt.passes {
			t.Errorf("%s on %q with %q %q: %v %v (branch %q)", tt.command, tt.head, tt.own, tt.user, d.Effect, codesOf(d), a.Branch)
		}
	}
}
