package policy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/risk/hazard"
	"reeve.example/reeve/internal/session"
)

// writeAct is a call of a tool that writes a file.
func writeAct(tool, path, name, text string) *act.Action {
	return &act.Action{Kind: act.ToolCall, At: time.Now(), Tool: &act.Tool{Name: tool}, Canonical: tool, Resource: tool,
		Content: []act.Leaf{{Pointer: "/arguments/path", Arg: "path", Text: path}, {Pointer: "/arguments/" + name, Arg: name, Text: text}}}
}

// TestWrittenThenRun: a file that one call writes and another runs is judged as what it does,
// whichever way it was written and is run; a file that does nothing of it runs.
func TestWrittenThenRun(t *testing.T) {
	starter := starterSet(t)
	// run lets the calls pass, one after the other, and returns what the first that is not
	// let through is answered.
	run := func(calls ...*act.Action) act.Effect {
		s := &session.State{Known: true}
		for i, a := range calls {
			a.ID = fmt.Sprint(i)
			v := starter.Evaluate(&Input{Action: a, Session: Session{Known: true, Written: s.Written}})
			if v.Effect == act.Deny || v.Effect == act.Escalate {
				return v.Effect
			}
			st := s.Step(a, v.Effect)
			s.Touched(st, a, hazard.Read(a))
			data := st.Append(nil)
			s.Apply(st)
			if again, err := session.Restore([]session.Write{{Data: data}}, true); err != nil || i == 0 && again.Written("x") != s.Written("x") {
				t.Fatalf("the step is read back as another: %v", err)
			}
		}
		return act.Allow
	}
	command := func(text string) *act.Action { a := commandAct(text); a.At = time.Now(); return a }
	writers := map[string]func(name, text string) []*act.Action{
		"a tool": func(name, text string) []*act.Action {
			return []*act.Action{writeAct("write_file", "/w/"+name, "content", text)}
		},
		"another": func(name, text string) []*act.Action {
			return []*act.Action{writeAct("create", name, "file_text", text)}
		},
		"a here-document": func(name, text string) []*act.Action {
			return []*act.Action{command("cat > " + name + " <<'EOF'\n" + text + "\nEOF")}
		},
		"tee": func(name, text string) []*act.Action {
			return []*act.Action{command("tee " + name + " <<'EOF' >/dev/null\n" + text + "\nEOF")}
		},
		"two at once": func(name, text string) []*act.Action {
			return []*act.Action{command("cat > other.sh <<'EOF'\nterraform destroy\nEOF\ncat > " + name + " <<'EOF'\n" + text + "\nEOF\ncat > third.sh <<'EOF'\nterraform destroy\nEOF")}
		},
		"a copy": func(name, text string) []*act.Action {
			return []*act.Action{writeAct("write_file", "notes.txt", "content", text), command("cp notes.txt " + name)}
		},
		"a move, later": func(name, text string) []*act.Action {
			return []*act.Action{writeAct("write_file", "draft", "content", text), command("ls"), command("mv draft " + name + " && chmod +x " + name)}
		},
	}
	type file struct{ name, text string }
	runners := func(f file) []string {
		switch {
		case strings.HasSuffix(f.name, ".py"):
			return []string{"python3 " + f.name, "python3 ./" + f.name, "cd /w && python " + f.name, "python3 < " + f.name, "cat " + f.name + " | python3"}
		case f.name == "Makefile":
			return []string{"make", "make all", "make -f Makefile clean", "cd /w && make -s"}
		}
		return []string{"sh " + f.name, "bash -x ./" + f.name, ". ./" + f.name, "source " + f.name, "./" + f.name, "chmod +x " + f.name + " && ./" + f.name, "sh < " + f.name, "cat " + f.name + " | sh", "sudo bash " + f.name, "nohup ./" + f.name + " &", "cd /w && ./" + f.name, "bash -c ./" + f.name}
	}
	harm := []file{
		{"go.sh", "terraform destroy -auto-approve"}, {"notes", "kubectl delete ns prod"}, {"x.txt", "git push --force origin main"},
		{"t.py", "import boto3\nboto3.client('rds').delete_db_instance(DBInstanceIdentifier='d')"},
		{"Makefile", "all:\n\tterraform destroy\nclean:\n\tpsql -c 'DROP TABLE users'\n"},
	}
	fine := []file{{"go.sh", "go build ./... && go test ./..."}, {"notes", "echo hello"}, {"x.txt", "ls -l"}, {"t.py", "print(1)"}, {"Makefile", "all:\n\tgo build\n"}}
	for how, write := range writers {
		for i, f := range harm {
			for _, by := range runners(f) {
				calls := append(write(f.name, f.text), command(by))
				if got := run(calls...); got == act.Allow {
					t.Errorf("written by %s, %s runs %q", how, by, f.text)
				}
				// What is written over it counts.
				if how == "a tool" && !strings.HasPrefix(by, "sudo") {
					over := append(write(f.name, f.text), writeAct("write_file", f.name, "content", fine[i].text), command(by))
					if got := run(over...); got != act.Allow {
						t.Errorf("%s: %v after it was written anew", by, got)
					}
				}
			}
		}
		for _, f := range fine {
			for _, by := range runners(f) {
				if got := run(append(write(f.name, f.text), command(by))...); got != act.Allow {
					t.Errorf("written by %s, %s of %q: %v", how, by, f.text, got)
				}
			}
		}
	}
}
