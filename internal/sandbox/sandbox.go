// Package sandbox runs a command, or a WASM module, inside what its manifest
// allows, and measures what it used.
//
//	func main() {
//		sandbox.Main() // first: on Linux the program is also the sandbox's helper
//		…
//		outcome, err := sandbox.Run(ctx, manifest, sandbox.Command{Args: []string{"make", "test"}, Dir: "/workspace", …})
//	}
//
// Nothing is enforced by asking. Each limit is held by the kernel (or, for a
// module, also by the WASM runtime), or it is not enforced; then Plan and Run
// refuse, unless the manifest says that the limit is advisory, and then the
// limit is reported as not enforced. A limit that is held partly counts as not
// enforced: it stops a careless command and not a hostile one.
//
// # What holds each limit on Linux
//
//	filesystem_scope   Landlock (ABI 3 or newer), and where namespaces allow it a root of its own in which
//	filesystem_read    only what is granted is mounted; either is enough, and here both are used together
//	network_allowed    no: a network namespace and a seccomp filter on socket(); either is enough for TCP and
//	                   UDP, only the filter for the families that no namespace knows (vsock)
//	allowed_domains    the command has a network namespace with nothing but a filtering HTTP proxy in it,
//	blocked_domains    which resolves names itself, dials no private address, and dials what it checked
//	max_memory_mb      cgroup v2 or v1; else partly: RLIMIT_DATA for each process, and a watcher that sums
//	                   the processes' memory every 20 ms and kills
//	max_cpu_percent    cgroup v2 or v1; else partly: a watcher that stops and continues the processes
//	timeout_seconds    the PID namespace or cgroup.kill end the whole tree; else partly: a subreaper kills it
//	blocked_patterns   compared with the arguments before the start
//
//	max_write_mb       RLIMIT_FSIZE for each file, and a watcher that asks the file systems ten times a second
//	max_write_files    how much they hold, and counts what is in the scope, with the command standing still, when
//	                   that could be too much; 10,240 MB and 1,000,000 files where the manifest does not say
//
// A directory can be bounded as well (Disk): it is looked at every 100 ms, with what is
// open and in no directory any more, and the command is killed.
//
// Beside them, always: no_new_privs, no capabilities, at most 1024 processes, no core
// dumps, and no system calls for namespaces, mounts, tracing, keys, modules, bpf, io_uring. When the
// program that called Run dies, the command dies; when the command ends, what
// it left running dies.
//
// A command sees, read-only, the system directories that it needs to start
// (BaseDirectories) and its own program file. There is no /tmp that is not in
// the scope: name one there and set TMPDIR.
//
// # What is not held
//
// A hard link or a mount that already lies inside the scope belongs to it. A
// UNIX socket inside what is granted can be connected to, also where files may
// only be read. network_allowed without domains is the host's network, with
// what listens on its loopback. What an allowed domain serves, or forwards to,
// is not looked at. On systems other than Linux no command is held; WASM modules are,
// but for max_cpu_percent.
package sandbox

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/act"
)

// States of a Limit.
const (
	Enforced    = "enforced"     // by the kernel or the WASM runtime, against a hostile command
	Partly      = "partly"       // against a careless one
	NotEnforced = "not_enforced" // said only
)

// ErrRefused is what errors wrap when nothing was run, since the manifest allows
// nothing, or could not be enforced, or does not allow this command.
var ErrRefused = errors.New("not run")

// Command is what to run. Env is all of its environment: nothing is inherited.
// Dir is absolute, and "/" when empty. A nil Stdin is empty; what is written to
// a nil Stdout or Stderr is lost.
type Command struct {
	Args           []string
	Dir            string
	Env            []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Disk           *Disk // what it may write to a directory; nil for no bound
}

// Limit is how one limit of the manifest was held.
type Limit struct {
	Name      string `json:"name"`      // as in the manifest's JSON: max_memory_mb
	State     string `json:"state"`     // Enforced, Partly or NotEnforced
	Mechanism string `json:"mechanism"` // what holds it: "cgroup v2 memory.max"
	Detail    string `json:"detail,omitempty"`
}

