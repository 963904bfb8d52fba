package hazard

import (
	"path"
	"slices"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
)

// What is taken away on this machine lies in a repository, in a backup, or can be made again by whoever
// works here. Of another machine nobody knows that: a folder that is deleted there, and rows of a database
// that are changed there, come back by nothing that this one has. What people try things out on is none of
// these: by its name, or since it lies in a network of one's own.

// triedOn are words in the names of machines, databases and accounts that people try things out on.
var triedOn = set("test tests testing dev devel develop development devbox ci e2e qa uat stage stg staging sandbox demo lab local localhost vm vms vagrant virtualbox lima multipass runner builder build preview playground scratch tmp temp ephemeral review codespace")

// ofTrial reports whether a name says that people try things out there, and nothing beside that they use it.
func ofTrial(name string) bool { return hasWord(name, triedOn) && !hasWord(name, inUse) }

// homeNames end the names that a network of one's own gives.
var homeNames = []string{".local", ".lan", ".home", ".home.arpa", ".localdomain", ".test", ".internal", ".localhost", ".vm"}

// ofOthers reports whether a host, or an address, is of a machine that is none of one's own, as far as its
// name says.
func ofOthers(address string) bool {
	if address == "" || strings.ContainsAny(address, "$`*{( ") || strings.HasPrefix(address, "/") || ofTrial(address) {
		return false
	}
	if h := hostOf(address); h.kind() != "public" || slices.ContainsFunc(homeNames, func(end string) bool { return strings.HasSuffix(h.name, end) }) {
		return false
	}
	return true
}

// runsAfar are programs, besides remote shells, that have something run on machines of a cloud, or on many at
// once. Those for machines that this one plays, and for such as live as long as one command, are none of them.
var runsAfar = set("ansible pdsh dsh mpssh clush parallel-ssh pssh fab salt salt-ssh aws gcloud az oci ibmcloud aliyun tccli doctl hcloud eb fly flyctl platform upsun acli tsh nomad kamal dokku plink klink")

// reachesAfar reports whether what a command has run elsewhere runs on a machine that is none of one's own.
func (c *invocation) reachesAfar() bool {
	if remoteShells[c.name] {
		name := c.leadsTo()
		return ofOthers(name[strings.LastIndexByte(name, '@')+1:])
	}
	switch trial := slices.ContainsFunc(c.ownWords(), func(a flow) bool { return !strings.HasPrefix(a.text, "-") && ofTrial(a.text) }); {
	case trial:
		return false
	case runsAfar[c.name]:
		return !c.names("127.0.0.1")
	case listed("docker podman nerdctl docker-compose podman-compose", c.name):
		return c.daemonAfar()
	case listed("kubectl oc", c.name):
		named := append(c.valueOf("--context", "--server", "-s"), flow{text: c.cluster, known: true})
		return !c.inLocalCluster() && slices.ContainsFunc(named, func(v flow) bool { return v.known && v.text != "" && !localCluster(v.text) && !ofTrial(v.text) })
	}
	return false
}

// daemonAfar reports whether containers run where a program of theirs is told that another machine runs them.
func (c *invocation) daemonAfar() bool {
	told := []flow{c.vars["DOCKER_HOST"], c.vars["CONTAINER_HOST"]}
	args, _ := c.ofDaemon()
	for i, a := range c.args[:max(0, len(c.args)-len(args))] {
		option, value, joined := strings.Cut(a.text, "=")
		switch {
		case !listed("-H --host -c --context --url --connection", option):
		case joined:
			told = append(told, flow{text: value, known: a.known})
		case i+1 < len(c.args):
			told = append(told, c.args[i+1])
		}
	}
	return slices.ContainsFunc(told, func(v flow) bool {
		return v.known && v.text != "" && !listed("default desktop-linux colima rancher-desktop orbstack", v.text) && !strings.HasPrefix(v.text, "unix:") && !strings.HasPrefix(v.text, "npipe:") && ofOthers(v.text)
	})
}

