package hazard

import (
	"net/url"
	"slices"
	"strings"
)

// Databases of tests are made to be thrown away, several times a day, and a registry on the
// machine itself is no publication. Both are told by what the command itself says, never by
// what stands around it.

// frameworks are programs that take the database from the environment that they run in, with
// how each is told which that is: what is said to another one says nothing to it. launchers
// start them by their files. databases are clients that name the database themselves.
var (
	frameworks = map[string][]string{
		"rails": {"RAILS_ENV", "RACK_ENV"}, "rake": {"RAILS_ENV", "RACK_ENV"}, "mix": {"MIX_ENV"},
		"artisan": {"APP_ENV", "--env"}, "console": {"APP_ENV", "--env"},
		"knex": {"NODE_ENV", "--env"}, "sequelize": {"NODE_ENV", "--env"}, "sequelize-cli": {"NODE_ENV", "--env"},
		"manage.py": {"DJANGO_SETTINGS_MODULE", "--settings"}, "django-admin": {"DJANGO_SETTINGS_MODULE", "--settings"},
	}
	launchers = set("php python python3 ruby node npx bundle poetry uv pipenv")
	databases = set("dropdb psql pg_restore")
)

// Options that say nothing of the database. Any other one may, also by a part of its name.
var (
	frameworkOptions = set("--seed --force --no-input --noinput --no-interaction --quiet --verbose --step --all --trace --if-exists --drop-views --drop-types --yes --silent -q -v -y -n")
	databaseOptions  = set("--if-exists --force --echo --interactive --no-password --quiet --no-psqlrc --single-transaction --clean --no-owner --no-acl --no-privileges --data-only --schema-only --exit-on-error --verbose -e -i -w -W -q -X -a -A -1 -O -x")
	supabaseOptions  = set("--debug --no-seed --yes --local")
)

// rehearses reports whether a command works on a database of tests: by the environment that
// it is given, or by the name of a database on this machine.
func (c *invocation) rehearses() bool {
	switch {
	case c.redirected():
		return false // another database than the one that it seems to be
	case frameworks[c.name] != nil:
		return c.testEnvironment(frameworks[c.name])
	case launchers[c.name]:
		return c.testEnvironment(c.launches())
	case c.name == "supabase":
		return !slices.ContainsFunc(c.args, func(a flow) bool {
			return !a.known || strings.HasPrefix(a.text, "-") && !supabaseOptions[a.text]
		}) && c.names("db") && c.names("reset") // else the database in this machine's containers
	case databases[c.name]:
		return c.testDatabase()
	}
	return false
}

// redirected reports whether a variable that is set for this command, or before it, may name
// another database: they have many names.
func (c *invocation) redirected() bool {
	names := func(v string) bool {
		v = strings.ToUpper(v)
		if v == "PGUSER" || v == "PGPASSWORD" || strings.HasPrefix(v, "DISABLE_") {
			return false
		}
		return strings.HasPrefix(v, "PG") || slices.ContainsFunc([]string{"DATABASE", "DB_", "_DB", "DSN", "MYSQL", "POSTGRES", "_HOST", "_URL", "_URI"}, func(w string) bool { return strings.Contains(v, w) })
	}
	for v := range c.vars {
		if names(v) {
			return true
		}
	}
	return slices.ContainsFunc(c.args, func(a flow) bool {
		name, _, is := strings.Cut(a.text, "=")
		return is && !strings.HasPrefix(name, "-") && names(name)
	})
}

// launches is how the framework that a launcher starts is told its environment, if it is one:
// by the first word that is no word for "run this". Behind an option stands perhaps another
// program.
func (c *invocation) launches() []string {
	for i := 0; i < len(c.args) && i < 2; i++ {
		if t := c.args[i].text; t != "exec" && t != "run" {
			if !c.args[i].known {
				return nil
			}
			return frameworks[baseName(t)]
		}
	}
	return nil
}

// testEnvironment reports whether all that names a framework's environment says that it is the
// tests', and nothing may name another database.
func (c *invocation) testEnvironment(names []string) bool {
	var named []string
	for _, name := range names {
		if v := c.vars[name]; slices.Contains(c.beside, name) {
			named = append(named, known(v))
		}
	}
	for i := 0; i < len(c.args); i++ {
		a := c.args[i]
		name, value, joined := strings.Cut(a.text, "=")
		switch {
		case slices.Contains(names, name) && joined:
			a.text = value
			named = append(named, known(a))
		case slices.Contains(names, name) && i+1 < len(c.args):
			i++
			named = append(named, known(c.args[i]))
		case strings.HasPrefix(name, "-") && !frameworkOptions[name], strings.HasSuffix(name, ":all"):
			return false
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
	if elsewhere(strings.ToLower(c.in.text)) {
		return false
	}
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
		case databaseOptions[option]:
		case strings.HasPrefix(option, "-"):
			return false // also those written together, and parts of a name: whoever writes so is asked
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
	if name == "" || strings.ContainsAny(name, ":/@?=$*, ") {
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
			if hasWord(a.text, inUse) || a.text == "--all" {
				return false
			}
			continue
		}
		if strings.ContainsAny(value, "= ") {
			continue // what it is run with, and not where
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
			if len(option) > 2 && slices.ContainsFunc(options, func(o string) bool { return strings.HasPrefix(o, option) }) {
				return false // a part of its name may be as good
			}
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
