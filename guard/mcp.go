package guard

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/ledger"
	"reeve.example/reeve/policy"
	"reeve.example/reeve/risk"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// toolsKind is the kind of item that the tools of one MCP server are.
const toolsKind = "mcp.tool"

// Bounds of what is kept of one MCP server.
const (
	MaxTools      = 1000     // tools that a server may list
	maxDefinition = 64 << 10 // bytes of a definition that is kept to be compared; of a longer one the hash is
	maxKept       = 4 << 20  // bytes of all definitions of a server
)

// Pin says what becomes of the definitions of an MCP server's tools.
type Pin string

// The ways to pin.
const (
	PinTrustFirst Pin = "trust-first" // those of a server's first listing are taken, later ones are held
	PinAsk        Pin = "ask"         // all are held until somebody agrees
	PinOff        Pin = "off"         // all are taken
)

// MCPServer is what is known of the tools of one MCP server, as one principal
// knows it.
type MCPServer struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Principal string     `json:"principal"`
	First     time.Time  `json:"first"`
	Tools     []*MCPTool `json:"tools"`
}

// MCPTool is one tool of an MCP server: the definition that was agreed to, and
// the one that waits.
type MCPTool struct {
	Name string `json:"name"`
	// Hash is of the definition that calls are let through with; empty while
	// there is none.
	Hash       string         `json:"hash,omitzero"`
	Definition jsontext.Value `json:"definition,omitzero"` // absent when it is too long
	By         string         `json:"by,omitzero"`         // who agreed to it
	At         time.Time      `json:"at,omitzero"`
	// Held is the definition that waits for somebody to agree.
	Held *HeldTool `json:"held,omitzero"`
	// Gone says that the server did not list it the last time.
	Gone bool `json:"gone,omitzero"`
}

// HeldTool is a definition that waits for somebody to agree to it.
type HeldTool struct {
	Hash       string         `json:"hash"`
	Definition jsontext.Value `json:"definition,omitzero"` // absent when it is too long
	Since      time.Time      `json:"since"`
	// Was is the name of a tool that the server listed before, and this is
	// defined as, but for the name.
	Was string `json:"was,omitzero"`
	// Found is what speaks against it: sentences.
	Found []string `json:"found,omitzero"`
	// Refused is who refused it; empty while it waits.
	Refused string `json:"refused,omitzero"`
}

