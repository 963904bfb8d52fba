package identity

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/lazyregexp"
)

// keyPrefix begins every API key's secret: reeve_NAME_43 characters. It tells
// keys from tokens, and lets scanners for leaked secrets find them.
const keyPrefix = "reeve_"

// methodKey is the method of principals that are known by an API key.
const methodKey = "key"

// keyName is what names a key: it stands in records and on terminals.
var keyName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// personName is what names a person: a word, or an address of e-mail.
var personName = lazyregexp.New(`^[\pL\pN][\pL\pN._@+-]{0,127}$`)

// Key is an API key. The secret itself is never stored.
type Key struct {
	Name         string
	Hash         [32]byte // SHA-256 of the secret
	Role         string
	Organization string
	Person       string // who holds it, where one person has several credentials; or empty
	Created      time.Time
	Revoked      time.Time // zero while valid
	// Given says that the node's configuration has the key, and no database.
	Given bool
	// Damaged says that what is stored of it cannot be read. It lets nobody in; others
	// still need a credential, as with any key.
	Damaged bool
	// Seal proves that a node of the database wrote it; empty on one of a configuration.
	Seal string
}

// Fields are all that a stored key says, in one order: what its seal is made of.
func (k Key) Fields() []string {
	at := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return strconv.FormatInt(t.UnixNano(), 10)
	}
	return []string{k.Name, string(k.Hash[:]), k.Role, k.Organization, k.Person, at(k.Created), at(k.Revoked)}
}

// Keys is where API keys are kept.
type Keys interface {
	// PutKey adds an API key, or replaces the one with its name.
	PutKey(ctx context.Context, k Key) error
	// Keys lists all API keys, revoked ones too, oldest first.
	Keys(ctx context.Context) ([]Key, error)
}

// NewKey makes an API key. The secret is shown to its holder once; the key
// holds nothing but its hash.
func NewKey(name string, role Role, organization, person string, now time.Time) (key Key, secret string, err error) {
	if key, err = named(name, role, organization, person); err != nil {
		return Key{}, "", err
	}
	var random [32]byte
	rand.Read(random[:]) // never fails
	digits := new(big.Int).SetBytes(random[:]).Text(62)
	const longest = 43 // digits of 2^256 in base 62
	secret = keyPrefix + name + "_" + strings.Repeat("0", longest-len(digits)) + digits
	key.Hash, key.Created = sha256.Sum256([]byte(secret)), now
	return key, secret, nil
}

// ParseKey reads a key that a configuration has, NAME=ROLE:HASH, or NAME=ROLE@PERSON:HASH. hash reads the hash,
// where it stands elsewhere.
func ParseKey(text string, hash func(reference string) (string, error)) (Key, error) {
	name, rest, ok := strings.Cut(text, "=")
	role, digest, also := strings.Cut(rest, ":")
	if !ok || !also {
		return Key{}, errors.New("a key is given as NAME=ROLE:HASH, as reeve keys generate prints it") // and what is there may be a secret
	}
	role, person, _ := strings.Cut(role, "@")
	key, err := named(name, Role(role), "", person)
	if err != nil {
		return Key{}, err
	}
	if !strings.HasPrefix(digest, hashPrefix) {
		if digest, err = hash(digest); err != nil {
			return Key{}, fmt.Errorf("the key %s: %w", name, err)
		}
	}
	// What is there in its place may be the secret: it is not repeated.
	sum, err := hex.DecodeString(strings.TrimPrefix(strings.TrimSpace(digest), hashPrefix))
	if err != nil || len(sum) != len(key.Hash) || !strings.HasPrefix(digest, hashPrefix) {
		return Key{}, fmt.Errorf("the key %s: its hash is not %s and 64 hex digits", name, hashPrefix)
	}
	key.Hash, key.Given = [32]byte(sum), true
	return key, nil
}

// hashPrefix begins the hash of a key's secret in a configuration.
const hashPrefix = "sha256:"

// Setting is the key as a configuration has it.
func (k Key) Setting() string {
	role := k.Role
	if k.Person != "" {
		role += "@" + k.Person
	}
	return k.Name + "=" + role + ":" + hashPrefix + hex.EncodeToString(k.Hash[:])
}

