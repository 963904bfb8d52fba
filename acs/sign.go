package acs

import (
	"bytes"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"hash"
	"strconv"

	"reeve.example/reeve/internal/content"
	"reeve.example/reeve/internal/rawjson"
)

// Algorithm is the one of the signatures that are taken and given.
const Algorithm = "HMAC-SHA256"

// MinSecret is the least that a key's secret may have, in bytes.
const MinSecret = 32

// A Key signs for one agent. Two keys of one agent, with different labels, are how a
// secret is replaced while the agent works.
type Key struct {
	ID     string // the label that signatures name
	Agent  string // the name of the credential: the same agent's API key may bear it, too
	Secret []byte
	// Asks says that the agent shows its user what is asked, and goes on as they answer.
	Asks bool
	// extracted is of the secret what is the same for all sessions; nil until prepared.
	extracted []byte
}

// ErrUnsigned: there is no signature, or none that holds.
var ErrUnsigned = errors.New("the signature is missing, or does not hold")

// sessionKey is what signs for a session: the secret itself signs nothing, so that what
// one session's signatures give away is nothing of another's.
func (k *Key) sessionKey(session string) []byte {
	extracted, err := k.extracted, error(nil)
	if extracted == nil {
		extracted, err = hkdf.Extract(sha256.New, k.Secret, nil)
	}
	if err == nil {
		extracted, err = hkdf.Expand(sha256.New, extracted, session, sha256.Size)
	}
	if err != nil {
		panic(err) // of a length that SHA-256 always has
	}
	return extracted
}

// signer signs within one session, under a key's label.
type signer struct {
	label string
	mac   hash.Hash
}

func (k *Key) signer(session string) signer {
	return signer{k.ID, hmac.New(sha256.New, k.sessionKey(session))}
}

func (s signer) sum(canonical ...[]byte) []byte {
	s.mac.Reset()
	for _, part := range canonical {
		s.mac.Write(part)
	}
	return s.mac.Sum(nil)
}

// Sign returns a request with its signature: its params must be an object that names the
// session in its metadata. It is what an agent does.
func (k *Key) Sign(request []byte) ([]byte, error) {
	doc, err := rawjson.Parse(request)
	if err != nil {
		return nil, err
	}
	root := doc.Root()
	params := root.Get("params")
	if params.Kind() != rawjson.Object || params.Len() == 0 {
		return nil, errors.New("a request of ACS has params")
	}
	f, err := formOf(root)
	if err != nil {
		return nil, err
	}
	session := params.Get("metadata").Get("session_id").Text()
	signed := content.AppendWithout(nil, params, "signature")
	signed = append(signed[:len(signed)-1], `,"signature":`...)
	signed = append(k.signer(session).append(signed, f.signed()...), '}')
	return doc.Splice([]rawjson.Replacement{{At: params, With: signed}})
}

// Verify reports whether an answer is the guardian's, to a request of this session.
func (k *Key) Verify(answer []byte, session string) error {
	doc, err := rawjson.Parse(answer)
	if err != nil {
		return err
	}
	root := doc.Root()
	name := "result"
	if !root.Get(name).Exists() {
		name = "error"
	}
	holder := root.Get(name)
	form, err := canonicalAnswer(root.Get("id").Raw(), name, content.AppendWithout(nil, holder, "signature"))
	if err != nil {
		return err
	}
	return k.signer(session).check(holder.Get("signature"), form)
}

func (s signer) check(signature rawjson.Value, form ...[]byte) error {
	value, err := base64.StdEncoding.Strict().DecodeString(signature.Get("value").Text())
	if err != nil || !signature.Get("algorithm").Is(Algorithm) || !signature.Get("key_id").Is(s.label) || !hmac.Equal(value, s.sum(form...)) {
		return ErrUnsigned
	}
	return nil
}

// append appends the signature of a canonical form.
func (s signer) append(b []byte, form ...[]byte) []byte {
	b = append(b, `{"algorithm":"`+Algorithm+`","key_id":`...)
	b = rawjson.AppendString(b, s.label)
	b = append(b, `,"value":"`...)
	b = base64.StdEncoding.AppendEncode(b, s.sum(form...))
	return append(b, '"', '}')
}

