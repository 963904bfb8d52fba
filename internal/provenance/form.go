package provenance

import (
	"html"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"reeve.example/reeve/internal/canon"
)

// A text is read as words: what stands between spaces, quotes, brackets and commas, in
// one case and one form. A value is looked up by the same words, so that it is found as
// it travels, and not inside another word.

// Classes of characters.
const (
	inWord   = iota
	between  // ends a word
	boundary // ends a field, too: a cell, a line, a member
)

var classes = func() (t [128]byte) {
	for c := range byte(0x21) {
		t[c] = between
	}
	t[0x7f] = between
	for _, c := range "\"'`()<>*\\" {
		t[c] = between
	}
	for _, c := range "\n\r\t|,;{}[]" {
		t[c] = boundary
	}
	return
}()

// alone are the scripts that are written without spaces: each character is a word.
var alone = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar}

func classOf(r rune) (class byte, single bool) {
	switch {
	case r < 0x80:
		return classes[r], false
	case unicode.IsLetter(r):
		return inWord, r >= 0x0e00 && unicode.In(r, alone...)
	case unicode.IsSpace(r), unicode.In(r, unicode.Pi, unicode.Pf, unicode.Ps, unicode.Pe, unicode.Po, unicode.Zl, unicode.Zp):
		return between, false
	}
	return inWord, false
}

// words calls yield with each word of a folded text, without the marks around it. field
// says that the word is all of its field: of a line, a cell, or what follows "key: ".
func words(s string, yield func(word string, field bool)) {
	pending, opens := "", true // the word before, and whether a field began with it
	begins := true             // a field begins here
	flush := func(closes bool) {
		if pending != "" {
			yield(pending, opens && closes)
			pending = ""
		}
	}
	for i := 0; i < len(s); {
		class, single, size := inWord, false, 1
		if c := s[i]; c < utf8.RuneSelf {
			class = int(classes[c])
		} else {
			r, n := utf8.DecodeRuneInString(s[i:])
			k, one := classOf(r)
			class, single, size = int(k), one, n
		}
		if class != inWord {
			if class == boundary {
				flush(true)
				begins = true
			}
			i += size
			continue
		}
		start := i
		for i += size; !single && i < len(s); {
			if c := s[i]; c < utf8.RuneSelf {
				if classes[c] == inWord || c == ',' && groups(s, i) {
					i++
					continue
				}
				break
			}
			r, n := utf8.DecodeRuneInString(s[i:])
			if k, one := classOf(r); k != inWord || one {
				break
			}
			i += n
		}
		flush(false)
		raw := s[start:i]
		if pending = trim(raw); pending == "" { // such as the dash of a list
			continue
		}
		opens = begins
		begins = raw[len(raw)-1] == ':'
	}
	flush(true)
}

// groups reports whether the comma at i groups the digits of a number.
func groups(s string, i int) bool {
	digit := func(k int) bool { return k >= 0 && k < len(s) && s[k]-'0' < 10 }
	return digit(i-1) && digit(i+1) && digit(i+2) && digit(i+3) && !digit(i+4) && !(digit(i-1) && digit(i-2) && digit(i-3) && digit(i-4))
}

// letters are the small letters of ASCII.
var letters = func() (t [256]bool) {
	for c := byte('a'); c <= 'z'; c++ {
		t[c] = true
	}
	return
}()

// plain reports whether a word is made of small letters only, as most are: it is its own
// form, has no parts, and stands for nothing by itself.
func plain(w string) bool {
	for i := range len(w) {
		if !letters[w[i]] {
			return false
		}
	}
	return true
}

// marks may stand around a word without being of it.
const marks = `:-_#$%&=+@!?^.`

