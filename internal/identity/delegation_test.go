package identity

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/act"

	"github.com/google/go-cmp/cmp"
)

// whom is whom claims name beside what every token has.
func whom(t *testing.T, cfg JWT, more string) (act.Principal, Role, string) {
	t.Helper()
	claims := map[string]any{}
	if err := json.Unmarshal([]byte(`{"iss":"https://login","sub":"alice"`+more+`}`), &claims); err != nil {
		t.Fatal(err)
	}
	by, role, err := cfg.Holder(claims)
	if err != nil {
		if by != (act.Principal{}) || role != "" {
			t.Errorf("%s: refused, and yet %v as %q", more, by, role)
		}
		return by, role, err.Error()
	}
	return by, role, ""
}

func TestDelegation(t *testing.T) {
	alice := act.Principal{Name: "jwt:https://login#alice", Method: "jwt"}
	with := func(p act.Principal, d act.Delegation) act.Principal { p.Delegation = &d; return p }
	bot := act.Principal{Name: "jwt:https://login#mailbot?for=alice", Method: "jwt"}
	bots := act.Delegation{OnBehalfOf: "jwt:https://login#alice", Actors: []string{"jwt:https://login#mailbot"}}
	for _, tt := range []struct {
		claims string
		want   act.Principal
		role   Role
	}{
		{``, alice, Agent},
		{`,"client_id":"app"`, with(alice, act.Delegation{Client: "app"}), Agent},
		{`,"azp":"app","client_id":"app"`, with(alice, act.Delegation{Client: "app"}), Agent},
		{`,"scope":"write  read read"`, with(alice, act.Delegation{Scopes: []string{"read", "write"}}), Agent},
		{`,"scp":["read","write"],"scope":"write read"`, with(alice, act.Delegation{Scopes: []string{"read", "write"}}), Agent},
		{`,"scp":"read"`, with(alice, act.Delegation{Scopes: []string{"read"}}), Agent},
		{`,"scope":""`, alice, Agent},
		{`,"act":{"sub":"mailbot"}`, with(bot, bots), Agent},
		{`,"act":{"sub":"mailbot","iss":"https://login"},"may_act":{"sub":"mailbot"}`, with(bot, bots), Agent},
		{`,"may_act":{"sub":"mailbot"}`, alice, Agent},
		// What is delegated is no role of people, and no person.
		{`,"act":{"sub":"mailbot"},"role":"approver"`, with(bot, bots), Agent},
		{`,"act":{"sub":"mailbot"},"role":"admin"`, with(bot, bots), Agent},
		{`,"act":{"sub":"mailbot"},"email":"alice@example.org"`, with(bot, act.Delegation{OnBehalfOf: bots.OnBehalfOf, Actors: bots.Actors, Person: "alice@example.org"}), Agent},
		{`,"act":{"sub":"mailbot","act":{"sub":"planner","iss":"https://other"}},"azp":"app"`, with(bot, act.Delegation{
			OnBehalfOf: "jwt:https://login#alice", Actors: []string{"jwt:https://login#mailbot", "jwt:https://other#planner"}, Client: "app",
		}), Agent},
		{`,"organization":["acme"]`, act.Principal{Name: alice.Name, Method: "jwt", Organization: "acme"}, Agent},
		{`,"organization":{"acme":{"id":"7"}}`, act.Principal{Name: alice.Name, Method: "jwt", Organization: "acme"}, Agent},
		{`,"organization":[]`, alice, Agent},
	} {
		by, role, why := whom(t, JWT{PersonClaim: "email"}, tt.claims)
		if why != "" || role != tt.role || !cmp.Equal(by, tt.want) {
			t.Errorf("%s: %s %q %s", tt.claims, role, why, cmp.Diff(tt.want, by))
		}
	}
}

// TestDelegationIn: a name says who acts for whom, as the token did.
func TestDelegationIn(t *testing.T) {
	for _, claims := range []string{``, `,"act":{"sub":"mailbot"}`, `,"act":{"sub":"mailbot","iss":"https://other"}`, `,"act":{"sub":"a?b#c"}`, `,"act":{"sub":"jwt:x"}`} {
		by, _, why := whom(t, JWT{}, claims)
		if got, want := DelegationIn(by.Name), by.Delegation; why != "" || !cmp.Equal(got, want) {
			t.Errorf("%s: %q %s %s", claims, by.Name, why, cmp.Diff(want, got))
		}
	}
	like := map[string]any{"iss": "https://login", "sub": "jwt:https://login#bob", "act": map[string]any{"sub": "mailbot"}}
	by, _, err := JWT{}.Holder(like)
	if d := DelegationIn(by.Name); err != nil || d == nil || d.OnBehalfOf != "jwt:https://login#jwt:https://login#bob" {
		t.Errorf("a subject that reads like another's name: %q %+v %v", by.Name, d, err)
	}
	for _, name := range []string{"", "anonymous", "key:a", "key:a?for=b", "jwt:x#y", "jwt:x?for=y", "spiffe://a/b?for=c"} {
		if d := DelegationIn(name); d != nil {
			t.Errorf("%q: %+v", name, d)
		}
	}
}

