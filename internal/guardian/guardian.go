// Package guardian knows what guards an agent: the paths, the programs and the
// deciding commands of the node that judges it, and the hooks in the settings of
// coding agents. It tells when an act reaches for them.
//
//	g := guardian.New(guardian.Node{Home: home, Data: cfg.Data, Policy: cfg.Policy})
//	reasons := g.Tampering(action, nil) // final: nobody can let it pass
//
// It is not a wall. A program that was compiled or fetched is not read, and a program of
// the node's own user can do what that user can. It stops every way of doing so that can
// be read from the act itself, and from the scripts and the sources on the disk that the act runs.
package guardian

import (
	"encoding/base64"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/hook"
	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/links"
	"reeve.example/reeve/internal/regular"
	"reeve.example/reeve/internal/risk/hazard"
)

// Deciding are the subcommands of reeve that decide or loosen: by them people
// answer, and change what rules. An agent does not run them, and people who do
// are asked whether they mean it.
var Deciding = []string{
	"approvals approve", "approvals deny", "approvals revoke",
	"keys create", "keys revoke", "passkeys confirm", "passkeys revoke",
	"agents reset-key", "agents resume", "agents revoke", "agents suspend",
	"ledger erase", "ledger prune", "restore",
	"hook install", "hook uninstall", "mcp install", "mcp tools approve", "mcp tools forget", "mcp tools refuse",
	"pins agree", "pins forget", "pins refuse",
	"habits forget", "habits freeze", "habits incident", "habits rebuild", "habits thaw", "sessions clear",
	"trust", "console",
}

// DecidingFlags are subcommands that decide with one flag, and only tell without it.
var DecidingFlags = map[string]string{"backup": "passphrase", "why": "allow"}

// personal are those of them that change something of the user's own, whatever
// data folder they name.
var personal = []string{"hook install", "hook uninstall", "mcp install", "trust"}

// Node is what a node has to guard.
type Node struct {
	Home string // the user's home folder
	// Data is the data folder. Secrets are further files that nobody but the node
	// reads: its seed, keys, sockets.
	Data    string
	Secrets []string
	// Laws are what decides: the policy's file or folder, the configuration.
	Laws []string
	// Programs are the programs that guard.
	Programs []string
	// Listen is where the node listens, as host:port.
	Listen string
	PID    int
	// Started is how the node's process was started: its program, and its words.
	Started []string
}

// Guarded is what a node guards, in the form that acts are compared with. It does
// not change. The zero value, and nil, guard nothing.
type Guarded struct {
	home, data string
	places     []place
	programs   []string // base names
	port       string
	pid        string
	started    []string // the command line of the node's process, as others may see it
	host       string   // this machine's name
}

// kind says what of a place must not be touched.
type kind uint8

const (
	secret  kind = iota + 1 // not even read
	law                     // not changed
	program                 // not changed, and not copied
	setting                 // not changed so that hooks do not run
)

func (k kind) String() string {
	return [...]string{"", "the guardian's own data", "what the guardian decides by", "the guardian's program", "the agents' settings by which the guardian is asked"}[k]
}

// lies is the verb for it, where it is what a folder holds.
func (k kind) lies() string {
	if k == setting {
		return " lie"
	}
	return " lies"
}

type place struct {
	kind  kind
	parts []string // of the path, in lower case
	file  string   // the path as it is
}

