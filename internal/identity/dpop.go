package identity

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/golang-jwt/jwt/v5"
)

// Proofs of possession (RFC 9449): with a token that is bound to a key comes a small JWT,
// made with that key for this one request, so that whoever has read the token alone has
// nothing.

// Limits of proofs.
const (
	longestProof = 8 << 10          // bytes
	longestJTI   = 256              // bytes
	proofAge     = 60 * time.Second // then it is too old, beside the leeway
	nonceAge     = 5 * time.Minute
	maxProofs    = 1 << 17 // that are remembered of one span of time, of two
	maxKeyProofs = maxProofs / 8
	maxWhoProofs = maxProofs / 4 // of one principal, by whatever keys
)

// proofAlgs are the algorithms of proofs. All are asymmetric: a proof that the node could
// make itself would prove nothing.
var proofAlgs = []string{"ES256", "EdDSA", "RS256", "PS256"}

// proofs checks proofs, and remembers them for as long as they could be sent again. What
// another node has seen it does not know.
type proofs struct {
	now      func() time.Time
	leeway   time.Duration
	parser   *jwt.Parser
	nonceKey []byte // nil where proofs need no nonce

	mu           sync.Mutex
	begun        time.Time // what was made before it may have been sent to the program that ran then
	since        time.Time // when recent began
	recent, past map[[32]byte]struct{}
	byKey        map[string]int // proofs of each key in recent
	byWho        map[string]int // and of each principal, which may have many keys
}

func newProofs(now func() time.Time, leeway time.Duration, nonce bool) *proofs {
	p := &proofs{now: now, begun: now(), leeway: leeway, recent: map[[32]byte]struct{}{}, byKey: map[string]int{}, byWho: map[string]int{}}
	p.parser = jwt.NewParser(jwt.WithValidMethods(proofAlgs), jwt.WithLeeway(leeway), jwt.WithTimeFunc(now), jwt.WithStrictDecoding())
	if nonce {
		p.nonceKey = make([]byte, 32)
		rand.Read(p.nonceKey) // never fails
	}
	return p
}

func badProof(cause error, reason string) *Error {
	return &Error{Reason: reason, Proof: "invalid_dpop_proof", cause: cause}
}

// check refuses a request whose proof is not by the key of a thumbprint, for this token and
// this request, and new. who is the token's principal. own reports whether an address is the one that the request is for.
func (p *proofs) check(r *http.Request, who, token, thumbprint string, own func(*url.URL) bool) *Error {
	sent := r.Header["Dpop"]
	switch {
	case len(sent) == 0:
		return badProof(nil, "The token is bound to a key, and the header DPoP with a proof of it is missing.")
	case len(sent) > 1:
		return badProof(nil, "The header DPoP was sent twice.")
	case len(sent[0]) > longestProof:
		return badProof(nil, "The DPoP proof is too long.")
	}
	claims := jwt.MapClaims{}
	key := ""
	_, err := p.parser.ParseWithClaims(sent[0], claims, func(t *jwt.Token) (any, error) {
		public, print, err := proofKey(t.Header)
		key = print
		return public, err
	})
	if err == nil {
		err = Strict(sent[0])
	}
	if err != nil {
		return badProof(err, "The DPoP proof is not valid.")
	}
	if subtle.ConstantTimeCompare([]byte(key), []byte(thumbprint)) != 1 {
		return &Error{Reason: "The token is bound to another key than that of the DPoP proof.", Proof: "invalid_token"}
	}
	method, _ := claims["htm"].(string)
	address, _ := claims["htu"].(string)
	u, err := url.Parse(address)
	if method != r.Method || err != nil || own == nil || !own(u) || !samePath(u, r.URL) {
		return badProof(err, "The DPoP proof is for another request: htm and htu are its method and its address, under a name of this node (setting hosts).")
	}
	hash := sha256.Sum256([]byte(token))
	if ath, _ := claims["ath"].(string); subtle.ConstantTimeCompare([]byte(ath), []byte(base64.RawURLEncoding.EncodeToString(hash[:]))) != 1 {
		return badProof(nil, "The DPoP proof is for another token (ath).")
	}
	if p.nonceKey != nil {
		if nonce, _ := claims["nonce"].(string); !p.knows(nonce) {
			return &Error{Reason: "The DPoP proof needs the nonce of the header DPoP-Nonce.", Proof: "use_dpop_nonce", Nonce: p.nonce(p.now())}
		}
	}
	made, err := claims.GetIssuedAt()
	now := p.now()
	if err != nil || made == nil || now.Sub(made.Time) > proofAge+p.leeway || made.Sub(now) > p.leeway {
		return badProof(err, "The DPoP proof is not of this moment (iat).")
	}
	// Times are in whole seconds: one of the second in which the node began may be older.
	// One with a nonce of ours is not.
	if p.nonceKey == nil && made.Unix() <= p.begun.Unix() {
		return badProof(nil, "The DPoP proof was made before the node began. Make a new one for each request.")
	}
	id, _ := claims["jti"].(string)
	if id == "" || len(id) > longestJTI {
		return badProof(nil, "The DPoP proof has no jti, or a long one.")
	}
	return p.use(who, key, id, now)
}

