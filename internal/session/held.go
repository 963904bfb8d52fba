package session

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/provenance"
	"reeve.example/reeve/internal/risk"
	"reeve.example/reeve/internal/risk/hazard"
)

// A model that reads a file of secrets can type what it has read into any later call. So of such a
// result, as the model gets it, the values are remembered by digests that nobody can try without the
// node's key, with the hosts that the file names, and a call is asked whether it holds one of them. What
// was masked the model has not seen, and what the session itself wrote there tells nobody anything.

// classWhole is the class of the digests of whole values.
const classWhole = 'Y'

// Bounds of what is remembered of one result.
const (
	maxHeldValues = 128 // digests
	maxHeldHosts  = 32
)

// KeyedBy gives the state the node's key for the digests of values. Without one none are kept, and
// none are known.
func (s *State) KeyedBy(key []byte) { s.key = key }

// heldDigest is what a text is known by: nobody without the key can try others.
func (s *State) heldDigest(class byte, text string) uint64 {
	b := append(make([]byte, 0, 128), s.key...)
	sum := sha256.Sum256(append(append(b, class), text...))
	return binary.LittleEndian.Uint64(sum[:])
}

// A value is found by its last letters and digits: the first are often those of all its kind.
func (s *State) tailOf(squeezed string) uint64 {
	return s.heldDigest(factHeld, squeezed[len(squeezed)-risk.MinHeld:])&^(tiers-1) | relates
}

// wholeOf is what the fact of a value relates to: how long it is, and a digest of all of it.
func (s *State) wholeOf(squeezed string) uint64 {
	return s.heldDigest(classWhole, squeezed)&^0xffff | uint64(len(squeezed))&0xffff
}

// discloses is the fact that a call shows what a place of secrets holds.
func discloses(call uint64) uint64 {
	return hash(factHeld, "shown by", string(binary.LittleEndian.AppendUint64(nil, call)))&^(tiers-1) | 1
}

// Discloses reports whether an act is the result of a call that shows what a place of secrets holds.
func (s *State) Discloses(a *act.Action) bool {
	return s.key != nil && Returns(a) && s.find(discloses(callKey(a, a.Answers))) != nil
}

// disclosed adds to the step of a call that it shows what a place of secrets holds, or a file into which
// the session put such a thing.
func (s *State) disclosed(st *Step, a *act.Action, read *hazard.Reading) {
	if s.key == nil || a.ID == "" {
		return
	}
	shows := read.Assess(hazard.Default()).Discloses
	if names, _ := read.Shown(); !shows {
		shows = slices.ContainsFunc(names, func(name string) bool { return s.Kept(nameOfFile(name)) })
	}
	if shows {
		st.facts = append(st.facts, discloses(callKey(a, a.ID)))
	}
}

// Disclosed adds to the step of a result the values that the model reads in it. edits are what was
// changed in it before.
func (s *State) Disclosed(st *Step, a *act.Action, edits []act.Edit) {
	if st.effect == act.Deny || st.effect == act.Escalate || !s.Discloses(a) {
		return
	}
	values, hosts := 0, 0
	for i := range a.Content {
		l := &a.Content[i]
		if s.Wrote(l.Text) {
			continue
		}
		found, at := risk.Held(bare(editedText(l, edits)))
		for _, v := range found {
			for _, piece := range risk.Pieces(v) {
				if values < maxHeldValues && !s.holdsAt(piece, len(piece)) {
					values++
					st.files = append(st.files, s.tailOf(piece), s.wholeOf(piece))
				}
			}
		}
		for _, host := range at {
			if fact := s.heldDigest(factHeldHost, host)&^(tiers-1) | 1; hosts < maxHeldHosts && s.work().find(fact) == nil {
				hosts++
				st.files = append(st.files, fact)
			}
		}
	}
	if values > 0 && !s.work().knows(factHeld, "", 1) {
		st.files = append(st.files, factOf(factHeld, "", 1))
	}
	st.facts = append(st.facts, st.files...)
}

// editedText is the text of a leaf as the model gets it.
func editedText(l *act.Leaf, edits []act.Edit) string {
	for i := range edits {
		if e := &edits[i]; l.Pointer == e.Pointer {
			return textOf(e.Value)
		} else if strings.HasPrefix(l.Pointer, e.Pointer+"/") {
			return textOf(e.Value) // all of what it was a part of
		}
	}
	return l.Text
}

// Held is what is known of the values that were read; of nothing where none was.
func (s *State) Held() hazard.Held {
	if s.key == nil || !s.work().knows(factHeld, "", 1) && !s.knows(factHeld, "", 1) {
		return hazard.Held{}
	}
	return hazard.Held{Holds: s.Holds, Knows: s.KnowsHost}
}

// Holds reports whether a text holds a value that the session, or another one of its work, has read in a
// place of secrets: as it is, whatever stands between its letters, or in a form that risk.Spellings knows.
func (s *State) Holds(text string) bool {
	if s == nil || s.key == nil || len(text) < risk.MinHeld || !s.work().knows(factHeld, "", 1) && !s.knows(factHeld, "", 1) {
		return false
	}
	for _, spelled := range risk.Spellings(text) {
		for end := risk.MinHeld; end <= len(spelled); end++ {
			if s.holdsAt(spelled, end) {
				return true
			}
		}
	}
	return false
}

// holdsAt reports whether a value ends at a place of a squeezed text.
func (s *State) holdsAt(squeezed string, end int) bool {
	if end < risk.MinHeld {
		return false
	}
	tail := s.tailOf(squeezed[:end])
	for _, known := range []*State{s.work(), s} {
		if whole, ok := known.other(tail); ok && int(whole&0xffff) <= end && s.wholeOf(squeezed[end-int(whole&0xffff):end]) == whole {
			return true
		}
	}
	return false
}

// KnowsHost reports whether a file of secrets that the session has read names a host, or the user does:
// what is kept for it may go there.
func (s *State) KnowsHost(host string) bool {
	host = strings.ToLower(host)
	if s == nil || host == "" {
		return false
	}
	fact := s.heldDigest(factHeldHost, host)&^(tiers-1) | 1
	return s.key != nil && (s.find(fact) != nil || s.work().find(fact) != nil) || s.namedBy(host) == provenance.User
}

// retyped looks in what is said to another agent, or to an MCP server, for values that were read in a
// place of secrets. What a call does with one its hazards tell.
func (c *checker) retyped() {
	if c.a.IsCall() || !Tells(c.a) || c.s.Held().Holds == nil {
		return
	}
	for i := range c.a.Content {
		if l := &c.a.Content[i]; c.s.Holds(l.Text) {
			c.add("secret.retyped", l.Pointer, "The message holds a value that was read where secrets are kept.")
		}
	}
}

// Tells reports whether an act says something to another agent or to an MCP server.
func Tells(a *act.Action) bool {
	return a.Kind == act.A2ASend || a.Kind == act.MCPRequest && a.Speaker() != act.FromServer || a.Kind == act.MCPResponse && a.Speaker() != act.FromServer
}
