package hazard

import (
	"path"
	"slices"
	"strings"
	"sync/atomic"
)

// Whose home it is does not matter: what lies in one is told by the tail of its path, .ssh and what
// is in it, .bashrc. Homes lie in many places: of services under /var/lib and /srv, on other disks,
// of another system that is mounted here, on Windows behind a drive.

var (
	// homesLie are names of folders in which each folder is somebody's home.
	homesLie = set("home homes users profiles")
	// serviceHomes are folders in which programs of a system have theirs.
	serviceHomes = set("/var /var/lib /srv /opt /usr/local /data /mnt /media /volumes")
	// onlyOfPeople are what nobody has in a folder of a project, so that it says by itself that
	// the folder which it lies in is a home.
	onlyOfPeople = []string{".ssh", ".gnupg", ".aws", ".kube", ".netrc", ".git-credentials", ".password-store", ".vault-token", ".config/systemd", ".config/autostart", ".config/gcloud", ".local/share/keyrings"}
	// madeUp are words in the names of folders that only look like what lies in a home.
	madeUp = set("test tests testing testdata fixture fixtures spec specs mock mocks example examples sample samples dotfiles dotfile skel template templates snapshot snapshots")
)

// knownHomes are the homes of this machine that are known, with a slash at their ends.
var knownHomes atomic.Pointer[[]string]

// KnowHomes says where the homes of people lie on this machine, for all readings from now on: a home
// is one wherever it lies, also below /tmp, as in a container. What everybody throws things into is
// nobody's home, and neither is all of a system.
func KnowHomes(folders ...string) {
	var known []string
	for _, f := range folders {
		if f = path.Clean(slashed(f)); strings.HasPrefix(f, "/") && f != "/" && !systemTrees[f] && (temporary(f) || !temporary(f+"/")) {
			known = append(known, f+"/")
		}
	}
	knownHomes.Store(&known)
}

// inKnownHome is a path in a home that is known as it is seen from there.
func inKnownHome(p string) (string, bool) {
	if known := knownHomes.Load(); known != nil {
		for _, home := range *known {
			if rest, ok := strings.CutPrefix(p+"/", home); ok {
				return strings.TrimSuffix("~/"+rest, "/"), true
			}
		}
	}
	return p, false
}

// inHome is a path in somebody's home as it is seen from there, ~/.bashrc; what it was, if it is
// none that is told by its tail. The path has slashes, and no dots.
func (p *places) inHome(path string) string {
	if own, ok := inKnownHome(path); ok {
		return own
	}
	rest := path
	if len(rest) > 2 && rest[1] == ':' && rest[2] == '/' && isLetter(rest[0]) { // a drive
		rest = rest[2:]
	}
	if !strings.HasPrefix(rest, "/") || temporary(rest+"/") {
		return path
	}
	parts := strings.Split(strings.Trim(rest, "/"), "/")
	for i, name := range parts {
		if i > 32 || hasWord(name, madeUp) {
			return path
		}
		if i == 0 || !p.heads[strings.ToLower(name)] {
			continue
		}
		home, tail := parts[:i], strings.Join(parts[i:], "/")
		if isHome(home) || slices.ContainsFunc(onlyOfPeople, func(own string) bool { return tail == own || strings.HasPrefix(tail, own+"/") }) {
			return "~/" + tail
		}
	}
	return path
}

// isHome reports whether a folder is somebody's home by where it lies.
func isHome(parts []string) bool {
	last := len(parts) - 1
	if parts[last] == "root" {
		return true
	}
	return last > 0 && (homesLie[strings.ToLower(parts[last-1])] || serviceHomes["/"+strings.ToLower(strings.Join(parts[:last], "/"))])
}
