package hazard

import (
	"slices"
	"strings"
)

// What people use is told by a word: the context, the environment, the profile or the application that
// a program is told of is called prod. Which programs are told so, and how each calls what it changes,
// is a list without an end; that one of its words changes something, and another says where, is not.

var (
	// placing are options and variables by which programs are told which of several places is meant.
	placing = set(`--context --kube-context --kubeconfig --env --environment --profile --target --stage --app --application --project --project-id --account --cluster --namespace --host --hostname
		--inventory --inventory-file --workspace --stack --remote --server --settings --site --instance --database --db --deployment --config-env --destination -e -a -i -p -n -s -h -r -E -d --ctx --limit -l -t --org --space -url --url -database --database-url`)
	placingVariables = set("AWS_PROFILE AWS_VAULT KUBECONFIG KUBE_CONTEXT KUBECTX HELM_KUBECONTEXT TF_WORKSPACE CLOUDSDK_ACTIVE_CONFIG_NAME CLOUDSDK_CORE_PROJECT GOOGLE_CLOUD_PROJECT PULUMI_STACK HEROKU_APP FLY_APP ENV ENVIRONMENT STAGE DEPLOY_ENV TARGET_ENV DBT_TARGET PGHOST MYSQL_HOST DATABASE_URL DJANGO_SETTINGS_MODULE")
	// stageVariables say how a program runs, on whatever machine: of them counts what is done to data.
	stageVariables = set("RAILS_ENV RACK_ENV APP_ENV NODE_ENV MIX_ENV FLASK_ENV SYMFONY_ENV HANAMI_ENV GO_ENV PHOENIX_ENV ASPNETCORE_ENVIRONMENT DOTNET_ENVIRONMENT SPRING_PROFILES_ACTIVE MICRONAUT_ENVIRONMENTS QUARKUS_PROFILE")

	// alters are words for what changes something, toData those that change what is stored or what
	// everybody gets, and looking words that say of others that nothing is changed.
	alters = set(`apply sync scale autoscale restart undo pause resume delete destroy remove rm update upgrade downgrade set unset patch edit replace create install uninstall drain cordon uncordon taint label
		annotate put modify stop start reboot terminate disable enable attach detach promote invalidate failover switchover cutover swap rotate restore import load mv cp up down terminate cancel suspend`)
	toData  = set("deploy redeploy deployment migrate migrations migration rollback release publish seed drop reset truncate purge flush flushall backfill reindex")
	looking = set("get list ls describe show status logs log tail diff plan inspect explain history info view version check validate lint test tests help dry template render search find whoami top events metrics cache assets precompile generate make build compile init context contexts current output outputs pull fetch download dump export ping doctor debug completion schema docs")

	// altersBesides are words that change something for some programs only; * stands for whatever they
	// are told, since that is what the programs are for.
	altersBesides = map[string]string{
		"prisma": "push execute", "dbt": "run build snapshot retry run-operation", "heroku": "run config:set maintenance:on", "ansible-playbook": "*", "ansible": "*", "salt": "*", "fly": "exec", "flyctl": "exec", "cap": "*", "mina": "*",
	}
	// told are programs whose plain words name what they are about.
	told = set("ansible salt argocd flux helm helmfile cap mina fab kamal dokku eb copilot sls serverless npm pnpm yarn bun make gmake just task rake gradle gradlew nx invoke inv mage pulumi cf railway render vercel netlify")
	// installsHere are programs that bring packages to this machine, for whatever place it builds.
	installsHere = set("npm pnpm yarn bun composer pip pip3 uv poetry pdm bundle bundler gem cargo go conda mamba brew apt apt-get")
	// ownLooks are options by which programs only show what they would do.
	ownLooks = set("--check -C --list-hosts --list-tasks --list-tags --syntax-check --dry-run --diff-only --plan --pretend --simulate --noop -n=true --what-if --help -h")
)

