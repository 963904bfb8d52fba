package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"reeve.example/reeve/act"
)

// fills are ways of filling a disk that a shell does not have. Each makes its files in
// dir, of a megabyte, so many, and waits.
var fills = map[string]func(dir string, n int){
	"mapped, and closed": func(dir string, n int) {
		for i := range n {
			fd := filled(dir, i)
			b, err := unix.Mmap(fd, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			fmt.Print(err, len(b))
			unix.Close(fd)
		}
	},
	"on their way between processes": func(dir string, n int) {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			panic(err)
		}
		for i := range n {
			fd := filled(dir, i)
			if err := unix.Sendmsg(pair[0], []byte("x"), unix.UnixRights(fd), nil, 0); err != nil {
				panic(err)
			}
			unix.Close(fd)
		}
	},
	"without a name ever": func(dir string, n int) {
		for range n {
			fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR, 0o600)
			if err != nil {
				panic(err)
			}
			unix.Write(fd, bytes.Repeat([]byte("x"), 1<<20))
		}
	},
	"moving about": func(dir string, n int) {
		begin := time.Now()
		for i := range 40 {
			os.MkdirAll(fmt.Sprintf("%s/%d", dir, i), 0o755)
		}
		os.Mkdir(dir+"/0/hidden", 0o755)
		for i := range n {
			os.WriteFile(fmt.Sprintf("%s/0/hidden/%d", dir, i), bytes.Repeat([]byte("x"), 1<<20), 0o600)
		}
		for at := 0; n > 8 || time.Since(begin) < time.Second; at = (at + 1) % 40 {
			os.Rename(fmt.Sprintf("%s/%d/hidden", dir, at), fmt.Sprintf("%s/%d/hidden", dir, (at+1)%40))
		}
	},
	"allocated, and not written": func(dir string, n int) {
		for i := range n { // beyond its end, so that it looks empty
			fd, err := unix.Open(fmt.Sprintf("%s/%d", dir, i), unix.O_CREAT|unix.O_RDWR, 0o600)
			if err == nil {
				err = unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, 0, 1<<20)
			}
			if err != nil {
				panic(err)
			}
		}
	},
}

// filled makes a file that is in no directory.
func filled(dir string, i int) int {
	name := fmt.Sprintf("%s/%d", dir, i)
	fd, err := unix.Open(name, unix.O_CREAT|unix.O_RDWR, 0o600)
	if err != nil {
		panic(err)
	}
	os.Remove(name)
	unix.Write(fd, bytes.Repeat([]byte("x"), 1<<20))
	return fd
}

// TestThreat19Quota: a command that writes more than its manifest allows is ended, however
// it does it, and one that does not is not, whatever else happens on the disk.
func TestThreat19Quota(t *testing.T) {
	const end = "; sleep 60"
	for _, tt := range []struct{ name, command, want string }{
		{"little", "head -c 6000000 /dev/zero > ws/a && mkdir ws/b && head -c 1000000 /dev/zero > ws/b/c", ""},
		{"as much again, after it was removed", "for i in 1 2 3 4; do head -c 6000000 /dev/zero > ws/a; rm ws/a; done; sleep 0.3", ""},
		{"in the place of what was there", "rm ws/old/1; head -c 6000000 /dev/zero > ws/a; head -c 6000000 /dev/zero > ws/b; sleep 0.3", ""},
		{"moved", "mv ws/old ws/new; cp -l -r ws/new ws/again; sleep 0.3", ""},
		{"a little to a file that is large", "echo more >> ws/old/2; chmod -R u+x ws; sleep 0.3", ""},
		{"a hole", "truncate -s 8000000 ws/a; truncate -s 8000000 ws/b; sleep 0.3", ""},
		{"some files", "for i in $(seq 150); do : > ws/$i; done; sleep 0.3", ""},
		{"a file that is too large", "exec head -c 50000000 /dev/zero > ws/a", "more than 8388608 bytes to one file"},
		{"a hole that is too large", "exec dd if=/dev/zero of=ws/a bs=1 count=1 seek=9000000", "more than 8388608 bytes to one file"},
		{"to a file that was there", "for i in 0 1 2 3; do head -c 3000000 /dev/zero >> ws/old/$i; done" + end, "more than 8 MB"},
		{"several files", "for i in $(seq 5); do head -c 3000000 /dev/zero > ws/$i; done" + end, "more than 8 MB"},
		{"several files, quickly", "for i in $(seq 5); do head -c 3000000 /dev/zero > ws/$i; done", "more than 8 MB"},
		{"many small files", "i=0; while :; do i=$((i+1)); mkdir ws/d$i; echo x > ws/d$i/f; done", "more than 200 files"},
		{"many small files, quickly", "for i in $(seq 300); do : > ws/$i; done", "more than 200 files"},
		{"many links", "for i in $(seq 300); do ln -s x ws/$i; done" + end, "more than 200 files"},
		{"many FIFOs", "for i in $(seq 300); do mkfifo ws/$i; done" + end, "more than 200 files"},
		{"removed, and open", "for i in 3 4 5 6; do eval \"exec $i> ws/a; rm ws/a; head -c 5000000 /dev/zero >&$i\"; done" + end, "more than 8 MB"},
		{"by a child that was left behind", "(setsid sh -c 'for i in 1 2 3 4 5; do head -c 3000000 /dev/zero > ws/$i; done; sleep 60' &) ; sleep 60", "more than 8 MB"},
		{"in a folder that is closed", "mkdir ws/a; for i in $(seq 5); do head -c 3000000 /dev/zero > ws/a/$i; done; chmod 0 ws/a" + end, "too much"},
		{"below the second scope", "for i in $(seq 5); do head -c 3000000 /dev/zero > too/$i; done" + end, "more than 8 MB"},
	} {
		t.Run(tt.name, func(t *testing.T) { tryQuota(t, tt.want, "/bin/sh", "-c", tt.command) })
	}
	for name := range fills {
		t.Run(name, func(t *testing.T) { tryQuota(t, "", self(t), "attempt", "fill", name, "6") })
		t.Run(name+", too much", func(t *testing.T) { tryQuota(t, "too much", self(t), "attempt", "fill", name, "16") })
	}
}