// Tool returns the tool of a name; nil when there is none.
func (s *MCPServer) Tool(name string) *MCPTool {
	for _, t := range s.Tools {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// serverID names an MCP server as a principal knows it.
func serverID(principal, server string) string {
	key := keyOf(toolsKind, principal, server)
	return idEncoding.EncodeToString(key[:10])
}

// HashTool is the hash by which a definition is pinned: of all of it, in
// canonical JSON.
func HashTool(definition rawjson.Value) string {
	sum := sha256.Sum256(definition.AppendCanonical(nil))
	return hex.EncodeToString(sum[:])
}

// PinTools compares the tools that an MCP server lists with those that are
// pinned, keeps what is new, with a record, and returns why tools must not be
// called, by name. definitions are the tools as listed, each once.
func (g *Guard) PinTools(ctx context.Context, by act.Principal, server string, pin Pin, definitions []rawjson.Value) (held map[string]act.Reason, err error) {
	if pin == PinOff {
		return nil, nil
	}
	id := serverID(by.Name, server)
	defer g.intents.lock(id)()
	for range attempts {
		var s *MCPServer
		var head *ledger.KeyHead
		if s, head, err = g.mcpServer(ctx, id); err != nil {
			return nil, err
		}
		if s == nil {
			s = &MCPServer{ID: id, Name: server, Principal: by.Name}
		}
		before, n := s.size(), 0
		if s.First.IsZero() {
			n = 1
		}
		changes := s.take(definitions, pin, g.cfg.Now())
		if len(changes) > 0 {
			details := map[string]string{"server": server, "id": id, "changes": strings.Join(changes[:min(len(changes), 50)], "; ")}
			made, full := g.take(ctx, &g.counters.servers, "servers", "MCP servers whose tools are remembered", "Use one of these, or have an operator raise the setting.",
				by.Name, n, int64(max(0, s.size()-before)))
			if full != nil {
				return nil, full
			}
			err = g.writeServer(ctx, s, head, "mcp.tools", by, details)
			made(err == nil)
			if errors.Is(err, ledger.ErrLost) || errors.Is(err, ledger.ErrStale) {
				continue
			}
			if err != nil {
				return nil, err
			}
		}
		held = map[string]act.Reason{}
		for _, t := range s.Tools {
			if t.Held != nil {
				held[t.Name] = t.reason(s)
			}
		}
		return held, nil
	}
	return nil, err
}

// reason is why a held tool must not be called.
func (t *MCPTool) reason(s *MCPServer) act.Reason {
	r := act.Reason{Rule: "mcp.tools", Code: "mcp.tool_held", Effect: act.Deny}
	switch {
	case t.Held.Refused != "":
		r.Code = "mcp.tool_refused"
		r.Message = fmt.Sprintf("This definition of the tool was refused by %s.", t.Held.Refused)
		r.Instead = "Use another tool."
		return r
	case t.Held.Was != "":
		r.Message = fmt.Sprintf("The server gave the tool %.80q a new name, and nobody has agreed to that yet.", t.Held.Was)
	case t.Hash == "":
		r.Message = "The tool is new, and nobody has agreed to its definition yet."
	default:
		r.Message = "The server changed the tool's definition, and nobody has agreed to that yet."
	}
	r.Instead = "Do without it until a person has looked at it."
	return r
}

// take brings what is known of a server up to date with what it lists, and says
// what changed.
func (s *MCPServer) take(definitions []rawjson.Value, pin Pin, now time.Time) (changes []string) {
	first := s.First.IsZero()
	if first {
		s.First = now
		changes = append(changes, "the server is new")
	}
	listed := map[string]bool{}
	canonical := map[string]string{} // → the name listed first with this form
	for _, d := range definitions {
		listed[d.Get("name").Text()] = true
	}
	for _, t := range s.Tools {
		if gone := !listed[t.Name]; gone != t.Gone {
			t.Gone = gone
			if gone {
				changes = append(changes, fmt.Sprintf("%.80q is gone", t.Name))
			} else {
				changes = append(changes, fmt.Sprintf("%.80q is back", t.Name))
			}
		}
	}
	for _, d := range definitions {
		name, hash := d.Get("name").Text(), HashTool(d)
		t := s.Tool(name)
		form, confusable := canon.Name(name)
		other := canonical[form]
		canonical[form] = name
		switch {
		case t != nil && t.Hash == hash:
			if t.Held != nil {
				t.Held = nil
				changes = append(changes, fmt.Sprintf("%.80q is as it was agreed to", name))
			}
			continue
		case t != nil && t.Held != nil && t.Held.Hash == hash:
			continue
		}
		if t == nil {
			t = &MCPTool{Name: name}
			s.Tools = append(s.Tools, t)
		}
		found := suspicions(d)
		if confusable {
			found = append(found, "Its name uses characters that look like others.")
		}
		if other != "" {
			found = append(found, fmt.Sprintf("Its name looks like that of the tool %.80q.", other))
		}
		text := jsontext.Value(d.AppendCanonical(nil))
		if len(text) > maxDefinition || s.size()+len(text) > maxKept {
			text = nil
		}
		if first && pin == PinTrustFirst && len(found) == 0 {
			t.Hash, t.Definition, t.By, t.At = hash, text, "first listing", now
			changes = append(changes, fmt.Sprintf("%.80q is taken as first listed (%.12s)", name, hash))
			continue
		}
		t.Held = &HeldTool{Hash: hash, Definition: text, Since: now, Found: found}
		if t.Hash == "" {
			t.Held.Was = s.renamed(d, name)
		}
		changes = append(changes, fmt.Sprintf("%.80q is held (%.12s)", name, hash))
	}
	s.forget()
	return changes
}

// size is how many bytes of definitions are kept.
func (s *MCPServer) size() (n int) {
	for _, t := range s.Tools {
		n += len(t.Definition)
		if t.Held != nil {
			n += len(t.Held.Definition)
		}
	}
	return n
}

// forget drops tools that are gone when there are too many: a server could list
// other names each time.
func (s *MCPServer) forget() {
	over := len(s.Tools) - 2*MaxTools
	s.Tools = slices.DeleteFunc(s.Tools, func(t *MCPTool) bool {
		if over > 0 && t.Gone {
			over--
			return true
		}
		return false
	})
}

// renamed returns the name of a tool that is gone and was defined as this one
// is, but for its name.
func (s *MCPServer) renamed(d rawjson.Value, name string) string {
	was := withoutNames(d)
	for _, t := range s.Tools {
		if t.Name == name || !t.Gone || t.Definition == nil {
			continue
		}
		if doc, err := rawjson.Parse(t.Definition); err == nil && slices.Equal(was, withoutNames(doc.Root())) {
			return t.Name
		}
	}
	return ""
}

// withoutNames is a definition but for what it is called.
func withoutNames(d rawjson.Value) (parts []string) {
	for name, v := range d.Members() {
		if name != "name" && name != "title" {
			parts = append(parts, strconv.Quote(name)+":"+string(v.AppendCanonical(nil)))
		}
	}
	slices.Sort(parts)
	return parts
}

// suspicions says what speaks against a definition: instructions for a model and
// characters that people do not see, in any of its texts.
func suspicions(d rawjson.Value) (found []string) {
	base := d.Pointer()
	for v := range d.Strings() {
		for _, f := range risk.Scan(v.Text(), risk.Injection|risk.Guidance|risk.Hidden, nil) {
			s := fmt.Sprintf("At %.200s there is what looks like %s.", strings.TrimPrefix(v.Pointer(), base), f.Name)
			if !slices.Contains(found, s) && len(found) < 20 {
				found = append(found, s)
			}
		}
	}
	return found
}

// mcpServer reads a server; nil when there is none.
func (g *Guard) mcpServer(ctx context.Context, id string) (*MCPServer, *ledger.KeyHead, error) {
	item, head, err := g.item(ctx, toolsKind, id)
	if errors.Is(err, ledger.ErrNotFound) && head != nil {
		return nil, head, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the tools of an MCP server: %w", err)
	}
	s := new(MCPServer)
	if err := json.Unmarshal(item.Data, s); err != nil {
		return nil, nil, fmt.Errorf("read the tools of the MCP server %s: %w", id, err)
	}
	return s, head, nil
}

func (g *Guard) writeServer(ctx context.Context, s *MCPServer, head *ledger.KeyHead, what string, by act.Principal, details map[string]string) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	item := &ledger.Item{Kind: toolsKind, ID: s.ID, Owner: s.Principal, Data: data}
	item.Open = slices.ContainsFunc(s.Tools, func(t *MCPTool) bool { return t.Held != nil && t.Held.Refused == "" })
	e := g.note(what, by, details)
	e.Principal, e.Links = g.masked(e.Principal), g.masked(e.Links)
	e.Writes = []*ledger.Write{{Head: head, Item: item}}
	_, err = g.enqueue(ctx, e)
	return err
}

// MCPServers lists the MCP servers of which tools are known.
func (g *Guard) MCPServers(ctx context.Context) (list []*MCPServer, err error) {
	for after := ""; ; {
		items, err := g.cfg.Store.Items(ctx, ledger.ItemQuery{Kind: toolsKind, After: after})
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			s := new(MCPServer)
			if err := json.Unmarshal(item.Data, s); err != nil {
				return nil, fmt.Errorf("read the tools of the MCP server %s: %w", item.ID, err)
			}
			list = append(list, s)
		}
		if len(items) < ledger.DefaultItems {
			return list, nil
		}
		after = items[len(items)-1].ID
	}
}

