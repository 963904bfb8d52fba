package hazard

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"reeve.example/reeve/internal/risk/hazard/effects"
)

// unbase64 decodes standard or URL base64, padded or not, with white space in
// it. What it gives is text, or nothing: pictures are not commands.
func unbase64(s string) (string, bool) {
	if len(s) > 256<<10 {
		return "", false
	}
	s = strings.TrimRight(removeSpace(s), "=")
	if len(s) < 4 {
		return "", false
	}
	enc := base64.RawStdEncoding
	if strings.ContainsAny(s, "-_") {
		enc = base64.RawURLEncoding
	}
	b, err := enc.DecodeString(s)
	if err != nil {
		return "", false
	}
	return readable(b)
}

func unbase32(s string) (string, bool) {
	b, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ToUpper(strings.TrimRight(removeSpace(s), "=")))
	if err != nil {
		return "", false
	}
	return readable(b)
}

func unhex(s string) (string, bool) {
	s = strings.NewReplacer(`\x`, "", "0x", "", ",", "", ":", "").Replace(removeSpace(s))
	b, err := hex.DecodeString(s)
	if err != nil || len(b) < 2 {
		return "", false
	}
	return readable(b)
}

// readable gives bytes as text, UTF-16 (of PowerShell) included, if they are text.
func readable(b []byte) (string, bool) {
	if len(b) >= 4 && len(b)%2 == 0 && b[1] == 0 && b[3] == 0 {
		var s strings.Builder
		for i := 0; i+1 < len(b); i += 2 {
			s.WriteRune(rune(b[i]) | rune(b[i+1])<<8)
		}
		return s.String(), true
	}
	if !utf8.Valid(b) {
		return "", false
	}
	for _, c := range b {
		if c < 9 || c == 127 {
			return "", false
		}
	}
	return string(b), true
}

func removeSpace(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case ' ', '\n', '\r', '\t':
			return -1
		}
		return r
	}, s)
}

// translate is tr: each character of from becomes the one of to. ok is false
// for what is not understood (classes, complements).
func translate(s, from, to string) (string, bool) {
	f, t := ranges(from), ranges(to)
	if len(f) == 0 || len(t) == 0 || strings.Contains(from, "[:") {
		return s, false
	}
	var table [256]byte
	for i := range table {
		table[i] = byte(i)
	}
	for i, c := range f {
		table[c] = t[min(i, len(t)-1)]
	}
	out := []byte(s)
	for i, c := range out {
		out[i] = table[c]
	}
	return string(out), true
}

func ranges(s string) []byte {
	s = effects.Unescape(strings.Trim(s, "[]"))
	var out []byte
	for i := 0; i < len(s) && len(out) < 512; i++ {
		if i+2 < len(s) && s[i+1] == '-' && s[i] <= s[i+2] {
			for c := int(s[i]); c <= int(s[i+2]); c++ {
				out = append(out, byte(c))
			}
			i += 2
			continue
		}
		out = append(out, s[i])
	}
	return out
}

func reverse(s string) string {
	r := []rune(s)
	for i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 {
		r[i], r[j] = r[j], r[i]
	}
	return string(r)
}
