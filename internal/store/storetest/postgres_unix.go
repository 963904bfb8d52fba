//go:build !windows

package storetest

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// serverAttributes say as whom the server runs, which must not be root, and
// give that user the folders.
func serverAttributes(folders ...string) (*syscall.SysProcAttr, error) {
	attr := &syscall.SysProcAttr{Setpgid: true} // an interrupt at the terminal is not for the server
	if os.Geteuid() != 0 {
		return attr, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.Atoi(u.Uid)
		gid, err2 := strconv.Atoi(u.Gid)
		if err1 != nil || err2 != nil {
			continue
		}
		for _, dir := range folders {
			if err := os.Chown(dir, uid, gid); err != nil {
				return nil, err
			}
		}
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		return attr, nil
	}
	return nil, fmt.Errorf("PostgreSQL does not run as root, and there is neither a user postgres nor nobody")
}
