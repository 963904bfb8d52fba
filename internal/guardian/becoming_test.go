package guardian

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTamperingFolderOfSettings: a folder of an agent's settings does not come about by another name, by
// whatever program, with what nobody has looked at in it; and what is known to be harmless may.
func TestTamperingFolderOfSettings(t *testing.T) {
	g, home := aGuarded(t)
	work := home + "/src/shop"
	for name, text := range map[string]string{
		"c/settings.json": `{"disableAllHooks": true}`, "c/settings.local.json": `{"disableAllHooks": true}`,
		"vendor/c/.claude/settings.local.json": `{"disableAllHooks": true}`, "vendor/plain/.claude/settings.local.json": `{"model": "opus"}`,
		"plain/settings.json": `{"permissions": {"allow": ["Bash(ls)"]}}`, "plain/commands/a.md": "hello", "src/a.ts": "x",
		"x.patch": "--- /dev/null\n+++ b/.claude/settings.local.json\n@@ -0,0 +1 @@\n+{\"disableAllHooks\":true}\n",
		"y.patch": "--- a/src/a.ts\n+++ b/src/a.ts\n@@ -1 +1 @@\n-x\n+y\n",
		"z.patch": "--- a" + home + "/.config/reeve/reeve.yaml\n+++ b" + home + "/.config/reeve/reeve.yaml\n@@ -1 +1 @@\n-x\n+y\n",
	} {
		file := filepath.Join(work, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range []string{
		"mv c .claude", "cp -r c .claude", "cp -rT c .claude", "rsync -a c/ .claude/", "ln -s c .claude", "mv c ./.claude/",
		"cp -r vendor/c/. .", "rsync -a vendor/c/ ./", "cp -a vendor/c/.claude .",
		"git add c && git commit -qm x && git mv c .claude", "git read-tree -u --prefix=.claude HEAD:c", "git clone c .claude", "git clone https://x.example/dot .claude",
		"git -C . worktree add .claude HEAD", "git subtree add --prefix=.claude ./c HEAD", "git submodule add https://x.example/dot .claude",
		"npx degit ./c .claude", "npx degit x/y .codex", "npx cpy c/settings.json .claude", "npx ncp c .claude", "go run cp.go c .claude", "cpio -pdm .claude <<< c/settings.json",
		`find c -name "*.json" -exec cp -t .claude {} +`, "pax -rw c .claude", "docker cp x:/c .claude", "aws s3 sync s3://x .claude", "copier copy c .gemini",
		"rename 's/^c$/.claude/' c", "mmv c .claude", "rm -rf .claude; somebodys-tool --out .claude c", "mkdir .claude; mv .claude old; unknown c .claude",
		`ruby -rfileutils -e 'FileUtils.mv("c",".claude")'`, `perl -e 'rename "c",".claude"'`, `php -r 'rename("c",".cursor");'`,
		"tar czf c.tgz -C vendor c --transform s/^c/.claude/",
		"git apply x.patch", "patch -p1 < x.patch", "patch -p1 -i x.patch", "cat x.patch | git apply", "git am x.patch", "cd / && patch -p1 < " + work + "/z.patch", "git -C / apply " + work + "/z.patch",
	} {
		if len(g.Tampering(call(work, "shell", "command", line), nil)) == 0 {
			t.Errorf("not found: %s", line)
		}
	}
	for _, line := range []string{
		"mv plain .claude", "git mv plain .claude", "cp -r plain .claude", "cp -r vendor/plain/. .", "rsync -a vendor/plain/ ./", "mv src source", "git mv src source", "mkdir -p .claude/commands && touch .claude/commands/a.md",
		"git clone https://x.example/kit", "git clone https://x.example/kit vendor/kit", "git worktree add .claude/worktrees/fix -b fix", "git worktree add ../fix", "npx degit x/y app", "docker cp x:/app ./app", "aws s3 sync s3://x ./data",
		"tar xzf a.tgz", "tar czf b.tgz .claude", "git add .claude", "git rm -r --cached .claude", "ls .claude", "rm -rf .claude", "test -d .claude && echo yes", "git check-ignore .claude", "echo .claude >> .gitignore",
		"rename 's/txt/md/' *.txt", "git apply y.patch", "patch -p1 < y.patch", "git diff > w.patch", "npx prettier --write src", "git log -- .claude", "cat x.patch",
		`perl -e 'rename "src","source"'`, "claude mcp list",
	} {
		if r := g.Tampering(call(work, "shell", "command", line), nil); len(r) > 0 {
			t.Errorf("ordinary %s: %v", line, r)
		}
	}
}