// New makes the form of what a node guards.
func New(n Node) *Guarded {
	g := &Guarded{home: clean(n.Home), programs: []string{"reeve", "reeve-hook"}}
	if host, err := os.Hostname(); err == nil {
		g.host = strings.ToLower(host)
	}
	if n.PID > 0 {
		g.pid = strconv.Itoa(n.PID)
	}
	if len(n.Started) > 0 {
		g.started = []string{strings.Join(n.Started, " ")}
		for _, p := range n.Programs { // the program's whole path, too
			g.started = append(g.started, strings.Join(append([]string{p}, n.Started[1:]...), " "))
		}
	}
	if i := strings.LastIndexByte(n.Listen, ':'); i >= 0 && n.Listen[i+1:] != "0" {
		g.port = n.Listen[i+1:]
	}
	add := func(k kind, names ...string) {
		for _, name := range names {
			if name == "" || k == law && device(name) {
				continue
			}
			abs, err := filepath.Abs(name)
			if err != nil {
				continue
			}
			for _, form := range []string{abs, links.Resolve(abs)} {
				if parts := split(strings.ToLower(clean(form))); len(parts) > 0 && !slices.ContainsFunc(g.places, func(p place) bool { return p.kind == k && slices.Equal(p.parts, parts) }) {
					g.places = append(g.places, place{k, parts, clean(form)})
				}
			}
		}
	}
	if n.Data != "" {
		if abs, err := filepath.Abs(n.Data); err == nil {
			g.data = clean(links.Resolve(abs))
		}
	}
	add(secret, n.Data)
	add(secret, n.Secrets...)
	add(law, n.Laws...)
	add(program, n.Programs...)
	for _, p := range n.Programs {
		if base := strings.ToLower(strings.TrimSuffix(filepath.Base(p), ".exe")); !slices.Contains(g.programs, base) {
			g.programs = append(g.programs, base)
		}
	}
	if n.Home != "" {
		for i := range hook.Settings {
			switch s := &hook.Settings[i]; {
			case strings.Contains(s.Path, "*"):
			case s.User:
				add(setting, filepath.Join(n.Home, filepath.FromSlash(s.Path)))
			case strings.HasPrefix(s.Path, "/"): // the machine's own
				add(setting, filepath.FromSlash(s.Path))
			}
		}
	}
	return g
}

// device reports whether a file is a device: reeve serve --config /dev/null has no
// configuration, and what goes to /dev/null is nobody's law.
func device(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode()&fs.ModeDevice != 0
}

