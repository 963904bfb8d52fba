package risk

import (
	"slices"
	"testing"
)

func TestNotices(t *testing.T) {
	for text, want := range map[string][]string{
		"shop:[password removed]@localhost":                     {"[password removed]"},
		"[AWS access key removed] and [AWS access key removed]": {"[AWS access key removed]"},
		"[removed by policy: it gave orders]":                   {DroppedBy},
		"card **** and [e-mail address removed]":                {"****", "[e-mail address removed]"},
		"/**** a comment ****/ ***** **":                        nil,
		"x[i] removed] [] [ removed] [a.b removed]":             nil,
	} {
		if got := Notices(text, nil); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	// Whatever is masked leaves a notice that is known again.
	for _, text := range []string{"4000 0000 0000 0002", "SSN 536" + "-22-1234", "AKIA" + "IOSFODNN7QZWTPLM", "postgres://a:hunter2hunter2@b.example/c", "a@b.example", "+47 22 12 34 56"} {
		found := Scan(text, All, nil)
		if len(found) == 0 || len(Notices(Mask(text, found), nil)) == 0 {
			t.Errorf("%q leaves %q", text, Mask(text, found))
		}
	}
}