// inexact finds a number that RFC 8785 writes as another one, since a double does not
// hold it: two of them would have one signature, and the tool could be given the other.
func inexact(v rawjson.Value) (at rawjson.Value, found bool) {
	switch v.Kind() {
	case rawjson.Number:
		return v, !exact(v.Raw())
	case rawjson.Array:
		for _, e := range v.Elems() {
			if at, found := inexact(e); found {
				return at, true
			}
		}
	case rawjson.Object:
		for _, m := range v.Members() {
			if at, found := inexact(m); found {
				return at, true
			}
		}
	}
	return rawjson.Value{}, false
}

// exact reports whether a number is the same once a double has held it.
func exact(token []byte) bool {
	f, err := strconv.ParseFloat(string(token), 64)
	if err != nil {
		return false // beyond all doubles
	}
	digits, power, ok := decimal(token)
	held, heldPower, _ := decimal(strconv.AppendFloat(nil, f, 'e', -1, 64))
	return ok && bytes.Equal(digits, held) && power == heldPower
}

// decimal reads a number as digits, without zeros at the ends, times a power of ten.
func decimal(token []byte) (digits []byte, power int, ok bool) {
	mantissa, exponent := token, 0
	if i := bytes.IndexAny(token, "eE"); i >= 0 {
		var err error
		if exponent, err = strconv.Atoi(string(token[i+1:])); err != nil {
			return nil, 0, false
		}
		mantissa = token[:i]
	}
	mantissa = bytes.TrimPrefix(mantissa, []byte("-"))
	whole, fraction, _ := bytes.Cut(mantissa, []byte("."))
	digits = append(bytes.Clone(whole), fraction...)
	digits = bytes.TrimLeft(digits, "0")
	trimmed := bytes.TrimRight(digits, "0")
	if len(trimmed) == 0 {
		return nil, 0, true
	}
	return trimmed, exponent - len(fraction) + len(digits) - len(trimmed), true
}

// Entry is one link of a session's chain, as both sides can make it of a request alone.
type Entry struct {
	RequestID, Method, Timestamp, TurnID string
	Params                               [sha256.Size]byte // of the canonical params, the signature included
	Previous                             string            // the head before, in hex; empty for the first
}

// EntryOf is the entry of a request behind a head.
func EntryOf(request []byte, previous string) (*Entry, error) {
	doc, err := rawjson.Parse(request)
	if err != nil {
		return nil, err
	}
	f, err := formOf(doc.Root())
	if err != nil {
		return nil, err
	}
	return entryOf(doc.Root(), f.paramsHash(), previous), nil
}

func entryOf(root rawjson.Value, params [sha256.Size]byte, previous string) *Entry {
	p := root.Get("params")
	return &Entry{
		RequestID: p.Get("request_id").Text(), Method: root.Get("method").Text(), Timestamp: p.Get("timestamp").Text(),
		TurnID: p.Get("metadata").Get("turn_id").Text(), Params: params, Previous: previous,
	}
}

// Head is the head of the chain behind the entry, in hex.
func (e *Entry) Head() string {
	h := sha256.New()
	h.Write(e.form())
	if previous, err := hex.DecodeString(e.Previous); err == nil {
		h.Write(previous)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// form is the entry in canonical form, without the hashes that chain it: its members are
// in their order already.
func (e *Entry) form() []byte {
	b := rawjson.AppendString([]byte(`{"entry_id":`), e.RequestID)
	b = append(b, `,"request_hash":"`...)
	b = hex.AppendEncode(b, e.Params[:])
	b = rawjson.AppendString(append(b, `","step_id":`...), e.RequestID)
	b = rawjson.AppendString(append(b, `,"step_type":`...), e.Method)
	b = rawjson.AppendString(append(b, `,"timestamp":`...), e.Timestamp)
	if e.TurnID != "" {
		b = rawjson.AppendString(append(b, `,"turn_id":`...), e.TurnID)
	}
	return append(b, '}')
}

// link is an entry with the head behind it, which is made once.
type link struct {
	*Entry
	head string
}

// append appends the entry whole.
func (e *link) append(b []byte) []byte {
	b = append(b, e.form()...)
	b = append(b[:len(b)-1], `,"previous_hash":`...)
	if e.Previous == "" {
		b = append(b, "null"...)
	} else {
		b = rawjson.AppendString(b, e.Previous)
	}
	b = append(b, `,"entry_hash":"`...)
	return append(append(b, e.head...), '"', '}')
}
