package risk

import (
	"encoding/base64"
	"math"
	"strings"
)

// tokenForm is how one provider's tokens look: a prefix at the beginning of a
// word, and at least least and at most most bytes of an alphabet, and no more.
type tokenForm struct {
	prefix      string
	of          alphabet
	least, most int
	code, name  string
}

// maxToken bounds tokens that have no length of their own.
const maxToken = 8 << 10

var tokenForms = append([]tokenForm{
	{"AKIA", upperDigits, 16, 16, "secret.aws_access_key", "AWS access key"},
	{"ASIA", upperDigits, 16, 16, "secret.aws_access_key", "AWS access key"},
	{"ABIA", upperDigits, 16, 16, "secret.aws_access_key", "AWS access key"},
	{"ACCA", upperDigits, 16, 16, "secret.aws_access_key", "AWS access key"},
	{"LTAI", alnums, 16, 24, "secret.alibaba_access_key", "Alibaba access key"},

	{"ghp_", alnums, 36, 255, "secret.github_token", "GitHub token"},
	{"gho_", alnums, 36, 255, "secret.github_token", "GitHub token"},
	{"ghu_", alnums, 36, 255, "secret.github_token", "GitHub token"},
	{"ghs_", wordDots, 36, maxToken, "secret.github_token", "GitHub token"},
	{"ghr_", alnums, 36, 255, "secret.github_token", "GitHub token"},
	{"github_pat_", wordBytes, 40, 255, "secret.github_token", "GitHub token"},
	{"glpat-", wordDots, 20, 400, "secret.gitlab_token", "GitLab token"},
	{"gldt-", wordDots, 20, 400, "secret.gitlab_token", "GitLab token"},
	{"glrt-", wordDots, 20, 400, "secret.gitlab_token", "GitLab token"},
	{"glcbt-", wordDots, 20, 400, "secret.gitlab_token", "GitLab token"},
	{"glptt-", wordDots, 20, 400, "secret.gitlab_token", "GitLab token"},
	{"glsoat-", wordDots, 20, 400, "secret.gitlab_token", "GitLab token"},
	{"glagent-", wordDots, 20, 400, "secret.gitlab_token", "GitLab token"},

	{"xoxb-", wordDashes, 20, 255, "secret.slack_token", "Slack token"},
	{"xoxp-", wordDashes, 20, 255, "secret.slack_token", "Slack token"},
	{"xoxa-", wordDashes, 20, 255, "secret.slack_token", "Slack token"},
	{"xoxr-", wordDashes, 20, 255, "secret.slack_token", "Slack token"},
	{"xoxs-", wordDashes, 20, 255, "secret.slack_token", "Slack token"},
	{"xoxe-", wordDashes, 20, 255, "secret.slack_token", "Slack token"},
	{"xoxe.xox", wordDots, 20, 400, "secret.slack_token", "Slack token"},
	{"xoxc-", wordDashes, 20, 255, "secret.slack_token", "Slack token"},
	{"xapp-", wordDashes, 20, 255, "secret.slack_token", "Slack token"},

	{"AIza", wordDashes, 35, 35, "secret.google_api_key", "Google API key"},
	{"ya29.", wordDots, 30, 2048, "secret.google_oauth", "Google OAuth token"},
	{"GOCSPX-", wordDashes, 20, 64, "secret.google_client_secret", "Google client secret"},

	{"sk-ant-", wordDashes, 20, 255, "secret.anthropic_key", "Anthropic key"},
	{"sk-proj-", wordDashes, 20, 255, "secret.openai_key", "OpenAI key"},
	{"sk-svcacct-", wordDashes, 20, 255, "secret.openai_key", "OpenAI key"},
	{"sk-admin-", wordDashes, 20, 255, "secret.openai_key", "OpenAI key"},
	{"sk-or-v1-", hexDigits, 40, 128, "secret.openrouter_key", "OpenRouter key"},
	{"hf_", alnums, 30, 64, "secret.huggingface_token", "Hugging Face token"},
	{"api_org_", alnums, 30, 64, "secret.huggingface_token", "Hugging Face token"},
	{"gsk_", alnums, 40, 80, "secret.groq_key", "Groq key"},
	{"xai-", alnums, 60, 120, "secret.xai_key", "xAI key"},
	{"pplx-", alnums, 40, 80, "secret.perplexity_key", "Perplexity key"},
	{"r8_", alnums, 37, 40, "secret.replicate_token", "Replicate token"},

	{"sk_live_", alnums, 16, 255, "secret.stripe_key", "Stripe key"},
	{"sk_test_", alnums, 16, 255, "secret.stripe_key", "Stripe key"},
	{"rk_live_", alnums, 16, 255, "secret.stripe_key", "Stripe key"},
	{"rk_test_", alnums, 16, 255, "secret.stripe_key", "Stripe key"},
	{"whsec_", base64Bytes, 24, 128, "secret.stripe_webhook", "Stripe webhook secret"},
	{"sq0csp-", wordDashes, 40, 64, "secret.square_secret", "Square secret"},
	{"sq0atp-", wordDashes, 20, 64, "secret.square_secret", "Square token"},
	{"shpat_", hexDigits, 32, 32, "secret.shopify_token", "Shopify token"},
	{"shpca_", hexDigits, 32, 32, "secret.shopify_token", "Shopify token"},
	{"shppa_", hexDigits, 32, 32, "secret.shopify_token", "Shopify token"},
	{"shpss_", hexDigits, 32, 32, "secret.shopify_token", "Shopify token"},

	{"npm_", alnums, 36, 36, "secret.npm_token", "npm token"},
	{"pypi-AgE", wordDashes, 50, 1024, "secret.pypi_token", "PyPI token"},
	{"rubygems_", hexDigits, 48, 48, "secret.rubygems_token", "RubyGems token"},
	{"dckr_pat_", wordDashes, 20, 64, "secret.docker_token", "Docker token"},
	{"dckr_oat_", wordDashes, 20, 64, "secret.docker_token", "Docker token"},

	{"dop_v1_", hexDigits, 64, 64, "secret.digitalocean_token", "DigitalOcean token"},
	{"doo_v1_", hexDigits, 64, 64, "secret.digitalocean_token", "DigitalOcean token"},
	{"dor_v1_", hexDigits, 64, 64, "secret.digitalocean_token", "DigitalOcean token"},
	{"glsa_", wordBytes, 32, 64, "secret.grafana_token", "Grafana token"},
	{"glc_eyJ", base64Bytes, 40, 400, "secret.grafana_token", "Grafana token"},
	{"hvs.", wordDashes, 24, 255, "secret.vault_token", "Vault token"},
	{"hvb.", wordDashes, 24, 400, "secret.vault_token", "Vault token"},
	{"dapi", hexDigits, 32, 34, "secret.databricks_token", "Databricks token"},
	{"atlasv1.", wordDashes, 50, 255, "secret.terraform_token", "Terraform token"},
	{"ATATT3", wordDashes, 60, 400, "secret.atlassian_token", "Atlassian token"},
	{"lin_api_", alnums, 32, 64, "secret.linear_key", "Linear key"},
	{"ntn_", alnums, 40, 64, "secret.notion_token", "Notion token"},
	{"PMAK-", wordDashes, 50, 80, "secret.postman_key", "Postman key"},
	{"NRAK-", upperDigits, 27, 27, "secret.newrelic_key", "New Relic key"},
	{"dp.pt.", alnums, 40, 48, "secret.doppler_token", "Doppler token"},
	{"dp.st.", wordDots, 40, 80, "secret.doppler_token", "Doppler token"},
	{"pul-", hexDigits, 40, 40, "secret.pulumi_token", "Pulumi token"},
	{"pscale_tkn_", wordDots, 32, 64, "secret.planetscale_token", "PlanetScale token"},
	{"pscale_pw_", wordDots, 32, 64, "secret.planetscale_token", "PlanetScale password"},
	{"sbp_", hexDigits, 40, 40, "secret.supabase_token", "Supabase token"},
	{"sb_secret_", wordDashes, 20, 64, "secret.supabase_token", "Supabase key"},
	{"sntrys_", base64Bytes, 60, 400, "secret.sentry_token", "Sentry token"},
	{"sntryu_", hexDigits, 64, 64, "secret.sentry_token", "Sentry token"},
	{"tskey-", wordDashes, 20, 128, "secret.tailscale_key", "Tailscale key"},
	{"figd_", wordDashes, 36, 80, "secret.figma_token", "Figma token"},
	{"nfp_", alnums, 36, 64, "secret.netlify_token", "Netlify token"},
	{"xkeysib-", wordDashes, 64, 100, "secret.brevo_key", "Brevo key"},
	{"EAACEdEose0cBA", alnums, 20, 400, "secret.facebook_token", "Facebook token"},
	{"AGE-SECRET-KEY-", upperDigits, 58, 59, "secret.private_key", "age private key"},
}, twilioForms()...)

