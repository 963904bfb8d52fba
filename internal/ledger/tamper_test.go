package ledger_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/internal/ledger"
	storesqlite "reeve.example/reeve/internal/store/sqlite"

	"golang.org/x/mod/sumdb/tlog"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// database is a closed node's database in the hands of somebody who changes it.
type database struct {
	t testing.TB
	c *sqlite.Conn
}

func (d database) exec(query string, args ...any) {
	d.t.Helper()
	if err := sqlitex.Execute(d.c, query, &sqlitex.ExecOptions{Args: args}); err != nil {
		d.t.Fatal(err)
	}
}

// batch is one row of the table batch, taken apart.
type batch struct {
	first   int64
	leaves  []byte
	records [][]byte
}

func (d database) batch(index int64) (b batch) {
	d.t.Helper()
	err := sqlitex.Execute(d.c, `SELECT first, leaves, records FROM batch WHERE first <= ? ORDER BY first DESC LIMIT 1`, &sqlitex.ExecOptions{
		Args: []any{index},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			b.first = stmt.ColumnInt64(0)
			b.leaves = make([]byte, stmt.ColumnLen(1))
			stmt.ColumnBytes(1, b.leaves)
			data := make([]byte, stmt.ColumnLen(2))
			stmt.ColumnBytes(2, data)
			for len(data) > 0 {
				n, head := binary.Uvarint(data)
				b.records = append(b.records, data[head:head+int(n)])
				data = data[head+int(n):]
			}
			return nil
		},
	})
	if err != nil || index >= b.first+int64(len(b.records)) {
		d.t.Fatalf("no batch with record %d: %v", index, err)
	}
	return b
}

func (d database) put(b batch) {
	d.t.Helper()
	var data []byte
	for _, r := range b.records {
		data = binary.AppendUvarint(data, uint64(len(r)))
		data = append(data, r...)
	}
	d.exec(`UPDATE batch SET count = ?, leaves = ?, records = ? WHERE first = ?`, len(b.records), b.leaves, data, b.first)
}

// change rewrites a record, and its hash too if rehash says so.
func (d database) change(index int64, rehash bool) {
	d.t.Helper()
	b := d.batch(index)
	i := index - b.first
	b.records[i] = bytes.Replace(b.records[i], []byte(`"effect":"allow"`), []byte(`"effect":"deny"`), 1)
	if rehash {
		h := tlog.RecordHash(b.records[i])
		copy(b.leaves[32*i:], h[:])
	}
	d.put(b)
}

// tileRoot is the hash over the 256 hashes of a tile.
func (d database) tileRoot(n int64) []byte {
	var row []tlog.Hash
	for i := n * 256; i < n*256+256; i++ {
		b := d.batch(i)
		row = append(row, tlog.Hash(b.leaves[32*(i-b.first):]))
	}
	for ; len(row) > 1; row = row[:len(row)/2] {
		for i := range len(row) / 2 {
			row[i] = tlog.NodeHash(row[2*i], row[2*i+1])
		}
	}
	return row[0][:]
}

// TestThreat03HeldAgainstWhat: a log that somebody with the key wrote anew, with notes of
// where it was published, is held against nothing but itself.
func TestThreat03HeldAgainstWhat(t *testing.T) {
	s := openStore(t, t.TempDir())
	l := openLog(t, s)
	checkpoints := fill(t, s, l, 300)
	note := func(size int, place string) {
		if err := s.PutAnchor(t.Context(), ledger.Anchor{Size: uint64(size), Place: place, At: time.Unix(2, 0), Checkpoint: checkpoints[size/100-1]}); err != nil {
			t.Fatal(err)
		}
	}
	note(300, ledger.LogPlace)
	if r := verifyOK(t, s); r.Noted != 0 || r.Confirmed != 0 {
		t.Errorf("the process's own log counts: %+v", r)
	}
	note(200, "file:elsewhere")
	if r := verifyOK(t, s); r.Noted != 200 || r.NotedAt != "file:elsewhere" || r.Confirmed != 0 {
		t.Errorf("the database's word counts: %+v", r)
	}
	if r := verifyOK(t, s, checkpoints[0]); r.Confirmed != 100 {
		t.Errorf("with a checkpoint of one's own: %+v", r)
	}
}

