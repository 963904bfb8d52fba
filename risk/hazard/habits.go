package hazard

import (
	"strings"
)

// habit is a command that endangers by itself. Every group of words must be
// among the arguments: alternatives are separated by |, * stands for anything.
type habit struct {
	commands string
	words    string
	code     string
	weight   float64 // 0 is the code's own
}

// habits are read by whoever wants to know what is objected to: one line each.
var habits = []habit{
	// Recording and protection.
	{"systemctl service rc-service launchctl", "stop|disable|mask|kill|unload rsyslog*|syslog*|auditd*|systemd-journald*|journald*|syslog-ng*|auditbeat*|filebeat*|*syslogd*", "log.stop", 0},
	{"systemctl service rc-service launchctl", "stop|disable|mask|kill|unload *falcon*|*mdatp*|*cbdaemon*|*ds_agent*|*sentinel*|*crowdstrike*|*osquery*|*wazuh*|*ossec*|*clamav*|*clamd*|*apparmor*|*selinux*|*fail2ban*|*aide*|*sophos*|*avast*|*carbonblack*|*littlesnitch*|*LittleSnitch*|*lulu*|*falco*|*tetragon*|*sysmon*", "defense.disable", 0},
	{"systemctl service rc-service", "stop|disable|mask ufw*|firewalld*|iptables*|nftables*|ip6tables*", "defense.firewall", 0},
	{"systemctl service", "stop|disable|mask cron*|crond*|sshd*|ssh|*backup*", "destroy.config", 0.5},
	{"auditctl", "-e 0", "log.stop", 0},
	{"auditctl", "-D", "log.stop", 0},
	{"auditctl", "-d|-W", "log.stop", 0.7},
	{"sysrc", "*syslogd_enable=*NO*|*auditd_enable=*NO*|*firewall_enable=*NO*", "log.stop", 0},
	{"setenforce", "0|permissive|Permissive", "defense.disable", 0},
	{"aa-teardown aa-disable", "", "defense.disable", 0.8},
	{"aa-complain", "*", "defense.disable", 0.6},
	{"spctl", "--master-disable|--global-disable", "defense.disable", 0},
	{"csrutil", "disable", "defense.disable", 0},
	{"mdatp", "*protection disabled|disable", "defense.disable", 0},
	{"mdatp", "*exclusion* add", "defense.disable", 0.7},
	{"falconctl", "*unload*|*uninstall*|-d|-f", "defense.disable", 0},
	{"iptables ip6tables", "-F|--flush", "defense.firewall", 0},
	{"iptables ip6tables", "-P ACCEPT", "defense.firewall", 0.6},
	{"iptables ip6tables", "-D|-X", "defense.firewall", 0.5},
	{"iptables ip6tables", "-A|-I|--append|--insert", "defense.firewall", 0.3},
	{"nft", "flush ruleset", "defense.firewall", 0},
	{"ufw", "disable", "defense.firewall", 0},
	{"ufw", "reset", "defense.firewall", 0.7},
	{"ufw", "logging off", "log.stop", 0.8},
	{"ufw", "delete|insert|prepend", "defense.firewall", 0.55},
	{"pfctl", "-d", "defense.firewall", 0},
	{"ipfw", "disable|flush", "defense.firewall", 0.8},
	{"firewall-cmd", "--panic-off|--set-default-zone=trusted", "defense.firewall", 0.7},
	{"sysctl", "kernel.randomize_va_space=0|kernel.yama.ptrace_scope=0|kernel.kptr_restrict=0|*dmesg_restrict=0", "defense.disable", 0.8},
	{"sysctl", "kernel.core_pattern=|kernel.core_pattern=*|kernel.modprobe=*", "code.container_escape", 0.8},
	{"journalctl", "--vacuum-time=0|--vacuum-time=1s|--vacuum-size=0|--vacuum-size=1|--vacuum-time=1", "log.clear", 0},
	{"journalctl", "--vacuum-*", "log.clear", 0.3},
	{"history", "-c", "log.history", 0.82},
	{"history", "-d|-cw|-wc", "log.history", 0.6},
	{"dmesg", "-c|-C|--clear", "log.clear", 0.45},
	{"dmesg", "-n|--console-off|-D", "log.stop", 0.3},
	{"logrotate", "-f /tmp*", "log.clear", 0.5},
	{"log", "erase", "log.clear", 0.85},
	{"killall pkill", "rsyslogd|syslogd|auditd|*falcon*|mdatp|*sentinel*|falco|osqueryd|syslog-ng|systemd-journald|cron|crond|LittleSnitch*|*sysmon*|clamd", "log.stop", 0.82},
	{"shopt", "-uo|-u history", "log.history", 0.8},
	{"auditd", "disable", "log.stop", 0},
	{"chflags", "hidden|nohidden|*immutable|schg|noschg|uchg|nouchg|sappnd|uappnd|*append", "defense.immutable", 0},
	{"xattr", "-d|-c|-rd|-cr|-r com.apple.quarantine|*", "defense.disable", 0.6},
	{"certctl", "rehash", "defense.trust", 0.6},
	{"update-ca-certificates update-ca-trust", "", "defense.trust", 0.3},
	{"security", "add-trusted-cert", "defense.trust", 0.82},

	// Rights.
	{"setcap", "*setuid*|*setgid*|*sys_admin*|*dac_*|*sys_ptrace*|*sys_module*|all*|=*ep", "priv.setuid", 0.85},
	{"setcap", "*", "priv.setuid", 0.3},
	{"getcap", "-r|-*r* /", "priv.search_setuid", 0.6},
	{"sudo", "-l|-ll", "priv.search_setuid", 0.3},
	{"passwd", "root|--stdin", "priv.password", 0.6},
	{"passwd", "-d|--delete", "priv.password", 0.75},
	{"passwd", "-l|-u|--lock|--unlock", "priv.password", 0.3},
	{"chpasswd", "", "priv.password", 0},
	{"dscl", "*create|*-create *Users*", "priv.account", 0.8},
	{"dscl", "*append* *admin*", "priv.admin_account", 0.88},
	{"dscl", "*authonly|*-authonly", "priv.brute_force", 0},
	{"dseditgroup", "-a admin", "priv.admin_account", 0.88},
	{"sysadminctl", "-addUser|-resetPasswordFor", "priv.account", 0.8},
	{"gpasswd", "-a sudo|wheel|docker|root|adm|shadow|lxd", "priv.admin_account", 0.6},
	{"chsh", "nobody|daemon|www-data|bin|games|nologin|sync", "priv.admin_account", 0.85},
	{"hydra medusa ncrack patator crowbar", "", "priv.brute_force", 0.75},
	{"john hashcat", "", "priv.brute_force", 0.5},
	{"unshadow", "", "secret.dump", 0.85},
	{"nsenter", "--target|-t 1", "code.container_escape", 0.9},
	{"nsenter", "*=1|-t1", "code.container_escape", 0.9},
	{"ldapadd ldapmodify ldapdelete", "", "priv.account", 0.6},
	{"newgrp sg", "docker|lxd|disk|root", "priv.shell", 0.5},

	// Destruction.
	{"mkfs mkfs.ext4 mkfs.ext3 mkfs.xfs mkfs.btrfs mkfs.vfat mkfs.ntfs mke2fs mkswap", "/dev/*", "destroy.format", 0},
	{"wipefs", "-a|--all|-af /dev/*", "destroy.disk", 0.7},
	{"blkdiscard hdparm nvme", "--security-erase*|format|sanitize|/dev/sd*", "destroy.format", 0.5},
	{"sgdisk", "-Z|--zap-all|-z", "destroy.disk", 0.7},
	{"cryptsetup", "luksErase|erase|luksFormat", "destroy.disk", 0.6},
	{"lvremove vgremove pvremove zpool zfs", "-f|-y|destroy", "destroy.format", 0.55},
	{"reboot shutdown poweroff halt", "", "destroy.halt", 0.35},
	{"init telinit", "0|6", "destroy.halt", 0.45},
	{"systemctl", "poweroff|reboot|halt|kexec|emergency", "destroy.halt", 0.35},
	{"tmutil", "delete*|disable*", "destroy.backup", 0.8},
	{"swapoff", "-a", "destroy.config", 0.3},
	{"kill", "-9 -1", "destroy.crash", 0.85},
	{"killall5", "", "destroy.crash", 0.85},
	{"userdel deluser", "root", "destroy.config", 0.85},
	{"aws", "terminate-instances|delete-bucket|delete-db-instance|delete-stack|delete-table|delete-trail|rb", "destroy.cloud", 0},
	{"aws", "stop-logging|delete-trail|delete-flow-logs|delete-detector|put-event-selectors|delete-log-group|delete-log-stream|delete-config-rule|stop-configuration-recorder", "log.stop", 0.85},
	{"aws", "create-access-key|create-login-profile|attach-user-policy|put-user-policy|update-assume-role-policy", "priv.account", 0.6},
	{"aws", "get-secret-value|get-password-data|get-parameters-by-path", "secret.read", 0.6},
	{"aws", "--user-data", "persist.hook", 0.5},
	{"aws", "create-launch-template", "persist.hook", 0.5},
	{"aws", "rm --recursive", "destroy.cloud", 0.5},
	{"git", "clean -f*|-d*|-x*|-X*|--force", "destroy.tree", 0.3},
	{"gcloud", "delete", "destroy.cloud", 0.45},
	{"gcloud", "sinks|logging delete|update", "log.stop", 0.7},
	{"az", "delete", "destroy.cloud", 0.45},
	{"terraform", "destroy", "destroy.cloud", 0.5},
	{"terraform", "destroy -auto-approve|--auto-approve", "destroy.cloud", 0.65},
	{"dropdb", "", "sql.destroy", 0.6},
	{"redis-cli", "flushall|FLUSHALL|flushdb|FLUSHDB", "sql.destroy", 0.75},
	{"esxcli vim-cmd", "kill|vmsvc/power.off|shutdown|off|--enabled=false|*syslog*", "destroy.halt", 0.8},

	// Code in the kernel and in other processes.
	{"insmod", "", "code.kernel_module", 0.75},
	{"insmod", "/tmp/*|/dev/shm/*|/var/tmp/*|./*|~/*", "code.kernel_module", 0.86},
	{"modprobe", "/tmp/*|*rootkit*|diamorphine|reptile", "code.kernel_module", 0.86},
	{"kextload kmutil", "", "code.kernel_module", 0.7},
	{"gcore gdb", "-p|--pid|-p*|--batch|*pid", "secret.memory", 0.6},
	{"gcore procdump", "", "secret.memory", 0.75},
	{"ldconfig", "", "code.library_hijack", 0.1},

	// Attack tools.
	{"msfconsole msfvenom meterpreter beef-xss crackmapexec netexec evil-winrm impacket-* secretsdump.py psexec.py wmiexec.py responder bettercap mimikatz mimipenguin lazagne LaZagne linpeas.sh linpeas LinEnum.sh linenum.sh pspy pspy64 chisel ligolo gsocket gs-netcat stratus merlin sliver hoaxshell villain setoolkit commix xsser routersploit weevely empire kerbrute rubeus bloodhound-python traitor deepce.sh peirates kubeletmein reptyr ptrace-inject", "", "code.attack_tool", 0},
	{"nmap masscan zmap nikto sqlmap gobuster dirb ffuf wfuzz wpscan nuclei enum4linux aircrack-ng aireplay-ng airodump-ng wifite reaver ettercap arpspoof dnsspoof", "", "code.attack_tool", 0.45},
	{"nmap", "--script=*exploit*|--script=*brute*|--interactive", "code.attack_tool", 0.75},
	{"xmrig minerd cgminer bfgminer ethminer cpuminer t-rex nbminer lolMiner", "", "code.miner", 0},
	{"tcpdump tshark dumpcap", "", "secret.sniff", 0.3},
	{"tcpdump tshark dumpcap", "-w|-w*", "secret.sniff", 0.35},
	{"xinput", "test|test-xi2", "secret.capture", 0.75},
	{"xterm uxterm", "-display|-d *:*", "shell.reverse_shell", 0.9},
	{"xspy logkeys lkl uberkey", "", "secret.capture", 0},
	{"xwd import scrot screencapture gnome-screenshot", "", "secret.capture", 0.2},
	{"pbpaste xclip xsel wl-paste", "", "secret.read", 0.15},
	{"ngrok cloudflared localtunnel lt bore frpc pagekite", "", "shell.listener", 0.5},
	{"security", "dump-keychain|find-generic-password|find-internet-password|export", "secret.dump", 0.86},
	{"secret-tool", "lookup|search", "secret.read", 0.5},
	{"keyctl", "print|read|pipe", "secret.read", 0.6},
	{"getent", "shadow|gshadow", "secret.read", 0.9},
	{"pam_tty_audit", "", "secret.capture", 0.8},
	{"ausearch aureport", "--tty|-tm|--comm", "secret.capture", 0.5},
	{"systemd-run", "--on-calendar|--on-calendar=*|--on-active*|--on-boot*|--on-unit*", "persist.cron", 0.82},
	{"systemd-run", "*", "persist.cron", 0.3},
	{"systemctl launchctl", "enable|load|bootstrap|link|start /tmp/*|/dev/shm/*|~/*|/var/tmp/*", "persist.write", 0.85},
	{"launchctl", "submit|load|bootstrap|setenv", "persist.write", 0.6},
	{"osascript", "*login?item*|*password*", "secret.capture", 0.8},
	{"update-rc.d chkconfig rc-update", "", "persist.write", 0.4},
	{"defaults", "write *loginwindow*|*LoginHook*|*LogoutHook*", "persist.write", 0.85},
	{"busybox", "sh|ash", "shell.escape", 0.6},
	{"debugfs", "*", "path.device", 0.6},
	{"date", "-s|--set|--set=*|[0-9]????????*", "log.timestamps", 0.6},
	{"timedatectl", "set-time", "log.timestamps", 0.4},
	{"hwclock", "--set|-s|--hctosys", "log.timestamps", 0.3},
	{"ccencrypt ccrypt", "*", "destroy.encrypt", 0.6},
	{"bpftool", "prog load", "code.kernel_module", 0.5},
	{"mount", "-o|--bind *bind*|*proc*|*hidepid* /proc/*", "shell.hidden_place", 0.7},
	{"mount", "--bind|-B /proc/*", "shell.hidden_place", 0.82},
	{"chown", "root|root:root|0:0|root:* /tmp/*", "priv.setuid", 0.5},
	{"export", "HISTFILE=|HISTFILE=/dev/null|HISTSIZE=0|HISTFILESIZE=0", "log.history", 0},
	{"dd", "*dev/mem*|*dev/kmem*", "secret.memory", 0.85},
}

