package hazard

import (
	"path"
	"strings"

	"reeve.example/reeve/internal/risk/hazard/effects"
)

// Programs that print what they are given or find, and that change its form: echo, cat, base64, grep.

// which prints the name it is given: what is run by it is known.
// which prints where the programs lie that it names. Whoever watches may know; else their names
// stand for them.
func (c *invocation) which() flow {
	out := flow{known: true}
	for _, a := range c.args {
		if strings.HasPrefix(a.text, "-") {
			continue
		}
		at := ""
		if c.watch != nil && c.watch.Which != nil {
			at = c.watch.Which(a.text)
		}
		if at == "" {
			at = a.text
		}
		out.text += at + "\n"
		out.known, out.taint = out.known && a.known, out.taint|a.taint
	}
	if out.text == "" {
		return flow{}
	}
	return out
}

// onPath is realpath and its like: they print a path of the same file, or a part of it.
func (c *invocation) onPath() flow {
	for i := len(c.args) - 1; i >= 0; i-- {
		a := c.args[i]
		if strings.HasPrefix(a.text, "-") || a.text == "" {
			continue
		}
		switch c.name {
		case "dirname":
			a.text = path.Dir(strings.TrimRight(a.text, "/"))
		case "basename":
			a.text = path.Base(a.text)
		}
		a.text += "\n"
		return a
	}
	return flow{}
}

// tellsFolder is pwd.
func (c *invocation) tellsFolder() flow {
	out := c.ordinary()
	if c.cwd != "" && len(c.args) == 0 {
		out.text, out.known = c.cwd+"\n", true
	}
	return out
}

// joined is the arguments as one text.
func (c *invocation) joined(args []flow) flow {
	out := flow{known: true}
	var b strings.Builder
	for i, a := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		if b.Len() < 256<<10 {
			b.WriteString(a.text)
		} else {
			out.taint |= tooLong
		}
		out.known = out.known && a.known
		out.taint |= a.taint
	}
	out.text = b.String()
	return out
}

func (c *invocation) echo() flow {
	args := c.args
	escapes := false
	for len(args) > 0 && len(args[0].text) > 1 && args[0].text[0] == '-' && strings.Trim(args[0].text[1:], "neE") == "" {
		escapes = escapes || strings.Contains(args[0].text, "e")
		args = args[1:]
	}
	f := c.joined(args)
	if escapes || strings.Contains(f.text, `\x`) {
		f.text = effects.Unescape(f.text)
	}
	f.text += "\n"
	return f
}

func (c *invocation) printf() flow {
	if len(c.args) == 0 {
		return flow{}
	}
	args := c.args
	if args[0].text == "-v" && len(args) > 2 {
		printed := *c
		printed.args = args[2:]
		c.vars[args[1].text] = printed.printf()
		return flow{}
	}
	if args[0].text == "--" && len(args) > 1 { // behind it stands the format
		args = args[1:]
	}
	format := effects.Unescape(args[0].text)
	out := flow{known: args[0].known, taint: args[0].taint}
	args = args[1:]
	if !strings.Contains(format, "%") {
		out.text = format
		return out
	}
	// The format is used again as long as there are arguments.
	var b strings.Builder
	for range 64 {
		for i := 0; i < len(format); i++ {
			if format[i] != '%' || i+1 == len(format) {
				b.WriteByte(format[i])
				continue
			}
			i++
			if format[i] == '%' {
				b.WriteByte('%')
				continue
			}
			if len(args) > 0 {
				t := args[0].text
				if format[i] == 'b' {
					t = effects.Unescape(t)
				}
				b.WriteString(t)
				out.known = out.known && args[0].known
				out.taint |= args[0].taint
				args = args[1:]
			}
		}
		if len(args) == 0 {
			break
		}
	}
	out.text = b.String()
	return out
}

// cat passes on what it is given; tee also writes it.
func (c *invocation) cat() flow {
	options, rest := c.split()
	if c.name == "tee" || c.name == "sponge" {
		for _, a := range rest {
			if isNetworkDevice(a.text) {
				c.host(strings.Split(a.text, "/")[3], c.at)
				c.sends(c.in, c.at)
				continue
			}
			c.writeFile(a, c.in, has(options, "-a", "--append"))
		}
		return c.in
	}
	if len(rest) == 0 {
		return c.in
	}
	out := flow{known: true}
	for _, a := range rest {
		if a.text == "-" {
			out = both(out, c.in)
			continue
		}
		if isURL(a.text) {
			continue
		}
		out = both(out, c.readFile(a))
	}
	if c.name != "cat" && c.name != "tac" {
		out.known = false
	}
	return out
}