// trim takes the marks around a word away. What begins a path stays.
func trim(s string) string {
	if s != "" && letters[s[0]] && letters[s[len(s)-1]] { // as most words
		return s
	}
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		if r >= utf8.RuneSelf && unicode.In(r, unicode.Sc, unicode.Pd, unicode.Po) {
			s = s[size:]
			continue
		}
		if strings.HasPrefix(s, "./") {
			s = s[2:]
			continue
		}
		if s[0] == '.' && len(s) > 1 && (s[1] == '_' || s[1]|0x20-'a' < 26 || strings.HasPrefix(s, "../")) {
			break // .env, ../x
		}
		if strings.IndexByte(marks, s[0]) < 0 {
			break
		}
		s = s[1:]
	}
	for s != "" {
		r, size := utf8.DecodeLastRuneInString(s)
		if r >= utf8.RuneSelf && unicode.In(r, unicode.Sc, unicode.Pd, unicode.Po) {
			s = s[:len(s)-size]
			continue
		}
		if c := s[len(s)-1]; strings.IndexByte(marks, c) < 0 && (c != '/' || len(s) == 1) {
			break
		}
		s = s[:len(s)-1]
	}
	return s
}

// fold brings a text into the one form in which its words are compared.
func fold(s string) string { return canon.Text(s) }

// decoded are the texts that a folded text says beside itself to who decodes it:
// entities of HTML, and escapes of JSON.
func decoded(s string) (other string, differs bool) {
	other = s
	if strings.Contains(s, `\u`) {
		other = unescaped(s)
	}
	if strings.IndexByte(s, '&') >= 0 && strings.IndexByte(s, ';') >= 0 {
		other = html.UnescapeString(other)
	}
	if other == s {
		return s, false
	}
	return fold(other), true
}

func unescaped(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+5 < len(s) && s[i+1] == 'u' {
			if n, err := strconv.ParseUint(s[i+2:i+6], 16, 16); err == nil && utf8.ValidRune(rune(n)) {
				b.WriteRune(rune(n))
				i += 5
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// percent decodes the percent escapes of a word; differs is false when it has none.
func percent(s string) (other string, differs bool) {
	if strings.IndexByte(s, '%') < 0 {
		return s, false
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	if b.Len() == len(s) || !utf8.ValidString(b.String()) {
		return s, false
	}
	return fold(b.String()), true
}

// shape is what a word looks like.
type shape uint8

const (
	plainWord shape = iota
	number          // its normal form is by value
	mailbox         // an e-mail address
	address         // a URL, or a host with a path
	pathLike        // with a slash
	code            // many digits, letters and digits, or a host: what names one thing by itself
)

// stands reports whether words of a shape name one thing by themselves, so that they
// need no words beside them.
func (s shape) stands() bool { return s == mailbox || s == address || s == pathLike || s == code }

// form is the normal form of a word, and its shape.
func form(w string) (string, shape) {
	for _, scheme := range [...]string{"mailto:", "tel:"} {
		w = strings.TrimPrefix(w, scheme)
	}
	if scheme, rest, ok := strings.Cut(w, "://"); ok && scheme != "" && rest != "" {
		return strings.TrimRight(strings.TrimPrefix(rest, "www."), "/"), address
	}
	if strings.HasPrefix(w, "www.") && len(w) > 4 {
		return w[4:], address
	}
	letters, digits, dots, slashes, others := 0, 0, 0, 0, 0
	at := -1
	for i := range len(w) {
		switch c := w[i]; {
		case c-'0' < 10:
			digits++
		case c|0x20-'a' < 26 || c >= utf8.RuneSelf:
			letters++
		case c == '.':
			dots++
		case c == '/':
			slashes++
		case c == '@':
			at = i
			others++
		default:
			others++
		}
	}
	switch {
	case at > 0 && strings.IndexByte(w[at:], '.') > 1:
		return w, mailbox
	case letters == 0 && digits > 0:
		if f := numeral(w); len(f) < 7 {
			return f, number
		} else { // a telephone's, an account's
			return f, code
		}
	case slashes > 0 && letters > 0:
		if host, _, _ := strings.Cut(w, "/"); isHost(host) {
			return w, address
		}
		return w, pathLike
	case digits >= 2 && letters+digits >= 6:
		if others > 0 && others <= 8 && at < 0 && isAccount(strip(w)) {
			return strip(w), code
		}
		return w, code
	case dots > 0 && isHost(w):
		return w, code
	}
	return w, plainWord
}

// isHost reports whether a word has the form of a host's name with a top level.
func isHost(w string) bool {
	w, _, _ = strings.Cut(w, ":")
	dot := strings.LastIndexByte(w, '.')
	if dot < 1 || len(w)-dot < 3 || strings.Contains(w, "..") {
		return false
	}
	for i := range len(w) {
		if c := w[i]; c < utf8.RuneSelf && !(c|0x20-'a' < 26 || c-'0' < 10 || c == '.' || c == '-' || c == '_') {
			return false
		}
	}
	for i := dot + 1; i < len(w); i++ {
		if w[i]-'0' < 10 {
			return false
		}
	}
	return true
}

// numeral is the normal form of a word of digits: a number by its value, and others
// (telephones, cards, dates) by their digits.
func numeral(w string) string {
	plain := strings.ReplaceAll(w, ",", "")
	whole, fraction, point := strings.Cut(plain, ".")
	if isDigits(whole) && (!point || isDigits(fraction)) {
		if fraction = strings.TrimRight(fraction, "0"); fraction != "" {
			fraction = "." + fraction
		}
		if whole = strings.TrimLeft(whole, "0"); whole == "" {
			whole = "0"
		}
		return whole + fraction
	}
	return strip(w)
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i]-'0' > 9 {
			return false
		}
	}
	return s != ""
}

// strip takes all but letters and digits away.
func strip(w string) string {
	kept := 0 // most words have nothing to take away
	for kept < len(w) && (letters[w[kept]] || w[kept]-'0' < 10) {
		kept++
	}
	if kept == len(w) {
		return w
	}
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && !(r|0x20-'a' < 26 && r >= 'A' || r-'0' < 10 && r >= '0') {
			return -1
		}
		return r
	}, w)
}

