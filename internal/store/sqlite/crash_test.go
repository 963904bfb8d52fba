package sqlite

import (
	"bufio"
	"context"
	flags "flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/internal/store/storetest"
)

// TestMain lets a test start its own program again as another process: the one
// that REEVE_TEST_CHILD names.
func TestMain(m *testing.M) {
	child := map[string]func(dir string) error{"writer": childWriter}
	for name, run := range systemChildren {
		child[name] = run
	}
	if run := child[os.Getenv("REEVE_TEST_CHILD")]; run != nil {
		if err := run(os.Getenv("REEVE_TEST_DIR")); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// startChild starts a child process, and returns its output line by line.
func startChild(t *testing.T, name, dir string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "REEVE_TEST_CHILD="+name, "REEVE_TEST_DIR="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

// childWriter commits batches for ever, and prints the size of the log each
// time it is durable.
func childWriter(dir string) error {
	s, err := Open(dir, Options{})
	if err != nil {
		return err
	}
	w, err := storetest.NewWriter(context.Background(), s, "child")
	if err != nil {
		return err
	}
	for {
		list := entries(w, 1+rand.IntN(100), rand.IntN(2000))
		if _, err := w.Commit(context.Background(), list...); err != nil {
			return err
		}
		fmt.Println(w.Size)
		if rand.IntN(20) == 0 {
			if err := s.flushHeads(); err != nil {
				return err
			}
		}
	}
}

// kills is how often TestThreat01Kill kills.
var kills = flags.Int("kills", 12, "how often a process that writes is killed")

// TestThreat01Kill kills a process that writes, at random points, again and again: what
// it said was durable is there, and everything fits together.
func TestThreat01Kill(t *testing.T) {
	dir := t.TempDir()
	said := uint64(0)
	for range *kills {
		cmd, out := startChild(t, "writer", dir)
		timer := time.AfterFunc(time.Duration(20+rand.IntN(300))*time.Millisecond, func() { cmd.Process.Kill() })
		for out.Scan() {
			if strings.HasPrefix(out.Text(), "error:") {
				t.Error(out.Text())
			}
			fmt.Sscan(out.Text(), &said)
		}
		cmd.Wait()
		timer.Stop()

		s := open(t, dir)
		head, err := s.Head(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		// One commit more than was said can have become durable.
		if head.Size < said || head.Size > said+100 {
			t.Fatalf("the log has %d records after %d were said to be durable", head.Size, said)
		}
		if want := string(storetest.Checkpoint(0, head.Size)); head.Size > 0 && string(head.Checkpoint) != want {
			t.Fatalf("the checkpoint is %q, want %q", head.Checkpoint, want)
		}
		said = head.Size
		whole(t, &storetest.Writer{Store: s, Size: head.Size})
		if hashes, err := s.Nodes(t.Context(), 0, 0, 0, head.Size); err != nil || uint64(len(hashes)) != head.Size {
			t.Fatalf("%d hashes of %d records: %v", len(hashes), head.Size, err)
		}
		if _, err := s.Nodes(t.Context(), 0, 1, 0, head.Size/256); err != nil {
			t.Fatalf("the tree's hashes: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if said == 0 {
		t.Error("no process got as far as its first commit")
	}
}

// TestInUseByProcess opens a database that another process has.
func TestInUseByProcess(t *testing.T) {
	dir := t.TempDir()
	cmd, out := startChild(t, "writer", dir)
	defer cmd.Wait()
	defer cmd.Process.Kill()
	if !out.Scan() {
		t.Fatal("the other process wrote nothing")
	}
	_, err := Open(dir, Options{})
	if want := fmt.Sprint("process ", cmd.Process.Pid); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one that names %s", err, want)
	}
	// To read beside it is fine.
	r, err := Open(dir, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	head, err := r.Head(t.Context(), 0)
	if err != nil || head.Size == 0 {
		t.Errorf("head %+v, %v", head, err)
	}
}
