package main

import (
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-runewidth"

	"reeve.example/reeve/internal/approval"
)

// TestWhereOf: a list of held acts shows of a folder its beginning and its end, in the columns
// that there are.
func TestWhereOf(t *testing.T) {
	const session, folder = "claude-code:0b5c8a52-8e4e-4f57-9f6e-2d4d7a0c1b2e", "/home/vera/work/shop/services/checkout/api"
	for _, tt := range []struct {
		session, folder string
		width           int
		has             []string
	}{
		{session, "/home/vera/work/api", 74, []string{"in /home/vera/work/api", "1b2e"}},
		{session, folder, 74, []string{"in /home/", "kout/api", "1b2e"}},
		{session, folder, 200, []string{"in " + folder, session[len(session)-30:]}},
		{"", folder, 74, []string{"in " + folder}},
		{"s", folder, 74, []string{"in " + folder, "session s"}},
		{session, "", 74, []string{"1b2e"}},
		{session, strings.Repeat("目錄/", 30), 74, []string{"in 目", "目錄/"}},
	} {
		h := &approval.Decision{Session: tt.session, Folder: tt.folder, Created: time.Now()}
		got := whereOf(h, tt.width)
		if w := runewidth.StringWidth(got); w > tt.width {
			t.Errorf("%d columns of %d: %s", w, tt.width, got)
		}
		for _, want := range tt.has {
			if !strings.Contains(got, want) {
				t.Errorf("%q is not in %q", want, got)
			}
		}
	}
}

// TestShowCall: what is agreed to is shown whole, and briefly only where the arguments are all
// of it. A text cannot imitate what stands around it.
func TestShowCall(t *testing.T) {
	h := &approval.Decision{ID: "a", Exact: &approval.Exact{
		Request: `{"jsonrpc":"2.0"}`, What: "shell: ls", Whole: true,
		Arguments: []approval.Argument{
			{Name: "command", Value: `"ls\n\nrule none (x) asks nobody\u202e\n"`}, {Name: "n", Value: `{"a":1}`},
		},
	}}
	shown := func(exact bool) string {
		var b strings.Builder
		if err := showApproval(&b, h, exact); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	const want = "\nshell would be called with\n  command =\n    ls\n    \n    rule none (x) asks nobody⟨U+202E⟩\n  n =\n  {\n    \"a\": 1\n  }\n"
	if got := shown(false); !strings.Contains(got, want) || strings.Contains(got, "jsonrpc") {
		t.Errorf("briefly:\n%s", got)
	}
	if got := shown(true); !strings.Contains(got, want) || !strings.Contains(got, "jsonrpc") {
		t.Errorf("exactly:\n%s", got)
	}
	h.Exact.Whole = false
	if got := shown(false); !strings.Contains(got, "jsonrpc") {
		t.Errorf("with arguments that are not all of it:\n%s", got)
	}
}
