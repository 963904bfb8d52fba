package risk

import "strings"

// card looks for a payment card number: 13 to 19 digits of a known brand, plain
// or grouped as on cards, whose check digit is right.
func (s *scanner) card(i int) {
	text := s.text
	if i > 0 && (text[i-1] == '.' || text[i-1] == '-' || text[i-1] == '/') {
		return
	}
	var digits [19]byte
	var groups [8]int
	n, g, end := 0, 0, i
	for j := i; j < len(text); j++ {
		c := text[j]
		switch {
		case isDigit(c):
			if n == len(digits) {
				return // too long for a card
			}
			digits[n] = c - '0'
			n++
			groups[g]++
			end = j + 1
			continue
		case (c == ' ' || c == '-') && j == end && g < len(groups)-1 && j+1 < len(text) && isDigit(text[j+1]):
			// A number that ends here may be followed by another one.
			if n >= 13 && cardOK(digits[:n], groups[:g+1]) {
				s.add(Card, "pii.card", "card number", i, end, 0.7)
				return
			}
			g++
			continue
		}
		break
	}
	if end < len(text) && isWord(text[end]) || n < 13 || !cardOK(digits[:n], groups[:g+1]) {
		return
	}
	s.add(Card, "pii.card", "card number", i, end, 0.7)
}

func cardOK(d []byte, groups []int) bool {
	n := len(d)
	if !brand(d) || !luhn(d) {
		return false
	}
	if len(groups) == 1 {
		return true
	}
	for _, g := range groups[:len(groups)-1] { // 4-4-4-4, 4-6-5, 4-4-5, 4-4-4-4-3
		if g != 4 && !(g == 6 && (n == 15 || n == 14)) {
			return false
		}
	}
	return true
}

// brand reports whether a number begins as those of its length do.
func brand(d []byte) bool {
	n := len(d)
	two := int(d[0])*10 + int(d[1])
	four := two*100 + int(d[2])*10 + int(d[3])
	switch {
	case d[0] == 4: // Visa
		return n == 13 || n == 16 || n == 19
	case two >= 51 && two <= 55 || four >= 2221 && four <= 2720: // Mastercard
		return n == 16
	case two == 34 || two == 37: // American Express
		return n == 15
	case two == 36 || two == 38 || two == 39 || two == 30: // Diners Club
		return n == 14 || n == 16
	case two == 35: // JCB
		return n == 16
	case two == 60 || two == 64 || two == 65 || two == 62 || two == 81: // Discover, UnionPay, RuPay
		return n >= 16
	case two == 50 || two >= 56 && two <= 69: // Maestro
		return n >= 16
	}
	return false
}

func luhn(d []byte) bool {
	sum, same := 0, true
	for i := range d {
		x := int(d[len(d)-1-i])
		same = same && d[i] == d[0]
		if i%2 == 1 {
			if x *= 2; x > 9 {
				x -= 9
			}
		}
		sum += x
	}
	return sum%10 == 0 && !same
}

// ssn looks for a social security number: 123-45-6789 with numbers that are
// given out; with spaces or plain only behind words that announce one.
func (s *scanner) ssn(i int) {
	text := s.text
	if i > 0 && (text[i-1] == '-' || text[i-1] == '.') || i+9 > len(text) {
		return
	}
	var d [9]byte
	n, end := 0, i
	sep := byte(0)
	for j := i; j < len(text) && n < 9; j++ {
		c := text[j]
		if isDigit(c) {
			d[n] = c - '0'
			n++
			end = j + 1
			continue
		}
		if n == 3 && sep == 0 && (c == '-' || c == ' ') {
			sep = c
		} else if n != 5 || c != sep || text[j-1] == c {
			return
		}
	}
	if n < 9 || end < len(text) && (isWord(text[end]) || text[end] == '-' && end+1 < len(text) && isDigit(text[end+1])) {
		return
	}
	if length := end - i; sep == 0 && length != 9 || sep != 0 && length != 11 {
		return
	}
	area := int(d[0])*100 + int(d[1])*10 + int(d[2])
	if area == 0 || area == 666 || area >= 900 || d[3]+d[4] == 0 || d[5]+d[6]+d[7]+d[8] == 0 {
		return
	}
	if sep != '-' && !announced(text[max(0, i-40):i], "ssn", "social security", "social-security") {
		return
	}
	s.add(SSN, "pii.ssn", "social security number", i, end, 0.7)
}

// announced reports whether a short text holds one of some lower-case words.
func announced(before string, words ...string) bool {
	before = strings.ToLower(before)
	for _, w := range words {
		if strings.Contains(before, w) {
			return true
		}
	}
	return false
}

// ibanLengths are the lengths of account numbers by country.
var ibanLengths = map[string]int{
	"AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22, "BI": 27, "BR": 29, "BY": 28,
	"CH": 21, "CR": 22, "CY": 28, "CZ": 24, "DE": 22, "DJ": 27, "DK": 18, "DO": 28, "EE": 20, "EG": 29, "ES": 24, "FI": 18,
	"FK": 18, "FO": 18, "FR": 27, "GB": 22, "GE": 22, "GI": 23, "GL": 18, "GR": 27, "GT": 28, "HN": 28, "HR": 21, "HU": 28,
	"IE": 22, "IL": 23, "IQ": 23, "IS": 26, "IT": 27, "JO": 30, "KW": 30, "KZ": 20, "LB": 28, "LC": 32, "LI": 21, "LT": 20,
	"LU": 20, "LV": 21, "LY": 25, "MC": 27, "MD": 24, "ME": 22, "MK": 19, "MN": 20, "MR": 27, "MT": 31, "MU": 30, "NI": 28,
	"NL": 18, "NO": 15, "OM": 23, "PK": 24, "PL": 28, "PS": 29, "PT": 25, "QA": 29, "RO": 24, "RS": 22, "RU": 33, "SA": 24,
	"SC": 31, "SD": 18, "SE": 24, "SI": 19, "SK": 24, "SM": 27, "SO": 23, "ST": 25, "SV": 28, "TL": 23, "TN": 24, "TR": 26,
	"UA": 29, "VA": 22, "VG": 24, "XK": 20, "YE": 30,
}

