package ledger_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"reeve.example/reeve/internal/ledger"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/sumdb/tlog"
)

// witness is a C2SP tlog-witness of one log.
type witness struct {
	t    *testing.T
	name string
	key  ed25519.PrivateKey
	lie  bool // sign something else

	mu    sync.Mutex
	size  int64
	root  tlog.Hash
	calls int
}

func (w *witness) vkey(alg byte) string {
	public := append([]byte{alg}, w.key.Public().(ed25519.PublicKey)...)
	sum := sha256.Sum256(append([]byte(w.name+"\n"), public...))
	return fmt.Sprintf("%s+%x+%s", w.name, sum[:4], base64.StdEncoding.EncodeToString(public))
}

func (w *witness) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls++
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost || r.URL.Path != "/submit/add-checkpoint" {
		w.t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
	}
	head, signed, _ := strings.Cut(string(body), "\n\n")
	lines := strings.Split(head, "\n")
	old, err := strconv.ParseInt(strings.TrimPrefix(lines[0], "old "), 10, 64)
	if err != nil {
		http.Error(rw, "old size", http.StatusBadRequest)
		return
	}
	cp, err := ledger.OpenCheckpoint([]byte(signed), key)
	if err != nil {
		http.Error(rw, err.Error(), http.StatusForbidden)
		return
	}
	if old != w.size {
		rw.Header().Set("Content-Type", "text/x.tlog.size")
		rw.WriteHeader(http.StatusConflict)
		fmt.Fprintf(rw, "%d\n", w.size)
		return
	}
	var proof tlog.TreeProof
	for _, line := range lines[1:] {
		h, err := tlog.ParseHash(line)
		if err != nil {
			http.Error(rw, "proof", http.StatusBadRequest)
			return
		}
		proof = append(proof, h)
	}
	if old > 0 && tlog.CheckTree(proof, int64(cp.Size), cp.Root, old, w.root) != nil || old == 0 && len(proof) > 0 {
		http.Error(rw, "the log does not continue what I saw", http.StatusUnprocessableEntity)
		return
	}
	w.size, w.root = int64(cp.Size), cp.Root
	text := signed[:strings.Index(signed, "\n\n")+1]
	at := uint64(time.Now().Unix())
	if w.lie {
		text += "x\n"
	}
	sig := ed25519.Sign(w.key, []byte(fmt.Sprintf("cosignature/v1\ntime %d\n%s", at, text)))
	id, _ := strconv.ParseUint(strings.Split(w.vkey(4), "+")[1], 16, 32)
	raw := binary.BigEndian.AppendUint32(nil, uint32(id))
	raw = binary.BigEndian.AppendUint64(raw, at)
	fmt.Fprintf(rw, "— %s %s\n", w.name, base64.StdEncoding.EncodeToString(append(raw, sig...)))
}

// TestAnchorFollowsNoRedirect: a checkpoint was published where the operator said, and nowhere
// to where somebody there sends the node.
func TestAnchorFollowsNoRedirect(t *testing.T) {
	var called atomic.Int32
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called.Add(1) }))
	defer inside.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		place := httptest.NewServer(http.RedirectHandler(inside.URL, status))
		defer place.Close()
		s := openStore(t, t.TempDir())
		l := openLog(t, s)
		fill(t, s, l, 1)
		a := &ledger.Anchorer{Store: s, Logger: slog.New(slog.DiscardHandler), URL: place.URL, Tried: func(string, bool) {}}
		if err := a.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		a.Publish(t.Context())
		anchors, err := s.Anchors(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range anchors {
			if strings.HasPrefix(n.Place, "url:") {
				t.Errorf("%d counts as published: %s", status, n.Place)
			}
		}
	}
	if n := called.Load(); n != 0 {
		t.Errorf("who it was sent to was called %d times", n)
	}
}

