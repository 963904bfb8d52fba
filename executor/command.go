package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/sandbox"
	"reeve.example/reeve/internal/words"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// CommandConfig is for NewCommand.
type CommandConfig struct {
	// Scratch is where a directory is made for each task: its working directory,
	// HOME and TMPDIR, in which it may write whatever its manifest says, and which
	// is removed after it. Empty means the system's directory for temporary files.
	Scratch string
	// ScratchBytes and ScratchFiles bound what a task may have in its directory; one
	// that has more is ended. 0 means a gibibyte, and 50,000 files and directories.
	ScratchBytes int64
	ScratchFiles int
	// MaxOutput is how many bytes are kept of each of stdout and stderr, half
	// from the beginning and half from the end; 0 means a mebibyte.
	MaxOutput int
	// Manifest is what a task may use when no policy says anything. Its zero value
	// means 1024 MB, two CPUs, ten minutes, no network, and no files but Scratch's.
	Manifest act.Manifest
}

// NewCommand returns command_executor, which runs a program inside package
// sandbox, held to the task's manifest. The program that calls it must have
// called Main.
func NewCommand(c CommandConfig) Executor {
	if reflect.ValueOf(c.Manifest).IsZero() {
		c.Manifest = act.Manifest{MaxMemoryMB: 1024, MaxCPUPercent: 200, TimeoutSeconds: 600}
	}
	return &command{c}
}

type command struct{ config CommandConfig }

// sandboxLimits is every limit: the sandbox holds it, or refuses to run.
var sandboxLimits = limits

func (c *command) Describe() Description {
	return Description{
		ID:           "command_executor",
		Name:         "Command",
		Description:  "Runs a program, or a line of shell, inside a sandbox that the kernel holds to the task's manifest.",
		Tags:         []string{"command", "shell", "sandbox"},
		InputSchema:  commandSchema,
		ResultSchema: commandResultSchema,
		Literal:      []string{"command"},
		Concurrent:   16,
		Manifest:     c.config.Manifest,
		Enforces:     sandboxLimits,
	}
}

var commandSchema = jsontext.Value(`{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "required": ["command"],
  "properties": {
    "command": {
      "description": "A line for /bin/sh, or a program with its arguments, which is run without a shell.",
      "oneOf": [
        {"type": "string", "minLength": 1},
        {"type": "array", "minItems": 1, "items": {"type": "string"}}
      ]
    },
    "cwd": {"type": "string", "description": "The working directory, inside what the manifest names; relative to the task's own directory, which is the default."},
    "env": {"type": "object", "additionalProperties": {"type": "string"}, "description": "Variables of the environment, beside PATH, HOME, TMPDIR and LANG. Nothing is inherited."},
    "timeout": {"type": "number", "exclusiveMinimum": 0, "description": "Seconds that it may take; never more than the manifest allows."},
    "stdin": {"type": "string", "description": "What the program reads."},
    "limits": {"type": "boolean", "description": "Whether the result tells what held the program to which limit."}
  },
  "additionalProperties": true
}`)

type commandInputs struct {
	Command jsontext.Value    `json:"command"`
	Cwd     string            `json:"cwd"`
	Env     map[string]string `json:"env"`
	Timeout *float64          `json:"timeout"`
	Stdin   string            `json:"stdin"`
	Limits  bool              `json:"limits"`
}

// args are the program and its arguments.
func (in commandInputs) args() (args []string, err error) {
	switch in.Command.Kind() {
	case '"':
		var line string
		if err := json.Unmarshal(in.Command, &line); err == nil && strings.TrimSpace(line) != "" {
			return []string{"/bin/sh", "-c", line}, nil
		}
	case '[':
		if err := json.Unmarshal(in.Command, &args); err == nil && len(args) > 0 && args[0] != "" {
			return args, nil
		}
	}
	return nil, final("the input \"command\" must be a line for the shell, or an array of strings that begins with a program")
}

func (c *command) Execute(ctx context.Context, job *Job) (jsontext.Value, error) {
	var in commandInputs
	if err := decode(job, &in); err != nil {
		return nil, err
	}
	args, err := in.args()
	if err != nil {
		return nil, err
	}
	p, err := newProgram(ctx, job, scratch{c.config.Scratch, c.config.ScratchBytes, c.config.ScratchFiles}, c.config.MaxOutput, in.Timeout, in.Env)
	if err != nil {
		return nil, err
	}
	defer p.close()
	p.limits = in.Limits
	cwd := p.scratch
	if in.Cwd != "" {
		if cwd = in.Cwd; !filepath.IsAbs(cwd) {
			cwd = filepath.Join(p.scratch, cwd)
		}
		if !inScope(cwd, p.manifest) {
			return nil, final("the input \"cwd\" lies outside of what the manifest allows, or does not exist: %s", cut(in.Cwd, 300))
		}
	}
	outcome, err := sandbox.Run(ctx, p.manifest, sandbox.Command{Args: args, Dir: cwd, Env: p.env, Stdin: stdin(in.Stdin), Stdout: p.stdout, Stderr: p.stderr, Disk: p.disk})
	return p.result(ctx, outcome, err)
}

// stdin is nil, and not an empty reader, where there is none.
func stdin(text string) io.Reader {
	if text == "" {
		return nil
	}
	return strings.NewReader(text)
}

// inScope is whether a directory lies in what a manifest names. The sandbox
// judges once more, but would also let the system's directories pass.
func inScope(dir string, m act.Manifest) bool {
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(slices.Concat(m.FilesystemScope, m.FilesystemRead), func(entry string) bool {
		base := entry
		if i := strings.IndexAny(entry, "*?"); i >= 0 {
			base = entry[:strings.LastIndexByte(entry[:i], '/')+1]
		}
		if base, err = filepath.EvalSymlinks(base); err != nil {
			return false
		}
		rel, err := filepath.Rel(base, resolved)
		return err == nil && filepath.IsLocal(rel)
	})
}

