package reeve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Messages are given to a workflow's file as reeve run executes it, and to nothing else.
func TestReadWorkflow(t *testing.T) {
	for name, tt := range map[string]struct{ source, want string }{
		"short":    {"name: Sums\ntasks:\n  - {id: sum, executor: x, inputs: {v: '${{ message }}'}}\n  - {id: b, executor: x, needs: sum}\n", `"parent_id":"workflow"`},
		"one task": {"name: Sums\ntasks:\n  - {id: sum, executor: x}\n", `"name":"Sums"`},
		"a list":   {`[{"name":"sum","schemas":{"method":"x"}}]`, "!a workflow is a mapping with tasks"},
		"no task":  {"tasks: []\n", "!a workflow has tasks"},
		"misspelt": {"tasks:\n  - {id: a, executer: x}\n", `!did you mean "executor"?`},
		"nobody":   {"tasks:\n  - {id: a, executor: x, inputs: {v: '${{ massage }}'}}\n", `!there is no task "massage"`},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "w.yaml")
			if err := os.WriteFile(file, []byte(tt.source), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := readWorkflow(file)
			if want, fails := strings.CutPrefix(tt.want, "!"); fails != (err != nil) || fails && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", got, err)
			} else if !fails && !strings.Contains(strings.ReplaceAll(string(got), `": `, `":`), want) {
				t.Errorf("it is read as %s", got)
			}
		})
	}
}
