//go:build unix

package sandbox

import (
	"io/fs"
	"syscall"
)

// allocated is how much of the disk a file takes, and which it is.
func allocated(info fs.FileInfo) (int64, fileID) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int64(s.Blocks) * 512, fileID{uint64(s.Dev), s.Ino}
	}
	return info.Size(), fileID{}
}
