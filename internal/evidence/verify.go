package evidence

import (
	"archive/zip"
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/visible"
	"reeve.example/reeve/internal/words"

	"github.com/go-json-experiment/json"
)

// maxMember bounds what is read of one file of an archive, or of one of its lines.
const maxMember = 64 << 20

// check checks an archive with nothing but a log's public key.
type check struct {
	files map[string]*zip.File
	key   string
	out   io.Writer

	span     span
	told     map[string]bool // files that something speaks of
	policies map[string]int  // records by the policy that they name
	held     hash.Hash       // of what approvals.jsonl must say: it may be long
	checked  int             // records of the key's log
	others   int             // of other logs
	problems int
}

// ErrKey: there is no key to check with.
var ErrKey = errors.New("evidence is checked with the log's public key, got by another way than the archive")

// Verify checks an archive with one log's public key, and says what does not hold.
func Verify(file, key string, w io.Writer) error {
	if key == "" {
		return ErrKey
	}
	archive, err := os.Open(file)
	if err != nil {
		return err
	}
	defer archive.Close()
	info, err := archive.Stat()
	if err != nil {
		return err
	}
	z, err := zip.NewReader(archive, info.Size())
	if err != nil {
		return fmt.Errorf("%s is no archive of evidence: %w", file, err)
	}
	e := &check{files: map[string]*zip.File{}, key: key, out: w, told: map[string]bool{manifestName: true}, policies: map[string]int{}, held: sha256.New()}
	if err := onlyFiles(archive, info.Size(), z.File); err != nil {
		e.wrong("%v", err)
	}
	for _, f := range z.File {
		if e.files[f.Name] != nil {
			e.wrong("%s is in it twice", f.Name) // readers would differ in which one they take
		}
		e.files[f.Name] = f
	}
	if e.files[linesName] == nil {
		return fmt.Errorf("%s is no archive of evidence: it has no %s", file, linesName)
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

func (e *check) wrong(format string, args ...any) {
	e.problems++ // names in the archive are whoever's who made it
	fmt.Fprintf(e.out, "  %s\n", visible.Line(fmt.Sprintf(format, args...)))
}

func (e *check) read(name string) ([]byte, error) {
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
func (e *check) sum(name string) (string, error) {
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
func (e *check) records() error {
	f, err := e.files[linesName].Open()
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
			e.wrong("a line of %s cannot be read", linesName)
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

func (e *check) proof(l *ledger.Line, pos act.Position) {
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
	told := ledger.LineOf(&r)
	if l.Note == "" { // archives of older programs have no notes
		told.Note = ""
	}
	if !sameLine(&told, l) {
		e.wrong("%s is told otherwise than its proof says", pos)
	}
	e.checked++
}

// manifest checks what the key has signed: of which time the archive is, and its files.
func (e *check) manifest() {
	signed, err := e.read(manifestName)
	if err != nil {
		e.wrong("it has no %s, which says of which time it is and what belongs to it", manifestName)
		return
	}
	text, err := ledger.OpenEvidence(signed, e.key)
	if err != nil {
		e.wrong("%s does not hold: %v", manifestName, err)
		return
	}
	var sums map[string]string
	if e.span, sums, err = parseManifest(text); err != nil {
		e.wrong("%s does not hold: %v", manifestName, err)
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
func (e *check) texts() {
	if sum, err := e.sum(approvalsName); err != nil || sum != hex.EncodeToString(e.held.Sum(nil)) {
		e.wrong("%s does not say what %s says of what people were asked", approvalsName, linesName)
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

// span is the time that an archive is of, and when it was made.
type span struct{ since, until, made time.Time }

func (s span) text() string {
	return fmt.Sprintf("since %s\nuntil %s\nmade %s\n", s.since.Format(time.RFC3339Nano), s.until.Format(time.RFC3339Nano), s.made.Format(time.RFC3339Nano))
}

// parseManifest reads the manifest's lines: the span, then sums by name.
func parseManifest(text string) (of span, sums map[string]string, err error) {
	sums = map[string]string{}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	times := []*time.Time{&of.since, &of.until, &of.made}
	for i, line := range lines {
		if i >= len(times) {
			sum, name, ok := strings.Cut(line, "  ")
			if !ok || sums[name] != "" {
				return of, nil, fmt.Errorf("its line %d cannot be read", i+2)
			}
			sums[name] = sum
			continue
		}
		word, at, _ := strings.Cut(line, " ")
		if *times[i], err = time.Parse(time.RFC3339Nano, at); err != nil || word != []string{"since", "until", "made"}[i] {
			return of, nil, fmt.Errorf("its line %d is no time", i+2)
		}
	}
	return of, sums, nil
}
