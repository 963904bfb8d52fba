package datadir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

// claimFile is the file that a run holds locked, with a name that no other folder has.
const claimFile = "reeve.run"

// claimName is what stands in it.
var claimName = regexp.MustCompile(`^[A-Z2-7]{26}\n$`)

// claim locks the folder's file until the process ends, however it ends, and makes a name
// of all that must be the same for the lock to say that an earlier run is over: what
// stands in the file, the very file (a copy is another one, also in another container),
// and the time that the machine was started: no other machine has that, and none whose
// lock may be forgotten.
func claim(dir string) (owner string, release func(), err error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, claimFile), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return "", nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return "", nil, err
	}
	var info syscall.Stat_t
	if err := syscall.Fstat(int(f.Fd()), &info); err != nil {
		return "", nil, err
	}
	if info.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return "", nil, errors.New("no file")
	}
	name := make([]byte, 64)
	n, _ := f.ReadAt(name, 0)
	if name = name[:n]; !claimName.Match(name) { // the first run, or one that ended while it wrote
		name = []byte(rand.Text() + "\n")
		if err := f.Truncate(0); err != nil {
			return "", nil, err
		}
		if _, err := f.WriteAt(name, 0); err != nil {
			return "", nil, err
		}
	}
	owner = fmt.Sprintf("%s:%x.%x:%s", strings.TrimSpace(string(boot)), info.Dev, info.Ino, strings.TrimSpace(string(name)))
	return owner, func() { f.Close() }, nil
}
