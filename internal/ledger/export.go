package ledger

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"reeve.example/reeve/act"

	"github.com/go-json-experiment/json"
)

// Range is a part of a log: the records from From (inclusive) to To
// (exclusive). To beyond the end means the end.
type Range struct {
	Log      uint32
	From, To uint64
}

// Export writes the records of a part of a log as JSON Lines: see ExportLogs.
func Export(ctx context.Context, store Reader, what Range, openings bool, w io.Writer) error {
	return ExportLogs(ctx, store, []Range{what}, OldestFirst, openings, w)
}

// ExportLogs writes records of several logs in the order of their times as JSON Lines, for
// auditors and their tools: each line
// has decision_id, record (the record's own bytes, as they stand in the log)
// and, where openings says so and they are still kept, openings. There a field
// has its salt in base64 and its bytes as text, or as bytes in base64 when they
// are not UTF-8.
func ExportLogs(ctx context.Context, store Reader, what []Range, order Order, openings bool, w io.Writer) error {
	out := bufio.NewWriter(w)
	err := Merge(ctx, store, what, order, func(r *Record, data []byte) error {
		line, err := exportLine(ctx, store, r, data, openings)
		if err != nil {
			return err
		}
		if _, err := out.Write(line); err != nil {
			return fmt.Errorf("write the export: %w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write the export: %w", err)
	}
	return nil
}

func exportLine(ctx context.Context, store Reader, r *Record, data []byte, openings bool) ([]byte, error) {
	b := append([]byte(`{"decision_id":"`), r.ID()...)
	b = append(b, `","record":`...)
	b = append(b, data...)
	if openings {
		o, err := readOpening(ctx, store, r)
		if err == nil {
			b = append(b, `,"openings":`...)
			b, err = appendOpening(b, o)
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, err
		}
	}
	return append(b, "}\n"...), nil
}

func appendOpening(b []byte, o *[fields]opened) ([]byte, error) {
	type content struct {
		Salt  []byte  `json:"salt"`
		Text  *string `json:"text,omitempty"`
		Bytes []byte  `json:"bytes,omitempty"`
	}
	b = append(b, '{')
	for f := range o {
		if !o[f].present {
			continue
		}
		c := content{Salt: o[f].salt}
		if utf8.Valid(o[f].content) {
			s := string(o[f].content)
			c.Text = &s
		} else {
			c.Bytes = o[f].content
		}
		value, err := json.Marshal(c)
		if err != nil {
			return nil, fmt.Errorf("write the %s of an opening: %w", Field(f), err)
		}
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = strconv.AppendQuote(b, fieldNames[f])
		b = append(b, ':')
		b = append(b, value...)
	}
	return append(b, '}'), nil
}

// KindPruned is the kind of the record that says that records were removed; CodePruned is its code, which
// says below which: without it verification finds that they are missing.
const KindPruned = "admin.prune"

// CodePruned is the code of the record that says that the records below an index were removed.
func CodePruned(below uint64) string { return "pruned_below." + strconv.FormatUint(below, 10) }

// Prune removes the oldest records of a log, up to a checkpoint of it that the
// log still agrees with. Everything from there on can still be proved. Records
// go in whole tiles of 256, and the newest tile always stays: the size below
// which they are gone is returned. A record of KindPruned must say so before.
func Prune(ctx context.Context, store Store, log uint32, checkpoint []byte, vkey string) (uint64, error) {
	cp, err := OpenCheckpoint(checkpoint, vkey)
	if err != nil {
		return 0, err
	}
	head, err := store.Head(ctx, log)
	if err != nil {
		return 0, fmt.Errorf("read the head of log %d: %w", log, err)
	}
	if cp.Size > head.Size {
		return 0, fmt.Errorf("the checkpoint is of %d records, and log %d has %d", cp.Size, log, head.Size)
	}
	size := min(cp.Size, max(head.Size, 1)-1) &^ 255
	if size <= head.Pruned {
		return head.Pruned, nil
	}
	root, err := NewTree(store, log).Root(ctx, cp.Size)
	if err != nil {
		return 0, fmt.Errorf("read the tree of log %d: %w", log, err)
	}
	if root != cp.Root {
		return 0, fmt.Errorf("log %d does not agree with the checkpoint of %d records: nothing is pruned; run reeve ledger verify", log, cp.Size)
	}
	if err := store.PruneRecords(ctx, log, size, checkpoint); err != nil {
		return 0, fmt.Errorf("prune log %d below record %s: %w", log, act.Position{Log: log, Index: size}, err)
	}
	return size, nil
}
