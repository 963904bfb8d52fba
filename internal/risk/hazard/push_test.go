package hazard

import (
	"fmt"
	"strings"
	"testing"
)

// TestPushes: a push that overwrites is asked about in whatever form, unless it
// names one branch of somebody's own: with a lease, or by a name that says for what it is.
func TestPushes(t *testing.T) {
	for _, c := range []string{
		"git push --force-with-lease", "git push --force-with-lease origin", "git push --force-with-lease origin HEAD", "git push --force-with-lease origin @", "git push -u --force-with-lease origin HEAD",
		"git push --force-with-lease --force-if-includes", "git push --force-with-lease=fix/login", "git push --force-with-lease=fix/login origin", "git push --repo=origin --force-with-lease", "git push --force-with-lease -o ci.skip origin", "git push --force-with-lease --push-option ci.skip origin",
		"git push --force-with-lease --repo origin", "git push --recurse-submodules on-demand --force-with-lease origin", "git push --force-with-lease -- origin",
		"git push --force-with-lease origin \"$BRANCH\"", "git push --force-with-lease origin \"$(git branch --show-current)\"", "git push --force-with-lease origin fix/login main", "git push --force-with-lease origin 'refs/heads/*'", "git push --force-with-lease origin :",
		"git push --force-with-lease origin MAIN", "git push --force-with-lease origin heads/main", "git push --force-with-lease origin refs/heads/master", "git push --force-with-lease origin fix/login:refs/heads/main", "git push --force-with-lease upstream fix:release/2.1",
		"git push --force-with-lease origin release-2.1", "git push --force-with-lease origin 7-1-stable", "git push --force-with-lease origin v2.x", "git push --force-with-lease origin 3.12", "git push --force-with-lease origin REL_15_STABLE", "git push --force-with-lease origin mainline",
		"git push --force-with-lease origin tag v1.0", "git push --force-with-lease origin refs/tags/v1.0", "git push --force-with-lease --tags origin", "git push --force-with-lease --follow-tags --al origin fix", "git push --force-with-l", "git push --force-w origin HEAD",
		"git -c remote.origin.push=refs/heads/fix:refs/heads/main push --force-with-lease origin fix", "git -c push.default=matching push --force-with-lease origin fix", "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=remote.origin.push GIT_CONFIG_VALUE_0=fix:main git push --force-with-lease origin fix",
		"git push -f", "git push -uf origin fix", "git push -qfu origin fix", "git push -vuf", "git push --no-verify -f origin fix", "git -C ../app push -f", "git --git-dir=/srv/app/.git push -f", "git --no-pager push -f",
		"git push -o -n --force origin fix", "git push -o --dry-run -f", "git push --push-option --help -f", "git push --force --dry-run --no-dry-run", "git push -f --force-with-lease origin fix",
		"git push --mirror", "git push --mirro origin", "git push --mi", "git push --delete origin fix", "git push --del origin fix", "git push -d origin fix", "git push -qd origin fix", "git push --prune origin", "git push --pru origin 'refs/heads/*'",
		"git push origin +fix", "git push origin +HEAD", "git push origin fix +main", "git push origin +refs/heads/*:refs/heads/*", "git push origin :fix", "git push -- origin +fix", "git push --repo=origin +fix",
		"git -c remote.origin.push=+refs/heads/*:refs/heads/* push", "git -c Remote.Origin.Push=+HEAD push origin", "git -c remote.origin.mirror=true push", "git -c remote.origin.mirror push origin", "X=1 git --config-env=remote.origin.push=X push",
		"git config remote.origin.push +HEAD:main", "git config --add remote.origin.push '+refs/heads/*:refs/heads/*'", "git config set remote.origin.mirror true", "git config remote.origin.push refs/heads/fix:refs/heads/main", "git remote add --mirror=push backup ssh://h.example/x",
		"git -c alias.p='push --force' p origin main", "git -c alias.p=push p -f", "git -c alias.p='!git push -f' p", "git config --global alias.yolo 'push --force'",
		"git submodule foreach 'git push -f'", "git submodule foreach --recursive git push --force-with-lease", "git for-each-repo --config=maintenance.repo push -f", "git subtree push --prefix=docs origin +gh-pages", "git send-pack --force h.example:x main", "git-push -f", "/usr/lib/git-core/git-push --force origin", "git send-pack --force-with-lease h.example:x fix",
		"hub push -f", "yadm push --force", "hg push -f", "sl push --force", "jj git push --all", "got send -f", "gh repo sync --force o/r",
		"sudo git push -f", "env X=1 git push -f", "sh -c 'git push -f'", "xargs git push -f < refs", "cd app && git push --force-with-lease", "git rebase --exec 'git push -f' main", "git rebase -x 'git push --force-with-lease' main", "git rebase --exec='git push -f' main", "git bisect run git push -f",
		"git push --force-with-lease origin main", "git push --force-with-lease origin HEAD:main", "git push --force-with-lease=main origin", "git push --force-with-lease=fix:0000 origin fix",
		"git push --force-with-lease --all", "git push -f --dry-run=false origin x", "git push --force-with-lease origin HEAD:refs/heads/main",
		"git push --force-with-lease origin HEAD:refs/heads/develop", "git push --force-with-lease origin HEAD:gh-pages", "git push --force-with-lease origin x:staging", "git push --force-with-lease origin HEAD:refs/heads/release/1", "git push --force-w origin main", "git push --forc origin main",
		"git push --force-with-lease origin fix:", "git push --force-with-lease origin refs/heads/fix:",
	} {
		if a := assessed(c); !a.has("publish.history", 0.4) {
			t.Errorf("%s passes: %.2f %+v", c, a.Score, a.Findings)
		}
	}
	for _, c := range []string{
		"git push", "git push origin main", "git push -u origin HEAD", "git push origin HEAD:refs/heads/fix", "git push --tags", "git push --follow-tags origin main", "git push origin v1.5.0", "git push origin tag v1.5.0", "git push --all", "git push -o ci.skip origin fix", "git push origin HEAD:refs/for/main",
		"git push --force-with-lease origin fix/login", "git push -u --force-with-lease origin fix/login", "git push origin fix/login --force-with-lease", "git push --force-with-lease --force-if-includes origin fix/login", "git push --force-with-lease=fix/login origin fix/login", "git push --force-with-lease origin HEAD:fix/login",
		"git push --force-with-lease origin HEAD:refs/heads/ada/main-menu", "git push --force-with-lease origin feature/release-notes", "git push --force-with-lease origin 1234-stable-sort", "git push --force-with-lease origin 4711", "git push --force-with-lease origin dependabot/npm/react-19.1.0", "git push --force-with-lease git@github.com:ada/app.git fix/login",
		"git push --force-with-lease -o ci.skip origin fix/login", "git push --no-verify --force-with-lease -q origin renovate/all", "git -C app push --force-with-lease origin fix", "git push --force --dry-run", "git push -n -f origin main", "git push -nf origin main", "git push --help",
		"git stash push -m wip -- ':!lock'", "git stash push --all -u", "git config remote.origin.push HEAD:refs/for/master", "git config --get remote.origin.push", "git config remote.origin.mirror", "git config alias.st 'status -sb'", "git config --global alias.pf 'push origin'", "git config push.default current", "git config push.autoSetupRemote true",
		"git commit -m 'push -f'", "git log --grep='push --force'", "git submodule foreach git pull", "git submodule update --init", "git remote add backup ssh://h.example/x", "git -c push.default=current push", "git -c user.name=x push origin fix", "git fetch -f", "git branch -d fix", "git tag -f v1",
		"git push --force-with-lease origin feature/release-notes", "git rebase --exec 'make test' main", "git rebase -x 'go vet ./...' origin/main",
		"git push --force origin fix/login", "git push origin --force fix/login", "git push origin fix/login --forc", "git push --force --force-with-lease origin fix/login", "git push --force-with-lease origin +fix/login", "git push -f origin HEAD:refs/heads/ada/wip",
		"jj git push", "hg push", "gh repo sync", "git lfs push origin main",
	} {
		if a := assessed(c); a.has("publish.history", 0) {
			t.Errorf("%s: %.2f %+v", c, a.Score, a.Findings)
		}
	}
}

