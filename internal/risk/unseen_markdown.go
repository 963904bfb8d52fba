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
