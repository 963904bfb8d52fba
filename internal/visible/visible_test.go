package visible

import (
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"":                                  "",
		"git push --force \\ \"x":           "git push --force \\ \"x",
		"a\x1b[2Jb\rc\nd\te\x00":            "a⟨U+001B⟩[2Jb⟨U+000D⟩c⟨U+000A⟩d⟨U+0009⟩e⟨U+0000⟩",
		"\x1b]8;;http://evil\x07":           "⟨U+001B⟩]8;;http://evil⟨U+0007⟩",
		"\u009b2J":                          "⟨U+009B⟩2J",
		"\u202etxt.exe\u2066":               "⟨U+202E⟩txt.exe⟨U+2066⟩",
		"s\u200bh \ufeff\u2060":             "s⟨U+200B⟩h ⟨U+FEFF⟩⟨U+2060⟩",
		"⟨U+202E⟩":                          "⟨U+27E8⟩U+202E⟨U+27E9⟩",
		"a\xff\xc3":                         "a⟨0xFF⟩⟨0xC3⟩",
		"\ufffd":                            "\ufffd",
		"größe naïve 数据 ключ":               "größe naïve 数据 ключ",
		"p\u0430yload":                      "p⟨U+0430⟩yload",                       // a Cyrillic letter
		"cat \u0441\u043e\u0440\u0443":      "cat ⟨U+0441⟩⟨U+043E⟩⟨U+0440⟩⟨U+0443⟩", // copy, in Cyrillic
		"чай с лимоном":                     "чай с лимоном",
		"rm \u2010rf \uff0fetc":             "rm ⟨U+2010⟩rf ⟨U+FF0F⟩etc",
		"one – two — three… “q”":            "one – two — three… “q”",
		"x\u0338 e\u0301":                   "x⟨U+0338⟩ e⟨U+0301⟩",
		"\u3164\u2800\u00a0\u3000":          "⟨U+3164⟩⟨U+2800⟩⟨U+00A0⟩⟨U+3000⟩",
		"1\ufe0f":                           "1⟨U+FE0F⟩",
		"\U000e0041\ue000":                  "⟨U+E0041⟩⟨U+E000⟩",
		"\u05c0100 to \u05c0900":            "⟨U+05C0⟩100 to ⟨U+05C0⟩900", // would turn the two
		"a\u061b\u05beb \u0700":             "a⟨U+061B⟩⟨U+05BE⟩b ⟨U+0700⟩",
		"a \u2223 sh\u01c3 x\ua4ffy \u02cb": "a ⟨U+2223⟩ sh⟨U+01C3⟩ x⟨U+A4FF⟩y ⟨U+02CB⟩",
		"├── a │ b":                         "├── a │ b",
		"في ١٢ يوم":                         "\u2068في\u2069 \u2068١٢\u2069 \u2068يوم\u2069",
		"echo שלום; rm":                     "echo \u2068שלום\u2069; rm",
	} {
		if got := Line(in); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
	if got := Lines("a\r\nb\n\x1b"); got != "a⟨U+000D⟩\nb\n⟨U+001B⟩" {
		t.Errorf("lines: %q", got)
	}
}

// read is what a shown text stands for.
func read(t *testing.T, s string) string {
	var b strings.Builder
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		switch r {
		case isolate, pop:
		case opening:
			end := strings.IndexRune(s, closing)
			if end < 0 {
				t.Fatalf("a bracket that does not close: %q", s)
			}
			n := s[size:end]
			size = end + utf8.RuneLen(closing)
			if code, ok := strings.CutPrefix(n, "U+"); ok {
				v, err := strconv.ParseUint(code, 16, 32)
				if err != nil {
					t.Fatal(err)
				}
				b.WriteRune(rune(v))
			} else {
				v, err := strconv.ParseUint(n, 0, 8)
				if err != nil {
					t.Fatal(err)
				}
				b.WriteByte(byte(v))
			}
		default:
			b.WriteRune(r)
		}
		s = s[size:]
	}
	return b.String()
}

// FuzzLine: what is shown stands for exactly what is there, and holds nothing
// that acts, hides or turns.
func FuzzLine(f *testing.F) {
	for _, s := range []string{"a\x1b[2Jb", "⟨U+202E⟩", "p\u0430y \u202e\xff", "שלום עולם ab\u0301", "чай с лимоном", "\U000e0041\u200d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		shown := Line(s)
		if got := read(t, shown); got != s {
			t.Fatalf("%q is shown as %q, which stands for %q", s, shown, got)
		}
		deep := 0
		for _, r := range shown {
			switch r {
			case isolate:
				deep++
			case pop:
				deep--
			default:
				if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.IsSpace(r) && r != ' ' || !unicode.IsGraphic(r) {
					t.Fatalf("%q is shown with %U", s, r)
				}
			}
			if deep == 0 && rightToLeft(r) && !unicode.IsMark(r) {
				t.Fatalf("%q is shown as %q: %U turns what stands around it", s, shown, r)
			}
			if deep < 0 || deep > 1 {
				t.Fatalf("%q is shown as %q: the directions do not balance", s, shown)
			}
		}
		if deep != 0 {
			t.Fatalf("%q is shown as %q: the directions do not balance", s, shown)
		}
	})
}
