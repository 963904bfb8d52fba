package hazard

import "testing"

// A pattern that was taken apart matches what its text matches.
func TestPattern(t *testing.T) {
	texts := []string{"", "a", "ab", "role", "roles", "teamrole", "teamroles", "ro*le", "r?le", "*"}
	for _, p := range []string{"", "*", "**", "?", "a", "a*", "*a", "*a*", "role", "*role", "role*", "*role*", "ro*le", "*r?le*", "r**e", "team*s", "?role", "*?", "\\*"} {
		taken := patternOf(p)
		for _, s := range texts {
			if got, want := taken.matches(s), wild(p, s); got != want {
				t.Errorf("%q matches %q: %v, and its text: %v", p, s, got, want)
			}
		}
	}
}
