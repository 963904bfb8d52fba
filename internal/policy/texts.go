package policy

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/words"
)

// TextCount is how well the detectors told one class of labelled texts apart.
type TextCount struct {
	Holding, Found int // texts that hold something, and those in which it was found
	Others, Wrong  int // texts that hold nothing, and those in which something was found
}

// TextReport is what came of labelled texts, by class.
type TextReport map[string]*TextCount

// maxTextLine is the longest line of labelled texts, in bytes, and maxTextClasses how many
// classes there can be.
const (
	maxTextLine    = 16 << 20
	maxTextClasses = 10_000
)

// MeasureTexts runs the detectors over labelled texts: JSON lines with the members class,
// detect (the name of a detector), text, and holds. What weighs less than least does not
// count.
func (s *Set) MeasureTexts(r io.Reader, least float64) (TextReport, error) {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 0, 64<<10), maxTextLine)
	report := TextReport{}
	n := 0
	for in.Scan() {
		n++
		line := bytes.TrimSpace(in.Bytes())
		if len(line) == 0 {
			continue
		}
		if err := s.measureText(report, bytes.Clone(line), least); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n+1, err)
	}
	return report, nil
}

func (s *Set) measureText(report TextReport, line []byte, least float64) error {
	doc, err := rawjson.Parse(line)
	if err != nil {
		return err
	}
	root := doc.Root()
	detect, text, holds := root.Get("detect"), root.Get("text"), root.Get("holds")
	if detect.Kind() != rawjson.String || text.Kind() != rawjson.String || holds.Kind() != rawjson.Bool {
		return errors.New(`a line is {"class": "…", "detect": "NAME", "text": "…", "holds": true or false}`)
	}
	bits, ok := s.detectorOf(detect.Text())
	if !ok {
		return fmt.Errorf("there is no detector %q", detect.Text())
	}
	class := root.Get("class").Text()
	c := report[class]
	if c == nil {
		if len(report) == maxTextClasses {
			return fmt.Errorf("more than %d classes", maxTextClasses)
		}
		c = new(TextCount)
		report[class] = c
	}
	found := false
	for _, f := range s.detectors.Scan(text.Text(), bits, nil) {
		found = found || f.Score >= least
	}
	if string(holds.Raw()) == "true" {
		c.Holding++
		if found {
			c.Found++
		}
		return nil
	}
	c.Others++
	if found {
		c.Wrong++
	}
	return nil
}

// String gives the report as a table, with intervals of 95 %.
func (r TextReport) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CLASS\tHOLDING\tFOUND\tOTHERS\tWRONG")
	var all TextCount
	row := func(name string, c *TextCount) {
		fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%s\n", cmp.Or(name, "-"), c.Holding, words.Share(c.Found, c.Holding), c.Others, words.Share(c.Wrong, c.Others))
	}
	for _, name := range slices.Sorted(maps.Keys(r)) {
		c := r[name]
		row(name, c)
		all.Holding, all.Found, all.Others, all.Wrong = all.Holding+c.Holding, all.Found+c.Found, all.Others+c.Others, all.Wrong+c.Wrong
	}
	row("all", &all)
	w.Flush()
	return b.String()
}
