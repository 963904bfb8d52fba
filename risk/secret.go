package risk

import (
	"math"
	"strings"
)

// The alphabets that tokens are written in.
type alphabet func(c byte) bool

func upperDigit(c byte) bool { return isUpper(c) || isDigit(c) }
func alnum(c byte) bool      { return classes[c]&wordClass != 0 }
func wordDash(c byte) bool   { return isWord(c) || c == '-' }
func dotted(c byte) bool     { return isWord(c) || c == '-' || c == '.' }
func hexDigit(c byte) bool   { return isDigit(c) || c|0x20-'a' <= 5 }
func base64Byte(c byte) bool { return alnum(c) || c == '+' || c == '/' || c == '=' }

// tokenForm is how one provider's tokens look: a prefix, and at least least and at
// most most further characters of an alphabet.
type tokenForm struct {
	prefix      string
	of          alphabet
	least, most int
	code, name  string
}

// tokenForms by the first four letters of their prefix, in lower case.
var tokenForms = byHead([]tokenForm{
	{"AKIA", upperDigit, 16, 16, "secret.aws_access_key", "AWS access key"},
	{"ASIA", upperDigit, 16, 16, "secret.aws_access_key", "AWS access key"},
	{"ghp_", alnum, 36, 255, "secret.github_token", "GitHub token"},
	{"gho_", alnum, 36, 255, "secret.github_token", "GitHub token"},
	{"ghu_", alnum, 36, 255, "secret.github_token", "GitHub token"},
	{"ghs_", alnum, 36, 255, "secret.github_token", "GitHub token"},
	{"ghr_", alnum, 36, 255, "secret.github_token", "GitHub token"},
	{"github_pat_", isWord, 40, 255, "secret.github_token", "GitHub token"},
	{"glpat-", wordDash, 20, 128, "secret.gitlab_token", "GitLab token"},
	{"gldt-", wordDash, 20, 128, "secret.gitlab_token", "GitLab token"},
	{"glrt-", wordDash, 20, 128, "secret.gitlab_token", "GitLab token"},
	{"xoxb-", wordDash, 20, 255, "secret.slack_token", "Slack token"},
	{"xoxp-", wordDash, 20, 255, "secret.slack_token", "Slack token"},
	{"xoxa-", wordDash, 20, 255, "secret.slack_token", "Slack token"},
	{"xoxr-", wordDash, 20, 255, "secret.slack_token", "Slack token"},
	{"xoxs-", wordDash, 20, 255, "secret.slack_token", "Slack token"},
	{"xapp-", wordDash, 20, 255, "secret.slack_token", "Slack token"},
	{"hooks.slack.com/services/", slashed, 30, 128, "secret.slack_webhook", "Slack webhook"},
	{"AIza", wordDash, 35, 35, "secret.google_api_key", "Google API key"},
	{"ya29.", wordDash, 30, 512, "secret.google_oauth", "Google OAuth token"},
	{"GOCSPX-", wordDash, 20, 64, "secret.google_client_secret", "Google client secret"},
	{"sk-ant-", wordDash, 20, 255, "secret.anthropic_key", "Anthropic key"},
	{"sk-proj-", wordDash, 20, 255, "secret.openai_key", "OpenAI key"},
	{"sk-svcacct-", wordDash, 20, 255, "secret.openai_key", "OpenAI key"},
	{"sk_live_", alnum, 16, 255, "secret.stripe_key", "Stripe key"},
	{"sk_test_", alnum, 16, 255, "secret.stripe_key", "Stripe key"},
	{"rk_live_", alnum, 16, 255, "secret.stripe_key", "Stripe key"},
	{"rk_test_", alnum, 16, 255, "secret.stripe_key", "Stripe key"},
	{"whsec_", base64Byte, 24, 128, "secret.stripe_webhook", "Stripe webhook secret"},
	{"npm_", alnum, 36, 36, "secret.npm_token", "npm token"},
	{"pypi-", wordDash, 50, 512, "secret.pypi_token", "PyPI token"},
	{"dop_v1_", hexDigit, 64, 64, "secret.digitalocean_token", "DigitalOcean token"},
	{"shpat_", hexDigit, 32, 32, "secret.shopify_token", "Shopify token"},
	{"shpss_", hexDigit, 32, 32, "secret.shopify_token", "Shopify token"},
	{"glsa_", isWord, 32, 64, "secret.grafana_token", "Grafana token"},
	{"hvs.", wordDash, 24, 255, "secret.vault_token", "Vault token"},
	{"dapi", hexDigit, 32, 34, "secret.databricks_token", "Databricks token"},
	{"AGE-SECRET-KEY-", upperDigit, 58, 59, "secret.private_key", "age private key"},
	{"atlasv1.", wordDash, 50, 255, "secret.terraform_token", "Terraform token"},
})

