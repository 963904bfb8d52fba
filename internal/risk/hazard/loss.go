package hazard

import (
	"slices"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
)

// Whatever a program is called, its subcommands say what they do: a verb that takes away
// beside a thing that lasts. dropdb, db:drop, database drop, delete-db-instance and
// drop_database are one act, and a list of programs would never have all of them.

// takers are verbs that take away; weakTakers do so where a whole store stands beside them,
// and else seldom.
var (
	takers     = set("delete destroy drop purge wipe terminate erase nuke undefine obliterate truncate flush deprovision unregistervm dropdb dropuser deletion undeploy teardown")
	weakTakers = set("rm remove reset clear fresh del")
)

// stores hold data; holders are what people or programs have elsewhere.
var (
	stores  = set("db dbs database databases schema schemas keyspace keyspaces collection collections table tables index indices bucket buckets volume volumes vol vols disk disks snapshot snapshots backup backups vhost queue queues topic topics stream streams dataset datasets filesystem sql data migrate migrations migration ecto metadata recovery")
	holders = set("cluster clusters instance instances server servers vm vms droplet droplets linode linodes machine machines namespace namespaces ns project projects app apps site sites stack stacks zone zones domain repo repos repository secret secrets vault workspace org organization organizations account accounts tenant user users group pool service services resource resources environment kv wallet")
)

// noResources are programs whose words are packages, files, windows or branches, or of which
// the table knows each subcommand.
var noResources = set(`vagrant celery idf.py esptool esptool.py pio platformio st-flash nrfjprog probe-rs avrdude openocd arduino-cli apt apt-get aptitude yum dnf zypper pacman apk brew snap flatpak dpkg rpm pip pipx gem cargo composer go conda mamba choco winget scoop port nix nix-env asdf mise nvm pyenv rbenv
	git docker podman nerdctl docker-compose kubectl oc helm tmux screen systemctl service loginctl kind minikube k3d ssh ssh-keygen nmcli ip ufw code xattr bazel man grep curl wget
	rm rmdir mv cp find ls mkdir touch cd cat less head tail sed awk perl vim nano tee sort uniq diff wc chmod chown test jq yq echo printf export read sleep kill ps`)

// packageRunners are programs of which only a script of the project is named by such words.
var packageRunners = set("npm pnpm yarn bun poetry uv pdm")

// takesAway reports a command whose words say that it takes away what lasts.
func (c *invocation) takesAway() {
	c.emptiesFolder()
	c.changesNamed()
	if sqlClients[c.name] && !c.emulatesStore() || len(c.args) > 0 && listed("pg:psql pgsql-console db:psql", c.args[0].text) {
		for _, a := range c.args {
			t := a.text
			if strings.HasPrefix(t, "-") {
				_, t, _ = strings.Cut(t, "=")
			}
			if isSQL(t) {
				c.sql(t, c.at)
			}
		}
	}
	if (c.around == "xargs" || c.around == "parallel") && manyStores[c.name] {
		for i, a := range c.args {
			if takes, weak, _, others := parseName(a.text); i < 4 && others == 0 && (takes || weak) && isWordy(a.text) && !c.names("pod", "pods") {
				c.report("destroy.store", 0.45, c.at)
			}
		}
	}
	if noResources[c.name] || tellers[c.name] || c.asksHelp() {
		return
	}
	if at := c.wrapped(); at >= 0 && noResources[baseName(c.args[at].text)] {
		return // whose words are those of the command that it runs, which is judged by itself
	}
	c.verbAndThing(c.args, packageRunners[c.name])
}

// emulatesStore reports whether a client is told that the store is the one which it plays on this machine for a
// project that is being worked on.
func (c *invocation) emulatesStore() bool {
	return c.name == "wrangler" && c.names("--local") && !c.names("--remote", "--local=false")
}

// helpful are programs that take no option which they do not know, and that print their help and stop where it
// is asked for behind the words which say what to do.
var helpful = set(`docker podman nerdctl docker-compose podman-compose buildah bq gcloud az gsutil kubectl oc helm velero restic borg doctl hcloud eksctl kops minikube kind k3d argocd flux vault consul nomad heroku fly flyctl
	vercel netlify firebase wrangler pulumi cdk prisma supabase typeorm sequelize sequelize-cli knex alembic flask dbt dropdb createdb pg_restore gh glab cargo git`)

