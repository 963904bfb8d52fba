package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/content"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/risk/hazard"
	"reeve.example/reeve/internal/session"
)

// maxRounds is how often an act is judged again in the form that the edits give
// it. One that still changes then has no form that may pass.
const maxRounds = 3

// Evaluate judges an action. It is a pure function of the set and its input,
// safe for concurrent use, and keeps nothing of the input but what stands in
// the verdict.
//
// What is answered holds for what happens: an act that is changed is judged again
// in its new form, and the strictest of all its forms wins. Else an edit could
// take a disguise away after everybody had looked at it.
func (s *Set) Evaluate(in *Input) Verdict { return s.EvaluateAs(in, nil, nil) }

// EvaluateAs judges an action that a person has changed: as it was asked for, and in the form
// that it would happen in. What the policy changes it changes in that form, too. refuse tells
// why reeve itself denies a form, as in.Refusals does of the act that was asked for.
func (s *Set) EvaluateAs(in *Input, changes []act.Edit, refuse func(*act.Action, *hazard.Reading) []act.Reason) Verdict {
	v := s.read(in)
	if len(changes) > 0 && v.Effect != act.Deny {
		var err error
		if v.Edits, err = compose(v.Edits, changes); err != nil {
			v.deny(unsettled(&v))
			return v
		}
	}
	if len(v.Edits) == 0 {
		return v
	}
	last := v
	for range maxRounds {
		a, err := Edited(in.Action, v.Edits)
		if err != nil {
			break
		}
		again := *in
		again.Action, again.Reading = a, hazard.Read(a)
		again.Violations = recheck(in.Violations, a)
		if len(changes) > 0 {
			again.Refusals = append(slices.Clip(in.Refusals), refuse(a, again.Reading)...)
		}
		last = s.read(&again)
		v.join(&last, "This is so of the form to which the policy would change it.")
		if v.Effect == act.Deny || len(last.Edits) == 0 {
			v.Form = &Form{Action: a, Reading: again.Reading, Edits: v.Edits}
			return v
		}
		if v.Edits, err = compose(v.Edits, last.Edits); err != nil {
			break
		}
	}
	v.deny(unsettled(&last))
	return v
}

// unsettled is the problem that an act goes on changing.
func unsettled(last *Verdict) act.Reason {
	r := act.Reason{Rule: "modify", Code: CodeModifyImpossible, Effect: act.Deny,
		Message: "What the policy changes would have to be changed again and again, so the act cannot pass."}
	for _, one := range last.Reasons {
		if one.Effect == act.Modify && !one.Observe {
			r.Rule = one.Rule
			r.Message = fmt.Sprintf("The rule %s changes what it has changed already, again and again, so the act cannot pass.", one.Rule)
		}
	}
	return r
}

// read judges an act in one form, and what it has an executor do, as that is by itself.
func (s *Set) read(in *Input) Verdict {
	v := s.readings(in)
	if inner := Inner(in.Action); inner != nil {
		s.withInner(&v, in, inner)
	}
	return v
}

// readings judges an act as it stands, and once more as others may read it: who leaves
// out invisible characters, and who takes Path for path. The strictest reading wins.
// What only a further one would change is changed: an edit gives a text or an argument
// as a whole. A folded reading is taken where a name was asked for that the act has in
// another spelling; every other act has none that could come to something else.
func (s *Set) readings(in *Input) Verdict {
	v, differs := s.evaluate(in, reading{})
	if differs && v.Effect != act.Deny {
		s.reread(&v, in, reading{folded: true})
	}
	if v.Effect == act.Deny {
		return v
	}
	if seen := visible(in.Action); seen != nil {
		again := *in
		again.Action, again.Reading = seen, hazard.Read(seen)
		if s.reread(&v, &again, reading{visible: true}) && v.Effect != act.Deny {
			s.reread(&v, &again, reading{visible: true, folded: true})
		}
	}
	return v
}

// says is how an act is read by a further reading, for whoever is told a reason that the act
// as it stands does not show.
func (r reading) says() string {
	switch {
	case r.visible && r.folded:
		return "This is so where its invisible characters are left out, and names in other spellings (Path and path) are taken for one."
	case r.visible:
		return "This is so where its invisible characters are left out."
	case r.folded:
		return "This is so where names in other spellings (Path and path) are taken for one."
	}
	return ""
}

// reread takes a further reading into a verdict.
func (s *Set) reread(v *Verdict, in *Input, how reading) (differs bool) {
	w, differs := s.evaluate(in, how)
	v.join(&w, how.says())
	if len(v.Edits) == 0 && v.Effect != act.Deny {
		v.Edits = w.Edits
	}
	return differs
}

