package risk

import (
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"reeve.example/reeve/internal/canon"
)

func TestHidden(t *testing.T) {
	tag := func(s string) string {
		return strings.Map(func(r rune) rune { return 0xe0000 + r }, s)
	}
	for _, tt := range []struct{ text, want string }{
		{"pay\u200bment", "hidden.zero_width \u200b"},
		{"pay\u200c\u200d\u200bment", "hidden.zero_width \u200c\u200d\u200b"},
		{"a\ufeffb", "hidden.zero_width \ufeff"},
		{"\ufeff\ufeffb", "hidden.zero_width \ufeff"},
		{"a\u2060b", "hidden.format \u2060"},
		{"a\u2063b", "hidden.format \u2063"},
		{"a\u3164b", "hidden.format \u3164"},
		{"a\u034fb", "hidden.format \u034f"},
		{"a\u180eb", "hidden.format \u180e"},
		{"abc\u202edef\u200b", "hidden.bidi \u202e|hidden.zero_width \u200b"},
		{"if x \u2066 { \u2069", "hidden.bidi \u2066|hidden.bidi \u2069"},
		{"left\u200fright", "hidden.bidi \u200f"},
		{"x" + tag("ignore this") + "y", "hidden.tag " + tag("ignore this")},
		{"\U0001f3f4" + tag("ignore"), "hidden.tag " + tag("ignore")},
		{"a\ufe01\ufe0e\U000e0100b", "hidden.variation \ufe01\ufe0e\U000e0100"},
		{"\U0001f600\ufe0f\ufe01\ufe02", "hidden.variation \ufe01\ufe02"},
		{"ا\u200c\u200b\u200b\u200cب", "hidden.zero_width \u200b\u200b"},
		{"\u200b\u202e\u200b", "hidden.bidi \u200b\u202e\u200b"},
	} {
		if diff := cmp.Diff(tt.want, strings.Join(found(tt.text, Hidden), "|")); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.text, diff)
		}
	}
}

func TestNotHidden(t *testing.T) {
	for _, text := range []string{
		"", "plain", "größe, naïve, Привет, 日本語, 한국어, עברית, العربية, हिन्दी, ไทย",
		"family \U0001f468\u200d\U0001f469\u200d\U0001f467 and ❤️ and ❤️\u200d\U0001f525 and \U0001f9d1\U0001f3fd\u200d\U0001f4bb", "1️⃣ #️⃣ ©️ ™️ ☎︎",
		"flag \U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f!", "\U0001f1f3\U0001f1f4",
		"می\u200cخواهم", "PDF\u200cها", "क्\u200dष", "ක්\u200dෂ", "ক\u200dষ", "\ufeffbegins with a mark",
		"שלום\u200f!", "C# \u200eשלום", "ภาษา\u200bไทย", "葛\U000e0100飾", "ᠮᠣᠩᠭᠣᠯ\u180b", "soft\u00adhyphen", "1\u00a0000\u202f000", "en – em — “quotes” … ‹›", "a\u2028b",
		"e\u0301", "\x00\x01\x1b[31mred\x1b[0m", "\xff\xfe", "\xe2\x80", "\xf3\xa0\x80",
	} {
		if got := found(text, Hidden); got != nil {
			t.Errorf("%q: found %q", text, got)
		}
	}
}

// TestHiddenBreaks: where spaces of no width part no word, a rule that asks for a severity
// leaves them be; within a word, among others of their kind and in long rows it does not.
func TestHiddenBreaks(t *testing.T) {
	for text, small := range map[string]bool{
		"see: \u200b\u200bhttps://a.example": true, "{\u200b\u200bid}\u200b": true, "results.\u200b\n": true, `"\u200b"`: true,
		"ig\u200bnore": false, "日\u200b本": false, "1\u200b2": false, ". \u200b\u200d\u200b.": false, "." + strings.Repeat("\u200b", 17) + ".": false,
	} {
		for _, f := range Scan(text, Hidden, nil) {
			if (f.Score < 0.4) != small {
				t.Errorf("%q weighs %.2f", text, f.Score)
			}
		}
	}
}

// TestHiddenIsInvisible: inside a Latin word everything is found that readers may
// leave out, and nothing that they see.
func TestHiddenIsInvisible(t *testing.T) {
	for r := rune(0x100); r <= unicode.MaxRune; r++ {
		if r >= 0xd800 && r < 0xe000 {
			continue
		}
		s := scanner{text: "ab" + string(r) + "cd"}
		if h, _ := s.hides(2); (h != nil) != canon.Invisible(r) {
			t.Errorf("%U: hidden %t, invisible %t", r, h != nil, canon.Invisible(r))
		}
	}
}
