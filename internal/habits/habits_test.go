package habits

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"reeve.example/reeve/act"

	"github.com/google/go-cmp/cmp"
)

var (
	secret = []byte("sixteen bytes and more of it")
	key    = NewKey(secret, "key:ann", "mailer")
	begin  = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
)

// world plays sessions of one agent, one every hour of work.
type world struct {
	profile *Profile
	learner Learner
	view    View
	notes   []noted
	now     time.Time
	n       int
}

type noted struct {
	note Note
	at   act.Position
}

func newWorld() *world {
	p := &Profile{Principal: "key:ann", Agent: "mailer"}
	return &world{profile: p, view: View{Profile: p, Key: key, Settings: Default}, now: begin}
}

// call is one call of a session.
type call struct {
	to      string
	by      Teaches
	user    string
	tags    []string
	ran     bool
	watched bool
}

func mailTo(to string, by Teaches) call { return call{to: to, by: by, ran: true} }

func use(to string) Use { return Use{Tool: "send_mail", Argument: "to", Value: to} }

// session plays a session of some calls, after a pause.
func (w *world) session(pause time.Duration, calls ...call) {
	w.n++
	w.named(fmt.Sprintf("s%d", w.n), pause, calls...)
}

func (w *world) named(name string, pause time.Duration, calls ...call) {
	w.now = w.now.Add(pause)
	for _, c := range calls {
		v := w.view
		v.User = c.user
		t := v.Target(use(c.to), c.tags)
		t.Teaches, t.Usual = c.by, v.IsUsual(t)
		if t.Usual && t.Teaches == Nothing {
			t.Teaches = Again
		}
		n := Note{Agent: "mailer", Session: v.Session(name), At: w.now.UnixMilli(), Tool: v.Tool("send_mail"), Ran: c.ran, Denied: !c.ran, Watched: c.watched, Targets: []Target{t}}
		w.note(n)
		w.now = w.now.Add(time.Second)
	}
	w.settle(w.now.Add(Quiet + time.Minute))
}

func (w *world) note(n Note) {
	at := act.Position{Index: uint64(len(w.notes))}
	w.notes = append(w.notes, noted{n, at})
	w.learner.Observe(&n, at)
}

func (w *world) settle(at time.Time) {
	for _, s := range w.learner.Settle(at) {
		w.profile.Learn(s)
	}
	w.now = at
}

func (w *world) usual(user, to string, tags ...string) bool {
	v := w.view
	v.User = user
	return v.Usual(use(to), tags)
}

const day = 24 * time.Hour

func TestUsualAfterSessionsOnDays(t *testing.T) {
	w := newWorld()
	for i := range 3 {
		if w.usual("", "Bob@Corp.example") {
			t.Fatalf("usual after %d sessions", i)
		}
		w.session(day/2, mailTo("bob@corp.example", ForUser))
	}
	if !w.usual("", "Bob@Corp.example") {
		t.Error("not usual after 3 sessions on 2 days")
	}
	if w.usual("", "bob@corp.example.evil") || w.usual("", "corp.example") {
		t.Error("another value is usual, too")
	}
}

func TestUsualIsTheUsersOwn(t *testing.T) {
	w := newWorld()
	for range 5 {
		w.session(day, call{to: "mallory@evil.example", by: ForUser, user: "mallory", ran: true})
	}
	if !w.usual("mallory", "mallory@evil.example") {
		t.Error("what this user always names is not usual")
	}
	for _, user := range []string{"", "ann"} {
		if w.usual(user, "mallory@evil.example") {
			t.Errorf("one user's habit counts for the user %q", user)
		}
	}
}

func TestUsualWithWhatWasRead(t *testing.T) {
	w := newWorld()
	for range 4 {
		w.session(day, mailTo("bob@corp.example", ForAll))
	}
	if !w.usual("", "bob@corp.example") || w.usual("", "bob@corp.example", "private") {
		t.Error("what was read before does not count")
	}
	for range 3 {
		w.session(day, call{to: "bob@corp.example", by: ForAll, tags: []string{"private"}, ran: true})
	}
	if !w.usual("", "bob@corp.example", "private") || w.usual("", "bob@corp.example", "private", "secret") {
		t.Error("with the tags it was given before, and no others")
	}
}

