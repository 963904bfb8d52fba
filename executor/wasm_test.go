package executor

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const wasmSource = `package main

import (
	"io"
	"os"
	"strconv"
	"strings"
)

func main() {
	switch os.Args[1] {
	case "echo":
		in, _ := io.ReadAll(os.Stdin)
		os.Stdout.WriteString(strings.Join(os.Args, "|") + " " + os.Getenv("A") + " " + string(in) + "\n")
	case "exit":
		n, _ := strconv.Atoi(os.Args[2])
		os.Stderr.WriteString("bye\n")
		os.Exit(n)
	case "loop":
		os.Stdout.WriteString("looping\n")
		for {
		}
	case "hog":
		var all [][]byte
		for {
			b := make([]byte, 1<<20)
			for i := range b {
				b[i] = 1
			}
			all = append(all, b)
		}
	case "read":
		b, err := os.ReadFile(os.Args[2])
		os.Stdout.Write(b)
		if err != nil {
			os.Stdout.WriteString("not read")
		}
	}
}
`

// wasmModules is a directory with a module that was built here, once.
var wasmModules = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "modules-")
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(wasmSource), 0o644); err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", "try.wasm", "main.go")
	build.Dir, build.Env = dir, append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		os.RemoveAll(dir)
		return string(out), err
	}
	return dir, nil
})

func wasmExecutor(t *testing.T) Executor {
	t.Helper()
	dir, err := wasmModules()
	if err != nil {
		t.Fatalf("%v: %s", err, dir)
	}
	modules := t.TempDir()
	code, err := os.ReadFile(filepath.Join(dir, "try.wasm"))
	if err == nil {
		err = os.WriteFile(filepath.Join(modules, "try.wasm"), code, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return NewWASM(WASMConfig{Modules: modules, Scratch: t.TempDir()})
}

func TestWASM(t *testing.T) {
	t.Cleanup(func() {
		if dir, err := wasmModules(); err == nil {
			os.RemoveAll(dir)
		}
	})
	e := wasmExecutor(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("hidden"), 0o644); err != nil {
		t.Fatal(err)
	}
	v, err := try(t, e, `{"module":"try.wasm","limits":true,"args":["echo","a b"],"env":{"A":"c"},"stdin":"given"}`).run(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	if r := read[programResult](t, v); r.Stdout != "try.wasm|echo|a b c given\n" || r.ExitCode != 0 || len(r.Limits) < 4 {
		t.Errorf("%s", v)
	}
	absolute := filepath.Join(e.(*wasm).config.Modules, "try.wasm")
	_, err = try(t, e, `{"module":`+quote(absolute)+`,"args":["exit","3"]}`).run(t.Context(), e)
	if failure := wrong(t, err); failure.Final || read[programResult](t, failure.Result).ExitCode != 3 || read[programResult](t, failure.Result).Stderr != "bye\n" {
		t.Errorf("%+v", failure)
	}
	v, err = try(t, e, `{"module":"try.wasm","args":["read",`+quote(secret)+`]}`).run(t.Context(), e)
	if err != nil || read[programResult](t, v).Stdout != "not read" {
		t.Errorf("a file outside: %s, %v", v, err)
	}
	_, err = try(t, e, `{"module":"try.wasm","args":["loop"],"timeout":3}`).run(t.Context(), e)
	if failure := wrong(t, err); !read[programResult](t, failure.Result).TimedOut {
		t.Errorf("its time: %+v", failure)
	}
	hog := try(t, e, `{"module":"try.wasm","args":["hog"]}`)
	hog.job.Manifest.MaxMemoryMB = 64
	if _, err = hog.run(t.Context(), e); read[programResult](t, wrong(t, err).Result).ExitCode == 0 {
		t.Errorf("its memory: %v", err)
	}
	up := make(chan struct{}, 8)
	loop := try(t, e, `{"module":"try.wasm","args":["loop"]}`)
	loop.on = func(string) { up <- struct{}{} }
	cancels(t, e, loop, up)
}

func TestWASMModules(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "out.wasm")
	for _, f := range []string{outside, filepath.Join(dir, "in.wasm")} {
		if err := os.WriteFile(f, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link.wasm")); err != nil {
		t.Fatal(err)
	}
	w := &wasm{WASMConfig{Modules: dir}}
	for name, ok := range map[string]bool{"in.wasm": true, "./in.wasm": true, filepath.Join(dir, "in.wasm"): true, "x/../in.wasm": true,
		outside: false, "../" + filepath.Base(filepath.Dir(outside)) + "/out.wasm": false, "link.wasm": false, "none.wasm": false, ".": false, "": false, "\x00": false} {
		if got, err := w.find(name); (err == nil) != ok {
			t.Errorf("%q: %s, %v", name, got, err)
		}
	}
	if _, err := (&wasm{}).find("in.wasm"); err == nil || !strings.Contains(err.Error(), "no directory of modules") {
		t.Errorf("no directory: %v", err)
	}
}
