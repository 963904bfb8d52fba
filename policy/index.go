package policy

import (
	"slices"
	"strings"

	"reeve/act"
)

// index finds the rules that can match an action by its kind and its resource,
// so that the others cost nothing. Rules that name a check are apart: most
// actions violate none, and then need not look at them.
type index struct {
	plain, checked [maxKinds]kindIndex
}

// maxKinds has a place for each of act.Kinds and one for kinds not listed there.
const maxKinds = 32

type kindIndex struct {
	any   []*rule // for any resource
	exact map[string][]*rule
	globs trie
}

func newIndex(rules []*rule) *index {
	x := &index{}
	for _, r := range rules {
		for k := range maxKinds {
			if r.kinds&(1<<k) == 0 {
				continue
			}
			if r.check != nil {
				x.checked[k].add(r)
			} else {
				x.plain[k].add(r)
			}
		}
	}
	return x
}

func (x *kindIndex) add(r *rule) {
	if r.tools == nil {
		x.any = append(x.any, r)
		return
	}
	for _, tool := range r.tools {
		if isGlob(tool) {
			x.globs.add(tool, r)
			continue
		}
		if x.exact == nil {
			x.exact = map[string][]*rule{}
		}
		x.exact[tool] = append(x.exact[tool], r)
	}
}

var kindPlace = func() map[act.Kind]int {
	m := map[act.Kind]int{}
	for i, k := range act.Kinds {
		m[k] = i
	}
	return m
}()

// candidates appends the rules whose kind and resource fit, each once, in
// their order.
func (x *index) candidates(dst []*rule, in *Input) []*rule {
	place, ok := kindPlace[in.Action.Kind]
	if !ok {
		place = maxKinds - 1
	}
	dst = x.plain[place].candidates(dst, in.Action)
	if len(in.Violations) > 0 {
		dst = x.checked[place].candidates(dst, in.Action)
	}
	slices.SortFunc(dst, func(a, b *rule) int { return a.order - b.order })
	return slices.Compact(dst)
}

func (x *kindIndex) candidates(dst []*rule, a *act.Action) []*rule {
	dst = append(dst, x.any...)
	dst = x.named(dst, a.Canonical)
	if a.Alias != "" {
		dst = x.named(dst, a.Alias)
	}
	return dst
}

func (x *kindIndex) named(dst []*rule, name string) []*rule {
	if x.exact != nil {
		dst = append(dst, x.exact[name]...)
	}
	return x.globs.match(dst, name)
}

// trie finds the globs that match a name. Each is filed under its longest
// literal part; only globs whose part occurs in the name are compared with it.
type trie struct {
	root  *trieNode
	loose []globRule // globs without a literal part
}

type trieNode struct {
	edges []trieEdge // by byte
	globs []globRule // whose part ends here
}

type trieEdge struct {
	on   byte
	node *trieNode
}

type globRule struct {
	glob string
	rule *rule
}

// maxPart bounds the depth of the trie, and with it the time of a look-up.
const maxPart = 16

func (t *trie) add(glob string, r *rule) {
	part := ""
	for _, p := range strings.FieldsFunc(glob, func(c rune) bool { return c == '*' || c == '?' }) {
		if len(p) > len(part) {
			part = p
		}
	}
	if part == "" {
		t.loose = append(t.loose, globRule{glob, r})
		return
	}
	if t.root == nil {
		t.root = &trieNode{}
	}
	n := t.root
	for i := 0; i < min(len(part), maxPart); i++ {
		at, found := slices.BinarySearchFunc(n.edges, part[i], func(e trieEdge, c byte) int { return int(e.on) - int(c) })
		if !found {
			n.edges = slices.Insert(n.edges, at, trieEdge{part[i], &trieNode{}})
		}
		n = n.edges[at].node
	}
	n.globs = append(n.globs, globRule{glob, r})
}

func (n *trieNode) next(c byte) *trieNode {
	if len(n.edges) < 8 {
		for i := range n.edges {
			if n.edges[i].on == c {
				return n.edges[i].node
			}
		}
		return nil
	}
	at, found := slices.BinarySearchFunc(n.edges, c, func(e trieEdge, c byte) int { return int(e.on) - int(c) })
	if !found {
		return nil
	}
	return n.edges[at].node
}

func (t *trie) match(dst []*rule, name string) []*rule {
	for i := range t.loose {
		if matchName(t.loose[i].glob, name) {
			dst = append(dst, t.loose[i].rule)
		}
	}
	if t.root == nil {
		return dst
	}
	for start := range len(name) {
		n := t.root
		for i := start; i < len(name); i++ {
			if n = n.next(name[i]); n == nil {
				break
			}
			for _, g := range n.globs {
				if matchName(g.glob, name) {
					dst = append(dst, g.rule)
				}
			}
		}
	}
	return dst
}
