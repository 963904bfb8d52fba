package canon

import (
	"strings"
	"testing"
)

// A long name is cut and flagged, however plain it is: rules are compared with
// every part of it.
func TestLongName(t *testing.T) {
	for _, s := range []string{strings.Repeat("run", 2000), strings.Repeat("RUN", 2000), strings.Repeat("é", 2000)} {
		if name, confusable := Name(s); len(name) > MaxName || !confusable {
			t.Errorf("%.6q…: %d bytes, confusable %v", s, len(name), confusable)
		}
	}
}
