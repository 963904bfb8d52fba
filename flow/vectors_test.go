package flow_test

import (
	"strings"
	"testing"

	"reeve.example/reeve/vectors"
)

// TestVectors sends each request of vectors/flow and compares the answer. See the
// README there.
func TestVectors(t *testing.T) {
	vectors.Answers(t, "flow", 50, func(t *testing.T, parts map[string]string) string {
		n := begin(t)
		n.open.Store(true)
		if before := parts["before.json"]; before != "" {
			if _, text := n.post("", before); strings.Contains(text, `"error":{`) {
				t.Fatalf("before: %s", text)
			}
		}
		_, text := n.post("", parts["request.json"])
		return text
	})
}
