package executor

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"reeve.example/reeve/internal/pubkey"
	"reeve.example/reeve/internal/rawjson"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json"
)

// Peer is an agent that is known by the keys that it signs its card with.
type Peer struct {
	Origin string // scheme, host and port
	Keys   jose.JSONWebKeySet
}

// ParsePeer reads a peer of the form ORIGIN=REFERENCE, such as agent.example.com=file:PATH.
// What the reference names is a JWK Set, one JWK, or a public key in PEM; file reads it. An
// origin without a scheme means https.
func ParsePeer(text string, file func(reference string) ([]byte, error)) (p Peer, err error) {
	where, reference, ok := strings.Cut(text, "=")
	if !ok || where == "" || reference == "" {
		return p, fmt.Errorf("%q is not of the form ORIGIN=file:PATH", cut(where, 200))
	}
	if !strings.Contains(where, "://") {
		where = "https://" + where
	}
	u, err := url.Parse(where)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return p, fmt.Errorf("%q is not the origin of an agent, such as agent.example.com or https://agent.example.com:8443", cut(where, 200))
	}
	p.Origin = originOf(u)
	key, err := file(reference)
	if err != nil {
		return p, fmt.Errorf("%s: %w", where, err)
	}
	if p.Keys, err = readKeys(key); err != nil {
		return p, fmt.Errorf("%s: %w", where, err)
	}
	return p, nil
}

// originOf is where a URL leads, in the one form that is compared.
func originOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(net.JoinHostPort(strings.TrimSuffix(u.Hostname(), "."), port))
}

// cardAlgorithms are those that a card may be signed with: of secrets that are shared, and of
// no signature at all, nobody else can tell whose it is.
var cardAlgorithms = []jose.SignatureAlgorithm{jose.EdDSA, jose.ES256, jose.ES384, jose.ES512, jose.PS256, jose.RS256}

const maxCardSignatures = 8

// readKeys reads public keys.
func readKeys(text []byte) (set jose.JSONWebKeySet, err error) {
	if strings.HasPrefix(strings.TrimSpace(string(text)), "-----BEGIN") {
		block, _ := pem.Decode(text)
		if block == nil {
			return set, errors.New("the key is not PEM")
		}
		key, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			return set, errors.New("it is no public key in PEM (PKIX)")
		}
		set.Keys = []jose.JSONWebKey{{Key: key}}
	} else if err := json.Unmarshal(text, &set); err != nil || len(set.Keys) == 0 {
		var one jose.JSONWebKey
		if one.UnmarshalJSON(text) != nil {
			return set, errors.New("it is neither a JWK Set, nor a JWK, nor a public key in PEM")
		}
		set.Keys = []jose.JSONWebKey{one}
	}
	for _, k := range set.Keys {
		if !k.Valid() || !k.IsPublic() {
			return set, errors.New("the keys must be public ones, and whole: who verifies needs no secret")
		}
		if key, ok := k.Key.(ed25519.PublicKey); ok {
			if _, err := pubkey.Ed25519(key); err != nil {
				return set, err
			}
		}
	}
	return set, nil
}

// verifyCard returns what of a card its signature covers: it is what is read then, so that
// nothing else can change what it says. An address in the signature (jku) is not asked: who
// writes a card would choose the key.
func verifyCard(card []byte, keys *jose.JSONWebKeySet) ([]byte, error) {
	var members map[string]any
	if err := json.Unmarshal(card, &members); err != nil { // a member that is there twice is refused
		return nil, errors.New("it is no JSON object that is unambiguous")
	}
	var signed struct {
		Signatures []struct {
			Protected string `json:"protected"`
			Signature string `json:"signature"`
		} `json:"signatures"`
	}
	if err := json.Unmarshal(card, &signed); err != nil {
		return nil, errors.New("its signatures are not of the protocol's form")
	}
	if n := len(signed.Signatures); n == 0 {
		return nil, errors.New("it is not signed")
	} else if n > maxCardSignatures {
		return nil, fmt.Errorf("it has %d signatures, and %d are looked at", n, maxCardSignatures)
	}
	delete(members, "signatures")
	// The protocol has what is empty left out before it is signed, and not every agent
	// serves its card so.
	var forms [][]byte
	for _, value := range []any{members, withoutEmpty(members)} {
		text, err := json.Marshal(value, json.Deterministic(true))
		if err != nil {
			return nil, err
		}
		doc, err := rawjson.Parse(text)
		if err != nil {
			return nil, err
		}
		forms = append(forms, doc.Root().AppendCanonical(nil))
	}
	for _, s := range signed.Signatures {
		for _, form := range forms {
			object, err := jose.ParseDetached(s.Protected+".."+s.Signature, form, cardAlgorithms)
			if err != nil {
				break
			}
			for _, k := range keys.Keys {
				kid := object.Signatures[0].Header.KeyID
				if kid != "" && k.KeyID != "" && kid != k.KeyID || k.Algorithm != "" && k.Algorithm != object.Signatures[0].Header.Algorithm || k.Use != "" && k.Use != "sig" {
					continue
				}
				if object.DetachedVerify(form, k.Key) == nil {
					return form, nil
				}
			}
		}
	}
	return nil, errors.New("none of its signatures is one of the keys that are trusted for it")
}

// withoutEmpty is a value without members and elements that say nothing.
func withoutEmpty(value any) any {
	switch v := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for name, member := range v {
			if member = withoutEmpty(member); member != nil {
				kept[name] = member
			}
		}
		if len(kept) > 0 {
			return kept
		}
		return nil
	case []any:
		var kept []any
		for _, e := range v {
			if e = withoutEmpty(e); e != nil {
				kept = append(kept, e)
			}
		}
		if len(kept) > 0 {
			return slices.Clip(kept)
		}
		return nil
	case string:
		if v == "" {
			return nil
		}
	}
	return value
}
