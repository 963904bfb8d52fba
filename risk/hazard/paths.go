package hazard

import (
	"path"
	"strings"
	"unicode/utf8"
)

// place is a sensitive location. Reading it or writing it has a weight and a
// code; a weight of 0 says that it is ordinary.
type place struct {
	name  string // the pattern that matched; empty if none did
	read  float64
	write float64
	// reads and writes are the codes of the findings.
	reads, writes string
}

// places are the sensitive locations, the first that matches counts. ~ is any
// person's home, * is one name or a part of it, ** is any number of names.
// Paths without a leading / match at the end of any path.
var places = []struct {
	patterns string
	reads    string
	read     float64
	writes   string
	write    float64
}{
	// Public halves and examples are not secret.
	{"*.pub .env.example .env.sample .env.template", "", 0, "", 0},
	{"/dev/null /dev/stdout /dev/stderr /dev/stdin /dev/tty /dev/zero /dev/random /dev/urandom /dev/full /dev/fd/* /dev/shm/** /dev/pts/*", "", 0, "", 0},

	// Passwords and keys.
	{"/etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/master.passwd /etc/security/passwd /etc/spwd.db", "secret.read", 0.9, "priv.authentication", 0.9},
	{"/etc/passwd /etc/group /etc/passwd-", "secret.accounts", 0.35, "priv.admin_account", 0.88},
	{"~/.ssh/authorized_keys ~/.ssh/authorized_keys2 /etc/ssh/authorized_keys/**", "path.sensitive", 0.3, "persist.key", 0.88},
	{"~/.ssh/rc /etc/ssh/sshrc", "", 0, "persist.startup", 0.85},
	{"~/.ssh/config ~/.ssh/known_hosts", "path.sensitive", 0.3, "persist.hook", 0.5},
	{"~/.ssh/*", "secret.read", 0.88, "persist.key", 0.6},
	{"~/.ssh", "path.sensitive", 0.5, "persist.key", 0.5},
	{"id_rsa id_dsa id_ecdsa id_ed25519 /etc/ssh/ssh_host_*_key", "secret.read", 0.88, "persist.key", 0.6},
	{"~/.gnupg/** ~/.gnupg", "secret.read", 0.85, "persist.key", 0.5},
	{"~/.aws/credentials ~/.boto ~/.azure/** ~/.config/gcloud/** ~/.oci/** ~/.config/doctl/** ~/.terraform.d/credentials* ~/.config/gh/hosts.yml ~/.config/hub", "secret.read", 0.86, "persist.key", 0.5},
	{"~/.aws/config ~/.azure ~/.aws", "path.sensitive", 0.4, "persist.key", 0.4},
	{"~/.netrc ~/_netrc ~/.git-credentials ~/.pgpass ~/.my.cnf ~/.vault-token ~/.s3cfg ~/.htpasswd .htpasswd ~/.cargo/credentials* ~/.gem/credentials ~/.pypirc ~/.vnc/passwd ~/.smbcredentials", "secret.read", 0.85, "persist.key", 0.4},
	{"~/.docker/config.json ~/.kube/config /etc/kubernetes/admin.conf /etc/kubernetes/pki/** ~/.npmrc ~/.config/rclone/rclone.conf", "secret.read", 0.75, "persist.key", 0.4},
	{"/var/run/secrets/** /run/secrets/**", "secret.read", 0.86, "persist.key", 0.4},
	{"**/google-chrome/**/Login?Data **/google-chrome/**/Cookies **/Chrome/**/Login?Data **/Chrome/**/Cookies **/Edge/**/Login?Data Login?Data key3.db key4.db logins.json cookies.sqlite signons.sqlite ~/.mozilla/** **/Firefox/Profiles/**", "secret.read", 0.86, "", 0.3},
	{"*.kdbx wallet.dat ~/.bitcoin/** ~/.ethereum/** ~/.electrum/** ~/.password-store/** ~/.local/share/keyrings/** ~/Library/Keychains/** /Library/Keychains/**", "secret.read", 0.86, "", 0.3},
	{"/etc/krb5.keytab *.keytab /tmp/krb5cc_* /etc/ipsec.secrets /etc/wireguard/*.conf /etc/ppp/*-secrets /etc/NetworkManager/system-connections/*", "secret.read", 0.82, "priv.authentication", 0.6},
	{"/proc/*/environ", "secret.read", 0.8, "", 0},
	{"/proc/*/mem /proc/kcore /dev/mem /dev/kmem", "secret.memory", 0.85, "code.inject", 0.9},
	{".env .env.local .env.production .env.*", "path.sensitive", 0.35, "", 0.2},
	{"credentials.json credentials.xml service-account*.json *.p12 *.pfx *.jks secrets.yml secrets.yaml", "path.sensitive", 0.45, "", 0.2},
	{"/etc/ssl/private/** *.key", "path.sensitive", 0.5, "", 0.3},

	// What somebody typed, and what logs keep.
	{"~/.bash_history ~/.zsh_history ~/.sh_history ~/.history ~/.ash_history ~/.mysql_history ~/.psql_history ~/.python_history ~/.rediscli_history ~/.node_repl_history ~/.lesshst ~/.viminfo ~/.local/share/fish/fish_history ConsoleHost_history.txt ~/.zhistory ~/.sqlite_history .bash_history .zsh_history", "secret.history", 0.8, "log.history", 0.85},
	{"/var/log/wtmp /var/log/btmp /var/log/lastlog /var/run/utmp /run/utmp /var/log/audit/** /var/log/journal/** /run/log/journal/** /var/log/secure /var/log/auth.log*", "path.sensitive", 0.3, "log.clear", 0.88},
	{"/var/log/messages /var/log/syslog /var/log/kern.log /var/log/cron* /var/log/maillog /var/log/security /var/log/system.log /private/var/log/** /private/var/audit/** /var/log/faillog /var/log/tallylog /var/log/dmesg /var/log/boot.log /var/log/dpkg.log /var/log/yum.log", "", 0.1, "log.clear", 0.85},
	{"/var/log/** /var/log /private/var/log", "", 0.1, "log.clear", 0.5},
	{"/var/spool/mail/** /var/mail/**", "path.sensitive", 0.6, "log.clear", 0.82},

	// What runs by itself.
	{"/etc/crontab /etc/cron.*/** /var/spool/cron/** /var/spool/cron /etc/cron.allow /etc/anacrontab /var/at/** /var/spool/at/** /etc/cron.d", "path.sensitive", 0.25, "persist.cron", 0.85},
	{"/etc/systemd/** /lib/systemd/** /usr/lib/systemd/** /usr/local/lib/systemd/** /run/systemd/system/** ~/.config/systemd/** /etc/init.d/** /etc/init/** /etc/rc.local /etc/rc.d/** /etc/rc*.d/** /etc/inittab /usr/local/etc/rc.d/** /etc/rc.common /etc/rc.conf", "", 0, "persist.write", 0.84},
	{"/Library/LaunchAgents/** /Library/LaunchDaemons/** ~/Library/LaunchAgents/** /System/Library/LaunchDaemons/** /System/Library/LaunchAgents/** /Library/StartupItems/** /etc/emond.d/** /etc/periodic/** /Library/Security/SecurityAgentPlugins/**", "", 0, "persist.write", 0.86},
	{"/etc/profile /etc/profile.d/** /etc/bash.bashrc /etc/bashrc /etc/zshrc /etc/zsh/** /etc/zshenv /etc/zprofile /etc/csh.* /etc/skel/** /etc/environment", "", 0, "persist.startup", 0.82},
	{"~/.bashrc ~/.bash_profile ~/.bash_login ~/.bash_logout ~/.profile ~/.zshrc ~/.zshenv ~/.zprofile ~/.zlogin ~/.zlogout ~/.kshrc ~/.cshrc ~/.tcshrc ~/.login ~/.logout ~/.shrc ~/.shinit ~/.config/fish/** ~/.bash_aliases ~/.xinitrc ~/.xprofile ~/.xsessionrc ~/.xsession", "", 0, "persist.startup", 0.78},
	{"~/.config/autostart/** ~/.config/autostart-scripts/** /etc/xdg/autostart/** ~/.config/plasma-workspace/env/**", "", 0, "persist.write", 0.85},
	{"/etc/ld.so.preload", "", 0, "code.library_hijack", 0.92},
	{"/etc/ld.so.conf /etc/ld.so.conf.d/**", "", 0, "code.library_hijack", 0.6},
	{"/etc/pam.d/** /etc/pam.conf /lib/security/** /usr/lib/security/** /lib64/security/** /etc/security/** /lib/x86_64-linux-gnu/security/**", "", 0, "priv.authentication", 0.88},
	{"/etc/sudoers /etc/sudoers.d/** /usr/local/etc/sudoers /usr/local/etc/sudoers.d/** /etc/doas.conf /etc/polkit-1/** /usr/share/polkit-1/**", "path.sensitive", 0.5, "priv.sudoers", 0.9},
	{"/etc/ssh/sshd_config /etc/ssh/sshd_config.d/** /etc/ssh/** /usr/local/etc/ssh/**", "", 0, "priv.authentication", 0.8},
	{"/etc/udev/rules.d/** /lib/udev/rules.d/** /etc/update-motd.d/** /etc/apt/apt.conf.d/** /etc/dpkg/dpkg.cfg.d/** /etc/yum/pluginconf.d/** /etc/NetworkManager/dispatcher.d/** /etc/network/if-*.d/** /etc/dhcp/*-hooks.d/** /etc/modules-load.d/** /etc/modprobe.d/** /etc/acpi/** /etc/logrotate.d/** /etc/binfmt.d/** /etc/motd", "", 0, "persist.write", 0.82},
	{"sitecustomize.py usercustomize.py **/site-packages/*.pth **/dist-packages/*.pth", "", 0, "persist.hook", 0.85},
	{"**/.git/hooks/* ~/.gitconfig **/.git/config ~/.vimrc ~/.vim/** ~/.tmux.conf ~/.inputrc ~/.emacs ~/.emacs.d/**", "", 0, "persist.hook", 0.5},
	{"/etc/hosts /etc/resolv.conf /etc/nsswitch.conf /etc/hosts.allow /etc/hosts.deny", "", 0, "destroy.config", 0.55},
	{"/etc/fstab /etc/default/grub /boot/** /etc/selinux/** /etc/apparmor.d/** /etc/sysctl.conf /etc/sysctl.d/** /etc/default/**", "", 0, "destroy.config", 0.75},
	{"/etc/rsyslog.conf /etc/rsyslog.d/** /etc/syslog.conf /etc/systemd/journald.conf /etc/audit/** /etc/libaudit.conf /etc/security/audit_* /etc/syslog-ng/** /etc/auditbeat/**", "", 0, "log.stop", 0.86},
	{"/etc/ufw/** /etc/iptables/** /etc/nftables.conf /etc/firewalld/**", "", 0, "defense.firewall", 0.82},
	{"/usr/local/share/ca-certificates/** /etc/pki/ca-trust/** /etc/ssl/certs/** /usr/local/share/certs/**", "", 0, "defense.trust", 0.8},
	{"/bin/* /sbin/* /usr/bin/* /usr/sbin/* /lib/** /lib64/**", "", 0, "destroy.config", 0.6},
	{"/proc/sysrq-trigger /proc/sys/kernel/sysrq", "", 0, "destroy.crash", 0.85},
	{"/proc/sys/kernel/core_pattern /sys/fs/cgroup/**/release_agent /proc/sys/kernel/modprobe /sys/kernel/uevent_helper /proc/sys/fs/binfmt_misc/register", "path.sensitive", 0.2, "code.container_escape", 0.9},
	{"/proc/sys/kernel/randomize_va_space /proc/sys/kernel/yama/** /proc/self/oom_score_adj", "", 0, "defense.disable", 0.75},
	{"/var/run/docker.sock /run/docker.sock /run/containerd/**", "code.container_escape", 0.6, "code.container_escape", 0.7},
	{"/dev/sd* /dev/hd* /dev/vd* /dev/xvd* /dev/nvme* /dev/mmcblk* /dev/disk* /dev/rdisk* /dev/mapper/* /dev/dm-*", "path.device", 0.4, "destroy.format", 0.65},
	{"/proc/self/** /proc/version /proc/cmdline /proc/*/cmdline /proc/*/fd/** /proc/mounts", "path.sensitive", 0.2, "", 0.2},
	{"CLAUDE.md AGENTS.md .cursorrules .cursor/rules/** .github/copilot-instructions.md ~/.claude/** .mcp.json mcp.json", "", 0, "agent.instructions", 0.3},

	// Windows. Patterns are in lower case with /, drives are left out.
	{"/windows/system32/config/** /windows/ntds/** ntds.dit /windows/repair/** /windows/system32/config", "secret.dump", 0.9, "priv.authentication", 0.9},
	{"/windows/win.ini /boot.ini /windows/system.ini /winnt/win.ini /winnt/** /windows/system32/drivers/etc/hosts /windows/system32/drivers/etc/** /windows/system32/inetsrv/** /windows/debug/** /windows/iis*.log /inetpub/logs/** /windows/php.ini", "path.sensitive", 0.6, "destroy.config", 0.8},
	{"unattend.xml sysprep.inf sysprep.xml unattended.xml web.config groups.xml sitelist.xml", "path.sensitive", 0.45, "", 0.2},
	{"**/start?menu/programs/startup/** **/start?menu/programs/startup **/windowspowershell/profile.ps1 **/microsoft.powershell_profile.ps1 /windows/tasks/** /windows/system32/tasks/**", "", 0, "persist.windows", 0.86},
	{"**/microsoft/credentials/** **/microsoft/protect/** **/microsoft/vault/**", "secret.read", 0.88, "", 0.3},
	{"/windows/system32/* /windows/syswow64/* /windows/*", "", 0, "destroy.config", 0.7},
}

