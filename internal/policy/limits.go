package policy

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/glob"
	"reeve.example/reeve/internal/risk"
	"reeve.example/reeve/internal/risk/hazard"
)

// A manifest is told to whoever executes a call, and is a rule as well: what a call
// names in its arguments outside of the manifest is denied, by every door. What a
// command reaches cannot be read from its text for certain, so that the paths of
// commands, memory, CPU and time are for a sandbox to hold; a door without one
// does not call such a tool.

// Codes of what a manifest forbids.
const (
	CodePaths      = "limits.paths"
	CodeHosts      = "limits.hosts"
	CodePatterns   = "limits.patterns"
	CodeUnenforced = "limits.unenforced"
)

// Kinds of tools and of arguments by their names, in the one form.
var (
	commandTools = []string{
		"*shell*", "*bash*", "*exec*", "*terminal*", "*command*", "*console*", "*cmd*", "*run*", "*process*", "*script*", "*python*",
		"*code*", "*eval*", "*interpreter*", "*notebook*", "sh", "zsh", "pwsh",
	}
	writingTools = []string{
		"*write*", "*edit*", "*create*", "*save*", "*append*", "*patch*", "*replace*", "*delete*", "*remove*", "*move*", "*rename*", "*copy*",
	}
	readingTools = []string{"*read*", "*list*", "*search*", "*view*", "*find*", "*grep*", "*stat*", "*get*", "*open*", "*cat*", "*load*", "*show*"}

	commandNames = []string{"command", "cmd", "commands", "script", "code", "program", "commandline", "shellcommand"}
	hostNames    = []string{"host", "hostname", "domain", "url", "uri", "endpoint", "address", "server", "website", "link", "baseurl", "webhook"}
	sourceNames  = []string{"source", "src", "from", "sourcepath", "sourcefile", "oldpath"}
	pathNames    = []string{
		"path", "paths", "file", "files", "filename", "filepath", "targetfile", "targetpath", "destination", "destinationpath", "dest", "dst",
		"outputfile", "outputpath", "output", "newpath", "oldpath", "directory", "dir", "folder", "cwd", "workdir", "workingdirectory", "root",
		"source", "src", "sourcepath", "sourcefile", "absolutepath", "notebookpath", "pathname",
	}
	// What is in these is what is written, said or looked for, and reached by nobody.
	contentNames = []string{
		"content", "contents", "text", "body", "data", "message", "newstring", "oldstring", "newtext", "oldtext", "newstr", "oldstr", "filetext",
		"query", "pattern", "reason", "description", "prompt", "html", "markdown", "patch", "diff", "insert", "replacement",
	}
)

// argumentName is an argument's name as it is compared with these lists.
func argumentName(name string) string {
	form, _ := canon.Name(name)
	return unseparated.Replace(form)
}

var unseparated = strings.NewReplacer("_", "", "-", "", " ", "", ".", "")

// of returns the manifest that a document gives an act's tool by any of its names,
// each once.
func (s *manifests) of(a *act.Action) (list []*manifest) {
	for _, name := range []string{a.Canonical, a.Alias} {
		if m := s.find(name); m != nil && !slices.Contains(list, m) && name != "" {
			list = append(list, m)
		}
	}
	return list
}

func (s *manifests) find(name string) *manifest {
	if m, ok := s.exact[name]; ok {
		return m
	}
	if i := slices.IndexFunc(s.globs, func(m *manifest) bool { return glob.Match(m.glob, name) }); i >= 0 {
		return s.globs[i]
	}
	return nil
}

// binds reports whether a document gives one of the limits, and not as advice.
func (m *manifest) binds(limits ...string) bool {
	return slices.ContainsFunc(limits, func(l string) bool { return slices.Contains(m.given, l) && !slices.Contains(m.Advisory, l) })
}

