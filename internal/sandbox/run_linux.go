package sandbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"reeve.example/reeve/act"
)

func (mc *machine) run(ctx context.Context, m act.Manifest, c Command) (Outcome, error) {
	p, o, err := mc.plan(m)
	if err != nil {
		return Outcome{}, err
	}
	if err := p.err(); err != nil {
		return Outcome{}, err
	}
	if err := mc.prepare(o, m, c); err != nil {
		return Outcome{}, err
	}
	return mc.runOrder(ctx, m, p, o, c)
}

// runOrder starts the helper with an order, waits, and measures.
func (mc *machine) runOrder(ctx context.Context, m act.Manifest, p *plan, o *order, c Command) (out Outcome, err error) {
	if err := ctx.Err(); err != nil {
		return out, err
	}
	var proxy *proxy
	if o.Network == proxyNetwork {
		f, err := newFilter(m)
		if err != nil {
			return out, err
		}
		proxy = newProxy(f)
		defer proxy.close()
		o.Env = proxyEnv(o.Env)
	}
	quota := newQuota(m, o.Grants)
	o.FileLimit = fileLimit(m, o.Grants, c.Disk)
	group, err := mc.cgroups.make(int64(m.MaxMemoryMB)<<20, m.MaxCPUPercent)
	if err != nil {
		return out, fmt.Errorf("sandbox: %w", err)
	}
	defer group.remove()
	defer group.kill() // whatever became of the helper

	h, err := mc.start(o, group, c)
	if err != nil {
		return out, err
	}
	defer h.close()
	out.Limits = slices.Clone(p.limits)

	w := mc.watch(m, h)
	if quota != nil {
		ctx = quota.watch(ctx, newTree(h, mc.children, quota.dirs))
	}
	ctx, disk := watchDisk(ctx, c.Disk, func(seen map[fileID]bool) int64 {
		device, _ := deviceOf(c.Disk.Dir)
		bytes, _ := unlinked(h.cmd.Process.Pid, []uint64{device}, seen)
		return bytes
	})
	started, end, err := h.wait(ctx, time.Duration(m.TimeoutSeconds)*time.Second, group, proxy, &out)
	if out.OverDisk, out.OverQuota = disk.stop(), quota.stop(); context.Cause(ctx) == errDisk {
		err = nil // it ended the command, and nobody else did
	}
	if out.OverDisk == "" && out.OverQuota == "" && end.Signal == "SIGXFSZ" && o.FileLimit > 0 {
		if most := fmt.Sprintf("more than %d bytes to one file", o.FileLimit); disk != nil && o.FileLimit == uint64(c.Disk.Bytes) {
			out.OverDisk = most
		} else {
			out.OverQuota = most
		}
	}
	out.Duration = cmp.Or(end.Duration, time.Since(started))
	if w != nil {
		w.stop()
		out.OutOfMemory = w.overMemory.Load()
	}
	out.OutOfMemory = out.OutOfMemory || group.outOfMemory()
	out.ExitCode, out.Signal = end.ExitCode, end.Signal
	out.MemoryPeakMB = megabytes(cmp.Or(group.memoryPeak(), w.memoryPeak(), end.MaxRSS))
	out.CPUPercent = percent(cmp.Or(group.cpu(), end.CPU), out.Duration)
	if proxy != nil {
		for i := range out.Limits {
			if out.Limits[i].Name == "allowed_domains" || out.Limits[i].Name == "blocked_domains" {
				out.Limits[i].Detail = strings.TrimPrefix(out.Limits[i].Detail+proxy.refused(), "; ")
			}
		}
	}
	return out, err
}

// fileLimit is how large one file may become.
func fileLimit(m act.Manifest, grants []grant, own *Disk) uint64 {
	if own == nil || slices.ContainsFunc(grants, func(g grant) bool { return g.Write && !g.Base && g.Path != own.Dir }) {
		return uint64(quotaOf(m).bytes)
	}
	return uint64(min(own.Bytes, quotaOf(m).bytes))
}

// helper is a started command, seen from outside.
type helper struct {
	cmd     *exec.Cmd
	control *net.UnixConn
	exited  chan struct{}
	waited  error // after exited
	pidns   bool
	closers []io.Closer
}

