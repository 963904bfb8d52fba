package ledger

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/words"

	"github.com/go-json-experiment/json"
	"golang.org/x/mod/sumdb/tlog"
)

// MaxRecord is the largest record, in bytes: what an entry bundle can hold
// (C2SP tlog-tiles).
const MaxRecord = 1<<16 - 1

// Bounds that keep every record below MaxRecord. A JSON string takes up to six
// times the bytes of its text.
const (
	maxWord = 256       // bytes of one name or code
	maxList = 24 * 1024 // bytes of a list in JSON
)

// Field is one of the five things that a record commits to.
type Field int

// The fields, in the order in which they stand in a record.
const (
	Request   Field = iota // what was asked, whole
	Modified               // what may happen instead
	Principal              // who asked
	Reasons                // why it was decided so
	Links                  // what else it belongs to
	fields
)

var fieldNames = [fields]string{"request", "modified", "principal", "reasons", "links"}

func (f Field) String() string {
	if f < 0 || f >= fields {
		return "field " + strconv.Itoa(int(f))
	}
	return fieldNames[f]
}

// Commitment is an HMAC-SHA256 with a salt of 16 random bytes as its key. The
// zero Commitment means that there is nothing.
type Commitment [sha256.Size]byte

// Record is one entry of a log. It holds no content, only commitments to it,
// and may be shown to anybody.
type Record struct {
	Log   uint32
	Index uint64
	// Time is in UTC, in whole microseconds, and never before the Time of the
	// record before.
	Time time.Time
	// Kind is the act's kind; "admin.…" for an act of the node's operator.
	Kind string
	// Door is the protocol that the act came by.
	Door string
	// Effect is what was decided. Administrative records have none.
	Effect string
	// Observed is what would have been decided if rules that only watch were
	// enforced. Empty where there is no difference.
	Observed string
	// Codes and Rules are the reasons' codes and the names of their rules. Of
	// very long lists the last element tells how many were left out.
	Codes, Rules []string
	// Policy is the content hash of the policy set that decided.
	Policy string
	// Commitments are to the fields of the opening.
	Commitments [fields]Commitment
}

// ID is the record's decision id.
func (r *Record) ID() string { return act.Position{Log: r.Log, Index: r.Index}.String() }

const timeLayout = "2006-01-02T15:04:05.000000Z"

// maxMicro is the last microsecond of the year 9999, the last that a record's
// time can tell.
const maxMicro = 253402300799999999

// appendRecordHead appends a record up to its kind: what only the committer
// knows.
func appendRecordHead(b []byte, pos act.Position, micro int64) []byte {
	b = append(b, `{"v":1,"log":`...)
	b = strconv.AppendUint(b, uint64(pos.Log), 10)
	b = append(b, `,"index":`...)
	b = strconv.AppendUint(b, pos.Index, 10)
	b = append(b, `,"time":"`...)
	b = time.UnixMicro(micro).UTC().AppendFormat(b, timeLayout)
	return append(b, `",`...)
}

// appendRecordTail appends a record from its kind on.
func appendRecordTail(b []byte, r *Record) []byte {
	b = append(b, `"kind":`...)
	b = appendString(b, r.Kind)
	b = appendWord(b, "door", r.Door)
	b = appendWord(b, "effect", r.Effect)
	b = appendWord(b, "would", r.Observed)
	b = appendList(b, "codes", r.Codes)
	b = appendList(b, "rules", r.Rules)
	b = appendWord(b, "policy", r.Policy)
	for f, c := range r.Commitments {
		if c == (Commitment{}) {
			continue
		}
		b = append(b, `,"`...)
		b = append(b, fieldNames[f]...)
		b = append(b, `":"`...)
		b = base64.StdEncoding.AppendEncode(b, c[:])
		b = append(b, '"')
	}
	return append(b, '}')
}

func appendWord(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	b = append(b, `,"`...)
	b = append(b, name...)
	b = append(b, `":`...)
	return appendString(b, value)
}