// clean is a path in one form: slashes, no drive, no "." and "..".
func clean(p string) string {
	if p == "" {
		return ""
	}
	p = strings.ReplaceAll(p, `\`, "/")
	if len(p) > 1 && p[1] == ':' {
		p = p[2:]
	}
	return path.Clean(p)
}

func split(p string) []string {
	p = strings.Trim(p, "/")
	if p == "" || p == "." {
		return nil
	}
	return strings.Split(p, "/")
}

// real is what links.Resolve gives, in the time of one look at the disk for
// each name: the words of a command mostly lie in the same folders. there says that
// something stands at the path.
func (e *examination) real(p string) (to string, there bool) {
	if r, ok := e.resolved[p]; ok {
		return r.to, r.there
	}
	up := filepath.Dir(p)
	if up == p {
		return p, true
	}
	if to, there = e.real(up); there {
		if e.links++; e.links > maxResolved {
			e.tooMuch = true
			return filepath.Join(to, filepath.Base(p)), false
		}
		to, there = follow(filepath.Join(to, filepath.Base(p)))
	} else {
		to = filepath.Join(to, filepath.Base(p))
	}
	if len(e.resolved) < maxResolved {
		if e.resolved == nil {
			e.resolved = map[string]resolution{}
		}
		e.resolved[p] = resolution{to, there}
	}
	return to, there
}

// A resolution is where a path leads, and whether something is there.
type resolution struct {
	to    string
	there bool
}

// follow follows the last name of a path, if it is a link.
func follow(p string) (to string, there bool) {
	info, err := os.Lstat(p)
	if err != nil {
		return p, false
	}
	if info.Mode()&fs.ModeSymlink == 0 && runtime.GOOS != "windows" { // which has links of other kinds, and short names
		return p, true
	}
	end, err := filepath.EvalSymlinks(p)
	if err != nil {
		return p, false
	}
	return end, true
}

// maxResolved is how many paths an examination follows the links of, and remembers. An act
// that names more is refused, or names that are nothing would hide the one that is a link.
const maxResolved = 16384

// relation is how a path stands to a place.
type relation uint8

const (
	apart  relation = iota
	within          // it is the place, or lies in it
	above           // the place lies in it
)

// compare says how a path, which may hold patterns, stands to a place.
func compare(parts, place []string) relation {
	for i, p := range parts {
		if i == len(place) {
			return within
		}
		if p == "**" {
			return above
		}
		if !same(p, place[i]) {
			return apart
		}
	}
	if len(parts) == len(place) {
		return within
	}
	return above
}

// same compares a name that may be a shell's pattern with a name.
//
// Upper and lower case are one, as on some systems they are.
func same(pattern, name string) bool {
	if pattern = strings.ToLower(pattern); pattern == name {
		return true
	}
	if !strings.ContainsAny(pattern, patternMarks) || pattern[0] != '.' && name[0] == '.' {
		return false
	}
	if strings.Contains(pattern, "[") {
		pattern = strings.ReplaceAll(namedClass.ReplaceAllString(pattern, "?"), "[!", "[^") // as path.Match has it
	}
	ok, err := path.Match(pattern, name)
	return ok || err != nil // a pattern that cannot be read may mean it
}

// patternMarks are the characters that make a shell's pattern of a name.
const patternMarks = "*?["

// namedClass is a list of characters with a name in it: [[:alpha:]x].
var namedClass = lazyregexp.New(`\[[!^]?\]?[^\]]*\[[:.=][^\]]*[:.=]\](?:\[[:.=][^\]]*[:.=]\]|[^\]])*\]`)

// unknownParts are what a shell puts in where a path is known only when it runs.
var unknownParts = lazyregexp.New(`\$\{[^}]*\}|\$\([^)]*\)|\$\w+|\{[^}]*\}|` + "`[^`]*`")

// link is a link that an act makes: what lies below to is what lies below from.
type link struct{ from, to []string }

// readings are the paths that a word may mean, run in one of the folders.
func (e *examination) readings(word string, dirs []string) [][]string {
	word = strings.TrimSpace(word)
	if len(word) > 4096 && len(word) < 64<<10 && !strings.ContainsAny(word, " \n") { // longer than a path can be, as it is written
		word = clean(unknownParts.ReplaceAllString(word, "*"))
	}
	if word == "" || len(word) > 4096 || strings.ContainsAny(word, "\n\x00") {
		return nil
	}
	word = ofURL(word)
	word = strings.ReplaceAll(word, `\`, "/")
	// Through a process's root: as it stands, since it may be the node's, and as where it leads. Both before and
	// after "..", which leads up from there.
	var through [][]string
	for _, way := range []string{word, clean(word)} {
		if direct := hazard.Direct(way); direct != way {
			through = append(through, e.readings(direct, dirs)...)
		}
	}
	var found [][]string
	add := func(p string) {
		p = strings.ReplaceAll(p, hazard.NewName, "newly-made")
		if strings.ContainsAny(p, "${`") { // else nothing is unknown, in most words
			p = unknownParts.ReplaceAllString(p, "*")
		}
		if p = clean(p); strings.HasPrefix(p, "/") {
			parts := split(p)
			found = append(found, parts)
			if strings.HasPrefix(p, "/proc/self") || strings.HasPrefix(p, "/proc/thread-self") || strings.HasPrefix(p, "/dev/fd") {
				return // whose it is depends on who reads it: it is never this process
			}
			for _, l := range e.linked { // a link of this act, not on the disk yet
				if len(found[0]) < 256 && len(parts) >= len(l.to) && compare(parts[:len(l.to)], l.to) == within {
					found = append(found, append(slices.Clone(l.from), parts[len(l.to):]...))
				}
			}
			if !strings.ContainsAny(p, patternMarks) {
				to, _ := e.real(filepath.FromSlash(p))
				if to = clean(to); to != p {
					found = append(found, split(to))
				}
			}
		}
	}
	expanded := word
	for _, h := range []string{"~", "$HOME", "${HOME}", "$env:USERPROFILE", "%USERPROFILE%"} {
		if rest, ok := strings.CutPrefix(word, h); ok && (rest == "" || rest[0] == '/') {
			expanded = e.g.home + rest
		}
	}
	if rest, ok := strings.CutPrefix(word, "~"); ok && rest != "" && rest[0] != '/' { // ~ada/x
		if user, below, _ := strings.Cut(rest, "/"); strings.EqualFold(user, path.Base(e.g.home)) || user == "+" {
			expanded = e.g.home + "/" + below
		}
	}
	if strings.HasPrefix(expanded, "/") || len(expanded) > 2 && expanded[1] == ':' {
		add(expanded)
		return append(found, through...)
	}
	if len(dirs) == 0 {
		dirs = []string{""}
	}
	for _, folder := range e.folders {
		at := e.homed(folder)
		if !strings.HasPrefix(at, "/") {
			e.anywhere(at+"/"+expanded, add)
		}
		for _, d := range dirs {
			switch d = e.homed(d); {
			case strings.HasPrefix(d, "/"):
				add(d + "/" + expanded)
			case strings.HasPrefix(at, "/"):
				add(at + "/" + d + "/" + expanded)
			}
		}
	}
	return found
}

