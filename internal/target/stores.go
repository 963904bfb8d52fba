package target

import (
	"net/netip"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/regular"
	"reeve.example/reeve/internal/risk/hazard"
	"reeve.example/reeve/internal/yamldoc"
)

// Bounds of what is read of a project.
const (
	maxStores         = 256 << 10 // bytes of one file
	maxProjectFolders = 4         // folders of one call
)

// Stores are what the files of the folders that a call works in say of their data: the databases of a
// project that is developed here, and the containers and volumes that compose runs for it. Nothing is
// said of a folder some file of which names another machine, is of production, or cannot be read. It
// looks only where the call may take data away.
func Stores(a *act.Action, folder string) (all []act.Stores) {
	if folder == "" || !slices.ContainsFunc(a.Content, func(l act.Leaf) bool { return mayTake(l.Text) }) {
		return nil
	}
	folders := []string{folder}
	for i := range a.Content {
		for _, m := range goesTo.FindAllStringSubmatch(a.Content[i].Text, maxProjectFolders) {
			if to := filepath.Join(folders[0], m[1]); !slices.Contains(folders, to) && len(folders) < maxProjectFolders {
				folders = append(folders, to)
			}
		}
	}
	for _, folder := range folders {
		p := project{folder: folder, variables: map[string]string{}}
		p.compose()
		p.databases()
		all = append(all, p.said...)
	}
	return all
}

// mayEmpty and keepers are a quick look for a call that may take data away, by a program that has some:
// keepers are words of such programs' names.
var (
	mayEmpty = lazyregexp.New(`(?i)reset|drop|clean|flush|truncat|delete|fresh|wipe|purge|setup|rollback|downgrade|undo|\bzero\b|volume|\brm\b|schema`)
	keepers  = set("psql pg_restore mysql mysqladmin mariadb mongo mongosh redis valkey sqlcmd usql clickhouse dropdb rails rake prisma sqlx dbmate diesel artisan manage django mix knex sequelize drizzle docker podman nerdctl flyway flywayClean liquibase dropAll celery")
)

// mayTake reports whether a text may be of a call that takes data away.
func mayTake(text string) bool {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r != '_' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z') }) {
		if keepers[word] {
			return mayEmpty.MatchString(text)
		}
	}
	return false
}

// goesTo is a folder below, to which a command goes.
var goesTo = lazyregexp.New(`\bcd ([A-Za-z0-9_][A-Za-z0-9_./-]*)`)

// project is a folder that is looked at, and what was found in it.
type project struct {
	folder    string
	variables map[string]string // that its files set
	services  []string          // of its containers, which are hosts for each other
	files     []string          // that were read
	here      bool              // one of them names a database of this machine
	away      bool              // one of them names another one, or cannot be read
	names     []string          // of databases
	said      []act.Stores
}

// read is what a file of the folder holds; ok is false where there is none. One that cannot be read may
// say anything.
func (p *project) read(name string) (text string, ok bool) {
	b, err := regular.Read(filepath.Join(p.folder, filepath.FromSlash(name)), maxStores)
	if os.IsNotExist(err) {
		return "", false
	}
	if p.away = p.away || err != nil; err != nil {
		return "", false
	}
	p.files = append(p.files, name)
	return string(b), true
}

// stages are variables that say what a program runs as.
var stages = []string{"RAILS_ENV", "RACK_ENV", "APP_ENV", "NODE_ENV", "MIX_ENV", "FLASK_ENV", "DJANGO_ENV", "ENVIRONMENT", "ENV", "STAGE"}

// databases looks at what the folder's files say of its databases.
func (p *project) databases() {
	for _, name := range []string{".env", "prisma/.env", ".env.local", ".env.development", ".env.development.local", ".envrc"} {
		if text, ok := p.read(name); ok {
			p.sets(text)
		}
	}
	// What stands in the environment goes before the files.
	for _, v := range os.Environ() {
		name, value, _ := strings.Cut(v, "=")
		if _, set := p.variables[name]; (set || name == "DATABASE_URL") && ofDatabase(name) {
			p.variable(name, value)
		}
	}
	variables, programs := p.programs()
	if p.away || len(programs) == 0 && len(variables) == 0 {
		return
	}
	slices.Sort(p.names)
	p.said = append(p.said, act.Stores{Folder: p.folder, Files: p.files, Variables: variables, Databases: slices.Compact(p.names), Programs: programs})
}

