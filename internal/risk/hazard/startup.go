package hazard

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// What every new shell runs is a place for settings, too: a prompt, plugins, short names, paths.
// Who adds such a line has nothing run that was not run before, so it is told apart from a line that
// starts a program.

// startsNothing reports whether a text only sets what people set in what their shells read: it holds
// no command but those for settings, and nothing that weighs anything when it runs.
func (a *assessor) startsNothing(text string) bool {
	if len(text) > 16<<10 || a.depth >= maxDepth/2 || hasTemporary(text) {
		return false
	}
	plain := func(text string) bool {
		file, err := parse(text)
		return err == nil && file != nil && settingsOnly(file.Stmts)
	}
	if !plain(text) { // another shell's, or a part of something: line by line
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); !fishBlocks[before(line, ' ')] && !plain(line) {
				return false
			}
		}
	}
	inner := newAssessor(a.table)
	inner.size, inner.runs, inner.depth, inner.commands = len(text), true, a.depth+1, maxTaken
	inner.command(text, nil)
	for name, value := range aliasesIn(text) {
		if first := before(value, ' '); trustedNames[name] || strings.Contains(first, "/") && programs()[name] && baseName(first) != name {
			return false
		}
		inner.command(value, &span{0, len(text)})
	}
	for line := range strings.Lines(text) { // set -gx NAME value, of fish
		if words := strings.Fields(line); len(words) == 4 && words[0] == "set" && strings.HasPrefix(words[1], "-") && strings.Contains(words[1], "x") && isName(words[2]) {
			inner.command("export "+words[2]+"="+words[3], &span{0, len(text)})
		}
	}
	for _, f := range inner.findings {
		if f.Weight > asks && f.Code != "persist.profile" { // which is what it is itself
			return false
		}
	}
	return true
}

// addsSettings reports whether a call puts nothing but settings into a passage of what somebody's
// shells read.
func (a *assessor) addsSettings(c *call, file string) bool {
	f := normalPath(file)
	if f.turns > 0 || f.odd || f.encoded || !strings.HasPrefix(f.text, "~") || placeOf(f.text).writes != "persist.startup" {
		return false
	}
	edits, adds := false, 0
	for i := range c.leaves {
		switch l := &c.leaves[i]; {
		case oldTexts[c.nameOf(l)]:
			edits = true
		case l.role == roleContent || newTexts[c.nameOf(l)]:
			adds++
			if !a.startsNothing(l.Text) {
				return false
			}
		}
	}
	return edits && adds > 0
}

// asks is the weight above which the starter policy asks about most effects.
const asks = 0.4

// hasTemporary reports whether a text names a file where everybody may put one, or a device.
func hasTemporary(text string) bool {
	for _, dir := range []string{"/tmp/", "/dev/shm/", "/dev/tcp/", "/dev/udp/"} {
		if strings.Contains(text, dir) {
			return true
		}
	}
	return false
}

var (
	// shellSettings are what a shell is set up with: its own words, and those of the managers of plugins.
	shellSettings = set(`alias unalias export declare typeset local readonly unset set setopt unsetopt shopt bind bindkey complete compdef compinit autoload zstyle zmodload zle zcompile
		source . eval test [ [[ true false : return command type which hash ulimit umask stty tabs emulate promptinit prompt colors compaudit disable enable echo printf print add-zsh-hook
		fish_add_path fish_config fish_vi_key_bindings fish_default_key_bindings abbr set_color functions status string end zinit antigen zplug znap zi antidote omz plug`)
	// fishBlocks begin and end what a shell of another grammar has in more than one line.
	fishBlocks = set("if else end function for while switch case begin fi done esac then do { }")
	// trustedNames are those under which people give a program their passwords, and keys, or look
	// around: who calls something else so means to be taken for it.
	trustedNames = set("sudo su doas ssh scp sftp passwd gpg pass op login docker kubectl aws gcloud curl claude codex gemini reeve")
)

// settingsOnly reports whether statements are nothing but settings. What a function does is judged when
// it is read.
func settingsOnly(all []*syntax.Stmt) bool {
	for _, st := range all {
		if st.Background || st.Coprocess || !isSetting(st) {
			return false
		}
		for _, r := range st.Redirs {
			if r.Op != syntax.DplOut && r.Op != syntax.DplIn && (r.Word == nil || r.Word.Lit() != "/dev/null") {
				return false
			}
		}
	}
	return true
}

func isSetting(st *syntax.Stmt) bool {
	switch c := st.Cmd.(type) {
	case nil, *syntax.TestClause, *syntax.ArithmCmd, *syntax.DeclClause, *syntax.LetClause:
		return true
	case *syntax.CallExpr:
		return len(c.Args) == 0 || shellSettings[strings.TrimPrefix(c.Args[0].Lit(), `\`)]
	case *syntax.FuncDecl:
		return !trustedNames[c.Name.Value] && !shellSettings[c.Name.Value] && !namesOften[c.Name.Value]
	case *syntax.BinaryCmd:
		if c.Op == syntax.Pipe { // starship init fish | source
			call, ok := c.Y.Cmd.(*syntax.CallExpr)
			return ok && len(call.Args) == 1 && call.Args[0].Lit() == "source" && saysSettings(c.X)
		}
		return isSetting(c.X) && isSetting(c.Y)
	case *syntax.IfClause:
		for c := c; c != nil; c = c.Else {
			if !settingsOnly(c.Cond) && len(c.Cond) > 0 || !settingsOnly(c.Then) {
				return false
			}
		}
		return true
	case *syntax.ForClause:
		return settingsOnly(c.Do)
	case *syntax.CaseClause:
		for _, item := range c.Items {
			if !settingsOnly(item.Stmts) {
				return false
			}
		}
		return true
	case *syntax.Block:
		return settingsOnly(c.Stmts)
	}
	return false
}

// namesOften are names that somebody calls all day: a function of that name is run, and not only made.
var namesOften = set("cd ls pwd cat git echo printf exit clear precmd preexec chpwd periodic zshexit fish_prompt fish_greeting PROMPT_COMMAND command_not_found_handle command_not_found_handler")

// saysSettings reports whether a command prints what a shell is to be set up with, as programs do that
// come with a part for shells.
func saysSettings(st *syntax.Stmt) bool {
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) < 2 {
		return false
	}
	for _, w := range call.Args[1:] {
		if listed("init hook completion completions activate shellenv shell env --completion --init bash zsh fish", w.Lit()) {
			return true
		}
	}
	return false
}

// aliasesIn are the short names that a text gives, and what they stand for.
func aliasesIn(text string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "alias ")
		if !ok || len(all) == 64 {
			continue
		}
		rest = strings.TrimSpace(strings.TrimPrefix(rest, "-g "))
		cut := strings.IndexAny(rest, "= ")
		if cut < 0 {
			continue
		}
		value := strings.TrimSpace(rest[cut+1:])
		if q := len(value) - 1; q > 0 && (value[0] == '\'' || value[0] == '"') && value[q] == value[0] {
			value = value[1:q]
		}
		all[rest[:cut]] = value
	}
	return all
}
