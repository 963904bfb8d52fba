package risk

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// What the detectors of this file know is that a name tells of a secret, whatever
// its value looks like: {"db_password": "swordfish"}. What is kept is masked by
// them. Rules do not use them: there a wrong finding stops honest work, here it
// costs a word in an archive.

// A Telling is what a name says of its value.
type Telling uint8

// What names tell.
const (
	Nothing    Telling = iota
	APassword          // any value is one
	AKey               // keys, secrets, credentials, cookies: no short number is one
	AToken             // also counted, and parts of texts: no number of ordinary size is one
	ACardsCode         // the three or four digits on the back
)

// finding is what a value under a telling name is.
func (t Telling) finding(start, end int) Finding {
	f := Finding{Secret, "secret.api_key", "secret", start, end, 0.8}
	switch t {
	case APassword:
		f.Code, f.Name = "secret.password", "password"
	case AToken:
		f.Code, f.Name = "secret.token", "token"
	case ACardsCode:
		f.Code, f.Name = "secret.card_code", "card code"
	}
	return f
}

// tellingEndings are how telling names end, in small letters and without what
// parts their words. Longer ones that tell nothing stand among them.
var tellingEndings = map[string]Telling{}

// tellingWords tell only as a name's whole last word: bypass is no pass.
var tellingWords = map[string]Telling{}

// longestEnding is the longest of tellingEndings.
var longestEnding int

func init() {
	for t, list := range map[Telling]string{
		APassword: "password passwort passwd passphrase passcode pwd kennwort motdepasse contrasena contraseña senha wachtwoord lozinka heslo пароль 密码 密碼 口令 パスワード 비밀번호 " +
			"passord lösenord losenord adgangskode salasana hasło haslo şifre sifre jelszó jelszo parolă κωδικός סיסמה المرور पासवर्ड รหัสผ่าน " +
			"dbpass userpass rootpass rootpw adminpw userpw dbpw pincode unlockcode recoverycode backupcode adminpass mysqlpass pgpass smtppass ftppass mailpass sshpass authpass keypass storepass seedphrase recoveryphrase mnemonic",
		AKey: "secret apikey accesskey secretkey privatekey authkey servicekey subscriptionkey encryptionkey decryptionkey signingkey masterkey storagekey licensekey accountkey " +
			"sharedaccesskey sshkey deploykey clientkey appkey applicationkey webhookkey hmackey aeskey functionskey hostkey rsakey tlskey sslkey jwtkey cryptkey credential authorization " +
			"cookie connectionstring connstr bearer  secretstring secretbinary geheimnis",
		AToken: "token",
		Nothing: "pagetoken nexttoken continuationtoken synctoken resumetoken cursortoken starttoken changetoken idempotencytoken cancellationtoken csrftoken xsrftoken " +
			"paginationtoken clientrequesttoken forwardtoken backwardtoken eostoken bostoken padtoken unktoken septoken clstoken masktoken stoptoken progresstoken " +
			"maxtoken mintoken pertoken inputtoken outputtoken prompttoken completiontoken totaltoken cachedtoken reasoningtoken numtoken lasttoken firsttoken specialtoken",
	} {
		for w := range strings.FieldsSeq(list) {
			tellingEndings[w] = t
			longestEnding = max(longestEnding, utf8.RuneCountInString(w))
		}
	}
	for t, list := range map[Telling]string{
		APassword:  "pass pw psw pwd passw mdp clave parola pin",
		AKey:       "jwt auth otp totp psk dsn creds hmac sas",
		ACardsCode: "cvv cvc cvv2 cvc2 cvn csc",
	} {
		for w := range strings.FieldsSeq(list) {
			tellingWords[w] = t
		}
	}
}

// qualifiers stand behind a name and leave it what it is: API_KEY_PROD, password2.
var qualifiers = wordList("value val text string str plain plaintext raw new old current previous confirm confirmation repeat again hash hashed digest base64 b64 hex encoded " +
	"prod production dev development test testing stage staging live sandbox local default main primary secondary backup header env var field param " +
	"input inputfield textbox textfield box")

// longestName is how much of a name counts, from its end.
const longestName = 96

