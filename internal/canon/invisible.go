package canon

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/rangetable"
)

// Invisible reports whether a character of a text shows nothing, so that some
// readers leave it out and others do not: what Unicode calls default-ignorable
// (zero width, joiners, direction controls, fillers, variation selectors, tags,
// and what is reserved for more of the kind), the annotations between lines, and
// control characters other than white space and the escape of terminals.
//
// It is the one place that says so. What detectors call hidden is a part of it:
// they excuse characters that a script or an emoji needs where they stand.
func Invisible(r rune) bool {
	if r < 0x0100 {
		return r < ' ' && (r < '\t' || r > '\r') && r != 0x1b || r >= 0x7f && r < 0xa0 || r == 0xad
	}
	if r > 0x206f && r < 0x3164 || r > 0x3164 && r < 0xfe00 { // symbols and the letters of East Asia, of which there are many
		return false
	}
	return unicode.Is(ignorable, r)
}

// ignorable is Default_Ignorable_Code_Point, and the annotation characters.
var ignorable = rangetable.Merge(unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector,
	// Format characters but for those that are seen: the number signs of Arabic,
	// Syriac and Kaithi, and the joiners of hieroglyphs.
	rangetable.New(0x061c, 0x180e, 0x200b, 0x200c, 0x200d, 0x200e, 0x200f, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e,
		0x2060, 0x2061, 0x2062, 0x2063, 0x2064, 0x2066, 0x2067, 0x2068, 0x2069, 0x206a, 0x206b, 0x206c, 0x206d, 0x206e, 0x206f,
		0xfeff, 0xfff9, 0xfffa, 0xfffb, 0x1bca0, 0x1bca1, 0x1bca2, 0x1bca3,
		0x1d173, 0x1d174, 0x1d175, 0x1d176, 0x1d177, 0x1d178, 0x1d179, 0x1d17a),
	tags)

// tags is the whole block of tags, assigned or not.
var tags = &unicode.RangeTable{R32: []unicode.Range32{{Lo: 0xe0000, Hi: 0xe0fff, Stride: 1}}}

// leads are the first bytes of characters that may be invisible. Only those of the table
// are looked at, and not all there are: this is done whenever the program starts.
var leads = func() (t [256]bool) {
	lead := func(r rune) {
		if Invisible(r) {
			t[string(r)[0]] = true
		}
	}
	for r := range rune(0x0100) {
		lead(r)
	}
	for _, of := range ignorable.R16 {
		for r := rune(of.Lo); r <= rune(of.Hi); r += rune(of.Stride) {
			lead(r)
		}
	}
	for _, of := range ignorable.R32 {
		for r := rune(of.Lo); r <= rune(of.Hi); r += rune(of.Stride) {
			lead(r)
		}
	}
	return
}()

// Visible returns a text without its invisible characters: what it says to a
// reader that leaves them out. A text without any is returned as it is.
func Visible(s string) string {
	i := 0
	for ; i < len(s); i++ {
		if leads[s[i]] {
			if r, _ := utf8.DecodeRuneInString(s[i:]); Invisible(r) {
				break
			}
		}
	}
	if i == len(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	b.WriteString(s[:i])
	for i < len(s) {
		if !leads[s[i]] {
			b.WriteByte(s[i])
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if !Invisible(r) {
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}
