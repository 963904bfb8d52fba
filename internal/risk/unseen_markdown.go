package risk

import "strings"

// markdown looks for what Markdown does not show: definitions of links that nothing
// refers to, as comments are written, and titles of links and images.
func (u *unseen) markdown() {
	text := u.view.text
	if strings.Contains(text, "]:") {
		at, fenced := 0, false
		for line := range strings.Lines(text) {
			start := at
			at += len(line)
			trimmed := strings.TrimLeft(line, " ")
			if strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~") {
				fenced = !fenced
			}
			if fenced || len(line)-len(trimmed) > 3 || !strings.HasPrefix(trimmed, "[") {
				continue
			}
			label, rest, ok := strings.Cut(trimmed[1:], "]:")
			if !ok || strings.ContainsAny(label, "[]") || strings.HasPrefix(label, "^") {
				continue
			}
			rest = strings.TrimSpace(rest)
			target, title, _ := strings.Cut(rest, " ")
			switch {
			case target != "#" && target != "<>" && target != "/" && !strings.HasPrefix(target, "#"):
				if addresses(title) && ordersInAttribute(title) {
					u.hide("unseen.title", start, start+len(strings.TrimRight(line, "\r\n")), unseenWeight)
				}
			case addresses(title):
				u.hide("unseen.comment", start, start+len(strings.TrimRight(line, "\r\n")), unseenWeight)
			case says(title):
				u.hide("unseen.comment", start, start+len(strings.TrimRight(line, "\r\n")), noteWeight)
			}
		}
	}
	for from := 0; ; {
		i := strings.Index(text[from:], "](")
		if i < 0 {
			return
		}
		open := from + i
		from = open + 2
		const most = 2 << 10
		rest := text[from:min(len(text), from+most)]
		end := strings.IndexAny(rest, ")\n")
		quote := strings.IndexAny(rest, `"'`)
		if quote >= 0 && quote < end && quote > 0 && rest[quote-1] == ' ' {
			if n := strings.Index(rest[quote+1:], rest[quote:quote+1]+")"); n >= 0 {
				if title := rest[quote+1 : quote+1+n]; addresses(title) && ordersInAttribute(title) {
					u.hide("unseen.title", from+quote, from+quote+n+2, unseenWeight)
				}
				from += quote + n
			}
		}
		// The text in the place of an image is between ![ and ](.
		if start := strings.LastIndex(text[max(0, open-most):open], "!["); start >= 0 {
			start += max(0, open-most)
			if alt := text[start+2 : open]; !strings.ContainsAny(alt, "[]") && addresses(alt) && ordersInAttribute(alt) {
				u.hide("unseen.title", start+2, open, unseenWeight)
			}
		}
	}
}

// asides looks for the comments of other markup (MDX, Jinja, Liquid, Obsidian, reStructuredText,
// AsciiDoc, Org, LaTeX, RTF), and for what a page that is made of Markdown leaves out: front
// matter, notes that nothing refers to, what follows a fence; and for the headers of a mail
// that no program shows.
func (u *unseen) asides() {
	text := u.view.text
	for _, a := range []struct{ open, close string }{{"{/*", "*/}"}, {"{#", "#}"}, {"{% comment", "endcomment"}, {"%%", "%%"}, {"{:", "}"}, {"{%-", "%}"}} {
		u.enclosed(a.open, a.close, addresses)
	}
	latex := strings.Contains(text, "\\begin{") || strings.Contains(text, "\\documentclass")
	if latex {
		u.enclosed("\\phantom{", "}", says)
	}
	if strings.HasPrefix(text, "{\\rtf") {
		u.enclosed("{\\v ", "}", says)
	}
	org := strings.HasPrefix(text, "* ") || strings.HasPrefix(text, "#+")
	front := strings.HasPrefix(text, "---\n") || strings.HasPrefix(text, "---\r\n")
	header := headed(text)
	at, fenced, notes := 0, false, 0
	for line := range strings.Lines(text) {
		start := at
		at += len(line)
		line = strings.TrimRight(line, "\r\n")
		said, from := "", 0 // what is said where it is not seen, and from where on in the line
		switch {
		case line == "":
			header = false
		case front:
			front = line != "---" || start == 0
			_, said, _ = strings.Cut(line, ":")
		case header && !shownHeader(line):
			_, said, _ = strings.Cut(line, ":")
		case strings.HasPrefix(line, "```"), strings.HasPrefix(line, "~~~"):
			fenced = !fenced
			from = len(line) - len(strings.TrimLeft(line, "`~"))
			said = line[from:]
		case fenced:
		case strings.HasPrefix(line, ".. ") && !strings.Contains(line, "::"), strings.HasPrefix(line, "// "), strings.HasPrefix(line, "*["),
			org && strings.HasPrefix(line, "# "), latex && strings.HasPrefix(line, "%"):
			said = line[2:]
		case strings.HasPrefix(line, "[^"):
			const most = 64
			if name, note, ok := strings.Cut(line, "]:"); ok && notes < most {
				if notes++; strings.Count(text, name+"]") == 1 {
					said = note
				}
			}
		}
		if said != "" && len(said) <= maxSaid && says(said) && speechOf(said)&speaksPlea != 0 {
			u.hide("unseen.comment", start+from, start+len(line), unseenWeight)
		}
	}
}

// enclosed notes what stands between two marks, if it is of a kind.
func (u *unseen) enclosed(open, close string, tells func(string) bool) {
	text := u.view.text
	end := 0 // of what is enclosed: no place is looked at twice for it
	for from := 0; ; {
		i := strings.Index(text[from:], open)
		if i < 0 {
			return
		}
		i += from
		from = i + len(open)
		for from < len(text) && text[from] == open[len(open)-1] {
			from++
		}
		if end < from {
			n := strings.Index(text[from:], close)
			if n < 0 {
				return
			}
			end = from + n
		}
		if end-from > maxSaid {
			continue
		}
		if tells(text[from:end]) {
			u.hide("unseen.comment", i, end+len(close), unseenWeight)
		}
		from = end + len(close)
	}
}

// headed reports whether a text begins with the headers of a mail.
func headed(text string) bool {
	head := text[:min(len(text), 4<<10)]
	if end := strings.Index(head, "\n\n"); end >= 0 {
		head = head[:end]
	}
	name, _, ok := strings.Cut(head, ": ")
	return ok && len(name) < 40 && strings.IndexByte(name, ' ') < 0 && (strings.Contains(head, "\nSubject:") || strings.HasPrefix(head, "Subject:"))
}

// shownHeader reports whether programs for mail show a header's line, or what follows it.
func shownHeader(line string) bool {
	name, _, _ := strings.Cut(strings.ToLower(line), ":")
	switch name {
	case "from", "to", "cc", "bcc", "subject", "date", "reply-to", "sender":
		return true
	}
	return strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
}
