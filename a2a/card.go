package a2a

import (
	"cmp"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/rawjson"

	"github.com/golang-jwt/jwt/v5"
)

// skill is one thing that the agent can do.
type skill struct {
	id, name, description string
	tags, examples        []string
}

// skills are what the card lists: trees of tasks, the configured workflow, and
// what tasks can be. extended shows how each is asked for.
func (s *Server) skills(extended bool) []skill {
	list := []skill{{
		id: "tasks.execute", name: "Execute Task Tree", description: "Execute a complete task tree with multiple tasks",
		tags: []string{"task", "orchestration", "workflow", "execution"},
	}}
	if extended {
		list[0].examples = []string{`{"tasks":[{"id":"a","name":"A","schemas":{"method":"system_info_executor"}}]}`}
	}
	if s.cfg.Workflow != nil {
		list = append(list, skill{
			id: "message", name: "Answer a message", description: "Give a message of text to the workflow that the operator has configured", tags: []string{"message", "workflow"},
		})
	}
	for _, d := range s.cfg.Executors.List() {
		one := skill{id: d.ID, name: d.Name, description: d.Description, tags: d.Tags}
		if extended {
			example := begin(nil)
			example.raw("tasks", append(append([]byte(`[{"id":"a","name":"A","schemas":{"method":`), rawjson.Quote(d.ID)...), "}}]"...))
			one.examples = []string{string(example.end())}
		}
		list = append(list, one)
	}
	return list
}

// card writes the agent card. strict leaves out what only 0.3 has; base is where
// the node is reached.
func (s *Server) card(base string, strict, extended bool) []byte {
	secured := !s.cfg.Open()
	o := begin(nil)
	o.text("name", "reeve")
	o.text("description", "Executes trees of tasks, each start and result of which is judged by a policy and recorded.")
	o.text("version", s.cfg.Version)
	o.name("supportedInterfaces")
	o.b = appendAll(o.b, s.interfaces(base), func(b []byte, i *reached) []byte {
		o := begin(b)
		o.text("url", i.url)
		o.text("protocolBinding", i.binding)
		o.text("protocolVersion", i.version)
		return o.end()
	})
	o.name("capabilities")
	c := begin(o.b)
	c.flag("streaming", true)
	c.flag("pushNotifications", s.cfg.Callback != nil)
	c.flag("extendedAgentCard", secured)
	o.b = c.end()
	o.list("defaultInputModes", inputModes)
	o.list("defaultOutputModes", []string{"application/json", "text/plain"})
	list := s.skills(extended)
	o.name("skills")
	o.b = appendAll(o.b, list, func(b []byte, k *skill) []byte {
		o := begin(b)
		o.text("id", k.id)
		o.text("name", k.name)
		o.text("description", k.description)
		tags := k.tags
		if len(tags) == 0 {
			tags = []string{"task"}
		}
		o.list("tags", tags)
		o.list("examples", k.examples)
		return o.end()
	})
	if secured {
		scheme := `{"bearer":{"httpAuthSecurityScheme":{"scheme":"Bearer"}}}`
		if !strict {
			scheme = `{"bearer":{"type":"http","scheme":"bearer","httpAuthSecurityScheme":{"scheme":"Bearer"}}}`
		}
		o.raw("securitySchemes", []byte(scheme))
		o.raw("securityRequirements", []byte(`[{"schemes":{"bearer":{"list":[]}}}]`))
	}
	if !strict {
		s.older(&o, base, secured)
	}
	b := o.end()
	if s.cfg.Sign == nil {
		return b
	}
	signed, err := s.cfg.Sign.card(b)
	if err != nil {
		s.cfg.Logger.Error("the agent card cannot be signed", "error", err)
		return b
	}
	return signed
}

// older adds what 0.3 needs, and 1.0 does not have.
func (s *Server) older(o *object, base string, secured bool) {
	o.text("protocolVersion", "0.3.0")
	o.text("url", base+"/a2a")
	o.text("preferredTransport", "JSONRPC")
	o.flag("supportsAuthenticatedExtendedCard", secured)
	if secured {
		o.raw("security", []byte(`[{"bearer":[]}]`))
	}
	list := []reached{{base + "/a2a", "JSONRPC", ""}, {base, "HTTP+JSON", ""}}
	if remote := s.remoteAt(base); remote != "" {
		scheme, _, _ := strings.Cut(base, "://")
		list = append(list, reached{scheme + "://" + remote, "GRPC", ""})
	}
	o.name("additionalInterfaces")
	o.b = appendAll(o.b, list, func(b []byte, i *reached) []byte {
		o := begin(b)
		o.text("url", i.url)
		o.text("transport", i.binding)
		return o.end()
	})
}

// reached is where a binding of a version is reached.
type reached struct{ url, binding, version string }

