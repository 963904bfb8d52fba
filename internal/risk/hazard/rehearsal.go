package hazard

import (
	"net/url"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"reeve.example/reeve/internal/lazyregexp"
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

// What is local is so by one meaning: the host that is named is the loopback, or none is named, so
// that it is this machine's own socket (isLoopback, redirected, other), and no word of production
// stands in what is named (inUse). What may be thrown away there is told by the functions below.

// rehearses reports whether a command works on a database of tests: by the environment that
// it is given, or by the name of a database on this machine.
func (c *invocation) rehearses() bool {
	switch {
	case c.tunnelled:
		return false // another database than the one that it seems to be
	case c.composed && (c.emptiesOwnCache() || c.speaksToItself()):
		return true
	case c.ofProject():
		return true
	case !c.other && (c.takesScratch() || c.migratesOwn()):
		return true
	case c.other && !c.names("-h", "--host"):
		return false
	case c.takesTestStores():
		return true
	case c.givenTestAddress():
		return true
	case c.redirected() && !c.redirectedHere():
		return false
	case c.name == "alembic" || c.name == "flask" || c.name == "flask-migrate":
		return c.stepsBack()
	case c.makesAnew():
		return true
	case c.redirected():
		return false
	case c.name == "dotnet" || c.name == "dotnet-ef":
		return c.ofTestProject()
	case frameworks[c.name] != nil:
		return c.testEnvironment(frameworks[c.name])
	case launchers[c.name] && c.launches() != nil:
		return c.testEnvironment(c.launches())
	case c.name == "supabase" || listed("npx pnpx bunx", c.name) && c.launched() == "supabase":
		return !slices.ContainsFunc(c.args, func(a flow) bool {
			return !a.known || strings.HasPrefix(a.text, "-") && !supabaseOptions[a.text]
		}) && c.names("db") && c.names("reset") // else the database in this machine's containers
	case databases[c.name]:
		return c.testDatabase()
	case c.name == "mysql" || c.name == "mariadb":
		return c.dropsTests()
	case c.name == "sqlite3" || c.name == "duckdb":
		return c.testFile() || c.makesTablesAnew() || c.beginsFile()
	case c.name == "redis-cli" || c.name == "valkey-cli":
		return c.testCache()
	case c.name == "mongosh" || c.name == "mongo":
		return c.testAddress()
	case c.name == "etcdctl" || zookeepers[c.name]:
		return c.takesOwnKeys()
	case c.name == "rabbitmqadmin":
		return c.purgesHere()
	}
	return false
}

// purgesHere reports whether the client of a broker empties one queue of the broker on this machine, where it goes
// unless it is told another, and that no word says to be in use.
func (c *invocation) purgesHere() bool {
	hosts := c.valueOf("-H", "--host")
	return c.names("purge") && !slices.ContainsFunc(hosts, func(v flow) bool { return !v.known || !isLoopback(v.text) }) &&
		!slices.ContainsFunc(c.args, func(a flow) bool {
			option := before(a.text, '=')
			return !a.known || hasWord(a.text, inUse) || strings.HasPrefix(a.text, "-") && !listed("-H --host -P --port -u --username -p --password -V --vhost -q --quiet", option)
		})
}

// redirectedHere reports whether all variables that may name a database name one of this machine, and nothing by
// which it would be in use: what is done to it is what would be done without them.
func (c *invocation) redirectedHere() bool {
	for name, v := range c.vars {
		address, err := url.Parse(strings.TrimPrefix(v.text, "jdbc:"))
		here := err == nil && address.RawQuery == "" && isLoopback(address.Hostname()) || strings.HasSuffix(name, "_HOST") && isLoopback(v.text)
		if mayNameDatabase(name) && (!v.known || !here || hasWord(v.text, inUse)) {
			return false
		}
	}
	return !slices.ContainsFunc(c.args, func(a flow) bool {
		name, _, is := strings.Cut(a.text, "=")
		return is && !strings.HasPrefix(name, "-") && mayNameDatabase(name)
	})
}

// takesOwnKeys reports whether a client of etcd or ZooKeeper takes keys away in a store of this machine that it is
// told: some of them, and none of a cluster's.
func (c *invocation) takesOwnKeys() bool {
	at := slices.IndexFunc(c.args, func(a flow) bool { return listed("del deleteall rmr", a.text) })
	endpoints := c.valueOf("--endpoints", "-server")
	if at > 0 && zookeepers[c.name] && len(endpoints) == 0 && strings.Contains(c.args[at-1].text, ":") {
		endpoints = c.args[at-1 : at]
	}
	if at < 0 || len(endpoints) == 0 || c.gives("ETCDCTL_ENDPOINTS") || slices.ContainsFunc(endpoints, func(v flow) bool {
		return !v.known || slices.ContainsFunc(strings.Split(v.text, ","), func(at string) bool { return !isLoopback(hostOf(at).name) })
	}) {
		return false
	}
	keys := 0
	for _, a := range c.args[at+1:] {
		switch {
		case !a.known, hasWord(a.text, inUse), listed("--from-key --range", before(a.text, '=')):
			return false
		case strings.HasPrefix(a.text, "-"):
		case strings.Trim(a.text, "/") == "" || strings.HasPrefix(strings.TrimLeft(a.text, "/"), "registry"):
			return false
		default:
			keys++
		}
	}
	return keys == 1
}

// standsAside reports whether what a command does in a cloud or a cluster it does in one that this machine
// plays, or to what was set up for one change.
func (c *invocation) standsAside() bool {
	return !c.tunnelled && (c.emulates() || c.inLocalCluster() || c.takesPreview() || c.setsTrialBack())
}

// onLocalChain reports whether a client of a chain is told that this machine plays the chain: what moves there is
// worth nothing.
func (c *invocation) onLocalChain() bool {
	var told []flow
	switch {
	case c.tunnelled || c.other || c.names("--flashbots"):
		return false
	case c.name == "cast":
		if told = c.valueOf("--rpc-url", "-r"); len(told) == 0 {
			told = append(told, c.vars["ETH_RPC_URL"])
		}
	case listed("solana spl-token", c.name):
		told = c.valueOf("--url", "-u")
	}
	return len(told) == 1 && told[0].known && (listed("localhost l", told[0].text) && c.name != "cast" || isLoopback(hostOf(told[0].text).name))
}

// emulators are programs that speak to a cloud which this machine plays.
var emulators = set("awslocal tflocal samlocal cdklocal laws pulumilocal")

// emulates reports whether a program of a cloud is told that this machine is the cloud.
func (c *invocation) emulates() bool {
	if emulators[c.name] {
		return !c.gives("LOCALSTACK_HOST", "AWS_ENDPOINT_URL") && !c.names("--endpoint-url")
	}
	if c.name != "aws" {
		return false
	}
	said, here := 0, 0
	look := func(v flow) {
		said++
		if v.known && isLoopback(hostOf(v.text).name) {
			here++
		}
	}
	for name, v := range c.vars {
		if strings.HasPrefix(name, "AWS_ENDPOINT_URL") {
			look(v)
		}
	}
	for i, a := range c.args {
		if value, ok := strings.CutPrefix(a.text, "--endpoint-url="); ok {
			look(flow{text: value, known: a.known})
		} else if a.text == "--endpoint-url" && i+1 < len(c.args) {
			look(c.args[i+1])
		}
	}
	return said > 0 && here == said
}

// valueOf are the values that an option is given.
func (c *invocation) valueOf(options ...string) (list []flow) {
	for i, a := range c.args {
		option, value, joined := strings.Cut(a.text, "=")
		switch {
		case !slices.Contains(options, option):
		case joined:
			list = append(list, flow{text: value, known: a.known})
		case i+1 < len(c.args):
			list = append(list, c.args[i+1])
		}
	}
	return list
}

// inLocalCluster reports whether all that is done in a cluster is done in one that this machine
// runs, by the name that the programs which make them give.
func (c *invocation) inLocalCluster() bool {
	if !listed("kubectl oc helm k9s kubens stern", c.name) || len(c.valueOf("--server", "-s", "--kube-apiserver")) > 0 {
		return false
	}
	contexts, chosen := c.valueOf("--context", "--kube-context"), c.chosen
	if files := c.valueOf("--kubeconfig"); len(files) > 0 || c.gives("KUBECONFIG") {
		if len(files) == 0 {
			files = append(c.valueOf("KUBECONFIG"), c.vars["KUBECONFIG"])[:1]
		}
		if chosen = c.chosenIn(files[len(files)-1]); chosen == "" || slices.ContainsFunc(contexts, func(v flow) bool { return v.text != chosen }) {
			return false
		}
	}
	if len(contexts) == 0 {
		return localCluster(c.cluster) || c.cluster == "" && !c.other && localCluster(chosen)
	}
	return !slices.ContainsFunc(contexts, func(v flow) bool { return !v.known || !localCluster(v.text) })
}

// chosenIn is the cluster of this machine to which a file of settings of kubectl leads, as it lay there before
// the call.
func (c *invocation) chosenIn(file flow) string {
	name := file.text
	if _, wrote := c.getFile(name); wrote || c.other || c.lost {
		return ""
	}
	if lies := c.from(name); lies != "" {
		name = lies
	}
	for _, k := range c.clusters {
		if normalPath(k.File).text == normalPath(name).text {
			return k.Context
		}
	}
	return ""
}

// localCluster reports whether a context is of a cluster that this machine runs, by the name that the
// programs which make them give.
func localCluster(context string) bool {
	made := strings.HasPrefix(context, "kind-") || strings.HasPrefix(context, "k3d-") || listed("minikube docker-desktop docker-for-desktop rancher-desktop colima orbstack microk8s podman-desktop", context)
	return made && !hasWord(context, inUse)
}

// chooses notes the cluster that a command chooses for those which are run only if it went well.
func (c *invocation) chooses() {
	if listed("kubectx kubie kind k3d minikube", c.name) || c.names("config", "get-credentials", "update-kubeconfig", "kubeconfig") && !c.names("view", "get-contexts", "current-context", "get-clusters") {
		c.chosen = "" // whichever it was
	}
	var words []string
	for _, a := range c.args {
		if !a.known {
			return
		}
		if !strings.HasPrefix(a.text, "-") {
			words = append(words, a.text)
		}
	}
	switch n := len(words); {
	case listed("kubectl oc", c.name) && n == 3 && words[0] == "config" && words[1] == "use-context":
		c.cluster = words[2]
	case listed("kubectx kubie", c.name) && n > 0:
		c.cluster = words[n-1]
	case c.name == "minikube" && n == 1 && words[0] == "start":
		c.cluster = "minikube"
	case c.name == "kind" && n > 1 && words[0] == "create" && words[1] == "cluster" && len(c.valueOf("--kubeconfig")) == 0:
		c.cluster = "kind-kind" // which becomes the one that is chosen
		for _, v := range c.valueOf("--name", "-n") {
			c.cluster = "kind-" + v.text
		}
	case c.name == "k3d" && n == 3 && words[0] == "cluster" && words[1] == "create" && !c.names("--kubeconfig-switch-context=false", "--kubeconfig-update-default=false"):
		c.cluster = "k3d-" + words[2]
	}
}

// previewWords are how people call what is set up for one change, to look at it.
var previewWords = set("pr mr preview previews review reviewapp ephemeral")

// takesPreview reports whether what is taken away was set up for one change: by its name, and by
// the names of all that it is said to lie in.
func (c *invocation) takesPreview() bool {
	if !listed("helm fly flyctl heroku vercel netlify railway render doctl gcloud az kubectl oc cf scalingo clever", c.name) {
		return false
	}
	preview, verb := false, false
	for i, a := range c.args {
		option, value, joined := strings.Cut(a.text, "=")
		switch {
		case strings.HasPrefix(option, "-") && !joined:
			continue
		case !joined:
			value = a.text
		}
		before := ""
		if i > 0 {
			before = c.args[i-1].text
		}
		switch takes, weak, _, _ := parseName(value); {
		case !a.known, hasWord(value, inUse):
			return false
		case (takes || weak || listed("uninstall un rm", value)) && !verb:
			verb = true
		case hasWord(value, previewWords):
			preview = true
		case verb && !strings.HasPrefix(before, "-") && !isWordy(value), verb && !strings.HasPrefix(before, "-") && !holders[value]:
			return false // something else besides, which does not say so
		}
	}
	return preview && verb
}

// takesTestStores reports whether all volumes that are taken away are those of tests, or all of a
// project that is one's own: of the folder that one works in, or of tests.
func (c *invocation) takesTestStores() bool {
	if !listed("docker podman nerdctl docker-compose podman-compose", c.name) || c.gives("DOCKER_HOST", "DOCKER_CONTEXT", "COMPOSE_PROJECT_NAME", "COMPOSE_FILE") || c.names("-H", "--host", "--context") || len(c.valueOf("-H", "--host", "--context")) > 0 {
		return false
	}
	projects := c.valueOf("-p", "--project-name")
	var words []flow
	for _, a := range c.args {
		if !strings.HasPrefix(a.text, "-") {
			words = append(words, a)
		}
	}
	switch composes := c.composes(); {
	case composes && len(projects) > 0:
		return c.names("down") && !slices.ContainsFunc(projects, func(v flow) bool { return !v.known || !testName(v.text) })
	case composes:
		return !c.other && c.names("down", "rm") && c.inOwnFolder() &&
			!slices.ContainsFunc(c.args, func(a flow) bool { return !a.known || hasWord(a.text, inUse) })
	}
	if !c.other && len(words) > 1 && (words[0].text == "rm" || words[0].text == "container" && words[1].text == "rm") {
		own := c.project().Containers // whose volumes go with them, as by compose down -v
		return !slices.ContainsFunc(words[1:], func(v flow) bool { return v.text != "rm" && (!v.known || !slices.Contains(own, v.text)) })
	}
	return len(words) > 2 && words[0].text == "volume" && listed("rm remove", words[1].text) &&
		!slices.ContainsFunc(words[2:], func(v flow) bool {
			return !v.known || !testName(v.text) && (c.other || !slices.Contains(c.project().Volumes, v.text))
		})
}

// inOwnFolder reports whether a command is run where somebody works, as far as the script says: not
// in a folder of the machine's services, and not in one that says that it is in use.
func (c *invocation) inOwnFolder() bool {
	for _, dir := range c.valueOf("-f", "--file", "--project-directory") {
		if strings.HasPrefix(dir.text, "/") && !strings.HasPrefix(normalPath(dir.text).text, "~") {
			return false
		}
	}
	return !hasWord(c.cwd, inUse) && !slices.ContainsFunc([]string{"/srv", "/opt", "/var", "/etc", "/usr"}, func(p string) bool { return c.cwd == p || strings.HasPrefix(c.cwd, p+"/") })
}

// makesAnew reports whether a framework throws a database away and makes it again at once, where
// that is the one that somebody develops with: these ask by themselves, in production, and are not
// told not to.
func (c *invocation) makesAnew() bool {
	anew := false
	for i, a := range c.args {
		switch {
		case !a.known:
			return false
		case listed("migrate:fresh migrate:refresh", a.text):
			anew = c.name == "artisan" || i > 0 && baseName(c.args[i-1].text) == "artisan"
		case anew && strings.HasPrefix(a.text, "-") && !listed("--seed --step --drop-views --drop-types -q -v --quiet --verbose", before(a.text, '=')):
			return false // another database, or --force
		}
	}
	return anew && !c.gives("APP_ENV")
}

// stepsBack reports whether a migration goes back by a few steps, or to the beginning and forward
// again, in the database that the project's settings name.
func (c *invocation) stepsBack() bool {
	if slices.ContainsFunc(c.args, func(a flow) bool { return !a.known || hasWord(a.text, inUse) }) {
		return false
	}
	for i, a := range c.args {
		if a.text == "downgrade" {
			if i+2 == len(c.args) && c.args[i+1].text == "base" && c.goesForward() {
				return true
			}
			return i+1 == len(c.args) || len(c.args[i+1].text) == 2 && c.args[i+1].text[0] == '-' && isDigits(c.args[i+1].text[1:])
		}
	}
	return false
}

// goesForward reports whether what is run next is the same program's upgrade.
func (c *invocation) goesForward() bool {
	if c.then == nil {
		return false
	}
	call, ok := c.then.Cmd.(*syntax.CallExpr)
	if !ok {
		return false
	}
	named := false
	for _, w := range call.Args {
		switch word := baseName(w.Lit()); {
		case word == c.name:
			named = true
		case named && word == "upgrade":
			return true
		case !named && !launchers[word] && !listed("run exec -m", word):
			return false
		}
	}
	return false
}

// ofTestProject reports whether a framework of .NET is told to take the database of a project of
// tests.
func (c *invocation) ofTestProject() bool {
	projects := c.valueOf("-p", "--project", "-s", "--startup-project")
	return len(projects) > 0 && !c.names("--connection") && len(c.valueOf("--connection")) == 0 && !slices.ContainsFunc(projects, func(v flow) bool {
		return !v.known || !hasWord(v.text, rehearsalWords) || hasWord(v.text, inUse)
	})
}

// dropsTests reports whether all that a client of this machine's server takes away is of tests.
func (c *invocation) dropsTests() bool {
	if c.in.text != "" {
		return false
	}
	named := ""
	var queries []string
	for i := 0; i < len(c.args); i++ {
		a := c.args[i]
		option, value, joined := strings.Cut(a.text, "=")
		if strings.HasPrefix(option, "-") && !strings.HasPrefix(option, "--") && len(option) > 2 { // -hlocalhost, -ptest
			option, value, joined = a.text[:2], a.text[2:], true
		}
		if !joined && listed("-h --host -D --database -e --execute -u --user -P --port --protocol -S --socket", option) && i+1 < len(c.args) {
			i++
			a, value = c.args[i], c.args[i].text
		}
		switch {
		case !a.known:
			return false
		case option == "-h" || option == "--host":
			if !isLoopback(value) {
				return false
			}
		case option == "-e" || option == "--execute":
			queries = append(queries, value)
		case named == "" && (option == "-D" || option == "--database"):
			named = value
		case named == "" && !strings.HasPrefix(a.text, "-"):
			named = a.text
		case listed("-u --user -P --port --protocol -S --socket -p --password -N -B -s -v -t -f --batch --silent --skip-column-names", option):
		default:
			return false
		}
	}
	if len(queries) == 0 || named != "" && hasWord(named, inUse) {
		return false
	}
	in := testName(named)
	for _, q := range queries {
		var only bool
		if only, in = ofTests(q, in); !only {
			return false
		}
	}
	return true
}

// ofTests reports whether all that a query takes away is of tests: the database that it is in
// (in, and then is in), the one that is named with it, or what is called so itself.
func ofTests(sql string, in bool) (only, then bool) {
	if strings.ContainsAny(sql, "\\") {
		return false, in
	}
	var statement []sqlToken
	for _, t := range append(lexSQL(sql), sqlToken{kind: ';'}) {
		if t.kind != ';' {
			statement = append(statement, t)
			continue
		}
		if only, in = statementOfTests(statement, in); !only {
			return false, in
		}
		statement = statement[:0]
	}
	return true, in
}

// statementOfTests is ofTests of one statement. One that is not known here to take away only what
// it names is none.
func statementOfTests(ts []sqlToken, in bool) (only, then bool) {
	if len(ts) == 0 {
		return true, in
	}
	names, ok := statementNames(ts)
	if !ok {
		return false, in
	}
	whole := len(ts) > 1 && listed("database schema", strings.ToLower(ts[1].text))
	switch verb := strings.ToLower(ts[0].text); {
	case len(names) == 0:
		return listed("select show set", verb), in
	case verb == "use":
		return true, testName(names[0])
	case listed("create select show set", verb):
		return true, in
	case verb == "delete": // what stands behind is a condition
		names = names[:1]
	}
	for _, name := range names {
		database, _, qualified := strings.Cut(name, ".")
		switch {
		case hasWord(name, inUse), qualified && !testName(database), !qualified && whole && !testName(name), !qualified && !whole && !in && !testName(name):
			return false, in
		}
	}
	return true, in
}

// statementNames are the names in a statement, with the databases that they are in; none are told of one that may
// do more than to take away, make or show what it names.
func statementNames(ts []sqlToken) (names []string, ok bool) {
	for i := 0; i < len(ts); i++ {
		t := ts[i]
		text := strings.ToLower(t.text)
		switch {
		case t.kind == 'c' || t.kind == 'q':
			return nil, false
		case i == 0:
			if t.kind != 'w' || !listed("drop truncate delete create use select show set", text) {
				return nil, false
			}
		case listed("outfile dumpfile load_file program role user function procedure trigger event server", text):
			return nil, false
		case t.kind == 's' && len(names) > 0 && ts[i-1].kind == '.':
			names[len(names)-1] += "." + text
		case t.kind == 's' && (ts[i-1].kind == 'w' || ts[i-1].kind == ','), t.kind == 'w' && !sqlFill[text]:
			names = append(names, text)
		}
	}
	return names, true
}

// sqlFill are words between a verb and what it is done to.
var sqlFill = set("table tables database databases schema view index if exists not from only cascade restrict temporary materialized restart continue identity with force concurrently low_priority quick ignore")

// testDatabases reports whether a query does nothing but make databases, and drop those of tests;
// and whether it drops one.
func testDatabases(sql string) (whole, drops bool) {
	for statement := range strings.SplitSeq(sql, ";") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		m := wholeDatabase.FindStringSubmatch(statement)
		if m == nil || strings.EqualFold(m[1], "drop") && !testName(m[2]) {
			return false, false
		}
		whole, drops = true, drops || strings.EqualFold(m[1], "drop")
	}
	return whole, drops
}

