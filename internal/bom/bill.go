// Package bom keeps an agent's bill of materials: what it was seen to be made of, and what
// it says that it is made of. Both come from the ledger's records, read behind the
// decisions, so that no decision waits for it. A bill can be made anew from the records at
// any time: what it takes from them does not depend on their order.
//
//	bill := &bom.Bill{Agent: "mailer", Principal: "key:mailer"}
//	bill.take(reader.read(record))  // of each record, in any order, once or more
//	bill.settle(now)                // gives the bill a new version if it has other contents
//
// A bill is of one credential: who uses another agent's name has a bill of its own.
package bom

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/words"

	"github.com/go-json-experiment/json"
)

// Type is what a component is. The words are those of ACS, where it has one.
type Type string

// The types of components.
const (
	Self         Type = "agent" // the agent itself
	Model        Type = "model"
	Tool         Type = "tool"
	MCPServer    Type = "mcp_server"
	Peer         Type = "a2a_peer"
	Knowledge    Type = "knowledge_source"
	Memory       Type = "memory_store"
	Capability   Type = "agent_capability"
	Skill        Type = "skill"
	Instructions Type = "instructions" // a file that tells the agent what to do
	Settings     Type = "settings"     // a file that says what the agent may do, and which programs it runs by itself
	Other        Type = "other"        // what an agent declares of a type that is not known here: its name begins with the type's
)

// types are all of them, in the order in which bills list them.
var types = []Type{Model, Tool, MCPServer, Peer, Knowledge, Memory, Capability, Skill, Instructions, Settings, Other}

// Bounds of a bill. An agent can invent as many names as it likes.
const (
	MaxComponents = 1000
	maxForms      = 16 // that a component had
	maxText       = 256
	maxVersions   = 50 // of which the bill remembers when each began
	maxBill       = 4 << 20
)

// quiet is for how long an agent must have listed what it is made of, without a component,
// until that is gone: sessions that run side by side list different ones.
const quiet = 2 * time.Hour

// Form is a component as somebody described it.
type Form struct {
	Title    string `json:"title,omitzero"`
	Supplier string `json:"supplier,omitzero"`
	Version  string `json:"version,omitzero"`
	Hash     string `json:"sha256,omitzero"` // of the whole description, in hexadecimal digits
	Span
}

// Span is when something was first and last. The last is of the hour.
type Span struct {
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
}

// extend has a span reach over another.
func (s *Span) extend(o Span) {
	if o.First.IsZero() {
		return
	}
	if s.First.IsZero() || o.First.Before(s.First) {
		s.First = o.First
	}
	if o.Last.After(s.Last) {
		s.Last = o.Last
	}
}

// at is the span of one moment. The last is cut to the hour, so that a bill whose agent does
// always the same is written once an hour, and not with each act.
func at(t time.Time) Span {
	t = t.UTC()
	return Span{t, t.Truncate(time.Hour)}
}

// exactly is the span of one moment of which the bill hears seldom.
func exactly(t time.Time) Span {
	t = t.UTC()
	return Span{t, t}
}

// Component is a part of an agent.
type Component struct {
	Type   Type   `json:"type"`
	Name   string `json:"name"`             // by which the agent calls it
	Server string `json:"server,omitzero"`  // the MCP server that a tool is of
	Forms  []Form `json:"forms,omitempty"`  // as it was described, the newest first
	Seen   Span   `json:"seen,omitzero"`    // when the agent used it, and was let
	Said   Span   `json:"said,omitzero"`    // when the agent, or the server, said that it is there
	Gone   Span   `json:"removed,omitzero"` // when the agent said that it is there no more
}

// compare orders components, and tells them apart: names that look alike are still two.
func compare(a, b *Component) int {
	return cmp.Or(cmp.Compare(slices.Index(types, a.Type), slices.Index(types, b.Type)), strings.Compare(a.Server, b.Server), strings.Compare(a.Name, b.Name))
}

// Form is the component as it was described last; the zero Form where nobody did.
func (c *Component) Form() Form {
	if len(c.Forms) == 0 {
		return Form{}
	}
	return c.Forms[0]
}

// span is when anything was known of the component.
func (c *Component) span() Span {
	s := c.Seen
	s.extend(c.Said)
	return s
}

