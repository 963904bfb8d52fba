package words

import "testing"

func TestNearest(t *testing.T) {
	all := []string{"name", "needs", "executor", "timeout"}
	for _, tt := range []struct {
		word  string
		limit int
		want  string
	}{
		{"nmae", 2, "name"}, // two neighbours swapped are one edit
		{"need", 3, "needs"},
		{"NEEDS", 1, "needs"},
		{"exector", 2, "executor"},
		{"retry", 3, ""},
		{"name", 0, ""},
		{"", 3, ""},
	} {
		if got := Nearest(tt.word, all, tt.limit); got != tt.want {
			t.Errorf("%q within %d is %q, want %q", tt.word, tt.limit, got, tt.want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		text           string
		most           int
		cut, shortened string
	}{
		{"", 0, "", ""}, {"abc", 3, "abc", "abc"}, {"abcd", 3, "abc", "abc…"},
		{"aéb", 2, "a", "a…"}, {"aéb", 3, "aé", "aé…"}, {"é", 0, "", "…"}, {"日本", 5, "日", "日…"},
		{"\x80\x80\x80\x80\x80\x80\x80", 6, "\x80\x80", "…"}, // no character begins: it does not look back for ever
	} {
		if got := Cut(tt.text, tt.most); got != tt.cut {
			t.Errorf("%q is cut to %d as %q, want %q", tt.text, tt.most, got, tt.cut)
		}
		if got := Shorten(tt.text, tt.most); got != tt.shortened {
			t.Errorf("%q is shortened to %d as %q, want %q", tt.text, tt.most, got, tt.shortened)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range []string{"0 records", "1 record", "2 records"} {
		if got := Count(n, "record"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