// isProduction reports whether a name says that it is of what people use: prod-eu, db.production, x/live.
// What comes before it, or is none of it, is not.
func isProduction(name string) bool {
	if len(name) > 512 || strings.Contains(name, " ") {
		return false
	}
	parts := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !(r >= 'a' && r <= 'z') && !(r >= '0' && r <= '9') })
	for i, p := range parts {
		if listed("prod production prd live", strings.TrimRight(p, "0123456789")) {
			if i > 1 && parts[i-1] == "to" && parts[i-2] == "time" { // how long something is kept
				continue
			}
			return (i == 0 || !listed("pre non no not post like copy of", parts[i-1])) && (i+1 == len(parts) || !listed("like copy clone dump test local", parts[i+1]))
		}
	}
	return false
}

// SaysInUse reports whether a name, an address or a value has a word by which people say that it is what
// they use, and not what they develop with.
func SaysInUse(text string) bool { return hasWord(text, inUse) }

// remotes are programs that do what they are told in a cloud, a cluster or on a server: of them any verb
// counts that is not known to look.
var remotes = set("kubectl oc helm aws gcloud az oci ibmcloud aliyun doctl hcloud scw linode-cli heroku scalingo fly flyctl vercel netlify railway render supabase cf eb nomad consul argocd flux istioctl linkerd velero docker podman nerdctl redis-cli valkey-cli ecs-cli eksctl rabbitmqctl")

// choosing are first words by which such programs are set up here, or told where to go from now on.
var choosing = set("config configure context contexts account accounts login logout sso auth init completion plugin plugins version help profile profiles environment use switch")

// lookingToo is looking with what is so for these programs alone.
var lookingToo = set(`can-i api-resources api-versions cluster-info port-forward proxy wait read scan query head select filter lookup validate estimate simulate preview sts presign credentials kubeconfig dependency
	manifests resources regions zones locations stats images port ps top inspect events history members decode detect receive batch-get print whoami ssh console exec link unlink open dev login`)

// grouping are first words behind which the verb stands.
var grouping = set("rollout auth certificate compose service stack container image network volume secret node swarm system repo builder buildx manifest plugin cluster-info set config cluster job alloc app acl deployment namespace namespaces operator server var")

// redisLooks are commands of Redis that change nothing.
var redisLooks = set("get mget strlen getrange info ping keys scan sscan hscan zscan ttl pttl type exists dbsize llen lrange lindex hget hgetall hmget hkeys hvals hlen hexists smembers scard sismember zrange zrangebyscore zcard zscore zrank zcount slowlog client memory object latency lastsave time role cluster xinfo xlen xrange command module pfcount bitcount geopos echo")

// verbs are the words of a command of which one is the verb.
func (c *invocation) verbs(words []string) []string {
	switch {
	case len(words) == 0:
	case c.name == "aws":
		return words[min(1, len(words)-1):min(2, len(words))]
	case listed("kubectl oc helm docker podman nerdctl redis-cli valkey-cli nomad argocd", c.name):
		if grouping[strings.ToLower(words[0])] {
			return words[:min(2, len(words))]
		}
		return words[:1]
	}
	return words
}

