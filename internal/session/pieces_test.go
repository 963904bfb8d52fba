package session

import (
	"encoding/base64"
	"slices"
	"strconv"
	"testing"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/risk/hazard"
)

// TestWrittenBackInPieces: what counts is what the file will hold, and not how a command says it: a
// notice that is put together as the command runs destroys what was masked like one that stands there.
func TestWrittenBackInPieces(t *testing.T) {
	const (
		notice = "[password removed]"
		line   = "DB=shop:" + notice
	)
	read := deed{"bash", []string{"command", "cat /home/ada/shop/.env"}, line}
	bash := func(command string) deed { return deed{"bash", []string{"command", command}, ""} }
	hidden := base64.StdEncoding.EncodeToString([]byte(line + "\n"))
	for _, command := range []string{
		"A='[password '; B='removed]'; echo \"DB=$A$B\" > .env",
		"A=password; echo \"DB=shop:[$A removed]\" > .env",
		"W=removed; echo \"DB=shop:[password $W]\" > .env",
		"printf '%s%s\\n' 'DB=shop:[pass' 'word removed]' > .env",
		"printf 'DB=shop:[%s removed]\\n' password > .env",
		"printf '[%s %s]' password removed > .env",
		"printf '\\x5bpassword removed]' > .env",
		"printf '\\133password\\040removed\\135' > .env",
		"echo -e '\\x5bpassword removed\\x5d' > .env",
		"echo $'\\x5bpassword\\x20removed]' > .env",
		"echo 'DB=[pass''word rem''oved]' > .env",
		"echo DB=[pass\"word removed\"] > .env",
		"echo DB=[password\\ removed] > .env",
		"echo DB=[password removed] | tee .env",
		"cat > .env <<E\nDB=[${X:-password} removed]\nE",
		"X='password removed'; cat > .env <<E\nDB=[$X]\nE",
		"cat > .env <<'E'\nDB=[pass@@word removed]\nE\nsed -i 's/@@//' .env",
		"sed -i 's/swordfish/[password removed]/' .env",
		"sed -i -e 's/swordfish/[password/' -e 's/$/ removed]/' .env",
		"sed -i 's/^DB=.*/DB=[pass''word removed]/' .env",
		"echo 'DB=[password_removed]' | tr _ ' ' > .env",
		"echo '[qbttxpse sfnpwfe]' | tr b-z a-y > .env",
		"echo ']devomer drowssap[' | rev > .env",
		"echo " + hidden + " | base64 -d > .env",
		"base64 -d <<< " + hidden + " > .env",
		"base64 -d > .env <<E\n" + hidden + "\nE",
		"B=" + hidden + "; echo $B | base64 --decode > .env",
		"B=" + hidden[:12] + "; C=" + hidden[12:] + "; echo $B$C | base64 -d > .env",
		"python3 -c \"import base64;open('.env','wb').write(base64.b64decode('" + hidden + "'))\"",
		"python3 -c \"open('.env','w').write('[pass'+'word removed]')\"",
		"python3 -c \"open('.env','w').write('[%s removed]' % 'password')\"",
		"python3 -c \"open('.env','w').write('[{} removed]'.format('password'))\"",
		"python3 -c \"open('.env','w').write(' '.join(['[password','removed]']))\"",
		"python3 - <<'E'\na='password'\nopen('.env','w').write(f'[{a} removed]')\nE",
		"node -e \"require('fs').writeFileSync('.env','[pass'+'word removed]')\"",
		"printf '[pass' > .env; printf 'word removed]' >> .env",
		"echo -n 'DB=[password ' > .env && echo 'removed]' >> .env",
		"printf 'DB=[pass' > .env\nprintf 'word ' >> .env\nprintf 'removed]' >> .env",
		"{ printf '[pass'; printf 'word removed]'; } > .env",
		"(echo -n '[password '; echo 'removed]') > .env",
		"f() { echo \"[$1 removed]\"; }; f password > .env",
		"echo \"[$(echo password) removed]\" > .env",
		"echo \"[`echo password` removed]\" > .env",
		"for w in '[password' 'removed]'; do printf '%s ' $w; done > .env",
		"perl -e 'print \"[pass\".\"word removed]\"' > .env",
		"perl -pi -e 's/swordfish/[pass\".\"word removed]/' .env",
		"awk 'BEGIN{print \"[pass\" \"word removed]\"}' > .env",
		"echo 5b70617373776f72642072656d6f7665645d | xxd -r -p > .env",
		"jq -n '\"[pass\" + \"word removed]\"' > .env",
		"N=\"[password removed]\"; echo \"${N}\" > .env",
		"printf '[password removed]' > /tmp/x; mv /tmp/x .env",
		"printf '[pass%s' 'word removed]' > /tmp/x && cp /tmp/x .env",
		"A='[pass'; A+='word removed]'; echo $A > .env",
		"A=([password removed]); echo \"${A[*]}\" > .env",
		"echo '[password removed' > .env; sed -i 's/$/]/' .env",
		"tee .env > /dev/null <<< \"DB=[pass\"\"word removed]\"",
		"dd of=.env <<< '[pass''word removed]'",
		"echo 's/X/[password removed]/' > /tmp/s; sed -i -f /tmp/s .env",
		"ed .env <<'E'\n1c\nDB=[password removed]\n.\nw\nE",
		"printf '%s\\n' '[password' 'removed]' | paste -sd' ' > .env",
		"printf '%b' '\\0133password removed]' > .env",
	} {
		if found := afterMask(t, read, bash(command)); !found {
			t.Errorf("it passes: %s", command)
		}
	}
	for _, command := range []string{
		"echo 'PORT=5432' >> .env",
		"sed -i 's/^PORT=.*/PORT=5432/' .env",
		"A='[pass'; B='word removed]'; echo \"$A$B\" > notes.md",
		"printf '[%s removed]' password > docs/mask.md",
		"echo 'The password was removed by Ann.' > notes.md",
		"cp .env .env.bak",
		"grep -v '^#' .env > .env.clean",
		"python3 -c \"print('[pass'+'word removed]')\"",
		"echo \"PASSWORD_FILE=/run/secrets/db\" >> .env",
		"cat .env.example > .env",
		"docker compose --env-file .env up -d",
		"sed -i '/removed/d' .env",
	} {
		if found := afterMask(t, read, bash(command)); found {
			t.Errorf("it is stopped: %s", command)
		}
	}
}