// TestThreat15Delegation: what a token says of who acts for whom is understood whole, or
// the token is not taken.
func TestThreat15Delegation(t *testing.T) {
	chain := func(n int) string {
		return strings.Repeat(`{"sub":"a","act":`, n-1) + `{"sub":"a"}` + strings.Repeat("}", n-1)
	}
	if _, _, why := whom(t, JWT{}, `,"act":`+chain(maxActors)); why != "" {
		t.Errorf("%d actors: %s", maxActors, why)
	}
	for _, claims := range []string{
		`,"act":null`, `,"act":"mailbot"`, `,"act":{}`, `,"act":[{"sub":"mailbot"}]`, `,"act":{"sub":""}`, `,"act":{"sub":7}`, `,"act":{"client_id":"mailbot"}`,
		`,"act":{"sub":"mail\nbot"}`, `,"act":{"sub":"mailbot","iss":7}`, `,"act":{"sub":"mailbot","iss":null}`, `,"act":{"sub":"mailbot","iss":"a\u202eb"}`,
		`,"act":{"sub":"mailbot","act":null}`, `,"act":{"sub":"mailbot","act":{}}`, `,"act":{"sub":"mailbot","act":"x"}`,
		`,"act":` + chain(maxActors+1), `,"act":` + chain(1000),
		// Another than the one who may.
		`,"act":{"sub":"mailbot"},"may_act":{"sub":"planner"}`, `,"act":{"sub":"mailbot"},"may_act":{}`, `,"act":{"sub":"mailbot"},"may_act":"mailbot"`,
		`,"act":{"sub":"mailbot"},"may_act":{"sub":"mailbot","iss":"https://other"}`, `,"act":{"sub":"mailbot","iss":"https://login"},"may_act":{"iss":"https://login"}`,
		`,"act":{"sub":"mailbot"},"may_act":{"sub":["mailbot"]}`, `,"act":{"sub":"mailbot"},"may_act":[{"sub":"mailbot"}]`,
		`,"act":{"sub":"mailbot"},"may_act":null`,
		// Names that could be another's.
		`,"act":{"sub":"mailbot","iss":""}`, `,"act":{"sub":" mailbot"}`, `,"act":{"sub":"mailbot "}`, `,"act":{"sub":"mail\u200bbot"}`, `,"act":{"sub":"mailbot\u00ad"}`,
		`,"act":{"sub":"mail\u00a0bot"}`, `,"act":{"sub":"mailbot","iss":"https://other\u2060"}`, `,"act":{"sub":"mailbot","act":{"sub":"a\ufe0f"}}`, `,"act":{"sub":"\u3164"}`,
		`,"act":{"sub":"mailbot?for=bob"}`, `,"act":{"sub":"mailbot","iss":"https://x?for=y"}`, `,"act":{"sub":"bot","iss":"https://login#mail"}`,
		`,"client_id":""`, `,"client_id":7`, `,"client_id":"a","azp":"b"`, `,"azp":["a"]`, `,"azp":"a\u0000"`,
		`,"scope":7`, `,"scope":["a b"]`, `,"scope":[""]`, `,"scope":[7]`, `,"scope":"a","scp":["b"]`, `,"scope":"a\u0007"`,
		`,"scope":"` + strings.Repeat("a ", 5) + strings.Repeat("b", 300) + `"`,
		`,"scope":"` + manyScopes(maxScopes+1) + `"`,
		`,"organization":["a","b"]`, `,"organization":{"a":1,"b":2}`, `,"organization":7`, `,"organization":[7]`, `,"organization":["a\n"]`,
	} {
		if by, _, why := whom(t, JWT{}, claims); why == "" {
			t.Errorf("%.200s is taken, as %v", claims, by)
		}
	}
	// A subject that is written as a delegate's name is nobody.
	claims := map[string]any{"iss": "https://login", "sub": "mailbot?for=alice"}
	if by, _, err := (JWT{}).Holder(claims); err == nil {
		t.Errorf("a subject is taken for a delegate: %v", by)
	}
}

