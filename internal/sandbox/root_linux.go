package sandbox

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// enterRoot makes a root directory in which only what is granted is mounted, at
// its own path and, where it may not be written, read-only, and goes there for
// good. What symlinks led to, in what was granted, is where they lead again.
func enterRoot(grants []grant) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("leaving the host's mounts: %w", err)
	}
	// Each is cloned before the new root hides what it is mounted over.
	type mount struct {
		grant
		fd int
	}
	var mounts []mount
	grants = slices.Clone(grants)
	slices.SortStableFunc(grants, func(a, b grant) int { return cmp.Compare(len(a.Path), len(b.Path)) })
	for _, g := range grants {
		if g.Path == "/proc" {
			continue // the host's; this PID namespace's is mounted below
		}
		// The last that it lies in is the nearest: it is mounted there already.
		in := -1
		for i, m := range mounts {
			if m.Path == g.Path || m.Dir && below(g.Path, m.Path) {
				in = i
			}
		}
		if in >= 0 && !g.device() && (mounts[in].Write == g.Write || mounts[in].Path == g.Path || g.Base && mounts[in].Write) {
			continue
		}
		fd, err := cloneMount(g)
		if err != nil {
			return fmt.Errorf("%s: %w", g.Path, err)
		}
		mounts = append(mounts, mount{g, fd})
	}
	root, err := mountRoot()
	if err != nil {
		return err
	}
	for _, m := range mounts {
		target := filepath.Join(root, m.Path)
		if err := makeTarget(target, m.Dir); err != nil {
			return err
		}
		if err := unix.MoveMount(m.fd, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			return fmt.Errorf("mounting %s: %w", m.Path, err)
		}
		unix.Close(m.fd)
	}
	proc := filepath.Join(root, "proc")
	if err := os.MkdirAll(proc, 0o555); err != nil {
		return err
	}
	if err := unix.Mount("proc", proc, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC|unix.MS_RDONLY, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	if err := unix.Chdir(root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leaving the old root: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return err
	}
	// Now every path is one in the new root, whatever symlinks are in it.
	for _, g := range grants {
		if g.As != g.Path {
			if _, err := os.Lstat(g.As); err != nil && os.MkdirAll(filepath.Dir(g.As), 0o755) == nil {
				os.Symlink(g.Path, g.As)
			}
		}
	}
	for _, link := range [][2]string{{"/proc/self/fd", "/dev/fd"}, {"/proc/self/fd/0", "/dev/stdin"}, {"/proc/self/fd/1", "/dev/stdout"}, {"/proc/self/fd/2", "/dev/stderr"}} {
		os.Symlink(link[0], link[1])
	}
	return unix.MountSetattr(unix.AT_FDCWD, "/", 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// device is whether a grant is one of the devices that every command has.
func (g grant) device() bool { return g.Base && g.Write }

// cloneMount clones the mounts at and below a path, and takes from them what is
// not granted.
func cloneMount(g grant) (int, error) {
	fd, err := openGrant(g)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	clone, err := unix.OpenTree(fd, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_EMPTY_PATH)
	if err != nil {
		return 0, fmt.Errorf("open_tree: %w", err)
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
	switch {
	case g.device():
		attr.Attr_set = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC
	case !g.Write:
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	if err := unix.MountSetattr(clone, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		unix.Close(clone)
		return 0, fmt.Errorf("mount_setattr: %w", err)
	}
	return clone, nil
}

// mountRoot mounts an empty, small file system over any directory that is there.
func mountRoot() (string, error) {
	for _, dir := range []string{"/tmp", "/var", "/usr"} {
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
			continue
		}
		if err := unix.Mount("reeve", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=1m,mode=0755"); err != nil {
			return "", fmt.Errorf("mounting a root: %w", err)
		}
		return dir, nil
	}
	return "", fmt.Errorf("no directory to mount a root on")
}

// makeTarget makes what something is mounted on. Where it lies in what is
// mounted already, it is there.
func makeTarget(target string, dir bool) error {
	if _, err := os.Lstat(target); err == nil {
		return nil
	}
	if dir {
		return os.MkdirAll(target, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	return os.WriteFile(target, nil, 0o444)
}