// iban looks for an account number: country, check digits, the country's
// length in capitals and digits, in one piece or in groups, and ISO 7064's
// remainder of 1.
func (s *scanner) iban(i int) {
	text := s.text
	want := ibanLengths[text[i:i+2]]
	if want == 0 {
		return
	}
	var compact [34]byte
	n, end := 0, i
	for j := i; j < len(text) && n < want; j++ {
		c := text[j]
		switch {
		case isDigit(c) || isUpper(c):
			compact[n] = c
			n++
			end = j + 1
		case c == ' ' && text[j-1] != ' ' && n >= 4:
		default:
			return
		}
	}
	if n < want || end < len(text) && isWord(text[end]) {
		return
	}
	rest := 0
	for k := range want {
		c := compact[(k+4)%want]
		if isDigit(c) {
			rest = (rest*10 + int(c-'0')) % 97
		} else {
			rest = (rest*100 + int(c-'A') + 10) % 97
		}
	}
	if rest == 1 {
		s.add(IBAN, "pii.iban", "bank account number", i, end, 0.6)
	}
}

// Bounds of an address, by RFC 5321.
const (
	maxLocal  = 64
	maxDomain = 255
)

// email looks at both sides of an @.
func (s *scanner) email(at int) {
	if s.want&Email == 0 {
		return
	}
	text := s.text
	start := at
	for start > 0 && at-start <= maxLocal && localByte(text[start-1]) {
		start--
	}
	for start < at && (text[start] == '.' || text[start] == '-' || text[start] == '\'') {
		start++
	}
	end, dot := at+1, 0
	for end < len(text) && end-at <= maxDomain && (isWord(text[end]) && text[end] != '_' || text[end] == '-' || text[end] == '.') {
		if text[end] == '.' {
			dot = end
		}
		end++
	}
	for end > at+1 && (text[end-1] == '.' || text[end-1] == '-') {
		end--
	}
	if dot >= end {
		dot = at + strings.LastIndexByte(text[at:end], '.')
	}
	if start == at || at-start > maxLocal || dot <= at+1 || end-dot < 3 || text[at-1] == '.' {
		return
	}
	for _, c := range []byte(text[dot+1 : end]) {
		if classes[c] != letter {
			return
		}
	}
	s.add(Email, "pii.email", "e-mail address", start, end, 0.2)
}

func localByte(c byte) bool {
	return isWord(c) || strings.IndexByte(".+-%'!#$&*/=?^`{|}~", c) >= 0 && c != '/' && c != '=' && c != '\'' && c != '`' && c != '{' && c != '}'
}

// internationalPhone looks for + and 8 to 15 digits.
func (s *scanner) internationalPhone(i int) {
	text := s.text
	if s.want&Phone == 0 || i+1 >= len(text) || !isDigit(text[i+1]) || text[i+1] == '0' ||
		i > 0 && (isWord(text[i-1]) || text[i-1] == '+' || text[i-1] == '.') {
		return
	}
	n, end, gaps := 0, i+1, 0
	for j := i + 1; j < len(text) && j-i < 24; j++ {
		switch c := text[j]; {
		case isDigit(c):
			n++
			end = j + 1
			continue
		case (c == ' ' || c == '-' || c == '.' || c == '(' || c == ')') && j-end < 2:
			gaps++
			continue
		}
		break
	}
	if n < 8 || n > 15 || gaps > 7 || end < len(text) && isWord(text[end]) {
		return
	}
	s.add(Phone, "pii.phone", "telephone number", i, end, 0.2)
}

// nationalPhone looks for (212) 555-0123 and 212-555-0123, and for other groups
// of digits only behind a word that announces a telephone number.
func (s *scanner) nationalPhone(i int) {
	text := s.text
	if s.want&Phone == 0 || i > 0 && (isWord(text[i-1]) || strings.IndexByte("-./+:", text[i-1]) >= 0) {
		return
	}
	var groups [8]int
	g, n, end := 0, 0, i
	for j := i; j < len(text) && j-i < 20; j++ {
		c := text[j]
		switch {
		case isDigit(c):
			groups[g]++
			n++
			end = j + 1
			continue
		case (c == '-' || c == '.' || c == ' ' || c == ')') && n > 0 || c == '(' && n == 0:
			if groups[g] > 0 && g < len(groups)-1 {
				g++
			}
			if j-end < 2 {
				continue
			}
		}
		break
	}
	if end < len(text) && (isWord(text[end]) || (text[end] == '-' || text[end] == '.') && end+1 < len(text) && isDigit(text[end+1])) {
		return
	}
	american := n == 10 && groups[0] == 3 && groups[1] == 3 && groups[2] == 4 && strings.ContainsAny(text[i:end], "-.)") &&
		digitAt(text, i) >= '2'
	if !american && (n < 7 || n > 14 || !announced(text[max(0, i-24):i], "phone", "tel:", "tel.", "mobile", "cell:", "call me", "fax", "whatsapp")) {
		return
	}
	s.add(Phone, "pii.phone", "telephone number", i, end, 0.2)
}

// digitAt is the first digit at or behind i.
func digitAt(text string, i int) byte {
	for !isDigit(text[i]) {
		i++
	}
	return text[i]
}
