package guardian

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTamperingListed: what names the guardian's files is another command, in whatever way
// its output reaches the one that changes or reads them.
func TestTamperingListed(t *testing.T) {
	g, home := aGuarded(t)
	if err := os.WriteFile(home+"/.config/reeve/policy/mine.yaml", []byte("default: deny\n"), 0o600); err != nil { // a search finds what stands there
		t.Fatal(err)
	}
	lists := []string{ // of a policy's files
		"find ~/.config/reeve/policy -type f", "find ~ -name mine.yaml", "find ~/.config -name '*.yaml'", "find / -iname '*.YAML' -path '*reeve*'", "find ~/.config -type f",
		"grep -rl deny ~/.config/reeve", "grep -rl --include=*.yaml deny ~/.config", "rg -l deny ~/.config/reeve/policy", "rg --files ~/.config/reeve", "ls -d ~/.config/reeve/policy/*",
		"ls ~/.config/reeve/policy/mine.yaml", "fd -e yaml . ~/.config/reeve", "fd -H mine ~", "fdfind mine ~/.config", "echo ~/.config/reeve/policy/*", "printf '%s\\n' ~/.config/reeve/policy/*.yaml", "realpath ~/.config/reeve/policy/mine.yaml",
		"find HOME/.config/reeve", "locate mine.yaml", "readlink -f ~/link/policy/mine.yaml", "ls -1 ~/.config/reeve/policy | sed s,^,HOME/.config/reeve/policy/,", "find ~/.config/reeve -name '*.yaml' | head -1", "find ~/link/ -name 'm*'", "find ~/.config -regex '.*mine.*'",
		"cd ~/.config && find . -name '*.yaml'", "du -a ~/.config/reeve | cut -f2", "tree -fi ~/.config/reeve/policy", "git ls-files ~/.config/reeve", "python3 -c 'import glob; print(*glob.glob(\"HOME/.config/reeve/policy/*\"))'",
	}
	ways := []string{
		"VERB $(LIST)", "VERB `LIST`", "LIST | xargs VERB", "LIST | xargs -r -n1 VERB", "LIST | xargs -I{} VERB {}", "for f in $(LIST); do VERB \"$f\"; done", "LIST | while read -r f; do VERB \"$f\"; done",
		"while read -r f; do VERB \"$f\"; done < <(LIST)", "f=$(LIST); VERB $f", "mapfile -t a < <(LIST); VERB \"${a[@]}\"", "LIST > /tmp/l; xargs VERB < /tmp/l", "LIST | parallel VERB {}", "VERB \"$(LIST)\"", "LIST | xargs sh -c 'VERB \"$@\"' x", "x() { VERB $(LIST); }; x", "LIST | tee /tmp/l | xargs VERB",
		"VERB $(echo $(LIST))", "a=($(LIST)); VERB \"${a[0]}\"", "read f < <(LIST); VERB $f", "set -- $(LIST); VERB \"$1\"", "LIST | sort | uniq | xargs VERB",
	}
	verbs := []string{"sed -i s/deny/allow/", "perl -pi -e s/deny/allow/", "rm -f", "truncate -s 0", "cp /tmp/open.yaml", "tee", "chmod 000", "ex -sc '%s/deny/allow/|x'", "unlink", "vim -es -c wq", "shred -u", "sponge", "yq -i .default=1", "awk -i inplace 1", "mv -t /tmp", "zork --edit", "patch -i x.diff"}
	for _, line := range strings.Split(strings.TrimSpace(`
find . -name '*.go' | xargs gofmt -w
find . -name '*.go' -print0 | xargs -0 sed -i s/a/b/
find ~ -name '*.pyc' -delete
find ~ -name '*.md' -exec wc -l {} \;
find ~ -type d -name node_modules -prune -exec rm -rf {} +
find ~/src -mtime +30 | xargs rm
find / -name libfoo.so 2>/dev/null | xargs ls -l
find ~ -size +100M -exec ls -lh {} \;
find ~ -size +100M | xargs du -h
find ~ -type f | wc -l
find ~ \( -name '*.log' -o -name '*.tmp' \) -delete
find ~ -maxdepth 1 -name '*.txt' | xargs cat
find ~ -name '*.yaml' | xargs grep foo
find ~ -name '*.yaml' -exec cat {} +
find ~ -name .DS_Store -print -delete
find ~ -type f -exec file {} +
find ~ -iname '*.jpg' | while read -r f; do mv "$f" ~/pictures/; done
for f in $(find ~/src -name '*.txt'); do sed -i s/a/b/ "$f"; done
grep -rl colour ~/src | xargs sed -i s/colour/color/
grep -rl --include=*.go foo ~ | xargs sed -i s/foo/bar/
grep -rl zzyzx ~ | xargs sed -i s/zzyzx/bar/
rg -l foo ~ | xargs sed -i s/foo/bar/
rg -l foo | xargs sed -i s/foo/bar/
ls ~ | while read f; do echo "$f"; done
ls ~/src | xargs -I{} git -C ~/src/{} pull
cat $(find . -name '*.md')
fd -e log . ~ | xargs rm
fd foo ~ | xargs rm
git ls-files | xargs wc -l
git diff --name-only | xargs gofmt -w
ls ~/.config; sed -i "s/a/$b/" notes.txt
ls ~/.config/reeve/policy; rm "$TMPDIR/x"
ls -la ~; cp "$src" /tmp/x
du -sh ~/* | sort -h
locate stdio.h | xargs cat
x=$(ls *.txt | head -1); rm "$x"
sh -c 'for f in *.txt; do mv "$f" "$f.bak"; done'
curl -fsS https://x.example/list | xargs -n1 wget -q
tar cf x.tar -T list.txt
python3 -c "import glob; print(*glob.glob('/tmp/*'))" | xargs rm -f
find ~ -name '*.go' | cpio -o > /tmp/go.cpio
echo $(ls ~/.config)
test -f "$f" && find ~ -name "$f"
find ~/src -type d -empty -delete
find ~ -newer x -name '*.txt' -o -name '*.csv' | xargs head
`), "\n") {
		line = strings.ReplaceAll(line, "HOME", home)
		if r := g.Tampering(call(home+"/src/proj", "shell", "command", line), nil); len(r) > 0 {
			t.Errorf("is denied: %s: %s", line, r[0].Message)
		}
	}
	step := 1
	if testing.Short() {
		step = 11 // each of them many times, in other company
	}
	lines := 0
	for _, l := range lists {
		for _, w := range ways {
			for _, v := range verbs {
				if lines++; lines%step != 0 {
					continue
				}
				line := strings.ReplaceAll(strings.NewReplacer("LIST", l, "VERB", v).Replace(w), "HOME", home)
				if len(g.Tampering(call(home+"/src/proj", "shell", "command", line), nil)) == 0 {
					t.Errorf("is let pass: %s", line)
				}
			}
		}
	}
}

