package hazard

import (
	"net/url"
	"slices"
	"strings"
)

// Databases of tests are made to be thrown away, several times a day, and a registry on the
// machine itself is no publication. Both are told by what the command itself says, never by
// what stands around it.

// frameworks are programs that take the database from the environment that they run in,
// launchers what starts them by their files, and environments how they are told which
// environment that is. databases are clients that name the database themselves.
var (
	frameworks   = set("rails rake mix artisan console knex sequelize sequelize-cli manage.py django-admin")
	launchers    = set("php python python3 ruby node npx bundle poetry uv pipenv")
	environments = []string{"RAILS_ENV", "RACK_ENV", "MIX_ENV", "NODE_ENV", "APP_ENV", "DJANGO_SETTINGS_MODULE"}
	databases    = set("dropdb psql pg_restore")
)

// rehearses reports whether a command works on a database of tests: by the environment that
// it is given, or by the name of a database on this machine.
func (c *invocation) rehearses() bool {
	switch {
	case c.gives("DATABASE_URL", "DB_URL", "PGHOST", "PGSERVICE", "PGDATABASE", "DB_HOST", "MYSQL_HOST"):
		return false // another database than the one that it seems to be
	case frameworks[c.name], launchers[c.name] && c.launches(frameworks):
		return c.testEnvironment()
	case c.name == "supabase":
		return !slices.ContainsFunc(c.args, func(a flow) bool {
			return !a.known || strings.HasPrefix(a.text, "--linked") || strings.HasPrefix(a.text, "--db-url") || strings.HasPrefix(a.text, "--project-ref")
		}) && c.names("db") && c.names("reset") // else the database in this machine's containers
	case databases[c.name]:
		return c.testDatabase()
	}
	return false
}

// launches reports whether a launcher's first word that is no option, and no word for
// "run this", is one of some programs. Behind an option stands perhaps another program.
func (c *invocation) launches(programs map[string]bool) bool {
	for i := 0; i < len(c.args) && i < 2; i++ {
		if t := c.args[i].text; t != "exec" && t != "run" {
			return c.args[i].known && programs[baseName(t)]
		}
	}
	return false
}

// testEnvironment reports whether all that names a framework's environment says that it is the
// tests'.
func (c *invocation) testEnvironment() bool {
	var named []string
	for _, name := range environments {
		if v := c.vars[name]; slices.Contains(c.beside, name) {
			named = append(named, known(v))
		}
	}
	for i, a := range c.args {
		name, value, joined := strings.Cut(a.text, "=")
		switch {
		case joined && (slices.Contains(environments, name) || name == "--env" || name == "--settings"):
			a.text = value
			named = append(named, known(a))
		case (name == "--env" || name == "--settings") && i+1 < len(c.args):
			named = append(named, known(c.args[i+1]))
		case name == "--database" || name == "--url" || name == "--knexfile" || name == "--config":
			return false // another database than that of the environment
		}
	}
	for _, name := range named {
		if last := name[strings.LastIndexByte(name, '.')+1:]; last != "test" && last != "testing" && last != "tests" {
			return false
		}
	}
	return len(named) > 0
}

// known is a word's text where that is known, and else nothing's name.
func known(w flow) string {
	if !w.known {
		return "?"
	}
	return w.text
}

// gives reports whether one of some variables is set for this command, or before it.
func (c *invocation) gives(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		_, ok := c.vars[name]
		return ok || slices.ContainsFunc(c.args, func(a flow) bool { return strings.HasPrefix(a.text, name+"=") })
	})
}

// testDatabase reports whether all that a database's client names is a database of tests on
// this machine.
func (c *invocation) testDatabase() bool {
	named := ""
	for i := 0; i < len(c.args); i++ {
		a := c.args[i]
		option, value, joined := strings.Cut(a.text, "=")
		next := func() string {
			if !joined && i+1 < len(c.args) {
				i++
				value = c.args[i].text
				a = c.args[i]
			}
			return value
		}
		switch {
		case option == "-h" || option == "--host":
			if host := next(); host != "localhost" && host != "127.0.0.1" && host != "::1" || !a.known {
				return false
			}
		case option == "-d" || option == "--dbname":
			if named != "" {
				return false
			}
			if named = next(); !a.known {
				return false
			}
		case option == "-c" || option == "--command":
			if sql := strings.ToLower(next()); !a.known || elsewhere(sql) {
				return false
			}
		case option == "-f" || option == "--file" || option == "--maintenance-db" || option == "-C" || option == "--create":
			return false
		case slices.Contains([]string{"-U", "-p", "-j", "-F", "-n", "-t", "-v", "--username", "--port"}, option):
			next()
		case len(option) > 2 && option[0] == '-' && option[1] != '-' && strings.ContainsAny(option, "hdfcC"):
			return false // written together: whoever writes so is asked
		case strings.HasPrefix(option, "-"):
		case c.name == "pg_restore": // files
		case named == "" && a.known:
			named = a.text
		default:
			return false
		}
	}
	return testName(named)
}

