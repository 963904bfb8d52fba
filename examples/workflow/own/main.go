// Command own is a node with an executor of one's own.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"

	"reeve.example/reeve"
	"reeve.example/reeve/act"
	"reeve.example/reeve/executor"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// greeter greets somebody.
type greeter struct{}

func (greeter) Describe() executor.Description {
	return executor.Description{
		ID:          "greeter",
		Name:        "Greeter",
		Description: "Greets somebody.",
		InputSchema: jsontext.Value(`{"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}`),
		Manifest:    act.Manifest{TimeoutSeconds: 5},
		Idempotent:  true,
	}
}

func (greeter) Execute(ctx context.Context, job *executor.Job) (jsontext.Value, error) {
	var in struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(job.Inputs, &in); err != nil {
		return nil, executor.Final(err) // trying again does not help
	}
	job.Progress(0.5, "thinking of "+in.Name)
	return json.Marshal(map[string]string{"greeting": "Hello, " + in.Name + "!"})
}

func main() {
	executor.Main() // for commands, which start in a copy of this program
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	cfg, err := reeve.Load("", os.Getenv, nil)
	if err != nil {
		log.Fatal(err)
	}
	node, err := reeve.Open(ctx, cfg, greeter{})
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close()
	if err := node.Serve(ctx, func(url string) { fmt.Println("ready on", url) }); err != nil {
		log.Print(err)
	}
}
