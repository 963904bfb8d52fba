package guardian

import (
	"strings"
	"testing"
	"time"
)

// FuzzTampering: whatever an act's words are, they are read without a panic and in a bounded
// time, the same again gives the same, and a deciding command in front of them is still seen.
func FuzzTampering(f *testing.F) {
	g, home := aGuarded(f)
	for _, line := range []string{
		"find ~ -name '*.yaml' -o -size +1 ! -name x -exec sed -i s/a/b/ {} + | xargs -I{} rm {}", "docker run -v=/:/h --mount type=bind,src=,dst== -v : -v '' x", "fd -e '' '[' ~ -x rm",
		"make -f - <<< $'a:\n\t@$(X) ${Y}'", "tar -T /dev/null cf x", "rg -l '(' ~ | while read f; do : > \"$f\"; done", "cat <<'E' | sh\nreeve\nE", "docker compose -f - up <<< '{volumes: [\"/:/x\", {source: }]}'",
		"sh ./x.sh; . ''; source; python3 -; ./", "echo ${x:-{}} `` $() $(( )) [*] ~x/../..", "",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if len(line) > 4096 {
			return
		}
		one := call(home+"/src/proj", "shell", "command", line)
		began := time.Now()
		first := len(g.Tampering(one, nil))
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("it took %v", took)
		}
		if again := len(g.Tampering(one, nil)); again != first {
			t.Errorf("%d reasons, and then %d", first, again)
		}
		if !strings.ContainsAny(line, "\x00") && len(g.Tampering(call(home, "shell", "command", "reeve approvals approve abc\n"+line), nil)) == 0 {
			t.Errorf("not seen before %q", line)
		}
	})
}
