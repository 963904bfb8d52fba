package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"reeve.example/reeve/act"
)

// This file's test binary is three programs: the tests, the sandbox's helper
// (Main), and, as "attempt …", the command that tries to get out.
func TestMain(m *testing.M) {
	Main()
	if len(os.Args) > 1 && os.Args[1] == "attempt" {
		os.Exit(attempt(os.Args[2], os.Args[3:]))
	}
	os.Exit(m.Run())
}

// place is what lies around a command, and what it may have of it:
//
//	ws       the scope                 read      filesystem_read
//	ws-evil  a sibling with its prefix outside   nothing of it
type place struct {
	Dir      string
	Host     int    // a process outside
	TCP, UDP string // where somebody outside listens
	Abstract string
}

func (p place) at(parts ...string) string { return filepath.Join(append([]string{p.Dir}, parts...)...) }

// escapes are tried one after the other, in one run. An escape that returns nil
// got out. Those that harm nothing are also tried without a sandbox, where they
// must get out: else they would prove nothing.
var escapes = []struct {
	name    string
	without bool // gets out without a sandbox
	try     func(p place) error
}{
	{"read outside", true, func(p place) error { return read(p.at("outside/secret")) }},
	{"read a prefix sibling", true, func(p place) error { return read(p.at("ws-evil/secret")) }},
	{"read with ..", true, func(p place) error { return read(p.at("ws") + "/../outside/secret") }},
	{"read with .. of a deep directory", true, func(p place) error {
		os.MkdirAll(p.at("ws/a/b"), 0o755)
		return read(p.at("ws") + "/a/b/../../../outside/secret")
	}},
	{"list outside", true, func(p place) error { _, err := os.ReadDir(p.at("outside")); return err }},
	{"list the parent", true, func(p place) error { return lists(p.at(), "outside") }},
	{"write outside", true, func(p place) error { return write(p.at("outside/secret")) }},
	{"create outside", true, func(p place) error { return write(p.at("outside/new")) }},
	{"create a prefix sibling", true, func(p place) error { return write(p.at("ws-new")) }},
	{"truncate outside", true, func(p place) error { return os.Truncate(p.at("outside/truncated"), 0) }},
	{"make a directory outside", true, func(p place) error { return os.Mkdir(p.at("outside/dir"), 0o755) }},
	{"remove outside", true, func(p place) error { return os.Remove(p.at("outside/removed")) }},
	{"rename out of outside", true, func(p place) error { return os.Rename(p.at("outside/renamed"), p.at("ws/renamed")) }},
	{"rename to outside", true, func(p place) error {
		write(p.at("ws/mine"))
		return os.Rename(p.at("ws/mine"), p.at("outside/mine"))
	}},
	{"chmod outside", true, func(p place) error { return os.Chmod(p.at("outside/secret"), 0o777) }},
	{"chown outside", true, func(p place) error { return os.Chown(p.at("outside/secret"), os.Getuid(), os.Getgid()) }},
	{"set times outside", true, func(p place) error { return os.Chtimes(p.at("outside/secret"), time.Now(), time.Now()) }},
	{"set an attribute outside", false, func(p place) error { return unix.Setxattr(p.at("outside/secret"), "user.x", []byte("x"), 0) }},
	{"write what may only be read", true, func(p place) error { return write(p.at("read/file")) }},
	{"create in what may only be read", true, func(p place) error { return write(p.at("read/new")) }},
	{"chmod what may only be read", true, func(p place) error { return os.Chmod(p.at("read/file"), 0o777) }},
	{"chmod what may only be read, opened", true, func(p place) error {
		f, err := os.Open(p.at("read/file"))
		if err != nil {
			return err
		}
		return f.Chmod(0o777)
	}},
	{"write through a symlink into what may only be read", true, func(p place) error {
		os.Symlink(p.at("read/file"), p.at("ws/toread"))
		return write(p.at("ws/toread"))
	}},
	{"hard link into what may only be read", true, func(p place) error {
		write(p.at("ws/linked"))
		return os.Link(p.at("ws/linked"), p.at("read/linked"))
	}},
	{"hard link what may only be read, and write it", true, func(p place) error {
		if err := os.Link(p.at("read/file"), p.at("ws/fromread")); err != nil {
			return err
		}
		return write(p.at("ws/fromread"))
	}},
	{"write /usr", false, func(place) error { return write("/usr/bin/reeve-was-here") }},
	{"read a symlink out", true, func(p place) error {
		os.Symlink(p.at("outside/secret"), p.at("ws/link"))
		return read(p.at("ws/link"))
	}},
	{"read a relative symlink out", true, func(p place) error {
		os.Symlink("../outside/secret", p.at("ws/relative"))
		return read(p.at("ws/relative"))
	}},
	{"read through a directory's symlink", true, func(p place) error {
		os.Symlink(p.at("outside"), p.at("ws/dirlink"))
		return read(p.at("ws/dirlink/secret"))
	}},
	{"create through a symlink to what does not exist", true, func(p place) error {
		os.Symlink(p.at("outside/later"), p.at("ws/later"))
		return write(p.at("ws/later"))
	}},
	{"read a symlink that was there before", true, func(p place) error { return read(p.at("ws/planted")) }},
	{"hard link outside into the scope", true, func(p place) error { return os.Link(p.at("outside/secret"), p.at("ws/hard")) }},
	{"read /etc/shadow", false, func(place) error { return read("/etc/shadow") }},
	{"list /root", false, func(place) error { _, err := os.ReadDir("/root"); return err }},
	{"list the root", true, func(place) error { return lists("/", "root") }},
	{"/proc/self/root", true, func(p place) error { return read("/proc/self/root" + p.at("outside/secret")) }},
	{"/proc/self/cwd", true, func(place) error { return read("/proc/self/cwd/../outside/secret") }},
	{"/proc of the first process: root", false, func(p place) error { return read("/proc/1/root" + p.at("outside/secret")) }},
	{"/proc of the first process: environment", false, func(place) error { return read("/proc/1/environ") }},
	{"/proc of the first process: memory", false, func(place) error { return read("/proc/1/maps") }},
	{"/proc of the first process: files", false, func(place) error {
		for fd := range 20 {
			if link := fmt.Sprintf("/proc/1/fd/%d", fd); read(link) == nil {
				return nil
			} else if _, err := os.Readlink(link); err == nil {
				return nil
			}
		}
		return errors.New("none")
	}},
	{"/proc of the host: environment", true, func(p place) error { return read(fmt.Sprintf("/proc/%d/environ", p.Host)) }},
	{"/proc of the host: root", true, func(p place) error { return read(fmt.Sprintf("/proc/%d/root%s", p.Host, p.at("outside/secret"))) }},
	{"/proc of the host: command line", true, func(p place) error { return read(fmt.Sprintf("/proc/%d/cmdline", p.Host)) }},
	{"write /proc/sys", false, func(place) error {
		b, err := os.ReadFile("/proc/sys/vm/drop_caches")
		if err != nil {
			return err
		}
		return os.WriteFile("/proc/sys/vm/drop_caches", b, 0)
	}},
	{"/sys/fs/cgroup", true, func(place) error { _, err := os.ReadDir("/sys/fs/cgroup"); return err }},
	{"/dev/mem and disks", false, func(place) error {
		for _, d := range []string{"/dev/mem", "/dev/kmsg", "/dev/vda", "/dev/sda", "/dev/tty"} {
			if f, err := os.OpenFile(d, os.O_RDWR, 0); err == nil {
				f.Close()
				return nil
			}
		}
		return errors.New("none")
	}},
	{"make a device", false, func(p place) error { return unix.Mknod(p.at("ws/dev"), unix.S_IFCHR|0o666, 1<<8|1) }},
	{"open files of the helper", false, func(place) error {
		for fd := 3; fd < 200; fd++ {
			if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
				return nil // the Go runtime's own are CLOEXEC
			}
		}
		return errors.New("none")
	}},
	{"capabilities", false, func(place) error {
		b, _ := os.ReadFile("/proc/thread-self/status")
		for line := range strings.Lines(string(b)) {
			if name, value, _ := strings.Cut(line, ":"); strings.HasPrefix(name, "Cap") && strings.Trim(value, "0\t\n") != "" {
				return nil
			}
		}
		header, data := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, [2]unix.CapUserData{}
		if err := unix.Capget(&header, &data[0]); err != nil || data == [2]unix.CapUserData{} {
			return errors.New("none")
		}
		return nil
	}},
	{"new privileges", false, func(place) error {
		if v, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil || v == 1 {
			return errors.New("none")
		}
		return nil
	}},
	{"a user namespace, and mounts in it", false, func(place) error {
		cmd := exec.Command("/bin/true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS}
		return cmd.Run()
	}},
	{"unshare", false, func(place) error { return unix.Unshare(unix.CLONE_NEWNET) }},
	{"clone3", false, func(place) error { return call(unix.SYS_CLONE3, 0, 0) }},
	{"setns", false, func(place) error { return call(unix.SYS_SETNS, 0, 0) }},
	{"mount", false, func(p place) error { return unix.Mount("tmpfs", p.at("ws"), "tmpfs", 0, "") }},
	{"make what may only be read writable", false, func(p place) error {
		return unix.MountSetattr(unix.AT_FDCWD, p.at("read"), 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
	}},
	{"chroot", false, func(p place) error { return unix.Chroot(p.at("ws")) }},
	{"ptrace", false, func(place) error { return unix.PtraceAttach(os.Getppid()) }},
	{"read another's memory", false, func(p place) error { return call(unix.SYS_PROCESS_VM_READV, uintptr(p.Host), 0) }},
	{"bpf", false, func(place) error { return call(unix.SYS_BPF, 0, 0) }},
	{"perf_event_open", false, func(place) error { return call(unix.SYS_PERF_EVENT_OPEN, 0, 0) }},
	{"io_uring", false, func(place) error {
		params := make([]byte, 120)
		return call(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params[0])))
	}},
	{"userfaultfd", false, func(place) error { return call(unix.SYS_USERFAULTFD, 1, 0) }},
	{"the kernel's keys", false, func(place) error { return call(unix.SYS_KEYCTL, 0, ^uintptr(2)) }},
	{"type into the terminal", false, func(place) error {
		b := byte('x')
		_, _, e := unix.Syscall(unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(unsafe.Pointer(&b)))
		if e != unix.EPERM {
			return nil // ENOTTY would say that the filter let it pass
		}
		return e
	}},
	{"signal the host", true, func(p place) error { return unix.Kill(p.Host, 0) }},
	{"stop the first process", false, func(place) error {
		for _, s := range []unix.Signal{unix.SIGSTOP, unix.SIGKILL} {
			unix.Kill(os.Getppid(), s) // if it did, nothing would be reported
		}
		return errors.New("it is still there")
	}},
	{"TCP", true, func(p place) error { return dial("tcp", p.TCP) }},
	{"UDP", true, func(p place) error { return dial("udp", p.UDP) }},
	{"UDP with sendto alone", true, func(p place) error {
		c, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		to, _ := net.ResolveUDPAddr("udp", p.UDP)
		_, err = c.WriteTo([]byte("out"), to)
		return err
	}},
	{"DNS", true, func(p place) error {
		r := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "udp", p.UDP)
		}}
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		defer cancel()
		_, err := r.LookupHost(ctx, "secret.example.com")
		if e := (*net.DNSError)(nil); errors.As(err, &e) && e.IsTimeout {
			return nil // it was sent, and nobody answered
		}
		return err
	}},
	{"the host's UNIX socket", true, func(p place) error { return dial("unix", p.at("outside/socket")) }},
	{"the host's abstract UNIX socket", true, func(p place) error { return dial("unix", "@"+p.Abstract) }},
	{"the host's datagram UNIX socket", true, func(p place) error { return dial("unixgram", p.at("outside/datagram")) }},
}

