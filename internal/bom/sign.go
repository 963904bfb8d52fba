package bom

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"reeve.example/reeve/internal/ledger"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A bill is signed with the key of the node's log, by the JSON Signature Format (JSF): of a
// CycloneDX document in the document, as its specification says, and of the others in a
// statement beside it, which holds the document's hash.

// maxDocument bounds what is read to be verified.
const maxDocument = 32 << 20

// signature is that of JSF, with one signer.
type signature struct {
	Algorithm string    `json:"algorithm"`
	KeyID     string    `json:"keyId"` // the log's name
	PublicKey publicKey `json:"publicKey"`
	Value     string    `json:"value,omitzero"`
}

type publicKey struct {
	Type  string `json:"kty"`
	Curve string `json:"crv"`
	X     string `json:"x"`
}

// statementOf is the kind of a statement about a document.
const statementOf = "reeve bill of materials v1"

// Statement says which document a node has given out, where the document cannot hold its own
// signature.
type Statement struct {
	Statement  string    `json:"statement"`
	Format     Format    `json:"format"`
	SHA256     string    `json:"sha256"` // of the document
	Agent      string    `json:"agent"`
	Principal  string    `json:"principal"`
	Serial     string    `json:"serial"`
	Version    int       `json:"version"`
	Created    time.Time `json:"created"`
	Checkpoint []byte    `json:"checkpoint"`
	Signature  signature `json:"signature,omitzero"`
}

// Signer signs documents with a log's key: ledger.Log.
type Signer interface {
	SignDocument(document []byte) ([]byte, error)
	VerifierKey() string
}

// Sign writes the bill in a format, and signs it. statement is nil where the document holds
// its signature.
func (b *Bill) Sign(format Format, p *Proof, by Signer) (document, statement []byte, err error) {
	if document, err = b.Document(format, p); err != nil {
		return nil, nil, err
	}
	if format == CycloneDX16 || format == CycloneDX17 {
		document, err = sign(document, p.Log, by)
		return document, nil, err
	}
	sum := sha256.Sum256(document)
	text, err := json.Marshal(Statement{
		Statement: statementOf, Format: format, SHA256: hex.EncodeToString(sum[:]), Agent: b.Agent, Principal: b.Principal, Serial: b.Serial, Version: b.Version(),
		Created: p.Now.UTC().Truncate(time.Second), Checkpoint: p.Checkpoint,
	})
	if err == nil {
		statement, err = sign(text, p.Log, by)
	}
	return document, statement, err
}

// sign adds the signature to a JSON object.
func sign(document []byte, log string, by Signer) ([]byte, error) {
	key, err := ledger.PublicKey(by.VerifierKey())
	if err != nil {
		return nil, err
	}
	s := signature{"Ed25519", log, publicKey{"OKP", "Ed25519", base64.RawURLEncoding.EncodeToString(key)}, ""}
	unsigned, err := withSignature(document, &s)
	if err != nil {
		return nil, err
	}
	value, err := by.SignDocument(unsigned)
	if err != nil {
		return nil, err
	}
	s.Value = base64.RawURLEncoding.EncodeToString(value)
	signed, err := withSignature(document, &s)
	if err == nil {
		err = (*jsontext.Value)(&signed).Indent(jsontext.WithIndent("  "))
	}
	return append(signed, '\n'), err
}

