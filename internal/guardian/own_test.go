package guardian

import (
	"os"
	"path/filepath"
	"testing"
)

// TestOwnDevelopment: what is done every day in this very repository, whose tests put together the
// paths that are guarded, is no tampering with the node that guards it.
func TestOwnDevelopment(t *testing.T) {
	g, home := aGuarded(t)
	here := filepath.Join(home, "src", "reeve") // of its scripts, as a developer has them
	if err := os.CopyFS(filepath.Join(here, "scripts"), os.DirFS("../../scripts")); err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err == nil {
		err = os.WriteFile(filepath.Join(here, "Makefile"), makefile, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"go build ./...", "go vet ./...", "go test ./...", "go test ./internal/guardian", "go test -race ./internal/hook ./internal/policy ./internal/sandbox",
		"make", "make test", "make check", "make bench", "scripts/lint", "scripts/trip 120 25", "scripts/race", "scripts/test-needs",
		"go run ./cmd/reeve serve --data /tmp/own", "go run ./cmd/reeve doctor", "gofmt -w internal/guardian/*.go",
	} {
		if found := g.Tampering(call(here, "shell", "command", line), nil); len(found) > 0 {
			t.Errorf("%s: %s", line, found[0].Message)
		}
	}
}