// homed is a path with the home folder in the place of ~.
func (e *examination) homed(p string) string {
	if p == "~" || strings.HasPrefix(p, "~/") {
		return e.g.home + p[1:]
	}
	return p
}

// ofURL is the path of a file's URL, and any other word as it is.
func ofURL(word string) string {
	const scheme = "file:"
	if len(word) < len(scheme) || !strings.EqualFold(word[:len(scheme)], scheme) {
		return word
	}
	word = word[len(scheme):]
	if rest, ok := strings.CutPrefix(word, "//"); ok { // a host, mostly empty
		if rest != "" && strings.ContainsAny(rest[:1], "$~`{") {
			word = rest // a variable that holds the path
		} else if i := strings.IndexByte(rest, '/'); i >= 0 {
			word = rest[i:]
		}
	}
	if plain, err := url.PathUnescape(word); err == nil {
		word = plain
	}
	return word
}

// anywhere tells of the guardian's own data and laws where a relative path may lead there, run
// in a folder that is not known: from the home folder, and where at least two of its names
// are those in which such a place ends.
func (e *examination) anywhere(word string, add func(string)) {
	parts := split(strings.ToLower(clean(word)))
	for len(parts) > 0 && parts[0] == ".." {
		parts = parts[1:]
	}
	home := split(strings.ToLower(e.g.home))
	for _, p := range e.g.places {
		if p.kind != secret && p.kind != law {
			continue
		}
		for k := len(p.parts) - 2; k > 0; k-- {
			if k < len(home) {
				break
			}
			if len(parts) >= len(p.parts)-k && compare(parts, p.parts[k:]) == within {
				add("/" + strings.Join(p.parts[:k], "/") + "/" + strings.Join(parts, "/"))
			}
		}
	}
}