// unixFamilies are sockets that may be there; every other family is an escape.
func init() {
	for family := range 46 {
		if family == unix.AF_UNIX {
			continue
		}
		escapes = append(escapes, struct {
			name    string
			without bool
			try     func(p place) error
		}{fmt.Sprintf("socket of family %d", family), family == unix.AF_INET || family == unix.AF_INET6 || family == unix.AF_NETLINK, func(place) error {
			for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_RAW, unix.SOCK_SEQPACKET, unix.SOCK_DCCP, unix.SOCK_PACKET} {
				fd, err := unix.Socket(family, kind, 0)
				if err == nil {
					unix.Close(fd)
					return nil
				}
			}
			return errors.New("no kind")
		}})
	}
}

func lists(dir, name string) error {
	entries, err := os.ReadDir(dir)
	if err == nil && !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == name }) {
		err = errors.New("is not listed")
	}
	return err
}

func read(p string) error { _, err := os.ReadFile(p); return err }

func write(p string) error {
	f, err := os.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString("written")
	return err
}

func dial(network, address string) error {
	c, err := net.DialTimeout(network, address, time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err = c.Write([]byte("out")); network == "tcp" || network == "unix" {
		return nil // it was accepted
	}
	return err
}

func call(number, a, b uintptr) error {
	if _, _, e := unix.Syscall6(number, a, b, 0, 0, 0, 0); e == unix.EPERM || e == unix.ENOSYS {
		return e
	}
	return nil // any other answer is the call's own: it was let pass
}

// attempt is the command in the sandbox.
func attempt(what string, args []string) int {
	switch what {
	case "escapes":
		var p place
		if err := json.Unmarshal([]byte(args[0]), &p); err != nil {
			panic(err)
		}
		for _, e := range escapes {
			if len(args) > 1 && !e.without {
				continue // it could harm the machine
			}
			if err := e.try(p); err != nil {
				fmt.Printf("%s\theld\t%v\n", e.name, strings.ReplaceAll(err.Error(), "\n", " "))
			} else {
				fmt.Printf("%s\tout\n", e.name)
			}
		}
		fmt.Println("end")
	case "allowed":
		return allowed(args[0])
	case "fill": // how, MB
		n, _ := strconv.Atoi(args[1])
		fills[args[0]]("ws", n)
		if time.Sleep(500 * time.Millisecond); n > 8 {
			time.Sleep(time.Minute)
		}
	case "numbers":
		return numbers(args[0], args[1])
	case "number":
		n, _ := strconv.Atoi(args[1])
		tryNumber(args[0], n)
	case "balloon": // MB
		n, _ := strconv.Atoi(args[0])
		balloon(n)
	case "balloons": // children, MB each
		var all []*exec.Cmd
		n, _ := strconv.Atoi(args[0])
		for range n {
			c := exec.Command("/proc/self/exe", "attempt", "balloon", args[1])
			if len(args) > 2 {
				c = exec.Command(args[2], "attempt", "balloon", args[1])
			}
			if err := c.Start(); err != nil {
				fmt.Println(err)
				continue
			}
			all = append(all, c)
		}
		failed := 0
		for _, c := range all {
			if c.Wait() != nil {
				failed++
			}
		}
		fmt.Println("failed", failed)
		if failed == 0 {
			return 0
		}
		return 1
	case "forkbomb":
		return forkBomb(args[0])
	case "spin": // for so long
		d, _ := time.ParseDuration(args[0])
		for end := time.Now().Add(d); time.Now().Before(end); {
		}
	case "pulse": // a file that grows while this lives
		pulse(args[0])
	case "leave": // a pulse in a session of its own, whose parent is gone
		c := exec.Command(args[1], "attempt", "leave2", args[0], args[1])
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := c.Start(); err != nil {
			fmt.Println(err)
			return 1
		}
		if len(args) > 2 { // and stays itself, deaf
			pulse(args[0] + "-self")
		}
		for range 300 { // until what is left has begun
			if b, err := os.ReadFile(args[0]); err == nil && len(b) > 0 {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	case "leave2":
		c := exec.Command(args[1], "attempt", "pulse", args[0])
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := c.Start(); err != nil {
			return 1
		}
	case "echo":
		io.Copy(os.Stdout, os.Stdin)
		fmt.Fprint(os.Stderr, "err")
		return 7
	case "fetch": // URLs, through the proxy that it was told of
		return fetch(args)
	case "env":
		for _, e := range os.Environ() {
			fmt.Println(e)
		}
	case "reeve": // one that runs a command, and is killed
		var m act.Manifest
		json.Unmarshal([]byte(args[0]), &m)
		_, err := Run(context.Background(), m, Command{Args: args[1:]})
		fmt.Println(err)
	}
	return 0
}

func pulse(file string) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3000 {
		f.WriteString(".")
		time.Sleep(10 * time.Millisecond)
	}
}

func balloon(mb int) {
	var kept [][]byte
	for range mb {
		b := make([]byte, 1<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		kept = append(kept, b)
	}
	time.Sleep(200 * time.Millisecond)
	runtime.KeepAlive(kept)
}

// forkBomb starts children until no more can be had.
func forkBomb(seconds string) int {
	n := 0
	for ; n < 3*maxProcesses; n++ {
		pid, err := syscall.ForkExec("/bin/sleep", []string{"sleep", seconds}, &syscall.ProcAttr{})
		if err != nil || pid == 0 {
			break
		}
	}
	fmt.Println(n)
	return 0
}

// allowed does what the manifest allows.
func allowed(dir string) int {
	for _, a := range []struct {
		name string
		try  func() error
	}{
		{"write", func() error { return write(dir + "/ws/file") }},
		{"read", func() error { return read(dir + "/ws/file") }},
		{"mkdir", func() error { return os.MkdirAll(dir+"/ws/x/y", 0o755) }},
		{"rename", func() error { write(dir + "/ws/r"); return os.Rename(dir+"/ws/r", dir+"/ws/x/y/r") }},
		{"link", func() error { write(dir + "/ws/l"); return os.Link(dir+"/ws/l", dir+"/ws/x/l") }},
		{"remove", func() error { write(dir + "/ws/d"); return os.Remove(dir + "/ws/d") }},
		{"only", func() error { return read(dir + "/read/file") }},
		{"lib", func() error { _, err := os.ReadDir("/usr/lib"); return err }},
		{"null", func() error { return write("/dev/null") }},
		{"random", func() error {
			f, err := os.Open("/dev/urandom")
			if err == nil {
				_, err = f.Read(make([]byte, 8))
			}
			return err
		}},
		{"command", func() error { return exec.Command("/bin/sh", "-c", "true | cat && sleep 0").Run() }},
		{"memory", func() error { return read("/proc/meminfo") }},
	} {
		if err := a.try(); err != nil {
			fmt.Println(a.name, err)
			return 1
		}
	}
	return 0
}

// newPlace lays out a place, with somebody who listens outside. heard counts what came.
func newPlace(t testing.TB) (p place, heard func() int) {
	p = place{Dir: publicDir(t), Host: os.Getpid()}
	p.Abstract = filepath.Base(p.Dir)
	for _, d := range []string{"ws", "ws-evil", "outside", "read"} {
		if err := os.Mkdir(p.at(d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"ws-evil/secret", "outside/secret", "outside/truncated", "outside/removed", "outside/renamed", "read/file"} {
		if err := os.WriteFile(p.at(f), []byte("secret"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(p.at("outside/secret"), p.at("ws/planted")); err != nil {
		t.Fatal(err)
	}
	counts := make(chan int, 1000)
	for _, network := range []string{"tcp", "unix", "abstract"} {
		address := "127.0.0.1:0"
		switch network {
		case "unix":
			address = p.at("outside/socket")
		case "abstract":
			network, address = "unix", "@"+p.Abstract
		}
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		if network == "tcp" {
			p.TCP = l.Addr().String()
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				counts <- 1
				c.Close()
			}
		}()
	}
	for _, at := range [][2]string{{"udp", "127.0.0.1:0"}, {"unixgram", p.at("outside/datagram")}} {
		c, err := net.ListenPacket(at[0], at[1])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if at[0] == "udp" {
			p.UDP = c.LocalAddr().String()
		}
		go func() {
			for {
				if _, _, err := c.ReadFrom(make([]byte, 512)); err != nil {
					return
				}
				counts <- 1
			}
		}()
	}
	return p, func() int { time.Sleep(20 * time.Millisecond); return len(counts) }
}

// publicDir is a directory that a normal user can reach, too.
func publicDir(t testing.TB) string {
	dir, err := os.MkdirTemp("", "reeve-sandbox-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func (p place) manifest() act.Manifest {
	return act.Manifest{MaxMemoryMB: 200 + raceMB, MaxCPUPercent: 100 * runtime.NumCPU(), TimeoutSeconds: 30,
		FilesystemScope: []string{p.at("ws") + "/**"}, FilesystemRead: []string{p.at("read")}}
}

// machines are this machine, and what it would be with less: what is missing is
// then advisory, and everything else must hold all the same.
func machines(t testing.TB) map[string]struct {
	*machine
	advisory []string
} {
	full, err := thisMachine()
	if err != nil {
		t.Fatal(err)
	}
	type variant = struct {
		*machine
		advisory []string
	}
	with := func(change func(*machine), advisory ...string) variant {
		mc := *full
		change(&mc)
		if !mc.cgroups.has("memory") {
			advisory = append(advisory, "max_memory_mb", "max_cpu_percent")
		}
		return variant{&mc, advisory}
	}
	all := map[string]variant{
		"everything that is here": with(func(*machine) {}),
		"without cgroups":         with(func(mc *machine) { mc.cgroups = nil }),
	}
	if full.landlock >= landlockWhole {
		all["Landlock and seccomp only"] = with(func(mc *machine) { mc.cgroups, mc.namespaces, mc.user, mc.root = nil, false, false, false }, "timeout_seconds")
		if full.cgroups.has("kill") {
			all["Landlock, seccomp and cgroups"] = with(func(mc *machine) { mc.namespaces, mc.user, mc.root = false, false, false })
		}
		all["Landlock, seccomp and namespaces"] = with(func(mc *machine) { mc.root = false })
	}
	if full.root {
		all["without Landlock"] = with(func(mc *machine) { mc.landlock = 0 })
	}
	if full.namespaces && os.Geteuid() == 0 {
		all["without a user namespace"] = with(func(mc *machine) { mc.user = false })
	}
	return all
}

func runAttempt(t testing.TB, mc *machine, m act.Manifest, args ...string) (Outcome, string) {
	t.Helper()
	var out bytes.Buffer
	o, err := mc.run(t.Context(), m, Command{Args: append([]string{self(t), "attempt"}, args...), Env: []string{"GORACE=atexit_sleep_ms=0"}, Stdout: &out, Stderr: &out})
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	return o, out.String()
}

func self(t testing.TB) string {
	p, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestThreat19Escapes tries every escape on this machine and on lesser ones.
func TestThreat19Escapes(t *testing.T) {
	for name, v := range machines(t) {
		t.Run(name, func(t *testing.T) {
			p, heard := newPlace(t)
			m := p.manifest()
			m.Advisory = v.advisory
			told, _ := json.Marshal(p)
			o, out := runAttempt(t, v.machine, m, "escapes", string(told))
			tried := map[string]bool{}
			for line := range strings.Lines(out) {
				name, result, _ := strings.Cut(strings.TrimSpace(line), "\t")
				tried[name] = true
				if result == "out" {
					t.Errorf("%s: got out", name)
				} else if strings.HasPrefix(result, "held") && testing.Verbose() {
					t.Logf("%s: %s", name, result)
				}
			}
			for _, e := range escapes {
				if !tried[e.name] {
					t.Errorf("%s: was not tried", e.name)
				}
			}
			if !tried["end"] || o.ExitCode != 0 {
				t.Errorf("the command did not reach its end: %+v\n%s", o, out)
			}
			if n := heard(); n > 0 {
				t.Errorf("something was heard outside %d times", n)
			}
			for _, f := range []string{"outside/secret", "ws-evil/secret", "read/file", "outside/truncated", "outside/removed", "outside/renamed"} {
				if b, err := os.ReadFile(p.at(f)); err != nil || string(b) != "secret" {
					t.Errorf("%s is now %q, %v", f, b, err)
				}
			}
			if found := leftBehind(t, p.at("ws")); found != nil {
				t.Errorf("left behind: %q", found)
			}
			outside, _ := os.ReadDir(p.at("outside"))
			if len(outside) != 6 {
				t.Errorf("outside has %d files", len(outside))
			}
		})
	}
}

// TestEscapesWithout shows that the attempts are such: without a sandbox they succeed.
func TestEscapesWithout(t *testing.T) {
	p, heard := newPlace(t)
	told, _ := json.Marshal(p)
	cmd := exec.Command(self(t), "attempt", "escapes", string(told), "without")
	cmd.Dir = p.at("ws")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	b, _ := cmd.Output()
	lines := strings.Split(string(b), "\n")
	for _, e := range escapes {
		if e.without && !slices.Contains(lines, e.name+"\tout") {
			i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, e.name+"\t") })
			t.Errorf("%s does not even succeed without a sandbox: %v", e.name, lines[max(i, 0)])
		}
	}
	if heard() == 0 {
		t.Error("nothing was heard outside")
	}
}

func TestWhatIsAllowedWorks(t *testing.T) {
	for name, v := range machines(t) {
		t.Run(name, func(t *testing.T) {
			p, _ := newPlace(t)
			m := p.manifest()
			m.Advisory = v.advisory
			if o, out := runAttempt(t, v.machine, m, "allowed", p.Dir); o.ExitCode != 0 {
				t.Errorf("%+v\n%s", o, out)
			}
		})
	}
}

// TestBackground leaves processes behind, in sessions of their own, and looks
// whether they live on after the command's end, or after its time.
func TestBackground(t *testing.T) {
	for name, v := range machines(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := newPlace(t)
			m := p.manifest()
			m.Advisory, m.TimeoutSeconds = v.advisory, 60
			_, out := runAttempt(t, v.machine, m, "leave", p.at("ws/pulse"), self(t))
			mustStop(t, p.at("ws/pulse"), out)
			// A machine may be too busy to leave anything in a short time.
			for m.TimeoutSeconds = 4; ; m.TimeoutSeconds *= 4 {
				var o Outcome
				o, out = runAttempt(t, v.machine, m, "leave", p.at("ws/late"), self(t), "stay")
				if !o.TimedOut || o.Signal != "SIGKILL" {
					t.Errorf("after %d s: %+v", m.TimeoutSeconds, o)
				}
				late, _ := os.ReadFile(p.at("ws/late"))
				self, _ := os.ReadFile(p.at("ws/late-self"))
				if len(late) > 0 && len(self) > 0 || m.TimeoutSeconds > 60 {
					break
				}
			}
			mustStop(t, p.at("ws/late"), out)
			mustStop(t, p.at("ws/late-self"), out)
		})
	}
}

// mustStop checks that a pulse was there and is there no more.
func mustStop(t *testing.T, file, out string) {
	t.Helper()
	before, err := os.ReadFile(file)
	if err != nil || len(before) == 0 {
		t.Fatalf("%s never had a pulse: %v\n%s", file, err, out)
	}
	time.Sleep(150 * time.Millisecond)
	if after, _ := os.ReadFile(file); len(after) != len(before) {
		t.Errorf("%s still has a pulse", file)
	}
}

// TestReeveIsKilled kills the program that called Run, at once.
func TestReeveIsKilled(t *testing.T) {
	p, _ := newPlace(t)
	m := p.manifest()
	m.Advisory = []string{"max_memory_mb", "max_cpu_percent", "timeout_seconds"}
	told, _ := json.Marshal(m)
	cmd := exec.Command(self(t), "attempt", "reeve", string(told), self(t), "attempt", "leave", p.at("ws/pulse"), self(t), "stay")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for i := 0; read(p.at("ws/pulse")) != nil; i++ {
		if time.Sleep(10 * time.Millisecond); i > 500 {
			t.Fatal("the command did not start")
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
	time.Sleep(100 * time.Millisecond)
	mustStop(t, p.at("ws/pulse"), "")
	mustStop(t, p.at("ws/pulse-self"), "")
	if tree := findCgroups(); tree != nil {
		for _, dir := range tree.v1 {
			if left, _ := filepath.Glob(filepath.Join(dir, fmt.Sprintf("reeve-%d-*", cmd.Process.Pid))); left != nil {
				t.Errorf("its cgroups are still there: %v", left)
			}
		}
	}
}

func TestMemory(t *testing.T) {
	for name, v := range machines(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := newPlace(t)
			m := p.manifest()
			m.Advisory, m.MaxMemoryMB = v.advisory, 150+raceMB
			if o, out := runAttempt(t, v.machine, m, "balloon", "20"); o.ExitCode != 0 || o.MemoryPeakMB < 20 || o.MemoryPeakMB > 100+raceMB {
				t.Errorf("within the limit: %+v\n%s", o, out)
			}
			if o, _ := runAttempt(t, v.machine, m, "balloon", strconv.Itoa(1000+2*raceMB)); o.ExitCode == 0 {
				t.Errorf("one balloon: %+v", o)
			} else if o.MemoryPeakMB > 150+raceMB+burstMB {
				t.Errorf("one balloon reached %d MB", o.MemoryPeakMB)
			}
			o, out := runAttempt(t, v.machine, m, "balloons", "5", strconv.Itoa(80+raceMB/3), self(t))
			if o.ExitCode == 0 || !o.OutOfMemory {
				t.Errorf("five balloons: %+v\n%s", o, out)
			}
		})
	}
}

func TestCPU(t *testing.T) {
	for name, v := range machines(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := newPlace(t)
			m := p.manifest()
			m.Advisory, m.MaxCPUPercent = v.advisory, 20
			o, _ := runAttempt(t, v.machine, m, "spin", "700ms")
			if o.ExitCode != 0 || o.CPUPercent > 50 || o.CPUPercent < 5 {
				t.Errorf("%+v", o)
			}
			t.Logf("%.1f %%", o.CPUPercent)
		})
	}
}

func TestForkBomb(t *testing.T) {
	for name, v := range machines(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := newPlace(t)
			m := p.manifest()
			m.Advisory, m.MaxMemoryMB = v.advisory, 2000
			seconds := fmt.Sprintf("61.%d", time.Now().UnixNano())
			o, out := runAttempt(t, v.machine, m, "forkbomb", seconds)
			n, err := strconv.Atoi(strings.TrimSpace(out))
			if o.Signal == "SIGKILL" && !v.cgroups.has("pids") {
				return // nothing else counts here: the watcher killed it
			}
			if err != nil || n > maxProcesses {
				t.Errorf("%d processes: %+v %v %s", n, o, err, out)
			}
			if b, _ := exec.Command("ps", "-eo", "args").Output(); bytes.Contains(b, []byte("sleep "+seconds)) {
				t.Error("some live on")
			}
		})
	}
}

