package agent

import (
	"testing"
)

func TestIsDID(t *testing.T) {
	for s, want := range map[string]bool{
		"did:aeon:desk": true, "did:aeon:myagent:1.0:abc123": true, "did:web:example.com%3A8080": true, "did:key:z6Mk_-.x": true,
		"": false, "not-a-did": false, "did:": false, "did:aeon": false, "did:aeon:": false, "did:aeon:a:": false, "DID:aeon:a": false, "did:Aeon:a": false,
		"did:aeon:a ": false, " did:aeon:a": false, "did:aeon:a\u200b": false, "did:aeon:а": false, "did:aeon:a%": false, "did:aeon:a%2": false, "did:aeon:a%zz": false,
		"did:aeon:%61": false, "did:aeon:s%69gX": false, "did:aeon:a%2d": false, "did:aeon:a%2E": false, "did:aeon:a%5F": false, "did:aeon:%30": false, "did:web:example.com%3a8080": false,
		"did:aeon:a%2Fb": true, "did:aeon:%2561": true, "did:aeon:%C3%BC": true, "did:aeon:%c3%bc": false,
		"did:aeon:a/b": false, "did:aeon:a\x00": false, "did:aeon:a\n": false,
	} {
		if IsDID(s) != want {
			t.Errorf("%q: %t", s, !want)
		}
	}
}

// FuzzFold: folding twice changes nothing that an escape does not hide again, and a
// DID in upper case or with an escaped letter has the same form.
func FuzzFold(f *testing.F) {
	f.Add("did:aeon:a%62")
	f.Fuzz(func(t *testing.T, s string) {
		if !IsDID(s) {
			return
		}
		last := s[len(s)-1]
		const hex = "0123456789abcdef"
		if len(s) > 2 && s[len(s)-3] != '%' && s[len(s)-2] != '%' {
			if other := s[:len(s)-1] + "%" + string(hex[last>>4]) + string(hex[last&15]); Fold(other) != Fold(s) {
				t.Errorf("%q and %q have two forms", s, other)
			}
		}
	})
}