// An examination is the look at one act.
type examination struct {
	g                    *Guarded
	a                    *act.Action
	folders              []string // that the act may work in, as its arguments or its hook say; one of them is "" where nobody does
	found                []act.Reason
	links                int // how many paths were looked up on the disk
	files                int // how many files may still be read for the guardian's number
	contents             int // how many files may still be searched
	namesLeft            int // how many names in folders may still be compared
	scriptsRead          []string
	resolved             map[string]resolution // paths on the disk, with their links followed
	sought               bool                  // the guardian's process has been looked for
	psListed             bool                  // the processes are listed, with how they were started
	cut                  bool                  // not all is noted that may be listed, or be a list
	listSize             int64                 // bytes of lists that were read
	tooMuch              bool                  // a bound was reached: what stands behind it was not looked at
	allProcesses         bool                  // the folders of all processes are listed
	someProcess          bool                  // a process that is not known is reached for, below /proc
	trees                []string              // a variable says where git's files lie
	goBin                string                // and where go puts programs
	otherRepository      bool                  // and another, where its repository lies
	otherHome, otherData bool                  // a variable names another home, or another data folder
	linked               []link
	brought              bool     // git may have made folders that were not there
	far                  bool     // the words of the command are meant for another machine
	others               bool     // a command was started of which it is not known what it puts into folders
	laid                 []string // files that a command puts into a folder under their own names
	gone                 []string // what the act moves away
	patchesGiven         []string // files that may be read as patches
	patchesRead          []string // those that were
	patchesInto          []string // and the folders that the files in them are seen from
	otherSettings        bool     // a variable names another folder of a coding agent's settings
	takenOver            bool     // and another has something run in the place of an agent's hooks
	shell                string   // that reads what is looked at, where a script is
	deep                 int      // how many texts that are run lie around the present one
	chain                int      // how many scripts run the present one
	killing              int8     // whether the act ends some process: 1 yes, -1 no, 0 not looked yet
	patching             int      // the same, of programs that apply patches
	counting             int8     // and whether it counts to the guardian's number
	tool                 string
	written              []string // the files that the act opens to write, as far as they are known
	went                 []string // the folders that the script has gone to
	toolWords            []string // of the tool's name
	lists                []listed // what the act's commands may print the names of
	takers               []ran    // the commands that may be given these
	listers              []ran    // and those that may print them
	filledIn             []string // variables that read sets
	reads                []string // the files that the act reads, as far as they are known
	loadsRules           bool     // a command takes rules of packets from what comes in
	adding               bool     // the look is for hooks that the act adds to agents' settings, and for nothing else
	added                []string // the files of settings to which it adds some
	gathering            bool     // the look is for the scripts that the act runs, and for nothing else
	gathered             []script
	wrote                func(name string) bool // whether the session wrote a file of a name, where scripts are gathered
	words                []string               // what the program is told that runs the script which is read
	args                 []string               // what the script is given
	spread               [][]string             // words of programs that mean the packages of other folders, too
	assigned             []string               // NAME=value among the words of a program that is told by a file
	set                  map[string]string      // variables that the act sets
	sourcesRead          []string               // files of programs
	sourceBytes          int
	unpackedFiles        []string // archives that were looked into, and into which folders they go
	unpackedBytes        int
}

// cwd is the folder that the agent works in, as its hook says; empty if it does not. The act itself
// may work in another: see folders.
func (e *examination) cwd() string { return e.a.Folder }

// placed reports whether it is known in which folder the act works.
func (e *examination) placed() bool {
	return !slices.ContainsFunc(e.folders, func(f string) bool { return !strings.HasPrefix(e.homed(f), "/") })
}

// rule is what tampering is called in reasons.
const rule = "guardian"

const (
	impossible = "Nobody can let this pass. "
	without    = "Do the work without it."
)

func (e *examination) tampers(what string) { e.tampersBut(what, without) }

// tampersBut is tampers, where there is another way to do the work.
func (e *examination) tampersBut(what, way string) {
	message, instead := "This would "+what+".", impossible+way
	if what == "end the guardian" {
		instead += " What else should end can be named by itself: by its own name, or its number."
	}
	if !slices.ContainsFunc(e.found, func(r act.Reason) bool { return r.Message == message }) && len(e.found) < 4 {
		e.found = append(e.found, act.Final(rule, act.CodeTampering, message, instead))
	}
}

// Tampering returns why an act is tampering with what guards it, nothing if it is
// not. It looks at links, and at the present text of settings that the act would
// change, and so is called before the act is judged and not by the policy.
// read is a reading of the act, in which what the look finds on its way stays for others.
func (g *Guarded) Tampering(a *act.Action, read *hazard.Reading) []act.Reason {
	if g == nil || !a.IsCall() {
		return nil
	}
	read = read.For(a)
	e := g.examine(a, read)
	if !e.suspicious() {
		return nil
	}
	e.look(read)
	return e.found
}

