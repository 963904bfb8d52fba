package canon

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestName(t *testing.T) {
	for _, tt := range []struct {
		in, want   string
		confusable bool
	}{
		{"wipe", "wipe", false},
		{"cat.search", "cat.search", false},
		{"two words", "two words", false},
		{"WIPE ", "wipe", false},
		{"  Send \t Mail\n", "send mail", false},
		{"send\u00a0\u2003mail\u3000", "send mail", false},
		{"readFile", "readfile", false},
		{"wi\u200bpe", "wipe", false},
		{"wipe\u202e", "wipe", false},
		{"\ufeffw\u00adi\u2060p\u180ee\ufe0f", "wipe", false},
		{"wi\x00pe\x1b", "wipe", false},
		{"wi\U000e0041pe", "wipe", false},
		{"\xff", "", false},
		{"", "", false},
		{" \t", "", false},

		// Separators keep names apart.
		{"a-b", "a-b", false}, {"a_b", "a_b", false}, {"a.b", "a.b", false}, {"a/b", "a/b", false}, {"a:b", "a:b", false}, {"a b", "a b", false}, {"ab", "ab", false},

		// What NFKC resolves to ASCII.
		{"ｗｉｐｅ", "wipe", true},
		{"𝐰𝐢𝐩𝐞", "wipe", true},
		{"ⓦⓘⓟⓔ", "wipe", true},
		{"wⁱpe", "wipe", true},
		{"ﬁle", "file", true},
		{"ſend", "send", true},
		{"\u212aeys", "keys", true}, // the sign for kelvin
		{"tool２", "tool2", true},
		{"a．b", "a.b", true},
		{"a＿b", "a_b", true},
		{"DIGIT\u0130", "digiti", true},

		// Imitations.
		{"wіре", "wipe", true},       // Cyrillic і, р, е
		{"ԝіре", "wipe", true},       // all of it
		{"WIPЕ", "wipe", true},       // a Cyrillic capital
		{"wιpe", "wipe", true},       // Greek ι
		{"ΝΟΤΕ", "note", true},       // Greek capitals
		{"wipҽ", "wipe", true},       // Abkhazian
		{"հello", "hello", true},     // Armenian
		{"ᎪᏢᎥ.get", "api.get", true}, // Cherokee
		{"wıpe", "wipe", true},       // dotless
		{"ᴡɪᴘᴇ", "wipe", true},       // small capitals
		{"tool_З", "tool_3", true},
		{"a‑b", "a-b", true}, {"a–b", "a-b", true}, {"a∕b", "a/b", true}, {"a․b", "a.b", true}, {"a∶b", "a:b", true},
		{"wi\u0336pe", "wipe", true}, // struck through

		// Names of other languages stand for themselves.
		{"größe", "größe", false},
		{"GRO\u0308SSE", "grösse", false},
		{"café", "café", false},
		{"cafe\u0301", "café", false},
		{"поиск", "поиск", false},
		{"Отчёт", "отчёт", false},
		{"tool.поиск", "tool.поиск", false},
		{"αναζήτηση", "αναζήτηση", false},
		{"ファイル", "ファイル", false},
		{"ﾌｧｲﾙ", "ファイル", false},
		{"检索", "检索", false},
		{"검색", "검색", false},
		{"بحث", "بحث", false},
	} {
		got, confusable := Name(tt.in)
		if got != tt.want || confusable != tt.confusable {
			t.Errorf("Name(%q) = %q, %v; want %q, %v", tt.in, got, confusable, tt.want, tt.confusable)
		}
	}
}

// Plain names cost nothing.
func TestNamePlain(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { Name("search_catalogue/v2:find all") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A name can be as long as a request. What is not plain of it is cut.
func TestNameLong(t *testing.T) {
	for _, unit := range []string{"а", "a\u0301", "\u0301", "ﷺ", "é", "ab é"} {
		s := strings.Repeat(unit, 4<<20/len(unit))
		got, confusable := Name(s)
		if len(got) > MaxName || len(got) < MaxName/4 || !confusable {
			t.Errorf("of %q %d bytes are left, confusable: %v", unit, len(got), confusable)
		}
		if again, _ := Name(got); again != got {
			t.Errorf("%q: a name that was cut is cut again", unit)
		}
	}
}

func FuzzCanonicalName(f *testing.F) {
	for _, s := range []string{"wipe", "WIPE ", "ſ", "İ", "ǅ", "e\u0301", "\u1e9e", "wіре", "ΣΑ", "wipeΣΝ", "a\u0345", "ᾳ", "ｗ\u0336", "ﷺ", "\u1100\u1161\u11a8", "K\u0301", "\u03f4", "Ꭺꭺ", "a \u0301", strings.Repeat("}", MaxName+1)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once, confusable := Name(s)
		if twice, _ := Name(once); twice != once {
			t.Errorf("Name(%q) = %q, and of that %q", s, once, twice)
		}
		if !utf8.ValidString(once) || strings.TrimSpace(once) != once || strings.Contains(once, "  ") {
			t.Errorf("Name(%q) = %q", s, once)
		}
		if confusable && isCanonical(s) && len(s) <= MaxName {
			t.Errorf("%q is plain, and confusable", s)
		}
		if upper := strings.ToUpper(s); isCanonical(s) && len(s) < MaxName/2 {
			if again, _ := Name(" " + upper + "\u200b"); again != s {
				t.Errorf("Name(%q) = %q, want %q", upper, again, s)
			}
		}
	})
}

func BenchmarkName(b *testing.B) {
	for _, s := range []string{"search_catalogue", "Search_Catalogue", "search_cаtalogue"} {
		b.Run(s, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Name(s)
			}
		})
	}
}
