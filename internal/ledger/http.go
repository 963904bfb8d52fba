package ledger

import (
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"reeve.example/reeve/act"
)

// Handler serves the logs of a store openly, as transparency logs are:
//
//	/ledger/key                             the public keys, one to a line
//	/ledger/{log}/key                       one log's public key
//	/ledger/{log}/checkpoint                the newest signed checkpoint
//	/ledger/{log}/tile/{level}/{n}[.p/{w}]  hashes (C2SP tlog-tiles)
//	/ledger/{log}/tile/entries/{n}[.p/{w}]  records, in bundles of 256
//	/ledger/{log}/receipt/{index}           a record with its proof (C2SP tlog-proof)
//
// Everything in it is commitments; openings are never served here.
type Handler struct {
	store Reader
	key   func(log uint32) (string, error)

	mu    sync.Mutex
	trees map[uint32]*Tree
}

// NewHandler returns a Handler to be mounted at /ledger/. origin and seed are
// those of Config.
func NewHandler(store Reader, origin string, seed []byte) *Handler {
	return &Handler{
		store: store, trees: map[uint32]*Tree{},
		key: func(log uint32) (string, error) { return VerifierKey(origin, seed, log) },
	}
}

// httpError is an answer other than 200: a sentence for the one who asked.
type httpError struct {
	code int
	text string
}

func (e *httpError) Error() string { return e.text }

func notFound(format string, args ...any) error {
	return &httpError{http.StatusNotFound, fmt.Sprintf(format, args...)}
}

