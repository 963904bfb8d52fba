package hazard

import (
	"slices"
	"strings"
)

// find, and what it starts for what it finds.

// secretNames are what a search looks for when it looks for secrets.
var secretNames = []string{"id_rsa", "id_dsa", "id_ed25519", ".ssh", ".aws", ".gnupg", "credentials", "passwd", "password", "shadow", ".netrc", ".kdbx", "wallet.dat", ".pem", ".p12", ".pfx", "accesstokens", "msal_token", ".git-credentials", ".pgpass", ".htpasswd", "secret", ".ppk", ".keytab", "token", ".key", ".azure", ".env", "_history", "keychain", "private_key", "authorized_keys", ".asc", ".gpg", ".kube"}

func (c *invocation) find() flow {
	var starts []string
	k := 0
	for k < len(c.args) && !strings.HasPrefix(c.args[k].text, "-") && c.args[k].text != "(" && c.args[k].text != "!" {
		starts = append(starts, c.args[k].text)
		k++
	}
	wide := false
	for _, s := range starts {
		p := normalPath(s).text
		wide = wide || p == "/" || p == "/home" || p == "~" || p == "/root" || p == "/etc" || p == "/Users" || strings.HasPrefix(p, "/.") || strings.HasPrefix(p, "//")
	}
	out := flow{taint: fromTree}
	looks, keys := false, false
	everything := "" // what it finds, if that is everything in a wide place
	all := !filtered(c.args[k:])
	if all {
		at := starts
		if len(at) == 0 {
			at = []string{"."}
		}
		for _, s := range at {
			if c.wide(s) || holdsStores(normalPath(s).text) {
				everything = strings.TrimSuffix(s, "/") + "/*"
			}
		}
	}
	for _, s := range starts {
		if c.belongings(normalPath(strings.TrimSuffix(s, "/") + "/*").text) {
			everything = strings.TrimSuffix(s, "/") + "/*" // some of it, of what nobody else has
		}
	}
	out.text = everything
	out.taint |= c.findsAlong(starts, c.args[k:])
	for _, s := range starts { // of other work, too, what is done to it counts as done to all
		if place, kept := c.holdsWork(s, filtered(c.args[k:])); kept && !picksMadeAnew(c.args[k:]) {
			everything = place + "/*"
		}
	}
	patterns := starts
	for _, a := range c.args[k:] { // of fd, whose options stand anywhere
		if c.name == "find" || listed("-x --exec -X --exec-batch", a.text) {
			break
		}
		patterns = append(slices.Clip(patterns), a.text)
	}
	for _, s := range patterns {
		if c.holdsKeys(s) || namesSecret(normalPath(s).text) {
			out.taint |= fromSecret | fromPlace
		}
	}
	for i := k; i < len(c.args); i++ {
		t := c.args[i].text
		switch t {
		case "-perm":
			if i+1 < len(c.args) {
				m := c.args[i+1].text
				if strings.HasSuffix(m, "4000") || strings.HasSuffix(m, "2000") || strings.HasSuffix(m, "6000") || strings.Contains(m, "u=s") || strings.Contains(m, "+s") || strings.Contains(m, "g=s") {
					c.report("priv.search_setuid", 0, c.at)
				}
			}
		case "-name", "-iname", "-path", "-wholename", "-ipath", "-regex":
			if i+1 < len(c.args) {
				n := strings.ToLower(strings.Trim(c.args[i+1].text, "*/"))
				looks = looks || globbedKeys(strings.ToLower(c.args[i+1].text)) != ""
				for _, s := range secretNames {
					if n == s || len(s) > 7 && strings.Contains(n, s) || strings.HasSuffix(n, s) && (len(s) > 4 || strings.HasPrefix(s, ".")) && !strings.HasSuffix(n, "_token") {
						looks, keys = true, keys || !listed(".pem .asc .gpg", s)
					}
				}
				if namesSecret(n) || globbedKeys(strings.ToLower(c.args[i+1].text)) != "" {
					out.taint |= fromSecret | fromPlace // what it starts is given their names
				}
			}
		case "-delete":
			for _, s := range starts {
				if _, kept := c.holdsWork(s, filtered(c.args[k:])); kept && !picksMadeAnew(c.args[k:]) {
					c.report("destroy.work", 0.45, c.at)
				}
				switch {
				case !c.wide(s) || filtered(c.args[k:]) && !systemTrees[s]:
				case filtered(c.args[k:]):
					c.report("destroy.system", 0.6, c.at)
				default:
					c.report("destroy.system", 0, c.at)
				}
				if pl := placeOf(normalPath(s).text); strings.HasPrefix(pl.writes, "log.") {
					c.report(pl.writes, max(pl.write-0.1, 0.6), c.at)
				} else if all {
					c.removes(s, true, c.at) // it is what rm -r does
				}
			}
		case "-exec", "-execdir", "-ok", "-okdir", "-x", "--exec", "-X", "--exec-batch":
			end := i + 1
			for end < len(c.args) && c.args[end].text != ";" && c.args[end].text != "+" {
				end++
			}
			if args := c.args[i+1 : end]; len(args) > 0 {
				c.executes(args, starts, everything, out.taint)
				if edits := (&invocation{shell: c.shell, name: baseName(args[0].text), args: args[1:]}); edits.editsFiles() {
					for _, s := range starts {
						c.changesMany(strings.TrimSuffix(s, "/")+"/*", true)
					}
				}
				if listed("rm shred truncate unlink", baseName(args[0].text)) {
					for k := range c.args[:i] {
						if c.args[k].text == ".git" && k > 0 && c.args[k-1].text == "-name" {
							c.report("destroy.work", 0.45, c.at)
						}
					}
					if args[0].text != "rm" && slices.Contains(starts, "/") {
						c.report("destroy.system", 0.6, c.at)
					}
				}
				if looks && readers[baseName(args[0].text)] {
					c.report("secret.search", 0.85, c.at)
				}
			}
			i = end
		case "-fprintf", "-fprint", "-fls":
			if i+1 < len(c.args) {
				c.writeFile(c.args[i+1], flow{}, false)
			}
		}
	}
	if looks {
		out.taint |= fromSecret | fromPlace
		switch {
		case wide && keys:
			c.report("secret.search", 0.8, c.at)
		case wide: // certificates are called so, too
			c.report("secret.search", 0.6, c.at)
		default:
			c.report("secret.search", 0.3, c.at)
		}
	}
	return out
}

