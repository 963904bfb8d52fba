package hazard

import (
	"net/url"
	"strings"

	"reeve.example/reeve/internal/risk/hazard/effects"
)

// SQL is read as tokens. A whole statement is judged by what it does; a value
// that was meant to go into one, by how it breaks out of its place.

// sqlVerbs begin statements.
var sqlVerbs = set("select insert update delete drop create alter truncate grant revoke exec execute declare merge replace with show describe explain call copy load attach pragma set use begin commit vacuum begin use set explain do match")

// isSQL says whether a text is a whole statement.
func isSQL(text string) bool {
	t := strings.TrimLeft(text, " \t\r\n(;")
	for strings.HasPrefix(t, "--") || strings.HasPrefix(t, "/*") {
		end := strings.IndexAny(t, "\n")
		if strings.HasPrefix(t, "/*") {
			end = strings.Index(t, "*/") + 1
		}
		if end <= 0 {
			return false
		}
		t = strings.TrimLeft(t[end+1:], " \t\r\n(;")
	}
	i := strings.IndexAny(t, " \t\r\n(*;")
	if i <= 0 || i > 12 {
		return false
	}
	low := strings.ToLower(t[:min(len(t), 4096)])
	if !sqlVerbs[low[:i]] {
		return false
	}
	for _, w := range sqlSigns[low[:i]] {
		if strings.Contains(low, w) {
			return true
		}
	}
	return false
}

// sqlSigns are words that follow a verb in SQL and seldom in sentences.
var sqlSigns = map[string][]string{
	"select": {" from ", " from\n", "\nfrom ", "@@", "select *", "()", "select 1", "sleep(", "'", "count("}, "insert": {"insert into ", "insert ignore ", "insert or "}, "update": {" set "}, "delete": {"delete from ", "delete\nfrom"},
	"drop": {"drop table", "drop database", "drop keyspace", "drop owned", "drop collection", "drop role", "drop measurement", "drop tablespace", "drop materialized", "drop schema", "drop index", "drop view", "drop user", "drop column", "drop function"}, "create": {"create table", "create index", "create view", "create user", "create function", "create or replace", "create unique", "create database", "create role", "create extension", "create trigger", "create alias"}, "alter": {"alter table", "alter user", "alter role", "alter database", "alter system"},
	"truncate": {"truncate table", "truncate "}, "grant": {" to "}, "revoke": {" from "}, "exec": {"xp_", "sp_", "exec(", "exec ("}, "execute": {"xp_", "sp_", "immediate"}, "declare": {"@"}, "merge": {" into "}, "replace": {"into "},
	"begin": {"delete from ", "drop ", "truncate ", "update ", "alter "}, "use": {"; drop ", "; delete ", ";drop ", "; truncate "}, "set": {"; drop ", "; delete ", "; truncate "}, "explain": {"delete from "}, "do": {"$"}, "match": {" delete ", "\ndelete "},
	"with": {" as (", " as(\n", " as (\n"}, "call": {"("}, "copy": {" from ", " to "}, "load": {"load data"}, "attach": {"database", " as "}, "pragma": {"("},
}

// sqlToken is a word, number, string or sign of SQL.
type sqlToken struct {
	kind byte // 'w' word, 'n' number, 's' string, 'q' quote that does not close, 'c' comment to the end, or the sign
	text string
}

