package guardian

import (
	"strings"
	"testing"
)

// TestTamperingEndedByOthers: the node is found by how it was started, its service by a pattern,
// its program is taken away by a package manager, and the way to it is closed.
func TestTamperingEndedByOthers(t *testing.T) {
	g, home := aGuarded(t)
	g.started = []string{home + "/bin/reeve serve --data " + home + "/.config/reeve/data --listen 127.0.0.1:8181"}
	for line := range strings.Lines(strings.TrimSpace(`
kill -TERM $(ps -C reeve -o pid=)
kill $(ps -o pid= -C reeve,reeve-hook | head -1)
ps -C reeve -o pid= | xargs kill
kill $(ps aux | awk '/re{2}ve/ {print $2}')
kill $(ps aux | awk '/serve --data/{print $2}')
ps ax -o pid,args | grep -- '--listen 127' | cut -c1-6 | xargs kill -9
ps aux | sed -n '/[s]erve --d/p' | awk '{print $2}' | xargs kill
kill $(pidof ~/bin/reeve)
kill $(lsof -t ~/bin/reeve)
kill $(lsof -tc reeve)
kill $(pgrep -f 'serve --data')
pkill -f 8181
pkill -f "serve --data"
pkill -f '^/.*/bin/re'
pkill -9 -f 'config/.*/data'
pkill --full -- --listen
pkill -TERM -f 127.0.0.1:8
pkill -v node
pkill -u nora
pkill -9 -u $USER
pkill --euid nora
killall -u nora
pkill -u nora .
pkill -u nora -f ''
pkill -u nora -g 0
pkill -u nora '.*'
pkill -u nora reeve
pkill -u nora -f 'serve --data'
pkill -f -u nora
pkill --inverse -x bash
systemctl --user stop "ree*"
systemctl --user kill -s KILL 'r??ve.service'
systemctl disable --now [r]eeve.service
systemctl --user mask 'ree*@*'
systemctl --user stop '*'
loginctl terminate-user $USER
apt-get remove -y reeve
sudo apt purge reeve
apt-get install -y reeve-
apt remove 'ree*'
dpkg -P reeve
dpkg --purge reeve
dnf remove -y reeve
rpm -e reeve
pacman -Rns --noconfirm reeve
apk del reeve
brew uninstall reeve
brew uninstall --force x/tap/reeve
brew services stop reeve
brew unlink reeve
snap remove reeve
snap disable reeve
nix-env -e reeve
npm uninstall -g reeve
pip uninstall -y reeve
xbps-remove -y reeve
choco uninstall reeve -y
winget uninstall reeve
ip link set lo down
ip link set dev lo down
sudo ifconfig lo down
ifconfig lo0 down
ifdown lo
nmcli device disconnect lo
networkctl down lo
ip addr del 127.0.0.1/8 dev lo
ip addr flush dev lo
ip route add blackhole 127.0.0.0/8
iptables -I INPUT -i lo -j DROP
iptables -A OUTPUT -o lo -p tcp -j REJECT
ip6tables -A INPUT -s ::1 -j DROP
iptables -A OUTPUT -d 127.0.0.1 -j REJECT --reject-with tcp-reset
nft 'add rule inet filter input iif "lo" drop'
ufw deny in on lo
echo 'block drop on lo0' | pfctl -f -
tc qdisc add dev lo root netem loss 100%
`)) {
		if line = strings.TrimSpace(line); len(g.Tampering(call(home+"/src/proj", "shell", "command", line), nil)) == 0 {
			t.Errorf("passes: %s", line)
		}
		if len(g.Tampering(call("", "shell", "command", line), nil)) == 0 {
			t.Errorf("passes where the folder is not known: %s", line)
		}
	}
	for line := range strings.Lines(strings.TrimSpace(`
ps -C node -o pid=
ps -C reeve -o pid,etime
ps aux | grep 'serve --data'
kill $(ps -C node -o pid=)
kill $(ps aux | awk '/vite/ {print $2}')
ps aux | grep 'next dev' | awk '{print $2}' | xargs kill
pkill -f 'next dev'
pkill -f vite
pkill -f 'python -m http.server'
pkill -f :3000
pkill -u nora -f train.py
pkill -U $USER node
killall -u nora python
kill $(pgrep -u nora -f train.py)
pkill node
pkill -x chrome
grep -n 'serve --data' README.md; server & kill $!
systemctl --user stop 'app-*'
systemctl --user status 'ree*'
systemctl list-units '*'
apt-get remove -y nginx
apt-get install -y reeve
apt-cache policy reeve
brew install reeve
brew services list
brew upgrade reeve
npm uninstall left-pad
pip uninstall -y requests
pip show reeve
dpkg -l reeve
rpm -q reeve
pacman -Q reeve
go build ./cmd/reeve
cargo remove serde
conda env remove -n shop
ip link show lo
ip addr
ip link set docker0 down
ip addr del 10.0.0.2/24 dev eth0
ifconfig lo
iptables -A INPUT -i lo -j ACCEPT
iptables -L -n
iptables -A INPUT -p tcp --dport 3306 -j DROP
nft list ruleset
ufw status
ufw allow 3000
tc qdisc add dev lo root netem delay 50ms
loginctl list-sessions
nmcli device status
`)) {
		if r := g.Tampering(call(home+"/src/proj", "shell", "command", strings.TrimSpace(line)), nil); len(r) > 0 {
			t.Errorf("is denied: %s%s", line, r[0].Message)
		}
	}
}

// TestTamperingByAgentsPrograms: the agents' own programs change their settings.
func TestTamperingByAgentsPrograms(t *testing.T) {
	g, home := aGuarded(t)
	for line := range strings.Lines(strings.TrimSpace(`
gemini hooks disable-all
gemini hooks disable reeve
gemini hooks uninstall reeve
gemini extensions disable reeve
codex features disable hooks
codex features --enable x disable codex_hooks
claude config set -g disableAllHooks true
claude config set disableAllHooks=true
claude config remove hooks
claude config set -g env.CLAUDE_CODE_SIMPLE 1
claude plugin uninstall reeve
npx @anthropic-ai/claude-code config set -g disableAllHooks true
npx -y @google/gemini-cli hooks disable-all
copilot config set disableAllHooks true
env -u X gemini hooks disable-all
sh -c 'codex features disable hooks'
`)) {
		if line = strings.TrimSpace(line); len(g.Tampering(call(home+"/src/proj", "shell", "command", line), nil)) == 0 {
			t.Errorf("passes: %s", line)
		}
	}
	for line := range strings.Lines(strings.TrimSpace(`
gemini hooks list
gemini hooks enable-all
gemini extensions list
gemini extensions disable other
gemini -p 'disable the hooks of this form'
codex features list
codex features enable hooks
codex features disable web_search
codex exec 'remove hooks'
claude config list
claude config get hooks
claude config set -g theme dark
claude config set -g verbose true
claude plugin install x@y
claude plugin uninstall other
claude -p 'disable hooks'
claude mcp remove x
`)) {
		if r := g.Tampering(call(home+"/src/proj", "shell", "command", strings.TrimSpace(line)), nil); len(r) > 0 {
			t.Errorf("is denied: %s%s", line, r[0].Message)
		}
	}
}
