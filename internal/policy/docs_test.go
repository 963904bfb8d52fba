package policy

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"reeve.example/reeve/act"
)

func readDocs(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDocsExamples: every example in docs/policy.md loads.
func TestDocsExamples(t *testing.T) {
	n := 0
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(readDocs(t), -1) {
		n++
		var err error
		switch text := block[1]; {
		case strings.HasPrefix(text, "cases:"):
			_, err = ParseCases(File{"docs.test.yaml", []byte(text)}, ".")
		case strings.Contains(text, "\nprograms:"):
			_, err = Load(File{"docs.yaml", []byte("version: 1\ndefault: allow\nrules: [{name: r, effect: allow}]")}, File{"programs.yaml", []byte(text)})
		case strings.HasPrefix(strings.TrimLeft(text, " "), "- name:"):
			_, err = Load(File{"docs.yaml", []byte("version: 1\ndefault: allow\nrules:\n" + text)})
		default:
			_, err = Load(File{"docs.yaml", []byte(text)})
		}
		if err != nil {
			t.Errorf("%v\n%s", err, block[1])
		}
	}
	for _, block := range regexp.MustCompile("(?s)```toml\n(.*?)```").FindAllStringSubmatch(readDocs(t), -1) {
		n++
		if _, err := Load(File{"docs.toml", []byte(block[1])}); err != nil {
			t.Errorf("%v\n%s", err, block[1])
		}
	}
	if n < 8 {
		t.Errorf("only %d examples", n)
	}
}

// TestDocsNameEverything: what a policy can use stands in docs/policy.md.
func TestDocsNameEverything(t *testing.T) {
	docs := readDocs(t)
	named := func(what, name string) {
		if !strings.Contains(docs, "`"+name+"`") {
			t.Errorf("docs/policy.md does not name the %s %s", what, name)
		}
	}
	for _, v := range variables {
		named("variable", v.name)
	}
	for _, c := range checkNames {
		named("check", c)
	}
	for _, d := range detectorNames {
		named("detector", d)
	}
	for _, k := range act.Kinds {
		named("kind", string(k))
	}
	for _, k := range append(append([]string{}, documentKeys...), ruleKeys...) {
		named("key", k)
	}
	for _, k := range manifestKeys {
		named("key of a manifest", k)
	}
	for _, c := range []string{"constitution.network", "constitution.filesystem", "constitution.command"} {
		named("code", c)
	}
	for _, c := range []string{CodeDefault, CodeRuleError, CodeModifyConflict, CodeModifyImpossible} {
		named("code", c)
	}
	for overload := range functionCosts {
		name := strings.TrimPrefix(strings.TrimPrefix(overload, "string_"), "dyn_")
		if !strings.Contains(docs, "."+name+"(") {
			t.Errorf("docs/policy.md does not name the function %s", name)
		}
	}
}