// examine is the look at one act, before its first step.
func (g *Guarded) examine(a *act.Action, read *hazard.Reading) *examination {
	return &examination{g: g, a: a, folders: read.Folders(), files: 256, contents: 256, namesLeft: maxNamesIn, tool: a.Canonical}
}

// look finds whatever the act reaches for.
func (e *examination) look(read *hazard.Reading) {
	a := e.a
	e.tools(a.Content)
	tooMany := e.tooMuch // arguments
	e.watch(read.Watch)
	e.rulesRead()
	if e.someProcess && e.sought {
		e.tampers("reach for the guardian's process")
	}
	e.encoded()
	e.given()
	if e.tooMuch && len(e.found) == 0 && (tooMany || !e.keeps()) {
		e.tampers("name more than can be looked at before it is done (ask for less at once)")
	}
	if plain := visible(a.Content); plain != nil && len(e.found) == 0 {
		e.tools(plain)
		e.watch(func(w *hazard.Watch) { hazard.Observe(e.tool, plain, w) })
	}
}

// keeps reports whether the act only keeps texts, in which nothing names what is guarded. A long one
// need not be looked at to its end: what it would do is looked at when it is run.
func (e *examination) keeps() bool {
	return e.named(writers) && !e.isShell() && !slices.ContainsFunc(e.a.Content, func(l act.Leaf) bool { return e.g.namedIn(l.Text) })
}

// encoded looks for deciding commands in texts that are base64 as a whole: a tool may decode
// them before it runs them.
func (e *examination) encoded() {
	for i := range e.a.Content {
		text := strings.TrimRight(strings.TrimSpace(e.a.Content[i].Text), "=")
		if len(text) < 16 || strings.ContainsAny(text[:16], " ./:{<\n") {
			continue
		}
		if plain, err := base64.RawStdEncoding.DecodeString(text); err == nil {
			e.text(string(plain))
		}
	}
}

// visible is the texts without invisible characters; nil if there are none.
func visible(leaves []act.Leaf) []act.Leaf {
	var plain []act.Leaf
	for i := range leaves {
		if text := canon.Visible(leaves[i].Text); text != leaves[i].Text {
			if plain == nil {
				plain = slices.Clone(leaves)
			}
			plain[i].Text = text
		}
	}
	return plain
}