// TestTamperingByFile: a list of names, or a script, that lies in a file, and names that a
// program puts into a part of a word.
func TestTamperingByFile(t *testing.T) {
	g, home := aGuarded(t)
	work := home + "/src/proj"
	for name, text := range map[string]string{"list.txt": home + "/.config/reeve/policy/mine.yaml\n", "ev.sh": "p=$HOME/.config\ncat $p/ree*/data/seed\n", "fine.txt": work + "/a.go\n", "fine.sh": "for f in *.go; do gofmt -w $f; done\n"} {
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range strings.Split(strings.TrimSpace(`
xargs sed -i s/deny/allow/ < list.txt
sed -i s/deny/allow/ $(cat list.txt)
while read f; do : > "$f"; done < list.txt
tar cf x.tar -T list.txt --remove-files
rsync --files-from=list.txt --remove-source-files / /tmp/x
cat list.txt | xargs rm
vim $(<list.txt)
./ev.sh
bash -c ./ev.sh
env bash ev.sh
source ./ev.sh
eval "$(cat ev.sh)"
sh < ev.sh
cat ev.sh | sh
bash <(cat ev.sh)
find ~ -path '*/reeve/*' -type f -print0 | xargs -0 -I% install -m 644 /dev/null %
find ~ -name '*.yaml' -exec dd if=/dev/null of={} \;
find ~/.config -mindepth 1 -maxdepth 1 -exec mv {} /tmp/ \;
ls -A ~ | xargs -I{} mv ~/{} /tmp/
ls -A ~/.config | xargs -I{} rm -rf ~/.config/{}
cd ~/.config && ls | xargs rm -rf
cd ~/.config && for d in *; do rm -rf "$d"; done
cd ~ && printf '%s\0' .[a-z]* | xargs -0 rm -rf
fd -H . ~/.config -x rm
fd -HI seed ~ -X cat
rg --files --hidden ~ | grep reeve | xargs cat
find / -newer /tmp/x -user $USER -type f -exec cat {} +
docker build --build-context h=HOME/.config .
docker cp HOME/.config/reeve c:/x
docker buildx build --secret id=s,src=HOME/.config/reeve/data/seed .
podman unshare cat HOME/.config/reeve/data/seed
`), "\n") {
		if len(g.Tampering(call(work, "shell", "command", strings.ReplaceAll(line, "HOME", home)), nil)) == 0 {
			t.Errorf("is let pass: %s", line)
		}
	}
	for _, line := range strings.Split(strings.TrimSpace(`
xargs sed -i s/a/b/ < fine.txt
sed -i s/a/b/ $(cat fine.txt)
while read f; do : > "$f"; done < fine.txt
tar cf x.tar -T fine.txt
./fine.sh
sh < fine.sh
cat fine.sh | sh
eval "$(cat fine.sh)"
cat list.txt
wc -l list.txt; rm "$TMPFILE"
docker build -t x .
docker cp HOME/src/proj/a.go c:/x
docker build --build-context h=HOME/src .
find . -name '*.go' -exec dd if={} of=/tmp/x \;
echo hello > "$OUT"
x=$(mktemp); echo hello > "$x"
`), "\n") {
		if r := g.Tampering(call(work, "shell", "command", strings.ReplaceAll(line, "HOME", home)), nil); len(r) > 0 {
			t.Errorf("is denied: %s: %s", line, r[0].Message)
		}
	}
}
