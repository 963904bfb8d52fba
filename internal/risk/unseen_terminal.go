package risk

import (
	"strings"
	"unicode/utf8"
)

// terminal looks for what a terminal would not leave to be seen. Its sequences are read
// as ECMA-48 has them; colours and movements by themselves hide nothing, and are left.
func (u *unseen) terminal() {
	text := u.view.text
	if !strings.ContainsAny(text, "\x1b\b\r\x7f\u009b\u009d") {
		return
	}
	t := screen{unseen: u}
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == 0x1b && i+1 < len(text):
			i = t.escape(i, i+1)
		case c == 0xc2 && i+1 < len(text) && text[i+1] == 0x9b:
			i = t.control(i, i+2)
		case c == 0xc2 && i+1 < len(text) && strings.IndexByte("\x90\x98\x9d\x9e\x9f", text[i+1]) >= 0:
			i = t.private(i, i+2)
		case c == '\b' || c == 0x7f:
			start := i
			for i < len(text) && (text[i] == '\b' || text[i] == 0x7f || text[i] == ' ') {
				i++
			}
			t.takeBack(start, i)
		case c == '\r':
			t.again(i, i+1)
			i++
		case c == '\n':
			t.down(i)
			i++
		default:
			i++
		}
	}
	t.shown(len(text))
	t.over(len(text))
	t.overstruck()
}

// overstruck looks for characters that are written over, each by the next one. A letter over
// itself is bold, and one over a line underlined, as manuals are printed.
func (t *screen) overstruck() {
	text := t.view.text
	var said []byte
	start, from := 0, 0
	for {
		n := strings.IndexByte(text[from:], '\b')
		if n < 0 {
			break
		}
		i := from + n
		if from = i + 1; i == 0 || i+1 == len(text) || text[i-1] == text[i+1] || text[i-1] == '_' || text[i-1] == '\b' || text[i+1] == '\b' {
			continue
		}
		if n != 1 || said == nil { // no character in a row with those before
			if says(string(said)) {
				t.hide("unseen.terminal", start, from-n-1, unseenWeight)
			}
			said, start = said[:0], i-1
		}
		if said = append(said, text[i-1]); len(said) > maxSaid {
			break
		}
	}
	if says(string(said)) {
		t.hide("unseen.terminal", start, from, unseenWeight)
	}
}

// screen is what is known of a terminal while a text is written to it.
type screen struct {
	*unseen
	line    int  // where the present line begins, or what is written over it
	was     span // what stood in the line before it is written over
	above   span // the line before
	hidden  bool // what is written is not shown
	since   int  // where that began
	conceal bool
	other   int // where another screen was opened, from 1
	fore    int // the colours, as their numbers; 0 for the terminal's own
	ground  int
}

// escape reads a sequence that begins with ESC, and returns where it ends.
func (t *screen) escape(start, at int) int {
	switch t.view.text[at] {
	case '[':
		return t.control(start, at+1)
	case ']', 'P', 'X', '^', '_': // OSC, DCS, SOS, PM, APC
		return t.private(start, at+1)
	}
	return at + 1
}

// private reads a string that a terminal keeps for itself: the title of its window, its
// clipboard, a program of its own. What is none of the usual and says something is not
// seen.
func (t *screen) private(start, at int) int {
	text := t.view.text
	const most = 1 << 16
	end := at
	for end < len(text) && end-at < most && text[end] != 0x07 && text[end] != 0x1b && !(text[end] == 0xc2 && strings.HasPrefix(text[end:], "\u009c")) && text[end] != '\n' {
		end++
	}
	body := text[at:end]
	switch {
	case end < len(text) && text[end] == 0x07:
		end++
	case end+1 < len(text) && text[end] == 0x1b && text[end+1] == '\\', end+1 < len(text) && text[end] == 0xc2:
		end += 2
	}
	if says(body) || strings.HasPrefix(body, "52;") { // the clipboard
		t.hide("unseen.terminal", start, end, unseenWeight)
	}
	return end
}

// control reads a control sequence.
func (t *screen) control(start, at int) int {
	text := t.view.text
	end := at
	for end < len(text) && end-at < 64 && text[end] >= 0x20 && text[end] <= 0x3f {
		end++
	}
	if end == len(text) || text[end] < 0x40 || text[end] > 0x7e {
		return end
	}
	parameters := text[at:end]
	switch text[end] {
	case 'm':
		t.colours(parameters, start, end+1)
	case 'K': // erases in the line
		if parameters != "" && parameters != "0" {
			t.again(start, end+1)
		}
	case 'J': // erases the screen
		if parameters == "2" || parameters == "3" || parameters == "1" {
			t.take("unseen.terminal", t.line, start)
			t.line, t.was = end+1, span{}
		}
	case 'G', 'D': // back in the line
		if n := number(parameters); text[end] == 'G' && n <= 1 || text[end] == 'D' && n >= 8 {
			t.again(start, end+1)
		}
	case 'h', 'l': // another screen, which is gone when it is left
		if parameters == "?1049" || parameters == "?47" || parameters == "?1047" {
			if text[end] == 'l' && t.other > 0 {
				t.take("unseen.terminal", t.other-1, end+1)
			}
			if t.other = 0; text[end] == 'h' {
				t.other = start + 1
			}
		}
	case 'A', 'F': // up: what stands there is written over
		t.over(start)
		t.was, t.line = t.above, end+1
	}
	return end + 1
}

