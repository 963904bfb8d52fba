package agent

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"reeve.example/reeve/aos"
)

// Style is how a piece of text looks on a Screen.
type Style string

// The styles, as the parameters of ANSI escape sequences.
const (
	Plain    Style = ""
	Dim      Style = "2"
	Bold     Style = "1"
	Cyan     Style = "36"
	Allowed  Style = "1;32"
	Modified Style = "1;33"
	Denied   Style = "1;31"
	Before   Style = "31"
	After    Style = "32"
)

// Span is a piece of text in one style.
type Span struct {
	Text  string
	Style Style
}

// Screen shows an agent's steps to a person: what the agent wanted, what the
// guardian said and why, what was changed, and what the agent then did. What
// comes from outside cannot steer the terminal, and of a secret that the
// guardian took out only the first and last characters are shown.
type Screen struct {
	Out io.Writer
	// Color turns on colours. See Colored.
	Color bool
	// Width is how many columns are used; 0 means 100, and no less than 50 are.
	Width int
}

// Colored reports whether colours are welcome on w: it is a terminal, and
// neither NO_COLOR nor TERM=dumb says otherwise.
func Colored(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && prepare(f)
}

// Columns is the width for a Screen on w: that of the terminal, at most 100.
func Columns(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if n := columns(f); n > 0 {
			return min(n, maxWidth)
		}
	}
	return maxWidth
}

const (
	maxWidth = 100
	minWidth = 50
	indent   = 14 // where the text of a step begins
)

// Step shows one step.
func (s *Screen) Step(st *Step) {
	strictest := aos.Allow
	for _, a := range st.Answers {
		if a.Decision == aos.Deny || a.Decision == aos.Modify && strictest == aos.Allow {
			strictest = a.Decision
		}
	}
	styles := map[string]Style{aos.Allow: Allowed, aos.Modify: Modified, aos.Deny: Denied}
	s.hang(indent, []Span{
		{fmt.Sprintf("%4d  ", st.Number), Dim},
		{fmt.Sprintf("%-*s", indent-6, strings.ToUpper(strictest)), styles[strictest]},
	}, s.wish(st))
	if strictest == aos.Allow {
		s.Text(Span{visible(st.Answers[0].Message+rules(st.Answers[0])) + " → " + visible(st.Did), Dim})
		fmt.Fprintln(s.Out)
		return
	}
	for _, a := range st.Answers {
		if a.Decision != aos.Allow {
			s.reason(a)
			s.changes(a)
		}
	}
	s.Text(Span{"→ " + visible(st.Did), Dim})
	fmt.Fprintln(s.Out)
}

