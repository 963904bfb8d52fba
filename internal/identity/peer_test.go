package identity

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// The kernel says who is at the other end of the operator's socket.
func TestPeer(t *testing.T) {
	dir, err := os.MkdirTemp("", "peer") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Skip(err)
	}
	defer l.Close()
	asker, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer asker.Close()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p := Peer(c)
	if p.Method != "socket" {
		t.Errorf("%+v", p)
	}
	if runtime.GOOS == "linux" || runtime.GOOS == "darwin" {
		if want := LocalUser(uint32(os.Getuid())); p != want || !strings.HasPrefix(p.Name, "socket:") {
			t.Errorf("%+v, want %+v", p, want)
		}
	}
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if p := Peer(a); p != Operator {
		t.Errorf("a pipe: %+v", p)
	}
}
