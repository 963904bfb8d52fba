package session

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/links"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/risk/hazard"
)

// TestWrittenBack: a notice that stands for what was masked in a result is not
// written over the original, by any door, and also after a restart.
func TestWrittenBack(t *testing.T) {
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	call := func(kind act.Kind, args ...string) *act.Action {
		a := &act.Action{Kind: kind, At: at, Session: "s", Step: "2", Resource: "edit_file", Canonical: "edit_file", Agent: act.Agent{ID: "a"}}
		if kind == act.MCPRequest {
			a.InnerMethod = "tools/call"
		}
		for i := 0; i < len(args); i += 2 {
			a.Content = append(a.Content, act.Leaf{Pointer: "/args/" + args[i], Arg: args[i], Text: args[i+1]})
		}
		return a
	}
	s := &State{Known: true}
	result := &act.Action{Kind: act.ToolResult, At: at, Session: "s", Step: "1", Agent: act.Agent{ID: "a"}}
	s.Check(result, nil)
	step := s.Step(result, act.Modify)
	s.Masked(step, result, []act.Edit{{Pointer: "/x", Value: []byte(`"DB=postgres://shop:[password removed]@localhost and ****"`)}})
	data := step.Append(nil)
	s.Apply(step)
	restored, err := Restore([]Write{{Data: data}}, true)
	if err != nil {
		t.Fatal(err)
	}
	const path = "file_path"
	for _, state := range []*State{s, restored} {
		for _, kind := range []act.Kind{act.ToolCall, act.TaskStart, act.MCPRequest} {
			for _, test := range []struct {
				name string
				a    *act.Action
				want bool
			}{
				{"a file", call(kind, path, ".env", "content", "DB=postgres://shop:[password removed]@localhost"), true},
				{"a new text", call(kind, path, ".env", "old_string", "x", "new_string", "card ****"), true},
				{"in other words", call(kind, path, ".env", "content", "DB=postgres://shop:[database password removed]@localhost"), true},
				{"an old text", call(kind, path, ".env", "old_string", "shop:[password removed]", "new_string", "y"), true},
				{"a command", call(kind, "command", "echo 'shop:[password removed]' > .env"), true},
				{"only the changed line", call(kind, path, ".env", "old_string", "PORT=1", "new_string", "PORT=2"), false},
				{"another notice", call(kind, path, "a.md", "content", "It says [card number removed]."), false},
				{"stars that are none", call(kind, path, "a.c", "content", "/**** a ****/ *****"), false},
				{"a message", call(kind, "text", "it is [password removed]"), false},
			} {
				v, _ := state.Check(test.a, nil)
				found := false
				for _, one := range v {
					found = found || one.Check == "mask.written_back"
				}
				if found != test.want {
					t.Errorf("%s %s: %v", kind, test.name, found)
				}
			}
		}
	}
	// A session in which nothing was masked may write what it likes.
	fresh := &State{Known: true}
	if v, _ := fresh.Check(call(act.ToolCall, path, "a.md", "content", "[password removed]"), nil); len(v) > 0 {
		t.Errorf("%+v", v)
	}
}

// deed is one call of a session, and what came back: with shown, something in it was
// masked.
type deed struct {
	tool  string
	args  []string // names and values
	shown string
}

func (st deed) call(kind act.Kind, id string) *act.Action {
	a := &act.Action{Kind: kind, At: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC), Session: "s", Step: "c" + id, ID: id, Resource: st.tool, Canonical: st.tool, Agent: act.Agent{ID: "a"}}
	if kind == act.MCPRequest {
		a.InnerMethod = "tools/call"
	}
	for i := 0; i < len(st.args); i += 2 {
		arg, _, _ := strings.Cut(st.args[i], "/")
		a.Content = append(a.Content, act.Leaf{Pointer: "/args/" + st.args[i], Arg: arg, Text: st.args[i+1]})
	}
	return a
}

