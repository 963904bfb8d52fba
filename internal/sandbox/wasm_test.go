//go:build !windows

package sandbox

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"reeve.example/reeve/act"
)

// Modules are written here byte by byte: they are small, and no compiler is
// needed to run the tests.

func uleb(n uint64) []byte { return binary.AppendUvarint(nil, n) }

func sleb(n int64) (out []byte) {
	for {
		b := byte(n & 0x7f)
		n >>= 7
		if n == 0 && b&0x40 == 0 || n == -1 && b&0x40 != 0 {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}

func section(id byte, content []byte) []byte {
	return append(append([]byte{id}, uleb(uint64(len(content)))...), content...)
}

func named(s string) []byte { return append(uleb(uint64(len(s))), s...) }

// module is one whose _start is the code; path_open is function 0 and
// proc_exit is 1. data lies at 16.
func module(pages uint64, data string, code ...[]byte) []byte {
	const i32, i64 = 0x7f, 0x7e
	m := []byte("\x00asm\x01\x00\x00\x00")
	m = append(m, section(1, []byte{3,
		0x60, 9, i32, i32, i32, i32, i32, i64, i64, i32, i32, 1, i32,
		0x60, 1, i32, 0,
		0x60, 0, 0})...)
	imports := []byte{2}
	for i, f := range []string{"path_open", "proc_exit"} {
		imports = append(append(append(imports, named(wasi_snapshot_preview1.ModuleName)...), named(f)...), 0, byte(i))
	}
	m = append(m, section(2, imports)...)
	m = append(m, section(3, []byte{1, 2})...)
	m = append(m, section(5, append([]byte{1, 0}, uleb(pages)...))...)
	m = append(m, section(7, append(append(append([]byte{2}, named("memory")...), 2, 0), append(named("_start"), 0, 2)...))...)
	body := append(append([]byte{0}, bytes.Join(code, nil)...), 0x0b)
	m = append(m, section(10, append([]byte{1}, append(uleb(uint64(len(body))), body...)...))...)
	return append(m, section(11, append([]byte{1, 0, 0x41, 16, 0x0b}, named(data)...))...)
}

func i32c(n int64) []byte { return append([]byte{0x41}, sleb(n)...) }
func i64c(n int64) []byte { return append([]byte{0x42}, sleb(n)...) }

// opens exits with the number that opening a path below the first directory gives.
func opens(path string, create, write bool) []byte {
	flags, rights := int64(0), int64(2)
	if create {
		flags = 1
	}
	if write {
		rights |= 64
	}
	return module(1, path, i32c(3), i32c(1), i32c(16), i32c(int64(len(path))), i32c(flags), i64c(rights), i64c(rights), i32c(0), i32c(0), []byte{0x10, 0, 0x10, 1})
}

// grows exits with 0 if its memory could grow by so many pages.
func grows(pages int64) []byte {
	return module(1, "", i32c(pages), []byte{0x40, 0}, i32c(-1), []byte{0x46, 0x10, 1})
}

var spins = module(1, "", []byte{0x03, 0x40, 0x0c, 0, 0x0b})

func moduleFile(t testing.TB, dir string, code []byte) string {
	p := filepath.Join(dir, "module.wasm")
	if err := os.WriteFile(p, code, 0o644); err != nil {
		t.Fatal(err)
	}
	return p
}

// WASI's numbers of errors.
const (
	okay  = 0
	acces = 2
	noent = 44
	perm  = 63
	rofs  = 69
)

// TestWASMFiles lets a module open what it may, and what it may not, in this
// process and, on Linux, held as a command is.
func TestWASMFiles(t *testing.T) {
	for name, c := range map[string]struct {
		path          string
		create, write bool
		readOnly      bool
		want          int
	}{
		"read":                      {path: "file", want: okay},
		"write":                     {path: "file", write: true, want: okay},
		"create":                    {path: "new", create: true, write: true, want: okay},
		"nothing there":             {path: "none", want: noent},
		"read, read-only":           {path: "file", readOnly: true, want: okay},
		"write, read-only":          {path: "file", write: true, readOnly: true, want: rofs},
		"create, read-only":         {path: "new", create: true, write: true, readOnly: true, want: rofs},
		"a symlink inside":          {path: "inside", want: okay},
		"a symlink out":             {path: "out", want: acces},
		"a relative symlink out":    {path: "relative", want: acces},
		"a directory's symlink out": {path: "dirout/secret", want: acces},
		"through a symlink to what does not exist": {path: "later", create: true, write: true, want: acces},
		"..":       {path: "../outside/secret", want: perm},
		"deep ..":  {path: "dir/../../outside/secret", want: perm},
		"absolute": {path: "/etc/passwd", want: perm},
		"a pipe":   {path: "pipe", want: acces},
	} {
		t.Run(name, func(t *testing.T) {
			dir := resolvedDir(t)
			ws, outside := filepath.Join(dir, "ws"), filepath.Join(dir, "outside")
			if err := errors.Join(os.MkdirAll(filepath.Join(ws, "dir"), 0o755), os.Mkdir(outside, 0o755),
				os.WriteFile(filepath.Join(ws, "file"), nil, 0o644), os.WriteFile(filepath.Join(outside, "secret"), nil, 0o644)); err != nil {
				t.Fatal(err)
			}
			for link, to := range map[string]string{"inside": "file", "out": filepath.Join(outside, "secret"), "relative": "../outside/secret", "dirout": outside, "later": filepath.Join(outside, "later")} {
				if err := os.Symlink(to, filepath.Join(ws, link)); err != nil {
					t.Fatal(err)
				}
			}
			if err := syscall.Mkfifo(filepath.Join(ws, "pipe"), 0o644); err != nil {
				t.Fatal(err)
			}
			program := moduleFile(t, dir, opens(c.path, c.create, c.write))
			j := &job{Module: program, Args: []string{"x"}, MemoryMB: 16, Mounts: []grant{{Path: ws, As: ws, Write: !c.readOnly, Dir: true}}}
			exit, err := runModule(t.Context(), j, nil, nil, nil)
			if exit != c.want && !(c.want == perm && (exit == acces || exit == noent)) || err != nil {
				t.Errorf("in this process: %d, want %d; %v", exit, c.want, err)
			}
			if c.create && c.want == okay {
				os.Remove(filepath.Join(ws, "new"))
			}
			m := act.Manifest{MaxMemoryMB: 16, MaxCPUPercent: 100, TimeoutSeconds: 10, Advisory: []string{"max_memory_mb", "max_cpu_percent"}, FilesystemScope: []string{ws}}
			if c.readOnly {
				m.FilesystemScope, m.FilesystemRead = nil, []string{ws}
			}
			var said bytes.Buffer
			o, err := RunWASM(t.Context(), m, program, Command{Stdout: &said, Stderr: &said})
			if o.ExitCode != exit || err != nil {
				t.Errorf("held as a command: %+v %v %s", o, err, said.String())
			}
			if files, _ := os.ReadDir(outside); len(files) != 1 {
				t.Errorf("outside has %d files", len(files))
			}
		})
	}
}

func resolvedDir(t *testing.T) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestWASMMemoryAndTime(t *testing.T) {
	dir := resolvedDir(t)
	m := act.Manifest{MaxMemoryMB: 64, MaxCPUPercent: 100, TimeoutSeconds: 20, Advisory: []string{"max_memory_mb", "max_cpu_percent"}}
	for name, c := range map[string]struct {
		code []byte
		exit int
	}{"32 MB of 64": {grows(512), 0}, "all 64": {grows(1023), 0}, "65 MB of 64": {grows(1040), 1}, "4 GB": {grows(65535), 1}} {
		if exit, err := runModule(t.Context(), &job{Module: moduleFile(t, dir, c.code), MemoryMB: 64}, nil, nil, nil); exit != c.exit || err != nil {
			t.Errorf("%s, in this process: %d %v", name, exit, err)
		}
		if raceMB > 0 {
			continue // the race detector would not leave it the rest
		}
		var said bytes.Buffer
		if o, err := RunWASM(t.Context(), m, moduleFile(t, dir, c.code), Command{Stderr: &said}); o.ExitCode != c.exit || err != nil {
			t.Errorf("%s: %+v %v %s", name, o, err, said.String())
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	start := time.Now()
	runModule(ctx, &job{Module: moduleFile(t, dir, spins), MemoryMB: 1}, nil, nil, nil)
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("in this process it spun for %v", took)
	}
	m.TimeoutSeconds = 1
	o, err := RunWASM(t.Context(), m, moduleFile(t, dir, spins), Command{})
	if err != nil || !o.TimedOut || o.Duration > 3*time.Second {
		t.Errorf("%+v %v", o, err)
	}
}

func TestWASMRefusals(t *testing.T) {
	dir := resolvedDir(t)
	m := act.Manifest{MaxMemoryMB: 64, MaxCPUPercent: 100, TimeoutSeconds: 5, Advisory: []string{"max_memory_mb", "max_cpu_percent"}, BlockedPatterns: []string{"evil"}}
	for name, c := range map[string]struct {
		m      act.Manifest
		module string
		args   []string
		want   string
	}{
		"the zero manifest": {act.Manifest{}, filepath.Join(dir, "x"), nil, "allows nothing"},
		"no module":         {m, filepath.Join(dir, "none.wasm"), nil, "none.wasm"},
		"a relative path":   {m, "x.wasm", nil, "is not absolute"},
		"a directory":       {m, dir, nil, "is no file"},
		"a blocked pattern": {m, moduleFile(t, dir, spins), []string{"x", "evil"}, "which the manifest blocks"},
	} {
		if _, err := RunWASM(t.Context(), c.m, c.module, Command{Args: c.args}); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	broken := moduleFile(t, dir, []byte("#!/bin/sh"))
	if exit, err := runModule(t.Context(), &job{Module: broken, MemoryMB: 1}, nil, nil, nil); err == nil {
		t.Errorf("no module: %d", exit)
	}
}

// TestRootFS goes through what a module can do to a directory beside opening.
func TestRootFS(t *testing.T) {
	dir := resolvedDir(t)
	ws := filepath.Join(dir, "ws")
	os.Mkdir(ws, 0o755)
	os.WriteFile(filepath.Join(dir, "secret"), []byte("secret"), 0o644)
	os.Symlink(dir, filepath.Join(ws, "out"))
	root, err := os.OpenRoot(ws)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	rw, ro := &rootFS{root: root, write: true}, &rootFS{root: root}
	f, e := rw.OpenFile("a", experimentalsys.O_CREAT|experimentalsys.O_RDWR, 0o644)
	if e != 0 {
		t.Fatal(e)
	}
	if n, e := f.Write([]byte("hello")); n != 5 || e != 0 {
		t.Error(n, e)
	}
	if _, e := f.Pwrite([]byte("J"), 0); e != 0 {
		t.Error(e)
	}
	if at, e := f.Seek(1, 0); at != 1 || e != 0 {
		t.Error(at, e)
	}
	b := make([]byte, 10)
	if n, e := f.Read(b); string(b[:n]) != "ello" || e != 0 {
		t.Error(string(b[:n]), e)
	}
	if n, e := f.Read(b); n != 0 || e != 0 {
		t.Error("the end of a file is no error:", n, e)
	}
	for name, e := range map[string]experimentalsys.Errno{"truncate": f.Truncate(2), "sync": f.Sync(), "datasync": f.Datasync(), "times": f.Utimens(0, 0), "close": f.Close()} {
		if e != 0 {
			t.Error(name, e)
		}
	}
	if b, err := os.ReadFile(filepath.Join(ws, "a")); string(b) != "Je" || err != nil {
		t.Error(string(b), err)
	}
	for _, c := range []struct {
		name string
		got  experimentalsys.Errno
		want experimentalsys.Errno
	}{
		{"mkdir", rw.Mkdir("d", 0o755), 0},
		{"rename", rw.Rename("a", "d/b"), 0},
		{"rename out", rw.Rename("d/b", "../b"), experimentalsys.EACCES},
		{"rename through a symlink", rw.Rename("d/b", "out/b"), experimentalsys.EACCES},
		{"mkdir through a symlink", rw.Mkdir("out/d", 0o755), experimentalsys.EACCES},
		{"unlink through a symlink", rw.Unlink("out/secret"), experimentalsys.EACCES},
		{"rmdir of a file", rw.Rmdir("d/b"), experimentalsys.ENOTDIR},
		{"unlink of a directory", rw.Unlink("d"), experimentalsys.EISDIR},
		{"rmdir of a full one", rw.Rmdir("d"), experimentalsys.ENOTEMPTY},
		{"a symlink", rw.Symlink("/etc", "e"), experimentalsys.ENOSYS},
		{"a link", rw.Link("d/b", "l"), experimentalsys.ENOSYS},
		{"mkdir, read-only", ro.Mkdir("x", 0o755), experimentalsys.EROFS},
		{"rename, read-only", ro.Rename("d/b", "x"), experimentalsys.EROFS},
		{"unlink, read-only", ro.Unlink("d/b"), experimentalsys.EROFS},
		{"times, read-only", ro.Utimens("d/b", 0, 0), experimentalsys.EROFS},
		{"unlink", rw.Unlink("d/b"), 0},
		{"rmdir", rw.Rmdir("d"), 0},
		{"unlink of a symlink", rw.Unlink("out"), 0},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
	d, e := ro.OpenFile("", experimentalsys.O_DIRECTORY, 0)
	if e != 0 {
		t.Fatal(e)
	}
	for range 2 {
		os.WriteFile(filepath.Join(ws, "seen"), nil, 0o644)
		if entries, e := d.Readdir(-1); len(entries) != 1 || entries[0].Name != "seen" || e != 0 {
			t.Error(entries, e)
		}
		d.Seek(0, 0)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "secret")); string(b) != "secret" || err != nil {
		t.Error(string(b), err)
	}
}
