package sqlite

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock locks the file for this process, and reports whether it could. The
// locked byte lies far beyond the file's contents, since Windows keeps others
// from reading what is locked.
func tryLock(f *os.File) (bool, error) {
	at := &windows.Overlapped{Offset: 0, OffsetHigh: 1 << 20}
	err := windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
}

// syncDir does nothing: Windows has no way to sync a directory, and NTFS
// journals its entries.
func syncDir(string) error { return nil }
