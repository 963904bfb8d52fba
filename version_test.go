package reeve

import (
	"runtime/debug"
	"testing"
)

// TestVersion: only what was built from a tag, unchanged, says that it is that version.
func TestVersion(t *testing.T) {
	const path, dev = "reeve.example/reeve", next + "-dev"
	for _, c := range []struct{ main, dep, want string }{
		{"v1.2.3", "", "1.2.3"},
		{"v1.3.0-rc.1", "", "1.3.0-rc.1"},
		{"v1.2.3+dirty", "", dev},
		{"v1.2.4-0.20261122143359-d9b2ed46a45c", "", dev},
		{"v0.0.0-20261122143359-d9b2ed46a45c+dirty", "", dev},
		{"(devel)", "", dev},
		{"", "", dev},
		{"v9.9.9", "v1.2.3", "1.2.3"}, // in another module's program
	} {
		info := &debug.BuildInfo{Main: debug.Module{Path: path, Version: c.main}}
		if c.dep != "" {
			info.Main.Path = "example.com/own"
			info.Deps = []*debug.Module{{Path: "golang.org/x/mod", Version: "v9.0.0"}, {Path: path, Version: c.dep}}
		}
		if got := versionOf(info); got != c.want {
			t.Errorf("main %q, dependency %q: %q, and not %q", c.main, c.dep, got, c.want)
		}
	}
	other := &debug.BuildInfo{Main: debug.Module{Path: "example.com/own", Version: "v9.9.9"}}
	if got := versionOf(other); got != dev {
		t.Errorf("a program without the module in it: %q", got)
	}
}