// placeRule is one pattern, cut at its slashes once.
type placeRule struct {
	parts []string // of the pattern; nil for one that matches a name alone
	name  string   // that it matches
	place place
}

// placeRules are the patterns in their order, and how to find those that may
// match a path without comparing it with all of them.
var placeRules, rulesByFirst, rulesByName, otherRules = func() (all []placeRule, first, name map[string][]int, other []int) {
	first, name = map[string][]int{}, map[string][]int{}
	for _, p := range places {
		for _, pattern := range strings.Fields(p.patterns) {
			r := placeRule{place: place{pattern, p.read, p.write, p.reads, p.writes}}
			low, n := strings.ToLower(pattern), len(all)
			switch {
			case strings.Contains(low, "/"):
				r.parts = strings.Split(strings.TrimPrefix(low, "/"), "/")
				if head := r.parts[0]; head[0] == '.' || strings.ContainsAny(head, "*?") {
					other = append(other, n)
				} else {
					first[head] = append(first[head], n)
				}
			case strings.ContainsAny(low, "*?"):
				r.name, other = low, append(other, n)
			default:
				r.name = low
				name[low] = append(name[low], n)
			}
			all = append(all, r)
		}
	}
	return all, first, name, other
}()

// placeOf finds what a normalized path is.
func placeOf(p string) place {
	if len(p) > 4096 || p == "" {
		return place{}
	}
	low := strings.ToLower(p)
	if i := strings.IndexByte(low, ':'); i == 1 { // a drive
		low = low[2:]
	}
	absolute := strings.HasPrefix(low, "/") || strings.HasPrefix(low, "~")
	parts := strings.Split(strings.Trim(low, "/"), "/")
	if len(parts) > 64 {
		parts = parts[len(parts)-64:]
	}
	best := len(placeRules)
	look := func(rules []int) {
		for _, n := range rules {
			if n >= best {
				return
			}
			if placeRules[n].matches(parts, absolute) {
				best = n
			}
		}
	}
	if absolute {
		look(rulesByFirst[parts[0]])
	}
	look(rulesByName[parts[len(parts)-1]])
	look(otherRules)
	if best == len(placeRules) {
		return place{}
	}
	return placeRules[best].place
}