// twilioForms are SK and 32 digits of base 16: a form for each first digit,
// since SK alone is too short a prefix.
func twilioForms() (forms []tokenForm) {
	for _, c := range "0123456789abcdef" {
		forms = append(forms, tokenForm{"SK" + string(c), hexDigits, 31, 31, "secret.twilio_key", "Twilio key"})
	}
	return forms
}

// token looks for a provider's token.
func (s *scanner) token(i int, f *tokenForm) {
	if !strings.HasPrefix(s.text[i:], f.prefix) {
		return
	}
	start := i + len(f.prefix)
	end := s.run(start, f.of)
	if f.of == wordDots { // the end of a sentence
		for end > start && s.text[end-1] == '.' {
			end--
		}
	}
	if n := end - start; n < f.least || n > f.most || !varied(s.text[start:end], 4) {
		return
	}
	s.add(Secret, f.code, f.name, i, end, min(unlessSample(s.text[i:end], 0, 0.9), unlessSample(s.text[start:end], f.least, 0.9)))
	if f.code == "secret.aws_access_key" {
		s.awsSecretKey(end)
	}
}

// varied tells a token from what stands for one in examples, such as xxxxxxxx:
// it is made of at least so many different bytes.
func varied(v string, least int) bool {
	var seen [4]uint64
	n := 0
	for i := 0; i < len(v) && n < least; i++ {
		if bit := uint64(1) << (v[i] & 63); seen[v[i]>>6]&bit == 0 {
			seen[v[i]>>6] |= bit
			n++
		}
	}
	return n >= least
}

