package reeve_test

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// user is a program of another module: it asks a guardian, and brings an executor.
const user = `package main

import (
	"context"
	"fmt"

	"NEW/act"
	"NEW/aos"
	"NEW/executor"

	"github.com/go-json-experiment/json/jsontext"
)

type greeter struct{}

func (greeter) Describe() executor.Description {
	return executor.Description{
		ID: "greeter", Name: "Greeter", Description: "Greets.",
		InputSchema: jsontext.Value(` + "`" + `{"type":"object"}` + "`" + `), Manifest: act.Manifest{TimeoutSeconds: 5},
	}
}

func (greeter) Execute(context.Context, *executor.Job) (jsontext.Value, error) {
	return jsontext.Value(` + "`" + `"hello"` + "`" + `), nil
}

func main() {
	var registry executor.Registry
	if err := registry.Register(greeter{}); err != nil {
		fmt.Println(err)
	}
	own, _, _ := registry.Get("greeter")
	greeting, err := own.Execute(context.Background(), &executor.Job{})
	fmt.Println(string(greeting), err)
	guardian := &aos.Client{URL: "http://127.0.0.1:1/", Retries: -1}
	_, err = guardian.Ping(context.Background())
	fmt.Println("no guardian is an error:", err != nil)
}
`

// TestRenameModule gives a copy of the tracked files another path, and builds a
// program of a second module that requires the copy, as go get brings it.
func TestRenameModule(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a copy of the module")
	}
	if runtime.GOOS == "windows" {
		t.Skip("the script is one of bash")
	}
	const renamed, version = "code.example.org/reeve", "v0.0.1"
	tracked, err := exec.Command("git", "ls-files", "-z").Output()
	if err != nil {
		t.Skip("this is no git checkout: ", err)
	}
	dir := t.TempDir()
	house := filepath.Join(dir, "house")
	for name := range strings.SplitSeq(strings.Trim(string(tracked), "\x00"), "\x00") {
		data, err := os.ReadFile(name)
		if err != nil { // a file that was removed, and a link to what is not here
			continue
		}
		info, _ := os.Stat(name)
		write(t, filepath.Join(house, name), data, info.Mode().Perm())
	}
	run(t, house, nil, "scripts/rename-module", renamed)
	old := []byte(module)
	eachFile(t, house, func(name string, data []byte) {
		if bytes.Contains(data, old) {
			t.Errorf("%s names %s after the module was renamed", name, module)
		}
	})
	if deps := run(t, house, nil, "go", "list", "-deps", "./..."); strings.Contains(deps, module) || !strings.Contains(deps, renamed+"/executor\n") {
		t.Error("the renamed module does not import itself by its new path")
	}

	proxy := filepath.Join(dir, "proxy", renamed, "@v")
	mod, err := os.ReadFile(filepath.Join(house, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(proxy, "list"), []byte(version+"\n"), 0o600)
	write(t, filepath.Join(proxy, version+".info"), []byte(`{"Version":"`+version+`"}`), 0o600)
	write(t, filepath.Join(proxy, version+".mod"), mod, 0o600)
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	eachFile(t, house, func(name string, data []byte) {
		w, err := z.Create(renamed + "@" + version + "/" + filepath.ToSlash(name))
		if err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(proxy, version+".zip"), archive.Bytes(), 0o600)

	program := filepath.Join(dir, "program")
	write(t, filepath.Join(program, "go.mod"), []byte("module example.org/program\n\ngo "+strings.TrimSpace(run(t, ".", nil, "go", "list", "-m", "-f", "{{.GoVersion}}"))+"\n"), 0o600)
	write(t, filepath.Join(program, "main.go"), []byte(strings.ReplaceAll(user, "NEW", renamed)), 0o600)
	env := strings.Fields(run(t, ".", nil, "go", "env", "GOMODCACHE", "GOPROXY"))
	settings := []string{
		"GOPROXY=file://" + filepath.Join(dir, "proxy") + ",file://" + env[0] + "/cache/download," + env[1],
		"GOMODCACHE=" + filepath.Join(dir, "modules"), "GOFLAGS=-mod=mod -modcacherw -trimpath", "GOSUMDB=off", "GOWORK=off",
	}
	run(t, program, settings, "go", "get", renamed+"@"+version)
	got := run(t, program, settings, "go", "run", ".")
	if want := "\"hello\" <nil>\nno guardian is an error: true\n"; got != want {
		t.Errorf("the program of another module says %q, want %q", got, want)
	}
}

// eachFile calls f with each file of a module, apart from those of modules within it.
func eachFile(t *testing.T, module string, f func(name string, data []byte)) {
	err := fs.WalkDir(os.DirFS(module), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if _, err := os.Stat(filepath.Join(module, name, "go.mod")); err == nil && name != "." {
				return fs.SkipDir
			}
			return nil
		}
		data, err := os.ReadFile(filepath.Join(module, name))
		f(name, data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, name string, data []byte, mode fs.FileMode) {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, mode|0o200); err != nil {
		t.Fatal(err)
	}
}

// run returns what a program prints; that it fails ends the test.
func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	if strings.Contains(name, "/") {
		name = filepath.Join(dir, name)
	}
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir, c.Env = dir, append(os.Environ(), env...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, stderr.Bytes())
	}
	return string(out)
}
