package demo_test

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"reeve.example/reeve/aos"
	"reeve.example/reeve/examples/agent/agent"
	"reeve.example/reeve/internal/policy"
)

// What the agent's README shows works.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("../examples/agent/README.md")
	if err != nil {
		t.Fatal(err)
	}
	scripts, policies := 0, 0
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		if strings.HasPrefix(block[1], "steps:") {
			scripts++
			_, err = agent.ParseScript([]byte(block[1]), nil)
		} else {
			policies++
			_, err = policy.Load(policy.File{Name: "drafts.yaml", Data: []byte(block[1])})
		}
		if err != nil {
			t.Errorf("%v, in\n%s", err, block[1])
		}
	}
	if scripts == 0 || policies == 0 {
		t.Errorf("%d scripts and %d policies in the README", scripts, policies)
	}
}

// The first plan does what its first line says.
func TestHello(t *testing.T) {
	text, err := os.ReadFile("../examples/agent/hello.yaml")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := agent.ParseScript(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	var verdicts []string
	var out bytes.Buffer
	screen := &agent.Screen{Out: &out}
	a, err := agent.New(agent.Config{
		Guardian: &aos.Client{URL: startNode(t, demoless)}, Dir: t.TempDir(),
		Watch: func(s *agent.Step) {
			screen.Step(s)
			verdicts = append(verdicts, s.Answers[0].Decision)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Run(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(verdicts, " "); got != "allow allow allow deny allow" {
		t.Errorf("verdicts: %s\n%s", got, out.String())
	}
}

// demoless is a document that adds nothing to the starter policy.
var demoless = []byte("version: 1\ndefault: allow\n")
