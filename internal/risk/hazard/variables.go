package hazard

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"reeve.example/reeve/internal/lazyregexp"
)

// What shells keep in variables, and what programs take from them.

// variable judges that a variable is set.
func (s *shell) variable(name string, v flow) {
	if s.watch != nil && s.watch.Variable != nil {
		s.watch.Variable(name, v.text)
	}
	s.runsVariable(name, v)
	s.reachedBy(name, v.text)
	switch name {
	case "HISTFILE":
		if v.text == "/dev/null" || v.text == "" {
			s.report("log.history", 0, s.at)
		}
	case "HISTSIZE", "HISTFILESIZE":
		if v.text == "0" {
			s.report("log.history", 0, s.at)
		}
	case "HISTCONTROL", "HISTIGNORE":
		if strings.Contains(v.text, "ignorespace") || strings.Contains(v.text, "ignoreboth") || v.text == "*" {
			s.report("log.history", 0.8, s.at)
		}
	case "LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES":
		if v.text != "" && !strings.HasPrefix(v.text, "/usr/lib") && !strings.Contains(v.text, "libfaketime") {
			s.report("code.library_hijack", 0.8, s.at)
		}
	case "LD_LIBRARY_PATH", "PYTHONPATH", "PERL5LIB":
		if strings.HasPrefix(v.text, "/tmp") || strings.HasPrefix(v.text, "/dev/shm") {
			s.report("code.library_hijack", 0.6, s.at)
		}
	case "LUA_INIT", "LUA_INIT_5_3", "LUA_INIT_5_4":
		s.code("lua", v.text, s.at, false)
	case "VIMINIT", "EXINIT", "GVIMINIT", "MYVIMRC":
		s.editorCommands(v.text, s.at)
	case "PROMPT_COMMAND":
		w := 0.45
		for _, sink := range []string{"logger", "curl", "nc ", "/dev/tcp", "wget", "tee "} {
			if strings.Contains(v.text, sink) {
				w = 0.85
			}
		}
		s.report("secret.capture", w, s.at)
	case "BASH_ENV", "ENV", "PYTHONSTARTUP", "NODE_OPTIONS", "npm_config_node_options", "NPM_CONFIG_NODE_OPTIONS", "RUBYOPT", "PERL5OPT", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "MAVEN_OPTS", "GRADLE_OPTS", "SBT_OPTS", "PYTHONHOME", "ZDOTDIR", "GIT_CONFIG_GLOBAL", "GCONV_PATH":
		s.obeys(v.text, nil)
		for word := range strings.FieldsFuncSeq(v.text, func(r rune) bool { return r == ' ' || r == '=' || r == ':' }) {
			if f, ok := s.getFile(word); ok {
				s.runs(f, "")
			}
			if temporary(normalPath(word).text) {
				s.report("code.library_hijack", 0.6, s.at)
			}
		}
		if name == "BASH_ENV" || name == "ENV" || name == "PYTHONSTARTUP" {
			s.report("persist.hook", 0.45, s.at)
		}
	case "PATH":
		if strings.HasPrefix(v.text, "/tmp") || strings.HasPrefix(v.text, ".:") {
			s.report("code.library_hijack", 0.6, s.at)
		}
	}
}

// optionVariables hold options that a program takes as if they were among its words.
var optionVariables = map[string]string{
	"terraform": "TF_CLI_ARGS", "tofu": "TF_CLI_ARGS", "tar": "TAR_OPTIONS", "gtar": "TAR_OPTIONS", "make": "MAKEFLAGS", "gmake": "MAKEFLAGS", "pytest": "PYTEST_ADDOPTS", "mvn": "MAVEN_ARGS",
	"rsync": "RSYNC_OPTIONS", "zip": "ZIPOPT", "unzip": "UNZIP", "grep": "GREP_OPTIONS", "less": "LESS", "man": "MANOPT", "fzf": "FZF_DEFAULT_OPTS", "go": "GOFLAGS", "dotnet": "DOTNET_CLI_ARGS", "helm": "HELM_OPTS", "rclone": "RCLONE_ARGS",
}