// Tells says what a name tells of its value: db_password, apiKey, X-API-KEY,
// DB_PASSWORD_PROD, --client-secret. password_policy, max_tokens and public_key
// tell nothing.
func Tells(name string) Telling {
	if len(name) > longestName {
		name = name[len(name)-longestName:]
	}
	if len(name) < 2 || !mayTell(name) {
		return Nothing
	}
	words := nameWords(name)
	for len(words) > 0 {
		if t, known := wordsTell(words); known {
			return t
		}
		last := words[len(words)-1]
		if strings.Trim(last, "0123456789") != "" && !qualifiers[last] {
			break
		}
		words = words[:len(words)-1]
	}
	return Nothing
}

// wordsTell says what a name of these words tells, if that is known.
func wordsTell(words []string) (t Telling, known bool) {
	last := words[len(words)-1]
	if t = tellingWords[last]; t != Nothing {
		return t, true
	}
	joined := strings.TrimRight(strings.Join(words, ""), "0123456789")
	if t, known = endingTells(joined); known {
		return t, true
	}
	// Several of them: but tokens are counted more often than kept.
	if one, ok := strings.CutSuffix(joined, "s"); ok && (last != "tokens" || len(words) > 1) {
		return endingTells(one)
	}
	return Nothing, false
}

// endingTells looks for the longest known ending.
func endingTells(joined string) (t Telling, known bool) {
	start := len(joined)
	ends := make([]int, 0, 24)
	for n := 0; start > 0 && n < longestEnding; n++ {
		_, size := utf8.DecodeLastRuneInString(joined[:start])
		start -= size
		ends = append(ends, start)
	}
	for i := len(ends) - 1; i >= 0; i-- {
		if t, known = tellingEndings[joined[ends[i]:]]; known {
			return t, true
		}
	}
	return Nothing, false
}

// nameWords are a name's words in small letters: parted by signs, and where a
// capital follows a small letter or begins a word behind capitals.
func nameWords(name string) (words []string) {
	runes := []rune(name)
	start := 0
	flush := func(end int) {
		if end > start {
			words = append(words, strings.ToLower(string(runes[start:end])))
		}
		start = end
	}
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r):
			flush(i)
			start = i + 1
		case i > start && unicode.IsUpper(r) && (unicode.IsLower(runes[i-1]) || unicode.IsDigit(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			flush(i)
		}
	}
	flush(len(runes))
	return words
}

// stems are three or four letters, of which every telling name has some, by a hash
// of the last three. A three is a four that begins with a zero.
var stems = func() (t [1 << 12]uint32) {
	for w := range strings.FieldsSeq("pass secr toke utho uth\" uth= uth: uth\\ uth' cook cred bear kenn motd rase senh wach lozi hesl mnem phra conn gehe па 密码 密碼 口令 パス 비밀 " +
		"pwd key jwt cvv cvc cvn csc otp psk dsn psw mdp pw\" pw= pw: pw' pw\\ swor clav paro enor ngsk lasa hasl hasł ifre jels κωδ סיס مرو पास รหั " +
		// What the forms know without a name: see forms.
		"mysq mari curl logi redi nssl sudo cure sig= ure=") {
		stem := uint32(0)
		for i := range min(len(w), 4) {
			stem = stem<<8 | uint32(w[i]|0x20)
		}
		if at := &t[stemHash(stem)]; *at == 0 || *at == stem {
			*at = stem
			continue
		}
		panic("risk: two stems have one hash")
	}
	return t
}()

func stemHash(w uint32) uint32 { return (w & 0xffffff) * stemFactor >> 20 & (1<<12 - 1) }

const stemFactor = 0x9e3779b1

// MayTell reports whether a text could hold a telling name, or as JSON what only
// its reader sees: letters written by escapes, and large numbers with a point or an
// exponent. It is quick, and wrong on one side only.
func MayTell(text string) bool {
	w, digits := uint32(0), 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		w = w<<8 | uint32(c|0x20)
		if stem := stems[stemHash(w)]; stem != 0 && (stem == w || stem == w&0xffffff) {
			return true
		}
		if c > '\\' || c < '.' || c > '9' && c < '\\' {
			if digits > 6 && c|0x20 == 'e' {
				return true
			}
			digits = 0
			continue
		}
		switch {
		case c == '\\':
			if i+1 < len(text) && (text[i+1] == 'u' || text[i+1] == '/') {
				return true
			}
		case isDigit(c):
			if digits++; digits == 1 && i > 0 && (isAlpha(text[i-1]) || text[i-1] == '"' || text[i-1] == '_') {
				digits = -len(text) // of a word, or a text: no number
			}
			continue
		case c == '.' && digits > 0:
			if digits > 12 || digits > 6 && i+1 < len(text) && isDigit(text[i+1]) {
				return true
			}
			if digits == 1 {
				continue
			}
		}
		digits = 0
	}
	return false
}

