package sandbox

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/experimental/sysfs"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"
)

// maxModule bounds a module's file, which is read whole.
const maxModule = 256 << 20

// job is a module to run.
type job struct {
	Module   string
	Args     []string
	Env      []string
	MemoryMB int
	Mounts   []grant
}

// newJob checks what is to be run.
func newJob(module string, memoryMB int, grants []grant, c Command) (*job, error) {
	if !filepath.IsAbs(module) {
		return nil, fmt.Errorf("%w: the module's path %q is not absolute", ErrRefused, module)
	}
	resolved, err := filepath.EvalSymlinks(module)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	info, err := os.Stat(resolved)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxModule {
		return nil, fmt.Errorf("%w: %s is no file of at most %d MB", ErrRefused, module, maxModule>>20)
	}
	if (&scope{grants: grants}).planted(grant{Path: resolved, links: linksOf(module)}) {
		return nil, fmt.Errorf("%w: the module %s is a symlink out of a directory that may be written", ErrRefused, module)
	}
	j := &job{Module: resolved, Args: c.Args, Env: c.Env, MemoryMB: memoryMB}
	if len(j.Args) == 0 {
		j.Args = []string{filepath.Base(module)}
	}
	for _, g := range grants {
		if g.Dir && !g.Base {
			j.Mounts = append(j.Mounts, g)
		}
	}
	return j, nil
}

// runModule runs a module in this process. The module has its memory, its
// directories and its standard streams: no sockets, and no way out of a
// directory, whatever symlinks are in it. Ending ctx ends it.
func runModule(ctx context.Context, j *job, stdin io.Reader, stdout, stderr io.Writer) (exit int, err error) {
	code, err := os.ReadFile(j.Module)
	if err != nil {
		return -1, err
	}
	pages := min(uint64(j.MemoryMB)<<20/65536, 65536)
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithMemoryLimitPages(uint32(pages)).WithCloseOnContextDone(true))
	defer runtime.Close(context.WithoutCancel(ctx))
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, runtime); err != nil {
		return -1, err
	}
	files := wazero.NewFSConfig()
	for _, m := range j.Mounts {
		root, err := os.OpenRoot(m.Path)
		if err != nil {
			return -1, err
		}
		defer root.Close()
		files = files.(sysfs.FSConfig).WithSysFSMount(&rootFS{root: root, write: m.Write}, guestPath(m.As))
	}
	if stdin == nil {
		stdin = bytes.NewReader(nil)
	}
	config := wazero.NewModuleConfig().WithName("").WithArgs(j.Args...).WithFSConfig(files).WithStdin(stdin).WithStdout(orDiscard(stdout)).WithStderr(orDiscard(stderr)).
		WithRandSource(rand.Reader).WithSysWalltime().WithSysNanotime().WithNanosleep(func(ns int64) {
		select {
		case <-time.After(time.Duration(ns)):
		case <-ctx.Done():
		}
	})
	for _, e := range j.Env {
		if name, value, ok := strings.Cut(e, "="); ok {
			config = config.WithEnv(name, value)
		}
	}
	compiled, err := runtime.CompileModule(ctx, code)
	if err != nil {
		return -1, fmt.Errorf("the module: %w", err)
	}
	_, err = runtime.InstantiateModule(ctx, compiled, config)
	if ended := (*sys.ExitError)(nil); errors.As(err, &ended) {
		return int(ended.ExitCode()), nil
	}
	if err != nil {
		return -1, err
	}
	return 0, nil
}

// guestPath is the name of a directory as a module sees it.
func guestPath(p string) string {
	return "/" + strings.Trim(filepath.ToSlash(strings.TrimPrefix(p, filepath.VolumeName(p))), "/")
}

func orDiscard(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return w
}

// rootFS shows a module one directory. wazero's own mount of a directory
// follows symlinks out of it; os.Root does not.
type rootFS struct {
	experimentalsys.UnimplementedFS // no links: those that are made outlive the run
	root                            *os.Root
	write                           bool
}

// errno turns an error into what a module is told. What os.Root refuses, since
// it leads out, has no number of its own.
func errno(err error) experimentalsys.Errno {
	e := experimentalsys.UnwrapOSError(err)
	if e == experimentalsys.EIO {
		return experimentalsys.EACCES
	}
	return e
}

func inRoot(p string) string {
	if p = strings.Trim(p, "/"); p == "" {
		return "."
	}
	return p
}

var openFlags = []struct {
	guest experimentalsys.Oflag
	host  int
}{{experimentalsys.O_APPEND, os.O_APPEND}, {experimentalsys.O_CREAT, os.O_CREATE}, {experimentalsys.O_EXCL, os.O_EXCL}, {experimentalsys.O_TRUNC, os.O_TRUNC}, {experimentalsys.O_SYNC, os.O_SYNC}}

// The access modes are the numbers 0, 1 and 2 in the low bits of a flag.
const accessMode = experimentalsys.O_RDONLY | experimentalsys.O_RDWR | experimentalsys.O_WRONLY

