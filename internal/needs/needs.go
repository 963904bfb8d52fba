// Package needs finds the programs and libraries that tests use: those that Go does not
// bring, and those in Go whose modules the project's own shall not need. Each folder
// beside this file is an environment: its requirements.txt, package.json or go.mod says
// what is in it, with versions, and scripts/test-needs installs it below .needs at the
// root of the repository. A test whose environment is not there fails.
package needs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Dir is the folder in which an environment is installed.
func Dir(t testing.TB, environment string) string {
	t.Helper()
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Dir(strings.TrimSpace(string(mod)))
	installed := filepath.Join(root, ".needs", environment)
	for _, manifest := range []string{"requirements.txt", "package.json", "go.mod"} {
		want, err := os.ReadFile(filepath.Join(root, "internal", "needs", environment, manifest))
		if err != nil {
			continue
		}
		if got, err := os.ReadFile(filepath.Join(installed, ".installed")); err != nil || string(got) != string(want) {
			t.Fatalf("%s is not installed, or not as its %s says now: run scripts/test-needs", environment, manifest)
		}
		return installed
	}
	t.Fatalf("internal/needs has no environment %s", environment)
	return ""
}

// Python is the interpreter of an environment that has a requirements.txt.
func Python(t testing.TB, environment string) string {
	t.Helper()
	return filepath.Join(Dir(t, environment), "bin", "python")
}

// Node is the Node.js interpreter for every environment that has a package.json:
// the version of the environment node, whatever the machine's own is.
func Node(t testing.TB) string {
	t.Helper()
	return filepath.Join(Dir(t, "node"), "node_modules", "node", "bin", "node")
}

// Program is the program of an environment that has a go.mod.
func Program(t testing.TB, environment string) string {
	t.Helper()
	return filepath.Join(Dir(t, environment), environment)
}
