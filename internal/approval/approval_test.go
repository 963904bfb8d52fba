package approval

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/act"

	"github.com/google/go-cmp/cmp"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }

// TestAnswer walks every edge of the states, and those that must not be.
func TestAnswer(t *testing.T) {
	two := []Need{{Rule: "a", Quorum: 2}, {Rule: "b", Quorum: 1, Approvers: []string{"key:boss", "jwt:sso#*"}}}
	type step struct {
		by     string
		agree  bool
		minute int
		err    error
		state  State
	}
	for _, tt := range []struct {
		name  string
		needs []Need
		steps []step
	}{
		{"one person", []Need{{Quorum: 1}}, []step{{"key:a", true, 1, nil, Approved}, {"key:b", true, 2, ErrEnded, Approved}}},
		{"nobody is asked: nobody can agree", nil, []step{{"key:a", true, 1, ErrNotAsked, Held}}},
		{"the asker", []Need{{Quorum: 1}}, []step{{"key:agent", true, 1, ErrOwn, Held}, {"key:agent", false, 1, ErrOwn, Held}}},
		{"a quorum with one who must be in it", two, []step{
			{"key:a", true, 1, nil, Held}, {"key:a", true, 2, ErrAnswered, Held}, {"key:b", true, 3, nil, Held},
			{"jwt:sso#carol", true, 4, nil, Approved},
		}},
		{"one refusal is enough", two, []step{{"key:a", true, 1, nil, Held}, {"key:b", false, 2, nil, Denied}, {"key:c", true, 3, ErrEnded, Denied}}},
		{"not asked", two[1:], []step{{"key:a", false, 1, ErrNotAsked, Held}, {"key:bos", true, 1, ErrNotAsked, Held}, {"key:boss", true, 1, nil, Approved}}},
		{"too late", []Need{{Quorum: 1}}, []step{{"key:a", true, 60, ErrEnded, Expired}}},
		{"taken back", []Need{{Quorum: 1}}, []step{{"key:a", true, 1, nil, Approved}, {"key:b", false, 2, nil, Revoked}, {"key:b", false, 3, ErrEnded, Revoked}}},
		{"not used in time", []Need{{Quorum: 1}}, []step{{"key:a", true, 30, nil, Approved}, {"key:b", false, 91, ErrEnded, Expired}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := &Decision{State: Held, Principal: "key:agent", Needs: tt.needs, Sealed: []byte("sealed"), Seen: "what is held", Created: start, Expires: at(60)}
			for i, s := range tt.steps {
				err := d.Answer(act.Principal{Name: s.by}, Answer{Agree: s.agree, Seen: "what is held"}, at(s.minute))
				if !errors.Is(err, s.err) || (err == nil) != (s.err == nil) {
					t.Errorf("step %d: error %v, want %v", i, err, s.err)
				}
				if got := d.At(at(s.minute)); got != s.state {
					t.Errorf("step %d: %s, want %s", i, got, s.state)
				}
			}
		})
	}
}

