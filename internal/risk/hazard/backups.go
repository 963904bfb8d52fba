package hazard

import (
	"slices"
	"strings"
)

// Programs that make backups, and those that keep two folders the same, put all that lies in a folder onto another
// machine. Where the call says which machine that is, a home or a folder of secrets is theirs who have it then. A
// repository that was set up before is whose it was.

// backups are programs that do so, with the words of which one says that they do now; empty for whatever they are told.
var backups = func() map[string]string {
	verbs := map[string]string{}
	for names, words := range map[string]string{
		"restic rustic duplicacy": "backup", "borg attic": "create", "kopia": "create", "bup": "save", "bupstash": "put", "mutagen": "create", "zbackup": "backup",
		"duplicity rdiff-backup unison nextcloudcmd owncloudcmd lsyncd osync fpsync bitpocket csync": "",
	} {
		for name := range strings.FieldsSeq(names) {
			verbs[name] = words
		}
	}
	return verbs
}()

// besideSources are options of such programs of which the value is no folder that is taken.
const besideSources = "-r --repo --repository --remote -p --password-file --password-command --cache-dir -e --exclude --iexclude --exclude-file --exclude-if-present --include --tag --host --hostname --username --comment -n --name --key-file --log-file --config --compression -C --parent --time --limit-upload --limit-download -ignore -path"

// backsUp judges that a backup of a home, or of a folder of secrets, is made on a machine that the call names.
func (c *invocation) backsUp() {
	verb, ok := backups[c.name]
	if !ok {
		return
	}
	c.backedUpAfar = c.backedUpAfar || c.setsUpRepository()
	if verb != "" && !c.names(verb) || c.previews() || !c.namesRepositoryAfar() {
		return
	}
	for i, a := range c.args {
		if strings.HasPrefix(a.text, "-") || a.text == verb || i > 0 && listed(besideSources, c.args[i-1].text) || afarRepository(a.text) {
			continue
		}
		taken := c.asWhole(a.text)
		if taken&fromOwn != 0 {
			c.namesHosts()
			c.reportSaying("exfil.secret", 0.6, c.at, "A whole folder of somebody's own is sent to another host.") // with what is kept in it
		}
		if taken&(fromSecret|fromSystem|fromAlong) != 0 && !(taken&(fromSecret|fromSystem) == 0 && c.near) {
			c.namesHosts()
			c.report("exfil.secret", 0.6, c.at)
			return
		}
	}
}

// setsUpRepository reports whether a program is told which repository elsewhere it works with from then on.
func (c *invocation) setsUpRepository() bool {
	return c.name == "kopia" && c.names("connect", "create") && c.names("repository", "repo") && !c.names("filesystem")
}

// namesRepositoryAfar reports whether a call says that a backup goes to another machine: in a word, in a variable
// that it sets, or by what it has set up.
func (c *invocation) namesRepositoryAfar() bool {
	if c.backedUpAfar || slices.ContainsFunc(c.args, func(a flow) bool {
		_, value, joined := strings.Cut(a.text, "=")
		return afarRepository(a.text) || joined && strings.HasPrefix(a.text, "-") && afarRepository(value)
	}) {
		return true
	}
	for name, v := range c.vars {
		if strings.Contains(name, "REPO") && afarRepository(v.text) {
			return true
		}
	}
	return false
}

// afarRepository reports whether a word names a repository on a machine that is none of one's own networks, or in
// a store of somebody's.
func afarRepository(word string) bool {
	_, login, _ := strings.Cut(word, "@")
	if at := hostOf("ssh://" + login); slices.ContainsFunc(homeNames, func(end string) bool { return strings.HasSuffix(at.name, end) }) {
		return false
	}
	if elsewhereIn(word) {
		return true
	}
	scheme, rest, ok := strings.Cut(word, ":")
	if !ok || strings.ContainsAny(scheme, "./~ ") {
		return false
	}
	if i := strings.LastIndexByte(scheme, '+'); i >= 0 {
		scheme = scheme[i+1:]
	}
	switch {
	case listed("b2 gs azure swift rclone opendal gdrive mega dpbx onedrive pydrive2 pca cf+hubic", scheme):
		return rest != ""
	case scheme == "s3":
		return hostOf(strings.TrimLeft(rest, "/")).kind() == "public"
	case scheme == "sftp" || scheme == "rest":
		return elsewhereIn(rest)
	}
	return false
}