// madeThere are folders, beside those of madeAnew, whose programs fill them again.
var madeThere = set("caches .npm .yarn .gradle .m2 .ccache sessions views __snapshots__ coverage artifacts .terraform.d .parcel-cache .turbo .svelte-kit .vite .angular .mypy_cache .ruff_cache")

// removesAfar judges that a folder is deleted on a machine that is none of one's own.
func (a *assessor) removesAfar(p string, at span) {
	if !a.afar || strings.HasPrefix(p, "$") || p == "" {
		return
	}
	full := normalPath(p).text
	if !strings.HasPrefix(full, "/") && !strings.HasPrefix(full, "~") {
		full = path.Join(a.cwd, full)
	}
	for _, passing := range []string{"/tmp/", "/var/tmp/", "/dev/shm/", "/run/", "/var/cache/", "/var/log/", "~/.cache/"} {
		if strings.HasPrefix(full+"/", passing) {
			return
		}
	}
	for part := range strings.SplitSeq(full, "/") {
		if madeAnew[part] || madeThere[part] || ofTrial(part) {
			return
		}
	}
	a.reportSaying("destroy.store", 0.5, at, "A folder is deleted on another machine, where nothing brings it back.")
}

// storeHost is the host of the database that a client speaks to, as its words and variables say; empty where
// they name none, or one of which nothing is known. also are the other names that it is told.
func (c *invocation) storeHost() (host string, also []string) {
	for _, name := range []string{"PGHOST", "MYSQL_HOST", "REDIS_HOST"} {
		if v := c.vars[name]; v.known && v.text != "" {
			host = v.text
		}
	}
	for i := 0; i < len(c.args); i++ {
		a := c.args[i]
		option, value, joined := strings.Cut(a.text, "=")
		next := func() string {
			if joined {
				return value
			}
			if i+1 < len(c.args) {
				i++
				return c.args[i].text
			}
			return ""
		}
		switch {
		case option == "-h" || option == "--host" || option == "--hostname":
			host = next()
		case toldServer[c.name] && (option == "-S" || option == "--server"):
			host = serverHost(next())
		case strings.HasPrefix(a.text, "-h") && len(a.text) > 2 && a.text[2] != 'e' && !strings.HasPrefix(a.text, "--"):
			host = a.text[2:]
		case listed("-e -c -Q -q -f --eval --execute --command --file --query", option):
			next()
		case isSQL(a.text):
		case (strings.Contains(a.text, "://") || strings.HasPrefix(a.text, "mongodb:")) && !strings.Contains(a.text, " "):
			host = hostOf(a.text).name
			also = append(also, a.text)
		case strings.Contains(a.text, "host=") && !strings.HasPrefix(a.text, "-"):
			_, after, _ := strings.Cut(a.text, "host=")
			host = before(after, ' ')
			also = append(also, a.text)
		case c.name == "cqlsh" && !strings.HasPrefix(a.text, "-") && host == "":
			host = a.text
		case !strings.HasPrefix(a.text, "-"):
			also = append(also, a.text)
		}
	}
	return host, also
}

// storeAfar reports whether the database that a client speaks to lies on a machine that is none of one's own.
func (c *invocation) storeAfar() bool {
	if c.standsAside() || c.takesTestStores() {
		return false
	}
	host, also := c.storeHost()
	if slices.ContainsFunc(also, ofTrial) {
		return false
	}
	if host == "" || isLoopback(host) {
		return c.afar && !c.tunnelled
	}
	return strings.Contains(host, ".") && ofOthers(host)
}

