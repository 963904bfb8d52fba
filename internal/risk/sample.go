package risk

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"reeve.example/reeve/internal/lazyregexp"

	"github.com/go-json-experiment/json"
)

// sampleWeight is what a finding weighs that is known to be an example: it is
// found as any other, and a rule that asks for a severity leaves it be.
//
// What says so must stand in the value itself, or in the address that it opens. A word
// such as "example" in front of a key, or behind it, says nothing: whoever wants a key to
// pass could write it there. And what is left of a value without its telling words must
// be too little for a key.
const sampleWeight = 0.3

// published are values that their makers print for everybody, by who does. Values and
// numbers are compared without regard to spaces, dashes and case.
var published = func() map[string]bool {
	m := map[string]bool{}
	for _, row := range []struct{ source, values string }{
		{"Stripe: Testing, card numbers", `4242424242424242 4000056655665556 4000000000000002 4000000000000077
			4000000000003220 4000000000009995 4000000000000069 4000000000000127 4000000000000119 4000002500003155
			5555555555554444 5200828282828210 2223003122003222 5105105105105100 378282246310005 371449635398431
			6011111111111117 6011000990139424 3056930009020004 36227206271667 3566002020360505 6200000000000005 6205500000000000004`},
		{"PayPal, Braintree: test cards", `4111111111111111 4012888888881881 4005519200000004 4009348888881881 4012000033330026 4222222222222 4012000077777777
			4217651111111119 4500600000000061 5454545454545454 378734493671000 36259600000004 6304000000000000 6011000991300009 3530111333300000 30569309025904 38520000023237`},
		{"Adyen: test card numbers", `4917610000000000 4988438843884305 4166676667666746 4646464646464644 4000020000000000 4444333322221111 5577000055770004
			2222400070000005 5555341244441115 5136333333333335 2222410740360010 5500000000000004 370000000000002 36006666333344 36148900647913 6759649826438453 2223000048400011`},
		{"Authorize.Net: testing guide", "4007000000027 370000000000002 5424000000000015 2223000010309703 2223000010309711 6011000000000012 38000000000006"},
		{"Visa, Mastercard: sandbox", "4957030420210454 4895142232120006 5105105105105100 2222990905257051"},
		{"Social Security Administration: numbers that were printed in advertisements", "078051120 219099999 457555462 987654321"},
		{"SWIFT: IBAN registry, examples of the countries", `AD1200012030200359100100 AE070331234567890123456 AL47212110090000000235698741 AT611904300234573201
			AZ21NABZ00000000137010001944 BA391290079401028494 BE68539007547034 BG80BNBG96611020345678 BH67BMAG00001299123456 BR1800360305000010009795493C1
			BR9700360305000010009795493P1 BY13NBRB3600900000002Z00AB00 CH9300762011623852957 CR05015202001026284066 CY17002001280000001200527600 CZ6508000000192000145399
			CZ9455000000001011038930 DE89370400440532013000 DK5000400440116243 DO28BAGR00000001212453611324 EE382200221020145685 EG380019000500000000263180002 ES9121000418450200051332
			FI2112345600000785 FO6264600001631634 FR1420041010050500013M02606 GB29NWBK60161331926819 GE29NB0000000101904917 GI75NWBK000000007099453 GL8964710001000206 GR1601101250000000012300695
			GT82TRAJ01020000001210029690 HR1210010051863000160 HU42117730161111101800000000 IE29AIBK93115212345678 IL620108000000099999999 IQ98NBIQ850123456789012 IS140159260076545510730339
			IT60X0542811101000000123456 JO94CBJO0010000000000131000302 KW81CBKU0000000000001234560101 KZ86125KZT5004100100 LB62099900000001001901229114 LC55HEMM000100010012001200023015
			LI21088100002324013AA LT121000011101001000 LU280019400644750000 LV80BANK0000435195001 LY83002048000020100120361 MC5811222000010123456789030 MD24AG000225100013104168
			ME25505000012345678951 MK07250120000058984 MR1300020001010000123456753 MT84MALT011000012345MTLCAST001S MU17BOMM0101101030300200000MUR NL91ABNA0417164300 NO9386011117947
			PK36SCBL0000001123456702 PL61109010140000071219812874 PS92PALS000000000400123456702 PT50000201231234567890154 QA58DOHB00001234567890ABCDEFG RO49AAAA1B31007593840000
			RS35260005601001611379 SA0380000000608010167519 SC18SSCB11010000000000001497USD SE4550000000058398257466 SI56263300012039086 SI56191000000123438 SK3112000000198742637541
			SM86U0322509800000000270100 ST68000100010051845310112 SV62CENR00000000000000700025 TL380080012345678910157 TN5910006035183598478831 TR330006100519786457841326
			UA213223130000026007233566001 VA59001123000012345678 VG96VPVG0000012345678901 XK051212012345678906`},
		{"Wikipedia: International Bank Account Number", "GB82WEST12345698765432 GR1601101250000000012300695 SA0380000000608010167519 CH9300762011623852957 TR330006100519786457841326 IL170108000000012612345"},
		{"iban.com: test accounts", "GB33BUKB20201555555555 GB94BARC10201530093459 DE75512108001245126199 FR7630006000011234567890189"},
		{"AWS: documentation", "AKIAIOSFODNN7EXAMPLE AKIAI44QH8DHBEXAMPLE AKIDEXAMPLE wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY je7MtGbClwBF/2Zp9Utk/h3yCo8nvbEXAMPLEKEY"},
		{"GitHub: documentation of OAuth apps", "gho_16C7e42F292c6912E7710c838347Ae178B4a ghp_16C7e42F292c6912E7710c838347Ae178B4a ghu_16C7e42F292c6912E7710c838347Ae178B4a ghr_1B4a2e77838347a7E420ce178F2E7c6912E169246c34E1ccbF66C46812d16D5B1A9Dc86A1498"},
		{"Microsoft: Azurite and the storage emulator", "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="},
		{"Microsoft: Cosmos DB emulator", "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="},
		{"Docker: Engine API, swarm and registry", `SWMTKN-1-3pu6hszjas19xyp7ghgosyx9k8atbfcr8p2is99znpy26u2lkl-1awxwuwd3z9j1z3puu7rcgdbx
			SWMTKN-1-3pu6hszjas19xyp7ghgosyx9k8atbfcr8p2is99znpy26u2lkl-7p73s1dx5in4tatdymyhg9hu2 SWMTKN-1-49nj1cmql0jkz5s954yi3oex3nedyz0fb0xx14ie39trti4wxv-8vxv8rssmk743ojnwacrr2e7c conta1n3rize14`},
		{"GitHub and golang.org/x/oauth2: answers of OAuth", "90d64460d14870c08c81352a05dedd3465940a7c e72e16c7e42f292c6912e7710c838347ae178b4a"},
		{"Telegram: Bot API", "123456:ABC-DEF1234ghIkl-zyx57W2v1u123ew11 110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"},
		{"RFC 6749, 6750: OAuth 2.0", "2YotnFZFEjr1zCsicMWpAA tGzv3JOkF0XG5Qx2TlKWIA SplxlOBeZQQYbYS6WxSbIA gX1fBat3bV 7Fjfp0ZBr1KtDRbnfVdmIw mF_9.B5f-4.1JqM vF9dft4qmT SlAV32hkKG 8xLOxBtZp8"},
		{"RFC 5849: OAuth 1.0", "kkk9d7dh3k39sjv7 hh5s93j4hdidpola hdhd0244k9j7ao03 nnch734d00sl2jdk pfkkdhi9sl3r4s00 ad180jjd733klru7"},
		{"jwt.io, RFC 7515 and pages about JSON web tokens: signatures", `SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c KMUFsIDTnFmyG3nMiGM6H9FNFUROf3wh7SmqJp-QV30
			TJVA95OrM7E2cBab30RMHrHDcEfxjoYZgeFONFh7HgQ dyt0CoTl4WoVjAHI9Q_CwSKhl6d_9rhM3NrXuJttkao XbPfbIHMI6arZ3Y922BhjWgQzWXcXNrz0ogtVhfEd2o
			dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U 4twFt5NiznN84AWoo1d7KO1T_yoc0Z6XOpOVswacPZg`},
	} {
		for v := range strings.FieldsSeq(row.values) {
			m[plainValue(v)] = true
		}
	}
	return m
}()

