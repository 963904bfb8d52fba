package bom

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/internal/visible"
)

// Format is a form that bills are given out in.
type Format string

// The formats.
const (
	CycloneDX16 Format = "cyclonedx-1.6"
	CycloneDX17 Format = "cyclonedx-1.7"
	SPDX301     Format = "spdx-3.0.1"
	SWID        Format = "swid"
)

// Formats are all of them.
var Formats = []Format{CycloneDX16, CycloneDX17, SPDX301, SWID}

// MediaType is a format's.
func (f Format) MediaType() string {
	switch f {
	case CycloneDX16, CycloneDX17:
		return "application/vnd.cyclonedx+json; version=" + strings.TrimPrefix(string(f), "cyclonedx-")
	case SPDX301:
		return "application/spdx+json"
	case SWID:
		return "application/swid+xml"
	}
	return "application/octet-stream"
}

// Proof is what a node says of a bill that it gives out.
type Proof struct {
	Log        string    // its name
	Key        string    // of the log, in the form of C2SP signed-note
	Checkpoint []byte    // the newest one
	Record     string    // under it, which tells that the bill was given out, with the hash of its contents
	Version    string    // reeve's
	Now        time.Time // when it is given out
}

// Document writes a bill in a format. What is not a part of the agent any more is not in it.
//
// Names are texts of the agent's, and what reads the document may show them to a person: in
// them each character that is not seen, or changes how others look, stands by its number.
func (b *Bill) Document(format Format, p *Proof) ([]byte, error) {
	parts := b.parts()
	switch format {
	case CycloneDX16, CycloneDX17:
		return b.cyclonedx(strings.TrimPrefix(string(format), "cyclonedx-"), parts, p)
	case SPDX301:
		return b.spdx(parts, p)
	case SWID:
		return b.swid(parts, p)
	}
	return nil, fmt.Errorf("there is no format %q: choose %s", format, Named())
}

// Named are the formats, as sentences name them.
func Named() string {
	names := make([]string, len(Formats))
	for i, f := range Formats {
		names[i] = string(f)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// part is a component as documents have it.
type part struct {
	*Component
	ref        string // by which it is named in the document
	name       string
	title      string
	supplier   string
	version    string
	hash       string
	whole      bool // the hash is of the component, and not of what was said of it
	properties [][2]string
}

// parts are the components that documents list.
func (b *Bill) parts() (list []*part) {
	for _, c := range b.Components {
		if _, gone := b.IsGone(c); !gone {
			list = append(list, b.part(c))
		}
	}
	return list
}

func (b *Bill) part(c *Component) *part {
	f := c.Form()
	sum := sha256.Sum256([]byte(string(c.Type) + "\x00" + c.Server + "\x00" + c.Name))
	p := &part{
		Component: c, ref: string(c.Type) + "-" + hex.EncodeToString(sum[:8]),
		name: visible.Line(c.Name), title: visible.Line(f.Title), supplier: visible.Line(f.Supplier), version: visible.Line(f.Version), hash: f.Hash,
		whole: slices.Contains([]Type{Skill, Instructions, Settings}, c.Type),
	}
	add := func(name, value string) {
		if value != "" {
			p.properties = append(p.properties, [2]string{name, value})
		}
	}
	moment := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.Format(time.RFC3339)
	}
	add("type", string(c.Type))
	add("title", p.title)
	add("server", visible.Line(c.Server))
	add("first", moment(c.First()))
	add("last", moment(c.Last()))
	add("used:first", moment(c.Seen.First))
	add("declared:first", moment(c.Said.First))
	if c.Type == Self {
		add("instructions:sha256", f.Hash)
		add("id", visible.Line(b.Agent))
		add("credential", visible.Line(b.Principal))
		add("full", map[bool]string{true: "there were more components than a bill has room for"}[b.Full])
	} else if !p.whole {
		add("description:sha256", f.Hash)
	}
	if b.Undeclared(c) {
		add("note", "used, and never declared")
	}
	if b.Unused(c) {
		add("note", "declared, and never used")
	}
	if Confusable(c) {
		add("note", "the name has characters that look like others")
	}
	return p
}

// created is when the bill got its contents: a document of one version is always the same
// but for what was seen since, and the proof.
func (p *Proof) created() string { return p.Now.UTC().Truncate(time.Second).Format(time.RFC3339) }

// predicate is what the node attests.
func (b *Bill) predicate(p *Proof) string {
	s := fmt.Sprintf("What is listed was seen in the acts of this agent that are recorded in the log %s", p.Log)
	if len(b.Policies) > 0 {
		s += fmt.Sprintf("; they were decided by a policy, the last with the hash %s", visible.Line(b.Policies[0].Hash))
	}
	return s + ". The checkpoint is the signed root of the log's Merkle tree when this was written: each of the records can be proved to be in it. That this bill was given out is in record " + p.Record + "."
}
