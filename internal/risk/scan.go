package risk

import (
	"math/bits"
	"strings"
	"unicode/utf8"
)

// scanner is one pass over one text.
type scanner struct {
	text string
	want Detector
	out  []Finding

	skip       int // nothing begins before this byte: it belongs to what was found
	injected   int // the end of the newest injected instruction
	decodings  int // how often the text was decoded before
	turnedUpTo int // where words that are turned count again
	// Where the newest word stands that announces a number of some kind.
	phoneAt, ssnAt, cardAt int
	// disguised: some characters are not what a person sees. See scanSeen.
	disguised bool
	// rtl: 0 not known yet, 1 the text has letters written from right to left, 2 it has none.
	rtl int8

	runs [alphabets]span // the newest run of each alphabet: see run

	pemSought   bool // pemEnd is known
	pemEnd      int  // see nextEnd
	pemRead     int  // up to where an armour was read line by line
	puttySought int  // up to where the lines of a PuTTY key were sought in vain
	userColon   int  // before the password of the newest URL that has one
}

type span struct{ start, end int }

// never is a place that is far from everything in a text.
const never = -1 << 30

func (s *scanner) add(d Detector, code, name string, start, end int, score float64) {
	if s.want&d != 0 && start < end {
		s.out = append(s.out, Finding{d, code, name, start, end, score})
	}
}

// The prefilter's table: a bit for letters and digits, and one, 32 places
// higher, for marks at which a matcher looks. So the bits of 32 bytes can be
// gathered in one word by shifts that are known at compile time.
const (
	wordBit = 1
	markBit = 1 << 32
)

var prefilter = func() (t [256]uint64) {
	for c := range t {
		switch {
		case isAlnum(byte(c)):
			t[c] = wordBit
		case strings.IndexByte("@+~:=>", byte(c)) >= 0, leads[c]:
			t[c] = markBit
		}
	}
	return
}()

func isAlnum(c byte) bool { return c|0x20-'a' <= 25 || c-'0' <= 9 }
func isDigit(c byte) bool { return c-'0' <= 9 }
func isUpper(c byte) bool { return c-'A' <= 25 }
func isAlpha(c byte) bool { return c|0x20-'a' <= 25 }

// scan looks closer at each byte where something could begin: the first of each
// word, and the marks.
func (s *scanner) scan() {
	text := s.text
	carry := uint64(0) // the block before ended within a word
	for base := 0; base < len(text); base += 32 {
		set := uint64(0)
		if block := text[base:]; len(block) >= 32 {
			for k := 0; k < 32; k += 8 {
				b := block[k : k+8]
				set |= (prefilter[b[0]] | prefilter[b[1]]<<1 | prefilter[b[2]]<<2 | prefilter[b[3]]<<3 |
					prefilter[b[4]]<<4 | prefilter[b[5]]<<5 | prefilter[b[6]]<<6 | prefilter[b[7]]<<7) << k
			}
		} else {
			for k := range len(block) {
				set |= prefilter[block[k]] << k
			}
		}
		words := set & (1<<32 - 1)
		starts := words&^(words<<1|carry) | set>>32
		carry = words >> 31
		for ; starts != 0; starts &= starts - 1 {
			s.look(base + bits.TrailingZeros64(starts))
		}
	}
}

func (s *scanner) look(i int) {
	switch c := s.text[i]; {
	case isAlpha(c):
		s.word(i)
	case i < s.skip:
	case isDigit(c):
		s.number(i)
	case c >= utf8.RuneSelf:
		s.beyond(i)
	case c == '@':
		s.email(i)
	case c == '+':
		s.internationalPhone(i)
	case c == '~':
		s.azureClientSecret(i)
	case c == ':' && strings.HasPrefix(s.text[i:], "://"):
		s.urlPassword(i)
	default:
		s.assignment(i)
	}
}

// A trigger is a word's beginning at which a matcher looks closer: up to four
// bytes, compared without regard to case.
type trigger struct {
	head, mask uint32
	want       Detector
	kind       kind
	form       uint8 // of tokenForms
}

