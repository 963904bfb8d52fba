package ledger

import (
	"crypto/ed25519"
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
	if err := checkOrigin(origin); err != nil {
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
