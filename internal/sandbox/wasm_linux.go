package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"reeve.example/reeve/act"
)

// wasmRuntimeMB is what compiling and running a module may need beside the
// module's own memory.
const wasmRuntimeMB = 256

// wasmEnv is where the helper finds what it is to run.
const wasmEnv = "REEVE_SANDBOX_WASM"

// RunWASM runs a WASI module's file inside what its manifest allows: in a
// process of its own, held like a command, with a runtime that holds the module
// to its memory and its directories once more. The module sees the directories
// that the manifest names, at the same paths, and no single files. c.Args
// begins with the module's name; c.Dir means nothing.
func RunWASM(ctx context.Context, m act.Manifest, module string, c Command) (Outcome, error) {
	mc, err := thisMachine()
	if err != nil {
		return Outcome{}, err
	}
	return mc.runWASM(ctx, m, module, c)
}

func (mc *machine) runWASM(ctx context.Context, m act.Manifest, module string, c Command) (Outcome, error) {
	own := m.MaxMemoryMB
	m.NetworkAllowed, m.AllowedDomains, m.BlockedDomains = false, nil, nil
	if err := checkManifest(m); err != nil {
		return Outcome{}, err
	}
	m.MaxMemoryMB = min(own+wasmRuntimeMB, maxMemoryMB)
	p, o, err := mc.plan(m)
	if err != nil {
		return Outcome{}, err
	}
	for i, l := range p.limits {
		switch l.Name {
		case "max_memory_mb":
			p.limits[i].Detail = fmt.Sprintf("the module's memory by wazero, at %d MB; with the runtime's, at %d MB, by %s", own, m.MaxMemoryMB, l.Mechanism)
			p.limits[i].Mechanism = "wazero, " + l.Mechanism
		case "network_allowed":
			p.limits[i].Mechanism = "wazero, which has no sockets, " + l.Mechanism
			p.limits[i].Detail = "a module never has a network"
		case "filesystem_scope":
			p.limits[i].Mechanism = "wazero on os.Root, " + l.Mechanism
			p.limits[i].Detail += "; files that are named singly are not seen"
		}
	}
	if err := p.err(); err != nil {
		return Outcome{}, err
	}
	j, err := newJob(module, own, o.Grants, c)
	if err != nil {
		return Outcome{}, err
	}
	if err := checkCommand(m, Command{Args: j.Args, Env: j.Env}); err != nil {
		return Outcome{}, err
	}
	self, err := filepath.EvalSymlinks("/proc/self/exe")
	if err != nil {
		return Outcome{}, err
	}
	o.Grants = append(slices.Clone(o.Grants), grant{Path: j.Module, As: j.Module, Base: true})
	told, err := json.Marshal(j)
	if err != nil {
		return Outcome{}, err
	}
	run := Command{Args: []string{self}, Dir: "/", Env: []string{wasmEnv + "=" + string(told)}, Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr, Disk: c.Disk}
	if err := mc.prepare(o, act.Manifest{}, run); err != nil {
		return Outcome{}, err
	}
	o.Args = byteStrings([]string{wasmName})
	return mc.runOrder(ctx, m, p, o, run)
}

// wasmMain is the helper that has become the module.
func wasmMain() int {
	var j job
	if err := json.Unmarshal([]byte(os.Getenv(wasmEnv)), &j); err != nil {
		fmt.Fprintln(os.Stderr, "reeve sandbox:", err)
		return 125
	}
	exit, err := runModule(context.Background(), &j, os.Stdin, os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "reeve sandbox:", err)
		return 126
	}
	return exit
}