// changesProduction judges that a command changes what people use: one of its words changes something,
// and it is told of production where programs are told which place they are for. Of a program that is
// there for what runs elsewhere, any verb may that is not known to look.
func (c *invocation) changesProduction() {
	c.choosesProject()
	if c.live && c.changesThere() {
		c.report("publish.production", 0, c.at)
		return
	}
	switch {
	case c.appliesPlan():
		c.report("publish.deploy", 0, c.at)
		return
	case c.name == "rsync" && c.mirrorsToProduction():
		c.report("publish.production", 0, c.at)
		return
	case databaseClients[c.name] && c.queriesProduction(), c.startsPipeline() && c.namesProduction():
		c.report("publish.production", 0, c.at)
		return
	}
	container := listed("docker podman nerdctl", c.name)
	if tellers[c.name] && c.name != "aws" || readers[c.name] || harmless[c.name] || c.name == "git" || c.name == "gh" || interpreters[c.name].shell || databaseClients[c.name] && !remotes[c.name] {
		return
	}
	words, place, stage := c.placed()
	for name, v := range c.vars {
		if isProduction(v.text) && !container {
			place, stage = place || placingVariables[name], stage || stageVariables[name]
		}
	}
	if container {
		place, stage = c.daemonInUse(), false
		words = wordsIn(c.daemonArgs())
	}
	place = place || remotes[c.name] && !container && c.namesProduction() || listed("kubectl oc helm", c.name) && (isProduction(c.cluster) || isProduction(c.chosen))
	besides := altersBesides[c.name]
	if c.name == "aws" && slices.Contains(words, "s3") && !strings.HasPrefix(words[len(words)-1], "s3://") {
		return // it is brought here
	}
	if !place && !stage || slices.ContainsFunc(c.args, func(a flow) bool {
		option := before(a.text, '=')
		return (ownLooks[a.text] || option == "--dry-run" && !strings.HasSuffix(a.text, "=none") && !strings.HasSuffix(a.text, "=false")) && !(a.text == "-h" || a.text == "-C" && besides != "*")
	}) {
		return
	}
	remote := place && remotes[c.name]
	if remote {
		if len(words) == 0 || choosing[words[0]] || c.runsThere() {
			return
		}
		remote = !listed("env secret secrets variable variables var vars", words[0]) // where people put what an application needs
		words = c.verbs(words)
	}
	for _, w := range words {
		verb := strings.ToLower(w)
		if c.name == "heroku" || c.name == "scalingo" { // pg:reset
			verb = verb[strings.LastIndexByte(verb, ':')+1:]
		}
		parts := strings.FieldsFunc(verb, func(r rune) bool { return strings.ContainsRune("-:._/", r) })
		is := func(set map[string]bool) bool {
			return slices.ContainsFunc(parts, func(p string) bool { return set[p] })
		}
		switch {
		case strings.HasPrefix(w, "/"): // a file, of the one or the other machine
		case is(looking) && !listed(besides, w), remote && (lookingToo[strings.ToLower(w)] || len(parts) > 0 && lookingToo[parts[0]] || parts != nil && c.onlyStarts(w)):
			return
		case c.onRedis() && redisLooks[strings.ToLower(w)]:
			return
		case is(toData), place && (is(alters) && !installsHere[c.name] || listed(besides, w)):
			c.report("publish.production", 0, c.at)
			return
		}
	}
	if remote && !(c.onRedis() && c.names("--scan", "--stat", "--latency", "--bigkeys", "--memkeys", "--hotkeys")) || besides == "*" && place && !c.onlyAsks() {
		c.report("publish.production", 0, c.at)
	}
}

func (c *invocation) onRedis() bool { return c.name == "redis-cli" || c.name == "valkey-cli" }

// onlyStarts reports whether a verb of a cloud only begins to look, or writes a setting here.
func (c *invocation) onlyStarts(verb string) bool {
	return strings.HasPrefix(verb, "start-query") || strings.HasPrefix(verb, "start-live-tail") || strings.HasPrefix(verb, "update-kubeconfig") || strings.HasPrefix(verb, "generate-db-auth")
}

// startsPipeline reports whether a command has a forge run a pipeline of the repository's, with the inputs that it
// gives.
func (c *invocation) startsPipeline() bool {
	switch c.name {
	case "gh":
		return c.names("workflow") && c.names("run")
	case "glab":
		return c.names("ci", "pipeline") && c.names("run", "run-trig", "trigger")
	}
	return false
}

// namesProduction reports whether one of the things that a command names is production, wherever it stands
// among its words; what is said of it to people, and where a file lies, does not count.
func (c *invocation) namesProduction() bool {
	for i, a := range c.args[:min(len(c.args), 64)] {
		t := a.text
		if t == "--" {
			break
		}
		if option, value, joined := strings.Cut(t, "="); joined && strings.HasPrefix(option, "-") {
			t = value
		}
		if strings.Contains(t, "://") && !strings.HasPrefix(t, "file:") && !strings.HasPrefix(t, "s3:") && !strings.HasPrefix(t, "gs:") {
			t = hostOf(t).name
		}
		if !strings.HasPrefix(t, "-") && !strings.ContainsAny(t, "/ \n{") && !listed("-m --message --description --comment --query --filter --template --filter-pattern", c.optionOf(i)) && isProduction(t) {
			return true
		}
	}
	return false
}

