package executor_test

import (
	"context"
	"fmt"

	"reeve.example/reeve/act"
	"reeve.example/reeve/executor"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// greeter is an executor of one's own.
type greeter struct{}

func (greeter) Describe() executor.Description {
	return executor.Description{
		ID:          "greeter",
		Name:        "Greeter",
		Description: "Greets somebody.",
		InputSchema: jsontext.Value(`{"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}`),
		Manifest:    act.Manifest{TimeoutSeconds: 5},
		Enforces:    []string{"network_allowed"}, // since it reaches nothing
		Idempotent:  true,
	}
}

func (greeter) Execute(ctx context.Context, job *executor.Job) (jsontext.Value, error) {
	var in struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(job.Inputs, &in); err != nil {
		return nil, executor.Final(err)
	}
	job.Progress(0.5, "thinking of "+in.Name)
	return json.Marshal(map[string]string{"greeting": "Hello, " + in.Name + "!"})
}

func Example() {
	var registry executor.Registry
	if err := registry.Register(greeter{}); err != nil {
		fmt.Println(err)
	}
	own, description, _ := registry.Get("greeter")
	result, err := own.Execute(context.Background(), &executor.Job{
		Inputs:   jsontext.Value(`{"name": "Ada"}`),
		Manifest: description.Manifest,
		Progress: func(fraction float64, message string) { fmt.Println(fraction, message) },
	})
	fmt.Println(string(result), err)
	// Output:
	// 0.5 thinking of Ada
	// {"greeting":"Hello, Ada!"} <nil>
}