func mayTell(name string) bool {
	if low := strings.ToLower(name); strings.HasSuffix(low, "pw") || strings.HasSuffix(low, "auth") {
		return true
	}
	return MayTell(name)
}

// Named reports whether the text under a telling name is to be masked, and as
// what: all of it but for references, examples and what says that there is none.
func Named(t Telling, value string) (Finding, bool) {
	if t == Nothing || !secretText(t, value) {
		return Finding{}, false
	}
	return t.finding(0, len(value)), true
}

// NamedNumber is Named for a number as JSON writes it.
func NamedNumber(t Telling, number string) (Finding, bool) {
	least := 0
	switch t {
	case Nothing:
		return Finding{}, false
	case APassword, ACardsCode:
		least = 3
	case AKey:
		least = 6
	case AToken:
		least = 9
	}
	if digitsIn(number) < least {
		return Finding{}, false
	}
	return t.finding(0, len(number)), true
}

// noSecrets are values that stand for none, and kinds of values.
var noSecrets = wordList("true false null nil none yes no on off undefined empty unset required optional missing string str text number integer int boolean bool object array any " +
	"password secret token apikey bearer basic digest oauth oauth2 header query cookie jwt hidden redacted removed masked anonymous default n/a")

func secretText(t Telling, value string) bool {
	v := strings.TrimSpace(value)
	for { // a scheme before it is none of it
		scheme, rest, ok := strings.Cut(v, " ")
		if s := strings.ToLower(scheme); !ok || s != "bearer" && s != "basic" && s != "token" && s != "apikey" {
			break
		}
		v = strings.TrimSpace(rest)
	}
	if strings.Trim(v, "|>+-") == "" { // a block of YAML begins
		return false
	}
	if v == "" || noSecrets[strings.ToLower(v)] || t != APassword && t != ACardsCode && len(v) < 4 {
		return false
	}
	if strings.HasPrefix(v, "[") && strings.HasSuffix(v, removed) || strings.Trim(v, "*xX.•-_ ") == "" {
		return false
	}
	return !refers(v)
}

// refers reports whether a value only says where the secret is, or that one goes
// there: ${NAME}, $NAME, {{ name }}, %NAME%, <your-key>, env:NAME, your-key-here.
func refers(v string) bool {
	between := func(a, b string) bool {
		return len(v) >= len(a)+len(b) && strings.HasPrefix(v, a) && strings.HasSuffix(v, b) && !strings.ContainsAny(v[len(a):len(v)-len(b)], "{}<>$\"'`")
	}
	if between("${", "}") || between("{{", "}}") || between("$(", ")") || between("<", ">") {
		return true
	}
	constant := func(s string) bool {
		return s != "" && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
	}
	if name, ok := strings.CutPrefix(v, "$"); ok && constant(name) {
		return true
	}
	if len(v) > 2 && v[0] == '%' && v[len(v)-1] == '%' && constant(v[1:len(v)-1]) {
		return true
	}
	low := strings.ToLower(v)
	for _, p := range []string{"env:", "file:", "vault:", "op://", "secret://", "keychain:", "ssm:", "arn:aws:secretsmanager:", "arn:aws:ssm:", "secrets.", "process.env.", "os.environ", "os.getenv(", "env.", "your-", "your_", "your "} {
		if rest, ok := strings.CutPrefix(low, p); ok {
			return strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz0123456789_-./:()[]'\" ") == "" && (p[0] != 'y' || digitsIn(rest) < 4)
		}
	}
	return false
}

