package hazard

import (
	"maps"
	"slices"
	"strings"
)

// Programs that fetch from addresses and send to them: curl, wget and their like.

// download is curl and its kin: it reads from a host, and may send to it.
func (c *invocation) download() flow {
	options, rest := c.split()
	var urls []string
	names := flow{}
	items := []flow{} // of a form, as HTTPie has them behind the address
	for _, a := range rest {
		if isMethod(a.text) {
			continue
		}
		if forms[c.name] && len(urls) > 0 {
			items = append(items, a)
			continue
		}
		urls = append(urls, a.text)
		if !strings.HasPrefix(a.text, "$") { // else the address itself is what is kept secret
			names.taint |= a.taint
		}
		c.host(a.text, c.at)
	}
	for _, o := range []string{"--url", "-x", "--proxy"} {
		if v, ok := options[o]; ok && o == "--url" {
			urls = append(urls, v.text)
			c.host(v.text, c.at)
		}
	}
	for _, o := range []string{"--resolve", "--connect-to", "-x", "--proxy"} { // who is called in truth
		for part := range strings.FieldsFuncSeq(options[o].text, func(r rune) bool { return r == ':' || r == '\n' || r == '/' }) {
			if strings.Count(part, ".") == 3 || strings.Contains(part, "metadata") {
				c.host(part, c.at)
			}
		}
	}
	c.empties(options, urls)
	drops := false
	for _, u := range urls {
		drops = drops || dropHost(u)
	}
	c.uploads(options, drops)
	if forms[c.name] {
		c.formItems(items)
	}
	if names.taint&(fromSecret|fromSystem|fromOwn) != 0 {
		c.sent(names, c.at)
	}
	switch { // an address carries as much as a form
	case names.taint&fromFile != 0:
		c.report("exfil.upload", 0, c.at)
	case names.taint&(fromHost|fromOutput) != 0:
		c.report("exfil.upload", passing, c.at)
	}
	for _, u := range urls {
		if strings.HasPrefix(u, "telnet://") || strings.HasPrefix(u, "gopher://") || strings.HasPrefix(u, "dict://") {
			if c.in.taint&fromShell != 0 {
				c.report("shell.reverse_shell", 0, c.at)
			}
			return flow{taint: fromSocket}
		}
		if strings.HasPrefix(u, "file://") {
			return c.readFile(flow{text: u, known: true})
		}
	}
	if len(urls) == 0 && !has(options, "-i", "--input-file", "-K", "--config") {
		return flow{}
	}
	out := flow{taint: brought(urls)}
	if i := slices.IndexFunc(urls, isURL); i >= 0 {
		c.fetchedLast = urls[i]
	}
	if c.comesFromVendor() {
		out.taint = fromVendor
	}
	c.savesTo(options, urls)
	switch {
	case has(options, "-o", "--output", "--output-document") && c.name != "wget", has(options, "--remote-name") && c.name == "curl", c.name == "curl" && has(options, "-O", "-J"):
		if v := options["-o"]; v.text == "-" || v.text == "/dev/stdout" {
			return out
		}
		return flow{}
	case c.name == "wget":
		o, ok := options["-O"]
		if !ok {
			o, ok = options["--output-document"]
		}
		if !ok || o.text != "-" && o.text != "/dev/stdout" {
			return flow{}
		}
	}
	return out
}

// forms are clients that take the items of a form as words: name=value, file@path, @path.
var forms = set("http https xh xhs httpie curlie")

// isMethod reports whether a word says what is asked of an address.
func isMethod(word string) bool {
	return listed("get post put patch delete head options", strings.ToLower(word))
}

// formItems judges what HTTPie and its kin send: the files that items name, and what comes in.
func (c *invocation) formItems(items []flow) {
	for _, a := range items {
		before, file, ok := strings.Cut(a.text, "@")
		f := flow{taint: a.taint}
		if ok && file != "" && !strings.Contains(before, ":/") {
			file, _, _ = strings.Cut(file, ";")
			f = both(f, c.readFile(flow{text: file, known: a.known}))
			f.taint |= fromFile
		}
		c.sends(f, c.at)
	}
	if c.fed {
		c.sends(c.in, c.at)
	}
}

// empties judges a request that deletes: elsewhere it is somebody's data, and on this machine
// where a whole index or collection of a store is named.
func (c *invocation) empties(options map[string]flow, urls []string) {
	deletes := false
	for _, o := range []string{"-X", "--request", "--method"} {
		deletes = deletes || strings.EqualFold(strings.TrimSpace(options[o].text), "delete")
	}
	if c.name != "curl" && c.name != "wget" {
		for _, u := range urls {
			deletes = deletes || u == "DELETE"
		}
	}
	if !deletes {
		return
	}
	for _, u := range urls {
		h := hostOf(u)
		p := strings.Trim(h.path, "/")
		switch kind := h.kind(); {
		case h.name == "" || u == "DELETE":
		case kind == "public" && strings.Contains(h.name, "."), kind == "loopback" && c.tunnelled, strings.ContainsAny(p, "*") || strings.Contains(p, "_all"),
			p != "" && !strings.Contains(p, "/") && !(isLoopback(h.name) && testName(p)) && listed("9200 5984 8086 6333 7700 8108 8983 2379 8500", h.port):
			c.report("destroy.cloud", 0.45, c.at)
		}
	}
}

