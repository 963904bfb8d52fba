package policy

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// costAtOnce reports conditions that could take too long together: all that one
// act can meet, each of which may have been within its own bound.
func costAtOnce(rules []*rule) *Error {
	for k := range maxKinds {
		names := map[string]uint64{} // the cost of the conditions for a name, or for all names that begin so
		var costliest *rule
		for _, r := range rules {
			if r.when == nil || r.kinds&(1<<k) == 0 {
				continue
			}
			if costliest == nil || r.when.cost > costliest.when.cost {
				costliest = r
			}
			for _, begin := range beginnings(r.tools) {
				names[begin] = plus(names[begin], r.when.cost)
			}
		}
		most := uint64(0)
		for name := range names {
			sum := uint64(0)
			for i := range len(name) + 1 {
				sum = plus(sum, names[name[:i]])
			}
			most = max(most, sum)
		}
		if most > maxCostAtOnce {
			return &Error{
				File: costliest.file, Line: costliest.line, Column: costliest.column,
				Message: fmt.Sprintf("the conditions that one act can meet could take too long together: their cost is up to %d, and the limit is %d", most, maxCostAtOnce),
				Hint:    fmt.Sprintf("the rule %q costs most, with %d: name the tools that rules are for, look at one argument instead of all text, or shorten the patterns", costliest.name, costliest.when.cost),
			}
		}
	}
	return nil
}

// beginnings returns how the names begin that globs can match: a name that is no
// glob as a whole, with an end that no other name has. One that goes on from
// another of them is left out.
func beginnings(globs []string) []string {
	if globs == nil {
		return []string{""}
	}
	all := make([]string, len(globs))
	for i, g := range globs {
		if at := strings.IndexAny(g, "*?"); at >= 0 {
			all[i] = g[:at]
		} else {
			all[i] = g + "\x00"
		}
	}
	slices.Sort(all)
	kept := all[:0]
	for _, one := range all {
		if len(kept) == 0 || !strings.HasPrefix(one, kept[len(kept)-1]) {
			kept = append(kept, one)
		}
	}
	return kept
}

// plus adds without passing the largest number.
func plus(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	if carry != 0 {
		return 1<<64 - 1
	}
	return sum
}
