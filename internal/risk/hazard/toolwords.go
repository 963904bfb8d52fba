package hazard

import (
	"strings"

	"reeve.example/reeve/internal/rawjson"
)

// A tool that stands for a program's command (run_container, git_reset, npm_install) is judged as the
// program with the words that the tool's arguments say.

// programTool judges a tool that is named as a program's command.
func (a *assessor) programTool(c *call) {
	argv := c.asContainer()
	if argv == nil {
		argv = c.asGit()
	}
	if argv == nil {
		argv = c.asInstall()
	}
	if argv != nil && len(argv) <= maxWords {
		a.pointer, a.size = "", 0
		a.argv(argv, span{})
	}
}

// asContainer is the line by which a container is started as a tool is told to.
func (c *call) asContainer() []string {
	if !anyOf(c.words, set("container containers docker podman")) || !anyOf(c.words, set("run start create launch")) {
		return nil
	}
	argv, image, command := []string{"docker", "run"}, "", []string{}
	for i := range c.leaves {
		l := &c.leaves[i]
		parent, last := splitPointer(l.place)
		list := strings.ToLower(lastName(parent))
		switch name := c.nameOf(l); {
		case name == "image" || name == "imagename":
			image = l.Text
		case listed("volumes mounts binds volume mount", list) && isDigits(last) && strings.Contains(l.Text, ":"):
			argv = append(argv, "-v", l.Text)
		case listed("volumes mounts binds", list) && !isDigits(last):
			argv = append(argv, "-v", rawjson.UnescapePointer(last)+":"+l.Text)
		case listed("volumes mounts binds volume mount", name) && strings.Contains(l.Text, ":"):
			argv = append(argv, "-v", l.Text)
		case listed("command cmd args entrypoint", list) || listed("args", name) && isDigits(last):
			command = append(command, l.Text)
		case listed("command cmd", name):
			command = append(command, strings.Fields(l.Text)...)
		}
	}
	if image == "" {
		return nil
	}
	return append(append(argv, image), command...)
}

// asGit is the line of git by which a repository is changed as a tool is told to.
func (c *call) asGit() []string {
	if len(c.words) < 2 || c.words[0] != "git" && c.words[len(c.words)-2] != "git" {
		return nil
	}
	verb := c.words[len(c.words)-1]
	if !listed("reset clean restore", verb) {
		return nil
	}
	argv, options := []string{"git"}, []string{verb}
	for i := range c.leaves {
		l := &c.leaves[i]
		switch name := c.nameOf(l); {
		case l.Text == "":
		case listed("repopath repository repo cwd directory workdir path", name):
			argv = append(argv, "-C", l.Text)
		case name == "mode" && listed("hard soft mixed merge keep", strings.ToLower(l.Text)):
			options = append(options, "--"+strings.ToLower(l.Text))
		case listed("commit ref target revision branch files flags options", name):
			options = append(options, l.Text)
		}
	}
	for _, arg := range c.args {
		if name := strings.ToLower(arg.Name); listed("hard force directories", name) && strings.TrimSpace(string(arg.Value)) == "true" {
			options = append(options, map[string]string{"hard": "--hard", "force": "-f", "directories": "-d"}[name])
		}
	}
	return append(argv, options...)
}

// asInstall is the line by which a manager of packages installs what a tool is told to.
func (c *call) asInstall() []string {
	if !anyOf(c.words, set("install add")) {
		return nil
	}
	for _, manager := range []string{"npm", "pnpm", "yarn", "pip", "uv", "cargo", "gem", "brew"} {
		if !anyOf(c.words, set(manager)) {
			continue
		}
		argv := []string{manager, "install"}
		for i := range c.leaves {
			l := &c.leaves[i]
			if name := c.nameOf(l); listed("package packages name names spec specs source url module modules", name) && l.Text != "" && len(l.Text) < 1024 {
				argv = append(argv, strings.Fields(l.Text)...)
			}
		}
		if len(argv) > 2 {
			return argv
		}
	}
	return nil
}
