package a2a_test

import (
	"testing"

	"reeve.example/reeve/vectors"
)

// TestVectors sends each request of vectors/a2a and compares the answer. See the
// README there.
func TestVectors(t *testing.T) {
	vectors.Answers(t, "a2a", 20, func(t *testing.T, parts map[string]string) string {
		n := begin(t, "")
		n.open.Store(true)
		return n.read(n.ask("", "POST", "/a2a", parts["request.json"])).text
	})
}
