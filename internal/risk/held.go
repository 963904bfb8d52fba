package risk

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// Bounds of what is read in a file of secrets, and of the forms in which a text is compared with it.
const (
	maxHeldLines = 4096
	maxHeldLine  = 4096 // bytes
	maxHeld      = 256  // values, and as many hosts
	maxRuns      = 64   // runs of one text that are decoded
	minRun       = 11   // bytes of one: of eight that are encoded
	maxSpelled   = 128 << 10
	// MinHeld is how many letters and digits a value has at least: shorter ones are found everywhere.
	MinHeld = 8
)

// Held are the values that look like secrets in the lines of a file that is there for secrets, and the
// hosts that they are for: NAME=value, name: value, members of JSON, the words of a netrc, the last field
// of a pgpass, the login of an address, and a token that is a line by itself. Under a name that tells of a
// secret any value counts that is no usual word; under another one what looks drawn at random. What
// stands between the lines of a PEM block is left to those who know private keys.
func Held(text string) (values, hosts []string) {
	armoured, lines := false, 0
	for line := range strings.Lines(text) {
		if lines++; lines > maxHeldLines || len(values) >= maxHeld || len(hosts) >= maxHeld {
			break
		}
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "-----BEGIN"):
			armoured = !strings.Contains(line, "-----END")
			continue
		case strings.HasPrefix(line, "-----END"):
			armoured = false
			continue
		}
		if armoured || line == "" || len(line) > maxHeldLine {
			continue
		}
		h := held{&values, &hosts}
		h.line(strings.TrimLeft(line, "#;-{[ \t"))
	}
	return values, hosts
}

// held gathers what lines hold.
type held struct{ values, hosts *[]string }

func (h held) line(line string) {
	line = strings.TrimPrefix(line, "export ")
	words := strings.Fields(line)
	for i, w := range words { // machine api.example login me password x
		if i+1 < len(words) && isOneOf(w, "password passwd token secret account") {
			h.value("password", words[i+1])
		}
		if i+1 < len(words) && isOneOf(w, "machine host hostname server") {
			h.host(words[i+1])
		}
	}
	if fields := strings.Split(line, ":"); len(words) == 1 && len(fields) == 5 && !strings.Contains(line, "//") {
		h.host(fields[0])
		h.value("password", fields[4])
		return
	}
	if strings.HasPrefix(line, `"`) && strings.Count(line, `"`) > 4 { // members of JSON in one line
		for member := range strings.FieldsFuncSeq(line, func(r rune) bool { return r == ',' || r == '{' }) {
			if name, value, ok := cutAssignment(member); ok {
				h.value(name, value)
			}
		}
		return
	}
	if name, value, ok := cutAssignment(line); ok {
		h.value(name, value)
	} else if len(words) == 1 {
		h.value("", line)
	}
}

func isOneOf(word, list string) bool {
	return len(word) > 2 && strings.Contains(" "+list+" ", " "+strings.ToLower(word)+" ")
}

// cutAssignment parts a line at the sign behind its first word.
func cutAssignment(line string) (name, value string, ok bool) {
	i := strings.IndexAny(line, "=:")
	if i <= 0 || strings.HasPrefix(line[i:], "://") {
		return "", "", false
	}
	name = strings.Trim(line[:i], " \t\"'`{[(")
	if name == "" || len(name) > longestName || strings.ContainsAny(name, " \t") {
		return "", "", false
	}
	return name, line[i+1:], true
}

// plainNames are last words of names whose values say where, who and which, and are told to others.
const plainNames = "id ids host hostname port region zone env environment version name user username login email path dir file folder level mode bucket image tag branch sha commit date time locale timezone tz arn url uri endpoint domain model package release build"

func (h held) value(name, v string) {
	v = strings.Trim(strings.TrimSpace(v), ",;}]) \t")
	if q := v; len(q) > 1 && (q[0] == '"' || q[0] == '\'') {
		if end := strings.IndexByte(q[1:], q[0]); end >= 0 {
			v = q[1 : 1+end]
		}
	} else if comment := strings.Index(v, " #"); comment >= 0 {
		v = strings.TrimSpace(v[:comment])
	}
	for _, scheme := range []string{"Bearer ", "bearer ", "Basic ", "basic ", "token "} {
		v = strings.TrimPrefix(v, scheme)
	}
	if strings.Contains(v, "://") {
		h.address(v)
		return
	}
	if parts := nameWords(name); len(parts) > 0 && isOneOf(parts[len(parts)-1], "host hostname server domain endpoint") {
		h.host(v)
		return
	}
	if token := strings.Split(v, "."); len(token) == 3 && strings.HasPrefix(v, "eyJ") { // what many tokens begin with tells nothing
		v = token[2]
	}
	if secretOf(name, v) {
		h.add(v)
	}
}

func (h held) add(v string) {
	if len(*h.values) < maxHeld {
		*h.values = append(*h.values, v)
	}
}

// host notes the host that stands for a service of one's own.
func (h held) host(name string) {
	name, _, _ = strings.Cut(strings.Trim(strings.ToLower(strings.TrimSpace(name)), `"'`), ":")
	if name != "" && len(name) < 256 && len(*h.hosts) < maxHeld && strings.Contains(name, ".") && !strings.ContainsAny(name, " /${}*") {
		*h.hosts = append(*h.hosts, name)
	}
}

