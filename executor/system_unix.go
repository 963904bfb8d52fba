//go:build linux || darwin

package executor

import "golang.org/x/sys/unix"

func systemDisk() string { return "/" }

func kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}

func disk(path string) (total, free, available uint64, ok bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil || s.Bsize <= 0 {
		return 0, 0, 0, false
	}
	size := uint64(s.Bsize)
	return uint64(s.Blocks) * size, uint64(s.Bfree) * size, uint64(s.Bavail) * size, true
}
