package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// setIDs are the ways in which a file comes to have a set-user-id or a
// set-group-id bit, by what a library offers. What goes around libraries is tried
// by number.
var setIDs = []struct {
	name string
	try  func(file string) error
}{
	{"chmod", func(f string) error { write(f); return unix.Chmod(f, 0o4755) }},
	{"chmod, group", func(f string) error { write(f); return unix.Chmod(f, 0o2755) }},
	{"fchmod", func(f string) error {
		fd, err := unix.Open(f, unix.O_CREAT|unix.O_RDWR, 0o755)
		return errors.Join(err, unix.Fchmod(fd, 0o6755))
	}},
	{"fchmodat", func(f string) error { write(f); return unix.Fchmodat(unix.AT_FDCWD, f, 0o4755, 0) }},
	{"open", func(f string) error { _, err := unix.Open(f, unix.O_CREAT|unix.O_WRONLY, 0o4755); return err }},
	{"a file without a name, linked", func(f string) error {
		fd, err := unix.Open(filepath.Dir(f), unix.O_TMPFILE|unix.O_WRONLY, 0o4755)
		return errors.Join(err, unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, f, unix.AT_SYMLINK_FOLLOW))
	}},
	{"mknod", func(f string) error { return unix.Mknod(f, unix.S_IFREG|0o4755, 0) }},
	{"through /proc", func(f string) error {
		fd, err := unix.Open(f, unix.O_CREAT|unix.O_RDWR, 0o755)
		return errors.Join(err, unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), 0o4755))
	}},
	{"openat2", func(f string) error {
		_, err := unix.Openat2(unix.AT_FDCWD, f, &unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY, Mode: 0o4755})
		return err
	}},
	{"a directory's", func(f string) error { return errors.Join(unix.Mkdir(f, 0o755), unix.Chmod(f, 0o2755)) }},
	{"cp", func(f string) error {
		return exec.Command("/bin/sh", "-c", "cp /bin/true "+f+" && chmod u+s "+f).Run()
	}},
	{"install", func(f string) error { return exec.Command("/usr/bin/install", "-m", "4755", "/bin/true", f).Run() }},
}

func init() {
	for _, s := range setIDs {
		escapes = append(escapes, struct {
			name    string
			without bool
			try     func(p place) error
		}{"set-id: " + s.name, true, func(p place) error {
			file := p.at("ws", "setid-"+strings.NewReplacer(" ", "-", "/", "-").Replace(s.name))
			if err := s.try(file); err != nil {
				return err
			}
			info, err := os.Lstat(file)
			if err == nil && info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) == 0 {
				err = errors.New("it has not the bit")
			}
			return err
		}})
	}
	escapes = append(escapes, struct {
		name    string
		without bool
		try     func(p place) error
	}{"a device by renaming", false, func(p place) error {
		write(p.at("ws/whiteout"))
		return unix.Renameat2(unix.AT_FDCWD, p.at("ws/whiteout"), unix.AT_FDCWD, p.at("ws/whiteout2"), unix.RENAME_WHITEOUT)
	}}, struct {
		name    string
		without bool
		try     func(p place) error
	}{"a file's capability", false, func(p place) error {
		write(p.at("ws/capable"))
		for _, name := range []string{"security.capability", "security.x", "trusted.x"} {
			for _, value := range []string{capability(2, 0), capability(3, 0), capability(3, os.Getuid())} {
				if err := unix.Setxattr(p.at("ws/capable"), name, []byte(value), 0); err == nil {
					return nil
				}
			}
		}
		return errors.New("none")
	}})
}

