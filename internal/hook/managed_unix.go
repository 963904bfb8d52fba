//go:build !windows

package hook

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// onlyRoots refuses a program that others than the administrator could replace, or that
// not everybody can run.
func onlyRoots(program string) error {
	file, err := filepath.EvalSymlinks(program)
	if err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o005 != 0o005 {
		return fmt.Errorf("%s cannot be run by every user of this machine: install it where they can, such as /usr/local/bin", program)
	}
	for at := file; at != "/"; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return err
		}
		own, ok := info.Sys().(*syscall.Stat_t)
		if !ok || own.Uid != 0 && own.Uid != uint32(os.Geteuid()) || info.Mode().Perm()&0o022 != 0 {
			return fmt.Errorf("others than the administrator can write %s, and so replace %s: install it where only root writes, such as /usr/local/bin", at, program)
		}
		if info.IsDir() && info.Mode().Perm()&0o001 == 0 {
			return fmt.Errorf("%s cannot be run by every user of this machine, since %s is closed to them: install it where they can, such as /usr/local/bin", program, at)
		}
	}
	return nil
}
