package policy

import (
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"reeve.example/reeve/internal/lazyregexp"
)

// maxPath is longer than any path that a system takes, in bytes: Windows has
// the longest. What is longer is a text, and is not looked at from all sides.
const maxPath = 32 << 10

// readings returns every path that a program could take p for, cleaned: as it
// stands, with percent escapes decoded (also twice), backslashes as slashes,
// look-alike characters folded, a file: URL's path. certain is false when p
// holds something that no path needs and programs treat differently, such as
// a NUL. A check that lets through must ask that all readings pass; a check
// that stops, whether any does.
func readings(p string) (all []string, certain bool) {
	certain = true
	add := func(s string) {
		if s != "" {
			s = path.Clean(s)
		}
		for _, known := range all {
			if known == s {
				return
			}
		}
		all = append(all, s)
	}
	add(p)
	if plainPath(p) {
		return all, true
	}
	if len(p) > maxPath {
		return all, false
	}
	variants := []string{p}
	grow := func(change func(string) string) {
		for _, v := range variants {
			if w := change(v); w != v && len(variants) < 64 {
				variants = append(variants, w)
			}
		}
	}
	grow(strings.TrimSpace)
	grow(func(s string) string {
		if i := strings.IndexFunc(s, unicode.IsControl); i >= 0 {
			certain = false
			return s[:i]
		}
		return s
	})
	grow(norm.NFKC.String)
	for range 3 {
		grow(unescape)
	}
	if last := variants[len(variants)-1]; unescape(last) != last {
		certain = false
	}
	grow(func(s string) string { return strings.ReplaceAll(s, `\`, "/") })
	grow(func(s string) string {
		if len(s) > 5 && strings.EqualFold(s[:5], "file:") {
			return "/" + strings.TrimLeft(strings.TrimPrefix(strings.TrimPrefix(s[5:], "//"), "localhost"), "/")
		}
		return s
	})
	for _, v := range variants {
		if strings.ContainsFunc(v, unicode.IsControl) {
			certain = false
		}
		add(v)
	}
	return all, certain
}

// plainPath reports whether a path has but one reading.
func plainPath(p string) bool {
	for i := range len(p) {
		c := p[i]
		if c <= ' ' || c >= 0x7f || c == '%' || c == '\\' {
			return false
		}
	}
	return len(p) < 5 || !strings.EqualFold(p[:5], "file:")
}

// unescape decodes percent escapes, and leaves alone what is none.
func unescape(s string) string {
	first := escapeIn(s)
	if first < 0 {
		return s
	}
	b := append(make([]byte, 0, len(s)), s[:first]...)
	for i := first; i < len(s); i++ {
		if escapeAt(s, i) {
			b = append(b, hexDigit[s[i+1]]<<4|hexDigit[s[i+2]])
			i += 2
			continue
		}
		b = append(b, s[i])
	}
	if !utf8.Valid(b) {
		return s
	}
	return string(b)
}

// escapeIn is where the first percent escape of a text begins; -1 if there is none.
func escapeIn(s string) int {
	for at := 0; ; at++ {
		i := strings.IndexByte(s[at:], '%')
		if i < 0 {
			return -1
		}
		if at += i; escapeAt(s, at) {
			return at
		}
	}
}

func escapeAt(s string, i int) bool {
	return s[i] == '%' && i+2 < len(s) && hexDigit[s[i+1]] < 16 && hexDigit[s[i+2]] < 16
}

// hexDigit is what each byte is as a digit; more than 15 if it is none.
var hexDigit = func() (t [256]byte) {
	for i := range t {
		switch c := byte(i); {
		case c >= '0' && c <= '9':
			t[i] = c - '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			t[i] = c | 0x20 - 'a' + 10
		default:
			t[i] = 0xff
		}
	}
	return t
}()

// below reports whether a cleaned path is dir or lies in it.
func below(p, dir string) bool {
	switch dir {
	case "/":
		return strings.HasPrefix(p, "/")
	case ".":
		return !strings.HasPrefix(p, "/") && p != ".." && !strings.HasPrefix(p, "../") && !driveLetter(p)
	}
	return p == dir || strings.HasPrefix(p, dir) && p[len(dir)] == '/'
}

func driveLetter(p string) bool {
	return len(p) > 1 && p[1] == ':' && (p[0]|0x20 >= 'a' && p[0]|0x20 <= 'z')
}

// pathUnder reports whether p surely lies in one of dirs, however it is read.
func pathUnder(p string, dirs []string) bool {
	all, certain := readings(p)
	if !certain || p == "" {
		return false
	}
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		dir = path.Clean(dir)
		if !slices.ContainsFunc(all, func(r string) bool { return !surelyBelow(r, dir) }) {
			return true
		}
	}
	return false
}

func surelyBelow(p, dir string) bool {
	if p == "" { // of a text of spaces, and no path at all
		return false
	}
	// A shell or a program would put something else in the place of these.
	if strings.IndexByte("~$%", p[0]) >= 0 && p[0] != dir[0] {
		return false
	}
	return below(p, dir)
}

// pathGlob reports whether p surely matches one of the globs, however it is read.
func pathGlob(p string, globs []string) bool {
	all, certain := readings(p)
	if !certain || p == "" {
		return false
	}
	for _, glob := range globs {
		if !slices.ContainsFunc(all, func(r string) bool { return !matchPath(glob, r) }) {
			return true
		}
	}
	return false
}

// home matches the start of a path that is some user's home directory, and
// elsewhere other names of the root directory.
var (
	home      = lazyregexp.New(`^(~[^/]*|\$home|\$\{home\}|%userprofile%|/root|/var/root|/home/[^/]+|/users/[^/]+|[a-z]:/users/[^/]+)(/|$)`)
	elsewhere = lazyregexp.New(`^(/private|/proc/[^/]+/root|/host|[a-z]:)(/|$)`)
)

// pathMayReach reports whether p could lie in one of dirs, however it is read.
// A dir that begins with ~ stands for every user's home directory. A relative
// path that climbs is taken to climb far enough.
func pathMayReach(p string, dirs []string) bool {
	if plainName(p) || !namesOne(p, dirs) {
		return false
	}
	return mayReach(p, dirs)
}

func mayReach(p string, dirs []string) bool {
	all, _ := readings(p)
	for i, r := range all {
		all[i] = strings.ToLower(r)
		if m := elsewhere.FindString(all[i]); m != "" {
			all = append(all, "/"+strings.TrimPrefix(all[i], m))
		}
	}
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		dir = strings.ToLower(path.Clean(dir))
		if slices.ContainsFunc(all, func(r string) bool { return reaches(r, dir) }) {
			return true
		}
	}
	return false
}

// namesOne reports whether the last name of one of dirs stands in a text, in whatever
// reading. Without it no reading lies in them: what cleaning and folding leave of a
// path are names that stood in it, but for one that climbs and then names nothing.
// Long texts, of which each may be a path, are looked through once instead of being
// cleaned in all their readings.
func namesOne(p string, dirs []string) bool {
	if escapeIn(p) >= 0 {
		return true // what the escapes stand for is not known yet
	}
	forms := []string{p}
	if !ascii(p) {
		forms = append(forms, norm.NFKC.String(p))
	}
	if slices.ContainsFunc(forms, mayClimb) {
		return true
	}
	rooted := func(dir string) bool { return dir == "" || dir[0] == '/' || dir[0] == '~' }
	if !slices.ContainsFunc(forms, mayBeRooted) && !slices.ContainsFunc(dirs, func(dir string) bool { return !rooted(dir) }) {
		return false
	}
	for i, form := range forms {
		forms[i] = strings.ToLower(form)
	}
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		name := strings.ToLower(strings.TrimLeft(path.Base(dir), "~"))
		if name == "" || name == "/" || name == "." || name == ".." || !ascii(name) {
			return true
		}
		for _, form := range forms {
			if strings.Contains(form, name) {
				return true
			}
		}
	}
	return false
}

// mayBeRooted reports whether a text that does not climb may be a path from the root, a
// drive, or somebody's home.
func mayBeRooted(s string) bool {
	s = strings.TrimSpace(s)
	s = strings.ToLower(s[:min(len(s), 16)]) // a letter of a drive may be some other in lower case
	return s != "" && (strings.IndexByte(`/\~$%.`, s[0]) >= 0 || len(s) > 1 && s[1] == ':' || strings.HasPrefix(s, "file:"))
}

// mayClimb reports whether ".." may be a name of its own in a text.
func mayClimb(s string) bool {
	apart := func(c byte) bool { return c <= ' ' || c == '/' || c == '\\' || c >= 0x7f || c == ':' }
	for at := 0; ; at++ {
		i := strings.Index(s[at:], "..")
		if i < 0 {
			return false
		}
		at += i
		if (at == 0 || apart(s[at-1])) && (at+2 == len(s) || apart(s[at+2])) {
			return true
		}
	}
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// plainName reports whether a text is surely nothing but a relative name: most
// texts are, and need no closer look.
func plainName(p string) bool {
	if p == "" {
		return true
	}
	switch p[0] {
	case '/', '~', '$', '.':
		return false
	}
	return p[0] > ' ' && !strings.HasSuffix(p, "..") && strings.IndexByte(p[:min(len(p), 5)], ':') < 0 &&
		strings.IndexByte(p, '%') < 0 && strings.IndexByte(p, '\\') < 0 && !strings.Contains(p, "../") &&
		// The first bytes of every character that looks like one of "./\~".
		strings.IndexByte(p, 0xef) < 0 && strings.IndexByte(p, 0xe2) < 0
}

func reaches(p, dir string) bool {
	climbs := p == ".." || strings.HasPrefix(p, "../")
	for strings.HasPrefix(p, "../") {
		p = p[3:]
	}
	if rest, ok := strings.CutPrefix(dir, "~"); ok {
		rest = strings.TrimPrefix(rest, "/")
		if m := home.FindString(p); m != "" {
			p = strings.TrimPrefix(p, m)
		} else if !climbs {
			return false
		}
		return rest == "" || below(p, rest)
	}
	if climbs {
		return p == ".." || below("/"+p, dir)
	}
	return below(p, dir)
}

// hostsOf returns the hosts of all URLs in a text, lower case and without
// port, each once. Where programs disagree about which host a URL has it
// returns all of them, and a host that it cannot read as it stands.
func hostsOf(text string) []string {
	if !strings.Contains(text, "//") && strings.IndexByte(text, '\\') < 0 {
		return nil
	}
	var hosts []string
	known := map[string]bool{}
	add := func(h string) {
		if h = normalHost(h); !known[h] {
			known[h] = true
			hosts = append(hosts, h)
		}
	}
	for i := 0; i+1 < len(text); {
		slashes := text[i] == '/' && text[i+1] == '/' && (i == 0 || strings.IndexByte(": \t\r\n\"'`(=<", text[i-1]) >= 0)
		// Browsers take backslashes for slashes.
		if !slashes && !(text[i] == ':' && text[i+1] == '\\') {
			i++
			continue
		}
		i++
		for i < len(text) && (text[i] == '/' || text[i] == '\\') {
			i++
		}
		end := strings.IndexFunc(text[i:], func(c rune) bool {
			return c <= ' ' || c == 0x7f || strings.ContainsRune("/?#\"'`<>{}|^)", c) || unicode.IsSpace(c)
		})
		if end < 0 {
			end = len(text) - i
		}
		authority := text[i : i+end]
		i += end
		if authority == "" {
			continue
		}
		if before, _, ok := strings.Cut(authority, `\`); ok {
			add(hostOf(before))
			authority = strings.ReplaceAll(authority, `\`, "")
		}
		add(hostOf(authority))
		if len(hosts) >= maxHosts {
			return append(hosts, "too-many-hosts.invalid")
		}
	}
	return hosts
}

// maxHosts bounds the hosts of one text; what is beyond shows as a host that
// is on nobody's list.
const maxHosts = 1000

// hostOf takes user and port off an authority.
func hostOf(authority string) string {
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		authority = authority[i+1:]
	}
	if strings.HasPrefix(authority, "[") {
		if i := strings.IndexByte(authority, ']'); i > 0 {
			return authority[1:i]
		}
		return authority
	}
	if i := strings.IndexByte(authority, ':'); i >= 0 {
		authority = authority[:i]
	}
	return authority
}

// normalHost gives a host one spelling: lower case, escapes and look-alike
// characters folded, no trailing dot, and any way to write an IP address
// (0x7f.1, 2130706433, ::ffff:127.0.0.1) as the plain one.
func normalHost(h string) string {
	h = strings.ToLower(norm.NFKC.String(unescape(h)))
	h = strings.ReplaceAll(h, "。", ".")
	h = strings.TrimRight(h, ",;!?.")
	if ip, err := netip.ParseAddr(h); err == nil {
		return ip.Unmap().WithZone("").String()
	}
	if ip, ok := oddIPv4(h); ok {
		return ip.String()
	}
	return h
}

// oddIPv4 reads the forms that inet_aton takes: one to four parts, each in
// decimal, octal or hexadecimal.
func oddIPv4(h string) (netip.Addr, bool) {
	parts := strings.Split(h, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var n uint64
	for i, part := range parts {
		v, err := strconv.ParseUint(part, 0, 33)
		if err != nil || strings.ContainsAny(part, "_bo") {
			return netip.Addr{}, false
		}
		if i < len(parts)-1 {
			if v > 255 {
				return netip.Addr{}, false
			}
			n |= v << (8 * (3 - i))
			continue
		}
		if v >= 1<<(8*(4-i)) {
			return netip.Addr{}, false
		}
		n |= v
	}
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}), true
}

// hostIn reports whether a host is one of a list's: a name, "*.name" for every
// host below it, an address, or a network such as 10.0.0.0/8.
func hostIn(host string, list []string) bool {
	host = normalHost(host)
	ip, err := netip.ParseAddr(host)
	for _, entry := range list {
		entry = strings.ToLower(strings.TrimSpace(entry))
		if err == nil {
			if network, e := netip.ParsePrefix(entry); e == nil {
				if network.Contains(ip) {
					return true
				}
				continue
			}
		}
		if suffix, ok := strings.CutPrefix(entry, "*."); ok {
			if err != nil && strings.HasSuffix(host, "."+suffix) {
				return true
			}
			continue
		}
		if host != "" && host == normalHost(entry) {
			return true
		}
	}
	return false
}