func (r *placeRule) matches(parts []string, absolute bool) bool {
	switch {
	case r.parts == nil:
		return matchName(r.name, parts[len(parts)-1])
	case r.parts[0] == "**":
		return matchParts(r.parts, parts)
	case r.parts[0][0] == '.': // anywhere
		for k := range parts {
			if matchParts(r.parts, parts[k:]) {
				return true
			}
		}
		return false
	}
	return absolute && matchParts(r.parts, parts)
}

// matchParts matches a path's names with a pattern's. ** takes any number, at
// most two of them stand in one pattern, and paths are short.
func matchParts(pattern, names []string) bool {
	for len(pattern) > 0 {
		if pattern[0] == "**" {
			if len(pattern) == 1 {
				return true
			}
			for k := 0; k <= len(names); k++ {
				if matchParts(pattern[1:], names[k:]) {
					return true
				}
			}
			return false
		}
		if len(names) == 0 || !matchName(pattern[0], names[0]) {
			return false
		}
		pattern, names = pattern[1:], names[1:]
	}
	return len(names) == 0
}

func matchName(pattern, name string) bool {
	if pattern == "" || name == "" {
		return strings.Trim(pattern, "*") == name
	}
	// Most names differ from most patterns in their first or their last character.
	first, last := pattern[0], pattern[len(pattern)-1]
	if first != '*' && first != '?' && name[0] != first || last != '*' && last != '?' && name[len(name)-1] != last {
		return false
	}
	if !strings.ContainsAny(pattern, "*?") {
		return pattern == name
	}
	ok, _ := path.Match(pattern, name)
	return ok
}

