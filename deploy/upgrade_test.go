package deploy

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestUpgrade: what a node of the version before has made, and was killed over, the present
// one goes on with: its ledger holds, its keys and tasks are known, what waits for a person
// waits. The version before is the newest tag, or the commit that a file names while there
// is none.
func TestUpgrade(t *testing.T) {
	dir := t.TempDir()
	before, now := version(t, dir, "before", versionBefore(t)), version(t, dir, "now", "")
	data, policy := filepath.Join(dir, "data"), filepath.Join(dir, "policy")
	write(t, filepath.Join(policy, "ask.yaml"), "version: 1\ndefault: allow\nrules:\n  - name: people-publish\n    on: call\n    tools: [publish]\n    effect: escalate\n    reason: People publish.\n")
	workflow := filepath.Join(dir, "two.yaml")
	write(t, workflow, "name: two\ntasks:\n  - {id: a, executor: system_info_executor, inputs: {resource: cpu}}\n  - {id: b, executor: aggregate_results_executor, needs: a}\n")

	node := before.serve(t, data, policy)
	key := strings.TrimSpace(lastLine(before.run(t, 0, "keys", "create", "agent-1", "--yes", "--data", data)))
	node.ask(t, key, "search", "allow")
	node.ask(t, key, "publish", "deny") // held, as AOS says it
	before.run(t, 0, "run", workflow, "--data", data)
	size := records(t, before, data)
	node.kill(t)

	now.run(t, 0, "ledger", "verify", "--data", data)
	node = now.serve(t, data, policy)
	node.ask(t, key, "search", "allow")
	if list := now.run(t, 0, "keys", "list", "--data", data); !strings.Contains(list, "agent-1") {
		t.Errorf("the key is not known:\n%s", list)
	}
	if list := now.run(t, 0, "approvals", "list", "--data", data); !strings.Contains(list, "publish") {
		t.Errorf("what was held is not known:\n%s", list)
	}
	if list := now.run(t, 0, "tasks", "list", "--data", data); !strings.Contains(list, "two") || !strings.Contains(list, "completed") {
		t.Errorf("the workflow is not known:\n%s", list)
	}
	if grown := records(t, now, data); grown <= size {
		t.Errorf("%d records before, %d after", size, grown)
	}
	node.kill(t)
	now.run(t, 0, "ledger", "verify", "--data", data)

	// The way back is a restored backup. A database that is too new is refused, not damaged.
	if out, err := before.command("ledger", "verify", "--data", data).CombinedOutput(); err != nil && !strings.Contains(string(out), "newer version") {
		t.Errorf("the version before on the database of this one: %v\n%s", err, out)
	}
	now.run(t, 0, "ledger", "verify", "--data", data)
}

func versionBefore(t *testing.T) string {
	t.Helper()
	if out, err := exec.Command("git", "describe", "--tags", "--abbrev=0", "HEAD^").Output(); err == nil {
		return strings.TrimSpace(string(out))
	}
	text, err := os.ReadFile("testdata/version-before")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// program is the path of a version's program.
type program string

// version builds a commit's program; that of this folder, where none is named.
func version(t *testing.T, dir, name, commit string) program {
	t.Helper()
	source := ".."
	if commit != "" {
		source = filepath.Join(dir, name+"-source")
		archive, err := exec.Command("git", "-C", "..", "archive", commit).Output()
		if err != nil {
			t.Fatalf("the version before, %s, is not in this clone, which may be shallow: %v", commit, err)
		}
		write(t, filepath.Join(source, "go.mod"), "")
		untar := exec.Command("tar", "-x", "-C", source)
		untar.Stdin = bytes.NewReader(archive)
		if out, err := untar.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	file := filepath.Join(dir, name)
	build := exec.Command("go", "build", "-C", source, "-buildvcs=false", "-o", file, "./cmd/reeve")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program(file)
}

func (p program) command(a ...string) *exec.Cmd {
	cmd := exec.Command(string(p), a...)
	cmd.Dir, cmd.Env = filepath.Dir(string(p)), append(os.Environ(), "HOME="+filepath.Dir(string(p)), "NO_COLOR=1")
	return cmd
}

// run runs a command that has to end with a code, and returns what it said.
func (p program) run(t *testing.T, code int, a ...string) string {
	t.Helper()
	cmd := p.command(a...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		t.Fatalf("%s %q: %v\n%s", filepath.Base(string(p)), a, err, out)
	}
	return string(out)
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// records is how many a log has, as verify tells it.
func records(t *testing.T, p program, data string) (n int) {
	t.Helper()
	out := p.run(t, 0, "ledger", "verify", "--data", data)
	m := regexp.MustCompile(`holds: (\d+) records`).FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("%s", out)
	}
	fmt.Sscan(m[1], &n)
	return n
}

// served is a node that runs.
type served struct {
	cmd *exec.Cmd
	url string
}

func (p program) serve(t *testing.T, data, policy string) *served {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	n := &served{p.command("serve", "--listen", address, "--data", data, "--policy", policy), "http://" + address}
	var said bytes.Buffer
	n.cmd.Stdout, n.cmd.Stderr = &said, &said
	if err := n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.cmd.Process.Kill() })
	for range 600 {
		if r, err := http.Get(n.url + "/readyz"); err == nil {
			r.Body.Close()
			if r.StatusCode == http.StatusOK {
				return n
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	n.kill(t)
	t.Fatalf("the node did not become ready:\n%s", said.String())
	return nil
}

// kill ends the node as a loss of power would.
func (n *served) kill(t *testing.T) {
	t.Helper()
	n.cmd.Process.Kill()
	n.cmd.Wait()
}

// ask asks about a call of a tool.
func (n *served) ask(t *testing.T, key, tool, want string) {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"protocols/MCP","params":{"message":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":{"title":"x"}}}}}`
	r, err := http.NewRequest("POST", n.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+key)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || !strings.Contains(string(text), `"decision":"`+want+`"`) {
		t.Errorf("%s: %s, %v", tool, text, err)
	}
}
