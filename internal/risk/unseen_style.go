package risk

import (
	"strconv"
	"strings"
)

// hides says what of an element is not shown.
type hides uint8

const (
	hidesAll hides = 1 << iota // it and all that is in it
	hidesOwn                   // its text, and that of those within that do not say otherwise
)

// colour is what a style says of one.
type colour struct {
	r, g, b int
	known   bool
	clear   bool // nothing of it is seen
}

// styleHides reads declarations: what they hide, and what the background is then. The last
// of a property counts, as in a browser, unless one is !important.
func styleHides(declarations string, back colour) (hides, colour) {
	if strings.Trim(declarations, ";") == "" {
		return 0, back
	}
	values := properties(declarations)
	get := func(names ...string) string {
		for _, n := range names {
			if v, ok := values[n]; ok {
				return v
			}
		}
		return ""
	}
	var h hides
	if c, ok := background(get("background-color"), get("background")); ok {
		back = c
	}
	if get("display") == "none" || get("content-visibility") == "hidden" || get("mso-hide") == "all" || get("visibility") == "collapse" {
		h |= hidesAll
	}
	if get("visibility") == "hidden" {
		h |= hidesOwn
	}
	if n, ok := length(get("opacity"), 1); ok && n <= 0.05 {
		h |= hidesAll
	}
	if strings.Contains(get("filter"), "opacity(0") || strings.Contains(get("transform"), "scale(0") || strings.Contains(get("zoom"), "0.0") {
		h |= hidesAll
	}
	size := get("font-size")
	if size == "" {
		for _, word := range strings.Fields(get("font")) {
			first, _, whole := strings.Cut(word, "/")
			if word = first; word != "" && (isDigit(word[0]) || word[0] == '.') && (strings.TrimLeft(word, "0123456789.") != "" || whole || word == "0") {
				size = word
			}
		}
	}
	if n, ok := length(size, 16); ok && n <= 2 && size != "" {
		h |= hidesOwn
	}
	if n, ok := length(get("text-indent"), 16); ok && (n <= -300 || n >= 3000) {
		h |= hidesOwn
	}
	position := get("position")
	for _, side := range []string{"left", "top", "right", "bottom", "margin-left", "margin-top", "margin", "inset"} {
		if strings.HasPrefix(side, "margin") || position == "absolute" || position == "fixed" || position == "relative" {
			for _, word := range strings.Fields(get(side)) {
				if n, ok := length(word, 16); ok && n <= -300 {
					h |= hidesAll
				}
			}
		}
	}
	if t := get("transform"); strings.Contains(t, "translate") {
		for _, word := range strings.FieldsFunc(t, func(c rune) bool { return c == '(' || c == ',' || c == ')' || c == ' ' }) {
			if n, ok := length(word, 16); ok && (n <= -500 || n >= 3000) {
				h |= hidesAll
			}
		}
	}
	cut := get("overflow", "overflow-x", "overflow-y")
	for _, side := range []string{"height", "width", "max-height", "max-width"} {
		if n, ok := length(get(side), 16); ok && get(side) != "" && n <= 1 && (cut == "hidden" || cut == "clip" || position == "absolute") {
			h |= hidesAll
		}
	}
	if clip := strings.ReplaceAll(get("clip"), ",", " "); strings.HasPrefix(clip, "rect(") {
		zeros := true
		for _, word := range strings.Fields(strings.Trim(clip[5:], ") ")) {
			n, ok := length(word, 16)
			zeros = zeros && ok && n <= 1
		}
		if zeros {
			h |= hidesAll
		}
	}
	if clip := get("clip-path"); strings.HasPrefix(clip, "inset(") {
		if n, err := strconv.ParseFloat(upTo(strings.TrimSpace(clip[6:]), '%'), 64); err == nil && n >= 50 && strings.Contains(clip, "%") {
			h |= hidesAll
		}
	} else if strings.HasPrefix(clip, "circle(0") || strings.HasPrefix(clip, "polygon(0 0, 0 0, 0 0") {
		h |= hidesAll
	}
	text, ok := readColour(get("-webkit-text-fill-color"))
	if !ok {
		text, ok = readColour(get("color"))
	}
	if ok && (text.clear || back.known && sameColour(text, back)) && get("text-shadow") == "" && !strings.Contains(get("background")+get("background-image"), "gradient") {
		h |= hidesOwn
	}
	return h, back
}

