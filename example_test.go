package reeve_test

import (
	"context"
	"fmt"
	"os"

	"reeve.example/reeve"
)

// A program that is a node.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	data, err := os.MkdirTemp("", "reeve")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(data)
	cfg, err := reeve.Load("", os.Getenv, map[string]string{"data": data, "listen": "127.0.0.1:0"})
	if err != nil {
		fmt.Println(err)
		return
	}
	node, err := reeve.Open(ctx, cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer node.Close()
	err = node.Serve(ctx, func(url string) {
		fmt.Println("ready")
		cancel() // or serve until somebody says so
	})
	fmt.Println(err)
	// Output:
	// ready
	// <nil>
}
