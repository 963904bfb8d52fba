package operator

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/hook"
	"reeve.example/reeve/internal/rawjson"
)

// Except writes the exception by which a policy lets exactly this act pass, until a day.
func (d *DecisionShown) Except(reason, until string) (string, error) {
	var rules []string
	for _, r := range d.Reasons {
		effect, _ := act.ParseEffect(r.Effect)
		switch {
		case r.Final:
			return "", fmt.Errorf("nobody can let this pass: %s", r.Message)
		case effect > act.Escalate || r.Exception != "" || r.Observe || slices.Contains(rules, r.Rule):
		case r.Rule == "default":
			return "", errors.New("no rule decided this, but the policy's default: write a rule with effect: allow")
		default:
			rules = append(rules, r.Rule)
		}
	}
	if len(rules) == 0 {
		return "", errors.New("no rule stopped this: there is nothing to lift")
	}
	if d.again == nil || d.again.Action == nil || !d.again.Action.IsCall() {
		return "", errors.New("an exception for exactly this act is written for calls of tools whose arguments are kept: write one by hand")
	}
	a := d.again.Action
	if !d.again.Exact {
		return "", errors.New("the call is kept masked, so that no exception can name exactly what was asked: write one by hand")
	}
	quote := func(s string) string { return string(rawjson.Quote(s)) }
	var conditions, names []string
	for i := range a.Arguments {
		arg := &a.Arguments[i]
		if a.Canonical == hook.Shell && (arg.Name == "description" || arg.Name == "timeout") {
			continue // the model's own words, and how long it waits: other ones each time
		}
		name := quote(arg.Name)
		names = append(names, name)
		doc, err := rawjson.Parse(arg.Value)
		if err != nil || doc.Root().Kind() == rawjson.Object || doc.Root().Kind() == rawjson.Array {
			return "", fmt.Errorf("the argument %s is no single value: write the exception by hand", arg.Name)
		}
		conditions = append(conditions, fmt.Sprintf("%s in args && args[%s] == %s", name, name, arg.Value))
	}
	if len(conditions) == 0 {
		return "", errors.New("the call has no arguments by which an exception could tell it: write one by hand")
	}
	// One argument more would be another act: a second command, or a folder to run it in.
	if a.Canonical == hook.Shell {
		names = append(names, `"description"`, `"timeout"`)
	}
	conditions = append(conditions, "args.all(name, name in ["+strings.Join(names, ", ")+"])")
	if a.Server != "" { // the same name at another server is another tool
		conditions = append(conditions, "action.server == "+quote(a.Server))
	}
	if a.Folder != "" { // the same words in another folder do something else
		conditions = append(conditions, "session.folder == "+quote(a.Folder))
	}
	quoted := make([]string, len(rules))
	for i, r := range rules {
		quoted[i] = quote(r)
	}
	return fmt.Sprintf("  - name: %s\n    reason: %s\n    rules: [%s]\n    on: call\n    tools: [%s]\n    when: %s\n    until: %s\n",
		quote("like "+d.Decision+" of "+d.Time.UTC().Format(time.DateOnly)), quote(reason), strings.Join(quoted, ", "),
		quote(a.Canonical), quote(strings.Join(conditions, " && ")), until), nil
}