// rules names the rules that an answer rests on.
func rules(a Answer) string {
	names := slices.DeleteFunc(slices.Clone(a.Data.Rules), func(r string) bool { return r == "default" })
	if len(names) == 0 {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// about says which part of a step a question was about.
var about = map[string]string{
	"steps/toolCallResult":         "Result: ",
	"steps/memoryStore":            "Memory: ",
	"steps/memoryContextRetrieval": "Memory: ",
	"steps/knowledgeRetrieval":     "Passages: ",
}

// reason shows why the guardian answered as it did.
func (s *Screen) reason(a Answer) {
	s.Text(Span{about[a.Method], Dim}, Span{visible(a.Message), Plain}, Span{visible(rules(a)), Dim})
	if instead := strings.Join(a.Data.Instead, " "); instead != "" {
		s.Text(Span{"Instead: ", Cyan}, Span{visible(instead), Plain})
	}
}

// maxHunks is how many changed places of one text are shown.
const maxHunks = 3

// changes shows what the guardian replaced.
func (s *Screen) changes(a Answer) {
	for _, c := range a.Changes {
		hunks, kept := diff(c.Before, c.After)
		if words := strings.Fields(c.After); !secret(a) && kept < len(words)/2 {
			// The text as a whole was replaced; the words that the two happen to share say nothing.
			hunks = []hunk{{oneLine(c.Before), oneLine(c.After)}}
		}
		label := "" // a call has several inputs; of all else there is one
		if a.Method == "steps/toolCallRequest" {
			label = visible(c.What) + "  "
		}
		blank := strings.Repeat("\u00a0", utf8.RuneCountInString(label)) // white space that keeps its place
		room := s.width() - indent - len(blank)/len("\u00a0") - len("+ ")
		for i, h := range hunks {
			if i == maxHunks {
				s.Text(Span{blank + fmt.Sprintf("and in %s more", count(len(hunks)-i, "place", "places")), Dim})
				break
			}
			if secret(a) {
				h = h.trimmed()
				h.before = conceal(h.before)
			}
			before, after := visible(shorten(h.before, room)), visible(shorten(h.after, room))
			if after == "" {
				after = "(nothing)"
			}
			if utf8.RuneCountInString(before+after)+len("  >  ") <= room {
				s.Text(Span{label, Dim}, Span{before, Before}, Span{"  →  ", Dim}, Span{after, After})
			} else {
				s.Text(Span{label + "− ", Dim}, Span{before, Before})
				s.Text(Span{blank + "+ ", Dim}, Span{after, After})
			}
			label = blank
		}
	}
}

// secret reports whether what the guardian took exception to is not to be shown.
func secret(a Answer) bool {
	return slices.ContainsFunc(a.ReasonCode, func(c string) bool {
		return strings.HasPrefix(c, "secret") || strings.HasPrefix(c, "pii")
	})
}

// wish says in a line what the agent set out to do.
func (s *Screen) wish(st *Step) []Span {
	m := st.Move
	text := func(what, t string) string {
		for _, a := range st.Answers {
			for _, c := range a.Changes {
				// What was changed is shown below; what was secret in it, nowhere.
				if c.What == what && c.Before == t && secret(a) {
					t = c.After
				}
			}
			if a.Decision == aos.Deny && secret(a) {
				t = concealWords(t)
			}
		}
		return visible(shorten(oneLine(t), 2*(s.width()-indent)-20))
	}
	switch m.Kind {
	case Hear:
		return []Span{{"The user asks  ", Bold}, {"“" + text("message", m.Text) + "”", Plain}}
	case Say:
		return []Span{{"Tell the user  ", Bold}, {"“" + text("message", m.Text) + "”", Plain}}
	case Wake:
		return []Span{{"Event " + visible(m.Event.Type) + "  ", Bold}, {"“" + text("event", m.Text) + "”", Plain}}
	}
	spans := []Span{{visible(m.Tool) + "  ", Bold}}
	for i, in := range m.Inputs {
		t := text(in.Name, in.Text())
		switch {
		case i == 0:
			spans = append(spans, Span{t, Plain})
		case utf8.RuneCountInString(t) <= 24:
			spans = append(spans, Span{"  " + visible(in.Name) + " ", Dim}, Span{t, Plain})
		}
	}
	return spans
}

func (s *Screen) width() int {
	if s.Width == 0 {
		return maxWidth
	}
	return max(minWidth, min(s.Width, maxWidth))
}

// Text shows a paragraph, wrapped, under the text of the steps.
func (s *Screen) Text(spans ...Span) {
	s.hang(indent, []Span{{strings.Repeat(" ", indent), Plain}}, spans)
}

// Title shows a line in bold at the left edge.
func (s *Screen) Title(text string) { s.Paragraph(Span{text, Bold}) }

// Check shows whether something that was looked at afterwards is as it should be.
func (s *Screen) Check(ok bool, text string) {
	mark := Span{"✓", Allowed}
	if !ok {
		mark = Span{"✗", Denied}
	}
	s.hang(4, []Span{{"  ", Plain}, mark, {" ", Plain}}, []Span{{text, Plain}})
}

// Paragraph shows text from the left edge on, wrapped.
func (s *Screen) Paragraph(spans ...Span) { s.hang(2, []Span{{"  ", Plain}}, spans) }

// Entry shows a name and, hanging beside it, what it stands for.
func (s *Screen) Entry(name Span, width int, text Span) {
	name.Text += strings.Repeat(" ", max(1, width-utf8.RuneCountInString(name.Text)))
	s.hang(2+utf8.RuneCountInString(name.Text), []Span{{"  ", Plain}, name}, []Span{text})
}

// hang writes head, and then the words of spans, wrapped and hanging at column left.
func (s *Screen) hang(left int, head, spans []Span) {
	var b strings.Builder
	style := Plain // as it is set in the terminal
	put := func(text string, wanted Style) {
		if s.Color && style != wanted {
			if style != Plain {
				b.WriteString("\x1b[0m")
			}
			if wanted != Plain {
				b.WriteString("\x1b[" + string(wanted) + "m")
			}
			style = wanted
		}
		b.WriteString(text)
	}
	for _, h := range head {
		put(h.Text, h.Style)
	}
	column := left
	gap := "" // white space before the next word, dropped where a line breaks
	for _, span := range spans {
		for text := span.Text; text != ""; {
			word := strings.TrimLeft(text, " ")
			gap += text[:len(text)-len(word)]
			end := strings.IndexByte(word, ' ')
			if end < 0 {
				end = len(word)
			}
			word, text = word[:end], word[end:]
			for word != "" {
				room := s.width() - column - len(gap)
				n := utf8.RuneCountInString(word)
				if n > room && column > left {
					put("\n"+strings.Repeat(" ", left), Plain)
					column, gap = left, ""
					continue
				}
				part := word
				if n > room { // longer than a line
					part = string([]rune(word)[:max(1, room)])
				}
				put(gap+part, span.Style)
				column += len(gap) + utf8.RuneCountInString(part)
				gap, word = "", word[len(part):]
			}
		}
	}
	put("", Plain)
	fmt.Fprintln(s.Out, strings.TrimRight(b.String(), " "))
}

// visible makes a text from outside harmless in a terminal: on one line, and
// with a mark in the place of whatever is not plainly shown.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsGraphic(r) && !unicode.Is(unicode.Cf, r):
			return r
		}
		return '·'
	}, s)
}

