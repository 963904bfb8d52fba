package hazard

import (
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
)

// A path in a program is seldom one string: it is put together of what gives the home
// directory, of names, of variables and of where the program went before. What is constant
// of that is folded here, so that one reading of paths serves every language.

// homeInText is what gives the home directory inside a string, in the ways that languages
// put values into strings.
var homeInText = lazyregexp.New(`(?i)[$#]?\{[^{}]{0,60}?(?:\bhome\(\)|homedir\(\)|\bdir\.home|env(?:iron)?[.\[{(]+['"]?(?:home|userprofile)['"]?[\]})]*|getenv\(['"]home['"]\)|expanduser\(['"]~/?['"]\))[^{}]{0,4}\}|\$ENV\{HOME\}|\$\{?HOME\b\}?`)

// joiners are words between the parts of a path.
var joiners = set("join joinpath resolve path purepath posixpath normalize catfile rglob glob file pathname abspath realpath dirname")

// givers are words that lead to what they stand before, and say nothing of a path.
var givers = set("os path pathlib process env require environ file p fs dir str string new posix node import const let var")

// folder puts paths together.
type folder struct {
	text   string
	tokens []token
	values map[string]string // of variables
	cwd    string            // where chdir led
	out    []string
}

// foldedPaths are the paths that the expressions of a program come to, beyond its strings.
func foldedPaths(tokens []token, text string) []string {
	f := folder{text: text, tokens: tokens}
	name, named := "", 0 // of the variable that is being set
	for i := 0; i < len(tokens) && len(f.out) < 64; {
		if i > 0 && strings.ContainsAny(f.gap(i), "\n;") {
			name = ""
		}
		value, next, ok := f.value(i)
		if !ok {
			if t := tokens[i]; !t.isText && i+1 < len(tokens) && assigns(f.gap(i+1)) {
				name, named = t.text, i
			}
			i++
			continue
		}
		first := i
		value, next, parts := f.extend(value, first, next)
		if k := f.callee(first); name != "" && k > named && tokens[k].text == "dotenv_values" {
			if !choosesOnly(tokens, text, named, k) {
				f.add(value)
			}
			name = "" // it is what the file holds, and no path
		}
		if name != "" && first-named <= 6 && len(value) < 512 {
			if f.values == nil {
				f.values = map[string]string{}
			}
			if len(f.values) < 64 {
				f.values[name] = value
			}
			name = ""
		}
		if k := f.callee(first); k >= 0 && tokens[k].text == "chdir" {
			f.cwd = value
		}
		if parts > 1 || !tokens[first].isText || value != tokens[first].text {
			f.add(value)
		} else if f.cwd != "" && value != "" && value[0] != '/' && value[0] != '~' && len(value) < 128 && !strings.ContainsAny(value, " \n:") {
			f.add(strings.TrimSuffix(f.cwd, "/") + "/" + value)
		}
		i = next
	}
	return f.out
}

func (f *folder) add(path string) {
	if path != "" && len(path) < 512 && !strings.ContainsAny(path, "\n") {
		f.out = append(f.out, path)
	}
}

// gap is what stands between a token and the one before.
func (f *folder) gap(i int) string {
	from, to := f.tokens[i-1].end, f.tokens[i].at
	if from > to || to > len(f.text) {
		return ""
	}
	if to-from > 64 {
		return ";"
	}
	return f.text[from:to]
}

// assigns says whether the signs between two tokens set the first to the second.
func assigns(gap string) bool {
	gap = strings.TrimSpace(gap)
	return gap == "=" || gap == ":=" || gap == "= (" || gap == "= f" || gap == "= $" || gap == "=("
}

// callee is the word before a value, what only leads to it left out; -1 for none.
func (f *folder) callee(i int) int {
	for k := i - 1; k >= 0 && k >= i-5; k-- {
		if t := f.tokens[k]; !(t.isText && isModule(f.tokens, k)) && (t.isText || !givers[t.text] && t.text != "expanduser" && t.text != "f") {
			if t.isText {
				return -1
			}
			return k
		}
	}
	return -1
}

