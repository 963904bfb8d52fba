// Package evidence writes what was decided in a time into one archive for somebody else, with
// proofs, and checks such an archive with nothing but a log's public key.
//
//	sum, err := evidence.Write(ctx, w, evidence.Of{Store: store, Since: since, …})
//	err = evidence.Verify(file, key, os.Stdout)
//
// The archive is written as it goes: whatever its length, no more than a batch of records is
// held.
package evidence

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/visible"
	"reeve.example/reeve/internal/words"

	"github.com/go-json-experiment/json"
)

// Names within an archive.
const (
	linesName     = "decisions.jsonl"
	approvalsName = "approvals.jsonl"
	manifestName  = "manifest.txt"
	keysName      = "keys.txt"
	pageName      = "index.html"
)

// Store is what evidence is read from.
type Store interface {
	ledger.Reader
	Anchors(ctx context.Context, log uint32) ([]ledger.Anchor, error)
}

// Keys are those of the ledger.
type Keys interface {
	// LedgerKey is the public key of a log, and SignEvidence signs with those of several.
	LedgerKey(log uint32) (string, error)
	SignEvidence(logs []uint32, text string) ([]byte, error)
}

// Of says of what an archive is.
type Of struct {
	Store        Store
	Keys         Keys
	Since, Until time.Time
	Made         time.Time
	Version      string
}

// Summary sums up an archive, for its page.
type Summary struct {
	Since, Until, Made time.Time
	Version            string
	Decisions          int
	Unknown            int // of them those of which it is not kept who asked
	Logs               []*Log
	Effects            map[string]int
	Doors              map[string]int
	Rules              map[string]int
	Policies           []string
	Approvals          int
}

// Log is one log of it.
type Log struct {
	Log        uint32
	Key        string
	First      uint64
	Last       uint64
	Pruned     uint64
	Anchors    int
	Former     uint64 // records of it that another key signed, which was lost
	Checkpoint string
}

// Write writes the archive. What is decided while it is written is not in it.
func Write(ctx context.Context, out io.Writer, of Of) (*Summary, error) {
	w := &writer{
		Of: of, zip: zip.NewWriter(out), logs: map[uint32]*Log{},
		Summary: &Summary{
			Since: of.Since.UTC(), Until: of.Until.UTC(), Made: of.Made.UTC(), Version: of.Version,
			Effects: map[string]int{}, Doors: map[string]int{}, Rules: map[string]int{},
		},
	}
	if err := w.write(ctx); err != nil {
		return nil, err
	}
	return w.Summary, w.zip.Close()
}

// writer writes an archive, with the sums of its files as the manifest has them.
type writer struct {
	Of
	*Summary
	zip  *zip.Writer
	sums strings.Builder
	logs map[uint32]*Log
}

// put writes one file. A proof needs no sum.
func (w *writer) put(name string, text []byte, sum bool) error {
	if sum {
		fmt.Fprintf(&w.sums, "%x  %s\n", sha256.Sum256(text), name)
	}
	file, err := w.zip.Create(name)
	if err == nil {
		_, err = file.Write(text)
	}
	return err
}

// each calls f with each record of the time, the oldest first. After the first walk a log ends
// where that ended.
func (w *writer) each(ctx context.Context, first bool, f func(l *ledger.Line) error) error {
	q := ledger.Query{Since: w.Of.Since, Until: w.Of.Until, Oldest: true, Limit: ledger.MaxLines}
	for {
		a, err := ledger.Search(ctx, w.Store, q)
		if err != nil {
			return err
		}
		for i := range a.Lines {
			l := &a.Lines[i]
			if pos := l.Position(); !first && (w.logs[pos.Log] == nil || pos.Index > w.logs[pos.Log].Last) {
				continue
			}
			if err := f(l); err != nil {
				return err
			}
		}
		if q.Cursor = a.Next; q.Cursor == "" {
			return nil
		}
	}
}

// lines writes a file with a line for each record that is wanted.
func (w *writer) lines(ctx context.Context, name string, first bool, wanted func(l *ledger.Line) bool) error {
	file, err := w.zip.Create(name)
	if err != nil {
		return err
	}
	sum := sha256.New()
	err = w.each(ctx, first, func(l *ledger.Line) error {
		if !wanted(l) {
			return nil
		}
		text, err := json.Marshal(l, json.Deterministic(true))
		if err == nil {
			_, err = io.MultiWriter(file, sum).Write(append(text, '\n'))
		}
		return err
	})
	fmt.Fprintf(&w.sums, "%x  %s\n", sum.Sum(nil), name)
	return err
}

