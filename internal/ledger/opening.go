package ledger

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"sync"
	"time"

	"reeve.example/reeve/act"
)

// Opening is what a record commits to. A nil field is one that the record does
// not have, or whose bytes were not kept.
type Opening struct {
	Request, Modified, Principal, Reasons, Links []byte
}

// Field returns one of the opening's fields.
func (o *Opening) Field(f Field) []byte {
	return [fields][]byte{o.Request, o.Modified, o.Principal, o.Reasons, o.Links}[f]
}

// An opening in the store is a version byte, then for each field kept a tag
// (its number plus one), its salt, the number of its pieces and the pieces, and
// a zero byte at the end. A piece is its length times two, and then its bytes;
// or that plus one, and then the SHA-256 of the part that has the bytes.
const (
	openingVersion = 1
	saltSize       = 16
	// maxOpening bounds all fields of an opening, in bytes.
	maxOpening = 64 << 20
	// minPart is the least worth storing as a part of its own, in bytes.
	minPart = 128
)

// buffers are what tickets encode into.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 8<<10); return &b }}

// prepare does all the work on an entry that does not depend on its place in
// the log, on the caller's goroutine.
func prepare(e *Entry, now func() time.Time) (*Ticket, error) {
	if e.Record.Kind == "" && e.Task != nil {
		return &Ticket{change: e.Task, buffer: new([]byte), bytes: 1024 + e.Task.Size()}, nil
	}
	contents := [fields][]byte{e.Request, e.Modified, e.Principal, e.Reasons, e.Links}
	size := 0
	for _, c := range contents {
		size += len(c)
	}
	if size > maxOpening {
		return nil, fmt.Errorf("an entry of %d bytes is too large for the ledger: the limit is %d", size, maxOpening)
	}
	r := e.Record
	if r.Time.IsZero() {
		r.Time = now()
	}
	r.clip()
	t := &Ticket{
		time: min(max(r.Time.UnixMicro(), 0), maxMicro), buffer: buffers.Get().(*[]byte),
		writes: lastPerKey(e.Writes), bytes: size + 1024, change: e.Task,
	}
	if e.Task != nil {
		t.bytes += e.Task.Size()
	}
	for _, w := range t.writes {
		t.bytes += len(w.Data)
		if w.Item != nil {
			t.bytes += len(w.Item.Data)
		}
	}
	var random [fields * saltSize]byte
	rand.Read(random[:]) // never fails: see crypto/rand
	salt := func(f int) []byte { return random[f*saltSize : (f+1)*saltSize] }
	for f, c := range contents {
		r.Commitments[f] = Commitment{}
		if c != nil {
			r.Commitments[f] = commitTo(salt(f), c)
		}
	}
	b := appendRecordTail((*t.buffer)[:0], &r)
	var ends [3]int // of the record, of the contents, of the facts
	ends[0] = len(b)
	for i, facts := range [...]bool{false, true} {
		b = append(b, openingVersion)
		for f, c := range contents {
			kept := e.KeepContent || Field(f) != Request && Field(f) != Modified
			if c == nil || !kept || Field(f).fact() != facts {
				continue
			}
			b = append(b, byte(f)+1)
			b = append(b, salt(f)...)
			if Field(f) == Request {
				b, t.parts = appendPieces(b, c, e.Shared)
			} else {
				b, _ = appendPieces(b, c, nil)
			}
		}
		if len(b) == ends[i]+1 { // nothing of it
			b = b[:ends[i]]
		} else {
			b = append(b, 0)
		}
		ends[i+1] = len(b)
	}
	b = appendTerms(b, &r, e)
	t.tail = b[:ends[0]:ends[0]]
	t.opening, t.facts, t.terms = piece(b, ends[0], ends[1]), piece(b, ends[1], ends[2]), piece(b, ends[2], len(b))
	*t.buffer = b
	return t, nil
}

// fact reports whether a field is of the facts: who asked, and what it belongs to. They
// lie apart from the contents, which go sooner.
func (f Field) fact() bool { return f == Principal || f == Links }

// piece is a part of a buffer; nil for an empty one.
func piece(b []byte, from, to int) []byte {
	if from == to {
		return nil
	}
	return b[from:to:to]
}

