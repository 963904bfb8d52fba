// Package agent is what is known of agents beyond what they say of themselves:
// who registered them, what they may do, and how what they asked for ended. It
// is pure; package guard makes each change durable together with its record.
package agent

import (
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/pubkey"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// State is an agent's standing.
type State string

// The states. An agent that never registered has none, the empty State.
//
//	unregistered ──▶ active ◀──▶ suspended
//	      │             │            │
//	      └─────────────┴──▶ revoked ◀┘   for good
const (
	Active    State = "active"
	Suspended State = "suspended" // nothing is allowed until an operator says so
	Revoked   State = "revoked"   // nothing is allowed any more
)

// Errors of Register and Set.
var (
	// ErrRevoked: a revoked agent stays so.
	ErrRevoked = errors.New("the agent is revoked")
	// ErrForeign: another principal registered this agent.
	ErrForeign = errors.New("the agent is registered by somebody else")
	// ErrKey: an agent's key does not change by registering again.
	ErrKey = errors.New("the agent is registered with another public key; sign with that one, or have an operator reset it")
)

// MaxDID is the longest DID, in bytes.
const MaxDID = 256

// Agent is one agent, named by its DID.
type Agent struct {
	DID   string `json:"did"`
	State State  `json:"state,omitzero"`
	// Principal is who registered it: nobody else acts under its name.
	Principal string `json:"principal,omitzero"`
	// PublicKey checks its signatures: "ed25519:" and 64 hex digits, or empty.
	PublicKey string         `json:"public_key,omitzero"`
	Requested []string       `json:"capabilities_requested,omitzero"`
	Granted   []string       `json:"capabilities_granted,omitzero"`
	Metadata  jsontext.Value `json:"metadata,omitzero"`

	Registered time.Time `json:"registered,omitzero"`
	// Seen is when it last registered or sent a heartbeat.
	Seen time.Time `json:"seen,omitzero"`
	// Since and Reason say when and why it got its state.
	Since  time.Time `json:"since,omitzero"`
	Reason string    `json:"reason,omitzero"`
	// Violations counts what it did that no verdict covers, since it became active.
	Violations int `json:"violations,omitzero"`
}

// Register takes a registration. An agent that is suspended stays so.
//
// A key stays until it signs for another, which signed says, or an operator resets
// it. Who is anonymous owns no DID: whoever has a credential may register it.
func (g *Agent) Register(by act.Principal, signed bool, key string, requested, granted []string, metadata jsontext.Value, now time.Time) error {
	switch {
	case g.State == Revoked:
		return ErrRevoked
	case !g.OwnedBy(by):
		return ErrForeign
	case g.PublicKey != "" && key != g.PublicKey && !signed:
		return ErrKey
	}
	if g.State == "" {
		g.State, g.Since = Active, now
	}
	if g.Registered.IsZero() {
		g.Registered = now
	}
	g.Principal, g.PublicKey, g.Requested, g.Granted, g.Metadata, g.Seen = by.Name, key, requested, granted, metadata, now
	return nil
}

// KeyVerifies reports whether the public key can check signatures.
func (g *Agent) KeyVerifies() bool { return g.PublicKey != "" && g.KeyFault() == "" }

// KeyFault says why no signature is checked with the public key, in a sentence's part; empty
// where they are, or where there is none.
func (g *Agent) KeyFault() string {
	digits, ok := strings.CutPrefix(g.PublicKey, "ed25519:")
	key, err := hex.DecodeString(digits)
	switch {
	case g.PublicKey == "":
		return ""
	case !ok || err != nil || len(key) != ed25519.PublicKeySize:
		return "it is not ed25519: and 64 hex digits"
	}
	switch _, err = pubkey.Ed25519(key); {
	case errors.Is(err, pubkey.ErrWeak):
		return "it is one of the few keys with which anybody can sign, without a secret"
	case err != nil:
		return err.Error()
	}
	return ""
}

// OwnedBy reports whether a principal may act under the agent's name.
func (g *Agent) OwnedBy(by act.Principal) bool {
	return g.Principal == "" || g.Principal == act.Anonymous.Name || g.Principal == by.Name
}

// Set gives an agent another state.
func (g *Agent) Set(state State, reason string, now time.Time) error {
	if g.State == Revoked && state != Revoked {
		return ErrRevoked
	}
	if state == Active {
		g.Violations = 0
	}
	g.State, g.Reason, g.Since = state, reason, now
	return nil
}

// Asked reports whether the agent registered for a tool, by the tool's canonical
// name. It asks for every tool by registering for none.
func (g *Agent) Asked(tool string, canonical func(string) string) bool {
	for _, r := range g.Requested {
		if canonical(r) == tool {
			return true
		}
	}
	return len(g.Requested) == 0
}

// Data is the agent as it is stored.
func (g *Agent) Data() ([]byte, error) { return json.Marshal(g) }

// Parse reads what Data wrote.
func Parse(data []byte) (*Agent, error) {
	g := new(Agent)
	if err := json.Unmarshal(data, g); err != nil {
		return nil, fmt.Errorf("read an agent: %w", err)
	}
	return g, nil
}
