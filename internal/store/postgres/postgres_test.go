package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store"
	"reeve.example/reeve/internal/store/storetest"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"golang.org/x/mod/sumdb/tlog"
)

func open(tb testing.TB, url string) *Store {
	tb.Helper()
	s, err := Open(tb.Context(), url)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	return s
}

func TestStore(t *testing.T) {
	var mu sync.Mutex
	urls := map[*testing.T]string{}
	storetest.Exercise(t, func(t *testing.T) store.Store {
		mu.Lock()
		defer mu.Unlock()
		if urls[t] == "" {
			urls[t] = storetest.Postgres(t)
		}
		return open(t, urls[t])
	})
}

func BenchmarkCommit64(b *testing.B) {
	storetest.BenchmarkCommit64(b, func(b *testing.B) store.Store { return open(b, storetest.DurablePostgres(b)) })
}

func writer(t *testing.T, s store.Store, owner string) *storetest.Writer {
	t.Helper()
	w, err := storetest.NewWriter(t.Context(), s, owner)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestLease lets nodes take logs, lose them and take them over.
func TestLease(t *testing.T) {
	url := storetest.Postgres(t)
	s := open(t, url)
	one, two := writer(t, s, "one"), writer(t, open(t, url), "two")
	if one.Lease.Log == two.Lease.Log {
		t.Fatalf("two living nodes hold log %d", one.Lease.Log)
	}
	for _, w := range []*storetest.Writer{one, two} {
		if _, err := w.Commit(t.Context(), storetest.Entry{Record: []byte("r")}); err != nil {
			t.Fatal(err)
		}
	}
	logs, err := s.Logs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]uint32{0, 1}, logs); d != "" {
		t.Errorf("logs (-want +got):\n%s", d)
	}

	// The same owner gets its log back at once, and the old lease is fenced.
	again := writer(t, open(t, url), "two")
	if again.Lease.Log != two.Lease.Log || again.Size != 1 {
		t.Errorf("owner two got log %d of size %d back, want log %d of size 1", again.Lease.Log, again.Size, two.Lease.Log)
	}
	if _, err := two.Commit(t.Context(), storetest.Entry{Record: []byte("r")}); !errors.Is(err, ledger.ErrFenced) {
		t.Errorf("the old lease commits: %v", err)
	}

	// A third takes what has given no sign of life, not what has.
	if _, err := s.pool.Exec(t.Context(), `UPDATE log SET heartbeat = now() - interval '7 seconds' WHERE log = $1`, one.Lease.Log); err != nil {
		t.Fatal(err)
	}
	third := writer(t, open(t, url), "three")
	if third.Lease.Log != one.Lease.Log || third.Size != 1 {
		t.Errorf("the successor got log %d of size %d, want log %d of size 1", third.Lease.Log, third.Size, one.Lease.Log)
	}
	if _, err := one.Commit(t.Context(), storetest.Entry{Record: []byte("r")}); !errors.Is(err, ledger.ErrFenced) {
		t.Errorf("the node that was taken for dead commits: %v", err)
	}

	// A commit is a sign of life.
	if _, err := s.pool.Exec(t.Context(), `UPDATE log SET heartbeat = now() - interval '7 seconds'`); err != nil {
		t.Fatal(err)
	}
	if _, err := third.Commit(t.Context(), storetest.Entry{Record: []byte("r")}); err != nil {
		t.Fatal(err)
	}
	fourth := writer(t, s, "four")
	if fourth.Lease.Log != again.Lease.Log {
		t.Errorf("the fourth got log %d, want log %d", fourth.Lease.Log, again.Lease.Log)
	}
	if err := s.Release(t.Context(), third.Lease); err != nil {
		t.Fatal(err)
	}
	if fifth := writer(t, s, "five"); fifth.Lease.Log != third.Lease.Log || fifth.Size != 2 {
		t.Errorf("the fifth got log %d of size %d, want log %d of size 2", fifth.Lease.Log, fifth.Size, third.Lease.Log)
	}
}