func (w *writer) write(ctx context.Context) error {
	policies := map[string]bool{}
	if err := w.lines(ctx, linesName, true, func(l *ledger.Line) bool {
		w.count(l)
		if l.Policy != "" {
			policies[l.Policy] = true
		}
		return true
	}); err != nil {
		return err
	}
	if err := w.lines(ctx, approvalsName, false, toldOfPeople); err != nil {
		return err
	}
	if err := w.each(ctx, false, func(l *ledger.Line) error { return w.proof(ctx, l.Position()) }); err != nil {
		return err
	}
	var keys strings.Builder
	for _, log := range slices.Sorted(maps.Keys(w.logs)) {
		l := w.logs[log]
		w.Logs = append(w.Logs, l)
		var err error
		if l.Key, err = w.Keys.LedgerKey(log); err != nil {
			return err
		}
		fmt.Fprintf(&keys, "%s\n", l.Key)
		if err := w.checkpoints(ctx, l); err != nil {
			return err
		}
	}
	for _, hash := range slices.Sorted(maps.Keys(policies)) {
		text, err := w.Store.Policy(ctx, hash)
		if errors.Is(err, ledger.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		w.Policies = append(w.Policies, hash)
		if err := w.put(policyName(hash), text, true); err != nil {
			return err
		}
	}
	var page bytes.Buffer
	if err := pageTemplate.Execute(&page, w.Summary); err != nil {
		return err
	}
	if err := errors.Join(w.put(keysName, []byte(keys.String()), true), w.put(pageName, page.Bytes(), true)); err != nil {
		return err
	}
	if len(w.logs) == 0 {
		return nil // nothing was decided, and no log's key says so
	}
	time := span{w.Summary.Since, w.Summary.Until, w.Summary.Made}
	manifest, err := w.Keys.SignEvidence(slices.Sorted(maps.Keys(w.logs)), time.text()+w.sums.String())
	if err != nil {
		return err
	}
	return w.put(manifestName, manifest, false)
}

func (w *writer) checkpoints(ctx context.Context, l *Log) error {
	head, err := w.Store.Head(ctx, l.Log)
	if err != nil {
		return err
	}
	anchors, err := w.Store.Anchors(ctx, l.Log)
	if err != nil {
		return err
	}
	l.Pruned, l.Checkpoint = head.Pruned, string(head.Checkpoint)
	text := bytes.Clone(head.Checkpoint)
	for _, a := range anchors {
		if a.Place == ledger.FormerPlace {
			l.Former = max(l.Former, a.Size)
		} else if a.Place != ledger.LogPlace { // the process log is no place that others keep
			l.Anchors++
		}
		text = append(append(text, '\n'), a.Checkpoint...)
	}
	return w.put(fmt.Sprintf("checkpoints/%d.txt", l.Log), text, true)
}

// count counts one record.
func (w *writer) count(l *ledger.Line) {
	pos := l.Position()
	one := w.logs[pos.Log]
	if one == nil {
		one = &Log{Log: pos.Log, First: pos.Index}
		w.logs[pos.Log] = one
	}
	one.Last = pos.Index
	w.Decisions++
	if toldOfPeople(l) {
		w.Approvals++
	}
	w.Effects[cmp.Or(l.Effect, "(administrative)")]++
	w.Doors[l.Door]++
	for _, r := range l.Rules {
		w.Rules[r]++
	}
}

// proof writes the proof of one record: with who asked, where that is kept.
func (w *writer) proof(ctx context.Context, pos act.Position) error {
	tree := ledger.NewTree(w.Store, pos.Log)
	receipt, err := tree.MakeReceipt(ctx, pos.Index, ledger.Principal, ledger.Links)
	if errors.Is(err, ledger.ErrNotFound) {
		w.Unknown++
		receipt, err = tree.MakeReceipt(ctx, pos.Index)
	}
	if err != nil {
		return err
	}
	return w.put(receiptName(pos), receipt, false)
}

// toldOfPeople says whether a line is of an act that people were asked about, or of their answer.
func toldOfPeople(l *ledger.Line) bool {
	return l.Approval != "" || strings.Contains(l.Kind, "approval")
}

// policyName is the name of a policy's text in an archive.
func policyName(hash string) string {
	return "policies/" + strings.ReplaceAll(hash, ":", "-") + ".yaml"
}

func receiptName(pos act.Position) string {
	return fmt.Sprintf("receipts/%d/%d.tlog-proof", pos.Log, pos.Index)
}

//go:embed page.html
var pageHTML string

var pageTemplate = template.Must(template.New("evidence").Funcs(template.FuncMap{"harmless": visible.Line, "plural": words.Count}).Parse(pageHTML))
