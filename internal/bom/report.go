package bom

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"reeve.example/reeve/internal/words"
)

// Report is a bill as people and programs read it here.
type Report struct {
	Agent     string    `json:"agent"`
	Principal string    `json:"principal"`
	Serial    string    `json:"serial"`
	Version   int       `json:"version"`
	Changed   time.Time `json:"changed"` // when it got this version
	First     time.Time `json:"first"`
	Last      time.Time `json:"last"` // of the hour
	Name      string    `json:"name,omitzero"`
	Supplier  string    `json:"supplier,omitzero"`
	Release   string    `json:"release,omitzero"`             // the agent's own version
	Told      string    `json:"instructions_sha256,omitzero"` // of the instructions that it says it has
	Policy    string    `json:"policy,omitzero"`              // the last by which its acts were decided
	// Full says that there were more components than a bill has room for.
	Full bool `json:"full,omitzero"`
	// Making says that it is being made anew from what is left of the ledger.
	Making     bool         `json:"making,omitzero"`
	Components []Listed     `json:"components"`
	Since      time.Time    `json:"since"` // when the changes begin
	Changes    []ChangeLine `json:"changes"`
}

// Listed is one component.
type Listed struct {
	Type       Type      `json:"type"`
	Name       string    `json:"name"`
	Server     string    `json:"server,omitzero"`
	Title      string    `json:"title,omitzero"`
	Supplier   string    `json:"supplier,omitzero"`
	Version    string    `json:"version,omitzero"`
	SHA256     string    `json:"sha256,omitzero"`
	First      time.Time `json:"first"`
	Last       time.Time `json:"last"`
	Gone       bool      `json:"gone,omitzero"`
	Undeclared bool      `json:"undeclared,omitzero"` // used, and never declared
	Unused     bool      `json:"unused,omitzero"`     // declared, and never used
	Confusable bool      `json:"confusable,omitzero"` // its name has characters that look like others
}

// ChangeLine is a change with its sentence.
type ChangeLine struct {
	Change
	Text string `json:"text"`
}

// Report is the bill as it is shown, with what changed since a time.
func (b *Bill) Report(since time.Time) *Report {
	f := b.Self.Form()
	r := &Report{
		Agent: b.Agent, Principal: b.Principal, Serial: b.Serial, Version: b.Version(), First: b.Self.First(), Last: b.Self.Last(),
		Name: f.Title, Supplier: f.Supplier, Release: f.Version, Told: f.Hash, Full: b.Full, Components: []Listed{}, Since: since, Changes: []ChangeLine{},
	}
	if n := len(b.Versions); n > 0 {
		r.Changed = b.Versions[n-1].At
	}
	if len(b.Policies) > 0 {
		r.Policy = b.Policies[0].Hash
	}
	for _, c := range b.Components {
		f := c.Form()
		_, gone := b.IsGone(c)
		r.Components = append(r.Components, Listed{
			Type: c.Type, Name: c.Name, Server: c.Server, Title: f.Title, Supplier: f.Supplier, Version: f.Version, SHA256: f.Hash,
			First: c.First(), Last: c.Last(), Gone: gone, Undeclared: b.Undeclared(c), Unused: b.Unused(c), Confusable: Confusable(c),
		})
	}
	for _, c := range b.Since(since) {
		r.Changes = append(r.Changes, ChangeLine{c, c.String()})
	}
	return r
}

// When reads since when changes are asked for: a version of the bill, a day, a time, or an
// age. Empty is for the version before the present one.
func (b *Bill) When(text string, now time.Time) (time.Time, error) {
	if text == "" {
		if n := len(b.Versions); n > 1 {
			return b.Versions[n-2].At, nil
		}
		return time.Time{}, nil
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(text, "v")); err == nil {
		for _, v := range b.Versions {
			if v.N == n {
				return v.At, nil
			}
		}
		return time.Time{}, errors.New("the bill has no such version, or it is too long ago")
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	if age, err := words.Duration(text); err == nil {
		return now.Add(-age), nil
	}
	return time.Time{}, errors.New("want a version of the bill such as 3, a day such as 2027-01-31, a time such as 2027-01-31T12:00:00Z, or an age such as 24h")
}