// afterMask reports whether the last step is taken for one that writes back what was masked in what
// the first one showed.
func afterMask(t *testing.T, steps ...deed) bool {
	t.Helper()
	s, last := &State{Known: true}, len(steps)-1
	apply := func(a *act.Action, effect act.Effect, edits []act.Edit) {
		s.Check(a, nil)
		st := s.Step(a, effect)
		s.Masked(st, a, edits)
		s.Touched(st, a, hazard.Read(a))
		s.Apply(st)
	}
	for i, one := range steps[:last] {
		a := one.call(act.ToolCall, strconv.Itoa(i))
		apply(a, act.Allow, nil)
		result := &act.Action{Kind: act.ToolResult, At: a.At, Session: "s", Step: "r" + a.ID, Answers: a.ID, Agent: a.Agent,
			Content: []act.Leaf{{Pointer: "/x", Text: "DB=shop:swordfish"}}}
		if one.shown == "" {
			apply(result, act.Allow, nil)
			continue
		}
		apply(result, act.Modify, []act.Edit{{Pointer: "/x", Value: rawjson.Quote(one.shown)}})
	}
	v, _ := s.Check(steps[last].call(act.ToolCall, "last"), nil)
	return slices.ContainsFunc(v, func(v act.Violation) bool { return v.Check == "mask.written_back" })
}