// asksHelp reports whether a program of these is asked how it is called, or which it is, and nothing else: the last
// word says so, and those before it are the few by which it knows of what, and no option that could take the last
// for its own.
func (c *invocation) asksHelp() bool {
	words, name := c.args, c.name
	if at := c.wrapped(); at >= 0 {
		words, name = words[at+1:], baseName(words[at].text)
	}
	n := len(words) - 1
	return helpful[name] && n >= 0 && (n < 2 || n < 4 && name != "git") && listed("--help --version", words[n].text) &&
		!slices.ContainsFunc(words[:n], func(a flow) bool { return !a.known || !isWordy(a.text) || strings.HasPrefix(a.text, "-") })
}

// wrapped is where among its words a wrapper is told the command that it runs; -1 for none.
func (c *invocation) wrapped() int {
	o, is := c.table.options[c.name]
	if !is || o.wraps < 0 {
		return -1
	}
	skip := o.wraps
	for i := 0; i < len(c.args); i++ {
		switch t := c.args[i].text; {
		case listed(o.takes, t):
			i++
		case strings.HasPrefix(t, "-"), isName(before(t, '=')) && strings.Contains(t, "="):
		case skip > 0:
			skip--
		default:
			return i
		}
	}
	return -1
}

// sqlClients are programs that take queries as words; manyStores take away, one after the
// other, whatever xargs gives them.
var (
	sqlClients = set("clickhouse cqlsh influx bq cypher-shell snowsql snow trino presto beeline hive impala-shell spark-sql isql osql dolt turso wrangler cockroach ysqlsh usql athena surreal arangosh")
	manyStores = set("kubectl oc redis-cli valkey-cli aws gcloud az gh glab doctl mc etcdctl heroku gsutil")
)

// names says whether one of the words is among the arguments.
func (c *invocation) names(words ...string) bool {
	for _, a := range c.args {
		if slices.Contains(words, a.text) {
			return true
		}
	}
	return false
}

// verbAndThing looks at the first words of a command. joined says that the verb and the thing
// must stand in one word.
func (c *invocation) verbAndThing(args []flow, joined bool) {
	const most = 5
	takes := c.table.options[c.name].takes
	verb, weakVerb, thing, seen, last := false, false, "", 0, "" // of the word before
	for i := 0; i < len(args) && seen < most; i++ {
		t := args[i].text
		if strings.HasPrefix(t, "-") || len(t) > 48 {
			if listed(takes, t) {
				i++
			}
			continue
		}
		seen++
		if !isWordy(t) {
			verb, weakVerb, thing, last = false, false, "", ""
			continue
		}
		if removesSource(last + " " + t) {
			last = t
			continue
		}
		last = t
		v, weak, what, others := parseName(t)
		if what != "" && (v || weak && what == "destroy.store") {
			c.report(what, 0.45, c.at)
			return
		}
		if !joined && others == 0 {
			switch {
			case v && thing != "", weak && thing == "destroy.store":
				c.report(thing, 0.45, c.at)
				return
			case what != "" && verb, what == "destroy.store" && weakVerb:
				c.report(what, 0.45, c.at)
				return
			}
		}
		verb, weakVerb, thing = v && others == 0, weak && others == 0, what
	}
}

// removesSource reports whether words say that a migration is removed: it is a file of the project's source,
// and no store, which those lose that reset or drop them.
func removesSource(words string) bool {
	return hasWord(words, sourceThings) && hasWord(words, removers) && !hasWord(words, takers)
}

var (
	sourceThings = set("migration migrations")
	removers     = set("rm remove")
)

// isWordy says whether a text is a subcommand's name: letters and the signs between them.
func isWordy(t string) bool {
	for i := range len(t) {
		c := t[i] | 0x20
		if !(c >= 'a' && c <= 'z' || t[i] == '-' || t[i] == '_' || t[i] == ':') {
			return false
		}
	}
	return t != ""
}

// parseName cuts a name into words, and says whether one of them takes away, what it is that
// is taken (the effect), and how many words say something else.
func parseName(name string) (takes, weak bool, what string, others int) {
	for i := 0; i < len(name); {
		j := i
		for j < len(name) && isLetter(name[j]) && (j == i || !(isUpper(name[j]) && !isUpper(name[j-1]))) {
			j++
		}
		if j == i {
			i++
			continue
		}
		w := lowerWord(name[i:j])
		switch {
		case takers[w]:
			takes = true
		case weakTakers[w]:
			weak = true
		case stores[w]:
			what = "destroy.store"
		case holders[w]:
			if what == "" {
				what = "destroy.cloud"
			}
		case w == "all" || w == "force":
		default:
			others++
		}
		i = j
	}
	return
}

// wholeLosses are functions that empty or drop all of a store.
var wholeLosses = set("flushall flushdb drop_all delete_all destroy_all truncate_all dropdb dropdatabase drop_database deletebucketcommand remove_collection dropcollection droptable drop_table")

