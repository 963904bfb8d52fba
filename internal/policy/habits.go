package policy

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/types/ref"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/habits"
	"reeve.example/reeve/internal/provenance"
	"reeve.example/reeve/internal/rawjson"
)

// usualCode stands in the place of an exception's name where a rule does not hold since
// all that it is about is usual.
const usualCode = "usual"

// usualOf reports whether a value is usual: of a list or an object, all that is in it.
func (e *evaluation) usualOf(v ref.Val) bool {
	return e.in.Session.Habits != nil && eachIn(v, 0, func(v ref.Val) bool {
		text, ok := asText(v)
		return ok && e.isUsual(text)
	})
}

// isUsual reports whether a text is something upon which the act is done, and usual as
// each argument that has it.
func (e *evaluation) isUsual(text string) bool {
	all := false
	for _, t := range e.targetsOf().control {
		if t.text != text {
			continue
		}
		if all = e.in.Session.Habits.Usual(e.habit(t), e.tags()); !all {
			return false
		}
	}
	return all
}

// tags are those of what the session has read.
func (e *evaluation) tags() []string {
	if e.in.Session.Values == nil {
		return nil
	}
	return e.in.Session.Values.Tags
}

// habit is a target as the use by which habits know it: all of an address, and not its
// host alone.
func (e *evaluation) habit(t target) habits.Use {
	u := e.use(t)
	if t.whole != "" {
		u.Value = t.whole
	}
	return u
}

// allUsual reports whether everything upon which the act is done, and that nobody trusted
// has named, is usual; false where there is no such thing.
func (e *evaluation) allUsual() bool {
	if e.usual == nil {
		is := e.isAllUsual()
		e.usual = &is
	}
	return *e.usual
}

func (e *evaluation) isAllUsual() bool {
	if e.in.Session.Habits == nil {
		return false
	}
	any, hashed := false, e.hashed()
	for i, t := range e.targetsOf().control {
		if o, _ := e.trace(t.argument, t.text); o >= provenance.Own {
			continue
		}
		if any = i < len(hashed) && e.in.Session.Habits.IsUsual(hashed[i]); !any {
			return false
		}
	}
	return any
}

// pass has a rule that is for what is unusual pass what is usual, and says so.
func (e *evaluation) pass(m *match, reasons []act.Reason) bool {
	if !m.rule.usual || m.err != nil || !e.allUsual() {
		return false
	}
	for i := range reasons {
		reasons[i].Observe, reasons[i].Exception = true, usualCode
		reasons[i].Message = strings.TrimSpace(reasons[i].Message) + " It passes, since this is usual for the agent" + known(e.in.Session.Habits)
	}
	return true
}

// known says how well the agent is known.
func known(v *habits.View) string {
	if v.Sessions() == 0 {
		return "."
	}
	return fmt.Sprintf(", which is known by %d sessions.", v.Sessions())
}

// unusual says beside a rule's reason what habits know of it.
func (e *evaluation) unusual(r *rule) string {
	v := e.in.Session.Habits
	if v.Sessions() == 0 || !r.usual && (r.when == nil || !r.when.habits) {
		return ""
	}
	var said []string
	if r.usual && e.allUsual() { // and that is said
		return ""
	}
	if r.usual {
		said = append(said, "It is not usual for the agent"+known(v))
	}
	act := e.habitual()
	for i, n := range v.News(act) {
		if said = append(said, n.String()); i == 2 {
			break
		}
	}
	if times, of := v.Outside(act); times > 0 {
		said = append(said, of)
	}
	if changed := v.Changed(e.in.Action.At); changed != "" && len(said) > 0 {
		said = append(said, changed)
	}
	return strings.Join(said, " ")
}

// habitual is the act as habits are asked about it.
func (e *evaluation) habitual() *habits.Act {
	a := e.in.Action
	return &habits.Act{Tool: a.Canonical, Targets: e.hashed(), First: e.in.Session.Calls == 0, Calls: e.in.Session.Calls, At: a.At}
}

// hashed are the act's first targets, as habits know them.
func (e *evaluation) hashed() []habits.Target {
	t, v := e.targetsOf(), e.in.Session.Habits
	if t.view != v {
		t.view, t.hashed = v, make([]habits.Target, 0, min(len(t.control), maxHabits))
		for _, one := range t.control[:cap(t.hashed)] {
			t.hashed = append(t.hashed, v.Target(e.habit(one), e.tags()))
		}
	}
	return t.hashed
}

// maxHabits bounds the targets of one act that are learned, and looked at for news, and
// maxPointer what a note says of where one stands: names of arguments are the caller's.
const (
	maxHabits  = 32
	maxPointer = 512
)

// newIn are the classes of the dimensions in which the act is new.
func (e *evaluation) newIn() []string {
	v := e.in.Session.Habits
	switch {
	case v == nil || !e.in.Action.IsCall():
		return []string{}
	case v.Then != nil:
		return v.Then.New
	}
	list := []string{}
	if v.Sessions() < habits.Learning {
		return list
	}
	for _, n := range v.News(e.habitual()) {
		if !slices.Contains(list, n.Class) {
			list = append(list, n.Class)
		}
	}
	return list
}

// outside is how far the act's counts lie outside of what is usual.
func (e *evaluation) outside() float64 {
	v := e.in.Session.Habits
	switch {
	case v == nil || !e.in.Action.IsCall():
		return 0
	case v.Then != nil:
		return v.Then.Outside
	}
	times, _ := v.Outside(&habits.Act{Calls: e.in.Session.Calls})
	return times
}

