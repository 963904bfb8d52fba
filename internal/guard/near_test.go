package guard_test

import (
	"path/filepath"
	"strings"
	"testing"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/approval"
)

// TestNearGrant: who is asked although something like it was agreed to is told which agreement that is, and
// why it does not hold; what a command is given is not told.
func TestNearGrant(t *testing.T) {
	n, dir := codingAgents(t)
	for i, tt := range []struct{ command, folder, says string }{
		{"npm publish --registry https://r.acme.example", "", "--registry"},
		{"npm unpublish left-pad", "", "unpublish"},
		{"npm publish", "x", "folder"},
	} {
		session := string(rune('a' + i))
		grant := n.grants(t, tool(session, "1", "shell", dir, "command", "npm publish"), approval.Span{Session: true})
		d, _ := n.decide(t, tool(session, "2", "shell", filepath.Join(dir, tt.folder), "command", tt.command))
		said := ""
		for _, r := range d.Reasons {
			said += r.Message
		}
		if d.Effect != act.Escalate || !strings.Contains(said, grant.Grant+" stands near") || !strings.Contains(said, tt.says) || strings.Contains(said, "acme") {
			t.Errorf("%s: %v %q", tt.command, d.Effect, said)
		}
	}
	d, _ := n.decide(t, tool("other", "1", "shell", dir, "command", "npm publish --tag next"))
	for _, r := range d.Reasons {
		if strings.Contains(r.Message, "stands near") {
			t.Errorf("another session is told of an agreement: %q", r.Message)
		}
	}
	n.grants(t, tool("risk", "1", "shell", dir, "command", "git clean -fdx"), approval.Span{Session: true})
	if d, _ := n.decide(t, tool("risk", "2", "shell", dir, "command", "terraform destroy")); strings.Contains(d.Reasons[0].Message, "stands near") {
		t.Errorf("an agreement to something else is told of: %q", d.Reasons[0].Message)
	}
}