// TestThreat03Tampering changes a log of 700 records in every way that somebody with
// the database in his hands can, and reads what Verify says.
func TestThreat03Tampering(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	l := openLog(t, s)
	checkpoints := fill(t, s, l, 700)
	anchor := func(size int) {
		err := s.PutAnchor(t.Context(), ledger.Anchor{Size: uint64(size), Place: "file:elsewhere", At: time.Unix(1, 0), Checkpoint: checkpoints[size/100-1]})
		if err != nil {
			t.Fatal(err)
		}
	}
	anchor(200)
	anchor(600)
	kept := checkpoints[len(checkpoints)-1]
	if cp, _ := ledger.ParseCheckpoint(kept); cp.Size != 700 {
		t.Fatalf("the newest checkpoint is of %d records", cp.Size)
	}
	if r := verifyOK(t, s, kept); r.Noted != 600 || r.Confirmed != 700 {
		t.Errorf("noted to %d, confirmed to %d; want 600 and 700", r.Noted, r.Confirmed)
	}
	l.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	original, err := os.ReadFile(filepath.Join(dir, "reeve.db"))
	if err != nil {
		t.Fatal(err)
	}
	checkpointFile := filepath.Join(t.TempDir(), "checkpoints")
	if err := os.WriteFile(checkpointFile, bytes.Join(checkpoints, []byte("\n")), 0o600); err != nil {
		t.Fatal(err)
	}

	for name, test := range map[string]struct {
		tamper func(d database)
		want   []string // parts of the sentences, one each
		kept   [][]byte
		opens  bool // Open does not look that far back
		blind  bool // the Python verifier does not look for it, or words it otherwise
	}{
		"nothing":                 {tamper: func(d database) {}, opens: true},
		"a record changed":        {tamper: func(d database) { d.change(300, false) }, want: []string{"Record 0-300 was changed"}, opens: true},
		"two records changed":     {tamper: func(d database) { d.change(3, false); d.change(270, false) }, want: []string{"Record 0-3 was changed", "Record 0-270 was changed"}, opens: true},
		"the last record changed": {tamper: func(d database) { d.change(699, false) }, want: []string{"Record 0-699 was changed"}},
		"a record and its hash":   {tamper: func(d database) { d.change(300, true) }, want: []string{"over records 0-256 to 0-511 does not fit"}, opens: true},
		"a record and all its hashes": {tamper: func(d database) {
			d.change(300, true)
			d.exec(`UPDATE node SET hash = ? WHERE level = 1 AND n = 1`, d.tileRoot(1))
		}, want: []string{"the checkpoint published at file:elsewhere on 1970-01-01T00:00:01Z, signed for 600 records: at least one of records 0-200 to 0-599"}, blind: true},
		"the last record and its hash": {tamper: func(d database) { d.change(699, true) }, want: []string{"the database's own checkpoint, signed for 700 records: at least one of records 0-600 to 0-699"}, blind: true},
		"a hash only": {tamper: func(d database) {
			b := d.batch(30)
			b.leaves[32*(30-b.first)] ^= 1
			d.put(b)
		}, want: []string{"The hash kept of record 0-30 was changed; the record itself is as it was signed"}, opens: true, blind: true},
		"a hash at the end": {tamper: func(d database) {
			b := d.batch(699)
			b.leaves[32*(699-b.first)] ^= 1
			d.put(b)
		}, want: []string{"The hash kept of record 0-699 was changed; the record itself is as it was signed"}, blind: true},
		"the tree": {tamper: func(d database) {
			d.exec(`UPDATE node SET hash = zeroblob(32) WHERE level = 1 AND n = 0`)
		}, want: []string{"over records 0-0 to 0-255 does not fit"}, blind: true},
		"the tree removed": {tamper: func(d database) {
			d.exec(`DELETE FROM node WHERE n = 1`)
		}, want: []string{"over records 0-256 to 0-511 is missing"}, blind: true},
		"two records swapped": {tamper: func(d database) {
			b := d.batch(410)
			i := 410 - b.first
			b.records[i], b.records[i+1] = b.records[i+1], b.records[i]
			d.put(b)
		}, want: []string{
			"Record 0-410 says that it is record 0-411", "Record 0-410 was changed",
			"Record 0-411 says that it is record 0-410", "Record 0-411 was changed",
		}, opens: true, blind: true},
		"a record removed": {tamper: func(d database) {
			b := d.batch(150)
			b.records, b.leaves = b.records[:len(b.records)-1], b.leaves[:len(b.leaves)-32]
			d.put(b)
		}, want: []string{"is missing", "The hashes kept of records 0-0 to 0-255 are missing"}, opens: true, blind: true},
		"a batch removed": {tamper: func(d database) {
			d.exec(`DELETE FROM batch WHERE first = ?`, d.batch(400).first)
		}, want: []string{"Records 0-400 to 0-", "The hashes kept of records 0-256 to 0-511 are missing"}, opens: true, blind: true},
		"a batch in tatters": {tamper: func(d database) {
			d.exec(`UPDATE batch SET records = x'ff00ff' WHERE first = ?`, d.batch(400).first)
		}, want: []string{"Records 0-400 to 0-511 cannot be read"}, opens: true, blind: true},
		"the end cut off, checkpoint too": {tamper: func(d database) {
			d.exec(`DELETE FROM batch WHERE first >= 600`)
			d.exec(`UPDATE head SET size = 600, checkpoint = ?`, checkpoints[5])
		}, kept: [][]byte{kept}, want: []string{"Records 0-600 to 0-699 are missing from the end: a checkpoint kept elsewhere was signed for 700 records"}, opens: true},
		"more cut off than anchored": {tamper: func(d database) {
			d.exec(`DELETE FROM batch WHERE first >= 400`)
			d.exec(`DELETE FROM node WHERE n > 0`)
			d.exec(`UPDATE head SET size = 400, checkpoint = ?`, checkpoints[3])
		}, want: []string{"Records 0-400 to 0-599 are missing from the end: the checkpoint published at file:elsewhere"}, opens: true},
		"the end cut off": {tamper: func(d database) {
			d.exec(`DELETE FROM batch WHERE first >= 600`)
		}, want: []string{"Records 0-600 to 0-699 are missing", "The hashes kept of records 0-512 to 0-699 are missing"}, blind: true},
		"the whole log emptied": {tamper: func(d database) {
			for _, table := range []string{"batch", "node", "opening", "part", "anchor"} {
				d.exec(`DELETE FROM ` + table)
			}
			d.exec(`UPDATE head SET size = 0, checkpoint = NULL`)
		}, kept: [][]byte{kept}, want: []string{"Records 0-0 to 0-699 are missing from the end"}, opens: true},
		"the head set back": {tamper: func(d database) {
			d.exec(`DELETE FROM anchor`)
			d.exec(`UPDATE head SET size = 600, checkpoint = ?`, checkpoints[5])
		}, want: []string{"Record 0-600 stands in the database"}, opens: true, blind: true},
		"the checkpoint changed": {tamper: func(d database) {
			d.exec(`UPDATE head SET checkpoint = ?`, bytes.Replace(kept, []byte("700"), []byte("701"), 1))
		}, want: []string{"The database's own checkpoint is not to be trusted"}, blind: true},
		"the checkpoint removed": {tamper: func(d database) {
			d.exec(`UPDATE head SET checkpoint = NULL`)
		}, want: []string{"The database's own checkpoint is not to be trusted"}, blind: true},
		"an anchor changed": {tamper: func(d database) {
			d.exec(`UPDATE anchor SET checkpoint = ? WHERE size = 200`, checkpoints[0])
		}, want: []string{"published at file:elsewhere is not to be trusted"}, opens: true, blind: true},
		"pruned behind one's back": {tamper: func(d database) {
			d.exec(`UPDATE head SET pruned = 256`)
			d.exec(`DELETE FROM batch WHERE first < 200`)
		}, want: []string{"Records 0-0 to 0-255 were removed, and no signed checkpoint accounts for it", "no record says that they were removed"}, opens: true, blind: true},
		"pruned behind one's back, with a checkpoint that the log has": {tamper: func(d database) {
			d.exec(`UPDATE head SET pruned = 512, pruned_checkpoint = checkpoint`)
			d.exec(`DELETE FROM batch WHERE first + count <= 512`)
			d.exec(`DELETE FROM opening WHERE first + count <= 512`)
			d.exec(`DELETE FROM fact WHERE first + count <= 512`)
			d.exec(`DELETE FROM segment`)
			d.exec(`DELETE FROM segment_page`)
		}, want: []string{"Records 0-0 to 0-511 are missing, and no record says that they were removed"}, opens: true, blind: true},
		"an opening changed": {tamper: func(d database) {
			d.exec(`UPDATE opening SET data = CAST(replace(CAST(data AS TEXT), 'reason 55', 'season 55') AS BLOB) WHERE first <= 55 AND first + count > 55`)
		}, want: []string{"What lies beside record 0-55 does not hold: its field reasons is not what the record commits to"}, opens: true, blind: true},
		"a policy changed": {tamper: func(d database) {
			d.exec(`UPDATE policy SET text = 'version: 2'`)
		}, want: []string{"and others, was changed"}, opens: true, blind: true},
		"a policy removed": {tamper: func(d database) {
			d.exec(`DELETE FROM policy`)
		}, want: []string{"and others, is missing"}, opens: true, blind: true},
		"a head beyond all records": {tamper: func(d database) {
			d.exec(`UPDATE head SET size = 9000000000000000000`)
		}, want: []string{"and its checkpoint was signed for 700", "the database has none from there on", "Records 0-700 to 0-767 are missing", "The hashes kept of records 0-512 to 0-767 are missing", "The tree's hash over records 0-512 to 0-767 is missing"}, blind: true},
		"a part changed": {tamper: func(d database) {
			d.exec(`UPDATE part SET data = zeroblob(size)`)
		}, want: nil, opens: true, blind: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "reeve.db")
			if err := os.WriteFile(file, original, 0o600); err != nil {
				t.Fatal(err)
			}
			c, err := sqlite.OpenConn(file, sqlite.OpenReadWrite)
			if err != nil {
				t.Fatal(err)
			}
			test.tamper(database{t, c})
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			s, err := storesqlite.Open(dir, storesqlite.Options{ReadOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			r := verify(t, s, test.kept...)
			if r.OK() != (name == "nothing") {
				t.Errorf("OK is %v", r.OK())
			}
			var all []string
			for _, p := range r.Problems {
				all = append(all, p.Message)
			}
			said := strings.Join(all, "\n")
			if len(all) > 6 {
				t.Logf("%d problems, such as:\n%s", len(all), strings.Join(all[:3], "\n"))
			} else {
				t.Log("\n" + said)
			}
			for _, want := range test.want {
				if !strings.Contains(said, want) {
					t.Errorf("nobody says: %s", want)
				}
			}
			if test.want != nil && len(all) > len(test.want) {
				t.Errorf("%d problems, want %d", len(all), len(test.want))
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if err := openAndClose(t.Context(), dir); (err == nil) != test.opens {
				t.Errorf("the log is opened to be gone on with: %v", err)
			} else if err != nil {
				t.Log(err)
			}

			args := []string{"--key", key, file}
			if test.kept != nil {
				args = append(args, "--checkpoints", checkpointFile)
			}
			out := python(t, name == "nothing", args...)
			for _, want := range test.want {
				if !test.blind && !strings.Contains(out, want) {
					t.Errorf("verify_ledger.py does not say: %s\n%s", want, out)
				}
			}
		})
	}
}

// TestThreat03HeadBeyondAll: whoever reads up to a head that tells of records that are not there
// ends, and says so.
func TestThreat03HeadBeyondAll(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	fill(t, s, openLog(t, s), 300)
	for _, size := range []string{"301", "9223372036854775807"} {
		c, err := sqlite.OpenConn(filepath.Join(dir, "reeve.db"), sqlite.OpenReadWrite)
		if err != nil {
			t.Fatal(err)
		}
		database{t, c}.exec(`UPDATE head SET size = ` + size)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		for name, read := range map[string]func() error{
			"search": func() error { _, err := ledger.Search(ctx, s, ledger.Query{}); return err },
			"of one": func() error { _, err := ledger.Search(ctx, s, ledger.Query{Agent: "a", Oldest: true}); return err },
			"since":  func() error { _, err := ledger.Search(ctx, s, ledger.Query{Since: time.Unix(1, 0)}); return err },
			"count":  func() error { _, err := ledger.Count(ctx, s, ledger.Query{Door: "aos"}); return err },
			"merge": func() error {
				return ledger.Merge(ctx, s, []ledger.Range{{To: 1 << 63}}, ledger.NewestFirst, func(*ledger.Record, []byte) error { return nil })
			},
			"index": func() error { return ledger.BuildIndex(ctx, s, 0, nil) },
		} {
			if err := read(); !errors.Is(err, ledger.ErrHead) || !strings.Contains(err.Error(), "log 0 has "+size+" records, and has no record 0-") {
				t.Errorf("%s, with a head of %s: %v", name, size, err)
			}
		}
	}
}

func openAndClose(ctx context.Context, dir string) error {
	s, err := storesqlite.Open(dir, storesqlite.Options{})
	if err != nil {
		return err
	}
	l, err := ledger.Open(ctx, ledger.Config{Store: s, Origin: origin, Seed: seed})
	if err == nil {
		err = l.Close()
	}
	return errors.Join(err, s.Close())
}

// Who has another key learns that it does not fit.
func TestWrongKey(t *testing.T) {
	s := openStore(t, t.TempDir())
	fill(t, s, openLog(t, s), 10)
	r, err := ledger.Verify(t.Context(), s, ledger.VerifyOptions{TrustedKey: mustKey(make([]byte, 32))})
	if err != nil || r.OK() {
		t.Errorf("a log signed by another key: %+v, %v", r, err)
	}
	if _, err := ledger.Verify(t.Context(), s, ledger.VerifyOptions{TrustedKey: "nonsense"}); err == nil {
		t.Error("nonsense is taken for a key")
	}
}

// TestThreat03HalfRemoved: who takes away only a part of what lies beside a record is seen: each
// field that a record commits to is looked for, and not whether anything is there.
func TestThreat03HalfRemoved(t *testing.T) {
	for _, table := range []string{"opening", "fact"} {
		dir := t.TempDir()
		s := openStore(t, dir)
		l := openLog(t, s)
		fill(t, s, l, 10)
		before := verifyOK(t, s)
		l.Close()
		s.Close()
		c, err := sqlite.OpenConn(filepath.Join(dir, "reeve.db"), sqlite.OpenReadWrite)
		if err != nil {
			t.Fatal(err)
		}
		database{t, c}.exec(`DELETE FROM ` + table)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		s, err = storesqlite.Open(dir, storesqlite.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		after := verify(t, s)
		s.Close()
		if len(before.Missing) != 0 || before.Openings != 10 || after.Openings != 0 || after.Absent != 10 || len(after.Missing) == 0 {
			t.Errorf("%s: %d whole and %v missing before, %d whole, %d not, %v missing after", table, before.Openings, before.Missing, after.Openings, after.Absent, after.Missing)
		}
		t.Log(table, after.Missing)
	}
}