// TestAnother: where the policy asks another person, nobody agrees to what is done for them,
// by whatever credential, nor who may be the same. To refuse is everybody's.
func TestAnother(t *testing.T) {
	key := func(name, person string) act.Principal {
		return act.Principal{Name: "key:" + name, Method: "key", Person: person}
	}
	jwt := func(subject, person string) act.Principal {
		return act.Principal{Name: "jwt:sso#" + subject, Method: "jwt", Person: person}
	}
	socket := act.Principal{Name: "socket:ada(1000)", Method: "socket"}
	for _, tt := range []struct {
		name    string
		asker   act.Principal
		users   []string
		by      act.Principal
		want    error
		anybody error // where the rule asks anybody
	}{
		{"her other key", key("laptop", "ada"), nil, key("phone", "ada"), ErrSame, nil},
		{"her login", key("laptop", "ada"), nil, jwt("4711", "ada"), ErrSame, nil},
		{"her token's other login", jwt("4711", "ada"), nil, key("phone", "ada"), ErrSame, nil},
		{"the same token", jwt("4711", ""), nil, jwt("4711", ""), ErrOwn, ErrOwn},
		{"the user that the agent names", key("bot", "ops"), []string{"ada"}, key("phone", "ada"), ErrSame, nil},
		{"in capitals", key("bot", "ops"), []string{"ADA"}, key("phone", "ada"), ErrSame, nil},
		{"by the subject", key("bot", "ops"), []string{"ada@example.com"}, jwt("ada@example.com", ""), ErrSame, nil},
		{"with a space", key("bot", "ops"), []string{"ada "}, key("phone", "ada"), ErrSame, nil},
		{"in letters that look so", key("bot", "ops"), []string{"аdа"}, key("phone", "ada"), ErrSame, nil},
		{"with what is not seen", key("bot", "ops"), []string{"ad\u200ba"}, key("phone", "ada"), ErrSame, nil},
		{"by their address", key("bot", "ops"), []string{"u1", "ada@corp.example"}, key("phone", "ada"), ErrSame, nil},
		{"their login by the address", key("bot", "ops"), []string{"ada"}, jwt("ada@corp.example", ""), ErrSame, nil},
		{"their key's other form", key("laptop", "Ada"), nil, key("phone", "ada"), ErrSame, nil},
		{"somebody of that address elsewhere", key("bot", "ops"), []string{"ada@corp.example"}, key("phone", "ada@birch.example"), nil, nil},
		{"somebody of that first name", key("bot", "ops"), []string{"u1", "Ada Miller"}, key("phone", "ada"), nil, nil},
		{"another", key("laptop", "ada"), []string{"ada"}, key("desk", "bob"), nil, nil},
		{"another login", jwt("ada", ""), nil, jwt("bob", ""), nil, nil},
		{"a key of nobody", key("laptop", "ada"), nil, key("desk", ""), ErrWho, nil},
		{"the socket, as herself", key("laptop", "ada"), nil, socket, ErrSame, nil},
		{"the socket, as somebody", key("laptop", "bob"), nil, socket, ErrWho, nil},
		{"asked by nobody", act.Anonymous, nil, key("desk", "bob"), ErrWho, nil},
		{"asked by a key of nobody", key("bot", ""), nil, key("desk", "bob"), ErrWho, nil},
	} {
		for _, another := range []bool{true, false} {
			for _, agree := range []bool{true, false} {
				d := &Decision{State: Held, Principal: tt.asker.Name, Holder: tt.asker.Known(), Users: tt.users, Sealed: []byte("s"), Seen: "x", Created: start, Expires: at(60),
					Needs: []Need{{Rule: "a", Quorum: 1}, {Rule: "b", Quorum: 1, Another: another}}}
				want := tt.anybody
				if another && agree {
					want = tt.want
				}
				if err := d.Answer(tt.by, Answer{Agree: agree, Seen: "x"}, at(1)); !errors.Is(err, want) || (err == nil) != (want == nil) {
					t.Errorf("%s, another %v, agrees %v: %v, want %v", tt.name, another, agree, err, want)
				}
				if d.Anybody() == another {
					t.Errorf("a window of the agent's own answers: %v", d.Anybody())
				}
			}
		}
	}
}

// TestPersons: one person's names are one, however they are written, and others' are not.
func TestPersons(t *testing.T) {
	bob := []string{
		"bob", "Bob", "BOB ", "\tbob", "b\u00adob", "bоb", "ｂｏｂ", "𝐛𝐨𝐛", "bo\u200bb", "person:bob", "key:bob", "user/bob", `CORP\bob`, "bob@corp.example",
		"Bob <bob@corp.example>", "<bob@corp.example>", "mailto:bob@corp.example?subject=x", "acct:bob@corp.example", "bob+agents@corp.example", "bob@CORP.example",
		"@bob", "b.o.b", "bób", "bob (he/him)", "socket:bob(1000)", "jwt:https://sso.example#bob", "jwt:https://sso.example/realms/a#bob@corp.example",
		"uid=bob,ou=people,dc=corp,dc=example", "cn=x,uid=bob", "spiffe://corp.example/people/bob", "urn:person:bob", "auth0|bob", `"bob"`, "'bob'", "bob.", "_bob_",
	}
	for _, a := range bob {
		for _, b := range bob {
			if !mayBe(a, b) {
				t.Errorf("%q and %q are one person", a, b)
			}
		}
		for _, other := range []string{
			"bobby", "ada", "Bob Miller", "bob-miller", "miller, bob", "robert@bob.example", "ou=bob", "bob:ada", "bob#ada", "ada@bob", "", "...", "Ада", "王",
			"Ada Bobson <ada@corp.example>", "jwt:bob#ada", `bob\ada`, "ada (bob)",
		} {
			if mayBe(a, other) || mayBe(other, a) {
				t.Errorf("%q and %q are two", a, other)
			}
		}
	}
	for _, two := range [][2]string{{"bob@a.example", "bob@b.example"}, {"", ""}, {"...", "---"}, {"王", "李"}, {"Ada Miller", "Ada Birch"}} {
		if mayBe(two[0], two[1]) {
			t.Errorf("%q and %q are two", two[0], two[1])
		}
	}
	if !mayBe("王", "王 ") {
		t.Error("one name of another script is two")
	}
}

