package hazard

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A command that only opens an interpreter does nothing until somebody types into it. In an
// agent's shell there is nobody, but for the agent itself where its tool keeps a terminal:
// and what it types there later, no rule reads. So such a command is told of.

// sessions are programs other than interpreters that wait for what is typed, with the options
// that give them something to do instead (does), those whose next word is theirs (takes), and
// how many words after which they have been told what to do.
var sessions = map[string]struct {
	does, takes string
	words       int
}{
	"psql":       {"-c --command -f --file -l --list -V --version -? --help", "-h -U -d -p -v --host --username --dbname --port --set -P", 1 << 10},
	"mysql":      {"-e --execute -V --version -? --help", "-h -u -P -D -S --host --user --port --database", 1 << 10},
	"mariadb":    {"-e --execute -V --version -? --help", "-h -u -P -D -S --host --user --port --database", 1 << 10},
	"sqlite3":    {"-version --version -help -cmd -init", "-separator -newline -nullvalue", 2},
	"redis-cli":  {redisReports, "-h -p -n -a -u --user --pass -i -r -t", 1},
	"valkey-cli": {redisReports, "-h -p -n -a -u --user --pass -i -r -t", 1},
	"mongosh":    {"--eval --file -f --version --help", "--host --port -u -p", 1 << 10},
	"ssh":        {"-N -V -Q -O -G -T -W -f", "-b -c -D -E -e -F -I -i -J -L -l -m -o -p -R -S -w -B", 2},
	"telnet":     {"", "", 1 << 10},
	"irb":        {"-e -v --version --help", "-r -I", 1},
	"ghci":       {"-e --version --help", "", 1 << 10},
	"iex":        {"-e --eval --version --help", "", 1 << 10},
	"julia":      {"-e -E --eval -v --version -h --help", "", 1},
	"lua":        {"-e -v", "-l", 1},
	"scala":      {"-e -version --version -help", "", 1},
	"jshell":     {"--version --help", "", 1},
	"clisp":      {"-x --version --help", "", 1},
	"powershell": {"-c -command -f -file -encodedcommand -version", "", 1},
}

// redisReports are options with which a client of Redis looks at what the store holds, or how quick it is, and ends, or
// takes what it does from elsewhere.
const redisReports = "--version -v --help --scan --stat --pipe --eval --bigkeys --memkeys --hotkeys --keystats --latency --latency-history --latency-dist --intrinsic-latency --lru-test --rdb --functions-rdb --replica --slave --cluster"

// sessionWords are programs that wait for what is typed where their first words say so, unless one of the
// options behind gives them something to do. Consoles and environments of a project that people open all day,
// such as rails console and poetry shell, are none of them.
var sessionWords = map[string][]struct{ words, does string }{
	"sudo":      {{"-i|-s|--login|--shell|su", "-c --command"}},
	"doas":      {{"-s", ""}},
	"su":        {{"", "-c --command -V --version --help"}},
	"rails":     {{"dbconsole|db", "-h --help"}},
	"php":       {{"artisan tinker", "--execute --execute= -h --help"}, {"-a", "--version --help"}},
	"artisan":   {{"tinker", "--execute --execute="}},
	"python":    {{"manage.py shell|shell_plus|dbshell", "-c --command --command= --version -h --help"}},
	"nix":       {{"develop|shell", "-c --command -h --help"}},
	"nix-shell": {{"", "--run --command --version -h --help"}},
	"sftp":      {{"*", "-b -V"}},
	"duckdb":    {{"", "-c -s -f -cmd -init -version --version -help --help"}},
	"gcloud":    {{"compute ssh", "--command --command= --dry-run -h --help"}},
	"heroku":    {{"run bash|sh|console", ""}, {"pg:psql", "-c --command"}, {"ps:exec", ""}},
	"fly":       {{"ssh console", "-C --command"}},
	"flyctl":    {{"ssh console", "-C --command"}},
	"screen":    {{"", "-d -dm -dmS -X -ls -list -v -r -x -c -Q"}},
	"tmux":      {{"", "-c -C -V -L -S -f"}},
	"expect":    {{"", ""}},
	"sbt":       {{"console|shell", ""}},
	"mix":       {{"console", ""}},
}

// opensSession reports whether a command's words say that it waits for what is typed.
func (c *invocation) opensSession() bool {
	for _, o := range sessionWords[strings.TrimRight(c.name, "0123456789.")] {
		var plain []string
		told := false
		for _, a := range c.args {
			told = told || listed(o.does, a.text) || listed(o.does, before(a.text, '=')+"=") || len(a.text) > 2 && listed(o.does, a.text[:2]) && a.text[1] != '-'
			if !strings.HasPrefix(a.text, "-") || len(plain) == 0 && strings.HasPrefix(o.words, "-") {
				plain = append(plain, a.text)
			}
		}
		if told {
			continue
		}
		wanted := strings.Fields(o.words)
		if len(wanted) == 0 && len(plain) > openWords[c.name] || len(plain) < len(wanted) {
			continue
		}
		matches := true
		for i, w := range wanted {
			matches = matches && (w == "*" || listedIn(w, plain[i]))
		}
		if matches && !(listed("sudo doas", c.name) && len(plain) > 1) {
			return true
		}
	}
	return false
}

// openWords are how many plain words a program may have that waits without being told to.
var openWords = map[string]int{"su": 2, "nix-shell": 1 << 10, "duckdb": 1}

// listedIn reports whether a word is one of those between bars.
func listedIn(list, word string) bool {
	for w := range strings.SplitSeq(list, "|") {
		if w == word {
			return true
		}
	}
	return false
}

// givesInput reports whether a redirection gives a command its input.
func givesInput(r *syntax.Redirect) bool {
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc, syntax.RdrIn, syntax.RdrInOut, syntax.DplIn:
		return r.N == nil || r.N.Value == "0"
	}
	return false
}

// waitsForInput reports whether a command would do nothing but wait for what is typed.
func (c *invocation) waitsForInput() bool {
	if c.in.text != "" || c.in.known || c.in.taint != 0 || c.fed {
		return false
	}
	if i, ok := interpreters[c.name]; ok && i.language != "awk" && i.language != "gdb" {
		for _, a := range c.args {
			if !listed("-i -l -li -il -q -qi -u -s --login --posix --norc --noprofile", a.text) {
				return c.opensSession()
			}
		}
		return i.language != "vim"
	}
	s, ok := sessions[c.name]
	if !ok {
		return c.opensSession()
	}
	words := 0
	for k := 0; k < len(c.args); k++ {
		t := c.args[k].text
		switch {
		case listed(s.does, before(t, '=')):
			return false
		case listed(s.takes, t):
			k++
		case strings.HasPrefix(t, "-") && len(t) > 1:
			for _, option := range strings.Fields(s.does) { // -Nf, -cselect
				if len(option) == 2 && t[1] != '-' && strings.Contains(t[1:], option[1:]) {
					return false
				}
			}
		default:
			words++
		}
	}
	return words < s.words
}
