// Package pins remembers the tools that MCP servers list, as one principal knows each
// server, so that a tool whose definition has changed is not called before somebody has
// agreed to it.
package pins

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/risk"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// kind is the kind of item that the tools of one MCP server are.
const kind = "mcp.tool"

// Bounds of what is kept of one MCP server.
const (
	MaxTools      = 1000     // tools that a server may list
	maxDefinition = 64 << 10 // bytes of a definition that is kept to be compared; of a longer one the hash is
	maxBytes      = 4 << 20  // bytes of all definitions of a server
)

// Mode says what becomes of the definitions of an MCP server's tools.
type Mode string

// The ways to pin.
const (
	TrustFirst Mode = "trust-first" // those of a server's first listing are taken, later ones are held
	Ask        Mode = "ask"         // all are held until somebody agrees
	Off        Mode = "off"         // all are taken
)

// Server is what is known of the tools of one MCP server, as one principal
// knows it.
type Server struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Principal string    `json:"principal"`
	First     time.Time `json:"first"`
	// Files says that the tools are the files that agents go by in a project, which is a clone
	// of a repository, or, where Project is empty, outside of all: see CompareFiles. Places are
	// the folders that were looked at; they are told with the files outside.
	Files      bool     `json:"files,omitzero"`
	Project    string   `json:"project,omitzero"`
	Repository string   `json:"repository,omitzero"`
	Places     []string `json:"places,omitempty"`
	Tools      []*Tool  `json:"tools"`
}

// Tool is one tool of an MCP server: the definition that was agreed to, and
// the one that waits.
type Tool struct {
	Name string `json:"name"`
	// Hash is of the definition that calls are let through with; empty while
	// there is none.
	Hash       string         `json:"hash,omitzero"`
	Definition jsontext.Value `json:"definition,omitzero"` // absent when it is too long
	By         string         `json:"by,omitzero"`         // who agreed to it
	At         time.Time      `json:"at,omitzero"`
	// Held is the definition that waits for somebody to agree.
	Held *Held `json:"held,omitzero"`
	// Gone says that the server did not list it the last time.
	Gone bool `json:"gone,omitzero"`
	// Place is the folder that a file is of, and Earlier what it was when it was agreed to
	// before, the newest last.
	Place   string   `json:"place,omitzero"`
	Earlier []string `json:"earlier,omitempty"`
}

