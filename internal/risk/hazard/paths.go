package hazard

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/risk/hazard/effects"
)

// place is a sensitive location. Reading it or writing it has a weight and a
// code; a weight of 0 says that it is ordinary.
type place struct {
	name  string // the pattern that matched; empty if none did
	read  float64
	write float64
	// reads and writes are the codes of the findings.
	reads, writes string
}

// keepsLogins reports whether keys or passwords lie there, alone or among settings.
func (p place) keepsLogins() bool {
	return strings.HasPrefix(p.reads, "secret.") && p.read >= 0.6 || p.reads == "path.sensitive" && p.read >= 0.35
}

// placeRule is one pattern, cut at its slashes once.
type placeRule struct {
	parts []string // of the pattern; nil for one that matches a name alone
	name  string   // that it matches
	place place
}

// places are the sensitive locations in their order, and how to find those that may
// match a path without comparing it with all of them. The first that matches counts.
type places struct {
	rules       []placeRule
	first, name map[string][]int // by the pattern's first name, or its first two; by its whole name
	other       []int
	above       map[string]bool // folders of a home in which, deeper, keys and passwords lie
	heads       map[string]bool // the first names of all that lies in a home
}

func newPlaces() places {
	return places{first: map[string][]int{}, name: map[string][]int{}, above: map[string]bool{}, heads: map[string]bool{}}
}

// add adds what the patterns, separated by spaces, are.
func (p *places) add(patterns string, is place) {
	for pattern := range strings.FieldsSeq(patterns) {
		is.name = pattern
		r := placeRule{place: is}
		low, n := strings.ToLower(pattern), len(p.rules)
		switch {
		case strings.Contains(low, "/"):
			if tail, ok := strings.CutPrefix(low, "~/"); ok {
				p.heads[before(tail, '/')] = true
			}
			if strings.HasPrefix(low, "~/") && is.keepsLogins() {
				for dir := low; strings.Count(dir, "/") > 1; {
					dir = dir[:strings.LastIndexByte(dir, '/')]
					p.above[dir] = true
				}
			}
			r.parts = strings.Split(strings.TrimPrefix(low, "/"), "/")
			if head := r.parts[0]; head[0] == '.' || strings.ContainsAny(head, "*?") {
				p.other = append(p.other, n)
			} else {
				if len(r.parts) > 1 && !strings.ContainsAny(r.parts[1], "*?") { // hundreds begin with ~ and with etc
					head += "/" + r.parts[1]
				}
				p.first[head] = append(p.first[head], n)
			}
		case strings.ContainsAny(low, "*?"):
			r.name, p.other = low, append(p.other, n)
		default:
			r.name = low
			p.name[low] = append(p.name[low], n)
		}
		p.rules = append(p.rules, r)
	}
}

// placeOf finds what a normalized path is.
func placeOf(p string) place {
	if len(p) > 4096 || p == "" {
		return place{}
	}
	low := strings.ToLower(p)
	if i := strings.IndexByte(low, ':'); i == 1 { // a drive
		low = low[2:]
	}
	absolute := strings.HasPrefix(low, "/") || strings.HasPrefix(low, "~")
	parts := strings.Split(strings.Trim(low, "/"), "/")
	if len(parts) > 64 {
		parts = parts[len(parts)-64:]
	}
	is := builtin().places.of(parts, absolute)
	if is.name == "" && parts[0] == "~" {
		if settings := asOnLinux(parts); settings != nil {
			return builtin().places.of(settings, absolute)
		}
	}
	return is
}

// settingsFolders are where systems and their packages have what Linux has in ~/.config and
// ~/.local/share, or in the home itself. * stands for any name.
var settingsFolders = []struct{ there, here []string }{
	{[]string{"~", "library", "application support"}, []string{"~", ".config"}},
	{[]string{"~", "library", "preferences"}, []string{"~", ".config"}},
	{[]string{"~", "library", "caches"}, []string{"~", ".cache"}},
	{[]string{"~", "library", "containers", "*", "data", "library", "application support"}, []string{"~", ".config"}},
	{[]string{"~", "appdata", "roaming"}, []string{"~", ".config"}},
	{[]string{"~", "appdata", "local"}, []string{"~", ".config"}},
	{[]string{"~", ".var", "app", "*", "config"}, []string{"~", ".config"}},
	{[]string{"~", ".var", "app", "*", "data"}, []string{"~", ".local", "share"}},
	{[]string{"~", ".var", "app", "*"}, []string{"~"}},
	{[]string{"~", "snap", "*", "*"}, []string{"~"}},
}

