package effects

import (
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	byteorder "encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"math/big"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"reeve.example/reeve/internal/lazyregexp"
)

// What is made of texts that stand in the code is computed, so that no way of writing a value
// hides it. There are more ways than any reader knows: what is made of the code's own texts by
// one that is not known is obscure. That is no matter where it is shown; where it says what is
// run, deleted or written, nobody wrote it so without a reason.

// obscure stands in the code, in a form that is not read.
var obscure = &value{parts: []part{{kind: hidden}}}

// hides reports whether a value, or a part of it, is obscure.
func (v *value) hides() bool {
	return v != nil && (slices.ContainsFunc(v.parts, func(p part) bool { return p.kind == hidden }) || len(v.items) <= 32 && slices.ContainsFunc(v.items, func(i *value) bool {
		return slices.ContainsFunc(i.parts, func(p part) bool { return p.kind == hidden })
	}))
}

// own reports whether all of a value stands in the code.
func (v *value) own() bool { return v.ownTo(4) }

func (v *value) ownTo(depth int) bool {
	if v == nil || depth == 0 || v.what != "" || v.f != nil {
		return false
	}
	if v.items != nil {
		return len(v.items) > 0 && !slices.ContainsFunc(v.items[:min(len(v.items), 64)], func(i *value) bool { return !i.ownTo(depth - 1) })
	}
	return len(v.parts) > 0 && !slices.ContainsFunc(v.parts, func(p part) bool { return p.kind != said && p.kind != hidden })
}

// plain reports whether a value is a text that is known, and no number.
func (v *value) plain() bool {
	_, ok := v.known()
	return ok && v.of != "number"
}

func count(n int64) *value { return &value{of: "number", parts: []part{{said, decimal(n)}}} }

func octetsOf(b []byte) *value {
	if len(b) > maxText {
		return obscure
	}
	return &value{of: "bytes", parts: []part{{said, string(b)}}}
}

func listOf(items []*value) *value {
	if items == nil {
		items = []*value{}
	}
	return &value{of: "list", items: items}
}

// textsOf is a list of texts.
func textsOf(list []string) *value {
	all := make([]*value, 0, min(len(list), maxItems))
	for _, s := range list[:min(len(list), maxItems)] {
		all = append(all, text(s))
	}
	return listOf(all)
}

// each is what a loop over a value goes through. What is taken apart counts as steps.
func (w *walker) each(v *value) []*value {
	if w.steps > maxSteps {
		return nil
	}
	if line, ok := v.where.known(); ok && v.of == "socket" { // what comes, line by line
		return []*value{gives(line)}
	}
	all := each(v)
	if v.items == nil {
		w.steps += len(all) / 4
	}
	return all
}

func each(v *value) []*value {
	if len(v.names) > 0 && len(v.names) >= len(v.items) {
		return textsOf(v.names).items
	}
	if v.items != nil {
		return v.items
	}
	s, ok := v.known()
	if !ok || v.of == "number" || v.of == "file" || v.of == "path" {
		return []*value{{parts: v.parts, of: each1(v.of)}}
	}
	var all []*value
	if v.of == "bytes" {
		for i := range min(len(s), maxItems) {
			all = append(all, count(int64(s[i])))
		}
		return all
	}
	for _, r := range s {
		if len(all) == maxItems {
			break
		}
		all = append(all, text(string(r)))
	}
	return all
}

// each1 is what sort of object is in one of a sort, of which nothing else is known.
func each1(of string) string {
	if of == "processes" {
		return "process"
	}
	return ""
}

// put gives an object, or a list, a value under a key.
func (v *value) put(key string, item *value) {
	if v.items == nil {
		return
	}
	if i := slices.Index(v.names, key); i >= 0 && i < len(v.items) {
		v.items[i] = item
		return
	}
	if n, is := integer(key); is && len(v.names) == 0 && len(v.items) > 0 {
		if n >= 0 && int(n) < len(v.items) {
			v.items[n] = item
		}
		return
	}
	if len(v.names) == len(v.items) && len(v.items) < maxItems {
		v.names, v.items = append(slices.Clip(v.names), key), append(slices.Clip(v.items), item)
	}
}