// runsThere reports whether a command has another one run elsewhere, which is judged by itself.
func (c *invocation) runsThere() bool {
	for _, e := range c.table.elsewhere[c.name] {
		if e.words.among(c.args) && (e.option != "" && len(c.valuesOf(e.option)) > 0 || e.option == "" && c.commandAt(e) < len(c.args)) {
			return true
		}
	}
	return listed("kubectl oc", c.name) && c.verb() == "exec" && c.names("--")
}

// choosesProject remembers of gcloud config set project which one is meant from then on.
func (c *invocation) choosesProject() {
	if words := wordsIn(c.args[:min(len(c.args), 8)]); c.name == "gcloud" && len(words) == 4 && words[0] == "config" && words[1] == "set" && strings.HasSuffix(words[2], "project") && len(c.vars) < 1024 {
		c.vars["CLOUDSDK_CORE_PROJECT"] = flow{text: words[3], known: true}
	}
}

// wordsIn are the plain words among arguments.
func wordsIn(args []flow) (words []string) {
	for _, a := range args[:min(len(args), 64)] {
		if !strings.HasPrefix(a.text, "-") {
			words = append(words, a.text)
		}
	}
	return words
}

// daemonArgs are a command's words from its subcommand on, without those that run in a container.
func (c *invocation) daemonArgs() []flow {
	own := *c
	own.args, _ = c.ofDaemon()
	if inside := own.inContainer(); len(inside) > 0 {
		return own.args[:len(own.args)-len(inside)]
	}
	return own.args
}

// daemonInUse reports whether a program of containers is told of a context, or an address, whose name says
// that it is production.
func (c *invocation) daemonInUse() bool {
	for _, name := range []string{"DOCKER_HOST", "DOCKER_CONTEXT", "CONTAINER_HOST", "CONTAINER_CONNECTION"} {
		if isProduction(c.vars[name].text) {
			return true
		}
	}
	args, _ := c.ofDaemon()
	for i, a := range c.args[:len(c.args)-len(args)] {
		if option := c.optionOf(i); listed("-H --host -c --context --connection --url", option) || i > 0 && listed("-H -c", c.args[i-1].text) {
			if _, value, joined := strings.Cut(a.text, "="); isProduction(a.text) || joined && isProduction(value) {
				return true
			}
		}
	}
	return false
}

// usesContext remembers of docker context use where docker goes from then on.
func (c *invocation) usesContext() {
	if words := wordsIn(c.args); len(words) == 3 && words[0] == "context" && words[1] == "use" && len(c.vars) < 1024 {
		c.vars["DOCKER_CONTEXT"] = flow{text: words[2], known: true}
	}
}

// appliesPlan reports whether Terraform does what it would ask about, where nobody is asked: something else
// answers, it is told of all folders, or a plan that was saved is done to production.
func (c *invocation) appliesPlan() bool {
	if !listed("terraform tofu terragrunt", c.name) {
		return false
	}
	words := wordsIn(c.args)
	all := len(words) > 0 && words[0] == "run-all" || c.names("--all")
	if len(words) > 1 && (words[0] == "run-all" || words[0] == "run") {
		words = words[1:]
	}
	if len(words) == 0 || words[0] != "apply" && words[0] != "destroy" || c.names("-help", "--help") {
		return false
	}
	place := slices.ContainsFunc(c.args, func(a flow) bool { return isProduction(a.text) })
	return place && len(c.savedPlans(words[0])) > 0 || all || c.fed && (c.in.text != "" || c.in.taint&fromProgram != 0)
}