// isModule says whether a string is the name of a module.
func isModule(tokens []token, i int) bool {
	return i > 0 && !tokens[i-1].isText && listed("require import from use", tokens[i-1].text)
}

// inCall says whether the call that a word begins is still open before a token.
func (f *folder) inCall(word, at int) bool {
	part := f.text[f.tokens[word].end:f.tokens[at].at]
	return len(part) < 512 && strings.Count(part, "(") > strings.Count(part, ")")
}

// value reads a constant that can be a path: a string, a variable that was set to one, or
// what gives the home directory.
func (f *folder) value(i int) (value string, next int, ok bool) {
	t := f.tokens[i]
	after := func(k int) (token, bool) {
		if i+k < len(f.tokens) {
			return f.tokens[i+k], true
		}
		return token{}, false
	}
	if t.isText {
		if t.text == "HOME" || t.text == "USERPROFILE" || len(t.text) > 512 || isModule(f.tokens, i) {
			return "", 0, false
		}
		return f.inserted(t.text), i + 1, true
	}
	switch t.text {
	case "home":
		if i > 0 && listed("path dir pathlib", f.tokens[i-1].text) {
			return "~", i + 1, true
		}
	case "homedir", "userhomedir", "home_dir", "gethomedir":
		return "~", i + 1, true
	case "environ", "getenv", "env", "_server", "_env", "getproperty", "fetch":
		n, there := after(1)
		if there && n.text == "get" && !n.isText {
			if n, there = after(2); there && strings.EqualFold(n.text, "home") {
				return "~", i + 3, true
			}
			return "", 0, false
		}
		if there && (strings.EqualFold(n.text, "home") || strings.EqualFold(n.text, "userprofile") || n.text == "user.home") {
			return "~", i + 2, true
		}
	}
	if v, ok := f.values[t.text]; ok && (i+1 == len(f.tokens) || !assigns(f.gap(i+1))) {
		return v, i + 1, true
	}
	return "", 0, false
}

// inserted is a string with what is known of the values in it.
func (f *folder) inserted(s string) string {
	if !strings.ContainsAny(s, "{$") {
		return s
	}
	s = homeInText.ReplaceAllString(s, "~")
	for name, v := range f.values {
		for _, form := range []string{"${" + name + "}", "#{" + name + "}", "{" + name + "}", "$" + name} {
			if len(s)+len(v) < 1024 && strings.Contains(s, form) {
				s = strings.ReplaceAll(s, form, v)
			}
		}
	}
	return s
}

// extend takes what is joined to a value, and tells of how many parts it is.
func (f *folder) extend(value string, first, next int) (string, int, int) {
	parts := 1
	joins := f.callee(first)
	if joins >= 0 && !joiners[f.tokens[joins].text] {
		joins = -1
	}
	for next < len(f.tokens) && parts < 16 {
		signs := strings.Trim(strings.TrimSpace(f.gap(next)), ")(]} \t")
		at, slash := next, true
		if t := f.tokens[next]; !t.isText && joiners[t.text] && strings.HasPrefix(signs, ".") && next+1 < len(f.tokens) {
			at = next + 1 // .joinpath(x)
		} else {
			switch signs {
			case "/":
			case ",", ", f", ", b":
				if joins < 0 || !f.inCall(joins, next) {
					return value, next, parts
				}
			case ".":
				if !f.tokens[next].isText {
					return value, next, parts
				}
				slash = false
			case "+", "+ f", "..", "<>":
				slash = false
			default:
				return value, next, parts
			}
		}
		v, after, ok := f.value(at)
		if !ok {
			return value, next, parts
		}
		switch {
		case !slash:
			value += v
		case strings.HasPrefix(v, "/") || strings.HasPrefix(v, "~"):
			value = v
		default:
			value = strings.TrimSuffix(value, "/") + "/" + v
		}
		next, parts = after, parts+1
	}
	return value, next, parts
}
