package hook

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"reeve.example/reeve/act"
	"reeve.example/reeve/aos"
)

func TestAsk(t *testing.T) {
	t.Setenv("REEVE_TEST_KEY", "k")
	const allowed = `{"jsonrpc":"2.0","id":1,"result":{"decision":"allow","message":"Fine.","data":{"decision_id":"0-3"}}}`
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, allowed) }))
	defer elsewhere.Close()
	for name, c := range map[string]struct {
		status int
		header [2]string
		body   string
		want   string // part of the error; empty for none
		gone   bool   // the node counts as unreachable
	}{
		"allowed":     {200, [2]string{}, allowed, "", false},
		"fault":       {200, [2]string{}, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal server error","data":{"reason":"The disk is full."}}}`, "The disk is full.", false},
		"nothing":     {200, [2]string{}, ``, "not acceptable JSON", false},
		"page":        {200, [2]string{}, `<html>`, "not acceptable JSON", false},
		"credential":  {401, [2]string{}, allowed, "--key", false},
		"redirected":  {307, [2]string{"Location", elsewhere.URL}, ``, "307", false},
		"overloaded":  {503, [2]string{}, allowed, "503", true},
		"bad gateway": {502, [2]string{}, allowed, "502", true},
		"too large":   {200, [2]string{}, strings.Repeat(" ", maxDecision+1), "too large", false},
	} {
		t.Run(name, func(t *testing.T) {
			node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if got := r.Header.Get("Authorization"); got != "Bearer k" {
					t.Errorf("the credential is %q", got)
				}
				if c.header[0] != "" {
					w.Header().Set(c.header[0], c.header[1])
				}
				w.WriteHeader(c.status)
				io.WriteString(w, c.body)
			}))
			defer node.Close()
			d, err := Ask(context.Background(), node.URL, "env:REEVE_TEST_KEY", []byte(`{}`))
			if c.want == "" {
				if err != nil || d.Effect != act.Allow || d.ID != "0-3" {
					t.Errorf("%+v, %v", d, err)
				}
				return
			}
			var gone *Unreachable
			if err == nil || !strings.Contains(err.Error(), c.want) || errors.As(err, &gone) != c.gone {
				t.Errorf("%+v, %v", d, err)
			}
		})
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	var u *Unreachable
	if _, err := Ask(context.Background(), gone.URL, "", nil); !errors.As(err, &u) {
		t.Errorf("nobody listens there: %v", err)
	}
}

// What a held call's user agreed to is shown as far as the texts allow; what
// nobody was asked about, and what could not be judged, is withheld.
func TestJudgeResults(t *testing.T) {
	const id = `"session_id":"s","tool_name":"Bash","tool_input":{"command":"deploy"},"tool_use_id":"t"`
	call := `{` + id + `,"hook_event_name":"PreToolUse"}`
	result := `{` + id + `,"hook_event_name":"PostToolUse","tool_response":{"stdout":"done"}}`
	held := &Decision{Effect: act.Escalate, Approval: "a1", Dialogue: true}
	denied := &Decision{Effect: act.Deny, Message: "Not allowed.", Codes: []string{"result.denied"}}
	for name, c := range map[string]struct {
		call, result, read *Decision
		readErr            error
		want               string // in the answer to the result
	}{
		"agreed":                   {held, denied, &Decision{Effect: act.Allow}, nil, "{}\n"},
		"not its user's to answer": {&Decision{Effect: act.Escalate, Approval: "a1"}, denied, &Decision{Effect: act.Allow}, nil, "Not allowed."},
		"agreed, bad":              {held, denied, &Decision{Effect: act.Deny, Message: "Worse."}, nil, "Worse."},
		"agreed, else":             {held, &Decision{Effect: act.Deny, Message: "Both.", Codes: []string{"result.denied", "own"}}, &Decision{Effect: act.Allow}, nil, "Both."},
		"agreed, error":            {held, denied, nil, errors.New("the disk is full"), "the disk is full"},
		"never asked":              {&Decision{Effect: act.Deny}, denied, &Decision{Effect: act.Allow}, nil, "Not allowed."},
	} {
		t.Run(name, func(t *testing.T) {
			ask := func(_ context.Context, request []byte) (*Decision, error) {
				a, err := aos.ActionOf(request)
				if err != nil {
					return nil, err
				}
				switch a.Kind {
				case act.ToolCall:
					return c.call, nil
				case act.ToolResult:
					return c.result, nil
				}
				return c.read, c.readErr
			}
			dir := t.TempDir()
			var last Answer
			for _, input := range []string{call, result} {
				e := event(t, input)
				trail, err := OpenTrail(dir, e)
				if err != nil {
					t.Fatal(err)
				}
				if last, err = Judge(context.Background(), e, trail, ask); err != nil {
					last = e.Refuse(err.Error())
				}
			}
			if got := string(last.Stdout); !strings.Contains(got, c.want) || c.want != "{}\n" && !strings.Contains(got, "withheld") {
				t.Errorf("the answer is %s", got)
			}
		})
	}
}