func FuzzPersons(f *testing.F) {
	for _, s := range []string{"bob", "Bob <bob@corp.example>", "jwt:a#b?for=c", "uid=x,uid=y", strings.Repeat("=,", 3000), "@", "<", "(", "ﷺ"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if mayBe(a, b) != mayBe(b, a) {
			t.Errorf("%q and %q: it depends on who is asked first", a, b)
		}
		if len(personsIn(a)) > 0 && !mayBe(a, a) {
			t.Errorf("%q is not itself", a)
		}
	})
}

func TestNeeds(t *testing.T) {
	needs, expires := Needs([]act.Reason{
		{Rule: "r", Code: "c", Message: "m", Effect: act.Escalate},
		{Rule: "r", Code: "c", Message: "m", Effect: act.Escalate},
		{Rule: "watches", Effect: act.Escalate, Observe: true},
		{Rule: "changes", Effect: act.Modify},
		{Rule: "s", Code: "d", Effect: act.Escalate, Terms: &act.Terms{Quorum: 2, Approvers: []string{"key:x"}, Within: time.Minute}},
	}, start)
	want := []Need{{Rule: "r", Code: "c", Message: "m", Quorum: 1}, {Rule: "s", Code: "d", Quorum: 2, Approvers: []string{"key:x"}}}
	if diff := cmp.Diff(want, needs); diff != "" || !expires.Equal(at(1)) {
		t.Errorf("until %v (-want +got):\n%s", expires, diff)
	}
	d := &Decision{Needs: want}
	if !d.Covers(want[:1]) || d.Covers([]Need{{Rule: "r", Code: "c", Quorum: 2}}) {
		t.Error("covers")
	}
}

