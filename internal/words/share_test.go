package words

import "testing"

func TestShare(t *testing.T) {
	for _, c := range []struct {
		part, whole int
		want        string
	}{
		{0, 0, "-"}, {0, 10, "0.0 % (0.0 to 27.8)"}, {10, 10, "100.0 % (72.2 to 100.0)"}, {41, 100, "41.0 % (31.9 to 50.8)"},
	} {
		if got := Share(c.part, c.whole); got != c.want {
			t.Errorf("%d of %d is %s, want %s", c.part, c.whole, got, c.want)
		}
	}
	if got := AUC(0.9, 50, 50); got != "0.900 (0.837 to 0.963)" {
		t.Error(got)
	}
	if got := AUC(-1, 50, 50); got != "-" {
		t.Error(got)
	}
}