// savedPlans are the words behind a verb of Terraform that name plans which were saved.
func (c *invocation) savedPlans(verb string) (plans []string) {
	i := slices.IndexFunc(c.args, func(a flow) bool { return a.text == verb })
	for j := i + 1; i >= 0 && j < len(c.args); j++ {
		if !strings.HasPrefix(c.args[j].text, "-") && !listed("-var -var-file -target -replace -lock-timeout -parallelism -state -state-out -backup --var --target --queue-include-dir --working-dir", c.args[j-1].text) {
			plans = append(plans, c.args[j].text)
		}
	}
	return plans
}

// plans is Terraform, which does a plan that was saved without a question. One by which all is destroyed is known
// again by its file: to make it destroys nothing.
func (c *invocation) plans() flow {
	if c.names("plan") && slices.ContainsFunc(c.args, func(a flow) bool { return listed("-destroy --destroy", before(a.text, '=')) }) {
		for _, file := range c.valueOf("-out", "--out") {
			c.writeFile(file, flow{text: "#!/bin/sh\nterraform destroy -auto-approve\n", known: true}, false)
		}
	}
	for _, plan := range c.savedPlans("apply") {
		if said, ok := c.getFile(plan); ok && said.known {
			c.inside(said.text)
		} else {
			c.ran(plan)
		}
	}
	return c.ordinary()
}

// mirrorsToProduction reports whether rsync takes away what another place has not, on a machine whose name
// says that it is production.
func (c *invocation) mirrorsToProduction() bool {
	_, rest := c.split()
	if len(rest) == 0 || !slices.ContainsFunc(c.args, func(a flow) bool { return strings.HasPrefix(a.text, "--del") }) || slices.ContainsFunc(c.args, func(a flow) bool { return a.text == "--dry-run" || a.text == "-n" }) {
		return false
	}
	host, _, remote := strings.Cut(rest[len(rest)-1].text, ":")
	return remote && isProduction(host)
}

// queriesProduction reports whether a client of a database is told of one that is production, and to do
// more there than to look.
func (c *invocation) queriesProduction() bool {
	if c.onRedis() || listed("createdb dropdb mysqladmin", c.name) {
		return false // whose words are verbs
	}
	_, place, _ := c.placed()
	for name, v := range c.vars {
		place = place || placingVariables[name] && isProduction(v.text)
	}
	asks, told := c.name != "pg_restore", c.name == "pg_restore" && !c.names("-l", "--list", "--help")
	for i, a := range c.args {
		t := a.text
		option := c.optionOf(i)
		switch {
		case listed("-c --command -e --execute --eval -Q -q", option):
			if _, value, joined := strings.Cut(t, "="); joined && strings.HasPrefix(t, "--") {
				t = value
			}
			told = true
			asks = asks && onlyAsks(t)
		case listed("-f --file", option):
			told, asks = true, false
		case !strings.HasPrefix(t, "-") && !strings.Contains(t, " ") && !listed("-U -u -p --user --username --port -P", option):
			place = place || isProduction(t)
		}
	}
	if c.in.text != "" || c.in.taint != 0 {
		asks = asks && c.in.known && onlyAsks(c.in.text)
		told = true
	}
	return place && told && !asks
}

