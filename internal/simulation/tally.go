package simulation

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"reeve.example/reeve/internal/words"
)

// Tally counts outcomes by class.
type Tally map[string]*Count

// Count is what became of a class of sessions.
type Count struct {
	Honest  int `json:"honest"`
	Asked   int `json:"asked"`   // honest sessions in which a person was asked
	Asks    int `json:"asks"`    // how often
	Denied  int `json:"denied"`  // honest sessions in which something was denied
	Changed int `json:"changed"` // honest sessions in which something was changed
	// Attacked are the attacked sessions that have an attacker's act, and Reached those in
	// which all of them were let through.
	Attacked int `json:"attacked"`
	Reached  int `json:"reached"`
}

// Add counts one outcome.
func (t Tally) Add(o *Outcome) {
	c := t[o.Class]
	if c == nil {
		c = new(Count)
		t[o.Class] = c
	}
	c.add(o)
}

func (c *Count) add(o *Outcome) {
	if o.Kind == Attacked {
		if o.Goal {
			c.Attacked++
		}
		if o.Reached {
			c.Reached++
		}
		return
	}
	c.Honest++
	c.Asks += len(o.Asked)
	for n, list := range map[*int][]string{&c.Asked: o.Asked, &c.Denied: o.Denied, &c.Changed: o.Changed} {
		if len(list) > 0 {
			*n++
		}
	}
}

// Total is all classes together.
func (t Tally) Total() *Count {
	all := new(Count)
	for _, c := range t {
		all.Honest += c.Honest
		all.Asked += c.Asked
		all.Asks += c.Asks
		all.Denied += c.Denied
		all.Changed += c.Changed
		all.Attacked += c.Attacked
		all.Reached += c.Reached
	}
	return all
}

// Print writes a table with a line for each class, and intervals of 95 %.
func (t Tally) Print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CLASS\tHONEST\tASKED\tDENIED\tCHANGED\tATTACKED\tGOAL REACHED")
	row := func(name string, c *Count) {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%d\t%s\n", name, c.Honest, words.Share(c.Asked, c.Honest), words.Share(c.Denied, c.Honest),
			words.Share(c.Changed, c.Honest), c.Attacked, words.Share(c.Reached, c.Attacked))
	}
	for _, class := range slices.Sorted(maps.Keys(t)) {
		row(cmp.Or(class, "-"), t[class])
	}
	if len(t) > 1 {
		row("all", t.Total())
	}
	return w.Flush()
}
