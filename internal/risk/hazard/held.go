package hazard

import (
	"path"
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/lazyregexp"
)

// Held is what a session knows of the secrets that its model has read, and could type. The zero Held
// knows of none.
type Held struct {
	Holds func(text string) bool // reports whether a text holds such a value
	Knows func(host string) bool // reports whether such a secret is kept for a host, or the user named it
}

// in reports whether a text holds a value that was read before.
func (h Held) in(text string) bool { return h.Holds != nil && h.Holds(text) }

// With knows what either of two does.
func (h Held) With(other Held) Held {
	if h.Holds == nil {
		return other
	}
	if other.Holds == nil {
		return h
	}
	return Held{
		Holds: func(text string) bool { return h.Holds(text) || other.Holds(text) },
		Knows: func(host string) bool { return h.Knows(host) || other.Knows(host) },
	}
}

// own reports whether a host is one that may have the secrets: of one's own machine and networks, of
// which a place of secrets tells, or that the user named. A host that a variable says was not typed.
func (h Held) own(at host) bool {
	switch {
	case at.kind() != "public", strings.HasPrefix(at.name, "$"), !strings.Contains(at.name, ".") && !at.addr.IsValid():
		return true
	case dropHost(at.name):
		return false
	}
	return h.Knows != nil && h.Knows(at.name)
}

// Telling judges the call by a table as one that may hold a value which was read in a place of secrets
// and typed. tunnelled says that some port of this machine leads to another one.
func (r *Reading) Telling(t *Table, held Held, tunnelled bool) Assessment {
	folders := r.Folders()
	a := newAssessor(t)
	a.held, a.tunnelled = held, tunnelled
	r.places(a, folders[0])
	a.read(r.sorted())
	return r.elsewhereToo(a.assessment(), t, folders)
}

// retyped is a text that stands in the call itself, and what it is if a secret was typed there.
func (a *assessor) retyped(f flow) flow {
	if a.held.in(f.text) {
		f.taint |= fromTyped
	}
	return f
}

// typedIn is the same of the words of a command. Where only all of them together hold a value, each does.
func (a *assessor) typedIn(args []flow) []flow {
	if a.held.Holds == nil {
		return args
	}
	some, all := false, ""
	for i := range args {
		args[i] = a.retyped(args[i])
		some = some || args[i].taint&fromTyped != 0
		if i > 0 {
			all += args[i].text + " "
		}
	}
	if !some && len(args) > 2 && a.held.in(all) {
		for i := range args {
			args[i].taint |= fromTyped
		}
	}
	return args
}

// tellsTyped judges that a command tells others a value that was typed: in a text for people, in what it
// sends to a host that nobody has named with it. As its login to a host that is not known somebody has
// to say whether it is for that.
func (c *invocation) tellsTyped(tells bool) {
	told := c.in.taint
	if c.loginByInput() {
		told = 0
	}
	login := false
	for i, a := range c.args {
		switch {
		case a.taint&fromTyped != 0 && c.logsIn(i):
			login = true
		case a.taint&fromTyped != 0:
			told |= a.taint
		default:
			told |= c.carried(i, tells)
		}
	}
	if told&fromTyped == 0 && !login || c.toOwn {
		return
	}
	hosts := c.hostsTold()
	switch {
	case told&fromTyped == 0 && len(hosts) == 0: // who it is for, the program knows
	case told&fromTyped == 0:
		c.report("exfil.secret", 0.6, c.at)
	case tells || len(hosts) > 0:
		c.report("exfil.secret", 0, c.at)
	}
}

// tellsItsOwn reports whether a command names hosts, and all of them may have the secrets that are kept
// for them.
func (c *invocation) tellsItsOwn() bool {
	if c.held.Holds == nil {
		return false
	}
	hosts := c.hostsTold()
	return len(hosts) > 0 && !slices.ContainsFunc(hosts, func(h host) bool { return !c.held.own(h) && !c.logsInAtIssuer(h) })
}

// logsInAtIssuer reports whether a value that was read and typed again is a token by which the command logs in at
// the service that gave it out: that has it already, and nobody else reads it there.
func (c *invocation) logsInAtIssuer(at host) bool {
	some := false
	for i, a := range c.args {
		if a.taint&fromTyped == 0 {
			continue
		}
		if !c.logsIn(i) && !(listed("-H --header", c.optionOf(i)) && authorizes.MatchString(a.text)) || !issuedBy(a.text, at.name) {
			return false
		}
		some = true
	}
	return some && c.in.taint&fromTyped == 0
}

