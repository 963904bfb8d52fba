package flow_test

import (
	"context"
	"fmt"
	"os"

	"reeve.example/reeve"
	"reeve.example/reeve/flow"
)

// serve runs a node in a folder that is removed when stop is called.
func serve() (url string, stop func(), err error) {
	data, err := os.MkdirTemp("", "reeve")
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	stop = func() { cancel(); os.RemoveAll(data) }
	cfg, err := reeve.Load("", func(string) string { return "" }, map[string]string{"data": data, "listen": "127.0.0.1:0"})
	if err != nil {
		return "", stop, err
	}
	node, err := reeve.Open(ctx, cfg)
	if err != nil {
		return "", stop, err
	}
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- node.Serve(ctx, func(url string) { ready <- url }) }()
	stop = func() { cancel(); <-ended; node.Close(); os.RemoveAll(data) }
	select {
	case url = <-ready:
		return url, stop, nil
	case err = <-ended:
		ended <- err
		return "", stop, err
	}
}

// A tree of two tasks is executed, and its events are followed until it has ended.
func ExampleClient() {
	url, stop, err := serve()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
	ctx := context.Background()
	c := flow.NewClient(url, "")
	started, err := c.Execute(ctx, flow.Execution{Tasks: []map[string]any{
		{"id": "all", "name": "All"},
		{"id": "look", "name": "Look", "parent_id": "all", "schemas": map[string]any{"method": "system_info_executor"}},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = c.Events(ctx, started.Root, 0, func(e flow.Event) error { return nil })
	if err != nil {
		fmt.Println(err)
	}
	children, err := c.Children(ctx, started.Root)
	if err != nil {
		fmt.Println(err)
	}
	for _, t := range children {
		fmt.Println(t.Name, t.Status)
	}
	// Output:
	// Look completed
}
