package executor

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/sandbox"

	"github.com/go-json-experiment/json/jsontext"
)

// WASMConfig is for NewWASM.
type WASMConfig struct {
	// Modules is the directory of the modules that may be run. Empty means that
	// none may, and every task says so.
	Modules string
	// Scratch, ScratchBytes and MaxOutput are as in CommandConfig.
	Scratch      string
	ScratchBytes int64
	MaxOutput    int
}

// NewWASM returns wasm_executor, which runs a WASI module of a directory, held
// by a runtime and the sandbox to the task's manifest. It never has a network.
func NewWASM(c WASMConfig) Executor { return &wasm{c} }

type wasm struct{ config WASMConfig }

func (w *wasm) Describe() Description {
	return Description{
		ID:           "wasm_executor",
		Name:         "WASM module",
		Description:  "Runs a WASI module from the node's directory of modules, in memory and time of its own and without a network.",
		Tags:         []string{"wasm", "wasi", "sandbox"},
		InputSchema:  wasmSchema,
		ResultSchema: commandResultSchema,
		Concurrent:   16,
		Manifest:     act.Manifest{MaxMemoryMB: 256, MaxCPUPercent: 100, TimeoutSeconds: 300},
		Enforces:     sandboxLimits,
	}
}

var wasmSchema = jsontext.Value(`{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "required": ["module"],
  "properties": {
    "module": {"type": "string", "minLength": 1, "description": "The module's file: its name in the node's directory of modules, or an absolute path inside that directory."},
    "args": {"type": "array", "items": {"type": "string"}, "description": "The module's arguments, without its name."},
    "env": {"type": "object", "additionalProperties": {"type": "string"}, "description": "Variables of the environment, beside PATH, HOME, TMPDIR and LANG."},
    "stdin": {"type": "string", "description": "What the module reads."},
    "timeout": {"type": "number", "exclusiveMinimum": 0, "description": "Seconds that it may take; never more than the manifest allows."},
    "limits": {"type": "boolean", "description": "Whether the result tells what held the module to which limit."}
  },
  "additionalProperties": true
}`)

type wasmInputs struct {
	Module  string            `json:"module"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	Stdin   string            `json:"stdin"`
	Timeout *float64          `json:"timeout"`
	Limits  bool              `json:"limits"`
}

func (w *wasm) Execute(ctx context.Context, job *Job) (jsontext.Value, error) {
	var in wasmInputs
	if err := decode(job, &in); err != nil {
		return nil, err
	}
	module, err := w.find(in.Module)
	if err != nil {
		return nil, err
	}
	p, err := newProgram(ctx, job, scratch{parent: w.config.Scratch, bytes: w.config.ScratchBytes}, w.config.MaxOutput, in.Timeout, in.Env)
	if err != nil {
		return nil, err
	}
	defer p.close()
	p.limits = in.Limits
	args := append([]string{filepath.Base(module)}, in.Args...)
	outcome, err := sandbox.RunWASM(ctx, p.manifest, module, sandbox.Command{Args: args, Env: p.env, Stdin: stdin(in.Stdin), Stdout: p.stdout, Stderr: p.stderr, Disk: p.disk})
	return p.result(ctx, outcome, err)
}

// find resolves a module's name, and sees that it lies in the directory.
func (w *wasm) find(name string) (string, error) {
	if name == "" {
		return "", final("the input \"module\" is missing")
	}
	if w.config.Modules == "" {
		return "", final("this node has no directory of modules")
	}
	root, err := filepath.Abs(w.config.Modules)
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return "", errors.New("this node's directory of modules cannot be read")
	}
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(root, path)
	}
	resolved, err := filepath.EvalSymlinks(path)
	if err == nil {
		var rel string
		if rel, err = filepath.Rel(root, resolved); err == nil && !filepath.IsLocal(rel) {
			err = os.ErrNotExist // whether a file exists elsewhere is nobody's business
		}
	}
	if info, stat := os.Stat(resolved); err != nil || stat != nil || !info.Mode().IsRegular() {
		return "", final("there is no module %q in this node's directory of modules", cut(name, 200))
	}
	return resolved, nil
}
