package ledger

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// evidenceHead begins the manifest of an archive of evidence. A log's name has no spaces,
// so what is signed behind it can never be taken for a checkpoint.
const evidenceHead = "reeve evidence v1\n"

// SignEvidence signs, with the keys of the logs that are in an archive of evidence, what
// the archive holds: a note (C2SP signed-note) of the text behind a line of its own.
func SignEvidence(origin string, seed []byte, logs []uint32, text string) ([]byte, error) {
	if err := CheckOrigin(origin); err != nil {
		return nil, err
	}
	signers := make([]note.Signer, len(logs))
	for i, log := range logs {
		s, err := newSigner(origin, seed, log)
		if err != nil {
			return nil, err
		}
		signers[i] = noteSigner{s}
	}
	return note.Sign(&note.Note{Text: evidenceHead + text}, signers...)
}

// OpenEvidence returns the text of SignEvidence, if one log's public key has signed it.
func OpenEvidence(signed []byte, vkey string) (text string, err error) {
	v, err := newVerifier(vkey)
	if err != nil {
		return "", err
	}
	n, err := note.Open(signed, note.VerifierList(v))
	if err != nil {
		return "", fmt.Errorf("it is not signed by the key of %s: %w", v.Name(), err)
	}
	text, ok := strings.CutPrefix(n.Text, evidenceHead)
	if !ok {
		return "", fmt.Errorf("it does not begin with %q", strings.TrimSpace(evidenceHead))
	}
	return text, nil
}

// noteSigner is a log's key as package note takes it.
type noteSigner struct{ *signer }

func (s noteSigner) Name() string    { return s.name }
func (s noteSigner) KeyHash() uint32 { return s.verifier.KeyHash() }
func (s noteSigner) Sign(msg []byte) ([]byte, error) {
	return ed25519.Sign(s.key, msg), nil
}

// A log's key also signs documents: JSON in its canonical form (RFC 8785), which is one line
// and begins with a brace, as no checkpoint and no evidence does.

// SignDocument signs a JSON object in its canonical form.
func (l *Log) SignDocument(document []byte) ([]byte, error) {
	if !isDocument(document) {
		return nil, errors.New("a document to be signed must be a JSON object on one line")
	}
	return ed25519.Sign(l.signer.key, document), nil
}

// VerifyDocument reports whether the log with a public key has signed a document.
func VerifyDocument(document, signature []byte, vkey string) error {
	v, err := newVerifier(vkey)
	if err != nil {
		return err
	}
	if !isDocument(document) || !v.Verify(document, signature) {
		return fmt.Errorf("it is not signed by the key of %s", v.Name())
	}
	return nil
}

func isDocument(document []byte) bool {
	return len(document) > 1 && document[0] == '{' && !bytes.ContainsRune(document, '\n')
}

// PublicKey is the Ed25519 key in a log's public key.
func PublicKey(vkey string) (ed25519.PublicKey, error) {
	if _, err := newVerifier(vkey); err != nil {
		return nil, err
	}
	parts := strings.SplitN(vkey, "+", 3) // NAME+ID+KEY
	key, err := base64.StdEncoding.DecodeString(parts[len(parts)-1])
	if err != nil || len(key) != 1+ed25519.PublicKeySize {
		return nil, errors.New("it is not an Ed25519 key")
	}
	return key[1:], nil
}