// TestAnswerUnseen: nobody agrees to what they have not looked at, or can look
// at no more. Refusing needs no look.
func TestAnswerUnseen(t *testing.T) {
	for _, tt := range []struct {
		name   string
		sealed []byte
		agree  bool
		seen   string
		want   error
	}{
		{"nothing seen", []byte("s"), true, "", ErrUnseen},
		{"another seen", []byte("s"), true, "sha256:other", ErrUnseen},
		{"nothing to see", nil, true, "sha256:this", ErrUnshown},
		{"refused unseen", nil, false, "", nil},
		{"seen", []byte("s"), true, "sha256:this", nil},
	} {
		d := &Decision{State: Held, Needs: []Need{{Quorum: 1}}, Sealed: tt.sealed, Seen: "sha256:this", Created: start, Expires: at(60)}
		if err := d.Answer(act.Principal{Name: "key:a"}, Answer{Agree: tt.agree, Seen: tt.seen}, at(1)); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
}

// TestExactDigest: the digest tells apart whatever a person could see differently.
func TestExactDigest(t *testing.T) {
	seen := map[string]int{}
	for i, x := range []*Exact{
		{}, {Request: "a"}, {Request: "a "}, {Request: "a", Changes: []Change{{}}}, {Request: "a", Changes: []Change{{Pointer: "/b"}}},
		{Request: "a", Changes: []Change{{New: "/b"}}}, {Request: "a", Changes: []Change{{}, {}}}, {Request: "a\n0  0 \n"},
	} {
		if other, ok := seen[x.Digest()]; ok {
			t.Errorf("%d and %d have one digest", other, i)
		}
		seen[x.Digest()] = i
	}
}

// TestData: what is stored is read as it was; the zero decision is not open.
func TestData(t *testing.T) {
	d := &Decision{ID: "x", State: Held, Request: []byte(`{"a":1.0}`), Needs: []Need{{Rule: "r", Quorum: 1}}, Created: start, Expires: at(5)}
	data, err := d.Data()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := Parse([]byte(`[]`)); err == nil {
		t.Error("an array was read as a decision")
	}
	if (&Decision{}).Open() {
		t.Error("the zero decision is open")
	}
}

// TestQuorumOfPersons: several credentials of one person are one person, in whatever order
// and mixture they come.
func TestQuorumOfPersons(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	all := []act.Principal{
		{Name: "key:ada-desk", Person: "ada"}, {Name: "key:ada-phone", Person: "ada"}, {Name: "jwt:https://sso#1", Person: "ada"}, {Name: "key:bo"}, {Name: "jwt:https://sso#2", Person: "cleo"},
		{Name: "key:cleo", Person: "cleo"}, {Name: "socket:ada(1000)"}, {Name: "key:ada"},
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		quorum := 1 + rng.IntN(4)
		d := Decision{State: Held, Principal: "key:agent", Exact: &Exact{}, Seen: "x", Created: now, Expires: now.Add(time.Hour), Needs: []Need{{Rule: "r", Quorum: quorum}}}
		persons := map[string]bool{}
		for _, i := range rng.Perm(len(all)) {
			who := all[i]
			err := d.Answer(who, Answer{Agree: true, Seen: "x"}, now)
			switch {
			case d.State == Approved && len(persons) >= quorum:
			case persons[who.Holder()] && err != ErrAnswered:
				t.Fatalf("%+v answers twice: %v", who, err)
			case err == nil:
				persons[who.Holder()] = true
			}
			if (d.State == Approved) != (len(persons) >= quorum) {
				t.Fatalf("%s with %d of %d persons", d.State, len(persons), quorum)
			}
		}
	}
	// A person is asked by whatever credential, and by no other's.
	need := Need{Approvers: []string{"person:ada"}}
	for i, want := range []bool{true, true, true, false, false, false, false, false} {
		if got := need.asks(all[i]); got != want {
			t.Errorf("%+v is asked: %v", all[i], got)
		}
	}
}

// TestSpans: what two people have both agreed to, and which spans there are.
func TestSpans(t *testing.T) {
	session, hour, day := Span{Session: true, Until: at(90)}, Span{Until: at(60)}, Span{Until: at(24 * 60)}
	for _, tt := range []struct{ a, b, want Span }{
		{Span{}, Span{}, Span{}}, {Span{}, day, Span{}}, {day, Span{}, Span{}}, {day, hour, hour},
		{session, day, session}, {hour, session, Span{Session: true, Until: at(60)}},
	} {
		d := Decision{Answers: []Answer{{Agree: true, For: tt.a}, {Agree: false, For: day}, {Agree: true, For: tt.b}}}
		if got := d.For(); got != tt.want {
			t.Errorf("%v and %v: %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
	if s, err := (Span{Session: true}).At(start); err != nil || !s.Until.Equal(start.Add(SessionLasts)) {
		t.Errorf("a session: %v, %v", s, err)
	}
	if s, err := (Span{}).At(start); err != nil || !s.Once() {
		t.Errorf("once: %v, %v", s, err)
	}
	if _, err := (Span{Session: true, Until: at(60)}).At(start); !errors.Is(err, ErrSpan) {
		t.Errorf("a session and a time: %v", err)
	}
	for _, until := range []time.Time{start, at(-1), start.Add(MaxSpan + 1)} {
		if _, err := (Span{Until: until}).At(start); !errors.Is(err, ErrSpan) {
			t.Errorf("until %v: %v", until, err)
		}
	}
}

// TestScopeCovers: every part of a scope counts, and one that is not there covers nothing.
func TestScopeCovers(t *testing.T) {
	scope := func(edit func(*Scope)) *Scope {
		s := &Scope{Same: "sha256:a", Folder: "/f", Differs: []string{"note"}, Files: []File{{"a", "/f/a", "sha256:b"}}, Labels: []string{"l"}, Risk: act.Risk{Score: 0.5, Heuristic: 0.4}}
		edit(s)
		return s
	}
	shown := scope(func(*Scope) {})
	for _, tt := range []struct {
		name string
		edit func(*Scope)
		want bool
	}{
		{"the same", func(*Scope) {}, true},
		{"less", func(s *Scope) { s.Differs, s.Labels, s.Risk = nil, nil, act.Risk{} }, true},
		{"a model's other opinion", func(s *Scope) { s.Risk.Score = 0.6 }, true},
		{"a worse one", func(s *Scope) { s.Risk.Score = 0.7 }, false},
		{"a graver hazard", func(s *Scope) { s.Risk.Heuristic = 0.41 }, false},
		{"something else", func(s *Scope) { s.Same = "sha256:b" }, false},
		{"elsewhere", func(s *Scope) { s.Folder = "/g" }, false},
		{"another file", func(s *Scope) { s.Files = []File{{"a", "/f/a", "sha256:c"}} }, false},
		{"a file less", func(s *Scope) { s.Files = nil }, false},
		{"a label more", func(s *Scope) { s.Labels = []string{"l", "m"} }, false},
		{"a text more", func(s *Scope) { s.Differs = []string{"body", "note"} }, false},
		{"what is once only", func(s *Scope) { s.Once = "why" }, false},
		{"nothing", func(s *Scope) { *s = Scope{} }, false},
	} {
		if got := shown.Covers(scope(tt.edit)); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	if empty := new(Scope); empty.Covers(new(Scope)) {
		t.Error("no scope covers")
	}
}

// TestFormsWithQuorum: where several must agree, all of them agree to the same bytes. Whatever
// forms are proposed, and in whatever order people change their minds, the act is approved as
// soon as enough persons stand by one form, and in that one.
// TestProgress: how many have agreed, of the rule that lacks most.
func TestProgress(t *testing.T) {
	d := &Decision{State: Held, Principal: "key:agent", Sealed: []byte("s"), Seen: "x", Created: start, Expires: at(60),
		Needs: []Need{{Rule: "a", Quorum: 1}, {Rule: "b", Quorum: 2}}}
	for i, by := range []string{"", "ada", "bob"} {
		if by != "" {
			if err := d.Answer(act.Principal{Name: "key:" + by, Method: "key"}, Answer{Agree: true, Seen: "x"}, at(1)); err != nil {
				t.Fatal(err)
			}
		}
		if agreed, needed := d.Progress(); agreed != i || needed != 2 {
			t.Errorf("%d of %d, want %d of 2", agreed, needed, i)
		}
	}
}

func TestFormsWithQuorum(t *testing.T) {
	who := []act.Principal{{Name: "key:ada", Person: "ada"}, {Name: "key:ada-phone", Person: "ada"}, {Name: "key:bo"}, {Name: "key:cleo"}, {Name: "key:dan"}}
	forms := [][]Change{
		nil,
		{{Pointer: "/a", Argument: "a", New: "1"}},
		{{Pointer: "/a", Argument: "a", New: "1 "}},                                          // another spelling is another form
		{{Pointer: "/a", Argument: "a", New: "1"}, {Pointer: "/b", Argument: "b", New: "2"}}, // so is one change more
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		quorum := 1 + rng.IntN(3)
		d := Decision{State: Held, Principal: "key:agent", Exact: &Exact{}, Seen: "x", Created: start, Expires: at(60), Needs: []Need{{Rule: "r", Quorum: quorum}}}
		stands := map[string]int{} // by person, the form that they agree to
		for range 12 {
			by, form := who[rng.IntN(len(who))], rng.IntN(len(forms))
			before, agreed := stands[by.Holder()]
			err := d.Answer(by, Answer{Agree: true, Seen: "x", Changes: forms[form]}, at(1))
			if agreed && before == form {
				if err != ErrAnswered {
					t.Fatalf("%s agrees to the same twice: %v", by.Name, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			stands[by.Holder()] = form
			n := 0
			for _, f := range stands {
				if f == form {
					n++
				}
			}
			if (d.State == Approved) != (n >= quorum) {
				t.Fatalf("%s with %d of %d for one form", d.State, n, quorum)
			}
			if d.State == Approved {
				if diff := cmp.Diff(forms[form], d.Changes()); diff != "" {
					t.Fatalf("approved in another form (-want +got):\n%s", diff)
				}
				if len(d.Who()) != n {
					t.Fatalf("%v agreed, want %d", d.Who(), n)
				}
				break
			}
			if d.Changes() != nil {
				t.Fatal("a form is approved that too few agree to")
			}
		}
	}
}
