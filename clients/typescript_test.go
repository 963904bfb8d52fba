package clients_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"reeve.example/reeve"
	"reeve.example/reeve/internal/needs"

	"github.com/google/go-cmp/cmp"
)

// typescriptProject is the folder of a project of somebody who uses the client: it is installed
// there from its own folder, without a network, and the environment's packages lie beside it.
func typescriptProject(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	client, err := filepath.Abs("typescript")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "package.json"), `{"private": true, "type": "module"}`)
	npm(t, dir, "install", client)
	for _, name := range []string{"@openai", "@types", "openai", "zod"} {
		if err := os.Symlink(filepath.Join(needs.Dir(t, "clients-node"), "node_modules", name), filepath.Join(dir, "node_modules", name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// npm runs npm as on a machine without a network.
func npm(t *testing.T, dir string, args ...string) {
	t.Helper()
	cache := "npm_config_cache=" + filepath.Join(t.TempDir(), "cache")
	runWith(t, dir, []string{cache}, "npm", append(args, "--offline", "--silent", "--no-fund", "--no-audit")...)
}

// tsc runs the TypeScript compiler.
func tsc(t *testing.T, dir string, args ...string) {
	t.Helper()
	runWith(t, dir, nil, filepath.Join(needs.Dir(t, "clients-node"), "node_modules", ".bin", "tsc"), args...)
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, name ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(name...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// compiled is a project with the client's tests and examples, checked and compiled
// as strictly as the client itself.
func compiled(t *testing.T) string {
	t.Helper()
	dir := typescriptProject(t)
	for _, name := range []string{"tests", "examples"} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join("typescript", name))); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, filepath.Join(dir, "tsconfig.json"), readFile(t, "typescript", "tsconfig.json"))
	tsc(t, dir, "-p", "tests", "--outDir", "out")
	tsc(t, dir, "-p", "examples", "--outDir", "out")
	return dir
}

// TestTypeScriptBuilt checks that what is installed is what the compiler makes of the
// source, which is checked against the interfaces of a browser's worker alone: a name of
// Node.js in it would be an error.
func TestTypeScriptBuilt(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	tsc(t, "typescript", "-p", ".", "--outDir", out)

	// The adapters are checked with the frameworks beside them.
	dir := t.TempDir()
	sources, err := filepath.Glob("typescript/*.*")
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range sources {
		writeFile(t, filepath.Join(dir, filepath.Base(source)), readFile(t, source))
	}
	if err := os.Symlink(filepath.Join(needs.Dir(t, "adapters-node"), "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	tsc(t, dir, "-p", "tsconfig.adapters.json", "--outDir", out)

	built, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range built {
		if diff := cmp.Diff(readFile(t, "typescript", "dist", file.Name()), readFile(t, out, file.Name())); diff != "" {
			t.Errorf("dist/%s is not what its source says: run npm run build in clients/typescript, with the TypeScript of internal/needs/clients-node and the frameworks of internal/needs/adapters-node (-have +want):\n%s", file.Name(), diff)
		}
	}
}

// TestTypeScriptCopied checks that the one file, copied into a project, is at home there:
// with the types of Node.js 18 only, with those of a page only, and run as it is.
func TestTypeScriptCopied(t *testing.T) {
	t.Parallel()
	dir := typescriptProject(t)
	writeFile(t, filepath.Join(dir, "reeve-aos.ts"), readFile(t, "typescript", "reeve-aos.ts"))
	common := []string{"--noEmit", "--strict", "--target", "ES2022", "--module", "NodeNext", "--isolatedModules", "--erasableSyntaxOnly", "reeve-aos.ts"}
	tsc(t, dir, append(common, "--lib", "ES2022", "--types", "node")...)
	tsc(t, dir, append(common, "--lib", "ES2022,DOM", "--types", "")...)
	writeFile(t, filepath.Join(dir, "main.ts"), `import { Guardian } from "./reeve-aos.ts"; console.log(new Guardian({ agent: "a" }).session({ id: "s" }).id);`)
	if got := runWith(t, dir, []string{"NODE_NO_WARNINGS=1"}, needs.Node(t), "main.ts"); got != "s\n" {
		t.Errorf("it printed %q", got)
	}
}

// TestTypeScriptPacked checks what a package of the client holds, and that it is of use.
func TestTypeScriptPacked(t *testing.T) {
	t.Parallel()
	client, err := filepath.Abs("typescript")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	npm(t, dir, "pack", client)
	writeFile(t, filepath.Join(dir, "package.json"), `{"private": true, "type": "module"}`)
	npm(t, dir, "install", "./reeve-aos-0.1.0.tgz")
	var files []string
	installed := os.DirFS(filepath.Join(dir, "node_modules", "reeve-aos"))
	if err := fs.WalkDir(installed, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{
		"README.md", "a2g.ts", "adapter.ts", "claude-agent.ts", "dist/a2g.d.ts", "dist/a2g.js", "dist/adapter.d.ts", "dist/adapter.js",
		"dist/claude-agent.d.ts", "dist/claude-agent.js", "dist/langchain.d.ts", "dist/langchain.js",
		"dist/mastra.d.ts", "dist/mastra.js", "dist/openai-agents.d.ts", "dist/openai-agents.js", "dist/reeve-aos.d.ts",
		"dist/reeve-aos.js", "dist/vercel-ai.d.ts", "dist/vercel-ai.js", "langchain.ts", "mastra.ts", "openai-agents.ts",
		"package.json", "reeve-aos.ts", "vercel-ai.ts",
	}, files); diff != "" {
		t.Errorf("files of the package (-want +got):\n%s", diff)
	}
	// Node.js since 22.12 takes it from CommonJS, too.
	for _, args := range [][]string{
		{"--input-type=module", "-e", `import { Guardian } from "reeve-aos"; console.log((await new Guardian({ agent: "a" }).ping()).status)`},
		{"--input-type=commonjs", "-e", `const { Guardian } = require("reeve-aos"); new Guardian({ agent: "a" }).ping().then((pong) => console.log(pong.status))`},
	} {
		url := node(t, readFile(t, "typescript", "tests", "policy.yaml"), nil)
		if got := run(t, dir, url, needs.Node(t), args...); !strings.HasSuffix(got, "connected\n") {
			t.Errorf("%s printed %q", args, got)
		}
	}
}

// TestTypeScript runs the client's tests against a real node, in the present Node.js and
// in the oldest one, and the examples with a model that follows a script.
func TestTypeScript(t *testing.T) {
	t.Parallel()
	dir := compiled(t)
	present, oldest := needs.Node(t), filepath.Join(needs.Dir(t, "clients-node18"), "node_modules", "node", "bin", "node")
	for _, test := range []struct {
		name, policy, interpreter string
		args                      []string
	}{
		{"node", "tests", present, []string{"out/tests/node.test.js", "out/tests/faults.test.js", "out/tests/a2g.test.js"}},
		{"node 18", "tests", oldest, []string{"out/tests/node.test.js", "out/tests/faults.test.js", "out/tests/a2g.test.js"}},
		{"stream", "tests", present, []string{"out/tests/stream.test.js"}},
		{"worker", "tests", present, []string{"--experimental-vm-modules", "out/tests/worker.test.js"}},
		{"examples", "examples", present, []string{"out/tests/examples.test.js"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			data, err := os.MkdirTemp("", "reeve") // the path of a socket must be short
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(data) })
			url := node(t, readFile(t, "typescript", test.policy, "policy.yaml"), map[string]string{"data": data})
			output := runWith(t, dir, []string{"REEVE_URL=" + url, "REEVE_SOCKET=" + filepath.Join(data, reeve.SocketName)},
				test.interpreter, append([]string{"--test"}, test.args...)...)
			if passed := regexp.MustCompile(`(?m)^\W*pass [1-9]`); !passed.MatchString(output) {
				t.Errorf("no test ran:\n%s", output)
			}
		})
	}
}

// TestTypeScriptReadme checks and runs every snippet of the README, with the policy that
// a node has when it is given none.
func TestTypeScriptReadme(t *testing.T) {
	t.Parallel()
	dir := typescriptProject(t)
	snippets := regexp.MustCompile("(?ms)^```ts\n(.*?)^```$").FindAllStringSubmatch(readFile(t, "typescript", "README.md"), -1)
	if len(snippets) < 4 {
		t.Fatalf("the README has %d snippets, want 4 or more", len(snippets))
	}
	args := []string{"--outDir", "out", "--strict", "--target", "ES2022", "--module", "NodeNext", "--types", "node"}
	for i, snippet := range snippets {
		name := fmt.Sprintf("snippet-%d.ts", i+1)
		writeFile(t, filepath.Join(dir, name), snippet[1])
		args = append(args, name)
	}
	tsc(t, dir, args...)
	url := node(t, "", map[string]string{"policy": ""})
	var said strings.Builder
	for i := range snippets {
		said.WriteString(run(t, dir, url, needs.Node(t), fmt.Sprintf("out/snippet-%d.js", i+1)))
	}
	for _, want := range []string{
		"How much space is left? ran df -h\nThe command downloads code and runs it unseen.", "There is enough.\n",
		"3\n4\n", "allow 0-", "undefined\n", "true\nresults for winter gardens\nDENIED\n",
	} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("the snippets do not print %q:\n%s", want, said.String())
		}
	}
}