// What an attacker can do teaches nothing, however often, slowly, or as whom.
func TestAttackersTeachNothing(t *testing.T) {
	const evil = "mallory@evil.example"
	tests := map[string]func(w *world, i int){
		"foreign text named it":                    func(w *world, i int) { w.session(time.Hour, mailTo(evil, Nothing)) },
		"slowly, over years":                       func(w *world, i int) { w.session(day, mailTo(evil, Nothing)) },
		"as many users":                            func(w *world, i int) { w.session(time.Hour, call{to: evil, user: fmt.Sprint(i), ran: true}) },
		"many users who say it":                    func(w *world, i int) { w.session(day, call{to: evil, by: ForUser, user: fmt.Sprint(i), ran: true}) },
		"often in one session":                     func(w *world, i int) { w.named("one", time.Second, mailTo(evil, ForUser)) },
		"in one session that pauses":               func(w *world, i int) { w.named("one", day, mailTo(evil, ForUser)) },
		"in two sessions, by turns":                func(w *world, i int) { w.named([]string{"a", "b"}[i%2], day, mailTo(evil, ForUser)) },
		"in many sessions of one day":              func(w *world, i int) { w.now = begin; w.session(time.Second, mailTo(evil, ForUser)) },
		"it is denied":                             func(w *world, i int) { w.session(day, call{to: evil, by: ForUser}) },
		"it passes since a rule only watches":      func(w *world, i int) { w.session(day, call{to: evil, by: ForUser, ran: true, watched: true}) },
		"as if it were usual":                      func(w *world, i int) { w.session(day, mailTo(evil, Again)) },
		"beside something that a person refuses":   func(w *world, i int) { w.objected(mailTo(evil, ForUser)) },
		"beside what the agent always does":        func(w *world, i int) { w.session(day, mailTo("bob@corp.example", ForAll), mailTo(evil, Nothing)) },
		"in sessions that are marked as incidents": func(w *world, i int) { w.incident(t, mailTo(evil, ForUser)) },
	}
	for name, attack := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			for range 20 {
				w.session(day, mailTo("bob@corp.example", ForAll))
			}
			for i := range 1000 {
				attack(w, i)
			}
			for _, user := range []string{"", "ann"} {
				if w.usual(user, evil) {
					t.Errorf("what the attacker repeats is usual for the user %q", user)
				}
			}
			if !w.usual("", "bob@corp.example") {
				t.Error("what was usual is so no more")
			}
			if name != "often in one session" && name != "in one session that pauses" {
				return
			}
			w.named("other", day, mailTo(evil, ForUser))
			if w.usual("", evil) {
				t.Error("one session counted for more than one")
			}
		})
	}
}

func (w *world) objected(c call) {
	w.n++
	w.now = w.now.Add(day)
	w.note(Note{Agent: "mailer", Session: w.view.Session(fmt.Sprint("s", w.n)), At: w.now.UnixMilli(), Objected: true, Denied: true})
	w.named(fmt.Sprint("s", w.n), time.Second, c)
}

func (w *world) incident(t *testing.T, c call) {
	t.Helper()
	if len(w.profile.Said.Incidents) == maxSaid { // and then nobody marks any more
		return
	}
	w.session(day, c)
	if err := w.profile.Exclude(Word{Hash: w.view.Session(fmt.Sprint("s", w.n)), At: w.now}); err != nil {
		t.Fatal(err)
	}
}

// Who floods an agent with values, of their own or of many users, pushes out nothing that
// was usual for all, and the profile stays small.
func TestFloodIsBounded(t *testing.T) {
	w := newWorld()
	for range 5 {
		w.session(day, mailTo("bob@corp.example", ForAll))
	}
	for i := range 3000 {
		w.session(time.Hour, call{to: fmt.Sprintf("u%d@x.example", i), by: ForUser, user: fmt.Sprint(i), ran: true})
	}
	for i := range 3000 {
		w.session(time.Hour, mailTo(fmt.Sprintf("v%d@x.example", i), ForAll))
	}
	if !w.usual("", "bob@corp.example") {
		t.Error("what was usual is forgotten")
	}
	if n := len(w.profile.values); n > maxValues {
		t.Errorf("%d values", n)
	}
	data, err := w.profile.Data()
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 64<<10 {
		t.Errorf("the profile takes %d bytes", len(data))
	}
}

