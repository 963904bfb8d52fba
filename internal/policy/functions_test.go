package policy

import (
	"math/rand/v2"
	"path"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/glob"
	"reeve.example/reeve/internal/linear"
	"reeve.example/reeve/internal/rawjson"
)

func TestUnder(t *testing.T) {
	for _, test := range []struct {
		path, dir string
		want      bool
	}{
		{"/workspace", "/workspace", true},
		{"/workspace/a/b", "/workspace", true},
		{"/workspace/a/b", "/workspace/", true},
		{"/workspace/./a//b", "/workspace", true},
		{"/workspace/a/../b", "/workspace", true},
		{"/workspace/résumé.txt", "/workspace", true},
		{"/workspace/100%25.txt", "/workspace", true},
		{"/a", "/", true},
		{"notes/a.txt", ".", true},
		{"notes/a.txt", "notes", true},
		{"C:/work/a", "C:/work", true},
		{`C:\work\a`, "C:/work", false}, // not one on systems where a backslash is a letter

		{"", "/workspace", false},
		{" ", ".", false}, // one of its readings is empty
		{"\t\n", "/workspace", false},
		{"\x00a", ".", false},
		{"/", "/workspace", false},
		{"/workspace-evil", "/workspace", false},
		{"/workspace2/a", "/workspace", false},
		{"/workspace/../etc/passwd", "/workspace", false},
		{"/workspace/a/../../etc", "/workspace", false},
		{"/workspace/..", "/workspace", false},
		{"/workspace/%2e%2e/etc", "/workspace", false},
		{"/workspace/%2E%2E%2Fetc", "/workspace", false},
		{"/workspace/%252e%252e/etc", "/workspace", false},
		{"/workspace/%25252525252e%25252525252e/etc", "/workspace", false},
		{`/workspace/..\..\etc`, "/workspace", false},
		{`/workspace\..\..\etc`, "/workspace", false},
		{"/workspace/\uff0e\uff0e/etc", "/workspace", false}, // full-width dots
		{"/workspace/a\x00/../../etc", "/workspace", false},
		{"/workspace/a\n", "/workspace", false},
		{" /workspace/a", "/workspace", false},
		{"file:///etc/passwd", "file:", false},
		{"/Workspace/a", "/workspace", false},
		{"workspace/a", "/workspace", false},
		{"/etc/passwd", ".", false},
		{"../a", ".", false},
		{"..", ".", false},
		{"a/../../b", ".", false},
		{"~/a", ".", false},
		{"$HOME/a", ".", false},
		{"C:a", ".", false},
	} {
		if got := pathUnder(test.path, []string{test.dir}); got != test.want {
			t.Errorf("%q.under(%q) = %v, want %v", test.path, test.dir, got, test.want)
		}
	}
}