// release gives up what the ticket holds for the committer.
func (t *Ticket) release() {
	if cap(*t.buffer) <= 64<<10 {
		buffers.Put(t.buffer)
	}
	t.buffer, t.tail, t.opening, t.facts, t.parts, t.writes = nil, nil, nil, nil, nil, nil
}

// lastPerKey drops writes that a later one of the same session replaces.
func lastPerKey(writes []*Write) []*Write {
	if len(writes) < 2 {
		return writes
	}
	last := make(map[Key]int, len(writes))
	for i, w := range writes {
		last[w.Head.key] = i
	}
	if len(last) == len(writes) {
		return writes
	}
	kept := make([]*Write, 0, len(last))
	for i, w := range writes {
		if last[w.Head.key] == i {
			kept = append(kept, w)
		}
	}
	return kept
}

// appendPieces appends one field, the shared spans of it as references.
func appendPieces(b, content []byte, shared [][2]int) ([]byte, []Part) {
	var parts []Part
	at, pieces := 0, 0
	for _, s := range shared {
		if s[0] < at || s[1]-s[0] < minPart || s[1] > len(content) {
			continue
		}
		if s[0] > at {
			pieces++
		}
		part := content[s[0]:s[1]:s[1]]
		parts = append(parts, Part{Hash: sha256.Sum256(part), Data: part})
		pieces++
		at = s[1]
	}
	if at < len(content) {
		pieces++
	}
	b = binary.AppendUvarint(b, uint64(pieces))
	at, next := 0, 0
	for _, s := range shared {
		if s[0] < at || s[1]-s[0] < minPart || s[1] > len(content) {
			continue
		}
		b = appendPiece(b, content[at:s[0]])
		b = binary.AppendUvarint(b, uint64(s[1]-s[0])<<1|1)
		b = append(b, parts[next].Hash[:]...)
		at = s[1]
		next++
	}
	return appendPiece(b, content[at:]), parts
}

func appendPiece(b, piece []byte) []byte {
	if len(piece) == 0 {
		return b
	}
	b = binary.AppendUvarint(b, uint64(len(piece))<<1)
	return append(b, piece...)
}

// hasher is what commitTo works with; it is pooled because all of it would
// have to be allocated.
type hasher struct {
	sha hash.Hash
	pad [sha256.BlockSize]byte
	sum Commitment
}

var hashers = sync.Pool{New: func() any { return &hasher{sha: sha256.New()} }}

// commitTo is HMAC-SHA256 (RFC 2104) with a salt as its key. It is written out
// because crypto/hmac makes new states for each key.
func commitTo(salt, content []byte) Commitment {
	h := hashers.Get().(*hasher)
	defer hashers.Put(h)
	clear(h.pad[:])
	copy(h.pad[:], salt)
	for i := range h.pad {
		h.pad[i] ^= 0x36
	}
	h.sha.Reset()
	h.sha.Write(h.pad[:])
	h.sha.Write(content)
	h.sha.Sum(h.sum[:0])
	for i := range h.pad {
		h.pad[i] ^= 0x36 ^ 0x5c
	}
	h.sha.Reset()
	h.sha.Write(h.pad[:])
	h.sha.Write(h.sum[:])
	h.sha.Sum(h.sum[:0])
	return h.sum
}

// opened is one field of an opening as it is stored.
type opened struct {
	salt, content []byte
	present       bool
}

// parseOpening reads a stored opening. part returns the bytes of a part.
func parseOpening(b []byte, part func(hash [32]byte) ([]byte, error)) (o [fields]opened, err error) {
	bad := errors.New("it is not in the form that reeve writes")
	if len(b) == 0 || b[0] != openingVersion {
		return o, bad
	}
	b = b[1:]
	budget := maxOpening
	for last := 0; ; {
		if len(b) == 0 {
			return o, bad
		}
		tag := int(b[0])
		b = b[1:]
		if tag == 0 {
			break
		}
		if tag <= last || tag > int(fields) || len(b) < saltSize {
			return o, bad
		}
		last = tag
		field := &o[tag-1]
		field.present, field.salt = true, b[:saltSize]
		b = b[saltSize:]
		pieces, n := binary.Uvarint(b)
		if n <= 0 || pieces > uint64(len(b)) {
			return o, bad
		}
		b = b[n:]
		field.content = []byte{}
		for range pieces {
			head, n := binary.Uvarint(b)
			size := head >> 1
			if n <= 0 || size > uint64(budget) {
				return o, bad
			}
			b = b[n:]
			budget -= int(size)
			if head&1 == 0 {
				if size > uint64(len(b)) {
					return o, bad
				}
				field.content = append(field.content, b[:size]...)
				b = b[size:]
				continue
			}
			if len(b) < sha256.Size {
				return o, bad
			}
			hash := [32]byte(b)
			b = b[sha256.Size:]
			data, err := part(hash)
			if err != nil {
				return o, fmt.Errorf("a part of it: %w", err)
			}
			if uint64(len(data)) != size || sha256.Sum256(data) != hash {
				return o, errors.New("a part of it was changed")
			}
			field.content = append(field.content, data...)
		}
	}
	if len(b) != 0 {
		return o, bad
	}
	return o, nil
}

