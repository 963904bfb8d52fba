package reeve

import (
	"strings"
	"testing"
)

// TestNoticeSettings: what can be seen to be wrong is refused before anything is touched,
// and what cannot be used now keeps no node from its work.
func TestNoticeSettings(t *testing.T) {
	for setting, want := range map[string]string{
		"approvals-notify-webhooks=ftp://x":                   "approvals.notify.webhooks: a webhook is an http or https URL",
		"approvals-notify-webhooks=irc=https://x.example":     "approvals.notify.webhooks",
		"approvals-notify-webhooks=slack=https://x.example/y": "",
		"approvals-notify-webhooks=teams=env:NOTHING":         "",
		"approvals-notify-smtp=mail.example":                  "approvals.notify.smtp",
		"approvals-notify-to=a@b.example":                     "need approvals.notify.smtp",
		"approvals-notify-desktop=true":                       "",
	} {
		flag, value, _ := strings.Cut(setting, "=")
		c, err := Load("", func(string) string { return "" }, map[string]string{flag: value})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", setting, err)
			continue
		}
		if strings.Contains(value, "NOTHING") {
			if targets, errs := c.noticeTargets(); len(targets) != 0 || len(errs) != 1 {
				t.Errorf("%s: %v, %v", setting, targets, errs)
			}
		}
	}
}
