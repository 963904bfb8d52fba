package provenance

import "testing"

// TestPlain: what is read without a look at its parts has none, and no other form.
func TestPlain(t *testing.T) {
	for _, w := range []string{"a", "word", "iban", "www", "mailto", "tel", "zz", "", "a1", "a.b", "é", "x=y", "a:b", "http", "localhost"} {
		f, kind := form(w)
		n := 0
		parts(w, kind, func(string) { n++ })
		if plain(w) && (f != w || kind != plainWord || n > 0 || trim(w) != w) {
			t.Errorf("%q is %q, %d, with %d parts", w, f, kind, n)
		}
	}
}
