package ledger

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/note"
)

// Anchorer publishes a log's newest checkpoint where whoever can write the
// database cannot change it. Only so is it found out when the log's end, or all
// of it, is taken away. What fails is logged and tried again the next time; the
// log itself never waits. Prepare comes first, and then Run.
type Anchorer struct {
	Store Store
	Log   uint32
	// Logger receives each checkpoint as a line of the process log, and what
	// fails; nil means slog.Default.
	Logger *slog.Logger
	// File is appended to; empty for none.
	File string
	// URL is sent each checkpoint by POST, as text/plain; empty for none.
	URL string
	// Witness is the URL prefix where a witness takes checkpoints (C2SP
	// tlog-witness, without /add-checkpoint); empty for none. WitnessKey is the
	// key of its cosignatures: a verifier key of type 4, Ed25519.
	Witness, WitnessKey string
	// Every is how often; 0 means once a minute.
	Every time.Duration
	// Client sends the requests; nil means one that gives up after ten seconds.
	Client *http.Client
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Tried is told, for file, url and witness, whether what was published last arrived;
	// nil for nobody.
	Tried func(kind string, ok bool)

	places []*place
	tree   *Tree
}

// LogPlace is the place of checkpoints that stand in the process's own log alone. It
// counts for nothing by itself: who has the machine has its log.
const LogPlace = "log"

// logEvery is how often a checkpoint is written to the process log at most: a busy node's
// log is for people, and this place counts for nothing by itself.
const logEvery = time.Hour

// place is one place where checkpoints are published.
type place struct {
	name    string
	publish func(ctx context.Context, cp Checkpoint, signed []byte) (published []byte, err error)
	size    uint64    // the last that was published
	rests   time.Time // of the process log: until then no other is written
	failed  bool
}

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 64 << 10

// Run publishes until ctx ends, and then once more. It needs Prepare first.
func (a *Anchorer) Run(ctx context.Context) {
	every := a.Every
	if every <= 0 {
		every = time.Minute
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			a.Publish(ctx)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
			defer cancel()
			a.Publish(last)
			return
		}
	}
}

