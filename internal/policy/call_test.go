package policy

import (
	"slices"
	"strings"
	"testing"

	"reeve.example/reeve/act"
)

// byDoors are one call by each door, what they give, and others that are neither.
var byDoors = map[string]*act.Action{
	"tool.call":   {Kind: act.ToolCall},
	"task.start":  {Kind: act.TaskStart},
	"mcp.request": {Kind: act.MCPRequest, InnerMethod: "tools/call"},
	"prompt":      {Kind: act.MCPRequest, InnerMethod: "prompts/get"},
	"result":      {Kind: act.ToolResult},
	"response":    {Kind: act.MCPResponse},
	"task.result": {Kind: act.TaskResult},
}

// TestOnCall: on: call names the calls of a tool by every door, on: result what they give, and neither anything else.
func TestOnCall(t *testing.T) {
	for _, tt := range []struct {
		on      string
		matches []string
		missing []string // of which policy check warns
	}{
		{"call", []string{"tool.call", "task.start", "mcp.request"}, nil},
		{"[call, mcp.request]", []string{"tool.call", "task.start", "mcp.request", "prompt"}, nil},
		{"tool.call", []string{"tool.call"}, []string{"task.start", "mcp.request"}},
		{`"tool.*"`, []string{"tool.call", "result"}, []string{"task.start", "mcp.request"}},
		{`["t*"]`, []string{"tool.call", "result", "task.start", "task.result"}, []string{"mcp.request"}},
		{"[tool.call, mcp.request]", []string{"tool.call", "mcp.request", "prompt"}, []string{"task.start"}},
		{`["*.call", mcp.request, "*.start"]`, []string{"tool.call", "task.start", "mcp.request", "prompt"}, nil},
		{"result", []string{"result", "response", "task.result"}, nil},
		{"[call, result]", []string{"tool.call", "task.start", "mcp.request", "result", "response", "task.result"}, nil},
		{`"*"`, []string{"tool.call", "task.start", "mcp.request", "prompt", "result", "response", "task.result"}, nil},
		{"tool.result", []string{"result"}, []string{"task.result", "mcp.response"}},
	} {
		set, err := Load(File{Name: "a.yaml", Data: []byte("version: 1\ndefault: allow\nrules: [{name: a, on: " + tt.on + ", tools: [\"*deploy*\"], effect: deny}]")})
		if err != nil {
			t.Fatal(err)
		}
		for name, a := range byDoors {
			a.Canonical = "deploy_app"
			v := set.Evaluate(&Input{Action: a})
			if denied := v.Effect == act.Deny; denied != slices.Contains(tt.matches, name) {
				t.Errorf("on: %s: %s denied: %t", tt.on, name, denied)
			}
			if x := set.Explain(&Input{Action: a}); x.Rules[0].Matched != (v.Effect == act.Deny) {
				t.Errorf("on: %s: %s is explained otherwise than it is judged", tt.on, name)
			}
		}
		warned := set.Warnings().Error()
		if (warned != "") != (tt.missing != nil) {
			t.Errorf("on: %s: warnings %q", tt.on, warned)
		}
		if !strings.Contains(warned, strings.Join(tt.missing, " or ")) {
			t.Errorf("on: %s: the warning %q does not name %v", tt.on, warned, tt.missing)
		}
	}
}

// What lets pass, and what is about no tool, is not warned of.
func TestNoWarnings(t *testing.T) {
	starter, err := Load(Starter()...)
	if err != nil {
		t.Fatal(err)
	}
	if w := starter.Warnings(); w != nil {
		t.Errorf("the starter policy: %v", w)
	}
	set, err := Load(File{Name: "a.yaml", Data: []byte(`version: 1
default: deny
rules:
  - {name: a, on: tool.call, tools: [search], effect: allow}
  - {name: b, on: [tool.call, message.agent], detect: secret, effect: deny}
`)})
	if err != nil {
		t.Fatal(err)
	}
	if w := set.Warnings(); w != nil {
		t.Errorf("warnings: %v", w)
	}
}

// TestLiteralPatterns: what looks like alternatives in a tool's pattern is letters, and would
// let pass what it seems to stop: that is said.
func TestLiteralPatterns(t *testing.T) {
	for pattern, warned := range map[string]bool{"deploy_{app,site}": true, "deploy_[ab]*": true, "deploy_app|deploy_site": true, "deploy_*": false, "deploy_?": false} {
		set, err := Load(File{Name: "p.yaml", Data: []byte("version: 1\ndefault: allow\nrules:\n  - {name: deploys, on: call, tools: ['" + pattern + "'], effect: deny}\n")})
		if err != nil {
			t.Fatal(err)
		}
		if w := set.Warnings(); (w != nil) != warned || warned && !strings.Contains(w.Error(), "no alternatives") {
			t.Errorf("%s: %v", pattern, w)
		}
	}
}
