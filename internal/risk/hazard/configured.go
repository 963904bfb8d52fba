package hazard

import (
	"path"
	"slices"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/yamldoc"
)

// Programs without number keep in their settings what they start at a key, at a time or when they begin, under
// names that no table has all of. Where a text among such settings is a command that runs what it fetches, or that
// sends a secret to somebody, it says by itself what it is for.

// configures judges the texts that are written into a file among somebody's settings.
func (a *assessor) configures(file, text string, at span) {
	if text == "" || len(text) > maxNestedText {
		return
	}
	if hidden := startsHidden(text); hidden != "" && (a.keepsSettings(file) || a.startsPrograms(file)) {
		a.reportSaying("persist.setting", 0.5, at, "A program starts what lies where no programs are kept when it reads its settings ("+hidden+").")
	}
	if !a.keepsSettings(file) {
		return
	}
	for _, command := range textsIn(text) {
		if a.harms(command, at) {
			return
		}
	}
}

// keepsSettings reports whether a file lies where a user's programs keep their settings, and is none that people read,
// or in which a program notes down what was done. A project that is worked on may lie there, too.
func (a *assessor) keepsSettings(file string) bool {
	if !a.ofUser(file) {
		return false
	}
	p := normalPath(file).text
	if from := a.from(file); from != "" {
		p = normalPath(from).text
	}
	p = strings.ToLower(strings.TrimPrefix(p, "~/"))
	if listed(".md .mdx .txt .rst .adoc .html .log .jsonl .csv .snippets .code-snippets", path.Ext(p)) || slices.ContainsFunc([]string{"history", "snippets/", "notes/", "worktrees/", "repos/", "src/"}, func(part string) bool { return strings.Contains(p, part) }) {
		return false
	}
	switch {
	case strings.HasPrefix(p, ".config/"), strings.HasPrefix(p, "library/application support/"), strings.HasPrefix(p, "library/preferences/"), strings.HasPrefix(p, "appdata/"):
		return true
	case !strings.HasPrefix(p, ".") || strings.HasPrefix(p, ".cache/") || strings.HasPrefix(p, ".local/"), listed(".sh .bash .zsh .py .js .ts .rb", path.Ext(p)):
		return false
	}
	return strings.Count(p, "/") <= 2 && !listed("dockerfile containerfile makefile justfile", path.Base(p))
}

// startsPrograms reports whether a file of the user's says which programs are started, or is what a program runs when
// it begins, beside those that keepsSettings knows.
func (a *assessor) startsPrograms(file string) bool {
	if !a.ofUser(file) {
		return false
	}
	p := strings.ToLower(strings.TrimPrefix(normalPath(file).text, "~/"))
	if strings.HasPrefix(p, ".cache/") {
		return false
	}
	for _, part := range []string{"/applications/", "/dbus-1/", "/native-messaging-hosts/", "/nativemessaginghosts/", "/hooks/", "/hooks.d/", "/autostart/", "/services/", "/scripts/", "/plugins/", "/conf.d/"} {
		if strings.HasPrefix(p, ".") && strings.Contains(p, part) {
			return true
		}
	}
	return strings.HasPrefix(p, ".") && strings.Count(p, "/") == 0 // .iex.exs
}

// startsHidden is a program that a text of settings names to be started, and that lies among what programs keep for a
// while: nobody installs one there. Empty where there is none.
func startsHidden(text string) string {
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") {
			section = line
		}
		for _, at := range passingPath.FindAllStringSubmatchIndex(line, 4) {
			program := line[at[2]:at[3]]
			if keepsData.MatchString(line[:at[2]]) || keepsData.MatchString(path.Base(program)) || path.Ext(program) != "" && !startsAsProgram[path.Ext(program)] {
				continue
			}
			if before := section + " " + line[:at[2]]; startsBy.MatchString(before) || strings.TrimSpace(line[:at[2]]) == "" {
				return program
			}
		}
	}
	return ""
}

