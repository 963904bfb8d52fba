package hazard

import (
	"fmt"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
)

// Clients of databases.

// changesRows is a query that changes what a database holds.
var changesRows = lazyregexp.New(`(?i)\b(?:insert|replace)\s+into\b|\bupdate\s+\S+\s+set\b|\bdelete\s+from\b|\b(?:drop|alter|create)\s+table\b`)

// speaksToHere reports whether a client of a database says that the database is one of this machine, and
// nothing beside that it is in use.
func (c *invocation) speaksToHere() bool {
	if c.tunnelled || c.other || c.redirected() {
		return false
	}
	for i, a := range c.args {
		option, value, joined := strings.Cut(a.text, "=")
		switch {
		case strings.HasPrefix(option, "--defaults") || option == "--login-path": // a file says which
			return false
		case !a.known || hasWord(a.text, inUse) || !isSQL(a.text) && (strings.Contains(a.text, "host") && strings.Contains(a.text, "=") && option != "--host" || strings.Contains(a.text, "service=")):
			return false
		case (option == "-h" || option == "--host") && !joined && i+1 < len(c.args):
			value = c.args[i+1].text
		case toldServer[c.name] && (option == "-S" || option == "--server") && !joined && i+1 < len(c.args):
			value = serverHost(c.args[i+1].text)
		case toldServer[c.name] && (option == "-S" || option == "--server") || toldServer[c.name] && strings.HasPrefix(a.text, "-S"):
			value = serverHost(strings.TrimPrefix(value, a.text[:2]))
		case option == "--host" && joined:
		case strings.HasPrefix(a.text, "-h") && !strings.HasPrefix(a.text, "--") && len(a.text) > 2:
			value = a.text[2:]
		case strings.Contains(a.text, "://") && !isSQL(a.text):
			if strings.Contains(a.text, "?") { // which can name another host
				return false
			}
			value = hostOf(a.text).name
		default:
			continue
		}
		if !isLoopback(value) {
			return false
		}
	}
	return true
}

// toldServer are clients that are told their server by an option of their own.
var toldServer = set("sqlcmd bcp mssql-cli isql tsql")

// serverHost is the host in a server's name as such clients are told it: tcp:host,port or host\instance.
func serverHost(name string) string {
	host := before(before(strings.TrimPrefix(strings.TrimPrefix(name, "tcp:"), "="), ','), '\\')
	if host == "." || host == "(local)" || host == "(localdb)" {
		return "localhost"
	}
	return host
}

// takesScratch reports whether a client of a database of this machine takes nothing away but tables that
// are for a while, by their names, or that the same query makes again.
func (c *invocation) takesScratch() bool {
	if !sqlOfHere[c.name] || c.in.text != "" || !c.speaksToHere() {
		return false
	}
	var queries []string // which are done one after the other
	for _, a := range c.args {
		text := a.text
		if option, value, joined := strings.Cut(text, "="); joined && strings.HasPrefix(option, "-") {
			text = value
		}
		switch {
		case listed("-f --file -i --input-file --init-command", before(a.text, '=')):
			return false
		case strings.HasPrefix(text, `\copy `) && !strings.Contains(text, "\n"): // which takes nothing away: see clientCopies
		case isSQL(text), strings.HasPrefix(strings.ToLower(text), "create schema "):
			queries = append(queries, text)
		case strings.Contains(strings.TrimSpace(text), " "):
			return false // which may be another query, or an address
		}
	}
	return len(queries) > 0 && scratchOnly(strings.Join(queries, ";\n"))
}

// sqlOfHere are clients that are told queries, and scratchWords are parts of the names of tables that are
// made to be thrown away.
var (
	sqlOfHere    = set("psql mysql mariadb sqlcmd usql pgcli mycli clickhouse-client cqlsh")
	scratchWords = set("tmp temp temporary scratch")
)