// Held is a definition that waits for somebody to agree to it.
type Held struct {
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
func (s *Server) Tool(name string) *Tool {
	for _, t := range s.Tools {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// Pins are all tools that are remembered. Make it with New.
type Pins struct {
	items *guard.Items[Server] // the tools of MCP servers
	files *guard.Items[Server] // what agents go by
	now   func() time.Time
}

// projects is for how many projects' files a principal has room for each MCP server: who
// writes programs has more of them.
const projects = 10

// New returns the pins of a node. One principal may have most servers, and that many
// bytes of definitions; 0 is for any number.
func New(g *guard.Guard, most int, bytes int64, now func() time.Time) *Pins {
	return &Pins{
		now: now,
		items: newItems(g, kind, func(s *Server) bool { return !s.Files && serverID(s.Principal, s.Name) == s.ID },
			"MCP servers whose tools are remembered", most, bytes),
		files: newItems(g, filesKind, func(s *Server) bool { return s.Files && filesID(s.Principal, s.Project) == s.ID },
			"projects whose agents' files are remembered", projects*most, bytes),
	}
}

func newItems(g *guard.Guard, kind string, own func(s *Server) bool, what string, most int, bytes int64) *guard.Items[Server] {
	return guard.NewItems(g, guard.Kind[Server]{
		Name: kind,
		Parse: func(item *ledger.Item) (*Server, error) {
			s := new(Server)
			if err := json.Unmarshal(item.Data, s); err != nil {
				return nil, err
			}
			if s.ID != item.ID || !own(s) || slices.Contains(s.Tools, nil) {
				return nil, errors.New("another one stands in its place")
			}
			return s, nil
		},
		Fill: func(s *Server, item *guard.Item) (err error) {
			item.Owner = s.Principal
			item.Open = slices.ContainsFunc(s.Tools, func(t *Tool) bool { return t.Held != nil && t.Held.Refused == "" })
			item.Data, err = json.Marshal(s)
			return err
		},
		Quota: guard.Quota{
			Name: "servers", What: what, Instead: "Use one of these, or have an operator raise the setting.",
			N: most, Bytes: bytes,
		},
	})
}

// serverID names an MCP server as a principal knows it.
func serverID(principal, server string) string { return guard.ItemID(10, kind, principal, server) }

// Hash is the hash by which a definition is pinned: of all of it, in
// canonical JSON.
func Hash(definition rawjson.Value) string {
	sum := sha256.Sum256(definition.AppendCanonical(nil))
	return hex.EncodeToString(sum[:])
}

// Compare compares the tools that an MCP server lists with those that are pinned,
// remembers what is new, with a record, and returns why tools must not be called, by
// name. definitions are the tools as listed, each once. The error is a
// *guard.QuotaError when the principal has no room for them.
func (p *Pins) Compare(ctx context.Context, by act.Principal, server string, mode Mode, definitions []rawjson.Value) (held map[string]act.Reason, err error) {
	if mode == Off {
		return nil, nil
	}
	id := serverID(by.Name, server)
	others := sync.OnceValue(func() map[string]string { return p.elsewhere(ctx, id, by) })
	s, err := p.items.Update(ctx, id, func(s *Server, item *guard.Item) (*guard.Note, error) {
		if !item.Found {
			*s = Server{ID: id, Name: server, Principal: by.Name}
		}
		changes := s.take(definitions, mode, p.now(), others)
		if len(changes) == 0 {
			return nil, nil
		}
		item.Charged = true
		return guard.Admin("mcp.tools", by, map[string]string{
			"server": server, "id": id, "changes": strings.Join(changes[:min(len(changes), 50)], "; "),
		}), nil
	})
	if err != nil {
		return nil, err
	}
	held = map[string]act.Reason{}
	for _, t := range s.Tools {
		if t.Held != nil {
			held[t.Name] = t.reason(s)
		}
	}
	return held, nil
}

// reason is why a held tool must not be called.
func (t *Tool) reason(s *Server) act.Reason {
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
		if changed := t.Changed(); len(changed) > 0 {
			r.Message = fmt.Sprintf("The server changed the tool's definition (%s), and nobody has agreed to that yet.", strings.Join(changed, "; "))
		}
	}
	r.Instead = "Do without it until a person has looked at it."
	return r
}

// take brings what is known of a server up to date with what it lists, and says
// what changed. elsewhere gives the tools of other servers, by name, with their servers;
// it is asked where a definition is new.
func (s *Server) take(definitions []rawjson.Value, mode Mode, now time.Time, elsewhere func() map[string]string) (changes []string) {
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
		name, hash := d.Get("name").Text(), Hash(d)
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
			t = &Tool{Name: name}
			s.Tools = append(s.Tools, t)
		}
		found := append(suspicions(d), s.reaches(d, listed, elsewhere())...)
		found = found[:min(len(found), maxFound)]
		if confusable {
			found = append(found, "Its name uses characters that look like others.")
		}
		if other != "" {
			found = append(found, fmt.Sprintf("Its name looks like that of the tool %.80q.", other))
		}
		text := jsontext.Value(d.AppendCanonical(nil))
		if len(text) > maxDefinition || s.size()+len(text) > maxBytes {
			text = nil
		}
		if first && mode == TrustFirst && len(found) == 0 {
			t.Hash, t.Definition, t.By, t.At = hash, text, "first listing", now
			changes = append(changes, fmt.Sprintf("%.80q is taken as first listed (%.12s)", name, hash))
			continue
		}
		t.Held = &Held{Hash: hash, Definition: text, Since: now, Found: found}
		if t.Hash == "" {
			t.Held.Was = s.renamed(d, name)
		}
		changes = append(changes, fmt.Sprintf("%.80q is held (%.12s)", name, hash))
	}
	s.forget(0)
	return changes
}

// size is how many bytes of definitions are kept.
func (s *Server) size() (n int) {
	for _, t := range s.Tools {
		n += len(t.Definition)
		if t.Held != nil {
			n += len(t.Held.Definition)
		}
	}
	return n
}

// forget drops tools that are gone when there are too many, or would be with some more: a
// server could list other names each time.
func (s *Server) forget(more int) {
	over := len(s.Tools) + more - 2*MaxTools
	s.Tools = slices.DeleteFunc(s.Tools, func(t *Tool) bool {
		if over > 0 && t.Gone {
			over--
			return true
		}
		return false
	})
}

