package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The names under which the program starts itself. The first process, init, is
// the first of the PID namespace: it makes the root, starts the second and
// outlives it, so that the command is an ordinary process and everything ends
// when it has ended. The second, lock, takes rights away from itself and
// becomes the command.
const (
	initName = "reeve-sandbox-init"
	lockName = "reeve-sandbox-lock"
	wasmName = "reeve-sandbox-wasm"
)

// Descriptors of the helpers.
const (
	orderFD   = 3
	controlFD = 4 // of init: messages to whom it serves; of lock: where it says why it failed
	cgroupFD  = 5
)

// Messages on the control socket, by their first byte.
const (
	startedMessage  = 'S'
	endedMessage    = 'E' // and an ending in JSON
	failedMessage   = 'F' // and a sentence
	listenerMessage = 'L' // and a descriptor
)

// ending is how the command ended.
type ending struct {
	ExitCode int
	Signal   string
	Duration time.Duration // from before its process was made
	CPU      time.Duration // of it and of all its children that were waited for
	MaxRSS   int64         // of the largest, in bytes
}

// proxyAddress is where the filtering proxy listens, in the command's own
// network namespace, in which nothing else listens.
const proxyAddress = "127.0.0.1:3128"

var mainCalled bool

// Main must be the first call in main. When the program was started as the
// sandbox's own helper it never returns; otherwise it does nothing.
func Main() {
	mainCalled = true
	if len(os.Args) != 1 {
		return
	}
	switch os.Args[0] {
	case initName:
		runtime.LockOSThread()
		control := os.NewFile(controlFD, "control")
		if err := initMain(control); err != nil {
			unix.Write(controlFD, []byte(string(failedMessage)+err.Error()))
		}
		os.Exit(1)
	case lockName:
		// What is taken away is taken from this thread, which becomes the process.
		runtime.LockOSThread()
		err := lockMain()
		unix.Write(controlFD, []byte(err.Error()))
		os.Exit(1)
	case wasmName:
		os.Exit(wasmMain())
	}
}

func readOrder() (o order, err error) {
	info, err := os.NewFile(orderFD, "order").Stat()
	if err != nil {
		return o, err
	}
	b := make([]byte, info.Size())
	if n, err := unix.Pread(orderFD, b, 0); err != nil || n != len(b) {
		return o, errors.Join(err, fmt.Errorf("%d of %d bytes of the order", n, len(b)))
	}
	return o, json.Unmarshal(b, &o)
}

func initMain(control *os.File) error {
	// Nothing that the command could signal it with ends it or prints its stacks.
	// (To ignore them would have the command ignore them too.)
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGABRT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGPIPE, unix.SIGTSTP)
	o, err := readOrder()
	if err != nil {
		return fmt.Errorf("reading the order: %w", err)
	}
	unix.CloseOnExec(orderFD)
	unix.CloseOnExec(controlFD)
	// The command must not look into this process, through /proc or otherwise.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	if !o.Namespaces {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return err
		}
	}
	if o.Network == proxyNetwork {
		if err := sendListener(); err != nil {
			return fmt.Errorf("listening for the proxy: %w", err)
		}
	}
	if o.Root {
		if err := enterRoot(o.Grants); err != nil {
			return fmt.Errorf("making a root: %w", err)
		}
	}
	if o.Probe {
		unix.Write(controlFD, []byte{startedMessage})
		return nil
	}

	// The leash: whoever this serves has died, or wants an end of it.
	main := 0
	go func() {
		control.Read(make([]byte, 1)) // blocks until the other end is closed
		if o.Namespaces {
			os.Exit(0) // and the kernel ends everything in the PID namespace
		}
		for {
			killChildren()
			time.Sleep(time.Millisecond)
		}
	}()
	began := time.Now()
	if main, err = startLock(&o); err != nil {
		return err
	}
	unix.Write(controlFD, []byte{startedMessage})
	end, err := reap(main, o.Namespaces)
	if err != nil {
		return err
	}
	end.Duration = time.Since(began)
	b, err := json.Marshal(end)
	if err != nil {
		return err
	}
	unix.Write(controlFD, append([]byte{endedMessage}, b...))
	os.Exit(0)
	return nil
}

// startLock starts the second helper and waits until it has become the command.
func startLock(o *order) (pid int, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	files := []uintptr{0, 1, 2, orderFD, w.Fd()}
	attr := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	next := cgroupFD
	if o.CgroupDir {
		attr.UseCgroupFD, attr.CgroupFD = true, next
		next++
	}
	for i := range o.CgroupFDs {
		files = append(files, uintptr(next+i))
	}
	pid, err = syscall.ForkExec("/proc/self/exe", []string{lockName}, &syscall.ProcAttr{Env: helperEnv, Files: files, Sys: attr})
	w.Close()
	if err != nil {
		return 0, fmt.Errorf("starting the helper: %w", err)
	}
	why, _ := io.ReadAll(io.LimitReader(r, 4096)) // ends when the command has begun
	if len(why) > 0 {
		return 0, errors.New(string(why))
	}
	// What the command closes must be closed.
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err == nil {
		for fd := range 3 {
			unix.Dup3(null, fd, 0)
		}
	}
	return pid, nil
}

// helperEnv keeps the helpers' short lives short.
var helperEnv = []string{"GOGC=off", "GOMAXPROCS=2"}

