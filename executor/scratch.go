package executor

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// scratch is where tasks have a directory, and how much they may have in it.
type scratch struct {
	parent string
	bytes  int64 // 0 for defaultScratch
	files  int   // 0 for defaultFiles
}

const (
	defaultScratch = int64(1 << 30)
	defaultFiles   = 50_000
)

// makeScratch makes a directory for one task, that nobody else may see. An empty
// parent means the system's directory for temporary files.
func makeScratch(parent string) (dir string, err error) {
	if parent != "" {
		if err := os.MkdirAll(parent, 0o700); err != nil {
			return "", fmt.Errorf("the directory for tasks cannot be made: %w", err)
		}
	}
	if dir, err = os.MkdirTemp(parent, "task-"); err != nil {
		return "", fmt.Errorf("the task's directory cannot be made: %w", err)
	}
	if dir, err = filepath.Abs(dir); err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	return dir, err
}

// removeScratch removes it. What ran in it may have taken away the right to look
// into directories, which are its owner's, so that the right can be given back.
func removeScratch(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() { // no symlink: those are not followed
			os.Chmod(path, 0o700)
		}
		return nil
	})
	os.RemoveAll(dir)
}
