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