// TestDimensionsMakeRoom: who uses many tools, or makes up names of them, does not keep what
// is used later from becoming usual, nor has what was long used forgotten.
func TestDimensionsMakeRoom(t *testing.T) {
	w := newWorld()
	for range 40 {
		w.session(day, mailTo("bob@corp.example", ForAll))
	}
	act := func(tool string, pause time.Duration) Target {
		w.now = w.now.Add(pause)
		target := w.view.Target(Use{Tool: tool, Argument: "to", Value: "ann"}, nil)
		target.Teaches = ForAll
		w.n++
		w.note(Note{Agent: "mailer", Session: w.view.Session(fmt.Sprint("t", w.n)), At: w.now.UnixMilli(), Tool: w.view.Tool(tool), Ran: true, Targets: []Target{target}})
		w.settle(w.now.Add(Quiet + time.Minute))
		return target
	}
	for i := range 3 * maxSubjects {
		act(fmt.Sprint("made_up_", i), time.Minute)
	}
	var late Target
	for range 4 {
		late = act("send_invoice", day)
		act(fmt.Sprint("made_up_", w.n), time.Minute)
	}
	if !w.view.IsUsual(late) {
		t.Error("what is used later cannot become usual")
	}
	if !w.usual("", "bob@corp.example") {
		t.Error("what was long usual is forgotten")
	}
	if n := len(w.profile.subjects); n != maxSubjects {
		t.Errorf("%d dimensions", n)
	}
	anew := w.profile.Anew()
	var l Learner
	for _, n := range w.notes {
		l.Observe(&n.note, n.at)
	}
	for _, s := range l.Settle(w.now.Add(day)) {
		anew.Learn(s)
	}
	if diff := cmp.Diff(w.profile.Report(Default, w.now), anew.Report(Default, w.now)); diff != "" {
		t.Errorf("made anew it is another one (-kept +anew):\n%s", diff)
	}
}

func TestPeopleTeachForgetAndFreeze(t *testing.T) {
	w := newWorld()
	p := w.profile
	target := w.view.Target(use("new@corp.example"), nil)
	if err := p.Teach(Word{Hash: target.Value, Subject: target.Of, At: w.now}); err != nil {
		t.Fatal(err)
	}
	if !w.usual("", "new@corp.example") {
		t.Error("what a person taught is not usual")
	}
	for range 4 {
		w.session(day, mailTo("bob@corp.example", ForAll))
	}
	bob := w.view.Target(use("bob@corp.example"), nil)
	if err := p.Forget(Word{Hash: bob.Value, At: w.now}); err != nil {
		t.Fatal(err)
	}
	if w.usual("", "bob@corp.example") || !w.usual("", "new@corp.example") {
		t.Error("one value was to be forgotten")
	}
	w.session(day, mailTo("bob@corp.example", ForAll))
	if w.usual("", "bob@corp.example") {
		t.Error("what was forgotten is usual after one session")
	}
	if err := p.Freeze(w.now); err != nil {
		t.Fatal(err)
	}
	for range 9 {
		w.session(day, mailTo("bob@corp.example", ForAll))
	}
	if w.usual("", "bob@corp.example") {
		t.Error("something was learned while the habits were frozen")
	}
	if err := p.Thaw(w.now); err != nil {
		t.Fatal(err)
	}
	for range 9 {
		w.session(day, mailTo("bob@corp.example", ForAll))
	}
	if !w.usual("", "bob@corp.example") {
		t.Error("nothing is learned any more")
	}
	if err := p.Forget(Word{At: w.now}); err != nil {
		t.Fatal(err)
	}
	if w.usual("", "bob@corp.example") || w.usual("", "new@corp.example") || p.sessions != 0 {
		t.Error("all was to be forgotten")
	}
}

