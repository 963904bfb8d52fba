//go:build unix

package reeve

import (
	"os"

	"golang.org/x/sys/unix"
)

// reloadSignals make a node read its policy again.
var reloadSignals = []os.Signal{unix.SIGHUP}

// FreeBytes is what the node may still write on the disk of a folder.
func FreeBytes(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}

// openFiles is how many files the process may have open, connections among them; 0 for
// no bound. Go's runtime has raised it as far as the system lets it.
func openFiles() int {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err != nil || r.Cur > 1<<30 {
		return 0
	}
	return int(r.Cur)
}
