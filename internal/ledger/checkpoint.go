package ledger

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Checkpoint is a statement of a log's size and root (C2SP tlog-checkpoint).
type Checkpoint struct {
	Origin string // the log's name, such as "reeve.local/0"
	Size   uint64
	Root   tlog.Hash
}

// maxNote bounds a signed checkpoint, in bytes: room for more than sixteen
// signatures.
const maxNote = 64 << 10

// Name is how log number log of an origin is called in checkpoints and keys.
func Name(origin string, log uint32) string {
	return origin + "/" + strconv.FormatUint(uint64(log), 10)
}

// CheckOrigin says why a name can be that of no log.
func CheckOrigin(origin string) error {
	if origin == "" || strings.ContainsFunc(origin, func(r rune) bool { return unicode.IsSpace(r) || r < ' ' || r == '+' || r == unicode.ReplacementChar }) {
		return fmt.Errorf("%q cannot be the name of a log: it must not be empty, nor have spaces or plus signs", origin)
	}
	return nil
}

// signer signs one log's checkpoints.
type signer struct {
	name     string
	vkey     string
	id       [4]byte
	key      ed25519.PrivateKey
	verifier *verifier
}

// newSigner derives a log's key from the node's seed.
func newSigner(origin string, seed []byte, log uint32) (*signer, error) {
	if len(seed) != 32 {
		return nil, fmt.Errorf("the ledger's seed has %d bytes: want 32", len(seed))
	}
	s := &signer{name: Name(origin, log)}
	secret, err := hkdf.Key(sha256.New, seed, nil, "reeve ledger ed25519 v1\n"+s.name, ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("derive the key of %s: %w", s.name, err)
	}
	s.key = ed25519.NewKeyFromSeed(secret)
	s.vkey, err = note.NewEd25519VerifierKey(s.name, s.key.Public().(ed25519.PublicKey))
	if err != nil {
		return nil, fmt.Errorf("make the public key of %s: %w", s.name, err)
	}
	if s.verifier, err = newVerifier(s.vkey); err != nil {
		return nil, err
	}
	binary.BigEndian.PutUint32(s.id[:], s.verifier.KeyHash())
	return s, nil
}

// VerifierKey returns the public key of one log, in the form of C2SP
// signed-note: what VerifyOptions.TrustedKey and VerifyReceipt take.
func VerifierKey(origin string, seed []byte, log uint32) (string, error) {
	if err := CheckOrigin(origin); err != nil {
		return "", err
	}
	s, err := newSigner(origin, seed, log)
	if err != nil {
		return "", err
	}
	return s.vkey, nil
}

// sign returns a signed checkpoint.
func (s *signer) sign(size uint64, root tlog.Hash) []byte {
	b := make([]byte, 0, 256+2*len(s.name))
	b = appendCheckpoint(b, Checkpoint{Origin: s.name, Size: size, Root: root})
	var sig [4 + ed25519.SignatureSize]byte
	copy(sig[:], s.id[:])
	copy(sig[4:], ed25519.Sign(s.key, b))
	b = append(b, "\n— "...)
	b = append(b, s.name...)
	b = append(b, ' ')
	b = base64.StdEncoding.AppendEncode(b, sig[:])
	return append(b, '\n')
}

// appendCheckpoint appends the text that is signed.
func appendCheckpoint(b []byte, c Checkpoint) []byte {
	b = append(b, c.Origin...)
	b = append(b, '\n')
	b = strconv.AppendUint(b, c.Size, 10)
	b = append(b, '\n')
	b = base64.StdEncoding.AppendEncode(b, c.Root[:])
	return append(b, '\n')
}

// verifier checks one log's checkpoints.
type verifier struct{ note.Verifier }

func newVerifier(vkey string) (*verifier, error) {
	v, err := note.NewVerifier(strings.TrimSpace(vkey))
	if err != nil {
		return nil, fmt.Errorf("the verifier key cannot be read: want NAME+HASH+KEY, such as reeve.local/0+1a2b3c4d+AX…: %w", err)
	}
	return &verifier{v}, nil
}

// open checks a signed checkpoint and returns what it says.
func (v *verifier) open(signed []byte) (Checkpoint, error) {
	if len(signed) > maxNote {
		return Checkpoint{}, fmt.Errorf("a checkpoint of %d bytes: the limit is %d", len(signed), maxNote)
	}
	n, err := note.Open(signed, note.VerifierList(v))
	if err != nil {
		var unverified *note.UnverifiedNoteError
		if errors.As(err, &unverified) {
			if c, err := parseCheckpoint(unverified.Note.Text); err == nil && c.Origin != v.Name() {
				return Checkpoint{}, fmt.Errorf("the checkpoint is of %s, and the key is of %s", c.Origin, v.Name())
			}
			return Checkpoint{}, fmt.Errorf("the checkpoint is not signed by the key of %s", v.Name())
		}
		var invalid *note.InvalidSignatureError
		if errors.As(err, &invalid) {
			return Checkpoint{}, fmt.Errorf("the checkpoint's signature by %s is wrong: the checkpoint was changed", v.Name())
		}
		return Checkpoint{}, errors.New("it is not a signed checkpoint")
	}
	for _, sig := range n.Sigs { // one signature has one spelling: its last bits do not stand free
		if _, err := base64.StdEncoding.Strict().DecodeString(sig.Base64); err != nil {
			return Checkpoint{}, fmt.Errorf("the checkpoint's signature by %s is spelled as nobody writes it: the checkpoint was changed", v.Name())
		}
	}
	c, err := parseCheckpoint(n.Text)
	if err == nil && c.Origin != v.Name() {
		err = fmt.Errorf("the checkpoint is of %s, and the key is of %s", c.Origin, v.Name())
	}
	return c, err
}

// parseCheckpoint reads the text of a checkpoint. Further lines are tolerated.
func parseCheckpoint(text string) (Checkpoint, error) {
	bad := errors.New("it is not a checkpoint: want lines with a log's name, its size and its root")
	lines := strings.SplitN(text, "\n", 4)
	if len(lines) < 4 || lines[0] == "" {
		return Checkpoint{}, bad
	}
	size, err := parseDecimal(lines[1])
	if err != nil {
		return Checkpoint{}, bad
	}
	root, err := tlog.ParseHash(lines[2])
	if err != nil || root.String() != lines[2] {
		return Checkpoint{}, bad
	}
	return Checkpoint{Origin: lines[0], Size: size, Root: root}, nil
}

// parseDecimal reads a number without sign and without leading zeros, which
// fits an int64.
func parseDecimal(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil || strconv.FormatUint(n, 10) != s {
		return 0, fmt.Errorf("%q is not a number in decimal", s)
	}
	return n, nil
}

// ParseCheckpoint reads a checkpoint without checking who signed it.
func ParseCheckpoint(signed []byte) (Checkpoint, error) {
	if len(signed) > maxNote {
		return Checkpoint{}, fmt.Errorf("a checkpoint of %d bytes: the limit is %d", len(signed), maxNote)
	}
	text, _, ok := strings.Cut(string(signed), "\n\n")
	if !ok {
		return Checkpoint{}, errors.New("it is not a signed checkpoint")
	}
	return parseCheckpoint(text + "\n")
}

// OpenCheckpoint checks a signed checkpoint with a log's public key.
func OpenCheckpoint(signed []byte, vkey string) (Checkpoint, error) {
	v, err := newVerifier(vkey)
	if err != nil {
		return Checkpoint{}, err
	}
	return v.open(signed)
}