// capability is the attribute that gives a program CAP_SETUID, in either form.
func capability(version byte, root int) string {
	value := []byte{1, 0, 0, version, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	if version == 3 {
		value = append(value, byte(root), byte(root>>8), byte(root>>16), byte(root>>24))
	}
	return string(value)
}

// leftBehind lists what a command must not leave behind in a directory.
func leftBehind(t testing.TB, dir string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrPermission) && d.IsDir() && path != dir { // its own mode was looked at before
			if err := os.Chmod(path, 0o700); err != nil {
				return err
			}
			found = append(found, leftBehind(t, path)...)
			return nil
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeDevice) != 0 {
			found = append(found, fmt.Sprint(path, " ", info.Mode()))
		}
		if n, err := unix.Lgetxattr(path, "security.capability", make([]byte, 64)); err == nil {
			found = append(found, fmt.Sprintf("%s has %d bytes of capabilities", path, n))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestThreat19ByNumber calls every number that a system call may have, with the mode
// of a set-user-id program in each place where a mode could stand. It needs no
// list of those that there are, so it also finds what a newer kernel has.
func TestThreat19ByNumber(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process for each number")
	}
	for name, v := range machines(t) {
		if name != "without Landlock" { // what remains is the filter, and the mounts
			continue
		}
		t.Run(name, func(t *testing.T) {
			p, _ := newPlace(t)
			m := p.manifest()
			m.Advisory, m.TimeoutSeconds, m.MaxMemoryMB = v.advisory, 300, 2000
			o, out := runAttempt(t, v.machine, m, "numbers", p.at("ws"), self(t))
			if o.ExitCode != 0 || !strings.Contains(out, "end") {
				t.Fatalf("%+v %s", o, out)
			}
			if info, err := os.Stat(p.at("ws")); err == nil { // one of the calls may have closed it
				os.Chmod(p.at("ws"), info.Mode()|0o700)
			}
			if found := leftBehind(t, p.at("ws")); found != nil {
				t.Errorf("left behind: %q", found)
			}
			made, _ := filepath.Glob(p.at("ws/new-*"))
			if len(made) < 3 {
				t.Errorf("only %q were made, so that nothing was tried", made)
			}
		})
	}
}

// numbers tries each number in a process of its own, which may end or hang.
func numbers(dir, program string) int {
	next := make(chan int)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for n := range next {
				c := exec.Command(program, "attempt", "number", dir, strconv.Itoa(n))
				if c.Start() == nil {
					end := time.AfterFunc(500*time.Millisecond, func() { c.Process.Kill() })
					c.Wait()
					end.Stop()
				}
			}
		})
	}
	for n := range 520 {
		if n != unix.SYS_CLONE && (runtime.GOARCH != "amd64" || n != 57 && n != 58) { // fork and vfork: there would be many
			next <- n
		}
	}
	close(next)
	all.Wait()
	fmt.Println("end")
	return 0
}

// tryNumber makes one call in many forms. Its own files tell what it could do.
func tryNumber(dir string, n int) {
	runtime.LockOSThread()
	old := filepath.Join(dir, fmt.Sprintf("old-%d", n))
	os.WriteFile(old, []byte("x"), 0o755)
	f, err := os.OpenFile(old, os.O_RDWR, 0)
	if err != nil {
		return
	}
	here, err := os.Open(dir)
	if err != nil {
		return
	}
	at, now := uintptr(here.Fd()), ^uintptr(99) // AT_FDCWD
	fresh, kept := 0, [][]byte{}
	text := func(s string) uintptr {
		kept = append(kept, append([]byte(s), 0))
		return uintptr(unsafe.Pointer(&kept[len(kept)-1][0]))
	}
	made := func() uintptr {
		fresh++
		return text(filepath.Join(dir, fmt.Sprintf("new-%d-%d", n, fresh)))
	}
	how := &unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY, Mode: 0o6755}
	dev := uintptr(unix.S_IFCHR | 0o666)
	for _, mode := range []uintptr{0o4755, 0o2755, 0o6755, 0o100000 | 0o4755, 1<<40 | 1<<16 | 0o6755} {
		create, temporary := uintptr(unix.O_CREAT|unix.O_WRONLY), uintptr(unix.O_TMPFILE|unix.O_WRONLY)
		for _, a := range [][5]uintptr{
			{text(old), mode}, {f.Fd(), mode}, {at, text(filepath.Base(old)), mode}, {now, text(old), mode}, {f.Fd(), text(""), mode, unix.AT_EMPTY_PATH},
			{f.Fd(), text(""), unix.AT_EMPTY_PATH, mode}, {now, text(old), 0, mode},
			{made(), mode}, {made(), mode, 0}, {now, made(), mode}, {now, made(), mode, 0},
			{made(), create, mode}, {now, made(), create, mode}, {now, made(), create | 1<<40, mode}, {text(dir), temporary, mode}, {now, text(dir), temporary, mode},
			{now, made(), uintptr(unsafe.Pointer(how)), unsafe.Sizeof(*how)},
			{made(), dev, 0}, {now, made(), dev, 0}, {now, text(old), now, made(), unix.RENAME_WHITEOUT},
		} {
			unix.Syscall6(uintptr(n), a[0], a[1], a[2], a[3], a[4], 0)
		}
	}
	runtime.KeepAlive(how)
	runtime.KeepAlive(kept)
}

