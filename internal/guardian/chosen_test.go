package guardian

import (
	"strings"
	"testing"
)

// TestTamperingChosen: who ends processes by their user ends the guardian's where nothing else is
// asked of them, and on this machine only.
func TestTamperingChosen(t *testing.T) {
	g, home := aGuarded(t)
	g.started = []string{home + "/bin/reeve serve --data /home/nora/.config/reeve/data --listen 127.0.0.1:8181"}
	g.host = "laptop.own.example"
	for line := range strings.Lines(strings.TrimSpace(`
pkill -u nora
pkill -9 -u nora
pkill -unora
pkill -U 1000
pkill -KILL -G staff
pkill --euid nora
pkill --euid=nora --signal KILL
pkill --uid $UID
pkill -u nora ''
pkill -u nora .
pkill -u nora '.*'
pkill -u nora -f '^'
pkill -u nora ree
pkill -u nora -f 'serve --data'
pkill -f -u nora -- serve
pkill -fu nora 8181
pkill -u nora -v node
pkill -vu nora node
pkill -u nora --inverse node
killall -u nora
killall -9 -u nora
killall -u nora -s KILL
killall --user nora --signal TERM
killall -u nora reeve
killall -r -u nora 'ree.*'
kill $(pgrep -u nora)
pgrep -u nora | xargs kill -9
p=$(pgrep -U 1000); kill $p
kill $(pgrep -u nora -f 'serve --data')
sudo pkill -u nora
env X=1 killall -u nora
sh -c 'pkill -u nora'
ssh localhost killall -u nora
ssh -p 22 127.0.0.1 'pkill -u nora'
ssh laptop pkill -u nora
ssh me@laptop.own.example "pkill -u nora"
ssh ::1 pkill -u nora
ssh $(hostname) pkill -u nora
ssh "$H" pkill -u nora
ssh localhost -p 22 killall -u nora
ssh -o HostName=localhost gpu01 killall -u nora
ssh -o ProxyCommand='pkill -u nora' gpu01
ssh -F /tmp/c gpu01 killall -u nora
ssh gpu01 true; pkill -u nora
ssh gpu01 "$(pkill -u nora)"
ssh gpu01 pkill reeve
docker exec --privileged api nsenter -t 1 -a pkill -u nora
docker exec reeve-node pkill -u app
`)) {
		if line = strings.TrimSpace(line); len(g.Tampering(call(home+"/src/proj", "shell", "command", line), nil)) == 0 {
			t.Errorf("passes: %s", line)
		}
	}
	for line := range strings.Lines(strings.TrimSpace(`
ssh gpu01 "pkill -u nora -f train.py"
ssh gpu01 killall -u nora
ssh me@gpu01.lab.example 'pkill -u nora'
ssh -p 2222 -i k gpu01 "killall -9 -u nora python"
pkill -u nora -f train.py
pkill -9 -u $USER -f 'next dev'
pkill -f train.py -u nora
pkill -u nora python
pkill --euid nora jupyter
pkill -n -u nora node
killall -u nora python
killall -u nora -s KILL python node
docker exec api pkill -u app -f x
docker exec -u root api pkill -u app
docker compose exec web killall -u www-data
kubectl exec -n shop deploy/api -- pkill -u app
kill $(pgrep -u nora -f train.py)
pgrep -u nora -f train.py | xargs kill
pgrep -u nora -c python
pgrep -u nora
pgrep -lu nora
pkill -USR1 -x gunicorn
pkill -HUP -f 'celery worker'
pkill -P $$
pkill -t pts/3
`)) {
		if r := g.Tampering(call(home+"/src/proj", "shell", "command", strings.TrimSpace(line)), nil); len(r) > 0 {
			t.Errorf("is denied: %s: %s", strings.TrimSpace(line), r[0].Message)
		}
	}
}

// TestTamperingNewFolder: what mktemp makes holds no program of the guardian's, wherever that lies; what
// only looks like it may.
func TestTamperingNewFolder(t *testing.T) {
	g := New(Node{Home: "/home/oda", Programs: []string{"/tmp/bin/reeve", "/tmp/bin/reeve-hook"}})
	for _, c := range []string{
		`T=$(mktemp -d) && cp a "$T" && rm -rf "$T"`, `t=$(/usr/bin/mktemp -d); trap 'rm -rf "$t"' EXIT`, `d=$(mktemp -d) ; cd "$d" && touch x && cd - && rm -rf "$d"`, `f=$(mktemp) && rm -f $f`, `rm -rf "$(mktemp -d)"`,
	} {
		if r := g.Tampering(call("/home/oda/src", "shell", "command", c), nil); len(r) > 0 {
			t.Errorf("is denied: %s: %s", c, r[0].Message)
		}
	}
	for _, c := range []string{
		`T=$(mktemp -d) && rm -rf "$T"/../bin`, `T=$(mktemp -d); rm -rf "$(dirname "$T")"/bin`, `mktemp() { echo /tmp/bin; }; rm -rf $(mktemp -d)`, `read mktemp <<< bin; rm -rf /tmp/$mktemp`, `rm -rf $(/tmp/x/mktemp -d)`, `PATH=/tmp/x:$PATH; rm -rf $(mktemp -d)`, `rm -rf /tmp/$T`, `rm -rf /tmp/*`, `T=$(mktemp -d); rm -rf /tmp/bin`,
	} {
		if len(g.Tampering(call("/home/oda/src", "shell", "command", c), nil)) == 0 {
			t.Errorf("passes: %s", c)
		}
	}
}
