package risk

import (
	"regexp"
	"strings"
	"testing"

	"reeve.example/reeve/internal/linear"
)

func TestChecks(t *testing.T) {
	for _, c := range []struct {
		check, good, bad string
	}{
		{"luhn", "4111 1111 1111 1111", "4111111111111112"},
		{"iban", "GB82 WEST 1234 5698 7654 32", "GB82WEST12345698765431"},
		{"mod97", "79444", "79445"},
		{"mod11", "0-306-40615-2", "0-306-40615-3"},
		{"mod11", "0-8044-2957-X", "0-8044-2957-1"},
		{"verhoeff", "2363", "2364"},
	} {
		if check := Checks[c.check]; !check(c.good) || check(c.bad) || check("") {
			t.Errorf("%s: %v of %s, %v of %s", c.check, check(c.good), c.good, check(c.bad), c.bad)
		}
	}
}

// TestOwnLinear: a policy's detectors take time in proportion to a hostile text, too.
func TestOwnLinear(t *testing.T) {
	d := Scanner{Own: []Own{{Bit: OwnBit(0), Name: "a", Says: "a", Pattern: regexp.MustCompile(`\bE[0-9]{3,7}\b`), Near: []string{"badge", "ab"}, Within: 80, Weight: 0.7}}}
	for _, unit := range []string{"E123 ", "badge E1234567 ", "ab", "E1", "\u200bE123"} {
		linear.Check(t, unit, 30_000, func(n int) func() {
			text := strings.Repeat(unit, n/len(unit))
			return func() { d.Scan(text, OwnBit(0), nil) }
		})
	}
}