func number(parameters string) (n int) {
	for _, c := range []byte(parameters) {
		if !isDigit(c) || n > 1e6 {
			break
		}
		n = 10*n + int(c-'0')
	}
	return n
}

// colours notes how what follows is shown.
func (t *screen) colours(parameters string, start, end int) {
	list := strings.FieldsFunc(parameters, func(c rune) bool { return c == ';' || c == ':' })
	if len(list) == 0 {
		list = []string{"0"}
	}
	for i := 0; i < len(list); i++ {
		switch n := number(list[i]); {
		case n == 0:
			t.conceal, t.fore, t.ground = false, 0, 0
		case n == 8:
			t.conceal = true
		case n == 28:
			t.conceal = false
		case n >= 30 && n <= 37 || n >= 90 && n <= 97:
			t.fore = n%60%30 + n/90*8 + 1
		case n == 39:
			t.fore = 0
		case n >= 40 && n <= 47 || n >= 100 && n <= 107:
			t.ground = n%60%40 + n/100*8 + 1
		case n == 49:
			t.ground = 0
		case (n == 38 || n == 48) && i+1 < len(list):
			colour, skip := 0, 2
			if number(list[i+1]) == 2 {
				skip = 4
			}
			for _, p := range list[i+1 : min(len(list), i+1+skip)] {
				colour = colour<<8 + number(p) + 1<<10
			}
			i += skip
			if n == 38 {
				t.fore = colour
			} else {
				t.ground = colour
			}
		}
	}
	hidden := t.conceal || t.fore != 0 && t.fore == t.ground
	switch {
	case hidden && !t.hidden:
		t.hidden, t.since = true, start
	case !hidden && t.hidden:
		t.shown(end)
	}
}

// shown ends what is not shown.
func (t *screen) shown(end int) {
	if t.hidden {
		t.take("unseen.terminal", t.since, end)
	}
	t.hidden = false
}

// take notes what is not shown, if it says something.
func (t *screen) take(code string, start, end int) {
	if start < end && says(plain(t.view.text[start:end])) {
		t.hide(code, start, end, unseenWeight)
	}
}

// takeBack notes what is taken back, character by character, by what ends at end.
func (t *screen) takeBack(at, end int) {
	text := t.view.text
	n, now := 0, 0 // how far back it went, and where it is
	for _, c := range []byte(text[at:end]) {
		if now--; c == ' ' {
			now += 2
		}
		n = max(n, -now)
	}
	start := at
	for ; n > 0 && start > t.line; n-- {
		_, size := utf8.DecodeLastRuneInString(text[t.line:start])
		start -= size
	}
	if says(plain(text[start:at])) { // a letter over itself is bold, as manuals are printed
		t.hide("unseen.terminal", start, end, unseenWeight)
		t.line = end
	}
}

// again notes that what comes from end on is written over the line. What was written
// there before the last time has been written over by now.
func (t *screen) again(start, end int) {
	t.over(start)
	if !blank(plain(t.view.text[t.line:start])) {
		t.was = span{t.line, start}
	}
	t.line = end
}

// over notes what the text up to a place was written over: where that says something
// else, it is not seen. Two states of a bar that moves on are alike.
func (t *screen) over(end int) {
	text := t.view.text
	if t.was.start >= t.was.end || t.line > end {
		return
	}
	before, now := plain(text[t.was.start:t.was.end]), plain(text[t.line:end])
	if !blank(now) && addresses(before) && !alike(before, now) { // what a spinner says addresses nobody
		t.hide("unseen.terminal", t.was.start, t.was.end, unseenWeight)
		t.was = span{}
	}
}

// down notes the end of a line.
func (t *screen) down(at int) {
	t.over(at)
	if t.above = t.was; !blank(plain(t.view.text[t.line:at])) {
		t.above = span{t.line, at}
	}
	t.line, t.was = at+1, span{}
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

// plain is a text without control sequences.
func plain(text string) string {
	if strings.IndexByte(text, 0x1b) < 0 {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != 0x1b {
			b.WriteByte(text[i])
			continue
		}
		if i+1 < len(text) && text[i+1] == '[' {
			for i += 2; i < len(text) && (text[i] < 0x40 || text[i] > 0x7e); i++ {
			}
		}
	}
	return b.String()
}

// alike reports whether half of the words of a text stand in the one that comes after:
// both are states of the same bar.
func alike(before, after string) bool {
	const most = 64
	words := strings.Fields(before)
	words = words[:min(len(words), most)]
	next := strings.Fields(after)
	next = next[:min(len(next), most)]
	same := 0
	for _, w := range words {
		for _, n := range next {
			if w == n {
				same++
				break
			}
		}
	}
	return 2*same >= len(words)
}
