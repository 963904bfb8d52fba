package ocsf

import (
	"slices"
	"strings"

	"reeve.example/reeve/act"
)

// categoriesOf are what a decision's codes and threats belong to, each once, in order.
func categoriesOf(codes, threats []string) (list []string) {
	for _, code := range codes {
		if c := act.Category(code); c != "" {
			list = append(list, c)
		}
	}
	for _, threat := range threats {
		if c, _, _ := strings.Cut(threat, " "); len(c) >= 5 && strings.HasPrefix(c, "ASI") {
			list = append(list, strings.TrimRight(c, ":"))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