// Prepare checks the settings, and reads what was published before. It returns
// an error when the settings cannot work.
func (a *Anchorer) Prepare(ctx context.Context) error {
	if a.Logger == nil {
		a.Logger = slog.Default()
	}
	if a.Client == nil {
		// A place elsewhere is the one that the operator named, and no other: who answers there
		// must not have the node call an address of its own network.
		a.Client = &http.Client{Timeout: 10 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	if a.Now == nil {
		a.Now = time.Now
	}
	a.tree = NewTree(a.Store, a.Log)
	a.places = nil
	if a.Logger.Enabled(ctx, slog.LevelInfo) { // else nothing would be written, and nothing is published
		a.places = append(a.places, &place{name: LogPlace, publish: a.toLog})
	}
	if a.File != "" {
		f, err := a.open()
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			return fmt.Errorf("ledger.file cannot be written: %w", err)
		}
		a.places = append(a.places, &place{name: "file:" + a.File, publish: a.toFile})
	}
	if a.URL != "" {
		a.places = append(a.places, &place{name: "url:" + a.URL, publish: a.toURL})
	}
	if a.Witness == "" {
		return nil
	}
	key, err := newCosigner(a.WitnessKey)
	if err != nil {
		return err
	}
	w := &witness{Anchorer: a, key: key, url: strings.TrimSuffix(a.Witness, "/") + "/add-checkpoint"}
	name := "witness:" + a.Witness
	anchors, err := a.Store.Anchors(ctx, a.Log)
	if err != nil {
		return fmt.Errorf("read the anchors of log %d: %w", a.Log, err)
	}
	for _, n := range anchors {
		if n.Place == name {
			w.old = n.Size
		}
	}
	a.places = append(a.places, &place{name: name, publish: w.publish})
	return nil
}

// Publish publishes the newest checkpoint at every place that does not have it
// yet, at all of them at once. It needs Prepare first.
func (a *Anchorer) Publish(ctx context.Context) {
	head, err := a.Store.Head(ctx, a.Log)
	if err != nil {
		a.Logger.Warn("the newest checkpoint cannot be read, and is not published", "log", a.Log, "error", err)
		return
	}
	if head.Size == 0 {
		return
	}
	cp, err := ParseCheckpoint(head.Checkpoint)
	if err != nil {
		a.Logger.Error("the newest checkpoint is damaged, and is not published", "log", a.Log, "error", err)
		return
	}
	var wait sync.WaitGroup
	for _, p := range a.places {
		if p.size == cp.Size || p.name == LogPlace && a.Now().Before(p.rests) {
			continue
		}
		wait.Go(func() {
			published, err := p.publish(ctx, cp, head.Checkpoint)
			if err == nil {
				err = a.Store.PutAnchor(ctx, Anchor{Log: a.Log, Size: cp.Size, Place: p.name, At: a.Now(), Checkpoint: published})
			}
			if kind, _, _ := strings.Cut(p.name, ":"); a.Tried != nil && kind != LogPlace {
				a.Tried(kind, err == nil)
			}
			if err != nil {
				p.failed = true
				a.Logger.Warn("a checkpoint could not be published; it will be tried again", "place", p.name, "size", cp.Size, "error", err)
				return
			}
			if p.failed {
				p.failed = false
				a.Logger.Info("checkpoints are published again", "place", p.name, "size", cp.Size)
			}
			p.size, p.rests = cp.Size, a.Now().Add(logEvery)
		})
	}
	wait.Wait()
}

func (a *Anchorer) toLog(_ context.Context, cp Checkpoint, signed []byte) ([]byte, error) {
	a.Logger.Info("ledger checkpoint", "origin", cp.Origin, "size", cp.Size, "root", cp.Root.String(), "checkpoint", string(signed))
	return signed, nil
}

// open opens the file of checkpoints to append to it.
func (a *Anchorer) open() (*os.File, error) {
	return os.OpenFile(a.File, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
}

// toFile appends the checkpoint and an empty line, and waits until it is on
// the disk.
func (a *Anchorer) toFile(_ context.Context, _ Checkpoint, signed []byte) ([]byte, error) {
	f, err := a.open()
	if err != nil {
		return nil, err
	}
	_, err = f.Write(append(bytes.Clone(signed), '\n'))
	if err == nil {
		err = f.Sync()
	}
	return signed, errors.Join(err, f.Close())
}

func (a *Anchorer) toURL(ctx context.Context, _ Checkpoint, signed []byte) ([]byte, error) {
	code, _, answer, err := a.post(ctx, a.URL, signed)
	if err != nil {
		return nil, err
	}
	if code < 200 || code > 299 {
		return nil, fmt.Errorf("it answered %d: %.200q", code, answer)
	}
	return signed, nil
}

func (a *Anchorer) post(ctx context.Context, url string, body []byte) (code int, kind string, answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, "", nil, err
	}
	req.Header.Set("Content-Type", "text/plain; charset=utf-8")
	resp, err := a.Client.Do(req)
	if err != nil {
		return 0, "", nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return resp.StatusCode, resp.Header.Get("Content-Type"), answer, err
}

// witness is a C2SP tlog-witness, which signs a checkpoint only if the log has
// done nothing but grow since the last one that it saw.
type witness struct {
	*Anchorer
	key note.Verifier
	url string
	old uint64 // the size that it saw last, as far as we know
}

// publish asks for a cosignature and returns the checkpoint with it. When the
// witness has seen another size than we thought, it says so, and is asked once
// more.
func (w *witness) publish(ctx context.Context, cp Checkpoint, signed []byte) ([]byte, error) {
	for range 2 {
		body := append([]byte("old "), strconv.FormatUint(w.old, 10)...)
		body = append(body, '\n')
		if w.old > 0 && w.old < cp.Size {
			proof, err := w.tree.ProveTree(ctx, cp.Size, w.old)
			if err != nil {
				return nil, fmt.Errorf("prove that the log continues its first %d records: %w", w.old, err)
			}
			for _, h := range proof {
				body = base64.StdEncoding.AppendEncode(body, h[:])
				body = append(body, '\n')
			}
		}
		body = append(append(body, '\n'), signed...)
		code, kind, answer, err := w.post(ctx, w.url, body)
		switch {
		case err != nil:
			return nil, err
		case code == http.StatusConflict && strings.HasPrefix(kind, "text/x.tlog.size"):
			size, err := parseDecimal(strings.TrimSuffix(string(answer), "\n"))
			if err != nil {
				return nil, fmt.Errorf("the size that it has seen cannot be read: %w", err)
			}
			if size > cp.Size {
				return nil, fmt.Errorf("it has seen %d records, and the log has %d: the log was cut short, or gone on with from an older copy", size, cp.Size)
			}
			w.old = size
			continue
		case code != http.StatusOK:
			return nil, fmt.Errorf("it answered %d: %.200q", code, answer)
		}
		both := append(bytes.Clone(signed), answer...)
		if n, err := note.Open(both, note.VerifierList(w.key)); err != nil || len(n.Sigs) == 0 {
			return nil, fmt.Errorf("its answer is not a cosignature by %s", w.key.Name())
		}
		w.old = cp.Size
		return both, nil
	}
	return nil, errors.New("it keeps saying that it has seen another size")
}

// cosigner checks a witness's cosignatures (C2SP tlog-cosignature, Ed25519).
type cosigner struct {
	name string
	id   uint32
	key  ed25519.PublicKey
}

const algCosignature = 4

// CheckWitnessKey says what is wrong with a witness's key.
func CheckWitnessKey(vkey string) error {
	_, err := newCosigner(vkey)
	return err
}

func newCosigner(vkey string) (*cosigner, error) {
	name, rest, _ := strings.Cut(strings.TrimSpace(vkey), "+")
	id, key64, _ := strings.Cut(rest, "+")
	idBytes, err1 := hex.DecodeString(id)
	key, err2 := base64.StdEncoding.DecodeString(key64)
	if name == "" || err1 != nil || err2 != nil || len(idBytes) != 4 || len(key) == 0 {
		return nil, errors.New("the witness's key cannot be read: want NAME+HASH+KEY, such as witness.example/w1+1a2b3c4d+BK…")
	}
	if key[0] != algCosignature || len(key) != 1+ed25519.PublicKeySize {
		return nil, fmt.Errorf("the key of witness %s is of type %d: only type %d, Ed25519 cosignatures, can be used", name, key[0], algCosignature)
	}
	sum := sha256.Sum256(append([]byte(name+"\n"), key...))
	if !bytes.Equal(sum[:4], idBytes) {
		return nil, fmt.Errorf("the key of witness %s is damaged: its hash does not fit it", name)
	}
	return &cosigner{name: name, id: binary.BigEndian.Uint32(idBytes), key: key[1:]}, nil
}

// Name, KeyHash and Verify make a cosigner a note.Verifier.

func (c *cosigner) Name() string    { return c.name }
func (c *cosigner) KeyHash() uint32 { return c.id }
func (c *cosigner) Verify(msg, sig []byte) bool {
	if len(sig) != 8+ed25519.SignatureSize {
		return false
	}
	at := binary.BigEndian.Uint64(sig)
	if at == 0 || at > 1<<63-1 {
		return false
	}
	signed := append([]byte("cosignature/v1\ntime "), strconv.FormatUint(at, 10)...)
	signed = append(append(signed, '\n'), msg...)
	return ed25519.Verify(c.key, signed, sig[8:])
}
