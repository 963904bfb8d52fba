package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"reeve.example/reeve"
	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/internal/store"
	"reeve.example/reeve/internal/words"
)

// Names within an archive of evidence.
const (
	evidenceLines     = "decisions.jsonl"
	evidenceApprovals = "approvals.jsonl"
	evidenceKeys      = "keys.txt"
	evidencePage      = "index.html"
)

func evidenceCommand() *cobra.Command {
	var since, until string
	c := &cobra.Command{
		Use:   "evidence FILE",
		Short: "Write one archive that proves what was decided in a time",
		Long: `Writes a ZIP archive with the records of a time, who asked for each as far as that is kept, a
proof of each, the signed checkpoints, the policies that decided, what people were asked, and a
page for people. Contents are not in it. Each proof holds against the log's public key alone:
'reeve ledger verify --evidence FILE --key KEY' checks all of it offline, and so does
docs/verify_ledger.py. Give the key by another way than the archive.`,
		Example: `  reeve evidence --since 2027-01-01 --until 2027-04-01 q1.zip
  reeve ledger verify --evidence q1.zip --key "$(cat key.txt)"`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			q := ledger.Query{Oldest: true, Limit: ledger.MaxLines}
			for _, one := range []struct {
				flag, text string
				at         *time.Time
			}{{"--since", since, &q.Since}, {"--until", until, &q.Until}} {
				if one.text == "" {
					return usageError{errors.New("say of which time: --since and --until take a day, a time or an age")}
				}
				var err error
				if *one.at, err = operator.Moment(one.text, time.Now()); err != nil {
					return usageError{fmt.Errorf("%s: %w", one.flag, err)}
				}
			}
			if err := q.Check(); err != nil {
				return usageError{err}
			}
			return reading(cmd, func(ctx context.Context, c reeve.Config, store store.Store) error {
				e := &evidence{Since: q.Since.UTC(), Until: q.Until.UTC(), Made: time.Now().UTC(), Version: reeve.Version()}
				if err := e.write(ctx, c, store, q, a[0]); err != nil {
					return err
				}
				if wantsJSON(cmd) {
					return printJSON(cmd.OutOrStdout(), e)
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %s, each with its proof\n", a[0], words.Count(e.Decisions, "record"))
				return nil
			})
		},
	}
	c.Flags().StringVar(&since, "since", "", "from this day, time or age on")
	c.Flags().StringVar(&until, "until", "", "before this day, time or age; a day that is not over yet has no whole evidence")
	return jsonFlag(ledgerFlags(c))
}

// evidence sums up an archive, for its page.
type evidence struct {
	Since, Until, Made time.Time
	Version            string
	Decisions          int
	Unknown            int // of them those of which it is not kept who asked
	Logs               []*evidenceLog
	Effects            map[string]int
	Doors              map[string]int
	Rules              map[string]int
	Policies           []string
	Approvals          int
}

// evidenceLog is one log of it.
type evidenceLog struct {
	Log        uint32
	Key        string
	First      uint64
	Last       uint64
	Pruned     uint64
	Anchors    int
	Checkpoint string
}

// write makes the archive under another name, so that a file of this name is whole.
func (e *evidence) write(ctx context.Context, c reeve.Config, store store.Store, q ledger.Query, file string) (err error) {
	if _, err := os.Lstat(file); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s is there already; evidence overwrites nothing", file)
	}
	part, err := os.CreateTemp(filepath.Dir(file), ".evidence-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, part.Close(), os.Remove(part.Name()))
		}
	}()
	out := bufio.NewWriter(part)
	z := zip.NewWriter(out)
	if err := e.fill(ctx, c, store, q, z); err != nil {
		return err
	}
	if err := errors.Join(z.Close(), out.Flush(), part.Sync(), part.Close()); err != nil {
		return err
	}
	return os.Rename(part.Name(), file)
}

