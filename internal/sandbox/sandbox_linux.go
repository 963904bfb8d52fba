package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"reeve.example/reeve/act"
)

// Plan says how this machine would hold a manifest, before anything runs. Its
// error wraps ErrRefused and says which limits cannot be enforced, and what to
// do; limits in the manifest's advisory list are not among them. The zero
// manifest allows nothing and is refused.
func Plan(m act.Manifest) ([]Limit, error) {
	mc, err := thisMachine()
	if err != nil {
		return nil, err
	}
	p, _, err := mc.plan(m)
	if err != nil {
		return nil, err
	}
	return p.limits, p.err()
}

// Run runs a command inside what its manifest allows. Nothing runs when the
// error wraps ErrRefused. Ending ctx kills the command, and is the error then.
func Run(ctx context.Context, m act.Manifest, c Command) (Outcome, error) {
	mc, err := thisMachine()
	if err != nil {
		return Outcome{}, err
	}
	return mc.run(ctx, m, c)
}

// machine is what this machine can hold a command with. Each part may be
// missing, which the tests use.
type machine struct {
	landlock   int  // ABI, 0 for none
	seccomp    bool // filters, for this processor
	namespaces bool // user (if user is set), PID, network, IPC and mount
	user       bool
	root       bool        // a root of its own can be mounted in them
	children   bool        // /proc lists a process's children
	cgroups    *cgroupTree // nil for none
}

// thisMachine is looked at once in the life of a program.
func thisMachine() (*machine, error) {
	if !mainCalled {
		return nil, fmt.Errorf("%w: sandbox.Main was not called at the start of main", ErrRefused)
	}
	return lookOnce(), nil
}

var lookOnce = sync.OnceValue(look)

func look() *machine {
	mc := &machine{cgroups: findCgroups()}
	if abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION); errno == 0 {
		mc.landlock = int(abi)
	}
	kill := uint32(unix.SECCOMP_RET_KILL_PROCESS)
	mc.seccomp = auditArch != 0 && seccomp(unix.SECCOMP_GET_ACTION_AVAIL, 0, unsafe.Pointer(&kill)) == nil
	_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	mc.children = err == nil

	// Whether namespaces can be had, and a root in them, is found by trying:
	// there are a dozen reasons why not.
	for _, user := range []bool{true, false} {
		if !user && os.Geteuid() != 0 {
			break
		}
		mc.user = user
		try := &machine{namespaces: true, user: user}
		if err := try.probe(false); err != nil {
			continue
		}
		mc.namespaces = true
		mc.root = try.probe(true) == nil
		return mc
	}
	mc.user = false
	return mc
}

// networks of a command.
const (
	noNetwork    = "none"
	proxyNetwork = "proxy" // a namespace of its own, and the filtering proxy
	hostNetwork  = "host"
)

// order is what the helper is told. What may be no UTF-8 is bytes.
type order struct {
	Probe      bool // only try
	Namespaces bool
	Root       bool
	Landlock   int
	Seccomp    bool
	Unix       bool // sockets to UNIX addresses
	Network    string
	NoMetadata bool // no chmod, chown, utime, setxattr: nothing else holds them
	NoHidden   bool // no memory that the watcher cannot see
	Grants     []grant
	DataLimit  uint64 // RLIMIT_DATA in bytes, 0 for none
	FileLimit  uint64 // RLIMIT_FSIZE in bytes, 0 for none
	Count      bool   // RLIMIT_NPROC, which counts what else the user runs unless the user namespace is new
	CgroupDir  bool   // descriptor cgroupFD is a cgroup v2's directory
	CgroupFDs  int    // so many descriptors from cgroupFD on are cgroup v1's cgroup.procs
	Program    []byte
	Args, Env  [][]byte
	Dir        []byte
}