// wholeDatabase is a statement that drops or makes a database: which, and of which name. Where
// something else stands in it, it is none.
var wholeDatabase = lazyregexp.New("(?i)^\\s*(drop|create)\\s+(?:database|schema)\\s+(?:if\\s+(?:not\\s+)?exists\\s+)?[`\"]?([a-z0-9_-]+)[`\"]?(?:\\s+(?:with\\s*\\(\\s*force\\s*\\)|with\\s+force|cascade|owner\\s+[a-z0-9_]+|character\\s+set\\s+[a-z0-9_]+|collate\\s+[a-z0-9_]+|encoding\\s+'[a-z0-9-]+'))*\\s*$")

// testFile reports whether a database that is a file is one of tests, by its name.
func (c *invocation) testFile() bool {
	file := ""
	for _, a := range c.args {
		switch {
		case !a.known || listed("-init -cmd", a.text), strings.Contains(strings.ToLower(a.text), "attach"):
			return false
		case file == "" && !strings.HasPrefix(a.text, "-"):
			file = a.text
		case strings.HasPrefix(a.text, ".") && (!restores.MatchString(a.text) || strings.Contains(a.text, "\n")):
			return false // an order, which may open another
		}
	}
	return (file == ":memory:" || testName(baseName(file))) && c.in.text == ""
}