// First and Last are when it was first and last used or listed.
func (c *Component) First() time.Time { return c.span().First }
func (c *Component) Last() time.Time {
	s := c.span()
	return later(s.First, s.Last)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// extend adds to a component what is known of it elsewhere.
func (c *Component) extend(o *Component) {
	c.Seen.extend(o.Seen)
	c.Said.extend(o.Said)
	c.Gone.extend(o.Gone)
	for _, f := range o.Forms {
		c.form(f)
	}
}

// form adds a form, and keeps the newest.
func (c *Component) form(f Form) {
	if i := slices.IndexFunc(c.Forms, func(o Form) bool { return o.same(&f) }); i >= 0 {
		f.extend(c.Forms[i].Span)
		c.Forms = slices.Delete(c.Forms, i, i+1)
	}
	i, _ := slices.BinarySearchFunc(c.Forms, f, func(a, b Form) int {
		return cmp.Or(b.Last.Compare(a.Last), b.First.Compare(a.First), strings.Compare(a.text(), b.text()))
	})
	c.Forms = slices.Insert(c.Forms, i, f)
	c.Forms = c.Forms[:min(len(c.Forms), maxForms)]
}

// same reports whether two descriptions say the same.
func (f *Form) same(o *Form) bool {
	return f.Title == o.Title && f.Supplier == o.Supplier && f.Version == o.Version && f.Hash == o.Hash
}

// text is what makes a form another, to bring forms of one time into an order.
func (f Form) text() string {
	return strings.Join([]string{f.Title, f.Supplier, f.Version, f.Hash}, "\x00")
}

// Version is when a bill's contents became what they were until the next.
type Version struct {
	N      int       `json:"version"`
	At     time.Time `json:"at"`
	Digest string    `json:"sha256"`
}

// Bill is what an agent is made of.
type Bill struct {
	Agent     string `json:"agent"`
	Principal string `json:"principal"` // the credential that it has
	// Serial names the bill, and stays. Versions are when the contents became others, the
	// newest last; there may have been more before.
	Serial   string    `json:"serial"`
	Versions []Version `json:"versions"`
	// Self is the agent itself, as it described itself.
	Self       Component            `json:"self"`
	Components []*Component         `json:"components"`
	Listed     map[string]time.Time `json:"listed,omitzero"` // when the agent last listed all of a type, and a server all of its tools
	// Policies are the policies by which its acts were decided, by the hashes of their contents.
	Policies []Form `json:"policies,omitempty"`
	// Full says that there were more components than a bill has room for: those that were
	// first are in it.
	Full bool `json:"full,omitzero"`
	// Round is which reading of the whole ledger it was made by.
	Round int `json:"round,omitzero"`
}

// newSerial is a random UUID (RFC 9562, version 4).
func newSerial() string {
	var b [16]byte
	rand.Read(b[:]) // never fails: see crypto/rand
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	x := hex.EncodeToString(b[:])
	return strings.Join([]string{x[:8], x[8:12], x[12:16], x[16:20], x[20:]}, "-")
}

// sight is what one record tells of an agent.
type sight struct {
	at               time.Time
	agent, principal string
	self             Component
	components       []*Component
	listed           map[string]time.Time
	policy           Form
	cut              bool // it tells of more components than are read of one
}

// cut bounds a text of an agent's. Of a longer one the end is a hash, so that two that begin
// alike stay two.
func cut(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= maxText {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return words.Cut(s, maxText-len("…")-16) + "…" + hex.EncodeToString(sum[:8])
}

// take adds what a record tells.
func (b *Bill) take(s *sight) {
	b.Self.Type, b.Self.Name = Self, b.Agent
	b.Self.extend(&s.self)
	for _, c := range s.components {
		i, found := slices.BinarySearchFunc(b.Components, c, compare)
		if found {
			b.Components[i].extend(c)
			continue
		}
		one := &Component{Type: c.Type, Name: c.Name, Server: c.Server}
		one.extend(c)
		b.Components = slices.Insert(b.Components, i, one)
	}
	b.Full = b.Full || s.cut
	if len(b.Components) > MaxComponents {
		b.Full = true
		b.drop(MaxComponents)
	}
	for list, t := range s.listed {
		if b.Listed == nil {
			b.Listed = map[string]time.Time{}
		}
		b.Listed[list] = later(b.Listed[list], t)
	}
	if len(b.Listed) > MaxComponents {
		b.forgetLists()
	}
	if s.policy.Hash != "" {
		p := Component{Forms: b.Policies}
		p.form(s.policy)
		b.Policies = p.Forms
	}
}

// drop drops what was first seen last, until so many are left: who floods a bill with names
// does not push out of it what was there before.
func (b *Bill) drop(most int) {
	for len(b.Components) > most {
		newest := 0
		for i, c := range b.Components {
			if b.Components[newest].First().Compare(c.First()) <= 0 {
				newest = i
			}
		}
		b.Components = slices.Delete(b.Components, newest, newest+1)
	}
}

// forgetLists forgets the lists of servers of which the bill has no component.
func (b *Bill) forgetLists() {
	of := map[string]bool{}
	for _, t := range types {
		of[listOf(t, "")] = true
	}
	for _, c := range b.Components {
		of[listOf(c.Type, c.Server)] = true
	}
	maps.DeleteFunc(b.Listed, func(list string, _ time.Time) bool { return !of[list] })
}

// listOf names the list that a component would stand in.
func listOf(t Type, server string) string {
	if server == "" {
		return string(t)
	}
	return string(t) + " " + server
}

// IsGone reports whether a component is there no more, and since when.
func (b *Bill) IsGone(c *Component) (since time.Time, gone bool) {
	if removed := c.Gone.Last; !removed.IsZero() && removed.After(c.Last()) {
		return removed, true
	}
	over := c.span().Last.Add(quiet)
	if c.Said.First.IsZero() || b.Listed[listOf(c.Type, c.Server)].Before(over) {
		return time.Time{}, false
	}
	// It was missed at the earliest with the next version.
	for _, v := range b.Versions {
		if !v.At.Before(over) {
			return v.At, true
		}
	}
	return over, true
}

// content is the hash of all that makes a version of a bill: not when it was seen.
func (b *Bill) content() string {
	h := sha256.New()
	add := func(c *Component, gone bool) {
		f := c.Form()
		text, err := json.Marshal([]any{c.Type, c.Server, c.Name, f.Title, f.Supplier, f.Version, f.Hash, gone})
		if err != nil {
			return // no text of theirs is that: they are valid UTF-8
		}
		h.Write(append(text, '\n'))
	}
	add(&b.Self, false)
	for _, c := range b.Components {
		_, gone := b.IsGone(c)
		add(c, gone)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Version is the number of the bill's contents.
func (b *Bill) Version() int {
	if len(b.Versions) == 0 {
		return 0
	}
	return b.Versions[len(b.Versions)-1].N
}

// settle gives the bill another version if its contents are others, and reports whether. now
// is the time of the newest record that it was made of.
func (b *Bill) settle(now time.Time) bool {
	if b.Serial == "" {
		b.Serial = newSerial()
	}
	digest := b.content()
	if n := len(b.Versions); n > 0 && b.Versions[n-1].Digest == digest {
		return false
	}
	b.Versions = append(b.Versions, Version{b.Version() + 1, now.UTC(), digest})
	b.Versions = b.Versions[max(0, len(b.Versions)-maxVersions):]
	return true
}

// Change is one difference of a bill against what it was.
type Change struct {
	What   string    `json:"what"` // came, changed or went
	Type   Type      `json:"type"`
	Name   string    `json:"name"`
	Server string    `json:"server,omitzero"`
	At     time.Time `json:"at"`
	Was    *Form     `json:"was,omitzero"` // of what changed
	Is     *Form     `json:"is,omitzero"`
}

func (c Change) String() string {
	name := fmt.Sprintf("%s %q", c.Type, c.Name)
	if c.Server != "" {
		name += fmt.Sprintf(" of %q", c.Server)
	}
	if c.Was == nil || c.Is == nil {
		return c.What + ": " + name
	}
	var parts []string
	for _, p := range [][3]string{
		{"name", c.Was.Title, c.Is.Title}, {"supplier", c.Was.Supplier, c.Is.Supplier}, {"version", c.Was.Version, c.Is.Version}, {"hash", short(c.Was.Hash), short(c.Is.Hash)},
	} {
		if p[1] != p[2] {
			parts = append(parts, fmt.Sprintf("%s %q → %q", p[0], p[1], p[2]))
		}
	}
	return c.What + ": " + name + " (" + strings.Join(parts, ", ") + ")"
}

func short(hash string) string { return hash[:min(len(hash), 12)] }

// Since is what came, changed and went since a time, in the order of the bill.
func (b *Bill) Since(t time.Time) []Change {
	changes := []Change{}
	add := func(c *Component) {
		one := Change{Type: c.Type, Name: c.Name, Server: c.Server}
		went, gone := b.IsGone(c)
		switch first := c.First(); {
		case first.After(t) && gone: // it came and went
		case first.After(t):
			one.What, one.At = "came", first
			changes = append(changes, one)
		case gone && went.After(t):
			one.What, one.At = "went", went
			changes = append(changes, one)
		case !gone && len(c.Forms) > 1 && c.Forms[0].First.After(t):
			// What it was then is the newest of the forms that were there.
			if was := slices.IndexFunc(c.Forms, func(f Form) bool { return !f.First.After(t) }); was > 0 {
				one.What, one.At, one.Was, one.Is = "changed", c.Forms[0].First, &c.Forms[was], &c.Forms[0]
				changes = append(changes, one)
			}
		}
	}
	add(&b.Self)
	for _, c := range b.Components {
		add(c)
	}
	return changes
}

// Undeclared reports whether the agent used a component and never named it, of a type of
// which it names what it has.
func (b *Bill) Undeclared(c *Component) bool {
	_, listed := b.Listed[listOf(c.Type, c.Server)]
	return listed && c.Said.First.IsZero()
}

// Unused reports whether the agent named a component and never used it, of a type of which
// uses are seen.
func (b *Bill) Unused(c *Component) bool {
	return (c.Type == Tool || c.Type == MCPServer || c.Type == Peer || c.Type == Skill) && c.Seen.First.IsZero()
}

// Confusable reports whether a component's name has characters that look like others.
func Confusable(c *Component) bool {
	_, is := canon.Name(c.Name)
	return is
}

// anew is the bill without what it took from records: it keeps its name and its versions.
func (b *Bill) anew(round int) *Bill {
	return &Bill{Agent: b.Agent, Principal: b.Principal, Serial: b.Serial, Versions: b.Versions, Round: round}
}

// data is the bill as it is stored. Of one that is too long to be read again the forms are
// dropped that components had before, and then the newest components: no agent loses what
// is known of it by what it calls its tools.
func (b *Bill) data() ([]byte, error) {
	for {
		data, err := json.Marshal(b, json.Deterministic(true))
		if err != nil || len(data) <= maxBill {
			return data, err
		}
		former := false
		for _, c := range b.Components {
			former = former || len(c.Forms) > 1
			c.Forms = c.Forms[:min(len(c.Forms), 1)]
		}
		if b.Full = true; !former {
			if len(b.Components) == 0 {
				return nil, fmt.Errorf("a bill of materials has %d bytes", len(data))
			}
			b.drop(len(b.Components) / 2)
		}
	}
}

// Parse reads what data wrote.
func Parse(data []byte) (*Bill, error) {
	if len(data) > maxBill {
		return nil, fmt.Errorf("a bill of materials has %d bytes", len(data))
	}
	b := new(Bill)
	if err := json.Unmarshal(data, b, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("read a bill of materials: %w", err)
	}
	if b.Agent == "" || b.Principal == "" || len(b.Components) > MaxComponents || len(b.Versions) > maxVersions || len(b.Policies) > maxForms {
		return nil, fmt.Errorf("this is no bill of materials")
	}
	for i, c := range b.Components {
		if c == nil || !slices.Contains(types, c.Type) || len(c.Forms) > maxForms || i > 0 && compare(b.Components[i-1], c) >= 0 {
			return nil, fmt.Errorf("component %d of a bill of materials is none, or not in its order", i)
		}
	}
	return b, nil
}

// against is what came, changed and went in a bill since it was another.
func (b *Bill) against(before *Bill) []Change {
	changes := []Change{}
	differ := func(is, was *Component) {
		one := Change{Type: is.Type, Name: is.Name, Server: is.Server, At: is.Last()}
		_, gone := b.IsGone(is)
		wasGone := was == nil
		if was != nil {
			_, wasGone = before.IsGone(was)
		}
		switch {
		case wasGone && !gone:
			one.What = "came"
		case !wasGone && gone:
			one.What = "went"
		case !gone && is.Form().text() != was.Form().text():
			f, old := is.Form(), was.Form()
			one.What, one.Was, one.Is = "changed", &old, &f
		default:
			return
		}
		changes = append(changes, one)
	}
	differ(&b.Self, &before.Self)
	for _, c := range b.Components {
		var was *Component
		if i, found := slices.BinarySearchFunc(before.Components, c, compare); found {
			was = before.Components[i]
		}
		differ(c, was)
	}
	return changes
}