// visible is an act as it reads without invisible characters; nil if it has none.
// Its arguments are cleaned as they are read, see arguments.
func visible(a *act.Action) *act.Action {
	hides := func(texts ...string) bool {
		return slices.ContainsFunc(texts, func(s string) bool { return len(canon.Visible(s)) != len(s) })
	}
	// What an argument says is content; what content leaves out (a name that
	// is plain, an id) has no such character.
	if !slices.ContainsFunc(a.Content, func(l act.Leaf) bool { return hides(l.Text) }) &&
		!slices.ContainsFunc(a.Arguments, func(arg act.Argument) bool { return hides(arg.Name) }) &&
		!hides(a.Agent.ID, a.Agent.Name, a.Agent.Organization, a.User.ID, a.User.Name, a.User.Email, a.User.Organization, a.Reasoning, a.Resource, a.Server) {
		return nil // nearly all
	}
	c, clean := *a, canon.Visible
	c.Content = slices.Clone(a.Content)
	for i := range c.Content {
		c.Content[i].Text = clean(c.Content[i].Text)
	}
	c.Agent.ID, c.Agent.Name, c.Agent.Organization = clean(a.Agent.ID), clean(a.Agent.Name), clean(a.Agent.Organization)
	c.User = act.User{ID: clean(a.User.ID), Name: clean(a.User.Name), Email: clean(a.User.Email), Organization: clean(a.User.Organization)}
	c.Reasoning, c.Resource, c.Server = clean(a.Reasoning), clean(a.Resource), clean(a.Server)
	return &c
}

// join takes what a further reading of the same act says into a verdict: what is
// stricter, and all that is to be told, with a sentence about how it was read: a reason that
// holds of no form that anybody is shown would not be understood. The edits stay as they are.
func (v *Verdict) join(w *Verdict, as string) {
	v.Effect = act.Stricter(v.Effect, w.Effect)
	for _, r := range w.Reasons {
		if r.Effect == act.Allow && !r.Observe { // what lets a form pass that nobody asked about
			continue
		}
		if !slices.ContainsFunc(v.Reasons, func(had act.Reason) bool {
			return had.Rule == r.Rule && had.Code == r.Code && had.Effect == r.Effect && had.Observe == r.Observe
		}) {
			r.Message = strings.TrimSpace(r.Message + " " + as)
			v.Reasons = append(v.Reasons, r)
		}
	}
	sortReasons(v.Reasons)
	r := &v.Risk
	r.Score, r.Heuristic = max(r.Score, w.Risk.Score), max(r.Heuristic, w.Risk.Heuristic)
	r.Level = act.Level(r.Score)
	for _, t := range w.Risk.Threats {
		if !slices.Contains(r.Threats, t) && len(r.Threats) < maxThreats {
			r.Threats = append(r.Threats[:len(r.Threats):len(r.Threats)], t)
		}
	}
	if v.Effect == act.Deny {
		v.Edits, v.Conditions = nil, nil
		return
	}
	for _, c := range w.Conditions {
		if !slices.Contains(v.Conditions, c) {
			v.Conditions = append(v.Conditions, c)
		}
	}
}

// deny makes a verdict a denial.
func (v *Verdict) deny(why act.Reason) {
	v.Effect, v.Edits, v.Conditions = act.Deny, nil, nil
	v.Reasons = append(v.Reasons, why)
	sortReasons(v.Reasons)
}

// recheck adds the violations that an edited act has by itself, whatever its
// session remembers: an argument of another type, the agent's instructions come
// to light.
func recheck(had []act.Violation, a *act.Action) []act.Violation {
	again, _ := (*session.State)(nil).Check(a, nil)
	all := had[:len(had):len(had)]
	for _, v := range again {
		if !slices.ContainsFunc(had, func(h act.Violation) bool { return h.Check == v.Check && h.Pointer == v.Pointer }) {
			all = append(all, v)
		}
	}
	return all
}

