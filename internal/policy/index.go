package policy

import (
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/glob"
)

// index finds the rules that can match an action by its kind and its resource,
// so that the others cost nothing. Rules that name a check are apart: most
// actions violate none, and then need not look at them.
type index struct {
	plain, checked [maxKinds]kindIndex
}

// maxKinds has a place for each bit of a kindSet.
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
	for k := range maxKinds {
		x.checked[k].globs.known, x.plain[k].globs.known = nil, nil
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
	place := kindOf(in.Action)
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
	nodes int32
	loose []*globRules          // globs without a literal part
	known map[string]*globRules // all globs, while the trie is made
}

type trieNode struct {
	place int32        // its number in the trie
	edges []trieEdge   // by byte
	globs []*globRules // whose part ends here
}

type trieEdge struct {
	on   byte
	node *trieNode
}

// globRules is one glob and the rules that have it.
type globRules struct {
	glob  string
	rules []*rule
}

// maxPart bounds the depth of the trie, and with it the time of a look-up.
const maxPart = 16

func (t *trie) add(glob string, r *rule) {
	if g := t.known[glob]; g != nil {
		g.rules = append(g.rules, r)
		return
	}
	g := &globRules{glob, []*rule{r}}
	if t.known == nil {
		t.known = map[string]*globRules{}
	}
	t.known[glob] = g
	part := ""
	for _, p := range strings.FieldsFunc(glob, func(c rune) bool { return c == '*' || c == '?' }) {
		if len(p) > len(part) {
			part = p
		}
	}
	if part == "" {
		t.loose = append(t.loose, g)
		return
	}
	if t.root == nil {
		t.root = &trieNode{}
	}
	n := t.root
	for i := 0; i < min(len(part), maxPart); i++ {
		at, found := slices.BinarySearchFunc(n.edges, part[i], func(e trieEdge, c byte) int { return int(e.on) - int(c) })
		if !found {
			t.nodes++
			n.edges = slices.Insert(n.edges, at, trieEdge{part[i], &trieNode{place: t.nodes}})
		}
		n = n.edges[at].node
	}
	n.globs = append(n.globs, g)
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
	dst = matching(dst, t.loose, name)
	if t.root == nil {
		return dst
	}
	var some [16]*trieNode // most names meet fewer
	met := some[:0]
	for start := range len(name) {
		n := t.root
		for i := start; i < len(name); i++ {
			if n = n.next(name[i]); n == nil {
				break
			}
			if n.globs != nil {
				met = append(met, n)
			}
		}
	}
	// A part can occur a thousand times in a name: its globs are compared once.
	if len(met) > 1 {
		slices.SortFunc(met, func(a, b *trieNode) int { return int(a.place - b.place) })
		met = slices.Compact(met)
	}
	for _, n := range met {
		dst = matching(dst, n.globs, name)
	}
	return dst
}

func matching(dst []*rule, globs []*globRules, name string) []*rule {
	for _, g := range globs {
		if glob.Match(g.glob, name) {
			dst = append(dst, g.rules...)
		}
	}
	return dst
}

// fits reports whether a rule's globs match one of an act's names.
func (r *rule) fits(a *act.Action) bool {
	return r.tools == nil || slices.ContainsFunc(r.tools, func(g string) bool {
		return glob.Match(g, a.Canonical) || a.Alias != "" && glob.Match(g, a.Alias)
	})
}