// decode undoes what is undone in one step, if the text is known, and else
// notes that the output was hidden in the input.
func (c *invocation) decode() flow {
	options, rest := c.split()
	in := c.in
	if c.name != "tr" {
		for _, a := range rest {
			if c.name == "openssl" {
				break
			}
			in = c.readFile(a)
		}
	}
	if v, ok := options["-in"]; ok {
		in = c.readFile(v)
	}
	hidden := in.taint | fromDecoder
	try := func(f func(string) (string, bool)) flow {
		if in.known || in.text != "" {
			if t, ok := f(in.text); ok && c.spend(len(t)) {
				return flow{text: t, known: in.known, taint: hidden}
			}
		}
		return flow{taint: hidden}
	}
	decodes := has(options, "-d", "-D", "--decode", "-r", "-di")
	switch c.name {
	case "base64", "gbase64", "basenc", "b64decode":
		if decodes || c.name == "b64decode" {
			return try(unbase64)
		}
	case "base32":
		if decodes {
			return try(unbase32)
		}
	case "uudecode":
		return flow{taint: hidden}
	case "xxd":
		if decodes {
			return try(unhex)
		}
	case "rev":
		if in.known {
			return flow{text: reverse(strings.TrimRight(in.text, "\n")) + "\n", known: true, taint: hidden}
		}
		return flow{taint: in.taint | inOtherForm(in.taint)}
	case "tr":
		if len(rest) == 2 && in.known {
			if t, ok := translate(in.text, rest[0].text, rest[1].text); ok {
				return flow{text: t, known: true, taint: hidden}
			}
		}
		if has(options, "-d") && len(rest) == 1 && in.known {
			drop := string(ranges(rest[0].text))
			return flow{text: strings.Map(func(r rune) rune {
				if strings.ContainsRune(drop, r) {
					return -1
				}
				return r
			}, in.text), known: true, taint: in.taint}
		}
		if trRecodes(options, rest) {
			in.taint |= inOtherForm(in.taint)
		}
		return flow{text: in.text, taint: in.taint}
	case "gunzip", "zcat", "bzcat", "xzcat", "unxz", "uncompress":
		return flow{taint: hidden}
	case "gzip", "bzip2", "xz", "zstd":
		if decodes {
			return flow{taint: hidden}
		}
	case "gpg":
		if decodes || has(options, "--decrypt") {
			return flow{taint: hidden}
		}
		if has(options, "-c", "--symmetric", "-e") {
			c.encrypts(rest)
		}
	case "openssl":
		return c.openssl(in, options)
	}
	if c.name != "tr" && len(rest) == 0 && c.in.taint&fromShell != 0 {
		return c.in
	}
	return flow{taint: in.taint | inOtherForm(in.taint)}
}

func (c *invocation) openssl(in flow, options map[string]flow) flow {
	var words []string
	for _, a := range c.args {
		words = append(words, a.text)
	}
	line := strings.Join(words, " ")
	switch {
	case strings.HasPrefix(line, "s_client"):
		if c.in.taint&fromShell != 0 {
			c.report("shell.reverse_shell", 0, c.at)
		}
		for i, w := range words {
			if i > 0 && listed("-connect -host -proxy", words[i-1]) {
				c.host(w, c.at)
			}
		}
		c.sends(c.in, c.at)
		return flow{taint: fromSocket}
	case strings.HasPrefix(line, "passwd") || strings.HasPrefix(line, "rand") || strings.HasPrefix(line, "x509") || strings.HasPrefix(line, "req"):
		return flow{}
	case has(options, "-d"):
		if has(options, "-base64", "-a", "-A") || strings.Contains(line, "base64") {
			if t, ok := unbase64(in.text); ok && in.known {
				return flow{text: t, known: true, taint: in.taint | fromDecoder}
			}
		}
		return flow{taint: in.taint | fromDecoder}
	case strings.HasPrefix(line, "enc") || strings.HasPrefix(line, "rsautl") || strings.HasPrefix(line, "pkeyutl"):
		if v, ok := options["-in"]; ok {
			c.encrypts([]flow{v})
		}
	}
	if (strings.HasPrefix(line, "enc") || strings.HasPrefix(line, "base64")) && !has(options, "-out") {
		in.taint |= inOtherForm(in.taint)
	}
	return flow{taint: in.taint}
}