// Forbids returns why the manifests of a call's tool do not let it be made. A call
// that is not bounded comes from who is not told its manifest, and is held to it by
// nobody: it may be made where reading its arguments shows that it stays inside.
func (s *Set) Forbids(a *act.Action) (reasons []act.Reason) {
	if !a.IsCall() {
		return nil
	}
	list := s.manifests.of(a)
	if list == nil {
		return nil
	}
	r := reach(a)
	for _, m := range list {
		first := len(reasons)
		if isConstitution(m.file) { // which has rules of its own
			continue
		}
		if message, pointer := m.patterns(a); message != "" {
			reasons = append(reasons, forbidden(CodePatterns, pointer, message, "Do it without that."))
		}
		if message, pointer := m.paths(r); message != "" {
			reasons = append(reasons, forbidden(CodePaths, pointer, message, "Use a whole path in one of the places that the policy lets this tool reach."))
		}
		if message, pointer := m.hosts(r); message != "" {
			reasons = append(reasons, forbidden(CodeHosts, pointer, message, "Use one of the hosts that the policy lets this tool reach."))
		}
		if !a.Bounded && a.Kind != act.TaskStart && len(reasons) == first && m.unheld(r) {
			reasons = append(reasons, forbidden(CodeUnenforced, "",
				"The policy gives this tool limits, and an agent that asks this way cannot be held to them.",
				"Ask over A2G and run it with reeve exec; or let the policy call the limits advisory."))
		}
		for i := first; i < len(reasons); i++ {
			reasons[i].Observe = m.observe
		}
	}
	return reasons
}

func forbidden(code, pointer, message, instead string) act.Reason {
	return act.Reason{Rule: manifestRule, Code: code, Message: message, Instead: instead, Effect: act.Deny, Pointer: pointer}
}

// unheld reports whether limits are left that only a sandbox holds.
func (m *manifest) unheld(r *reached) bool {
	if m.glob == "*" { // what holds for every tool is for who is told it
		return false
	}
	if m.binds("max_memory_mb", "max_cpu_percent", "timeout_seconds", "max_write_mb", "max_write_files") || m.binds("network_allowed") && !m.NetworkAllowed {
		return true
	}
	files, hosts := m.binds("filesystem_scope", "filesystem_read"), m.binds("allowed_domains", "blocked_domains")
	return (files || hosts) && r.runs || files && len(r.files) == 0 || hosts && len(r.addresses) == 0
}

// Unheld reports whether no call of a tool can be made by who is told no manifest.
func (s *Set) Unheld(canonicalTool string) bool {
	m := s.manifests.find(canonicalTool)
	return m != nil && !isConstitution(m.file) && m.unheld(&reached{runs: runs(canonicalTool), files: make([]named, 1), addresses: make([]named, 1)})
}

func runs(tool string) bool { return isLike(tool, commandTools) }

func isLike(tool string, globs []string) bool {
	return slices.ContainsFunc(globs, func(g string) bool { return glob.Match(g, tool) })
}

// reached is what a call's arguments name that it would reach.
type reached struct {
	runs             bool // it runs a command, which can reach more than can be read
	writes, reads    bool // by its name
	copies           bool // and leaves what it copies as it is
	files, addresses []named
}

// named is a path or a host, and where it stands.
type named struct {
	text, pointer string
	source        bool // of what is copied
	hidden        bool // with characters that nobody sees
}

// reach reads what a call would reach.
func reach(a *act.Action) *reached {
	r := &reached{}
	for _, name := range []string{a.Canonical, a.Alias} {
		r.runs = r.runs || runs(name)
		r.writes = r.writes || isLike(name, writingTools)
		r.reads = r.reads || isLike(name, readingTools)
		r.copies = r.copies || glob.Match("*copy*", name)
	}
	at := map[string]string{}
	for _, arg := range a.Arguments {
		at[arg.Name] = arg.Pointer
		r.runs = r.runs || slices.Contains(commandNames, argumentName(arg.Name))
	}
	for i := range a.Content {
		leaf := &a.Content[i]
		if leaf.Arg == "" || leaf.Fixed || leaf.Base64 {
			continue
		}
		names := []string{argumentName(leaf.Arg)}
		if rest, ok := strings.CutPrefix(leaf.Pointer, at[leaf.Arg]); ok {
			for _, token := range strings.Split(rest, "/") {
				names = append(names, argumentName(token))
			}
		}
		is := func(list []string) bool {
			return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(list, n) })
		}
		hidden := len(risk.Scan(leaf.Text, risk.Hidden, nil)) > 0
		content := is(contentNames) && !is(pathNames) && !is(hostNames)
		command := r.runs && !is(pathNames)
		if !content && !command && (is(pathNames) && !hasScheme(leaf.Text) || looksLikePath(leaf.Text)) {
			r.files = append(r.files, named{leaf.Text, leaf.Pointer, is(sourceNames), hidden})
		}
		if content && !r.runs {
			continue
		}
		hosts := hostsOf(leaf.Text)
		if len(hosts) == 0 && is(hostNames) {
			hosts = hostsOf("http://" + strings.TrimSpace(leaf.Text))
		}
		for _, h := range hosts {
			r.addresses = append(r.addresses, named{h, leaf.Pointer, false, hidden})
		}
	}
	if r.runs {
		r.spoken(a)
	}
	return r
}