// savesTo remembers where a download ends.
func (c *invocation) savesTo(options map[string]flow, urls []string) {
	names := []string{"-o", "--output", "--output-document"}
	if c.name == "wget" {
		names = []string{"-O", "--output-document"}
	}
	dir := options["-P"].text + options["--output-dir"].text + options["--directory-prefix"].text + options["--dir"].text
	if c.name == "aria2c" {
		dir += options["-d"].text
		names = append(names, "--out")
	}
	of := c.saved(urls)
	defer c.tookFrom(urls)()
	for _, o := range names {
		if v, ok := options[o]; ok && v.text != "" && v.text != "-" && v.text != "/dev/null" {
			if dir != "" {
				v.text = strings.TrimSuffix(dir, "/") + "/" + v.text
			}
			c.writeFile(v, flow{taint: of}, false)
			return
		}
	}
	if c.name == "wget" || c.name == "aria2c" || has(options, "-O", "--remote-name") {
		for _, u := range urls {
			u, _, _ = strings.Cut(u, "?")
			if i := strings.LastIndexByte(u, '/'); i > 8 && i+1 < len(u) {
				name := u[i+1:]
				c.putFile(name, flow{taint: of})
				if dir != "" {
					c.putFile(strings.TrimSuffix(dir, "/")+"/"+name, flow{taint: of})
				}
			}
		}
	}
}

// tookFrom notes, when the function is called that it returns, from which address the files came
// that were written meanwhile.
func (c *invocation) tookFrom(urls []string) func() {
	before := maps.Clone(c.files)
	return func() {
		for name := range c.files {
			if _, had := before[name]; !had && len(urls) > 0 {
				if c.addresses == nil {
					c.addresses = map[string]string{}
				}
				c.addresses[name] = urls[0]
			}
		}
	}
}

// saved is what is known of a file that is downloaded and kept. What this machine serves is one's
// own, unless a tunnel leads elsewhere. What comes whole from where people keep what they give to
// others can be looked at before it is run, as what is installed by a package's name.
func (c *invocation) saved(urls []string) taint {
	own, shelf := len(urls) > 0 && !c.tunnelled, len(urls) > 0
	for _, u := range urls {
		h := hostOf(u)
		own = own && isLoopback(h.name)
		shelf = shelf && h.scheme == "https" && h.kind() == "public" && !stranger(u)
	}
	t := brought(urls)
	switch {
	case own:
		return fromFile
	case shelf && t&fromNobody == 0:
		return t | fromShelf
	}
	return t
}

// brought says of a file where it came from: from the net, and from an address of which nobody
// can say whose it is: a number, a place where anybody leaves things, or by a line that anybody
// may hold.
func brought(urls []string) taint {
	t := fromNet
	for _, u := range urls {
		switch h := hostOf(u); {
		case h.kind() == "loopback" || h.kind() == "private":
		case h.addr.IsValid(), dropHost(u), strings.HasPrefix(strings.ToLower(u), "http://"), h.kind() == "metadata" || h.kind() == "linklocal":
			t |= fromNobody
		case stranger(u):
			t |= fromStranger
		}
	}
	return t
}

// uploads judges what is sent with a request.
func (c *invocation) uploads(options map[string]flow, drops bool) {
	for _, o := range []string{"-d", "--data", "--data-binary", "--data-raw", "--data-urlencode", "--json", "--url-query", "-F", "--form", "-T", "--upload-file", "--post-file", "--post-data", "--body-file", "--body-data", "-H", "--header", "-u", "--user", "-b", "--cookie"} {
		v, ok := options[o]
		if !ok {
			continue
		}
		for text := range strings.SplitSeq(v.text, "\n") {
			c.upload(o, flow{text: text, known: v.known, taint: v.taint}, drops)
		}
	}
}

// upload judges one value of an option that sends it.
func (c *invocation) upload(o string, f flow, drops bool) {
	file := ""
	switch o {
	case "-T", "--upload-file", "--post-file", "--body-file":
		file = f.text
	case "-H", "--header", "-u", "--user", "-b", "--cookie":
		if named, ok := strings.CutPrefix(f.text, "@"); ok && listed("-H --header", o) || listed("-b --cookie", o) && !strings.Contains(f.text, "=") {
			f.taint |= c.holds(strings.TrimPrefix(named, "@"))
		}
		if name := strings.ToLower(before(f.text, ':')); f.taint&(fromFile|fromOutput) != 0 && listed("-H --header", o) && !strings.Contains(name, "auth") && !strings.Contains(name, "token") && !strings.Contains(name, "key") {
			c.report("exfil.upload", passing, c.at)
		}
		if f.taint&(fromHost|fromPlace) == 0 { // a token that is meant for the host, and not all that is set
			f.taint &^= fromSecret
		}
	default:
		switch {
		case f.taint&fromFile != 0: // its content stands in the option itself
			c.report("exfil.upload", 0, c.at)
		case f.taint&fromOutput != 0:
			c.report("exfil.upload", passing, c.at)
		}
		if i := strings.IndexByte(f.text, '@'); i >= 0 && (i == 0 || f.text[i-1] == '=') && o != "--data-raw" {
			file, _, _ = strings.Cut(f.text[i+1:], ";")
		} else if i > 0 && o == "--data-urlencode" && !strings.Contains(f.text[:i], "=") {
			file = f.text[i+1:]
		} else if _, v, ok := strings.Cut(f.text, "=<"); ok && listed("-F --form", o) {
			file, _, _ = strings.Cut(v, ";")
		}
	}
	switch {
	case file == "-" || file == "." && o == "-T":
		if f.taint |= c.in.taint; !c.in.known { // what is piped is a file's content, or as good as one
			c.report("exfil.upload", 0, c.at)
		}
	case file != "":
		r := c.readFile(flow{text: file, known: f.known, taint: f.taint & namesAlong})
		f.taint |= r.taint
		c.report("exfil.upload", 0, c.at)
	}
	c.sent(f, c.at)
	if drops && (file != "" || f.taint != 0) {
		c.report("exfil.drop", 0, c.at)
	}
}
