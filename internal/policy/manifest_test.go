package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reeve.example/reeve/act"
)

func TestManifest(t *testing.T) {
	set, err := Load(
		File{"a.yaml", []byte(`
version: 1
default: allow
manifests:
  "*": {timeout_seconds: 10}
  "run_*": {max_memory_mb: 512, max_cpu_percent: 200, network_allowed: true, allowed_domains: [example.com, "*.example.org"],
    blocked_domains: [10.0.0.0/8], filesystem_scope: [/workspace/**], filesystem_read: [/usr], blocked_patterns: ["rm -rf"], advisory: [max_cpu_percent]}
rules: [{name: a, effect: deny}]
`)},
		File{"b.yaml", []byte("version: 1\ndefault: allow\nmanifests:\n  \" RUN  it \": {timeout_seconds: 20}\n  \"run_shell\": {timeout_seconds: 30}\n  \"run_s*\": {timeout_seconds: 40}\n")},
	)
	if err != nil {
		t.Fatal(err)
	}
	run := act.Manifest{
		MaxMemoryMB: 512, MaxCPUPercent: 200, TimeoutSeconds: 30, NetworkAllowed: true,
		AllowedDomains: []string{"example.com", "*.example.org"}, BlockedDomains: []string{"10.0.0.0/8"},
		FilesystemScope: []string{"/workspace/**"}, FilesystemRead: []string{"/usr"}, BlockedPatterns: []string{"rm -rf"},
		Advisory: []string{"max_cpu_percent"},
	}
	for tool, want := range map[string]act.Manifest{
		"read":      {MaxMemoryMB: 256, MaxCPUPercent: 100, TimeoutSeconds: 10},
		"run_x":     run,
		"run it":    {MaxMemoryMB: 256, MaxCPUPercent: 100, TimeoutSeconds: 20},
		"run_shell": {MaxMemoryMB: 256, MaxCPUPercent: 100, TimeoutSeconds: 30},
		"run_sed":   {MaxMemoryMB: 256, MaxCPUPercent: 100, TimeoutSeconds: 40},
		"*":         {MaxMemoryMB: 256, MaxCPUPercent: 100, TimeoutSeconds: 10},
		"run_*":     run,
	} {
		got, said := set.Manifest(tool)
		if diff := cmp.Diff(want, got); diff != "" || !said {
			t.Errorf("%s: said = %v (-want +got)\n%s", tool, said, diff)
		}
	}

	again, err := Parse(set.Text())
	if err != nil {
		t.Fatal(err)
	}
	if m, said := again.Manifest("run_x"); !said || !cmp.Equal(m, run) {
		t.Errorf("after Parse(Text()): %+v", m)
	}
	got, said := load(t, rules("  - {name: a, effect: deny}\n")).Manifest("x")
	if diff := cmp.Diff(act.Manifest{MaxMemoryMB: 256, MaxCPUPercent: 100, TimeoutSeconds: 30}, got); diff != "" || said {
		t.Errorf("said = %v (-want +got)\n%s", said, diff)
	}
}

func TestManifestFaults(t *testing.T) {
	for _, test := range []struct{ manifests, want string }{
		{"[a]", `manifests is a mapping of tools' names to manifests, not a list (write manifests: { "*": {timeout_seconds: 30} })`},
		{`{" ": {}}`, `" " names no tool ("*" stands for every tool)`},
		{`{a: 5}`, `a manifest is a mapping, not a number (write {timeout_seconds: 30, …})`},
		{`{a: {timeout: 5}}`, `a manifest has no key "timeout" (it is one of max_memory_mb, max_cpu_percent, timeout_seconds, network_allowed, filesystem_scope, filesystem_read, max_write_mb, max_write_files, allowed_domains, blocked_domains, blocked_patterns, advisory)`},
		{`{a: {timeout_seconds: 0}}`, `timeout_seconds is a whole number from 1 to 2592000 (to forbid a tool, write a rule with effect: deny)`},
		{`{a: {max_memory_mb: 1e3}}`, `max_memory_mb is a whole number from 1 to 1048576 (to forbid a tool, write a rule with effect: deny)`},
		{`{a: {max_cpu_percent: "50"}}`, `max_cpu_percent is a whole number from 1 to 100000 (to forbid a tool, write a rule with effect: deny)`},
		{`{a: {network_allowed: "true"}}`, `network_allowed is true or false, not a text (write true or false)`},
		{`{a: {filesystem_scope: /tmp}}`, `filesystem_scope is a list of texts, not a text (write ["…"])`},
		{`{a: {filesystem_scope: [tmp/x]}}`, `filesystem_scope: "tmp/x" is not an absolute path (write it in full, such as /workspace/**)`},
		{`{a: {filesystem_read: [/tmp/../etc]}}`, `filesystem_read: "/tmp/../etc" climbs with .. (write the path that is meant)`},
		{`{a: {network_allowed: true, allowed_domains: ["https://example.com/"]}}`, `allowed_domains: "https://example.com/" is not a host's name (write the name alone, such as example.com or *.example.com)`},
		{`{a: {allowed_domains: [example.com]}}`, `domains are allowed, and the network is not (add network_allowed: true)`},
		{`{a: {blocked_patterns: [" "]}}`, `blocked_patterns: " " is empty (every argument would hold it)`},
		{`{a: {blocked_patterns: [5]}}`, `blocked_patterns is a list of texts; this is a number (quote it)`},
		{`{a: {advisory: [max_cpu_percnt]}}`, `advisory: "max_cpu_percnt" is no limit of a manifest (did you mean max_cpu_percent?)`},
		{`{a: {}, "A ": {}}`, `the manifest of "a" is also given in a.yaml:3`},
	} {
		_, err := Load(File{"a.yaml", []byte("version: 1\ndefault: allow\nmanifests: " + test.manifests + "\nrules: [{name: a, effect: deny}]\n")})
		if err == nil {
			t.Errorf("%s: no error", test.manifests)
			continue
		}
		_, got, _ := strings.Cut(err.Error(), "a.yaml:3:")
		if _, got, _ = strings.Cut(got, ": "); got != test.want {
			t.Errorf("%s\n got %s\nwant %s", test.manifests, err, test.want)
		}
	}
}