// withOptions are a program's words with those that a variable gives it.
func (s *shell) withOptions(program string, args []flow) []flow {
	name, ok := optionVariables[program]
	if !ok {
		return args
	}
	for variable, v := range s.vars {
		if variable != name && !strings.HasPrefix(variable, name+"_") || !v.known {
			continue
		}
		for _, word := range looseWords(v.text, 64) {
			args = append(args[:len(args):len(args)], flow{text: word, known: true, taint: v.taint})
		}
	}
	return args
}

// exported tells of names that are exported as they are: functions, with which bash fills the
// environment under names of their own, and the shell's options.
func (s *shell) exported(c *syntax.DeclClause) {
	if s.watch == nil || s.watch.Variable == nil {
		return
	}
	options := ""
	for _, as := range c.Args {
		switch {
		case as.Name == nil && as.Value != nil:
			options += as.Value.Lit()
		case as.Name == nil || !as.Naked || as.Value != nil || c.Variant.Value != "export" && !strings.Contains(options, "x"):
		case strings.Contains(options, "f"):
			s.watch.Variable("BASH_FUNC_"+as.Name.Value+"%%", "()")
		default:
			s.watch.Variable(as.Name.Value, s.vars[as.Name.Value].text)
		}
	}
}

// agentFolders are the variables by which coding agents find their settings.
var agentFolders = set("CLAUDE_CONFIG_DIR CODEX_HOME COPILOT_HOME GEMINI_CLI_HOME GEMINI_CLI_SYSTEM_SETTINGS_PATH OPENCODE_CONFIG_DIR OPENCODE_CONFIG AMP_SETTINGS_FILE QWEN_HOME")

// agentVariableSet is a variable that a text sets, in whatever form: NAME=value, "NAME": "value", NAME value,
// NAME DEFAULT=value, <key>NAME</key><string>value, name="NAME" value="value" and {"name": "NAME", "value": "value"};
// agentVariableNamed is the last of these the other way round.
var (
	agentVariableSet   = lazyregexp.New(`(?m)(?:^|[\s"'{,;(=:.>])([A-Z][A-Z_]{7,})(?:</key>\s*<string>|["']?\s*(?:\]\s*)?(?:,\s*["']?value["']?\s*:|value\s*=|DEFAULT\s*=|OVERRIDE\s*=|[=:])?\s*["']?)([^\s"',;}<]+)`)
	agentVariableNamed = lazyregexp.New(`(?i)["']value["']\s*:\s*["']([^"'\n]*)["']\s*,\s*["']name["']\s*:\s*["'](?-i:([A-Z][A-Z_]{7,}))["']`)
)

// ownAgentFolder is where an agent's settings lie if nobody says otherwise.
var ownAgentFolder = lazyregexp.New(`^(?:~|\$\{?HOME\}?|/root|/(?:home|Users)/[\w.-]+)/\.(?:claude|codex|copilot|gemini|qwen|config/opencode)/?$`)

// agentProgramSet is a setting of an editor's that names what is started in the place of an agent's own program.
var agentProgramSet = lazyregexp.New(`(?i)"(?:claude-?code|codex|chatgpt|gemini\w*|copilot|opencode|amp|qwen\w*)\.(?:\w+\.)*\w*(?:wrapper|executable|binary|clipath|binpath|command)\w*"\s*:\s*(?:"[^"]|\[\s*")`)

// sendsAgents reports whether a variable of this value has the agents that are started with it find other settings
// than their own, and so other hooks, or run none.
func (t *Table) sendsAgents(name, value string) bool {
	if agentFolders[name] {
		return value != "" && !ownAgentFolder.MatchString(value)
	}
	return slices.ContainsFunc(t.variables, func(row variableRow) bool {
		return row.effect == "defense.unhooked" && slices.ContainsFunc(strings.Fields(row.names), func(pattern string) bool { return wild(pattern, name) }) && row.value.among([]flow{{text: strings.ToLower(value), known: true}})
	})
}

// setsAgents reports whether a text sets such a variable.
func (t *Table) setsAgents(text string) bool {
	return slices.ContainsFunc(variablesIn(text), func(v [2]string) bool { return t.sendsAgents(v[0], v[1]) })
}

// variablesIn are the variables that a text may set, by name and value.
func variablesIn(text string) (all [][2]string) {
	for _, m := range agentVariableSet.FindAllStringSubmatch(text, maxVariables) {
		all = append(all, [2]string{m[1], m[2]})
	}
	for _, m := range agentVariableNamed.FindAllStringSubmatch(text, maxVariables) {
		all = append(all, [2]string{m[2], m[1]})
	}
	return all
}

