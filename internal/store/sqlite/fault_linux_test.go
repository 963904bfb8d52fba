package sqlite

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"reeve.example/reeve/internal/store/storetest"

	"golang.org/x/sys/unix"
)

func init() {
	systemChildren["failing fsync"] = childFailing(unix.SYS_FSYNC, unix.SYS_FDATASYNC)
	systemChildren["failing writes"] = childFailing(unix.SYS_PWRITE64, unix.SYS_WRITE)
}

// childFailing commits, then has the kernel fail these system calls with EIO for files
// (not for what it prints: nothing is printed after), and commits on. The size that was
// said to be durable is printed before; after, no commit may succeed.
func childFailing(calls ...uint32) func(dir string) error {
	return func(dir string) error {
		runtime.LockOSThread()
		s, err := Open(dir, Options{})
		if err != nil {
			return err
		}
		ctx := context.Background()
		w, err := storetest.NewWriter(ctx, s, "child")
		if err != nil {
			return err
		}
		for range 20 {
			if _, err := w.Commit(ctx, entries(w, 10, 3000)...); err != nil {
				return err
			}
		}
		fmt.Println(w.Size)
		if err := failWithEIO(calls); err != nil {
			return err
		}
		for range 20 {
			if _, err := w.Commit(ctx, entries(w, 10, 3000)...); err == nil {
				panic("a commit succeeded on a disk that fails")
			}
		}
		if s.Probe(ctx) == nil {
			panic("the probe finds nothing wrong with a disk that fails")
		}
		unix.Exit(0) // what is left undone stays undone
		return nil
	}
}

// failWithEIO installs a filter in every thread of this process.
func failWithEIO(calls []uint32) error {
	program := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}} // the number
	for _, number := range calls {
		program = append(program, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: number, Jf: 1},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EIO)})
	}
	program = append(program, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	prog := &unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(prog))); errno != 0 {
		return errno
	}
	return nil
}

// TestThreat02FailingDisk: where the disk's writes or its fsync fail, nothing is
// acknowledged, and what was acknowledged before is there when the disk is well again.
func TestThreat02FailingDisk(t *testing.T) {
	for _, fault := range []string{"failing fsync", "failing writes"} {
		t.Run(fault, func(t *testing.T) {
			dir := t.TempDir()
			cmd, out := startChild(t, fault, dir)
			var lines []string
			for out.Scan() {
				lines = append(lines, out.Text())
			}
			if err := cmd.Wait(); err != nil || len(lines) == 0 {
				t.Fatalf("%v\n%s", err, strings.Join(lines, "\n"))
			}
			var said uint64
			fmt.Sscan(lines[0], &said)
			s := open(t, dir)
			head, err := s.Head(t.Context(), 0)
			if err != nil || head.Size < said || said == 0 {
				t.Fatalf("the log has %d records after %d were said to be durable: %v", head.Size, said, err)
			}
			w := &storetest.Writer{Store: s, Size: head.Size}
			whole(t, w)
		})
	}
}
