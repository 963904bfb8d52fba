package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store"
	"reeve.example/reeve/internal/store/sqlite"
	"reeve.example/reeve/task"

	"github.com/google/go-cmp/cmp"

	"golang.org/x/mod/sumdb/tlog"
)

const origin = "test.local"

var (
	seed = bytes.Repeat([]byte{42}, 32)
	key  = mustKey(seed)
)

func mustKey(seed []byte) string {
	k, err := ledger.VerifierKey(origin, seed, 0)
	if err != nil {
		panic(err)
	}
	return k
}

func openStore(t testing.TB, dir string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// The policy that every entry names, and whose text the store keeps.
const (
	policyText = "version: 1\n"
	policyHash = "sha256:" + "09bfcc6a14b83e2192b8673677725c84883ee9cd0c70e45c9ec09daa8f2b2847"
)

func openLog(t testing.TB, s store.Store) *ledger.Log {
	t.Helper()
	if err := s.PutPolicy(t.Context(), policyHash, []byte(policyText), time.Now()); err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(t.Context(), ledger.Config{Store: s, Origin: origin, Seed: seed, Owner: "test", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// description is alike in every request, and stored once.
var description = `{"id":"a-1","instructions":"` + strings.Repeat("Be helpful. ", 50) + `"}`

func entry(i int) *ledger.Entry {
	request := fmt.Sprintf(`{"id":%d,"agent":%s,"say":"hello %d"}`, i, description, i)
	at := strings.Index(request, description)
	return &ledger.Entry{
		Record:  ledger.Record{Kind: "message.user", Door: "aos", Effect: "allow", Codes: []string{"ok"}, Policy: policyHash},
		Request: []byte(request), Shared: [][2]int{{at, at + len(description)}}, KeepContent: true,
		Principal: []byte(`{"name":"anonymous"}`), Reasons: []byte(fmt.Sprintf("reason %d", i)),
	}
}

func enqueue(t testing.TB, l *ledger.Log, e *ledger.Entry) *ledger.Ticket {
	t.Helper()
	ticket, err := l.Enqueue(l.Generation(), e)
	if err != nil {
		t.Fatal(err)
	}
	return ticket
}

func wait(t testing.TB, ticket *ledger.Ticket) act.Position {
	t.Helper()
	pos, err := ticket.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return pos
}

// fill appends n entries in batches of about 100, and returns a checkpoint for
// each batch.
func fill(t testing.TB, s store.Store, l *ledger.Log, n int) (checkpoints [][]byte) {
	t.Helper()
	for i := 0; i < n; {
		var last *ledger.Ticket
		for end := min(i+100, n); i < end; i++ {
			last = enqueue(t, l, entry(i))
		}
		wait(t, last)
		head, err := s.Head(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		checkpoints = append(checkpoints, head.Checkpoint)
	}
	return checkpoints
}

func verify(t testing.TB, s store.Store, checkpoints ...[]byte) *ledger.Report {
	t.Helper()
	r, err := ledger.Verify(t.Context(), s, ledger.VerifyOptions{TrustedKey: key, Checkpoints: checkpoints})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func verifyOK(t testing.TB, s store.Store, checkpoints ...[]byte) *ledger.Report {
	t.Helper()
	r := verify(t, s, checkpoints...)
	for _, p := range r.Problems {
		t.Error(p)
	}
	if t.Failed() {
		t.FailNow()
	}
	return r
}

func TestLog(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	l := openLog(t, s)
	const callers, each = 16, 60
	positions := make([]map[act.Position]string, callers)
	var group sync.WaitGroup
	for c := range callers {
		positions[c] = map[act.Position]string{}
		group.Go(func() {
			for i := range each {
				e := entry(c*1000 + i)
				ticket, err := l.Enqueue(l.Generation(), e)
				if err == nil {
					var pos act.Position
					pos, err = ticket.Wait(t.Context())
					positions[c][pos] = string(e.Request)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	seen := 0
	for _, m := range positions {
		seen += len(m)
		for pos, request := range m {
			o, err := ledger.ReadOpening(t.Context(), s, pos)
			if err != nil {
				t.Fatal(err)
			}
			if string(o.Request) != request || o.Modified != nil {
				t.Fatalf("record %s has the request %s, not %s", pos, o.Request, request)
			}
		}
	}
	if seen != callers*each {
		t.Errorf("%d positions for %d entries", seen, callers*each)
	}
	want := &ledger.Report{Size: callers * each, Openings: callers * each}
	if diff := cmp.Diff(want, verifyOK(t, s)); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	bytesKept, err := s.OpeningBytes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if bytesKept > int64(callers*each*len(description)/2) {
		t.Errorf("%d bytes are kept: the agent's description is not stored once", bytesKept)
	}

	// The log goes on after a restart, and time does not run backwards in it.
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Enqueue(l.Generation(), entry(1)); !errors.Is(err, ledger.ErrClosed) {
		t.Errorf("Enqueue after Close: %v", err)
	}
	l, err = ledger.Open(t.Context(), ledger.Config{Store: s, Origin: origin, Seed: seed, Now: func() time.Time { return time.Unix(1e9, 0) }})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if pos := wait(t, enqueue(t, l, entry(1))); pos.Index != callers*each {
		t.Errorf("the log goes on at %s", pos)
	}
	verifyOK(t, s)
}

// Writes of one session form a chain; who builds on an older head loses, and
// all who build on him.
func TestSessions(t *testing.T) {
	s := openStore(t, t.TempDir())
	l := openLog(t, s)
	k := ledger.Key{1}
	write := func(data string, heads ...*ledger.KeyHead) *ledger.Ticket {
		e := entry(0)
		for _, h := range heads {
			e.Writes = append(e.Writes, &ledger.Write{Head: h, Data: []byte(data)})
		}
		return enqueue(t, l, e)
	}
	lost := func(ticket *ledger.Ticket) {
		t.Helper()
		if pos, err := ticket.Wait(t.Context()); !errors.Is(err, ledger.ErrLost) {
			t.Errorf("record %s, %v: want ErrLost", pos, err)
		}
	}
	first := ledger.NewKeyHead(k, act.Position{}, false)
	var last act.Position
	for i := range 20 { // some in one batch, some not
		ticket := write(fmt.Sprint(i), first)
		if i%7 == 0 {
			last = wait(t, ticket)
		}
		if i == 19 {
			last = wait(t, ticket)
		}
	}
	for i := 19; i >= 0; i-- {
		w, err := s.KeyWrite(t.Context(), last, k)
		if err != nil {
			t.Fatal(err)
		}
		if string(w.Data) != fmt.Sprint(i) || w.First != (i == 0) {
			t.Fatalf("write %d is %q, first %v", i, w.Data, w.First)
		}
		last = w.Prev
	}

	// Another one read the session before it was written.
	other := ledger.NewKeyHead(k, act.Position{}, false)
	bystander := ledger.NewKeyHead(ledger.Key{2}, act.Position{}, false)
	a, b, c := write("x", other, bystander), write("y", other), write("z", bystander)
	lost(a)
	lost(b)
	lost(c) // rests on a
	if _, ok, _ := s.KeyHead(t.Context(), ledger.Key{2}); ok {
		t.Error("an entry that lost has written a session")
	}
	// Two who both read it as it is: the first one wins.
	pos, _, err := s.KeyHead(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	one, two := ledger.NewKeyHead(k, pos, true), ledger.NewKeyHead(k, pos, true)
	a, b = write("one", one), write("two", two)
	wait(t, a)
	lost(b)
	lost(write("two again", two))
	// Two writes with one key in one entry: the later counts.
	twice := ledger.NewKeyHead(ledger.Key{3}, act.Position{}, false)
	e := entry(0)
	e.Writes = []*ledger.Write{
		{Head: ledger.NewKeyHead(ledger.Key{3}, act.Position{}, false), Data: []byte("former")},
		{Head: twice, Data: []byte("latter")},
	}
	at := wait(t, enqueue(t, l, e))
	if w, err := s.KeyWrite(t.Context(), at, ledger.Key{3}); err != nil || string(w.Data) != "latter" {
		t.Errorf("%q, %v", w.Data, err)
	}
	size := verifyOK(t, s).Size
	if size != 22 {
		t.Errorf("%d records: entries that lost must leave none", size)
	}
}

// faulty fails some commits: before they happen, or after they are durable.
type faulty struct {
	store.Store
	mu     sync.Mutex
	commit int
	fail   func(n int) (before, after bool)
}

var errDisk = errors.New("input/output error")

func (f *faulty) Commit(ctx context.Context, lease ledger.Lease, claims []ledger.Claim, load *task.Load, build func(ledger.Found) (*ledger.Batch, error)) error {
	f.mu.Lock()
	f.commit++
	before, after := f.fail(f.commit)
	f.mu.Unlock()
	if before {
		_, _ = build(ledger.Found{Tasks: &task.Loaded{}}) // it may fail at any point
		return errDisk
	}
	if err := f.Store.Commit(ctx, lease, claims, load, build); err != nil {
		return err
	}
	if after {
		return errDisk
	}
	return nil
}

// A failed commit answers nobody, raises the generation, and the log goes on
// once the disk does. What was answered is there, whole and only once.
func TestFaults(t *testing.T) {
	s := openStore(t, t.TempDir())
	f := &faulty{Store: s, fail: func(n int) (bool, bool) { return n%5 == 2, n%5 == 4 }}
	l := openLog(t, f)
	var mu sync.Mutex
	answered := map[act.Position]string{}
	failed, stale := 0, 0
	var group sync.WaitGroup
	for c := range 8 {
		group.Go(func() {
			h, gen := ledger.NewKeyHead(ledger.Key{byte(c)}, act.Position{}, false), uint64(0)
			for i := range 60 {
				if gen != l.Generation() {
					gen = l.Generation()
					pos, known, err := s.KeyHead(t.Context(), ledger.Key{byte(c)})
					if err != nil {
						t.Error(err)
						return
					}
					h = ledger.NewKeyHead(ledger.Key{byte(c)}, pos, known)
				}
				e := entry(c*1000 + i)
				e.Writes = []*ledger.Write{{Head: h, Data: []byte{byte(i)}}}
				ticket, err := l.Enqueue(gen, e)
				var pos act.Position
				if err == nil {
					pos, err = ticket.Wait(t.Context())
				}
				mu.Lock()
				switch {
				case err == nil:
					if answered[pos] != "" {
						t.Errorf("record %s was answered twice", pos)
					}
					answered[pos] = string(e.Request)
				case errors.Is(err, errDisk):
					failed++
				case errors.Is(err, ledger.ErrStale):
					stale++
				default:
					// The outcome was unknown, and the write was durable: read again.
					if !errors.Is(err, ledger.ErrLost) {
						t.Error(err)
					}
					gen = 0
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if failed == 0 || len(answered) == 0 {
		t.Fatalf("%d failed, %d answered: nothing was tested", failed, len(answered))
	}
	for pos, request := range answered {
		o, err := ledger.ReadOpening(t.Context(), s, pos)
		if err != nil || string(o.Request) != request {
			t.Errorf("record %s: %s, %v; want %s", pos, o.Request, err, request)
		}
	}
	if r := verifyOK(t, s); r.Size < uint64(len(answered)) {
		t.Errorf("%d records, %d answered", r.Size, len(answered))
	}
}

// Everything queued behind a failed batch fails with it: it may rest on it.
func TestQueueFailsWithBatch(t *testing.T) {
	s := openStore(t, t.TempDir())
	entered, proceed := make(chan bool), make(chan bool)
	down := true
	f := &faulty{Store: s, fail: func(int) (bool, bool) {
		if down {
			entered <- true
			<-proceed
		}
		return down, false
	}}
	l := openLog(t, f)
	gen := l.Generation()
	first := enqueue(t, l, entry(1))
	<-entered
	second := enqueue(t, l, entry(2))
	proceed <- true
	for _, ticket := range []*ledger.Ticket{first, second} {
		if _, err := ticket.Wait(t.Context()); !errors.Is(err, errDisk) {
			t.Errorf("error %v, want %v", err, errDisk)
		}
	}
	if _, err := l.Enqueue(gen, entry(3)); !errors.Is(err, ledger.ErrStale) {
		t.Errorf("error %v, want ErrStale", err)
	}
	if !errors.Is(l.Err(), errDisk) {
		t.Errorf("Err is %v", l.Err())
	}
	f.mu.Lock()
	down = false
	f.mu.Unlock()
	if pos := wait(t, enqueue(t, l, entry(4))); pos.Index != 0 {
		t.Errorf("the first durable record stands at %s", pos)
	}
	if l.Err() != nil {
		t.Errorf("Err is still %v", l.Err())
	}
	verifyOK(t, s)
}

// A log that failed is tried without an entry: a node that is not ready is asked nothing.
func TestTry(t *testing.T) {
	s := openStore(t, t.TempDir())
	var down atomic.Bool
	l := openLog(t, &faulty{Store: s, fail: func(int) (bool, bool) { return down.Load(), false }})
	if err := l.Try(t.Context()); err != nil || l.Generation() != 1 {
		t.Errorf("a log that did not fail: %v, generation %d", err, l.Generation())
	}
	wait(t, enqueue(t, l, entry(1)))
	down.Store(true)
	if _, err := enqueue(t, l, entry(2)).Wait(t.Context()); !errors.Is(err, errDisk) {
		t.Fatalf("error %v, want %v", err, errDisk)
	}
	if err := l.Try(t.Context()); !errors.Is(err, errDisk) {
		t.Errorf("while it fails: %v, want %v", err, errDisk)
	}
	down.Store(false)
	if err := l.Try(t.Context()); err != nil {
		t.Errorf("when it can be written again: %v", err)
	}
	if pos := wait(t, enqueue(t, l, entry(3))); pos.Index != 1 {
		t.Errorf("the next record stands at %s, want 1: trying records nothing", pos)
	}
	verifyOK(t, s)
}

func TestFenced(t *testing.T) {
	s := openStore(t, t.TempDir())
	old := openLog(t, s)
	wait(t, enqueue(t, old, entry(1)))
	successor := openLog(t, s)
	if pos := wait(t, enqueue(t, successor, entry(2))); pos.Index != 1 {
		t.Errorf("the successor goes on at %s", pos)
	}
	if _, err := enqueue(t, old, entry(3)).Wait(t.Context()); !errors.Is(err, ledger.ErrFenced) {
		t.Errorf("error %v, want ErrFenced", err)
	}
	if _, err := old.Enqueue(old.Generation(), entry(4)); !errors.Is(err, ledger.ErrFenced) {
		t.Errorf("error %v, want ErrFenced for good", err)
	}
	if err := old.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	wait(t, enqueue(t, successor, entry(5)))
	if r := verifyOK(t, s); r.Size != 3 {
		t.Errorf("%d records", r.Size)
	}
}

func TestOpenRefuses(t *testing.T) {
	s := openStore(t, t.TempDir())
	l := openLog(t, s)
	fill(t, s, l, 300)
	l.Close()
	for name, cfg := range map[string]ledger.Config{
		"other seed":   {Store: s, Origin: origin, Seed: make([]byte, 32)},
		"other origin": {Store: s, Origin: "other.local", Seed: seed},
		"short seed":   {Store: s, Origin: origin, Seed: seed[:31]},
		"bad origin":   {Store: s, Origin: "a b", Seed: seed},
	} {
		if l, err := ledger.Open(t.Context(), cfg); err == nil {
			l.Close()
			t.Errorf("%s: the log opens", name)
		} else {
			t.Log(err)
		}
	}
	openLog(t, s)
}

func TestOpeningGone(t *testing.T) {
	s := openStore(t, t.TempDir())
	l := openLog(t, s)
	fill(t, s, l, 10)
	pos := act.Position{Index: 3}
	if err := s.Erase(t.Context(), []act.Position{pos}); err != nil {
		t.Fatal(err)
	}
	if o, err := ledger.ReadOpening(t.Context(), s, pos); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("erased: %v, %v", o, err)
	}
	if _, err := ledger.ReadOpening(t.Context(), s, act.Position{Index: 99}); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("no such record: %v", err)
	}
	if r := verifyOK(t, s); r.Absent != 1 || r.Openings != 9 {
		t.Errorf("%d openings, %d absent", r.Openings, r.Absent)
	}
}

func TestPrune(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	l := openLog(t, s)
	checkpoints := fill(t, s, l, 1050)
	// A checkpoint of another log of the same key must not prune this one.
	forged := openStore(t, t.TempDir())
	foreign := fill(t, forged, openLog(t, forged), 700)
	if n, err := ledger.Prune(t.Context(), s, 0, foreign[6], key); err == nil {
		t.Errorf("pruned below %d by a checkpoint that the log does not agree with", n)
	}
	n, err := ledger.Prune(t.Context(), s, 0, checkpoints[6], key)
	if err != nil || n != 512 {
		t.Fatalf("pruned below %d, %v; want 512", n, err)
	}
	// Nothing of the database is believed that no record says: to prune is to leave one.
	if r := verify(t, s, checkpoints...); r.OK() || !strings.Contains(r.Problems[0].Message, "Records 0-0 to 0-511 are missing, and no record says") {
		t.Errorf("pruned without a record: %v", r.Problems)
	}
	python(t, false, "--key", key, filepath.Join(dir, "reeve.db"))
	says := entry(1050)
	says.Record.Kind, says.Record.Codes = ledger.KindPruned, []string{ledger.CodePruned(512)}
	wait(t, enqueue(t, l, says))
	r := verifyOK(t, s, checkpoints...)
	if r.Pruned != 512 || r.Confirmed != 1050 || r.Unchecked != 5 {
		t.Errorf("report %+v", r)
	}
	if _, _, err := ledger.ReadRecord(t.Context(), s, act.Position{Index: 511}); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("a pruned record: %v", err)
	}
	receipt, err := ledger.NewTree(s, 0).MakeReceipt(t.Context(), 512)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.VerifyReceipt(receipt, key); err != nil {
		t.Error(err)
	}
	python(t, true, "--key", key, filepath.Join(dir, "reeve.db"))
	l.Close()
	l = openLog(t, s)
	fill(t, s, l, 300)
	if n, err := ledger.Prune(t.Context(), s, 0, checkpoints[6], key); err != nil || n != 512 {
		t.Errorf("pruned again below %d, %v", n, err)
	}
	verifyOK(t, s, checkpoints...)
}

// tampered is a store one of whose records has another hash than it had.
type tampered struct{ store.Store }

func (s tampered) Nodes(ctx context.Context, log uint32, level int, from, to uint64) ([]tlog.Hash, error) {
	hashes, err := s.Store.Nodes(ctx, log, level, from, to)
	if level == 0 && from <= 259 && from+uint64(len(hashes)) > 259 {
		hashes = slices.Clone(hashes)
		hashes[259-from][0] ^= 1
	}
	return hashes, err
}

// A checkpoint of earlier is signed only for what the log was then.
func TestCheckpointAt(t *testing.T) {
	s := openStore(t, t.TempDir())
	l := openLog(t, s)
	fill(t, s, l, 1050)
	for _, size := range []uint64{1, 255, 256, 700, 1049, 1050} {
		text, err := l.CheckpointAt(t.Context(), size)
		if err != nil {
			t.Fatal(err)
		}
		cp, err := ledger.OpenCheckpoint(text, key)
		if err != nil || cp.Size != size {
			t.Errorf("of %d records: %+v, %v", size, cp, err)
		}
		if root, err := ledger.NewTree(s, 0).Root(t.Context(), size); err != nil || root != cp.Root {
			t.Errorf("of %d records: another root, %v", size, err)
		}
	}
	for _, size := range []uint64{0, 1051} {
		if text, err := l.CheckpointAt(t.Context(), size); err == nil {
			t.Errorf("of %d records: %s", size, text)
		}
	}
	l.Close()
	l = openLog(t, tampered{s})
	for _, size := range []uint64{260, 300, 511} {
		if text, err := l.CheckpointAt(t.Context(), size); err == nil {
			t.Errorf("what was changed was signed: %s", text)
		}
	}
}

// python runs the verifier that ships in docs.
func python(t testing.TB, ok bool, args ...string) string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal("the second verifier needs python3: run scripts/test-needs")
	}
	cmd := exec.CommandContext(t.Context(), python, append([]string{"-B", "../../docs/verify_ledger.py"}, args...)...)
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Fatalf("verify_ledger.py: %v\n%s", err, out)
	}
	if (err == nil) != ok {
		t.Errorf("verify_ledger.py: holds %v, want %v\n%s", err == nil, ok, out)
	}
	return string(out)
}

// TestThreat02ClockBackwards: the machine's clock is set back, again and again, while
// records are written. Their times never run backwards, and the log holds.
func TestThreat02ClockBackwards(t *testing.T) {
	s := openStore(t, t.TempDir())
	if err := s.PutPolicy(t.Context(), policyHash, []byte(policyText), time.Now()); err != nil {
		t.Fatal(err)
	}
	var looks atomic.Int64
	now := func() time.Time {
		n := looks.Add(1)
		return time.Unix(2e9-n*86400*(n%3), 0)
	}
	l, err := ledger.Open(t.Context(), ledger.Config{Store: s, Origin: origin, Seed: seed, Owner: "test", Now: now, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for i := range 300 {
		wait(t, enqueue(t, l, entry(i)))
	}
	if r := verifyOK(t, s); r.Size != 300 { // which looks at the times, too
		t.Errorf("%d records", r.Size)
	}
}

// TestNewKey: a log whose seed is lost goes on with a new one, and names the checkpoint that it
// goes on from. What the lost key signed is proved by that key alone; and nobody who writes the
// database makes another log's checkpoint the one before.
func TestNewKey(t *testing.T) {
	s := openStore(t, t.TempDir())
	l := openLog(t, s)
	kept := fill(t, s, l, 200)
	former := l.VerifierKey()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	cfg := ledger.Config{Store: s, Origin: origin, Seed: bytes.Repeat([]byte{9}, 32), Owner: "test", Logger: slog.New(slog.DiscardHandler)}
	if _, err := ledger.Open(t.Context(), cfg); !errors.Is(err, ledger.ErrOtherSeed) {
		t.Fatalf("a log was taken over unasked: %v", err)
	}
	cfg.NewKey = true
	cfg.Origin = "elsewhere.example"
	if l, err := ledger.Open(t.Context(), cfg); err == nil {
		l.Close()
		t.Error("a log of another origin was taken over")
	}
	cfg.Origin = origin
	l, err := ledger.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(l.Former(), kept[len(kept)-1]) {
		t.Errorf("it goes on from %q", l.Former())
	}
	fill(t, s, l, 100)
	key := l.VerifierKey()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	// A node that ended before it had recorded what it goes on from still knows it.
	if l, err = ledger.Open(t.Context(), cfg); err != nil || !bytes.Equal(l.Former(), kept[len(kept)-1]) {
		t.Fatalf("opened once more: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	verified := func(formerKeys ...string) *ledger.Report {
		r, err := ledger.Verify(t.Context(), s, ledger.VerifyOptions{TrustedKey: key, FormerKeys: formerKeys, Checkpoints: kept})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	// The node records that it goes on from another log; here nobody did.
	for _, r := range []*ledger.Report{verified(), verified(former)} {
		if r.Former != 200 || len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Message, "no record there says so") {
			t.Errorf("a log that names nothing before it: %d, %v", r.Former, r.Problems)
		}
	}
	if r := verified(); r.FormerProved || r.Confirmed != 0 || r.Unproved == 0 {
		t.Errorf("without the former key: %+v", r)
	}
	if r := verified(former); !r.FormerProved || r.Confirmed != 200 || r.Unproved != 0 {
		t.Errorf("with the former key: %+v", r)
	}
	if r := verified(key); r.OK() || r.FormerProved {
		t.Errorf("with a key that signed nothing of it: %+v", r)
	}
	// Neither stands without the other, and the checkpoint is never one of this key's, which
	// would be proved without the former.
	for _, tt := range []struct {
		name    string
		record  bool   // the record that a node writes first
		former  string // the key that is given, and not the right one
		anchors []ledger.Anchor
		want    string
	}{
		{"neither", false, "", nil, ""},
		{"a former key for nothing", false, former, nil, "A former key of this log was given"},
		{"the place was taken away", true, "", nil, "it was taken away"},
		{"whole", true, former, []ledger.Anchor{{Size: 200, Checkpoint: kept[len(kept)-1]}}, ""},
		{"another of this key was put there", true, "", []ledger.Anchor{{Size: 100, Checkpoint: nil}}, "signed with this log's own key"},
	} {
		dir := t.TempDir()
		s := openStore(t, dir)
		l := openLog(t, s)
		if tt.name == "whole" {
			fill(t, s, l, 200)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			cfg := cfg
			cfg.Store = s
			var err error
			if l, err = ledger.Open(t.Context(), cfg); err != nil {
				t.Fatal(err)
			}
			head, err := s.Head(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			tt.anchors[0].Checkpoint = head.Checkpoint
		} else {
			own := fill(t, s, l, 100)
			for i := range tt.anchors {
				tt.anchors[i].Checkpoint = own[0]
			}
		}
		for _, n := range tt.anchors {
			n.Place, n.At = ledger.FormerPlace, time.Now()
			if err := s.PutAnchor(t.Context(), n); err != nil {
				t.Fatal(err)
			}
		}
		if tt.record {
			e := entry(0)
			e.Record.Kind = ledger.KindNewKey
			wait(t, enqueue(t, l, e))
		}
		opt := ledger.VerifyOptions{TrustedKey: l.VerifierKey()}
		if tt.former != "" {
			opt.FormerKeys = []string{tt.former}
		}
		r, err := ledger.Verify(t.Context(), s, opt)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if said := fmt.Sprint(r.Problems); r.OK() != (tt.want == "") || !strings.Contains(said, tt.want) || r.FormerProved != (tt.name == "whole") {
			t.Errorf("%s: proved %v, %s", tt.name, r.FormerProved, said)
		}
		args := []string{"--key", opt.TrustedKey, filepath.Join(dir, "reeve.db")}
		for _, former := range opt.FormerKeys {
			args = append(args, "--former-key", former)
		}
		python(t, r.OK(), args...)
	}
	// Only once is the key a new one.
	cfg.Seed = bytes.Repeat([]byte{8}, 32)
	cfg.NewKey = false
	if _, err := ledger.Open(t.Context(), cfg); !errors.Is(err, ledger.ErrOtherSeed) {
		t.Errorf("a third key: %v", err)
	}
}