// computed is what stands on both sides of a sign between numbers.
func computed(sign, x, y string) (n int64, ok bool) {
	a, first := integer(x)
	b, second := integer(y)
	if !first || !second {
		return 0, false
	}
	switch sign {
	case "+":
		return a + b, true
	case "-":
		return a - b, true
	case "*":
		return a * b, true
	case "^":
		return a ^ b, true
	case "&":
		return a & b, true
	case "|":
		return a | b, true
	case "<<":
		return a << uint(min(max(b, 0), 63)), true
	case ">>", ">>>":
		return a >> uint(min(max(b, 0), 63)), true
	case "//", "/":
		if b == 0 || sign == "/" && a%b != 0 {
			return 0, false
		}
		return (a - (a%b+b)%b) / b, true
	case "%":
		if b == 0 {
			return 0, false
		}
		return (a%b + b) % b, true
	case "**":
		n = 1
		for range min(max(b, 0), 63) {
			n *= a
		}
		return n, b >= 0 && b < 63
	}
	return 0, false
}

// slice is of[lo:hi:step].
func (w *walker) slice(of, lo, hi, step *value) *value {
	if of.of == "file" || of.of == "path" || of.of == "visit" || of.of == "words" && of.items == nil {
		return of
	}
	if _, known := of.known(); !known && of.items == nil {
		return &value{parts: of.parts}
	}
	all := w.each(of)
	number := func(v *value, otherwise int) (int, bool) {
		s, ok := v.known()
		if !ok {
			return otherwise, len(v.parts) == 0
		}
		n, is := integer(s)
		return int(max(min(n, 1<<20), -1<<20)), is
	}
	by, ok := number(step, 1)
	begin, end := 0, len(all)
	if by < 0 {
		begin, end = len(all)-1, -1-len(all)
	}
	from, first := number(lo, begin)
	to, second := number(hi, end)
	if !ok || !first || !second || by == 0 {
		if of.own() {
			return obscure
		}
		return &value{parts: of.parts}
	}
	if from < 0 {
		from += len(all)
	}
	if to < 0 {
		to += len(all)
	}
	var taken []*value
	for i := from; (by > 0 && i < to || by < 0 && i > to) && len(taken) < maxItems; i += by {
		if i >= 0 && i < len(all) {
			taken = append(taken, all[i])
		}
		if i < -maxItems || i > len(all)+maxItems {
			break
		}
	}
	return likewise(of, taken)
}

// likewise is a list, a text or bytes, as of is, of what was taken of it.
func likewise(of *value, taken []*value) *value {
	switch {
	case of.items != nil:
		return listOf(taken)
	case of.of == "bytes":
		return bytesOf(taken)
	case len(taken) == 0:
		return text("")
	}
	return join(taken...)
}

// bytesOf are numbers as bytes.
func bytesOf(list []*value) *value {
	var b []byte
	for _, v := range list[:min(len(list), maxText)] {
		t, ok := v.known()
		n, is := integer(t)
		if !ok || !is {
			if v.hides() {
				return obscure
			}
			return nothing
		}
		b = append(b, byte(n))
	}
	return octetsOf(b)
}

// fill is a text with values in the places that begin with a mark. place reads what stands
// behind the mark: the value, and what follows; not ok where no place begins there.
func fill(in *value, mark string, place func(behind string) (v *value, rest string, ok bool)) *value {
	var all []*value
	for _, p := range in.parts {
		rest := p.text
		if p.kind != said {
			all = append(all, &value{parts: []part{p}})
			continue
		}
		for len(all) < 2*maxParts {
			before, behind, found := strings.Cut(rest, mark)
			if mark == "{" {
				before = strings.ReplaceAll(before, "}}", "}")
			}
			if all = append(all, text(before)); !found {
				break
			}
			v, after, ok := place(behind)
			if !ok {
				break
			}
			all, rest = append(all, v), after
		}
	}
	return join(all...)
}

