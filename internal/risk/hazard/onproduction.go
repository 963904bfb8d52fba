package hazard

import (
	"slices"
	"strings"
)

// What runs on a machine that people use is judged by whether it only looks. Which programs change
// something there is a list without an end, so it is the other one that stands here: those that show
// files, processes and states, and of programs with verbs the verbs that look. Of what is in neither list
// nobody can say that it leaves the machine as it was.

// onlyShow are programs that change nothing, whatever they are told but for what stands in changesThere.
var onlyShow = set(`cat tac head tail less more nl sort uniq cut grep egrep fgrep rg ag zgrep zcat zless bzcat xzcat tr strings od xxd hexdump base64 column fold fmt rev paste wc jq yq diff cmp comm file stat ls dir eza tree test [ [[
	which type whereis command realpath readlink basename dirname du df free uptime uname hostname hostnamectl id whoami groups who w last lastlog date env printenv ps pgrep pstree top htop atop vmstat iostat mpstat pidstat sar netstat ss lsof ifconfig ping ping6 dig nslookup host traceroute tracepath mtr whois
	md5sum sha1sum sha256sum sha512sum b2sum cksum echo printf true false : pwd cd sleep seq expr lscpu lsblk lsmem lspci lsusb lsmod lsns findmnt getent locale nproc arch getconf ulimit history man help exit return wait tput tty logname finger numfmt cal bc look
	pg_dump pg_dumpall mysqldump mariadb-dump mongodump nvidia-smi sensors smartctl blkid dpkg-query rpmquery lsb_release timedatectl loginctl resolvectl networkctl sysctl journalctl dmesg crontab set export local declare read`)

// verbed are programs of which the first plain word says whether they only look, beside those of looking.
var verbed = map[string]string{
	"systemctl": "is-active is-enabled is-failed list-units list-unit-files list-timers list-sockets list-dependencies cat --failed", "service": "*", "docker": "*", "podman": "*", "nerdctl": "*", "docker-compose": "ps logs top images port config", "kubectl": "*", "pm2": "list ls l jlist prettylist monit id pid", "supervisorctl": "avail pid",
	"git": "rev-parse rev-list ls-files ls-remote ls-tree remote shortlog blame name-rev cat-file reflog grep for-each-ref", "nginx": "", "apachectl": "configtest fullstatus", "apache2ctl": "configtest fullstatus", "caddy": "environ", "rabbitmqctl": "list_queues list_connections list_channels report cluster_status", "redis-cli": "", "consul": "members", "nomad": "node job alloc", "ufw": "", "fail2ban-client": "", "certbot": "certificates",
	"apt": "policy", "apt-cache": "policy madison depends rdepends", "dpkg": "-l -L -s -S", "rpm": "-q -qa -qi -ql", "yum": "", "dnf": "", "snap": "", "pip": "freeze", "pip3": "freeze", "gem": "", "npm": "", "ip": "addr a address link route r neigh", "openssl": "x509 s_client verify req rsa ciphers", "mysqladmin": "processlist extended-status", "haproxy": "", "php": "", "lvs": "", "vgs": "", "pvs": "", "iptables": "-L -S -nL -nvL -vnL -Ln", "ip6tables": "-L -S -nL", "nft": "", "virsh": "dominfo domstats", "zpool": "iostat", "zfs": "", "restic": "snapshots", "borg": "",
}

// changesThere reports whether a command, which runs on a machine that people use, may do more than look.
func (c *invocation) changesThere() bool {
	if !c.other {
		return false
	}
	_, wraps := c.table.options[c.name]
	switch {
	case wraps && c.table.options[c.name].wraps >= 0, interpreters[c.name].shell, shellWords[c.name]: // what they run is judged by itself
		return false
	case len(c.args) == 1 && listed("--version -v -V -version --help -h version help", c.args[0].text):
		return false
	case c.name == "find" || c.name == "fd":
		return c.names("-delete", "-exec", "-execdir", "-ok", "-fprint", "-fprintf", "-fls", "-x", "-X", "--exec")
	case c.name == "sed" || c.name == "awk" || c.name == "gawk" || c.name == "perl" && c.names("-ne"):
		return slices.ContainsFunc(c.args, func(a flow) bool {
			return strings.HasPrefix(a.text, "-i") || strings.HasPrefix(a.text, "--in-place") || strings.Contains(a.text, "system(") || strings.Contains(a.text, "inplace") || strings.Contains(a.text, "unlink")
		})
	case c.name == "tee":
		return slices.ContainsFunc(c.args, func(a flow) bool { return !strings.HasPrefix(a.text, "-") && !passingFile(a.text) })
	case c.name == "curl" || c.name == "wget" || c.name == "http":
		return c.asksMore()
	case c.name == "tar": // into what is read here
		first := strings.TrimLeft(c.joined(c.args[:min(1, len(c.args))]).text, "-")
		return !strings.ContainsAny(first, "ct") || strings.Contains(first, "x") || strings.Contains(first, "f") && !strings.Contains(first, "t") && !c.names("-")
	case c.name == "crontab":
		return !c.names("-l")
	case c.name == "sysctl":
		return slices.ContainsFunc(c.args, func(a flow) bool { return strings.Contains(a.text, "=") || listed("-w -p --write --load", a.text) })
	case c.name == "journalctl" || c.name == "dmesg":
		return slices.ContainsFunc(c.args, func(a flow) bool {
			return strings.HasPrefix(a.text, "--vacuum") || listed("--rotate --flush --sync -C -c --clear --read-clear -D -E -n", a.text) && c.name == "dmesg" || a.text == "--rotate" || a.text == "--flush"
		})
	case c.name == "hostname" || c.name == "hostnamectl" || c.name == "timedatectl" || c.name == "date":
		return slices.ContainsFunc(c.args, func(a flow) bool {
			return strings.HasPrefix(a.text, "set-") || listed("-s --set -F --file", a.text) || c.name == "hostname" && !strings.HasPrefix(a.text, "-")
		})
	case onlyShow[c.name]:
		return false
	case databaseClients[c.name] && !c.onRedis():
		own := *c
		own.args = append([]flow{{text: "-h", known: true}, {text: "production", known: true}}, c.args...)
		return own.queriesProduction()
	case c.onRedis():
		words := wordsIn(c.args)
		return len(words) > 0 && !redisLooks[strings.ToLower(words[0])]
	}
	if _, ok := verbed[c.name]; ok {
		return !c.onlyLooksByVerb()
	}
	if len(c.table.elsewhere[c.name]) > 0 && len(c.ownWords()) < len(c.args) {
		return false // what it runs there is judged by itself
	}
	return true
}

