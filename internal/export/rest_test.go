package export

import (
	"testing"
	"time"
)

// TestRest: whoever asks the node has the processor, as long as what waits is not old.
func TestRest(t *testing.T) {
	const worked = 100 * time.Millisecond
	for _, tt := range []struct {
		rate float64
		late time.Duration
		more bool
		want time.Duration
	}{
		{10, time.Second, true, 400 * time.Millisecond},
		{2000, time.Second, true, 4 * time.Second},
		{2000, time.Second, false, 4 * time.Second},
		{2000, 2 * time.Minute, true, 400 * time.Millisecond},
		{0, 0, false, 400 * time.Millisecond},
	} {
		if got := rest(worked, tt.rate, tt.late, tt.more); got != tt.want {
			t.Errorf("%+v: it rests %v", tt, got)
		}
	}
	if got := rest(time.Millisecond, 0, 0, false); got != pause {
		t.Errorf("with nothing to do it rests %v", got)
	}
}