// Changes of what a database holds that no undo brings back: rows, the form that they are kept in, and what is to
// go by itself after a while.
var (
	sqlChanges   = lazyregexp.New(`(?:^|[;(] )(?:delete from|merge into|update (?:only )?\S+ (?:(?:as )?\S+ )?set|alter table (?:if exists |only )*\S+ (?:engine = (?:blackhole|memory|null)|(?:alter|modify|change) (?:column )?\S+ (?:set data )?type .* using|set options \( .*expiration|modify ttl|with .*default_time_to_live|drop partition|exchange partition))\b`)
	mongoChanges = lazyregexp.New(`\.(?:deleteMany|deleteOne|updateMany|updateOne|replaceOne|remove|findOneAndDelete|findOneAndReplace|findOneAndUpdate|findAndModify|bulkWrite|renameCollection)\s*\(|expireAfterSeconds`)
	redisChanges = lazyregexp.New(`(?i)^config set maxmemory(?:$| |-policy (?:allkeys|volatile)-)`)
)

// changesStore judges that a client of a database changes there, on a machine that is none of one's own, what
// nobody takes back.
func (c *invocation) changesStore() {
	if !databaseClients[c.name] && !listed("usql pgcli mycli clickhouse trino", c.name) || !c.storeAfar() {
		return
	}
	texts := []string{c.in.text}
	for i, a := range c.args {
		if _, value, joined := strings.Cut(a.text, "="); joined && strings.HasPrefix(a.text, "--") {
			texts = append(texts, value)
			continue
		}
		if f, ok := c.getFile(a.text); ok && i > 0 && listed("-f --file", c.args[i-1].text) {
			texts = append(texts, f.text)
		}
		texts = append(texts, a.text)
	}
	does := slices.ContainsFunc(texts, func(text string) bool {
		switch {
		case c.onRedis():
			return false
		case c.name == "mongosh" || c.name == "mongo":
			return mongoChanges.MatchString(text)
		}
		return changesForGood(text)
	})
	if does || c.onRedis() && redisChanges.MatchString(strings.Join(wordsIn(c.withoutHost()), " ")) {
		c.reportSaying("destroy.store", 0.5, c.at, "What a database on another machine holds is changed or deleted, and nothing here brings it back.")
	}
}

// withoutHost are the words of a client of Redis that it tells the server.
func (c *invocation) withoutHost() []flow {
	for i := 0; i < len(c.args); i++ {
		switch t := c.args[i].text; {
		case listed("-h -p -a -n -u --user --pass -s -r -i", t):
			i++
		case !strings.HasPrefix(t, "-"):
			return c.args[i:]
		}
	}
	return nil
}

// changesForGood reports whether SQL deletes or changes rows, or what they are kept in.
func changesForGood(sql string) bool {
	if len(sql) > maxNestedText || !strings.Contains(sql, " ") {
		return false
	}
	var said strings.Builder // without what texts in it say
	for _, t := range lexSQL(sql) {
		switch t.kind {
		case 'c':
		case 's':
			said.WriteString("' ")
		default:
			said.WriteString(t.text + " ")
		}
	}
	return sqlChanges.MatchString(said.String())
}

// setsBack are words by which a machine, or a store, is set back to what it was, or told what is to go by itself.
var setsBack = set("snapshot-revert restore restorecurrent snapshot-switch rollback revertToSnapshot snapshot.revert pg:copy pg:backups:restore update query update-time-to-live")

// setsTrialBack reports whether what a command sets back, or has go by itself, is by its name what people try
// things out on.
func (c *invocation) setsTrialBack() bool {
	if !listed("virsh VBoxManage vboxmanage vmrun prlctl qm pct lxc incus multipass govc xe heroku bq aws", c.name) || !slices.ContainsFunc(c.args, func(a flow) bool { return setsBack[a.text] }) {
		return false
	}
	words := wordsIn(c.args)
	if c.name == "heroku" { // whose first database may be production, which is only read
		words = nil
		for _, v := range c.valueOf("--app", "-a", "--confirm") {
			words = append(words, v.text)
		}
	}
	return slices.ContainsFunc(words, func(w string) bool { return len(w) < 256 && ofTrial(w) }) && !slices.ContainsFunc(words, func(w string) bool { return !setsBack[w] && hasWord(w, inUse) })
}