// percent fills values into a text, as % does.
func percent(in, with *value) *value {
	values := with.items
	if values == nil {
		values = []*value{with}
	}
	next := 0
	return fill(in, "%", func(behind string) (*value, string, bool) {
		if rest, is := strings.CutPrefix(behind, "%"); is {
			return text("%"), rest, true
		}
		v := nothing
		if name, after, ok := strings.Cut(strings.TrimPrefix(behind, "("), ")"); ok && behind[0] == '(' {
			v, behind = with.member(name), after
		} else if next < len(values) && behind != "" {
			v = values[next]
			next++
		}
		end := strings.IndexFunc(behind, unicode.IsLetter)
		if end < 0 {
			return nil, "", false
		}
		return formatted(v, behind[:end+1]), behind[end+1:], true
	})
}

// formatted is a value as a text in the form that a letter says, with what else stands before it.
func formatted(v *value, spec string) *value {
	s, known := v.known()
	switch {
	case !known && !v.hides():
		return &value{parts: v.parts}
	case !known:
		return obscure
	}
	letter := strings.TrimLeft(spec, "0123456789.<>^+- ")
	n, is := integer(s)
	switch {
	case (letter == "s" || letter == "r" || letter == "a" || letter == "") && !strings.Contains(spec, "."):
		return text(s)
	case letter == "d" && is, letter == "i" && is:
		return text(decimal(n))
	case letter == "c" && is:
		return characters([]*value{v})
	case letter == "c":
		return text(s)
	case letter == "x" && is:
		return text(big.NewInt(n).Text(16))
	}
	return obscure
}

// filled fills values into a text, as Python's format does.
func filled(in *value, a arguments) *value {
	next := 0
	return fill(in, "{", func(behind string) (*value, string, bool) {
		if rest, is := strings.CutPrefix(behind, "{"); is {
			return text("{"), rest, true
		}
		field, rest, closed := strings.Cut(behind, "}")
		if !closed {
			return nil, "", false
		}
		field, spec, _ := strings.Cut(field, ":")
		field, _, _ = strings.Cut(field, "!")
		var v *value
		index, is := integer(field)
		switch {
		case field == "":
			v = a.is(next)
			next++
		case is:
			v = a.is(int(index))
		case a.named[field] != nil:
			v = a.named[field]
		default: // {0.name}, {a[0]}
			v = nothing
			if slices.ContainsFunc(a.at, (*value).own) && strings.ContainsAny(field, ".[") {
				v = obscure
			}
		}
		return formatted(v, spec), rest, true
	})
}

// decoded is what a text stands for, in base 64 or in hexadecimal digits.
func decoded(v *value, how string) *value {
	s, ok := v.known()
	if !ok {
		switch {
		case v.hides():
			return obscure
		case !v.some():
			return nothing
		case how == "hex":
			return gives("printf %s " + v.word() + " | xxd -r -p")
		}
		return gives("printf %s " + v.word() + " | base64 -d")
	}
	s = strings.Join(strings.Fields(s), "")
	var b []byte
	var err error
	if how == "hex" {
		b, err = hex.DecodeString(s)
	} else {
		b, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(standardBase64.Replace(s), "="))
	}
	if err != nil {
		return nothing
	}
	if !utf8.Valid(b) {
		return octetsOf(b)
	}
	return text(string(b))
}

// unpacked is what compressed bytes hold, as much of it as is read.
func unpacked(v *value, how string) *value {
	s, ok := v.known()
	if !ok {
		if v.own() {
			return obscure
		}
		return &value{parts: v.parts}
	}
	var r io.Reader
	var err error
	switch how {
	case "gzip":
		r, err = gzip.NewReader(strings.NewReader(s))
	case "bz2":
		r = bzip2.NewReader(strings.NewReader(s))
	case "zlib":
		r, err = zlib.NewReader(strings.NewReader(s))
	default:
		return obscure
	}
	if err != nil {
		return obscure
	}
	b, err := io.ReadAll(io.LimitReader(r, maxText+1))
	if err != nil || len(b) > maxText {
		return obscure
	}
	return octetsOf(b)
}

