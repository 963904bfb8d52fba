package guardian

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/risk/hazard"
)

// calls looks at a request to the guarding node that names its address and what it
// asks for apart, or its host in a way that is not known.
func (e *examination) calls(c *hazard.Command, name string) {
	all := unescaped(strings.Join(c.Words, " "))
	switch name {
	case "curl", "wget", "http", "https", "xh", "invoke-webrequest", "iwr", "invoke-restmethod", "irm":
	case "nc", "ncat", "netcat", "socat", "telnet", "openssl", "busybox", "websocat":
		if e.port(all) && decidingText.MatchString(c.Stdin) {
			e.tampers("answer for people at the guardian's own address")
		}
		return
	default:
		return
	}
	if e.port(all) && decidingPath.MatchString(all) {
		e.tampers("answer for people at the guardian's own address")
	}
}

// unescaped is a text without percent escapes, as a server reads an address.
func unescaped(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}

// decidingText is a request at which the node is asked to decide, or the path of one.
var decidingText = lazyregexp.New(`(?i)/+(?:(?:admin|console)(?:[/\s'"?]|$)|approvals/+[^?#\s'"]|agents/+[^/\s'"]+/+)`)

var decidingPath = lazyregexp.New(`(?i)[^\s/]/+(?:(?:admin|console)(?:[/\s]|$)|approvals/+[^?#\s]|agents/+[^/\s]+/+)`)

// isReeve reports whether a word is a program that guards: by its name, or since it
// is the very file.
func (e *examination) isReeve(word string, dirs []string) bool {
	if slices.Contains(e.g.programs, base(word)) {
		return true
	}
	if !strings.ContainsAny(word, "/~") {
		return false
	}
	for _, parts := range e.readings(word, dirs) {
		for _, p := range e.g.places {
			if p.kind == program && compare(parts, p.parts) == within {
				return true
			}
		}
	}
	return false
}

// decides looks for the subcommands that decide.
func (e *examination) decides(c *hazard.Command, name string) {
	words := c.Words
	switch {
	case e.isReeve(c.Name, c.Dirs):
	case name == "go" && len(words) > 1 && (words[0] == "run" || words[0] == "tool"):
		// go run ./cmd/reeve …: whatever package it is, its words tell.
		i := slices.IndexFunc(words[1:], func(w string) bool { return !strings.HasPrefix(w, "-") })
		if i < 0 {
			return
		}
		if words = words[i+2:]; !e.isReeve(c.Words[i+1], c.Dirs) && !e.telling(words) {
			return
		}
	case !lookers[name] && e.telling(words): // under another name: a copy, an alias, a variable
	default:
		return
	}
	if which := deciding(words, false); which != "" && e.addresses(which, words, c) {
		e.tampers("answer for people, or change what decides (" + which + ")")
		return
	}
	if e.starts(words, c) {
		e.tampers("start a guardian of its own in the place of this one")
	}
}

// telling reports whether words can only be those of one of reeve's deciding
// subcommands, whatever program is said to run them.
func (e *examination) telling(words []string) bool {
	for _, d := range telltale {
		if spells(words, d, 0, 8) {
			return true
		}
	}
	return false
}

// telltale are deciding subcommands that no other program has.
var telltale = [][]string{{"approvals", "approve"}, {"approvals", "deny"}, {"ledger", "erase"}, {"ledger", "prune"}, {"mcp", "tools", "approve"}, {"mcp", "tools", "forget"}, {"mcp", "tools", "refuse"}}

// deciding names the deciding subcommand that the words are, or may become when
// what is not known is put in and, if they are open, when more are added; empty if none.
func deciding(words []string, open bool) string {
	if slices.Contains(words, "--help") || slices.Contains(words, "-h") {
		return ""
	}
	known := unknownWords
	if open {
		known |= openEnd
	}
	for _, d := range Deciding {
		if spells(words, strings.Fields(d), known, 8) {
			return d
		}
	}
	for d, flag := range DecidingFlags {
		if spells(words, strings.Fields(d), known, 8) && slices.ContainsFunc(words, func(w string) bool { return mayBeFlag(w, flag, open) }) {
			return d + " --" + flag
		}
	}
	return ""
}

// mayBeFlag reports whether a word is a flag, or may become it when what is not known
// is put in. Behind open words it may still come.
func mayBeFlag(word, flag string, open bool) bool {
	name, _, _ := strings.Cut(word, "=")
	return open || name == "--"+flag || word == "" || strings.ContainsAny(word, "$`*?[{")
}

// freedom is what words may turn out to be.
type freedom uint8

const (
	unknownWords freedom = 1 << iota // what is not known can be any word
	openEnd                          // more words are put behind them
)