// TestPushOrder: where among the words an option stands, and how it is written, changes nothing.
func TestPushOrder(t *testing.T) {
	names := []string{"main", "HEAD", "fix:main", "release/1", "+fix", ":fix", "fix/login", "HEAD:fix/login"}
	for _, option := range []string{"--force-with-lease", "--force-with-l", "-f", "--force"} {
		for _, ref := range names {
			own := strings.HasSuffix(ref, "fix/login")
			for _, beside := range []string{"", "-q", "-u", "--no-verify", "-o x", "--push-option=x"} {
				for _, c := range []string{
					fmt.Sprintf("git push %s %s origin %s", option, beside, ref), fmt.Sprintf("git push %s origin %s %s", beside, ref, option), fmt.Sprintf("git push origin %s %s %s", option, ref, beside),
					fmt.Sprintf("git push %s --repo=origin %s %s", beside, option, ref), fmt.Sprintf("git push %s %s -- origin %s", option, beside, ref), fmt.Sprintf("git -C app push %s %s origin %s", beside, option, ref),
				} {
					if got := assessed(c).has("publish.history", 0.4); got == own {
						t.Errorf("%s: asked about: %v", c, got)
					}
				}
			}
		}
	}
}

// TestPushesElsewhere: where a push goes is read as git reads it, however its options stand.
func TestPushesElsewhere(t *testing.T) {
	const stranger = "https://203.0.113.7/x.git"
	for _, words := range []string{stranger, "--repo=" + stranger, "--rep " + stranger, "--repo " + stranger + " main", "-o ci.skip " + stranger + " main", "-fo x " + stranger, "--push-o x --all " + stranger,
		"--receive-pack x " + stranger, "-- " + stranger + " main", "--recurse-submodules no " + stranger} {
		if a := assessed("git push " + words); !a.has("publish.elsewhere", 0.01) {
			t.Errorf("git push %s: %v", words, a)
		}
	}
	for _, words := range []string{"", "origin main", "--repo=origin", "-o " + stranger + " origin main", "-u origin feature.x:feature.x"} {
		if a := assessed("git push " + words); a.has("publish.elsewhere", 0.01) {
			t.Errorf("git push %s: %v", words, a)
		}
	}
}
