package risk

import (
	"io"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Bounds of what is read of one page.
const (
	maxOpen     = 512     // elements inside each other
	maxSaid     = 4 << 10 // bytes of what a hidden element says
	maxTagBytes = 1 << 20 // of one tag or comment
)

// markup looks for what a page does not show. Elements are followed as they are opened
// and closed, by a tokenizer that reads as browsers do.
func (u *unseen) markup() {
	p := &page{unseen: u, text: u.view.text}
	p.whole = looksWhole(p.text)
	if !p.whole {
		p.text = withoutCode(p.text)
	}
	z := html.NewTokenizer(strings.NewReader(p.text))
	z.SetMaxBuf(maxTagBytes)
	at := 0
	for {
		kind := z.Next()
		raw := z.Raw()
		start, end := at, at+len(raw)
		at = end
		switch kind {
		case html.ErrorToken:
			if z.Err() != io.EOF { // a tag beyond all bounds: what follows is not read
				p.hide("unseen.markup", start, len(p.text), unseenWeight)
			}
			p.finish()
			return
		case html.TextToken:
			p.said(start, string(raw))
		case html.CommentToken:
			p.comment(start, end, string(z.Text()))
		case html.DoctypeToken:
			if pleads(string(z.Text())) {
				p.hide("unseen.comment", start, end, unseenWeight)
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			p.open(z, start, end, kind == html.SelfClosingTagToken)
		case html.EndTagToken:
			name, _ := z.TagName()
			p.close(string(name), start, end)
		}
	}
}

// looksWhole reports whether a text is a page, and no text that has tags in it: then
// signs of code are signs.
func looksWhole(text string) bool {
	head := strings.ToLower(strings.TrimLeft(text[:min(len(text), 1024)], " \t\r\n\ufeff"))
	for _, tag := range []string{"<!doctype", "<html", "<head", "<body"} {
		if strings.Contains(head, tag) && strings.HasPrefix(head, "<") {
			return true
		}
	}
	return false
}

// withoutCode is a text in which what a reader sees as code (between fences and
// backticks) begins no tag. Every byte keeps its place.
func withoutCode(text string) string {
	if strings.IndexByte(text, '`') < 0 && !strings.Contains(text, "~~~") && !strings.Contains(text, "\n    ") && !strings.Contains(text, "\n\t") {
		return text
	}
	out := []byte(text)
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if out[i] == '<' || out[i] == '>' {
				out[i] = ' '
			}
		}
	}
	at, fence, since := 0, "", 0
	before := "" // the line before, of which indented code leaves one free
	for line := range strings.Lines(text) {
		trimmed := strings.TrimLeft(line, " \t>")
		switch {
		case fence != "" && strings.HasPrefix(trimmed, fence):
			blank(since, at)
			fence = ""
		case fence != "":
		case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
			fence, since = trimmed[:3], at
		case strings.TrimSpace(before) == "" && (strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")):
			blank(at, at+len(line))
			at += len(line)
			continue // so that the next line is of it, too
		default:
			for i := 0; i < len(line); { // spans within the line
				open := strings.IndexByte(line[i:], '`')
				if open < 0 {
					break
				}
				open += i
				n := 1
				for open+n < len(line) && line[open+n] == '`' {
					n++
				}
				closing := strings.Index(line[open+n:], line[open:open+n])
				if closing < 0 {
					break
				}
				blank(at+open, at+open+n+closing)
				i = open + n + closing + n
			}
		}
		at += len(line)
		before = line
	}
	return string(out)
}

// page is what is known while a page is read.
type page struct {
	*unseen
	text   string
	whole  bool
	styled bool // it has style sheets that are not known
	opened []element
	sheet  sheet
	shut   int // the place in opened from 1 of the outermost element that is not shown
	dim    int // of the outermost whose own text is not shown
	words  strings.Builder
	style  bool // within <style>
	skips  int  // within elements whose text is no text, from 1
	data   bool // of which this one is JSON
}

// element is one that was opened.
type element struct {
	name       string
	start, end int // of its tag
	hides      hides
	note       bool // what it holds is often a note: it must address somebody
	folded     bool // whoever looks can open it: it must plead with somebody
	mark       int  // how much had been said when it was opened
	back       colour
	loose      bool     // its tag stands in the middle of a sentence
	classes    []string // the first few
	id         string
}

// said takes what stands between tags.
func (p *page) said(start int, text string) {
	if p.style {
		p.sheet.read(text)
	}
	if p.style || p.skips > 0 && !p.data {
		p.remarks(start, text)
		return
	}
	if p.data {
		p.strings(start, text)
		return
	}
	if p.skips > 0 || p.shut == 0 && p.dim == 0 || p.words.Len() > maxSaid {
		return
	}
	text = html.UnescapeString(text[:min(len(text), maxSaid)])
	p.words.WriteString(text)
	p.words.WriteByte(' ')
}

// remarks looks at the comments of a script or a style sheet, which hold many short orders
// about the code.
func (p *page) remarks(start int, text string) {
	for i := 0; i+1 < len(text); i++ {
		if text[i] != '/' || text[i+1] != '/' && text[i+1] != '*' || i > 0 && text[i-1] == ':' {
			continue
		}
		stop := "\n"
		if text[i+1] == '*' {
			stop = "*/"
		}
		end := len(text)
		if n := strings.Index(text[i+2:], stop); n >= 0 {
			end = i + 2 + n
		}
		if remark := text[i+2 : end]; len(remark) <= maxSaid && pleads(remark) {
			p.hide("unseen.comment", start+i, start+end, unseenWeight)
		}
		i = end
	}
}

// strings looks at the texts of a script that is data: JSON.
func (p *page) strings(start int, text string) {
	for i := 0; i < len(text); i++ {
		if text[i] != '"' {
			continue
		}
		end := i + 1
		for end < len(text) && text[end] != '"' {
			if text[end] == '\\' {
				end++
			}
			end++
		}
		if end < len(text) && end-i <= maxSaid && pleads(text[i+1:end]) {
			p.hide("unseen.attribute", start+i+1, start+end, unseenWeight)
		}
		i = end
	}
}

// comment takes a comment. Tools write them for each other, and they are no sentences.
func (p *page) comment(start, end int, text string) {
	if p.shut > 0 || strings.HasPrefix(text, "?xml") {
		return
	}
	if strings.HasPrefix(text, "?php") || strings.HasPrefix(text, "?=") { // code
		if pleads(text) {
			p.hide("unseen.comment", start, end, unseenWeight)
		}
		return
	}
	if !strings.HasPrefix(p.text[start:], "<!--") && p.within(start) { // < that is spoken of
		return
	}
	text = html.UnescapeString(untagged(text))
	if addresses(text) {
		p.hide("unseen.comment", start, end, unseenWeight)
	} else if says(text) {
		p.hide("unseen.comment", start, end, noteWeight)
	}
}

// untagged is a text without what stands in tags: a comment often holds some.
func untagged(text string) string {
	if strings.IndexByte(text, '<') < 0 {
		return text
	}
	var b strings.Builder
	for {
		i := strings.IndexByte(text, '<')
		if i < 0 {
			break
		}
		n := strings.IndexByte(text[i:], '>')
		if n < 0 {
			break
		}
		b.WriteString(text[:i])
		b.WriteByte(' ')
		text = text[i+n+1:]
	}
	b.WriteString(text)
	return b.String()
}

// Attributes whose texts are for somebody else than who looks at the page.
var (
	spokenAttributes = map[string]bool{"alt": true, "title": true, "aria-label": true, "aria-description": true, "summary": true, "longdesc": true, "label": true}
	void             = map[atom.Atom]bool{atom.Area: true, atom.Base: true, atom.Br: true, atom.Col: true, atom.Embed: true, atom.Hr: true, atom.Img: true, atom.Input: true,
		atom.Link: true, atom.Meta: true, atom.Param: true, atom.Source: true, atom.Track: true, atom.Wbr: true}
	// What an open element is closed by, without a tag of its own.
	closedBy = map[string][]atom.Atom{
		"p": {atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Details, atom.Div, atom.Dl, atom.Fieldset, atom.Figure, atom.Footer, atom.Form, atom.H1, atom.H2, atom.H3,
			atom.H4, atom.H5, atom.H6, atom.Header, atom.Hr, atom.Main, atom.Nav, atom.Ol, atom.P, atom.Pre, atom.Section, atom.Table, atom.Ul},
		"li": {atom.Li}, "dt": {atom.Dt, atom.Dd}, "dd": {atom.Dt, atom.Dd}, "option": {atom.Option}, "tr": {atom.Tr}, "td": {atom.Td, atom.Th, atom.Tr}, "th": {atom.Td, atom.Th, atom.Tr},
	}
)

// tag is one that opens an element, as it was read.
type tag struct {
	name              string
	kind              atom.Atom // zero for names that HTML does not know
	drawn             bool      // it stands in a drawing
	closes            bool      // its element ends with it, where HTML does not know its name
	attributes        []html.Attribute
	inline, class, id string
	hidden            bool // it is called hidden, which a style can undo
	// What it says to who hears the page, what is kept in it for programs, and a page within.
	spoken, kept, inner string
}

// get is an attribute that the tag has.
func (t *tag) get(name string) (value string, has bool) {
	i := slices.IndexFunc(t.attributes, func(a html.Attribute) bool { return a.Key == name })
	if i < 0 {
		return "", false
	}
	return t.attributes[i].Val, true
}

// has reports whether the tag has one of some attributes.
func (t *tag) has(names ...string) bool {
	return slices.ContainsFunc(t.attributes, func(a html.Attribute) bool { return slices.Contains(names, a.Key) })
}

// open takes a tag that opens an element.
func (p *page) open(z *html.Tokenizer, start, end int, closes bool) {
	name, more := z.TagName()
	t := tag{name: string(name), kind: atom.Lookup(name), closes: closes}
	if n := len(p.opened); n > 0 && slices.Contains(closedBy[p.opened[n-1].name], t.kind) {
		p.leave(n-1, start)
	}
	e := element{name: t.name, start: start, end: end, mark: p.words.Len(), loose: p.within(start)}
	t.drawn = slices.ContainsFunc(p.opened, func(e element) bool { return e.name == "svg" })
	for more {
		var k, v []byte
		k, v, more = z.TagAttr()
		t.attribute(&e, string(k), string(v))
	}
	p.hears(&t, start, end)
	p.hidesByKind(&e, &t)
	e.id = strings.ToLower(t.id)
	if e.classes = strings.Fields(strings.ToLower(t.class)); len(e.classes) > 8 {
		e.classes = e.classes[:8]
	}
	decl := p.styles(&e, &t)
	if void[t.kind] || t.kind == 0 && t.closes {
		return
	}
	// What says its own style again is seen, for all that is known of it.
	if p.dim > 0 && (t.class != "" || t.id != "" || t.inline != "") && e.hides&hidesOwn == 0 && restyles(decl) {
		p.undim(start)
	}
	if len(p.opened) == maxOpen {
		return
	}
	p.opened = append(p.opened, e)
	n := len(p.opened)
	if p.shut == 0 && p.dim == 0 {
		p.words.Reset()
		p.opened[n-1].mark = 0
	}
	switch {
	case e.hides&hidesAll != 0 && p.shut == 0:
		p.shut = n
	case e.hides&hidesOwn != 0 && p.shut == 0 && p.dim == 0:
		p.dim = n
	}
}

// attribute takes an attribute of the tag of an element.
func (t *tag) attribute(e *element, key, value string) {
	if len(t.attributes) < 32 {
		t.attributes = append(t.attributes, html.Attribute{Key: key, Val: value})
	}
	switch {
	case key == "style":
		t.inline = value
	case key == "class":
		t.class = value
	case key == "id":
		t.id = value
	case key == "hidden" && t.kind != 0 && !strings.HasPrefix(value, "{"): // an expression of a program's
		t.hidden = true
	case key == "color" && (t.kind == atom.Font || t.kind == atom.Basefont):
		t.inline = "color:" + value + ";" + t.inline
	case key == "text" && t.kind == atom.Body:
		t.inline = "color:" + value + ";" + t.inline
	case key == "background":
		t.inline = "background-image:url(x);" + t.inline
	case t.drawn && (key == "opacity" || key == "display" || key == "visibility" || key == "font-size"):
		t.inline = key + ":" + value + ";" + t.inline
	case t.drawn && key == "fill" && value == "none":
		e.hides |= hidesOwn
	case key == "popover" && t.kind != 0:
		e.hides, e.note = e.hides|hidesAll, true
	case key == "bgcolor":
		t.inline = "background:" + value + ";" + t.inline
	case key == "size" && t.kind == atom.Font && strings.TrimSpace(value) == "0":
		e.hides |= hidesOwn
	case t.drawn && (key == "x" || key == "y"):
		if n, ok := length(value, 16); ok && n <= -300 {
			e.hides |= hidesAll
		}
	case spokenAttributes[key] && len(t.spoken) < maxSaid:
		t.spoken += " " + value[:min(len(value), maxSaid)] + "."
	}
	switch {
	case len(t.kept) > maxSaid:
	case value == "": // the names of attributes in a row
		t.kept += " " + key
	case key == "srcdoc":
		t.inner = value
	case key == "href" || key == "src" || key == "action":
		if at := strings.IndexAny(value, "?#"); at >= 0 && !strings.HasPrefix(strings.ToLower(value), "mailto:") {
			t.kept += "." + unescapeQuery(value[at+1:min(len(value), maxSaid)]) + "."
		}
	case key != "style" && strings.IndexByte(value, ' ') >= 0:
		t.kept += "." + value[:min(len(value), maxSaid)] + "."
	}
}

// hears looks at what a tag says that nobody sees who looks at the page.
func (p *page) hears(t *tag, start, end int) {
	switch {
	case t.kind != 0:
	case !p.whole && strings.Trim(t.name, "abcdefghijklmnopqrstuvwxyz0123456789-:_.") != "": // a bracket before something else
		t.kept, t.spoken = "", ""
	default:
		t.kept += "." + strings.ReplaceAll(t.name, "-", " ")
	}
	if (p.shut == 0 || p.opened[p.shut-1].note) && (t.spoken != "" && addresses(t.spoken) && ordersInAttribute(t.spoken) || t.kept != "" && pleads(t.kept) ||
		t.inner != "" && (addresses(untagged(html.UnescapeString(t.inner))) || hidesWithin(t.inner))) {
		p.hide("unseen.attribute", start, end, unseenWeight)
	}
}

// hidesByKind notes what is not shown of an element for what it is.
func (p *page) hidesByKind(e *element, t *tag) {
	switch t.kind {
	case atom.Template, atom.Noscript, atom.Noembed, atom.Noframes, atom.Datalist, atom.Object, atom.Iframe, atom.Audio, atom.Video, atom.Canvas,
		atom.Applet, atom.Meter, atom.Progress, atom.Annotation, atom.AnnotationXml:
		e.hides, e.note = e.hides|hidesAll, true
	case atom.Details, atom.Option:
		if !t.has("open", "selected") {
			e.hides, e.note, e.folded = e.hides|hidesAll, true, true
		}
	case atom.Dialog:
		if !t.has("open") {
			e.hides, e.note = e.hides|hidesAll, true
		}
	case atom.Rp:
		e.hides |= hidesAll
	case atom.Link:
		p.styled = true
		for _, a := range t.attributes {
			if css, is := strings.CutPrefix(a.Val, "data:text/css,"); is && a.Key == "href" {
				p.sheet.read(unescapeQuery(css))
			}
		}
	case atom.Style:
		p.style = true
	case atom.Script:
		p.skips++
		p.data = slices.ContainsFunc(t.attributes, func(a html.Attribute) bool { return a.Key == "type" && strings.Contains(a.Val, "json") })
	}
	if t.drawn && (t.name == "desc" || t.name == "title" || t.name == "metadata" || t.name == "defs" || t.name == "symbol") {
		e.hides, e.note = e.hides|hidesAll, true
	}
}

// styles notes what is not shown of an element for its style, and returns what is declared
// for it.
func (p *page) styles(e *element, t *tag) (decl string) {
	parent := colour{known: true, r: 255, g: 255, b: 255} // of a page that says nothing
	if n := len(p.opened); n > 0 {
		parent = p.opened[n-1].back
	}
	surely, perhaps := p.sheet.of(e, p.opened, t.get)
	p.sheet.variables(t.inline)
	decl = surely + ";" + p.sheet.resolved(t.inline)
	if p.styled && (t.class != "" || t.id != "" || t.kind == atom.Body) || slices.ContainsFunc(e.classes, func(c string) bool { return p.sheet.rules["."+c] == "" }) {
		parent.loose = true
	}
	how, back := styleHides(decl, parent)
	values := properties(decl)
	if t.hidden && (values["display"] == "" || values["display"] == "none") {
		e.hides |= hidesAll
	}
	if end := p.sheet.ends[upTo(strings.TrimSpace(values["animation"]+values["animation-name"]), ' ')]; end != "" {
		if ending, _ := styleHides(end, back); ending != 0 || how != 0 { // by its end all is seen, whenever that is
			how = hidesMay
		}
	}
	if perhaps != "" && how == 0 && e.hides == 0 {
		if ways, _ := styleHides(perhaps, back); ways != 0 {
			how = hidesMay
		}
	}
	if how&hidesMay != 0 {
		how, e.note = hidesAll, true
	}
	e.hides, e.back = e.hides|how, back
	if t.kind == atom.Html || t.kind == atom.Body { // a script shows it when all of it is there
		e.hides = 0
		if t.kind == atom.Body && how == hidesOwn && !parent.loose && values["visibility"] != "hidden" {
			e.hides = hidesOwn // words in the colour of their ground
		}
	}
	return decl
}

// within reports whether a tag stands in the middle of a sentence, so that the text is
// more likely about the tag than made with it.
func (p *page) within(start int) bool {
	if p.whole {
		return false
	}
	before := strings.TrimRight(p.text[max(0, start-64):start], " \t")
	if before == "" {
		return false
	}
	c := before[len(before)-1]
	return isAlnum(c) || c == ',' || c == '(' || c == '"' || c == '\'' || c == ':'
}

// undim ends what only an element's own text hides, since one within it is shown.
func (p *page) undim(at int) {
	e := &p.opened[p.dim-1]
	p.judge(e, at)
	p.dim = 0
	p.words.Reset()
}

// close takes a tag that closes an element, and those within it that were left open.
func (p *page) close(name string, start, end int) {
	switch name {
	case "style":
		p.style = false
	case "script":
		p.skips, p.data = max(0, p.skips-1), false
	}
	for i := len(p.opened) - 1; i >= 0; i-- {
		if p.opened[i].name != name {
			continue
		}
		for k := len(p.opened) - 1; k > i; k-- {
			p.leave(k, start)
		}
		p.leave(i, end)
		return
	}
}

// leave closes the innermost element, which is at i and ends at a place.
func (p *page) leave(i, end int) {
	e := &p.opened[i]
	switch {
	case p.shut == i+1:
		p.shut = 0
		p.judge(e, end)
		p.words.Reset()
	case p.dim == i+1:
		p.dim = 0
		p.judge(e, end)
		p.words.Reset()
	}
	p.opened = p.opened[:i]
}

// judge notes an element that is not shown, if what it holds says something.
func (p *page) judge(e *element, end int) {
	text := p.words.String()
	switch {
	case !says(text):
	case e.folded && !pleads(text), e.note && !addresses(text):
		p.hide("unseen.markup", e.start, end, noteWeight)
	default:
		p.hide("unseen.markup", e.start, end, unseenWeight)
	}
}

// finish takes the end of the text. In a text that is no page, a tag in the middle of a
// sentence that nothing closes is spoken of.
func (p *page) finish() {
	for i := len(p.opened) - 1; i >= 0; i-- {
		if p.opened[i].loose {
			if p.shut == i+1 {
				p.shut = 0
			}
			if p.dim == i+1 {
				p.dim = 0
			}
		}
		p.leave(i, len(p.text))
	}
}

// ordersInAttribute reports whether what stands in an attribute gives an order by more
// than one word: a text in the place of an image says what is in the image.
func ordersInAttribute(text string) bool {
	if len(Scan(text, Injection, nil)) > 0 {
		return true
	}
	const long = 12 // words
	return len(strings.Fields(text)) >= long && speechOf(text)&speaksOrder != 0 || pleads(text)
}

// hidesWithin reports whether a page that stands in an attribute hides something.
func hidesWithin(inner string) bool {
	if strings.Contains(strings.ToLower(inner), "srcdoc") { // one within the other: nobody writes such
		return true
	}
	return slices.ContainsFunc(Scan(inner[:min(len(inner), 64<<10)], Unseen, nil), func(f Finding) bool { return f.Score >= unseenWeight })
}

// unescapeQuery is a part of an address as it is read.
func unescapeQuery(s string) string {
	if t, err := url.QueryUnescape(s); err == nil {
		return t
	}
	return s
}