// spells reports whether words are a subcommand with flags among them. What is not
// known, as far as that counts, can be any word, and so can what is still to come
// after the first.
func spells(words, command []string, may freedom, most int) bool {
	if len(command) == 0 {
		return true
	}
	if len(words) == 0 || most == 0 {
		return false
	}
	w, rest := words[0], words[1:]
	if strings.HasPrefix(w, "-") {
		// What follows can be the flag's value, or a word.
		return spells(rest, command, may, most-1) || len(rest) > 0 && !strings.Contains(w, "=") && spells(rest[1:], command, may, most-1)
	}
	if !strings.EqualFold(w, command[0]) && !(may&unknownWords != 0 && (w == "" || strings.ContainsAny(w, "$`*?[{"))) {
		return false
	}
	if len(rest) == 0 && len(command) == 2 && may&openEnd != 0 && strings.EqualFold(w, command[0]) {
		return true // xargs, or a function's arguments, put in the rest
	}
	return spells(rest, command[1:], may, most-1)
}

// addresses reports whether a deciding command is for the node that guards, or
// may be: only another data folder, named in full, is another node's.
func (e *examination) addresses(which string, words []string, c *hazard.Command) bool {
	if slices.Contains(personal, which) {
		return !e.otherHome
	}
	data, said := flag(words, "--data")
	if !said {
		if _, said = flag(words, "--database"); said {
			return false // a database that is another's, or needs its password
		}
		return !e.otherData
	}
	return e.isData(data, c.Dirs)
}

// isData reports whether a word names the data folder of the node that guards, or
// may name it.
func (e *examination) isData(word string, dirs []string) bool {
	if e.g.data == "" {
		return true
	}
	all := e.readings(word, dirs)
	if len(all) == 0 { // relative, to a folder that is not known
		return strings.EqualFold(path.Base(clean(word)), path.Base(e.g.data)) || strings.ContainsAny(word, "$`*?")
	}
	own := split(strings.ToLower(e.g.data))
	return slices.ContainsFunc(all, func(parts []string) bool { return compare(parts, own) == within })
}

// starts reports whether a command of reeve opens the guarding node's data folder
// with settings of its own.
func (e *examination) starts(words []string, c *hazard.Command) bool {
	if len(words) == 0 || !slices.Contains([]string{"serve", "run", "demo", "exec"}, words[0]) {
		return false
	}
	data, said := flag(words, "--data")
	return said && e.g.data != "" && len(e.readings(data, c.Dirs)) > 0 && e.isData(data, c.Dirs)
}

// reeveUnder looks at reeve that gets its words from elsewhere: xargs reeve.
func (e *examination) reeveUnder(c *hazard.Command, name string) {
	if name != "xargs" {
		return
	}
	for i, w := range c.Words {
		if e.isReeve(w, c.Dirs) {
			words := append(slices.Clone(c.Words[i+1:]), strings.Fields(c.Stdin)...)
			if which := deciding(words, true); which != "" && e.addresses(which, words, c) || c.Stdin == "" && len(c.Words) < i+3 {
				e.tampers("answer for people, or change what decides")
			}
			return
		}
	}
}

// url looks at an address at which the node is asked to decide.
func (e *examination) url(raw string) {
	if agentsDoor.MatchString(raw) {
		e.tampers("have a coding agent act, or answer it for people, past its hooks")
	}
	if e.g.port == "" {
		return
	}
	raw = unescaped(raw)
	for i := 0; i < 64 && dots.MatchString(raw); i++ { // as servers and clients take them out
		raw = dots.ReplaceAllString(raw, "/")
	}
	if m := decidingURL.FindStringSubmatch(raw); m != nil && m[1] == e.g.port {
		e.tampers("answer for people at the guardian's own address")
	}
}

// agentsDoor is the address at which a coding agent that listens on this machine runs a command for whoever
// asks, or is told that people agree.
var agentsDoor = lazyregexp.New(`(?i)(?:localhost|127\.[0-9.]+|\[[0-9a-f:.%]+\]|0\.0\.0\.0):[0-9]+/+session/+[^/\s]+/+(?:shell|permissions)\b`)

// dots are what leads nowhere in the path of an address.
var dots = lazyregexp.New(`/\.(?:/|$)|/[^/?#\s:]*[^/?#\s:.][^/?#\s:]*/\.\.(?:/|$)`)

var decidingURL = lazyregexp.New(`(?i)(?:localhost|127\.[0-9.]+|\[[0-9a-f:.%]+\]|[^\s/:@]+):0*([0-9]+)/+(?:(?:admin|console)(?:/|$)|approvals/+[^?#\s]|agents/+[^/\s]+/+)`)
