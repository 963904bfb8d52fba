//go:build unix

package hook

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// changed says when the system noted that a file changed, and which file it is. Unlike the
// time of the file's contents, who owns it cannot set that.
func changed(f *os.File) string {
	var s unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &s); err != nil {
		return ""
	}
	return fmt.Sprint(s.Ctim.Nano(), s.Ino)
}