// renamed returns the name of a tool that is gone and was defined as this one
// is, but for its name.
func (s *Server) renamed(d rawjson.Value, name string) string {
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

// maxFound is how much is said against one definition.
const maxFound = 20

// suspicions says what speaks against a definition: instructions for a model and
// characters that people do not see, in any of its texts.
func suspicions(d rawjson.Value) (found []string) {
	base := d.Pointer()
	for v := range d.Strings() {
		for _, f := range risk.Scan(v.Text(), risk.Injection|risk.Guidance|risk.Hidden, nil) {
			s := fmt.Sprintf("At %.200s there is what looks like %s.", strings.TrimPrefix(v.Pointer(), base), f.Name)
			if !slices.Contains(found, s) && len(found) < maxFound {
				found = append(found, s)
			}
		}
	}
	return found
}

// Servers lists the MCP servers of which tools are known. bad are those of which what is
// stored is damaged: none of their tools is called.
func (p *Pins) Servers(ctx context.Context) (list []*Server, bad []*guard.DamagedError, err error) {
	for _, items := range []*guard.Items[Server]{p.items, p.files} {
		for s, err := range items.All(ctx, ledger.ItemQuery{}) {
			if damaged, ok := errors.AsType[*guard.DamagedError](err); ok {
				bad = append(bad, damaged)
			} else if err != nil {
				return nil, nil, err
			} else {
				list = append(list, s)
			}
		}
	}
	return list, bad, nil
}

// of are the items that one of this id is among.
func (p *Pins) of(ctx context.Context, id string) (*guard.Items[Server], error) {
	_, item, err := p.files.Get(ctx, id)
	if _, damaged := errors.AsType[*guard.DamagedError](err); damaged || err == nil && item.Found {
		return p.files, nil
	}
	return p.items, err
}

// ErrNoTool: no definition of a tool of this name waits for an answer.
var ErrNoTool = errors.New("no definition of a tool of this name is held")

// Answer agrees to a held definition of a tool, or refuses it. hash is that of the
// definition that was looked at, or its beginning: another one is not answered by it
// (guard.ErrChanged); empty for whichever waits. ErrNoTool: nothing of this name waits.
func (p *Pins) Answer(ctx context.Context, id, tool, hash string, agree bool, by act.Principal) (*Tool, error) {
	var t *Tool
	items, err := p.of(ctx, id)
	if err != nil {
		return nil, err
	}
	_, err = items.Update(ctx, id, func(s *Server, item *guard.Item) (*guard.Note, error) {
		if t = s.Tool(tool); t == nil || t.Held == nil {
			return nil, ErrNoTool
		}
		if !strings.HasPrefix(t.Held.Hash, hash) {
			return nil, guard.ErrChanged
		}
		what := "mcp.refuse"
		details := map[string]string{"server": s.Name, "id": id, "tool": tool, "hash": t.Held.Hash}
		if agree {
			what = "mcp.approve"
			if t.agree(t.Held.Hash, t.Held.Definition, by.Name, p.now()); !s.Files {
				t.Earlier = nil // a server has one definition of a tool
			}
		} else {
			t.Held.Refused = by.Name
		}
		return guard.Admin(what, by, details), nil
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// ErrNoServer: no tools are remembered of a server of this id.
var ErrNoServer = errors.New("no tools are remembered of such a server")

// Forget forgets the tools of a server, also where what is stored of them is damaged, and
// makes room for another. What it lists next is its first listing: with TrustFirst it is
// trusted then. The error is ErrNoServer when there is none.
func (p *Pins) Forget(ctx context.Context, id string, by act.Principal) error {
	items, err := p.of(ctx, id)
	if err != nil {
		return err
	}
	var was *Server
	err = items.Remove(ctx, id, func(s *Server) *guard.Note {
		details := map[string]string{"id": id, "damaged": "true"}
		if was = s; s != nil {
			details = map[string]string{"id": id, "server": s.Name, "principal": s.Principal, "tools": strconv.Itoa(len(s.Tools))}
		}
		return guard.Admin("mcp.forget", by, details)
	})
	if errors.Is(err, ledger.ErrNotFound) {
		return ErrNoServer
	}
	if err == nil && was != nil && was.Project != "" {
		err = p.forgetFolders(ctx, was, by)
	}
	return err
}