func TestConditions(t *testing.T) {
	set := load(t, `version: 1
default: allow
rules:
  - {name: a, tools: ["x*"], effect: allow, conditions: [Tell the user., Write a note.]}
  - {name: m, detect: pii.card, effect: modify, modify: redact, conditions: [Tell the user., Keep no copy.]}
  - {name: o, effect: allow, conditions: [Nothing.], mode: observe}
  - {name: d, tools: xd, effect: deny}
  - {name: e, tools: xe, effect: escalate}
`)
	card := `"` + cardText + `"`
	for _, test := range []struct {
		name string
		in   *Input
		want []string
	}{
		{"none", call("y"), nil},
		{"of an allow rule", call("x"), []string{"Tell the user.", "Write a note."}},
		{"of a modify rule", call("y", "a", card), []string{"Tell the user.", "Keep no copy."}},
		{"each once", call("x", "a", card), []string{"Tell the user.", "Write a note.", "Keep no copy."}},
		{"not of what is denied", call("xd"), nil},
		{"of what a person is asked", call("xe"), []string{"Tell the user.", "Write a note."}},
	} {
		if diff := cmp.Diff(test.want, set.Evaluate(test.in).Conditions); diff != "" {
			t.Errorf("%s (-want +got)\n%s", test.name, diff)
		}
	}
	if got := set.Explain(call("x")).String(); !strings.Contains(got, "  on condition: Write a note.\n") {
		t.Errorf("the explanation does not tell the conditions:\n%s", got)
	}
	for rule, want := range map[string]string{
		"effect: deny, conditions: [No.]":                                    `a.yaml:3:45: conditions need effect: allow or modify (use reason: to say why)`,
		"effect: allow, conditions: []":                                      `a.yaml:3:46: conditions is a text or a list of texts, not a list (leave the key out if it should not matter)`,
		"effect: allow, conditions: [' ']":                                   `a.yaml:3:47: a condition is empty`,
		"effect: allow, conditions: [" + strings.Repeat("a, ", 20) + "last]": `a.yaml:3:46: a rule has at most 20 conditions`,
	} {
		_, err := Load(File{"a.yaml", []byte("version: 1\ndefault: allow\nrules: [{name: a, " + rule + "}]\n")})
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", rule, err, want)
		}
	}
}

func TestGrants(t *testing.T) {
	for _, tt := range []struct {
		rules string
		want  map[string]bool
	}{
		{"default: allow\nrules: [{name: a, tools: [wipe, 'drop_*'], effect: deny}, {name: b, tools: [send], when: 'has(args.to)', effect: deny}, {name: c, tools: [look], effect: deny, mode: observe}, {name: d, on: message.user, effect: deny}]",
			map[string]bool{"wipe": false, "drop_all": false, "send": true, "look": true, "read": true}},
		{"default: deny\nrules: [{name: a, tools: [read], effect: allow}, {name: b, tools: [pay], effect: escalate}, {name: c, tools: [mask], effect: modify, detect: [secret], modify: redact}]",
			map[string]bool{"read": true, "pay": true, "mask": false, "other": false}},
	} {
		set, err := Load(File{Name: "p.yaml", Data: []byte("version: 1\n" + tt.rules + "\n")})
		if err != nil {
			t.Fatal(err)
		}
		for tool, want := range tt.want {
			if got := set.Grants(tool); got != want {
				t.Errorf("%s: %v, want %v", tool, got, want)
			}
		}
	}
}
