package approval

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/canon"
)

// One person has many names: that of a key, a token's subject, an address, what an agent
// writes into its user. Where being the same person forbids something, names are compared
// here, and loosely: who might be the same is. Where it permits something, as in a rule's
// approvers, names are compared as they are written.

// maxNamed is how many forms of one name are looked at.
const maxNamed = 16

// person is one form of a name: letters and digits as they look, and at which domain, if
// that is said.
type person struct{ name, domain string }

// personsIn are the persons that a name may mean: "jwt:https://sso.example#Bob", "bob ",
// "Bob <bob@corp.example>", `CORP\bob`, "uid=bob,ou=people" and "socket:bob(1000)" all mean
// bob.
func personsIn(name string) (list []person) {
	name, _ = canon.Name(name)
	add := func(s string) {
		local, domain, _ := strings.Cut(s, "@")
		if domain != "" { // a mailbox gets what is sent to bob+anything, too
			local, _, _ = strings.Cut(local, "+")
		}
		p := person{letters(local), letters(domain)}
		if p.name == "" { // "@bob"
			p = person{p.domain, ""}
		}
		if p.name != "" && len(list) < maxNamed && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	add(name)
	words, address, _ := strings.Cut(strings.TrimRight(name, "> "), "<") // a name with its address
	for _, part := range []string{words, address} {
		part, _, _ = strings.Cut(part, "(") // a number, or a remark
		add(part)
		part, _, _ = strings.Cut(part, "?")
		if i := strings.LastIndexAny(part, `:/\#|!`); i >= 0 {
			part = part[i+1:]
			add(part)
		}
		// A distinguished name begins with the person's own part, and may go on with others of it.
		for _, piece := range strings.Split(part, ",") {
			if kind, value, ok := strings.Cut(piece, "="); ok && kind != "ou" && kind != "dc" && kind != "o" && kind != "c" {
				add(value)
			}
		}
	}
	return list
}

// letters are what of a text is letters and digits, without accents.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, norm.NFD.String(s))
}

// mayBe reports whether two names may be of one person. Of two addresses the domains must be
// the same; a name without one may be at any.
func mayBe(a, b string) bool {
	others := personsIn(b)
	return slices.ContainsFunc(personsIn(a), func(p person) bool {
		return slices.ContainsFunc(others, func(o person) bool {
			return p.name == o.name && (p.domain == o.domain || p.domain == "" || o.domain == "")
		})
	})
}

// SamePerson reports whether two credentials may be of one person: then the answers by both
// count once, and the one does not confirm what the other did.
func SamePerson(a, b act.Principal) bool {
	if a.Name == b.Name {
		return true
	}
	return mayBe(a.Holder(), b.Holder())
}
