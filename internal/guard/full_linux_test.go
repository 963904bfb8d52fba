package guard_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store/postgres"
	"reeve.example/reeve/internal/store/storetest"

	"golang.org/x/sys/unix"
)

// TestThreat02FullDiskPostgres fills the disk of the database up: nothing is answered
// without a record, whatever of the server gives way first. With room again the node goes
// on by itself, and the ledger has all that was answered.
func TestThreat02FullDiskPostgres(t *testing.T) {
	const room = 256 << 20 // a new server takes some 60 MB, mostly for its own log
	storetest.WithSmallDisk(t, room, func(t *testing.T, dir string) {
		s, err := postgres.Open(t.Context(), storetest.PostgresIn(t, dir))
		if err != nil {
			t.Fatal(err)
		}
		n := openOn(t, s, nil)
		defer n.close() // before its server ends
		text := string(storetest.Record(0, 100_000))
		answered, refused, asked := 0, 0, 0
		ask := func() error {
			asked++
			d, _, err := n.Decide(t.Context(), call(fmt.Sprint("s", asked), "1", "read", text))
			switch {
			case err != nil:
				refused++
				if d.Effect != act.Deny {
					t.Fatalf("refused for %v, and answered %v", err, d.Effect)
				}
			case d.Effect == act.Allow:
				answered++
			default:
				t.Fatalf("%+v", d)
			}
			return err
		}
		for range 10 {
			if err := ask(); err != nil {
				t.Fatal(err)
			}
		}
		ballast := filepath.Join(dir, "ballast")
		fillUp(t, ballast)
		for asked < 2000 && refused < 5 {
			ask()
		}
		if refused < 5 {
			t.Fatalf("a full disk refused %d of %d", refused, asked)
		}
		t.Logf("%d of %d were answered", answered, asked)
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) { // the server may have to recover
			if err = ask(); err == nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("with room again: %v", err)
			}
		}
		for range 10 {
			if err := ask(); err != nil {
				t.Errorf("with room again: %v", err)
			}
		}
		if err := s.Probe(t.Context()); err != nil {
			t.Errorf("the probe, with room again: %v", err)
		}
		report, err := ledger.Verify(t.Context(), s, ledger.VerifyOptions{Log: n.log.Number(), TrustedKey: n.log.VerifierKey()})
		if err != nil || !report.OK() {
			t.Fatalf("the ledger does not hold: %v, %v", report, err)
		}
		if report.Size < uint64(answered) {
			t.Errorf("%d were answered, and %d records are there", answered, report.Size)
		}
	})
}

// fillUp writes until the disk is full.
func fillUp(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 4096); ; {
		if _, err := f.Write(block); errors.Is(err, unix.ENOSPC) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
