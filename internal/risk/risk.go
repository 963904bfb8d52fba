// Package risk finds in a text what should not pass unseen: secrets, personal
// data, hidden characters, and instructions aimed at a model. Policies name the
// detectors; Mask makes the text that may pass.
//
//	found := risk.Scan(text, risk.Secret|risk.Card, nil)
//	for _, f := range found {
//		fmt.Println(f.Name, "at byte", f.Start)
//	}
//	safe := risk.Mask(text, found)
//
// Detectors know forms, not meanings: they are a net, not a wall. A pass over
// the bytes finds the places where something could begin (a word of which the
// first letters are known, a number, one of few marks, a character beyond
// ASCII), and a matcher written for it looks closer. Every closer look is
// bounded or remembered, so that hostile text, too, costs time in proportion to
// its length. Ordinary text costs no allocation.
//
// When a text holds characters that hide or imitate others (zero width, full
// width, Cyrillic letters inside a Latin word), it is also read the way a
// person would see it, and what is found there is reported where it stands.
package risk

import (
	"math/bits"
	"slices"
	"sort"
	"strings"
)

// Detector is a set of detectors.
type Detector uint64

// The detectors.
const (
	Secret    Detector = 1 << iota // keys, tokens, passwords, private keys
	Card                           // payment card numbers, by brand and check digit
	SSN                            // social security numbers of the United States
	IBAN                           // bank account numbers, by country and checksum
	Email                          // e-mail addresses
	Phone                          // phone numbers
	Hidden                         // characters that people do not see
	Injection                      // instructions aimed at a model
	Unseen                         // what a page, a mail or a terminal does not show
)

// All is every detector.
const All = Unseen<<1 - 1

// ParseDetector reads a detector's name: one of secret, pii.card, pii.ssn,
// pii.iban, pii.email, pii.phone, hidden, injection, unseen, or the groups pii and all.
func ParseDetector(name string) (Detector, bool) {
	switch name {
	case "all":
		return All, true
	case "pii":
		return Card | SSN | IBAN | Email | Phone, true
	}
	for i, d := range Detectors {
		if d.Name == name {
			return 1 << i, true
		}
	}
	return 0, false
}

// String gives the names of the set's detectors, separated by commas.
func (d Detector) String() string {
	var names []string
	for i, built := range Detectors {
		if d&(1<<i) != 0 {
			names = append(names, built.Name)
		}
	}
	return strings.Join(names, ",")
}

// Finding is something found in a text.
type Finding struct {
	Detector   Detector // the one that found it
	Code       string   // stable, such as "secret.private_key"
	Name       string   // for a person, such as "private key"
	Start, End int      // span in bytes, on the boundaries of characters
	Score      float64  // how bad it is, from 0 to 1
}

// A Scanner is all detectors that there are: the built-in ones and those of a policy.
type Scanner struct{ Own []Own }

// Scan is what the function Scan is, with the policy's detectors in the same pass.
func (d Scanner) Scan(text string, want Detector, dst []Finding) []Finding {
	from := len(dst)
	dst = d.scan(text, want, dst)
	if len(dst) == from {
		return dst
	}
	return d.settle(text, want, tidy(dst, from), from)
}

// Scan appends what the wanted detectors find in a text, ordered by Start.
// Findings of one detector do not overlap. Once all of them are masked the same
// detectors find nothing more.
func Scan(text string, want Detector, dst []Finding) []Finding {
	return Scanner{}.Scan(text, want, dst)
}

// scan is one pass, and a second one over the text as a person sees it when
// that is another text.
func (d Scanner) scan(text string, want Detector, dst []Finding) []Finding {
	s := scanner{text: text, want: want, out: dst, phoneAt: never, ssnAt: never, cardAt: never}
	s.scan()
	if want&Guidance != 0 {
		s.guidance()
	}
	if want&Injection != 0 {
		s.escapes()
	}
	if want&Unseen != 0 {
		s.unseen()
	}
	s.owns(d.Own)
	if s.disguised && want&^(Hidden|Unseen) != 0 {
		s.scanSeen(d)
	}
	return s.out
}