func lexSQL(text string) []sqlToken {
	const most = 4000
	var out []sqlToken
	closed := map[byte]bool{}
	for i := 0; i < len(text) && len(out) < most; {
		c := text[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f' || c == 0xa0:
			i++
		case c == '/' && i+1 < len(text) && text[i+1] == '*':
			end := strings.Index(text[i+2:], "*/")
			if strings.HasPrefix(text[i:], "/*!") { // MySQL runs what is in it
				i += 3
				for i < len(text) && text[i] >= '0' && text[i] <= '9' {
					i++
				}
				continue
			}
			if end < 0 {
				return append(out, sqlToken{'c', text[i:]})
			}
			i += end + 4
		case c == '*' && i+1 < len(text) && text[i+1] == '/':
			i += 2
		case c == '-' && i+1 < len(text) && text[i+1] == '-', c == '#':
			end := strings.IndexByte(text[i:], '\n')
			if end < 0 {
				return append(out, sqlToken{'c', text[i:]})
			}
			out = append(out, sqlToken{'c', text[i : i+end]})
			i += end
		case c == '\'' || c == '"' || c == '`':
			if closed[c] {
				out = append(out, sqlToken{'q', string(c)})
				i++
				continue
			}
			end := strings.IndexByte(text[i+1:], c)
			if end < 0 {
				closed[c] = true
				out = append(out, sqlToken{'q', string(c)})
				i++
				continue
			}
			out = append(out, sqlToken{'s', text[i+1 : i+1+end]})
			i += end + 2
		case c >= '0' && c <= '9':
			j := i
			for j < len(text) && (text[j] >= '0' && text[j] <= '9' || text[j] == '.' || text[j] == 'x' || effects.DigitOf(text[j]) < 16) {
				j++
			}
			out = append(out, sqlToken{'n', strings.ToLower(text[i:j])})
			i = j
		case c == '_' || c == '@' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80:
			j := i + 1
			for j < len(text) && (text[j] == '_' || text[j] == '@' || text[j] == '$' || text[j] == '.' || text[j] >= 'a' && text[j] <= 'z' || text[j] >= 'A' && text[j] <= 'Z' || text[j] >= '0' && text[j] <= '9' || text[j] >= 0x80) {
				j++
			}
			out = append(out, sqlToken{'w', strings.ToLower(text[i:j])})
			i = j
		default:
			if (c == '|' || c == '&') && i+1 < len(text) && text[i+1] == c {
				out = append(out, sqlToken{'w', map[byte]string{'|': "or", '&': "and"}[c]})
				i += 2
				continue
			}
			out = append(out, sqlToken{c, text[i : i+1]})
			i++
		}
	}
	return out
}

// Functions and words that no ordinary value holds.
var (
	sqlDelays   = set("sleep benchmark pg_sleep waitfor dbms_pipe.receive_message dbms_lock.sleep randomblob dbms_session.sleep")
	sqlExecutes = set("xp_cmdshell sp_oacreate sp_oamethod xp_regwrite xp_regread xp_dirtree sys_exec sys_eval dbms_scheduler.create_job dbms_java.runjava load_extension xp_servicecontrol sp_execute_external_script openrowset sp_addextendedproc master..xp_cmdshell master.dbo.xp_cmdshell")
	sqlFiles    = set("load_file outfile dumpfile pg_read_file pg_ls_dir lo_import lo_export utl_file.fopen pg_read_binary_file readfile writefile utl_http.request httpuritype utl_inaddr.get_host_address utl_inaddr.get_host_name")
	clientFiles = set("readfile writefile") // which are functions of a client, and name files of its own machine
	sqlErrors   = set("extractvalue updatexml ctxsys.drithsx.sn xmltype exp floor name_const gtid_subset json_keys geometrycollection polygon multipoint")
	sqlSchema   = set("information_schema information_schema.tables information_schema.columns sqlite_master sysobjects syscolumns all_tables pg_catalog sys.tables pg_tables sysdatabases master..sysdatabases all_users user_tables mysql.user pg_shadow pg_user dba_users sys.user$ msysobjects sysusers master..syslogins master..sysxlogins sys.databases information_schema.schemata")
)

// sql judges SQL: a whole statement, or a value that was meant to go into one.
func (a *assessor) sql(text string, at span) {
	if len(text) < 2 {
		return
	}
	if len(text) > 256<<10 || !a.spend(len(text)) {
		a.starve(at)
		return
	}
	if isSQL(text) {
		a.statement(lexSQL(text), at)
		return
	}
	if !mayInject(text) {
		return
	}
	plain := text
	for range 2 {
		if !strings.Contains(plain, "%") && !strings.Contains(plain, "+") {
			break
		}
		d, err := url.QueryUnescape(plain)
		if err != nil {
			break
		}
		plain = d
	}
	a.value(lexSQL(strings.Trim(plain, "\x00")), plain, at)
}

// mayInject is a quick look for what every injection has.
func mayInject(text string) bool {
	if len(text) > 16<<10 {
		return false
	}
	return strings.ContainsAny(text, "'\"`;#=(%") || strings.Contains(text, "--") || strings.Contains(text, "/*") || strings.Contains(text, "@@") ||
		strings.Contains(strings.ToLower(text), "union") || strings.Contains(strings.ToLower(text), "order by") || strings.Contains(strings.ToLower(text), "select")
}

