package ledger

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"reeve.example/reeve/act"

	"github.com/go-json-experiment/json"
	"golang.org/x/mod/sumdb/tlog"
)

const receiptHeader = "c2sp.org/tlog-proof@v1"

// maxReceipt bounds a receipt, in bytes: a disclosed opening in base64, twice.
const maxReceipt = 4 * maxOpening

// disclosed is one field of an opening in a receipt or an export.
type disclosed struct {
	Field   string `json:"field"`
	Salt    []byte `json:"salt"`
	Content []byte `json:"content"`
}

// MakeReceipt returns the proof that a record is in its log: a C2SP tlog-proof
// against the newest checkpoint, with the record as extra data. Of the record's
// opening it shows the fields named in disclose, none by default. ErrNotFound
// when there is no such record, or what is to be disclosed is gone.
func (t *Tree) MakeReceipt(ctx context.Context, index uint64, disclose ...Field) ([]byte, error) {
	pos := act.Position{Log: t.log, Index: index}
	r, data, err := ReadRecord(ctx, t.store, pos)
	if err != nil {
		return nil, err
	}
	extra := bytes.Clone(data)
	if len(disclose) > 0 {
		o, err := readOpening(ctx, t.store, &r)
		if err != nil {
			return nil, err
		}
		for _, f := range disclose {
			if f < 0 || f >= fields || !o[f].present {
				return nil, fmt.Errorf("the %s of record %s is not kept: %w", f, pos, ErrNotFound)
			}
			line, err := json.Marshal(disclosed{f.String(), o[f].salt, o[f].content})
			if err != nil {
				return nil, fmt.Errorf("disclose the %s of record %s: %w", f, pos, err)
			}
			extra = append(append(extra, '\n'), line...)
		}
	}
	head, err := t.store.Head(ctx, t.log)
	if err != nil {
		return nil, fmt.Errorf("read the head of log %d: %w", t.log, err)
	}
	cp, err := ParseCheckpoint(head.Checkpoint)
	if err != nil {
		return nil, fmt.Errorf("the checkpoint of log %d: %w", t.log, err)
	}
	proof, err := t.ProveRecord(ctx, cp.Size, index)
	if err != nil {
		return nil, fmt.Errorf("prove record %s: %w", pos, err)
	}
	if err := tlog.CheckRecord(proof, int64(cp.Size), cp.Root, int64(index), tlog.RecordHash(data)); err != nil {
		return nil, fmt.Errorf("log %d is damaged: record %d does not fit its checkpoint; run reeve ledger verify", t.log, index)
	}
	b := append([]byte(receiptHeader), "\nextra "...)
	b = base64.StdEncoding.AppendEncode(b, extra)
	b = append(b, "\nindex "...)
	b = strconv.AppendUint(b, index, 10)
	b = append(b, '\n')
	for _, h := range proof {
		b = base64.StdEncoding.AppendEncode(b, h[:])
		b = append(b, '\n')
	}
	b = append(b, '\n')
	return append(b, head.Checkpoint...), nil
}

// Receipt is what a receipt proves.
type Receipt struct {
	Record     Record
	Checkpoint Checkpoint // the log's state that the proof leads to
	// Opening has the fields that the receipt discloses, checked against the
	// record's commitments.
	Opening Opening
}

// VerifyReceipt checks a receipt with a log's public key, offline. Its error
// is a sentence that says what does not hold.
func VerifyReceipt(receipt []byte, vkey string) (Receipt, error) {
	key, err := newVerifier(vkey)
	if err != nil {
		return Receipt{}, err
	}
	if len(receipt) > maxReceipt {
		return Receipt{}, fmt.Errorf("a receipt of %d bytes: the limit is %d", len(receipt), maxReceipt)
	}
	lines := string(receipt)
	next := func() string {
		line, rest, _ := strings.Cut(lines, "\n")
		lines = rest
		return line
	}
	if first := next(); first != receiptHeader {
		return Receipt{}, fmt.Errorf("it is not a receipt: its first line must be %s", receiptHeader)
	}
	extra, ok := strings.CutPrefix(next(), "extra ")
	if !ok {
		return Receipt{}, errors.New("the receipt has no record: its second line must start with extra")
	}
	leaf, err := base64.StdEncoding.Strict().DecodeString(extra)
	if err != nil {
		return Receipt{}, errors.New("the receipt's record is not in base64")
	}
	number, ok := strings.CutPrefix(next(), "index ")
	if !ok {
		return Receipt{}, errors.New("the receipt does not say which record it is of: its third line must start with index")
	}
	index, err := parseDecimal(number)
	if err != nil {
		return Receipt{}, fmt.Errorf("the receipt's index: %w", err)
	}
	var proof tlog.RecordProof
	for line := next(); line != ""; line = next() {
		h, err := tlog.ParseHash(line)
		if err != nil || h.String() != line || len(proof) == 64 {
			return Receipt{}, errors.New("the receipt's proof is damaged: want up to 64 hashes in base64, one to a line")
		}
		proof = append(proof, h)
	}
	cp, err := key.open([]byte(lines))
	if err != nil {
		return Receipt{}, err
	}
	data, rest, _ := bytes.Cut(leaf, []byte{'\n'})
	if index >= cp.Size || tlog.CheckRecord(proof, int64(cp.Size), cp.Root, int64(index), tlog.RecordHash(data)) != nil {
		return Receipt{}, fmt.Errorf("the proof does not hold: this record is not record %d of %s", index, cp.Origin)
	}
	r, err := ParseRecord(data)
	if err != nil {
		return Receipt{}, fmt.Errorf("the record in the receipt: %w", err)
	}
	if r.Index != index || !strings.HasSuffix(cp.Origin, "/"+strconv.FormatUint(uint64(r.Log), 10)) {
		return Receipt{}, fmt.Errorf("the record says that it is %s, but it stands at %d in %s", r.ID(), index, cp.Origin)
	}
	out := Receipt{Record: r, Checkpoint: cp}
	var o [fields]opened
	for len(rest) > 0 {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte{'\n'})
		var d disclosed
		if err := json.Unmarshal(line, &d, json.RejectUnknownMembers(true)); err != nil {
			return Receipt{}, fmt.Errorf("what the receipt discloses cannot be read: %w", err)
		}
		f, err := ParseField(d.Field)
		if err != nil {
			return Receipt{}, fmt.Errorf("what the receipt discloses: %w", err)
		}
		if o[f].present || len(d.Salt) != saltSize {
			return Receipt{}, fmt.Errorf("the receipt discloses its %s twice, or with a salt that is not of %d bytes", f, saltSize)
		}
		if d.Content == nil {
			d.Content = []byte{}
		}
		o[f] = opened{salt: d.Salt, content: d.Content, present: true}
	}
	if err := r.check(&o); err != nil {
		return Receipt{}, fmt.Errorf("what the receipt discloses: %w", err)
	}
	out.Opening = openingOf(&o)
	return out, nil
}

// ParseField reads the name of a field of openings, such as "request".
func ParseField(name string) (Field, error) {
	for f, n := range fieldNames {
		if n == name {
			return Field(f), nil
		}
	}
	return 0, fmt.Errorf("%q is not a field of a record's opening: there are %s", name, strings.Join(fieldNames[:], ", "))
}
