package clients_test

import (
	"encoding/pem"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"reeve.example/reeve/internal/needs"
)

// TestPython runs the client's own tests: every step and guarded tools against a
// real node, and what happens when there is none.
func TestPython(t *testing.T) {
	t.Parallel()
	env := pythonNode(t, "python/tests/policy.yaml")

	// The same node by TLS, with a certificate that only this file vouches for.
	behind, err := url.Parse(strings.TrimPrefix(env[0], "REEVE_URL="))
	if err != nil {
		t.Fatal(err)
	}
	secure := httptest.NewTLSServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(behind) }})
	t.Cleanup(secure.Close)
	authority := filepath.Join(t.TempDir(), "authority.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	if err := os.WriteFile(authority, block, 0o600); err != nil {
		t.Fatal(err)
	}
	env = append(env, "REEVE_TLS_URL="+secure.URL, "REEVE_TLS_AUTHORITY="+authority)
	runWith(t, "python", append(env, strict...), needs.Python(t, "clients-python"), "-m", "unittest", "discover", "-t", ".", "-s", "tests")
}

// TestPythonReadme runs the snippets of the README, with the starter policy.
func TestPythonReadme(t *testing.T) {
	t.Parallel()
	env := append(pythonNode(t, "../internal/policy/starter.yaml"), strict...)
	runWith(t, "python", env, needs.Python(t, "clients-python"), "-m", "unittest", "tests.readme")
}

// strict makes Python fail where it else only warns.
var strict = []string{"PYTHONWARNINGS=error", "PYTHONDEVMODE=1"}

// pythonNode starts a node with the policy of a file, and returns the variables of
// programs that are to use it.
func pythonNode(t *testing.T, policy string) (env []string) {
	t.Helper()
	text, err := os.ReadFile(policy)
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(t.TempDir(), "data")
	return []string{"REEVE_URL=" + node(t, string(text), map[string]string{"data": data}), "REEVE_DATA=" + data, "PYTHONDONTWRITEBYTECODE=1"}
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
	cache := t.TempDir()
	check := func(args ...string) {
		run(t, "python", "", needs.Python(t, "clients-python"), append([]string{"-m", "mypy", "--strict", "--cache-dir", cache}, args...)...)
	}
	check("--python-version", "3.9", "--exclude", "tests/frameworks", "--follow-imports", "skip", "--ignore-missing-imports",
		"reeve_aos/__init__.py", "reeve_aos/a2g.py", "reeve_aos/adapter.py", "tests")
	// Of the frameworks nothing is looked at, whose types would take minutes: what is checked is what is ours.
	check("--python-version", "3.10", "--follow-imports", "skip", "--ignore-missing-imports", "--allow-subclassing-any",
		"--allow-untyped-decorators", "reeve_aos")
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

// pythonFrameworks are the frameworks of internal/needs/adapters-python that have adapters.
var pythonFrameworks = []string{"ag2", "agent_framework", "google_adk", "langchain", "llama_index", "openai_agents", "pydantic_ai"}

// TestPythonFrameworks runs the pages of docs/frameworks on the real frameworks, with a
// model that is a script, against a real node and lines to it that break.
func TestPythonFrameworks(t *testing.T) {
	t.Parallel()
	env := pythonNode(t, "python/tests/policy.yaml")
	interpreters := map[string]string{}
	for _, framework := range pythonFrameworks {
		interpreters[framework] = needs.Python(t, "adapters-python")
	}
	// scripts/test-adapters brings those that are too large to be installed for every run of the tests.
	for _, more := range strings.Fields(os.Getenv("REEVE_FRAMEWORKS")) {
		framework, interpreter, _ := strings.Cut(more, "=")
		interpreters[framework] = interpreter
	}
	for framework, interpreter := range interpreters {
		t.Run(framework, func(t *testing.T) {
			t.Parallel()
			output := runWith(t, "python", env, interpreter, "-m", "unittest", "tests.frameworks.on_"+framework)
			if passed := regexp.MustCompile(`Ran [1-9]\d+ tests`); !passed.MatchString(output) {
				t.Errorf("no test ran:\n%s", output)
			}
		})
	}
}
