package words

import (
	"testing"
	"time"
)

func TestDuration(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"90d": 90 * day, "1d12h": 36 * time.Hour, "0d": 0, "0": 0, "0s": 0, "1h30m": 90 * time.Minute, "-5s": -5 * time.Second, "1.5h": 90 * time.Minute,
	} {
		if got, err := Duration(text); err != nil || got != want {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "90", "90x", "9 d", "-1d", "1.5d", "1d-1h", "1h1d", "1d1d", "1dd", "106752d", "106751d24h", "99999999999999d", "1w"} {
		if got, err := Duration(text); err == nil {
			t.Errorf("%q is %v, want an error", text, got)
		}
	}
}
