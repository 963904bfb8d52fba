package hazard

import (
	"path"
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
		s.obeys(v.text)
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

// agentFolderSet is one of them that a text sets: NAME=value, "NAME": "value", NAME value.
var agentFolderSet = lazyregexp.New(`(?m)(?:^|[\s"'{,;(])([A-Z][A-Z_]{7,})["']?\s*(?:\]\s*)?[=:]?\s*["']?([^\s"',;}]+)`)

// ownAgentFolder is where an agent's settings lie if nobody says otherwise.
var ownAgentFolder = lazyregexp.New(`^(?:~|\$\{?HOME\}?|/root|/(?:home|Users)/[\w.-]+)/\.(?:claude|codex|copilot|gemini|qwen|config/opencode)/?$`)

// sendsAgentsElsewhere judges that a file of settings, which another program reads before it starts an agent,
// sets such a variable to another folder than the agent's own. Of a text for people, and of a program, nobody takes it.
func (a *assessor) sendsAgentsElsewhere(file, text string, at span) {
	end := strings.ToLower(path.Ext(file))
	if len(text) > maxNestedText || listed(".md .mdx .txt .rst .adoc .html", end) || sourceEnds[end] {
		return
	}
	for _, m := range agentFolderSet.FindAllStringSubmatch(text, maxNamed) {
		if agentFolders[m[1]] && !ownAgentFolder.MatchString(m[2]) {
			a.report("defense.unhooked", 0.5, at)
			return
		}
	}
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