// makesTablesAnew reports whether what a client is told takes nothing from a database that is a file but tables
// which it makes again, out of files, as one does who looks into data.
func (c *invocation) makesTablesAnew() bool {
	file, orders := "", ""
	for i, a := range c.args {
		switch {
		case !a.known:
			return false
		case i > 0 && listed("-c -s -cmd", c.args[i-1].text), file != "" && !strings.HasPrefix(a.text, "-"):
			orders += a.text + ";\n"
		case listed("-c -s -cmd", a.text), file != "" && listed("-csv -header -noheader -batch -bail -echo -json -line -list -column -box -table -markdown", a.text):
		case file == "" && !strings.HasPrefix(a.text, "-") && !strings.Contains(a.text, ":"):
			file = a.text
		default:
			return false
		}
	}
	if c.in.text != "" {
		if orders += c.in.text; !c.in.known {
			return false
		}
	}
	dropped, made := map[string]bool{}, map[string]bool{}
	var sql strings.Builder
	for line := range strings.Lines(orders) {
		switch words := strings.Fields(line); {
		case !strings.HasPrefix(line, "."):
			sql.WriteString(line)
		case words[0] == ".import" && strings.Trim(words[len(words)-1], "\"';") != "":
			made[strings.ToLower(strings.Trim(words[len(words)-1], "\"';"))] = true
		case !quietOrders[strings.TrimSuffix(words[0], ";")]:
			return false
		}
	}
	for statement := range strings.SplitSeq(strings.ToLower(sql.String()), ";") {
		words := strings.Fields(statement)
		switch {
		case len(words) == 0 || listed("select begin commit vacuum analyze with explain", words[0]) || len(words) > 2 && listed("insert replace", words[0]):
		case len(words) == 5 && strings.Join(words[:4], " ") == "drop table if exists", len(words) == 3 && strings.Join(words[:2], " ") == "drop table":
			dropped[words[len(words)-1]] = true
		case len(words) > 4 && words[0] == "create" && words[1] == "table" && words[3] == "as":
			made[words[2]] = true
		case len(words) > 3 && words[0] == "create" && listed("index view unique temp temporary", words[1]):
		case len(words) > 2 && words[0] == "delete" && made[words[2]], len(words) > 2 && words[0] == "update" && made[words[1]]:
		default:
			return false
		}
	}
	for name := range dropped {
		if !made[name] {
			return false
		}
	}
	return file != "" && len(dropped) > 0 && !hasWord(baseName(file), inUse)
}

