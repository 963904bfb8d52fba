package hazard

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/yamldoc"
)

// What a place of secrets holds, or what keeps secrets gives out, is followed as a value: through
// substitutions, pipes, redirections, variables, copies. Here is where it may not arrive: at a
// program that speaks to others, in any of its words, in a file that it is told to send, or in what
// comes in. What an option is called does not matter for that; whether the program is the one that
// the secret is for does.

// leaving is what a call has on its way to others.
type leaving struct {
	opens          map[string]flow           // what was opened under numbers
	takers         map[string][]*syntax.Stmt // commands that read what is written to a name
	pairs          [][2]string               // what was put into a repository
	gone           []string                  // files that are sent, by their names
	pushed         bool                      // a repository was sent
	pushedStash    bool                      // and what was put aside in it
	recordedSecret taint                     // of what was put into a repository and is secret
	stashedAlong   bool                      // a stash was made of files of secrets that nothing named, too
}

// leaks judges that a command that speaks to others is given what a place of secrets holds, or that
// one whose words are texts for others is given any secret.
func (c *invocation) leaks() {
	c.recordsElsewhere()
	c.mountsKeys()
	c.mounts()
	c.strays()
	c.inAddresses()
	c.givesPlaces()
	c.backsUp()
	c.handsTexts()
	c.configured()
	tells := c.said(func(u *use) bool { return u.tells })
	if c.keepsSecrets() {
		c.keepsElsewhere()
		return
	}
	if !tells && !c.speaks() {
		return
	}
	c.assessor.speaks = true
	c.tellsTyped(tells)
	var told taint
	if !c.loginByInput() {
		if told = c.in.taint; loadClients[c.name] && c.name != "vegeta" && told&fromSecret != 0 { // whose requests say by which login
			told |= fromPlace
		}
	}
	for i := range c.args {
		if c.takesCredential(i) {
			continue
		}
		told |= c.carried(i, tells)
		c.encoded(c.args[i].text, c.at)
	}
	if c.in.known {
		c.encoded(c.in.text, c.at)
	}
	if ordered[c.name] {
		told |= c.clientReads(c.in.text)
	}
	if told&fromFile != 0 {
		c.assessor.sends = true // and what of it is a secret, an earlier call may have said
	}
	c.leaked(told, tells)
	c.loginsAstray()
}

// keepsElsewhere judges that a place of secrets is given to a keeper in a repository or an organization
// that the command names, which need not be that of the project: whoever owns it has them then.
func (c *invocation) keepsElsewhere() {
	if !listed("gh glab", c.name) {
		return
	}
	told, elsewhere := c.in.taint, false
	for i, a := range c.args {
		option := before(a.text, '=')
		elsewhere = elsewhere || listed("-R --repo -o --org -g --group", option) || strings.HasPrefix(a.text, "-R") && strings.Contains(a.text, "/")
		if told |= a.taint; listed("-f --env-file", c.optionOf(i)) {
			told |= c.handed(a.text)
		}
	}
	if elsewhere && told&(fromPlace|fromTyped) != 0 {
		c.report("exfil.secret", 0.6, c.at)
	}
}

// configured judges what curl is told in a file of options, or in what comes in, as if it stood in the
// line: data = @.env.
func (c *invocation) configured() {
	if c.name != "curl" || c.wrap > maxStarts {
		return
	}
	for i, a := range c.args {
		name := a.text
		switch rest, joined := strings.CutPrefix(name, "-K"); {
		case i > 0 && listed("-K --config", c.args[i-1].text):
		case joined && rest != "":
			name = rest
		case strings.HasPrefix(name, "--config="):
			name = name[len("--config="):]
		default:
			continue
		}
		said, known := c.getFile(name)
		if name == "-" {
			said, known = c.in, c.in.known
		}
		if !known || len(said.text) > 64<<10 {
			continue
		}
		words := []flow{{text: "curl", known: true}}
		for line := range strings.Lines(said.text) {
			line = strings.TrimSpace(line)
			value := ""
			if i := strings.IndexAny(line, "=: \t"); i > 0 {
				line, value = line[:i], strings.TrimLeft(line[i:], "=: \t")
			}
			if line == "" || strings.HasPrefix(line, "#") || len(words) > maxWords {
				continue
			}
			if !strings.HasPrefix(line, "-") {
				line = "--" + line
			}
			words = append(words, flow{text: line, known: true})
			if value = strings.Trim(value, `"`); value != "" {
				words = append(words, flow{text: value, known: true, taint: said.taint})
			}
		}
		c.invoke(append(append(words, c.args[:max(0, i-1)]...), c.args[i+1:]...), flow{}, c.wrap+1)
	}
}

