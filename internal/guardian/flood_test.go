package guardian

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestTamperingFlooded: what is bounded in a look does not let pass what stands behind the bound.
func TestTamperingFlooded(t *testing.T) {
	g, home := aGuarded(t)
	work := home + "/src/proj"
	for name, text := range map[string]string{"a.sh": "rm -rf ~/.config/reeve\n", "list": home + "/.config/reeve/data\n"} {
		if err := os.WriteFile(work+"/"+name, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 40 {
		if err := os.WriteFile(fmt.Sprintf("%s/ok%d.sh", work, i), []byte("echo hello\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	many := func(n int, form string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, form, i)
		}
		return b.String()
	}
	for i, line := range []string{
		"rm -rf " + many(400, "/x/y%d ") + home + "/link/data",
		many(400, "cat /x/y%d; ") + "rm -rf " + home + "/link/data",
		many(60, "sh ./ok%d.sh; ") + "sh ./a.sh",
		many(40, "./ok%d.sh && ") + "./a.sh",
		many(40, "ln -s /x/%d /tmp/l%[1]d; ") + "ln -s ~/.config /tmp/cc; rm -r /tmp/cc/reeve",
		many(40, "cd /x%d; ") + "cd ~/.config; rm -rf reeve",
		many(40, "zork -C /x%d; ") + "zork -C ~/.config rm reeve",
		many(40, "ls /x%d | xargs rm -f; ") + "find ~/.config -maxdepth 1 -name 'ree*' | xargs rm -rf",
		many(80, "cat f%d; ") + "xargs rm -rf < list",
		"python3 -c 'import os\n" + many(600, "x%d = 1\n") + "import shutil; shutil.rmtree(os.path.expanduser(\"~/.config/reeve\"))'",
		"python3 -c 'import os\n" + many(600, "x = \"/a/%d\"\n") + "os.chdir(os.path.expanduser(\"~/.config\")); import shutil; shutil.rmtree(\"reeve\")'",
		"zork \"" + many(100, "/a/%d ") + "open " + home + "/.config/reeve/reeve.yaml\"",
		"zork " + many(100, "-C /a/%d ") + "-C " + home + "/.config del reeve",
		"rm -rf " + strings.Repeat("./", 2100) + "../../.config/reeve",
		"x='" + strings.Repeat("a", 300<<10) + "'; rm -rf ~/.config/reeve",
	} {
		if len(g.Tampering(call(work, "shell", "command", line), nil)) == 0 {
			t.Errorf("is let pass: %d: %.40s … %s", i, line, line[max(0, len(line)-80):])
		}
	}
	for i, line := range []string{ // honest work is large, too
		"python3 - <<'E'\n" + many(2500, "x%d = \"name_%[1]d\" # ../a/b%[1]d\n") + "E",
		"python3 - <<'E'\n" + many(2000, "import a%d\nopen(\"data/%[1]d.csv\").read()\n") + "E",
		"git add " + many(2000, "src/a%d.go "),
		"rm -f " + many(2000, "build/a%d.o "),
		many(30, "(cd sub%d && make); ") + "true",
		many(40, "sh ./ok%d.sh; ") + "true",
		many(60, "cat f%d | xargs -n1 echo; ") + "true",
		"cat > a.go <<'E'\n" + many(5000, "var x%d = \"/a/%[1]d\"\n") + "E",
	} {
		if r := g.Tampering(call(work, "shell", "command", line), nil); len(r) > 0 {
			t.Errorf("is denied: %d: %.60s: %s", i, line, r[0].Message)
		}
	}
}