// awsSecretKey looks behind an access key for the 40 characters that belong to
// it, as in the files that AWS hands out.
func (s *scanner) awsSecretKey(i int) {
	text := s.text
	for at, stop := i, min(len(text), i+96); at < stop; {
		if !base64Bytes.has(text[at]) || text[at] == '=' {
			at++
			continue
		}
		end := s.run(at, base64Bytes)
		if v := text[at:end]; len(v) == 40 && mixed(v) {
			s.add(Secret, "secret.aws_secret_key", "AWS secret key", at, end, unlessSample(v, 40, 0.9))
			return
		}
		at = end
	}
}

// mixed reports whether v has letters of both cases, digits, and little order.
func mixed(v string) bool {
	var upper, lower, digit bool
	for i := range len(v) {
		switch c := v[i]; {
		case isDigit(c):
			digit = true
		case isUpper(c):
			upper = true
		case isAlpha(c):
			lower = true
		}
	}
	return upper && lower && digit && entropy(v) >= 4
}

// genericKey looks for sk- and a long word, as many providers write their keys.
func (s *scanner) genericKey(i int) {
	if s.text[i:i+3] != "sk-" {
		return
	}
	start := i + 3
	end := s.run(start, wordDashes)
	if v := s.text[start:end]; len(v) >= 32 && len(v) <= 255 && digitsIn(v) >= 4 && entropy(v[:min(len(v), 128)]) >= 3 && !wordy(v) {
		s.add(Secret, "secret.openai_key", "OpenAI key", i, end, unlessSample(v, 32, 0.9))
	}
}

// jwt looks for three parts in base64url, the first two of them JSON objects.
func (s *scanner) jwt(i int) {
	text := s.text
	if text[i:i+3] != "eyJ" {
		s.wrappedJWT(i)
		return
	}
	end := s.run(i, wordDots)
	for text[end-1] == '.' {
		end--
	}
	header, rest, ok := strings.Cut(text[i:end], ".")
	payload, signature, ok2 := strings.Cut(rest, ".")
	if ok && ok2 && len(header) >= 12 && len(payload) >= 8 && strings.HasPrefix(payload, "eyJ") && len(signature) >= 16 {
		weight := 0.8
		if sampleToken(payload, signature) {
			weight = sampleWeight
		}
		s.add(Secret, "secret.jwt", "JSON web token", i, end, weight)
	}
	s.skip = max(s.skip, end)
}

// wrappedJWT looks for a token that was encoded in base64 once more.
func (s *scanner) wrappedJWT(i int) {
	if s.text[i:i+4] != "ZXlK" {
		return
	}
	end := s.run(i, base64Bytes)
	if end-i < 64 || end-i > maxToken {
		return
	}
	if inner, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s.text[i:end], "=")); err == nil {
		of := scanner{text: string(inner), want: Secret, phoneAt: never, ssnAt: never, cardAt: never}
		if of.jwt(0); len(of.out) > 0 {
			s.add(Secret, "secret.jwt", "JSON web token", i, end, of.out[0].Score)
		}
	}
	s.skip = max(s.skip, end)
}

// sendGrid looks for SG., 22 characters, a dot, and 43 characters.
func (s *scanner) sendGrid(i int) {
	text := s.text
	if text[i:i+3] != "SG." {
		return
	}
	first := s.run(i+3, wordDashes)
	if n := first - i - 3; n < 16 || n > 32 || first >= len(text) || text[first] != '.' {
		return
	}
	if second := s.run(first+1, wordDashes); second-first > 32 && second-first < 64 {
		s.add(Secret, "secret.sendgrid_key", "SendGrid key", i, second, unlessSample(text[i+3:second], 48, 0.9))
	}
}

// webhooks are addresses that are secrets: who knows them may post.
var webhooks = []struct{ prefix, code, name string }{
	{"hooks.slack.com/services/", "secret.slack_webhook", "Slack webhook"},
	{"hooks.slack.com/workflows/", "secret.slack_webhook", "Slack webhook"},
	{"hooks.slack.com/triggers/", "secret.slack_webhook", "Slack webhook"},
	{"discord.com/api/webhooks/", "secret.discord_webhook", "Discord webhook"},
	{"discordapp.com/api/webhooks/", "secret.discord_webhook", "Discord webhook"},
	{"webhook.office.com/webhookb2/", "secret.teams_webhook", "Teams webhook"},
}

func (s *scanner) webhook(i int) {
	for k := range webhooks {
		h := &webhooks[k]
		if len(s.text)-i < len(h.prefix) || !strings.EqualFold(s.text[i:i+len(h.prefix)], h.prefix) {
			continue
		}
		start := i + len(h.prefix)
		if end := s.run(start, paths); end-start >= 24 && end-start <= 512 {
			s.add(Secret, h.code, h.name, i, end, unlessSample(s.text[start:end], 24, 0.9))
		}
		return
	}
}