func slashed(c byte) bool { return alnum(c) || c == '/' }

func byHead(forms []tokenForm) map[uint32][]tokenForm {
	m := map[uint32][]tokenForm{}
	for _, f := range forms {
		head := (uint32(f.prefix[0])<<24 | uint32(f.prefix[1])<<16 | uint32(f.prefix[2])<<8 | uint32(f.prefix[3])) | 0x20202020
		m[head] = append(m[head], f)
	}
	return m
}

// heads is a filter before the map: a bit for each hash of a head in use.
var heads = func() (bits [32]uint64) {
	for h := range tokenForms {
		bits[hashHead(h)>>6] |= 1 << (hashHead(h) & 63)
	}
	return
}()

func hashHead(h uint32) uint32 { return h * 2654435761 >> 21 }

// token looks for a provider's token at a word.
func (s *scanner) token(i int, head uint32) {
	h := hashHead(head)
	if heads[h>>6]&(1<<(h&63)) != 0 {
		for _, f := range tokenForms[head] {
			if s.tokenOf(&f, i) {
				return
			}
		}
	}
	switch {
	case head>>8 == 'e'<<16|'y'<<8|'j':
		s.jwt(i)
	case head>>8 == 's'<<16|'k'<<8|'-':
		s.tokenOf(&tokenForm{"sk-", alnum, 32, 64, "secret.openai_key", "OpenAI key"}, i)
	case head>>8 == 'h'<<16|'f'<<8|'_'|0x20:
		s.tokenOf(&tokenForm{"hf_", alnum, 30, 64, "secret.huggingface_token", "Hugging Face token"}, i)
	case head>>8 == 's'<<16|'g'<<8|'.'|0x20:
		s.sendgrid(i)
	case head>>16 == 's'<<8|'k' && i+34 <= len(s.text) && s.text[i] == 'S':
		s.tokenOf(&tokenForm{"SK", hexDigit, 32, 32, "secret.twilio_key", "Twilio key"}, i)
	case head == 'b'<<24|'e'<<16|'a'<<8|'r':
		s.bearer(i)
	}
}

func (s *scanner) tokenOf(f *tokenForm, i int) bool {
	if !strings.HasPrefix(s.text[i:], f.prefix) {
		return false
	}
	end := s.run(i+len(f.prefix), f.most, f.of)
	if n := end - i - len(f.prefix); n < f.least || end < len(s.text) && f.of(s.text[end]) {
		return false
	}
	s.add(Secret, f.code, f.name, i, end, 0.9)
	return true
}

// run returns the end of the characters of an alphabet from i, at most most.
func (s *scanner) run(i, most int, of alphabet) int {
	end := i
	for end < len(s.text) && end-i < most && of(s.text[end]) {
		end++
	}
	return end
}

// maxToken bounds tokens that have no length of their own.
const maxToken = 8 << 10

// jwt looks for three parts in base64url, the first two of them JSON objects.
func (s *scanner) jwt(i int) {
	if s.text[i:i+3] != "eyJ" {
		return
	}
	first := s.run(i, maxToken, wordDash)
	if first-i < 12 || !strings.HasPrefix(s.text[first:], ".eyJ") {
		return
	}
	second := s.run(first+1, maxToken, wordDash)
	if second-first < 12 || second >= len(s.text) || s.text[second] != '.' {
		return
	}
	if third := s.run(second+1, maxToken, wordDash); third-second > 16 {
		s.add(Secret, "secret.jwt", "JSON web token", i, third, 0.8)
	}
}

