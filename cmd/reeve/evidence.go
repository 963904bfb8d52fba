package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
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
	evidenceManifest  = "manifest.txt"
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
page for people. Contents are not in it. Each proof holds against the log's public key alone, and
the same key signs what else is in the archive: 'reeve ledger verify --evidence FILE --key KEY'
checks all of it offline, and so does docs/verify_ledger.py. Give the key by another way than the
archive.`,
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
				if e.Made.Before(e.Until) {
					fmt.Fprintln(cmd.OutOrStdout(), "The time is not over: what is decided from now on is not in it.")
				}
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
	Former     uint64 // records of it that another key signed, which was lost
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
	z := &archive{zip: zip.NewWriter(out)}
	if err := e.fill(ctx, c, store, q, z); err != nil {
		return err
	}
	if err := errors.Join(z.zip.Close(), out.Flush(), part.Sync(), part.Close()); err != nil {
		return err
	}
	return os.Rename(part.Name(), file)
}

// archive is a ZIP archive that is written, with the sums of its files as the manifest has
// them.
type archive struct {
	zip  *zip.Writer
	sums strings.Builder
}

// put writes one file. A proof needs no sum.
func (z *archive) put(name string, text []byte, sum bool) error {
	if sum {
		fmt.Fprintf(&z.sums, "%x  %s\n", sha256.Sum256(text), name)
	}
	w, err := z.zip.Create(name)
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

func (e *evidence) fill(ctx context.Context, c reeve.Config, store store.Store, q ledger.Query, z *archive) error {
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
	if err := errors.Join(z.put(evidenceLines, lines.Bytes(), true), z.put(evidenceApprovals, held.Bytes(), true)); err != nil {
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
		l.Pruned, l.Checkpoint = head.Pruned, string(head.Checkpoint)
		text := bytes.Clone(head.Checkpoint)
		for _, a := range anchors {
			if a.Place == ledger.FormerPlace {
				l.Former = max(l.Former, a.Size)
			} else {
				l.Anchors++
			}
			text = append(append(text, '\n'), a.Checkpoint...)
		}
		if err := z.put(fmt.Sprintf("checkpoints/%d.txt", log), text, true); err != nil {
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
		if err := z.put(policyName(hash), text, true); err != nil {
			return err
		}
	}
	var page bytes.Buffer
	if err := evidenceTemplate.Execute(&page, e); err != nil {
		return err
	}
	if err := errors.Join(z.put(evidenceKeys, []byte(keys.String()), true), z.put(evidencePage, page.Bytes(), true)); err != nil {
		return err
	}
	if len(logs) == 0 {
		return nil // nothing was decided, and no log's key says so
	}
	span := evidenceSpan{e.Since, e.Until, e.Made}
	manifest, err := c.SignEvidence(slices.Sorted(maps.Keys(logs)), span.text()+z.sums.String())
	if err != nil {
		return err
	}
	return z.put(evidenceManifest, manifest, false)
}

// evidenceSpan is the time that an archive is of, and when it was made.
type evidenceSpan struct{ since, until, made time.Time }

func (s evidenceSpan) text() string {
	return fmt.Sprintf("since %s\nuntil %s\nmade %s\n", s.since.Format(time.RFC3339Nano), s.until.Format(time.RFC3339Nano), s.made.Format(time.RFC3339Nano))
}

// parseManifest reads the manifest's lines: the span, then sums by name.
func parseManifest(text string) (span evidenceSpan, sums map[string]string, err error) {
	sums = map[string]string{}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	times := []*time.Time{&span.since, &span.until, &span.made}
	for i, line := range lines {
		if i >= len(times) {
			sum, name, ok := strings.Cut(line, "  ")
			if !ok || sums[name] != "" {
				return span, nil, fmt.Errorf("its line %d cannot be read", i+2)
			}
			sums[name] = sum
			continue
		}
		word, at, _ := strings.Cut(line, " ")
		if *times[i], err = time.Parse(time.RFC3339Nano, at); err != nil || word != []string{"since", "until", "made"}[i] {
			return span, nil, fmt.Errorf("its line %d is no time", i+2)
		}
	}
	return span, sums, nil
}

// policyName is the name of a policy's text in an archive.
func policyName(hash string) string {
	return "policies/" + strings.ReplaceAll(hash, ":", "-") + ".yaml"
}

// toldOfPeople says whether a line is of an act that people were asked about, or of their answer.
func toldOfPeople(l *ledger.Line) bool {
	return l.Approval != "" || strings.Contains(l.Kind, "approval")
}

// add puts one record with its proof into the archive.
func (e *evidence) add(ctx context.Context, store ledger.Reader, z *archive, l *ledger.Line, lines, held *bytes.Buffer, logs map[uint32]*evidenceLog, policies map[string]bool) error {
	pos := l.Position()
	text, err := json.Marshal(l, json.Deterministic(true))
	if err != nil {
		return err
	}
	lines.Write(append(text, '\n'))
	if toldOfPeople(l) {
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
	if err := z.put(receiptName(pos), receipt, false); err != nil {
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

// maxMember bounds what is read of one file of an archive, or of one of its lines.
const maxMember = 64 << 20

// evidenceCheck checks an archive with nothing but a log's public key.
type evidenceCheck struct {
	files map[string]*zip.File
	key   string
	out   io.Writer

	span     evidenceSpan
	told     map[string]bool // files that something speaks of
	policies map[string]int  // records by the policy that they name
	held     hash.Hash       // of what approvals.jsonl must say: it may be long
	checked  int             // records of the key's log
	others   int             // of other logs
	problems int
}

// verifyEvidence checks an archive, and says what does not hold.
func verifyEvidence(file, key string, w io.Writer) error {
	if key == "" {
		return usageError{errors.New("--evidence needs --key, the log's public key, got by another way than the archive")}
	}
	z, err := zip.OpenReader(file)
	if err != nil {
		return fmt.Errorf("%s is no archive of evidence: %w", file, err)
	}
	defer z.Close()
	e := &evidenceCheck{files: map[string]*zip.File{}, key: key, out: w, told: map[string]bool{evidenceManifest: true}, policies: map[string]int{}, held: sha256.New()}
	for _, f := range z.File {
		if e.files[f.Name] != nil {
			e.wrong("%s is in it twice", f.Name) // readers would differ in which one they take
		}
		e.files[f.Name] = f
	}
	if e.files[evidenceLines] == nil {
		return fmt.Errorf("%s is no archive of evidence: it has no %s", file, evidenceLines)
	}
	if err := e.records(); err != nil {
		return err
	}
	if e.checked == 0 && e.problems == 0 {
		return errors.New("the evidence has no record of the log whose key this is")
	}
	e.manifest()
	e.texts()
	for _, name := range slices.Sorted(maps.Keys(e.files)) {
		if !e.told[name] {
			e.wrong("%s is no part of it", name)
		}
	}
	if e.problems > 0 {
		return fmt.Errorf("the evidence does not hold: %s", words.Count(e.problems, "problem"))
	}
	fmt.Fprintf(w, "the evidence holds: %s, each proved, none missing between the first and the last\n", words.Count(e.checked, "record"))
	fmt.Fprintf(w, "  of the time from %s until %s\n", e.span.since.Format(time.RFC3339), e.span.until.Format(time.RFC3339))
	if e.span.made.Before(e.span.until) {
		fmt.Fprintf(w, "  that was not over when it was made: nothing decided after %s is in it\n", e.span.made.Format(time.RFC3339))
	}
	if e.others > 0 {
		fmt.Fprintf(w, "  the proofs of %s of other logs were not checked: give their keys, one at a time\n", words.Count(e.others, "record"))
	}
	return nil
}

func (e *evidenceCheck) wrong(format string, args ...any) {
	e.problems++ // names in the archive are whoever's who made it
	fmt.Fprintf(e.out, "  %s\n", printable(fmt.Sprintf(format, args...)))
}

func (e *evidenceCheck) read(name string) ([]byte, error) {
	f := e.files[name]
	if f == nil {
		return nil, os.ErrNotExist
	}
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, maxMember))
}

// sum is the SHA-256 of a file, which may be of any length.
func (e *evidenceCheck) sum(name string) (string, error) {
	f := e.files[name]
	if f == nil {
		return "", os.ErrNotExist
	}
	r, err := f.Open()
	if err != nil {
		return "", err
	}
	defer r.Close()
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// records checks the proof of each line, and that each line says what is proved.
func (e *evidenceCheck) records() error {
	f, err := e.files[evidenceLines].Open()
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, maxMember)
	next := map[uint32]uint64{}
	for in.Scan() {
		var l ledger.Line
		if err := json.Unmarshal(in.Bytes(), &l); err != nil {
			e.wrong("a line of %s cannot be read", evidenceLines)
			continue
		}
		if toldOfPeople(&l) {
			e.held.Write(in.Bytes())
			e.held.Write([]byte{'\n'})
		}
		if l.Policy != "" {
			e.policies[l.Policy]++
		}
		pos := l.Position()
		if at, begun := next[pos.Log]; begun && at != pos.Index {
			e.wrong("records %s to %s are missing", act.Position{Log: pos.Log, Index: at}, act.Position{Log: pos.Log, Index: max(pos.Index, 1) - 1})
		}
		next[pos.Log] = pos.Index + 1
		e.told[receiptName(pos)] = true
		e.proof(&l, pos)
	}
	return in.Err()
}

func (e *evidenceCheck) proof(l *ledger.Line, pos act.Position) {
	receipt, err := e.read(receiptName(pos))
	if err != nil {
		e.wrong("%s has no proof", pos)
		return
	}
	r, err := ledger.VerifyReceipt(receipt, e.key)
	if err != nil {
		if _, _, same := strings.Cut(e.key, fmt.Sprintf("/%d+", pos.Log)); !same {
			e.others++ // another log, with a key of its own
			return
		}
		e.wrong("the proof of %s does not hold: %v", pos, err)
		return
	}
	if told := ledger.LineOf(&r); !sameLine(&told, l) {
		e.wrong("%s is told otherwise than its proof says", pos)
	}
	e.checked++
}

// manifest checks what the key has signed: of which time the archive is, and its files.
func (e *evidenceCheck) manifest() {
	signed, err := e.read(evidenceManifest)
	if err != nil {
		e.wrong("it has no %s, which says of which time it is and what belongs to it", evidenceManifest)
		return
	}
	text, err := ledger.OpenEvidence(signed, e.key)
	if err != nil {
		e.wrong("%s does not hold: %v", evidenceManifest, err)
		return
	}
	var sums map[string]string
	if e.span, sums, err = parseManifest(text); err != nil {
		e.wrong("%s does not hold: %v", evidenceManifest, err)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		e.told[name] = true
		switch sum, err := e.sum(name); {
		case errors.Is(err, os.ErrNotExist):
			e.wrong("%s is missing", name)
		case err != nil || sum != sums[name]:
			e.wrong("%s was changed", name)
		}
	}
}

// texts checks what follows from the records, whoever signed it: what is told of people's
// answers, and the policies that decided.
func (e *evidenceCheck) texts() {
	if sum, err := e.sum(evidenceApprovals); err != nil || sum != hex.EncodeToString(e.held.Sum(nil)) {
		e.wrong("%s does not say what %s says of what people were asked", evidenceApprovals, evidenceLines)
	}
	for _, hash := range slices.Sorted(maps.Keys(e.policies)) {
		text, err := e.read(policyName(hash))
		switch {
		case err != nil:
			e.wrong("the text of the policy %s is missing, by which %s was decided", hash, words.Count(e.policies[hash], "record"))
		case fmt.Sprintf("sha256:%x", sha256.Sum256(text)) != hash:
			e.wrong("the text of the policy %s is another", hash)
		}
	}
}

func sameLine(a, b *ledger.Line) bool {
	x, err := json.Marshal(a, json.Deterministic(true))
	y, err2 := json.Marshal(b, json.Deterministic(true))
	return err == nil && err2 == nil && bytes.Equal(x, y)
}