// TestQuotaOfOthers: what others write to the disk, and not to the scope, is not the
// command's, however much it is, and what it has written itself is.
func TestQuotaOfOthers(t *testing.T) {
	disk := quietDisk(t)
	write := func() {
		for i := range 10 {
			os.WriteFile(fmt.Sprintf("%s/other%d", disk, i), bytes.Repeat([]byte("x"), 3<<20), 0o600)
		}
	}
	soon := time.AfterFunc(300*time.Millisecond, write)
	defer soon.Stop()
	tryQuotaIn(t, disk+"/1", "", "/bin/sh", "-c", "head -c 6000000 /dev/zero > ws/a; sleep 1")
	soon.Reset(300 * time.Millisecond)
	tryQuotaIn(t, disk+"/2", "more than 8 MB", "/bin/sh", "-c", "head -c 6000000 /dev/zero > ws/a; sleep 1; head -c 6000000 /dev/zero > ws/b; sleep 60")
}

// quietDisk makes a directory on a disk of its own, where this user may mount one: what
// others free on a disk makes room for the command.
func quietDisk(t *testing.T) string {
	dir := t.TempDir()
	t.Cleanup(func() { os.Chmod(dir+"/ws/a", 0o700) })
	if unix.Mount("tmpfs", dir, "tmpfs", 0, "size=512m") == nil {
		t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	}
	return dir
}

// tryQuota runs a command that may write 8 MB and 200 files more, in a scope where more is
// already, on a disk that others write to.
func tryQuota(t *testing.T, want string, args ...string) {
	t.Helper()
	tryQuotaIn(t, quietDisk(t), want, args...)
}

func tryQuotaIn(t *testing.T, dir, want string, args ...string) {
	t.Helper()
	for i := range 4 {
		name := filepath.Join(dir, "ws/old", fmt.Sprint(i))
		if os.MkdirAll(filepath.Dir(name), 0o755) != nil || os.WriteFile(name, bytes.Repeat([]byte("x"), 5<<20), 0o644) != nil {
			t.Fatal("the scope cannot be made")
		}
	}
	os.Mkdir(dir+"/too", 0o755)
	m := act.Manifest{MaxMemoryMB: 512 + raceMB, MaxCPUPercent: 200, TimeoutSeconds: 20, MaxWriteMB: 8, MaxWriteFiles: 200,
		FilesystemScope: []string{dir + "/ws", dir + "/too"}, FilesystemRead: []string{dir}, Advisory: []string{"max_memory_mb", "max_cpu_percent"}}
	mc, err := thisMachine()
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	var out bytes.Buffer
	o, err := mc.run(t.Context(), m, Command{Args: args, Dir: dir, Env: []string{"PATH=/usr/bin:/bin"}, Stdout: &out, Stderr: &out})
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case want == "" && (o.OverQuota != "" || o.ExitCode != 0 || o.TimedOut):
		t.Errorf("it ended with %d (%s), timed out: %v; over: %s\n%s", o.ExitCode, o.Signal, o.TimedOut, o.OverQuota, &out)
	case want == "too much" && o.OverQuota != "": // whatever it says
	case !strings.HasPrefix(o.OverQuota, want):
		t.Errorf("over is %q, want %q: %d %s, timed out: %v\n%s", o.OverQuota, want, o.ExitCode, o.Signal, o.TimedOut, &out)
	}
	if took := time.Since(begin); took > 15*time.Second {
		t.Errorf("it took %v", took)
	}
}