// suspicious reports whether an act may be about what is guarded: a text names some
// of it, or a path that may lead there or hold it, or is written so that its words are not to
// be seen in it. All others are let go on, without a closer look.
func (e *examination) suspicious() bool {
	for i := range e.a.Content {
		text := e.a.Content[i].Text
		if strings.ContainsAny(text, "$`*?[\\{%~") || strings.Contains(text, "''") || strings.Contains(text, `""`) {
			return true
		}
		low := strings.ToLower(text)
		for _, word := range telling {
			if strings.Contains(low, word) {
				return true
			}
		}
		if slices.ContainsFunc(e.g.places, func(p place) bool { return strings.Contains(low, p.parts[len(p.parts)-1]) }) {
			return true
		}
		if len(text) >= 16 && !strings.ContainsAny(text[:16], " ./:{<\n") {
			return true // encoded, perhaps
		}
		for _, p := range e.g.programs {
			if strings.Contains(low, p) {
				return true
			}
		}
		if e.g.pid != "" && strings.Contains(text, e.g.pid) || e.g.port != "" && strings.Contains(text, e.g.port) {
			return true
		}
		if !ascii(text) {
			return true
		}
		if (e.placed() || strings.Contains(text, "/")) && (len(text) < 4096 || e.isShell()) {
			return true // what is relative may lead there, and so may a folder or a link, of whatever name
		}
	}
	return false
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// telling are words of which one stands in every plain act that is about settings,
// deciding or ending the guardian.
var telling = []string{
	".claude", ".codex", ".gemini", ".cursor", ".copilot", ".github", "opencode", "amazonq", "hooks", "settings",
	"approvals", "ledger", "kill", "fuser", "claude", "codex", "opencode_", "iptables", "nft ", "pfctl", "ipvsadm", "netsh", "netfirewall", " lo", "127.", "::1", "proc/", "base64", "xxd", "eval", "xargs", "'", "\"", "cd ",
}

func (e *examination) watch(observe func(*hazard.Watch)) {
	observe(&hazard.Watch{
		Command: e.command,
		Shell:   e.shell,
		Windows: e.ofWindows,
		Which:   e.which,
		File: func(p string, writes bool, content string, known bool) {
			if strings.HasPrefix(p, "/dev/tcp/") && e.port(p[strings.LastIndexByte(p, '/')+1:]) {
				e.tampers("speak to the guardian past what looks at requests")
			}
			if e.tooMuch = e.tooMuch || len(e.written) > maxNames; writes && !e.tooMuch {
				for _, parts := range e.readings(p, e.lastDirs()) {
					e.written = append(e.written, strings.ToLower("/"+strings.Join(parts, "/")))
				}
			}
			switch {
			case !writes:
				if e.looksInto(p, e.lastDirs()); e.applies() {
					e.patchesGiven = append(e.patchesGiven, p)
					e.patchFile(p, e.lastDirs())
				}
			case strings.ContainsAny(p, "$`") && len(e.takers) < maxTakers: // into a file that is not known
				e.takers = append(e.takers, ran{&hazard.Command{Words: []string{p}}, ">"})
			}
			if !writes && e.kills() {
				e.pidFile(p, e.lastDirs())
			}
			if e.isShell() {
				e.file(p, writes, nil, content, known)
			}
		},
		Code:     func(_, text string) { e.code(text); e.asksInCode(text) },
		URL:      e.url,
		Variable: e.variable,
	})
}

// isShell reports whether the act runs commands: its files are those that a script
// opens. Those of other tools are looked at by tools.
func (e *examination) isShell() bool {
	return !e.named(readers) && !e.named(writers) || e.named(runners)
}

var (
	readers = words("read view cat list ls glob search grep find stat info get head tail tree exists open fetch show diff")
	writers = words("write edit create delete remove move rename patch append replace update put save insert copy mkdir upload set apply multiedit touch link symlink chmod truncate")
	runners = words("shell bash exec execute command terminal run powershell cmd process spawn")

	// Those of the writers that take files away, that move them, and that change a part of one.
	deleters = words("delete remove unlink rm")
	// gatherers take all that is in a folder with them.
	gatherers = words("archive compress zip tar pack bundle backup upload export sync mirror copy clone snapshot")
	movers    = words("move rename")
	editors   = words("edit append insert patch")
)

func words(list string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		m[w] = true
	}
	return m
}

// named reports whether one of the words is in the tool's name.
func (e *examination) named(list map[string]bool) bool {
	if e.toolWords == nil {
		e.toolWords = strings.FieldsFunc(e.tool, func(r rune) bool { return r < 'a' || r > 'z' })
	}
	return slices.ContainsFunc(e.toolWords, func(w string) bool { return list[w] })
}

// file looks at a file that would be opened.
func (e *examination) file(name string, writes bool, dirs []string, content string, known bool) {
	if dirs == nil {
		dirs = e.lastDirs()
	}
	for _, parts := range e.readings(name, dirs) {
		e.process(parts)
		for _, p := range e.g.places {
			if compare(parts, p.parts) != within {
				continue
			}
			switch {
			case p.kind == secret && !writes:
				e.tampers("read " + p.kind.String())
			case p.kind != setting && writes:
				e.tampers("change " + p.kind.String())
			}
		}
		if writes {
			after := []byte(nil)
			if known {
				after = []byte(content)
			}
			e.setting(parts, func([]byte) ([]byte, bool) { return after, known })
		}
	}
	if writes && len(e.readings(name, dirs)) == 0 {
		after := []byte(content)
		e.setting(split(clean("/"+name)), func([]byte) ([]byte, bool) { return after, known })
	}
}