// publishedKeyList is of private keys that stand in the sources of public projects: the
// SHA-256 of their DER, and where. A key of a test that is not here is a key.
//
//go:embed published_keys.txt
var publishedKeyList string

// publishedKeys are the hashes of that list.
var publishedKeys = sync.OnceValue(func() map[string]bool {
	keys := map[string]bool{}
	for line := range strings.Lines(publishedKeyList) {
		if sum, _, ok := strings.Cut(line, " "); ok && len(sum) == 2*sha256.Size {
			keys[sum] = true
		}
	}
	return keys
})

// groupSigns part the groups of a number or a key that people are to read.
var groupSigns = strings.NewReplacer(" ", "", "-", "", ".", "")

// plainValue is a value without what parts its groups, in lower case.
func plainValue(v string) string { return strings.ToLower(groupSigns.Replace(v)) }

// commonPasswords are the first that anybody tries: the heads of the lists of passwords
// that were found in leaks, the defaults of databases and brokers, and the words that
// manuals put in a password's place. Who knows one of them knows nothing.
var commonPasswords = wordList(`123456 password 12345678 qwerty 123456789 12345 1234 111111 1234567 dragon 123123 baseball abc123 football monkey letmein 696969 shadow
	master 666666 qwertyuiop 123321 mustang 1234567890 michael 654321 superman 1qaz2wsx 7777777 121212 000000 qazwsx 123qwe killer trustno1 jordan jennifer zxcvbnm
	asdfgh hunter buster soccer harley batman andrew tigger sunshine iloveyou fuckyou 2000 charlie robert thomas hockey ranger daniel starwars klaster 112233 george
	computer michelle jessica pepper 1111 zxcvbn 555555 11111111 131313 freedom 777777 pass maggie 159753 aaaaaa ginger princess joshua cheese amanda summer love ashley
	nicole chelsea biteme matthew access yankees 987654321 dallas austin thunder taylor matrix welcome admin login passw0rd qwerty123 password1 password123 hunter2 correcthorsebatterystaple
	tr0ub4dor troubador troubadour opensesame sesame postgres root guest test testing demo dev local minioadmin minio rabbitmq mysql mariadb mongo mongodb redis elastic kibana cassandra neo4j oracle
	sa vagrant docker kubernetes secret secrets passwd pwd pw pswd passphrase mypass mypassword dbpass dbpassword userpass username user name hidden foo bar baz foobar qux quux
	hello world changeme changeit default example placeholder dummy token xxx s3cr3t letmein admin123 root123 test123 test1234 user123 toor p4ssw0rd pa55word pa55w0rd 1q2w3e4r 1q2w3e qwe123`)

