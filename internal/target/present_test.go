package target

import (
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