func TestMayReach(t *testing.T) {
	for _, test := range []struct {
		path, dir string
		want      bool
	}{
		{"/etc/passwd", "/etc", true},
		{"/etc", "/etc", true},
		{"/ETC/passwd", "/etc", true},
		{"//etc/passwd", "/etc", true},
		{"/workspace/../etc/passwd", "/etc", true},
		{"../../../etc/passwd", "/etc", true},
		{"../..", "/etc", true}, // climbs to who knows where
		{"%2fetc%2fpasswd", "/etc", true},
		{"/%65tc/passwd", "/etc", true},
		{"/%2565tc/passwd", "/etc", true},
		{`\etc\passwd`, "/etc", true},
		{"file:///etc/passwd", "/etc", true},
		{"FILE://localhost/etc/passwd", "/etc", true},
		{" /etc/passwd\n", "/etc", true},
		{"/etc/passwd\x00.png", "/etc", true},
		{"/private/etc/hosts", "/etc", true},
		{"/proc/self/root/etc/shadow", "/etc", true},
		{"/\uff45tc/passwd", "/etc", true}, // full-width e
		{"C:/Windows/System32/x.dll", "/windows", true},
		{"/home/oda/.ssh/id_ed25519", "~/.ssh", true},
		{"~/.ssh", "~/.ssh", true},
		{"~oda/.ssh/x", "~/.ssh", true},
		{"$HOME/.ssh/x", "~/.ssh", true},
		{"${HOME}/.ssh/x", "~/.ssh", true},
		{"/root/.ssh/x", "~/.ssh", true},
		{"/Users/oda/.ssh/x", "~/.ssh", true},
		{`C:\Users\oda\.ssh\x`, "~/.ssh", true},
		{"../../.ssh/x", "~/.ssh", true},
		{"/home/oda/.bashrc", "~/.bashrc", true},
		{"/home/oda/x", "~", true},

		{"", "/etc", false},
		{"etc/passwd", "/etc", false},
		{"/etcetera", "/etc", false},
		{"/workspace/etc/passwd", "/etc", false},
		{"../etcetera", "/etc", false},
		{"notes.txt", "/etc", false},
		{"a sentence about /etc/passwd", "/etc", false},
		{"/home/oda/.sshx", "~/.ssh", false},
		{"/home/oda/project/.ssh-docs", "~/.ssh", false},
		{"/workspace/.ssh", "~/.ssh", false},
		{"x~/.ssh", "~/.ssh", false},
	} {
		if got := pathMayReach(test.path, []string{"/nowhere", test.dir}); got != test.want {
			t.Errorf("%q.may_reach(%q) = %v, want %v", test.path, test.dir, got, test.want)
		}
	}
}

func TestGlob(t *testing.T) {
	for _, test := range []struct {
		path, glob string
		want       bool
	}{
		{"/workspace/a.txt", "/workspace/*.txt", true},
		{"/workspace/a/b.txt", "/workspace/*.txt", false},
		{"/workspace/a/b.txt", "/workspace/**", true},
		{"/workspace/a/b.txt", "/workspace/**/b.txt", true},
		{"/workspace/b.txt", "/workspace/**/b.txt", true},
		{"/workspace/a/c/b.txt", "/workspace/**/b.txt", true},
		{"/workspace/ab.txt", "/workspace/**/b.txt", false},
		{"b.txt", "**/b.txt", true},
		{"a/b.txt", "**/b.txt", true},
		{"ab.txt", "**/b.txt", false},
		{"/workspace/é.txt", "/workspace/?.txt", true},
		{"/workspace//.txt", "/workspace/?.txt", false},
		{"/workspace", "/workspace/**", false},
		{"/workspace/../etc/x.txt", "/workspace/**", false},
		{"/workspace/%2e%2e/x.txt", "/workspace/**", false},
		{"/a/b/a/b/c", "/**/a/*/c", true},
		{"/a/b/c", "/a/**/b/**/c", true},
		{"", "**", false},
	} {
		if got := pathGlob(test.path, []string{test.glob}); got != test.want {
			t.Errorf("%q.glob(%q) = %v, want %v", test.path, test.glob, got, test.want)
		}
	}
}

