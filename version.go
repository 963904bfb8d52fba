package reeve

import (
	"runtime/debug"
	"strings"
	"sync"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// next is the version that is being worked on, of programs that were built between tags.
const next = "0.1.0"

// Version is this program's version: of one that was built from a tag, the tag's, and
// else the next one's with "-dev".
var Version = sync.OnceValue(func() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return versionOf(info)
	}
	return next + "-dev"
})

// versionOf is the version of the module in a program, which need not be the program's
// own: others can build nodes of their own.
func versionOf(info *debug.BuildInfo) string {
	const path = "reeve.example/reeve"
	m := &info.Main
	for _, dep := range info.Deps {
		if dep.Path == path {
			m = dep
		}
	}
	tagged, changed := strings.CutSuffix(m.Version, "+dirty")
	if m.Path != path || m.Replace != nil || changed || !semver.IsValid(tagged) || module.IsPseudoVersion(tagged) {
		return next + "-dev"
	}
	return strings.TrimPrefix(tagged, "v")
}
