package hazard

import (
	"regexp"
	"slices"
	"strings"

	"reeve.example/reeve/internal/glob"
	"reeve.example/reeve/internal/lazyregexp"
)

// Package managers, and the scripts that packages bring.

// packageScript finds what a package's scripts run.
var packageScript = lazyregexp.New(`"[\w:.-]+"\s*:\s*"((?:[^"\\]|\\.)*)"`)

// installScript finds what a package runs when it is installed.
var installScript = lazyregexp.New(`"(?:pre|post)?(?:install|prepare)"\s*:\s*"((?:[^"\\]|\\.)*)"`)

// removesSystem judges that packages are removed of which the system itself is made: by their names, or by a pattern
// that stands for many.
func (c *invocation) removesSystem() {
	verbs, is := packageRemovers[c.name]
	if !is || c.other || !slices.ContainsFunc(c.args, func(a flow) bool { return listed(verbs, a.text) }) || c.names("-s", "--simulate", "--dry-run", "--just-print", "--no-act", "--assumeno", "-p", "--print") {
		return
	}
	for _, a := range c.args {
		if a.known && !strings.HasPrefix(a.text, "-") && meansSystem(a.text, c.name) {
			c.reportSaying("destroy.system", 0.6, c.at, "Packages are removed of which the system itself is made.")
			return
		}
	}
}

// packageRemovers are the words by which programs for the system's packages remove some.
var packageRemovers = map[string]string{
	"apt": "purge remove autoremove autopurge", "apt-get": "purge remove autoremove autopurge", "aptitude": "purge remove", "dpkg": "-r -P --remove --purge",
	"dnf": "remove erase autoremove", "yum": "remove erase autoremove", "zypper": "remove rm", "rpm": "-e --erase", "pacman": "-R -Rs -Rn -Rns -Rc -Rcs -Rdd -Rscn", "apk": "del",
}

// systemPackages are packages without which a system of Linux does not start, or does nothing more that it is told.
var systemPackages = strings.Fields("bash coreutils util-linux dpkg apt libc6 libc-bin glibc musl systemd init python3 python3-minimal libpython3-stdlib perl-base base-files base-passwd login passwd mount tar filesystem rpm dnf pacman linux kernel-core linux-image-generic linux-image-amd64 libstdc++6 libssl3 zlib1g")

// meansSystem reports whether the name of a package, or a pattern of such names as a program reads it, is that of one
// of the system's own.
func meansSystem(word, program string) bool {
	if slices.Contains(systemPackages, word) {
		return true
	}
	if !strings.ContainsAny(word, "*^$?+") {
		return false
	}
	expression, err := regexp.Compile(word)
	return slices.ContainsFunc(systemPackages, func(name string) bool {
		return glob.Match(word, name) || strings.HasPrefix(program, "apt") && err == nil && expression.MatchString(name)
	})
}

func (c *invocation) packages() flow {
	if f, ok := c.getFile("package.json"); ok && c.name == "npm" && listed("i install ci add", c.verb()) {
		for _, m := range installScript.FindAllStringSubmatch(f.text[:min(len(f.text), 64<<10)], 8) {
			c.inside(unquoteDouble(m[1]))
		}
	}
	if c.name == "cpan" && (c.in.text != "" && strings.Contains(c.in.text, "exec")) {
		c.report("shell.escape", 0, c.at)
	}
	for _, a := range c.args {
		low := strings.ToLower(a.text)
		if strings.HasPrefix(low, "http://") {
			c.report("shell.download_run", 0.5, c.at)
		}
		if strings.HasPrefix(low, "--index-url=http:") || strings.HasPrefix(low, "--registry=http:") {
			c.report("shell.download_run", 0.5, c.at)
		}
	}
	return flow{}
}