// loginsAstray judges that a client of HTTP logs in with a secret where nobody should: at a place from
// which strangers collect things, at a bare number or without encryption outside of one's own networks,
// or with more secrets than a login has.
func (c *invocation) loginsAstray() {
	if !httpClients[c.name] {
		return
	}
	if c.issuedAstray() {
		c.report("exfil.secret", 0.6, c.at)
	}
	names, told := map[string]bool{}, false
	for _, a := range c.args {
		if a.taint&fromSecret == 0 {
			continue
		}
		told = true
		for _, part := range strings.Split(a.text, "$")[1:] {
			name := strings.TrimLeft(part, "{")
			if end := strings.IndexFunc(name, func(r rune) bool { return r != '_' && (r > 'z' || !isLetter(byte(r)) && !isDigits(string(r))) }); end >= 0 {
				name = name[:end]
			}
			if secretName(name) {
				names[name] = true
			}
		}
	}
	if !told {
		return
	}
	if len(names) > maxLogins {
		c.report("exfil.secret", 0.6, c.at)
	}
	for _, a := range c.args {
		if strings.HasPrefix(a.text, "-") || strings.ContainsAny(a.text, " \n") {
			continue
		}
		switch h := hostOf(a.text); {
		case h.name == "" || !isURL(a.text) && !hasHostForm(a.text):
		case dropHost(a.text):
			c.report("exfil.secret", 0, c.at)
		case h.kind() == "public" && strings.Contains(h.name, ".") && !strings.ContainsAny(h.name, "$") && (h.addr.IsValid() || h.scheme == "http"):
			c.report("exfil.secret", 0.6, c.at)
		}
	}
}

// issuedAstray reports whether a token that only one service takes goes to a host which is none of that service's.
func (c *invocation) issuedAstray() bool {
	if !slices.ContainsFunc(c.args, func(a flow) bool { return a.taint&fromIssuer != 0 }) {
		return false
	}
	return slices.ContainsFunc(c.hostsTold(), func(h host) bool {
		return !c.held.own(h) && !slices.ContainsFunc(c.issued, func(domain string) bool { return h.name == domain || strings.HasSuffix(h.name, "."+domain) })
	})
}

// maxLogins is how many secrets a login has: an id and its key.
const maxLogins = 2

// leaked judges that something is given to others. A variable by whose name a secret is in it is less
// than what was read: who writes of it in quotes that the shell looks into meant its name, perhaps.
func (s *shell) leaked(t taint, tells bool) {
	switch {
	case t&fromPlace != 0, tells && t&fromSecret != 0 && t&(fromFile|fromKeeper) != 0:
		s.report("exfil.secret", 0, s.at)
	case tells && t&fromSecret != 0, t&fromAlong != 0 && !s.near:
		s.report("exfil.secret", 0.6, s.at)
	}
}

// said reports whether a row of the table that is true of the command says something of it.
func (c *invocation) said(what func(*use) bool) bool {
	rows := c.table.told[c.name]
	var own []flow
	for i := range rows {
		if !what(&rows[i]) {
			continue
		}
		if own == nil {
			own = c.ownWords()
		}
		if rows[i].isOf(own) {
			return true
		}
	}
	return false
}

// keepsSecrets reports whether the command is one of a place in which people keep their secrets, or
// has a system of their own use them: what it is given belongs there.
func (c *invocation) keepsSecrets() bool { return c.said(func(u *use) bool { return u.keeps }) }