// asOnLinux are the names of a path to a program's settings as they are on Linux; nil for any other.
func asOnLinux(parts []string) []string {
	for _, f := range settingsFolders {
		if len(parts) > len(f.there) && matchParts(f.there, parts[:len(f.there)]) {
			return append(slices.Clip(f.here), parts[len(f.there):]...)
		}
	}
	return nil
}

// of finds what the names of a path lead to.
func (all *places) of(parts []string, absolute bool) place {
	best := len(all.rules)
	look := func(rules []int) {
		for _, n := range rules {
			if n >= best {
				return
			}
			if all.rules[n].matches(parts, absolute) {
				best = n
			}
		}
	}
	if absolute {
		look(all.first[parts[0]])
		if len(parts) > 1 {
			look(all.first[parts[0]+"/"+parts[1]])
		}
	}
	look(all.name[parts[len(parts)-1]])
	look(all.other)
	if best == len(all.rules) {
		return place{}
	}
	return all.rules[best].place
}

func (r *placeRule) matches(parts []string, absolute bool) bool {
	switch {
	case r.parts == nil:
		return matchName(r.name, parts[len(parts)-1])
	case r.parts[0] == "**":
		return matchParts(r.parts, parts)
	case r.parts[0][0] == '.': // anywhere
		for k := range parts {
			if matchParts(r.parts, parts[k:]) {
				return true
			}
		}
		return false
	}
	return absolute && matchParts(r.parts, parts)
}

// matchParts matches a path's names with a pattern's. ** takes any number, at
// most two of them stand in one pattern, and paths are short.
func matchParts(pattern, names []string) bool {
	for len(pattern) > 0 {
		if pattern[0] == "**" {
			if len(pattern) == 1 {
				return true
			}
			for k := 0; k <= len(names); k++ {
				if matchParts(pattern[1:], names[k:]) {
					return true
				}
			}
			return false
		}
		if len(names) == 0 || !matchName(pattern[0], names[0]) {
			return false
		}
		pattern, names = pattern[1:], names[1:]
	}
	return len(names) == 0
}

func matchName(pattern, name string) bool {
	if pattern == "" || name == "" {
		return strings.Trim(pattern, "*") == name
	}
	// Most names differ from most patterns in their first or their last character.
	first, last := pattern[0], pattern[len(pattern)-1]
	if first != '*' && first != '?' && name[0] != first || last != '*' && last != '?' && name[len(name)-1] != last {
		return false
	}
	if !strings.ContainsAny(pattern, "*?") {
		return pattern == name
	}
	ok, _ := path.Match(pattern, name)
	return ok
}

// pathForm is a path brought to the one form that places are compared with.
type pathForm struct {
	text    string // slashes, no . or .., homes as ~
	climbs  int    // how many directories it climbs beyond where it began
	turns   int    // how many ".." there are
	encoded bool   // dots or slashes were hidden by an encoding
	broken  int    // escapes that no honest encoder writes
	odd     bool   // forms that nobody writes: "....//", "..;/", a NUL
}

// throughProcess is a path that leads through a process's root or working folder, whichever process that is.
var throughProcess = lazyregexp.New(`^/+proc/+(?:\./+)*[^/]+/+(?:(?:\.|task/+[^/]+)/+)*(root|cwd)(?:/+(.*))?$`)

// Direct is a path through a process's root (/proc/1/root/etc, /proc/$$/root/etc) as where it leads, and one through
// its working folder as one in the present folder. It leaves others as they are.
func Direct(path string) string {
	for range 4 { // one may lead through another
		m := throughProcess.FindStringSubmatch(path)
		if m == nil {
			break
		}
		if path = "/" + m[2]; m[1] == "cwd" {
			path = "./" + m[2]
		}
	}
	return path
}

