package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// onlyDirectory opens a directory, and neither what a symlink leads to nor a FIFO.
const onlyDirectory = unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_NONBLOCK

// unlinked sums the files of some file systems that processes below a root have open, or
// mapped, and that are in no directory any more. It says false where files could be on
// their way between processes, where nobody sees them.
func unlinked(root int, devices []uint64, seen map[fileID]bool) (sum int64, whole bool) {
	whole = true
	for _, p := range processTree(root) {
		list := fmt.Sprintf("/proc/%d/fd", p.pid)
		names, _ := os.ReadDir(list) // it may have ended
		for _, name := range names {
			info, err := os.Stat(filepath.Join(list, name.Name()))
			if err != nil {
				continue
			}
			if info.Mode()&fs.ModeSocket != 0 {
				whole = whole && !carries(p.pid, name.Name())
			} else {
				sum += newUnlinked(info, devices, seen)
			}
		}
		sum += mapped(p.pid, devices, seen)
	}
	return sum, whole
}

// newUnlinked is what a file takes that is in no directory, and was not seen.
func newUnlinked(info fs.FileInfo, devices []uint64, seen map[fileID]bool) int64 {
	size, id := allocated(info)
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() || s.Nlink > 0 || !slices.Contains(devices, id.device) || seen[id] {
		return 0
	}
	seen[id] = true
	return size
}

// carries is whether descriptors are on their way in a socket of a process.
func carries(pid int, fd string) bool {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%s", pid, fd))
	for line := range strings.Lines(string(b)) {
		if n, ok := strings.CutPrefix(line, "scm_fds:"); ok {
			return strings.TrimSpace(n) != "0"
		}
	}
	return false
}

// mapped sums the files that a process has mapped and that are in no directory. Who may
// not look at them takes them to be as large as the mapping.
func mapped(pid int, devices []uint64, seen map[fileID]bool) (sum int64) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line) // addresses, rights, offset, device, inode, path
		if len(f) < 7 || f[len(f)-1] != "(deleted)" {
			continue
		}
		if info, err := os.Stat(fmt.Sprintf("/proc/%d/map_files/%s", pid, f[0])); err == nil {
			sum += newUnlinked(info, devices, seen)
			continue
		}
		major, minor, _ := strings.Cut(f[3], ":")
		ma, err1 := strconv.ParseUint(major, 16, 32)
		mi, err2 := strconv.ParseUint(minor, 16, 32)
		inode, err3 := strconv.ParseUint(f[4], 10, 64)
		from, to, _ := strings.Cut(f[0], "-")
		begin, err4 := strconv.ParseUint(from, 16, 64)
		end, err5 := strconv.ParseUint(to, 16, 64)
		id := fileID{unix.Mkdev(uint32(ma), uint32(mi)), inode}
		if err1 != nil || err2 != nil || err3 != nil || err4 != nil || err5 != nil || id.device == memoryDevice() || seen[id] {
			continue
		}
		sum += int64(end - begin) // each mapping of it: it can have mapped several parts
	}
	return sum
}

// memoryDevice is where files lie that are memory, and no file system's.
var memoryDevice = sync.OnceValue(func() uint64 {
	var s unix.Stat_t
	fd, err := unix.MemfdCreate("reeve", unix.MFD_CLOEXEC)
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	if unix.Fstat(fd, &s) != nil {
		return 0
	}
	return s.Dev
})

// barred is whether a directory is another user's who lets nobody in: nor the command.
func barred(dir string) bool {
	var s unix.Stat_t
	return unix.Lstat(dir, &s) == nil && int(s.Uid) != os.Geteuid() && errors.Is(unix.Access(dir, unix.X_OK), unix.EACCES)
}

// deviceOf is the file system that a path is on.
func deviceOf(path string) (uint64, bool) {
	var s unix.Stat_t
	if unix.Stat(path, &s) != nil {
		return 0, false
	}
	return s.Dev, true
}

// disksOf are the file systems that directories are on, with those that are mounted below.
func disksOf(dirs []string) (disks []disk) {
	paths := slices.Clone(dirs)
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	octal := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	for line := range strings.Lines(string(mounts)) {
		f := strings.Fields(line)
		if len(f) < 5 {
			continue
		}
		at := octal.Replace(f[4])
		if slices.ContainsFunc(dirs, func(d string) bool { return below(at, d) }) {
			paths = append(paths, at)
		}
	}
	had := map[uint64]bool{}
	for _, path := range paths {
		if device, ok := deviceOf(path); ok && !had[device] {
			had[device] = true
			disks = append(disks, holds(path))
		}
	}
	return disks
}

// holds asks a file system how much it holds. Some do not tell, or not of files.
func holds(path string) disk {
	d := disk{path: path}
	var s unix.Statfs_t
	if unix.Statfs(path, &s) != nil || s.Type == unix.PROC_SUPER_MAGIC || s.Type == unix.SYSFS_MAGIC || s.Type == unix.CGROUP2_SUPER_MAGIC {
		return d
	}
	size := s.Frsize
	if size == 0 {
		size = s.Bsize
	}
	d.bytes, d.file = s.Blocks > 0, s.Files > 0
	d.held = amount{int64(s.Blocks-s.Bfree) * int64(size), int64(s.Files - s.Ffree)}
	return d
}

// tree are a command's processes, below the helper.
type tree struct {
	helper  *helper
	list    bool // whether /proc lists them
	devices []uint64
}

func newTree(h *helper, list bool, dirs []string) *tree {
	t := &tree{helper: h, list: list}
	for _, d := range disksOf(dirs) {
		if device, ok := deviceOf(d.path); ok {
			t.devices = append(t.devices, device)
		}
	}
	return t
}

func (t *tree) root() int { return t.helper.cmd.Process.Pid }

func (t *tree) unlinked(seen map[fileID]bool) (int64, bool) {
	if t.over() {
		return 0, true // and what was open is gone
	}
	if !t.list {
		return 0, false
	}
	return unlinked(t.root(), t.devices, seen)
}

// over is whether the helper has ended, after which its number is somebody else's.
func (t *tree) over() bool {
	select {
	case <-t.helper.exited:
		return true
	default:
		return false
	}
}

// pause has the processes stand still until resume. It says false where they do not.
func (t *tree) pause() (whole bool) {
	if t.over() {
		return true
	}
	if !t.list {
		return false
	}
	for range 50 {
		running := false
		for _, p := range processTree(t.root()) {
			switch state := statFields(p.pid); {
			case len(state) == 0 || strings.Contains("TtZX", state[0]):
			default: // waiting for the disk, it ends one system call at most
				running = running || state[0] != "D"
				unix.Kill(p.pid, unix.SIGSTOP)
			}
		}
		if !running || t.over() {
			return true
		}
		time.Sleep(2 * time.Millisecond)
	}
	return false
}

func (t *tree) resume() {
	if t.over() {
		return
	}
	signalAll(processTree(t.root()), unix.SIGCONT)
}