// speaks reports whether the command speaks to others with its words: it is one of those that are
// told hosts, or one that nobody knows and that is given an address.
func (c *invocation) speaks() bool {
	if httpClients[c.name] || ordered[c.name] && strings.Contains(c.joined(c.args).text, "://") || c.said(func(u *use) bool { return u.speaks }) {
		return true
	}
	if c.name == "git" || localHosts[c.name] || readers[c.name] || harmless[c.name] || tellers[c.name] || speakers[c.name] {
		return false
	}
	if rows := c.table.hosts[c.name]; len(rows) > 0 {
		return slices.ContainsFunc(rows, func(r hostRow) bool { return r.words.among(c.args) })
	}
	if _, wraps := c.table.options[c.name]; wraps && c.table.options[c.name].wraps >= 0 || shellWords[c.name] || interpreters[c.name].language != "" {
		return false
	}
	return slices.ContainsFunc(c.args, func(a flow) bool {
		_, after, ok := strings.Cut(a.text, "://")
		return ok && !strings.HasPrefix(a.text, "file:") && !strings.ContainsAny(before(a.text, ':'), " \n$") && hostOf(a.text).kind() == "public" && after != ""
	})
}

// localHosts are programs that are told hosts or registries for what they bring, and whose words and
// input stay on this machine or go to what somebody runs themselves.
var localHosts = set("npm pnpm yarn pip pip3 uv pipx poetry pdm go garble cargo mount nmap")

// loginByInput reports whether the command is told that its input is the password that it logs in with.
func (c *invocation) loginByInput() bool {
	return slices.ContainsFunc(c.args, func(a flow) bool {
		return strings.HasPrefix(a.text, "--") && strings.Contains(a.text, "stdin") || a.text == "--with-token"
	})
}

// credentialWords are in the names of options by which programs are told how to log in.
var credentialWords = []string{"key", "token", "secret", "pass", "credential", "cert", "auth", "identity", "env-file"}

// takesCredential reports whether a word is, or is the value of, an option by whose name the program
// is told how to log in. What an HTTP client is told so goes to whom its address says, so that of it
// a place of secrets counts.
func (c *invocation) takesCredential(i int) bool {
	option, _, joined := strings.Cut(c.args[i].text, "=")
	if !joined || !strings.HasPrefix(option, "-") {
		if i == 0 {
			return false
		}
		option = c.args[i-1].text
	}
	switch {
	case listed("-H --header --proxy-header -header --headers --add-header --metadata -rpc-header -reflect-header", option):
		return c.args[i].taint&fromPlace == 0 && loginHeader(c.args[i].text)
	case !strings.HasPrefix(option, "--"), strings.Contains(option, "="), httpClients[c.name]:
		return strings.HasPrefix(option, "-") && listed(c.table.keys[c.name], option)
	}
	return slices.ContainsFunc(credentialWords, func(w string) bool { return strings.Contains(option, w) })
}

// httpClients send what they are told to whatever address they are told.
var httpClients = set("curl curlie wget fetch http https xh xhs httpie aria2c websocat wscat grpcurl " + measuring)

// loadClients are those of them by which servers are measured: but for its login, all that one is told is sent.
var loadClients = set(measuring)

const measuring = "hey oha ab wrk wrk2 bombardier vegeta autocannon siege h2load httperf plow cassowary boom ghz evans loadtest rakyll baton ali fortio"

// carried is what a word brings with it: what was substituted in it, and what the file holds that it
// names as one to send.
func (c *invocation) carried(i int, tells bool) taint {
	a := c.args[i]
	t := a.taint
	if httpClients[c.name] && t&fromSecret != 0 && t&fromPlace == 0 {
		t |= c.misplaced(i)
	}
	for _, name := range fileOf(a.text) {
		t |= c.handed(name)
	}
	if loadClients[c.name] && listed("-D -p -body -f --body-file -i", c.optionOf(i)) { // what every request brings
		t |= c.handed(a.text)
	}
	if option := c.optionOf(i); httpClients[c.name] && strings.HasPrefix(option, "-") {
		if _, name, ok := strings.Cut(a.text, "@"); ok && !strings.Contains(name, "@") {
			t |= c.handed(name) // name@file
		}
		if listed("-K --config --variable", option) {
			t |= c.handed(a.text)
			if name, ok := strings.CutPrefix(a.text, "%"); ok && secretName(before(name, '=')) {
				t |= fromSecret | fromPlace // a variable of the environment, put in where the line does not show it
			}
		}
	}
	if tells && i > 0 && strings.HasPrefix(c.args[i-1].text, "-") && !saysToPeople[c.args[i-1].text] {
		t |= c.handed(a.text)
	} else if _, value, joined := strings.Cut(a.text, "="); tells && joined && strings.HasPrefix(a.text, "-") {
		t |= c.handed(value)
	}
	if ordered[c.name] {
		t |= c.clientReads(a.text)
	}
	return t
}

