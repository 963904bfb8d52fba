package hazard

import (
	"slices"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/risk/hazard/effects"
)

// A path in a program is seldom one string: it is put together of what gives the home
// directory, of names, of variables and of where the program went before. What is constant
// of that is folded here, so that one reading of paths serves every language.

// homeInText is what gives the home directory inside a string, in the ways that languages
// put values into strings.
var homeInText = lazyregexp.New(`(?i)[$#]?\{[^{}]{0,60}?(?:\bhome\(\)|homedir\(\)|\bdir\.home|env(?:iron)?[.\[{(]+['"]?(?:home|userprofile)['"]?[\]})]*|getenv\(['"]home['"]\)|expanduser\(['"]~/?['"]\))[^{}]{0,4}\}|\$ENV\{HOME\}|\$\{?HOME\b\}?`)

// joiners are words between the parts of a path.
var joiners = set("join joinpath resolve path purepath posixpath normalize catfile rglob glob file pathname abspath realpath dirname of get combine append push")

// givers are words that lead to what they stand before, and say nothing of a path.
var givers = set("os path pathlib process env require environ file p fs dir str string new posix node import const let var std system environment specialfolder getfolderpath")

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
				if i > 0 && !tokens[i-1].isText && strings.TrimSpace(f.gap(i)) == "," { // and an error, or whether it is known
					name = tokens[i-1].text
				}
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
		if !f.tokens[k].isText && f.tokens[k].text == "file" && k+1 < len(f.tokens) && strings.HasPrefix(f.gap(k+1), "(") {
			return k // Java's, which joins
		}
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
	case "homedir", "userhomedir", "home_dir", "gethomedir", "userprofile", "homedirectory", "nshomedirectory":
		return "~", i + 1, true
	case "userconfigdir", "config_dir":
		return "~/.config", i + 1, true
	case "environ", "getenv", "env", "_server", "_env", "getproperty", "fetch":
		n, there := after(1)
		if there && (n.text == "get" || n.text == "var" || n.text == "var_os") && !n.isText {
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

// asksHome is how programs ask where the home folder, or that of settings, is.
var asksHome = lazyregexp.New(`user\.home|home_?dir\b|homedirectory|userprofile|(?:getenv|environ|\benv|var|var_os|lookupenv|_server|fetch)\W{1,4}(?:get\W{1,3})?["'](?:home|userprofile)|\bdir\.home|path\.home|expanduser|\{home\}|\$home`)

// asksConfig is how they ask for the folder of settings.
var asksConfig = lazyregexp.New(`userconfigdir|config_?dir\(|xdg_config_home`)

// formatHead is what stands for the home folder at the head of a path that is formatted.
var formatHead = lazyregexp.New(`^(?:%[sv]|\{\w*\}|\$\{\w+\})/`)

// Does is what stands in a program of a language that is not parsed, as far as it is constant.
type Does struct {
	// Paths are those that stand in it, and that its expressions come to: below ~ where it asks
	// for the home folder. What is only read is none of them.
	Paths    []string
	Commands []string // that it starts
	Kills    bool     // it ends processes
}

// Program reads a program for what it names.
func Program(text string, writes func(string) bool) (d Does) {
	tokens := lex(text, false)
	from, to, did := 0, 0, false
	d.Paths = pathsOf(tokens, text, func(i int) bool { // what stands in a function that writes
		if at := tokens[i].at; at >= to {
			from = max(0, strings.LastIndex(text[:at], "\n}\n"))
			if to = strings.Index(text[at:], "\n}\n"); to < 0 {
				to = len(text)
			} else {
				to += at
			}
			did = writes(lower(text[from:to]))
		}
		return did
	})
	for i, t := range tokens {
		switch {
		case t.isText:
		case listed("kill killpg killall terminateprocess sigkill sigterm", t.text):
			d.Kills = true
		case (abilities[t.text]&canRun != 0 || startingCalls[t.text]) && len(d.Commands) < 64:
			d.Commands = append(d.Commands, startedBy(tokens[i+1:min(len(tokens), i+40)], text[t.end:], t.end)...)
		}
	}
	return d
}

// startingCalls are further calls that start programs, which are called so for other ends, too.
var startingCalls = set("command cmd start run execl sh shell process")

// startedBy are the lines of a shell that a call starts: of the words in its brackets, and of those
// that it is given behind them (Command::new("sh").arg("-c")). rest is the text behind its name.
func startedBy(tokens []token, rest string, from int) (lines []string) {
	opens := callOpens.FindString(rest)
	if opens == "" {
		return nil
	}
	end, depth := len(rest), 0
	for i := 0; i < min(len(rest), 4096); i++ {
		switch rest[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth <= 0 && !strings.HasPrefix(strings.TrimLeft(rest[i+1:], " \t\r\n)"), ".arg") {
				end, i = i, len(rest)
			}
		case ';', '\n':
			if depth == 0 && i > len(opens) {
				end, i = i, len(rest)
			}
		}
	}
	var words []string
	for i, t := range tokens {
		if t.at-from > end {
			break
		}
		if i > 3 && len(words) == 0 {
			return nil // what is started is no text
		}
		if t.isText && len(t.text) < 4096 {
			if words = append(words, t.text); strings.Contains(t.text, " ") {
				lines = append(lines, t.text)
			}
		}
	}
	if len(words) > 1 {
		lines = append(lines, quotedWords(words), strings.Join(words, " "))
		if len(words) > 2 && words[0] == words[1] { // execlp is told the program's name twice
			lines = append(lines, quotedWords(words[1:]))
		}
	}
	return lines
}

// callOpens is how the words of a call begin behind its name.
var callOpens = lazyregexp.New(`^(?:::new|::create|!)?\s*\(|^\s+["'\x60]|^\s*\[|^\s*\{\s*["']`)

// pathsOf are the paths of a program that it does not only read.
func pathsOf(tokens []token, text string, loose func(i int) bool) (paths []string) {
	low := lower(text)
	home := (strings.Contains(low, "home") || strings.Contains(low, "profile") || strings.Contains(low, "expanduser")) && asksHome.MatchString(low)
	config := strings.Contains(low, "config") && asksConfig.MatchString(low)
	f := folder{text: text, tokens: tokens}
	read := slices.ContainsFunc(tokens, func(t token) bool { return !t.isText && readingCalls[t.text] })
	if !read {
		paths = foldedPaths(tokens, text)
	}
	for i, t := range tokens {
		if !t.isText || len(t.text) < 2 || len(t.text) > 512 || strings.ContainsAny(t.text, "\n ") || !loose(i) || f.onlyRead(i) {
			continue
		}
		said := formatHead.ReplaceAllString(t.text, "/")
		if t.text[0] == '~' || strings.Contains(t.text, "/") { // also a relative one, which a link may lead away
			paths = append(paths, t.text)
		}
		for k := i + 1; k <= i+4; k++ { // the names of one path, given one after another
			switch rest := strings.TrimPrefix(said, "/"); {
			case home && strings.HasPrefix(rest, "."):
				paths = append(paths, "~/"+rest)
			case config:
				paths = append(paths, "~/.config/"+rest)
			}
			if k >= len(tokens) || len(said) > 512 {
				break
			}
			if tokens[k].isText {
				said += "/" + strings.TrimPrefix(tokens[k].text, "/")
			}
		}
	}
	return paths
}

// readingCalls are calls that read the file that they are given.
var readingCalls = set("readfile readalltext readalllines readstring readallbytes read_to_string readtextfile readfilesync file_get_contents readlines read_lines readtext stat lstat exists isfile fileexists existssync access open file_exists is_file readdir load_file newbufferedreader filereader fileinputstream ifstream")

// onlyRead reports whether a value is given to calls that read, and to no others: itself, or the
// variable that is set to it.
func (f *folder) onlyRead(i int) bool {
	k := i - 1
	for ; k >= 0 && k >= i-8; k-- {
		t := f.tokens[k]
		if strings.ContainsAny(f.gap(k+1), ";\n}") {
			return false
		}
		if k+1 < len(f.tokens) && !t.isText && assigns(f.gap(k+1)) {
			break
		}
		if !t.isText && readingCalls[t.text] {
			return true
		}
	}
	if k < 0 || k < i-8 || f.tokens[k].isText {
		return false
	}
	name, used := f.tokens[k].text, false
	for at := i + 1; at < len(f.tokens); at++ {
		if t := f.tokens[at]; t.isText || t.text != name {
			continue
		}
		if !readingCalls[f.tokens[at-1].text] {
			return false
		}
		used = true
	}
	return used
}

// Understood reports whether all that a program does is known: each value in it, and each call.
func Understood(language, text string) bool {
	e := effects.Of(language, text, effects.Given{})
	return e.Whole && !e.Dark && !e.Hidden && !e.Cut && len(e.Texts) == 0
}
