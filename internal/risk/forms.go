package risk

import (
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
)

// What programs and formats write where a name and its value are not beside each
// other, or where only the program knows that a value is a secret: mysql -pVALUE,
// curl -u name:VALUE, the lines below a name in YAML, the part of a form.

// A form finds values in a text. It is looked for only where one of its hints
// stands, since most texts have none.
type form struct {
	hints []string // in small letters
	re    *lazyregexp.Regexp
	name  int // the group of a name that must tell; 0 where the form tells by itself
	value int // the group of the value
	tells Telling
}

// No repetition in them has a large bound: hostile text would make each byte cost as
// much. What begins with "[" is a mask.
var forms = []form{
	{hints: []string{"convertto-securestring"}, re: lazyregexp.New(`(?i)\bconvertto-securestring\s+(?:-string\s+)?["']?([^\s"'$\[-][^"'\n]*)`), value: 1, tells: APassword},
	// A name, and its value below it or in another member.
	{hints: []string{":\n", ":\r\n", "|\n", "|\r\n", ">\n", "-\n"}, re: lazyregexp.New(`(?m)^[ \t]*(?:- )?["']?([\w.-]+)["']?:[ \t]*(?:[|>][-+0-9]*)?[ \t]*\r?\n[ \t]+([^\s:#\[{-][^:\s{]+)\r?$`), name: 1, value: 2},
	{hints: []string{"value", "val:"}, re: lazyregexp.New(`(?i)\b(?:name|key)["']?\s*[:=]\s*["']?([\w.-]+)["']?[,;\s]+["']?(?:value|val)["']?\s*[:=]\s*["']?([^\s"',;<>\[{}|$][^\s"',;<>{}]*)`), name: 1, value: 2},
	{hints: []string{"form-data"}, re: lazyregexp.New(`(?i)\bname="([^"\n]+)"[^\n]*\n(?:[^\r\n]+\r?\n){0,4}\r?\n([^\r\n\[][^\r\n]*)`), name: 1, value: 2},
	{hints: []string{"machine "}, re: lazyregexp.New(`\blogin\s+\S+\s+password\s+([^\s\[]\S*)`), value: 1, tells: APassword},
	// In addresses.
	{hints: []string{"sig=", "signature="}, re: lazyregexp.New(`(?i)[?&](?:sig|signature|x-amz-signature|x-goog-signature)=([^\s&"'<>\[]{8,}[^\s&"'<>]*)`), value: 1, tells: AToken},
	{hints: []string{"%3d"}, re: lazyregexp.New(`(?i)([a-z][\w.-]*)%3d([^\s&%"'<>\[]{3}[^\s&%"'<>]*)`), name: 1, value: 2},
}

// programs are those that take a secret by a flag that does not say so.
var programs = map[string]struct {
	after    string   // a word that must stand between; empty for none
	flags    []string // the value is the next word, or stands behind "="
	attached string   // a flag that the value follows at once
	colon    bool     // only what follows a colon in the value
}{
	"mysql": {attached: "-p"}, "mysqldump": {attached: "-p"}, "mysqladmin": {attached: "-p"}, "mysqlimport": {attached: "-p"},
	"mariadb": {attached: "-p"}, "mariadb-dump": {attached: "-p"}, "mariadb-admin": {attached: "-p"},
	"curl":      {flags: []string{"-u", "--user", "-U", "--proxy-user"}, colon: true},
	"sshpass":   {flags: []string{"-p"}, attached: "-p"},
	"redis-cli": {flags: []string{"-a"}},
	"openssl":   {flags: []string{"-k"}, attached: "pass:"},
	"docker":    {after: "login", flags: []string{"-p"}}, "podman": {after: "login", flags: []string{"-p"}}, "nerdctl": {after: "login", flags: []string{"-p"}},
	"helm": {after: "login", flags: []string{"-p"}}, "oras": {after: "login", flags: []string{"-p"}}, "az": {after: "login", flags: []string{"-p"}},
	"oc": {after: "login", flags: []string{"-p"}},
}

// Formed appends what the forms find in a text. The findings can overlap others.
func Formed(text string, dst []Finding) []Finding {
	if !MayTell(text) {
		return dst
	}
	dst = beside(text, commanded(text, dst))
	low := strings.ToLower(text)
	for i := range forms {
		f := &forms[i]
		if !anyIn(low, f.hints) {
			continue
		}
		for _, m := range f.re.FindAllStringSubmatchIndex(text, maxFormed) {
			tells := f.tells
			if f.name > 0 {
				tells = Tells(text[m[2*f.name]:m[2*f.name+1]])
			}
			if tells != Nothing {
				dst = formedValue(text, tells, m[2*f.value], m[2*f.value+1], dst)
			}
		}
	}
	return dst
}

