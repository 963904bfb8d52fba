package hazard

import (
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
)

// Package managers, and the scripts that packages bring.

// packageScript finds what a package's scripts run.
var packageScript = lazyregexp.New(`"[\w:.-]+"\s*:\s*"((?:[^"\\]|\\.)*)"`)

// installScript finds what a package runs when it is installed.
var installScript = lazyregexp.New(`"(?:pre|post)?(?:install|prepare)"\s*:\s*"((?:[^"\\]|\\.)*)"`)

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
