// Package risk finds in text what should not pass unseen: secrets, personal
// data, hidden characters, and instructions aimed at a model. Detectors are
// named in policies; Mask makes the text that may pass.
//
//	found := risk.Scan(text, risk.Secret|risk.Card, nil)
//	for _, f := range found {
//		fmt.Println(f.Name, "at", f.Start)
//	}
//	safe := risk.Mask(text, found)
//
// Detectors know forms, not meanings: they are a net, not a wall. All of them
// read a text once, byte by byte, and look closer only where a byte or the
// beginning of a word could start a finding. Each closer look is bounded, so
// that the whole costs time in proportion to the text, also to hostile text.
package risk

import (
	"math/bits"
	"slices"
	"strings"
)

// Detector is a set of detectors.
type Detector uint32

// The detectors.
const (
	Secret    Detector = 1 << iota // keys, tokens, passwords, private keys
	Card                           // payment card numbers, by Luhn
	SSN                            // social security numbers of the United States
	IBAN                           // bank account numbers, by their checksum
	Email                          // e-mail addresses
	Phone                          // telephone numbers
	Hidden                         // characters that people do not see
	Injection                      // instructions aimed at a model
)

// All is every detector.
const All = Injection<<1 - 1

var detectorNames = [...]string{"secret", "pii.card", "pii.ssn", "pii.iban", "pii.email", "pii.phone", "hidden", "injection"}

// ParseDetector reads a detector's name: one of secret, pii.card, pii.ssn,
// pii.iban, pii.email, pii.phone, hidden, injection, or the groups pii and all.
func ParseDetector(name string) (Detector, bool) {
	switch name {
	case "all":
		return All, true
	case "pii":
		return Card | SSN | IBAN | Email | Phone, true
	}
	if i := slices.Index(detectorNames[:], name); i >= 0 {
		return 1 << i, true
	}
	return 0, false
}

// String gives the names of the set's detectors, separated by commas.
func (d Detector) String() string {
	var names []string
	for i, n := range detectorNames {
		if d&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	return strings.Join(names, ",")
}

// Finding is something found in a text.
type Finding struct {
	Detector   Detector
	Code       string  // stable, such as "secret.private_key"
	Name       string  // for a person, such as "private key"
	Start, End int     // span in bytes
	Score      float64 // how bad it is, from 0 to 1
}

// Scan appends what the wanted detectors find in a text, ordered by Start.
// Findings of one detector do not overlap.
func Scan(text string, want Detector, dst []Finding) []Finding {
	from := len(dst)
	s := scanner{text: text, want: want, out: dst}
	s.scan()
	if s.hidden > 0 && want&^Hidden != 0 {
		s.scanWithoutHidden(from)
	}
	if len(s.out)-from < 2 {
		return s.out
	}
	return tidy(s.out, from)
}

// tidy orders the findings from an index on, and leaves of those of one
// detector that overlap the one that begins first, or is the longest.
func tidy(all []Finding, from int) []Finding {
	slices.SortStableFunc(all[from:], func(a, b Finding) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		return b.End - a.End
	})
	var ends [len(detectorNames)]int
	kept := all[:from]
	for _, f := range all[from:] {
		i := bits.TrailingZeros32(uint32(f.Detector))
		if f.Start >= ends[i] {
			ends[i] = f.End
			kept = append(kept, f)
		}
	}
	return kept
}

// scanWithoutHidden looks again at the text as a person sees it: hidden
// characters inside a word must not hide the word from the detectors.
func (s *scanner) scanWithoutHidden(from int) {
	var seen strings.Builder
	offsets := make([]int, 0, len(s.text)) // of each byte that is seen
	at := 0
	for _, f := range s.spans {
		for ; at < f[0]; at++ {
			seen.WriteByte(s.text[at])
			offsets = append(offsets, at)
		}
		at = f[1]
	}
	for ; at < len(s.text); at++ {
		seen.WriteByte(s.text[at])
		offsets = append(offsets, at)
	}
	again := scanner{text: seen.String(), want: s.want &^ Hidden}
	again.scan()
	for _, f := range again.out {
		f.Start, f.End = offsets[f.Start], offsets[f.End-1]+1
		s.out = append(s.out, f)
	}
}

// Mask returns the text with each finding replaced by what it was: a card
// number by ****, hidden characters by nothing, others by their name in
// brackets. Findings must be ordered by Start, as Scan gives them; where they
// overlap the first to begin names them all.
func Mask(text string, findings []Finding) string {
	var b strings.Builder
	at := 0
	for i := 0; i < len(findings); {
		f, start, end := findings[i], findings[i].Start, findings[i].End
		for i++; i < len(findings) && findings[i].Start < end; i++ {
			end = max(end, findings[i].End)
			if f.Detector == Hidden { // a word that holds hidden characters is named by what it is
				f = findings[i]
			}
		}
		b.WriteString(text[at:start])
		b.WriteString(placeholder(f))
		at = end
	}
	b.WriteString(text[at:])
	return b.String()
}

// placeholder is what stands in the place of a finding. None of them is a
// finding itself, so masking twice changes nothing.
func placeholder(f Finding) string {
	switch f.Detector {
	case Card:
		return "****"
	case Hidden:
		return ""
	}
	return "[" + f.Name + " removed]"
}