// loses judges a function's name in a program that runs now: its verb and what it takes.
func (p *program) loses(tokens []token, i int, text string) {
	t := tokens[i]
	if t.end > len(text) || t.end-t.at < 7 || i > 0 && listed("def function func fn sub class", tokens[i-1].text) {
		return
	}
	calls := t.end < len(text) && text[t.end] == '('
	switch {
	case p.language == "ruby" && setsUp(text, t.at, t.text):
	case wholeLosses[t.text]:
		p.report("destroy.store", 0.45, p.at)
	case !calls:
	case t.text == "deletemany" || t.text == "delete_many" || t.text == "deletemanyasync" || t.text == "remove_many":
		if rest := strings.TrimLeft(text[t.end+1:], " \n"); strings.HasPrefix(rest, ")") || strings.HasPrefix(rest, "{}") || strings.HasPrefix(rest, "{ }") {
			p.report("destroy.store", 0.45, p.at)
		}
	default:
		if takes, _, what, _ := parseName(text[t.at:t.end]); takes && what != "" {
			p.report(what, 0.45, p.at)
		}
	}
}

// setsUp reports whether a word of Ruby only says what goes with a row when that is deleted, or which
// table a migration takes away, which runs when somebody has a project's database brought up to date.
func setsUp(text string, at int, word string) bool {
	line := text[strings.LastIndexByte(text[:at], '\n')+1 : at]
	if word == "drop_table" {
		return strings.TrimSpace(line) == "" && isMigration.MatchString(text)
	}
	return dependent.MatchString(line)
}

var (
	dependent   = lazyregexp.New(`\bdependent(?::|\s*=>)\s*:$`)
	isMigration = lazyregexp.New(`(?m)^class\s+[\w:]+\s*<\s*ActiveRecord::Migration\b`)
)

// losesRows is how programs take all rows of a model, and make its tables anew.
var losesRows = lazyregexp.New(`(?i)\.(?:all|objects\.all)(?:\(\))?\.(?:delete|destroy_all|delete_all)\b|\.sync\(\s*\{\s*force:\s*true`)

// losesObjects judges what a program takes away from a cloud's stores by its maker's library: objects with all their
// versions, or one after the other, and what keeps them from being lost. Stores that a test plays are none.
func (p *program) losesObjects(text string) {
	if cloudLibraries.MatchString(text) && losesKept.MatchString(text) && !playsCloud.MatchString(text) && !p.speaksHere() {
		p.report("destroy.cloud", 0.45, p.at)
	}
}

var (
	cloudLibraries = lazyregexp.New(`\b(?:boto3|aioboto3|aiobotocore|botocore|minio|oss2|qcloud_cos|ibm_boto3)\b|\bgoogle\.cloud\b|\bazure\.(?:storage|mgmt|cosmos|data)|@aws-sdk/|\baws-sdk\b|@google-cloud/|@azure/|software\.amazon\.awssdk|aws-sdk-go`)
	losesKept      = lazyregexp.New(`(?is)\b(?:object_versions|objects|list_blobs|list_objects\w*|list_object_versions)\b[^\n]{0,120}\.delete\(|\b(?:delete_objects|delete_blobs?|delete_blob_versions?|delete_object_version|batch_delete\w*|deleteobjects(?:command)?|deletefiles)\s*\(|\bfor\s+(?:\w+\s*,\s*)?(\w+)\s+in\b[^\n]{0,200}:\s*(?:\n[^\n]*){0,4}?\n?[ \t]*\w+\.delete\(\s*\)|\b(?:put_bucket_versioning|putbucketversioning(?:command)?)\b.{0,200}\bsuspended\b|\bversioning_enabled\s*=\s*false|\bbucket\(\s*["'][^"'\n]*["']\s*\)\.delete\(|\.delete\(\s*force\s*=\s*true|\b(?:delete_bucket_replication|put_bucket_lifecycle\w*|putbucketlifecycle\w*|remove_object_lock\w*|put_object_lock_configuration)\s*\(`)
	playsCloud     = lazyregexp.New(`\b(?:moto|mock_aws|mock_s3|localstack|LocalStack|aws-sdk-client-mock|Stubber|MagicMock|unittest\.mock|testcontainers|fake-gcs-server|azurite)\b`)
)

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isUpper(c byte) bool  { return c >= 'A' && c <= 'Z' }

// lowerWord is a word in lower case, as it is if it is so already.
func lowerWord(w string) string {
	for i := range len(w) {
		if isUpper(w[i]) {
			return lower(w)
		}
	}
	return w
}
