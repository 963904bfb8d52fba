//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"time"

	"reeve.example/reeve/act"
)

// Main must be the first call in main. On this system it does nothing.
func Main() {}

// Plan says how this machine would hold a manifest, before anything runs. On
// this system no limit of a command is enforced, so that its error, which wraps
// ErrRefused, names every limit that the manifest's advisory list does not.
func Plan(m act.Manifest) ([]Limit, error) {
	p, err := planCommand(m)
	if err != nil {
		return nil, err
	}
	return p.limits, p.err()
}

func planCommand(m act.Manifest) (*plan, error) {
	if err := checkManifest(m); err != nil {
		return nil, err
	}
	p := &plan{advisory: m.Advisory}
	const instead = "run it on Linux"
	add := func(name string, said bool) {
		if said {
			p.add(Limit{Name: name, State: NotEnforced, Mechanism: "none on " + runtime.GOOS}, instead)
		}
	}
	add("max_memory_mb", true)
	add("max_cpu_percent", m.MaxCPUPercent < 100*runtime.NumCPU())
	p.add(Limit{Name: "timeout_seconds", State: Partly, Mechanism: "the first process is killed", Detail: "its children are not"}, instead)
	add("network_allowed", !m.NetworkAllowed)
	add("filesystem_scope", true)
	add("filesystem_read", len(m.FilesystemRead) > 0)
	p.addQuota(m, NotEnforced, "none on "+runtime.GOOS)
	add("allowed_domains", len(m.AllowedDomains) > 0)
	add("blocked_domains", len(m.BlockedDomains) > 0)
	if len(m.BlockedPatterns) > 0 {
		p.add(Limit{Name: "blocked_patterns", State: Enforced, Mechanism: "arguments compared before the start"}, "")
	}
	return p, nil
}

// Run runs a command, if the manifest says that every limit which is not
// enforced on this system, which is nearly all, is advisory. Ending ctx kills
// the command, and is the error then.
func Run(ctx context.Context, m act.Manifest, c Command) (out Outcome, err error) {
	p, err := planCommand(m)
	if err == nil {
		err = p.err()
	}
	if err == nil {
		err = checkCommand(m, c)
	}
	if err != nil {
		return out, err
	}
	watched, disk := watchDisk(ctx, c.Disk, nil)
	limited, cancel := context.WithTimeout(watched, time.Duration(m.TimeoutSeconds)*time.Second)
	defer cancel()
	cmd := exec.CommandContext(limited, c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Env = c.Dir, append([]string{}, c.Env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stdout, c.Stderr
	cmd.WaitDelay = 2 * time.Second
	start := time.Now()
	err = cmd.Run()
	out = Outcome{ExitCode: -1, Duration: time.Since(start), Limits: p.limits}
	if state := cmd.ProcessState; state != nil {
		out.ExitCode = state.ExitCode()
		out.CPUPercent = percent(state.UserTime()+state.SystemTime(), out.Duration)
	}
	out.TimedOut = watched.Err() == nil && limited.Err() != nil
	out.OverDisk = disk.stop()
	if exited := (*exec.ExitError)(nil); errors.As(err, &exited) || out.TimedOut || context.Cause(watched) == errDisk {
		err = nil
	}
	return out, errors.Join(err, ctx.Err())
}

// RunWASM runs a WASI module's file inside what its manifest allows, but for
// max_cpu_percent, which nothing holds on this system. The module sees the
// directories that the manifest names, at the same paths without a drive, and
// no single files. c.Args begins with the module's name; c.Dir means nothing.
func RunWASM(ctx context.Context, m act.Manifest, module string, c Command) (out Outcome, err error) {
	if err := checkManifest(m); err != nil {
		return out, err
	}
	s, err := resolveScope(m)
	if err != nil {
		return out, err
	}
	p := &plan{advisory: m.Advisory}
	p.add(Limit{Name: "max_memory_mb", State: Enforced, Mechanism: "wazero"}, "")
	if m.MaxCPUPercent < 100 { // a module has one thread
		p.add(Limit{Name: "max_cpu_percent", State: NotEnforced, Mechanism: "none on " + runtime.GOOS}, "run it on Linux")
	}
	p.add(Limit{Name: "timeout_seconds", State: Enforced, Mechanism: "wazero"}, "")
	p.add(Limit{Name: "network_allowed", State: Enforced, Mechanism: "wazero, which has no sockets", Detail: "a module never has a network"}, "")
	p.add(Limit{Name: "filesystem_scope", State: Enforced, Mechanism: "wazero on os.Root", Detail: s.detail("filesystem_scope", true)}, "")
	if len(m.FilesystemRead) > 0 {
		p.add(Limit{Name: "filesystem_read", State: Enforced, Mechanism: "wazero on os.Root", Detail: s.detail("filesystem_read", false)}, "")
	}
	p.addQuota(m, Partly, "a watcher")
	if err := p.err(); err != nil {
		return out, err
	}
	j, err := newJob(module, m.MaxMemoryMB, s.grants, c)
	if err != nil {
		return out, err
	}
	if err := checkCommand(m, Command{Args: j.Args, Env: j.Env}); err != nil {
		return out, err
	}
	quota := newQuota(m, s.grants)
	watched, disk := watchDisk(quota.watch(ctx, nil), c.Disk, nil)
	limited, cancel := context.WithTimeout(watched, time.Duration(m.TimeoutSeconds)*time.Second)
	defer cancel()
	start := time.Now()
	exit, err := runModule(limited, j, c.Stdin, c.Stdout, c.Stderr)
	out = Outcome{ExitCode: exit, Duration: time.Since(start), Limits: p.limits}
	if limited.Err() != nil {
		out.ExitCode, out.TimedOut, err = -1, watched.Err() == nil, ctx.Err()
	}
	out.OverDisk, out.OverQuota = disk.stop(), quota.stop()
	return out, err
}