// lastDirs are the folders that the script being read has gone to.
func (e *examination) lastDirs() []string { return append([]string{""}, e.went...) }

// maxSetting is the largest file of settings that is looked at.
const maxSetting = 4 << 20

// setting looks at a change of a file of settings, or of those that a pattern matches. change
// gives a file's text afterwards, from what it is now; ok is false when that cannot be known.
func (e *examination) setting(parts []string, change func(before []byte) (after []byte, ok bool)) {
	if !slices.ContainsFunc(parts, isPattern) {
		e.settingAt("/"+strings.Join(parts, "/"), change)
		return
	}
	if mayBeSetting(parts) {
		for _, name := range e.matched(parts) {
			e.settingAt(name, change)
		}
	}
}

// isPattern reports whether a name may stand for others.
func isPattern(name string) bool { return strings.ContainsAny(name, patternMarks) }

// mayBeSetting reports whether a pattern's last names may be those of a file of settings.
func mayBeSetting(parts []string) bool {
	return slices.ContainsFunc(settingParts, func(names []string) bool {
		if len(parts) < len(names) {
			return false
		}
		for i, p := range parts[len(parts)-len(names):] {
			if names[i] != "*" && !same(p, names[i]) {
				return false
			}
		}
		return true
	})
}

// settingParts are the names in the paths of all settings.
var settingParts = func() (list [][]string) {
	for i := range hook.Settings {
		list = append(list, split(strings.ToLower(hook.Settings[i].Path)))
	}
	return list
}()

// matched are the paths that a pattern stands for on the disk. Its last name is taken as it is
// where it is no pattern, since a file may be made.
func (e *examination) matched(parts []string) []string {
	at := []string{""}
	for _, p := range parts {
		if !isPattern(p) {
			for i := range at {
				at[i] += "/" + p
			}
			continue
		}
		var next []string
		for _, dir := range at {
			for _, name := range e.namesIn(dir) {
				if same(p, strings.ToLower(name)) {
					next = append(next, dir+"/"+name)
				}
			}
		}
		at = next
	}
	return at
}

// namesIn are the names in a folder.
func (e *examination) namesIn(dir string) []string {
	f, err := os.Open(filepath.FromSlash(dir + "/"))
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(e.namesLeft + 1)
	if e.namesLeft -= len(names); e.namesLeft < 0 {
		e.namesLeft, e.tooMuch = 0, true
	}
	return names
}

// maxNamesIn is how many names in folders are compared with an act's patterns.
const maxNamesIn = 16384

// settingAt looks at a change of one file, if it is one of settings.
func (e *examination) settingAt(name string, change func(before []byte) (after []byte, ok bool)) {
	s := hook.SettingAt(name, e.g.home)
	if s == nil {
		return
	}
	var before []byte
	readable := true
	if info, err := os.Stat(filepath.FromSlash(name)); err == nil && info.Mode().IsRegular() {
		if readable = info.Size() <= maxSetting; readable {
			before, err = regular.Read(filepath.FromSlash(name), maxSetting)
			readable = err == nil
		}
	}
	after, ok := change(before)
	added := hook.Adds(before, after)
	if e.adding {
		if ok && readable && len(added) > 0 {
			e.added = append(e.added, path.Base(name))
		}
		return
	}
	if !ok || !readable || len(after) > maxSetting { // too large to be read is no way round
		e.tampers("change the settings in which " + s.Agent + "'s hooks are configured, in a way that cannot be read beforehand (write the whole file with a tool for files, or edit one passage that is there)")
		return
	}
	if why := s.Disarms(before, after); why != "" {
		e.tampers("leave the agent's acts unjudged: " + why)
	}
	if i := slices.IndexFunc(added, hook.Decides); i >= 0 {
		e.tampersBut("add a hook to the settings of "+s.Agent+" ("+added[i]+") that may answer for its person, or change what is done when it has been judged",
			"A person can add it who has read what it runs.")
	}
}