// normalPath undoes encodings (as a careless server would, several times),
// backslashes and dots.
func normalPath(s string) pathForm {
	var f pathForm
	s = strings.TrimSpace(s)
	if len(s) > 16<<10 {
		s = s[:16<<10]
	}
	s = strings.TrimPrefix(s, "file://")
	plainDots := strings.Count(s, "..")
	f.broken = brokenEscapes(s)
	decoded := decodePath(s)
	if decoded != s {
		// A percent sign in an ordinary name is no attack; one that gives dots or
		// slashes is.
		if strings.Count(decoded, "..") > plainDots || plainDots > 0 && strings.Count(slashed(decoded), "/") > strings.Count(slashed(s), "/") {
			f.encoded = true
		}
		s = decoded
	}
	if i := strings.IndexByte(s, 0); i >= 0 {
		f.odd = true
		s = s[:i]
	}
	if bare := unslashed(s); bare != s {
		f.odd = true
		s = bare
	}
	s = slashed(s)
	for _, form := range []string{"....//", "..../", ".../.", "..;/", "././.", "/...//"} {
		if strings.Contains(s, form) {
			f.odd = true
		}
	}
	if f.odd {
		s = strings.ReplaceAll(strings.ReplaceAll(s, "..;/", "../"), "....//", "../")
	}
	for strings.Contains(s, "//") && !strings.HasPrefix(s, "//") {
		s = strings.ReplaceAll(s, "//", "/")
	}
	s = homed(Direct(s))
	absolute := strings.HasPrefix(s, "/") || strings.HasPrefix(s, "~")
	out := make([]string, 0, strings.Count(s, "/")+1)
	for part := range strings.SplitSeq(s, "/") {
		switch part {
		case "", ".":
		case "..":
			f.turns++
			if len(out) == 1 && out[0] == "~" {
				out[0] = "home" // where the homes lie
				absolute = true
			} else if len(out) > 0 {
				out = out[:len(out)-1]
			} else {
				f.climbs++
			}
		default:
			out = append(out, part)
		}
	}
	f.text = strings.Join(out, "/")
	if (absolute || f.climbs > 0) && !strings.HasPrefix(f.text, "~") {
		f.text = "/" + f.text
	}
	f.text = builtin().places.inHome(homed(f.text))
	return f
}

// namedPath is what a word names, taken as a path.
type namedPath struct {
	pathForm
	looked bool // what lies there was looked up
	found  place
}

// place is what lies there.
func (n *namedPath) place() place {
	if !n.looked {
		n.looked, n.found = true, placeOf(n.text)
	}
	return n.found
}

// asPath is what a word names. It is found out once in an assessment: a command's words are looked at for one question
// after the other, and again for each program that may begin among them. The folder and the variables have no part in
// it: who knows them asks for the path that they make of the word. A home that comes to be known meanwhile counts from
// the next assessment on.
func (a *assessor) asPath(word string) *namedPath {
	n, ok := a.paths[word]
	if !ok {
		n = &namedPath{pathForm: normalPath(word)}
		if room := a.remembered + 256 + 2*len(word); room <= maxRemembered {
			a.paths[word], a.remembered = n, room
		}
	}
	return n
}

// brokenEscapes counts escapes that no honest encoder writes: of one byte in
// several, of a percent sign, of characters beyond what the standard allows, or
// of nothing at all.
func brokenEscapes(s string) int {
	n := 0
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			continue
		}
		if i+2 >= len(s) {
			break
		}
		c, d := s[i+1], s[i+2]
		hex := effects.DigitOf(c) < 16 && effects.DigitOf(d) < 16
		switch {
		case c == '%' || c == '2' && d == '5':
			n++
		case (c == 'u' || c == 'U') && i+5 < len(s) && hexRune(s[i+2:i+6]) >= 0:
			n++
		case hex && (c == 'c' || c == 'C') && (d == '0' || d == '1'):
			n++
		case hex && (c == 'f' || c == 'F' || (c == 'e' || c == 'E') && d == '0') && strings.HasPrefix(s[i+3:], "%80"):
			n++
		case hex && (c == '0' || c == '1'):
			n++
		case !hex && isAlnum(c) && isAlnum(d):
			n++
		}
	}
	return n
}

func isAlnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// targets are where traversals lead to: the directories of a system.
var targets = set("etc proc windows winnt boot.ini win.ini root dev sys inetpub autoexec.bat web-inf meta-inf .htaccess .htpasswd web.config wp-config.php .ssh .bash_history system32")

// climbsTo says whether a path climbs by strange steps to where traversals lead:
// what stands before is no name at all.
func climbsTo(s string) bool {
	parts := strings.Split(strings.Trim(slashed(s), "/"), "/")
	strange := 0
	for i, p := range parts {
		if targets[strings.ToLower(p)] || p == "var" && i+1 < len(parts) {
			return strange > 0
		}
		if strings.ContainsFunc(p, func(r rune) bool { return r < 0x80 && isAlnum(byte(r)) }) {
			return false
		}
		if p != "" && p != "." && p != "~" {
			strange++
		}
	}
	return false
}