// sendgrid looks for SG., 22 characters, a dot, and 43 characters.
func (s *scanner) sendgrid(i int) {
	if !strings.HasPrefix(s.text[i:], "SG.") {
		return
	}
	first := s.run(i+3, 64, wordDash)
	if first-i < 19 || first >= len(s.text) || s.text[first] != '.' {
		return
	}
	if second := s.run(first+1, 64, wordDash); second-first > 32 {
		s.add(Secret, "secret.sendgrid_key", "SendGrid key", i, second, 0.9)
	}
}

// bearer looks for "Bearer " and a token.
func (s *scanner) bearer(i int) {
	const word = "bearer "
	if len(s.text)-i < len(word) || !strings.EqualFold(s.text[i:i+len(word)], word) {
		return
	}
	start := i + len(word)
	end := s.run(start, maxToken, func(c byte) bool { return dotted(c) || base64Byte(c) || c == '~' })
	if end-start >= 20 && entropy(s.text[start:min(end, start+128)]) >= 3.2 {
		s.add(Secret, "secret.bearer_token", "bearer token", start, end, 0.8)
	}
}

// telegramToken looks for a bot's number, a colon, and 35 characters.
func (s *scanner) telegramToken(i int) {
	colon := s.run(i, 11, isDigit)
	if colon-i < 8 || colon >= len(s.text) || s.text[colon] != ':' || !strings.HasPrefix(s.text[colon+1:], "AA") {
		return
	}
	if end := s.run(colon+1, 36, wordDash); end-colon-1 == 35 {
		s.add(Secret, "secret.telegram_token", "Telegram bot token", i, end, 0.9)
	}
}

// privateKey looks for a private key's armour, to its end or to that of the text.
func (s *scanner) privateKey(i int) {
	if s.want&Secret == 0 || !strings.HasPrefix(s.text[i:], "-----BEGIN ") || i > 0 && s.text[i-1] == '-' {
		return
	}
	const longestLabel = 48
	label := s.text[i+len("-----BEGIN "):]
	close := strings.Index(label[:min(len(label), longestLabel)], "-----")
	if close < 0 || !strings.Contains(label[:close], "PRIVATE KEY") {
		return
	}
	const longest = 32 << 10
	end := i + len("-----BEGIN ") + close + 5
	body := s.text[end:min(len(s.text), end+longest)]
	if stop := strings.Index(body, "-----END "); stop >= 0 {
		end += stop + len("-----END ")
		if rest := strings.Index(s.text[end:min(len(s.text), end+longestLabel)], "-----"); rest >= 0 {
			end += rest + 5
		}
	} else {
		end += len(body)
		for end < len(s.text) && end > 0 && s.text[end]&0xc0 == 0x80 { // on a character's boundary
			end++
		}
	}
	s.add(Secret, "secret.private_key", "private key", i, end, 0.95)
}

// secretNames are how names of secrets end, in lower case without separators.
var secretNames = []struct{ ending, code, name string }{
	{"password", "secret.password", "password"}, {"passwd", "secret.password", "password"},
	{"passphrase", "secret.password", "password"}, {"pwd", "secret.password", "password"},
	{"secretaccesskey", "secret.aws_secret_key", "AWS secret key"},
	{"accountkey", "secret.azure_key", "Azure account key"}, {"sharedaccesskey", "secret.azure_key", "Azure account key"},
	{"apikey", "secret.api_key", "API key"}, {"accesskey", "secret.api_key", "API key"}, {"secretkey", "secret.api_key", "API key"},
	{"authtoken", "secret.token", "token"}, {"accesstoken", "secret.token", "token"}, {"refreshtoken", "secret.token", "token"},
	{"apitoken", "secret.token", "token"}, {"clientsecret", "secret.client_secret", "client secret"},
	{"secret", "secret.client_secret", "secret"}, {"token", "secret.token", "token"}, {"privatekey", "secret.api_key", "private key"},
}