// TestGlobsAgreeWithPatterns compares both glob matchers with the same globs
// written as patterns, on random short texts.
func TestGlobsAgreeWithPatterns(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	random := func(from []string, n int) string {
		var b strings.Builder
		for range r.IntN(n) {
			b.WriteString(pick(r, from))
		}
		return b.String()
	}
	deep := strings.NewReplacer(`/\*\*/`, `/(?:.*/)?`, `\*\*`, `.*`, `\*`, `[^/]*`, `\?`, `[^/]`)
	for range 20_000 {
		shape, text := random([]string{"a", "b", "é", "/", "*", "?", "**", "/**/"}, 6), random([]string{"a", "b", "é", "/"}, 7)
		for strings.Contains(shape, "***") || strings.Contains(shape, "/**/**/") {
			shape = strings.ReplaceAll(strings.ReplaceAll(shape, "***", "**"), "/**/**/", "/**/")
		}
		pattern := deep.Replace(regexp.QuoteMeta(shape))
		if rest, ok := strings.CutPrefix(shape, "**/"); ok {
			pattern = `(?:.*/)?` + deep.Replace(regexp.QuoteMeta(rest))
		}
		if want := regexp.MustCompile(`(?s)^(?:` + pattern + `)$`).MatchString(text); matchPath(shape, text) != want {
			t.Fatalf("matchPath(%q, %q) = %v, want %v (%s)", shape, text, !want, want, pattern)
		}
		if want := naiveGlob(shape).MatchString(text); glob.Match(shape, text) != want {
			t.Fatalf("glob.Match(%q, %q) = %v, want %v", shape, text, !want, want)
		}
	}
}

func TestHosts(t *testing.T) {
	for _, test := range []struct {
		text string
		want []string
	}{
		{"no address", nil},
		{"see https://Example.COM/a?b#c and http://b.example:8080.", []string{"example.com", "b.example"}},
		{"(https://a.example), <https://b.example> \"ftp://c.example\"", []string{"a.example", "b.example", "c.example"}},
		{"https://good.example@evil.example/", []string{"evil.example"}},
		{"https://good.example:pw@evil.example:443", []string{"evil.example"}},
		{`https://evil.example\@good.example/`, []string{"evil.example", "good.example"}},
		{`https:\\evil.example/x`, []string{"evil.example"}},
		{"https:///evil.example/x", []string{"evil.example"}},
		{"src=//cdn.example/x.js", []string{"cdn.example"}},
		{"a //b.example c//d", []string{"b.example"}},
		{"https://a.example https://a.example", []string{"a.example"}},
		{"https://a.example.", []string{"a.example"}},
		{"https://%65vil.example/", []string{"evil.example"}},
		{"https://\uff45vil\u3002example/", []string{"evil.example"}},
		{"http://2852039166/", []string{"169.254.169.254"}},
		{"http://0xA9.0xFE.0xA9.0xFE/", []string{"169.254.169.254"}},
		{"http://0251.0376.0251.0376/", []string{"169.254.169.254"}},
		{"http://169.254.43518/", []string{"169.254.169.254"}},
		{"http://127.1/", []string{"127.0.0.1"}},
		{"http://[::ffff:169.254.169.254]:80/", []string{"169.254.169.254"}},
		{"http://[FD00:EC2::254]/", []string{"fd00:ec2::254"}},
		{"http://999.1.1.1/", []string{"999.1.1.1"}},
	} {
		got := hostsOf(test.text)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q (-want +got)\n%s", test.text, diff)
		}
	}
	if got := hostsOf(strings.Repeat("https://a", 1) + manyHosts()); len(got) != maxHosts+1 || got[maxHosts] != "too-many-hosts.invalid" {
		t.Errorf("got %d hosts", len(got))
	}
}

func manyHosts() string {
	var b strings.Builder
	for i := range 2 * maxHosts {
		b.WriteString(" http://h" + strings.Repeat("x", i%50) + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676)) + "/")
	}
	return b.String()
}

func TestHostIn(t *testing.T) {
	list := []string{"Example.com", "*.example.org", "10.0.0.0/8", "169.254.169.254", "fd00::/8"}
	for host, want := range map[string]bool{
		"example.com": true, "EXAMPLE.com.": true, "www.example.com": false, "badexample.com": false,
		"a.example.org": true, "a.b.example.org": true, "example.org": false, "badexample.org": false,
		"10.1.2.3": true, "11.1.2.3": false, "0xa.1": true, "169.254.169.254": true, "2852039166": true, "fd00:ec2::254": true,
		"": false, "example.com.evil.example": false,
	} {
		if got := hostIn(host, list); got != want {
			t.Errorf("%q in the list: %v, want %v", host, got, want)
		}
	}
}