// isAccount reports whether a text is that of an international account number.
func isAccount(s string) bool {
	if len(s) < 15 || len(s) > 34 || s[0]|0x20-'a' >= 26 || s[1]|0x20-'a' >= 26 || s[2]-'0' > 9 || s[3]-'0' > 9 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; c|0x20-'a' >= 26 && c-'0' > 9 {
			return false
		}
	}
	return true
}

// joined is the one word that a whole value is when it is written in groups: an
// account number, a card's, a telephone's.
func joined(s string) (string, bool) {
	if len(s) > 64 || strings.IndexByte(s, '@') >= 0 || strings.IndexByte(s, '/') >= 0 {
		return "", false
	}
	j := strip(s)
	if len(j) == len(s) || j == "" {
		return "", false
	}
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || c|0x20-'a' >= 26 && c-'0' > 9 && strings.IndexByte(" -.()+", c) < 0 {
			return "", false
		}
	}
	return j, isAccount(j) || isDigits(j) && len(j) >= 7
}

// mailboxes leaves out the names before addresses in brackets, as in Ann <ann@x.example>,
// which decide nothing. A name that could be read as an address stays.
func mailboxes(s string) string {
	if strings.IndexByte(s, '<') < 0 || strings.IndexByte(s, '@') < 0 {
		return s
	}
	var inside, outside strings.Builder
	for rest := s; ; {
		before, after, opened := strings.Cut(rest, "<")
		outside.WriteString(before + " ")
		if !opened {
			break
		}
		box, next, closed := strings.Cut(after, ">")
		if _, kind := form(strings.TrimSpace(box)); !closed || kind != mailbox {
			return s
		}
		inside.WriteString(box + " ")
		rest = next
	}
	// Nor does what begins another line of a letter's head.
	plain := !strings.ContainsAny(outside.String(), "\r\n\u0085\u2028\u2029") || strings.IndexByte(outside.String(), ':') < 0
	words(outside.String(), func(w string, _ bool) {
		_, kind := form(w)
		plain = plain && !kind.stands()
	})
	if !plain {
		return s
	}
	return strings.TrimSpace(inside.String())
}