func slashed(s string) string { return strings.ReplaceAll(s, `\`, "/") }

// homeVariables are variables that hold a home or a folder in it, and what they hold where nobody
// has set them otherwise.
var homeVariables = [][2]string{
	{"$HOME", "~"}, {"${HOME}", "~"}, {"%USERPROFILE%", "~"}, {"$env:USERPROFILE", "~"},
	{"%APPDATA%", "~/AppData/Roaming"}, {"$env:APPDATA", "~/AppData/Roaming"}, {"%LOCALAPPDATA%", "~/AppData/Local"}, {"$env:LOCALAPPDATA", "~/AppData/Local"},
}

// homed writes any person's home as ~.
func homed(s string) string {
	if s != "" && (s[0] == '$' || s[0] == '%') {
		for _, v := range homeVariables {
			if rest, ok := strings.CutPrefix(s, v[0]+"/"); ok {
				return v[1] + "/" + rest
			}
		}
	}
	for _, v := range []string{"/root/", "/var/root/"} {
		if rest, ok := strings.CutPrefix(s, v); ok {
			return "~/" + rest
		}
	}
	for _, v := range []string{"/home/", "/Users/", "/usr/home/", "/export/home/", "~"} {
		if rest, ok := strings.CutPrefix(s, v); ok {
			if _, below, ok := strings.Cut(rest, "/"); ok {
				return "~/" + below
			}
		}
	}
	return s
}

// decodePath undoes percent encodings and their malformed kin: %2e, %252e,
// %c0%ae (overlong), %u002e, 0x2e, and full-width dots and slashes.
func decodePath(s string) string {
	for range 4 {
		d := bareEscapes(decodeOnce(s))
		if d == s {
			break
		}
		s = d
	}
	if strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return s // as nearly all: replacing copies also what it leaves as it is
	}
	return wideForms.Replace(s)
}

var signless = strings.NewReplacer("2f", "/", "2F", "/", "2e", ".", "2E", ".", "5c", `\`, "5C", `\`)

// bareEscapes undoes escapes that lost their sign on the way, as of ..2f..2fetc: a
// careless filter takes the sign and a careless server puts it back. They are told by the
// dots before them.
func bareEscapes(s string) string {
	low := strings.ToLower(s)
	if !strings.Contains(low, "..2f") && !strings.Contains(low, "..5c") && !strings.Contains(low, "2e2e2f") && !strings.Contains(low, "2e2e5c") && !strings.Contains(low, "2e2e/") {
		return s
	}
	return signless.Replace(s)
}

// unslashed is a path in which a backslash hides a dot or a slash, \.\.\/, without them,
// where it then climbs more often than if they part names.
func unslashed(s string) string {
	if !strings.Contains(s, `\.`) && !strings.Contains(s, `/\/`) {
		return s
	}
	climbs := func(path string) (n int) {
		for part := range strings.SplitSeq(path, "/") {
			if part == ".." {
				n++
			}
		}
		return n
	}
	for _, bare := range []string{strings.ReplaceAll(s, `/\/`, ""), strings.ReplaceAll(s, `\`, "")} {
		if climbs(bare) > climbs(slashed(s)) {
			return bare
		}
	}
	return s
}

// packedPath is the path that a name is in Base64 or in hexadecimal digits: one that
// climbs, or leads to a place where secrets lie. Names of files can look so, too, and
// stand for nothing.
func packedPath(s string) (string, bool) {
	if len(s) < 12 || len(s) > 4096 || strings.ContainsAny(s, "./\\ ~$") {
		return "", false
	}
	for _, decode := range []func(string) (string, bool){unbase64, unhex} {
		if inner, ok := decode(s); ok && !strings.ContainsAny(inner, "\n ") {
			if f := normalPath(inner); f.turns > 0 || strings.HasPrefix(f.text, "/") && placeOf(f.text).read >= 0.3 {
				return inner, true
			}
		}
	}
	return "", false
}

// wideForms are characters that some systems fold to dots and slashes.
var wideForms = strings.NewReplacer("\uff0e", ".", "\uff0f", "/", "\u2215", "/", "\u2216", `\`, "\uff3c", `\`, "\u2044", "/", "\u3002", ".", "\u2024", ".")

// overlong are byte sequences that careless decoders take for a dot or a slash.
var overlong = strings.NewReplacer(
	"\xc0\xae", ".", "\xc0\x2e", ".", "\xc0\x5e", ".", "\xc0\xee", ".", "\xc0\xfe", ".", "\xe0\x80\xae", ".", "\xe0\x40\xae", ".",
	"\xc0\xaf", "/", "\xc0\x2f", "/", "\xc1\xaf", "/", "\xe0\x80\xaf", "/", "\xc1\x9c", `\`, "\xc1\x1c", `\`, "\xc0\x5c", `\`, "\xe0\x81\x9c", `\`,
	"\xf0\x80\x80\xae", ".", "\xf0\x80\x80\xaf", "/", "\xf8\x80\x80\x80\xae", ".", "\xf8\x80\x80\x80\xaf", "/",
	"\xfc\x80\x80\x80\x80\xae", ".", "\xfc\x80\x80\x80\x80\xaf", "/", "\x80\xae", ".", "\x80\xaf", "/", "\x80\x5c", `\`)

func decodeOnce(s string) string {
	if !strings.ContainsAny(s, "%&") && !strings.Contains(s, "0x2") && !strings.Contains(s, "0x5") && !strings.Contains(s, `\u00`) && !strings.Contains(s, `\x`) && utf8.ValidString(s) {
		return s
	}
	s = pathEscapes.Replace(s)
	var b strings.Builder
	raw := false
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if (s[i+1] == 'u' || s[i+1] == 'U') && i+5 < len(s) {
				if n := hexRune(s[i+2 : i+6]); n > 0 {
					b.WriteRune(n)
					i += 5
					continue
				}
			}
			hi, lo := effects.DigitOf(s[i+1]), effects.DigitOf(s[i+2])
			if hi < 16 && lo < 16 {
				c := byte(hi<<4 | lo)
				raw = raw || c >= 0x80
				b.WriteByte(c)
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	out := b.String()
	if raw || !utf8.ValidString(out) {
		out = overlong.Replace(out)
	}
	return out
}

var pathEscapes = strings.NewReplacer("0x2e", ".", "0x2f", "/", "0x5c", `\`, "0x2E", ".", "0x2F", "/", "0x5C", `\`,
	`\u002e`, ".", `\u002f`, "/", `\u005c`, `\`, `\x2e`, ".", `\x2f`, "/", `\x5c`, `\`, "&#46;", ".", "&#47;", "/", "&sol;", "/", "&period;", ".", "%%32%65", ".", "%%32%66", "/", "%%35%63", `\`, "%%35%43", `\`, "%%32%45", ".", "%%32%46", "/", "%25", "%")

func hexRune(s string) rune {
	n := rune(0)
	for i := range len(s) {
		d := effects.DigitOf(s[i])
		if d > 15 {
			return -1
		}
		n = n<<4 | rune(d)
	}
	return n
}

// path judges a path that would be read, or written.
func (a *assessor) path(text string, writes bool, at span) {
	if to := a.through(text, true); to != text { // the stricter counts
		was := a.linked
		a.linked = nil
		a.path(to, writes, at)
		a.linked = was
	}
	if len(text) > 16<<10 {
		a.starve(at)
		return
	}
	if strings.Contains(text, "\n") {
		return
	}
	if inner, ok := packedPath(text); ok {
		a.report("path.encoded", 0, at)
		text = inner
	}
	f := normalPath(text)
	p := placeOf(f.text)
	if q := a.from(text); p.name == "" && q != "" {
		p = placeOf(normalPath(q).text)
	}
	if p.name == "" && f.turns > 0 {
		// How far it climbs is known where it runs only: what it ends in counts.
		p = placeOf("/" + strings.TrimLeft(f.text, "/"))
	}
	known := p.read >= 0.3 || p.write >= 0.75 && f.turns > 0
	if top := before(strings.TrimLeft(f.text, "/"), '/'); f.turns > 0 && (targets[strings.ToLower(top)] || targets[strings.ToLower(f.text[strings.LastIndexByte(f.text, '/')+1:])]) {
		known = true
	}
	decoded := decodePath(text)
	switch {
	case f.encoded && (f.turns > 0 || f.odd), f.broken >= 2:
		a.report("path.encoded", 0, at)
	case f.odd && f.turns > 0, climbsTo(decoded), strings.Contains(decoded, "\x00"):
		a.report("path.traversal", 0, at)
	case f.turns > 0 && known:
		a.report("path.traversal", 0.9, at)
	case f.climbs >= 6:
		a.report("path.traversal", 0.82, at)
	case f.climbs >= 2:
		a.report("path.climb", 0.1+0.1*float64(f.climbs), at)
	}
	if strings.Contains(f.text, "://") {
		a.url(text, at)
	}
	if writes {
		a.putsProgram(text, "", at)
	}
	switch {
	case writes && p.write > 0 && p.writes != "":
		a.report(p.writes, p.write, at)
	case !writes && p.read > 0 && p.reads != "":
		a.report(p.reads, p.read, at)
	}
}
