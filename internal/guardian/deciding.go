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

// decides looks for the subcommands that decide: of reeve, and behind whatever runs reeve or a copy of
// it under another name: a wrapper that is known or none, go, a terminal that records.
func (e *examination) decides(c *hazard.Command, name string) {
	words, begins := c.Words, first
	if !e.isReeve(c.Name, c.Dirs) {
		if lookers[name] {
			return
		}
		behind := make([]bool, len(words)+1)
		some := false
		for i, w := range words {
			behind[i+1] = name != "git" && e.isReeve(w, c.Dirs) // in git -C reeve init it is a folder
			some = some || behind[i+1]
		}
		if begins = func(i int) bool { return behind[i] }; !some {
			if !isTelltale(words) {
				return
			}
			begins = anywhere
		}
	}
	if which := e.decidesBehind(words, begins, c); which != "" {
		e.tampers("answer for people, or change what decides (" + which + ")")
		return
	}
	for i := range words {
		if begins(i) && e.starts(words[i:], c) {
			e.tampers("start a guardian of its own in the place of this one")
			return
		}
	}
}

// decidesBehind names the deciding subcommand of this node's that words are from one of their places on,
// empty if none. Of many such places it is not told apart which node they are for.
func (e *examination) decidesBehind(words []string, begins func(i int) bool, c *hazard.Command) string {
	any := decidingFrom(words, false, begins)
	if any == "" {
		return ""
	}
	const most = 64
	looked := 0
	for i := range words {
		if !begins(i) {
			continue
		}
		if looked++; looked > most {
			return any
		}
		if which := deciding(words[i:], false); which != "" && e.addresses(which, words[i:], c) {
			return which
		}
	}
	return ""
}

// maxBehind is how many words behind reeve's name in a text are looked at.
const maxBehind = 64

// first and anywhere are where among words a subcommand may begin.
func first(i int) bool    { return i == 0 }
func anywhere(i int) bool { return true }

// isTelltale reports whether words hold what can only be one of reeve's deciding
// subcommands, whatever program is said to run them.
func isTelltale(words []string) bool {
	return slices.ContainsFunc(telltale, func(d []string) bool { return spells(words, d, 0, anywhere) })
}

// telltale are deciding subcommands that no other program has.
var telltale = [][]string{{"approvals", "approve"}, {"approvals", "deny"}, {"ledger", "erase"}, {"ledger", "prune"}, {"mcp", "tools", "approve"}, {"mcp", "tools", "forget"}, {"mcp", "tools", "refuse"}}

// deciding names the deciding subcommand that the words are, or may become when
// what is not known is put in and, if they are open, when more are added; empty if none.
func deciding(words []string, open bool) string { return decidingFrom(words, open, first) }

// decidingFrom is deciding of words that may begin where begins says so.
func decidingFrom(words []string, open bool, begins func(i int) bool) string {
	if asksHelp(words) {
		return ""
	}
	known := unknownWords
	if open {
		known |= openEnd
	}
	for _, d := range Deciding {
		if spells(words, strings.Fields(d), known, begins) {
			return d
		}
	}
	for d, flag := range DecidingFlags {
		if spells(words, strings.Fields(d), known, begins) && slices.ContainsFunc(words, func(w string) bool { return mayBeFlag(w, flag, open) }) {
			return d + " --" + flag
		}
	}
	return ""
}

// asksHelp reports whether words can only ask how a subcommand is used. Beside another flag the word for
// it may be that flag's value, and behind -- it is none.
func asksHelp(words []string) bool {
	asks := false
	for _, w := range words {
		switch {
		case w == "--help" || w == "-h":
			asks = true
		case strings.HasPrefix(w, "-") || isUnknown(w):
			return false
		}
	}
	return asks
}

// isUnknown reports whether a word can turn out to be any other.
func isUnknown(word string) bool { return word == "" || strings.ContainsAny(word, "$`*?[{") }

// mayBeFlag reports whether a word is a flag, or may become it when what is not known
// is put in. Behind open words it may still come.
func mayBeFlag(word, flag string, open bool) bool {
	name, _, _ := strings.Cut(word, "=")
	return open || name == "--"+flag || isUnknown(word)
}

// freedom is what words may turn out to be.
type freedom uint8

const (
	unknownWords freedom = 1 << iota // what is not known can be any word
	openEnd                          // more words are put behind them
)

// spells reports whether words are a subcommand with flags among them, of which there may be any number, beginning
// where begins says so. What is not known, as far as that counts, can be any word, and so can what is still to
// come after the first.
func spells(words, command []string, may freedom, begins func(i int) bool) bool {
	at, some := make([]bool, len(words)+1), false // where the next word of the subcommand may stand
	for i := range words {
		at[i] = begins(i)
	}
	for k, want := range command {
		next := make([]bool, len(words)+1)
		some = false
		for i, w := range words {
			switch {
			case !at[i]:
			case strings.HasPrefix(w, "-"): // what follows can be the flag's value, or a word
				at[i+1] = true
				if i+2 <= len(words) && !strings.Contains(w, "=") {
					at[i+2] = true
				}
			case strings.EqualFold(w, want) && i == len(words)-1 && k == len(command)-2 && may&openEnd != 0:
				return true // xargs, or a function's arguments, put in the rest
			case strings.EqualFold(w, want) || may&unknownWords != 0 && isUnknown(w):
				next[i+1], some = true, true
			}
		}
		at = next
	}
	return some
}

// addresses reports whether a deciding command is for the node that guards, or
// may be: only another data folder, named in full, is another node's.
func (e *examination) addresses(which string, words []string, c *hazard.Command) bool {
	if slices.Contains(personal, which) {
		return !e.otherHome
	}
	named := append(values(words, "--data"), values(words, "--database")...)
	beside := slices.ContainsFunc([]string{"--config", "--server", "--key", "--ledger-seed"}, func(f string) bool { return values(words, f) != nil })
	switch {
	case len(named) == 0 && !beside:
		return !e.otherData
	case len(named) != 1 || beside: // which of them counts is not told apart
		return true
	}
	if strings.HasPrefix(named[0], "postgres") {
		return false // a database that is another's, or needs its password
	}
	return e.isData(strings.TrimPrefix(named[0], "sqlite:"), c.Dirs)
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