// authorizes is a header by which somebody logs in.
var authorizes = lazyregexp.New(`(?i)^\s*(?:authorization|x-api-key|api-key|private-token|x-shopify-access-token|x-figma-token)\s*:`)

// issuedBy reports whether a text holds a token of the form that a service gives out, and a host is that service's.
func issuedBy(text, name string) bool {
	for prefixes, domain := range issuers {
		if name != domain && !strings.HasSuffix(name, "."+domain) {
			continue
		}
		for prefix := range strings.FieldsSeq(prefixes) {
			if strings.Contains(text, prefix) {
				return true
			}
		}
	}
	return false
}

// issuers are the services that know a token by its beginning, and the domains that are theirs alone.
var issuers = map[string]string{
	"sk_live_ sk_test_ rk_live_ rk_test_": "stripe.com", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_": "api.github.com", "glpat-": "gitlab.com", "xoxb- xoxp- xapp-": "slack.com",
	"sk-ant-": "anthropic.com", "sk-proj- sk-svcacct- sk-admin-": "api.openai.com", "sk-or-v1-": "openrouter.ai", "hf_": "huggingface.co", "gsk_": "api.groq.com", "xai-": "api.x.ai", "r8_": "api.replicate.com",
	"npm_": "registry.npmjs.org", "pypi-": "upload.pypi.org", "dop_v1_": "api.digitalocean.com", "lin_api_": "api.linear.app", "ntn_ secret_": "api.notion.com", "sbp_": "api.supabase.com", "sntrys_ sntryu_": "sentry.io",
	"figd_": "api.figma.com", "nfp_": "api.netlify.com", "xkeysib-": "api.brevo.com", "SG.": "api.sendgrid.com", "pplx-": "api.perplexity.ai",
}

// tellsNear reports whether a command names hosts, and all of them are this machine or in its networks. Behind a
// tunnel it is another one.
func (c *invocation) tellsNear() bool {
	if c.private == nil || c.tunnelled {
		return false
	}
	hosts := c.hostsTold()
	return len(hosts) > 0 && !slices.ContainsFunc(hosts, func(h host) bool { return h.kind() != "loopback" && h.kind() != "private" })
}

// staysWithin reports whether a command that copies to another machine, or opens a shell on one, names it by an address
// of one's own network, by a name that only this network knows, or by one of one's own settings.
func (c *invocation) staysWithin() bool {
	var named []string
	switch {
	case c.tunnelled:
		return false
	case remoteShells[c.name]:
		named = append(named, c.leadsTo())
	case listed("rsync scp sftp rclone", c.name):
		for _, a := range c.args {
			if c.liesElsewhere(a.text) && !strings.HasPrefix(a.text, "-") {
				named = append(named, a.text)
			}
		}
	}
	return len(named) > 0 && !slices.ContainsFunc(named, func(name string) bool {
		h := hostOf(name[strings.LastIndexByte(name, '@')+1:])
		own := h.name != "" && !strings.Contains(h.name, ".") && !h.addr.IsValid() || slices.ContainsFunc(homeNames, func(end string) bool { return strings.HasSuffix(h.name, end) })
		return !own && h.kind() != "private" && h.kind() != "loopback"
	})
}

// logsIn reports whether a word says by what a program logs in.
func (c *invocation) logsIn(i int) bool {
	option := c.optionOf(i)
	if _, rest, ok := strings.Cut(c.args[i].text, "://"); ok {
		login := strings.LastIndexByte(before(rest, '/'), '@')
		return login >= 0 && !c.held.in(rest[login:])
	}
	return c.takesCredential(i) || httpClients[c.name] && listed("-u --user --oauth2-bearer -b --cookie -a --auth --password", option) ||
		sqlClients[c.name] && strings.HasPrefix(c.args[i].text, "-p")
}

// hostsTold are the hosts that the words of a command name.
func (c *invocation) hostsTold() (hosts []host) {
	for i, a := range c.args {
		t := a.text
		if option, v, ok := strings.Cut(t, "="); ok && strings.HasPrefix(option, "--") {
			t = v
		}
		if httpClients[c.name] && listed("-F --form -d --data --data-raw --data-binary --data-urlencode --json -H --header", c.optionOf(i)) {
			continue // what is said to them
		}
		told := listed("-h --host --hostname --server --url --endpoint --endpoint-url --broker", c.optionOf(i))
		if strings.HasPrefix(t, "-") || strings.ContainsAny(t, " \n") {
			continue
		}
		if strings.Contains(t, "://") || told || hasHostForm(t) || httpClients[c.name] && listed("", c.optionOf(i)) && strings.Contains(before(t, '/'), ".") {
			hosts = append(hosts, hostOf(t))
		}
	}
	return hosts
}