// encrypts judges that files are encrypted with the means at hand.
func (c *invocation) encrypts(files []flow) {
	for _, f := range files {
		p := normalPath(f.text).text
		if strings.HasPrefix(p, "/etc") || strings.HasPrefix(p, "/home") || strings.HasPrefix(p, "/var") || strings.HasPrefix(p, "/root") || placeOf(p).read >= 0.3 {
			c.report("destroy.encrypt", 0, c.at)
		}
	}
}

// grep looks for words: those that name secrets, over a whole system, are a search
// for secrets.
func (c *invocation) grep() flow {
	options, rest := c.split()
	pattern := options["-e"].text + options["--regexp"].text
	if pattern == "" && len(rest) > 0 {
		pattern, rest = rest[0].text, rest[1:]
	}
	low := strings.ToLower(pattern)
	wanted := false
	for _, w := range []string{"password", "passwd", "passw", "secret", "api_key", "apikey", "aws_secret", "private key", "token", "begin rsa", "credential", "akia", "pwd="} {
		wanted = wanted || strings.Contains(low, w) && !has(options, "-v", "--invert-match") // which leaves them out
	}
	recursive := has(options, "-r", "-R", "--recursive", "-ri", "-rin") || c.name == "rg" || c.name == "ag"
	out := c.in
	out.known = false
	for _, a := range rest {
		f := normalPath(a.text)
		wide := f.text == "/" || f.text == "/home" || f.text == "~" || f.text == "/etc" || f.text == "/root" || f.text == "/var" || f.text == "/proc" || strings.HasPrefix(f.text, "/home/*")
		if wanted && recursive && wide {
			c.report("secret.search", 0, c.at)
			out.taint |= fromSecret
			continue
		}
		out = both(out, c.readFile(a))
	}
	if wanted && c.in.taint&fromSecret != 0 && c.in.taint&fromFile != 0 {
		c.report("secret.search", 0.7, c.at)
	}
	if wanted && recursive {
		c.report("secret.search", 0.3, c.at)
	}
	if len(rest) == 0 && placeOf(strings.Trim(strings.ReplaceAll(pattern, `\`, ""), "^$/*")).read >= 0.3 {
		out.taint |= fromSecret | fromPlace // of names, those of such files
	}
	if names, _ := options["-g"]; placeOf(names.text).read >= 0.3 {
		out.taint |= fromSecret | fromPlace
	}
	if grepParts(options, pattern) {
		out.taint |= inOtherForm(out.taint)
	}
	if !has(options, "-v", "--invert-match") && len(rest)+len(c.in.text) > 0 {
		out = chosen(out, pattern)
	}
	return out
}

// getent asks what a machine knows: of hosts, that is others.
func (c *invocation) getent() flow {
	if len(c.args) > 1 && strings.HasPrefix(c.args[0].text, "ahosts") || len(c.args) > 1 && c.args[0].text == "hosts" {
		return c.lookup()
	}
	return c.ordinary()
}

// dump gives out all of a database, or writes it to the file that an option names.
func (c *invocation) dump() flow {
	all := flow{taint: fromFile | fromStore}
	for i, a := range c.args {
		option, name, joined := strings.Cut(a.text, "=")
		switch {
		case joined && listed("--file --result-file --out --archive --outputdir", option):
			c.writeFile(flow{text: name, known: a.known}, all, false)
		case i+1 < len(c.args) && listed("-f --file -r --result-file -o --out", a.text):
			c.writeFile(c.args[i+1], all, false)
		}
	}
	return all
}

func (c *invocation) aboutHost() flow {
	if c.name == "uname" && c.asksKind() {
		return flow{}
	}
	return flow{taint: fromHost}
}

// readWord sets variables from what comes in.
func (c *invocation) readWord() flow {
	options, rest := c.split()
	if v, ok := options["-C"]; ok && c.name != "read" {
		c.callsBack(v)
	}
	if v, ok := options["-a"]; ok && c.name == "read" {
		rest = append(rest, v)
	}
	if narrow(c.optionValues("-n -N")) { // a letter at a time
		c.in.taint |= inOtherForm(c.in.taint)
	}
	for _, a := range rest {
		if isName(a.text) && len(c.vars) < 1024 {
			c.vars[a.text] = flow{text: "$" + a.text, taint: c.in.taint}
			switch line := strings.TrimSpace(c.in.text); {
			case line == "":
			case c.name != "read": // each of its values is a line
				c.vars[a.text] = flow{text: line + "\n", taint: c.in.taint}
			case !strings.Contains(line, "\n"):
				c.vars[a.text] = flow{text: line, taint: c.in.taint}
			}
		}
	}
	return flow{}
}