// kind says which matcher a trigger belongs to.
type kind uint8

const (
	aToken kind = iota
	aJWT
	aGenericKey
	aBearer
	aBasic
	aPEM
	aPuTTY
	aSecretName
	aSendGrid
	aSlackHook
	aPhoneWord
	anSSNWord
	aCardWord
	anInstruction
	aRoleMarker
	aTurnedOrder
	aCutOrder
)

const fold4 = 0x20202020

// head4 reads four bytes of a text as a number, without regard to case.
func head4(text string, i int) uint32 {
	_ = text[i+3]
	return (uint32(text[i]) | uint32(text[i+1])<<8 | uint32(text[i+2])<<16 | uint32(text[i+3])<<24) | fold4
}

// bucketOf is a hash of a head's first three bytes.
func bucketOf(head uint32) uint32 { return (head & 0xffffff) * 0x9e3779b1 >> 20 }

// triggers by their buckets; bucketAt holds their place plus one, or zero for
// the heads that begin nothing: nearly all.
var (
	bucketAt [1 << 12]uint16
	triggers [][]trigger
)

func init() {
	for i, f := range tokenForms {
		addTrigger(f.prefix[:min(4, len(f.prefix))], Secret, aToken, i)
	}
	for _, t := range []struct {
		want  Detector
		kind  kind
		heads string
	}{
		{Secret, aJWT, "eyj zxlk"},
		{Secret, aGenericKey, "sk-"},
		{Secret, aBearer, "bear"},
		{Secret, aBasic, "basi"},
		{Secret, aPEM, "begi"},
		{Secret, aPuTTY, "putt"},
		{Secret, aSecretName, "pass pwd toke secr key api_ apik clie auth priv cred"},
		{Secret, aSendGrid, "sg."},
		{Secret, aSlackHook, "hook disc webh"},
		{Phone, aPhoneWord, "phon tele tel tlf mobi cell fax what sms hand hotl call t\xc3\xa9l"},
		{SSN, anSSNWord, "ssn soci"},
		{Card, aCardWord, "card visa mast amex cred debi pan maes dine disc cc paym"},
		{Injection, aRoleMarker, "im_ syst assi user endo star eot sys inst begi end_ tool"},
	} {
		for head := range strings.FieldsSeq(t.heads) {
			addTrigger(head, t.want, t.kind, 0)
		}
	}
	for word, class := range classOf {
		if class&triggering != 0 && len(word) >= 3 && word[0] < utf8.RuneSelf {
			addTrigger(word[:min(4, len(word))], Injection, anInstruction, 0)
		}
	}
	addDisguises()
}

// addTrigger adds a word's beginning of up to four bytes.
func addTrigger(head string, want Detector, k kind, form int) {
	t := trigger{mask: 1<<(8*len(head)) - 1, want: want, kind: k, form: uint8(form)}
	if len(head) == 2 { // the third byte, which the bucket depends on, can be any separator
		for c := range byte(utf8.RuneSelf) {
			if !isAlnum(c) {
				addTrigger(head+string(rune(c)), want, k, form)
			}
		}
		return
	}
	t.head = head4(head+"\x00", 0) & t.mask
	at := &bucketAt[bucketOf(t.head)]
	if *at == 0 {
		triggers = append(triggers, nil)
		*at = uint16(len(triggers))
	}
	bucket := &triggers[*at-1]
	for _, had := range *bucket {
		if had == t {
			return
		}
	}
	*bucket = append(*bucket, t)
	if len(triggers) > 1<<12 {
		panic("risk: too many triggers")
	}
}

// word looks at the beginning of a word.
func (s *scanner) word(i int) {
	if i+4 > len(s.text) {
		return
	}
	head := head4(s.text, i)
	if at := bucketAt[bucketOf(head)]; at != 0 {
		s.trigger(i, head, triggers[at-1])
	}
	if s.want&Injection != 0 && cutVerbOf[head&0x1f] != "" && !(isAlnum(s.text[i+1]) && isAlnum(s.text[i+2])) {
		s.cutOrder(i)
	}
	if head>>16&0xf0f0 == 0x3030 && s.want&IBAN != 0 { // two digits, or few other bytes
		s.iban(i)
	}
}