// elsewhere reports whether a query may reach another database than the one it is sent to.
func elsewhere(sql string) bool {
	return strings.ContainsAny(sql, `\."`) || slices.ContainsFunc([]string{"database", "role", "user", "dblink", "program", "copy"}, func(w string) bool { return strings.Contains(sql, w) })
}

// testName reports whether a database's name says that it is one of tests.
func testName(name string) bool {
	if name == "" || strings.ContainsAny(name, ":/@?=$* ") {
		return false
	}
	is := false
	for word := range strings.FieldsFuncSeq(strings.ToLower(name), func(r rune) bool { return r == '_' || r == '-' || r == '.' }) {
		if inUse[word] {
			return false
		}
		is = is || word == "test" || word == "tests" || word == "testing"
	}
	return is
}

// asideOptions are what deploying programs call the environment, the application or the
// settings that they deploy with.
var asideOptions = set("--stage -s --env -e --environment --config -c --config-env --app -a --stack --stack-name --profile --project -P --context --service --function-name --only")

// deploysAside reports whether all that a deployment says of where it goes names a place that
// nobody's customers see: by the words of its own options, or of the one service that it names.
func (c *invocation) deploysAside() bool {
	aside, services := false, false
	for i, a := range c.args {
		option, value, joined := strings.Cut(a.text, "=")
		switch {
		case joined && asideOptions[option]:
		case i > 0 && asideOptions[c.args[i-1].text], services && !strings.HasPrefix(a.text, "-"):
			value = a.text
		default:
			services = a.text == "deploy" // behind which they are named
			if hasWord(a.text, inUse) {
				return false
			}
			continue
		}
		if !a.known || hasWord(value, inUse) || !hasWord(value, asides) {
			return false
		}
		aside = true
	}
	return aside
}

// asides are words for places beside the one that customers use.
var asides = set("dev develop development test tests testing staging stage preview sandbox qa uat demo local")

// hasWord reports whether one of a name's words is one of some: words are cut at signs, and
// where a capital letter follows a small one.
func hasWord(name string, words map[string]bool) bool {
	for i := 0; i < len(name); {
		j := i
		for j < len(name) && isLetter(name[j]) && (j == i || !(isUpper(name[j]) && !isUpper(name[j-1]))) {
			j++
		}
		if words[strings.ToLower(name[i:j])] {
			return true
		}
		i = max(j, i+1)
	}
	return false
}

// registries are programs that publish, and the options that say where to. npm and its like
// are not among them: a package's own file can name another place.
var registries = map[string][]string{
	"twine": {"--repository-url"}, "dotnet": {"--source", "-s"}, "nuget": {"-Source", "-source"}, "gem": {"--host"}, "uv": {"--publish-url"},
}

// publishesHere reports whether what a command publishes goes no further than this machine.
func (c *invocation) publishesHere() bool {
	if c.name == "docker" || c.name == "podman" {
		return c.pushesHere()
	}
	options, places := registries[c.name], 0
	for i, a := range c.args {
		option, value, joined := strings.Cut(a.text, "=")
		if !slices.Contains(options, option) {
			continue
		}
		if !joined {
			if i+1 == len(c.args) {
				return false
			}
			a, value = c.args[i+1], c.args[i+1].text
		}
		u, err := url.Parse(value)
		if err != nil || !a.known || !isLoopback(u.Hostname()) {
			return false
		}
		places++
	}
	return places == 1
}

// pushesHere reports whether the one image that is pushed names a registry of this machine.
func (c *invocation) pushesHere() bool {
	var words []flow
	for _, a := range c.args {
		if !strings.HasPrefix(a.text, "-") {
			words = append(words, a)
		}
	}
	if n := len(words); n < 2 || words[n-2].text != "push" || !words[n-1].known {
		return false
	} else {
		host, _, _ := strings.Cut(words[n-1].text, "/")
		name, _, port := strings.Cut(host, ":")
		return port && isLoopback(name)
	}
}

func isLoopback(host string) bool { return host == "localhost" || host == "127.0.0.1" || host == "::1" }