// shorten cuts the middle out of a text of more than n characters.
func shorten(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	half := (n - 3) / 2
	return strings.TrimSpace(string(r[:half])) + " … " + strings.TrimSpace(string(r[len(r)-half:]))
}

// conceal shows only the first and the last characters of a secret.
func conceal(s string) string {
	if head, rest, ok := strings.Cut(strings.TrimPrefix(s, "-----BEGIN "), "-----"); ok && strings.HasPrefix(s, "-----BEGIN ") {
		return fmt.Sprintf("-----BEGIN %s----- •••••••• (%s)", head, count(utf8.RuneCountInString(rest), "character", "characters"))
	}
	runes := []rune(s)
	alphanumeric := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	total := 0
	for _, r := range runes {
		if alphanumeric(r) {
			total++
		}
	}
	n := 0
	for i, r := range runes {
		if !alphanumeric(r) {
			continue
		}
		if n++; n > min(4, total/4) && n <= total-min(2, total/8) {
			runes[i] = '•'
		}
	}
	out := string(runes)
	for strings.Contains(out, "•••••••••") { // a length says something, too
		out = strings.ReplaceAll(out, "•••••••••", "••••••••")
	}
	return out
}

// concealWords conceals what could be a secret in a text that was refused.
func concealWords(s string) string {
	words := strings.Fields(s)
	for i, w := range words {
		digits := 0
		for _, r := range w {
			if unicode.IsDigit(r) {
				digits++
			}
		}
		if digits >= 4 || utf8.RuneCountInString(w) >= 20 {
			words[i] = conceal(w)
		}
	}
	return strings.Join(words, " ")
}

// hunk is one changed place of a text.
type hunk struct{ before, after string }

// trimmed leaves out what a word that was partly replaced keeps.
func (h hunk) trimmed() hunk {
	a, b := []rune(h.before), []rune(h.after)
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return hunk{string(a), string(b)}
}

// maxDiff bounds the words that are compared, since the comparison's time is
// the product of the two texts' words.
const maxDiff = 3000

// diff finds the words that were replaced, and how many of after's were not.
func diff(before, after string) (hunks []hunk, kept int) {
	a, b := strings.Fields(before), strings.Fields(after)
	kept = len(b)
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	kept -= len(b)
	if len(a) > maxDiff || len(b) > maxDiff {
		return []hunk{{strings.Join(a, " "), strings.Join(b, " ")}}, kept
	}
	// common[i][j] is how many words a[i:] and b[j:] can have in common.
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(a) || j < len(b); {
		from, to := i, j
		for (i < len(a) || j < len(b)) && (i == len(a) || j == len(b) || a[i] != b[j]) {
			if j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1] {
				i++
			} else {
				j++
			}
		}
		if i > from || j > to {
			hunks = append(hunks, hunk{strings.Join(a[from:i], " "), strings.Join(b[to:j], " ")})
		}
		for i < len(a) && j < len(b) && a[i] == b[j] {
			i, j = i+1, j+1
		}
	}
	return hunks, kept + common[0][0]
}
