package a2a_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"strings"
	"testing"

	"reeve.example/reeve/a2a"
	"reeve.example/reeve/internal/rawjson"

	"github.com/golang-jwt/jwt/v5"
)

func TestCard(t *testing.T) {
	n := begin(t, echoes)
	union := n.read(n.ask("", "GET", "/.well-known/agent-card.json", ""))
	strict := n.read(n.ask("", "GET", "/a2a/.well-known/agent-card.json", ""))
	asked := n.read(n.ask("", "GET", "/.well-known/agent-card.json", "", "A2A-Version", "1.0"))
	if strict.text != asked.text {
		t.Error("what is asked for by path and by header is not the same")
	}
	for _, old := range []string{"url", "protocolVersion", "preferredTransport", "additionalInterfaces", "supportsAuthenticatedExtendedCard", "security"} {
		if !union.Get(old).Exists() || strict.Get(old).Exists() {
			t.Errorf("%s: in the union %v, in the strict card %v", old, union.Get(old).Exists(), strict.Get(old).Exists())
		}
	}
	if strings.Contains(union.text+strict.text, "push_notifications") {
		t.Error("a client of 1.0 rejects a card with push_notifications")
	}
	var skills []string
	for _, s := range strict.Get("skills").Elems() {
		skills = append(skills, s.Get("id").Text())
	}
	if got := strings.Join(skills, " "); !strings.HasPrefix(got, "tasks.execute message ") || !strings.Contains(got, "echo") {
		t.Errorf("the skills are %s", got)
	}
	bindings := ""
	for _, i := range strict.Get("supportedInterfaces").Elems() {
		bindings += i.Get("protocolBinding").Text() + i.Get("protocolVersion").Text() + " "
	}
	if bindings != "JSONRPC1.0 HTTP+JSON1.0 GRPC1.0 JSONRPC0.3 HTTP+JSON0.3 GRPC0.3 " {
		t.Error(bindings)
	}
	resp := n.ask("", "GET", "/.well-known/agent-card.json", "")
	resp.Body.Close()
	etag := resp.Header.Get("ETag")
	if etag == "" || resp.Header.Get("Last-Modified") == "" || resp.Header.Get("Cache-Control") == "" || !strings.Contains(resp.Header.Get("Vary"), "A2A-Version") {
		t.Error(resp.Header)
	}
	if a := n.read(n.ask("", "GET", "/.well-known/agent-card.json", "", "If-None-Match", `"x", W/`+etag)); a.http != 304 || a.text != "" {
		t.Errorf("%d %s", a.http, a.text)
	}
	if a := n.read(n.ask("", "GET", "/.well-known/agent-card.json", "", "If-None-Match", etag, "A2A-Version", "1.0")); a.http != 200 {
		t.Error("the strict card is taken for the other")
	}
	for _, a := range []answer{
		n.do("ann", "GetExtendedAgentCard", `{}`), n.do("ann", "agent/getAuthenticatedExtendedCard", `{}`), n.read(n.ask("ann", "GET", "/rest/extendedAgentCard", "")), n.read(n.ask("ann", "GET", "/v1/card", "")),
	} {
		if !strings.Contains(a.text, `"examples"`) {
			t.Error(a.text)
		}
	}
	if a := n.read(n.ask("", "GET", "/rest/extendedAgentCard", "")); a.http != 400 {
		t.Error(a.text)
	}
	for set, want := range map[string]string{
		"": strings.TrimPrefix(n.url, "http://"), "0.0.0.0:50051": "127.0.0.1:50051", "[::]:50051": "127.0.0.1:50051", ":50051": "127.0.0.1:50051", "node.example:443": "node.example:443",
	} {
		n.SetGRPC(set)
		a := n.read(n.ask("", "GET", "/.well-known/agent-card.json", ""))
		if got := a.at("supportedInterfaces", "2", "url"); got != want || a.at("additionalInterfaces", "2", "url") != "http://"+want {
			t.Errorf("with %q set the card has %s: %s", set, got, a.text)
		}
	}
	n.open.Store(true)
	if a := n.read(n.ask("", "GET", "/.well-known/agent-card.json", "")); a.at("capabilities", "extendedAgentCard") != "false" || a.Get("securitySchemes").Exists() {
		t.Error(a.text)
	}
}

// A signed card verifies, over its canonical form without the signatures.
func TestSignedCard(t *testing.T) {
	public, private, _ := ed25519.GenerateKey(rand.Reader)
	curve, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	for _, c := range []struct {
		method          jwt.SigningMethod
		private, public any
	}{{jwt.SigningMethodEdDSA, private, public}, {jwt.SigningMethodES256, curve, curve.Public()}} {
		signer, err := a2a.NewSigner(inPEM(t, c.private), "key-1")
		if err != nil {
			t.Fatal(err)
		}
		n := beginIn(t, t.TempDir(), "", func(cfg *a2a.Config) { cfg.Sign = signer })
		card := n.read(n.ask("", "GET", "/a2a/.well-known/agent-card.json", ""))
		i := strings.Index(card.text, `,"signatures":[`)
		if i < 0 {
			t.Fatal(card.text)
		}
		doc, err := rawjson.Parse([]byte(card.text[:i] + "}"))
		if err != nil {
			t.Fatal(err)
		}
		payload := base64.RawURLEncoding.EncodeToString(doc.Root().AppendCanonical(nil))
		signature, err := base64.RawURLEncoding.DecodeString(card.at("signatures", "0", "signature"))
		if err != nil {
			t.Fatal(err)
		}
		protected := card.at("signatures", "0", "protected")
		if err := c.method.Verify(protected+"."+payload, signature, c.public); err != nil {
			t.Error(err)
		}
		if header, _ := base64.RawURLEncoding.DecodeString(protected); string(header) != `{"alg":"`+c.method.Alg()+`","kid":"key-1","typ":"JOSE"}` {
			t.Errorf("%s", header)
		}
	}
	rsaKey, _ := rsa.GenerateKey(rand.Reader, 2048)
	for _, key := range [][]byte{nil, []byte("x"), inPEM(t, rsaKey), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")})} {
		if _, err := a2a.NewSigner(key, ""); err == nil {
			t.Errorf("%.30s is taken for a key", key)
		}
	}
}

func inPEM(t *testing.T, key any) []byte {
	t.Helper()
	b, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: b})
}
