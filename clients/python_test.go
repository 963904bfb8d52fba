package clients_test

import (
	"os"
	"path/filepath"
	"testing"

	"reeve/internal/needs"
)

// TestPython runs the client's own tests: every step and guarded tools against a
// real node, and what happens when there is none.
func TestPython(t *testing.T) {
	t.Parallel()
	python(t, "python", "python/tests/policy.yaml", "-m", "unittest", "discover", "-t", ".", "-s", "tests")
}

// TestPythonReadme runs the snippets of the README, with the starter policy.
func TestPythonReadme(t *testing.T) {
	t.Parallel()
	python(t, "python", "../policy/starter.yaml", "-m", "unittest", "tests.readme")
}

// python runs Python in a folder, with a node of this policy. It is strict about
// what else would be a warning, such as a socket that nobody closed.
func python(t *testing.T, dir, policy string, args ...string) {
	t.Helper()
	env := append(pythonNode(t, policy), "PYTHONWARNINGS=error", "PYTHONDEVMODE=1")
	runWith(t, dir, env, needs.Python(t, "clients-python"), args...)
}

// pythonNode starts a node with the policy of a file, and returns the variables of
// programs that are to use it.
func pythonNode(t *testing.T, policy string) (env []string) {
	t.Helper()
	text, err := os.ReadFile(policy)
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(t.TempDir(), "data")
	url := node(t, string(text), map[string]string{"data": data})
	return []string{"REEVE_URL=" + url, "REEVE_DATA=" + data, "PYTHONDONTWRITEBYTECODE=1"}
}

// TestPythonExamples runs the examples with a model that is a script.
func TestPythonExamples(t *testing.T) {
	t.Parallel()
	env := append(pythonNode(t, "python/examples/policy.yaml"), "PYTHONPATH=..")
	runWith(t, "python/examples", env, needs.Python(t, "clients-python"), "-m", "unittest", "test_examples")
}

// TestPythonTypes checks the client, and what callers make of it, for the oldest
// Python: its grammar, its library and its types.
func TestPythonTypes(t *testing.T) {
	t.Parallel()
	run(t, "python", "", needs.Python(t, "clients-python"), "-m", "mypy", "--strict", "--python-version", "3.9",
		"--cache-dir", t.TempDir(), "reeve_aos", "tests")
}

// TestPythonInstall installs the client as pip does from the folder. It then needs
// nothing but the standard library, and brings its types along.
func TestPythonInstall(t *testing.T) {
	t.Parallel()
	program := needs.Python(t, "clients-python")
	source, err := filepath.Abs("python")
	if err != nil {
		t.Fatal(err)
	}
	site, elsewhere := t.TempDir(), t.TempDir()
	run(t, elsewhere, "", program, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-build-isolation",
		"--target", site, source)
	// -S leaves out what the environment has besides.
	got := runWith(t, elsewhere, []string{"PYTHONPATH=" + site}, program, "-S", "-c", "import reeve_aos; print(reeve_aos.__file__, end='')")
	if want := filepath.Join(site, "reeve_aos", "__init__.py"); got != want {
		t.Errorf("what is imported is %s, want %s", got, want)
	}
	if _, err := os.Stat(filepath.Join(site, "reeve_aos", "py.typed")); err != nil {
		t.Error(err)
	}
}
