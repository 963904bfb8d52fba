package policy

import (
	"fmt"
	"strings"
	"testing"

	"reeve.example/reeve/act"
)

// TestProposal: what is proposed for the tools that were seen loads, stops nothing, and
// says no more than was seen; whoever names tools and arguments writes nothing into it.
func TestProposal(t *testing.T) {
	var seen Seen
	n := 0
	use := func(tool, result string, args ...string) {
		n++
		a := call(tool, args...).Action
		a.ID, a.Session = fmt.Sprint(n), "s"
		seen.Add(a)
		seen.Add(&act.Action{Kind: act.ToolResult, Session: "s", Answers: a.ID, Principal: a.Principal, Content: []act.Leaf{{Pointer: "/r", Text: result}}})
	}
	use("get_balance", `1810.5`, "account", `"main"`)
	use("search_emails", `[{"id":"17","sender":"ann@corp.example","body":"Dear all, this is a mail of many words."}]`, "query", `"bill"`)
	use("send_email", `{"id":"18"}`, "recipients", `["ann@corp.example"]`, "subject", `"Hello"`, "body", `"A text."`)
	use("book_room", `{"ok":true}`, "where", `"https://rooms.example/4"`, "remarks", `"We are a group of many people who like it quiet and dark."`)
	use("web_fetch", "A page of somebody.", "url", `"https://a.example"`)
	use("bash", "", "command", `"ls"`)
	use("run_tests", "ok")
	use("restart", "{}", "graceful", `true`)
	use("x]\n# evil", "", "to", `"a"`)
	use("*", "", "to", `"a"`)
	use("pay_out", "{}", "to\"}]\nrules", `"a@b.example"`, "iban", `"GB29NWBK60161331926819"`)
	text := string(seen.Proposal("allow"))
	for _, want := range []string{
		`- {name: seen-send-email, tools: ["send_email"], control: ["recipients"], carries: ["body", "subject"]} # 1 call`,
		`- {name: seen-book-room, tools: ["book_room"], control: ["where"], carries: ["remarks"]}`,
		`- {name: seen-pay-out, tools: ["pay_out"], control: ["iban"]}`,
		`#   - {tools: ["search_emails"], own: ["/*/id"]} # 1 result`,
		`#   - {tools: ["get_balance"], label: own} # 1 result, with only ids, numbers and times`, "# web_fetch",
		"# restart, run_tests\n",
		"mode: observe", "# bash",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %s:\n%s", want, text)
		}
	}
	if strings.Contains(text, "evil") || strings.Contains(text, `["*"]`) {
		t.Errorf("a name writes into it:\n%s", text)
	}
	set, err := Load(append(serviceFiles(t), File{"flow.yaml", []byte(text)})...)
	if err != nil {
		t.Fatal(err)
	}
	in := call("book_room", "where", `"https://evil.example"`)
	in.Session.Values = remembered("Book a room.", "", "https://evil.example")
	if v := set.Evaluate(in); v.Effect != act.Allow || len(v.Reasons) == 0 || v.Reasons[len(v.Reasons)-1].Rule == "" {
		t.Errorf("%v %+v", v.Effect, v.Reasons)
	}
	// With the marks taken away the labels load, too.
	open := strings.ReplaceAll(strings.ReplaceAll(text, "\n#   - ", "\n  - "), "\n# labels:", "\nlabels:")
	if _, err := Load(append(serviceFiles(t), File{"flow.yaml", []byte(open)})...); err != nil {
		t.Errorf("%v\n%s", err, open)
	}
	if (&Seen{}).Proposal("allow") != nil {
		t.Error("nothing was seen, and something is proposed")
	}
}

func serviceFiles(t *testing.T) []File {
	files, err := StarterOf("service")
	if err != nil {
		t.Fatal(err)
	}
	return files
}
