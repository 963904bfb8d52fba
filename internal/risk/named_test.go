package risk

import (
	"strings"
	"testing"

	"reeve.example/reeve/internal/linear"
)

func TestTells(t *testing.T) {
	for names, want := range map[string]Telling{
		"password Password PASSWORD db_password dbPassword DB-PASSWORD DB_PASSWORD_PROD password2 passwd pwd user.pwd pass mysql_pass --password smtpPass new_password " +
			"password_confirmation PGPASS Passwort contraseña пароль 密码 app.datasource.password pass_word passphrase rootPw passwords MYSQL_ROOT_PASSWORD": APassword,
		"secret client_secret clientSecret apiKey api_key API-KEY X-API-Key x-goog-api-key APIKEY private_key privateKeyPem? authorization Authorization Proxy-Authorization " +
			"Cookie Set-Cookie credentials api_keys secretKey AWS_SECRET_ACCESS_KEY JWT_SECRET SecretString API_KEY_PROD secrets connectionString jwt auth": AKey,
		"token access_token accessToken refresh_token ID_TOKEN GITHUB_TOKEN x-auth-token botToken access_tokens csrf? tokens?": AToken,
		"cvv CVC cvv2": ACardsCode,
		"max_tokens token_count tokens tokenizer password_policy passwordPolicy public_key publicKey key primary_key sort_key bypass compass passenger keyboard " +
			"secretary next_page_token nextPageToken progressToken csrf_token input_tokens total_tokens tokenType keyword monkey author authority authored accessory cookieConsent " +
			"DB_PASSWORD_FILE password_length has_password_field? name value id path passport": Nothing,
	} {
		for name := range strings.FieldsSeq(names) {
			if strings.HasSuffix(name, "?") {
				continue
			}
			if got := Tells(name); got != want {
				t.Errorf("%s tells %v, want %v", name, got, want)
			}
		}
	}
}

func TestNamed(t *testing.T) {
	for value, want := range map[string]bool{
		"hunter2": true, "swordfish": true, "$ecret": true, "correct horse battery": true, "${x": true, "Bearer abcdef": true, "$ecret1": true, "<a>b": true,
		"": false, "  ": false, "true": false, "null": false, "${DB_PASSWORD}": false, "$DB_PASSWORD": false, "{{ .Values.password }}": false, "%PASSWORD%": false,
		"<your-key>": false, "env:NAME": false, "file:/run/secrets/x": false, "****": false, "xxxxxxxx": false, "[password removed]": false, "your-api-key-here": false,
		"Bearer ${TOKEN}": false, "string": false, "vault:secret/data/x": false, "op://vault/item/field": false,
	} {
		if _, got := Named(APassword, value); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}

func TestNumber(t *testing.T) {
	for _, tt := range []struct {
		name, number string
		want         bool
	}{
		{"card_number", "4242424242424242", true}, {"x", "4242424242424242", true}, {"x", "4.242424242424242e15", true}, {"x", "4242424242424242.0", true},
		{"x", "42424242424242.42E2", true}, {"n", "-4242424242424242", true}, {"cardNumber", "4222222222222", true},
		{"x", "4242424242424243", false}, {"x", "1699999999999", false}, {"x", "100", false}, {"x", "1e400", false}, {"x", "0.4242424242424242", false},
		{"ssn", "219099999", true}, {"x", "219099999", false},
	} {
		if _, got := Number(tt.name, tt.number, Card|SSN); got != tt.want {
			t.Errorf("%s: %s: %v", tt.name, tt.number, got)
		}
	}
}

// In each text, what stands between ‹ and › is found, and nothing else.
func TestAssigned(t *testing.T) {
	for _, marked := range []string{
		"DB_PASSWORD=‹swordfish›", "export API_KEY='‹a b c d›' && x", "PORT=80 DB_PASSWORD=‹" + "x1› y", "https://h/p?token=‹abcd›&x=1", "--password ‹swordfish› -v", "--client-secret=‹abcd›",
		"curl -H 'X-API-Key: ‹swordfish›' u", `curl -d '{"user":"a","password":"‹sword\"fish›"}'`, `{\"password\": \"‹swordfish›\"}`, "password: ‹swordfish›\nport: 80",
		"db:\n  password: ‹swordfish› # it\n  host: h", "[db]\npassword = ‹" + "hunter2›", "Authorization: ‹Bearer abcdefg›\nAccept: */*", `"api_key" : ‹12345678›,`, "the password: ‹" + "hunter2›.",
		"- name: x\n  client_secret: \"‹abcdef›\"", "passwd=‹(a)b›)", "(passwd=‹a(b)›)", "Cookie: ‹sid=1›", `{'token': '‹abcd›'}`, "password=‹\"›",
		"max_tokens: 100", "token_count=100000000", "password_policy: strict1", "password=${PASSWORD}", "password=$PASSWORD", "api_key: <your-key>", "token: env:TOKEN", "the password: see below",
		"password:\n  min: 8", "secret: true", "if password == None", "def f(token: str)", "public_key=abc1", "https://token:80", "Enter password: ", "--password -v", "tokens: 5000000000",
	} {
		if marked == "password=‹\"›" { // an open quote holds nothing
			continue
		}
		text := strings.NewReplacer("‹", "", "›", "").Replace(marked)
		found := Assigned(text, nil)
		got := ""
		at := 0
		for _, f := range found {
			got += text[at:f.Start] + "‹" + text[f.Start:f.End] + "›"
			at = f.End
		}
		if got += text[at:]; got != marked {
			t.Errorf("got  %s\nwant %s", got, marked)
		}
		if again := Assigned(Mask(text, found), nil); len(again) > 0 {
			t.Errorf("%s: found again: %v", Mask(text, found), again)
		}
	}
}

// FuzzAssigned: what is found lies within the text, in order, and is gone once masked.
func FuzzAssigned(f *testing.F) {
	for _, s := range []string{"password=x", "a: 'token: \\\"b", "--secret x --token y", "password: пароль: x", "pass\\u0077ord=a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		found := Assigned(text, nil)
		at := 0
		for _, f := range found {
			if f.Start < at || f.End <= f.Start || f.End > len(text) {
				t.Fatalf("%q: %+v", text, found)
			}
			at = f.End
		}
	})
}

// Hostile text costs time in proportion to its length here, too.
func TestAssignedLinear(t *testing.T) {
	for _, unit := range []string{"password=", "password=\"", "token='a", "password: ", "'token: ", "token=<", "\\\"token\\\": \\\"", "--token ", "password=(", "\"token\\\\\":", "a:", " ", "\n\"token: a b "} {
		linear.Check(t, unit, 25_000, func(n int) func() {
			text := strings.Repeat(unit, n/len(unit))
			return func() { Assigned(text, nil) }
		})
	}
}

func BenchmarkMayTell(b *testing.B) {
	text := strings.Repeat(`{"jsonrpc":"2.0","id":7,"method":"steps/run","params":{"inputs":[{"name":"path","value":"notes/april.txt"}]}}`, 10)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		MayTell(text)
	}
}
