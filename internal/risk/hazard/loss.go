package hazard

import "strings"

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
var noResources = set(`apt apt-get aptitude yum dnf zypper pacman apk brew snap flatpak dpkg rpm pip pipx gem cargo composer go conda mamba choco winget scoop port nix nix-env asdf mise nvm pyenv rbenv
	git docker podman nerdctl docker-compose kubectl oc helm tmux screen systemctl service loginctl kind minikube k3d ssh ssh-keygen nmcli ip ufw code xattr bazel man grep curl wget
	rm rmdir mv cp find ls mkdir touch cd cat less head tail sed awk perl vim nano tee sort uniq diff wc chmod chown test jq yq echo printf export read sleep kill ps`)

// packageRunners are programs of which only a script of the project is named by such words.
var packageRunners = set("npm pnpm yarn bun poetry uv pdm")

// takesAway reports a command whose words say that it takes away what lasts.
func (c *invocation) takesAway() {
	if noResources[c.name] || tellers[c.name] {
		return
	}
	c.verbAndThing(c.args, packageRunners[c.name])
}

// verbAndThing looks at the first words of a command. joined says that the verb and the thing
// must stand in one word.
func (c *invocation) verbAndThing(args []flow, joined bool) {
	const most = 5
	takes := c.table.options[c.name].takes
	verb, weakVerb, thing, seen := false, false, "", 0 // of the word before
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
			verb, weakVerb, thing = false, false, ""
			continue
		}
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