// telegramToken looks for a bot's number, a colon, and 35 characters.
func (s *scanner) telegramToken(i, colon int) {
	if end := s.run(colon+1, wordDashes); end-colon-1 == 35 {
		s.add(Secret, "secret.telegram_token", "Telegram bot token", i, end, min(unlessSample(s.text[i:end], 0, 0.9), unlessSample(s.text[colon+1:end], 35, 0.9)))
	}
}

// azureClientSecret looks around ~ for the form of these secrets: three
// characters, a digit, Q~, and 31 to 34 more.
func (s *scanner) azureClientSecret(i int) {
	text := s.text
	if s.want&Secret == 0 || i < 5 || text[i-1] != 'Q' || !isDigit(text[i-2]) {
		return
	}
	start := i - 5
	for k := start; k < i-2; k++ {
		if !bearerBytes.has(text[k]) {
			return
		}
	}
	if end := s.run(i+1, bearerBytes); end-i-1 >= 31 && end-i-1 <= 34 && (start == 0 || !isAlnum(text[start-1])) {
		s.add(Secret, "secret.azure_client_secret", "Azure client secret", start, end, 0.9)
	}
}

// spaces returns the end of the white space at i.
func (s *scanner) spaces(i int) int {
	for n := 0; n < 16 && i < len(s.text) && (s.text[i] == ' ' || s.text[i] == '\t' || s.text[i] == '\n' || s.text[i] == '\r'); n++ {
		i++
	}
	return i
}

// bearer looks for "Bearer" and a token.
func (s *scanner) bearer(i int) {
	const word = "bearer"
	if len(s.text)-i < len(word)+20 || !strings.EqualFold(s.text[i:i+len(word)], word) {
		return
	}
	start := s.spaces(i + len(word))
	end := s.run(start, bearerBytes)
	for end > start && s.text[end-1] == '.' {
		end--
	}
	if v := s.text[start:end]; start > i+len(word) && len(v) >= 20 && len(v) <= maxToken && digitsIn(v) >= 2 && entropy(v[:min(len(v), 128)]) >= 3.2 && !wordy(v) {
		s.add(Secret, "secret.bearer_token", "bearer token", start, end, unlessSample(v, 20, 0.8))
	}
}

// basic looks for "Basic" and name:password in base64.
func (s *scanner) basic(i int) {
	const word = "basic"
	if len(s.text)-i < len(word)+8 || !strings.EqualFold(s.text[i:i+len(word)], word) {
		return
	}
	start := s.spaces(i + len(word))
	end := s.run(start, base64Bytes)
	if start == i+len(word) || end-start < 8 || end-start > 512 {
		return
	}
	both, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s.text[start:end], "="))
	colon := strings.IndexByte(string(both), ':')
	if err != nil || colon < 1 || colon == len(both)-1 {
		return
	}
	for _, c := range both {
		if c < ' ' || c >= 0x7f {
			return
		}
	}
	s.add(Secret, "secret.basic_auth", "name and password", start, end, urlWeight(string(both[:colon]), string(both[colon+1:]), ""))
}

// pem looks around BEGIN for a private key's armour: PEM, OpenSSH, PGP, SSH2.
// The key reaches to its END line, or as far as its lines go when that is cut off.
func (s *scanner) pem(i int) {
	const longestLabel = 48
	text := s.text
	if text[i:i+4] != "BEGI" || i < 4 || !strings.HasPrefix(text[i:], "BEGIN ") {
		return
	}
	dashes := i // SSH2 puts a space between them and the word
	if text[i-1] == ' ' {
		dashes--
	}
	start := dashes
	for start > 0 && text[start-1] == '-' && dashes-start < 5 {
		start--
	}
	if dashes-start < 4 {
		return
	}
	label := text[i+len("BEGIN ") : min(len(text), i+len("BEGIN ")+longestLabel)]
	stop := strings.Index(label, "----")
	if stop < 0 || !strings.Contains(label[:stop], "PRIVATE KEY") {
		return
	}
	body := i + len("BEGIN ") + stop
	for body < len(text) && text[body] == '-' {
		body++
	}
	if i < s.pemRead { // inside an armour that was read line by line
		return
	}
	end := s.armoured(body)
	const longest = 64 << 10
	if close := s.nextEnd(body); close >= 0 && close-body < longest {
		if close-body < 24 {
			return // an example without a key
		}
		if !armour(strings.TrimRight(text[body:close], "-")) {
			s.pemRead = close
			s.pieces(body, close, keyWeight(strings.TrimRight(text[body:close], "-")))
			return
		}
		for end = close; end < len(text) && text[end] == '-'; end++ {
		}
		for end < len(text) && end-close < longestLabel && (isAlnum(text[end]) || text[end] == ' ') {
			end++
		}
		for end < len(text) && text[end] == '-' {
			end++
		}
	}
	if end-body < 24 {
		return
	}
	key := text[body:end]
	if last := strings.LastIndex(key, "----END"); last >= 0 {
		key = key[:last]
	}
	s.add(Secret, "secret.private_key", "private key", start, end, keyWeight(strings.TrimRight(key, "-")))
	s.skip = max(s.skip, end)
}

// writtenEnds makes ends of lines of what stands for them in a quoted text.
var writtenEnds = strings.NewReplacer(`\r`, "\r", `\n`, "\n")

