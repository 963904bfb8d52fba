package guard

import (
	"crypto/sha256"
	"sync"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/provenance"
	"reeve.example/reeve/internal/rawjson"
)

// Instructions is what agents' own instructions say, which are one's own source of values.
// An agent sends them with each of its steps, and they are the same in all of its sessions:
// so they are read when a rule first asks about a value that nobody else has named, once
// for all sessions, and kept with none of them. The zero Instructions are ready.
type Instructions struct {
	Key provenance.Key // nobody's who writes instructions

	mu   sync.Mutex
	read map[[sha256.Size]byte]*provenance.Memory
}

const (
	maxInstructed   = 64       // instructions that are kept as read
	maxInstructions = 64 << 10 // bytes of an agent's instructions; of longer ones nothing is one's own
)

// of tells of a value whether it stands in the instructions of an act's agent; nil where it
// has none.
func (i *Instructions) of(a *act.Action) func(value string) bool {
	raw := a.Agent.Instructions
	if len(raw) == 0 || len(raw) > maxInstructions {
		return nil
	}
	return func(value string) bool { return i.memory(raw).Origin(value) == provenance.Own }
}

// memory is what instructions say. It is not written to once it is here.
func (i *Instructions) memory(raw []byte) *provenance.Memory {
	sum := sha256.Sum256(raw)
	i.mu.Lock()
	m := i.read[sum]
	i.mu.Unlock()
	if m != nil {
		return m
	}
	m = &provenance.Memory{Key: i.Key}
	if doc, err := rawjson.Parse(raw); err == nil {
		m.Apply(m.Read(provenance.Text{Said: doc.Root().Text(), By: provenance.Own}), 1)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.read == nil || len(i.read) >= maxInstructed {
		i.read = map[[sha256.Size]byte]*provenance.Memory{}
	}
	i.read[sum] = m
	return m
}
