package guard_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/habits"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store/postgres"
	"reeve.example/reeve/internal/store/storetest"

	"github.com/google/go-cmp/cmp"
)

const habitual = `
version: 1
default: allow
acts:
  - {name: payment, tools: [pay], control: [text]}
rules:
  - name: stranger
    acts: payment
    when: session.foreign && !action.control.all(v, v.origin() in ["user", "own"])
    unless: usual
    effect: escalate
  - name: watched
    acts: payment
    when: action.control.exists(v, v.startsWith("watched"))
    effect: deny
    mode: observe
  - name: forbidden
    acts: payment
    when: action.control.exists(v, v.startsWith("forbidden"))
    effect: deny
`

var approver = act.Principal{Name: "key:boss", Method: "key"}

// life plays sessions of agents, days apart.
type life struct {
	*node
	t   *testing.T
	now *time.Time
	n   int
}

func (l *life) act(a *act.Action) act.Decision {
	l.t.Helper()
	d, _ := l.decide(l.t, a)
	*l.now = l.now.Add(time.Second)
	return d
}

// pay has an agent pay somebody whom a text named, in a session of its own a day later. A
// person answers what is asked; with neither it is left.
func (l *life) pay(kind act.Kind, to string, answer *guard.Reply, edit func(*act.Action)) act.Decision {
	l.t.Helper()
	l.n++
	*l.now = l.now.Add(24 * time.Hour)
	session := fmt.Sprint("s", l.n)
	first := told(kind, session, "1", "", "pay "+to)
	a := call(session, "2", "pay", to)
	for _, one := range []*act.Action{first, a} {
		if edit != nil {
			edit(one)
		}
	}
	l.act(first)
	d := l.act(a)
	if d.Effect == act.Escalate && answer != nil {
		l.answer(d.Approval.ID, *answer)
		again := call(session, "3", "pay", to)
		if edit != nil {
			edit(again)
		}
		if got := l.act(again); got.Effect != map[bool]act.Effect{true: act.Allow}[answer.Agree] {
			l.t.Fatalf("after the answer %v it is %v", answer.Agree, got.Effect)
		}
	}
	l.learn()
	return d
}

func (l *life) answer(id string, r guard.Reply) {
	l.t.Helper()
	ctx := context.Background()
	held, err := l.Show(ctx, id)
	if err != nil {
		l.t.Fatal(err)
	}
	r.Seen = held.Seen
	if _, err := l.Answer(ctx, id, approver, r); err != nil {
		l.t.Fatal(err)
	}
}

func (l *life) learn() {
	l.t.Helper()
	*l.now = l.now.Add(time.Hour)
	if _, err := l.Learn(context.Background(), *l.now); err != nil {
		l.t.Fatal(err)
	}
}

func (l *life) report() *habits.Report {
	l.t.Helper()
	r, err := l.Habits(context.Background(), act.Anonymous.Name, "a", "", true)
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}