// quietOrders are orders of sqlite3 and duckdb that say how to show and read, and do nothing to data.
var quietOrders = set(".mode .headers .header .separator .timer .echo .bail .nullvalue .width .tables .schema .print .changes .quit .exit .indexes .databases")

// beginsFile reports whether all that a client of a database that is a file works on begins with this call: no
// such file lay there before.
func (c *invocation) beginsFile() bool {
	if c.missing == nil || c.other || c.lost || len(c.copies)+len(c.linked) > 0 {
		return false
	}
	told := strings.ToLower(c.in.text + " " + c.joined(c.args).text)
	if slices.ContainsFunc([]string{"attach", ".open", ".restore", ".read", ".cd", ".shell", ".system"}, func(w string) bool { return strings.Contains(told, w) }) {
		return false
	}
	_, rest := c.split()
	if len(rest) == 0 || !rest[0].known || c.fed && !c.in.known {
		return false
	}
	file := rest[0].text
	if _, wrote := c.getFile(file); wrote || strings.Contains(file, ":") {
		return false
	}
	if lies := c.from(file); lies != "" {
		file = lies
	}
	return c.missing(normalPath(file).text)
}

// testCache reports whether one database of a cache on this machine is emptied, or all of one that the command says
// to be this machine's.
func (c *invocation) testCache() bool {
	at, told := "", false
	for i := 0; i < len(c.args); i++ {
		a, next := c.args[i], flow{}
		if i+1 < len(c.args) {
			next = c.args[i+1]
		}
		switch {
		case !a.known:
			return false
		case a.text == "-h":
			if told = next.known && isLoopback(next.text); !told {
				return false
			}
			i++
		case a.text == "-u":
			u, err := url.Parse(next.text)
			if told = err == nil && next.known && isLoopback(u.Hostname()); !told {
				return false
			}
			i++
		case a.text == "-p":
			if !next.known || !isDigits(next.text) {
				return false
			}
			i++
		case a.text == "-n" || a.text == "-s" || a.text == "-a" || a.text == "--user" || a.text == "--pass":
			i++
		case strings.HasPrefix(a.text, "-"):
			return false // an address, a cluster, a script
		case at == "":
			if at = strings.ToLower(a.text); at == "del" || at == "unlink" {
				return true // of some of its keys
			}
		case !listed("async sync", strings.ToLower(a.text)):
			return false
		}
	}
	return at == "flushdb" || at == "flushall" && told
}

