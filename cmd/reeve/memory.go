package main

import (
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// limitMemory has the collector keep the process within the memory of its control group,
// so that it works harder before the kernel ends the process. GOMEMLIMIT says otherwise.
func limitMemory() {
	if os.Getenv("GOMEMLIMIT") != "" || debug.SetMemoryLimit(-1) != math.MaxInt64 {
		return
	}
	if bytes := groupMemory(os.DirFS("/")); bytes > 0 {
		limit := bytes / 10 * 9 // what SQLite and the stacks of system calls have is not the collector's
		debug.SetMemoryLimit(limit)
		slog.Debug("memory is limited by the control group", "group", bytes, "limit", limit)
	}
}

// groupMemory is the least memory, in bytes, that the control groups above this process
// allow it; 0 for no limit, and where there are none.
func groupMemory(root fs.FS) (least int64) {
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3) // number, controllers, path
		if len(parts) != 3 {
			continue
		}
		base, file := "", ""
		switch {
		case parts[1] == "": // version 2
			base, file = "sys/fs/cgroup", "memory.max"
		case strings.Contains(","+parts[1]+",", ",memory,"):
			base, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		// Every group above counts. In a container the path may be that of the host, which
		// does not exist here; then the root is the container's own.
		for dir := path.Clean("/" + parts[2]); ; dir = path.Dir(dir) {
			if text, err := fs.ReadFile(root, path.Join(base, dir, file)); err == nil {
				// "max", or without a limit a number near 2⁶³.
				if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 && n < 1<<60 && (least == 0 || n < least) {
					least = n
				}
			}
			if dir == "/" {
				break
			}
		}
	}
	return least
}
