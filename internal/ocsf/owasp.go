package ocsf

import (
	"slices"
	"strings"
)

// categories are what reasons belong to in OWASP's Top 10 for Agentic Applications, by the
// beginnings of their codes. The longest that fits counts; a policy's own codes belong to
// what their beginnings say, or to nothing.
var categories = map[string]string{
	"flow": "ASI01", "taint": "ASI01", "session.tainted": "ASI01", "injection": "ASI01", "mask": "ASI01",
	"tool": "ASI02", "limits": "ASI02", "constitution": "ASI02", "destroy": "ASI02", "exfil": "ASI02", "file": "ASI02", "network": "ASI02",
	"path": "ASI02", "sql": "ASI02", "url": "ASI02", "transfer": "ASI02", "pii": "ASI02", "input": "ASI02", "command": "ASI02",
	"secret": "ASI03", "file.credentials": "ASI03", "priv": "ASI03", "network.metadata": "ASI03", "url.metadata": "ASI03", "user": "ASI03", "session.shared": "ASI03",
	"mcp": "ASI04", "shell.download_run": "ASI04", "shell.download_and_run": "ASI04", "ask.install": "ASI04", "package": "ASI04",
	"shell": "ASI05", "code": "ASI05", "sql.execute": "ASI05",
	"memory": "ASI06", "citation": "ASI06",
	"reply": "ASI07", "result": "ASI07", "order": "ASI07", "id": "ASI07", "time": "ASI07",
	"call.loop": "ASI08", "session.rate": "ASI08", "quota": "ASI08", "shell.fork_bomb": "ASI08",
	"ask": "ASI09", "approval_denied": "ASI09", "approval_expired": "ASI09", "approval_impossible": "ASI09",
	"guardian": "ASI10", "agent": "ASI10", "persist": "ASI10", "log": "ASI10", "habits": "ASI10", "report": "ASI10",
}

// Category is what a reason's code belongs to, such as ASI05; empty for nothing.
func Category(code string) string {
	code = strings.TrimPrefix(code, "risk.") // what a detector found, as the policy of grave risks names it
	for {
		if c := categories[code]; c != "" {
			return c
		}
		dot := strings.LastIndexByte(code, '.')
		if dot < 0 {
			return ""
		}
		code = code[:dot]
	}
}

// categoriesOf are what a decision's codes and threats belong to, each once, in order.
func categoriesOf(codes, threats []string) (list []string) {
	for _, code := range codes {
		if c := Category(code); c != "" {
			list = append(list, c)
		}
	}
	for _, threat := range threats {
		if c, _, _ := strings.Cut(threat, " "); len(c) >= 5 && strings.HasPrefix(c, "ASI") {
			list = append(list, strings.TrimRight(c, ":"))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
