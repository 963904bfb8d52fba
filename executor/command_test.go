package executor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/act"

	"github.com/go-json-experiment/json/jsontext"
)

// command runs a line in a new scratch directory, which must be empty afterwards.
func runCommand(t *testing.T, c CommandConfig, inputs string, m *act.Manifest) (programResult, *Error, *trial) {
	t.Helper()
	c.Scratch = filepath.Join(t.TempDir(), "scratch")
	e := NewCommand(c)
	tr := try(t, e, inputs)
	if m != nil {
		tr.job.Manifest = *m
	}
	v, err := tr.run(t.Context(), e)
	if left, _ := os.ReadDir(c.Scratch); len(left) > 0 {
		t.Errorf("the task's directory is left: %v", left)
	}
	if err != nil {
		failure := wrong(t, err)
		if failure.Result == nil {
			return programResult{}, failure, tr
		}
		return read[programResult](t, failure.Result), failure, tr
	}
	return read[programResult](t, v), nil, tr
}

func quote(s string) string { q, _ := jsontext.AppendQuote(nil, s); return string(q) }

// TestCommandShort: what held the program is told when it is asked for, and of one that
// had no more time what it wrote until then is.
func TestCommandShort(t *testing.T) {
	if r, failure, _ := runCommand(t, CommandConfig{}, `{"command":"echo one"}`, nil); failure != nil || r.Limits != nil {
		t.Errorf("%+v, %+v", failure, r)
	}
	if r, failure, _ := runCommand(t, CommandConfig{}, `{"command":"echo one; sleep 60","timeout":1}`, nil); failure == nil || r.Stdout != "one\n" {
		t.Errorf("%+v, %+v", failure, r)
	}
}

func TestCommand(t *testing.T) {
	for name, c := range map[string]struct {
		inputs string
		stdout string
		stderr string
		code   int
	}{
		"a line of shell":      {`{"command":"echo one; echo two >&2; echo $((1+2))"}`, "one\n3\n", "two\n", 0},
		"a program":            {`{"command":["printf","%s|","$HOME","; id"]}`, "$HOME|; id|", "", 0},
		"a code":               {`{"command":"echo out; exit 7"}`, "out\n", "", 7},
		"stdin":                {`{"command":["cat"],"stdin":"given"}`, "given", "", 0},
		"no stdin":             {`{"command":["cat"]}`, "", "", 0},
		"its directory":        {`{"command":"[ \"$PWD\" = \"$HOME\" ] && [ \"$PWD\" = \"$TMPDIR\" ] && touch x && ls -A"}`, "x\n", "", 0},
		"an environment":       {`{"command":"echo $A $HOME","env":{"A":"b","HOME":"/h"}}`, "b /h\n", "", 0},
		"nothing is inherited": {`{"command":"env | cut -d= -f1 | sort | tr '\\n' ' '"}`, "HOME LANG PATH PWD SHLVL TMPDIR _ ", "", 0},
		"a directory below":    {`{"command":"pwd | sed s,.*/,,","cwd":"."}`, "", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			r, failure, _ := runCommand(t, CommandConfig{}, strings.Replace(c.inputs, "{", `{"limits":true,`, 1), nil)
			if (failure != nil) != (c.code != 0) || failure != nil && (failure.Final || !strings.Contains(failure.Message, fmt.Sprint(c.code))) {
				t.Fatalf("%+v, %+v", failure, r)
			}
			switch name {
			case "nothing is inherited": // the shell's own may differ
				for v := range strings.FieldsSeq(r.Stdout) {
					if !strings.Contains(" "+c.stdout, " "+v+" ") {
						t.Errorf("%s is in the environment", v)
					}
				}
			case "a directory below":
				if !strings.HasPrefix(r.Stdout, "task-") {
					t.Errorf("%q", r.Stdout)
				}
			default:
				if r.Stdout != c.stdout || r.Stderr != c.stderr || r.ExitCode != c.code {
					t.Errorf("%+v", r)
				}
			}
			held := 0
			for _, l := range r.Limits {
				if l.State == "enforced" {
					held++
				}
			}
			if held < 4 {
				t.Errorf("the limits are %+v", r.Limits)
			}
		})
	}
}