// joinedText is the text that a statement puts together with ||, and whether it is one of several parts.
func joinedText(ts []sqlToken) (text string, joined bool) {
	for i := 0; i < len(ts) && ts[i].kind == 's'; i += 2 {
		text, joined = text+ts[i].text, i > 0
		if i+1 == len(ts) || ts[i+1].kind != 'w' || ts[i+1].text != "or" {
			break
		}
	}
	return text, joined
}

// statement judges a whole statement, or several.
func (a *assessor) statement(ts []sqlToken, at span) {
	first, where, from := "", false, false
	statements, earlier := 0, ""
	mixed := false            // another kind of statement stands before, as where one is put behind a query
	made := map[string]bool{} // tables that the text makes itself
	depth, outer, behind := 0, "", false
	for i, t := range ts {
		next := sqlToken{}
		if i+1 < len(ts) {
			next = ts[i+1]
		}
		switch {
		case t.kind == '(':
			depth++
		case t.kind == ')':
			depth--
		case depth == 0 && outer == "" && first == "with" && t.kind == 'w' && listed("select insert update delete merge", t.text):
			outer = t.text
		}
		if first == "" && t.kind == 'w' {
			mixed = mixed || earlier != "" && !schemaVerbs[earlier]
			first, where, from, earlier = t.text, false, false, t.text
			statements++
		}
		if first == "create" && t.text == "table" {
			made[tableIn(ts[i+1:])] = true
		}
		switch {
		case t.kind == 'w' && sqlDelays[t.text] && (next.kind == '(' || t.text == "waitfor"):
			a.report("sql.delay", 0, at)
		case t.kind == 'w' && sqlExecutes[t.text]:
			a.report("sql.execute", 0, at)
		case t.kind == 'w' && t.text == "program" && first == "copy":
			a.report("sql.execute", 0, at)
			if next.kind == 's' { // the client's own copy runs it here
				a.command(next.text, &at)
			}
		case t.kind == 'w' && t.text == "execute" && next.kind == 's':
			if inner, joined := joinedText(ts[i+1:]); joined && a.depth < maxDepth {
				a.depth++
				a.sql(inner, at)
				a.depth--
			}
		case t.kind == 'w' && sqlFiles[t.text] && !(a.filesHere && clientFiles[t.text]):
			a.report("sql.file", 0, at)
		case t.kind == 'w' && t.text == "infile":
			a.report("sql.file", 0.5, at)
			if next.kind == 's' && placeOf(normalPath(next.text).text).read >= 0.3 {
				a.report("sql.file", 0, at)
			}
		case t.kind == 'w' && untrusted[t.text]:
			a.report("sql.execute", 0.82, at)
		case t.kind == 's' && i > 0 && (ts[i-1].text == "execute" || ts[i-1].text == "exec" || ts[i-1].text == "immediate") && isSQL(t.text) && a.depth < maxDepth:
			a.depth++
			a.sql(t.text, at)
			a.depth--
		case t.kind == 'w' && t.text == "delete" && first != "delete" && (next.text == "from" && first != "revoke" && !limited(ts[i:]) || first == "merge" || first == "match" || first == "alter"):
			a.report("sql.destroy", 0.5, at)
		case t.kind == 'w' && first == "with" && depth > 0 && i > 0 && ts[i-1].kind == '(' && (t.text == "delete" || t.text == "update"):
			if behind = true; t.text == "update" && !limited(ts[i:]) {
				a.report("sql.destroy", 0.5, at)
			}
		case t.kind == 'w' && t.text == "drop" && first == "alter" && (next.text == "column" || next.text == "partition"):
			a.report("sql.destroy", 0.45, at)
		case t.kind == 'w' && (t.text == "mysql.user" || t.text == "pg_shadow" || t.text == "pg_authid" || t.text == "sys.user$" || t.text == "sys.sql_logins" || t.text == "mysql.global_priv"):
			a.report("sql.credentials", 0.7, at)
		case t.kind == 'w' && sqlSchema[t.text]:
			a.report("sql.schema", 0, at)
		case t.kind == 'w' && t.text == "where":
			where = !always(ts[i+1:])
		case t.kind == 'w' && t.text == "from":
			from = true
		case t.kind == 'w' && t.text == "or" && tautology(ts[i+1:]):
			a.report("sql.injection", 0.82, at)
		case t.kind == 'w' && t.text == "union" && i+1 < len(ts) && ts[len(ts)-1].kind == 'c' && ts[len(ts)-1].text[0] != '/':
			a.report("sql.injection", 0.7, at)
		case t.kind == 'w' && first == "drop" && (t.text == "keyspace" || t.text == "collection" || t.text == "owned" || t.text == "tablespace" || t.text == "user" || t.text == "role" || t.text == "measurement" || t.text == "series"):
			a.report("sql.destroy", 0.6, at)
		case t.kind == 'w' && first == "drop" && (t.text == "database" || t.text == "schema"):
			w := 0.82
			if testName(tableIn(ts[i+1:])) { // by its name somebody tries things out in it
				w = 0.6
			}
			a.report("sql.destroy", w, at)
		case t.kind == 'w' && first == "drop" && t.text == "table":
			w := 0.6
			if mixed && len(made) == 0 {
				w = 0.82
			}
			if !made[tableIn(ts[i+1:])] {
				a.report("sql.destroy", w, at)
			}
		case t.kind == 'w' && t.text == "truncate" && first == "truncate":
			a.report("sql.destroy", 0.6, at)
		case t.kind == 'w' && (first == "grant" || first == "alter" && statements > 1) && (t.text == "all" || t.text == "superuser" || t.text == "dba" || t.text == "sysadmin"):
			a.report("sql.grant", 0, at)
		case t.kind == 'w' && first == "alter" && t.text == "disable" && (next.text == "row" || next.text == "trigger" || next.text == "rls"):
			a.report("defense.disable", 0.5, at)
		case t.kind == 'w' && first == "grant" && rulingRoles[t.text]:
			a.report("sql.grant", 0, at)
		case t.kind == 'w' && (first == "create" || first == "alter") && t.text == "superuser":
			a.report("sql.grant", 0.7, at)
		}
		if t.kind == ';' || i == len(ts)-1 {
			if !where && (first == "delete" && from || first == "update") {
				a.report("sql.destroy", 0.6, at)
			}
			if behind && outer == "select" { // it reads as a question, and is none
				a.report("sql.destroy", 0.45, at)
			}
			first, outer, behind, depth = "", "", false, 0
		}
	}
}

