package hazard

import (
	"net/url"
	"slices"
	"strings"

	"reeve.example/reeve/internal/risk"
)

// maxFields is how many parts of an address are looked at for a secret in another form.
const maxFields = 64

// packedSecret judges an address in which a secret stands in another form than its own: as escapes,
// in Base64 or digits, from behind, or in pieces. One that stands in it as it is, a policy finds.
func (a *assessor) packedSecret(raw string, at span) {
	_, rest, ok := strings.Cut(raw, "://")
	if !ok || len(raw) > 16<<10 || hostOf(raw).kind() != "public" {
		return
	}
	i := strings.IndexAny(rest, "/?#")
	if i < 0 {
		return
	}
	whole := ""
	var texts []string
	for field := range strings.FieldsFuncSeq(rest[i:], func(r rune) bool { return strings.ContainsRune("/?#&;", r) }) {
		if len(texts) == maxFields {
			break
		}
		name, value, named := strings.Cut(field, "=")
		if !named {
			value = name
		}
		texts = append(texts, value)
		whole += value
	}
	for _, text := range append(texts, whole) {
		for _, form := range formsOf(text) {
			if len(form) >= 8 && !strings.Contains(raw, form) && slices.ContainsFunc(risk.Scan(form, risk.Secret, nil), func(f risk.Finding) bool { return f.Score >= 0.7 }) {
				a.report("exfil.secret", 0.6, at)
				return
			}
		}
	}
}

// formsOf are the texts that a part of an address may stand for.
func formsOf(text string) []string {
	list := []string{text}
	if plain, err := url.PathUnescape(text); err == nil && plain != text {
		list = append(list, plain)
	}
	for _, t := range slices.Clone(list) {
		for range 2 { // one around the other
			decoded, ok := unhex(t)
			if !ok {
				decoded, ok = unbase64(t)
			}
			if !ok {
				break
			}
			list, t = append(list, decoded), decoded
		}
	}
	for _, t := range slices.Clone(list) {
		behind := []byte(t)
		slices.Reverse(behind)
		list = append(list, string(behind))
	}
	return list
}
