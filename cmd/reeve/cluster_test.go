package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"reeve.example/reeve/internal/store/storetest"

	"github.com/jackc/pgx/v5"
)

// The script of examples/cluster, as its README has it.
func TestCluster(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("commands are held to a manifest on Linux only")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	reeve := filepath.Join(t.TempDir(), "reeve") // this test's binary is the program when it is called so
	if err := os.Symlink(self, reeve); err != nil {
		t.Fatal(err)
	}
	script := exec.Command("../../examples/cluster/three-nodes.sh")
	script.Env = append(os.Environ(), "DATABASE_URL="+storetest.Postgres(t), "REEVE="+reeve, "PORT="+strconv.Itoa(threePorts(t)))
	out, err := script.CombinedOutput()
	text := string(out)
	t.Log(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"node 2 is killed", "it starts again", "home   completed"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if n := strings.Count(text, "holds"); n != 3 {
		t.Errorf("%d logs hold, of 3", n)
	}
}

// The program of examples/cluster, with a database that is killed: no answered decision is
// lost, and no log is begun for a kill.
func TestClusterKills(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the example kills as Unix does")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// A server of its own, in a folder that its user can reach.
	folder, err := os.MkdirTemp("", "reevecluster")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	url := storetest.PostgresIn(t, folder)
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	// The server ends all its processes when one was killed, and recovers as after a crash.
	var pid int
	if err := c.QueryRow(t.Context(), `SELECT pg_backend_pid()`).Scan(&pid); err != nil {
		t.Fatal(err)
	}
	reeve := filepath.Join(t.TempDir(), "reeve")
	if err := os.Symlink(self, reeve); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "cluster")
	if out, err := exec.Command("go", "build", "-o", program, "../../examples/cluster").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := exec.Command(program, "-reeve", reeve, "-for", "10s", "-kill-every", "3s", "-agents", "6", "-crash-database", fmt.Sprint("kill -9 ", pid))
	run.Env = append(os.Environ(), "DATABASE_URL="+url)
	out, err := run.CombinedOutput()
	text := string(out)
	t.Log(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"is killed ──", "the database is killed", ", 0 of them are lost;", "3 logs hold"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if err := c.Ping(t.Context()); err == nil {
		t.Error("the database was not killed")
	}
}

// threePorts returns the first of three ports in a row that are free.
func threePorts(t *testing.T) int {
	t.Helper()
	for port := 20_000 + os.Getpid()%20_000; ; port += 3 {
		free := true
		for i := range 3 {
			l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port+i)))
			if err != nil {
				free = false
				break
			}
			l.Close()
		}
		if free {
			return port
		}
	}
}