// schemaVerbs begin the statements of somebody who changes what a database holds as a whole.
var schemaVerbs = set("drop truncate delete create alter begin start commit rollback savepoint release end set use pragma lock unlock comment")

// tableIn is the one table that a statement names; empty if it names more of them.
func tableIn(ts []sqlToken) (name string) {
	for _, t := range ts {
		switch {
		case t.kind == ';':
			return name
		case t.kind == ',' && name != "":
			return ""
		case t.kind == '(' && name != "":
			return name
		case name == "" && (t.kind == 'w' && !listed("if not exists only", t.text) || t.kind == 's'):
			name = strings.ToLower(t.text)
		}
	}
	return name
}

// rulingRoles are roles that come with a database and may do everything in it.
var rulingRoles = set("accountadmin securityadmin orgadmin sysadmin serveradmin db_owner db_securityadmin rds_superuser cloudsqlsuperuser azure_pg_admin pg_execute_server_program pg_read_server_files pg_write_server_files dba sysdba root admin")

// untrusted are the languages in which a database's functions may do anything.
var untrusted = set("plpythonu plpython2u plpython3u plperlu pltclu plsh plv8u pljavau")

// limited says whether a deletion inside a statement chooses among the rows.
func limited(ts []sqlToken) bool {
	depth := 0
	for i, t := range ts {
		switch {
		case t.kind == '(':
			depth++
		case t.kind == ')':
			if depth--; depth < 0 {
				return false
			}
		case t.kind == ';':
			return false
		case t.kind == 'w' && t.text == "where" && depth == 0:
			return !always(ts[i+1:])
		}
	}
	return false
}

// keys are names of columns in which each row has a value of its own, and eachMeets conditions of such a one that
// each value meets.
var (
	keys      = set("id _id uuid guid rowid ctid pk oid")
	eachMeets = map[string]bool{"is not null": true, "> 0": true, "> = 0": true, "> = 1": true, "< > 0": true, "! = 0": true, "> - 1": true, "< > - 1": true, "! = - 1": true}
)

// saysOfKey is what a condition says of a key, if it says nothing else.
func saysOfKey(ts []sqlToken, ends func(int) bool) string {
	if len(ts) == 0 || !keys[ts[0].text[strings.LastIndexByte(ts[0].text, '.')+1:]] {
		return ""
	}
	var said []string
	for i := 1; i < 6 && !ends(i); i++ {
		said = append(said, ts[i].text)
	}
	return strings.Join(said, " ")
}

