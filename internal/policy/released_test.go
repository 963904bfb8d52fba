package policy

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var releasing = flag.Bool("released", false, "note the present version of the starter policy as one that a release has")

// TestReleasedStarter: include: starter@N stays what it was. A version that a release had is noted with what its
// profiles were, and is that still: to change the text, scripts/starter-next begins the next version. While
// no release has the present version its text may change, and who includes it sees that by the policy's hash.
func TestReleasedStarter(t *testing.T) {
	const file = "testdata/released.txt"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sum := func(i included) string {
		if i.version != StarterVersion {
			if _, err := starterBefore(i.profile); err != nil {
				return ""
			}
		}
		return fmt.Sprintf("%x", sha256.Sum256(i.file().Data))
	}
	noted := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if name, was, ok := strings.Cut(strings.TrimSpace(line), " "); ok && !strings.HasPrefix(line, "#") {
			noted[name] = was
		}
	}
	for _, version := range []int{StarterVersion - 1, StarterVersion} {
		for _, profile := range Profiles {
			i := included{profile, version}
			name, is := fmt.Sprintf("%s/%s@%d", starterName, profile, version), sum(i)
			switch was, ok := noted[name]; {
			case ok && was != is:
				t.Errorf("%s was in a release, and is another text now: take that back, run scripts/starter-next, and change it then", name)
			case !ok && *releasing && version == StarterVersion:
				data = fmt.Appendf(data, "%s %s\n", name, is)
			}
		}
	}
	if *releasing {
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
