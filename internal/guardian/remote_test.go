package guardian

import (
	"os"
	"path/filepath"
	"testing"
)

// TestElsewhere: the whole of a home on another machine is none of this one's; what names the guardian's files,
// or a machine that may be this one, is.
func TestElsewhere(t *testing.T) {
	g, home := aGuarded(t)
	if err := os.MkdirAll(filepath.Join(home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".ssh", "config"), []byte("Host gw\n  HostName gw.birch.example\nHost me\n  HostName 127.0.0.1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	work := home + "/src/shop"
	for line, tampers := range map[string]bool{
		"ssh pi@gw-test.local 'tar xf gw.tar.gz -C ~'":          false,
		"ssh pi@gw-test.local 'cd ~ && tar xf gw.tar.gz'":       false,
		"ssh gw 'chown -R pi:pi ~'":                             false,
		"ssh pi@gw-test.local 'tar czf /tmp/b.tgz ~'":           false,
		"ssh pi@gw-test.local 'rm -rf ~/.config'":               false,
		"ssh pi@gw-test.local 'rm -rf ~/.config/reeve'":         true,
		"ssh localhost 'tar xf gw.tar.gz -C ~'":                 true,
		"ssh me 'tar xf gw.tar.gz -C ~'":                        true,
		"ssh dev@127.0.0.1 'rm -rf ~/.config'":                  true,
		"ssh -o HostName=localhost gw 'rm -rf ~/.config'":       true,
		"ssh -o ProxyCommand=x gw 'rm -rf ~/.config'":           true,
		"ssh gw true; rm -rf ~/.config":                         true,
		"ssh gw \"$(rm -rf ~/.config)\"":                        true,
		"docker exec dev sh -c 'rm -rf ~/.config'":              true,
		"ssh gw 'reeve approvals approve abc'":                  true,
		"rsync -a ~/ /mnt/backup/home/":                         true,
		"tar xf /tmp/sdk.tar.xz -C ~/":                          true,
		"tar xf /tmp/sdk.tar.xz -C ~/opt":                       false,
		"rsync -a --delete empty/ ~/.config/":                   true,
		"rsync -a --remove-source-files ~/.config/ /mnt/backup": true,
	} {
		if got := len(g.Tampering(call(work, "shell", "command", line), nil)) > 0; got != tampers {
			t.Errorf("%s: %v, want %v", line, got, tampers)
		}
	}
}