// picksMadeAnew reports whether find chooses by its name what programs make again, or leave behind.
func picksMadeAnew(args []flow) bool {
	picks := false
	for i, a := range args {
		switch a.text {
		case "-name", "-iname":
			if i+1 == len(args) {
				return false
			}
			name := strings.ToLower(args[i+1].text)
			if picks = madeAnew[args[i+1].text] || listed(leftBehind, name); !picks {
				return false
			}
		case "-not", "!":
			return false
		}
	}
	return picks
}

// leftBehind are the names of files that programs leave behind.
const leftBehind = "*.pyc *.pyo *.o *.class *.tmp *.temp *.bak *.orig *.rej *.swp *.swo *.log *~ .ds_store thumbs.db ._* *.egg-info .mypy_cache .ruff_cache .pytest_cache .ipynb_checkpoints *.tsbuildinfo npm-debug.log*"

// holdsWork reports whether a folder that is looked through holds what people made: what they keep in
// their home, all their projects, one beside that which is worked on, or what lies above it. Of folders
// that hold what is fetched, too, only all of it counts.
func (a *assessor) holdsWork(start string, chosen bool) (place string, kept bool) {
	place = normalPath(start).text
	if q := a.from(start); q != "" {
		place = normalPath(q).text
	}
	place = strings.TrimSuffix(place, "/")
	own, ok := strings.CutPrefix(place, "~/")
	low := strings.ToLower(own)
	switch {
	case !ok:
		return place, false
	case place == normalPath(a.began).text:
		return place, !chosen
	case a.began != "" && strings.HasPrefix(normalPath(a.began).text, place+"/"):
		return place, true
	}
	return place, keptFolders[low] || workFolders[low] || ownFolders[low] && !chosen || a.wholeWork(own) || a.belongings(place)
}

// filtered says whether find chooses among what it finds.
func filtered(args []flow) bool {
	for _, a := range args {
		switch a.text {
		case "-exec", "-execdir", "-ok", "-okdir", "-x", "--exec", "-X", "--exec-batch":
			return false // what stands behind belongs to the command
		case "-type", "-delete", "-depth", "-maxdepth", "-mindepth", "-xdev", "-mount", "-print", "-print0", "-H", "--hidden", "-u", "-L", "-P":
		default:
			if strings.HasPrefix(a.text, "-") {
				return true
			}
		}
	}
	return false
}

// executes judges what find runs for each file: where it begins to look is what
// the command acts upon.
func (c *invocation) executes(args []flow, starts []string, everything string, names taint) {
	name := baseName(args[0].text)
	if interpreters[name].shell && len(args) <= 2 {
		c.report("shell.escape", 0, c.at)
		return
	}
	found := flow{text: "$found", taint: names}
	if everything != "" {
		found.text = everything
	}
	for _, s := range starts {
		if pl := placeOf(normalPath(s + "/x").text); strings.HasPrefix(pl.reads, "secret.") && readers[name] {
			found.text = s + "/x"
		}
	}
	filled := make([]flow, len(args))
	named := false
	for i, a := range args {
		filled[i] = a
		if strings.Contains(a.text, "{}") {
			filled[i], named = flow{text: strings.ReplaceAll(a.text, "{}", found.text), taint: a.taint | names}, true
		}
	}
	if !named && c.name != "find" { // fd puts it at the end
		filled = append(filled, found)
	}
	if name == "rm" && len(starts) > 0 {
		for _, s := range starts {
			if pl := placeOf(normalPath(s).text); strings.HasPrefix(pl.writes, "log.") {
				c.report(pl.writes, 0.5, c.at)
			}
		}
	}
	c.invoke(filled, flow{}, c.wrap+1)
}
