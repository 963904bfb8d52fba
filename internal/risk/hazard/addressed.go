package hazard

import (
	"path"
	"slices"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
)

// What stands in an address goes to whoever has it, also where a program only fetches from there. A login
// is where an address has one: before its @. And who names another machine and a place of secrets in one
// command has given the one to the other, whatever the program calls it, but for what it logs in by.

// fetches are programs that are told addresses to bring something from them, and their subcommands that
// do; empty for all.
var fetches = map[string]string{
	"git": "ls-remote fetch clone pull remote submodule subtree archive fetch-pack http-fetch config request-pull bundle", "jj": "", "npm": "", "pnpm": "", "yarn": "", "bun": "add install x create", "pip": "", "pip3": "", "uv": "", "pipx": "", "poetry": "", "pdm": "", "go": "get install list mod run", "garble": "", "cargo": "",
}

// inAddresses judges what else than a login stands in the addresses, or among the words, that such a program
// asks others for.
func (c *invocation) inAddresses() {
	verbs, ok := fetches[c.name]
	if !ok {
		return
	}
	verb := ""
	for i, a := range c.args {
		if !strings.HasPrefix(a.text, "-") && (i == 0 || !listed("-c -C --git-dir --work-tree --prefix --dir", c.args[i-1].text)) {
			verb = a.text
			break
		}
	}
	if verbs != "" && !listed(verbs, verb) || listed("login logout adduser token publish version set", verb) || verb == "config" && c.name != "git" {
		return
	}
	for _, a := range c.args {
		if a.taint&(fromSecret|fromFile|fromHost|fromOutput|fromTyped) == 0 {
			continue
		}
		scheme, rest, addressed := strings.Cut(a.text, "://")
		if addressed && !listed("http https ssh git ftp ftps git+https git+ssh", strings.ToLower(scheme[strings.LastIndexAny(scheme, "= \"'")+1:])) {
			continue
		}
		authority := before(rest, '/')
		login := strings.Contains(authority, "@")
		behind := rest[strings.LastIndexByte(authority, '@')+1:]
		told := addressed && (!login || strings.Contains(behind, "$")) // and not only the login
		switch {
		case a.taint&fromPlace != 0 && (addressed || c.name != "git" && !strings.HasPrefix(a.text, "-") || strings.Contains(strings.ToLower(a.text), "extraheader")),
			told && a.taint&fromSecret != 0 && a.taint&(fromFile|fromKeeper) != 0:
			c.report("exfil.secret", 0, c.at)
		case told && a.taint&(fromSecret|fromTyped) != 0 && !c.toOwn:
			c.report("exfil.secret", 0.6, c.at)
		case told && a.taint&(fromFile|fromHost|fromOutput) != 0:
			c.speaksTo(a.text)
			c.report("exfil.upload", passing, c.at)
		}
	}
}

// tellsFiles are verbs of programs, whatever they are called, by which they send files that they are named.
var tellsFiles = set("backup upload push sync send put copy cp mirror submit import load attack archive replicate create publish report send-event artifact artifacts log-artifact beam share")

// byOtherMeans are programs of which other rows and functions say what becomes of the files that they are
// given, or that use them on the machine that they name.
func (c *invocation) byOtherMeans() bool {
	_, fetching := fetches[c.name]
	o, wraps := c.table.options[c.name]
	return fetching || speakers[c.name] || tellers[c.name] || readers[c.name] || harmless[c.name] || httpClients[c.name] && !loadClients[c.name] || remoteShells[c.name] || wraps && o.wraps >= 0 || shellWords[c.name] ||
		interpreters[c.name].language != "" || c.keepsSecrets() || listed("scp rsync sftp nc ncat netcat socat docker podman nerdctl kubectl oc helm git hg svn terraform tofu ansible ansible-playbook psql mysql mariadb pg_dump mysqldump openssl ssh-copy-id", c.name)
}

// givesPlaces judges that a command names another machine and a place of secrets.
func (c *invocation) givesPlaces() {
	if c.byOtherMeans() || c.copiesHere() {
		return
	}
	speaks, verb, from := false, tellsFiles[c.name], 0
	pushes := c.names("push", "publish", "upload", "copy", "cp", "attach", "mirror", "replicate")
	for i, a := range c.args[:min(len(c.args), 64)] {
		speaks = speaks || elsewhereIn(a.text) && (pushes || !namesImage(a.text)) || listed("-h --host", c.optionOf(i)) && strings.Contains(a.text, ".") && hostOf(a.text).kind() == "public"
		if tellsFiles[strings.ToLower(a.text)] {
			verb, from = true, i+1
		}
	}
	for _, name := range c.beside {
		speaks = speaks || elsewhereIn(c.vars[name].text)
	}
	if !speaks && !verb || !speaks && !c.table.hasProgram(c.name) && !sendsByName[c.name] {
		return
	}
	for i, a := range c.args {
		option, value, joined := strings.Cut(a.text, "=")
		if !joined || strings.ContainsAny(option, "/ ") {
			value = a.text
		}
		if strings.HasPrefix(value, "-") || c.isOwnKey(i) || c.takesCredential(i) || listed("-i -k -c --config --identity", c.optionOf(i)) || strings.Contains(value, "://") {
			continue
		}
		switch {
		case c.holds(value)&(fromPlace|fromAlong) != 0 || c.holdsKeys(value):
			c.report("exfil.secret", 0.6, c.at)
			return
		case speaks && verb && (i >= from && !strings.HasPrefix(a.text, "-") || strings.ContainsAny(value, "/.")) && !elsewhereIn(value) && !isDigits(value):
			c.namesHosts()
			c.report("exfil.upload", passing, c.at)
		}
	}
}