func TestCommandHeld(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("hidden"), 0o644); err != nil {
		t.Fatal(err)
	}
	r, failure, _ := runCommand(t, CommandConfig{}, `{"command":`+quote("cat "+secret+"; touch "+secret+".2")+`}`, nil)
	if failure == nil || strings.Contains(r.Stdout, "hidden") || r.ExitCode == 0 {
		t.Errorf("a file outside: %+v", r)
	}
	if _, err := os.Stat(secret + ".2"); err == nil {
		t.Error("a file was made outside")
	}
	start := time.Now()
	r, failure, _ = runCommand(t, CommandConfig{}, `{"command":"echo begun; sleep 100","timeout":1}`, nil)
	if failure == nil || !r.TimedOut || r.Stdout != "begun\n" || !strings.Contains(failure.Message, "after 1 seconds") || time.Since(start) > 50*time.Second {
		t.Errorf("its time: %+v, %+v", failure, r)
	}

	zero := act.Manifest{TimeoutSeconds: 5}
	if _, failure, _ = runCommand(t, CommandConfig{}, `{"command":"true"}`, &zero); failure == nil || !failure.Final || !strings.Contains(failure.Message, "max_memory_mb is 0") {
		t.Errorf("a manifest that allows nothing: %+v", failure)
	}
	blocked := NewCommand(CommandConfig{}).Describe().Manifest
	blocked.BlockedPatterns = []string{"forbidden"}
	if _, failure, _ = runCommand(t, CommandConfig{}, `{"command":["echo","forbidden"]}`, &blocked); failure == nil || !failure.Final {
		t.Errorf("a blocked pattern: %+v", failure)
	}
	if _, failure, _ = runCommand(t, CommandConfig{}, `{"command":["no-such-program"]}`, nil); failure == nil || !failure.Final || !strings.Contains(failure.Message, "no-such-program") {
		t.Errorf("a program that is not there: %+v", failure)
	}
}

func TestCommandScope(t *testing.T) {
	work := t.TempDir()
	if err := os.MkdirAll(filepath.Join(work, "in"), 0o755); err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	if err := os.Symlink(out, filepath.Join(work, "link")); err != nil {
		t.Fatal(err)
	}
	m := NewCommand(CommandConfig{}).Describe().Manifest
	m.FilesystemScope = []string{work + "/**"}
	for cwd, ok := range map[string]bool{work: true, work + "/in": true, work + "/in/..": true, out: false, work + "/link": false, work + "/../": false,
		"/usr": false, "/": false, work + "/none": false, work + "-evil": false, "..": false} {
		r, failure, _ := runCommand(t, CommandConfig{}, `{"command":"touch made","cwd":`+quote(cwd)+`}`, &m)
		if (failure == nil) != ok || failure != nil && !failure.Final {
			t.Errorf("in %s: %+v, %+v", cwd, failure, r)
		}
	}
	if _, err := os.Stat(filepath.Join(work, "in", "made")); err != nil {
		t.Error(err)
	}
}

func TestCommandOutput(t *testing.T) {
	r, failure, tr := runCommand(t, CommandConfig{MaxOutput: 1000}, `{"command":"echo first; i=0; while [ $i -lt 500 ]; do echo line $i; i=$((i+1)); done; echo last"}`, nil)
	if failure != nil {
		t.Fatal(failure)
	}
	if !r.Truncated || !strings.HasPrefix(r.Stdout, "first\n") || !strings.HasSuffix(r.Stdout, "last\n") || len(r.Stdout) > 1100 {
		t.Errorf("%d bytes, %v: %.100s", len(r.Stdout), r.Truncated, r.Stdout)
	}
	if told := tr.progress(); !strings.HasPrefix(told, "first|line 0|") || !strings.HasSuffix(told, "|line 499|last") || tr.part[0] >= 0 {
		t.Errorf("told: %.100s", told)
	}
}

// TestCommandCancel: what a command started dies with it, and the task's
// directory goes although somebody tried to hold on to it.
func TestCommandCancel(t *testing.T) {
	dir := t.TempDir()
	beat := filepath.Join(dir, "beat")
	e := NewCommand(CommandConfig{Scratch: filepath.Join(dir, "scratch")})
	line := `mkdir -p d/e && touch d/e/f && chmod 0 d/e d; (setsid sh -c 'while :; do echo x >> ` + beat + `; sleep 0.02; done' &); echo up; sleep 1000`
	tr := try(t, e, `{"command":`+quote(line)+`}`)
	tr.job.Manifest.FilesystemScope = []string{dir}
	up := make(chan struct{}, 8)
	tr.on = func(string) {
		for { // until the child writes too
			if info, err := os.Stat(beat); err == nil && info.Size() > 0 {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		up <- struct{}{}
	}
	cancels(t, e, tr, up)
	size := func() int64 { info, _ := os.Stat(beat); return info.Size() }
	before := size()
	time.Sleep(300 * time.Millisecond)
	if after := size(); after != before {
		t.Errorf("a child still writes: %d, then %d bytes", before, after)
	}
	if left, _ := os.ReadDir(filepath.Join(dir, "scratch")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := try(t, e, `{"command":"true"}`).run(ctx, e); err != context.Canceled {
		t.Errorf("cancelled before: %v", err)
	}
}
