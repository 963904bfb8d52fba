package risk

import (
	"strings"
)

// numbers is a run of groups of digits, parted as people part them: what cards,
// social security and phone numbers are read from.
type numbers struct {
	digits [20]byte // their values
	n      int
	groups [20]group
	g      int
}

type group struct {
	length int
	end    int  // in the text
	total  int  // digits up to its end
	sep    byte // what parts it from the group before; 'm' for more than one character
}

// number looks at a run of digits that begins a word.
func (s *scanner) number(i int) {
	const pii = Card | SSN | Phone
	text := s.text
	length := 1
	for i+length < len(text) && length < 21 && isDigit(text[i+length]) {
		length++
	}
	end := i + length
	if length >= 8 && length <= 10 && s.want&Secret != 0 && strings.HasPrefix(text[end:], ":AA") {
		s.telegramToken(i, end)
	}
	if s.want&pii == 0 || length > 19 {
		return
	}
	announced := i-s.phoneAt < 64
	if length < 7 {
		// Most numbers are short and alone, or a time's or a version's part.
		if end+1 >= len(text) || !partings.has(text[end]) || !isDigit(text[end+1]) && (length != 3 || text[end] != ')') && text[end+1] != ' ' {
			return
		}
		if length != 3 && length != 1 && !announced && !(length >= 4 && plausibleBrand(text[i]-'0', text[i+1]-'0')) && i-s.cardAt > 64 {
			return
		}
	}
	if i > 0 && !numberMayFollow(text, i) {
		return
	}
	var d numbers
	d.read(text, i)
	if d.n < 7 {
		return
	}
	if s.want&Card != 0 {
		s.card(i, &d)
	}
	if s.want&SSN != 0 {
		s.ssn(i, &d)
	}
	if s.want&Phone != 0 {
		s.nationalPhone(i, &d)
	}
}

// numberMayFollow reports whether the digits at i begin a number: not the
// fraction of one, nor the rest of a word.
func numberMayFollow(text string, i int) bool {
	switch c := text[i-1]; c {
	case '.', ',':
		return i < 2 || !isAlnum(text[i-2])
	}
	return true
}

// read reads groups of digits from i, up to as many as there is room for. A
// group that is too long for it is left out.
func (d *numbers) read(text string, i int) {
	sep := byte(0)
	for at := i; ; {
		start := at
		for at < len(text) && isDigit(text[at]) {
			if d.n == len(d.digits) {
				d.n = 0
				if d.g > 0 {
					d.n = d.groups[d.g-1].total
				}
				return
			}
			d.digits[d.n] = text[at] - '0'
			d.n++
			at++
		}
		d.groups[d.g] = group{at - start, at, d.n, sep}
		d.g++
		if d.g == len(d.groups) || at >= len(text) {
			return
		}
		start = at
		for at < len(text) && at-start < 3 && partings.has(text[at]) {
			at++
		}
		if at == start || at >= len(text) || !isDigit(text[at]) {
			return
		}
		if sep = text[start]; at-start > 1 {
			sep = 'm'
			if strings.Trim(text[start:at], " ") == "" {
				sep = ' '
			} else if text[start] == ')' {
				sep = ')'
			}
		}
	}
}

// endsHere reports whether a number may end at end: what follows does not
// belong to it.
func endsHere(text string, end int) bool {
	if end >= len(text) {
		return true
	}
	switch c := text[end]; {
	case isAlnum(c), c == '_':
		return false
	case c == '.' || c == ',':
		return end+1 >= len(text) || !isDigit(text[end+1])
	}
	return true
}

// card looks for a payment card number: 13 to 19 digits of a brand that has so
// many, plain or grouped as on cards, whose check digit is right.
func (s *scanner) card(i int, d *numbers) {
	for g := d.g - 1; g >= 0; g-- {
		n, end := d.groups[g].total, d.groups[g].end
		if n < 13 {
			return
		}
		if n > 19 || g == d.g-1 && !endsHere(s.text, end) || g < d.g-1 && d.groups[g+1].sep != ' ' && d.groups[g+1].sep != '/' {
			continue
		}
		// Behind a minus stands a quantity, unless a word says otherwise.
		minus := i > 0 && s.text[i-1] == '-' && (i == 1 || !isAlnum(s.text[i-2]))
		if known := i-s.cardAt < 64; (known || !minus) && brand(d.digits[:n]) && luhn(d.digits[:n]) && (known || grouped(d, g)) {
			weight := 0.7
			if sampleNumber(d.digits[:n]) {
				weight = sampleWeight
			}
			s.add(Card, "pii.card", "card number", i, end, weight)
			return
		}
	}
}

