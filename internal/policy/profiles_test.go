package policy

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the tables that are made from the policies")

// TestProfilesTable: docs/policy.md says of each rule that is not the same in all profiles
// what it does in which. -update writes it.
func TestProfilesTable(t *testing.T) {
	var names []string
	effects := map[string]map[string]string{} // by rule and profile
	texts := map[string]map[string]string{}
	for _, profile := range Profiles {
		set := profileSet(t, profile)
		for _, r := range set.rules {
			if effects[r.name] == nil {
				names = append(names, r.name)
				effects[r.name], texts[r.name] = map[string]string{}, map[string]string{}
			}
			effect := r.effect.String()
			switch {
			case r.observe:
				effect = "recorded"
			case r.change.kind == redact:
				effect = "masked"
			case r.change.kind == mark:
				effect = "marked"
			case r.change.kind == drop:
				effect = "dropped"
			}
			if r.least > 0 {
				effect += fmt.Sprintf(" from %v", r.least)
			} else if r.hazard > 0 && r.hazard != noted {
				effect += fmt.Sprintf(" from %v", r.hazard)
			}
			effects[r.name][profile] = effect
			texts[r.name][profile] = r.reason
		}
	}
	table := "| rule | coding | service | strict |\n|---|---|---|---|\n"
	for _, name := range names {
		row := []string{"`" + name + "`"}
		for _, profile := range Profiles {
			effect := effects[name][profile]
			if effect == "" {
				effect = "–"
			}
			row = append(row, effect)
		}
		if row[1] != row[2] || row[2] != row[3] {
			table += "| " + strings.Join(row, " | ") + " |\n"
		}
	}
	keepTable(t, "profiles", table)
}

// keepTable compares a table of docs/policy.md with what it should be, and writes it with
// -update.
func keepTable(t *testing.T, name, table string) {
	t.Helper()
	docs := readDocs(t)
	from, to := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->"
	before, rest, ok := strings.Cut(docs, from)
	had, after, ok2 := strings.Cut(rest, to)
	if !ok || !ok2 {
		t.Fatalf("docs/policy.md has no %s", from)
	}
	if *update {
		if err := os.WriteFile("../../docs/policy.md", []byte(before+from+table+to+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if had != table {
		t.Errorf("docs/policy.md has another table; want (go test ./internal/policy -run 'Table|Corpora' -update)\n%s", table)
	}
}

// TestProfilesGrow: what service denies or asks about, coding does not deny where service
// only asks; and every rule of coding is in the others.
func TestProfilesGrow(t *testing.T) {
	for i, profile := range Profiles[1:] {
		weaker := profileSet(t, Profiles[i])
		for _, r := range profileSet(t, profile).rules {
			j := slices.IndexFunc(weaker.rules, func(w *rule) bool { return w.name == r.name })
			if j >= 0 && !r.observe && !weaker.rules[j].observe && weaker.rules[j].effect < r.effect {
				t.Errorf("%s: %s is %v, and %v in %s", profile, r.name, r.effect, weaker.rules[j].effect, Profiles[i])
			}
		}
		for _, w := range weaker.rules {
			if !slices.ContainsFunc(profileSet(t, profile).rules, func(r *rule) bool { return r.name == w.name }) {
				t.Errorf("%s has no rule %s, which %s has", profile, w.name, Profiles[i])
			}
		}
	}
}