// assignment looks at both sides of = or : for a secret's name and a value that
// could be one: api_key = "…", "password": "…".
func (s *scanner) assignment(i int) {
	if s.want&Secret == 0 || i == 0 {
		return
	}
	text := s.text
	// The name, backwards: letters only, lower case, separators left out.
	j := i
	for j > 0 && i-j < 4 && (text[j-1] == ' ' || text[j-1] == '"' || text[j-1] == '\'' || text[j-1] == '\\') {
		j--
	}
	if j == 0 {
		return
	}
	// Names of secrets end in d, t, y, n or e: most colons stop here.
	switch text[j-1] | 0x20 {
	case 'd', 't', 'y', 'n', 'e':
	default:
		return
	}
	var name [20]byte
	n := len(name)
	for n > 0 && j > 0 && (isWord(text[j-1]) || text[j-1] == '-') {
		if c := text[j-1]; c != '_' && c != '-' {
			n--
			name[n] = c | 0x20
		}
		j--
	}
	for k := range secretNames {
		known := &secretNames[k]
		if len(name)-n < len(known.ending) || string(name[len(name)-len(known.ending):]) != known.ending {
			continue
		}
		if start, end := s.value(i + 1); secretValue(text[start:end], known.code == "secret.password") {
			s.add(Secret, known.code, known.name, start, end, 0.8)
		}
		return
	}
}

// value is the span of the value behind = or :, its quotes left out.
func (s *scanner) value(i int) (start, end int) {
	text := s.text
	for n := 0; i < len(text) && n < 4 && (text[i] == ' ' || text[i] == '"' || text[i] == '\'' || text[i] == '\\' || text[i] == '=' || text[i] == '>'); n++ {
		i++
	}
	end = i
	for end < len(text) && end-i < 512 && text[end] > ' ' && strings.IndexByte("\"'`,;<>\\", text[end]) < 0 {
		end++
	}
	return i, end
}

// secretValue tells a secret from a word that stands in its place: it has
// letters and digits or signs, is not a reference, and does not repeat itself.
func secretValue(v string, password bool) bool {
	least, bits := 16, 3.0
	if password {
		least, bits = 8, 2.2
	}
	if len(v) < least || strings.IndexByte("${<[*(%&/@#", v[0]) >= 0 || strings.Contains(v, "://") || strings.ContainsAny(v, "()[]{}") {
		return false
	}
	letters, others := 0, 0
	for _, c := range []byte(v) {
		if classes[c] == letter {
			letters++
		} else {
			others++
		}
	}
	if others == 0 || !password && letters == 0 || strings.HasPrefix(v, "...") {
		return false
	}
	low := strings.ToLower(v)
	for _, word := range []string{"example", "changeme", "change-me", "change_me", "placeholder", "your-", "your_", "xxxx", "****", "redacted", "process.env", "os.environ", "getenv", "removed"} {
		if strings.Contains(low, word) {
			return false
		}
	}
	return entropy(v[:min(len(v), 128)]) >= bits
}

// entropy is the average information of a byte of a text, in bits.
func entropy(v string) (bits float64) {
	var counts [256]int
	for i := range len(v) {
		counts[v[i]]++
	}
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(v))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}

// urlPassword looks for the password in scheme://user:password@host.
func (s *scanner) urlPassword(i int) {
	text := s.text
	if s.want&Secret == 0 || text[i] != ':' || !strings.HasPrefix(text[i:], "://") {
		return
	}
	colon := -1
	const longest = 256
	for j := i + 3; j < len(text) && j-i < longest; j++ {
		switch c := text[j]; {
		case c == ':' && colon < 0:
			colon = j
		case c == '@':
			if v := text[max(colon+1, 0):j]; colon > 0 && len(v) >= 3 && strings.IndexByte("${<[*", v[0]) < 0 {
				s.add(Secret, "secret.url_password", "password", colon+1, j, 0.8)
			}
			return
		case c <= ' ' || c == '/' || c == '"' || c == '\'' || c == '<' || c == '>' || c == '?' || c == '#':
			return
		}
	}
}