// onlyAsks reports whether orders to a database change nothing, by the first word of each.
func onlyAsks(orders string) bool {
	if len(orders) > 64<<10 {
		return false
	}
	for order := range strings.SplitSeq(orders, ";") {
		order = strings.ToLower(strings.TrimSpace(order))
		first := before(strings.Join(strings.Fields(order), " "), ' ')
		switch {
		case order == "", strings.HasPrefix(order, `\`) && !slices.ContainsFunc([]string{`\i`, `\copy`, `\!`, `\g`}, func(w string) bool { return strings.HasPrefix(order, w) }):
		case strings.Contains(order, "pg_terminate") || strings.Contains(order, "pg_cancel") || strings.Contains(order, "setval(") || strings.Contains(order, "dblink") || strings.Contains(order, " into ") || strings.Contains(order, "analyze update") || strings.Contains(order, "analyze delete") || strings.Contains(order, "analyze insert"):
			return false
		case listed("select show explain describe desc table values use help", first):
		case strings.HasPrefix(first, "db.") && documentsOnly(order):
		case first == "with" && !strings.Contains(order, "update ") && !strings.Contains(order, "delete ") && !strings.Contains(order, "insert "):
		default:
			return false
		}
	}
	return true
}

// documentsOnly reports whether a line for a store of documents only looks.
func documentsOnly(line string) bool {
	for _, verb := range []string{"insert", "update", "delete", "remove", "drop", "replace", "create", "rename", "save", "write", "admin", "run", "$out", "$merge", "kill", "shutdown", "set", "grant"} {
		if strings.Contains(line, verb) {
			return false
		}
	}
	return true
}

// reachesProduction reports whether the machine, or what else the command has something run on, is
// production by its name.
func (c *invocation) reachesProduction() bool {
	if remoteShells[c.name] {
		takes := c.table.options["ssh"].takes
		for i, a := range c.args {
			if !strings.HasPrefix(a.text, "-") && (i == 0 || !listed(takes, c.args[i-1].text)) {
				_, host, _ := strings.Cut("@"+a.text, "@")
				return isProduction(host[strings.LastIndexByte(host, '@')+1:])
			}
		}
		return false
	}
	if listed("docker podman nerdctl", c.name) {
		return c.daemonInUse()
	}
	own := c.ownWords()
	if i := slices.IndexFunc(own, func(a flow) bool { return a.text == "--" }); i >= 0 {
		own = own[:i]
	}
	for _, a := range own[:min(len(own), 64)] {
		t := a.text
		if option, value, joined := strings.Cut(t, "="); joined && strings.HasPrefix(option, "-") {
			t = value
		}
		if !strings.Contains(t, "/") && isProduction(t[strings.LastIndexByte(t, '@')+1:]) {
			return true
		}
	}
	return false
}

// placed are the words of a command that may say what it does, with its own name first, if that does;
// and whether it is told of production.
func (c *invocation) placed() (words []string, place, stage bool) {
	if strings.ContainsAny(c.path, "/.") { // ./deploy.sh production
		words = append(words, c.name)
	}
	named := told[c.name] || strings.Contains(c.path, "/") && strings.Contains(c.name, ".sh")
	for i, a := range c.args[:min(len(c.args), 64)] {
		option, value, joined := strings.Cut(a.text, "=")
		switch {
		case a.text == "--":
			continue
		case strings.HasPrefix(a.text, "-") && joined:
			place = place || placing[option] && isProduction(value)
		case strings.HasPrefix(a.text, "-"):
			if len(a.text) > 2 && a.text[1] != '-' && placing[a.text[:2]] { // -iprod
				place = place || isProduction(a.text[2:])
			}
		case i > 0 && strings.HasPrefix(c.args[i-1].text, "-") && !strings.Contains(c.args[i-1].text, "=") && (placing[c.args[i-1].text] || listed(c.table.options[c.name].takes, c.args[i-1].text)):
			place = place || placing[c.args[i-1].text] && isProduction(a.text)
		case joined && !strings.ContainsAny(option, " /"): // ENV=prod
			place = place || (placing["--"+strings.ToLower(option)] || placingVariables[option]) && isProduction(value)
			stage = stage || stageVariables[option] && isProduction(value)
		default:
			place = place || named && isProduction(a.text)
			words = append(words, a.text)
		}
	}
	return words, place, stage
}

// onlyAsks reports whether a program that changes what it is told of is told to look: the modules of
// ansible that do, and programs that read.
func (c *invocation) onlyAsks() bool {
	for i, a := range c.args {
		if i == 0 {
			continue
		}
		first := before(strings.TrimSpace(a.text), ' ')
		switch c.args[i-1].text {
		case "-m", "--module-name":
			if listed("ping setup debug gather_facts stat slurp fetch service_facts package_facts", first[strings.LastIndexByte(first, '.')+1:]) {
				return true
			}
		case "-a", "--args":
			if harmless[first] || readers[first] || listed("uptime free hostname uname journalctl systemctl ss netstat id who w last date", first) && !strings.Contains(a.text, "start") && !strings.Contains(a.text, "stop") {
				return true
			}
		}
	}
	return false
}