// programs are the variables that hold the address of a database, and the programs that go by these or by files of
// the folder, and so by a database of this machine.
func (p *project) programs() (variables, programs []string) {
	for name, value := range p.variables {
		if slices.Contains(stages, name) && hazard.SaysInUse(value) {
			return nil, nil
		}
		if ofDatabase(name) || databaseAddress.MatchString(value) {
			if p.variable(name, value); strings.Contains(value, "://") {
				variables = append(variables, name)
			}
		}
	}
	slices.Sort(variables)
	byVariables := p.here && !p.away
	for _, s := range programSettings {
		q := *p
		q.here, q.names = false, nil
		if s.file != nil {
			s.file(&q)
		}
		if len(q.files) == len(p.files) { // it has none of its own
			q.here = byVariables && slices.ContainsFunc(append(s.variables, "DATABASE_URL"), func(v string) bool { _, ok := p.variables[v]; return ok })
		}
		if q.here && !q.away {
			programs = append(programs, s.programs...)
		}
		p.files, p.names = q.files, append(p.names, q.names...)
	}
	return variables, programs
}

// programSettings are the programs that go by a project's files, with what reads these; where there are
// none, a variable says which database it is, DATABASE_URL if no other.
var programSettings = []struct {
	programs  []string
	variables []string
	file      func(p *project)
}{
	{[]string{"sqlx", "dbmate", "diesel"}, nil, nil},
	{[]string{"artisan"}, []string{"DB_HOST", "DB_URL"}, nil},
	{[]string{"rails", "rake"}, nil, (*project).rails},
	{[]string{"sequelize", "sequelize-cli"}, nil, (*project).sequelize},
	{[]string{"prisma"}, nil, func(p *project) { p.texts("prisma/schema.prisma", "schema.prisma", "prisma.config.ts") }},
	{[]string{"manage.py", "django-admin"}, nil, (*project).django},
	{[]string{"mix"}, nil, func(p *project) { p.texts("config/dev.exs") }},
	{[]string{"knex"}, nil, func(p *project) { p.texts("knexfile.js", "knexfile.ts", "knexfile.cjs", "knexfile.mjs") }},
	{[]string{"flyway", "liquibase"}, nil, (*project).spring},
	{[]string{"sqlcmd"}, nil, (*project).dotnet},
	{[]string{"celery"}, []string{"CELERY_BROKER_URL", "BROKER_URL", "REDIS_URL", "RABBITMQ_URL"}, nil},
	{[]string{"drizzle-kit"}, nil, func(p *project) { p.texts("drizzle.config.ts", "drizzle.config.js") }},
}

// setting is a line of a file that sets variables.
var setting = lazyregexp.New(`(?m)^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*(.*?)[ \t\r]*$`)

// sets notes the variables that a file sets. One that is set twice, and otherwise, is not known.
func (p *project) sets(text string) {
	for _, m := range setting.FindAllStringSubmatch(text, 512) {
		value := m[2]
		if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		} else if before, _, comment := strings.Cut(value, " #"); comment {
			value = strings.TrimSpace(before)
		}
		value = os.Expand(value, func(name string) string {
			if v, ok := p.variables[name]; ok {
				return v
			}
			return "$" + name
		})
		if had, ok := p.variables[m[1]]; ok && had != value {
			p.variable(m[1], had) // which may count, too
		}
		p.variables[m[1]] = value
	}
}

// partsOfNames are words in the names of variables, and of settings, that are about a database.
var partsOfNames = []string{"DATABASE", "DB", "POSTGRES", "POSTGRESQL", "PG", "MYSQL", "MARIADB", "MONGO", "MONGODB", "SQL", "MSSQL", "REDIS", "DSN", "JDBC", "SQLALCHEMY"}

// ofDatabase reports whether a variable is about a database, by its name.
func ofDatabase(name string) bool {
	name = strings.ToUpper(name)
	return strings.HasPrefix(name, "PG") || slices.ContainsFunc(strings.Split(name, "_"), func(w string) bool { return slices.Contains(partsOfNames, w) })
}