// emptiesOwnCache reports whether a client of a cache, that runs in a container of one's own project,
// empties the cache of that container.
func (c *invocation) emptiesOwnCache() bool {
	return listed("redis-cli valkey-cli", c.name) && !slices.ContainsFunc(c.args, func(a flow) bool {
		return !a.known || !listed("flushall flushdb async sync", strings.ToLower(a.text))
	})
}

// ownService reports whether a command is run in a container of the project that somebody works on: one
// of its services, or the container of one by its name.
func (c *invocation) ownService() bool {
	if !c.other && len(c.args) > 1 && c.args[0].text == "exec" && !c.gives("DOCKER_HOST", "DOCKER_CONTEXT") {
		inner := len(c.inContainer())
		if i := len(c.args) - inner - 1; inner > 0 && slices.Contains(c.project().Containers, c.args[i].text) && c.inOwnFolder() {
			return !slices.ContainsFunc(c.args, func(a flow) bool { return !a.known || hasWord(a.text, inUse) })
		}
	}
	return c.composes() && !c.other && c.names("exec") && c.inOwnFolder() &&
		!c.gives("DOCKER_HOST", "DOCKER_CONTEXT", "COMPOSE_PROJECT_NAME", "COMPOSE_FILE") && len(c.valueOf("-H", "--host", "--context", "-p", "--project-name")) == 0 &&
		!slices.ContainsFunc(c.args, func(a flow) bool { return !a.known || hasWord(a.text, inUse) })
}