// Made anew from its notes, a profile is the same; also where it was read from the disk
// between sessions, and where its learner began again in the midst of some.
func TestRebuiltEqualsKept(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := newWorld()
		for range 120 {
			var calls []call
			for range 1 + r.IntN(4) {
				calls = append(calls, call{
					to: fmt.Sprintf("p%d@x.example", r.IntN(40)), by: Teaches(r.IntN(4)), user: []string{"", "ann", "eve"}[r.IntN(3)],
					ran: r.IntN(6) > 0, watched: r.IntN(9) == 0, tags: [][]string{nil, nil, {"private"}}[r.IntN(3)],
				})
			}
			w.named(fmt.Sprintf("s%d", r.IntN(90)), time.Duration(r.IntN(20))*time.Hour, calls...)
			switch r.IntN(25) {
			case 0:
				w.profile.Exclude(Word{Hash: w.view.Session(fmt.Sprintf("s%d", r.IntN(90)+100)), At: w.now})
			case 1:
				data, _ := w.profile.Data()
				p, err := Parse(data)
				if err != nil {
					t.Fatal(err)
				}
				*w.profile = *p
			}
		}
		again := w.profile.Anew()
		var l Learner
		for i := range w.notes {
			n := &w.notes[i]
			for _, s := range l.Settle(time.UnixMilli(n.note.At)) {
				again.Learn(s)
			}
			l.Observe(&n.note, n.at)
		}
		for _, s := range l.Settle(w.now) {
			again.Learn(s)
		}
		kept, err := w.profile.Data()
		if err != nil {
			t.Fatal(err)
		}
		made, err := again.Data()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(kept, made) {
			t.Fatalf("seed %d: made anew it is another one:\n%s", seed, cmp.Diff(w.profile, again, cmp.AllowUnexported(Profile{}, subject{}, value{}, chapter{}, hour{})))
		}
	}
}

// However often somebody looks which sessions are over, and whatever the clock does, what
// is learned of them is the same: also of those in whose course others end, and of those
// that end while the agent is suspended.
func TestLearnedTheSameWheneverLookedAt(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 2))
		v := View{Key: key, Settings: Default}
		kept := &Profile{Principal: "key:ann", Agent: "mailer"}
		var l Learner
		var notes []noted
		now, newest := begin, begin
		barred := false
		for i := range 400 {
			now = now.Add(time.Duration(r.IntN(30)) * time.Minute)
			switch r.IntN(40) {
			case 0:
				now = now.Add(-time.Duration(r.IntN(50)) * time.Hour) // the clock is set back
			case 1:
				barred = !barred
			}
			target := v.Target(use(fmt.Sprintf("p%d@x.example", r.IntN(20))), nil)
			target.Teaches = Teaches(r.IntN(4))
			n := noted{Note{
				Agent: "mailer", Session: v.Session(fmt.Sprint(r.IntN(6))), At: now.UnixMilli(), Tool: v.Tool(fmt.Sprint(r.IntN(9))),
				Ran: true, Objected: r.IntN(30) == 0, Print: Print{uint32(1 + i/150)}, Targets: []Target{target},
			}, act.Position{Index: uint64(i)}}
			notes = append(notes, n)
			if now.After(newest) {
				newest = now
			}
			l.Observe(&n.note, n.at)
			var over []*Session
			switch r.IntN(3) {
			case 0:
				over = l.Settle(newest.Add(-time.Duration(r.IntN(600)) * time.Second))
			case 1:
				over = l.Ended()
			}
			for _, s := range over {
				kept.Bar(s, barred)
				kept.Learn(s)
			}
		}
		again := kept.Anew()
		for _, s := range l.Settle(newest.Add(time.Hour)) {
			kept.Bar(s, barred)
			kept.Learn(s)
		}
		again.Said = kept.Said
		var anew Learner
		for i := range notes {
			anew.Observe(&notes[i].note, notes[i].at)
		}
		for _, s := range anew.Settle(newest.Add(time.Hour)) {
			again.Learn(s)
		}
		is, _ := kept.Data()
		made, _ := again.Data()
		if !bytes.Equal(is, made) {
			t.Fatalf("seed %d: made anew it is another one:\n%s", seed, cmp.Diff(kept, again, cmp.AllowUnexported(Profile{}, subject{}, value{}, chapter{}, hour{})))
		}
	}
}