// TestThreat01Nodes lets several nodes write the same sessions at once: of the writes
// that build on the same one, exactly one wins, and each session is one chain.
func TestThreat01Nodes(t *testing.T) {
	const nodes, sessions, rounds = 4, 12, 40
	url := storetest.Postgres(t)
	var mu sync.Mutex
	won := map[ledger.Key]map[act.Position]act.Position{} // by session and write before, the write
	var group sync.WaitGroup
	for n := range nodes {
		s := open(t, url)
		w := writer(t, s, fmt.Sprint("node", n))
		group.Go(func() {
			for range rounds {
				var list []storetest.Entry
				for i := range uint64(sessions) {
					// Each node in an order of its own.
					key := storetest.Key((i*5 + uint64(n)*7) % sessions)
					pos, ok, err := s.KeyHead(t.Context(), key)
					if err != nil {
						t.Error(err)
						return
					}
					list = append(list, storetest.Entry{Record: []byte("r"), Claims: []ledger.Claim{{Key: key, Prev: pos, First: !ok}}})
				}
				size := w.Size
				lost, err := w.Commit(t.Context(), list...)
				if err != nil {
					t.Error(err)
					return
				}
				out := map[int]bool{}
				for _, l := range lost {
					out[l] = true
				}
				mu.Lock()
				for i, e := range list {
					if out[i] {
						continue
					}
					c := e.Claims[0]
					if won[c.Key] == nil {
						won[c.Key] = map[act.Position]act.Position{}
					}
					before := c.Prev
					if c.First {
						before = act.Position{Log: 1 << 31}
					}
					if other, twice := won[c.Key][before]; twice {
						t.Errorf("session %x was written after %v twice: %v and %v", c.Key[:2], before, other, w.Pos(size))
					}
					won[c.Key][before] = w.Pos(size)
					size++
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	s := open(t, url)
	total := 0
	for i := range uint64(sessions) {
		key := storetest.Key(i)
		pos, ok, err := s.KeyHead(t.Context(), key)
		if err != nil || !ok {
			t.Fatalf("session %d: %v, %v", i, ok, err)
		}
		length := 1
		for ; ; length++ {
			c, err := s.KeyWrite(t.Context(), pos, key)
			if err != nil {
				t.Fatalf("session %d at %v: %v", i, pos, err)
			}
			if c.First {
				break
			}
			pos = c.Prev
		}
		if length != len(won[key]) {
			t.Errorf("session %d is a chain of %d writes, and %d won", i, length, len(won[key]))
		}
		total += length
	}
	if total < rounds*sessions {
		t.Errorf("%d writes won, want at least %d", total, rounds*sessions)
	}
}

// TestDropped leaves out a record of which one claim won and another lost, in
// the middle of a batch in which others moved.
func TestDropped(t *testing.T) {
	s := open(t, storetest.Postgres(t))
	w := writer(t, s, "one")
	claim := func(n uint64, prev ...uint64) ledger.Claim {
		c := ledger.Claim{Key: storetest.Key(n), First: true, Data: []byte{}}
		if prev != nil {
			c.First, c.Prev = false, w.Pos(prev[0])
		}
		return c
	}
	commit := func(list ...storetest.Entry) []int {
		t.Helper()
		lost, err := w.Commit(t.Context(), list...)
		if err != nil {
			t.Fatal(err)
		}
		return lost
	}
	commit(storetest.Entry{Record: []byte("0"), Claims: []ledger.Claim{claim(1), claim(2)}})
	lost := commit(
		storetest.Entry{Record: []byte("1")},
		storetest.Entry{Record: []byte("no"), Claims: []ledger.Claim{claim(1, 0), claim(3), claim(2)}},
		storetest.Entry{Record: []byte("2"), Claims: []ledger.Claim{claim(4)}})
	if d := cmp.Diff([]int{2}, lost); d != "" {
		t.Errorf("claims that lost (-want +got):\n%s", d)
	}
	for n, want := range map[uint64]int{1: 0, 2: 0, 3: -1, 4: 2} {
		pos, ok, err := s.KeyHead(t.Context(), storetest.Key(n))
		if err != nil {
			t.Fatal(err)
		}
		if ok != (want >= 0) || ok && pos != w.Pos(uint64(want)) {
			t.Errorf("session %d is at %v, %v; want %d", n, pos, ok, want)
		}
	}
}

// TestThreat02LostConnection cuts the connections: what runs fails, and the next commit
// finds the database again.
func TestThreat02LostConnection(t *testing.T) {
	url := storetest.Postgres(t)
	s := open(t, url)
	w := writer(t, s, "one")
	entry := storetest.Entry{Record: []byte("r")}
	if _, err := w.Commit(t.Context(), entry); err != nil {
		t.Fatal(err)
	}
	admin, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(t.Context())
	cut := func() {
		t.Helper()
		if _, err := admin.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`); err != nil {
			t.Fatal(err)
		}
	}

	// In the middle of a commit: nothing of it is there.
	claims := []ledger.Claim{{Key: storetest.Key(1), First: true}}
	err = s.Commit(t.Context(), w.Lease, claims, nil, func(ledger.Found) (*ledger.Batch, error) {
		cut()
		return &ledger.Batch{First: 1, At: w.At, Records: [][]byte{[]byte("no")}, Leaves: make([]tlog.Hash, 1)}, nil
	})
	if err == nil {
		t.Fatal("the commit succeeded")
	}
	deadline := time.Now().Add(5 * time.Second)
	for {
		if _, err = w.Commit(t.Context(), storetest.Entry{Record: []byte("r"), Claims: claims}); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no commit succeeds again: %v", err)
		}
	}
	cut()
	for {
		if _, err = s.Head(t.Context(), w.Lease.Log); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no read succeeds again: %v", err)
		}
	}
	head, err := s.Head(t.Context(), w.Lease.Log)
	if err != nil || head.Size != 2 {
		t.Errorf("the log has %d records, want 2: %v", head.Size, err)
	}
}

// TestCancelled gives up while another transaction holds the log: no lock is
// left behind.
func TestCancelled(t *testing.T) {
	s := open(t, storetest.Postgres(t))
	w := writer(t, s, "one")
	tx, err := s.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `SELECT 1 FROM log FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := w.Commit(ctx, storetest.Entry{Record: []byte("r")}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want DeadlineExceeded", err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(t.Context(), storetest.Entry{Record: []byte("r")}); err != nil {
		t.Error(err)
	}
}

func TestOpen(t *testing.T) {
	text := storetest.Postgres(t)
	// Several nodes start at once on an empty database.
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			s, err := Open(t.Context(), text)
			if err != nil {
				t.Error(err)
				return
			}
			s.Close()
		})
	}
	group.Wait()

	// Another schema is another database.
	s := open(t, text)
	writer(t, s, "one")
	if _, err := s.pool.Exec(t.Context(), `CREATE SCHEMA other`); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("search_path", "other")
	u.RawQuery = q.Encode()
	logs, err := open(t, u.String()).Logs(t.Context())
	if err != nil || len(logs) != 0 {
		t.Errorf("the other schema has logs %v, %v", logs, err)
	}

	// What is durable stays so, whatever the server's default.
	if _, err := s.pool.Exec(t.Context(), `ALTER DATABASE `+strings.TrimPrefix(u.Path, "/")+` SET synchronous_commit = off`); err != nil {
		t.Fatal(err)
	}
	var setting string
	if err := open(t, text).pool.QueryRow(t.Context(), `SHOW synchronous_commit`).Scan(&setting); err != nil || setting != "on" {
		t.Errorf("synchronous_commit is %q, want on: %v", setting, err)
	}

	if _, err := s.pool.Exec(t.Context(), `UPDATE schema_version SET version = 999`); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), text); !errors.Is(err, ledger.ErrNewerSchema) {
		t.Errorf("error %v, want ErrNewerSchema", err)
	}
	for _, bad := range []string{"postgres://u:secret@localhost:port/db", "postgres:///x?host=/nonexistent&connect_timeout=1&user=a&password=secret"} {
		if _, err := Open(t.Context(), bad); err == nil {
			t.Errorf("%s was opened", bad)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error tells the password: %v", err)
		}
	}
}

func TestThreat22Injection(t *testing.T) {
	url := storetest.Postgres(t)
	storetest.Injection(t, func(t *testing.T) store.Store { return open(t, url) })
}