var (
	// passingPath is a file in a place of which people empty what lies there, or where everybody may put something.
	passingPath = lazyregexp.New(`((?:~|\$HOME|\$\{HOME\}|%h|/home/[^/\s"']+|/Users/[^/\s"']+|/root)/\.cache/[\w.@%+/-]+|(?:/var)?/tmp/[\w.@%+/-]+|/dev/shm/[\w.@%+/-]+)`)
	// startsBy is how what stands before a path says that it is started.
	startsBy = lazyregexp.New("(?i)(?:exec|command|cmd|run|shell|spawn|system|popen|process|pager|script|hook|sendmail|launch|program|start|bind|browser|editor|helper|filter|path|source|open|python[\\d.]*|\\bsh|node|env|nohup|setsid|sudo)[\\w-]*[\"'\\])\\s]*[-+=:,>]*[\"'\\s@({\\[]*$|^\\s*[:^!.]+\\s*$|[`|]\\s*$|^\\[[^\\]]*(?:hook|alias|exec|command)[^\\]]*\\][^=]*=[\"'\\s]*$")
	// keepsData are names of what a program keeps there rightly.
	keepsData = lazyregexp.New(`(?i)cache[-_ ]?(?:dir|path|file|home|size)|cache["']?\s*[:=]|log|history|hist|undo|swap|backup|sock|pid|lock|state|data|temp|tmp_?(?:dir|path)|control|viminfo|shada|db|screenshot|download|output|dump|image|wallpaper|cookie|coverage|(?:^|[^a-z])dir|folder`)

	// startsAnything is how the name of a setting of a desktop says that its value is started.
	startsAnything = lazyregexp.New(`(?i)exec|command|cmd|shell|spawn|script|hook|launch|program|bind`)

	startsAsProgram = set(".sh .bash .zsh .py .pl .rb .js .mjs .cjs .ts .lua .php .bin .run .elf .exe .ps1 .so .appimage")
)

// mayHarm is what a command has in it that fetches something and runs it, or sends something: a quick look.
var mayHarm = lazyregexp.New(`(?i)\b(?:curl|wget|fetch|ncat|nc|socat|telnet|base64|xxd|iwr|irm|invoke-\w+)\b|/dev/tcp/|https?://|\b(?:ba|z|da)?sh\s+-i\b`)

// startsIn is how a line of settings says that what follows is started.
var startsIn = lazyregexp.New(`(?i)\b(?:exec(?:-\w+|ute)?|run|spawn|shell|command|launch)\b[,:=\s]+["']?(.+?)["']?$`)

// saysToReader are names of settings of which the text is for people, or is typed out for them.
var saysToReader = set("description replace body snippet help text title label tooltip documentation comment prompt message example examples content note summary subject activeform name")

// textsIn are the texts of a file of settings that may be commands: the values of a form that is known, and else the
// texts in quotes, the lines, and what stands behind their names.
func textsIn(text string) (list []string) {
	add := func(t string) {
		if t = strings.TrimLeft(strings.TrimSpace(t), "!"); len(t) > 8 && len(list) < maxSettings && mayHarm.MatchString(t) {
			list = append(list, t)
		}
	}
	if !mayHarm.MatchString(text) {
		return nil
	}
	var n nest
	if doc, err := rawjson.Parse([]byte(text)); err == nil {
		n.json(doc.Root(), "", "", 0)
	} else if faults := 0; strings.Contains(text, ":") {
		if root := yamldoc.Read(text, func(yamldoc.Fault) { faults++ }); faults == 0 && root != nil && (root.Members != nil || root.Items != nil) {
			n.yaml(root, "", "", 0)
		}
	}
	for _, l := range n.leaves {
		if !saysToReader[strings.ToLower(l.Arg)] {
			add(l.Text)
		}
	}
	if n.leaves != nil {
		return list
	}
	for _, t := range lex(text, false) {
		if t.isText {
			add(t.text)
		}
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" || strings.ContainsRune("#;/-", rune(line[0])) {
			continue
		}
		cut := strings.IndexAny(line, "=: \t")
		if cut < 0 || saysToReader[strings.ToLower(line[:cut])] {
			continue
		}
		value := strings.TrimLeft(line[cut:], "=: \t")
		for _, t := range append(commandTexts(value), line, value) {
			add(t)
		}
		if m := startsIn.FindStringSubmatch(line); m != nil {
			add(m[1])
		}
	}
	return list
}

