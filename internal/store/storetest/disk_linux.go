package storetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// WithSmallDisk runs f with the folder of an empty file system of so many bytes.
// To mount it takes rights: a user who has none runs the test again, in a process
// of its own that has them over mounts of its own. Where neither can be had the
// test fails: it is never skipped. Call it first in a test, with nothing after it.
func WithSmallDisk(t *testing.T, bytes int, f func(t *testing.T, dir string)) {
	const again = "REEVE_TEST_OWN_MOUNTS"
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o711); err != nil { // a server of another user's works in it
		t.Fatal(err)
	}
	mounted := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprint("size=", bytes))
	if mounted == nil {
		defer unix.Unmount(dir, unix.MNT_DETACH)
		f(t, dir)
		return
	}
	if os.Getenv(again) != "" {
		t.Fatalf("mount a small file system in a namespace of this process: %v", mounted)
	}
	cmd := exec.Command(os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), again+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN}, // it stays the user that it is: a PostgreSQL server is never root
	}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatalf("this test needs a small file system, which it mounts by itself. It is not allowed to mount one (%v), "+
			"nor to make a user namespace in which it is (%v). Run it as root, or allow unprivileged user namespaces "+
			"(sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns)", mounted, err)
	}
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("in a namespace of its own: %v", err)
	}
}
