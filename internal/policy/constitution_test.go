package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reeve.example/reeve/act"
)

const constitution = `# Who may do what.
[meta]
version = "1.0.0"
authority = "local"

[network]
allow = [
    "api.example.com",
    "*.example.org",
]
block = ["bad.example.org"]

[filesystem]
write_allow = ["./workspace", "/tmp/**", "~/.notes/**"]

[commands]
block = ["rm -rf", "Curl|Bash"]

[resources]
max_memory_mb = 512
`

func TestConstitution(t *testing.T) {
	set, err := Load(File{"constitution.toml", []byte(constitution)})
	if err != nil {
		t.Fatal(err)
	}
	const network, files, command = "constitution.network", "constitution.filesystem", "constitution.command"
	for _, test := range []struct {
		in   *Input
		want string // the codes
	}{
		{call("fetch", "url", `"https://api.example.com/x"`), ""},
		{call("fetch", "url", `"https://a.example.org/x"`), ""},
		{call("fetch", "url", `"https://bad.example.org/x"`), network},
		{call("fetch", "url", `"https://evil.example/x"`), network},
		{call("fetch", "url", `"https://api.example.com@evil.example/x"`), network + " risk.url.disguised"},
		{call("connect", "host", `"evil.example"`), network},
		{call("connect", "host", `"API.example.com"`), ""},
		{call("write_file", "path", `"workspace/a.txt"`), ""},
		{call("write_file", "path", `"./workspace/a.txt"`), ""},
		{call("write_file", "path", `"workspace/../a.txt"`), files},
		{call("write_file", "path", `"/tmp/a/b"`), ""},
		{call("write_file", "path", `"~/.notes/a"`), ""},
		{call("write_file", "path", `"~/.bashrc"`), files},
		{call("write_file", "path", `"/etc/passwd"`, "content", `"/tmp/x"`), files + " risk.priv.admin_account"},
		{call("write_file", "path", `7`), files},
		{call("move_file", "source", `"/tmp/a"`, "destination", `"/etc/a"`), files},
		{call("read_file", "path", `"/etc/hosts"`), ""},
		{call("shell", "command", `"RM -RF /tmp/x"`), command},
		{call("shell", "command", `"curl|bash"`), command},
		{call("shell", "command", `"ls"`), ""},
	} {
		v := set.Evaluate(test.in)
		var codes []string
		for _, r := range v.Reasons {
			if r.Code != CodeDefault {
				codes = append(codes, r.Code)
			}
		}
		if got := strings.Join(codes, " "); got != test.want || (v.Effect == act.Deny) != (test.want != "") {
			t.Errorf("%s %s: %s %s, want %s", test.in.Action.Canonical, test.in.Action.Arguments[0].Value, v.Effect, got, test.want)
		}
	}
	want := act.Manifest{
		MaxMemoryMB: 512, MaxCPUPercent: 100, TimeoutSeconds: 30, NetworkAllowed: true,
		AllowedDomains: []string{"api.example.com", "*.example.org"}, BlockedDomains: []string{"bad.example.org"},
		FilesystemScope: []string{"./workspace", "/tmp/**", "~/.notes/**"}, BlockedPatterns: []string{"rm -rf", "Curl|Bash"},
	}
	got, said := set.Manifest("anything")
	if diff := cmp.Diff(want, got); diff != "" || !said {
		t.Errorf("said = %v (-want +got)\n%s", said, diff)
	}
	again, err := Parse(set.Text())
	if err != nil || again.Hash() != set.Hash() {
		t.Errorf("Parse(Text()): %v", err)
	}
}

// A constitution beside other documents only forbids: they say the default.
func TestConstitutionBesideOthers(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("constitution.toml", constitution)
	alone, err := LoadPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if alone.Default() != act.Allow || len(alone.Rules()) != 3 {
		t.Errorf("alone: default %s, %d rules", alone.Default(), len(alone.Rules()))
	}
	write("second.toml", "[resources]\nmax_cpu_percent = 50\n")
	if _, err := LoadPath(dir); err == nil || !strings.Contains(err.Error(), `the manifest of "*" is also given in`) {
		t.Errorf("two constitutions that limit all tools: %v", err)
	}
	write("second.toml", "[filesystem]\n")
	if _, err := LoadPath(dir); err == nil {
		t.Error("a constitution that says nothing is taken")
	}
	os.Remove(filepath.Join(dir, "second.toml"))
	write("mine.yaml", "version: 1\ndefault: deny\nrules: [{name: a, tools: ['*'], on: tool.call, effect: allow}]")
	set, err := LoadPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if set.Default() != act.Deny {
		t.Errorf("the default is %s", set.Default())
	}
	if v := set.Evaluate(call("fetch", "url", `"https://evil.example/"`)); v.Effect != act.Deny {
		t.Errorf("a host that it forbids: %s", v.Effect)
	}
	if v := set.Evaluate(call("fetch", "url", `"https://api.example.com/"`)); v.Effect != act.Allow {
		t.Errorf("a host that it allows: %s", v.Effect)
	}
}

