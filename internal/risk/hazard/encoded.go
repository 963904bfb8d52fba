package hazard

import (
	"net/url"
	"strings"

	"reeve.example/reeve/internal/risk"
)

// Bounds of what is looked for in other forms.
const (
	maxEncoded = 16   // runs of one text that are decoded
	minEncoded = 20   // bytes of a run
	maxTried   = 8192 // bytes of a text, and of a run
)

// encoded judges that a text that leaves the machine holds a secret in a form that detectors do not
// read: base64, hexadecimal, escaped for an address, backwards, or in pieces over its parameters.
// In the form that everybody sees it is for rules to say what becomes of it.
func (a *assessor) encoded(text string, at span) {
	if len(text) < minEncoded || len(text) > maxText {
		return
	}
	if len(text) > maxTried {
		text = text[:maxTried]
	}
	tried := []string{}
	if plain, err := url.QueryUnescape(text); err == nil && plain != text && strings.Contains(text, "%") {
		tried = append(tried, plain)
		text = plain
	}
	if u, err := url.Parse(text); err == nil && u.Host != "" && strings.Count(u.RawQuery, "&") > 0 {
		var all strings.Builder
		for pair := range strings.SplitSeq(u.RawQuery, "&") {
			_, value, _ := strings.Cut(pair, "=")
			all.WriteString(value)
		}
		tried = append(tried, all.String())
	}
	n := 0
	for run := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("+/_-", r))
	}) {
		if len(run) < minEncoded {
			continue
		}
		if n++; n > maxEncoded {
			break
		}
		words := []string{run}
		if i := strings.LastIndexByte(run, '/'); i >= 0 && len(run)-i > minEncoded {
			words = append(words, run[i+1:]) // the last part of a path
		}
		for _, w := range words {
			tried = append(tried, reverse(w))
			for _, decode := range []func(string) (string, bool){unbase64, unhex, unbase32} {
				if plain, ok := decode(w); ok {
					tried = append(tried, plain)
				}
			}
		}
	}
	for _, plain := range tried {
		if !a.spend(len(plain)) {
			return
		}
		for _, f := range risk.Scan(plain, risk.Secret, nil) {
			if f.Score >= 0.5 {
				a.report("exfil.secret", 0.6, at)
				return
			}
		}
	}
}