// armour reports whether a text is what stands between the lines of an armour, and
// nothing else: base64, ends of lines (written as \n, too), what quotes or indents
// a line, and headers. What holds quotes, $ or ; is more than a key. Were it
// masked as one, what was a quoted text could become code.
func armour(text string) bool {
	for line := range strings.Lines(writtenEnds.Replace(text)) {
		line = strings.TrimLeft(strings.TrimSpace(line), "|> \t")
		name, value, header := strings.Cut(line, ": ")
		if !header {
			name = line
		}
		for i := range len(name) {
			if !base64Bytes.has(name[i]) && !(header && name[i] == '-') {
				return false
			}
		}
		for i := range len(value) {
			if !base64Bytes.has(value[i]) && strings.IndexByte(" ,.-:@()_", value[i]) < 0 {
				return false
			}
		}
	}
	return true
}

// pieces finds the lines of a key that stand between something else, such as the
// quotes of a program's text: each by itself.
func (s *scanner) pieces(from, to int, weight float64) {
	const least = 32
	for at := from; at < to; at++ {
		if !base64Bytes.has(s.text[at]) {
			continue
		}
		end := min(s.run(at, base64Bytes), to)
		start := at
		if at > from && s.text[at-1] == '\\' { // the n of \n
			start++
		}
		if end-start >= least && digitsIn(s.text[start:end]) > 0 {
			s.add(Secret, "secret.private_key", "private key", start, end, weight)
		}
		at = end
	}
}

// nextEnd returns the place of the next line that ends an armour, or -1.
func (s *scanner) nextEnd(i int) int {
	if !s.pemSought || s.pemEnd >= 0 && s.pemEnd < i {
		s.pemSought = true
		s.pemEnd = strings.Index(s.text[i:], "----END ")
		if other := strings.Index(s.text[i:], "---- END "); other >= 0 && (s.pemEnd < 0 || other < s.pemEnd) {
			s.pemEnd = other
		}
		if s.pemEnd >= 0 {
			s.pemEnd += i
		}
	}
	return s.pemEnd
}

// armoured returns the end of an armour's body that has no end of its own:
// headers, then long lines in base64, and a last shorter one. A line's end may
// be written as \n, as JSON does.
func (s *scanner) armoured(i int) int {
	text := s.text
	end, long := i, false
	for at := i; at < len(text); end = at {
		for at < len(text) && (text[at] <= ' ' || text[at] == '\\' || text[at] == '|' || text[at] == '>') {
			if text[at] == '\\' && at+1 < len(text) && (text[at+1] == 'n' || text[at+1] == 'r') {
				at++
			}
			at++
		}
		line := at
		at = s.run(at, base64Bytes)
		n := at - line
		whole := at == len(text) || text[at] == '\n' || text[at] == '\r' || text[at] == '\\' || text[at] == '"'
		switch {
		case n >= 32:
			long = true
		case n > 0 && n < 20 && !long && at < len(text) && (text[at] == ':' || text[at] == '-'): // a header
			for at < len(text) && text[at] != '\n' && text[at] != '\\' && at-line < 200 {
				at++
			}
		case n > 0 && long && whole:
			return at
		default:
			return end
		}
	}
	return end
}

// putty looks for a private key in the form of PuTTY.
func (s *scanner) putty(i int) {
	text := s.text
	if !strings.HasPrefix(text[i:], "PuTTY-User-Key-File-") {
		return
	}
	const longest, label = 16 << 10, "Private-Lines:"
	stop := min(len(text), i+longest)
	from := max(i, s.puttySought-len(label)) // what was searched in vain need not be again
	if from >= stop {
		return
	}
	lines := strings.Index(text[from:stop], label)
	if lines < 0 {
		s.puttySought = stop
		return
	}
	lines += from
	first := s.spaces(s.run(s.spaces(lines+len(label)), alnums))
	end := s.run(first, base64Bytes)
	if end-first < 20 { // no line of a key, but a program that reads them
		return
	}
	for end < len(text) {
		next := s.run(s.spaces(end), base64Bytes)
		if next-end < 20 {
			break
		}
		end = next
	}
	s.add(Secret, "secret.private_key", "private key", i, end, 0.95)
	s.skip = max(s.skip, end)
}

// namedSecret is how the name of a secret ends, in lower case and without
// separators.
type namedSecret struct {
	ending, code, name string
}

func (n *namedSecret) password() bool { return n.code == "secret.password" }