// ordered are clients of databases whose orders name files of this machine.
var ordered = set("duckdb psql pgcli ysqlsh mysql mariadb mycli mysqlsh sqlcmd mongosh clickhouse-client clickhouse cqlsh snowsql bq influx cockroach")

// optionOf is the option of which a word is the value, if it is one's.
func (c *invocation) optionOf(i int) string {
	if option, _, joined := strings.Cut(c.args[i].text, "="); joined && strings.HasPrefix(option, "--") {
		return option
	}
	if i == 0 || strings.HasPrefix(c.args[i].text, "-") {
		return ""
	}
	return c.args[i-1].text
}

// fileOf are the files that a word names as those whose content is meant: @f, x=@f, file://f.
func fileOf(word string) (names []string) {
	for _, scheme := range []string{"file://", "fileb://"} {
		if _, name, ok := strings.Cut(word, scheme); ok {
			names = append(names, name)
		}
	}
	name, ok := strings.CutPrefix(word, "@")
	if !ok {
		_, name, ok = strings.Cut(word, "=@")
	}
	if ok && name != "" {
		names = append(names, before(name, ';'))
	}
	return names
}

// handed is what a file holds that is sent. It is known by its name, too, if an earlier call put it there.
func (c *invocation) handed(name string) taint {
	t := c.holds(name)
	if name := scriptName(name); t != 0 && name != "" && len(c.gone) < maxRan {
		c.gone = append(c.gone, name)
	}
	return t &^ fromFile
}

// holds is what a file holds, by what the script put there or by its place. It is no finding of its
// own that it is read.
func (c *invocation) holds(name string) taint {
	if name == "" || name == "-" || len(name) > 512 || strings.ContainsAny(name, " \n\t") {
		return 0
	}
	name = c.through(name, true)
	if f, ok := c.getFile(name); ok {
		return f.taint
	}
	t := c.unnamed(flow{text: name, known: true})
	for _, p := range []string{name, c.from(name), globbedKeys(name)} {
		if pl := c.asPath(p).place(); p != "" && pl.read >= 0.3 && pl.reads != "" {
			return fromFile | fromSecret | fromPlace
		}
	}
	return fromFile | t
}

// clientReads is what the files hold that a client of a database is told to read on this machine:
// \copy t from f, LOAD DATA LOCAL INFILE f.
func (c *invocation) clientReads(orders string) (t taint) {
	if len(orders) > 64<<10 {
		return 0
	}
	low := strings.ToLower(orders)
	reads := strings.Contains(low, `\`) || strings.Contains(low, "infile") || strings.Contains(low, "read_")
	for i, w := range strings.FieldsFunc(orders, func(r rune) bool { return strings.ContainsRune(" \t\n;()", r) }) {
		if name := strings.Trim(w, `'"`); reads && i > 0 && name != "" {
			t |= c.handed(name)
		}
	}
	return t
}

// misplaced is what one secret counts for in a request: nothing where a login is told, and as much
// as all of a place where it stands in what is no login's.
func (c *invocation) misplaced(i int) taint {
	option := c.optionOf(i)
	if loadClients[c.name] {
		if listed("-a -A --auth --basic --basic-auth --user -u --bearer --cookie -C --cookies", option) {
			return 0
		}
		return fromPlace
	}
	if listed("-A --user-agent -U -e --referer --referrer -H --header --proxy-header", option) {
		return fromPlace
	}
	return 0
}

// loginHeader reports whether a header is one by which somebody logs in.
func loginHeader(header string) bool {
	name := strings.ToLower(before(header, ':'))
	return slices.ContainsFunc(credentialWords, func(w string) bool { return strings.Contains(name, w) }) ||
		slices.ContainsFunc([]string{"cookie", "session", "sign", "jwt", "bearer", "id"}, func(w string) bool { return strings.Contains(name, w) })
}

