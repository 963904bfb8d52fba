package ledger

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"math"
	"slices"
	"sync"
	"time"
)

// Sealer proves that a node with the seed wrote what lies beside the log: who can write the
// database, and has not the seed, can make no seal. A seal is an HMAC-SHA-256 over all that
// a row says, its name and version among it, so that it is good in no other's place.
// It is safe for concurrent use.
type Sealer struct{ idle sync.Pool } // of *sealing

// sealing is one seal that is being made.
type sealing struct {
	mac hash.Hash
	buf []byte
}

// KindSealed is the kind of the record from which on rows without a seal are not believed.
const KindSealed = "admin.state.sealed"

// CodeSealed is the code of records that say the same: of those that a database begins with,
// and of those that come after the removal of old ones.
const CodeSealed = "state.sealed"

// SaysSealed reports whether a record says that rows without a seal are not believed.
func (r *Record) SaysSealed() bool {
	return r.Kind == KindSealed || slices.Contains(r.Codes, CodeSealed)
}

// ErrUnsealed: a row has no seal. It is of a version before there were any, or forged.
var ErrUnsealed = errors.New("it bears no seal: no node of this database wrote it")

// ErrForged: a row has a seal, and not that of what it says.
var ErrForged = errors.New("its seal is not that of what it says: it was changed behind the nodes' back")

// ErrRolledBack: a row says what it did before it was last written, or is gone.
var ErrRolledBack = errors.New("it is not as it was last written: an older state was put in its place, or it was taken away")

// sealUse is what the key is for from which seals are made: see DeriveKey.
const sealUse = "seals of rows"

// NewSealer returns what seals and checks for those who have the seed.
func NewSealer(seed []byte) (*Sealer, error) {
	key, err := DeriveKey(seed, sealUse)
	if err != nil {
		return nil, fmt.Errorf("derive the key of seals: %w", err)
	}
	return &Sealer{sync.Pool{New: func() any { return &sealing{mac: hmac.New(sha256.New, key)} }}}, nil
}

// Item is the seal of an item with its version.
func (s *Sealer) Item(i *Item) []byte {
	m := s.begin("item")
	b := appendText(appendText(appendText(m.buf, i.Kind), i.ID), i.Owner)
	b = binary.BigEndian.AppendUint32(b, i.Version.Log)
	b = binary.BigEndian.AppendUint64(b, i.Version.Index)
	open := byte(0)
	if i.Open {
		open = 1
	}
	b = append(b, open)
	b = binary.BigEndian.AppendUint64(b, uint64(nanoseconds(i.Due)))
	m.buf = appendText(b, i.Data)
	return s.end(m)
}

// CheckItem returns nil for an item that bears its seal, else ErrUnsealed or ErrForged.
func (s *Sealer) CheckItem(i *Item) error { return check(i.Seal, s.Item(i)) }

// Fields is the seal of something else that is stored, by the fields that it has.
func (s *Sealer) Fields(what string, fields ...string) []byte {
	m := s.begin(what)
	for _, f := range fields {
		m.buf = appendText(m.buf, f)
	}
	return s.end(m)
}

// CheckFields is CheckItem for what Fields sealed.
func (s *Sealer) CheckFields(seal []byte, what string, fields ...string) error {
	return check(seal, s.Fields(what, fields...))
}

func check(seal, want []byte) error {
	switch {
	case len(seal) == 0:
		return ErrUnsealed
	case !hmac.Equal(seal, want):
		return ErrForged
	}
	return nil
}

func (s *Sealer) begin(what string) *sealing {
	m := s.idle.Get().(*sealing)
	m.buf = appendText(m.buf[:0], what)
	return m
}

func (s *Sealer) end(m *sealing) []byte {
	m.mac.Reset()
	m.mac.Write(m.buf)
	seal := m.mac.Sum(nil)
	if cap(m.buf) <= 1<<20 {
		s.idle.Put(m)
	}
	return seal
}

// appendText appends a field behind its length, so that no field can pass for a part of another.
func appendText[T string | []byte](b []byte, text T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// nanoseconds is a time as every store keeps it.
func nanoseconds(t time.Time) int64 {
	switch {
	case t.IsZero():
		return 0
	case t.Before(time.Unix(0, math.MinInt64)):
		return math.MinInt64
	case t.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	}
	return t.UnixNano()
}

// Sealer returns what seals as this log does.
func (l *Log) Sealer() (*Sealer, error) { return NewSealer(l.cfg.Seed) }