// pathForm is a path brought to the one form that places are compared with.
type pathForm struct {
	text    string // slashes, no . or .., homes as ~
	climbs  int    // how many directories it climbs beyond where it began
	turns   int    // how many ".." there are
	encoded bool   // dots or slashes were hidden by an encoding
	broken  int    // escapes that no honest encoder writes
	odd     bool   // forms that nobody writes: "....//", "..;/", a NUL
}

// normalPath undoes encodings (as a careless server would, several times),
// backslashes and dots.
func normalPath(s string) pathForm {
	var f pathForm
	s = strings.TrimSpace(s)
	if len(s) > 16<<10 {
		s = s[:16<<10]
	}
	s = strings.TrimPrefix(s, "file://")
	plainDots := strings.Count(s, "..")
	f.broken = brokenEscapes(s)
	decoded := decodePath(s)
	if decoded != s {
		// A percent sign in an ordinary name is no attack; one that gives dots or
		// slashes is.
		if strings.Count(decoded, "..") > plainDots || plainDots > 0 && strings.Count(slashed(decoded), "/") > strings.Count(slashed(s), "/") {
			f.encoded = true
		}
		s = decoded
	}
	if i := strings.IndexByte(s, 0); i >= 0 {
		f.odd = true
		s = s[:i]
	}
	s = slashed(s)
	for _, form := range []string{"....//", "..../", ".../.", "..;/", "././.", "/...//"} {
		if strings.Contains(s, form) {
			f.odd = true
		}
	}
	if f.odd {
		s = strings.ReplaceAll(strings.ReplaceAll(s, "..;/", "../"), "....//", "../")
	}
	for strings.Contains(s, "//") && !strings.HasPrefix(s, "//") {
		s = strings.ReplaceAll(s, "//", "/")
	}
	s = homed(s)
	absolute := strings.HasPrefix(s, "/") || strings.HasPrefix(s, "~")
	var out []string
	for part := range strings.SplitSeq(s, "/") {
		switch part {
		case "", ".":
		case "..":
			f.turns++
			if len(out) > 0 {
				out = out[:len(out)-1]
			} else {
				f.climbs++
			}
		default:
			out = append(out, part)
		}
	}
	f.text = strings.Join(out, "/")
	if (absolute || f.climbs > 0) && !strings.HasPrefix(f.text, "~") {
		f.text = "/" + f.text
	}
	f.text = homed(f.text)
	return f
}

