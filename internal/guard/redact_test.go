package guard_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/risk"
)

const redacted = risk.Secret | risk.Card | risk.SSN | risk.IBAN

// keptOf decides about an act with this body and returns what is kept of it.
func (n *node) keptOf(t testing.TB, id, body string) string {
	t.Helper()
	a := call("s"+id, id, "post", "x")
	a.Arguments, a.Content, a.Body = nil, nil, []byte(body)
	d, _ := n.decide(t, a)
	o, err := ledger.ReadOpening(t.Context(), n.store, d.Position)
	if err != nil {
		t.Fatal(err)
	}
	return string(o.Request)
}

func keeper(t testing.TB) *node {
	return open(t, t.TempDir(), func(c *guard.Config) {
		c.Policy, c.Redact = load(t, "version: 1\nname: all\ndefault: allow\nrules:\n  - {name: r, tools: [nothing], effect: deny}\n"), redacted
	})
}

// TestKeptNamed: what stands under telling names is not kept, and what only looks
// like it is.
func TestKeptNamed(t *testing.T) {
	n := keeper(t)
	for i, tt := range []struct{ body, want string }{
		{`{"password":"swordfish"}`, `{"password":"[password removed]"}`},
		{`{"db_password" : "swordfish"}`, `{"db_password" : "[password removed]"}`},
		{`{"conn":{"passwd":"swordfish","port":5432}}`, `{"conn":{"passwd":"[password removed]","port":5432}}`},
		{`{"api_key":"abcdef"}`, `{"api_key":"[secret removed]"}`},
		{`{"apiKey":"abcdef","token":"abcdef"}`, `{"apiKey":"[secret removed]","token":"[token removed]"}`},
		{`{"headers":{"X-API-Key":"abcdef","Accept":"*/*"}}`, `{"headers":{"X-API-Key":"[secret removed]","Accept":"*/*"}}`},
		{`{"env":{"DB_PASSWORD":"swordfish","HOME":"/root"}}`, `{"env":{"DB_PASSWORD":"[password removed]","HOME":"/root"}}`},
		{`{"env":["DB_PASSWORD=swordfish","HOME=/root"]}`, `{"env":["DB_PASSWORD=[password removed]","HOME=/root"]}`},
		{`{"inputs":[{"name":"password","value":"swordfish"},{"name":"user","value":"ann"}]}`, `{"inputs":[{"name":"password","value":"[password removed]"},{"name":"user","value":"ann"}]}`},
		{`[{"value":"swordfish","key":"API_KEY"}]`, `[{"value":"[secret removed]","key":"API_KEY"}]`},
		{`{"argv":["mysql","--password","swordfish","db"]}`, `{"argv":["mysql","--password","[password removed]","db"]}`},
		{`{"h":[["X-Api-Key","abcdef"],["Accept","text"]]}`, `{"h":[["X-Api-Key","[secret removed]"],["Accept","text"]]}`},
		{`{"p\u0061ssword":"swordfish"}`, `{"p\u0061ssword":"[password removed]"}`},
		{`{"body":"{\"password\": \"sword\\\"fish\", \"n\": 1}"}`, `{"body":"{\"password\": \"[password removed]\", \"n\": 1}"}`},
		{`{"body":"user=ann&token=abcdef&x=1"}`, `{"body":"user=ann&token=[token removed]&x=1"}`},
		{`{"f":"db:\n  password: swordfish\n  port: 1\n"}`, `{"f":"db:\n  password: [password removed]\n  port: 1\n"}`},
		{`{"card_number":4242424242424242}`, `{"card_number":"****"}`},
		{`{"n":4.242424242424242e15}`, `{"n":"****"}`},
		{`{"n":"42424242\u00342424242"}`, `{"n":"****"}`},
		{`{"passwords":["swordfish","hunter2"]}`, `{"passwords":["[password removed]","[password removed]"]}`},
		{`{"password":12345678,"token":100}`, `{"password":"[password removed]","token":100}`},
		{`{"credentials":{"user":"ann","hash":"a1b2c3d4"}}`, `{"credentials":{"user":"ann","hash":"[secret removed]"}}`},
		{`{"pw":"swordfish"}`, `{"pw":"[password removed]"}`},
		{`{"пароль":"swordfish","contraseña":"swordfish","lösenord":"swordfish","şifre":"swordfish"}`, `{"пароль":"[password removed]","contraseña":"[password removed]","lösenord":"[password removed]","şifre":"[password removed]"}`},
		{`{"element":"Password textbox","ref":"e3","text":"swordfish"}`, `{"element":"Password textbox","ref":"e3","text":"[password removed]"}`},
		{`{"selector":"input[type=password]","value":"swordfish"}`, `{"selector":"input[type=password]","value":"[password removed]"}`},
		{`{"command":"mysql -uroot -pswordfish shop < x.sql"}`, `{"command":"mysql -uroot -p[password removed] shop < x.sql"}`},
		{`{"command":"curl -su x -u ann:swordfish https://h"}`, `{"command":"curl -su x -u ann:[password removed] https://h"}`},
		{`{"f":"env:\n- name: DB_PASSWORD\n  value: swordfish\n"}`, `{"f":"env:\n- name: DB_PASSWORD\n  value: [password removed]\n"}`},
		{`{"f":"password: |\n  swordfish\nport: 1\n"}`, `{"f":"password: |\n  [password removed]\nport: 1\n"}`},
		{`{"ssn":"219099999"}`, `{"ssn":"[social security number removed]"}`},

		{`{"max_tokens":100,"token_count":123456789012,"secret":true,"password":null,"api_key":""}`, ""},
		{`{"password":"${DB_PASSWORD}","token":"env:TOKEN","api_key":"<your-key>"}`, ""},
		{`{"command":"curl -u $U:$P https://h:80/x; docker run -p 8080:80 i; mysql -p shop; ssh -p 2222 h"}`, ""},
		{`{"element":"Password help link","text":"Forgot it","target":"/tmp/x","title":"The pass"}`, ""},
		{`{"password_policy":"strict1","public_key":"abc123","next_page_token":"abc123","tokens":["a1b2c3","d4"]}`, ""},
		{`{"properties":{"password":{"type":"string","description":"The password of the user."}},"required":["password","token"]}`, ""},
		{`{"ids":[1699999999999,1234567890123456],"x":1.5e3,"name":"secretary","note":"forgot the password: see below"}`, ""},
	} {
		want := tt.want
		if want == "" {
			want = tt.body
		}
		if got := n.keptOf(t, fmt.Sprint(i), tt.body); got != want {
			t.Errorf("of  %s\nkept %s\nwant %s", tt.body, got, want)
		}
	}
}