var namedSecrets = []namedSecret{
	{"password", "secret.password", "password"}, {"passwd", "secret.password", "password"},
	{"passphrase", "secret.password", "password"}, {"passcode", "secret.password", "password"}, {"pwd", "secret.password", "password"},
	{"dbpass", "secret.password", "password"}, {"passwort", "secret.password", "password"}, {"motdepasse", "secret.password", "password"},
	{"secretaccesskey", "secret.aws_secret_key", "AWS secret key"}, {"awssecretkey", "secret.aws_secret_key", "AWS secret key"},
	{"accountkey", "secret.azure_key", "Azure account key"}, {"sharedaccesskey", "secret.azure_key", "Azure access key"},
	{"apikey", "secret.api_key", "API key"}, {"accesskey", "secret.api_key", "API key"}, {"secretkey", "secret.api_key", "API key"},
	{"subscriptionkey", "secret.api_key", "API key"}, {"authkey", "secret.api_key", "API key"}, {"servicekey", "secret.api_key", "API key"},
	{"encryptionkey", "secret.api_key", "encryption key"}, {"signingkey", "secret.api_key", "signing key"}, {"masterkey", "secret.api_key", "master key"},
	{"privatekey", "secret.api_key", "private key"}, {"storagekey", "secret.api_key", "storage key"}, {"licensekey", "secret.api_key", "license key"},
	{"apisecret", "secret.client_secret", "secret"}, {"clientsecret", "secret.client_secret", "client secret"}, {"secret", "secret.client_secret", "secret"},
	{"token", "secret.token", "token"}, {"credentials", "secret.token", "credential"}, {"credential", "secret.token", "credential"},
}

// secretsByLast are the named secrets by the last letter of their ending.
var secretsByLast = func() (t [26][]uint8) {
	for i, n := range namedSecrets {
		last := &t[n.ending[len(n.ending)-1]-'a']
		*last = append(*last, uint8(i))
	}
	return
}()

// notSecret are names that end like a secret's and are none: tokens that mark a
// place in a list, or go into every form of a page.
var notSecret = []string{"pagetoken", "nexttoken", "continuationtoken", "synctoken", "resumetoken", "cursortoken", "starttoken", "changetoken", "idempotencytoken",
	"cancellationtoken", "csrftoken", "xsrftoken", "paginationtoken", "clienttoken", "requesttoken", "forwardtoken", "backwardtoken", "eostoken", "bostoken", "padtoken", "unktoken", "stoptoken", "skiptoken",
	"publickeytoken",                  // of .NET: the short form of a key that all may know
	"googcredential", "amzcredential"} // which name who signed

// nameBefore returns the secret whose name ends at i, or nil.
func (s *scanner) nameBefore(i int) *namedSecret {
	text := s.text
	if i < 3 {
		return nil
	}
	// Nearly all names end otherwise.
	switch uint16(text[i-2]|0x20)<<8 | uint16(text[i-1]|0x20) {
	case 'r'<<8 | 'd', 'w'<<8 | 'd', 's'<<8 | 'e', 'd'<<8 | 'e', 's'<<8 | 's', 'r'<<8 | 't', 'e'<<8 | 'y', 'e'<<8 | 't', 'e'<<8 | 'n', 'l'<<8 | 's', 'a'<<8 | 'l':
	default:
		return nil
	}
	var buf [24]byte // the name's end, from the back
	n := len(buf)
	for j := i; j > 0 && n > 0 && i-j < 40; j-- {
		c := text[j-1]
		if isAlpha(c) {
			n--
			buf[n] = c | 0x20
		} else if c != '_' && c != '-' && c != '.' && (c != ' ' || j == i) {
			break
		}
	}
	name := buf[n:]
	if string(name) == "pwd" && i >= 4 && (text[i-4] == '$' || text[i-4] == '{') { // where a shell stands
		return nil
	}
	for _, k := range secretsByLast[text[i-1]|0x20-'a'] {
		known := &namedSecrets[k]
		if hasEnding(name, known.ending) {
			for _, other := range notSecret {
				if hasEnding(name, other) {
					return nil
				}
			}
			return known
		}
	}
	return nil
}

func hasEnding(name []byte, ending string) bool {
	return len(name) >= len(ending) && string(name[len(name)-len(ending):]) == ending
}

// assignment looks at both sides of = or : for a secret's name and a value that
// could be one: api_key = "…", "password": "…".
func (s *scanner) assignment(i int) {
	text := s.text
	if s.want&Secret == 0 || i == 0 {
		return
	}
	if text[i] == '>' { // <apiToken>, and the value within or on the line below
		if known := s.nameBefore(i); known != nil && i+1 < len(text) {
			s.value(s.spaces(i+1), known)
		}
		return
	}
	j := i
	for text[i] == '=' && j > 0 && i-j < 2 && strings.IndexByte(".?+|", text[j-1]) >= 0 { // .= ?= +=
		j--
	}
	for j > 0 && i-j < 8 && (text[j-1] == ' ' || text[j-1] == '\t' || text[j-1] == '"' || text[j-1] == '\'' || text[j-1] == '\\' || text[j-1] == ']' || text[j-1] == '*') {
		j--
	}
	if j == i && j >= 4 && text[j-1] == 'g' && text[j-3:j] == "sig" && text[i] == '=' {
		s.azureSAS(i)
		return
	}
	if i == s.userColon { // of a URL, whose password is found already
		return
	}
	known := s.nameBefore(j)
	if known == nil && text[i] == '=' {
		known = s.nameBefore(typed(text, j))
	}
	if known != nil {
		s.value(i+1, known)
	}
}

// typed returns the place before a type that ends at a place and stands behind the name
// that it is of, as in: var apiToken string =, apiToken: &str =. It is the same place
// where none does.
func typed(text string, end int) int {
	start := end
	for start > 0 && end-start < 8 && isAlpha(text[start-1]) {
		start--
	}
	switch text[start:end] {
	case "string", "String", "str", "text":
	default:
		return end
	}
	name := start
	for name > 0 && start-name < 4 && strings.IndexByte(" :&*?", text[name-1]) >= 0 {
		name--
	}
	if name == start {
		return end
	}
	return name
}

