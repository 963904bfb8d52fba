package aos

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/wording"

	"github.com/google/go-cmp/cmp"
)

func TestAnswer(t *testing.T) {
	at := act.Position{Log: 2, Index: 41}
	shell := act.Reason{Rule: "no-pipe-to-shell", Code: "shell.pipe", Message: "A download must not be run unread", Instead: "Save it, and read it first", Effect: act.Deny}
	card := act.Reason{Rule: "mask-cards", Code: "pii.card", Message: "A card number was masked.", Effect: act.Modify, Pointer: "/params/memory/0"}
	watch := act.Reason{Rule: "watch-hosts", Code: "egress.host", Message: "An unknown host.", Effect: act.Deny, Observe: true}
	for _, tt := range []struct {
		name     string
		d        act.Decision
		modified string
		want     string
	}{
		{"allow, nothing to say", act.Decision{Effect: act.Allow, Policy: "sha256:ab", Risk: act.Risk{Level: "LOW"}}, "",
			`{"decision":"allow","message":"No rule of the policy speaks against this.","reasoning":"No rule applied, so the policy's default decided: allow.","reasonCode":[],
			"data":{"decision_id":"0-0","policy":"sha256:ab","rules":[],"risk":{"score":0,"level":"LOW","threats":[]},"receipt":"/ledger/0/receipt/0","repeat":false}}`},
		{"deny, with all reasons and what to do instead", act.Decision{Effect: act.Deny, Reasons: []act.Reason{shell, card, shell, watch}, Position: at, Repeat: true, Risk: act.Risk{Score: 0.92, Threats: []string{"shell.pipe"}}}, "",
			`{"decision":"deny","message":"A download must not be run unread.",
			"reasoning":"Rule no-pipe-to-shell (shell.pipe) says deny: A download must not be run unread. Instead: Save it, and read it first. Rule mask-cards (pii.card) says modify: A card number was masked. Rule no-pipe-to-shell (shell.pipe) says deny: A download must not be run unread. Instead: Save it, and read it first. Rule watch-hosts (egress.host) only watches and would say deny: An unknown host. The strictest counts: deny. This act was asked about before, and this is the recorded decision.",
			"reasonCode":["shell.pipe","pii.card"],
			"data":{"decision_id":"2-41","policy":"","rules":["no-pipe-to-shell","mask-cards"],"risk":{"score":0.92,"level":"CRITICAL","threats":["shell.pipe"]},"receipt":"/ledger/2/receipt/41","repeat":true,
			"instead":["Save it, and read it first"],"observed":[{"rule":"watch-hosts","code":"egress.host","effect":"deny","message":"An unknown host."}]}}`},
		{"escalate is deny until a person agrees", act.Decision{Effect: act.Escalate, Reasons: []act.Reason{{Rule: "big-payments", Code: "payment.large", Message: "The payment is large.", Effect: act.Escalate}}, Risk: act.Risk{Level: "LOW"}}, "",
			`{"decision":"deny","message":"The payment is large. A person must agree first.","reasoning":"Rule big-payments (payment.large) says escalate: The payment is large.","reasonCode":["approval_required","payment.large"],
			"data":{"decision_id":"0-0","policy":"","rules":["big-payments"],"risk":{"score":0,"level":"LOW","threats":[]},"receipt":"/ledger/0/receipt/0","repeat":false}}`},
		{"modify", act.Decision{Effect: act.Modify, Reasons: []act.Reason{card}, Risk: act.Risk{Level: "LOW"}}, `{"id":9007199254740993}`,
			`{"decision":"modify","message":"A card number was masked.","reasoning":"Rule mask-cards (pii.card) says modify: A card number was masked.","reasonCode":["pii.card"],
			"data":{"decision_id":"0-0","policy":"","rules":["mask-cards"],"risk":{"score":0,"level":"LOW","threats":[]},"receipt":"/ledger/0/receipt/0","repeat":false},"modifiedRequest":{"id":9007199254740993}}`},
		{"a decision that nobody made", act.Decision{Risk: act.Risk{Score: math.NaN(), Level: "LOW"}}, "",
			`{"decision":"deny","message":"The policy does not allow this.","reasoning":"No rule applied, so the policy's default decided: deny.","reasonCode":[],
			"data":{"decision_id":"0-0","policy":"","rules":[],"risk":{"score":1,"level":"LOW","threats":[]},"receipt":"/ledger/0/receipt/0","repeat":false}}`},
		{"hostile words", act.Decision{Effect: act.Deny, Reasons: []act.Reason{{Rule: "\"\xff\n", Message: "</script>\x00", Effect: act.Deny}}, Risk: act.Risk{Level: "LOW"}}, "",
			`{"decision":"deny","message":"</script>\u0000.","reasoning":"Rule \"\ufffd\n says deny: </script>\u0000.","reasonCode":[],
			"data":{"decision_id":"0-0","policy":"","rules":["\"\ufffd\n"],"risk":{"score":0,"level":"LOW","threats":[]},"receipt":"/ledger/0/receipt/0","repeat":false}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var modified []byte
			if tt.modified != "" {
				modified = []byte(tt.modified)
			}
			raw := appendResult(nil, &tt.d, modified)
			got, err := generic(raw)
			if err != nil {
				t.Fatalf("%v: %s", err, raw)
			}
			want, err := generic([]byte(tt.want))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestAnswerStaysSmall: a policy of thousands of rules that all apply must not
// make an answer's reasoning grow without end.
func TestAnswerStaysSmall(t *testing.T) {
	d := act.Decision{Effect: act.Deny}
	for range 5000 {
		d.Reasons = append(d.Reasons, act.Reason{Rule: "r", Code: "c", Message: strings.Repeat("x", 100), Effect: act.Deny})
	}
	if n := len(reasoningOf(&d)); n > 20_000 {
		t.Errorf("the reasoning has %d bytes", n)
	}
	if n := len(wording.Message(&d)); n > 400 {
		t.Errorf("the message has %d bytes", n)
	}
}

func TestHandle(t *testing.T) {
	ctx := context.Background()
	request := requestOf(t, request3KB())
	var decision act.Decision
	var modified []byte
	var failure error
	var asked *act.Action
	status := errors.New("the disk is full")
	space := Namespace(func(_ context.Context, a *act.Action) (act.Decision, []byte, error) {
		asked = a
		return decision, modified, failure
	}, func() error { return status }, "1.2", func() time.Time { return testTime })

	failure = errors.New("secret cause")
	if result, err := space.Handle(ctx, request); result != nil || err == nil || err.Code != -32603 || err.Message != "Internal server error" || strings.Contains(string(err.Data), "secret") || !json.Valid(err.Data) {
		t.Errorf("a failure is answered %s, %+v", result, err)
	}
	failure = nil
	decision.Effect = act.Modify
	if result, err := space.Handle(ctx, request); result != nil || err == nil || err.Code != -32603 {
		t.Errorf("modify without a modified request is answered %s, %+v", result, err)
	}
	decision.Effect = act.Allow
	modified = []byte(`{}`)
	if result, err := space.Handle(ctx, request); err != nil || strings.Contains(string(result), "modifiedRequest") {
		t.Errorf("allow is answered %s, %+v", result, err)
	}
	if len(asked.Faults) != 0 || asked.Door != "aos" || asked.Method != "steps/toolCallRequest" {
		t.Errorf("%+v", asked)
	}

	ping := requestOf(t, []byte(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"timestamp":"2026-04-02T08:15:00Z"}}`))
	result, err := space.Handle(ctx, ping)
	if want := `{"status":"error","version":"1.2","timestamp":"2026-04-02T08:15:00.000Z"}`; err != nil || string(result) != want {
		t.Errorf("ping of a guardian that cannot record: %s, %v, want %s", result, err, want)
	}
	for method, want := range map[string]bool{
		"steps/message": true, "steps/x": true, "protocols/MCP": true, "ping": true,
		"pings": false, "Steps/message": false, "tasks/get": false, "a2g/intent": false, "": false,
	} {
		if space.Match(method) != want {
			t.Errorf("Match(%q) is %t", method, !want)
		}
	}
	if _, err := space.Handle(ctx, &jsonrpc.Request{Method: "steps/x"}); err == nil || err.Code != -32601 {
		t.Errorf("an unknown step is answered %+v", err)
	}
}
