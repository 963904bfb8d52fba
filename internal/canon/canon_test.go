package canon

import "testing"

func TestName(t *testing.T) {
	for _, tt := range []struct {
		in, want   string
		confusable bool
	}{
		{"wipe", "wipe", false},
		{"cat.search", "cat.search", false},
		{"WIPE ", "wipe", false},
		{"  Send \t Mail\n", "send mail", false},
		{"wi\u200bpe", "wipe", false},
		{"ｗｉｐｅ", "wipe", false},
		{"𝐰𝐢𝐩𝐞", "wipe", false},
		{"wі\u0440е", "wipe", true},
		{"wipe\u202e", "wipe", false},
		{"a-b", "a-b", false},
		{"a_b", "a_b", false},
		{"a‑b", "a-b", true},
		{"größe", "größe", false},
		{"ファイル", "ファイル", false},
		{"", "", false},
		{"\xff", "", false},
	} {
		got, confusable := Name(tt.in)
		if got != tt.want || confusable != tt.confusable {
			t.Errorf("Name(%q) = %q, %v; want %q, %v", tt.in, got, confusable, tt.want, tt.confusable)
		}
	}
}

func FuzzName(f *testing.F) {
	for _, s := range []string{"wipe", "WIPE ", "ſ", "İ", "ǅ", "e\u0301", "\u1e9e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once, _ := Name(s)
		if twice, _ := Name(once); twice != once {
			t.Errorf("Name(%q) = %q, and of that %q", s, once, twice)
		}
	})
}

func BenchmarkName(b *testing.B) {
	b.ReportAllocs()
	for range b.N {
		Name("search_catalogue")
	}
}