// outward are words in the names of tools by which others are told something, beside sendingTools.
var outward = set("gist gists paste release wiki page chat dm sms upload push deliver webhook invite attach attachment attachments object blob artifact event ticket card discussion review pull pr mr note notes status toot story answer respond forward broadcast submit")

// sendingFiles are words in the names of tools by which a file that they are given the name of goes to others.
var sendingFiles = set("send mail email message post share upload uploads attach attachment attachments deliver submit publish transfer forward gist paste webhook slack tweet comment reply notify broadcast")

// sendsFile reports whether a tool is there for giving files to others: upload, send_file, put_object.
func (c *call) sendsFile() bool {
	return anyOf(c.words, sendingFiles) && !anyOf(c.words, lookingTools) || anyOf(c.words, storingTools) && anyOf(c.words, storedTools)
}

// storingTools put what storedTools are called into a store of somebody's.
var (
	storingTools = set("put create write upload copy add")
	storedTools  = set("object objects blob blobs asset assets artifact artifacts s3 gcs bucket")
)

// givesAway judges that a tool which gives files to others is given the name of one that holds secrets, or of
// a folder in which one lies that nothing names.
func (a *assessor) givesAway(c *call, l *leaf, form role, text string) {
	named := l.role == rolePath || l.role == roleUnknown && form == rolePath || strings.HasPrefix(text, "file://")
	if !named || len(text) > 4096 || !c.sendsFile() {
		return
	}
	whole := span{0, len(text)}
	for line := range strings.Lines(text) {
		name := strings.TrimPrefix(strings.TrimSpace(line), "file://")
		switch {
		case name == "":
		case KeepsSecrets(name):
			a.report("exfil.secret", 0.6, whole)
		case (&invocation{shell: a.apart(whole)}).takesAlong(name) != 0:
			a.report("exfil.secret", 0.6, whole)
		}
	}
}

// telling judges that a call of a tool which is no shell tells others a value that was typed: in an
// address, in what is sent to one, in a text for people.
func (a *assessor) telling(c *call, l *leaf, text string) {
	sends := l.role == roleURL || anyOf(c.words, sendingTools) || anyOf(c.words, outward)
	a.speaks = a.speaks || sends
	if !sends || a.held.Holds == nil || l.role == roleCommand || l.role == roleCode || l.role == rolePath || l.role == roleSQL || !a.held.in(text) {
		return
	}
	var hosts []host
	for i := range c.leaves {
		if m := &c.leaves[i]; m.role == roleURL {
			hosts = append(hosts, hostOf(m.Text))
		}
	}
	at := span{0, len(text)}
	switch {
	case len(hosts) > 0 && !slices.ContainsFunc(hosts, func(h host) bool { return !a.held.own(h) }):
	case l.role != roleURL && slices.ContainsFunc(credentialWords, func(w string) bool { return strings.Contains(c.nameOf(l), w) }):
		a.report("exfil.secret", 0.6, at)
	default:
		a.report("exfil.secret", 0, at)
	}
}

// tellsTyped judges the same of a program of another language: of where it may go only the addresses in
// its strings tell.
func (p *program) tellsTyped(text string) {
	if !p.held.in(text) {
		return
	}
	var hosts []host
	for _, t := range p.strings {
		if strings.Contains(t.text, "://") || hasHostForm(t.text) {
			hosts = append(hosts, hostOf(t.text))
		}
	}
	if len(hosts) > 0 && !slices.ContainsFunc(hosts, func(h host) bool { return !p.held.own(h) }) {
		return
	}
	weight := 0.0
	if slices.ContainsFunc(p.strings, func(t token) bool {
		return strings.EqualFold(t.text, "authorization") || strings.EqualFold(t.text, "x-api-key")
	}) {
		weight = 0.6
	}
	p.report("exfil.secret", weight, p.at)
}

// takesAlong judges that a folder is sent, or packed, as a whole in which files of secrets lie that nothing names
// and nothing leaves out; or that such a file is sent whose name does not say what it holds.
func (c *invocation) takesAlong(folder string) (t taint) {
	at := folder
	if q := c.from(folder); q != "" {
		at = q
	}
	at = normalPath(strings.TrimSuffix(strings.TrimSuffix(at, "*"), "/")).text
	if path.Base(at) == ".git" && c.recordedSecret != 0 {
		return fromAlong
	}
	if at == "" || c.private == nil || c.other || strings.ContainsAny(folder, "$`:") {
		return 0
	}
	for _, file := range c.private() {
		file = normalPath(file).text
		if file == at {
			return fromAlong
		}
		below, ok := strings.CutPrefix(file, strings.TrimSuffix(at, "/")+"/")
		hidden := strings.HasSuffix(folder, "*") && strings.HasPrefix(below, ".")
		if ok && !hidden && !c.leavesOut(below) {
			return fromAlong
		}
	}
	return 0
}

