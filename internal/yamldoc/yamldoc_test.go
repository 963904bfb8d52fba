package yamldoc

import (
	"fmt"
	"strings"
	"testing"

	"reeve.example/reeve/internal/rawjson"
)

// told reads a source and returns it as JSON, and what is wrong with it.
func told(source string) (value string, faults []string) {
	n := Read(source, func(f Fault) { faults = append(faults, fmt.Sprintf("%d:%d: %s", f.Line, f.Column, f.Message)) })
	if n != nil {
		value = string(n.AppendJSON(nil))
	}
	return value, faults
}

func TestRead(t *testing.T) {
	for source, want := range map[string]string{
		"a: 1":                                `{"a":1}`,
		"a: {b: [x, true, ~, 1.50, '1', -0]}": `{"a":{"b":["x",true,null,1.50,"1",-0]}}`,
		"a:\nb: |\n  two\n  lines\n":          `{"a":null,"b":"two\nlines\n"}`,
		"- a\n-\n- {}\n":                      `["a",null,{}]`,
		"n: 123456789012345678901234567890":   `{"n":123456789012345678901234567890}`,
		"yes: no\non: off":                    `{"yes":"no","on":"off"}`,
	} {
		if got, faults := told(source); got != want || faults != nil {
			t.Errorf("%q is read as %s, want %s; %q", source, got, want, faults)
		}
	}
}

func TestFaults(t *testing.T) {
	for source, want := range map[string]string{
		"":                                  "1:1: the document is empty",
		"# nothing":                         "1:1: the document is empty",
		"\xff":                              "1:1: the document is not valid UTF-8",
		"a: 1\nb: \x01":                     "2:4: the document contains a control character",
		"a: 1\na: 2":                        `2:1: the key "a" stands here a second time; the first is on line 1`,
		"a: &x 1":                           "1:4: anchors and aliases are not supported",
		"a: !!binary x":                     "1:4: tags are not supported",
		"? a\n: b":                          "1:1: complex keys are not supported",
		"%YAML 1.2\n---\na: 1":              "1:1: directives are not supported",
		"a: 0x1F":                           "1:4: 0x1F is not a number that JSON knows",
		"a: .inf":                           "1:4: .inf is not a number that JSON knows",
		"a: 1\n---\nb: 2":                   "3:2: the file holds more than one YAML document",
		strings.Repeat("[", 100):            "1:33: the nesting is deeper than 32",
		strings.Repeat("- ", 100) + "x":     "1:65: the nesting is deeper than 32",
		keys(maxKeys + 2):                   "502:5: a mapping has more than 500 keys",
		strings.Repeat("- a\n", 300_001):    "1:1: the document has too many parts",
		strings.Repeat(" ", MaxBytes) + "1": "1:1: the document is larger than 4 MiB",
	} {
		if _, faults := told(source); len(faults) != 1 || faults[0] != want {
			t.Errorf("%.40q: %q, want %q", source, faults, want)
		}
	}
}

func keys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%02d: 1\n", i)
	}
	return b.String()
}

// FuzzRead reads anything: what is read is JSON, which is the same value, and what is not
// is said.
func FuzzRead(f *testing.F) {
	for _, source := range []string{"a: {b: [1, 'x', |\n t\n]}", "- &a [*a]", "a: >-\n  x\n\n  y\nb: \"\\u00e4\"", "? b\n: <<: *a", "a:\n - b\n - c: d\n   e: ~"} {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		value, faults := told(source)
		if value == "" && faults == nil {
			t.Fatal("it was not read, and nothing is said to be wrong")
		}
		if value == "" || faults != nil {
			return
		}
		doc, err := rawjson.Parse([]byte(value))
		if err != nil {
			t.Fatalf("it is read as %s: %v", value, err)
		}
		if again := string(FromJSON(doc.Root()).AppendJSON(nil)); again != value {
			t.Fatalf("it is read as %s, and that as %s", value, again)
		}
	})
}