func (e *evidence) fill(ctx context.Context, c reeve.Config, store store.Store, q ledger.Query, z *zip.Writer) error {
	var lines, held bytes.Buffer
	e.Effects, e.Doors, e.Rules = map[string]int{}, map[string]int{}, map[string]int{}
	logs, policies := map[uint32]*evidenceLog{}, map[string]bool{}
	for {
		a, err := ledger.Search(ctx, store, q)
		if err != nil {
			return err
		}
		for i := range a.Lines {
			if err := e.add(ctx, store, z, &a.Lines[i], &lines, &held, logs, policies); err != nil {
				return err
			}
		}
		if q.Cursor = a.Next; q.Cursor == "" {
			break
		}
	}
	put := func(name string, text []byte) error {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	}
	if err := errors.Join(put(evidenceLines, lines.Bytes()), put(evidenceApprovals, held.Bytes())); err != nil {
		return err
	}
	var keys strings.Builder
	for _, log := range slices.Sorted(maps.Keys(logs)) {
		l := logs[log]
		e.Logs = append(e.Logs, l)
		var err error
		if l.Key, err = c.LedgerKey(log); err != nil {
			return err
		}
		fmt.Fprintf(&keys, "%s\n", l.Key)
		head, err := store.Head(ctx, log)
		if err != nil {
			return err
		}
		anchors, err := store.Anchors(ctx, log)
		if err != nil {
			return err
		}
		l.Pruned, l.Anchors, l.Checkpoint = head.Pruned, len(anchors), string(head.Checkpoint)
		text := bytes.Clone(head.Checkpoint)
		for _, a := range anchors {
			text = append(append(text, '\n'), a.Checkpoint...)
		}
		if err := put(fmt.Sprintf("checkpoints/%d.txt", log), text); err != nil {
			return err
		}
	}
	for _, hash := range slices.Sorted(maps.Keys(policies)) {
		text, err := store.Policy(ctx, hash)
		if errors.Is(err, ledger.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		e.Policies = append(e.Policies, hash)
		if err := put("policies/"+strings.ReplaceAll(hash, ":", "-")+".yaml", text); err != nil {
			return err
		}
	}
	var page bytes.Buffer
	if err := evidenceTemplate.Execute(&page, e); err != nil {
		return err
	}
	return errors.Join(put(evidenceKeys, []byte(keys.String())), put(evidencePage, page.Bytes()))
}

// add puts one record with its proof into the archive.
func (e *evidence) add(ctx context.Context, store ledger.Reader, z *zip.Writer, l *ledger.Line, lines, held *bytes.Buffer, logs map[uint32]*evidenceLog, policies map[string]bool) error {
	pos := l.Position()
	text, err := json.Marshal(l, json.Deterministic(true))
	if err != nil {
		return err
	}
	lines.Write(append(text, '\n'))
	if l.Approval != "" || strings.Contains(l.Kind, "approval") {
		held.Write(append(text, '\n'))
		e.Approvals++
	}
	tree := ledger.NewTree(store, pos.Log)
	// With who asked, where that is kept: the proof is of it, too.
	receipt, err := tree.MakeReceipt(ctx, pos.Index, ledger.Principal, ledger.Links)
	if errors.Is(err, ledger.ErrNotFound) {
		e.Unknown++
		receipt, err = tree.MakeReceipt(ctx, pos.Index)
	}
	if err != nil {
		return err
	}
	w, err := z.Create(receiptName(pos))
	if err != nil {
		return err
	}
	if _, err := w.Write(receipt); err != nil {
		return err
	}
	one := logs[pos.Log]
	if one == nil {
		one = &evidenceLog{Log: pos.Log, First: pos.Index}
		logs[pos.Log] = one
	}
	one.Last = pos.Index
	e.Decisions++
	e.Effects[cmp.Or(l.Effect, "(administrative)")]++
	e.Doors[l.Door]++
	for _, r := range l.Rules {
		e.Rules[r]++
	}
	if l.Policy != "" {
		policies[l.Policy] = true
	}
	return nil
}

func receiptName(pos act.Position) string {
	return fmt.Sprintf("receipts/%d/%d.tlog-proof", pos.Log, pos.Index)
}

//go:embed evidence.html
var evidenceHTML string

var evidenceTemplate = template.Must(template.New("evidence").Funcs(template.FuncMap{"harmless": printable}).Parse(evidenceHTML))

// maxReceipt bounds what is read of one file of an archive; maxLines its longest line.
const maxReceipt = 64 << 20

// verifyEvidence checks an archive with nothing but a log's public key.
func verifyEvidence(file, key string, w io.Writer) error {
	if key == "" {
		return usageError{errors.New("--evidence needs --key, the log's public key, got by another way than the archive")}
	}
	z, err := zip.OpenReader(file)
	if err != nil {
		return fmt.Errorf("%s is no archive of evidence: %w", file, err)
	}
	defer z.Close()
	read := func(name string) ([]byte, error) {
		f, err := z.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return io.ReadAll(io.LimitReader(f, maxReceipt))
	}
	f, err := z.Open(evidenceLines)
	if err != nil {
		return fmt.Errorf("%s is no archive of evidence: %w", file, err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, maxReceipt)
	next, checked, others, problems := map[uint32]uint64{}, 0, 0, 0
	wrong := func(format string, args ...any) {
		problems++
		fmt.Fprintf(w, "  "+format+"\n", args...)
	}
	for in.Scan() {
		var l ledger.Line
		if err := json.Unmarshal(in.Bytes(), &l); err != nil {
			wrong("a line of %s cannot be read", evidenceLines)
			continue
		}
		pos := l.Position()
		if at, begun := next[pos.Log]; begun && at != pos.Index {
			wrong("records %s to %s are missing", act.Position{Log: pos.Log, Index: at}, act.Position{Log: pos.Log, Index: max(pos.Index, 1) - 1})
		}
		next[pos.Log] = pos.Index + 1
		receipt, err := read(receiptName(pos))
		if err != nil {
			wrong("%s has no proof", pos)
			continue
		}
		r, err := ledger.VerifyReceipt(receipt, key)
		if err != nil {
			if _, _, same := strings.Cut(key, fmt.Sprintf("/%d+", pos.Log)); !same {
				others++ // another log, with a key of its own
				continue
			}
			wrong("the proof of %s does not hold: %v", pos, err)
			continue
		}
		if told := ledger.LineOf(&r); !sameLine(&told, &l) {
			wrong("%s is told otherwise than its proof says", pos)
		}
		checked++
	}
	if err := in.Err(); err != nil {
		return err
	}
	switch {
	case problems > 0:
		return fmt.Errorf("the evidence does not hold: %s", words.Count(problems, "problem"))
	case checked == 0:
		return errors.New("the evidence has no record of the log whose key this is")
	}
	fmt.Fprintf(w, "the evidence holds: %s, each proved, none missing between the first and the last\n", words.Count(checked, "record"))
	if others > 0 {
		fmt.Fprintf(w, "  %s of other logs were not checked: give their keys, one at a time\n", words.Count(others, "record"))
	}
	return nil
}

func sameLine(a, b *ledger.Line) bool {
	x, err := json.Marshal(a, json.Deterministic(true))
	y, err2 := json.Marshal(b, json.Deterministic(true))
	return err == nil && err2 == nil && bytes.Equal(x, y)
}