// TestHabits: what is usual is learned from the ledger, on each store, by whichever node,
// across restarts; made anew it is the same.
func TestHabits(t *testing.T) {
	run := func(t *testing.T, open func(edit func(*guard.Config)) *node) {
		now := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
		edit := func(c *guard.Config) {
			c.Policy = load(t, habitual)
			c.Now = func() time.Time { return now }
		}
		l := &life{node: open(edit), t: t, now: &now}
		asked := func(kind act.Kind, to string, answer *guard.Reply) bool {
			return l.pay(kind, to, answer, nil).Effect == act.Escalate
		}
		agree := &guard.Reply{Agree: true}
		for i := range 3 {
			if !asked(act.ToolResult, "bill-1", agree) {
				t.Fatalf("not asked the %dth time", i+1)
			}
			l.node = open(edit) // restarted, or another one
		}
		if asked(act.ToolResult, "bill-1", nil) {
			t.Error("asked about what is usual")
		}
		// Nothing else is.
		for range 4 {
			for name, a := range map[string]*guard.Reply{"left-1": nil, "refused-1": {}} {
				if !asked(act.ToolResult, name, a) {
					t.Errorf("%s is not asked about", name)
				}
			}
			asked(act.MessageUser, "watched-1", nil)
			asked(act.MessageUser, "forbidden-1", nil)
			asked(act.MessageUser, "named-1", nil)
		}
		for name, want := range map[string]bool{"bill-1": false, "named-1": false, "watched-1": true, "left-1": true, "refused-1": true, "bill-2": true} {
			if got := asked(act.ToolResult, name, nil); got != want {
				t.Errorf("%s, which foreign text names, is asked about: %v, want %v", name, got, want)
			}
		}
		// As another user, what a user always named is asked about.
		d := l.pay(act.ToolResult, "named-1", nil, func(a *act.Action) { a.User.ID = "eve" })
		if d.Effect != act.Escalate {
			t.Errorf("one user's habit counts for another: %v", d.Effect)
		}
		kept := l.report()
		if err := l.HabitsAnew(context.Background(), approver, false); err != nil {
			t.Fatal(err)
		}
		l.learn()
		if diff := cmp.Diff(kept, l.report()); diff != "" {
			t.Errorf("made anew the profile is another one (-kept +anew):\n%s", diff)
		}
		texts := map[string]bool{}
		for _, v := range kept.Values {
			texts[v.Text] = true
			if v.Mine {
				t.Errorf("a user's own value is shown: %v", v)
			}
		}
		if !texts["bill-1"] || !texts["pay"] || texts["named-1"] {
			t.Errorf("it shows %v", texts)
		}
	}
	t.Run("sqlite", func(t *testing.T) {
		dir := t.TempDir()
		var last *node
		run(t, func(edit func(*guard.Config)) *node {
			if last != nil {
				last.close()
			}
			last = open(t, dir, edit)
			return last
		})
	})
	t.Run("postgres", func(t *testing.T) {
		url := storetest.Postgres(t)
		run(t, func(edit func(*guard.Config)) *node {
			store, err := postgres.Open(context.Background(), url)
			if err != nil {
				t.Fatal(err)
			}
			return openOn(t, store, edit)
		})
	})
}

