//go:build unix

package agent

import (
	"context"
	"strings"
	"testing"
	"time"
)

func TestShellIsStopped(t *testing.T) {
	g := newGuardian(t, func(string, string) map[string]any { return nil })
	a, _ := newAgent(t, g)
	t.Setenv("AGENT_TEST_SECRET", "sesame")
	if s := do(t, a, call("shell", "command", "env")); strings.Contains(s.Text, "sesame") {
		t.Error("commands get the agent's environment")
	}
	if s := do(t, a, call("shell", "command", "yes | head -c 1000000")); len(s.Text) < maxOutput-1 || len(s.Text) > maxOutput || s.Failed {
		t.Errorf("%d bytes of output, failed %v", len(s.Text), s.Failed)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := a.Do(ctx, call("shell", "command", "sleep 30 & sleep 30")); err == nil {
		t.Error("an ended context is no error")
	}
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("the command ran on for %s", took)
	}
}
