package guardian

import "testing"

// TestFilters: rules of packets by which the guardian is not reached at its port, by whatever form they are told.
func TestFilters(t *testing.T) {
	g, home := aGuarded(t)
	work := home + "/src/proj"
	for name, text := range map[string]string{
		"dev.nft":    "table ip devnat {\n  chain out {\n    type nat hook output priority -100;\n    oif lo tcp dport 8000-8999 redirect to :9099\n  }\n}\n",
		"set.nft":    "table inet f {\n  set dev {\n    type inet_service\n    flags interval\n    elements = {\n      22,\n      8000-8999\n    }\n  }\n  chain i {\n    type filter hook input priority 0;\n    tcp dport @dev drop\n  }\n}\n",
		"define.nft": "define dev = { 8000-8999 }\ntable inet f { chain i { type filter hook input priority 0; tcp dport $dev drop; } }\n",
		"lo.nft":     "add rule ip nat out oif lo meta l4proto tcp redirect to :9099\n",
		"rules.v4":   "*nat\n:OUTPUT ACCEPT [0:0]\n-A OUTPUT -o lo -p tcp -m multiport --dports 8000:8200,9000 -j REDIRECT --to-ports 9099\nCOMMIT\n",
		"pf.conf":    "rdr pass on lo0 inet proto tcp from any to any port 8000:8999 -> 127.0.0.1 port 9099\n",
		"fw.sh":      "#!/bin/sh\niptables -A OUTPUT -p tcp --dport 8181 -j DROP\n",
		"range.sh":   "#!/bin/sh\niptables -A OUTPUT -p tcp --dport 8000:9000 -j DROP\n",

		"host.nft":  "flush ruleset\ntable inet f {\n  chain i {\n    type filter hook input priority 0; policy drop;\n    iif \"lo\" accept\n    iifname != \"lo\" ip daddr 127.0.0.0/8 drop\n    ct state established,related accept\n    tcp dport { 22, 80, 443, 3000-3999 } accept\n    tcp dport 1024-65535 accept\n  }\n}\n",
		"host.v4":   "*filter\n:INPUT DROP [120:99999]\n:FORWARD DROP [0:0]\n-A INPUT -i lo -j ACCEPT\n-A INPUT ! -i lo -d 127.0.0.0/8 -j REJECT\n-A INPUT -p tcp --dport 22 --sport 1024:65535 -j ACCEPT\n-A INPUT -p tcp --sport 1024:65535 --dport 23 -j DROP\n-A INPUT -p tcp --dport 3000:3999 -j DROP\nCOMMIT\n",
		"web.nft":   "add rule ip nat prerouting tcp dport 80 redirect to :3000\n",
		"host.conf": "block in all\npass in proto tcp to port { 22 80 443 }\nset skip on lo0\n",
		"ports.sh":  "#!/bin/sh\niptables -A INPUT -p tcp --dport 3306 -j DROP\n",
	} {
		put(t, work+"/tools/"+name, text)
	}
	for _, c := range []string{
		"sudo nft -f tools/dev.nft", "nft -f tools/set.nft", "nft -f tools/define.nft", "nft -f tools/lo.nft", "nft --file tools/dev.nft", "nft --file=tools/dev.nft", "cd tools && sudo nft -f dev.nft", "sudo nft -cf tools/dev.nft",
		"cat > x.nft <<'E'\nadd rule ip nat out tcp dport 8000-8999 redirect to :9099\nE\nsudo nft -f x.nft", "sudo nft -f - <<'E'\nadd rule ip nat out tcp dport 8100-8200 redirect to :9099\nE", "cat tools/dev.nft | sudo nft -f -", "sudo nft -f /dev/stdin < tools/dev.nft",
		"sudo nft add rule ip nat output tcp dport 8000-8999 redirect to :9099", "sudo nft 'add rule ip nat output tcp dport { 22, 8000-8999 } redirect to :9099'", "sudo nft add rule inet f o tcp dport '>= 1024' drop", "sudo nft add rule ip nat out oif lo tcp dport != 22 redirect to :9099",
		"sudo iptables -t nat -A OUTPUT -o lo -p tcp --match multiport --dports 8000:8200 -j REDIRECT --to-ports 9099", "sudo iptables -A OUTPUT -p tcp --dport 8181 -j DROP", "sudo iptables -A OUTPUT -p tcp --dport 1024: -j DROP", "sudo iptables -A OUTPUT -p tcp -m multiport --dports 22,8000:9000 -j REJECT",
		"sudo iptables -t nat -A OUTPUT -o lo -p tcp -j REDIRECT --to-ports 9099", "sudo iptables -t nat -A OUTPUT -d 127.0.0.1 -p tcp ! --dport 22 -j DNAT --to-destination 127.0.0.1:9099", "sudo ip6tables -A OUTPUT -p tcp --dport 8000:9000 -j DROP", "sudo iptables-legacy -A OUTPUT -p tcp --dport 8000:9000 -j DROP",
		"sudo iptables-restore tools/rules.v4", "sudo iptables-restore -n < tools/rules.v4", "cat tools/rules.v4 | sudo iptables-restore", "sudo iptables-restore <<'E'\n*filter\n-A OUTPUT -p tcp --dport 8000:8999 -j DROP\nCOMMIT\nE",
		"sudo ipvsadm -A -t 127.0.0.1:8181 -s rr && sudo ipvsadm -a -t 127.0.0.1:8181 -r 127.0.0.1:9099 -m", "sudo pfctl -ef tools/pf.conf", "echo 'rdr pass on lo0 proto tcp to port 8000:8999 -> 127.0.0.1 port 9099' | sudo pfctl -ef -",
		"sudo ufw deny 8000:8999/tcp", "sudo ufw deny out 8181", "sudo ipfw add fwd 127.0.0.1,9099 tcp from any to any dst-port 8000-8999", "netsh interface portproxy add v4tov4 listenport=8181 listenaddress=127.0.0.1 connectport=9099", "New-NetFirewallRule -DisplayName x -Direction Outbound -LocalPort 8000-8999 -Protocol TCP -Action Block",
		"sh tools/fw.sh", "sudo sh tools/range.sh", "./tools/range.sh",
	} {
		if len(g.Tampering(call(work, "shell", "command", c), nil)) == 0 {
			t.Errorf("passes: %s", c)
		}
	}
	for _, c := range []string{
		"sudo nft -f tools/host.nft", "sudo nft -f tools/web.nft", "sudo nft -f not-there.nft", "sudo nft list ruleset", "sudo nft add rule inet f i tcp dport 3000-3999 accept", "sudo nft add rule inet f i tcp dport 3306 drop",
		"sudo iptables-restore < tools/host.v4", "sudo iptables-restore tools/host.v4", "sudo iptables -L -n -v", "sudo iptables -A INPUT -p tcp --dport 3000:3999 -j DROP", "sudo iptables -t nat -A PREROUTING -p tcp --dport 80 -j REDIRECT --to-port 3000", "sudo iptables -t nat -A OUTPUT -o lo -p tcp --dport 80 -j REDIRECT --to-port 3000",
		"sudo iptables -A INPUT -p tcp --sport 1024:65535 --dport 22 -j REJECT", "sudo iptables-save > rules.v4", "sudo pfctl -f tools/host.conf", "sudo pfctl -s rules", "sudo ufw allow 3000:3999/tcp", "sudo ufw deny 3306", "sudo ipvsadm -L -n", "sudo firewall-cmd --add-port=3000-3999/tcp",
		"netsh interface portproxy show all", "sh tools/ports.sh", "cat tools/dev.nft", "grep -n dport tools/rules.v4", "nft -c -f tools/host.nft",
	} {
		if r := g.Tampering(call(work, "shell", "command", c), nil); len(r) > 0 {
			t.Errorf("stopped: %s: %s", c, r[0].Message)
		}
	}
}
