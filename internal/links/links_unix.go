//go:build unix

package links

import (
	"fmt"
	"io/fs"
	"syscall"
)

// identity names a file by the file system that it lies on and its number there.
func identity(info fs.FileInfo) string {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("file %d %d", stat.Dev, stat.Ino)
	}
	return ""
}