// Who sets the clock back, and on again, makes no second day.
func TestClockSetBackMakesNoDays(t *testing.T) {
	w := newWorld()
	for i := range 1000 {
		w.now = begin.Add(-time.Duration(i%300) * day)
		w.n++
		target := w.view.Target(use("mallory@evil.example"), nil)
		target.Teaches = ForUser
		w.note(Note{Agent: "mailer", Session: w.view.Session(fmt.Sprint("s", w.n)), At: w.now.UnixMilli(), Ran: true, Tool: 1, Targets: []Target{target}})
	}
	w.settle(begin.Add(time.Hour))
	if w.usual("", "mallory@evil.example") {
		t.Error("what was said on one day, by a clock that was set back, is usual")
	}
}

// However often an agent is suspended, its profile stays small, and nothing is taught by
// what ends meanwhile.
func TestSuspendedTeachesNothing(t *testing.T) {
	w := newWorld()
	v := w.view
	for i := range 3 * maxSaid {
		for range 3 {
			w.n++
			w.now = w.now.Add(day)
			target := v.Target(use("mallory@evil.example"), nil)
			target.Teaches = ForUser
			n := Note{Agent: "mailer", Session: v.Session(fmt.Sprint("s", w.n)), At: w.now.UnixMilli(), Ran: true, Tool: 1, Targets: []Target{target}}
			w.learner.Observe(&n, act.Position{})
			for _, s := range w.learner.Settle(w.now.Add(time.Hour)) {
				w.profile.Bar(s, true)
				w.profile.Learn(s)
			}
		}
		w.now = w.now.Add(day)
		w.learner.Observe(&Note{Agent: "mailer", Session: v.Session(fmt.Sprint("free", i)), At: w.now.UnixMilli(), Ran: true, Tool: 1}, act.Position{})
		for _, s := range w.learner.Settle(w.now.Add(time.Hour)) {
			w.profile.Bar(s, false)
			w.profile.Learn(s)
		}
	}
	data, err := w.profile.Data()
	if err != nil || len(data) > 64<<10 {
		t.Errorf("the profile takes %d bytes: %v", len(data), err)
	}
	if w.usual("", "mallory@evil.example") || w.profile.sessions != 3*maxSaid {
		t.Errorf("%d sessions taught something", w.profile.sessions)
	}
}

// A dimension that is silent says why.
func TestSilentSaysWhy(t *testing.T) {
	w := newWorld()
	why := func(dimension string) string {
		for _, d := range w.profile.Report(w.view.Settings, w.now).Dimensions {
			if d.Name == dimension {
				return d.Why
			}
		}
		return "not there"
	}
	for i := range 300 {
		w.session(day, mailTo("bob@corp.example", ForAll), mailTo(fmt.Sprint("c", i, "@x.example"), Nothing))
		want := map[int]string{9: "it is learning", 39: "it has too few sessions for as few alarms as the policy allows", 299: ""}
		if want, ok := want[i]; ok && why(OfTools) != want {
			t.Errorf("after %d sessions: %q, want %q", i+1, why(OfTools), want)
		}
	}
	if got := why("send_mail to"); got != "news are too common in it" {
		t.Errorf("of the recipients: %q", got)
	}
}

func TestNewsWithinTheBudget(t *testing.T) {
	w := newWorld()
	r := rand.New(rand.NewPCG(7, 7))
	alarms := 0
	look := func(to string) []News {
		return w.view.News(&Act{Tool: "send_mail", Targets: []Target{w.view.Target(use(to), nil)}, At: w.now})
	}
	for i := range 600 {
		to := fmt.Sprintf("c%d@corp.example", r.IntN(9))
		if i < Learning && len(look("stranger@evil.example")) > 0 {
			t.Fatalf("an alarm after %d sessions", i)
		}
		if len(look(to)) > 0 {
			alarms++
		}
		w.session(20*time.Hour, mailTo(to, ForAll))
	}
	if alarms > 6 {
		t.Errorf("%d false alarms in 600 sessions", alarms)
	}
	if list := look("stranger@evil.example"); len(list) != 1 || list[0].Class != OfTargets || list[0].Values != 9 {
		t.Errorf("a stranger is news %v", list)
	}
	// In customer service each customer is new: that dimension says nothing.
	c := newWorld()
	for i := range 300 {
		c.session(time.Hour, mailTo(fmt.Sprintf("customer%d@x.example", i), ForAll))
	}
	if list := c.view.News(&Act{Tool: "send_mail", Targets: []Target{c.view.Target(use("another@x.example"), nil)}, At: c.now}); len(list) > 0 {
		t.Errorf("a dimension in which news are the rule says %v", list)
	}
	if list := c.view.News(&Act{Tool: "drop_table", At: c.now}); len(list) != 1 || list[0].Class != OfTools {
		t.Errorf("a tool that it never used is news %v", list)
	}
}

