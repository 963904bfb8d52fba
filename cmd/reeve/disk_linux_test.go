package main

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"reeve.example/reeve/internal/store/storetest"

	"golang.org/x/sys/unix"
)

// On a disk that is full there is no verdict; when there is room again, there
// are verdicts again, and the ledger holds.
func TestThreat02FullDisk(t *testing.T) {
	storetest.WithSmallDisk(t, 4<<20, func(t *testing.T, mount string) {
		dir := filepath.Join(mount, "data")
		p := startNode(t, dir, "--limits-disk", "0")

		answered, refused := 0, 0
		ask := func(i int) {
			body, want := stepOf("s", i)
			a, err := post(http.DefaultClient, p.url, body)
			switch {
			case err != nil:
				t.Fatalf("step %d: %v\n%s", i, err, p.stderr)
			case a.Error.Code == -32603:
				refused++
			case a.Result.Decision != want:
				t.Fatalf("step %d: %+v, want %s", i, a, want)
			default:
				answered++
			}
		}
		filler := filepath.Join(mount, "filler")
		for i := range 10 {
			ask(i)
		}
		fill(t, filler)
		for i := 10; i < 2000 && refused < 3; i++ {
			ask(i)
		}
		if refused < 3 {
			t.Fatalf("a full disk refused %d of %d", refused, answered+refused)
		}
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		before := answered
		for i := 5000; i < 5010; i++ {
			ask(i)
		}
		if answered < before+9 {
			t.Errorf("with room again, %d of 10 were answered", answered-before)
		}
		p.Process.Signal(os.Interrupt)
		p.Wait()
		report, seen := readBack(t, dir)
		if !report.OK() {
			t.Errorf("the ledger does not hold: %v", report.Problems)
		}
		if len(seen) < answered {
			t.Errorf("%d decisions were answered, and %d records are there", answered, len(seen))
		}
	})
}

// fill writes until the disk is full.
func fill(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 4096)
	for {
		if _, err := f.Write(block); errors.Is(err, unix.ENOSPC) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