// onlyLooksByVerb reports whether the verb of a command is one that looks.
func (c *invocation) onlyLooksByVerb() bool {
	also, args := verbed[c.name], c.args
	if listed("docker podman nerdctl", c.name) {
		if args, _ = c.ofDaemon(); len((&invocation{shell: c.shell, name: c.name, args: args}).inContainer()) > 0 {
			return true // what runs in it is judged by itself
		}
	}
	words := wordsIn(args)
	switch c.name {
	case "nginx", "haproxy", "php":
		return slices.ContainsFunc(c.args, func(a flow) bool { return listed("-t -T -v -V -c -m -i -l", a.text) }) && !c.names("-s", "-r")
	case "service":
		return len(words) < 2 || words[1] == "status"
	case "lvs", "vgs", "pvs":
		return true
	case "ip":
		return len(words) < 2 || !slices.ContainsFunc(words[1:], func(w string) bool {
			return listed("add del delete set flush replace change up down", w)
		})
	case "git":
		if c.names("-d", "-D", "-f", "add", "set-url", "remove") {
			return false
		}
	}
	for i, a := range args {
		if listed(also, a.text) || i < 1 && listed("-l -L -s -S -q -qa -qi -ql --failed --list", a.text) {
			return true
		}
	}
	words = slices.DeleteFunc(words, func(w string) bool { return strings.HasPrefix(w, "/") })
	words = words[:min(len(words), 3)]
	for i, w := range words {
		parts := strings.FieldsFunc(strings.ToLower(w), func(r rune) bool { return r == '-' || r == ':' || r == '_' })
		switch {
		case slices.ContainsFunc(parts, func(p string) bool { return alters[p] || toData[p] }):
			return false
		case listed(also, w), lookingToo[w], slices.ContainsFunc(parts, func(p string) bool {
			return looking[p] && !listed("build make compile generate pull fetch test tests precompile init", p)
		}):
			return true
		case i == 0 && !grouping[w]:
			return false
		}
	}
	return len(words) == 0
}

// asksMore reports whether a client of HTTP is told to do more than to ask for something and show it.
func (c *invocation) asksMore() bool {
	for i, a := range c.args {
		option := before(a.text, '=')
		switch {
		case listed("-X --request --method", c.optionOf(i)):
			if value := a.text[strings.IndexByte(a.text, '=')+1:]; !listed("GET HEAD OPTIONS", strings.ToUpper(value)) {
				return true
			}
		case listed("-d --data --data-raw --data-binary --data-urlencode --json -F --form -T --upload-file --post-data --post-file -O --remote-name", option):
			return !(c.name == "wget" && option == "-O" && i+1 < len(c.args) && passingFile(c.args[i+1].text))
		case listed("-o --output", option) && c.name == "curl" && i+1 < len(c.args) && !passingFile(c.args[i+1].text):
			return true
		case strings.HasPrefix(a.text, "-X") && len(a.text) > 2 && !listed("GET HEAD OPTIONS", a.text[2:]):
			return true
		}
	}
	return c.name == "wget" && !slices.ContainsFunc(c.args, func(a flow) bool {
		return strings.HasPrefix(a.text, "-") && strings.Contains(a.text, "O") || a.text == "--spider"
	})
}

// passingFile reports whether what is written to a file leaves a machine as it was.
func passingFile(name string) bool {
	return strings.HasPrefix(name, "/dev/") || strings.HasPrefix(name, "&") || name == "-" || temporary(normalPath(name).text)
}
