package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reeve.example/reeve/internal/session"
	"reeve.example/reeve/internal/yamldoc"
)

func load(t *testing.T, text string) *Set {
	t.Helper()
	set, err := Load(File{"a.yaml", []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// rules makes a document of rules, with default: allow.
func rules(text string) string {
	return "version: 1\ndefault: allow\nlists: { hosts: [\"*.example.com\"] }\nrules:\n" + text
}

func TestLoadFaults(t *testing.T) {
	const head = "version: 1\ndefault: allow\n"
	when := func(condition string) string {
		return head + "rules:\n  - name: a\n    effect: deny\n    when: " + condition + "\n"
	}
	for _, test := range []struct{ name, text, want string }{
		{"empty file", "", `a.yaml:1:1: the document is empty`},
		{"only a comment", "# nothing\n", `a.yaml:1:1: the document is empty`},
		{"a list", "- a\n", `a.yaml:1:1: a policy document is a mapping, not a list (start with version: 1, default: … and rules: …)`},
		{"no rules", head, `the policy has no rules (a policy that lets everything pass must say so with a rule such as {name: allow-everything, effect: allow})`},
		{"no default", "version: 1\nrules: [{name: a, effect: deny}]", `a.yaml:1:1: the document does not say what happens when no rule decides (add default: allow, or default: deny to forbid everything that no rule allows)`},
		{"default modify", "version: 1\ndefault: modify\nrules: [{name: a, effect: deny}]", `a.yaml:2:10: the default cannot be modify (it is one of allow, escalate, deny)`},
		{"misspelt default", "version: 1\ndefault: alow\nrules: [{name: a, effect: deny}]", `a.yaml:2:10: default: "alow" is not an effect (did you mean allow?)`},
		{"no version", "default: allow\nrules: [{name: a, effect: deny}]", `a.yaml:1:1: the document does not say its version (add version: 1)`},
		{"other version", "version: 2\ndefault: allow\nrules: [{name: a, effect: deny}]", `a.yaml:1:10: version "2" is not known (this reeve reads version: 1)`},
		{"unknown key", head + "rule: []\nrules: [{name: a, effect: deny}]", `a.yaml:3:1: a policy document has no key "rule" (did you mean rules?)`},
		{"unknown rule key", head + "rules:\n  - name: a\n    efect: deny\n    effect: deny", `a.yaml:5:5: a rule has no key "efect" (did you mean effect?)`},
		{"duplicate key", head + "rules:\n  - name: a\n    effect: deny\n    effect: allow", `a.yaml:6:5: the key "effect" stands here a second time; the first is on line 5`},
		{"duplicate rule", head + "rules:\n  - {name: a, effect: deny}\n  - {name: a, effect: allow}", `a.yaml:5:6: the rule "a" is also defined in a.yaml:4`},
		{"rule without name", head + "rules: [{effect: deny}]", `a.yaml:3:10: the rule has no name (add name: …)`},
		{"rule called default", head + "rules: [{name: default, effect: deny}]", `a.yaml:3:16: a rule cannot be called default: that is the name of what happens when no rule decides`},
		{"rule without effect", head + "rules: [{name: a}]", `a.yaml:3:10: the rule does not say its effect (add effect: deny, escalate, modify or allow)`},
		{"own code", head + "rules: [{name: a, effect: deny, code: rule_error}]", `a.yaml:3:39: the code rule_error has a meaning of its own (choose another)`},
		{"bad code", head + "rules: [{name: a, effect: deny, code: No Way}]", `a.yaml:3:39: "No Way" cannot be a code (use lower-case words joined by . _ or -)`},
		{"unknown kind", head + "rules: [{name: a, effect: deny, on: tool.cal}]", `a.yaml:3:37: there is no kind of act "tool.cal" (did you mean tool.call?)`},
		{"glob without a kind", head + "rules: [{name: a, effect: deny, on: \"tol.*\"}]", `a.yaml:3:37: there is no kind of act "tol.*" (it is one of ` + strings.Join(kindNames, ", ") + `)`},
		{"empty tools", head + "rules: [{name: a, effect: deny, tools: []}]", `a.yaml:3:40: tools is a text or a list of texts, not a list (leave the key out if it should not matter)`},
		{"unknown list of tools", head + "rules: [{name: a, effect: deny, tools: lists.x}]", `a.yaml:3:40: there is no list "x" (define it under lists:)`},
		{"unknown check", head + "rules: [{name: a, effect: deny, check: tool.undeclard}]", `a.yaml:3:40: there is no check "tool.undeclard" (did you mean tool.undeclared?)`},
		{"unknown detector", head + "rules: [{name: a, effect: deny, detect: [secrets]}]", `a.yaml:3:42: there is no detector "secrets" (did you mean secret?)`},
		{"modify without how", head + "rules: [{name: a, effect: modify}]", `a.yaml:3:27: the rule does not say how it modifies (add modify: redact, drop, mark or {replace: …})`},
		{"modify with deny", head + "rules: [{name: a, effect: deny, modify: drop}]", `a.yaml:3:41: modify: needs effect: modify (set effect: modify)`},
		{"redact without detect", head + "rules: [{name: a, effect: modify, modify: redact}]", `a.yaml:3:43: modify: redact masks what detectors found, and the rule has no detect (add detect: […])`},
		{"replace nothing", head + "rules: [{name: a, tools: x, effect: modify, modify: {replace: {argument: b}}}]", `a.yaml:3:64: replace needs exactly one of with and with_expr (add with: VALUE, or with_expr: a CEL expression)`},
		{"replace unguarded", head + "rules: [{name: a, effect: modify, modify: {replace: {argument: b, with: 1}}}]", `a.yaml:3:64: args.b is replaced without knowing that it exists, in a rule that applies to many tools (add when: has(args.b), or name the tools in full)`},
		{"anchor", head + "rules: [&x {name: a, effect: deny}]", `a.yaml:3:9: anchors and aliases are not supported`},
		{"tag", head + "rules: [{name: !!str a, effect: deny}]", `a.yaml:3:16: tags are not supported`},
		{"two documents", head + "rules: [{name: a, effect: deny}]\n---\nversion: 1\n", `a.yaml:5:8: the file holds more than one YAML document (put each document into a file of its own)`},
		{"deep nesting", head + "rules: " + strings.Repeat("[", 100), `a.yaml:3:39: the nesting is deeper than 32`},
		{"not UTF-8", head + "rules: [{name: \xff, effect: deny}]", `a.yaml:1:1: the document is not valid UTF-8 (save it as UTF-8)`},
		{"hexadecimal", head + "rules: [{name: a, tools: x, effect: modify, modify: {replace: {argument: b, with: 0x10}}}]", `a.yaml:3:83: 0x10 is not a number that JSON knows (write it in decimal, or quote it if it is a text)`},

		{"syntax", when("'args.'"), `a.yaml:6:17: this is not an expression: no viable alternative at input '.'`},
		{"half an expression", when("1 +"), `a.yaml:6:14: the expression is not complete`},
		{"unknown variable", when("agnet.id == 'x'"), `a.yaml:6:11: there is no variable "agnet" (did you mean agent?)`},
		{"unknown field", when("action.tol == 'x'"), `a.yaml:6:17: action has no tol (did you mean tool?)`},
		{"namespace alone", when("user == 'x'"), `a.yaml:6:11: user alone is not a value (it has exists, id, name, email, organization)`},
		{"unknown list", when("agent.id in lists.agents"), `a.yaml:6:28: there is no list "agents" (define it under lists:)`},
		{"a tab", head + "rules:\n\t- {name: a}", `a.yaml:4:1: this is not valid YAML: found character '\t' that cannot start any token (YAML is indented with spaces, never with tabs)`},
		{"a macro called otherwise", when(`approved("mail", "1h")`), `a.yaml:6:19: approved() is not called so (write approved("mail"))`},
		{"unknown function", when("text.startWith('a')"), `a.yaml:6:25: there is no function startWith() (did you mean startsWith?)`},
		{"wrong types", when("agent.id > 3"), `a.yaml:6:20: > cannot be applied to (string, int) (one side is a text and the other a number)`},
		{"not a condition", when("agent.id"), `a.yaml:6:11: the condition is a text, not true or false (compare it with something)`},
		{"a list as condition", when("[a]"), `a.yaml:6:11: a condition is a CEL expression, not a list (quote it)`},
		{"empty condition", when("''"), `a.yaml:6:11: the condition is empty (leave the key out if the rule has no condition)`},
		{"has of a variable", when("has(user.id)"), `a.yaml:6:14: has(user.id) is of no use: it is always there (compare it with an empty text or zero instead)`},
		{"shadowing", when("content.exists(action, action == 'x')"), `a.yaml:6:25: a loop's variable cannot be called action (choose another name)`},
		{"bad pattern", when("text.matches('(')"), "a.yaml:6:24: the pattern `(` cannot be used: a ( is not closed (a ( itself is \\()"},
		{"look-ahead", when(`"text.matches(r'^(?!a)b')"`), "a.yaml:6:25: the pattern `^(?!a)b` cannot be used: RE2 cannot look around, as (?! does (use two patterns, such as x.matches(r'a') && !x.matches(r'b'))"},
		{"look-behind", when(`"text.matches(r'(?<=a)b')"`), "a.yaml:6:25: the pattern `(?<=a)b` cannot be used: RE2 cannot look around, as (?<= does (use two patterns, such as x.matches(r'a') && !x.matches(r'b'))"},
		{"back reference", head + "rules:\n  - name: a\n    effect: deny\n    when: |\n      user.exists ||\n      text.matches(r'(a)\\1')\n", "a.yaml:8:20: the pattern `(a)\\1` cannot be used: RE2 cannot refer back to a group, as `\\1` does (write the text out once more)"},
		{"possessive", when("text.matches('a++')"), "a.yaml:6:24: the pattern `a++` cannot be used: RE2 does not know the repetition `++` (there are no possessive repetitions, and none are needed: time grows with the text's length only)"},
		{"large repetition", when("text.matches('a{2000}')"), "a.yaml:6:24: the pattern `a{2000}` cannot be used: the repetition `{2000}` is too large (at most 1000, also of repetitions within each other)"},
		{"atomic group", when("text.matches('(?>a)')"), "a.yaml:6:24: the pattern `(?>a)` cannot be used: RE2 does not know `(?>` (groups are (…), (?:…) and (?P<name>…), and flags (?i), (?m) and (?s))"},
		{"computed pattern", when("text.matches(agent.id)"), `a.yaml:6:29: a pattern must be written out, so that it can be checked and compiled at load (write it in quotes: matches("…"))`},
		{"found of a variable", when("found(agent.id)"), `a.yaml:6:22: found() takes the name of a detector in quotes`},
		{"found of nothing", when("found('secrets')"), `a.yaml:6:16: there is no detector "secrets" (did you mean secret?)`},
		{"violates nothing", when("violates('call.lop')"), `a.yaml:6:20: there is no check "call.lop" (did you mean call.loop?)`},
		{"too costly", when("content.exists(a, content.exists(b, a == b))"), `a.yaml:6:11: the condition could take too long: its cost is up to 106006002, and the limit is 50000000 (search less text, nest fewer loops, or shorten the patterns)`},
		{"huge pattern", when("text.matches('((a{100}){100}){100}')"), "a.yaml:6:24: the pattern `((a{100}){100}){100}` cannot be used: the repetition `{100}` is too large (at most 1000, also of repetitions within each other)"},
		{"long pattern", when("text.matches('" + strings.Repeat("a{999}", 11) + "')"), "a.yaml:6:24: the pattern `" + strings.Repeat("a{999}", 11) + "` cannot be used: it takes 10991 instructions, and the limit is 3000 (repeat less, as x{1000} counts a thousand times, or split it: x.matches(r'a') || x.matches(r'b'))"},
		{"broad pattern", when("text.matches('(x?){500}(x+x+)+y')"), "a.yaml:6:24: the pattern `(x?){500}(x+x+)+y` cannot be used: one character can set 2008 of its instructions to work, and the limit is 200 (repeat less, as x{1000} counts a thousand times, or split it: x.matches(r'a') || x.matches(r'b'))"},
		{"object", when("Foo{a: 1} == 1"), `a.yaml:6:11: this is not valid YAML: mapping value is not allowed in this context (a text that contains ": " must be quoted)`},

		{"unguarded", when("args.x == 1"), `a.yaml:6:15: args.x is read without knowing that it exists, in a rule that applies to many tools (write has(args.x) && …, or name the tools in full)`},
		{"unguarded index", when("args['a b'] == 1"), `a.yaml:6:15: args["a b"] is read without knowing that it exists, in a rule that applies to many tools (write "a b" in args && …, or name the tools in full)`},
		{"guarded by or", when("has(args.x) || args.x == 1"), `a.yaml:6:30: args.x is read without knowing that it exists, in a rule that applies to many tools (write has(args.x) && …, or name the tools in full)`},
		{"guarded on one side", when("(has(args.x) || user.exists) && args.x == 1"), `a.yaml:6:47: args.x is read without knowing that it exists, in a rule that applies to many tools (write has(args.x) && …, or name the tools in full)`},
		{"inner unguarded", when("has(args.x) && args.x.y == 1"), `a.yaml:6:32: args.x.y is read without knowing that it exists, in a rule that applies to many tools (write has(args.x.y) && …, or name the tools in full)`},
		{"unguarded in has", when("has(args.x.y)"), `a.yaml:6:19: args.x is read without knowing that it exists, in a rule that applies to many tools (write has(args.x) && …, or name the tools in full)`},
		{"other loop's key", when("args.exists(k, content.exists(k, args[k] == k))"), `a.yaml:6:48: args[k] is read without knowing that it exists, in a rule that applies to many tools (write k in args && …, or name the tools in full)`},
		{"with a glob", head + "rules: [{name: a, tools: 'x*', effect: deny, when: args.x == 1}]", `a.yaml:3:56: args.x is read without knowing that it exists, in a rule that applies to many tools (write has(args.x) && …, or name the tools in full)`},
	} {
		t.Run(test.name, func(t *testing.T) {
			set, err := Load(File{"a.yaml", []byte(test.text)})
			if err == nil {
				t.Fatalf("no error; the set has %d rules", len(set.rules))
			}
			if diff := cmp.Diff(test.want, err.Error()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestLoadAccepts(t *testing.T) {
	for _, condition := range []string{
		"has(args.x) && args.x == 1",
		"args.x == 1 && has(args.x)",
		"!has(args.x) || args.x == 1",
		"has(args.x) ? args.x == 1 : false",
		"!(!has(args.x) || args.x != 1)",
		"has(args.x) && has(args.x.y) && args.x.y == 1",
		"'x y' in args && args['x y'] == 1",
		"args.exists(k, args[k] == 'a')",
		"args.exists(k, v, v == 'a')",
		"args.?x.orValue('') == 'a'",
		"has(args.x) && args.x[0] == 'a'",
		"has(args.x) && type(args.x) == string && args.x.startsWith('a')",
		"agent.id in lists.hosts",
		"action.principal.name == 'key:a'",
		"session.age > duration('1h') && action.time.getHours('UTC') < 6",
		"folded.hosts().all(h, h.host_in(lists.hosts))",
	} {
		if _, err := Load(File{"a.yaml", []byte(rules(fmt.Sprintf("  - {name: a, effect: deny, when: %q}\n", condition)))}); err != nil {
			t.Errorf("%s\n%v", condition, err)
		}
	}
	load(t, rules("  - {name: a, tools: [x, 'Y '], effect: deny, when: args.x == 1 && args.y.z == 2}\n"))
	load(t, rules("  - {name: a, effect: modify, when: has(args.p), modify: {replace: {argument: p, with_expr: '\"/ws/\" + args.p'}}}\n"))
	load(t, "\ufeff"+rules("  - {name: a, effect: deny}\n"))
}

// TestPlaces holds where a fault inside an expression is reported.
func TestPlaces(t *testing.T) {
	for _, test := range []struct{ name, when, place string }{
		{"plain", " when: true && nope", "8:19"},
		{"double quotes", ` when: "true && \"a\" == nope"`, "8:29"},
		{"single quotes", ` when: 'true && ''a'' == nope'`, "8:29"},
		{"literal", " when: |\n        true\n        && nope", "10:12"},
		{"literal after a blank line", " when: |\n\n        true && nope", "10:17"},
		{"folded", " when: >\n        true\n        && nope", "8:11"},
		{"after other characters", " when: '\"é\" == \"\" && nope'", "8:25"},
	} {
		_, err := Load(File{"a.yaml", []byte("version: 1\ndefault: allow\nrules:\n  - name: b\n    effect: allow\n  - name: a\n    effect: deny\n   " + test.when + "\n")})
		want := "a.yaml:" + test.place + `: there is no variable "nope"`
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", test.name, err, want)
		}
	}
}

// TestAllFaults: a load reports everything, not the first.
func TestAllFaults(t *testing.T) {
	_, err := Load(
		File{"b.yaml", []byte("version: 1\ndefault: deny\nrules:\n  - {name: x, effect: dny}\n  - {name: y, effect: deny, when: nope}\n")},
		File{"a.yaml", []byte("version: 3\nrules:\n  - {nam: x, effect: deny}\n")},
	)
	list, ok := err.(ErrorList)
	if !ok {
		t.Fatalf("got %T", err)
	}
	var got []string
	for _, e := range list {
		got = append(got, fmt.Sprintf("%s:%d", e.File, e.Line))
	}
	want := []string{"a.yaml:1", "a.yaml:1", "a.yaml:3", "a.yaml:3", "b.yaml:4", "b.yaml:5"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s\n%v", diff, err)
	}
}

func TestSeveralDocuments(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := LoadPath(dir); err == nil || !strings.Contains(err.Error(), "there is no policy file") {
		t.Errorf("empty directory: %v", err)
	}
	if _, err := LoadPath(filepath.Join(dir, "none.yaml")); err == nil {
		t.Error("a missing file loads")
	}
	write("lists.yaml", "version: 1\ndefault: deny\nlists: { tools: [shell] }\n")
	if _, err := LoadPath(dir); err == nil || !strings.Contains(err.Error(), "the policy has no rules") {
		t.Errorf("only lists: %v", err)
	}
	write("rules.yml", "version: 1\ndefault: deny\nrules: [{name: a, tools: lists.tools, effect: allow, when: 'action.tool in lists.tools'}]\n")
	write("rules.test.yaml", "cases: nonsense\n")
	write("notes.txt", "nonsense")
	set, err := LoadPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Rules()) != 1 || set.Default().String() != "deny" {
		t.Errorf("got %d rules, default %s", len(set.Rules()), set.Default())
	}
	again, err := Parse(set.Text())
	if err != nil || again.Hash() != set.Hash() {
		t.Errorf("Parse(Text()): %v, hash %v, want %v", err, again.Hash(), set.Hash())
	}
	other := t.TempDir()
	if err := os.CopyFS(other, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if same, err := LoadPath(other); err != nil || same.Hash() != set.Hash() {
		t.Errorf("the same files elsewhere have another hash: %v", err)
	}
	write("more.yaml", "version: 1\ndefault: allow\nrules: [{name: b, effect: allow}]\n")
	if _, err := LoadPath(dir); err == nil || !strings.Contains(err.Error(), "more.yaml:1:1: default: allow here, and deny in") {
		t.Errorf("defaults that disagree: %v", err)
	}
	write("more.yaml", "version: 1\ndefault: deny\nlists: { tools: [x] }\nrules: [{name: a, effect: allow}]\n")
	_, err = LoadPath(dir)
	for _, want := range []string{`the list "tools" is also defined in`, `the rule "a" is also defined in`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := Load(File{"x/a.yaml", []byte("a")}, File{"y/a.yaml", []byte("b")}); err == nil || !strings.Contains(err.Error(), "same name") {
		t.Errorf("two files of one name: %v", err)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"", "{}", `{"reeve_policy":2,"files":[]}`, `{"reeve_policy":1,"files":[]}`, `{"reeve_policy":1,"files":[{"name":"a","text":5}]}`} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("Parse(%q) gives no error", text)
		}
	}
}

// TestBounded: documents made to be slow are refused or read in a moment.
func TestBounded(t *testing.T) {
	for name, text := range map[string]string{
		"large":        strings.Repeat("#", yamldoc.MaxBytes+1),
		"many keys":    strings.Repeat("a%d: b\n", 1) + keys(50_000),
		"many dashes":  strings.Repeat("- ", 200_000),
		"many flows":   strings.Repeat("[", 200_000),
		"anchors":      strings.Repeat("&a ", 200_000),
		"many rules":   rules(strings.Repeat("  - {}\n", 100_000)),
		"long quote":   "a: \"" + strings.Repeat("x", 1<<20),
		"nested calls": rules("  - {name: a, effect: deny, when: '" + strings.Repeat("size([", 2000) + "'}\n"),
		"nested ors":   rules("  - {name: a, effect: deny, when: '" + strings.Repeat("user.exists || ", 4000) + "true'}\n"),
	} {
		start := time.Now()
		if _, err := Load(File{"a.yaml", []byte(text)}); err == nil {
			t.Errorf("%s: no error", name)
		}
		if d := time.Since(start); d > 30*time.Second { // far beyond a moment: the machine may be busy
			t.Errorf("%s took %v", name, d)
		}
	}
}

func keys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%d: v\n", i)
	}
	return b.String()
}

// TestEveryCheckHasAWeight keeps checkWeights in step with the checks.
func TestEveryCheckHasAWeight(t *testing.T) {
	for name := range checkWeights {
		found := false
		for _, c := range session.Checks {
			found = found || c.Name == name
		}
		if !found {
			t.Errorf("checkWeights names %q, which is no check", name)
		}
	}
}
