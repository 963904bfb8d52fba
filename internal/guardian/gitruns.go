package guardian

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"reeve.example/reeve/internal/glob"
	"reeve.example/reeve/internal/risk/hazard"
	"reeve.example/reeve/internal/target"
)

// Git runs programs that its settings name, and does not say so. Whether the setting or the program was
// written first, and by which call, makes no difference: what Git runs is looked up when it is called.

// gitPrograms are Git's settings that name a program, by patterns of their keys.
var gitPrograms = strings.Fields(`core.fsmonitor core.sshcommand core.editor core.pager core.askpass core.gitproxy core.alternaterefscommand sequence.editor diff.external diff.*.command diff.*.textconv
	filter.*.clean filter.*.smudge filter.*.process merge.*.driver mergetool.*.cmd mergetool.*.path difftool.*.cmd difftool.*.path guitool.*.cmd man.*.cmd browser.*.cmd gpg.program gpg.*.program gpg.ssh.defaultkeycommand
	credential.helper credential.*.helper interactive.difffilter pager.* trailer.*.command trailer.*.cmd remote.*.uploadpack remote.*.receivepack remote.*.vcs uploadpack.packobjectshook
	sendemail.sendmailcmd sendemail.tocmd sendemail.cccmd receive.procreceiverefs imap.tunnel instaweb.browser web.browser rebase.instructionformat submodule.*.update tar.*.command`)

// gitRuns reads the programs that Git's settings name, in the folders that a call of it works in, where the
// session wrote them. What an alias stands for is run where it is called.
func (e *examination) gitRuns(c *hazard.Command) {
	var folders []string
	for _, dir := range append([]string{"."}, values(c.Words, "-C")...) {
		for _, parts := range e.readings(dir, c.Dirs) {
			if folder := filepath.FromSlash("/" + strings.Join(parts, "/")); !slices.Contains(folders, folder) && len(folders) < maxFolders {
				folders = append(folders, folder)
			}
		}
	}
	for _, folder := range folders {
		settings, top := target.GitSettings(folder)
		if top == "" {
			top = folder
		}
		for _, s := range settings {
			if slices.ContainsFunc(gitPrograms, func(pattern string) bool { return glob.Match(pattern, s.Key) }) {
				e.gitRun(s.Value, top)
			}
			if name, is := strings.CutPrefix(s.Key, "alias."); is && strings.HasPrefix(s.Value, "!") && slices.Contains(c.Words, name) {
				e.gitRun(s.Value, top)
			}
			if s.Key == "core.hookspath" {
				e.hooksIn(s.Value, top)
			}
		}
	}
}

// gitRun reads what a setting has run in the repository's folder.
func (e *examination) gitRun(command, top string) {
	command = strings.TrimPrefix(strings.TrimSpace(command), "!")
	for word := range strings.FieldsSeq(command) {
		if word = strings.Trim(word, `"'`); e.wrote(path.Base(filepath.ToSlash(word))) {
			e.interprets("sh", command, []string{"", filepath.ToSlash(top)})
			return
		}
	}
}

// hooksIn reads the hooks in a folder that the session wrote.
func (e *examination) hooksIn(folder, top string) {
	for _, name := range hazard.GitHooks() {
		if e.wrote(name) {
			e.script(path.Join(folder, name), "", []string{"", filepath.ToSlash(top)})
		}
	}
}
