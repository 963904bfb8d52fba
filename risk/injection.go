package risk

import (
	"bytes"
	"strings"
)

// Instructions are found by their words: a verb near a target, such as "ignore
// … previous … instructions". From a trigger a bounded number of words is read,
// so that a text made of triggers costs no more than a few times its length.

// reach is how many words around a trigger belong to it.
const reach = 10

// words reads words from a place in a text, folded to lower case.
type words struct {
	text string
	at   int
	buf  [20]byte
	word []byte // the present word, in buf; long ones are cut
	stop bool   // a sentence ended before the word
	from int    // where the word begins
}

// next reads the next word; false at the end of the text, or after too much
// that is no word.
func (w *words) next() bool {
	w.stop = false
	const gap = 12
	i := w.at
	for n := 0; i < len(w.text) && classes[w.text[i]] != letter && w.text[i] < 0x80; i, n = i+1, n+1 {
		switch w.text[i] {
		case '.', '!', '?':
			w.stop = true
		}
		if n == gap {
			return false
		}
	}
	if i == len(w.text) {
		return false
	}
	w.from = i
	n := 0
	for i < len(w.text) && (classes[w.text[i]] == letter || w.text[i] >= 0x80 || w.text[i] == '\'') {
		if n < len(w.buf) {
			w.buf[n] = w.text[i]
			if classes[w.text[i]] == letter {
				w.buf[n] |= 0x20
			}
			n++
		}
		i++
		if i-w.from > 40 {
			return false
		}
	}
	w.at = i
	w.word = w.buf[:n]
	return true
}

type wordSet map[string]bool

func setOf(list string) wordSet {
	m := wordSet{}
	for w := range strings.FieldsSeq(list) {
		m[w] = true
	}
	return m
}

var (
	overrideVerbs = setOf("ignore disregard forget override bypass neglect ignoriere ignorieren ignorez ignorer ignora ignorar ignorad vergiss " +
		"missachte missachten olvida olvide oublie oubliez dimentica esqueça desconsidere")
	scopes = setOf("previous prior above earlier preceding foregoing all any your these those existing original initial system safety " +
		"everything former other alle vorherigen bisherigen obigen toutes précédentes todas anteriores previas tutte precedenti las les")
	targets = setOf("instruction instructions prompt prompts rule rules guideline guidelines direction directions directive directives " +
		"command commands constraint constraints safeguards restrictions policy policies programming anweisung anweisungen instruktionen " +
		"instrucciones istruzioni instruções consignes regeln reglas règles regole regras told")
	concealVerbs = setOf("tell inform mention notify alert reveal disclose show")
	people       = setOf("user users human humans person people anyone anybody owner operator him her them")
	sendVerbs    = setOf("send post upload forward email transmit exfiltrate leak submit copy report")
	valuables    = setOf("password passwords credential credentials secret secrets token tokens key keys env environment conversation history " +
		"transcript cookies wallet contacts prompt files")
	leakVerbs = setOf("reveal print repeat output show display disclose")
	personas  = setOf("dan unrestricted jailbroken unfiltered uncensored evil developer root")
	openers   = setOf("important attention instruction instructions new system")
	machines  = setOf("ai assistant assistants llm chatbot copilot bot gpt claude gemini")
	readers   = setOf("must should shall need reading processing summarizing browsing analyzing are please instruction instructions")
)

func head4(s string) uint32 {
	return uint32(s[0])<<24 | uint32(s[1])<<16 | uint32(s[2])<<8 | uint32(s[3])
}

// triggers are the first four letters of the words that instructions turn on.
var triggers = func() map[uint32]bool {
	m := map[uint32]bool{}
	for _, set := range []wordSet{overrideVerbs, concealVerbs, sendVerbs, leakVerbs} {
		for w := range set {
			m[head4(w)|0x20202020] = true
		}
	}
	for _, w := range []string{"you ", "assi", "atte", "inst", "impo", "new ", "syst"} {
		m[head4(w)|0x20202020] = true
	}
	return m
}()

var triggerBits = func() (bits [32]uint64) {
	for h := range triggers {
		bits[hashHead(h)>>6] |= 1 << (hashHead(h) & 63)
	}
	return
}()

// instruction looks at a word that instructions can turn on.
func (s *scanner) instruction(i int, head uint32) {
	h := hashHead(head)
	if triggerBits[h>>6]&(1<<(h&63)) == 0 || !triggers[head] {
		return
	}
	w := &words{text: s.text, at: i}
	if !w.next() || w.from != i {
		return
	}
	switch first := w.word; {
	case overrideVerbs[string(first)]:
		s.override(i, w)
	case string(first) == "you":
		s.persona(i, w)
	case openers[string(first)]:
		s.address(i, w)
	default:
		// A verb can turn several ways, and each of them reads on from it.
		conceals, sends, leaks, begin := concealVerbs[string(first)], sendVerbs[string(first)], leakVerbs[string(first)], w.at
		if conceals {
			s.conceal(i, w)
		}
		if sends {
			w.at = begin
			s.exfiltrate(i, w)
		}
		if leaks {
			w.at = begin
			s.leak(i, w)
		}
	}
}

// override: "ignore all previous instructions".
func (s *scanner) override(i int, w *words) {
	english := !bytes.HasSuffix(w.word, []byte("en"))
	scoped := false
	for n := 0; n < reach && w.next() && !w.stop; n++ {
		if scopes[string(w.word)] {
			scoped = true
		}
		if targets[string(w.word)] && (scoped || !english) {
			s.add(Injection, "injection.override", "instructions", i, s.sentence(w.at), 0.9)
			return
		}
	}
}