func appendList(b []byte, name string, list []string) []byte {
	if len(list) == 0 {
		return b
	}
	b = append(b, `,"`...)
	b = append(b, name...)
	b = append(b, `":[`...)
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, s)
	}
	return append(b, ']')
}

const hexDigits = "0123456789abcdef"

// appendString appends a JSON string in the one form that records use: only
// quotes, backslashes and control characters are escaped, the last as \u00xx;
// bytes that are not UTF-8 become U+FFFD.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
			i++
		case c < ' ':
			b = append(b, `\u00`...)
			b = append(b, hexDigits[c>>4], hexDigits[c&15])
			i++
		case c < utf8.RuneSelf:
			b = append(b, c)
			i++
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			b = utf8.AppendRune(b, r)
			i += n
		}
	}
	return append(b, '"')
}

// clip makes a record fit MaxRecord whatever a policy's names are.
func (r *Record) clip() {
	for _, s := range []*string{&r.Kind, &r.Door, &r.Effect, &r.Observed, &r.Policy} {
		*s = clipWord(*s)
	}
	r.Codes, r.Rules = clipList(r.Codes), clipList(r.Rules)
}

// clipWord cuts a string to maxWord bytes, an ellipsis being the mark of it.
func clipWord(s string) string {
	if len(s) <= maxWord {
		return s
	}
	return words.Cut(s, maxWord-len("…")) + "…"
}

// clipList cuts a list to maxList bytes of JSON. The last element then tells
// how many were left out.
func clipList(list []string) []string {
	size, long := 0, false
	for _, s := range list {
		size += 6*min(len(s), maxWord) + 3
		long = long || len(s) > maxWord
	}
	if size <= maxList && !long {
		return list
	}
	var out []string
	size = 0
	for i, s := range list {
		s = clipWord(s)
		if size += 6*len(s) + 3; size > maxList {
			return append(out, fmt.Sprintf("… %d more", len(list)-i))
		}
		out = append(out, s)
	}
	return out
}

// ParseRecord reads a record. It accepts exactly the bytes that reeve writes:
// a record in any other form is refused.
func ParseRecord(data []byte) (Record, error) {
	if len(data) > MaxRecord {
		return Record{}, fmt.Errorf("a record of %d bytes: the limit is %d", len(data), MaxRecord)
	}
	r, ok := scanRecord(string(data))
	if !ok {
		var err error
		if r, err = decodeRecord(data); err != nil {
			return Record{}, err
		}
	}
	again := appendRecordHead(make([]byte, 0, len(data)), act.Position{Log: r.Log, Index: r.Index}, r.Time.UnixMicro())
	if !bytes.Equal(appendRecordTail(again, &r), data) {
		return Record{}, errors.New("it is not in the form that reeve writes")
	}
	return r, nil
}

// decodeRecord reads a record whatever its form, and says what is wrong with what is none.
func decodeRecord(data []byte) (Record, error) {
	var w struct {
		V         int      `json:"v"`
		Log       uint32   `json:"log"`
		Index     uint64   `json:"index"`
		Time      string   `json:"time"`
		Kind      string   `json:"kind"`
		Door      string   `json:"door"`
		Effect    string   `json:"effect"`
		Would     string   `json:"would"`
		Codes     []string `json:"codes"`
		Rules     []string `json:"rules"`
		Policy    string   `json:"policy"`
		Request   []byte   `json:"request"`
		Modified  []byte   `json:"modified"`
		Principal []byte   `json:"principal"`
		Reasons   []byte   `json:"reasons"`
		Links     []byte   `json:"links"`
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return Record{}, fmt.Errorf("it is not a record: %w", err)
	}
	if w.V > 1 {
		return Record{}, fmt.Errorf("it has form %d: a newer version of reeve wrote it", w.V)
	}
	t, err := time.Parse(timeLayout, w.Time)
	if err != nil {
		return Record{}, fmt.Errorf("it is not a record: its time is %q", w.Time)
	}
	r := Record{
		Log: w.Log, Index: w.Index, Time: t, Kind: w.Kind, Door: w.Door, Effect: w.Effect, Observed: w.Would,
		Codes: w.Codes, Rules: w.Rules, Policy: w.Policy,
	}
	for f, b := range [fields][]byte{w.Request, w.Modified, w.Principal, w.Reasons, w.Links} {
		copy(r.Commitments[f][:], b)
	}
	return r, nil
}

