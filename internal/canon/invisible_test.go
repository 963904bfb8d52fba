package canon

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"":                  "",
		"plain\ttext\r\n":   "plain\ttext\r\n",
		"s\u200bh":          "sh",
		"s\u00adh":          "sh",
		"s\U000e0041h":      "sh",
		"s\ufe0fh\u202e":    "sh",
		"s\u2065h\ufff0":    "sh", // reserved, and ignored all the same
		"s\x00h":            "sh",
		"\x1b[1mred\x1b[0m": "\x1b[1mred\x1b[0m",
		"naïve – “quotes” 日本語 ١٢٣ \u0600١": "naïve – “quotes” 日本語 ١٢٣ \u0600١",
		"bad \xff\xe2\x80 bytes":           "bad \xff\xe2\x80 bytes",
	} {
		if got := Visible(in); got != want {
			t.Errorf("Visible(%+q) = %+q, want %+q", in, got, want)
		}
	}
}

// TestInvisibleFormat: every format character that is not seen is invisible, of
// those that a newer Unicode brings, too.
func TestInvisibleFormat(t *testing.T) {
	seen := "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
	for r := range rune(unicode.MaxRune) {
		hieroglyph := r >= 0x13430 && r <= 0x1345f
		if unicode.Is(unicode.Cf, r) && !hieroglyph && !strings.ContainsRune(seen, r) && !Invisible(r) {
			t.Errorf("%U is a format character, and counts as visible", r)
		}
		if Invisible(r) && (unicode.IsLetter(r) && r != 0x115f && r != 0x1160 && r != 0x3164 && r != 0xffa0 || unicode.IsDigit(r) || unicode.IsPunct(r)) {
			t.Errorf("%U counts as invisible", r)
		}
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("s\u200bh \U000e0001\xff")
	f.Fuzz(func(t *testing.T, s string) {
		v := Visible(s)
		if Visible(v) != v && len(v) == len(s) {
			t.Fatalf("%+q", s)
		}
		for _, r := range v {
			if r != unicode.ReplacementChar && Invisible(r) {
				t.Fatalf("%U is left in %+q", r, v)
			}
		}
	})
}

// TestInvisibleShortCuts: what is answered without the table is what the table says.
func TestInvisibleShortCuts(t *testing.T) {
	for r := rune(0x100); r <= unicode.MaxRune; r++ {
		if Invisible(r) != unicode.Is(ignorable, r) {
			t.Errorf("%U: %t", r, Invisible(r))
		}
	}
}

// TestLeads: each invisible character is found by its first byte.
func TestLeads(t *testing.T) {
	var want [256]bool
	for r := range rune(unicode.MaxRune + 1) {
		if Invisible(r) && utf8.ValidRune(r) {
			want[string(r)[0]] = true
		}
	}
	if leads != want {
		t.Errorf("the first bytes are %v, and should be %v", leads, want)
	}
}