// address reads an address: its host is one's own, its login is a secret, and so is a part that looks
// drawn at random, such as of a web hook.
func (h held) address(v string) {
	_, rest, _ := strings.Cut(v, "://")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, behind := rest[:end], rest[end:]
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		if _, password, ok := strings.Cut(authority[:at], ":"); ok && secretOf("password", password) {
			h.add(password)
		} else if !ok && secretOf("", authority[:at]) {
			h.add(authority[:at])
		}
		authority = authority[at+1:]
	}
	for host := range strings.SplitSeq(authority, ",") {
		h.host(host)
	}
	for part := range strings.FieldsFuncSeq(behind, func(r rune) bool { return strings.ContainsRune("/?&=#", r) }) {
		if len(part) >= 16 && secretOf("", part) {
			h.add(part)
		}
	}
}

// secretOf reports whether a value in a file of secrets is one.
func secretOf(name, v string) bool {
	squeezed := len(Squeeze(v))
	if squeezed < MinHeld || len(v) > 2048 || noSecrets[strings.ToLower(v)] || refers(v) || strings.HasPrefix(v, "[") && strings.HasSuffix(v, removed) || strings.ContainsAny(v, "…") || strings.Contains(v, "${") {
		return false
	}
	low := strings.ToLower(v)
	for _, w := range standIns {
		if strings.Contains(low, w) && substance(v, MinHeld) < MinHeld {
			return false
		}
	}
	parts := nameWords(name)
	for _, w := range parts {
		if isOneOf(w, "public publishable") {
			return false
		}
	}
	if t := Tells(name); t != Nothing {
		letters := squeezed - digitsIn(v)
		return !common(v) && strings.Trim(low, "0123456789.") != "" && (digitsIn(v) > 0 || letters >= 12 || v != low && v != strings.ToUpper(v))
	}
	if len(parts) > 0 && isOneOf(parts[len(parts)-1], plainNames) || len(parts) > 0 && strings.ContainsAny(v, " @") || isUUID(v) || strings.Contains(v, "sha256:") {
		return false
	}
	return squeezed >= 10 && !wordy(v) && !isPath(v) && machineMade(v) && entropy(v[:min(len(v), 128)]) >= 2.8
}

// isUUID reports whether v is 8-4-4-4-12 digits of base 16: the name of something.
func isUUID(v string) bool {
	if len(v) != 36 {
		return false
	}
	for i := range len(v) {
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (v[i] == '-') || !dash && !strings.ContainsRune("0123456789abcdefABCDEF", rune(v[i])) {
			return false
		}
	}
	return true
}

// Squeeze is a text's letters and digits alone, small: what is left of a value however quotes, signs and
// lines are put between its parts.
func Squeeze(text string) string {
	b := make([]byte, 0, len(text))
	for i := range len(text) {
		switch c := text[i]; {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			b = append(b, c)
		case c >= 'A' && c <= 'Z':
			b = append(b, c|0x20)
		}
	}
	return string(b)
}

// Pieces are the parts by which a value is known, squeezed. Who sends one of them has sent what the rest
// can be guessed from, or sends the rest by another call.
func Pieces(value string) (parts []string) {
	const least = 12
	squeezed := Squeeze(value)
	if len(squeezed) < 2*least {
		return []string{squeezed}
	}
	for n := len(squeezed) / least; n > 0; n-- {
		size := len(squeezed) / n
		parts, squeezed = append(parts, squeezed[:size]), squeezed[size:]
	}
	return parts
}

// Spellings are the texts, squeezed, that a text may stand for: itself, forwards and backwards, without its
// escapes, and what runs of base64 and base 16 in it decode to, twice.
func Spellings(text string) (all []string) {
	text = text[:min(len(text), maxSpelled)]
	left := 4 * maxSpelled
	add := func(t string) {
		if s := Squeeze(t); len(s) >= MinHeld && len(s) <= left {
			left -= len(s)
			all = append(all, s)
		}
	}
	plain := []string{text}
	if strings.ContainsAny(text, `%&\`) {
		plain = append(plain, Unescaped(text))
	}
	for _, t := range plain {
		add(t)
		add(backwards(t))
	}
	runs := 0
	for round := 0; round < 2 && len(plain) > 0; round++ {
		var decoded []string
		for _, t := range plain {
			for run := range strings.FieldsFuncSeq(t, func(r rune) bool { return r >= 0x80 || !isAlnum(byte(r)) && !strings.ContainsRune("+/_-", r) }) {
				if len(run) < minRun {
					continue
				}
				if runs++; runs > maxRuns {
					return all
				}
				decoded = append(decoded, decodedRun(run)...)
			}
		}
		for _, t := range decoded {
			add(t)
		}
		plain = decoded
	}
	return all
}

// decodedRun is what a run stands for in base64, in either alphabet, and in base 16.
func decodedRun(run string) (out []string) {
	if b, err := hex.DecodeString(run); err == nil {
		out = append(out, string(b))
	}
	for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		if len(run)%4 == 1 { // no whole bytes: a letter before or behind stands beside it
			run = run[:len(run)-1]
		}
		if b, err := e.DecodeString(run); err == nil {
			out = append(out, string(b))
			break
		}
	}
	return out
}
