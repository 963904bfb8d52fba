package policy

import (
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/glob"
)

// behind is the rule that decides wherever another one would, and more strictly: nil where
// nothing is certain. A rule that an exception can lift hides nothing, and what is approved
// still has its changes, so that only a denial hides those.
func (s *Set) behind(r *rule) *rule {
	if r.observe {
		return nil
	}
	for _, o := range s.rules {
		if o == r || !o.always() || act.Stricter(o.effect, r.effect) == r.effect || r.effect == act.Modify && o.effect != act.Deny {
			continue
		}
		if r.kinds&^o.kinds == 0 && covers(o.tools, r.tools) && !slices.ContainsFunc(s.except, func(x *exception) bool { return lifts(x, o) }) {
			return o
		}
	}
	return nil
}

// always reports whether a rule holds for whatever is of its kinds and tools.
func (r *rule) always() bool {
	return r.when == nil && r.check == nil && r.detect == 0 && r.hazard == 0 && r.acts == nil && !r.usual && !r.observe
}

// lifts reports whether an exception may lift what a rule says.
func lifts(x *exception, r *rule) bool {
	return len(x.codes) > 0 || slices.Contains(x.rules, r.name)
}

// covers reports whether some patterns are for every tool that others are for. It says so
// only where that is plain.
func covers(wide, narrow []string) bool {
	if wide == nil {
		return true
	}
	return narrow != nil && !slices.ContainsFunc(narrow, func(n string) bool {
		return !slices.ContainsFunc(wide, func(w string) bool {
			begin, rest, any := strings.Cut(w, "*")
			return w == n || !isGlob(n) && glob.Match(w, n) || any && rest == "" && !isGlob(begin) && strings.HasPrefix(n, begin)
		})
	})
}