var (
	unseparated    = strings.NewReplacer("-", "", "_", "")
	percents       = strings.NewReplacer("%u", `\u`, "%", `\x`)
	standardBase64 = strings.NewReplacer("-", "+", "_", "/") // of the form for addresses
)

// recoded is a text that was written in a code of a name, as Python's codecs know them.
func recoded(v *value, how string) *value {
	how = unseparated.Replace(strings.ToLower(how))
	s, ok := v.known()
	switch {
	case how == "" || listed("utf8 utf ascii latin1 iso88591 cp1252 utf8sig", how):
		return &value{parts: v.parts}
	case strings.HasPrefix(how, "base64"):
		return decoded(v, "64")
	case strings.HasPrefix(how, "hex"):
		return decoded(v, "hex")
	case !ok:
		return &value{parts: v.parts}
	case strings.HasPrefix(how, "rot"):
		return text(strings.Map(rot13, s))
	case how == "unicodeescape" || how == "rawunicodeescape" || how == "stringescape":
		return text(Unescape(s))
	case how == "zlib" || how == "zip":
		return unpacked(v, "zlib")
	case how == "bz2":
		return unpacked(v, "bz2")
	case strings.HasPrefix(how, "utf16"), strings.HasPrefix(how, "utf32"):
		return text(strings.ReplaceAll(strings.TrimPrefix(s, "\xff\xfe"), "\x00", ""))
	}
	return obscure
}

// fromJSON is what a text of JSON says.
func fromJSON(v *value) *value {
	s, ok := v.known()
	if !ok {
		return v
	}
	var of any
	if err := json.Unmarshal([]byte(s), &of); err != nil {
		return nothing
	}
	left := maxItems
	return ofJSON(of, &left)
}

func ofJSON(of any, left *int) *value {
	if *left--; *left < 0 {
		return nothing
	}
	switch of := of.(type) {
	case string:
		return text(of)
	case float64:
		return count(int64(of))
	case bool:
		return &value{what: map[bool]string{true: "True", false: "False"}[of]}
	case []any:
		all := []*value{}
		for _, one := range of {
			all = append(all, ofJSON(one, left))
		}
		return listOf(all)
	case map[string]any:
		v := &value{of: "list", items: []*value{}}
		for _, name := range slices.Sorted(maps.Keys(of)) {
			v.names, v.items = append(v.names, name), append(v.items, ofJSON(of[name], left))
		}
		return v
	}
	return nothing
}

// substituted is a text in which a pattern was replaced.
func substituted(pattern, with, in *value) *value {
	p, ok := pattern.known()
	r, known := with.known()
	s, all := in.known()
	if !ok || !known || !all || len(p) > 256 {
		if pattern.own() && in.own() {
			return obscure
		}
		return &value{parts: in.parts}
	}
	compiled, err := regexp.Compile(p)
	if err != nil || len(s)*(1+len(r)) > 64*maxText {
		return obscure
	}
	return text(compiled.ReplaceAllString(s, backReference.ReplaceAllString(r, "$${$1}")))
}

var backReference = lazyregexp.New(`\\(?:g<)?(\d+)>?`)

// templated fills names into a text of string.Template.
func templated(in *value, a arguments) *value {
	s, ok := in.known()
	if !ok {
		return &value{parts: in.parts}
	}
	names := a.named
	if first := a.is(0); len(first.names) > 0 {
		names = map[string]*value{}
		for i, name := range first.names {
			if i < len(first.items) {
				names[name] = first.items[i]
			}
		}
	}
	var all []*value
	for len(all) < maxParts {
		before, behind, found := strings.Cut(s, "$")
		if all = append(all, text(before)); !found {
			break
		}
		if s = behind; strings.HasPrefix(behind, "$") {
			all, s = append(all, text("$")), behind[1:]
			continue
		}
		name, rest, braced := "", behind, strings.HasPrefix(behind, "{")
		if braced {
			name, rest, _ = strings.Cut(behind[1:], "}")
		} else {
			n := 0
			for n < len(behind) && (letter(behind[n]) || behind[n] >= '0' && behind[n] <= '9') {
				n++
			}
			name, rest = behind[:n], behind[n:]
		}
		s = rest
		if v := names[name]; v != nil {
			all = append(all, v)
		} else {
			all = append(all, nothing)
		}
	}
	return join(all...)
}

