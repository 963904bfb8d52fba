package hazard

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/rawjson"
	shares "reeve.example/reeve/internal/words"
)

// Denied is the score from which a call counts as found, as by default a policy
// denies it.
const Denied = 0.8

// maxLine is the longest line of a corpus that Evaluate reads, in bytes.
const maxLine = 16 << 20

// Report is how well a corpus was told apart.
type Report struct {
	// Rows holds each category, in the order of their names, and last the whole
	// corpus, named "all".
	Rows []ReportRow
}

// ReportRow is one category of a corpus. A rate or ratio of which the corpus
// says nothing (the recall without malicious calls, say) is -1.
type ReportRow struct {
	Category          string
	Malicious, Benign int
	Found, Wrong      int // of the malicious and of the benign ones, those that score at least Denied
	Precision         float64
	Recall            float64
	FalsePositiveRate float64
	// AUC is the chance that a malicious call scores higher than a benign one,
	// ties counted half. A category without benign calls is compared with all
	// benign calls of the corpus, and the other way round.
	AUC float64
}

// Row returns a category's row; ok is false if the corpus has none of that name.
func (r Report) Row(category string) (row ReportRow, ok bool) {
	for _, row := range r.Rows {
		if row.Category == category {
			return row, true
		}
	}
	return ReportRow{}, false
}

// String gives the report as a table, with intervals of 95 %.
func (r Report) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "category\tmalicious\tbenign\tprecision\trecall\tfalse positives\tAUC")
	all, _ := r.Row("all") // what a category without one of both is compared with
	for _, row := range r.Rows {
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s\t%s\t%s\n", row.Category, row.Malicious, row.Benign,
			ratio(row.Precision), shares.Share(row.Found, row.Malicious), shares.Share(row.Wrong, row.Benign), shares.AUC(row.AUC, cmp.Or(row.Malicious, all.Malicious), cmp.Or(row.Benign, all.Benign)))
	}
	w.Flush()
	return b.String()
}

func ratio(f float64) string {
	if f < 0 {
		return "-"
	}
	return strconv.FormatFloat(f, 'f', 4, 64)
}

// scores counts calls by their score, in steps of a ten-thousandth: however
// large a corpus is, a category needs the same memory.
type scores [10001]uint32

// tally is what is known of one category.
type tally struct {
	malicious, benign scores
}

// maxCategories bounds the categories of a corpus.
const maxCategories = 1000

// Evaluate scores a corpus: JSON lines such as
//
//	{"label":"malicious","category":"reverse_shell","tool":"execute_command","arguments":{"command":"…"}}
//
// with a label of "malicious" or "benign"; other members are left alone. The
// corpus is read line by line and may be of any size. A line that is not of that
// form is an error with its number.
func Evaluate(r io.Reader) (Report, error) {
	categories := map[string]*tally{}
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 0, 64<<10), maxLine)
	n := 0
	for in.Scan() {
		n++
		line := bytes.TrimSpace(in.Bytes())
		if len(line) == 0 {
			continue
		}
		c, err := readSample(bytes.Clone(line))
		if err != nil {
			return Report{}, fmt.Errorf("line %d: %w", n, err)
		}
		t := categories[c.category]
		if t == nil {
			if len(categories) >= maxCategories {
				return Report{}, fmt.Errorf("line %d: more than %d categories", n, maxCategories)
			}
			t = &tally{}
			categories[c.category] = t
		}
		step := int(c.score*10000 + 0.5)
		if c.malicious {
			t.malicious[step]++
		} else {
			t.benign[step]++
		}
	}
	if err := in.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("longer than %d bytes", maxLine)
		}
		return Report{}, fmt.Errorf("line %d: %w", n+1, err)
	}
	return newReport(categories), nil
}

// sample is one line of a corpus, judged.
type sample struct {
	category  string
	malicious bool
	score     float64
}

func readSample(line []byte) (sample, error) {
	s, _, err := judgeSample(line)
	return s, err
}