// program is what a command and a module have in common: a directory, an
// environment, what may be used, and what is kept of the output.
type program struct {
	scratch        string
	disk           *sandbox.Disk
	manifest       act.Manifest
	env            []string
	stdout, stderr *output
	report         *reporter
	limits         bool // the result tells what held it to which limit
}

func newProgram(ctx context.Context, job *Job, where scratch, maxOutput int, timeout *float64, env map[string]string) (*program, error) {
	d, err := allowedTime(job.Manifest, timeout)
	if err != nil {
		return nil, err
	}
	for name, value := range env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return nil, final("the input \"env\" has a variable that cannot be one: %q", cut(name, 100))
		}
	}
	p := &program{manifest: job.Manifest, report: report(job)}
	if p.scratch, err = makeScratch(where.parent); err != nil {
		return nil, err
	}
	p.disk = &sandbox.Disk{Dir: p.scratch, Bytes: cmp.Or(where.bytes, defaultScratch), Files: cmp.Or(where.files, defaultFiles)}
	p.manifest.TimeoutSeconds = int(math.Ceil(d.Seconds()))
	p.manifest.FilesystemScope = append(slices.Clone(job.Manifest.FilesystemScope), p.scratch)
	p.env = environment(p.scratch, act.TraceparentFrom(ctx), env)
	p.stdout, p.stderr = newOutput(maxOutput, p.report), newOutput(maxOutput, nil)
	return p, nil
}

// environment is all that a program sees of it. span is the task's in traces, as programs
// that trace look for it; empty for none.
func environment(scratch, span string, own map[string]string) (env []string) {
	all := map[string]string{"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": scratch, "TMPDIR": scratch, "LANG": "C.UTF-8"}
	if span != "" {
		all["TRACEPARENT"] = span
	}
	for name, value := range own {
		all[name] = value
	}
	for name, value := range all {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

func (p *program) close() {
	p.report.close()
	removeScratch(p.scratch)
}

// programResult is how a program ended.
type programResult struct {
	Stdout          string          `json:"stdout"`
	Stderr          string          `json:"stderr"`
	ExitCode        int             `json:"exit_code"`
	Signal          string          `json:"signal,omitzero"`
	TimedOut        bool            `json:"timed_out,omitzero"`
	OutOfMemory     bool            `json:"out_of_memory,omitzero"`
	OverDisk        string          `json:"over_disk,omitzero"`
	OverQuota       string          `json:"over_quota,omitzero"`
	DurationSeconds float64         `json:"duration_seconds"`
	MemoryPeakMB    int             `json:"memory_peak_mb,omitzero"`
	CPUPercent      float64         `json:"cpu_percent,omitzero"`
	Truncated       bool            `json:"truncated,omitzero"`
	Limits          []sandbox.Limit `json:"limits,omitempty"` // when the inputs ask for it
}

// overDisk says why a program was ended that wrote too much.
func overDisk(o sandbox.Outcome) string {
	if o.OverDisk == "" {
		return o.OverQuotaText()
	}
	return fmt.Sprintf("it was ended, since it wrote %s to its directory, which is all that it may have there", o.OverDisk)
}

// lastLine is what a program said last, in short: most often why it failed.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return words.Shorten(strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:]), 300)
}

// result tells how a program ended. One that did not end well is an error, with
// what it wrote.
func (p *program) result(ctx context.Context, o sandbox.Outcome, err error) (jsontext.Value, error) {
	gone := ended(ctx)
	switch {
	case errors.Is(gone, context.Canceled): // nobody waits for what it wrote
		return nil, gone
	case gone == nil && errors.Is(err, sandbox.ErrRefused):
		return nil, Final(err)
	case gone == nil && err != nil:
		return nil, err
	}
	if !p.limits {
		o.Limits = nil
	}
	stdout, cutOut := p.stdout.text()
	stderr, cutErr := p.stderr.text()
	value, err := encode(programResult{Stdout: stdout, Stderr: stderr, ExitCode: o.ExitCode, Signal: o.Signal, TimedOut: o.TimedOut, OutOfMemory: o.OutOfMemory, OverDisk: o.OverDisk, OverQuota: o.OverQuota,
		DurationSeconds: seconds(o.Duration), MemoryPeakMB: o.MemoryPeakMB, CPUPercent: math.Round(o.CPUPercent*10) / 10, Truncated: cutOut || cutErr, Limits: o.Limits})
	if err != nil {
		return nil, err
	}
	message := ""
	switch {
	case gone != nil:
		message = gone.Error()
	case o.OverDisk != "" || o.OverQuota != "":
		message = overDisk(o)
	case o.TimedOut:
		message = fmt.Sprintf("it was ended after %d seconds, which is all that it may take", p.manifest.TimeoutSeconds)
	case o.OutOfMemory && (o.ExitCode != 0 || o.Signal != ""):
		message = fmt.Sprintf("it was ended, since it used more than %d MB of memory", p.manifest.MaxMemoryMB)
	case o.Signal != "":
		message = "it was ended by " + o.Signal
	case o.ExitCode != 0:
		message = fmt.Sprintf("it ended with code %d", o.ExitCode)
	default:
		return value, nil
	}
	if said := lastLine(stderr); said != "" {
		message += ": " + said
	}
	return nil, &Error{Message: message, Result: value}
}

// Main is what a program that executes commands calls first: commands start in a copy of
// the program, which builds its sandbox there, and does not come back from Main.
func Main() { sandbox.Main() }
