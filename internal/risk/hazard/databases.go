package hazard

import (
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
)

// Clients of databases.

// changesRows is a query that changes what a database holds.
var changesRows = lazyregexp.New(`(?i)\b(?:insert|replace)\s+into\b|\bupdate\s+\S+\s+set\b|\bdelete\s+from\b|\b(?:drop|alter|create)\s+table\b`)

// speaksToHere reports whether a client of a database says that the database is one of this machine, and
// nothing beside that it is in use.
func (c *invocation) speaksToHere() bool {
	if c.tunnelled || c.other || c.redirected() {
		return false
	}
	for i, a := range c.args {
		option, value, joined := strings.Cut(a.text, "=")
		switch {
		case strings.HasPrefix(option, "--defaults") || option == "--login-path": // a file says which
			return false
		case !a.known || hasWord(a.text, inUse) || !isSQL(a.text) && (strings.Contains(a.text, "host") && strings.Contains(a.text, "=") && option != "--host" || strings.Contains(a.text, "service=")):
			return false
		case (option == "-h" || option == "--host") && !joined && i+1 < len(c.args):
			value = c.args[i+1].text
		case option == "--host" && joined:
		case strings.HasPrefix(a.text, "-h") && !strings.HasPrefix(a.text, "--") && len(a.text) > 2:
			value = a.text[2:]
		case strings.Contains(a.text, "://") && !isSQL(a.text):
			if strings.Contains(a.text, "?") { // which can name another host
				return false
			}
			value = hostOf(a.text).name
		default:
			continue
		}
		if !isLoopback(value) {
			return false
		}
	}
	return true
}

// clientCopies judges what psql copies by itself, and not the server: its files and programs are this
// machine's.
func (c *invocation) clientCopies(text string) {
	for i := 0; i < 16; i++ {
		_, rest, ok := strings.Cut(text, `\copy `)
		if !ok {
			return
		}
		line, after, _ := strings.Cut(rest, "\n")
		c.assessor.statement(lexSQL("copy "+line), c.at)
		text = after
	}
}

// database gives SQL on the command line to where SQL is judged.
func (c *invocation) database() flow {
	before := c.ofHere
	c.ofHere = c.speaksToHere()
	defer func() { c.ofHere = before }()
	options, rest := c.split()
	for _, o := range []string{"-e", "--execute", "-c", "--command", "-Q", "-q"} {
		if v, ok := options[o]; ok {
			c.sql(v.text, c.at)
			if rest, ok := strings.CutPrefix(strings.TrimSpace(v.text), "system "); ok {
				c.inside(rest)
			}
			c.clientCopies(v.text)
			if _, rest, ok := strings.Cut(v.text, `\!`); ok {
				c.inside(rest)
			}
		}
	}
	for _, order := range []string{".shell ", ".system "} {
		if _, rest, ok := strings.Cut(c.in.text, order); ok && c.name == "sqlite3" {
			c.inside(rest)
		}
	}
	if c.in.known && isSQL(c.in.text) {
		c.sql(c.in.text, c.at)
	}
	for _, a := range c.args { // each by itself: an option can be given more than once
		text := a.text
		if strings.HasPrefix(text, "--") {
			_, text, _ = strings.Cut(text, "=")
		}
		if isSQL(text) {
			c.sql(text, c.at)
		}
	}
	for _, o := range []string{"-f", "--file"} { // a file of orders that the call itself wrote
		if f, ok := c.getFile(options[o].text); ok && isSQL(f.text) {
			c.sql(f.text, c.at)
		}
	}
	if c.name == "sqlite3" {
		for i, a := range rest {
			c.readFile(a)
			if pl := placeOf(normalPath(a.text).text); i == 0 && pl.writes != "" && changesRows.MatchString(c.joined(rest[1:]).text+"\n"+c.in.text) {
				c.report(pl.writes, pl.write, c.at)
			}
			if strings.HasPrefix(strings.TrimSpace(a.text), ".shell") || strings.HasPrefix(strings.TrimSpace(a.text), ".system") {
				c.report("shell.escape", 0, c.at)
			}
		}
	}
	if c.in.text != "" {
		c.clientCopies(c.in.text)
		if _, after, ok := strings.Cut(c.in.text, `\!`); ok {
			c.inside(after)
		}
	}
	return flow{taint: c.in.taint}
}
