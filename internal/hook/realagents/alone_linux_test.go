package realagents

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// aloneVar says to this program that it is in a network of its own.
const aloneVar = "REEVE_TEST_AGENTS_ALONE"

// alone starts this program once more, in a network in which there is nothing but
// loopback and with mounts that nobody else sees: no agent can reach its makers, and
// none of the machine's own settings is touched. done says that it has run.
func alone() (done bool, code int) {
	if os.Getenv(aloneVar) != "" {
		if err := loopback(); err != nil {
			fmt.Fprintln(os.Stderr, "the loopback device of the agents' network:", err)
			return true, 1
		}
		return false, 0
	}
	if testing.Short() {
		return false, 0
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), aloneVar+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNET | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return true, 0
	case errors.As(err, &exit):
		return true, exit.ExitCode()
	}
	fmt.Fprintln(os.Stderr, "the agents are run in a network of their own, and this machine lets nobody make one (user namespaces):", err)
	return true, 1
}

func loopback() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, lo)
}

// fullDisk puts a disk on which there is no room over a folder, in this program's own mounts.
func fullDisk(dir string) error {
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		return err
	}
	err := os.WriteFile(dir+"/filler", make([]byte, 64<<10), 0o600)
	if err != nil && !errors.Is(err, unix.ENOSPC) {
		return err
	}
	return nil
}

func takeDiskAway(dir string) { unix.Unmount(dir, unix.MNT_DETACH) }