// plan finds how each limit is held, and the order that holds it.
func (mc *machine) plan(m act.Manifest) (*plan, *order, error) {
	if err := checkManifest(m); err != nil {
		return nil, nil, err
	}
	s, err := resolveScope(m)
	if err != nil {
		return nil, nil, err
	}
	proxy, err := newFilter(m)
	if err != nil {
		return nil, nil, err
	}
	p := &plan{advisory: m.Advisory}
	o := &order{Namespaces: mc.namespaces, Root: mc.root, Landlock: mc.landlock, Seccomp: mc.seccomp, Count: mc.namespaces && mc.user}

	mc.planMemory(m, p, o)
	mc.planCPU(m, p)
	mc.planTimeout(m, p)
	mc.planNetwork(m, proxy, p, o)
	mc.planFiles(m, s, p, o)
	mc.planQuota(m, p)
	if len(m.BlockedPatterns) > 0 {
		p.add(Limit{Name: "blocked_patterns", State: Enforced, Mechanism: "arguments compared before the start"}, "")
	}
	return p, o, nil
}

const delegate = "run it where a cgroup is delegated, such as under systemd-run --user --scope -p Delegate=yes"

func (mc *machine) planMemory(m act.Manifest, p *plan, o *order) {
	const name = "max_memory_mb"
	switch {
	case mc.cgroups.has("memory"):
		p.add(Limit{Name: name, State: Enforced, Mechanism: mc.cgroups.name("memory", "memory.max", "memory.limit_in_bytes")}, "")
	case mc.children:
		o.DataLimit = uint64(m.MaxMemoryMB+burstMB) << 20
		o.NoHidden = true
		p.add(Limit{Name: name, State: Partly, Mechanism: "RLIMIT_DATA and a watcher",
			Detail: fmt.Sprintf("the memory of all processes is summed every %v, and they are killed above the limit; "+
				"between two looks they can pass it, and files on memory file systems are not counted", watchEvery)}, delegate)
	default:
		o.DataLimit = uint64(m.MaxMemoryMB+burstMB) << 20
		p.add(Limit{Name: name, State: NotEnforced, Mechanism: "RLIMIT_DATA, which holds each process alone"}, delegate)
	}
}

func (mc *machine) planCPU(m act.Manifest, p *plan) {
	const name = "max_cpu_percent"
	switch {
	case mc.cgroups.has("cpu"):
		p.add(Limit{Name: name, State: Enforced, Mechanism: mc.cgroups.name("cpu", "cpu.max", "cpu.cfs_quota_us")}, "")
	case m.MaxCPUPercent >= 100*runtime.NumCPU():
		p.add(Limit{Name: name, State: Enforced, Mechanism: fmt.Sprintf("the machine's %d CPUs", runtime.NumCPU())}, "")
	case mc.children:
		p.add(Limit{Name: name, State: Partly, Mechanism: "a watcher that stops and continues the processes",
			Detail: fmt.Sprintf("their CPU time is summed every %v; processes that live shorter are counted late", watchEvery)}, delegate)
	default:
		p.add(Limit{Name: name, State: NotEnforced, Mechanism: "none"}, delegate)
	}
}

func (mc *machine) planTimeout(_ act.Manifest, p *plan) {
	const name = "timeout_seconds"
	count := fmt.Sprintf("no more than %d processes at once", maxProcesses)
	switch {
	case mc.namespaces:
		p.add(Limit{Name: name, State: Enforced, Mechanism: "PID namespace, whose first process is killed", Detail: count}, "")
	case mc.cgroups.has("kill") && mc.landlock >= landlockScopes: // else it could signal who holds it
		p.add(Limit{Name: name, State: Enforced, Mechanism: "cgroup v2 cgroup.kill", Detail: count}, "")
	default:
		p.add(Limit{Name: name, State: Partly, Mechanism: "a subreaper that kills what is left",
			Detail: "a process that forks faster than it is killed can escape; " + count}, "allow user namespaces, or "+delegate)
	}
}