// ofText is a method of a text that is known, where it is known what it gives.
func ofText(on *value, s, name string, a arguments) (v *value, done bool) {
	first, known := a.is(0).known()
	second, both := a.is(1).known()
	rest := ""
	if at := a.is(0); known && at.of != "number" {
		rest = first
	}
	back := func(s string) (*value, bool) {
		return &value{of: map[bool]string{true: "bytes"}[on.of == "bytes"], parts: []part{{said, s}}}, true
	}
	switch name {
	case "strip", "trim", "lstrip", "trimStart", "trimLeft", "rstrip", "trimEnd", "trimRight":
		set := " \t\r\n\v\f"
		if rest != "" {
			set = rest
		}
		if !strings.HasPrefix(name, "r") && name != "trimEnd" && name != "trimRight" {
			s = strings.TrimLeft(s, set)
		}
		if !strings.HasPrefix(name, "l") && name != "trimStart" && name != "trimLeft" {
			s = strings.TrimRight(s, set)
		}
		return back(s)
	case "removeprefix":
		return back(strings.TrimPrefix(s, rest))
	case "removesuffix":
		return back(strings.TrimSuffix(s, rest))
	case "lower", "casefold", "toLowerCase", "toLocaleLowerCase":
		return back(strings.ToLower(s))
	case "upper", "toUpperCase", "toLocaleUpperCase":
		return back(strings.ToUpper(s))
	case "swapcase":
		return back(strings.Map(func(r rune) rune {
			if unicode.IsUpper(r) {
				return unicode.ToLower(r)
			}
			return unicode.ToUpper(r)
		}, s))
	case "capitalize":
		if r, n := utf8.DecodeRuneInString(s); n > 0 {
			return back(string(unicode.ToUpper(r)) + strings.ToLower(s[n:]))
		}
	case "normalize":
		return back(norm.NFKC.String(s))
	case "repeat":
		if n, is := integer(first); known && is && n >= 0 && n <= 64 {
			return join(slices.Repeat([]*value{on}, int(n))...), true
		}
	case "partition", "rpartition":
		if !known || rest == "" {
			break
		}
		i := strings.Index(s, rest)
		if name == "rpartition" {
			i = strings.LastIndex(s, rest)
		}
		if i < 0 {
			return textsOf([]string{s, "", ""}), true
		}
		return textsOf([]string{s[:i], rest, s[i+len(rest):]}), true
	case "splitlines":
		return textsOf(strings.Split(strings.TrimRight(s, "\n"), "\n")), true
	case "encode":
		if how := strings.ToLower(first); !known || strings.HasPrefix(how, "utf-8") || how == "ascii" {
			return &value{of: "bytes", parts: on.parts}, true
		}
	case "hex":
		return text(hex.EncodeToString([]byte(s))), true
	case "charCodeAt", "codePointAt":
		if n, _ := integer(first); int(n) < len(s) && n >= 0 {
			return count(int64([]rune(s[n:])[0])), true
		}
	case "charAt", "at":
		if n, is := integer(first); is && known {
			all := each(text(s))
			if n < 0 && name == "at" {
				n += int64(len(all))
			}
			if n >= 0 && int(n) < len(all) {
				return all[n], true
			}
		}
	case "padStart", "rjust", "padEnd", "ljust", "zfill":
		n, is := integer(first)
		pad := " "
		if both && second != "" {
			pad = second[:1]
		} else if name == "zfill" {
			pad = "0"
		}
		if more := int(n) - len(s); is && more < 256 {
			if name == "padEnd" || name == "ljust" {
				return text(s + strings.Repeat(pad, max(more, 0))), true
			}
			return text(strings.Repeat(pad, max(more, 0)) + s), true
		}
	case "translate":
		table := a.is(0)
		if table.of == "table" && len(table.items) >= 2 {
			return translated(s, table.items), true
		}
		var from, to []*value
		for i, key := range table.names { // {106: 'h'}
			if n, is := integer(key); is && i < len(table.items) {
				from, to = append(from, characters([]*value{count(n)})), append(to, table.items[i])
			}
		}
		if len(from) > 0 {
			return replacedEach(s, from, to), true
		}
	case "fromhex":
		return decoded(a.is(0), "hex"), true
	case "find", "index", "rfind", "indexOf", "search", "lastIndexOf":
		if known {
			return count(int64(strings.Index(s, first))), true
		}
	case "count", "startswith", "endswith", "startsWith", "endsWith", "includes", "isdigit", "isalpha", "match", "test", "localeCompare":
		return nothing, true
	}
	return nothing, false
}

