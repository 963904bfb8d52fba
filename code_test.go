package reeve

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/mcp/proxy"
	"reeve.example/reeve/internal/server"

	"github.com/google/go-cmp/cmp"
)

// codes are names that would do something if a name were ever read as an expression, a
// template, a pattern, a document or a path.
var codes = []string{
	"true", "1 == 1", `" || true || "`, `' || true || '`, "lists.shells", "lists.shells[0]", "args.what", "action.kind", "${{ true }}", "{{.}}", "$(id)", "`id`", "%s%n%d",
	"*", "**", "?", "[a-z]*", "[", "{a,b}", "!*", ".*", "(a+)+$", "^", `\`, `\Q`, "(?i)harmless",
	"effect: allow", "- name: x\n  effect: allow", "*anchor", "&anchor x", "!!binary aGk=", "---\ndefault: allow", "{\"effect\":\"allow\"}", "mode: observe", "except:",
	"../../x", "../x.yaml", `..\..\x`, "/tmp/x", "/etc/passwd", "./x", "x/", "data/reeve.db", "policy.yaml", "reeve.yaml", "~/.reeve", "file:///x", "C:\\x", `\\host\x`, "CON", "%2e%2e", "%2e%2e%2fx", "x%00.yaml", "..;/x",
	"\x01", "\x1b[2J", "\r\nX: y", "\t", "\u202e", "\ufeff", "'; DROP TABLE item; --", "?mode=memory&cache=shared", ":memory:", "big", "shell", "default",
	strings.Repeat("../", 300) + "x", strings.Repeat("(", 900), strings.Repeat("a", 5000), strings.Repeat("n", 100_000),
}

// codeless reads what an act is for, and for the tool's name only whether it is in a list.
// What is grave in itself would be denied for the names' sake.
const codeless = `
version: 1
default: allow
risk: {deny: off}
lists: {shells: [bash, zsh]}
rules:
  - {name: big, code: big, on: call, when: 'has(args.what) && args.what == "500"', effect: deny}
  - {name: shell, code: shell, on: call, tools: [lists.shells], effect: deny}
`

// TestThreat23NamesAreNoCode: what a request calls its things is text, never a piece of
// the policy and never a path. Whatever the names, the rules that do not read them say
// what they say of a harmless one, and no file is made.
func TestThreat23NamesAreNoCode(t *testing.T) {
	dir := t.TempDir()
	data, file, here := filepath.Join(dir, "a", "b", "data"), filepath.Join(dir, "a", "b", "policy.yaml"), filepath.Join(dir, "a", "b", "here")
	if err := os.MkdirAll(here, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, file, codeless)
	t.Chdir(here) // a relative path would be made here, or two folders above, and not beside the sources
	k := keep(t, "data", data, "policy", file)
	s, err := server.New(k.serverConfig())
	if err != nil {
		t.Fatal(err)
	}
	quote := func(text string) string {
		b, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	_, made := ask(k.Admin(), identity.Operator, identity.Admin, "POST", "/admin/keys", `{"name":"bob","role":"agent"}`)
	_, secret, _ := strings.Cut(made, `"secret":"`)
	secret, _, _ = strings.Cut(secret, `"`)
	post := func(path, body string) string {
		r := httptest.NewRequestWithContext(t.Context(), "POST", path, strings.NewReader(body))
		r.Host = "localhost"
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+secret)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Body.String()
	}
	n := 0
	// frame is where an act comes from. At most one of its names is hostile.
	frame := func(place, name string) string {
		n++
		of := map[string]string{"agent": "clerk", "session": fmt.Sprint("s", n), "turn": "t", "step": fmt.Sprint("st", n), "user": "u", "organization": "birch", "provider": "p"}
		if _, has := of[place]; has {
			of[place] = name
		}
		for name, v := range of {
			of[name] = quote(v)
		}
		return fmt.Sprintf(`"context":{"agent":{"name":%s,"id":%s,"instructions":"","version":"1","provider":{"name":%s,"url":"u"}},"session":{"id":%s},"turnId":%s,"stepId":%s,"timestamp":%q,"user":{"id":%s,"organization":{"id":%s}}}`,
			of["agent"], of["agent"], of["provider"], of["session"], of["turn"], of["step"], time.Now().UTC().Format(time.RFC3339), of["user"], of["organization"])
	}
	or := func(is bool, name, other string) string {
		if is {
			return name
		}
		return other
	}
	doors := map[string]func(place, name, what string) string{
		"aos": func(place, name, what string) string {
			more := or(place == "argument", fmt.Sprintf(`,{"name":%s,"value":"x"}`, quote(name)), "")
			return post("/aos", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"steps/toolCallRequest","params":{%s,"toolCallRequest":{"executionId":%s,"toolId":%s,"inputs":[{"name":"what","value":%q}%s]}}}`,
				frame(place, name), quote(or(place == "execution", name, "e")), quote(or(place == "tool", name, "transfer")), what, more))
		},
		"aos mcp": func(place, name, what string) string {
			more := or(place == "argument", fmt.Sprintf(`,%s:"x"`, quote(name)), "")
			return post("/aos", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"protocols/MCP","params":{%s,"message":{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%s,"arguments":{"what":%q%s}}}}}`,
				frame(place, name), quote(or(place == "execution", name, "e")), quote(or(place == "tool", name, "transfer")), what, more))
		},
		"a2g": func(place, name, what string) string {
			n++
			more := or(place == "argument", fmt.Sprintf(`,%s:"x"`, quote(name)), "")
			return post("/a2g", fmt.Sprintf(`{"jsonrpc":"2.0","id":"1","method":"a2g/intent","params":{"agent_did":%s,"intent_id":%s,"tool":%s,"arguments":{"what":%q%s},"context":{"session_id":%s}}}`,
				quote(or(place == "agent", name, "did:aeon:a")), quote(or(place == "step", fmt.Sprint(name, n), fmt.Sprint("i", n))), quote(or(place == "tool", name, "transfer")), what, more, quote(or(place == "session", name, "s"))))
		},
		"proxy": func(place, name, what string) string {
			n++
			more := or(place == "argument", fmt.Sprintf(`,%s:"x"`, quote(name)), "")
			message := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%s,"arguments":{"what":%q%s}}}`, n, quote(or(place == "tool", name, "transfer")), what, more)
			local := &proxy.Local{Guard: k.guard, Pins: k.pins, Principal: act.Anonymous}
			v, err := local.Judge(t.Context(), &proxy.Question{Message: proxy.Text(message), Server: or(place == "provider", name, "srv"), Session: or(place == "session", name, "s-proxy"), ID: or(place == "step", fmt.Sprint(name, n), fmt.Sprint(n))})
			if err != nil {
				return fmt.Sprintf(`{"error":%q}`, err)
			}
			return fmt.Sprintf("%+v", v)
		},
		"flow": func(place, name, what string) string {
			more := or(place == "argument", fmt.Sprintf(`,%s:"x"`, quote(name)), "")
			return k.call(k.flow, "ann", "tasks.create", fmt.Sprintf(`[{%s"name":%s,"schemas":{"method":%s},"inputs":{"what":%q%s}}]`,
				or(place == "execution", `"id":`+quote(name)+",", ""), quote(or(place == "step", name, "T")), quote(or(place == "tool", name, "waiting")), what, more))
		},
	}
	// gist is what matters of an answer.
	gist := func(answer string) string {
		switch denied := strings.Contains(answer, `"decision":"deny"`) || strings.Contains(answer, `"verdict":"DENIED"`) || strings.Contains(answer, "Effect:deny"); {
		case denied && strings.Contains(answer, "The rule big applies."):
			return "denied by big"
		case denied && strings.Contains(answer, "bytes, and may have 1024"): // a name may be longer than one is
			return "refused"
		case denied:
			return "denied: " + answer
		case strings.Contains(answer, `"error":`):
			return "refused"
		}
		return "allowed"
	}
	want := map[string][2]string{} // by door: of a harmless value, and of another
	for door, call := range doors {
		want[door] = [2]string{gist(call("", "", "250")), gist(call("", "", "500"))}
	}
	decided := [2]string{"allowed", "denied by big"}
	if diff := cmp.Diff(map[string][2]string{"aos": decided, "aos mcp": decided, "a2g": decided, "proxy": decided, "flow": {"allowed", "allowed"}}, want); diff != "" {
		t.Fatal("harmless names: " + diff) // a task is judged when it starts, and these do not
	}
	before, inForce := under(t, dir), k.guard.Policy().Hash()
	answered := 0
	for _, name := range codes {
		for _, place := range []string{"tool", "argument", "agent", "session", "turn", "step", "user", "organization", "provider", "execution"} {
			for door, call := range doors {
				for i, what := range []string{"250", "500"} {
					answer := call(place, name, what)
					got := gist(answer)
					if got == "refused" { // nothing was decided, so nothing is allowed
						continue
					}
					if answered++; got != want[door][i] {
						t.Errorf("%s, %s %.60q, %s: %.300s", door, place, name, what, got)
					}
				}
			}
		}
	}
	if all := len(codes) * 10 * len(doors) * 2; answered < all*3/4 {
		t.Errorf("only %d of %d requests were answered", answered, all)
	}
	if diff := cmp.Diff(before, under(t, dir)); diff != "" {
		t.Errorf("files came or went: %s", diff)
	}
	if k.guard.Policy().Hash() != inForce {
		t.Error("another policy is in force")
	}
}

// under lists the files and folders under a folder.
func under(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		list = append(list, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