func (s *Server) interfaces(base string) []reached {
	list := []reached{{base + "/a2a", "JSONRPC", "1.0"}, {base + "/rest", "HTTP+JSON", "1.0"}}
	remote := s.remoteAt(base)
	if remote != "" {
		list = append(list, reached{remote, "GRPC", "1.0"})
	}
	list = append(list, reached{base + "/a2a", "JSONRPC", "0.3"}, reached{base, "HTTP+JSON", "0.3"})
	if remote != "" {
		list = append(list, reached{remote, "GRPC", "0.3"})
	}
	return list
}

// remoteAt is the address of gRPC, for somebody who reaches the node at base; empty
// for none.
func (s *Server) remoteAt(base string) string {
	set := s.grpc.Load()
	if set == nil {
		return ""
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return *set
	}
	if *set == "" {
		return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme]))
	}
	host, port, err := net.SplitHostPort(*set)
	if ip := net.ParseIP(host); err != nil || host != "" && (ip == nil || !ip.IsUnspecified()) {
		return *set
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// baseOf is where a request reached the node.
func (s *Server) baseOf(r *http.Request) string {
	switch {
	case s.cfg.URL != "":
		return strings.TrimSuffix(s.cfg.URL, "/")
	case r.TLS != nil:
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// Card answers GET /.well-known/agent-card.json. What it says is understood by
// clients of both versions, unless the request asks for 1.0 by its A2A-Version, or
// strict says that all ask for it.
func (s *Server) Card(strict bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := s.card(s.baseOf(r), strict || r.Header.Get("A2A-Version") == "1.0", false)
		sum := sha256.Sum256(body)
		etag := fmt.Sprintf(`"%x"`, sum[:16])
		h := w.Header()
		h.Set("ETag", etag)
		h.Set("Last-Modified", s.started.UTC().Format(http.TimeFormat))
		h.Set("Cache-Control", "public, max-age=60")
		h.Set("Vary", "A2A-Version, Host")
		for match := range strings.SplitSeq(r.Header.Get("If-None-Match"), ",") {
			if m := strings.TrimPrefix(strings.TrimSpace(match), "W/"); m == etag || m == "*" {
				w.WriteHeader(http.StatusNotModified)
				return
			}
		}
		h.Set("Content-Type", "application/json")
		w.Write(body)
	})
}

// baseKey is where a context has where its request reached the node.
type baseKey struct{}

// extendedCard is the card for callers that have said who they are.
func (s *Server) extendedCard(ctx context.Context, d dialect) ([]byte, error) {
	if s.cfg.Open() {
		return nil, fail(noExtendedCard, "There is no extended card: this node knows no credentials.")
	}
	if principal, _ := identity.FromContext(ctx); principal == act.Anonymous {
		return nil, fail(noExtendedCard, "The extended card is for callers with a credential.")
	}
	base := s.cfg.URL
	if b, ok := ctx.Value(baseKey{}).(string); ok && base == "" {
		base = b
	}
	if listens := s.url.Load(); listens != nil && base == "" {
		base = *listens
	}
	return s.card(strings.TrimSuffix(base, "/"), d == v1, true), nil
}

// Signer signs agent cards, as JSON Web Signatures over their canonical form
// (RFC 7515, RFC 8785).
type Signer struct {
	key       crypto.PrivateKey
	method    jwt.SigningMethod
	protected string
}

// NewSigner reads a private key in PEM (PKCS #8): Ed25519, or ECDSA on P-256. id
// names it to those who verify.
func NewSigner(key []byte, id string) (*Signer, error) {
	block, _ := pem.Decode(key)
	if block == nil {
		return nil, errors.New("the key is not PEM")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("the key is not in the form of PKCS #8")
	}
	s := &Signer{key: parsed}
	switch k := parsed.(type) {
	case ed25519.PrivateKey:
		s.method = jwt.SigningMethodEdDSA
	case *ecdsa.PrivateKey:
		if k.Curve != elliptic.P256() {
			return nil, errors.New("the key is on another curve than P-256")
		}
		s.method = jwt.SigningMethodES256
	default:
		return nil, errors.New("the key is neither Ed25519 nor ECDSA")
	}
	header := begin(nil)
	header.text("alg", s.method.Alg())
	header.textIf("kid", id)
	header.text("typ", "JOSE")
	s.protected = base64.RawURLEncoding.EncodeToString(header.end())
	return s, nil
}

// card adds the signature to a card, which has none.
func (s *Signer) card(card []byte) ([]byte, error) {
	doc, err := rawjson.Parse(card)
	if err != nil {
		return nil, err
	}
	payload := base64.RawURLEncoding.EncodeToString(doc.Root().AppendCanonical(nil))
	signature, err := s.method.Sign(s.protected+"."+payload, s.key)
	if err != nil {
		return nil, err
	}
	o := object{b: card[: len(card)-1 : len(card)-1], some: true}
	inner := begin([]byte{'['})
	inner.text("protected", s.protected)
	inner.text("signature", base64.RawURLEncoding.EncodeToString(signature))
	o.raw("signatures", append(inner.end(), ']'))
	return o.end(), nil
}