// translated is a text with the characters of one text replaced by those of another.
func translated(s string, table []*value) *value {
	return replacedEach(s, each(table[0]), each(table[1]))
}

func replacedEach(s string, from, to []*value) *value {
	var pairs []string
	size := 0
	for i := range min(len(from), len(to)) {
		f, ok := from[i].known()
		t, known := to[i].known()
		if !known && to[i].what == "None" {
			t, known = "", true
		}
		if n, is := integer(t); is && to[i].of == "number" {
			t = string(rune(n))
		}
		if !ok || !known {
			return obscure
		}
		pairs = append(pairs, f, t)
		if size = max(size, len(t)); len(s)*size > 64*maxText {
			return obscure
		}
	}
	return text(strings.NewReplacer(pairs...).Replace(s))
}

// number is a method of a number.
func ofNumber(s, name string, a arguments) (v *value, done bool) {
	n, ok := new(big.Int).SetString(strings.ReplaceAll(s, "_", ""), 0)
	if !ok {
		return nothing, false
	}
	switch name {
	case "to_bytes":
		size, _ := a.is(0, "length").known()
		order, _ := a.is(1, "byteorder").known()
		length, is := integer(size)
		if !is || length <= 0 || length > 4096 || n.Sign() < 0 || len(n.Bytes()) > int(length) {
			return nothing, false
		}
		b := n.FillBytes(make([]byte, length))
		if order == "little" {
			slices.Reverse(b)
		}
		return octetsOf(b), true
	case "toString":
		base, known := a.is(0).known()
		by := int64(10)
		if known {
			by, _ = integer(base)
		}
		if by >= 2 && by <= 36 {
			return text(n.Text(int(by))), true
		}
	}
	return nothing, false
}

// packed is what struct.pack gives of numbers, of the forms that hide texts.
func packed(a arguments) *value {
	how, _ := a.is(0).known()
	order := byteorder.AppendByteOrder(byteorder.LittleEndian)
	if strings.HasPrefix(how, ">") || strings.HasPrefix(how, "!") {
		order = byteorder.BigEndian
	}
	var b bytes.Buffer
	letters := strings.TrimLeft(how, "<>!=@")
	if strings.ContainsAny(letters, "0123456789") || len(letters) != len(a.at)-1 {
		return obscure
	}
	for i, letter := range letters {
		s, ok := a.at[i+1].known()
		n, is := integer(s)
		if !ok {
			return nothing
		}
		switch {
		case letter == 's':
			b.WriteString(s)
		case !is:
			return obscure
		case strings.ContainsRune("bB", letter):
			b.WriteByte(byte(n))
		case strings.ContainsRune("hH", letter):
			b.Write(order.AppendUint16(nil, uint16(n)))
		case strings.ContainsRune("iIlL", letter):
			b.Write(order.AppendUint32(nil, uint32(n)))
		case strings.ContainsRune("qQ", letter):
			b.Write(order.AppendUint64(nil, uint64(n)))
		default:
			return obscure
		}
	}
	return octetsOf(b.Bytes())
}

// unescapedURL undoes percent signs, also %u0041.
func unescapedURL(v *value) *value {
	s, ok := v.known()
	if !ok {
		return v
	}
	if plain, err := url.PathUnescape(s); err == nil {
		return text(plain)
	}
	return text(Unescape(percents.Replace(s)))
}