func (r *rootFS) OpenFile(path string, flag experimentalsys.Oflag, perm fs.FileMode) (experimentalsys.File, experimentalsys.Errno) {
	path = inRoot(path)
	host := os.O_RDONLY
	switch flag & accessMode {
	case experimentalsys.O_RDWR:
		host = os.O_RDWR
	case experimentalsys.O_WRONLY:
		host = os.O_WRONLY
	}
	for _, f := range openFlags {
		if flag&f.guest != 0 {
			host |= f.host
		}
	}
	if !r.write && host != os.O_RDONLY {
		return nil, experimentalsys.EROFS
	}
	info, err := r.root.Lstat(path)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if flag&experimentalsys.O_NOFOLLOW != 0 {
			return nil, experimentalsys.ELOOP
		}
		info, err = r.root.Stat(path)
	}
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, errno(err)
	case err == nil && flag&experimentalsys.O_DIRECTORY != 0 && !info.IsDir():
		return nil, experimentalsys.ENOTDIR
	case err == nil && info.IsDir() && host != os.O_RDONLY:
		return nil, experimentalsys.EISDIR
	case err == nil && !info.IsDir() && !info.Mode().IsRegular():
		return nil, experimentalsys.EACCES // a pipe would hold the whole process, and a device is none of its business
	}
	open := &opening{root: r.root, path: path, flag: host, perm: perm.Perm()}
	file, e := (&sysfs.AdaptFS{FS: open}).OpenFile(path, flag, perm)
	if e != 0 {
		return nil, e
	}
	return &rootFile{File: file, fs: r, file: open.last, path: path, append: host&os.O_APPEND != 0}, 0
}

// opening opens one file, for wazero to read and write it and, at the start of
// a directory, to open it again.
type opening struct {
	root *os.Root
	path string
	flag int
	perm fs.FileMode
	last *os.File
}

func (o *opening) Open(string) (fs.File, error) {
	f, err := o.root.OpenFile(o.path, o.flag, o.perm)
	if err != nil {
		return nil, err
	}
	o.last = f
	return f, nil
}

func (r *rootFS) Lstat(path string) (sys.Stat_t, experimentalsys.Errno) {
	info, err := r.root.Lstat(inRoot(path))
	if err != nil {
		return sys.Stat_t{}, errno(err)
	}
	return sys.NewStat_t(info), 0
}

func (r *rootFS) Stat(path string) (sys.Stat_t, experimentalsys.Errno) {
	info, err := r.root.Stat(inRoot(path))
	if err != nil {
		return sys.Stat_t{}, errno(err)
	}
	return sys.NewStat_t(info), 0
}

// change makes a change, if changes may be made.
func (r *rootFS) change(make func() error) experimentalsys.Errno {
	if !r.write {
		return experimentalsys.EROFS
	}
	return errno(make())
}

func (r *rootFS) Mkdir(path string, perm fs.FileMode) experimentalsys.Errno {
	return r.change(func() error { return r.root.Mkdir(inRoot(path), perm.Perm()) })
}

func (r *rootFS) Rename(from, to string) experimentalsys.Errno {
	return r.change(func() error { return r.root.Rename(inRoot(from), inRoot(to)) })
}

func (r *rootFS) Rmdir(path string) experimentalsys.Errno { return r.remove(path, true) }

func (r *rootFS) Unlink(path string) experimentalsys.Errno { return r.remove(path, false) }

func (r *rootFS) remove(path string, dir bool) experimentalsys.Errno {
	info, err := r.root.Lstat(inRoot(path))
	switch {
	case err != nil:
		return errno(err)
	case dir && !info.IsDir():
		return experimentalsys.ENOTDIR
	case !dir && info.IsDir():
		return experimentalsys.EISDIR
	}
	return r.change(func() error { return r.root.Remove(inRoot(path)) })
}

func (r *rootFS) Utimens(path string, atim, mtim int64) experimentalsys.Errno {
	return r.change(func() error { return r.setTimes(path, atim, mtim) })
}

func (r *rootFS) setTimes(path string, atim, mtim int64) error {
	at := func(ns int64) time.Time {
		if ns == experimentalsys.UTIME_OMIT {
			return time.Time{}
		}
		return time.Unix(0, ns)
	}
	return r.root.Chtimes(inRoot(path), at(atim), at(mtim))
}

// rootFile is a file or directory that a module has open.
type rootFile struct {
	experimentalsys.File // wazero's own, around file
	fs                   *rootFS
	file                 *os.File
	path                 string
	append               bool
}

func (f *rootFile) IsAppend() bool { return f.append }

func (f *rootFile) Truncate(size int64) experimentalsys.Errno {
	return f.fs.change(func() error { return f.file.Truncate(size) })
}

func (f *rootFile) Sync() experimentalsys.Errno { return errno(f.file.Sync()) }

func (f *rootFile) Datasync() experimentalsys.Errno { return errno(f.file.Sync()) }

func (f *rootFile) Utimens(atim, mtim int64) experimentalsys.Errno {
	return f.fs.Utimens(f.path, atim, mtim)
}
