package hazard

import (
	"strconv"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
)

// What a place of secrets holds is masked where it is shown: by the names before the values and by the
// form that they have. Of a text whose letters were moved, parted or replaced none of that is left, so
// who reads such a place through a program that does so has read it past the mask. What leaves the names
// alone, counts, sorts or chooses lines does none of it.

// inOtherForm says of what lies in files, and a place of secrets holds, that it is in another form now.
func inOtherForm(of taint) taint {
	if of&fromPlace != 0 || of&fromSecret != 0 && of&fromFile != 0 {
		return recoded
	}
	return 0
}

// valuesAlone says it of all that such a place holds, of which only the values are left.
func valuesAlone(of taint) taint {
	if of&fromPlace != 0 {
		return recoded
	}
	return 0
}

// recoders are programs whose every output is another form of what they are given.
var recoders = set("rot13 caesar qrencode figlet toilet banner ascii85 base91 base58 base62 base36 bech32 uuencode mimencode qprint morse cw enca recode iconv crypt ccrypt mcrypt pigz lz4 brotli lzma lzop")

// recodes reports whether what comes out of a program that reads texts is another form of them.
func (c *invocation) recodes() bool {
	switch {
	case recoders[c.name]:
		return c.name != "iconv" || !plainText(c.optionValues("-t --to-code"))
	case c.name == "fold", c.name == "fmt":
		return narrow(append(c.optionValues("-w --width"), c.firstNumber()))
	case c.name == "dd":
		return strings.Contains(c.joined(c.args).text, "conv=") && ddRecodes.MatchString(c.joined(c.args).text)
	}
	return false
}

var ddRecodes = lazyregexp.New(`conv=\S*(?:swab|ebcdic|ibm)`)

// plainText reports whether sets of characters are ones in which letters are what they are in ASCII.
func plainText(names []string) bool {
	for _, name := range names {
		if low := strings.ToLower(name); !strings.HasPrefix(low, "utf-8") && !strings.HasPrefix(low, "utf8") && !strings.HasPrefix(low, "ascii") && !strings.HasPrefix(low, "us-ascii") && !strings.HasPrefix(low, "iso-8859") && !strings.HasPrefix(low, "latin") {
			return false
		}
	}
	return true
}

// firstNumber is the number of an option that is nothing else: fold -1.
func (c *invocation) firstNumber() string {
	for _, a := range c.args {
		if number := strings.TrimPrefix(a.text, "-"); number != a.text && isDigits(number) {
			return number
		}
	}
	return ""
}

// narrow reports whether lines are cut so short that no value stands in one of them.
func narrow(widths []string) bool {
	for _, width := range widths {
		if n, err := strconv.Atoi(width); err == nil && n < 24 {
			return true
		}
	}
	return false
}

// trRecodes reports whether tr changes letters, digits or the sign before a value: to other case, and
// what is no letter, it may.
func trRecodes(options map[string]flow, sets []flow) bool {
	if has(options, "-s", "--squeeze-repeats") && len(sets) == 1 || len(sets) == 0 {
		return false
	}
	of := func(set string) string {
		switch set {
		case "a-z", "[a-z]", "[:lower:]", "A-Z", "[A-Z]", "[:upper:]":
			return "case"
		}
		return set
	}
	first := of(sets[0].text)
	complement := has(options, "-c", "-C", "--complement")
	if len(sets) > 1 && first == "case" && of(sets[1].text) == "case" {
		return false
	}
	letters := first == "case" || first == "" || strings.ContainsFunc(standsFor(first), func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '='
	})
	if complement { // what is kept are the letters
		return !letters
	}
	return letters
}

// standsFor is what a set of tr stands for, with a class as one of its characters.
func standsFor(set string) string {
	for _, class := range []string{"[:alpha:]", "[:alnum:]", "[:digit:]", "[:graph:]", "[:print:]", "[:xdigit:]", "[:lower:]", "[:upper:]"} {
		set = strings.ReplaceAll(set, class, "a")
	}
	for _, class := range []string{"[:space:]", "[:blank:]", "[:punct:]", "[:cntrl:]"} {
		set = strings.ReplaceAll(set, class, " ")
	}
	return string(ranges(set))
}

var (
	// anyLetter is in a pattern that is true of whatever letter there is.
	anyLetter = lazyregexp.New(`\.|\[[^\]]*(?:a-|A-|0-|\^|[[:alpha:]])|\\[wS]`)
	backRefs  = lazyregexp.New(`&|\\[0-9]`)
)