// scanRecord reads a record as reeve writes it, without escapes. It takes a fifth of a
// decoder's time, which counts where a million are verified. ok is false for every other; and
// what it reads is held against the bytes afterwards, so that it need not be strict itself.
func scanRecord(text string) (r Record, ok bool) {
	s := recordScan{text}
	if strings.Contains(text, `\`) || !s.skip(`{"v":1,"log":`) {
		return r, false
	}
	r.Log = uint32(s.number())
	s.skip(`,"index":`)
	r.Index = s.number()
	var err error
	if r.Time, err = time.Parse(timeLayout, s.word("time")); err != nil {
		return r, false
	}
	r.Kind, r.Door, r.Effect, r.Observed = s.word("kind"), s.word("door"), s.word("effect"), s.word("would")
	r.Codes, r.Rules = s.list("codes"), s.list("rules")
	r.Policy = s.word("policy")
	for f, name := range fieldNames {
		var sum [(sha256.Size + 2) / 3 * 4]byte
		var decoded [len(sum) / 4 * 3]byte
		if copy(sum[:], s.word(name)) > 0 {
			if n, err := base64.StdEncoding.Decode(decoded[:], sum[:]); n != sha256.Size || err != nil {
				return r, false
			}
			r.Commitments[f] = Commitment(decoded[:sha256.Size])
		}
	}
	return r, s.rest == "}"
}

// recordScan goes through a record. What is not where it should be reads as nothing.
type recordScan struct{ rest string }

func (s *recordScan) skip(text string) (there bool) {
	s.rest, there = strings.CutPrefix(s.rest, text)
	return there
}

func (s *recordScan) number() (n uint64) {
	for s.rest != "" && s.rest[0]-'0' < 10 {
		n, s.rest = n*10+uint64(s.rest[0]-'0'), s.rest[1:]
	}
	return n
}

// member goes to the value of the next member if that has this name.
func (s *recordScan) member(name string) bool {
	if n := len(name) + 4; len(s.rest) > n && s.rest[:2] == `,"` && s.rest[2:n-2] == name && s.rest[n-2:n] == `":` {
		s.rest = s.rest[n:]
		return true
	}
	return false
}

// text reads a string.
func (s *recordScan) text() string {
	if !s.skip(`"`) {
		return ""
	}
	text, rest, _ := strings.Cut(s.rest, `"`)
	s.rest = rest
	return text
}

func (s *recordScan) word(name string) string {
	if !s.member(name) {
		return ""
	}
	return s.text()
}

func (s *recordScan) list(name string) (list []string) {
	if !s.member(name) || !s.skip("[") {
		return nil
	}
	for {
		list = append(list, s.text())
		if !s.skip(",") {
			s.skip("]")
			return list
		}
	}
}

// hashLeaf is RFC 6962's hash of a record, given with a zero byte before it.
func hashLeaf(b []byte) tlog.Hash { return sha256.Sum256(b) }

// ReadRecord returns one record, and its bytes. ErrNotFound when there is none.
func ReadRecord(ctx context.Context, store Reader, pos act.Position) (Record, []byte, error) {
	var data []byte
	err := store.Records(ctx, pos.Log, pos.Index, pos.Index+1, func(index uint64, record []byte) error {
		if index == pos.Index {
			data = bytes.Clone(record)
		}
		return nil
	})
	if err == nil && data == nil {
		err = ErrNotFound
	}
	if err != nil {
		return Record{}, nil, fmt.Errorf("record %s: %w", pos, err)
	}
	r, err := ParseRecord(data)
	if err == nil && (r.Log != pos.Log || r.Index != pos.Index) {
		err = fmt.Errorf("it says that it is %s", r.ID())
	}
	if err != nil {
		return Record{}, nil, fmt.Errorf("record %s is damaged: %w", pos, err)
	}
	return r, data, nil
}
