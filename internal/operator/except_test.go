package operator

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/replay"
)

// toolCall is a call of a tool with arguments in their order.
func toolCall(tool, server string, args ...string) *act.Action {
	a := &act.Action{Kind: act.ToolCall, At: time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC), Tool: &act.Tool{Name: tool}, Canonical: tool, Resource: tool, Server: server}
	for i := 0; i < len(args); i += 2 {
		pointer := "/arguments/" + args[i]
		a.Arguments = append(a.Arguments, act.Argument{Name: args[i], Value: []byte(args[i+1]), Pointer: pointer})
		var text string
		if json.Unmarshal([]byte(args[i+1]), &text) == nil {
			a.Content = append(a.Content, act.Leaf{Pointer: pointer, Arg: args[i], Text: text})
		}
	}
	return a
}

// TestThreat17ExceptionIsExact: the exception that reeve why --allow writes lets pass the act
// that was refused, and nothing that differs from it in any place.
func TestThreat17ExceptionIsExact(t *testing.T) {
	const rules = "version: 1\ndefault: allow\nrules:\n  - {name: all, on: call, effect: deny}\n"
	for _, tt := range []struct {
		tool, server string
		args         []string
	}{
		{"shell", "", []string{"command", `"make deploy"`}},
		{"shell", "", []string{"command", `"make deploy"`, "cwd", `"/srv/app"`}},
		{"deploy", "ops", []string{"target", `"staging"`, "force", `true`, "count", `3`}},
		{"query", "", []string{"sql", `"DELETE FROM sessions"`}},
	} {
		base := toolCall(tt.tool, tt.server, tt.args...)
		base.Folder = "/home/ada/app"
		d := &DecisionShown{
			Line: ledger.Line{Decision: "0-4", Time: base.At}, again: &replay.Again{Action: base, Exact: true},
			Reasons: []ReasonShown{{Reason: ledger.Reason{Rule: "all", Effect: "deny"}}},
		}
		text, err := d.Except("It was read.", "2027-12-31")
		if err != nil {
			t.Fatal(err)
		}
		set, err := policy.Load(policy.File{Name: "x.yaml", Data: []byte(rules + "except:\n" + text)})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		judge := func(a *act.Action) act.Effect { return set.Evaluate(&policy.Input{Action: a}).Effect }
		if got := judge(base); got != act.Allow {
			t.Fatalf("the act itself: %v\n%s", got, text)
		}
		others := map[string]*act.Action{
			"another tool":   toolCall(tt.tool+"2", tt.server, tt.args...),
			"another server": toolCall(tt.tool, tt.server+"x", tt.args...),
			"no arguments":   toolCall(tt.tool, tt.server),
		}
		if tt.server == "" {
			delete(others, "another server") // it was of none, or of whichever the agent's program has
		}
		for _, extra := range []string{"cwd2", "env", "command2", "script", "stdin", "args", "COMMAND", "shell", "background"} {
			others["one more: "+extra] = toolCall(tt.tool, tt.server, append(slices.Clone(tt.args), extra, `"rm -rf /"`)...)
			others["one before: "+extra] = toolCall(tt.tool, tt.server, append([]string{extra, `"rm -rf /"`}, tt.args...)...)
		}
		for i := 0; i < len(tt.args); i += 2 {
			others["without "+tt.args[i]] = toolCall(tt.tool, tt.server, append(slices.Clone(tt.args[:i]), tt.args[i+2:]...)...)
			others["twice "+tt.args[i]] = toolCall(tt.tool, tt.server, append(slices.Clone(tt.args), tt.args[i], `"rm -rf /"`)...)
			var value any
			_ = json.Unmarshal([]byte(tt.args[i+1]), &value)
			for k, other := range []string{fmt.Sprintf("%q", fmt.Sprint(value)+"; rm -rf /"), fmt.Sprintf("%q", fmt.Sprint(value)+" "), fmt.Sprintf("%q", "\u200b"+fmt.Sprint(value)), fmt.Sprintf("%q", fmt.Sprint(value)+"\n"), `["` + fmt.Sprint(value) + `"]`, `{"x":1}`, `null`, `4`, `false`, `""`} {
				if other == tt.args[i+1] {
					continue
				}
				args := slices.Clone(tt.args)
				args[i+1] = other
				others[fmt.Sprintf("%s, form %d", tt.args[i], k)] = toolCall(tt.tool, tt.server, args...)
			}
		}
		for _, other := range others {
			other.Folder = base.Folder
		}
		for _, folder := range []string{"", "/", "/home/ada", "/home/ada/app2", "/home/ada/app/../prod"} {
			elsewhere := toolCall(tt.tool, tt.server, tt.args...)
			elsewhere.Folder = folder
			others["in the folder "+folder] = elsewhere
		}
		for name, other := range others {
			if got := judge(other); got != act.Deny {
				t.Errorf("%s %v: %s: %v\n%s", tt.tool, tt.args, name, got, text)
			}
		}
	}
}