// always says whether a condition chooses nothing: true, 1, 1=1, id=id, id is not null, id > 0, name like '%'.
func always(ts []sqlToken) bool {
	for len(ts) > 0 && ts[0].kind == '(' {
		ts = ts[1:]
	}
	ends := func(i int) bool {
		return i >= len(ts) || ts[i].kind == ';' || ts[i].kind == ')' || ts[i].kind == 'c' || ts[i].kind == 'w' && (ts[i].text == "returning" || ts[i].text == "limit" || ts[i].text == "order")
	}
	switch {
	case len(ts) == 0:
		return false
	case eachMeets[saysOfKey(ts, ends)]:
		return true
	case (ts[0].text == "true" || ts[0].kind == 'n' && ts[0].text != "0") && ends(1):
		return true
	case len(ts) < 3 || !ends(3):
		return false
	case listed("like ilike", ts[1].text) && ts[2].kind == 's' && ts[2].text != "" && strings.Trim(ts[2].text, "%") == "":
		return true
	case ts[1].kind == '=' && ts[0].kind == ts[2].kind && ts[0].text == ts[2].text:
		return true
	}
	return tautology(ts[:3])
}

// tautology says whether what follows "or" is always true: 1=1, 'a'='a', true.
func tautology(ts []sqlToken) bool {
	for len(ts) > 0 && (ts[0].kind == '(' || ts[0].kind == 'w' && ts[0].text == "not") {
		ts = ts[1:]
	}
	if len(ts) == 0 {
		return false
	}
	if ts[0].kind == 'w' && (ts[0].text == "true" && (len(ts) == 1 || ts[1].kind != '=' && ts[1].kind != '.')) {
		return true
	}
	if len(ts) < 3 {
		return false
	}
	a, op, b := ts[0], ts[1], ts[2]
	literal := func(t sqlToken) bool { return t.kind == 'n' || t.kind == 's' }
	switch {
	case literal(a) && op.kind == '=' && literal(b) && a.text == b.text:
		return true
	case literal(a) && op.kind == '=' && b.kind == 'q':
		return true
	case literal(a) && literal(b) && (op.kind == '<' || op.kind == '>') && a.text != b.text:
		return true
	case literal(a) && op.kind == 'w' && (op.text == "like" || op.text == "in" || op.text == "between"):
		return true
	}
	return false
}