// TestWrittenBackToItsFile: a notice is stopped where it would take the place of what was
// masked, whatever the way, and is a word like others in other files.
func TestWrittenBackToItsFile(t *testing.T) {
	const (
		line   = "DB=postgres://shop:[password removed]@localhost"
		hidden = "REI9cG9zdGdyZXM6Ly9zaG9wOltwYXNzd29yZCByZW1vdmVkXUBsb2NhbGhvc3Q=" // line
	)
	read := deed{"read", []string{"file_path", "/home/ada/shop/.env"}, line}
	cat := deed{"bash", []string{"command", "cat /home/ada/shop/.env"}, line}
	write := func(path, text string) deed {
		return deed{"write", []string{"file_path", path, "content", text}, ""}
	}
	bash := func(command string) deed { return deed{"bash", []string{"command", command}, ""} }
	for _, test := range []struct {
		name  string
		steps []deed // the last is the one that is asked about
		want  bool
	}{
		{"over the original", []deed{read, write("/home/ada/shop/.env", line)}, true},
		{"in another spelling", []deed{read, write("/home/ada/shop/conf/../.env", line)}, true},
		{"relative", []deed{read, write(".env", line)}, true},
		{"of Windows", []deed{read, write(`C:\Users\ada\shop\.ENV`, line)}, true},
		{"by way of the process's folder", []deed{read, write("/proc/self/cwd/.env", line)}, true},
		{"in capitals", []deed{read, write(".env", strings.ToUpper(line))}, true},
		{"with what is not seen", []deed{read, write(".env", "DB=shop:[pass\u200bword removed]")}, true},
		{"in base64", []deed{read, deed{"write_file", []string{"path", ".env", "content", hidden}, ""}}, true},
		{"in a note elsewhere", []deed{read, write("docs/notes.md", "It says "+line)}, false},
		{"in a test elsewhere", []deed{read, write("mask_test.go", "want := \"[password removed]\"")}, false},
		{"in a message of a commit", []deed{read, bash("git commit -m 'mask: .env reads [password removed]'")}, false},
		{"in what is searched", []deed{read, bash("grep -rn '\\[password removed\\]' docs")}, false},
		{"in another file by the shell", []deed{read, bash("echo 'a .env with [password removed]' > notes.md")}, false},
		{"in a document by a heredoc", []deed{read, bash("cat > notes.md <<'EOF'\n.env has [password removed]\nEOF")}, false},
		{"by the shell", []deed{cat, bash("echo '" + line + "' > /home/ada/shop/.env")}, true},
		{"from its folder", []deed{cat, bash("cd /home/ada/shop && echo '" + line + "' > .env")}, true},
		{"by a heredoc", []deed{cat, bash("cat > .env <<'EOF'\n" + line + "\nEOF")}, true},
		{"by tee", []deed{cat, bash("printf '%s\\n' '" + line + "' | sudo tee .env")}, true},
		{"by sed", []deed{cat, bash("sed -i 's/^DB=.*/DB=[password removed]/' .env")}, true},
		{"by python", []deed{cat, bash("python3 -c \"open('.env','w').write('[password removed]')\"")}, true},
		{"by a pattern", []deed{cat, bash("echo '" + line + "' | tee .e*")}, true},
		{"by a variable", []deed{cat, bash("F=$(ls -a | head -3 | tail -1); echo '" + line + "' > $F")}, true},
		{"decoded", []deed{cat, bash("echo " + hidden + " | base64 -d > .env")}, true},
		{"by a server for files", []deed{read, deed{"write_file", []string{"path", "shop/.env", "content", line}, ""}}, true},
		{"of many", []deed{read, deed{"push_files", []string{"files/0/path", "a", "files/0/content", "x", "files/1/path", ".env", "files/1/content", line}, ""}}, true},
		{"an edit that looks for it", []deed{read, deed{"edit", []string{"file_path", ".env", "old_string", "shop:[password removed]", "new_string", "y"}, ""}}, true},
		{"edits of a server", []deed{read, deed{"edit_file", []string{"path", ".env", "edits/0/oldText", "x", "edits/0/newText", line}, ""}}, true},
		{"an edit of another file", []deed{read, deed{"edit", []string{"file_path", "doc.md", "old_string", "[password removed]", "new_string", "y"}, ""}}, false},
		{"a patch", []deed{read, deed{"apply_patch", []string{"input", "*** Begin Patch\n*** Update File: shop/.env\n@@\n-A=1\n+" + line + "\n*** End Patch\n"}, ""}}, true},
		{"a patch of another", []deed{read, deed{"apply_patch", []string{"input", "*** Begin Patch\n*** Update File: docs/a.md\n@@\n-A=1\n+" + line + "\n*** End Patch\n"}, ""}}, false},
		{"a patch that is kept", []deed{read, write("fix.patch", "--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-A\n+"+line+"\n")}, true},
		{"a script that writes it", []deed{read, write("fix.py", "open('.env','w').write('[password removed]')")}, true},
		{"a file that is moved there", []deed{read, write("/tmp/new", line), bash("mv /tmp/new .env")}, true},
		{"a file that is copied there", []deed{read, write("/tmp/new", line), bash("cd /home/ada && cp -f /tmp/new shop/.env")}, true},
		{"a file that is poured there", []deed{read, write("/tmp/new", line), bash("cat /tmp/new > .env")}, true},
		{"a file that is moved there in steps", []deed{read, write("/tmp/new", line), bash("mv /tmp/new other"), bash("install -m 600 other .env")}, true},
		{"a file that a server moves", []deed{read, write("/tmp/new", line), deed{"move_file", []string{"source", "/tmp/new", "destination", ".env"}, ""}}, true},
		{"a file that was mended", []deed{read, write("/tmp/new", line), write("/tmp/new", "A=1"), bash("mv /tmp/new .env")}, false},
		{"a file that is moved elsewhere", []deed{read, write("/tmp/new", line), bash("mv /tmp/new docs/notes.md")}, false},
		{"over a copy", []deed{read, bash("cp .env .env.bak"), write(".env.bak", line)}, true},
		{"of a copy", []deed{bash("cp .env /tmp/look"), deed{"read", []string{"file_path", "/tmp/look"}, line}, write(".env", line)}, true},
		{"of a copy that was poured", []deed{bash("cat .env > look"), deed{"read", []string{"file_path", "look"}, line}, write(".env", line)}, true},
		{"by a link", []deed{bash("ln -s .env e"), read, write("e", line)}, true},
		{"after a new name", []deed{read, bash("mv .env prod.env"), write("prod.env", line)}, true},
		{"after a folder was read", []deed{deed{"bash", []string{"command", "grep -rn DB ."}, line}, write("any.conf", line)}, true},
		{"of what no file is named by", []deed{deed{"get_config", nil, line}, write("any.conf", line)}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, kind := range []act.Kind{act.ToolCall, act.MCPRequest} {
				s, last := &State{Known: true}, len(test.steps)-1
				var writes []Write
				apply := func(a *act.Action, effect act.Effect, edits []act.Edit) {
					s.Check(a, nil)
					st := s.Step(a, effect)
					s.Masked(st, a, edits)
					s.Touched(st, a, hazard.Read(a))
					writes = append([]Write{{Data: st.Append(nil)}}, writes...)
					s.Apply(st)
				}
				for i, one := range test.steps[:last] {
					a := one.call(kind, strconv.Itoa(i))
					apply(a, act.Allow, nil)
					result := &act.Action{Kind: act.ToolResult, At: a.At, Session: "s", Step: "r" + a.ID, Answers: a.ID, Agent: a.Agent,
						Content: []act.Leaf{{Pointer: "/x", Text: "DB=postgres://shop:swordfish@localhost, and it says [password removed]"}}}
					if kind == act.MCPRequest {
						result.Kind = act.MCPResponse
					}
					if one.shown == "" {
						apply(result, act.Allow, nil)
						continue
					}
					apply(result, act.Modify, []act.Edit{{Pointer: "/x", Value: rawjson.Quote(one.shown + ", and it says [password removed]")}})
				}
				restored, err := Restore(writes, true)
				if err != nil {
					t.Fatal(err)
				}
				for i, state := range []*State{s, restored} {
					v, _ := state.Check(test.steps[last].call(kind, "last"), nil)
					if got := slices.ContainsFunc(v, func(v act.Violation) bool { return v.Check == "mask.written_back" }); got != test.want {
						t.Errorf("%s, restored %d times: %v, %+v", kind, i, got, v)
					}
				}
			}
		})
	}
}

