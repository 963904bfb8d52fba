package risk

import (
	"slices"
	"strconv"
	"strings"
)

// hides says what of an element is not shown.
type hides uint8

const (
	hidesAll hides = 1 << iota // it and all that is in it
	hidesOwn                   // its text, and that of those within that do not say otherwise
	hidesMay                   // all of it, perhaps: by what is not known to hold, or what a script or an animation ends
)

// colour is what a style says of one.
type colour struct {
	r, g, b int
	known   bool
	clear   bool // nothing of it is seen
	loose   bool // of a ground: it may be another, by a style that is not known
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
	ground := back // what is behind it
	if c, ok := background(get("background-color"), get("background")); ok {
		back = c
	}
	if image := get("background-image"); image != "" && image != "none" {
		back.known = false
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
	if n, ok := length(get("scale"), 1); ok && get("scale") != "" && n <= 0.05 || flattened(get("transform")) || get("transform") == "" && flattened(get("rotate")) {
		h |= hidesAll
	}
	if obscured(get("filter")) || get("backface-visibility") == "hidden" && turnedAway(get("transform")+get("rotate")) {
		h |= hidesAll
	}
	if masks := gradient(get("mask-image", "-webkit-mask-image", "mask", "-webkit-mask")); masks != nil && !slices.ContainsFunc(masks, func(c colour) bool { return !c.clear }) {
		h |= hidesAll
	}
	if blend := get("mix-blend-mode"); ground.known && !ground.loose &&
		((blend == "lighten" || blend == "screen") && sameColour(ground, colour{r: 255, g: 255, b: 255}) || (blend == "darken" || blend == "multiply") && sameColour(ground, colour{})) {
		h |= hidesAll
	}
	if n, ok := length(get("line-height"), 16); ok && n <= 1 && strings.TrimLeft(get("line-height"), "0.") != get("line-height") && get("overflow") == "hidden" && n < 0.2 {
		h |= hidesAll
	}
	if n, ok := length(get("letter-spacing"), 16); ok && n <= -8 {
		h |= hidesOwn
	}
	for _, word := range strings.Fields(get("translate")) {
		if n, ok := length(word, 16); ok && (n <= -500 || n >= 3000) {
			h |= hidesAll
		}
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
			for _, word := range lengths(get(side)) {
				if n, ok := length(word, 16); ok && (n <= -300 || n >= 2000 && !strings.HasPrefix(side, "margin")) {
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
	} else if points, is := strings.CutPrefix(clip, "polygon("); is && strings.Trim(points, "0,px%) ") == "" || strings.HasPrefix(clip, "circle(0") || strings.HasPrefix(clip, "ellipse(0") {
		h |= hidesAll
	}
	text, ok := readColour(get("-webkit-text-fill-color"))
	if !ok {
		text, ok = readColour(get("color"))
	}
	if ok && (text.clear || back.known && sameColour(text, back)) && get("text-shadow") == "" && get("-webkit-text-stroke") == "" && !strings.Contains(get("background")+get("background-image"), "gradient") {
		if h |= hidesOwn; !text.clear && back.loose {
			h = h&^hidesOwn | hidesMay
		}
	}
	if shades := gradient(get("background-image", "background")); ok && shades != nil && get("text-shadow") == "" &&
		!slices.ContainsFunc(shades, func(c colour) bool { return c.clear || !sameColour(c, text) }) {
		h |= hidesOwn
	}
	if h != 0 && (get("animation", "animation-name") != "" || get("transition") != "") { // which may end it
		h = hidesMay
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
	values, _ := weighed(declarations)
	return values
}

// weighed reads declarations, and says which of them are !important.
func weighed(declarations string) (values map[string]string, fixed map[string]bool) {
	values = map[string]string{}
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
	return values, fixed
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

// flattened reports whether a transformation leaves nothing to see.
func flattened(t string) bool {
	for _, f := range strings.SplitAfter(t, ")") {
		name, in, ok := strings.Cut(strings.TrimSpace(f), "(")
		if !ok {
			name, in = "rotate", t
		}
		first := strings.TrimSpace(upTo(strings.TrimRight(in, ") "), ','))
		n, err := strconv.ParseFloat(strings.TrimRight(first, "deg"), 64)
		switch {
		case err != nil:
		case strings.HasPrefix(name, "scale") && n > -0.05 && n < 0.05, strings.HasPrefix(name, "matrix") && n > -0.05 && n < 0.05 && !strings.Contains(in, "1"),
			(name == "rotatex" || name == "rotatey") && (n == 90 || n == -90 || n == 270):
			return true
		}
	}
	return false
}

// turnedAway reports whether a transformation shows the back of what it turns.
func turnedAway(t string) bool {
	for _, f := range strings.SplitAfter(t, ")") {
		name, in, _ := strings.Cut(strings.TrimSpace(f), "(")
		n, err := strconv.ParseFloat(strings.TrimRight(strings.TrimSpace(strings.TrimRight(in, ") ")), "deg"), 64)
		if err == nil && (name == "rotatex" || name == "rotatey") && (n == 180 || n == -180) {
			return true
		}
	}
	return false
}

// gradient returns the colours of a value that is one gradient; nil where it is none, or has
// a colour that cannot be read.
func gradient(value string) (colours []colour) {
	name, in, ok := strings.Cut(value, "gradient(")
	if !ok || strings.ContainsAny(name, " ,") || strings.Contains(in, "gradient(") {
		return nil
	}
	if end := strings.LastIndexByte(in, ')'); end >= 0 {
		in = in[:end]
	}
	level, start := 0, 0
	for i := 0; i <= len(in); i++ {
		switch {
		case i < len(in) && in[i] == '(':
			level++
		case i < len(in) && in[i] == ')':
			level--
		case i == len(in) || in[i] == ',' && level == 0:
			stop := strings.TrimSpace(in[start:i])
			start = i + 1
			if strings.HasPrefix(stop, "to ") || strings.HasSuffix(stop, "deg") || strings.HasPrefix(stop, "circle") || strings.HasPrefix(stop, "ellipse") {
				continue
			}
			if strings.IndexByte(stop, '(') < 0 { // behind a colour, where it stands
				stop = upTo(stop, ' ')
			}
			c, known := readColour(stop)
			if !known {
				return nil
			}
			colours = append(colours, c)
		}
	}
	return colours
}

// obscured reports whether a filter leaves nothing to read.
func obscured(filter string) bool {
	for _, f := range strings.SplitAfter(filter, ")") {
		name, in, _ := strings.Cut(strings.TrimSpace(f), "(")
		n, ok := length(strings.TrimRight(in, ") "), 1)
		switch {
		case !ok:
		case name == "blur" && n >= 8, (name == "contrast" || name == "opacity") && n <= 0.05, name == "brightness" && (n >= 50 || n == 0):
			return true
		}
	}
	return false
}

// lengths are the lengths in a value: words, or one that is computed.
func lengths(s string) []string {
	if strings.IndexByte(s, '(') >= 0 {
		return []string{s}
	}
	return strings.Fields(s)
}

// computed reads a value that calc, min, max or clamp computes; ok is false where it cannot.
func computed(s string, em float64, depth int) (n float64, ok bool) {
	s = strings.TrimSpace(s)
	if depth > 8 || s == "" {
		return 0, false
	}
	// The operator that binds least, outside of brackets, from the right.
	for _, operators := range [...]string{"+-", "*/"} {
		level := 0
		for i := len(s) - 1; i > 0; i-- {
			switch c := s[i]; {
			case c == ')':
				level++
			case c == '(':
				level--
			case level == 0 && strings.IndexByte(operators, c) >= 0 && (operators == "*/" || s[i-1] == ' '):
				a, ok1 := computed(s[:i], em, depth+1)
				b, ok2 := computed(s[i+1:], em, depth+1)
				switch {
				case !ok1 || !ok2 || c == '/' && b == 0:
					return 0, false
				case c == '+':
					return a + b, true
				case c == '-':
					return a - b, true
				case c == '*':
					return a * b, true
				}
				return a / b, true
			}
		}
	}
	name, in, calls := strings.Cut(s, "(")
	if !calls {
		return length(s, em)
	}
	var list []float64
	for _, part := range strings.Split(strings.TrimSuffix(in, ")"), ",") {
		one, ok := computed(part, em, depth+1)
		if !ok {
			return 0, false
		}
		list = append(list, one)
	}
	switch {
	case (name == "" || name == "calc") && len(list) == 1:
		return list[0], true
	case name == "min":
		return slices.Min(list), true
	case name == "max":
		return slices.Max(list), true
	case name == "clamp" && len(list) == 3:
		return max(list[0], min(list[1], list[2])), true
	}
	return 0, false
}

// length reads a length in pixels, about: em is what one em is.
func length(s string, em float64) (float64, bool) {
	s = strings.TrimSpace(s)
	if strings.IndexByte(s, '(') >= 0 {
		if len(s) > 200 {
			return 0, false
		}
		return computed(s, em, 0)
	}
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
	if in, is := strings.CutPrefix(s, "light-dark("); is { // as whoever has set nothing sees it
		return readColour(upTo(in, ','))
	}
	if in, is := strings.CutPrefix(s, "color-mix("); is { // one that is all of it
		for _, part := range strings.Split(strings.TrimSuffix(in, ")"), ",") {
			if one, all := strings.CutSuffix(strings.TrimSpace(part), " 100%"); all {
				return readColour(one)
			}
		}
		return c, false
	}
	c, ok = colourNames[s]
	if open := strings.IndexByte(s, '('); !ok && open > 0 && strings.Contains("oklch oklab lch lab", s[:open]) { // how light it is, where it has no colour
		parts := append(strings.Fields(strings.TrimRight(s[open+1:], ") ")), "")
		if light, is := length(parts[0], 1); is && (light <= 0.02 || light >= 0.98 && light <= 1 || light >= 98) {
			grey := 255
			if light <= 0.02 {
				grey = 0
			}
			c, ok = colour{r: grey, g: grey, b: grey}, true
		}
	} else if rest, is := strings.CutPrefix(s, "color(srgb "); is {
		words := strings.Fields(strings.TrimRight(rest, ") "))
		var n [3]float64
		ok = len(words) >= 3
		for i := range n {
			if ok {
				n[i], ok = length(words[i], 1)
			}
		}
		c = colour{r: int(n[0] * 255), g: int(n[1] * 255), b: int(n[2] * 255)}
	} else if s == "canvas" {
		c, ok = colour{r: 255, g: 255, b: 255}, true
	}
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
	rules map[string]string   // declarations by selector: p, .class, #id
	may   map[string][]narrow // by the last name, class or id of selectors that ask for more, or *
	vars  map[string]string   // custom properties, wherever they are set
	ends  map[string]string   // the declarations by which an animation ends
	bytes int
	n     int // rules
	work  int // elements that were looked at for what stands around others
}

// narrow is a rule whose selector asks for more than a name: it may be about an element.
type narrow struct {
	above        []string // names, classes and ids that elements around it have
	attributes   []string // conditions on its own, as [name^=value]
	declarations string
	sure         bool // all that it asks for is looked at
}

// maxSheet is how much of a page's style sheets is read, and maxRules how many rules.
const (
	maxSheet = 512 << 10
	maxRules = 4096
	maxWork  = 2 << 20
)

// read takes a style sheet.
func (s *sheet) read(text string) {
	if s.bytes += len(text); s.bytes > maxSheet {
		return
	}
	s.block(strings.NewReplacer("<!--", "", "-->", "").Replace(unescapeStyle(text)), false, 0)
}

// block reads the rules of a sheet, or those within another. may says that they hold
// under conditions only.
func (s *sheet) block(text string, may bool, depth int) {
	for depth < 16 {
		open := strings.IndexByte(text, '{')
		if open < 0 {
			return
		}
		prelude := text[:open]
		if at := strings.LastIndexAny(prelude, ";}"); at >= 0 { // behind @import, and declarations around this
			prelude = prelude[at+1:]
		}
		level, end := 1, open+1
		for ; end < len(text) && level > 0; end++ {
			switch text[end] {
			case '{':
				level++
			case '}':
				level--
			}
		}
		body := text[open+1 : end]
		text = text[end:]
		prelude = strings.ToLower(strings.TrimSpace(prelude))
		switch {
		case strings.HasPrefix(prelude, "@media"):
			switch {
			case strings.Contains(prelude, "print") || strings.Contains(prelude, "speech"):
			default:
				s.block(body, may || strings.Contains(prelude, "("), depth+1)
			}
		case strings.HasPrefix(prelude, "@supports"):
			s.block(body, may || strings.Contains(prelude, "not"), depth+1)
		case strings.HasPrefix(prelude, "@keyframes"), strings.HasPrefix(prelude, "@-webkit-keyframes"):
			_, name, _ := strings.Cut(prelude, " ")
			last := body[strings.LastIndexByte(body, '{')+1:]
			if s.ends == nil {
				s.ends = map[string]string{}
			}
			if len(s.ends) < maxRules {
				s.ends[strings.TrimSpace(name)] = telling(strings.TrimRight(last, "} \t\r\n"))
			}
		case strings.HasPrefix(prelude, "@"):
			s.block(body, may, depth+1)
		default:
			own := body
			if at := strings.IndexByte(body, '{'); at >= 0 { // rules within rules
				s.block(body, true, depth+1)
				own = body[:max(0, strings.LastIndexByte(body[:at], ';')+1)]
			}
			s.rule(prelude, strings.TrimRight(own, "}"), may)
		}
	}
}

// states are what selectors ask for that only somebody's pointer, or a script, brings.
var states = []string{":hover", ":focus", ":active", ":visited", ":target", ":checked", ":disabled", ":defined", ":host", "::", ":before", ":after", ":placeholder", ":open", ":popover"}

// rule takes the declarations of some selectors.
func (s *sheet) rule(selectors, declarations string, may bool) {
	s.variables(declarations)
	kept := telling(declarations)
	for one := range strings.SplitSeq(selectors, ",") {
		one = strings.TrimSpace(strings.ReplaceAll(one, "&", " "))
		if one == "" || len(one) > 200 || kept == "" || s.n >= maxRules || slices.ContainsFunc(states, func(state string) bool { return strings.Contains(one, state) }) {
			continue
		}
		s.n++
		key, rule := readSelector(one)
		if rule == nil && !may {
			if s.rules == nil {
				s.rules = map[string]string{}
			}
			s.rules[key] = telling(s.rules[key] + ";" + declarations)
			continue
		}
		if rule == nil {
			rule = &narrow{}
		}
		rule.sure = rule.sure && !may
		rule.declarations = kept
		if s.may == nil {
			s.may = map[string][]narrow{}
		}
		if len(s.may[key]) < 32 {
			s.may[key] = append(s.may[key], *rule)
		}
	}
}

// variables notes the custom properties that declarations set.
func (s *sheet) variables(declarations string) {
	if !strings.Contains(declarations, "--") {
		return
	}
	for name, value := range properties(declarations) {
		if strings.HasPrefix(name, "--") && len(s.vars) < maxRules && len(value) < 200 {
			if s.vars == nil {
				s.vars = map[string]string{}
			}
			s.vars[name] = value
		}
	}
}

// resolved are declarations with the values of custom properties in their places.
func (s *sheet) resolved(declarations string) string {
	for range 8 {
		at := strings.Index(declarations, "var(")
		if at < 0 {
			break
		}
		level, end := 0, at+3
		for ; end < len(declarations); end++ {
			if declarations[end] == '(' {
				level++
			} else if declarations[end] == ')' {
				if level--; level == 0 {
					break
				}
			}
		}
		name, other, _ := strings.Cut(declarations[at+4:min(end, len(declarations))], ",")
		value, ok := s.vars[strings.TrimSpace(strings.ToLower(name))]
		if !ok {
			value = other
		}
		declarations = declarations[:at] + value + declarations[min(end+1, len(declarations)):]
		if len(declarations) > 4096 {
			return ""
		}
	}
	return declarations
}

// readSelector reads a selector: the last name, class or id that it asks for, or *, and what it
// asks for beside that; nil for nothing.
func readSelector(one string) (key string, rule *narrow) {
	r := &narrow{sure: true}
	simple := func(compound string) (key string) {
		for compound != "" {
			i := 1
			switch compound[0] {
			case '[':
				for i < len(compound) && compound[i-1] != ']' {
					i++
				}
				r.attributes = append(r.attributes, compound[:i])
			case ':':
				level := 0
				for ; i < len(compound) && (level > 0 || strings.IndexByte(":[.#", compound[i]) < 0); i++ {
					if compound[i] == '(' {
						level++
					} else if compound[i] == ')' {
						level--
					}
				}
				if compound[:i] != ":root" {
					r.sure = false
				}
			default:
				for i < len(compound) && strings.IndexByte(":[.#", compound[i]) < 0 {
					i++
				}
				if part := compound[:i]; part != "*" {
					key = part // p.note: by what is narrower
				}
			}
			compound = compound[i:]
		}
		return key
	}
	start, level, beside := 0, 0, false
	var compounds []string
	for i := 0; i <= len(one); i++ {
		if i < len(one) && (one[i] == '(' || one[i] == '[') {
			level++
		} else if i < len(one) && (one[i] == ')' || one[i] == ']') {
			level--
		}
		if i == len(one) || level == 0 && strings.IndexByte(" >+~", one[i]) >= 0 {
			if start < i {
				compounds = append(compounds, one[start:i])
			}
			if i < len(one) && (one[i] == '+' || one[i] == '~') {
				beside = true
				compounds = compounds[:0]
			}
			start = i + 1
		}
	}
	if len(compounds) == 0 {
		return "*", &narrow{}
	}
	for _, c := range compounds[:len(compounds)-1] {
		before := len(r.attributes)
		if k := simple(c); k != "" {
			r.above = append(r.above, k)
		}
		if len(r.attributes) > before {
			r.attributes, r.sure = r.attributes[:before], false
		}
	}
	key = simple(compounds[len(compounds)-1])
	r.sure = r.sure && !beside
	if key != "" && r.above == nil && r.attributes == nil && r.sure {
		return key, nil
	}
	if key == "" {
		key = "*"
	}
	return key, r
}

// tellingProperties are those that can hide a text, or show one again.
var tellingProperties = strings.Fields("animation animation-name transition scale rotate translate mask mask-image -webkit-mask -webkit-mask-image backface-visibility mix-blend-mode line-height letter-spacing background-image -webkit-text-fill-color -webkit-text-stroke zoom display visibility opacity filter transform font font-size text-indent position left top right bottom margin margin-left margin-top inset overflow height width max-height max-width clip clip-path color background background-color content-visibility mso-hide")

// telling is what counts of declarations, as short as it can be said: every element of
// its class has it read again.
func telling(declarations string) string {
	const most = 256
	if strings.TrimSpace(strings.Trim(declarations, ";")) == "" {
		return ""
	}
	values, fixed := weighed(declarations)
	var b strings.Builder
	for _, name := range tellingProperties {
		v, ok := values[name]
		if fixed[name] {
			v += "!important"
		}
		if ok && b.Len()+len(name)+len(v) < most {
			b.WriteString(name + ":" + v + ";")
		}
	}
	return b.String()
}

// of returns the declarations for an element, and those that may be.
func (s *sheet) of(e *element, around []element, attribute func(name string) (string, bool)) (surely, perhaps string) {
	if s.rules == nil && s.may == nil {
		return "", ""
	}
	keys := append(make([]string, 0, 12), "*", e.name)
	for _, c := range e.classes {
		keys = append(keys, "."+c)
	}
	if e.id != "" {
		keys = append(keys, "#"+e.id)
	}
	for _, key := range keys {
		if d, ok := s.rules[key]; ok {
			surely += ";" + d
		}
		for i := range s.may[key] {
			rule := &s.may[key][i]
			s.work += 1 + len(rule.above)*len(around)
			switch {
			case s.work > maxWork: // what is not looked at may be
				perhaps += ";" + rule.declarations
			case !rule.around(around) || !rule.has(attribute):
			case rule.sure:
				surely += ";" + rule.declarations
			default:
				perhaps += ";" + rule.declarations
			}
		}
	}
	return s.resolved(surely), s.resolved(perhaps)
}

// around reports whether what a rule asks for stands around an element.
func (n *narrow) around(elements []element) bool {
	for _, want := range n.above {
		found := slices.ContainsFunc(elements, func(e element) bool {
			switch want[0] {
			case '.':
				return slices.Contains(e.classes, want[1:])
			case '#':
				return e.id == want[1:]
			}
			return e.name == want
		})
		if !found {
			return false
		}
	}
	return true
}

// has reports whether an element has the attributes that a rule asks for.
func (n *narrow) has(attribute func(string) (string, bool)) bool {
	for _, one := range n.attributes {
		name, want, valued := strings.Cut(strings.Trim(one, "[]"), "=")
		kind := byte('=')
		if l := len(name); valued && l > 0 && strings.IndexByte("^$*~|", name[l-1]) >= 0 {
			kind, name = name[l-1], name[:l-1]
		}
		value, ok := attribute(strings.TrimSpace(name))
		want = strings.ToLower(strings.Trim(strings.TrimSpace(want), `"'`))
		value = strings.ToLower(value)
		switch {
		case !ok:
			return false
		case !valued:
		case kind == '=' && value != want, kind == '^' && !strings.HasPrefix(value, want), kind == '$' && !strings.HasSuffix(value, want),
			kind == '*' && !strings.Contains(value, want), kind == '~' && !slices.Contains(strings.Fields(value), want), kind == '|' && !strings.HasPrefix(value, want):
			return false
		}
	}
	return true
}
