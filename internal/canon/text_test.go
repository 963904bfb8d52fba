package canon

import (
	"strings"
	"testing"
)

// TestText: what reads alike is compared alike.
func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"":                                   "",
		"plain":                              "plain",
		"Curl HTTP":                          "curl http",
		"cu\u200brl":                         "curl",
		"\uff43\uff55\uff52\uff4c":           "curl",
		"r\u00adm -RF /":                     "rm -rf /",
		"\u202ecurl\u202c":                   "curl",
		"ÉCOLE":                              "école",
		"tag\U000E0061\U000E0062":            "tag",
		"a \ufe0f b":                         "a  b",
		strings.Repeat("x", 100) + "Y\u00e9": strings.Repeat("x", 100) + "y\u00e9",
	} {
		if got := Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
}