// People can teach at once, mark an incident, forget and freeze, and what was erased is in
// no profile.
func TestPeopleSayWhatIsUsual(t *testing.T) {
	ctx := context.Background()
	now := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	l := &life{t: t, now: &now, node: open(t, t.TempDir(), func(c *guard.Config) {
		c.Policy = load(t, habitual)
		c.Now = func() time.Time { return now }
	})}
	asked := func(to string, answer *guard.Reply) bool {
		return l.pay(act.ToolResult, to, answer, nil).Effect == act.Escalate
	}
	agree := &guard.Reply{Agree: true}
	asked("taught-1", &guard.Reply{Agree: true, Usual: true})
	if asked("taught-1", nil) {
		t.Error("asked about what a person said is usual")
	}
	var decisions []act.Position
	for range 3 {
		decisions = append(decisions, l.pay(act.ToolResult, "bad-1", agree, nil).Position)
		asked("good-1", agree)
	}
	if asked("bad-1", nil) || asked("good-1", nil) {
		t.Fatal("nothing was learned")
	}
	if principal, agent, err := l.Incident(ctx, decisions[1], approver); err != nil || principal != act.Anonymous.Name || agent != "a" {
		t.Fatalf("the incident is of %q, %q: %v", principal, agent, err)
	}
	if !asked("bad-1", nil) {
		t.Error("what the incident's session taught is usual still")
	}
	if asked("good-1", nil) || asked("taught-1", nil) {
		t.Error("what another session taught is usual no more")
	}
	if n, err := l.ForgetHabits(ctx, act.Anonymous.Name, "a", "", "good-1", approver); n != 1 || err != nil {
		t.Errorf("%d were forgotten: %v", n, err)
	}
	if !asked("good-1", nil) {
		t.Error("what was forgotten is usual")
	}
	if err := l.FreezeHabits(ctx, act.Anonymous.Name, "a", true, approver); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		asked("cold-1", agree)
	}
	if !asked("cold-1", nil) {
		t.Error("something was learned while it was frozen")
	}
	if err := l.FreezeHabits(ctx, act.Anonymous.Name, "a", false, approver); err != nil {
		t.Fatal(err)
	}
	var all []act.Position
	for range 3 {
		all = append(all, l.pay(act.ToolResult, "erased-1", agree, nil).Position)
	}
	if asked("erased-1", nil) {
		t.Fatal("nothing was learned after the thaw")
	}
	for _, at := range all { // the decision, and the one after it that let the act pass
		if err := l.store.Erase(ctx, []act.Position{at, {Log: at.Log, Index: at.Index + 1}, {Log: at.Log, Index: at.Index + 2}, {Log: at.Log, Index: at.Index + 3}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.HabitsAnew(ctx, approver, false); err != nil {
		t.Fatal(err)
	}
	l.learn()
	if !asked("erased-1", nil) {
		t.Error("what was erased is usual still")
	}
	if _, err := l.ForgetHabits(ctx, act.Anonymous.Name, "a", "", "", approver); err != nil {
		t.Fatal(err)
	}
	if !asked("taught-1", nil) {
		t.Error("all was forgotten, and something is usual")
	}
}

// A policy that asks nothing of habits notes nothing, and learns nothing.
func TestNoHabitsNoNotes(t *testing.T) {
	ctx := context.Background()
	n := open(t, t.TempDir(), nil)
	d, _ := n.decide(t, call("s", "1", "read", "notes"))
	opening, err := n.store.Opening(ctx, d.Position)
	if err != nil {
		t.Fatal(err)
	}
	if links := string(opening); strings.Contains(links, `"habits"`) {
		t.Errorf("it is noted: %s", links)
	}
	if n, err := n.Learn(ctx, time.Now().Add(time.Hour)); n != 0 || err != nil {
		t.Errorf("it learned from %d sessions: %v", n, err)
	}
	if _, err := n.Habits(ctx, act.Anonymous.Name, "a", "", true); err != guard.ErrNoHabits {
		t.Errorf("habits: %v", err)
	}
}

// For as long as people agreed, and no longer: what a grant lets pass teaches nothing, so
// that it is asked about again when the grant is over.
func TestGrantsTeachNothing(t *testing.T) {
	now := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	l := &life{t: t, now: &now, node: open(t, t.TempDir(), func(c *guard.Config) {
		c.Policy = load(t, habitual)
		c.Now = func() time.Time { return now }
	})}
	week := &guard.Reply{Agree: true, For: approval.Span{Until: now.Add(8 * 24 * time.Hour)}}
	if d := l.pay(act.ToolResult, "bill-1", week, nil); d.Effect != act.Escalate {
		t.Fatalf("it is not asked about: %v", d.Effect)
	}
	for range 6 {
		if d := l.pay(act.ToolResult, "bill-1", nil, nil); d.Effect != act.Allow || d.Reasons[0].Code != "granted" {
			t.Fatalf("the grant does not cover it: %v %v", d.Effect, d.Reasons)
		}
	}
	now = now.Add(3 * 24 * time.Hour)
	if d := l.pay(act.ToolResult, "bill-1", nil, nil); d.Effect != act.Escalate {
		t.Errorf("after the week that people agreed to it passes still: %v", d.Reasons)
	}
}

// What a grant has endorsed for a session is the user's word there, and teaches as little as
// the grant.
func TestEndorsementsTeachNothing(t *testing.T) {
	now := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	l := &life{t: t, now: &now, node: open(t, t.TempDir(), func(c *guard.Config) {
		c.Policy = load(t, strings.Replace(habitual, "unless: usual", "unless: usual\n    endorse: session", 1))
		c.Now = func() time.Time { return now }
	})}
	week := &guard.Reply{Agree: true, For: approval.Span{Until: now.Add(8 * 24 * time.Hour)}}
	for i := range 6 {
		session := fmt.Sprint("e", i)
		now = now.Add(24 * time.Hour)
		l.act(told(act.ToolResult, session, "1", "", "pay bill-1"))
		d := l.act(call(session, "2", "pay", "bill-1"))
		if i == 0 {
			l.answer(d.Approval.ID, *week)
			d = l.act(call(session, "3", "pay", "bill-1"))
		}
		if d.Effect != act.Allow {
			t.Fatalf("the grant does not cover it: %v", d.Reasons)
		}
		for k := range 3 {
			l.act(call(session, fmt.Sprint("again", k), "pay", "bill-1"))
		}
		l.learn()
	}
	now = now.Add(4 * 24 * time.Hour)
	if d := l.pay(act.ToolResult, "bill-1", nil, nil); d.Effect != act.Escalate {
		t.Errorf("after the week that people agreed to it passes still: %v", d.Reasons)
	}
}

// Where a person refuses something, nothing of that session is learned: also where its agent
// never asks again, where the answer came after all else was learned, and made anew.
func TestRefusedSessionsTeachNothing(t *testing.T) {
	now := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	l := &life{t: t, now: &now, node: open(t, t.TempDir(), func(c *guard.Config) {
		c.Policy = load(t, habitual)
		c.Now = func() time.Time { return now }
	})}
	for i, late := range []bool{false, true, false, true, true} {
		session := fmt.Sprint("r", i)
		now = now.Add(24 * time.Hour)
		l.act(told(act.MessageUser, session, "1", "", "pay named-9"))
		l.act(call(session, "2", "pay", "named-9"))
		l.act(told(act.ToolResult, session, "3", "", "pay bill-9"))
		held := l.act(call(session, "4", "pay", "bill-9"))
		if held.Effect != act.Escalate {
			t.Fatalf("it is not asked about: %v", held.Reasons)
		}
		if late {
			now = now.Add(habits.Quiet + time.Minute)
			if _, err := l.Learn(context.Background(), now); err != nil {
				t.Fatal(err)
			}
		}
		l.answer(held.Approval.ID, guard.Reply{})
		l.learn()
	}
	refusals := 0
	for i := range uint64(40) { // what the record of a refusal says is read as before
		o, err := ledger.ReadOpening(context.Background(), l.store, act.Position{Index: i})
		if err != nil || !strings.Contains(string(o.Links), `"state":"denied"`) {
			continue
		}
		if d, err := o.Details(); err != nil || d["state"] != "denied" || d["habits"] != "" {
			t.Errorf("the refusal says %v, %v", d, err)
		}
		refusals++
	}
	if refusals == 0 {
		t.Error("no record of a refusal was found")
	}
	check := func() {
		t.Helper()
		if d := l.pay(act.ToolResult, "named-9", nil, nil); d.Effect != act.Escalate {
			t.Errorf("what sessions taught in which a person refused something is usual: %v", d.Reasons)
		}
	}
	check()
	if err := l.HabitsAnew(context.Background(), approver, false); err != nil {
		t.Fatal(err)
	}
	l.learn()
	check()
}

// TestDamagedProfile: an agent whose profile is damaged has no habits until it is made
// anew, and the others learn on. So they do where a clock was ahead for a while.
func TestDamagedProfile(t *testing.T) {
	ctx := context.Background()
	for name, data := range damages {
		t.Run(name, func(t *testing.T) {
			now := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
			dir := t.TempDir()
			edit := func(c *guard.Config) {
				c.Policy = load(t, habitual)
				c.Now = func() time.Time { return now }
			}
			l := &life{t: t, now: &now, node: open(t, dir, edit)}
			agree := &guard.Reply{Agree: true}
			other := func(a *act.Action) { a.Agent.ID = "b" }
			for range 3 {
				l.pay(act.ToolResult, "bill-1", agree, nil)
			}
			l.close()
			damage(t, dir, "habits", guard.HabitsID(act.Anonymous.Name, "a"), data)
			l.node = open(t, dir, edit)
			if d := l.pay(act.ToolResult, "bill-1", nil, nil); d.Effect != act.Escalate {
				t.Errorf("something is usual for whose profile is damaged: %v", d.Effect)
			}
			now = now.Add(365 * 24 * time.Hour)
			l.act(call("ahead", "1", "pay", "nobody"))
			now = now.Add(-364 * 24 * time.Hour)
			for range 3 {
				l.pay(act.ToolResult, "bill-2", agree, other)
			}
			if d := l.pay(act.ToolResult, "bill-2", nil, other); d.Effect != act.Allow {
				t.Errorf("the other agent learned nothing: %v", d.Effect)
			}
			if err := l.RebuildHabits(ctx, act.Anonymous.Name, "a", approver); err != nil {
				t.Fatal(err)
			}
			l.learn()
			if d := l.pay(act.ToolResult, "bill-1", nil, nil); d.Effect != act.Allow {
				t.Errorf("made anew, it has learned nothing: %v", d.Effect)
			}
		})
	}
}

const watchful = `
version: 1
default: allow
habits: {alarms: 0.2}
rules:
  - name: unusual
    on: call
    when: size(habits.new) > 0 || habits.outside >= 3.0
    effect: escalate
    mode: observe
    code: habits.unusual
`

// TestUnusual: what a policy notes as unusual is told once for each cause, and listed with
// how many acts it shows in; also where the node is restarted, or another one reads on.
func TestUnusual(t *testing.T) {
	ctx := context.Background()
	now := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	var begun []guard.Noted
	dir := t.TempDir()
	edit := func(c *guard.Config) {
		c.Policy = load(t, watchful)
		c.Now = func() time.Time { return now }
		c.Unusual = func(_ context.Context, n guard.Noted) {
			if len(n.Fresh) > 0 {
				begun = append(begun, n)
			}
		}
	}
	l := &life{t: t, now: &now, node: open(t, dir, edit)}
	day := func(model string, tools ...string) {
		now = now.Add(24 * time.Hour)
		l.n++
		for i, tool := range tools {
			a := call(fmt.Sprint("s", l.n), fmt.Sprint(i), tool, "notes")
			a.Agent.Raw, a.Agent.ModelRaw = []byte(`{}`), []byte(model)
			l.act(a)
		}
	}
	for range 210 {
		day(`"small"`, "look")
	}
	l.learn()
	if len(begun) > 0 {
		t.Fatalf("what it always does is unusual: %+v", begun)
	}
	restart := func() {
		l.close()
		l.node = open(t, dir, edit)
		if _, err := l.Learn(ctx, now.Add(-time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	check := func(what string, causes, lines, acts, sessions int) {
		t.Helper()
		list, err := l.Unusual(ctx, "a", 9)
		if err != nil {
			t.Fatal(err)
		}
		if len(begun) != causes || len(list) != lines || list[0].Acts != acts || list[0].Sessions != sessions {
			t.Errorf("%s: told %d times, and listed %+v", what, len(begun), list)
		}
	}
	day(`"small"`, "burn", "burn", "look", "wipe") // one cause, and no day between
	now = now.Add(2 * time.Minute)
	restart()
	check("before the session is over", 1, 1, 3, 1)
	now = now.Add(-20 * time.Hour)
	day(`"small"`, "sink")
	l.learn()
	restart()
	check("the next session", 1, 1, 4, 2)
	now = now.Add(48 * time.Hour)
	day(`"small"`, "fell")
	l.learn()
	check("days later", 2, 2, 1, 1)
	if said := begun[1].String(); !strings.HasPrefix(said, "a tool that it never used") {
		t.Errorf("it says %q", said)
	}
	// With another model all that is new has that cause.
	day(`"large"`, "drill")
	l.learn()
	day(`"large"`, "mine")
	l.learn()
	day(`"large"`, "hew")
	l.learn()
	list, err := l.Unusual(ctx, "", 9)
	if err != nil || len(list) > 3 || !strings.Contains(list[0].String(), "Its model changed on") || list[0].Acts < 3 {
		t.Errorf("after its model changed: %+v, %v", list, err)
	}
	// Who changes an agent has not all pass under that one cause: each further dimension is told.
	for range 40 {
		day(`"large"`, "look")
		l.learn()
	}
	before := len(begun)
	day(`"other"`, "look", "dig")
	l.learn()
	day(`"other"`, "look", "look", "look", "look", "look", "look", "look", "look", "look", "look", "look", "look")
	l.learn()
	if got := len(begun) - before; got != 2 || !slices.Contains(begun[len(begun)-1].Fresh, habits.OfAmounts) {
		t.Errorf("of two kinds after it changed %d were told: %+v", got, begun[before:])
	}
	if list, err := l.Unusual(ctx, "nobody", 9); len(list) > 0 || err != nil {
		t.Errorf("of nobody: %v, %v", list, err)
	}
	now = now.Add(habits.UnusualKept + time.Hour)
	if list, err := l.Unusual(ctx, "a", 9); len(list) > 0 || err != nil {
		t.Errorf("after a month: %v, %v", list, err)
	}
}

// TestUnusualFlood: however many unusual acts come at once, of however many sessions side
// by side, each is counted, and once.
func TestUnusualFlood(t *testing.T) {
	now := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	l := &life{t: t, now: &now, node: open(t, t.TempDir(), func(c *guard.Config) {
		c.Policy = load(t, watchful)
		c.Now = func() time.Time { return now }
	})}
	for i := range 210 {
		now = now.Add(24 * time.Hour)
		l.act(call(fmt.Sprint("s", i), "1", "look", "notes"))
	}
	l.learn()
	const sessions, each = 20, 120
	var group sync.WaitGroup
	for s := range sessions {
		group.Go(func() {
			for i := range each {
				if _, _, err := l.Decide(context.Background(), call(fmt.Sprint("flood", s), fmt.Sprint(i), fmt.Sprint("tool", i%7), "notes")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	for range 2 { // who reads on reads nothing twice
		l.learn()
		list, err := l.Unusual(context.Background(), "a", 9)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) != 1 || list[0].Acts != sessions*each || list[0].Sessions != sessions {
			t.Fatalf("of %d acts in %d sessions it lists %+v", sessions*each, sessions, list)
		}
	}
}

// TestNodesLearnAtOnce: of nodes that share a database and learn at the same moment, while
// people say something and a third decides, each session is learned once, and each unusual
// act counted once: made anew the profiles are the same.
func TestNodesLearnAtOnce(t *testing.T) {
	ctx := context.Background()
	url := storetest.Postgres(t)
	var clock atomic.Int64
	clock.Store(time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC).Unix())
	now := func() time.Time { return time.Unix(clock.Load(), 0).UTC() }
	var nodes []*node
	for range 3 {
		store, err := postgres.Open(ctx, url)
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, openOn(t, store, func(c *guard.Config) { c.Policy, c.Now = load(t, watchful), now }))
	}
	agents := []string{"a", "b", "c"}
	var unusual atomic.Int64
	decide := func(n *node, round, i int, tool string) {
		one := call(fmt.Sprint("s", round, "-", i), fmt.Sprint(round), tool, "notes")
		one.Agent.ID = agents[i%len(agents)]
		d, _, err := n.Decide(ctx, one)
		if err != nil {
			t.Error(err)
		}
		if slices.ContainsFunc(d.Reasons, func(r act.Reason) bool { return r.Code == "habits.unusual" }) {
			unusual.Add(1)
		}
	}
	var learned atomic.Int64
	learn := func(group *sync.WaitGroup) {
		for _, n := range nodes {
			group.Go(func() {
				k, err := n.Learn(ctx, now())
				if err != nil {
					t.Error(err)
				}
				learned.Add(int64(k))
			})
		}
	}
	const rounds, each = 70, 9
	for round := range rounds {
		var group sync.WaitGroup
		learn(&group) // beside what is decided
		for i := range each {
			tool := "look"
			if round%8 == 7 && round > 40 {
				tool = fmt.Sprint("tool", round)
			}
			group.Go(func() { decide(nodes[i%len(nodes)], round, i, tool) })
		}
		if round == rounds/2 {
			group.Go(func() {
				if err := nodes[0].FreezeHabits(ctx, act.Anonymous.Name, "c", true, approver); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		clock.Add(int64(time.Hour / time.Second))
		learn(&group)
		group.Wait()
	}
	if unusual.Load() == 0 {
		t.Error("nothing was unusual")
	}
	if got := learned.Load(); got != rounds*each {
		t.Errorf("of %d sessions %d were learned", rounds*each, got)
	}
	list, err := nodes[1].Unusual(ctx, "", 100)
	if err != nil {
		t.Fatal(err)
	}
	counted := int64(0)
	for _, u := range list {
		counted += int64(u.Acts)
	}
	if counted != unusual.Load() {
		t.Errorf("of %d unusual acts %d are counted", unusual.Load(), counted)
	}
	reports := func() (all []*habits.Report) {
		for _, agent := range agents {
			r, err := nodes[2].Habits(ctx, act.Anonymous.Name, agent, "", true)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, r)
		}
		return all
	}
	kept := reports()
	if err := nodes[0].HabitsAnew(ctx, approver, false); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	learn(&group)
	group.Wait()
	if diff := cmp.Diff(kept, reports()); diff != "" {
		t.Errorf("made anew by three at once the profiles are others (-kept +anew):\n%s", diff)
	}
}
