package glob

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "", true}, {"", "a", false}, {"*", "", true}, {"?", "", false}, {"a*", "a", true}, {"*a", "ba", true},
		{"a*b*c", "a1b2c", true}, {"a*b*c", "a1c2b", false}, {"*.example.com", "a.b.example.com", true},
		{"?", "é", true}, {"??", "é", false}, {"a?c", "a*c", true}, {"a\\*", "a\\x", true}, {"[ab]", "a", false},
		{strings.Repeat("*a", 50), strings.Repeat("a", 49), false},
	} {
		if got := Match(tt.pattern, tt.name); got != tt.want {
			t.Errorf("%q matches %q: %v", tt.pattern, tt.name, got)
		}
	}
}

// naive is what Match means.
func naive(pattern, name string) bool {
	if pattern == "" {
		return name == ""
	}
	if pattern[0] == '*' {
		return naive(pattern[1:], name) || name != "" && naive(pattern, name[size(name):])
	}
	if name == "" {
		return false
	}
	if pattern[0] == '?' {
		return naive(pattern[1:], name[size(name):])
	}
	return pattern[0] == name[0] && naive(pattern[1:], name[1:])
}

func size(s string) int { _, n := utf8.DecodeRuneInString(s); return n }

func TestMatchIsNaive(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	word := func(letters []string) (s string) {
		for range random.IntN(7) {
			s += letters[random.IntN(len(letters))]
		}
		return s
	}
	for range 100_000 {
		pattern, name := word([]string{"a", "b", "é", "*", "?"}), word([]string{"a", "b", "é", "*"})
		if got, want := Match(pattern, name), naive(pattern, name); got != want {
			t.Fatalf("%q matches %q: %v, want %v", pattern, name, got, want)
		}
	}
}