// databaseAddress is an address of a database.
var databaseAddress = lazyregexp.New(`(?i)\b(?:jdbc:)?(?:postgres|postgresql|psql|pg|cockroachdb|mysql|mysql2|mariadb|mongodb|redis|rediss|valkey|mssql|sqlserver|oracle|clickhouse|ecto|sqlite|sqlite3)(?:\+[a-z0-9_]+)?:(?:file:)?//[^\s"'<>` + "`" + `]*|\b(?:file|sqlite|sqlite3):[\w./-]+`)

// variable notes what a variable about a database says.
func (p *project) variable(name, value string) {
	words := strings.Split(strings.ToUpper(name), "_")
	has := func(list ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(list, w) })
	}
	switch {
	case value == "":
	case hazard.SaysInUse(name), name == "PGSERVICE", name == "PGSERVICEFILE":
		p.away = true
	case strings.Contains(value, "://") || databaseAddress.MatchString(value):
		p.address(value)
	case has("HOST", "HOSTNAME", "HOSTADDR", "SERVER", "ADDR", "ADDRESS", "ENDPOINT", "SOCKET") || name == "PGHOST" || name == "PGHOSTADDR":
		p.host(value)
	case has("URL", "URI", "DSN"):
		p.away = true // in a form that is not known here
	case has("PASSWORD", "PASS", "PASSWD", "USER", "USERNAME", "SECRET", "KEY"):
	default:
		if p.away = p.away || hazard.SaysInUse(value); !p.away && has("NAME", "DATABASE", "DB") && !strings.ContainsAny(value, "$/ ") {
			p.names = append(p.names, value)
		}
	}
}

// address notes what the address of a database says.
func (p *project) address(text string) {
	text = strings.TrimPrefix(text, "jdbc:")
	u, err := url.Parse(text)
	switch {
	case err != nil || strings.Contains(text, "$") || hazard.SaysInUse(text):
		p.away = true
	case u.Scheme == "file" || strings.HasPrefix(u.Scheme, "sqlite"):
		p.here = true
	case strings.Contains(u.RawQuery, "host") || strings.Contains(u.RawQuery, "service") || strings.Contains(u.Host, ","):
		p.away = true
	default:
		if p.host(u.Hostname()); !p.away {
			if name := strings.Trim(u.Path, "/"); name != "" && !strings.Contains(name, "/") {
				p.names = append(p.names, name)
			}
		}
	}
}