// tidy orders the findings from an index on, and makes one of those of one
// detector that overlap, under the name of the gravest.
func tidy(all []Finding, from int) []Finding {
	if len(all)-from < 2 {
		return all
	}
	slices.SortStableFunc(all[from:], func(a, b Finding) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		return b.End - a.End
	})
	var last [64]int // the newest kept finding of each detector
	kept := all[:from]
	for _, f := range all[from:] {
		i := bits.TrailingZeros64(uint64(f.Detector))
		if p := last[i] - 1; p >= from && f.Start < kept[p].End {
			if f.Score > kept[p].Score {
				kept[p].Code, kept[p].Name, kept[p].Score = f.Code, f.Name, f.Score
			}
			kept[p].End = max(kept[p].End, f.End)
			continue
		}
		kept = append(kept, f)
		last[i] = len(kept)
	}
	return kept
}

// settle adds what would come to light only once the findings are masked, so
// that masked text is clean: a number that was no card because of what stood
// before it, for example. Hardly any text needs a second round.
func (d Scanner) settle(text string, want Detector, found []Finding, from int) []Finding {
	const rounds = 8
	for range rounds {
		without, pieces := mask(text, found[from:])
		again := d.scan(without, want, nil)
		if len(again) == 0 {
			break
		}
		for _, f := range again {
			f.Start, f.End = original(pieces, f.Start, false), original(pieces, f.End, true)
			found = append(found, f)
		}
		found = tidy(found, from)
	}
	return found
}

// piece is a part of a masked text that was put in the place of a span of the
// original one.
type piece struct {
	at, length int // in the masked text
	start, end int // in the original
}

// original returns the place in the original text of one in the masked text.
// In a placeholder it is the beginning of what was masked or, for the end of a
// span, its end.
func original(pieces []piece, at int, end bool) int {
	i := sort.Search(len(pieces), func(i int) bool { return pieces[i].at > at || end && pieces[i].at == at })
	if i == 0 {
		return at
	}
	p := pieces[i-1]
	rest := at - p.at - p.length
	switch {
	case rest >= 0:
		return p.end + rest
	case end:
		return p.end
	}
	return p.start
}

// Mask returns the text with each finding replaced by what it was: a card
// number by ****, hidden characters by nothing, others by their name, such as
// [AWS access key removed]. Findings that overlap are replaced as one, named by
// the one that begins first. Everything else stays as it is.
func Mask(text string, findings []Finding) string {
	if len(findings) == 0 {
		return text
	}
	without, _ := mask(text, findings)
	return without
}

func mask(text string, findings []Finding) (string, []piece) {
	byStart := func(a, b Finding) int { return a.Start - b.Start }
	if !slices.IsSortedFunc(findings, byStart) {
		findings = slices.Clone(findings)
		slices.SortStableFunc(findings, byStart)
	}
	var b strings.Builder
	pieces := make([]piece, 0, len(findings))
	at := 0
	for i := 0; i < len(findings); {
		f, start, end := findings[i], findings[i].Start, findings[i].End
		for i++; i < len(findings) && findings[i].Start < end; i++ {
			end = max(end, findings[i].End)
			if f.Detector == Hidden { // what holds hidden characters is named by what it is
				f = findings[i]
			}
		}
		b.WriteString(text[at:start])
		put := placeholder(f)
		pieces = append(pieces, piece{b.Len(), len(put), start, end})
		b.WriteString(put)
		at = end
	}
	b.WriteString(text[at:])
	return b.String(), pieces
}

// removed ends every placeholder but that of a card. Matchers know it, so that
// the words of a placeholder announce nothing.
const removed = " removed]"

// masked stands in the place of a card's number.
const masked = "****"

func placeholder(f Finding) string {
	switch f.Detector {
	case Card:
		return masked
	case Hidden:
		return ""
	}
	return "[" + f.Name + removed
}