// TestWrittenBackByPlace: on one machine the file itself counts, whatever it is called: by a
// link it is the same, and another of its name is another. Where a place is not known the
// name counts.
func TestWrittenBackByPlace(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"shop/.env", "other/.env", "shop/plain"} {
		if err := os.MkdirAll(filepath.Dir(dir+"/"+name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+"/"+name, []byte("DB=x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{os.Symlink("shop/.env", dir+"/soft"), os.Link(dir+"/shop/.env", dir+"/hard"), os.Symlink("shop", dir+"/folder")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	const line = "DB=postgres://shop:[password removed]@localhost"
	read := func(path string) deed { return deed{"read", []string{"file_path", path}, line} }
	write := func(path string) deed {
		return deed{"write", []string{"file_path", path, "content", line}, ""}
	}
	bash := func(command string) deed { return deed{"bash", []string{"command", command}, ""} }
	for _, test := range []struct {
		name  string
		first deed
		last  deed
		want  bool
		blind bool // nobody looks at the files
	}{
		{"itself", read(dir + "/shop/.env"), write(dir + "/shop/.env"), true, false},
		{"relative", read("shop/.env"), write(dir + "/shop/../shop/.env"), true, false},
		{"another of its name", read(dir + "/shop/.env"), write(dir + "/other/.env"), false, false},
		{"another of its name that is not there", read("shop/.env"), write("new/.env"), false, false},
		{"another, by the shell", bash("cat shop/.env"), bash("echo '" + line + "' > other/.env"), false, false},
		{"itself, by the shell", bash("cat shop/.env"), bash("echo '" + line + "' > shop/.env"), true, false},
		{"a link that was there", read(dir + "/shop/.env"), write(dir + "/soft"), true, false},
		{"a name that was there", read(dir + "/shop/.env"), write("hard"), true, false},
		{"by a folder's link", read(dir + "/shop/.env"), write("folder/.env"), true, false},
		{"what was read by a link", read("soft"), write("shop/.env"), true, false},
		{"what was read by another name", read("hard"), write("shop/.env"), true, false},
		{"a file of another name", read("shop/.env"), write("shop/plain"), false, false},
		{"from a folder that is not known", bash("cd shop && cat .env"), write("other/.env"), true, false},
		{"on another machine", read("current/.env"), write("releases/5/.env"), true, false},
		{"nobody looks", read("shop/.env"), write("other/.env"), true, true},
	} {
		s := &State{Known: true}
		in := func(d deed, id string) *act.Action {
			a := d.call(act.ToolCall, id)
			a.Folder, a.Places = dir, links.Places
			if test.blind {
				a.Places = nil
			}
			return a
		}
		call := in(test.first, "1")
		s.Check(call, nil)
		st := s.Step(call, act.Allow)
		s.Touched(st, call, hazard.Read(call))
		s.Apply(st)
		result := &act.Action{Kind: act.ToolResult, At: call.At, Session: "s", Step: "r1", Answers: "1", Agent: call.Agent, Content: []act.Leaf{{Pointer: "/x", Text: "DB=postgres://shop:swordfish@localhost"}}}
		s.Check(result, nil)
		st = s.Step(result, act.Modify)
		s.Masked(st, result, []act.Edit{{Pointer: "/x", Value: rawjson.Quote(line)}})
		s.Apply(st)
		v, _ := s.Check(in(test.last, "2"), nil)
		if got := slices.ContainsFunc(v, func(v act.Violation) bool { return v.Check == "mask.written_back" }); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// TestWrittenBackToServices: what was masked when it was read is not given back as a value,
// by whatever tool or program; a sentence may speak of it, and a search look for it.
func TestWrittenBackToServices(t *testing.T) {
	const notice = "[password removed]"
	shown := []deed{
		{"read", []string{"file_path", "/home/ada/shop/.env"}, "DB=shop:" + notice}, {"get_config", []string{"name", "db"}, `{"password":"` + notice + `"}`},
		{"bash", []string{"command", "curl -s https://svc.example/config"}, "password: " + notice},
	}
	bash := func(command string) deed { return deed{"bash", []string{"command", command}, ""} }
	given := []deed{
		{"update_config", []string{"name", "db", "value", notice}, ""}, {"update_config", []string{"settings/password", notice}, ""}, {"update_config", []string{"config", `{"user":"a b","password":"` + notice + `"}`}, ""},
		{"set_secret", []string{"key", "DB", "secret", "postgres://shop:" + notice + "@db/shop"}, ""}, {"http_request", []string{"method", "PUT", "url", "https://svc.example/config", "body", `{"password":"` + notice + `"}`}, ""},
		{"save_settings", []string{"yaml", "user: ada\npassword: " + notice + "\n"}, ""}, {"deploy", []string{"env/DB_PASSWORD", notice}, ""}, {"deploy", []string{"env", "DB_PASSWORD=" + notice + "\nPORT=1"}, ""},
		{"execute_sql", []string{"query", "UPDATE users SET password = '" + notice + "' WHERE id = 1"}, ""}, {"login", []string{"user", "ada", "password", strings.ToUpper(notice)}, ""}, {"http_request", []string{"url", "https://svc.example/set?password=" + url.QueryEscape(notice)}, ""}, {"http_request", []string{"url", "https://svc.example/set?password=" + url.PathEscape(notice)}, ""},
		{"http_request", []string{"method", "POST", "url", "https://svc.example/config", "body", "a=1&password=" + url.QueryEscape(notice)}, ""}, {"save_settings", []string{"xml", "<password>&#91;password removed&#93;</password>"}, ""},
		{"save_settings", []string{"body", `{"password":"\u005bpassword removed\u005d"}`}, ""}, bash("curl -d 'password=" + url.QueryEscape(notice) + "' https://svc.example/config"),
		bash(`curl -X PUT -d '{"password":"` + notice + `"}' https://svc.example/config`), bash("curl -u 'ada:" + notice + "' https://svc.example/"), bash("gh secret set DB --body '" + notice + "'"), bash("vault kv put x/y password='" + notice + "'"),
		bash("docker run -e 'DB_PASSWORD=" + notice + "' app"), bash("kubectl create secret generic db --from-literal='p=" + notice + "'"), bash("psql 'postgres://shop:" + notice + "@localhost/shop' -c 'select 1'"), bash("redis-cli set k '" + notice + "'"),
		bash("curl -X PUT --data-binary @- https://svc.example/config <<'E'\npassword: " + notice + "\nE"), bash("zork configure --password '" + notice + "'"),
	}
	fine := []deed{
		{"send_message", []string{"channel", "x", "text", "The file has " + notice + " in its first line."}, ""}, {"create_issue", []string{"title", "a", "body", "In .env stands " + notice + ", which is not masked elsewhere."}, ""},
		{"search", []string{"query", notice}, ""}, {"grep", []string{"pattern", notice, "path", "docs"}, ""}, {"get_config", []string{"name", "db"}, ""}, {"update_config", []string{"name", "db", "port", "5432"}, ""},
		{"ask_model", []string{"prompt", "Why does the file say " + notice + " and what is meant by it?"}, ""}, {"update_config", []string{"description", "was " + notice + " before we looked at it"}, ""},
		bash("grep -rn '" + notice + "' docs"), bash("echo '" + notice + "'"), bash("git commit -m 'config: the file reads " + notice + " when masked'"), bash("curl -s https://svc.example/config"), bash("gh issue create --title x --body 'It says " + notice + " there.'"),
	}
	for _, door := range []act.Kind{act.ToolCall, act.TaskStart} {
		for _, first := range shown {
			for i, last := range slices.Concat(given, fine) {
				s := &State{Known: true}
				s.Check(first.call(door, "0"), nil)
				step := s.Step(first.call(door, "0"), act.Allow)
				s.Touched(step, first.call(door, "0"), hazard.Read(first.call(door, "0")))
				s.Apply(step)
				result := &act.Action{Kind: act.ToolResult, At: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC), Session: "s", Step: "r", Answers: "0", Agent: act.Agent{ID: "a"}}
				s.Check(result, nil)
				step = s.Step(result, act.Modify)
				s.Masked(step, result, []act.Edit{{Pointer: "/x", Value: rawjson.AppendString(nil, first.shown)}})
				s.Apply(step)
				found := false
				v, _ := s.Check(last.call(door, "9"), nil)
				for _, one := range v {
					found = found || one.Check == "mask.written_back"
				}
				if found != (i < len(given)) {
					t.Errorf("%s %s after %s: %v %q", door, last.tool, first.tool, found, last.args)
				}
			}
		}
	}
}
