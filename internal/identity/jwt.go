package identity

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/act"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/golang-jwt/jwt/v5"
)

// JWT says which tokens are taken. Either Secret or JWKS is set, never both: a
// token must not choose how it is checked.
type JWT struct {
	// Secret checks HS256 tokens. At least 32 bytes.
	Secret []byte
	// JWKS is a file or an https URL with the keys (RFC 7517) that check
	// RS256, ES256 and EdDSA tokens. It is read again when it gets old and
	// when a token names a key that is not in it.
	JWKS string
	// Issuer is what the claim iss must be. Required with JWKS.
	Issuer string
	// Audience must be among the claim aud. Required.
	Audience string
	// RoleClaim is the claim that holds the role, a string or an array; empty
	// means "role". A path with dots leads into objects: realm_access.roles.
	// A token without the claim has the role agent.
	RoleClaim string
	// Roles maps the claim's values to roles; nil means the roles' own names.
	Roles map[string]Role
	// OrganizationClaim is the claim that holds the organization, or the path to it; empty
	// means "organization".
	OrganizationClaim string
	// Organization is the one whose tokens alone are taken; empty for those of all.
	Organization string
	// Elsewhere are the organizations that have a node of their own beside this one: who is
	// of one of them is nobody here.
	Elsewhere []string
	// PersonClaim is the claim that says who holds the token, in the word by which API keys
	// say it; empty where none does. Nobody may be able to choose its value themselves.
	PersonClaim string
	// RequireProof takes no token that is not bound to a key or a certificate.
	RequireProof bool
	// Nonce asks for a nonce of this node in proofs (RFC 9449, section 9).
	Nonce bool
	// Leeway is the tolerated difference of clocks.
	Leeway time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// tokens checks JWTs.
type tokens struct {
	cfg    JWT
	parser *jwt.Parser
	jwks   *jwks // nil with a secret
	proofs *proofs
}

func newTokens(cfg JWT) (*tokens, error) {
	switch {
	case (len(cfg.Secret) == 0) == (cfg.JWKS == ""):
		return nil, errors.New("jwt: set either a secret or jwks, since a token must not choose how it is checked")
	case cfg.JWKS == "" && len(cfg.Secret) < 32:
		return nil, fmt.Errorf("jwt: the secret has %d bytes, and HS256 needs at least 32 to withstand guessing", len(cfg.Secret))
	case cfg.Audience == "":
		return nil, errors.New("jwt: the audience is required, or tokens meant for others would be taken")
	case cfg.JWKS != "" && cfg.Issuer == "":
		return nil, errors.New("jwt: the issuer is required with jwks")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	t := &tokens{cfg: cfg, proofs: newProofs(cfg.Now, cfg.Leeway, cfg.Nonce)}
	methods := []string{"HS256"}
	if cfg.JWKS != "" {
		methods = []string{"RS256", "ES256", "EdDSA"}
		var err error
		if t.jwks, err = newJWKS(cfg.JWKS, cfg.Now); err != nil {
			return nil, err
		}
	}
	options := []jwt.ParserOption{
		jwt.WithValidMethods(methods), jwt.WithAudience(cfg.Audience), jwt.WithExpirationRequired(),
		jwt.WithLeeway(cfg.Leeway), jwt.WithTimeFunc(cfg.Now), jwt.WithStrictDecoding(),
	}
	if cfg.Issuer != "" {
		options = append(options, jwt.WithIssuer(cfg.Issuer))
	}
	t.parser = jwt.NewParser(options...)
	return t, nil
}

// verify checks a token. Its header chooses among the keys that we have, and
// nothing else: no key inside it, and no address of one, is ever used.
func (t *tokens) verify(ctx context.Context, text string) (c *Credential, bound confirmation, err error) {
	refuse := func(cause error, reason string) (*Credential, confirmation, error) {
		return nil, confirmation{}, refused(cause, reason)
	}
	claims := jwt.MapClaims{}
	_, err = t.parser.ParseWithClaims(text, claims, func(token *jwt.Token) (any, error) {
		if _, critical := token.Header["crit"]; critical { // RFC 7515, section 4.1.11
			return nil, errors.New("the token has critical headers, and none is understood")
		}
		// A proof, a logout token or an event can have the claims of a token, and be signed by
		// the same issuer for another purpose (RFC 8725, section 3.11).
		if typ, said := token.Header["typ"]; said {
			text, _ := typ.(string)
			if kind := strings.TrimPrefix(strings.ToLower(text), "application/"); kind != "jwt" && kind != "at+jwt" {
				return nil, errors.New("the token's typ is of another kind")
			}
		}
		if t.jwks == nil {
			return t.cfg.Secret, nil
		}
		kid, _ := token.Header["kid"].(string)
		return t.jwks.key(ctx, kid, token.Method.Alg())
	})
	switch {
	case errors.Is(err, jwt.ErrTokenExpired):
		return refuse(err, "The token has expired.")
	case err != nil:
		return refuse(err, "The token is not valid.")
	}
	if err := Strict(text); err != nil {
		return refuse(err, "The token is not valid.")
	}
	by, role, err := t.cfg.Holder(claims)
	if err != nil {
		return nil, bound, err
	}
	if bound, err = confirmationOf(claims); err != nil {
		return nil, bound, err
	}
	until, err := claims.GetExpirationTime()
	if err != nil || until == nil {
		return refuse(err, "The token is not valid.")
	}
	return &Credential{Principal: by, Role: role, Ends: until.Add(t.cfg.Leeway)}, bound, nil
}

// Holder is whom a token names that was checked, and the role that it gives. Whoever logs in
// at a provider is the same one as by a token of it, so that nobody is two in a quorum.
func (cfg JWT) Holder(claims map[string]any) (by act.Principal, role Role, err error) {
	subject, ok := subjectOf(claims)
	issuer, _ := claims["iss"].(string)
	if !ok || !printable(issuer) || strings.Contains(issuer, actsFor) {
		return by, "", refused(nil, "The token names no subject, or one that cannot be recorded.")
	}
	organization, ok := cfg.organization(claims)
	if !ok {
		return by, "", refused(nil, "The token names several organizations, or one that cannot be recorded.")
	}
	if cfg.Organization != "" && organization != cfg.Organization {
		return by, "", refused(nil, elsewhere)
	}
	if slices.ContainsFunc(cfg.Elsewhere, func(o string) bool { return strings.EqualFold(o, organization) }) {
		return by, "", refused(nil, elsewhere)
	}
	person := ""
	if cfg.PersonClaim != "" {
		if person, _ = claims[cfg.PersonClaim].(string); person != "" && !personName.MatchString(person) {
			return by, "", refused(nil, "The token names a person that cannot be recorded.")
		}
	}
	if role, err = cfg.role(claims); err != nil {
		return by, "", err
	}
	name, delegated, err := delegation(claims, issuer, subject)
	if err != nil {
		return by, "", err
	}
	by = act.Principal{Name: name, Method: "jwt", Organization: organization, Person: person, Delegation: delegated}
	if by.Delegated().OnBehalfOf != "" {
		// The role and the person are the subject's. Who acts for an approver is none: it
		// would agree to what it asks for itself.
		delegated.Person, by.Person, role = person, "", Agent
	}
	return by, role, nil
}

// organization reads the organization: a text, a list of one, or an object whose one
// member has its name, as Keycloak writes it. Of several nobody can tell which is meant.
func (cfg JWT) organization(claims map[string]any) (name string, ok bool) {
	value, _ := claim(claims, cmp.Or(cfg.OrganizationClaim, "organization"))
	switch value := value.(type) {
	case nil:
		return "", true
	case string:
		name = value
	case []any:
		if len(value) == 0 {
			return "", true
		}
		if name, ok = value[0].(string); !ok || len(value) > 1 {
			return "", false
		}
	case map[string]any:
		if len(value) > 1 {
			return "", false
		}
		for name = range value {
		}
	default:
		return "", false
	}
	return name, printable(name)
}

// Strict refuses a token whose header or claims another reader could understand
// otherwise, such as one with a name that stands there twice. Whoever signed it
// may have looked at the one, and the role would be read from the other.
func Strict(text string) error {
	parts := strings.SplitN(text, ".", 3)
	if len(parts) != 3 {
		return errors.New("the token has not three parts")
	}
	for i, what := range []string{"header", "claims"} {
		data, err := base64.RawURLEncoding.Strict().DecodeString(parts[i])
		if err != nil {
			return err
		}
		if err := json.Unmarshal(data, new(map[string]jsontext.Value)); err != nil {
			return fmt.Errorf("the token's %s: %w", what, err)
		}
	}
	return nil
}

// role reads the role from the claims. A claim that is there and means no role,
// or more than one, is refused: guessing could give too much.
func (cfg JWT) role(claims map[string]any) (Role, error) {
	value, ok := claim(claims, cmp.Or(cfg.RoleClaim, "role"))
	if !ok {
		return Agent, nil
	}
	var names []string
	switch value := value.(type) {
	case string:
		names = []string{value}
	case []any:
		for _, v := range value {
			if name, ok := v.(string); ok {
				names = append(names, name)
			}
		}
	}
	var role Role
	for _, name := range names {
		r, ok := cfg.Roles[name]
		if cfg.Roles == nil {
			r, ok = ParseRole(name)
		}
		if !ok || r == role {
			continue
		}
		if role != "" {
			return "", refused(nil, "The token names more than one role.")
		}
		role = r
	}
	if role == "" {
		return "", refused(nil, "The token names no role that is known here.")
	}
	return role, nil
}

// claim finds a claim by its name or, if there is none of that name, by a path
// with dots.
func claim(claims map[string]any, path string) (any, bool) {
	if v, ok := claims[path]; ok {
		return v, true
	}
	first, rest, nested := strings.Cut(path, ".")
	inner, ok := claims[first].(map[string]any)
	if !nested || !ok {
		return nil, false
	}
	return claim(inner, rest)
}
