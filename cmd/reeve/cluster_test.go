package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"reeve.example/reeve/internal/store/storetest"
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
