package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// unlinked sums the files of a directory's file system that processes below a root
// have open, and that are in no directory any more.
func unlinked(root int, dir string, seen map[fileID]bool) (sum int64) {
	at, err := os.Stat(dir)
	if err != nil {
		return 0
	}
	_, home := allocated(at)
	for _, p := range processTree(root) {
		list := fmt.Sprintf("/proc/%d/fd", p.pid)
		names, _ := os.ReadDir(list) // it may have ended
		for _, name := range names {
			info, err := os.Stat(filepath.Join(list, name.Name()))
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			size, id := allocated(info)
			if s, ok := info.Sys().(*syscall.Stat_t); !ok || s.Nlink > 0 || id.device != home.device || seen[id] {
				continue
			}
			seen[id] = true
			sum += size
		}
	}
	return sum
}