// spelledOut replaces characters that Python is told by their names, those of ASCII: \N{SOLIDUS}.
func spelledOut(s string) string {
	for i := 0; i < 256; i++ {
		before, rest, found := strings.Cut(s, `\N{`)
		called, after, closed := strings.Cut(rest, "}")
		if !found || !closed {
			return s
		}
		c, ok := characterOf(strings.ToUpper(called))
		if !ok {
			c = "\ufffd"
		}
		s = before + c + after
	}
	return s
}

func characterOf(name string) (string, bool) {
	letter, small := strings.CutPrefix(name, "LATIN SMALL LETTER ")
	if !small {
		letter, _ = strings.CutPrefix(name, "LATIN CAPITAL LETTER ")
	}
	switch {
	case len(letter) == 1 && small:
		return strings.ToLower(letter), true
	case len(letter) == 1 && len(name) > 1:
		return letter, true
	}
	c, ok := characterNames[name]
	return c, ok
}

var characterNames = map[string]string{
	"SOLIDUS": "/", "SLASH": "/", "FULL STOP": ".", "PERIOD": ".", "SPACE": " ", "HYPHEN-MINUS": "-", "LOW LINE": "_", "SPACING UNDERSCORE": "_",
	"TILDE": "~", "ASTERISK": "*", "DOLLAR SIGN": "$", "VERTICAL LINE": "|", "VERTICAL BAR": "|", "SEMICOLON": ";", "AMPERSAND": "&",
	"GREATER-THAN SIGN": ">", "LESS-THAN SIGN": "<", "QUOTATION MARK": `"`, "APOSTROPHE": "'", "GRAVE ACCENT": "`", "LEFT PARENTHESIS": "(", "RIGHT PARENTHESIS": ")",
	"REVERSE SOLIDUS": `\\`, "BACKSLASH": `\\`, "COLON": ":", "COMMA": ",", "EQUALS SIGN": "=", "PLUS SIGN": "+", "QUESTION MARK": "?", "EXCLAMATION MARK": "!",
	"NUMBER SIGN": "#", "PERCENT SIGN": "%", "COMMERCIAL AT": "@", "CIRCUMFLEX ACCENT": "^", "LEFT SQUARE BRACKET": "[", "RIGHT SQUARE BRACKET": "]",
	"LEFT CURLY BRACKET": "{", "RIGHT CURLY BRACKET": "}", "LINE FEED": "\n", "NEW LINE": "\n", "CHARACTER TABULATION": "\t",
	"DIGIT ZERO": "0", "DIGIT ONE": "1", "DIGIT TWO": "2", "DIGIT THREE": "3", "DIGIT FOUR": "4", "DIGIT FIVE": "5", "DIGIT SIX": "6", "DIGIT SEVEN": "7", "DIGIT EIGHT": "8", "DIGIT NINE": "9",
}

// plainly reports whether a program of Python is written in the characters that it shows: its
// first lines may say that it is in a code of another name.
func plainly(source string) bool {
	lines := strings.SplitN(source[:min(len(source), 1024)], "\n", 3)
	for _, line := range lines[:min(len(lines), 2)] {
		if m := codingOf.FindStringSubmatch(line); m != nil {
			how := unseparated.Replace(strings.ToLower(m[1]))
			if !strings.HasPrefix(how, "utf8") && !strings.HasPrefix(how, "latin") && !strings.HasPrefix(how, "iso8859") && !strings.HasPrefix(how, "cp") &&
				!strings.HasPrefix(how, "windows") && !listed("ascii usascii koi8r koi8u gbk gb2312 gb18030 big5 eucjp shiftjis euckr macroman", how) {
				return false
			}
		}
	}
	return true
}

var codingOf = lazyregexp.New(`^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)`)

// listed reports whether a word is one of a list.
func listed(list, word string) bool {
	return word != "" && strings.Contains(" "+list+" ", " "+word+" ")
}