// TestUnprivileged runs the suite as a normal user, when this one is not.
func TestUnprivileged(t *testing.T) {
	if os.Geteuid() != 0 {
		return // then all the others have
	}
	const user = 54321
	dir := publicDir(t)
	program := filepath.Join(dir, "sandbox.test")
	b, err := os.ReadFile(self(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, b, 0o755); err != nil {
		t.Fatal(err)
	}
	tmp := filepath.Join(dir, "tmp")
	if err := os.Mkdir(tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	// What others write to a shared disk can count as a command's. This one is shared with nobody.
	if unix.Mount("tmpfs", tmp, "tmpfs", 0, "size=2g") == nil {
		t.Cleanup(func() { unix.Unmount(tmp, unix.MNT_DETACH) })
	}
	if err := os.Chown(tmp, user, user); err != nil {
		t.Fatal(err)
	}
	tests := "Escapes|Threat19|OrdinaryModes|Allowed|Background|Killed|TestMemory|CPU|ForkBomb|Streams|Proxied|Refus"
	if raceMB == 0 { // the race detector needs more memory than a module has
		tests += "|WASM"
	}
	cmd := exec.Command(program, "-test.v", "-test.run", tests)
	cmd.Dir, cmd.Env = tmp, []string{"TMPDIR=" + tmp, "HOME=" + tmp, "PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	out, err := cmd.CombinedOutput()
	ran := 0
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		if strings.Contains(lines.Text(), "--- PASS: ") {
			ran++
		}
	}
	if err != nil || ran < 20 {
		t.Errorf("as a normal user, %d passed, %v:\n%s", ran, err, out)
	}
	t.Logf("%d passed", ran)
}