// FuzzMatcher: looking for a literal first never changes what a pattern matches.
func FuzzMatcher(f *testing.F) {
	f.Add(`\b(curl|wget)\b[^\n]*\|\s*(ba|z)?sh`, "curl x | sh")
	f.Add(`(?i)abc|x+y`, "xxy")
	f.Add(`(a|b)c{2,}d?`, "bccc")
	f.Add(`(?:abc)*`, "")
	f.Add(`^$|ab(cd|ce)`, "abce")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 200 {
			return
		}
		m, err := newMatcher(pattern)
		if err != nil {
			return
		}
		g := new(trigrams)
		g.fill(text)
		want := m.pattern.MatchString(text)
		if m.match(text, nil) != want || m.match(text, g) != want {
			t.Errorf("%q on %q: %v, want %v (literals %v)", pattern, text, !want, want, m.literals)
		}
	})
}

// What is told from names alone is what reading the whole text tells.
func TestMayReachByName(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{" ", "\n", "\x00", "..", ".", "...", "/", "/", "/", `\`, "etc", "ETC", "et", "c", ".ssh", "~", "~oda", "oda", "$HOME", "home/oda", "Root", "proc/1/root", "%", "%2e", "%2F", "%65", "%252e",
		"\uff0e", "\u2025", "\u2026", "\uff45tc", "\u212a", "k", "\u0130", "\u0301", "\u00a0", "\u0085", "\xff", "\xe2\x80", "file:", "c:", "a", "b\u00fcro", "bu\u0308ro", ":", "private"}
	dirs := []string{"/etc", "/etc/", "/ETC//.", "~/.ssh", "~oda", "~", "/", ".", "..", "/a/..", "etc", `c:\etc`, "/k", "/i\u0307", "/b\u00fcro", "/b\u00fcro/etc", "~/a/k", "%2e", "/%65tc", "/...", "c:"}
	reached := 0
	for range 300_000 {
		var p string
		for range 1 + random.IntN(9) {
			p += pieces[random.IntN(len(pieces))]
		}
		list := []string{"", dirs[random.IntN(len(dirs))], dirs[random.IntN(len(dirs))]}
		want := mayReach(p, list)
		if want {
			reached++
		}
		if !namesOne(p, list) && want {
			t.Fatalf("%q reaches one of %q, and holds no name of them", p, list)
		}
	}
	if reached < 10_000 {
		t.Errorf("only %d of the paths reach a folder", reached)
	}
}

// FuzzPaths: no path is read wrongly enough to stop the process, and a path
// that surely lies somewhere could lie there.
func FuzzPaths(f *testing.F) {
	for _, p := range []string{"", " ", "/workspace/../etc", "%2e%2e%5c", `C:\work`, "file:///etc", "~/.ssh", "\uff0e\uff0e/a", "\x00", "../..", "/proc/1/root/etc"} {
		for _, dir := range []string{"", ".", "/", "/workspace", "~", "~/.ssh", "/a/**/*?"} {
			f.Add(p, dir)
		}
	}
	f.Fuzz(func(t *testing.T, p, dir string) {
		if len(p) > 4096 || len(dir) > maxGlob {
			return
		}
		dirs := []string{"", dir}
		under, reach := pathUnder(p, dirs), pathMayReach(p, dirs)
		if under && !reach && strings.HasPrefix(dir, "/") {
			t.Errorf("%q surely lies in %q, and cannot reach it", p, dir)
		}
		if !plainName(p) && reach != mayReach(p, dirs) {
			t.Errorf("%q and %q: %v at a look for the name, and %v read in full", p, dir, reach, !reach)
		}
		pathGlob(p, dirs)
		plainName(p)
		surelyBelow(p, path.Clean(dir))
		all, _ := readings(p)
		for _, r := range all {
			reaches(r, strings.ToLower(path.Clean(dir)))
			if plainPath(p) && r != all[0] {
				t.Errorf("%q has a second reading %q", p, r)
			}
		}
	})
}

// FuzzHosts: a host has one spelling.
func FuzzHosts(f *testing.F) {
	for _, text := range []string{"", "http://", "https://a@b\\c:80/x", "//[::1]/", "//[", "http://0x7f.1", "http://2852039166", `:\\\x`, "//%2e。a", "//1.2.3.4.5"} {
		for _, entry := range []string{"", "*.", "*.example.com", "10.0.0.0/8", "::/0", "[", "0x7f.1"} {
			f.Add(text, entry)
		}
	}
	f.Fuzz(func(t *testing.T, text, entry string) {
		hosts := hostsOf(text)
		if len(hosts) > maxHosts+2 {
			t.Errorf("%d hosts", len(hosts))
		}
		for _, h := range append(hosts, text) {
			hostIn(h, []string{"", entry})
			hostIn(h, hosts)
		}
		hostOf(text)
		oddIPv4(text)
		normalHost(entry)
	})
}

// FuzzTexts calls the functions of texts, and all functions as conditions do.
func FuzzTexts(f *testing.F) {
	set, err := Load(File{"a.yaml", []byte(rules(`
  - name: all
    tools: shell
    effect: deny
    when: |
      args.a.like(args.b) || args.a.glob(args.b) || args.a.under(args.b) || args.a.may_reach(args.b) || args.a.host_in(args.b)
      || args.a.lower() == args.b || args.a.hosts() == [args.b] || args.a.under([args.b, args.a]) || folded.matches('a+b')
`))})
	if err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{"", "a", "\xff", "\u200b", "\ufdfa", "\uff23\u0301", "İ", "a*b"} {
		for _, shape := range []string{"", "*", "**", "?", "a*?", "/**/", "**/a", "\xff?"} {
			f.Add(text, shape)
		}
	}
	f.Fuzz(func(t *testing.T, text, shape string) {
		if len(text) > maxGlobText || len(shape) > maxGlob {
			return
		}
		if strings.Contains(text, shape) != glob.Match("*"+shape+"*", text) && !isGlob(shape) {
			t.Errorf("*%s* on %q", shape, text)
		}
		matchPath(shape, text)
		canon.Text(text)

		v := set.Evaluate(call("shell", "a", string(rawjson.Quote(text)), "b", string(rawjson.Quote(shape))))
		for _, r := range v.Reasons {
			if r.Code == CodeRuleError {
				t.Errorf("%q and %q: %s", text, shape, r.Message)
			}
		}
	})
}

// TestAdversarialText: a text made to be slow costs little: 100 KB take some 50 ms
// on a quiet machine. What would cost the square of it takes a minute; the bound
// lies between, since machines are not quiet.
func TestAdversarialText(t *testing.T) {
	set, err := Load(Starter()...)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"almost rm":    strings.Repeat("rm -r ", 100<<10/6),
		"almost curl":  strings.Repeat("curl | ", 100<<10/7),
		"slashes":      strings.Repeat("//", 50<<10),
		"dots":         strings.Repeat("../", 100<<10/3),
		"percents":     strings.Repeat("%25", 100<<10/3),
		"letters":      strings.Repeat("a", 100<<10),
		"quotes":       strings.Repeat("`$(", 100<<10/3),
		"hosts":        strings.Repeat("http://a@b\\c ", 100<<10/12),
		"wide letters": strings.Repeat("\uff43", 100<<10/3),
	} {
		in := call("run_shell", "command", `"x"`)
		in.Action.Content[0].Text = text
		set.Evaluate(in) // what is compiled on first use is not counted
		best := linear.Best(time.Second, func() { set.Evaluate(in) })
		if best > time.Second {
			t.Errorf("%s took %v", name, best)
		}
		t.Logf("%s: %v", name, best)
	}
}