// planted is a secret somewhere in a generated request, with spellings of it that
// must not be kept.
type planted struct {
	r      *rand.Rand
	secret string
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// quote writes a string, some of its characters as escapes.
func (p *planted) quote(s string) string {
	if p.r.IntN(3) > 0 {
		return string(rawjson.Quote(s))
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case p.r.IntN(2) == 0 || c < ' ':
			fmt.Fprintf(&b, `\u%04x`, c)
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// name is a telling name in some style.
func (p *planted) name() string {
	words := pick(p.r, []string{"password"}, []string{"db", "password"}, []string{"api", "key"}, []string{"client", "secret"}, []string{"access", "token"}, []string{"passwd"},
		[]string{"x", "api", "key"}, []string{"private", "key"}, []string{"secret"}, []string{"authorization"}, []string{"my", "service", "pass", "word"})
	switch p.r.IntN(5) {
	case 0:
		return strings.Join(words, "_")
	case 1:
		return strings.Join(words, "-")
	case 2:
		return strings.ToUpper(strings.Join(words, "_"))
	case 3:
		for i := 1; i < len(words); i++ {
			words[i] = strings.ToUpper(words[i][:1]) + words[i][1:]
		}
		return strings.Join(words, "")
	}
	return strings.Join(words, ".")
}

// leaf is JSON that holds the secret.
func (p *planted) leaf() string {
	name, s := p.name(), p.secret
	if p.r.IntN(4) == 0 { // a card, by its digits alone
		p.secret = "4242424242424242"
		return pick(p.r, "4242424242424242", "4.242424242424242e15", "4242424242424242.0", p.quote("4242424242424242"), p.quote("4242 4242 4242 4242"),
			p.quote("paid with 4242-4242-4242-4242 today"), p.quote(`{"n":4242424242424242}`))
	}
	inner := fmt.Sprintf(`{%s: %s}`, p.quote(name), p.quote(s))
	return pick(p.r,
		inner, inner,
		fmt.Sprintf(`[{"name":%s,"value":%s}]`, p.quote(name), p.quote(s)),
		fmt.Sprintf(`{"value":%s,"key":%s}`, p.quote(s), p.quote(name)),
		fmt.Sprintf(`["run","--%s",%s]`, name, p.quote(s)),
		fmt.Sprintf(`[[%s,%s]]`, p.quote(name), p.quote(s)),
		p.quote(inner),
		fmt.Sprintf(`[%s]`, p.quote(name+"="+s)),
		p.quote("https://h.example/p?x=1&"+name+"="+s+"&y=2"),
		p.quote("a: 1\n"+name+": "+s+"\nb: 2\n"),
		p.quote("[section]\n"+name+" = "+s+"\n"),
		p.quote("curl -H '"+name+": "+s+"' https://h.example"),
		p.quote("curl -d '{\""+name+"\":\""+s+"\"}' https://h.example"),
		p.quote("run --"+name+" "+s+" now"),
		p.quote("export "+name+"='"+s+"'; run"),
		p.quote(string(rawjson.Quote(inner))),
	)
}

// tree puts a leaf at some depth.
func (p *planted) tree(depth int) string {
	if depth == 0 {
		return p.leaf()
	}
	below := p.tree(depth - 1)
	return pick(p.r, `{"a":1,"b":`+below+`,"c":[true,null]}`, `["x",`+below+`]`, `{"params":{"inputs":[`+below+`]}}`, `[[`+below+`],2]`)
}

// TestKeptNothing: whatever the form in which a request holds a secret under a
// telling name, or a card, nothing of it is kept.
func TestKeptNothing(t *testing.T) {
	n := keeper(t)
	rounds, lost := 1500, 0
	if testing.Short() {
		rounds = 300
	}
	for i := range rounds {
		p := &planted{r: rand.New(rand.NewPCG(uint64(i), 7))}
		p.secret = pick(p.r, "sword", "Zk", "q") + fmt.Sprintf("%x", p.r.Uint32()) + pick(p.r, "", "!", "ñ", "-_", "+/=")
		body := p.tree(p.r.IntN(4))
		got := n.keptOf(t, fmt.Sprint(i), body)
		if got == "" {
			lost++
			continue
		}
		doc, err := rawjson.Parse([]byte(got))
		if err != nil {
			t.Fatalf("%d: of %s\nkept %s: %v", i, body, got, err)
		}
		all := got
		for v := range doc.Root().Strings() {
			all += "\n" + v.Text()
		}
		for _, s := range []string{p.secret, base64.StdEncoding.EncodeToString([]byte(p.secret)), "4242 4242", "4242-4242", "242424242424242"} {
			if strings.Contains(all, s) {
				t.Fatalf("%d: of %s\nkept %s", i, body, got)
			}
		}
	}
	if lost > rounds/50 {
		t.Errorf("of %d requests %d were not kept at all", rounds, lost)
	}
}

// FuzzKept: what is kept is JSON, and masking it again changes nothing.
func FuzzKept(f *testing.F) {
	for _, s := range []string{`{"password":"x"}`, `{"a":"{\"token\":\"[\\\"y\\\"]\"}"}`, `[["api_key",{"v":4242424242424242}]]`, `{"key":"secret","value":{"value":["a"]}}`} {
		f.Add(s)
	}
	n := keeper(f)
	i := 0
	f.Fuzz(func(t *testing.T, body string) {
		if _, err := rawjson.Parse([]byte(body)); err != nil {
			t.Skip()
		}
		i++
		got := n.keptOf(t, fmt.Sprint("a", i), body)
		if got == "" {
			return
		}
		if again := n.keptOf(t, fmt.Sprint("b", i), got); again != got {
			t.Errorf("of %s\nkept %s\nthen %s", body, got, again)
		}
	})
}

// TestKeptChanged: what the policy puts under a telling name is not kept either.
func TestKeptChanged(t *testing.T) {
	n := open(t, t.TempDir(), func(c *guard.Config) {
		c.Redact = redacted
		c.Policy = load(t, "version: 1\nname: e\ndefault: allow\nrules:\n  - {name: r, tools: [post], effect: modify, modify: {replace: {argument: password, with: swordfish}}}\n")
	})
	a := call("s", "1", "post", "x")
	a.Arguments = []act.Argument{{Name: "password", Value: []byte(`"old"`), Pointer: "/password"}}
	a.Content, a.Body = []act.Leaf{{Pointer: "/password", Text: "old", Arg: "password"}}, []byte(`{"password":"old"}`)
	d, modified := n.decide(t, a)
	if d.Effect != act.Modify || modified != `{"password":"swordfish"}` {
		t.Fatalf("%v %s %+v", d.Effect, modified, d.Reasons)
	}
	o, err := ledger.ReadOpening(t.Context(), n.store, d.Position)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range [][]byte{o.Request, o.Modified, o.Reasons} {
		if strings.Contains(string(part), "swordfish") || strings.Contains(string(part), `"old"`) {
			t.Errorf("kept: %s", part)
		}
	}
	if string(o.Modified) != `{"password":"[password removed]"}` {
		t.Errorf("the changed form: %s", o.Modified)
	}
}
