// Command agent is a small real agent that is held to a policy: it asks a
// guardian about every step and obeys the answer. See README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"reeve.example/reeve/aos"
	"reeve.example/reeve/examples/agent/agent"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(1)
	}
}

func run() error {
	guardian := flag.String("guardian", "http://127.0.0.1:8080/", "`URL` of the guardian")
	key := flag.String("key", "", "credential for the guardian, as env:NAME or file:PATH")
	dir := flag.String("dir", "agent-work", "`folder` that the agent works in")
	script := flag.String("script", "", "`file` with the plan; see README.md")
	modelURL := flag.String("model-url", "", "base `URL` of an OpenAI-compatible model, such as http://127.0.0.1:11434/v1")
	model := flag.String("model", "", "`name` of the model there")
	modelKey := flag.String("model-key", "", "credential for the model, as env:NAME or file:PATH")
	ask := flag.String("ask", "", "what the model is asked to do")
	turns := flag.Int("turns", 16, "how often the model is asked at most")
	user := flag.String("user", "", "`id` of the person that the agent works for")
	flag.Parse()

	if flag.NArg() > 0 || (*script == "") == (*modelURL == "") {
		return errors.New("give either -script FILE, or -model-url URL with -model NAME and -ask TEXT")
	}
	secret, err := agent.Secret(*key)
	if err != nil {
		return fmt.Errorf("-key: %w", err)
	}
	config := agent.Config{Guardian: &aos.Client{URL: *guardian, Key: secret}, Dir: *dir}
	if *user != "" {
		config.User = &aos.User{ID: *user, Organization: aos.Organization{ID: "local"}}
	}
	var plan agent.Plan
	if *script != "" {
		text, err := os.ReadFile(*script)
		if err != nil {
			return err
		}
		if plan, err = agent.ParseScript(text, nil); err != nil {
			return err
		}
	} else {
		secret, err := agent.Secret(*modelKey)
		if err != nil {
			return fmt.Errorf("-model-key: %w", err)
		}
		m := agent.ModelConfig{URL: *modelURL, Name: *model, Key: secret, Turns: *turns}
		if plan, err = agent.NewModel(m, *ask); err != nil {
			return err
		}
		config.Model = m.Describe()
	}
	screen := &agent.Screen{Out: os.Stdout, Color: agent.Colored(os.Stdout), Width: agent.Columns(os.Stdout)}
	config.Watch = screen.Step
	a, err := agent.New(config)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return a.Run(ctx, plan)
}
