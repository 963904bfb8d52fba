package main

import (
	"strings"
	"testing"
	"time"
)

// TestFresh: a bill that is too old is refused, and one that is dated ahead, which would be new
// for as long as somebody likes.
func TestFresh(t *testing.T) {
	now := time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		age, most time.Duration
		want      string
	}{
		{0, 0, ""}, {1000 * time.Hour, 0, ""}, {time.Hour, 2 * time.Hour, ""}, {3 * time.Hour, 2 * time.Hour, "older"},
		{-time.Minute, time.Hour, ""}, {-time.Hour, time.Hour, "still to come"}, {-time.Hour, 0, "still to come"}, {-100 * 365 * 24 * time.Hour, time.Hour, "still to come"},
	} {
		if err := fresh(now.Add(-c.age), now, c.most); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v old of at most %v: %v", c.age, c.most, err)
		}
	}
}