// secretName looks at a word that could be a secret's name where no = or :
// stands behind it: --password x, <password>x</password>, "the password is x".
func (s *scanner) secretName(i int) {
	text := s.text
	end := i
	for end < len(text) && end-i < 24 && (isAlpha(text[end]) || text[end] == '_' || text[end] == '-') {
		end++
	}
	if end >= len(text) {
		return
	}
	known := s.nameBefore(end)
	switch {
	case known == nil:
	case text[end] == '"' || text[end] == '\'': // setProperty("API_TOKEN", "…")
		at := s.spaces(end + 1)
		if at >= len(text) || text[at] != ',' {
			return
		}
		if at = s.spaces(at + 1); at+1 < len(text) && text[at] == text[end] {
			if last := s.run(at+1, quotedValue); last < len(text) && last > at+1 && last-at <= maxToken && text[last] == text[end] && machineMade(text[at+1:last]) {
				s.value(at, known)
			}
		}
	case text[end] == ' ' && i > 1 && text[i-1] == '-' && text[i-2] == '-':
		s.value(end+1, known)
	case text[end] == ' ':
		w := words{text: text, at: end}
		if w.next() && (string(w.buf[:w.n]) == "is" || string(w.buf[:w.n]) == "was" || string(w.buf[:w.n]) == "ist") && w.from == end+1 {
			s.value(w.at, known)
		}
	}
}

// value looks at the value of a named secret, which begins at i or behind a few
// signs.
func (s *scanner) value(i int, known *namedSecret) {
	text := s.text
	quoted := false
	for n := 0; i < len(text) && n < 8; n++ {
		switch text[i] {
		case '"', '\'', '`':
			quoted = true
		case '=', '>', '\\', '*', ':':
		case ' ', '\t':
			if quoted { // a text in quotes that begins with a space
				return
			}
		default:
			n = 8
			continue
		}
		i++
	}
	of := bareValue
	if quoted {
		of = quotedValue
	}
	end := s.run(i, of)
	if quoted && end < len(text) && text[end] <= ' ' {
		return // a sentence
	}
	if !quoted {
		for end > i && strings.IndexByte(".:!?", text[end-1]) >= 0 {
			end--
		}
		if end < len(text) && (text[end] == '(' || text[end] == '[' || text[end] == '{') {
			return // a call, a type
		}
	}
	if v := text[i:end]; known.code == "secret.aws_secret_key" && len(v) == 40 && mixed(v) || secretValue(v, known.password(), quoted) {
		s.add(Secret, known.code, known.name, i, end, namedWeight(v, known))
	}
}

// references stand where programs get a secret from elsewhere, or where one was taken
// away.
var references = []string{"****", "...", "redacted", "process.env", "os.environ", "getenv", "undefined", "secrets.", "vault:", "env."}

// standIns are words of what stands in examples where a secret would. What has such a word
// and is long enough without it is a secret.
var standIns = []string{"example", "changeme", "change-me", "change_me", "placeholder", "your-", "your_", "xxxx", "dummy", "insert", "not-set", "not_set"}

// secretValue tells a secret from a word, a reference or an example.
func secretValue(v string, password, quoted bool) bool {
	least, bits := 16, 3.0
	switch {
	case password:
		least, bits = 6, 2.0
	case len(v) >= 12 && len(v) < 16 && machineMade(v):
		least = 12
	}
	if len(v) < least || len(v) > maxToken {
		return false
	}
	switch v[0] {
	case '{', '<', '[', '(', '*', '/', '.', ',', ')', '|', '-':
		return false
	case '$', '%', '&', '@', '#', '!':
		if !password || isReference(v[1:]) {
			return false
		}
	}
	letters, digits, others := 0, 0, 0
	for i := range len(v) {
		switch c := v[i]; {
		case isAlpha(c):
			letters++
		case isDigit(c):
			digits++
		default:
			others++
		}
	}
	switch {
	case digits+others == 0, strings.Contains(v, "://"), strings.Contains(v, "${"), strings.Contains(v, "{{"), strings.Contains(v, "…"):
		return false
	case password && digits == 0 && (others < 2 || wordy(v)):
		return false
	case !password && (letters == 0 || digits == 0 || wordy(v)):
		return false
	case !quoted && isPath(v):
		return false
	}
	low := strings.ToLower(v[:min(len(v), 128)])
	for _, w := range references {
		if strings.Contains(low, w) {
			return false
		}
	}
	for _, w := range standIns {
		if strings.Contains(low, w) && substance(v, least) < least {
			return false
		}
	}
	if !password && (strings.Contains(low, "key") || strings.Contains(low, "token") || strings.Contains(low, "secret")) && !randomBehind(v) {
		return false // the name of one: testRSA2048PrivateKey
	}
	return entropy(v[:min(len(v), 128)]) >= bits
}

// randomBehind reports whether what follows a short prefix, as of key-…, is long and looks
// drawn at random.
func randomBehind(v string) bool {
	const long = 24
	i := strings.LastIndexByte(v, '-')
	return i > 0 && len(v)-i-1 >= long && machineMade(v[i+1:])
}