// start starts the first helper with what it needs to know.
func (mc *machine) start(o *order, group *cgroup, c Command) (_ *helper, err error) {
	h := &helper{exited: make(chan struct{}), pidns: o.Namespaces}
	var handed []*os.File // to the child, and closed here
	defer func() {
		for _, f := range handed {
			f.Close()
		}
		if err != nil {
			h.close()
		}
	}()
	dir, procs, err := group.join()
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	o.CgroupDir, o.CgroupFDs = dir != nil, len(procs)
	told, err := memoryFile(o)
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	handed = append(handed, told)
	theirs, err := h.makeControl()
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	handed = append(handed, theirs)
	if dir != nil {
		handed = append(handed, dir)
	}
	handed = append(handed, procs...)

	h.cmd = &exec.Cmd{Path: "/proc/self/exe", Args: []string{initName}, Env: helperEnv, Dir: "/",
		Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr, ExtraFiles: handed, SysProcAttr: mc.attributes(o)}
	if err := h.pumpStdin(c.Stdin); err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	if !o.Namespaces {
		h.cmd.WaitDelay = 2 * time.Second // what escaped could hold its pipes open
	}
	// When the thread that starts a child with Pdeathsig ends, the child is
	// killed: this one waits.
	starting := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := h.cmd.Start()
		starting <- err
		if err == nil {
			h.waited = h.cmd.Wait()
			close(h.exited)
		}
	}()
	if err := <-starting; err != nil {
		return nil, fmt.Errorf("sandbox: starting the helper: %w", err)
	}
	return h, nil
}

func (mc *machine) attributes(o *order) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true}
	if !o.Namespaces {
		return attr
	}
	attr.Cloneflags = unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWNS
	if o.Network != hostNetwork {
		attr.Cloneflags |= unix.CLONE_NEWNET
	}
	if mc.user {
		attr.Cloneflags |= unix.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
	}
	if os.Geteuid() != 0 {
		// The helper makes mounts with them; the command has none.
		attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP}
	}
	return attr
}

func memoryFile(o *order) (*os.File, error) {
	b, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	fd, err := unix.MemfdCreate("reeve-order", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "order")
	if _, err := f.Write(b); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (h *helper) makeControl() (theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	theirs = os.NewFile(uintptr(pair[1]), "control")
	ours := os.NewFile(uintptr(pair[0]), "control")
	defer ours.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		theirs.Close()
		return nil, err
	}
	h.control = conn.(*net.UnixConn)
	return theirs, nil
}