// Note fills in what is to be noted of a decision about a call, for what is learned of it:
// upon what it is done, what of that may be taught, and in what it was new. agreed says
// that a person let it pass.
func (s *Set) Note(in *Input, n *habits.Note, agreed bool) {
	e := s.newEvaluation(in)
	defer e.free()
	v := in.Session.Habits
	n.Tool = v.Tool(in.Action.Canonical)
	control := e.targetsOf().control
	n.Targets = make([]habits.Target, 0, len(e.hashed()))
	for i, t := range e.hashed() {
		t.Usual = v.IsUsual(t)
		t.Teaches = e.teaches(control[i], agreed)
		if t.Teaches == habits.Nothing && t.Usual {
			t.Teaches = habits.Again
		}
		if k := slices.IndexFunc(in.Action.Content, func(l act.Leaf) bool { return l.Arg == control[i].argument && l.Text == control[i].text }); k >= 0 && len(in.Action.Content[k].Pointer) <= maxPointer {
			t.Pointer = in.Action.Content[k].Pointer
		}
		n.Targets = append(n.Targets, t)
	}
	for _, c := range e.targetsOf().carries {
		n.Out += len(c.text)
	}
	n.New = e.newIn()
	n.Outside = e.outside()
}

// then is what a case says that habits knew of its act.
type then struct {
	usual []string
	note  habits.Note
}

// remember notes which of an act's targets are usual: those that have one of the values.
func (s *Set) remember(in *Input, t *then) {
	e := s.newEvaluation(in)
	defer e.free()
	control := e.targetsOf().control
	for i, target := range e.hashed() {
		use := e.habit(control[i])
		target.Usual = slices.ContainsFunc(t.usual, func(v string) bool {
			return in.Session.Habits.Target(habits.Use{Tool: use.Tool, Argument: use.Argument, Value: v}, e.tags()).Value == target.Value
		})
		t.note.Targets = append(t.note.Targets, target)
	}
}

// teaches is what an act teaches of one of its targets, if it happens. What the agent made
// up in a session that has read nothing foreign can only be the user's word; in any other
// it may be an attacker's.
func (e *evaluation) teaches(t target, agreed bool) habits.Teaches {
	if agreed {
		return habits.ForAll
	}
	values := e.in.Session.Values
	switch o, _ := e.trace(t.argument, t.text); {
	case values == nil:
		return habits.Nothing
	case o == provenance.Own:
		return habits.ForAll
	case e.set.habits.Named && e.in.Action.User.ID == "": // and it may be anybody
	case o == provenance.User, o == provenance.Unknown && values.Heard && !values.Foreign && !values.Lost:
		return habits.ForUser
	}
	return habits.Nothing
}

// settingsOfHabits is what a document says of habits.
type settingsOfHabits struct {
	habits.Settings
	at *node
}

// readHabits reads from when on something is usual.
func (d *document) readHabits(n *node) {
	if n == nil || n.Kind == rawjson.Null {
		return
	}
	if n.Kind != rawjson.Object {
		d.at(n, "write habits: {sessions: 3, days: 2, alarms: 0.01}", "habits is a mapping, not %s", n.Is())
		return
	}
	d.known(n, []string{"sessions", "days", "alarms", "users"}, "habits")
	s := settingsOfHabits{habits.Default, n}
	count := func(name string, into *int) {
		if v := n.Get(name); v != nil {
			i, err := strconv.Atoi(v.Text)
			if v.Kind != rawjson.Number || err != nil || i < 1 || i > habits.MaxTaught {
				d.at(v, "", "habits.%s is a whole number from 1 to %d", name, habits.MaxTaught)
			}
			*into = i
		}
	}
	count("sessions", &s.Sessions)
	count("days", &s.Days)
	if s.Days > s.Sessions {
		d.at(n, "", "something cannot be seen on %d days in %d sessions", s.Days, s.Sessions)
	}
	if v := n.Get("alarms"); v != nil {
		f, err := strconv.ParseFloat(v.Text, 64)
		if v.Kind != rawjson.Number || err != nil || !(f > 0 && f <= 1) || math.IsNaN(f) {
			d.at(v, "0.01 is one session in a hundred", "habits.alarms is a number above 0, at most 1")
		}
		s.Alarms = f
	}
	if v := n.Get("users"); v != nil {
		if s.Named = v.Text == "named"; !s.Named && v.Text != "any" {
			d.at(v, "any takes an agent that names nobody for one that has one user; named has such an agent learn from nobody's word", "habits.users is any or named")
		}
	}
	d.habits = &s
}

// settleHabits takes what the documents say of habits, which must be one thing.
func (s *Set) settleHabits(docs []*document) {
	s.habits = habits.Default
	var first *document
	for _, d := range docs {
		if d.habits == nil {
			continue
		}
		if first != nil && first.habits.Settings != d.habits.Settings {
			d.at(d.habits.at, "all documents of a policy must agree", "habits is another one in %s", first.file)
		}
		first = d
		s.habits = d.habits.Settings
	}
}

// readUnless reads whether a rule is for what is unusual only.
func (d *document) readUnless(r *rule, n *node) {
	v := n.Get("unless")
	if v == nil {
		return
	}
	switch {
	case v.Text != usualName:
		d.at(v, didYouMean(v.Text, []string{usualName}), "unless: %q is no reason to let something pass", v.Text)
	case r.effect != act.Escalate:
		d.at(v, "use effect: escalate, or leave it out", "what is usual is not asked about; what is denied stays so")
	case n.Get("acts") == nil:
		d.at(v, "add acts: …", "only of acts is it known upon whom or what they are done")
	}
	r.usual = true
}