// KnownKey is a key whose secret somebody else made: long enough that nobody guesses it.
func KnownKey(name string, role Role, person, secret string) (Key, error) {
	key, err := named(name, role, "", person)
	if err != nil {
		return Key{}, err
	}
	const shortest = 32 // characters after the prefix
	if !strings.HasPrefix(secret, keyPrefix) || len(secret) < len(keyPrefix)+shortest || len(secret) > longestSecret || strings.ContainsAny(secret, " \t\r\n") {
		return Key{}, fmt.Errorf("the secret of a key begins with %s and has at least %d characters after that, none of them a space", keyPrefix, shortest)
	}
	key.Hash = sha256.Sum256([]byte(secret))
	return key, nil
}

const longestSecret = 512

// named is a key without a secret yet.
func named(name string, role Role, organization, person string) (Key, error) {
	if !keyName.MatchString(name) {
		return Key{}, fmt.Errorf("%.80q is no name for a key: use 1 to 64 letters, digits, dots, dashes and underscores, and begin with a letter or digit", name)
	}
	if _, ok := ParseRole(string(role)); !ok {
		return Key{}, fmt.Errorf("%.80q is no role: choose agent, approver, auditor or admin", string(role))
	}
	if !printable(organization) {
		return Key{}, errors.New("the organization is longer than 256 bytes or has control characters")
	}
	if person != "" && !personName.MatchString(person) {
		return Key{}, fmt.Errorf("%.80q is no name for a person: use 1 to 128 letters, digits and . _ @ + -, and begin with a letter or digit", person)
	}
	return Key{Name: name, Role: string(role), Organization: organization, Person: person}, nil
}

// keyRing is the keys that are taken, by the hash of their secrets. Looking up
// a hash tells an observer of the time at most something about the hash of what
// they sent themselves.
type keyRing struct {
	configured bool // there are keys, if only revoked ones
	byHash     map[[32]byte]holder
	revoked    map[string]bool // principals, by their names
}

type holder struct {
	caller
	revoked bool
}

func newKeyRing(keys []Key) *keyRing {
	ring := &keyRing{configured: len(keys) > 0, byHash: make(map[[32]byte]holder, len(keys)), revoked: map[string]bool{}}
	for _, k := range keys {
		if !k.Revoked.IsZero() || k.Damaged {
			ring.revoked["key:"+k.Name] = true
		}
	}
	for _, k := range keys {
		if k.Revoked.IsZero() && !k.Damaged { // the same name may be configured, too
			delete(ring.revoked, "key:"+k.Name)
		}
		role, ok := ParseRole(k.Role)
		if !ok || k.Damaged {
			continue // a role of a newer version: what it may do is not known here
		}
		p := act.Principal{Name: "key:" + k.Name, Method: methodKey, Organization: k.Organization, Person: k.Person}
		ring.byHash[k.Hash] = holder{caller{p, role}, !k.Revoked.IsZero()}
	}
	return ring
}

func (ring *keyRing) holder(hash [32]byte) (act.Principal, Role, error) {
	h, ok := ring.byHash[hash]
	if !ok {
		return act.Principal{}, "", refused(nil, "The API key is not valid.")
	}
	if h.revoked {
		// Only who has the secret can learn this.
		return act.Principal{}, "", refused(fmt.Errorf("%s is revoked", h.principal.Name), "The API key has been revoked.")
	}
	return h.principal, h.role, nil
}

// plain reports whether a name that others must tell from its like has nothing in it that is
// not seen: a twin of an actor would be none of a rule's names, and look like it in records.
func plain(s string) bool {
	return printable(s) && s == canon.Visible(s) && s == strings.TrimSpace(s) && !strings.ContainsFunc(s, func(r rune) bool { return r != ' ' && unicode.IsSpace(r) })
}

// printable reports whether a name from outside can stand in records and logs.
func printable(s string) bool {
	const longest = 256
	return len(s) <= longest && !strings.ContainsFunc(s, func(r rune) bool {
		return r < 0x20 || r >= 0x7f && r < 0xa0 || r == '�' || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
	})
}