// host notes where a database is said to be.
func (p *project) host(host string) {
	if h, port, ok := strings.Cut(host, ":"); ok && strings.Trim(port, "0123456789") == "" {
		host = h
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	if strings.HasPrefix(host, "/") || slices.Contains([]string{"localhost", "host.docker.internal"}, host) || err == nil && (addr.IsLoopback() || addr.IsUnspecified()) || slices.Contains(p.services, host) {
		p.here = true
		return
	}
	p.away = true
}

// Forms of settings: a host or the name of a database that is named, and a variable that is asked for.
var (
	saysHost  = lazyregexp.New(`(?i)\b(?:host|hostname|server|socket_dir)\b["']?\s*(?::|=>|=)\s*(["'][^"'\n]*["'])`)
	saysName  = lazyregexp.New(`(?i)\b(?:database|dbname|db_name|name)\b["']?\s*(?::|=>|=)\s*["']([^"'\n]*)["']`)
	saysFile  = lazyregexp.New(`(?i)sqlite3`)
	asksFor   = lazyregexp.New(`(?:environ|getenv|get_env!?|fetch_env!?|env(?:\.\w+)?|ENV(?:\.fetch)?|config|process\.env|url|config_from_env)\s*(?:\.get)?\s*[.(\[]\s*["']?([A-Z][A-Z0-9_]*)["']?(?:\s*,\s*(?:default\s*=\s*)?["']([^"'\n]*)["'])?`)
	asksRails = lazyregexp.New(`(?s)<%=?.*?%>`)
	// railsBlock is a variable with what is taken where it is not set, as a block.
	railsBlock = lazyregexp.New(`ENV\.fetch\(\s*["'](\w+)["']\s*\)\s*\{\s*["']?([^"'}]*?)["']?\s*\}`)
	// asksAddress is how libraries ask for DATABASE_URL without naming it.
	asksAddress = lazyregexp.New(`\benv\.db(?:_url)?\(\s*\)|\bdj_database_url\.config\(\s*\)`)
)

// texts looks at those of some files that are there, which are programs or settings of whatever form:
// every host, every address and every variable of a database that stands in one counts.
func (p *project) texts(names ...string) {
	for _, name := range names {
		if text, ok := p.read(name); ok {
			p.text(text)
		}
	}
}

// text looks at the text of one of them.
func (p *project) text(text string) {
	for _, m := range databaseAddress.FindAllString(text, 64) {
		p.address(m)
	}
	for _, m := range saysHost.FindAllStringSubmatch(text, 64) {
		if host := strings.Trim(m[1], `"'`); host != "" {
			p.host(host)
		}
	}
	for _, m := range saysName.FindAllStringSubmatch(text, 64) {
		p.away = p.away || hazard.SaysInUse(m[1])
	}
	for _, m := range asksFor.FindAllStringSubmatch(text, 64) {
		p.asks(m[1], m[2])
	}
	if asksAddress.MatchString(text) {
		p.asks("DATABASE_URL", "")
	}
	p.here = p.here || saysFile.MatchString(text)
}

// asks notes a variable that a program asks for, with what it takes where that is not set.
func (p *project) asks(name, otherwise string) {
	if !ofDatabase(name) {
		return
	}
	value, set := p.variables[name]
	switch {
	case set:
		p.variable(name, value)
	case otherwise != "":
		p.variable(name, otherwise)
	default:
		p.variable(name, "$"+name)
	}
}

// outline are the lines of settings in YAML that name something, with how far they are indented. YAML is
// not read as a whole here: what people write holds anchors, and code that Rails puts values in for.
func outline(text string) (lines []entry) {
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		if trimmed := strings.TrimLeft(name, " "); ok && trimmed != "" && trimmed[0] != '#' && len(lines) < 4096 {
			if before, _, comment := strings.Cut(value, " #"); comment {
				value = before
			}
			lines = append(lines, entry{len(name) - len(trimmed), strings.Trim(trimmed, `"'`), strings.TrimSpace(value)})
		}
	}
	return lines
}

// entry is a line of an outline.
type entry struct {
	indent      int
	name, value string
}

// sectionOf are the lines that belong to those of a name that are not indented.
func sectionOf(lines []entry, name string) (own []entry) {
	in := false
	for _, l := range lines {
		if l.indent == 0 {
			in = l.name == name
		} else if in {
			own = append(own, l)
		}
	}
	return own
}

// rails looks at what Rails develops with: one section of its settings, with those that are merged in.
func (p *project) rails() {
	text, ok := p.read("config/database.yml")
	if !ok {
		return
	}
	for _, m := range asksRails.FindAllString(text, 64) { // what is put in when it is read
		text = strings.Replace(text, m, p.putIn(m), 1)
	}
	lines := outline(text)
	own := sectionOf(lines, "development")
	for i := 0; i < len(own) && len(own) < 1024; i++ {
		if own[i].name == "<<" {
			for _, l := range lines {
				if l.indent == 0 && "*"+strings.TrimPrefix(l.value, "&") == own[i].value {
					own = append(own, sectionOf(lines, l.name)...)
				}
			}
		}
	}
	told := false
	for _, l := range own {
		value := strings.Trim(l.value, `"'`)
		switch {
		case l.name == "url":
			told = true
			p.address(value)
		case l.name == "host" || l.name == "socket":
			told = true
			p.host(value)
		case l.name == "service" || strings.HasPrefix(l.value, "{"):
			p.away = true
		case l.name == "database":
			if p.away = p.away || hazard.SaysInUse(value) || strings.Contains(value, "$"); value != "" && !p.away {
				p.names = append(p.names, value)
			}
		}
	}
	p.here = p.here || !told && len(p.names) > 0 // by the socket of this machine
}

