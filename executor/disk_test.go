package executor

import (
	"os"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/act"
)

// TestCommandDisk: a command that has too much in its directory is ended, however it
// got it there, and nothing of it stays; one that has not is not.
func TestCommandDisk(t *testing.T) {
	c := CommandConfig{ScratchBytes: 8 << 20, ScratchFiles: 400}
	m := act.Manifest{MaxMemoryMB: 1024, MaxCPUPercent: 200, TimeoutSeconds: 600, Advisory: []string{"max_memory_mb", "max_cpu_percent"}}
	for _, tt := range []struct{ name, command, want string }{
		{"little", "head -c 6000000 /dev/zero > a && mkdir b && head -c 1000000 /dev/zero > b/c", ""},
		{"as much again, after it was removed", "head -c 6000000 /dev/zero > a && rm a && head -c 6000000 /dev/zero > b && rm b && head -c 6000000 /dev/zero > c", ""},
		{"a name twice", "head -c 6000000 /dev/zero > a && ln a b && ln a c && sleep 0.3", ""},
		{"a file with a hole", "dd if=/dev/zero of=a bs=1 count=1 seek=7000000 2>/dev/null; dd if=/dev/zero of=b bs=1 count=1 seek=7000000 2>/dev/null; sleep 0.3", ""},
		{"some files", "for i in $(seq 300); do : > $i; done", ""},
		{"a large file", "head -c 50000000 /dev/zero > a; sleep 60", "more than 8388608 bytes"},
		{"a large file, quickly", "exec head -c 50000000 /dev/zero > a", "more than 8388608 bytes"},
		{"several files", "for i in $(seq 5); do head -c 3000000 /dev/zero > $i; done; sleep 60", "more than 8388608 bytes"},
		{"several files, quickly", "for i in $(seq 5); do head -c 3000000 /dev/zero > $i; done", "more than 8388608 bytes"},
		{"many small files", "i=0; while :; do i=$((i+1)); mkdir d$i; echo x > d$i/f; done", "more than 400 files"},
		{"many small files, quickly", "for i in $(seq 500); do : > $i; done", "more than 400 files"},
		{"files that nobody sees", "for i in 3 4 5 6; do eval \"exec $i> a; rm a; head -c 5000000 /dev/zero >&$i\"; done; sleep 60", "more than 8388608 bytes"},
		{"a folder that is closed", "mkdir a; for i in $(seq 5); do head -c 3000000 /dev/zero > a/$i; done; chmod 0 a; sleep 60", "more than 8388608 bytes"},
		{"below, by its children", "mkdir a; (cd a; for i in $(seq 5); do head -c 3000000 /dev/zero > $i & done; wait; sleep 60) & wait", "more than 8388608 bytes"},
	} {
		begin := time.Now()
		r, failure, _ := runCommand(t, c, `{"command":`+quote(tt.command)+`}`, &m)
		switch {
		case tt.want == "" && failure != nil:
			t.Errorf("%s: %s %s", tt.name, failure.Message, failure.Result)
		case tt.want == "":
		case failure == nil:
			t.Errorf("%s: it was not ended: %+v", tt.name, r)
		default:
			if got := read[programResult](t, failure.Result); !strings.HasPrefix(got.OverDisk, tt.want) || !strings.Contains(failure.Message, "all that it may have there") {
				t.Errorf("%s: %s %s", tt.name, failure.Message, failure.Result)
			}
			if took := time.Since(begin); took > 30*time.Second {
				t.Errorf("%s: it took %v", tt.name, took)
			}
		}
	}
}

// TestCommandQuota: likewise for what the manifest lets a command write to elsewhere, and
// what it wrote there stays.
func TestCommandQuota(t *testing.T) {
	dir := t.TempDir()
	m := act.Manifest{MaxMemoryMB: 1024, MaxCPUPercent: 200, TimeoutSeconds: 60, FilesystemScope: []string{dir}, MaxWriteMB: 8, Advisory: []string{"max_memory_mb", "max_cpu_percent"}}
	if _, failure, _ := runCommand(t, CommandConfig{}, `{"command":`+quote("head -c 6000000 /dev/zero > "+dir+"/a")+`}`, &m); failure != nil {
		t.Errorf("%s %s", failure.Message, failure.Result)
	}
	_, failure, _ := runCommand(t, CommandConfig{}, `{"command":`+quote("head -c 20000000 /dev/zero > "+dir+"/a; kill -9 $$")+`}`, &m)
	if failure == nil || !strings.Contains(failure.Message, "SIGKILL") { // one file never becomes larger
		t.Errorf("one large file: %+v", failure)
	}
	_, failure, _ = runCommand(t, CommandConfig{}, `{"command":`+quote("for i in $(seq 20); do head -c 6000000 /dev/zero > "+dir+"/b$i; done; sleep 60")+`}`, &m)
	if failure == nil || read[programResult](t, failure.Result).OverQuota != "more than 8 MB" || !strings.Contains(failure.Message, "max_write_mb") {
		t.Errorf("many files: %+v", failure)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) < 2 {
		t.Errorf("%d files are left: %v", len(left), err)
	}
}
