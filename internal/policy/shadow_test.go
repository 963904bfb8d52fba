package policy

import (
	"strings"
	"testing"

	"reeve.example/reeve/act"
)

const liveDocument = "version: 1\ndefault: allow\nrules: [{name: no-wipe, tools: [wipe], effect: deny}]\n"

// Documents with mode: shadow are a policy of their own beside the one that rules, come
// back from its text, and change its hash.
func TestShadow(t *testing.T) {
	plain, err := Load(File{"live.yaml", []byte(liveDocument)})
	if err != nil {
		t.Fatal(err)
	}
	both, err := Load(
		File{"live.yaml", []byte(liveDocument)},
		File{"next.yaml", []byte("version: 1\nmode: shadow\ndefault: allow\nlists: {x: [a]}\nrules: [{name: no-wipe, tools: [wipe], effect: allow}, {name: r, when: agent.id in lists.x, effect: allow}]\n")},
		File{"starter-next.yaml", []byte("version: 1\nmode: shadow\ninclude: starter\n")},
	)
	if err != nil {
		t.Fatal(err)
	}
	wipe := &Input{Action: &act.Action{Kind: act.ToolCall, Canonical: "wipe"}}
	for name, s := range map[string]*Set{"loaded": both, "parsed": parsed(t, both)} {
		if s.Shadow() == nil || len(s.Rules()) != 1 || len(s.Shadow().Rules()) < 10 || s.Shadow().Shadow() != nil {
			t.Fatalf("%s: %d rules, a candidate: %v", name, len(s.Rules()), s.Shadow() != nil)
		}
		if s.Evaluate(wipe).Effect != act.Deny || s.Hash() != both.Hash() || s.Hash() == plain.Hash() || s.Shadow().Hash() != both.Shadow().Hash() {
			t.Errorf("%s: the policy that rules is another one", name)
		}
		if notes := strings.Join(s.Notes(wipe.Action.At), " "); !strings.Contains(notes, "a candidate of") {
			t.Errorf("%s: it is not said: %s", name, notes)
		}
	}
	if plain.Shadow() != nil || parsed(t, plain).Hash() != plain.Hash() {
		t.Error("a policy without a candidate is another one")
	}
}

func parsed(t *testing.T, s *Set) *Set {
	t.Helper()
	again, err := Parse(s.Text())
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// What is wrong with a candidate keeps the policy from being taken, and is said with its
// place; a rule has no such mode, and a policy that only shadows is none.
func TestShadowFaults(t *testing.T) {
	for want, files := range map[string][]File{
		"next.yaml:4":                  {{"live.yaml", []byte(liveDocument)}, {"next.yaml", []byte("version: 1\nmode: shadow\ndefault: allow\nrules: [{name: r, effect: nonsense}]\n")}},
		"every document has mode":      {{"next.yaml", []byte("version: 1\nmode: shadow\ndefault: allow\nrules: [{name: r, effect: deny}]\n")}},
		`mode: "shadow" is not a mode`: {{"live.yaml", []byte("version: 1\ndefault: allow\nrules: [{name: r, mode: shadow, effect: deny}]\n")}},
		"the policy has no rules":      {{"live.yaml", []byte(liveDocument)}, {"next.yaml", []byte("version: 1\nmode: shadow\ndefault: allow\n")}},
	} {
		if _, err := Load(files...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
}

// A candidate that asks where values came from has them followed, whatever the policy that
// rules asks for.
func TestShadowFollows(t *testing.T) {
	s, err := Load(File{"live.yaml", []byte(liveDocument)}, File{"next.yaml", []byte("version: 1\nmode: shadow\ndefault: allow\nrules: [{name: r, when: session.foreign, effect: deny}]\n")})
	if err != nil {
		t.Fatal(err)
	}
	if plain, _ := Load(File{"live.yaml", []byte(liveDocument)}); !s.Follows() || !parsed(t, s).Follows() || plain.Follows() {
		t.Error("values are not followed for the candidate")
	}
}