// putIn is the value that Rails puts in for code: of a variable, or what is taken where that is not set.
func (p *project) putIn(code string) string {
	for _, m := range [][]string{railsBlock.FindStringSubmatch(code), asksFor.FindStringSubmatch(code)} {
		if m == nil {
			continue
		}
		if v, ok := p.variables[m[1]]; ok {
			return v
		}
		if m[2] != "" {
			return strings.Trim(m[2], `"'`)
		}
		return "$" + m[1]
	}
	return "1"
}

// springFiles are the settings that Spring develops with; those of a stage that is in use are not among them.
var springFiles = []string{"application.yml", "application.yaml", "application.properties", "application-dev.yml", "application-dev.properties", "application-local.yml", "application-local.properties"}

// spring looks at the databases in the settings of Spring: every address of one that stands there counts.
func (p *project) spring() {
	for _, name := range springFiles {
		if text, ok := p.read("src/main/resources/" + name); ok {
			for _, m := range databaseAddress.FindAllString(text, 64) {
				p.address(m)
			}
		}
	}
}

// dotnetAddress is where a connection of .NET's leads, and dotnetName the database that it names.
var (
	dotnetAddress = lazyregexp.New(`(?i)\b(?:server|data source|addr|address)\s*=\s*(?:tcp:)?([^;,"\\]+)`)
	dotnetName    = lazyregexp.New(`(?i)\b(?:database|initial catalog)\s*=\s*([^;"]+)`)
)

// dotnet looks at the databases in the settings that .NET develops with.
func (p *project) dotnet() {
	for _, name := range []string{"appsettings.json", "appsettings.Development.json"} {
		text, ok := p.read(name)
		if !ok {
			continue
		}
		for _, m := range dotnetAddress.FindAllStringSubmatch(text, 64) {
			p.host(strings.TrimSpace(m[1]))
		}
		for _, m := range dotnetName.FindAllStringSubmatch(text, 64) {
			if p.away = p.away || hazard.SaysInUse(m[1]); !p.away {
				p.names = append(p.names, strings.TrimSpace(m[1]))
			}
		}
	}
}

// sequelize looks at what Sequelize develops with.
func (p *project) sequelize() {
	text, ok := p.read("config/config.json")
	if !ok {
		p.texts("config/config.js", "config/database.js", ".sequelizerc")
		return
	}
	doc := yamldoc.Read(text, func(yamldoc.Fault) { p.away = true })
	if doc == nil || doc.Get("development") == nil {
		p.away = true
		return
	}
	for _, m := range doc.Get("development").Members {
		switch m.Name {
		case "url":
			p.address(m.Value.Text)
		case "use_env_variable":
			p.asks(m.Value.Text, "")
		case "host":
			p.host(m.Value.Text)
		case "storage":
			p.here = true
		case "database":
			if p.away = p.away || hazard.SaysInUse(m.Value.Text); !p.away {
				p.names = append(p.names, m.Value.Text)
			}
		}
	}
}

// djangoSettings is where manage.py says which settings count.
var djangoSettings = lazyregexp.New(`DJANGO_SETTINGS_MODULE["']\s*,\s*["']([\w.]+)["']`)

// django looks at the settings that manage.py names.
func (p *project) django() {
	text, ok := p.read("manage.py")
	m := djangoSettings.FindStringSubmatch(text)
	if !ok || m == nil {
		return
	}
	module := strings.ReplaceAll(m[1], ".", "/")
	settings, ok := p.read(module + ".py")
	if !ok || !strings.Contains(settings, "DATABASES") {
		return // they come from somewhere else
	}
	p.text(settings)
}