// brokenEscapes counts escapes that no honest encoder writes: of one byte in
// several, of a percent sign, of characters beyond what the standard allows, or
// of nothing at all.
func brokenEscapes(s string) int {
	n := 0
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			continue
		}
		if i+2 >= len(s) {
			break
		}
		c, d := s[i+1], s[i+2]
		hex := digitOf(c) < 16 && digitOf(d) < 16
		switch {
		case c == '%' || c == '2' && d == '5':
			n++
		case (c == 'u' || c == 'U') && i+5 < len(s) && hexRune(s[i+2:i+6]) >= 0:
			n++
		case hex && (c == 'c' || c == 'C') && (d == '0' || d == '1'):
			n++
		case hex && (c == 'f' || c == 'F' || (c == 'e' || c == 'E') && d == '0') && strings.HasPrefix(s[i+3:], "%80"):
			n++
		case hex && (c == '0' || c == '1'):
			n++
		case !hex && isAlnum(c) && isAlnum(d):
			n++
		}
	}
	return n
}

func isAlnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// targets are where traversals lead to: the directories of a system.
var targets = set("etc proc windows winnt boot.ini win.ini root dev sys inetpub autoexec.bat web-inf meta-inf .htaccess .htpasswd web.config wp-config.php .ssh .bash_history system32")