// testAddress reports whether the address of a database names one of tests on this machine, and
// nothing that is done names another.
func (c *invocation) testAddress() bool {
	named := ""
	for i := 0; i < len(c.args); i++ {
		a := c.args[i]
		switch low := strings.ToLower(a.text); {
		case !a.known, strings.Contains(low, "getsibling"), strings.Contains(low, "connect"), strings.Contains(low, "load("), strings.Contains(low, "mongo("):
			return false
		case listed("--eval --quiet --norc", a.text):
		case strings.HasPrefix(a.text, "-"):
			return false
		case i > 0 && c.args[i-1].text == "--eval":
		case named != "":
			return false // a script
		default:
			named = a.text
		}
	}
	if testName(named) && c.in.text == "" {
		return true
	}
	host, name, ok := strings.Cut(strings.TrimPrefix(named, "mongodb://"), "/")
	host, _, _ = strings.Cut(host, ":")
	return ok && isLoopback(host) && testName(name) && c.in.text == ""
}

// tunnels reports whether a command makes a port of this machine lead to another one.
func (c *invocation) tunnels() bool {
	for _, a := range c.args {
		t := a.text
		switch c.name {
		case "ssh", "autossh", "slogin":
			if len(t) > 1 && t[0] == '-' && t[1] != '-' && strings.ContainsAny(before(t, ':'), "LDW") || strings.Contains(strings.ToLower(t), "localforward") || strings.Contains(strings.ToLower(t), "dynamicforward") {
				return true
			}
		case "kubectl", "oc", "k9s", "docker", "fly", "flyctl", "heroku", "gcloud", "aws", "tsh", "az", "railway":
			if listed("port-forward proxy pg:psql start-iap-tunnel start-session tunnel", t) {
				return true
			}
		}
	}
	return listed("cloud_sql_proxy cloud-sql-proxy socat rinetd redir sshuttle stunnel pgbouncer haproxy", c.name)
}