// filters is what comes out of the files that the lines of a program are run for: perl -pe, ruby -ne.
// One secret that awk chooses among them is not all of them.
func (c *invocation) filters(i interpreter, code []flow) (t taint) {
	if !listed("perl ruby awk", i.language) {
		return 0
	}
	for _, a := range c.args {
		if !strings.HasPrefix(a.text, "-") && !slices.ContainsFunc(code, func(f flow) bool { return f.text == a.text }) {
			t |= c.holds(a.text) & (fromFile | fromSecret | fromPlace)
		}
	}
	return t
}

// chosen is a text of which a program has chosen one part by its name: of a place of secrets it is one
// of them, and not what the place holds.
func chosen(f flow, pattern string) flow {
	named := 0
	for _, r := range pattern {
		if r == '_' || r|0x20 >= 'a' && r|0x20 <= 'z' {
			if named++; named == 3 {
				f.taint &^= fromPlace
				return f
			}
		} else {
			named = 0
		}
	}
	return f
}

// holdsKeys reports whether a path is that of a folder for keys and passwords, of all that is in it, or
// of a file of such a place.
func (s *shell) holdsKeys(p string) bool {
	for _, q := range []string{p, s.from(p)} {
		q = strings.TrimSuffix(normalPath(strings.TrimSuffix(q, "*")).text, "/")
		if len(q) < 2 || q == "~" {
			continue
		}
		for _, name := range []string{"", "/credentials", "/config.json", "/config", "/hosts.yml", "/x"} {
			if pl := placeOf(q + name); strings.HasPrefix(pl.reads, "secret.") && pl.read >= 0.6 {
				return true
			}
		}
	}
	return false
}