// pumpStdin gives the command its input without waiting, in the end, for a
// reader that never ends.
func (h *helper) pumpStdin(from io.Reader) error {
	if _, file := from.(*os.File); file || from == nil {
		return nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	h.cmd.Stdin = r
	h.closers = append(h.closers, r, w)
	go func() {
		io.Copy(w, from)
		w.Close()
	}()
	return nil
}

func (h *helper) close() {
	if h.control != nil {
		h.control.Close()
	}
	for _, c := range h.closers {
		c.Close()
	}
}

// message is what came over the control socket.
type message struct {
	kind byte
	body []byte
	fds  []int
	at   time.Time
}

// messages passes on what the helper says, until it says no more.
func (h *helper) messages() <-chan message {
	ch := make(chan message, 4)
	go func() {
		defer close(ch)
		for {
			b, oob := make([]byte, 8192), make([]byte, unix.CmsgSpace(4))
			n, oobn, _, _, err := h.control.ReadMsgUnix(b, oob)
			if err != nil || n == 0 {
				return
			}
			msg := message{kind: b[0], body: b[1:n], at: time.Now()}
			if parts, err := unix.ParseSocketControlMessage(oob[:oobn]); err == nil && len(parts) == 1 {
				msg.fds, _ = unix.ParseUnixRights(&parts[0])
			}
			ch <- msg
		}
	}()
	return ch
}

// wait waits for the command's end, and brings it about when its time is over.
// The time runs from when the command began.
func (h *helper) wait(ctx context.Context, limit time.Duration, group *cgroup, proxy *proxy, out *Outcome) (started time.Time, end ending, err error) {
	started, end = time.Now(), ending{ExitCode: -1}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	said := h.messages()
	ended, killed := false, false
	kill := func() {
		killed = true
		group.kill()
		if h.pidns {
			h.cmd.Process.Kill()
		} else {
			h.control.CloseWrite() // the helper kills them
			time.AfterFunc(time.Second, func() { h.cmd.Process.Kill() })
		}
	}
	done, over := ctx.Done(), timer.C
	for {
		select {
		case msg, open := <-said:
			if !open {
				said = nil
				break
			}
			switch msg.kind {
			case listenerMessage:
				err = proxy.serve(msg.fds)
			case startedMessage:
				started = msg.at
				timer.Reset(limit)
			case endedMessage:
				ended, over = true, nil // in time
				err = errors.Join(err, json.Unmarshal(msg.body, &end))
			case failedMessage:
				ended = true
				err = fmt.Errorf("sandbox: %s", msg.body)
			}
			if err != nil {
				kill()
			}
		case <-over:
			over, out.TimedOut = nil, true
			kill()
		case <-done:
			done, err = nil, ctx.Err()
			kill()
		case <-h.exited:
			for said != nil { // what it said at last
				msg, open := <-said
				if !open {
					break
				}
				if msg.kind == endedMessage {
					ended = true
					err = errors.Join(err, json.Unmarshal(msg.body, &end))
				} else if msg.kind == failedMessage {
					ended, err = true, fmt.Errorf("sandbox: %s", msg.body)
				}
			}
			switch {
			case killed && !ended:
				end.Signal = "SIGKILL"
			case !ended && err == nil:
				err = fmt.Errorf("sandbox: the helper ended unexpectedly: %v", h.waited)
			}
			return started, end, err
		}
	}
}

// probe tries whether the helper can have namespaces, and a root in them.
func (mc *machine) probe(root bool) error {
	o := &order{Probe: true, Namespaces: true, Root: root, Network: noNetwork}
	if root {
		s := &scope{}
		s.addBase(true)
		o.Grants, o.Network = s.grants, proxyNetwork
	}
	h, err := mc.start(o, nil, Command{})
	if err != nil {
		return err
	}
	defer h.close()
	timeout := time.AfterFunc(5*time.Second, func() { h.cmd.Process.Kill() })
	defer timeout.Stop()
	worked := false
	var failed error
	for msg := range h.messages() {
		switch msg.kind {
		case startedMessage:
			worked = true
		case failedMessage:
			failed = errors.New(string(msg.body))
		}
		for _, fd := range msg.fds {
			unix.Close(fd)
		}
	}
	<-h.exited
	if !worked {
		return cmp.Or(failed, errors.New("the helper said nothing"))
	}
	return nil
}

// watchEvery is how often the watcher looks, where no cgroup holds a command.
const watchEvery = 20 * time.Millisecond

// burstMB is how much more than the whole limit one process may have as data,
// where only a watcher holds the sum: what bounds a balloon between two looks,
// and leaves room for what programs reserve and never use.
const burstMB = 128

// watcher holds a tree of processes, from outside and by looking, to what no
// cgroup holds it to.
type watcher struct {
	root       int // the first helper, which is not counted
	memory     int64
	cpuPercent int // 0 for no limit

	overMemory atomic.Bool
	peak       atomic.Int64
	done       chan struct{}
	once       sync.Once
	gone       sync.WaitGroup
}

// watch starts a watcher if something needs one.
func (mc *machine) watch(m act.Manifest, h *helper) *watcher {
	if !mc.children || mc.cgroups.has("memory") && mc.cgroups.has("cpu") && mc.cgroups.has("pids") {
		return nil
	}
	w := &watcher{root: h.cmd.Process.Pid, memory: int64(m.MaxMemoryMB) << 20, done: make(chan struct{})}
	if !mc.cgroups.has("cpu") && m.MaxCPUPercent < 100*runtime.NumCPU() {
		w.cpuPercent = m.MaxCPUPercent
	}
	if mc.cgroups.has("memory") {
		w.memory = 0
	}
	w.gone.Go(w.loop)
	return w
}

func (w *watcher) stop() {
	w.once.Do(func() { close(w.done) })
	w.gone.Wait()
}

func (w *watcher) memoryPeak() int64 {
	if w == nil {
		return 0
	}
	return w.peak.Load()
}

func (w *watcher) loop() {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	start, stopped := time.Now(), false
	for first := time.After(2 * time.Millisecond); ; {
		select {
		case <-w.done:
			return
		case <-first:
		case <-tick.C:
		}
		tree := processTree(w.root)
		var sum int64
		var cpu time.Duration
		for _, p := range tree {
			sum += p.rss
			cpu += p.cpu
		}
		if w.memory > 0 && sum > w.memory {
			sum = shared(tree) // forked processes share pages, which counted more than once
		}
		w.peak.Store(max(w.peak.Load(), sum))
		if w.memory > 0 && sum > w.memory {
			w.overMemory.Store(true)
			signalAll(tree, unix.SIGKILL)
			continue
		}
		if len(tree) > maxProcesses {
			signalAll(tree, unix.SIGKILL)
			continue
		}
		if w.cpuPercent == 0 {
			continue
		}
		// A tenth of a second may be used at once.
		allowed := (time.Since(start) + 100*time.Millisecond) * time.Duration(w.cpuPercent) / 100
		switch {
		case cpu > allowed:
			signalAll(tree, unix.SIGSTOP) // at each look, since new ones come
			stopped = true
		case stopped:
			signalAll(tree, unix.SIGCONT)
			stopped = false
		}
	}
}

func signalAll(tree []process, signal unix.Signal) {
	for _, p := range tree {
		unix.Kill(p.pid, signal)
	}
}

// process is one of a tree.
type process struct {
	pid int
	rss int64
	cpu time.Duration // its own, and that of its children that it waited for
}

// processTree finds all that descend from a process. They stay below it
// whatever they do, since it is where orphans go.
func processTree(root int) (tree []process) {
	next := childrenOf(root)
	for len(next) > 0 && len(tree) <= 4*maxProcesses {
		pid := next[len(next)-1]
		next = next[:len(next)-1]
		p := process{pid: pid}
		p.rss, p.cpu = usage(pid)
		tree = append(tree, p)
		next = append(next, childrenOf(pid)...)
	}
	if len(tree) > 0 {
		tree[0].cpu += waitedFor(root)
	}
	return tree
}

func childrenOf(pid int) (pids []int) {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil
	}
	for _, thread := range threads {
		pids = append(pids, readPids(fmt.Sprintf("/proc/%d/task/%s/children", pid, thread.Name()))...)
	}
	return pids
}