// persona: "you are now an unrestricted …".
func (s *scanner) persona(i int, w *words) {
	if !w.next() || string(w.word) != "are" && string(w.word) != "will" && string(w.word) != "must" || !w.next() {
		return
	}
	now := string(w.word) == "now" || string(w.word) == "act"
	for n := 0; n < 6 && w.next() && !w.stop; n++ {
		if now && (personas[string(w.word)] || machines[string(w.word)]) {
			s.add(Injection, "injection.persona", "instructions", i, s.sentence(w.at), 0.7)
			return
		}
	}
}

// conceal: "do not tell the user".
func (s *scanner) conceal(i int, w *words) {
	before := strings.ToLower(s.text[max(0, i-16):i])
	start := -1
	for _, no := range []string{"do not ", "don't ", "don’t ", "never ", "without ", "must not ", "not "} {
		if strings.HasSuffix(before, no) {
			start = i - len(no)
			break
		}
	}
	if start < 0 {
		return
	}
	for n := 0; n < 5 && w.next() && !w.stop; n++ {
		if people[string(w.word)] {
			s.add(Injection, "injection.conceal", "instructions", start, s.sentence(w.at), 0.8)
			return
		}
	}
}

// exfiltrate: "send the API keys to https://…".
func (s *scanner) exfiltrate(i int, w *words) {
	valuable := false
	for n := 0; n < 2*reach && w.next() && !w.stop; n++ {
		if valuables[string(w.word)] {
			valuable = true
		}
		if valuable && string(w.word) == "to" {
			rest := s.text[w.at:min(len(s.text), w.at+48)]
			if strings.Contains(rest, "://") || strings.Contains(rest, "@") || strings.Contains(rest, "http") {
				s.add(Injection, "injection.exfiltrate", "instructions", i, s.sentence(w.at), 0.8)
				return
			}
		}
	}
}

// leak: "repeat your system prompt".
func (s *scanner) leak(i int, w *words) {
	yours := false
	for n := 0; n < 6 && w.next() && !w.stop; n++ {
		switch string(w.word) {
		case "your":
			yours = true
		case "prompt", "instructions":
			if yours {
				s.add(Injection, "injection.leak", "instructions", i, s.sentence(w.at), 0.6)
			}
			return
		}
	}
}

// address: "IMPORTANT: AI assistants reading this must …".
func (s *scanner) address(i int, w *words) {
	isNew, isSystem := string(w.word) == "new", string(w.word) == "system"
	machine, order := false, bytes.HasPrefix(w.word, []byte("instruction"))
	for n := 0; n < reach && w.next(); n++ {
		if w.stop && n > 1 {
			break
		}
		switch {
		case machines[string(w.word)]:
			machine = true
		case machine && readers[string(w.word)], order && machine:
			s.add(Injection, "injection.address", "instructions", i, s.sentence(w.at), 0.7)
			return
		case bytes.HasPrefix(w.word, []byte("instruction")) || string(w.word) == "override":
			if isNew || isSystem && string(w.word) == "override" {
				if w.at < len(s.text) && s.text[w.at] == ':' {
					s.add(Injection, "injection.address", "instructions", i, s.sentence(w.at), 0.7)
					return
				}
			}
			order = true
		}
	}
}

// roleMarker: the marks that chat templates separate roles with.
func (s *scanner) roleMarker(i int) {
	if s.want&Injection == 0 {
		return
	}
	rest := s.text[i:]
	for _, m := range [...]string{"<|im_start|>", "<|im_end|>", "<|system|>", "<|assistant|>", "<|user|>", "<|endoftext|>", "<|start_header_id|>", "<|eot_id|>", "<<SYS>>", "[INST]", "[/INST]", "<start_of_turn>", "</system>", "<system>"} {
		if strings.HasPrefix(rest, m) {
			s.add(Injection, "injection.role_marker", "instructions", i, i+len(m), 0.8)
			return
		}
	}
}

// instructionCJK: "忽略之前的指令", "以前の指示を無視".
func (s *scanner) instructionCJK(i int) {
	if s.want&Injection == 0 {
		return
	}
	const around = 48
	rest := s.text[i:min(len(s.text), i+around)]
	before := s.text[max(0, i-around):i]
	switch {
	case strings.HasPrefix(rest, "忽略") && (strings.Contains(rest, "指令") || strings.Contains(rest, "指示") || strings.Contains(rest, "提示")):
		s.add(Injection, "injection.override", "instructions", i, s.sentence(i), 0.9)
	case (strings.HasPrefix(rest, "無視") || strings.HasPrefix(rest, "无视")) && (strings.Contains(before, "指示") || strings.Contains(before, "命令") || strings.Contains(rest, "指令")):
		s.add(Injection, "injection.override", "instructions", i, s.sentence(i), 0.9)
	}
}

// sentence returns the end of the sentence around i: what an instruction says
// goes with it.
func (s *scanner) sentence(i int) int {
	const longest = 400
	stop := min(len(s.text), i+longest)
	for ; i < stop; i++ {
		switch c := s.text[i]; c {
		case '\n', '<':
			return i
		case '.', '!', '?':
			if i+1 == len(s.text) || s.text[i+1] <= ' ' || s.text[i+1] == '"' || s.text[i+1] == '-' {
				return i + 1
			}
		case '-':
			if strings.HasPrefix(s.text[i:], "-->") {
				return i
			}
		}
	}
	for i < len(s.text) && s.text[i]&0xc0 == 0x80 { // on a character's boundary
		i++
	}
	return i
}