// TestThreat19LeavesNothingBehind runs what ordinary programs do with such files, and
// looks at the scope afterwards: contents come along, bits do not.
func TestThreat19LeavesNothingBehind(t *testing.T) {
	script := `cd "$1"
cp -p ../read/setuid copied; cp -a ../read/setuid archived; cp --preserve=all ../read/setuid all
tar xpf ../read/setuid.tar; tar xf ../read/setuid.tar -C sub
ln ../read/setuid linked; mv ../read/setuid moved; cp -l ../read/setuid linked2
mkdir -m 2775 made; chmod g+s sub; umask 0; cp ../read/setuid plain
python3 -c 'import os; os.open("py", os.O_CREAT|os.O_WRONLY, 0o4777)'
true`
	for name, v := range machines(t) {
		t.Run(name, func(t *testing.T) {
			p, _ := newPlace(t)
			program, err := os.ReadFile("/bin/true")
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.WriteFile(p.at("read/setuid"), program, 0o755), os.Chmod(p.at("read/setuid"), 0o755|fs.ModeSetuid|fs.ModeSetgid), os.Mkdir(p.at("ws/sub"), 0o755)); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command("tar", "-C", p.at("read"), "-cf", p.at("read/setuid.tar"), "setuid").CombinedOutput(); err != nil {
				t.Fatalf("%v %s", err, out)
			}
			m := p.manifest()
			m.Advisory = v.advisory
			var out bytes.Buffer
			o, err := v.run(t.Context(), m, Command{Args: []string{"/bin/sh", "-c", script, "sh", p.at("ws")}, Env: []string{"PATH=/usr/bin:/bin"}, Stdout: &out, Stderr: &out})
			if err != nil || o.ExitCode != 0 {
				t.Fatalf("%+v %v %s", o, err, out.String())
			}
			if found := leftBehind(t, p.at("ws")); found != nil {
				t.Errorf("left behind: %q", found)
			}
			if b, _ := os.ReadFile(p.at("ws/plain")); !bytes.Equal(b, program) {
				t.Errorf("an ordinary copy has %d bytes: %s", len(b), out.String())
			}
		})
	}
}

// TestOrdinaryModes does what builds and archives do with modes.
func TestOrdinaryModes(t *testing.T) {
	script := `set -e; cd "$1"
echo x > a; chmod 755 a; chmod u=rw,go=r a; install -m 0755 a b; mkdir -p -m 0750 d/e; mkdir -m 1777 sticky; cp -p a c; cp -a d f
tar cf t.tar a b d; mkdir out; tar xpf t.tar -C out; mkfifo pipe; mv a g; python3 -c 'import tempfile,os; os.chmod(tempfile.mkstemp(dir=".")[1], 0o700)'
stat -c %a sticky b g | tr '\n' ' '`
	for name, v := range machines(t) {
		if v.machine.root {
			t.Run(name, func(t *testing.T) {
				p, _ := newPlace(t)
				m := p.manifest()
				m.Advisory = v.advisory
				var out bytes.Buffer
				o, err := v.run(t.Context(), m, Command{Args: []string{"/bin/sh", "-c", script, "sh", p.at("ws")}, Env: []string{"PATH=/usr/bin:/bin"}, Stdout: &out, Stderr: &out})
				if err != nil || o.ExitCode != 0 || out.String() != "1777 755 644 " {
					t.Errorf("%+v %v %s", o, err, out.String())
				}
			})
		}
	}
}
