package hazard

import (
	"slices"
	"strings"
)

// Which hosts a command speaks to is a control: a rule asks who named them. Where a program is told
// one stands in tables/hosts.yaml; an address with a scheme tells itself.

// hostRow is where a program is told hosts.
type hostRow struct {
	words  groups
	option string // options of which they are the values, separated by spaces
	plain  string // which plain words are: first, all, images, settings; values for none, and the options' as settings
	skip   int    // plain words before them
	takes  string // further options that take the next word
}

// reaches tells the hosts that a command is told by its words.
func (c *invocation) reaches() {
	if !tellers[c.name] && c.name != "git" {
		c.namesAddresses()
	}
	rows := c.table.hosts[c.name]
	for i := range rows {
		row := &rows[i]
		if !row.words.among(c.args) {
			continue
		}
		if row.option != "" {
			for _, v := range c.valuesOf(row.option) {
				if row.plain == "values" {
					c.tellsSettings(v)
				} else {
					c.tellsHosts(v)
				}
			}
		}
		c.plainHosts(row)
	}
}

// namesAddresses tells the words that have a scheme, but for what an option says to people.
func (c *invocation) namesAddresses() {
	for i, a := range c.args {
		if strings.Contains(a.text, "://") && (i == 0 || !saysToPeople[c.args[i-1].text]) {
			c.tellsHosts(a.text)
		}
	}
}

// saysToPeople are those of textOptions that no program takes an address by.
var saysToPeople = set("-m --message -b --body --title --description --desc --comment --notes --summary --subject --reason --changelog")

// plainHosts tells those of a command's plain words that are hosts.
func (c *invocation) plainHosts(row *hostRow) {
	skip := row.skip
	for i := 0; i < len(c.args) && row.plain != "" && row.plain != "values"; i++ {
		t := c.args[i].text
		if strings.HasPrefix(t, "-") {
			if listed(row.takes, t) {
				i++
			}
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		switch row.plain {
		case "first":
			c.tellsHosts(t)
			return
		case "images":
			registry, _, named := strings.Cut(t, "/")
			if named && !strings.Contains(t, "://") && (hasHostForm(registry) || strings.Contains(registry, ":") || registry == "localhost") {
				c.speaksTo(registry)
			}
		case "settings":
			c.tellsSettings(t)
		default:
			if t = strings.TrimPrefix(t, "@"); hasHostForm(trimAddress(t)) || strings.Contains(t, "://") || strings.HasPrefix(t, "//") {
				c.tellsHosts(t)
			}
		}
	}
}

// tellsSettings tells the hosts of settings: host=h dbname=d; url.https://h/.insteadOf.
func (a *assessor) tellsSettings(text string) {
	for field := range strings.FieldsSeq(text) {
		name, value, set := strings.Cut(field, "=")
		if set && listed("host hostaddr", name) {
			a.tellsHosts(value)
		} else if strings.Contains(field, "://") {
			a.tellsHosts(field)
		}
	}
}

// tellsHosts tells the hosts of a value: an address, a host with what stands around it, or several,
// separated by commas; behind a name and = , as a setting has it, too.
func (a *assessor) tellsHosts(value string) {
	const most = 64
	for n, part := 0, ""; value != "" && n < most; n++ {
		part, value, _ = strings.Cut(value, ",")
		if i := strings.Index(part, "://"); i >= 0 {
			from := strings.LastIndexFunc(part[:i], func(r rune) bool {
				return r != '+' && r != '-' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z')
			})
			a.speaksTo(part[from+1:])
			continue
		}
		if _, after, is := strings.Cut(part, "="); is {
			if part = after; !hasHostForm(trimAddress(part)) {
				continue // a setting of another kind
			}
		}
		if strings.Count(part, ":") > 1 && !strings.Contains(part, "[") { // curl's HOST:PORT:ADDRESS
			for field := range strings.SplitSeq(part, ":") {
				if hasHostForm(trimAddress(field)) {
					a.speaksTo(trimAddress(field))
				}
			}
		}
		if part = trimAddress(part); part == "" || isDigits(part) || strings.ContainsAny(part[:1], "/.~$-{") {
			continue
		}
		a.speaksTo(part)
	}
}

// addressed are words before a host that say how it is reached.
var addressed = set("tcp tcp4 tcp6 udp udp4 udp6 tcp-connect udp-sendto openssl openssl-connect ssl sctp np sftp rest s3 v pserver ext socks4 socks4a socks5 proxy")

// trimAddress takes away what programs write around a host: a protocol and a login before it, and a
// path behind it.
func trimAddress(s string) string {
	s = strings.Trim(s, `"'`)
	if protocol, rest, ok := strings.Cut(strings.TrimLeft(s, ":/"), ":"); ok && addressed[strings.ToLower(protocol)] {
		s = rest
	}
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		s = s[i+1:]
	}
	s = strings.TrimLeft(s, "/")
	return before(s, '/')
}

// reachedBy tells the host that a variable names by which programs are told one.
func (s *shell) reachedBy(name, value string) {
	for i := range s.table.variables {
		row := &s.table.variables[i]
		if row.host && slices.ContainsFunc(strings.Fields(row.names), func(pattern string) bool {
			return wild(pattern, name) || row.parts && wild(pattern, strings.ToUpper(name))
		}) {
			s.tellsHosts(value)
			if row.code && slices.ContainsFunc(addressIn.FindAllString(value, 8), row.strange) {
				s.report("code.foreign", 0, s.at)
			}
			return
		}
	}
}