// restyles reports whether declarations say again how a text is shown.
func restyles(declarations string) bool {
	values := properties(declarations)
	for _, name := range []string{"font-size", "font", "color", "visibility", "text-indent"} {
		if _, ok := values[name]; ok {
			return true
		}
	}
	return false
}

// properties reads declarations. Comments and escapes part no words in them.
func properties(declarations string) map[string]string {
	values := map[string]string{}
	var fixed map[string]bool
	for _, d := range strings.Split(unescapeStyle(declarations), ";") {
		name, value, ok := strings.Cut(d, ":")
		if !ok {
			continue
		}
		name, value = strings.ToLower(strings.TrimSpace(name)), strings.ToLower(strings.TrimSpace(value))
		important := false
		if i := strings.LastIndexByte(value, '!'); i >= 0 {
			value, important = strings.TrimSpace(value[:i]), true
		}
		if fixed[name] && !important {
			continue
		}
		if important {
			if fixed == nil {
				fixed = map[string]bool{}
			}
			fixed[name] = true
		}
		values[name] = value
	}
	return values
}

// unescapeStyle takes the comments out of a style, and undoes its escapes.
func unescapeStyle(s string) string {
	if !strings.Contains(s, `\`) && !strings.Contains(s, "/*") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		switch {
		case strings.HasPrefix(s[i:], "/*"):
			n := strings.Index(s[i+2:], "*/")
			if n < 0 {
				return b.String()
			}
			i += n + 4
		case s[i] == '\\' && i+1 < len(s):
			i++
			n := 0
			for n < 6 && i+n < len(s) && hexDigits.has(s[i+n]) {
				n++
			}
			if n == 0 {
				continue
			}
			r, _ := hexRune(s, i, n)
			b.WriteRune(r)
			if i += n; i < len(s) && s[i] == ' ' {
				i++
			}
		default:
			b.WriteByte(s[i])
			i++
		}
	}
	return b.String()
}

func upTo(s string, c byte) string {
	if i := strings.IndexByte(s, c); i >= 0 {
		return s[:i]
	}
	return s
}

// length reads a length in pixels, about: em is what one em is.
func length(s string, em float64) (float64, bool) {
	s = strings.TrimSpace(s)
	end := len(s)
	for end > 0 && (isAlpha(s[end-1]) || s[end-1] == '%') {
		end--
	}
	n, err := strconv.ParseFloat(s[:end], 64)
	if err != nil {
		return 0, false
	}
	switch s[end:] {
	case "em", "rem", "ch", "ex":
		return n * em, true
	case "%":
		if em == 1 {
			return n / 100, true
		}
		return n * 10, true // of a window of a thousand
	case "vw", "vh", "vmin", "vmax":
		return n * 10, true
	case "pt":
		return n * 4 / 3, true
	case "in":
		return n * 96, true
	case "cm":
		return n * 38, true
	case "mm":
		return n * 3.8, true
	}
	return n, true
}

// background reads what a style says of it. An image makes it unknown.
func background(own, all string) (colour, bool) {
	if own != "" {
		c, ok := readColour(own)
		c.known = c.known && !c.clear
		return c, ok && !c.clear
	}
	if all == "" || all == "none" || all == "transparent" {
		return colour{}, false
	}
	if strings.Contains(all, "url(") || strings.Contains(all, "gradient") || strings.Contains(all, "var(") {
		return colour{}, true
	}
	if c, ok := readColour(all); ok {
		return c, !c.clear
	}
	for _, word := range strings.Fields(all) {
		if c, ok := readColour(word); ok && !c.clear {
			return c, true
		}
	}
	return colour{}, true
}

// The colours that have names and come into question: those that pages are made of.
var colourNames = map[string]colour{
	"white": {r: 255, g: 255, b: 255}, "snow": {r: 255, g: 250, b: 250}, "ivory": {r: 255, g: 255, b: 240}, "ghostwhite": {r: 248, g: 248, b: 255}, "whitesmoke": {r: 245, g: 245, b: 245},
	"floralwhite": {r: 255, g: 250, b: 240}, "mintcream": {r: 245, g: 255, b: 250}, "azure": {r: 240, g: 255, b: 255}, "aliceblue": {r: 240, g: 248, b: 255}, "seashell": {r: 255, g: 245, b: 238},
	"black": {}, "gray": {r: 128, g: 128, b: 128}, "grey": {r: 128, g: 128, b: 128}, "silver": {r: 192, g: 192, b: 192}, "lightgray": {r: 211, g: 211, b: 211}, "lightgrey": {r: 211, g: 211, b: 211},
	"gainsboro": {r: 220, g: 220, b: 220}, "red": {r: 255}, "green": {g: 128}, "lime": {g: 255}, "blue": {b: 255}, "navy": {b: 128}, "yellow": {r: 255, g: 255}, "orange": {r: 255, g: 165},
	"purple": {r: 128, b: 128}, "maroon": {r: 128}, "olive": {r: 128, g: 128}, "teal": {g: 128, b: 128}, "aqua": {g: 255, b: 255}, "cyan": {g: 255, b: 255}, "magenta": {r: 255, b: 255}, "fuchsia": {r: 255, b: 255},
	"pink": {r: 255, g: 192, b: 203}, "brown": {r: 165, g: 42, b: 42}, "beige": {r: 245, g: 245, b: 220}, "linen": {r: 250, g: 240, b: 230},
}

func readColour(s string) (c colour, ok bool) {
	s = strings.TrimSpace(s)
	switch {
	case s == "":
		return c, false
	case s == "transparent":
		return colour{known: true, clear: true}, true
	case s[0] == '#':
		hex := s[1:]
		if len(hex) == 3 || len(hex) == 4 {
			wide := make([]byte, 0, 8)
			for i := range len(hex) {
				wide = append(wide, hex[i], hex[i])
			}
			hex = string(wide)
		}
		if len(hex) != 6 && len(hex) != 8 {
			return c, false
		}
		r, ok1 := hexRune(hex, 0, 2)
		g, ok2 := hexRune(hex, 2, 2)
		b, ok3 := hexRune(hex, 4, 2)
		if !ok1 || !ok2 || !ok3 {
			return c, false
		}
		clear := len(hex) == 8 && strings.HasPrefix(hex[6:], "0")
		return colour{r: int(r), g: int(g), b: int(b), known: true, clear: clear}, true
	case strings.HasPrefix(s, "rgb"), strings.HasPrefix(s, "hsl"):
		open := strings.IndexByte(s, '(')
		if open < 0 {
			return c, false
		}
		var n [4]float64
		n[3] = 1
		for i, word := range strings.FieldsFunc(strings.TrimRight(s[open+1:], ")"), func(r rune) bool { return r == ',' || r == ' ' || r == '/' }) {
			if i >= len(n) {
				break
			}
			v, err := strconv.ParseFloat(strings.TrimRight(word, "%deg"), 64)
			if err != nil {
				return c, false
			}
			if strings.HasSuffix(word, "%") {
				v /= 100
				if i < 3 && s[0] == 'r' {
					v *= 255
				}
			}
			n[i] = v
		}
		c = colour{r: int(n[0]), g: int(n[1]), b: int(n[2]), known: true, clear: n[3] <= 0.05}
		if s[0] == 'h' { // only how light it is can be told from another's
			light := int(n[2] * 255)
			if n[1] > 0.1 && light > 10 && light < 245 {
				return c, c.clear
			}
			c.r, c.g, c.b = light, light, light
		}
		return c, true
	}
	c, ok = colourNames[s]
	c.known = ok
	return c, ok
}

// sameColour reports whether one colour cannot be told from another.
func sameColour(a, b colour) bool {
	const most = 24
	return abs(a.r-b.r)+abs(a.g-b.g)+abs(a.b-b.b) <= most
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

// sheet holds what a page's own style sheets say of names, classes and ids that hide.
type sheet struct {
	rules map[string]string // declarations by selector: p, .class, #id
	bytes int
}

// maxSheet is how much of a page's style sheets is read, and maxRules how many rules.
const (
	maxSheet = 512 << 10
	maxRules = 4096
)

// read takes a style sheet. What is only for other media is left out, and of a selector
// only one name counts: what it stands for more narrowly is not known.
func (s *sheet) read(text string) {
	if s.bytes += len(text); s.bytes > maxSheet {
		return
	}
	text = unescapeStyle(text)
	for {
		open := strings.IndexByte(text, '{')
		if open < 0 {
			return
		}
		selectors := text[:open]
		text = text[open+1:]
		if at := strings.LastIndexByte(selectors, ';'); at >= 0 { // behind @import
			selectors = selectors[at+1:]
		}
		if selectors = strings.TrimSpace(selectors); strings.HasPrefix(selectors, "@") {
			if !strings.HasPrefix(selectors, "@media") || strings.Contains(selectors, "screen") && !strings.Contains(selectors, "width") || strings.Contains(selectors, "@media all") {
				continue // its rules count
			}
			depth := 1
			i := 0
			for ; i < len(text) && depth > 0; i++ {
				switch text[i] {
				case '{':
					depth++
				case '}':
					depth--
				}
			}
			text = text[i:]
			continue
		}
		selectors = strings.TrimLeft(selectors, "} \t\r\n")
		end := strings.IndexByte(text, '}')
		if end < 0 {
			end = len(text)
		}
		declarations := text[:end]
		text = text[min(len(text), end+1):]
		for one := range strings.SplitSeq(selectors, ",") {
			if one = strings.ToLower(strings.TrimSpace(one)); one == "" || len(one) > 64 || strings.ContainsAny(one, " >+~:[*") {
				continue
			}
			if i := strings.IndexAny(one[1:], ".#"); i >= 0 { // p.note: by what is narrower
				one = one[i+1:]
			}
			if s.rules == nil {
				s.rules = map[string]string{}
			}
			if len(s.rules) < maxRules {
				s.rules[one] = telling(s.rules[one] + ";" + declarations)
			}
		}
	}
}

// tellingProperties are those that can hide a text, or show one again.
var tellingProperties = strings.Fields("display visibility opacity filter transform font font-size text-indent position left top right bottom margin margin-left margin-top inset overflow height width max-height max-width clip clip-path color background background-color content-visibility mso-hide")

// telling is what counts of declarations, as short as it can be said: every element of
// its class has it read again.
func telling(declarations string) string {
	const most = 256
	if strings.TrimSpace(strings.Trim(declarations, ";")) == "" {
		return ""
	}
	values := properties(declarations)
	var b strings.Builder
	for _, name := range tellingProperties {
		if v, ok := values[name]; ok && b.Len()+len(name)+len(v) < most {
			b.WriteString(name + ":" + v + ";")
		}
	}
	return b.String()
}

// of returns the declarations for an element.
func (s *sheet) of(name, class, id string) string {
	if s.rules == nil {
		return ""
	}
	all := s.rules[name]
	for i, c := range strings.Fields(strings.ToLower(class)) {
		if i == 8 {
			break
		}
		if d, ok := s.rules["."+c]; ok {
			all += ";" + d
		}
	}
	if id != "" {
		if d, ok := s.rules["#"+strings.ToLower(id)]; ok {
			all += ";" + d
		}
	}
	return all
}