func TestOutside(t *testing.T) {
	w := newWorld()
	for i := range 100 {
		calls := make([]call, 3+i%5)
		for k := range calls {
			calls[k] = mailTo("bob@corp.example", ForAll)
		}
		w.session(3*time.Hour, calls...)
	}
	if times, _ := w.view.Outside(&Act{Calls: 6}); times != 0 {
		t.Errorf("7 calls are %v times the usual", times)
	}
	if times, of := w.view.Outside(&Act{Calls: 79}); times < 5 || of == "" {
		t.Errorf("80 calls are %v times the usual: %s", times, of)
	}
}

func TestChapters(t *testing.T) {
	w := newWorld()
	session := func(print Print) {
		w.n++
		w.now = w.now.Add(day)
		w.note(Note{Agent: "mailer", Session: w.view.Session(fmt.Sprint("s", w.n)), At: w.now.UnixMilli(), Ran: true, Tool: 1, Print: print})
		w.settle(w.now.Add(time.Hour))
	}
	for range 5 {
		session(Print{1, 2, 3, 4})
	}
	session(Print{1, 2, 9, 4})
	session(Print{1, 2, 0, 4}) // a step that says nothing of the model
	if n := len(w.profile.chapters); n != 2 {
		t.Fatalf("%d chapters", n)
	}
	if said := w.view.Changed(w.now); said != "Its model changed on Sunday, 8 March." {
		t.Errorf("it says %q", said)
	}
}

func TestNoteKeepsWhatItSays(t *testing.T) {
	n := Note{
		Agent: "abc", Session: 1<<64 - 1, At: 1234, Tool: 7, Ran: true, Watched: true, Objected: true, Denied: true, Print: Print{1, 0, 3, 1<<32 - 1},
		Targets: []Target{{Of: "send \"x\" to", Value: 1, Mine: 2, Private: 3, Teaches: ForAll, Usual: true, Pointer: "/a/b"}, {Of: "y", Value: 5, Mine: 6}},
		Out:     99, New: []string{OfTools, OfHours}, Outside: 2.5, Said: SaidAsked,
	}
	for _, n := range []Note{n, {Agent: "a"}} {
		got, err := ParseNote(n.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&n, got); diff != "" {
			t.Error(diff)
		}
	}
}

func FuzzParse(f *testing.F) {
	w := newWorld()
	for i := range 9 {
		w.session(day, mailTo(fmt.Sprint(i%3, "@x.example"), ForAll))
	}
	data, _ := w.profile.Data()
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse(data)
		if err != nil {
			return
		}
		View{Profile: p, Key: key, Settings: Default}.mustNotFail()
		again, err := p.Data()
		if err != nil {
			t.Fatal(err)
		}
		if q, err := Parse(again); err != nil || !slices.Equal(p.values, q.values) {
			t.Fatalf("read again it is another one: %v", err)
		}
	})
}

func (v View) mustNotFail() {
	target := v.Target(use("x"), nil)
	v.Usual(use("x"), nil)
	v.News(&Act{Tool: "x", Targets: []Target{target}, First: true, At: begin})
	v.Outside(&Act{Calls: 1000})
	v.Changed(begin)
	var l Learner
	l.Observe(&Note{Agent: "a", At: begin.UnixMilli(), Ran: true, Tool: 1, Targets: []Target{target}}, act.Position{})
	for _, s := range l.Settle(begin.Add(day)) {
		v.Profile.Learn(s)
	}
}

func FuzzParseNote(f *testing.F) {
	n := Note{Agent: "a", Targets: []Target{{Of: "b", Value: 1}}}
	f.Add(n.Append(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		if n, err := ParseNote(data); err == nil {
			if _, err := ParseNote(n.Append(nil)); err != nil {
				t.Fatal(err)
			}
		}
	})
}