// Outcome is how a command ended, and what was measured. ExitCode is -1 when a
// signal ended it; Signal is then its name, such as SIGKILL. CPUPercent is of
// one CPU. MemoryPeakMB is rounded up; without a cgroup it is the largest sum
// that the watcher saw, or the largest process.
type Outcome struct {
	ExitCode     int
	Signal       string
	TimedOut     bool
	OutOfMemory  bool   // something was killed, since the memory was used up
	OverDisk     string // what it wrote too much of to Command.Disk, and was ended for; empty for nothing
	OverQuota    string // likewise to what the manifest names
	Duration     time.Duration
	MemoryPeakMB int
	CPUPercent   float64
	Limits       []Limit
}

// OverQuotaText says why a command was ended that wrote more than its manifest allows.
func (o Outcome) OverQuotaText() string {
	return fmt.Sprintf("it was ended, since it wrote %s to what filesystem_scope names (max_write_mb, max_write_files); what it wrote is still there", o.OverQuota)
}

// maxProcesses is how many processes and threads a command may have at once:
// what makes a fork bomb end by itself.
const maxProcesses = 1024

// Bounds of a manifest's numbers, so that none overflows: a terabyte, a
// thousand CPUs, a month.
const (
	maxMemoryMB   = 1 << 20
	maxCPUPercent = 100_000
	maxTimeout    = 30 * 24 * 60 * 60
)

// plan is what was found for a manifest: how each limit is held, and why not.
type plan struct {
	limits   []Limit
	refusals []string
	advisory []string
}

// add says how a limit is held. One that is not enforced, and not advisory, is a
// reason to refuse; instead says what can be done about it.
func (p *plan) add(l Limit, instead string) {
	if l.State != Enforced {
		if slices.Contains(p.advisory, l.Name) {
			l.Detail = strings.TrimPrefix(l.Detail+"; run although it is not enforced, since the policy says that it is advisory", "; ")
		} else {
			p.refusals = append(p.refusals, fmt.Sprintf("%s cannot be enforced here (%s: %s); %s, or name it in the manifest's advisory list",
				l.Name, strings.ReplaceAll(l.State, "_", " "), l.Mechanism, instead))
		}
	}
	p.limits = append(p.limits, l)
}

func (p *plan) err() error {
	if len(p.refusals) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrRefused, strings.Join(p.refusals, "; "))
}

// checkManifest refuses what allows nothing and what cannot be meant. An
// advisory limit is not enforced, but it is said, so that it too must be there.
func checkManifest(m act.Manifest) error {
	var bad []string
	for _, n := range []struct {
		name  string
		value int
		most  int
	}{
		{"max_memory_mb", m.MaxMemoryMB, maxMemoryMB},
		{"max_cpu_percent", m.MaxCPUPercent, maxCPUPercent},
		{"timeout_seconds", m.TimeoutSeconds, maxTimeout},
	} {
		switch {
		case n.value == 0:
			bad = append(bad, n.name+" is 0, which allows nothing")
		case n.value < 0 || n.value > n.most:
			bad = append(bad, fmt.Sprintf("%s is %d, and not from 1 to %d", n.name, n.value, n.most))
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrRefused, strings.Join(bad, "; "))
}

// checkCommand refuses arguments that hold a blocked pattern, and what no
// system could start.
func checkCommand(m act.Manifest, c Command) error {
	if len(c.Args) == 0 || c.Args[0] == "" {
		return fmt.Errorf("%w: there is no command", ErrRefused)
	}
	for i, arg := range c.Args {
		for _, pattern := range m.BlockedPatterns {
			if pattern != "" && strings.Contains(arg, pattern) {
				return fmt.Errorf("%w: argument %d holds %q, which the manifest blocks", ErrRefused, i, pattern)
			}
		}
	}
	for _, s := range append(slices.Concat(c.Args, c.Env), c.Dir) {
		if strings.ContainsRune(s, 0) {
			return fmt.Errorf("%w: an argument, the environment or the directory holds a zero byte", ErrRefused)
		}
	}
	return nil
}

// percent is how much of one CPU was used in a time.
func percent(cpu, elapsed time.Duration) float64 {
	if elapsed <= 0 {
		return 0
	}
	return float64(cpu) / float64(elapsed) * 100
}

// megabytes rounds up.
func megabytes(bytes int64) int { return int((bytes + 1<<20 - 1) >> 20) }