// scratchOnly reports whether all that a query takes away is tables for a while, or such as it makes again.
func scratchOnly(sql string) bool {
	if strings.ContainsAny(sql, `\`) {
		return false
	}
	var statement []sqlToken
	taken, made := map[string]bool{}, map[string]bool{}
	for _, t := range append(lexSQL(sql), sqlToken{kind: ';'}) {
		if t.kind != ';' {
			statement = append(statement, t)
			continue
		}
		names, ok := statementNames(statement)
		if !ok {
			return false
		}
		if len(statement) > 0 {
			whole := len(statement) > 1 && !listed("table view materialized index from", strings.ToLower(statement[1].text))
			switch verb := strings.ToLower(statement[0].text); {
			case verb == "create" && len(names) > 0 && !whole:
				made[names[0]] = true
			case listed("select show set create", verb):
			case verb == "use" || whole && verb != "truncate" || len(names) == 0:
				return false
			case verb == "delete":
				taken[names[0]] = true
			default:
				for _, name := range names {
					taken[name] = true
				}
			}
		}
		statement = statement[:0]
	}
	for name := range taken {
		if hasWord(name, inUse) || !made[name] && !hasWord(name, scratchWords) {
			return false
		}
	}
	return true
}

// clientCopies judges what psql copies by itself, and not the server: its files and programs are this
// machine's.
func (c *invocation) clientCopies(text string) {
	for i := 0; i < 16; i++ {
		_, rest, ok := strings.Cut(text, `\copy `)
		if !ok {
			return
		}
		line, after, _ := strings.Cut(rest, "\n")
		c.assessor.statement(lexSQL("copy "+line), c.at)
		text = after
	}
}

// restores puts another file's content in the place of all that a database of sqlite3 holds.
var restores = lazyregexp.New(`(?m)(?:^|\s)\.restore\s+\S`)

// database gives SQL on the command line to where SQL is judged.
func (c *invocation) database() flow {
	ofHere, filesHere := c.ofHere, c.filesHere
	held, named := c.filesOfQueries()
	c.ofHere, c.filesHere = c.speaksToHere(), named
	defer func() { c.ofHere, c.filesHere = ofHere, filesHere }()
	options, rest := c.split()
	for _, o := range []string{"-e", "--execute", "-c", "--command", "-Q", "-q"} {
		if v, ok := options[o]; ok {
			c.sql(v.text, c.at)
			if rest, ok := strings.CutPrefix(strings.TrimSpace(v.text), "system "); ok {
				c.inside(rest)
			}
			c.clientCopies(v.text)
			if _, rest, ok := strings.Cut(v.text, `\!`); ok {
				c.inside(rest)
			}
		}
	}
	for _, order := range []string{".shell ", ".system "} {
		if _, rest, ok := strings.Cut(c.in.text, order); ok && (c.name == "sqlite3" || c.name == "duckdb") {
			c.inside(rest)
		}
	}
	if c.in.known && isSQL(c.in.text) {
		c.sql(c.in.text, c.at)
	}
	for _, a := range c.args { // each by itself: an option can be given more than once
		text := a.text
		if strings.HasPrefix(text, "--") {
			_, text, _ = strings.Cut(text, "=")
		}
		if isSQL(text) {
			c.sql(text, c.at)
		}
	}
	for _, o := range []string{"-f", "--file"} { // a file of orders that the call itself wrote
		if f, ok := c.getFile(options[o].text); ok && isSQL(f.text) {
			c.sql(f.text, c.at)
		}
	}
	if c.name == "duckdb" {
		c.extended(append(plainWords(c.args), c.in.text))
	}
	if c.name == "sqlite3" {
		if len(rest) > 0 && restores.MatchString(c.joined(rest[1:]).text+"\n"+c.in.text) {
			c.report("destroy.store", 0, c.at)
		}
		for i, a := range rest {
			c.readFile(a)
			if pl := placeOf(normalPath(a.text).text); i == 0 && pl.writes != "" && changesRows.MatchString(c.joined(rest[1:]).text+"\n"+c.in.text) {
				c.report(pl.writes, pl.write, c.at)
			}
			if strings.HasPrefix(strings.TrimSpace(a.text), ".shell") || strings.HasPrefix(strings.TrimSpace(a.text), ".system") {
				c.report("shell.escape", 0, c.at)
			}
		}
	}
	if c.in.text != "" {
		c.clientCopies(c.in.text)
		if _, after, ok := strings.Cut(c.in.text, `\!`); ok {
			c.inside(after)
		}
	}
	return flow{taint: c.in.taint | held}
}

// extended judges the extensions that queries of DuckDB take from an address, and the commands that one of them,
// shellfs, runs: a file whose name ends, or begins, with |.
func (c *invocation) extended(queries []string) {
	for _, query := range queries {
		verb := ""
		for _, t := range lexSQL(query) {
			switch {
			case t.kind == ';':
				verb = ""
			case t.kind != 's':
				if verb == "" && listed("force install load", t.text) {
					verb = "install"
				} else if verb == "" {
					verb = t.text
				}
			case verb == "install" && sourceIn(t.text) != "" && c.table.foreignTo(sourceIn(t.text), true):
				c.reportSaying("code.foreign", 0, c.at, fmt.Sprintf("%.40q takes an extension from %.100q, of whom nothing is known.", c.name, t.text))
			case strings.HasSuffix(strings.TrimSpace(t.text), "|") || strings.HasPrefix(strings.TrimSpace(t.text), "| "):
				c.inside(strings.Trim(t.text, "| "))
			}
		}
	}
}

// filesOfQueries judges the files that queries of sqlite3 read and write by where they lie, since they lie on this
// machine. It returns what is known of what they hold, and reports whether each is named in so many words.
func (c *invocation) filesOfQueries() (held taint, named bool) {
	if c.name != "sqlite3" {
		return 0, false
	}
	for _, text := range append(plainWords(c.args), c.in.text) {
		if !strings.Contains(strings.ToLower(text), "file") {
			continue
		}
		tokens := lexSQL(text)
		for i, t := range tokens {
			if t.kind != 'w' || !clientFiles[t.text] {
				continue
			}
			if i+3 >= len(tokens) || tokens[i+1].kind != '(' || tokens[i+2].kind != 's' || tokens[i+3].kind != ')' && tokens[i+3].kind != ',' {
				return 0, false // a name that is put together, or stands in the data
			}
			file := flow{text: tokens[i+2].text, known: true}
			if t.text == "readfile" {
				held |= c.readFile(file).taint
			} else {
				c.writeFile(file, flow{taint: fromFile}, false)
			}
		}
	}
	return held, true
}
