package risk

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	crand "crypto/rand"
)

// TestSampleWeights: what pages and fixtures show as examples weighs little, and what only
// looks like them weighs as much as any other.
func TestSampleWeights(t *testing.T) {
	const head = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ."
	token := func(claims string) string {
		return "ey" + "JhbGciOiJIUzI1NiJ9." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + "." + strings.Repeat("Zq7", 14) + "w"
	}
	for _, tt := range []struct {
		text  string
		light bool
	}{
		{head + "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c", true},
		{head + "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5d", false},
		{"Authorization: Bearer " + head + "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c", true},
		{"Authorization: Bearer " + head + "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5d", false},
		{"postgres://app:app@db:5432/app", true},
		{"postgres://postgres:postgres@localhost/x", true},
		{"amqp://guest:guest@localhost", true},
		{"postgres://App:app@db:5432/app", true},
		{"postgres://app:ap" + "p2@db:5432/app", false},
		{"postgres://app:ro" + "otroot9Zq@db:5432/app", false},
		{"tcp://john:doe@1.2.3.4:5/path", true},
		{"tcp://john:do" + "e7@1.2.3.4:5/path", false},
		{"Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("deployuser:deployuser-secret")), true},
		{"Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("deployuser:deployuser-7Kq2")), false},
		{token(`{"foo":"bar"}`), true},
		{token(`{"iss":"issuer","sub":"subject"}`), true},
		{token(`{"sub":"test","iat":1516239022}`), true},
		{token(`{"sub":"ada"}`), false},
		{token(`{"foo":"bar","scope":"payments:write"}`), false},
		{token(`{"foo":"bar","jti":81}`), false},
		{token(`{"iat":1516239022}`), false},
		{"sk_test_4eC39HqLyjWDarjtT1zdp7dc", true},
		{"sk" + "_live_4eC39HqLyjWDarjtT1zdp7dc", false},
		{`AKIAIOSFODNN7EXAMPLE wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY`, true},
		{`AK` + `IAIOSFODNN7QZWTPLM wJalrXUtnFEMI/K7MDENG/bPxRfiCYexq7LpKEY`, false},
	} {
		found := Scan(tt.text, Secret, nil)
		if len(found) == 0 {
			t.Errorf("%s: nothing found", tt.text)
		}
		for _, f := range found {
			if light := f.Score < 0.5; light != tt.light {
				t.Errorf("%s: %s weighs %v", tt.text, f.Code, f.Score)
			}
		}
	}
}

// TestNoSecretNames: names that end like a secret's.
func TestNoSecretNames(t *testing.T) {
	for _, text := range []string{`publicKeyToken="6595b64144ccf1df"`, `[ "$PWD" = "/q7Zk2mWx81" ]`, `[ "${PWD}" = "a7Zk2mWx81Q" ]`} {
		if found := Scan(text, Secret, nil); len(found) > 0 {
			t.Errorf("%s: %v", text, found)
		}
	}
	if found := Scan(`PWD = "`+"a7Zk2mWx81Q\"", Secret, nil); len(found) == 0 {
		t.Error("a password by its short name is not found")
	}
}

// TestPublishedNumbers: the table holds numbers that would be found, which only a right
// check digit makes of them.
func TestPublishedNumbers(t *testing.T) {
	n := 0
	for v := range published {
		d := Card
		switch {
		case len(v) >= 15 && isAlpha(v[0]) && isAlpha(v[1]) && isDigit(v[2]) && isDigit(v[3]) && int(ibanLengths[v[0]-'a'][v[1]-'a']) == len(v):
			d, v = IBAN, strings.ToUpper(v)
		case len(v) < 13 || len(v) > 16 || digitsIn(v) != len(v):
			continue
		}
		n++
		found := Scan("card "+v+" ", d, nil)
		if len(found) == 0 && 2*digitsIn(v) < len(v) { // an account of letters is not told from a word
			continue
		}
		if len(found) != 1 || found[0].Score != sampleWeight {
			t.Errorf("%s: %v", v, found)
		}
	}
	if n < 120 {
		t.Errorf("only %d numbers", n)
	}
}

// drawn is a value of an alphabet, as a machine draws it.
func drawn(r *rand.Rand, of alphabet, n int) string {
	var letters []byte
	for c := range byte(128) {
		if of.has(c) && isAlnum(c) {
			letters = append(letters, c)
		}
	}
	if of == hexDigits {
		letters = []byte("0123456789abcdef")
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
	}
	return string(b)
}

// TestSecretsAreNoSamples: what is drawn by a machine weighs as a secret, whatever words
// stand before and behind it, and where its form allows it, joined to it.
func TestSecretsAreNoSamples(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	heavy := func(text string) bool {
		for _, f := range Scan(text, Secret, nil) {
			if f.Score >= 0.5 {
				return true
			}
		}
		return false
	}
	around := []string{"%s", "example: %s", "# an example, not a real key\nKEY=%s", "%s # EXAMPLE", "test %s test", "const fakeKey = \"%s\"", "https://example.com/?k=1 %s", "EXAMPLE %s EXAMPLE", "placeholder=%s", "dummy %s changeme", "// testdata\n%s"}
	light, all := 0, 0
	for _, f := range tokenForms {
		if strings.HasSuffix(f.prefix, "_test_") { // of a payment service's test mode
			continue
		}
		for range 40 {
			key := f.prefix + drawn(r, f.of, f.least)
			for _, form := range around {
				all++
				if text := fmt.Sprintf(form, key); !heavy(text) {
					light++
					if light < 5 {
						t.Logf("light: %s", text)
					}
				}
			}
			if f.of == wordDashes && f.most > f.least+20 {
				for _, joined := range []string{key + "-EXAMPLE", key + "_placeholder", key + "-changeme-changeme", f.prefix + "EXAMPLE-" + key[len(f.prefix):], f.prefix + "example" + key[len(f.prefix):]} {
					all++
					if !heavy(joined) {
						light++
						t.Logf("light: %s", joined)
					}
				}
			}
		}
	}
	// A machine writes a row or a word once in a very long time.
	if light*2000 > all {
		t.Errorf("%d of %d drawn secrets weigh as examples", light, all)
	}
	for range 2000 {
		password := drawn(r, alnums, 12)
		for _, form := range []string{"password: %s # example", "DB_PASSWORD=%s", "postgres://app:%s@db.internal/x", "{\"password\": \"%s\", \"example\": true}", "password = \"%s-example\"", "password = \"example%s\"", "password = \"changeme-%s\""} {
			if text := fmt.Sprintf(form, password); digitsIn(password) > 0 && !heavy(text) {
				t.Errorf("light: %s", text)
			}
		}
		if text := "https://app:" + drawn(r, alnums, 24) + "@example.com/"; !heavy(text) {
			t.Errorf("light: %s", text)
		}
		if text := "api_key = \"example-" + drawn(r, hexDigits, 32) + "\""; !heavy(text) {
			t.Errorf("light: %s", text)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, marshal := range []func() ([]byte, error){
		func() ([]byte, error) { return x509.MarshalPKCS8PrivateKey(key) },
		func() ([]byte, error) { return x509.MarshalECPrivateKey(key) },
	} {
		der, err := marshal()
		if err != nil {
			t.Fatal(err)
		}
		armour := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
		for _, text := range []string{armour, "example, test key:\n" + armour, strings.ReplaceAll(armour, "\n", "\\n"), "  " + strings.ReplaceAll(armour, "\n", "\n  "), strings.Replace(armour, "-----\n", "-----\nComment: example\n", 1)} {
			if !heavy(text) {
				t.Errorf("light: %s", text)
			}
		}
	}
	claims := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	for body, want := range map[string]bool{
		`{"sub":"ann","exp":4102444800}`: true, `{"sub":"ann"}`: true, `{"sub":"ann","exp":0}`: true, `{"sub":"ann","exp":"1500000000"}`: true,
		`{"sub":"ann","exp":1500000000}`: false,
	} {
		token := claims(`{"alg":"HS256"}`) + "." + claims(body) + "." + drawn(r, alnums, 43)
		if heavy(token) != want {
			t.Errorf("%s: %v", body, !want)
		}
	}
}

// TestStandIns: what people write where a secret would stand.
func TestStandIns(t *testing.T) {
	for _, text := range []string{
		"AKIAIOSFODNN7EXAMPLE", "AKIAI44QH8DHBEXAMPLE", "xoxb-not-a-real-token-this-will-not-work", "ghp_PersonalAccessToken01245678900000000", "ghp_0123456789abcdefghijABCDEFGHIJ012345",
		"ghp_1234567890abcdef1234567890abcdef12345678", "glpat-ACCTEST1234567890123", "hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
		"secret: \"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\"", "access_key: A1B2C3D4E5F6G7H8I9J0", "secret = '7f3a2b8c9d1e4f5a6b7c8d9e0f1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c'",
		"password: hunter2", "password = 'hunter2hunter2'", "token = 'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c'", "password: 'S3cret!'", "PASSWORD=Passw0rd123", "password: changeme123", "postgres://user:p%40ssword@db/x", "https://me:swordfish12@example.com/", "http://x:y9z8@localhost:3000",
		"Authorization: Basic YWxhZGRpbjpvcGVuc2VzYW1l", "AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
		"access_token=2YotnFZFEjr1zCsicMWpAA", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ==\n-----END OPENSSH PRIVATE KEY-----",
	} {
		for _, f := range Scan(text, Secret, nil) {
			if f.Score >= 0.5 {
				t.Errorf("%s: %s weighs %v", text, f.Code, f.Score)
			}
		}
	}
}
