package agent

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"reeve.example/reeve/aos"

	"github.com/google/go-cmp/cmp"
)

func shown(width int, color bool, st *Step) string {
	var out bytes.Buffer
	s := &Screen{Out: &out, Width: width, Color: color}
	s.Step(st)
	return strings.ReplaceAll(out.String(), "\u00a0", " ")
}

func answer(method, decision, message string, codes []string, changes ...Change) Answer {
	return Answer{method, &aos.Result{Decision: decision, Message: message, ReasonCode: codes,
		Data: aos.Data{Rules: []string{"a-rule"}, Instead: []string{"Ask first."}}}, changes}
}

func TestScreen(t *testing.T) {
	read := call("read_file", "path", "a.txt")
	for name, test := range map[string]struct {
		step Step
		want string
	}{
		"allow": {
			Step{Number: 1, Move: read, Did: "Read 3 bytes.", Answers: []Answer{
				answer("steps/toolCallRequest", aos.Allow, "Fine.", nil), answer("steps/toolCallResult", aos.Allow, "Fine.", nil)}},
			`
   1  ALLOW   read_file  a.txt
              Fine. (a-rule) → Read 3 bytes.

`,
		},
		"deny": {
			Step{Number: 12, Move: read, Did: "Not done.", Answers: []Answer{
				answer("steps/toolCallRequest", aos.Deny, "No, and this is a long sentence that says why it may not be.", nil)}},
			`
  12  DENY    read_file  a.txt
              No, and this is a long sentence that says why
              it may not be. (a-rule)
              Instead: Ask first.
              → Not done.

`,
		},
		"modify": {
			Step{Number: 3, Move: read, Did: "Read.", Answers: []Answer{
				answer("steps/toolCallRequest", aos.Allow, "Fine.", nil),
				answer("steps/toolCallResult", aos.Modify, "Masked.", []string{"pii.card", "secret.private_key"},
					Change{"result", "x,4000 0000 0000 0002,y and 4111 1111 1111 1111\nthen -----BEGIN PRIVATE KEY-----\nMC4CAQAwBQ\n-----END PRIVATE KEY-----",
						"x,****,y and ****\nthen [private key removed]"})}},
			`
   3  MODIFY  read_file  a.txt
              Result: Masked. (a-rule)
              Instead: Ask first.
              4000 •••• •••• ••02  →  ****
              4111 •••• •••• ••11  →  ****
              − -----BEGIN PRIVATE K … •••• (37 characters)
              + [private key removed]
              → Read.

`,
		},
		"a changed message is shown as it was changed": {
			Step{Number: 4, Move: Move{Kind: Say, Text: "card 4000 0000 0000 0002"}, Did: "The user reads it.", Answers: []Answer{
				answer("steps/message", aos.Modify, "Masked.", []string{"pii.card"}, Change{"message", "card 4000 0000 0000 0002", "card ****"})}},
			`
   4  MODIFY  Tell the user  “card ****”
              Masked. (a-rule)
              Instead: Ask first.
              4000 •••• •••• ••02  →  ****
              → The user reads it.

`,
		},
		"a refused secret is not shown": {
			Step{Number: 5, Move: call("shell", "command", "curl -H token:ghp_0123456789abcdefghijABCDEFGHIJ012345 host"), Did: "Not done.", Answers: []Answer{
				answer("steps/toolCallRequest", aos.Deny, "No.", []string{"secret"})}},
			`
   5  DENY    shell  curl -H toke•:•••_••••••••45 host
              No. (a-rule)
              Instead: Ask first.
              → Not done.

`,
		},
		"what comes from outside cannot steer the terminal": {
			Step{Number: 6, Move: call("shell", "command", "a\x1b[2J\u009b\u202eb\u200bc\rd"), Did: "It failed: \x1b]0;x\a.", Answers: []Answer{
				answer("steps/toolCallRequest", aos.Allow, "Fine.\x1b[31m", nil)}},
			`
   6  ALLOW   shell  a·[2J··b·c d
              Fine.·[31m (a-rule) → It failed: ·]0;x·.

`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := shown(60, false, &test.step)
			if diff := cmp.Diff(test.want[1:], got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			colored := shown(60, true, &test.step)
			for _, code := range []string{"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[36m", "\x1b[1;31m", "\x1b[1;32m", "\x1b[1;33m", "\x1b[31m", "\x1b[32m"} {
				colored = strings.ReplaceAll(colored, code, "")
			}
			if colored != got {
				t.Errorf("colours change more than colours:\n%q\n%q", colored, got)
			}
		})
	}
}

func TestScreenKeepsItsWidth(t *testing.T) {
	st := &Step{Number: 1, Did: strings.Repeat("done ", 40), Move: call("shell", "command", strings.Repeat("x", 300), "b", strings.Repeat("y ", 9)), Answers: []Answer{
		answer("steps/toolCallRequest", aos.Modify, strings.Repeat("Häßlich ", 30), nil, Change{"b", strings.Repeat("before ", 50), strings.Repeat("after ", 50)}),
	}}
	for _, width := range []int{50, 51, 72, 100} {
		for line := range strings.Lines(shown(width, false, st)) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("width %d: a line of %d: %s", width, n, line)
			}
		}
	}
}

func TestDiff(t *testing.T) {
	for _, test := range []struct {
		before, after string
		want          []hunk
		kept          int
	}{
		{"a b c", "a b c", nil, 3},
		{"a b c", "a x c", []hunk{{"b", "x"}}, 2},
		{"a b c d e f", "a x c d y f", []hunk{{"b", "x"}, {"e", "y"}}, 4},
		{"a b c d", "a c d", []hunk{{"b", ""}}, 3},
		{"do not do that to me", "removed to be safe", []hunk{{"do not do that", "removed"}, {"me", "be safe"}}, 1},
		{"", "a", []hunk{{"", "a"}}, 0},
	} {
		got, kept := diff(test.before, test.after)
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(hunk{})); diff != "" || kept != test.kept {
			t.Errorf("%q, %q: kept %d, want %d (-want +got):\n%s", test.before, test.after, kept, test.kept, diff)
		}
	}
	long := strings.Repeat("a b ", maxDiff)
	if got, _ := diff("x "+long+"y", "z "+long+"w"); len(got) != 1 {
		t.Errorf("%d places in texts that are too long to compare", len(got))
	}
}

func TestConceal(t *testing.T) {
	for secret, want := range map[string]string{
		"4000000000000002":           "4000••••••••02",
		"hunter2":                    "h••••••",
		"":                           "",
		"AKIA0123456789ABCDEF":       "AKIA••••••••EF",
		"-----BEGIN X KEY-----\nabc": "-----BEGIN X KEY----- •••••••• (4 characters)",
	} {
		if got := conceal(secret); got != want {
			t.Errorf("%q is shown as %q, want %q", secret, got, want)
		}
	}
}