// compose looks at what compose runs for the folder.
func (p *project) compose() {
	if os.Getenv("DOCKER_HOST") != "" || os.Getenv("DOCKER_CONTEXT") != "" || os.Getenv("COMPOSE_FILE") != "" || otherDocker() {
		return
	}
	for _, file := range []string{"compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"} { // the order in which compose looks
		text, ok := p.read(file)
		if !ok {
			continue
		}
		lines := outline(text)
		name := composeName(filepath.Base(p.folder))
		for _, l := range lines {
			if l.indent == 0 && l.name == "name" {
				name = strings.Trim(l.value, `"'`)
			}
		}
		if env := os.Getenv("COMPOSE_PROJECT_NAME"); env != "" {
			name = env
		}
		here := act.Stores{Folder: p.folder, Files: []string{file}}
		services, own := sectionOf(lines, "services"), []string(nil) // by which the last one is called
		for i, l := range services {
			if l.name == "container_name" {
				here.Containers = append(here.Containers, strings.Trim(l.value, `"'`))
			}
			if l.indent == services[0].indent {
				p.services = append(p.services, services[i].name)
				own = []string{l.name, name + "-" + l.name + "-1", name + "_" + l.name + "_1"}
				here.Containers = append(here.Containers, own[1:]...)
				if engine.MatchString(l.name) {
					here.Engines = append(here.Engines, own...)
				}
			} else if l.name == "image" && engine.MatchString(l.value) || l.name == "container_name" && slices.Contains(here.Engines, own[0]) {
				here.Engines = append(here.Engines, append(own, strings.Trim(l.value, `"'`))...)
			}
		}
		for _, m := range databaseAddress.FindAllString(text, 64) { // which the containers are told
			if !strings.Contains(m, "$") {
				p.address(m)
			}
		}
		volumes := sectionOf(lines, "volumes")
		for i, l := range volumes {
			more := i+1 < len(volumes) && volumes[i+1].indent > l.indent // external, or of another name
			if l.indent == volumes[0].indent && !more && l.value == "" {
				here.Volumes = append(here.Volumes, name+"_"+l.name)
			}
		}
		inside, files := p.inside(text)
		here.Inside, here.Files = inside, append(here.Files, files...)
		for _, list := range []*[]string{&here.Containers, &here.Volumes} {
			*list = slices.DeleteFunc(*list, hazard.SaysInUse)
		}
		p.said = append(p.said, here)
		return
	}
}

// inside are the programs that in the services' containers go by a database of theirs, and the files that say so. What
// the services are told counts together, whichever of them a program is run in.
func (p *project) inside(text string) (programs, files []string) {
	in := project{folder: p.folder, services: p.services, variables: map[string]string{}, away: p.away}
	doc := yamldoc.Read(text, func(yamldoc.Fault) { in.away = true })
	if in.away || doc == nil || doc.Get("services") == nil {
		return nil, nil
	}
	if env, ok := in.read(".env"); ok { // of which Compose puts in values
		in.sets(env)
	}
	for _, service := range doc.Get("services").Members {
		if told := service.Value.Get("environment"); told != nil {
			for _, m := range told.Members {
				in.sets(m.Name + "=" + m.Value.Text)
			}
			for _, line := range told.Items {
				in.sets(line.Text)
			}
		}
		if from := service.Value.Get("env_file"); from != nil {
			for name := range from.Strings() {
				env, _ := in.read(name.Text)
				in.sets(env)
			}
		}
	}
	if _, programs = in.programs(); in.away {
		return nil, nil
	}
	return programs, in.files
}

// engine is how databases are called, as services and as images.
var engine = lazyregexp.New(`(?i)^["']?(?:[\w.-]+/)*(?:db|database|postgres|postgresql|postgis|pgvector|timescaledb|pg|mysql|mariadb|percona|mongo|mongodb|redis|valkey|clickhouse|mssql|cockroach|cassandra|kafka|cp-kafka|redpanda|rabbitmq|nats)(?:[-:_@][\w.@:-]*)?["']?$`)

// composeName is the name that compose gives to a project, by its folder's.
func composeName(folder string) string {
	return strings.TrimLeft(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return -1
	}, strings.ToLower(folder)), "_-")
}

// otherDocker reports whether somebody has chosen a Docker that may be another machine's.
func otherDocker() bool {
	home, err := os.UserHomeDir()
	if err != nil {
		return true
	}
	text, err := regular.Read(filepath.Join(home, ".docker", "config.json"), maxStores)
	if err != nil {
		return !os.IsNotExist(err)
	}
	doc := yamldoc.Read(string(text), func(yamldoc.Fault) {})
	if doc == nil {
		return true
	}
	chosen := doc.Get("currentContext")
	return chosen != nil && !slices.Contains([]string{"", "default", "desktop-linux", "colima", "orbstack", "rancher-desktop"}, chosen.Text)
}

