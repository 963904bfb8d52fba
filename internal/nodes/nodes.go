// Package nodes is what the nodes that share a database know of each other: what each
// serves by, in what they differ, and which of them serve when their policies are not
// the same. It is pure; the store keeps what each node says of itself.
package nodes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Node is one run of the program, as it says itself, with what the database knows of it.
type Node struct {
	Name    string    `json:"name"`
	Version string    `json:"version"`
	URL     string    `json:"url,omitzero"` // where it listens; empty for nowhere but on its socket
	Started time.Time `json:"started,omitzero"`
	// Policy is the content hash of the policy in force, and Since from when on it is.
	Policy string    `json:"policy"`
	Since  time.Time `json:"policy_since,omitzero"`
	// Problem is why its policy could not be read again; empty when it could.
	Problem string `json:"problem,omitzero"`
	// Reads is how often its policy was to be read again.
	Reads int `json:"policy_reads,omitzero"`
	// Executors is a hash of what it can execute.
	Executors string `json:"executors"`
	// Lag is how long a record takes at present until it is durable.
	Lag Seconds `json:"lag_seconds"`
	// Refused is why it does not serve; empty when it does.
	Refused string `json:"refused,omitzero"`
	// Seals says that it seals what it writes beside the log.
	Seals bool `json:"seals,omitzero"`

	// What the database says.
	Log    uint32    `json:"log"`             // that it writes, or wrote
	Epoch  uint64    `json:"epoch"`           // of its lease
	Size   uint64    `json:"size"`            // records of the log
	Newest time.Time `json:"newest,omitzero"` // when the log's newest record was written
	Age    Seconds   `json:"age_seconds"`     // since its last sign of life
	Living bool      `json:"living"`          // it holds the log
	// Gone says that it holds the log no more and never gave it back: it was killed, or is cut
	// off from the database. Once another takes the log, nothing is known of it any more.
	Gone bool `json:"gone,omitzero"`
}

// Seconds is a length of time, written as a number of seconds.
type Seconds float64

// In returns a length of time in seconds, to the tenth of a millisecond.
func In(d time.Duration) Seconds { return Seconds(d.Round(100 * time.Microsecond).Seconds()) }

// Duration is the same length of time.
func (s Seconds) Duration() time.Duration { return time.Duration(float64(s) * float64(time.Second)) }

// living returns the nodes that live.
func living(list []Node) (alive []Node) {
	for _, n := range list {
		if n.Living {
			alive = append(alive, n)
		}
	}
	return alive
}

// Missed is how long a node that is gone is told of.
const Missed = 24 * time.Hour

// Missing are the names of the nodes that are gone, and were there not long ago.
func Missing(list []Node) (names []string) {
	for _, n := range list {
		if n.missing() {
			names = append(names, n.Name)
		}
	}
	return names
}

func (n *Node) missing() bool { return n.Gone && n.Age.Duration() < Missed }

// Present are the nodes that live, and those that are missing.
func Present(list []Node) []Node {
	return slices.DeleteFunc(slices.Clone(list), func(n Node) bool { return !n.Living && !n.missing() })
}

// Difference is what nodes that live do not have in common.
type Difference struct {
	What  string              // policy, executors or version
	Nodes map[string][]string // their names, by what they have
}

// String is a sentence.
func (d Difference) String() string {
	var parts []string
	for have, names := range d.Nodes {
		slices.Sort(names)
		parts = append(parts, fmt.Sprintf("%s of %s", Short(have), strings.Join(names, ", ")))
	}
	slices.Sort(parts)
	return "the nodes differ in their " + d.What + ": " + strings.Join(parts, "; ")
}

// Short is a hash as people read it.
func Short(hash string) string {
	hash = strings.TrimPrefix(hash, "sha256:")
	return hash[:min(len(hash), 12)]
}

// What nodes can differ in, and what each has. A node that does not serve, or is of a
// program that does not say, has "", which is no difference.
var features = []struct {
	what string
	of   func(n *Node) string
}{
	{"policy", func(n *Node) string { return n.Policy }},
	{"executors", func(n *Node) string { return n.Executors }},
	{"version", func(n *Node) string { return n.Version }},
}

// Kinds returns how many different ones the living nodes have of each feature: policy,
// executors, version.
func Kinds(list []Node) map[string]int {
	kinds := map[string]int{}
	for _, f := range features {
		seen := map[string]bool{}
		for _, n := range living(list) {
			if have := f.of(&n); have != "" {
				seen[have] = true
			}
		}
		kinds[f.what] = len(seen)
	}
	return kinds
}

// Differences lists in what the living nodes differ.
func Differences(list []Node) (all []Difference) {
	for _, f := range features {
		d := Difference{What: f.what, Nodes: map[string][]string{}}
		for _, n := range living(list) {
			if have := f.of(&n); have != "" {
				d.Nodes[have] = append(d.Nodes[have], n.Name)
			}
		}
		if len(d.Nodes) > 1 {
			all = append(all, d)
		}
	}
	return all
}

// Rules returns the policy by which nodes serve that are to have the same one: that of
// most of the living nodes; of as many, the one that came into force first. So there is
// always exactly one, each node finds the same, and a single node with another one never
// has its way.
func Rules(list []Node) string {
	type votes struct {
		policy string
		nodes  int
		since  time.Time
	}
	count := map[string]*votes{}
	for _, n := range living(list) {
		if n.Policy == "" {
			continue
		}
		v := count[n.Policy]
		if v == nil {
			v = &votes{n.Policy, 0, n.Since}
			count[n.Policy] = v
		}
		v.nodes++
		if n.Since.Before(v.since) {
			v.since = n.Since
		}
	}
	var best *votes
	for _, v := range count {
		if best == nil || cmp.Or(cmp.Compare(v.nodes, best.nodes), best.since.Compare(v.since), cmp.Compare(best.policy, v.policy)) > 0 {
			best = v
		}
	}
	if best == nil {
		return ""
	}
	return best.policy
}