// givenTestAddress reports whether a framework is given the address of a database of tests on this
// machine, and nothing else that may name one.
func (c *invocation) givenTestAddress() bool {
	address, ok := c.vars["DATABASE_URL"]
	if !ok || !address.known || !slices.Contains(c.beside, "DATABASE_URL") || databases[c.name] || sqlClients[c.name] || listed("mysql mariadb sqlite3 redis-cli valkey-cli mongosh mongo", c.name) {
		return false
	}
	return testName(localDatabase(before(address.text, '?'))) && !slices.ContainsFunc(c.args, func(a flow) bool {
		return !a.known || strings.Contains(a.text, "://") || strings.HasPrefix(a.text, "-") && !frameworkOptions[before(a.text, '=')] && !listed("--skip-seed --skip-generate -f", a.text)
	})
}

// redirected reports whether a variable that is set for this command, or before it, may name
// another database: they have many names.
func (c *invocation) redirected() bool {
	for v := range c.vars {
		if mayNameDatabase(v) {
			return true
		}
	}
	return slices.ContainsFunc(c.args, func(a flow) bool {
		name, _, is := strings.Cut(a.text, "=")
		return is && !strings.HasPrefix(name, "-") && mayNameDatabase(name)
	})
}

// mayNameDatabase reports whether a variable may say, by its name, which database is meant.
func mayNameDatabase(name string) bool {
	name = strings.ToUpper(name)
	if name == "PGUSER" || name == "PGPASSWORD" || strings.HasPrefix(name, "DISABLE_") {
		return false
	}
	return strings.HasPrefix(name, "PG") || slices.ContainsFunc([]string{"DATABASE", "DB_", "_DB", "DSN", "MYSQL", "POSTGRES", "_HOST", "_URL", "_URI"}, func(w string) bool { return strings.Contains(name, w) })
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
	named, drops, others := "", false, false
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
			sql := next()
			whole, dropped := testDatabases(sql)
			if !a.known || !whole && elsewhere(strings.ToLower(sql)) {
				return false
			}
			drops, others = drops || dropped, others || !whole
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
	drops = drops && !others && c.in.text == "" // from whichever database
	if strings.Contains(named, "://") {
		named = localDatabase(named)
		return testName(named) || named != "" && drops
	}
	return testName(named) || drops && !strings.ContainsAny(named, ":/@=?")
}

// localDatabase is the name of the database that an address says, if this machine has it.
func localDatabase(address string) string {
	u, err := url.Parse(address)
	if err != nil || !isLoopback(u.Hostname()) || u.RawQuery != "" {
		return ""
	}
	return strings.TrimPrefix(u.Path, "/")
}

// quotedName is a name in quotes, as those are written that hold capital letters.
var quotedName = lazyregexp.New(`"[A-Za-z0-9_ -]+"`)

// elsewhere reports whether a query may reach another database than the one it is sent to.
func elsewhere(sql string) bool {
	sql = quotedName.ReplaceAllString(sql, "x")
	if strings.ContainsAny(sql, `\."`) {
		return true
	}
	for word := range strings.FieldsFuncSeq(sql, func(r rune) bool { return (r < 'a' || r > 'z') && r != '_' }) {
		if strings.HasPrefix(word, "dblink") || listed("database role user program copy", word) { // and not a table of users
			return true
		}
	}
	return false
}