// judgeSample reads and judges one line of a corpus.
func judgeSample(line []byte) (sample, Assessment, error) {
	doc, err := rawjson.Parse(line)
	if err != nil {
		return sample{}, Assessment{}, err
	}
	root := doc.Root()
	if root.Kind() != rawjson.Object {
		return sample{}, Assessment{}, errors.New("not an object")
	}
	var s sample
	switch label := root.Get("label").Text(); label {
	case "malicious":
		s.malicious = true
	case "benign":
	default:
		return sample{}, Assessment{}, fmt.Errorf("label is %q: want malicious or benign", label)
	}
	if s.category = root.Get("category").Text(); s.category == "" || s.category == "all" {
		return sample{}, Assessment{}, errors.New(`category must be a text, and not "all"`)
	}
	tool := root.Get("tool")
	if tool.Kind() != rawjson.String {
		return sample{}, Assessment{}, errors.New("tool must be a text")
	}
	arguments := root.Get("arguments")
	if arguments.Kind() != rawjson.Object {
		return sample{}, Assessment{}, errors.New("arguments must be an object")
	}
	name, _ := canon.Name(tool.Text())
	var leaves []act.Leaf
	for arg, v := range arguments.Members() {
		leaves = appendLeaves(leaves, v, act.Leaf{Arg: arg, Pointer: "/arguments/" + rawjson.EscapePointer(arg)})
	}
	a := Assess(name, leaves)
	s.score = a.Score
	return s, a, nil
}

// appendLeaves appends every text at or below a value.
func appendLeaves(leaves []act.Leaf, v rawjson.Value, at act.Leaf) []act.Leaf {
	base := at.Pointer
	switch v.Kind() {
	case rawjson.String:
		at.Text = v.Text()
		leaves = append(leaves, at)
	case rawjson.Array:
		for i, e := range v.Elems() {
			at.Pointer = base + "/" + strconv.Itoa(i)
			leaves = appendLeaves(leaves, e, at)
		}
	case rawjson.Object:
		for name, m := range v.Members() {
			at.Pointer = base + "/" + rawjson.EscapePointer(name)
			leaves = appendLeaves(leaves, m, at)
		}
	}
	return leaves
}

func newReport(categories map[string]*tally) Report {
	var all tally
	for _, t := range categories {
		for i := range t.malicious {
			all.malicious[i] += t.malicious[i]
			all.benign[i] += t.benign[i]
		}
	}
	var r Report
	for name, t := range categories {
		r.Rows = append(r.Rows, newRow(name, t, &all))
	}
	slices.SortFunc(r.Rows, func(a, b ReportRow) int { return cmp.Compare(a.Category, b.Category) })
	r.Rows = append(r.Rows, newRow("all", &all, &all))
	return r
}

func newRow(name string, t, all *tally) ReportRow {
	bad, found := t.malicious.count(), t.malicious.from(Denied)
	good, wrong := t.benign.count(), t.benign.from(Denied)
	row := ReportRow{Category: name, Malicious: int(bad), Benign: int(good), Found: int(found), Wrong: int(wrong), Precision: -1, Recall: -1, FalsePositiveRate: -1}
	if found+wrong > 0 {
		row.Precision = float64(found) / float64(found+wrong)
	}
	if bad > 0 {
		row.Recall = float64(found) / float64(bad)
	}
	if good > 0 {
		row.FalsePositiveRate = float64(wrong) / float64(good)
	}
	malicious, benign := &t.malicious, &t.benign
	if bad == 0 {
		malicious = &all.malicious
	}
	if good == 0 {
		benign = &all.benign
	}
	row.AUC = auc(malicious, benign)
	return row
}

func (s *scores) count() (n uint64) {
	for _, c := range s {
		n += uint64(c)
	}
	return n
}

func (s *scores) from(score float64) (n uint64) {
	for _, c := range s[int(score*10000+0.5):] {
		n += uint64(c)
	}
	return n
}

func auc(malicious, benign *scores) float64 {
	bad, good := malicious.count(), benign.count()
	if bad == 0 || good == 0 {
		return -1
	}
	var below, wins float64
	for i := range malicious {
		wins += float64(malicious[i]) * (below + float64(benign[i])/2)
		below += float64(benign[i])
	}
	return wins / float64(bad) / float64(good)
}