func TestConstitutionNetwork(t *testing.T) {
	for _, test := range []struct {
		network               string
		other, blocked, known bool // which hosts pass
		manifest              bool
	}{
		{`allow = ["known.example"]`, false, false, true, true},
		{`block = ["blocked.example"]`, true, false, true, true},
		{"allow = [\"known.example\"]\nstrict_mode = false\nblock = [\"blocked.example\"]", true, false, true, true},
		{`allow = []`, false, false, false, false},
		{"block = [\"blocked.example\"]\nstrict_mode = true", false, false, false, false},
	} {
		set, err := Load(File{"c.toml", []byte("[network]\n" + test.network + "\n[resources]\ntimeout_seconds = 5\n")})
		if err != nil {
			t.Errorf("%s: %v", test.network, err)
			continue
		}
		for host, passes := range map[string]bool{"other": test.other, "blocked": test.blocked, "known": test.known} {
			v := set.Evaluate(call("fetch", "url", `"http://`+host+`.example/"`))
			if (v.Effect == act.Allow) != passes {
				t.Errorf("%s: %s is %s", test.network, host, v.Effect)
			}
		}
		if m, _ := set.Manifest("x"); m.NetworkAllowed != test.manifest {
			t.Errorf("%s: network_allowed = %v", test.network, m.NetworkAllowed)
		}
	}
}

// Many forbidden texts make several rules, each of which is cheap enough.
func TestConstitutionManyCommands(t *testing.T) {
	var b strings.Builder
	for i := range 900 {
		fmt.Fprintf(&b, "%q, ", fmt.Sprintf("command \\ %d;", i))
	}
	set, err := Load(File{"c.toml", []byte("[commands]\nblock = [" + b.String() + "]\n")})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{0, 450, 899} {
		v := set.Evaluate(call("shell", "command", fmt.Sprintf("\"a command \\\\ %d;\"", i)))
		if v.Effect != act.Deny || v.Reasons[0].Code != "constitution.command" {
			t.Errorf("text %d: %s", i, show(v))
		}
	}
	if v := set.Evaluate(call("shell", "command", `"a command \\ 900;"`)); v.Effect != act.Allow {
		t.Errorf("another text: %s", show(v))
	}
}

func TestConstitutionFaults(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", `c.toml:1:1: the constitution says nothing (it has [network], [filesystem], [commands] or [resources])`},
		{"[network\n", `c.toml:1:9: this is not valid TOML: expected ']' to close table name`},
		{"[network]\nallow = [\"a.example\"]\nallow = []\n", `c.toml:3:1: this is not valid TOML: key allow is already defined`},
		{"[netwrk]\nallow = []\n", `c.toml:1:2: a constitution has no key "netwrk" (did you mean network?)`},
		{"[network]\nalow = []\n", `c.toml:2:1: [network] has no key "alow" (did you mean allow?)`},
		{"[network]\nallow = [\n  \"a.example\",\n  \"https://b.example\",\n]\n", `c.toml:4:3: allow: "https://b.example" is not a host's name (write the name alone, such as example.com or *.example.com)`},
		{"[network]\nallow = \"a.example\"\n", `c.toml:2:9: allow is a list of texts, not a text (write ["…"])`},
		{"[network]\nallow = [5]\n", `c.toml:2:10: allow is a list of texts; this is a number (quote it)`},
		{"[network]\nstrict_mode = \"yes\"\nblock = [\"a.example\"]", `c.toml:2:15: strict_mode is true or false, not a text (write true or false)`},
		{"network = 5\n", `c.toml:1:11: network is a section, not a number (write [network])`},
		{"[commands]\nblock = [\"\"]\n", `c.toml:2:10: block: "" is empty (every argument would hold it)`},
		{"[resources]\nmax_memory_mb = 0\n", `c.toml:2:17: max_memory_mb is a whole number from 1 to 1048576 (to forbid a tool, write a rule with effect: deny)`},
		{"[resources]\nmax_memory_mb = 1.5\n", `c.toml:2:17: a constitution has texts, whole numbers, true, false and lists`},
		{"[network.a]\nallow = []\n", `c.toml:1:2: sections within sections are not supported (write [section] and key = value)`},
		{"[[network]]\nallow = []\n", `c.toml:1:3: lists of sections are not supported (write [section])`},
		{"a = " + strings.Repeat("[", 20_000), `c.toml:1:1: the document has too many parts`},
		{"a" + strings.Repeat(".a", 60_000) + "= 1", `c.toml:1:1: the document has too many parts`},
		{"\xff", `c.toml:1:1: the document is not valid UTF-8 (save it as UTF-8)`},
	} {
		_, err := Load(File{"c.toml", []byte(test.text)})
		if err == nil {
			t.Errorf("%.40q: no error", test.text)
			continue
		}
		if got, _, _ := strings.Cut(err.Error(), "\n"); got != test.want {
			t.Errorf("%.40q\n got %s\nwant %s", test.text, got, test.want)
		}
	}
}

// FuzzConstitution feeds the loader any TOML file.
func FuzzConstitution(f *testing.F) {
	f.Add(constitution)
	f.Add("a = [[[{b.c = 1}]]]\n[x]\n'y z' = \"\"\"\n\"\"\"")
	f.Add("network.allow = [\"\\u0041\"]\n[[a]]")
	f.Add("[network]\nallow = [# here\n\"a\"\n, 'b']\nstrict_mode = 1979-05-27T07:32:00Z")
	f.Fuzz(func(t *testing.T, text string) {
		set, err := Load(File{"c.toml", []byte(text)})
		if err != nil {
			return
		}
		again, err := Parse(set.Text())
		if err != nil || again.Hash() != set.Hash() {
			t.Fatalf("Parse(Text()): %v", err)
		}
		set.Evaluate(call("write_file", "path", `"a"`, "url", `"http://a.example/"`))
		set.Manifest("write_file")
	})
}
