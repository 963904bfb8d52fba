package hazard

import (
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
)

// nix judges a file of Nix: its texts of several lines are scripts of a shell, as shellHook and the phases of
// a build are, and what it fetches is built, and run.
func (a *assessor) nix(text string, at span) {
	parts := strings.Split(nixEscapes.Replace(text), "''")
	for i := 1; i < len(parts) && i < 2*maxSettings; i += 2 {
		if script := strings.ReplaceAll(nixHoles.ReplaceAllString(parts[i], "nix"), "\x00", "$"); strings.TrimSpace(script) != "" {
			a.command(script, &at)
		}
	}
	for _, m := range nixFetches.FindAllStringSubmatch(text, 16) {
		if stranger(m[1]) {
			a.report("code.foreign", 0.45, at)
			return
		}
	}
}

var (
	nixEscapes = strings.NewReplacer("''${", "\x00{", "''$", "\x00", `''\`, `\`, "'''", `"`)
	// nixHoles are where a value is put in.
	nixHoles   = lazyregexp.New(`\$\{[^}]*\}`)
	nixFetches = lazyregexp.New(`(?i)\b(?:fetchtarball|fetchurl|fetchzip|fetchgit|fetchtree|getflake|\burl)\b[^;\n]{0,80}?["']((?:git\+|tarball\+)?https?://[^"'\s]+)`)
)