// modelFrom is the stranger from whom a text has agents take what they do, and to whom it has them send what they
// know; empty where it says none.
func (t *Table) modelFrom(text string) string {
	if !strings.Contains(text, "://") {
		return ""
	}
	for _, v := range variablesIn(text) {
		for i := range t.variables {
			row := &t.variables[i]
			if row.model && slices.ContainsFunc(strings.Fields(row.names), func(pattern string) bool { return wild(pattern, v[0]) }) && row.strange(v[1]) {
				return v[1]
			}
		}
	}
	return ""
}

// asksStranger is what is said of that.
const asksStranger = "%.60q has agents ask %.100q, which is none that people have models from: it reads what they know, and says what they do."

// asksModelOf judges that a file of settings by which agents are started later says from whom they take what they
// do. Whom an application of one's own asks, its own settings say.
func (a *assessor) asksModelOf(file, text string, at span) {
	s := a.table.startedBy(file)
	if len(text) > maxNestedText || (s == nil || s.builds) && !strings.HasPrefix(placeOf(normalPath(file).text).writes, "persist.") {
		return
	}
	if of := a.table.modelFrom(text); of != "" {
		a.reportSaying("code.foreign", 0, at, fmt.Sprintf(asksStranger, path.Base(slashed(file)), of))
	}
}

// maxVariables is how many words of one text are looked at that may be names of variables.
const maxVariables = 1024

// sendsAgentsElsewhere judges that a file of settings, which another program reads before it starts an agent,
// sets such a variable, or names another program for the agent. Of a text for people, and of a program that is no
// file of settings, nobody takes it.
func (a *assessor) sendsAgentsElsewhere(file, text string, at span) {
	end := strings.ToLower(path.Ext(file))
	if len(text) > maxNestedText || listed(".md .mdx .txt .rst .adoc .html", end) || sourceEnds[end] && a.table.startedBy(file) == nil {
		return
	}
	if a.table.setsAgents(text) || end == ".json" && agentProgramSet.MatchString(text) {
		a.report("defense.unhooked", 0.5, at)
	}
}

// setters are programs that set variables for all that is started later, with the word by which they do; without one,
// by any. Those that edit a file are told the line as it stands there then.
var setters = map[string]string{
	"systemctl": "set-environment", "launchctl": "setenv", "dbus-update-activation-environment": "", "setx": "", "tmux": "set-environment set-env setenv", "tmate": "set-environment set-env setenv", "byobu": "set-environment set-env setenv",
	"mise": "set", "rtx": "set", "flatpak": "override", "pm2": "set", "sed": "-i", "gsed": "-i", "perl": "-i", "jq": "", "gojq": "", "jaq": "", "yq": "", "dasel": "", "crudini": "--set", "ansible": "", "kwriteconfig5": "", "kwriteconfig6": "", "defaults": "write", "reg": "add",
}

// setsForLater judges that a command sets such a variable for agents that are started later.
func (c *invocation) setsForLater() {
	by, ok := setters[c.name]
	if !ok {
		return
	}
	sets := by == ""
	for _, a := range c.args {
		sets = sets || listed(by, before(a.text, '=')) || by == "-i" && editsInPlace.MatchString(a.text)
	}
	if sets && c.table.setsAgents(asLine(c.args)) {
		c.report("defense.unhooked", 0, c.at)
	}
	if of := c.table.modelFrom(asLine(c.args)); sets && of != "" && !editsSettings[c.name] {
		c.reportSaying("code.foreign", 0, c.at, fmt.Sprintf(asksStranger, c.name, of))
	}
}

// editsSettings are those of them that change a file, which may be an application's own.
var editsSettings = set("sed gsed perl jq gojq jaq yq dasel crudini ansible kwriteconfig5 kwriteconfig6 defaults")