// TestTypeScriptFrameworks runs the pages of docs/frameworks on the real frameworks, with
// a model that is a script, against a real node and lines to it that break.
func TestTypeScriptFrameworks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "package.json"), `{"private": true, "type": "module"}`)
	client, err := filepath.Abs("typescript")
	if err != nil {
		t.Fatal(err)
	}
	npm(t, dir, "install", "--install-links", client) // as files: what it imports is found beside it
	frameworks := filepath.Join(needs.Dir(t, "adapters-node"), "node_modules")
	packages, err := os.ReadDir(frameworks)
	if err != nil {
		t.Fatal(err)
	}
	link := func(from, name string) {
		if err := os.Symlink(filepath.Join(from, name), filepath.Join(dir, "node_modules", name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range packages {
		if !strings.HasPrefix(p.Name(), ".") && p.Name() != "@types" {
			link(frameworks, p.Name())
		}
	}
	link(filepath.Join(needs.Dir(t, "clients-node"), "node_modules"), "@types")
	if err := os.CopyFS(filepath.Join(dir, "tests"), os.DirFS("typescript/tests")); err != nil {
		t.Fatal(err)
	}
	left := map[string]bool{"claude-agent": true}                           // too large to be installed for every run of the tests
	for _, more := range strings.Fields(os.Getenv("REEVE_FRAMEWORKS_JS")) { // which scripts/test-adapters brings
		framework, installed, _ := strings.Cut(more, "=")
		delete(left, framework)
		link(installed, "@anthropic-ai")
	}
	for framework := range left {
		if err := os.Remove(filepath.Join(dir, "tests", "frameworks", framework+".test.ts")); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, filepath.Join(dir, "tsconfig.json"), readFile(t, "typescript", "tsconfig.json"))
	if err := os.Mkdir(filepath.Join(dir, "pages"), 0o700); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("../docs/frameworks/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if left[strings.TrimSuffix(filepath.Base(page), "-js.md")] {
			continue
		}
		for i, snippet := range regexp.MustCompile("(?ms)^```ts\n(.*?)^```$").FindAllStringSubmatch(readFile(t, page), -1) {
			name := fmt.Sprintf("%s-%d.ts", strings.TrimSuffix(filepath.Base(page), ".md"), i+1)
			writeFile(t, filepath.Join(dir, "pages", name), snippet[1])
		}
	}
	tsc(t, dir, "-p", "tests/frameworks", "--outDir", "out")

	data, err := os.MkdirTemp("", "reeve") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(data) })
	url := node(t, readFile(t, "python", "tests", "policy.yaml"), map[string]string{"data": data})
	env := []string{"REEVE_URL=" + url, "REEVE_SOCKET=" + filepath.Join(data, reeve.SocketName)}
	tests, err := filepath.Glob("typescript/tests/frameworks/*.test.ts")
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range tests {
		name := strings.TrimSuffix(filepath.Base(source), ".test.ts")
		if left[name] {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			output := runWith(t, dir, env, needs.Node(t), "--test", "out/tests/frameworks/"+name+".test.js")
			if passed := regexp.MustCompile(`(?m)^\W*pass [1-9]\d`); !passed.MatchString(output) {
				t.Errorf("no test ran:\n%s", output)
			}
		})
	}
}
