//go:build !windows

package realagents

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"reeve.example/reeve/internal/modelserver"
)

// Whatever breaks while an agent works, its next call does not run, and the model is told
// why; once it is mended, calls run again.
func TestFaults(t *testing.T) {
	const policy = "version: 1\ndefault: allow\nrules:\n  - {name: nothing, tools: [never], effect: deny}\n"
	for _, a := range agents {
		t.Run(a.id, func(t *testing.T) {
			t.Parallel()
			r := start(t, a, policy, "--timeout", "3s")
			f := &facts{t: t, name: a.id + "-faults"}
			hook := filepath.Join(r.bin, "reeve-hook")
			script := func(text string) func() {
				return func() {
					os.Remove(hook)
					if err := os.WriteFile(hook, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
						t.Error(err)
					}
				}
			}
			trails := filepath.Join(r.home, "trails")
			var node *exec.Cmd
			full := func() {
				if err := errors.Join(os.Rename(r.data, r.data+".away"), os.Mkdir(r.data, 0o700), fullDisk(r.data)); err != nil {
					t.Error(err)
				}
			}
			faults := []struct {
				name   string
				damage func()
				mend   func()
			}{
				{"is missing", func() { os.Remove(hook) }, nil},
				{"ends with exit code 1 without a word", script("exit 1"), nil},
				{"ends with exit code 1 and words", script("echo broken >&2; exit 1"), nil},
				{"ends with exit code 2 without a word", script("exit 2"), nil},
				{"is killed", script("kill -9 $$"), nil},
				{"is frozen", script("kill -STOP $$"), nil},
				{"stalls after it allowed", script("echo '{}'; exec sleep 600"), nil},
				{"has a broken policy", func() { r.file("policy.yaml", "version: 1\nrules: [") }, func() { r.file("policy.yaml", policy) }},
				{"cannot keep its notes", func() { os.Rename(trails, trails+".away"); os.WriteFile(trails, nil, 0o600) },
					func() { os.Remove(trails); os.Rename(trails+".away", trails) }},
				{"has no room on its disk", full, func() {
					takeDiskAway(r.data)
					os.Remove(r.data)
					os.Rename(r.data+".away", r.data)
				}},
				{"has a node that is frozen", func() { node = r.serve(); node.Process.Signal(syscall.SIGSTOP) }, func() { node.Process.Kill(); node.Wait() }},
				{"has a node that is gone", func() { addressed(r, "http://127.0.0.1:9/") }, func() { addressed(r, "") }},
			}
			var turns []modelserver.Turn
			for i := range faults {
				turns = append(turns, modelserver.Turn{Then: func(string) modelserver.Turn {
					if i > 0 && faults[i-1].mend != nil {
						faults[i-1].mend()
					}
					r.install("reeve-hook")
					faults[i].damage()
					return modelserver.Calls(a.shell(fmt.Sprintf("echo ran > fault-%d.txt", i)))
				}})
			}
			r.model.Play("play it", append(turns, modelserver.Turn{Then: func(string) modelserver.Turn {
				faults[len(faults)-1].mend()
				r.install("reeve-hook")
				return modelserver.Calls(a.shell("echo ran > mended.txt"))
			}}, modelserver.Say("finished"))...)
			r.prompt("play it")
			if node != nil && node.ProcessState == nil {
				node.Process.Kill()
				node.Wait()
			}
			told := r.model.Told("play it")
			f.must("all turns", fmt.Sprint(r.model.Left("play it")), "0")
			for i, fault := range faults {
				f.must("when the hook "+fault.name+", a call", either(r.has(fmt.Sprintf("fault-%d.txt", i)), "runs", "does not run"), "does not run")
			}
			f.must("mended, a call", either(r.has("mended.txt"), "runs", "does not run"), "runs")
			for _, of := range []struct{ what, words string }{{"a killed one", "137"}, {"a frozen one", "no answer in"}, {"a broken policy", "policy.yaml"}} {
				f.add("the model is told of "+of.what, either(strings.Contains(told, of.words), "yes", "no"))
			}
			f.compare()
		})
	}
}

// addressed has the hook ask the node at a URL, by its configuration; empty for none.
func addressed(r *run, url string) {
	text := "#!/bin/sh\nexec " + filepath.Join(programs, "reeve-hook") + " \"$@\" --url " + url + "\n"
	hook := filepath.Join(r.bin, "reeve-hook")
	os.Remove(hook)
	if url == "" {
		return
	}
	if err := os.WriteFile(hook, []byte(text), 0o700); err != nil {
		r.t.Error(err)
	}
}

// serve starts a node on the run's data folder.
func (r *run) serve() *exec.Cmd {
	r.t.Helper()
	cmd := exec.Command(filepath.Join(r.bin, "reeve"), "serve", "--listen", "127.0.0.1:0", "--data", r.data, "--policy", filepath.Join(r.home, "policy.yaml"))
	cmd.Env, cmd.Dir = r.environ(), r.work
	if err := cmd.Start(); err != nil {
		r.t.Error(err)
		return cmd
	}
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(50 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(r.data, "reeve.url")); err == nil {
			return cmd
		}
	}
	r.t.Error("no node after a minute")
	return cmd
}
