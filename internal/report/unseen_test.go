package report

import (
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/internal/hook"
)

// TestUnseen: what is due in a session and does not come is told, and an ordinary session
// is not spoken of.
func TestUnseen(t *testing.T) {
	start := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	step := func(minute int, kind, effect, call string) Step {
		return Step{Time: start.Add(time.Duration(minute) * time.Minute), Kind: kind, Effect: effect, Call: call}
	}
	begins := step(0, "message.system", "allow", "")
	prompt := step(1, "message.user", "allow", "")
	call, result := step(2, "tool.call", "allow", "a"), step(3, "tool.result", "allow", "a")
	says := step(4, "message.agent", "allow", "")
	ends := step(5, "message.system", "allow", "")
	for name, tt := range map[string]struct {
		steps []Step
		after int // minutes after the start
		want  string
	}{
		"a whole turn":                     {[]Step{begins, prompt, call, result, says}, 300, ""},
		"a turn of words alone":            {[]Step{begins, prompt, says}, 300, ""},
		"a model that thinks":              {[]Step{begins, prompt}, 9, ""},
		"a prompt and nothing":             {[]Step{begins, prompt}, 12, "followed by nothing"},
		"a prompt and the session's end":   {[]Step{begins, prompt, ends}, 300, ""},
		"a prompt that was blocked":        {[]Step{begins, step(1, "message.user", "deny", "")}, 300, ""},
		"a command that works":             {[]Step{begins, prompt, call}, 11, ""},
		"a call without its result":        {[]Step{begins, prompt, call, says}, 300, "1 allowed call no result"},
		"a call that was denied":           {[]Step{begins, prompt, step(2, "tool.call", "deny", "a"), says}, 300, ""},
		"two calls of like names":          {[]Step{begins, prompt, call, step(2, "mcp.request", "modify", "b"), result}, 300, "1 allowed call no result"},
		"a result without its call":        {[]Step{begins, prompt, result, says}, 300, "1 result came without a call"},
		"records that begin in the middle": {[]Step{result, says}, 300, ""},
		"long ago":                         {[]Step{begins, prompt}, 3000, ""},
		"nothing":                          {nil, 0, ""},
	} {
		s := &Session{ID: "codex:1", Agent: "codex", Steps: tt.steps}
		if n := len(tt.steps); n > 0 {
			s.Began, s.Ended = tt.steps[0].Time, tt.steps[n-1].Time
		}
		got := strings.Join(s.Unseen(start.Add(time.Duration(tt.after)*time.Minute)), "; ")
		if !strings.Contains(got, tt.want) || (tt.want == "") != (got == "") {
			t.Errorf("%s: %q, and should hold %q", name, got, tt.want)
		}
	}
	if got := (&Session{ID: "codex:" + hook.ProofSession, Steps: []Step{begins, prompt}}).Unseen(start.Add(time.Hour)); got != nil {
		t.Errorf("install's proof: %q", got)
	}
}

// TestUnseenProcesses: an agent's process that runs without events is told of.
func TestUnseenProcesses(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	seen := []*Session{{ID: "codex:1", Agent: "codex", Ended: now.Add(-20 * time.Minute)}}
	for name, tt := range map[string]struct {
		process hook.Process
		want    bool
	}{
		"began before the last event": {hook.Process{Agent: "codex", PID: 1, Began: now.Add(-time.Hour)}, false},
		"began after it":              {hook.Process{Agent: "codex", PID: 1, Began: now.Add(-15 * time.Minute)}, true},
		"began just now":              {hook.Process{Agent: "codex", PID: 1, Began: now.Add(-time.Minute)}, false},
		"another agent's events":      {hook.Process{Agent: "gemini", PID: 1, Began: now.Add(-time.Hour)}, true},
		"a time that is not known":    {hook.Process{Agent: "gemini", PID: 1}, false},
	} {
		if got := UnseenProcesses([]hook.Process{tt.process}, seen, now); (len(got) > 0) != tt.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