// clockTick is what /proc counts CPU time in, on every system that Go runs on.
const clockTick = 10 * time.Millisecond

// usage reads a process's memory and CPU time.
func usage(pid int) (rss int64, cpu time.Duration) {
	fields := statFields(pid)
	if len(fields) < 22 {
		return 0, 0
	}
	for _, f := range fields[11:15] { // utime, stime, cutime, cstime
		cpu += time.Duration(number(f)) * clockTick
	}
	return number(fields[21]) * int64(os.Getpagesize()), cpu
}

// waitedFor is the CPU time of those that a process waited for.
func waitedFor(pid int) time.Duration {
	fields := statFields(pid)
	if len(fields) < 22 {
		return 0
	}
	return time.Duration(number(fields[13])+number(fields[14])) * clockTick
}

// statFields are those of /proc/PID/stat after the name, which may hold anything.
func statFields(pid int) []string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	_, after, _ := strings.Cut(string(b[strings.LastIndexByte(string(b), ')')+1:]), " ")
	return strings.Fields(after)
}

func number(s string) (n int64) {
	for _, c := range s {
		if c < '0' || c > '9' {
			return 0
		}
		n = n*10 + int64(c-'0')
	}
	return n
}

// shared sums memory that processes share only once. What cannot be read so is
// counted whole.
func shared(tree []process) (sum int64) {
	for _, p := range tree {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", p.pid))
		pss := int64(-1)
		if err == nil {
			for line := range strings.Lines(string(b)) {
				if rest, ok := strings.CutPrefix(line, "Pss:"); ok {
					pss = number(strings.Fields(rest)[0]) << 10
				}
			}
		}
		if pss < 0 {
			pss = p.rss
		}
		sum += pss
	}
	return sum
}
