//go:build !windows

package realagents

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"reeve.example/reeve/internal/modelserver"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what was observed to testdata")

// facts are what was observed of an agent, one line each. They are compared with those
// of the version that was tried last, so that a new one tells what it does otherwise.
type facts struct {
	t     *testing.T
	name  string
	lines []string
}

func (f *facts) add(what, observed string) { f.lines = append(f.lines, what+": "+observed) }

// must adds a fact that has to be so, whatever was observed before.
func (f *facts) must(what, observed, want string) {
	f.t.Helper()
	if f.add(what, observed); observed != want {
		f.t.Errorf("%s: %s; it should be: %s", what, observed, want)
	}
}

func (f *facts) compare() {
	f.t.Helper()
	file := filepath.Join("testdata", f.name+".txt")
	got := strings.Join(f.lines, "\n") + "\n"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			f.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		f.t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		f.t.Errorf("it does not do what it did (-%s +now):\n%s", file, diff)
	}
}

func either(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

// rulesOf are the rules that a document shows: what is written there once has to hold in
// every agent.
func rulesOf(document string) string {
	text, err := os.ReadFile(filepath.FromSlash("../../../" + document))
	if err != nil {
		panic(err) // it lies in the repository
	}
	var rules strings.Builder
	for _, block := range regexp.MustCompile("(?s)```yaml\n(  - name: .*?)```").FindAllStringSubmatch(string(text), -1) {
		rules.WriteString(block[1])
	}
	if rules.Len() == 0 {
		panic(document + " shows no rule")
	}
	return rules.String()
}

// actsPolicy has the rules that the documents show, and one of each effect.
func actsPolicy() string {
	return "version: 1\ndefault: allow\nrules:\n" + rulesOf("docs/hooks.md") + rulesOf("README.md") + moreRules
}

const moreRules = `  - name: no-forbidden-word
    on: tool.call
    tools: [shell]
    when: has(args.command) && args.command.contains("forbidden")
    effect: deny
    reason: That word is not to be said.
  - name: large-payments
    on: mcp.request
    tools: [pay]
    when: has(args.amount) && args.amount > 100
    effect: escalate
    reason: Large payments are agreed to.
  - name: to-whom
    on: mcp.request
    tools: [pay]
    when: has(args.to) && args.to == "mallory"
    effect: modify
    modify: {replace: {argument: to, with: carol}}
    reason: Mallory is paid by Carol.
  - name: no-secrets-in-results
    on: [tool.result, mcp.response, knowledge.retrieve]
    detect: [secret]
    effect: modify
    modify: redact
    reason: It has a secret.
`

const token = "gh" + "p_R8x2LmQ4vT7yK1nB5cW9zD3fH6jS0aPq2E4r"

var approvalID = regexp.MustCompile(`(?m)^(\S+)\s+held\s`)

// approve has the person agree to what is held.
func (r *run) approve() {
	r.t.Helper()
	id := approvalID.FindStringSubmatch(r.reeve("approvals", "list", "--data", r.data))
	if id == nil {
		r.t.Error("nothing is held for a person")
		return
	}
	r.reeve("approvals", "approve", "--yes", id[1], "--data", r.data)
}

// notes are what the MCP server has noted.
func (r *run) notes() string {
	text, _ := os.ReadFile(r.paid)
	return string(text)
}

// payments counts what was paid to somebody.
func (r *run) payments(to string) int {
	return strings.Count(r.notes(), " to "+to+"\n")
}

// One conversation in which the agent does one thing of each kind.
func TestActs(t *testing.T) {
	for _, a := range agents {
		t.Run(a.id, func(t *testing.T) {
			r := start(t, a, actsPolicy())
			f := &facts{t: t, name: a.id}
			write := func(name, text string) {
				if err := os.WriteFile(r.at(name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write("old.txt", "one\ntwo\n")
			write("go.sum", "one\ntwo\n")
			write("secret.txt", "token "+token+"\n")
			turns := []modelserver.Turn{
				modelserver.Calls(a.shell("echo ran > shell.txt; echo SHELL-OUT")),
				modelserver.Calls(a.shell("echo forbidden > denied.txt")),
				modelserver.Calls(a.write(r.at("new.txt"), "written")),
				modelserver.Calls(a.write(r.at("package-lock.json"), "written")),
				modelserver.Calls(a.read(r.at("old.txt"))),
				modelserver.Calls(a.edit(r.at("old.txt"), "two", "three")),
				modelserver.Calls(a.read(r.at("go.sum"))),
				modelserver.Calls(a.edit(r.at("go.sum"), "two", "three")),
				modelserver.Calls(a.read(r.at("secret.txt"))),
				modelserver.Calls(a.shell("cat secret.txt")),
				modelserver.Calls(a.pay("alice", 5)),
				modelserver.Calls(a.pay("mallory", 7)),
				modelserver.Calls(a.tool("deploy", m{"environment": "Production "})),
				modelserver.Calls(a.tool("deploy", m{"environment": "staging"})),
				modelserver.Calls(a.pay("bob", 500)),
				{Then: func(told string) modelserver.Turn {
					f.must("a payment that needs a person", either(r.payments("bob") == 0, "held", "made"), "held")
					f.add("the model reads that a person is asked", either(strings.Contains(told, "A person is asked"), "yes", "no"))
					f.must("the model reads how people answer", either(strings.Contains(told, "approvals"), "yes", "no"), "no")
					r.approve()
					return modelserver.Calls(a.pay("bob", 500))
				}},
				modelserver.Calls(a.pay("bob", 500)),
				modelserver.Calls(a.shell("echo one >> both.txt; echo BOTH-1"), a.shell("echo one >> both.txt; echo BOTH-1"), a.shell("echo two >> both.txt; echo BOTH-2")),
				modelserver.Calls(a.subagent("be a child")),
			}
			if a.wait != nil {
				turns = append(turns, modelserver.Turn{Then: func(told string) modelserver.Turn { return modelserver.Calls(a.wait(told)) }})
			}
			r.model.Play("play it", append(turns, modelserver.Say("finished the play"))...)
			r.model.Play("be a child",
				modelserver.Calls(a.shell("echo child > child.txt")), modelserver.Calls(a.shell("echo forbidden > child-denied.txt")),
				modelserver.Say("child finished"))
			r.prompt("play it")

			told, child := r.model.Told("play it"), r.model.Told("be a child")
			if *debugTold {
				t.Log(told)
			}
			f.must("all turns", fmt.Sprint(r.model.Left("play it")+r.model.Left("be a child")), "0")
			f.must("a command", either(r.has("shell.txt") && strings.Contains(told, "SHELL-OUT"), "runs, and its output is read", "lost"), "runs, and its output is read")
			f.must("a denied command", either(r.has("denied.txt"), "runs", "does not run"), "does not run")
			f.must("why it was denied", either(strings.Contains(told, "That word is not to be said."), "the model reads it", "not told"), "the model reads it")
			f.must("a file is written", either(r.has("new.txt"), "yes", "no"), "yes")
			f.must("a lock file is written", either(r.has("package-lock.json"), "yes", "no"), "no")
			f.must("a file is edited", either(r.holds("old.txt", "three"), "yes", "no"), "yes")
			f.must("a lock file is edited", either(r.holds("go.sum", "three"), "yes", "no"), "no")
			f.must("a secret in a result", either(strings.Contains(told, token), "the model reads it", "masked"), "masked")
			f.add("a changed payment", either(r.payments("mallory") > 0, "made unchanged", either(r.payments("carol") > 0, "made changed", "not made")))
			f.must("its receipt", either(r.payments("carol") > 0 && !strings.Contains(told, "paid 7 to carol"), "lost", "read if there is one"), "read if there is one")
			f.must("a payment", either(strings.Contains(told, "paid 5 to alice, receipt 4711"), "made, and the receipt is read", "lost"), "made, and the receipt is read")
			f.must("a deployment to production, by the rule of the README", either(strings.Contains(r.notes(), "deployed to Production"), "made", "not made"), "not made")
			f.must("a deployment elsewhere", either(strings.Contains(r.notes(), "deployed to staging"), "made", "not made"), "made")
			f.must("once agreed to", either(outputs(told, "paid 500 to bob"), "made, and the receipt is read", "lost"), "made, and the receipt is read")
			f.must("agreed to once, payments", fmt.Sprint(r.payments("bob")), "1")
			f.must("like calls at once", either(strings.Count(r.read("both.txt"), "\n") == 3 && strings.Contains(told, "BOTH-1") && strings.Contains(told, "BOTH-2"), "all run, and all outputs are read", "lost"), "all run, and all outputs are read")
			f.must("a sub-agent's command", either(r.has("child.txt"), "runs", "does not run"), "runs")
			f.must("a sub-agent's denied command", either(r.has("child-denied.txt"), "runs", "does not run"), "does not run")
			f.must("a sub-agent is told why", either(strings.Contains(child, "That word is not to be said."), "yes", "no"), "yes")
			f.lines = append(f.lines, r.record()...)
			f.compare()
		})
	}
}

var debugTold = flag.Bool("told", false, "log what the model was told")

// outputs reports whether a text stands in what the model was told other than in the
// calls that it made itself.
func outputs(told, text string) bool {
	for line := range strings.Lines(told) {
		if strings.Contains(line, text) && !strings.Contains(line, "echo ") {
			return true
		}
	}
	return false
}

func (r *run) read(name string) string {
	text, _ := os.ReadFile(r.at(name))
	return string(text)
}

func (r *run) holds(name, text string) bool { return strings.Contains(r.read(name), text) }

// record tells of the sessions as reeve recorded them, in a form that is the same in each
// run: what was done in each, how often, and the files that were changed.
func (r *run) record() (lines []string) {
	r.t.Helper()
	for _, id := range r.sessions() {
		var s struct {
			Steps []struct {
				Kind, Effect, Child string
			}
			Files []struct{ Path, How, State string }
		}
		if err := json.Unmarshal([]byte(r.reeve("sessions", "show", id, "--data", r.data, "--json")), &s, json.MatchCaseInsensitiveNames(true)); err != nil {
			r.t.Fatal(err)
		}
		count := map[string]int{}
		for _, step := range s.Steps {
			count[either(step.Child != "", "of a sub-agent: ", "")+step.Kind+" "+step.Effect]++
		}
		lines = append(lines, "a session:")
		for _, what := range slices.Sorted(maps.Keys(count)) {
			lines = append(lines, fmt.Sprintf("  %s: %d", what, count[what]))
		}
		for _, f := range s.Files {
			lines = append(lines, fmt.Sprintf("  %s, %s, %s", filepath.Base(f.Path), f.How, f.State))
		}
	}
	return lines
}