func TestAnchorer(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	l := openLog(t, s)
	w := &witness{t: t, name: "witness.example/w1", key: ed25519.NewKeyFromSeed(seed)}
	witnessServer := httptest.NewServer(w)
	defer witnessServer.Close()
	down := true
	var posted []string
	urlServer := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if down {
			http.Error(rw, "later", http.StatusServiceUnavailable)
			return
		}
		posted = append(posted, string(b))
	}))
	defer urlServer.Close()
	var logged bytes.Buffer
	file := filepath.Join(dir, "checkpoints")
	var telling sync.Mutex // places are tried at once
	told := map[string]string{}
	tried := func(kind string, ok bool) {
		telling.Lock()
		defer telling.Unlock()
		told[kind] += map[bool]string{true: "+", false: "-"}[ok]
	}
	newAnchorer := func() *ledger.Anchorer {
		a := &ledger.Anchorer{
			Store: s, Logger: slog.New(slog.NewTextHandler(&logged, nil)), File: file, URL: urlServer.URL,
			Witness: witnessServer.URL + "/submit/", WitnessKey: w.vkey(4), Tried: tried,
		}
		if err := a.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		return a
	}
	places := func() (places []string) {
		if n := strings.Count(logged.String(), "ledger checkpoint"); n != 1 {
			t.Errorf("within the hour %d checkpoints are written to the process log", n)
		}
		anchors, err := s.Anchors(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range anchors {
			place, _, _ := strings.Cut(n.Place, ":")
			places = append(places, fmt.Sprintf("%s %d", place, n.Size))
		}
		return places
	}
	count := func(list []string) map[string]int {
		m := map[string]int{}
		for _, x := range list {
			m[x]++
		}
		return m
	}

	a := newAnchorer()
	a.Publish(t.Context()) // nothing to publish yet
	fill(t, s, l, 3)
	a.Publish(t.Context()) // the URL is down
	a.Publish(t.Context()) // and is tried again; the others have it
	down = false
	a.Publish(t.Context())
	fill(t, s, l, 300)
	a.Publish(t.Context())
	want := map[string]int{"log 3": 1, "file 3": 1, "url 3": 1, "witness 3": 1, "file 303": 1, "url 303": 1, "witness 303": 1}
	if diff := cmp.Diff(want, count(places())); diff != "" {
		t.Errorf("anchors (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"file": "++", "url": "--++", "witness": "++"}, told); diff != "" {
		t.Errorf("what was told (-want +got):\n%s", diff)
	}
	if w.size != 303 || w.calls != 2 {
		t.Errorf("the witness has seen %d records in %d calls", w.size, w.calls)
	}
	if len(posted) != 2 {
		t.Errorf("%d checkpoints were posted", len(posted))
	}
	for _, want := range []string{"could not be published", "published again", "ledger checkpoint", "size=3"} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, logged.String())
		}
	}
	anchors, err := s.Anchors(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	cosigned := 0
	for _, n := range anchors {
		if strings.Contains(string(n.Checkpoint), "— witness.example/w1 ") {
			cosigned++
		}
	}
	if cosigned != 2 {
		t.Errorf("%d cosignatures are kept", cosigned)
	}

	// The file is what Verify takes, and so is what the program in docs takes.
	kept, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if r := verifyOK(t, s, ledger.SplitCheckpoints(kept)...); r.Noted != 303 || r.Confirmed != 303 {
		t.Errorf("report %+v", r)
	}
	python(t, true, "--key", key, "--checkpoints", file, filepath.Join(dir, "reeve.db"))

	// After a restart the witness is asked to go on from where it was; also
	// when it has seen more than the database notes.
	fill(t, s, l, 50)
	a = newAnchorer()
	a.Publish(t.Context())
	if w.size != 353 || w.calls != 3 {
		t.Errorf("the witness has seen %d records in %d calls", w.size, w.calls)
	}
	fresh := openStore(t, t.TempDir())
	l2 := openLog(t, fresh)
	fill(t, fresh, l2, 5)
	w2 := &ledger.Anchorer{Store: fresh, Logger: slog.New(slog.NewTextHandler(&logged, nil)), Witness: witnessServer.URL + "/submit", WitnessKey: w.vkey(4)}
	if err := w2.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	logged.Reset()
	w2.Publish(t.Context())
	if !strings.Contains(logged.String(), "the log was cut short") {
		t.Errorf("a witness that has seen more: %s", logged.String())
	}
	w.mu.Lock()
	w.size, w.lie = 0, true
	w.mu.Unlock()
	logged.Reset()
	w2.Publish(t.Context())
	if !strings.Contains(logged.String(), "is not a cosignature by witness.example/w1") {
		t.Errorf("a witness that signs something else: %s", logged.String())
	}

	// A log that leaves checkpoints out is no place where they are published.
	quiet := openStore(t, t.TempDir())
	fill(t, quiet, openLog(t, quiet), 5)
	q := &ledger.Anchorer{Store: quiet, Logger: slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	if err := q.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	q.Publish(t.Context())
	if anchors, err := quiet.Anchors(t.Context(), 0); err != nil || len(anchors) > 0 {
		t.Errorf("published in a quiet log: %v, %v", anchors, err)
	}

	for _, bad := range []string{"", "witness", w.vkey(1), w.vkey(6), strings.Replace(w.vkey(4), "witness", "Witness", 1)} {
		a := &ledger.Anchorer{Store: s, Witness: witnessServer.URL, WitnessKey: bad}
		if err := a.Prepare(t.Context()); err == nil {
			t.Errorf("the key %q is taken", bad)
		}
	}
}