// namedWeight is the weight of a value that a name calls a secret.
func namedWeight(v string, known *namedSecret) float64 {
	if known.password() {
		if common(v) {
			return sampleWeight
		}
		return unlessSample(v, 6, 0.8)
	}
	if parts := strings.Split(v, "."); len(parts) == 3 && strings.HasPrefix(v, "eyJ") && sampleToken(parts[1], parts[2]) {
		return sampleWeight
	}
	return unlessSample(v, 16, 0.8)
}

// isReference reports whether v is a variable's name.
func isReference(v string) bool {
	for i := range len(v) {
		if !isAlnum(v[i]) && strings.IndexByte("_.{}()%:", v[i]) < 0 {
			return false
		}
	}
	return v == "" || !isDigit(v[0])
}

// isPath reports whether v is a chain of names, such as request.body.password1.
func isPath(v string) bool {
	start, dots := true, 0
	for i := range len(v) {
		switch c := v[i]; {
		case c == '.' || c == ':':
			if start && i == 0 {
				return false
			}
			start = true
			dots++
		case start && !isAlpha(c) && c != '_', !isAlnum(c) && c != '_':
			return false
		default:
			start = false
		}
	}
	return dots > 0 && !start && !randomChain(v)
}

// randomChain reports whether a part of a chain looks drawn at random.
func randomChain(v string) bool {
	const long = 20
	for part := range strings.SplitSeq(v, ".") {
		if len(part) >= long && machineMade(part) {
			return true
		}
	}
	return false
}

// wordy reports whether v is made of words and short numbers with signs between
// them, as names are: my-app-tls-2024.
func wordy(v string) bool {
	for i := 0; i < len(v); {
		letters, digits := 0, 0
		upper := 0 // capitals behind small letters
		for ; i < len(v) && isAlpha(v[i]); i++ {
			letters++
			if isUpper(v[i]) && letters > 1 && !isUpper(v[i-1]) {
				upper++
			}
		}
		for ; i < len(v) && isDigit(v[i]); i++ {
			digits++
		}
		if i < len(v) && isAlpha(v[i]) || letters > 0 && digits > 2 || digits > 8 || letters > 24 || upper > 3 {
			return false
		}
		for i < len(v) && !isAlnum(v[i]) {
			if v[i] == '+' || v[i] == '=' {
				return false
			}
			i++
		}
	}
	return true
}

func digitsIn(v string) (n int) {
	for i := range len(v) {
		if isDigit(v[i]) {
			n++
		}
	}
	return n
}

// nLogN[n] is n·log2(n).
var nLogN = func() (t [257]float64) {
	for n := 2; n < len(t); n++ {
		t[n] = float64(n) * math.Log2(float64(n))
	}
	return
}()

// entropy is the average information of a byte of v, in bits. v has at most 256 bytes.
func entropy(v string) float64 {
	if len(v) == 0 {
		return 0
	}
	var counts [256]uint16
	for i := range len(v) {
		counts[v[i]]++
	}
	sum := 0.0
	for i := range len(v) {
		if n := counts[v[i]]; n > 1 {
			sum += nLogN[n]
			counts[v[i]] = 0
		}
	}
	return (nLogN[len(v)] - sum) / float64(len(v))
}

// azureSAS looks for the signature of a shared access signature.
func (s *scanner) azureSAS(i int) {
	if end := s.run(i+1, queryValue); end-i-1 >= 40 && end-i-1 <= 160 && digitsIn(s.text[i+1:end]) > 0 {
		s.add(Secret, "secret.azure_sas", "Azure access signature", i+1, end, 0.8)
	}
}

// weakWords stand in a password's place in URLs, where no password is.
var weakWords = wordList("password passwd pass pwd pw secret user username xxx xxxx xxxxx changeme example dbpassword mypassword token")

// urlPassword looks for the password in scheme://user:password@host.
func (s *scanner) urlPassword(i int) {
	text := s.text
	if s.want&Secret == 0 {
		return
	}
	const longest = 512
	colon, at := -1, -1
	for j := i + 3; j < len(text) && j-i < longest; j++ {
		c := text[j]
		if c == ':' && colon < 0 {
			colon = j
		} else if c == '@' {
			at = j
		} else if c <= ' ' || strings.IndexByte("/\"'<>?#`\\", c) >= 0 {
			break
		}
	}
	if colon < 0 || at < colon {
		return
	}
	s.userColon = colon
	v := text[colon+1 : at]
	if len(v) < 3 || strings.IndexByte("${<[*%", v[0]) >= 0 || strings.Contains(v, "${") || len(v) <= 12 && weakWords[strings.ToLower(v)] {
		return
	}
	host := text[at+1 : min(len(text), at+1+maxDomain)]
	if six := strings.IndexByte(host, ']'); strings.HasPrefix(host, "[") && six > 0 {
		host = host[:six+1]
	} else if end := strings.IndexAny(host, "/:?#,; \t\r\n\"'`<>()\\"); end >= 0 {
		host = host[:end]
	}
	s.add(Secret, "secret.url_password", "password", colon+1, at, urlWeight(text[i+3:colon], v, host))
}