// signsForLetters are the ones that people put in the place of letters.
var signsForLetters = strings.NewReplacer("0", "o", "1", "l", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s")

// common reports whether a password is one that anybody tries, also with signs in the
// place of letters and a number behind it.
func common(v string) bool {
	if len(v) > 40 {
		return false
	}
	if s, err := url.PathUnescape(v); err == nil {
		v = s
	}
	v = strings.ToLower(v)
	if half := len(v) / 2; half > 2 && v[:half] == v[half:] { // twice the same
		v = v[:half]
	}
	plain := strings.Map(func(r rune) rune {
		switch r {
		case ' ', '-', '_', '.', '!', '^', '?', '*', '#', '/', ',':
			return -1
		}
		return r
	}, v)
	for _, form := range []string{v, plain, strings.TrimRight(plain, "0123456789")} {
		if commonPasswords[form] || commonPasswords[signsForLetters.Replace(form)] {
			return true
		}
	}
	return plain == ""
}

// unlessSample is the weight of a value, less where it says of itself that it is an
// example: it is published, it is of a payment service's test mode, in which no money
// moves, or without the words and rows of characters that people put into examples less
// than least is left of it, which is what a real one has.
func unlessSample(v string, least int, weight float64) float64 {
	switch {
	case published[plainValue(v)], sampleJWT(v), strings.HasPrefix(v, "sk_test_"), strings.HasPrefix(v, "rk_test_"), least > 0 && substance(v, least) < least, counted(v):
		return sampleWeight
	}
	return weight
}

// telling are words that examples are made of. The long ones count wherever they stand,
// the short ones as words of their own, since a few letters stand in any long key.
var (
	exampleParts = strings.Fields("example placeholder changeme redacted password yourkey yourtoken acctest accesstoken dummykey dummytoken faketoken notreal testtoken testkey testing default invalid insertyour")
	exampleWords = wordList(`change dummy fake sample test tests demo your insert here secret secrets passwd pass token tokens access personal installation install action apikey api key keys value not real mock foo bar
		todo replace with this that some super very long random string user admin client server private public oauth auth bearer refresh live prod dev app site will work and goes put the org account account's service`)
)

// substance counts the letters and digits of a value that are none of those words, and no
// row of characters (12345, abcde, 00000). It counts all of them where too little would go for
// that to be more than chance.
func substance(v string, least int) int {
	const chance = 7
	low := strings.ToLower(v)
	gone := make([]bool, len(v))
	take := func(from, to int) {
		for ; from < to; from++ {
			gone[from] = true
		}
	}
	for _, w := range exampleParts {
		for at := 0; ; at += len(w) {
			i := strings.Index(low[at:], w)
			if i < 0 {
				break
			}
			at += i
			take(at, at+len(w))
		}
	}
	for i := 0; i < len(v); { // words: a case, or a capital and small letters
		j := i
		for j < len(v) && isAlpha(v[j]) && (j == i || isUpper(v[j]) == isUpper(v[j-1]) || j == i+1 && isUpper(v[i])) {
			j++
		}
		if j-i >= 3 && exampleWords[low[i:j]] {
			take(i, j)
		}
		i = max(j, i+1)
	}
	for i := 0; i+1 < len(v); { // rows
		j, step := i+1, low[i+1]-low[i]
		for j < len(v) && isAlnum(low[j]) && low[j]-low[j-1] == step && (step == 0 || step == 1 || step == 0xff) {
			j++
		}
		if j-i >= 5 {
			take(i, j)
		}
		i = max(j-1, i+1)
	}
	left, went := 0, 0
	for i := range len(v) {
		if gone[i] {
			went++
		} else if isAlnum(v[i]) {
			left++
		}
	}
	if went < chance {
		return max(left+went, least)
	}
	return left
}

// counted reports whether a value was written by counting: 0001020304, a1b2c3d4, 7f8a9b0c.
// By chance hardly any two characters follow each other so.
func counted(v string) bool {
	if len(v) < 16 {
		return false
	}
	follows := func(i, j int) bool {
		a, b := v[i]|0x20, v[j]|0x20
		return b == a+1 || a == '9' && (b == '0' || b == 'a') || a == '0' && b == 'a' || a == 'f' && b == '0'
	}
	steps, letters := 0, 0
	for i := 2; i < len(v); i++ {
		if !isDigit(v[i]) {
			letters++
		}
		still := i > 3 && v[i] == v[i-2] && v[i-2] == v[i-4] // the half of a pair that waits: 00 01 02
		if follows(i-2, i) || follows(i-1, i) || still {
			steps++
		}
	}
	if of := len(v) - 2; letters < 4 {
		return 5*steps >= 4*of
	}
	return 2*steps >= len(v)-2
}

// sampleNumber reports whether digits, given as values, are those of a known sample, or
// hold so many zeros in a row as only numbers for tests do.
func sampleNumber(digits []byte) bool {
	const zeros = 7
	var number [20]byte
	row := 0
	for i, d := range digits {
		number[i] = '0' + d
		if row++; d != 0 {
			row = 0
		}
		if row >= zeros {
			return true
		}
	}
	return published[string(number[:len(digits)])]
}

// sampleSSN reports whether a number was printed, or each of its groups or all of it is a row.
func sampleSSN(d []byte) bool {
	same := func(g []byte) bool {
		return !slices.ContainsFunc(g, func(x byte) bool { return x != g[0] })
	}
	return sampleNumber(d) || same(d[:3]) && same(d[3:5]) && same(d[5:9]) || slices.Equal(d, []byte{1, 2, 3, 4, 5, 6, 7, 8, 9})
}

// exampleHost reports whether an address is nobody's: reserved for examples by RFC 2606
// and RFC 6761, or the machine's own.
func exampleHost(host string) bool {
	host = strings.TrimRight(strings.ToLower(host), ".")
	for _, name := range []string{"example", "test", "invalid", "localhost", "example.com", "example.org", "example.net"} {
		if host == name || strings.HasSuffix(host, "."+name) {
			return true
		}
	}
	return strings.HasPrefix(host, "127.") || host == "0.0.0.0" || host == "[::1]" || strings.HasPrefix(host, "192.0.2.") || strings.HasPrefix(host, "198.51.100.") || strings.HasPrefix(host, "203.0.113.")
}

// urlWeight is the weight of a URL's password: less where it is its user's name, or one
// that anybody tries, or where the address is nobody's and the password no long key, which
// could be meant for another.
func urlWeight(user, password, host string) float64 {
	const long = 16
	const few = 3 // so short a one is found by trying all of them
	if strings.EqualFold(password, user) || common(password) || len(password) <= few || exampleHost(host) && (len(password) < long || entropy(password[:min(len(password), 128)]) < 3.3) {
		return sampleWeight
	}
	if rest, found := strings.CutPrefix(password, user); found && user != "" && wordsOnly(rest) { // deployer:deployer-secret
		return sampleWeight
	}
	return unlessSample(password, 6, 0.8)
}

// wordsOnly reports whether a text is of the words of examples alone.
func wordsOnly(v string) bool {
	for word := range strings.FieldsFuncSeq(strings.ToLower(v), func(r rune) bool { return r == '-' || r == '_' || r == '.' }) {
		if !exampleWords[word] {
			return false
		}
	}
	return true
}

// written is before any version that knows this rule: what ended by then opens nothing.
var written = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Unix()

// sampleJWT reports whether a value, whatever is said before it, is a JSON web token that opens
// nothing.
func sampleJWT(v string) bool {
	if !strings.HasPrefix(v, "eyJ") {
		return false
	}
	_, rest, _ := strings.Cut(v, ".")
	payload, signature, ok := strings.Cut(rest, ".")
	return ok && sampleToken(payload, signature)
}

// sampleToken reports whether a JSON web token opens nothing: it is printed in documents,
// it ended long ago, which nobody can change without a new signature, or all that it
// claims is said in the words of examples, so that it speaks of nobody.
func sampleToken(payload, signature string) bool {
	if published[plainValue(signature)] {
		return true
	}
	var claims struct {
		Exp float64 `json:"exp"`
	}
	text, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil || len(text) > maxToken || json.Unmarshal(text, &claims) != nil {
		return false
	}
	return claims.Exp > 0 && claims.Exp < float64(written) || ofNobody(text)
}

// ofNobody reports whether a token's claims are words of examples, and at least one is there.
func ofNobody(payload []byte) bool {
	var claims map[string]any
	if json.Unmarshal(payload, &claims) != nil || len(claims) == 0 {
		return false
	}
	said := 0
	for name, v := range claims {
		text, ok := v.(string)
		switch {
		case ok && (common(text) || exampleWords[strings.ToLower(text)] || strings.EqualFold(text, map[string]string{"iss": "issuer", "sub": "subject", "aud": "audience"}[name])):
			said++
		case !ok && (name == "exp" || name == "iat" || name == "nbf"):
		default:
			return false
		}
	}
	return said > 0
}

// keyWeight is the weight of a private key's armour: less where what it holds is too
// little for any key, or is a published one.
func keyWeight(body string) float64 {
	const least = 40 // bytes of the smallest: Ed25519 in PKCS #8 has 48
	der := keyIn(body)
	if der == nil {
		return 0.95
	}
	if len(der) < least || isPublished(der) && onlyCipher(body) { // another header can hold anything
		return sampleWeight
	}
	return 0.95
}

// cipherHeader are the two headers with which PEM says that a key is encrypted, and how:
// they have no room for anything else.
var cipherHeader = lazyregexp.New(`^(Proc-Type: 4,ENCRYPTED|DEK-Info: [A-Z0-9-]{1,16},[0-9A-Fa-f]{16,32})$`)

// onlyCipher reports whether a key's armour has no other headers than those.
func onlyCipher(body string) bool {
	for line := range strings.Lines(lineEnds.Replace(body)) {
		if strings.Contains(line, ": ") && !cipherHeader.MatchString(trimArmour(line)) {
			return false
		}
	}
	return true
}

// lineEnds undoes how a program's text has an armour line by line.
var lineEnds = strings.NewReplacer(`\r`, "\n", `\n`, "\n", `"`, "\n", "`", "\n", "'", "\n")

func trimArmour(line string) string { return strings.Trim(line, " \t\r\n|>,;()") }

// keyIn is what stands in a private key's armour, also where a program's text has it line by
// line; nil for what is no base64.
func keyIn(body string) []byte {
	const most = 16 << 10
	if len(body) > most {
		return nil
	}
	var text strings.Builder
	summed := false
	for line := range strings.Lines(lineEnds.Replace(body)) {
		line = trimArmour(line)
		switch {
		case summed && line != "" && !strings.HasPrefix(line, "-"):
			return nil // something else behind the end
		case len(line) == 5 && line[0] == '=': // OpenPGP's checksum of what stands before it
			summed = true
			continue
		}
		if line != "+" && !strings.Contains(line, ": ") && !strings.HasPrefix(line, "-") { // + joins texts, and is a letter of base64
			text.WriteString(line)
		}
	}
	der, err := base64.StdEncoding.DecodeString(text.String())
	if err != nil {
		return nil
	}
	return der
}

func isPublished(der []byte) bool {
	sum := sha256.Sum256(der)
	return publishedKeys()[hex.EncodeToString(sum[:])]
}