// readsAlong is what a program that reads texts takes along of files of secrets that nothing names: over a
// pattern, or a tree.
func (c *invocation) readsAlong() (t taint) {
	if c.private == nil || c.other || !readers[c.name] && c.name != "find" && c.name != "fd" && c.name != "xargs" {
		return 0
	}
	switch c.name {
	case "grep", "egrep", "fgrep", "rg", "ag", "zgrep":
		options, rest := c.split()
		hidden := c.name == "grep" && has(options, "-r", "-R", "--recursive") || has(options, "--hidden", "-uu", "-uuu", "-u", "--unrestricted", "-.")
		if !hidden || len(rest) == 0 || chosen(flow{taint: fromPlace}, rest[0].text).taint == 0 && !secretName(rest[0].text) {
			return 0
		}
		for _, a := range append(rest[1:len(rest):len(rest)], flow{text: "."})[:max(1, len(rest)-1)] {
			t |= c.takesAlong(a.text)
		}
		return t
	case "find", "fd":
		if c.names("-exec", "-execdir", "-x", "-X") && len(c.args) > 0 && !c.names("-name", "-iname", "-path", "-e", "-regex") {
			return c.takesAlong(c.args[0].text)
		}
		return 0
	}
	for _, a := range c.args[:min(len(c.args), 16)] {
		if !strings.HasPrefix(a.text, "-") {
			t |= c.unnamed(a)
		}
	}
	return t
}

// unnamed is what lies under a word, by what stands in files: one whose name tells nothing holds a secret, or
// one of those that do is among what a pattern, or a listing, gives. All of a home is such.
func (s *shell) unnamed(w flow) taint {
	p := w.text
	switch {
	case s.carriedInto(p):
		return fromAlong
	case s.private == nil || s.other:
		return 0
	case w.taint&namesAlong != 0:
		return fromAlong
	case p == "" || len(p) > 512 || strings.ContainsAny(p, "$`:\n"):
		return 0
	}
	at := p
	if q := s.from(p); q != "" {
		at = q
	}
	at = normalPath(at).text
	if !strings.ContainsAny(p, "*?[") {
		if s.secretIn != nil && !strings.HasSuffix(p, "/") {
			if !strings.HasPrefix(p, "/") && !strings.HasPrefix(p, "~") {
				p = path.Join(s.went, p)
			}
			if s.secretIn(p) {
				return fromAlong
			}
		}
		return 0
	}
	if strings.HasSuffix(at, "/*") && (s.wide(strings.TrimRight(at, "/*")) || somebodysHome(strings.TrimRight(at, "/*"))) {
		return fromAlong
	}
	for _, file := range s.private() {
		if s.matches(at, normalPath(file).text) {
			return fromAlong
		}
	}
	return 0
}

// carriedInto reports whether an earlier command of the call may have put what a place of secrets holds into a file,
// or into a folder that it lies in.
func (s *shell) carriedInto(p string) bool {
	for range maxLookedUp {
		name := scriptName(p)
		if len(s.keptIn) == 0 || name == "" {
			return false
		}
		if slices.Contains(s.keptIn, Along(name)) {
			return true
		}
		p = path.Dir(p)
	}
	return false
}

// maxLookedUp is how many folders around a file are looked at.
const maxLookedUp = 4

// matches reports whether a pattern is true of a file: a shell's one of what lies in a folder and does not begin
// with a dot, unless the pattern does; a program's own of all that lies below.
func (s *shell) matches(pattern, file string) bool {
	name := path.Base(file)
	hidden := strings.HasPrefix(name, ".") && !strings.HasPrefix(path.Base(pattern), ".")
	if ok, _ := path.Match(strings.ReplaceAll(path.Base(pattern), "**", "*"), name); !ok || hidden && !s.coded {
		return false
	}
	dir := strings.TrimRight(strings.TrimSuffix(path.Dir(pattern), "/**"), "/")
	return path.Dir(file) == dir || (s.coded || strings.Contains(pattern, "**")) && strings.HasPrefix(file, dir+"/")
}

// listsAlong says of the names in a folder that is listed that such of files of secrets are among them.
func (c *invocation) listsAlong(folder string, hidden bool) taint {
	folder = strings.TrimSuffix(folder, "/")
	if c.private != nil && (c.unnamed(flow{text: folder + "/*", known: true}) != 0 || hidden && c.unnamed(flow{text: folder + "/.*", known: true}) != 0) {
		return namesAlong
	}
	return 0
}

