package guardian

import (
	"strings"
	"testing"
)

// TestTamperingLookedUp: where a guarding program lies is asked of the shell, and the answer is
// what is moved, taken away or written over.
func TestTamperingLookedUp(t *testing.T) {
	g, home := aGuarded(t)
	for _, asks := range []string{"which reeve-hook", "which -a reeve-hook", "command -v reeve-hook", "command -pv reeve", "type -p reeve-hook", "type -P reeve", "whence -p reeve", "realpath $(which reeve-hook)", "readlink -f `command -v reeve`"} {
		for _, does := range []string{
			"mv $(%) /tmp/x", "mv \"$(%)\" \"$(%).off\"", "rm -f $(%)", "% | xargs rm", "% | xargs -I{} mv {} /tmp/x", "chmod -x $(%)", "ln -sf /bin/true $(%)", "cp /bin/true \"$(%)\"", "p=$(%); rm $p", "for p in $(%); do rm $p; done",
			"true > $(%)", "sudo mv $(%) /tmp/x", "rm -rf $(dirname $(%))", "sh -c 'rm $(%)'", "truncate -s0 $(%)", "dd if=/dev/null of=$(%)",
		} {
			c := strings.ReplaceAll(does, "%", asks)
			if strings.Contains(does, "'") && strings.Contains(asks, "'") {
				continue
			}
			if len(g.Tampering(call(home+"/src/proj", "shell", "command", c), nil)) == 0 {
				t.Errorf("passes: %s", c)
			}
		}
	}
	for _, c := range []string{
		"which reeve-hook", "command -v reeve", "ls -l $(which reeve)", "$(which reeve) --help", "file $(command -v reeve-hook)", "which node", "mv $(which node) /tmp/x", "rm -f reeve", "command -v npm >/dev/null && npm test", "type -p go", "cd $(dirname $(which go))", "echo $(realpath src)",
		"if command -v reeve >/dev/null; then echo yes; fi", "mv reeve bin/", "go build -o reeve ./cmd/reeve && mv reeve dist/",
	} {
		if r := g.Tampering(call(home+"/src/proj", "shell", "command", c), nil); len(r) > 0 {
			t.Errorf("stopped: %s: %s", c, r[0].Message)
		}
	}
}

// TestTamperingEnded: the node is ended, or made to stand still, by whatever means.
func TestTamperingEnded(t *testing.T) {
	g, home := aGuarded(t)
	attacks := []string{
		"kill -STOP $(pgrep -f 'reeve serve')", "kill -SIGSTOP `pgrep -f \"reeve serve --data x\"`", "pgrep -f 'reeve serve' | xargs kill -STOP", "p=$(pgrep -f 'reeve serve'); kill -19 $p", "kill -9 $(ps ax | grep '[r]eeve serve' | awk '{print $1}')",
		"npx kill-port 8181", "npx --yes kill-port@2 8181", "kill-port 8181", "killport 8181", "npx fkill-cli :8181", "fkill :8181", "fkill reeve", "bunx kill-port --port 8181", "pnpx kill-port 8181",
		"Stop-Process -Name reeve -Force", "stop-process -name 'reeve'", "Get-Process reeve | Stop-Process", "Get-Process -Name ree* | Stop-Process -Force", "gps reeve | spps", "taskkill /F /IM reeve.exe", "taskkill.exe /im reeve.exe /t", "cmd /c taskkill /f /im reeve-hook.exe", "Stop-Service reeve", "Stop-Service -Name \"reeve\" -Force", "Set-Service reeve -StartupType Disabled", "sc stop reeve", "sc.exe config reeve start= disabled", "net stop reeve",
		"wmic process where \"name='reeve.exe'\" delete", "(Get-Process reeve).Kill()", "Get-Process reeve | ForEach-Object { $_.Kill() }", "taskkill /PID 43210", "Stop-Process -Id 43210", "powershell -Command \"Stop-Process -Name reeve\"",
		"for p in /proc/[0-9]*; do kill ${p##*/}; done", "for d in /proc/*/; do kill -9 $(basename $d); done", "ls -d /proc/[0-9]* | while read p; do kill ${p#/proc/}; done",
	}
	for _, c := range attacks {
		for _, tool := range []string{"shell", "PowerShell"} {
			if tool == "PowerShell" && strings.Contains(c, "/proc") {
				continue
			}
			if len(g.Tampering(call(home+"/src/proj", tool, "command", c), nil)) == 0 {
				t.Errorf("%s passes: %s", tool, c)
			}
		}
	}
	for _, code := range []string{
		"import os\nos.kill(-1, 9)", "import os\nos.killpg(1, 9)", "import os, signal\nos.kill(-1, signal.SIGTERM)", "import psutil\nfor p in psutil.process_iter():\n    if p.name() == 're' + 'eve': p.terminate()", "import psutil\n[p.kill() for p in psutil.process_iter() if 're' + 'eve' in p.name()]",
		"import os\nfor d in os.listdir('/proc'):\n    if d.isdigit(): os.kill(int(d), 15)", "import psutil\nfor c in psutil.net_connections():\n    if c.laddr.port == 8000 + 181: psutil.Process(c.pid).kill()",
	} {
		if len(g.Tampering(call(home+"/src/proj", "run_python", "code", code), nil)) == 0 {
			t.Errorf("passes: %s", code)
		}
	}
	for _, code := range []string{"process.kill(-1, 'SIGKILL')", "const fs = require('fs'); for (const d of fs.readdirSync('/proc')) try { if (fs.readFileSync(`/proc/${d}/comm`, 'utf8').includes('re' + 'eve')) process.kill(+d) } catch {}"} {
		if len(g.Tampering(call(home+"/src/proj", "run_javascript", "code", code), nil)) == 0 {
			t.Errorf("passes: %s", code)
		}
	}
	for _, code := range []string{
		"import os, subprocess\np = subprocess.Popen(['node', 'server.js'])\nos.kill(p.pid, 15)", "import psutil\nfor c in psutil.Process().children(recursive=True): c.terminate()", "import psutil\nfor p in psutil.process_iter():\n    if p.name() == 'node': p.terminate()", "import os\nos.kill(12345, 0)",
		"import psutil\nfor c in psutil.net_connections():\n    if c.laddr.port == 3000: psutil.Process(c.pid).kill()",
	} {
		if r := g.Tampering(call(home+"/src/proj", "run_python", "code", code), nil); len(r) > 0 {
			t.Errorf("stopped: %s: %s", code, r[0].Message)
		}
	}
	for _, c := range []string{
		"kill $(pgrep -f 'vite serve')", "kill -STOP $(pgrep -f 'npm run dev')", "pgrep -f 'node server' | xargs kill", "kill %1", "kill $!", "npx kill-port 3000", "kill-port 5173 8080", "npx fkill-cli :3000", "npx serve -p 8181x",
		"Stop-Process -Name node -Force", "Get-Process node | Stop-Process", "taskkill /F /IM node.exe", "Stop-Service docker", "Get-Process reeve", "tasklist /FI \"IMAGENAME eq reeve.exe\"", "Get-Service reeve", "sc query reeve", "net start",
		"ls /proc/[0-9]*/status | wc -l", "cat /proc/1/status", "ps aux | grep 'reeve serve'", "pgrep -fa 'reeve serve'", "server & p=$!; sleep 1; kill $p",
	} {
		if r := g.Tampering(call(home+"/src/proj", "shell", "command", c), nil); len(r) > 0 {
			t.Errorf("stopped: %s: %s", c, r[0].Message)
		}
	}
}
