package policy

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reeve.example/reeve/internal/rawjson"
)

// decodeCall reads {"tool": …, "args": {…}}.
func decodeCall(request []byte) (*Input, error) {
	doc, err := rawjson.Parse(request)
	if err != nil {
		return nil, err
	}
	if !doc.Root().Get("tool").Exists() {
		return nil, errors.New("there is no tool")
	}
	var args []string
	for name, v := range doc.Root().Get("args").Members() {
		args = append(args, name, string(v.Raw()))
	}
	return call(doc.Root().Get("tool").Text(), args...), nil
}

func TestCases(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.yaml", rules(`  - {name: large, tools: pay, when: args.n > 1000, effect: escalate}
  - {name: undeclared, check: tool.undeclared, effect: deny}
  - {name: late, when: 'session.steps > 10 && session.tainted', effect: deny, code: late}
  - {name: card, detect: pii.card, effect: modify, modify: redact}
  - {name: never, tools: never, effect: deny}
`))
	write("request.json", `{"tool":"pay","args":{"n":9007199254740993}}`)
	write("a.test.yaml", `
cases:
  - name: small
    request: {tool: pay, args: {n: 10}}
    expect: allow
  - name: large
    request: {tool: pay, args: {n: 12345678901234567890}}
    expect: {effect: escalate, rules: [large], codes: [large]}
  - name: from a file
    request_file: request.json
    expect: {effect: escalate}
  - name: as JSON
    request: '{"tool": "pay", "args": {"n": 1e9}}'
    expect: {effect: escalate}
  - name: a violation
    request: {tool: pay, args: {n: 10}}
    violations: [tool.undeclared]
    expect: {effect: deny, codes: [tool.undeclared]}
  - name: a session
    request: {tool: x}
    session: {steps: 11, calls: 2, tainted: true, autonomous: true, known: true}
    expect: {effect: deny, codes: [late]}
  - name: an edit
    request: {tool: x, args: {t: Reader card 4000 0000 0000 0002 was lost}}
    expect: {effect: modify, edits: {/args/t: Reader card **** was lost}}
  - name: wrong effect
    request: {tool: pay, args: {n: 10}}
    expect: {effect: deny, codes: [large]}
  - name: wrong edit
    request: {tool: x, args: {t: Reader card 4000 0000 0000 0002 was lost}}
    expect: {effect: modify, edits: {/args/t: gone, /args/u: gone}}
  - name: no edits
    request: {tool: x, args: {t: Reader card 4000 0000 0000 0002 was lost}}
    expect: {effect: modify, edits: {}}
  - name: not acceptable
    request: {}
    expect: allow
`)
	set, err := LoadPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	cases, err := LoadCases(dir)
	if err != nil {
		t.Fatal(err)
	}
	if same, err := LoadCases(filepath.Join(dir, "a.yaml")); err != nil || len(same) != len(cases) {
		t.Errorf("cases beside a.yaml: %d, %v", len(same), err)
	}
	report := set.Test(cases, decodeCall)
	got := map[string]string{}
	for _, r := range report.Results {
		if r.Problem != "" {
			got[r.Case.Name] = r.Problem
		}
	}
	want := map[string]string{
		"wrong effect":   "the effect is allow, not deny; no reason has the code large (there are default)",
		"wrong edit":     `/args/t becomes "Reader card **** was lost", not "gone"; /args/u is not changed`,
		"no edits":       `/args/t is changed to "Reader card **** was lost"`,
		"not acceptable": "the request is not acceptable: there is no tool",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if report.Failed() != 4 || report.Rules != 5 || len(report.Unused) != 1 || report.Unused[0].Name != "never" {
		t.Errorf("failed %d, rules %d, unused %v", report.Failed(), report.Rules, report.Unused)
	}
}

func TestCaseFaults(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "a.test.yaml:1:1: the document is empty",
		"rules: []":                              "there is no", // unknown key, and no cases
		"cases: [a]":                             "a.test.yaml:1:9: a case is a mapping, not a text (write each case as - name: …)",
		"- name: a":                              "a.test.yaml:1:3: a case needs exactly one request (add request: with the request, request_file: with a file's name, or one of command, call, mcp, result)",
		"- {name: a, request: {}}":               "a.test.yaml:1:4: the case does not say what it expects (add expect: { effect: … })",
		"- {name: a, request: {}, expect: alow}": `a.test.yaml:1:34: expect: "alow" is not an effect (did you mean allow?)`,
		"- {name: a, request: '{', expect: allow}":                      "a.test.yaml:1:4: the request is not valid JSON: unexpected end of data at byte 1",
		"- {name: a, request_file: ../../etc/passwd, expect: allow}":    `a.test.yaml:1:27: "../../etc/passwd" is not a file in this directory (name a file beside this one)`,
		"- {name: a, request_file: none.json, expect: allow}":           "a.test.yaml:1:27: none.json cannot be read: no such file or directory",
		"- {name: a, request: {}, session: {steps: yes}, expect: deny}": "a.test.yaml:1:43: session.steps is a number",
		"- {command: ls, result: ok, expect: deny}":                     "a.test.yaml:1:4: a case needs exactly one request",
		"- {command: {a: b}, name: a, expect: deny}":                    "a.test.yaml:1:14: command cannot be a mapping",
		"- {mcp: {tool: a, arg: {}}, expect: deny}":                     `a.test.yaml:1:19: mcp has no key "arg" (did you mean args?)`,
		"- {name: a, request: {}, violations: [x], expect: deny}":       `a.test.yaml:1:39: there is no check "x"`,
	} {
		_, err := ParseCases(File{"a.test.yaml", []byte(text)}, ".")
		if err == nil {
			t.Errorf("%q: no error", text)
		} else if want != "there is no" && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
	if _, err := LoadCases(t.TempDir()); err == nil {
		t.Error("a directory without cases gives no error")
	}
}

func TestExplain(t *testing.T) {
	set := load(t, rules(`  - {name: kind, on: message.agent, effect: deny}
  - {name: tool, tools: [y, "z*"], effect: deny}
  - {name: check, check: tool.undeclared, effect: deny}
  - {name: detect, detect: pii.card, effect: deny}
  - {name: condition, tools: x, when: 'args.n > 1000 && user.exists', effect: deny}
  - {name: matched, tools: x, when: 'args.n == 12 && args.key.startsWith("AK") && content.exists(t, t == "no") == false', effect: escalate}
  - {name: failed, tools: x, when: 'args.missing == 1', effect: deny}
  - {name: failed allow, tools: x, when: 'args.missing == 1', effect: allow}
  - {name: watching, effect: deny, mode: observe}
  - {name: same, tools: x, effect: modify, modify: {replace: {argument: n, with: 12}}}
`))
	x := set.Explain(call("x", "n", "12", "key", `"AK`+`IAIOSFODNN7EXAMPLQ"`))
	var got []string
	for _, r := range x.Rules {
		line := r.Rule + ": " + r.Why
		if r.Matched {
			line = "+" + line
		}
		for _, v := range r.Values {
			line += " | " + v.Expression + " = " + v.Value
		}
		got = append(got, line)
	}
	want := []string{
		"kind: it is not for tool.call",
		`tool: "x" is none of its tools (y, z*)`,
		"check: the check passes: tool.undeclared",
		"detect: no detector found anything: pii.card",
		"condition: its condition is false | args.n > 1000 = false | args.n = 12 | user.exists = false",
		`+matched: it matches | args.n == 12 = true | args.n = 12 | args.key.startsWith("AK") = true | args.key = "[AWS access key removed]" | content.exists(t, t == "no") == false = true | content.exists(t, t == "no") = false`,
		`+failed: it could not be evaluated, which counts as a match: the argument "missing" is missing | args.missing == 1 = failed | args.missing = failed`,
		`failed allow: it could not be evaluated: the argument "missing" is missing | args.missing == 1 = failed | args.missing = failed`,
		"+watching: it matches, and only observes",
		`same: the argument "n" has that value already`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if v := set.Evaluate(call("x", "n", "12", "key", `"AK`+`IAIOSFODNN7EXAMPLQ"`)); show(v) != show(x.Verdict) {
		t.Errorf("Explain's verdict is %s, Evaluate's %s", show(x.Verdict), show(v))
	}
	if text := x.String(); !strings.HasPrefix(text, "deny\n  failed (failed) ") || strings.Contains(text, "AKIA") {
		t.Errorf("got %s", text)
	}
}

// TestCaseWithoutPast: a case that says nothing of what the session did is one of a session that
// did nothing, with and without an empty list; what is not known is said.
func TestCaseWithoutPast(t *testing.T) {
	set := mustLoad(t, `
version: 1
default: allow
acts: [{name: mail, tools: ["send_*"]}]
rules: [{name: few, tools: ["send_*"], when: 'did("mail") >= 1', effect: deny}]
`)
	for text, want := range map[string]string{
		"": "allow", "session: {did: []}": "allow", "session: {tainted: true}": "allow", "session: {known: true}": "allow",
		"session: {known: false}": "deny", "session: {did: [mail]}": "deny",
	} {
		cases, err := ParseCases(File{Name: "a.test.yaml", Data: []byte("cases:\n  - name: a\n    call: {tool: send_mail}\n    " + text + "\n    expect: " + want + "\n")}, "")
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if r := set.Test(cases, decodeReal); r.Failed() > 0 {
			t.Errorf("%s: %s", text, r.Results[0].Problem)
		}
	}
}
