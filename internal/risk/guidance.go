package risk

import (
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
)

// Guidance looks, beside Injection, for orders that only stand in texts that tell a
// model how to use tools: descriptions of tools and prompts, a server's
// instructions. There it is an attack to send the reader to a place where secrets
// lie, or its user's mail to an address; in a manual it can be advice. It belongs to
// no name of a policy: what it finds is Injection's.
const Guidance Detector = Unseen << 1

// secretPlaces are where secrets lie, as a text names the place.
var secretPlaces = []string{
	"/.ssh", ".ssh/", "id_rsa", "id_ed25519", "id_ecdsa", ".aws/", "/.env", " .env", "`.env", "\".env", "'.env", "mcp.json", "claude_desktop_config",
	"/etc/passwd", "/etc/shadow", "/proc/self/environ", ".netrc", ".npmrc", ".pypirc", ".kube/config", ".gnupg", ".docker/config", "wallet.dat",
	"keychain", ".git-credentials", ".config/gh", ".azure/", ".config/gcloud", "login data",
}

var (
	// An order about when to do something, or that it must be done.
	ordered = lazyregexp.New(`\b(first|always|must|begin|beginning|start|starting|before|prior to|when(ever)?|every time|each time|make sure|be sure|required?|need to|in order to|otherwise|important|mandatory|prerequisite|step 1|as soon as)\b`)
	// The act that it orders, of the reader: a verb, or the name of a tool in which one stands.
	fetches = lazyregexp.New(`(?:^|[^a-z])((?:[a-z]+_)*(?:read|open|cat|load|fetch|get|call|calling|invoke|invoking|use|using|run|execute|access|retrieve|send|upload|pass|include|copy|dump|list|reading|collect|gather|extract|attach|submit|look|check|view|print|grep|type)(?:_[a-z]+)*)\b`)
	// What is to become of it.
	passes = lazyregexp.New(`\b(pass|put|include|provide|supply|attach|append|paste|add|send|write|insert|give|copy|place|enter|embed|encode)\b[^.\n]{0,60}\b(contents?|it|its|them|value|output|result|text|file|key|data|here|this)\b`)
	undone = lazyregexp.New(`\b(never|not|don't|dont|cannot|can't|won't|doesn't|without|avoid|refuses?|denies|blocks?|excludes?|except|reject(s|ed)?|forbidden|disallow(s|ed)?)\b`)
	// Mail of the user that is to go to somebody else.
	misdirected = lazyregexp.New(`\b(must|always|instead|requires?|every|all)\b.*\b(send|sent|bcc|cc|forward(ed)?|redirect(ed)?|deliver(ed)?|copy|copied|recipient)\b.*?[a-z0-9._+-]+@([a-z0-9-]+\.)+[a-z]{2,}`)
)

// Bounds of what is looked at in one text. No honest one names so many places where
// secrets lie: with more than these it is taken for orders.
const (
	maxPlaces = 64
	maxMails  = 1000
)

// guidance looks for such orders. The places are rare, and so the words around
// them are looked at where one stands.
func (s *scanner) guidance() {
	lower := lowerASCII(s.text)
	looked := 0
	for _, place := range secretPlaces {
		for from := 0; ; looked++ {
			at := strings.Index(lower[from:], place)
			if at < 0 {
				break
			}
			at += from
			from = at + len(place)
			if looked == maxPlaces {
				s.add(Injection, "injection.tool", "instructions", at, from, 0.8)
				return
			}
			s.orderTo(lower, at)
		}
	}
	for from, n := 0, 0; n < maxMails; n++ {
		at := strings.IndexByte(lower[from:], '@')
		if at < 0 {
			return
		}
		from += at + 1
		s.mailTo(lower, from)
	}
}

// mailTo looks at the words before an address: whether the reader is told to send
// its user's mail there. at is behind the @.
func (s *scanner) mailTo(lower string, at int) {
	const before, after = 240, 80
	start, end := max(0, at-before), min(len(lower), at+after)
	if cut := strings.LastIndexByte(lower[start:at], '\n'); cut >= 0 {
		start += cut + 1
	}
	span := misdirected.FindStringIndex(lower[start:end])
	if span == nil {
		return
	}
	if mail := lower[start+span[0] : start+span[1]]; !strings.Contains(mail, "example") && !strings.Contains(mail, "your") && !undone.MatchString(mail) {
		s.add(Injection, "injection.tool", "instructions", start+span[0], start+span[1], 0.8)
	}
}

// orderTo looks at the words around a place: whether the reader is told to fetch
// what lies there.
func (s *scanner) orderTo(lower string, at int) {
	const before, near, after = 240, 90, 200
	start := max(0, at-before)
	if cut := strings.LastIndex(lower[start:at], "\n\n"); cut >= 0 {
		start += cut + 2
	}
	verbs := fetches.FindAllStringSubmatchIndex(lower[max(start, at-near):at], -1)
	if len(verbs) == 0 {
		return
	}
	verb := max(start, at-near) + verbs[0][2]
	// Only the sentence of the verb says whether it is forbidden.
	sentence := max(start, strings.LastIndexAny(lower[:verb], ".!?\n")+1)
	if undone.MatchString(lower[sentence:at]) {
		return
	}
	rest := lower[at:min(len(lower), at+after)]
	if cut := strings.Index(rest, "\n\n"); cut >= 0 {
		rest = rest[:cut]
	}
	if !ordered.MatchString(lower[start:at]) && !passes.MatchString(rest) {
		return
	}
	s.add(Injection, "injection.tool", "instructions", verb, max(at+1, s.sentence(at)), 0.8)
}

// lowerASCII is a text with its ASCII letters in lower case, byte for byte in place.
func lowerASCII(text string) string {
	b := []byte(text)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c | 0x20
		}
	}
	return string(b)
}