func badPath(format string, args ...any) error {
	return &httpError{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "The ledger can only be read here.", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("X-Content-Type-Options", "nosniff")
	err := h.serve(w, r)
	if err == nil {
		return
	}
	w.Header().Del("Cache-Control")
	var e *httpError
	switch {
	case errors.As(err, &e):
		http.Error(w, e.text, e.code)
	case errors.Is(err, ErrNotFound):
		http.Error(w, "The ledger does not hold it.", http.StatusNotFound)
	case r.Context().Err() != nil:
		// Nobody is listening any more.
	default:
		slog.Error("the ledger cannot be read", "path", r.URL.Path, "error", err)
		http.Error(w, "The ledger cannot be read at the moment.", http.StatusInternalServerError)
	}
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	path := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/ledger"), "/")
	if path == "key" {
		return h.serveKeys(ctx, w)
	}
	first, rest, _ := strings.Cut(path, "/")
	n, err := parseDecimal(first)
	if err != nil || n > 1<<32-1 {
		return badPath("%q is not the number of a log: want a path such as /ledger/0/checkpoint.", first)
	}
	log := uint32(n)
	head, err := h.store.Head(ctx, log)
	if errors.Is(err, ErrNotFound) {
		return notFound("There is no log %d here.", log)
	} else if err != nil {
		return err
	}
	what, rest, _ := strings.Cut(rest, "/")
	switch {
	case what == "key" && rest == "":
		key, err := h.key(log)
		if err != nil {
			return err
		}
		return text(w, "public, max-age=3600", []byte(key+"\n"))
	case what == "checkpoint" && rest == "":
		if head.Size == 0 {
			return notFound("Log %d has no records yet, so nothing was signed.", log)
		}
		return text(w, "no-cache", head.Checkpoint)
	case what == "tile":
		return h.serveTile(ctx, w, r, log, head, rest)
	case what == "receipt":
		index, err := parseDecimal(rest)
		if err != nil {
			return badPath("A receipt is of a record's index: want a path such as /ledger/%d/receipt/42.", log)
		}
		if err := within(log, index, index+1, head); err != nil {
			return err
		}
		receipt, err := h.tree(log).MakeReceipt(ctx, index)
		if err != nil {
			return err
		}
		w.Header().Set("Content-Disposition", `inline; filename="`+act.Position{Log: log, Index: index}.String()+`.tlog-proof"`)
		return text(w, "no-cache", receipt)
	}
	return notFound("The ledger has key, checkpoint, tile/… and receipt/… for each log.")
}

// within refuses records that are not there yet, or no more.
func within(log uint32, from, to uint64, head Head) error {
	if to > head.Size {
		return notFound("Log %d has %d records so far.", log, head.Size)
	}
	if from < head.Pruned {
		return &httpError{http.StatusGone, fmt.Sprintf("The records of log %d below %d have been pruned.", log, head.Pruned)}
	}
	return nil
}

func (h *Handler) tree(log uint32) *Tree {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.trees[log] == nil {
		h.trees[log] = NewTree(h.store, log)
	}
	return h.trees[log]
}

func (h *Handler) serveKeys(ctx context.Context, w http.ResponseWriter) error {
	logs, err := h.store.Logs(ctx)
	if err != nil {
		return err
	}
	var b []byte
	for _, log := range logs {
		key, err := h.key(log)
		if err != nil {
			return err
		}
		b = append(append(b, key...), '\n')
	}
	return text(w, "no-cache", b)
}

func (h *Handler) serveTile(ctx context.Context, w http.ResponseWriter, r *http.Request, log uint32, head Head, path string) error {
	what, rest, _ := strings.Cut(path, "/")
	level := 0
	if what != "entries" {
		n, err := parseDecimal(what)
		if err != nil || n > 63 {
			return badPath("%q is not a level of the tree: want entries, or a number up to 63.", what)
		}
		level = int(n)
	}
	n, width, err := parseTilePath(rest)
	if err != nil {
		return err
	}
	have := uint64(0)
	if level < 8 {
		have = head.Size >> (8 * level)
	}
	if n > have/256 || n*256+uint64(width) > have {
		return notFound("Log %d has %d records so far: there are %d hashes in level %d.", log, head.Size, have, level)
	}
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	w.Header().Set("Content-Type", "application/octet-stream")
	if what == "entries" {
		return h.serveEntries(ctx, w, r, log, n*256, n*256+uint64(width), head)
	}
	if level == 0 {
		if err := within(log, n*256, n*256+uint64(width), head); err != nil {
			return err
		}
	}
	hashes, err := h.tree(log).Tile(ctx, level, n, width)
	if err != nil {
		return err
	}
	b := make([]byte, 0, 32*width)
	for _, h := range hashes {
		b = append(b, h[:]...)
	}
	_, _ = w.Write(b) // a reader who has gone away is no fault of ours
	return nil
}

// serveEntries writes a bundle: each record behind its length in two bytes.
func (h *Handler) serveEntries(ctx context.Context, w http.ResponseWriter, r *http.Request, log uint32, from, to uint64, head Head) error {
	if err := within(log, from, to, head); err != nil {
		return err
	}
	var b []byte
	next := from
	err := h.store.Records(ctx, log, from, to, func(index uint64, record []byte) error {
		if index != next || len(record) > MaxRecord {
			return fmt.Errorf("log %d is damaged at record %d", log, next)
		}
		b = binary.BigEndian.AppendUint16(b, uint16(len(record)))
		b = append(b, record...)
		next++
		return nil
	})
	if err != nil {
		return err
	}
	if next != to {
		return fmt.Errorf("log %d is damaged: record %d is missing", log, next)
	}
	w.Header().Set("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = z.Write(b)
		_ = z.Close()
		return nil
	}
	_, _ = w.Write(b)
	return nil
}

// parseTilePath reads a tile's number, in elements of three digits, and its
// width: x001/x234/067.p/16 is tile 1234067 with 16 hashes.
func parseTilePath(path string) (n uint64, width int, err error) {
	bad := badPath("%q is not the path of a tile: want elements of three digits such as x001/234, with .p/WIDTH behind an incomplete one.", path)
	width = 256
	number, w, partial := strings.Cut(path, ".p/")
	if partial {
		v, err := parseDecimal(w)
		if err != nil || v < 1 || v > 255 {
			return 0, 0, bad
		}
		width = int(v)
	}
	elements := strings.Split(number, "/")
	if len(elements) > 6 {
		return 0, 0, bad
	}
	for i, e := range elements {
		if i < len(elements)-1 {
			rest, ok := strings.CutPrefix(e, "x")
			if !ok || i == 0 && rest == "000" {
				return 0, 0, bad
			}
			e = rest
		}
		v, err := strconv.ParseUint(e, 10, 64)
		if err != nil || len(e) != 3 || e[0] == '+' {
			return 0, 0, bad
		}
		n = n*1000 + v
	}
	return n, width, nil
}

func text(w http.ResponseWriter, cache string, b []byte) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", cache)
	_, _ = w.Write(b)
	return nil
}
