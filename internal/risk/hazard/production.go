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
		"dbt": "run build snapshot retry run-operation", "heroku": "run config:set maintenance:on", "ansible-playbook": "*", "ansible": "*", "salt": "*", "fly": "exec", "flyctl": "exec", "cap": "*", "mina": "*",
	}
	// told are programs whose plain words name what they are about.
	told = set("argocd flux helm helmfile cap mina fab kamal dokku eb copilot sls serverless npm pnpm yarn bun make gmake just task rake gradle gradlew nx invoke inv mage pulumi cf railway render vercel netlify")
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
			return (i == 0 || !listed("pre non no not post like copy of", parts[i-1])) && (i+1 == len(parts) || !listed("like copy clone dump test local", parts[i+1]))
		}
	}
	return false
}

// SaysInUse reports whether a name, an address or a value has a word by which people say that it is what
// they use, and not what they develop with.
func SaysInUse(text string) bool { return hasWord(text, inUse) }

// changesProduction judges that a command changes what people use: one of its words changes something,
// and it is told of production where programs are told which place they are for.
func (c *invocation) changesProduction() {
	if tellers[c.name] && c.name != "aws" || readers[c.name] || harmless[c.name] || c.name == "git" || c.name == "gh" || c.name == "docker" || interpreters[c.name].shell {
		return
	}
	words, place, stage := c.placed()
	for name, v := range c.vars {
		if isProduction(v.text) {
			place, stage = place || placingVariables[name], stage || stageVariables[name]
		}
	}
	besides := altersBesides[c.name]
	if c.name == "aws" && slices.Contains(words, "s3") && !strings.HasPrefix(words[len(words)-1], "s3://") {
		return // it is brought here
	}
	if !place && !stage || slices.ContainsFunc(c.args, func(a flow) bool { return ownLooks[a.text] && !(a.text == "-h" || a.text == "-C" && besides != "*") }) {
		return
	}
	for _, w := range words {
		parts := strings.FieldsFunc(strings.ToLower(w), func(r rune) bool { return strings.ContainsRune("-:._/", r) })
		is := func(set map[string]bool) bool {
			return slices.ContainsFunc(parts, func(p string) bool { return set[p] })
		}
		switch {
		case is(looking) && !listed(besides, w):
			return
		case is(toData), place && (is(alters) && !installsHere[c.name] || listed(besides, w)):
			c.report("publish.production", 0, c.at)
			return
		}
	}
	if besides == "*" && place && !c.onlyAsks() {
		c.report("publish.production", 0, c.at)
	}
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
