package hazard

import (
	"slices"
	"strings"

	"reeve.example/reeve/act"
)

// The data of a project that somebody develops is made anew many times a day. Which it is stands in the
// project's own files, that the disk was asked for (see act.Stores): of a call that says nothing else,
// what they say counts.

// project is what the files of the folder that a command runs in say of its data. What the call itself
// writes into one of them counts for nothing.
func (c *invocation) project() (p act.Stores) {
	for _, s := range c.stores {
		if normalPath(s.Folder).text != c.cwd || slices.ContainsFunc(s.Files, func(f string) bool {
			_, wrote := c.files.get(f)
			return wrote
		}) {
			continue
		}
		p.Files = append(p.Files, s.Files...)
		p.Variables = append(p.Variables, s.Variables...)
		p.Databases = append(p.Databases, s.Databases...)
		p.Programs = append(p.Programs, s.Programs...)
		p.Inside = append(p.Inside, s.Inside...)
		p.Containers = append(p.Containers, s.Containers...)
		p.Volumes = append(p.Volumes, s.Volumes...)
		p.Engines = append(p.Engines, s.Engines...)
	}
	return p
}

// databaseClients are programs that are told the database that they speak to.
var databaseClients = set("psql pg_restore dropdb createdb mysql mariadb mysqladmin mongosh mongo redis-cli valkey-cli sqlcmd usql clickhouse-client cqlsh")

// ofProject reports whether what a command does to data it does to what the project's files say is on
// this machine: by a program that goes by these files, or by an address or a name that stands in them.
func (c *invocation) ofProject() bool {
	if len(c.stores) == 0 || c.other || c.strayed || !c.composed && c.wrap > 0 && c.around != "" && !passingOn[c.around] || !c.inOwnFolder() {
		return false
	}
	p := c.project()
	if c.composed {
		p = act.Stores{Programs: p.Inside}
	}
	if databaseClients[c.name] {
		return c.namesOwn(&p)
	}
	name := c.name
	if launchers[name] {
		name = c.launched()
	}
	return slices.Contains(p.Programs, name) && !c.redirected() && !c.runsAsOther() && !slices.ContainsFunc(c.args, func(a flow) bool {
		option := before(a.text, '=')
		return !a.known || hasWord(a.text, inUse) || strings.Contains(a.text, "://") || strings.HasSuffix(a.text, ":all") ||
			strings.HasPrefix(option, "-") && !frameworkOptions[option] && !projectOptions[option] || strings.Contains(option, "_") && option != a.text
	})
}

// passingOn are programs that start others in the same environment.
var passingOn = set("bundle npx pnpm yarn bunx poetry uv pipenv time nice timeout command exec nohup")

// SetsStores reports whether a variable may say which data a program works on: the address of a database,
// or what it runs as.
func SetsStores(name string) bool {
	return stageVariables[name] || name == "DJANGO_SETTINGS_MODULE" || name == "KUBECONFIG" || strings.HasPrefix(name, "DOCKER_") || strings.HasPrefix(name, "COMPOSE_") ||
		mayNameDatabase(name) && !strings.HasSuffix(name, "_HOST") && !strings.HasSuffix(name, "_URL") || mayNameDatabase(name) && hasWord(name, databaseWords)
}

// databaseWords are words in the names of variables that are about a database.
var databaseWords = set("database db postgres postgresql pg mysql mariadb mongo mongodb sql redis")

// projectOptions are further options that say nothing of which database is meant.
var projectOptions = set("-A --skip-seed --skip-generate --skip --accept-data-loss -f --ignore-missing --environment=development --env=development --env=local")

// runsAsOther reports whether a variable says that a program runs as something else than what is developed.
func (c *invocation) runsAsOther() bool {
	for name, v := range c.vars {
		if (stageVariables[name] || name == "DJANGO_SETTINGS_MODULE") && !(v.known && hasWord(v.text, rehearsalWords)) {
			return true
		}
	}
	return false
}

// launched is the program that a launcher starts, by the first of its words that is no word for that.
func (c *invocation) launched() string {
	for _, a := range c.args[:min(len(c.args), 3)] {
		if t := a.text; !listed("exec run -m", t) {
			if !a.known || strings.HasPrefix(t, "-") {
				return ""
			}
			return baseName(t)
		}
	}
	return ""
}

// namesOwn reports whether all that a client is told of where it goes is an address that a variable of
// the project's holds, or the name of a database of the project's, on this machine.
func (c *invocation) namesOwn(p *act.Stores) bool {
	if c.redirected() && !c.onlySets(p) || reachesOut(c.in.text) {
		return false
	}
	own := false
	for i := 0; i < len(c.args); i++ {
		a := c.args[i]
		option, value, joined := strings.Cut(a.text, "=")
		switch {
		case isReference(a.text, p.Variables):
			own = true
		case (option == "-d" || option == "--dbname" || option == "--uri" || option == "-u") && joined && isReference(value, p.Variables):
			own = true
		case !a.known || hasWord(a.text, inUse) || reachesOut(a.text):
			return false
		case toldServer[c.name] && strings.HasPrefix(a.text, "-S"):
			if value = strings.TrimPrefix(a.text, "-S"); value == "" && i+1 < len(c.args) {
				i++
				value = c.args[i].text
			}
			if !isLoopback(serverHost(value)) {
				return false
			}
		case option == "-h" || option == "--host":
			if !joined && i+1 < len(c.args) {
				i++
				value = c.args[i].text
			}
			if !isLoopback(value) {
				return false
			}
		case strings.HasPrefix(option, "-h") && len(option) > 2 && option[2] != '-' && listed("mysql mariadb mysqladmin", c.name):
			if !isLoopback(option[2:]) {
				return false
			}
		case strings.Contains(a.text, "://"):
			if name := localDatabase(a.text); name == "" || !slices.Contains(p.Databases, name) {
				return false
			}
			own = true
		case strings.HasPrefix(a.text, "--") && strings.Contains(option, "host"), !isSQL(a.text) && (strings.Contains(a.text, "host=") || strings.Contains(a.text, "service=")):
			return false
		case slices.Contains(p.Databases, a.text) && (i == 0 || !listed("-U -u -p -P --user --username --port --password", c.args[i-1].text)):
			own = true
		}
	}
	return own
}