// namesSecret reports whether a word that files are looked for by is the name of such a file.
func namesSecret(word string) bool {
	if globbedKeys(word) != "" {
		return true
	}
	word = strings.Trim(strings.ReplaceAll(word, `\`, ""), "^$/*")
	return len(word) > 2 && placeOf(word).read >= 0.3
}

// found are the names that a program finds in an index of all files.
func (c *invocation) found() flow {
	if slices.ContainsFunc(c.args, func(a flow) bool { return namesSecret(a.text) }) {
		return flow{taint: fromSecret | fromPlace}
	}
	return flow{}
}

var (
	// sedEmpties is an order of sed that takes away what stands behind the names of variables, once it
	// stands in |, and sedPicks one that leaves the line of one name.
	sedEmpties = lazyregexp.New(`^s\|[^|&\\]*=\.[*+]\$?\|[^|&\\]*\|g?$`)
	sedPicks   = lazyregexp.New(`(?:^|[;\s])(?:/\^?[A-Za-z_]{3,}[^/]*/\{?[ps]|s[/|#,]\^?[A-Za-z_]{3,}=)`)
	// awkNames and awkPicks are the same of awk.
	awkNames = lazyregexp.New(`^(?:\s*/[^/]*/)?\s*(?:NF)?\s*\{\s*print \$1\s*(?:"=[^"]*")?\s*;?\s*\}\s*$`)
	awkPicks = lazyregexp.New(`/\^?[A-Za-z_]{2,}[^/]*/|\$1\s*==\s*"`)
)

// sedNames reports whether a script of sed leaves of lines such as KEY=value what stands before the
// value.
func sedNames(script string) bool {
	if len(script) < 5 || !strings.ContainsRune("/|#,", rune(script[1])) || script[1] != '|' && strings.Contains(script, "|") {
		return false
	}
	return sedEmpties.MatchString(strings.ReplaceAll(script, script[1:2], "|"))
}

// namesOnly is a text of lines such as KEY=value without the values. Of keys each line is one.
func namesOnly(f flow) flow {
	if f.taint&(fromKeys|fromHost) == 0 {
		f.taint &^= fromSecret | fromPlace
	}
	return f
}

// cuts is cut: of lines such as KEY=value it may leave the names.
func (c *invocation) cuts() flow {
	out := c.ordinary()
	var words []string
	for _, a := range c.args {
		words = append(words, strings.Trim(a.text, "'\""))
	}
	line := " " + strings.Join(words, " ") + " "
	if (strings.Contains(line, " -d= ") || strings.Contains(line, " -d = ")) && (strings.Contains(line, " -f1 ") || strings.Contains(line, " -f 1 ")) {
		return namesOnly(out)
	}
	options, _ := c.split()
	fields := ""
	for _, v := range c.optionValues("-f --fields") {
		fields += v
	}
	for _, v := range c.optionValues("-c -b --characters --bytes") {
		if !strings.HasPrefix(v, "-") && !strings.HasPrefix(v, "1") {
			out.taint |= inOtherForm(out.taint)
		}
	}
	if fields != "" && !strings.HasPrefix(fields, "1") && !strings.HasPrefix(fields, "-") && (strings.Contains(line, " -d= ") || strings.Contains(line, " -d = ") || options["-d"].text == "=") {
		out.taint |= valuesAlone(out.taint)
	}
	return out
}

// jqNames is a program of jq or yq that prints the names in an object, and no value.
var jqNames = lazyregexp.New(`^\s*(?:\.[A-Za-z0-9_.]*\s*\|\s*)*(?:keys|keys_unsorted)(?:\[\])?(?:\s*\|\s*(?:\.\[\]|length|sort|join\("[^"\\]*"\)|@csv|@tsv))*\s*$`)

// jqSettings is one that prints a setting which is no secret, whatever else stands beside it.
var jqSettings = lazyregexp.New(`^\s*(?:\.?[A-Za-z0-9_"-]*(?:\[\d*\])?)*\."?(?:name|type|server|namespace|region|account|current-?[cC]ontext|credsStore|credHelpers|project_id|quota_project_id|client_email)"?(?:\s*//\s*(?:"[^"\\]*"|empty|null))?\s*$`)

// picks is jq: of what it is given it may leave the names.
func (c *invocation) picks() (out flow) {
	if c.picksNames() {
		c.kept(previewed, 0, func() { out = c.ordinary() })
		out.taint &^= fromSecret | fromPlace | fromKeys | fromKeeper
		return out
	}
	if out = c.ordinary(); slices.ContainsFunc(c.args, func(a flow) bool { return jqRecodes.MatchString(a.text) }) {
		out.taint |= inOtherForm(out.taint)
	}
	return both(out, flow{text: c.putsMembers()})
}

// picksNames reports whether all that jq prints of the files that it is given are names in an object, or a setting
// that is no secret.
func (c *invocation) picksNames() bool {
	if !listed("jq yq gojq jaq", c.name) {
		return false
	}
	programs := 0
	for _, a := range c.args {
		switch t := strings.Trim(a.text, "'\""); {
		case listed("-r -c -e -S -M -C --raw-output --compact-output --sort-keys -cr -rc", t):
		case a.known && programs == 0 && (jqNames.MatchString(t) || jqSettings.MatchString(a.text)):
			programs++
		case programs == 0 || strings.HasPrefix(t, "-"):
			return false
		}
	}
	return programs == 1
}

// mountsKeys judges that a container is given a folder or a file of keys of this machine: what runs in
// it, which nobody sees here, has them.
func (c *invocation) mountsKeys() {
	if !listed("docker podman nerdctl docker-compose podman-compose", c.name) || len(c.args) == 0 {
		return
	}
	name := c.givesKeys
	for i, a := range c.args {
		option, value, joined := strings.Cut(a.text, "=")
		if !joined && i+1 < len(c.args) {
			value = c.args[i+1].text
		}
		switch option {
		case "-v", "--volume":
			name(before(value, ':'))
		case "--mount":
			for part := range strings.SplitSeq(value, ",") {
				if k, v, _ := strings.Cut(part, "="); listed("src source", k) {
					name(v)
				}
			}
		case "--build-context":
			_, folder, _ := strings.Cut(value, "=")
			name(folder)
		}
	}
	if !listed("build buildx", c.args[0].text) {
		return
	}
	_, rest := c.split()
	for _, context := range rest {
		for line := range strings.Lines(c.in.text[:min(len(c.in.text), 64<<10)]) {
			words := strings.Fields(line)
			if len(words) < 3 || !listed("copy add", strings.ToLower(words[0])) {
				continue
			}
			for _, w := range words[1 : len(words)-1] {
				name(strings.TrimSuffix(context.text, "/") + "/" + w)
			}
		}
	}
}

// homeOrElse is the home folder with what is taken in its absence, as Compose has it.
var homeOrElse = lazyregexp.New(`^\$\{HOME:?[-?][^}]*\}`)

// givesKeys judges that a container is given a file or folder of this machine.
func (s *shell) givesKeys(p string) {
	if s.holdsKeys(p) {
		s.report("secret.read", 0.45, s.at)
	}
}

// composedMounts are what the services of a text for Compose are given of this machine, and what their images are
// built from.
func composedMounts(text string) (from []string) {
	if len(text) > 256<<10 || !strings.Contains(text, "services") {
		return nil
	}
	root := yamldoc.Read(text, func(yamldoc.Fault) {})
	if root == nil {
		return nil
	}
	services := root.Get("services")
	if services == nil {
		return nil
	}
	for _, service := range services.Members {
		if volumes := service.Value.Get("volumes"); volumes != nil {
			for _, mount := range volumes.Items {
				if source := mount.Get("source"); source != nil {
					mount = source
				}
				from = append(from, before(homeOrElse.ReplaceAllString(mount.Text, "~"), ':'))
			}
		}
		if build := service.Value.Get("build"); build != nil {
			if contexts := build.Get("additional_contexts"); contexts != nil {
				for _, folder := range contexts.Members {
					from = append(from, folder.Value.Text)
				}
			}
		}
	}
	return from
}

// A client that is told another address than its service's takes its login along. Which addresses
// are a service's own, or speak its language, stands here.
var redirects = map[string]struct{ options, variables, own, logins string }{
	"aws":     {"--endpoint-url", "AWS_ENDPOINT_URL", "amazonaws.com amazonaws.com.cn api.aws cloudflarestorage.com digitaloceanspaces.com backblazeb2.com wasabisys.com scw.cloud linodeobjects.com googleapis.com vultrobjects.com supabase.co tigris.dev storage.dev min.io ovh.net oraclecloud.com aliyuncs.com yandexcloud.net hetzner.com your-objectstorage.com", "--no-sign-request"},
	"kubectl": {"-s --server", "", "amazonaws.com azmk8s.io gke.goog", "--token --kubeconfig --client-certificate --username"},
	"oc":      {"-s --server", "", "openshift.com openshiftapps.com", "--token --kubeconfig --client-certificate --username"},
}

// strays judges that a client is told an address of a stranger, and no login for it.
func (c *invocation) strays() {
	r, ok := redirects[c.name]
	if !ok || slices.ContainsFunc(c.args, func(a flow) bool { return listed(r.logins, before(a.text, '=')) }) {
		return
	}
	if i := slices.IndexFunc(c.args, func(a flow) bool { return a.text == "--" }); i >= 0 { // what follows is another's
		own := *c
		own.args = c.args[:i]
		c = &own
	}
	addresses := c.valuesOf(r.options)
	for name, v := range c.vars {
		if r.variables != "" && strings.HasPrefix(name, r.variables) {
			addresses = append(addresses, v.text)
		}
	}
	for _, address := range addresses {
		h := hostOf(address)
		if h.kind() != "public" || !strings.Contains(h.name, ".") && !h.addr.IsValid() {
			continue
		}
		own := false
		for name := h.name; name != "" && !own; _, name, _ = strings.Cut(name, ".") {
			own = listed(r.own, name)
		}
		if !own {
			c.report("secret.redirected", 0, c.at)
			return
		}
	}
}

// shownBy is what Git prints of the files that its words name: HEAD:.env, -- .env.
func (c *invocation) shownBy(words []flow) flow {
	out := flow{taint: fromFile}
	for _, w := range words {
		_, name, of := strings.Cut(w.text, ":")
		if !of {
			name = w.text
		}
		if !strings.HasPrefix(name, "-") {
			out.taint |= c.holds(name) & (fromSecret | fromPlace)
		}
	}
	return out
}

// secretAt reports whether a path is of a place of secrets, or of a folder that is one.
func (c *invocation) secretAt(p string) bool {
	p = strings.TrimSuffix(p, "/")
	if f, ok := c.getFile(p); ok {
		return f.taint&fromSecret != 0
	}
	for _, name := range []string{"", "/credentials", "/config.json", "/config", "/hosts.yml", "/x"} {
		if pl := placeOf(normalPath(p + name).text); p != "" && pl.read >= 0.3 && (name == "" || strings.HasPrefix(pl.reads, "secret.")) {
			return true
		}
	}
	return false
}

// namesSecrets judges that a command is given the name of a file of keys or passwords.
// Whatever the command is, it has the file then: of most it is known what they do with it,
// and that weighs more; of the others it is not.
func (c *invocation) namesSecrets() {
	if speakers[c.name] || c.onlyMeasures() || c.picksNames() || c.name == "git" && len(c.args) > 0 && (c.args[0].text == "commit" || c.args[0].text == "tag" || c.args[0].text == "log" || c.args[0].text == "grep") {
		return
	}
	key := c.keyOf()
	for i, a := range c.args {
		if !strings.ContainsAny(a.text, "/~") || i == key || c.isOwnKey(i) {
			continue
		}
		for _, word := range strings.FieldsFunc(a.text, func(r rune) bool { return strings.ContainsRune(" \t\n=:@,;|&<>'\"`(){}", r) }) {
			if pl := c.asPath(word).place(); strings.HasPrefix(pl.reads, "secret.") && pl.read >= 0.6 {
				c.report("secret.read", 0.4, c.at)
				return
			}
		}
	}
}

// onlyMeasures reports whether a command tells of the names, sizes and rights of files, and nothing that stands in
// one: what is told the files to look at by another one shows what that holds.
func (c *invocation) onlyMeasures() bool {
	return listed("du tree exa eza lsd namei realpath readlink basename dirname lsattr getfacl", c.name) &&
		!slices.ContainsFunc(c.args, func(a flow) bool {
			return strings.HasPrefix(a.text, "--from") || strings.HasPrefix(a.text, "--file") || strings.HasPrefix(a.text, "--exclude-from") || strings.HasPrefix(a.text, "-X")
		})
}

// isOwnKey reports whether a word names the file of keys that the command uses for what it is for.
func (c *invocation) isOwnKey(i int) bool {
	own := c.table.keys[c.name]
	if own == "" {
		return false
	}
	option, _, joined := strings.Cut(c.args[i].text, "=")
	return joined && listed(own, option) || i > 0 && listed(own, c.args[i-1].text) && !strings.HasPrefix(c.args[i].text, "-")
}

// keyOf is which word is the key with which a copying program opens its connection, which
// is what a key is for; -1 for none. Before it may stand only what surely takes no word, or
// a number: else the key could be what is copied. rsync is told by -e how ssh is called,
// and only a call that does nothing else counts.
func (c *invocation) keyOf() int {
	for i := 0; i+1 < len(c.args); i++ {
		option, next := c.args[i].text, c.args[i+1].text
		switch {
		case c.name == "rsync":
			if (option == "--rsh" || len(option) > 1 && option[0] == '-' && option[1] != '-' && option[len(option)-1] == 'e') && plainSSH(next) {
				return i + 1
			}
		case c.name != "scp":
			return -1
		case option == "-i":
			return i + 1
		case (option == "-P" || option == "-l") && isDigits(next):
			i++
		case len(option) < 2 || option[0] != '-' || strings.Trim(option[1:], "rpqvCB346OTR") != "":
			return -1
		}
	}
	return -1
}

// plainSSH reports whether a text calls ssh with a key, a port and a user at most.
func plainSSH(text string) bool {
	words := strings.Fields(text)
	if len(words) == 0 || words[0] != "ssh" {
		return false
	}
	for i := 1; i < len(words); i++ {
		switch words[i] {
		case "-4", "-6", "-C", "-q", "-v":
		case "-i", "-l", "-p":
			i++
			if i == len(words) || strings.HasPrefix(words[i], "-") || strings.ContainsAny(words[i], "$`;|&<>()'\"\\") {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// secretName says whether a variable's name says that it holds a secret.
func secretName(name string) bool {
	up := strings.ToUpper(name)
	for _, w := range []string{"PASSWORD", "PASSWD", "SECRET", "TOKEN", "API_KEY", "APIKEY", "ACCESS_KEY", "PRIVATE_KEY", "CREDENTIAL"} {
		if strings.Contains(up, w) {
			return true
		}
	}
	return false
}