// setsInFish judges that a command of fish has every later shell set something, as the line in fish's own
// settings that does the same.
func (c *invocation) setsInFish() {
	line := ""
	switch c.name {
	case "set":
		if len(c.args) < 2 || !slices.ContainsFunc(c.args, func(a flow) bool { return a.text == "--universal" || universal.MatchString(a.text) }) {
			return
		}
		line = "set -gx"
		for _, a := range c.args {
			if !strings.HasPrefix(a.text, "-") {
				line += " " + a.text
			}
		}
	case "fish_add_path":
		line = "set -gx PATH"
		for _, a := range c.args {
			if !strings.HasPrefix(a.text, "-") {
				line += " " + a.text
			}
		}
	case "alias", "funcsave":
		_, rest := c.split()
		if c.name == "alias" && !c.names("-s", "--save") || len(rest) == 0 {
			return
		}
		name, body, _ := strings.Cut(rest[0].text, "=")
		if len(rest) > 1 {
			body = rest[1].text
		}
		if line = "alias " + name + "='" + body + "'"; c.name == "funcsave" && body == "" {
			line = "alias " + name + "=" + name
		}
	default:
		return
	}
	c.writeFile(flow{text: "~/.config/fish/config.fish", known: true}, flow{text: line + "\n", known: true}, true)
}

// universal are options of fish's set by which a variable lasts.
var universal = lazyregexp.New(`^-[a-zA-Z]*U[a-zA-Z]*$`)

// editsInPlace are options by which a file is edited where it lies.
var editsInPlace = lazyregexp.New(`^-\w*i|^--in-place`)

// partSet is a variable, or a setting of such a name, that a text sets to an address.
var partSet = lazyregexp.New(`(?m)(?:^|[\s"'{,;(])([A-Za-z][A-Za-z0-9_]{5,})["']?[ \t]*[=: \t][ \t]*["']?(https?://[^\s"',;}]+)`)

// takesPartsFrom judges that a file of settings says where a program takes parts of itself from, and that
// this is nobody from whom everybody does.
func (a *assessor) takesPartsFrom(file, text string, at span) {
	end := strings.ToLower(path.Ext(file))
	if len(text) > maxNestedText || listed(".md .mdx .txt .rst .adoc .html", end) || sourceEnds[end] {
		return
	}
	for _, m := range partSet.FindAllStringSubmatch(text, maxNamed) {
		if a.table.namesParts(m[1]) && stranger(m[2]) {
			a.reportSaying("code.foreign", 0, at, fmt.Sprintf("%.60q says that a program takes parts of itself from %.100q, which is no usual place for them.", path.Base(slashed(file)), m[2]))
			return
		}
	}
}

// namesParts reports whether a variable says where a program takes parts of itself from.
func (t *Table) namesParts(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc(t.variables, func(row variableRow) bool {
		return row.parts && slices.ContainsFunc(strings.Fields(row.names), func(pattern string) bool { return wild(pattern, name) })
	})
}

// sourceEnds are the ends of files that are programs.
var sourceEnds = set(".go .py .js .mjs .cjs .ts .tsx .jsx .rs .c .h .cc .cpp .java .kt .cs .rb .php .swift .scala .lua .pl .ex .exs .zig .nim .dart .hs .ml .clj .r .jl .sql")

// movesAgents judges that a variable is exported by which every agent that is started later, by a line in
// which nothing is to be seen of it, finds other settings, and so other hooks.
func (s *shell) movesAgents(c *syntax.DeclClause, as *syntax.Assign) {
	if agentFolders[as.Name.Value] && s.vars[as.Name.Value].text != "" {
		switch c.Variant.Value {
		case "export", "declare", "typeset":
			s.report("defense.unhooked", 0, s.at)
		}
	}
}

func (s *shell) assign(as *syntax.Assign) {
	var v flow
	v.known = true
	switch {
	case as.Value != nil:
		v = s.word(as.Value)
	case as.Array != nil:
		for _, e := range as.Array.Elems {
			if e.Value == nil {
				continue
			}
			f := s.word(e.Value)
			if v.taint&tooLong != 0 { // what is substituted in it counts all the same
				v.taint |= f.taint
				continue
			}
			f.text += " "
			v = both(v, f)
		}
	}
	name := as.Name.Value
	if old, ok := s.vars[name]; ok && as.Index != nil { // one of a list
		old.text += " "
		v = both(old, v)
	}
	if as.Append {
		v = both(s.vars[name], v)
	}
	s.at = s.nodeSpan(as)
	if len(v.text) > 16<<10 {
		v.text, v.known = v.text[:16<<10], false
		v.taint |= tooLong
	}
	s.variable(name, v)
	s.vars[name] = v
}
