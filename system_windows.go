package reeve

import (
	"os"

	"golang.org/x/sys/windows"
)

// reloadSignals make a node read its policy again: Windows has none.
var reloadSignals []os.Signal

// FreeBytes is what the node may still write on the disk of a folder.
func FreeBytes(dir string) (free int64, err error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	var bytes uint64
	err = windows.GetDiskFreeSpaceEx(name, &bytes, nil, nil)
	return int64(bytes), err
}

// openFiles is how many files the process may have open: Windows has no bound.
func openFiles() int { return 0 }