// reap waits for the command, and for what was left to this process. When the
// command has ended and there is no PID namespace to end, it kills what is left.
func reap(main int, namespaces bool) (end ending, err error) {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ECHILD) && main == 0:
			return end, nil
		case err != nil:
			return end, err
		}
		if pid == main {
			var used unix.Rusage
			unix.Getrusage(unix.RUSAGE_CHILDREN, &used)
			end = ending{ExitCode: status.ExitStatus(), CPU: time.Duration(used.Utime.Nano() + used.Stime.Nano()), MaxRSS: used.Maxrss << 10}
			if status.Signaled() {
				end.Signal = unix.SignalName(status.Signal())
			}
			if namespaces {
				return end, nil
			}
			main = 0
		}
		if main == 0 {
			killChildren() // and theirs become this process's, until there are none
		}
	}
}

// killChildren kills this process's children.
func killChildren() {
	tasks, _ := filepath.Glob("/proc/self/task/*/children")
	for _, file := range tasks {
		for _, pid := range readPids(file) {
			unix.Kill(pid, unix.SIGKILL)
		}
	}
}

// sendListener brings up the loopback of this process's network namespace,
// listens there for the proxy, and hands the socket to the outside: a socket
// stays in the namespace in which it was made, whoever accepts from it.
func sendListener() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo); err != nil {
		return fmt.Errorf("loopback: %w", err)
	}
	listener, err := net.Listen("tcp4", proxyAddress)
	if err != nil {
		return err
	}
	defer listener.Close()
	file, err := listener.(*net.TCPListener).File()
	if err != nil {
		return err
	}
	defer file.Close()
	return unix.Sendmsg(controlFD, []byte{listenerMessage}, unix.UnixRights(int(file.Fd())), nil, 0)
}

// lockMain takes away what the command must not have and becomes the command.
// It returns only with an error. Its order matters: what limits memory comes
// last, since a Go program cannot live in little.
func lockMain() error {
	o, err := readOrder()
	if err != nil {
		return fmt.Errorf("reading the order: %w", err)
	}
	if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close_range: %w", err)
	}
	for i := range o.CgroupFDs {
		if _, err := unix.Write(cgroupFD+i, []byte("0")); err != nil {
			return fmt.Errorf("joining the cgroup: %w", err)
		}
	}
	if err := unix.Chdir(string(o.Dir)); err != nil {
		return fmt.Errorf("the directory %s: %w", o.Dir, err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	if o.Landlock > 0 {
		if err := restrictFiles(o.Landlock, o.Grants); err != nil {
			return fmt.Errorf("restrict files with Landlock: %w", err)
		}
	}
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}

	program, args, env, err := execArguments(&o)
	if err != nil {
		return err
	}
	var filter *unix.SockFprog
	if o.Seccomp {
		filter = seccompProgram(&o)
	}
	for _, l := range []struct {
		set      bool
		resource int
		unix.Rlimit
	}{
		{true, unix.RLIMIT_CORE, unix.Rlimit{}},
		{o.Count, unix.RLIMIT_NPROC, unix.Rlimit{Cur: maxProcesses, Max: maxProcesses}},
		{true, unix.RLIMIT_NOFILE, unix.Rlimit{Cur: 1024, Max: maxFiles()}},
		{o.FileLimit > 0, unix.RLIMIT_FSIZE, unix.Rlimit{Cur: o.FileLimit, Max: o.FileLimit}},
		{o.DataLimit > 0, unix.RLIMIT_DATA, unix.Rlimit{Cur: o.DataLimit, Max: o.DataLimit}},
	} {
		if !l.set {
			continue
		}
		if err := unix.Prlimit(0, l.resource, &l.Rlimit, nil); err != nil {
			return fmt.Errorf("limit %d: %w", l.resource, err)
		}
	}
	if filter != nil {
		if err := seccomp(unix.SECCOMP_SET_MODE_FILTER, 0, unsafe.Pointer(filter)); err != nil {
			return fmt.Errorf("seccomp: %w", err)
		}
	}
	_, _, errno := unix.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(program)), uintptr(unsafe.Pointer(&args[0])), uintptr(unsafe.Pointer(&env[0])))
	return fmt.Errorf("%s: %w", o.Program, errno)
}

// maxFiles is how many files may be open: what is allowed now, within reason.
func maxFiles() uint64 {
	var now unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &now) != nil || now.Max < 1024 {
		return 1024
	}
	return min(now.Max, 1<<16)
}

func execArguments(o *order) (program *byte, args, env []*byte, err error) {
	if program, err = unix.BytePtrFromString(string(o.Program)); err != nil {
		return nil, nil, nil, err
	}
	pointers := func(in [][]byte) (out []*byte) {
		for _, s := range in {
			var p *byte
			if p, err = unix.BytePtrFromString(string(s)); err != nil {
				return nil
			}
			out = append(out, p)
		}
		return append(out, nil)
	}
	args, env = pointers(o.Args), pointers(o.Env)
	return program, args, env, err
}

// readPids reads a list of process ids.
func readPids(file string) (pids []int) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	for start, i := 0, 0; i <= len(b); i++ {
		if i == len(b) || b[i] == ' ' || b[i] == '\n' {
			if pid, err := strconv.Atoi(string(b[start:i])); err == nil {
				pids = append(pids, pid)
			}
			start = i + 1
		}
	}
	return pids
}
