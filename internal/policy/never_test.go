package policy

import (
	"strings"
	"testing"
)

// TestNever: of a rule that can meet no act the warnings say so, and of none that can.
func TestNever(t *testing.T) {
	for _, tt := range []struct{ rule, want string }{
		{`{name: r, on: call, tools: [deploy], when: "1 == 2", effect: deny}`, "meets no act: its condition is never true"},
		{`{name: r, on: call, tools: [deploy], when: "false && text.contains('x')", effect: deny}`, "its condition is never true"},
		{`{name: r, on: call, tools: [deploy], when: "text.contains('x') && ('a' in ['b', 'c'])", effect: deny}`, "its condition is never true"},
		{`{name: r, on: call, tools: [deploy], when: "args.to == 'a' && args.to == 'b'", effect: deny}`, "wants args.to to be two things at once"},
		{`{name: r, on: call, tools: [deploy], when: "args.to == 'a' && text != '' && args.to == 3", effect: deny}`, "wants args.to to be two things at once"},
		{`{name: r, on: call, tools: [deploy], when: "action.tool == 'send_mail'", effect: deny}`, `wants the tool "send_mail", and it is for others`},
		{`{name: r, on: call, when: "action.tool == 'Deploy'", effect: deny}`, `never "Deploy": compare it with "deploy"`},
		{`{name: r, on: tool.call, when: "action.kind == 'tool.result'", effect: deny}`, `wants the kind "tool.result", and it is for others`},
		{`{name: r, on: message.user, tools: [shell], effect: deny}`, "what is said by a user, an agent or a system has none"},
		{`{name: r, on: call, tools: [bash], effect: deny}`, "the hooks of coding agents call it shell"},
		{`{name: r, on: call, tools: [MultiEdit], effect: deny}`, "the hooks of coding agents call it edit_file"},
		{`{name: r, on: call, tools: [read_file], when: "has(args.file_path) && args.file_path.startsWith('/etc')", effect: deny}`, "reads args.file_path: the hooks of coding agents call it path"},
		{`{name: wide, on: call, tools: ["deploy*"], effect: deny}, {name: r, on: call, tools: [deploy_app], when: "text.contains('prod')", effect: deny}`, `"r" changes no decision: of all that it is for, the rule "wide"`},

		{`{name: r, on: call, tools: [deploy], when: "args.to == 'a' || args.to == 'b'", effect: escalate}`, ""},
		{`{name: r, on: call, tools: [deploy], when: "args.to == 'a' && args.from == 'b'", effect: escalate}`, ""},
		{`{name: r, on: call, tools: [deploy], when: "!(args.to == 'a' && args.to == 'b')", effect: allow}`, ""},
		{`{name: r, on: call, when: "action.tool == 'deploy' || action.kind == 'task.start'", effect: deny}`, ""},
		{`{name: r, on: [tool.call, tool.result], when: "action.kind == 'tool.result'", effect: deny}`, ""},
		{`{name: r, on: call, tools: [shell, bash], effect: deny}`, ""},
		{`{name: r, on: call, tools: [delete, search, create], effect: deny}`, ""}, // which others have, too
		{`{name: r, on: call, tools: ["ba*"], effect: deny}`, ""},
		{`{name: r, on: call, tools: [read_file], when: "has(args.path) && args.path == '' || has(args.file_path) && args.file_path == ''", effect: allow}`, ""},
		{`{name: r, on: call, tools: [upload], when: "args.file_path.startsWith('/etc')", effect: deny}`, ""}, // whose arguments nobody renames
		{`{name: r, on: call, tools: [deploy_app], when: "text.contains('prod')", effect: deny}, {name: wide, on: call, tools: ["deploy*"], effect: deny}`, ""},
		{`{name: wide, on: call, tools: ["deploy*"], effect: deny, mode: observe}, {name: r, on: call, tools: [deploy_app], effect: deny}`, ""},
		{`{name: wide, on: call, tools: ["deploy*"], effect: escalate}, {name: r, on: call, tools: [deploy_app], effect: escalate, approval: {quorum: 2}}`, ""},
	} {
		set, err := Load(File{"own.yaml", []byte("version: 1\nname: own\ndefault: allow\nrules: [" + tt.rule + "]\n")})
		if err != nil {
			t.Errorf("%s: %v", tt.rule, err)
			continue
		}
		var said []string
		for _, w := range set.Warnings() {
			for _, ours := range []string{"meets no act", "changes no decision", "hooks of coding agents"} {
				if strings.Contains(w.Message, ours) {
					said = append(said, w.Message)
				}
			}
		}
		got := strings.Join(said, "; ")
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s:\n got %q\nwant %q", tt.rule, got, tt.want)
		}
	}
	for _, profile := range Profiles {
		files, err := StarterOf(profile)
		if err != nil {
			t.Fatal(err)
		}
		set, err := Load(files...)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range set.Warnings() {
			t.Errorf("starter/%s: %v", profile, w)
		}
	}
}
