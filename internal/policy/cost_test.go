package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
)

func breadthOf(t *testing.T, pattern string) int {
	t.Helper()
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		t.Fatal(err)
	}
	return breadth(program)
}

// TestThreat12PatternCost: what a pattern can cost is counted when it is loaded,
// by what it does and not by how long it is to read.
func TestThreat12PatternCost(t *testing.T) {
	for _, pattern := range []string{
		`(x?){500}(x+x+)+y`, `(x?){60}y`, `((x?){10}){10}`, `(x*){120}$`, `x{1,300}y`, `(?i)(k?){100}`, `(?:[a-z]?){100}z`,
		`(.?\n?){70}`, `((a|b|c)?){60}`, `(\w{1,20}\.){10}x`, `(\pL?){150}`, `(?s)a.{0,300}b`, `([\n-\x0d]?.?){60}`,
	} {
		when := fmt.Sprintf("folded.matches(r'%s')", pattern)
		_, err := Load(File{"a.yaml", []byte("version: 1\ndefault: allow\nrules:\n  - {name: a, effect: deny, when: \"" + strings.ReplaceAll(when, `\`, `\\`) + "\"}\n")})
		if err == nil || !strings.Contains(err.Error(), "a.yaml:4:") || !strings.Contains(err.Error(), "one character can set") {
			t.Errorf("%s (%d): %v", pattern, breadthOf(t, pattern), err)
		}
	}
	for _, pattern := range []string{
		`\b(alpha|beta|gamma|delta|epsilon|zeta|eta|theta|iota|kappa|lambda|mu)\b`, `[0-9a-f]{64}`, `(?i)ignore (all )?(the )?previous`,
		strings.Repeat("a long text of which little is at work at once ", 10), `\d{3}-\d{2}-\d{4}`, `^.*$`, `(\pL|\pN)+@\w+`, `x{1,90}y`,
	} {
		if n := breadthOf(t, pattern); n > maxBreadth {
			t.Errorf("%s: %d", pattern, n)
		}
	}
}

// TestThreat12PolicyCost: conditions that are within their own bounds are counted
// together, where one act can meet all of them.
func TestThreat12PolicyCost(t *testing.T) {
	rules := func(n int, tools func(int) string) error {
		var b strings.Builder
		b.WriteString("version: 1\ndefault: allow\nrules:\n")
		for i := range n {
			fmt.Fprintf(&b, "  - {name: r%d, %seffect: deny, when: \"folded.matches('(x?){20}y%d')\"}\n", i, tools(i), i)
		}
		_, err := Load(File{"a.yaml", []byte(b.String())})
		return err
	}
	any := func(int) string { return "" }
	for name, test := range map[string]struct {
		n     int
		tools func(int) string
		ok    bool
	}{
		"for every act":      {200, any, false},
		"by one name":        {200, func(int) string { return "tools: shell, " }, false},
		"by one glob":        {200, func(int) string { return "tools: '*shell*', " }, false},
		"by nested globs":    {200, func(i int) string { return fmt.Sprintf("tools: '%s*', ", strings.Repeat("a", i%100)) }, false},
		"by names and globs": {200, func(i int) string { return []string{"tools: shell, ", "tools: 'sh*', ", ""}[i%3] }, false},
		"for other kinds": {200, func(i int) string {
			return fmt.Sprintf("on: [message.user, %s], ", []string{"tool.call", "trigger"}[i%2])
		}, false},
		"by other names":    {200, func(i int) string { return fmt.Sprintf("tools: [t%d, u%d.run], ", i, i) }, true},
		"by other globs":    {200, func(i int) string { return fmt.Sprintf("tools: 't%d.*', ", i) }, true},
		"few for every act": {50, any, true},
	} {
		err := rules(test.n, test.tools)
		if test.ok != (err == nil) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && !(regexp.MustCompile(`^a.yaml:\d+:6: `).MatchString(err.Error()) && strings.Contains(err.Error(), "together") && strings.Contains(err.Error(), "name the tools")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestThreat12Shipped: the policies that reeve ships are well within the bounds.
func TestThreat12Shipped(t *testing.T) {
	starter, err := Load(Starter()...)
	if err != nil {
		t.Fatal(err)
	}
	sets := map[string]*Set{"starter": starter}
	for _, pattern := range []string{"../../demo/policy*.yaml", "../../examples/*/policy*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, files, err)
		}
		for _, name := range files {
			if info, err := os.Stat(name); err != nil || info.IsDir() || isTestFile(name) {
				continue
			}
			if strings.Contains(name, "/demo/") {
				sets[name], err = loadOnStrict(name) // as the demonstration does
			} else {
				sets[name], err = LoadPath(name)
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				delete(sets, name)
			}
		}
	}
	for name, set := range sets {
		var sum uint64
		for _, r := range set.rules {
			if r.when != nil {
				sum += r.when.cost
			}
		}
		t.Logf("%s: %d", name, sum)
		if sum > maxCostAtOnce/4 {
			t.Errorf("%s: all conditions together cost %d", name, sum)
		}
	}
}

// loadOnStrict reads a policy that adds to the starter's strict profile.
func loadOnStrict(name string) (*Set, error) {
	files, err := StarterOf("strict")
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return Load(append(files, File{Name: name, Data: data})...)
}