// namesImage reports whether a word is the name of an image with its tag, registry/name:tag, which goes nowhere
// until it is pushed.
func namesImage(word string) bool {
	registry, name, named := strings.Cut(word, "/")
	return named && !strings.ContainsAny(registry, "@=") && strings.ContainsAny(name, ":@") && !strings.HasPrefix(name, "/") && !strings.HasSuffix(registry, ":")
}

// carriesInto notes, of a program of which nothing else is known, that what a place of secrets holds may be in the
// files that it names beside that place, whatever it calls them, and that whoever sends one is asked.
func (c *invocation) carriesInto() {
	if !carriesOn[c.name] && (c.byOtherMeans() || handlers[c.name] != nil || compilers[c.name] || browsers[c.name]) {
		return
	}
	var names []string
	secret := false
	for i, a := range append(c.args[:len(c.args):len(c.args)], c.in) {
		last := i == len(c.args)
		if len(names) > maxWords || len(a.text) > 4<<10 || !last && (c.isOwnKey(i) || c.takesCredential(i) || envOption.MatchString(c.optionOf(i))) {
			continue
		}
		for j, word := range strings.FieldsFunc(a.text, inOrders) {
			switch {
			case strings.HasPrefix(word, "-") || strings.Contains(word, "://") || strings.ContainsAny(word, "*$"):
			case strings.HasPrefix(path.Base(word), ".env") && strings.Contains(word, "example"), last && j > maxWords:
			case c.holds(word)&fromPlace != 0:
				secret = true
			case strings.ContainsAny(word, "./") && strings.Trim(word, "./") != "", !last && word == a.text && i > 0 && c.holds(c.args[i-1].text)&fromPlace != 0:
				names = append(names, before(word, ':'))
			}
		}
	}
	if !secret {
		return
	}
	if c.name == "split" || c.name == "csplit" {
		names = append(names, c.pieces()...)
	}
	for _, name := range names {
		if name = scriptName(name); name != "" {
			c.keeps(Along(name))
		}
	}
}

// envOption is an option by whose name a program is told which variables it has.
var envOption = lazyregexp.New(`^-[a-z-]*env[a-z-]*$`)

// carriesOn are programs that others say something of, and that put one file into another by what they are ordered.
var carriesOn = set("ansible sqlite3 duckdb ed ex vim vi nvim emacs ffmpeg magick convert split csplit")

// inOrders reports whether a character stands between the words of an order that a program is given as one text.
func inOrders(r rune) bool { return strings.ContainsRune(" \t\n=<>(),;|\"'`", r) }

// pieces are the first names of what split makes, as it calls them.
func (c *invocation) pieces() (names []string) {
	prefix := "x"
	if c.name == "csplit" {
		prefix = "xx"
	}
	_, rest := c.split()
	if v := c.optionValues("-f --prefix"); len(v) > 0 {
		prefix = v[0]
	} else if c.name == "split" && len(rest) > 1 {
		prefix = rest[len(rest)-1].text
	}
	for _, second := range "abcdefgh01234567" {
		first := "a"
		if second < 'a' {
			first = "0"
		}
		names = append(names, prefix+first+string(second))
	}
	return names
}

// sendsByName are programs that send what they are given to a service that they know by themselves.
var sendsByName = set("vegeta wandb mlflow asciinema codecov sentry-cli bq dvc hf huggingface-cli kaggle comet neptune dagshub clearml lp lpr snyk sonar-scanner newman gist pastebinit")

// hasProgram reports whether the table says anything of a program that sends.
func (t *Table) hasProgram(name string) bool {
	return slices.ContainsFunc(t.programs[name], func(u use) bool { return u.sends })
}

// elsewhereIn reports whether a word is, or has in it, the address of another machine than those of one's own
// networks.
func elsewhereIn(word string) bool {
	if i := strings.Index(word, "://"); i >= 0 {
		from := strings.LastIndexFunc(word[:i], func(r rune) bool { return r != '+' && r != '-' && (r|0x20 < 'a' || r|0x20 > 'z') }) + 1
		h := hostOf(word[from:])
		return h.kind() == "public" && (strings.Contains(h.name, ".") || h.addr.IsValid()) && !strings.HasPrefix(word[from:], "file:")
	}
	_, after, joined := strings.Cut(word, "=")
	if joined && !strings.Contains(word[:len(word)-len(after)], "/") {
		word = after
	}
	if strings.HasPrefix(word, "-") || !strings.Contains(word, "@") && !strings.Contains(word, ":") && hostOf(word).addr.String() == "invalid IP" || !hasHostForm(word) {
		return false
	}
	h := hostOf("ssh://" + strings.TrimLeft(word, "/"))
	return h.kind() == "public" && (strings.Contains(h.name, ".") || h.addr.IsValid())
}
