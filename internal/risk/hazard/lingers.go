package hazard

import (
	"slices"
	"strings"

	"reeve.example/reeve/act"
)

// A call that goes on in the background, waits, or watches files runs what lies in a file when it
// comes to it: by then a later call may have written that.

// waitingPrograms run a command later, again and again, or when a file changes.
var waitingPrograms = set("sleep watch watchexec nodemon entr inotifywait inotifywatch fswatch chokidar onchange reflex air cargo-watch gulp grunt mkfifo mknod timeout at batch parallel tmux screen nohup setsid disown bg start-stop-daemon systemd-run pm2 forever supervisord concurrently")

// waits reports whether the command waits for something, or has another wait for it.
func (c *invocation) waits() bool {
	switch c.name {
	case "tail":
		return slices.ContainsFunc(c.args, func(a flow) bool {
			return strings.HasPrefix(a.text, "--follow") || strings.HasPrefix(a.text, "-") && !strings.HasPrefix(a.text, "--") && strings.ContainsAny(a.text, "fF")
		})
	case "npx", "bunx", "pnpx", "yarn", "pnpm", "npm", "bun", "cargo":
		return slices.ContainsFunc(c.args, func(a flow) bool { return waitingPrograms[a.text] || a.text == "watch" || a.text == "--watch" })
	}
	return waitingPrograms[c.name] || slices.ContainsFunc(c.args, func(a flow) bool { return a.text == "--watch" })
}

// unseparated writes snake_case and kebab-case as one word.
var unseparated = strings.NewReplacer("_", "", "-", "")

// asksForBackground reports whether an argument of a tool asks that its command goes on behind it.
func asksForBackground(a act.Argument) bool {
	name := strings.ToLower(unseparated.Replace(a.Name))
	return strings.Contains(name, "background") && string(a.Value) != "false" && string(a.Value) != "null"
}