// value judges a value for how it breaks out of its place. Each sign counts,
// and together they must say more than an apostrophe in a sentence does.
func (a *assessor) value(ts []sqlToken, text string, at span) {
	if len(ts) == 0 {
		return
	}
	breaks, logic, comment, union, stacked, taut, calls := false, false, false, false, false, false, 0
	sentence := 0
	for i, t := range ts {
		var prev, next sqlToken
		if i > 0 {
			prev = ts[i-1]
		}
		if i+1 < len(ts) {
			next = ts[i+1]
		}
		switch t.kind {
		case 'q', 's':
			// A quote at the beginning, or right behind a word, ends somebody's string.
			if t.kind == 's' && prev.kind == 'w' && next.kind == 'w' && !sqlWords[next.text] {
				continue // rock 'n' roll
			}
			if i <= 1 && (t.kind == 'q' || next.kind == 'w' || next.kind == 'c' || next.kind == 's' || next.kind == '=' || next.kind == ';') || prev.kind == 'n' {
				breaks = true
			}
			if t.kind == 's' && i <= 1 {
				// The value was cut so that 'or' seems to be a string.
				inner := lexSQL(t.text)
				if len(inner) > 0 && inner[0].kind == 'w' && sqlJoins[inner[0].text] || strings.HasPrefix(strings.TrimSpace(t.text), ")") || strings.HasPrefix(strings.TrimSpace(t.text), ";") || strings.HasPrefix(strings.TrimSpace(t.text), "=") || strings.TrimSpace(t.text) == "" || strings.HasPrefix(strings.TrimSpace(t.text), "|") || strings.HasPrefix(strings.TrimSpace(t.text), "+") {
					breaks = true
					for _, in := range inner {
						if in.kind == 'w' {
							logic = logic || sqlJoins[in.text] || sqlVerbs[in.text]
							union = union || in.text == "union"
							if sqlDelays[in.text] || sqlExecutes[in.text] || sqlFiles[in.text] || sqlSchema[in.text] {
								calls += 2
							}
						}
						if in.kind == '=' {
							taut = true
						}
						comment = comment || in.kind == 'c'
						stacked = stacked || in.kind == ';' && logic
					}
				}
			}
		case 'c':
			comment = true
		case ';':
			stacked = stacked || next.kind == 'w' && (sqlVerbs[next.text] || next.text == "shutdown" || next.text == "waitfor" || next.text == "if")
		case 'w':
			switch {
			case t.text == "union" && (next.text == "select" || next.text == "all" || next.text == "distinct" || next.kind == '('):
				union = true
			case (t.text == "or" || t.text == "and" || t.text == "xor" || t.text == "having" || t.text == "where") && tautology(ts[i+1:]):
				taut = true
			case sqlJoins[t.text] && (prev.kind == 'q' || prev.kind == 's' || prev.kind == 'n' || prev.kind == ')' || i == 0):
				logic = true
			case (sqlDelays[t.text] || sqlExecutes[t.text] || sqlFiles[t.text]) && (next.kind == '(' || strings.Contains(t.text, "_") || t.text == "waitfor" || t.text == "outfile" || t.text == "dumpfile"):
				calls += 2
			case sqlErrors[t.text] && next.kind == '(':
				calls++
			case sqlSchema[t.text] || strings.HasPrefix(t.text, "@@"):
				calls++
			case t.text == "select" && prev.kind == '(' || (t.text == "char" || t.text == "chr" || t.text == "concat" || t.text == "ascii" || t.text == "substring" || t.text == "substr" || t.text == "version" || t.text == "database" || t.text == "user" || t.text == "convert" || t.text == "cast" || t.text == "hex" || t.text == "rand") && next.kind == '(':
				calls++
			}
			if next.kind == 'w' && prev.kind == 'w' && !sqlWords[t.text] {
				sentence++
			}
		}
	}
	n := 0
	for _, b := range []bool{breaks, logic, comment, union, stacked, taut} {
		if b {
			n++
		}
	}
	n += min(calls, 3)
	if sentence > 6 && calls < 2 && !taut && !union {
		n = 0
	}
	delay := false
	for i, t := range ts {
		if t.kind == 'w' && sqlDelays[t.text] && (i+1 < len(ts)) && (breaks || logic || stacked || len(ts) < 24) {
			delay = true
		}
		if t.kind == 'w' && sqlExecutes[t.text] {
			a.report("sql.execute", 0, at)
		}
	}
	if delay && (ts[0].text != "sleep" || len(ts) > 2) && calls >= 2 {
		a.report("sql.delay", 0, at)
	}
	switch {
	case stacked && (breaks || comment || calls > 0 || ts[0].kind == ';' || ts[0].kind == 'n' || ts[0].kind == ')'):
		a.report("sql.stacked", 0, at)
	case union && (n >= 2 || ts[0].kind == 'n' || ts[0].text == "union"):
		a.report("sql.injection", 0.9, at)
	case taut && (breaks || comment || ts[0].kind == 'n' || ts[0].text == "or" || ts[0].text == "and" || ts[0].kind == ')'):
		a.report("sql.injection", 0.9, at)
	case n >= 3 || calls >= 3 || calls >= 2 && (breaks || logic || ts[0].kind == ')' || ts[0].kind == ','):
		a.report("sql.injection", 0, at)
	case ts[0].kind == 'w' && sqlJoins[ts[0].text] && comment && len(ts) <= 8 && (ts[0].text == "order" || ts[0].text == "or" || ts[0].text == "and" || ts[0].text == "having" || ts[0].text == "group"):
		a.report("sql.injection", 0.82, at)
	case (ts[0].kind == 'n' || ts[0].kind == ')') && len(ts) > 3 && sqlJoins[ts[1].text] && strings.Contains(strings.ToLower(text), "select"):
		a.report("sql.injection", 0.82, at)
	case breaks && (comment || logic) && sentence <= 3:
		a.report("sql.injection", 0.82, at)
	case union || taut || calls >= 2 || stacked:
		a.report("sql.injection", 0.5, at)
	case comment && logic || breaks && len(ts) <= 3 && len(text) <= 12:
		a.report("sql.injection", 0.4, at)
	}
}

var (
	sqlJoins = set("or and xor union having order group limit like between in rlike regexp procedure into where as is div")
	sqlWords = set("or and xor union all select from where having order by group limit like between in rlike regexp procedure into insert update delete drop table database values set exec declare null not is as asc desc waitfor delay if then else case when end begin varchar int char cast convert")
)