func formedValue(text string, t Telling, start, end int, dst []Finding) []Finding {
	value := text[start:end]
	if !secretText(t, value) {
		return dst
	}
	if strings.Trim(value, "0123456789.") == "" && t != APassword {
		if _, ok := NamedNumber(t, value); !ok {
			return dst
		}
	}
	return append(dst, t.finding(start, end))
}

// maxFormed is how many values of one form are looked for in a text.
const maxFormed = 1000

func anyIn(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// argument is a word of a command: where it stands, without its quotes.
type argument struct{ start, end int }

// commanded appends what commands in a text give to programs. A command is what
// stands between line ends and the signs ; | & of a shell.
func commanded(text string, dst []Finding) []Finding {
	if !anyIn(text, []string{"mysql", "mariadb", "curl ", "sshpass", "redis-cli", "openssl", " login ", "chpasswd", "sudo "}) {
		return dst
	}
	var command, before []argument // the words of this command, and of the one that is piped into it
	end := func(sign byte) {
		dst = ofCommand(text, command, before, dst)
		if sign == '|' {
			command, before = before[:0], command
		} else {
			command, before = command[:0], before[:0]
		}
	}
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '\n' || c == ';' || c == '|' || c == '&':
			end(c)
			i++
		case c <= ' ':
			i++
		case c == '\'' || c == '"':
			n := strings.IndexAny(text[i+1:], string(c)+"\n")
			if n < 0 {
				n = len(text) - i - 1
			}
			command = append(command, argument{i + 1, i + 1 + n})
			i = min(len(text), i+n+2)
		default:
			start := i
			for i < len(text) && text[i] > ' ' && strings.IndexByte("\n;|&'\"", text[i]) < 0 {
				i++
			}
			if i < len(text) && (text[i] == '\'' || text[i] == '"') && (text[i-1] == '=' || i-start == 2) { // -p'a b', --user='a:b'
				if n := strings.IndexAny(text[i+1:], text[i:i+1]+"\n"); n >= 0 {
					i += n + 2
				}
			}
			command = append(command, argument{start, i})
		}
	}
	end('\n')
	return dst
}

// ofCommand appends what one command gives to its program.
func ofCommand(text string, command, before []argument, dst []Finding) []Finding {
	add := func(w argument, skip int, colon bool) {
		w.start += skip
		if w.end-w.start >= 2 && (text[w.start] == '\'' || text[w.start] == '"') && text[w.end-1] == text[w.start] {
			w.start, w.end = w.start+1, w.end-1
		}
		if colon {
			n := strings.IndexByte(text[w.start:w.end], ':')
			if n < 0 {
				return
			}
			w.start += n + 1
		}
		if value := text[w.start:w.end]; value != "" && value[0] != '$' && value[0] != '[' && value[0] != '-' && !strings.HasSuffix(value, strings.TrimSpace(removed)) {
			dst = formedValue(text, APassword, w.start, w.end, dst)
		}
	}
	for at, w := range command {
		name := text[w.start:w.end]
		name = name[strings.LastIndexByte(name, '/')+1:]
		rest := command[at+1:]
		switch name {
		case "chpasswd":
			for _, w := range before {
				add(w, 0, true)
			}
			return dst
		case "sudo":
			if len(rest) > 0 && (strings.HasPrefix(text[rest[0].start:rest[0].end], "-S") || text[rest[0].start:rest[0].end] == "--stdin") && len(before) > 1 {
				add(before[len(before)-1], 0, false)
			}
			continue
		}
		p, known := programs[name]
		if !known {
			continue
		}
		seen := p.after == ""
		for i, w := range rest {
			word := text[w.start:w.end]
			seen = seen || word == p.after
			if !seen {
				continue
			}
			if p.attached != "" && strings.HasPrefix(word, p.attached) && len(word) > len(p.attached) {
				add(w, len(p.attached), p.colon)
				continue
			}
			for _, flag := range p.flags {
				switch {
				case word == flag && i+1 < len(rest):
					add(rest[i+1], 0, p.colon)
				case strings.HasPrefix(word, flag+"="):
					add(w, len(flag)+1, p.colon)
				}
			}
		}
		return dst
	}
	return dst
}
