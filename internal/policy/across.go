package policy

import (
	"strings"
	"unicode/utf8"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/risk"
)

// A reader puts the parts of a message together: two blocks of text, of which each
// is harmless, are one order to a model. So injection is also looked for across the
// texts of a message that bear the same name, in their order. The texts of a call
// are apart: they are arguments, which no model reads as one.

// nearSeam is how much of a text, at each of its ends, can belong to an order that
// another text begins or ends. It is more than the words that the detector reads.
const nearSeam = 1024

// pause stands for the middle of a long text: more than may lie between two words.
var pause = strings.Repeat("\n", 32)

// seams is what stands between the texts, in turn: they are cut between words, or
// within one, or now so and now so.
var seams = [...][2]string{{"\n", "\n"}, {"", ""}, {"", "\n"}, {"\n", ""}}

// across returns the injections that no text holds alone, by leaf: of each the part
// that lies there. It costs time in proportion to the texts, and nothing where
// there is only one.
func across(a *act.Action) map[int][]risk.Finding {
	if len(a.Content) < 2 || a.IsCall() {
		return nil
	}
	groups := map[string][]int{} // leaves by name
	for i := range a.Content {
		if leaf := &a.Content[i]; !leaf.Fixed {
			name := nameOf(leaf.Pointer)
			groups[name] = append(groups[name], i)
		}
	}
	var found map[int][]risk.Finding
	for _, leaves := range groups {
		if len(leaves) < 2 {
			continue
		}
		for _, joints := range seams {
			j := join(a.Content, leaves, joints)
			spread := j.spread()
			if len(spread) == 0 {
				continue
			}
			// What a text holds alone is found there, and must neither reach into
			// the next one nor hide what begins behind it.
			j.blank(a.Content)
			for _, f := range j.spread() {
				for _, p := range j.pieces {
					from, to := max(f.Start, p.at), min(f.End, p.at+p.size)
					if from < to {
						part := f
						part.Start, part.End = from-p.at+p.from, to-p.at+p.from
						if found == nil {
							found = map[int][]risk.Finding{}
						}
						found[p.leaf] = include(found[p.leaf], part)
					}
				}
			}
		}
	}
	return found
}

// include adds a finding, as one with those that it overlaps.
func include(all []risk.Finding, f risk.Finding) []risk.Finding {
	kept := all[:0]
	for _, had := range all {
		if had.Start < f.End && f.Start < had.End {
			had.Start, had.End = min(had.Start, f.Start), max(had.End, f.End)
			f = had
			continue
		}
		kept = append(kept, had)
	}
	return append(kept, f)
}

// nameOf is the last name of a pointer: what an element of a list is, its index is not.
func nameOf(pointer string) string {
	for {
		i := strings.LastIndexByte(pointer, '/')
		last := pointer[i+1:]
		if i < 0 || last == "" || strings.Trim(last, "0123456789") != "" {
			return last
		}
		pointer = pointer[:i]
	}
}

// joined is a text made of the ends of several.
type joined struct {
	text   []byte
	pieces []joinedPiece
}

// joinedPiece is a part of a leaf's text, at a place in the joined one.
type joinedPiece struct{ at, size, leaf, from int }

func join(content []act.Leaf, leaves []int, joints [2]string) *joined {
	j := &joined{}
	for n, i := range leaves {
		if n > 0 {
			j.text = append(j.text, joints[n%2]...)
		}
		text := content[i].Text
		if len(text) <= 2*nearSeam {
			j.add(text, i, 0)
			continue
		}
		head, tail := nearSeam, len(text)-nearSeam
		for head > 0 && !utf8.RuneStart(text[head]) {
			head--
		}
		for tail < len(text) && !utf8.RuneStart(text[tail]) {
			tail++
		}
		j.add(text[:head], i, 0)
		j.text = append(j.text, pause...)
		j.add(text[tail:], i, tail)
	}
	return j
}

func (j *joined) add(text string, leaf, from int) {
	j.pieces = append(j.pieces, joinedPiece{len(j.text), len(text), leaf, from})
	j.text = append(j.text, text...)
}

// spread returns the injections that lie in more than one leaf.
func (j *joined) spread() (list []risk.Finding) {
	next := 0
	for _, f := range risk.Scan(string(j.text), risk.Injection, nil) {
		for next < len(j.pieces) && j.pieces[next].at+j.pieces[next].size <= f.Start {
			next++
		}
		for _, p := range j.pieces[next:] {
			if p.at >= f.End {
				break
			}
			if p.size > 0 && p.leaf != j.pieces[next].leaf {
				list = append(list, f)
				break
			}
		}
	}
	return list
}

// blank takes out what the leaves hold alone.
func (j *joined) blank(content []act.Leaf) {
	for _, p := range j.pieces {
		for _, f := range risk.Scan(content[p.leaf].Text[p.from:p.from+p.size], risk.Injection, nil) {
			for i := p.at + f.Start; i < p.at+f.End; i++ {
				j.text[i] = '\n'
			}
		}
	}
}