// migrating are programs that bring a database up to date, and empty it, by settings of the project or by
// an address that they are given.
var migrating = set("flyway liquibase mvn mvnw mvnd gradle gradlew")

// migratesOwn reports whether such a program works on a database of this machine that stands in the files
// of the project: by the address that it is given.
func (c *invocation) migratesOwn() bool {
	if !migrating[c.name] || len(c.stores) == 0 || c.other || c.strayed || c.redirected() || !c.inOwnFolder() {
		return false
	}
	p, own := c.project(), false
	for i := 0; i < len(c.args); i++ {
		a := c.args[i]
		option, value, joined := strings.Cut(a.text, "=")
		low := strings.ToLower(option)
		switch {
		case !a.known || hasWord(a.text, inUse):
			return false
		case strings.HasSuffix(low, ".url") || strings.HasSuffix(low, "-url"):
			if !joined && i+1 < len(c.args) {
				i++
				value = c.args[i].text
			}
			name := localDatabase(strings.TrimPrefix(value, "jdbc:"))
			if own = name != "" && slices.Contains(p.Databases, name); !own {
				return false
			}
		case strings.Contains(low, "config") || strings.Contains(low, "environment") || strings.Contains(low, "defaults") || strings.Contains(a.text, "://"), listed("-P -s -gs --settings --file -f -b --build-file -p", option), strings.HasPrefix(a.text, "-P") && !strings.Contains(a.text, "."):
			return false // settings of which nothing is known
		}
	}
	return own
}

// onlySets reports whether all variables that are set, and that may name a database, are set to what
// the project's files set them to, or from each other.
func (c *invocation) onlySets(p *act.Stores) bool {
	if slices.ContainsFunc(c.args, func(a flow) bool { name, _, is := strings.Cut(a.text, "="); return is && isName(name) }) {
		return false
	}
	for name, v := range c.vars {
		if mayNameDatabase(name) && (!isReference(v.text, p.Variables) || v.text == "$"+name) && !strings.HasSuffix(name, "PASSWORD") {
			return false
		}
	}
	return true
}

// isReference reports whether a text is one of some variables, and nothing else.
func isReference(text string, names []string) bool {
	name, ok := strings.CutPrefix(text, "$")
	if inner, braced := strings.CutPrefix(name, "{"); braced {
		name = strings.TrimSuffix(inner, "}")
	}
	return ok && slices.Contains(names, name)
}

// reachesOut reports whether a query, or an order of a client, may go to another server than the one
// that it is sent to, or do something on this machine.
func reachesOut(text string) bool {
	low := strings.ToLower(text)
	return slices.ContainsFunc([]string{`\`, "dblink", "program", "postgres_fdw", "federated", "getsibling", "connect(", "load(", "mongo(", "replicaof", "slaveof", "migrate "}, func(w string) bool { return strings.Contains(low, w) })
}

// brokerClients are programs beside a broker of messages, which lie in its own container.
var brokerClients = set("kafka-topics kafka-topics.sh kafka-consumer-groups kafka-consumer-groups.sh kafka-delete-records kafka-delete-records.sh kafka-configs kafka-configs.sh rpk rabbitmqctl rabbitmqadmin nats")

// speaksToItself reports whether a client of a database or of a broker, that runs in a container of one's own
// project which is one, speaks to that one: all that it names is that container, or it names none.
func (c *invocation) speaksToItself() bool {
	if !c.engine || !databaseClients[c.name] && !brokerClients[c.name] || reachesOut(c.in.text) || c.redirected() {
		return false
	}
	for i := 0; i < len(c.args); i++ {
		a := c.args[i]
		option, value, joined := strings.Cut(a.text, "=")
		switch {
		case !a.known || hasWord(a.text, inUse) || reachesOut(a.text) || option == "--uri" || strings.Contains(a.text, "://"):
			return false
		case !isSQL(a.text) && !strings.HasPrefix(option, "-") && (strings.Contains(a.text, "host=") || strings.Contains(a.text, "service=")):
			return false
		case option == "-h" || strings.HasPrefix(option, "--host") || option == "--bootstrap-server" || option == "--brokers" || option == "-X" && c.name == "rpk" || option == "-n" && c.name == "rabbitmqctl" || toldServer[c.name] && option == "-S":
			if !joined && i+1 < len(c.args) {
				i++
				value = c.args[i].text
			}
			if host := before(serverHost(value), ':'); !isLoopback(host) && !slices.Contains(c.project().Engines, host) {
				return false
			}
		case toldServer[c.name] && strings.HasPrefix(option, "-S"), strings.HasPrefix(option, "-h") && !joined && len(option) > 2 && listed("mysql mariadb mysqladmin", c.name) && !isLoopback(option[2:]), strings.HasPrefix(option, "--zookeeper"), strings.HasPrefix(option, "--command-config"):
			return false
		}
	}
	return true
}
