package storetest

import (
	"bytes"
	"crypto/sha256"
	"testing"

	"reeve/ledger"

	"golang.org/x/mod/sumdb/tlog"
)

// BenchmarkCommit64 measures commits of 64 records of 450 bytes, each the first
// of a session, without and with openings of 3 KB beside them. cpu-ns/entry is
// what this process spent on one, without waiting for the disk.
func BenchmarkCommit64(b *testing.B, open func(b *testing.B) ledger.Store) {
	for _, c := range []struct {
		name    string
		opening []byte
	}{{"bare", nil}, {"openings", bytes.Repeat([]byte("o"), 3<<10)}} {
		b.Run(c.name, func(b *testing.B) {
			store := open(b)
			defer store.Close()
			benchmarkCommit(b, store, c.opening)
		})
	}
}

func benchmarkCommit(b *testing.B, store ledger.Store, opening []byte) {
	const n = 64
	w, err := NewWriter(b.Context(), store, "bench")
	if err != nil {
		b.Fatal(err)
	}
	batch := &ledger.Batch{Openings: make([][]byte, n), Checkpoint: bytes.Repeat([]byte("c"), 200)}
	claims := make([]ledger.Claim, n)
	data := bytes.Repeat([]byte("d"), 120)
	for i := range n {
		batch.Records = append(batch.Records, Record(uint64(i), 450))
		batch.Leaves = append(batch.Leaves, tlog.RecordHash(batch.Records[i]))
		batch.Openings[i] = opening
		batch.Claims = append(batch.Claims, ledger.BatchClaim{Entry: i})
	}
	seq := sha256.Sum256([]byte(b.Name()))
	start := cpuTime()
	b.ResetTimer()
	for b.Loop() {
		// New keys, at the price of one hash for two.
		for i := 0; i < n; i += 2 {
			seq = sha256.Sum256(seq[:])
			claims[i] = ledger.Claim{Key: ledger.SessionKey(seq[:16]), First: true, Data: data}
			claims[i+1] = ledger.Claim{Key: ledger.SessionKey(seq[16:]), First: true, Data: data}
		}
		err := store.Commit(b.Context(), w.Lease, claims, func(lost []int) *ledger.Batch {
			batch.First, batch.At, batch.Nodes = w.Size, w.At, nil
			for i := range claims {
				batch.Claims[i].Claim = claims[i]
			}
			w.Size += n
			if w.Size%256 == 0 {
				batch.Nodes = []ledger.Node{{Level: 1, N: w.Size/256 - 1}}
			}
			return batch
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	entries := float64(b.N) * n
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/entries, "ns/entry")
	b.ReportMetric(float64(cpuTime()-start)/entries, "cpu-ns/entry")
}