// Assigned appends what stands in a text behind a telling name: KEY=value,
// "password": "…", X-API-Key: …, token=… in a query, --password …, a line of YAML.
// The findings do not overlap.
func Assigned(text string, dst []Finding) []Finding {
	if !MayTell(text) {
		return dst
	}
	from, line := 0, 0 // what is before is found already; where the line begins
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '\n' {
			line = i + 1
		}
		if c != '=' && c != ':' && (c != ' ' || i == 0) || i < from {
			continue
		}
		start, end, quoted := nameAt(text, i, max(from, i-longestName))
		if start == end {
			continue
		}
		flag := start >= 2 && text[start-1] == '-' && text[start-2] == '-' && !quoted
		if c == ' ' && (!flag || end != i) {
			continue
		}
		t := Tells(text[start:end])
		if t == Nothing {
			continue
		}
		at, stop, sure := valueAt(text, i, start, line, quoted, flag)
		if at >= stop {
			continue
		}
		if masked := text[at:min(len(text), at+longestName)]; masked[0] == '[' { // a placeholder
			if n := strings.Index(masked, removed); n >= 0 && strings.IndexByte(masked[1:n], '[') < 0 {
				from = at + n + len(removed)
				continue
			}
		}
		v := text[at:stop]
		if at == i+1 && text[start:end] == "jwt" && (strings.HasPrefix(v, "https://") || strings.HasPrefix(v, "http://")) {
			continue // jwt:https://login#ada is a principal, as records name it: whose token it was
		}
		if !secretText(t, v) || !sure && !likely(v) {
			continue
		}
		if strings.Trim(v, "0123456789.") == "" {
			if _, ok := NamedNumber(t, v); !ok {
				continue
			}
		}
		dst = append(dst, t.finding(at, stop))
		from = stop
	}
	return dst
}

func nameByte(c byte) bool {
	return isAlnum(c) || c == '_' || c == '-' || c == '.' || c >= utf8.RuneSelf
}

// nameAt is the name before a sign at i, and whether it stands in quotes.
func nameAt(text string, i, least int) (start, end int, quoted bool) {
	end = i
	for end > least && i-end < 8 && strings.IndexByte(" \t\"'`\\]*", text[end-1]) >= 0 {
		quoted = quoted || text[end-1] == '"' || text[end-1] == '\'' || text[end-1] == '`'
		end--
	}
	start = end
	for start > least && (nameByte(text[start-1]) || quoted && text[start-1] == ' ') {
		start--
	}
	for start < end && text[start]&0xc0 == 0x80 {
		start++
	}
	for start < end && (text[start] == '-' || text[start] == ' ') {
		start++
	}
	return start, end, quoted
}

// valueAt is the value behind the sign at i of a name at start, in a line. sure says
// that it is a value by its form, and not the next word of a sentence.
func valueAt(text string, i, start, line int, quoted, flag bool) (at, end int, sure bool) {
	at = i
	for at < len(text) && at-i < 4 && (text[at] == '=' || text[at] == ':' || text[at] == '>') {
		at++
	}
	signs := text[i:at]
	if strings.HasPrefix(signs, ":") && strings.HasPrefix(text[at:], "//") {
		return 0, 0, false // a URL
	}
	spaces := at
	for at < len(text) && at-spaces < 16 && (text[at] == ' ' || text[at] == '\t') {
		at++
	}
	apart := at > spaces
	// In quotes, which stand behind as many backslashes as they end with.
	slashes := at
	for at < len(text) && text[at] == '\\' && at-slashes < 8 {
		at++
	}
	if at < len(text) && (text[at] == '"' || text[at] == '\'' || text[at] == '`') {
		ending := text[slashes : at+1]
		depth := at - slashes
		at++
		for end = at; end < len(text) && end-at < maxToken; end++ {
			if !strings.HasPrefix(text[end:], ending) {
				continue
			}
			n := end
			for n > at && text[n-1] == '\\' {
				n--
			}
			if depth > 0 || (end-n)%2 == 0 {
				return at, end, true
			}
		}
		return at, end, true
	}
	at = slashes
	if at < len(text) && text[at] == '$' && at+1 < len(text) && (text[at+1] == '{' || text[at+1] == '(') || at < len(text) && text[at] == '{' {
		return 0, 0, false // a reference, an object
	}
	before := strings.TrimLeft(text[min(line, start):start], " \t-\"'")
	inQuotes := start > 0 && (text[start-1] == '"' || text[start-1] == '\'') && !quoted
	if signs == ":" && !quoted && apart && (before == "" || before == "export " || inQuotes) {
		// A line of its own, or all of a quoted text, such as a header: all the rest.
		stops := "\n\r"
		if inQuotes {
			stops = "\n\r" + text[start-1:start]
		}
		end = min(len(text), at+maxToken)
		if n := strings.IndexAny(text[at:end], stops); n >= 0 {
			end = at + n
		}
		if n := strings.Index(text[at:end], " #"); n >= 0 {
			end = at + n
		}
		for end > at && text[end-1] <= ' ' {
			end--
		}
		v := text[at:end]
		return at, end, inQuotes || !strings.ContainsRune(v, ' ') || strings.HasPrefix(v, "Bearer ") || strings.HasPrefix(v, "Basic ")
	}
	open := 0
	for end = at; end < len(text) && end-at < maxToken && text[end] > ' ' && strings.IndexByte("\"'`,;&<>|", text[end]) < 0; end++ {
		if text[end] == '\\' && end+1 < len(text) && strings.IndexByte("nrt\"'", text[end+1]) >= 0 {
			break
		}
		if strings.IndexByte("([{", text[end]) >= 0 {
			open++
		} else if strings.IndexByte(")]}", text[end]) >= 0 {
			if open--; open < 0 { // of what stands around
				break
			}
		}
	}
	if flag && (at < len(text) && text[at] == '-' || end == at) {
		return 0, 0, false
	}
	if !apart && strings.HasPrefix(signs, "=") && signs == "=" || flag || quoted {
		return at, end, true
	}
	for end > at && strings.IndexByte(".:!?", text[end-1]) >= 0 {
		end--
	}
	return at, end, false
}

