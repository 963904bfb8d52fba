// Package proxy stands between an MCP client and an MCP server and judges what
// they say to each other: each message becomes an act, is decided about by a
// Guardian, and only then passes on.
//
//	p := &proxy.Proxy{Guardian: &proxy.Local{Guard: g, Pins: pins.New(g, 0, 0, time.Now), Principal: who}, Server: "files"}
//	err := p.ServeStdio(ctx, os.Stdin, os.Stdout, proxy.Command("npx", "-y", "server-files"))
//
// Either side speaks lines (stdio) or Streamable HTTP:
//
//	client ── ServeStdio ──┐          ┌── Command ── a program's stdin and stdout
//	                       ├─ session ┤
//	client ── Handler ─────┘          └── Upstream ── a URL
//
// # What passes as it came
//
// The bytes of a message that no rule changes are passed on as they came, with
// its unknown fields, its numbers and its white space. A message that a rule
// changes keeps all bytes but those of the values that are changed. Only batches
// of which a part does not pass, and lists of which tools are left out, are put
// together anew, from parts that keep their bytes.
//
// # What is judged
//
// Calls of tools and their results, resources, prompts, completions, sampling,
// elicitation, roots, results of tasks, requests for input, and every method
// that is not known here, are decided about one by one, with a record each. The
// protocol's own housekeeping (see routine) passes without one where no rule of
// the policy says anything of it.
//
// A call of a tool that the server did not list, or whose definition waits for
// somebody to agree to it (pins.Pins.Compare), is denied. A denied call is answered
// by a tool result that a model can act on; anything else by a JSON-RPC error.
package proxy

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"time"

	"reeve.example/reeve/internal/mcp/pins"
)

// Proxy judges what passes between the clients and one server. Its fields must
// not change once it is used.
type Proxy struct {
	// Guardian decides. Required.
	Guardian Guardian
	// Server is the server's name: rules see it as action.server, and its tools
	// are pinned under it. Required.
	Server string
	// Pin says what becomes of new and changed definitions of tools; empty means
	// pins.TrustFirst.
	Pin pins.Mode
	// Wait is how long a message that a person must agree to waits for the answer.
	Wait time.Duration
	// MaxMessage is the size of the largest message, in bytes; 0 means 16 MiB.
	MaxMessage int
	// Hosts are the names, beside those of loopback, that HTTP clients may use
	// for the proxy, and Origins the pages that may speak to it.
	Hosts, Origins []string
	// Logger is for what an operator should know; nil means slog.Default.
	Logger *slog.Logger

	mu        sync.Mutex
	touched   map[string]bool
	touchedAt time.Time
}

func (p *Proxy) maxMessage() int {
	if p.MaxMessage > 0 {
		return p.MaxMessage
	}
	return 16 << 20
}

func (p *Proxy) logger() *slog.Logger {
	if p.Logger != nil {
		return p.Logger
	}
	return slog.Default()
}

func (p *Proxy) pin() pins.Mode {
	if p.Pin != "" {
		return p.Pin
	}
	return pins.TrustFirst
}

// judgesRoutine reports whether a rule says something of a method of
// housekeeping. What cannot be known is judged.
func (p *Proxy) judgesRoutine(ctx context.Context, method string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); now.Sub(p.touchedAt) > touchedFor {
		touched, err := p.Guardian.Touched(ctx)
		if err != nil {
			return true
		}
		p.touched, p.touchedAt = touched, now
	}
	return p.touched[method]
}

// newSession returns the state of one connection. One that is not named is
// judged message by message, without a memory.
func (p *Proxy) newSession(tools *toolbox, named bool) *session {
	s := &session{p: p, tools: tools, calls: map[string]*call{}, asks: map[string]*call{}}
	if named {
		s.name = "mcp-" + rand.Text()
	}
	return s
}