func (s *scanner) trigger(i int, head uint32, bucket []trigger) {
	if i < s.skip {
		return
	}
	for k := range bucket {
		t := &bucket[k]
		if head&t.mask != t.head || t.want&s.want == 0 {
			continue
		}
		switch t.kind {
		case aToken:
			s.token(i, &tokenForms[t.form])
		case aJWT:
			s.jwt(i)
		case aGenericKey:
			s.genericKey(i)
		case aBearer:
			s.bearer(i)
		case aBasic:
			s.basic(i)
		case aPEM:
			s.pem(i)
		case aPuTTY:
			s.putty(i)
		case aSecretName:
			s.secretName(i)
		case aSendGrid:
			s.sendGrid(i)
		case aSlackHook:
			s.webhook(i)
		case aPhoneWord:
			if s.announces(i, phoneWords) {
				s.phoneAt = i
			}
		case anSSNWord:
			if s.announces(i, ssnWords) {
				s.ssnAt = i
			}
		case aCardWord:
			if s.announces(i, cardWords) {
				s.cardAt = i
			}
		case anInstruction:
			s.instruction(i)
		case aRoleMarker:
			s.roleMarker(i)
		case aTurnedOrder:
			s.turnedOrder(i)
		case aCutOrder:
			s.cutOrder(i)
		}
	}
}

// An alphabet is a set of bytes that something is written in.
type alphabet uint8

const (
	upperDigits alphabet = iota
	alnums
	wordBytes   // and _
	wordDashes  // and -
	wordDots    // and .
	hexDigits   // of either case
	base64Bytes // with + / =
	paths       // letters, digits, - _ /
	bearerBytes // RFC 6750
	bareValue   // what a value without quotes is made of
	quotedValue // and one in quotes
	queryValue  // and one in a URL's query
	partings    // what parts the groups of a number
	alphabets
)

var alphabetSets = func() (t [256]uint16) {
	for c := range t {
		in := func(a alphabet, ok bool) {
			if ok {
				t[c] |= 1 << a
			}
		}
		b := byte(c)
		plain := isAlnum(b)
		in(upperDigits, isUpper(b) || isDigit(b))
		in(alnums, plain)
		in(wordBytes, plain || b == '_')
		in(wordDashes, plain || b == '_' || b == '-')
		in(wordDots, plain || b == '_' || b == '-' || b == '.')
		in(hexDigits, isDigit(b) || b|0x20-'a' <= 5)
		in(base64Bytes, plain || b == '+' || b == '/' || b == '=')
		in(paths, plain || b == '_' || b == '-' || b == '/')
		in(bearerBytes, plain || strings.IndexByte("-._~+/=", b) >= 0)
		in(bareValue, b > ' ' && b != 0x7f && strings.IndexByte("\"'`\\,;&<>()[]{}|", b) < 0)
		in(quotedValue, b > ' ' && b != 0x7f && strings.IndexByte("\"'`\\", b) < 0)
		in(partings, strings.IndexByte(" -.)/", b) >= 0)
		in(queryValue, plain || strings.IndexByte("-._~+/=%", b) >= 0)
	}
	return
}()

func (a alphabet) has(c byte) bool { return alphabetSets[c]>>a&1 != 0 }

// run returns the end of the run of an alphabet's bytes that i lies in. The
// newest run is remembered: a text made of one long run and many beginnings
// would otherwise be read over and over.
func (s *scanner) run(i int, a alphabet) int {
	r := &s.runs[a]
	if i >= r.start && i < r.end {
		return r.end
	}
	end := i
	for end < len(s.text) && a.has(s.text[end]) {
		end++
	}
	*r = span{i, end}
	return end
}
