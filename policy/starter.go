package policy

import (
	_ "embed"
	"slices"
)

//go:embed starter.yaml
var starter []byte

// Starter returns the built-in policy: it lets ordinary work pass and stops
// what is plainly dangerous.
func Starter() []File { return []File{{"starter.yaml", slices.Clone(starter)}} }

//go:embed starter.test.yaml
var starterTests []byte

// StarterTests is the text of the starter policy's test cases: an example of
// how to write one's own.
func StarterTests() []byte { return slices.Clone(starterTests) }