var habitsByName = func() map[string][]parsedHabit {
	m := map[string][]parsedHabit{}
	for _, h := range habits {
		p := parsedHabit{code: h.code, weight: h.weight}
		for _, g := range strings.Fields(h.words) {
			p.groups = append(p.groups, strings.Split(g, "|"))
		}
		for _, n := range strings.Fields(h.commands) {
			m[n] = append(m[n], p)
		}
	}
	return m
}()

type parsedHabit struct {
	groups [][]string
	code   string
	weight float64
}

// habits reports what the table says about the command.
func (c *invocation) habits() {
	for _, h := range habitsByName[c.name] {
		if h.matches(c.args) {
			c.report(h.code, h.weight, c.at)
		}
	}
	c.attackTool(c.path)
}

func (h *parsedHabit) matches(args []flow) bool {
	for _, group := range h.groups {
		if !anyMatches(group, args) {
			return false
		}
	}
	return true
}

func anyMatches(group []string, args []flow) bool {
	for i, a := range args {
		if i > 256 {
			return false
		}
		for _, pattern := range group {
			if wild(pattern, a.text) {
				return true
			}
		}
	}
	return false
}

// wild matches with * for anything and ? for one character, in time of the
// product of two short lengths.
func wild(pattern, s string) bool {
	if !strings.ContainsAny(pattern, "*?") {
		return pattern == s
	}
	if len(s) > 512 {
		s = s[:512]
	}
	p, i, star, mark := 0, 0, -1, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[i]) && pattern[p] != '*':
			p++
			i++
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case star >= 0:
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// attackTools are scripts known by their names wherever they lie.
var attackTools = set("linpeas linenum autosuid les lse pspy pspy64 mimipenguin lazagne linux-exploit-suggester deepce sudo_bruteforce dirtycow dirtypipe pwnkit chisel merlin mimikatz sharphound rubeus winpeas powerview powerup nishang")

// attackTool reports scripts that are known to serve attacks.
func (s *shell) attackTool(p string) {
	name := strings.ToLower(baseName(p))
	for _, ext := range []string{".sh", ".py", ".pl", ".elf", ".ps1"} {
		name = strings.TrimSuffix(name, ext)
	}
	if attackTools[name] {
		s.report("code.attack_tool", 0, s.at)
	}
}
