//go:build unix

package guardian

import (
	"os"
	"syscall"
)

// ofOthers reports whether a file or folder is there and is another user's, or may be written by anybody.
func ofOthers(file string) bool {
	info, err := os.Lstat(file)
	if err != nil {
		return false // what is not there yet the call makes itself
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	return !ok || s.Uid != uint32(os.Getuid()) && s.Uid != 0 || info.Mode()&os.ModeSymlink == 0 && info.Mode().Perm()&0o002 != 0
}
