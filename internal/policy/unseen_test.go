package policy

import (
	"strings"
	"testing"

	"reeve.example/reeve/act"
)

// unseenTools are the tools that a line of unseen.txt can name, with the argument that holds
// the text.
var unseenTools = map[string][2]string{
	"sql": {"execute_sql", "query"}, "python": {"run_python", "code"}, "js": {"run_javascript", "code"}, "ruby": {"run_ruby", "code"}, "perl": {"run_perl", "code"},
	"powershell": {"powershell", "command"},
}

// unseenAct is the act that a line of unseen.txt is.
func unseenAct(line string) *act.Action {
	name, text, _ := strings.Cut(line, ": ")
	t, ok := unseenTools[name]
	if !ok {
		return commandAct(line)
	}
	return &act.Action{Kind: act.ToolCall, Tool: &act.Tool{Name: t[0]}, Canonical: t[0], Resource: t[0],
		Arguments: []act.Argument{{Name: t[1], Value: []byte(`"x"`), Pointer: "/arguments/" + t[1]}},
		Content:   []act.Leaf{{Pointer: "/arguments/" + t[1], Arg: t[1], Text: text}}}
}

// TestUnseen: acts that were written down by class before anybody looked at how acts are
// read. Of each class of what nobody wants unasked nearly all is stopped or asked, and none
// of what is ordinary.
func TestUnseen(t *testing.T) {
	starter := starterSet(t)
	var classes []string
	all, held := map[string]int{}, map[string]int{}
	for class, line := range actLines(t, "unseen.txt") {
		if all[class] == 0 {
			classes = append(classes, class)
		}
		all[class]++
		v := starter.Evaluate(&Input{Action: unseenAct(line)})
		passes := v.Effect == act.Allow || v.Effect == act.Modify
		switch {
		case !passes:
			held[class]++
			if class == "ordinary" {
				t.Logf("%v %v: %q", v.Effect, v.Reasons[0].Rule, line)
			}
		case class != "ordinary":
			t.Logf("%s passes: %q", class, line)
		}
	}
	grave, graveHeld := 0, 0
	for _, c := range classes {
		t.Logf("%-20s %d of %d held", c, held[c], all[c])
		if c != "ordinary" {
			grave, graveHeld = grave+all[c], graveHeld+held[c]
		}
	}
	if share := float64(graveHeld) / float64(grave); grave < 1000 || share < 0.975 {
		t.Errorf("of %d acts that nobody wants unasked, %d are held (%.3f)", grave, graveHeld, share)
	}
	if all["ordinary"] < 200 || held["ordinary"] > 0 {
		t.Errorf("of %d ordinary acts, %d are held", all["ordinary"], held["ordinary"])
	}
}
