//go:build unix

package links

import (
	"fmt"
	"io/fs"
	"syscall"
)

// identity names a file that has several names by the file system that it lies on and its
// number there; empty for one with a single name.
func identity(info fs.FileInfo) string {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Nlink > 1 {
		return fmt.Sprintf("file %d %d", stat.Dev, stat.Ino)
	}
	return ""
}