// spoken adds the hosts that a command speaks to, however it names them: many programs take
// one without a scheme.
func (r *reached) spoken(a *act.Action) {
	hazard.Read(a).Watch(&hazard.Watch{URL: func(address string) {
		hosts := hostsOf(address)
		if len(hosts) == 0 {
			hosts = hostsOf("http://" + strings.TrimSpace(address))
		}
		for _, h := range hosts {
			if h != "" && !slices.ContainsFunc(r.addresses, func(n named) bool { return n.text == h }) {
				r.addresses = append(r.addresses, named{text: h})
			}
		}
	}})
}

// hasScheme reports whether a text is a URL of another scheme than file.
func hasScheme(text string) bool {
	scheme, _, ok := strings.Cut(strings.TrimSpace(text), "://")
	return ok && scheme != "" && !strings.EqualFold(scheme, "file") && !strings.ContainsFunc(scheme, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("+.-", c)
	})
}

// looksLikePath reports whether a text can only be meant as a path, whatever its
// argument is called.
func looksLikePath(text string) bool {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > maxPath || strings.ContainsAny(text, "\n\r") || hasScheme(text) {
		return false
	}
	slashed := strings.ReplaceAll(unescape(unescape(text)), `\`, "/")
	switch {
	case strings.HasPrefix(slashed, "/"), strings.HasPrefix(slashed, "./"), strings.HasPrefix(slashed, "~"):
		return true
	case len(slashed) > 4 && strings.EqualFold(slashed[:5], "file:"), driveLetter(slashed):
		return true
	}
	return slashed == ".." || strings.HasPrefix(slashed, "../") || strings.Contains(slashed, "/../") || strings.HasSuffix(slashed, "/..")
}

// paths says which path lies outside of the manifest's.
func (m *manifest) paths(r *reached) (message, pointer string) {
	if !m.binds("filesystem_scope", "filesystem_read") {
		return "", ""
	}
	for _, f := range r.files {
		allowed := m.FilesystemScope
		if f.source && r.copies || r.reads && !r.writes {
			allowed = append(slices.Clone(allowed), m.FilesystemRead...)
		}
		if f.hidden {
			return "A path holds characters that nobody sees.", f.pointer
		}
		if !within(f.text, allowed) {
			return fmt.Sprintf("The path %.200q is not surely in one of the places that the policy lets this tool reach.", f.text), f.pointer
		}
	}
	return "", ""
}

// within reports whether a path surely lies in one of a manifest's places, which are
// directories, files or globs.
func within(p string, places []string) bool {
	dirs := make([]string, 0, len(places))
	for _, place := range places {
		if dir, ok := strings.CutSuffix(place, "/**"); ok && !isGlob(dir) {
			if dir == "" {
				dir = "/"
			}
			dirs = append(dirs, dir)
		} else if !isGlob(place) {
			dirs = append(dirs, place)
		}
	}
	if pathUnder(p, dirs) {
		return true
	}
	return len(p) <= maxGlobText && pathGlob(p, places)
}

// hosts says which host the manifest does not let be reached.
func (m *manifest) hosts(r *reached) (message, pointer string) {
	none := m.binds("network_allowed") && !m.NetworkAllowed
	for _, h := range r.addresses {
		switch {
		case none:
			message = "The policy lets this tool reach no host."
		case h.hidden:
			message = "A host's name holds characters that nobody sees."
		case m.binds("blocked_domains") && hostIn(h.text, m.BlockedDomains):
			message = fmt.Sprintf("The policy does not let this tool reach the host %.100q.", h.text)
		case m.binds("allowed_domains") && !hostIn(h.text, m.AllowedDomains):
			message = fmt.Sprintf("The host %.100q is none that the policy lets this tool reach.", h.text)
		default:
			continue
		}
		return message, h.pointer
	}
	return "", ""
}

// patterns says which text the call holds that the manifest blocks, in a name or in
// a value, however it is spelled.
func (m *manifest) patterns(a *act.Action) (message, pointer string) {
	if !m.binds("blocked_patterns") {
		return "", ""
	}
	look := func(text string) bool {
		spellings := spellingsOf(text)
		for _, p := range m.BlockedPatterns {
			for i, form := range spellingsOf(p) {
				if strings.Contains(spellings[i], form) && form != "" || strings.Contains(text, p) {
					message = fmt.Sprintf("It holds the text %.100q, which the policy blocks for this tool.", p)
					return true
				}
			}
		}
		return false
	}
	for _, arg := range a.Arguments {
		if look(arg.Name) || isNumber(arg.Value) && look(string(arg.Value)) {
			return message, arg.Pointer
		}
	}
	var all []string
	for i := range a.Content {
		if look(a.Content[i].Text) {
			return message, a.Content[i].Pointer
		}
		if !a.Content[i].Fixed {
			all = append(all, a.Content[i].Text)
		}
	}
	if len(all) > 1 && look(strings.Join(all, " ")) { // a command whose words come apart
		return message, ""
	}
	return "", ""
}

func isNumber(raw []byte) bool {
	return len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
}

// shellQuotes takes away what a shell does.
var shellQuotes = strings.NewReplacer(`"`, "", "'", "", "\\\n", "", "\\", "", "${ifs}", " ", "$ifs", " ")

// spellingsOf are a text's forms in which two spellings of one command meet: folded,
// with one space between words; and that without a shell's quotes.
func spellingsOf(text string) [2]string {
	one := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	folded := canon.Text(text)
	bare := shellQuotes.Replace(folded)
	return [2]string{one(folded), one(bare)}
}

// Permits returns what a call may use: its manifest, and where no document says
// anything of what it names itself (the files and hosts in its arguments), just that.
// So what was approved can be done, and nothing else. Of a command that is not to be
// told: what it reaches cannot be read, and the folder that it starts in, or a URL in
// its text, would be a way to ask for that folder and everything below, or for a host.
func (s *Set) Permits(a *act.Action) act.Manifest {
	out := defaultManifest
	var given []string
	if m := s.manifests.find(a.Canonical); m != nil {
		out, given = m.Manifest, m.given
	}
	r := reach(a)
	if r.runs {
		return out
	}
	if !slices.Contains(given, "filesystem_scope") && !slices.Contains(given, "filesystem_read") {
		for _, f := range r.files {
			p, ok := oneReading(f)
			switch {
			case !ok || len(out.FilesystemScope)+len(out.FilesystemRead) >= maxPermitted:
			case !(f.source && r.copies || r.reads && !r.writes):
				out.FilesystemScope = append(out.FilesystemScope, p)
			default:
				out.FilesystemRead = append(out.FilesystemRead, p)
			}
		}
	}
	if !slices.Contains(given, "network_allowed") && !slices.Contains(given, "allowed_domains") && !r.writes {
		for _, h := range r.addresses {
			problem, _ := domainName(h.text)
			if problem != "" || h.hidden || len(out.AllowedDomains) >= maxPermitted || slices.Contains(out.AllowedDomains, h.text) {
				continue
			}
			out.AllowedDomains, out.NetworkAllowed = append(out.AllowedDomains, h.text), true
		}
	}
	return out
}

// maxPermitted bounds what a call's own manifest lists.
const maxPermitted = 100

// oneReading is a path that everybody reads alike, whole and without wildcards.
func oneReading(f named) (string, bool) {
	all, certain := readings(f.text)
	if !certain || len(all) != 1 || f.hidden || isGlob(f.text) || !utf8.ValidString(f.text) {
		return "", false
	}
	problem, _ := absolutePath(all[0])
	return all[0], problem == ""
}