// Edited is an act in the form that edits give it, read as its door reads acts:
// every text at or below what was changed is gathered anew, where it stands. Its body
// and digest stay those of the act that was asked about.
func Edited(a *act.Action, edits []act.Edit) (*act.Action, error) {
	b := *a
	at := pointersOf(edits)
	over := make([]int, len(a.Content)) // the edit at or above each text, or -1
	held := make([]bool, len(edits))    // there is a text at or below the edit
	for i := range a.Content {
		if over[i] = above(at, a.Content[i].Pointer); over[i] >= 0 {
			held[over[i]] = true
		}
	}
	arguments, named := make(map[string]int, len(a.Arguments)), make(map[string]int, len(a.Arguments))
	for i := range a.Arguments {
		named[a.Arguments[i].Name] = i
		if p := a.Arguments[i].Pointer; p != "" {
			arguments[p] = i
		}
	}
	inside := map[int][]act.Edit{} // by argument
	type change struct{ argument, edit int }
	var spoken []change // a number or an empty text became something
	for n := range edits {
		if i := above(arguments, edits[n].Pointer); i >= 0 {
			inside[i] = append(inside[i], edits[n])
			if !held[n] {
				spoken = append(spoken, change{i, n})
			}
		}
	}
	slices.SortStableFunc(spoken, func(a, b change) int { return a.argument - b.argument })

	set := content.Set{Leaves: make([]act.Leaf, 0, len(a.Content))}
	before := func(argument int) error {
		for len(spoken) > 0 && spoken[0].argument < argument {
			c := spoken[0]
			spoken = spoken[1:]
			if err := gather(&set, &edits[c.edit], content.LeafOf(&a.Arguments[c.argument])); err != nil {
				return err
			}
		}
		return nil
	}
	reached := -1 // the argument whose texts are read
	for i := range a.Content {
		leaf := a.Content[i]
		if at, ok := named[leaf.Arg]; ok && leaf.Arg != "" {
			reached = max(reached, at)
		} else if reached >= 0 { // behind them all
			reached = len(a.Arguments)
		}
		if err := before(reached); err != nil {
			return nil, err
		}
		n := over[i]
		if n < 0 {
			set.Leaves = append(set.Leaves, leaf)
			continue
		}
		// A name stands at its object's pointer, and a string that says something
		// else when it is decoded is there twice.
		if !held[n] {
			continue
		}
		held[n] = false
		if err := gather(&set, &edits[n], leaf); err != nil {
			return nil, err
		}
	}
	if err := before(len(a.Arguments)); err != nil {
		return nil, err
	}
	if set.Full {
		return nil, errors.New("the changed act holds more texts than can be judged")
	}
	b.Content = set.Leaves
	b.Arguments = slices.Clone(a.Arguments)
	for i, list := range inside {
		arg := &b.Arguments[i]
		value, err := splice(arg.Value, arg.Pointer, list)
		if err != nil {
			return nil, err
		}
		arg.Value = value
	}
	return &b, nil
}

// gather reads the texts of what an edit puts in. like is a leaf that it changes.
func gather(set *content.Set, e *act.Edit, like act.Leaf) error {
	doc, err := rawjson.Parse(e.Value)
	if err != nil {
		return err
	}
	proto := act.Leaf{Pointer: e.Pointer, Item: like.Item, Arg: like.Arg, Base: like.Base, Guides: like.Guides}
	if like.File && like.Pointer == e.Pointer {
		set.AddFile(doc.Root(), "text/plain", proto)
		return nil
	}
	set.AddAll(doc.Root(), proto, nil)
	return nil
}

// pointersOf numbers edits by their pointers.
func pointersOf(edits []act.Edit) map[string]int {
	at := make(map[string]int, len(edits))
	for i := range edits {
		at[edits[i].Pointer] = i
	}
	return at
}

// above returns what stands in a map for a pointer or the nearest one above it, or -1.
func above(at map[string]int, pointer string) int {
	for {
		if n, ok := at[pointer]; ok {
			return n
		}
		i := strings.LastIndexByte(pointer, '/')
		if i < 0 {
			return -1
		}
		pointer = pointer[:i]
	}
}

// splice returns the value at a pointer with edits made at or below it.
func splice(value []byte, pointer string, edits []act.Edit) ([]byte, error) {
	if len(edits) == 1 && edits[0].Pointer == pointer {
		return edits[0].Value, nil
	}
	doc, err := rawjson.Parse(value)
	if err != nil {
		return nil, err
	}
	cursor := rawjson.Cursor{Doc: doc}
	changes := make([]rawjson.Replacement, 0, len(edits))
	for i := range edits {
		v := cursor.At(strings.TrimPrefix(edits[i].Pointer, pointer))
		if !v.Exists() {
			return nil, fmt.Errorf("there is nothing at %s", edits[i].Pointer)
		}
		changes = append(changes, rawjson.Replacement{At: v, With: edits[i].Value})
	}
	return doc.Splice(changes)
}

// compose makes one list of edits of the act as it was sent out of those that
// were made already and those of the changed form.
func compose(edits, more []act.Edit) ([]act.Edit, error) {
	edits = slices.Clone(edits)
	at, inside := pointersOf(edits), map[int][]act.Edit{}
	var rest []act.Edit
	for _, e := range more {
		if i := above(at, e.Pointer); i >= 0 {
			inside[i] = append(inside[i], e)
		} else {
			rest = append(rest, e)
		}
	}
	for i, list := range inside {
		value, err := splice(edits[i].Value, edits[i].Pointer, list)
		if err != nil {
			return nil, err
		}
		edits[i].Value = value
	}
	// A whole that is replaced takes what was changed in it along.
	wholes := pointersOf(rest)
	edits = slices.DeleteFunc(edits, func(old act.Edit) bool { return above(wholes, old.Pointer) >= 0 })
	return append(edits, rest...), nil
}