// ErrNoTool: no definition of a tool of this name waits for an answer.
var ErrNoTool = errors.New("no definition of a tool of this name is held")

// AnswerTool agrees to a held definition of a tool, or refuses it. hash is that
// of the definition that was looked at, or its beginning: another one is not
// answered by it (ErrChanged); empty for whichever waits. ErrNoTool: nothing of
// this name waits.
func (g *Guard) AnswerTool(ctx context.Context, id, tool, hash string, agree bool, by act.Principal) (*MCPTool, error) {
	defer g.intents.lock(id)()
	for range attempts {
		s, head, err := g.mcpServer(ctx, id)
		if err != nil {
			return nil, err
		}
		if s == nil {
			return nil, ErrNoTool
		}
		t := s.Tool(tool)
		if t == nil || t.Held == nil {
			return nil, ErrNoTool
		}
		if !strings.HasPrefix(t.Held.Hash, hash) {
			return nil, ErrChanged
		}
		what := "mcp.refuse"
		details := map[string]string{"server": s.Name, "id": id, "tool": tool, "hash": t.Held.Hash}
		if agree {
			what = "mcp.approve"
			t.Hash, t.Definition, t.By, t.At, t.Held = t.Held.Hash, t.Held.Definition, by.Name, g.cfg.Now(), nil
		} else {
			t.Held.Refused = by.Name
		}
		err = g.writeServer(ctx, s, head, what, by, details)
		if err == nil {
			return t, nil
		}
		if !errors.Is(err, ledger.ErrLost) && !errors.Is(err, ledger.ErrStale) {
			return nil, err
		}
	}
	return nil, ledger.ErrLost
}

// Applies reports whether a rule of the policy says anything of an act by
// itself, without what its session remembers: whether it must be judged although
// it is no more than the protocol's own housekeeping.
func (g *Guard) Applies(a *act.Action) bool {
	a.At = g.cfg.Now()
	d := Judge(a, nil, policy.Session{}, g.policy.Load())
	return slices.ContainsFunc(d.Reasons, func(r act.Reason) bool { return r.Code != policy.CodeDefault })
}