// sedRecodes reports whether a script of sed moves, parts or replaces letters, and valuesOnly whether it
// leaves of NAME=value what stands behind the sign.
func sedRecodes(script string) (recodes, valuesOnly bool) {
	for order := range strings.FieldsFuncSeq(script, func(r rune) bool { return r == ';' || r == '\n' }) {
		order = strings.TrimLeft(strings.TrimSpace(order), "0123456789,$! ")
		if len(order) < 4 || order[0] != 's' && order[0] != 'y' {
			continue
		}
		parts := strings.Split(strings.ReplaceAll(order[2:], `\`+order[1:2], "\x00"), order[1:2])
		if len(parts) < 2 {
			continue
		}
		pattern, with, flags := parts[0], parts[1], ""
		if len(parts) > 2 {
			flags = parts[2]
		}
		refs := len(backRefs.FindAllString(with, -1))
		switch {
		case order[0] == 'y':
			recodes = recodes || trRecodes(nil, []flow{{text: pattern}, {text: with}})
		case strings.Contains(pattern, "="):
			valuesOnly = valuesOnly || with == "" && strings.HasSuffix(strings.TrimRight(pattern, " "), "=") && anyLetter.MatchString(pattern)
		case anyLetter.MatchString(pattern) && refs > 0:
			recodes = recodes || refs > 1 || strings.ContainsAny(flags, "g0123456789")
		}
	}
	return recodes, valuesOnly
}

// grepParts reports whether grep -o shows parts of lines that are no names before a sign.
func grepParts(options map[string]flow, pattern string) bool {
	if !has(options, "-o", "--only-matching") {
		return false
	}
	pattern = strings.Trim(pattern, "'\"")
	if strings.Contains(pattern, "=") && !strings.HasSuffix(strings.TrimRight(pattern, ")"), "=") {
		return !strings.Contains(pattern, "[^=") || strings.Contains(pattern, `\K`) || strings.Contains(pattern, "(?<=")
	}
	return !strings.HasPrefix(pattern, "^")
}

var (
	// codeRecodes is code, of whatever language, that gives a text another form.
	codeRecodes = lazyregexp.New(`\[::-1\]|\brevers(?:e|ed)\b|\bstrrev\b|\bhex\b|hexlify|bin2hex|\bunpack\b|\bpack\s*\(|binascii|\bb(?:64|32|85|16)|base64|base32|\ba85|\bcodecs\b|rot_?13|\bord\b|\bchr\b|char_?[cC]ode|codePoint|fromChar|\bbtoa\b|translate\(|maketrans|\b(?:tr|y)/|zlib|gzip|deflate|\bxor\b|` +
		`\.split\s*\((?:''|""|//)\)|\.chars\b|each_char|each_byte|\.bytes\b|list\s*\(\s*open|\.join\s*\(\s*(?:open|\w+\.read)|s/\(?[.]\)?/|%0?2?x|\bord\(`)
	// awkRecodes is the same of awk, which has few words for it.
	awkRecodes = lazyregexp.New(`\bg?sub\s*\(\s*/[.\[]|\bsplit\s*\([^,]*,[^,]*,\s*(?:""|//)|%c|%x|FS\s*=\s*""`)
	awkParts   = lazyregexp.New(`\bsubstr\s*\(`)
	// awkValues leaves of NAME=value the value.
	awkValues = lazyregexp.New(`\{\s*print \$(?:2|NF)\s*;?\s*\}`)
	// jqRecodes are the formats of jq by which a text becomes another one.
	jqRecodes = lazyregexp.New(`@(?:base64|base32|uri|hex|base58)\b|explode|\breverse\b|split\(""\)|\[\s*scan\(`)
)

// recodedBy is what code makes of what it has read in a place of secrets, and prints.
func (c *invocation) recodedBy(i interpreter, code string, out taint) taint {
	if i.shell || len(code) > 16<<10 {
		return 0
	}
	if i.language != "awk" {
		if codeRecodes.MatchString(code) {
			return inOtherForm(out)
		}
		return 0
	}
	emptyMark := false
	for k, a := range c.args {
		emptyMark = emptyMark || a.text == "-F" && k+1 < len(c.args) && c.args[k+1].text == ""
	}
	switch {
	case emptyMark || awkRecodes.MatchString(code), awkParts.MatchString(code) && !strings.Contains(code, "index("):
		return inOtherForm(out)
	case awkValues.MatchString(code) && strings.Contains(c.joined(c.args).text, "="):
		return valuesAlone(out)
	}
	return 0
}