func manyScopes(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "s%d ", i)
	}
	return b.String()
}

// TestThreat15DelegationSigned: a delegated token is checked as any other, and its end is the
// credential's.
func TestThreat15DelegationSigned(t *testing.T) {
	secret := []byte(strings.Repeat("s", 32))
	now := start
	auth, err := New(Config{JWT: &JWT{Secret: secret, Audience: "reeve", Now: func() time.Time { return now }}})
	if err != nil {
		t.Fatal(err)
	}
	is := newIssuer(t)
	text := is.token(t, "HS256", `{"alg":"HS256"}`, claims(`,"act":{"sub":"mailbot"},"role":"admin"`), secret)
	c, err := auth.Check(request("Bearer " + text))
	if err != nil || c.Role != Agent || c.Principal.Name != "jwt:https://issuer#mailbot?for=agent-7" || c.Err() != nil {
		t.Fatalf("%v %v", c, err)
	}
	now = now.Add(5 * time.Minute)
	if c.Err() == nil {
		t.Error("the credential outlives its token")
	}
	// Twice the same name: one reader takes the one, one the other.
	for _, claims := range []string{claims(`,"act":{"sub":"mailbot"},"act":{"sub":"other"}`), claims(`,"act":{"sub":"mailbot","sub":"other"}`)} {
		if _, err := auth.Check(request("Bearer " + is.token(t, "HS256", `{"alg":"HS256"}`, claims, secret))); err == nil {
			t.Errorf("%s is taken", claims)
		}
	}
}

// TestThreat15Kinds: what an issuer signs for another purpose is no access token.
func TestThreat15Kinds(t *testing.T) {
	secret := []byte(strings.Repeat("s", 32))
	auth, err := New(Config{JWT: &JWT{Secret: secret, Audience: "reeve", Elsewhere: []string{"acme"}, Now: func() time.Time { return start }}})
	if err != nil {
		t.Fatal(err)
	}
	is := newIssuer(t)
	for typ, taken := range map[string]bool{
		``: true, `,"typ":"JWT"`: true, `,"typ":"jwt"`: true, `,"typ":"at+jwt"`: true, `,"typ":"application/at+JWT"`: true,
		`,"typ":"dpop+jwt"`: false, `,"typ":"logout+jwt"`: false, `,"typ":"secevent+jwt"`: false, `,"typ":"kb+jwt"`: false, `,"typ":7`: false, `,"typ":null`: false, `,"typ":""`: false, `,"typ":"at+jwt "`: false,
	} {
		if _, err := auth.Check(request("Bearer " + is.token(t, "HS256", `{"alg":"HS256"`+typ+`}`, claims(``), secret))); (err == nil) != taken {
			t.Errorf("%s: %v", typ, err)
		}
	}
	// Nor is somebody of an organization that has its own node somebody here.
	for more, taken := range map[string]bool{`,"organization":"birch"`: true, `,"organization":"acme"`: false, `,"organization":["ACME"],"role":"admin"`: false} {
		if _, err := auth.Check(request("Bearer " + is.token(t, "HS256", `{"alg":"HS256"}`, claims(more), secret))); (err == nil) != taken {
			t.Errorf("%s: %v", more, err)
		}
	}
}

func FuzzDelegation(f *testing.F) {
	for _, seed := range []string{`{"act":{"sub":"m"},"may_act":{"sub":"m"}}`, `{"scope":"a b","scp":["a","b"]}`, `{"client_id":"a","azp":"b"}`, `{"organization":{"a":{}}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		claims := map[string]any{}
		if json.Unmarshal([]byte(text), &claims) != nil {
			return
		}
		claims["sub"], claims["iss"] = "alice", "https://login"
		by, role, err := (JWT{}).Holder(claims)
		switch d := by.Delegated(); {
		case err != nil:
			if by != (act.Principal{}) {
				t.Error("refused, and yet somebody")
			}
		case claims["act"] != nil:
			// Whoever acts for another is another than they, and no more than an agent.
			if role != Agent || by.Name == "jwt:https://login#alice" || d.OnBehalfOf != "jwt:https://login#alice" || len(d.Actors) == 0 || len(d.Actors) > maxActors || by.Person != "" {
				t.Errorf("%s gives %v as %s", text, by, role)
			}
		case by.Name != "jwt:https://login#alice" || d.OnBehalfOf != "" || d.Actors != nil:
			t.Errorf("%s gives %v", text, by)
		}
	})
}
