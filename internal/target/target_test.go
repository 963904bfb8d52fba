package target

import (
	"fmt"
	"strings"
	"testing"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/linear"
	"reeve.example/reeve/internal/rawjson"
)

// call makes a call of a tool with arguments, of which each is a name and its JSON.
func call(tool string, arguments ...string) *act.Action {
	a := &act.Action{Door: "aos", Kind: act.ToolCall, Resource: tool, Canonical: tool, Agent: act.Agent{ID: "a"}, Session: "s"}
	body := []byte(`{`)
	for i := 0; i < len(arguments); i += 2 {
		name, value := arguments[i], arguments[i+1]
		a.Arguments = append(a.Arguments, act.Argument{Name: name, Value: []byte(value), Pointer: "/" + name})
		if doc, err := rawjson.Parse([]byte(value)); err == nil {
			for v := range doc.Root().Strings() {
				a.Content = append(a.Content, act.Leaf{Pointer: "/" + name + v.Pointer(), Text: v.Text(), Arg: name})
			}
		}
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, fmt.Sprintf("%q:%s", name, value)...)
	}
	a.Body = append(body, '}')
	return a
}

func TestWhat(t *testing.T) {
	masked := call("transfer", "to", `"Birch"`, "card", `"4000000000000002"`)
	mcp := call("create_issue", "title", `"It fails"`)
	mcp.Kind, mcp.InnerMethod, mcp.Server = act.MCPRequest, "tools/call", "github"
	said := call("")
	said.Kind, said.Content = act.MessageAgent, []act.Leaf{{Pointer: "/m", Text: "hello"}, {Pointer: "/id", Text: "7", Fixed: true}}
	for _, tt := range []struct {
		a      *act.Action
		masked string
		want   string
	}{
		{call("shell", "description", `"Publish it"`, "command", `"npm publish"`), "", "shell: npm publish description=Publish it"},
		{call("write_file", "path", `"src/a.ts"`, "content", `"`+strings.Repeat("x", 2000)+`"`), "", "write_file: path=src/a.ts content=(2000 bytes)"},
		{call("transfer", "amount", `100`, "to", `["Birch","Oak"]`), "", `transfer: amount=100 to=["Birch","Oak"]`},
		{masked, `{"to":"Birch","card":"****"}`, "transfer: to=Birch card=****"},
		{masked, `no JSON`, "transfer"},
		{mcp, "", "github/create_issue: title=It fails"},
		{said, "", "message.agent: hello"},
		{call("shell", "command", `"`+strings.Repeat("x", 5000)+`"`), "", "shell: " + strings.Repeat("x", maxWhat-len("shell: ")) + "…"},
	} {
		var masked []byte
		if tt.masked != "" {
			masked = []byte(tt.masked)
		}
		if got := What(tt.a, masked); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

// TestThreat10HeldActs: what is looked at of an act that people are asked about costs no more than in proportion to it.
func TestThreat10HeldActs(t *testing.T) {
	for _, name := range []string{"n%d", "nxxxxxxxxxxxxx%d", "path%d", "command%d"} {
		for _, value := range []string{"%d", `"b%d"`, `"src/b%d.go"`, `"ls b%d"`} {
			linear.Check(t, name+" "+value, 1500, func(n int) func() {
				var arguments []string
				for i := range n {
					arguments = append(arguments, fmt.Sprintf(name, i), fmt.Sprintf(value, i))
				}
				a := call("pay", arguments...)
				a.Folder = "/"
				return func() {
					What(a, nil)
					Parts(a)
					Of(a, &act.Decision{}, false).Look()
				}
			})
		}
	}
}