// harms reports that a command which a program will run by itself fetches what it runs, or sends a secret.
func (a *assessor) harms(command string, at span) bool {
	if a.depth > maxDepth/2 || !a.spend(len(command)) {
		return false
	}
	inner := newAssessor(a.table)
	inner.size, inner.runs, inner.depth, inner.commands, inner.began = len(command), true, a.depth+1, maxTaken, a.began
	inner.command(command, nil)
	i := slices.IndexFunc(inner.findings, func(f Finding) bool {
		return listed("shell.download_run shell.reverse_shell shell.encoded_run exfil.secret exfil.bulk", f.Code) && f.Weight >= 0.6
	})
	if i < 0 {
		return false
	}
	a.reportSaying("persist.setting", 0.6, at, "A program runs this by itself when it reads its settings: "+inner.findings[i].Message)
	return true
}

// namesCommands judges the command for which a program of a forge is told a name: behind !, or by an option, a shell runs it.
func (c *invocation) namesCommands() {
	if !listed("gh glab", c.name) || len(c.args) < 3 || c.args[0].text != "alias" {
		return
	}
	switch c.args[1].text {
	case "set":
		shell := c.names("--shell", "-s")
		for _, a := range c.args[2:] {
			if rest, marked := strings.CutPrefix(a.text, "!"); marked || shell && strings.Contains(a.text, " ") {
				c.harms(rest, c.at)
			}
			if a.text == "-" {
				c.harms(strings.TrimLeft(c.in.text, "!"), c.at)
			}
		}
	case "import":
		said := c.in
		if name := c.args[2].text; name != "-" {
			said, _ = c.getFile(name)
			c.watchedFile(name, false, flow{})
		}
		for _, command := range textsIn(said.text) {
			c.harms(command, c.at)
		}
	}
}

// settingsWriters are programs by which settings of a desktop, or of a program, are changed from a shell.
var settingsWriters = map[string]string{
	"dconf": "write load", "gsettings": "set", "xfconf-query": "-s --set", "kwriteconfig5": "", "kwriteconfig6": "", "defaults": "write", "crudini": "--set", "jj": "config", "tmux": "set-hook bind bind-key set set-option run-shell if-shell",
	"swaymsg": "", "i3-msg": "", "hyprctl": "keyword dispatch", "bspc": "rule", "herbstclient": "", "task": "config", "atuin": "config", "starship": "config", "poetry": "config", "pulumi": "config",
}

// setsCommands judges the commands that a program for settings is told to put there.
func (c *invocation) setsCommands() {
	verbs, ok := settingsWriters[c.name]
	if !ok || verbs != "" && !slices.ContainsFunc(c.args, func(a flow) bool { return listed(verbs, a.text) }) {
		return
	}
	for i, a := range c.args {
		value := strings.Trim(a.text, `"' `)
		if before := c.joined(c.args[:i]).text; startsHidden(value) != "" && startsAnything.MatchString(before) || startsHidden("x "+value) != "" {
			c.reportSaying("persist.setting", 0.5, c.at, "A program is set up to start what lies where no programs are kept.")
			return
		}
		for _, text := range commandTexts(a.text) {
			for _, command := range commandTexts(strings.TrimPrefix(strings.TrimPrefix(text, "run-shell "), "exec ")) {
				if strings.Contains(command, " ") && mayHarm.MatchString(command) && c.harms(command, c.at) {
					return
				}
			}
		}
	}
}