func (mc *machine) planNetwork(m act.Manifest, f *filter, p *plan, o *order) {
	const allowUserNamespaces = "allow user namespaces"
	filtered := m.NetworkAllowed && (len(m.AllowedDomains) > 0 || len(m.BlockedDomains) > 0)
	o.Network = hostNetwork
	switch {
	case !m.NetworkAllowed && mc.seccomp:
		o.Network = noNetwork
		how := "seccomp filter on socket()"
		if mc.namespaces {
			how = "network namespace and " + how
		}
		detail := "no sockets at all"
		if mc.root {
			detail = "no sockets but to UNIX addresses, and only those inside what is granted"
		}
		p.add(Limit{Name: "network_allowed", State: Enforced, Mechanism: how, Detail: detail}, "")
	case !m.NetworkAllowed && mc.namespaces:
		o.Network = noNetwork
		p.add(Limit{Name: "network_allowed", State: Partly, Mechanism: "network namespace", Detail: "vsock is not held"}, "use a kernel with seccomp filters")
	case !m.NetworkAllowed:
		p.add(Limit{Name: "network_allowed", State: NotEnforced, Mechanism: "none"}, "use a kernel with seccomp filters")
	case filtered && mc.namespaces && mc.seccomp:
		o.Network = proxyNetwork
		p.add(Limit{Name: "network_allowed", State: Enforced, Mechanism: "network namespace with a filtering HTTP proxy in it",
			Detail: "only programs that heed HTTP_PROXY and HTTPS_PROXY reach anything"}, "")
	case filtered:
		p.add(Limit{Name: "network_allowed", State: Enforced, Mechanism: "none needed", Detail: "the host's network"}, "")
	default:
		p.add(Limit{Name: "network_allowed", State: Enforced, Mechanism: "none needed", Detail: "the host's network, with what listens on its loopback"}, "")
	}
	// With neither, a UNIX socket of the host could be asked to do what the
	// command may not: Landlock does not hold connect().
	o.Unix = mc.root && (o.Network != hostNetwork || mc.landlock >= landlockScopes)

	for _, list := range []struct {
		name    string
		domains []string
	}{{"allowed_domains", m.AllowedDomains}, {"blocked_domains", m.BlockedDomains}} {
		switch {
		case len(list.domains) == 0:
		case !m.NetworkAllowed:
			p.add(Limit{Name: list.name, State: Enforced, Mechanism: "no network at all"}, "")
		case o.Network == proxyNetwork:
			p.add(Limit{Name: list.name, State: Enforced, Mechanism: "filtering HTTP proxy", Detail: f.describe()}, "")
		default:
			p.add(Limit{Name: list.name, State: NotEnforced, Mechanism: "none without namespaces and seccomp"}, allowUserNamespaces)
		}
	}
}

const (
	landlockWhole  = 3 // the first ABI of Landlock's that holds truncate(2)
	landlockScopes = 6 // and the first that holds signals and abstract sockets
)

func (mc *machine) planFiles(m act.Manifest, s *scope, p *plan, o *order) {
	var how []string
	landlock := mc.landlock >= landlockWhole && mc.seccomp // for chmod and for UNIX sockets
	if landlock {
		how = append(how, fmt.Sprintf("Landlock ABI %d", mc.landlock))
	}
	if mc.root {
		how = append(how, "a root of its own")
	}
	state := Enforced
	switch {
	case len(how) == 0:
		state, how = NotEnforced, []string{"none"}
	case !mc.seccomp:
		state = Partly
		s.notes["filesystem_scope"] = append(s.notes["filesystem_scope"], "without seccomp filters a command can leave behind a program with a set-user-id bit")
	}
	s.addBase(mc.root)
	o.Grants = s.grants
	var names []string
	for _, g := range s.grants {
		if g.Base && !g.Write {
			names = append(names, g.As)
		}
	}
	base := "every command may also read and execute " + strings.Join(names, " ") + " and its own program"
	if !mc.root {
		o.NoMetadata = true
		base += "; without a root of its own no mode, owner, time or attribute of any file can be changed, and names outside can be seen to exist"
	} else {
		base += "; /proc is that of its own processes"
	}
	base += "; and use /dev/null, zero, full, random and urandom"
	const instead = "use Linux 6.2 or newer with Landlock and seccomp filters, or allow user namespaces"
	p.add(Limit{Name: "filesystem_scope", State: state, Mechanism: strings.Join(how, ", "), Detail: s.detail("filesystem_scope", true) + "; " + base}, instead)
	if len(m.FilesystemRead) == 0 {
		return
	}
	if s.readInWrite && !mc.root && state == Enforced {
		state = Partly
		s.notes["filesystem_read"] = append(s.notes["filesystem_read"], "Landlock cannot take away what lies below a directory that may be written")
	}
	p.add(Limit{Name: "filesystem_read", State: state, Mechanism: strings.Join(how, ", "), Detail: s.detail("filesystem_read", false)}, instead)
}

