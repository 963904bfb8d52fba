package policy

import (
	_ "embed"
	"slices"
)

//go:embed starter.test.yaml
var starterTests []byte

// StarterTests is the text of the starter policy's test cases: an example of
// how to write one's own.
func StarterTests() []byte { return slices.Clone(starterTests) }