// LinksOf returns the links among stored facts, as Reader.Facts gives them; nil where there
// are none. They are not compared with what the record commits to.
func LinksOf(facts []byte) ([]byte, error) {
	o, err := parseOpening(facts, noParts)
	return o[Links].content, err
}

// check compares an opening with the commitments of its record.
func (r *Record) check(o *[fields]opened) error {
	for f := range o {
		if !o[f].present {
			continue
		}
		want, got := r.Commitments[f], commitTo(o[f].salt, o[f].content)
		if subtle.ConstantTimeCompare(want[:], got[:]) != 1 {
			return fmt.Errorf("its field %s is not what the record commits to", Field(f))
		}
	}
	return nil
}

// ReadOpening returns what lies beside a record, each field checked against
// the record's commitment. ErrNotFound when the record or its opening is gone;
// fields that were not kept are nil.
func ReadOpening(ctx context.Context, store Reader, pos act.Position) (Opening, error) {
	r, _, err := ReadRecord(ctx, store, pos)
	if err != nil {
		return Opening{}, err
	}
	o, err := readOpening(ctx, store, &r)
	if err != nil {
		return Opening{}, err
	}
	return openingOf(o), nil
}

// Open reads what lies beside the record from the contents and the facts that the store
// has, nil for none, each field checked against the record's commitment. part returns the
// bytes of a part.
func (r *Record) Open(contents, facts []byte, part func(hash [32]byte) ([]byte, error)) (Opening, error) {
	var o [fields]opened
	var err error
	if contents != nil {
		o, err = parseOpening(contents, part)
	}
	if err == nil && facts != nil {
		err = addFacts(&o, facts)
	}
	if err == nil {
		err = r.check(&o)
	}
	if err != nil {
		return Opening{}, fmt.Errorf("the opening of record %s: %w", r.ID(), err)
	}
	return openingOf(&o), nil
}

func openingOf(o *[fields]opened) Opening {
	return Opening{
		Request: o[Request].content, Modified: o[Modified].content, Principal: o[Principal].content,
		Reasons: o[Reasons].content, Links: o[Links].content,
	}
}

func readOpening(ctx context.Context, store Reader, r *Record) (*[fields]opened, error) {
	pos := act.Position{Log: r.Log, Index: r.Index}
	o, err := joinOpening(ctx, store, pos)
	if err == nil {
		err = r.check(o)
	}
	if err != nil {
		return nil, fmt.Errorf("the opening of record %s: %w", pos, err)
	}
	return o, nil
}

// joinOpening reads the contents and the facts of a record. ErrNotFound when there are
// neither.
func joinOpening(ctx context.Context, store Reader, pos act.Position) (*[fields]opened, error) {
	var o [fields]opened
	data, err := store.Opening(ctx, pos)
	found := err == nil
	if found {
		o, err = parseOpening(data, func(hash [32]byte) ([]byte, error) { return store.Part(ctx, hash) })
	}
	if err != nil && (found || !errors.Is(err, ErrNotFound)) {
		return nil, err
	}
	err = store.Facts(ctx, pos.Log, pos.Index, pos.Index+1, func(_ uint64, data []byte) error {
		found = true
		return addFacts(&o, append([]byte(nil), data...))
	})
	if err == nil && !found {
		err = ErrNotFound
	}
	return &o, err
}

// addFacts adds the facts to the contents.
func addFacts(o *[fields]opened, data []byte) error {
	facts, err := parseOpening(data, noParts)
	for f := range facts {
		if facts[f].present {
			o[f] = facts[f]
		}
	}
	return err
}