// rehearsalWords are parts of the names of databases that are made anew each day.
var rehearsalWords = set("test tests testing dev development ci e2e")

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
		is = is || rehearsalWords[word]
	}
	return is
}

// asideOptions are what deploying programs call the environment, the application or the
// settings that they deploy with.
var asideOptions = set("--stage -s --env -e --environment --config -c --config-env --app -a --stack --stack-name --profile --project -P --context --service --function-name --only --cluster --environment-name --application-name")

// deploysAside reports whether all that a deployment says of where it goes names a place that
// nobody's customers see: by the words of its own options, or of the one service that it names.
func (c *invocation) deploysAside() bool {
	if c.setsUpPreview() {
		return true
	}
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
		if c.names("--cluster") && option != "--cluster" && (i == 0 || c.args[i-1].text != "--cluster") && a.known && !hasWord(value, inUse) && !hasWord(value, asides) {
			continue // a service is where its cluster is
		}
		if !a.known || hasWord(value, inUse) || !hasWord(value, asides) {
			return false
		}
		aside = true
	}
	return aside
}

// setsUpPreview reports whether a site is put at an address of its own, beside the one that people know: as what a
// branch looks like that says so, or in a channel.
func (c *invocation) setsUpPreview() bool {
	branches := c.valueOf("--branch")
	if c.name == "firebase" {
		return c.verb() == "hosting:channel:deploy" && !slices.ContainsFunc(c.args, func(a flow) bool { return !a.known || hasWord(a.text, inUse) })
	}
	return c.name == "wrangler" && c.names("pages") && len(branches) == 1 && branches[0].known &&
		(hasWord(branches[0].text, asides) || hasWord(branches[0].text, previewWords)) && !hasWord(branches[0].text, inUse)
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

// mavenFolder is a repository of Maven's that is a folder of this machine.
var mavenFolder = lazyregexp.New(`^-DaltDeploymentRepository=(?:[\w.-]+::(?:\w+::)?)?file:(?:///|/[^/]|[^/])`)

// bringsHere reports whether what a store is made like is a folder of the project: what is deleted in it
// is there to be brought again.
func (c *invocation) bringsHere() bool {
	at := slices.IndexFunc(c.args, func(a flow) bool { return a.text == "sync" })
	if !listed("aws rclone", c.name) || at < 0 || at+2 >= len(c.args) {
		return false
	}
	from, to := c.args[at+1], c.args[at+2]
	if !from.known || !to.known || !strings.Contains(from.text, ":") || strings.ContainsAny(to.text, ":~$*") || strings.HasPrefix(from.text, "-") || strings.HasPrefix(to.text, "-") || strings.HasPrefix(to.text, "/") {
		return false
	}
	f := normalPath(to.text)
	return f.text != "" && f.turns == 0 && f.text[0] != '.' && !c.wide(to.text) && (c.cwd == "" || !c.wide(c.from(to.text)))
}

// publishesHere reports whether what a command publishes goes no further than this machine.
func (c *invocation) publishesHere() bool {
	switch {
	case c.tunnelled:
		return false
	case c.name == "docker" || c.name == "podman":
		return c.pushesHere()
	}
	if listed("mvn mvnw mvnd", c.name) {
		return slices.ContainsFunc(c.args, func(a flow) bool { return a.known && mavenFolder.MatchString(a.text) })
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
	if slices.ContainsFunc(words, func(w flow) bool { return w.text == "build" }) {
		return c.builtHere()
	}
	n := len(words)
	return n >= 2 && words[n-2].text == "push" && words[n-1].known && ofThisMachine(words[n-1].text)
}

// builtHere reports whether all that a build pushes is named as an image of a registry of this
// machine.
func (c *invocation) builtHere() bool {
	tags := 0
	for i, a := range c.args {
		option, tag, joined := strings.Cut(a.text, "=")
		switch {
		case option == "-o" || option == "--output" || strings.HasPrefix(option, "-o") && !strings.HasPrefix(option, "--"), strings.HasPrefix(option, "--cache-to"), option == "bake":
			return false // which can push, too
		case option != "-t" && option != "--tag":
			if len(a.text) > 2 && strings.HasPrefix(a.text, "-t") {
				return false
			}
			continue
		case !joined && i+1 < len(c.args):
			a, tag = c.args[i+1], c.args[i+1].text
		}
		if !a.known || !ofThisMachine(tag) {
			return false
		}
		tags++
	}
	return tags > 0
}

// ofThisMachine reports whether an image's name says that its registry is this machine.
func ofThisMachine(image string) bool {
	host, _, _ := strings.Cut(image, "/")
	name, _, port := strings.Cut(host, ":")
	return port && isLoopback(name)
}

func isLoopback(host string) bool { return host == "localhost" || host == "127.0.0.1" || host == "::1" }