// A Part is one of the values that a text names together, as a list of addresses does.
type Part struct {
	Text   string
	Stands bool // it names one thing by itself
}

// Parts takes a value apart as a text that is read is: at spaces, commas, brackets, quotes
// and controls, whichever of them a mailer takes for the end of an address.
func Parts(value string) (list []Part) {
	s := mailboxes(fold(value))
	if j, ok := joined(s); ok {
		return []Part{{j, true}}
	}
	words(s, func(w string, _ bool) {
		f, kind := form(w)
		if kind == address { // whose scheme and user count
			f = w
		}
		list = append(list, Part{f, kind.stands()})
	})
	return list
}

// grouped gathers words that are groups of one number while a text is read: of digits,
// or of an account number, which two letters and two digits begin.
type grouped struct {
	digits, account []byte
}

// longest is that of an account number.
const longest = 34

// add takes the next word, and calls emit with each number that could end with it.
func (g *grouped) add(w string, emit func(string)) {
	plain := ""
	if len(w) <= 12 {
		plain = strip(w)
	}
	letters := 0
	for i := range len(plain) {
		if c := plain[i]; c >= utf8.RuneSelf {
			plain = ""
			break
		} else if c-'0' > 9 {
			letters++
		}
	}
	switch {
	case plain == "" || letters > 0:
		g.digits = g.digits[:0]
	case len(g.digits)+len(plain) > longest:
		g.digits = append(g.digits[:0], plain...)
	default:
		began := len(g.digits) > 0
		if g.digits = append(g.digits, plain...); began && len(g.digits) >= 7 {
			emit(string(g.digits))
		}
	}
	begins := letters >= 2 && len(plain) >= 4 && isDigits(plain[2:4]) && plain[0]-'0' > 9 && plain[1]-'0' > 9
	switch {
	case begins:
		g.account = append(g.account[:0], plain...)
	case len(g.account) == 0:
	case plain == "" || len(g.account)+len(plain) > longest:
		g.account = g.account[:0]
	default:
		if g.account = append(g.account, plain...); isAccount(string(g.account)) {
			emit(string(g.account))
		}
	}
}

// parts calls yield with what a word holds that can stand alone elsewhere: the value
// behind a colon or an equals sign, a URL's host, its path's last name and the values
// of its query, a path's last name.
func parts(w string, kind shape, yield func(part string)) {
	part := func(p string) {
		if p = trim(p); p != "" {
			yield(p)
		}
	}
	if other, differs := percent(w); differs {
		part(other)
	}
	if login, _, ok := strings.Cut(w, ":"); ok && kind == mailbox && strings.IndexByte(login, '@') >= 0 { // as ssh writes where a file goes
		part(login)
		part(login[strings.LastIndexByte(login, '@')+1:])
	}
	switch kind {
	case address:
		f, _ := form(w)
		rest := f
		host, path, _ := strings.Cut(f, "/")
		if i := strings.IndexAny(host, "?#"); i >= 0 {
			host = host[:i]
		}
		if i := strings.LastIndexByte(host, '@'); i >= 0 {
			host = host[i+1:]
		}
		name, _, _ := strings.Cut(host, ":")
		part(name)
		if i := strings.IndexAny(path, "?#"); i >= 0 {
			path = path[:i]
		}
		if path != "" {
			part(path)
			if i := strings.LastIndexByte(path, '/'); i >= 0 {
				part(path[i+1:])
			}
		}
		if _, query, ok := strings.Cut(rest, "?"); ok {
			for pair := range strings.SplitSeq(query, "&") {
				_, v, _ := strings.Cut(pair, "=")
				if v, _ = percent(v); v != "" {
					part(v)
				}
			}
		}
	case pathLike:
		part(w[strings.LastIndexByte(w, '/')+1:])
		fallthrough
	default:
		if i := strings.IndexAny(w, ":="); i > 0 && w[0]-'0' > 9 {
			part(w[i+1:])
			if k := strings.LastIndexAny(w, ":="); k > i {
				part(w[k+1:])
			}
		}
	}
}
