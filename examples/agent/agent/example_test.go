package agent_test

import (
	"context"
	"fmt"
	"log"

	"reeve.example/reeve/aos"
	"reeve.example/reeve/examples/agent/agent"
)

// A script, an agent and its guardian.
func Example() {
	plan, err := agent.ParseScript([]byte("steps:\n  - user: Hello.\n  - say: Hello to you.\n"), nil)
	if err != nil {
		log.Fatal(err)
	}
	a, err := agent.New(agent.Config{
		Guardian: &aos.Client{URL: "http://127.0.0.1:8080/"},
		Dir:      "work",
		Watch:    func(s *agent.Step) { fmt.Println(s.Text) },
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := a.Run(context.Background(), plan); err != nil {
		log.Fatal(err)
	}
}