// Cluster is the cluster that kubectl speaks to where nobody names one, if its address says that it is on
// this machine: the one that was chosen last.
func Cluster(a *act.Action) string {
	if !a.IsCall() || os.Getenv("KUBECONFIG") != "" || !slices.ContainsFunc(a.Content, func(l act.Leaf) bool { return mayTellCluster.MatchString(l.Text) }) {
		return ""
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return clusterIn(filepath.Join(home, ".kube", "config"))
}

// namedKubeconfig is where a call names the file by which its cluster is found.
var namedKubeconfig = lazyregexp.New(`(?:\bKUBECONFIG=|--kubeconfig[= ])["']?([^\s"';&|<>]+)`)

// Kubeconfigs are the files that a call names for the cluster that it speaks to, and that lead to one on this
// machine. A name is read as a shell would that goes nowhere before.
func Kubeconfigs(a *act.Action, folder string) (all []act.Kubeconfig) {
	if !a.IsCall() || folder == "" {
		return nil
	}
	for i := range a.Content {
		for _, m := range namedKubeconfig.FindAllStringSubmatch(a.Content[i].Text, maxProjectFolders) {
			name := m[1]
			for _, here := range []string{"$PWD/", "${PWD}/", "$(pwd)/", "`pwd`/"} {
				name = strings.TrimPrefix(name, here)
			}
			for _, home := range []string{"~/", "$HOME/", "${HOME}/"} {
				if rest, ok := strings.CutPrefix(name, home); ok {
					name = filepath.Join(homeFolder(), rest)
				}
			}
			if !filepath.IsAbs(name) {
				name = filepath.Join(folder, name)
			}
			if context := clusterIn(name); context != "" {
				all = append(all, act.Kubeconfig{File: name, Context: context})
			}
		}
	}
	return all
}

// clusterIn is the context that is chosen in a file of settings of kubectl, if the address of its cluster says
// that it is on this machine.
func clusterIn(file string) string {
	text, err := regular.Read(file, maxStores)
	if err != nil {
		return ""
	}
	doc := yamldoc.Read(string(text), func(yamldoc.Fault) {})
	if doc == nil || doc.Get("current-context") == nil {
		return ""
	}
	named := func(list, name string) *yamldoc.Node {
		if all := doc.Get(list); all != nil {
			for _, n := range all.Items {
				if is := n.Get("name"); is != nil && is.Text == name {
					return n
				}
			}
		}
		return new(yamldoc.Node)
	}
	at := func(n *yamldoc.Node, names ...string) string {
		for _, name := range names {
			if n = n.Get(name); n == nil {
				return ""
			}
		}
		return n.Text
	}
	context := doc.Get("current-context").Text
	cluster := named("clusters", at(named("contexts", context), "context", "cluster"))
	u, err := url.Parse(at(cluster, "cluster", "server"))
	if err != nil || at(cluster, "cluster", "proxy-url") != "" {
		return ""
	}
	addr, err := netip.ParseAddr(u.Hostname())
	if err == nil && (addr.IsLoopback() || addr.IsUnspecified()) || u.Hostname() == "localhost" || path.Base(u.Hostname()) == "kubernetes.docker.internal" || context == "minikube" && err == nil && addr.IsPrivate() {
		return context
	}
	return ""
}

// mayTellCluster is a quick look for a program that speaks to the chosen cluster.
var mayTellCluster = lazyregexp.New(`\b(?:kubectl|oc|helm|kubens)\b`)

// missing reports, of files that are named as seen from a folder, whether nothing lies there.
func missing(folder string) func(name string) bool {
	return func(name string) bool {
		if rest, ok := strings.CutPrefix(name, "~/"); ok {
			name = filepath.Join(homeFolder(), rest)
		}
		if !filepath.IsAbs(name) {
			if folder == "" {
				return false
			}
			name = filepath.Join(folder, name)
		}
		_, err := os.Lstat(name)
		return os.IsNotExist(err)
	}
}