// withSignature is a JSON object with this signature in the canonical form (RFC 8785).
func withSignature(document []byte, s *signature) ([]byte, error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(document, &members); err != nil {
		return nil, err
	}
	if members == nil {
		return nil, errors.New("it is not a JSON object")
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	members["signature"] = text
	whole, err := json.Marshal(members)
	if err == nil {
		err = (*jsontext.Value)(&whole).Canonicalize()
	}
	return whole, err
}

// Verified is what a verified bill says.
type Verified struct {
	Format     Format    `json:"format"`
	Agent      string    `json:"agent"`
	Serial     string    `json:"serial"`
	Version    int       `json:"version"`
	Created    time.Time `json:"created"`
	Log        string    `json:"log"`
	Size       uint64    `json:"size"` // records under the checkpoint
	Components int       `json:"components,omitzero"`
}

// Verify checks a bill that a node gave out, offline: that the log with this public key has
// signed it as it is, and signed the checkpoint in it. statement is nil for a document that
// holds its own signature. The error is a sentence that says what does not hold.
func Verify(document, statement []byte, vkey string) (v Verified, err error) {
	if len(document) > maxDocument || len(statement) > maxDocument {
		return v, fmt.Errorf("it is larger than %d bytes", maxDocument)
	}
	signed := document
	if statement != nil {
		signed = statement
	}
	if err := verify(signed, vkey); err != nil {
		return v, err
	}
	var checkpoint []byte
	if statement != nil {
		v, checkpoint, err = ofStatement(document, statement)
	} else {
		v, checkpoint, err = ofCycloneDX(document)
	}
	if err != nil {
		return v, err
	}
	cp, err := ledger.OpenCheckpoint(checkpoint, vkey)
	if err != nil {
		return v, fmt.Errorf("the checkpoint in it: %w", err)
	}
	v.Log, v.Size = cp.Origin, cp.Size
	return v, nil
}

// verify checks the signature in a JSON object.
func verify(document []byte, vkey string) error {
	want, err := ledger.PublicKey(vkey)
	if err != nil {
		return fmt.Errorf("the key: %w", err)
	}
	var has struct {
		Signature jsontext.Value `json:"signature"`
	}
	if err := json.Unmarshal(document, &has); err != nil {
		return errors.New("it is no JSON object that can be read")
	}
	if has.Signature == nil {
		return errors.New("it is not signed: a bill in SPDX or SWID is signed in a file beside it")
	}
	// A signature with other members, such as "excludes", leaves out what it covers.
	var s signature
	if err := json.Unmarshal(has.Signature, &s, json.RejectUnknownMembers(true)); err != nil {
		return errors.New("its signature is not one of a node's")
	}
	if s.Algorithm != "Ed25519" || s.PublicKey != (publicKey{"OKP", "Ed25519", base64.RawURLEncoding.EncodeToString(want)}) {
		return errors.New("it is signed with another key than the one given")
	}
	value, err := base64.RawURLEncoding.Strict().DecodeString(s.Value)
	if err != nil || strings.ContainsAny(s.Value, "\r\n") { // which the decoder passes over
		return errors.New("its signature is damaged")
	}
	s.Value = ""
	unsigned, err := withSignature(document, &s)
	if err != nil {
		return errors.New("it is no JSON object that can be read")
	}
	if err := ledger.VerifyDocument(unsigned, value, vkey); err != nil {
		return fmt.Errorf("it was changed since it was signed, or the signature was: %w", err)
	}
	return nil
}

func ofStatement(document, statement []byte) (v Verified, checkpoint []byte, err error) {
	var s Statement
	if err := json.Unmarshal(statement, &s, json.RejectUnknownMembers(true)); err != nil || s.Statement != statementOf {
		return v, nil, errors.New("what is signed is no statement about a bill of materials")
	}
	sum := sha256.Sum256(document)
	if s.SHA256 != hex.EncodeToString(sum[:]) {
		return v, nil, errors.New("the document was changed since it was signed, or is another one")
	}
	return Verified{Format: s.Format, Agent: s.Agent, Serial: s.Serial, Version: s.Version, Created: s.Created}, s.Checkpoint, nil
}

func ofCycloneDX(document []byte) (v Verified, checkpoint []byte, err error) {
	var doc cdxBOM
	if err := json.Unmarshal(document, &doc); err != nil || doc.Format != "CycloneDX" || doc.Metadata.Component == nil || doc.Declarations == nil {
		return v, nil, errors.New("what is signed is no bill of materials in CycloneDX")
	}
	v = Verified{Format: Format("cyclonedx-" + doc.SpecVersion), Version: doc.Version, Components: len(doc.Components) + len(doc.Services)}
	v.Serial = string(bytes.TrimPrefix([]byte(doc.Serial), []byte("urn:uuid:")))
	for _, p := range doc.Metadata.Component.Properties {
		if p.Name == "reeve:id" {
			v.Agent = p.Value
		}
	}
	if v.Created, err = time.Parse(time.RFC3339, doc.Metadata.Timestamp); err != nil {
		return v, nil, errors.New("it does not say when it was made")
	}
	for _, e := range doc.Declarations.Evidence {
		for _, d := range e.Data {
			if e.Ref == refCheckpoint {
				if checkpoint, err = base64.StdEncoding.DecodeString(d.Contents.Attachment.Content); err != nil {
					return v, nil, errors.New("its checkpoint is not in base64")
				}
			}
		}
	}
	return v, checkpoint, nil
}
