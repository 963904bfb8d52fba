package identity

import (
	"slices"
	"strings"

	"reeve.example/reeve/act"
)

// Bounds of what a token says of its delegation.
const (
	maxActors = 8   // one after the other
	maxScopes = 200 // each of them as long as a name
)

// actsFor stands between an actor and the subject in the name of a principal that acts for
// another. No subject may hold it, so that no token is taken for another's delegate.
const actsFor = "?for="

// delegation reads by whose leave the holder of a token acts (RFC 8693, section 4): the
// actor, and for whom. Whoever acts is the principal then, and not the subject: an agent
// that acts for a person must not be taken for that person where people are asked. Yet it
// is another principal for each subject, so that what it does for one is not another's.
// Prior actors are for the record and for policies: the token gives them nothing.
func delegation(claims map[string]any, issuer, subject string) (name string, d *act.Delegation, err error) {
	said := act.Delegation{}
	if said.Client, err = client(claims); err != nil {
		return "", nil, err
	}
	if said.Scopes, err = scopes(claims); err != nil {
		return "", nil, err
	}
	name = nameOf(issuer, subject)
	if first, ok := claims["act"]; ok {
		if said.Actors, err = actors(first, issuer); err != nil {
			return "", nil, err
		}
		if allowed, there := claims["may_act"]; there && !mayAct(allowed, first) {
			return "", nil, refused(nil, "The token says who may act for its subject, and is of another actor.")
		}
		said.OnBehalfOf = name
		if !strings.HasPrefix(said.Actors[0], nameOf(issuer, "")) || strings.HasPrefix(subject, "jwt:") {
			subject = name // of another issuer than the actor, or one that reads like a whole name
		}
		name = said.Actors[0] + actsFor + subject
	}
	if said.OnBehalfOf == "" && said.Client == "" && len(said.Scopes) == 0 {
		return name, nil, nil
	}
	return name, &said, nil
}

// ActingFor is how the names of principals end that act for a subject. Others may end so,
// too: DelegationIn says of each whom it acts for.
func ActingFor(principal string) (ends []string) {
	_, subject, ok := strings.Cut(principal, "#")
	if !ok || !strings.HasPrefix(principal, "jwt:") {
		return nil
	}
	return []string{actsFor + subject, actsFor + principal}
}

// DelegationIn is what the name of a principal says of by whose leave it acts: who acts, and
// for whom. It is nil where the principal acts for itself.
func DelegationIn(name string) *act.Delegation {
	actor, subject, ok := strings.Cut(name, actsFor)
	issuer, _, also := strings.Cut(actor, "#")
	if !ok || !also || !strings.HasPrefix(name, "jwt:") {
		return nil
	}
	if !strings.HasPrefix(subject, "jwt:") {
		subject = issuer + "#" + subject
	}
	return &act.Delegation{OnBehalfOf: subject, Actors: []string{actor}}
}

// nameOf is the principal's name of a subject of an issuer.
func nameOf(issuer, subject string) string { return "jwt:" + issuer + "#" + subject }

// subjectOf reads a subject, which may be recorded, and taken for nobody else.
func subjectOf(claims map[string]any) (subject string, ok bool) {
	subject, _ = claims["sub"].(string)
	return subject, subject != "" && printable(subject) && !strings.Contains(subject, actsFor)
}

// actors reads the claim act and those within it.
func actors(claim any, issuer string) (names []string, err error) {
	for claim != nil {
		of, ok := claim.(map[string]any)
		subject, also := subjectOf(of)
		if !ok || !also || !plain(subject) {
			return nil, refused(nil, "The token names an actor without a subject, or with one that cannot be recorded.")
		}
		by, other := issuer, false
		if by, other = of["iss"].(string); !other {
			if _, there := of["iss"]; there {
				return nil, refused(nil, "The token names an actor of an issuer that is no text.")
			}
			by = issuer
		}
		// Behind a # the name's subject begins: one of another issuer would read like this one's.
		if by == "" && issuer != "" || !plain(by) || strings.Contains(by, actsFor) || by != issuer && strings.Contains(by, "#") {
			return nil, refused(nil, "The token names an actor of an issuer that cannot be recorded.")
		}
		if len(names) == maxActors {
			return nil, refused(nil, "The token names too many actors.")
		}
		names = append(names, nameOf(by, subject))
		if inner, there := of["act"]; there && inner == nil {
			return nil, refused(nil, "The token names an actor that is null.")
		}
		claim = of["act"]
	}
	if names == nil {
		return nil, refused(nil, "The token names an actor that is null.")
	}
	return names, nil
}

// mayAct reports whether an actor is the one that a token says may act (RFC 8693, section
// 4.4): all that identifies the one stands in the other, too.
func mayAct(allowed, actor any) bool {
	want, ok := allowed.(map[string]any)
	is, also := actor.(map[string]any)
	if !ok || !also || want["sub"] == nil {
		return false
	}
	for name, value := range want {
		text, plain := value.(string)
		if said, there := is[name].(string); !plain || !there || said != text {
			return false
		}
	}
	return true
}

// client is the OAuth client that a token was given to: client_id (RFC 9068), or azp.
func client(claims map[string]any) (string, error) {
	found := ""
	for _, claim := range []string{"client_id", "azp"} {
		value, there := claims[claim]
		if !there {
			continue
		}
		name, ok := value.(string)
		if !ok || name == "" || !printable(name) {
			return "", refused(nil, "The token names a client that cannot be recorded.")
		}
		if found != "" && name != found {
			return "", refused(nil, "The token names two clients.")
		}
		found = name
	}
	return found, nil
}

// scopes are what a token is good for: scope (RFC 8693, section 4.2), or scp, as some
// issuers have it, each as one text or a list.
func scopes(claims map[string]any) (list []string, err error) {
	found := false
	for _, claim := range []string{"scope", "scp"} {
		value, there := claims[claim]
		if !there {
			continue
		}
		var said []string
		switch value := value.(type) {
		case string:
			said = strings.Fields(value)
		case []any:
			for _, v := range value {
				name, ok := v.(string)
				if !ok || name == "" || strings.ContainsAny(name, " \t\r\n") {
					return nil, refused(nil, "The token has scopes that cannot be read.")
				}
				said = append(said, name)
			}
		default:
			return nil, refused(nil, "The token has scopes that cannot be read.")
		}
		if len(said) > maxScopes || slices.ContainsFunc(said, func(s string) bool { return !printable(s) }) {
			return nil, refused(nil, "The token has scopes that cannot be recorded, or too many.")
		}
		slices.Sort(said)
		said = slices.Compact(said)
		if found && !slices.Equal(list, said) {
			return nil, refused(nil, "The token has two lists of scopes, which differ.")
		}
		list, found = said, true
	}
	return list, nil
}
