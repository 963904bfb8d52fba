package act

import (
	"regexp"
	"strings"
	"testing"
)

func TestTraceparent(t *testing.T) {
	const good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for text, want := range map[string]string{
		good:                     good,
		"00" + good[2:53] + "00": good[:53] + "00",
		"cc" + good[2:]:          good,
		"cc" + good[2:] + "-what-will-be-said-later": good,
		"":                        "",
		"00" + good[2:] + "-more": "",
		"cc" + good[2:] + "more":  "",
		"ff" + good[2:]:           "",
		strings.ToUpper(good):     "",
		strings.Replace(good, "4bf92f3577b34da6a3ce929d0e0e4736", strings.Repeat("0", 32), 1): "",
		strings.Replace(good, "00f067aa0ba902b7", strings.Repeat("0", 16), 1):                 "",
		good[:54]:                            "",
		" " + good[:54]:                      "",
		strings.Replace(good, "4b", "4g", 1): "",
		"cc" + good[2:] + "-" + strings.Repeat("x", 300): "",
	} {
		p, ok := ParseTraceparent(text)
		if ok != (want != "") || ok && p.String() != want {
			t.Errorf("%q is read as %v, %v, want %q", text, p, ok, want)
		}
		if got := TraceparentFrom(WithTraceparent(t.Context(), text)); got != want {
			t.Errorf("%q is kept as %q", text, got)
		}
	}
}

// FuzzTraceparent: what is taken is of the form of the text, and reads the same again.
func FuzzTraceparent(f *testing.F) {
	f.Add("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	form := regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-|$)`)
	f.Fuzz(func(t *testing.T, text string) {
		p, ok := ParseTraceparent(text)
		if !ok {
			return
		}
		if !form.MatchString(text) {
			t.Errorf("%q is taken", text)
		}
		if again, ok := ParseTraceparent(p.String()); !ok || again != p {
			t.Errorf("%q is %v, and then %v", text, p, again)
		}
	})
}