// use notes a proof, which is good once.
func (p *proofs) use(who, key, id string, now time.Time) *Error {
	sum := sha256.Sum256([]byte(key + "\x00" + id))
	p.mu.Lock()
	defer p.mu.Unlock()
	// No proof is taken for longer than this span: what is older than two needs no memory.
	if span := proofAge + 2*p.leeway; now.Sub(p.since) > span {
		p.past = p.recent
		if now.Sub(p.since) > 2*span {
			p.past = nil
		}
		p.recent, p.byKey, p.byWho, p.since = map[[32]byte]struct{}{}, map[string]int{}, map[string]int{}, now
	}
	_, recent := p.recent[sum]
	_, past := p.past[sum]
	if recent || past {
		return badProof(nil, "The DPoP proof was sent before. Make a new one for each request.")
	}
	if len(p.recent) >= maxProofs || p.byKey[key] >= maxKeyProofs || p.byWho[who] >= maxWhoProofs {
		return badProof(nil, "Too many DPoP proofs came in a short time for all to be remembered. Come again in a minute.")
	}
	p.recent[sum] = struct{}{}
	p.byKey[key]++
	p.byWho[who]++
	return nil
}

// nonce is a time that only this node can have written.
func (p *proofs) nonce(at time.Time) string {
	b := binary.BigEndian.AppendUint64(nil, uint64(at.Unix()))
	mac := hmac.New(sha256.New, p.nonceKey)
	mac.Write(b)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(b)[:8+16])
}

func (p *proofs) knows(nonce string) bool {
	b, err := base64.RawURLEncoding.Strict().DecodeString(nonce)
	if err != nil || len(b) != 8+16 {
		return false
	}
	at := time.Unix(int64(binary.BigEndian.Uint64(b)), 0)
	age := p.now().Sub(at)
	return hmac.Equal([]byte(nonce), []byte(p.nonce(at))) && age >= -time.Second && age <= nonceAge
}

// samePath reports whether two addresses have one path. A path that is escaped in an
// unusual way is another: what stands for a slash is none.
func samePath(a, b *url.URL) bool {
	path := func(u *url.URL) (plain, escaped string) {
		if u.Path == "" {
			return "/", "/"
		}
		return u.Path, strings.ToLower(u.EscapedPath())
	}
	ap, ae := path(a)
	bp, be := path(b)
	return ap == bp && (ae == be || a.RawPath == "" && b.RawPath == "")
}

// proofKey reads the key in a proof's header, and its thumbprint (RFC 7638).
func proofKey(header map[string]any) (key crypto.PublicKey, thumbprint string, err error) {
	if typ, _ := header["typ"].(string); typ != "dpop+jwt" {
		return nil, "", errors.New("its typ is not dpop+jwt")
	}
	if _, critical := header["crit"]; critical {
		return nil, "", errors.New("it has critical headers, and none is understood")
	}
	members, ok := header["jwk"].(map[string]any)
	if !ok {
		return nil, "", errors.New("it has no jwk")
	}
	for _, private := range []string{"d", "p", "q", "dp", "dq", "qi", "oth", "k"} {
		if _, there := members[private]; there {
			return nil, "", errors.New("its jwk holds a private key")
		}
	}
	text, err := json.Marshal(members)
	if err != nil {
		return nil, "", err
	}
	var k jwk
	if err := json.Unmarshal(text, &k); err != nil {
		return nil, "", err
	}
	alg, key, err := k.public()
	said, _ := header["alg"].(string)
	if err != nil || alg == "" || said != alg && !(alg == "RS256" && said == "PS256") || k.Alg != "" && k.Alg != said {
		return nil, "", errors.Join(err, fmt.Errorf("its jwk is no key for %.80q", said))
	}
	return key, thumbprintOf(key), nil
}

// thumbprintOf is the SHA-256 thumbprint of a key: that of the key, however its JWK was written.
func thumbprintOf(key crypto.PublicKey) string {
	b64 := base64.RawURLEncoding.EncodeToString
	var text string
	switch key := key.(type) {
	case *rsa.PublicKey:
		text = `{"e":"` + b64(big.NewInt(int64(key.E)).Bytes()) + `","kty":"RSA","n":"` + b64(key.N.Bytes()) + `"}`
	case *ecdsa.PublicKey:
		point, err := key.Bytes()
		if err != nil {
			return ""
		}
		text = `{"crv":"P-256","kty":"EC","x":"` + b64(point[1:33]) + `","y":"` + b64(point[33:]) + `"}`
	case ed25519.PublicKey:
		text = `{"crv":"Ed25519","kty":"OKP","x":"` + b64(key) + `"}`
	}
	sum := sha256.Sum256([]byte(text))
	return b64(sum[:])
}