// likely tells a secret from a word of a sentence, by its form alone.
func likely(v string) bool {
	letters, others := 0, 0
	for i := range len(v) {
		if isAlpha(v[i]) || v[i] >= utf8.RuneSelf || v[i] == '-' || v[i] == ' ' {
			letters++
		} else {
			others++
		}
	}
	return len(v) >= 4 && others > 0 || len(v) >= 20 && !strings.ContainsRune(v, ' ')
}

// Likely reports whether a text that lies somewhere below a telling name, such as
// a member of "credentials", is to be masked.
func Likely(t Telling, value string) (Finding, bool) {
	if t == Nothing || len(value) < 6 || strings.ContainsAny(value, " \t\n") || strings.Contains(value, "://") || !likely(value) || !secretText(t, value) {
		return Finding{}, false
	}
	return t.finding(0, len(value)), true
}

// Announced reports what the wanted detectors find in a text only because of its
// name: {"ssn": "219099999"}.
func Announced(name, text string, want Detector) (found []Finding) {
	if want &= Card | SSN | Phone; want == 0 || digitsIn(text) < 7 {
		return nil
	}
	before := strings.Join(nameWords(name[max(0, len(name)-48):]), " ") + " "
	for _, f := range Scan(before+text, want, nil) {
		if f.Start >= len(before) {
			f.Start, f.End = f.Start-len(before), f.End-len(before)
			found = append(found, f)
		}
	}
	return found
}

// Number reports what the wanted detectors find in a number, as JSON writes it,
// under a name: a card, written as 4.2e15, too.
func Number(name, number string, want Detector) (Finding, bool) {
	for _, f := range Announced(name, plainDigits(number), want) {
		f.Start, f.End = 0, len(number)
		return f, true
	}
	return Finding{}, false
}

// plainDigits writes a number without point and exponent, if it is a whole one of
// at most 19 digits; else it is empty.
func plainDigits(number string) string {
	mantissa, exponent := strings.TrimPrefix(number, "-"), 0
	if e := strings.IndexAny(mantissa, "eE"); e >= 0 {
		text := strings.TrimPrefix(mantissa[e+1:], "+")
		if len(text) == 0 || len(text) > 2 {
			return ""
		}
		for i := range len(text) {
			if !isDigit(text[i]) {
				return ""
			}
			exponent = exponent*10 + int(text[i]-'0')
		}
		mantissa = mantissa[:e]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	fraction = strings.TrimRight(fraction, "0")
	if len(fraction) > exponent || len(whole)+exponent > 19 {
		return ""
	}
	return strings.TrimLeft(whole+fraction+strings.Repeat("0", exponent-len(fraction)), "0")
}