// climbsTo says whether a path climbs by strange steps to where traversals lead:
// what stands before is no name at all.
func climbsTo(s string) bool {
	parts := strings.Split(strings.Trim(slashed(s), "/"), "/")
	strange := 0
	for i, p := range parts {
		if targets[strings.ToLower(p)] || p == "var" && i+1 < len(parts) {
			return strange > 0
		}
		if strings.ContainsFunc(p, func(r rune) bool { return r < 0x80 && isAlnum(byte(r)) }) {
			return false
		}
		if p != "" && p != "." && p != "~" {
			strange++
		}
	}
	return false
}

func slashed(s string) string { return strings.ReplaceAll(s, `\`, "/") }

// homed writes any person's home as ~.
func homed(s string) string {
	for _, v := range []string{"$HOME/", "${HOME}/", "%USERPROFILE%/", "$env:USERPROFILE/"} {
		if rest, ok := strings.CutPrefix(s, v); ok {
			return "~/" + rest
		}
	}
	for _, v := range []string{"/root/", "/var/root/"} {
		if rest, ok := strings.CutPrefix(s, v); ok {
			return "~/" + rest
		}
	}
	for _, v := range []string{"/home/", "/Users/", "/usr/home/", "/export/home/", "~"} {
		if rest, ok := strings.CutPrefix(s, v); ok {
			if _, below, ok := strings.Cut(rest, "/"); ok {
				return "~/" + below
			}
		}
	}
	return s
}

// decodePath undoes percent encodings and their malformed kin: %2e, %252e,
// %c0%ae (overlong), %u002e, 0x2e, and full-width dots and slashes.
func decodePath(s string) string {
	for range 4 {
		d := decodeOnce(s)
		if d == s {
			break
		}
		s = d
	}
	return wideForms.Replace(s)
}

// wideForms are characters that some systems fold to dots and slashes.
var wideForms = strings.NewReplacer("\uff0e", ".", "\uff0f", "/", "\u2215", "/", "\u2216", `\`, "\uff3c", `\`, "\u2044", "/", "\u3002", ".", "\u2024", ".")

// overlong are byte sequences that careless decoders take for a dot or a slash.
var overlong = strings.NewReplacer(
	"\xc0\xae", ".", "\xc0\x2e", ".", "\xc0\x5e", ".", "\xc0\xee", ".", "\xc0\xfe", ".", "\xe0\x80\xae", ".", "\xe0\x40\xae", ".",
	"\xc0\xaf", "/", "\xc0\x2f", "/", "\xc1\xaf", "/", "\xe0\x80\xaf", "/", "\xc1\x9c", `\`, "\xc1\x1c", `\`, "\xc0\x5c", `\`, "\xe0\x81\x9c", `\`,
	"\xf0\x80\x80\xae", ".", "\xf0\x80\x80\xaf", "/", "\xf8\x80\x80\x80\xae", ".", "\xf8\x80\x80\x80\xaf", "/",
	"\xfc\x80\x80\x80\x80\xae", ".", "\xfc\x80\x80\x80\x80\xaf", "/", "\x80\xae", ".", "\x80\xaf", "/", "\x80\x5c", `\`)

func decodeOnce(s string) string {
	if !strings.ContainsAny(s, "%&") && !strings.Contains(s, "0x2") && !strings.Contains(s, "0x5") && !strings.Contains(s, `\u00`) && !strings.Contains(s, `\x`) && utf8.ValidString(s) {
		return s
	}
	s = pathEscapes.Replace(s)
	var b strings.Builder
	raw := false
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if (s[i+1] == 'u' || s[i+1] == 'U') && i+5 < len(s) {
				if n := hexRune(s[i+2 : i+6]); n > 0 {
					b.WriteRune(n)
					i += 5
					continue
				}
			}
			hi, lo := digitOf(s[i+1]), digitOf(s[i+2])
			if hi < 16 && lo < 16 {
				c := byte(hi<<4 | lo)
				raw = raw || c >= 0x80
				b.WriteByte(c)
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	out := b.String()
	if raw || !utf8.ValidString(out) {
		out = overlong.Replace(out)
	}
	return out
}

var pathEscapes = strings.NewReplacer("0x2e", ".", "0x2f", "/", "0x5c", `\`, "0x2E", ".", "0x2F", "/", "0x5C", `\`,
	`\u002e`, ".", `\u002f`, "/", `\u005c`, `\`, `\x2e`, ".", `\x2f`, "/", `\x5c`, `\`, "&#46;", ".", "&#47;", "/", "&sol;", "/", "&period;", ".", "%%32%65", ".", "%%32%66", "/", "%%35%63", `\`, "%%35%43", `\`, "%%32%45", ".", "%%32%46", "/", "%25", "%")

func hexRune(s string) rune {
	n := rune(0)
	for i := range len(s) {
		d := digitOf(s[i])
		if d > 15 {
			return -1
		}
		n = n<<4 | rune(d)
	}
	return n
}

// path judges a path that would be read, or written.
func (a *assessor) path(text string, writes bool, at span) {
	if len(text) > 16<<10 {
		a.starve(at)
		return
	}
	if strings.Contains(text, "\n") {
		return
	}
	f := normalPath(text)
	p := placeOf(f.text)
	if p.name == "" && f.turns > 0 {
		// How far it climbs is known where it runs only: what it ends in counts.
		p = placeOf("/" + strings.TrimLeft(f.text, "/"))
	}
	known := p.read >= 0.3 || p.write >= 0.75 && f.turns > 0
	if top := before(strings.TrimLeft(f.text, "/"), '/'); f.turns > 0 && (targets[strings.ToLower(top)] || targets[strings.ToLower(f.text[strings.LastIndexByte(f.text, '/')+1:])]) {
		known = true
	}
	decoded := decodePath(text)
	switch {
	case f.encoded && (f.turns > 0 || f.odd), f.broken >= 2:
		a.report("path.encoded", 0, at)
	case f.odd && f.turns > 0, climbsTo(decoded), strings.Contains(decoded, "\x00"):
		a.report("path.traversal", 0, at)
	case f.turns > 0 && known:
		a.report("path.traversal", 0.9, at)
	case f.climbs >= 6:
		a.report("path.traversal", 0.82, at)
	case f.climbs >= 2:
		a.report("path.climb", 0.1+0.1*float64(f.climbs), at)
	}
	if strings.Contains(f.text, "://") {
		a.url(text, at)
	}
	switch {
	case writes && p.write > 0 && p.writes != "":
		a.report(p.writes, p.write, at)
	case !writes && p.read > 0 && p.reads != "":
		a.report(p.reads, p.read, at)
	}
}