// findsAlong says the same of what find gives: of all that lies below, or of what has one of the names that it
// looks for.
func (c *invocation) findsAlong(starts []string, conditions []flow) taint {
	if c.private == nil || c.other {
		return 0
	}
	if c.name != "find" { // fd, which is told a pattern first, and leaves out what is hidden
		if c.names("-H", "--hidden", "-u", "--unrestricted", "-uu", "-HI", "-IH") && !c.names("-e", "--extension") && !slices.ContainsFunc(starts, func(s string) bool { return strings.ContainsAny(s, "abcdefghijklmnopqrstuvwxyz") }) {
			return c.listsAlong(".", true)
		}
		return 0
	}
	if len(starts) == 0 {
		starts = []string{"."}
	}
	var wanted []string
	for i, a := range conditions[:max(0, len(conditions)-1)] {
		if listed("-name -iname -path -ipath -wholename", a.text) && (i == 0 || !listed("! -not", conditions[i-1].text)) {
			wanted = append(wanted, path.Base(conditions[i+1].text))
		}
	}
	for _, start := range starts {
		if len(wanted) == 0 && (c.wide(start) || c.takesAlong(start) != 0) {
			return namesAlong
		}
		at := start
		if q := c.from(start); q != "" {
			at = q
		}
		for _, file := range c.private() {
			file = normalPath(file).text
			for _, pattern := range wanted {
				if ok, _ := path.Match(pattern, path.Base(file)); ok && strings.HasPrefix(file, strings.TrimSuffix(normalPath(at).text, "/")+"/") {
					return namesAlong
				}
			}
		}
	}
	return 0
}

// leavesOut reports whether a command is told to leave a file out: by its name or a pattern of it, or by
// what Git ignores.
func (c *invocation) leavesOut(file string) bool {
	for i, a := range c.args {
		option, value, joined := strings.Cut(a.text, "=")
		if !joined && i+1 < len(c.args) {
			value = c.args[i+1].text
		}
		switch {
		case listed("--exclude-vcs-ignores --exclude-from --exclude-ignore --ignore-file --files-from -X", option), listed("--filter -f", option) && strings.Contains(value, "ignore"):
			return true
		case listed("--exclude -x -xr --ignore --exclude-dir", option):
			patterns := strings.Fields(strings.Trim(value, "'\""))
			for j := i + 2; c.name == "zip" && j < len(c.args) && !strings.HasPrefix(c.args[j].text, "-"); j++ {
				patterns = append(patterns, c.args[j].text)
			}
			for _, pattern := range patterns {
				pattern = strings.Trim(strings.TrimPrefix(pattern, "./"), "/")
				if ok, _ := path.Match(pattern, path.Base(file)); ok || pattern == file || strings.HasPrefix(file, pattern+"/") || strings.HasSuffix(pattern, "/*") && strings.HasPrefix(file, strings.TrimSuffix(pattern, "*")) {
					return true
				}
			}
		case strings.HasPrefix(option, "-xr!") || strings.HasPrefix(option, "-x!"):
			if ok, _ := path.Match(option[strings.IndexByte(option, '!')+1:], path.Base(file)); ok {
				return true
			}
		}
	}
	return false
}

// maySend are programs that pack, copy to others, or speak to them.
var maySend = set(`tar bsdtar gtar zip 7z 7za 7zz rar ar cpio pax scp rsync rclone sftp lftp ftp smbclient gsutil azcopy s3cmd s5cmd mc restic borg croc wormhole ipfs repomix magic-wormhole nc ncat netcat socat ssh telnet
	curl wget http https xh httpie curlie aria2c websocat gh glab hub aws gcloud az git mail mailx mutt sendmail dig nslookup host ping openssl python python3 node deno bun ruby perl php lua go cargo java dotnet`)

// MaySend is a quick look at whether a call may send something.
func MaySend(a *act.Action) bool {
	tool := words(a.Canonical)
	if anyOf(tool, sendingTools) || anyOf(tool, outward) || anyOf(tool, fetchingTools) {
		return true
	}
	for i := range a.Content {
		text := a.Content[i].Text
		if strings.Contains(text, "://") {
			return true
		}
		for word := range strings.FieldsFuncSeq(text[:min(len(text), 64<<10)], func(r rune) bool { return r <= ' ' || strings.ContainsRune("\"'`;|&()/", r) }) {
			if maySend[word] {
				return true
			}
		}
	}
	return false
}