// grouped reports whether the digits up to group last are grouped as on cards.
// Numbers in one piece must have a length that is not that of many other numbers.
func grouped(d *numbers, last int) bool {
	n := d.groups[last].total
	if last == 0 {
		return n >= 14 && n <= 16
	}
	for g := 0; g <= last; g++ {
		switch sep := d.groups[g].sep; {
		case g > 0 && sep != ' ' && sep != '-' && sep != '.', g > 1 && sep != d.groups[1].sep:
			return false
		}
		switch length := d.groups[g].length; {
		case length == 4:
		case g == last && (length == 3 && n == 19 || length == 5 && (n == 13 || n == 15) || length == 4):
		case g == 1 && length == 6 && (n == 14 || n == 15):
		default:
			return false
		}
	}
	return true
}

func plausibleBrand(a, b byte) bool {
	return a >= 3 && a <= 6 || a == 2 && b >= 2 && b <= 7 || a == 8 && b == 1
}

// brand reports whether a number begins as those of its length do.
func brand(d []byte) bool {
	n := len(d)
	two := int(d[0])*10 + int(d[1])
	four := two*100 + int(d[2])*10 + int(d[3])
	switch {
	case d[0] == 4: // Visa
		return n == 13 || n == 16 || n == 19
	case two >= 51 && two <= 55, four >= 2221 && four <= 2720: // Mastercard
		return n == 16
	case four >= 2200 && four <= 2204: // Mir
		return n >= 16
	case two == 34, two == 37: // American Express
		return n == 15
	case two == 36, two == 38, two == 39, four/10 >= 300 && four/10 <= 305: // Diners Club
		return n == 14 || n == 16
	case four >= 3528 && four <= 3589: // JCB
		return n >= 16
	case two == 60, two == 64, two == 65, two == 62, two == 81: // Discover, UnionPay, RuPay
		return n >= 16
	case two == 50, two >= 56 && two <= 69: // Maestro
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
// given out. In one piece, only beside a word that announces one.
func (s *scanner) ssn(i int, d *numbers) {
	text := s.text
	var end int
	switch {
	case d.groups[0].length == 9:
		end = d.groups[0].end
		if i-s.ssnAt > 48 && !ssnFollows(text, end) {
			return
		}
	case d.g >= 3 && d.groups[0].length == 3 && d.groups[1].length == 2 && d.groups[2].length == 4 &&
		d.groups[1].sep == d.groups[2].sep && (d.groups[1].sep == '-' || d.groups[1].sep == ' ' || d.groups[1].sep == '.'):
		end = d.groups[2].end
		// In a longer row of numbers these three are nothing of their own.
		if i-s.ssnAt > 48 && (d.g > 3 || i > 1 && !isAlpha(text[i-2]) && isDigit(text[i-2]) || d.groups[1].sep == '.') {
			return
		}
	default:
		return
	}
	x := &d.digits
	area := int(x[0])*100 + int(x[1])*10 + int(x[2])
	if area == 0 || area == 666 || area >= 900 || x[3]+x[4] == 0 || x[5]+x[6]+x[7]+x[8] == 0 || !endsHere(text, end) ||
		end+1 < len(text) && text[end] == '-' && isAlnum(text[end+1]) || i > 1 && text[i-1] == '-' && isAlnum(text[i-2]) {
		return
	}
	weight := 0.7
	if sampleSSN(x[:9]) {
		weight = sampleWeight
	}
	s.add(SSN, "pii.ssn", "social security number", i, end, weight)
}

// ssnFollows reports whether the few words behind a number call it one.
func ssnFollows(text string, end int) bool {
	next := strings.ToLower(text[end:min(len(text), end+28)])
	if stop := strings.IndexAny(next, ".;\n["); stop >= 0 {
		next = next[:stop]
	}
	at := strings.Index(next, "ssn")
	return at > 0 && !isAlnum(next[at-1]) && (at+3 == len(next) || !isAlnum(next[at+3])) || strings.Contains(next, "social security")
}

var (
	phoneWords = wordList("phone phones telephone telefon telefono telefonnummer tel tlf mobile mobil mobiltelefon handy handynummer cell cellphone fax whatsapp sms hotline call phonenumber mobilenumber telephonenumber mobilephone téléphone teléfono")
	// Between such a word and its number stand these only.
	phoneLinks = wordList("number numbers no nr num nummer numero is was at on me us him her back home work office business contact mobile cell phone telephone now or and toll free in ext my the our your his their it s to via under numéro número")
	ssnWords   = wordList("ssn ssns social")
	cardWords  = wordList("card cards cardnumber creditcard creditcardnumber visa mastercard maestro amex american credit debit pan diners discover cc ccnumber payment")
)

func wordList(list string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		m[w] = true
	}
	return m
}

// announces reports whether the word at i is in a list, and not a part of a
// placeholder.
func (s *scanner) announces(i int, list map[string]bool) bool {
	w := words{text: s.text, at: i}
	if !w.next() || w.from != i || !list[string(w.buf[:w.n])] {
		return false
	}
	if i > 0 && s.text[i-1] == '[' {
		line := s.text[i:min(len(s.text), i+32)]
		return !strings.Contains(line, removed)
	}
	return true
}

// phoneAnnounced reports whether a word that announces a phone number leads to
// the number at i.
func (s *scanner) phoneAnnounced(i int) bool {
	if i-s.phoneAt > 48 {
		return false
	}
	w := words{text: s.text[:i], at: s.phoneAt}
	w.next()
	call := w.is("call") // also a noun, and said of much else
	for w.next() {
		if call && !w.oneOf("me", "us", "him", "her", "my", "our", "at", "on") {
			return false
		}
		call = false
		if !phoneLinks[string(w.buf[:w.n])] {
			return false
		}
	}
	between := s.text[w.at:i]
	return !call && len(between) <= 12 && strings.IndexByte(between, '\n') < 0 && !strings.ContainsAny(between, "0123456789[]")
}

// ibanLengths are the lengths of account numbers by country.
var ibanLengths = func() (t [26][26]uint8) {
	const lengths = "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 " +
		"FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 " +
		"GT28 HN28 HR21 HU28 IE22 IL23 " +
		"IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 " +
		"LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 " +
		"SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30"
	for f := range strings.FieldsSeq(lengths) {
		t[f[0]-'A'][f[1]-'A'] = (f[2]-'0')*10 + f[3] - '0'
	}
	return
}()

// iban looks for an account number: country, check digits, the country's
// length in letters and digits, in one piece or in groups, and ISO 7064's
// remainder of 1.
func (s *scanner) iban(i int) {
	text := s.text
	if !isAlpha(text[i+1]) || i > 0 && text[i-1] == '_' || i > 1 && text[i-1] == '-' && isAlnum(text[i-2]) {
		return
	}
	length := int(ibanLengths[text[i]|0x20-'a'][text[i+1]|0x20-'a'])
	if length == 0 {
		return
	}
	var compact [34]byte
	n, digits, gaps, end := 0, 0, 0, i
	for j := i; j < len(text) && n < length; j++ {
		switch c := text[j]; {
		case isDigit(c):
			digits++
			compact[n] = c
		case isAlpha(c):
			compact[n] = c &^ 0x20
		case (c == ' ' || c == '-') && n >= 4 && j+1 < len(text) && isAlnum(text[j+1]):
			gaps++
			continue
		default:
			return
		}
		n++
		end = j + 1
	}
	if n < length || !endsHere(text, end) || 2*digits < length || gaps > length/3 ||
		gaps == 0 && !isUpper(text[i]) && digits < length-2 {
		return
	}
	rest := 0
	for k := range n {
		c := compact[(k+4)%n]
		if isDigit(c) {
			rest = (rest*10 + int(c-'0')) % 97
		} else {
			rest = (rest*100 + int(c-'A'+10)) % 97
		}
	}
	if rest == 1 {
		weight := 0.6
		if published[strings.ToLower(string(compact[:n]))] || strings.Contains(string(compact[:n]), "000000000") {
			weight = sampleWeight
		}
		s.add(IBAN, "pii.iban", "IBAN", i, end, weight)
	}
}

// Bounds of an address, by RFC 5321.
const (
	maxLocal  = 64
	maxDomain = 255
)

// fileEndings are endings of file names that look like the end of a domain, as
// in icon@2x.png.
var fileEndings = wordList("png jpg jpeg gif svg webp ico avif css js mjs json html pdf zip gz txt xml yaml yml")

// email looks at both sides of an @.
func (s *scanner) email(at int) {
	text := s.text
	if s.want&Email == 0 || at == 0 || at+4 > len(text) || !isAlnum(text[at+1]) {
		return
	}
	start := at
	for start > 0 && at-start <= maxLocal && localByte(text[start-1]) {
		start--
	}
	for start < at && !isAlnum(text[start]) && text[start] != '_' && text[start] < 0x80 {
		start++
	}
	for start < at && text[start]&0xc0 == 0x80 { // within a character
		start++
	}
	end, dot := at+1, 0
	for end < len(text) && end-at <= maxDomain && (isAlnum(text[end]) || text[end] == '-' || text[end] == '.' && end+1 < len(text) && isAlnum(text[end+1])) {
		if text[end] == '.' {
			dot = end
		}
		end++
	}
	for text[end-1] == '-' {
		end--
	}
	if start == at || at-start > maxLocal || text[at-1] == '.' || dot == 0 || dot >= end || end-dot < 3 {
		return
	}
	top := text[dot+1 : end]
	for k := range len(top) {
		if !isAlpha(top[k]) && !strings.HasPrefix(top, "xn--") {
			return
		}
	}
	if len(top) <= 5 && fileEndings[strings.ToLower(top)] {
		return
	}
	if start > 0 && (text[start-1] == '@' || text[start-1] == '/' && start > 1 && text[start-2] == '/') {
		return // a name on another server; the user of a URL
	}
	if start > 0 && text[start-1] == ':' && userInfo(text[:start]) {
		return // the password of a URL
	}
	if end+1 < len(text) && text[end] == ':' && (isAlpha(text[end+1]) || text[end+1] == '~' || text[end+1] == '/') {
		return // host:path, as ssh writes it
	}
	s.add(Email, "pii.email", "e-mail address", start, end, 0.2)
}

// userInfo reports whether a text ends with scheme://name: of a URL.
func userInfo(text string) bool {
	i := len(text)
	for i > 0 && len(text)-i < maxLocal && text[i-1] > ' ' && text[i-1] != '/' {
		i--
	}
	return strings.HasSuffix(text[:i], "://")
}

// localByte reports whether c can stand before the @: what RFC 5322 calls an
// atom, less what rarely belongs to an address and often surrounds one, and
// letters with accents.
func localByte(c byte) bool {
	return isAlnum(c) || strings.IndexByte("._%+-!#$&*?^|~", c) >= 0 || c >= 0xc3 && c <= 0xc9 || c&0xc0 == 0x80
}

// internationalPhone looks for + and a country's code and number.
func (s *scanner) internationalPhone(i int) {
	text := s.text
	if s.want&Phone == 0 || i+1 >= len(text) || !isDigit(text[i+1]) || text[i+1] == '0' ||
		i > 0 && (isAlnum(text[i-1]) || strings.IndexByte("+._/", text[i-1]) >= 0) {
		return
	}
	n, end, gaps, dots := 0, i+1, 0, 0
	for j := i + 1; j < len(text) && j-i < 26; j++ {
		c := text[j]
		if isDigit(c) {
			if j > end {
				if gaps == 0 && n >= 9 { // another number
					break
				}
				gaps++
				if text[end] == '.' {
					dots++
				}
			}
			n++
			end = j + 1
		} else if strings.IndexByte(" -.()/", c) < 0 || j-end > 1 {
			break
		}
	}
	if dots == 1 && gaps == 1 { // a decimal number
		return
	}
	least, most := 9, 15
	switch text[i+1] {
	case '1', '7':
		least, most = 11, 11
	}
	if n < least || n > most || gaps > 8 || !endsHere(text, end) {
		return
	}
	s.add(Phone, "pii.phone", "phone number", i, end, 0.2)
}

// nationalPhone looks for (212) 555-0123, 212-555-0123 and 1-212-555-0123, and
// for other groups of digits only behind a word that announces a phone number.
func (s *scanner) nationalPhone(i int, d *numbers) {
	text := s.text
	start := i
	if i > 0 {
		switch c := text[i-1]; {
		case c == '(':
			start--
		case c == '-' || c == '/' || c == '+' || c == '.' || c == '_' || c == '#':
			return
		case c == ' ' && i > 1 && isDigit(text[i-2]):
			return
		}
	}
	end, first := -1, 0
	if d.groups[0].length == 1 && d.digits[0] == 1 {
		first = 1
	}
	if g := d.groups[first:d.g]; len(g) >= 3 && g[0].length == 3 && g[1].length == 3 && g[2].length == 4 &&
		g[1].sep != ' ' && g[1].sep != '/' && (g[2].sep == '-' || g[2].sep == '.' || g[2].sep == ' ' && g[1].sep == ')') && len(g) == 3 {
		if x := d.digits[g[0].total-3:]; x[0] >= 2 && x[3] >= 2 {
			end = g[2].end
		}
	}
	if end < 0 && s.phoneAnnounced(start) {
		for g := d.g - 1; g >= 0 && end < 0; g-- {
			if n := d.groups[g].total; n >= 7 && n <= 14 {
				end = d.groups[g].end
			}
		}
		if d.g == 3 && d.groups[0].length == 4 && d.groups[1].length == 2 && d.groups[2].length == 2 && d.groups[1].sep == '-' {
			return // a date
		}
	}
	if end < 0 || !endsHere(text, end) || end+1 < len(text) && text[end] == '-' && isAlnum(text[end+1]) {
		return
	}
	s.add(Phone, "pii.phone", "phone number", start, end, 0.2)
}