// planQuota is for what a command may write in its scope. Without a list of its processes
// it cannot be stopped while it is counted.
func (mc *machine) planQuota(m act.Manifest, p *plan) {
	state := Enforced
	if !mc.children {
		state = Partly
	}
	p.addQuota(m, state, "RLIMIT_FSIZE and a watcher")
}

// addBase adds what every command may read, but for what the manifest lets it write.
func (s *scope) addBase(root bool) {
	base := BaseDirectories
	if root {
		base = append(slices.Clone(base), "/proc")
	} else {
		// The host's /proc shows every process: only what tells of the machine.
		base = append(slices.Clone(base), "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/filesystems", "/proc/loadavg", "/proc/uptime", "/proc/version")
	}
	manifest := slices.Clone(s.grants)
	for _, p := range base {
		resolved, err := filepath.EvalSymlinks(p)
		if err != nil || slices.ContainsFunc(manifest, func(g grant) bool { return g.Write && g.Dir && below(resolved, g.Path) }) {
			continue
		}
		info, err := os.Stat(resolved)
		if err != nil {
			continue
		}
		s.grants = append(s.grants, grant{Path: resolved, As: p, Dir: info.IsDir(), Base: true})
	}
	for _, p := range []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"} {
		if info, err := os.Lstat(p); err == nil && info.Mode()&fs.ModeDevice != 0 {
			s.grants = append(s.grants, grant{Path: p, As: p, Write: true, Base: true})
		}
	}
}

// prepare completes an order with what is to be run. The program's own file is
// granted, since it was what was asked about.
func (mc *machine) prepare(o *order, m act.Manifest, c Command) error {
	if err := checkCommand(m, c); err != nil {
		return err
	}
	dir := c.Dir
	if dir == "" {
		dir = "/"
	}
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("%w: the directory %q is not absolute", ErrRefused, dir)
	}
	program, err := findProgram(c.Args[0], dir, c.Env)
	if err != nil {
		return err
	}
	s := &scope{grants: o.Grants}
	resolvedDir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return fmt.Errorf("%w: the directory: %w", ErrRefused, err)
	}
	if resolvedDir != "/" && !s.covers(resolvedDir) && slices.ContainsFunc(o.Grants, func(g grant) bool { return !g.Base }) {
		return fmt.Errorf("%w: the directory %s lies outside of what the manifest allows", ErrRefused, dir)
	}
	if !s.covers(resolvedDir) {
		resolvedDir = "/"
	}
	o.Dir = []byte(resolvedDir)
	resolved, err := filepath.EvalSymlinks(program)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if err := reserved(resolved); err != nil {
		return fmt.Errorf("%w: the program %s %w", ErrRefused, program, err)
	}
	if !s.covers(resolved) || !s.covers(program) {
		g := grant{Path: resolved, As: program, Base: true, links: linksOf(program)}
		if s.planted(g) {
			return fmt.Errorf("%w: the program %s is a symlink out of a directory that may be written", ErrRefused, program)
		}
		o.Grants = append(o.Grants, g)
	}
	o.Program = []byte(program)
	o.Args, o.Env = byteStrings(c.Args), byteStrings(c.Env)
	return nil
}

// findProgram is exec.LookPath in the command's own environment.
func findProgram(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return executable(name)
	}
	search := "/usr/local/bin:/usr/bin:/bin"
	for _, e := range env {
		if p, ok := strings.CutPrefix(e, "PATH="); ok {
			search = p
		}
	}
	for _, d := range filepath.SplitList(search) {
		if !filepath.IsAbs(d) {
			continue // what is meant would depend on the directory
		}
		if p, err := executable(filepath.Join(d, name)); err == nil {
			return p, nil
		}
	}
	return "", fmt.Errorf("%w: %s is not found in %s", ErrRefused, strconv.Quote(name), search)
}

func executable(name string) (string, error) {
	info, err := os.Stat(name)
	if err == nil && (!info.Mode().IsRegular() || info.Mode()&0o111 == 0) {
		err = &fs.PathError{Op: "exec", Path: name, Err: errors.New("is no program")}
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return name, nil
}

func byteStrings(in []string) [][]byte {
	out := make([][]byte, len(in))
	for i, s := range in {
		out[i] = []byte(s)
	}
	return out
}
